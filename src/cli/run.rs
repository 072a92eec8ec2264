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
use super::interrupt::Interrupt;
use super::note;
use super::render::{self, BAD, DIM, GOOD, NAME, NOTE, paint, short};
use super::terminal_user::require_readable;
use edt_core::session::comments::delivery::Delivery;
use edt_io::{failed, fs};
use edt_run::request::{ProgramInput, RunRequestJson, seconds};
use edt_run::store::{self, OutputStream};
use edt_run::{ProgramRequest, RunObserver, RunOutcome, Signal, captured};
use edt_types::text::Shown as _;
use edt_types::text::escape_controls;
use edt_types::{Code, Finding, Level, Outcome, Result, Status};

/// Run a program with exactly these arguments; its changes become one commit.
///
/// No shell reads the arguments, unless --shell gives a script.
/// Policy judges the command first (`edt policy check` shows how), a sandbox confines the program,
/// and its output is stored. If the program fails, the exit status is 10; the answer has the
/// program's own.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  edt run ./demo/calculate '5 + 3'\n  edt run --shell 'make 2>&1 | tail -3'\n  edt run --timeout 600 --json -- cargo test\n  edt run --output 12 --lines 100:200"
)]
pub(super) struct Args {
    /// The program's directory; the current directory if omitted.
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// The time limit; 120 if omitted.
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<f64>,
    /// An additional environment variable (repeatable).
    #[arg(long, value_name = "NAME=VALUE")]
    env: Vec<OsString>,
    /// The sandbox level: permissive, standard or strict; at least the policy's level.
    #[arg(long, value_name = "LEVEL")]
    sandbox: Option<Level>,
    /// Its standard input: a file, or - for edt's own standard input; empty if omitted.
    #[arg(long, value_name = "FILE")]
    stdin: Option<PathBuf>,
    /// The agent's name; becomes a trailer of the commit.
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// The request as JSON: a file, or - for standard input.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["command", "cwd", "timeout", "env", "sandbox", "stdin", "agent"])]
    request: Option<PathBuf>,
    /// Show the output of run ID; no program is run.
    #[arg(long, value_name = "ID", conflicts_with_all = ["command", "request", "cwd", "timeout", "env", "sandbox", "stdin", "agent"])]
    output: Option<u64>,
    #[command(flatten)]
    page: PageArgs,
    /// A script for bash, instead of a program.
    #[arg(long, value_name = "SCRIPT", conflicts_with_all = ["command", "request", "output"])]
    shell: Option<OsString>,
    /// The program and its arguments. What follows the program belongs to it.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "PROGRAM", required_unless_present_any = ["request", "output", "shell"])]
    command: Vec<OsString>,
}

/// The default size of a page, in bytes.
const PAGE: u64 = 32 * 1024;
/// The maximum size of a page, in bytes.
const MAX_PAGE: u64 = 4 * 1024 * 1024;

fn page() -> u64 {
    PAGE
}

fn stream_parser() -> impl clap::builder::TypedValueParser<Value = OutputStream> {
    use clap::builder::{PossibleValuesParser, TypedValueParser as _};
    PossibleValuesParser::new(OutputStream::ALL.map(OutputStream::name))
        .try_map(|name| name.parse::<OutputStream>())
}

/// Selects a part of an output.
#[derive(Debug, clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PageArgs {
    /// With --output: the stream.
    #[arg(long, value_parser = stream_parser(), default_value = "stdout", requires = "output")]
    #[serde(default)]
    stream: OutputStream,
    /// With --output: the lines A to B, both included.
    #[arg(long, value_name = "A:B", requires = "output", conflicts_with = "bytes")]
    lines: Option<String>,
    /// With --output: the bytes from A up to, but not including, B.
    #[arg(long, value_name = "A:B", requires = "output")]
    bytes: Option<String>,
    /// With --output: the maximum size of the page, in bytes.
    #[arg(long, value_name = "N", default_value_t = PAGE, requires = "output", value_parser = clap::value_parser!(u64).range(1..=MAX_PAGE))]
    #[serde(default = "page")]
    max_bytes: u64,
}

