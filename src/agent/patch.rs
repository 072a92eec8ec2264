//! The paths in a `*** Begin Patch`: the agent's own, made those of a worktree.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::place::place;

/// What stands before a path at the start of a line. Lines of a file's content begin with another character.
const HEADS: [&str; 4] = ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];

/// The patch for one worktree.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// Its text, with paths relative to the worktree's root.
    pub text: String,
    /// The paths that it names.
    pub paths: Vec<Vec<u8>>,
}

/// `text` by the worktrees that its files lie in; files that lie in none are left out. `None` if it is no such patch.
#[must_use]
pub fn by_worktree(cwd: &Path, text: &str) -> Option<BTreeMap<PathBuf, Part>> {
    let begin = text.lines().position(|line| line.trim_end() == "*** Begin Patch")?;
    let mut parts: BTreeMap<PathBuf, Part> = BTreeMap::new();
    let mut here: Option<PathBuf> = None;
    for line in text.split_inclusive('\n').skip(begin + 1) {
        if line.trim_end() == "*** End Patch" {
            break;
        }
        let mut line = Cow::Borrowed(line);
        if let Some((head, path)) = named(&line) {
            let placed = place(cwd, path);
            if head != HEADS[3] {
                here = placed.as_ref().map(|placed| placed.root.clone());
            }
            let inside = placed.filter(|placed| Some(&placed.root) == here.as_ref());
            if let (Some(placed), Some(part)) =
                (inside, here.as_ref().map(|root| parts.entry(root.clone()).or_default()))
            {
                line = Cow::Owned(format!("{head}{}\n", String::from_utf8_lossy(&placed.path)));
                part.paths.push(placed.path);
            }
        }
        if let Some(part) = here.as_ref().and_then(|root| parts.get_mut(root)) {
            part.text.push_str(&line);
        }
    }
    for part in parts.values_mut() {
        if !part.text.ends_with('\n') {
            part.text.push('\n');
        }
        part.text = format!("*** Begin Patch\n{}*** End Patch\n", part.text);
    }
    Some(parts)
}

fn named(line: &str) -> Option<(&'static str, &str)> {
    HEADS.iter().find_map(|head| Some((*head, line.strip_prefix(head)?.trim())))
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
        let text = "*** Begin Patch\n*** Update File: a.c\n*** Move to: b.c\n@@\n-x\n+*** Add File: y\n*** Add File: /nowhere/z\n+z\n*** Delete File: ../old.c\n*** End Patch";
        let parts = by_worktree(&root.join("src"), text).unwrap();
        let expected = "*** Begin Patch\n*** Update File: src/a.c\n*** Move to: src/b.c\n@@\n-x\n+*** Add File: y\n*** Delete File: old.c\n*** End Patch\n";
        let paths = ["src/a.c", "src/b.c", "old.c"].map(|path| path.as_bytes().to_vec()).to_vec();
        assert_eq!(parts, BTreeMap::from([(root, Part { text: expected.into(), paths })]));
        assert_eq!(by_worktree(Path::new("/nowhere"), "--- a\n+++ b\n"), None);
        assert_eq!(
            by_worktree(Path::new("/nowhere"), "*** Begin Patch\n*** Add File: a\n+a\n*** End Patch\n"),
            Some(BTreeMap::new())
        );
    }
}
