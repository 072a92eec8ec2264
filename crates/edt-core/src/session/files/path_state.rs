//! The state of a path: in the session's tip, on disk, in the index. Refuses every path that leads
//! out of the worktree.

use super::path_findings::{nested, not_a_file, sparse, symlink, unmerged};
use crate::session::refs::commit::Commit;
use crate::session::refs::current::Session;
use edt_git::convert::StoredForms;
use edt_git::index::IndexState;
use edt_git::{Attributes, FileId, FileMode, Forms, Oid, Repo, Tracked};
use edt_io::disk::{FoundEntry, Parent, Stat};
use edt_io::failed;
use edt_journal::{IndexView, OldFile};
use edt_types::path::PathProblem;
use edt_types::text::Shown as _;
use edt_types::{Code, Finding, RepoPath, Result};

/// The state of a path.
#[derive(Debug, Clone)]
pub struct PathState {
    /// The path.
    pub path: RepoPath,
    /// The file in the session's tip.
    pub tip: Option<FileId>,
    /// The file on disk.
    pub disk: Option<OnDisk>,
    /// The index entry; the tip's file if no index is read.
    pub staged: IndexState,
    /// Whether attributes or settings could make Git convert the file's bytes.
    pub convertible: bool,
    /// Whether Git ignores the path: no rule of the repository may commit it.
    pub ignored: bool,
}

/// A file on disk.
#[derive(Debug, Clone)]
pub struct OnDisk {
    /// The file as Git would record it.
    pub file: FileId,
    /// The blob id of the exact bytes on disk. It differs from `file.oid` if Git converts them.
    pub raw: Oid,
    /// Its `stat` data.
    pub stat: Stat,
    /// Its text.
    pub bytes: Vec<u8>,
    /// Its bytes on disk and in Git, if they differ from `bytes`.
    pub stored: Option<StoredForms>,
    /// Why nothing may be written over it, if Git would check it out with other line endings.
    pub inexact: Option<Box<Finding>>,
}

impl OnDisk {
    /// The expected previous state for a [`edt_journal::FileChange`].
    #[must_use]
    pub fn old(&self) -> OldFile {
        OldFile { file: FileId { oid: self.raw, mode: self.file.mode }, stat: self.stat }
    }

    /// The bytes that Git would record.
    #[must_use]
    pub fn blob(&self) -> &[u8] {
        self.stored.as_ref().map_or(&self.bytes, |stored| &stored.blob)
    }

    /// Its exact bytes on disk.
    #[must_use]
    pub fn exact(&self) -> &[u8] {
        self.stored.as_ref().map_or(&self.bytes, |stored| &stored.disk)
    }

    /// Its size on disk in bytes.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.stat.size
    }

    fn convert(&mut self, repo: &Repo, path: &RepoPath, from: Attributes) -> Result<()> {
        let conversion = repo.conversion(path, from)?;
        let (forms, inexact) = conversion.of_written(std::mem::take(&mut self.bytes))?;
        self.inexact = inexact.map(Box::new);
        if let Some(stored) = &forms.stored {
            self.file.oid = repo.blob_id(&stored.blob)?;
        }
        (self.bytes, self.stored) = (forms.text, forms.stored);
        Ok(())
    }
}

impl PathState {
    /// Reads the state of `path`.
    ///
    /// # Errors
    /// `PATH_IN_GIT_DIR`, `PATH_THROUGH_SYMLINK`, `PATH_OUTSIDE_REPO` (nested repository,
    /// submodule), `NOT_A_FILE`, `FILE_TOO_LARGE`, `UNSUPPORTED_REPOSITORY` (Git would not check
    /// out the same bytes), `IO_ERROR`, `OBJECT_MISSING`; errors of a filter.
    pub fn at(
        repo: &Repo,
        tip_tree: Oid,
        index: Option<&IndexView>,
        path: &RepoPath,
    ) -> Result<PathState> {
        PathState::to_record(repo, tip_tree, index, path)?.exact()
    }

