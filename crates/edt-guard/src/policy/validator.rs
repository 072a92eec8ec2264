//! `[[validator]]`: programs that check files, as `edt.toml` names them.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;

use super::globs::{Globs, unreadable};
use edt_types::{Refusal, RepoPath, Result};

/// The placeholder for the file.
const FILE: &str = "{file}";
/// The placeholder for the worktree's root.
const ROOT: &str = "{root}";
/// The placeholder for the directory that has the file in the worktree.
const DIR: &str = "{dir}";

/// The longest time limit. A check that takes longer is a test suite, not a validator.
const MAX_TIMEOUT_MS: u64 = 600_000;

/// A program that checks files. It is run with exactly these arguments, without a shell.
#[derive(Debug, Clone)]
pub struct Validator {
    /// Its name in answers.
    pub name: String,
    /// The globs of the files that it checks.
    pub patterns: Vec<String>,
    /// The program and its arguments; `{file}`, `{dir}` and `{root}` are replaced by paths.
    pub command: Vec<String>,
    /// Time limit for one file.
    pub limit: Duration,
    /// Whether it refuses a text only if it accepts the text before the edit.
    pub only_new: bool,
    /// Whether an answer repeats what it writes about a text that it accepts.
    pub warnings: bool,
    /// Whether it may run.
    pub trust: Trust,
    globs: Globs,
}

/// Whether a validator may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// It is in the user's own file, and runs.
    User,
    /// The repository names it, and the user trusted the file as it is. It runs.
    Trusted,
    /// The repository names it, and the user has not trusted the file. It does not run.
    Untrusted,
}

/// One `[[validator]]` of the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Table {
    name: String,
    paths: Vec<String>,
    command: Vec<String>,
    timeout_ms: Option<u64>,
    only_new: Option<bool>,
    warnings: Option<bool>,
}

impl Validator {
    /// Whether it checks `path`.
    #[must_use]
    pub fn matches(&self, path: &RepoPath) -> bool {
        self.globs.is_match(&path.text())
    }

    /// The arguments for `path` in a worktree at `root`, with its text at `file`.
    #[must_use]
    pub fn args(&self, path: &RepoPath, file: &Path, root: &Path) -> Vec<OsString> {
        let in_worktree = root.join(OsStr::from_bytes(path.as_bytes()));
        let dir = in_worktree.parent().unwrap_or(root);
        let values = [(FILE, file), (ROOT, root), (DIR, dir)].map(|(a, b)| (a, b.as_os_str()));
        self.command.iter().skip(1).map(|arg| filled(arg, &values)).collect()
    }
}

/// Replaces each placeholder by its value in one pass: values are not searched for placeholders.
fn filled(template: &str, values: &[(&str, &OsStr)]) -> OsString {
    let (mut out, mut rest) = (OsString::new(), template);
    while !rest.is_empty() {
        let next =
            values.iter().filter_map(|(name, value)| Some((rest.find(name)?, *name, *value)));
        let Some((at, name, value)) = next.min_by_key(|(at, ..)| *at) else { break };
        out.push(&rest[..at]);
        out.push(value);
        rest = &rest[at + name.len()..];
    }
    out.push(rest);
    out
}

/// Parses the tables of one file.
pub(super) fn parse_tables(
    tables: Vec<Table>,
    origin: &str,
    trust: Trust,
) -> Result<Vec<Validator>> {
    let mut all: Vec<Validator> = Vec::new();
    for table in tables {
        let wrong = |why: String| {
            Refusal::from(unreadable(
                origin,
                &format!("[[validator]] name = {:?}: {why}", table.name),
            ))
        };
        if let Some(why) = problem(&table) {
            return Err(wrong(why));
        }
        if all.iter().any(|other| other.name == table.name) {
            return Err(wrong("another validator has this name".to_owned()));
        }
        let globs = Globs::new(table.paths.iter(), origin)?;
        let limit = Duration::from_millis(table.timeout_ms.unwrap_or(5000));
        let (only_new, warnings) =
            (table.only_new.unwrap_or(true), table.warnings.unwrap_or(false));
        let Table { name, paths: patterns, command, .. } = table;
        all.push(Validator { name, patterns, command, limit, only_new, warnings, trust, globs });
    }
    Ok(all)
}

/// Why a table is invalid, if it is.
fn problem(table: &Table) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.+".contains(c);
    if table.name.is_empty() || !table.name.chars().all(plain) {
        return Some("a name has letters, digits, `-`, `_`, `.` and `+` only".to_owned());
    }
    if table.paths.is_empty() {
        return Some("paths is empty, so it would check nothing".to_owned());
    }
    if !(1..=MAX_TIMEOUT_MS).contains(&table.timeout_ms.unwrap_or(1)) {
        return Some(format!("timeout_ms must be between 1 and {MAX_TIMEOUT_MS}"));
    }
    let Some((program, args)) =
        table.command.split_first().filter(|(program, _)| !program.is_empty())
    else {
        return Some("command is empty; write the program and its arguments as a list".to_owned());
    };
    let has_path = |arg: &str| [FILE, ROOT, DIR].iter().any(|name| arg.contains(name));
    if has_path(program) || program.contains('/') && !program.starts_with('/') {
        return Some(format!(
            "the program {program:?} would come from the repository; write a name that is on PATH, \
             or an absolute path"
        ));
    }
    if program.contains(char::is_whitespace) && args.is_empty() {
        return Some(format!(
            "no shell splits {program:?}; write the program and each argument as separate strings"
        ));
    }
    if table.command.iter().any(|part| part.contains('\0')) {
        return Some("command has a NUL character".to_owned());
    }
    if !args.iter().any(|arg| arg.contains(FILE)) {
        return Some(format!("no argument of command has {FILE}, so it would not see the file"));
    }
    code_with_a_path(program, args).map(|arg| {
        format!(
            "{arg:?} is code for {program}, and a path must not become part of it; pass {FILE} as \
             a separate argument (\"$1\" in a shell)"
        )
    })
}

