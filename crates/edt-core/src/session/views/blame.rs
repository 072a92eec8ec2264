//! Who wrote each line of a file, from the record: an edit of an agent, a commit, or nobody yet.
//!
//! A commit is only where a line is from. Which edit wrote it is in the session's record, which a
//! rewritten history leaves as it is: an amended, reworded, squashed, rebased or landed line is
//! still the edit's.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::session::files::path_state::PathState;
use crate::session::refs::commit::Commit;
use crate::session::refs::current::Session;
use crate::session::refs::ended::ShownSession;
use crate::session::refs::landed::Landing;
use crate::session::refs::record::{Records, Undone};
use crate::session::user::edit_change::FileStep;
use crate::session::user::unwind;
use edt_edit::diff::LineDiff;
use edt_git::{Head, ObjectWriter, Oid, Repo, Tracked};
use edt_io::clock;
use edt_types::text;
use edt_types::{Code, RepoPath, Result};

/// The time limit for one comparison of two texts, in milliseconds.
const MAX_COMPARE_MS: u64 = 2_000;

/// Who wrote a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LineAuthor {
    /// Nobody committed it.
    Uncommitted,
    /// The author of this commit, or an agent without edt.
    Commit(Oid),
    /// An edit.
    Edit {
        /// Its commit in the record.
        edit: Box<Commit>,
        /// The commit of the history that the line is from.
        from: Option<Oid>,
    },
}

/// Lines with one author.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthoredLines {
    /// The lines (0-based, end excluded).
    pub lines: Range<usize>,
    pub author: LineAuthor,
}

/// Who wrote each line of the file `path` on disk. The lines of its text are those that
/// [`text::lines`] gives.
///
/// # Errors
/// `FILE_NOT_FOUND` is the caller's; those of [`PathState::on_disk`]; `OBJECT_MISSING`, `IO_ERROR`.
pub fn of_disk(repo: &Repo, path: &RepoPath) -> Result<Option<(Vec<u8>, Vec<AuthoredLines>)>> {
    let state = PathState::on_disk(repo, path)?;
    let Some(disk) = state.disk else { return Ok(None) };
    let head = repo.head()?;
    let committed = match head.commit {
        Some(commit) => of_commit(repo, &head, commit, path)?,
        None => None,
    };
    let (before, authors) = committed.unwrap_or_default();
    let now = carried(&before, &authors, disk.blob(), &LineAuthor::Uncommitted);
    Ok(Some((disk.blob().to_vec(), grouped(now))))
}

/// As [`of_disk`], for the file in `commit`.
///
/// # Errors
/// As [`of_disk`].
pub fn at(
    repo: &Repo,
    commit: Oid,
    path: &RepoPath,
) -> Result<Option<(Vec<u8>, Vec<AuthoredLines>)>> {
    let found = of_commit(repo, &repo.head()?, commit, path)?;
    Ok(found.map(|(text, authors)| (text, grouped(authors))))
}

/// The text of a file, and the author of each line.
type Authored = (Vec<u8>, Vec<LineAuthor>);

fn of_commit(repo: &Repo, head: &Head, commit: Oid, path: &RepoPath) -> Result<Option<Authored>> {
    let Tracked::File(file) = repo.tracked(repo.tree_of(commit)?, path)? else { return Ok(None) };
    let bytes = ObjectWriter::new(repo).blob_content(file.oid)?;
    let mut authors = vec![LineAuthor::Commit(commit); text::lines(&bytes).count()];
    for blamed in repo.blame(path, commit)? {
        if let Some(lines) = authors.get_mut(blamed.lines) {
            lines.fill(LineAuthor::Commit(blamed.commit));
        }
    }
    let commits: BTreeSet<Oid> = authors.iter().filter_map(LineAuthor::commit).collect();
    for of_session in sessions(repo, head, &commits)? {
        // Edits that no rewriting moved are in the record under the commits that the lines are from.
        let is_rewritten = |from: &Oid| {
            of_session.rewritten.contains(from) && !of_session.edits.contains_key(from)
        };
        let own = if commits.iter().any(is_rewritten) {
            recorded(repo, &of_session, path)?
        } else {
            None
        };
        let same = own.map(|(own, wrote)| carried(&own, &wrote, &bytes, &LineAuthor::Uncommitted));
        for (at, author) in authors.iter_mut().enumerate() {
            let Some(from) = author.commit() else { continue };
            if let Some(edit) = of_session.edits.get(&from) {
                *author = LineAuthor::Edit { edit: Box::new(edit.clone()), from: Some(from) };
            } else if of_session.rewritten.contains(&from)
                && let Some(LineAuthor::Edit { edit, .. }) =
                    same.as_ref().and_then(|all| all.get(at))
            {
                *author = LineAuthor::Edit { edit: edit.clone(), from: Some(from) };
            }
        }
    }
    Ok(Some((bytes, authors)))
}

