//! A scratch repository that the tests of this crate drive through the library. No process is
//! started.

use std::fmt::Debug;
use std::fs;
use std::path::Path;

use edt_git::read::ObjectKind;
use edt_git::{FileId, FileMode, NewCommit, ObjectWriter, Oid, Repo, TreeChange, objects};
use edt_testkit::ScratchRepo;
use edt_types::{DryRun, Finding, Outcome, RepoPath, Result};

use crate::session::back::undo::{BranchMove, MoveOptions, UndoTarget, redo, undo};
use crate::session::private::not_kept::NamedPaths;
use crate::session::recording::snapshot::Snapshot;
use crate::session::worktree::begin::{BeginOptions, HeadSwitch, begin};
use crate::session::worktree::options::Options;
use crate::session::{LockedWorkspace, Session};
use crate::txn::{self, Request};

/// A repository with a worktree, on the branch `main`.
pub(crate) struct Scratch(ScratchRepo);

/// A path that is valid.
pub(crate) fn path(text: &str) -> RepoPath {
    RepoPath::parse(text.as_bytes()).unwrap()
}

/// The only finding of a refusal.
#[track_caller]
pub(crate) fn refusal<T: Debug>(result: Result<T>) -> Finding {
    let mut found = result.unwrap_err().into_vec();
    assert_eq!(found.len(), 1, "{found:#?}");
    found.remove(0)
}

impl Scratch {
    pub(crate) fn with(files: &[(&str, &str)]) -> Scratch {
        Scratch(ScratchRepo::with(files))
    }

    /// As [`Scratch::with`], with ignore rules in `.gitignore`.
    pub(crate) fn with_rules(files: &[(&str, &str)], rules: &str) -> Scratch {
        let scratch = Scratch::unborn();
        let files = files.iter().copied().chain([(".gitignore", rules)]);
        let files: Vec<(&str, &[u8])> = files.map(|(path, text)| (path, text.as_bytes())).collect();
        let user = ScratchRepo::USER;
        edt_testkit::repository::commit(scratch.root(), user, &files, "a commit").unwrap();
        scratch
    }

    pub(crate) fn unborn() -> Scratch {
        Scratch(ScratchRepo::unborn())
    }

    pub(crate) fn root(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn open(&self) -> LockedWorkspace {
        self.open_with(Options::default())
    }

    pub(crate) fn open_with(&self, options: Options) -> LockedWorkspace {
        LockedWorkspace::open(self.root(), options).unwrap()
    }

    /// The repository, read without the lock.
    pub(crate) fn repo(&self) -> Repo {
        Repo::open(self.root()).unwrap()
    }

    /// Writes a file below the root, also in the Git directory.
    pub(crate) fn write(&self, path: &str, text: &str) {
        let full = self.root().join(path);
        fs::create_dir_all(full.parent().unwrap()).unwrap();
        fs::write(full, text).unwrap();
    }

    pub(crate) fn remove(&self, path: &str) {
        fs::remove_file(self.root().join(path)).unwrap();
    }

    /// The text of a file; `None` if there is none.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.root().join(path)).ok()
    }

    /// The content of HEAD: a branch or a commit.
    pub(crate) fn head_target(&self) -> String {
        self.repo().head_target().unwrap().unwrap()
    }

    /// The commit at HEAD.
    pub(crate) fn head(&self) -> Oid {
        self.repo().head().unwrap().commit.unwrap()
    }

    pub(crate) fn ref_value(&self, name: &str) -> Option<Oid> {
        self.repo().ref_value(name).unwrap()
    }

    /// Sets a ref to a commit, as a user could.
    pub(crate) fn set_ref(&self, name: &str, to: Oid) {
        self.write(&format!(".git/{name}"), &format!("{to}\n"));
    }

    /// Begins the session `name` and switches HEAD to it.
    pub(crate) fn begin(&self, name: &str) -> Session {
        self.begin_with(name, HeadSwitch::AsConfigured)
    }

    pub(crate) fn begin_with(&self, name: &str, switching: HeadSwitch) -> Session {
        let options =
            BeginOptions { name: Some(name.to_owned()), switching, ..BeginOptions::default() };
        begin(&mut self.open(), &options).unwrap().session
    }

    /// The session of the worktree.
    pub(crate) fn session(&self) -> Session {
        let repo = self.repo();
        Session::required(&repo, &repo.head().unwrap()).unwrap()
    }

    pub(crate) fn apply(&self, request: &Request) -> Result<Outcome> {
        txn::transact(&mut self.open(), request, DryRun::No)
    }

    /// Replaces `old` by `new` in a file, with the message `subject`.
    #[track_caller]
    pub(crate) fn edit(&self, subject: &str, path: &str, old: &str, new: &str) -> Outcome {
        self.apply(&Request::new(subject).edit(path, old, new)).unwrap()
    }

    pub(crate) fn undo(&self, count: u64) -> Result<BranchMove> {
        let session = self.session();
        undo(&mut self.open(), &session, &UndoTarget::Edits(count), MoveOptions::default())
    }

    pub(crate) fn redo(&self) -> Result<BranchMove> {
        let session = self.session();
        redo(&mut self.open(), &session, MoveOptions::default())
    }

    /// The files before a program or an agent's tool changes them.
    pub(crate) fn snapshot(&self) -> Snapshot {
        self.snapshot_with(&NamedPaths::default())
    }

    /// The same, for a program whose command names these paths.
    pub(crate) fn snapshot_with(&self, named: &NamedPaths) -> Snapshot {
        let repo = self.repo();
        let head = repo.head().unwrap();
        let tip = Session::current(&repo, &head).unwrap().map_or(head.commit, |one| Some(one.tip));
        Snapshot::take(&repo, repo.tree_of(tip.unwrap()).unwrap(), named).unwrap()
    }

    /// Commits `files` on `branch` as a user would in another worktree: neither the index nor a
    /// file of this worktree changes. `None` removes a file.
    pub(crate) fn user_commit(
        &self,
        branch: &str,
        files: &[(&str, Option<&str>)],
        message: &str,
    ) -> Oid {
        let repo = &self.repo();
        let name = format!("refs/heads/{branch}");
        let parent = repo.ref_value(&name).unwrap();
        let mut writer = ObjectWriter::new(repo);
        let changes: Vec<TreeChange> = files
            .iter()
            .map(|(named, text)| TreeChange {
                path: path(named),
                file: text.map(|text| FileId {
                    oid: writer.write_blob(text.as_bytes()).unwrap(),
                    mode: FileMode::Plain,
                }),
            })
            .collect();
        let before = parent.map_or(repo.empty_tree(), |parent| repo.tree_of(parent).unwrap());
        let tree = writer.write_tree(before, &changes).unwrap().0;
        let commit = writer.write_commit(&NewCommit { tree, parent, message }).unwrap();
        objects::write(repo, &writer.loose_objects()).unwrap();
        self.set_ref(&name, commit);
        commit
    }

    /// The complete message of a commit.
    pub(crate) fn message(&self, commit: Oid) -> String {
        let text = self.repo().object(commit, ObjectKind::Commit).unwrap();
        String::from_utf8(text).unwrap().split_once("\n\n").unwrap().1.to_owned()
    }

    /// The text of a file in a commit.
    pub(crate) fn committed(&self, commit: Oid, named: &str) -> Option<String> {
        let repo = self.repo();
        match repo.tracked(repo.tree_of(commit).unwrap(), &path(named)).unwrap() {
            edt_git::Tracked::File(file) => {
                Some(String::from_utf8(repo.object(file.oid, ObjectKind::Blob).unwrap()).unwrap())
            }
            _ => None,
        }
    }
}
