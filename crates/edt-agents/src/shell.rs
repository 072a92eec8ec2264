//! Judges a command for an agent's own shell before it runs, and keeps what it changed.
//!
//! The shell is the agent's: edt neither confines nor watches the command. So what changed while it
//! ran is left over: on disk alone, in the list of `edt status`, and undone by `edt undo`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::event::{HookMessage, Question, ShellCommand};
use super::locate;
use super::{messages, wrap};
use edt_command::{CommandEvaluation, CommandQuery, Decision, OnFindings};
use edt_core::refusals::{self, Attempt};
use edt_core::session::private::not_kept::NamedPaths;
use edt_core::session::recording::record::{CommitInfo, RecordAction, record_changes};
use edt_core::session::recording::review::{self, ChangesPreview, ChangesReview};
use edt_core::session::recording::shell_snapshot::ShellCall;
use edt_core::session::recording::snapshot::Snapshot;
use edt_core::session::refs::current;
use edt_core::session::refs::message::Kind;
use edt_core::session::worktree::options::Options;
use edt_core::session::worktree::workspace::current_policy;
use edt_core::session::worktree::worktree_host::WorktreeHost;
use edt_core::session::{LockedWorkspace, Session};
use edt_git::{Repo, sha256};
use edt_io::{Environment, failed, fs};
use edt_types::text::{escape_controls, shell_word};
use edt_types::trace::names::{RECORD, SNAPSHOT};
use edt_types::{Code, Effect, Finding, Result, stage};

/// The most characters of a command in a subject line.
const MAX_SUBJECT: usize = 64;
/// After this time a command whose end was not reported counts as ended: agents end theirs earlier.
const STALE_MINUTES: u64 = 15;
/// The kind of a command of an agent's own shell, in the record of refusals.
const COMMAND: &str = "command";
/// The most paths that a message names.
const MAX_NAMED: usize = 10;

/// A command of a conversation.
pub(super) struct Call<'a> {
    pub(super) command: &'a ShellCommand,
    /// The directory that it runs in.
    pub(super) dir: &'a Path,
    /// The agent's name for its conversation.
    pub(super) conversation: Option<&'a str>,
    pub(super) agent: &'static str,
    pub(super) options: &'a Options,
}

