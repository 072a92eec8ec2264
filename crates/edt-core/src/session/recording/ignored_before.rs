//! The private files before a program, to find them again after it.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use super::snapshot::{self, Snapshot};
use crate::session::files::file_copy::{Copy, key_of, stat_at};
use crate::session::files::path_state::PathState;
use crate::session::private::hidden::{Hidden, is_new};
use crate::session::private::not_kept;
use crate::session::private::private_list;
use crate::session::refs::current::{self, Session};
use edt_git::{Repo, Tracked};
use edt_io::disk::{FoundEntry, MAX_FILE, Parent};
use edt_io::fs;
use edt_journal::IndexView;
use edt_types::{Code, Finding, RepoPath, Result, Warning, WarningCode};

/// The least bytes of a file that is recognised as a copy while its source is still there. Less
/// may be equal without a copy: `{}`, or one usual line.
const MIN_COPY: u64 = 32;
/// The most files of an ignored directory among which the source of a copy is searched. A larger
/// one is build output or dependencies.
const MAX_SEARCHED: usize = 5_000;
/// The evidence of a refusal that names the earlier path of a moved private file.
pub const MOVED_FROM: &str = "moved_from";
/// A private file that a program moved onto a file of another kind.
struct Overwritten<'a> {
    source: &'a RepoPath,
    path: RepoPath,
    is_tracked: bool,
}

/// The private files before a program, to find them again after it.
pub struct IgnoredBefore<'a> {
    snapshot: &'a Snapshot,
    hidden: Hidden<'a>,
    /// The copies of files, by their size.
    copies: BTreeMap<u64, Vec<(&'a RepoPath, &'a Copy)>>,
    /// The keys and paths of all files, by device and inode.
    inodes: BTreeMap<&'a str, Vec<(&'a str, &'a RepoPath)>>,
    /// The private files that a recorded program did not touch, by their size.
    untouched: OnceCell<BTreeMap<u64, Vec<RepoPath>>>,
    /// What was found.
    found: RefCell<BTreeSet<RepoPath>>,
    overwritten: RefCell<Vec<Overwritten<'a>>>,
}

