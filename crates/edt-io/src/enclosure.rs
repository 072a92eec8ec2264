//! Git directories, below which nothing is written through a link.
//!
//! A program may have made a Git directory, or what is in it. The directory itself may be a link, as
//! Git allows; below it the kernel opens what is written, without following links. Whoever works in
//! a repository holds its [`Enclosure`]; meanwhile every function of this crate that writes by path
//! asks [`place`].

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use rustix::fs as sys;

use super::disk::Dir;
use super::led::led_elsewhere;
use super::platform;
use super::stat::{Stat, file_type};

/// A directory that is resolved once. While it is held, nothing is written through a link below it.
#[derive(Debug)]
pub struct Enclosure {
    /// The path as it was given, and without links.
    paths: [PathBuf; 2],
    directory: Dir,
}

static HELD: Mutex<Vec<Weak<Enclosure>>> = Mutex::new(Vec::new());

impl Enclosure {
    /// Encloses the directory at `path`, until the value is dropped.
    ///
    /// # Errors
    /// Any error of the operating system.
    pub fn hold(path: &Path) -> io::Result<Arc<Enclosure>> {
        let directory = Dir::open(path)?;
        let real = platform::path_of(directory.0.as_fd(), path).unwrap_or_else(|| path.to_owned());
        let held = Arc::new(Enclosure { paths: [path.to_owned(), real], directory });
        let mut all = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|one| one.strong_count() > 0);
        all.push(Arc::downgrade(&held));
        Ok(held)
    }

    /// The open directory.
    #[must_use]
    pub fn directory(&self) -> &Dir {
        &self.directory
    }

    /// `path` from this directory, and the length of what was left out.
    fn below<'p>(&self, path: &'p Path) -> Option<(usize, &'p Path)> {
        let below = |own: &PathBuf| Some((own.as_os_str().len(), path.strip_prefix(own).ok()?));
        self.paths.iter().filter_map(below).max_by_key(|(len, _)| *len)
    }
}

/// Where something is written: a name in an open directory, or a path that no enclosure has.
#[derive(Debug)]
pub(super) struct Place<'p> {
    above: Above,
    name: &'p Path,
}

#[derive(Debug)]
enum Above {
    Anywhere,
    Top(Arc<Enclosure>),
    Below(Dir),
}

impl Place<'_> {
    /// The directory from which [`name`](Place::name) leads.
    pub(super) fn directory(&self) -> BorrowedFd<'_> {
        match &self.above {
            Above::Anywhere => sys::CWD,
            Above::Top(held) => held.directory.0.as_fd(),
            Above::Below(directory) => directory.0.as_fd(),
        }
    }

    pub(super) fn name(&self) -> &Path {
        self.name
    }

    /// Whether the last name must not be a link either.
    pub(super) fn is_enclosed(&self) -> bool {
        !matches!(self.above, Above::Anywhere)
    }
}

/// The place of `path`, whose last name is not resolved.
///
/// # Errors
/// [`Led`](super::led::Led) if `path` leads through a link below an enclosed directory; `NotFound` and the like
/// as the operating system.
pub(super) fn place(path: &Path) -> io::Result<Place<'_>> {
    let Some((held, below)) = enclosing(path).filter(|(_, below)| below.file_name().is_some())
    else {
        return Ok(Place { above: Above::Anywhere, name: path });
    };
    let name = Path::new(below.file_name().unwrap_or_default());
    let above = below.parent().unwrap_or(Path::new(""));
    if above.as_os_str().is_empty() {
        return Ok(Place { above: Above::Top(held), name });
    }
    let above = held.directory.beneath(above.as_os_str().as_bytes())?.opened(path)?;
    Ok(Place { above: Above::Below(above), name })
}

/// Creates the directory at `path` and its missing parents with the permissions `mode`; false if
/// `path` is in no enclosed directory.
///
/// # Errors
/// As [`place`].
pub(super) fn make_directories(path: &Path, mode: u32) -> io::Result<bool> {
    let Some((held, below)) = enclosing(path) else { return Ok(false) };
    held.directory.make_beneath_with(below.as_os_str().as_bytes(), mode)?.opened(path)?;
    Ok(true)
}

/// Opens the directory at `path`, which may be in an enclosed one.
///
/// # Errors
/// As [`place`].
pub fn open_directory(path: &Path) -> io::Result<Dir> {
    match enclosing(path) {
        Some((held, below)) => held.directory.beneath(below.as_os_str().as_bytes())?.opened(path),
        None => Dir::open(path),
    }
}

/// Refuses to write into an open file of an enclosed directory that is no regular one. One with other
/// names is written: a backup made of hard links has them all, and who can make one can write it.
///
/// # Errors
/// [`Led`](super::led::Led) if it is no regular file.
pub(super) fn check_own(path: &Path, file: impl AsFd) -> io::Result<()> {
    let found = Stat::from(&sys::fstat(file)?);
    match file_type(found.mode) {
        sys::FileType::RegularFile => Ok(()),
        _ => Err(led_elsewhere(path, "no regular file")),
    }
}

/// What in `directory` is a link or something special, the first of `names` that is.
#[must_use]
pub fn planted(directory: &Dir, names: &[&str]) -> Option<(String, &'static str)> {
    let what = |stat: &Stat| {
        let is_link = file_type(stat.mode) == sys::FileType::Symlink;
        if is_link { Some("a link") } else { stat.is_special().then_some("no regular file") }
    };
    names.iter().find_map(|name| {
        let stat = directory.stat(name.as_bytes()).ok()??;
        what(&stat).map(|what| ((*name).to_owned(), what))
    })
}

/// The longest enclosed directory that `path` begins with, and the rest of the path.
fn enclosing(path: &Path) -> Option<(Arc<Enclosure>, &Path)> {
    let all = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    let held = all.iter().filter_map(Weak::upgrade);
    let found = held.filter_map(|held| {
        let (len, below) = held.below(path)?;
        Some((len, held, below))
    });
    found.max_by_key(|(len, ..)| *len).map(|(_, held, below)| (held, below))
}
