//! Git's options before the subcommand: they can name programs, other repositories and other
//! configuration.

use super::evaluator::{CommandInContext, Evaluator, RuleMatch};
use super::{Decision, builtin};

/// Settings that would make Git run what edt cannot see, or bypass edt's hooks.
const DENIED: [&str; 5] = ["alias.", "core.hookspath", "include.", "includeif.", "hook."];

pub(super) fn evaluate(
    evaluator: &mut Evaluator<'_>,
    command: &CommandInContext<'_>,
) -> Vec<RuleMatch> {
    if !command.invocation.is(&["git"]) {
        return Vec::new();
    }
    let args = &command.invocation.args;
    let mut rule_matches = checkout(evaluator, command);
    let lower: Vec<String> = args.iter().map(|arg| arg.to_lowercase()).collect();
    let reads = ["--get", "--get-all", "--list", "-l", "get", "list", "--get-regexp"];
    if lower.iter().any(|arg| arg == "config")
        && lower.iter().any(|arg| arg == "core.hookspath")
        && !args.iter().any(|arg| reads.contains(&arg.as_str()))
    {
        let reason = "core.hooksPath would bypass the hooks of the user and of edt. Leave it.";
        rule_matches.push(RuleMatch::new(Decision::Deny, "git-hooks-path", reason));
    }
    let leaves_worktree = |dir: &&std::path::PathBuf| {
        let real = evaluator.resolve_path(dir).unwrap_or_default();
        **dir != evaluator.query.dir
            && (!evaluator.is_in_worktree(&real) || is_repository(evaluator, &real))
    };
    if command.context.dirs.iter().any(|dir| leaves_worktree(&dir)) {
        rule_matches.push(RuleMatch::ask(
            "git-option",
            "It may run outside the worktree, or in a nested repository whose configuration is not \
             trusted.",
        ));
    }
    let mut at = 0;
    while let Some(arg) = args.get(at).filter(|arg| arg.starts_with('-')) {
        at += 1;
        match arg.as_str() {
            "-c" => {
                rule_matches.extend(args.get(at).and_then(|setting| evaluate_setting(setting)));
                at += 1;
            }
            "-C" => {
                let to = args.get(at).map_or("", String::as_str);
                let leads = |path: &std::path::PathBuf| {
                    let path = evaluator.expand_path(to, path);
                    evaluator.resolve_path(&path).unwrap_or_default()
                };
                let leaves_worktree = |path: &std::path::PathBuf| {
                    !evaluator.is_in_worktree(path) || is_repository(evaluator, path)
                };
                if command.context.dirs.iter().map(leads).any(|path| leaves_worktree(&path)) {
                    rule_matches.push(RuleMatch::ask(
                        "git-option",
                        format!("-C {to} leads outside the worktree or into a nested repository."),
                    ));
                }
                at += 1;
            }
            harmless if builtin::is_named("git-options", harmless) => {}
            other => {
                let valued =
                    ["--git-dir", "--work-tree", "--namespace", "--config-env", "--attr-source"];
                at += usize::from(valued.contains(&other));
                let reason = format!(
                    "{other} is an option of Git that can change which repository, configuration or \
                     program it uses. Leave it out."
                );
                rule_matches.push(RuleMatch::ask("git-option", reason));
            }
        }
    }
    let quiet = |arg: &String| arg == "-q" || arg == "--quiet";
    if args.get(at).is_some_and(|arg| arg == "stash") && args[at + 1..].iter().all(quiet) {
        let reason = "It takes all uncommitted changes off the disk, the user's, too. `edt undo` \
                      undoes the session's edits; `git stash list` and `git stash show` are allowed.";
        rule_matches.push(RuleMatch::ask("git-stash", reason));
    }
    if at >= args.len() && rule_matches.is_empty() && !command.context.open_ended {
        rule_matches.push(RuleMatch::new(
            Decision::Allow,
            "git-option",
            "Git prints its version or help.",
        ));
    }
    rule_matches
}

/// `git checkout PATH` discards changes in that path. An argument that is not a file is a branch.
fn checkout(evaluator: &Evaluator<'_>, command: &CommandInContext<'_>) -> Vec<RuleMatch> {
    let args = &command.invocation.args;
    let Some(at) = args.iter().position(|arg| arg == "checkout") else { return Vec::new() };
    let file = |arg: &&String| {
        !arg.starts_with('-')
            && command
                .context
                .dirs
                .iter()
                .any(|dir| evaluator.host.real_path(&dir.join(arg)).is_some())
    };
    let found = args[at + 1..].iter().find(file).map(|file| {
        let reason = format!(
            "It would discard changes of {file} that are not recorded. Use `edt restore PATH` or \
             `edt undo`."
        );
        RuleMatch::new(Decision::Deny, "git-checkout-files", reason)
    });
    found.into_iter().collect()
}

