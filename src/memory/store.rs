//! The tree of episodes, read and written.
//!
//! Every change is one commit on [`REF`], published through the journal like an edit, so that a crash or a power cut leaves the memory
//! before the change or after it. Who loses a race reads what won and makes the change on top of it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::REF;
use super::episode::{Episode, Fix};
use super::index::{self, Index, Warmed};
use super::score::Outcome;
use crate::base::{Code, Finding, RepoPath, Result};
use crate::git::draft::TreeChange;
use crate::git::read::ObjectKind;
use crate::git::{Draft, FileId, FileMode, InHead, Item, Oid, Repo, Tracked};
use crate::io::lock;
use crate::journal::{self, Branch, From, Journal};

/// The folder of the tree that holds the episodes.
const FOLDER: &str = "episodes";
/// How often a change is made anew after another process's.
const MOST_TRIES: u32 = 50;

/// What becomes of an episode.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// This failure was seen.
    Failed(Box<Episode>),
    /// This landed afterwards.
    Fixed(String, Fix),
    /// Its lesson was told, and this came of it at that time.
    Used(String, Outcome, i64),
    /// It is to be exactly this.
    Put(Box<Episode>),
    /// Another version of it, and the one that both came from.
    Merged(Box<Episode>, Option<Box<Episode>>),
    /// It goes.
    Deleted(String),
}

impl Change {
    /// The episode it is about.
    #[must_use]
    pub fn id(&self) -> &str {
        match self {
            Change::Failed(episode) | Change::Put(episode) | Change::Merged(episode, _) => &episode.id,
            Change::Fixed(id, _) | Change::Used(id, ..) | Change::Deleted(id) => id,
        }
    }

