//! `edt stats`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Serialize;

use super::context::Context;
use super::render::{DIM, NAME, paint};
use edt_core::session::files::diff_report;
use edt_core::session::views::stats::{EditCounts, SessionStats, StatsFilter, stats};
use edt_git::Repo;
use edt_io::clock;
use edt_journal::refusals::RefusalLog;
use edt_types::text::{counted, escape_controls};
use edt_types::{Code, Finding, Result, Status};

/// Why refusals are not counted with a filter.
const UNKNOWN: &str = "The memory counts refusals by kind, not by session, agent or date. `edt stats` without a filter counts them.";

/// Count edits, overrides, undone edits and landings, per session and agent. The counts come from
/// Git; refusals come from the memory.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  edt stats --since '2 weeks ago'\n  edt stats --agent codex --json"
)]
pub(super) struct Args {
    /// Count only this session.
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
    /// Count only the edits of this agent.
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Count only commits of this day (UTC) or later: 2026-01-31, or `3 days ago` (minutes, hours,
    /// days, weeks).
    #[arg(long, value_name = "DATE")]
    since: Option<String>,
    /// List the sessions that have ended, too. The totals always count them.
    #[arg(long)]
    ended: bool,
    /// For the estimate: the time that the user needs to undo one edit by hand.
    #[arg(long, value_name = "MINUTES", default_value_t = 5.0)]
    minutes_per_undo: f64,
    /// For the estimate: the time that a landed mistake would have cost.
    #[arg(long, value_name = "MINUTES", default_value_t = 10.0)]
    minutes_per_mistake: f64,
}

/// The answer of `edt stats`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Answer {
    /// Always `edt.stats/1`.
    schema: &'static str,
    /// Only commits made at this time or later were counted; in seconds since 1970.
    since: Option<i64>,
    /// All sessions together.
    total: Numbers,
    /// Each session that is open or that a worktree uses, ordered by name; with `--ended` every
    /// session, with `--session` that one.
    sessions: Vec<SessionNumbers>,
    /// How many ended sessions are counted and not in `sessions`.
    ended: u64,
    /// Each agent, ordered by name. Edits without an agent come first.
    agents: Vec<AgentNumbers>,
    /// The refusals that the memory has. Null with `--session`, `--agent` or `--since`, because the
    /// memory counts refusals by kind only.
    refusals: Option<Refusals>,
    /// Why `refusals` is null; null if it is not.
    refusals_unknown: Option<&'static str>,
    /// An estimate, with all its factors.
    time_saved: TimeSaved,
}

/// How often something happened.
#[derive(Debug, Serialize, JsonSchema)]
struct Numbers {
    /// Edits that are in effect.
    edits: u64,
    /// Restores of a file that are in effect.
    restores: u64,
    /// Runs of programs whose changes are in effect.
    runs: u64,
    /// Edits, restores and runs that were undone and not redone.
    undone: u64,
    /// `undone` divided by all edits, restores and runs; null if there were none.
    undo_rate: Option<f64>,
    /// Checkpoints that a caller asked for.
    checkpoints: u64,
    /// The user's own commits on the session's branch.
    user_commits: u64,
    /// How many edits, restores and runs needed each override.
    overrides: BTreeMap<String, u64>,
}

/// A session in numbers.
#[derive(Debug, Serialize, JsonSchema)]
struct SessionNumbers {
    /// Its name.
    name: String,
    /// `open`, `landed`, `abandoned` or `deleted`.
    state: &'static str,
    /// How often the session landed.
    landed: u64,
    /// How often the changes of a program were rolled back.
    rolled_back: u64,
    /// The counts of this session.
    #[serde(rename = "made")]
    numbers: Numbers,
    /// The difference between base and tip. `--since` and `--agent` do not affect it.
    net: Net,
}

/// The difference between two states.
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
struct AgentNumbers {
    /// Its name; null for edits without an agent.
    agent: Option<String>,
    /// In how many sessions it worked.
    sessions: u64,
    /// The counts of this agent.
    #[serde(rename = "made")]
    numbers: Numbers,
}

