//! `edt memory`.

mod args;
mod output;

use std::collections::BTreeMap;
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use super::apply::bytes_of;
use super::context::Context;
use super::value::require_positive;
use args::MemoryCommand;
use edt_io::{clock, fs};
use edt_memory::advice::{Kind, Lesson, lesson, may_have_notes};
use edt_memory::episodes::keywords::keywords;
use edt_memory::episodes::{
    Body, Episode, Episodes, MAX_BYTES, MAX_NOTE_BYTES, Memory, Origin, Snapshot,
};
use edt_types::text::Shown as _;
use edt_types::{Code, Finding, Result, Status};
use output::render;

/// Show and change the memory of what fixed refused edits, at refs/edt/memory.
///
/// edt learns how an edit that landed differs from the refused one: as a class, without any text.
/// A refusal shows at most one line of it, if nearly all such refusals had the same fix. Your own
/// notes are shown first; only you can add, adopt and change what is here.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  edt memory list --code OLD_TEXT_NOT_FOUND\n  edt memory search --code OLD_TEXT_NOT_FOUND --language c\n  edt memory snapshot before-the-sprint"
)]
pub(super) struct Args {
    #[command(subcommand)]
    command: MemoryCommand,
}

/// The answer of `edt memory`.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(super) struct Answer {
    /// Always `edt.memory/2`.
    schema: &'static str,
    /// The blob that refs/edt/memory names, as a hex object id; `null` if nothing was learned yet.
    blob: Option<String>,
    /// Whether this call changed the memory.
    changed: bool,
    /// How many episodes or snapshots match; the lists may show fewer.
    total: u64,
    /// The episodes that match, or were changed.
    episodes: Vec<Episode>,
    /// `search`: the lesson that a refusal with that code would have.
    lesson: Option<Lesson>,
    /// `snapshot`: the snapshots. `restore`: the one with the state before.
    snapshots: Vec<Snapshot>,
    /// `stats`: the counts.
    stats: Option<Stats>,
    /// The lines that this version of edt cannot read. It keeps them.
    unread: u64,
}

/// The counts of the memory.
#[derive(Debug, Default, Serialize, JsonSchema)]
struct Stats {
    /// Fixes that were seen, by `CODE class`; notes and answers by these words.
    seen: BTreeMap<String, u64>,
    /// Lessons that were shown, as far as the outcome is known.
    times_applied: u64,
    /// Lessons after which the call succeeded.
    times_succeeded: u64,
    /// The mean score; `null` without an episode.
    average_score: Option<f64>,
}

impl Args {
    /// Whether it changes the memory, or writes a file.
    pub(super) fn rewrites(&self) -> bool {
        use MemoryCommand::{Export, List, Search, Show, Snapshot, Stats};
        match &self.command {
            List { .. } | Show { .. } | Search { .. } | Stats => false,
            Snapshot { name } => name.is_some(),
            Export { file } => file != Path::new("-"),
            _ => true,
        }
    }

    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        if self.rewrites() && !matches!(self.command, MemoryCommand::Export { .. }) {
            let workspace = context.quiet_workspace()?;
            let memory = Memory::new(&workspace.repo);
            let before = memory.blob()?;
            let mut answer = self.change(context, &memory)?;
            let after = memory.blob()?;
            answer.blob = after.map(|blob| blob.to_string());
            answer.changed = before != after || !answer.snapshots.is_empty();
            return Ok(context.answer(&answer, render));
        }
        let (repo, _) = context.repo()?;
        let memory = Memory::new(&repo);
        let all = memory.read()?;
        let mut answer = Answer {
            schema: "edt.memory/2",
            blob: memory.blob()?.map(|blob| blob.to_string()),
            unread: all.unread() as u64,
            ..Answer::default()
        };
        match &self.command {
            MemoryCommand::List { code, language, limit } => {
                require_positive("--limit", *limit)?;
                let is = |wanted: &Option<String>, has: Option<&str>| {
                    wanted.is_none() || wanted.as_deref() == has
                };
                let wanted =
                    |one: &&Episode| is(code, one.body.code()) && is(language, one.body.language());
                answer.episodes = all.iter().filter(wanted).cloned().collect();
                answer.episodes.sort_by_key(|one| std::cmp::Reverse(one.last_seen));
                answer.total = answer.episodes.len() as u64;
                answer.episodes.truncate(usize::try_from(*limit).unwrap_or(usize::MAX));
                return Ok(context.answer(&answer, render));
            }
            MemoryCommand::Show { id } => {
                answer.episodes.push(all.get(id).ok_or_else(|| not_found(id))?.clone());
            }
            MemoryCommand::Search { text, code, language, mode } => {
                let (language, mode) = (language.clone(), mode.clone());
                answer.lesson = code.clone().and_then(|code| {
                    let kind = Kind { code, language, mode, format: None };
                    lesson(&all, &kind, &Finding::new(Code::BadRequest, "", ""), clock::seconds())
                });
                answer.episodes = text.iter().flat_map(|text| found(&all, text)).collect();
            }
            MemoryCommand::Snapshot { .. } => answer.snapshots = memory.snapshots()?,
            MemoryCommand::Stats => answer.stats = Some(stats(&all)),
            MemoryCommand::Export { file } if file == Path::new("-") => {
                return Ok(context.text(&all.lines()));
            }
            MemoryCommand::Export { file } => export(&all, &context.start.join(file))?,
            _ => {}
        }
        let listed = answer.episodes.len().max(answer.snapshots.len());
        let counts_all =
            matches!(self.command, MemoryCommand::Stats | MemoryCommand::Export { .. });
        answer.total = if counts_all { all.len() } else { listed } as u64;
        Ok(context.answer(&answer, render))
    }

    /// Makes the change of the command. The answer has the episodes or snapshots that it is about.
    fn change(&self, context: &Context, memory: &Memory<'_>) -> Result<Answer> {
        let of = |episodes: Vec<Episode>| Answer {
            schema: "edt.memory/2",
            total: episodes.len() as u64,
            episodes,
            ..Answer::default()
        };
        let changed = |id: &str, change: &dyn Fn(Episode) -> Episode| {
            let one = memory.change(|all| {
                let is_there = all.change(id, change);
                all.get(id).filter(|_| is_there).cloned().ok_or_else(|| not_found(id).into())
            });
            one.map(|one| of(vec![one]))
        };
        match &self.command {
            MemoryCommand::Add { text, code, language } => {
                let note = note(text.trim(), code, language.clone())?;
                memory.change(|all| {
                    all.learn(note.clone());
                    Ok(())
                })?;
                Ok(of(vec![note]))
            }
            MemoryCommand::Edit { id, adopt, revive } => changed(id, &|one| {
                let adopts = *adopt && one.origin == Origin::Imported;
                let origin = if adopts { Origin::Adopted } else { one.origin };
                Episode { origin, deprecated: one.deprecated.filter(|_| !revive), ..one }
            }),
            MemoryCommand::Deprecate { id, message } => {
                changed(id, &|one| Episode { deprecated: Some(message.clone()), ..one })
            }
            MemoryCommand::Delete { id } => {
                let one =
                    memory.change(|all| all.remove(id).ok_or_else(|| not_found(id).into()))?;
                Ok(of(vec![one]))
            }
            MemoryCommand::Snapshot { name } => {
                let snapshots = vec![memory.snapshot(name.as_deref().unwrap_or_default())?];
                Ok(Answer { snapshots, ..of(Vec::new()) })
            }
            MemoryCommand::Restore { name } => {
                let snapshots = memory.restore(name)?.into_iter().collect();
                Ok(Answer { snapshots, total: memory.read()?.len() as u64, ..of(Vec::new()) })
            }
            MemoryCommand::Import { file } => {
                let is_input = file == Path::new("-");
                let file = if is_input { file.clone() } else { context.start.join(file) };
                let theirs = Episodes::from_file(&bytes_of(&file, MAX_BYTES as u64)?)?;
                let new = memory.change(|all| Ok(all.import(&theirs)))?;
                Ok(Answer { total: new as u64, ..of(Vec::new()) })
            }
            _ => Ok(of(Vec::new())),
        }
    }
}

