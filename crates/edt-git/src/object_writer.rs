//! Creates objects in memory: blobs, the trees along the touched paths, commits. They are written
//! to disk later, and refs point at them last.

use std::collections::BTreeMap;

use gix::objs::Kind;

use super::Oid;
use super::deflate::{Deflater, Loose};
use super::diff::TreeDifference;
use super::file_id::FileId;
use super::identity::Role;
use super::objects::id_of;
use super::read::ObjectKind;
use super::repo::Repo;
use super::tree::{TREE_MODE, merged, subtrees};
use edt_types::{RepoPath, Result};

/// New objects that are not on disk yet. They can be read already.
#[derive(Debug, Clone)]
pub struct ObjectWriter<'r> {
    repo: &'r Repo,
    objects: BTreeMap<Oid, (Kind, Vec<u8>)>,
}

/// The change of one path in a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeChange {
    pub path: RepoPath,
    /// The new file; `None` to remove the path.
    pub file: Option<FileId>,
}

/// The old and the new tree of each touched directory, for the index's cache-tree. The root is the
/// empty path.
pub type TouchedTrees = BTreeMap<Vec<u8>, (Option<Oid>, Option<Oid>)>;

/// The content of a commit object.
#[derive(Debug)]
pub struct NewCommit<'a> {
    pub tree: Oid,
    pub parent: Option<Oid>,
    pub message: &'a str,
}

impl<'r> ObjectWriter<'r> {
    #[must_use]
    pub fn new(repo: &'r Repo) -> ObjectWriter<'r> {
        ObjectWriter { repo, objects: BTreeMap::new() }
    }

    /// Adds a blob.
    ///
    /// # Errors
    /// `INTERNAL` if hashing fails.
    pub fn write_blob(&mut self, data: &[u8]) -> Result<Oid> {
        self.add(Kind::Blob, data.to_vec())
    }

    /// Adds the blob `data`, whose id is `oid`.
    pub fn add_blob(&mut self, oid: Oid, data: Vec<u8>) {
        self.objects.entry(oid).or_insert((Kind::Blob, data));
    }

    #[must_use]
    pub fn repo(&self) -> &'r Repo {
        self.repo
    }

    /// The new objects so far.
    pub(super) fn objects(&self) -> impl Iterator<Item = (Oid, Kind, &[u8])> {
        self.objects.iter().map(|(oid, (kind, data))| (*oid, *kind, data.as_slice()))
    }

    /// Adds the commit `oid`, which Git created.
    ///
    /// # Errors
    /// `OBJECT_MISSING`.
    pub fn add_existing_commit(&mut self, oid: Oid) -> Result<()> {
        let data = self.repo.object(oid, ObjectKind::Commit)?;
        self.insert(oid, Kind::Commit, data);
        Ok(())
    }

    /// Adds an object whose id is known.
    pub(super) fn insert(&mut self, oid: Oid, kind: Kind, data: Vec<u8>) {
        self.objects.insert(oid, (kind, data));
    }

    /// Adds the tree `root` with `changes`. Directories that become empty are left out, as in Git.
    ///
    /// # Errors
    /// `OBJECT_MISSING` if a tree on the way is missing.
    pub fn write_tree(&mut self, root: Oid, changes: &[TreeChange]) -> Result<(Oid, TouchedTrees)> {
        let mut sorted: Vec<(&[u8], Option<FileId>)> =
            changes.iter().map(|c| (c.path.as_bytes(), c.file)).collect();
        sorted.sort_by_key(|(path, _)| *path);
        let mut touched = TouchedTrees::new();
        let tree = self.write_subtree(Some(root), b"", &sorted, &mut touched)?;
        let tree = match tree {
            Some(tree) => tree,
            None => self.add(Kind::Tree, Vec::new())?,
        };
        touched.insert(Vec::new(), (Some(root), Some(tree)));
        Ok((tree, touched))
    }

    /// The trees of the directories that `changes` touch, before and after, without adding them.
    ///
    /// # Errors
    /// `OBJECT_MISSING` if a tree on the way is missing.
    pub fn touched_trees(&self, root: Oid, changes: &[TreeChange]) -> Result<TouchedTrees> {
        let trees = self.objects.iter().filter(|(_, (kind, _))| *kind == Kind::Tree);
        let mut scratch = ObjectWriter {
            repo: self.repo,
            objects: trees.map(|(oid, objects)| (*oid, objects.clone())).collect(),
        };
        Ok(scratch.write_tree(root, changes)?.1)
    }

