//! Builtins and other programs that run text as a script.

use super::evaluator::{CommandContext, CommandInContext, Evaluator, RuleMatch};
use super::flow::evaluate_script;
use super::wrapper;

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
    if invocation.is(&["coproc"]) {
        wrapper::evaluate_denials(evaluator, &invocation.args, context);
        return Vec::new();
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
    Vec::new()
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
            "ask by write-outside: $x may be any file. Write into the worktree, preferably to a path \
             that Git ignores."
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
            ["sh -c: sh = allow by shell", "sh: git push -f = deny by git-push-force"]
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
