//! `edt run`.

use std::ffi::OsString;
use std::io::{IsTerminal as _, Write as _};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::apply::bytes_of;
use super::context::Context;
use super::note;
use super::render::{self, BAD, DIM, GOOD, NAME, NOTE, paint, short};
use crate::base::{Code, Finding, Level, Outcome, Result, Status};
use crate::io::{failed, whole};
use crate::run::request::{Input, Wire, seconds};
use crate::run::store::{self, Stream};
use crate::run::{Answer, Request, Watch, kept};

/// Run a program with exactly these arguments, no shell; what it changes becomes one commit.
///
/// Policy judges the command first (`edt policy check` tells how), a sandbox holds the program, and what it wrote is kept. A program
/// that fails gives the exit status 10; its own is in the answer.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  edt run -- ./demo/calculate '5 + 3'\n  edt run --timeout 600 --json -- cargo test\n  edt run --output 12 --lines 100:200"
)]
pub(super) struct Args {
    /// The program's folder; the current one if left out.
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// The longest it may take; 120 if left out.
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<f64>,
    /// A further variable of its environment (repeatable).
    #[arg(long, value_name = "NAME=VALUE")]
    env: Vec<OsString>,
    /// The sandbox: permissive, standard or strict; at least what policy says.
    #[arg(long, value_name = "LEVEL")]
    sandbox: Option<Level>,
    /// What it reads: a file, or - for what edt itself reads. Nothing if left out.
    #[arg(long, value_name = "FILE")]
    stdin: Option<PathBuf>,
    /// Who asks; becomes a trailer of the commit.
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// The request as JSON, in a file or - for standard input.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["command", "cwd", "timeout", "env", "sandbox", "stdin", "agent"])]
    request: Option<PathBuf>,
    /// Show what run ID wrote, instead of running anything.
    #[arg(long, value_name = "ID", conflicts_with_all = ["command", "request", "cwd", "timeout", "env", "sandbox", "stdin", "agent"])]
    output: Option<u64>,
    #[command(flatten)]
    page: PageArgs,
    /// The program and its arguments.
    #[arg(last = true, value_name = "PROGRAM", required_unless_present_any = ["request", "output"])]
    command: Vec<OsString>,
}

/// How many bytes a page has unless more is asked for.
const PAGE: u64 = 32 * 1024;
/// The most bytes of a page.
const MOST_PAGE: u64 = 4 * 1024 * 1024;

fn page() -> u64 {
    PAGE
}

/// Which part of an output.
#[derive(Debug, clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PageArgs {
    /// With --output: which one.
    #[arg(long, value_enum, default_value = "stdout", requires = "output")]
    #[serde(default)]
    stream: Stream,
    /// With --output: the lines A to B, both included.
    #[arg(long, value_name = "A:B", requires = "output", conflicts_with = "bytes")]
    lines: Option<String>,
    /// With --output: the bytes from A up to B.
    #[arg(long, value_name = "A:B", requires = "output")]
    bytes: Option<String>,
    /// With --output: the most bytes of one page.
    #[arg(long, value_name = "N", default_value_t = PAGE, requires = "output", value_parser = clap::value_parser!(u64).range(1..=MOST_PAGE))]
    #[serde(default = "page")]
    max_bytes: u64,
}

/// A part of what a run wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct Page {
    /// Always `edt.run-output/1`.
    schema: &'static str,
    /// The run.
    id: u64,
    /// Which output.
    stream: Stream,
    /// How many bytes it has in all.
    bytes: u64,
    /// The first byte that is shown.
    from: u64,
    /// The byte after the last that is shown.
    to: u64,
    /// What stands there; where bytes are not UTF-8, each stretch of them is one U+FFFD.
    text: String,
    /// Whether all that is shown is UTF-8.
    utf8: bool,
    /// Whether what was asked for goes on after `to`: the page was full.
    truncated: bool,
}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        if let Some(id) = self.output {
            return self.page.show(context, id);
        }
        let answer = closed(context, self.answer(context));
        if context.json {
            context.answer(&answer, |_| String::new());
        } else {
            tell(context, &answer);
        }
        Ok(answer.status)
    }

    fn answer(&self, context: &Context) -> Result<Answer> {
        let start = whole::real(&context.start);
        let request = match &self.request {
            Some(file) => Wire::parse(&text_of(file)?)?.request(&start)?,
            None => self.as_request(&start)?,
        };
        let mut world = context.world()?;
        note::agent(request.agent.as_deref());
        // Who sits at a terminal sees it as it comes; any other reader gets what the answer keeps.
        let watched = !context.json && std::io::stdout().is_terminal();
        crate::run::run(&mut world, &request, &mut Terminal { watched })
    }

    fn as_request(&self, start: &std::path::Path) -> Result<Request> {
        let (program, args) = self
            .command
            .split_first()
            .map_or_else(Default::default, |(first, rest)| (first.clone(), rest.to_vec()));
        let env = self.env.iter().map(split_pair).collect::<Result<_>>()?;
        let stdin = match &self.stdin {
            None => Input::Closed,
            Some(file) if file.as_os_str() == "-" => Input::Inherited,
            Some(file) => Input::File(start.join(file)),
        };
        Ok(Request {
            program,
            args,
            dir: self.cwd.as_ref().map_or_else(|| start.to_owned(), |dir| start.join(dir)),
            timeout: self.timeout.map(seconds).transpose()?,
            env,
            sandbox: self.sandbox,
            stdin,
            agent: self.agent.clone(),
        })
    }
}

