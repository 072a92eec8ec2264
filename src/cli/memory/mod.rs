//! `edt memory`.

mod args;
mod output;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use super::apply::bytes_of;
use super::context::Context;
use super::render::{GOOD, paint};
use super::value::require_positive;
use crate::lessons;
use edt_agents::hook::who::Who;
use edt_core::session::LockedWorkspace;
use edt_git::{Oid, Repo};
use edt_io::{clock, fs};
use edt_memory::change::MemoryChange;
use edt_memory::episode::MAX_TEXT_BYTES;
use edt_memory::history::{self, Snapshot};
use edt_memory::keywords::keywords;
use edt_memory::store::not_found;
use edt_memory::{
    Episode, FailedAttempt, Lesson, LessonQuery, Memory, TextOrigin, exchange, lessons, score,
    scrub,
};
use edt_types::text::Shown as _;
use edt_types::text::counted;
use edt_types::{Code, Finding, Result, Status};

use args::{
    AddArgs, DeprecateArgs, EditArgs, ExportArgs, IdArgs, ImportArgs, ListArgs, MemoryCommand,
    RestoreArgs, SearchArgs, SnapshotArgs,
};
use output::{
    render_change, render_episodes, render_lessons, render_list, render_snapshots, render_stats,
};

/// Show and change the memory of failures and their fixes, from which refusals include lessons. It
/// is stored at refs/edt/memory, as JSON files.
///
/// edt records a refusal with the edit that was applied after it. Later refusals of the same kind
/// include that fix in `lessons`. A lesson that does not help is no longer shown.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  edt memory list --code OLD_TEXT_NOT_FOUND\n  edt memory search 'return total' --language c\n  edt memory snapshot before-the-sprint\n  git fetch origin refs/edt/memory && edt memory import FETCH_HEAD"
)]
pub(super) struct Args {
    #[command(subcommand)]
    command: MemoryCommand,
}

/// The answer of `edt memory`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Answer {
    /// Always `edt.memory/1`.
    schema: &'static str,
    /// The newest commit of refs/edt/memory, as a hex object id; `null` if nothing was ever
    /// recorded.
    commit: Option<String>,
    /// Whether this call made that commit.
    changed: bool,
    /// How many episodes, lessons or snapshots match; the lists may show fewer.
    total: u64,
    /// The episodes that match, or were changed.
    episodes: Vec<Episode>,
    /// `search`: the matching lessons.
    lessons: Vec<Lesson>,
    /// `snapshot`: the snapshots.
    snapshots: Vec<Snapshot>,
    /// `stats`: the counts.
    stats: Option<Stats>,
    /// Files of the memory that this edt cannot read. It does not change them.
    unreadable: Vec<String>,
}

/// The counts of the memory.
#[derive(Debug, Default, Serialize, JsonSchema)]
struct Stats {
    /// Episodes.
    episodes: u64,
    /// Episodes that have a lesson.
    teach: u64,
    /// Episodes without a fix so far.
    open: u64,
    /// Episodes that the user deprecated.
    deprecated: u64,
    /// Episodes whose lesson is no longer shown: its effectiveness is below 0.3 after three uses.
    no_longer_shown: u64,
    /// Failures seen.
    seen: u64,
    /// Lessons that answers included, and whose outcome is known.
    uses: u64,
    /// Lessons that helped.
    helped: u64,
    /// Lessons that made the result worse.
    worse: u64,
    /// Failures seen, by code.
    by_code: BTreeMap<String, u64>,
    /// Failures seen, by language.
    by_language: BTreeMap<String, u64>,
}

