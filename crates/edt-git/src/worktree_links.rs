//! Links of the worktree where programs look for their settings: in the root, and in the hidden
//! directories that are there.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, PathBuf};

use edt_io::names::{NameKind, NamesBelow};
use edt_types::RepoPath;
use edt_types::path::spells_git;

use super::repo::Repo;

/// How many directories one is in, at most.
const MAX_DEPTH: usize = 3;
/// The most names that are read. Hidden directories of tools may have many.
const MAX_NAMES: usize = 5_000;
/// How many links are followed for one, at most: as many as Linux follows.
const MAX_STEPS: usize = 40;

/// A link in the worktree that leads to a path in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreeLink {
    /// Where the link is.
    pub link: RepoPath,
    /// Where it leads, relative to the root: its end, or a further link on the way. Nothing need be
    /// there.
    pub target: String,
    /// The length of the part of `link` that Git ignores: a directory above it, or the whole path.
    pub ignored: Option<usize>,
}

impl Repo {
    /// The links in the root and, up to three directories deep, in its hidden directories; one that
    /// leads to other links is there once for each. Looks at up to 5,000 names.
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
        let Ok(real) = self.real_root() else { return Vec::new() };
        let (mut found, mut known) = (Vec::new(), HashMap::new());
        for link in links {
            let places = places(real.join(OsStr::from_bytes(&link)));
            let mut targets = places.iter().filter_map(|place| self.below_root(place)).peekable();
            if targets.peek().is_some() {
                let link = RepoPath::from_tree(&link);
                let ignored = self.ignored_part(&link, &mut known);
                found.extend(targets.map(|target| WorktreeLink {
                    link: link.clone(),
                    target,
                    ignored,
                }));
            }
        }
        found
    }

    /// The length of the part of `path` that Git ignores. `known` has what it ignores for certain.
    fn ignored_part(&self, path: &RepoPath, known: &mut HashMap<Vec<u8>, bool>) -> Option<usize> {
        let bytes = path.as_bytes();
        let mut above = memchr::memchr_iter(b'/', bytes);
        let above = above.find(|end| {
            let directory = &bytes[..*end];
            let known = known.entry(directory.to_vec());
            *known.or_insert_with(|| self.ignores_directory(directory))
        });
        // A link in the index is recorded, whatever the rules say.
        let whole = || self.ignores(path).unwrap_or(false).then_some(bytes.len());
        above.or_else(whole)
    }

    /// Whether Git ignores every file in `directory`.
    #[must_use]
    pub fn ignores_directory(&self, directory: &[u8]) -> bool {
        let any = RepoPath::from_tree(&[directory, b"/edt"].concat());
        self.is_excluded(&any).unwrap_or(false)
    }
}

/// The places that the link at `link` leads to: of each further link on the way, and of the end.
fn places(link: PathBuf) -> Vec<PathBuf> {
    let (mut places, mut steps) = (Vec::new(), 0);
    let (mut at, mut rest) = (PathBuf::new(), link);
    'link: loop {
        let mut parts = rest.components();
        while let Some(part) = parts.next() {
            match part {
                Component::ParentDir => drop(at.pop()),
                Component::CurDir => {}
                Component::RootDir | Component::Prefix(_) => at = PathBuf::from("/"),
                Component::Normal(name) => {
                    let next = at.join(name);
                    let Ok(target) = next.read_link() else {
                        at = next;
                        continue;
                    };
                    if steps > 0 && !places.contains(&next) {
                        places.push(next);
                    }
                    steps += 1;
                    if steps > MAX_STEPS {
                        return places;
                    }
                    rest = target.join(parts.as_path());
                    continue 'link;
                }
            }
        }
        places.push(at);
        return places;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use edt_testkit::ScratchRepo;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    #[test]
    fn links_in_the_root_and_in_hidden_directories_are_found() {
        let scratch = ScratchRepo::with(&[("tools/a.json", "x\n"), (".claude/x/y", "x\n")]);
        let root = scratch.path();
        symlink("tools", root.join(".vscode")).unwrap();
        symlink("../../tools/a.json", root.join(".claude/x/a")).unwrap();
        symlink("a.json", root.join("tools/b")).unwrap();
        symlink("/etc/hostname", root.join(".outside")).unwrap();
        let link = |link: &str, target: &str| (link.to_owned(), target.to_owned(), None);
        assert_eq!(found(root), [link(".claude/x/a", "tools/a.json"), link(".vscode", "tools")]);
    }

    fn found(root: &Path) -> Vec<(String, String, Option<usize>)> {
        let links = Repo::open(root).unwrap().links_of_settings().into_iter();
        let mut found: Vec<_> =
            links.map(|one| (one.link.text(), one.target, one.ignored)).collect();
        found.sort();
        found
    }

    #[test]
    fn links_are_followed_where_nothing_is_and_over_other_links() {
        let scratch = ScratchRepo::with(&[("etc/a", "x\n")]);
        let root = scratch.path();
        symlink("conf/envrc", root.join(".envrc")).unwrap();
        symlink("etc", root.join("conf")).unwrap();
        symlink("nothing/../missing/x", root.join(".bashrc")).unwrap();
        symlink(".loop", root.join(".loop")).unwrap();
        let link = |link: &str, target: &str| (link.to_owned(), target.to_owned(), None);
        let mut found = found(root);
        found.retain(|(link, ..)| link != "conf");
        assert_eq!(
            found,
            [
                link(".bashrc", "missing/x"),
                link(".envrc", "conf"),
                link(".envrc", "etc/envrc"),
                link(".loop", ".loop"),
            ]
        );
    }

    #[test]
    fn the_ignored_part_of_a_link_is_named() {
        let scratch = ScratchRepo::with(&[("src/a", "x\n")]);
        let root = scratch.path();
        std::fs::write(root.join(".gitignore"), ".cache/\n.own\n").unwrap();
        std::fs::create_dir(root.join(".cache")).unwrap();
        symlink("../src", root.join(".cache/src")).unwrap();
        symlink("src", root.join(".own")).unwrap();
        symlink("src", root.join(".other")).unwrap();
        let link =
            |link: &str, ignored: Option<usize>| (link.to_owned(), "src".to_owned(), ignored);
        let all = [link(".cache/src", Some(6)), link(".other", None), link(".own", Some(4))];
        assert_eq!(found(root), all);
    }
}
