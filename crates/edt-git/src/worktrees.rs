//! The worktrees of a repository: the main one and those that `git worktree add` linked.

use std::cell::LazyCell;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::operation::has_operation;
use super::repo::Repo;
use edt_io::{failed, spawn};
use edt_types::text::Shown as _;
use edt_types::{Code, Finding, Result};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worktree {
    pub git_dir: PathBuf,
    /// Whether this repository was opened in it.
    pub is_current: bool,
    /// The full name of the branch in HEAD; `None` if HEAD is detached.
    pub head: Option<String>,
    /// The target of the requested symbolic ref.
    pub pointer: Option<String>,
    has_tables: bool,
}

impl Worktree {
    #[must_use]
    pub fn is_main(&self) -> bool {
        !self.git_dir.join("gitdir").exists()
    }

    /// Whether a merge, a rebase or a similar operation is in progress in it.
    #[must_use]
    pub fn has_operation(&self) -> bool {
        has_operation(&self.git_dir, self.has_tables)
    }

    /// Whether a rebase or a bisection in it will return to `branch`, a full ref name.
    #[must_use]
    pub fn is_rebasing_or_bisecting(&self, branch: &str) -> bool {
        let read = |file: &str| {
            std::fs::read_to_string(self.git_dir.join(file)).unwrap_or_default().trim().to_owned()
        };
        let short = branch.strip_prefix("refs/heads/").unwrap_or(branch);
        ["rebase-merge/head-name", "rebase-apply/head-name"].iter().any(|file| read(file) == branch)
            || read("BISECT_START") == short
    }
}

impl Repo {
    /// Every worktree, the main one first. `pointer` names the per-worktree symbolic ref to read.
    #[must_use]
    pub fn worktrees(&self, pointer: &str) -> Vec<Worktree> {
        self.worktrees_with(pointer, |_| true)
    }

    /// Every worktree but the one that this repository was opened in.
    #[must_use]
    pub fn other_worktrees(&self, pointer: &str) -> Vec<Worktree> {
        self.worktrees_with(pointer, |is_current| !is_current)
    }

    /// Whether HEAD of a worktree names the branch `name`, or a rebase or bisection there will.
    ///
    /// # Errors
    /// `IO_ERROR` if HEAD of this worktree cannot be read.
    pub fn is_checked_out(&self, name: &str) -> Result<bool> {
        let is_at = |one: &Worktree| self.has_checked_out(one, name);
        Ok(self.head_is_on(name)? || self.worktrees("HEAD").iter().any(is_at))
    }

    /// As [`is_checked_out`](Repo::is_checked_out), in another worktree than this one. HEAD of a bare
    /// repository does not count, as in Git.
    #[must_use]
    pub fn is_checked_out_elsewhere(&self, name: &str) -> bool {
        let is_bare = self.inner.config_snapshot().boolean("core.bare") == Some(true);
        let is_worktree = |one: &Worktree| !is_bare || one.git_dir != self.common_dir();
        let mut others = self.other_worktrees("HEAD").into_iter().filter(is_worktree);
        others.any(|one| self.has_checked_out(&one, name))
    }

    fn has_checked_out(&self, one: &Worktree, name: &str) -> bool {
        let head = one.head.as_deref();
        head.is_some_and(|head| self.referent(head).is_ok_and(|referent| referent == name))
            || one.is_rebasing_or_bisecting(name)
    }

    fn worktrees_with(&self, pointer: &str, wanted: impl Fn(bool) -> bool) -> Vec<Worktree> {
        let linked = std::fs::read_dir(self.common_dir().join("worktrees"));
        let mut linked: Vec<PathBuf> =
            linked.into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        linked.sort();
        let real = |path: &Path| std::fs::canonicalize(path).ok();
        let mine = LazyCell::new(|| real(self.git_dir()));
        let worktree = |git_dir: PathBuf| {
            let is_current = git_dir == self.git_dir() || real(&git_dir) == *mine;
            wanted(is_current).then(|| Worktree {
                is_current,
                head: self.symbolic_ref_in(&git_dir, "HEAD"),
                pointer: self.symbolic_ref_in(&git_dir, pointer),
                git_dir,
                has_tables: self.has_tables(),
            })
        };
        std::iter::once(self.common_dir().to_owned()).chain(linked).filter_map(worktree).collect()
    }

