//! The refs after a restart of the machine, and which transactions their values show.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::log::Journal;
use super::pointers::{BranchOrigin, BranchUpdate, HeldPointers};
use super::record::{ChangeRecord, Id};
use super::recovery_steps::{
    follows_head, is_head_unmoved, is_in_head, is_new_in_head, leaves, unless_denied, was_amended,
};
use super::restart::Recorded;
use edt_git::reflog::LoggedMove;
use edt_git::{InHead, Oid, Repo};
use edt_io::permanent_as_none;
use edt_types::Result;

/// Rewrites torn refs. Returns whether there were any.
pub(super) fn repair_refs(repo: &Repo, changes: &[Recorded]) -> Result<bool> {
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
        // The log may have a later commit of the user.
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
            repo.repair_ref(name, &logged.map_or_else(|| value.clone(), |oid| oid.to_string()))?;
    }
    Ok(moved)
}

/// Creates the missing refs of transactions. A landing that is not completed, and was not answered,
/// gets none: its refs are removed, as long as the session exists. Returns whether a ref was created.
pub(super) fn create_missing(
    repo: &Repo,
    changes: &[Recorded],
    committed: &[&Recorded],
    closed: u64,
) -> Result<bool> {
    let mut moved = false;
    for recorded @ (record, _, number) in changes {
        let is_committed = committed.iter().any(|(.., other)| other == number);
        if let Some((name, _)) = landed(record)
            && !is_committed
            && *number >= closed
        {
            // Without a header, which has it, no transaction is known to be closed.
            if closed > 0 && has_session(repo, name)? {
                drop_created(repo, recorded, changes)?;
            }
            continue;
        }
        if is_synced(recorded, closed) {
            continue;
        }
        for (name, to) in &record.create {
            // Suppose a user deleted a ref and its objects are gone: creating the ref would make
            // `git gc` fail.
            if let Some(to) = to.oid()
                && repo.ref_value(name)?.is_none()
                && repo.has_object(to)
            {
                repo.create_ref(name, to)?;
                moved = true;
            }
        }
    }
    Ok(moved)
}

/// The ref of the landed tip, `refs/edt/<session>/landed/<n>`, and the tip, if a transaction lands a
/// session.
pub(super) fn landed(record: &ChangeRecord) -> Option<(&str, Oid)> {
    let (name, tip) = record.create.iter().find(|(name, _)| name.contains("/landed/"))?;
    Some((name, tip.oid()?))
}

/// Whether the branch of the session with this ref exists.
pub(super) fn has_session(repo: &Repo, landed: &str) -> Result<bool> {
    let session = landed.strip_prefix("refs/edt/").and_then(|name| name.rsplit_once("/landed/"));
    let Some((session, _)) = session else { return Ok(false) };
    Ok(repo.ref_value(&format!("refs/heads/edt/{session}"))?.is_some())
}

/// Removes the refs that a transaction created and no other one did.
pub(super) fn drop_created(
    repo: &Repo,
    (record, branch, number): &Recorded,
    changes: &[Recorded],
) -> Result<()> {
    // The branch may be another one of the user's by now, and its session needs the refs.
    if branch.old().is_none() && permanent_as_none(repo.ref_value(&branch.name))? != Some(None) {
        return Ok(());
    }
    let others = || changes.iter().filter(|(.., other)| other != number);
    let made = |name: &str| {
        others().any(|(record, ..)| record.create.iter().any(|(made, _)| made == name))
    };
    for (name, to) in record.create.iter().filter(|(name, _)| !made(name)) {
        if let Some(to) = to.oid() {
            repo.drop_created_ref(name, to)?;
        }
    }
    Ok(())
}

