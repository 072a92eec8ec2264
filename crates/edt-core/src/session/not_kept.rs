//! Files of which no copy is made before a program runs, because they are too large or too many.

use super::snapshot::{Snapshot, key_of, stat_at};
use edt_git::Repo;
use edt_io::disk::Parent;
use edt_io::fs;
use edt_types::{RepoPath, Warning};

/// The most bytes of one ignored file that is kept.
pub(super) const MAX_IGNORED_FILE: u64 = 1024 * 1024;
/// The most bytes of all ignored files that are kept.
pub(super) const MAX_IGNORED_TOTAL: u64 = 64 * 1024 * 1024;
/// An ignored directory with more files than this is taken for build output, and is not kept.
pub(super) const MAX_IGNORED_FILES: usize = 200;

/// A path of which there is no copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotKept {
    pub path: RepoPath,
    /// The stat of the file, as a copy is named; [`MANY_FILES`], or empty for another directory.
    pub(super) key: String,
}

/// The key of an ignored directory that has too many files.
const MANY_FILES: &str = "many";

/// What is at a path of which there is no copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotKeptState {
    Same,
    Changed,
    Removed,
}

impl NotKept {
    pub(super) fn file(repo: &Repo, path: RepoPath) -> NotKept {
        let stat = stat_at(repo, &path).filter(|stat| !stat.is_directory());
        NotKept { path, key: stat.map(|stat| key_of(&stat)).unwrap_or_default() }
    }

    /// An ignored directory with too many files.
    pub(super) fn directory(path: RepoPath) -> NotKept {
        NotKept { path, key: MANY_FILES.to_owned() }
    }

    pub(super) fn state(&self, repo: &Repo) -> NotKeptState {
        match stat_at(repo, &self.path) {
            None => NotKeptState::Removed,
            // A build changes many files of its directory. Only a removal makes them few.
            Some(_) if self.key == MANY_FILES => match files_of(repo, &self.path) {
                Some(_) => NotKeptState::Removed,
                None => NotKeptState::Same,
            },
            Some(stat) if self.key.is_empty() && stat.is_directory() => NotKeptState::Same,
            Some(stat) if key_of(&stat) == self.key => NotKeptState::Same,
            Some(_) => NotKeptState::Changed,
        }
    }
}

impl Snapshot {
    /// A warning for each path of which there is no copy and that the program changed or removed.
    #[must_use]
    pub fn lost(&self, repo: &Repo) -> Vec<Warning> {
        let warning = |one: &NotKept| {
            let did = match one.state(repo) {
                NotKeptState::Same => return None,
                NotKeptState::Changed => "changed",
                NotKeptState::Removed => "removed",
            };
            let message = if one.key == MANY_FILES {
                format!(
                    "The program removed files of this directory, which Git ignores. edt copies no \
                     directory of more than {MAX_IGNORED_FILES} ignored files, so that `edt undo` \
                     cannot restore them."
                )
            } else {
                format!(
                    "The program {did} this file, of which edt had made no copy: it is too large, \
                     or not a regular file. `edt undo` cannot restore it."
                )
            };
            Some(Warning { code: "not_restorable", path: Some(one.path.to_string()), message })
        };
        self.not_kept.iter().filter_map(warning).collect()
    }
}

/// Whether a snapshot copies what is at or below `path`, or Git has it. An ignored directory with
/// many files counts as copied: it is taken for build output, which everybody removes.
#[must_use]
pub fn is_copied(repo: &Repo, path: &RepoPath) -> bool {
    let is_below = |path: &RepoPath, above: &RepoPath| {
        path == above || path.parents().any(|parent| parent == above.as_bytes())
    };
    let Some(stat) = stat_at(repo, path) else { return true };
    if !stat.is_directory() {
        return stat.size <= MAX_IGNORED_FILE || !repo.ignores(path).unwrap_or(false);
    }
    let copied = |ignored: &RepoPath| {
        let Some(files) = files_of(repo, ignored) else { return true };
        files.iter().all(|(file, size)| *size <= MAX_IGNORED_FILE || !is_below(file, path))
    };
    repo.ignored().is_ok_and(|all| all.iter().all(copied))
}

