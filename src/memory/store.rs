//! The tree of episodes, read and written.
//!
//! Every change is one commit on [`REF`], published through the journal like an edit, so that a crash or a power cut leaves the memory
//! before the change or after it. One process changes it at a time: [`Locked`].

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use super::REF;
use super::change::Change;
use super::episode::{Episode, MOST_BYTES};
use super::index::{self, Index, Warmed};
use super::waiting::Waiting;
use crate::base::{Code, Finding, RepoPath, Result};
use crate::git::draft::TreeChange;
use crate::git::read::ObjectKind;
use crate::git::{Draft, FileId, FileMode, InHead, Item, Oid, Repo, Tracked};
use crate::io::lock::{self, Held};
use crate::io::{failed, whole};
use crate::journal::{self, Branch, From, Journal};

/// The folder of the tree that holds the episodes.
const FOLDER: &str = "episodes";
/// The file of what waits.
const WAITING: &str = "memory-waiting";
/// The trailer that names a batch.
const BATCH: &str = "Edt-Batch: ";

/// The memory of a repository.
#[derive(Debug)]
pub struct Memory<'r> {
    repo: &'r Repo,
    warm: Option<&'r Warmed>,
    /// The index that was read last.
    index: RefCell<Option<Rc<Index>>>,
}

impl<'r> Memory<'r> {
    /// The memory of `repo`; its index is kept in `warm` for the next call, if that is given.
    #[must_use]
    pub fn of(repo: &'r Repo, warm: Option<&'r Warmed>) -> Memory<'r> {
        Memory { repo, warm, index: RefCell::default() }
    }

    /// The repository that it is of.
    #[must_use]
    pub fn repo(&self) -> &'r Repo {
        self.repo
    }

    /// The newest commit; `None` if nothing was ever remembered.
    ///
    /// # Errors
    /// `IO_ERROR` if the ref cannot be read.
    pub fn tip(&self) -> Result<Option<Oid>> {
        self.repo.ref_value(REF)
    }

    /// Every episode of the commit `at`, in order of the ids, and the paths of what this edt does not take for one.
    ///
    /// # Errors
    /// `OBJECT_MISSING`.
    pub fn all(&self, at: Oid) -> Result<(Vec<Episode>, Vec<String>)> {
        let (mut read, mut unreadable) = (Vec::new(), Vec::new());
        for differs in self.repo.tree_diff(self.repo.empty_tree(), self.repo.tree_of(at)?)? {
            let Some(Item::File(file)) = differs.new else { continue };
            match self.standing(&differs.path, file.oid)? {
                Some(episode) => read.push(episode),
                None => unreadable.push(differs.path.to_string()),
            }
        }
        Ok((read, unreadable))
    }

    /// The episode `id` of the commit `at`.
    ///
    /// # Errors
    /// `OBJECT_MISSING`.
    pub fn get(&self, at: Oid, id: &str) -> Result<Option<Episode>> {
        let path = path_of(id);
        match self.repo.tracked(self.repo.tree_of(at)?, &path)? {
            Tracked::File(file) => self.standing(&path, file.oid),
            _ => Ok(None),
        }
    }

    /// The episode that stands at `path` as the blob `oid`; `None` if it is none, or is named otherwise.
    fn standing(&self, path: &RepoPath, oid: Oid) -> Result<Option<Episode>> {
        let Some(id) = id_of(path) else { return Ok(None) };
        Ok(self.at(oid)?.filter(|episode| episode.id == id))
    }

    /// The episode that the blob `oid` holds; `None` if it holds none that this edt reads.
    ///
    /// # Errors
    /// `OBJECT_MISSING`.
    pub fn at(&self, oid: Oid) -> Result<Option<Episode>> {
        if self.repo.size_of(oid)? > MOST_BYTES {
            return Ok(None);
        }
        Ok(Episode::from_json(&self.repo.object(oid, ObjectKind::Blob)?).ok())
    }

    /// The index of the newest commit; `None` if nothing was ever remembered.
    ///
    /// # Errors
    /// `OBJECT_MISSING`, `IO_ERROR`.
    pub fn index(&self) -> Result<Option<Rc<Index>>> {
        let Some(tip) = self.tip()? else { return Ok(None) };
        if let Some(index) = &*self.index.borrow()
            && index.is_of(tip)
        {
            return Ok(Some(index.clone()));
        }
        let file = self.index_file();
        // Whoever moved the ref has written to the file, too; one that was kept needs only follow.
        let kept = self.warm.and_then(|warm| warm.take(&file));
        let index = match kept {
            Some(index) if index.is_of(tip) => index,
            Some(index) => Rc::new(self.brought(Some(Rc::unwrap_or_clone(index)), tip)?),
            None => {
                let mut index = match Index::read(&file) {
                    Some(index) if index.is_of(tip) => index,
                    old => self.brought(old, tip)?.stale(),
                };
                if index.is_stale() {
                    index.write(&file);
                }
                Rc::new(index)
            }
        };
        if let Some(warm) = self.warm {
            warm.keep(file, &index);
        }
        self.index.replace(Some(index.clone()));
        Ok(Some(index))
    }

    /// `old` brought to the commit `tip`.
    fn brought(&self, old: Option<Index>, tip: Oid) -> Result<Index> {
        // What the old one was made of may be gone.
        let old = old.and_then(|index| Some((self.repo.tree_of(index.tip()?).ok()?, index)));
        let (from, mut index) = old.unwrap_or_else(|| (self.repo.empty_tree(), Index::default()));
        for one in self.repo.tree_diff(from, self.repo.tree_of(tip)?)? {
            let Some(id) = id_of(&one.path) else { continue };
            let found = match one.new {
                Some(Item::File(file)) => self
                    .standing(&one.path, file.oid)?
                    .map(|episode| index::entry(&episode, file.oid)),
                _ => None,
            };
            index.set(&id, found);
        }
        index.move_to(tip);
        Ok(index)
    }

    fn index_file(&self) -> PathBuf {
        self.folder().join("memory-index")
    }

    /// The episode `id` of the commit `tip`; none of none.
    ///
    /// # Errors
    /// `OBJECT_MISSING`.
    pub fn get_or_nothing(&self, tip: Option<Oid>, id: &str) -> Result<Option<Episode>> {
        tip.map_or(Ok(None), |tip| self.get(tip, id))
    }

    /// Waits for other processes and keeps them out until what is returned is dropped.
    ///
    /// # Errors
    /// `SESSION_BUSY` after two seconds; `IO_ERROR`, `GIT_DIR_READ_ONLY`.
    pub fn lock(&self) -> Result<Locked<'_, 'r>> {
        let folder = self.folder();
        whole::make_folder(&folder).map_err(|error| failed("make", &folder, &error))?;
        let held = lock::take(&folder.join("memory-lock"), "memory", Duration::from_secs(2))?;
        Ok(Locked { memory: self, _held: held })
    }

    /// What waits to be recorded.
    #[must_use]
    pub fn waiting(&self) -> Waiting {
        Waiting::read(&self.folder().join(WAITING))
    }

    fn folder(&self) -> PathBuf {
        self.repo.common_dir().join("edt")
    }
}

