//! What a call works in: the repository, its lock, the recovered journal, the user's own policy.

use std::path::Path;
use std::sync::{Arc, Weak};

use edt_command::Trusted;
use edt_git::read::ObjectKind;
use edt_git::{FileId, Oid, Repo, Tracked};
use edt_io::capabilities;
use edt_io::effect::Errno;
use edt_io::lock::{self, LockGuard};
use edt_journal::{Journal, open_recovered, peek};
use edt_lang::TreeCache;
use edt_types::trace::names::{LOCK, RECOVER};
use edt_types::{Code, Durability, Finding, Landing, Recovered, Refusal, RepoPath, Result, stage};

use crate::txn::request::Request;
use edt_guard::guard::{GUARDS, Guard};
use edt_guard::policy::{Policy, Trust, file};

use super::elsewhere;
use super::options::{Options, trusting};
use crate::session::Session;
use crate::session::engine::{self, Applied, Change};
use crate::session::refs::names::POINTER;
use crate::session::turns::{Asked, session_turns};

/// A repository in which no transaction is unfinished, locked against other processes of edt.
#[derive(Debug)]
pub struct LockedWorkspace {
    pub repo: Repo,
    pub journal: Journal,
    /// An interrupted transaction that opening recovered.
    pub recovered: Option<Recovered>,
    options: Options,
    lock: Option<Arc<LockGuard>>,
}

impl LockedWorkspace {
    /// Opens the repository that holds `start`, to change it.
    ///
    /// # Errors
    /// `NOT_A_REPOSITORY`, `UNSUPPORTED_REPOSITORY`, `SESSION_BUSY`, `GIT_DIR_READ_ONLY`, `IO_ERROR`.
    pub fn open(start: &Path, options: Options) -> Result<LockedWorkspace> {
        LockedWorkspace::of(opened(start, &options)?, options)
    }

    /// Opens the worktree at `root` and no other, to change it.
    ///
    /// # Errors
    /// As [`LockedWorkspace::open`]; `UNSUPPORTED_REPOSITORY` if the environment or the configuration
    /// names another worktree.
    pub fn at(root: &Path, options: Options) -> Result<LockedWorkspace> {
        let repo = Repo::open_exactly(options.environment, root)?;
        notify_opened(&repo, &options);
        LockedWorkspace::of(trusting(repo, &options), options)
    }

    fn of(repo: Repo, options: Options) -> Result<LockedWorkspace> {
        let (lock, mut journal, recovered) = lock_and_recover(&repo, &options)?;
        let elsewhere = elsewhere::recover(&repo, &options);
        let recovered = recovered.into_iter().chain(elsewhere).reduce(Recovered::and);
        let durability = options.durability.or_else(|| repo.durability()).unwrap_or_default();
        journal.set_durability(durability);
        Ok(LockedWorkspace { repo, journal, recovered, options, lock: Some(Arc::new(lock)) })
    }

    /// Opens another worktree of the same repository, to change it.
    ///
    /// # Errors
    /// As [`LockedWorkspace::open`].
    pub fn neighbour(&self, root: &Path) -> Result<LockedWorkspace> {
        LockedWorkspace::of(
            trusting(Repo::open_exactly(self.options.environment, root)?, &self.options),
            self.options.clone(),
        )
    }

    /// Whether the lock is held.
    #[must_use]
    pub fn is_locked(&self) -> bool {
        self.lock.is_some()
    }

    /// The lock, as long as this workspace holds it.
    #[must_use]
    pub fn held(&self) -> Weak<LockGuard> {
        self.lock.as_ref().map(Arc::downgrade).unwrap_or_default()
    }

    /// Releases the lock for good.
    pub fn release(&mut self) {
        self.lock = None;
    }

