//! Performing a [layout](super::layout) in this process's own namespace of mounts.

use std::ffi::{CString, OsString};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, open};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, mount, mount_change,
    mount_remount, move_mount, open_tree,
};

use super::layout::Op;

/// The devices that programs need.
const NODES: &[&str] = &["null", "zero", "full", "random", "urandom", "tty"];
const LINKS: &[(&str, &str)] = &[
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("ptmx", "pts/ptmx"),
];

/// Makes everything readable only, then performs `ops`. On an error the namespace is of no use.
pub(super) fn perform(ops: &[Op]) -> Result<(), String> {
    let failed = |what: &str, path: &Path, error: Errno| {
        format!("{} cannot be {what}: {error}.", path.display())
    };
    let root = Path::new("/");
    mount_change(root, MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .map_err(|error| failed("made a mount of this namespace alone", root, error))?;
    // What is to stay as it is outside is taken hold of before anything covers it: first what can be written …
    let mut held = Vec::new();
    for op in ops {
        held.push(match op {
            Op::Writable(path) => {
                vec![hold(path.path()).map_err(|error| failed("held", path.path(), error))?]
            }
            Op::Devices { .. } => {
                NODES.iter().filter_map(|name| hold(&Path::new("/dev").join(name)).ok()).collect()
            }
            _ => Vec::new(),
        });
    }
    read_only()?;
    // … then what cannot.
    for (op, held) in ops.iter().zip(&mut held) {
        if let Op::Fixed(path) = op {
            held.push(hold(path.path()).map_err(|error| failed("held", path.path(), error))?);
        }
    }
    for (op, held) in ops.iter().zip(held) {
        match op {
            Op::Processes => {
                let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
                mount("proc", "/proc", "proc", flags, None)
                    .map_err(|error| failed("mounted", Path::new("/proc"), error))?;
            }
            Op::Devices { room } => {
                devices(*room, &held).map_err(|error| failed("made", Path::new("/dev"), error))?;
            }
            Op::Room { at, bytes, open } => {
                let mode = if *open { "1777" } else { "0755" };
                memory(at.path(), *bytes, mode)
                    .map_err(|error| failed("mounted", at.path(), error))?;
            }
            Op::Writable(path) | Op::Fixed(path) => {
                for tree in held {
                    put(&tree, path.path())
                        .map_err(|error| failed("mounted", path.path(), error))?;
                }
            }
            Op::NoFolder(path) => {
                hide(path.path(), "folder").map_err(|error| failed("hidden", path.path(), error))?
            }
            Op::NoFile(path) => {
                hide(path.path(), "file").map_err(|error| failed("hidden", path.path(), error))?
            }
        }
    }
    let flags = MountFlags::BIND | MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NOEXEC;
    mount_remount("/dev", flags, "")
        .map_err(|error| failed("made readable only", Path::new("/dev"), error))
}

/// A copy of the mounts at `path`, which stands nowhere yet.
fn hold(path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE;
    open_tree(CWD, path, flags)
}

/// Puts it there; makes the place if a file system in memory has come over it.
fn put(tree: &OwnedFd, at: &Path) -> rustix::io::Result<()> {
    if at.symlink_metadata().is_err() {
        let folder = rustix::fs::fstat(tree)
            .is_ok_and(|stat| rustix::fs::FileType::from_raw_mode(stat.st_mode).is_dir());
        place(at, folder)?;
    }
    attach(tree, at)
}

fn attach(tree: &OwnedFd, at: &Path) -> rustix::io::Result<()> {
    move_mount(tree.as_fd(), "", CWD, at, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
}

/// An empty file or folder at `at`, with the folders above it.
fn place(at: &Path, folder: bool) -> rustix::io::Result<()> {
    let errno =
        |error: &std::io::Error| error.raw_os_error().map_or(Errno::IO, Errno::from_raw_os_error);
    let folders = if folder { Some(at) } else { at.parent() };
    folders.map_or(Ok(()), std::fs::create_dir_all).map_err(|error| errno(&error))?;
    if !folder {
        open(at, OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC, Mode::from_raw_mode(0o444))?;
    }
    Ok(())
}

fn memory(at: &Path, bytes: u64, mode: &str) -> rustix::io::Result<()> {
    let data = CString::new(format!("size={bytes},mode={mode}")).map_err(|_| Errno::INVAL)?;
    mount("tmpfs", at, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, Some(data.as_c_str()))
}

/// Where the empty file and folder stand that cover secrets.
const EMPTY: &str = "/dev/.empty";

fn devices(room: u64, nodes: &[OwnedFd]) -> rustix::io::Result<()> {
    let dev = Path::new("/dev");
    memory(dev, 1 << 20, "0755")?;
    for (name, node) in NODES.iter().zip(nodes) {
        put(node, &dev.join(name))?;
    }
    for (name, to) in LINKS {
        rustix::fs::symlink(*to, dev.join(name))?;
    }
    for name in ["pts", "shm"] {
        rustix::fs::mkdir(dev.join(name), Mode::from_raw_mode(0o755))?;
    }
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    mount("devpts", "/dev/pts", "devpts", flags, Some(c"newinstance,ptmxmode=0666,mode=620"))?;
    memory(&dev.join("shm"), room, "1777")?;
    place(&Path::new(EMPTY).join("folder"), true)?;
    place(&Path::new(EMPTY).join("file"), false)
}

fn hide(at: &Path, what: &str) -> rustix::io::Result<()> {
    if at.symlink_metadata().is_err() {
        // A file system in memory stands over it.
        return Ok(());
    }
    attach(&hold(&Path::new(EMPTY).join(what))?, at)
}

/// Makes every mount readable only. `mount_setattr` would do it in one call, but not by a safe one.
fn read_only() -> Result<(), String> {
    let table = std::fs::read("/proc/self/mountinfo")
        .map_err(|error| format!("/proc/self/mountinfo: {error}."))?;
    for line in table.split(|byte| *byte == b'\n') {
        let Some((path, flags)) = writable_mount(line) else { continue };
        match mount_remount(&path, MountFlags::BIND | MountFlags::RDONLY | flags, "") {
            // Not to be reached, by the program neither: something is mounted over it, or its folder is closed.
            Ok(()) | Err(Errno::NOENT | Errno::ACCESS | Errno::NOTDIR | Errno::INVAL) => {}
            Err(error) => {
                return Err(format!("{} cannot be made readable only: {error}.", path.display()));
            }
        }
    }
    Ok(())
}

/// Where a mount of the table stands, and what it must keep; `None` if it can be read only already.
fn writable_mount(line: &[u8]) -> Option<(PathBuf, MountFlags)> {
    let mut fields = line.split(|byte| *byte == b' ');
    let (path, options) = (fields.nth(4)?, fields.next()?);
    // A folder where something is mounted when it is looked at: it must not be looked at.
    let kind = fields.skip_while(|field| *field != b"-").nth(1)?;
    if kind == b"autofs" {
        return None;
    }
    let mut flags = MountFlags::empty();
    for option in options.split(|byte| *byte == b',') {
        flags |= match option {
            b"ro" => return None,
            b"nosuid" => MountFlags::NOSUID,
            b"nodev" => MountFlags::NODEV,
            b"noexec" => MountFlags::NOEXEC,
            b"noatime" => MountFlags::NOATIME,
            b"nodiratime" => MountFlags::NODIRATIME,
            b"relatime" => MountFlags::RELATIME,
            b"nosymfollow" => MountFlags::NOSYMFOLLOW,
            _ => MountFlags::empty(),
        };
    }
    Some((unescaped(path), flags))
}

/// A path as the kernel writes it: space, tab, line end and backslash as three octal digits.
fn unescaped(path: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path;
    while let [first, after @ ..] = rest {
        rest = after;
        let digits = (*first == b'\\').then(|| after.get(..3)).flatten();
        match digits
            .and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok())
        {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[3..];
            }
            None => bytes.push(*first),
        }
    }
    OsString::from_vec(bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_table_of_mounts_is_read_with_what_must_stay() {
        let line = br"36 35 98:0 /mnt1 /mnt\0402\134 rw,nosuid,noatime master:1 - ext3 /dev/root rw,errors=continue";
        let expected = (PathBuf::from("/mnt 2\\"), MountFlags::NOSUID | MountFlags::NOATIME);
        assert_eq!(writable_mount(line), Some(expected));
        assert_eq!(writable_mount(b"36 35 98:0 / /a ro,nosuid - ext3 /dev/root rw"), None);
        assert_eq!(writable_mount(b"36 35 98:0 / /a rw - autofs x rw"), None);
    }
}
