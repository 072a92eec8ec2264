//! A private folder outside the worktree that goes away with its value.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use super::clock;

/// A folder that only this user can enter. Dropping it removes it with all that is in it.
#[must_use = "the folder is removed when this value is dropped"]
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// Makes a new folder below the system's temporary one; never inside `worktree`.
    ///
    /// # Errors
    /// Whatever the system says of the last place that was tried.
    pub fn outside(worktree: &Path) -> io::Result<Scratch> {
        let named = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
        let places = [Some(std::env::temp_dir()), named, Some(PathBuf::from("/tmp"))];
        let mut tried = Err(io::Error::from(io::ErrorKind::NotFound));
        for place in places.into_iter().flatten() {
            // By its real name: what tools print of it must be recognised.
            let Ok(place) = place.canonicalize() else { continue };
            if place.starts_with(worktree) {
                continue;
            }
            tried = Scratch::below(&place);
            if tried.is_ok() {
                break;
            }
        }
        tried
    }

    fn below(place: &Path) -> io::Result<Scratch> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        for _ in 0..100 {
            let name = format!("edt-{}-{}", clock::process_id(), COUNT.fetch_add(1, Ordering::Relaxed));
            let path = place.join(name);
            match std::fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Scratch { path }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Where it is: an absolute path without links.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file at `rel`, a path without `..`, and returns where it is.
    ///
    /// # Errors
    /// Whatever the system says.
    pub fn put(&self, rel: &[u8], bytes: &[u8]) -> io::Result<PathBuf> {
        let file = self.path.join(OsStr::from_bytes(rel));
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(&file, bytes)?;
        Ok(file)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if std::fs::remove_dir_all(&self.path).is_err() {
            // Some tools leave folders that may not be written (module caches).
            let _ = make_writable(&self.path);
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}

fn make_writable(folder: &Path) -> io::Result<()> {
    std::fs::set_permissions(folder, PermissionsExt::from_mode(0o700))?;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            make_writable(&entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scratch_folder_is_private_and_goes_away_with_what_may_not_be_written() {
        let scratch = Scratch::outside(Path::new("/nowhere")).unwrap();
        let path = scratch.path().to_owned();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o7777, 0o700);
        let file = scratch.put(b"a/b c.txt", b"x").unwrap();
        assert_eq!((file.as_path(), std::fs::read(&file).unwrap()), (path.join("a/b c.txt").as_path(), b"x".to_vec()));
        std::fs::set_permissions(path.join("a"), PermissionsExt::from_mode(0o500)).unwrap();
        drop(scratch);
        assert!(!path.exists());
    }

    #[test]
    fn a_temporary_folder_inside_the_worktree_is_passed_over() {
        let worktree = std::env::temp_dir().canonicalize().unwrap();
        if let Ok(scratch) = Scratch::outside(&worktree) {
            assert!(!scratch.path().starts_with(&worktree));
        }
    }
}
