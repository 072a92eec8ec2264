//! The program's view of the file system, as a list of mount operations that edt
//! ([`super::mounts`]) or bubblewrap performs. Before the first operation everything is read-only.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::os_bytes::OsBytes;
use super::{SandboxPlan, secrets};
use edt_types::Level;
use edt_types::text::Shown as _;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum MountOp {
    /// `/proc` with the processes of the PID namespace.
    Processes,
    /// `/dev` with the few devices that programs need, and `/dev/shm`.
    Devices {
        /// The size of `/dev/shm`.
        shm_bytes: u64,
    },
    /// An empty tmpfs.
    Tmpfs { at: OsBytes, bytes: u64, writable: bool },
    /// The real file or directory, writable.
    Writable(OsBytes),
    /// The real file or directory, read-only; it cannot be renamed or removed.
    ReadOnly(OsBytes),
    /// An empty directory in place of the real one.
    EmptyDirectory(OsBytes),
    /// An empty file in place of the real one.
    EmptyFile(OsBytes),
}

/// The operations in order, and the paths that are writable after them.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) ops: Vec<MountOp>,
    pub(super) writable: Vec<PathBuf>,
}

/// The size of each tmpfs if the plan has no limit.
const DEFAULT_TMPFS_BYTES: u64 = 1 << 30;

/// The layout of `plan`; `temporary` is the private temporary directory.
pub(super) fn of(plan: &SandboxPlan, temporary: &Path) -> Result<Layout, String> {
    let tmpfs_bytes = plan.limits.temporary_bytes.unwrap_or(DEFAULT_TMPFS_BYTES);
    let mut ops = Vec::new();
    if plan.level == Level::Strict {
        ops.push(MountOp::Processes);
    }
    ops.push(MountOp::Devices { shm_bytes: tmpfs_bytes });
    if plan.level == Level::Strict {
        ops.push(MountOp::Tmpfs {
            at: temporary.as_os_str().into(),
            bytes: tmpfs_bytes,
            writable: true,
        });
        for hidden in ["/run", "/var/run"].map(Path::new) {
            if hidden.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
                ops.push(MountOp::Tmpfs {
                    at: hidden.as_os_str().into(),
                    bytes: 1 << 20,
                    writable: false,
                });
            }
        }
    } else {
        ops.push(MountOp::Writable(temporary.as_os_str().into()));
    }
    let shown = plan.shown.iter().filter_map(|path| path.canonicalize().ok());
    ops.extend(shown.map(|path| MountOp::ReadOnly(path.as_os_str().into())));
    let mut writable: Vec<PathBuf> =
        plan.writable.iter().filter_map(|path| path.canonicalize().ok()).collect();
    let root = plan
        .root
        .canonicalize()
        .map_err(|error| format!("{} cannot be opened: {error}.", plan.root.shown()))?;
    writable.push(root.clone());
    // A directory comes before its contents.
    writable.sort();
    writable.dedup();
    ops.extend(writable.iter().map(|path| MountOp::Writable(path.as_os_str().into())));
    let others = plan
        .read_only
        .iter()
        .filter(|path| path.symlink_metadata().is_ok_and(|meta| meta.is_dir() || meta.is_file()));
    let read_only: Vec<PathBuf> = plan.git.iter().chain(others).cloned().collect();
    let read_only = read_only_mounts(&read_only, &writable)?;
    let is_covered = |path: &&PathBuf| {
        let above = |op: &MountOp| match op {
            MountOp::ReadOnly(above) => path.starts_with(above.path()) && *path != above.path(),
            _ => false,
        };
        read_only.iter().any(above)
    };
    let again: Vec<MountOp> = writable
        .iter()
        .filter(is_covered)
        .map(|path| MountOp::Writable(path.as_os_str().into()))
        .collect();
    ops.extend(read_only.into_iter().chain(again));
    ops.extend(hidden(plan, &root));
    writable.push(temporary.to_owned());
    Ok(Layout { ops, writable })
}

