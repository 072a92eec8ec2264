//! The location of a path: in the worktree, in a Git directory, in a system or home directory.

use std::path::{Path, PathBuf};

use super::evaluator::{CommandContext, Evaluator};
use super::query::Restorable;
use super::resolve;
use super::shell_ast::is_unknown;

/// The location of a file that a command would change; later is worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PathLocation {
    /// Not a stored file: `/dev/null`, standard output.
    Nowhere,
    Inside,
    /// The worktree itself, or everything in it.
    Root,
    Outside,
    /// A home directory, a parent of the worktree, the root of the file system.
    Vital,
    System,
    /// A Git directory, or in one.
    Git,
    Device,
}

/// System directories, at any depth.
const SYSTEM: [&str; 9] =
    ["/usr", "/etc", "/bin", "/sbin", "/lib", "/lib64", "/boot", "/proc", "/sys"];
/// System directories, except deeply nested paths in them.
const SHALLOW: [&str; 3] = ["/dev", "/var", "/opt"];
/// Devices that store nothing.
const STREAMS: [&str; 10] = [
    "/dev/null",
    "/dev/stdin",
    "/dev/stdout",
    "/dev/stderr",
    "/dev/tty",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "-",
];

impl Evaluator<'_> {
    /// Whether `real`, a path without symbolic links, is in the worktree and not in a Git
    /// directory.
    pub(super) fn is_in_worktree(&self, real: &Path) -> bool {
        real.strip_prefix(self.query.root).is_ok_and(|below| !in_git(below))
    }

    /// `text` as a path in `dir`, with `~`, `$HOME` and `$PWD` expanded.
    pub(super) fn expand_path(&self, text: &str, dir: &Path) -> PathBuf {
        let strip = |names: &[&str]| {
            let rest = names.iter().find_map(|name| text.strip_prefix(name))?;
            (rest.is_empty() || rest.starts_with('/')).then(|| rest.trim_start_matches('/'))
        };
        if let Some(rest) = strip(&["$PWD", "${PWD}", "$(pwd)", "`pwd`", "~+"]) {
            return dir.join(rest);
        }
        if let Some(rest) = strip(&["$(git rev-parse --show-toplevel)"]) {
            return self.query.root.join(rest);
        }
        if let (Some(rest), Some(home)) =
            (strip(&["~", "$HOME", "${HOME}"]), self.host.home_directory())
        {
            return home.join(rest);
        }
        match text
            .strip_prefix('~')
            .filter(|user| user.starts_with(|c: char| c.is_ascii_alphabetic()))
        {
            // Another user's home; its real path does not matter.
            Some(user) if !user.contains('~') => Path::new("/").join(user),
            _ => dir.join(text),
        }
    }

    pub(super) fn locate(&self, text: &str, context: &CommandContext) -> PathLocation {
        if STREAMS.contains(&text) || text.starts_with("/dev/fd/") {
            return PathLocation::Nowhere;
        }
        context
            .dirs
            .iter()
            .map(|dir| self.locate_from(text, dir))
            .max()
            .unwrap_or(PathLocation::Outside)
    }

    /// What `edt undo` can restore of what `text` names, wherever the command may run.
    pub(super) fn restorable(&self, text: &str, context: &CommandContext) -> Restorable {
        let one = |dir| {
            let path = resolve::normalized(&self.path_from(text, dir));
            let real = self.without_links_above(&path);
            real.map_or(Restorable::All, |real| self.host.restorable(&real))
        };
        context.dirs.iter().map(|dir| one(dir.as_path())).max().unwrap_or(Restorable::All)
    }

    /// `path` with symbolic links resolved, except in its last part.
    fn without_links_above(&self, path: &Path) -> Option<PathBuf> {
        let parent = path.parent().and_then(|parent| self.resolve_path(parent));
        parent.zip(resolve::normalized(path).file_name()).map(|(parent, name)| parent.join(name))
    }

    fn path_from(&self, text: &str, dir: &Path) -> PathBuf {
        let mut path = self.expand_path(text, dir);
        // `x/*` means everything in x.
        while path.file_name().is_some_and(|name| is_everything(&name.to_string_lossy())) {
            path.pop();
        }
        path
    }

    fn locate_from(&self, text: &str, dir: &Path) -> PathLocation {
        let path = self.path_from(text, dir);
        let through = self.without_links_above(&path);
        let plain = resolve::normalized(&path);
        let made = self.made_links.iter().any(|link| plain.starts_with(link));
        // What a new link leads to, and what an expansion becomes, is not known.
        let least = if made || is_unknown(text) || is_unknown(&dir.to_string_lossy()) {
            PathLocation::Outside
        } else {
            PathLocation::Nowhere
        };
        let all = [Some(resolve::normalized(&path)), through, self.resolve_path(&path)];
        all.iter().skip(1).flatten().for_each(|path| self.host.is_named(path));
        all.into_iter()
            .flatten()
            .map(|path| self.location_of(&path))
            .max()
            .unwrap_or(PathLocation::Outside)
            .max(least)
    }

    /// `path` with symbolic links resolved in the part that exists.
    pub(super) fn resolve_path(&self, path: &Path) -> Option<PathBuf> {
        path.ancestors().find_map(|there| {
            let below = path.strip_prefix(there).ok()?;
            Some(resolve::normalized(&self.host.real_path(there)?.join(below)))
        })
    }

    fn location_of(&self, path: &Path) -> PathLocation {
        let root = self.query.root;
        if in_git(path.strip_prefix(root).unwrap_or(path)) {
            return PathLocation::Git;
        }
        if path == root {
            return PathLocation::Root;
        }
        if path.starts_with(root) {
            return PathLocation::Inside;
        }
        let home = self.host.home_directory().is_some_and(|home| home.starts_with(path));
        let deep = path.components().count();
        let within = |list: &[&str]| list.iter().any(|system| path.starts_with(system));
        if root.starts_with(path) || home || deep <= 2 {
            return if within(&SYSTEM) { PathLocation::System } else { PathLocation::Vital };
        }
        if path.starts_with("/dev") && !path.starts_with("/dev/shm") {
            return PathLocation::Device;
        }
        if within(&SYSTEM) || within(&SHALLOW) && deep <= 3 {
            PathLocation::System
        } else {
            PathLocation::Outside
        }
    }
}

