//! Decides whether a program may run, and how. Only this module makes a [`Permitted`].

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::covered::{self, CoveredFiles};
use super::recipe;
use super::request::{ProgramInput, ProgramRequest};
use super::sandbox::ResourceLimits;
use edt_command::{
    CommandEvaluation, CommandQuery, Decision, Host as _, LocalHost, OnFindings, RunRules,
};
use edt_core::proposal::command::{CommandApproval, CommandRequest, require_approval};
use edt_core::proposal::running::{self, RunTurn};
use edt_core::session::files::path_state::{self, OnDiskFile};
use edt_core::session::private::not_kept::NamedPaths;
use edt_core::session::user::user_changes::{self, ReadLimits};
use edt_core::session::worktree::begin;
use edt_core::session::worktree::worktree_host::WorktreeHost;
use edt_core::session::{LockedWorkspace, Session};
use edt_git::{Repo, sha256};
use edt_guard::policy::Policy;
use edt_io::{failed, fs, streams};
use edt_types::text::Shown as _;
use edt_types::text::shell_word;
use edt_types::{Code, Effect, Finding, Level, Refusal, RepoPath, Result};

/// A request that policy allows or the user approved.
#[derive(Debug)]
pub(super) struct Permitted<'q> {
    pub(super) request: &'q ProgramRequest,
    /// The absolute path to execute.
    pub(super) program: PathBuf,
    /// The working directory, without symbolic links.
    pub(super) dir: PathBuf,
    /// Standard input: exactly the bytes that were evaluated or approved.
    pub(super) input: Option<Vec<u8>>,
    pub(super) level: Level,
    pub(super) limit: Duration,
    /// The resources that the program and all that it starts may use.
    pub(super) resources: ResourceLimits,
    pub(super) writable: Vec<PathBuf>,
    pub(super) readable: Vec<PathBuf>,
    pub(super) secrets: Vec<PathBuf>,
    /// Variables that the user allows.
    pub(super) variables: Vec<String>,
    pub(super) on_findings: OnFindings,
    /// The user's approval, if policy requires one. It must be consumed before the program runs.
    pub(super) approval: Option<CommandApproval>,
    /// The files that the approval covers.
    pub(super) covered: CoveredFiles,
    /// Held until the run is recorded.
    pub(super) turn: RunTurn,
    /// The paths that the command names.
    pub(super) named: NamedPaths,
    /// The script of an agent's own shell, which a hook judged: it has the agent's standard input,
    /// and only the limits that the agent sets.
    pub(super) script: Option<String>,
}

/// The limit of a script of an agent's shell, which the agent ends earlier.
const NO_LIMIT: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// A script of an agent's own shell, which a hook judged.
///
/// # Errors
/// `PROGRAM_NOT_FOUND` without bash, `PATH_OUTSIDE_REPO`, `IO_ERROR`; `SESSION_BUSY` if an approved
/// program runs.
pub(super) fn of_shell<'q>(
    workspace: &LockedWorkspace,
    policy: &Policy,
    request: &'q ProgramRequest,
    script: &str,
) -> Result<Permitted<'q>> {
    let rules = &policy.commands.run;
    let (root, dir) = (workspace.repo.real_root()?, fs::real_path(&request.dir));
    check_directory(&root, &dir)?;
    workspace.repo.set_max_file_size(policy.max_file_bytes);
    let mut programs = LocalHost.path_directories().into_iter().map(|dir| dir.join("bash"));
    let program = programs.find(|path| LocalHost.is_executable(path));
    Ok(Permitted {
        request,
        program: program.ok_or_else(|| not_found(request))?,
        dir,
        input: None,
        level: Level::Permissive,
        limit: NO_LIMIT,
        resources: ResourceLimits::of(Level::Permissive),
        writable: Vec::new(),
        readable: Vec::new(),
        secrets: Vec::new(),
        variables: Vec::new(),
        on_findings: rules.on_findings,
        approval: None,
        named: NamedPaths::default(),
        covered: CoveredFiles::default(),
        turn: RunTurn::beside_others(&workspace.repo)?,
        script: Some(script.to_owned()),
    })
}