    /// Runs `act` without the lock, so that programs it starts may call edt here. Then takes the
    /// lock again and recovers what they left. What was read before may have changed.
    ///
    /// # Errors
    /// Those of `act`; as [`LockedWorkspace::open`].
    pub fn unlocked<T>(&mut self, act: impl FnOnce(&Repo) -> Result<T>) -> Result<T> {
        self.lock = None;
        let done = act(&self.repo);
        let (lock, journal, recovered) = lock_and_recover(&self.repo, &self.options)?;
        let durability = self.journal.durability();
        (self.lock, self.journal) = (Some(Arc::new(lock)), journal);
        self.journal.set_durability(durability);
        self.recovered = self.recovered.take().into_iter().chain(recovered).reduce(Recovered::and);
        done
    }

    /// Opens the repository to read it. Recovers an unfinished transaction first, unless the Git
    /// directory is read-only.
    ///
    /// # Errors
    /// As [`LockedWorkspace::open`].
    pub fn read(start: &Path, options: &Options) -> Result<(Repo, Option<Recovered>)> {
        let repo = opened(start, options)?;
        if peek::is_unused(repo.state_path()) {
            return Ok((repo, None));
        }
        match LockedWorkspace::of(repo, options.clone()) {
            Ok(workspace) => Ok((workspace.repo, workspace.recovered)),
            Err(error) if read_only(&error) => Ok((opened(start, options)?, None)),
            Err(error) => Err(error),
        }
    }

    /// Where parse trees are kept between calls, if anywhere.
    #[must_use]
    pub fn trees(&self) -> Option<&TreeCache> {
        self.options.cache.as_deref().map(|cache| &cache.trees)
    }

    /// The built-in guards, then those of the embedding program.
    pub fn guards(&self) -> impl Iterator<Item = &dyn Guard> {
        GUARDS.iter().copied().chain(self.options.guards.iter().map(|guard| &**guard))
    }

    /// What this workspace was opened with.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Who asks for an edit of `session`. The prompt is in it only if the user wants it committed.
    #[must_use]
    pub(crate) fn asked(&self, session: &Session) -> Asked {
        let mut asked = session_turns::asked(&self.repo, session, &self.options.caller);
        asked.prompt = asked.prompt.filter(|_| {
            let tree = self.repo.tree_of(session.base).ok();
            let policy = tree.and_then(|tree| self.policy(tree).ok());
            policy.is_some_and(|policy| policy.commits_prompts)
        });
        asked
    }

    /// The policy of a session with that base.
    ///
    /// # Errors
    /// As [`policy`].
    pub fn policy(&self, base_tree: Oid) -> Result<Policy> {
        policy(&self.repo, &self.options, base_tree)
    }

    /// The policy that applies in this worktree now: that of its session, else of HEAD.
    ///
    /// # Errors
    /// As [`policy`]; `NO_SESSION`, `IO_ERROR` if HEAD cannot be read.
    pub fn current_policy(&self) -> Result<Policy> {
        current_policy(&self.repo, &self.options).map(|(_, policy)| policy)
    }

    /// Raises durability to what the policy of a session with that base asks for. A policy that
    /// cannot be read is reported by `edt apply`, and does not prevent an undo.
    pub fn require_durability(&mut self, base: Oid) {
        let policy = self.repo.tree_of(base).and_then(|tree| self.policy(tree));
        let asked = policy.ok().and_then(|policy| policy.durability);
        self.journal.require_durability(asked.unwrap_or(Durability::Off));
    }

    /// Makes `change` in this worktree, as durably as its policy asks for.
    ///
    /// # Errors
    /// As [`engine::apply`]; then nothing is changed.
    pub fn apply(&mut self, change: Change) -> Result<Applied> {
        self.apply_in(None, change)
    }

    /// The same, in the worktree `elsewhere` if there is one.
    ///
    /// # Errors
    /// As [`engine::apply`]; then nothing is changed.
    pub fn apply_in(
        &mut self,
        elsewhere: Option<&mut LockedWorkspace>,
        change: Change,
    ) -> Result<Applied> {
        if let Some(base) = change.base {
            self.require_durability(base);
        }
        let level = self.journal.durability();
        let place = elsewhere.unwrap_or(self);
        place.journal.require_durability(level);
        engine::apply(&place.repo, &mut place.journal, change)
    }