    /// As [`PathState::at`], also for a file that Git would check out with other line endings, as
    /// `git add` records it. What replaces a file that is on disk as Git records it is written in
    /// that form.
    ///
    /// # Errors
    /// As [`PathState::at`].
    pub fn to_record(
        repo: &Repo,
        tip_tree: Oid,
        index: Option<&IndexView>,
        path: &RepoPath,
    ) -> Result<PathState> {
        let state = PathState::read(repo, tip_tree, index, path)?;
        match state.staged {
            IndexState::Unmerged => Err(unmerged(path).into()),
            _ => Ok(state),
        }
    }

    /// As [`PathState::at`] for a file that is only read, whatever a session has at the path.
    ///
    /// # Errors
    /// As [`PathState::at`].
    pub fn on_disk(repo: &Repo, path: &RepoPath) -> Result<PathState> {
        let tree = repo.empty_tree();
        match PathState::at(repo, tree, None, path) {
            // A tracked file is this repository's, even below another one.
            Err(found) if found.any(|one| one.code == Code::PathOutsideRepo) => {
                PathState::with_conflicts(repo, tree, Some(&IndexView::read(repo)?), path)
            }
            state => state,
        }
    }

    /// As [`PathState::at`], also for a path with a merge conflict.
    ///
    /// # Errors
    /// As [`PathState::at`].
    pub fn with_conflicts(
        repo: &Repo,
        tip_tree: Oid,
        index: Option<&IndexView>,
        path: &RepoPath,
    ) -> Result<PathState> {
        PathState::read(repo, tip_tree, index, path)?.exact()
    }

    /// The state, unless Git would check out other bytes than those on disk.
    fn exact(self) -> Result<PathState> {
        match self.disk.as_ref().and_then(|disk| disk.inexact.as_deref()) {
            Some(inexact) => Err(inexact.clone().into()),
            None => Ok(self),
        }
    }

    /// Whether the file on disk has the form in which Git records it, and not that of a checkout.
    fn keeps_form(&self) -> bool {
        let inexact = self.disk.as_ref().filter(|disk| disk.inexact.is_some());
        inexact.is_some_and(|disk| disk.exact() == disk.blob())
    }

    /// The state of a file that may be replaced by what Git checks out, because a commit keeps what
    /// the program wrote.
    pub(crate) fn replaceable(mut self) -> PathState {
        let keeps = self.keeps_form();
        if let Some(disk) = self.disk.as_mut().filter(|_| !keeps) {
            disk.inexact = None;
        }
        self
    }

    fn read(
        repo: &Repo,
        tip_tree: Oid,
        index: Option<&IndexView>,
        path: &RepoPath,
    ) -> Result<PathState> {
        if let Some(checkout_problem) = path.checkout_problem() {
            return Err(checkout_problem.finding(path.as_bytes()).into());
        }
        let tip = match repo.tracked(tip_tree, path)? {
            Tracked::Nothing => None,
            Tracked::Directory => {
                return Err(not_a_file(path, "the session has files below it").into());
            }
            Tracked::BelowFile => {
                return Err(not_a_file(
                    path,
                    "the session has a file in place of one of its parent directories",
                )
                .into());
            }
            Tracked::File(file) => Some(file),
            Tracked::Symlink => return Err(symlink(repo, path).into()),
            Tracked::Submodule => return Err(nested(path, "a submodule").into()),
        };
        let staged = match index {
            Some(index) => index.staged(repo, path)?,
            None => tip.map_or(IndexState::Nothing, IndexState::File),
        };
        let tracked = tip.is_some() || matches!(staged, IndexState::File(_));
        let mut disk = on_disk(repo, path, tracked)?;
        let convertible = repo.may_convert(path, |attributes| match index {
            Some(index) => {
                index.staged(repo, attributes).map(|staged| staged != IndexState::Nothing)
            }
            None => repo.tree_contains(tip_tree, attributes),
        })?;
        if let Some(disk) = disk.as_mut().filter(|_| convertible) {
            disk.convert(repo, path, Attributes::Worktree(tip_tree))?;
        }
        if tip.is_none() && repo.ignores_case() {
            let existing = match index.and_then(|index| index.case_collision(path)) {
                None => repo.case_collision(tip_tree, path)?,
                existing => existing,
            };
            if let Some(existing) = existing {
                return Err(case_collision_finding(path, &existing).into());
            }
        }
        let untracked = tip.is_none() && staged == IndexState::Nothing;
        let ignored = untracked && repo.is_excluded(path)?;
        if staged == IndexState::Other {
            return Err(unmerged(path).into());
        }
        let not_checked_out = match (&disk, tip, index) {
            (None, Some(_), Some(index)) => index.is_skipped(repo, path)?,
            (None, Some(_), None) => IndexView::read(repo)?.is_skipped(repo, path)?,
            _ => false,
        };
        if not_checked_out {
            return Err(sparse(path).into());
        }
        if let Some(disk) = disk.as_mut().filter(|_| !repo.honors_file_mode()) {
            disk.file.mode = match (tip, staged) {
                (Some(file), _) | (None, IndexState::File(file)) => file.mode,
                _ => FileMode::Plain,
            };
        }
        Ok(PathState { path: path.clone(), tip, disk, staged, convertible, ignored })
    }