impl Permitted<'_> {
    /// The home directory, if the sandbox withholds parts of it.
    pub(super) fn home(&self) -> Option<PathBuf> {
        LocalHost.home_directory().filter(|_| self.level > Level::Permissive)
    }
}

/// # Errors
/// `COMMAND_DENIED`, `APPROVAL_REQUIRED`, `PROPOSAL_REJECTED`, `PROGRAM_NOT_FOUND`,
/// `PATH_OUTSIDE_REPO`, `BAD_REQUEST`; `SESSION_BUSY` if an approved program runs, or if this one is
/// approved and another runs.
pub(super) fn permit<'q>(
    workspace: &mut LockedWorkspace,
    policy: &Policy,
    request: &'q ProgramRequest,
) -> Result<Permitted<'q>> {
    let rules = &policy.commands.run;
    let (root, dir) = (workspace.repo.real_root()?, fs::real_path(&request.dir));
    check_directory(&root, &dir)?;
    let limit = limit(request, rules)?;
    let input = input(&workspace.repo, &root, &request.stdin)?;
    let level = request.sandbox.unwrap_or(rules.min_level);
    let query = CommandQuery {
        program: &request.program,
        args: &request.args,
        dir: &dir,
        root: &root,
        env: &request.env,
        level,
    };
    workspace.repo.set_max_file_size(policy.max_file_bytes);
    let (evaluation, named) = {
        let host = WorktreeHost::new(Some(&workspace.repo));
        let evaluation = policy.commands.evaluate(&query, &host);
        // Some rules do not look at the arguments.
        request.args.iter().for_each(|arg| host.is_named(&fs::real_path(&dir.join(arg))));
        (evaluation, host.into_named())
    };
    let Some(program) = evaluation.program.clone() else { return Err(not_found(request).into()) };
    let line = request.line();
    let (turn, approval, covered) = match evaluation.decision {
        Decision::Allow => {
            (RunTurn::beside_others(&workspace.repo)?, None, CoveredFiles::default())
        }
        Decision::Deny => return Err(denied(&line, &evaluation).into()),
        Decision::Ask => {
            // Before its files are read, so that no other program changes them afterwards.
            let turn = RunTurn::alone(&workspace.repo)?;
            let recipe = recipe::executed(&evaluation, &root, &dir);
            let files = named_files(request, &evaluation, &dir);
            let covered = CoveredFiles::of(&root, files.iter().chain(&recipe.files));
            let places = (&*root, &*dir, &*files);
            let ask = CommandRequest {
                line: &line,
                parts: parts(request, &evaluation, places, level, input.as_deref())?,
                state: state(&workspace.repo)?,
                about: about(&evaluation, &dir, level, (request, rules))
                    + &about_input(&workspace.repo, input.as_deref())?,
                executed: recipe.shown,
                input: input.as_deref().filter(|input| input.len() > SHOWN_INPUT),
                agent: request.agent.clone(),
            };
            let approval = require_approval(workspace, &ask)
                .map_err(|found| with_all_facts(found, &evaluation))?;
            let Some(turn) = turn else { return Err(running::not_alone(&line).into()) };
            (turn, Some(approval), covered)
        }
    };
    let paths = |paths: &[PathBuf]| paths.iter().map(|path| expand_home(path)).collect();
    Ok(Permitted {
        request,
        program,
        dir,
        input,
        level,
        limit,
        resources: ResourceLimits::of(level).at_most(rules.memory, rules.cpu),
        writable: paths(&rules.writable),
        readable: paths(&rules.readable),
        secrets: paths(&rules.secrets),
        variables: rules.environment.clone(),
        on_findings: rules.on_findings,
        approval,
        covered,
        turn,
        named,
        script: None,
    })
}

/// What the files contain of which the command may read any.
fn state(repo: &Repo) -> Result<String> {
    let head = repo.head()?;
    let session = Session::current(repo, &head)?;
    let session = session.map_or_else(|| begin::preview_session(repo, &head), Ok)?;
    let limits = ReadLimits { file: MAX_INPUT_BYTES, total: 4 * MAX_INPUT_BYTES };
    user_changes::state(repo, &session, limits)
}

