//! What is learned from the answers of [`super::apply`]: failures, what fixed them, and whether a lesson helped.
//!
//! A refusal changes nothing in the repository, so what it teaches waits in a file of edt's own, per worktree; the next edit that lands,
//! or the next `edt memory` call, records it. Both are read and written under the worktree's lock. Nothing here changes an answer but
//! for its lessons: what cannot be remembered is forgotten.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::request::Request;
use super::tried::{self, episode_of, fix_of, is_memorable};
use crate::base::{Finding, Findings, Outcome, Result, Status, Verdict};
use crate::git::Oid;
use crate::io::{clock, whole};
use crate::memory::{Change, Episode, Fix, Lesson, Memory, Query, lessons};
use crate::session::{Session, World, begin};

/// The file below the worktree's state folder.
const FILE: &str = "remembered";
/// A larger file is not one that edt wrote.
const MOST_BYTES: u64 = 8 << 20;
/// Most failures that wait for what fixes them, and most edits that wait for whether they stay; the oldest are forgotten first.
const MOST_OPEN: usize = 200;
/// Most changes that wait to be recorded; the oldest are forgotten first.
const MOST_PENDING: usize = 2000;

/// What failed, as an episode of the memory.
#[must_use]
pub fn episode(request: &Request, finding: &Finding, session: &str, now: i64) -> Episode {
    episode_of(request, finding, session, now)
}

/// What made `path` what it is now, for the memory.
#[must_use]
pub fn fix(request: Option<&Request>, landing: &Landing<'_>, path: &str, now: i64) -> Fix {
    fix_of(request, landing, path, now)
}

/// The language of the file `path`, else what its name ends in.
#[must_use]
pub fn language_of(path: &str) -> Option<String> {
    tried::language_of(path)
}

/// What waits.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Waiting {
    /// Changes of the memory that are not recorded yet.
    pending: Vec<Change>,
    /// Files whose latest edit was refused.
    open: Vec<Open>,
    /// Edits that landed after a lesson.
    landed: Vec<Landed>,
}

/// A file whose latest edit was refused.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Open {
    session: String,
    path: String,
    /// How many refusals there were.
    refusals: usize,
    /// What was refused.
    episodes: Vec<String>,
    /// The episodes whose lessons were told.
    told: Vec<String>,
}

/// An edit that landed after lessons were told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Landed {
    commit: String,
    told: Vec<String>,
}

