//! What the program around the library brings along.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::observe::Observer;
use crate::session::turns::CallingAgent;
use edt_git::Repo;
use edt_git::confinement::Confinement;
use edt_git::opened::Opened;
use edt_git::trust::Configuration;
use edt_guard::guard::Guard;
use edt_guard::policy::trust::TrustStore;
use edt_io::Environment;
use edt_lang::TreeCache;
use edt_types::{Durability, Result};

/// How long a call waits for the worktree's lock by default.
pub const LOCK_WAIT: Duration = Duration::from_secs(10);

/// What the program around the library brings along. With the default the library reads no
/// environment variable and no home directory, and changes nothing of the process.
///
/// ```
/// use std::time::Duration;
/// use edt_core::types::TrustStore;
/// use edt_core::{Environment, Options};
///
/// let options = Options::default()
///     .command("my-editor")
///     .lock_wait(Duration::from_secs(2))
///     .trust(TrustStore::new("/home/me/.config/my-editor".into()))
///     .environment(Environment::Process);
/// assert_eq!(options.command, "my-editor");
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// The name of the program, which the refusal `SESSION_BUSY` of a waiting process shows. It is
    /// cut after 20 characters. The default is `edt`.
    pub command: String,
    /// Longest wait for another process.
    pub lock_wait: Duration,
    /// The text of the user's own `edt.toml`.
    pub user_policy: Option<String>,
    /// The directory that `~` means in it.
    pub user_home: Option<PathBuf>,
    /// Where the user's decisions on trust are recorded; `None`: nothing is trusted.
    pub trust: Option<TrustStore>,
    /// Whose Git's configuration outside of the repository is. Default: the user's.
    pub configuration: Configuration,
    /// Confines hooks, filters and validators of the repository; `None`: they run as Git runs them.
    pub confinement: Option<Arc<dyn Confinement>>,
    /// The environment in which Git access works and in which validators, filters and hooks start.
    pub environment: Environment,
    /// Whether a process that leaves the process group of a validator or filter is killed with it.
    /// This makes the process for good the reaper of all its orphaned descendants
    /// (`PR_SET_CHILD_SUBREAPER`), also of those that the library did not start. Default: no; then
    /// only the process group is killed.
    pub reap_orphans: bool,
    /// What is on disk before an answer; `None`: what the repository's configuration says.
    pub durability: Option<Durability>,
    /// Who calls, as far as the agent's program says.
    pub caller: CallingAgent,
    /// What stays in memory between calls.
    pub cache: Option<Arc<Cache>>,
    /// Observers of the calls, in this order.
    pub observers: Vec<Arc<dyn Observer>>,
    /// Guards of the embedding program, which run after the built-in ones.
    pub guards: Vec<Arc<dyn Guard>>,
}

impl Options {
    /// Names the program, as [`Options::command`] says.
    #[must_use]
    pub fn command(mut self, name: impl Into<String>) -> Options {
        self.command = name.into();
        self
    }

    /// Sets the longest wait for another process.
    #[must_use]
    pub fn lock_wait(mut self, longest: Duration) -> Options {
        self.lock_wait = longest;
        self
    }

    /// Sets the text of the user's own `edt.toml`, and the directory that `~` means in it.
    #[must_use]
    pub fn user_policy(mut self, text: impl Into<String>, home: Option<PathBuf>) -> Options {
        (self.user_policy, self.user_home) = (Some(text.into()), home);
        self
    }

    /// Records the user's decisions on trust in `store`.
    #[must_use]
    pub fn trust(mut self, store: TrustStore) -> Options {
        self.trust = Some(store);
        self
    }

    /// Says whose Git's configuration outside of the repository is.
    #[must_use]
    pub fn configuration(mut self, whose: Configuration) -> Options {
        self.configuration = whose;
        self
    }

    /// Confines hooks, filters and validators of the repository.
    #[must_use]
    pub fn confinement(mut self, confinement: Arc<dyn Confinement>) -> Options {
        self.confinement = Some(confinement);
        self
    }

    /// Sets the environment in which Git access works and programs start.
    #[must_use]
    pub fn environment(mut self, environment: Environment) -> Options {
        self.environment = environment;
        self
    }

    /// Makes this process the reaper of its orphaned descendants, for good, as
    /// [`Options::reap_orphans`] says.
    #[must_use]
    pub fn reap_orphans(mut self) -> Options {
        self.reap_orphans = true;
        self
    }

    /// Sets what is on disk before an answer, whatever the repository's configuration says.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Options {
        self.durability = Some(durability);
        self
    }

    /// Says who calls.
    #[must_use]
    pub fn caller(mut self, caller: CallingAgent) -> Options {
        self.caller = caller;
        self
    }

    /// Shares what stays in memory between calls with other workspaces. A workspace without one has
    /// a cache of its own.
    #[must_use]
    pub fn cache(mut self, cache: Arc<Cache>) -> Options {
        self.cache = Some(cache);
        self
    }

    /// Adds an observer, which is called after those that are there.
    #[must_use]
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> Options {
        self.observers.push(observer);
        self
    }

    /// Adds a guard, which runs after those that are there.
    #[must_use]
    pub fn guard(mut self, guard: Arc<dyn Guard>) -> Options {
        self.guards.push(guard);
        self
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            command: "edt".to_owned(),
            lock_wait: LOCK_WAIT,
            user_policy: None,
            user_home: None,
            trust: None,
            configuration: Configuration::Users,
            confinement: None,
            environment: Environment::Isolated,
            reap_orphans: false,
            durability: None,
            caller: CallingAgent::default(),
            cache: None,
            observers: Vec::new(),
            guards: Vec::new(),
        }
    }
}

/// What a process keeps from one call to the next. Each part is checked against what it was read
/// from before it is used.
#[derive(Debug, Default)]
pub struct Cache {
    repositories: Mutex<BTreeMap<PathBuf, Opened>>,
    /// Trees of the files that were edited last.
    pub(super) trees: TreeCache,
}

/// How many repositories a cache keeps open.
const MOST_OPEN: usize = 16;

impl Cache {
    /// The repository that holds `start`, opened again only if a file that opening reads has
    /// changed.
    pub(super) fn open(&self, environment: Environment, start: &Path) -> Result<Repo> {
        let mut all = self.repositories.lock().unwrap_or_else(PoisonError::into_inner);
        let opened = all.get(start).map(|opened| opened.reopen(environment));
        if let Some(repo) = opened.transpose()?.flatten() {
            return Ok(repo);
        }
        let (repo, opened) = Opened::open(environment, start)?;
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

pub(super) fn trusting(mut repo: Repo, options: &Options) -> Repo {
    repo.set_reap_orphans(options.reap_orphans);
    repo.set_configuration(options.configuration);
    if let Some(store) = &options.trust {
        repo.set_trust(Box::new(UserTrust(store.clone())));
    }
    if let Some(confinement) = &options.confinement {
        repo.set_confinement(Arc::clone(confinement));
    }
    repo
}

/// What the user recorded as trusted.
#[derive(Debug)]
struct UserTrust(TrustStore);

impl edt_git::trust::TrustStore for UserTrust {
    fn trusts(&self, hash: &str, root: &Path) -> Result<bool> {
        self.0.trusts(hash, root)
    }
}