fn limit(request: &ProgramRequest, rules: &RunRules) -> Result<Duration> {
    match request.timeout {
        None => Ok(rules.timeout),
        Some(requested) if requested <= rules.max_timeout => Ok(requested),
        Some(requested) => {
            let (requested, most) = (requested.as_secs_f64(), rules.max_timeout.as_secs());
            let message = format!(
                "The time limit of {requested} s is more than the {most} s that policy allows."
            );
            let remedy = format!(
                "Request at most {most} s, or ask the user to raise `timeout` below [run] in their \
                 own edt.toml."
            );
            Err(Finding::new(Code::BadRequest, message, remedy)
                .with_effect(Effect::NothingRun)
                .with("max_s", most)
                .into())
        }
    }
}

/// The working directory must be in the worktree.
fn check_directory(root: &Path, dir: &Path) -> Result<()> {
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
    let message = format!("{} is outside the worktree {}.", path.shown(), root.shown());
    Finding::new(
        Code::PathOutsideRepo,
        message,
        "Name a path in the worktree. A path outside may be an argument of the program.",
    )
    .with_effect(Effect::NothingRun)
}

/// Replaces a leading `~` with the home directory.
pub(super) fn expand_home(path: &Path) -> PathBuf {
    match (path.strip_prefix("~"), LocalHost.home_directory()) {
        (Ok(below), Some(home)) => home.join(below),
        _ => path.to_owned(),
    }
}

/// The largest standard input, and the largest file whose content is part of an approval.
const MAX_INPUT_BYTES: u64 = 64 * 1024 * 1024;

/// Reads the program's standard input to its end. A file must be in the worktree, because the
/// sandbox may deny the program a file that edt itself can read.
fn input(repo: &Repo, root: &Path, input: &ProgramInput) -> Result<Option<Vec<u8>>> {
    let too_large = |name: &str| {
        let message = format!(
            "{name} has more than {MAX_INPUT_BYTES} bytes, the limit for a program's standard \
             input."
        );
        Finding::new(Code::FileTooLarge, message, "Pass the file's path as an argument instead.")
            .with_effect(Effect::NothingRun)
            .with("limit", MAX_INPUT_BYTES)
    };
    match input {
        ProgramInput::Closed => Ok(None),
        ProgramInput::Bytes(bytes) => Ok(Some(bytes.clone())),
        ProgramInput::Inherited => {
            let read = streams::read_stdin(MAX_INPUT_BYTES);
            let read = read.map_err(|error| failed("read", Path::new("standard input"), &error))?;
            read.map(Some).ok_or_else(|| too_large("Standard input").into())
        }
        ProgramInput::File(file) => {
            let file = fs::real_path(file);
            let Ok(below) = file.strip_prefix(root) else {
                return Err(outside(&file, root).into());
            };
            let bytes = below.as_os_str().as_encoded_bytes();
            let path = RepoPath::parse(bytes).map_err(|problem| problem.finding(bytes))?;
            let name = path.text();
            match path_state::file_on_disk(repo, &path, MAX_INPUT_BYTES)? {
                Some(OnDiskFile::Bytes(bytes)) => Ok(Some(bytes)),
                Some(OnDiskFile::TooLarge) => Err(too_large(&name).into()),
                None => {
                    let message = format!("{name} is not a file in the worktree.");
                    Err(Finding::new(
                        Code::FileNotFound,
                        message,
                        "Check the path with `edt status`.",
                    )
                    .with_effect(Effect::NothingRun)
                    .at(&path)
                    .into())
                }
            }
        }
    }
}

/// Everything that identifies the command. An approval is for exactly these parts.
fn parts(
    request: &ProgramRequest,
    evaluation: &CommandEvaluation,
    (root, dir, files): (&Path, &Path, &[PathBuf]),
    level: Level,
    input: Option<&[u8]>,
) -> Result<Vec<Vec<u8>>> {
    let bytes = |text: &std::ffi::OsStr| text.as_encoded_bytes().to_vec();
    let mut parts = vec![level.name().as_bytes().to_vec(), bytes(dir.as_os_str())];
    parts.extend(
        evaluation.program.iter().chain(&evaluation.real).map(|path| bytes(path.as_os_str())),
    );
    parts.push(
        input.map_or_else(
            || Ok(b"closed".to_vec()),
            |bytes| sha256(bytes).map(String::into_bytes),
        )?,
    );
    parts.extend(files.iter().map(|file| covered::content(root, file).unwrap_or_default()));
    let env =
        request.env.iter().flat_map(|(name, value)| [b"env".to_vec(), bytes(name), bytes(value)]);
    parts.extend(env);
    parts.push(b"args".to_vec());
    parts.extend(std::iter::once(&request.program).chain(&request.args).map(|arg| bytes(arg)));
    Ok(parts)
}

