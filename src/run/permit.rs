//! Whether a program may run, and how: the only maker of a [`Permitted`].

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::request::{Input, Request};
use crate::base::text::shell_word;
use crate::base::{Code, Finding, Findings, Level, RepoPath, Result};
use crate::git::{Repo, sha256};
use crate::io::{failed, streams, whole};
use crate::policy::Policy;
use crate::policy::command::{
    Asked, Decision, Judgement, OnDisk, OnFindings, Programs as _, RunRules,
};
use crate::proposal::command::{Ask, Word, word};
use crate::session::World;
use crate::session::look::{self, OnDiskFile};

/// A request that policy, or a person, lets through.
#[derive(Debug)]
pub(super) struct Permitted<'q> {
    pub(super) request: &'q Request,
    /// What is to be executed: an absolute path.
    pub(super) program: PathBuf,
    /// Its folder, without links.
    pub(super) dir: PathBuf,
    /// What it reads: these very bytes were judged.
    pub(super) input: Option<Vec<u8>>,
    pub(super) level: Level,
    pub(super) limit: Duration,
    pub(super) writable: Vec<PathBuf>,
    pub(super) secrets: Vec<PathBuf>,
    pub(super) on_findings: OnFindings,
    /// The person's word that lets it through, if policy asks for one: to be spent before it runs.
    pub(super) word: Option<Word>,
}

/// Judges `request`.
///
/// # Errors
/// `COMMAND_DENIED`, `APPROVAL_REQUIRED`, `PROPOSAL_REJECTED`, `PROGRAM_NOT_FOUND`, `PATH_OUTSIDE_REPO`, `BAD_REQUEST`.
pub(super) fn permit<'q>(
    world: &mut World,
    policy: &Policy,
    request: &'q Request,
) -> Result<Permitted<'q>> {
    let rules = &policy.commands.run;
    let (root, dir) = (world.repo.real_root()?, whole::real(&request.dir));
    check_folder(&root, &dir)?;
    let limit = limit(request, rules)?;
    let input = input(&world.repo, &root, &request.stdin)?;
    let level = request.sandbox.unwrap_or(rules.least);
    let asked = Asked {
        program: &request.program,
        args: &request.args,
        dir: &dir,
        root: &root,
        env: &request.env,
        level,
    };
    let judged = policy.commands.judge(&asked, &OnDisk);
    let Some(program) = judged.program.clone() else { return Err(not_found(request).into()) };
    let line = request.line();
    let word = match judged.decision {
        Decision::Allow => None,
        Decision::Deny => return Err(denied(&line, &judged).into()),
        Decision::Ask => {
            let ask = Ask {
                line: &line,
                parts: parts(request, &judged, (&root, &dir), level, input.as_deref())?,
                about: about(&judged, &dir, level, request, input.as_deref()),
                agent: request.agent.clone(),
            };
            Some(word(world, &ask).map_err(|found| explained(found, &judged))?)
        }
    };
    let paths = |paths: &[PathBuf]| paths.iter().map(|path| at_home(path)).collect();
    Ok(Permitted {
        request,
        program,
        dir,
        input,
        level,
        limit,
        writable: paths(&rules.writable),
        secrets: paths(&rules.secrets),
        on_findings: rules.on_findings,
        word,
    })
}

fn limit(request: &Request, rules: &RunRules) -> Result<Duration> {
    match request.timeout {
        None => Ok(rules.timeout),
        Some(asked) if asked <= rules.max_timeout => Ok(asked),
        Some(asked) => {
            let (asked, most) = (asked.as_secs_f64(), rules.max_timeout.as_secs());
            let message = format!(
                "A time limit of {asked} s is more than the {most} s that policy allows. Nothing was run."
            );
            let hint = format!(
                "Ask for at most {most} s; a person may raise `timeout` below [run] in their own edt.toml."
            );
            Err(Finding::new(Code::BadRequest, message, hint).with("most_s", most).into())
        }
    }
}

