//! Commands run by a shell: those of a script, and builtins that run text or change the shell's
//! state.

use std::path::PathBuf;

use super::evaluator::{CommandContext, CommandInContext, Evaluator, RuleMatch};
use super::shell::SHELLS;
use super::{Decision, pattern, resolve, shell as shell_parser};

/// Programs that only read. Unknown arguments cannot make them change anything.
const READ_ONLY: [&str; 30] = [
    "echo", "printf", "ls", "cat", "head", "tail", "wc", "test", "[", "[[", "grep", "egrep",
    "fgrep", "cut", "tr", "basename", "dirname", "realpath", "readlink", "stat", "du", "df",
    "diff", "cmp", "nl", "true", ":", "exit", "return", "sleep",
];
/// Programs that read a here-document as data.
const TEXT: [&str; 12] =
    ["cat", "tee", "grep", "wc", "head", "tail", "cut", "tr", "sort", "nl", "read", "jq"];
/// Commands that evaluate subscripts, including command substitutions in them.
const SUBSCRIPTS: [&str; 11] = [
    "test", "[", "[[", "unset", "declare", "typeset", "local", "readonly", "export", "wait", "let",
];
/// Builtins that assign variables in their arguments.
const DECLARES: [&str; 5] = ["export", "declare", "typeset", "local", "readonly"];
/// How many possible working directories of a script are followed.
const MAX_DIRECTORIES: usize = 64;

/// `sh -c`, `sh FILE`, `sh`, and builtins that run text.
#[expect(clippy::too_many_lines, reason = "one case for each kind of shell")]
pub(super) fn evaluate(
    evaluator: &mut Evaluator<'_>,
    command: &CommandInContext<'_>,
) -> Vec<RuleMatch> {
    let (invocation, context) = (command.invocation, command.context);
    if invocation.is(&["eval"]) {
        evaluate_script(evaluator, &invocation.args.join(" "), "eval", context);
        return vec![RuleMatch::ask(
            "shell",
            "eval runs text as a command. Give the command itself.",
        )];
    }
    if invocation.is(&["source", "."])
        && invocation.args.len() == 1
        && invocation.args[0].ends_with("/bin/activate")
    {
        return vec![evaluator.script_file(&invocation.args[0], context)];
    }
    if invocation.is(&["trap"]) {
        invocation
            .args
            .iter()
            .take(1)
            .for_each(|text| evaluate_script(evaluator, text, "trap", context));
        return Vec::new();
    }
    if invocation.is(&["alias"]) {
        let texts = invocation.args.iter().filter_map(|arg| Some(arg.split_once('=')?.1));
        texts.for_each(|text| evaluate_script(evaluator, text, "alias", context));
        return Vec::new();
    }
    if invocation.is(&["make", "gmake"]) {
        return make_variables(evaluator, command);
    }
    if invocation.is(&[
        "watch",
        "script",
        "parallel",
        "entr",
        "ssh",
        "fish",
        "pwsh",
        "powershell",
        "cmd",
    ]) {
        let text =
            invocation.args.iter().filter(|arg| !arg.starts_with('-')).cloned().collect::<Vec<_>>();
        evaluator.command(
            &text,
            &CommandContext {
                by: invocation.names[0].clone(),
                open_ended: true,
                ..context.clone()
            },
        );
        return Vec::new();
    }
    if !invocation.is(&SHELLS) {
        return Vec::new();
    }
    let (mut at, mut is_inline) = (0, false);
    while let Some(arg) = invocation.args.get(at).filter(|arg| arg.starts_with(['-', '+'])) {
        if arg == "-" && !is_inline {
            break;
        }
        at += 1;
        if arg == "--" || arg == "-" {
            break;
        }
        if arg.starts_with("--") {
            if matches!(arg.as_str(), "--version" | "--help") {
                return vec![RuleMatch::new(
                    Decision::Allow,
                    "shell",
                    "It prints its version or help.",
                )];
            }
            if !matches!(
                arg.as_str(),
                "--norc" | "--noprofile" | "--login" | "--posix" | "--verbose" | "--noediting"
            ) {
                return vec![RuleMatch::ask(
                    "shell",
                    format!("{arg} is a shell option that edt does not know."),
                )];
            }
            continue;
        }
        for letter in arg.chars().skip(1) {
            match letter {
                'c' => is_inline = true,
                'o' | 'O' => at += 1,
                'l' | 'e' | 'u' | 'x' | 'f' | 'v' | 'n' | 'h' | 'm' | 'a' | 'b' | 'C' | 'E'
                | 'T' | 'B' | 'p' => {}
                _ => {
                    return vec![RuleMatch::ask(
                        "shell",
                        format!("{arg} is a shell option that edt does not know."),
                    )];
                }
            }
        }
    }
    match (invocation.args.get(at), is_inline) {
        (Some(text), true) => {
            let by = format!("{} -c", invocation.names[0]);
            if command.context.open_ended && text.contains('$') {
                evaluator.record_step(
                    context,
                    std::slice::from_ref(text),
                    RuleMatch::ask("shell", "It runs text that is unknown before it runs."),
                );
            }
            evaluate_script(
                evaluator,
                text,
                &by,
                &CommandContext { open_ended: false, ..context.clone() },
            );
            vec![RuleMatch::new(
                Decision::Allow,
                "shell",
                "It runs a script, whose commands are evaluated.",
            )]
        }
        (Some(file), false) if file != "-" => vec![evaluator.script_file(file, context)],
        _ => vec![RuleMatch::ask(
            "shell",
            "It would read commands that edt cannot see. Give them as a program with arguments.",
        )],
    }
}

