//! A temporary Git directory in which the hooks of a commit run, so that the user's index stays as
//! it is.
//!
//! Confined hooks get a directory of their own with the index, the message and the objects that
//! they write. Their Git directory is read-only, and so is the repository's. Afterwards edt's own
//! Git reads copies of what they wrote, and nothing else from there.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use super::commit_candidate::{CommitCandidate, blocked};
use super::confinement::{
    ConfinedProgram, ConfinedStreams, Confinement, Variables, WorktreeAccess,
};
use super::{Oid, Repo, reftable};
use edt_io::bounded::{self, ProcessEnd};
use edt_io::disk::MAX_FILE;
use edt_io::scratch::Scratch;
use edt_io::spawn::{self, CommandOutput, Hooks};
use edt_io::{failed, fs};
use edt_types::{Code, Finding, Refusal, Result};

/// The variable for edt's own `pre-commit` hook: the overrides that the session's edits recorded.
const ALLOW: &str = "EDT_ALLOW";

/// The most bytes of a confined hook's output that are kept.
const MAX_OUTPUT: usize = bounded::TAIL_BYTES;

/// A temporary Git directory for the worktree with its own HEAD and index. Dropping it deletes the
/// directory.
pub(super) struct PrivateGitDir<'r> {
    repo: &'r Repo,
    /// The Git directory.
    path: PathBuf,
    /// The directory of the index and the message.
    work: PathBuf,
    allowed: String,
    /// Objects that confined hooks wrote, for edt's own Git.
    staged: Option<PathBuf>,
    place: Place<'r>,
}

/// Where a private Git directory is.
enum Place<'r> {
    /// In edt's state directory.
    State,
    /// Outside the Git directory, for programs that this confines.
    Scratch(&'r dyn Confinement, Scratch),
}

