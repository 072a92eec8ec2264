//! Programs that a commit would start and that are content of the repository: hooks in a directory
//! of the worktree, and files of the worktree that a configured hook or the signing configuration
//! names. `.git/hooks` and programs elsewhere belong to the user, as for `git commit`. Files that
//! everyone who can push to the repository can change run only if the user trusts them as they are.
//!
//! A Git directory below the worktree of another repository belongs to whoever may write there: its
//! hooks, and what its configuration names, need trust, too.

use edt_types::text::Shown as _;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use gix::bstr::ByteSlice as _;
use gix::config::Source;

use super::driver::{content_hash, possible_paths};
use super::repo::Repo;
use super::sha256;
use super::supported::is_in_other_worktree;
use edt_io::fs;
use edt_types::{Code, Finding, Result};

/// The hooks that a landing runs.
const HOOKS: [&str; 4] = ["pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"];

/// The files of one worktree that a commit would start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitPrograms {
    /// Their paths below the root, including files that they may start themselves, and settings
    /// that are trusted with them.
    pub files: Vec<String>,
    /// The SHA-256 of all of them, as hex.
    pub hash: String,
}

impl Repo {
    /// The files of the worktree at `root` that a commit there would start; `None` if there are
    /// none.
    ///
    /// # Errors
    /// `IO_ERROR` if the root cannot be found; `INTERNAL` if hashing fails.
    pub fn commit_programs(&self, root: &Path) -> Result<Option<CommitPrograms>> {
        let root = root.canonicalize().map_err(|error| edt_io::failed("find", root, &error))?;
        // A file of another worktree is content of the same repository.
        let mut roots = vec![root.clone()];
        roots.extend(
            self.worktrees("")
                .iter()
                .filter_map(|one| self.worktree_root(one)?.canonicalize().ok()),
        );
        roots.sort_by_key(|root| std::cmp::Reverse(root.as_os_str().len()));
        let holder = |path: &Path| roots.iter().find(|root| path.starts_with(root));
        let git_dirs =
            [self.git_dir(), self.common_dir()].map(|dir| dir.canonicalize().unwrap_or_default());
        let is_planted = is_in_other_worktree(self.common_dir());
        let content = |path: &Path| {
            let path = path.canonicalize().ok()?;
            let apart = git_dirs.iter().all(|dir| !path.starts_with(dir));
            (apart && holder(&path).is_some() && path.is_file()).then_some(path)
        };
        let planted = |path: &Path| path.canonicalize().ok().filter(|path| path.is_file());
        let mut files: BTreeSet<PathBuf> = BTreeSet::new();
        let mut settings: BTreeSet<String> = BTreeSet::new();
        let (directory, is_local) = self.hooks_directory(&root);
        for hook in HOOKS {
            let path = directory.join(hook);
            if is_planted && is_local {
                files.extend(planted(&path));
            }
            let Some(file) = content(&path) else { continue };
            // A husky hook runs other hooks of its directory, and the file with its own name one
            // level higher.
            let own = directory.canonicalize().ok().filter(|directory| !roots.contains(directory));
            if let Some(parent) = file.parent().filter(|parent| own.as_deref() == Some(parent)) {
                files.extend(fs::files_in(parent).iter().filter_map(|file| content(file)));
                files.extend(parent.parent().and_then(|above| content(&above.join(hook))));
            }
            files.insert(file);
        }
        for ConfiguredCommand { key, command, is_local } in self.commands() {
            let named = possible_paths(&command);
            let named = named.iter().map(|name| root.join(OsStr::from_bytes(name)));
            if is_planted && is_local {
                settings.insert(format!("{key} = {}", command.as_bstr()));
                files.extend(named.filter_map(|path| planted(&path)));
            } else {
                files.extend(named.filter_map(|path| content(&path)));
            }
        }
        if files.is_empty() && settings.is_empty() {
            return Ok(None);
        }
        let mut all = b"edt commit programs 1\n".to_vec();
        let mut shown = Vec::new();
        for file in files {
            let below =
                holder(&file).and_then(|root| file.strip_prefix(root).ok()).unwrap_or(&file);
            all.extend(
                format!("{:?} {}\n", below.as_os_str().as_bytes().as_bstr(), content_hash(&file)?)
                    .into_bytes(),
            );
            shown.push(below.to_string_lossy().into_owned());
        }
        for setting in settings {
            all.extend(format!("setting {setting:?}\n").into_bytes());
            shown.push(setting);
        }
        Ok(Some(CommitPrograms { files: shown, hash: sha256(&all)? }))
    }