    /// The paths in which two trees differ, new or existing.
    ///
    /// # Errors
    /// `OBJECT_MISSING`.
    pub fn tree_diff(&self, old: Oid, new: Oid) -> Result<Vec<TreeDifference>> {
        self.repo.tree_diff_by(old, new, |oid| self.read_tree(oid))
    }

    /// The tree of a commit, new or existing.
    ///
    /// # Errors
    /// `OBJECT_MISSING`.
    pub fn tree_of(&self, commit: Oid) -> Result<Oid> {
        match self.objects.get(&commit) {
            Some((Kind::Commit, data)) => self.repo.tree_in(commit, data),
            _ => self.repo.tree_of(commit),
        }
    }

    /// The content of a blob, new or existing.
    ///
    /// # Errors
    /// `OBJECT_MISSING`.
    pub fn blob_content(&self, blob: Oid) -> Result<Vec<u8>> {
        match self.objects.get(&blob) {
            Some((Kind::Blob, data)) => Ok(data.clone()),
            _ => self.repo.object(blob, ObjectKind::Blob),
        }
    }

    /// Adds a commit with the configured identity.
    ///
    /// # Errors
    /// `BAD_REQUEST` if the configured identity or date is invalid.
    pub fn write_commit(&mut self, commit: &NewCommit<'_>) -> Result<Oid> {
        self.write_commit_with_parents(commit.tree, commit.parent.as_slice(), commit.message)
    }

