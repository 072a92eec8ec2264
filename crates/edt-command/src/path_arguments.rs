//! Path arguments of a program that rules allow. Every argument that names a path is evaluated,
//! whatever the option before it means.

use super::evaluator::{CommandInContext, Evaluator, RuleMatch};
use super::matching::Invocation;
use super::path_location::PathLocation;
use super::{Decision, builtin};

/// Options, by a part of their name, that exclude the paths they name.
const EXCLUDE_OPTIONS: [&str; 4] = ["exclude", "ignore", "skip", "omit"];
/// Programs, and their options that name a directory which is emptied before it is written.
const EMPTIED_BY_OPTION: [(&[&str], &[&str]); 5] = [
    (&["venv", "virtualenv"], &["--clear"]),
    (&["mdbook", "mkdocs"], &["-d", "--dest-dir", "--site-dir"]),
    (&["pytest", "py.test"], &["--basetemp"]),
    (&["jest"], &["--cachedirectory"]),
    (&["sphinx-build"], &["-M"]),
];

pub(super) fn evaluate(
    evaluator: &mut Evaluator<'_>,
    command: &CommandInContext<'_>,
    rule_matches: &[RuleMatch],
) -> Vec<RuleMatch> {
    let invocation = command.invocation;
    let is_self_checked = |one: &RuleMatch| builtin::is_named("rules-self-checked", &one.rule);
    let allowed = rule_matches.iter().any(|one| one.decision == Decision::Allow);
    if !allowed
        || rule_matches.iter().any(is_self_checked)
        || invocation.is(builtin::names("programs-self-checked"))
    {
        return emptied_directories(evaluator, command);
    }
    let mut found = emptied_directories(evaluator, command);
    found.extend(evaluate_paths(evaluator, command));
    found
}

pub(super) fn evaluate_paths(
    evaluator: &Evaluator<'_>,
    command: &CommandInContext<'_>,
) -> Vec<RuleMatch> {
    let invocation = command.invocation;
    let mut found = Vec::new();
    let mut left_out = false;
    for arg in &invocation.args {
        let runs = invocation.is(&["cargo", "npm", "pnpm", "yarn"])
            && !invocation.args.iter().any(|arg| arg == "rustc");
        if arg == "--" && runs {
            // The remaining arguments are for code of the worktree.
            break;
        }
        let names = |arg: &str| {
            let name = arg.split('=').next().unwrap_or_default().to_lowercase();
            is_option_name(&name) && EXCLUDE_OPTIONS.iter().any(|part| name.contains(part))
                || name == "-x" && invocation.is(&["zip"])
        };
        // An option is judged after `--ignore-zeros`, too, which excludes nothing.
        let excluded = left_out && !arg.starts_with('-') || names(arg);
        left_out = names(arg) && !arg.contains('=')
            || left_out && invocation.is(&["zip"]) && !arg.starts_with('-');
        if excluded {
            continue;
        }
        // A label of Bazel begins with `//`, which means the worktree.
        let is_label = invocation.is(&["bazel", "bazelisk", "buck2"]);
        let arg = if is_label { arg.trim_start_matches("//") } else { arg };
        let headers = arg.starts_with("-I/usr/") || arg.starts_with("-L/usr/");
        found.extend(
            path_parts(arg, invocation)
                .into_iter()
                .filter_map(|part| evaluate_path(evaluator, part, command))
                .filter(|_| !headers),
        );
    }
    found
}

/// Directories that the program empties before it writes them.
fn emptied_directories(
    evaluator: &Evaluator<'_>,
    command: &CommandInContext<'_>,
) -> Vec<RuleMatch> {
    let Some((_, options)) =
        EMPTIED_BY_OPTION.iter().find(|(names, _)| command.invocation.is(names))
    else {
        return Vec::new();
    };
    let args = &command.invocation.args;
    let mut paths: Vec<String> = Vec::new();
    for (at, arg) in args.iter().enumerate() {
        let lower = arg.to_lowercase();
        let (name, value) = lower
            .split_once('=')
            .map_or((lower.as_str(), None), |(name, value)| (name, Some(value)));
        if name == "--clear" {
            paths.extend(args.iter().filter(|arg| !arg.starts_with('-')).cloned());
        } else if options.contains(&name)
            || options.iter().any(|one| one.len() > 3 && one.starts_with(name) && name.len() > 4)
        {
            paths.extend(value.map(str::to_owned).or_else(|| args.get(at + 1).cloned()));
        }
    }
    evaluator.removal(&paths, command.context)
}

/// Whether `name` is an option, to which no path is attached.
fn is_option_name(name: &str) -> bool {
    name.starts_with('-') && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
}

/// Parts of an argument that may be paths: all of it, and what follows `=`, `,`, `:`, `@` or short
/// options.
fn path_parts<'a>(arg: &'a str, invocation: &Invocation) -> Vec<&'a str> {
    let mut parts: Vec<&str> = arg.split(['=', ',', ':', ' ']).collect();
    parts.push(arg);
    let more: Vec<&str> = parts.iter().flat_map(|part| attached(part, invocation)).collect();
    parts.extend(more);
    parts.retain(|part| !part.is_empty() && !part.starts_with('-'));
    parts.dedup();
    parts
}