impl<'a> IgnoredBefore<'a> {
    #[must_use]
    pub fn of(
        repo: &'a Repo,
        session: Option<&'a Session>,
        snapshot: &'a Snapshot,
    ) -> IgnoredBefore<'a> {
        let mut copies: BTreeMap<u64, Vec<(&RepoPath, &Copy)>> = BTreeMap::new();
        for (path, copy) in &snapshot.files {
            let Some(copy) = copy else { continue };
            let size = if snapshot.is_recorded {
                fs::size(&snapshot.directory.join(&copy.key))
            } else {
                let size = copy.key.split('-').nth(2);
                size.and_then(|size| u64::from_str_radix(size, 16).ok())
            };
            if let Some(size) = size.filter(|size| *size > 0) {
                copies.entry(size).or_default().push((path, copy));
            }
        }
        let mut inodes: BTreeMap<&str, Vec<(&str, &RepoPath)>> = BTreeMap::new();
        let copied =
            |(path, copy): (&'a RepoPath, &'a Option<Copy>)| Some((&copy.as_ref()?.key, path));
        let copied = snapshot.files.iter().filter_map(copied);
        for (key, path) in copied.chain(snapshot.not_kept.iter().map(|one| (&one.key, &one.path))) {
            if let Some(inode) = inode_of(key) {
                inodes.entry(inode).or_default().push((key, path));
            }
        }
        let hidden = Hidden::of(repo, session);
        let (found, overwritten) = (RefCell::default(), RefCell::default());
        let untouched = OnceCell::new();
        IgnoredBefore { snapshot, hidden, copies, inodes, untouched, found, overwritten }
    }

    /// Marks the file of `state` as ignored if it was, or if it is a copy of a file that was.
    /// Returns a warning for a file that Git does not ignore now. `None` for a file that nobody can
    /// compare, because it was not copied.
    ///
    /// # Errors
    /// `OBJECT_MISSING`, `IO_ERROR`.
    pub fn mark(&self, state: &mut PathState) -> Result<Option<Option<Warning>>> {
        if let Some(source) = self.moved_onto(state)? {
            let (path, is_tracked) = (state.path.clone(), !is_new(state));
            self.overwritten.borrow_mut().push(Overwritten { source, path, is_tracked });
            // No commit may have its bytes, not even one of refused changes.
            state.ignored = true;
            return Ok(Some(None));
        }
        if !is_new(state) {
            return Ok(Some(None));
        }
        let path = &state.path;
        let is_unknown = self.snapshot.is_unknown(path);
        if state.ignored {
            return Ok((!is_unknown).then_some(None));
        }
        let (why, listed) = if let Some(ignored) = self.snapshot.ignored_above(path) {
            ("Git ignored it before the program ran".to_owned(), ignored)
        } else if self.copied_file(path).is_some() {
            return Ok(Some(None));
        } else if let Some(source) = self.source_of(state)? {
            let source = source.quoted();
            (format!("it has the content of {source}, which is in no commit, either"), path)
        } else {
            return Ok((!is_unknown).then_some(None));
        };
        if state.disk.is_some() {
            self.found.borrow_mut().insert(listed.clone());
        }
        if is_unknown {
            return Ok(None);
        }
        let message = format!(
            "This file is in no commit: {why}. If it belongs in one, let the user add it (`git \
             add`)."
        );
        let path = Some(path.text());
        state.ignored = true;
        let warning = Warning { code: WarningCode::StaysPrivate, path, message };
        Ok(Some(state.disk.is_some().then_some(warning)))
    }

    /// Why the changes must be rolled back: a private file is where a commit would have it.
    #[must_use]
    pub fn refusals(&self) -> Vec<Finding> {
        let refusal = |Overwritten { source, path, is_tracked }: &Overwritten<'_>| {
            let what =
                if *is_tracked { "which Git tracks" } else { "an untracked file of the user" };
            Finding::new(
                Code::ProtectedPath,
                format!("The program moved {source}, a private file, onto {path}, {what}."),
                format!(
                    "Leave {source} where it is. If its content may be committed, copy it: `cp {} {}`. \
                     Everything else is the user's decision.",
                    source.for_shell(),
                    path.for_shell()
                ),
            )
            .at(path)
            .with(MOVED_FROM, source.to_string())
        };
        self.overwritten.borrow().iter().map(refusal).collect()
    }

    /// The private file that is at the path of `state` now, if there is no copy of it.
    ///
    /// # Errors
    /// `OBJECT_MISSING`, `IO_ERROR`.
    pub fn moved_without_copy(&self, state: &PathState) -> Result<Option<&'a RepoPath>> {
        let is_private = state.ignored && self.snapshot.tool.is_none();
        let source = if is_private { self.same_file(state)? } else { None };
        let source = source.map(|(_, source)| source);
        Ok(source.filter(|source| self.copied_file(source).is_none()))
    }

    /// Writes what was found to the list of the worktree.
    ///
    /// # Errors
    /// `IO_ERROR`, `GIT_DIR_READ_ONLY`.
    pub fn list(&self) -> Result<()> {
        private_list::add(self.hidden.repo, &self.found.borrow())
    }

    /// The private file that was moved or copied to the path of `state`.
    fn source_of(&self, state: &PathState) -> Result<Option<&RepoPath>> {
        let Some(disk) = &state.disk else { return Ok(None) };
        if let Some((_, source)) = self.same_file(state)? {
            return Ok(Some(source));
        }
        let size = disk.stat.size;
        let is_copy = |source: &RepoPath, copy: &Copy| {
            let place = self.snapshot.directory.join(&copy.key);
            (size >= MIN_COPY || stat_at(self.hidden.repo, source).is_none())
                && fs::read_small(&place, size).is_some_and(|bytes| bytes == disk.exact())
        };
        for (source, copy) in self.copies.get(&size).into_iter().flatten() {
            if is_copy(source, copy) && self.is_private(source)? {
                return Ok(Some(source));
            }
        }
        if self.snapshot.is_recorded && size >= MIN_COPY {
            let same = self.untouched()?.get(&size).into_iter().flatten();
            return Ok(same.filter(|source| **source != state.path).find(|source| {
                file_bytes(self.hidden.repo, source) == Some(disk.exact().to_vec())
            }));
        }
        Ok(None)
    }

    /// The private files that a recorded program did not touch, by their size, up to
    /// [`MAX_SEARCHED`] of each ignored directory.
    fn untouched(&self) -> Result<&BTreeMap<u64, Vec<RepoPath>>> {
        if let Some(known) = self.untouched.get() {
            return Ok(known);
        }
        let repo = self.hidden.repo;
        let mut paths = Vec::new();
        for ignored in repo.ignored()? {
            let files = not_kept::files_up_to(repo, &ignored, MAX_SEARCHED).unwrap_or_default();
            paths.extend(files.into_iter().map(|(path, _)| path));
        }
        let tree = self.snapshot.tree.unwrap_or_else(|| repo.empty_tree());
        for path in snapshot::differing(repo, tree)? {
            if self.is_private(&path)? {
                paths.push(path);
            }
        }
        let mut untouched: BTreeMap<u64, Vec<RepoPath>> = BTreeMap::new();
        for path in paths {
            let stat = stat_at(repo, &path).filter(|stat| !stat.is_symlink());
            if let Some(stat) = stat.filter(|_| !self.snapshot.files.contains_key(&path)) {
                untouched.entry(stat.size).or_default().push(path);
            }
        }
        Ok(self.untouched.get_or_init(|| untouched))
    }

    /// The private file that a program moved onto the file of `state`, which Git tracks or of which
    /// there is a copy.
    fn moved_onto(&self, state: &PathState) -> Result<Option<&'a RepoPath>> {
        let Some(disk) = state.disk.as_ref().filter(|_| !state.ignored) else { return Ok(None) };
        if is_new(state) && self.copied_file(&state.path).is_none() || self.snapshot.tool.is_some()
        {
            return Ok(None);
        }
        let Some((before, source)) = self.same_file(state)? else { return Ok(None) };
        if self.was_at(&state.path, before)? || self.is_committed_content(state)? {
            return Ok(None);
        }
        // A tracked file may be a hard link of an ignored one.
        let is_link =
            stat_at(self.hidden.repo, source).is_some_and(|stat| stat.inode() == disk.stat.inode());
        if is_link
            && let (Some(tip), Some(Some(before))) = (state.tip, self.snapshot.before(source)?)
            && self.hidden.repo.blob_id(&before.bytes)? == tip.oid
        {
            return Ok(None);
        }
        Ok(Some(source))
    }

    /// Whether the index has the file with the stat in `key` at `path`: then it was a hard link.
    fn was_at(&self, path: &RepoPath, key: &str) -> Result<bool> {
        let numbers = key.split('-').filter_map(|one| u64::from_str_radix(one, 16).ok());
        let numbers: Vec<u64> = numbers.collect();
        let [_, inode, size, seconds, nanoseconds, ..] = numbers[..] else { return Ok(false) };
        self.hidden.repo.index_has_stat(path, [inode, size, seconds, nanoseconds])
    }

    /// Whether the tip or the base of the session has the bytes of the file at the same path.
    fn is_committed_content(&self, state: &PathState) -> Result<bool> {
        let Some(disk) = state.disk_file() else { return Ok(false) };
        if state.tip.is_some_and(|tip| tip.oid == disk.oid) {
            return Ok(true);
        }
        let Some(session) = self.hidden.session else { return Ok(false) };
        let repo = self.hidden.repo;
        let base = repo.tracked(repo.tree_of(session.base)?, &state.path)?;
        Ok(matches!(base, Tracked::File(file) if file.oid == disk.oid))
    }

    /// The private file of another path that is the file of `state` now, whatever it has: the
    /// inode is the same, and was not made since. With its earlier key.
    fn same_file(&self, state: &PathState) -> Result<Option<(&'a str, &'a RepoPath)>> {
        let Some(disk) = &state.disk else { return Ok(None) };
        if let Some(source) = self.snapshot.moved.get(&state.path) {
            return Ok(self.is_private(source)?.then_some(("", source)));
        }
        let key = key_of(&disk.stat);
        let all = inode_of(&key).and_then(|inode| self.inodes.get(inode));
        let all = all.map(Vec::as_slice).unwrap_or_default();
        if all.iter().any(|(_, path)| **path == state.path) {
            return Ok(None);
        }
        for (before, source) in all {
            let unchanged = || without_ctime(before) == without_ctime(&key);
            if self.is_private(source)? && (unchanged() || self.is_old(&state.path)) {
                return Ok(Some((before, source)));
            }
        }
        Ok(None)
    }

    /// Whether the file at `path` is older than the snapshot. True if the file system does not know.
    fn is_old(&self, path: &RepoPath) -> bool {
        use std::os::unix::ffi::OsStrExt as _;
        let path = std::ffi::OsStr::from_bytes(path.as_bytes());
        let born = fs::created(&self.hidden.repo.root_path().join(path));
        self.snapshot.taken.is_some_and(|taken| born.is_none_or(|born| born <= taken))
    }

    fn copied_file(&self, path: &RepoPath) -> Option<&'a Copy> {
        let copy = self.snapshot.files.get(path)?.as_ref()?;
        copy.link.is_none().then_some(copy)
    }

    fn is_private(&self, source: &RepoPath) -> Result<bool> {
        if self.snapshot.was_ignored(source) {
            return Ok(true);
        }
        let is_tracked = |tree| self.hidden.repo.tracked(tree, source);
        let tracked = self.snapshot.tree.map_or(Ok(Tracked::Nothing), is_tracked)?;
        Ok(tracked == Tracked::Nothing && self.hidden.covers(source)?)
    }
}