/// Runs what a server was asked to, followed by `live`.
#[cfg(feature = "mcp")]
pub(super) fn served(context: &Context, wire: Wire, live: &mut dyn Watch) -> Status {
    let done = wire.request(&whole::real(&context.start)).and_then(|request| {
        let mut world = context.world()?;
        crate::run::run(&mut world, &request, live)
    });
    let answer = closed(context, done);
    context.answer(&answer, |_| String::new());
    answer.status
}

/// The answer whatever came of it, with what else the caller should hear.
fn closed(context: &Context, done: Result<Answer>) -> Answer {
    let mut answer = done.unwrap_or_else(|findings| {
        let mut answer =
            Answer { status: findings.status(), settled: context.settled(), ..Answer::new() };
        answer.errors = findings.into_vec();
        answer.proposal =
            answer.errors.iter().find_map(|one| one.evidence.get("proposal")?.as_u64());
        answer
    });
    answer.warnings.extend(context.news());
    answer.bound();
    note::ran(&answer);
    answer
}

/// Shows what is written on the terminal, if there is one.
struct Terminal {
    watched: bool,
}

impl Watch for Terminal {
    fn output(&mut self, stream: Stream, bytes: &[u8]) {
        if self.watched {
            write(stream, bytes);
        }
    }
}

/// For people: what the program wrote where it wrote it, then what became of it.
fn tell(context: &Context, answer: &Answer) {
    let mut out = render::settled(answer.settled.as_ref());
    if let Some(ran) = &answer.run {
        if !std::io::stdout().is_terminal() {
            write(Stream::Stdout, ran.stdout.text.as_bytes());
            write(Stream::Stderr, ran.stderr.text.as_bytes());
        }
        let end = match (ran.exit_code, ran.signal) {
            _ if ran.timed_out => paint(BAD, "time over"),
            (Some(0), _) => paint(GOOD, "done"),
            (Some(code), _) => paint(BAD, &format!("exit status {code}")),
            (None, signal) => paint(BAD, &format!("signal {}", signal.unwrap_or_default())),
        };
        let seconds = Duration::from_millis(ran.duration_ms).as_secs_f64();
        out += &format!(
            "{end} {}\n",
            paint(DIM, &format!("run {} took {seconds:.1} s, {}", ran.id, ran.sandbox.level))
        );
    }
    if let (Some(commit), Some(session)) = (&answer.commit, &answer.session) {
        let (count, branch) = (answer.files_in_all, paint(NAME, &session.branch));
        let verb = if answer.errors.is_empty() {
            paint(GOOD, "recorded")
        } else {
            paint(NOTE, "recorded and put back")
        };
        out += &format!("{verb} {count} changed on {branch} as {}\n", short(commit));
    }
    let outcome = Outcome {
        files: answer.files.clone(),
        warnings: answer.warnings.clone(),
        errors: answer.errors.clone(),
        checkpoints: answer.checkpoints.clone(),
        ..Outcome::new(answer.status)
    };
    render::details(&mut out, &outcome);
    out += &render::refused(&outcome);
    context.note(&out);
}

impl PageArgs {
    pub(super) fn show(&self, context: &Context, id: u64) -> Result<Status> {
        let (repo, _) = context.repo()?;
        let stored = store::stored(repo.state_path(), id, self.stream)?;
        let page = self.page(id, &stored)?;
        if context.json {
            context.answer(&page, |page| page.text.clone());
        } else {
            // The very bytes, so that they can go into a file.
            pieces(&stored, page.from, page.to, |bytes| write(Stream::Stdout, bytes))?;
            if page.truncated {
                let line = format!(
                    "[{} of {} bytes; go on with --bytes {}:{}]\n",
                    page.to - page.from,
                    page.bytes,
                    page.to,
                    page.bytes
                );
                write(Stream::Stderr, line.as_bytes());
            }
        }
        Ok(Status::Applied)
    }

