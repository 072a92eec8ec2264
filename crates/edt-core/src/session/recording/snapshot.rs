//! The content of uncommitted and ignored files right before a program runs, so that its changes
//! can be distinguished from the user's and be undone.
//!
//! The copies are in `<git-dir>/edt/snapshot`, readable by their owner only. Each is named by the
//! stat of its file, so that an unchanged file is copied once.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::known_states::{self, ToolCall};
use crate::session::LockedWorkspace;
use crate::session::files::file_copy::{Copy, key_of, stat_at};
use crate::session::private::hidden::FilesBefore;
use crate::session::private::not_kept::{
    MAX_IGNORED_FILE, MAX_IGNORED_TOTAL, NamedPaths, NotKept, NotKeptState,
};
use crate::session::private::private_list;
use edt_git::diff::Untracked;
use edt_git::{Oid, Repo};
use edt_io::disk::{FoundEntry, Parent, Stat};
use edt_io::file::{File, OpenMode};
use edt_io::{failed, fs, lock};
use edt_journal::PrivateBytes;
use edt_types::{RepoPath, Result, Warning};

/// The fewest bytes of a file whose copy is recognised. Smaller ones may be equal without one.
pub(super) const SMALLEST_COPY: usize = 32;

/// The files that differ from a tree, as they were when the snapshot was taken.
#[derive(Debug, Default)]
pub struct Snapshot {
    pub(crate) files: BTreeMap<RepoPath, Option<Copy>>,
    /// Paths whose content could not be kept: too large, too many, or not a regular file.
    pub not_kept: Vec<NotKept>,
    /// The ignored files and directories; a completely ignored directory is one path.
    pub(crate) ignored: Vec<RepoPath>,
    pub(crate) directory: PathBuf,
    /// The manifest of a program's snapshot.
    pub(super) place: Option<PathBuf>,
    /// The manifest, locked while the program runs.
    pub(super) running: Option<File>,
    /// When the snapshot of a program was complete, by the clock of the file system.
    pub(crate) taken: Option<std::time::SystemTime>,
    /// The tree of the session when the snapshot of a program was taken.
    pub tree: Option<Oid>,
    /// The call of a tool that was made, if it is not the snapshot of a program.
    pub(crate) tool: Option<ToolCall>,
    /// HEAD's commit, if a merge or a rebase was in progress when the snapshot was taken.
    pub during_operation: Option<Oid>,
    /// The command of an agent's shell.
    pub(super) command: String,
    /// The directory that it was judged in.
    pub(super) dir: Vec<u8>,
    /// Whether the agent was asked to run another command, which records this one.
    pub(super) wrapped: bool,
    /// Whether others may have changed files meanwhile, too, so that nothing shows who did.
    pub(crate) is_unproved: bool,
    /// The paths of which that is so.
    pub(crate) foreign: BTreeSet<RepoPath>,
    /// The earlier paths of the files that a recorded program moved, by their paths now.
    pub(crate) moved: BTreeMap<RepoPath, RepoPath>,
    /// Whether the program was recorded: it touched no other path.
    pub(crate) is_recorded: bool,
}

impl Snapshot {
    /// Copies every file that differs from `tree`, every untracked file, and small ignored files;
    /// those that the program's command names come first.
    ///
    /// # Errors
    /// `IO_ERROR`, `GIT_DIR_READ_ONLY`.
    pub fn take(repo: &Repo, tree: Oid, named: &NamedPaths) -> Result<Snapshot> {
        let mut snapshot = Snapshot::copied(repo, tree, named)?;
        snapshot.announce()?;
        Ok(snapshot)
    }

