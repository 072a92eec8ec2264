//! An opened repository with a worktree, and what can be read from it.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::driver::Trust;
use super::{Oid, causes};
use crate::base::{Code, Durability, Finding, Result};
use crate::io::disk::{Dir, MAX_FILE};
use crate::io::failed;

/// A repository that edt may work in.
#[derive(Debug)]
pub struct Repo {
    pub(super) inner: gix::Repository,
    /// Trees and commits read so far: a transaction reads those on its paths several times.
    pub(super) read: RefCell<HashMap<Oid, Vec<u8>>>,
    /// Entries of long trees by name: who changes one file of a folder often changes many.
    pub(super) long: RefCell<HashMap<Oid, super::tree::ByName>>,
    /// The inodes of the Git folders, once asked for.
    git_dirs: OnceCell<[Option<(u64, u64)>; 2]>,
    /// What the person trusts of what this repository names.
    pub(super) trust: Option<Box<dyn Trust>>,
    /// The largest file that is looked at.
    most: Cell<u64>,
    root: Dir,
    root_path: PathBuf,
    state_path: PathBuf,
}

/// Where HEAD is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The branch it names, in full (`refs/heads/main`); `None` if it is detached.
    pub branch: Option<String>,
    /// The commit; `None` if the branch is unborn.
    pub commit: Option<Oid>,
}

/// A file's mode as Git records it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileMode {
    /// 100644
    Plain,
    /// 100755
    Executable,
}

impl FileMode {
    /// The mode of a file that may be executed, or not.
    #[must_use]
    pub const fn of(executable: bool) -> FileMode {
        if executable { FileMode::Executable } else { FileMode::Plain }
    }

    /// The number in trees and the index.
    #[must_use]
    pub const fn bits(self) -> u32 {
        match self {
            FileMode::Plain => 0o100_644,
            FileMode::Executable => 0o100_755,
        }
    }
}

/// A file as Git records it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileId {
    /// The blob.
    pub oid: Oid,
    /// The mode.
    pub mode: FileMode,
}

/// What a tree holds at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tracked {
    /// Nothing.
    Nothing,
    /// A file.
    File(FileId),
    /// A symbolic link, at the path or above it.
    Symlink,
    /// A commit of another repository, at the path or above it.
    Submodule,
    /// A folder.
    Folder,
    /// A file stands where a parent of the path would be.
    BelowFile,
}

/// Whether HEAD is on the branch spoken of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InHead {
    /// It is: the index follows, and HEAD's log too.
    Yes,
    /// It is not.
    No,
}

impl Repo {
    /// Opens the repository that holds `start`, as Git would find it (`GIT_DIR` and its kin included).
    ///
    /// # Errors
    /// `NOT_A_REPOSITORY`; `UNSUPPORTED_REPOSITORY` for what edt cannot change without risk, before anything is touched.
    pub fn open(start: &Path) -> Result<Repo> {
        let options = gix::discover::upwards::Options {
            match_ceiling_dir_or_error: false,
            ..Default::default()
        };
        let opened = gix::ThreadSafeRepository::discover_with_environment_overrides_opts(
            start,
            options,
            gix::sec::trust::Mapping::default(),
        );
        let inner = opened.map_err(|error| not_opened(start, &error))?.to_thread_local();
        super::environment::check(&inner)?;
        Repo::of(inner)
    }

    /// Opens the worktree at `root` itself, whatever the environment says.
    ///
    /// # Errors
    /// As [`Repo::open`].
    pub fn linked(root: &Path) -> Result<Repo> {
        Repo::of(gix::open(root).map_err(|error| not_opened(root, &error))?)
    }

    pub(super) fn of(inner: gix::Repository) -> Result<Repo> {
        super::environment::check_owner(&inner)?;
        check_supported(&inner)?;
        let Some(root_path) = inner.workdir().map(Path::to_owned) else {
            return Err(unsupported("it is bare: there is no worktree to edit").into());
        };
        check_apart(&inner, &root_path)?;
        let root = Dir::open(&root_path)
            .map_err(|error| failed("open the worktree", &root_path, &error))?;
        let (git_dir, common_dir) = (inner.git_dir(), inner.common_dir());
        let state_path = if inner.worktree().is_none_or(|worktree| worktree.is_main()) {
            common_dir.join("edt/main")
        } else {
            common_dir.join("edt/linked").join(git_dir.file_name().unwrap_or_default())
        };
        Ok(Repo {
            inner,
            read: RefCell::default(),
            long: RefCell::default(),
            git_dirs: OnceCell::new(),
            trust: None,
            most: Cell::new(MAX_FILE),
            root,
            root_path,
            state_path,
        })
    }

    /// Lets no file of more than `most` bytes be looked at from now on: what policy says of edits and checkpoints. What a session
    /// holds already is put back whatever its size.
    pub fn limit_files(&self, most: u64) {
        self.most.set(most.min(MAX_FILE));
    }

