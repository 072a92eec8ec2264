//! `edt land` and `edt abandon`, which end a session.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;

use schemars::JsonSchema;
use serde::Deserialize;

use super::comment;
use super::complete;
use super::context::Context;
use super::gc;
use super::render::details;
use super::render::{self, DIM, GOOD, NAME, paint, short};
use super::terminal_user::{confirm, require_terminal};
use edt_agents::hook::who::Who;
use edt_core::proposal::landing::land;
use edt_core::session::back::abandon::abandon;
use edt_core::session::landing::options::LandOptions;
use edt_core::session::landing::unland::{UndoneBy, UnlandOptions, unland};
use edt_core::session::recording::record;
use edt_core::session::{LockedWorkspace, Session};
use edt_git::Oid;
use edt_io::disk::MAX_FILE;
use edt_io::fs;
use edt_types::text::Shown as _;
use edt_types::text::counted;
use edt_types::{Code, Finding, Refusal, RepoPath, Result, Status};

/// Land the session: squash it into one commit on the branch it began from, merged if that branch
/// moved. Git's commit hooks run.
///
/// The commit is made in the worktree that has the branch checked out; if none has, HEAD switches
/// to it. The user's own commits on the session's branch stay separate commits. The session's
/// branch stays until `edt gc`.
///
/// With --to, only the commits up to one edit land; with --only, only the edits with these numbers.
/// The rest stays in the session, which goes on: HEAD and the files do not change.
///
/// With --undo, the last landing is undone: the branch moves back if nothing came on top and no
/// remote has the landing; otherwise a new commit reverts it. The session is open again, and
/// `edt switch NAME` returns to it.
#[derive(Debug, clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[command(
    after_help = "Example:\n  edt land -m 'Fix the parser'\n  edt land --signoff\n  edt land --into main\n  edt land --to 3\n  edt land --only 1,3\n  edt land --undo"
)]
pub(super) struct Args {
    /// The commit's message; generated from the session's edits if omitted.
    #[arg(short, long, value_name = "MESSAGE")]
    message: Option<String>,
    /// Add a `Signed-off-by` trailer with the committer's name, as `git commit --signoff` does.
    #[arg(short, long)]
    #[serde(default)]
    signoff: bool,
    /// Override a guard's finding about the landing as a whole.
    #[arg(long, value_name = "CODE")]
    #[serde(default)]
    allow: Vec<String>,
    /// The branch to land on; the branch on which the session began if omitted.
    #[arg(long, value_name = "BRANCH")]
    into: Option<String>,
    /// Land only the commits up to the edit with this number. The rest stays in the session.
    #[arg(long, value_name = "EDIT", add = complete::edits())]
    to: Option<u64>,
    /// Land only the edits with these numbers. The rest stays in the session, after them.
    #[arg(long, value_name = "EDITS", value_delimiter = ',', conflicts_with = "to", add = complete::edits())]
    #[schemars(length(min = 1))]
    only: Option<Vec<u64>>,
    /// Undo the last landing of the session instead: that of the worktree, else the one that landed
    /// last on HEAD's branch.
    #[arg(long, conflicts_with_all = ["message", "signoff", "allow", "into", "to", "only"])]
    #[serde(default)]
    undo: bool,
    /// With --undo: the session whose last landing is undone.
    #[arg(long, value_name = "NAME", requires = "undo", add = complete::sessions())]
    session: Option<String>,
}

/// What the user is asked about.
#[derive(PartialEq, Eq)]
struct LandState {
    session: String,
    tip: Oid,
    files: Vec<Option<Vec<u8>>>,
}

impl LandState {
    fn of(workspace: &LockedWorkspace, paths: &[RepoPath]) -> Result<LandState> {
        let repo = &workspace.repo;
        let session = Session::required(repo, &repo.head()?)?;
        let content = |path: &RepoPath| {
            let place = repo.root_path().join(OsStr::from_bytes(path.as_bytes()));
            fs::read_small(&place, MAX_FILE)
        };
        let files = paths.iter().map(content).collect();
        Ok(LandState { session: session.name, tip: session.tip, files })
    }
}

