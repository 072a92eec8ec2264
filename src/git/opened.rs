//! A repository as gix opened it, kept for the next call, and whether it may still be used.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::repo::unsupported;
use super::{Repo, environment};
use crate::base::Result;
use crate::io::stat::Stat;
use crate::io::{clock, whole};

/// Files that changed this shortly before they were read may change again within the same tick of the file system's clock, and look
/// the same.
const TICK: Duration = Duration::from_millis(100);

/// What opening found: the folders, the configuration, the way to objects and refs. What is read of objects, refs and files is read
/// anew by each [`Repo`] made of it.
#[derive(Debug)]
pub struct Opened {
    inner: gix::Repository,
    /// Each file that opening read or would have read, as it was; `None` where there was none.
    read: Vec<(Option<Stat>, PathBuf)>,
}

impl Opened {
    /// What opening the repository at `start` finds, if opening it again could not find anything else as long as the files that it reads are as
    /// they are: not where a repository above `start` is found, a setting depends on more than files, or one was written just now.
    ///
    /// # Errors
    /// As [`Repo::open`].
    pub fn open(start: &Path) -> Result<(Repo, Option<Opened>)> {
        let settled = clock::system() - TICK;
        let first = Repo::open(start)?;
        let Some(read) = files(&first)
            .filter(|_| first.real_root().is_ok_and(|root| whole::real(start) == root))
        else {
            return Ok((first, None));
        };
        let stats =
            || read.iter().map(|path| (Stat::behind(path), path.clone())).collect::<Vec<_>>();
        let before = stats();
        // Which files it reads is known only now. So it is opened once more, between two looks at them.
        let repo = Repo::open(start)?;
        let quiet = before
            .iter()
            .filter_map(|(stat, _)| *stat)
            .all(|stat| stat.is_folder() || stat.changed() < settled);
        let still = before.iter().zip(stats()).all(|((before, _), (now, _))| same(*before, now));
        let opened = (quiet && still).then(|| Opened { inner: repo.inner.clone(), read: before });
        Ok((repo, opened))
    }

    /// The repository once more, if all that opening it read is as it was.
    ///
    /// # Errors
    /// As [`Repo::open`]: everything that is checked when a repository is opened is checked again.
    pub fn again(&self) -> Result<Option<Repo>> {
        let same = self.read.iter().all(|(stat, path)| same(*stat, Stat::behind(path)));
        if same { Repo::of(self.inner.clone()).map(Some) } else { Ok(None) }
    }
}

impl Repo {
    /// Opens the worktree at `root` itself, where programs that are started must mean it, too.
    ///
    /// # Errors
    /// As [`Repo::open`]; `UNSUPPORTED_REPOSITORY` if the environment names another one.
    pub fn exactly(root: &Path) -> Result<Repo> {
        let repo = Repo::linked(root)?;
        environment::check_names(&repo.inner)?;
        if repo.real_root()? != whole::real(root) {
            return Err(unsupported(&format!(
                "its worktree is {}, not {}",
                repo.root_path().display(),
                root.display()
            ))
            .into());
        }
        Ok(repo)
    }
}

/// Of folders only which they are: what is in them changes with every lock.
fn same(before: Option<Stat>, now: Option<Stat>) -> bool {
    match (before, now) {
        (Some(before), Some(now)) if before.is_folder() => before.inode() == now.inode(),
        _ => before == now,
    }
}

/// The files that decide what is opened: every configuration file, the refs and links of the Git folders that gix keeps in memory.
fn files(repo: &Repo) -> Option<Vec<PathBuf>> {
    use gix::config::Source;
    let config = repo.inner.config_snapshot();
    let mut files = Vec::new();
    for section in config.plumbing().sections() {
        // Which files it includes may depend on the branch, and one that is not there yet leaves no trace here.
        let name = section.header().name();
        if name.eq_ignore_ascii_case(b"include") || name.eq_ignore_ascii_case(b"includeIf") {
            return None;
        }
        files.extend(section.meta().path.clone());
    }
    let persons = [Source::Git, Source::User]
        .map(|source| source.storage_location(&mut |name| std::env::var_os(name)));
    files.extend(persons.into_iter().flatten());
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
