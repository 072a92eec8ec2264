//! Files of which no copy is made before a program runs, because they are too large or too many.

use std::collections::{BTreeMap, BTreeSet};

use crate::session::files::file_copy::{key_of, stat_at};
use edt_command::Restorable;
use edt_git::Repo;
use edt_io::disk::Parent;
use edt_io::fs;
use edt_types::{RepoPath, Warning, WarningCode};

/// The most bytes of one ignored file that is kept.
pub const MAX_IGNORED_FILE: u64 = 1024 * 1024;
/// The most bytes of all ignored files that are kept.
pub const MAX_IGNORED_TOTAL: u64 = 64 * 1024 * 1024;
/// An ignored directory with more files than this is taken for build output, and is not kept.
pub(crate) const MAX_IGNORED_FILES: usize = 200;

/// A path of which there is no copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotKept {
    pub path: RepoPath,
    /// The stat of the file, as a copy is named; [`MANY_FILES`], or empty for another directory.
    pub(crate) key: String,
}

/// The key of an ignored directory that has too many files.
const MANY_FILES: &str = "many";

/// What is at a path of which there is no copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotKeptState {
    Same,
    Changed,
    Removed,
}

impl NotKept {
    pub(crate) fn file(repo: &Repo, path: RepoPath) -> NotKept {
        let stat = stat_at(repo, &path).filter(|stat| !stat.is_directory());
        NotKept { path, key: stat.map(|stat| key_of(&stat)).unwrap_or_default() }
    }

    /// An ignored directory with too many files.
    pub(crate) fn directory(path: RepoPath) -> NotKept {
        NotKept { path, key: MANY_FILES.to_owned() }
    }

    pub(crate) fn state(&self, repo: &Repo) -> NotKeptState {
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

    /// A warning if the program changed or removed it.
    pub(crate) fn lost(&self, repo: &Repo) -> Option<Warning> {
        let did = match self.state(repo) {
            NotKeptState::Same => return None,
            NotKeptState::Changed => "changed",
            NotKeptState::Removed => "removed",
        };
        let message = if self.key == MANY_FILES {
            format!(
                "The program removed files of this directory, which Git ignores. edt copies no \
                 directory of more than {MAX_IGNORED_FILES} ignored files, so that `edt undo` \
                 cannot restore them."
            )
        } else {
            format!(
                "The program {did} this file, of which edt had made no copy: it is too large, \
                 the copies of all ignored files are, or it is not a regular file. `edt undo` \
                 cannot restore it."
            )
        };
        Some(Warning { code: WarningCode::NotRestorable, path: Some(self.path.text()), message })
    }
}

/// The paths that a command names. Ignored files at or below them are copied before all others, also
/// in a directory that is taken for build output.
#[derive(Debug, Default)]
pub struct NamedPaths {
    all: BTreeSet<RepoPath>,
    /// The files of which policy promised a copy, with their sizes.
    promised: BTreeMap<RepoPath, u64>,
}

impl NamedPaths {
    pub fn add(&mut self, path: RepoPath) {
        self.all.insert(path);
    }

    /// What can be restored of `path` after its removal, together with what was promised before.
    pub(crate) fn promise(&mut self, repo: &Repo, path: &RepoPath) -> Restorable {
        let Some(stat) = stat_at(repo, path) else { return Restorable::All };
        let (mut restorable, mut files) = (Restorable::All, Vec::new());
        if stat.is_directory() {
            let Ok(all) = repo.ignored() else { return Restorable::NotAll };
            for ignored in all {
                let Some(deeper) = deeper(path, &ignored) else { continue };
                match files_of(repo, deeper) {
                    Some(found) => files.extend(found),
                    None => restorable = Restorable::NotBuildOutput,
                }
            }
        } else if repo.ignores(path).unwrap_or(true) {
            files.push((path.clone(), stat.size));
        } else if stat.size > repo.max_file_size() {
            return Restorable::NotAll;
        }
        if files.iter().any(|(_, size)| *size > MAX_IGNORED_FILE) {
            return Restorable::NotAll;
        }
        self.promised.extend(files);
        let total: u64 = self.promised.values().sum();
        if total > MAX_IGNORED_TOTAL { Restorable::NotAll } else { restorable }
    }

    /// The files at or below an ignored path with their sizes, as far as they are copied; and
    /// whether there are others.
    pub(crate) fn copied(&self, repo: &Repo, ignored: &RepoPath) -> (Vec<(RepoPath, u64)>, bool) {
        if let Some(all) = files_of(repo, ignored) {
            return (all, false);
        }
        let below = self.all.iter().filter(|path| *path != ignored && path.is_at_or_below(ignored));
        let files: BTreeSet<_> = below.filter_map(|path| files_of(repo, path)).flatten().collect();
        (files.into_iter().collect(), true)
    }

