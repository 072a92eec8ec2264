//! Splits a patch in the form `*** Begin Patch` by worktree, and makes its paths relative to each.
//! A line that is not understood is a fault; none is skipped.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::locate::{WorktreePath, locate};
use edt_types::{Code, Finding, RepoPath, Result};

/// The texts before a path at the start of a line. Agents differ in whether a space follows, and
/// whether one may precede.
const HEADERS: [&str; 4] =
    ["*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:"];
const ADD: &str = HEADERS[0];
const UPDATE: &str = HEADERS[1];
const MOVE: &str = HEADERS[3];

/// A patch by the worktrees of its files.
#[derive(Debug, Default, PartialEq)]
pub struct SplitPatch {
    /// The patch for each worktree. Files outside every worktree are left out.
    pub by_root: BTreeMap<PathBuf, WorktreePatch>,
    /// Why the patch must not be applied.
    pub faults: Vec<Finding>,
    /// The paths whose worktree could not be determined.
    pub unlocated: Vec<Finding>,
}

/// The patch for one worktree.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct WorktreePatch {
    /// The text, with paths relative to the worktree's root.
    pub text: String,
    /// The paths in the text.
    pub paths: Vec<Vec<u8>>,
}

/// Splits `text`; `None` if it does not have this form.
#[must_use]
pub fn by_worktree(cwd: &Path, text: &str) -> Option<SplitPatch> {
    let begin = text.lines().position(|line| line.trim() == "*** Begin Patch")?;
    let mut reader =
        Reader { cwd, split: SplitPatch::default(), file_count: 0, current: None, header: "" };
    let mut lines = text.split_inclusive('\n').skip(begin + 1);
    for line in lines.by_ref().take_while(|line| line.trim_end() != "*** End Patch") {
        reader.read_line(line);
    }
    // Some agents read a patch after its end. edt refuses it.
    if lines.any(|line| header_of(line).is_some() || line.trim() == "*** Begin Patch") {
        reader.fault("It continues after `*** End Patch`.");
    }
    if reader.file_count == 0 {
        reader.fault("It names no file.");
    }
    let mut split = reader.split;
    for worktree_patch in split.by_root.values_mut() {
        if !worktree_patch.text.ends_with('\n') {
            worktree_patch.text.push('\n');
        }
        worktree_patch.text = format!("*** Begin Patch\n{}*** End Patch\n", worktree_patch.text);
    }
    Some(split)
}

struct Reader<'a> {
    cwd: &'a Path,
    split: SplitPatch,
    file_count: usize,
    /// The file of the present lines, if it is in a worktree.
    current: Option<WorktreePath>,
    /// The header before these lines.
    header: &'static str,
}

impl Reader<'_> {
    fn read_line(&mut self, line: &str) {
        match header_of(line) {
            // In an update, a line that begins with a space is a line of the file.
            Some(_) if self.header == UPDATE && line.starts_with(' ') => self.content(line),
            Some((MOVE, path)) => self.moved(path),
            Some((header, path)) => self.file(header, path),
            None => self.content(line),
        }
    }

    fn file(&mut self, header: &'static str, path: &str) {
        self.file_count += 1;
        self.header = header;
        self.current = self.located(path);
        if let Some(located) = self.current.clone() {
            self.add_header(&located.root, header, &located.path);
        }
    }

    /// A move within a worktree is part of its patch. A move between worktrees cannot be judged.
    fn moved(&mut self, path: &str) {
        if self.header != UPDATE {
            return self.fault(&format!("`{MOVE} {path}` does not follow `{UPDATE}`."));
        }
        let from = self.current.clone();
        match (from, self.located(path)) {
            (Some(from), Some(to)) if from.root == to.root => {
                self.add_header(&to.root, MOVE, &to.path);
            }
            (None, None) => {}
            (_, Some(to)) => {
                let fault =
                    RepoPath::parse(&to.path).err().map(|problem| problem.finding(&to.path));
                self.split.faults.push(fault.unwrap_or_else(|| crosses_worktrees(path)));
                self.split.by_root.entry(to.root).or_default().paths.push(to.path);
            }
            (Some(_), None) => self.split.faults.push(crosses_worktrees(path)),
        }
    }

    fn add_header(&mut self, root: &Path, header: &str, path: &[u8]) {
        let worktree_patch = self.split.by_root.entry(root.to_owned()).or_default();
        worktree_patch.text.push_str(&format!("{header} {}\n", String::from_utf8_lossy(path)));
        worktree_patch.paths.push(path.to_vec());
    }

    fn content(&mut self, line: &str) {
        let is_header_like =
            line.trim_start().starts_with("***") && line.trim_end() != "*** End of File";
        let is_content = match self.header {
            ADD => line.starts_with('+'),
            UPDATE => {
                line.starts_with([' ', '+', '-', '@']) || line.starts_with("***") && !is_header_like
            }
            _ => false,
        };
        // The patch parser judges the other lines of an addition or update.
        let is_parsed =
            self.current.is_some() && !is_header_like && [ADD, UPDATE].contains(&self.header);
        if !is_content && !is_parsed && !line.trim().is_empty() {
            return self
                .fault(&format!("Its line {:?} does not belong to a file.", line.trim_end()));
        }
        let worktree_patch =
            self.current.as_ref().and_then(|located| self.split.by_root.get_mut(&located.root));
        if let Some(worktree_patch) = worktree_patch.filter(|_| is_content || is_parsed) {
            worktree_patch.text.push_str(line);
        }
    }

    fn located(&mut self, path: &str) -> Option<WorktreePath> {
        let located: Result<Option<WorktreePath>> = locate(self.cwd, path);
        located.unwrap_or_else(|found| {
            self.split.unlocated.extend(found.into_vec());
            None
        })
    }

    fn fault(&mut self, what: &str) {
        let hint = "Send the patch as `*** Begin Patch`, then for each file `*** Add File: `, `*** \
                    Update File: ` or `*** Delete File: ` at the start of a line with its path and \
                    lines, then `*** End Patch`.";
        let message = format!("The patch could not be read: {what}");
        self.split.faults.push(Finding::new(Code::InvalidPatch, message, hint).nothing_changed());
    }
}