    /// The largest file that is looked at, in bytes.
    #[must_use]
    pub fn largest_file(&self) -> u64 {
        self.most.get()
    }

    /// The worktree's root.
    #[must_use]
    pub fn root(&self) -> &Dir {
        &self.root
    }

    /// The worktree's root as a path.
    #[must_use]
    pub fn root_path(&self) -> &Path {
        &self.root_path
    }

    /// The same, absolute and without links.
    ///
    /// # Errors
    /// `IO_ERROR`.
    pub fn real_root(&self) -> Result<PathBuf> {
        self.root_path
            .canonicalize()
            .map_err(|error| failed("find", &self.root_path, &error).into())
    }

    /// The Git folder of this worktree.
    #[must_use]
    pub fn git_dir(&self) -> &Path {
        self.inner.git_dir()
    }

    /// The Git folder that all worktrees share.
    #[must_use]
    pub fn common_dir(&self) -> &Path {
        self.inner.common_dir()
    }

    /// edt's own folder for this worktree: locks and the journal; may be deleted at any time without losing work.
    #[must_use]
    pub fn state_path(&self) -> &Path {
        &self.state_path
    }

    /// Where the index is.
    #[must_use]
    pub fn index_path(&self) -> PathBuf {
        self.inner.index_path()
    }

    /// Where HEAD is.
    ///
    /// # Errors
    /// `IO_ERROR` if HEAD or its branch cannot be read.
    pub fn head(&self) -> Result<Head> {
        let head = self.inner.head().map_err(|error| unreadable("HEAD", &error))?;
        let branch = head.referent_name().map(|name| name.as_bstr().to_string());
        Ok(Head { branch, commit: head.id().map(gix::Id::detach) })
    }

    /// Whether a sparse checkout leaves files out.
    #[must_use]
    pub fn is_sparse(&self) -> bool {
        self.inner.config_snapshot().boolean("core.sparseCheckout") == Some(true)
    }

    /// How much is waited for, by Git's `core.fsync`; `None` if that says nothing of what edt writes.
    #[must_use]
    pub fn durability(&self) -> Option<Durability> {
        let config = self.inner.config_snapshot();
        match config.string("core.fsync") {
            Some(components) => Durability::of_git(&components.to_string()),
            None => {
                (config.boolean("core.fsyncObjectFiles") == Some(true)).then_some(Durability::Full)
            }
        }
    }

    /// Whether `dir` is a Git folder: this repository's own, under whatever name, or a bare one.
    #[must_use]
    pub fn is_git_dir(&self, dir: &Dir) -> bool {
        let own = self.git_dirs.get_or_init(|| {
            let inode = |path: &Path| Some(Dir::open(path).ok()?.stat(b".").ok()??.inode());
            [inode(self.git_dir()), inode(self.common_dir())]
        });
        let here = dir.stat(b".").ok().flatten().map(|stat| stat.inode());
        let bare = || {
            ["HEAD", "objects", "refs"]
                .iter()
                .all(|name| matches!(dir.stat(name.as_bytes()), Ok(Some(_))))
        };
        here.is_none() || own.contains(&here) || bare()
    }

    /// Whether Git looks at the mode bits of files on disk (`core.fileMode`).
    #[must_use]
    pub fn trusts_mode(&self) -> bool {
        self.inner.config_snapshot().boolean("core.fileMode").unwrap_or(true)
    }

    /// Whether names that differ only in case are one file here (`core.ignoreCase`).
    #[must_use]
    pub fn ignores_case(&self) -> bool {
        self.inner.config_snapshot().boolean("core.ignoreCase").unwrap_or(false)
    }

    /// Whether Git would sign every commit (`commit.gpgSign`).
    #[must_use]
    pub fn signs_commits(&self) -> bool {
        self.inner.config_snapshot().boolean("commit.gpgSign").unwrap_or(false)
    }

    /// Whether Git may have one of these hooks to run: a file in the folder of hooks, or any hook in the configuration.
    #[must_use]
    pub fn has_hooks(&self, names: &[&str]) -> bool {
        let config = self.inner.config_snapshot();
        let configured = config.trusted_path("core.hooksPath").ok().flatten();
        // Relative ones count from where hooks run: the worktree's root.
        let folder = configured
            .map_or_else(|| self.common_dir().join("hooks"), |path| self.root_path().join(path));
        let in_config =
            config.plumbing().sections_by_name("hook").into_iter().flatten().next().is_some();
        in_config || names.iter().any(|name| folder.join(name).exists())
    }