    pub(super) fn copied(repo: &Repo, tree: Oid, named: &NamedPaths) -> Result<Snapshot> {
        let during_operation =
            repo.operation().map_or(Ok(None), |_| repo.head().map(|head| head.commit))?;
        let mut snapshot =
            Snapshot { tree: Some(tree), during_operation, ..Snapshot::empty(repo)? };
        private_list::prune(repo, tree)?;
        for path in differing(repo, tree)? {
            snapshot.add(repo, path, repo.max_file_size())?;
        }
        for path in repo.changes_hidden_from_git()? {
            snapshot.add(repo, path, repo.max_file_size())?;
        }
        let mut left = MAX_IGNORED_TOTAL;
        snapshot.ignored = repo.ignored()?;
        snapshot.ignored.sort();
        let mut all = Vec::new();
        for ignored in &snapshot.ignored {
            let (files, others) = named.copied(repo, ignored);
            all.extend(files);
            if others {
                snapshot.not_kept.push(NotKept::directory(ignored.clone()));
            }
        }
        all.sort_by_cached_key(|(path, _)| named.rank(path));
        for (path, size) in all {
            if size > MAX_IGNORED_FILE || size > left {
                snapshot.not_kept.push(NotKept::file(repo, path));
                continue;
            }
            left -= size;
            snapshot.add(repo, path, MAX_IGNORED_FILE)?;
        }
        snapshot.prune();
        Ok(snapshot)
    }

    /// The snapshots of programs that were interrupted together with edt. Those of programs that
    /// still run are not among them. Each is locked, so that no other call handles it, too.
    #[must_use]
    pub fn interrupted(repo: &Repo) -> Vec<Snapshot> {
        let directory = directory(repo);
        let all = fs::files_in(&directory).into_iter();
        let left = all.filter(|path| path.extension().is_some_and(|kind| kind == RUN));
        let snapshot = |manifest: PathBuf| {
            let running = File::open(&manifest, OpenMode::Existing).ok()?;
            if !lock::try_exclusive(&running) || !running.is_at(&manifest) {
                return None;
            }
            let read = RunManifest::read(&manifest)?;
            Some(Snapshot::read(read, directory.clone(), manifest, Some(running)))
        };
        left.filter_map(snapshot).collect()
    }

    /// The snapshot of a manifest at `place`.
    pub(super) fn read(
        manifest: RunManifest,
        directory: PathBuf,
        place: PathBuf,
        running: Option<File>,
    ) -> Snapshot {
        let RunManifest { tree, files, not_kept, ignored, .. } = manifest;
        let RunManifest { during_operation, command, dir, wrapped, .. } = manifest;
        let path = |bytes: Vec<u8>| RepoPath::from_tree(&bytes);
        let oid = |hex: Option<String>| hex.and_then(|hex| Oid::from_hex(hex.as_bytes()).ok());
        let kept = |(bytes, key)| NotKept { path: path(bytes), key };
        Snapshot {
            files: files.into_iter().map(|(bytes, copy)| (path(bytes), copy)).collect(),
            not_kept: not_kept.into_iter().map(kept).collect(),
            tree: oid(tree),
            directory,
            taken: fs::modified(&place),
            place: Some(place),
            running,
            ignored: ignored.into_iter().map(path).collect(),
            during_operation: oid(during_operation),
            command,
            dir,
            wrapped,
            ..Snapshot::default()
        }
    }

    /// Whether a program runs, or was interrupted and not handled yet.
    #[must_use]
    pub fn any_announced(repo: &Repo) -> bool {
        let all = fs::files_in(&directory(repo));
        all.iter().any(|path| path.extension().is_some_and(|kind| kind == RUN))
    }

    /// Writes the manifest of a program's snapshot, and locks it until the snapshot is dropped.
    fn announce(&mut self) -> Result<()> {
        let bytes = self.manifest();
        let mut number = 0;
        let place = loop {
            let name = format!("{}-{number}.{RUN}", edt_io::process::process_id());
            let place = self.directory.join(name);
            if !place.exists() {
                break place;
            }
            number += 1;
        };
        let wrap = |error: std::io::Error| failed("write", &place, &error);
        // Under its name it is always locked, so that no call takes it for an interrupted one.
        let staged = place.with_extension("new");
        fs::write_atomic(&staged, &bytes, 0o600).map_err(wrap)?;
        self.running = Some(File::open(&staged, OpenMode::Existing).map_err(wrap)?);
        let _ = self.running.as_ref().is_some_and(lock::try_exclusive);
        fs::rename(&staged, &place).map_err(wrap)?;
        self.taken = fs::modified(&place);
        self.place = Some(place);
        Ok(())
    }

