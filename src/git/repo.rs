//! An opened repository with a worktree, and what can be read from it.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use gix::bstr::ByteSlice as _;
use gix::objs::Kind;

use super::{Oid, causes};
use crate::base::{Code, Finding, RepoPath, Result};
use crate::io::disk::Dir;
use crate::io::failed;

/// Largest tree or commit kept in memory, in bytes, and how many.
const CACHED_MAX: usize = 64 * 1024;
const CACHED_COUNT: usize = 512;

/// A repository that edt may work in.
#[derive(Debug)]
pub struct Repo {
    pub(super) inner: gix::Repository,
    /// Trees and commits read so far: a transaction reads those on its paths several times.
    read: RefCell<HashMap<Oid, Vec<u8>>>,
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
    /// A symbolic link.
    Symlink,
    /// A commit of another repository, at the path or above it.
    Submodule,
    /// A folder.
    Folder,
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
        let options = gix::discover::upwards::Options { match_ceiling_dir_or_error: false, ..Default::default() };
        let opened = gix::ThreadSafeRepository::discover_with_environment_overrides_opts(
            start,
            options,
            gix::sec::trust::Mapping::default(),
        );
        let inner = opened.map_err(|error| not_opened(start, &error))?.to_thread_local();
        check_supported(&inner)?;
        let Some(root_path) = inner.workdir().map(Path::to_owned) else {
            return Err(unsupported("it is bare: there is no worktree to edit").into());
        };
        let root = Dir::open(&root_path).map_err(|error| failed("open the worktree", &root_path, &error))?;
        let (git_dir, common_dir) = (inner.git_dir(), inner.common_dir());
        let state_path = if inner.worktree().is_none_or(|worktree| worktree.is_main()) {
            common_dir.join("edt/main")
        } else {
            common_dir.join("edt/linked").join(git_dir.file_name().unwrap_or_default())
        };
        Ok(Repo { inner, read: RefCell::default(), root, root_path, state_path })
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

