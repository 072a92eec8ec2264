//! What the memory learns from answers: failures, what fixed them, and whether a lesson helped.
//!
//! What was learned is appended to a pending file ([`crate::unrecorded`]) and counts immediately. A
//! batch of it is recorded with an edit that lands, or by the next command that reads the memory.
//! Nothing here changes an answer except its lessons; what cannot be remembered is forgotten.

mod attempt;

use edt_git::Oid;
use edt_io::clock;
use edt_journal::Journal;
use edt_types::{Finding, Landing, Refusal, Result};

use crate::unrecorded::{BATCH, LandedEdit, OpenFailure, Unrecorded};
use crate::{Lesson, LessonQuery, Memory, MemoryChange, lessons};

pub use attempt::{Attempt, episode_of, fix_of, language_of};
use attempt::{is_about, is_memorable, words_of};

/// Where a request was made.
#[derive(Debug, Clone)]
pub struct Origin {
    /// The session; `None` if there was none.
    pub session: Option<String>,
    /// The worktree, by its state directory.
    pub worktree: String,
}

impl Origin {
    /// Whether a failure belongs to `session` in this worktree, or to no session yet.
    fn owns(&self, open: &OpenFailure, session: Option<&str>) -> bool {
        match &open.session {
            Some(of) => Some(of.as_str()) == session,
            None => open.worktree == self.worktree,
        }
    }
}

/// Whether a refusal with `found` can teach anything.
#[must_use]
pub fn is_instructive(found: &Refusal) -> bool {
    found.any(is_memorable)
}

/// Learns that `attempt` was refused with `found`. Returns the findings with the lessons of
/// failures like them.
#[must_use]
pub fn refused(
    memory: &Memory<'_>,
    origin: &Origin,
    attempt: &Attempt<'_>,
    found: Refusal,
) -> Refusal {
    let Ok(locked) = memory.lock() else { return found };
    let before = locked.unrecorded();
    let mut after = before.clone();
    let shown = refused_in(&mut after, memory, origin, attempt, &found);
    locked.save_unrecorded(after, &before);
    found.with_lessons(shown.into_iter().map(|lesson| lesson.text).collect())
}

/// Learns that an edit landed, and from which attempt, if that is known. Records what is pending
/// once it is a batch.
pub fn landed(
    memory: &Memory<'_>,
    journal: &mut Journal,
    origin: impl FnOnce() -> Origin,
    attempt: Option<&Attempt<'_>>,
    landing: &Landing<'_>,
) {
    // An ordinary edit, with nothing to learn from, costs one look at the pending file.
    let unrecorded = memory.unrecorded();
    if unrecorded.open.is_empty() && unrecorded.pending.len() < BATCH {
        return;
    }
    let Ok(locked) = memory.lock() else { return };
    let before = locked.unrecorded();
    let mut after = before.clone();
    landed_in(&mut after, &origin(), attempt, landing);
    let is_batch = after.pending.len() >= BATCH;
    locked.save_unrecorded(after, &before);
    if is_batch {
        // What cannot be recorded now stays pending until the next edit.
        let _ = locked.record_pending(journal);
    }
}

/// Records what is pending. Returns the memory's new commit, if there is one.
///
/// # Errors
/// As [`crate::store::LockedMemory::record`]: it stays pending then.
pub fn record_pending(memory: &Memory<'_>, journal: &mut Journal) -> Result<Option<Oid>> {
    if memory.unrecorded().pending.is_empty() {
        return Ok(None);
    }
    memory.lock()?.record_pending(journal)
}

/// Learns that the session's tip moved back from `from` to `to`. What those edits fixed is not
/// fixed, and the lessons shown before them made things worse.
pub fn undone(memory: &Memory<'_>, from: Oid, to: Oid) {
    if memory.unrecorded().landed.is_empty() {
        return;
    }
    let Ok(locked) = memory.lock() else { return };
    let before = locked.unrecorded();
    let mut after = before.clone();
    let undone = |landed: &mut LandedEdit| is_between(memory, &landed.commit, from, to);
    for landed in after.landed.extract_if(.., undone).collect::<Vec<LandedEdit>>() {
        landed.shown.into_iter().for_each(|id| after.add(MemoryChange::Worsened(id)));
        landed
            .fixed
            .into_iter()
            .for_each(|id| after.add(MemoryChange::Unfixed(id, landed.commit.clone())));
    }
    locked.save_unrecorded(after, &before);
}

fn is_between(memory: &Memory<'_>, commit: &str, from: Oid, to: Oid) -> bool {
    let Ok(commit) = Oid::from_hex(commit.as_bytes()) else { return false };
    let before = |tip| memory.repo().is_ancestor(commit, tip).unwrap_or(false);
    before(from) && !before(to)
}

