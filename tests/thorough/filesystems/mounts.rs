//! Loop devices and mounts, each undone when its value is dropped.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// A program that ends within a minute.
pub(super) fn command(program: &str) -> Command {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", "60", program]).stdin(Stdio::null());
    command
}

/// Runs it and returns whether it succeeded.
pub(super) fn quiet(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|done| done.success())
}

/// A file system in a file, mounted through a loop device.
pub(super) struct Mounted {
    device: String,
    at: PathBuf,
    above: Option<PathBuf>,
}

impl Mounted {
    /// Mounts `image`; the error is what the program said.
    pub(super) fn new(image: &Path, at: &Path, options: &str) -> Result<Mounted, String> {
        std::fs::create_dir_all(at).unwrap();
        let said = |mut command: Command| {
            let done = command.output().unwrap();
            let text = String::from_utf8_lossy(&done.stdout).trim().to_owned();
            if done.status.success() {
                return Ok(text);
            }
            Err(format!("{command:?}: {}", String::from_utf8_lossy(&done.stderr)))
        };
        let mut attach = command("losetup");
        attach.args(["--find", "--show"]).arg(image);
        let mut mounted = Mounted { device: said(attach)?, at: at.to_owned(), above: None };
        let mut mount = command("mount");
        mount.args(["-o", options, &mounted.device]).arg(at);
        if let Err(error) = said(mount) {
            mounted.at = PathBuf::new();
            return Err(error);
        }
        Ok(mounted)
    }

    /// Mounts an overlay over the directories `lower`, `upper` and `work` there.
    pub(super) fn overlay(&mut self, at: &Path) -> bool {
        std::fs::create_dir_all(at).unwrap();
        let dir = |name: &str| self.at.join(name).display().to_string();
        let options =
            format!("lowerdir={},upperdir={},workdir={}", dir("lower"), dir("upper"), dir("work"));
        let mut mount = command("mount");
        mount.args(["-t", "overlay", "-o", &options, "overlay"]).arg(at);
        self.above = Some(at.to_owned());
        quiet(&mut mount)
    }
}

impl Drop for Mounted {
    /// Waits for programs that still run there: after a lazy unmount the file system would still
    /// write while the same image is mounted again.
    fn drop(&mut self) {
        let places = self.above.iter().chain([&self.at]);
        for place in places.filter(|place| !place.as_os_str().is_empty()) {
            let gone = || {
                let done = command("umount").arg(place).output().unwrap();
                done.status.success() || !String::from_utf8_lossy(&done.stderr).contains("busy")
            };
            let soon = || (0..200).any(|_| gone() || pause());
            if !soon() {
                println!("{} is busy", place.display());
                quiet(command("umount").arg("-l").arg(place));
            }
        }
        quiet(command("losetup").args(["-d", &self.device]));
    }
}

fn pause() -> bool {
    std::thread::sleep(Duration::from_millis(100));
    false
}