/// Interpreters that take code as an argument, and the letter of the flag before it.
const CODE: &[(&str, char)] = &[
    ("sh", 'c'),
    ("bash", 'c'),
    ("dash", 'c'),
    ("zsh", 'c'),
    ("ksh", 'c'),
    ("fish", 'c'),
    ("python", 'c'),
    ("python3", 'c'),
    ("perl", 'e'),
    ("ruby", 'e'),
    ("node", 'e'),
    ("php", 'r'),
];

/// The argument that is code and has a placeholder in it.
fn code_with_a_path<'a>(program: &str, args: &'a [String]) -> Option<&'a String> {
    let name = program.rsplit('/').next().unwrap_or(program);
    let (_, letter) = CODE.iter().find(|(interpreter, _)| *interpreter == name)?;
    let flag =
        |arg: &String| arg.starts_with('-') && !arg.starts_with("--") && arg.ends_with(*letter);
    let code = args.iter().position(flag)? + 1;
    args.get(code).filter(|arg| [FILE, ROOT, DIR].iter().any(|name| arg.contains(name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Policy;

    const GOFMT: &str = "[[validator]]\nname = \"gofmt\"\npaths = [\"**/*.go\"]\n\
        command = [\"gofmt\", \"-e\", \"{file}\"]\n";

    fn error(text: &str) -> String {
        Policy::of(None, Some(text)).unwrap_err().to_string()
    }

    fn with(old: &str, new: &str) -> String {
        error(&GOFMT.replace(old, new))
    }

    #[test]
    fn a_validator_needs_only_name_paths_and_command() {
        let policy = Policy::of(Some(GOFMT), Some(GOFMT)).unwrap();
        let trusts: Vec<Trust> =
            policy.validators.iter().map(|validator| validator.trust).collect();
        assert_eq!(trusts, [Trust::User, Trust::Untrusted], "a name may be in both files");
        let one = &policy.validators[0];
        assert_eq!(
            (one.name.as_str(), one.limit, one.only_new),
            ("gofmt", Duration::from_secs(5), true)
        );
        let is_matched = |path: &str| one.matches(&RepoPath::parse(path.as_bytes()).unwrap());
        assert!(is_matched("a.go") && is_matched("x/y/a.go") && !is_matched("a.got"));
    }

    #[test]
    fn errors_name_the_problem() {
        for (error, what) in [
            (with("\"gofmt\", \"-e\", \"{file}\"", ""), "command is empty"),
            (with("\"{file}\"", "\"file\""), "has {file}"),
            (with("paths", "timeout = 3\npaths"), "timeout"),
            (with("[\"**/*.go\"]", "[\"a[\"]"), "a["),
            (with("[\"**/*.go\"]", "[]"), "paths is empty"),
            (with("paths", "timeout_ms = 0\npaths"), "between 1 and"),
            (with("\"gofmt\"\n", "\"go fmt\"\n"), "letters"),
            (error(&[GOFMT, GOFMT].concat()), "another validator"),
            (
                with("[\"gofmt\", \"-e\", \"{file}\"]", "[\"gofmt {file}\"]"),
                "come from the repository",
            ),
            (with("[\"gofmt\", \"-e\", \"{file}\"]", "[\"gofmt -e\"]"), "no shell"),
        ] {
            assert!(error.starts_with("BAD_REQUEST") && error.contains(what), "{what}: {error}");
        }
    }

    #[test]
    fn a_program_never_comes_from_the_repository() {
        for program in ["./check", "tools/check", "../check", "{root}/check", "{file}"] {
            let error = with("\"gofmt\", ", &format!("\"{program}\", "));
            assert!(error.contains("come from the repository"), "{error}");
        }
        assert!(
            Policy::of(None, Some(&GOFMT.replace("\"gofmt\", ", "\"/usr/bin/gofmt\", "))).is_ok()
        );
    }

    #[test]
    fn a_path_never_becomes_code() {
        let sh = |args: &str| GOFMT.replace("\"gofmt\", \"-e\", \"{file}\"", args);
        assert!(error(&sh(r#""sh", "-ec", "check {file}""#)).contains("separate argument"));
        assert!(
            error(&sh(r#""/usr/bin/python3", "-c", "open('{file}')""#))
                .contains("separate argument")
        );
        assert!(
            Policy::of(None, Some(&sh(r#""perl", "-c", "{file}""#))).is_ok(),
            "there -c means check"
        );
        assert!(
            Policy::of(None, Some(&sh(r#""sh", "-c", "check \"$1\"", "sh", "{file}""#))).is_ok()
        );
    }

    #[test]
    fn placeholders_are_filled_in_one_pass() {
        let values = [("{file}", OsStr::new("a {root}'\"$x")), ("{root}", OsStr::new("/r"))];
        assert_eq!(filled("--in={file}:{root}{", &values), "--in=a {root}'\"$x:/r{");
        assert_eq!(filled("{f}", &values), "{f}");
    }
}