/// What may be attached to a short option. Others may precede it, and its name may have several
/// letters: `-o/x`, `-cf/x`, `-MF/x`. After an option that is known to take a value, all is that
/// value: in `-Isrc/x` nothing is `/x`.
fn attached<'a>(part: &'a str, invocation: &Invocation) -> Vec<&'a str> {
    if let Some(path) = part.strip_prefix('@') {
        return vec![path];
    }
    let Some(letters) = part.strip_prefix('-').filter(|rest| !rest.starts_with('-')) else {
        return Vec::new();
    };
    let takes_value =
        |letter: u8| builtin::option_table().takes_value(invocation, char::from(letter));
    let names = letters.bytes().take_while(u8::is_ascii_alphanumeric).count();
    let end = letters.bytes().take(names).position(takes_value).map_or(names, |at| at + 1);
    (1..=end).map(|at| &letters[at..]).collect()
}

fn evaluate_path(
    evaluator: &Evaluator<'_>,
    part: &str,
    command: &CommandInContext<'_>,
) -> Option<RuleMatch> {
    let outside = || {
        let reason = format!(
            "{part} is outside the worktree, and the program may write it or run code from it."
        );
        Some(RuleMatch::ask("elsewhere", reason))
    };
    match evaluator.locate(part, command.context) {
        PathLocation::Git => Some(RuleMatch::new(
            Decision::Deny,
            "write-git",
            format!(
                "{part} is in a Git directory, which only Git and edt may write. Leave it out."
            ),
        )),
        PathLocation::Device => Some(RuleMatch::new(
            Decision::Deny,
            "write-vital",
            format!("{part} is a device. Leave it to the user."),
        )),
        PathLocation::Outside | PathLocation::Vital | PathLocation::System => outside(),
        _ if part.starts_with("//") => outside(),
        PathLocation::Nowhere | PathLocation::Inside | PathLocation::Root => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::tests::{argv, verdict};

    #[test]
    fn a_value_of_an_option_is_evaluated_as_a_path() {
        assert_eq!(
            verdict(&argv("gcc x.c --output=/srv/prog")),
            "ask by elsewhere: /srv/prog is outside the worktree, and the program may write it or run \
         code from it."
        );
    }

    #[test]
    fn a_path_attached_to_a_short_option_is_evaluated() {
        assert_eq!(
            verdict(&argv("gcc x.c -o.git/config")),
            "deny by write-git: .git/config is in a Git directory, which only Git and edt may write. \
         Leave it out."
        );
    }

    #[test]
    fn a_path_attached_to_the_last_of_several_letters_is_evaluated() {
        for line in ["tar -cf/srv/t.tar src", "gcc -MF../dep x.c", "tar --ignore-zeros -cf../t src"]
        {
            assert!(verdict(&argv(line)).starts_with("ask by elsewhere"), "{line}");
        }
        for line in ["tar -cf.git/ignored src", "tar --ignore-zeros -cf.git/x src"] {
            assert!(verdict(&argv(line)).starts_with("deny by write-git"), "{line}");
        }
    }

    #[test]
    fn a_value_that_is_attached_to_a_known_option_is_one_path() {
        for line in ["gcc -Isrc/x -osrc/y x.c", "make -sCsrc/x", "tar -cfsrc/t.tar README.md"] {
            assert!(verdict(&argv(line)).starts_with("allow"), "{line}");
        }
        assert!(verdict(&argv("make -sC/srv/x")).starts_with("ask"));
    }

    #[test]
    fn headers_and_libraries_of_the_system_are_no_output() {
        assert_eq!(
            verdict(&argv("gcc -I/usr/include/x -L/usr/lib/x x.c")),
            "allow by compilers: It compiles; the sandbox limits its writes to the worktree."
        );
    }

    #[test]
    fn a_device_as_an_output_is_denied() {
        assert_eq!(
            verdict(&argv("gcc x.c -o /dev/sda1")),
            "deny by write-vital: /dev/sda1 is a device. Leave it to the user."
        );
    }

    #[test]
    fn arguments_for_the_code_under_test_are_its_own() {
        assert_eq!(
            verdict(&argv("cargo run -- /etc/hosts")),
            "allow by cargo: It builds, tests and checks; the sandbox confines what it runs."
        );
    }

    #[test]
    fn an_excluded_path_is_not_written() {
        assert_eq!(
            verdict(&argv("tar cf x.tar --exclude .git src")),
            "allow by files: Its changes to the worktree are recorded; `edt undo` reverts them."
        );
    }

    #[test]
    fn a_directory_that_is_emptied_first_counts_as_removed() {
        assert_eq!(
            verdict(&argv("pytest --basetemp=.")),
            "deny by remove-vital: . is the root of the worktree. Name the files in the worktree to \
         remove; `edt undo` restores those."
        );
    }

    #[test]
    fn a_program_that_only_reads_may_read_everything() {
        assert_eq!(
            verdict(&argv("cat /etc/hosts .git/config")),
            "allow by read-files: It reads files."
        );
    }
}
