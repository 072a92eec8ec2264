//! `edt stats`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Serialize;

use super::context::Context;
use super::memory::opened;
use super::render::{DIM, NAME, paint};
use crate::base::text::harmless;
use crate::base::{Code, Finding, Result, Status};
use crate::git::{self, Repo};
use crate::io::clock;
use crate::memory::Memory;
use crate::session::changed;
use crate::session::stats::{Counted, Filter, Tally, stats};

/// Why refusals are not counted under a filter.
const UNKNOWN: &str = "The memory counts refusals by kind and not by session, agent or date. `edt stats` without a filter counts them.";

/// What sessions come to in numbers: edits, overrides, undo rate, landings, per session and agent. From Git alone.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  edt stats --since '2 weeks ago'\n  edt stats --agent codex --json"
)]
pub(super) struct Args {
    /// This session alone.
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
    /// Edits of this agent alone.
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Commits of this day (UTC) or later: 2026-01-31, or `3 days ago` (minutes, hours, days, weeks).
    #[arg(long, value_name = "DATE")]
    since: Option<String>,
    /// For the estimate: how long a person takes to put one undone edit back by hand.
    #[arg(long, value_name = "MINUTES", default_value_t = 5.0)]
    minutes_per_undo: f64,
    /// For the estimate: how long a mistake that landed would have taken.
    #[arg(long, value_name = "MINUTES", default_value_t = 10.0)]
    minutes_per_mistake: f64,
}

/// The answer of `edt stats`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Answer {
    /// Always `edt.stats/1`.
    schema: &'static str,
    /// Only commits made then or later count, in seconds since 1970.
    since: Option<i64>,
    /// All sessions together.
    total: Numbers,
    /// Each session, in order of names.
    sessions: Vec<OfSession>,
    /// Each agent, in order of names; first what bears no name.
    agents: Vec<OfAgent>,
    /// Refusals, as far as the memory has them; null with `--session`, `--agent` or `--since`: it counts them by kind, and keeps of each
    /// who met it last and not who met it how often.
    refusals: Option<Refusals>,
    /// Why `refusals` is null; null if it is not.
    refusals_unknown: Option<&'static str>,
    /// An estimate, with all that it is made of.
    time_saved: TimeSaved,
}

/// How often something happened.
#[derive(Debug, Serialize, JsonSchema)]
struct Numbers {
    /// Edits that stand.
    edits: u64,
    /// Files set to an earlier state, and standing.
    restores: u64,
    /// Programs whose changes stand.
    runs: u64,
    /// Edits, restores and runs taken back and not brought again.
    undone: u64,
    /// `undone` of all that was made; null if nothing was.
    undo_rate: Option<f64>,
    /// Commits that recorded what someone asked to record.
    checkpoints: u64,
    /// Commits that recorded what changed behind edt's back.
    foreign: u64,
    /// A person's own commits on the branch.
    persons: u64,
    /// How many needed each override.
    overrides: BTreeMap<String, u64>,
}

/// A session in numbers.
#[derive(Debug, Serialize, JsonSchema)]
struct OfSession {
    /// Its name.
    name: String,
    /// `open`, `landed`, `abandoned` or `deleted`.
    state: &'static str,
    /// How often it landed.
    landed: u64,
    /// How often what a program had changed was put back.
    put_back: u64,
    /// What happened in it.
    #[serde(rename = "made")]
    numbers: Numbers,
    /// What it comes to against its base, whatever `--since` and `--agent` say.
    net: Net,
}

/// What changed between two states.
#[derive(Debug, Default, Serialize, JsonSchema)]
struct Net {
    /// Files that differ.
    files: u64,
    /// Lines added.
    lines_added: u64,
    /// Lines removed.
    lines_removed: u64,
    /// Bytes of those files before.
    bytes_before: u64,
    /// Bytes of those files after.
    bytes_after: u64,
}

/// An agent in numbers.
#[derive(Debug, Serialize, JsonSchema)]
struct OfAgent {
    /// Its name; null for what bears none.
    agent: Option<String>,
    /// In how many sessions.
    sessions: u64,
    /// What it did.
    #[serde(rename = "made")]
    numbers: Numbers,
}

/// Refusals that the memory has. It counts kinds of failures; their numbers are since its beginning.
#[derive(Debug, Default, Serialize, JsonSchema)]
struct Refusals {
    /// Kinds of failures.
    kinds: u64,
    /// Kinds that were followed by an edit of the file which landed, and needed no override.
    fixed: u64,
    /// How often each code was seen.
    codes: BTreeMap<String, u64>,
}