    /// `REPOSITORY_BUSY` if a merge, rebase or the like is under way.
    ///
    /// # Errors
    /// That.
    pub fn check_idle(&self) -> Result<()> {
        use gix::state::InProgress;
        // A handful of `stat` calls answers nearly always; what exactly is under way is asked only then.
        let marks = ["rebase-merge", "rebase-apply", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG"];
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

    /// The content of `oid`, which must be of `kind`.
    ///
    /// # Errors
    /// `OBJECT_MISSING` if it is not there, is damaged or is something else.
    pub fn object(&self, oid: Oid, kind: ObjectKind) -> Result<Vec<u8>> {
        if let Some(data) = self.read.borrow().get(&oid).filter(|_| kind != ObjectKind::Blob) {
            return Ok(data.clone());
        }
        let found = self.inner.find_object(oid).map_err(|error| missing(oid, &causes(&error)))?;
        if found.kind != kind.gix() {
            return Err(missing(oid, &format!("it is a {}, not a {}", found.kind, kind.gix())).into());
        }
        let mut found = found.detach();
        let data = std::mem::take(&mut found.data);
        if kind != ObjectKind::Blob && data.len() <= CACHED_MAX {
            let mut read = self.read.borrow_mut();
            if read.len() >= CACHED_COUNT {
                read.clear();
            }
            read.insert(oid, data.clone());
        }
        Ok(data)
    }

    /// The size of the blob `oid` in bytes.
    ///
    /// # Errors
    /// `OBJECT_MISSING`.
    pub fn blob_size(&self, oid: Oid) -> Result<u64> {
        let header = self.inner.find_header(oid).map_err(|error| missing(oid, &causes(&error)))?;
        Ok(header.size())
    }

    /// Whether the object is in the database. A damaged one may count.
    #[must_use]
    pub fn has(&self, oid: Oid) -> bool {
        self.inner.has_object(oid)
    }

    /// The tree of `commit`; of the empty tree, itself.
    ///
    /// # Errors
    /// `OBJECT_MISSING`.
    pub fn tree_of(&self, commit: Oid) -> Result<Oid> {
        // A base may be the empty tree, where HEAD was unborn.
        if commit == self.empty_tree() {
            return Ok(commit);
        }
        let data = self.object(commit, ObjectKind::Commit)?;
        let hex = data.strip_prefix(b"tree ").and_then(|rest| rest.get(..2 * self.null().as_slice().len()));
        let tree = hex.and_then(|hex| Oid::from_hex(hex).ok());
        tree.ok_or_else(|| missing(commit, "it names no tree").into())
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

    /// The id that `data` would have as a blob.
    ///
    /// # Errors
    /// `INTERNAL` if hashing fails (a detected collision attack).
    pub fn blob_id(&self, data: &[u8]) -> Result<Oid> {
        super::objects::id_of(self.inner.object_hash(), Kind::Blob, data)
    }

    /// What `tree` holds at `path`.
    ///
    /// # Errors
    /// `OBJECT_MISSING` if a tree on the way is.
    pub fn tracked(&self, tree: Oid, path: &RepoPath) -> Result<Tracked> {
        let mut at = tree;
        let mut names = path.as_bytes().split(|&b| b == b'/').peekable();
        while let Some(name) = names.next() {
            if at == self.empty_tree() {
                return Ok(Tracked::Nothing);
            }
            let data = self.object(at, ObjectKind::Tree)?;
            let Some((mode, oid)) = super::draft::entry(&data, name, self.null().as_slice().len()) else {
                return Ok(Tracked::Nothing);
            };
            let last = names.peek().is_none();
            match (mode, last) {
                (0o160_000, _) => return Ok(Tracked::Submodule),
                (0o040_000, true) => return Ok(Tracked::Folder),
                (0o040_000, false) => at = oid,
                (_, false) => return Ok(Tracked::Nothing),
                (0o120_000, true) => return Ok(Tracked::Symlink),
                (mode, true) => return Ok(Tracked::File(FileId { oid, mode: FileMode::of(mode & 0o100 != 0) })),
            }
        }
        Ok(Tracked::Nothing)
    }

    /// Whether `old` is `new` or one of the commits before it.
    ///
    /// # Errors
    /// `OBJECT_MISSING` if the history cannot be walked.
    pub fn is_ancestor(&self, old: Oid, new: Oid) -> Result<bool> {
        if old == new {
            return Ok(true);
        }
        let walk = self.inner.rev_walk([new]).all().map_err(|error| missing(new, &causes(&error)))?;
        for step in walk {
            if step.map_err(|error| missing(new, &causes(&error)))?.id == old {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// `tip` and the commits before it along first parents, `limit` at most.
    ///
    /// # Errors
    /// `OBJECT_MISSING` if the history cannot be walked.
    pub fn first_parents(&self, tip: Oid, limit: usize) -> Result<HashSet<Oid>> {
        let (mut found, mut next) = (HashSet::new(), Some(tip));
        while let Some(oid) = next.filter(|_| found.len() < limit) {
            found.insert(oid);
            let data = self.object(oid, ObjectKind::Commit)?;
            let parent = data.split(|&b| b == b'\n').take(2).find_map(|line| line.strip_prefix(b"parent "));
            next = parent.and_then(|hex| Oid::from_hex(hex).ok());
        }
        Ok(found)
    }

    /// What the index holds for `path`, read by `gix`: for an index that edt does not patch.
    ///
    /// # Errors
    /// `IO_ERROR` if it cannot be read.
    pub fn staged_by_git(&self, path: &RepoPath) -> Result<super::index::Staged> {
        use gix::index::entry::{Flags, Mode};

        use super::index::Staged;
        let index = self.inner.index_or_empty().map_err(|error| unreadable("the index", &error))?;
        let Some(entry) = index.entry_by_path(path.as_bytes().as_bstr()) else { return Ok(Staged::Nothing) };
        let file = |mode| Staged::File(FileId { oid: entry.id, mode });
        Ok(match entry.mode {
            _ if entry.flags.contains(Flags::INTENT_TO_ADD) => Staged::Intended,
            Mode::FILE => file(FileMode::Plain),
            Mode::FILE_EXECUTABLE => file(FileMode::Executable),
            _ => Staged::Other,
        })
    }

    /// The checksum that ends an index; `None` if hashing fails.
    #[must_use]
    pub fn checksum(&self, bytes: &[u8]) -> Option<Oid> {
        let mut hasher = gix::hash::hasher(self.inner.object_hash());
        hasher.update(bytes);
        hasher.try_finalize().ok()
    }

    /// The object id that `spec` names, in Git's revision syntax, peeled to a commit.
    ///
    /// # Errors
    /// `BAD_REQUEST` if it names none.
    pub fn commit_named(&self, spec: &str) -> Result<Oid> {
        let bad = |why: String| {
            Finding::new(
                Code::BadRequest,
                format!("{spec:?} names no commit here: {why}."),
                "Give a commit id, branch, tag or any revision Git knows, such as HEAD~1; `edt log` lists the session's commits.",
            )
        };
        let id = self.inner.rev_parse_single(spec.as_bytes().as_bstr()).map_err(|error| bad(causes(&error)))?;
        let object = id.object().map_err(|error| bad(causes(&error)))?;
        let commit = object.peel_to_kind(Kind::Commit).map_err(|error| bad(causes(&error)))?;
        Ok(commit.id)
    }
}

/// The kinds of objects edt reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectKind {
    /// A file's content.
    Blob,
    /// A folder.
    Tree,
    /// A commit.
    Commit,
}

impl ObjectKind {
    const fn gix(self) -> Kind {
        match self {
            ObjectKind::Blob => Kind::Blob,
            ObjectKind::Tree => Kind::Tree,
            ObjectKind::Commit => Kind::Commit,
        }
    }
}

/// The extensions of `core.repositoryFormatVersion` 1 that change nothing for edt, or that it honours.
const EXTENSIONS: &[&str] =
    &["objectformat", "worktreeconfig", "partialclone", "preciousobjects", "relativeworktrees", "noop", "noop-v1"];

fn check_supported(repo: &gix::Repository) -> Result<()> {
    let config = repo.config_snapshot();
    let version = config.integer("core.repositoryFormatVersion").unwrap_or(0);
    if !(0..=1).contains(&version) {
        return Err(unsupported(&format!("its format version {version} is unknown")).into());
    }
    for section in config.plumbing().sections_by_name("extensions").into_iter().flatten() {
        for name in section.value_names() {
            let name = name.clone().to_ascii_lowercase();
            let value = config.string(format!("extensions.{name}").as_str()).unwrap_or_default().to_string();
            let files = name == "refstorage" && value.eq_ignore_ascii_case("files");
            if !files && !EXTENSIONS.contains(&name.as_str()) {
                return Err(unsupported(&format!("it uses the extension {name} = {value}")).into());
            }
        }
    }
    Ok(())
}

fn not_opened(start: &Path, error: &gix::Error) -> Finding {
    let why = causes(error);
    let absent =
        error.is_not_found() || why.contains("Could not find a git repository") || why.contains("not a git repository");
    if absent {
        return Finding::new(
            Code::NotARepository,
            format!("{} is not inside a Git repository.", start.display()),
            "Run edt inside a worktree, pass -C DIR, or create a repository with `git init`.",
        );
    }
    unsupported(&why)
}

fn unsupported(why: &str) -> Finding {
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

fn missing(oid: Oid, why: &str) -> Finding {
    Finding::new(
        Code::ObjectMissing,
        format!("The object {oid} that this repository names could not be read: {why}. Nothing was changed."),
        "`git fsck` tells what is missing; `git fetch` may bring it back. edt never takes a missing object for an absent file.",
    )
    .with("object", oid.to_string())
}
