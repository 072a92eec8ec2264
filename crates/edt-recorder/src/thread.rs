//! The thread that made a call: its memory, its directories, its rights.

use std::fs::File;
use std::io::{self, IoSliceMut};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt as _;

use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use nix::unistd::Pid;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, openat, stat, statat};
use rustix::io::Errno;

use crate::inode::Sight;

/// The longest path, with its terminating zero.
const MAX_PATH: usize = 4096;
/// How much is read at once: never across a page that may be unmapped.
const PAGE: usize = 4096;

/// A thread that waits for the answer to its call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallingThread {
    pub(crate) id: i32,
}

impl CallingThread {
    /// The recorder, which makes no calls.
    pub(crate) fn own() -> CallingThread {
        CallingThread { id: rustix::process::getpid().as_raw_nonzero().get() }
    }

    /// The text at `address`, without its terminating zero.
    pub(crate) fn path(self, address: u64) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        let mut at = usize::try_from(address).map_err(|_| Errno::FAULT)?;
        loop {
            let mut buffer = [0; 256];
            let length = (PAGE - at % PAGE).min(buffer.len());
            let read = self.read(at, &mut buffer[..length])?;
            if let Some(end) = buffer[..read].iter().position(|byte| *byte == 0) {
                text.extend_from_slice(&buffer[..end]);
                return Ok(text);
            }
            text.extend_from_slice(&buffer[..read]);
            at += read;
            if text.len() >= MAX_PATH {
                return Err(Errno::NAMETOOLONG.into());
            }
        }
    }

    /// So many bytes at `address`.
    pub(crate) fn bytes(self, address: u64, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        let address = usize::try_from(address).map_err(|_| Errno::FAULT)?;
        let mut read = 0;
        while read < length {
            read += self.read(address + read, &mut bytes[read..])?;
        }
        Ok(bytes)
    }

    /// Numbers of 64 bits at `address`.
    pub(crate) fn numbers<const N: usize>(self, address: u64) -> io::Result<[u64; N]> {
        let bytes = self.bytes(address, 8 * N)?;
        let mut numbers = [0; N];
        for (number, bytes) in numbers.iter_mut().zip(bytes.chunks_exact(8)) {
            *number = bytes.try_into().map_or(0, u64::from_ne_bytes);
        }
        Ok(numbers)
    }

    /// Reads at least one byte.
    fn read(self, address: usize, to: &mut [u8]) -> io::Result<usize> {
        let length = to.len();
        let remote = RemoteIoVec { base: address, len: length };
        let from = Pid::from_raw(self.id);
        match process_vm_readv(from, &mut [IoSliceMut::new(to)], &[remote]) {
            Ok(0) | Err(nix::errno::Errno::EFAULT) => Err(Errno::FAULT.into()),
            Ok(read) => Ok(read),
            // A container may refuse the call.
            Err(_) => {
                let memory = File::open(format!("/proc/{}/mem", self.id))?;
                match memory.read_at(to, address as u64) {
                    Ok(0) => Err(Errno::FAULT.into()),
                    Err(error) if error.raw_os_error() == Some(Errno::IO.raw_os_error()) => {
                        Err(Errno::FAULT.into())
                    }
                    read => read,
                }
            }
        }
    }

    /// Its directory or open file `number`; `AT_FDCWD` is the working directory.
    pub(crate) fn file(self, number: i32) -> io::Result<OwnedFd> {
        let path = if number == nix::libc::AT_FDCWD {
            format!("/proc/{}/cwd", self.id)
        } else {
            format!("/proc/{}/fd/{number}", self.id)
        };
        match openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) {
            Err(Errno::NOENT) if number >= 0 => Err(Errno::BADF.into()),
            opened => Ok(opened?),
        }
    }

    pub(crate) fn root(self) -> io::Result<OwnedFd> {
        let path = format!("/proc/{}/root", self.id);
        Ok(openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?)
    }

    /// Its root directory, if it is another than `own`, the recorder's.
    pub(crate) fn other_root(self, own: &Sight) -> io::Result<Option<OwnedFd>> {
        let sight = Sight::of_target(CWD, format!("/proc/{}/root", self.id).as_bytes())?;
        if (sight.inode, sight.mount) == (own.inode, own.mount) {
            return Ok(None);
        }
        Ok(Some(self.root()?))
    }

    pub(crate) fn mounts(self) -> io::Result<Vec<u8>> {
        std::fs::read(format!("/proc/{}/mountinfo", self.id))
    }

    /// Whether it is in the user namespace with this inode.
    pub(crate) fn has_user_namespace(self, inode: u64) -> bool {
        stat(format!("/proc/{}/ns/user", self.id)).is_ok_and(|found| found.st_ino == inode)
    }

    pub(crate) fn umask(self) -> io::Result<u32> {
        let status = self.status()?;
        let mask = field(&status, "Umask:").and_then(|text| u32::from_str_radix(text, 8).ok());
        mask.ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// The number of its process.
    pub(crate) fn process(self) -> io::Result<i32> {
        let number = field(&self.status()?, "Tgid:").and_then(|text| text.parse().ok());
        number.ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// The numbers that `/proc/self` and `/proc/thread-self` have for it.
    pub(crate) fn own_numbers(self) -> io::Result<(String, String)> {
        let status = self.status()?;
        let last = |name: &str| {
            let found = field(&status, name).and_then(|text| text.split_whitespace().last());
            found.map(str::to_owned)
        };
        match (last("NStgid:"), last("NSpid:")) {
            (Some(process), Some(thread)) => Ok((process, thread)),
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    fn status(self) -> io::Result<String> {
        let bytes = std::fs::read(format!("/proc/{}/status", self.id))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim)
}

/// The inode of this process's user namespace.
pub(crate) fn own_user_namespace() -> io::Result<u64> {
    Ok(statat(CWD, "/proc/self/ns/user", AtFlags::empty())?.st_ino)
}