    /// Adds a commit with any number of `parents` and the configured identity.
    ///
    /// # Errors
    /// `BAD_REQUEST` if the configured identity or date is invalid.
    pub fn write_commit_with_parents(
        &mut self,
        tree: Oid,
        parents: &[Oid],
        message: &str,
    ) -> Result<Oid> {
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

    /// Adds a copy of the commit whose raw content is `original`, with another tree and other
    /// parents. Author, message and encoding stay. The committer is the configured identity. A
    /// signature is dropped, because it would be invalid.
    ///
    /// # Errors
    /// `BAD_REQUEST` if the configured identity or date is invalid; `INTERNAL`.
    pub fn rewrite_commit(&mut self, original: &[u8], tree: Oid, parents: &[Oid]) -> Result<Oid> {
        let split = memchr::memmem::find(original, b"\n\n").unwrap_or(original.len());
        let (head, body) = original.split_at(split);
        let mut data = format!("tree {tree}\n").into_bytes();
        for parent in parents {
            data.extend_from_slice(format!("parent {parent}\n").as_bytes());
        }
        let header_line = |key: &[u8]| {
            head.split(|&b| b == b'\n').find(|line| line.starts_with(key)).map(<[u8]>::to_vec)
        };
        let committer = [b"committer ".as_slice(), &self.repo.signature(Role::Committer)?].concat();
        for line in [header_line(b"author "), Some(committer), header_line(b"encoding ")]
            .into_iter()
            .flatten()
        {
            data.extend_from_slice(&line);
            data.push(b'\n');
        }
        data.extend_from_slice(body.strip_prefix(b"\n").unwrap_or(body));
        self.add(Kind::Commit, data)
    }

    /// The new objects in Git's loose format; each comes after the objects it refers to.
    #[must_use]
    pub fn loose_objects(&self) -> Vec<Loose> {
        let mut deflater = Deflater::new();
        let rank = |kind: &Kind| match kind {
            Kind::Blob => 0,
            Kind::Tree => 1,
            Kind::Commit | Kind::Tag => 2,
        };
        let mut objects: Vec<_> = self.objects.iter().collect();
        objects.sort_by_key(|(_, (kind, _))| rank(kind));
        objects
            .into_iter()
            .map(|(oid, (kind, data))| Loose { oid: *oid, bytes: deflater.deflate(*kind, data) })
            .collect()
    }

    fn add(&mut self, kind: Kind, data: Vec<u8>) -> Result<Oid> {
        let oid = id_of(self.repo.inner.object_hash(), kind, &data)?;
        self.objects.insert(oid, (kind, data));
        Ok(oid)
    }

    /// The content of a tree, new or existing.
    pub(super) fn read_tree(&self, oid: Oid) -> Result<Vec<u8>> {
        if oid == self.repo.empty_tree() {
            return Ok(Vec::new());
        }
        match self.objects.get(&oid) {
            Some((Kind::Tree, data)) => Ok(data.clone()),
            _ => self.repo.object(oid, ObjectKind::Tree),
        }
    }

    /// Writes the tree at `prefix` with the changes below it; `None` if it becomes empty.
    fn write_subtree(
        &mut self,
        old: Option<Oid>,
        prefix: &[u8],
        changes: &[(&[u8], Option<FileId>)],
        touched: &mut TouchedTrees,
    ) -> Result<Option<Oid>> {
        let hash_len = self.repo.null().as_slice().len();
        let data = old.map_or_else(|| Ok(Vec::new()), |old| self.read_tree(old))?;
        // The changes are sorted, so those of one directory are adjacent.
        let (mut entries, mut inner) = (BTreeMap::new(), Vec::new());
        for group in changes.chunk_by(|(a, _), (b, _)| {
            entry_name(a, prefix).1 && entry_name(a, prefix) == entry_name(b, prefix)
        }) {
            let ((path, file), (name, below)) = (group[0], entry_name(group[0].0, prefix));
            if below {
                inner.push((name, &path[..=prefix.len() + name.len()], group));
            } else {
                entries.insert(name, file.map(|file| (file.mode.bits(), file.oid)));
            }
        }
        inner.sort_unstable_by_key(|(name, ..)| *name);
        let names: Vec<&[u8]> = inner.iter().map(|(name, ..)| *name).collect();
        let olds = subtrees(&data, &names, hash_len);
        for (name, prefix, group) in inner {
            // A file that replaces the directory removes everything in it.
            let replaced = entries.get(name).is_some_and(Option::is_some);
            let old = olds.get(name).copied().filter(|_| !replaced);
            let new = self.write_subtree(old, prefix, group, touched)?;
            touched.insert(prefix[..prefix.len() - 1].to_vec(), (old, new));
            if new.is_some() || old.is_some() {
                entries.insert(name, new.map(|new| (TREE_MODE, new)));
            }
        }
        let data = merged(&data, &entries, hash_len);
        if data.is_empty() { Ok(None) } else { self.add(Kind::Tree, data).map(Some) }
    }
}

/// The entry of the directory `prefix` on the way to `path`, and whether `path` is below that
/// entry.
fn entry_name<'p>(path: &'p [u8], prefix: &[u8]) -> (&'p [u8], bool) {
    let rest = &path[prefix.len()..];
    memchr::memchr(b'/', rest).map_or((rest, false), |slash| (&rest[..slash], true))
}

#[cfg(test)]
mod tests {
    use super::*;
    use edt_testkit::ScratchRepo;
    use edt_types::RepoPath;

    fn opened() -> (ScratchRepo, Repo) {
        let scratch = ScratchRepo::with(&[("a", "1"), ("dir/b", "2"), ("dir/sub/c", "3")]);
        let repo = Repo::open(scratch.path()).unwrap();
        (scratch, repo)
    }

    fn change(writer: &mut ObjectWriter<'_>, path: &str, text: Option<&str>) -> TreeChange {
        let file = text.map(|text| FileId {
            oid: writer.write_blob(text.as_bytes()).unwrap(),
            mode: crate::FileMode::Plain,
        });
        TreeChange { path: RepoPath::from_tree(path.as_bytes()), file }
    }

    /// The paths of HEAD's tree after these changes.
    fn paths(changes: &[(&str, Option<&str>)]) -> Vec<String> {
        let (_scratch, repo) = opened();
        let mut writer = ObjectWriter::new(&repo);
        let changes: Vec<TreeChange> =
            changes.iter().map(|(path, text)| change(&mut writer, path, *text)).collect();
        let head = repo.tree_of(repo.head().unwrap().commit.unwrap()).unwrap();
        let tree = writer.write_tree(head, &changes).unwrap().0;
        let differs = writer.tree_diff(repo.empty_tree(), tree).unwrap();
        differs.iter().map(|differs| differs.path.text()).collect()
    }

