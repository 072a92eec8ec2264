//! The commits of a session with the paths that each changed.

use crate::session::files::diff_report;
use crate::session::refs::commit::Commit;
use crate::session::refs::current::Session;
use crate::session::user::unwind;
use edt_git::{ChangedPath, Oid, Repo, Tracked};
use edt_journal::PrivateFile;
use edt_types::text::shell_word;
use edt_types::{Code, FileChangeKind, Finding, RepoPath, Result};

/// A commit of a session, and what it changed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogEntry {
    /// The commit. Its `trailers` have its kind and the number of the edit; a commit of the user has
    /// none.
    pub commit: Commit,
    /// The files that differ from the first parent, by path.
    pub files: Vec<LogFile>,
}

/// A file that a commit changed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogFile {
    /// The path.
    pub path: String,
    /// How the file changed.
    pub change: FileChangeKind,
    /// The path that the file was renamed from.
    pub from: Option<String>,
}

impl LogFile {
    pub(crate) fn of(changed: &ChangedPath) -> LogFile {
        let from = changed.from.as_ref().map(|from| from.path.text());
        let change =
            diff_report::kind(from.is_some(), changed.old.is_some(), changed.new.is_some());
        LogFile { path: changed.path.text(), change, from }
    }
}

/// A file as one commit of the session left it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRevision {
    /// The commit.
    pub commit: Commit,
    /// What the commit changed.
    pub file: LogFile,
    /// The blob id after; `None` if the commit deleted the file.
    pub hash: Option<Oid>,
    /// The size after, in bytes.
    pub bytes: Option<u64>,
    /// Whether no commit has the content: only the private store.
    pub private: bool,
}

impl Session {
    /// The session's commits down to its base, newest first, with their paths.
    pub fn log<'r>(&self, repo: &'r Repo) -> impl Iterator<Item = Result<LogEntry>> + 'r {
        self.commits(repo).map(move |commit| {
            let commit = commit?;
            let changed =
                diff_report::changed_paths(repo, tree_before(repo, &commit)?, commit.tree)?;
            Ok(LogEntry { files: changed.iter().map(LogFile::of).collect(), commit })
        })
    }

    /// Refuses the range of commits from `after` to `up_to`, each as it was named and its id, if they
    /// are in the other order on the branch.
    ///
    /// # Errors
    /// `BAD_REQUEST` with the other order; `OBJECT_MISSING`.
    pub fn check_range(
        &self,
        repo: &Repo,
        (after, from): (&str, Oid),
        (up_to, to): (&str, Oid),
    ) -> Result<()> {
        let ids = self.commits(repo).map(|commit| commit.map(|commit| commit.oid));
        let mut ids = ids.collect::<Result<Vec<Oid>>>()?;
        ids.push(self.base);
        let place = |oid: Oid| ids.iter().position(|one| *one == oid);
        match (place(from), place(to)) {
            // The newest is the first.
            (Some(from), Some(to)) if from < to => Err(reversed(self, after, up_to).into()),
            _ => Ok(()),
        }
    }

    /// The revisions of the file `path` in the session, newest first. Renames within the session
    /// are followed, from the old name and from the new one.
    ///
    /// # Errors
    /// `FILE_NOT_FOUND` if neither the session nor its base has such a file; `NOT_A_FILE` for a
    /// directory; `OBJECT_MISSING`.
    pub fn revisions(&self, repo: &Repo, path: &RepoPath) -> Result<Vec<FileRevision>> {
        let tip = repo.tree_of(self.tip)?;
        if repo.tracked(tip, path)? == Tracked::Directory {
            return Err(directory(path).into());
        }
        let (mut at, mut found) = (path.clone(), Vec::new());
        for commit in self.commits(repo) {
            let commit = commit?;
            let before = tree_before(repo, &commit)?;
            let (old, new) = (repo.tree_item(before, &at)?, repo.tree_item(commit.tree, &at)?);
            if old == new {
                found.extend(private_revision(repo, &commit, &at)?);
                continue;
            }
            let mut changed = ChangedPath { path: at.clone(), from: None, old, new };
            // Only then can the commit have renamed the file.
            if old.is_none() || new.is_none() {
                let is_of = |one: &ChangedPath| {
                    one.path == at || one.from.as_ref().is_some_and(|from| from.path == at)
                };
                let all = diff_report::changed_paths(repo, before, commit.tree)?;
                changed = all.into_iter().find(is_of).unwrap_or(changed);
            }
            if let Some(from) = &changed.from {
                at = from.path.clone();
            }
            let hash = changed.new.and_then(|item| Some(item.file()?.oid));
            let bytes = hash.map(|oid| repo.size_of(oid)).transpose()?;
            let file = LogFile::of(&changed);
            let bytes = bytes.map(|size| size as u64);
            found.push(FileRevision { commit, file, hash, bytes, private: false });
        }
        if found.is_empty() && repo.tracked(tip, path)? == Tracked::Nothing {
            return Err(unknown(self, path).into());
        }
        Ok(found)
    }
}

