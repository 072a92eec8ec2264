//! Git's own commit hooks, and its signing, for a commit that edt makes: the hooks see the branch, the index and the message that
//! `git commit` would show them, in a Git folder of their own, so that the person's index stays as it is.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::diff::{Differs, Item};
use super::read::ObjectKind;
use super::{Draft, Oid, Repo, TreeChange, objects};
use crate::base::{Code, Finding, RepoPath, Result, Warning};
use crate::io::failed;
use crate::io::spawn::{self, Hooks};
use crate::io::whole;

/// Hooks that `git commit` runs before the commit is made, in order.
const BEFORE: [&str; 3] = ["pre-commit", "prepare-commit-msg", "commit-msg"];

/// Overrides that edt's own `pre-commit` hook is asked for: those that the session's edits recorded.
const ALLOW: &str = "EDT_ALLOW";

/// The most of a hook's output that a refusal carries, in bytes: its end.
const OUTPUT_MAX: usize = 4000;

/// A commit about to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposed {
    /// What HEAD shall seem to be: a branch in full, or a commit.
    pub head: String,
    /// Its tree.
    pub tree: Oid,
    /// Its parent.
    pub parent: Option<Oid>,
    /// Its message.
    pub message: String,
    /// Overrides that were given to what it holds.
    pub allowed: Vec<String>,
}

/// Lets Git's commit hooks judge `proposed`; they may change tree and message. They see the files of this worktree, which are those of
/// the first tree of `moved`; where the second, what all comes to, differs, the branch moved.
///
/// # Errors
/// `TRUST_REQUIRED`, before anything runs, if hooks are content of the repository that nobody trusts; `GIT_OPERATION_BLOCKED` with the output of the hook that refused, or if hooks staged files that on disk are not the proposed ones; `PROGRAM_NOT_FOUND`, `IO_ERROR`. What a hook did to files of the
/// worktree stays.
pub fn run(
    repo: &Repo,
    draft: &mut Draft<'_>,
    mut proposed: Proposed,
    moved: (Oid, Oid),
) -> Result<Proposed> {
    if !repo.has_hooks(&BEFORE) {
        return Ok(proposed);
    }
    repo.check_commit_programs()?;
    objects::write_synced(repo.objects_dir(), &draft.loose())?;
    let folder = Folder::make(repo, &proposed)?;
    folder.fill_index(&proposed.tree.to_string())?;
    let message = folder.path.join("COMMIT_EDITMSG");
    whole::write(&message, proposed.message.as_bytes())
        .map_err(|error| failed("write", &message, &error))?;
    for hook in BEFORE {
        let mut args: Vec<&OsStr> =
            ["hook", "run", "--ignore-missing", hook].map(OsStr::new).to_vec();
        match hook {
            "pre-commit" => {}
            "prepare-commit-msg" => {
                args.extend([OsStr::new("--"), message.as_os_str(), OsStr::new("message")])
            }
            _ => args.extend([OsStr::new("--"), message.as_os_str()]),
        }
        let ran = folder.git(&args, Hooks::Live)?;
        if !ran.ok {
            return Err(blocked(hook, &ran).into());
        }
    }
    let tree = folder.git(&[OsStr::new("write-tree")], Hooks::Off)?;
    let hex = String::from_utf8_lossy(&tree.stdout);
    let became = Oid::from_hex(hex.trim().as_bytes()).map_err(|_| blocked("pre-commit", &tree))?;
    take_staged(repo, draft, &proposed, became, moved)?;
    proposed.tree = became;
    let text = std::fs::read(&message).map_err(|error| failed("read", &message, &error))?;
    proposed.message = cleaned(&String::from_utf8_lossy(&text));
    if proposed.message.trim().is_empty() {
        return Err(blocked(
            "commit-msg",
            &spawn::Ran {
                ok: false,
                stdout: Vec::new(),
                stderr: "It left an empty message.".into(),
            },
        )
        .into());
    }
    Ok(proposed)
}

