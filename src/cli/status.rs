//! `edt status`.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::context::Context;
use super::render::{self, DIM, NAME, NOTE, paint, short};
use edt_core::proposal::{self, ProposalState};
use edt_core::session::list::{self, SessionSummary};
use edt_core::session::status::{WorktreeStatus, status};
use edt_git::Repo;
use edt_types::{Recovered, Result, SessionReport, Status, Warning};

/// Show the session, its edits, and unrecorded changes.
#[derive(Debug, clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[command(after_help = "Example:\n  edt status --json")]
pub(super) struct Args {}

/// The answer of `edt status`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Answer {
    /// Always `edt.status/1`.
    schema: &'static str,
    /// The session of this worktree.
    session: Option<SessionReport>,
    /// The session branch's commit, as a hex object id.
    tip: Option<String>,
    /// Whether HEAD is on the session's branch.
    switched: bool,
    /// How many edits the session has.
    edits: u64,
    /// Paths that differ between base and tip.
    changed: Vec<String>,
    /// Paths that Git reports as uncommitted or untracked.
    uncommitted: Vec<String>,
    /// Paths of the session that were changed outside edt. The next edit of such a path records the
    /// change first.
    foreign: Vec<String>,
    /// Every session of this repository, ordered by name.
    sessions: Vec<SessionLine>,
    /// Ids of the proposals that wait for the user.
    proposals: Vec<String>,
    /// The user's decisions on proposals that no earlier answer reported.
    warnings: Vec<Warning>,
    /// An interrupted transaction that this call recovered.
    recovered: Option<Recovered>,
}

/// One session of the repository.
#[derive(Debug, Serialize, JsonSchema)]
struct SessionLine {
    /// Its name, without `edt/`.
    name: String,
    /// `open`, `landed`, `abandoned` or `deleted` (someone deleted its branch).
    state: &'static str,
    /// Its newest commit, as a hex object id.
    tip: String,
    /// How many edits it has.
    edits: u64,
    /// The branch it began on, or a commit.
    origin: Option<String>,
    /// The worktree that uses it.
    worktree: Option<String>,
    /// The time of its newest commit, in seconds since 1970.
    time: i64,
    /// How many undone tips are kept for `redo`.
    undone: u64,
}

impl SessionLine {
    fn of(listed: SessionSummary) -> SessionLine {
        let short =
            |name: String| name.strip_prefix("refs/heads/").map(str::to_owned).unwrap_or(name);
        SessionLine {
            name: listed.name,
            state: listed.state.name(),
            tip: listed.tip.to_string(),
            edits: listed.edits,
            origin: listed.origin.map(short),
            worktree: listed.worktree.map(|root| root.display().to_string()),
            time: listed.time,
            undone: listed.undone.len() as u64,
        }
    }
}

impl Args {
    #[expect(clippy::unused_self, reason = "every command runs by its arguments")]
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let (repo, recovered) = context.repo()?;
        context.load_decisions(&repo);
        let answer = Answer { warnings: context.new_decisions(), ..answer(&repo, recovered)? };
        Ok(context.answer(&answer, render_human))
    }
}

fn answer(repo: &Repo, recovered: Option<Recovered>) -> Result<Answer> {
    let WorktreeStatus { session, tip, switched, edits, changed, uncommitted, foreign, recovered } =
        status(repo, recovered)?;
    Ok(Answer {
        schema: "edt.status/1",
        session,
        tip,
        switched,
        edits,
        changed,
        uncommitted,
        foreign,
        sessions: list::sessions(repo)?.into_iter().map(SessionLine::of).collect(),
        proposals: proposal::store::all(repo)?
            .into_iter()
            .filter(|one| one.state == ProposalState::Open)
            .map(|one| one.id.to_string())
            .collect(),
        warnings: Vec::new(),
        recovered,
    })
}