/// An edit landed: it fixes the open failures of its files, and the lessons shown there helped.
fn landed_in(
    unrecorded: &mut Unrecorded,
    origin: &Origin,
    attempt: Option<&Attempt<'_>>,
    landing: &Landing<'_>,
) {
    let now = clock::seconds();
    let (mut shown, mut fixed) = (Vec::new(), Vec::new());
    for (path, from) in &landing.paths {
        let fix = fix_of(attempt, landing, path, now);
        let is_its = |open: &mut OpenFailure| {
            origin.owns(open, Some(landing.session))
                && (open.path == *path || Some(open.path.as_str()) == *from)
                && fix.as_ref().is_none_or(|fix| is_about(fix, &open.words))
        };
        for open in unrecorded.open.extract_if(.., is_its).collect::<Vec<OpenFailure>>() {
            // Deleting or renaming a file fixes nothing.
            let Some(fix) = &fix else { continue };
            for id in open.episodes {
                unrecorded.add(MemoryChange::Fixed(id.clone(), Box::new(fix.clone())));
                fixed.push(id);
            }
            shown.extend(open.shown);
        }
    }
    shown.sort();
    shown.dedup();
    for id in &shown {
        unrecorded.add(MemoryChange::Used(id.clone(), crate::UseOutcome::Helped, now));
    }
    if !shown.is_empty() || !fixed.is_empty() {
        unrecorded.landed.push(LandedEdit { commit: landing.commit.to_owned(), shown, fixed });
    }
}

/// A request was refused: the lessons shown before did not help. Returns the lessons of similar
/// failures.
fn refused_in(
    unrecorded: &mut Unrecorded,
    memory: &Memory<'_>,
    origin: &Origin,
    attempt: &Attempt<'_>,
    found: &Refusal,
) -> Vec<Lesson> {
    let now = clock::seconds();
    let memorable: Vec<&Finding> =
        found.as_slice().iter().filter(|finding| is_memorable(finding)).collect();
    let mut paths: Vec<&str> =
        memorable.iter().filter_map(|finding| finding.path.as_deref()).collect();
    paths.sort_unstable();
    paths.dedup();
    let mut all: Vec<Lesson> = Vec::new();
    let mut opened = Vec::new();
    for path in paths {
        let here: Vec<&&Finding> =
            memorable.iter().filter(|finding| finding.path.as_deref() == Some(path)).collect();
        let is_its = |open: &mut OpenFailure| {
            origin.owns(open, origin.session.as_deref()) && open.path == path
        };
        let before: Option<OpenFailure> = unrecorded.open.extract_if(.., is_its).next();
        let mut open = OpenFailure {
            session: origin.session.clone(),
            worktree: origin.worktree.clone(),
            path: path.to_owned(),
            refusals: here.len(),
            episodes: before.as_ref().map_or_else(Vec::new, |before| before.episodes.clone()),
            words: before.as_ref().map_or_else(Vec::new, |before| before.words.clone()),
            shown: Vec::new(),
        };
        if let Some(before) = before {
            let worse = here.len() > before.refusals;
            let outcome =
                if worse { crate::UseOutcome::Worse } else { crate::UseOutcome::NotHelped };
            before
                .shown
                .into_iter()
                .for_each(|id| unrecorded.add(MemoryChange::Used(id, outcome, now)));
        }
        for finding in here {
            let episode = episode_of(attempt, finding, origin.session.as_deref(), now);
            let lessons = lessons(memory, &LessonQuery::from(&episode), now, &unrecorded.pending)
                .unwrap_or_default();
            open.shown.extend(lessons.iter().map(|lesson| lesson.id.clone()));
            all.extend(lessons);
            if !open.episodes.contains(&episode.id) {
                open.episodes.push(episode.id.clone());
                open.words.extend(words_of(attempt, finding));
            }
            unrecorded.add(MemoryChange::Failed(Box::new(episode)));
        }
        opened.push(open);
    }
    // Unique, with those of the first finding first.
    let mut ids = Vec::new();
    all.retain(|lesson| {
        let new = !ids.contains(&lesson.id);
        ids.push(lesson.id.clone());
        new
    });
    all.truncate(crate::retrieve::MAX_LESSONS);
    // Only a lesson that was shown can help.
    for open in &mut opened {
        open.shown.retain(|id| all.iter().any(|lesson| lesson.id == *id));
        open.shown.sort();
        open.shown.dedup();
    }
    unrecorded.open.extend(opened);
    all
}