/// The files that the command names. Programs and scripts in the worktree are identified by content,
/// not by name. This covers every word of the commands that a shell or wrapper would run, and the
/// part after its `=`.
fn named_files(
    request: &ProgramRequest,
    evaluation: &CommandEvaluation,
    dir: &Path,
) -> Vec<PathBuf> {
    let inner = evaluation.steps.iter().flat_map(|step| step.argv.iter().map(OsString::from));
    let words =
        std::iter::once(request.program.clone()).chain(request.args.iter().cloned()).chain(inner);
    let parts_of = |word: OsString| {
        let value =
            word.to_str().and_then(|word| word.split_once('=')).map(|(_, value)| dir.join(value));
        std::iter::once(dir.join(&word)).chain(value)
    };
    evaluation.real.iter().cloned().chain(words.flat_map(parts_of)).collect()
}

/// What the user needs to know before the approval.
fn about(
    evaluation: &CommandEvaluation,
    dir: &Path,
    level: Level,
    (request, rules): (&ProgramRequest, &RunRules),
) -> String {
    let mut about = format!(
        "{} (rule {}, {}).",
        evaluation.reason.trim_end_matches('.'),
        evaluation.rule,
        evaluation.origin.name()
    );
    about += &format!(
        " It would run in {} at the sandbox level {level}.",
        shell_word(dir.as_os_str().as_encoded_bytes())
    );
    if let Some(real) = &evaluation.real {
        about += &format!(" The program is {}.", shell_word(real.as_os_str().as_encoded_bytes()));
    }
    let quoted = |text: &std::ffi::OsString| shell_word(text.as_encoded_bytes());
    let env: Vec<String> = request
        .env
        .iter()
        .map(|(name, value)| format!("{}={}", quoted(name), quoted(value)))
        .collect();
    if !env.is_empty() {
        about += &format!(" Its environment would also have {}.", env.join(" "));
    }
    about + &gives(level, &rules.writable)
}

/// What the program may do that runs at this level.
fn gives(level: Level, writable: &[PathBuf]) -> String {
    if level == Level::Permissive {
        return " It would have network access, and could write .git and all files that you can."
            .to_owned();
    }
    let more: String = writable
        .iter()
        .map(|path| format!(", {}", shell_word(path.as_os_str().as_encoded_bytes())))
        .collect();
    format!(
        " It would have no network access. It could write the worktree without .git, and a \
         temporary directory{more}."
    )
}

/// How many bytes of the standard input the user is shown at once.
const SHOWN_INPUT: usize = 2000;

/// What the user is shown of the standard input.
fn about_input(repo: &Repo, input: Option<&[u8]>) -> Result<String> {
    let Some(input) = input else { return Ok(String::new()) };
    let bytes = input.len();
    let shown = shell_word(&input[..bytes.min(SHOWN_INPUT)]);
    if bytes <= SHOWN_INPUT {
        return Ok(format!(" Its standard input has {bytes} bytes: {shown}"));
    }
    let blob = repo.blob_id(input)?;
    Ok(format!(
        " Its standard input has {bytes} bytes, of which only the first {SHOWN_INPUT} follow; \
         `git cat-file blob {blob} | cat -v` prints all: {shown}"
    ))
}

/// The refusal of the command `line`.
#[must_use]
pub fn denied(line: &str, evaluation: &CommandEvaluation) -> Finding {
    let message = format!(
        "{line} is denied: {} (rule {}, {}).",
        evaluation.reason.trim_end_matches('.'),
        evaluation.rule,
        evaluation.origin.name()
    );
    let finding = Finding::new(Code::CommandDenied, message, evaluation.hint);
    with_facts(finding.with_effect(Effect::NothingRun), evaluation)
}