    /// Converts `text`, the new content of this path, to its forms on disk and in Git.
    ///
    /// # Errors
    /// `UNSUPPORTED_REPOSITORY` if it does not survive a round trip through Git; errors of a
    /// filter.
    pub fn of_text(&self, repo: &Repo, tip_tree: Oid, text: Vec<u8>) -> Result<Forms> {
        if !self.convertible {
            return Ok(Forms::plain(text));
        }
        repo.conversion(&self.path, Attributes::Worktree(tip_tree))?.of_text(text)
    }

    /// Converts the recorded `blob` to the form that Git would check out here.
    ///
    /// # Errors
    /// `OBJECT_MISSING`, `UNSUPPORTED_REPOSITORY`; errors of a filter.
    pub fn checked_out(&self, repo: &Repo, from: Attributes, blob: Vec<u8>) -> Result<Forms> {
        let converts = match from {
            Attributes::Worktree(_) => self.convertible,
            Attributes::Tree(tree) => {
                self.convertible
                    || repo.may_convert(&self.path, |attributes| {
                        repo.tree_contains(tree, attributes)
                    })?
            }
        };
        if !converts || self.keeps_form() {
            return Ok(Forms::plain(blob));
        }
        if let Some(inexact) = self.disk.as_ref().and_then(|disk| disk.inexact.as_deref()) {
            return Err(inexact.clone().into());
        }
        repo.conversion(&self.path, from)?.of_blob(blob)
    }

    /// Whether both the file on disk and the index entry are in `known`, so that overwriting loses
    /// nothing.
    #[must_use]
    pub fn is_known(&self, known: &[Option<FileId>]) -> bool {
        self.is_staged_known(known) && known.contains(&self.disk_file())
    }

    /// Whether the index entry is in `known`.
    #[must_use]
    pub fn is_staged_known(&self, known: &[Option<FileId>]) -> bool {
        match self.staged {
            IndexState::File(file) => known.contains(&Some(file)),
            // A file that was removed from the index but not from disk: somebody means to delete
            // it.
            IndexState::Nothing => self.tip.is_none() || self.disk.is_none(),
            IndexState::IntentToAdd | IndexState::Other | IndexState::Unmerged => true,
        }
    }

    /// Whether there is no file: not in the session's tip, not on disk, not in the index.
    #[must_use]
    pub fn is_nowhere(&self) -> bool {
        self.tip.is_none() && self.disk.is_none() && self.staged == IndexState::Nothing
    }

    /// Whether the staged content is neither on disk nor in the session's tip.
    #[must_use]
    pub fn has_unique_staged(&self) -> bool {
        matches!(self.staged, IndexState::File(file) if Some(file) != self.tip && Some(file) != self.disk_file())
    }

    /// The file on disk, as Git would record it.
    #[must_use]
    pub fn disk_file(&self) -> Option<FileId> {
        self.disk.as_ref().map(|disk| disk.file)
    }
}

/// A file in the worktree, read up to a limit.
#[derive(Debug)]
pub enum OnDiskFile {
    /// Its bytes.
    Bytes(Vec<u8>),
    /// It is larger than the limit.
    TooLarge,
}

