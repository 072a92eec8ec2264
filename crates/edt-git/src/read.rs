//! Reads objects: blobs, trees along a path, commits along first parents. A missing object is an
//! error, never an absent file.

use std::collections::HashSet;

use gix::bstr::ByteSlice as _;
use gix::objs::Kind;
use gix::revision::Spec;
use gix::revision::spec::parse::{ObjectKindHint, Options};
use gix::revision::walk::Sorting;
use gix::traverse::commit::simple::CommitTimeOrder;

use super::file_id::{FileId, FileMode, Tracked, TreeItem};
use super::repo::MAX_OBJECT;
use super::repo::Repo;
use super::{Oid, causes};
use edt_io::spawn;
use edt_types::{Code, Finding, RepoPath, Result};

/// The largest tree or commit kept in memory, in bytes, and the number of them.
const CACHED_MAX: usize = 64 * 1024;
const CACHED_COUNT: usize = 512;
/// How many larger trees are kept, indexed by name.
const LONG_COUNT: usize = 8;

impl Repo {
    /// The content of `oid`, which must be of `kind`.
    ///
    /// # Errors
    /// `OBJECT_MISSING` if it does not exist, is damaged or has another kind.
    pub fn object(&self, oid: Oid, kind: ObjectKind) -> Result<Vec<u8>> {
        if let Some(data) = self.read.borrow().get(&oid).filter(|_| kind != ObjectKind::Blob) {
            return Ok(data.clone());
        }
        let (found, data) = match self.object_or_error(oid) {
            // Git may have packed it between two steps of the search.
            Err(found) if found.code == Code::ObjectMissing => self.object_or_error(oid)?,
            object => object?,
        };
        if found != kind.gix() {
            return Err(missing(oid, &format!("it is a {found}, not a {}", kind.gix())).into());
        }
        if kind != ObjectKind::Blob && data.len() <= CACHED_MAX {
            let mut read = self.read.borrow_mut();
            if read.len() >= CACHED_COUNT {
                read.clear();
            }
            read.insert(oid, data.clone());
        }
        Ok(data)
    }

    /// Whether `oid` exists and can be read.
    #[must_use]
    pub fn has_object(&self, oid: Oid) -> bool {
        self.object_or_error(oid).is_ok()
    }

    fn object_or_error(&self, oid: Oid) -> std::result::Result<(Kind, Vec<u8>), Finding> {
        if let Some(object) = self.loose.object(self.inner.objects.store_ref(), oid) {
            return Ok(object);
        }
        let object = self.inner.find_object(oid);
        let mut object = object.map_err(|error| self.not_read(oid, &causes(&error)))?.detach();
        Ok((object.kind, std::mem::take(&mut object.data)))
    }

    /// Why `oid` could not be read: it is too large, or missing.
    fn not_read(&self, oid: Oid, why: &str) -> Finding {
        match self.inner.find_header(oid).map(|header| header.size()) {
            Ok(size) if size > MAX_OBJECT as u64 => Finding::new(
                Code::FileTooLarge,
                format!(
                    "The object {oid} has {size} bytes, more than edt reads of one object \
                     ({MAX_OBJECT})."
                ),
                "Change this file with Git, or leave it out of the call.",
            )
            .nothing_changed()
            .with("object", oid.to_string())
            .with("bytes", size)
            .with("limit", MAX_OBJECT),
            _ => missing(oid, why),
        }
    }

    /// The size of the object `oid`, without reading its content.
    ///
    /// # Errors
    /// `OBJECT_MISSING`.
    pub fn size_of(&self, oid: Oid) -> Result<usize> {
        let header = found(oid, || self.inner.find_header(oid))?;
        Ok(usize::try_from(header.size()).unwrap_or(usize::MAX))
    }

    /// The tree of `commit`; the empty tree itself is accepted, too.
    ///
    /// # Errors
    /// `OBJECT_MISSING`.
    pub fn tree_of(&self, commit: Oid) -> Result<Oid> {
        // A base is the empty tree if HEAD was unborn.
        if commit == self.empty_tree() {
            return Ok(commit);
        }
        self.tree_in(commit, &self.object(commit, ObjectKind::Commit)?)
    }

