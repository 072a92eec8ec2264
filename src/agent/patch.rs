//! The paths in a `*** Begin Patch`: the agent's own, made those of a worktree. What is not understood is a fault, never left out.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::place::{Placed, place};
use crate::base::{Code, Finding, RepoPath, Result};

/// What stands before a path at the start of a line. Agents differ in whether a blank follows, and whether one may stand before.
const HEADS: [&str; 4] = ["*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:"];
const ADD: &str = HEADS[0];
const UPDATE: &str = HEADS[1];
const MOVE: &str = HEADS[3];

/// A patch by the worktrees that its files lie in.
#[derive(Debug, Default, PartialEq)]
pub struct Parts {
    /// The part of each; files that lie in none have none.
    pub by_root: BTreeMap<PathBuf, Part>,
    /// Why the patch must not be applied.
    pub faults: Vec<Finding>,
    /// The paths of which nobody can say where they lie.
    pub lost: Vec<Finding>,
}

/// The patch for one worktree.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// Its text, with paths relative to the worktree's root.
    pub text: String,
    /// The paths that it names.
    pub paths: Vec<Vec<u8>>,
}

/// `text` by worktree. `None` if it is no such patch.
#[must_use]
pub fn by_worktree(cwd: &Path, text: &str) -> Option<Parts> {
    let begin = text.lines().position(|line| line.trim() == "*** Begin Patch")?;
    let mut reader = Reader { cwd, parts: Parts::default(), named: 0, here: None, head: "" };
    let mut lines = text.split_inclusive('\n').skip(begin + 1);
    for line in lines.by_ref().take_while(|line| line.trim_end() != "*** End Patch") {
        reader.take(line);
    }
    // What an agent may read on in, edt must not.
    if lines.any(|line| head_of(line).is_some() || line.trim() == "*** Begin Patch") {
        reader.fault("It goes on behind `*** End Patch`.");
    }
    if reader.named == 0 {
        reader.fault("It names no file.");
    }
    let mut parts = reader.parts;
    for part in parts.by_root.values_mut() {
        if !part.text.ends_with('\n') {
            part.text.push('\n');
        }
        part.text = format!("*** Begin Patch\n{}*** End Patch\n", part.text);
    }
    Some(parts)
}

struct Reader<'a> {
    cwd: &'a Path,
    parts: Parts,
    /// How many files were named.
    named: usize,
    /// The file that is read of, if it lies in a worktree.
    here: Option<Placed>,
    /// The head of its part.
    head: &'static str,
}

impl Reader<'_> {
    fn take(&mut self, line: &str) {
        match head_of(line) {
            // In an update, a line that begins with a blank is one of the file's.
            Some(_) if self.head == UPDATE && line.starts_with(' ') => self.content(line),
            Some((MOVE, path)) => self.moved(path),
            Some((head, path)) => self.file(head, path),
            None => self.content(line),
        }
    }

    fn file(&mut self, head: &'static str, path: &str) {
        self.named += 1;
        self.head = head;
        self.here = self.placed(path);
        if let Some(placed) = self.here.clone() {
            self.write(&placed.root, head, &placed.path);
        }
    }

    /// A move within a worktree is a part of its patch; one that crosses a border is none that could be judged.
    fn moved(&mut self, path: &str) {
        if self.head != UPDATE {
            return self.fault(&format!("`{MOVE} {path}` does not follow `{UPDATE}`."));
        }
        let from = self.here.clone();
        match (from, self.placed(path)) {
            (Some(from), Some(to)) if from.root == to.root => self.write(&to.root, MOVE, &to.path),
            (None, None) => {}
            (_, Some(to)) => {
                let fault =
                    RepoPath::parse(&to.path).err().map(|problem| problem.finding(&to.path));
                self.parts.faults.push(fault.unwrap_or_else(|| crosses(path)));
                self.parts.by_root.entry(to.root).or_default().paths.push(to.path);
            }
            (Some(_), None) => self.parts.faults.push(crosses(path)),
        }
    }

    fn write(&mut self, root: &Path, head: &str, path: &[u8]) {
        let part = self.parts.by_root.entry(root.to_owned()).or_default();
        part.text.push_str(&format!("{head} {}\n", String::from_utf8_lossy(path)));
        part.paths.push(path.to_vec());
    }

    fn content(&mut self, line: &str) {
        let marked = line.trim_start().starts_with("***") && line.trim_end() != "*** End of File";
        let belongs = match self.head {
            ADD => line.starts_with('+'),
            UPDATE => line.starts_with([' ', '+', '-', '@']) || line.starts_with("***") && !marked,
            _ => false,
        };
        // What edt reads itself it judges itself.
        let read = self.here.is_some() && !marked && [ADD, UPDATE].contains(&self.head);
        if !belongs && !read && !line.trim().is_empty() {
            return self.fault(&format!("Its line {:?} belongs to no file.", line.trim_end()));
        }
        let part = self.here.as_ref().and_then(|placed| self.parts.by_root.get_mut(&placed.root));
        if let Some(part) = part.filter(|_| belongs || read) {
            part.text.push_str(line);
        }
    }

    fn placed(&mut self, path: &str) -> Option<Placed> {
        let placed: Result<Option<Placed>> = place(self.cwd, path);
        placed.unwrap_or_else(|found| {
            self.parts.lost.extend(found.into_vec());
            None
        })
    }

    fn fault(&mut self, what: &str) {
        let hint = "Send the patch as `*** Begin Patch`, then for each file `*** Add File: `, `*** Update File: ` or `*** Delete File: ` at the start of a line with its path and lines, then `*** End Patch`.";
        let message = format!("The patch is not understood: {what} Nothing was changed.");
        self.parts.faults.push(Finding::new(Code::InvalidPatch, message, hint));
    }
}

