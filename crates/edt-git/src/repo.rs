//! An opened repository with a worktree.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::confinement::Confinement;
use super::head::Head;
use super::reftable::{Stack, is_used};
use super::supported::{
    check_in_place, check_not_home, check_outside_git_dir, check_supported, enclosed,
    missing_git_dir, unsupported,
};
use super::trust::{Configuration, TrustStore};
use super::{Oid, causes};
use edt_io::disk::{Dir, MAX_FILE, Stat};
use edt_io::enclosure::Enclosure;
use edt_io::sharing::Sharing;
use edt_io::{Environment, failed};
use edt_types::text::Shown as _;
use edt_types::{Code, Durability, Finding, Result};

#[derive(Debug)]
pub struct Repo {
    pub(super) inner: gix::Repository,
    /// Trees and commits read so far: a transaction reads those on its paths several times.
    pub(super) read: RefCell<HashMap<Oid, Vec<u8>>>,
    /// The entries of long trees by name: a change to one file of a directory is often followed by
    /// others.
    pub(super) long: RefCell<HashMap<Oid, super::tree::ByName>>,
    pub(super) loose: super::loose::LooseReader,
    /// Whether refs are in tables (`extensions.refStorage`).
    pub(super) has_tables: bool,
    /// The tables that were read, by Git directory.
    pub(super) tables: RefCell<HashMap<PathBuf, Arc<Stack>>>,
    /// The inodes of the Git directories, read on first use.
    git_dirs: OnceCell<[Option<(u64, u64)>; 2]>,
    /// The user's trust decisions for programs that this repository names.
    pub(super) trust: Option<Box<dyn TrustStore>>,
    /// Whether a program may have made it, known on first use.
    pub(super) planted: OnceCell<bool>,
    durable: Cell<bool>,
    pub(super) configuration: Configuration,
    pub(super) confinement: Option<Arc<dyn Confinement>>,
    pub(super) environment: Environment,
    pub(super) sharing: OnceCell<Sharing>,
    pub(super) reap_orphans: bool,
    /// The size limit of files that are read, in bytes.
    max_file_size: Cell<u64>,
    root: Dir,
    root_path: PathBuf,
    state_path: PathBuf,
    /// Nothing is written through a link below the Git directories.
    _enclosed: Vec<Arc<Enclosure>>,
}

impl Repo {
    /// As [`Repo::open_in`], isolated from the environment of this process.
    ///
    /// # Errors
    /// As [`Repo::open_in`].
    pub fn open(start: &Path) -> Result<Repo> {
        Repo::open_in(Environment::Isolated, start)
    }

    /// Opens the repository that contains `start`, as Git would find it in `environment` (including
    /// `GIT_DIR` and related variables).
    ///
    /// # Errors
    /// `NOT_A_REPOSITORY`; `UNSUPPORTED_REPOSITORY`, before anything is touched, if edt cannot
    /// change it safely.
    pub fn open_in(environment: Environment, start: &Path) -> Result<Repo> {
        let options = gix::discover::upwards::Options {
            match_ceiling_dir_or_error: false,
            ..Default::default()
        };
        let mut by_trust = gix::sec::trust::Mapping::<gix::open::Options>::default();
        by_trust.full = by_trust.full.config_overrides([allocation_limit()]);
        by_trust.reduced = by_trust.reduced.config_overrides([allocation_limit()]);
        let opened = if gix_may_read(environment) {
            gix::ThreadSafeRepository::discover_with_environment_overrides_opts(
                start, options, by_trust,
            )
        } else {
            by_trust.full = by_trust.full.permissions(isolated());
            by_trust.reduced = by_trust.reduced.permissions(isolated());
            gix::ThreadSafeRepository::discover_opts(start, options, by_trust)
        };
        let inner = opened.map_err(|error| not_opened(start, &error))?.to_thread_local();
        super::environment::check(environment, &inner)?;
        if !super::environment::names_repository(environment) {
            check_in_place(&inner, start)?;
            check_not_home(environment, &inner, start)?;
        }
        Repo::of(environment, inner)
    }

    /// Opens the worktree at `root` itself, regardless of `GIT_DIR` and related variables.
    ///
    /// # Errors
    /// As [`Repo::open`].
    pub fn open_worktree(environment: Environment, root: &Path) -> Result<Repo> {
        let mut options = gix::open::Options::default().config_overrides([allocation_limit()]);
        if !gix_may_read(environment) {
            options = options.permissions(isolated());
        }
        let opened = gix::open_opts(root, options).map_err(|error| not_opened(root, &error))?;
        if !super::environment::names_repository(environment) {
            check_in_place(&opened, root)?;
        }
        Repo::of(environment, opened)
    }

