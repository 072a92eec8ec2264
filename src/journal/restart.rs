//! Settling after a restart of the machine. What was not synced may be there, gone, torn or zero, in any combination.
//!
//! Every transaction since the last checkpoint goes forward, answered or not, except those that were taken back. Each ref, path and
//! index entry is brought to its last recorded value in one step, and only if what stands there is edt's own: the inode that a record
//! replaced, the inode that a record put there and nobody wrote to since, or a file torn by the cut. Who changed something afterwards
//! made another inode, or a later one, and is left alone.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::files::{Stage, Stands};
use super::log::Journal;
use super::pointers::{Branch, From};
use super::publish::settle_refs;
use super::record::{ChangeRecord, FileRecord, Id, Record};
use super::recover::{POINTER, forward, is_in_head, report};
use super::{index, restart_index};
use crate::base::{RepoPath, Result, Settled};
use crate::git::objects::Look;
use crate::git::read::ObjectKind;
use crate::git::reflog::Line;
use crate::git::{InHead, Oid, Repo, objects};
use crate::io::disk::Stat;

/// A transaction and its branch.
type Recorded = (ChangeRecord, Branch);

/// Settles all that the journal holds of an earlier boot.
///
/// # Errors
/// `IO_ERROR`, `GIT_DIR_READ_ONLY`, `OBJECT_MISSING`: nothing is lost, the next call tries again.
pub(super) fn settle_all(repo: &Repo, journal: &mut Journal, records: &[(u64, Record)]) -> Result<Option<Settled>> {
    let (changes, undone) = sorted(records);
    let stage = Stage::open(repo)?;
    for (record, _) in &changes {
        objects::write_missing(repo.objects_dir(), &record.loose(), Look::Bytes)?;
    }
    unlock(repo, journal, &stage, &changes, &undone)?;
    let mut moved = mend_refs(repo, &changes)?;
    for (record, _) in &undone {
        drop_created(repo, record, &changes)?;
    }
    moved |= bring_branches(repo, &changes)?;
    let landed = landed(repo, &changes)?;
    let restored = bring_files(repo, &stage, &landed, &changes, &undone)?;
    if let Some((record, branch)) = landed.last().filter(|(record, branch)| must_follow(record, branch)) {
        follow(repo, record, branch)?;
    }
    let landed: Vec<&ChangeRecord> = landed.iter().map(|(record, _)| record).collect();
    let lost = restart_index::restore(repo, &stage, &landed)?;
    mend_logs(repo, &changes)?;
    journal.checkpoint()?;
    let Some(last) = landed.last().filter(|_| moved || !restored.is_empty() || lost.is_some()) else { return Ok(None) };
    let mut settled = report("recovered", last, &restored, &[]);
    settled.detail.push_str(lost.unwrap_or_default());
    Ok(Some(settled))
}

/// The transactions that are to be true, and those that were taken back.
fn sorted(records: &[(u64, Record)]) -> (Vec<Recorded>, Vec<Recorded>) {
    let taken_back: HashSet<u64> = records
        .iter()
        .filter_map(|(_, record)| match record {
            Record::TakenBack(number) => Some(*number),
            Record::Change(_) => None,
        })
        .collect();
    let (mut changes, mut undone) = (Vec::new(), Vec::new());
    for (number, record) in records {
        if let Record::Change(record) = record
            && let Some(branch) = record.branch.branch()
        {
            let list = if taken_back.contains(number) { &mut undone } else { &mut changes };
            list.push(((**record).clone(), branch));
        }
    }
    (changes, undone)
}

/// Removes the locks of Git's own that edt held when the machine stopped.
fn unlock(repo: &Repo, journal: &Journal, stage: &Stage<'_>, changes: &[Recorded], undone: &[Recorded]) -> Result<()> {
    let before = journal.last_written()?;
    if changes.iter().chain(undone).any(|(record, _)| !record.entries.is_empty()) {
        index::unlock_left(repo, stage, before)?;
    }
    for (record, branch) in changes.iter().chain(undone) {
        let mut names: Vec<&str> = vec![&branch.name, "HEAD"];
        names.extend(branch.point.as_deref());
        names.extend(record.replace.iter().map(|(name, ..)| name.as_str()));
        names.extend(record.drop.iter().map(|(name, _)| name.as_str()));
        for name in names {
            repo.unlock_left(name, before)?;
        }
    }
    Ok(())
}

/// Writes torn refs again, and refs that must be there and are not; whether there were any.
fn mend_refs(repo: &Repo, changes: &[Recorded]) -> Result<bool> {
    let mut last: BTreeMap<&str, String> = BTreeMap::new();
    for (record, branch) in changes {
        let ids = record.create.iter().map(|(name, to)| (name.as_str(), to));
        for (name, to) in ids.chain(record.replace.iter().map(|(name, _, to)| (name.as_str(), to))) {
            last.extend(to.oid().map(|to| (name, to.to_string())));
        }
        last.insert(&branch.name, branch.new.to_string());
        last.extend(branch.point.as_deref().map(|point| (point, branch.name.clone())));
    }
    let mut moved = false;
    for (name, value) in &last {
        moved |= repo.mend_ref(name, value)?;
    }
    for (name, to) in changes.iter().flat_map(|(record, _)| &record.create) {
        if let Some(to) = to.oid()
            && repo.ref_value(name)?.is_none()
        {
            repo.create_ref(name, to)?;
            moved = true;
        }
    }
    Ok(moved)
}

