//! New objects in memory: blobs, the trees along the touched paths, commits. Nothing is on disk yet.

use std::collections::BTreeMap;

use gix::objs::Kind;

use super::Oid;
use super::diff::Differs;
use super::identity::Role;
use super::objects::{Deflater, Loose, id_of};
use super::read::ObjectKind;
use super::repo::{FileId, Repo};
use super::tree::{FOLDER, folders_of, merged};
use crate::base::{RepoPath, Result};

/// Objects that are not written yet, and can already be read.
#[derive(Debug)]
pub struct Draft<'r> {
    repo: &'r Repo,
    made: BTreeMap<Oid, (Kind, Vec<u8>)>,
}

/// What becomes of one path in a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeChange {
    /// The path.
    pub path: RepoPath,
    /// The file to stand there; `None` for none.
    pub file: Option<FileId>,
}

/// Which tree each touched folder had and has now: what the index's cache-tree needs. The root is the empty path.
pub type Folders = BTreeMap<Vec<u8>, (Option<Oid>, Option<Oid>)>;

/// What a commit is made of.
#[derive(Debug)]
pub struct Commit<'a> {
    /// Its tree.
    pub tree: Oid,
    /// Its parent, if it has one.
    pub parent: Option<Oid>,
    /// The message.
    pub message: &'a str,
}

impl<'r> Draft<'r> {
    /// No new objects yet.
    #[must_use]
    pub fn new(repo: &'r Repo) -> Draft<'r> {
        Draft { repo, made: BTreeMap::new() }
    }

    /// A new blob.
    ///
    /// # Errors
    /// `INTERNAL` if hashing fails.
    pub fn blob(&mut self, data: &[u8]) -> Result<Oid> {
        self.add(Kind::Blob, data.to_vec())
    }

    /// The repository it is drafted for.
    #[must_use]
    pub fn repo(&self) -> &'r Repo {
        self.repo
    }

    /// What is drafted so far.
    pub(super) fn made(&self) -> impl Iterator<Item = (Oid, Kind, &[u8])> {
        self.made.iter().map(|(oid, (kind, data))| (*oid, *kind, data.as_slice()))
    }

    /// Takes in the commit `oid`, which Git made.
    ///
    /// # Errors
    /// `OBJECT_MISSING`.
    pub fn take_in(&mut self, oid: Oid) -> Result<()> {
        let data = self.repo.object(oid, ObjectKind::Commit)?;
        self.adopt(oid, Kind::Commit, data);
        Ok(())
    }

    /// Takes in an object that was made elsewhere.
    pub(super) fn adopt(&mut self, oid: Oid, kind: Kind, data: Vec<u8>) {
        self.made.insert(oid, (kind, data));
    }

    /// The tree `root` with `changes` made; folders that end up empty are left out, as Git does.
    ///
    /// # Errors
    /// `OBJECT_MISSING` if a tree on the way is.
    pub fn tree(&mut self, root: Oid, changes: &[TreeChange]) -> Result<(Oid, Folders)> {
        let mut sorted: Vec<(&[u8], Option<FileId>)> =
            changes.iter().map(|c| (c.path.as_bytes(), c.file)).collect();
        sorted.sort_by_key(|(path, _)| *path);
        let mut folders = Folders::new();
        let tree = self.folder(Some(root), b"", &sorted, &mut folders)?;
        let tree = match tree {
            Some(tree) => tree,
            None => self.add(Kind::Tree, Vec::new())?,
        };
        folders.insert(Vec::new(), (Some(root), Some(tree)));
        Ok((tree, folders))
    }

    /// The trees of the folders that `changes` touch, before and after; nothing is added.
    ///
    /// # Errors
    /// `OBJECT_MISSING` if a tree on the way is.
    pub fn folders(&self, root: Oid, changes: &[TreeChange]) -> Result<Folders> {
        let trees = self.made.iter().filter(|(_, (kind, _))| *kind == Kind::Tree);
        let mut scratch = Draft {
            repo: self.repo,
            made: trees.map(|(oid, made)| (*oid, made.clone())).collect(),
        };
        Ok(scratch.tree(root, changes)?.1)
    }

    /// The paths in which two trees differ, drafted or not.
    ///
    /// # Errors
    /// `OBJECT_MISSING`.
    pub fn tree_diff(&self, old: Oid, new: Oid) -> Result<Vec<Differs>> {
        self.repo.tree_diff_by(old, new, |oid| self.read_tree(oid))
    }

    /// The tree of a commit, drafted or not.
    ///
    /// # Errors
    /// `OBJECT_MISSING`.
    pub fn tree_of(&self, commit: Oid) -> Result<Oid> {
        match self.made.get(&commit) {
            Some((Kind::Commit, data)) => self.repo.tree_in(commit, data),
            _ => self.repo.tree_of(commit),
        }
    }

    /// The content of a tree, drafted or not.
    pub(super) fn tree_content(&self, oid: Oid) -> Result<Vec<u8>> {
        self.read_tree(oid)
    }

    /// The content of a blob, drafted or not.
    ///
    /// # Errors
    /// `OBJECT_MISSING`.
    pub fn content(&self, blob: Oid) -> Result<Vec<u8>> {
        match self.made.get(&blob) {
            Some((Kind::Blob, data)) => Ok(data.clone()),
            _ => self.repo.object(blob, ObjectKind::Blob),
        }
    }

    /// A new commit by the repository's own identity.
    ///
    /// # Errors
    /// `BAD_REQUEST` if the configured identity or date cannot be used.
    pub fn commit(&mut self, commit: &Commit<'_>) -> Result<Oid> {
        self.commit_of(commit.tree, commit.parent.as_slice(), commit.message)
    }

