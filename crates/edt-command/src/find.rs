//! `find` and `fd`: they search for files, and can remove them, write others and run programs.

use super::Decision;
use super::evaluator::{CommandContext, CommandInContext, Evaluator, RuleMatch};
use super::pattern::like;

/// Tests on names.
const BY_NAME: [&str; 7] =
    ["-name", "-iname", "-path", "-ipath", "-wholename", "-regex", "-iregex"];
/// Actions that change files or run programs.
const ACTIONS: [&str; 9] =
    ["-delete", "-exec", "-execdir", "-ok", "-okdir", "-fprint", "-fprint0", "-fls", "-fprintf"];
/// Names in a Git directory, in lower case.
const GIT_FILES: [&str; 26] = [
    ".git",
    "head",
    "config",
    "config.worktree",
    "index",
    "description",
    "packed-refs",
    "orig_head",
    "fetch_head",
    "merge_head",
    "commit_editmsg",
    "objects",
    "refs/heads/main",
    "refs",
    "heads",
    "tags",
    "main",
    "master",
    "logs",
    "hooks",
    "hooks/pre-commit.sample",
    "pre-commit",
    "pre-commit.sample",
    "exclude",
    "pack-0123456789abcdef0123456789abcdef01234567.pack",
    "pack-0123456789abcdef0123456789abcdef01234567.idx",
];

pub(super) fn evaluate(
    evaluator: &mut Evaluator<'_>,
    command: &CommandInContext<'_>,
) -> Vec<RuleMatch> {
    let (args, context) = (&command.invocation.args, command.context);
    if command.invocation.is(&["fd", "fdfind"]) {
        return evaluate_fd(evaluator, command);
    }
    if !command.invocation.is(&["find", "gfind"]) {
        return Vec::new();
    }
    let mut rule_matches = vec![RuleMatch::new(Decision::Allow, "find", "It searches for files.")];
    if context.open_ended {
        rule_matches.push(RuleMatch::ask(
            "find",
            "It gets arguments that are unknown before it runs; with some, find removes files and \
             runs programs.",
        ));
    }
    let mut first = 0;
    while let Some(option) = args.get(first) {
        first += match option.as_str() {
            "-D" => 2,
            "-H" | "-L" | "-P" => 1,
            level if level.starts_with("-O") => 1,
            _ => break,
        };
    }
    let first = first.min(args.len());
    let expression = |arg: &String| arg.starts_with(['-', '(', ')', '!', ',']);
    let begins = args.iter().skip(first).position(expression).map_or(args.len(), |at| at + first);
    let mut starts = args[first..begins].to_vec();
    if starts.is_empty() {
        starts.push(".".to_owned());
    }
    let tests = &args[begins..];
    let follows =
        args[..first].iter().any(|arg| arg == "-L") || tests.iter().any(|test| test == "-follow");
    let mut at = 0;
    while let Some(arg) = tests.get(at) {
        // An action applies to the files that passed the tests before it.
        let narrowed = FindScope::of(&tests[..at]).narrowed();
        if follows && ACTIONS.contains(&arg.as_str()) {
            rule_matches.push(RuleMatch::ask(
                "find",
                "It follows symbolic links, which may lead outside the worktree. Leave -L and \
                 -follow out.",
            ));
        }
        at += 1;
        match arg.as_str() {
            "-delete" => rule_matches.extend(evaluator.deletion(&starts, narrowed, context)),
            "-exec" | "-execdir" | "-ok" | "-okdir" => {
                let ends = |end: &usize| {
                    tests[*end] == ";" || tests[*end] == "+" && tests[*end - 1] == "{}"
                };
                let ended = (at..tests.len()).find(ends);
                if ended.is_none() {
                    rule_matches.push(RuleMatch::ask(
                        "find",
                        "The end of the command that it runs cannot be determined.",
                    ));
                }
                let end = ended.unwrap_or(tests.len());
                for start in &starts {
                    let found = if narrowed { format!("{start}/found") } else { start.clone() };
                    let argv: Vec<String> =
                        tests[at..end].iter().map(|arg| arg.replace("{}", &found)).collect();
                    evaluator.command(
                        &argv,
                        &CommandContext { by: format!("find {arg}"), ..context.clone() },
                    );
                }
                at = end;
            }
            "-fprint" | "-fprint0" | "-fls" | "-fprintf" => {
                rule_matches
                    .extend(evaluator.writing(tests.get(at..=at).unwrap_or_default(), context));
                at += 1;
            }
            "-files0-from" => rule_matches.push(RuleMatch::ask(
                "find",
                "The directories that it searches are unknown before it runs.",
            )),
            _ => {}
        }
    }
    rule_matches
}