    /// The tree named in the commit object `data`.
    pub(super) fn tree_in(&self, commit: Oid, data: &[u8]) -> Result<Oid> {
        let hex = data
            .strip_prefix(b"tree ")
            .and_then(|rest| rest.get(..2 * self.null().as_slice().len()));
        let tree = hex.and_then(|hex| Oid::from_hex(hex).ok());
        tree.ok_or_else(|| missing(commit, "it names no tree").into())
    }

    /// The id that `data` would have as a blob.
    ///
    /// # Errors
    /// `INTERNAL` if hashing fails (a detected collision attack).
    pub fn blob_id(&self, data: &[u8]) -> Result<Oid> {
        super::objects::id_of(self.inner.object_hash(), Kind::Blob, data)
    }

    /// What `tree` has at `path`.
    ///
    /// # Errors
    /// `OBJECT_MISSING` if a tree on the way is missing.
    pub fn tracked(&self, tree: Oid, path: &RepoPath) -> Result<Tracked> {
        let mut at = tree;
        let mut names = path.as_bytes().split(|&b| b == b'/').peekable();
        while let Some(name) = names.next() {
            if at == self.empty_tree() {
                return Ok(Tracked::Nothing);
            }
            let Some((mode, oid)) = self.entry(at, name)? else { return Ok(Tracked::Nothing) };
            let last = names.peek().is_none();
            match (mode, last) {
                (0o160_000, _) => return Ok(Tracked::Submodule),
                (super::tree::TREE_MODE, true) => return Ok(Tracked::Directory),
                (super::tree::TREE_MODE, false) => at = oid,
                (0o120_000, _) => return Ok(Tracked::Symlink),
                (_, false) => return Ok(Tracked::BelowFile),
                (mode, true) => {
                    return Ok(Tracked::File(FileId {
                        oid,
                        mode: FileMode::of(mode & 0o100 != 0),
                    }));
                }
            }
        }
        Ok(Tracked::Nothing)
    }

    /// The file, link or submodule at `path` in `tree`.
    ///
    /// # Errors
    /// `OBJECT_MISSING` if a tree on the way is missing.
    pub fn tree_item(&self, tree: Oid, path: &RepoPath) -> Result<Option<TreeItem>> {
        let mut at = tree;
        let mut names = path.as_bytes().split(|&b| b == b'/').peekable();
        while let Some(name) = names.next() {
            if at == self.empty_tree() {
                return Ok(None);
            }
            match (self.entry(at, name)?, names.peek()) {
                (Some((super::tree::TREE_MODE, oid)), Some(_)) => at = oid,
                (Some((mode, oid)), None) if mode != super::tree::TREE_MODE => {
                    return Ok(Some(super::file_id::item(mode, oid)));
                }
                _ => return Ok(None),
            }
        }
        Ok(None)
    }

    /// The directory `name` of `tree`.
    pub(super) fn subtree(&self, tree: Oid, name: &[u8]) -> Result<Option<Oid>> {
        if tree == self.empty_tree() {
            return Ok(None);
        }
        let found = self.entry(tree, name)?;
        Ok(found.and_then(|(mode, oid)| (mode == super::tree::TREE_MODE).then_some(oid)))
    }

    /// The entry `name` of `tree`. All entries of a long tree are kept by name, because further
    /// requests usually follow.
    fn entry(&self, tree: Oid, name: &[u8]) -> Result<Option<(u32, Oid)>> {
        if let Some(names) = self.long.borrow().get(&tree) {
            return Ok(names.get(name).copied());
        }
        let (data, len) = (self.object(tree, ObjectKind::Tree)?, self.null().as_slice().len());
        if data.len() <= CACHED_MAX {
            return Ok(super::tree::entry(&data, name, len));
        }
        let names: super::tree::ByName = super::tree::all_entries(&data, len)
            .map(|(mode, name, oid)| (name.to_vec(), (mode, oid)))
            .collect();
        let found = names.get(name).copied();
        let mut long = self.long.borrow_mut();
        if long.len() >= LONG_COUNT {
            long.clear();
        }
        long.insert(tree, names);
        Ok(found)
    }

