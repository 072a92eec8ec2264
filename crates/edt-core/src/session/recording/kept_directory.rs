//! The directories of files as they were before a program: `<git-dir>/edt/<worktree>/kept/<n>`.

use std::path::{Path, PathBuf};

use edt_git::Repo;
use edt_io::{failed, fs};
use edt_types::{RepoPath, Result};

pub(crate) fn directory(repo: &Repo) -> PathBuf {
    // A path that is valid in every directory.
    fs::real_path(repo.state_path()).join("kept")
}

pub(crate) fn numbers(repo: &Repo) -> Vec<u64> {
    let directory = directory(repo);
    let number = |name: std::ffi::OsString| name.to_str()?.parse::<u64>().ok();
    let mut all: Vec<u64> = fs::names_in(&directory).into_iter().filter_map(number).collect();
    all.sort_unstable();
    all
}

/// What was at a path.
#[derive(Debug)]
pub(crate) enum Kept {
    /// A file, which is stored here.
    File(PathBuf),
    /// A symbolic link with this target.
    Link(Vec<u8>),
    Directory,
}

/// Moves `files` to a new directory, each at its earlier path; a second one at a path has a number.
/// `is_output`: they are build output, and that of earlier calls goes.
///
/// # Errors
/// `IO_ERROR`.
pub(crate) fn move_to_new(
    repo: &Repo,
    files: &[(RepoPath, Kept)],
    is_output: bool,
) -> Result<PathBuf> {
    use std::os::unix::ffi::OsStrExt as _;
    let all = directory(repo);
    for number in numbers(repo).into_iter().filter(|_| is_output) {
        let place = all.join(number.to_string());
        if place.with_extension(OUTPUT).exists() {
            let _ = fs::remove_dir_all(&place);
            let _ = fs::remove_file(&place.with_extension(OUTPUT));
        }
    }
    let next = numbers(repo).last().map_or(1, |last| last + 1);
    let place = all.join(next.to_string());
    for (path, kept) in files {
        let at = |path: &[u8]| place.join(std::ffi::OsStr::from_bytes(path));
        let mut file = at(path.as_bytes());
        let wrap = |error: std::io::Error| failed("write", &file, &error);
        if matches!(kept, Kept::Directory) {
            fs::make_private_dir(&file).map_err(wrap)?;
            continue;
        }
        fs::make_private_dir(file.parent().unwrap_or(&place)).map_err(wrap)?;
        let mut version = 0;
        while file.exists() || fs::is_link(&file) {
            version += 1;
            file = at(&[path.as_bytes(), format!(".{version}").as_bytes()].concat());
        }
        let done = match kept {
            // A version that is needed to undo the run stays in its place.
            Kept::File(stored) => fs::link(stored, &file).or_else(|_| fs::copy(stored, &file)),
            Kept::Link(target) => {
                fs::symlink(Path::new(std::ffi::OsStr::from_bytes(target)), &file)
            }
            Kept::Directory => Ok(()),
        };
        done.map_err(|error| failed("write", &file, &error))?;
    }
    if is_output {
        let mark = place.with_extension(OUTPUT);
        fs::write_atomic(&mark, b"", 0o600).map_err(|error| failed("write", &mark, &error))?;
    }
    Ok(place)
}

/// The extension of the mark beside a directory of build output.
const OUTPUT: &str = "output";