impl LineAuthor {
    fn commit(&self) -> Option<Oid> {
        match self {
            LineAuthor::Commit(commit) => Some(*commit),
            LineAuthor::Uncommitted | LineAuthor::Edit { .. } => None,
        }
    }
}

/// A session that lines are from.
struct LineSession {
    records: Records,
    /// Its edits as edt committed them.
    edits: BTreeMap<Oid, Commit>,
    /// Commits that the user, or a landing, made of its edits.
    rewritten: BTreeSet<Oid>,
}

impl LineSession {
    fn of(repo: &Repo, session: &Session) -> Result<LineSession> {
        let records = Records::of(repo, session)?;
        let edits = records.commits(Undone::Count).filter(|commit| commit.is_edit());
        let edits = edits.map(|commit| (commit.oid, commit.clone())).collect();
        Ok(LineSession { records, edits, rewritten: BTreeSet::new() })
    }
}

/// The sessions that `commits` are of: the open one, and those that landed. A landing that the user
/// rewrote still names its session in its trailers.
fn sessions(repo: &Repo, head: &Head, commits: &BTreeSet<Oid>) -> Result<Vec<LineSession>> {
    let mut found: BTreeMap<String, LineSession> = BTreeMap::new();
    let mut in_open = BTreeSet::new();
    let open = match Session::current(repo, head) {
        // A clone may have the branch and not the session.
        Err(found) if found.any(|one| one.code == Code::NoSession) => None,
        open => open?,
    };
    if let Some(session) = open {
        let mut of_session = LineSession::of(repo, &session)?;
        for commit in session.commits(repo) {
            let commit = commit?;
            in_open.insert(commit.oid);
            if commit.units().iter().any(Commit::is_edit) {
                of_session.rewritten.insert(commit.oid);
            }
        }
        found.insert(session.name, of_session);
    }
    for commit in commits.difference(&in_open) {
        let Some(session) = landed(repo, *commit)? else { continue };
        let of_session = match found.entry(session.name.clone()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(LineSession::of(repo, &session)?),
        };
        of_session.rewritten.insert(*commit);
    }
    Ok(found.into_values().collect())
}

fn landed(repo: &Repo, commit: Oid) -> Result<Option<Session>> {
    let name = match Landing::at(repo, commit)? {
        Some(landing) => landing.session,
        None => match Commit::read(repo, commit)?.trailers {
            Some(trailers) => trailers.session,
            None => return Ok(None),
        },
    };
    Ok(ShownSession::named(repo, &name)?.map(|shown| shown.session))
}

/// The file as the edits of `session` left it, with the edit that wrote each line. What others wrote
/// meanwhile is nobody's here.
fn recorded(repo: &Repo, session: &LineSession, path: &RepoPath) -> Result<Option<Authored>> {
    let mut steps: Vec<(&Commit, FileStep)> = Vec::new();
    let mut at = path.clone();
    let commits: Vec<&Commit> = session.records.commits(Undone::Never).collect();
    // From the newest to the oldest, so that a rename leads to the earlier path.
    for commit in commits.into_iter().rev() {
        let changes = unwind::recorded_changes(repo, commit)?;
        let Some(own) = changes.iter().find(|(changed, ..)| *changed == at).cloned() else {
            continue;
        };
        let (_, before, after) = own;
        let mut step = (at.clone(), before, after);
        if step.1.is_none()
            && let Some((from, before)) = renamed_from(&changes, &step)
        {
            step.1 = Some(before);
            at = from;
        }
        steps.push((commit, step));
    }
    let writer = ObjectWriter::new(repo);
    let mut now: Option<Authored> = None;
    for (commit, (_, before, after)) in steps.into_iter().rev() {
        let before = before.map(|before| before.bytes(&writer)).transpose()?.unwrap_or_default();
        let Some(after) = after else {
            now = None;
            continue;
        };
        let after = after.bytes(&writer)?;
        let (text, authors) = now.take().unwrap_or_default();
        let authors = carried(&text, &authors, &before, &LineAuthor::Uncommitted);
        let author = if commit.is_edit() {
            LineAuthor::Edit { edit: Box::new(commit.clone()), from: None }
        } else {
            LineAuthor::Uncommitted
        };
        let authors = carried(&before, &authors, &after, &author);
        now = Some((after, authors));
    }
    Ok(now)
}

