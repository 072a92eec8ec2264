//! Whole files by path, for what lies beneath no worktree: hooks, receipts.

use std::ffi::OsString;
use std::io::{self, Read as _, Seek as _};
use std::ops::ControlFlow;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, OFlags, RenameFlags, access, renameat_with};

use super::effect::{self, Effect};
use super::file::{File, Open};

/// What stands at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum There {
    /// Nothing.
    Nothing,
    /// A file, or a link to one.
    File {
        /// Its bytes.
        bytes: Vec<u8>,
        /// Whether it may be executed.
        executable: bool,
    },
    /// Something else, or a link that leads nowhere.
    Other,
}

/// What stands at `path`.
///
/// # Errors
/// Whatever the system says beyond the cases of [`There`].
pub fn at(path: &Path) -> io::Result<There> {
    match std::fs::metadata(path) {
        Ok(meta) if meta.is_file() => {
            let executable = meta.permissions().mode() & 0o111 != 0;
            Ok(There::File { bytes: std::fs::read(path)?, executable })
        }
        Ok(_) => Ok(There::Other),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Ok(if std::fs::symlink_metadata(path).is_ok() { There::Other } else { There::Nothing })
        }
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(There::Nothing),
        Err(error) => Err(error),
    }
}

/// The bytes of the regular file at `path`; `None` if there is none that can be read, or it has more than `most` bytes. What is not
/// there costs one failed `open`.
#[must_use]
pub fn small(path: &Path, most: u64) -> Option<Vec<u8>> {
    // Opening a FIFO must not wait for somebody to write to it.
    let file = std::fs::File::options()
        .read(true)
        .custom_flags(libc_flag(OFlags::NONBLOCK))
        .open(path)
        .ok()?;
    let size = file.metadata().ok().filter(std::fs::Metadata::is_file)?.len();
    if size > most { None } else { at_most(file, most).ok()? }
}

/// All that `from` gives, or `None` if that is more than `most` bytes: then little more than that has been read.
///
/// # Errors
/// Whatever the system says.
pub fn at_most(from: impl io::Read, most: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    let read = from.take(most.saturating_add(1)).read_to_end(&mut bytes)? as u64;
    Ok((read <= most).then_some(bytes))
}

/// The bytes of the file at `path`; `None` if it has more than `most`: then it is not read to its end.
///
/// # Errors
/// Whatever the system says.
pub fn read_at_most(path: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
    let file = std::fs::File::open(path)?;
    if file.metadata()?.len() > most { Ok(None) } else { at_most(file, most) }
}

fn libc_flag(flag: OFlags) -> i32 {
    flag.bits().cast_signed()
}

/// Whether `a` and `b` are the same kind of thing with the same permissions and content: a link with the same target, a file with
/// the same bytes.
///
/// # Errors
/// Whatever the system says.
pub fn alike(a: &Path, b: &Path) -> io::Result<bool> {
    let (one, other) = (std::fs::symlink_metadata(a)?, std::fs::symlink_metadata(b)?);
    if one.file_type() != other.file_type() || one.permissions() != other.permissions() {
        return Ok(false);
    }
    if one.is_symlink() {
        return Ok(std::fs::read_link(a)? == std::fs::read_link(b)?);
    }
    Ok(one.is_file() && std::fs::read(a)? == std::fs::read(b)?)
}

/// Makes `path` hold `bytes` in one step, with the permissions `mode` less the umask; whatever file stood there goes.
///
/// # Errors
/// Whatever the system says; nothing has changed then.
pub fn put(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".edt-new");
    let fresh = path.with_file_name(name);
    let _ = remove(&fresh);
    filled(&File::open(&fresh, Open::New(mode))?, &fresh, path, bytes)
}

/// The same among files of other people: no file but `path` goes, whatever its name.
///
/// # Errors
/// As [`put`].
pub fn put_beside(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    for number in 0_u32.. {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".edt-{}-{number}", super::clock::process_id()));
        let fresh = path.with_file_name(name);
        match File::open(&fresh, Open::New(mode)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            opened => return filled(&opened?, &fresh, path, bytes),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Writes `bytes` into `file`, which is at `fresh`, and moves it to `path`.
fn filled(file: &File, fresh: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let moved = file.write_all(bytes).and_then(|()| rename(fresh, path));
    if moved.is_err() {
        let _ = remove(fresh);
    }
    moved
}

/// Writes a file at `path` in place, making it if needed.
///
/// # Errors
/// Whatever the system says; a part of it may be written.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    File::open(path, Open::Written)?.write_all(bytes)
}

/// Moves `from` to `to`; whatever stood there goes.
///
/// # Errors
/// Whatever the system says.
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    effect::step(Effect::Rename, to)?;
    std::fs::rename(from, to)
}