/// Removes the refs that a change made which was then taken back.
fn drop_created(repo: &Repo, record: &ChangeRecord, changes: &[Recorded]) -> Result<()> {
    let made = |name: &str| changes.iter().any(|(record, _)| record.create.iter().any(|(made, _)| made == name));
    for (name, to) in record.create.iter().filter(|(name, _)| !made(name)) {
        if let Some(to) = to.oid() {
            repo.drop_created_ref(name, to)?;
        }
    }
    Ok(())
}

/// Brings each branch to its last value, if its loose file is still one that a record replaced; whether one was.
fn bring_branches(repo: &Repo, changes: &[Recorded]) -> Result<bool> {
    let mut moved = false;
    for (i, (_, branch)) in changes.iter().enumerate() {
        let name = &branch.name;
        if changes[i + 1..].iter().any(|(_, later)| later.name == *name) {
            continue;
        }
        let Some(stands) = repo.ref_value(name)? else {
            // An older branch that is gone was deleted: its creation was synced before it was answered, and ended an epoch.
            if matches!(branch.from, From::Nothing(_)) && i + 1 == changes.len() {
                repo.create_ref(name, branch.new)?;
                moved = true;
            }
            continue;
        };
        let stat = repo.loose_ref_stat(name);
        let replaced = |(record, earlier): &Recorded| {
            let same_file = match (&record.branch.stat, &stat) {
                (None, None) => true,
                (Some(seen), Some(stat)) => seen.same_content_as(stat),
                _ => false,
            };
            earlier.name == *name && earlier.old() == Some(stands) && same_file
        };
        if stands == branch.new || !changes[..=i].iter().any(replaced) {
            continue;
        }
        let moving = Branch { from: From::Value(stands), ..branch.clone() };
        moving.decide(repo)?;
        moved = true;
    }
    Ok(moved)
}

/// Those whose commit is in their branch as it stands: a person may have moved it since.
fn landed(repo: &Repo, changes: &[Recorded]) -> Result<Vec<Recorded>> {
    let mut held: HashMap<&str, HashSet<Oid>> = HashMap::new();
    for (_, branch) in changes {
        if !held.contains_key(branch.name.as_str()) {
            let near = match repo.ref_value(&branch.name)? {
                Some(tip) => repo.first_parents(tip, changes.len() * 3 + 1000)?,
                None => HashSet::new(),
            };
            held.insert(&branch.name, near);
        }
    }
    let in_branch = |(_, branch): &&Recorded| {
        let held = &held[branch.name.as_str()];
        let left = match branch.from {
            From::Later(old) => !held.contains(&old),
            From::Value(_) | From::Nothing(_) => true,
        };
        left && held.contains(&branch.new)
    };
    Ok(changes.iter().filter(in_branch).cloned().collect())
}

/// What a path is to hold, and in which session's worktree a lost creation is one.
struct Aim<'r> {
    file: &'r FileRecord,
    new: Option<(Id, bool)>,
    branch: &'r str,
}

/// Brings each path to its last recorded state, if what stands there is edt's own.
fn bring_files(
    repo: &Repo,
    stage: &Stage<'_>,
    landed: &[Recorded],
    changes: &[Recorded],
    undone: &[Recorded],
) -> Result<Vec<RepoPath>> {
    let mut aims: BTreeMap<&[u8], Aim<'_>> = BTreeMap::new();
    // What was taken back is to hold what it held; a later change begins from that.
    for (record, branch) in undone {
        for file in &record.files {
            let old = file.old.as_ref().map(|(id, executable, _)| (id.clone(), *executable));
            aims.insert(&file.path, Aim { file, new: old, branch: &branch.name });
        }
    }
    for (record, branch) in landed {
        for file in &record.files {
            aims.insert(&file.path, Aim { file, new: file.new.clone(), branch: &branch.name });
        }
    }
    let mut known: HashMap<&[u8], Known> = HashMap::new();
    for file in changes.iter().chain(undone).flat_map(|(record, _)| &record.files) {
        known.entry(&file.path).or_default().add(file);
    }
    let named = [repo.head()?.branch, repo.symbolic_ref(POINTER)?];
    let mut restored = Vec::new();
    for (path, aim) in &aims {
        let mut file = FileRecord { new: aim.new.clone(), ..aim.file.clone() };
        let here = stage.stat(&file);
        let is_edts = match &here {
            // A lost creation and a deletion look alike; only in the worktree of the session is it the former.
            None => known[path].nothing && named.iter().flatten().any(|name| name == aim.branch),
            Some(here) => known[path].holds(repo, stage, &file, here),
        };
        if !is_edts || stage.stands(&file)? == Stands::New {
            continue;
        }
        file.old = match (here, stage.current(&file)?) {
            (Some(stat), Some(now)) => Some((now.oid.into(), now.mode.bits() & 0o100 != 0, stat)),
            _ => None,
        };
        forward(repo, stage, &file)?;
        restored.push(RepoPath::from_tree(path));
    }
    for file in changes.iter().chain(undone).flat_map(|(record, _)| &record.files) {
        // One that cannot be looked at must not keep every later call from going on.
        let _ = stage.discard_known(file);
    }
    for path in aims.iter().filter(|(_, aim)| aim.new.is_none()).map(|(path, _)| path) {
        repo.root().remove_empty_beneath(RepoPath::from_tree(path).split().0);
    }
    Ok(restored)
}

