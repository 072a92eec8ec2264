//! `edt status`.

use edt_types::text::Shown as _;
use std::collections::BTreeSet;
use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::context::Context;
use super::log::lands_again;
use super::render::{self, DIM, NAME, NOTE, paint, short};
use edt_core::proposal::{self, ProposalState};
use edt_core::session::Session;
use edt_core::session::landing::list::{
    self, LandedBy, SessionChoice, SessionList, SessionState, SessionSummary,
};
use edt_core::session::recording::kept;
use edt_core::session::views::log::LogFile;
use edt_core::session::views::refused::{self, BackupDirectory, Overridden, RefusedRun};
use edt_core::session::views::status::{LeftOverLines, UncommittedFile, WorktreeStatus, status};
use edt_core::txn::refused_edits::{self, RefusedEdit};
use edt_git::Repo;
use edt_journal::index;
use edt_types::text::{counted, edits, escape_controls, places};
use edt_types::{OpenComments, Recovered, Result, SessionReport, Status, Warning, WarningCode};

/// Show the session, what it changed, and the user's uncommitted changes.
#[derive(Debug, Default, clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[command(after_help = "Example:\n  edt status --json")]
pub(super) struct Args {
    /// List the sessions that have ended, too.
    #[arg(long)]
    #[serde(default)]
    ended: bool,
}

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
    /// How many edits the session has that have not landed.
    edits: u64,
    /// Paths that differ between the base, or what landed last, and the tip. A renamed file has two.
    changed: Vec<String>,
    /// The renamed files among them.
    renamed: Vec<Renamed>,
    /// The user's uncommitted changes of tracked files: how the worktree differs from the tip, or
    /// from HEAD without a session. No edit commits or lands them unless it cannot be separated
    /// from them.
    user_changes: Vec<UncommittedFile>,
    /// Paths with staged content: the index differs from HEAD.
    staged: Vec<String>,
    /// Untracked files, without ignored ones. A directory without tracked files is one path that
    /// ends in `/`.
    untracked: Vec<String>,
    /// The files of `user_changes` and `untracked` that include changes of edits: no commit has those
    /// lines.
    left_over: Vec<LeftOverLines>,
    /// Untracked files that no commit may have, because Git ignored them or their content earlier.
    /// `git add` makes one an ordinary file.
    private: Vec<String>,
    /// Paths with merge conflicts.
    conflicted: Vec<String>,
    /// The operation of Git in progress: `merge`, `rebase`, `cherry-pick`, `revert`, `bisect` or
    /// `am`.
    operation: Option<&'static str>,
    /// The sessions of this repository that are open or that a worktree uses, ordered by name; with
    /// `--ended` every session.
    sessions: Vec<SessionLine>,
    /// How many ended sessions are not in `sessions`.
    ended: u64,
    /// The proposals that wait for the user, such as `p7`.
    proposals: Vec<String>,
    /// Refused edits that are kept in this worktree, oldest first.
    refused_edits: Vec<RefusedEdit>,
    /// The session's runs that were refused and rolled back, oldest first.
    refused_runs: Vec<RefusedRun>,
    /// The session's commits that needed overrides, newest first.
    allowed: Vec<Overridden>,
    /// Copies of files as they were before a program that was interrupted.
    backups: Vec<BackupDirectory>,
    /// The user's decisions on proposals that no earlier answer reported.
    warnings: Vec<Warning>,
    /// An interrupted transaction that this call recovered.
    recovered: Option<Recovered>,
    /// The user's comments that are open: an agent gets those that no answer had yet. Null if the
    /// session has none.
    comments: Option<OpenComments>,
}

/// A file that the session renamed.
#[derive(Debug, Serialize, JsonSchema)]
struct Renamed {
    /// The old path.
    from: String,
    /// The new path.
    path: String,
}

/// One session of the repository.
#[derive(Debug, Serialize, JsonSchema)]
struct SessionLine {
    /// Its name, without `edt/`.
    name: String,
    /// Its branch: `edt/` and the name, unless someone renamed it.
    branch: String,
    /// `open`, `landed`, `abandoned`, `deleted` (someone deleted its branch) or `renamed` (someone
    /// renamed it to `branch`, outside of `edt/`).
    state: &'static str,
    /// For a landed session: `edt` if `edt land` landed it, `git` if its content reached the branch
    /// it began on by plain Git; otherwise null.
    landed_by: Option<&'static str>,
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
    /// For a session whose landing is no longer in the branch that it landed on: what to do, as a
    /// sentence; otherwise null.
    lost_landing: Option<String>,
}

