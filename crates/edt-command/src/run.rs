//! `[run]`: settings for every program that `edt run` starts.

use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;

use super::Decision;
use edt_types::Level;
use edt_types::text::Shown as _;

/// The settings of `[run]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRules {
    /// The minimum sandbox level, also used if a call names none. A call with less waits for user
    /// approval.
    pub min_level: Level,
    /// The longest time limit that a call may request.
    pub max_timeout: Duration,
    /// The time limit of a call that requests none.
    pub timeout: Duration,
    /// The most private memory of a program and all that it starts, in bytes.
    pub memory: Option<u64>,
    /// The most processor time of a program and all that it starts.
    pub cpu: Option<Duration>,
    /// Further directories that programs may write, from the user's file: absolute, or below `~/`.
    pub writable: Vec<PathBuf>,
    /// Paths of home directories that programs may read, from the user's file: absolute, or below
    /// `~/`.
    pub readable: Vec<PathBuf>,
    /// Further paths that programs may not read: absolute, or below `~/`.
    pub secrets: Vec<PathBuf>,
    /// Further variables that programs get, from the user's file: names, or beginnings with `*`.
    pub environment: Vec<String>,
    pub repository_programs: RepositoryProgramsRun,
    pub on_findings: OnFindings,
    /// The decision on a command that no rule matches.
    pub unknown: Decision,
}

/// How hooks, filters and validators of a repository run that someone other than the user causes to
/// run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RepositoryProgramsRun {
    /// In the sandbox, at the minimum level.
    Sandbox,
    /// As Git runs them for the user.
    AsUser,
}

/// What happens if guards object to changes of a program; later is stricter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnFindings {
    /// The findings are reported as warnings.
    Warn,
    /// The changes are rolled back.
    Refuse,
}

/// `[run]` as written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Table {
    sandbox: Option<Level>,
    timeout: Option<u64>,
    memory_mib: Option<u64>,
    cpu_seconds: Option<u64>,
    unknown: Option<Decision>,
    writable: Vec<PathBuf>,
    readable: Vec<PathBuf>,
    secrets: Vec<PathBuf>,
    environment: Vec<String>,
    repository_programs: Option<RepositoryProgramsRun>,
    on_findings: Option<OnFindings>,
}

/// The longest time limit that a file may set.
const MAX_TIMEOUT_SECONDS: u64 = 24 * 60 * 60;
/// The highest limit of memory that a file may set: a pebibyte.
const MAX_MEMORY_MIB: u64 = 1 << 30;
const DEFAULT_TIMEOUT_SECONDS: u64 = 120;

impl Default for RunRules {
    fn default() -> RunRules {
        RunRules {
            min_level: Level::Standard,
            max_timeout: Duration::from_secs(600),
            timeout: Duration::from_secs(DEFAULT_TIMEOUT_SECONDS),
            memory: None,
            cpu: None,
            writable: Vec::new(),
            readable: Vec::new(),
            secrets: Vec::new(),
            environment: Vec::new(),
            repository_programs: RepositoryProgramsRun::Sandbox,
            on_findings: OnFindings::Warn,
            unknown: Decision::Ask,
        }
    }
}

/// Merges both files. The repository's file can only make the user's settings stricter.
pub(super) fn merged(user: Table, repo: Table) -> Result<RunRules, (bool, String)> {
    invalid(&user).map_or(Ok(()), |why| Err((false, why)))?;
    invalid(&repo).map_or(Ok(()), |why| Err((true, why)))?;
    for (key, is_set) in [
        ("writable", !repo.writable.is_empty()),
        ("readable", !repo.readable.is_empty()),
        ("environment", !repo.environment.is_empty()),
        ("repository_programs", repo.repository_programs.is_some()),
    ] {
        if is_set {
            let why = format!(
                "[run] {key} is only for a user's own edt.toml; a repository may not extend the \
                 sandbox"
            );
            return Err((true, why));
        }
    }
    let built_in = RunRules::default();
    let most = user.timeout.map_or(built_in.max_timeout, Duration::from_secs);
    let max_timeout = repo.timeout.map_or(most, |repo| most.min(Duration::from_secs(repo)));
    let secrets = user.secrets.into_iter().chain(repo.secrets).collect();
    Ok(RunRules {
        min_level: stricter(user.sandbox.unwrap_or(built_in.min_level), repo.sandbox),
        max_timeout,
        timeout: built_in.timeout.min(max_timeout),
        memory: lower(user.memory_mib, repo.memory_mib).map(|mib| mib << 20),
        cpu: lower(user.cpu_seconds, repo.cpu_seconds).map(Duration::from_secs),
        writable: user.writable,
        readable: user.readable,
        secrets,
        environment: user.environment,
        repository_programs: user.repository_programs.unwrap_or(built_in.repository_programs),
        on_findings: stricter(user.on_findings.unwrap_or(built_in.on_findings), repo.on_findings),
        unknown: stricter(user.unknown.unwrap_or(built_in.unknown), repo.unknown),
    })
}

