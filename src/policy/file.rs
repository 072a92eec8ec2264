//! `edt.toml`: read from the session's base commit, and from the person's own configuration folder.
//!
//! The repository's file comes after the person's. Where the person said something, the repository may only tighten it; where
//! the person said nothing, the repository decides.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use serde::Deserialize;

use crate::base::{Code, Finding, RepoPath, Result};

/// Everything that is configured, with defaults filled in.
#[derive(Debug, Clone)]
pub struct Policy {
    /// Whether `begin` switches HEAD to the session's branch.
    pub switch: bool,
    /// The size guard's rule.
    pub size_reduction: GuardRule,
    /// The size guard's limits.
    pub size_limits: SizeLimits,
    /// The rule against NUL bytes in text.
    pub binary_content: GuardRule,
    /// The rule against text that is no longer UTF-8.
    pub encoding: GuardRule,
    /// Paths that need a person.
    protect: GlobSet,
}

/// What a guard's finding leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GuardRule {
    /// Whether it refuses.
    pub mode: GuardMode,
    /// Who may override a refusal.
    pub overriding: Override,
}

/// Whether a guard refuses; later is stricter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GuardMode {
    /// Not run.
    Off,
    /// Reported, never refused.
    Warn,
    /// Refused.
    Refuse,
}

/// Who may override a refusal; later is stricter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Override {
    /// The request itself, with `allow`.
    Allow,
    /// A person.
    Approval,
    /// Nobody.
    Never,
}

/// How far a file may shrink.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SizeLimits {
    /// Largest part of the bytes that may go (0 to 1).
    pub max_bytes_lost: f64,
    /// Files of more bytes than this are judged by bytes.
    pub min_bytes: u64,
    /// Largest part of the lines that may go (0 to 1).
    pub max_lines_lost: f64,
    /// Files of at least this many lines are judged by lines.
    pub min_lines: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    session: Session,
    guards: Guards,
    protect: Vec<Protect>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Session {
    switch: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Guards {
    size_reduction: SizeGuard,
    binary_content: Guard,
    encoding: Guard,
}

#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Guard {
    mode: Option<GuardMode>,
    r#override: Option<Override>,
}

#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct SizeGuard {
    mode: Option<GuardMode>,
    r#override: Option<Override>,
    max_bytes_lost: Option<f64>,
    min_bytes: Option<u64>,
    max_lines_lost: Option<f64>,
    min_lines: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Protect {
    paths: Vec<String>,
}

