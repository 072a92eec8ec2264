//! File systems that a thread of a test serves through FUSE. They speak the kernel's protocol
//! themselves; the numbers are those of `fuse_kernel.h`.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The largest number of bytes that the kernel reads or writes at once.
pub(crate) const LARGEST: u32 = 1 << 20;
/// The node of the root directory.
pub(crate) const ROOT: u64 = 1;

/// A place where something is mounted. Dropping it unmounts it.
pub(crate) struct Mount(pub(crate) PathBuf);

impl Drop for Mount {
    fn drop(&mut self) {
        let mut unmount = Command::new("timeout");
        unmount.args(["--kill-after=5", "60", "umount", "-l"]).arg(&self.0);
        let _ = unmount.stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}

/// A request: its node, and what follows the head.
pub(crate) struct Request<'r> {
    pub(crate) opcode: u32,
    pub(crate) node: u64,
    pub(crate) body: &'r [u8],
}

impl Request<'_> {
    pub(crate) fn word(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.body[at..at + 4].try_into().unwrap())
    }

    pub(crate) fn long(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.body[at..at + 8].try_into().unwrap())
    }

    /// The names that follow `at` bytes.
    pub(crate) fn names(&self, at: usize) -> [&OsStr; 2] {
        let mut names = self.body[at..].split(|byte| *byte == 0).map(OsStr::from_bytes);
        [names.next().unwrap(), names.next().unwrap_or_default()]
    }
}

pub(crate) fn longs(values: &[u64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// The answer to a request that is not known: ENOSYS.
pub(crate) fn unknown<T>() -> io::Result<T> {
    Err(io::Error::from_raw_os_error(38))
}

/// Mounts a file system at the directory `at`, and serves it with `answer` until it is unmounted;
/// `None` without FUSE, or for another user than root. The requests without an answer (FORGET,
/// INTERRUPT, `BATCH_FORGET`) reach `answer`, too; INIT does not.
pub(crate) fn mount(
    at: &Path,
    options: &str,
    mut answer: impl FnMut(&Request<'_>) -> io::Result<Vec<u8>> + Send + 'static,
) -> Option<Mount> {
    let mut device = OpenOptions::new().read(true).write(true).open("/dev/fuse").ok()?;
    let mut mount = Command::new("timeout");
    mount.args(["--kill-after=5", "60", "mount", "-i", "-t", "fuse", "-o"]);
    mount.arg(format!("fd=0,rootmode=40000,user_id=0,group_id=0,allow_other,{options}"));
    mount.arg("edt-test").arg(at).stdin(Stdio::from(device.try_clone().unwrap()));
    if !mount.output().unwrap().status.success() {
        return None;
    }
    std::thread::spawn(move || {
        let mut buffer = vec![0; LARGEST as usize + 65536];
        loop {
            let len = match device.read(&mut buffer) {
                Ok(len) if len >= 40 => len,
                // ENOENT: the request was interrupted.
                Err(error) if matches!(error.raw_os_error(), Some(2 | 4 | 11)) => continue,
                _ => return,
            };
            serve(&mut device, &buffer[..len], &mut answer);
        }
    });
    Some(Mount(at.to_owned()))
}

fn serve(
    device: &mut File,
    message: &[u8],
    answer: &mut impl FnMut(&Request<'_>) -> io::Result<Vec<u8>>,
) {
    let (head, body) = message.split_at(40);
    let head = Request { opcode: 0, node: 0, body: head };
    let unique = head.long(8);
    let request = Request { opcode: head.word(4), node: head.long(16), body };
    let answered = if request.opcode == 26 { Ok(init(&request)) } else { answer(&request) };
    if matches!(request.opcode, 2 | 36 | 42) {
        return;
    }
    let (error, payload) = match answered {
        Ok(payload) => (0, payload),
        Err(error) => (-error.raw_os_error().unwrap_or(5), Vec::new()),
    };
    let mut out = u32::try_from(16 + payload.len()).unwrap().to_le_bytes().to_vec();
    out.extend(error.to_le_bytes());
    out.extend(unique.to_le_bytes());
    out.extend(payload);
    let _ = device.write_all(&out);
}

fn init(request: &Request<'_>) -> Vec<u8> {
    // Big writes, and as many pages as `LARGEST` has.
    let (flags, pages) = (1 << 5 | 1 << 22, LARGEST / 4096);
    let words = [7, 31, request.word(8), flags, 0x000c | 0x000a << 16, LARGEST, 1, pages];
    let mut out: Vec<u8> = words.iter().flat_map(|word: &u32| word.to_le_bytes()).collect();
    out.resize(64, 0);
    out
}