fn render_human(answer: &Answer) -> String {
    let mut out = render::recovered(answer.recovered.as_ref());
    match &answer.session {
        None => out.push_str("No session here. `edt begin` or the first `edt apply` starts one.\n"),
        Some(session) => {
            let tip = answer.tip.as_deref().unwrap_or_default();
            let place = if answer.switched { "HEAD is on it" } else { "HEAD is not on it" };
            let _ = writeln!(
                out,
                "session {} {}",
                paint(NAME, &session.branch),
                paint(DIM, &format!("({place})"))
            );
            let _ = writeln!(
                out,
                "  base {}  tip {}  edits {}",
                short(&session.base),
                short(tip),
                answer.edits
            );
            paths(&mut out, "changed since the base", &answer.changed);
        }
    }
    paths(&mut out, "changed outside edt since its last edit", &answer.foreign);
    paths(&mut out, "uncommitted", &answer.uncommitted);
    if !answer.proposals.is_empty() {
        let _ = writeln!(
            out,
            "{}",
            paint(
                NOTE,
                &format!("proposals that wait for the user: {}", answer.proposals.join(", "))
            )
        );
    }
    render::warnings(&mut out, &answer.warnings);
    others(&mut out, answer);
    out
}

/// Renders the sessions of other worktrees.
fn others(out: &mut String, answer: &Answer) {
    let own = answer.session.as_ref().map(|session| session.name.as_str());
    let others: Vec<&SessionLine> =
        answer.sessions.iter().filter(|one| Some(one.name.as_str()) != own).collect();
    if others.is_empty() {
        return;
    }
    let _ = writeln!(out, "{}", paint(NOTE, &format!("other sessions ({}):", others.len())));
    for one in others {
        let _ = write!(
            out,
            "  {} {} {}, edits {}",
            paint(NAME, &one.name),
            one.state,
            short(&one.tip),
            one.edits
        );
        if let Some(root) = &one.worktree {
            let _ = write!(out, ", in {root}");
        }
        out.push('\n');
    }
}

fn paths(out: &mut String, what: &str, paths: &[String]) {
    if paths.is_empty() {
        return;
    }
    let _ = writeln!(out, "{}", paint(NOTE, &format!("{what} ({}):", paths.len())));
    for path in paths {
        let _ = writeln!(out, "  {path}");
    }
}

#[cfg(test)]
mod tests {
    use edt_core::Request;
    use edt_testkit::ScratchRepo;

    use super::*;
    use crate::cli::tests::{Session as Scratch, plain};

    /// The status for a terminal, with `ID` in place of the commits.
    fn rendered(repo: &Repo) -> String {
        let answer = answer(repo, None).unwrap();
        let mut text = plain(&render_human(&answer));
        let ids = answer.sessions.iter().map(|one| &one.tip).chain(&answer.tip);
        for id in ids.chain(answer.session.iter().map(|session| &session.base)) {
            text = text.replace(short(id), "ID");
        }
        text
    }

    #[test]
    fn without_a_session_the_next_step_is_named() {
        let scratch = ScratchRepo::with(&[("a.txt", "one\n")]);
        assert_eq!(
            rendered(&Repo::open(scratch.path()).unwrap()),
            "No session here. `edt begin` or the first `edt apply` starts one.\n"
        );
    }

    #[test]
    fn a_session_lists_what_it_changed() {
        let scratch = Scratch::new();
        scratch.apply(&Request::new("x").edit("a.txt", "one", "two"));
        assert_eq!(
            rendered(&scratch.repo()),
            "session edt/fix (HEAD is on it)\n  base ID  tip ID  edits 1\nchanged since the base (1):\n  \
         a.txt\n"
        );
    }

    #[test]
    fn a_landed_session_is_one_of_the_others() {
        let scratch = Scratch::new();
        scratch.apply(&Request::new("x").edit("a.txt", "one", "two"));
        scratch.workspace().land(edt_core::Land::default()).unwrap();
        assert_eq!(
            rendered(&scratch.repo()),
            "No session here. `edt begin` or the first `edt apply` starts one.\nother sessions (1):\n  fix \
         landed ID, edits 1\n"
        );
    }

    #[test]
    fn proposals_and_warnings_come_before_other_sessions() {
        let answer = Answer {
            proposals: vec!["1".to_owned(), "2".to_owned()],
            warnings: vec![Warning {
                code: "x",
                path: None,
                message: "It was rejected.".to_owned(),
            }],
            ..answer(&Scratch::new().repo(), None).unwrap()
        };
        let text = plain(&render_human(&answer));
        assert!(
            text.ends_with("proposals that wait for the user: 1, 2\n  warning: It was rejected.\n"),
            "{text}"
        );
    }
}