    /// What it makes of an episode; of one that is gone only a failure or a person makes a new one.
    #[must_use]
    pub fn on(&self, stands: Option<Episode>) -> Option<Episode> {
        match (self, stands) {
            (Change::Failed(now), None) => Some((**now).clone()),
            (Change::Failed(now), Some(stands)) => Some(stands.seen_again(now)),
            (Change::Fixed(_, fix), Some(stands)) => Some(stands.fixed(fix)),
            (Change::Used(_, outcome, now), Some(stands)) => Some(stands.used(*outcome, *now)),
            (Change::Put(episode), _) => Some((**episode).clone()),
            (Change::Merged(theirs, _), None) => Some((**theirs).clone()),
            (Change::Merged(theirs, base), Some(ours)) => Some(Episode::merged(base.as_deref(), &ours, theirs)),
            (Change::Deleted(_) | Change::Fixed(..) | Change::Used(..), _) => None,
        }
    }
}

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

    /// Every episode of the commit `at`, in order of the ids, and the paths of those that this edt cannot read.
    ///
    /// # Errors
    /// `OBJECT_MISSING`.
    pub fn all(&self, at: Oid) -> Result<(Vec<Episode>, Vec<String>)> {
        let (mut read, mut unreadable) = (Vec::new(), Vec::new());
        for differs in self.repo.tree_diff(self.repo.empty_tree(), self.repo.tree_of(at)?)? {
            let Some(Item::File(file)) = differs.new else { continue };
            match self.at(file.oid)? {
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
        match self.repo.tracked(self.repo.tree_of(at)?, &path_of(id))? {
            Tracked::File(file) => self.at(file.oid),
            _ => Ok(None),
        }
    }

    /// The episode that the blob `oid` holds; `None` if it holds none that this edt reads.
    ///
    /// # Errors
    /// `OBJECT_MISSING`.
    pub fn at(&self, oid: Oid) -> Result<Option<Episode>> {
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
                Some(Item::File(file)) => self.at(file.oid)?.map(|episode| index::entry(&episode, file.oid)),
                _ => None,
            };
            index.set(&id, found);
        }
        index.move_to(tip);
        Ok(index)
    }

    fn index_file(&self) -> std::path::PathBuf {
        self.repo.common_dir().join("edt").join("memory-index")
    }

    /// Makes `changes` as one commit with that `subject`; the commit, or `None` if they change nothing. `merges` is a commit whose
    /// episodes they bring in.
    ///
    /// # Errors
    /// `SESSION_BUSY`, `SESSION_MOVED` if other processes were faster again and again; what publishing may answer. Nothing is
    /// remembered then.
    pub fn record(
        &self,
        journal: &mut Journal,
        subject: &str,
        changes: &[Change],
        merges: Option<Oid>,
    ) -> Result<Option<Oid>> {
        self.moved(journal, |tip, draft| {
            let (base, mut now) = (tip.map_or(self.repo.empty_tree(), |tip| tip), BTreeMap::new());
            for change in changes {
                let id = change.id().to_owned();
                let stands = match now.remove(&id) {
                    Some((stands, before)) => (stands, before),
                    None => self.get_or_nothing(tip, &id).map(|before: Option<Episode>| (before.clone(), before))?,
                };
                now.insert(id, (change.on(stands.0), stands.1));
            }
            now.retain(|_, (after, before)| after != before);
            let mut tree_changes = Vec::new();
            for (id, (after, _)) in &mut now {
                let file = match after {
                    Some(episode) => {
                        episode.clean();
                        let oid = draft.blob(episode.to_json().as_bytes())?;
                        Some(FileId { oid, mode: FileMode::Plain })
                    }
                    None => None,
                };
                tree_changes.push(TreeChange { path: path_of(id), file });
            }
            if tree_changes.is_empty() && merges.is_none() {
                return Ok(None);
            }
            let (tree, _) = draft.tree(self.repo.tree_of(base)?, &tree_changes)?;
            let parents: Vec<Oid> = tip.into_iter().chain(merges).collect();
            let entries = tree_changes.iter().zip(now).map(|(change, (id, (after, _)))| {
                (id, after.zip(change.file).map(|(episode, file)| index::entry(&episode, file.oid)))
            });
            Ok(Some((draft.commit_of(tree, &parents, &format!("{subject}\n"))?, entries.collect())))
        })
    }

    /// Makes the tree of the commit `source` the newest one, with that `message`.
    ///
    /// # Errors
    /// As [`record`](Memory::record).
    pub fn set(&self, journal: &mut Journal, message: &str, source: Oid) -> Result<Option<Oid>> {
        self.moved(journal, |tip, draft| {
            let tree = self.repo.tree_of(source)?;
            let parents: Vec<Oid> = tip.into_iter().collect();
            let entries = Vec::new();
            // What the index lacks then, the next call finds by the difference of the trees.
            Ok(Some((draft.commit_of(tree, &parents, message)?, entries)))
        })
    }

    fn get_or_nothing(&self, tip: Option<Oid>, id: &str) -> Result<Option<Episode>> {
        tip.map_or(Ok(None), |tip| self.get(tip, id))
    }

    /// Moves the ref to what `make` makes of its value, and again if another process moved it meanwhile.
    fn moved(
        &self,
        journal: &mut Journal,
        make: impl Fn(Option<Oid>, &mut Draft<'r>) -> Result<Option<Made>>,
    ) -> Result<Option<Oid>> {
        let folder = self.repo.common_dir().join("edt");
        crate::io::whole::make_folder(&folder).map_err(|error| crate::io::failed("make", &folder, &error))?;
        let _held = lock::take(&folder.join("memory-lock"), "memory", Duration::from_secs(2))?;
        for tried in 1.. {
            let tip = self.tip()?;
            let mut draft = Draft::new(self.repo);
            let Some((commit, entries)) = make(tip, &mut draft)? else { return Ok(None) };
            let from = tip.map_or(From::Nothing(commit), From::Value);
            let log = "edt memory".to_owned();
            let branch =
                Branch { name: REF.to_owned(), from, new: commit, log, head: InHead::No, head_from: None, point: None };
            let change = journal::Change { objects: draft.loose(), ..journal::Change::of(branch) };
            match journal::publish(self.repo, journal, change) {
                Ok(_) => {
                    if !entries.is_empty() {
                        index::append(&self.index_file(), tip, commit, &entries);
                    }
                    return Ok(Some(commit));
                }
                Err(found) if tried < MOST_TRIES && found.any(|finding| finding.code == Code::SessionMoved) => {}
                Err(found) => return Err(found),
            }
        }
        Ok(None)
    }
}

/// A new commit, and what of the index changes with it.
type Made = (Oid, Vec<(String, Option<Vec<u8>>)>);

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
    let message = format!("There is no episode {id} in the memory of this repository. Nothing was changed.");
    Finding::new(Code::EpisodeNotFound, message, "`edt memory list` shows those there are, with their ids.")
}
