//! Where a path is: in the worktree, in a Git folder, in what is the system's or somebody's.

use std::path::{Path, PathBuf};

use super::found;
use super::judge::{Judge, Way};

/// Where a file is that a command would change; later is worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Where {
    /// Nowhere: `/dev/null`, standard output.
    Nowhere,
    /// In the worktree.
    Inside,
    /// The worktree itself, or all that is in it.
    Root,
    /// Somewhere else.
    Outside,
    /// A home, a folder that holds the worktree, the root of the file system.
    Vital,
    /// In a folder of the system.
    System,
    /// A Git folder, or in one.
    Git,
    /// A disk or another device.
    Device,
}

/// Folders of the system, none of which a command of an agent changes.
const SYSTEM: [&str; 9] =
    ["/usr", "/etc", "/bin", "/sbin", "/lib", "/lib64", "/boot", "/proc", "/sys"];
/// The same, but for what is deeper in them.
const SHALLOW: [&str; 3] = ["/dev", "/var", "/opt"];
/// Devices that keep nothing.
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

impl Judge<'_> {
    /// Whether `real`, a path without links, is in the worktree and in no Git folder.
    pub(super) fn is_inside(&self, real: &Path) -> bool {
        real.strip_prefix(self.asked.root).is_ok_and(|below| !in_git(below))
    }

    /// `text` as a path, seen from `dir`.
    pub(super) fn placed_at(&self, text: &str, dir: &Path) -> PathBuf {
        let stands = |names: &[&str]| {
            let rest = names.iter().find_map(|name| text.strip_prefix(name))?;
            (rest.is_empty() || rest.starts_with('/')).then(|| rest.trim_start_matches('/'))
        };
        if let Some(rest) = stands(&["$PWD", "${PWD}", "$(pwd)", "`pwd`", "~+"]) {
            return dir.join(rest);
        }
        if let (Some(rest), Some(home)) = (stands(&["~", "$HOME", "${HOME}"]), self.programs.home())
        {
            return home.join(rest);
        }
        match text
            .strip_prefix('~')
            .filter(|user| user.starts_with(|c: char| c.is_ascii_alphabetic()))
        {
            // The home of somebody, wherever that is.
            Some(user) if !user.contains('~') => Path::new("/").join(user),
            _ => dir.join(text),
        }
    }

    pub(super) fn place(&self, text: &str, way: &Way) -> Where {
        if STREAMS.contains(&text) || text.starts_with("/dev/fd/") {
            return Where::Nowhere;
        }
        way.dirs.iter().map(|dir| self.place_from(text, dir)).max().unwrap_or(Where::Outside)
    }

    fn place_from(&self, text: &str, dir: &Path) -> Where {
        let mut path = self.placed_at(text, dir);
        // `x/*` is all that is in x.
        while path.file_name().is_some_and(|name| is_everything(&name.to_string_lossy())) {
            path.pop();
        }
        let plain = found::plain(&path);
        let through = path.parent().and_then(|parent| self.resolved(parent)).zip(plain.file_name());
        let through = through.map(|(parent, name)| parent.join(name));
        let all = [Some(plain), through, self.resolved(&path)];
        all.into_iter().flatten().map(|path| self.place_of(&path)).max().unwrap_or(Where::Outside)
    }

    /// `path` without links as far as there is anything, and what is to be made below.
    pub(super) fn resolved(&self, path: &Path) -> Option<PathBuf> {
        path.ancestors().find_map(|there| {
            let below = path.strip_prefix(there).ok()?;
            Some(found::plain(&self.programs.real(there)?.join(below)))
        })
    }

    fn place_of(&self, path: &Path) -> Where {
        let root = self.asked.root;
        if in_git(path.strip_prefix(root).unwrap_or(path)) {
            return Where::Git;
        }
        if path == root {
            return Where::Root;
        }
        if path.starts_with(root) {
            return Where::Inside;
        }
        let home = self.programs.home().is_some_and(|home| home.starts_with(path));
        let deep = path.components().count();
        let within = |list: &[&str]| list.iter().any(|system| path.starts_with(system));
        if root.starts_with(path) || home || deep <= 2 {
            return if within(&SYSTEM) { Where::System } else { Where::Vital };
        }
        if path.starts_with("/dev") && !path.starts_with("/dev/shm") {
            return Where::Device;
        }
        if within(&SYSTEM) || within(&SHALLOW) && deep <= 3 {
            Where::System
        } else {
            Where::Outside
        }
    }
}

fn in_git(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str().eq_ignore_ascii_case(".git"))
}

/// Whether a pattern stands for all that is in a folder.
fn is_everything(name: &str) -> bool {
    name.contains(['*', '?']) && name.chars().all(|c| "*?.[]!^".contains(c))
}
