//! Settling after a restart of the machine. What was not synced may be there, gone, torn or zero, in any combination.
//!
//! Every transaction since the last checkpoint goes forward, answered or not, except those that were taken back. Each ref, path and
//! index entry is brought to its last recorded value in one step, and only if what stands there is edt's own: the inode that a record
//! replaced, the inode that a record put there and nobody wrote to since, or a file torn by the cut. Who changed something afterwards
//! made another inode, or a later one, and is left alone.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

use super::files::{InStage, Stage, Stands};
use super::log::Journal;
use super::pointers::{Branch, From};
use super::record::{ChangeRecord, FileRecord, Id, Record};
use super::recover::{POINTER, follow_refs, forward, is_in_head, report};
use super::{index, restart_index};
use crate::base::{RepoPath, Result, Settled};
use crate::git::objects::Look;
use crate::git::read::ObjectKind;
use crate::git::{InHead, Oid, Repo, objects};
use crate::io::disk::{Parent, Stat};
use crate::io::{failed, for_good};

/// A transaction, its branch and its number.
type Recorded = (ChangeRecord, Branch, u64);

/// Settles all that the journal holds of an earlier boot.
///
/// # Errors
/// `IO_ERROR`, `GIT_DIR_READ_ONLY`, `OBJECT_MISSING`: nothing is lost, the next call tries again.
pub(super) fn settle_all(
    repo: &Repo,
    journal: &mut Journal,
    records: &[(u64, Record)],
) -> Result<Option<Settled>> {
    let (changes, undone) = sorted(records);
    let stage = Stage::open(repo)?;
    for (record, ..) in changes.iter().chain(&undone) {
        objects::write_missing(repo.objects_dir(), &record.loose(), Look::Bytes)?;
    }
    unlock(repo, &stage, &changes, &undone)?;
    // Before anything is appended to them.
    for name in changes.iter().map(|(_, branch, _)| branch.name.as_str()).chain(["HEAD"]) {
        repo.mend_log(name, &[])?;
    }
    let mut moved = mend_refs(repo, &changes)?;
    for (record, ..) in &undone {
        drop_created(repo, record, &changes)?;
    }
    moved |= bring_branches(repo, &changes)?;
    let landed = landed(repo, &changes)?;
    let brought = bring_files(repo, &stage, &landed, &changes, &undone)?;
    if let Some((record, branch, _)) =
        landed.last().filter(|(record, branch, _)| must_follow(record, branch))
    {
        follow_refs(repo, record, branch)?;
    }
    let landed: Vec<&ChangeRecord> = landed.iter().map(|(record, ..)| record).collect();
    let all: Vec<&ChangeRecord> = changes.iter().map(|(record, ..)| record).collect();
    let lost = restart_index::restore(repo, &stage, &landed, &all)?;
    mend_logs(repo, &changes)?;
    journal.checkpoint()?;
    let Brought { files, left, kept } = brought;
    let anything =
        moved || lost.is_some() || !(files.is_empty() && left.is_empty() && kept.is_empty());
    let Some(last) =
        landed.last().copied().or(changes.last().map(|(record, ..)| record)).filter(|_| anything)
    else {
        return Ok(None);
    };
    let mut settled = report("recovered", last, &files, &left);
    settled.detail.push_str(lost.unwrap_or_default());
    if !kept.is_empty() {
        let names: Vec<String> = kept.iter().map(|path| path.display().to_string()).collect();
        settled.detail.push_str(&format!(
            " What edt had displaced and does not know is kept: {}.",
            names.join(", ")
        ));
    }
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
            list.push(((**record).clone(), branch, *number));
        }
    }
    (changes, undone)
}