/// The memory, while no other process changes it.
#[derive(Debug)]
pub struct Locked<'m, 'r> {
    memory: &'m Memory<'r>,
    _held: Held,
}

impl<'r> Locked<'_, 'r> {
    /// What waits to be recorded.
    #[must_use]
    pub fn waiting(&self) -> Waiting {
        self.memory.waiting()
    }

    /// Lets this wait, where `before` did. What cannot be written is forgotten.
    pub fn wait(&self, waiting: Waiting, before: &Waiting) {
        let _ = waiting.write(&self.memory.folder().join(WAITING), before);
    }

    /// Records what waits; the commit, if anything did.
    ///
    /// # Errors
    /// As [`record`](Locked::record): it still waits then.
    pub fn settle(&self, journal: &mut Journal) -> Result<Option<Oid>> {
        let before = self.waiting();
        if before.pending.is_empty() {
            return Ok(None);
        }
        // A process that was killed may have recorded it, and not come to say so.
        let trailer = format!("{BATCH}{}", before.batch);
        let known = match self.memory.tip()? {
            Some(tip) => message_of(self.memory.repo, tip)?.lines().any(|line| line == trailer),
            None => false,
        };
        let message = format!("{}\n\n{trailer}", subject(&before.pending));
        let commit =
            if known { None } else { self.record(journal, &message, &before.pending, None)? };
        let after = Waiting { pending: Vec::new(), ..before.clone() };
        self.wait(after, &before);
        Ok(commit)
    }

    /// Makes `changes` as one commit with that `message`; the commit, or `None` if they change nothing. `merges` is a commit whose
    /// episodes they bring in.
    ///
    /// # Errors
    /// `SESSION_MOVED` if a person moved the ref meanwhile; what publishing may answer. Nothing is recorded then.
    pub fn record(
        &self,
        journal: &mut Journal,
        message: &str,
        changes: &[Change],
        merges: Option<Oid>,
    ) -> Result<Option<Oid>> {
        let (memory, tip) = (self.memory, self.memory.tip()?);
        let mut now: BTreeMap<String, (Option<Episode>, Option<Episode>)> = BTreeMap::new();
        for change in changes {
            let id = change.id().to_owned();
            let (stands, before) = match now.remove(&id) {
                Some(known) => known,
                None => memory.get_or_nothing(tip, &id).map(|before| (before.clone(), before))?,
            };
            now.insert(id, (change.on(stands), before));
        }
        now.retain(|_, (after, before)| after != before);
        if now.is_empty() && merges.is_none() {
            return Ok(None);
        }
        let mut draft = Draft::new(memory.repo);
        let (mut changed, mut entries) = (Vec::new(), Vec::new());
        for (id, (after, _)) in now {
            let mut entry = None;
            let file = match after {
                Some(mut episode) => {
                    episode.clean();
                    let oid = draft.blob(episode.to_json().as_bytes())?;
                    entry = Some(index::entry(&episode, oid));
                    Some(FileId { oid, mode: FileMode::Plain })
                }
                None => None,
            };
            changed.push(TreeChange { path: path_of(&id), file });
            entries.push((id, entry));
        }
        let (tree, _) =
            draft.tree(memory.repo.tree_of(tip.unwrap_or(memory.repo.empty_tree()))?, &changed)?;
        let parents: Vec<Oid> = tip.into_iter().chain(merges).collect();
        let commit = draft.commit_of(tree, &parents, &format!("{message}\n"))?;
        self.publish(journal, tip, commit, &draft)?;
        index::append(&memory.index_file(), tip, commit, &entries);
        Ok(Some(commit))
    }

    /// Makes the tree of the commit `source` the newest one, with that `message`.
    ///
    /// # Errors
    /// As [`record`](Locked::record).
    pub fn set(&self, journal: &mut Journal, message: &str, source: Oid) -> Result<Oid> {
        let (repo, tip) = (self.memory.repo, self.memory.tip()?);
        let mut draft = Draft::new(repo);
        let commit = draft.commit_of(repo.tree_of(source)?, tip.as_slice(), message)?;
        // What the index lacks then, the next call finds by the difference of the trees.
        self.publish(journal, tip, commit, &draft)?;
        Ok(commit)
    }

    fn publish(
        &self,
        journal: &mut Journal,
        tip: Option<Oid>,
        commit: Oid,
        draft: &Draft<'r>,
    ) -> Result<()> {
        let from = tip.map_or(From::Nothing(commit), From::Value);
        let log = "edt memory".to_owned();
        let (name, head) = (REF.to_owned(), InHead::No);
        let branch = Branch { name, from, new: commit, log, head, head_from: None, point: None };
        let change = journal::Change { objects: draft.loose(), ..journal::Change::of(branch) };
        journal::publish(self.memory.repo, journal, change).map(drop)
    }
}