    /// `REPOSITORY_BUSY` if a merge, rebase or the like is under way.
    ///
    /// # Errors
    /// That.
    pub fn check_idle(&self) -> Result<()> {
        use gix::state::InProgress;
        // A handful of `stat` calls answers nearly always; what exactly is under way is asked only then.
        let marks = [
            "rebase-merge",
            "rebase-apply",
            "MERGE_HEAD",
            "CHERRY_PICK_HEAD",
            "REVERT_HEAD",
            "BISECT_LOG",
        ];
        if !marks.iter().any(|mark| self.git_dir().join(mark).exists()) {
            return Ok(());
        }
        let what = match self.inner.state() {
            None => return Ok(()),
            Some(InProgress::Merge) => "merge",
            Some(InProgress::Rebase | InProgress::RebaseInteractive) => "rebase",
            Some(InProgress::CherryPick | InProgress::CherryPickSequence) => "cherry-pick",
            Some(InProgress::Revert | InProgress::RevertSequence) => "revert",
            Some(InProgress::Bisect) => "bisect",
            Some(InProgress::ApplyMailbox | InProgress::ApplyMailboxRebase) => "am",
        };
        let finish = match what {
            "bisect" => "`git bisect reset`".to_owned(),
            what => format!("`git {what} --continue` or `git {what} --abort`"),
        };
        Err(Finding::new(
            Code::RepositoryBusy,
            format!("A {what} is under way in this worktree. Nothing was changed."),
            format!("A person must finish it first: {finish}. Then repeat the call."),
        )
        .with("operation", what)
        .into())
    }

    /// The id of the empty tree.
    #[must_use]
    pub fn empty_tree(&self) -> Oid {
        Oid::empty_tree(self.inner.object_hash())
    }

    /// The id that no object has.
    #[must_use]
    pub fn null(&self) -> Oid {
        Oid::null(self.inner.object_hash())
    }
}

/// The extensions of `core.repositoryFormatVersion` 1 that change nothing for edt, or that it honours.
const EXTENSIONS: &[&str] = &[
    "objectformat",
    "worktreeconfig",
    "partialclone",
    "preciousobjects",
    "relativeworktrees",
    "noop",
    "noop-v1",
];

fn check_supported(repo: &gix::Repository) -> Result<()> {
    let config = repo.config_snapshot();
    let version = config.integer("core.repositoryFormatVersion").unwrap_or(0);
    if !(0..=1).contains(&version) {
        return Err(unsupported(&format!("its format version {version} is unknown")).into());
    }
    for section in config.plumbing().sections_by_name("extensions").into_iter().flatten() {
        for name in section.value_names() {
            let name = name.clone().to_ascii_lowercase();
            let value = config
                .string(format!("extensions.{name}").as_str())
                .unwrap_or_default()
                .to_string();
            let files = name == "refstorage" && value.eq_ignore_ascii_case("files");
            if !files && !EXTENSIONS.contains(&name.as_str()) {
                return Err(unsupported(&format!("it uses the extension {name} = {value}")).into());
            }
        }
    }
    Ok(())
}

/// A worktree that `core.worktree` or the environment puts into the Git folder itself: its files would be hooks and configuration. A
/// linked worktree may stand in the Git folder, but not where Git keeps things.
fn check_apart(repo: &gix::Repository, root: &Path) -> Result<()> {
    // Nearly always: `.git` at the root.
    if repo.git_dir() == root.join(".git") && repo.common_dir() == repo.git_dir() {
        return Ok(());
    }
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let root = real(root);
    let inside = |dir: &Path| root.strip_prefix(real(dir)).ok().map(Path::to_owned);
    let linked = repo.common_dir() != repo.git_dir();
    let gits = ["hooks", "info", "logs", "modules", "objects", "refs", "worktrees", "edt"];
    let kept = |below: &PathBuf| match below.components().next() {
        None => true,
        Some(first) => !linked || gits.iter().any(|name| first.as_os_str() == *name),
    };
    if inside(repo.git_dir()).is_some()
        || inside(repo.common_dir()).is_some_and(|below| kept(&below))
    {
        return Err(unsupported(&format!(
            "its worktree {} lies in its own Git folder",
            root.display()
        ))
        .into());
    }
    Ok(())
}

fn not_opened(start: &Path, error: &gix::Error) -> Finding {
    let why = causes(error);
    let absent = error.is_not_found()
        || why.contains("Could not find a git repository")
        || why.contains("not a git repository");
    if absent {
        return Finding::new(
            Code::NotARepository,
            format!("{} is not inside a Git repository.", start.display()),
            "Run edt inside a worktree, pass -C DIR, or create a repository with `git init`.",
        );
    }
    unsupported(&why)
}

pub(super) fn unsupported(why: &str) -> Finding {
    Finding::new(
        Code::UnsupportedRepository,
        format!("edt cannot work in this repository: {why}. Nothing was touched."),
        "Use an ordinary worktree with loose and packed refs (`git init`, `git clone`, `git worktree add`).",
    )
}

pub(super) fn unreadable(what: &str, error: &gix::Error) -> Finding {
    Finding::new(
        Code::IoError,
        format!("Could not read {what}: {}.", causes(error)),
        "`git fsck` and `git status` tell what is wrong; mend it and repeat the call.",
    )
}
