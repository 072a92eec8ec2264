//! What the sandbox denied to a program, and which way there is.

use edt_recorder::event::{Denied, Place};
use edt_types::{RepoPath, Warning};

/// The most paths that a warning names.
const MAX_NAMED: usize = 5;

/// The warnings about what was denied. A program that ended well did not need what it could not
/// write outside of the worktree.
pub(super) fn warnings(denied: &[Denied], failed: bool) -> Vec<Warning> {
    let mut all = Vec::new();
    let names: Vec<String> = denied.iter().filter_map(name_of).collect();
    if let Some(first) = names.first() {
        let message = format!(
            "The sandbox did not let the program make {}: Git, an editor or a shell may execute \
             something because of it, before edt has looked. Scratch repositories belong below \
             $TMPDIR or in an ignored directory. `git init` and `git clone` may make a repository \
             as a command of `edt run`. A file is written with `edt apply`, which asks the user.",
            listed(&names)
        );
        all.push(Warning { code: "name_refused", path: Some(first.clone()), message });
    }
    let in_tree: Vec<String> = denied.iter().filter_map(read_only_in_tree).collect();
    if let Some(first) = in_tree.first() {
        let message = format!(
            "The sandbox did not let the program change {}. Read-only to programs \
             are Git directories, files that other programs execute, and other repositories below \
             the worktree. If it needs such a repository, the user adds it below [run] in their \
             own edt.toml: writable = [\"DIR\"]",
            listed(&in_tree)
        );
        all.push(Warning { code: "sandbox_denied", path: Some(first.clone()), message });
    }
    let outside: Vec<String> = denied.iter().filter_map(read_only_outside).collect();
    if let Some(first) = outside.first().filter(|_| failed) {
        let message = format!(
            "The program failed, and the sandbox had not let it write {}. Outside of the worktree \
             it writes $TMPDIR alone. If it needs more, the user adds the directory below [run] in \
             their own edt.toml: writable = [\"DIR\"]",
            listed(&outside)
        );
        all.push(Warning { code: "sandbox_denied", path: Some(first.clone()), message });
    }
    all
}

fn name_of(denied: &Denied) -> Option<String> {
    match denied {
        Denied::Name(Place::Tree(path)) => Some(RepoPath::from_tree(path).text()),
        _ => None,
    }
}

fn read_only_in_tree(denied: &Denied) -> Option<String> {
    match denied {
        Denied::ReadOnly(Place::Tree(path)) => Some(RepoPath::from_tree(path).text()),
        _ => None,
    }
}

fn read_only_outside(denied: &Denied) -> Option<String> {
    match denied {
        Denied::ReadOnly(Place::Outside(path)) => Some(String::from_utf8_lossy(path).into_owned()),
        _ => None,
    }
}

fn listed(names: &[String]) -> String {
    let shown = names[..names.len().min(MAX_NAMED)].join(", ");
    match names.len().saturating_sub(MAX_NAMED) {
        0 => shown,
        count => format!("{shown} and {count} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(path: &str) -> Place {
        Place::Tree(path.into())
    }

    #[test]
    fn what_a_program_could_not_write_is_said_if_it_failed() {
        let outside = Place::Outside("/a".into());
        let denied = [Denied::ReadOnly(outside), Denied::Name(tree("b/.git"))];
        let codes = |failed| {
            warnings(&denied, failed).iter().map(|one| (one.code, one.path.clone())).collect()
        };
        let name = ("name_refused", Some("b/.git".to_owned()));
        let both: Vec<_> = vec![name.clone(), ("sandbox_denied", Some("/a".to_owned()))];
        let found: (Vec<_>, Vec<_>) = (codes(false), codes(true));
        assert_eq!(found, (vec![name], both));
    }

    #[test]
    fn a_long_list_is_cut() {
        let names: Vec<String> = (0..7).map(|at| at.to_string()).collect();
        assert_eq!(listed(&names), "0, 1, 2, 3, 4 and 2 more");
    }
}