fn not_found(id: &str) -> Finding {
    let message = format!("There is no episode {id} in the memory of this repository.");
    let remedy = "`edt memory list` shows all episodes with their ids.";
    Finding::new(Code::EpisodeNotFound, message, remedy).nothing_changed()
}

/// The answers and notes that match `text`.
fn found(all: &Episodes, text: &str) -> Vec<Episode> {
    let has = |one: &&Episode| match &one.body {
        Body::Note { text: note, .. } => note.to_lowercase().contains(&text.to_lowercase()),
        _ => false,
    };
    let similar = all.similar(&keywords(text), clock::seconds(), |_| true);
    similar.into_iter().map(|one| one.episode).chain(all.iter().filter(has)).cloned().collect()
}

fn note(text: &str, code: &str, language: Option<String>) -> Result<Episode> {
    let is_line = !text.is_empty() && !text.chars().any(char::is_control);
    if !is_line || text.len() > MAX_NOTE_BYTES || !Code::ALL.iter().any(|one| one.name() == code) {
        let message = "The text is not one line of at most 400 bytes, or the code is unknown.";
        let remedy = "Say what to do, such as 'Read it first: make writes it.', and use a \
                      code of `edt explain`.";
        return Err(Finding::new(Code::BadRequest, message, remedy).nothing_changed().into());
    }
    if Code::ALL.iter().any(|one| one.name() == code && !may_have_notes(*one)) {
        let message = format!("A refusal with {code} never shows a note: it could lead around it.");
        let remedy = "Notes are about errors of texts, paths and formats, such as \
                      OLD_TEXT_NOT_FOUND. What a guard refuses only you decide, for each call.";
        return Err(Finding::new(Code::BadRequest, message, remedy).nothing_changed().into());
    }
    let body = Body::Note { code: code.to_owned(), language, text: text.to_owned() };
    Ok(Episode::new(body, Origin::User, clock::seconds()))
}

fn export(all: &Episodes, file: &Path) -> Result<()> {
    if fs::size(file).is_some() {
        let message = format!("{} already exists.", file.shown());
        let remedy = "Name a file that does not exist, or `-`.";
        return Err(Finding::new(Code::FileExists, message, remedy).nothing_changed().into());
    }
    fs::write_atomic_unique(file, all.lines().as_bytes(), 0o600)
        .map_err(|error| edt_io::failed("write", file, &error).into())
}

fn stats(all: &Episodes) -> Stats {
    let average_score = all.average_score(clock::seconds());
    let mut stats = Stats { average_score, ..Stats::default() };
    for one in all.iter() {
        let kind = match &one.body {
            Body::Repair { code, class, .. } => format!("{code} {}", class.name()),
            Body::Note { .. } => "notes".to_owned(),
            Body::Answer { .. } => "answers".to_owned(),
        };
        *stats.seen.entry(kind).or_default() += one.seen;
        stats.times_applied += one.times_applied;
        stats.times_succeeded += one.times_succeeded;
    }
    stats
}