    /// Wraps an opened repository, if edt supports it.
    pub(super) fn of(environment: Environment, inner: gix::Repository) -> Result<Repo> {
        super::environment::check_owner(&inner)?;
        check_supported(&inner)?;
        let Some(root_path) = inner.workdir().map(Path::to_owned) else {
            return Err(unsupported("it is bare: there is no worktree to edit").into());
        };
        check_outside_git_dir(&inner, &root_path)?;
        let root = Dir::open(&root_path)
            .map_err(|error| failed("open the worktree", &root_path, &error))?;
        let (git_dir, common_dir) = (inner.git_dir(), inner.common_dir());
        let enclosed = enclosed(git_dir, common_dir)?;
        let state_path = if inner.worktree().is_none_or(|worktree| worktree.is_main()) {
            common_dir.join("edt/main")
        } else {
            common_dir.join("edt/linked").join(git_dir.file_name().unwrap_or_default())
        };
        let has_tables = is_used(&inner);
        let repo = Repo {
            inner,
            read: RefCell::default(),
            long: RefCell::default(),
            loose: super::loose::LooseReader::default(),
            has_tables,
            tables: RefCell::default(),
            git_dirs: OnceCell::new(),
            trust: None,
            planted: OnceCell::new(),
            durable: Cell::new(true),
            configuration: Configuration::Users,
            confinement: None,
            environment,
            sharing: OnceCell::new(),
            reap_orphans: false,
            max_file_size: Cell::new(MAX_FILE),
            root,
            root_path,
            state_path,
            _enclosed: enclosed,
        };
        if has_tables {
            repo.check_tables()?;
        }
        Ok(repo)
    }

    /// Sets the size limit of files that edits and checkpoints may read. Files that a session
    /// already recorded are restored regardless of their size.
    pub fn set_max_file_size(&self, bytes: u64) {
        self.max_file_size.set(bytes.min(MAX_FILE));
    }

    /// The size limit of files that are read, in bytes.
    #[must_use]
    pub fn max_file_size(&self) -> u64 {
        self.max_file_size.get()
    }

    /// The open root directory of the worktree.
    #[must_use]
    pub fn root(&self) -> &Dir {
        &self.root
    }

    #[must_use]
    pub fn root_path(&self) -> &Path {
        &self.root_path
    }

    /// The root of the worktree as an absolute path without symbolic links.
    ///
    /// # Errors
    /// `IO_ERROR`.
    pub fn real_root(&self) -> Result<PathBuf> {
        self.root_path
            .canonicalize()
            .map_err(|error| failed("find", &self.root_path, &error).into())
    }

    /// The Git directory of this worktree.
    #[must_use]
    pub fn git_dir(&self) -> &Path {
        self.inner.git_dir()
    }

    /// The Git directory that all worktrees share.
    #[must_use]
    pub fn common_dir(&self) -> &Path {
        self.inner.common_dir()
    }

    /// edt's own directory for this worktree: locks and the journal, which may be deleted at any
    /// time without losing recorded work. `private` and `quarantine` in it have the user's bytes.
    #[must_use]
    pub fn state_path(&self) -> &Path {
        &self.state_path
    }

    #[must_use]
    pub fn index_path(&self) -> PathBuf {
        self.inner.index_path()
    }

    /// The branch and commit of HEAD.
    ///
    /// # Errors
    /// `IO_ERROR` if HEAD or its branch cannot be read.
    pub fn head(&self) -> Result<Head> {
        let branch = self.symbolic_ref("HEAD")?;
        let commit = self.ref_value(branch.as_deref().unwrap_or("HEAD"))?;
        Ok(Head { branch, commit })
    }

    /// Whether a sparse checkout leaves files out.
    #[must_use]
    pub fn is_sparse(&self) -> bool {
        self.inner.config_snapshot().boolean("core.sparseCheckout") == Some(true)
    }

    /// The durability that Git's `core.fsync` asks for; `None` if it is not set.
    #[must_use]
    pub fn durability(&self) -> Option<Durability> {
        let config = self.inner.config_snapshot();
        config.string("core.fsync").map(|text| Durability::from_core_fsync(&text.to_string()))
    }

