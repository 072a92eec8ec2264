//! `edt memory`.

mod args;
mod say;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use super::apply::bytes_of;
use super::context::Context;
use super::not_nothing;
use super::render::{GOOD, paint};
use crate::base::{Code, Finding, Result, Status};
use crate::git::{Oid, Repo};
use crate::io::{clock, whole};
use crate::memory::change::Change;
use crate::memory::episode::LONGEST;
use crate::memory::history::{self, Snapshot};
use crate::memory::store::not_found;
use crate::memory::words::keywords;
use crate::memory::{Episode, Lesson, Memory, Query, Tried, exchange, lessons, score, scrub};
use crate::session::World;
use crate::txn::remember;

use args::{
    AddArgs, DeprecateArgs, EditArgs, ExportArgs, IdArgs, ImportArgs, ListArgs, RestoreArgs,
    SearchArgs, SnapshotArgs, What,
};
use say::{counted, done, listed, shown, snapped, told};

/// The memory of failures and of what fixed them: what refusals teach. Kept at refs/edt/memory, as JSON files.
///
/// A refusal is remembered with the edit that landed afterwards; later refusals like it are answered with that, as `lessons`. A lesson
/// that does not help loses its place.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  edt memory list --code OLD_TEXT_NOT_FOUND\n  edt memory search 'return total' --language c\n  edt memory snapshot before-the-sprint\n  git fetch origin refs/edt/memory && edt memory import FETCH_HEAD"
)]
pub(super) struct Args {
    #[command(subcommand)]
    what: What,
}

/// The answer of `edt memory`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Answer {
    /// Always `edt.memory/1`.
    schema: &'static str,
    /// The newest commit of refs/edt/memory, as a hex object id; `null` if nothing was ever remembered.
    commit: Option<String>,
    /// Whether this call made it.
    changed: bool,
    /// How many episodes there are, or answer the question; `episodes` may show fewer.
    total: u64,
    /// The episodes that were asked for, or changed.
    episodes: Vec<Episode>,
    /// `search`: what would be told.
    lessons: Vec<Lesson>,
    /// `snapshot`: those there are.
    snapshots: Vec<Snapshot>,
    /// `stats`: the counts.
    stats: Option<Stats>,
    /// Files of the memory that this edt cannot read: they are left as they are.
    unreadable: Vec<String>,
}

/// What is remembered, counted.
#[derive(Debug, Default, Serialize, JsonSchema)]
struct Stats {
    /// Episodes.
    episodes: u64,
    /// Those with something to tell.
    teach: u64,
    /// Those for which nothing landed yet.
    open: u64,
    /// Those that a person wants told no more.
    deprecated: u64,
    /// Those that lost their place: below 0.3 after three uses.
    without_place: u64,
    /// Failures seen.
    seen: u64,
    /// Lessons told of which the outcome is known.
    uses: u64,
    /// Those that helped.
    helped: u64,
    /// Those that made things worse.
    worse: u64,
    /// Failures seen, by code.
    by_code: BTreeMap<String, u64>,
    /// Failures seen, by language.
    by_language: BTreeMap<String, u64>,
}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        match &self.what {
            What::List(args) => args.run(context),
            What::Show(args) => args.show(context),
            What::Search(args) => args.run(context),
            What::Add(args) => args.run(context),
            What::Edit(args) => args.run(context),
            What::Deprecate(args) => args.run(context),
            What::Delete(args) => args.delete(context),
            What::Snapshot(args) => args.run(context),
            What::Restore(args) => args.run(context),
            What::Export(args) => args.run(context),
            What::Import(args) => args.run(context),
            What::Stats => stats(context),
        }
    }
}

/// The repository, to read its memory: what waits in this worktree is recorded first, if anything can be written.
pub(super) fn opened(context: &Context) -> Result<Repo> {
    match context.world() {
        Ok(mut world) => {
            remember::settle(&mut world)?;
            Ok(world.repo)
        }
        Err(found) if found.any(|finding| finding.code == Code::GitDirReadOnly) => {
            Ok(context.repo()?.0)
        }
        Err(found) => Err(found),
    }
}