    /// Creates a worktree of `branch` at the absolute path `place`, as `git worktree add` does.
    /// Untrusted filters do not run. The files are checked out in a second step, when the
    /// configuration of the new worktree can be read: conditional includes may make it different.
    ///
    /// # Errors
    /// `IO_ERROR` if Git fails; no worktree is left behind.
    pub fn add_worktree(&self, place: &Path, branch: &str) -> Result<()> {
        let common = self
            .common_dir()
            .canonicalize()
            .map_err(|error| failed("find", self.common_dir(), &error))?;
        let here = |args: &[&OsStr]| {
            let args: Vec<&OsStr> = [OsStr::new("--git-dir"), common.as_os_str()]
                .into_iter()
                .chain(args.iter().copied())
                .collect();
            spawn::git_elsewhere(self.environment(), &common, &[], &args)
        };
        let words = |words: &'static [&'static str]| words.iter().map(OsStr::new);
        let add: Vec<&OsStr> = words(&["worktree", "add", "--quiet", "--no-checkout"])
            .chain([place.as_os_str(), branch.as_ref()])
            .collect();
        let added = here(&add)?;
        if !added.ok {
            return Err(not_added("git worktree add", &added.stderr).into());
        }
        let Err(error) = self.check_out(place) else { return Ok(()) };
        here(
            &words(&["worktree", "remove", "--force"])
                .chain([place.as_os_str()])
                .collect::<Vec<_>>(),
        )?;
        Err(error)
    }

    /// Checks out the new worktree at `place`.
    fn check_out(&self, place: &Path) -> Result<()> {
        let settings =
            Repo::open_worktree(self.environment(), place)?.settings_for_new_worktree(self)?;
        let reset = ["reset", "--hard", "--quiet", "--no-recurse-submodules"];
        let ran = spawn::git_elsewhere(self.environment(), place, &settings, &reset)?;
        if ran.ok { Ok(()) } else { Err(not_added("git reset --hard", &ran.stderr).into()) }
    }

    /// The root directory of `worktree`; `None` if it is bare or missing.
    #[must_use]
    pub fn worktree_root(&self, worktree: &Worktree) -> Option<PathBuf> {
        self.recorded_root(worktree).filter(|root| root.is_dir())
    }

    /// The path of `worktree`, whether it exists or not; its Git directory if it is bare.
    #[must_use]
    pub fn worktree_path(&self, worktree: &Worktree) -> PathBuf {
        self.recorded_root(worktree).unwrap_or_else(|| worktree.git_dir.clone())
    }

    fn recorded_root(&self, worktree: &Worktree) -> Option<PathBuf> {
        if worktree.is_current {
            return Some(self.root_path().to_owned());
        }
        Some(match std::fs::read_to_string(worktree.git_dir.join("gitdir")) {
            // A relative path starts at the Git directory (Git 2.48, `worktree.useRelativePaths`).
            Ok(text) => worktree.git_dir.join(text.trim_end_matches('\n')).parent()?.to_owned(),
            Err(_) => self.inner.main_repo().ok()?.workdir()?.to_owned(),
        })
    }
}

fn not_added(command: &str, stderr: &str) -> Finding {
    let message = format!("`{command}` failed: {}", stderr.trim());
    Finding::new(
        Code::IoError,
        message,
        "Fix what Git reports, then repeat the call; no session was left behind.",
    )
}

