//! Runs Git's commit hooks and commit signing for a commit that edt makes. The hooks see the
//! branch, the index and the message that `git commit` would show them. They run with a private Git
//! directory, so that the user's index stays as it is.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::diff::{TreeDifference, TreeItem};
use super::read::ObjectKind;
use super::{ObjectWriter, Oid, Repo, TreeChange, objects};
use edt_io::failed;
use edt_io::fs;
use edt_io::spawn::{self, Hooks};
use edt_types::{Code, Finding, RepoPath, Result, Warning};

/// The hooks that `git commit` runs before it creates the commit, in order.
const HOOKS_BEFORE_COMMIT: [&str; 3] = ["pre-commit", "prepare-commit-msg", "commit-msg"];

/// The variable for edt's own `pre-commit` hook: the overrides that the session's edits recorded.
const ALLOW: &str = "EDT_ALLOW";

/// The most bytes of a hook's output that an error message contains, from the end.
const OUTPUT_MAX: usize = 4000;

/// A commit to be checked by hooks and signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitCandidate {
    /// What HEAD must point at for the hooks: a full branch name, or a commit id.
    pub head: String,
    pub tree: Oid,
    pub parent: Option<Oid>,
    pub message: String,
    /// The overrides that were granted for its content.
    pub allowed: Vec<String>,
}

/// Runs Git's commit hooks on `candidate`; they may change its tree and message. The hooks see the
/// files of this worktree. `moved` has the tree of these files and the tree after the merge with
/// the branch; they differ if the branch moved.
///
/// # Errors
/// `TRUST_REQUIRED`, before anything runs, if hooks are untrusted content of the repository;
/// `GIT_OPERATION_BLOCKED` with the output of the hook that refused, or if hooks staged files that
/// are not merged with the branch; `PROGRAM_NOT_FOUND`, `IO_ERROR`. Changes of a hook to files of
/// the worktree stay.
pub fn run(
    repo: &Repo,
    writer: &mut ObjectWriter<'_>,
    mut candidate: CommitCandidate,
    moved: (Oid, Oid),
) -> Result<CommitCandidate> {
    if !repo.has_hooks(&HOOKS_BEFORE_COMMIT) {
        return Ok(candidate);
    }
    repo.check_commit_programs()?;
    objects::write_synced(repo.objects_dir(), &writer.loose_objects())?;
    let git_dir = PrivateGitDir::make(repo, &candidate)?;
    git_dir.fill_index(&candidate.tree.to_string())?;
    let message = git_dir.path.join("COMMIT_EDITMSG");
    fs::write_in_place(&message, candidate.message.as_bytes())
        .map_err(|error| failed("write", &message, &error))?;
    for hook in HOOKS_BEFORE_COMMIT {
        let mut args: Vec<&OsStr> =
            ["hook", "run", "--ignore-missing", hook].map(OsStr::new).to_vec();
        match hook {
            "pre-commit" => {}
            "prepare-commit-msg" => {
                args.extend([OsStr::new("--"), message.as_os_str(), OsStr::new("message")]);
            }
            _ => args.extend([OsStr::new("--"), message.as_os_str()]),
        }
        let ran = git_dir.git(&args, Hooks::On)?;
        if !ran.ok {
            return Err(blocked(hook, &ran).into());
        }
    }
    let tree = git_dir.git(&[OsStr::new("write-tree")], Hooks::Off)?;
    let hex = String::from_utf8_lossy(&tree.stdout);
    let staged_tree =
        Oid::from_hex(hex.trim().as_bytes()).map_err(|_| blocked("pre-commit", &tree))?;
    add_staged(repo, writer, &candidate, staged_tree, moved)?;
    candidate.tree = staged_tree;
    let text = std::fs::read(&message).map_err(|error| failed("read", &message, &error))?;
    candidate.message = cleaned(&String::from_utf8_lossy(&text));
    if candidate.message.trim().is_empty() {
        return Err(blocked(
            "commit-msg",
            &spawn::CommandOutput {
                ok: false,
                stdout: Vec::new(),
                stderr: "The hook left an empty message.".into(),
            },
        )
        .into());
    }
    Ok(candidate)
}