impl Policy {
    /// The policy of a person's file and a repository's file, either of which may be absent.
    ///
    /// # Errors
    /// `BAD_REQUEST` naming the file, the line and the key: a policy that cannot be read is never skipped.
    pub fn of(person: Option<&str>, repository: Option<&str>) -> Result<Policy> {
        let person = parse(person, "your own edt.toml")?;
        let repo = parse(repository, "edt.toml in the session's base commit")?;
        let (ps, rs) = (person.guards.size_reduction, repo.guards.size_reduction);
        let size = |guard: SizeGuard| Guard { mode: guard.mode, r#override: guard.r#override };
        Ok(Policy {
            switch: repo.session.switch.or(person.session.switch).unwrap_or(true),
            size_reduction: rule(size(ps), size(rs)),
            size_limits: SizeLimits {
                max_bytes_lost: tightened(ps.max_bytes_lost, rs.max_bytes_lost, f64::min).unwrap_or(0.90),
                min_bytes: tightened(ps.min_bytes, rs.min_bytes, u64::min).unwrap_or(1000),
                max_lines_lost: tightened(ps.max_lines_lost, rs.max_lines_lost, f64::min).unwrap_or(0.66),
                min_lines: tightened(ps.min_lines, rs.min_lines, u64::min).unwrap_or(50),
            },
            binary_content: rule(person.guards.binary_content, repo.guards.binary_content),
            encoding: rule(person.guards.encoding, repo.guards.encoding),
            protect: globs(person.protect.iter().chain(&repo.protect))?,
        })
    }

    /// Whether a person must make changes of `path`.
    #[must_use]
    pub fn protects(&self, path: &RepoPath) -> bool {
        !self.protect.is_empty() && self.protect.is_match(path.to_string())
    }
}

fn rule(person: Guard, repo: Guard) -> GuardRule {
    GuardRule {
        mode: tightened(person.mode, repo.mode, Ord::max).unwrap_or(GuardMode::Refuse),
        overriding: tightened(person.r#override, repo.r#override, Ord::max).unwrap_or(Override::Allow),
    }
}

fn tightened<T>(person: Option<T>, repo: Option<T>, stricter: fn(T, T) -> T) -> Option<T> {
    match (person, repo) {
        (Some(person), Some(repo)) => Some(stricter(person, repo)),
        (person, repo) => repo.or(person),
    }
}

fn parse(text: Option<&str>, whose: &str) -> Result<File> {
    let Some(text) = text else { return Ok(File::default()) };
    let file: File = toml::from_str(text).map_err(|error| unreadable(whose, &error.to_string()))?;
    let size = file.guards.size_reduction;
    for share in [size.max_bytes_lost, size.max_lines_lost].into_iter().flatten() {
        if !(0.0..=1.0).contains(&share) {
            return Err(unreadable(whose, &format!("{share} is not a share between 0 and 1")).into());
        }
    }
    Ok(file)
}

fn globs<'a>(protect: impl Iterator<Item = &'a Protect>) -> Result<GlobSet> {
    let mut set = GlobSetBuilder::new();
    for pattern in protect.flat_map(|protect| &protect.paths) {
        let glob = GlobBuilder::new(pattern).literal_separator(true).build();
        set.add(glob.map_err(|error| unreadable("edt.toml", &error.to_string()))?);
    }
    set.build().map_err(|error| unreadable("edt.toml", &error.to_string()).into())
}

fn unreadable(whose: &str, why: &str) -> Finding {
    Finding::new(
        Code::BadRequest,
        format!("Could not read {whose}: {}", why.trim_end()),
        "A person must correct that file; for the repository's, commit the correction and begin a new session.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_limits_are_those_of_the_contract() {
        let policy = Policy::of(None, None).unwrap();
        let limits = SizeLimits { max_bytes_lost: 0.90, min_bytes: 1000, max_lines_lost: 0.66, min_lines: 50 };
        assert_eq!(policy.size_limits, limits);
        assert!(policy.switch);
    }

    #[test]
    fn a_repository_may_tighten_what_a_person_set_but_not_loosen_it() {
        let person = "[guards.size_reduction]\nmode = \"warn\"\nmax_bytes_lost = 0.5\n";
        let tighter =
            Policy::of(Some(person), Some("[guards.size_reduction]\nmode = \"refuse\"\nmax_bytes_lost = 0.4\n"));
        assert_eq!(tighter.as_ref().unwrap().size_reduction.mode, GuardMode::Refuse);
        assert!((tighter.unwrap().size_limits.max_bytes_lost - 0.4).abs() < 1e-9);
        let looser =
            Policy::of(Some(person), Some("[guards.size_reduction]\nmode = \"off\"\nmax_bytes_lost = 0.9\n")).unwrap();
        assert_eq!(looser.size_reduction.mode, GuardMode::Warn);
        assert!((looser.size_limits.max_bytes_lost - 0.5).abs() < 1e-9);
    }

    #[test]
    fn protected_paths_are_globs_that_respect_folders() {
        let policy = Policy::of(None, Some("[[protect]]\npaths = [\".github/**\", \"*.lock\"]\n")).unwrap();
        let protects = |path: &str| policy.protects(&RepoPath::parse(path.as_bytes()).unwrap());
        assert!(protects(".github/workflows/ci.yml") && protects("Cargo.lock"));
        assert!(!protects("a/Cargo.lock") && !protects("src/main.rs"));
    }

    #[test]
    fn an_unknown_key_is_never_skipped() {
        let error = Policy::of(None, Some("[guards.size_reductoin]\nmode = \"off\"\n")).unwrap_err();
        assert!(error.to_string().contains("size_reductoin"), "{error}");
    }
}
