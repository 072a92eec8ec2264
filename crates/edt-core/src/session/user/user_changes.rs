//! The user's uncommitted changes: how the worktree differs from the session's tip, or from HEAD
//! without a session. The cost is that of `git status` plus the changed files.

use std::collections::{BTreeMap, BTreeSet};

use crate::session::files::diff_report;
use crate::session::files::path_state::PathState;
use crate::session::refs::current::Session;
use edt_git::diff::Untracked;
use edt_git::file_id::TreeItem;
use edt_git::read::ObjectKind;
use edt_git::renames::{self, RenameCandidate, RenamedFrom};
use edt_git::status::PathStatus;
use edt_git::{FileId, FileMode, Oid, Repo, Tracked};
use edt_io::disk::{FoundEntry, Parent};
use edt_journal::IndexView;
use edt_types::{FileChangeKind, RepoPath, Result};

/// The mode of a symbolic link.
const LINK: u32 = 0o120_000;

/// One file that the user changed and did not commit.
#[derive(Debug, Clone)]
pub struct UserChange {
    /// The path.
    pub path: RepoPath,
    /// The file that this one was renamed from; `old` is that file.
    pub from: Option<RenamedFrom>,
    /// The file in the session's tip.
    pub old: Option<TreeItem>,
    /// The file on disk.
    pub new: Option<DiskItem>,
    /// What `git status` prints for it.
    pub status: PathStatus,
}

/// A file or link on disk, as Git would record it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskItem {
    /// The mode number.
    pub mode: u32,
    /// The blob id; `None` if the content was not read.
    pub oid: Option<Oid>,
    /// The content as Git would record it; `None` if the file is above a limit.
    pub bytes: Option<Vec<u8>>,
}

/// How much content is read, in bytes.
#[derive(Debug, Clone, Copy)]
pub struct ReadLimits {
    /// Of one file.
    pub file: u64,
    /// Of all files.
    pub total: u64,
}

/// What differs in a worktree.
#[derive(Debug, Default)]
pub struct WorktreeChanges {
    /// The files that Git or the session tracks, in order.
    pub changes: Vec<UserChange>,
    /// Untracked paths that were not compared, and whether each is a directory.
    pub untracked: Vec<(RepoPath, bool)>,
    /// Paths with staged content.
    pub staged: Vec<RepoPath>,
    /// Paths with merge conflicts.
    pub conflicted: Vec<RepoPath>,
}

impl UserChange {
    /// How the file changed.
    #[must_use]
    pub const fn kind(&self) -> FileChangeKind {
        diff_report::kind(self.from.is_some(), self.old.is_some(), self.new.is_some())
    }

    /// The content in the session's tip.
    ///
    /// # Errors
    /// `OBJECT_MISSING`.
    pub fn old_bytes(&self, repo: &Repo) -> Result<Option<Vec<u8>>> {
        match self.old {
            None => Ok(Some(Vec::new())),
            Some(TreeItem::File(FileId { oid, .. }) | TreeItem::Other(LINK, oid)) => {
                repo.object(oid, ObjectKind::Blob).map(Some)
            }
            Some(TreeItem::Other(..)) => Ok(None),
        }
    }
}

/// The tree that the worktree is compared with: of the session's tip, else of HEAD.
///
/// # Errors
/// `OBJECT_MISSING`, `IO_ERROR`.
pub fn compared_tree(repo: &Repo, session: Option<&Session>) -> Result<Oid> {
    match session {
        Some(session) => repo.tree_of(session.tip),
        None => repo.head()?.commit.map_or(Ok(repo.empty_tree()), |commit| repo.tree_of(commit)),
    }
}

