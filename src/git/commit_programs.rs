//! What a commit of Git's would start and what is content of the repository: hooks in a folder of the worktree, files of the worktree
//! that a configured hook or the signing names. `.git/hooks` and programs elsewhere are a person's own, as they are for
//! `git commit`; what everyone who writes to the repository can change runs only once a person trusts it as it is.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use gix::bstr::ByteSlice as _;

use super::driver::{named_by, sum_of};
use super::repo::Repo;
use super::sha256;
use crate::base::{Code, Finding, Result};
use crate::io::whole;

/// Hooks that a landing runs.
const HOOKS: [&str; 4] = ["pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"];

/// Files of one worktree that a commit would start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Programs {
    /// Their paths below the root, with what they may start beside them.
    pub files: Vec<String>,
    /// SHA-256 of all of them, as hex.
    pub hash: String,
}

impl Repo {
    /// What of the worktree at `root` a commit there would start; `None` if nothing.
    ///
    /// # Errors
    /// `IO_ERROR` if the root cannot be found; `INTERNAL` if hashing fails.
    pub fn commit_programs(&self, root: &Path) -> Result<Option<Programs>> {
        let root = root.canonicalize().map_err(|error| crate::io::failed("find", root, &error))?;
        // A file of another worktree is content of the same repository.
        let mut roots = vec![root.clone()];
        roots.extend(
            self.worktrees("").iter().filter_map(|one| self.root_of(one)?.canonicalize().ok()),
        );
        roots.sort_by_key(|root| std::cmp::Reverse(root.as_os_str().len()));
        let holder = |path: &Path| roots.iter().find(|root| path.starts_with(root));
        let git_dirs =
            [self.git_dir(), self.common_dir()].map(|dir| dir.canonicalize().unwrap_or_default());
        let content = |path: &Path| {
            let path = path.canonicalize().ok()?;
            let apart = git_dirs.iter().all(|dir| !path.starts_with(dir));
            (apart && holder(&path).is_some() && path.is_file()).then_some(path)
        };
        let mut files: BTreeSet<PathBuf> = BTreeSet::new();
        let folder = self.hooks_folder(&root);
        for hook in HOOKS {
            let Some(file) = content(&folder.join(hook)) else { continue };
            // A hook of husky's runs others of its folder, and the one of its own name above it.
            let own = folder.canonicalize().ok().filter(|folder| !roots.contains(folder));
            if let Some(beside) = file.parent().filter(|beside| own.as_deref() == Some(beside)) {
                files.extend(whole::files_in(beside).iter().filter_map(|file| content(file)));
                files.extend(beside.parent().and_then(|above| content(&above.join(hook))));
            }
            files.insert(file);
        }
        let named = self.commands().into_iter().flat_map(|command| named_by(&command));
        files.extend(named.filter_map(|name| content(&root.join(OsStr::from_bytes(&name)))));
        if files.is_empty() {
            return Ok(None);
        }
        let mut all = b"edt commit programs 1\n".to_vec();
        let mut shown = Vec::new();
        for file in files {
            let below =
                holder(&file).and_then(|root| file.strip_prefix(root).ok()).unwrap_or(&file);
            all.extend(
                format!("{:?} {}\n", below.as_os_str().as_bytes().as_bstr(), sum_of(&file)?)
                    .into_bytes(),
            );
            shown.push(below.to_string_lossy().into_owned());
        }
        Ok(Some(Programs { files: shown, hash: sha256(&all)? }))
    }

    /// Whether what a commit in the worktree at `root` would start may run: it is no content of the repository, or a person trusts it,
    /// in that worktree or in the main one.
    ///
    /// # Errors
    /// As [`commit_programs`](Repo::commit_programs); `IO_ERROR` if what the person trusts cannot be read.
    pub fn may_commit(&self, root: &Path) -> Result<bool> {
        let Some(programs) = self.commit_programs(root)? else { return Ok(true) };
        let Some(trust) = &self.trust else { return Ok(false) };
        let main = self.inner.main_repo().ok().and_then(|main| main.workdir().map(Path::to_owned));
        let here = self.real_root()?;
        for place in [Some(root.to_owned()), Some(here), main].into_iter().flatten() {
            if let Ok(place) = place.canonicalize()
                && trust.trusts(&programs.hash, &place)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Refuses a commit that would start content of the repository that nobody trusts.
    ///
    /// # Errors
    /// `TRUST_REQUIRED`, before anything runs; as [`may_commit`](Repo::may_commit).
    pub fn check_commit_programs(&self) -> Result<()> {
        if self.may_commit(self.root_path())? {
            return Ok(());
        }
        let files = self
            .commit_programs(self.root_path())?
            .map(|programs| programs.files)
            .unwrap_or_default();
        Err(untrusted(&files).into())
    }

    /// The folder that Git runs hooks from in the worktree at `root`.
    fn hooks_folder(&self, root: &Path) -> PathBuf {
        let config = self.inner.config_snapshot();
        let configured = config.trusted_path("core.hooksPath").ok().flatten();
        configured.map_or_else(|| self.common_dir().join("hooks"), |path| root.join(path))
    }

    /// The command lines of configured hooks, and of the signing if commits are signed.
    fn commands(&self) -> Vec<Vec<u8>> {
        let config = self.inner.config_snapshot();
        let sections = |name: &str| {
            config.plumbing().sections_by_name(name).into_iter().flatten().collect::<Vec<_>>()
        };
        let mut all: Vec<Vec<u8>> = Vec::new();
        for section in sections("hook") {
            all.extend(section.values("command").iter().map(|value| value.to_vec()));
        }
        if self.signs_commits() {
            for section in sections("gpg") {
                for key in ["program", "defaultKeyCommand"] {
                    all.extend(section.values(key).iter().map(|value| value.to_vec()));
                }
            }
        }
        all
    }
}

fn untrusted(files: &[String]) -> Finding {
    let (most, count) = (5, files.len());
    let mut shown = files.iter().take(most).cloned().collect::<Vec<_>>().join(", ");
    if count > most {
        shown.push_str(&format!(" and {} more", count - most));
    }
    Finding::new(
        Code::TrustRequired,
        format!("Git would run files of this worktree for the commit ({shown}: core.hooksPath, a configured hook or the signing names them), and nobody has trusted them as they are. None was run; nothing was landed."),
        "Ask a person to run `edt trust` in a terminal: it shows the files and asks. Then repeat `edt land`.",
    )
    .with("files", files.to_vec())
}