    /// Whether `tree` has anything at `path`.
    ///
    /// # Errors
    /// `OBJECT_MISSING` if a tree on the way is missing.
    pub fn tree_contains(&self, tree: Oid, path: &RepoPath) -> Result<bool> {
        self.tracked(tree, path).map(|tracked| tracked != Tracked::Nothing)
    }

    /// The entry of `tree` whose name differs from `path`, or from a parent directory of it, only
    /// in case; `None` if `path` itself exists.
    ///
    /// # Errors
    /// `OBJECT_MISSING` if a tree on the way is missing.
    pub fn case_collision(&self, tree: Oid, path: &RepoPath) -> Result<Option<RepoPath>> {
        let (mut at, mut so_far) = (tree, Vec::new());
        for name in path.as_bytes().split(|&b| b == b'/') {
            if at == self.empty_tree() {
                return Ok(None);
            }
            match self.entry(at, name)? {
                Some((super::tree::TREE_MODE, oid)) => at = oid,
                Some(_) => return Ok(None),
                None => {
                    let data = self.object(at, ObjectKind::Tree)?;
                    let mut all = super::tree::all_entries(&data, self.null().as_slice().len());
                    let other = all.find(|(_, other, _)| other.eq_ignore_ascii_case(name));
                    return Ok(
                        other.map(|(_, other, _)| RepoPath::from_tree(&[&so_far, other].concat()))
                    );
                }
            }
            so_far.extend_from_slice(name);
            so_far.push(b'/');
        }
        Ok(None)
    }

    /// Whether `old` is `new` or one of its ancestors.
    ///
    /// # Errors
    /// `OBJECT_MISSING` if the history cannot be walked.
    pub fn is_ancestor(&self, old: Oid, new: Oid) -> Result<bool> {
        if old == new {
            return Ok(true);
        }
        found(new, || {
            for step in self.inner.rev_walk([new]).all()? {
                if step?.id == old {
                    return Ok(true);
                }
            }
            Ok(false)
        })
    }

    /// As [`is_ancestor`](Repo::is_ancestor), but follows no commit that is older than `old` by its
    /// time. With wrong clocks it may miss one.
    ///
    /// # Errors
    /// `OBJECT_MISSING` if the history cannot be walked.
    pub fn is_recent_ancestor(&self, old: Oid, new: Oid) -> Result<bool> {
        if old == new {
            return Ok(true);
        }
        found(new, || {
            let seconds = self.inner.find_commit(old)?.time()?.seconds;
            let order = CommitTimeOrder::NewestFirst;
            let sorting = Sorting::ByCommitTimeCutoff { order, seconds };
            for step in self.inner.rev_walk([new]).sorting(sorting).all()? {
                if step?.id == old {
                    return Ok(true);
                }
            }
            Ok(false)
        })
    }

    /// Whether `wanted` is on the first-parent chain from `tip` down to `stop`, both included.
    ///
    /// # Errors
    /// `OBJECT_MISSING` if the history cannot be walked.
    pub fn reaches_by_first_parents(&self, tip: Oid, wanted: Oid, stop: Oid) -> Result<bool> {
        let mut next = Some(tip);
        while let Some(oid) = next {
            if oid == wanted {
                return Ok(true);
            }
            next = if oid == stop { None } else { self.first_parent(oid)? };
        }
        Ok(false)
    }

    fn first_parent(&self, commit: Oid) -> Result<Option<Oid>> {
        let data = self.object(commit, ObjectKind::Commit)?;
        let parent =
            data.split(|&b| b == b'\n').take(2).find_map(|line| line.strip_prefix(b"parent "));
        Ok(parent.and_then(|hex| Oid::from_hex(hex).ok()))
    }

    /// `tip` and its first-parent ancestors, at most `limit`. A shallow history just ends earlier.
    #[must_use]
    pub fn first_parents(&self, tip: Oid, limit: usize) -> HashSet<Oid> {
        let (mut found, mut next) = (HashSet::new(), Some(tip));
        while let Some(oid) = next.filter(|_| found.len() < limit) {
            found.insert(oid);
            next = self.first_parent(oid).unwrap_or(None);
        }
        found
    }

