//! A repository as gix opened it, kept for the next call, and the check whether it can be reused.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Repo;
use super::supported::unsupported;
use edt_io::stat::Stat;
use edt_io::{Environment, clock, fs};
use edt_types::Result;
use edt_types::text::Shown as _;

/// The resolution of the file system's clock. A file that changed this shortly before it was read
/// may change again without a new time stamp.
const TICK: Duration = Duration::from_millis(100);

/// The result of opening: directories, configuration, access to objects and refs. Each [`Repo`]
/// created from it reads objects, refs and files again.
#[derive(Debug)]
pub struct Opened {
    inner: gix::Repository,
    environment: Environment,
    /// The stat of each file that opening reads; `None` if it did not exist.
    read: Vec<(Option<Stat>, PathBuf)>,
}

impl Opened {
    /// Opens the repository at `start` in `environment`. Also returns the state for reuse, unless opening again
    /// could give another result although its files are unchanged: if the repository was found
    /// above `start`, if a setting depends on more than files, or if a file was written just now.
    ///
    /// # Errors
    /// As [`Repo::open`].
    pub fn open(environment: Environment, start: &Path) -> Result<(Repo, Option<Opened>)> {
        let cutoff = clock::system() - TICK;
        let first = Repo::open_in(environment, start)?;
        let Some(read) = files(&first)
            .filter(|_| first.real_root().is_ok_and(|root| fs::real_path(start) == root))
        else {
            return Ok((first, None));
        };
        let stats =
            || read.iter().map(|path| (Stat::of_target(path), path.clone())).collect::<Vec<_>>();
        let before = stats();
        // Only now it is known which files it reads. So it is opened again, between two checks of
        // them.
        let repo = Repo::open_in(environment, start)?;
        let old_enough = before
            .iter()
            .filter_map(|(stat, _)| *stat)
            .all(|stat| stat.is_directory() || stat.changed() < cutoff);
        let unchanged =
            before.iter().zip(stats()).all(|((before, _), (now, _))| same(*before, now));
        let opened = (old_enough && unchanged).then(|| Opened {
            inner: repo.inner.clone(),
            environment,
            read: before,
        });
        Ok((repo, opened))
    }

    /// Opens the repository again if it was opened in the same environment and the files that
    /// opening read are unchanged.
    ///
    /// # Errors
    /// As [`Repo::open`]: every check of opening is repeated.
    pub fn reopen(&self, environment: Environment) -> Result<Option<Repo>> {
        let same = environment == self.environment
            && self.read.iter().all(|(stat, path)| same(*stat, Stat::of_target(path)));
        if same { Repo::of(environment, self.inner.clone()).map(Some) } else { Ok(None) }
    }
}

impl Repo {
    /// Opens the worktree at `root` itself, if programs that edt starts in `environment` will use
    /// the same one.
    ///
    /// # Errors
    /// As [`Repo::open`]; `UNSUPPORTED_REPOSITORY` if the environment names another one.
    pub fn open_exactly(environment: Environment, root: &Path) -> Result<Repo> {
        let repo = Repo::open_worktree(environment, root)?;
        super::environment::check_names(environment, &repo.inner)?;
        if repo.real_root()? != fs::real_path(root) {
            return Err(unsupported(&format!(
                "its worktree is {}, not {}",
                repo.root_path().shown(),
                root.shown()
            ))
            .into());
        }
        Ok(repo)
    }
}

/// For directories only the inode counts: their content changes with every lock.
fn same(before: Option<Stat>, now: Option<Stat>) -> bool {
    match (before, now) {
        (Some(before), Some(now)) if before.is_directory() => before.inode() == now.inode(),
        _ => before == now,
    }
}

/// The files that determine the result of opening: every configuration file, and the refs and links
/// that gix keeps in memory.
fn files(repo: &Repo) -> Option<Vec<PathBuf>> {
    use gix::config::Source;
    let config = repo.inner.config_snapshot();
    let mut files = Vec::new();
    for section in config.plumbing().sections() {
        // An include may depend on the branch, and a missing file leaves no trace in the
        // configuration.
        let name = section.header().name();
        if name.eq_ignore_ascii_case(b"include") || name.eq_ignore_ascii_case(b"includeIf") {
            return None;
        }
        files.extend(section.meta().path.clone());
    }
    let user_files = [Source::Git, Source::User]
        .map(|source| source.storage_location(&mut |name| repo.environment.var(name)));
    files.extend(user_files.into_iter().flatten());
    files.push(PathBuf::from("/etc/gitconfig"));
    let (git, common) = (repo.git_dir(), repo.common_dir());
    files.extend(["config.worktree", "commondir", "gitdir"].map(|name| git.join(name)));
    files.extend(
        ["config", "packed-refs", "shallow", "objects/info/alternates"]
            .map(|name| common.join(name)),
    );
    files.push(repo.root_path().join(".git"));
    files.sort_unstable();
    files.dedup();
    Some(files)
}
