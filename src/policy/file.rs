//! `edt.toml`: read from the session's base commit, and from the person's own configuration folder.
//!
//! The repository's file comes after the person's. Where the person said something, the repository may only tighten it; where
//! the person said nothing, the repository decides.

use std::collections::BTreeMap;
use std::time::Duration;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use serde::Deserialize;

use super::command::{self, Commands};
use super::limits::{DeletionLimits, SizeLimits};
use super::ruling::{GuardMode, GuardRule, Override};
use super::validator::{self, Trust, Validator};
use crate::base::{Code, Durability, Finding, RepoPath, Result};
use crate::io::disk::MAX_FILE;

/// Whose file it is, for messages.
const PERSONS: &str = "your own edt.toml";
const REPOSITORYS: &str = "edt.toml in the session's base commit";

/// Everything that is configured, with defaults filled in.
#[derive(Debug, Clone)]
pub struct Policy {
    /// Whether `begin` switches HEAD to the session's branch.
    pub switch: bool,
    /// What must be on the medium before an edit is answered, if a file says so.
    pub durability: Option<Durability>,
    /// Whether failures and what fixed them are remembered.
    pub memory: bool,
    /// The size guard's limits.
    pub size_limits: SizeLimits,
    /// The largest file that an edit or a checkpoint touches or brings, in bytes.
    pub max_file_bytes: u64,
    /// What a transaction may remove.
    pub deletion_limits: DeletionLimits,
    /// The longest that guards may look at one file.
    pub time_limit: Duration,
    /// Programs that judge files: the person's, then the repository's.
    pub validators: Vec<Validator>,
    /// Whether an edit waits until a person has trusted the validators of its files.
    pub require_trust: bool,
    /// Which programs may run, and how.
    pub commands: Commands,
    /// What each guard's finding leads to: the person's word, then the repository's.
    layers: [Rules; 2],
    /// Paths that need a person: all of them, and those of which a person must make the change.
    protect: [GlobSet; 2],
    /// Branches that are neither deleted nor rewound, beside [`PROTECTED`].
    branches: GlobSet,
}

/// Branches that are protected in every repository, as globs of their short names.
pub const PROTECTED: [&str; 5] = ["main", "master", "trunk", "develop", "release/*"];

/// The longest `edt.toml` of a repository that is read, in bytes.
pub const MOST_BYTES: usize = 1024 * 1024;

/// The longest that guards may be told to look at one file, in milliseconds.
const MOST_MS: u64 = 60_000;

/// The rules of one file: for all paths, then for some.
#[derive(Debug, Clone, Default)]
struct Rules {
    all: BTreeMap<String, Guard>,
    some: Vec<(GlobSet, BTreeMap<String, Guard>)>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    session: Session,
    memory: Memory,
    limits: Limits,
    guards: Guards,
    paths: Vec<Paths>,
    protect: Vec<Protect>,
    refs: Refs,
    validator: Vec<validator::Table>,
    run: command::RunTable,
    command: Vec<command::Table>,
}

/// Guards that `edt.toml` may set. `guard::GUARDS` has one more, `protected_path`, which `[[protect]]` alone sets.
pub const GUARDS: [&str; 10] = [
    "size_reduction",
    "mass_deletion",
    "binary_content",
    "encoding",
    "conflict_markers",
    "chat_artifact",
    "elided_code",
    "syntax",
    "duplicate_code",
    "validator",
];

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Session {
    switch: Option<bool>,
    durability: Option<Durability>,
}

/// The memory of failures. Either file may switch it off.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Memory {
    enabled: Option<bool>,
}

/// What edt takes on at all.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Limits {
    max_file_bytes: Option<u64>,
}

/// Branches, as globs of their short names. Both files only add to the built-in list.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Refs {
    protected: Vec<String>,
}

/// Every guard's table. What only one guard has stands beside the two keys that all have.
#[derive(Debug, Default, Deserialize)]
#[serde(transparent)]
struct Guards(BTreeMap<String, Guard>);

#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Guard {
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

/// Guards of some paths: the last table that matches decides each key.
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

