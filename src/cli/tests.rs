//! A scratch repository with a session, for the tests of the commands. No process is started.

use edt_core::{Options, Request, Workspace};
use edt_git::Repo;
use edt_testkit::ScratchRepo;
use edt_types::{FileChangeKind, FileReport};

/// `text` without colours.
pub(crate) fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

/// The session `fix` in a repository with `a.txt`, whose text is `one`.
pub(crate) struct Session(pub(crate) ScratchRepo);

impl Session {
    pub(crate) fn new() -> Session {
        let session = Session(ScratchRepo::with(&[("a.txt", "one\n")]));
        session.workspace().begin(Some("fix")).unwrap();
        session
    }

    pub(crate) fn workspace(&self) -> Workspace {
        Workspace::open(self.0.path(), Options::default()).unwrap()
    }

    pub(crate) fn apply(&self, request: &Request) {
        self.workspace().apply(request).unwrap();
    }

    pub(crate) fn repo(&self) -> Repo {
        Repo::open(self.0.path()).unwrap()
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let full = self.0.path().join(path);
        std::fs::create_dir_all(full.parent().unwrap()).unwrap();
        std::fs::write(full, text).unwrap();
    }
}

/// The report of `a.txt` with one line changed.
pub(crate) fn file_report() -> FileReport {
    FileReport {
        path: "a.txt".to_owned(),
        change: FileChangeKind::Modified,
        from: None,
        hash_before: None,
        hash_after: None,
        bytes_before: Some(4),
        bytes_after: Some(8),
        lines_added: 1,
        lines_removed: 0,
        context: None,
        matched_by: None,
        user_changes: edt_types::UserChanges::None,
        left_over: vec![],
        recorded: edt_types::RecordedIn::Branch,
    }
}