impl Args {
    /// Whether it changes or removes episodes that are there, or writes a file.
    pub(super) fn rewrites(&self) -> bool {
        matches!(
            self.command,
            MemoryCommand::Edit(_)
                | MemoryCommand::Delete(_)
                | MemoryCommand::Restore(_)
                | MemoryCommand::Import(_)
        ) || matches!(&self.command, MemoryCommand::Export(args) if args.writes())
    }

    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        match &self.command {
            MemoryCommand::List(args) => args.run(context),
            MemoryCommand::Show(args) => args.show(context),
            MemoryCommand::Search(args) => args.run(context),
            MemoryCommand::Add(args) => args.run(context),
            MemoryCommand::Edit(args) => args.run(context),
            MemoryCommand::Deprecate(args) => args.run(context),
            MemoryCommand::Delete(args) => args.delete(context),
            MemoryCommand::Snapshot(args) => args.run(context),
            MemoryCommand::Restore(args) => args.run(context),
            MemoryCommand::Export(args) => args.run(context),
            MemoryCommand::Import(args) => args.run(context),
            MemoryCommand::Stats => stats(context),
        }
    }
}

/// The repository, opened for reading its memory. Episodes that are pending in this worktree are
/// recorded first, if the Git directory can be written.
pub(super) fn open_with_memory(context: &Context) -> Result<Repo> {
    match context.quiet_workspace() {
        Ok(mut workspace) => {
            lessons::record_pending(&mut workspace)?;
            Ok(workspace.repo)
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

/// The newest commit, its episodes, and its unreadable files.
fn everything(memory: &Memory<'_>) -> Result<(Option<Oid>, Vec<Episode>, Vec<String>)> {
    let tip = memory.tip()?;
    let (all, unreadable) = tip.map_or_else(|| Ok(Default::default()), |tip| memory.all(tip))?;
    Ok((tip, all, unreadable))
}

impl ListArgs {
    fn run(&self, context: &Context) -> Result<Status> {
        require_positive("--limit", self.limit)?;
        let repo = open_with_memory(context)?;
        let (tip, mut all, unreadable) = everything(&Memory::new(&repo, None))?;
        let is = |wanted: &Option<String>, has: Option<&str>| {
            wanted.as_deref().is_none_or(|wanted| has == Some(wanted))
        };
        all.retain(|one| {
            is(&self.code, Some(&one.code)) && is(&self.language, one.language.as_deref())
        });
        all.sort_by(|a, b| b.last_seen.cmp(&a.last_seen).then_with(|| a.id.cmp(&b.id)));
        let total = all.len() as u64;
        all.truncate(usize::try_from(self.limit).unwrap_or(usize::MAX));
        Ok(context.answer(&Answer { total, episodes: all, unreadable, ..answer(tip) }, render_list))
    }
}

impl IdArgs {
    fn show(&self, context: &Context) -> Result<Status> {
        let repo = open_with_memory(context)?;
        let memory = Memory::new(&repo, None);
        let tip = memory.tip()?;
        let episode = found(&memory, &self.id)?;
        Ok(context
            .answer(&Answer { total: 1, episodes: vec![episode], ..answer(tip) }, render_episodes))
    }

    fn delete(&self, context: &Context) -> Result<Status> {
        changed(context, &format!("delete: {}", self.id), |memory| {
            Ok(vec![MemoryChange::Deleted(found(memory, &self.id)?.id)])
        })
    }
}

fn found(memory: &Memory<'_>, id: &str) -> Result<Episode> {
    let episode = match memory.tip()?.filter(|_| edt_memory::episode::is_id(id)) {
        Some(tip) => memory.get(tip, id)?,
        None => None,
    };
    episode.ok_or_else(|| not_found(id).into())
}

impl SearchArgs {
    fn run(&self, context: &Context) -> Result<Status> {
        let (repo, _) = context.repo()?;
        let memory = Memory::new(&repo, None);
        let mode = self.mode.as_ref().map(|mode| format!("mode:{mode}"));
        // An omitted option matches everything.
        let kind = [self.code.as_ref(), self.language.as_ref(), mode.as_ref()];
        let keywords = keywords(
            kind.into_iter().flatten().map(String::as_str),
            &scrub::scrub(&self.text, MAX_TEXT_BYTES),
        );
        let (code, language) = (self.code.clone().unwrap_or_default(), self.language.clone());
        let lessons = lessons(
            &memory,
            &LessonQuery { code, language, keywords },
            clock::seconds(),
            &memory.unrecorded().pending,
        )?;
        let total = lessons.len() as u64;
        Ok(context.answer(&Answer { total, lessons, ..answer(memory.tip()?) }, render_lessons))
    }
}

/// Changes one episode and prints its new state; for a deletion, its last state.
fn changed(
    context: &Context,
    subject: &str,
    make: impl FnOnce(&Memory<'_>) -> Result<Vec<MemoryChange>>,
) -> Result<Status> {
    let mut workspace = context.quiet_workspace()?;
    lessons::record_pending(&mut workspace)?;
    let LockedWorkspace { repo, journal, .. } = &mut workspace;
    let memory = Memory::new(repo, None);
    let locked = memory.lock()?;
    let changes = make(&memory)?;
    let id = changes.first().map(MemoryChange::id).unwrap_or_default();
    let before = memory.get_opt(memory.tip()?, id)?;
    let commit = locked.record(journal, subject, &changes, None)?;
    let tip = memory.tip()?;
    let episodes: Vec<Episode> = memory.get_opt(tip, id)?.or(before).into_iter().collect();
    let total = episodes.len() as u64;
    Ok(context.answer(
        &Answer { changed: commit.is_some(), total, episodes, ..answer(tip) },
        render_change,
    ))
}

/// The text of a lesson, which must not be blank.
fn lesson_text(text: &str) -> Result<String> {
    if text.trim().is_empty() {
        let message = "The lesson is empty.";
        let hint = "Say what to do, such as 'Close every brace in the same edit.'";
        return Err(Finding::new(Code::BadRequest, message, hint).nothing_changed().into());
    }
    Ok(text.trim().to_owned())
}

impl AddArgs {
    fn run(&self, context: &Context) -> Result<Status> {
        let lesson = Some(lesson_text(&self.lesson)?);
        let attempt = FailedAttempt {
            mode: self.mode.clone(),
            format: Some("edit".to_owned()),
            fragment: self.like.clone(),
            ..FailedAttempt::default()
        };
        let new = Episode::new(&self.code, self.language.as_deref(), attempt, clock::seconds());
        let origin = match context.who() {
            Who::User => Some(TextOrigin::User),
            Who::Agent(_) | Who::StartedBy(_) => Some(TextOrigin::Agent),
            Who::Unattended => None,
        };
        let new = Episode { seen: 0, lesson, origin, ..new };
        // Do not write an episode that could not be read again.
        let new = Episode::from_json(new.to_json().as_bytes())?;
        changed(context, &format!("add: {}", new.id), |_| {
            Ok(vec![MemoryChange::Added(Box::new(new))])
        })
    }
}

impl EditArgs {
    fn run(&self, context: &Context) -> Result<Status> {
        let lesson = self.lesson.as_deref().map(lesson_text).transpose()?;
        if lesson.is_none() && !self.no_lesson && !self.revive {
            let message = "The call asks for no change of the episode.";
            return Err(Finding::new(
                Code::BadRequest,
                message,
                "Send --lesson TEXT, --no-lesson or --revive.",
            )
            .nothing_changed()
            .into());
        }
        changed(context, &format!("edit: {}", self.id), |memory| {
            let id = found(memory, &self.id)?.id;
            let revived = self.revive.then(|| MemoryChange::Deprecated(id.clone(), None));
            let worded =
                (lesson.is_some() || self.no_lesson).then_some(MemoryChange::Lesson(id, lesson));
            Ok(revived.into_iter().chain(worded).collect())
        })
    }
}

impl DeprecateArgs {
    fn run(&self, context: &Context) -> Result<Status> {
        changed(context, &format!("deprecate: {}", self.id), |memory| {
            Ok(vec![MemoryChange::Deprecated(
                found(memory, &self.id)?.id,
                Some(self.message.clone()),
            )])
        })
    }
}

impl SnapshotArgs {
    fn run(&self, context: &Context) -> Result<Status> {
        let Some(name) = &self.name else {
            let repo = open_with_memory(context)?;
            let memory = Memory::new(&repo, None);
            let snapshots = history::snapshots(&memory)?;
            let total = snapshots.len() as u64;
            return Ok(context
                .answer(&Answer { total, snapshots, ..answer(memory.tip()?) }, render_snapshots));
        };
        let mut workspace = context.quiet_workspace()?;
        lessons::record_pending(&mut workspace)?;
        let LockedWorkspace { repo, journal, .. } = &mut workspace;
        let memory = Memory::new(repo, None);
        history::snapshot(&memory, journal, name)?;
        let snapshots: Vec<Snapshot> =
            history::snapshots(&memory)?.into_iter().filter(|one| one.name == *name).collect();
        Ok(context.answer(
            &Answer { changed: true, total: 1, snapshots, ..answer(memory.tip()?) },
            render_snapshots,
        ))
    }
}

impl RestoreArgs {
    fn run(&self, context: &Context) -> Result<Status> {
        let mut workspace = context.quiet_workspace()?;
        lessons::record_pending(&mut workspace)?;
        let LockedWorkspace { repo, journal, .. } = &mut workspace;
        let memory = Memory::new(repo, None);
        history::restore(&memory, journal, &self.name)?;
        let (tip, all, unreadable) = everything(&memory)?;
        let total = all.len() as u64;
        Ok(context
            .answer(&Answer { changed: true, total, unreadable, ..answer(tip) }, render_change))
    }
}

impl ExportArgs {
    fn run(&self, context: &Context) -> Result<Status> {
        let repo = open_with_memory(context)?;
        let (tip, all, unreadable) = everything(&Memory::new(&repo, None))?;
        let text = exchange::lines(&all);
        if self.file == Path::new("-") {
            return Ok(context.text(&text));
        }
        let file = context.start.join(&self.file);
        if fs::size(&file).is_some() {
            let message = format!("{} already exists.", self.file.shown());
            return Err(Finding::new(
                Code::FileExists,
                message,
                "Name a file that does not exist, or `-`.",
            )
            .nothing_changed()
            .into());
        }
        fs::write_atomic_unique(&file, text.as_bytes(), 0o600)
            .map_err(|error| edt_io::failed("write", &file, &error))?;
        let total = all.len() as u64;
        Ok(context.answer(&Answer { total, unreadable, ..answer(tip) }, |answer| {
            format!(
                "{} {} to {}\n",
                paint(GOOD, "exported"),
                counted(answer.total, "episode"),
                self.file.shown()
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
            Some(exchange::from_lines(&bytes_of(&file, exchange::MAX_FILE_BYTES)?)?)
        } else {
            None
        };
        let mut workspace = context.quiet_workspace()?;
        let theirs = if is_file { None } else { Some(self.commit(&workspace.repo)?) };
        lessons::record_pending(&mut workspace)?;
        let LockedWorkspace { repo, journal, .. } = &mut workspace;
        let memory = Memory::new(repo, None);
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
            &format!("import: {}", counted(total, "episode")),
            &changes,
            merges,
        )?;
        Ok(context.answer(
            &Answer { changed: commit.is_some(), total, unreadable, ..answer(memory.tip()?) },
            render_change,
        ))
    }

    fn commit(&self, repo: &Repo) -> Result<Oid> {
        repo.commit_named(&self.from).map_err(|_| {
            let message = format!("{:?} is neither a file nor a commit.", self.from);
            let hint = "Name the file of an export, or a fetched ref such as FETCH_HEAD.";
            Finding::new(Code::BadRequest, message, hint).nothing_changed().into()
        })
    }
}

fn stats(context: &Context) -> Result<Status> {
    let repo = open_with_memory(context)?;
    let (tip, all, unreadable) = everything(&Memory::new(&repo, None))?;
    let now = clock::seconds();
    let mut stats = Stats { episodes: all.len() as u64, ..Stats::default() };
    for one in &all {
        stats.teach += u64::from(one.teaches());
        stats.open += u64::from(!one.teaches() && one.deprecated.is_none());
        stats.deprecated += u64::from(one.deprecated.is_some());
        stats.no_longer_shown +=
            u64::from(!score::is_still_shown(one.effectiveness_at(now), one.uses));
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
    Ok(context
        .answer(&Answer { total, stats: Some(stats), unreadable, ..answer(tip) }, render_stats))
}
