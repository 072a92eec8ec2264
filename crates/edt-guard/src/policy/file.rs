//! `edt.toml`: read from the session's base commit, and from the user's configuration directory.
//!
//! Where the user's file sets a key, the repository's file may only make it stricter. Where the
//! user's file does not, the repository decides.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;

use super::globs::{Globs, unreadable};
use super::guard_rule::{GuardMode, GuardRule, KnownGuard, Override, PROTECTED_PATH};
use super::limits::{DeletionLimits, Limits, Session, SizeLimits};
use super::named::WorktreePaths;
use super::privacy::{Attribution, Privacy};
use super::validator::{self, Trust, Validator};
use edt_command::CommandPolicy;
use edt_io::disk::MAX_FILE;
use edt_types::text::Shown as _;
use edt_types::{Durability, Finding, RepoPath, Result};

/// Names of the two files in messages.
const USER_FILE: &str = "your own edt.toml";
const REPOSITORY_FILE: &str = "edt.toml in the session's base commit";

/// Everything that is configured, with defaults filled in.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a key of edt.toml")]
pub struct Policy {
    /// Whether `begin` switches HEAD to the session's branch.
    pub switch: bool,
    /// What must be on stable storage before an edit is answered, if a file says so.
    pub durability: Option<Durability>,
    /// Whether failures and their fixes are remembered.
    pub memory: bool,
    /// Whether a landing names the agents and models of its edits (`Assisted-by`).
    pub assisted_by: bool,
    /// The limits of the guard `size_reduction`.
    pub size_limits: SizeLimits,
    /// The largest file that an edit or a checkpoint reads or writes, in bytes.
    pub max_file_bytes: u64,
    /// At which failed patch in a row for a file the complete file is asked for.
    pub failed_patches: u64,
    /// How many edits a session may have; `None`: any number.
    pub max_edits: Option<u64>,
    /// Whether the user is warned who commits on the branch of a session.
    pub warn_on_user_commit: bool,
    /// The limits of the guard `mass_deletion`.
    pub deletion_limits: DeletionLimits,
    /// The time limit for parsing one file in all guards.
    pub time_limit: Duration,
    /// Programs that check files: the user's, then the repository's.
    pub validators: Vec<Validator>,
    /// Whether an edit is refused until the user has trusted the validators of its files.
    pub require_trust: bool,
    /// Directories whose worktrees a client of `edt mcp` without roots may name.
    pub mcp_worktrees: Vec<PathBuf>,
    /// Whether the first line of a prompt may be in the commits of its edits.
    pub commits_prompts: bool,
    /// The key with which the user signs approvals, as written.
    pub signing_key: Option<PathBuf>,
    /// Which programs may run, and how.
    pub commands: CommandPolicy,
    /// The guards whose modes have defaults, in the order of reports.
    guards: Vec<KnownGuard>,
    /// The settings of guards: the user's, then the repository's.
    layers: [Rules; 2],
    /// Protected paths: all of them, and those that no approval unlocks.
    protect: [Globs; 2],
    /// Paths that other programs execute and the user excepted, and in which repository.
    pub(super) unprotected: Vec<(Option<PathBuf>, Globs)>,
    /// Whether files that other programs execute are ordinary ones.
    pub(super) is_for_users: bool,
    pub(super) paths: WorktreePaths,
    /// Branches that are neither deleted nor rewound, including [`PROTECTED`].
    branches: Globs,
}

/// Branches that are protected in every repository, as globs of their short names.
pub const PROTECTED: [&str; 5] = ["main", "master", "trunk", "develop", "release/*"];

/// The largest `edt.toml` of a repository that is read, in bytes.
pub const MAX_BYTES: usize = 1024 * 1024;

/// The largest `time_limit_ms`.
const MAX_MS: u64 = 60_000;

/// The guard settings of one file: for all paths, then for some.
#[derive(Debug, Clone, Default)]
struct Rules {
    all: BTreeMap<String, GuardTable>,
    some: Vec<(Globs, BTreeMap<String, GuardTable>)>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    session: Session,
    memory: Memory,
    attribution: Attribution,
    limits: Limits,
    guards: Guards,
    paths: Vec<Paths>,
    protect: Vec<Protect>,
    unprotect: Vec<Unprotect>,
    mcp: Mcp,
    approvals: Approvals,
    privacy: Privacy,
    refs: Refs,
    validator: Vec<validator::Table>,
    run: edt_command::RunTable,
    command: Vec<edt_command::Table>,
}