/// A hook that stages a file from disk stages what stands there: in a path that the branch changed meanwhile that is not what was
/// merged, and would undo it.
fn take_staged(
    repo: &Repo,
    draft: &mut Draft<'_>,
    proposed: &Proposed,
    became: Oid,
    moved: (Oid, Oid),
) -> Result<()> {
    let stale: BTreeSet<RepoPath> =
        draft.tree_diff(moved.0, moved.1)?.into_iter().map(|differs| differs.path).collect();
    let staged = repo.tree_diff_by(proposed.tree, became, |oid| draft.tree_content(oid))?;
    let undone: Vec<String> = staged
        .iter()
        .map(|differs| &differs.path)
        .filter(|path| stale.contains(path))
        .map(ToString::to_string)
        .collect();
    if undone.is_empty() {
        // Git wrote these; drafted, they are as safe as the rest.
        let mut changes = Vec::new();
        for differs in staged.into_iter().filter(Differs::is_of_files) {
            let file = differs.new.and_then(Item::file);
            if let Some(file) = file {
                draft.blob(&repo.object(file.oid, ObjectKind::Blob)?)?;
            }
            changes.push(TreeChange { path: differs.path, file });
        }
        return if changes.is_empty() {
            Ok(())
        } else {
            draft.tree(proposed.tree, &changes).map(drop)
        };
    }
    let message = format!(
        "Git's hooks staged files that on disk are not yet merged with the branch: {}. That would take the branch's changes back. Nothing was landed.",
        undone.join(", ")
    );
    let branch = proposed.head.strip_prefix("refs/heads/").unwrap_or(&proposed.head);
    let hint = format!(
        "Merge it into the session first (`git merge {branch}` on the session's branch), then repeat `edt land`."
    );
    Err(Finding::new(Code::GitOperationBlocked, message, hint).with("paths", undone).into())
}

/// Runs the hook that `git commit` runs after the fact, in the worktree at `root`; what it answers changes nothing. One that is content
/// of the repository there, and not trusted, is left out, and that is said.
pub fn after(repo: &Repo, root: &Path) -> Option<Warning> {
    if !repo.has_hooks(&["post-commit"]) {
        return None;
    }
    if !repo.may_commit(root).unwrap_or(false) {
        let message = "The hook post-commit is a file of the repository that nobody has trusted as it is: it was not run (`edt trust` in a terminal shows it and asks).";
        return Some(Warning { code: "trust_required", path: None, message: message.to_owned() });
    }
    let args = ["hook", "run", "--ignore-missing", "post-commit"];
    let _ = spawn::git_with(root, &args, b"", Hooks::Live, &[]);
    None
}

/// The commit, signed by Git, where the configuration asks for that; its objects are then on disk.
///
/// # Errors
/// `TRUST_REQUIRED` as in [`run`]; `GIT_OPERATION_BLOCKED` if it could not be signed; `PROGRAM_NOT_FOUND`, `IO_ERROR`.
pub fn signed(repo: &Repo, draft: &mut Draft<'_>, proposed: &Proposed) -> Result<Option<Oid>> {
    if !repo.signs_commits() {
        return Ok(None);
    }
    repo.check_commit_programs()?;
    objects::write_synced(repo.objects_dir(), &draft.loose())?;
    let folder = Folder::make(repo, proposed)?;
    let message = folder.path.join("COMMIT_EDITMSG");
    whole::write(&message, proposed.message.as_bytes())
        .map_err(|error| failed("write", &message, &error))?;
    let (tree, parent) =
        (proposed.tree.to_string(), proposed.parent.map(|parent| parent.to_string()));
    let mut args: Vec<&OsStr> = ["commit-tree", "-S", &tree].map(OsStr::new).to_vec();
    if let Some(parent) = &parent {
        args.extend(["-p", parent.as_str()].map(OsStr::new));
    }
    args.extend([OsStr::new("-F"), message.as_os_str()]);
    let ran = folder.git(&args, Hooks::Live)?;
    let hex = String::from_utf8_lossy(&ran.stdout);
    let oid = Oid::from_hex(hex.trim().as_bytes()).ok().filter(|_| ran.ok);
    let unsigned = || {
        Finding { hint: "A person mends the signing set-up (`git config commit.gpgSign`, `user.signingKey`), then repeat `edt land`.".to_owned(), ..blocked("signing (commit.gpgSign)", &ran) }
    };
    let oid = oid.ok_or_else(unsigned)?;
    draft.take_in(oid)?;
    Ok(Some(oid))
}