fn answer(tip: Option<Oid>) -> Answer {
    Answer {
        schema: "edt.memory/1",
        commit: tip.map(|tip| tip.to_string()),
        changed: false,
        total: 0,
        episodes: Vec::new(),
        lessons: Vec::new(),
        snapshots: Vec::new(),
        stats: None,
        unreadable: Vec::new(),
    }
}

/// Every episode of the newest commit.
fn everything(memory: &Memory<'_>) -> Result<(Option<Oid>, Vec<Episode>, Vec<String>)> {
    let tip = memory.tip()?;
    let (all, unreadable) = tip.map_or_else(|| Ok(Default::default()), |tip| memory.all(tip))?;
    Ok((tip, all, unreadable))
}

impl ListArgs {
    fn run(&self, context: &Context) -> Result<Status> {
        not_nothing("--limit", self.limit)?;
        let repo = opened(context)?;
        let (tip, mut all, unreadable) = everything(&Memory::of(&repo, None))?;
        let is = |wanted: &Option<String>, has: Option<&str>| {
            wanted.as_deref().is_none_or(|wanted| has == Some(wanted))
        };
        all.retain(|one| {
            is(&self.code, Some(&one.code)) && is(&self.language, one.language.as_deref())
        });
        all.sort_by(|a, b| b.last_seen.cmp(&a.last_seen).then_with(|| a.id.cmp(&b.id)));
        let total = all.len() as u64;
        all.truncate(usize::try_from(self.limit).unwrap_or(usize::MAX));
        Ok(context.answer(&Answer { total, episodes: all, unreadable, ..answer(tip) }, listed))
    }
}

impl IdArgs {
    fn show(&self, context: &Context) -> Result<Status> {
        let repo = opened(context)?;
        let memory = Memory::of(&repo, None);
        let tip = memory.tip()?;
        let episode = found(&memory, &self.id)?;
        Ok(context.answer(&Answer { total: 1, episodes: vec![episode], ..answer(tip) }, shown))
    }

    fn delete(&self, context: &Context) -> Result<Status> {
        changed(context, &format!("delete: {}", self.id), |memory| {
            Ok(vec![Change::Deleted(found(memory, &self.id)?.id)])
        })
    }
}

/// The episode of that id.
fn found(memory: &Memory<'_>, id: &str) -> Result<Episode> {
    let episode = match memory.tip()?.filter(|_| crate::memory::episode::is_id(id)) {
        Some(tip) => memory.get(tip, id)?,
        None => None,
    };
    episode.ok_or_else(|| not_found(id).into())
}

impl SearchArgs {
    fn run(&self, context: &Context) -> Result<Status> {
        let (repo, _) = context.repo()?;
        let memory = Memory::of(&repo, None);
        let mode = self.mode.as_ref().map(|mode| format!("mode:{mode}"));
        // What was not said is no difference.
        let kind = [self.code.as_ref(), self.language.as_ref(), mode.as_ref()];
        let keywords = keywords(
            kind.into_iter().flatten().map(String::as_str),
            &scrub::scrub(&self.text, LONGEST),
        );
        let (code, language) = (self.code.clone().unwrap_or_default(), self.language.clone());
        let lessons = lessons(
            &memory,
            &Query { code, language, keywords },
            clock::wall().0,
            &memory.waiting().pending,
        )?;
        let total = lessons.len() as u64;
        Ok(context.answer(&Answer { total, lessons, ..answer(memory.tip()?) }, told))
    }
}