impl Drop for PrivateGitDir<'_> {
    fn drop(&mut self) {
        if matches!(self.place, Place::State) {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

impl<'r> PrivateGitDir<'r> {
    /// For edt's own Git, and for programs that run as Git runs them.
    pub(super) fn make(repo: &'r Repo, candidate: &CommitCandidate) -> Result<PrivateGitDir<'r>> {
        let state = repo
            .state_path()
            .canonicalize()
            .map_err(|error| failed("find", repo.state_path(), &error))?;
        let path = state.join("land");
        let _ = fs::remove_dir_all(&path);
        PrivateGitDir::at(repo, candidate, path.clone(), path, Place::State)
    }

    /// For the hooks, which are confined if they have to be.
    pub(super) fn for_hooks(
        repo: &'r Repo,
        candidate: &CommitCandidate,
    ) -> Result<PrivateGitDir<'r>> {
        let Some(confinement) = repo.confinement()? else {
            return PrivateGitDir::make(repo, candidate);
        };
        let scratch = Scratch::outside(repo.environment(), &repo.real_root()?)
            .map_err(|error| failed("make", Path::new("a directory for the hooks"), &error))?;
        let work = scratch.path().to_owned();
        let objects = work.join("objects");
        fs::make_dir(&objects).map_err(|error| failed("make", &objects, &error))?;
        let place = Place::Scratch(confinement, scratch);
        PrivateGitDir::at(repo, candidate, work.join("git"), work, place)
    }

    fn at(
        repo: &'r Repo,
        candidate: &CommitCandidate,
        path: PathBuf,
        work: PathBuf,
        place: Place<'r>,
    ) -> Result<PrivateGitDir<'r>> {
        let head = &candidate.head;
        let common = common_dir(repo)?;
        let head =
            if head.starts_with("refs/") { format!("ref: {head}\n") } else { format!("{head}\n") };
        let write = |name: &str, text: &OsStr| {
            let file = path.join(name);
            fs::write_in_place(&file, text.as_encoded_bytes())
                .map_err(|error| failed("write", &file, &error))
        };
        fs::make_dir(&path.join("info")).map_err(|error| failed("make", &path, &error))?;
        write("HEAD", OsStr::new(if repo.has_tables() { reftable::HEAD_FILE } else { &head }))?;
        write("commondir", common.as_os_str())?;
        write("gitdir", repo.real_root()?.join(".git").as_os_str())?;
        for own in ["config.worktree", "info/sparse-checkout"] {
            let _ = fs::copy(&repo.git_dir().join(own), &path.join(own));
        }
        let allowed = candidate.allowed.join(",");
        let made = PrivateGitDir { repo, path, work, allowed, staged: None, place };
        if repo.has_tables() {
            made.point_head_in_tables(&candidate.head)?;
        }
        Ok(made)
    }

    /// Makes tables with HEAD alone.
    fn point_head_in_tables(&self, head: &str) -> Result<()> {
        let tables = self.path.join(reftable::NAME);
        fs::make_dir(&tables).map_err(|error| failed("make", &tables, &error))?;
        // Git takes a directory without `refs` for none of its own.
        let refs = self.path.join("refs");
        fs::make_dir(&refs).map_err(|error| failed("make", &refs, &error))?;
        let is_branch = head.starts_with("refs/");
        let set = if is_branch { ["symbolic-ref", "HEAD"] } else { ["update-ref", "HEAD"] };
        let ran = self.git(&[set[0], set[1], head].map(OsStr::new), Hooks::Off)?;
        if ran.ok { Ok(()) } else { Err(blocked(set[0], &ran).into()) }
    }

    /// The file for the commit's message.
    pub(super) fn message(&self) -> PathBuf {
        self.work.join("COMMIT_EDITMSG")
    }

    /// Creates an index with the content of `tree`. A copy of the worktree's index saves Git from
    /// reading every file again.
    pub(super) fn fill_index(&self, tree: &str) -> Result<()> {
        let index = self.work.join("index");
        let copied = fs::copy(&self.repo.index_path(), &index).is_ok();
        if copied && self.git(&["read-tree", "-m", tree].map(OsStr::new), Hooks::Off)?.ok {
            return Ok(());
        }
        let _ = fs::remove_file(&index);
        let ran = self.git(&["read-tree", tree].map(OsStr::new), Hooks::Off)?;
        if ran.ok { Ok(()) } else { Err(blocked("read-tree", &ran).into()) }
    }

    /// Runs a hook, in a sandbox if it has to be.
    ///
    /// # Errors
    /// It was not started, or it left in the worktree what other programs execute.
    pub(super) fn hook(&self, args: &[&OsStr]) -> Result<CommandOutput> {
        let Place::Scratch(confinement, scratch) = &self.place else {
            return self.git(args, Hooks::On);
        };
        let root = self.repo.real_root()?;
        let store = quoted(self.repo.objects_dir())?;
        let mut env = self.variables(&root);
        env.push(("GIT_OBJECT_DIRECTORY", self.work.join("objects").into()));
        env.push(("GIT_ALTERNATE_OBJECT_DIRECTORIES", store));
        confined_git(*confinement, self.repo, &root, args, &env, Some((scratch.path(), &self.path)))
    }

    /// What confined hooks wrote, where edt's own Git can read it: only regular files are taken.
    pub(super) fn after_hooks(
        self,
        repo: &'r Repo,
        candidate: &CommitCandidate,
    ) -> Result<PrivateGitDir<'r>> {
        if matches!(self.place, Place::State) {
            return Ok(self);
        }
        let mut after = PrivateGitDir::make(repo, candidate)?;
        let take = |from: &Path, to: &Path| {
            let is_file = from.symlink_metadata().is_ok_and(|meta| meta.is_file());
            let bytes = if is_file { fs::read_small(from, MAX_FILE) } else { None };
            let Some(bytes) = bytes else { return Ok(false) };
            fs::write_in_place(to, &bytes).map_err(|error| failed("write", to, &error))?;
            Ok::<bool, Finding>(true)
        };
        if !take(&self.work.join("index"), &after.work.join("index"))? {
            let error = std::io::Error::from(std::io::ErrorKind::NotFound);
            return Err(failed("read", Path::new("the index of the hooks"), &error).into());
        }
        take(&self.message(), &after.message())?;
        let (objects, staged) = (self.work.join("objects"), after.work.join("staged"));
        for fan in fs::names_in(&objects).iter().filter(|name| is_hex(name, 2..3)) {
            let (from, to) = (objects.join(fan), staged.join(fan));
            if !from.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
                continue;
            }
            fs::make_dir(&to).map_err(|error| failed("make", &to, &error))?;
            for name in fs::names_in(&from).iter().filter(|name| is_hex(name, 38..63)) {
                take(&from.join(name), &to.join(name))?;
            }
        }
        after.staged = staged.is_dir().then_some(staged);
        Ok(after)
    }

    /// The blob that a hook staged, wherever it is.
    pub(super) fn blob(&self, oid: Oid) -> Result<Vec<u8>> {
        let hex = oid.to_string();
        let ran = self.git(&["cat-file", "blob", &hex].map(OsStr::new), Hooks::Off)?;
        if ran.ok { Ok(ran.stdout) } else { Err(blocked("cat-file", &ran).into()) }
    }

    /// Whether the hooks' objects are not in the repository.
    pub(super) fn is_apart(&self) -> bool {
        self.staged.is_some()
    }

    pub(super) fn git(&self, args: &[&OsStr], hooks: Hooks) -> Result<CommandOutput> {
        let root = self.repo.real_root()?;
        let mut env = self.variables(&root);
        if let Some(staged) = &self.staged {
            env.push(("GIT_ALTERNATE_OBJECT_DIRECTORIES", quoted(staged)?));
        }
        let mut env: Vec<(String, OsString)> =
            env.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        if hooks == Hooks::Off {
            // Git runs filters on files that changed when the index was written.
            let without_filters = self.repo.settings_without_untrusted_filters()?;
            env.extend(spawn::settings_env(self.repo.environment(), &without_filters));
        }
        let env: Vec<(&str, &OsStr)> =
            env.iter().map(|(name, value)| (name.as_str(), value.as_os_str())).collect();
        spawn::git_with(self.repo.environment(), &root, args, b"", hooks, &env)
    }

    fn variables(&self, root: &Path) -> Vec<(&'static str, OsString)> {
        vec![
            ("GIT_DIR", self.path.clone().into()),
            ("GIT_WORK_TREE", root.into()),
            ("GIT_INDEX_FILE", self.work.join("index").into()),
            ("GIT_EDITOR", ":".into()),
            (ALLOW, self.allowed.clone().into()),
        ]
    }
}