/// The lower of the two limits that are set.
fn lower(user: Option<u64>, repo: Option<u64>) -> Option<u64> {
    user.into_iter().chain(repo).min()
}

fn stricter<T: Ord>(user: T, repo: Option<T>) -> T {
    match repo {
        Some(repo) => user.max(repo),
        None => user,
    }
}

fn invalid(table: &Table) -> Option<String> {
    if let Some(seconds) =
        table.timeout.filter(|seconds| !(1..=MAX_TIMEOUT_SECONDS).contains(seconds))
    {
        return Some(format!(
            "[run] timeout must be between 1 and {MAX_TIMEOUT_SECONDS} seconds, not {seconds}"
        ));
    }
    for (key, number, most) in [
        ("memory_mib", table.memory_mib, MAX_MEMORY_MIB),
        ("cpu_seconds", table.cpu_seconds, MAX_TIMEOUT_SECONDS),
    ] {
        if let Some(number) = number.filter(|number| !(1..=most).contains(number)) {
            return Some(format!("[run] {key} must be between 1 and {most}, not {number}"));
        }
    }
    let rooted = |path: &&PathBuf| {
        path.is_absolute() || path.starts_with("~") && path.components().count() > 1
    };
    let paths = table.writable.iter().chain(&table.readable).chain(&table.secrets);
    if let Some(path) = paths.clone().find(|path| !rooted(path)) {
        let path = path.shown();
        return Some(format!("[run] {path} is neither an absolute path nor a path below ~/"));
    }
    let is_name = |name: &&String| {
        let name = name.strip_suffix('*').unwrap_or(name);
        !name.is_empty() && !name.contains(|c: char| c == '=' || c == '*' || c.is_whitespace())
    };
    table.environment.iter().find(|name| !is_name(name)).map(|name| {
        format!("[run] environment: {name:?} is neither a variable's name nor a beginning with `*`")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> Table {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn a_user_may_loosen_and_a_repository_only_tighten() {
        let loose = "sandbox = \"permissive\"\ntimeout = 3600\nunknown = \"allow\"\n";
        let strict =
            "sandbox = \"strict\"\ntimeout = 60\nunknown = \"deny\"\non_findings = \"refuse\"\n";
        let of = |user, repo| merged(table(user), table(repo)).unwrap();
        assert_eq!(of("", ""), RunRules::default());
        assert_eq!(of("", loose), RunRules::default());
        let mine = of(loose, "");
        assert_eq!(
            (mine.min_level, mine.max_timeout, mine.unknown),
            (Level::Permissive, Duration::from_secs(3600), Decision::Allow)
        );
        let both = of(loose, strict);
        assert_eq!(
            (both.min_level, both.timeout, both.unknown),
            (Level::Strict, Duration::from_secs(60), Decision::Deny)
        );
        assert_eq!(both.on_findings, OnFindings::Refuse);
        let (few, many) =
            ("memory_mib = 10\ncpu_seconds = 5\n", "memory_mib = 20\ncpu_seconds = 6\n");
        for (user, repo) in [(few, many), (many, few), (few, ""), ("", few)] {
            let limits = of(user, repo);
            assert_eq!((limits.memory, limits.cpu), (Some(10 << 20), Some(Duration::from_secs(5))));
        }
        let own = "environment = [\"A\", \"B_*\"]\nreadable = [\"~/.a\"]";
        assert_eq!(of(own, "").environment, ["A", "B_*"]);
        assert_eq!(of(own, "").readable, [PathBuf::from("~/.a")]);
        let secrets = of("secrets = [\"~/a\"]", "secrets = [\"/b\"]").secrets;
        assert_eq!(secrets, [PathBuf::from("~/a"), PathBuf::from("/b")]);
    }

    #[test]
    fn invalid_settings_are_refused() {
        for (user, repo, whose) in [
            ("", "writable = [\"/x\"]", true),
            ("", "readable = [\"/x\"]", true),
            ("", "environment = [\"X\"]", true),
            ("", "repository_programs = \"as_user\"", true),
            ("environment = [\"A=B\"]", "", false),
            ("environment = [\"*\"]", "", false),
            ("readable = [\"x\"]", "", false),
            ("timeout = 0", "", false),
            ("", "timeout = 90000", true),
            ("secrets = [\"x\"]", "", false),
            ("writable = [\"~\"]", "", false),
        ] {
            assert_eq!(merged(table(user), table(repo)).unwrap_err().0, whose, "{user}{repo}");
        }
    }
}
