//! Environment variables that decide what a program does or which code it loads.

use super::Decision;
use super::evaluator::{CommandContext, Evaluator, RuleMatch};
use super::path_location::PathLocation;

/// Variables of edt itself: they move its files or act on its behalf.
const DENIED: [&str; 1] = ["EDT_*"];

/// Variables for output format, parallelism, build targets and tests. Globs.
const HARMLESS: &[&str] = &[
    "CI",
    "DEBUG",
    "VERBOSE",
    "RUST_LOG",
    "RUST_BACKTRACE",
    "RUST_LIB_BACKTRACE",
    "RUST_TEST_THREADS",
    "RUST_MIN_STACK",
    "RUSTC_BOOTSTRAP",
    "CARGO_INCREMENTAL",
    "CARGO_TERM_*",
    "CARGO_NET_OFFLINE",
    "CARGO_BUILD_JOBS",
    "PROPTEST_*",
    "QUICKCHECK_TESTS",
    "INSTA_UPDATE",
    "NEXTEST_*",
    "NODE_ENV",
    "NODE_NO_WARNINGS",
    "GOOS",
    "GOARCH",
    "GOMAXPROCS",
    "GO111MODULE",
    "CGO_ENABLED",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONUNBUFFERED",
    "PYTHONHASHSEED",
    "PYTHONIOENCODING",
    "PYTHONUTF8",
    "PERL_HASH_SEED",
    "MALLOC_ARENA_MAX",
    "OMP_NUM_THREADS",
    "MIX_ENV",
    "RAILS_ENV",
    "RACK_ENV",
    "APP_ENV",
    "FLASK_ENV",
    "DJANGO_DEBUG",
    "TEST",
    "TESTING",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TZ",
    "TERM",
    "COLORTERM",
    "NO_COLOR",
    "FORCE_COLOR",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "COLUMNS",
    "LINES",
    "PORT",
    "SOURCE_DATE_EPOCH",
    "DEBIAN_FRONTEND",
    "GIT_TERMINAL_PROMPT",
    "GIT_OPTIONAL_LOCKS",
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_AUTHOR_DATE",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
    "GIT_COMMITTER_DATE",
    "GIT_LITERAL_PATHSPECS",
];

/// Variables that name directories which programs fill and empty. They are harmless in the
/// worktree.
const DIRECTORY_VARIABLES: [&str; 3] =
    ["CARGO_TARGET_DIR", "CARGO_BUILD_TARGET_DIR", "PYTHONPYCACHEPREFIX"];

/// Values with which a variable that would be asked about has no effect.
const HARMLESS_VALUES: &[(&str, &[&str])] = &[
    ("GIT_PAGER", &["cat", ""]),
    ("PAGER", &["cat", ""]),
    ("GIT_EDITOR", &["true", ":"]),
    ("EDITOR", &["true", ":"]),
];

/// Lists of directories with code. Directories of the worktree are harmless: its code runs anyway.
const PATH_LISTS: [&str; 4] = ["PYTHONPATH", "NODE_PATH", "RUBYLIB", "PERL5LIB"];

/// The decision on setting `name` to `value`, with the reason; `None` if it is harmless.
fn evaluate(name: &str, value: &str) -> Option<(Decision, String)> {
    use super::matching::glob_match;
    let any = |list: &[&str]| list.iter().any(|glob| glob_match(glob, name));
    if any(&DENIED) {
        return Some((Decision::Deny, format!("{name} controls edt itself. Leave it out.")));
    }
    let below = PATH_LISTS.contains(&name)
        && value.split(':').all(|one| {
            !one.starts_with(['/', '~', '$']) && !one.split('/').any(|part| part == "..")
        });
    let harmless = below
        || any(HARMLESS)
        || HARMLESS_VALUES.iter().any(|(one, values)| *one == name && values.contains(&value));
    (!harmless).then(|| {
        (
            Decision::Ask,
            format!("{name} may change which program or code runs. Leave it out, or ask the user."),
        )
    })
}