/// A Git folder beside the worktree's own, with its HEAD and index elsewhere; it goes when this value does.
struct Folder<'r> {
    repo: &'r Repo,
    path: PathBuf,
    allowed: String,
}

impl Drop for Folder<'_> {
    fn drop(&mut self) {
        let _ = whole::remove_folder(&self.path);
    }
}

impl Folder<'_> {
    fn make<'r>(repo: &'r Repo, proposed: &Proposed) -> Result<Folder<'r>> {
        let head = &proposed.head;
        let state = repo
            .state_path()
            .canonicalize()
            .map_err(|error| failed("find", repo.state_path(), &error))?;
        let path = state.join("land");
        let _ = whole::remove_folder(&path);
        let absolute =
            |path: &Path| path.canonicalize().map_err(|error| failed("find", path, &error));
        let common = absolute(repo.common_dir())?;
        let head =
            if head.starts_with("refs/") { format!("ref: {head}\n") } else { format!("{head}\n") };
        let write = |name: &str, text: &OsStr| {
            let file = path.join(name);
            whole::write(&file, text.as_encoded_bytes())
                .map_err(|error| failed("write", &file, &error))
        };
        whole::make_folder(&path.join("info")).map_err(|error| failed("make", &path, &error))?;
        write("HEAD", OsStr::new(&head))?;
        write("commondir", common.as_os_str())?;
        write("gitdir", repo.real_root()?.join(".git").as_os_str())?;
        for own in ["config.worktree", "info/sparse-checkout"] {
            let _ = whole::copy(&repo.git_dir().join(own), &path.join(own));
        }
        Ok(Folder { repo, path, allowed: proposed.allowed.join(",") })
    }

    /// Gives it an index that holds `tree`; a copy of the worktree's own spares Git to read every file again.
    fn fill_index(&self, tree: &str) -> Result<()> {
        let index = self.path.join("index");
        let copied = whole::copy(&self.repo.index_path(), &index).is_ok();
        if copied && self.git(&["read-tree", "-m", tree].map(OsStr::new), Hooks::Off)?.ok {
            return Ok(());
        }
        let _ = whole::remove(&index);
        let ran = self.git(&["read-tree", tree].map(OsStr::new), Hooks::Off)?;
        if ran.ok { Ok(()) } else { Err(blocked("reading the tree into an index", &ran).into()) }
    }

    fn git(&self, args: &[&OsStr], hooks: Hooks) -> Result<spawn::Ran> {
        let root = self.repo.real_root()?;
        let index = self.path.join("index");
        let env: [(&str, &OsStr); 5] = [
            ("GIT_DIR", self.path.as_os_str()),
            ("GIT_WORK_TREE", root.as_os_str()),
            ("GIT_INDEX_FILE", index.as_os_str()),
            ("GIT_EDITOR", OsStr::new(":")),
            (ALLOW, OsStr::new(&self.allowed)),
        ];
        spawn::git_with(&root, args, b"", hooks, &env)
    }
}

/// The message as Git keeps it: no white space at line ends, no blank lines at the ends.
fn cleaned(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let text = lines.join("\n");
    format!("{}\n", text.trim_matches('\n'))
}

fn blocked(what: &str, ran: &spawn::Ran) -> Finding {
    let said = [ran.stdout.as_slice(), ran.stderr.as_bytes()].concat();
    let said = String::from_utf8_lossy(&said);
    let said = said.trim();
    let start = said.len().saturating_sub(OUTPUT_MAX);
    let start = (start..said.len()).find(|&at| said.is_char_boundary(at)).unwrap_or(said.len());
    let cut = if start > 0 {
        format!(" (the last {} of {} bytes)", said.len() - start, said.len())
    } else {
        String::new()
    };
    Finding::new(
        Code::GitOperationBlocked,
        format!(
            "Git's {what} refused the commit. Nothing was landed. It said{cut}:\n{}",
            &said[start..]
        ),
        "Correct what it names with `edt apply` on the session, then repeat `edt land`.",
    )
    .with("hook", what)
    .with("truncated", start > 0)
}
