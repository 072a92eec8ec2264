//! Reads and writes the tree of episodes.
//!
//! Every change is one commit on [`REF`], published through the journal like an edit. After a crash
//! or power loss the memory is in the state before or after the change. [`LockedMemory`] ensures
//! that only one process changes it at a time.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::REF;
use super::change::MemoryChange;
use super::episode::{Episode, MAX_EPISODE_BYTES};
use super::index::{self, EpisodeIndex, IndexCache};
use super::unrecorded::Unrecorded;
use edt_git::object_writer::TreeChange;
use edt_git::read::ObjectKind;
use edt_git::{FileId, FileMode, ObjectWriter, Oid, Repo, Tracked, TreeItem};
use edt_io::lock::{self, LockGuard};
use edt_io::{failed, fs};
use edt_journal::{BranchOrigin, Journal, RefUpdate};
use edt_types::{Code, Finding, RepoPath, Result};

/// The directory of the episodes in the tree.
const DIRECTORY: &str = "episodes";
/// The file with [`Unrecorded`].
const UNRECORDED: &str = "memory-waiting";
/// The trailer that names a batch.
const BATCH: &str = "Edt-Batch: ";

/// The memory of a repository.
#[derive(Debug)]
pub struct Memory<'r> {
    repo: &'r Repo,
    cache: Option<&'r IndexCache>,
    index: RefCell<Option<Arc<EpisodeIndex>>>,
}