    fn page(&self, id: u64, stored: &store::Stored) -> Result<Page> {
        if !(1..=MOST_PAGE).contains(&self.max_bytes) {
            return Err(
                bad(format!("A page has 1 to {MOST_PAGE} bytes, not {}.", self.max_bytes)).into()
            );
        }
        if self.lines.is_some() && self.bytes.is_some() {
            return Err(
                bad("`lines` and `bytes` are two ways to say which part.".to_owned()).into()
            );
        }
        let (from, wanted) = match (&self.lines, &self.bytes) {
            (Some(lines), _) => {
                let (first, last) = range(lines, "--lines", 1)?;
                lines_at(stored, first, last)?
            }
            (None, Some(bytes)) => range(bytes, "--bytes", 0)?,
            (None, None) => (0, stored.bytes),
        };
        let wanted = wanted.min(stored.bytes);
        let from = from.min(wanted);
        let to = wanted.min(from + self.max_bytes);
        let mut bytes = Vec::new();
        pieces(stored, from, to, |piece| bytes.extend_from_slice(piece))?;
        // A page that is full ends with a line, or at least with a character.
        let shown = if to < wanted { kept::until_line(&bytes) } else { &bytes };
        let shown = if shown.is_empty() { &bytes } else { shown };
        let (text, utf8) = kept::text(shown);
        let to = from + shown.len() as u64;
        let (bytes, truncated) = (stored.bytes, to < wanted);
        Ok(Page {
            schema: "edt.run-output/1",
            id,
            stream: self.stream,
            bytes,
            from,
            to,
            text,
            utf8,
            truncated,
        })
    }
}

/// The bytes of the lines `first` to `last`.
fn lines_at(stored: &store::Stored, first: u64, last: u64) -> Result<(u64, u64)> {
    let (mut line, mut at, mut from, mut to) = (1, 0, None, None);
    if first == 1 {
        from = Some(0);
    }
    let scan = |piece: &[u8]| {
        for ended in memchr::memchr_iter(b'\n', piece) {
            line += 1;
            let next = at + ended as u64 + 1;
            if line == first {
                from = Some(next);
            }
            if line == last.saturating_add(1) {
                to = Some(next);
                return ControlFlow::Break(());
            }
        }
        at += piece.len() as u64;
        ControlFlow::Continue(())
    };
    if stored.bytes > 0 {
        whole::read_pieces(&stored.path, 0, scan)
            .map_err(|error| failed("read", &stored.path, &error))?;
    }
    Ok((from.unwrap_or(stored.bytes), to.unwrap_or(stored.bytes)))
}

fn pieces(stored: &store::Stored, from: u64, to: u64, mut take: impl FnMut(&[u8])) -> Result<()> {
    if from >= to {
        return Ok(());
    }
    let mut left = to - from;
    let each = |piece: &[u8]| {
        let part = &piece[..piece.len().min(usize::try_from(left).unwrap_or(usize::MAX))];
        take(part);
        left -= part.len() as u64;
        if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    whole::read_pieces(&stored.path, from, each)
        .map_err(|error| failed("read", &stored.path, &error).into())
}

/// `A:B`, either of which may be left out; they count from `least`.
fn range(text: &str, flag: &str, least: u64) -> Result<(u64, u64)> {
    let number =
        |text: &str, none: u64| if text.is_empty() { Some(none) } else { text.parse().ok() };
    let parsed = text
        .split_once(':')
        .and_then(|(from, to)| Some((number(from, least)?, number(to, u64::MAX)?)));
    let no_range = || {
        bad(format!(
            "{flag} {text} is no range A:B of numbers from {least} on, the smaller one first."
        ))
    };
    parsed.filter(|(from, to)| least <= *from && from <= to).ok_or_else(|| no_range().into())
}

/// `NAME=VALUE`.
fn split_pair(pair: &OsString) -> Result<(OsString, OsString)> {
    use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
    let bytes = pair.as_bytes();
    match memchr::memchr(b'=', bytes) {
        Some(at) => Ok((
            OsString::from_vec(bytes[..at].to_vec()),
            OsString::from_vec(bytes[at + 1..].to_vec()),
        )),
        None => {
            Err(bad(format!("--env {} is no NAME=VALUE. Nothing was run.", pair.display())).into())
        }
    }
}

/// The longest request that is read, in bytes.
const MOST_REQUEST: u64 = 16 * 1024 * 1024;

fn text_of(file: &std::path::Path) -> Result<String> {
    let bytes = bytes_of(file, MOST_REQUEST)?;
    String::from_utf8(bytes)
        .map_err(|_| bad("The request is not UTF-8. Nothing was run.".to_owned()).into())
}

fn bad(message: String) -> Finding {
    Finding::new(Code::BadRequest, message, "`edt help run` lists the arguments, with an example.")
}

/// Writes to edt's own outputs; a closed pipe is no error.
fn write(stream: Stream, bytes: &[u8]) {
    let _ = match stream {
        Stream::Stdout => {
            std::io::stdout().lock().write_all(bytes).and_then(|()| std::io::stdout().flush())
        }
        Stream::Stderr => std::io::stderr().lock().write_all(bytes),
    };
}