/// Adds what the hooks staged. A hook stages a file as it is on disk. If the branch changed that
/// file meanwhile, the staged version would revert the branch's change: this is refused.
fn add_staged(
    repo: &Repo,
    writer: &mut ObjectWriter<'_>,
    candidate: &CommitCandidate,
    staged_tree: Oid,
    moved: (Oid, Oid),
) -> Result<()> {
    let changed_on_branch: BTreeSet<RepoPath> =
        writer.tree_diff(moved.0, moved.1)?.into_iter().map(|differs| differs.path).collect();
    let staged = repo.tree_diff_by(candidate.tree, staged_tree, |oid| writer.read_tree(oid))?;
    let undone: Vec<String> = staged
        .iter()
        .map(|differs| &differs.path)
        .filter(|path| changed_on_branch.contains(path))
        .map(ToString::to_string)
        .collect();
    if undone.is_empty() {
        // Git wrote these objects. In the writer they become as durable as the others.
        let mut changes = Vec::new();
        for differs in staged.into_iter().filter(TreeDifference::is_of_files) {
            let file = differs.new.and_then(TreeItem::file);
            if let Some(file) = file {
                writer.write_blob(&repo.object(file.oid, ObjectKind::Blob)?)?;
            }
            changes.push(TreeChange { path: differs.path, file });
        }
        return if changes.is_empty() {
            Ok(())
        } else {
            writer.write_tree(candidate.tree, &changes).map(drop)
        };
    }
    let message = format!(
        "Git's hooks staged files whose version on disk is not merged with the branch: {}. Landing \
         them would revert the branch's changes.",
        undone.join(", ")
    );
    let branch = candidate.head.strip_prefix("refs/heads/").unwrap_or(&candidate.head);
    let hint = format!(
        "Merge the branch into the session first (`git merge {branch}` on the session's branch), \
         then repeat `edt land`."
    );
    Err(Finding::new(Code::GitOperationBlocked, message, hint)
        .with_effect(edt_types::Effect::NothingLanded)
        .with("paths", undone)
        .into())
}

/// Runs the `post-commit` hook in the worktree at `root`; its result is ignored. A hook that is
/// untrusted content of the repository does not run; then there is a warning.
pub fn run_post_commit(repo: &Repo, root: &Path) -> Option<Warning> {
    if !repo.has_hooks(&["post-commit"]) {
        return None;
    }
    if !repo.trusts_commit_programs(root).unwrap_or(false) {
        let message = "The hook post-commit is an untrusted file of the repository and was not \
                       run (`edt trust` in a terminal shows it and asks).";
        return Some(Warning { code: "trust_required", path: None, message: message.to_owned() });
    }
    let args = ["hook", "run", "--ignore-missing", "post-commit"];
    let _ = spawn::git_with(repo.environment(), root, &args, b"", Hooks::On, &[]);
    None
}

/// The commit signed by Git, if the configuration requires it; its objects are then on disk.
///
/// # Errors
/// `TRUST_REQUIRED` as in [`run`]; `GIT_OPERATION_BLOCKED` if signing fails; `PROGRAM_NOT_FOUND`,
/// `IO_ERROR`.
pub fn sign(
    repo: &Repo,
    writer: &mut ObjectWriter<'_>,
    candidate: &CommitCandidate,
) -> Result<Option<Oid>> {
    if !repo.signs_commits() {
        return Ok(None);
    }
    repo.check_commit_programs()?;
    objects::write_synced(repo.objects_dir(), &writer.loose_objects())?;
    let git_dir = PrivateGitDir::make(repo, candidate)?;
    let message = git_dir.path.join("COMMIT_EDITMSG");
    fs::write_in_place(&message, candidate.message.as_bytes())
        .map_err(|error| failed("write", &message, &error))?;
    let (tree, parent) =
        (candidate.tree.to_string(), candidate.parent.map(|parent| parent.to_string()));
    let mut args: Vec<&OsStr> = ["commit-tree", "-S", &tree].map(OsStr::new).to_vec();
    if let Some(parent) = &parent {
        args.extend(["-p", parent.as_str()].map(OsStr::new));
    }
    args.extend([OsStr::new("-F"), message.as_os_str()]);
    let ran = git_dir.git(&args, Hooks::On)?;
    let hex = String::from_utf8_lossy(&ran.stdout);
    let oid = Oid::from_hex(hex.trim().as_bytes()).ok().filter(|_| ran.ok);
    let unsigned = || {
        let remedy = "Ask the user to fix the signing configuration (`git config commit.gpgSign`, \
                      `user.signingKey`), then repeat `edt land`.";
        Finding { remedy: remedy.to_owned(), ..blocked("signing (commit.gpgSign)", &ran) }
    };
    let oid = oid.ok_or_else(unsigned)?;
    writer.add_existing_commit(oid)?;
    Ok(Some(oid))
}

/// A temporary Git directory for the worktree with its own HEAD and index. Dropping it deletes the
/// directory.
struct PrivateGitDir<'r> {
    repo: &'r Repo,
    path: PathBuf,
    allowed: String,
}

impl Drop for PrivateGitDir<'_> {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