    /// The bytes of its manifest.
    pub(super) fn manifest(&self) -> Vec<u8> {
        let bytes = |path: &RepoPath| path.as_bytes().to_vec();
        let manifest = RunManifest {
            tree: self.tree.map(|tree| tree.to_string()),
            files: self.files.iter().map(|(path, copy)| (bytes(path), copy.clone())).collect(),
            not_kept: self.not_kept.iter().map(|one| (bytes(&one.path), one.key.clone())).collect(),
            ignored: self.ignored.iter().map(bytes).collect(),
            during_operation: self.during_operation.map(|commit| commit.to_string()),
            command: self.command.clone(),
            dir: self.dir.clone(),
            wrapped: self.wrapped,
        };
        serde_json::to_vec(&manifest).unwrap_or_default()
    }

    pub(crate) fn empty(repo: &Repo) -> Result<Snapshot> {
        let directory = directory(repo);
        fs::make_private_dir(&directory).map_err(|error| failed("make", &directory, &error))?;
        Ok(Snapshot { directory, ..Snapshot::default() })
    }

    /// What Git ignored: files and directories. A completely ignored directory is one path.
    #[must_use]
    pub fn ignored(&self) -> &[RepoPath] {
        &self.ignored
    }

    /// The paths in the snapshot.
    pub fn paths(&self) -> impl Iterator<Item = &RepoPath> {
        self.files.keys()
    }

    /// The paths that may have changed since a program's snapshot was taken.
    pub(crate) fn candidates(&self, repo: &Repo, tree: Oid) -> Result<Vec<RepoPath>> {
        if self.is_recorded {
            return Ok(self.paths().cloned().collect());
        }
        let mut all = differing(repo, tree)?;
        all.extend(self.paths().cloned());
        Ok(all.into_iter().collect())
    }

    /// Whether Git ignored `path` when the snapshot was taken.
    pub(crate) fn was_ignored(&self, path: &RepoPath) -> bool {
        self.ignored_above(path).is_some()
    }

    /// Whether what changed at `path` since is the program's.
    pub(crate) fn proves(&self, path: &RepoPath) -> bool {
        !self.is_unproved && !self.foreign.contains(path)
    }

    /// Whether nobody knows the file at `path` when the snapshot was taken.
    pub(crate) fn is_unknown(&self, path: &RepoPath) -> bool {
        !self.files.contains_key(path)
            && self.not_kept.iter().any(|one| path.is_at_or_below(&one.path))
    }

    /// The ignored file or directory that `path` was or was in.
    pub(crate) fn ignored_above(&self, path: &RepoPath) -> Option<&RepoPath> {
        self.ignored.iter().find(|ignored| path.is_at_or_below(ignored))
    }

    /// The file at `path` when the snapshot was taken. The outer `None`: it is not in the snapshot,
    /// so it was the file of the tree.
    ///
    /// # Errors
    /// `IO_ERROR` if the copy cannot be read.
    pub fn before(&self, path: &RepoPath) -> Result<Option<Option<PrivateBytes>>> {
        let Some(copy) = self.files.get(path) else { return Ok(None) };
        copy.as_ref().map_or(Ok(None), |copy| self.content(copy)).map(Some)
    }

    /// The copied file; `None` for a symbolic link.
    pub(crate) fn content(&self, copy: &Copy) -> Result<Option<PrivateBytes>> {
        let Copy { key, executable, permissions, link: None } = copy else { return Ok(None) };
        let place = self.directory.join(key);
        let read = fs::read_file_limited(&place, u64::MAX);
        let bytes = read.map_err(|error| failed("read", &place, &error))?.unwrap_or_default();
        let (executable, permissions) = (*executable, Some(*permissions));
        Ok(Some(PrivateBytes { executable, permissions, bytes }))
    }

    /// The blob ids of the user's uncommitted and untracked files, as far as they were copied. Files of
    /// a few bytes are left out: they may be equal without a copy.
    ///
    /// # Errors
    /// `IO_ERROR`, `INTERNAL`.
    pub(crate) fn users_blobs(&self, repo: &Repo) -> Result<HashSet<Oid>> {
        let mut ids = HashSet::new();
        for copy in self.files.values().flatten() {
            let content = self.content(copy)?;
            if let Some(file) = content.filter(|file| file.bytes.len() >= SMALLEST_COPY) {
                ids.insert(repo.blob_id(&file.bytes)?);
            }
        }
        if self.is_recorded {
            self.untouched_blobs(repo, &mut ids)?;
        }
        Ok(ids)
    }