/// The file at `path` as the edit left it, if the edit changed it and no commit has it.
fn private_revision(repo: &Repo, commit: &Commit, path: &RepoPath) -> Result<Option<FileRevision>> {
    let files = if commit.is_edit() { unwind::private_files(repo, commit) } else { None };
    let is_it = |one: &PrivateFile| one.path() == *path && one.before != one.after;
    let Some(PrivateFile { before, after, .. }) = files.into_iter().flatten().find(is_it) else {
        return Ok(None);
    };
    let change = diff_report::kind(false, before.is_some(), after.is_some());
    let file = LogFile { path: path.text(), change, from: None };
    let hash = after.as_ref().map(|after| repo.blob_id(&after.bytes)).transpose()?;
    let bytes = after.map(|after| after.bytes.len() as u64);
    Ok(Some(FileRevision { commit: commit.clone(), file, hash, bytes, private: true }))
}

fn tree_before(repo: &Repo, commit: &Commit) -> Result<Oid> {
    commit.parent_tree(repo)
}

fn reversed(session: &Session, after: &str, up_to: &str) -> Finding {
    let branch = session.short_branch();
    let summary = format!(
        "{after} comes after {up_to} on {branch}. A range is in the order of the branch, \
         not of the numbers."
    );
    let remedy =
        format!("`edt log {}` lists it.", shell_word(format!("{up_to}..{after}").as_bytes()));
    Finding::new(Code::BadRequest, summary, remedy).nothing_changed()
}

fn unknown(session: &Session, path: &RepoPath) -> Finding {
    Finding::new(
        Code::FileNotFound,
        format!("No commit of the session {} has a file {path}.", session.name),
        "Check the path: `edt log` lists the session's edits, and `edt ls` the files. A file that \
         no edit changed has no revisions.",
    )
    .at(path)
}

