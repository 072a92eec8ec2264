//! Operations on files by path, for files outside a worktree: hooks, receipts.

use std::ffi::OsString;
use std::io::{self, Read as _, Seek as _};
use std::ops::ControlFlow;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{self as sys, Access, AtFlags, OFlags, access};
use rustix::io::Errno;

use super::effect::{self, SideEffect};
use super::enclosure::{self, Place, place};
use super::file::{File, OpenMode};
use super::led::unless_link;
use super::new_file::RenameMode;
use super::stat::{Stat, mode};
use super::{owner, platform};

/// What a path refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathContent {
    /// Nothing exists there.
    Nothing,
    /// A regular file, or a link to one.
    File { bytes: Vec<u8>, executable: bool },
    /// Something else, or a dangling link.
    Other,
}

/// Reads the file at `path`.
///
/// # Errors
/// Errors of the operating system other than the cases of [`PathContent`].
pub fn read_path(path: &Path) -> io::Result<PathContent> {
    match std::fs::metadata(path) {
        Ok(meta) if meta.is_file() => {
            let executable = meta.permissions().mode() & 0o111 != 0;
            Ok(PathContent::File { bytes: std::fs::read(path)?, executable })
        }
        Ok(_) => Ok(PathContent::Other),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Ok(if std::fs::symlink_metadata(path).is_ok() {
                PathContent::Other
            } else {
                PathContent::Nothing
            })
        }
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(PathContent::Nothing),
        Err(error) => Err(error),
    }
}

/// Reads the regular file at `path`; `None` if it cannot be read or has more than `max_bytes` bytes. A
/// missing file costs one failed `open`.
#[must_use]
pub fn read_small(path: &Path, max_bytes: u64) -> Option<Vec<u8>> {
    // Opening a FIFO must not block.
    let file = std::fs::File::options()
        .read(true)
        .custom_flags(libc_flag(OFlags::NONBLOCK))
        .open(path)
        .ok()?;
    let size = file.metadata().ok().filter(std::fs::Metadata::is_file)?.len();
    if size > max_bytes { None } else { read_limited(file, max_bytes).ok()? }
}

/// Reads the beginning of the file at `path` into `buffer`, with one call, and returns its length. A
/// FIFO does not block.
///
/// # Errors
/// Any error of the operating system.
pub fn read_beginning(path: &Path, buffer: &mut [u8]) -> io::Result<usize> {
    let mut options = std::fs::File::options();
    options.read(true).custom_flags(libc_flag(OFlags::NONBLOCK)).open(path)?.read(buffer)
}

/// Reads the file at `path` of at most 4095 bytes, such as a ref, with one call.
///
/// # Errors
/// Any error of the operating system; `InvalidData` if the file is longer or not UTF-8.
pub fn read_one_block(path: &Path) -> io::Result<String> {
    let mut buffer = [0; 4096];
    let len = read_beginning(path, &mut buffer)?;
    match std::str::from_utf8(&buffer[..len]) {
        Ok(text) if len < buffer.len() => Ok(text.to_owned()),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// Reads `from` to its end; `None` if that is more than `max_bytes` bytes, of which little more than
/// `max_bytes` are then read.
///
/// # Errors
/// Any error of the operating system.
pub fn read_limited(from: impl io::Read, max_bytes: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    let read = from.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes)? as u64;
    Ok((read <= max_bytes).then_some(bytes))
}

/// Reads the file at `path`; `None` if it has more than `max_bytes` bytes, which are then not all read.
///
/// # Errors
/// Any error of the operating system.
pub fn read_file_limited(path: &Path, max_bytes: u64) -> io::Result<Option<Vec<u8>>> {
    let file = std::fs::File::open(path)?;
    if file.metadata()?.len() > max_bytes { Ok(None) } else { read_limited(file, max_bytes) }
}

pub(super) fn libc_flag(flag: OFlags) -> i32 {
    flag.bits().cast_signed()
}

/// Whether `a` and `b` have the same type, permissions and content: links with the same target, or
/// files with the same bytes.
///
/// # Errors
/// Any error of the operating system.
pub fn is_identical(a: &Path, b: &Path) -> io::Result<bool> {
    let (one, other) = (std::fs::symlink_metadata(a)?, std::fs::symlink_metadata(b)?);
    if one.file_type() != other.file_type() || one.permissions() != other.permissions() {
        return Ok(false);
    }
    if one.is_symlink() {
        return Ok(std::fs::read_link(a)? == std::fs::read_link(b)?);
    }
    Ok(one.is_file() && std::fs::read(a)? == std::fs::read(b)?)
}

/// Replaces the file at `path` with `bytes` in one step, with the permissions `mode` less the
/// umask.
///
/// # Errors
/// Any error of the operating system; nothing has changed then.
pub fn write_atomic(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".edt-new");
    let fresh = path.with_file_name(name);
    let _ = remove_file(&fresh);
    filled(&File::open(&fresh, OpenMode::CreateNew(mode))?, &fresh, path, bytes)
}

