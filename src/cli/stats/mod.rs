//! `edt stats`.

mod render;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::context::Context;
use super::value::one_of;
use edt_core::session::files::diff_report;
use edt_core::session::views::refusal_stats::{RefusalCounts, RefusalStats, Refusals};
use edt_core::session::views::stats::{EditCounts, Maker, SessionStats, StatsFilter, stats};
use edt_git::Repo;
use edt_io::clock;
use edt_types::{Code, Finding, Result, Status};

/// Count edits, modes, overrides, undone edits, landings and refusals, per session and agent. The
/// counts come from Git, and those of refusals from their record.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  edt stats --since '2 weeks ago'\n  edt stats --by model\n  edt stats --agent codex --json"
)]
pub(super) struct Args {
    /// Count only this session.
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
    /// Count only the edits and the refusals of this agent.
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Count only commits and refusals of this day (UTC) or later: 2026-01-31, or `3 days ago`
    /// (minutes, hours, days, weeks).
    #[arg(long, value_name = "DATE")]
    since: Option<String>,
    /// Also count by this.
    #[arg(long, value_name = "WHAT", value_parser = one_of(By::ALL))]
    by: Option<By>,
    /// List the sessions that have ended, too. The totals always count them.
    #[arg(long)]
    ended: bool,
}

/// What makes a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Agent,
    Model,
    Turn,
    Session,
}

/// The name of a group: of `agent`, `model`, `turn` and `session` those that make it.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
struct Group {
    /// The session; null for calls before it began.
    session: Option<String>,
    /// The agent.
    agent: Option<String>,
    /// The model.
    model: Option<String>,
    /// The number of the turn in the session.
    turn: Option<u64>,
}

impl By {
    const ALL: [(&str, By); 4] =
        [("agent", By::Agent), ("model", By::Model), ("turn", By::Turn), ("session", By::Session)];

    fn group(self, session: Option<&str>, maker: &Maker) -> Group {
        let Maker { agent, model, turn } = maker.clone();
        let session = session.map(str::to_owned);
        match self {
            By::Agent => Group { agent, ..Group::default() },
            By::Model => Group { agent, model, ..Group::default() },
            By::Turn => Group { session, agent, turn, ..Group::default() },
            By::Session => Group { session, ..Group::default() },
        }
    }
}

/// The answer of `edt stats`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Answer {
    /// Always `edt.stats/1`.
    schema: &'static str,
    /// Only commits and refusals made at this time or later were counted; in seconds since 1970.
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
    /// The groups of `--by`, ordered by name; empty without it.
    groups: Vec<GroupNumbers>,
    /// The refused calls in the record.
    refusals: RefusalNumbers,
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
    /// How many edits have each mode, including undone ones; `patch` for a patch. An edit with
    /// several modes counts for each. Edits by an agent's own tool have none.
    modes: BTreeMap<String, u64>,
    /// The part of the edits with a mode that have `append`; null if there are none.
    append_share: Option<f64>,
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

/// A group in numbers.
#[derive(Debug, Serialize, JsonSchema)]
struct GroupNumbers {
    /// What its edits and refusals have in common.
    group: Group,
    /// The counts of this group.
    #[serde(rename = "made")]
    numbers: Numbers,
    /// Its refused calls.
    refusals: RefusalNumbers,
}

/// Refused calls.
#[derive(Debug, Serialize, JsonSchema)]
struct RefusalNumbers {
    /// All of them.
    all: Outcomes,
    /// By code. A call with several codes counts for each.
    codes: BTreeMap<String, Outcomes>,
}

/// Refused calls, and what the next call about the same place was.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
struct Outcomes {
    /// How many calls were refused.
    refused: u64,
    /// It landed.
    landed: u64,
    /// It landed with an override.
    overridden: u64,
    /// It was refused, too.
    refused_again: u64,
    /// There was none. It is always so for a command.
    nothing: u64,
    /// How often the memory found each class of difference between the two calls.
    classes: BTreeMap<String, u64>,
}

#[expect(clippy::cast_precision_loss, reason = "a rate of fewer than 2^52 edits")]
fn rate(part: u64, all: u64) -> Option<f64> {
    (all > 0).then(|| part as f64 / all as f64)
}

impl From<&EditCounts> for Numbers {
    fn from(tally: &EditCounts) -> Numbers {
        let undo_rate = rate(tally.undone, tally.made());
        let appends = tally.modes.get("append").copied().unwrap_or_default();
        let append_share = rate(appends, tally.with_mode);
        let EditCounts { edits, restores, runs, undone, checkpoints, user_commits, .. } = *tally;
        let EditCounts { overrides, modes, .. } = tally.clone();
        Numbers {
            edits,
            restores,
            runs,
            undone,
            undo_rate,
            checkpoints,
            user_commits,
            overrides,
            modes,
            append_share,
        }
    }
}