/// The bytes of the file at `path`, if they are at most `most`; `None` if there is no file.
///
/// # Errors
/// `PATH_THROUGH_SYMLINK`, `PATH_OUTSIDE_REPO`, `PATH_IN_GIT_DIR`, `NOT_A_FILE`, `IO_ERROR`.
pub fn file_on_disk(repo: &Repo, path: &RepoPath, most: u64) -> Result<Option<OnDiskFile>> {
    let wrap = |error: std::io::Error| failed("read", &repo.root_path().join(path.text()), &error);
    let (dir_path, name) = path.split();
    let Parent::Open(dir) = repo.root().beneath(dir_path).map_err(wrap)? else { return Ok(None) };
    check_not_nested(repo, path, false)?;
    match dir.read_at_most(name, most).map_err(wrap)? {
        FoundEntry::File(_, bytes) => Ok(Some(OnDiskFile::Bytes(bytes))),
        FoundEntry::TooLarge(_) => Ok(Some(OnDiskFile::TooLarge)),
        FoundEntry::Symlink => Err(symlink(repo, path).into()),
        FoundEntry::Directory => Err(not_a_file(path, "it is a directory").into()),
        FoundEntry::Special => Err(not_a_file(path, "it is a FIFO, a socket or a device").into()),
        FoundEntry::Nothing => Ok(None),
    }
}

/// A file's bytes or a link's target at `path`, and whether the file is executable. `None` if there
/// is neither, it cannot be read, or it is larger than edt records.
#[must_use]
pub fn read_raw(repo: &Repo, path: &RepoPath) -> Option<(Vec<u8>, bool)> {
    let (dir_path, name) = path.split();
    let Ok(Parent::Open(dir)) = repo.root().beneath(dir_path) else { return None };
    match dir.read_at_most(name, repo.max_file_size()).ok()? {
        FoundEntry::File(stat, bytes) => Some((bytes, stat.executable())),
        FoundEntry::Symlink => Some((dir.link_target(name).ok()?, false)),
        FoundEntry::TooLarge(_)
        | FoundEntry::Directory
        | FoundEntry::Special
        | FoundEntry::Nothing => None,
    }
}

fn on_disk(repo: &Repo, path: &RepoPath, tracked: bool) -> Result<Option<OnDisk>> {
    let full = || repo.root_path().join(path.text());
    let wrap = |error: std::io::Error| failed("read", &full(), &error);
    let (dir_path, name) = path.split();
    let dir = match repo.root().beneath(dir_path).map_err(wrap)? {
        Parent::Open(dir) => dir,
        Parent::Missing => return check_parents(repo, path, tracked).map(|()| None),
        Parent::Symlink => return Err(symlink(repo, path).into()),
        Parent::NotADirectory => {
            return Err(not_a_file(path, "one of its parents is a file, not a directory").into());
        }
    };
    check_not_nested(repo, path, tracked)?;
    match dir.read_at_most(name, repo.max_file_size()).map_err(wrap)? {
        FoundEntry::Nothing => Ok(None),
        FoundEntry::File(stat, bytes) => {
            let raw = repo.blob_id(&bytes)?;
            let file = FileId { oid: raw, mode: FileMode::of(stat.executable()) };
            Ok(Some(OnDisk { file, raw, stat, bytes, stored: None, inexact: None }))
        }
        FoundEntry::TooLarge(size) => Err(too_large(path, size, repo.max_file_size()).into()),
        FoundEntry::Symlink => Err(symlink(repo, path).into()),
        FoundEntry::Directory => Err(not_a_file(path, "it is a directory").into()),
        FoundEntry::Special => Err(not_a_file(path, "it is a FIFO, a socket or a device").into()),
    }
}

/// A parent directory is missing. The directories above it must still be ordinary ones.
fn check_parents(repo: &Repo, path: &RepoPath, tracked: bool) -> Result<()> {
    let wrap = |error: std::io::Error| failed("read", &repo.root_path().join(path.text()), &error);
    for dir_path in path.parents() {
        match repo.root().beneath(dir_path).map_err(wrap)? {
            Parent::Open(_) => {}
            Parent::Missing => break,
            Parent::Symlink => return Err(symlink(repo, path).into()),
            Parent::NotADirectory => {
                return Err(
                    not_a_file(path, "one of its parents is a file, not a directory").into()
                );
            }
        }
    }
    check_not_nested(repo, path, tracked)
}

