//! A private directory outside the worktree, removed when its value is dropped.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use super::effect::{self, SideEffect};
use super::process;
use super::{Environment, fs};

/// A directory that only this user can enter. Dropping the value removes it with its content.
#[must_use = "the directory is removed when this value is dropped"]
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// Creates a directory below the temporary directory of `environment`, never inside
    /// `worktree`.
    ///
    /// # Errors
    /// The error for the last location that was tried.
    pub fn outside(environment: Environment, worktree: &Path) -> io::Result<Scratch> {
        let mut created = Err(io::Error::from(io::ErrorKind::NotFound));
        for parent in candidates(environment, worktree) {
            created = Scratch::below(&parent);
            if created.is_ok() {
                break;
            }
        }
        created
    }

    /// This user's scratch directories that a killed edt left at least ten minutes ago, where
    /// [`Scratch::outside`] creates them.
    #[must_use]
    pub fn abandoned(environment: Environment, worktree: &Path) -> Vec<PathBuf> {
        let mut found: Vec<PathBuf> = candidates(environment, worktree)
            .iter()
            .flat_map(|parent| std::fs::read_dir(parent).into_iter().flatten().flatten())
            .map(|entry| entry.path())
            .filter(|path| is_abandoned(path))
            .collect();
        found.sort();
        found.dedup();
        found
    }

    fn below(parent: &Path) -> io::Result<Scratch> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        for _ in 0..100 {
            let name =
                format!("edt-{}-{}", process::process_id(), COUNT.fetch_add(1, Ordering::Relaxed));
            let path = parent.join(name);
            let made = effect::step(SideEffect::MakeDirectory, &path);
            match made.and_then(|()| std::fs::DirBuilder::new().mode(0o700).create(&path)) {
                Ok(()) => return Ok(Scratch { path }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// The absolute path without links.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the file `rel`, a path without `..`, and returns its path.
    ///
    /// # Errors
    /// Any error of the operating system.
    pub fn put(&self, rel: &[u8], bytes: &[u8]) -> io::Result<PathBuf> {
        let file = self.path.join(OsStr::from_bytes(rel));
        if let Some(directory) = file.parent() {
            fs::make_dir(directory)?;
        }
        fs::write_in_place(&file, bytes)?;
        Ok(file)
    }
}

/// Possible parents of scratch directories, with links resolved, so that paths in the output of
/// tools can be recognised.
fn candidates(environment: Environment, worktree: &Path) -> Vec<PathBuf> {
    let named = environment.temporary_dirs().into_iter();
    let real = named.filter_map(|parent| parent.canonicalize().ok());
    real.filter(|parent| !parent.starts_with(worktree)).collect()
}

fn is_abandoned(path: &Path) -> bool {
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
    own && !process::is_running(process)
        && fs::minutes_old(path).is_some_and(|minutes| minutes >= 10)
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if fs::remove_dir_all(&self.path).is_err() {
            // Some tools leave read-only directories (module caches).
            let _ = make_writable(&self.path);
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

fn make_writable(directory: &Path) -> io::Result<()> {
    effect::step(SideEffect::Mode, directory)?;
    std::fs::set_permissions(directory, PermissionsExt::from_mode(0o700))?;
    for entry in std::fs::read_dir(directory)? {
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
    fn a_scratch_directory_is_private_and_removes_read_only_content() {
        let scratch = Scratch::outside(Environment::Process, Path::new("/nowhere")).unwrap();
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
    fn a_temporary_directory_inside_the_worktree_is_skipped() {
        let worktree = std::env::temp_dir().canonicalize().unwrap();
        if let Ok(scratch) = Scratch::outside(Environment::Process, &worktree) {
            assert!(!scratch.path().starts_with(&worktree));
        }
    }
}