/// The refusals that the memory has, counted since the memory was created.
#[derive(Debug, Default, Serialize, JsonSchema)]
struct Refusals {
    /// Kinds of failures.
    kinds: u64,
    /// Kinds after which an edit of the same file was applied without an override.
    fixed: u64,
    /// How often each code occurred.
    codes: BTreeMap<String, u64>,
}

/// An estimate of the time saved, in minutes: observed counts multiplied by assumed times.
#[derive(Debug, Serialize, JsonSchema)]
struct TimeSaved {
    /// `undone × minutes_per_undo + fixed × minutes_per_mistake`.
    minutes: f64,
    /// The formula of `minutes`.
    formula: &'static str,
    /// Edits, restores and runs that `edt undo` undid.
    undone: u64,
    /// Assumed; `--minutes-per-undo`.
    minutes_per_undo: f64,
    /// Kinds of refusals after which an edit was applied without an override. Null, and 0 in the
    /// sum, if `refusals` is null.
    fixed: Option<u64>,
    /// Assumed; `--minutes-per-mistake`.
    minutes_per_mistake: f64,
}

impl From<&EditCounts> for Numbers {
    fn from(tally: &EditCounts) -> Numbers {
        let EditCounts { edits, restores, runs, undone, checkpoints, user_commits, overrides } =
            tally.clone();
        let made = tally.made();
        #[expect(clippy::cast_precision_loss, reason = "a rate of fewer than 2^52 edits")]
        let undo_rate = (made > 0).then(|| undone as f64 / made as f64);
        Numbers { edits, restores, runs, undone, undo_rate, checkpoints, user_commits, overrides }
    }
}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        for (flag, minutes) in [
            ("--minutes-per-undo", self.minutes_per_undo),
            ("--minutes-per-mistake", self.minutes_per_mistake),
        ] {
            if !minutes.is_finite() || minutes < 0.0 {
                let message = format!("{flag} is {minutes}, which is not a duration.");
                return Err(Finding::new(
                    Code::BadRequest,
                    message,
                    format!("Send {flag} with 0 or more."),
                )
                .into());
            }
        }
        let (repo, _) = context.repo()?;
        let since = self.since.as_deref().map(|text| moment(text, clock::seconds())).transpose()?;
        let filter =
            StatsFilter { session: self.session.clone(), agent: self.agent.clone(), since };
        let counted = stats(&repo, &filter)?;
        if let (Some(name), true) =
            (&self.session, counted.is_empty() && filter.agent.is_none() && since.is_none())
        {
            let message = format!("There is no session {name}.");
            return Err(
                Finding::new(Code::NoSession, message, "`edt status` lists the sessions.").into()
            );
        }
        let mut total = EditCounts::default();
        for one in &counted {
            total.add(&one.all());
        }
        let listed: Vec<&SessionStats> = counted
            .iter()
            .filter(|one| self.ended || self.session.is_some() || !one.session.has_ended())
            .collect();
        let refusals = if filter == StatsFilter::default() { Some(refusals(&repo)) } else { None };
        let answer = Answer {
            schema: "edt.stats/1",
            since,
            time_saved: self.saved(&total, refusals.as_ref().map(|refusals| refusals.fixed)),
            total: Numbers::from(&total),
            agents: agent_numbers(&counted),
            ended: (counted.len() - listed.len()) as u64,
            sessions: listed
                .into_iter()
                .map(|one| session_numbers(&repo, one))
                .collect::<Result<_>>()?,
            refusals_unknown: if refusals.is_none() { Some(UNKNOWN) } else { None },
            refusals,
        };
        Ok(context.answer(&answer, Answer::render_human))
    }

    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    fn saved(&self, total: &EditCounts, fixed: Option<u64>) -> TimeSaved {
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

fn session_numbers(repo: &Repo, counted: &SessionStats) -> Result<SessionNumbers> {
    let session = &counted.session;
    let tree = |oid| if oid == repo.empty_tree() { Ok(oid) } else { repo.tree_of(oid) };
    let mut net = Net::default();
    let base = session.session().viewed(repo)?.base;
    for file in diff_report::files(repo, &repo.tree_diff(tree(base)?, tree(session.tip)?)?)? {
        net.files += 1;
        net.lines_added += file.lines_added;
        net.lines_removed += file.lines_removed;
        net.bytes_before += file.bytes_before.unwrap_or_default();
        net.bytes_after += file.bytes_after.unwrap_or_default();
    }
    Ok(SessionNumbers {
        name: session.name.clone(),
        state: session.state.name(),
        landed: counted.landed,
        rolled_back: counted.rolled_back,
        numbers: Numbers::from(&counted.all()),
        net,
    })
}

fn agent_numbers(counted: &[SessionStats]) -> Vec<AgentNumbers> {
    let mut agents: BTreeMap<&Option<String>, (u64, EditCounts)> = BTreeMap::new();
    for (agent, tally) in counted.iter().flat_map(|one| &one.agents) {
        let (sessions, all) = agents.entry(agent).or_default();
        *sessions += 1;
        all.add(tally);
    }
    let of = |(agent, (sessions, tally)): (&Option<String>, (u64, EditCounts))| AgentNumbers {
        agent: agent.clone(),
        sessions,
        numbers: Numbers::from(&tally),
    };
    agents.into_iter().map(of).collect()
}

fn refusals(repo: &Repo) -> Refusals {
    let mut refusals = Refusals::default();
    for one in RefusalLog::of(repo).all() {
        refusals.fixed += u64::from(one.followed.is_some_and(|followed| followed.class.is_some()));
        for finding in &one.refused.findings {
            *refusals.codes.entry(finding.cause_code().to_owned()).or_default() += 1;
        }
    }
    refusals.kinds = refusals.codes.len() as u64;
    refusals
}

/// The time that `text` names, in seconds since 1970.
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
    ago.map(|ago| now.saturating_sub(ago)).or_else(|| edt_git::parse_date(text)).ok_or_else(|| {
        let message = format!("--since is {text:?}, which is not a date that edt can read.");
        Finding::new(Code::BadRequest, message, "Send a date such as 2026-01-31, or `3 days ago`.")
            .into()
    })
}

