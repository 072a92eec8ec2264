//! The state of a worktree: its session, and the user's uncommitted changes.

use schemars::JsonSchema;
use serde::Serialize;

use super::log::LogFile;
use crate::session::files::diff_report;
use crate::session::private::hidden;
use crate::session::refs::commit::Commit;
use crate::session::refs::current::Session;
use crate::session::user::edit_places::EditPlaces;
use crate::session::user::left_over;
use crate::session::user::user_changes::{self, ReadLimits, UserChange};
use edt_edit::diff::LineDiff;
use edt_git::status::StatusKind;
use edt_git::{InHead, ObjectWriter, Oid, Repo};
use edt_io::clock;
use edt_types::{FileChangeKind, Recovered, RepoPath, Result, SessionReport};

/// Lines are counted in files and in all up to this many bytes.
const COUNTED: ReadLimits = ReadLimits { file: 1024 * 1024, total: 16 * 1024 * 1024 };

/// The session of a worktree, and the paths that differ from what is recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorktreeStatus {
    /// The session of this worktree.
    pub session: Option<SessionReport>,
    /// The newest commit of the session's branch.
    pub tip: Option<Oid>,
    /// Whether HEAD is on the session's branch.
    pub switched: bool,
    /// How many edits the session has that did not land on its target.
    pub edits: u64,
    /// Paths that the session changed and that did not land so.
    pub changed: Vec<LogFile>,
    /// The user's uncommitted changes of tracked files: how the worktree differs from the session's
    /// tip, or from HEAD without a session.
    pub user_changes: Vec<UncommittedFile>,
    /// The files of `user_changes` and `untracked` that include changes of edits.
    pub left_over: Vec<LeftOverLines>,
    /// Paths with staged content: the index differs from HEAD.
    pub staged: Vec<String>,
    /// Untracked files, without ignored ones. A directory without tracked files is one path that
    /// ends in `/`.
    pub untracked: Vec<String>,
    /// Untracked files that no commit may have, because Git ignored them or their content earlier.
    /// `git add` makes one an ordinary file.
    pub private: Vec<String>,
    /// Paths with merge conflicts.
    pub conflicted: Vec<String>,
    /// The operation of Git in progress: `merge`, `rebase`, `cherry-pick`, `revert`, `bisect` or
    /// `am`.
    pub operation: Option<&'static str>,
    /// An interrupted transaction that this call recovered.
    pub recovered: Option<Recovered>,
}

/// A file whose uncommitted changes include changes of edits that no commit has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct LeftOverLines {
    /// The path.
    pub path: String,
    /// The numbers of the edits.
    pub edits: Vec<u64>,
    /// The lines on disk that the edits wrote, such as `20-24`, and `mode`.
    pub lines: Vec<String>,
}

impl LeftOverLines {
    fn of(file: EditPlaces) -> LeftOverLines {
        let EditPlaces { path, edits, lines } = file;
        LeftOverLines { path: path.text(), edits, lines }
    }
}

/// A tracked file that the user changed and did not commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct UncommittedFile {
    /// The path.
    pub path: String,
    /// How the file changed.
    pub change: FileChangeKind,
    /// The path that the file was renamed from.
    pub from: Option<String>,
    /// Whether the change, or a part of it, is staged.
    pub staged: bool,
    /// Whether the file has merge conflicts.
    pub conflicted: bool,
    /// How many lines were added; null for a binary or large file.
    pub lines_added: Option<u64>,
    /// How many lines were removed; null for a binary or large file.
    pub lines_removed: Option<u64>,
    /// The two letters of `git status --short`: the index against HEAD, the worktree against the
    /// index.
    #[serde(skip)]
    pub letters: [char; 2],
}

/// The status of the worktree of `repo`.
///
/// # Errors
/// `NO_SESSION` if HEAD is on a shadow branch without a base; `IO_ERROR`; `OBJECT_MISSING`.
pub fn status(repo: &Repo, recovered: Option<Recovered>) -> Result<WorktreeStatus> {
    let mut status = WorktreeStatus { recovered, ..WorktreeStatus::default() };
    status.operation = repo.operation();
    let session = Session::current(repo, &repo.head()?)?;
    let session = session.map(|session| session.viewed(repo)).transpose()?;
    if let Some(session) = &session {
        let rest = session.not_landed(repo)?;
        let (base, tip) = (repo.tree_of(rest.base)?, repo.tree_of(session.tip)?);
        let changed = diff_report::changed_paths(repo, base, tip)?;
        status.tip = Some(session.tip);
        status.switched = session.head == InHead::Yes;
        status.edits = if rest.base == session.base {
            session.edits(repo)?
        } else {
            rest.commits(repo).map(|commit| Ok(commit?.edits())).sum::<Result<u64>>()?
        };
        status.changed = changed.iter().map(LogFile::of).collect();
        status.session = Some(session.report(false));
        let commits = session.commits(repo).collect::<Result<Vec<Commit>>>()?;
        let files = left_over::of_session(&ObjectWriter::new(repo), session, &commits)?;
        status.left_over = files.into_iter().map(LeftOverLines::of).collect();
    }
    let private = hidden::private_paths(repo, session.as_ref())?;
    status.private = private.iter().map(RepoPath::text).collect();
    let found = user_changes::of_worktree(repo, session.as_ref(), &[], COUNTED)?;
    let names = |paths: Vec<RepoPath>| paths.iter().map(RepoPath::text).collect();
    status.staged = names(found.staged);
    status.conflicted = names(found.conflicted);
    let name = |(path, directory): (RepoPath, bool)| {
        if directory { format!("{path}/") } else { path.text() }
    };
    status.untracked = found.untracked.into_iter().map(name).collect();
    let one = |change| uncommitted(repo, change);
    status.user_changes = found.changes.iter().map(one).collect::<Result<_>>()?;
    Ok(status)
}

