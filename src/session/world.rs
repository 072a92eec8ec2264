//! Everything a command works in: the repository, its lock, the settled journal, the person's own policy.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use crate::base::{Code, Durability, Findings, RepoPath, Result, Settled};
use crate::git::opened::Opened;
use crate::git::read::ObjectKind;
use crate::git::{self, FileId, Oid, Repo, Tracked};
use crate::io::lock::{self, Held};
use crate::journal::{Journal, open_settled};
use crate::lang::Trees;
use crate::memory::Warmed;
use crate::policy::command::Trusted;
use crate::policy::trust::Store;
use crate::policy::{Policy, Trust, file};
use crate::telemetry::names::{LOCK, SETTLE};
use crate::telemetry::{self, stage};

/// How long the worktree's lock is waited for unless told otherwise.
pub const LOCK_WAIT: Duration = Duration::from_secs(10);

/// What the caller of edt brings along.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The command's name, for those who wait for it.
    pub command: String,
    /// Longest wait for another edt process.
    pub lock_wait: Duration,
    /// The text of the person's own `edt.toml`, if there is one.
    pub person_policy: Option<String>,
    /// Where the person keeps what they trust.
    pub trust: Option<Store>,
    /// How much is waited for, if the caller says so.
    pub durability: Option<Durability>,
    /// What stays in memory between the calls of one process.
    pub warm: Option<Rc<Warm>>,
}

/// What a process keeps from one call to the next. All of it could be had again; none of it is taken for true unless what it was read
/// from is as it was.
#[derive(Debug, Default)]
pub struct Warm {
    repositories: RefCell<BTreeMap<PathBuf, Opened>>,
    /// Trees of the files that were edited last.
    pub trees: Trees,
    /// The index of the memory.
    pub memory: Warmed,
}

/// How many repositories are kept open.
const MOST_OPEN: usize = 16;

/// A repository in which nothing is left unfinished, locked against other edt processes.
#[derive(Debug)]
pub struct World {
    /// The repository.
    pub repo: Repo,
    /// Its journal.
    pub journal: Journal,
    /// What was settled on the way in.
    pub settled: Option<Settled>,
    caller: Caller,
    lock: Option<Held>,
}

impl World {
    /// Opens the repository that holds `start`, to change it.
    ///
    /// # Errors
    /// `NOT_A_REPOSITORY`, `UNSUPPORTED_REPOSITORY`, `SESSION_BUSY`, `GIT_DIR_READ_ONLY`, `IO_ERROR`.
    pub fn open(start: &Path, caller: Caller) -> Result<World> {
        World::of(opened(start, &caller)?, caller)
    }

    /// Opens the worktree at `root` and no other, to change it.
    ///
    /// # Errors
    /// As [`World::open`]; `UNSUPPORTED_REPOSITORY` if the environment or the configuration names another one.
    pub fn at(root: &Path, caller: Caller) -> Result<World> {
        let repo = Repo::exactly(root)?;
        arrived(&repo);
        World::of(trusting(repo, &caller), caller)
    }

    fn of(repo: Repo, caller: Caller) -> Result<World> {
        let folder = repo.state_path();
        if !folder.is_dir() {
            crate::io::whole::make_folder(folder)
                .map_err(|error| crate::io::failed("make", folder, &error))?;
        }
        let held =
            stage!(LOCK, lock::take(&folder.join("lock"), &caller.command, caller.lock_wait))?;
        let (mut journal, settled) = stage!(SETTLE, open_settled(&repo))?;
        journal.set_durability(caller.durability.or_else(|| repo.durability()).unwrap_or_default());
        Ok(World { repo, journal, settled, caller, lock: Some(held) })
    }

    /// Opens another worktree of the same repository, to change it.
    ///
    /// # Errors
    /// As [`World::open`].
    pub fn neighbour(&self, root: &Path) -> Result<World> {
        World::of(trusting(Repo::linked(root)?, &self.caller), self.caller.clone())
    }

    /// Whether the lock is held.
    #[must_use]
    pub fn is_locked(&self) -> bool {
        self.lock.is_some()
    }

    /// Gives the lock back for good: all that needs it is done.
    pub fn release(&mut self) {
        self.lock = None;
    }

    /// Does something without the lock, so that programs it starts may call edt here; then takes the lock again and settles what they
    /// left. What was read before may be true no longer.
    ///
    /// # Errors
    /// What `act` answers; as [`World::open`].
    pub fn unlocked<T>(&mut self, act: impl FnOnce(&Repo) -> Result<T>) -> Result<T> {
        self.lock = None;
        let done = act(&self.repo);
        let lock = self.repo.state_path().join("lock");
        self.lock =
            Some(stage!(LOCK, lock::take(&lock, &self.caller.command, self.caller.lock_wait))?);
        let (mut journal, settled) = stage!(SETTLE, open_settled(&self.repo))?;
        journal.set_durability(self.journal.durability());
        self.journal = journal;
        self.settled = self.settled.take().or(settled);
        done
    }