impl Policy {
    /// The same with the repository's file as it was recorded.
    ///
    /// # Errors
    /// As [`Policy::of`]; `BAD_REQUEST`, too, for one of more than [`MOST_BYTES`] or that is not UTF-8.
    pub fn of_recorded(person: Option<&str>, repository: Option<&[u8]>) -> Result<Policy> {
        let Some(bytes) = repository else { return Policy::of(person, None) };
        if bytes.len() > MOST_BYTES {
            return Err(too_long(bytes.len()).into());
        }
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let line = bytes[..error.valid_up_to()].split(|&byte| byte == b'\n').count();
            unreadable(REPOSITORYS, &format!("line {line} is not UTF-8"))
        })?;
        Policy::of(person, Some(text))
    }

    /// The policy of a person's file and a repository's file, either of which may be absent.
    ///
    /// # Errors
    /// `BAD_REQUEST` naming the file, the line and the key: a policy that cannot be read is never skipped.
    pub fn of(person: Option<&str>, repository: Option<&str>) -> Result<Policy> {
        let (mut person, mut repo) = (parse(person, PERSONS)?, parse(repository, REPOSITORYS)?);
        let mut validators =
            validator::checked(std::mem::take(&mut person.validator), PERSONS, Trust::Own)?;
        validators.extend(validator::checked(
            std::mem::take(&mut repo.validator),
            REPOSITORYS,
            Trust::Awaited,
        )?);
        let commands = commands(&mut person, &mut repo)?;
        let of = |guard: &str| (person.guards.of(guard), repo.guards.of(guard));
        let ((ps, rs), (pd, rd), (pt, rt)) =
            (of("size_reduction"), of("mass_deletion"), of("syntax"));
        let (pv, rv) = of("validator");
        let switch = repo.session.switch.or(person.session.switch).unwrap_or(true);
        let protect = person.protect.iter().chain(&repo.protect);
        let never = protect.clone().filter(|protect| protect.r#override == Override::Never);
        let protect = [
            globs(protect.flat_map(|protect| &protect.paths), "edt.toml")?,
            globs(never.flat_map(|protect| &protect.paths), "edt.toml")?,
        ];
        let built_in = PROTECTED.map(str::to_owned);
        let branches = built_in.iter().chain(&person.refs.protected).chain(&repo.refs.protected);
        let branches = globs(branches, "edt.toml")?;
        Ok(Policy {
            switch,
            memory: person.memory.enabled != Some(false) && repo.memory.enabled != Some(false),
            durability: tightened(person.session.durability, repo.session.durability, Ord::max),
            size_limits: SizeLimits {
                max_bytes_lost: tightened(ps.max_bytes_lost, rs.max_bytes_lost, f64::min)
                    .unwrap_or(0.90),
                min_bytes: tightened(ps.min_bytes, rs.min_bytes, u64::min).unwrap_or(1000),
                max_lines_lost: tightened(ps.max_lines_lost, rs.max_lines_lost, f64::min)
                    .unwrap_or(0.66),
                min_lines: tightened(ps.min_lines, rs.min_lines, u64::min).unwrap_or(50),
            },
            max_file_bytes: tightened(
                person.limits.max_file_bytes,
                repo.limits.max_file_bytes,
                u64::min,
            )
            .unwrap_or(MAX_FILE),
            deletion_limits: DeletionLimits {
                max_files: tightened(pd.max_files, rd.max_files, u64::min).unwrap_or(10),
                max_lines: tightened(pd.max_lines, rd.max_lines, u64::min).unwrap_or(2000),
            },
            time_limit: Duration::from_millis(
                tightened(pt.time_limit_ms, rt.time_limit_ms, u64::max).unwrap_or(1000),
            ),
            validators,
            require_trust: tightened(pv.require, rv.require, |a, b| a || b).unwrap_or(false),
            commands,
            layers: [person.rules()?, repo.rules()?],
            protect,
            branches,
        })
    }

    /// Whether a person must make changes of `path`.
    #[must_use]
    pub fn protects(&self, path: &RepoPath) -> bool {
        !self.protect[0].is_empty() && self.protect[0].is_match(path.to_string())
    }

    /// Whether the branch `name` (without `refs/heads/`) is neither deleted nor rewound by anyone but a person.
    #[must_use]
    pub fn protects_branch(&self, name: &str) -> bool {
        self.branches.is_match(name)
    }

    /// What a finding of `guard` leads to; for `path`, or for a transaction as a whole.
    #[must_use]
    pub fn rule(&self, guard: &str, path: Option<&RepoPath>) -> GuardRule {
        if guard == "protected_path" {
            let never = path.is_none_or(|path| self.protect[1].is_match(path.to_string()));
            let overriding = if never { Override::Never } else { Override::Approval };
            return GuardRule { mode: GuardMode::Refuse, overriding };
        }
        let [person, mut repo] = self.layers.each_ref().map(|layer| layer.of(guard, path));
        // A repository may not switch off what a person has set up to run.
        if guard == "validator"
            && self.validators.iter().any(|one| one.trust == super::validator::Trust::Own)
        {
            repo.mode = repo.mode.map(|_| GuardMode::Refuse);
        }
        GuardRule {
            mode: tightened(person.mode, repo.mode, Ord::max).unwrap_or(GuardMode::Refuse),
            overriding: tightened(person.r#override, repo.r#override, Ord::max)
                .unwrap_or(Override::Allow),
        }
    }
}

/// The rules over commands of both files, which are taken out of them.
fn commands(person: &mut File, repo: &mut File) -> Result<Commands> {
    let take = |file: &mut File| (std::mem::take(&mut file.run), std::mem::take(&mut file.command));
    command::of(take(person), take(repo)).map_err(|(repositorys, why)| {
        unreadable(if repositorys { REPOSITORYS } else { PERSONS }, &why).into()
    })
}

impl Guards {
    fn of(&self, guard: &str) -> Guard {
        self.0.get(guard).copied().unwrap_or_default()
    }
}

impl File {
    fn rules(self) -> Result<Rules> {
        let some = self
            .paths
            .into_iter()
            .map(|paths| Ok((globs(paths.r#match.iter(), "edt.toml")?, paths.guards.0)));
        Ok(Rules { all: self.guards.0, some: some.collect::<Result<_>>()? })
    }
}

impl Rules {
    fn of(&self, guard: &str, path: Option<&RepoPath>) -> Guard {
        let mut rule = self.all.get(guard).copied().unwrap_or_default();
        let name = path.filter(|_| !self.some.is_empty()).map(ToString::to_string);
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

fn tightened<T>(person: Option<T>, repo: Option<T>, stricter: fn(T, T) -> T) -> Option<T> {
    match (person, repo) {
        (Some(person), Some(repo)) => Some(stricter(person, repo)),
        (person, repo) => repo.or(person),
    }
}

fn parse(text: Option<&str>, whose: &str) -> Result<File> {
    let Some(text) = text else { return Ok(File::default()) };
    let file: File = toml::from_str(text).map_err(|error| unreadable(whose, &error.to_string()))?;
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
            whose,
            "mass_deletion judges a whole transaction and cannot be set for some paths",
        )
        .into());
    }
    if file.protect.iter().any(|protect| protect.r#override == Override::Allow) {
        let why = "[[protect]] is for paths that need a person: its override is \"approval\" or \"never\"";
        return Err(unreadable(whose, why).into());
    }
    if let Some(most) = file.limits.max_file_bytes.filter(|most| !(1..=MAX_FILE).contains(most)) {
        return Err(unreadable(
            whose,
            &format!("max_file_bytes must lie between 1 and {MAX_FILE}, not be {most}"),
        )
        .into());
    }
    for (name, guard, allowed) in everywhere.chain(somewhere) {
        if !GUARDS.contains(&name.as_str()) {
            return Err(unreadable(
                whose,
                &format!("there is no guard {name}; there are {}", GUARDS.join(", ")),
            )
            .into());
        }
        if let Some(key) = guard.limits().into_iter().find(|key| !allowed.contains(key)) {
            return Err(unreadable(whose, &format!("{name} has no key {key} here")).into());
        }
        if let Some(ms) = guard.time_limit_ms.filter(|ms| *ms > MOST_MS) {
            return Err(unreadable(
                whose,
                &format!("time_limit_ms is at most {MOST_MS}, not {ms}"),
            )
            .into());
        }
        for share in [guard.max_bytes_lost, guard.max_lines_lost].into_iter().flatten() {
            if !(0.0..=1.0).contains(&share) {
                return Err(
                    unreadable(whose, &format!("{share} is not a share between 0 and 1")).into()
                );
            }
        }
    }
    Ok(file)
}

impl Guard {
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

pub(super) fn globs<'a>(
    patterns: impl Iterator<Item = &'a String>,
    whose: &str,
) -> Result<GlobSet> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        let glob = GlobBuilder::new(pattern).literal_separator(true).build();
        set.add(glob.map_err(|error| unreadable(whose, &error.to_string()))?);
    }
    set.build().map_err(|error| unreadable(whose, &error.to_string()).into())
}

/// The refusal of a repository's file of `bytes` bytes.
#[must_use]
pub fn too_long(bytes: usize) -> Finding {
    unreadable(REPOSITORYS, &format!("it has {bytes} bytes; edt reads at most {MOST_BYTES}"))
}

/// The refusal of something that is called `edt.toml` and is no file.
#[must_use]
pub fn not_a_file() -> Finding {
    unreadable(REPOSITORYS, "it is a link, a folder or a submodule, not a file")
}

pub(super) fn unreadable(whose: &str, why: &str) -> Finding {
    // A hostile file has one long line; the message quotes it.
    let short = |line: &str| match line.char_indices().nth(200) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    };
    let why = why.lines().map(short).collect::<Vec<_>>().join("\n");
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
    fn a_repository_may_tighten_what_a_person_set_but_not_loosen_it() {
        let person = "[guards.size_reduction]\nmode = \"warn\"\nmax_bytes_lost = 0.5\n";
        let tighter = Policy::of(
            Some(person),
            Some("[guards.size_reduction]\nmode = \"refuse\"\nmax_bytes_lost = 0.4\n"),
        );
        assert_eq!(tighter.as_ref().unwrap().rule("size_reduction", None).mode, GuardMode::Refuse);
        assert!((tighter.unwrap().size_limits.max_bytes_lost - 0.4).abs() < 1e-9);
        let looser = Policy::of(
            Some(person),
            Some("[guards.size_reduction]\nmode = \"off\"\nmax_bytes_lost = 0.9\n"),
        )
        .unwrap();
        assert_eq!(looser.rule("size_reduction", None).mode, GuardMode::Warn);
        assert!((looser.size_limits.max_bytes_lost - 0.5).abs() < 1e-9);
    }

    #[test]
    fn protected_paths_are_globs_that_respect_folders() {
        let policy =
            Policy::of(None, Some("[[protect]]\npaths = [\".github/**\", \"*.lock\"]\n")).unwrap();
        let protects = |path: &str| policy.protects(&RepoPath::parse(path.as_bytes()).unwrap());
        assert!(protects(".github/workflows/ci.yml") && protects("Cargo.lock"));
        assert!(!protects("a/Cargo.lock") && !protects("src/main.rs"));
    }

    #[test]
    fn a_guard_may_be_set_for_some_paths() {
        let text = "[guards.syntax]\noverride = \"never\"\n[[paths]]\nmatch = [\"fixtures/**\"]\n[paths.guards.syntax]\nmode = \"off\"\n";
        let rule = |policy: &Policy, path: &str| {
            policy.rule("syntax", Some(&RepoPath::parse(path.as_bytes()).unwrap()))
        };
        let policy = Policy::of(None, Some(text)).unwrap();
        let never = |mode| GuardRule { mode, overriding: Override::Never };
        assert_eq!(rule(&policy, "fixtures/a/b.c"), never(GuardMode::Off));
        assert_eq!(rule(&policy, "src/b.c"), never(GuardMode::Refuse));
        let person = "[guards.syntax]\nmode = \"warn\"\n";
        let policy = Policy::of(Some(person), Some(text)).unwrap();
        assert_eq!(
            rule(&policy, "fixtures/a/b.c"),
            never(GuardMode::Warn),
            "the repository may not loosen"
        );
    }

    #[test]
    fn a_limit_stands_only_where_it_means_something() {
        for text in [
            "[guards.syntax]\nmin_lines = 3\n",
            "[[paths]]\nmatch = [\"a\"]\nguards.size_reduction.min_lines = 3\n",
        ] {
            let error = Policy::of(None, Some(text)).unwrap_err();
            assert!(error.to_string().contains("min_lines"), "{error}");
        }
    }

    #[test]
    fn the_largest_file_is_the_smaller_of_both_words() {
        let limit = |most: u64| format!("[limits]\nmax_file_bytes = {most}\n");
        let largest = |person: Option<u64>, repo: Option<u64>| {
            let (person, repo) = (person.map(limit), repo.map(limit));
            Policy::of(person.as_deref(), repo.as_deref()).unwrap().max_file_bytes
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
    fn a_recorded_file_is_read_whole_and_as_utf_8_or_not_at_all() {
        let error = |bytes: &[u8]| Policy::of_recorded(None, Some(bytes)).unwrap_err().to_string();
        assert!(error(b"# fine\n[session]\n# caf\xe9\n").contains("line 3 is not UTF-8"));
        assert!(error(&vec![b'#'; MOST_BYTES + 1]).contains("1048577 bytes"));
        assert!(Policy::of_recorded(None, Some(&vec![b'#'; MOST_BYTES])).is_ok());
    }

    #[test]
    fn whoever_requires_trust_is_heard() {
        let text = "[guards.validator]\nrequire = true\n";
        let no = "[guards.validator]\nrequire = false\n";
        let required = |person, repo| Policy::of(person, repo).unwrap().require_trust;
        assert!(
            required(Some(text), Some(no))
                && required(Some(no), Some(text))
                && !required(Some(no), None)
        );
    }

    #[test]
    fn an_unknown_key_is_never_skipped() {
        let error =
            Policy::of(None, Some("[guards.size_reductoin]\nmode = \"off\"\n")).unwrap_err();
        assert!(error.to_string().contains("size_reductoin"), "{error}");
    }
}