/// Checks that a worktree can be created at `place`.
///
/// # Errors
/// `BAD_REQUEST` if the path is in use.
pub fn check_path_free(place: &Path) -> Result<()> {
    let filled = std::fs::read_dir(place).is_ok_and(|mut entries| entries.next().is_some());
    if !filled && !place.is_file() {
        return Ok(());
    }
    let message = format!("{} exists and is not an empty directory.", place.shown());
    let hint = "Name a directory that does not exist yet: `edt begin --worktree ../NAME`.";
    Err(Finding::new(Code::BadRequest, message, hint).nothing_changed().into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use edt_testkit::ScratchRepo;

    fn linked(files: &[(&str, &str)]) -> ScratchRepo {
        let scratch = ScratchRepo::with(&[("a", "1")]);
        for (name, text) in files {
            let file = scratch.path().join(".git/worktrees/other").join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        }
        scratch
    }

    fn other(scratch: &ScratchRepo) -> Worktree {
        Repo::open(scratch.path()).unwrap().worktrees("refs/worktree/x").remove(1)
    }

    #[test]
    fn the_main_worktree_is_the_first() {
        let scratch = linked(&[("HEAD", "ref: refs/heads/x\n"), ("gitdir", "/tree/.git\n")]);
        let all = Repo::open(scratch.path()).unwrap().worktrees("refs/worktree/x");
        let shown: Vec<_> =
            all.iter().map(|one| (one.is_main(), one.is_current, one.head.as_deref())).collect();
        assert_eq!(
            shown,
            [(true, true, Some("refs/heads/main")), (false, false, Some("refs/heads/x"))]
        );
    }

    #[test]
    fn a_linked_worktree_has_a_pointer_of_its_own() {
        let scratch = linked(&[
            ("HEAD", &"1".repeat(40)),
            ("gitdir", "/tree/.git\n"),
            ("refs/worktree/x", "ref: refs/heads/edt/s\n"),
        ]);
        let other = other(&scratch);
        assert_eq!((other.head, other.pointer.as_deref()), (None, Some("refs/heads/edt/s")));
    }

    #[test]
    fn the_path_of_a_missing_worktree_is_known() {
        let scratch = linked(&[("HEAD", "x"), ("gitdir", "/nowhere/tree/.git\n")]);
        let repo = Repo::open(scratch.path()).unwrap();
        let other = other(&scratch);
        assert_eq!(repo.worktree_path(&other), Path::new("/nowhere/tree"));
        assert_eq!(repo.worktree_root(&other), None);
    }

    #[test]
    fn a_relative_path_begins_at_the_git_directory() {
        let scratch = linked(&[("HEAD", "x"), ("gitdir", "../../../tree/.git\n")]);
        std::fs::create_dir(scratch.path().join("tree")).unwrap();
        let root = Repo::open(scratch.path()).unwrap().worktree_root(&other(&scratch)).unwrap();
        let expected = scratch.path().join("tree").canonicalize().unwrap();
        assert_eq!(root.canonicalize().unwrap(), expected);
    }

    #[test]
    fn a_rebase_returns_to_the_branch_that_it_names() {
        let scratch = linked(&[("HEAD", "x"), ("rebase-merge/head-name", "refs/heads/x\n")]);
        let other = other(&scratch);
        assert!(other.is_rebasing_or_bisecting("refs/heads/x"));
        assert!(!other.is_rebasing_or_bisecting("refs/heads/y"));
    }

    #[test]
    fn a_bisection_returns_to_the_branch_that_it_names() {
        let scratch = linked(&[("HEAD", "x"), ("BISECT_START", "x\n")]);
        assert!(other(&scratch).is_rebasing_or_bisecting("refs/heads/x"));
    }

    #[test]
    fn a_worktree_is_not_made_where_something_is() {
        let dir = edt_testkit::tempdir().unwrap();
        check_path_free(dir.path()).unwrap();
        check_path_free(&dir.path().join("new")).unwrap();
        std::fs::write(dir.path().join("x"), "x").unwrap();
        for place in [dir.path().to_owned(), dir.path().join("x")] {
            let finding = check_path_free(&place).unwrap_err().into_vec().remove(0);
            let expected = format!("{} exists and is not an empty directory.", place.display());
            assert_eq!(finding.summary, expected);
        }
    }
}
