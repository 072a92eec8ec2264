//! Environment variables that decide what a program does or which code it loads.

use super::evaluator::{CommandContext, Evaluator, RuleMatch};
use super::path_location::PathLocation;
use super::{Decision, builtin};

/// Values with which a variable that would be asked about has no effect.
const HARMLESS_VALUES: &[(&str, &[&str])] = &[
    ("GIT_PAGER", &["cat", ""]),
    ("PAGER", &["cat", ""]),
    ("GIT_EDITOR", &["true", ":"]),
    ("EDITOR", &["true", ":"]),
];

/// The decision on setting `name` to `value`, with the reason; `None` if it is harmless.
fn evaluate(name: &str, value: &str) -> Option<(Decision, String)> {
    if name.starts_with("EDT_") {
        return Some((Decision::Deny, format!("{name} controls edt itself. Leave it out.")));
    }
    let below = builtin::is_named("variables-of-paths", name)
        && value.split(':').all(|one| {
            !one.starts_with(['/', '~', '$']) && !one.split('/').any(|part| part == "..")
        });
    let harmless = below
        || !builtin::is_named("variables-risky", name)
        || builtin::is_named("variables-harmless", name)
        || is_compiler(name, value)
        || has_plain_flags(name, value)
        || HARMLESS_VALUES.iter().any(|(one, values)| *one == name && values.contains(&value));
    (!harmless).then(|| {
        (
            Decision::Ask,
            format!("{name} may change which program or code runs. Leave it out, or ask the user."),
        )
    })
}

/// Whether a shell uses a variable of this name itself.
pub(super) fn is_of_shell(name: &str) -> bool {
    builtin::is_named("variables-of-shells", name)
}

/// `CC=clang`
fn is_compiler(name: &str, value: &str) -> bool {
    let base = value.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    matches!(name, "CC" | "CXX" | "CPP" | "FC" | "LD")
        && builtin::is_named("compilers", base.trim_end_matches('-'))
}

/// Flags of compilers that name neither a file nor a program: `-O2`, `-D warnings`.
fn has_plain_flags(name: &str, value: &str) -> bool {
    let begins = [
        "-O",
        "-g",
        "-W",
        "-D",
        "-A",
        "-std=",
        "-march=",
        "-mtune=",
        "--cfg",
        "warnings",
        "unused",
        "debuginfo",
        "opt-level",
        "target-cpu=",
        "overflow",
    ];
    let plain = |flag: &str| {
        let listed = begins.iter().any(|begin| flag.starts_with(begin));
        flag == "-C" || listed && !flag.contains(['/', ',', '@'])
    };
    name.ends_with("FLAGS")
        && !matches!(name, "MAKEFLAGS" | "GOFLAGS")
        && !value.is_empty()
        && value.split_whitespace().all(|flag| plain(flag) && !flag.starts_with("-Wl"))
}

impl Evaluator<'_> {
    /// Evaluates variables that are set for a command.
    pub(super) fn environment(&mut self, by: &str, variables: &[(String, String)]) {
        for (name, value) in variables {
            if let Some((decision, reason)) = self.variable(name, value) {
                let context = CommandContext { by: by.to_owned(), ..CommandContext::default() };
                self.record_step(
                    &context,
                    &[format!("{name}={value}")],
                    RuleMatch::new(decision, "environment", reason),
                );
            }
        }
    }

    /// Whether `value` is below the directory of temporary files.
    fn is_temporary(&self, value: &str) -> bool {
        let below = |name: &str| value.strip_prefix(name).is_some_and(|rest| rest.starts_with('/'));
        let real = || self.resolve_path(std::path::Path::new(value)).unwrap_or_default();
        !value.split('/').any(|part| part == "..")
            && (below("$TMPDIR")
                || below("${TMPDIR}")
                || below("/tmp") && real().starts_with("/tmp"))
    }

    /// The decision on setting a variable. Some name directories that a program fills or empties.
    fn variable(&self, name: &str, value: &str) -> Option<(Decision, String)> {
        let verdict = evaluate(name, value);
        let dirs = vec![self.query.dir.to_owned()];
        let context = CommandContext { dirs, ..CommandContext::default() };
        if name.starts_with("EDT_") || value.is_empty() {
            return verdict;
        }
        let is_directory = builtin::is_named("variables-of-directories", name);
        match self.locate(value, &context) {
            PathLocation::Git => Some((
                Decision::Deny,
                format!("{name} would point into a Git directory. Leave it out."),
            )),
            PathLocation::Inside if is_directory => None,
            PathLocation::Outside if is_directory && self.is_temporary(value) => None,
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
    fn a_cache_in_the_worktree_or_among_temporary_files_is_harmless() {
        for place in ["node_modules/.cache", "/home/user/tree/x", "$TMPDIR/npm", "/tmp/npm"] {
            assert_eq!(set("npm_config_cache", place), Vec::<String>::new(), "{place}");
        }
        assert_eq!(
            set("npm_config_cache", "/home/user/.npm"),
            ["environment: npm_config_cache=/home/user/.npm = ask by environment"]
        );
        assert_eq!(
            set("npm_config_cache", ".git/x"),
            ["environment: npm_config_cache=.git/x = deny by environment"]
        );
    }

    #[test]
    fn a_pager_that_only_prints_is_harmless() {
        assert_eq!(set("GIT_PAGER", "cat"), Vec::<String>::new());
        assert_eq!(set("GIT_PAGER", "less"), ["environment: GIT_PAGER=less = ask by environment"]);
    }
}
