//! What is learned from the answers of [`super::apply`]: failures, what fixed them, and whether a lesson helped.
//!
//! What is learned waits in a file of edt's own ([`crate::memory::waiting`]) and counts at once; a batch of it is recorded with an edit that lands,
//! or by the next command that looks at the memory. Nothing here changes an answer but for its lessons: what cannot be remembered is
//! forgotten.

use super::request::Request;
use super::tried::{episode_of, fix_of, is_about, is_memorable, words_of};
use crate::base::{Finding, Findings, Outcome, Result, Status, Verdict};
use crate::git::Oid;
use crate::io::clock;
use crate::memory::waiting::{BATCH, Landed, Open, Waiting};
use crate::memory::{Change, Lesson, Memory, Query, lessons};
use crate::session::{Session, World};

/// An edit that landed.
#[derive(Debug)]
pub struct Landing<'a> {
    /// The session's name.
    pub session: &'a str,
    /// The commit, as a hex object id.
    pub commit: &'a str,
    /// The paths, each with the one it was renamed from.
    pub paths: Vec<(&'a str, Option<&'a str>)>,
    /// The guards that a request overrode, each with the path.
    pub overrode: Vec<(&'a str, &'a str)>,
}

/// Learns from `answer`, the answer to `request`; a refusal gets the lessons of failures like it.
///
/// # Errors
/// The findings of `answer`.
pub(super) fn keep(
    world: &mut World,
    request: &Request,
    answer: Result<Outcome>,
) -> Result<Outcome> {
    match &answer {
        Ok(Outcome {
            status: Status::Applied,
            session: Some(session),
            commit: Some(commit),
            files,
            guards,
            ..
        }) => {
            let overrode = guards.iter().filter(|report| report.verdict == Verdict::Allowed);
            let landing = Landing {
                session: &session.name,
                commit,
                paths: files
                    .iter()
                    .map(|file| (file.path.as_str(), file.from.as_deref()))
                    .collect(),
                overrode: overrode.map(|report| (report.guard, report.path.as_str())).collect(),
            };
            landed(world, Some(request), &landing);
        }
        Ok(_) => {}
        Err(_) => return answer.map_err(|found| refused(world, request, found)),
    }
    answer
}

/// Learns that `request` was refused with `found`, which gets the lessons of failures like it.
pub fn refused(world: &mut World, request: &Request, found: Findings) -> Findings {
    if !found.any(is_memorable) || !is_wanted(world) {
        return found;
    }
    let warm = world.warm();
    let memory = Memory::of(&world.repo, warm.as_deref().map(|warm| &warm.memory));
    let Ok(locked) = memory.lock() else { return found };
    let before = locked.waiting();
    let (mut after, place) = (before.clone(), Place::of(world));
    let told = refused_in(&mut after, &memory, &place, request, &found);
    locked.wait(after, &before);
    found.teaching(told.into_iter().map(|lesson| lesson.text).collect())
}

/// Learns that an edit landed, and which request it was, if that is known. What waits is recorded once it is a batch.
pub fn landed(world: &mut World, request: Option<&Request>, landing: &Landing<'_>) {
    let warm = world.warm();
    let memory = Memory::of(&world.repo, warm.as_deref().map(|warm| &warm.memory));
    // The ordinary edit, with nothing to learn from, costs one look.
    let waiting = memory.waiting();
    if waiting.open.is_empty() && waiting.pending.len() < BATCH {
        return;
    }
    let Ok(locked) = memory.lock() else { return };
    let before = locked.waiting();
    let mut after = before.clone();
    landed_in(&mut after, &Place::of(world), request, landing);
    let is_batch = after.pending.len() >= BATCH;
    locked.wait(after, &before);
    if is_batch {
        // What cannot be recorded now waits for the next edit.
        let _ = locked.settle(&mut world.journal);
    }
}

/// Records what waits; the commit of the memory, if anything did.
///
/// # Errors
/// As [`crate::memory::store::Locked::record`]: it still waits then.
pub fn settle(world: &mut World) -> Result<Option<Oid>> {
    let memory = Memory::of(&world.repo, None);
    if memory.waiting().pending.is_empty() {
        return Ok(None);
    }
    memory.lock()?.settle(&mut world.journal)
}

/// Edits of the session whose tip was at `from` were taken back to `to`: what they fixed is not fixed, and the lessons that they came
/// after made things worse.
pub fn undone(world: &mut World, from: Oid, to: Oid) {
    let memory = Memory::of(&world.repo, None);
    if memory.waiting().landed.is_empty() {
        return;
    }
    let Ok(locked) = memory.lock() else { return };
    let before = locked.waiting();
    let mut after = before.clone();
    let taken = |landed: &mut Landed| is_between(world, &landed.commit, from, to);
    for landed in after.landed.extract_if(.., taken).collect::<Vec<Landed>>() {
        landed.told.into_iter().for_each(|id| after.add(Change::Worsened(id)));
        landed
            .fixed
            .into_iter()
            .for_each(|id| after.add(Change::Unfixed(id, landed.commit.clone())));
    }
    locked.wait(after, &before);
}