/// Runs `git ARGS`, which runs hooks, confined in the worktree at `root`. `places`: a directory that
/// it may write, and what of that it may not.
///
/// # Errors
/// As [`PrivateGitDir::hook`].
pub(super) fn confined_git(
    confinement: &dyn Confinement,
    repo: &Repo,
    root: &Path,
    args: &[&OsStr],
    env: &[(&str, OsString)],
    places: Option<(&Path, &Path)>,
) -> Result<CommandOutput> {
    let Some(git) = bounded::find(repo.environment(), "git") else {
        let finding = Finding::new(
            Code::ProgramNotFound,
            "There is no git on PATH.",
            "Install Git (2.39 or newer) and put it on PATH.",
        );
        return Err(finding.into());
    };
    let root = &fs::real_path(root);
    let args: Vec<OsString> = args.iter().map(|&arg| arg.to_owned()).collect();
    let read_only: Vec<PathBuf> = places.iter().map(|(_, path)| (*path).to_owned()).collect();
    let done = confinement.run(
        repo.into(),
        &ConfinedProgram {
            program: &git,
            args: &args,
            root,
            access: WorktreeAccess::Write,
            dir: root,
            variables: Variables::Passing,
            env,
            input: b"",
            scratch: places.map(|(path, _)| path),
            read_only: &read_only,
            limit: None,
            output: ConfinedStreams::Separate,
            max_output: MAX_OUTPUT,
        },
    )?;
    Refusal::check(done.findings)?;
    let mut stderr = String::from_utf8_lossy(&done.stderr).into_owned();
    if done.end == ProcessEnd::TimedOut {
        stderr.push_str("It timed out and was killed.\n");
    }
    let ok = done.end == ProcessEnd::Exit(0);
    if !ok {
        stderr.push_str(
            "(edt ran it in the sandbox, because the caller is not the user at a terminal. If it \
             needs more than the sandbox allows, the user may type `edt land` in a terminal, or \
             set `repository_programs = \"as_user\"` below [run] in their own edt.toml.)\n",
        );
    }
    Ok(CommandOutput { ok, stdout: done.stdout, stderr })
}

fn common_dir(repo: &Repo) -> Result<PathBuf> {
    let common = repo.common_dir();
    common.canonicalize().map_err(|error| failed("find", common, &error).into())
}

/// A path for a variable that lists directories.
fn quoted(path: &Path) -> Result<OsString> {
    let path = path.canonicalize().map_err(|error| failed("find", path, &error))?;
    let mut out = b"\"".to_vec();
    for &byte in path.as_os_str().as_bytes() {
        if matches!(byte, b'"' | b'\\') {
            out.push(b'\\');
        }
        out.push(byte);
    }
    out.push(b'"');
    Ok(OsString::from_vec(out))
}

fn is_hex(name: &OsStr, length: std::ops::Range<usize>) -> bool {
    length.contains(&name.len()) && name.as_bytes().iter().all(u8::is_ascii_hexdigit)
}
