//! What is learned from the answers of [`super::apply`]: failures, what fixed them, and whether a lesson helped.
//!
//! A refusal changes nothing in the repository, so what it teaches waits in a file of edt's own, per worktree; the next edit that lands,
//! or the next `edt memory` call, records it. Both are read and written under the worktree's lock. Nothing here changes an answer but
//! for its lessons: what cannot be remembered is forgotten.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::request::Request;
use crate::base::{Code, Finding, Findings, Outcome, RepoPath, Result, Status, Verdict};
use crate::edit::hunk::Side;
use crate::edit::{Edit, LineRange, Mode, Op};
use crate::git::Oid;
use crate::io::{clock, whole};
use crate::lang;
use crate::memory::{Change, Episode, Fix, Lesson, Memory, Query, Tried, lessons, scrub};
use crate::session::{Session, World, begin};

/// The file below the worktree's state folder.
const FILE: &str = "remembered";
/// A larger file is not one that edt wrote.
const MOST_BYTES: u64 = 8 << 20;
/// Most failures that wait for what fixes them, and most edits that wait for whether they stay; the oldest are forgotten first.
const MOST_OPEN: usize = 200;
/// Most changes that wait to be recorded; the oldest are forgotten first.
const MOST_PENDING: usize = 2000;

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

/// Learns from `answer`, the answer to `request`; a refusal gets the lessons of failures like it.
///
/// # Errors
/// The findings of `answer`.
pub(super) fn keep(world: &mut World, request: &Request, answer: Result<Outcome>) -> Result<Outcome> {
    let before = Waiting::read(world);
    match answer {
        Ok(outcome) => {
            if before != Waiting::default() && outcome.status == Status::Applied {
                let mut after = before.clone();
                after.landed(request, &outcome);
                record(world, &mut after);
                after.write(world, &before);
            }
            Ok(outcome)
        }
        Err(found) if found.any(is_memorable) && is_wanted(world) => {
            let Some(session) = session_name(world) else { return Err(found) };
            let mut after = before.clone();
            let told = after.refused(world, &session, request, &found);
            after.write(world, &before);
            Err(found.teaching(told.into_iter().map(|lesson| lesson.text).collect()))
        }
        Err(found) => Err(found),
    }
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

fn record(world: &mut World, waiting: &mut Waiting) {
    // What cannot be recorded now waits for the next edit.
    let _ = waiting.recorded(world);
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
    fn landed(&mut self, request: &Request, outcome: &Outcome) {
        let now = clock::wall().0;
        let (Some(session), Some(commit)) = (&outcome.session, &outcome.commit) else { return };
        let mut told = Vec::new();
        for file in &outcome.files {
            let is_its = |open: &mut Open| {
                open.session == session.name && (open.path == file.path || file.from.as_ref() == Some(&open.path))
            };
            for open in self.open.extract_if(.., is_its) {
                let fix = fix_of(request, outcome, &file.path, now);
                self.pending.extend(open.episodes.iter().map(|id| Change::Fixed(id.clone(), fix.clone())));
                told.extend(open.told);
            }
        }
        told.sort();
        told.dedup();
        self.pending.extend(told.iter().map(|id| Change::Used(id.clone(), crate::memory::Outcome::Helped, now)));
        if !told.is_empty() {
            self.landed.push(Landed { commit: commit.clone(), told });
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

/// Whether a failure is one that a later call can learn from: it is about a file, and it was for the agent to do better.
fn is_memorable(finding: &Finding) -> bool {
    let learned = finding.code.status() == Status::Refused && finding.code != Code::ProtectedPath;
    finding.path.is_some() && (learned || finding.code == Code::HashMismatch)
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

/// What failed, as an episode.
fn episode_of(request: &Request, finding: &Finding, session: &str, now: i64) -> Episode {
    // The limit stands for the failure that reached it.
    let first = finding.evidence.get("failures").and_then(|failures| failures.get(0)?.get("code")?.as_str());
    let code = first.unwrap_or(finding.code.name());
    let path = finding.path.clone().unwrap_or_default();
    let numbered =
        finding.evidence.get("edit").and_then(serde_json::Value::as_u64).and_then(|n| usize::try_from(n).ok());
    let numbered = numbered.and_then(|number| request.edits.get(number.checked_sub(1)?));
    let edit = numbered.or_else(|| request.edits.iter().find(|edit| edit.path.to_string() == path));
    let language = RepoPath::parse(path.as_bytes()).ok().and_then(|path| lang::of(&path, b"")).map(|one| one.name);
    let tried = Tried {
        mode: edit.and_then(mode_of).map(str::to_owned),
        format: Some(format_of(request)),
        cause: cause(finding).map(str::to_owned),
        fragment: edit.map(|edit| fragment(finding.code, edit)).unwrap_or_default(),
        path: Some(path),
        session: Some(session.to_owned()),
        agent: request.agent.clone(),
    };
    Episode::new(code, language, tried, now)
}

/// What of `request` made `path` what it is now.
fn fix_of(request: &Request, outcome: &Outcome, path: &str, now: i64) -> Fix {
    let is_its =
        |edit: &&Edit| edit.path.to_string() == path || matches!(&edit.op, Op::Rename { to } if to.to_string() == path);
    let edit = request.edits.iter().find(is_its);
    let (old, new) = edit.map(texts).unwrap_or_default();
    let allowed = outcome.guards.iter().filter(|report| report.verdict == Verdict::Allowed && report.path == path);
    let text = |bytes: Option<Vec<u8>>| {
        bytes.map(|bytes| scrub::scrub(&String::from_utf8_lossy(&bytes), crate::memory::episode::LONGEST))
    };
    Fix {
        mode: edit.and_then(mode_of).map(str::to_owned),
        format: Some(format_of(request)),
        allow: allowed.map(|report| report.guard.to_owned()).collect(),
        old_text: text(old),
        content: text(new),
        commit: outcome.commit.clone(),
        landed: now,
    }
}

fn format_of(request: &Request) -> String {
    if request.patch.is_some() { "patch" } else { "edit" }.to_owned()
}

/// What was wrong, in a word.
fn cause(finding: &Finding) -> Option<&'static str> {
    let evidence = &finding.evidence;
    let is = |key: &str| evidence.get(key).is_some_and(|value| *value == serde_json::Value::Bool(true));
    if is("already_applied") {
        return Some("already_applied");
    }
    if let Some(near) = evidence.get("nearest") {
        let white = near.get("white_space_only").is_some_and(|value| *value == serde_json::Value::Bool(true));
        return Some(if white {
            "white_space"
        } else if near.is_null() {
            "nothing_near"
        } else {
            "other_text"
        });
    }
    evidence.get("bracket").map(|_| "bracket")
}

/// The text that a failure with `code` is about.
fn fragment(code: Code, edit: &Edit) -> String {
    let (old, new) = texts(edit);
    let about_old = matches!(
        code,
        Code::OldTextNotFound
            | Code::OldTextAmbiguous
            | Code::InvalidPatch
            | Code::InvalidPatchLimitExceeded
            | Code::TextMismatch
    );
    let bytes = if about_old { old.or(new) } else { new.or(old) }.unwrap_or_default();
    String::from_utf8_lossy(&bytes[..bytes.len().min(64 * 1024)]).into_owned()
}

/// The text that an edit replaces, and the one that it brings.
fn texts(edit: &Edit) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
    match &edit.op {
        Op::Create { content, .. } | Op::Append { content } | Op::Overwrite { content } | Op::Put { content } => {
            (None, Some(content.clone()))
        }
        Op::Edit { old, new, .. } => (Some(old.clone()), Some(new.clone())),
        Op::Lines { content, expected, .. } => (expected.clone(), Some(content.clone())),
        Op::Patch { hunks, .. } => {
            let side = |other: Side| {
                let lines = hunks.iter().flat_map(|hunk| &hunk.lines).filter(|line| line.side != other);
                lines.flat_map(|line| line.text.iter().copied().chain([b'\n'])).collect::<Vec<u8>>()
            };
            (Some(side(Side::New)), Some(side(Side::Old)))
        }
        Op::Chmod { .. } | Op::Delete { .. } | Op::Rename { .. } => (None, None),
    }
}

/// The mode that a caller would name; a patch names none.
fn mode_of(edit: &Edit) -> Option<&'static str> {
    let mode = match &edit.op {
        Op::Create { .. } => Mode::Create,
        Op::Edit { .. } => Mode::Edit,
        Op::Append { .. } => Mode::Append,
        Op::Overwrite { .. } => Mode::Overwrite,
        Op::Lines { range: LineRange::Before(_), .. } => Mode::Insert,
        Op::Lines { content, .. } if content.is_empty() => Mode::DeleteLines,
        Op::Lines { .. } => Mode::ReplaceLines,
        Op::Delete { .. } => Mode::Delete,
        Op::Rename { .. } => Mode::Rename,
        Op::Put { .. } | Op::Patch { .. } | Op::Chmod { .. } => return None,
    };
    Some(mode.name())
}