    /// Whether objects and refs are on stable storage before they get their names. They are, unless
    /// [`set_durable`](Repo::set_durable) says otherwise.
    #[must_use]
    pub fn is_durable(&self) -> bool {
        self.durable.get()
    }

    /// Sets whether [`is_durable`](Repo::is_durable).
    pub fn set_durable(&self, durable: bool) {
        self.durable.set(durable);
    }

    /// Whether the directory at `path`, relative to the root, is a Git directory: that of this
    /// repository, under any name, or a bare repository. `stat` is the directory's.
    #[must_use]
    pub fn is_git_dir(&self, path: &[u8], stat: &Stat) -> bool {
        let own = self.git_dirs.get_or_init(|| {
            let inode = |path: &Path| Some(Dir::open(path).ok()?.stat(b".").ok()??.inode());
            let own = inode(self.git_dir());
            let shared = self.git_dir() == self.common_dir();
            [own, if shared { own } else { inode(self.common_dir()) }]
        });
        let has = |name: &str| {
            let path = [path, b"/", name.as_bytes()].concat();
            matches!(self.root().stat(&path), Ok(Some(_)))
        };
        own.contains(&Some(stat.inode())) || ["HEAD", "objects", "refs"].into_iter().all(has)
    }

    /// Whether the repository is in a directory `.git`, so that no other name leads to it.
    #[must_use]
    pub fn is_named_dot_git(&self) -> bool {
        let below_dot_git = |path: &Path| path.components().any(|part| part.as_os_str() == ".git");
        below_dot_git(self.git_dir()) && below_dot_git(self.common_dir())
    }

    /// Whether Git uses the executable bits of files on disk (`core.fileMode`).
    #[must_use]
    pub fn honors_file_mode(&self) -> bool {
        self.inner.config_snapshot().boolean("core.fileMode").unwrap_or(true)
    }

    /// Whether names that differ only in case are the same file here (`core.ignoreCase`).
    #[must_use]
    pub fn ignores_case(&self) -> bool {
        self.inner.config_snapshot().boolean("core.ignoreCase").unwrap_or(false)
    }

    /// Whether Git signs every commit (`commit.gpgSign`).
    #[must_use]
    pub fn signs_commits(&self) -> bool {
        self.inner.config_snapshot().boolean("commit.gpgSign").unwrap_or(false)
    }

    /// Whether Git may run one of these hooks: a file in the hooks directory, or any hook in the
    /// configuration.
    #[must_use]
    pub fn has_hooks(&self, names: &[&str]) -> bool {
        self.has_hooks_that(names, Path::exists)
    }

    /// Whether there is one of these hooks that is not edt's own.
    #[must_use]
    pub fn has_others_hooks(&self, names: &[&str]) -> bool {
        self.has_hooks_that(names, |hook| {
            std::fs::read(hook)
                .is_ok_and(|text| memchr::memmem::find(&text, b"\n# edt-hook ").is_none())
        })
    }

    fn has_hooks_that(&self, names: &[&str], is: impl Fn(&Path) -> bool) -> bool {
        let config = self.inner.config_snapshot();
        let configured = config.trusted_path("core.hooksPath").ok().flatten();
        // A relative path starts where hooks run: at the worktree's root.
        let directory = configured
            .map_or_else(|| self.common_dir().join("hooks"), |path| self.root_path().join(path));
        let in_config =
            config.plumbing().sections_by_name("hook").into_iter().flatten().next().is_some();
        in_config || names.iter().any(|name| is(&directory.join(name)))
    }

    #[must_use]
    pub fn empty_tree(&self) -> Oid {
        Oid::empty_tree(self.inner.object_hash())
    }

    /// The id that no object has.
    #[must_use]
    pub fn null(&self) -> Oid {
        Oid::null(self.inner.object_hash())
    }

    /// The value of `key` in the configuration of the user, the system or the environment. The
    /// repository's configuration is ignored: it may have come with the repository.
    #[must_use]
    pub fn user_config(&self, key: &str) -> Option<String> {
        let own = |meta: &gix::config::file::Metadata| {
            meta.source.kind() != gix::config::source::Kind::Repository
        };
        self.inner
            .config_snapshot()
            .plumbing()
            .string_filter(key, own)
            .map(|value| value.to_string())
    }

    /// The environment in which the repository was opened, and in which Git and filters run.
    #[must_use]
    pub fn environment(&self) -> Environment {
        self.environment
    }