/// Either file may switch the memory off.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Memory {
    enabled: Option<bool>,
}

/// Branches, as globs of their short names. Both files only add to the built-in list.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Refs {
    protected: Vec<String>,
}

/// The tables of guards by name. All have the same type: the keys of every guard.
#[derive(Debug, Default, Deserialize)]
#[serde(transparent)]
struct Guards(BTreeMap<String, GuardTable>);

#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct GuardTable {
    mode: Option<GuardMode>,
    r#override: Option<Override>,
    max_bytes_lost: Option<f64>,
    min_bytes: Option<u64>,
    max_lines_lost: Option<f64>,
    min_lines: Option<u64>,
    max_files: Option<u64>,
    max_lines: Option<u64>,
    time_limit_ms: Option<u64>,
    require: Option<bool>,
}

/// Guard settings of some paths: the last table that matches decides each key.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Paths {
    r#match: Vec<String>,
    guards: Guards,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Protect {
    paths: Vec<String>,
    #[serde(default = "Override::never")]
    r#override: Override,
}

/// Paths that other programs execute and an agent may change: a key of the user's file alone.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Unprotect {
    paths: Vec<String>,
    /// The root of the worktree in which this applies; all if absent.
    repository: Option<PathBuf>,
}

/// A table of the user's file alone.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Mcp {
    worktrees: Vec<PathBuf>,
}

/// A table of the user's file alone.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Approvals {
    signing_key: Option<PathBuf>,
}

