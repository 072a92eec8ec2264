//! A scratch repository in which requests are applied through the library, in this process.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use edt_core::proposal::propose::apply_or_propose;
use edt_core::session::LockedWorkspace;
use edt_core::session::worktree::options::Options;
use edt_core::txn::{self, Request};
use edt_git::read::ObjectKind;
use edt_git::{Oid, Repo, Tracked};
use edt_testkit::ScratchRepo;
use edt_types::{DryRun, Outcome, Refusal, RepoPath};
use serde_json::Value;

/// The bytes of every file by path.
pub(crate) type Snapshot = BTreeMap<String, Vec<u8>>;

pub(crate) struct LibraryRepo {
    scratch: ScratchRepo,
}

/// What edt answered, as its JSON and exit status.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) exit: u8,
    pub(crate) json: Value,
}

impl LibraryRepo {
    pub(crate) fn unborn() -> LibraryRepo {
        LibraryRepo { scratch: ScratchRepo::unborn() }
    }

    pub(crate) fn with(files: &[(&str, &[u8])]) -> LibraryRepo {
        LibraryRepo { scratch: ScratchRepo::with(files) }
    }

    pub(crate) fn root(&self) -> &Path {
        self.scratch.path()
    }

    /// `edt apply --request -`.
    pub(crate) fn apply(&self, request: &Value) -> Answer {
        self.send(Request::from_json(request.to_string().as_bytes()))
    }

    /// `edt apply` with a request that was read, or the reason why it could not be read.
    pub(crate) fn send(&self, request: Result<Request, Refusal>) -> Answer {
        let open = || LockedWorkspace::open(self.root(), Options::default());
        let applied = request
            .inspect_err(|found| {
                if found.any(|finding| finding.path.is_some()) {
                    txn::refused(&open().unwrap(), found);
                }
            })
            .and_then(|request| apply_or_propose(&mut open()?, &request, DryRun::No));
        let outcome = applied.unwrap_or_else(|findings| {
            let mut outcome = Outcome::new(findings.status());
            outcome.lessons = findings.lessons().to_vec();
            outcome.errors = findings.into_vec();
            outcome
        });
        for error in &outcome.errors {
            assert_eq!(edt_types::evidence::faults(error.code, &error.evidence), [""; 0]);
        }
        Answer { exit: outcome.status.exit(), json: serde_json::to_value(outcome).unwrap() }
    }

    /// Applies `request`, which must be refused with exactly `codes` and without a change.
    #[track_caller]
    pub(crate) fn refuses_request(&self, codes: &[&str], exit: u8, request: &Value) -> Answer {
        let before = self.snapshot();
        let answer = self.apply(request);
        assert_eq!((answer.codes().as_slice(), answer.exit), (codes, exit), "{:#}", answer.json);
        assert!(before == self.snapshot(), "a refusal changed something: {:#}", answer.json);
        answer
    }

    #[track_caller]
    pub(crate) fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let full = self.root().join(path);
        fs::create_dir_all(full.parent().unwrap()).unwrap();
        fs::write(full, bytes).unwrap();
    }

    #[track_caller]
    pub(crate) fn read(&self, path: &str) -> Vec<u8> {
        fs::read(self.root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    #[track_caller]
    pub(crate) fn text(&self, path: &str) -> String {
        String::from_utf8(self.read(path)).unwrap()
    }

    pub(crate) fn exists(&self, path: &str) -> bool {
        self.root().join(path).symlink_metadata().is_ok()
    }

    /// The files of the worktree, and of the Git directory what a refusal must not change.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let mut all = Snapshot::new();
        let mut directories = vec![self.root().to_owned()];
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
                let path = entry.strip_prefix(self.root()).unwrap().to_str().unwrap().to_owned();
                if [".git/objects", ".git/edt"].contains(&path.as_str()) {
                    continue;
                }
                if entry.is_dir() && !entry.is_symlink() {
                    directories.push(entry);
                } else {
                    all.insert(path, fs::read(&entry).unwrap_or_default());
                }
            }
        }
        all
    }

    /// The files of the worktree.
    pub(crate) fn files(&self) -> Snapshot {
        let mut files = self.snapshot();
        files.retain(|path, _| !path.starts_with(".git/"));
        files
    }

    fn repo(&self) -> Repo {
        Repo::open(self.root()).unwrap()
    }

    /// The commit at HEAD.
    pub(crate) fn head(&self) -> Oid {
        self.repo().head().unwrap().commit.unwrap()
    }

    /// The messages of the commits on HEAD that are not on `base`, the oldest first.
    pub(crate) fn messages_since(&self, base: Oid) -> Vec<String> {
        let (repo, mut at) = (self.repo(), self.head());
        let mut messages = Vec::new();
        while at != base {
            let text = String::from_utf8(repo.object(at, ObjectKind::Commit).unwrap()).unwrap();
            let (head, message) = text.split_once("\n\n").unwrap();
            messages.insert(0, message.to_owned());
            let parent = head.lines().find_map(|line| line.strip_prefix("parent ")).unwrap();
            at = Oid::from_hex(parent.as_bytes()).unwrap();
        }
        messages
    }

    /// The message of the newest commit.
    pub(crate) fn message(&self) -> String {
        let text = self.repo().object(self.head(), ObjectKind::Commit).unwrap();
        String::from_utf8(text).unwrap().split_once("\n\n").unwrap().1.to_owned()
    }

    /// The values of a trailer of the newest commit.
    pub(crate) fn trailers(&self, key: &str) -> Vec<String> {
        let prefix = format!("{key}: ");
        self.message()
            .lines()
            .filter_map(|line| Some(line.strip_prefix(&prefix)?.to_owned()))
            .collect()
    }

    /// The bytes of `path` in the newest commit.
    #[track_caller]
    pub(crate) fn committed(&self, path: &str) -> Vec<u8> {
        let repo = self.repo();
        let tree = repo.tree_of(self.head()).unwrap();
        let path = RepoPath::parse(path.as_bytes()).unwrap();
        let Tracked::File(file) = repo.tracked(tree, &path).unwrap() else {
            panic!("{path} is not a file in the commit")
        };
        repo.object(file.oid, ObjectKind::Blob).unwrap()
    }
}

impl Answer {
    /// The codes of all errors, in order.
    pub(crate) fn codes(&self) -> Vec<&str> {
        self.errors().iter().map(|error| error["code"].as_str().unwrap()).collect()
    }

    pub(crate) fn errors(&self) -> &[Value] {
        self.json["errors"].as_array().map_or(&[], Vec::as_slice)
    }

    /// The message of the only error.
    #[track_caller]
    pub(crate) fn message(&self) -> &str {
        assert_eq!(self.errors().len(), 1, "{:#}", self.json);
        self.errors()[0]["message"].as_str().unwrap()
    }

    /// The hint of the only error.
    #[track_caller]
    pub(crate) fn hint(&self) -> &str {
        assert_eq!(self.errors().len(), 1, "{:#}", self.json);
        self.errors()[0]["hint"].as_str().unwrap()
    }

    /// Requires that it was applied, without a warning.
    #[track_caller]
    pub(crate) fn landed(self) -> Answer {
        let status = self.json["status"].as_str();
        assert_eq!((self.exit, status), (0, Some("applied")), "{:#}", self.json);
        assert_eq!(self.json["warnings"], serde_json::json!([]), "{:#}", self.json);
        self
    }
}

/// A path below the root of the workspace.
pub(crate) fn in_workspace(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// `count` numbered lines.
pub(crate) fn lines(count: usize) -> String {
    (1..=count).map(|n| format!("line {n} of a text\n")).collect()
}