fn crosses(path: &str) -> Finding {
    let message = format!(
        "The patch moves a file to {path}, from one worktree to another or out of one. Nothing was changed."
    );
    Finding::new(
        Code::PathOutsideRepo,
        message,
        "Add the file there with its whole text, and delete it here.",
    )
}

fn head_of(line: &str) -> Option<(&'static str, &str)> {
    HEADS.iter().find_map(|head| Some((*head, line.trim().strip_prefix(head)?.trim())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_those_of_the_worktree_and_content_stays() {
        let scratch = crate::io::scratch::Scratch::outside(Path::new("/nowhere")).unwrap();
        scratch.put(b"repo/.git/HEAD", b"").unwrap();
        scratch.put(b"repo/src/a.c", b"").unwrap();
        let root = scratch.path().join("repo");
        let text = "*** Begin Patch\n*** Update File: a.c\n*** Move to: b.c\n@@\n-x\n+*** Add File: y\n *** Delete File: z\n*** End of File\n*** Add File: /nowhere/z\n+z\n  *** Delete File:../old.c\n*** End Patch";
        let parts = by_worktree(&root.join("src"), text).unwrap();
        let expected = "*** Begin Patch\n*** Update File: src/a.c\n*** Move to: src/b.c\n@@\n-x\n+*** Add File: y\n *** Delete File: z\n*** End of File\n*** Delete File: old.c\n*** End Patch\n";
        let paths = ["src/a.c", "src/b.c", "old.c"].map(|path| path.as_bytes().to_vec()).to_vec();
        let by_root = BTreeMap::from([(root, Part { text: expected.into(), paths })]);
        assert_eq!(parts, Parts { by_root, ..Parts::default() });
        assert_eq!(by_worktree(Path::new("/nowhere"), "--- a\n+++ b\n"), None);
        assert_eq!(
            by_worktree(
                Path::new("/nowhere"),
                "*** Begin Patch\n*** Add File: a\n+a\n*** End Patch\n"
            ),
            Some(Parts::default())
        );
    }

    #[test]
    fn a_line_that_belongs_to_no_file_is_a_fault() {
        for (text, fault) in [
            ("", "It names no file."),
            ("*** Remove File: a\n", "belongs to no file"),
            ("*** Add File: /nowhere/z\n+z\n*** Drop File: a\n", "belongs to no file"),
            ("*** Update File: /nowhere/z\n@@\n-z\n\t*** Rename: a\n", "belongs to no file"),
            ("*** Delete File: z\nz\n", "belongs to no file"),
            ("*** Delete File: z\n*** Move to: y\n", "does not follow"),
            ("*** Delete File: z\n*** End Patch\n*** Delete File: y\n", "goes on behind"),
        ] {
            let parts =
                by_worktree(Path::new("/nowhere"), &format!("*** Begin Patch\n{text}")).unwrap();
            assert!(
                parts.faults.iter().any(|one| one.message.contains(fault)),
                "{text:?}: {:?}",
                parts.faults
            );
        }
    }
}