/// How the worktree differs from the session's tip, or from HEAD without a session. Untracked files
/// are compared only if `named` lists them or a directory above them.
///
/// # Errors
/// `IO_ERROR`, `OBJECT_MISSING`.
pub fn of_worktree(
    repo: &Repo,
    session: Option<&Session>,
    named: &[RepoPath],
    limits: ReadLimits,
) -> Result<WorktreeChanges> {
    let tree = compared_tree(repo, session)?;
    let untracked = if named.is_empty() { Untracked::Directories } else { Untracked::Files };
    let statuses: BTreeMap<RepoPath, PathStatus> = repo
        .path_statuses(untracked)?
        .into_iter()
        .map(|(path, status)| (without_slash(&path), status))
        .collect();
    let mut found = WorktreeChanges::default();
    let mut candidates: BTreeSet<RepoPath> = BTreeSet::new();
    for (path, status) in &statuses {
        if status.conflicted {
            found.conflicted.push(path.clone());
        }
        if status.staged.is_some() {
            found.staged.push(path.clone());
        }
        let compared = !status.untracked
            || is_below_any(path, named)
            || repo.tracked(tree, path)? != Tracked::Nothing;
        if compared {
            candidates.insert(path.clone());
        } else {
            found.untracked.push((path.clone(), status.directory));
        }
    }
    // A session with HEAD not switched: its files differ from HEAD, and not from its tip.
    let head = compared_tree(repo, None)?;
    candidates.extend(repo.tree_diff(head, tree)?.into_iter().map(|differs| differs.path));
    let mut old: BTreeMap<RepoPath, TreeItem> = BTreeMap::new();
    for path in &candidates {
        if let Some(item) = repo.tree_item(tree, path)? {
            old.insert(path.clone(), item);
        }
    }
    if candidates.is_empty() {
        return Ok(found);
    }
    let index = IndexView::read(repo)?;
    let reader = Reader { repo, tree, index: &index };
    let mut left = limits.total;
    for path in candidates {
        let old = old.remove(&path);
        let new = reader.read(&path, limits.file.min(left))?;
        left = left.saturating_sub(
            new.as_ref().and_then(|new| new.bytes.as_ref()).map_or(0, Vec::len) as u64,
        );
        let same = match (&old, &new) {
            (None, None) => true,
            (Some(old), Some(new)) => new.oid == Some(old.oid()) && new.mode == old.bits(),
            _ => false,
        };
        let status = statuses.get(&path).copied().unwrap_or_default();
        if !same {
            found.changes.push(UserChange { path, from: None, old, new, status });
        }
    }
    found.changes = with_renames(repo, std::mem::take(&mut found.changes))?;
    Ok(found)
}

/// What the tracked and untracked files contain, and HEAD and the session's tip, as one text: equal
/// texts mean equal files. Ignored files and those in nested repositories and submodules do not
/// count. A file above `limits` counts by its size and times.
///
/// # Errors
/// `IO_ERROR`, `OBJECT_MISSING`.
pub fn state(repo: &Repo, session: &Session, limits: ReadLimits) -> Result<String> {
    let tree = repo.tree_of(session.tip)?;
    let (head, head_tree) = (repo.head()?, compared_tree(repo, None)?);
    let mut paths: BTreeSet<RepoPath> =
        repo.path_statuses(Untracked::Files)?.keys().map(without_slash).collect();
    paths.extend(repo.tree_diff(head_tree, tree)?.into_iter().map(|differs| differs.path));
    let index = IndexView::read(repo)?;
    let reader = Reader { repo, tree, index: &index };
    let mut state = format!("{:?} {}", head.commit, session.tip);
    let mut left = limits.total;
    for path in paths {
        let (directory, name) = path.split();
        let parent = repo.root().beneath(directory);
        let stat = match &parent {
            Ok(Parent::Open(parent)) => parent.stat(name).ok().flatten(),
            _ => None,
        };
        let size = stat.as_ref().map_or(0, |stat| stat.size);
        let item = if size <= limits.file.min(left) {
            left -= size;
            reader.read(&path, size)?
        } else {
            None
        };
        let content = match item.map(|item| (item.mode, item.oid)) {
            Some((mode, Some(oid))) => format!("{mode:o} {oid}"),
            _ => format!("{stat:?}"),
        };
        state += &format!("\0{path:?} {content}");
    }
    Ok(state)
}