fn directory(path: &RepoPath) -> Finding {
    Finding::new(
        Code::NotAFile,
        format!("{path} is a directory."),
        format!("Name one file. `edt diff {}` shows what changed below it.", path.for_shell()),
    )
    .at(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proposal::landing::land;
    use crate::session::landing::options::LandOptions;
    use crate::tests::{Scratch, refusal};
    use crate::txn::Request;

    #[test]
    fn each_commit_has_the_paths_that_it_changed() {
        let scratch = Scratch::with(&[("a.txt", "one\n"), ("b.txt", "b\n")]);
        scratch.edit("first", "a.txt", "one", "two");
        scratch.apply(&Request::new("second").rename("b.txt", "c.txt")).unwrap();
        let repo = scratch.repo();
        let log: Vec<LogEntry> = scratch.session().log(&repo).map(|entry| entry.unwrap()).collect();
        let shown: Vec<(&str, Vec<&str>)> = log
            .iter()
            .map(|entry| {
                (
                    entry.commit.subject(),
                    entry.files.iter().map(|file| file.path.as_str()).collect(),
                )
            })
            .collect();
        assert_eq!(shown, [("second", vec!["c.txt"]), ("first", vec!["a.txt"])]);
        let renamed = LogFile {
            path: "c.txt".into(),
            change: FileChangeKind::Renamed,
            from: Some("b.txt".into()),
        };
        assert_eq!(log[0].files, [renamed]);
    }

    /// The revisions of `path`, each as subject, change, paths and size.
    fn revisions(scratch: &Scratch, path: &str) -> Vec<String> {
        let path = RepoPath::from_tree(path.as_bytes());
        let found = scratch.session().revisions(&scratch.repo(), &path).unwrap();
        let one = |revision: &FileRevision| {
            let LogFile { path, change, from } = &revision.file;
            let from = from.as_ref().map(|from| format!("{from} -> ")).unwrap_or_default();
            let size = revision.bytes.map(|bytes| format!(" {bytes}")).unwrap_or_default();
            format!("{} {change:?} {from}{path}{size}", revision.commit.subject())
        };
        found.iter().map(one).collect()
    }

    #[test]
    fn a_range_is_in_the_order_of_the_branch() {
        let scratch = Scratch::with(&[("a.txt", "one\n"), ("b.txt", "b\n"), ("c.txt", "c\n")]);
        scratch.edit("first", "a.txt", "one", "two");
        scratch.edit("second", "b.txt", "b", "B");
        scratch.edit("third", "c.txt", "c", "C");
        let session = scratch.session();
        let only = LandOptions { only: vec![3, 1], ..LandOptions::default() };
        land(&mut scratch.open(), &session, &only).unwrap();
        let (repo, session) = (scratch.repo(), scratch.session());
        let of = |number: u64| {
            let is_it = |one: &Commit| one.trailers.as_ref().is_some_and(|own| own.edit == number);
            session.commits(&repo).map(Result::unwrap).find(is_it).unwrap().oid
        };
        let checked = |after: u64, up_to: u64| {
            let (from, to) = (after.to_string(), up_to.to_string());
            session.check_range(&repo, (&from, of(after)), (&to, of(up_to)))
        };
        for (after, up_to) in [(1, 3), (3, 2), (1, 2), (2, 2)] {
            checked(after, up_to).unwrap();
        }
        let finding = refusal(checked(2, 3));
        assert_eq!(
            (finding.code, finding.remedy.as_str()),
            (Code::BadRequest, "`edt log 3..2` lists it.")
        );
        let first = [("0", session.base), ("1", of(1))];
        session.check_range(&repo, first[0], first[1]).unwrap();
        let finding = refusal(session.check_range(&repo, first[1], first[0]));
        assert_eq!(
            finding.summary,
            "1 comes after 0 on edt/main-1. A range is in the order of the \
            branch, not of the numbers."
        );
    }

    #[test]
    fn the_revisions_of_a_file_follow_its_renames() {
        let scratch = Scratch::with(&[("a.txt", "one\n"), ("b.txt", "b\n")]);
        scratch.edit("first", "a.txt", "one", "1\n2");
        scratch.edit("elsewhere", "b.txt", "b", "c");
        scratch.apply(&Request::new("move").rename("a.txt", "d/a.txt")).unwrap();
        scratch.apply(&Request::new("gone").delete("d/a.txt")).unwrap();
        let all =
            ["gone Deleted d/a.txt", "move Renamed a.txt -> d/a.txt 4", "first Modified a.txt 4"];
        assert_eq!(revisions(&scratch, "d/a.txt"), all);
        assert_eq!(revisions(&scratch, "a.txt"), all[1..]);
    }

    #[test]
    fn a_file_that_the_session_did_not_change_has_no_revisions() {
        let scratch = Scratch::with(&[("a.txt", "one\n"), ("d/b.txt", "b\n")]);
        scratch.edit("first", "a.txt", "one", "two");
        assert_eq!(revisions(&scratch, "d/b.txt"), [""; 0]);
        let refused = |path: &str| {
            let path = RepoPath::from_tree(path.as_bytes());
            refusal(scratch.session().revisions(&scratch.repo(), &path)).code
        };
        assert_eq!((refused("x.txt"), refused("d")), (Code::FileNotFound, Code::NotAFile));
    }

    #[test]
    fn the_first_commit_of_an_unborn_branch_is_compared_with_nothing() {
        let scratch = Scratch::unborn();
        scratch.apply(&Request::new("first").create("a.txt", "one\n")).unwrap();
        let repo = scratch.repo();
        let log: Vec<LogEntry> = scratch.session().log(&repo).map(|entry| entry.unwrap()).collect();
        assert_eq!(log[0].files[0].path, "a.txt");
        assert!(log.last().unwrap().commit.parent.is_none());
    }
}