    /// A new commit with any number of `parents`, by the repository's own identity.
    ///
    /// # Errors
    /// `BAD_REQUEST` if the configured identity or date cannot be used.
    pub fn commit_of(&mut self, tree: Oid, parents: &[Oid], message: &str) -> Result<Oid> {
        let (author, committer) =
            (self.repo.signature(Role::Author)?, self.repo.signature(Role::Committer)?);
        let mut data = format!("tree {tree}\n").into_bytes();
        for parent in parents {
            data.extend_from_slice(format!("parent {parent}\n").as_bytes());
        }
        for (role, line) in [("author ", &author), ("committer ", &committer)] {
            data.extend_from_slice(role.as_bytes());
            data.extend_from_slice(line);
            data.push(b'\n');
        }
        data.push(b'\n');
        data.extend_from_slice(message.as_bytes());
        self.add(Kind::Commit, data)
    }

    /// The commit whose raw content is `original`, made again on other `parents` with another `tree`: author, message and
    /// encoding stay; the committer is whoever calls; a signature, which would no longer hold, goes.
    ///
    /// # Errors
    /// `BAD_REQUEST` if the configured identity or date cannot be used; `INTERNAL`.
    pub fn recommit(&mut self, original: &[u8], tree: Oid, parents: &[Oid]) -> Result<Oid> {
        let split = memchr::memmem::find(original, b"\n\n").unwrap_or(original.len());
        let (head, body) = original.split_at(split);
        let mut data = format!("tree {tree}\n").into_bytes();
        for parent in parents {
            data.extend_from_slice(format!("parent {parent}\n").as_bytes());
        }
        let kept = |key: &[u8]| {
            head.split(|&b| b == b'\n').find(|line| line.starts_with(key)).map(<[u8]>::to_vec)
        };
        let committer = [b"committer ".as_slice(), &self.repo.signature(Role::Committer)?].concat();
        for line in [kept(b"author "), Some(committer), kept(b"encoding ")].into_iter().flatten() {
            data.extend_from_slice(&line);
            data.push(b'\n');
        }
        data.extend_from_slice(body.strip_prefix(b"\n").unwrap_or(body));
        self.add(Kind::Commit, data)
    }

    /// The new objects as Git stores them, in an order in which each comes after what it names.
    #[must_use]
    pub fn loose(&self) -> Vec<Loose> {
        let mut deflater = Deflater::new();
        let rank = |kind: &Kind| match kind {
            Kind::Blob => 0,
            Kind::Tree => 1,
            Kind::Commit | Kind::Tag => 2,
        };
        let mut made: Vec<_> = self.made.iter().collect();
        made.sort_by_key(|(_, (kind, _))| rank(kind));
        made.into_iter()
            .map(|(oid, (kind, data))| Loose { oid: *oid, bytes: deflater.deflate(*kind, data) })
            .collect()
    }

    fn add(&mut self, kind: Kind, data: Vec<u8>) -> Result<Oid> {
        let oid = id_of(self.repo.inner.object_hash(), kind, &data)?;
        self.made.insert(oid, (kind, data));
        Ok(oid)
    }

    fn read_tree(&self, oid: Oid) -> Result<Vec<u8>> {
        if oid == self.repo.empty_tree() {
            return Ok(Vec::new());
        }
        match self.made.get(&oid) {
            Some((Kind::Tree, data)) => Ok(data.clone()),
            _ => self.repo.object(oid, ObjectKind::Tree),
        }
    }

    /// The folder at `prefix`, with the changes below it made; `None` if nothing is left in it.
    fn folder(
        &mut self,
        old: Option<Oid>,
        prefix: &[u8],
        changes: &[(&[u8], Option<FileId>)],
        folders: &mut Folders,
    ) -> Result<Option<Oid>> {
        let hash_len = self.repo.null().as_slice().len();
        let data = old.map_or_else(|| Ok(Vec::new()), |old| self.read_tree(old))?;
        // What is below one folder stands together, because the changes are sorted.
        let (mut entries, mut inner) = (BTreeMap::new(), Vec::new());
        for group in changes
            .chunk_by(|(a, _), (b, _)| name(a, prefix).1 && name(a, prefix) == name(b, prefix))
        {
            let ((path, file), (name, below)) = (group[0], name(group[0].0, prefix));
            if below {
                inner.push((name, &path[..=prefix.len() + name.len()], group));
            } else {
                entries.insert(name, file.map(|file| (file.mode.bits(), file.oid)));
            }
        }
        inner.sort_unstable_by_key(|(name, ..)| *name);
        let names: Vec<&[u8]> = inner.iter().map(|(name, ..)| *name).collect();
        let olds = folders_of(&data, &names, hash_len);
        for (name, prefix, group) in inner {
            // A file that takes the folder's place takes it with all that it held.
            let replaced = entries.get(name).is_some_and(Option::is_some);
            let old = olds.get(name).copied().filter(|_| !replaced);
            let new = self.folder(old, prefix, group, folders)?;
            folders.insert(prefix[..prefix.len() - 1].to_vec(), (old, new));
            if new.is_some() || old.is_some() {
                entries.insert(name, new.map(|new| (FOLDER, new)));
            }
        }
        let data = merged(&data, &entries, hash_len);
        if data.is_empty() { Ok(None) } else { self.add(Kind::Tree, data).map(Some) }
    }
}

/// The entry of the folder `prefix` that `path` is, or is below; and which of them.
fn name<'p>(path: &'p [u8], prefix: &[u8]) -> (&'p [u8], bool) {
    let rest = &path[prefix.len()..];
    memchr::memchr(b'/', rest).map_or((rest, false), |slash| (&rest[..slash], true))
}
