//! Which file a program name refers to, where it is, and by which names rules match it.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use super::Host;
use super::matching::program_names;
use super::shell::SHELLS;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProgramLocation {
    /// In the worktree: code that an agent may have written.
    Worktree,
    /// In a directory of `PATH` or of the system.
    Path,
    /// In another directory, where its name cannot be trusted.
    Elsewhere,
    /// Does not exist. A bare name is evaluated as if it were on `PATH`.
    Missing,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ResolvedProgram {
    pub(super) path: Option<PathBuf>,
    pub(super) real: Option<PathBuf>,
    pub(super) location: ProgramLocation,
    /// Sets of names, each evaluated separately: of the name it is called by, of the file it links
    /// to.
    pub(super) names: Vec<Vec<String>>,
}

/// Directories of the system, whether or not they are on `PATH`.
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

/// Multicall programs: the name they are called by selects what they do.
const MULTICALL: [&str; 9] =
    ["busybox", "toybox", "coreutils", "rustup", "systemctl", "pgrep", "xz", "mke2fs", "multicall"];

/// Resolves `program`, called in `dir`.
pub(super) fn resolve(
    program: &OsStr,
    dir: &Path,
    root: &Path,
    host: &dyn Host,
) -> ResolvedProgram {
    let directories: Vec<PathBuf> = host
        .path_directories()
        .into_iter()
        .filter(|one| one.is_absolute() && !one.starts_with(root))
        .collect();
    let called = program.to_string_lossy();
    if !called.contains('/') {
        let path =
            directories.iter().map(|one| one.join(program)).find(|path| host.is_executable(path));
        let Some(path) = path else {
            return ResolvedProgram {
                path: None,
                real: None,
                location: ProgramLocation::Missing,
                names: vec![program_names(&called)],
            };
        };
        let real = host.real_path(&path).unwrap_or_else(|| path.clone());
        if real.starts_with(root) {
            return in_worktree(path, real, root);
        }
        let names = names_by_call_and_target(&called, &real);
        return ResolvedProgram {
            path: Some(path),
            real: Some(real),
            location: ProgramLocation::Path,
            names,
        };
    }
    let path = dir.join(program);
    let normalized = normalized(&path);
    let Some(real) = host.real_path(&path).filter(|_| host.is_executable(&path)) else {
        return ResolvedProgram {
            path: None,
            real: None,
            location: ProgramLocation::Missing,
            names: vec![path_names(&normalized)],
        };
    };
    if real.starts_with(root)
        && !real.components().any(|part| part.as_os_str().eq_ignore_ascii_case(".git"))
    {
        return in_worktree(path, real, root);
    }
    let known = |path: &Path| {
        path.parent().is_some_and(|parent| {
            SYSTEM.iter().any(|system| parent == Path::new(system))
                || directories.iter().any(|one| one == parent)
        })
    };
    let (by_path, by_real) = (known(&normalized), known(&real));
    let location =
        if by_path || by_real { ProgramLocation::Path } else { ProgramLocation::Elsewhere };
    let names = if by_path {
        names_by_call_and_target(&path_names(&normalized)[0], &real)
    } else {
        names_by_target(&normalized, &real)
    };
    ResolvedProgram { path: Some(path), real: Some(real), location, names }
}

/// `path` without `.` and `..`. Symbolic links are not resolved.
pub(super) fn normalized(path: &Path) -> PathBuf {
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

/// A program in the worktree, or a link into it from elsewhere. Rules may also name it by its path.
fn in_worktree(path: PathBuf, real: PathBuf, root: &Path) -> ResolvedProgram {
    let mut names = path_names(&path);
    for path in [&normalized(&path), &real] {
        names.extend(path_names(path));
        names.extend(
            path.strip_prefix(root).ok().map(|below| format!("./{}", below.to_string_lossy())),
        );
    }
    ResolvedProgram {
        path: Some(path),
        real: Some(real),
        location: ProgramLocation::Worktree,
        names: vec![names],
    }
}

/// The names of the call and of the link's target. They form one set where both mean the same, so
/// that a command inside is not evaluated twice.
fn names_by_call_and_target(called: &str, real: &Path) -> Vec<Vec<String>> {
    let (mut typed, target) = (program_names(called), path_names(real));
    let shells = [&typed, &target]
        .iter()
        .all(|names| names.iter().any(|name| SHELLS.contains(&name.as_str())));
    if shells || target.iter().any(|name| typed.contains(name)) {
        typed.extend(target);
        return vec![typed];
    }
    if is_multicall(&target) && !is_multicall(&typed) { vec![typed] } else { vec![typed, target] }
}

/// The names of a link in a directory that anyone may write. Only the target's name can be trusted.
fn names_by_target(path: &Path, real: &Path) -> Vec<Vec<String>> {
    let (typed, target) = (path_names(path), path_names(real));
    let depends_on_name =
        is_multicall(&target) || typed.iter().any(|name| name.starts_with("git-"));
    if depends_on_name { vec![typed, target] } else { vec![target] }
}

fn is_multicall(names: &[String]) -> bool {
    names.iter().any(|name| MULTICALL.contains(&name.as_str()))
}

fn path_names(path: &Path) -> Vec<String> {
    let mut names =
        path.file_name().map(|name| program_names(&name.to_string_lossy())).unwrap_or_default();
    if path.is_absolute() {
        names.push(path.to_string_lossy().into_owned());
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{Machine, argv, steps, verdict};

    #[test]
    fn a_program_of_the_worktree_is_its_code() {
        assert_eq!(
            verdict(&argv("./build.sh x")),
            "allow by worktree-program: ./build.sh is code of the worktree; the sandbox confines it."
        );
    }

    #[test]
    fn a_program_in_a_directory_that_is_not_on_the_path_is_asked_about() {
        let machine = Machine::with(&[]).program("/srv/ls");
        assert_eq!(
            machine.verdict(&argv("/srv/ls")),
            "ask by strange-place: /srv/ls is neither in a directory of PATH nor in the worktree, so \
         its name cannot be trusted."
        );
    }

    #[test]
    fn a_path_without_a_program_is_asked_about() {
        assert_eq!(
            verdict(&argv("/srv/ls")),
            "ask by no-such-program: There is no program at /srv/ls."
        );
    }

    #[test]
    fn a_name_that_is_not_on_the_path_is_evaluated_as_if_it_were() {
        let found = Machine::with(&[]).evaluate(&argv("missing x"), &[]);
        assert_eq!((found.program, found.real), (None, None));
        assert_eq!(found.reason, "No rule matches `missing x`.");
    }

    #[test]
    fn the_target_of_a_link_decides_too() {
        let machine = Machine::with(&[]).link("/usr/bin/ls", "/usr/bin/shutdown");
        assert_eq!(machine.steps(&argv("ls")), ["given: ls = deny by machine"]);
    }

    #[test]
    fn the_name_of_a_link_to_a_multicall_program_decides_alone() {
        let machine = Machine::with(&[]).link("/usr/bin/ls", "/usr/bin/busybox");
        assert_eq!(machine.steps(&argv("ls")), ["given: ls = allow by read-files"]);
    }

    #[test]
    fn the_name_of_a_link_in_the_worktree_says_nothing_about_its_target() {
        let machine = Machine::with(&[]).link("ls", "/usr/bin/shutdown");
        assert_eq!(machine.steps(&argv("./ls")), ["given: ./ls = deny by machine"]);
    }

    #[test]
    fn a_version_in_the_name_is_ignored() {
        assert_eq!(steps(&argv("clang-18 x.c")), ["given: clang-18 x.c = allow by compilers"]);
    }

    #[test]
    fn a_path_keeps_its_links_for_execution() {
        let machine = Machine::with(&[]).link("/usr/bin/cc", "/usr/bin/gcc-13");
        let found = machine.evaluate(&argv("cc x.c"), &[]);
        assert_eq!(found.program, Some("/usr/bin/cc".into()));
        assert_eq!(found.real, Some("/usr/bin/gcc-13".into()));
    }

    #[test]
    fn a_program_in_the_git_directory_is_not_code_of_the_worktree() {
        let machine = Machine::with(&[".git/hooks/pre-commit"]);
        assert_eq!(
            machine.steps(&argv(".git/hooks/pre-commit")),
            ["given: .git/hooks/pre-commit = ask by strange-place"]
        );
    }

    #[test]
    fn dots_in_a_path_are_removed_by_name() {
        assert_eq!(normalized(Path::new("/a/./b/../c/..")), Path::new("/a"));
    }
}
