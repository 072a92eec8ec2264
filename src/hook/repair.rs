//! What Git did to the index and the files before it asked about a ref, and the one command that takes it back.

use std::collections::HashSet;

use super::plumbing::Git;
use crate::base::Result;

/// What Git did before it asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rewritten {
    /// Nothing that can be seen.
    Not,
    /// It made a commit to stand in another's place (`git commit --amend`); what went into it is still there.
    Amended,
    /// The index is the commit's, and whether by a reset or by an amended commit cannot be told.
    Unclear,
    /// The index alone (`git reset`).
    Index,
    /// The index and the files (`git reset --hard`, `--keep`, `git checkout -B`).
    Files {
        /// No tracked file differs from the commit: nothing else can be harmed.
        clean: bool,
        /// How many files differ between HEAD and the commit.
        paths: usize,
    },
}

/// Git at the worktree's root, from wherever the command is repeated.
const HERE: &str = "-C \"$(git rev-parse --show-toplevel)\"";

impl Rewritten {
    /// What it was, for the message.
    #[must_use]
    pub fn told(self) -> Option<String> {
        Some(match self {
            Rewritten::Not => return None,
            Rewritten::Amended => {
                "The commit was not rewritten; your changes are still staged.".to_owned()
            }
            Rewritten::Unclear => "The index holds what that commit holds.".to_owned(),
            Rewritten::Index => {
                "Git had already set the index to that commit; files were not touched.".to_owned()
            }
            Rewritten::Files { clean: true, paths } => format!(
                "Git had already rewritten the index and files to that commit ({paths} differ); but for `--keep`, what was \
                 uncommitted in them is gone, unless edt recorded it (`edt log`)."
            ),
            Rewritten::Files { clean: false, paths } => format!(
                "Git had already rewritten the index and files to that commit ({paths} differ); other changed files were left alone."
            ),
        })
    }

    /// What to do about it, once `new` was refused.
    #[must_use]
    pub fn repair(self, new: &str) -> Option<String> {
        let restore =
            format!("git --literal-pathspecs {HERE} restore --source=HEAD --staged --worktree");
        Some(match self {
            Rewritten::Not => return None,
            Rewritten::Amended => "Make a new commit without `--amend`.".to_owned(),
            Rewritten::Unclear => {
                "Look at `git diff --cached HEAD` before you commit or restore anything.".to_owned()
            }
            Rewritten::Index => "`git reset --quiet` sets the index back to HEAD.".to_owned(),
            Rewritten::Files { clean: true, .. } => {
                format!("`{restore} -- .` brings the files back.")
            }
            Rewritten::Files { clean: false, .. } => format!(
                "`git {HERE} diff --name-only -z --no-renames --no-relative {new} HEAD | {restore} --pathspec-from-file=- \
                 --pathspec-file-nul` brings those files back and leaves the others."
            ),
        })
    }
}

/// Compares the index and the files with the commit `new`, which HEAD is not at; the ref is at `stands`.
///
/// An index that equals `new` proves nothing: `git commit --amend` makes the commit from it. Only what shows that Git went
/// to a commit that was there before counts as a reset.
///
/// # Errors
/// `IO_ERROR` with what Git said.
pub fn rewritten(git: &Git, stands: &str, new: &str) -> Result<Rewritten> {
    let Some(top) = git.top()? else { return Ok(Rewritten::Not) };
    let git = &Git::at(&top);
    let orig = git
        .line(&["rev-parse", "--verify", "--quiet", "ORIG_HEAD"])?
        .is_some_and(|orig| orig == stands);
    if is_fresh(git, stands, new)? {
        let parents = |commit: &str| {
            git.line(&["show", "--no-patch", "--no-show-signature", "--format=%P.", commit])
        };
        match (parents(stands)? == parents(new)?, orig) {
            (true, false) => return Ok(Rewritten::Amended),
            (true, true) => return Ok(Rewritten::Unclear),
            (false, false) => return Ok(Rewritten::Not),
            (false, true) => {}
        }
    }
    let names = |args: &[&str]| -> Result<HashSet<Vec<u8>>> {
        let quiet = [
            "diff",
            "--name-only",
            "-z",
            "--no-renames",
            "--no-relative",
            "--no-ext-diff",
            "--ignore-submodules",
        ];
        let listed = git.output(&[&quiet, args].concat(), b"")?;
        Ok(listed
            .split(|&byte| byte == 0)
            .filter(|name| !name.is_empty())
            .map(<[u8]>::to_vec)
            .collect())
    };
    let touched = names(&[new, "HEAD", "--"])?;
    if touched.is_empty() || !names(&["--cached", new, "--"])?.is_disjoint(&touched) {
        return Ok(Rewritten::Not);
    }
    let dirty = names(&["--"])?;
    if !dirty.is_disjoint(&touched) {
        return Ok(Rewritten::Index);
    }
    let clean = dirty.is_empty() && names(&["--cached", new, "--"])?.is_empty();
    Ok(Rewritten::Files { clean, paths: touched.len() })
}

/// Whether no ref leads to `new`: it was made a moment ago, or lost long since.
fn is_fresh(git: &Git, stands: &str, new: &str) -> Result<bool> {
    if git.is_ancestor(new, stands)? {
        return Ok(false);
    }
    Ok(git
        .line(&["for-each-ref", "--count=1", "--contains", new, "--format=%(refname)"])?
        .is_none())
}