/// Moves each branch to its last value if its loose file is still one that a record replaced.
/// `was_cut`: something may be lost. Returns whether one moved.
pub(super) fn restore_branches(
    repo: &Repo,
    changes: &[Recorded],
    journal: &Journal,
    closed: u64,
    was_cut: bool,
) -> Result<bool> {
    let mut moved = false;
    for (i, recorded @ (_, branch, _)) in changes.iter().enumerate() {
        let name = &branch.name;
        if changes[i + 1..].iter().any(|(_, later, _)| later.name == *name) {
            continue;
        }
        let Some(current) = repo.ref_value(name)? else {
            // If an older branch is missing, someone deleted it: its creation was synced before the
            // answer.
            let is_new = matches!(branch.from, BranchOrigin::Created(_));
            let has_objects = || repo.tree_of(branch.start()).is_ok();
            if is_new
                && !is_synced(recorded, closed)
                && i + 1 == changes.len()
                && has_objects()
                && follows_head(repo, &recorded.0, branch, journal, was_cut)?
            {
                repo.create_ref(name, branch.new)?;
                moved = true;
            }
            continue;
        };
        let stat = repo.ref_stat(name);
        let packed =
            !repo.has_loose_ref(name) && is_last_move_own(repo, name, current, changes, was_cut);
        let replaced = |(record, earlier, _): &Recorded| {
            let same_file = match (&record.branch.stat, &stat) {
                (None, None) => true,
                (Some(seen), Some(stat)) => seen.same_content_as(stat),
                _ => false,
            };
            earlier.name == *name && earlier.old() == Some(current) && (same_file || packed)
        };
        // An edit may have been answered: it is restored all the same.
        let is_elsewhere = || branch.head_from.is_some() && repo.is_checked_out_elsewhere(name);
        if current == branch.new
            || !changes[..=i].iter().any(replaced)
            || !is_wanted(repo, recorded, journal, was_cut)?
            || is_elsewhere()
        {
            continue;
        }
        let moving = BranchUpdate { from: BranchOrigin::Existing(current), ..branch.clone() };
        moving.decide(repo, &mut HeldPointers::default())?;
        moved = true;
    }
    Ok(moved)
}

/// Whether a transaction may still move its branch. One that moves HEAD was never answered
/// (`must_follow`), so the user may have thrown the session away since. HEAD must be the file that the
/// transaction found or made, and the branch that it leaves must have what is landed.
fn is_wanted(
    repo: &Repo,
    (record, branch, _): &Recorded,
    journal: &Journal,
    was_cut: bool,
) -> Result<bool> {
    let Some(left) = &branch.head_from else { return Ok(true) };
    let is_moved = repo.is_head_staged() && is_in_head(repo, record, branch)?;
    if !is_moved && !is_head_unmoved(repo, record, branch, journal, was_cut)? {
        return Ok(false);
    }
    let Some((_, landed)) = landed(record) else { return Ok(true) };
    Ok(!left.starts_with("refs/") || repo.ref_value(left)? == Some(landed))
}

/// Whether the transaction moves more than the branch. Unless it created its branch, such a
/// transaction was never answered, because the answer waits for a checkpoint.
pub(super) fn must_follow(record: &ChangeRecord, branch: &BranchUpdate) -> bool {
    branch.must_be_synced()
        || branch.point.is_some()
        || !record.replace.is_empty()
        || !record.drop.is_empty()
}

/// Whether the log of the branch `name` shows no move by someone else away from a recorded value.
/// `git gc` packs a ref whose last move was lost, and then the file of the ref shows nothing.
///
/// A log that leads from one recorded value to another one, and not to the value of the branch,
/// shows the loss by itself. Any other log may be what a user left who moved the branch: it counts
/// only after a cut. Its end may be lost then, or all of it. A line that is younger than the records
/// is the user's, or from another worktree.
fn is_last_move_own(
    repo: &Repo,
    name: &str,
    current: Oid,
    changes: &[Recorded],
    was_cut: bool,
) -> bool {
    let Some(LoggedMove { from, to, by_edt, time }) = repo.last_move(name) else {
        return was_cut && repo.creates_logs();
    };
    let of_branch = || changes.iter().filter(|(_, branch, _)| branch.name == name);
    let is_recorded = of_branch().any(|(_, branch, _)| (branch.start(), branch.new) == (from, to));
    let leaves_none = || of_branch().all(|(_, branch, _)| branch.new != from);
    let is_older =
        || of_branch().map(|(record, ..)| record.time).max().is_some_and(|last| time <= last);
    if to != current {
        return is_recorded || was_cut;
    }
    was_cut && (is_recorded || is_older() && (leaves_none() || by_edt))
}

