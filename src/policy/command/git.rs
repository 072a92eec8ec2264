//! Git's own options before the subcommand: they can name programs, other repositories, other configuration.

use super::Decision;
use super::judge::{Call, Judge, Word};

/// Options that change nothing that matters. `[[options]]` of the built-in rules has all that take a value.
const HARMLESS: [&str; 12] = [
    "-P",
    "--no-pager",
    "--no-replace-objects",
    "--no-optional-locks",
    "--no-lazy-fetch",
    "--no-advice",
    "--literal-pathspecs",
    "--glob-pathspecs",
    "--noglob-pathspecs",
    "--icase-pathspecs",
    "--version",
    "--help",
];

/// Settings, in lower case, that decide how things look. What ends with a dot stands for all below it.
const LOOKS: [&str; 14] = [
    "color.",
    "column.",
    "advice.",
    "core.quotepath",
    "core.abbrev",
    "core.precomposeunicode",
    "diff.context",
    "diff.renames",
    "diff.algorithm",
    "diff.noprefix",
    "log.date",
    "log.showsignature",
    "status.",
    "init.defaultbranch",
];

/// Settings that would let Git run what edt cannot see, or go past edt's hooks.
const DENIED: [&str; 5] = ["alias.", "core.hookspath", "include.", "includeif.", "hook."];

/// What is said of the options.
pub(super) fn judge(judge: &mut Judge<'_>, call: &Call<'_>) -> Vec<Word> {
    if !call.invocation.is(&["git"]) {
        return Vec::new();
    }
    let args = &call.invocation.args;
    let mut words = checkout(judge, call);
    let strange = |dir: &&std::path::PathBuf| {
        let real = judge.resolved(dir).unwrap_or_default();
        **dir != judge.asked.dir && (!judge.is_inside(&real) || is_repository(judge, &real))
    };
    if call.way.dirs.iter().any(|dir| strange(&dir)) {
        words.push(Word::ask(
            "git-option",
            "It may run outside of the worktree or in a repository in it, whose settings nobody has seen.",
        ));
    }
    let mut at = 0;
    while let Some(arg) = args.get(at).filter(|arg| arg.starts_with('-')) {
        at += 1;
        match arg.as_str() {
            "-c" => {
                words.extend(args.get(at).and_then(|setting| judged(setting)));
                at += 1;
            }
            "-C" => {
                let to = args.get(at).map_or("", String::as_str);
                let leads =
                    |path: &std::path::PathBuf| judge.resolved(&path.join(to)).unwrap_or_default();
                let strange = |path: &std::path::PathBuf| {
                    !judge.is_inside(path) || is_repository(judge, path)
                };
                if call.way.dirs.iter().map(leads).any(|path| strange(&path)) {
                    words.push(Word::ask(
                        "git-option",
                        format!("-C {to} leads outside of the worktree or to a repository in it."),
                    ));
                }
                at += 1;
            }
            harmless if HARMLESS.contains(&harmless) => {}
            other => {
                let valued =
                    ["--git-dir", "--work-tree", "--namespace", "--config-env", "--attr-source"];
                at += usize::from(valued.contains(&other));
                let reason = format!(
                    "{other} is an option of Git that can change which repository, configuration or program it uses. Leave it out."
                );
                words.push(Word::ask("git-option", reason));
            }
        }
    }
    if at >= args.len() && words.is_empty() && !call.way.open {
        words.push(Word::new(Decision::Allow, "git-option", "Git tells of itself."));
    }
    words
}

/// `git checkout PATH` throws away what is changed there; a branch has the name of no file.
fn checkout(judge: &Judge<'_>, call: &Call<'_>) -> Vec<Word> {
    let args = &call.invocation.args;
    let Some(at) = args.iter().position(|arg| arg == "checkout") else { return Vec::new() };
    let file = |arg: &&String| {
        !arg.starts_with('-')
            && call.way.dirs.iter().any(|dir| judge.programs.real(&dir.join(arg)).is_some())
    };
    let found = args[at + 1..].iter().find(file).map(|file| {
        let reason = format!(
            "It would throw away changes of {file} that are recorded nowhere. Use `edt restore PATH` or `edt undo`."
        );
        Word::new(Decision::Deny, "git-checkout-files", reason)
    });
    found.into_iter().collect()
}

/// Whether a folder other than the worktree's root looks like a repository, so that Git takes its settings.
fn is_repository(judge: &Judge<'_>, dir: &std::path::Path) -> bool {
    let there = |name: &str| judge.programs.real(&dir.join(name)).is_some();
    dir != judge.asked.root && there("HEAD") && (there("objects") || there("config"))
}

/// What becomes of `-c setting`.
fn judged(setting: &str) -> Option<Word> {
    let lower = setting.to_lowercase();
    let (name, value) = lower.split_once('=').unwrap_or((&lower, "true"));
    let such = |list: &[&str]| {
        list.iter().any(|one| *one == name || one.ends_with('.') && name.starts_with(one))
    };
    if such(&DENIED) {
        let reason = format!(
            "-c {name} would let Git run what edt cannot see, or go past edt's hooks. Leave it out."
        );
        return Some(Word::new(Decision::Deny, "git-option", reason));
    }
    let pager = matches!(name, "core.pager" | "core.editor" | "sequence.editor")
        && matches!(value, "cat" | "" | "true" | ":");
    let free = such(&LOOKS) || pager;
    (!free).then(|| {
        Word::ask(
            "git-option",
            format!("-c {name} can change which programs Git runs. Leave it out."),
        )
    })
}