/// What may pass the tests of `find`.
#[derive(Debug, Clone, Copy)]
struct FindScope {
    /// Nearly all files.
    everything: bool,
    /// Files of a Git directory.
    git: bool,
}

impl FindScope {
    const ALL: FindScope = FindScope { everything: true, git: true };

    /// What reaches an action after `tests`.
    fn of(tests: &[String]) -> FindScope {
        let mut at = 0;
        let deep = tests.windows(2).any(|two| two[0] == "-maxdepth" && two[1] == "1");
        FindScope::alternatives(tests, &mut at, deep, false)
    }

    fn narrowed(self) -> bool {
        !self.everything && !self.git
    }

    /// Parses alternatives (`-o`). At the top level only the last one leads to the action; inside
    /// parentheses all do.
    fn alternatives(tests: &[String], at: &mut usize, shallow: bool, within: bool) -> FindScope {
        let (mut any, mut now) = (None::<FindScope>, FindScope::ALL);
        let (mut not, mut pruned, mut named_git) = (false, false, false);
        while let Some(test) = tests.get(*at) {
            *at += 1;
            let one = match test.as_str() {
                ")" if within => break,
                "-o" | "-or" | "," => {
                    let before = any.unwrap_or(now);
                    any = Some(FindScope {
                        everything: before.everything || now.everything,
                        git: before.git || now.git,
                    });
                    now = FindScope { git: !pruned, ..FindScope::ALL };
                    (not, named_git) = (false, false);
                    continue;
                }
                "!" | "-not" => {
                    not = !not;
                    continue;
                }
                "(" => {
                    let inner = FindScope::alternatives(tests, at, shallow, true);
                    named_git =
                        tests.iter().take(*at).any(|test| is_git(test)) && !inner.everything;
                    if not { FindScope { git: !named_git, ..FindScope::ALL } } else { inner }
                }
                "-prune" => {
                    pruned |= named_git;
                    FindScope::ALL
                }
                name if BY_NAME.contains(&name) => {
                    let pattern = tests.get(*at).map(String::as_str).unwrap_or_default();
                    *at += 1;
                    named_git |= is_git(pattern) && !not;
                    if not {
                        FindScope { git: !is_git(pattern), ..FindScope::ALL }
                    } else {
                        FindScope::by_test(name, pattern, shallow)
                    }
                }
                _ => FindScope::ALL,
            };
            not = false;
            now =
                FindScope { everything: now.everything && one.everything, git: now.git && one.git };
        }
        match any {
            Some(before) if within => FindScope {
                everything: before.everything || now.everything,
                git: before.git || now.git,
            },
            _ => now,
        }
    }

    /// What passes a test by name.
    fn by_test(test: &str, pattern: &str, shallow: bool) -> FindScope {
        let (mut plain, mut bracket) = (String::new(), false);
        for c in pattern.chars() {
            bracket = (bracket || c == '[') && c != ']';
            if !bracket {
                plain.push(c);
            }
        }
        let everything = !plain.contains(char::is_alphanumeric);
        let pattern = pattern.to_lowercase();
        let git = match test {
            "-name" | "-iname" if shallow => like(&pattern, ".git"),
            "-name" | "-iname" => GIT_FILES.iter().any(|file| like(&pattern, file)),
            "-regex" | "-iregex" => {
                let end = pattern
                    .rsplit_once("\\.")
                    .map(|(_, end)| end.trim_end_matches(['$', ')', '\\']));
                !end.is_some_and(|end| end.len() > 1 && end.chars().all(char::is_alphanumeric))
            }
            _ => {
                GIT_FILES.iter().any(|file| like(&pattern, &format!("./.git/{file}")))
                    || like(&pattern, "./.git")
            }
        };
        FindScope { everything, git }
    }
}

/// Whether a pattern names exactly the Git directory.
fn is_git(pattern: &str) -> bool {
    matches!(
        pattern
            .trim_start_matches("./")
            .trim_start_matches("*/")
            .trim_end_matches('*')
            .trim_end_matches('/'),
        ".git"
    )
}