    /// Whether the file at `path` is certainly the same as in the snapshot, by its stat.
    #[must_use]
    pub fn is_unchanged(&self, path: &RepoPath, now: Option<&Stat>) -> bool {
        match (self.files.get(path), now) {
            (Some(None), None) => true,
            (Some(Some(copy)), Some(now)) => {
                copy.key == key_of(now) && copy.executable == now.executable() && !is_racy(now)
            }
            _ => false,
        }
    }

    /// Whether the same file, link or directory is still at `path`, by its stat. False for a path
    /// that is not in the snapshot.
    pub(crate) fn is_at(&self, repo: &Repo, path: &RepoPath) -> bool {
        match self.files.get(path) {
            Some(Some(copy)) => copy.is_at(repo, path),
            Some(None) => stat_at(repo, path).is_none(),
            None => self
                .not_kept
                .iter()
                .any(|one| one.path == *path && one.state(repo) == NotKeptState::Same),
        }
    }

    /// A warning for each path of which there is no copy and that the program changed or removed.
    #[must_use]
    pub fn lost(&self, repo: &Repo) -> Vec<Warning> {
        self.not_kept.iter().filter_map(|one| one.lost(repo)).collect()
    }

    /// Ends the snapshot of a program: its changes are recorded, put back or reported.
    pub fn finish(&self) {
        if let Some(place) = &self.place {
            let _ = fs::remove_file(place);
        }
    }

    pub(crate) fn add(&mut self, repo: &Repo, path: RepoPath, most: u64) -> Result<()> {
        let (directory, name) = path.split();
        let wrap =
            |error: std::io::Error| failed("read", &repo.root_path().join(path.text()), &error);
        let parent = match repo.root().beneath(directory).map_err(wrap)? {
            Parent::Open(parent) => parent,
            Parent::Missing => {
                self.files.insert(path, None);
                return Ok(());
            }
            Parent::Symlink | Parent::NotADirectory => {
                self.not_kept.push(NotKept::file(repo, path));
                return Ok(());
            }
        };
        let Some(stat) = parent.stat(name).map_err(wrap)? else {
            self.files.insert(path, None);
            return Ok(());
        };
        if stat.is_symlink() {
            let target = parent.link_target(name).map_err(wrap)?;
            let copy =
                Copy { key: String::new(), executable: false, permissions: 0, link: Some(target) };
            self.files.insert(path, Some(copy));
            return Ok(());
        }
        let place = self.directory.join(key_of(&stat));
        if !place.exists() || is_racy(&stat) {
            match parent.read_at_most(name, most) {
                Ok(FoundEntry::File(read, bytes)) if read.same_content_as(&stat) => {
                    fs::write_atomic(&place, &bytes, 0o600)
                        .map_err(|error| failed("write", &place, &error))?;
                }
                _ => {
                    self.not_kept.push(NotKept::file(repo, path));
                    return Ok(());
                }
            }
        }
        let copy = Copy {
            key: key_of(&stat),
            executable: stat.executable(),
            permissions: stat.mode & 0o777,
            link: None,
        };
        self.files.insert(path, Some(copy));
        Ok(())
    }

    /// Removes the copies that no running or interrupted program and no pending tool call needs.
    /// Later programs make them again.
    pub fn discard_unneeded(workspace: &LockedWorkspace) {
        let directory = directory(&workspace.repo);
        Snapshot { directory, ..Snapshot::default() }.prune();
    }

    /// Removes the copies that neither this snapshot, a running program nor a pending tool call
    /// needs.
    fn prune(&self) {
        let mut needed: BTreeSet<String> =
            self.files.values().flatten().map(|copy| copy.key.clone()).collect();
        let all = fs::files_in(&self.directory);
        for manifest in all.iter().filter(|path| path.extension().is_some()) {
            let of_tool = || known_states::needed_copies(manifest);
            let copies: Vec<Option<Copy>> = RunManifest::read(manifest)
                .map_or_else(of_tool, |run| run.files.into_iter().map(|(_, copy)| copy).collect());
            needed.extend(copies.into_iter().flatten().map(|copy| copy.key));
        }
        for path in all {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if path.extension().is_none() && !needed.contains(name) {
                let _ = fs::remove_file(&path);
            }
        }
    }
}

