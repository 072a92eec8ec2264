//! Runs Git's commit hooks and commit signing for a commit that edt makes. The hooks see the
//! branch, the index and the message that `git commit` would show them. They run with a private Git
//! directory, so that the user's index stays as it is.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;

use super::commit_candidate::{CommitCandidate, blocked};
use super::file_id::TreeItem;
use super::private_git_dir::{PrivateGitDir, confined_git};
use super::read::ObjectKind;
use super::{ObjectWriter, Oid, Repo, TreeChange, objects};
use edt_io::spawn::{self, Hooks};
use edt_io::{failed, fs};
use edt_types::text::Shown as _;
use edt_types::{Code, Finding, RepoPath, Result, Warning, WarningCode};

/// The hooks that `git commit` runs before it creates the commit, in order.
const HOOKS_BEFORE_COMMIT: [&str; 3] = ["pre-commit", "prepare-commit-msg", "commit-msg"];

/// The mode of a submodule in a tree.
const SUBMODULE: u32 = 0o160_000;

/// Whether there is the hook that may read or change the files of a commit. The others judge its
/// message, and edt's own reads the index.
#[must_use]
pub fn read_files(repo: &Repo) -> bool {
    repo.has_others_hooks(&["pre-commit"])
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
    objects::write(repo, &writer.loose_objects())?;
    let git_dir = PrivateGitDir::for_hooks(repo, &candidate)?;
    git_dir.fill_index(&candidate.tree.to_string())?;
    let message = git_dir.message();
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
        let ran = git_dir.hook(&args)?;
        if !ran.ok {
            return Err(blocked(hook, &ran).into());
        }
    }
    let git_dir = git_dir.after_hooks(repo, &candidate)?;
    let message = git_dir.message();
    let tree = git_dir.git(&[OsStr::new("write-tree")], Hooks::Off)?;
    let hex = String::from_utf8_lossy(&tree.stdout);
    let staged_tree =
        Oid::from_hex(hex.trim().as_bytes()).map_err(|_| blocked("pre-commit", &tree))?;
    add_staged(repo, writer, &candidate, (&git_dir, staged_tree), moved)?;
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
    (git_dir, staged_tree): (&PrivateGitDir<'_>, Oid),
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
        for differs in staged {
            let blob = differs.new.filter(|item| {
                item.file().is_some() || git_dir.is_apart() && item.bits() != SUBMODULE
            });
            if let Some(item) = blob {
                let bytes = if git_dir.is_apart() {
                    git_dir.blob(item.oid())?
                } else {
                    repo.object(item.oid(), ObjectKind::Blob)?
                };
                // A confined hook may write an object under another name.
                if writer.write_blob(&bytes)? != item.oid() {
                    let stderr = format!("{} has other content than it names.\n", item.oid());
                    let ran = spawn::CommandOutput { ok: false, stdout: Vec::new(), stderr };
                    return Err(blocked("pre-commit", &ran).into());
                }
            }
            if differs.is_of_files() {
                let file = differs.new.and_then(TreeItem::file);
                changes.push(TreeChange { path: differs.path, file });
            }
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
        undone.join(", ").shown()
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
        return Some(Warning {
            code: WarningCode::HookNotRun,
            path: None,
            message: message.to_owned(),
        });
    }
    let args = ["hook", "run", "--ignore-missing", "post-commit"].map(OsStr::new);
    let not_run = match repo.confinement() {
        Ok(None) => {
            let _ = spawn::git_with(repo.environment(), root, &args, b"", Hooks::On, &[]);
            return None;
        }
        Ok(Some(confinement)) => confined_git(confinement, repo, root, &args, &[], None).err(),
        Err(error) => Some(error),
    };
    let message = not_run?.into_vec().into_iter().next()?.summary;
    let message = format!("The landing is complete. Its hook post-commit: {message}");
    Some(Warning { code: WarningCode::HookNotRun, path: None, message })
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
    objects::write(repo, &writer.loose_objects())?;
    let git_dir = PrivateGitDir::make(repo, candidate)?;
    let message = git_dir.message();
    fs::write_in_place(&message, candidate.message.as_bytes())
        .map_err(|error| failed("write", &message, &error))?;
    let (tree, parent) =
        (candidate.tree.to_string(), candidate.parent.map(|parent| parent.to_string()));
    let mut args: Vec<&OsStr> = ["commit-tree", "-S", &tree].map(OsStr::new).to_vec();
    if let Some(parent) = &parent {
        args.extend(["-p", parent.as_str()].map(OsStr::new));
    }
    args.extend([OsStr::new("-F"), message.as_os_str()]);
    let ran = git_dir.git(&args, Hooks::Guarded)?;
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

/// The message as Git cleans it up: without white space at line ends and without blank lines at
/// both ends.
fn cleaned(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let text = lines.join("\n");
    format!("{}\n", text.trim_matches('\n'))
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