impl<'r> Memory<'r> {
    /// The memory of `repo`. `cache` keeps its index for later calls of this process.
    #[must_use]
    pub fn new(repo: &'r Repo, cache: Option<&'r IndexCache>) -> Memory<'r> {
        Memory { repo, cache, index: RefCell::default() }
    }

    #[must_use]
    pub fn repo(&self) -> &'r Repo {
        self.repo
    }

    /// The newest commit; `None` if the memory is empty.
    ///
    /// # Errors
    /// `IO_ERROR` if the ref cannot be read.
    pub fn tip(&self) -> Result<Option<Oid>> {
        self.repo.ref_value(REF)
    }

    /// Every episode in the commit `at`, in order of the ids, and the paths of unreadable files.
    ///
    /// # Errors
    /// `OBJECT_MISSING`.
    pub fn all(&self, at: Oid) -> Result<(Vec<Episode>, Vec<String>)> {
        let (mut read, mut unreadable) = (Vec::new(), Vec::new());
        for differs in self.repo.tree_diff(self.repo.empty_tree(), self.repo.tree_of(at)?)? {
            let Some(TreeItem::File(file)) = differs.new else { continue };
            match self.episode_at_path(&differs.path, file.oid)? {
                Some(episode) => read.push(episode),
                None => unreadable.push(differs.path.text()),
            }
        }
        Ok((read, unreadable))
    }

    /// The episode `id` in the commit `at`.
    ///
    /// # Errors
    /// `OBJECT_MISSING`.
    pub fn get(&self, at: Oid, id: &str) -> Result<Option<Episode>> {
        let path = path_of(id);
        match self.repo.tracked(self.repo.tree_of(at)?, &path)? {
            Tracked::File(file) => self.episode_at_path(&path, file.oid),
            _ => Ok(None),
        }
    }

    /// The episode at `path` with the blob `oid`; `None` if it is unreadable or its id differs from
    /// `path`.
    fn episode_at_path(&self, path: &RepoPath, oid: Oid) -> Result<Option<Episode>> {
        let Some(id) = id_of(path) else { return Ok(None) };
        Ok(self.read_blob(oid)?.filter(|episode| episode.id == id))
    }

    /// The episode in the blob `oid`; `None` if this version of edt cannot read it.
    ///
    /// # Errors
    /// `OBJECT_MISSING`.
    pub fn read_blob(&self, oid: Oid) -> Result<Option<Episode>> {
        if self.repo.size_of(oid)? > MAX_EPISODE_BYTES {
            return Ok(None);
        }
        Ok(Episode::from_json(&self.repo.object(oid, ObjectKind::Blob)?).ok())
    }

    /// The index of the newest commit; `None` if the memory is empty.
    ///
    /// # Errors
    /// `OBJECT_MISSING`, `IO_ERROR`.
    pub fn index(&self) -> Result<Option<Arc<EpisodeIndex>>> {
        let Some(tip) = self.tip()? else { return Ok(None) };
        if let Some(index) = &*self.index.borrow()
            && index.is_at(tip)
        {
            return Ok(Some(index.clone()));
        }
        let file = self.index_file();
        // The process that moved the ref also updated the file. A cached index only needs the
        // difference.
        let cached = self.cache.and_then(|cache| cache.take(&file));
        let index = match cached {
            Some(index) if index.is_at(tip) => index,
            Some(index) => Arc::new(self.updated_index(Some(Arc::unwrap_or_clone(index)), tip)?),
            None => {
                let mut index = match EpisodeIndex::read(&file) {
                    Some(index) if index.is_at(tip) => index,
                    old => self.updated_index(old, tip)?.stale(),
                };
                if index.is_stale() {
                    index.write(&file);
                }
                Arc::new(index)
            }
        };
        if let Some(cache) = self.cache {
            cache.put(file, &index);
        }
        self.index.replace(Some(index.clone()));
        Ok(Some(index))
    }

    /// `old` updated to the commit `tip`.
    fn updated_index(&self, old: Option<EpisodeIndex>, tip: Oid) -> Result<EpisodeIndex> {
        // The commit of the old index may no longer exist.
        let old = old.and_then(|index| Some((self.repo.tree_of(index.tip()?).ok()?, index)));
        let (from, mut index) =
            old.unwrap_or_else(|| (self.repo.empty_tree(), EpisodeIndex::default()));
        for one in self.repo.tree_diff(from, self.repo.tree_of(tip)?)? {
            let Some(id) = id_of(&one.path) else { continue };
            let found = match one.new {
                Some(TreeItem::File(file)) => self
                    .episode_at_path(&one.path, file.oid)?
                    .map(|episode| index::entry(&episode, file.oid)),
                _ => None,
            };
            index.set(&id, found);
        }
        index.set_tip(tip);
        Ok(index)
    }

    fn index_file(&self) -> PathBuf {
        self.directory().join("memory-index")
    }

    /// Like [`get`](Memory::get); `None` without a commit.
    ///
    /// # Errors
    /// `OBJECT_MISSING`.
    pub fn get_opt(&self, tip: Option<Oid>, id: &str) -> Result<Option<Episode>> {
        tip.map_or(Ok(None), |tip| self.get(tip, id))
    }

    /// Locks the memory against other processes until the returned value is dropped.
    ///
    /// # Errors
    /// `SESSION_BUSY` after two seconds; `IO_ERROR`, `GIT_DIR_READ_ONLY`.
    pub fn lock(&self) -> Result<LockedMemory<'_, 'r>> {
        let directory = self.directory();
        fs::make_dir(&directory).map_err(|error| failed("make", &directory, &error))?;
        let held =
            lock::acquire(&directory.join("memory-lock"), "edt memory", Duration::from_secs(2))?;
        Ok(LockedMemory { memory: self, _held: held })
    }

    /// The changes that are not recorded yet.
    #[must_use]
    pub fn unrecorded(&self) -> Unrecorded {
        Unrecorded::read(&self.directory().join(UNRECORDED))
    }

    fn directory(&self) -> PathBuf {
        self.repo.common_dir().join("edt")
    }
}

/// The memory, locked against changes by other processes.
#[derive(Debug)]
pub struct LockedMemory<'m, 'r> {
    memory: &'m Memory<'r>,
    _held: LockGuard,
}