impl SessionLine {
    fn of(listed: SessionSummary) -> SessionLine {
        let short =
            |name: String| name.strip_prefix("refs/heads/").map(str::to_owned).unwrap_or(name);
        SessionLine {
            name: listed.name,
            branch: short(listed.branch),
            state: listed.state.name(),
            landed_by: listed.landed_by.map(LandedBy::name),
            tip: listed.tip.to_string(),
            edits: listed.edits,
            origin: listed.origin.map(short),
            worktree: listed.worktree.map(|root| root.to_string_lossy().into_owned()),
            time: listed.time,
            undone: listed.undone.len() as u64,
            lost_landing: listed.lost_landing.map(|landing| {
                let onto = landing.short_branch();
                format!("Its landing is no longer in {onto}. {}", lands_again(&landing))
            }),
        }
    }
}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let (repo, recovered) = context.repo()?;
        context.load_decisions(&repo);
        let interrupted = kept::interrupted(&repo);
        let reminder = kept::reminder(&repo).filter(|_| interrupted.is_empty());
        let left = index::left_lock(&repo).map(|left| Warning {
            code: WarningCode::LockLeft,
            path: None,
            message: format!("{} Edits are refused until then. {}", left.found(), left.remedy()),
        });
        context.load_comments(&repo);
        let decisions = context.new_decisions().into_iter();
        let delivery = context.status_comments();
        let warnings = decisions.chain(interrupted).chain(reminder).chain(left);
        let comments = delivery.comments.clone();
        let warnings = warnings.collect();
        let answer = Answer { warnings, comments, ..self.answer(&repo, recovered)? };
        // An agent lands when the user asks for it.
        let has_next = !context.json;
        let status = context.answer(&answer, |answer| {
            render_human(answer, has_next) + &render::comments(answer.comments.as_ref())
        });
        context.delivered(&delivery);
        Ok(status)
    }

    fn answer(&self, repo: &Repo, recovered: Option<Recovered>) -> Result<Answer> {
        let WorktreeStatus {
            session,
            tip,
            switched,
            edits,
            changed,
            user_changes,
            staged,
            untracked,
            left_over,
            private,
            conflicted,
            operation,
            recovered,
            ..
        } = status(repo, recovered)?;
        let current = Session::current(repo, &repo.head()?)?;
        let (mut refused_runs, mut allowed) = (Vec::new(), Vec::new());
        if let Some(session) = &current {
            refused_runs = refused::runs(repo, &session.name)?;
            allowed = refused::overridden(repo, session)?;
        }
        let mut paths: Vec<String> = changed
            .iter()
            .flat_map(|LogFile { path, from, .. }| from.iter().chain([path]).cloned())
            .collect();
        paths.sort();
        let renamed = |LogFile { path, from, .. }: LogFile| Some(Renamed { from: from?, path });
        let choice = if self.ended { SessionChoice::All } else { SessionChoice::Open };
        let SessionList { sessions, ended } = list::chosen(repo, &choice)?;
        Ok(Answer {
            schema: "edt.status/1",
            session,
            tip: tip.map(|tip| tip.to_string()),
            switched,
            edits,
            changed: paths,
            renamed: changed.into_iter().filter_map(renamed).collect(),
            user_changes,
            staged,
            untracked,
            left_over,
            private,
            conflicted,
            operation,
            sessions: sessions.into_iter().map(SessionLine::of).collect(),
            ended,
            proposals: proposal::store::all(repo)?
                .into_iter()
                .filter(|one| one.state == ProposalState::Open)
                .map(|one| format!("p{}", one.id))
                .collect(),
            refused_edits: refused_edits::kept(repo, None),
            refused_runs,
            allowed,
            backups: refused::copies(repo),
            warnings: Vec::new(),
            recovered,
            comments: None,
        })
    }
}

impl Answer {
    /// The branch that the session of this worktree began on.
    fn origin(&self) -> Option<&str> {
        let own = self.session.as_ref()?;
        self.sessions.iter().find(|one| one.name == own.name)?.origin.as_deref()
    }
}

fn render_human(answer: &Answer, has_next: bool) -> String {
    let mut out = render::recovered(answer.recovered.as_ref());
    match &answer.session {
        None => out.push_str("No session here. `edt begin` or the first `edt apply` starts one.\n"),
        Some(session) => {
            let tip = answer.tip.as_deref().unwrap_or_default();
            let origin = answer.origin();
            let place = match (answer.switched, origin) {
                (true, Some(origin)) => {
                    let text = format!("HEAD is on it: a commit goes there, not to {origin}");
                    paint(NOTE, &escape_controls(&text).0)
                }
                (true, None) => paint(NOTE, "HEAD is on it"),
                (false, _) => paint(DIM, "HEAD is not on it"),
            };
            let _ = writeln!(out, "session {} ({place})", paint(NAME, &session.branch));
            let _ = writeln!(
                out,
                "  base {}  tip {}  edits {}",
                short(&session.base),
                short(tip),
                answer.edits
            );
            if has_next && answer.edits > 0 {
                let onto = origin.map(|origin| format!(" on {origin}")).unwrap_or_default();
                let next = format!(
                    "  next: `edt diff` shows the work, `edt land` lands it{onto}, `edt undo` undoes \
                     the last edit"
                );
                let _ = writeln!(out, "{}", paint(DIM, &escape_controls(&next).0));
            }
            changed(&mut out, answer);
        }
    }
    if let Some(operation) = answer.operation {
        let _ = writeln!(out, "{}", paint(NOTE, &format!("a {operation} is in progress")));
    }
    users(&mut out, answer);
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
    let (edits, runs) = (&answer.refused_edits, &answer.refused_runs);
    out.push_str(&refused_lines(edits, runs, &answer.allowed));
    render::warnings(&mut out, &answer.warnings);
    others(&mut out, answer);
    out
}