fn uncommitted(repo: &Repo, change: &UserChange) -> Result<UncommittedFile> {
    let lines = lines(repo, change)?;
    let kind = change.kind();
    let letter = |kind: Option<StatusKind>| match kind {
        Some(StatusKind::Added) => 'A',
        Some(StatusKind::Modified) => 'M',
        Some(StatusKind::Deleted) => 'D',
        None => ' ',
    };
    let of_kind = match kind {
        FileChangeKind::Added => 'A',
        FileChangeKind::Modified => 'M',
        FileChangeKind::Deleted => 'D',
        FileChangeKind::Renamed => 'R',
    };
    let state = change.status;
    let letters = match (state.staged, state.unstaged) {
        _ if state.conflicted => ['U', 'U'],
        _ if state.untracked => ['?', '?'],
        (None, None) => [' ', of_kind],
        (Some(_), unstaged) if change.from.is_some() => ['R', letter(unstaged)],
        (staged, unstaged) => [letter(staged), letter(unstaged)],
    };
    Ok(UncommittedFile {
        path: change.path.text(),
        change: kind,
        from: change.from.as_ref().map(|from| from.path.text()),
        staged: state.staged.is_some(),
        conflicted: state.conflicted,
        lines_added: lines.map(|(added, _)| added),
        lines_removed: lines.map(|(_, removed)| removed),
        letters,
    })
}

/// How many lines were added and removed; `None` for a binary or large file.
fn lines(repo: &Repo, change: &UserChange) -> Result<Option<(u64, u64)>> {
    let most = usize::try_from(COUNTED.file).unwrap_or(usize::MAX);
    let small = |oid| repo.size_of(oid).map(|size| size <= most);
    if let Some(file) = change.old.and_then(edt_git::TreeItem::file)
        && !small(file.oid)?
    {
        return Ok(None);
    }
    let new = match &change.new {
        None => Some([].as_slice()),
        Some(new) => new.bytes.as_deref(),
    };
    let Some((old, new)) = change.old_bytes(repo)?.zip(new) else { return Ok(None) };
    if old.contains(&0) || new.contains(&0) {
        return Ok(None);
    }
    Ok(Some(LineDiff::of(&old, new, clock::in_ms(100)).counts()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Scratch;

    fn edited() -> Scratch {
        let scratch = Scratch::with(&[("a.txt", "one\n"), ("b.txt", "b\n")]);
        scratch.begin("fix");
        scratch.edit("first", "a.txt", "one", "two");
        scratch
    }

    /// A change of the user, as letters, path, and lines.
    fn shown(file: &UncommittedFile) -> String {
        let count = |lines: Option<u64>| lines.map_or("-".to_owned(), |lines| lines.to_string());
        let [index, worktree] = file.letters;
        let (added, removed) = (count(file.lines_added), count(file.lines_removed));
        format!("{index}{worktree} {} +{added} -{removed}", file.path)
    }

    #[test]
    fn a_worktree_without_a_session_has_only_changes_of_the_user() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        scratch.write("new.txt", "x\n");
        scratch.write("dir/new.txt", "x\n");
        let expected = WorktreeStatus {
            untracked: vec!["dir/".into(), "new.txt".into()],
            ..WorktreeStatus::default()
        };
        assert_eq!(status(&scratch.repo(), None).unwrap(), expected);
    }

    #[test]
    fn a_file_that_the_user_changed_is_listed_with_its_lines() {
        let scratch = edited();
        scratch.write("a.txt", "two\nmine\n");
        scratch.write("b.txt", "\0");
        let found = status(&scratch.repo(), None).unwrap();
        let all: Vec<String> = found.user_changes.iter().map(shown).collect();
        assert_eq!(all, [" M a.txt +1 -0", " M b.txt +- --"]);
        assert_eq!((found.staged, found.untracked), (vec![], vec![]));
    }

    #[test]
    fn an_edit_is_changed_and_recorded() {
        let scratch = edited();
        let found = status(&scratch.repo(), None).unwrap();
        assert_eq!((found.edits, found.switched), (1, true));
        assert_eq!(found.tip, Some(scratch.head()));
        assert_eq!(found.changed.len(), 1);
        assert_eq!((found.user_changes, found.operation), (vec![], None));
    }

    #[test]
    fn an_operation_of_git_is_named() {
        let scratch = edited();
        scratch.write(".git/MERGE_HEAD", &format!("{}\n", scratch.head()));
        assert_eq!(status(&scratch.repo(), None).unwrap().operation, Some("merge"));
    }
}