    /// The order in which ignored files are copied.
    pub(crate) fn rank(&self, file: &RepoPath) -> u8 {
        if self.promised.contains_key(file) {
            0
        } else {
            let is_named = |path: &[u8]| self.all.contains(&RepoPath::from_tree(path));
            u8::from(!is_named(file.as_bytes()) && !file.parents().any(is_named)) + 1
        }
    }
}

/// The path that is at or below the other one, if there is one.
fn deeper<'p>(one: &'p RepoPath, other: &'p RepoPath) -> Option<&'p RepoPath> {
    if one.is_at_or_below(other) { Some(one) } else { other.is_at_or_below(one).then_some(other) }
}

/// The files at or below an ignored path with their sizes; `None` if there are too many.
pub fn files_of(repo: &Repo, ignored: &RepoPath) -> Option<Vec<(RepoPath, u64)>> {
    files_up_to(repo, ignored, MAX_IGNORED_FILES)
}

/// As [`files_of`], for at most `most` files and directories.
pub(crate) fn files_up_to(
    repo: &Repo,
    ignored: &RepoPath,
    most: usize,
) -> Option<Vec<(RepoPath, u64)>> {
    let mut found = Vec::new();
    let mut todo = vec![ignored.as_bytes().to_vec()];
    let mut seen = 0;
    while let Some(path) = todo.pop() {
        seen += 1;
        if seen > most {
            return None;
        }
        let one = RepoPath::from_tree(&path);
        let (directory, name) = one.split();
        let Ok(Parent::Open(parent)) = repo.root().beneath(directory) else { continue };
        match parent.stat(name) {
            Ok(Some(stat)) if stat.is_directory() => {
                let full = repo.root_path().join(one.text());
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
    use crate::session::recording::snapshot::Snapshot;
    use crate::tests::{Scratch, path};

    fn scratch() -> Scratch {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        scratch.write(".git/info/exclude", "*.log\n/target/\n");
        scratch
    }

    fn not_kept(snapshot: &Snapshot) -> Vec<String> {
        snapshot.not_kept.iter().map(|one| one.path.text()).collect()
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
        assert_eq!(promise(&scratch, &["large.log"]).0, Restorable::NotAll);
        assert_eq!(promise(&scratch, &["fits.log"]).0, Restorable::All);
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
        assert_eq!(promise(&scratch, &["target"]).0, Restorable::NotBuildOutput);
        assert_eq!(snapshot.paths().count(), 0);
    }

    /// What policy promises of a command that removes these paths.
    fn promise(scratch: &Scratch, all: &[&str]) -> (Restorable, NamedPaths) {
        let (repo, mut named) = (scratch.repo(), NamedPaths::default());
        let mut worst = Restorable::All;
        for one in all {
            named.add(path(one));
            worst = worst.max(named.promise(&repo, &path(one)));
        }
        (worst, named)
    }

    #[test]
    fn a_named_file_in_a_directory_of_build_output_is_kept() {
        let scratch = scratch();
        for at in 0..MAX_IGNORED_FILES {
            scratch.write(&format!("target/{at}.o"), "x");
            scratch.write(&format!("target/deep/{}/x.o", at % 3), "deep");
        }
        let (restorable, named) = promise(&scratch, &["target/7.o", "target/deep/1"]);
        assert_eq!(restorable, Restorable::All);
        let snapshot = scratch.snapshot_with(&named);
        let all: Vec<String> = snapshot.paths().map(ToString::to_string).collect();
        assert_eq!(all, ["target/7.o", "target/deep/1/x.o"]);
        assert_eq!(not_kept(&snapshot), ["target"]);
    }

    #[test]
    fn a_named_file_is_copied_before_others_up_to_the_limit_of_all() {
        let scratch = scratch();
        let large = "x".repeat(usize::try_from(MAX_IGNORED_FILE).unwrap());
        let names: Vec<String> = (10..75).map(|at| format!("{at}.log")).collect();
        names.iter().for_each(|name| scratch.write(name, &large));
        let (restorable, named) = promise(&scratch, &["74.log"]);
        assert_eq!(restorable, Restorable::All);
        assert_eq!(not_kept(&scratch.snapshot_with(&named)), ["73.log"]);
        let all: Vec<&str> = names.iter().map(String::as_str).collect();
        assert_eq!(promise(&scratch, &all[..64]).0, Restorable::All);
        assert_eq!(promise(&scratch, &all).0, Restorable::NotAll);
    }

    #[test]
    fn a_large_untracked_file_is_not_promised() {
        let scratch = scratch();
        scratch.write("new.txt", "12345");
        let repo = scratch.repo();
        repo.set_max_file_size(4);
        let found = NamedPaths::default().promise(&repo, &path("new.txt"));
        assert_eq!(found, Restorable::NotAll);
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
                "The program {did} this file, of which edt had made no copy: it is too large, the \
                 copies of all ignored files are, or it is not a regular file. `edt undo` cannot \
                 restore it."
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