/// Makes changes to one episode, and shows it as it is then; one that goes, as it was.
fn changed(
    context: &Context,
    subject: &str,
    make: impl FnOnce(&Memory<'_>) -> Result<Vec<Change>>,
) -> Result<Status> {
    let mut world = context.world()?;
    remember::settle(&mut world)?;
    let World { repo, journal, .. } = &mut world;
    let memory = Memory::of(repo, None);
    let locked = memory.lock()?;
    let changes = make(&memory)?;
    let id = changes.first().map(Change::id).unwrap_or_default();
    let before = memory.get_or_nothing(memory.tip()?, id)?;
    let commit = locked.record(journal, subject, &changes, None)?;
    let tip = memory.tip()?;
    let episodes: Vec<Episode> = memory.get_or_nothing(tip, id)?.or(before).into_iter().collect();
    let total = episodes.len() as u64;
    Ok(context.answer(&Answer { changed: commit.is_some(), total, episodes, ..answer(tip) }, done))
}

/// What a person wrote, if it says anything.
fn words(text: &str) -> Result<String> {
    if text.trim().is_empty() {
        let message = "A lesson needs words. Nothing was changed.";
        let hint = "Say what is to be done, such as 'Close every brace in the same edit.'";
        return Err(Finding::new(Code::BadRequest, message, hint).into());
    }
    Ok(text.trim().to_owned())
}

impl AddArgs {
    fn run(&self, context: &Context) -> Result<Status> {
        let lesson = Some(words(&self.lesson)?);
        let tried = Tried {
            mode: self.mode.clone(),
            format: Some("edit".to_owned()),
            fragment: self.like.clone(),
            ..Tried::default()
        };
        let new = Episode::new(&self.code, self.language.as_deref(), tried, clock::wall().0);
        let new = Episode { seen: 0, lesson, ..new };
        // What could not be read again is not written.
        let new = Episode::from_json(new.to_json().as_bytes())?;
        changed(context, &format!("add: {}", new.id), |_| Ok(vec![Change::Added(Box::new(new))]))
    }
}

impl EditArgs {
    fn run(&self, context: &Context) -> Result<Status> {
        let lesson = self.lesson.as_deref().map(words).transpose()?;
        if lesson.is_none() && !self.no_lesson && !self.revive {
            let message = "Nothing is to be changed of it. Nothing was changed.";
            return Err(Finding::new(
                Code::BadRequest,
                message,
                "Send --lesson TEXT, --no-lesson or --revive.",
            )
            .into());
        }
        changed(context, &format!("edit: {}", self.id), |memory| {
            let id = found(memory, &self.id)?.id;
            let revived = self.revive.then(|| Change::Deprecated(id.clone(), None));
            let worded = (lesson.is_some() || self.no_lesson).then_some(Change::Lesson(id, lesson));
            Ok(revived.into_iter().chain(worded).collect())
        })
    }
}

impl DeprecateArgs {
    fn run(&self, context: &Context) -> Result<Status> {
        changed(context, &format!("deprecate: {}", self.id), |memory| {
            Ok(vec![Change::Deprecated(found(memory, &self.id)?.id, Some(self.message.clone()))])
        })
    }
}

impl SnapshotArgs {
    fn run(&self, context: &Context) -> Result<Status> {
        let Some(name) = &self.name else {
            let repo = opened(context)?;
            let memory = Memory::of(&repo, None);
            let snapshots = history::snapshots(&memory)?;
            let total = snapshots.len() as u64;
            return Ok(
                context.answer(&Answer { total, snapshots, ..answer(memory.tip()?) }, snapped)
            );
        };
        let mut world = context.world()?;
        remember::settle(&mut world)?;
        let World { repo, journal, .. } = &mut world;
        let memory = Memory::of(repo, None);
        history::snapshot(&memory, journal, name)?;
        let snapshots: Vec<Snapshot> =
            history::snapshots(&memory)?.into_iter().filter(|one| one.name == *name).collect();
        Ok(context.answer(
            &Answer { changed: true, total: 1, snapshots, ..answer(memory.tip()?) },
            snapped,
        ))
    }
}

impl RestoreArgs {
    fn run(&self, context: &Context) -> Result<Status> {
        let mut world = context.world()?;
        remember::settle(&mut world)?;
        let World { repo, journal, .. } = &mut world;
        let memory = Memory::of(repo, None);
        history::restore(&memory, journal, &self.name)?;
        let (tip, all, unreadable) = everything(&memory)?;
        let total = all.len() as u64;
        Ok(context.answer(&Answer { changed: true, total, unreadable, ..answer(tip) }, done))
    }
}

impl ExportArgs {
    fn run(&self, context: &Context) -> Result<Status> {
        let repo = opened(context)?;
        let (tip, all, unreadable) = everything(&Memory::of(&repo, None))?;
        let text = exchange::lines(&all);
        if self.file == Path::new("-") {
            return Ok(context.text(&text));
        }
        let file = context.start.join(&self.file);
        if whole::size(&file).is_some() {
            let message = format!("{} is there already. Nothing was changed.", self.file.display());
            return Err(Finding::new(
                Code::FileExists,
                message,
                "Name a file that is not there yet, or `-`.",
            )
            .into());
        }
        whole::put_beside(&file, text.as_bytes(), 0o600)
            .map_err(|error| crate::io::failed("write", &file, &error))?;
        let total = all.len() as u64;
        Ok(context.answer(&Answer { total, unreadable, ..answer(tip) }, |answer| {
            format!(
                "{} {} episodes to {}\n",
                paint(GOOD, "exported"),
                answer.total,
                self.file.display()
            )
        }))
    }
}

impl ImportArgs {
    fn run(&self, context: &Context) -> Result<Status> {
        let file =
            if self.from == "-" { PathBuf::from("-") } else { context.start.join(&self.from) };
        let is_file = self.from == "-" || file.is_file();
        let lines = if is_file {
            Some(exchange::from_lines(&bytes_of(&file, exchange::MOST_FILE)?)?)
        } else {
            None
        };
        let mut world = context.world()?;
        let theirs = if is_file { None } else { Some(self.commit(&world.repo)?) };
        remember::settle(&mut world)?;
        let World { repo, journal, .. } = &mut world;
        let memory = Memory::of(repo, None);
        let (changes, unreadable, merges) = match (lines, theirs, memory.tip()?) {
            (Some(changes), ..) => (changes, Vec::new(), None),
            (None, Some(theirs), Some(tip)) if repo.is_ancestor(theirs, tip)? => {
                (Vec::new(), Vec::new(), None)
            }
            (None, Some(theirs), _) => {
                let (changes, unreadable) = exchange::from_commit(&memory, theirs)?;
                (changes, unreadable, Some(theirs))
            }
            (None, None, _) => (Vec::new(), Vec::new(), None),
        };
        let total = changes.len() as u64;
        let commit = memory.lock()?.record(
            journal,
            &format!("import: {total} episodes"),
            &changes,
            merges,
        )?;
        Ok(context.answer(
            &Answer { changed: commit.is_some(), total, unreadable, ..answer(memory.tip()?) },
            done,
        ))
    }

    fn commit(&self, repo: &Repo) -> Result<Oid> {
        repo.commit_named(&self.from).map_err(|_| {
            let message =
                format!("{:?} is neither a file nor a commit. Nothing was changed.", self.from);
            let hint = "Name the file of an export, or a ref that was fetched, such as FETCH_HEAD.";
            Finding::new(Code::BadRequest, message, hint).into()
        })
    }
}

fn stats(context: &Context) -> Result<Status> {
    let repo = opened(context)?;
    let (tip, all, unreadable) = everything(&Memory::of(&repo, None))?;
    let now = clock::wall().0;
    let mut stats = Stats { episodes: all.len() as u64, ..Stats::default() };
    for one in &all {
        stats.teach += u64::from(one.teaches());
        stats.open += u64::from(!one.teaches() && one.deprecated.is_none());
        stats.deprecated += u64::from(one.deprecated.is_some());
        stats.without_place += u64::from(!score::has_place(one.effectiveness_at(now), one.uses));
        stats.seen += one.seen;
        stats.uses += one.uses;
        stats.helped += one.helped;
        stats.worse += one.worse;
        *stats.by_code.entry(one.code.clone()).or_default() += one.seen;
        *stats
            .by_language
            .entry(one.language.clone().unwrap_or_else(|| "-".to_owned()))
            .or_default() += one.seen;
    }
    let total = stats.episodes;
    Ok(context.answer(&Answer { total, stats: Some(stats), unreadable, ..answer(tip) }, counted))
}