/// Commands in variables given to `make`: `x!=text` and `x=$(shell text)`.
fn make_variables(evaluator: &mut Evaluator<'_>, command: &CommandInContext<'_>) -> Vec<RuleMatch> {
    for arg in &command.invocation.args {
        if let Some((_, text)) = arg.split_once("!=") {
            evaluate_script(evaluator, text, "make", command.context);
        } else if let Some((_, value)) = arg.split_once('=').filter(|_| !arg.starts_with('-'))
            && value.contains(['$', '`', ' '])
        {
            evaluate_script(evaluator, &value.replace("$(shell ", "$("), "make", command.context);
        }
    }
    Vec::new()
}

/// Evaluates text that a program passes to a shell.
pub(super) fn evaluate_script(
    evaluator: &mut Evaluator<'_>,
    text: &str,
    by: &str,
    context: &CommandContext,
) {
    let read = shell_parser::read(text);
    let mut context = CommandContext { by: by.to_owned(), ..context.clone() };
    let record_unparsed = |evaluator: &mut Evaluator<'_>, context: &CommandContext, why: &str| {
        let reason = format!(
            "The script cannot be analyzed before it runs: {why}. Run each command by itself."
        );
        evaluator.record_step(context, &[text.to_owned()], RuleMatch::ask("script", reason));
    };
    for why in &read.unparsed {
        record_unparsed(evaluator, &context, why);
    }
    for simple in read.commands {
        for file in &simple.redirections {
            for file in expand_word(evaluator, file, &context) {
                evaluator.evaluate_redirection(&file, &context);
            }
        }
        let mut words = simple.words.as_slice();
        let mut variables: Vec<(String, String)> =
            simple.assigns.into_iter().map(|name| (name, String::new())).collect();
        while let Some((name, value)) = words.first().and_then(|word| assignment(&word.text)) {
            if words[0].hidden {
                record_unparsed(evaluator, &context, "a variable contains a substitution");
                evaluate_substitutions(evaluator, &value, &context);
            }
            variables.push((name, value));
            words = &words[1..];
        }
        let is_assignment_only = words.is_empty();
        let first = words.first().map_or("", |word| word.text.as_str());
        if DECLARES.contains(&first) {
            variables.extend(words.iter().filter_map(|word| assignment(&word.text)));
        }
        if first == "read" {
            let names = words.iter().skip(1).filter(|word| !word.text.starts_with('-'));
            variables.extend(names.map(|word| (word.text.clone(), String::new())));
        }
        // A variable in lower case that only the script uses reaches no program.
        variables
            .retain(|(name, _)| !(is_assignment_only || first == "read") || !is_script_local(name));
        evaluator.environment(by, &variables);
        if is_assignment_only {
            continue;
        }
        if SUBSCRIPTS.contains(&first) && words.iter().any(|word| word.hidden) {
            record_unparsed(evaluator, &context, "a subscript may contain a substitution");
            words
                .iter()
                .filter(|word| word.hidden)
                .for_each(|word| evaluate_substitutions(evaluator, &word.text, &context));
        }
        if words.iter().any(|word| word.unknown)
            && (!READ_ONLY.contains(&first) || words[0].unknown)
        {
            record_unparsed(evaluator, &context, "it has an expansion");
        }
        if let Some(input) = &simple.input {
            if SHELLS.contains(&first) {
                evaluate_script(evaluator, input, first, &context);
            }
            if !TEXT.contains(&first) {
                record_unparsed(evaluator, &context, "a here-document is the input of a program");
            }
        }
        let argv: Vec<String> =
            words.iter().flat_map(|word| expand_word(evaluator, word, &context)).collect();
        evaluator.command(&argv, &context);
        follow_cd(evaluator, &argv, &mut context);
    }
}