/// As [`write_atomic`], in a directory with files of others: the temporary file has a name that no
/// file has, so only `path` is replaced.
///
/// # Errors
/// As [`write_atomic`].
pub fn write_atomic_unique(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    for number in 0_u32.. {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".edt-{}-{number}", super::process::process_id()));
        let fresh = path.with_file_name(name);
        match File::open(&fresh, OpenMode::CreateNew(mode)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            opened => return filled(&opened?, &fresh, path, bytes),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Writes `bytes` into `file`, which is at `fresh`, and renames it to `path`.
fn filled(file: &File, fresh: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let moved = file.write_all(bytes).and_then(|()| rename(fresh, path));
    if moved.is_err() {
        let _ = remove_file(fresh);
    }
    moved
}

/// Writes the file at `path` in place, creating it if missing.
///
/// # Errors
/// Any error of the operating system; a part may be written.
pub fn write_in_place(path: &Path, bytes: &[u8]) -> io::Result<()> {
    File::open(path, OpenMode::WriteOnly)?.write_all(bytes)
}

/// Renames `from` to `to`, which is replaced if it exists.
///
/// # Errors
/// Any error of the operating system.
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    effect::step(SideEffect::Rename, to)?;
    let (from, to) = (place(from)?, place(to)?);
    Ok(sys::renameat(from.directory(), from.name(), to.directory(), to.name())?)
}

/// Creates the hard link `to` to the file `from`.
///
/// # Errors
/// `AlreadyExists` if `to` exists, or any other error of the operating system.
pub fn link(from: &Path, to: &Path) -> io::Result<()> {
    effect::step(SideEffect::Link, to)?;
    let (from, to) = (place(from)?, place(to)?);
    let flags = AtFlags::empty();
    Ok(sys::linkat(from.directory(), from.name(), to.directory(), to.name(), flags)?)
}

/// The target of the symbolic link at `path`; `None` if it cannot be read.
#[must_use]
pub fn link_target(path: &Path) -> Option<PathBuf> {
    std::fs::read_link(path).ok()
}

/// Creates the symbolic link `at` with this target.
///
/// # Errors
/// `AlreadyExists` if `at` exists, or any other error of the operating system.
pub fn symlink(target: &Path, at: &Path) -> io::Result<()> {
    effect::step(SideEffect::Link, at)?;
    let there = place(at)?;
    sys::symlinkat(target, there.directory(), there.name())?;
    owner::give_path(at);
    Ok(())
}

/// Copies the file `from` to `to`, with its permissions.
///
/// # Errors
/// Any error of the operating system; a part may be written.
pub fn copy(from: &Path, to: &Path) -> io::Result<()> {
    effect::step(SideEffect::Write, to)?;
    let missing = owner::missing(to);
    File::open(to, OpenMode::WriteOnly)?.copy_from(&std::fs::File::open(from)?)?;
    missing.iter().for_each(|new| owner::give_path(new));
    Ok(())
}

/// Renames the file `from` to `to`, which must not exist.
///
/// # Errors
/// `AlreadyExists` if `to` exists, or any other error of the operating system. Where the file system
/// knows neither such a rename nor hard links, that is always one. After a failure the file may have
/// both names.
pub fn rename_no_replace(from: &Path, to: &Path) -> io::Result<()> {
    effect::step(SideEffect::Rename, from)?;
    match renamed(&place(from)?, &place(to)?, RenameMode::NoReplace) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => move_by_link(from, to),
        done => Ok(done?),
    }
}