fn in_git(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str().eq_ignore_ascii_case(".git"))
}

/// Whether a pattern matches everything in a directory.
fn is_everything(name: &str) -> bool {
    name.contains(['*', '?']) && name.chars().all(|c| "*?.[]!^".contains(c))
}

#[cfg(test)]
mod tests {
    use edt_types::Level;

    use super::*;
    use crate::evaluator::Evaluator;
    use crate::tests::Machine;
    use crate::{CommandPolicy, CommandQuery};

    /// The location of `text` in the worktree's root.
    fn at(machine: &Machine, text: &str) -> PathLocation {
        let policy = CommandPolicy::default();
        let query = CommandQuery {
            program: "x".as_ref(),
            args: &[],
            dir: &machine.dir,
            root: Path::new("/home/user/tree"),
            env: &[],
            level: Level::Standard,
        };
        let evaluator = Evaluator::new(&policy, &query, machine, |_, _| None);
        let context = CommandContext {
            by: String::new(),
            dirs: vec![machine.dir.clone()],
            ..CommandContext::default()
        };
        evaluator.locate(text, &context)
    }

    fn place(text: &str) -> PathLocation {
        at(&Machine::with(&[]), text)
    }

    #[test]
    fn a_file_of_the_worktree_is_inside() {
        assert_eq!(place("src/new/x"), PathLocation::Inside);
        assert_eq!(place("/home/user/tree/x"), PathLocation::Inside);
        assert_eq!(place("$PWD/x"), PathLocation::Inside);
    }

    #[test]
    fn everything_in_the_worktree_is_its_root() {
        assert_eq!(place("./*"), PathLocation::Root);
        assert_eq!(place("src/.."), PathLocation::Root);
    }

    #[test]
    fn the_git_directory_is_found_in_any_case() {
        assert_eq!(place("src/.GIT/config"), PathLocation::Git);
        assert_eq!(place("/srv/x/.git"), PathLocation::Git);
    }

    #[test]
    fn a_link_to_the_git_directory_is_in_it() {
        assert_eq!(
            at(&Machine::with(&[]).link("data", "/home/user/tree/.git"), "data/x"),
            PathLocation::Git
        );
    }

    #[test]
    fn the_home_directory_and_parents_of_the_worktree_are_vital() {
        for path in ["~", "..", "$HOME/", "/home", "/"] {
            assert_eq!(place(path), PathLocation::Vital, "{path}");
        }
    }

    #[test]
    fn a_file_below_the_home_directory_is_outside() {
        assert_eq!(place("~/notes/x"), PathLocation::Outside);
    }

    #[test]
    fn system_directories_are_system_at_any_depth() {
        for path in ["/usr/share/a/b/c", "/etc", "/var/log", "/opt/x"] {
            assert_eq!(place(path), PathLocation::System, "{path}");
        }
    }

    #[test]
    fn a_deep_path_below_var_is_outside() {
        assert_eq!(place("/var/tmp/x/y"), PathLocation::Outside);
    }

    #[test]
    fn a_device_that_stores_nothing_is_nowhere() {
        assert_eq!(place("/dev/null"), PathLocation::Nowhere);
        assert_eq!(place("/dev/fd/3"), PathLocation::Nowhere);
        assert_eq!(place("/dev/disk/by-id"), PathLocation::Device);
        assert_eq!(place("/dev/shm/a/b"), PathLocation::Outside);
    }
}