/// The message of a commit.
///
/// # Errors
/// `OBJECT_MISSING`.
pub(super) fn message_of(repo: &Repo, commit: Oid) -> Result<String> {
    let bytes = repo.object(commit, ObjectKind::Commit)?;
    let text = String::from_utf8_lossy(&bytes);
    Ok(text.split_once("\n\n").map_or_else(String::new, |(_, message)| message.to_owned()))
}

/// The subject of the commit that records `changes`.
fn subject(changes: &[Change]) -> String {
    let count = |of: fn(&Change) -> u64| changes.iter().map(of).sum::<u64>();
    let failed =
        count(|change| if let Change::Failed(episode) = change { episode.seen } else { 0 });
    let fixed = count(|change| u64::from(matches!(change, Change::Fixed(..))));
    let used = count(|change| u64::from(matches!(change, Change::Used(..))));
    format!("remember: {failed} failed, {fixed} fixed, {used} lessons used")
}

/// Where the episode `id` stands in the tree: 256 folders, so that no tree is long.
fn path_of(id: &str) -> RepoPath {
    let (folder, name) = id.split_at(2.min(id.len()));
    RepoPath::from_tree(format!("{FOLDER}/{folder}/{name}.json").as_bytes())
}

/// The episode that stands at `path`, if one does.
fn id_of(path: &RepoPath) -> Option<String> {
    let path = std::str::from_utf8(path.as_bytes()).ok()?;
    let (folder, name) = path.strip_prefix(FOLDER)?.strip_prefix('/')?.split_once('/')?;
    Some(format!("{folder}{}", name.strip_suffix(".json")?)).filter(|id| super::episode::is_id(id))
}

/// That there is no episode `id`.
#[must_use]
pub fn not_found(id: &str) -> Finding {
    let message =
        format!("There is no episode {id} in the memory of this repository. Nothing was changed.");
    Finding::new(
        Code::EpisodeNotFound,
        message,
        "`edt memory list` shows those there are, with their ids.",
    )
}