/// As [`rename_no_replace`], where no rename keeps what is at `to`. For a moment the file has both
/// names.
fn move_by_link(from: &Path, to: &Path) -> io::Result<()> {
    link(from, to)?;
    remove_file(from)
}

/// Exchanges the files at `a` and `b`.
///
/// # Errors
/// Any error of the operating system.
pub fn exchange(a: &Path, b: &Path) -> io::Result<()> {
    effect::step(SideEffect::Rename, a)?;
    Ok(renamed(&place(a)?, &place(b)?, RenameMode::Exchange)?)
}

fn renamed(from: &Place<'_>, to: &Place<'_>, how: RenameMode) -> rustix::io::Result<()> {
    let (name, target) = (from.name().as_os_str(), to.name().as_os_str());
    platform::rename((from.directory(), name), (to.directory(), target), how)
}

/// # Errors
/// Any error of the operating system.
pub fn remove_file(path: &Path) -> io::Result<()> {
    effect::step(SideEffect::Unlink, path)?;
    unlink(path, AtFlags::empty())
}

/// Creates the directory `path` and its missing parents. Returns whether `path` is new.
///
/// # Errors
/// Any error of the operating system.
pub fn make_dir(path: &Path) -> io::Result<bool> {
    let new = !path.is_dir();
    effect::step(SideEffect::MakeDirectory, path)?;
    let missing = owner::missing(path);
    if !enclosure::make_directories(path, 0o777)? {
        std::fs::create_dir_all(path)?;
    }
    missing.iter().for_each(|new| owner::give_path(new));
    Ok(new)
}

/// Creates the directory at `path` and its missing parents for this user alone; an existing one is
/// not an error.
///
/// # Errors
/// Any error of the operating system.
pub fn make_private_dir(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    effect::step(SideEffect::MakeDirectory, path)?;
    let missing = owner::missing(path);
    if !enclosure::make_directories(path, 0o700)? {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    }
    missing.iter().for_each(|new| owner::give_path(new));
    Ok(())
}

/// Creates the directory `path` in an existing one; false if something with that name exists.
///
/// # Errors
/// Any other error of the operating system.
pub fn make_new_dir(path: &Path) -> io::Result<bool> {
    effect::step(SideEffect::MakeDirectory, path)?;
    let there = place(path)?;
    match sys::mkdirat(there.directory(), there.name(), mode(0o777)) {
        Ok(()) => {
            owner::give_path(path);
            Ok(true)
        }
        Err(Errno::EXIST) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

pub fn remove_empty_dir(path: &Path) {
    let _ = try_remove_empty_dir(path);
}

/// Removes the directory `path` if it is empty. Returns whether it was removed.
#[must_use]
pub fn try_remove_empty_dir(path: &Path) -> bool {
    effect::step(SideEffect::RemoveDirectory, path)
        .and_then(|()| unlink(path, AtFlags::REMOVEDIR))
        .is_ok()
}

/// # Errors
/// Any error of the operating system.
pub fn remove_dir_all(path: &Path) -> io::Result<()> {
    effect::step(SideEffect::RemoveDirectory, path)?;
    let there = place(path)?;
    if !there.is_enclosed() {
        return std::fs::remove_dir_all(path);
    }
    platform::remove_tree(there.directory(), there.name())
}

fn unlink(path: &Path, flags: AtFlags) -> io::Result<()> {
    let there = place(path)?;
    Ok(sys::unlinkat(there.directory(), there.name(), flags)?)
}

/// `path` without links and `..`, as far as it exists.
#[must_use]
pub fn real_path(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    match (path.parent(), path.file_name()) {
        (Some(above), Some(name)) => real_path(above).join(name),
        _ => path.to_owned(),
    }
}

/// Checks that this process may write `path`. A read-only mount counts as not writable.
///
/// # Errors
/// The operating system's reason.
pub fn check_writable(path: &Path) -> io::Result<()> {
    Ok(access(path, Access::WRITE_OK)?)
}

pub use super::environment::current_program;

/// As [`write_atomic_unique`], with the permissions of the file that is replaced.
///
/// # Errors
/// Any error of the operating system.
pub fn write_atomic_same_mode(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let permissions = std::fs::metadata(path)?.permissions();
    write_atomic_unique(path, bytes, permissions.mode() & 0o777)?;
    set_mode(path, permissions.mode() & 0o7777)
}

/// Sets the permission bits of the file or directory at `path`.
///
/// # Errors
/// Any error of the operating system.
pub fn set_mode(path: &Path, bits: u32) -> io::Result<()> {
    effect::step(SideEffect::Mode, path)?;
    let (there, bits) = (place(path)?, mode(bits));
    if !there.is_enclosed() {
        return Ok(sys::chmod(path, bits)?);
    }
    let found = sys::statat(there.directory(), there.name(), AtFlags::SYMLINK_NOFOLLOW)?;
    if Stat::from(&found).is_symlink() {
        return Err(unless_link(path, Errno::LOOP));
    }
    Ok(sys::chmodat(there.directory(), there.name(), bits, AtFlags::empty())?)
}

/// The regular files in `directory`, sorted; empty if it does not exist.
#[must_use]
pub fn files_in(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    files.sort();
    files
}

/// The symbolic links in `directory`; empty if it does not exist.
#[must_use]
pub fn links_in(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let links = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()));
    links.map(|entry| entry.path()).collect()
}