/// Refuses an untracked path in a Git directory, or in another repository. A tracked path belongs
/// to this repository, whatever appears in its parent directories: Git takes it so, too.
fn check_not_nested(repo: &Repo, path: &RepoPath, tracked: bool) -> Result<()> {
    if tracked && repo.is_named_dot_git() {
        return Ok(());
    }
    for dir_path in path.parents() {
        // The directories above were no links, so that the whole path leads to no other place.
        let stat = match repo.root().stat(dir_path) {
            Ok(Some(stat)) if stat.is_directory() => stat,
            _ => return Ok(()),
        };
        if repo.is_git_dir(dir_path, &stat) {
            return Err(PathProblem::GitDir.finding(path.as_bytes()).into());
        }
        if !matches!(repo.root().stat(&[dir_path, b"/.git"].concat()), Ok(None)) {
            if repo.is_named_dot_git() && was_tracked(repo, path) {
                return Ok(());
            }
            return Err(nested(
                path,
                &format!("another repository, {}", String::from_utf8_lossy(dir_path).shown()),
            )
            .into());
        }
    }
    Ok(())
}

/// Whether the session removed the file: its base has it, or the commit before the tip.
fn was_tracked(repo: &Repo, path: &RepoPath) -> bool {
    let has = |commit: Oid| {
        let tree = repo.tree_of(commit).ok()?;
        Some(matches!(repo.tracked(tree, path).ok()?, Tracked::File(_)))
    };
    let session = repo.head().and_then(|head| Session::current(repo, &head));
    let Ok(Some(session)) = session else { return false };
    let parent = Commit::read(repo, session.tip).ok().and_then(|tip| tip.parent);
    [Some(session.base), parent].into_iter().flatten().any(|commit| has(commit) == Some(true))
}

/// The refusal of content or a file of `size` bytes where `most` are allowed.
#[must_use]
pub fn too_large(path: &RepoPath, size: u64, most: u64) -> Finding {
    Finding::new(
        Code::FileTooLarge,
        format!("{path} has {size} bytes; edt edits files of at most {most}."),
        "Change it outside edt, then record it with Git.",
    )
    .at(path)
    .with("bytes", size)
    .with("limit", most)
}

/// The refusal of a new path that differs only in case from an existing one.
#[must_use]
pub fn case_collision_finding(path: &RepoPath, existing: &RepoPath) -> Finding {
    Finding::new(
        Code::FileExists,
        format!(
            "{path} differs only in case from {existing}, and this repository treats both as one \
             name (core.ignoreCase)."
        ),
        format!(
            "Use the name {existing}. To change the case of a name, ask the user to run `git \
            mv`."
        ),
    )
    .nothing_changed()
    .at(path)
    .with("exists", existing.text())
}