/// Gives the file `from` a second name `to`.
///
/// # Errors
/// `AlreadyExists` if `to` is taken; whatever else the system says.
pub fn link(from: &Path, to: &Path) -> io::Result<()> {
    effect::step(Effect::Link, to)?;
    std::fs::hard_link(from, to)
}

/// Copies the file `from` to `to`, permissions too.
///
/// # Errors
/// Whatever the system says; a part of it may be written.
pub fn copy(from: &Path, to: &Path) -> io::Result<()> {
    effect::step(Effect::Write, to)?;
    std::fs::copy(from, to).map(drop)
}

/// Moves `from` to `to`, where nothing may stand.
///
/// # Errors
/// `AlreadyExists` if something stands there; whatever else the system says.
pub fn shift(from: &Path, to: &Path) -> io::Result<()> {
    let here = rustix::fs::CWD;
    effect::step(Effect::Rename, from)?;
    match renameat_with(here, from, here, to, RenameFlags::NOREPLACE) {
        // Some file systems know no such flag.
        Err(rustix::io::Errno::INVAL) if std::fs::symlink_metadata(to).is_err() => rename(from, to),
        done => Ok(done?),
    }
}

/// Removes the file `path`.
///
/// # Errors
/// Whatever the system says.
pub fn remove(path: &Path) -> io::Result<()> {
    effect::step(Effect::Unlink, path)?;
    std::fs::remove_file(path)
}

/// Makes the folder `path` with those above it; whether it was not there before.
///
/// # Errors
/// Whatever the system says.
pub fn make_folder(path: &Path) -> io::Result<bool> {
    let new = !path.is_dir();
    effect::step(Effect::MakeFolder, path)?;
    std::fs::create_dir_all(path).map(|()| new)
}

/// Makes the folder at `path`, and those above it that are missing, for this user alone; that it is there is no error.
///
/// # Errors
/// Whatever the system says.
pub fn make_private(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    effect::step(Effect::MakeFolder, path)?;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Makes the folder `path`, in one that is there; false if something has that name.
///
/// # Errors
/// Whatever else the system says.
pub fn make_new_folder(path: &Path) -> io::Result<bool> {
    effect::step(Effect::MakeFolder, path)?;
    match std::fs::create_dir(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

/// Removes the folder `path` if it is empty.
pub fn remove_empty_folder(path: &Path) {
    let _ = removed_empty_folder(path);
}

/// The same; whether it is gone.
#[must_use]
pub fn removed_empty_folder(path: &Path) -> bool {
    effect::step(Effect::RemoveFolder, path).and_then(|()| std::fs::remove_dir(path)).is_ok()
}

/// Removes the folder `path` with all that is in it.
///
/// # Errors
/// Whatever the system says.
pub fn remove_folder(path: &Path) -> io::Result<()> {
    effect::step(Effect::RemoveFolder, path)?;
    std::fs::remove_dir_all(path)
}

/// `path` without links and `..`, as far as it exists.
#[must_use]
pub fn real(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    match (path.parent(), path.file_name()) {
        (Some(above), Some(name)) => real(above).join(name),
        _ => path.to_owned(),
    }
}

/// Whether this process may write `path`, by the system's own word (a read-only mount says no, too).
///
/// # Errors
/// The system's reason why not.
pub fn writable(path: &Path) -> io::Result<()> {
    Ok(access(path, Access::WRITE_OK)?)
}

/// This program's own path.
///
/// # Errors
/// Whatever the system says.
pub fn own_program() -> io::Result<PathBuf> {
    std::env::current_exe()
}

/// The same as [`put_beside`], with the permissions of the file that stands there.
///
/// # Errors
/// Whatever the system says.
pub fn put_like(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let permissions = std::fs::metadata(path)?.permissions();
    put_beside(path, bytes, permissions.mode() & 0o777)?;
    effect::step(Effect::Mode, path)?;
    std::fs::set_permissions(path, permissions)
}

/// The files in `folder`; none if it is not there.
#[must_use]
pub fn files_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    files.sort();
    files
}

/// The names in `folder`; none if it is not there.
#[must_use]
pub fn names_in(folder: &Path) -> Vec<OsString> {
    std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name())
        .collect()
}

/// How many bytes the file `path` has; `None` if it is not there.
#[must_use]
pub fn size(path: &Path) -> Option<u64> {
    std::fs::metadata(path).ok().map(|found| found.len())
}

/// Reads the file `path` from byte `from` on, in pieces, until `take` has enough or the file ends; `take` gets each piece.
///
/// # Errors
/// Whatever the system says.
pub fn read_pieces(
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

/// How many minutes ago `path` was last written; `None` if it is not there.
#[must_use]
pub fn minutes_old(path: &Path) -> Option<u64> {
    let modified = std::fs::symlink_metadata(path).ok()?.modified().ok()?;
    Some(modified.elapsed().unwrap_or_default().as_secs() / 60)
}