/// The words that one word expands to: by braces and by file names.
fn expand_word(
    evaluator: &Evaluator<'_>,
    word: &shell_parser::ShellWord,
    context: &CommandContext,
) -> Vec<String> {
    let words = if word.braces { pattern::braces(&word.text) } else { vec![word.text.clone()] };
    if !word.pattern {
        return words;
    }
    let names = |word: String| {
        let mut names: Vec<String> = Vec::new();
        for dir in &context.dirs {
            // Expansions at the start, such as `~`, are applied first.
            let begins = word.starts_with(['~', '$', '`']);
            let from = if begins {
                evaluator.expand_path(&word, dir).to_string_lossy().into_owned()
            } else {
                word.clone()
            };
            names.extend(pattern::expanded(&from, dir, evaluator.host));
        }
        names.sort_unstable();
        names.dedup();
        // Where no file matches, the shell keeps the pattern itself.
        names.insert(0, word);
        names
    };
    words.into_iter().flat_map(names).collect()
}

/// Follows `cd`. Whether it succeeds is unknown, so later commands may run in either directory.
fn follow_cd(evaluator: &mut Evaluator<'_>, argv: &[String], context: &mut CommandContext) {
    let leads =
        |arg: &&String| matches!(arg.as_str(), "builtin" | "command" | "time" | "-p" | "--" | "!");
    let argv = &argv[argv.iter().take_while(leads).count()..];
    if !argv.first().is_some_and(|first| first == "cd" || first == "pushd") {
        return;
    }
    let mut to: Vec<String> =
        argv.iter().skip(1).filter(|arg| !arg.starts_with('-')).cloned().collect();
    if to.is_empty() {
        to.push("~".to_owned());
    }
    let there: Vec<PathBuf> = context
        .dirs
        .iter()
        .flat_map(|dir| to.iter().map(|to| resolve::normalized(&evaluator.expand_path(to, dir))))
        .collect();
    for dir in there {
        if context.dirs.len() >= MAX_DIRECTORIES {
            let reason = format!("It changes through more than {MAX_DIRECTORIES} directories.");
            return evaluator.record_step(context, argv, RuleMatch::ask("script", reason));
        }
        if !context.dirs.contains(&dir) {
            context.dirs.push(dir);
        }
    }
}

/// Evaluates the command substitutions in quoted text.
fn evaluate_substitutions(evaluator: &mut Evaluator<'_>, text: &str, context: &CommandContext) {
    for simple in
        shell_parser::read(&format!("echo \"{}\"", text.replace(['"', '\\'], " "))).commands
    {
        let argv: Vec<String> = simple.words.into_iter().map(|word| word.text).collect();
        evaluator.command(&argv, context);
    }
}

/// Whether only the script uses a variable: neither a shell nor a program reads that name.
fn is_script_local(name: &str) -> bool {
    let special = [
        "path",
        "cdpath",
        "fpath",
        "manpath",
        "mailpath",
        "module_path",
        "fignore",
        "watch",
        "prompt",
    ];
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    name.chars().all(plain)
        && !special.contains(&name)
        && !name.ends_with("_proxy")
        && !name.starts_with("npm_")
        && !name.starts_with("git_")
}