impl Call<'_> {
    /// Judges the command, then takes a snapshot, if it may run. Outside of every worktree nothing is
    /// judged.
    ///
    /// # Errors
    /// `BAD_REQUEST` for a policy that cannot be read; `LOCKED`, `IO_ERROR`, `OBJECT_MISSING`.
    pub(super) fn before(&self) -> Result<HookMessage> {
        let Some(root) = root(self.dir)? else { return Ok(HookMessage::Silent) };
        let (evaluation, named) = self.evaluate(&root)?;
        if evaluation.decision == Decision::Deny {
            return Ok(HookMessage::Refusal(self.denied(&root, &evaluation)));
        }
        let needs_record = !wrap::needs_no_record(&self.command.script, &evaluation);
        if !needs_record && !self.has_pending(&root)? {
            return Ok(HookMessage::Silent);
        }
        let (mut workspace, mut infos) = open(&root, self.options)?;
        // The end of the last command was not reported.
        infos.extend(self.close(&mut workspace)?);
        let stale = Snapshot::stale_of_shell(&workspace.repo, &self.conversation()?, STALE_MINUTES);
        for snapshot in stale {
            infos.extend(self.keep(&mut workspace, &snapshot)?);
        }
        let repo = &workspace.repo;
        let session = Session::current(repo, &repo.head()?)?;
        let tree = current::tree_now(repo, session.as_ref())?;
        let wrapped = needs_record
            && self.command.can_be_changed
            && evaluation.decision == Decision::Allow
            && wrap::is_possible(&self.command.script, &evaluation)
            && !Snapshot::is_not_wrapped(repo, self.agent);
        let (name, command) = (&self.name()?, &self.command.script);
        let dir = &fs::real_path(self.dir);
        let call = ShellCall { name, command, dir, wrapped };
        stage!(SNAPSHOT, Snapshot::take_of_shell(repo, tree, &named, call))?;
        let info = infos.join("\n\n");
        Ok(match evaluation.decision {
            Decision::Ask => HookMessage::Ask(self.question(&evaluation)),
            _ if wrapped => {
                let command = wrap::command(self.agent, name, command)
                    .map_err(|error| failed("find", Path::new("edt"), &error))?;
                HookMessage::Instead { command, info }
            }
            _ if infos.is_empty() => HookMessage::Silent,
            _ => HookMessage::Info(info),
        })
    }

    /// Keeps what changed since the command began.
    ///
    /// # Errors
    /// `LOCKED`, `REPOSITORY_BUSY`, `IO_ERROR`, `OBJECT_MISSING`; errors of publishing.
    pub(super) fn after(&self) -> Result<HookMessage> {
        let Some(root) = root(self.dir)? else { return Ok(HookMessage::Silent) };
        let repo = Repo::open_worktree(Environment::Process, &root)?;
        let Some(before) = Snapshot::of_shell(&repo, &self.name()?) else {
            return Ok(HookMessage::Silent);
        };
        let (mut workspace, mut infos) = open(&root, self.options)?;
        if before.is_unclaimed() {
            Snapshot::remember_not_wrapped(&workspace.repo, self.agent)?;
            infos.push(messages::not_wrapped(self.agent));
        }
        infos.extend(self.close(&mut workspace)?);
        Ok(if infos.is_empty() {
            HookMessage::Silent
        } else {
            HookMessage::Info(infos.join("\n\n"))
        })
    }

    /// Why the policy denies the command; `None` if it does not, and outside of every worktree.
    ///
    /// # Errors
    /// `BAD_REQUEST` for a policy that cannot be read; `IO_ERROR`, `OBJECT_MISSING`.
    pub(super) fn denial(&self) -> Result<Option<String>> {
        let Some(root) = root(self.dir)? else { return Ok(None) };
        let (evaluation, _) = self.evaluate(&root)?;
        Ok((evaluation.decision == Decision::Deny).then(|| self.denied(&root, &evaluation)))
    }

    /// The decision of the policy, as on a program that runs the script, and the paths that it names.
    fn evaluate(&self, root: &Path) -> Result<(CommandEvaluation, NamedPaths)> {
        let repo = Repo::open_worktree(Environment::Process, root)?;
        let (_, policy) = current_policy(&repo, self.options)?;
        repo.set_max_file_size(policy.max_file_bytes);
        let args = ["-c".into(), self.command.script.clone().into()];
        let (dir, root) = (fs::real_path(self.dir), repo.real_root()?);
        let query = CommandQuery {
            program: "bash".as_ref(),
            args: &args,
            dir: &dir,
            root: &root,
            env: &[],
            level: policy.commands.run.min_level,
        };
        let host = WorktreeHost::new(Some(&repo));
        let evaluation = policy.commands.evaluate(&query, &host);
        Ok((evaluation, host.into_named()))
    }

    /// Keeps what changed since the snapshot of this conversation, if there is one.
    fn close(&self, workspace: &mut LockedWorkspace) -> Result<Option<String>> {
        match Snapshot::of_shell(&workspace.repo, &self.name()?) {
            Some(before) => self.keep(workspace, &before),
            None => Ok(None),
        }
    }

    fn keep(&self, workspace: &mut LockedWorkspace, before: &Snapshot) -> Result<Option<String>> {
        let line = escape_controls(before.command().trim()).0;
        let message = format!("shell: {}\n\nCommand: {line}", cut(&line));
        keep(workspace, before, (message, self.agent), "the command")
    }

    /// Whether a command of this conversation has begun, and its end was not reported.
    fn has_pending(&self, root: &Path) -> Result<bool> {
        let repo = Repo::open_worktree(Environment::Process, root)?;
        Ok(!Snapshot::stale_of_shell(&repo, &self.conversation()?, 0).is_empty())
    }

    /// The name of the snapshot of this call.
    fn name(&self) -> Result<String> {
        // Several may run at once. Where the agent does not name them, the scripts distinguish them.
        let by_script = if self.command.can_be_changed { &*self.command.script } else { "" };
        let call = self.command.call.as_deref().unwrap_or(by_script);
        Ok(format!("{}-{}", self.conversation()?, short_id(call)?))
    }

    /// The start of the names of this conversation.
    fn conversation(&self) -> Result<String> {
        short_id(&format!("{}\0{}", self.agent, self.conversation.unwrap_or_default()))
    }

    /// Records that the command was denied. Returns what the agent should know.
    fn denied(&self, root: &Path, evaluation: &CommandEvaluation) -> String {
        let finding = edt_run::denied(&cut(&self.command.script), evaluation);
        if let Ok(repo) = Repo::open_worktree(Environment::Process, root) {
            let attempt = Attempt {
                call: COMMAND,
                agent: Some(self.agent),
                command: Some(self.command.script.clone()),
                ..Attempt::default()
            };
            refusals::record(&repo, self.options, None, attempt, &finding.clone().into());
        }
        command_refusal(&finding, evaluation.hint)
    }

    fn question(&self, evaluation: &CommandEvaluation) -> Question {
        let why = evaluation.reason.trim_end_matches('.');
        let (rule, origin) = (&evaluation.rule, evaluation.origin.name());
        let reason = format!("edt: {why} (rule {rule}, {origin}).");
        let finding = Finding::new(
            Code::ApprovalRequired,
            format!("This command waits for the user: {why} (rule {rule}, {origin})."),
            "",
        )
        .with_effect(Effect::NothingRun);
        let next = format!(
            "`edt run --shell {}` asks the user, who answers with `edt approve`.",
            shell_word(self.command.script.as_bytes())
        );
        Question { reason, refusal: command_refusal(&finding, &next) }
    }
}