impl Answer {
    fn render_human(&self) -> String {
        let mut out = format!("{}\n", self.total.render_human("all sessions"));
        for session in &self.sessions {
            let _ = write!(
                out,
                "\n{}",
                session.numbers.render_human(&format!("{} ({})", session.name, session.state))
            );
            let Net { files, lines_added, lines_removed, bytes_before, bytes_after } = &session.net;
            let (landed, rolled_back) = (session.landed, session.rolled_back);
            let net = format!(
                "landed {landed}, rolled back {rolled_back}; against its base {}, +{lines_added} -{lines_removed} lines, {bytes_before} -> {}",
                counted(*files, "file"),
                counted(*bytes_after, "byte")
            );
            let _ = writeln!(out, "  {}", paint(DIM, &net));
        }
        if self.ended > 0 {
            let ended = counted(self.ended, "ended session");
            let _ = writeln!(out, "\n{}", paint(DIM, &format!("… {ended}: --ended lists them")));
        }
        for agent in &self.agents {
            let name = agent.agent.as_deref().unwrap_or("(no name)");
            let _ = write!(
                out,
                "\n{}",
                agent
                    .numbers
                    .render_human(&format!("agent {name}, {}", counted(agent.sessions, "session")))
            );
        }
        let codes = self.refusals.iter().flat_map(|refusals| &refusals.codes);
        let codes: Vec<String> = codes.map(|(code, count)| format!("{code} {count}")).collect();
        if !codes.is_empty() {
            let _ = writeln!(out, "\nrefused (as far as the memory knows): {}", codes.join(", "));
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
    fn render_human(&self, title: &str) -> String {
        let Numbers {
            edits,
            restores,
            runs,
            undone,
            undo_rate,
            checkpoints,
            user_commits,
            overrides,
        } = self;
        let rate = undo_rate.map_or_else(String::new, |rate| format!(" ({:.1} %)", rate * 100.0));
        let mut out = format!("{}\n", paint(NAME, &escape_controls(title).0));
        let _ = writeln!(
            out,
            "  {}, {}, {} in effect; {undone} undone{rate}",
            counted(*edits, "edit"),
            counted(*restores, "restore"),
            counted(*runs, "run")
        );
        let _ = writeln!(
            out,
            "  {}, {} of the user",
            counted(*checkpoints, "checkpoint"),
            counted(*user_commits, "commit")
        );
        let words: Vec<String> = overrides
            .iter()
            .map(|(word, count)| format!("{} {count}", escape_controls(word).0))
            .collect();
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
    fn a_moment_is_a_date_or_a_time_ago() {
        let at = |text: &str| moment(text, 1_000_000).ok();
        assert_eq!(at("1970-01-02"), Some(86_400));
        assert_eq!(at("2 days ago"), Some(1_000_000 - 2 * 86_400));
        assert_eq!(at("1 hour"), Some(1_000_000 - 3_600));
        assert_eq!(
            (at("-1 days"), at("soon"), at(""), at("9223372036854775807 weeks")),
            (None, None, None, None)
        );
    }

    fn counts() -> EditCounts {
        EditCounts { edits: 3, undone: 1, ..EditCounts::default() }
    }

    #[test]
    fn the_rate_of_undos_is_of_everything_made() {
        assert_eq!(Numbers::from(&counts()).undo_rate, Some(0.25));
        assert_eq!(Numbers::from(&EditCounts::default()).undo_rate, None);
    }

    #[test]
    fn numbers_are_three_lines_at_most() {
        let mut counts = counts();
        counts.overrides.insert("size_reduction".to_owned(), 2);
        assert_eq!(
            crate::cli::tests::plain(&Numbers::from(&counts).render_human("fix (open)")),
            "fix (open)\n  3 edits, 0 restores, 0 runs in effect; 1 undone (25.0 %)\n  0 checkpoints, 0 \
         commits of the user\n  overrides: size_reduction 2\n"
        );
    }

    fn args(per_undo: f64, per_mistake: f64) -> Args {
        Args {
            session: None,
            agent: None,
            since: None,
            ended: false,
            minutes_per_undo: per_undo,
            minutes_per_mistake: per_mistake,
        }
    }

    #[test]
    fn the_estimate_multiplies_undos_and_fixes() {
        let saved = args(5.0, 10.0).saved(&counts(), Some(2));
        assert_eq!((saved.minutes, saved.undone, saved.fixed), (25.0, 1, Some(2)));
    }

    #[test]
    fn unknown_fixes_count_as_none_in_the_estimate() {
        let saved = args(5.0, 10.0).saved(&counts(), None);
        assert_eq!((saved.minutes, saved.fixed), (5.0, None));
    }

    #[test]
    fn a_session_is_measured_against_its_base() {
        use edt_core::Request;
        let scratch = crate::cli::tests::Session::new();
        scratch.apply(&Request::new("x").edit("a.txt", "one", "two\nthree"));
        let repo = scratch.repo();
        let counted = stats(&repo, &StatsFilter::default()).unwrap();
        let numbers = session_numbers(&repo, &counted[0]).unwrap();
        assert_eq!((numbers.name.as_str(), numbers.state, numbers.landed), ("fix", "open", 0));
        let Net { files, lines_added, lines_removed, bytes_before, bytes_after } = numbers.net;
        assert_eq!(
            (files, lines_added, lines_removed, bytes_before, bytes_after),
            (1, 2, 1, 4, 10)
        );
    }

    #[test]
    fn agents_are_counted_over_all_sessions() {
        use edt_core::Request;
        let scratch = crate::cli::tests::Session::new();
        scratch.apply(&Request::new("x").edit("a.txt", "one", "two").agent("codex"));
        scratch.apply(&Request::new("y").edit("a.txt", "two", "three"));
        let counted = stats(&scratch.repo(), &StatsFilter::default()).unwrap();
        let agents: Vec<_> = agent_numbers(&counted)
            .into_iter()
            .map(|one| (one.agent, one.sessions, one.numbers.edits))
            .collect();
        assert_eq!(agents, [(None, 1, 1), (Some("codex".to_owned()), 1, 1)]);
    }
}