/// Whether `path` itself is a symbolic link.
#[must_use]
pub fn is_link(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_symlink())
}

/// The names in `directory`; empty if it does not exist.
#[must_use]
pub fn names_in(directory: &Path) -> Vec<OsString> {
    std::fs::read_dir(directory)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name())
        .collect()
}

/// The size of the file `path` in bytes; `None` if it does not exist.
#[must_use]
pub fn size(path: &Path) -> Option<u64> {
    std::fs::metadata(path).ok().map(|found| found.len())
}

/// Reads the file `path` from byte `from` in pieces, and passes each piece to `take` until `take`
/// breaks or the file ends.
///
/// # Errors
/// Any error of the operating system.
pub fn read_chunks(
    path: &Path,
    from: u64,
    mut take: impl FnMut(&[u8]) -> ControlFlow<()>,
) -> io::Result<()> {
    let mut file = std::fs::File::open(path)?;
    file.seek(io::SeekFrom::Start(from))?;
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(read) if take(&buffer[..read]).is_break() => return Ok(()),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// When `path` was last written; `None` if it does not exist.
#[must_use]
pub fn modified(path: &Path) -> Option<std::time::SystemTime> {
    std::fs::symlink_metadata(path).ok()?.modified().ok()
}

/// When `path` was made; `None` if it does not exist or the file system does not know.
#[must_use]
pub fn created(path: &Path) -> Option<std::time::SystemTime> {
    std::fs::symlink_metadata(path).ok()?.created().ok()
}

/// The permission bits that this process's new files lack. Where the system does not report them:
/// 022.
#[must_use]
pub fn new_file_mask() -> u32 {
    platform::new_file_mask().unwrap_or(0o022)
}

/// How many minutes ago `path` was last written; `None` if it does not exist.
#[must_use]
pub fn minutes_old(path: &Path) -> Option<u64> {
    let modified = std::fs::symlink_metadata(path).ok()?.modified().ok()?;
    Some(modified.elapsed().unwrap_or_default().as_secs() / 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_move_by_link_replaces_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let [from, to] = ["from", "to"].map(|name| dir.path().join(name));
        std::fs::write(&from, "new").unwrap();
        std::fs::write(&to, "old").unwrap();
        let refused = move_by_link(&from, &to).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
        let texts = [&from, &to].map(|path| std::fs::read_to_string(path).unwrap());
        assert_eq!(texts, ["new", "old"]);
        std::fs::remove_file(&to).unwrap();
        move_by_link(&from, &to).unwrap();
        assert_eq!(std::fs::read_to_string(&to).unwrap(), "new");
        assert!(!from.exists());
    }
}
