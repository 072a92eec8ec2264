//! Which file a name stands for, where it is, and the names that rules know it by.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use super::Programs;
use super::fit::names_of;
use super::wrapper::SHELLS;

/// Where a program is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// In the worktree: code that an agent may have written.
    Worktree,
    /// In a folder of `PATH` or one of the system's.
    Path,
    /// In some other folder, where nobody vouches for its name.
    Elsewhere,
    /// Nowhere; a name is judged as if it were on `PATH`.
    Missing,
}

/// A program that was looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) path: Option<PathBuf>,
    pub(super) real: Option<PathBuf>,
    pub(super) place: Place,
    /// The sets of names by which it is judged: by the one it is called by, by the one of the file.
    pub(super) names: Vec<Vec<String>>,
}

/// Folders of the system, whether or not they are on `PATH`.
const SYSTEM: [&str; 11] = [
    "/bin",
    "/sbin",
    "/usr/bin",
    "/usr/sbin",
    "/usr/local/bin",
    "/usr/local/sbin",
    "/usr/lib/git-core",
    "/usr/libexec/git-core",
    "/usr/local/libexec/git-core",
    "/opt/homebrew/bin",
    "/run/current-system/sw/bin",
];

/// Programs that do what the name says that they are called by.
const MANY_IN_ONE: [&str; 9] =
    ["busybox", "toybox", "coreutils", "rustup", "systemctl", "pgrep", "xz", "mke2fs", "multicall"];

/// Looks for `program`, called in `dir`.
pub(super) fn find(program: &OsStr, dir: &Path, root: &Path, programs: &dyn Programs) -> Found {
    let folders: Vec<PathBuf> = programs
        .folders()
        .into_iter()
        .filter(|folder| folder.is_absolute() && !folder.starts_with(root))
        .collect();
    let called = program.to_string_lossy();
    if !called.contains('/') {
        let path =
            folders.iter().map(|folder| folder.join(program)).find(|path| programs.runs(path));
        let Some(path) = path else {
            return Found {
                path: None,
                real: None,
                place: Place::Missing,
                names: vec![names_of(&called)],
            };
        };
        let real = programs.real(&path).unwrap_or_else(|| path.clone());
        if real.starts_with(root) {
            return in_worktree(path, real, root);
        }
        let names = both(&called, &real);
        return Found { path: Some(path), real: Some(real), place: Place::Path, names };
    }
    let path = dir.join(program);
    let plain = plain(&path);
    let Some(real) = programs.real(&path).filter(|_| programs.runs(&path)) else {
        return Found { path: None, real: None, place: Place::Missing, names: vec![named(&plain)] };
    };
    if real.starts_with(root)
        && !real.components().any(|part| part.as_os_str().eq_ignore_ascii_case(".git"))
    {
        return in_worktree(path, real, root);
    }
    let known = |path: &Path| {
        path.parent().is_some_and(|parent| {
            SYSTEM.iter().any(|system| parent == Path::new(system))
                || folders.iter().any(|folder| folder == parent)
        })
    };
    let (by_path, by_real) = (known(&plain), known(&real));
    let place = if by_path || by_real { Place::Path } else { Place::Elsewhere };
    let names = if by_path { both(&named(&plain)[0], &real) } else { by_target(&plain, &real) };
    Found { path: Some(path), real: Some(real), place, names }
}

/// `path` without `.` and `..`, as it is written.
pub(super) fn plain(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                out.pop();
            }
            Component::CurDir => {}
            part => out.push(part),
        }
    }
    out
}

/// A program of the worktree, or a link there from elsewhere: rules may name it by its path, too.
fn in_worktree(path: PathBuf, real: PathBuf, root: &Path) -> Found {
    let mut names = named(&path);
    for path in [&plain(&path), &real] {
        names.extend(named(path));
        names.extend(path.strip_prefix(root).ok().map(|below| format!("./{}", below.display())));
    }
    Found { path: Some(path), real: Some(real), place: Place::Worktree, names: vec![names] }
}

/// By what it is called and by what it is: once where both say the same, so that what is inside is not read twice.
fn both(called: &str, real: &Path) -> Vec<Vec<String>> {
    let (mut typed, target) = (names_of(called), named(real));
    let shells = [&typed, &target]
        .iter()
        .all(|names| names.iter().any(|name| SHELLS.contains(&name.as_str())));
    if shells || target.iter().any(|name| typed.contains(name)) {
        typed.extend(target);
        return vec![typed];
    }
    if is_many(&target) && !is_many(&typed) { vec![typed] } else { vec![typed, target] }
}

/// A link from where anybody may put one: what it is called by is no more than a word.
fn by_target(path: &Path, real: &Path) -> Vec<Vec<String>> {
    let (typed, target) = (named(path), named(real));
    let speaks = is_many(&target) || typed.iter().any(|name| name.starts_with("git-"));
    if speaks { vec![typed, target] } else { vec![target] }
}

fn is_many(names: &[String]) -> bool {
    names.iter().any(|name| MANY_IN_ONE.contains(&name.as_str()))
}

fn named(path: &Path) -> Vec<String> {
    let mut names =
        path.file_name().map(|name| names_of(&name.to_string_lossy())).unwrap_or_default();
    if path.is_absolute() {
        names.push(path.to_string_lossy().into_owned());
    }
    names
}