/// An estimate of time saved, in minutes. It counts what was seen and multiplies it by what was assumed.
#[derive(Debug, Serialize, JsonSchema)]
struct TimeSaved {
    /// `undone × minutes_per_undo + fixed × minutes_per_mistake`.
    minutes: f64,
    /// The same in words.
    formula: &'static str,
    /// Edits, restores and runs taken back by `edt undo` instead of by hand.
    undone: u64,
    /// Assumed; `--minutes-per-undo`.
    minutes_per_undo: f64,
    /// Kinds of refusals that were followed by an edit which landed, and needed no override; null if `refusals` is, and 0 in the sum.
    fixed: Option<u64>,
    /// Assumed; `--minutes-per-mistake`.
    minutes_per_mistake: f64,
}

impl From<&Tally> for Numbers {
    fn from(tally: &Tally) -> Numbers {
        let Tally { edits, restores, runs, undone, checkpoints, foreign, persons, overrides } =
            tally.clone();
        let made = tally.made();
        #[expect(clippy::cast_precision_loss, reason = "a rate of fewer than 2^52 edits")]
        let undo_rate = (made > 0).then(|| undone as f64 / made as f64);
        Numbers {
            edits,
            restores,
            runs,
            undone,
            undo_rate,
            checkpoints,
            foreign,
            persons,
            overrides,
        }
    }
}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        for (flag, minutes) in [
            ("--minutes-per-undo", self.minutes_per_undo),
            ("--minutes-per-mistake", self.minutes_per_mistake),
        ] {
            if !minutes.is_finite() || minutes < 0.0 {
                let message = format!("{flag} is {minutes}, which is no time.");
                return Err(Finding::new(
                    Code::BadRequest,
                    message,
                    format!("Send {flag} with 0 or more."),
                )
                .into());
            }
        }
        let repo = opened(context)?;
        let since = self.since.as_deref().map(|text| moment(text, clock::wall().0)).transpose()?;
        let filter = Filter { session: self.session.clone(), agent: self.agent.clone(), since };
        let counted = stats(&repo, &filter)?;
        if let (Some(name), true) =
            (&self.session, counted.is_empty() && filter.agent.is_none() && since.is_none())
        {
            let message = format!("There is no session {name}.");
            return Err(
                Finding::new(Code::NoSession, message, "`edt status` lists the sessions.").into()
            );
        }
        let mut total = Tally::default();
        for one in &counted {
            total.add(&one.all());
        }
        let refusals = if filter == Filter::default() { Some(refusals(&repo)?) } else { None };
        let answer = Answer {
            schema: "edt.stats/1",
            since,
            time_saved: self.saved(&total, refusals.as_ref().map(|refusals| refusals.fixed)),
            total: Numbers::from(&total),
            agents: of_agents(&counted),
            sessions: counted.iter().map(|one| of_session(&repo, one)).collect::<Result<_>>()?,
            refusals_unknown: if refusals.is_none() { Some(UNKNOWN) } else { None },
            refusals,
        };
        Ok(context.answer(&answer, Answer::people))
    }

    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    fn saved(&self, total: &Tally, fixed: Option<u64>) -> TimeSaved {
        let undone = total.undone;
        let (undos, mistakes) = (undone as f64, fixed.unwrap_or_default() as f64);
        TimeSaved {
            minutes: undos * self.minutes_per_undo + mistakes * self.minutes_per_mistake,
            formula: "undone * minutes_per_undo + fixed * minutes_per_mistake",
            undone,
            minutes_per_undo: self.minutes_per_undo,
            fixed,
            minutes_per_mistake: self.minutes_per_mistake,
        }
    }
}

fn of_session(repo: &Repo, counted: &Counted) -> Result<OfSession> {
    let session = &counted.session;
    let tree = |oid| if oid == repo.empty_tree() { Ok(oid) } else { repo.tree_of(oid) };
    let mut net = Net::default();
    for file in changed::files(repo, &repo.tree_diff(tree(session.base)?, tree(session.tip)?)?)? {
        net.files += 1;
        net.lines_added += file.lines_added;
        net.lines_removed += file.lines_removed;
        net.bytes_before += file.bytes_before.unwrap_or_default();
        net.bytes_after += file.bytes_after.unwrap_or_default();
    }
    Ok(OfSession {
        name: session.name.clone(),
        state: session.state.name(),
        landed: counted.landed,
        put_back: counted.put_back,
        numbers: Numbers::from(&counted.all()),
        net,
    })
}

fn of_agents(counted: &[Counted]) -> Vec<OfAgent> {
    let mut agents: BTreeMap<&Option<String>, (u64, Tally)> = BTreeMap::new();
    for (agent, tally) in counted.iter().flat_map(|one| &one.agents) {
        let (sessions, all) = agents.entry(agent).or_default();
        *sessions += 1;
        all.add(tally);
    }
    let of = |(agent, (sessions, tally)): (&Option<String>, (u64, Tally))| OfAgent {
        agent: agent.clone(),
        sessions,
        numbers: Numbers::from(&tally),
    };
    agents.into_iter().map(of).collect()
}