/// The refusal to change a link or a submodule.
#[must_use]
pub fn unsupported_kind(path: &RepoPath) -> Finding {
    Finding::new(
        Code::NotAFile,
        format!(
            "{path} is a symbolic link or a submodule before or after the move, and edt does not \
             change those."
        ),
        "The user can move the branch with `git reset --keep`, or switch with `git switch`.",
    )
    .at(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{Scratch, path, refusal};
    use std::os::unix::fs::symlink;

    fn scratch() -> Scratch {
        Scratch::with(&[("a.txt", "one\n"), ("dir/b.txt", "b\n")])
    }

    fn state(scratch: &Scratch, named: &str) -> Result<PathState> {
        let (repo, head) = (scratch.repo(), scratch.head());
        let index = IndexView::read(&repo)?;
        PathState::at(
            &repo,
            repo.tree_of(head)?,
            Some(&index),
            &RepoPath::from_tree(named.as_bytes()),
        )
    }

    /// The finding that edt has for `named`.
    #[track_caller]
    fn refused(scratch: &Scratch, named: &str, code: Code, summary: &str, remedy: &str) {
        let finding = refusal(state(scratch, named));
        assert_eq!((finding.code, finding.path.as_deref()), (code, Some(named)));
        assert_eq!((finding.summary.as_str(), finding.remedy.as_str()), (summary, remedy));
    }

    const FILES: &str = "Name a regular file; `edt status` and `git ls-files` list them.";

    #[test]
    fn a_tracked_file_is_equal_in_tip_index_and_worktree() {
        let state = state(&scratch(), "a.txt").unwrap();
        assert!(state.tip.is_some());
        assert_eq!(
            (state.disk_file(), state.staged),
            (state.tip, IndexState::File(state.tip.unwrap()))
        );
        assert!(!state.convertible && !state.has_unique_staged());
    }

    #[test]
    fn a_new_path_is_in_none_of_them() {
        let state = state(&scratch(), "x/new.txt").unwrap();
        assert_eq!((state.tip, state.disk_file(), state.staged), (None, None, IndexState::Nothing));
    }

    #[test]
    fn a_directory_with_files_of_the_session_is_not_a_file() {
        refused(
            &scratch(),
            "dir",
            Code::NotAFile,
            "dir cannot be edited: the session has files below it.",
            FILES,
        );
    }

    #[test]
    fn a_path_below_a_file_of_the_session_is_not_a_file() {
        refused(
            &scratch(),
            "a.txt/x",
            Code::NotAFile,
            "a.txt/x cannot be edited: the session has a file in place of one of its parent \
             directories.",
            FILES,
        );
    }

    #[test]
    fn a_directory_on_disk_is_not_a_file() {
        let scratch = scratch();
        scratch.write("other/x.txt", "x\n");
        refused(
            &scratch,
            "other",
            Code::NotAFile,
            "other cannot be edited: it is a directory.",
            FILES,
        );
    }

    #[test]
    fn a_path_below_a_file_on_disk_is_not_a_file() {
        let scratch = scratch();
        scratch.write("plain", "x\n");
        refused(
            &scratch,
            "plain/x",
            Code::NotAFile,
            "plain/x cannot be edited: one of its parents is a file, not a directory.",
            FILES,
        );
    }

    #[test]
    fn a_link_is_not_followed() {
        let scratch = scratch();
        symlink("a.txt", scratch.root().join("link")).unwrap();
        refused(
            &scratch,
            "link",
            Code::PathThroughSymlink,
            "link is a symbolic link or goes through one.",
            "Send its own path: a.txt.",
        );
        symlink("/etc/hostname", scratch.root().join("out")).unwrap();
        let remedy = "It leads to no other file of this worktree: ask the user to change it.";
        assert_eq!(refusal(state(&scratch, "out")).remedy, remedy);
    }

    #[test]
    fn a_link_in_place_of_a_directory_is_not_followed() {
        let scratch = scratch();
        symlink("dir", scratch.root().join("also")).unwrap();
        assert_eq!(refusal(state(&scratch, "also/b.txt")).code, Code::PathThroughSymlink);
        assert_eq!(refusal(state(&scratch, "also/new/x")).code, Code::PathThroughSymlink);
    }

    #[test]
    fn another_repository_in_the_worktree_is_outside() {
        let scratch = scratch();
        scratch.write("sub/.git", "gitdir: /nowhere\n");
        refused(
            &scratch,
            "sub/x.txt",
            Code::PathOutsideRepo,
            "sub/x.txt lies in another repository, sub, which has its own history.",
            "Run edt in that repository instead (`edt -C DIR …`).",
        );
    }

    #[test]
    fn a_bare_repository_in_the_worktree_is_a_git_directory() {
        let scratch = scratch();
        scratch.write("bare/HEAD", "ref: refs/heads/main\n");
        scratch.write("bare/objects/x", "");
        scratch.write("bare/refs/x", "");
        assert_eq!(refusal(state(&scratch, "bare/config")).code, Code::PathInGitDir);
    }

    #[test]
    fn a_path_that_git_would_not_check_out_is_refused() {
        assert_eq!(refusal(state(&scratch(), ".git/config")).code, Code::PathInGitDir);
        assert_eq!(refusal(state(&scratch(), "a/../b")).code, Code::PathOutsideRepo);
    }

    #[test]
    fn a_file_above_the_limit_is_refused_with_both_sizes() {
        let scratch = scratch();
        let (repo, head) = (scratch.repo(), scratch.head());
        repo.set_max_file_size(3);
        let found = PathState::at(&repo, repo.tree_of(head).unwrap(), None, &path("a.txt"));
        let finding = Finding::new(
            Code::FileTooLarge,
            "a.txt has 4 bytes; edt edits files of at most 3.",
            "Change it outside edt, then record it with Git.",
        );
        let finding = finding.at(&path("a.txt")).with("bytes", 4).with("limit", 3);
        assert_eq!(refusal(found), finding);
    }

    #[test]
    fn a_name_that_differs_only_in_case_is_refused_where_case_is_ignored() {
        let scratch = scratch();
        let config = scratch.text(".git/config").unwrap();
        scratch.write(".git/config", &config.replace("[core]\n", "[core]\n\tignoreCase = true\n"));
        let finding = case_collision_finding(&path("A.TXT"), &path("a.txt"));
        assert_eq!(refusal(state(&scratch, "A.TXT")), finding);
        assert_eq!(finding.evidence["exists"], "a.txt");
    }

    #[test]
    fn an_executable_file_keeps_its_mode() {
        use std::os::unix::fs::PermissionsExt as _;
        let scratch = scratch();
        let file = scratch.root().join("a.txt");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        let disk = state(&scratch, "a.txt").unwrap().disk.unwrap();
        assert_eq!((disk.file.mode, disk.size()), (FileMode::Executable, 4));
    }

    #[test]
    fn the_mode_of_the_tip_counts_where_modes_are_ignored() {
        use std::os::unix::fs::PermissionsExt as _;
        let scratch = scratch();
        let config = scratch.text(".git/config").unwrap();
        scratch.write(".git/config", &config.replace("filemode = true", "filemode = false"));
        let file = scratch.root().join("a.txt");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(state(&scratch, "a.txt").unwrap().disk.unwrap().file.mode, FileMode::Plain);
    }

    /// A state with these files in the tip, on disk and in the index.
    fn with(scratch: &Scratch, tip: bool, disk: &str, staged: IndexState) -> PathState {
        scratch.write("a.txt", disk);
        let found = state(scratch, "a.txt").unwrap();
        PathState { tip: found.tip.filter(|_| tip), staged, ..found }
    }

    #[test]
    fn staged_content_that_is_nowhere_else_is_unique() {
        let scratch = scratch();
        let oid = scratch.repo().blob_id(b"staged\n").unwrap();
        let staged = IndexState::File(FileId { oid, mode: FileMode::Plain });
        assert!(with(&scratch, true, "two\n", staged).has_unique_staged());
        assert!(!with(&scratch, true, "staged\n", staged).has_unique_staged());
    }

    #[test]
    fn a_file_is_known_only_if_disk_and_index_are() {
        let scratch = scratch();
        let file = |text: &[u8]| {
            Some(FileId { oid: scratch.repo().blob_id(text).unwrap(), mode: FileMode::Plain })
        };
        let (one, two) = (file(b"one\n"), file(b"two\n"));
        let changed = with(&scratch, true, "two\n", IndexState::File(one.unwrap()));
        assert!(changed.is_known(&[one, two]) && changed.is_staged_known(&[one]));
        assert!(!changed.is_known(&[one]) && !changed.is_known(&[two]));
    }

    #[test]
    fn a_file_that_was_removed_from_the_index_alone_is_not_known() {
        let scratch = scratch();
        assert!(!with(&scratch, true, "one\n", IndexState::Nothing).is_staged_known(&[]));
        assert!(with(&scratch, false, "one\n", IndexState::Nothing).is_staged_known(&[]));
    }

    #[test]
    fn a_file_is_read_up_to_the_limit_of_the_caller() {
        let repo = scratch();
        let read = |most: u64| file_on_disk(&repo.repo(), &path("a.txt"), most).unwrap();
        assert!(matches!(read(4), Some(OnDiskFile::Bytes(bytes)) if bytes == b"one\n"));
        assert!(matches!(read(3), Some(OnDiskFile::TooLarge)));
    }

    #[test]
    fn a_raw_link_is_read_as_its_target() {
        let scratch = scratch();
        symlink("a.txt", scratch.root().join("link")).unwrap();
        let repo = scratch.repo();
        assert_eq!(read_raw(&repo, &path("link")), Some((b"a.txt".to_vec(), false)));
        assert_eq!(read_raw(&repo, &path("dir")), None);
    }
}