/// Joins the two paths of each rename.
fn with_renames(repo: &Repo, changes: Vec<UserChange>) -> Result<Vec<UserChange>> {
    let (mut deleted, mut added) = (Vec::new(), Vec::new());
    for (at, one) in changes.iter().enumerate() {
        let path = &one.path;
        match (one.old, &one.new) {
            (Some(TreeItem::File(file)), None) => {
                deleted.push((at, RenameCandidate { path, oid: file.oid, regular: true }));
            }
            (None, Some(DiskItem { mode, oid: Some(oid), bytes: Some(_) })) if *mode != LINK => {
                added.push((at, RenameCandidate { path, oid: *oid, regular: true }));
            }
            _ => {}
        }
    }
    let from: Vec<RenameCandidate<'_>> = deleted.iter().map(|one| one.1).collect();
    let to: Vec<RenameCandidate<'_>> = added.iter().map(|one| one.1).collect();
    let read = |one: &RenameCandidate<'_>| {
        // In order of their paths.
        let at = changes.binary_search_by(|change| change.path.cmp(one.path)).ok();
        let change = at.map(|at| &changes[at]);
        match change.and_then(|change| change.new.as_ref()).and_then(|new| new.bytes.clone()) {
            Some(bytes) => Ok(bytes),
            None => repo.object(one.oid, ObjectKind::Blob),
        }
    };
    let found = renames::detect(&from, &to, repo.rename_limit(), read)?;
    let mut sources: BTreeMap<usize, (usize, u8)> = found
        .into_iter()
        .map(|rename| (added[rename.added].0, (deleted[rename.deleted].0, rename.similarity)))
        .collect();
    let gone: BTreeMap<usize, (RepoPath, Option<TreeItem>)> = sources
        .values()
        .map(|(at, _)| (*at, (changes[*at].path.clone(), changes[*at].old)))
        .collect();
    let mut joined = Vec::new();
    for (at, mut change) in changes.into_iter().enumerate() {
        if gone.contains_key(&at) {
            continue;
        }
        if let Some((source, similarity)) = sources.remove(&at)
            && let Some((path, old)) = gone.get(&source)
        {
            change.from = Some(RenamedFrom { path: path.clone(), similarity });
            change.old = *old;
        }
        joined.push(change);
    }
    Ok(joined)
}

/// Whether `path` is one of `named` or below one of them.
#[must_use]
pub fn is_below_any(path: &RepoPath, named: &[RepoPath]) -> bool {
    named.iter().any(|above| {
        path == above
            || path
                .as_bytes()
                .strip_prefix(above.as_bytes())
                .is_some_and(|rest| rest.starts_with(b"/"))
    })
}

fn without_slash(path: &RepoPath) -> RepoPath {
    let bytes = path.as_bytes();
    RepoPath::from_tree(bytes.strip_suffix(b"/").unwrap_or(bytes))
}

struct Reader<'r> {
    repo: &'r Repo,
    tree: Oid,
    index: &'r IndexView,
}