fn refusals(repo: &Repo) -> Result<Refusals> {
    let memory = Memory::of(repo, None);
    let mut refusals = Refusals::default();
    let Some(tip) = memory.tip()? else { return Ok(refusals) };
    for episode in memory.all(tip)?.0 {
        refusals.kinds += 1;
        // An override is no fix: the same was sent again.
        refusals.fixed += u64::from(episode.fix.is_some_and(|fix| fix.allow.is_empty()));
        *refusals.codes.entry(episode.code).or_default() += episode.seen;
    }
    Ok(refusals)
}

/// The moment that `text` names, in seconds since 1970.
fn moment(text: &str, now: i64) -> Result<i64> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let unit = |word: &str| match word.trim_end_matches('s') {
        "minute" => Some(60),
        "hour" => Some(3_600),
        "day" => Some(86_400),
        "week" => Some(7 * 86_400),
        _ => None,
    };
    let ago = match words[..] {
        [count, word, "ago"] | [count, word] => count
            .parse::<i64>()
            .ok()
            .filter(|count| *count >= 0)
            .zip(unit(word))
            .and_then(|(n, unit)| n.checked_mul(unit)),
        _ => None,
    };
    ago.map(|ago| now.saturating_sub(ago)).or_else(|| git::moment(text)).ok_or_else(|| {
        let message = format!("--since is {text:?}, which is no date that edt reads.");
        Finding::new(Code::BadRequest, message, "Send a date such as 2026-01-31, or `3 days ago`.")
            .into()
    })
}

impl Answer {
    fn people(&self) -> String {
        let mut out = format!("{}\n", self.total.people("all sessions"));
        for session in &self.sessions {
            let _ = write!(
                out,
                "\n{}",
                session.numbers.people(&format!("{} ({})", session.name, session.state))
            );
            let Net { files, lines_added, lines_removed, bytes_before, bytes_after } = &session.net;
            let (landed, put_back) = (session.landed, session.put_back);
            let net = format!(
                "landed {landed}, put back {put_back}; against its base {files} files, +{lines_added} -{lines_removed} lines, {bytes_before} -> {bytes_after} bytes"
            );
            let _ = writeln!(out, "  {}", paint(DIM, &net));
        }
        for agent in &self.agents {
            let name = agent.agent.as_deref().unwrap_or("(no name)");
            let _ = write!(
                out,
                "\n{}",
                agent.numbers.people(&format!("agent {name}, {} sessions", agent.sessions))
            );
        }
        let codes = self.refusals.iter().flat_map(|refusals| &refusals.codes);
        let codes: Vec<String> = codes.map(|(code, count)| format!("{code} {count}")).collect();
        if !codes.is_empty() {
            let _ = writeln!(out, "\nrefused (as far as remembered): {}", codes.join(", "));
        }
        if let Some(why) = self.refusals_unknown {
            let _ = writeln!(out, "\nrefused: not counted. {why}");
        }
        let TimeSaved { minutes, undone, minutes_per_undo, fixed, minutes_per_mistake, .. } =
            &self.time_saved;
        let fixed = fixed.map_or_else(|| "unknown".to_owned(), |fixed| fixed.to_string());
        let _ = writeln!(
            out,
            "\nestimate of time saved: {minutes} min = {undone} undone * {minutes_per_undo} min + {fixed} kinds of mistakes fixed * {minutes_per_mistake} min (both assumed)"
        );
        out
    }
}

impl Numbers {
    fn people(&self, title: &str) -> String {
        let Numbers {
            edits,
            restores,
            runs,
            undone,
            undo_rate,
            checkpoints,
            foreign,
            persons,
            overrides,
        } = self;
        let rate = undo_rate.map_or_else(String::new, |rate| format!(" ({:.1} %)", rate * 100.0));
        let mut out = format!("{}\n", paint(NAME, &harmless(title).0));
        let _ = writeln!(
            out,
            "  {edits} edits, {restores} restores, {runs} runs stand; {undone} undone{rate}"
        );
        let _ = writeln!(
            out,
            "  {checkpoints} checkpoints, {foreign} of foreign changes, {persons} commits of persons"
        );
        let words: Vec<String> =
            overrides.iter().map(|(word, count)| format!("{} {count}", harmless(word).0)).collect();
        if !words.is_empty() {
            let _ = writeln!(out, "  overrides: {}", words.join(", "));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_a_date_or_so_long_ago() {
        let at = |text: &str| moment(text, 1_000_000).ok();
        assert_eq!(at("1970-01-02"), Some(86_400));
        assert_eq!(at("2 days ago"), Some(1_000_000 - 2 * 86_400));
        assert_eq!(at("1 hour"), Some(1_000_000 - 3_600));
        assert_eq!(
            (at("-1 days"), at("soon"), at(""), at("9223372036854775807 weeks")),
            (None, None, None, None)
        );
    }
}