/// Refused edits and runs and overrides, each kind on one line.
pub(super) fn refused_lines(
    edits: &[RefusedEdit],
    runs: &[RefusedRun],
    allowed: &[Overridden],
) -> String {
    let mut out = String::new();
    let mut line = |text: String| {
        let _ = writeln!(out, "{}", paint(NOTE, &escape_controls(&text).0));
    };
    if !edits.is_empty() {
        let paths: BTreeSet<&str> = edits.iter().map(|one| one.path.as_str()).collect();
        let paths = paths.into_iter().collect::<Vec<_>>().join(", ");
        line(format!("refused edits ({}): {paths}; --json has them", edits.len()));
    }
    if let Some(last) = runs.last() {
        let count = runs.len();
        line(format!("refused runs ({count}): `git show {}` shows the last one", last.name));
    }
    if !allowed.is_empty() {
        let one = |one: &Overridden| format!("{} ({})", one.edit, one.allowed.join(", "));
        let all: Vec<String> = allowed.iter().rev().map(one).collect();
        line(format!("edits with overrides: {}", all.join(", ")));
    }
    out
}

/// Renders the sessions of other worktrees.
fn others(out: &mut String, answer: &Answer) {
    let own = answer.session.as_ref().map(|session| session.name.as_str());
    let others: Vec<&SessionLine> =
        answer.sessions.iter().filter(|one| Some(one.name.as_str()) != own).collect();
    if !others.is_empty() {
        let _ = writeln!(out, "{}", paint(NOTE, &format!("other sessions ({}):", others.len())));
    }
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
            let _ = write!(out, ", in {}", root.shown());
        }
        if one.state == SessionState::Renamed.name() {
            let _ = write!(out, ": its branch is now {}", escape_controls(&one.branch).0);
        }
        out.push('\n');
        if let Some(lost) = &one.lost_landing {
            let _ = writeln!(out, "    {}", paint(NOTE, &escape_controls(lost).0));
        }
    }
    if answer.ended > 0 {
        let ended = counted(answer.ended, "ended session");
        let _ = writeln!(out, "{}", paint(DIM, &format!("… {ended}: --ended lists them")));
    }
}

/// Renders what the session changed. A rename is one line.
fn changed(out: &mut String, answer: &Answer) {
    if answer.changed.is_empty() {
        return;
    }
    let source = |path: &str| answer.renamed.iter().any(|one| one.from == path);
    let shown: Vec<&String> = answer.changed.iter().filter(|path| !source(path)).collect();
    let _ = writeln!(out, "{}", paint(NOTE, &format!("changed by the session ({}):", shown.len())));
    for path in shown {
        let from = answer.renamed.iter().find(|one| one.path == **path).map(|one| &one.from);
        let from = from.map(|from| format!("{from} -> ")).unwrap_or_default();
        let _ = writeln!(out, "  {}", escape_controls(&format!("{from}{path}")).0);
    }
}