    /// The commit that `spec` names in Git's revision syntax.
    ///
    /// # Errors
    /// `BAD_REQUEST` if it names none.
    pub fn commit_named(&self, spec: &str) -> Result<Oid> {
        let bad = |why: String| {
            Finding::new(
                Code::BadRequest,
                format!("{spec:?} names no commit here: {why}."),
                "Give a commit id, branch, tag or any revision Git knows, such as HEAD~1; \
                 `edt log` lists the session's commits.",
            )
        };
        if self.has_tables() {
            // gix finds no refs in tables.
            let named = |object: &str| {
                // As below.
                let hint = ["-c", "core.disambiguate=committish"];
                let ask = ["rev-parse", "--verify", "--end-of-options", object];
                let ask = [&hint[..], &ask].concat();
                let ran = spawn::git(self.environment(), self.root_path(), &ask, b"")?;
                let oid = Oid::from_hex(ran.stdout.trim_ascii_end());
                Ok(oid.map_err(|_| bad(ran.stderr.trim().to_owned()))?)
            };
            // `:/text^{commit}` would look for another text.
            return named(&format!("{}^{{commit}}", named(spec)?));
        }
        // A short id that a blob has, too, names the commit.
        let options =
            Options { object_kind_hint: Some(ObjectKindHint::Committish), ..Options::default() };
        // The outer causes repeat `spec`.
        let found = Spec::from_bstr(spec.as_bytes().as_bstr(), &self.inner, options)
            .map_err(|error| bad(root_cause(&error)))?;
        let id = found.single().ok_or_else(|| bad("it is a range".to_owned()))?;
        let object = id.object().map_err(|error| bad(causes(&error)))?;
        let commit = object.peel_to_kind(Kind::Commit).map_err(|error| bad(causes(&error)))?;
        Ok(commit.id)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectKind {
    Blob,
    Tree,
    Commit,
}

impl ObjectKind {
    const fn gix(self) -> Kind {
        match self {
            ObjectKind::Blob => Kind::Blob,
            ObjectKind::Tree => Kind::Tree,
            ObjectKind::Commit => Kind::Commit,
        }
    }
}

/// The innermost cause of `error`.
fn root_cause(error: &gix::Error) -> String {
    error.iter_errors().last().map(ToString::to_string).unwrap_or_default()
}

pub(super) fn missing(oid: Oid, why: &str) -> Finding {
    Finding::new(
        Code::ObjectMissing,
        format!("The object {oid}, which this repository refers to, could not be read: {why}."),
        "Run `git fsck`: it lists what is missing. `git fetch` may restore it. edt never treats a \
         missing object as an absent file.",
    )
    .nothing_changed()
    .with("object", oid.to_string())
}

/// What `find` returns, which reads `oid` or its history. It is called again if an object is missing:
/// Git may have moved it from a file into a pack between two steps of one search.
pub(super) fn found<T>(
    oid: Oid,
    find: impl Fn() -> std::result::Result<T, gix::Error>,
) -> Result<T> {
    find().or_else(|_| find()).map_err(|error| missing(oid, &causes(&error)).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NewCommit, ObjectWriter, objects};
    use edt_testkit::ScratchRepo;

    fn opened() -> (ScratchRepo, Repo) {
        let scratch = ScratchRepo::with(&[("a", "1"), ("dir/b", "2")]);
        let repo = Repo::open(scratch.path()).unwrap();
        (scratch, repo)
    }

    fn head(repo: &Repo) -> Oid {
        repo.head().unwrap().commit.unwrap()
    }

    fn tracked(repo: &Repo, path: &str) -> Tracked {
        repo.tracked(repo.tree_of(head(repo)).unwrap(), &RepoPath::from_tree(path.as_bytes()))
            .unwrap()
    }

    /// A commit with these parents and HEAD's tree.
    fn commit(repo: &Repo, parent: Option<Oid>, message: &str) -> Oid {
        let tree = repo.tree_of(head(repo)).unwrap();
        let mut writer = ObjectWriter::new(repo);
        let oid = writer.write_commit(&NewCommit { tree, parent, message }).unwrap();
        objects::write(repo, &writer.loose_objects()).unwrap();
        oid
    }

    #[test]
    fn a_tree_has_files_directories_and_nothing_else() {
        let (_scratch, repo) = opened();
        let file = FileId { oid: repo.blob_id(b"2").unwrap(), mode: FileMode::Plain };
        assert_eq!(tracked(&repo, "dir/b"), Tracked::File(file));
        assert_eq!(tracked(&repo, "dir"), Tracked::Directory);
        assert_eq!(tracked(&repo, "a/x"), Tracked::BelowFile);
        assert_eq!(
            (tracked(&repo, "b"), tracked(&repo, "dir/x/y")),
            (Tracked::Nothing, Tracked::Nothing)
        );
    }

    #[test]
    fn the_empty_tree_is_its_own_tree_and_has_nothing() {
        let (_scratch, repo) = opened();
        let empty = repo.empty_tree();
        assert_eq!(repo.tree_of(empty).unwrap(), empty);
        assert!(!repo.tree_contains(empty, &RepoPath::from_tree(b"a")).unwrap());
    }

    #[test]
    fn an_object_of_another_kind_is_an_error() {
        let (_scratch, repo) = opened();
        let found = repo.object(head(&repo), ObjectKind::Blob).unwrap_err().into_vec().remove(0);
        assert_eq!(found, missing(head(&repo), "it is a commit, not a blob"));
    }

    #[test]
    fn a_missing_object_is_an_error() {
        let (_scratch, repo) = opened();
        let found = repo.size_of(repo.null()).unwrap_err().into_vec().remove(0);
        assert_eq!(
            (found.code, &found.evidence["object"]),
            (Code::ObjectMissing, &repo.null().to_string().into())
        );
    }

    #[test]
    fn a_name_of_another_case_is_found_in_every_directory() {
        let (_scratch, repo) = opened();
        let tree = repo.tree_of(head(&repo)).unwrap();
        let collision = |path: &str| {
            let path = RepoPath::from_tree(path.as_bytes());
            repo.case_collision(tree, &path).unwrap().map(|path| path.text())
        };
        assert_eq!(collision("A").as_deref(), Some("a"));
        assert_eq!(collision("dir/B").as_deref(), Some("dir/b"));
        assert_eq!(collision("DIR/new").as_deref(), Some("dir"));
        assert_eq!((collision("a"), collision("dir/new")), (None, None));
    }

    #[test]
    fn a_commit_is_an_ancestor_of_itself_and_of_its_children() {
        let (_scratch, repo) = opened();
        let first = head(&repo);
        let second = commit(&repo, Some(first), "second");
        assert!(
            repo.is_ancestor(first, first).unwrap() && repo.is_ancestor(first, second).unwrap()
        );
        assert!(!repo.is_ancestor(second, first).unwrap());
    }

    #[test]
    fn the_chain_of_first_parents_ends_at_the_given_commit() {
        let (_scratch, repo) = opened();
        let first = head(&repo);
        let second = commit(&repo, Some(first), "second");
        let third = commit(&repo, Some(second), "third");
        assert!(repo.reaches_by_first_parents(third, second, second).unwrap());
        assert!(!repo.reaches_by_first_parents(third, first, second).unwrap());
        assert_eq!(repo.first_parents(third, 2), HashSet::from([third, second]));
        assert_eq!(repo.first_parents(third, 9), HashSet::from([third, second, first]));
    }

    #[test]
    fn a_revision_that_names_no_commit_is_refused() {
        let (_scratch, repo) = opened();
        assert_eq!(repo.commit_named("HEAD").unwrap(), head(&repo));
        for spec in ["nowhere", "HEAD:a", "HEAD~1"] {
            let found = repo.commit_named(spec).unwrap_err().into_vec().remove(0);
            assert!(
                found.summary.starts_with(&format!("{spec:?} names no commit here: ")),
                "{found:?}"
            );
        }
    }
}