impl<'r> LockedMemory<'_, 'r> {
    /// The changes that are not recorded yet.
    #[must_use]
    pub fn unrecorded(&self) -> Unrecorded {
        self.memory.unrecorded()
    }

    /// Replaces the unrecorded changes `before`. If writing fails, the new ones are lost.
    pub fn save_unrecorded(&self, unrecorded: Unrecorded, before: &Unrecorded) {
        let _ = unrecorded.write(&self.memory.directory().join(UNRECORDED), before);
    }

    /// Records all pending changes. Returns the commit, if there was anything to record.
    ///
    /// # Errors
    /// As [`record`](LockedMemory::record): the changes stay pending.
    pub fn record_pending(&self, journal: &mut Journal) -> Result<Option<Oid>> {
        let before = self.unrecorded();
        if before.pending.is_empty() {
            return Ok(None);
        }
        // A killed process may have recorded the batch without removing it here.
        let trailer = format!("{BATCH}{}", before.batch);
        let known = match self.memory.tip()? {
            Some(tip) => message_of(self.memory.repo, tip)?.lines().any(|line| line == trailer),
            None => false,
        };
        let message = format!("{}\n\n{trailer}", subject(&before.pending));
        let commit =
            if known { None } else { self.record(journal, &message, &before.pending, None)? };
        let after = Unrecorded { pending: Vec::new(), ..before.clone() };
        self.save_unrecorded(after, &before);
        Ok(commit)
    }

    /// Records `changes` as one commit. Returns the commit, or `None` if they change nothing.
    /// `merges` is the commit that they were imported from.
    ///
    /// # Errors
    /// `SESSION_MOVED` if another process moved the ref; errors of publishing. Nothing is recorded.
    pub fn record(
        &self,
        journal: &mut Journal,
        message: &str,
        changes: &[MemoryChange],
        merges: Option<Oid>,
    ) -> Result<Option<Oid>> {
        let (memory, tip) = (self.memory, self.memory.tip()?);
        let mut now: BTreeMap<String, (Option<Episode>, Option<Episode>)> = BTreeMap::new();
        for change in changes {
            let id = change.id().to_owned();
            let (current, before) = match now.remove(&id) {
                Some(known) => known,
                None => memory.get_opt(tip, &id).map(|before| (before.clone(), before))?,
            };
            now.insert(id, (change.apply_to(current), before));
        }
        now.retain(|_, (after, before)| after != before);
        if now.is_empty() && merges.is_none() {
            return Ok(None);
        }
        let mut writer = ObjectWriter::new(memory.repo);
        let (mut changed, mut entries) = (Vec::new(), Vec::new());
        for (id, (after, _)) in now {
            let mut entry = None;
            let file = match after {
                Some(mut episode) => {
                    episode.scrub_texts();
                    let oid = writer.write_blob(episode.to_json().as_bytes())?;
                    entry = Some(index::entry(&episode, oid));
                    Some(FileId { oid, mode: FileMode::Plain })
                }
                None => None,
            };
            changed.push(TreeChange { path: path_of(&id), file });
            entries.push((id, entry));
        }
        let (tree, _) = writer
            .write_tree(memory.repo.tree_of(tip.unwrap_or(memory.repo.empty_tree()))?, &changed)?;
        let parents: Vec<Oid> = tip.into_iter().chain(merges).collect();
        let commit = writer.write_commit_with_parents(tree, &parents, &format!("{message}\n"))?;
        self.publish(journal, tip, commit, &writer)?;
        index::append(&memory.index_file(), tip, commit, &entries);
        Ok(Some(commit))
    }

    /// Commits the tree of the commit `source` as the new state.
    ///
    /// # Errors
    /// As [`record`](LockedMemory::record).
    pub fn set(&self, journal: &mut Journal, message: &str, source: Oid) -> Result<Oid> {
        let (repo, tip) = (self.memory.repo, self.memory.tip()?);
        let mut writer = ObjectWriter::new(repo);
        let commit =
            writer.write_commit_with_parents(repo.tree_of(source)?, tip.as_slice(), message)?;
        // The next call updates the index by the difference of the trees.
        self.publish(journal, tip, commit, &writer)?;
        Ok(commit)
    }

    fn publish(
        &self,
        journal: &mut Journal,
        tip: Option<Oid>,
        commit: Oid,
        writer: &ObjectWriter<'r>,
    ) -> Result<()> {
        let from = tip.map_or(BranchOrigin::Created(commit), BranchOrigin::Existing);
        let log = "edt memory".to_owned();
        let (name, objects) = (REF.to_owned(), writer.loose_objects());
        let update = RefUpdate { name, from, new: commit, log, objects };
        edt_journal::move_ref(self.memory.repo, journal, update).map(drop)
    }
}

/// # Errors
/// `OBJECT_MISSING`.
pub(super) fn message_of(repo: &Repo, commit: Oid) -> Result<String> {
    let bytes = repo.object(commit, ObjectKind::Commit)?;
    let text = String::from_utf8_lossy(&bytes);
    Ok(text.split_once("\n\n").map_or_else(String::new, |(_, message)| message.to_owned()))
}