/// A folder that programs run in lies in the worktree.
fn check_folder(root: &Path, dir: &Path) -> Result<()> {
    if !dir.starts_with(root) {
        return Err(outside(dir, root).into());
    }
    if !dir.is_dir() {
        let error = std::io::Error::from(std::io::ErrorKind::NotFound);
        return Err(failed("run in", dir, &error).into());
    }
    Ok(())
}

fn outside(path: &Path, root: &Path) -> Finding {
    let message = format!(
        "{} lies outside the worktree {}. Nothing was run.",
        path.display(),
        root.display()
    );
    Finding::new(
        Code::PathOutsideRepo,
        message,
        "Name something in the worktree; a path outside can be an argument.",
    )
}

/// A path that may begin with `~`.
fn at_home(path: &Path) -> PathBuf {
    match (path.strip_prefix("~"), OnDisk.home()) {
        (Ok(below), Some(home)) => home.join(below),
        _ => path.to_owned(),
    }
}

/// The most that a program may be given to read, in bytes.
const MOST_INPUT: u64 = 64 * 1024 * 1024;

/// What the program is to read, read to its end before anything is decided. A file must be one of the worktree: what edt may read, the
/// sandbox may hold back.
fn input(repo: &Repo, root: &Path, input: &Input) -> Result<Option<Vec<u8>>> {
    let too_large = |name: &str| {
        let message = format!(
            "{name} has more than {MOST_INPUT} bytes, more than a program is given to read. Nothing was run."
        );
        Finding::new(Code::FileTooLarge, message, "Give it the file's path as an argument instead.")
            .with("limit", MOST_INPUT)
    };
    match input {
        Input::Closed => Ok(None),
        Input::Bytes(bytes) => Ok(Some(bytes.clone())),
        Input::Inherited => {
            let read = streams::own_input_at_most(MOST_INPUT);
            let read = read.map_err(|error| failed("read", Path::new("standard input"), &error))?;
            read.map(Some).ok_or_else(|| too_large("Standard input").into())
        }
        Input::File(file) => {
            let file = whole::real(file);
            let Ok(below) = file.strip_prefix(root) else {
                return Err(outside(&file, root).into());
            };
            let bytes = below.as_os_str().as_encoded_bytes();
            let path = RepoPath::parse(bytes).map_err(|problem| problem.finding(bytes))?;
            let name = path.to_string();
            match look::file_on_disk(repo, &path, MOST_INPUT)? {
                Some(OnDiskFile::Bytes(bytes)) => Ok(Some(bytes)),
                Some(OnDiskFile::TooLarge) => Err(too_large(&name).into()),
                None => {
                    let message = format!("{name} is no file in the worktree. Nothing was run.");
                    Err(Finding::new(
                        Code::FileNotFound,
                        message,
                        "Check the path with `edt status`.",
                    )
                    .at(&path)
                    .into())
                }
            }
        }
    }
}

/// What a file of the worktree among the words of a command holds, as a hash: a person's yes is for this content.
fn content(root: &Path, path: &Path) -> Option<Vec<u8>> {
    let real = whole::real(path);
    let bytes = real.starts_with(root).then(|| whole::small(&real, MOST_INPUT)).flatten()?;
    sha256(&bytes).ok().map(String::into_bytes)
}