    /// Sets whether processes that leave the process group of a filter are killed with it. This
    /// makes this process the reaper of all its orphaned descendants; default: no.
    pub fn set_reap_orphans(&mut self, reap: bool) {
        self.reap_orphans = reap;
    }

    /// Sets the store that decides whether the repository's own filters may run; without one, none
    /// may.
    pub fn set_trust(&mut self, trust: Box<dyn TrustStore>) {
        self.trust = Some(trust);
    }

    /// Sets whose Git's configuration outside of the repository is; the user's by default.
    pub fn set_configuration(&mut self, configuration: Configuration) {
        self.configuration = configuration;
    }

    /// Sets what confines the programs of this repository; without one they run as Git runs them.
    pub fn set_confinement(&mut self, confinement: Arc<dyn Confinement>) {
        self.confinement = Some(confinement);
    }
}

/// The largest object that is read, in bytes.
pub(super) const MAX_OBJECT: usize = 256 << 20;

/// The setting of gix that refuses larger objects before memory is allocated for them.
fn allocation_limit() -> String {
    format!("gitoxide.objects.allocLimit={MAX_OBJECT}")
}

/// Whether gix may read the environment. It reads that of the process: a call that inherited another
/// one gets the repository's configuration alone.
fn gix_may_read(environment: Environment) -> bool {
    environment == Environment::Process && !edt_io::inherited::is_other()
}

/// Permissions without the environment, the home directory and the system's configuration.
fn isolated() -> gix::open::Permissions {
    let mut permissions = gix::open::Permissions::isolated();
    // Files that the repository's own configuration includes belong to it.
    permissions.config.includes = true;
    permissions
}

fn not_opened(start: &Path, error: &gix::Error) -> Finding {
    let why = causes(error);
    let absent = error.is_not_found()
        || why.contains("Could not find a git repository")
        || why.contains("not a git repository");
    if absent {
        if let Some((dot_git, target)) = missing_git_dir(start) {
            return Finding::new(
                Code::NotARepository,
                format!(
                    "{} leads to the Git directory {}, which is not there.",
                    dot_git.shown(),
                    target.shown()
                ),
                "Mount or restore that directory at this path. If the repository was moved, run \
                 `git worktree repair` in it.",
            );
        }
        return Finding::new(
            Code::NotARepository,
            format!("{} is not inside a Git repository.", start.shown()),
            "Run edt inside a worktree, pass -C DIR (`worktree` of a tool), or create a repository \
             with `git init`.",
        );
    }
    unsupported(&why)
}