/// Whether a directory other than the worktree's root looks like a repository, so that Git would
/// read its configuration.
fn is_repository(evaluator: &Evaluator<'_>, dir: &std::path::Path) -> bool {
    let there = |name: &str| evaluator.host.real_path(&dir.join(name)).is_some();
    dir != evaluator.query.root && there("HEAD") && (there("objects") || there("config"))
}

/// The decision on `-c setting`.
fn evaluate_setting(setting: &str) -> Option<RuleMatch> {
    let lower = setting.to_lowercase();
    let (name, value) = lower.split_once('=').unwrap_or((&lower, "true"));
    let contains = |list: &[&str]| {
        list.iter().any(|one| *one == name || one.ends_with('.') && name.starts_with(one))
    };
    if contains(&DENIED) {
        let reason = format!(
            "-c {name} would make Git run commands that edt cannot see, or bypass edt's hooks. \
             Leave it out."
        );
        return Some(RuleMatch::new(Decision::Deny, "git-option", reason));
    }
    let pager = matches!(name, "core.pager" | "core.editor" | "sequence.editor")
        && matches!(value, "cat" | "" | "true" | ":");
    let harmless = builtin::is_named("git-settings", name) || pager;
    (!harmless).then(|| {
        RuleMatch::ask(
            "git-option",
            format!("-c {name} can change which programs Git runs. Leave it out."),
        )
    })
}

#[cfg(test)]
mod tests {
    use crate::tests::{Machine, argv, steps, verdict};

    #[test]
    fn a_stash_of_everything_is_asked_about_with_its_reason() {
        for line in ["git stash", "git stash -q", "git --no-pager stash", "git -C src stash"] {
            let verdict = verdict(&argv(line));
            assert!(verdict.starts_with("ask by git-stash: It takes all"), "{line}: {verdict}");
        }
        assert!(verdict(&argv("git stash show -p")).starts_with("allow"));
    }

    #[test]
    fn an_alias_on_the_command_line_is_denied() {
        assert_eq!(
            verdict(&["git", "-c", "alias.x=!id", "x"]),
            "deny by git-option: -c alias.x would make Git run commands that edt cannot see, or bypass \
         edt's hooks. Leave it out."
        );
    }

    #[test]
    fn a_setting_that_only_affects_output_is_harmless() {
        assert_eq!(
            verdict(&argv("git -c color.ui=never status")),
            "allow by git-reads: It reads the repository."
        );
    }

    #[test]
    fn any_other_setting_is_asked_about() {
        assert_eq!(
            verdict(&argv("git -c core.sshCommand=x status")),
            "ask by git-option: -c core.sshcommand can change which programs Git runs. Leave it out."
        );
    }

    #[test]
    fn a_pager_that_is_none_is_harmless() {
        assert_eq!(
            verdict(&argv("git -c core.pager=cat log")),
            "allow by git-reads: It reads the repository."
        );
        assert_eq!(
            verdict(&argv("git -c core.pager=less log")),
            "ask by git-option: -c core.pager can change which programs Git runs. Leave it out."
        );
    }

    #[test]
    fn another_directory_outside_the_worktree_is_asked_about() {
        assert_eq!(
            verdict(&argv("git -C /srv status")),
            "ask by git-option: -C /srv leads outside the worktree or into a nested repository."
        );
    }

    #[test]
    fn a_nested_repository_is_asked_about() {
        let machine = Machine::with(&["bare/HEAD", "bare/config"]);
        assert_eq!(
            machine.verdict(&argv("git -C bare log")),
            "ask by git-option: -C bare leads outside the worktree or into a nested repository."
        );
        assert_eq!(
            machine.verdict(&argv("git -C src log")),
            "allow by git-reads: It reads the repository."
        );
    }

    #[test]
    fn an_option_that_moves_the_repository_is_asked_about() {
        assert_eq!(
            verdict(&argv("git --git-dir x status")),
            "ask by git-option: --git-dir is an option of Git that can change which repository, \
         configuration or program it uses. Leave it out."
        );
    }

    #[test]
    fn checkout_of_a_file_discards_its_changes() {
        assert_eq!(
            verdict(&argv("git checkout README.md")),
            "deny by git-checkout-files: It would discard changes of README.md that are not recorded. \
         Use `edt restore PATH` or `edt undo`."
        );
    }

    #[test]
    fn checkout_of_a_branch_is_asked_about() {
        assert_eq!(
            steps(&argv("git checkout main")),
            ["given: git checkout main = ask by git-commit"]
        );
    }

    #[test]
    fn a_program_of_git_by_its_own_name_is_the_subcommand() {
        assert_eq!(steps(&argv("git-push -f")), ["given: git-push -f = deny by git-push-force"]);
    }

    #[test]
    fn git_after_cd_into_another_directory_is_asked_about() {
        assert_eq!(
            steps(&["sh", "-c", "cd /srv; git status"])[2..],
            ["sh -c: git status = ask by git-option"]
        );
    }
}