    /// Opens it to read. An unfinished transaction is settled first, unless the Git folder cannot be written.
    ///
    /// # Errors
    /// As [`World::open`].
    pub fn read(start: &Path, caller: &Caller) -> Result<(Repo, Option<Settled>)> {
        let repo = opened(start, caller)?;
        if !repo.state_path().join("journal").exists() {
            return Ok((repo, None));
        }
        match World::of(repo, caller.clone()) {
            Ok(world) => Ok((world.repo, world.settled)),
            Err(error) if read_only(&error) => Ok((opened(start, caller)?, None)),
            Err(error) => Err(error),
        }
    }

    /// Where trees are kept between calls, if anywhere.
    #[must_use]
    pub fn trees(&self) -> Option<&Trees> {
        self.caller.warm.as_deref().map(|warm| &warm.trees)
    }

    /// What stays in memory between the calls of this process.
    #[must_use]
    pub fn warm(&self) -> Option<Rc<Warm>> {
        self.caller.warm.clone()
    }

    /// The policy for a session with that base.
    ///
    /// # Errors
    /// As [`policy`].
    pub fn policy(&self, base_tree: Oid) -> Result<Policy> {
        policy(&self.repo, &self.caller, base_tree)
    }

    /// Waits for at least as much as the policy of a session with that base says. One that cannot be read is told by `edt apply`, and
    /// keeps nobody from taking an edit back.
    pub fn heed(&mut self, base: Oid) {
        let policy = self.repo.tree_of(base).and_then(|tree| self.policy(tree));
        self.journal
            .heed(policy.ok().and_then(|policy| policy.durability).unwrap_or(Durability::Off));
    }
}

/// The repository that holds `start`, in which the person's trust decides whether its own filters run.
fn opened(start: &Path, caller: &Caller) -> Result<Repo> {
    let repo = match &caller.warm {
        Some(warm) => warm.open(start)?,
        None => Repo::open(start)?,
    };
    arrived(&repo);
    Ok(trusting(repo, caller))
}

/// Lets the call of this thread have a span, if the person wants one.
fn arrived(repo: &Repo) {
    telemetry::arrived(repo.common_dir(), &|key| repo.persons(key));
}

impl Warm {
    /// The repository that holds `start`, opened anew only if something that opening reads has changed.
    fn open(&self, start: &Path) -> Result<Repo> {
        let mut all = self.repositories.borrow_mut();
        if let Some(repo) = all.get(start).map(Opened::again).transpose()?.flatten() {
            return Ok(repo);
        }
        let (repo, opened) = Opened::open(start)?;
        all.remove(start);
        if let Some(opened) = opened {
            if all.len() >= MOST_OPEN {
                all.clear();
            }
            all.insert(start.to_owned(), opened);
        }
        Ok(repo)
    }
}

fn trusting(mut repo: Repo, caller: &Caller) -> Repo {
    if let Some(store) = &caller.trust {
        repo.set_trust(Box::new(Person(store.clone())));
    }
    repo
}

/// What the person recorded as trusted.
#[derive(Debug)]
struct Person(Store);

impl git::driver::Trust for Person {
    fn trusts(&self, hash: &str, root: &Path) -> Result<bool> {
        self.0.trusts(hash, root)
    }
}

/// The policy for a session with that base.
///
/// # Errors
/// `BAD_REQUEST` if a policy file cannot be read; `OBJECT_MISSING`; `IO_ERROR` if it names validators or allows commands and what the person trusts
/// cannot be read.
pub fn policy(repo: &Repo, caller: &Caller, base_tree: Oid) -> Result<Policy> {
    let bytes = policy_file(repo, base_tree)?;
    let mut policy = Policy::of_recorded(caller.person_policy.as_deref(), bytes.as_deref())?;
    let awaits = policy.validators.iter().any(|one| one.trust == Trust::Awaited)
        || policy.commands.awaiting().next().is_some();
    if let (Some(bytes), Some(store), true) = (&bytes, &caller.trust, awaits)
        && store.trusts(&git::sha256(bytes)?, &repo.real_root()?)?
    {
        policy.commands.trusted = Trusted::Yes;
        let awaiting = policy.validators.iter_mut().filter(|one| one.trust == Trust::Awaited);
        awaiting.for_each(|one| one.trust = Trust::Given);
    }
    Ok(policy)
}

/// The bytes of the repository's `edt.toml` in `base_tree`.
///
/// # Errors
/// `OBJECT_MISSING`; `BAD_REQUEST` if it is too long, or no file: a policy that cannot be read is never skipped.
pub fn policy_file(repo: &Repo, base_tree: Oid) -> Result<Option<Vec<u8>>> {
    match repo.tracked(base_tree, &RepoPath::from_tree(b"edt.toml"))? {
        Tracked::File(FileId { oid, .. }) => match repo.size_of(oid)? {
            long if long > file::MOST_BYTES => Err(file::too_long(long).into()),
            _ => repo.object(oid, ObjectKind::Blob).map(Some),
        },
        Tracked::Nothing => Ok(None),
        Tracked::Symlink | Tracked::Submodule | Tracked::Folder | Tracked::BelowFile => {
            Err(file::not_a_file().into())
        }
    }
}

fn read_only(error: &Findings) -> bool {
    error.clone().into_vec().iter().any(|finding| finding.code == Code::GitDirReadOnly)
}
