//! `[run]`: what holds for every program that is run.

use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;

use super::Decision;
use crate::base::Level;

/// What holds for every program that is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRules {
    /// The least sandbox, and the one that a call gets that names none. What asks for less waits for a person.
    pub least: Level,
    /// The longest that a call may ask for.
    pub max_timeout: Duration,
    /// How long a call may take that asks for nothing.
    pub timeout: Duration,
    /// Further folders that programs may write, as the person's file has them: absolute, or below `~/`.
    pub writable: Vec<PathBuf>,
    /// Further paths that programs may not read, as the files have them: absolute, or below `~/`.
    pub secrets: Vec<PathBuf>,
    /// What guards' findings about what a program changed lead to.
    pub on_findings: OnFindings,
    /// What becomes of a command that no rule speaks of.
    pub unknown: Decision,
}

/// What guards' findings lead to; later is stricter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnFindings {
    /// They are told.
    Warn,
    /// The worktree is put back.
    Refuse,
}

/// `[run]` as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(in crate::policy) struct Table {
    sandbox: Option<Level>,
    timeout: Option<u64>,
    unknown: Option<Decision>,
    writable: Vec<PathBuf>,
    secrets: Vec<PathBuf>,
    on_findings: Option<OnFindings>,
}

/// The longest that any file may let a call take, in seconds.
const LONGEST: u64 = 24 * 60 * 60;
/// How long a call may take that asks for nothing, in seconds.
const DEFAULT: u64 = 120;

impl Default for RunRules {
    fn default() -> RunRules {
        RunRules {
            least: Level::Standard,
            max_timeout: Duration::from_secs(600),
            timeout: Duration::from_secs(DEFAULT),
            writable: Vec::new(),
            secrets: Vec::new(),
            on_findings: OnFindings::Warn,
            unknown: Decision::Ask,
        }
    }
}

/// The rules of both files: the person's word, which the repository's only tightens.
pub(super) fn merged(person: Table, repo: Table) -> Result<RunRules, (bool, String)> {
    fault(&person).map_or(Ok(()), |why| Err((false, why)))?;
    fault(&repo).map_or(Ok(()), |why| Err((true, why)))?;
    if !repo.writable.is_empty() {
        let why = "[run] writable stands in a person's own edt.toml only; a repository may not widen a sandbox";
        return Err((true, why.to_owned()));
    }
    let built_in = RunRules::default();
    let most = person.timeout.map_or(built_in.max_timeout, Duration::from_secs);
    let max_timeout = repo.timeout.map_or(most, |repo| most.min(Duration::from_secs(repo)));
    let secrets = person.secrets.into_iter().chain(repo.secrets).collect();
    Ok(RunRules {
        least: stricter(person.sandbox.unwrap_or(built_in.least), repo.sandbox),
        max_timeout,
        timeout: built_in.timeout.min(max_timeout),
        writable: person.writable,
        secrets,
        on_findings: stricter(person.on_findings.unwrap_or(built_in.on_findings), repo.on_findings),
        unknown: stricter(person.unknown.unwrap_or(built_in.unknown), repo.unknown),
    })
}

fn stricter<T: Ord>(person: T, repo: Option<T>) -> T {
    match repo {
        Some(repo) => person.max(repo),
        None => person,
    }
}

fn fault(table: &Table) -> Option<String> {
    if let Some(seconds) = table.timeout.filter(|seconds| !(1..=LONGEST).contains(seconds)) {
        return Some(format!(
            "[run] timeout must lie between 1 and {LONGEST} seconds, not be {seconds}"
        ));
    }
    let rooted = |path: &&PathBuf| {
        path.is_absolute() || path.starts_with("~") && path.components().count() > 1
    };
    let loose = table.writable.iter().chain(&table.secrets).find(|path| !rooted(path));
    loose.map(|path| {
        format!("[run] {} is neither an absolute path nor one below ~/", path.display())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> Table {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn a_person_may_loosen_and_a_repository_only_tighten() {
        let loose = "sandbox = \"permissive\"\ntimeout = 3600\nunknown = \"allow\"\n";
        let strict =
            "sandbox = \"strict\"\ntimeout = 60\nunknown = \"deny\"\non_findings = \"refuse\"\n";
        let of = |person, repo| merged(table(person), table(repo)).unwrap();
        assert_eq!(of("", ""), RunRules::default());
        assert_eq!(of("", loose), RunRules::default());
        let mine = of(loose, "");
        assert_eq!(
            (mine.least, mine.max_timeout, mine.unknown),
            (Level::Permissive, Duration::from_secs(3600), Decision::Allow)
        );
        let both = of(loose, strict);
        assert_eq!(
            (both.least, both.timeout, both.unknown),
            (Level::Strict, Duration::from_secs(60), Decision::Deny)
        );
        assert_eq!(both.on_findings, OnFindings::Refuse);
        let secrets = of("secrets = [\"~/a\"]", "secrets = [\"/b\"]").secrets;
        assert_eq!(secrets, [PathBuf::from("~/a"), PathBuf::from("/b")]);
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for (person, repo, whose) in [
            ("", "writable = [\"/x\"]", true),
            ("timeout = 0", "", false),
            ("", "timeout = 90000", true),
            ("secrets = [\"x\"]", "", false),
            ("writable = [\"~\"]", "", false),
        ] {
            assert_eq!(merged(table(person), table(repo)).unwrap_err().0, whose, "{person}{repo}");
        }
    }
}
