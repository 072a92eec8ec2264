//! `find` and `fd`: they search for files, and can remove them, write others and run programs.

use super::evaluator::{CommandContext, CommandInContext, Evaluator, RuleMatch};
use super::path_location::PathLocation;
use super::pattern::like;
use super::{Decision, builtin};

/// Tests on names.
const BY_NAME: [&str; 7] =
    ["-name", "-iname", "-path", "-ipath", "-wholename", "-regex", "-iregex"];

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
    if command.invocation.open_ended {
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
    let (starts, tests) = (&args[first..begins], &args[begins..]);
    let here = [".".to_owned()];
    let starts = if starts.is_empty() { &here } else { starts };
    let follows =
        args[..first].iter().any(|arg| arg == "-L") || tests.iter().any(|test| test == "-follow");
    let mut at = 0;
    while let Some(arg) = tests.get(at) {
        // An action applies to the files that passed the tests before it.
        let before = &tests[..at];
        at += 1;
        let acts = match arg.as_str() {
            "-delete" => {
                rule_matches.extend(deletion(evaluator, starts, before, context));
                true
            }
            "-exec" | "-execdir" | "-ok" | "-okdir" => {
                let by = format!("find {arg}");
                let context = CommandContext { by, ..context.clone() };
                at = execution(evaluator, starts, tests, at, &context);
                true
            }
            "-fprint" | "-fprint0" | "-fls" | "-fprintf" => {
                rule_matches
                    .extend(evaluator.writing(tests.get(at..=at).unwrap_or_default(), context));
                at += 1;
                true
            }
            "-files0-from" => {
                rule_matches.push(RuleMatch::ask(
                    "find",
                    "The directories that it searches are unknown before it runs.",
                ));
                false
            }
            _ => false,
        };
        if acts && follows {
            rule_matches.push(RuleMatch::ask(
                "find",
                "It follows symbolic links, which may lead outside the worktree. Leave -L and \
                 -follow out.",
            ));
        }
    }
    rule_matches
}

/// The removals of `-delete` after `tests`.
fn deletion(
    evaluator: &Evaluator<'_>,
    starts: &[String],
    tests: &[String],
    context: &CommandContext,
) -> Vec<RuleMatch> {
    let has = |words: &[&str]| tests.iter().any(|test| words.contains(&test.as_str()));
    let only_empty = has(&["-empty"]) && !has(&["-o", "-or", "!", "-not", ","]);
    let is_root = |start: &&String| evaluator.locate(start, context) == PathLocation::Root;
    let (roots, others): (Vec<String>, Vec<String>) =
        starts.iter().cloned().partition(|start| only_empty && is_root(&start));
    let mut rule_matches = evaluator.deletion(&others, is_narrow(tests), context);
    if !roots.is_empty() {
        rule_matches.push(RuleMatch::ask(
            "find",
            "It would remove empty directories of Git, too. Name a directory below.",
        ));
    }
    rule_matches
}

/// Evaluates the command of `-exec`, which begins at `at`. Returns where it ends.
fn execution(
    evaluator: &mut Evaluator<'_>,
    starts: &[String],
    tests: &[String],
    at: usize,
    context: &CommandContext,
) -> usize {
    let ends = |end: &usize| tests[*end] == ";" || tests[*end] == "+" && tests[*end - 1] == "{}";
    let end = (at..tests.len()).find(ends);
    let argv = &tests[at..end.unwrap_or(tests.len())];
    if end.is_none() {
        let reason = "The end of the command that it runs cannot be determined.";
        evaluator.record_step(context, argv, RuleMatch::ask("find", reason));
    }
    if argv.iter().any(|arg| arg.contains("{}") && arg.contains(char::is_whitespace)) {
        let reason = "It inserts the names of files into code. Pass them as arguments.";
        evaluator.record_step(context, argv, RuleMatch::ask("find", reason));
    }
    let narrow = is_narrow(&tests[..at - 1]);
    for start in starts {
        let found = if narrow { format!("{start}/found") } else { start.clone() };
        let argv: Vec<String> = argv.iter().map(|arg| arg.replace("{}", &found)).collect();
        evaluator.command(&argv, context);
    }
    end.unwrap_or(tests.len())
}

/// Whether what passes the tests is neither nearly everything nor of a Git directory.
fn is_narrow(tests: &[String]) -> bool {
    let word = |at: usize| tests.get(at).map_or("", String::as_str);
    let (mut depth, mut begins) = (0, 0);
    for at in 0..tests.len() {
        match word(at) {
            "(" => depth += 1,
            ")" => depth -= 1,
            // Only the last alternative leads to the action.
            "-o" | "-or" | "," if depth == 0 => begins = at + 1,
            _ => {}
        }
    }
    let shallow = tests.windows(2).any(|two| two[0] == "-maxdepth" && two[1] == "1");
    let (mut names, mut without_git, mut alternatives) = (Vec::new(), false, 0);
    for at in 0..tests.len() {
        let negated = at > 0 && matches!(word(at - 1), "!" | "-not");
        let test = word(at);
        if negated && test == "(" {
            return false;
        }
        alternatives += usize::from(at >= begins && matches!(test, "-o" | "-or" | ","));
        if !BY_NAME.contains(&test) {
            continue;
        }
        let pattern = word(at + 1);
        if is_git(pattern) && (word(at + 2) == "-prune" || negated && at >= begins) {
            without_git = true;
        } else if at >= begins && !negated {
            names.push(passes(test, pattern, shallow));
        }
    }
    let is_narrow = |(everything, git): &(bool, bool)| !everything && (!git || without_git);
    if alternatives == 0 {
        return names.iter().any(is_narrow);
    }
    names.len() == alternatives + 1 && names.iter().all(is_narrow)
}

/// Whether a test by name lets pass nearly everything, and files of a Git directory.
fn passes(test: &str, pattern: &str, shallow: bool) -> (bool, bool) {
    let (mut plain, mut bracket) = (String::new(), false);
    for c in pattern.chars() {
        bracket = (bracket || c == '[') && c != ']';
        if !bracket {
            plain.push(c);
        }
    }
    let pattern = pattern.to_lowercase();
    let mut git_files = builtin::names("git-files").iter();
    let git = match test {
        "-name" | "-iname" if shallow => like(&pattern, ".git"),
        "-name" | "-iname" => git_files.any(|file| like(&pattern, file)),
        "-regex" | "-iregex" => {
            let end = pattern.rsplit_once("\\.");
            let end = end.map(|(_, end)| end.trim_end_matches(['$', ')', '\\']));
            !end.is_some_and(|end| end.len() > 1 && end.chars().all(char::is_alphanumeric))
        }
        _ => {
            like(&pattern, "./.git")
                || git_files.any(|file| like(&pattern, &format!("./.git/{file}")))
        }
    };
    (!plain.contains(char::is_alphanumeric), git)
}

/// Whether a pattern names exactly the Git directory.
fn is_git(pattern: &str) -> bool {
    let begins = pattern.trim_start_matches("./").trim_start_matches("*/");
    begins.trim_end_matches('*').trim_end_matches('/') == ".git"
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
    } else if super::matching::contains_listed(&list, &[], args) || command.invocation.open_ended {
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
