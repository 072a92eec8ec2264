//! What the sandbox denied to a program, and which way there is.

use edt_recorder::event::{Denied, Place};
use edt_types::text::escape_controls;
use edt_types::{Level, RepoPath, Warning, WarningCode};

/// The most paths that a warning names.
const MAX_NAMED: usize = 5;

/// The warnings about what was denied. A program that ended well did not need what it could not
/// write outside of the worktree.
pub(super) fn warnings(denied: &[Denied], level: Level, failed: bool) -> Vec<Warning> {
    let mut all = Vec::new();
    let names: Vec<RepoPath> = denied.iter().filter_map(name_of).collect();
    if let Some(first) = names.first() {
        let message = format!(
            "The sandbox did not let the program make {}: Git, an editor or a shell may execute \
             something because of it, before edt has looked. Scratch repositories belong below \
             $TMPDIR or in an ignored directory. `git init` and `git clone` may make a repository \
             as a command of `edt run`. A file is written with `edt apply`, which asks the user.",
            listed(&names)
        );
        all.push(Warning { code: WarningCode::NameRefused, path: Some(first.text()), message });
    }
    let in_tree: Vec<RepoPath> = denied.iter().filter_map(read_only_in_tree).collect();
    if let Some(first) = in_tree.first() {
        let message = format!(
            "The sandbox did not let the program change {}. Read-only to programs \
             are Git directories, files that other programs execute, and other repositories below \
             the worktree. If it needs such a repository, the user adds it below [run] in their \
             own edt.toml: writable = [\"DIR\"]",
            listed(&in_tree)
        );
        all.push(Warning { code: WarningCode::SandboxDenied, path: Some(first.text()), message });
    }
    let outside: Vec<String> = denied.iter().filter_map(read_only_outside).collect();
    if let Some(first) = outside.first().filter(|_| failed) {
        let message = format!(
            "The program failed, and the sandbox had not let it write {}. Outside of the worktree \
             it writes $TMPDIR alone. If it needs more, the user adds the directory below [run] in \
             their own edt.toml: writable = [\"DIR\"]",
            listed(&outside)
        );
        all.push(Warning { code: WarningCode::SandboxDenied, path: Some(first.clone()), message });
    }
    if failed {
        all.extend(sockets(denied, level));
    }
    all
}

/// The warning about refused sockets.
fn sockets(denied: &[Denied], level: Level) -> Option<Warning> {
    let families: Vec<i32> = denied.iter().filter_map(family_of).collect();
    let has = |family| families.contains(&family);
    let unix = denied.iter().find_map(|one| match one {
        Denied::UnixSocket(name) => Some(String::from_utf8_lossy(name).into_owned()),
        _ => None,
    });
    let (what, way) = if has(INTERNET[0]) || has(INTERNET[1]) {
        let way = match level {
            Level::Strict => "At strict it has TCP and UDP in a network of its own.",
            _ => {
                "A server and its client on 127.0.0.1 work with `--sandbox strict`, which has a \
                 network of its own. For another network the user runs the program themselves."
            }
        };
        ("make a socket for the Internet, also not on 127.0.0.1".to_owned(), way)
    } else if let Some(name) = unix {
        let way = "Sockets in the worktree and below $TMPDIR work. What serves the others is \
                   outside of the sandbox: the user runs such a program themselves.";
        (format!("connect to the socket {}", escape_controls(&name).0), way)
    } else {
        let family = families.first()?;
        let way = "It has Unix sockets of streams, and with `--sandbox strict` TCP and UDP in a \
                   network of its own.";
        (format!("make a socket of the family {family}"), way)
    };
    let message = format!("The program failed, and the sandbox had not let it {what}. {way}");
    Some(Warning { code: WarningCode::SandboxDenied, path: None, message })
}

/// `AF_INET` and `AF_INET6`.
const INTERNET: [i32; 2] = [2, 10];

fn family_of(denied: &Denied) -> Option<i32> {
    match denied {
        Denied::Socket { family } => Some(*family),
        _ => None,
    }
}

fn name_of(denied: &Denied) -> Option<RepoPath> {
    match denied {
        Denied::Name(Place::Tree(path)) => Some(RepoPath::from_tree(path)),
        _ => None,
    }
}

fn read_only_in_tree(denied: &Denied) -> Option<RepoPath> {
    match denied {
        Denied::ReadOnly(Place::Tree(path)) => Some(RepoPath::from_tree(path)),
        _ => None,
    }
}

fn read_only_outside(denied: &Denied) -> Option<String> {
    match denied {
        Denied::ReadOnly(Place::Outside(path)) => {
            Some(escape_controls(&String::from_utf8_lossy(path)).0)
        }
        _ => None,
    }
}

fn listed(names: &[impl std::fmt::Display]) -> String {
    let shown: Vec<String> = names.iter().take(MAX_NAMED).map(ToString::to_string).collect();
    let shown = shown.join(", ");
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
            warnings(&denied, Level::Standard, failed)
                .iter()
                .map(|one| (one.code.name(), one.path.clone()))
                .collect()
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