/// The file of the same commit that was renamed to that of `step`: the removed one with the same
/// content, else the only removed one.
fn renamed_from(
    changes: &[FileStep],
    step: &FileStep,
) -> Option<(RepoPath, crate::session::user::ownership::Version)> {
    let removed = changes.iter().filter_map(|(path, before, after)| match (before, after) {
        (Some(before), None) => Some((path.clone(), before.clone())),
        _ => None,
    });
    let removed: Vec<_> = removed.collect();
    let file = step.2.as_ref()?.file.oid;
    if let Some(same) = removed.iter().find(|(_, before)| before.file.oid == file) {
        return Some(same.clone());
    }
    match removed.as_slice() {
        [only] => Some(only.clone()),
        _ => None,
    }
}

/// The authors of the lines of `new`: those of `old` for the lines that stay, `author` for others.
fn carried(old: &[u8], authors: &[LineAuthor], new: &[u8], author: &LineAuthor) -> Vec<LineAuthor> {
    let diff = LineDiff::of(old, new, clock::in_ms(MAX_COMPARE_MS));
    let (_, lines) = diff.texts();
    let mut all = vec![author.clone(); lines.len()];
    let (mut from, mut to) = (0, 0);
    let ends = (authors.len(), lines.len());
    for (old, new) in diff.changes().chain([(ends.0..ends.0, ends.1..ends.1)]) {
        for (into, of) in
            all[to..new.start].iter_mut().zip(authors.get(from..old.start).unwrap_or_default())
        {
            into.clone_from(of);
        }
        (from, to) = (old.end, new.end);
    }
    all
}

fn grouped(authors: Vec<LineAuthor>) -> Vec<AuthoredLines> {
    let mut all: Vec<AuthoredLines> = Vec::new();
    for (at, author) in authors.into_iter().enumerate() {
        match all.last_mut() {
            Some(last) if last.author == author => last.lines.end = at + 1,
            _ => all.push(AuthoredLines { lines: at..at + 1, author }),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{Scratch, path};

    /// For each line of the file: `-` nobody, `c` a commit, else the number of the edit.
    fn who(scratch: &Scratch, name: &str) -> String {
        let (_, all) = of_disk(&scratch.repo(), &path(name)).unwrap().unwrap();
        let sign = |author: &LineAuthor| match author {
            LineAuthor::Uncommitted => "-".to_owned(),
            LineAuthor::Commit(_) => "c".to_owned(),
            LineAuthor::Edit { edit, .. } => edit.trailers.as_ref().unwrap().edit.to_string(),
        };
        all.iter().map(|one| sign(&one.author).repeat(one.lines.len())).collect()
    }

    fn scratch() -> Scratch {
        let scratch = Scratch::with(&[("a.txt", "1\n2\n3\n4\n5\n")]);
        scratch.begin("fix");
        scratch.edit("first", "a.txt", "2", "two");
        scratch.edit("second", "a.txt", "4\n", "four\nand more\n");
        scratch
    }

    #[test]
    fn each_line_is_of_the_edit_that_wrote_it() {
        let scratch = scratch();
        assert_eq!(who(&scratch, "a.txt"), "c1c22c");
        let text = scratch.text("a.txt").unwrap();
        scratch.write("a.txt", &text.replace("1\n", "1\nmine\n"));
        assert_eq!(who(&scratch, "a.txt"), "c-1c22c");
        scratch.undo(1).unwrap();
        assert_eq!(who(&scratch, "a.txt"), "c-1ccc");
    }

    #[test]
    fn lines_stay_the_edits_when_the_user_rewrites_or_lands_the_session() {
        let scratch = scratch();
        scratch.user_commit("edt/fix", &[("b.txt", Some("b\n"))], "by hand\n");
        assert_eq!(who(&scratch, "a.txt"), "c1c22c");
    }

    #[test]
    fn a_renamed_file_keeps_its_authors() {
        let scratch = scratch();
        scratch.apply(&crate::txn::Request::new("x").rename("a.txt", "b.txt")).unwrap();
        assert_eq!(who(&scratch, "b.txt"), "c1c22c");
    }
}