/// Renders the user's uncommitted changes and untracked files as `git status --short` does.
fn users(out: &mut String, answer: &Answer) {
    // `git rm --cached` and similar: the file on disk is the one of the tip.
    let listed = |path: &&String| answer.user_changes.iter().any(|one| one.path == **path);
    let alone: Vec<&String> = answer.staged.iter().filter(|path| !listed(path)).collect();
    let count = answer.user_changes.len() + answer.untracked.len();
    if count + alone.len() == 0 {
        return;
    }
    let name = |one: &UncommittedFile| {
        let from = one.from.as_ref().map(|from| format!("{from} -> ")).unwrap_or_default();
        escape_controls(&format!("{from}{}", one.path)).0
    };
    let _ = writeln!(out, "{}", paint(NOTE, "uncommitted, the user's:"));
    let names: Vec<String> = answer.user_changes.iter().map(name).collect();
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).min(60);
    for (one, name) in answer.user_changes.iter().zip(&names) {
        let [index, worktree] = one.letters;
        let lines = match (one.lines_added, one.lines_removed) {
            (Some(added), Some(removed)) => format!("+{added} -{removed}"),
            _ => "-".to_owned(),
        };
        let _ = writeln!(out, "{index}{worktree} {name:<width$}  {}", paint(DIM, &lines));
    }
    for path in alone {
        let note = paint(DIM, "(staged alone)");
        let _ = writeln!(out, "M  {}  {note}", escape_controls(path).0);
    }
    for path in answer.untracked.iter().take(UNTRACKED_SHOWN) {
        let _ = writeln!(out, "?? {}", escape_controls(path).0);
    }
    if !answer.private.is_empty() {
        let _ = writeln!(out, "{}", paint(NOTE, "private, in no commit unless `git add` adds it:"));
    }
    for path in &answer.private {
        let _ = writeln!(out, "   {}", escape_controls(path).0);
    }
    if let Some(more) = answer.untracked.len().checked_sub(UNTRACKED_SHOWN).filter(|more| *more > 0)
    {
        let more = counted(more as u64, "more untracked file");
        let _ = writeln!(out, "{}", paint(DIM, &format!("… {more}: --json lists all")));
    }
    for one in &answer.left_over {
        let lines = match places(&one.lines) {
            lines if lines.is_empty() => lines,
            lines => format!(" ({lines})"),
        };
        let text = format!(
            "your uncommitted changes in {} include changes of {}{lines}",
            escape_controls(&one.path).0,
            edits(&one.edits)
        );
        let _ = writeln!(out, "{}", paint(NOTE, &text));
    }
}

/// How many untracked paths a terminal shows.
const UNTRACKED_SHOWN: usize = 20;

#[cfg(test)]
mod tests {
    use edt_core::Request;
    use edt_testkit::ScratchRepo;

    use super::*;
    use crate::cli::tests::{Session as Scratch, plain};

    /// The status for a terminal, with `ID` in place of the commits.
    fn rendered(repo: &Repo) -> String {
        let answer = Args::default().answer(repo, None).unwrap();
        let mut text = plain(&render_human(&answer, true));
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
            "session edt/fix (HEAD is on it: a commit goes there, not to main)\n  base ID  tip ID  \
             edits 1\n  next: `edt diff` shows the work, `edt land` lands it on main, `edt undo` \
             undoes the last edit\nchanged by the session (1):\n  a.txt\n"
        );
    }

    #[test]
    fn the_users_changes_are_aligned_as_git_prints_them() {
        let scratch = Scratch::new();
        scratch.apply(&Request::new("x").create("long-name.txt", "one\n"));
        scratch.write("a.txt", "one\nmine\n");
        scratch.write("long-name.txt", "mine\n");
        scratch.write("notes/n.txt", "mine\n");
        let text = rendered(&scratch.repo());
        assert!(
            text.ends_with(
                "uncommitted, the user's:\n M a.txt          +1 -0\n M long-name.txt  +1 -1\n\
                 ?? notes/\n"
            ),
            "{text}"
        );
    }

    #[test]
    fn a_renamed_file_is_one_line() {
        let scratch = Scratch::new();
        scratch.apply(&Request::new("x").rename("a.txt", "b.txt"));
        assert!(rendered(&scratch.repo()).ends_with("(1):\n  a.txt -> b.txt\n"));
        let answer = Args::default().answer(&scratch.repo(), None).unwrap();
        assert_eq!(answer.changed, ["a.txt", "b.txt"]);
    }

    #[test]
    fn a_landed_session_is_listed_on_request() {
        let scratch = Scratch::new();
        scratch.apply(&Request::new("x").edit("a.txt", "one", "two"));
        scratch.workspace().land(edt_core::Land::default()).unwrap();
        let none = "No session here. `edt begin` or the first `edt apply` starts one.\n";
        assert_eq!(
            rendered(&scratch.repo()),
            format!("{none}… 1 ended session: --ended lists them\n")
        );
        let all = Args { ended: true }.answer(&scratch.repo(), None).unwrap();
        let line =
            format!("other sessions (1):\n  fix landed {}, edits 1\n", short(&all.sessions[0].tip));
        assert_eq!(plain(&render_human(&all, true)), format!("{none}{line}"));
    }

    #[test]
    fn proposals_and_warnings_come_before_other_sessions() {
        let answer = Answer {
            proposals: vec!["p1".to_owned(), "p2".to_owned()],
            warnings: vec![Warning {
                code: WarningCode::Guard("x"),
                path: None,
                message: "It was rejected.".to_owned(),
            }],
            ..Args::default().answer(&Scratch::new().repo(), None).unwrap()
        };
        let text = plain(&render_human(&answer, true));
        assert!(
            text.ends_with(
                "proposals that wait for the user: p1, p2\n  warning: It was rejected.\n"
            ),
            "{text}"
        );
    }
}