fn evaluate_fd(evaluator: &mut Evaluator<'_>, command: &CommandInContext<'_>) -> Vec<RuleMatch> {
    let args = &command.invocation.args;
    let runs = ["-x", "-X", "--exec", "--exec-batch"];
    let list: Vec<String> = runs.iter().map(ToString::to_string).collect();
    let mut rule_matches = vec![RuleMatch::new(Decision::Allow, "find", "It searches for files.")];
    if let Some(at) = args.iter().position(|arg| runs.contains(&arg.as_str())) {
        let end = args
            .iter()
            .skip(at + 1)
            .position(|arg| arg == ";")
            .map_or(args.len(), |end| end + at + 1);
        evaluator.command(
            &args[at + 1..end],
            &CommandContext {
                by: "fd --exec".to_owned(),
                open_ended: true,
                ..command.context.clone()
            },
        );
    } else if super::matching::contains_listed(&list, &[], args) || command.context.open_ended {
        rule_matches.push(RuleMatch::ask(
            "find",
            "It may run a command for each file, and the command cannot be determined.",
        ));
    }
    rule_matches
}

#[cfg(test)]
mod tests {
    use crate::tests::{argv, steps, verdict};

    #[test]
    fn find_only_searches() {
        assert_eq!(verdict(&argv("find / -name x")), "allow by find: It searches for files.");
    }

    #[test]
    fn deletion_of_everything_includes_the_git_directory() {
        assert_eq!(
            verdict(&argv("find . -delete")),
            "deny by remove-vital: . is the root of the worktree. Name the files in the worktree to \
         remove; `edt undo` restores those."
        );
    }

    #[test]
    fn deletion_after_a_test_by_name_is_allowed() {
        assert_eq!(
            verdict(&["find", ".", "-name", "*.o", "-delete"]),
            "allow by find: It searches for files."
        );
    }

    #[test]
    fn a_test_after_the_deletion_does_not_narrow_it() {
        assert_eq!(
            steps(&["find", ".", "-delete", "-name", "*.o"]),
            ["given: find . -delete -name *.o = deny by remove-vital"]
        );
    }

    #[test]
    fn an_alternative_widens_what_is_deleted() {
        assert_eq!(
            steps(&["find", ".", "-name", "*.o", "-o", "-type", "f", "-delete"]),
            ["given: find . -name *.o -o -type f -delete = deny by remove-vital"]
        );
    }

    #[test]
    fn a_pruned_git_directory_still_leaves_everything_else() {
        assert_eq!(
            steps(&["find", ".", "-name", ".git", "-prune", "-o", "-name", "*.o", "-delete"]),
            ["given: find . -name .git -prune -o -name *.o -delete = allow by find"]
        );
    }

    #[test]
    fn a_name_that_git_files_match_is_not_narrow() {
        assert_eq!(
            steps(&["find", ".", "-iname", "HEA?", "-delete"]),
            ["given: find . -iname HEA? -delete = deny by remove-vital"]
        );
    }

    #[test]
    fn the_command_of_exec_is_evaluated_with_a_found_file() {
        assert_eq!(
            steps(&["find", "src", "-name", "*.c", "-exec", "rm", "{}", "+"]),
            [
                "given: find src -name *.c -exec rm {} + = allow by find",
                "find -exec: rm src/found = allow by remove",
            ]
        );
    }

    #[test]
    fn the_command_of_exec_without_tests_gets_the_start_itself() {
        assert_eq!(
            steps(&["find", ".", "-exec", "rm", "-r", "{}", ";"]),
            [
                "given: find . -exec rm -r {} ; = allow by find",
                "find -exec: rm -r . = deny by remove-vital",
            ]
        );
    }

    #[test]
    fn a_command_of_exec_without_an_end_is_asked_about() {
        assert_eq!(
            verdict(&argv("find src -exec ls {}")),
            "ask by find: The end of the command that it runs cannot be determined."
        );
    }

    #[test]
    fn an_action_on_followed_links_is_asked_about() {
        assert_eq!(
            verdict(&["find", "-L", "src", "-name", "*.o", "-delete"]),
            "ask by find: It follows symbolic links, which may lead outside the worktree. Leave -L and \
         -follow out."
        );
    }

    #[test]
    fn a_list_that_find_prints_into_a_file_is_a_write() {
        assert_eq!(
            verdict(&argv("find src -fprint .git/index")),
            "deny by write-git: .git/index is in a Git directory, which only Git and edt may write."
        );
    }

    #[test]
    fn the_command_of_fd_gets_unknown_arguments() {
        assert_eq!(
            steps(&argv("fd x -x rm")),
            ["given: fd x -x rm = allow by find", "fd --exec: rm = ask by remove"]
        );
    }
}