/// A part of the output of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct Page {
    /// Always `edt.run-output/1`.
    schema: &'static str,
    /// The run.
    id: u64,
    /// The stream.
    stream: OutputStream,
    /// The size of the complete output, in bytes.
    bytes: u64,
    /// The offset of the first byte shown.
    from: u64,
    /// The offset after the last byte shown.
    to: u64,
    /// The text. Each sequence of bytes that are not UTF-8 is one U+FFFD.
    text: String,
    /// Whether all bytes shown are UTF-8.
    utf8: bool,
    /// Whether the requested part continues after `to`, because the page was full.
    truncated: bool,
}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        if let Some(id) = self.output {
            return self.page.show(context, id);
        }
        let (answer, delivery) = completed(context, self.answer(context));
        if context.json {
            context.answer(&answer, |_| String::new());
        } else {
            print_answer(context, &answer);
        }
        context.delivered(&delivery);
        Ok(answer.outcome.status)
    }

    fn answer(&self, context: &Context) -> Result<RunOutcome> {
        let start = fs::real_path(&context.start);
        let request = match &self.request {
            Some(file) => {
                require_readable(&start, [file.as_path()])?;
                RunRequestJson::parse(&in_own_words(text_of(file)?))?.request(&start)?
            }
            None => self.as_request(&start)?,
        };
        context.name_agent(request.agent.as_deref());
        let mut workspace = context.workspace()?;
        // A terminal shows the output live; other readers get the excerpt of the answer.
        let watched = !context.json && std::io::stdout().is_terminal();
        edt_run::run(&mut workspace, &request, &mut Terminal { watched, interrupt: None })
    }

    fn as_request(&self, start: &std::path::Path) -> Result<ProgramRequest> {
        let (program, args) = match (&self.shell, self.command.split_first()) {
            (Some(script), _) => ("bash".into(), vec!["-c".into(), script.clone()]),
            (None, Some((first, rest))) => (first.clone(), rest.to_vec()),
            (None, None) => Default::default(),
        };
        let env = self.env.iter().map(split_pair).collect::<Result<_>>()?;
        let stdin = match &self.stdin {
            None => ProgramInput::Closed,
            Some(file) if file.as_os_str() == "-" => ProgramInput::Inherited,
            Some(file) => ProgramInput::File(start.join(file)),
        };
        Ok(ProgramRequest {
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

/// Runs the program of a server's request; `live` observes it.
#[cfg(feature = "mcp")]
pub(super) fn run_for_server(
    context: &Context,
    wire: RunRequestJson,
    live: &mut dyn RunObserver,
) -> Status {
    let done = wire.request(&fs::real_path(&context.start)).and_then(|request| {
        context.name_agent(request.agent.as_deref());
        let mut workspace = context.workspace()?;
        edt_run::run(&mut workspace, &request, live)
    });
    let (answer, delivery) = completed(context, done);
    context.answer(&answer, |_| String::new());
    context.delivered(&delivery);
    answer.outcome.status
}

/// The answer, also for a refusal, with the user's new decisions on proposals and new comments.
fn completed(context: &Context, done: Result<RunOutcome>) -> (RunOutcome, Delivery) {
    let mut answer = done.unwrap_or_else(|findings| {
        context.record(&findings);
        let outcome = Outcome { recovered: context.recovered(), ..Outcome::new(findings.status()) };
        let mut answer = RunOutcome::of(outcome);
        answer.outcome.errors = findings.into_vec();
        answer.outcome.proposal =
            answer.outcome.errors.iter().find_map(|one| one.evidence.get("proposal")?.as_u64());
        answer
    });
    answer.outcome.warnings.extend(context.new_decisions());
    answer.bound();
    let delivery = context.take_comments(answer.outcome.session.as_ref());
    answer.outcome.comments.clone_from(&delivery.comments);
    note::ran(&answer);
    (answer, delivery)
}

/// Shows the program's output while it runs, if `watched`.
struct Terminal {
    watched: bool,
    /// Ends the program when edt is asked to end, so that its changes are recorded.
    interrupt: Option<Interrupt>,
}

impl RunObserver for Terminal {
    fn output(&mut self, stream: OutputStream, bytes: &[u8]) {
        if self.watched {
            write(stream, bytes);
        }
    }

    fn starts(&mut self) {
        self.interrupt = Some(Interrupt::watch());
    }

    fn stop(&self) -> Option<Signal> {
        self.interrupt.as_ref().and_then(Interrupt::received)
    }
}

/// Prints the program's output on the streams to which it was written, then the result.
fn print_answer(context: &Context, answer: &RunOutcome) {
    let mut out = render::recovered(answer.outcome.recovered.as_ref());
    if let Some(ran) = &answer.run {
        if !std::io::stdout().is_terminal() {
            write(OutputStream::Stdout, ran.stdout.text.as_bytes());
            write(OutputStream::Stderr, ran.stderr.text.as_bytes());
        }
        let end = match (ran.exit_code, ran.signal) {
            _ if ran.timed_out => paint(BAD, "timed out"),
            (Some(0), _) if answer.outcome.status != Status::Failed => paint(GOOD, "done"),
            (Some(code), _) => paint(BAD, &format!("exit status {code}")),
            (None, signal) => paint(BAD, &format!("signal {}", signal.unwrap_or_default())),
        };
        let seconds = Duration::from_millis(ran.duration_ms).as_secs_f64();
        out += &format!(
            "{end} {}\n",
            paint(DIM, &format!("run {} took {seconds:.1} s, {}", ran.id, ran.sandbox.level))
        );
    }
    if let (Some(commit), Some(session)) = (&answer.outcome.commit, &answer.outcome.session) {
        let (count, branch) = (answer.total_files, paint(NAME, &session.branch));
        let verb = paint(GOOD, "recorded");
        out += &format!("{verb} {count} changed on {branch} as {}\n", short(commit));
    }
    out += &new_files(&answer.new_files);
    let outcome = Outcome {
        files: answer.outcome.files.clone(),
        warnings: answer.outcome.warnings.clone(),
        errors: answer.outcome.errors.clone(),
        ..Outcome::new(answer.outcome.status)
    };
    render::details(&mut out, &outcome);
    out += &render::refused(&outcome);
    out += &render::comments(answer.outcome.comments.as_ref());
    context.note(&out);
}

/// The most new files that are printed.
const MAX_NEW_FILES: usize = 10;

/// The line about new files that may be build output.
fn new_files(all: &[String]) -> String {
    if all.is_empty() {
        return String::new();
    }
    let shown: Vec<String> =
        all.iter().take(MAX_NEW_FILES).map(|path| escape_controls(path).0).collect();
    let more = all.len().saturating_sub(MAX_NEW_FILES);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let label = paint(NOTE, "new, binary or in a directory without tracked files:");
    format!("  {label} {}{more}\n", shown.join(", "))
}

impl PageArgs {
    pub(super) fn show(&self, context: &Context, id: u64) -> Result<Status> {
        let (repo, _) = context.repo()?;
        let stored = store::stored_output(repo.state_path(), id, self.stream)?;
        if context.json {
            let page = |max_bytes| self.page(id, &stored, max_bytes);
            context.answer_part(self.max_bytes, page, |page| page.text.clone())?;
        } else {
            let page = self.page(id, &stored, self.max_bytes)?;
            // The exact bytes, so that they can be redirected into a file.
            pieces(&stored, page.from, page.to, |bytes| write(OutputStream::Stdout, bytes))?;
            if page.truncated {
                let line = format!(
                    "[{} of {} bytes; continue with --bytes {}:{}]\n",
                    page.to - page.from,
                    page.bytes,
                    page.to,
                    page.bytes
                );
                write(OutputStream::Stderr, line.as_bytes());
            }
        }
        Ok(Status::Applied)
    }

    fn page(&self, id: u64, stored: &store::StoredOutput, max_bytes: u64) -> Result<Page> {
        if !(1..=MAX_PAGE).contains(&self.max_bytes) {
            return Err(
                bad(format!("A page has 1 to {MAX_PAGE} bytes, not {}.", self.max_bytes)).into()
            );
        }
        if self.lines.is_some() && self.bytes.is_some() {
            return Err(bad("`lines` and `bytes` exclude each other.".to_owned()).into());
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
        let to = wanted.min(from + max_bytes);
        let mut bytes = Vec::new();
        pieces(stored, from, to, |piece| bytes.extend_from_slice(piece))?;
        // A full page ends after a complete line, or at least after a complete character.
        let shown = if to < wanted { captured::until_line(&bytes) } else { &bytes };
        let shown = if shown.is_empty() { &bytes } else { shown };
        let (text, utf8) = captured::text(shown);
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

/// The byte range of the lines `first` to `last`.
fn lines_at(stored: &store::StoredOutput, first: u64, last: u64) -> Result<(u64, u64)> {
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
        fs::read_chunks(&stored.path, 0, scan)
            .map_err(|error| failed("read", &stored.path, &error))?;
    }
    Ok((from.unwrap_or(stored.bytes), to.unwrap_or(stored.bytes)))
}

fn pieces(
    stored: &store::StoredOutput,
    from: u64,
    to: u64,
    mut take: impl FnMut(&[u8]),
) -> Result<()> {
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
    fs::read_chunks(&stored.path, from, each)
        .map_err(|error| failed("read", &stored.path, &error).into())
}

/// Parses `A:B`, where A or B may be omitted. Positions start at `least`.
fn range(text: &str, flag: &str, least: u64) -> Result<(u64, u64)> {
    let number =
        |text: &str, none: u64| if text.is_empty() { Some(none) } else { text.parse().ok() };
    let parsed = text
        .split_once(':')
        .and_then(|(from, to)| Some((number(from, least)?, number(to, u64::MAX)?)));
    let no_range = || bad(format!("{flag} {text} is not a range A:B with {least} <= A <= B."));
    parsed.filter(|(from, to)| least <= *from && from <= to).ok_or_else(|| no_range().into())
}

/// `NAME=VALUE`.
fn split_pair(pair: &OsString) -> Result<(OsString, OsString)> {
    use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
    let bytes = pair.as_bytes();
    let Some(at) = memchr::memchr(b'=', bytes) else {
        let found = bad(format!("--env {} is not NAME=VALUE.", pair.shown()));
        return Err(found.with_effect(edt_types::Effect::NothingRun).into());
    };
    let owned = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
    Ok((owned(&bytes[..at]), owned(&bytes[at + 1..])))
}

/// The largest request that is read, in bytes.
const MAX_REQUEST: u64 = 16 * 1024 * 1024;

/// A request in edt's words; any other text as it is.
fn in_own_words(text: String) -> String {
    let schema = schemars::schema_for!(RunRequestJson).to_value();
    match (serde_json::from_str(&text), schema.as_object()) {
        (Ok(request), Some(schema)) => super::words::own("run", schema, request).to_string(),
        _ => text,
    }
}

fn text_of(file: &std::path::Path) -> Result<String> {
    let bytes = bytes_of(file, MAX_REQUEST)?;
    String::from_utf8(bytes).map_err(|_| {
        bad("The request is not UTF-8.".to_owned())
            .with_effect(edt_types::Effect::NothingRun)
            .into()
    })
}

fn bad(message: String) -> Finding {
    Finding::new(Code::BadRequest, message, "`edt help run` lists the arguments, with an example.")
}

/// Writes to edt's own streams. A closed pipe is ignored.
fn write(stream: OutputStream, bytes: &[u8]) {
    match stream {
        OutputStream::Stdout => super::printed::print(bytes),
        OutputStream::Stderr => drop(std::io::stderr().lock().write_all(bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused<T: std::fmt::Debug>(result: Result<T>) -> String {
        result.unwrap_err().as_slice()[0].summary.clone()
    }

    #[test]
    fn a_range_may_omit_its_ends() {
        assert_eq!(range(":", "--lines", 1), Ok((1, u64::MAX)));
        assert_eq!(range("3:5", "--lines", 1), Ok((3, 5)));
        assert_eq!(range("0:5", "--bytes", 0), Ok((0, 5)));
    }

    #[test]
    fn a_range_that_begins_too_early_or_ends_too_soon_is_refused() {
        assert_eq!(
            refused(range("0:5", "--lines", 1)),
            "--lines 0:5 is not a range A:B with 1 <= A <= B."
        );
        assert_eq!(
            refused(range("5:4", "--bytes", 0)),
            "--bytes 5:4 is not a range A:B with 0 <= A <= B."
        );
        assert_eq!(
            refused(range("5", "--bytes", 0)),
            "--bytes 5 is not a range A:B with 0 <= A <= B."
        );
    }

    #[test]
    fn a_variable_is_split_at_its_first_equals_sign() {
        assert_eq!(split_pair(&"A=b=c".into()), Ok(("A".into(), "b=c".into())));
        assert_eq!(refused(split_pair(&"A".into())), "--env A is not NAME=VALUE.");
    }
}
