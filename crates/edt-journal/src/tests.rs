//! A scratch repository whose transactions can be interrupted at any step. No process is started.

#![allow(clippy::unused_self, reason = "one helper for every question of a test")]

use std::os::unix::fs::FileExt as _;
use std::path::Path;

use edt_git::index::IndexState;
use edt_git::{
    FileId, FileMode, InHead, NewCommit, ObjectWriter, Oid, Repo, Tracked, TreeChange, objects,
};
use edt_io::disk::{Parent, Stat};
use edt_testkit::ScratchRepo;
use edt_types::{Finding, RepoPath, Result};

use super::entry::{DiskState, EntryMove};
use super::files::{FileChange, NewFile, OldFile, StagingArea};
use super::index::IndexView;
use super::log::Journal;
use super::pointers::{BranchOrigin, BranchUpdate};
use super::publish::ChangeSet;
use super::record::{BranchRecord, ChangeRecord, EntryRecord, FileRecord, HeadRecord, Id, Record};
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
    let mut record = stage.record(change, "tx", i).unwrap();
    stage.put(&mut record, change).unwrap();
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

    /// Records `change` in the journal and stages its files, and goes no further.
    pub(crate) fn interrupt(&self, repo: &Repo, change: &ChangeSet) -> Vec<FileRecord> {
        let stage = StagingArea::open(repo).unwrap();
        let files: Vec<FileRecord> =
            change.files.iter().enumerate().map(|(i, file)| staged(&stage, file, i)).collect();
        let (branch, ids) = (&change.branch, |refs: &[(String, Oid)]| {
            refs.iter().map(|(name, oid)| (name.clone(), Id::from(*oid))).collect()
        });
        let index = change.index.as_ref();
        let record = ChangeRecord {
            branch: BranchRecord {
                name: branch.name.clone(),
                from: branch.from.into(),
                new: branch.new.into(),
                stat: repo.ref_stat(&branch.name),
                log: branch.log.clone(),
                in_head: branch.head == InHead::Yes,
                head: HeadRecord::of(repo, change).unwrap(),
                point: branch.point.clone(),
            },
            create: ids(&change.create),
            time: edt_io::clock::seconds(),
            journal: self.journal(repo).inode().unwrap(),
            head_to: change.head_to.clone(),
            replace: Vec::new(),
            drop: ids(&change.drop),
            files: files.clone(),
            entries: index
                .iter()
                .flat_map(|(_, moves)| moves)
                .filter_map(|entry| EntryRecord::of(entry, false))
                .collect(),
            index: index.and_then(|(view, _)| view.stat()),
            objects: change
                .objects
                .iter()
                .map(|object| (Id::from(object.oid), object.bytes.clone()))
                .collect(),
            private: change.private.clone(),
        };
        let mut journal = self.journal(repo);
        journal.append(&Record::ChangeSet(Box::new(record))).unwrap();
        objects::write(repo, &change.objects).unwrap();
        files
    }

    pub(crate) fn journal(&self, repo: &Repo) -> Journal {
        open_recovered(repo, POINTER).unwrap().0
    }

    /// Sets the header of the journal back to before its first record.
    pub(crate) fn lose_header(&self) {
        let path = self.repo().state_path().join("journal");
        let file = std::fs::File::options().read(true).write(true).open(path).unwrap();
        let mut head = [0; 52];
        file.read_exact_at(&mut head, 0).unwrap();
        head[20..28].copy_from_slice(&4096_u64.to_le_bytes());
        head[28..36].copy_from_slice(&1_u64.to_le_bytes());
        file.write_all_at(&head, 0).unwrap();
        file.write_all_at(&crc32fast::hash(&head).to_le_bytes(), 52).unwrap();
    }

    /// Makes the journal one of an earlier boot.
    pub(crate) fn restart(&self) {
        restart(self.repo().state_path());
    }
}

/// A record of a transaction that stages `files`.
pub(crate) fn record_of_files(files: Vec<FileRecord>) -> Record {
    let id = || Id::from(Oid::from_bytes_or_panic(&[1; 20]));
    Record::ChangeSet(Box::new(ChangeRecord {
        branch: BranchRecord {
            name: MAIN.to_owned(),
            from: super::record::OriginRecord::Existing(id()),
            new: id(),
            stat: None,
            log: String::new(),
            in_head: false,
            head: None,
            point: None,
        },
        create: Vec::new(),
        time: 0,
        journal: 0,
        head_to: None,
        replace: Vec::new(),
        drop: Vec::new(),
        private: None,
        files,
        entries: Vec::new(),
        index: None,
        objects: Vec::new(),
    }))
}

/// Makes the journal in `directory` one of an earlier boot.
pub(crate) fn restart(directory: &Path) {
    let path = directory.join("journal");
    let file = std::fs::File::options().read(true).write(true).open(path).unwrap();
    let mut head = [0; 52];
    file.read_exact_at(&mut head, 0).unwrap();
    head[36..].fill(0xaa);
    file.write_all_at(&head, 0).unwrap();
    file.write_all_at(&crc32fast::hash(&head).to_le_bytes(), 52).unwrap();
}

/// The stat of a file.
pub(crate) fn stat(repo: &Repo, path: &RepoPath) -> Option<Stat> {
    let (directory, name) = path.split();
    match repo.root().beneath(directory).unwrap() {
        Parent::Open(dir) => dir.stat(name).unwrap(),
        _ => None,
    }
}