/// The files at or below an ignored path with their sizes; `None` if there are too many.
pub(super) fn files_of(repo: &Repo, ignored: &RepoPath) -> Option<Vec<(RepoPath, u64)>> {
    let mut found = Vec::new();
    let mut todo = vec![ignored.as_bytes().to_vec()];
    let mut seen = 0;
    while let Some(path) = todo.pop() {
        seen += 1;
        if seen > MAX_IGNORED_FILES {
            return None;
        }
        let one = RepoPath::from_tree(&path);
        let (directory, name) = one.split();
        let Ok(Parent::Open(parent)) = repo.root().beneath(directory) else { continue };
        match parent.stat(name) {
            Ok(Some(stat)) if stat.is_directory() => {
                let full = repo.root_path().join(one.to_string());
                for name in fs::names_in(&full) {
                    use std::os::unix::ffi::OsStrExt as _;
                    todo.push([path.as_slice(), b"/", name.as_bytes()].concat());
                }
            }
            Ok(Some(stat)) => found.push((one, stat.size)),
            _ => {}
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{Scratch, path};

    fn scratch() -> Scratch {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        scratch.write(".git/info/exclude", "*.log\n/target/\n");
        scratch
    }

    fn not_kept(snapshot: &Snapshot) -> Vec<String> {
        snapshot.not_kept.iter().map(|one| one.path.to_string()).collect()
    }

    fn lost(scratch: &Scratch, snapshot: &Snapshot) -> Vec<String> {
        let all = snapshot.lost(&scratch.repo());
        all.into_iter().map(|one| format!("{}: {}", one.path.unwrap(), one.message)).collect()
    }

    #[test]
    fn a_large_ignored_file_is_not_kept() {
        let scratch = scratch();
        let limit = usize::try_from(MAX_IGNORED_FILE).unwrap();
        scratch.write("fits.log", &"x".repeat(limit));
        scratch.write("large.log", &"x".repeat(limit + 1));
        let snapshot = scratch.snapshot();
        assert_eq!(not_kept(&snapshot), ["large.log"]);
        assert!(!is_copied(&scratch.repo(), &path("large.log")));
        assert!(is_copied(&scratch.repo(), &path("fits.log")));
        assert!(snapshot.paths().any(|one| *one == path("fits.log")));
    }

    #[test]
    fn a_directory_of_build_output_is_not_kept() {
        let scratch = scratch();
        for at in 0..MAX_IGNORED_FILES {
            scratch.write(&format!("target/{at}.o"), "x");
        }
        let snapshot = scratch.snapshot();
        assert_eq!(not_kept(&snapshot), ["target"]);
        assert!(is_copied(&scratch.repo(), &path("target")), "everybody removes build output");
        assert!(is_copied(&scratch.repo(), &path("target/0.o")));
        assert_eq!(snapshot.paths().count(), 0);
    }

    #[test]
    fn a_large_file_that_a_program_changed_or_removed_is_lost() {
        let scratch = scratch();
        let large = "x".repeat(usize::try_from(MAX_IGNORED_FILE).unwrap() + 1);
        for name in ["a.log", "b.log", "c.log"] {
            scratch.write(name, &large);
        }
        let snapshot = scratch.snapshot();
        scratch.write("a.log", &(large + "y"));
        scratch.remove("b.log");
        let of = |did: &str| {
            format!(
                "The program {did} this file, of which edt had made no copy: it is too large, or \
                 not a regular file. `edt undo` cannot restore it."
            )
        };
        let expected = [format!("a.log: {}", of("changed")), format!("b.log: {}", of("removed"))];
        assert_eq!(lost(&scratch, &snapshot), expected);
    }

    #[test]
    fn a_large_directory_is_lost_if_few_files_remain() {
        let scratch = scratch();
        for at in 0..=MAX_IGNORED_FILES {
            scratch.write(&format!("target/{at}.o"), "x");
        }
        let snapshot = scratch.snapshot();
        scratch.write("target/1.o", "y");
        scratch.write("target/new.o", "y");
        assert_eq!(lost(&scratch, &snapshot), [""; 0]);
        for at in 0..10 {
            scratch.remove(&format!("target/{at}.o"));
        }
        let [found] = &lost(&scratch, &snapshot)[..] else { panic!("not reported") };
        assert!(
            found.starts_with("target: The program removed files of this directory"),
            "{found}"
        );
    }
}