/// The extension of the manifests of programs.
const RUN: &str = "run";

/// The manifest of a program's snapshot.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RunManifest {
    tree: Option<String>,
    files: Vec<(Vec<u8>, Option<Copy>)>,
    not_kept: Vec<(Vec<u8>, String)>,
    #[serde(default)]
    ignored: Vec<Vec<u8>>,
    #[serde(default)]
    during_operation: Option<String>,
    #[serde(default)]
    command: String,
    #[serde(default)]
    dir: Vec<u8>,
    #[serde(default)]
    wrapped: bool,
}

impl FilesBefore for Snapshot {
    fn existed(&self, path: &RepoPath) -> bool {
        self.tool.is_some()
            || matches!(self.files.get(path), Some(Some(_)))
            || self.is_unknown(path)
    }
}

impl RunManifest {
    pub(super) fn read(place: &std::path::Path) -> Option<RunManifest> {
        serde_json::from_slice(&fs::read_small(place, u64::MAX)?).ok()
    }
}

/// The paths that may differ from `tree` on disk or in the index, without ignored ones.
///
/// # Errors
/// `IO_ERROR`, `OBJECT_MISSING`.
pub fn differing(repo: &Repo, tree: Oid) -> Result<BTreeSet<RepoPath>> {
    let mut all = BTreeSet::new();
    for path in repo.uncommitted(Untracked::Files)? {
        let bytes = path.as_bytes();
        all.insert(RepoPath::from_tree(bytes.strip_suffix(b"/").unwrap_or(bytes)));
    }
    let head =
        repo.head()?.commit.map_or_else(|| Ok(repo.empty_tree()), |commit| repo.tree_of(commit))?;
    all.extend(repo.tree_diff(head, tree)?.into_iter().map(|differs| differs.path));
    Ok(all)
}

/// Whether the file changed so recently that a later change may have the same stat.
fn is_racy(stat: &Stat) -> bool {
    let seconds = edt_io::clock::seconds();
    stat.mtime.0 >= seconds - 2 || stat.ctime.0 >= seconds - 2
}