    /// Whether the programs that a commit at `root` would start may run: there are none from the
    /// repository, or the user trusts them, in that worktree or in the main one.
    ///
    /// # Errors
    /// As [`commit_programs`](Repo::commit_programs); `IO_ERROR` if the trust decisions cannot be
    /// read.
    pub fn trusts_commit_programs(&self, root: &Path) -> Result<bool> {
        if !self.callers_programs().is_empty() {
            return Ok(false);
        }
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

    /// Refuses a commit that would start untrusted content of the repository.
    ///
    /// # Errors
    /// `TRUST_REQUIRED`, before anything runs; as
    /// [`trusts_commit_programs`](Repo::trusts_commit_programs).
    pub fn check_commit_programs(&self) -> Result<()> {
        if self.trusts_commit_programs(self.root_path())? {
            return Ok(());
        }
        let callers = self.callers_programs();
        if !callers.is_empty() {
            return Err(set_by_caller(&callers).into());
        }
        let files = self
            .commit_programs(self.root_path())?
            .map(|programs| programs.files)
            .unwrap_or_default();
        Err(untrusted(&files).into())
    }

    /// The keys of programs for a commit that only the caller's environment sets.
    fn callers_programs(&self) -> Vec<String> {
        let config = self.inner.config_snapshot();
        let (mut keys, signs) = (Vec::new(), self.signs_commits());
        for section in config.plumbing().sections() {
            let source = section.meta().source;
            let is_callers = self.configuration.awaits_trust(source)
                && !matches!(source, Source::Local | Source::Worktree);
            let name = section.header().name().to_str_lossy().to_ascii_lowercase();
            let programs: &[&str] = match name.as_str() {
                "core" => &["hooksPath"],
                "hook" => &["command"],
                "gpg" if signs => &["program", "defaultKeyCommand", "format"],
                "commit" if signs => &["gpgSign"],
                "user" if signs => &["signingKey"],
                _ => continue,
            };
            let set = programs.iter().filter(|key| is_callers && section.value(**key).is_some());
            keys.extend(set.map(|key| format!("{name}.{key}")));
        }
        keys
    }

    /// The directory of Git's hooks for the worktree at `root`, and whether the repository itself
    /// says so.
    fn hooks_directory(&self, root: &Path) -> (PathBuf, bool) {
        let config = self.inner.config_snapshot();
        let Some(path) = config.trusted_path("core.hooksPath").ok().flatten() else {
            return (self.common_dir().join("hooks"), true);
        };
        let cores = config.plumbing().sections_by_name("core").into_iter().flatten();
        let last = cores.filter(|section| section.value("hooksPath").is_some()).last();
        (root.join(path), last.is_some_and(|section| is_local(section.meta().source)))
    }

    /// The commands of configured hooks, and of signing if commits are signed.
    fn commands(&self) -> Vec<ConfiguredCommand> {
        let config = self.inner.config_snapshot();
        let signing =
            if self.signs_commits() { &["program", "defaultKeyCommand"][..] } else { &[] };
        let mut all = Vec::new();
        for (name, keys) in [("hook", &["command"][..]), ("gpg", signing)] {
            for section in config.plumbing().sections_by_name(name).into_iter().flatten() {
                let is_local = is_local(section.meta().source);
                for key in keys {
                    all.extend(section.values(key).iter().map(|value| ConfiguredCommand {
                        key: format!("{name}.{key}"),
                        command: value.to_vec(),
                        is_local,
                    }));
                }
            }
        }
        all
    }
}

fn set_by_caller(keys: &[String]) -> Finding {
    Finding::new(
        Code::TrustRequired,
        format!(
            "The environment of this call sets {} in Git's configuration. An agent can set that, \
             so no such program was run.",
            keys.join(", ")
        ),
        "Repeat `edt land` without changing HOME, XDG_CONFIG_HOME and GIT_CONFIG_*; or ask the \
         user to land.",
    )
    .with_effect(edt_types::Effect::NothingLanded)
}

/// A command line of the configuration.
struct ConfiguredCommand {
    key: String,
    command: Vec<u8>,
    /// Whether the repository's own configuration has it.
    is_local: bool,
}

fn is_local(source: Source) -> bool {
    matches!(source, Source::Local | Source::Worktree)
}

fn untrusted(files: &[String]) -> Finding {
    let (most, count) = (5, files.len());
    let mut shown = files.iter().take(most).cloned().collect::<Vec<_>>().join(", ").shown();
    if count > most {
        shown.push_str(&format!(" and {} more", count - most));
    }
    Finding::new(
        Code::TrustRequired,
        format!(
            "For the commit Git would run untrusted files of this worktree, or programs of a \
             repository inside another worktree: {shown}. The hooks directory, a configured hook or \
             the signing configuration names them. None was run."
        ),
        "Ask the user to run `edt trust` in a terminal: it shows the files and asks. Then repeat \
         `edt land`.",
    )
    .with_effect(edt_types::Effect::NothingLanded)
    .with("files", files.to_vec())
}