fn with_all_facts(found: Refusal, evaluation: &CommandEvaluation) -> Refusal {
    let all: Vec<Finding> =
        found.into_vec().into_iter().map(|finding| with_facts(finding, evaluation)).collect();
    Refusal::check(all).err().unwrap_or_else(|| {
        Finding::new(
            Code::Internal,
            "A command needs approval, but no reason was given.",
            "Report this message.",
        )
        .into()
    })
}

fn with_facts(finding: Finding, evaluation: &CommandEvaluation) -> Finding {
    let steps: Vec<String> = evaluation
        .steps
        .iter()
        .map(|step| format!("{}: {}", step.by, step.argv.join(" ")))
        .collect();
    finding
        .with("rule", evaluation.rule.clone())
        .with("origin", evaluation.origin.name())
        .with("steps", steps)
}

fn not_found(request: &ProgramRequest) -> Finding {
    let name = shell_word(request.program.as_encoded_bytes());
    let is_script = |byte: &u8| byte.is_ascii_whitespace() || b"|&;<>()$`".contains(byte);
    let remedy = if request.program.as_encoded_bytes().iter().any(is_script) {
        format!(
            "It looks like a line for a shell. `edt run --shell {name}` runs it with bash; in a \
             request: {{\"program\": \"bash\", \"args\": [\"-c\", …]}}. Without a shell, each argument \
             is a separate word."
        )
    } else {
        "Check the spelling. Name a program in the worktree by its path, such as ./demo/calculate."
            .to_owned()
    };
    Finding::new(
        Code::ProgramNotFound,
        format!("There is no program {name}: it is neither an executable file nor a name on PATH."),
        remedy,
    )
    .with_effect(Effect::NothingRun)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(json: &str) -> ProgramRequest {
        crate::request::RunRequestJson::parse(json).unwrap().request(Path::new("/w")).unwrap()
    }

    fn rules() -> RunRules {
        let text = "[run]\ntimeout = 60\n";
        Policy::of(Some(text), None).unwrap().commands.run
    }

    #[test]
    fn a_request_without_a_limit_gets_that_of_the_policy() {
        let rules = rules();
        assert_eq!(limit(&request(r#"{"program": "x"}"#), &rules).unwrap(), rules.timeout);
    }

    #[test]
    fn a_request_may_have_the_longest_limit_and_no_more() {
        let rules = rules();
        let most = rules.max_timeout.as_secs();
        let of = |seconds: u64| {
            limit(&request(&format!(r#"{{"program": "x", "timeout": {seconds}}}"#)), &rules)
        };
        assert_eq!(of(most).unwrap(), rules.max_timeout);
        let finding = of(most + 1).unwrap_err().into_vec().remove(0);
        assert_eq!(
            finding.summary,
            format!(
                "The time limit of {} s is more than the {most} s that policy allows.",
                most + 1
            )
        );
        assert_eq!(finding.evidence["max_s"], most);
    }

    #[test]
    fn a_program_runs_in_the_worktree_only() {
        let root = tempfile::tempdir().unwrap();
        check_directory(root.path(), root.path()).unwrap();
        let outside = check_directory(root.path(), Path::new("/")).unwrap_err().into_vec();
        assert_eq!(outside, [super::outside(Path::new("/"), root.path())]);
        assert!(check_directory(root.path(), &root.path().join("none")).is_err());
    }

    #[test]
    fn a_program_that_does_not_exist_is_named() {
        let finding = not_found(&request(r#"{"program": "make all"}"#));
        assert_eq!(
            finding.summary,
            "There is no program 'make all': it is neither an executable file nor a name on PATH."
        );
    }

    #[test]
    fn only_files_of_the_worktree_are_part_of_an_approval() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("a"), "x").unwrap();
        let root = root.path().canonicalize().unwrap();
        assert_eq!(
            covered::content(&root, &root.join("a")),
            Some(sha256(b"x").unwrap().into_bytes())
        );
        assert_eq!(covered::content(&root, &root.join("none")), None);
        assert_eq!(covered::content(&root, Path::new("/etc/passwd")), None);
    }
}
