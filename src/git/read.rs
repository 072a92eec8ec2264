//! Objects read: blobs, trees along a path, commits along first parents. A missing object is an error, never an absent file.

use std::collections::HashSet;

use gix::bstr::ByteSlice as _;
use gix::objs::Kind;

use super::repo::{FileId, FileMode, Repo, Tracked};
use super::{Oid, causes};
use crate::base::{Code, Finding, RepoPath, Result};

/// Largest tree or commit kept in memory, in bytes, and how many.
const CACHED_MAX: usize = 64 * 1024;
const CACHED_COUNT: usize = 512;
/// How many larger trees are kept, by name.
const LONG_COUNT: usize = 8;

impl Repo {
    /// The content of `oid`, which must be of `kind`.
    ///
    /// # Errors
    /// `OBJECT_MISSING` if it is not there, is damaged or is something else.
    pub fn object(&self, oid: Oid, kind: ObjectKind) -> Result<Vec<u8>> {
        if let Some(data) = self.read.borrow().get(&oid).filter(|_| kind != ObjectKind::Blob) {
            return Ok(data.clone());
        }
        let found = self.inner.find_object(oid).map_err(|error| missing(oid, &causes(&error)))?;
        if found.kind != kind.gix() {
            return Err(
                missing(oid, &format!("it is a {}, not a {}", found.kind, kind.gix())).into()
            );
        }
        let mut found = found.detach();
        let data = std::mem::take(&mut found.data);
        if kind != ObjectKind::Blob && data.len() <= CACHED_MAX {
            let mut read = self.read.borrow_mut();
            if read.len() >= CACHED_COUNT {
                read.clear();
            }
            read.insert(oid, data.clone());
        }
        Ok(data)
    }

    /// The size of the object `oid`, which is not read for it.
    ///
    /// # Errors
    /// `OBJECT_MISSING`.
    pub fn size_of(&self, oid: Oid) -> Result<usize> {
        let header = self.inner.find_header(oid).map_err(|error| missing(oid, &causes(&error)))?;
        Ok(usize::try_from(header.size()).unwrap_or(usize::MAX))
    }

    /// The tree of `commit`; of the empty tree, itself.
    ///
    /// # Errors
    /// `OBJECT_MISSING`.
    pub fn tree_of(&self, commit: Oid) -> Result<Oid> {
        // A base may be the empty tree, where HEAD was unborn.
        if commit == self.empty_tree() {
            return Ok(commit);
        }
        self.tree_in(commit, &self.object(commit, ObjectKind::Commit)?)
    }

    /// The tree that the commit whose content is `data` names.
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

    /// What `tree` holds at `path`.
    ///
    /// # Errors
    /// `OBJECT_MISSING` if a tree on the way is.
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
                (super::tree::FOLDER, true) => return Ok(Tracked::Folder),
                (super::tree::FOLDER, false) => at = oid,
                (0o120_000, _) => return Ok(Tracked::Symlink),
                (_, false) => return Ok(Tracked::BelowFile),
                (mode, true) => {
                    return Ok(Tracked::File(FileId { oid, mode: FileMode::of(mode & 0o100 != 0) }));
                }
            }
        }
        Ok(Tracked::Nothing)
    }

    /// The entry `name` of the folder `tree`. Of a long one all entries are kept by name: whoever asks for one asks for more.
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

    /// Whether `tree` holds anything at `path`.
    ///
    /// # Errors
    /// `OBJECT_MISSING` if a tree on the way is.
    pub fn holds(&self, tree: Oid, path: &RepoPath) -> Result<bool> {
        self.tracked(tree, path).map(|tracked| tracked != Tracked::Nothing)
    }

    /// What `tree` holds under a name that differs from `path`, or a folder of it, only in case; `None` if it holds `path` itself.
    ///
    /// # Errors
    /// `OBJECT_MISSING` if a tree on the way is.
    pub fn twin(&self, tree: Oid, path: &RepoPath) -> Result<Option<RepoPath>> {
        let (mut at, mut so_far) = (tree, Vec::new());
        for name in path.as_bytes().split(|&b| b == b'/') {
            if at == self.empty_tree() {
                return Ok(None);
            }
            match self.entry(at, name)? {
                Some((super::tree::FOLDER, oid)) => at = oid,
                Some(_) => return Ok(None),
                None => {
                    let data = self.object(at, ObjectKind::Tree)?;
                    let mut all = super::tree::all_entries(&data, self.null().as_slice().len());
                    let twin = all.find(|(_, other, _)| other.eq_ignore_ascii_case(name));
                    return Ok(
                        twin.map(|(_, other, _)| RepoPath::from_tree(&[&so_far, other].concat()))
                    );
                }
            }
            so_far.extend_from_slice(name);
            so_far.push(b'/');
        }
        Ok(None)
    }

    /// Whether `old` is `new` or one of the commits before it.
    ///
    /// # Errors
    /// `OBJECT_MISSING` if the history cannot be walked.
    pub fn is_ancestor(&self, old: Oid, new: Oid) -> Result<bool> {
        if old == new {
            return Ok(true);
        }
        let walk =
            self.inner.rev_walk([new]).all().map_err(|error| missing(new, &causes(&error)))?;
        for step in walk {
            if step.map_err(|error| missing(new, &causes(&error)))?.id == old {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether going back from `tip` along first parents leads to `wanted` before it leads past `stop`.
    ///
    /// # Errors
    /// `OBJECT_MISSING` if the history cannot be walked.
    pub fn leads_to(&self, tip: Oid, wanted: Oid, stop: Oid) -> Result<bool> {
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

    /// `tip` and the commits before it along first parents, `limit` at most, as far as they are there: a shallow clone ends.
    #[must_use]
    pub fn first_parents(&self, tip: Oid, limit: usize) -> HashSet<Oid> {
        let (mut found, mut next) = (HashSet::new(), Some(tip));
        while let Some(oid) = next.filter(|_| found.len() < limit) {
            found.insert(oid);
            next = self.first_parent(oid).unwrap_or(None);
        }
        found
    }

    /// The object id that `spec` names, in Git's revision syntax, peeled to a commit.
    ///
    /// # Errors
    /// `BAD_REQUEST` if it names none.
    pub fn commit_named(&self, spec: &str) -> Result<Oid> {
        let bad = |why: String| {
            Finding::new(
                Code::BadRequest,
                format!("{spec:?} names no commit here: {why}."),
                "Give a commit id, branch, tag or any revision Git knows, such as HEAD~1; `edt log` lists the session's commits.",
            )
        };
        let id = self
            .inner
            .rev_parse_single(spec.as_bytes().as_bstr())
            .map_err(|error| bad(causes(&error)))?;
        let object = id.object().map_err(|error| bad(causes(&error)))?;
        let commit = object.peel_to_kind(Kind::Commit).map_err(|error| bad(causes(&error)))?;
        Ok(commit.id)
    }
}

/// The kinds of objects edt reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectKind {
    /// A file's content.
    Blob,
    /// A folder.
    Tree,
    /// A commit.
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

pub(super) fn missing(oid: Oid, why: &str) -> Finding {
    Finding::new(
        Code::ObjectMissing,
        format!("The object {oid} that this repository names could not be read: {why}. Nothing was changed."),
        "`git fsck` tells what is missing; `git fetch` may bring it back. edt never takes a missing object for an absent file.",
    )
    .with("object", oid.to_string())
}