impl Policy {
    /// The policy of the user's file and the repository's file, either of which may be absent, over
    /// `guards`.
    pub(crate) fn of_guards(
        guards: Vec<KnownGuard>,
        user: Option<&str>,
        repository: Option<&str>,
    ) -> Result<Policy> {
        let mut user = parse(user, USER_FILE, &guards)?;
        let mut repo = parse(repository, REPOSITORY_FILE, &guards)?;
        let mut validators =
            validator::parse_tables(std::mem::take(&mut user.validator), USER_FILE, Trust::User)?;
        validators.extend(validator::parse_tables(
            std::mem::take(&mut repo.validator),
            REPOSITORY_FILE,
            Trust::Untrusted,
        )?);
        let commands = commands(&mut user, &mut repo)?;
        let of = |guard: &str| (user.guards.of(guard), repo.guards.of(guard));
        let ((ps, rs), (pd, rd), (pt, rt)) =
            (of("size_reduction"), of("mass_deletion"), of("syntax"));
        let (pv, rv) = of("validator");
        let switch = repo.session.switch.or(user.session.switch).unwrap_or(true);
        let protect = user.protect.iter().chain(&repo.protect);
        let never = protect.clone().filter(|protect| protect.r#override == Override::Never);
        let protect = [
            Globs::new(protect.flat_map(|protect| &protect.paths), "edt.toml")?,
            Globs::new(never.flat_map(|protect| &protect.paths), "edt.toml")?,
        ];
        for (name, is_set) in [
            ("[[unprotect]]", !repo.unprotect.is_empty()),
            ("[mcp]", !repo.mcp.worktrees.is_empty()),
            ("[approvals]", repo.approvals.signing_key.is_some()),
            ("[privacy]", repo.privacy.is_set()),
        ] {
            if is_set {
                let why = format!("{name} belongs in the user's own edt.toml");
                return Err(unreadable(REPOSITORY_FILE, &why).into());
            }
        }
        let named = user.unprotect.iter().filter_map(|one| one.repository.as_ref());
        if let Some(path) = named.chain(&user.mcp.worktrees).find(|path| !path.is_absolute()) {
            let why = format!("{} is not an absolute path", path.shown());
            return Err(unreadable(USER_FILE, &why).into());
        }
        let unprotected = std::mem::take(&mut user.unprotect).into_iter();
        let unprotected = unprotected
            .map(|one| Ok((one.repository, Globs::new(one.paths.iter(), USER_FILE)?)))
            .collect::<Result<_>>()?;
        let built_in = PROTECTED.map(str::to_owned);
        let branches = built_in.iter().chain(&user.refs.protected).chain(&repo.refs.protected);
        let branches = Globs::new(branches, "edt.toml")?;
        Ok(Policy {
            switch,
            memory: user.memory.enabled != Some(false) && repo.memory.enabled != Some(false),
            assisted_by: [&user, &repo]
                .iter()
                .all(|file| file.attribution.assisted_by != Some(false)),
            durability: stricter_of(user.session.durability, repo.session.durability, Ord::max),
            size_limits: SizeLimits {
                max_bytes_lost: stricter_of(ps.max_bytes_lost, rs.max_bytes_lost, f64::min)
                    .unwrap_or(0.90),
                min_bytes: stricter_of(ps.min_bytes, rs.min_bytes, u64::min).unwrap_or(1000),
                max_lines_lost: stricter_of(ps.max_lines_lost, rs.max_lines_lost, f64::min)
                    .unwrap_or(0.66),
                min_lines: stricter_of(ps.min_lines, rs.min_lines, u64::min).unwrap_or(50),
            },
            max_file_bytes: stricter_of(
                user.limits.max_file_bytes,
                repo.limits.max_file_bytes,
                u64::min,
            )
            .unwrap_or(MAX_FILE),
            failed_patches: stricter_of(
                user.limits.failed_patches,
                repo.limits.failed_patches,
                u64::min,
            )
            .unwrap_or(2),
            max_edits: stricter_of(user.session.max_edits, repo.session.max_edits, u64::min),
            warn_on_user_commit: stricter_of(
                user.session.warn_on_user_commit,
                repo.session.warn_on_user_commit,
                |a, b| a || b,
            )
            .unwrap_or(true),
            deletion_limits: DeletionLimits {
                max_files: stricter_of(pd.max_files, rd.max_files, u64::min).unwrap_or(10),
                max_lines: stricter_of(pd.max_lines, rd.max_lines, u64::min).unwrap_or(2000),
            },
            time_limit: Duration::from_millis(
                stricter_of(pt.time_limit_ms, rt.time_limit_ms, u64::max).unwrap_or(1000),
            ),
            validators,
            mcp_worktrees: std::mem::take(&mut user.mcp.worktrees),
            commits_prompts: user.privacy.commits_prompts(),
            signing_key: user.approvals.signing_key.take(),
            require_trust: stricter_of(pv.require, rv.require, |a, b| a || b).unwrap_or(false),
            commands,
            guards,
            layers: [user.rules()?, repo.rules()?],
            protect,
            unprotected,
            is_for_users: false,
            paths: WorktreePaths::default(),
            branches,
        })
    }

    /// Whether only the user may change `path`.
    #[must_use]
    pub fn protects(&self, path: &RepoPath) -> bool {
        self.protected_by(path).is_some()
    }

    /// Whether `[[protect]]` lists `path`.
    #[must_use]
    pub fn is_listed(&self, path: &RepoPath) -> bool {
        self.protect[0].is_match(&path.text())
    }

    /// Whether only the user may delete or rewind the branch `name` (without `refs/heads/`).
    #[must_use]
    pub fn protects_branch(&self, name: &str) -> bool {
        self.branches.is_match(name)
    }

    /// The settings of edt's own guard `guard` for `path`, or for a whole transaction.
    #[must_use]
    pub fn rule(&self, guard: &str, path: Option<&RepoPath>) -> GuardRule {
        let known = self.guards.iter().find(|(name, _)| *name == guard);
        self.rule_or(guard, known.map_or(GuardMode::Refuse, |(_, mode)| *mode), path)
    }

    /// As [`Policy::rule`] for any guard, whose mode is `default` if no policy sets it.
    pub(crate) fn rule_or(
        &self,
        guard: &str,
        default: GuardMode,
        path: Option<&RepoPath>,
    ) -> GuardRule {
        if guard == PROTECTED_PATH {
            let never = path.is_none_or(|path| self.protect[1].is_match(&path.text()));
            let overriding = if never { Override::Never } else { Override::Approval };
            return GuardRule { mode: GuardMode::Refuse, overriding };
        }
        let [user, mut repo] = self.layers.each_ref().map(|layer| layer.of(guard, path));
        // A repository may not switch off the user's own validators.
        if guard == "validator"
            && self.validators.iter().any(|one| one.trust == super::validator::Trust::User)
        {
            repo.mode = repo.mode.map(|_| GuardMode::Refuse);
        }
        GuardRule {
            mode: stricter_of(user.mode, repo.mode, Ord::max).unwrap_or(default),
            overriding: stricter_of(user.r#override, repo.r#override, Ord::max)
                .unwrap_or(Override::Allow),
        }
    }
}

/// Takes the command rules out of both files.
fn commands(user: &mut File, repo: &mut File) -> Result<CommandPolicy> {
    let take = |file: &mut File| (std::mem::take(&mut file.run), std::mem::take(&mut file.command));
    edt_command::from_tables(take(user), take(repo)).map_err(|(in_repository, why)| {
        unreadable(if in_repository { REPOSITORY_FILE } else { USER_FILE }, &why).into()
    })
}

impl Guards {
    fn of(&self, guard: &str) -> GuardTable {
        self.0.get(guard).copied().unwrap_or_default()
    }
}

impl File {
    fn rules(self) -> Result<Rules> {
        let some = self
            .paths
            .into_iter()
            .map(|paths| Ok((Globs::new(paths.r#match.iter(), "edt.toml")?, paths.guards.0)));
        Ok(Rules { all: self.guards.0, some: some.collect::<Result<_>>()? })
    }
}

impl Rules {
    fn of(&self, guard: &str, path: Option<&RepoPath>) -> GuardTable {
        let mut rule = self.all.get(guard).copied().unwrap_or_default();
        let name = path.filter(|_| !self.some.is_empty()).map(RepoPath::text);
        for (globs, guards) in &self.some {
            if let Some(own) =
                guards.get(guard).filter(|_| name.as_ref().is_some_and(|name| globs.is_match(name)))
            {
                rule.mode = own.mode.or(rule.mode);
                rule.r#override = own.r#override.or(rule.r#override);
            }
        }
        rule
    }
}

fn stricter_of<T>(user: Option<T>, repo: Option<T>, stricter: fn(T, T) -> T) -> Option<T> {
    match (user, repo) {
        (Some(user), Some(repo)) => Some(stricter(user, repo)),
        (user, repo) => repo.or(user),
    }
}

fn parse(text: Option<&str>, origin: &str, known: &[KnownGuard]) -> Result<File> {
    let Some(text) = text else { return Ok(File::default()) };
    let file: File =
        toml::from_str(text).map_err(|error| unreadable(origin, &error.to_string()))?;
    let limits = |guard: &str| match guard {
        "size_reduction" => &["max_bytes_lost", "min_bytes", "max_lines_lost", "min_lines"][..],
        "mass_deletion" => &["max_files", "max_lines"],
        "syntax" => &["time_limit_ms"],
        "validator" => &["require"],
        _ => &[],
    };
    let everywhere = file.guards.0.iter().map(|(name, guard)| (name, guard, limits(name)));
    let somewhere = file
        .paths
        .iter()
        .flat_map(|paths| &paths.guards.0)
        .map(|(name, guard)| (name, guard, &[][..]));
    if file.paths.iter().any(|paths| paths.guards.0.contains_key("mass_deletion")) {
        return Err(unreadable(
            origin,
            "mass_deletion checks a whole transaction and cannot be set for some paths",
        )
        .into());
    }
    if file.protect.iter().any(|protect| protect.r#override == Override::Allow) {
        let why = "[[protect]] is for paths that only the user may change: its override is \"approval\" or \"never\"";
        return Err(unreadable(origin, why).into());
    }
    if let Some(why) = file.session.fault().or_else(|| file.limits.fault()) {
        return Err(unreadable(origin, &why).into());
    }
    let settable: Vec<&str> =
        known.iter().map(|(name, _)| *name).filter(|name| *name != PROTECTED_PATH).collect();
    for (name, guard, allowed) in everywhere.chain(somewhere) {
        if !settable.contains(&name.as_str()) {
            let guards = settable.join(", ");
            let why = format!("there is no guard {name}; the guards are {guards}");
            return Err(unreadable(origin, &why).into());
        }
        if let Some(key) = guard.limits().into_iter().find(|key| !allowed.contains(key)) {
            return Err(unreadable(origin, &format!("{name} has no key {key} here")).into());
        }
        if let Some(ms) = guard.time_limit_ms.filter(|ms| *ms > MAX_MS) {
            return Err(unreadable(
                origin,
                &format!("time_limit_ms is at most {MAX_MS}; it is {ms}"),
            )
            .into());
        }
        for share in [guard.max_bytes_lost, guard.max_lines_lost].into_iter().flatten() {
            if !(0.0..=1.0).contains(&share) {
                return Err(unreadable(origin, &format!("{share} is not between 0 and 1")).into());
            }
        }
    }
    Ok(file)
}

impl GuardTable {
    /// The limits that are set, by their keys.
    fn limits(&self) -> Vec<&'static str> {
        let set = [
            ("max_bytes_lost", self.max_bytes_lost.is_some()),
            ("min_bytes", self.min_bytes.is_some()),
            ("max_lines_lost", self.max_lines_lost.is_some()),
            ("min_lines", self.min_lines.is_some()),
            ("max_files", self.max_files.is_some()),
            ("max_lines", self.max_lines.is_some()),
            ("time_limit_ms", self.time_limit_ms.is_some()),
            ("require", self.require.is_some()),
        ];
        set.into_iter().filter(|(_, set)| *set).map(|(key, _)| key).collect()
    }
}

/// The text of a repository's file.
///
/// # Errors
/// `BAD_REQUEST` for a file that is larger than [`MAX_BYTES`] or not UTF-8.
pub(crate) fn text_of(bytes: &[u8]) -> Result<&str> {
    if bytes.len() > MAX_BYTES {
        return Err(too_long(bytes.len()).into());
    }
    std::str::from_utf8(bytes).map_err(|error| {
        let line = bytes[..error.valid_up_to()].split(|&byte| byte == b'\n').count();
        unreadable(REPOSITORY_FILE, &format!("line {line} is not UTF-8")).into()
    })
}

/// `BAD_REQUEST` for a repository's file of `bytes` bytes.
#[must_use]
pub fn too_long(bytes: usize) -> Finding {
    unreadable(REPOSITORY_FILE, &format!("it has {bytes} bytes; edt reads at most {MAX_BYTES}"))
}

/// `BAD_REQUEST` for an `edt.toml` that is not a file.
#[must_use]
pub fn not_a_file() -> Finding {
    unreadable(REPOSITORY_FILE, "it is a link, a directory or a submodule, not a file")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_limits_are_the_documented_ones() {
        let policy = Policy::of(None, None).unwrap();
        let limits = SizeLimits {
            max_bytes_lost: 0.90,
            min_bytes: 1000,
            max_lines_lost: 0.66,
            min_lines: 50,
        };
        assert_eq!(policy.size_limits, limits);
        assert!(policy.switch);
    }

    #[test]
    fn a_repository_may_make_a_setting_of_the_user_stricter_but_not_looser() {
        let user = "[guards.size_reduction]\nmode = \"warn\"\nmax_bytes_lost = 0.5\n";
        let tighter = Policy::of(
            Some(user),
            Some("[guards.size_reduction]\nmode = \"refuse\"\nmax_bytes_lost = 0.4\n"),
        );
        assert_eq!(tighter.as_ref().unwrap().rule("size_reduction", None).mode, GuardMode::Refuse);
        assert!((tighter.unwrap().size_limits.max_bytes_lost - 0.4).abs() < 1e-9);
        let looser = Policy::of(
            Some(user),
            Some("[guards.size_reduction]\nmode = \"off\"\nmax_bytes_lost = 0.9\n"),
        )
        .unwrap();
        assert_eq!(looser.rule("size_reduction", None).mode, GuardMode::Warn);
        assert!((looser.size_limits.max_bytes_lost - 0.5).abs() < 1e-9);
    }

    #[test]
    fn of_two_numbers_the_smaller_one_counts() {
        let of = |user, repo| {
            let policy = Policy::of(Some(user), Some(repo)).unwrap();
            (policy.failed_patches, policy.max_edits)
        };
        assert_eq!(of("", ""), (2, None));
        let (few, many) = (
            "[limits]\nfailed_patches = 3\n[session]\nmax_edits = 5\n",
            "[limits]\nfailed_patches = 4\n[session]\nmax_edits = 50\n",
        );
        for (user, repo) in [(few, many), (many, few), (few, ""), ("", few)] {
            assert_eq!(of(user, repo), (3, Some(5)));
        }
        for number in [0, 101] {
            let text = format!("[limits]\nfailed_patches = {number}\n");
            let error = Policy::of(None, Some(&text)).unwrap_err().to_string();
            assert!(error.contains("between 1 and 100"), "{error}");
        }
        let error = Policy::of(None, Some("[session]\nmax_edits = 0\n")).unwrap_err().to_string();
        assert!(error.contains("at least 1"), "{error}");
    }

    #[test]
    fn only_the_user_excepts_files_that_other_programs_execute() {
        let envrc = RepoPath::parse(b".envrc").unwrap();
        let scratch = edt_testkit::ScratchRepo::with(&[("a.txt", "one\n")]);
        let protects = |user: &str| {
            let user = user.replace("HERE", scratch.path().to_str().unwrap());
            let policy = Policy::of(Some(&user), None).unwrap();
            policy.in_repository(&scratch.path().join(".git")).protects(&envrc)
        };
        assert!(protects(""));
        assert!(!protects("[[unprotect]]\npaths = [\"**/.envrc\"]\n"));
        assert!(!protects("unprotect = [{ paths = [\"**\"], repository = \"HERE\" }]\n"));
        assert!(protects("unprotect = [{ paths = [\"**\"], repository = \"/elsewhere\" }]\n"));
        assert!(protects("unprotect = [{ paths = [\"docs/**\"] }]\n"));
        let error = |user, repository| Policy::of(user, repository).unwrap_err().to_string();
        let all = "[[unprotect]]\npaths = [\"**\"]\n";
        assert!(error(None, Some(all)).contains("user's own edt.toml"));
        let relative = "unprotect = [{ paths = [\"**\"], repository = \"~/x\" }]\n";
        assert!(error(Some(relative), None).contains("~/x is not an absolute path"));
        assert!(error(Some("[mcp]\nworktrees = [\"x\"]\n"), None).contains("absolute"));
    }

    #[test]
    fn what_git_executes_from_the_worktree_is_protected() {
        let configured = ["tools/hooks".to_owned(), "shared.config".to_owned()];
        let policy = Policy::of(None, None).unwrap().with_configured(configured.into());
        let protects = |path: &str| policy.protects(&RepoPath::parse(path.as_bytes()).unwrap());
        assert!(protects("tools/hooks/pre-commit") && !protects("tools/hooks.md"));
        assert!(protects("shared.config") && !protects("a/shared.config"));
    }

    #[test]
    fn a_directory_with_an_exception_is_left_to_the_exception() {
        let executes = |user: &str, path: &str| {
            let policy = Policy::of(Some(user), None).unwrap();
            policy.executes_directory(&RepoPath::parse(path.as_bytes()).unwrap())
        };
        assert!(executes("", ".husky") && executes("", "a/.husky") && !executes("", ".envrc"));
        let user = "[[unprotect]]\npaths = [\".husky/_/**\"]\n";
        assert!(!executes(user, ".husky") && executes(user, ".idea"));
        assert!(!executes("[[unprotect]]\npaths = [\"**\"]\n", ".husky"));
        let deep = "[[unprotect]]\npaths = [\"**/workflows/**\"]\n";
        assert!(!executes(deep, ".github/workflows") && executes(deep, ".github/actions"));
    }

    #[test]
    fn an_exception_does_not_reach_what_a_file_lists_itself() {
        let user = "[[unprotect]]\npaths = [\"**\"]\n";
        let policy = Policy::of(Some(user), Some("[[protect]]\npaths = [\".envrc\"]\n")).unwrap();
        assert!(policy.protects(&RepoPath::parse(b".envrc").unwrap()));
    }

    #[test]
    fn protected_paths_are_globs_that_respect_directories() {
        let policy =
            Policy::of(None, Some("[[protect]]\npaths = [\".github/**\", \"*.lock\"]\n")).unwrap();
        let protects = |path: &str| policy.protects(&RepoPath::parse(path.as_bytes()).unwrap());
        assert!(protects(".github/workflows/ci.yml") && protects("Cargo.lock"));
        assert!(!protects("a/Cargo.lock") && !protects("src/main.rs"));
    }

    #[test]
    fn a_guard_may_be_set_for_some_paths() {
        let text = "[guards.syntax]\noverride = \"never\"\n[[paths]]\nmatch = [\"fixtures/**\"]\n\
            [paths.guards.syntax]\nmode = \"off\"\n";
        let rule = |policy: &Policy, path: &str| {
            policy.rule("syntax", Some(&RepoPath::parse(path.as_bytes()).unwrap()))
        };
        let policy = Policy::of(None, Some(text)).unwrap();
        let never = |mode| GuardRule { mode, overriding: Override::Never };
        assert_eq!(rule(&policy, "fixtures/a/b.c"), never(GuardMode::Off));
        assert_eq!(rule(&policy, "src/b.c"), never(GuardMode::Refuse));
        let user = "[guards.syntax]\nmode = \"warn\"\n";
        let policy = Policy::of(Some(user), Some(text)).unwrap();
        assert_eq!(
            rule(&policy, "fixtures/a/b.c"),
            never(GuardMode::Warn),
            "the repository may not make it looser"
        );
    }

    #[test]
    fn a_guard_takes_only_its_own_limits_and_only_for_all_paths() {
        for text in [
            "[guards.syntax]\nmin_lines = 3\n",
            "[[paths]]\nmatch = [\"a\"]\nguards.size_reduction.min_lines = 3\n",
        ] {
            let error = Policy::of(None, Some(text)).unwrap_err();
            assert!(error.to_string().contains("min_lines"), "{error}");
        }
    }

    #[test]
    fn the_smaller_of_both_file_size_limits_applies() {
        let limit = |most: u64| format!("[limits]\nmax_file_bytes = {most}\n");
        let largest = |user: Option<u64>, repo: Option<u64>| {
            let (user, repo) = (user.map(limit), repo.map(limit));
            Policy::of(user.as_deref(), repo.as_deref()).unwrap().max_file_bytes
        };
        assert_eq!(largest(None, None), 100 * 1024 * 1024);
        assert_eq!(
            (largest(Some(10), Some(20)), largest(Some(20), Some(10)), largest(None, Some(7))),
            (10, 10, 7)
        );
        for wrong in ["0", "-1", "1.5", "nan", "inf", "104857601", "99999999999999999999999"] {
            let text = format!("[limits]\nmax_file_bytes = {wrong}\n");
            assert!(Policy::of(None, Some(&text)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_recorded_file_that_is_too_large_or_not_utf_8_is_an_error() {
        let error = |bytes: &[u8]| Policy::of_recorded(None, Some(bytes)).unwrap_err().to_string();
        assert!(error(b"# fine\n[session]\n# caf\xe9\n").contains("line 3 is not UTF-8"));
        assert!(error(&vec![b'#'; MAX_BYTES + 1]).contains("1048577 bytes"));
        assert!(Policy::of_recorded(None, Some(&vec![b'#'; MAX_BYTES])).is_ok());
    }

    #[test]
    fn either_file_may_require_trust() {
        let text = "[guards.validator]\nrequire = true\n";
        let no = "[guards.validator]\nrequire = false\n";
        let required = |user, repo| Policy::of(user, repo).unwrap().require_trust;
        assert!(
            required(Some(text), Some(no))
                && required(Some(no), Some(text))
                && !required(Some(no), None)
        );
    }

    #[test]
    fn an_unknown_guard_is_an_error() {
        let error =
            Policy::of(None, Some("[guards.size_reductoin]\nmode = \"off\"\n")).unwrap_err();
        assert!(error.to_string().contains("size_reductoin"), "{error}");
    }

    #[test]
    fn a_long_line_of_a_file_is_cut_in_the_message() {
        let finding = unreadable("x", &"a".repeat(500));
        let shown = "a".repeat(200) + "… (cut at 200 of 500 characters)";
        assert_eq!(finding.summary, format!("Could not read x: {shown}"));
    }
}