/// What edt knows of what stood at a path.
#[derive(Default)]
struct Known {
    /// At some time nothing did.
    nothing: bool,
    /// Each inode's last write, and its bytes.
    inodes: Vec<(Stat, Option<Oid>)>,
}

impl Known {
    fn add(&mut self, file: &FileRecord) {
        self.nothing |= file.old.is_none();
        let old = file.old.as_ref().map(|(id, _, stat)| (*stat, id.oid()));
        let new = file.staged.zip(file.new.as_ref()).map(|(stat, (id, _))| (stat, id.oid()));
        self.inodes.extend(old.into_iter().chain(new));
    }

    /// Whether `here`, at the path of `file`, is one of them, whole or torn by the cut, and nobody wrote to it since.
    fn holds(&self, repo: &Repo, stage: &Stage<'_>, file: &FileRecord, here: &Stat) -> bool {
        let torn = |bytes: Oid| {
            let whole = repo.object(bytes, ObjectKind::Blob).ok();
            whole.zip(stage.read(file)).is_some_and(|(whole, (_, left))| is_torn_form(&left, &whole))
        };
        self.inodes
            .iter()
            .filter(|(stat, _)| stat.inode() == here.inode())
            .any(|(stat, bytes)| stat.same_content_as(here) || here.mtime <= stat.mtime && bytes.is_some_and(torn))
    }
}

/// Whether `bytes` is what a power cut may leave of `whole`: shorter, zero in places, or both.
fn is_torn_form(bytes: &[u8], whole: &[u8]) -> bool {
    bytes.len() <= whole.len() && bytes.iter().zip(whole).all(|(found, wrote)| found == wrote || *found == 0)
}

/// Whether more than the branch moves: such a change was never answered, for the answer waits for a checkpoint.
fn must_follow(record: &ChangeRecord, branch: &Branch) -> bool {
    branch.must_be_synced() || branch.point.is_some() || !record.replace.is_empty() || !record.drop.is_empty()
}

/// Symbolic refs, and the refs that go with the branch.
fn follow(repo: &Repo, record: &ChangeRecord, branch: &Branch) -> Result<()> {
    let mut branch = branch.clone();
    // HEAD follows only if it is still the very file that it was: who switched since made another.
    let same_file = repo.head_stat().zip(record.branch.head_stat).is_some_and(|(is, was)| is.same_content_as(&was));
    let followed = is_in_head(repo, record, &branch)?;
    branch.head_from = branch.head_from.filter(|_| followed || same_file);
    branch.point = branch.point.filter(|name| matches!(repo.symbolic_ref(name), Ok(None)));
    branch.follow(repo, Line::Once, record.head_to.as_deref())?;
    settle_refs(repo, record)
}

/// Ends the torn last lines of logs, and adds the lines that are missing after the last that is there.
fn mend_logs(repo: &Repo, changes: &[Recorded]) -> Result<()> {
    let mut lines: BTreeMap<&str, Vec<(Oid, Oid, &str)>> = BTreeMap::new();
    for (record, branch) in changes.iter().filter(|(_, branch)| branch.start() != branch.new) {
        let line = (branch.start(), branch.new, branch.log.as_str());
        lines.entry(&branch.name).or_default().push(line);
        if branch.head == InHead::Yes && record.head_to.is_none() && is_in_head(repo, record, branch)? {
            lines.entry("HEAD").or_default().push(line);
        }
    }
    lines.into_iter().try_for_each(|(name, lines)| repo.mend_log(name, &lines))
}

#[cfg(test)]
mod tests {
    use super::is_torn_form;

    #[test]
    fn what_is_missing_or_zero_is_torn_and_what_is_other_is_a_persons() {
        for torn in [b"".as_slice(), b"ab", b"abcd", b"\0\0\0\0", b"ab\0\0", b"\0\0cd"] {
            assert!(is_torn_form(torn, b"abcd"), "{torn:?}");
        }
        for other in [b"x".as_slice(), b"abcde", b"abcx", b"\0\0\0x"] {
            assert!(!is_torn_form(other, b"abcd"), "{other:?}");
        }
    }
}
