//! A scratch repository whose transactions can be interrupted at any step. No process is started.

#![allow(clippy::unused_self, reason = "one helper for every question of a test")]

use std::path::Path;

use edt_git::index::IndexState;
use edt_git::{
    FileId, FileMode, InHead, NewCommit, ObjectWriter, Oid, Repo, TouchedTrees, Tracked,
    TreeChange, objects,
};
use edt_io::disk::{Parent, Stat};
use edt_testkit::ScratchRepo;
use edt_types::{Finding, RepoPath, Result};

use super::change_set::ChangeSet;
use super::entry::{DiskState, EntryMove};
use super::files::{FileChange, NewFile, OldFile, StagingArea};
use super::index::{IndexView, LockOutcome};
use super::journal::Journal;
use super::pointers::{BranchOrigin, BranchUpdate};
use super::publish::branch_record;
use super::record::{ChangeRecord, EntryRecord, FileRecord, Id, Record};
use super::recover::open_recovered;

pub(crate) const POINTER: &str = "refs/worktree/edt-session";
pub(crate) const MAIN: &str = "refs/heads/main";

/// A repository on the branch `main`.
pub(crate) struct Scratch(ScratchRepo);

pub(crate) fn path(text: &str) -> RepoPath {
    RepoPath::parse(text.as_bytes()).unwrap()
}

/// The only finding of a refusal.
#[track_caller]
pub(crate) fn refusal<T: std::fmt::Debug>(result: Result<T>) -> Finding {
    let mut found = result.unwrap_err().into_vec();
    assert_eq!(found.len(), 1, "{found:#?}");
    found.remove(0)
}

/// The state of the worktree: HEAD, the entry and the text of `a.txt`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) head: Oid,
    pub(crate) staged: IndexState,
    pub(crate) text: Option<String>,
}

/// Stages the file of `change`.
pub(crate) fn staged(stage: &StagingArea<'_>, change: &FileChange, i: usize) -> FileRecord {
    let record = stage.record(change, "tx", i).unwrap();
    stage.put(&record, change).unwrap();
    record
}

impl Scratch {
    /// With `a.txt`, whose text is `one`.
    pub(crate) fn new() -> Scratch {
        let scratch = Scratch(ScratchRepo::with(&[("a.txt", "one\n")]));
        std::fs::create_dir_all(scratch.repo().state_path()).unwrap();
        scratch
    }

    pub(crate) fn repo(&self) -> Repo {
        Repo::open(self.0.path()).unwrap()
    }

    pub(crate) fn root(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let full = self.root().join(path);
        std::fs::create_dir_all(full.parent().unwrap()).unwrap();
        std::fs::write(full, text).unwrap();
    }