fn subject(changes: &[MemoryChange]) -> String {
    let count = |of: fn(&MemoryChange) -> u64| changes.iter().map(of).sum::<u64>();
    let failed =
        count(|change| if let MemoryChange::Failed(episode) = change { episode.seen } else { 0 });
    let fixed = count(|change| u64::from(matches!(change, MemoryChange::Fixed(..))));
    let used = count(|change| u64::from(matches!(change, MemoryChange::Used(..))));
    format!("remember: {failed} failed, {fixed} fixed, {used} lessons used")
}

/// The path of the episode `id`, in one of 256 directories, so that no tree object is large.
fn path_of(id: &str) -> RepoPath {
    let (directory, name) = id.split_at(2.min(id.len()));
    RepoPath::from_tree(format!("{DIRECTORY}/{directory}/{name}.json").as_bytes())
}

/// The id of the episode at `path`.
fn id_of(path: &RepoPath) -> Option<String> {
    let path = std::str::from_utf8(path.as_bytes()).ok()?;
    let (directory, name) = path.strip_prefix(DIRECTORY)?.strip_prefix('/')?.split_once('/')?;
    Some(format!("{directory}{}", name.strip_suffix(".json")?))
        .filter(|id| super::episode::is_id(id))
}

/// The finding for an unknown episode.
#[must_use]
pub fn not_found(id: &str) -> Finding {
    let message = format!("There is no episode {id} in the memory of this repository.");
    Finding::new(
        Code::EpisodeNotFound,
        message,
        "`edt memory list` shows all episodes with their ids.",
    )
    .nothing_changed()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FailedAttempt;
    use crate::exchange::from_commit;
    use crate::history::{restore, snapshot, snapshots};
    use crate::retrieve::{LessonQuery, lessons};
    use edt_testkit::ScratchRepo;

    fn episode(text: &str) -> Episode {
        let attempt = FailedAttempt { fragment: text.to_owned(), ..FailedAttempt::default() };
        Episode::new("SYNTAX_ERROR", Some("c"), attempt, 100)
    }

    fn added(text: &str, lesson: &str) -> MemoryChange {
        MemoryChange::Added(Box::new(Episode { lesson: Some(lesson.into()), ..episode(text) }))
    }

    fn scratch() -> (ScratchRepo, Repo) {
        let scratch = ScratchRepo::with(&[("a", "1")]);
        let repo = Repo::open(scratch.path()).unwrap();
        (scratch, repo)
    }

    fn journal(repo: &Repo) -> Journal {
        edt_journal::open_recovered(repo, "refs/worktree/edt/session").unwrap().0
    }

    fn recorded(repo: &Repo, changes: &[MemoryChange]) -> Option<Oid> {
        let memory = Memory::new(repo, None);
        memory.lock().unwrap().record(&mut journal(repo), "test", changes, None).unwrap()
    }

    fn code<T: std::fmt::Debug>(result: Result<T>) -> Code {
        result.unwrap_err().into_vec().remove(0).code
    }

    #[test]
    fn an_episode_is_a_file_named_by_its_id() {
        let path = path_of("0123456789abcdef");
        assert_eq!(path.text(), "episodes/01/23456789abcdef.json");
        assert_eq!(id_of(&path).as_deref(), Some("0123456789abcdef"));
    }

    #[test]
    fn another_file_is_no_episode() {
        for path in
            ["episodes/01/x.json", "episodes/0123456789abcdef.json", "x/01/23456789abcdef.json"]
        {
            assert_eq!(id_of(&RepoPath::from_tree(path.as_bytes())), None, "{path}");
        }
    }

    #[test]
    fn a_recorded_episode_is_read_by_its_id() {
        let (_scratch, repo) = scratch();
        let memory = Memory::new(&repo, None);
        assert_eq!(memory.tip().unwrap(), None);
        let commit = recorded(&repo, &[added("alpha", "Do so.")]).unwrap();
        assert_eq!(memory.tip().unwrap(), Some(commit));
        let expected = Episode { lesson: Some("Do so.".into()), ..episode("alpha") };
        assert_eq!(memory.get(commit, &expected.id).unwrap(), Some(expected.clone()));
        assert_eq!(memory.all(commit).unwrap(), (vec![expected], Vec::new()));
    }

    #[test]
    fn a_change_without_an_effect_makes_no_commit() {
        let (_scratch, repo) = scratch();
        recorded(&repo, &[added("alpha", "Do so.")]);
        assert_eq!(recorded(&repo, &[added("alpha", "Do so.")]), None);
    }

    #[test]
    fn changes_of_one_batch_build_on_each_other() {
        let (_scratch, repo) = scratch();
        let one = episode("alpha");
        let changes = [
            MemoryChange::Failed(Box::new(one.clone())),
            MemoryChange::Failed(Box::new(one.clone())),
            MemoryChange::Lesson(one.id.clone(), Some("Do so.".into())),
        ];
        let commit = recorded(&repo, &changes).unwrap();
        let found = Memory::new(&repo, None).get(commit, &one.id).unwrap().unwrap();
        assert_eq!((found.seen, found.lesson.as_deref()), (2, Some("Do so.")));
    }

    #[test]
    fn a_file_that_is_no_episode_is_listed_as_unreadable() {
        let (_scratch, repo) = scratch();
        let mut writer = ObjectWriter::new(&repo);
        let oid = writer.write_blob(b"x").unwrap();
        let file = Some(FileId { oid, mode: FileMode::Plain });
        let change = TreeChange { path: RepoPath::from_tree(b"episodes/x"), file };
        let tree = writer.write_tree(repo.empty_tree(), &[change]).unwrap().0;
        let commit = writer.write_commit_with_parents(tree, &[], "m").unwrap();
        edt_git::objects::write(&repo, &writer.loose_objects()).unwrap();
        let all = Memory::new(&repo, None).all(commit).unwrap();
        assert_eq!(all, (Vec::new(), vec!["episodes/x".to_owned()]));
    }

    #[test]
    fn pending_changes_are_recorded_once() {
        let (_scratch, repo) = scratch();
        let memory = Memory::new(&repo, None);
        let locked = memory.lock().unwrap();
        let mut unrecorded = Unrecorded::default();
        unrecorded.add(MemoryChange::Failed(Box::new(episode("alpha"))));
        locked.save_unrecorded(unrecorded, &Unrecorded::default());
        let waiting = locked.unrecorded();
        let mut journal = journal(&repo);
        let commit = locked.record_pending(&mut journal).unwrap().unwrap();
        assert_eq!(locked.unrecorded(), Unrecorded::default());
        assert_eq!(
            message_of(&repo, commit).unwrap().lines().next(),
            Some("remember: 1 failed, 0 fixed, 0 lessons used")
        );
        // As after a kill between the commit and the removal of the file.
        locked.save_unrecorded(waiting, &Unrecorded::default());
        assert_eq!(locked.record_pending(&mut journal).unwrap(), None);
        assert_eq!(locked.unrecorded(), Unrecorded::default());
    }

    fn query(text: &str) -> LessonQuery {
        LessonQuery::from(&episode(text))
    }

    fn texts(repo: &Repo, query: &LessonQuery, pending: &[MemoryChange]) -> Vec<String> {
        let found = lessons(&Memory::new(repo, None), query, 100, pending).unwrap();
        found.into_iter().map(|lesson| lesson.text).collect()
    }

    #[test]
    fn a_similar_failure_gets_the_recorded_lesson() {
        let (_scratch, repo) = scratch();
        recorded(&repo, &[added("alpha beta", "Do so.")]);
        let expected = "SYNTAX_ERROR in c, of unknown origin: \"Do so.\"";
        assert_eq!(texts(&repo, &query("alpha gamma"), &[]), [expected]);
    }

    #[test]
    fn a_pending_lesson_counts_at_once() {
        let (_scratch, repo) = scratch();
        assert_eq!(texts(&repo, &query("alpha"), &[added("alpha", "Do so.")]).len(), 1);
    }

    #[test]
    fn a_pending_deletion_hides_a_recorded_lesson() {
        let (_scratch, repo) = scratch();
        recorded(&repo, &[added("alpha", "Do so.")]);
        let deleted = MemoryChange::Deleted(episode("alpha").id);
        assert_eq!(texts(&repo, &query("alpha"), &[deleted]), [""; 0]);
    }

    #[test]
    fn a_failure_of_another_kind_gets_no_lesson() {
        let (_scratch, repo) = scratch();
        recorded(&repo, &[added("alpha beta", "Do so.")]);
        let other = LessonQuery {
            code: "ENCODING".into(),
            language: None,
            keywords: vec!["encoding".into(), "other".into()],
        };
        assert_eq!(texts(&repo, &other, &[]), [""; 0]);
    }

    #[test]
    fn three_lessons_at_most_are_shown_the_most_similar_first() {
        let (_scratch, repo) = scratch();
        let all: Vec<MemoryChange> =
            ["one two", "one", "one two three four", "one two three", "six"]
                .iter()
                .map(|text| added(text, text))
                .collect();
        recorded(&repo, &all);
        let found = texts(&repo, &query("one two three"), &[]);
        assert_eq!((found.len(), found[0].ends_with("\"one two three\"")), (3, true), "{found:?}");
    }

    #[test]
    fn a_snapshot_has_a_name_of_its_own_and_can_be_restored() {
        let (_scratch, repo) = scratch();
        let memory = Memory::new(&repo, None);
        recorded(&repo, &[added("alpha", "Do so.")]);
        let mut journal = journal(&repo);
        let commit = snapshot(&memory, &mut journal, "before").unwrap();
        let all = snapshots(&memory).unwrap();
        assert_eq!((all.len(), all[0].name.as_str()), (1, "before"));
        assert_eq!(all[0].commit, commit.to_string());
        assert_eq!(code(snapshot(&memory, &mut journal, "before")), Code::BadRequest);
        drop(journal);
        recorded(&repo, &[MemoryChange::Deleted(episode("alpha").id)]);
        let tip = memory.tip().unwrap().unwrap();
        assert_eq!(memory.all(tip).unwrap().0.len(), 0);
        let restored = restore(&memory, &mut super::tests::journal(&repo), "before").unwrap();
        assert_eq!(memory.all(restored).unwrap().0.len(), 1);
    }

    #[test]
    fn an_invalid_name_of_a_snapshot_is_refused() {
        let (_scratch, repo) = scratch();
        let memory = Memory::new(&repo, None);
        recorded(&repo, &[added("alpha", "Do so.")]);
        let mut journal = journal(&repo);
        for name in ["", " x", "a\nb", &"x".repeat(101)] {
            assert_eq!(code(snapshot(&memory, &mut journal, name)), Code::BadRequest, "{name:?}");
        }
    }

    #[test]
    fn an_empty_memory_has_no_snapshot() {
        let (_scratch, repo) = scratch();
        let memory = Memory::new(&repo, None);
        let mut journal = journal(&repo);
        assert_eq!(code(snapshot(&memory, &mut journal, "x")), Code::EpisodeNotFound);
        assert_eq!(code(restore(&memory, &mut journal, "x")), Code::EpisodeNotFound);
    }

    #[test]
    fn a_commit_outside_the_memory_is_not_restored() {
        let (_scratch, repo) = scratch();
        let memory = Memory::new(&repo, None);
        recorded(&repo, &[added("alpha", "Do so.")]);
        let answer = restore(&memory, &mut journal(&repo), "HEAD");
        assert_eq!(code(answer), Code::EpisodeNotFound);
    }

    #[test]
    fn a_commit_without_episodes_is_not_imported() {
        let (_scratch, repo) = scratch();
        let head = repo.head().unwrap().commit.unwrap();
        let finding =
            from_commit(&Memory::new(&repo, None), head).unwrap_err().into_vec().remove(0);
        assert_eq!(finding.summary, format!("{head} is not a memory: it has no episodes."));
    }

    #[test]
    fn an_episode_that_was_deleted_here_and_unchanged_there_stays_deleted() {
        let (_scratch, repo) = scratch();
        let memory = Memory::new(&repo, None);
        let both = [added("alpha", "one"), added("beta gamma", "two")];
        let theirs = recorded(&repo, &both).unwrap();
        recorded(&repo, &[MemoryChange::Deleted(episode("alpha").id)]);
        assert_eq!(from_commit(&memory, theirs).unwrap(), (Vec::new(), Vec::new()));
    }
}