fn crosses_worktrees(path: &str) -> Finding {
    let message = format!("The patch moves a file to {path}, into another worktree or out of one.");
    Finding::new(
        Code::PathOutsideRepo,
        message,
        "Add the file there with all of its text, and delete it here.",
    )
    .nothing_changed()
}

fn header_of(line: &str) -> Option<(&'static str, &str)> {
    HEADERS.iter().find_map(|header| Some((*header, line.trim().strip_prefix(header)?.trim())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_relative_to_the_worktree_and_content_stays() {
        let scratch =
            edt_io::scratch::Scratch::outside(edt_io::Environment::Process, Path::new("/nowhere"))
                .unwrap();
        scratch.put(b"repo/.git/HEAD", b"").unwrap();
        scratch.put(b"repo/src/a.c", b"").unwrap();
        let root = scratch.path().join("repo");
        let text = "*** Begin Patch\n*** Update File: a.c\n*** Move to: b.c\n@@\n-x\n+*** Add File: y\n *** Delete File: z\n*** End of File\n*** Add File: /nowhere/z\n+z\n  *** Delete File:../old.c\n*** End Patch";
        let split = by_worktree(&root.join("src"), text).unwrap();
        let expected = "*** Begin Patch\n*** Update File: src/a.c\n*** Move to: src/b.c\n@@\n-x\n+*** Add File: y\n *** Delete File: z\n*** End of File\n*** Delete File: old.c\n*** End Patch\n";
        let paths = ["src/a.c", "src/b.c", "old.c"].map(|path| path.as_bytes().to_vec()).to_vec();
        let by_root = BTreeMap::from([(root, WorktreePatch { text: expected.into(), paths })]);
        assert_eq!(split, SplitPatch { by_root, ..SplitPatch::default() });
        assert_eq!(by_worktree(Path::new("/nowhere"), "--- a\n+++ b\n"), None);
        assert_eq!(
            by_worktree(
                Path::new("/nowhere"),
                "*** Begin Patch\n*** Add File: a\n+a\n*** End Patch\n"
            ),
            Some(SplitPatch::default())
        );
    }

    #[test]
    fn a_line_outside_every_file_is_a_fault() {
        for (text, fault) in [
            ("", "It names no file."),
            ("*** Remove File: a\n", "does not belong to a file"),
            ("*** Add File: /nowhere/z\n+z\n*** Drop File: a\n", "does not belong to a file"),
            ("*** Update File: /nowhere/z\n@@\n-z\n\t*** Rename: a\n", "does not belong to a file"),
            ("*** Delete File: z\nz\n", "does not belong to a file"),
            ("*** Delete File: z\n*** Move to: y\n", "does not follow"),
            ("*** Delete File: z\n*** End Patch\n*** Delete File: y\n", "continues after"),
        ] {
            let split =
                by_worktree(Path::new("/nowhere"), &format!("*** Begin Patch\n{text}")).unwrap();
            assert!(
                split.faults.iter().any(|one| one.summary.contains(fault)),
                "{text:?}: {:?}",
                split.faults
            );
        }
    }
}
