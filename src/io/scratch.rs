//! A private folder outside the worktree that goes away with its value.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use super::effect::{self, Effect};
use super::{clock, whole};

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
        let mut tried = Err(io::Error::from(io::ErrorKind::NotFound));
        for place in places(worktree) {
            tried = Scratch::below(&place);
            if tried.is_ok() {
                break;
            }
        }
        tried
    }

    /// Folders of this user's that a killed edt left, at least ten minutes ago, where [`Scratch::outside`] makes them.
    #[must_use]
    pub fn left(worktree: &Path) -> Vec<PathBuf> {
        let mut found: Vec<PathBuf> = places(worktree)
            .iter()
            .flat_map(|place| std::fs::read_dir(place).into_iter().flatten().flatten())
            .map(|entry| entry.path())
            .filter(|path| is_left(path))
            .collect();
        found.sort();
        found.dedup();
        found
    }

    fn below(place: &Path) -> io::Result<Scratch> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        for _ in 0..100 {
            let name =
                format!("edt-{}-{}", clock::process_id(), COUNT.fetch_add(1, Ordering::Relaxed));
            let path = place.join(name);
            let made = effect::step(Effect::MakeFolder, &path);
            match made.and_then(|()| std::fs::DirBuilder::new().mode(0o700).create(&path)) {
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
            whole::make_folder(folder)?;
        }
        whole::write(&file, bytes)?;
        Ok(file)
    }
}

/// Where scratch folders may be, by their real names: what tools print of them must be recognised.
fn places(worktree: &Path) -> Vec<PathBuf> {
    let named = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let places = [Some(std::env::temp_dir()), named, Some(PathBuf::from("/tmp"))];
    let real = places.into_iter().flatten().filter_map(|place| place.canonicalize().ok());
    real.filter(|place| !place.starts_with(worktree)).collect()
}

fn is_left(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str).and_then(|name| name.strip_prefix("edt-"));
    let Some((Ok(process), Ok(_))) = name
        .and_then(|name| name.split_once('-'))
        .map(|(process, count)| (process.parse(), count.parse::<u32>()))
    else {
        return false;
    };
    let own = path
        .symlink_metadata()
        .is_ok_and(|meta| meta.is_dir() && meta.uid() == rustix::process::getuid().as_raw());
    own && !clock::is_running(process)
        && whole::minutes_old(path).is_some_and(|minutes| minutes >= 10)
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if whole::remove_folder(&self.path).is_err() {
            // Some tools leave folders that may not be written (module caches).
            let _ = make_writable(&self.path);
            let _ = whole::remove_folder(&self.path);
        }
    }
}

fn make_writable(folder: &Path) -> io::Result<()> {
    effect::step(Effect::Mode, folder)?;
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
        assert_eq!(
            (file.as_path(), std::fs::read(&file).unwrap()),
            (path.join("a/b c.txt").as_path(), b"x".to_vec())
        );
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