/// The root of the worktree that holds `dir`; `None` outside of every one, as in a bare repository or
/// beside the worktrees of one.
pub(super) fn root(dir: &Path) -> Result<Option<PathBuf>> {
    let located = match locate::locate(dir, "-") {
        Err(found) if found.any(|one| one.code == Code::PathInGitDir) => return Ok(None),
        located => located?,
    };
    let Some(located) = located else { return Ok(None) };
    match Repo::open_worktree(Environment::Process, &located.root) {
        Err(found) if found.any(|one| one.code == Code::UnsupportedRepository) => Ok(None),
        opened => opened.map(|_| Some(located.root)),
    }
}

/// Opens the worktree, with the warnings about programs that were interrupted together with edt.
pub(super) fn open(root: &Path, options: &Options) -> Result<(LockedWorkspace, Vec<String>)> {
    let (workspace, interrupted) = LockedWorkspace::at(root, options.clone())?.with_interrupted();
    Ok((workspace, interrupted.iter().map(messages::warning).collect()))
}

/// Keeps what changed since `before`, while `what` ran, as an edit on disk alone with this message
/// and of this agent. Returns what the agent should know; `None` if nothing changed.
pub(super) fn keep(
    workspace: &mut LockedWorkspace,
    before: &Snapshot,
    (message, agent): (String, &str),
    what: &str,
) -> Result<Option<String>> {
    let info = CommitInfo { message, agent: Some(agent.to_owned()), kind: Kind::Run };
    let policy = workspace.current_policy()?;
    let mut review = ChangesReview::default();
    let mut judge = |about: &ChangesPreview<'_>| {
        review = review::review(about, &policy, OnFindings::Refuse)?;
        // Some of it may be the user's, so that nothing is put back.
        Ok(RecordAction::Record)
    };
    let lost = before.lost(&workspace.repo);
    let recorded = stage!(RECORD, record_changes(workspace, before, &info, None, &mut judge));
    before.finish();
    let mut recorded = match recorded {
        // During a merge nothing can be recorded, and nothing needs to be.
        Err(found) if found.any(|finding| finding.code == Code::RepositoryBusy) => {
            return Ok(None);
        }
        recorded => recorded?,
    };
    recorded.warnings.extend(lost);
    if recorded.commit.is_none() && recorded.warnings.is_empty() {
        return Ok(None);
    }
    let mut out = String::new();
    if recorded.commit.is_some() {
        let edit = recorded.session.last_number(&workspace.repo)?;
        let mut names: Vec<&str> =
            recorded.files.iter().map(|file| file.path.as_str()).take(MAX_NAMED).collect();
        let more = format!("and {} more", recorded.files.len() - names.len());
        names.extend((names.len() < recorded.files.len()).then_some(more.as_str()));
        let _ = writeln!(
            out,
            "Changed while {what} ran: {}. It is edit {edit} of edt/{}, on disk alone: edt \
             did not watch {what}, so a landing waits for the user. `edt undo --save` takes \
             it back. `edt run` and `edt apply` put changes on the branch.",
            names.join(", "),
            recorded.session.name
        );
    }
    for finding in &review.refused {
        let _ = writeln!(out, "{}: {}", finding.code.name(), finding.message());
    }
    for one in recorded.warnings.iter().chain(&review.warnings) {
        let _ = writeln!(out, "{}", messages::warning(one));
    }
    Ok(Some(out.trim_end().to_owned()))
}

pub(super) fn short_id(text: &str) -> Result<String> {
    Ok(sha256(text.as_bytes())?.chars().take(16).collect())
}

fn command_refusal(finding: &Finding, next: &str) -> String {
    let mut out = format!(
        "edt refused this command; nothing was run.\n{}: {}",
        finding.code.name(),
        finding.message()
    );
    if !next.is_empty() {
        let _ = write!(out, "\nnext: {next}");
    }
    out
}

/// The first line of a script, cut to the length of a subject line.
fn cut(script: &str) -> String {
    let line = script.trim().lines().next().unwrap_or_default();
    match line.char_indices().nth(MAX_SUBJECT) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}
