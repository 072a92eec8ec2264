//! Applies a [layout](super::layout) in this process's own mount namespace.

use edt_types::text::Shown as _;
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

use super::layout::MountOp;

/// The devices in `/dev`.
const NODES: &[&str] = &["null", "zero", "full", "random", "urandom", "tty"];
const LINKS: &[(&str, &str)] = &[
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("ptmx", "pts/ptmx"),
];

/// Makes everything read-only, then performs `ops`. After an error the namespace must not be used.
pub(super) fn perform(ops: &[MountOp]) -> Result<(), String> {
    let failed = |what: &str, path: &Path, error: Errno| {
        format!("{} cannot be {what}: {error}.", path.shown())
    };
    let root = Path::new("/");
    mount_change(root, MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .map_err(|error| failed("made a private mount", root, error))?;
    // Mounts that stay visible are cloned before anything covers them: first the writable ones …
    let mut clones = Vec::new();
    for op in ops {
        clones.push(match op {
            MountOp::Writable(path) => {
                vec![
                    clone_mount(path.path())
                        .map_err(|error| failed("cloned", path.path(), error))?,
                ]
            }
            MountOp::Devices { .. } => NODES
                .iter()
                .filter_map(|name| clone_mount(&Path::new("/dev").join(name)).ok())
                .collect(),
            _ => Vec::new(),
        });
    }
    read_only()?;
    // … then, after the remount, the read-only ones.
    for (op, clones) in ops.iter().zip(&mut clones) {
        if let MountOp::ReadOnly(path) = op {
            clones.push(
                clone_mount(path.path()).map_err(|error| failed("cloned", path.path(), error))?,
            );
        }
    }
    for (op, clones) in ops.iter().zip(clones) {
        match op {
            MountOp::Processes => {
                let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
                mount("proc", "/proc", "proc", flags, None)
                    .map_err(|error| failed("mounted", Path::new("/proc"), error))?;
            }
            MountOp::Devices { shm_bytes } => {
                devices(*shm_bytes, &clones)
                    .map_err(|error| failed("made", Path::new("/dev"), error))?;
            }
            MountOp::Tmpfs { at, bytes, writable } => {
                let mode = if *writable { "1777" } else { "0755" };
                mount_tmpfs(at.path(), *bytes, mode)
                    .map_err(|error| failed("mounted", at.path(), error))?;
            }
            MountOp::Writable(path) | MountOp::ReadOnly(path) => {
                for tree in clones {
                    attach_at(&tree, path.path())
                        .map_err(|error| failed("mounted", path.path(), error))?;
                }
            }
            MountOp::EmptyDirectory(path) => hide(path.path(), "directory")
                .map_err(|error| failed("hidden", path.path(), error))?,
            MountOp::EmptyFile(path) => {
                hide(path.path(), "file").map_err(|error| failed("hidden", path.path(), error))?;
            }
        }
    }
    let flags = MountFlags::BIND | MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NOEXEC;
    mount_remount("/dev", flags, "")
        .map_err(|error| failed("made read-only", Path::new("/dev"), error))
}

/// A detached copy of the mounts at `path`.
fn clone_mount(path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE;
    open_tree(CWD, path, flags)
}

/// Attaches the copy; creates the mount point if a tmpfs has hidden it.
fn attach_at(tree: &OwnedFd, at: &Path) -> rustix::io::Result<()> {
    if at.symlink_metadata().is_err() {
        let is_directory = rustix::fs::fstat(tree)
            .is_ok_and(|stat| rustix::fs::FileType::from_raw_mode(stat.st_mode).is_dir());
        make_empty(at, is_directory)?;
    }
    attach(tree, at)
}

fn attach(tree: &OwnedFd, at: &Path) -> rustix::io::Result<()> {
    move_mount(tree.as_fd(), "", CWD, at, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
}

/// Creates an empty file or directory at `at`, with its parent directories.
fn make_empty(at: &Path, is_directory: bool) -> rustix::io::Result<()> {
    let errno =
        |error: &std::io::Error| error.raw_os_error().map_or(Errno::IO, Errno::from_raw_os_error);
    let directories = if is_directory { Some(at) } else { at.parent() };
    directories.map_or(Ok(()), std::fs::create_dir_all).map_err(|error| errno(&error))?;
    if !is_directory {
        open(at, OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC, Mode::from_raw_mode(0o444))?;
    }
    Ok(())
}

fn mount_tmpfs(at: &Path, bytes: u64, mode: &str) -> rustix::io::Result<()> {
    let data = CString::new(format!("size={bytes},mode={mode}")).map_err(|_| Errno::INVAL)?;
    mount("tmpfs", at, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, Some(data.as_c_str()))
}

/// The directory with the empty file and directory that cover secrets.
const EMPTY: &str = "/dev/.empty";

fn devices(shm_bytes: u64, nodes: &[OwnedFd]) -> rustix::io::Result<()> {
    let dev = Path::new("/dev");
    mount_tmpfs(dev, 1 << 20, "0755")?;
    for (name, node) in NODES.iter().zip(nodes) {
        attach_at(node, &dev.join(name))?;
    }
    for (name, to) in LINKS {
        rustix::fs::symlink(*to, dev.join(name))?;
    }
    for name in ["pts", "shm"] {
        rustix::fs::mkdir(dev.join(name), Mode::from_raw_mode(0o755))?;
    }
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    mount("devpts", "/dev/pts", "devpts", flags, Some(c"newinstance,ptmxmode=0666,mode=620"))?;
    mount_tmpfs(&dev.join("shm"), shm_bytes, "1777")?;
    make_empty(&Path::new(EMPTY).join("directory"), true)?;
    make_empty(&Path::new(EMPTY).join("file"), false)
}

fn hide(at: &Path, what: &str) -> rustix::io::Result<()> {
    match attach(&clone_mount(&Path::new(EMPTY).join(what))?, at) {
        // A tmpfs has already hidden it, or another program removed it.
        Err(Errno::NOENT) => Ok(()),
        done => done,
    }
}

/// Makes every mount read-only. `mount_setattr` could do it in one call, but has no safe wrapper.
fn read_only() -> Result<(), String> {
    let table = std::fs::read("/proc/self/mountinfo")
        .map_err(|error| format!("/proc/self/mountinfo: {error}."))?;
    for line in table.split(|byte| *byte == b'\n') {
        let Some((path, flags)) = writable_mount(line) else { continue };
        match mount_remount(&path, MountFlags::BIND | MountFlags::RDONLY | flags, "") {
            // The mount is hidden or inaccessible, so the program cannot reach it either.
            Ok(()) | Err(Errno::NOENT | Errno::ACCESS | Errno::NOTDIR | Errno::INVAL) => {}
            Err(error) => {
                return Err(format!("{} cannot be made read-only: {error}.", path.shown()));
            }
        }
    }
    Ok(())
}

/// The mount point and the flags that a remount must keep; `None` if the mount is already
/// read-only.
fn writable_mount(line: &[u8]) -> Option<(PathBuf, MountFlags)> {
    let mut fields = line.split(|byte| *byte == b' ');
    let (path, options) = (fields.nth(4)?, fields.next()?);
    // Access to an autofs directory would trigger a mount.
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

/// Decodes the kernel's escapes: space, tab, newline and backslash are three octal digits.
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
    fn a_line_of_mountinfo_is_parsed_with_the_flags_to_keep() {
        let line = br"36 35 98:0 /mnt1 /mnt\0402\134 rw,nosuid,noatime master:1 - ext3 /dev/root rw,errors=continue";
        let expected = (PathBuf::from("/mnt 2\\"), MountFlags::NOSUID | MountFlags::NOATIME);
        assert_eq!(writable_mount(line), Some(expected));
        assert_eq!(writable_mount(b"36 35 98:0 / /a ro,nosuid - ext3 /dev/root rw"), None);
        assert_eq!(writable_mount(b"36 35 98:0 / /a rw - autofs x rw"), None);
    }

    #[test]
    fn escaped_characters_of_a_mount_point_are_decoded() {
        assert_eq!(unescaped(br"/a\040b\011\012\134"), PathBuf::from("/a b\t\n\\"));
    }

    #[test]
    fn what_only_looks_like_an_escape_stays() {
        assert_eq!(unescaped(br"/a\9"), PathBuf::from(r"/a\9"));
        assert_eq!(unescaped(br"/a\04"), PathBuf::from(r"/a\04"));
    }

    #[test]
    fn a_line_that_is_cut_names_no_mount() {
        assert_eq!(writable_mount(b""), None);
        assert_eq!(writable_mount(b"36 35 98:0 / /a rw"), None);
    }

    #[test]
    fn every_restriction_of_a_mount_is_kept() {
        let line = b"1 2 0:1 / /a rw,nodev,noexec,nodiratime,relatime,nosymfollow - tmpfs x rw";
        let flags = MountFlags::NODEV
            | MountFlags::NOEXEC
            | MountFlags::NODIRATIME
            | MountFlags::RELATIME
            | MountFlags::NOSYMFOLLOW;
        assert_eq!(writable_mount(line), Some((PathBuf::from("/a"), flags)));
    }
}
