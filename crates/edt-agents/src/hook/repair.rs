//! Determines what Git did to the index and the files before it called the hook about a ref, and
//! the one command that undoes it.

use std::collections::HashSet;

use super::plumbing::Git;
use edt_types::Result;

/// What Git did before it called the hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rewritten {
    /// Nothing that edt can detect.
    Not,
    /// It made a commit that replaces the current one (`git commit --amend`). The staged changes
    /// are unchanged.
    Amended,
    /// The index equals the commit's tree, after a reset or an amended commit: edt cannot know
    /// which.
    Unclear,
    /// It changed only the index (`git reset`).
    Index,
    /// It changed the index and the files (`git reset --hard`, `--keep`, `git checkout -B`).
    Files {
        /// Whether no tracked file differs from the commit. Then a repair cannot harm other
        /// changes.
        clean: bool,
        /// How many files differ between HEAD and the commit.
        paths: usize,
    },
}

/// Makes Git run at the worktree's root, whatever the current directory.
const AT_TOP: &str = "-C \"$(git rev-parse --show-toplevel)\"";

impl Rewritten {
    /// A sentence for the message.
    #[must_use]
    pub fn description(self) -> Option<String> {
        Some(match self {
            Rewritten::Not => return None,
            Rewritten::Amended => {
                "The commit was not rewritten; your changes are still staged.".to_owned()
            }
            Rewritten::Unclear => "The index has the content of that commit.".to_owned(),
            Rewritten::Index => {
                "Git had already set the index to that commit; files were not touched.".to_owned()
            }
            Rewritten::Files { clean: true, paths } => format!(
                "Git had already rewritten the index and files to that commit ({paths} differ). \
                 Except after `--keep`, their uncommitted changes are gone. edt kept those of the \
                 files that it edited: `edt log`, then `edt restore PATH --to N`."
            ),
            Rewritten::Files { clean: false, paths } => format!(
                "Git had already rewritten the index and files to that commit ({paths} differ). \
                 Other changed files are as they were."
            ),
        })
    }

    /// How to undo it after the change to `new` was refused.
    #[must_use]
    pub fn repair(self, new: &str) -> Option<String> {
        let restore =
            format!("git --literal-pathspecs {AT_TOP} restore --source=HEAD --staged --worktree");
        Some(match self {
            Rewritten::Not => return None,
            Rewritten::Amended => "Make a new commit without `--amend`.".to_owned(),
            Rewritten::Unclear => {
                "Look at `git diff --cached HEAD` before you commit or restore anything.".to_owned()
            }
            Rewritten::Index => "`git reset --quiet` sets the index back to HEAD.".to_owned(),
            Rewritten::Files { clean: true, .. } => {
                format!("`{restore} -- .` restores the files.")
            }
            Rewritten::Files { clean: false, .. } => format!(
                "`git {AT_TOP} diff --name-only -z --no-renames --no-relative {new} HEAD | \
                 {restore} --pathspec-from-file=- --pathspec-file-nul` restores those files and \
                 leaves the others."
            ),
        })
    }
}

/// Compares the index and the files with the commit `new`. The ref is still at `current`.
///
/// An index that equals `new` proves nothing: `git commit --amend` makes the commit from the index.
/// It counts as a reset only if `new` existed before the command.
///
/// # Errors
/// `IO_ERROR` with Git's message.
pub fn rewritten(git: &Git, current: &str, new: &str) -> Result<Rewritten> {
    let Some(top) = git.top()? else { return Ok(Rewritten::Not) };
    let git = &Git::at(&top);
    let orig = git
        .line(&["rev-parse", "--verify", "--quiet", "ORIG_HEAD"])?
        .is_some_and(|orig| orig == current);
    if is_unreachable(git, current, new)? {
        let parents = |commit: &str| {
            git.line(&["show", "--no-patch", "--no-show-signature", "--format=%P.", commit])
        };
        match (parents(current)? == parents(new)?, orig) {
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

/// Whether no ref reaches `new`: the command has just made it, or it was abandoned before.
fn is_unreachable(git: &Git, current: &str, new: &str) -> Result<bool> {
    if git.is_ancestor(new, current)? {
        return Ok(false);
    }
    Ok(git
        .line(&["for-each-ref", "--count=1", "--contains", new, "--format=%(refname)"])?
        .is_none())
}