/// The paths in writable places, each with its parent directories: a mount point cannot be renamed,
/// removed or replaced.
fn read_only_mounts(paths: &[PathBuf], writable: &[PathBuf]) -> Result<Vec<MountOp>, String> {
    let (mut parents, mut targets) = (Vec::new(), Vec::new());
    for path in paths {
        let Ok(meta) = path.symlink_metadata() else { continue };
        let (Some(parent), Some(name)) =
            (path.parent().and_then(|parent| parent.canonicalize().ok()), path.file_name())
        else {
            continue;
        };
        let path = parent.join(name);
        let Some(inside) = writable.iter().filter(|one| path.starts_with(one)).min() else {
            continue;
        };
        if meta.is_symlink() {
            return Err(format!(
                "{} is a symbolic link, which the program could replace. Replace it with a file \
                 that contains `gitdir: …` (git init --separate-git-dir).",
                path.shown()
            ));
        }
        let ancestors = parent.ancestors().take_while(|one| *one != inside).map(Path::to_owned);
        parents.extend(ancestors.filter(|one| !writable.contains(one)));
        targets.push(path);
    }
    for paths in [&mut parents, &mut targets] {
        paths.sort();
        paths.dedup();
    }
    let parents =
        parents.iter().filter(|parent| !targets.iter().any(|target| parent.starts_with(target)));
    let parents: Vec<MountOp> =
        parents.map(|parent| MountOp::Writable(parent.as_os_str().into())).collect();
    Ok(parents
        .into_iter()
        .chain(targets.iter().map(|target| MountOp::ReadOnly(target.as_os_str().into())))
        .collect())
}