/// Abandon the session: HEAD and files return to their state before it. The work stays at
/// refs/edt/NAME/abandoned.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  edt abandon\n  git branch edt/NAME refs/edt/NAME/abandoned   # restores its branch"
)]
pub(super) struct AbandonArgs {}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        self.check()?;
        if self.undo {
            return self.run_undo(context);
        }
        let mut workspace = context.workspace()?;
        let session = Session::required(&workspace.repo, &workspace.repo.head()?)?;
        let mut options = LandOptions::default();
        options.into.clone_from(&self.into);
        options.to = self.to;
        options.only = self.only.clone().unwrap_or_default();
        options.message.clone_from(&self.message);
        options.signoff = self.signoff;
        options.allow.clone_from(&self.allow);
        options.by_user = context.who() == Who::User;
        let (session, landed) = match land(&mut workspace, &session, &options) {
            Err(found) if self.commits_left_over(context, &mut workspace, &found)? => {
                let session = Session::required(&workspace.repo, &workspace.repo.head()?)?;
                let landed = land(&mut workspace, &session, &options)?;
                (session, landed)
            }
            landed => (session, landed?),
        };
        let (into, made) = (landed.target.short().to_owned(), landed.commits.len());
        let (edits, rest, elsewhere) = (landed.edits, landed.rest, landed.elsewhere.clone());
        let mut outcome = landed.outcome(&workspace, &session)?;
        outcome.warnings.extend(comment::left_open(&workspace.repo, &session.name));
        gc::pack_in_background(&workspace.repo);
        Ok(context.outcome(&outcome, |outcome| {
            let mut out = render::recovered(outcome.recovered.as_ref());
            let (branch, commit) =
                (session.short_branch(), outcome.commit.as_deref().unwrap_or_default());
            let count = counted(edits, "edit");
            let _ = write!(
                out,
                "{}: {count} of {} on {}",
                paint(GOOD, "landed"),
                paint(NAME, branch),
                paint(NAME, &into)
            );
            let _ = writeln!(
                out,
                " as {}{}",
                short(commit),
                if made > 1 { format!(" ({made} commits)") } else { String::new() }
            );
            if rest > 0 {
                let stay = if rest == 1 { "stays" } else { "stay" };
                let _ = writeln!(out, "  {} {stay} in the session", counted(rest, "edit"));
            }
            if let Some(root) = &elsewhere {
                let _ = writeln!(out, "  in {}, where {into} is checked out", root.shown());
            }
            details(&mut out, outcome);
            out
        }))
    }
}

impl Args {
    /// The arguments of a tool are not checked by the command line.
    fn check(&self) -> Result<()> {
        let lands = self.message.is_some()
            || self.signoff
            || self.into.is_some()
            || self.to.is_some()
            || self.only.is_some()
            || !self.allow.is_empty();
        let message = match (self.undo, lands, &self.session) {
            (true, true, _) => "`undo` excludes every argument except `session`.",
            (false, _, Some(_)) => "`session` needs `undo`.",
            _ if self.to.is_some() && self.only.is_some() => "`to` and `only` exclude each other.",
            // Without any, the whole session lands.
            _ if self.only.as_ref().is_some_and(Vec::is_empty) => "`only` names no edit.",
            _ => return Ok(()),
        };
        Err(Finding::new(Code::BadRequest, message, "Send one of them.").nothing_changed().into())
    }

    /// Whether only a part of the session lands.
    fn is_part(&self) -> bool {
        self.to.is_some() || self.only.is_some()
    }