pub(super) fn unreadable(what: &str, error: &gix::Error) -> Finding {
    Finding::new(
        Code::IoError,
        format!("Could not read {what}: {}.", causes(error)),
        "Fix what `git fsck` and `git status` report, then repeat the call.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use edt_testkit::ScratchRepo;

    fn with_config(more: &str) -> ScratchRepo {
        let scratch = ScratchRepo::with(&[("a", "1")]);
        let config = scratch.path().join(".git/config");
        let text = std::fs::read_to_string(&config).unwrap();
        std::fs::write(config, text + more).unwrap();
        scratch
    }

    fn refused(scratch: &ScratchRepo) -> Finding {
        Repo::open(scratch.path()).unwrap_err().into_vec().remove(0)
    }

    #[test]
    fn a_directory_without_a_repository_is_refused() {
        let dir = edt_testkit::tempdir().unwrap();
        let finding = Repo::open(dir.path()).unwrap_err().into_vec().remove(0);
        let expected = Finding::new(
            Code::NotARepository,
            format!("{} is not inside a Git repository.", dir.path().display()),
            "Run edt inside a worktree, pass -C DIR (`worktree` of a tool), or create a repository \
             with `git init`.",
        );
        assert_eq!(finding, expected);
    }

    #[test]
    fn a_bare_repository_is_refused() {
        let finding = refused(&with_config("[core]\n\tbare = true\n"));
        let why = "it is bare: there is no worktree to edit";
        assert_eq!(finding, unsupported(why));
    }

    #[test]
    fn an_unknown_format_is_refused() {
        let finding = refused(&with_config("[core]\n\trepositoryFormatVersion = 2\n"));
        assert_eq!(finding.code, Code::UnsupportedRepository);
    }

    #[test]
    fn an_unknown_extension_is_refused_and_a_harmless_one_is_not() {
        let version = "[core]\n\trepositoryFormatVersion = 1\n";
        let unknown = with_config(&format!("{version}[extensions]\n\tpoetry = true\n"));
        assert_eq!(refused(&unknown), unsupported("it uses the extension poetry = true"));
        let harmless = with_config(&format!("{version}[extensions]\n\tnoop = true\n"));
        assert!(Repo::open(harmless.path()).is_ok());
    }

    #[test]
    fn the_durability_of_git_is_read_from_its_settings() {
        let of = |more: &str| Repo::open(with_config(more).path()).unwrap().durability();
        assert_eq!(of(""), None);
        assert_eq!(of("[core]\n\tfsync = all\n"), Some(Durability::On));
        assert_eq!(of("[core]\n\tfsync = none\n"), Some(Durability::Off));
    }

    #[test]
    fn an_isolated_repository_follows_its_own_includes_alone() {
        let scratch = with_config("[include]\n\tpath = more\n\tpath = ~/absent\n");
        std::fs::write(scratch.path().join(".git/more"), "[core]\n\tautocrlf = input\n").unwrap();
        let repo = Repo::open(scratch.path()).unwrap();
        let config = repo.inner.config_snapshot();
        assert_eq!(config.string("core.autocrlf").unwrap().to_string(), "input");
        // edt's own setting comes from no file.
        let own = gix::config::Source::Api;
        let mut sources = config.plumbing().sections().map(|section| section.meta().source);
        let local = gix::config::source::Kind::Repository;
        assert!(sources.all(|source| source == own || source.kind() == local));
    }

    #[test]
    fn the_limit_of_files_is_at_most_the_built_in_one() {
        let scratch = ScratchRepo::unborn();
        let repo = Repo::open(scratch.path()).unwrap();
        repo.set_max_file_size(u64::MAX);
        assert_eq!(repo.max_file_size(), MAX_FILE);
        repo.set_max_file_size(7);
        assert_eq!(repo.max_file_size(), 7);
    }

    #[test]
    fn an_unborn_branch_has_no_commit() {
        let scratch = ScratchRepo::unborn();
        let head = Repo::open(scratch.path()).unwrap().head().unwrap();
        assert_eq!(head, Head { branch: Some("refs/heads/main".into()), commit: None });
    }

    /// The operation that is in progress with this file in the Git directory.
    fn busy(file: &str) -> String {
        let scratch = ScratchRepo::with(&[("a", "1")]);
        let path = scratch.path().join(".git").join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "x\n").unwrap();
        let repo = Repo::open(scratch.path()).unwrap();
        repo.check_idle().unwrap_err().into_vec().remove(0).remedy
    }

    #[test]
    fn an_operation_in_progress_is_named_with_the_way_to_end_it() {
        let remedy =
            |end: &str| format!("The user must finish it first: {end}. Then repeat the call.");
        let both = |what: &str| remedy(&format!("`git {what} --continue` or `git {what} --abort`"));
        assert_eq!(busy("MERGE_HEAD"), both("merge"));
        assert_eq!(busy("CHERRY_PICK_HEAD"), both("cherry-pick"));
        assert_eq!(busy("REVERT_HEAD"), both("revert"));
        assert_eq!(busy("rebase-merge/head-name"), both("rebase"));
        assert_eq!(busy("BISECT_LOG"), remedy("`git bisect reset`"));
    }

    #[test]
    fn hooks_are_files_of_their_names_or_settings() {
        let scratch = with_config("");
        let has = |scratch: &ScratchRepo| {
            Repo::open(scratch.path()).unwrap().has_hooks(&["pre-commit", "commit-msg"])
        };
        assert!(!has(&scratch));
        std::fs::write(scratch.path().join(".git/hooks/pre-push"), "x").unwrap();
        assert!(!has(&scratch));
        std::fs::write(scratch.path().join(".git/hooks/commit-msg"), "x").unwrap();
        assert!(has(&scratch));
        assert!(has(&with_config("[hook \"x\"]\n\tcommand = true\n")));
    }

    #[test]
    fn hooks_may_be_in_a_directory_of_the_worktree() {
        let scratch = with_config("[core]\n\thooksPath = my-hooks\n");
        std::fs::create_dir(scratch.path().join("my-hooks")).unwrap();
        std::fs::write(scratch.path().join("my-hooks/pre-commit"), "x").unwrap();
        assert!(Repo::open(scratch.path()).unwrap().has_hooks(&["pre-commit"]));
    }
}