/// Existing secrets, without a directory that contains the worktree: there the user works on them.
fn hidden(plan: &SandboxPlan, root: &Path) -> Vec<MountOp> {
    let mut found: Vec<PathBuf> = secrets::secret_paths(plan)
        .iter()
        .filter_map(|path| path.canonicalize().ok())
        .filter(|path| !root.starts_with(path))
        .collect();
    found.sort();
    found.dedup();
    let mut ops: Vec<MountOp> = Vec::new();
    let mut last: Option<&Path> = None;
    for path in &found {
        if last.is_some_and(|last| path.starts_with(last)) {
            continue;
        }
        let Ok(meta) = path.metadata() else { continue };
        let name = OsBytes::from(path.as_os_str());
        ops.push(if meta.is_dir() {
            MountOp::EmptyDirectory(name)
        } else {
            MountOp::EmptyFile(name)
        });
        last = Some(path);
    }
    ops
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A worktree with `.git/hooks` and a link, and a temporary directory beside it.
    struct Tree {
        dir: tempfile::TempDir,
    }

    impl Tree {
        fn new() -> Tree {
            let dir = tempfile::tempdir().unwrap();
            fs::create_dir_all(dir.path().join("tree/.git/hooks")).unwrap();
            fs::create_dir_all(dir.path().join("tree/src")).unwrap();
            fs::create_dir(dir.path().join("tmp")).unwrap();
            fs::create_dir_all(dir.path().join("keys/deep")).unwrap();
            fs::write(dir.path().join("keys/one"), "x").unwrap();
            Tree { dir }
        }

        fn path(&self, name: &str) -> PathBuf {
            self.dir.path().canonicalize().unwrap().join(name)
        }

        fn plan(&self, level: Level) -> SandboxPlan {
            SandboxPlan::new(level, Path::new("/bin/true"), &self.path("tree"))
        }

        /// The layout without what this machine's own secrets and directories add.
        fn ops(&self, plan: &SandboxPlan) -> Vec<MountOp> {
            let below = |op: &MountOp| match op {
                MountOp::Writable(path)
                | MountOp::ReadOnly(path)
                | MountOp::EmptyDirectory(path)
                | MountOp::EmptyFile(path) => path.path().starts_with(self.path("")),
                _ => false,
            };
            let ops = of(plan, &self.path("tmp")).unwrap().ops;
            ops.into_iter().filter(below).collect()
        }

        fn writable(&self, name: &str) -> MountOp {
            MountOp::Writable(self.path(name).as_os_str().into())
        }

        fn read_only(&self, name: &str) -> MountOp {
            MountOp::ReadOnly(self.path(name).as_os_str().into())
        }
    }

    #[test]
    fn the_worktree_and_the_temporary_directory_are_writable() {
        let tree = Tree::new();
        let plan = tree.plan(Level::Standard);
        assert_eq!(tree.ops(&plan), [tree.writable("tmp"), tree.writable("tree")]);
        let writable = of(&plan, &tree.path("tmp")).unwrap().writable;
        assert_eq!(writable, [tree.path("tree"), tree.path("tmp")]);
    }

    #[test]
    fn at_strict_the_temporary_directory_is_a_new_file_system() {
        let tree = Tree::new();
        let plan = tree.plan(Level::Strict);
        let ops = of(&plan, &tree.path("tmp")).unwrap().ops;
        assert_eq!(ops[0], MountOp::Processes);
        let at = tree.path("tmp").as_os_str().into();
        let bytes = plan.limits.temporary_bytes.unwrap();
        assert!(ops.contains(&MountOp::Tmpfs { at, bytes, writable: true }), "{ops:?}");
        assert_eq!(tree.ops(&plan), [tree.writable("tree")]);
    }

    #[test]
    fn the_git_directory_is_read_only_inside_a_writable_one() {
        let tree = Tree::new();
        let git = vec![tree.path("tree/.git"), tree.path("tree/.git/hooks")];
        let plan = SandboxPlan { git, ..tree.plan(Level::Standard) };
        assert_eq!(
            tree.ops(&plan)[1..],
            [tree.writable("tree"), tree.read_only("tree/.git"), tree.read_only("tree/.git/hooks")]
        );
    }

    #[test]
    fn other_files_and_directories_are_read_only_if_they_exist_and_are_no_links() {
        let tree = Tree::new();
        fs::create_dir(tree.path("tree/.husky")).unwrap();
        std::os::unix::fs::symlink("src", tree.path("tree/.envrc")).unwrap();
        let read_only = [".husky", ".envrc", ".mcp.json"];
        let read_only = read_only.map(|name| tree.path("tree").join(name)).to_vec();
        let plan = SandboxPlan { read_only, ..tree.plan(Level::Standard) };
        assert_eq!(tree.ops(&plan)[1..], [tree.writable("tree"), tree.read_only("tree/.husky")]);
    }

    #[test]
    fn the_parents_of_a_git_directory_cannot_be_renamed() {
        let tree = Tree::new();
        fs::create_dir_all(tree.path("tree/a/b/git")).unwrap();
        let plan =
            SandboxPlan { git: vec![tree.path("tree/a/b/git")], ..tree.plan(Level::Standard) };
        assert_eq!(
            tree.ops(&plan)[1..],
            [
                tree.writable("tree"),
                tree.writable("tree/a"),
                tree.writable("tree/a/b"),
                tree.read_only("tree/a/b/git")
            ]
        );
    }

    #[test]
    fn a_git_directory_outside_every_writable_one_needs_no_mount() {
        let tree = Tree::new();
        let plan = SandboxPlan { git: vec![tree.path("keys")], ..tree.plan(Level::Standard) };
        assert_eq!(tree.ops(&plan), [tree.writable("tmp"), tree.writable("tree")]);
    }

    #[test]
    fn a_git_file_that_is_a_link_is_refused() {
        let tree = Tree::new();
        std::os::unix::fs::symlink(tree.path("keys"), tree.path("tree/git")).unwrap();
        let plan = SandboxPlan { git: vec![tree.path("tree/git")], ..tree.plan(Level::Standard) };
        let why = of(&plan, &tree.path("tmp")).unwrap_err();
        let start = format!(
            "{} is a symbolic link, which the program could replace.",
            tree.path("tree/git").display()
        );
        assert!(why.starts_with(&start), "{why}");
    }

    #[test]
    fn a_secret_is_replaced_by_something_empty_of_its_kind() {
        let tree = Tree::new();
        let secrets = vec![tree.path("keys/deep"), tree.path("keys/one"), tree.path("keys/none")];
        let plan = SandboxPlan { secrets, ..tree.plan(Level::Standard) };
        assert_eq!(
            tree.ops(&plan)[2..],
            [
                MountOp::EmptyDirectory(tree.path("keys/deep").as_os_str().into()),
                MountOp::EmptyFile(tree.path("keys/one").as_os_str().into())
            ]
        );
    }

    #[test]
    fn a_secret_below_another_one_needs_no_mount_of_its_own() {
        let tree = Tree::new();
        let secrets = vec![tree.path("keys/deep"), tree.path("keys")];
        let plan = SandboxPlan { secrets, ..tree.plan(Level::Standard) };
        let expected = [MountOp::EmptyDirectory(tree.path("keys").as_os_str().into())];
        assert_eq!(tree.ops(&plan)[2..], expected);
    }

    #[test]
    fn a_secret_directory_around_the_worktree_stays_visible() {
        let tree = Tree::new();
        let plan = SandboxPlan { secrets: vec![tree.path("")], ..tree.plan(Level::Standard) };
        assert_eq!(tree.ops(&plan).len(), 2);
    }

    #[test]
    fn further_writable_directories_are_mounted_outermost_first() {
        let tree = Tree::new();
        let writable = vec![tree.path("tree/src"), tree.path("keys"), tree.path("missing")];
        let plan = SandboxPlan { writable, ..tree.plan(Level::Standard) };
        assert_eq!(
            tree.ops(&plan)[1..],
            [tree.writable("keys"), tree.writable("tree"), tree.writable("tree/src")]
        );
    }

    #[test]
    fn a_worktree_that_does_not_exist_is_refused() {
        let tree = Tree::new();
        let plan = SandboxPlan { root: tree.path("none"), ..tree.plan(Level::Standard) };
        assert!(of(&plan, &tree.path("tmp")).is_err());
    }
}