/// All that makes a command the same one: a person's yes is for nothing else.
fn parts(
    request: &Request,
    judged: &Judgement,
    (root, dir): (&Path, &Path),
    level: Level,
    input: Option<&[u8]>,
) -> Result<Vec<Vec<u8>>> {
    let bytes = |text: &std::ffi::OsStr| text.as_encoded_bytes().to_vec();
    let mut parts = vec![level.name().as_bytes().to_vec(), bytes(dir.as_os_str())];
    parts.extend(judged.program.iter().chain(&judged.real).map(|path| bytes(path.as_os_str())));
    parts.push(
        input.map_or_else(
            || Ok(b"closed".to_vec()),
            |bytes| sha256(bytes).map(String::into_bytes),
        )?,
    );
    // Programs and scripts of the worktree are what they hold, not what they are called.
    // Each word of what a shell or a wrapper would run counts, and the part behind its `=`.
    let inner = judged.steps.iter().flat_map(|step| step.argv.iter().map(OsString::from));
    let words =
        std::iter::once(request.program.clone()).chain(request.args.iter().cloned()).chain(inner);
    let parts_of = |word: OsString| {
        let value =
            word.to_str().and_then(|word| word.split_once('=')).map(|(_, value)| dir.join(value));
        std::iter::once(dir.join(&word)).chain(value)
    };
    let files = judged.real.iter().cloned().chain(words.flat_map(parts_of));
    parts.extend(files.map(|file| content(root, &file).unwrap_or_default()));
    let env =
        request.env.iter().flat_map(|(name, value)| [b"env".to_vec(), bytes(name), bytes(value)]);
    parts.extend(env);
    parts.push(b"args".to_vec());
    parts.extend(std::iter::once(&request.program).chain(&request.args).map(|arg| bytes(arg)));
    Ok(parts)
}

/// What a person should know of it, in sentences.
fn about(
    judged: &Judgement,
    dir: &Path,
    level: Level,
    request: &Request,
    input: Option<&[u8]>,
) -> String {
    let mut about = format!(
        "{} (rule {}, {}).",
        judged.reason.trim_end_matches('.'),
        judged.rule,
        judged.origin.name()
    );
    about += &format!(
        " It would run in {} at the sandbox level {level}.",
        shell_word(dir.as_os_str().as_encoded_bytes())
    );
    if let Some(real) = &judged.real {
        about += &format!(" The program is {}.", shell_word(real.as_os_str().as_encoded_bytes()));
    }
    let word = |text: &std::ffi::OsString| shell_word(text.as_encoded_bytes());
    let env: Vec<String> =
        request.env.iter().map(|(name, value)| format!("{}={}", word(name), word(value))).collect();
    if !env.is_empty() {
        about += &format!(" Its environment would also have {}.", env.join(" "));
    }
    if level > Level::Permissive {
        about += " It would reach no network there.";
    }
    if let Some(input) = input {
        let shown = &input[..input.len().min(2000)];
        let cut =
            if shown.len() < input.len() { ", of which these are the first 2000" } else { "" };
        about += &format!(" It would read {} bytes{cut}: {}", input.len(), shell_word(shown));
    }
    about
}

fn denied(line: &str, judged: &Judgement) -> Finding {
    let message = format!(
        "{line} is denied: {} (rule {}, {}). Nothing was run.",
        judged.reason.trim_end_matches('.'),
        judged.rule,
        judged.origin.name()
    );
    with_facts(Finding::new(Code::CommandDenied, message, judged.hint), judged)
}

fn explained(found: Findings, judged: &Judgement) -> Findings {
    let all: Vec<Finding> =
        found.into_vec().into_iter().map(|finding| with_facts(finding, judged)).collect();
    Findings::check(all).err().unwrap_or_else(|| {
        Finding::new(Code::Internal, "A command was held without a reason.", "Report this message.")
            .into()
    })
}

fn with_facts(finding: Finding, judged: &Judgement) -> Finding {
    let steps: Vec<String> =
        judged.steps.iter().map(|step| format!("{}: {}", step.by, step.argv.join(" "))).collect();
    finding
        .with("rule", judged.rule.clone())
        .with("origin", judged.origin.name())
        .with("steps", steps)
}

fn not_found(request: &Request) -> Finding {
    let name = shell_word(request.program.as_encoded_bytes());
    Finding::new(
        Code::ProgramNotFound,
        format!(
            "There is no program {name}: neither such a file that may be executed, nor a name on PATH. Nothing was run."
        ),
        "Check the spelling; a program of the worktree is named with its path, such as ./demo/calculate. The first word is the program alone, its arguments are words of their own.",
    )
}