    #[test]
    fn a_directory_that_becomes_empty_is_left_out() {
        assert_eq!(paths(&[("dir/sub/c", None), ("dir/b", None)]), ["a"]);
    }

    #[test]
    fn a_file_replaces_a_directory_with_everything_below_it() {
        assert_eq!(paths(&[("dir", Some("x"))]), ["a", "dir"]);
    }

    #[test]
    fn a_directory_replaces_a_file() {
        assert_eq!(paths(&[("a", None), ("a/x", Some("x"))]), ["a/x", "dir/b", "dir/sub/c"]);
    }

    #[test]
    fn removing_what_does_not_exist_changes_nothing() {
        assert_eq!(paths(&[("none/x", None)]), ["a", "dir/b", "dir/sub/c"]);
    }

    #[test]
    fn a_tree_without_a_file_is_the_empty_tree() {
        let (_scratch, repo) = opened();
        let tree = ObjectWriter::new(&repo).write_tree(repo.empty_tree(), &[]).unwrap().0;
        assert_eq!(tree, repo.empty_tree());
    }

    #[test]
    fn every_directory_on_the_way_to_a_change_is_touched() {
        let (_scratch, repo) = opened();
        let mut writer = ObjectWriter::new(&repo);
        let head = repo.tree_of(repo.head().unwrap().commit.unwrap()).unwrap();
        let changes = [change(&mut writer, "dir/sub/c", Some("new"))];
        let touched = writer.touched_trees(head, &changes).unwrap();
        let names: Vec<&[u8]> = touched.keys().map(Vec::as_slice).collect();
        assert_eq!(names, [&b""[..], b"dir", b"dir/sub"]);
        assert_eq!(touched[&b""[..]].0, Some(head));
        assert_eq!(writer.loose_objects().len(), 1);
    }

    #[test]
    fn a_rewritten_commit_keeps_author_message_and_encoding_and_loses_its_signature() {
        let (_scratch, repo) = opened();
        let mut writer = ObjectWriter::new(&repo);
        let original = b"tree 1\nparent 2\nauthor A <a@b> 1 +0000\ncommitter C <c@d> 2 +0000\n\
                         encoding latin1\ngpgsig -----BEGIN\n x\n -----END\n\nwhy\n\nbody\n";
        let parent = repo.null();
        let oid = writer.rewrite_commit(original, repo.empty_tree(), &[parent]).unwrap();
        let (_, _, data) = writer.objects().find(|(found, ..)| *found == oid).unwrap();
        let text = String::from_utf8(data.to_vec()).unwrap();
        let lines: Vec<&str> =
            text.lines().filter(|line| !line.starts_with("committer ")).collect();
        let (tree, parent) = (format!("tree {}", repo.empty_tree()), format!("parent {parent}"));
        let expected =
            [&tree, &parent, "author A <a@b> 1 +0000", "encoding latin1", "", "why", "", "body"];
        assert_eq!(lines, expected);
    }

    #[test]
    fn each_object_comes_after_those_that_it_names() {
        let (_scratch, repo) = opened();
        let mut writer = ObjectWriter::new(&repo);
        let changes = [change(&mut writer, "x", Some("x"))];
        let tree = writer.write_tree(repo.empty_tree(), &changes).unwrap().0;
        let commit = writer.write_commit(&NewCommit { tree, parent: None, message: "m" }).unwrap();
        let order: Vec<Oid> = writer.loose_objects().iter().map(|one| one.oid).collect();
        assert_eq!(order, [changes[0].file.unwrap().oid, tree, commit]);
    }

    #[test]
    fn a_new_commit_has_a_tree_before_it_is_on_disk() {
        let (_scratch, repo) = opened();
        let mut writer = ObjectWriter::new(&repo);
        let tree = repo.empty_tree();
        let commit = writer.write_commit(&NewCommit { tree, parent: None, message: "m" }).unwrap();
        assert_eq!(writer.tree_of(commit).unwrap(), tree);
        assert!(repo.tree_of(commit).is_err());
    }
}