/// The transaction that deleted the branch `name`, as an end of a session does, and its last value.
fn deletion<'c>(changes: &'c [Recorded], name: &str) -> Option<(&'c Recorded, &'c Id)> {
    changes.iter().rev().find_map(|recorded| {
        let mut dropped = recorded.0.drop.iter();
        Some((recorded, &dropped.find(|(dropped, _)| dropped == name)?.1))
    })
}

/// The branch that has what was in the branch `name`: itself, or that of the transaction which
/// deleted it. `None` if there is none.
pub(super) fn successor<'c>(
    repo: &Repo,
    changes: &'c [Recorded],
    name: &'c str,
) -> Result<Option<&'c str>> {
    if name.starts_with("refs/") && repo.ref_value(name)?.is_some() {
        return Ok(Some(name));
    }
    Ok(deletion(changes, name).map(|((_, branch, _), _)| &*branch.name))
}

/// The transactions whose commit is in their branch, or was when a transaction deleted it, and the
/// undos from which another one went on to an older commit. A user may have moved the branch since.
pub(super) fn in_branches<'c>(repo: &Repo, changes: &'c [Recorded]) -> Result<Vec<&'c Recorded>> {
    let mut held: HashMap<&str, HashSet<Oid>> = HashMap::new();
    for (_, branch, _) in changes {
        if !held.contains_key(branch.name.as_str()) {
            let tip = match repo.ref_value(&branch.name)? {
                Some(tip) => Some(tip),
                None => deletion(changes, &branch.name).and_then(|(_, tip)| tip.oid()),
            };
            let near = match tip {
                Some(tip) => repo.first_parents(tip, changes.len() * 3 + 1000),
                None => HashSet::new(),
            };
            held.insert(&branch.name, near);
        }
    }
    // Where the next transaction of each branch began.
    let mut next: HashMap<&str, Oid> = HashMap::new();
    let mut found: Vec<&Recorded> = Vec::new();
    for recorded @ (_, branch, _) in changes.iter().rev() {
        let held = &held[branch.name.as_str()];
        let is_in = match branch.from {
            // The user may have renamed the branch.
            BranchOrigin::Existing(_) | BranchOrigin::Created(_) if held.is_empty() => {
                is_new_in_head(repo, branch)?
            }
            BranchOrigin::Rewound(_) if next.get(&*branch.name) == Some(&branch.new) => true,
            BranchOrigin::Rewound(old) => {
                !held.contains(&old)
                    && held.contains(&branch.new)
                    && !was_amended(repo, branch, old)
            }
            BranchOrigin::Existing(_) | BranchOrigin::Created(_) => held.contains(&branch.new),
        };
        if is_in {
            next.insert(&branch.name, branch.start());
            found.push(recorded);
        }
    }
    found.reverse();
    Ok(found)
}

/// Whether the transaction created its branch and was closed: its refs and HEAD were synced before
/// (`new_session`).
pub(super) fn is_synced((_, branch, number): &Recorded, closed: u64) -> bool {
    matches!(branch.from, BranchOrigin::Created(_)) && *number < closed
}

/// Ends torn last lines of reflogs, and appends the missing lines, but none behind the line with
/// which the user left its commit.
pub(super) fn repair_logs(repo: &Repo, changes: &[Recorded]) -> Result<()> {
    let mut logs: BTreeMap<&str, Vec<&Recorded>> = BTreeMap::new();
    for recorded in changes.iter().filter(|(_, branch, _)| branch.start() != branch.new) {
        let (record, branch, _) = recorded;
        logs.entry(&branch.name).or_default().push(recorded);
        if branch.head == InHead::Yes
            && record.head_to.is_none()
            && is_in_head(repo, record, branch)?
        {
            logs.entry("HEAD").or_default().push(recorded);
        }
    }
    for (name, recorded) in logs {
        // The branch may have been renamed or deleted.
        if name != "HEAD" && repo.ref_value(name)?.is_none() {
            continue;
        }
        let moves = repo.logged_moves(name);
        let mut lines: Vec<(Oid, Oid, &str)> = Vec::new();
        for (record, branch, _) in recorded {
            if !moves.iter().any(|line| leaves(record, branch, line)) {
                lines.push((branch.start(), branch.new, &branch.log));
            }
        }
        unless_denied(repo.repair_log(name, &lines))?;
    }
    Ok(())
}