/// Removes the locks of Git's own that edt held when the machine stopped.
fn unlock(repo: &Repo, stage: &Stage<'_>, changes: &[Recorded], undone: &[Recorded]) -> Result<()> {
    // A lock that is younger than the last transaction is somebody's who lives.
    let last = changes.iter().chain(undone).map(|(record, ..)| record.time).max().unwrap_or(0);
    let before = UNIX_EPOCH + Duration::from_secs((last + SWAP).unsigned_abs());
    if changes.iter().chain(undone).any(|(record, ..)| !record.entries.is_empty()) {
        index::unlock_left(repo, stage, before)?;
    }
    for (record, branch, _) in changes.iter().chain(undone) {
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
    for (record, branch, _) in changes {
        let ids = record.create.iter().map(|(name, to)| (name.as_str(), to));
        for (name, to) in ids.chain(record.replace.iter().map(|(name, _, to)| (name.as_str(), to)))
        {
            last.extend(to.oid().map(|to| (name, to.to_string())));
        }
        last.insert(&branch.name, branch.new.to_string());
        last.extend(branch.point.as_deref().map(|point| (point, branch.name.clone())));
    }
    let mut moved = false;
    for (name, value) in &last {
        // The log may know of a later commit, a person's.
        let later = |oid: &Oid| {
            let own = Oid::from_hex(value.as_bytes()).ok();
            own.is_some_and(|own| {
                repo.tree_of(*oid).is_ok() && repo.is_ancestor(own, *oid).unwrap_or(false)
            })
        };
        let recorded = |oid: &Oid| {
            changes.iter().any(|(_, branch, _)| {
                branch.name == *name && [Some(branch.new), branch.old()].contains(&Some(*oid))
            })
        };
        let logged = repo.last_logged(name).filter(|oid| !recorded(oid) && later(oid));
        moved |=
            repo.mend_ref(name, &logged.map_or_else(|| value.clone(), |oid| oid.to_string()))?;
    }
    for (name, to) in changes.iter().flat_map(|(record, ..)| &record.create) {
        // A pin that a person deleted and whose objects are gone would keep `git gc` from running.
        if let Some(to) = to.oid()
            && repo.ref_value(name)?.is_none()
            && (!["/undone/", "/refused/", "/aside/"].iter().any(|kept| name.contains(kept))
                || repo.tree_of(to).is_ok())
        {
            repo.create_ref(name, to)?;
            moved = true;
        }
    }
    Ok(moved)
}

/// Removes the refs that a change made which was then taken back.
fn drop_created(repo: &Repo, record: &ChangeRecord, changes: &[Recorded]) -> Result<()> {
    let made = |name: &str| {
        changes.iter().any(|(record, ..)| record.create.iter().any(|(made, _)| made == name))
    };
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
    for (i, (_, branch, _)) in changes.iter().enumerate() {
        let name = &branch.name;
        if changes[i + 1..].iter().any(|(_, later, _)| later.name == *name) {
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
        let stat = repo.ref_stat(name);
        let replaced = |(record, earlier, _): &Recorded| {
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
    for (_, branch, _) in changes {
        if !held.contains_key(branch.name.as_str()) {
            let near = match repo.ref_value(&branch.name)? {
                Some(tip) => repo.first_parents(tip, changes.len() * 3 + 1000),
                None => HashSet::new(),
            };
            held.insert(&branch.name, near);
        }
    }
    let in_branch = |(_, branch, _): &&Recorded| {
        let held = &held[branch.name.as_str()];
        let left = match branch.from {
            From::Later(old) => !held.contains(&old),
            From::Value(_) | From::Nothing(_) => true,
        };
        left && held.contains(&branch.new)
    };
    Ok(changes.iter().filter(in_branch).cloned().collect())
}

/// What a path is to hold, and the branch and commit that say so.
struct Aim<'r> {
    file: &'r FileRecord,
    new: Option<(Id, bool)>,
    branch: &'r Branch,
    /// Whether the commit came true; else the path is to hold what it held.
    landed: bool,
}

/// Brings each path to its last recorded state, if what stands there is edt's own; says which, and which could not be.
fn bring_files(
    repo: &Repo,
    stage: &Stage<'_>,
    landed: &[Recorded],
    changes: &[Recorded],
    undone: &[Recorded],
) -> Result<Brought> {
    let mut all: Vec<(&Recorded, bool)> = landed.iter().map(|one| (one, true)).collect();
    all.extend(undone.iter().map(|one| (one, false)));
    all.sort_by_key(|((.., number), _)| *number);
    // The last word on a path counts: what was taken back last is to hold what it held.
    let mut aims: BTreeMap<&[u8], Aim<'_>> = BTreeMap::new();
    for ((record, branch, _), landed) in all {
        for file in &record.files {
            let old = || file.old.as_ref().map(|(id, executable, _)| (id.clone(), *executable));
            let new = if landed { file.new.clone() } else { old() };
            aims.insert(&file.path, Aim { file, new, branch, landed });
        }
    }
    let (mut known, mut brought): (HashMap<&[u8], Known>, Brought) = Default::default();
    for (file, undone) in files(changes, false).chain(files(undone, true)) {
        known.entry(&file.path).or_default().add(file, undone);
        // What was displaced from under a person may be their only copy: it gets a name of its own before anything else is staged.
        brought.kept.extend(for_good(stage.keep_foreign(file))?.flatten());
    }
    let named = [repo.head()?.branch, repo.symbolic_ref(POINTER)?];
    for (path, aim) in &aims {
        let in_session = named.iter().flatten().any(|name| *name == aim.branch.name);
        match for_good(bring_file(repo, stage, aim, &known[path], in_session))? {
            Some(true) => brought.files.push(RepoPath::from_tree(path)),
            Some(false) => {}
            None => brought.left.push(RepoPath::from_tree(path)),
        }
    }
    for file in changes.iter().chain(undone).flat_map(|(record, ..)| &record.files) {
        // One that cannot be looked at must not keep every later call from going on. Where nothing is staged nothing is tidied, either: an
        // empty folder may be a person's.
        if !matches!(stage.staged(file), Ok(InStage::Nothing)) {
            let _ = stage.discard_known(file);
        }
    }
    Ok(brought)
}

/// The files of `records`, and whether those were taken back.
fn files(records: &[Recorded], undone: bool) -> impl Iterator<Item = (&FileRecord, bool)> {
    records.iter().flat_map(move |(record, ..)| record.files.iter().map(move |file| (file, undone)))
}

/// What became of the files.
#[derive(Default)]
struct Brought {
    files: Vec<RepoPath>,
    /// Those that could not be looked at or written.
    left: Vec<RepoPath>,
    /// A person's bytes that were displaced, under the names they are kept by.
    kept: Vec<PathBuf>,
}

/// Brings one path to its aim; whether it had to be.
fn bring_file(
    repo: &Repo,
    stage: &Stage<'_>,
    aim: &Aim<'_>,
    known: &Known,
    in_session: bool,
) -> Result<bool> {
    let mut file = FileRecord { new: aim.new.clone(), ..aim.file.clone() };
    let path = RepoPath::from_tree(&file.path);
    let here = match repo.root().beneath(path.split().0) {
        Ok(Parent::Open(dir)) => {
            dir.stat(path.split().1).map_err(|error| failed("read", repo.root_path(), &error))?
        }
        Ok(Parent::Missing) => None,
        // A link or a file where a folder was is a person's work.
        Ok(Parent::Symlink | Parent::NotAFolder) => return Ok(false),
        Err(error) => return Err(failed("read", repo.root_path(), &error).into()),
    };
    let is_edts = match &here {
        // A lost creation and a deletion look alike; only in the worktree of the session is it the former.
        None => known.nothing && in_session,
        Some(here) => known.holds(repo, stage, &file, here),
    };
    let told_by = if aim.landed { aim.branch.new } else { aim.branch.start() };
    if !is_edts
        || !is_in_tip(repo, aim.branch, told_by, &path)?
        || stage.stands(&file)? == Stands::New
    {
        return Ok(false);
    }
    file.old = match (here, stage.current(&file)?) {
        (Some(stat), Some(now)) => Some((now.oid.into(), now.mode.bits() & 0o100 != 0, stat)),
        _ => None,
    };
    forward(repo, stage, &file)?;
    Ok(true)
}

/// Whether the branch as it stands holds `path` as the commit `told_by` does: nobody changed or deleted it in a later one.
fn is_in_tip(repo: &Repo, branch: &Branch, told_by: Oid, path: &RepoPath) -> Result<bool> {
    let Some(tip) = repo.ref_value(&branch.name)? else { return Ok(false) };
    Ok(repo.tracked(repo.tree_of(tip)?, path)? == repo.tracked(repo.tree_of(told_by)?, path)?)
}

/// What edt knows of what stood at a path.
#[derive(Default)]
struct Known {
    /// At some time nothing did.
    nothing: bool,
    /// What records found there, with its bytes.
    found: Vec<(Stat, Option<Oid>)>,
    /// What records put there, with its bytes; and whether it was taken away again, so that it is to go whole or torn.
    put: Vec<(Stat, Option<Oid>, bool)>,
}

/// The longest between the staging of a file and its swap: two locks may be waited for.
const SWAP: i64 = 10;
/// The longest that writing a staged file takes: a cut may leave its inode's time at any moment of that.
const WRITING: i64 = 2;

impl Known {
    fn add(&mut self, file: &FileRecord, undone: bool) {
        self.nothing |= if undone { file.new.is_none() } else { file.old.is_none() };
        // What was taken back replaced nothing.
        if !undone {
            self.found.extend(file.old.as_ref().map(|(id, _, stat)| (*stat, id.oid())));
        }
        self.put.extend(
            file.staged.zip(file.new.as_ref()).map(|(stat, (id, _))| (stat, id.oid(), undone)),
        );
    }

    /// Whether `here`, at the path of `file`, is a file whose replacement was lost, or one that edt put there and the cut tore; and nobody
    /// touched it since. The time of the inode (`ctime`) tells, which no program sets: a file that was written, moved, linked, or
    /// unpacked over has a later one.
    fn holds(&self, repo: &Repo, stage: &Stage<'_>, file: &FileRecord, here: &Stat) -> bool {
        let whole =
            |bytes: Option<Oid>| bytes.and_then(|oid| repo.object(oid, ObjectKind::Blob).ok());
        let bytes = || stage.read(file).map(|(_, bytes)| bytes);
        let found = |(stat, oid): &(Stat, Option<Oid>)| {
            stat.inode() == here.inode()
                && here.ctime <= stat.ctime
                && whole(*oid)
                    .zip(bytes())
                    .map_or(stat.same_content_as(here), |(whole, left)| is_torn_form(&left, &whole))
        };
        let put = |(stat, oid, undone): &(Stat, Option<Oid>, bool)| {
            stat.inode() == here.inode()
                && here.mtime <= stat.mtime
                && here.mtime.0 >= stat.mtime.0 - WRITING
                && here.ctime.0 <= stat.ctime.0 + SWAP
                && whole(*oid).zip(bytes()).is_some_and(|(whole, left)| {
                    (*undone || left != whole) && is_torn_form(&left, &whole)
                })
        };
        self.found.iter().any(found) || self.put.iter().any(put)
    }
}

/// Whether `bytes` is what a power cut may leave of `whole`: shorter, zero in places, or both.
fn is_torn_form(bytes: &[u8], whole: &[u8]) -> bool {
    bytes.len() <= whole.len()
        && bytes.iter().zip(whole).all(|(found, wrote)| found == wrote || *found == 0)
}

/// Whether more than the branch moves: such a change was never answered, for the answer waits for a checkpoint.
fn must_follow(record: &ChangeRecord, branch: &Branch) -> bool {
    branch.must_be_synced()
        || branch.point.is_some()
        || !record.replace.is_empty()
        || !record.drop.is_empty()
}

/// Ends the torn last lines of logs, and adds the lines that are missing after the last that is there.
fn mend_logs(repo: &Repo, changes: &[Recorded]) -> Result<()> {
    let mut lines: BTreeMap<&str, Vec<(Oid, Oid, &str)>> = BTreeMap::new();
    for (record, branch, _) in changes.iter().filter(|(_, branch, _)| branch.start() != branch.new)
    {
        let line = (branch.start(), branch.new, branch.log.as_str());
        lines.entry(&branch.name).or_default().push(line);
        if branch.head == InHead::Yes
            && record.head_to.is_none()
            && is_in_head(repo, record, branch)?
        {
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