impl PrivateGitDir<'_> {
    fn make<'r>(repo: &'r Repo, candidate: &CommitCandidate) -> Result<PrivateGitDir<'r>> {
        let head = &candidate.head;
        let state = repo
            .state_path()
            .canonicalize()
            .map_err(|error| failed("find", repo.state_path(), &error))?;
        let path = state.join("land");
        let _ = fs::remove_dir_all(&path);
        let absolute =
            |path: &Path| path.canonicalize().map_err(|error| failed("find", path, &error));
        let common = absolute(repo.common_dir())?;
        let head =
            if head.starts_with("refs/") { format!("ref: {head}\n") } else { format!("{head}\n") };
        let write = |name: &str, text: &OsStr| {
            let file = path.join(name);
            fs::write_in_place(&file, text.as_encoded_bytes())
                .map_err(|error| failed("write", &file, &error))
        };
        fs::make_dir(&path.join("info")).map_err(|error| failed("make", &path, &error))?;
        write("HEAD", OsStr::new(&head))?;
        write("commondir", common.as_os_str())?;
        write("gitdir", repo.real_root()?.join(".git").as_os_str())?;
        for own in ["config.worktree", "info/sparse-checkout"] {
            let _ = fs::copy(&repo.git_dir().join(own), &path.join(own));
        }
        Ok(PrivateGitDir { repo, path, allowed: candidate.allowed.join(",") })
    }

    /// Creates an index with the content of `tree`. A copy of the worktree's index saves Git from
    /// reading every file again.
    fn fill_index(&self, tree: &str) -> Result<()> {
        let index = self.path.join("index");
        let copied = fs::copy(&self.repo.index_path(), &index).is_ok();
        if copied && self.git(&["read-tree", "-m", tree].map(OsStr::new), Hooks::Off)?.ok {
            return Ok(());
        }
        let _ = fs::remove_file(&index);
        let ran = self.git(&["read-tree", tree].map(OsStr::new), Hooks::Off)?;
        if ran.ok { Ok(()) } else { Err(blocked("read-tree", &ran).into()) }
    }

    fn git(&self, args: &[&OsStr], hooks: Hooks) -> Result<spawn::CommandOutput> {
        let root = self.repo.real_root()?;
        let index = self.path.join("index");
        let env: [(&str, &OsStr); 5] = [
            ("GIT_DIR", self.path.as_os_str()),
            ("GIT_WORK_TREE", root.as_os_str()),
            ("GIT_INDEX_FILE", index.as_os_str()),
            ("GIT_EDITOR", OsStr::new(":")),
            (ALLOW, OsStr::new(&self.allowed)),
        ];
        spawn::git_with(self.repo.environment(), &root, args, b"", hooks, &env)
    }
}

/// The message as Git cleans it up: without white space at line ends and without blank lines at
/// both ends.
fn cleaned(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let text = lines.join("\n");
    format!("{}\n", text.trim_matches('\n'))
}

fn blocked(what: &str, ran: &spawn::CommandOutput) -> Finding {
    let output = [ran.stdout.as_slice(), ran.stderr.as_bytes()].concat();
    let output = String::from_utf8_lossy(&output);
    let output = output.trim();
    let start = output.len().saturating_sub(OUTPUT_MAX);
    let start =
        (start..output.len()).find(|&at| output.is_char_boundary(at)).unwrap_or(output.len());
    let cut = if start > 0 {
        format!(" (the last {} of {} bytes)", output.len() - start, output.len())
    } else {
        String::new()
    };
    Finding::new(
        Code::GitOperationBlocked,
        format!("Git's {what} refused the commit. Its output{cut}:\n{}\n", &output[start..]),
        "Fix what the output names with `edt apply` on the session, then repeat `edt land`.",
    )
    .with_effect(edt_types::Effect::NothingLanded)
    .with("hook", what)
    .with("truncated", start > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_cleaned_as_git_cleans_it() {
        assert_eq!(cleaned("\n\nwhy  \n\nbody\t\n\n\n"), "why\n\nbody\n");
    }

    fn refused(stdout: &str, stderr: &str) -> Finding {
        let output =
            spawn::CommandOutput { ok: false, stdout: stdout.into(), stderr: stderr.into() };
        blocked("pre-commit", &output)
    }

    #[test]
    fn a_hook_that_refuses_is_shown_with_both_outputs() {
        let expected = Finding::new(
            Code::GitOperationBlocked,
            "Git's pre-commit refused the commit. Its output:\nout\nerr\n",
            "Fix what the output names with `edt apply` on the session, then repeat `edt land`.",
        );
        let expected = expected
            .with_effect(edt_types::Effect::NothingLanded)
            .with("hook", "pre-commit")
            .with("truncated", false);
        assert_eq!(refused("out\n", "err\n"), expected);
    }

    #[test]
    fn only_the_end_of_a_long_output_is_shown() {
        let finding = refused(&"ä".repeat(2500), "");
        let start =
            "Git's pre-commit refused the commit. Its output (the last 4000 of 5000 bytes):\n";
        assert_eq!(finding.summary, format!("{start}{}\n", "ä".repeat(2000)));
        assert_eq!(finding.evidence["truncated"], true);
    }
}