pub(super) fn directory(repo: &Repo) -> PathBuf {
    repo.state_path().join("snapshot")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{Scratch, path};
    use edt_io::disk::Parent;

    fn scratch() -> Scratch {
        let scratch = Scratch::with(&[("a.txt", "one\n"), ("b.txt", "b\n")]);
        scratch.write(".git/info/exclude", "*.log\n/target/\n");
        scratch
    }

    fn stat(scratch: &Scratch, named: &str) -> Option<Stat> {
        let repo = scratch.repo();
        let path = path(named);
        let (directory, name) = path.split();
        let Parent::Open(parent) = repo.root().beneath(directory).unwrap() else { return None };
        parent.stat(name).unwrap()
    }

    /// The text of a file in the snapshot; the outer `None` if the snapshot does not have the path.
    fn before(snapshot: &Snapshot, named: &str) -> Option<Option<String>> {
        let before = snapshot.before(&path(named)).unwrap()?;
        Some(before.map(|private| String::from_utf8(private.bytes).unwrap()))
    }

    fn text(text: &str) -> Option<Option<String>> {
        Some(Some(text.to_owned()))
    }

    /// Sets the time of a file back, so that its stat is not too new to trust.
    fn age(scratch: &Scratch, named: &str) {
        let file = std::fs::File::options().append(true).open(scratch.root().join(named)).unwrap();
        let seconds = u64::try_from(edt_io::clock::seconds()).unwrap_or_default();
        let hour_ago =
            std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds.saturating_sub(3600));
        file.set_modified(hour_ago).unwrap();
    }

    fn copies(snapshot: &Snapshot) -> usize {
        let all = fs::files_in(&snapshot.directory);
        all.iter().filter(|path| path.extension().is_none()).count()
    }

    #[test]
    fn a_snapshot_has_every_file_that_differs() {
        let scratch = scratch();
        scratch.write("a.txt", "by hand\n");
        scratch.write("dir/new.txt", "new\n");
        scratch.write("x.log", "log\n");
        let snapshot = scratch.snapshot();
        let paths: Vec<String> = snapshot.paths().map(ToString::to_string).collect();
        assert_eq!(paths, ["a.txt", "dir/new.txt", "x.log"]);
        assert_eq!(before(&snapshot, "a.txt"), text("by hand\n"));
        assert_eq!(before(&snapshot, "dir/new.txt"), text("new\n"));
        assert_eq!(before(&snapshot, "x.log"), text("log\n"));
        assert_eq!((before(&snapshot, "b.txt"), snapshot.not_kept.len()), (None, 0));
    }

    #[test]
    fn a_snapshot_keeps_the_content_after_a_change() {
        let scratch = scratch();
        scratch.write("a.txt", "by hand\n");
        let snapshot = scratch.snapshot();
        scratch.write("a.txt", "by program\n");
        assert_eq!(before(&snapshot, "a.txt"), text("by hand\n"));
        scratch.remove("a.txt");
        assert_eq!(before(&snapshot, "a.txt"), text("by hand\n"));
    }

    #[test]
    fn a_removed_file_is_in_the_snapshot_as_no_file() {
        let scratch = scratch();
        scratch.remove("a.txt");
        let snapshot = scratch.snapshot();
        assert_eq!(before(&snapshot, "a.txt"), Some(None));
        assert!(snapshot.is_unchanged(&path("a.txt"), None));
        scratch.write("a.txt", "again\n");
        assert!(!snapshot.is_unchanged(&path("a.txt"), stat(&scratch, "a.txt").as_ref()));
    }

    #[test]
    fn a_file_with_the_same_old_stat_is_unchanged() {
        let scratch = scratch();
        scratch.write("a.txt", "by hand\n");
        let mut snapshot = scratch.snapshot();
        let now = stat(&scratch, "a.txt").unwrap();
        // A file that changed so recently may have changed again.
        assert!(!snapshot.is_unchanged(&path("a.txt"), Some(&now)));
        let aged = |(seconds, nanos)| (seconds - 10, nanos);
        let old = Stat { mtime: aged(now.mtime), ctime: aged(now.ctime), ..now };
        let copy = snapshot.files.get_mut(&path("a.txt")).unwrap().as_mut().unwrap();
        copy.key = key_of(&old);
        assert!(snapshot.is_unchanged(&path("a.txt"), Some(&old)));
        assert!(!snapshot.is_unchanged(&path("a.txt"), Some(&now)));
        assert!(!snapshot.is_unchanged(&path("a.txt"), None));
        assert!(!snapshot.is_unchanged(&path("b.txt"), stat(&scratch, "b.txt").as_ref()));
    }

    #[test]
    fn a_change_of_the_mode_is_a_change() {
        use std::os::unix::fs::PermissionsExt as _;
        let scratch = scratch();
        scratch.write("a.txt", "by hand\n");
        let snapshot = scratch.snapshot();
        let permissions = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(scratch.root().join("a.txt"), permissions).unwrap();
        assert!(!snapshot.is_unchanged(&path("a.txt"), stat(&scratch, "a.txt").as_ref()));
        assert!(!snapshot.before(&path("a.txt")).unwrap().unwrap().unwrap().executable);
    }

    #[test]
    fn copies_are_readable_by_their_owner_only() {
        use std::os::unix::fs::PermissionsExt as _;
        let scratch = scratch();
        scratch.write("x.log", "secret\n");
        let snapshot = scratch.snapshot();
        let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&snapshot.directory), 0o700);
        for copy in fs::files_in(&snapshot.directory) {
            assert_eq!(mode(&copy), 0o600, "{}", copy.display());
        }
    }

    #[test]
    fn an_ignored_directory_with_few_files_is_kept() {
        let scratch = scratch();
        scratch.write("target/deep/a.o", "a");
        let snapshot = scratch.snapshot();
        assert_eq!(before(&snapshot, "target/deep/a.o"), text("a"));
    }

    #[test]
    fn an_unchanged_file_is_copied_once() {
        let scratch = scratch();
        scratch.write("x.log", "log\n");
        age(&scratch, "x.log");
        let first = scratch.snapshot();
        let key = key_of(&stat(&scratch, "x.log").unwrap());
        assert!(first.directory.join(&key).exists());
        assert_eq!((copies(&first), copies(&scratch.snapshot())), (1, 1));
    }

    #[test]
    fn copies_that_nobody_needs_are_removed() {
        let scratch = scratch();
        scratch.write("x.log", "log\n");
        scratch.snapshot().finish();
        scratch.write("x.log", "more log\n");
        let snapshot = scratch.snapshot();
        assert_eq!((copies(&snapshot), before(&snapshot, "x.log")), (1, text("more log\n")));
    }

    #[test]
    fn the_snapshot_of_an_interrupted_program_is_found_until_it_is_finished() {
        let scratch = scratch();
        scratch.write("a.txt", "by hand\n");
        scratch.remove("b.txt");
        let interrupted = || Snapshot::interrupted(&scratch.repo());
        let running = scratch.snapshot();
        assert!(interrupted().is_empty());
        drop(running);
        scratch.write("a.txt", "by program\n");
        let [found] = &interrupted()[..] else { panic!("not found") };
        assert_eq!(before(found, "a.txt"), text("by hand\n"));
        assert_eq!(before(found, "b.txt"), Some(None));
        found.finish();
        assert!(interrupted().is_empty());
    }

    #[test]
    fn a_damaged_manifest_is_no_interrupted_program() {
        let scratch = scratch();
        let snapshot = scratch.snapshot();
        std::fs::write(snapshot.place.as_ref().unwrap(), b"[[").unwrap();
        drop(snapshot);
        assert!(Snapshot::interrupted(&scratch.repo()).is_empty());
    }

    #[test]
    fn the_snapshot_of_a_tool_is_used_up_path_by_path() {
        let scratch = scratch();
        let (a, b, new) = (path("a.txt"), path("b.txt"), path("new.txt"));
        scratch.write("a.txt", "by hand\n");
        let repo = scratch.repo();
        Snapshot::of_paths(&repo, &[a.clone(), new.clone()], &BTreeMap::new()).unwrap();
        scratch.write("a.txt", "by tool\n");
        let all = [a.clone(), b, new];
        let taken = Snapshot::taken_of_paths(&repo, &all, BTreeMap::new()).unwrap();
        assert_eq!(before(&taken, "a.txt"), text("by hand\n"));
        assert_eq!((before(&taken, "b.txt"), before(&taken, "new.txt")), (None, Some(None)));
        let again = Snapshot::taken_of_paths(&repo, &all, BTreeMap::new()).unwrap();
        assert_eq!(again.paths().count(), 0);
    }

    #[test]
    fn a_program_keeps_the_copies_of_a_pending_tool() {
        let scratch = scratch();
        scratch.write("a.txt", "by hand\n");
        let (repo, only) = (scratch.repo(), [path("a.txt")]);
        Snapshot::of_paths(&repo, &only, &BTreeMap::new()).unwrap();
        scratch.write("a.txt", "by tool\n");
        scratch.snapshot().finish();
        let taken = Snapshot::taken_of_paths(&repo, &only, BTreeMap::new()).unwrap();
        assert_eq!(before(&taken, "a.txt"), text("by hand\n"));
    }

    #[test]
    fn a_second_program_keeps_the_copies_of_the_first() {
        let scratch = scratch();
        scratch.write("a.txt", "by hand\n");
        let first = scratch.snapshot();
        scratch.write("a.txt", "by program\n");
        scratch.snapshot().finish();
        assert_eq!(before(&first, "a.txt"), text("by hand\n"));
    }

    #[test]
    fn a_change_right_after_the_snapshot_is_seen() {
        let scratch = scratch();
        scratch.write("a.txt", "0\n");
        for at in 1..200 {
            let snapshot = scratch.snapshot();
            let text = format!("{}\n", at % 10);
            std::fs::write(scratch.root().join("a.txt"), &text).unwrap();
            let now = stat(&scratch, "a.txt");
            assert!(!snapshot.is_unchanged(&path("a.txt"), now.as_ref()), "at {at}");
        }
    }
}
