//! Shared by the benchmarks: a scratch directory and plain Git.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A scratch directory, removed at the end unless the run panics.
pub(crate) struct Scratch(tempfile::TempDir);

impl Scratch {
    pub(crate) fn new() -> Scratch {
        Scratch(tempfile::Builder::new().prefix("edt-bench-").tempdir().expect("a scratch folder"))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        self.0.disable_cleanup(std::thread::panicking());
    }
}

/// Plain Git in `dir`, with only the repository's configuration.
pub(crate) fn git_command(dir: &Path) -> Command {
    let mut command = Command::new("git");
    command
        .arg("-C")
        .arg(dir)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null");
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        command.env_remove(name);
    }
    command
}

/// The output of `git` with `input` on its standard input; a failure ends the benchmark.
pub(crate) fn git(dir: &Path, args: &[&str], input: &[u8]) -> Vec<u8> {
    use std::io::Write as _;

    let mut command = git_command(dir);
    let child = command
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = child.expect("git starts");
    // The input is written from its own thread: Git may write before it has read everything.
    let mut pipe = child.stdin.take().expect("a pipe");
    let output = std::thread::scope(|scope| {
        scope.spawn(move || pipe.write_all(input));
        child.wait_with_output().expect("git ends")
    });
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {args:?} in {} failed: {said}", dir.display());
    output.stdout
}

/// The output of `git` as one trimmed line.
pub(crate) fn git_line(dir: &Path, args: &[&str]) -> String {
    String::from_utf8_lossy(&git(dir, args, b"")).trim().to_owned()
}