/// `NAME=value`, `NAME+=value`, `NAME[i]=value`.
fn assignment(word: &str) -> Option<(String, String)> {
    let (name, value) = word.split_once('=')?;
    let name = name.trim_end_matches('+').split('[').next().unwrap_or_default();
    let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    (plain && !name.starts_with(|c: char| c.is_ascii_digit()))
        .then(|| (name.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use crate::tests::{Machine, argv, steps, verdict};

    #[test]
    fn every_command_of_a_script_is_a_step() {
        assert_eq!(
            steps(&["sh", "-c", "ls && git push -f || true"]),
            [
                "given: sh -c ls && git push -f || true = allow by shell",
                "sh -c: ls = allow by read-files",
                "sh -c: git push -f = deny by git-push-force",
                "sh -c: true = allow by system-information",
            ]
        );
    }

    #[test]
    fn a_script_file_of_the_worktree_is_its_code() {
        assert_eq!(
            verdict(&argv("bash build.sh")),
            "allow by worktree-script: build.sh is code of the worktree; the sandbox confines it."
        );
    }

    #[test]
    fn a_script_file_elsewhere_is_asked_about() {
        assert_eq!(
            verdict(&argv("bash /srv/x.sh")),
            "ask by script-elsewhere: /srv/x.sh is not a file in the worktree, so its code is not known."
        );
    }

    #[test]
    fn a_shell_without_a_script_would_read_commands() {
        assert_eq!(
            verdict(&argv("sh -s")),
            "ask by shell: -s is a shell option that edt does not know."
        );
        assert_eq!(
            verdict(&argv("sh")),
            "ask by shell: It would read commands that edt cannot see. Give them as a program with \
         arguments."
        );
    }

    #[test]
    fn a_redirection_into_the_git_directory_is_denied() {
        assert_eq!(
            steps(&["sh", "-c", "echo x > .git/config"]),
            [
                "given: sh -c echo x > .git/config = allow by shell",
                "sh -c: > .git/config = deny by write-git",
                "sh -c: echo x = allow by system-information",
            ]
        );
    }

    #[test]
    fn a_redirection_into_the_worktree_is_no_step() {
        assert_eq!(
            steps(&["sh", "-c", "echo x > out.txt"]),
            [
                "given: sh -c echo x > out.txt = allow by shell",
                "sh -c: echo x = allow by system-information",
            ]
        );
    }

    #[test]
    fn after_cd_a_command_is_evaluated_in_both_directories() {
        assert_eq!(
            verdict(&["sh", "-c", "cd .. && rm -r tree"]),
            "deny by remove-vital: tree is the root of the worktree. Name the files in the worktree to \
         remove; `edt undo` restores those."
        );
    }

    #[test]
    fn a_pattern_is_expanded_to_the_files_it_matches() {
        let machine = Machine::with(&["a.txt"]);
        assert_eq!(
            machine.verdict(&["sh", "-c", "rm .g*"]),
            "deny by remove-vital: .git is a Git directory, or in one. Name the files in the worktree \
         to remove; `edt undo` restores those."
        );
        assert_eq!(
            machine.verdict(&["sh", "-c", "rm a.*"]),
            "allow by shell: It runs a script, whose commands are evaluated."
        );
    }

    #[test]
    fn an_expansion_in_a_program_that_changes_something_is_asked_about() {
        assert_eq!(
            verdict(&["sh", "-c", "touch $x"]),
            "ask by script: The script cannot be analyzed before it runs: it has an expansion. Run each \
         command by itself."
        );
    }

    #[test]
    fn an_expansion_in_a_program_that_only_reads_is_allowed() {
        assert_eq!(
            verdict(&["sh", "-c", "cat $x"]),
            "allow by shell: It runs a script, whose commands are evaluated."
        );
    }

    #[test]
    fn a_variable_that_programs_read_is_a_step() {
        assert_eq!(
            steps(&["sh", "-c", "n=1; PATH=/srv ls"]),
            [
                "given: sh -c n=1; PATH=/srv ls = allow by shell",
                "sh -c: PATH=/srv = ask by environment",
                "sh -c: ls = allow by read-files",
            ]
        );
    }

    #[test]
    fn the_input_of_an_inner_shell_is_evaluated() {
        assert_eq!(
            steps(&["sh", "-c", "sh <<'E'\ngit push -f\nE"])[1..],
            [
                "sh: git push -f = deny by git-push-force",
                "sh -c: sh <<'E'\ngit push -f\nE = ask by script",
                "sh -c: sh = ask by shell",
            ]
        );
    }

    #[test]
    fn a_here_document_for_cat_is_data() {
        assert_eq!(
            steps(&["sh", "-c", "cat <<'E'\ngit push -f\nE"])[1..],
            ["sh -c: cat = allow by read-files"]
        );
    }

    #[test]
    fn a_substitution_in_a_subscript_is_evaluated() {
        assert_eq!(
            steps(&["sh", "-c", "test 'a[$(git push -f)]' -eq 1"])[1..],
            [
                "sh -c: test 'a[$(git push -f)]' -eq 1 = ask by script",
                "sh -c: git push -f = deny by git-push-force",
                "sh -c: echo a[$(git push -f)] = allow by system-information",
                "sh -c: test a[$(git push -f)] -eq 1 = allow by system-information",
            ]
        );
    }

    #[test]
    fn the_text_of_eval_is_evaluated_and_asked_about() {
        assert_eq!(
            steps(&["sh", "-c", "eval ls"])[1..],
            ["sh -c: eval ls = ask by shell", "eval: ls = allow by read-files"]
        );
    }

    #[test]
    fn a_command_in_a_make_variable_is_evaluated() {
        assert_eq!(
            steps(&["make", "V!=git push -f"]),
            [
                "given: make V!=git push -f = ask by make-beyond",
                "make: git push -f = deny by git-push-force"
            ]
        );
    }

    #[test]
    fn an_activation_script_of_the_worktree_is_its_code() {
        let machine = Machine::with(&[".venv/bin/activate"]);
        assert_eq!(
            machine.steps(&["bash", "-c", ". .venv/bin/activate && ls"])[1..],
            [
                "bash -c: . .venv/bin/activate = allow by worktree-script",
                "bash -c: ls = allow by read-files",
            ]
        );
    }
}
