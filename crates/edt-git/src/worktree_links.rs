//! Links of the worktree where programs look for their settings: in the root, and in the hidden
//! directories that are there.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use edt_io::names::{NameKind, NamesBelow};
use edt_types::RepoPath;
use edt_types::path::spells_git;

use super::repo::Repo;

/// How many directories one is in, at most.
const MAX_DEPTH: usize = 3;
/// The most names that are read. Hidden directories of tools may have many.
const MAX_NAMES: usize = 5_000;

/// A link in the worktree that leads to a path in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreeLink {
    /// Where the link is.
    pub link: RepoPath,
    /// Where it leads, relative to the root.
    pub target: String,
}

impl Repo {
    /// The links in the root and, up to three directories deep, in its hidden directories. Looks at
    /// up to 5,000 names.
    #[must_use]
    pub fn links_of_settings(&self) -> Vec<WorktreeLink> {
        let root = self.root_path();
        let Ok(names) = NamesBelow::open(root) else { return Vec::new() };
        let (mut links, mut waiting, mut seen) = (Vec::new(), vec![(Vec::new(), 0)], 0);
        while let Some((directory, depth)) = waiting.pop() {
            let _ = names.read(&directory, |name, kind| {
                seen += 1;
                let is_hidden = depth > 0 || name.starts_with(b".");
                let path = match &directory[..] {
                    b"" => name.to_vec(),
                    above => [above, b"/", name].concat(),
                };
                match kind {
                    NameKind::Link => links.push(path),
                    NameKind::Directory
                        if is_hidden && !spells_git(name) && depth + 1 < MAX_DEPTH =>
                    {
                        waiting.push((path, depth + 1));
                    }
                    NameKind::Directory | NameKind::Other => {}
                }
            });
            if seen > MAX_NAMES {
                break;
            }
        }
        let leads = |link: Vec<u8>| {
            let real = edt_io::fs::real_path(&root.join(OsStr::from_bytes(&link)));
            let target = self.below_root(Path::new(&real))?;
            Some(WorktreeLink { link: RepoPath::from_tree(&link), target })
        };
        links.into_iter().filter_map(leads).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use edt_testkit::ScratchRepo;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_in_the_root_and_in_hidden_directories_are_found() {
        let scratch = ScratchRepo::with(&[("tools/a.json", "x\n"), (".claude/x/y", "x\n")]);
        let root = scratch.path();
        symlink("tools", root.join(".vscode")).unwrap();
        symlink("../../tools/a.json", root.join(".claude/x/a")).unwrap();
        symlink("a.json", root.join("tools/b")).unwrap();
        symlink("/etc/hostname", root.join(".outside")).unwrap();
        let mut found: Vec<(String, String)> = Repo::open(root)
            .unwrap()
            .links_of_settings()
            .into_iter()
            .map(|one| (one.link.text(), one.target))
            .collect();
        found.sort();
        let link = |link: &str, target: &str| (link.to_owned(), target.to_owned());
        assert_eq!(found, [link(".claude/x/a", "tools/a.json"), link(".vscode", "tools")]);
    }
}