fn is_between(world: &World, commit: &str, from: Oid, to: Oid) -> bool {
    let Ok(commit) = Oid::from_hex(commit.as_bytes()) else { return false };
    let before = |tip| world.repo.is_ancestor(commit, tip).unwrap_or(false);
    before(from) && !before(to)
}

/// Where a request was made.
struct Place {
    /// The session; `None` if there was none.
    session: Option<String>,
    /// The worktree, by its state folder.
    worktree: String,
}

impl Place {
    fn of(world: &World) -> Place {
        let session =
            world.repo.head().and_then(|head| Session::current(&world.repo, &head)).ok().flatten();
        let worktree = world.repo.state_path().display().to_string();
        Place { session: session.map(|session| session.name), worktree }
    }

    /// Whether a failure was of `session` in this worktree, or of no session yet.
    fn is_of(&self, open: &Open, session: Option<&str>) -> bool {
        match &open.session {
            Some(of) => Some(of.as_str()) == session,
            None => open.worktree == self.worktree,
        }
    }
}

/// An edit landed: what was open for its files is fixed by it, and the lessons told there helped.
fn landed_in(
    waiting: &mut Waiting,
    place: &Place,
    request: Option<&Request>,
    landing: &Landing<'_>,
) {
    let now = clock::wall().0;
    let (mut told, mut fixed) = (Vec::new(), Vec::new());
    for (path, from) in &landing.paths {
        let fix = fix_of(request, landing, path, now);
        let is_its = |open: &mut Open| {
            place.is_of(open, Some(landing.session))
                && (open.path == *path || Some(open.path.as_str()) == *from)
                && fix.as_ref().is_none_or(|fix| is_about(fix, &open.words))
        };
        for open in waiting.open.extract_if(.., is_its).collect::<Vec<Open>>() {
            // A file that went, or only changed its name, repairs nothing.
            let Some(fix) = &fix else { continue };
            for id in open.episodes {
                waiting.add(Change::Fixed(id.clone(), Box::new(fix.clone())));
                fixed.push(id);
            }
            told.extend(open.told);
        }
    }
    told.sort();
    told.dedup();
    for id in &told {
        waiting.add(Change::Used(id.clone(), crate::memory::Outcome::Helped, now));
    }
    if !told.is_empty() || !fixed.is_empty() {
        waiting.landed.push(Landed { commit: landing.commit.to_owned(), told, fixed });
    }
}

/// A request was refused: what was told before did not help; what is known of failures like these is told now.
fn refused_in(
    waiting: &mut Waiting,
    memory: &Memory<'_>,
    place: &Place,
    request: &Request,
    found: &Findings,
) -> Vec<Lesson> {
    let now = clock::wall().0;
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
        let is_its =
            |open: &mut Open| place.is_of(open, place.session.as_deref()) && open.path == path;
        let before: Option<Open> = waiting.open.extract_if(.., is_its).next();
        let mut open = Open {
            session: place.session.clone(),
            worktree: place.worktree.clone(),
            path: path.to_owned(),
            refusals: here.len(),
            episodes: before.as_ref().map_or_else(Vec::new, |before| before.episodes.clone()),
            words: before.as_ref().map_or_else(Vec::new, |before| before.words.clone()),
            told: Vec::new(),
        };
        if let Some(before) = before {
            let worse = here.len() > before.refusals;
            let outcome = if worse {
                crate::memory::Outcome::Worse
            } else {
                crate::memory::Outcome::NotHelped
            };
            before.told.into_iter().for_each(|id| waiting.add(Change::Used(id, outcome, now)));
        }
        for finding in here {
            let episode = episode_of(request, finding, place.session.as_deref(), now);
            let lessons =
                lessons(memory, &Query::from(&episode), now, &waiting.pending).unwrap_or_default();
            open.told.extend(lessons.iter().map(|lesson| lesson.id.clone()));
            all.extend(lessons);
            if !open.episodes.contains(&episode.id) {
                open.episodes.push(episode.id.clone());
                open.words.extend(words_of(request, finding));
            }
            waiting.add(Change::Failed(Box::new(episode)));
        }
        opened.push(open);
    }
    // Each once, those of the first finding first.
    let mut ids = Vec::new();
    all.retain(|lesson| {
        let new = !ids.contains(&lesson.id);
        ids.push(lesson.id.clone());
        new
    });
    all.truncate(crate::memory::retrieve::MOST);
    // Only what was told can help.
    for open in &mut opened {
        open.told.retain(|id| all.iter().any(|lesson| lesson.id == *id));
        open.told.sort();
        open.told.dedup();
    }
    waiting.open.extend(opened);
    all
}

/// Whether anything is to be remembered here.
fn is_wanted(world: &World) -> bool {
    let policy = || {
        let head = world.repo.head()?;
        let session = Session::current(&world.repo, &head)?;
        let base = session.map_or_else(
            || head.commit.unwrap_or_else(|| world.repo.empty_tree()),
            |session| session.base,
        );
        world.policy(world.repo.tree_of(base)?)
    };
    policy().is_ok_and(|policy| policy.memory)
}