    /// Notifies the observers that an edit was recorded.
    pub(crate) fn observe_landed(&mut self, request: Option<&Request>, landing: &Landing<'_>) {
        for observer in &self.options.observers {
            observer.landed((&self.repo).into(), request, landing);
        }
    }

    /// Notifies the observers that the session's tip moved back from `from` to `to`.
    pub fn observe_undone(&self, from: Oid, to: Oid) {
        let observers = &self.options.observers;
        observers.iter().for_each(|observer| observer.undone((&self.repo).into(), from, to));
    }
}

fn lock_and_recover(
    repo: &Repo,
    options: &Options,
) -> Result<(LockGuard, Journal, Option<Recovered>)> {
    if let Some((call, error)) = capabilities::missing_call(repo.common_dir()) {
        return Err(without_call(call, error).into());
    }
    let directory = repo.state_path();
    if !directory.is_dir() {
        edt_io::fs::make_dir(directory)
            .map_err(|error| edt_io::failed("make", directory, &error))?;
    }
    let file = directory.join("lock");
    let is_new = repo.is_shared() && !file.exists();
    let held = stage!(LOCK, lock::acquire(&file, &options.command, options.lock_wait))?;
    if is_new {
        repo.share(&file)?;
    }
    let (journal, recovered) = stage!(RECOVER, open_recovered(repo, POINTER))?;
    Ok((held, journal, recovered))
}

fn without_call(call: &str, error: Errno) -> Finding {
    Finding::new(
        Code::UnsupportedRepository,
        format!(
            "The system refuses the call {call} ({}), without which edt cannot change files safely.",
            std::io::Error::from(error)
        ),
        "Call edt outside this container or sandbox, or let it permit the call; `edt doctor` tests \
         it.",
    )
    .nothing_changed()
}

/// Opens the repository that holds `start`. The user's trust decides whether its own filters run.
fn opened(start: &Path, options: &Options) -> Result<Repo> {
    let repo = match &options.cache {
        Some(cache) => cache.open(options.environment, start)?,
        None => Repo::open_in(options.environment, start)?,
    };
    notify_opened(&repo, options);
    Ok(trusting(repo, options))
}

fn notify_opened(repo: &Repo, options: &Options) {
    options.observers.iter().for_each(|observer| observer.opened(repo.into()));
}

/// The base commit of this worktree's session, else HEAD's commit, else the empty tree, with the
/// policy at that commit.
///
/// # Errors
/// As [`policy`]; `NO_SESSION`, `IO_ERROR` if HEAD cannot be read.
pub fn current_policy(repo: &Repo, options: &Options) -> Result<(Oid, Policy)> {
    let head = repo.head()?;
    let base = match Session::current(repo, &head)? {
        Some(session) => session.base,
        None => head.commit.unwrap_or_else(|| repo.empty_tree()),
    };
    Ok((base, policy(repo, options, repo.tree_of(base)?)?))
}

/// The policy of a session with that base.
///
/// # Errors
/// `BAD_REQUEST` if a policy file cannot be read; `OBJECT_MISSING`; `IO_ERROR` if it names validators
/// or allows commands, and the user's trust store cannot be read.
pub fn policy(repo: &Repo, options: &Options, base_tree: Oid) -> Result<Policy> {
    let bytes = policy_file(repo, base_tree)?;
    let mut policy = Policy::of_recorded(options.user_policy.as_deref(), bytes.as_deref())?
        .in_repository(repo.common_dir())
        .with_configured(repo.configured_in_worktree())
        .with_links(repo.links_of_settings());
    let awaits = policy.validators.iter().any(|one| one.trust == Trust::Untrusted)
        || policy.commands.untrusted_allow_rules().next().is_some();
    if let (Some(bytes), Some(store), true) = (&bytes, &options.trust, awaits)
        && store.trusts(&edt_git::sha256(bytes)?, &repo.real_root()?)?
    {
        policy.commands.trusted = Trusted::Yes;
        let awaiting = policy.validators.iter_mut().filter(|one| one.trust == Trust::Untrusted);
        awaiting.for_each(|one| one.trust = Trust::Trusted);
    }
    Ok(policy)
}