    pub(crate) fn text(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.root().join(path)).ok()
    }

    pub(crate) fn state(&self) -> State {
        let repo = self.repo();
        State {
            head: repo.head().unwrap().commit.unwrap(),
            staged: IndexView::read(&repo).unwrap().staged(&repo, &path("a.txt")).unwrap(),
            text: self.text("a.txt"),
        }
    }

    /// The state after `change`, which gives `a.txt` the text `text`.
    pub(crate) fn after(&self, change: &ChangeSet, text: &str) -> State {
        let oid = self.repo().blob_id(text.as_bytes()).unwrap();
        State {
            head: change.branch.new,
            staged: IndexState::File(FileId { oid, mode: FileMode::Plain }),
            text: Some(text.to_owned()),
        }
    }

    /// A change of `files` on `main`. `None` removes a file.
    pub(crate) fn change(&self, repo: &Repo, files: &[(&str, Option<&str>)]) -> ChangeSet {
        let parent = repo.ref_value(MAIN).unwrap().unwrap();
        let (before, mut writer) = (repo.tree_of(parent).unwrap(), ObjectWriter::new(repo));
        let view = IndexView::read(repo).unwrap();
        let (mut changes, mut moves, mut tree_changes) = (Vec::new(), Vec::new(), Vec::new());
        for (name, text) in files {
            let path = path(name);
            let file = text.map(|text| FileId {
                oid: writer.write_blob(text.as_bytes()).unwrap(),
                mode: FileMode::Plain,
            });
            let old = match repo.tracked(before, &path).unwrap() {
                Tracked::File(file) => Some(OldFile { file, stat: stat(repo, &path).unwrap() }),
                _ => None,
            };
            let new = file.zip(*text);
            moves.push(EntryMove {
                path: path.clone(),
                file,
                seen: view.staged(repo, &path).unwrap(),
                disk: DiskState::Written,
            });
            tree_changes.push(TreeChange { path: path.clone(), file });
            let new =
                new.map(|(file, text)| NewFile { file, bytes: text.into(), permissions: None });
            changes.push(FileChange { path, old, new });
        }
        let (tree, touched_trees) = writer.write_tree(before, &tree_changes).unwrap();
        let new = NewCommit { tree, parent: Some(parent), message: "change\n" };
        let new = writer.write_commit(&new).unwrap();
        ChangeSet {
            objects: writer.loose_objects(),
            files: changes,
            index: Some((view, moves)),
            touched_trees,
            ..ChangeSet::of(BranchUpdate {
                name: MAIN.to_owned(),
                from: BranchOrigin::Existing(parent),
                new,
                log: "edt: change".to_owned(),
                head: InHead::Yes,
                head_from: None,
                point: None,
            })
        }
    }

    /// A commit on `main`'s with these files alone. No ref names it.
    pub(crate) fn commit_of(&self, repo: &Repo, files: &[(&str, &str)]) -> Oid {
        let parent = repo.ref_value(MAIN).unwrap();
        let mut writer = ObjectWriter::new(repo);
        let file = |(name, text): &(&str, &str)| TreeChange {
            path: path(name),
            file: Some(FileId {
                oid: writer.write_blob(text.as_bytes()).unwrap(),
                mode: FileMode::Plain,
            }),
        };
        let changes: Vec<TreeChange> = files.iter().map(file).collect();
        let (tree, _) = writer.write_tree(repo.empty_tree(), &changes).unwrap();
        let commit = writer.write_commit(&NewCommit { tree, parent, message: "mine\n" }).unwrap();
        objects::write(repo, &writer.loose_objects()).unwrap();
        commit
    }

    /// A commit of the user's that leaves `a.txt` as it is.
    pub(crate) fn user_commit(&self, repo: &Repo) -> Oid {
        self.commit_of(repo, &[("a.txt", "one\n"), ("mine.txt", "mine\n")])
    }

    /// Stages the blob `oid` for `a.txt`, as `git update-index` does.
    pub(crate) fn stage(&self, repo: &Repo, oid: Oid) {
        let view = IndexView::read(repo).unwrap();
        let path = path("a.txt");
        let seen = view.staged(repo, &path).unwrap();
        let file = Some(FileId { oid, mode: FileMode::Plain });
        let moves = [EntryMove { path, file, seen, disk: DiskState::Other }];
        let stage = StagingArea::open(repo).unwrap();
        let mut prepared = view.prepare(&stage, &moves, &TouchedTrees::new()).unwrap();
        assert_eq!(prepared.lock(repo, &stage).unwrap(), LockOutcome::Held);
        prepared.refresh(repo, &stage, &[]).unwrap();
        prepared.rename_in(repo, &stage).unwrap();
    }

    /// Records `change` in the journal and stages its files, and goes no further.
    pub(crate) fn interrupt(&self, repo: &Repo, change: &ChangeSet) -> Vec<FileRecord> {
        let stage = StagingArea::open(repo).unwrap();
        let files: Vec<FileRecord> =
            change.files.iter().enumerate().map(|(i, file)| staged(&stage, file, i)).collect();
        let ids = |refs: &[(String, Oid)]| {
            refs.iter().map(|(name, oid)| (name.clone(), Id::from(*oid))).collect()
        };
        let moves = change.index.iter().flat_map(|(_, moves)| moves);
        let record = ChangeRecord {
            branch: branch_record(repo, change).unwrap(),
            create: ids(&change.create),
            time: edt_io::clock::seconds(),
            journal: self.journal(repo).inode().unwrap(),
            head_to: change.head_to.clone(),
            replace: Vec::new(),
            drop: ids(&change.drop),
            files: files.clone(),
            entries: moves.filter_map(EntryRecord::of).collect(),
            private: change
                .private
                .iter()
                .map(|it| (it.session.clone(), it.name.clone()))
                .collect(),
        };
        let mut journal = self.journal(repo);
        journal.append(&Record::ChangeSet(Box::new(record))).unwrap();
        objects::write(repo, &change.objects).unwrap();
        // A staged index, which recovery finds without its lock.
        let staged = repo.state_path().join("stage/index");
        std::fs::copy(repo.index_path(), staged).unwrap();
        files
    }

    pub(crate) fn journal(&self, repo: &Repo) -> Journal {
        open_recovered(repo, POINTER).unwrap().0
    }
}

/// The stat of a file.
pub(crate) fn stat(repo: &Repo, path: &RepoPath) -> Option<Stat> {
    let (directory, name) = path.split();
    match repo.root().beneath(directory).unwrap() {
        Parent::Open(dir) => dir.stat(name).unwrap(),
        _ => None,
    }
}