    /// Asks the user at a terminal whether what the session's edits changed on disk alone should land,
    /// too, and commits it then. False if nobody can be asked, or something else is in the way.
    ///
    /// # Errors
    /// As `edt checkpoint`.
    fn commits_left_over(
        &self,
        context: &Context,
        workspace: &mut LockedWorkspace,
        found: &Refusal,
    ) -> Result<bool> {
        let [finding] = found.as_slice() else { return Ok(false) };
        let is_left_over = matches!(finding.code, Code::LeavesOut | Code::NothingToLand);
        let files = finding.evidence.get("files").and_then(|files| files.as_array());
        let Some(files) = files.filter(|_| is_left_over && !self.is_part()) else {
            return Ok(false);
        };
        if context.json || require_terminal("edt land").is_err() {
            return Ok(false);
        }
        let names: Vec<&str> = files.iter().filter_map(|file| file.as_str()).collect();
        let paths: Vec<RepoPath> =
            names.iter().map(|name| RepoPath::from_tree(name.as_bytes())).collect();
        let question = format!(
            "{}\nShould these files land as they are on disk, with your own lines in them: {}?\n\
             `yes` commits them and lands; anything else leaves all as it is: ",
            finding.summary,
            names.join(", ").shown()
        );
        if names.iter().any(|name| name.contains('\u{FFFD}')) {
            return Ok(false);
        }
        let asked = LandState::of(workspace, &paths)?;
        // The agent goes on while the user reads.
        let mut confirmed = false;
        workspace.unlocked(|_| {
            confirmed = confirm(&question);
            Ok(())
        })?;
        if !confirmed {
            return Ok(false);
        }
        if LandState::of(workspace, &paths)? != asked {
            context.note("The session or these files changed meanwhile: nothing was committed.\n");
            return Ok(false);
        }
        record::checkpoint(workspace, None, &paths)?;
        Ok(true)
    }

    fn run_undo(&self, context: &Context) -> Result<Status> {
        let mut workspace = context.workspace()?;
        let mut options = UnlandOptions::default();
        options.session.clone_from(&self.session);
        options.may_change_protected_paths = context.who() == Who::User;
        let undone = unland(&mut workspace, &options)?;
        let (landing, by, kept) = (undone.landing.clone(), undone.by, undone.kept.clone());
        let elsewhere = undone.elsewhere.clone();
        let outcome = undone.outcome(&workspace)?;
        Ok(context.outcome(&outcome, |outcome| {
            let mut out = render::recovered(outcome.recovered.as_ref());
            let onto = landing.branch.trim_start_matches("refs/heads/");
            let commit = outcome.commit.as_deref().unwrap_or_default();
            let how = match by {
                UndoneBy::Rewind => format!("{onto} is back at {}", short(commit)),
                UndoneBy::Revert => format!("{} on {onto} reverts it", short(commit)),
            };
            let branch = format!("edt/{}", landing.session);
            let _ = writeln!(
                out,
                "{}: the landing of {}; {how}",
                paint(GOOD, "undone"),
                paint(NAME, &branch)
            );
            let _ = writeln!(
                out,
                "  {}",
                paint(DIM, &format!("`edt switch {}` continues it; {kept}", landing.session))
            );
            if let Some(root) = &elsewhere {
                let _ = writeln!(out, "  in {}, where {onto} is checked out", root.shown());
            }
            details(&mut out, outcome);
            out
        }))
    }
}

pub(super) fn run_abandon(context: &Context) -> Result<Status> {
    let mut workspace = context.workspace()?;
    let session = Session::required(&workspace.repo, &workspace.repo.head()?)?;
    let left = abandon(&mut workspace, &session)?;
    workspace.observe_undone(session.tip, session.base);
    let (onto, kept) = (left.onto.clone(), left.kept.clone());
    let outcome = left.outcome(&workspace, &session);
    Ok(context.outcome(&outcome, |outcome| {
        let mut out = render::recovered(outcome.recovered.as_ref());
        let place = onto.as_deref().map_or_else(String::new, |onto| {
            format!("; HEAD is on {}", onto.strip_prefix("refs/heads/").unwrap_or(onto))
        });
        let _ = writeln!(
            out,
            "{} {}{place}. Its work stays at {}",
            paint(GOOD, "abandoned"),
            paint(NAME, session.short_branch()),
            kept
        );
        details(&mut out, outcome);
        out
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_list_of_edits_is_not_the_whole_session() {
        let checked = |value| serde_json::from_value::<Args>(value).unwrap().check();
        assert_eq!(checked(serde_json::json!({"only": [3, 1]})), Ok(()));
        for refused in [serde_json::json!({"only": []}), serde_json::json!({"only": [], "to": 1})] {
            assert_eq!(checked(refused).unwrap_err().codes(), ["BAD_REQUEST"]);
        }
    }
}