impl From<&RefusalCounts> for Outcomes {
    fn from(counts: &RefusalCounts) -> Outcomes {
        let nothing = counts.nothing();
        let RefusalCounts { calls: refused, landed, overridden, refused_again, classes } =
            counts.clone();
        Outcomes { refused, landed, overridden, refused_again, nothing, classes }
    }
}

impl From<&RefusalStats> for RefusalNumbers {
    fn from(stats: &RefusalStats) -> RefusalNumbers {
        let codes = stats.codes.iter().map(|(code, counts)| (code.clone(), counts.into()));
        RefusalNumbers { all: (&stats.all).into(), codes: codes.collect() }
    }
}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
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
        let refusals = Refusals::of(&repo, &filter);
        let mut total = EditCounts::default();
        for one in &counted {
            total.add(&one.all());
        }
        let listed: Vec<&SessionStats> = counted
            .iter()
            .filter(|one| self.ended || self.session.is_some() || !one.session.has_ended())
            .collect();
        let answer = Answer {
            schema: "edt.stats/1",
            since,
            total: Numbers::from(&total),
            agents: agent_numbers(&counted),
            groups: self.by.map_or_else(Vec::new, |by| group_numbers(&counted, &refusals, by)),
            ended: (counted.len() - listed.len()) as u64,
            sessions: listed
                .into_iter()
                .map(|one| session_numbers(&repo, one))
                .collect::<Result<_>>()?,
            refusals: (&refusals.total()).into(),
        };
        Ok(context.answer(&answer, Answer::render_human))
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
    for one in counted {
        let mut own: BTreeMap<&Option<String>, EditCounts> = BTreeMap::new();
        for (maker, tally) in &one.makers {
            own.entry(&maker.agent).or_default().add(tally);
        }
        for (agent, tally) in own {
            let (sessions, all) = agents.entry(agent).or_default();
            *sessions += 1;
            all.add(&tally);
        }
    }
    let of = |(agent, (sessions, tally)): (&Option<String>, (u64, EditCounts))| AgentNumbers {
        agent: agent.clone(),
        sessions,
        numbers: Numbers::from(&tally),
    };
    agents.into_iter().map(of).collect()
}

fn group_numbers(counted: &[SessionStats], refusals: &Refusals, by: By) -> Vec<GroupNumbers> {
    let mut groups: BTreeMap<Group, (EditCounts, RefusalStats)> = BTreeMap::new();
    for one in counted {
        for (maker, tally) in &one.makers {
            let group = by.group(Some(&one.session.name), maker);
            groups.entry(group).or_default().0.add(tally);
        }
    }
    for (group, refused) in refusals.by(|session, maker| by.group(session, maker)) {
        groups.entry(group).or_default().1 = refused;
    }
    let of = |(group, (tally, refused)): (Group, (EditCounts, RefusalStats))| GroupNumbers {
        group,
        numbers: Numbers::from(&tally),
        refusals: (&refused).into(),
    };
    groups.into_iter().map(of).collect()
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
    fn numbers_are_four_lines_at_most() {
        let mut counts = counts();
        counts.modes.insert("append".to_owned(), 1);
        counts.with_mode = 4;
        counts.overrides.insert("size_reduction".to_owned(), 2);
        assert_eq!(
            crate::cli::tests::plain(&Numbers::from(&counts).render_human("fix (open)")),
            "fix (open)\n  3 edits, 0 restores, 0 runs in effect; 1 undone (25.0 %)\n  0 checkpoints, 0 \
         commits of the user\n  overrides: size_reduction 2\n  modes: append 1 (25.0 %)\n"
        );
    }

    #[test]
    fn refusals_are_a_line_and_one_for_each_code() {
        let counts = |calls, landed| RefusalCounts {
            calls,
            landed,
            classes: BTreeMap::from([("white_space".to_owned(), landed)]),
            ..RefusalCounts::default()
        };
        let codes = BTreeMap::from([
            ("HASH_REQUIRED".to_owned(), RefusalCounts { calls: 1, ..counts(1, 1) }),
            ("SECRET".to_owned(), RefusalCounts { calls: 2, ..RefusalCounts::default() }),
        ]);
        let stats = RefusalStats { all: counts(3, 1), codes };
        assert_eq!(
            RefusalNumbers::from(&stats).render_human(""),
            "refused: 3: 1 landed next, 2 not followed (white_space 1)\n  HASH_REQUIRED  1: 1 landed \
             next (white_space 1)\n  SECRET         2: 2 not followed\n"
        );
        assert_eq!(RefusalNumbers::from(&RefusalStats::default()).render_human(""), "");
    }

    #[test]
    fn a_turn_is_a_group_of_its_session() {
        let maker = Maker { agent: Some("a".into()), model: Some("m".into()), turn: Some(3) };
        let name = |by: By| by.group(Some("fix"), &maker).render_human();
        assert_eq!(
            By::ALL.map(|(_, by)| name(by)),
            ["agent a", "agent a, model m", "session fix, agent a, turn 3", "session fix"]
        );
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