/// The bytes of the repository's `edt.toml` in `base_tree`.
///
/// # Errors
/// `OBJECT_MISSING`; `BAD_REQUEST` if it is too long or not a file: a policy that cannot be read is
/// never skipped.
pub fn policy_file(repo: &Repo, base_tree: Oid) -> Result<Option<Vec<u8>>> {
    match repo.tracked(base_tree, &RepoPath::from_tree(b"edt.toml"))? {
        Tracked::File(FileId { oid, .. }) => match repo.size_of(oid)? {
            long if long > file::MAX_BYTES => Err(file::too_long(long).into()),
            _ => repo.object(oid, ObjectKind::Blob).map(Some),
        },
        Tracked::Nothing => Ok(None),
        Tracked::Symlink | Tracked::Submodule | Tracked::Directory | Tracked::BelowFile => {
            Err(file::not_a_file().into())
        }
    }
}

fn read_only(error: &Refusal) -> bool {
    error.clone().into_vec().iter().any(|finding| finding.code == Code::GitDirReadOnly)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::worktree::options::Cache;
    use crate::tests::{Scratch, refusal};
    use edt_guard::guard::{GuardContext, GuardOutput, Subject};
    use edt_guard::policy::trust::TrustStore;
    use std::sync::Arc;
    use std::time::Duration;

    fn scratch() -> Scratch {
        Scratch::with(&[("a.txt", "one\n")])
    }

    #[test]
    fn a_second_call_waits_for_the_lock_and_is_refused() {
        let scratch = scratch();
        let _held =
            scratch.open_with(Options { command: "edt first".into(), ..Options::default() });
        let options = Options { lock_wait: Duration::ZERO, ..Options::default() };
        let finding = refusal(LockedWorkspace::open(scratch.root(), options));
        assert_eq!(
            (finding.code, &finding.evidence["holder_command"]),
            (Code::SessionBusy, &"edt first".into())
        );
    }

    #[test]
    fn a_released_lock_is_free() {
        let scratch = scratch();
        let mut first = scratch.open();
        assert!(first.is_locked());
        first.release();
        assert!(!first.is_locked());
        scratch.open_with(Options { lock_wait: Duration::ZERO, ..Options::default() });
    }

    #[test]
    fn another_call_may_run_while_the_lock_is_given_up() {
        let scratch = scratch();
        let mut first = scratch.open();
        let inner = first.unlocked(|_| {
            let options = Options { lock_wait: Duration::ZERO, ..Options::default() };
            LockedWorkspace::open(scratch.root(), options).map(|workspace| workspace.is_locked())
        });
        assert_eq!((inner.unwrap(), first.is_locked()), (true, true));
    }

    #[test]
    fn a_directory_outside_every_repository_is_refused() {
        let outside = edt_testkit::tempdir().unwrap();
        let opened = LockedWorkspace::open(outside.path(), Options::default());
        assert_eq!(refusal(opened).code, Code::NotARepository);
    }

    #[test]
    fn only_the_root_itself_opens_exactly() {
        let scratch = scratch();
        scratch.write("dir/x.txt", "x\n");
        assert!(LockedWorkspace::open(&scratch.root().join("dir"), Options::default()).is_ok());
        assert!(LockedWorkspace::at(&scratch.root().join("dir"), Options::default()).is_err());
        assert!(LockedWorkspace::at(scratch.root(), Options::default()).is_ok());
    }

    #[test]
    fn a_repository_is_read_without_the_lock_before_the_first_edit() {
        let scratch = scratch();
        let (repo, recovered) = LockedWorkspace::read(scratch.root(), &Options::default()).unwrap();
        assert_eq!((repo.head().unwrap().commit, recovered), (Some(scratch.head()), None));
        assert!(!scratch.root().join(".git/edt").exists());
    }

    #[test]
    fn the_users_policy_applies_without_a_file_in_the_repository() {
        let user_policy = Some("[limits]\nmax_file_bytes = 7\n".to_owned());
        let workspace = scratch().open_with(Options { user_policy, ..Options::default() });
        let policy = workspace.policy(workspace.repo.empty_tree()).unwrap();
        assert_eq!(policy.max_file_bytes, 7);
    }

    #[test]
    fn the_policy_of_a_session_is_that_of_its_base() {
        let scratch = Scratch::with(&[("edt.toml", "[limits]\nmax_file_bytes = 700\n")]);
        scratch.begin("fix");
        let loosened = "[limits]\nmax_file_bytes = 7000\n";
        scratch.user_commit("edt/fix", &[("edt.toml", Some(loosened))], "loosen\n");
        let repo = scratch.repo();
        let (base, policy) = current_policy(&repo, &Options::default()).unwrap();
        assert_eq!((base, policy.max_file_bytes), (scratch.session().base, 700));
    }

    #[test]
    fn the_policy_without_a_session_is_that_of_head() {
        let scratch = Scratch::with(&[("edt.toml", "[limits]\nmax_file_bytes = 700\n")]);
        let (base, policy) = current_policy(&scratch.repo(), &Options::default()).unwrap();
        assert_eq!((base, policy.max_file_bytes), (scratch.head(), 700));
    }

    #[test]
    fn a_policy_that_is_a_directory_is_never_skipped() {
        let scratch = Scratch::with(&[("edt.toml/x", "x\n")]);
        let repo = scratch.repo();
        let tree = repo.tree_of(scratch.head()).unwrap();
        assert_eq!(refusal(policy_file(&repo, tree)), file::not_a_file());
    }

    #[test]
    fn a_policy_that_is_too_long_is_never_skipped() {
        let long = "#".repeat(file::MAX_BYTES + 1);
        let scratch = Scratch::with(&[("edt.toml", &long)]);
        let repo = scratch.repo();
        let tree = repo.tree_of(scratch.head()).unwrap();
        assert_eq!(refusal(policy_file(&repo, tree)), file::too_long(file::MAX_BYTES + 1));
    }

    const CHECKED: &str =
        "[[validator]]\nname = \"v\"\npaths = [\"*.c\"]\ncommand = [\"true\", \"{file}\"]\n";

    #[test]
    fn the_repositorys_validators_wait_for_the_users_trust() {
        let scratch = Scratch::with(&[("edt.toml", CHECKED)]);
        let data = edt_testkit::tempdir().unwrap();
        let trust = TrustStore::new(data.path().to_owned());
        let options = Options { trust: Some(trust.clone()), ..Options::default() };
        let repo = scratch.repo();
        let current = || current_policy(&repo, &options).unwrap().1;
        assert_eq!(current().validators[0].trust, Trust::Untrusted);
        let hash = edt_git::sha256(CHECKED.as_bytes()).unwrap();
        trust.trust(&hash, &repo.real_root().unwrap()).unwrap();
        assert_eq!(current().validators[0].trust, Trust::Trusted);
        assert_eq!(current().commands.trusted, Trusted::Yes);
    }

    #[derive(Debug)]
    struct Silent;

    impl Guard for Silent {
        fn name(&self) -> &'static str {
            "silent"
        }

        fn rule(&self) -> &'static str {
            "Nothing."
        }

        fn check(&self, _: &Subject<'_>, _: &GuardContext<'_>) -> Vec<GuardOutput> {
            Vec::new()
        }
    }

    #[test]
    fn the_guards_of_an_embedding_program_run_after_the_built_in_ones() {
        let guards: Vec<Arc<dyn Guard>> = vec![Arc::new(Silent)];
        let workspace = scratch().open_with(Options { guards, ..Options::default() });
        let names: Vec<&str> = workspace.guards().map(Guard::name).collect();
        assert_eq!((names.len(), names.last()), (GUARDS.len() + 1, Some(&"silent")));
    }

    #[test]
    fn a_cache_sees_a_head_that_moved() {
        let scratch = scratch();
        let options = Options { cache: Some(Arc::new(Cache::default())), ..Options::default() };
        drop(scratch.open_with(options.clone()));
        let moved = scratch.user_commit("main", &[("b.txt", Some("b\n"))], "moved\n");
        let head = scratch.open_with(options).repo.head().unwrap();
        assert_eq!(head.commit, Some(moved));
    }
}