/// Lists the private files that a program moved or copied before it was interrupted.
///
/// # Errors
/// `OBJECT_MISSING`, `IO_ERROR`, `GIT_DIR_READ_ONLY`.
pub(crate) fn list_interrupted(repo: &Repo, before: &Snapshot) -> Result<()> {
    let session = Session::current(repo, &repo.head()?)?;
    let tree = current::tree_now(repo, session.as_ref())?;
    let (index, all) = (IndexView::read(repo)?, IgnoredBefore::of(repo, session.as_ref(), before));
    for path in snapshot::differing(repo, tree)? {
        if let Ok(mut state) = PathState::at(repo, tree, Some(&index), &path) {
            all.mark(&mut state)?;
        }
    }
    // Nothing is put back, so that a file that was moved onto another stays where it is.
    let overwritten = all.overwritten.borrow();
    all.found.borrow_mut().extend(overwritten.iter().map(|one| one.path.clone()));
    all.list()
}

/// The bytes of the file at `path`.
fn file_bytes(repo: &Repo, path: &RepoPath) -> Option<Vec<u8>> {
    let (directory, name) = path.split();
    let Ok(Parent::Open(parent)) = repo.root().beneath(directory) else { return None };
    match parent.read_at_most(name, MAX_FILE) {
        Ok(FoundEntry::File(_, bytes)) => Some(bytes),
        _ => None,
    }
}

/// The device and inode in the name of a copy.
fn inode_of(key: &str) -> Option<&str> {
    key.match_indices('-').nth(1).map(|(at, _)| &key[..at])
}

/// The name of a copy without the time of the last change of the inode.
fn without_ctime(key: &str) -> &str {
    key.match_indices('-').rev().nth(1).map_or(key, |(at, _)| &key[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stat_without_its_last_time_is_that_before_a_rename() {
        assert_eq!(without_ctime("1-2-3-4-5-6-7"), "1-2-3-4-5");
        assert_eq!(without_ctime(""), "");
    }
}
