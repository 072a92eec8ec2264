//! A directory, a store beside it, and programs that are recorded.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use edt_recorder::{NothingClean, RecordedRun, Recorder, Recording, Restoration, restore};
use tempfile::TempDir;

use crate::snapshot::{difference, snapshot};

pub(crate) struct Scene {
    directory: TempDir,
}

/// What a program did.
pub(crate) struct Done {
    pub(crate) run: RecordedRun,
    pub(crate) output: Output,
}

impl Done {
    pub(crate) fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.output.stdout).into_owned()
    }

    pub(crate) fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }
}

impl Scene {
    /// An empty tree.
    pub(crate) fn new() -> Scene {
        let directory = tempfile::tempdir().unwrap();
        for name in ["tree", "store", "outside"] {
            std::fs::create_dir(directory.path().join(name)).unwrap();
        }
        Scene { directory }
    }

    /// A tree that this script made.
    pub(crate) fn of(script: &str) -> Scene {
        let scene = Scene::new();
        scene.unrecorded(script);
        scene
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.directory.path().join("tree")
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.directory.path().join("store")
    }

    pub(crate) fn shell(&self, script: &str) -> Command {
        let mut command = Command::new("bash");
        command.arg("-ec").arg(script).current_dir(self.root());
        command.env("OUTSIDE", self.directory.path().join("outside"));
        command.env("HOME", self.directory.path()).env("GIT_CONFIG_NOSYSTEM", "1");
        command.env("PATH", std::env::var_os("PATH").unwrap());
        command
    }

    pub(crate) fn unrecorded(&self, script: &str) {
        let output = self.shell(script).output().unwrap();
        assert!(output.status.success(), "{script}: {output:?}");
    }

    pub(crate) fn recording(&self) -> Recording {
        let mut recording = Recording::new(self.root(), self.store());
        recording.excluded.push(self.root().join(".git"));
        recording
    }

    /// Runs the script under the recorder; it must succeed.
    pub(crate) fn run(&self, script: &str) -> Done {
        let done = record(self.recording(), self.shell(script));
        assert!(done.output.status.success(), "{script}: {:?}", done.output);
        assert!(done.run.complete);
        assert_eq!(done.run.unproved, [""; 0]);
        done
    }

    pub(crate) fn restore(&self) -> Restoration {
        restore(&self.store(), &self.root(), &mut NothingClean).unwrap()
    }

    pub(crate) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.root().join(path)).unwrap()
    }
}

/// Runs a command under the recorder.
pub(crate) fn record(recording: Recording, mut command: Command) -> Done {
    let (setup, recorder) = Recorder::prepare(recording).unwrap();
    let start = move || {
        drop(setup.apply().unwrap());
        command.output().unwrap()
    };
    let output = std::thread::spawn(start).join().unwrap();
    Done { run: recorder.finish().unwrap(), output }
}

/// What `before` made is as it was after `script` ran and was reverted.
pub(crate) fn comes_back(before: &str, script: &str) -> Scene {
    let scene = Scene::of(before);
    let root = scene.root();
    let was = snapshot(&root);
    scene.run(script);
    assert_ne!(was, snapshot(&root), "{script} changes nothing");
    let restoration = scene.restore();
    let different = difference(&was, &snapshot(&root));
    assert!(different.is_empty(), "{script}\n{different}{restoration:#?}");
    assert!(restoration.left.is_empty(), "{script}: {:?}", restoration.left);
    assert!(restoration.lost.is_empty(), "{script}: {:?}", restoration.lost);
    scene
}

pub(crate) fn assert_same(was: &crate::snapshot::Snapshot, root: &Path, script: &str) {
    let different = difference(was, &snapshot(root));
    assert!(different.is_empty(), "{script}\n{different}");
}