impl Waiting {
    fn read(world: &World) -> Waiting {
        let bytes = whole::small(&file(world), MOST_BYTES).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    fn write(mut self, world: &World, before: &Waiting) {
        if self == *before {
            return;
        }
        let surplus = self.pending.len().saturating_sub(MOST_PENDING);
        self.pending.drain(..surplus);
        let surplus = self.open.len().saturating_sub(MOST_OPEN);
        self.open.drain(..surplus);
        let surplus = self.landed.len().saturating_sub(MOST_OPEN);
        self.landed.drain(..surplus);
        let file = file(world);
        let _ = if self == Waiting::default() {
            whole::remove(&file)
        } else {
            whole::put(&file, &serde_json::to_vec(&self).unwrap_or_default(), 0o600)
        };
    }
}

fn file(world: &World) -> PathBuf {
    world.repo.state_path().join(FILE)
}

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
pub(super) fn keep(world: &mut World, request: &Request, answer: Result<Outcome>) -> Result<Outcome> {
    match &answer {
        Ok(Outcome {
            status: Status::Applied, session: Some(session), commit: Some(commit), files, guards, ..
        }) => {
            let overrode = guards.iter().filter(|report| report.verdict == Verdict::Allowed);
            let landing = Landing {
                session: &session.name,
                commit,
                paths: files.iter().map(|file| (file.path.as_str(), file.from.as_deref())).collect(),
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
    let Some(session) = session_name(world) else { return found };
    let before = Waiting::read(world);
    let mut after = before.clone();
    let told = after.refused(world, &session, request, &found);
    after.write(world, &before);
    found.teaching(told.into_iter().map(|lesson| lesson.text).collect())
}

/// Learns that an edit landed, and which request it was, if that is known; records what waits.
pub fn landed(world: &mut World, request: Option<&Request>, landing: &Landing<'_>) {
    let before = Waiting::read(world);
    if before == Waiting::default() {
        return;
    }
    let mut after = before.clone();
    after.landed(request, landing);
    // What cannot be recorded now waits for the next edit.
    let _ = after.recorded(world);
    after.write(world, &before);
}

/// Records what waits in this worktree; the commit of the memory, if anything did.
///
/// # Errors
/// As [`Memory::record`]: it still waits then.
pub fn settle(world: &mut World) -> Result<Option<Oid>> {
    let before = Waiting::read(world);
    let mut after = before.clone();
    let commit = after.recorded(world)?;
    after.write(world, &before);
    Ok(commit)
}

/// Edits of the session whose tip was at `from` were taken back to `to`: lessons that they came after made things worse.
pub fn undone(world: &mut World, from: Oid, to: Oid) {
    let before = Waiting::read(world);
    let mut after = before.clone();
    let now = clock::wall().0;
    let taken: Vec<Landed> =
        after.landed.extract_if(.., |landed| is_between(world, &landed.commit, from, to)).collect();
    let told = taken.into_iter().flat_map(|landed| landed.told);
    after.pending.extend(told.map(|id| Change::Used(id, crate::memory::Outcome::Worse, now)));
    after.write(world, &before);
}

fn is_between(world: &World, commit: &str, from: Oid, to: Oid) -> bool {
    let Ok(commit) = Oid::from_hex(commit.as_bytes()) else { return false };
    let before = |tip| world.repo.is_ancestor(commit, tip).unwrap_or(false);
    before(from) && !before(to)
}

impl Waiting {
    /// Records what waits.
    fn recorded(&mut self, world: &mut World) -> Result<Option<Oid>> {
        if self.pending.is_empty() {
            return Ok(None);
        }
        let warm = world.warm();
        let memory = Memory::of(&world.repo, warm.as_deref().map(|warm| &warm.memory));
        let commit = memory.record(&mut world.journal, &subject(&self.pending), &self.pending, None)?;
        self.pending.clear();
        Ok(commit)
    }

    /// An edit landed: what was open for its files is fixed by it, and the lessons told there helped.
    fn landed(&mut self, request: Option<&Request>, landing: &Landing<'_>) {
        let now = clock::wall().0;
        let mut told = Vec::new();
        for (path, from) in &landing.paths {
            let is_its = |open: &mut Open| {
                open.session == landing.session && (open.path == *path || Some(open.path.as_str()) == *from)
            };
            for open in self.open.extract_if(.., is_its) {
                let fix = fix_of(request, landing, path, now);
                self.pending.extend(open.episodes.iter().map(|id| Change::Fixed(id.clone(), fix.clone())));
                told.extend(open.told);
            }
        }
        told.sort();
        told.dedup();
        self.pending.extend(told.iter().map(|id| Change::Used(id.clone(), crate::memory::Outcome::Helped, now)));
        if !told.is_empty() {
            self.landed.push(Landed { commit: landing.commit.to_owned(), told });
        }
    }

    /// A request was refused: what was told before did not help; what is known of failures like these is told now.
    fn refused(&mut self, world: &World, session: &str, request: &Request, found: &Findings) -> Vec<Lesson> {
        let now = clock::wall().0;
        let warm = world.warm();
        let memory = Memory::of(&world.repo, warm.as_deref().map(|warm| &warm.memory));
        let memorable: Vec<&Finding> = found.as_slice().iter().filter(|finding| is_memorable(finding)).collect();
        let mut paths: Vec<&str> = memorable.iter().filter_map(|finding| finding.path.as_deref()).collect();
        paths.sort_unstable();
        paths.dedup();
        let mut all: Vec<Lesson> = Vec::new();
        for path in paths {
            let here: Vec<&&Finding> =
                memorable.iter().filter(|finding| finding.path.as_deref() == Some(path)).collect();
            let is_its = |open: &mut Open| open.session == session && open.path == path;
            let before: Option<Open> = self.open.extract_if(.., is_its).next();
            let mut open = Open {
                session: session.to_owned(),
                path: path.to_owned(),
                refusals: here.len(),
                episodes: before.as_ref().map_or_else(Vec::new, |before| before.episodes.clone()),
                told: Vec::new(),
            };
            if let Some(before) = before {
                let worse = here.len() > before.refusals;
                let outcome = if worse { crate::memory::Outcome::Worse } else { crate::memory::Outcome::NotHelped };
                self.pending.extend(before.told.into_iter().map(|id| Change::Used(id, outcome, now)));
            }
            for finding in here {
                let episode = episode_of(request, finding, session, now);
                let lessons = lessons(&memory, &Query::from(&episode), now, &self.pending).unwrap_or_default();
                open.told.extend(lessons.iter().map(|lesson| lesson.id.clone()));
                all.extend(lessons);
                if !open.episodes.contains(&episode.id) {
                    open.episodes.push(episode.id.clone());
                }
                self.pending.push(Change::Failed(Box::new(episode)));
            }
            open.told.sort();
            open.told.dedup();
            self.open.push(open);
        }
        // The first of each finding before the second of any: a stable sort keeps their order.
        let mut ids = Vec::new();
        all.retain(|lesson| {
            !ids.contains(&lesson.id) && {
                ids.push(lesson.id.clone());
                true
            }
        });
        all.truncate(crate::memory::retrieve::MOST);
        // Only what was told can help.
        let told: Vec<&String> = all.iter().map(|lesson| &lesson.id).collect();
        self.open
            .iter_mut()
            .filter(|open| open.session == session)
            .for_each(|open| open.told.retain(|id| told.contains(&id)));
        all
    }
}

/// Whether anything is to be remembered here.
fn is_wanted(world: &World) -> bool {
    let policy = || {
        let head = world.repo.head()?;
        let session = Session::current(&world.repo, &head)?;
        let base =
            session.map_or_else(|| head.commit.unwrap_or_else(|| world.repo.empty_tree()), |session| session.base);
        world.policy(world.repo.tree_of(base)?)
    };
    policy().is_ok_and(|policy| policy.memory)
}

/// The session there is, else the one that would begin.
fn session_name(world: &World) -> Option<String> {
    let head = world.repo.head().ok()?;
    let session = match Session::current(&world.repo, &head).ok()? {
        Some(session) => session,
        None => begin::imagined(&world.repo, &head).ok()?,
    };
    Some(session.name)
}

/// The subject of the commit that records `changes`.
fn subject(changes: &[Change]) -> String {
    let count = |of: fn(&Change) -> bool| changes.iter().filter(|change| of(change)).count();
    let failed = count(|change| matches!(change, Change::Failed(_)));
    let fixed = count(|change| matches!(change, Change::Fixed(..)));
    let used = count(|change| matches!(change, Change::Used(..)));
    format!("remember: {failed} failed, {fixed} fixed, {used} lessons used")
}