impl Reader<'_> {
    /// The file or link at `path`; its content if it has at most `most` bytes.
    fn read(&self, path: &RepoPath, most: u64) -> Result<Option<DiskItem>> {
        let (directory, name) = path.split();
        let repo = self.repo;
        let unread = |mode| Ok(Some(DiskItem { mode, oid: None, bytes: None }));
        let Ok(Parent::Open(parent)) = repo.root().beneath(directory) else { return Ok(None) };
        let size = match parent.stat(name) {
            Ok(Some(stat)) if stat.is_directory() => {
                // A submodule is compared by `git status`.
                let submodule = repo.tracked(self.tree, path)? == Tracked::Submodule;
                return if submodule { unread(0o160_000) } else { Ok(None) };
            }
            Ok(Some(stat)) => stat.size,
            Ok(None) => {
                let skipped = self.index.is_skipped(repo, path)?;
                // Not checked out: the file is the one of the tip.
                let tip = if skipped { repo.tree_item(self.tree, path)? } else { None };
                return Ok(tip.map(|item| DiskItem {
                    mode: item.bits(),
                    oid: Some(item.oid()),
                    bytes: None,
                }));
            }
            Err(_) => return Ok(None),
        };
        if let Ok(state) = PathState::at(repo, self.tree, Some(self.index), path)
            && let Some(disk) = state.disk
        {
            let bytes = (size <= most).then(|| disk.blob().to_vec());
            return Ok(Some(DiskItem {
                mode: disk.file.mode.bits(),
                oid: Some(disk.file.oid),
                bytes,
            }));
        }
        // A link, a file with conflicts, one above the limit, or one that Git would convert.
        match parent.read_at_most(name, most) {
            Ok(FoundEntry::File(stat, bytes)) => Ok(Some(DiskItem {
                mode: FileMode::of(stat.executable()).bits(),
                oid: Some(repo.blob_id(&bytes)?),
                bytes: Some(bytes),
            })),
            Ok(FoundEntry::Symlink) => {
                let target = parent.link_target(name).unwrap_or_default();
                let oid = Some(repo.blob_id(&target)?);
                Ok(Some(DiskItem { mode: LINK, oid, bytes: Some(target) }))
            }
            Ok(FoundEntry::TooLarge(_) | FoundEntry::Special) => unread(FileMode::Plain.bits()),
            _ => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Scratch;

    const LIMITS: ReadLimits = ReadLimits { file: 1024, total: 2048 };

    fn shown(scratch: &Scratch, named: &[RepoPath]) -> Vec<String> {
        let found = of_worktree(&scratch.repo(), Some(&scratch.session()), named, LIMITS).unwrap();
        let one = |change: &UserChange| {
            let from = change.from.as_ref().map(|from| format!("{} -> ", from.path));
            let unread = change.new.as_ref().is_some_and(|new| new.bytes.is_none());
            let unread = if unread { " unread" } else { "" };
            format!("{:?} {}{}{unread}", change.kind(), from.unwrap_or_default(), change.path)
        };
        let untracked = found.untracked.iter().map(|(path, _)| format!("?? {path}"));
        found.changes.iter().map(one).chain(untracked).collect()
    }

    fn edited() -> Scratch {
        let scratch = Scratch::with(&[("a.txt", "one\n"), ("b.txt", "b\n")]);
        scratch.begin("fix");
        scratch.edit("first", "a.txt", "one", "two");
        scratch
    }

    #[test]
    fn an_edit_is_not_a_change_of_the_user() {
        assert_eq!(shown(&edited(), &[]), [""; 0]);
    }

    #[test]
    fn each_kind_of_change_is_found() {
        let scratch = edited();
        scratch.write("a.txt", "two\nmine\n");
        scratch.remove("b.txt");
        scratch.write("new/c.txt", "c\n");
        assert_eq!(shown(&scratch, &[]), ["Modified a.txt", "Deleted b.txt", "?? new"]);
    }

    #[test]
    fn a_named_untracked_file_is_compared() {
        let scratch = edited();
        scratch.write("new/c.txt", "c\n");
        let named = [RepoPath::from_tree(b"new")];
        assert_eq!(shown(&scratch, &named), ["Added new/c.txt"]);
    }

    #[test]
    fn a_moved_file_is_a_rename() {
        let scratch = edited();
        scratch.remove("b.txt");
        scratch.write("c.txt", "b\n");
        let named = [RepoPath::from_tree(b"c.txt")];
        assert_eq!(shown(&scratch, &named), ["Renamed b.txt -> c.txt"]);
    }

    #[test]
    fn content_above_a_limit_is_not_read() {
        let scratch = edited();
        scratch.write("a.txt", &"x".repeat(1025));
        assert_eq!(shown(&scratch, &[]), ["Modified a.txt unread"]);
    }

    #[test]
    fn the_state_follows_tracked_and_untracked_files_and_the_tip() {
        let scratch = edited();
        let state = || super::state(&scratch.repo(), &scratch.session(), LIMITS).unwrap();
        let mut seen = vec![state()];
        assert_eq!(state(), seen[0]);
        let mut changed = |what: &str| {
            let now = state();
            assert!(!seen.contains(&now), "{what}: {now:?}");
            seen.push(now);
        };
        scratch.write("a.txt", "two\nmine\n");
        changed("a tracked file");
        scratch.write("new/c.txt", "c\n");
        changed("an untracked file");
        scratch.write("new/c.txt", "d\n");
        changed("its content");
        scratch.write("new/large", &"x".repeat(5000));
        changed("a file above the limit");
        scratch.write("new/large", &"y".repeat(5001));
        changed("its size");
        scratch.remove("b.txt");
        changed("a file that is gone");
        scratch.edit("second", "a.txt", "two", "three");
        changed("the tip");
    }

    #[test]
    fn without_a_session_head_is_compared() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        scratch.write("a.txt", "mine\n");
        let found = of_worktree(&scratch.repo(), None, &[], LIMITS).unwrap();
        assert_eq!(found.changes.len(), 1);
    }
}