impl Evaluator<'_> {
    /// Evaluates variables that are set for a command.
    pub(super) fn environment(&mut self, by: &str, variables: &[(String, String)]) {
        for (name, value) in variables {
            if let Some((decision, reason)) = self.variable(name, value) {
                let context =
                    CommandContext { by: by.to_owned(), dirs: Vec::new(), open_ended: false };
                self.record_step(
                    &context,
                    &[format!("{name}={value}")],
                    RuleMatch::new(decision, "environment", reason),
                );
            }
        }
    }

    /// The decision on setting a variable. Some name directories that a program fills or empties.
    fn variable(&self, name: &str, value: &str) -> Option<(Decision, String)> {
        let verdict = evaluate(name, value);
        let context = CommandContext {
            by: String::new(),
            dirs: vec![self.query.dir.to_owned()],
            open_ended: false,
        };
        if name.starts_with("EDT_") || value.is_empty() {
            return verdict;
        }
        let is_directory = DIRECTORY_VARIABLES.contains(&name);
        match self.locate(value, &context) {
            PathLocation::Git => Some((
                Decision::Deny,
                format!("{name} would point into a Git directory. Leave it out."),
            )),
            PathLocation::Inside if is_directory => None,
            PathLocation::Root | PathLocation::Vital | PathLocation::System if is_directory => {
                Some((
                    Decision::Deny,
                    format!("The directory in {name} is emptied, and it is {value}. Leave it out."),
                ))
            }
            _ => verdict,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::tests::Machine;

    fn set(name: &str, value: &str) -> Vec<String> {
        Machine::with(&[]).steps_with(&["true"], &[(name, value)])[1..].to_vec()
    }

    #[test]
    fn a_variable_for_tests_is_no_step() {
        assert_eq!(set("RUST_BACKTRACE", "1"), Vec::<String>::new());
    }

    #[test]
    fn a_variable_of_edt_itself_is_denied() {
        assert_eq!(set("EDT_POLICY", "x"), ["environment: EDT_POLICY=x = deny by environment"]);
    }

    #[test]
    fn a_variable_that_loads_code_is_asked_about() {
        assert_eq!(
            set("LD_PRELOAD", "./x.so"),
            ["environment: LD_PRELOAD=./x.so = ask by environment"]
        );
    }

    #[test]
    fn a_variable_that_points_into_the_git_directory_is_denied() {
        assert_eq!(set("LANG", ".git/x"), ["environment: LANG=.git/x = deny by environment"]);
    }

    #[test]
    fn directories_with_code_of_the_worktree_are_harmless() {
        assert_eq!(set("PYTHONPATH", "src:tools"), Vec::<String>::new());
        assert_eq!(
            set("PYTHONPATH", "src:/srv"),
            ["environment: PYTHONPATH=src:/srv = ask by environment"]
        );
        assert_eq!(
            set("PYTHONPATH", "src/../../x"),
            ["environment: PYTHONPATH=src/../../x = ask by environment"]
        );
    }

    #[test]
    fn a_directory_that_a_program_empties_must_be_in_the_worktree() {
        assert_eq!(set("CARGO_TARGET_DIR", "build"), Vec::<String>::new());
        assert_eq!(
            set("CARGO_TARGET_DIR", "."),
            ["environment: CARGO_TARGET_DIR=. = deny by environment"]
        );
        assert_eq!(
            set("CARGO_TARGET_DIR", "/srv/build"),
            ["environment: CARGO_TARGET_DIR=/srv/build = ask by environment"]
        );
    }

    #[test]
    fn a_pager_that_only_prints_is_harmless() {
        assert_eq!(set("GIT_PAGER", "cat"), Vec::<String>::new());
        assert_eq!(set("GIT_PAGER", "less"), ["environment: GIT_PAGER=less = ask by environment"]);
    }
}
