//! `edt run`: a program with exactly these arguments, judged, confined, its output kept, and what it changed recorded as one commit.
//!
//! ```text
//! permit    policy on the resolved arguments, approvals      nothing was run
//! record    what was unrecorded before, as a checkpoint      its bytes are safe
//! execute   the sandbox; no lock is held meanwhile           outputs are followed
//! judge     guards on what it changed, drafted               nothing of it is on a branch
//! record    as one commit; or, refused, put back             one `edt undo` away
//! ```

pub mod answer;
pub mod changes;
mod execute;
pub mod kept;
mod permit;
pub mod request;
pub mod store;

use crate::base::{Code, Finding, Findings, Result, Status, Warning};
use crate::session::checkpoint::{Ran as Recording, Why};
use crate::session::record::{About, Fate, Recorded, record, record_judged};
use crate::session::{Session, World, aside};
use crate::telemetry::names::{PROGRAM, RECORD};
use crate::telemetry::stage;

pub use answer::Answer;
use changes::Said;
use execute::Executed;
use permit::Permitted;
pub use request::Request;
pub use store::Stream;

/// The longest subject line, in characters.
const SUBJECT: usize = 72;
/// How much of a command line a commit's message has, in bytes.
const LINE: usize = 4096;

/// Who follows a run.
pub trait Watch {
    /// What the program writes, as it comes.
    fn output(&mut self, stream: Stream, bytes: &[u8]);

    /// Whether it is to be ended now; asked several times a second if it may ever be.
    fn stop(&self) -> Option<bool> {
        None
    }
}

/// Runs `request` in `world`, followed by `live`. What goes wrong after the program was started is in the answer beside what it did.
///
/// # Errors
/// Why it was not started; nothing is then changed, but that what had been left unrecorded may be recorded.
pub fn run(world: &mut World, request: &Request, live: &mut dyn Watch) -> Result<Answer> {
    request.check()?;
    world.repo.check_idle()?;
    let policy = policy(world)?;
    let mut permitted = permit::permit(world, &policy, request)?;
    let before = stage!(RECORD, record(world, Why::Foreign, &[]))?;
    let kept = aside::keep(world, &before.session, &before.left_out)?;
    let spent = permitted.word.take().map(|word| word.spend(world)).transpose()?;
    let mut answer = Answer::new();
    told(&mut answer, &before);
    answer.warnings.extend(kept);
    // The program may call edt here itself; it must not wait for the lock of the call that waits for it.
    let mut executed = None;
    let back = world.unlocked(|repo| {
        let program = stage!(PROGRAM, execute::execute(repo, &permitted, live));
        program.map(|done| executed = Some(done))
    });
    answer.settled.clone_from(&world.settled);
    let Some(executed) = executed else {
        // Without the lock nothing is written: the proposal then stays spent.
        let given_back =
            spent.filter(|_| world.is_locked()).map_or(Ok(()), |spent| spent.give_back(world));
        let found =
            [back.err(), given_back.err()].into_iter().flatten().flat_map(Findings::into_vec);
        return Ok(closed(answer, found.collect()));
    };
    answer.warnings.extend(executed.warnings.iter().cloned());
    answer.run = Some(executed.ran.clone());
    let done = back.and_then(|()| keep(world, &permitted, &before, &executed, &mut answer));
    let mut errors: Vec<Finding> =
        ended_badly(&executed).into_iter().chain(executed.lost.clone()).collect();
    errors.extend(done.err().map(Findings::into_vec).unwrap_or_default());
    errors.append(&mut answer.errors);
    Ok(closed(answer, errors))
}

/// The answer with everything that was found, and the status that it comes to.
fn closed(mut answer: Answer, found: Vec<Finding>) -> Answer {
    let failed = answer.run.as_ref().is_some_and(|ran| ran.exit_code != Some(0));
    answer.status = match Findings::check(found) {
        Err(found) => {
            let status = found.status();
            answer.errors = found.into_vec();
            status
        }
        Ok(()) if failed => Status::Failed,
        Ok(()) if answer.commit.is_some() => Status::Applied,
        Ok(()) => Status::Unchanged,
    };
    answer
}

fn policy(world: &World) -> Result<crate::policy::Policy> {
    let head = world.repo.head()?;
    let base = match Session::current(&world.repo, &head)? {
        Some(session) => session.base,
        None => head.commit.unwrap_or_else(|| world.repo.empty_tree()),
    };
    world.policy(world.repo.tree_of(base)?)
}

/// What was recorded before the program ran.
fn told(answer: &mut Answer, before: &Recorded) {
    answer.checkpoints = before.made.iter().map(ToString::to_string).collect();
    answer.warnings.extend(before.warnings.iter().cloned());
    answer.session = (!before.made.is_empty()).then(|| before.session.report(before.began));
}

/// Records what the program changed; the guards judge it first, and what policy refuses is put back instead. Returns why.
fn keep(
    world: &mut World,
    permitted: &Permitted<'_>,
    before: &Recorded,
    executed: &Executed,
    answer: &mut Answer,
) -> Result<()> {
    let message = message(&permitted.dir, executed);
    let recording = Recording { message, agent: permitted.request.agent.clone() };
    let policy = policy(world)?;
    let mut said = Said::default();
    let mut judge = |about: &About<'_>| {
        said = changes::judge(about, &policy, permitted.on_findings)?;
        Ok(if said.refused.is_empty() { Fate::Kept } else { Fate::PutBack })
    };
    let recorded = stage!(RECORD, record_judged(world, Why::Run(&recording), &[], &mut judge));
    // What was found is told, whatever then becomes of the files.
    let kept = recorded.as_ref().ok().and_then(|recorded| recorded.refused.clone());
    answer.guards = said.reports;
    let range = recorded
        .as_ref()
        .ok()
        .zip(kept.as_ref())
        .map(|(recorded, kept)| (recorded.parent.to_string(), kept.clone()));
    answer.errors.extend(said.refused.into_iter().map(|finding| refused(finding, range.as_ref())));
    answer.errors.extend(said.stays);
    let mut recorded = recorded?;
    // What was left out before the program ran is not news.
    recorded.warnings.retain(|warning| !answer.warnings.contains(warning));
    answer.warnings.append(&mut recorded.warnings);
    answer.warnings.extend(said.warnings);
    let session = &recorded.session;
    if recorded.parent != before.session.tip && before.session.name == session.name {
        let others =
            changes::others(&world.repo, &policy, session, before.session.tip, recorded.parent)?;
        answer.errors.extend(others);
    }
    if before.session.name != session.name && !recorded.made.is_empty() {
        answer.warnings.push(moved_away(&before.session, session));
    }
    let began = answer.session.as_ref().is_some_and(|session| session.began);
    let Some(commit) = recorded.made.last() else { return Ok(()) };
    if kept.is_none() {
        answer.session = Some(session.report(recorded.began || began));
        answer.edit = Some(session.edits(&world.repo)?);
    }
    answer.commit = Some(commit.to_string());
    answer.parent = Some(recorded.parent.to_string());
    answer.files = crate::session::changed::files(&world.repo, &recorded.paths)?;
    Ok(())
}

/// A finding of a guard in words that are true of a program: it was run, and what it changed is gone again, or could not be.
fn refused(mut finding: Finding, range: Option<&(String, String)>) -> Finding {
    let found = finding.message.trim_end_matches("Nothing was changed.").trim_end();
    finding.allow = None;
    let Some((parent, kept)) = range else {
        finding.message = format!(
            "{found} The program had done this, and it could not be put back; it is recorded nowhere."
        );
        let hint = "Put it back before anything else: `git status` shows what differs, `git restore PATH` sets a file back.";
        finding.hint = String::from(hint);
        return finding;
    };
    finding.message = format!(
        "{found} The program had done this; all that it changed was put back and is kept at {kept}."
    );
    finding.hint = format!(
        "Run it so that it leaves this alone; `git diff {parent} {kept}` shows what it had changed. A person may take it over with `git cherry-pick {parent}..{kept}`."
    );
    finding.with("kept", kept.as_str())
}

fn moved_away(from: &Session, to: &Session) -> Warning {
    let message = format!(
        "HEAD left the session {} while the program ran; what it changed is recorded in {}.",
        from.name, to.name
    );
    Warning { code: "session_left", path: None, message }
}

/// A program that did not end by itself.
fn ended_badly(executed: &Executed) -> Option<Finding> {
    let ran = &executed.ran;
    if !ran.timed_out {
        return None;
    }
    let seconds = executed.limit.as_secs_f64();
    let finding = Finding::new(
        Code::CommandTimeout,
        format!(
            "{} took longer than {seconds} s and was ended, with all that it had started.",
            executed.line
        ),
        "Look at the end of its output for what it waited for; give it input with --stdin, or more time with --timeout SECONDS.",
    );
    Some(finding.with("timeout_s", seconds))
}

/// The commit's message: subject, the whole command line, how it ended.
fn message(dir: &std::path::Path, executed: &Executed) -> String {
    let line = crate::base::text::harmless(&executed.line).0;
    let subject = cut(&format!("run: {line}"), SUBJECT);
    let ran = &executed.ran;
    let end = match (ran.exit_code, ran.signal) {
        _ if ran.timed_out => format!("its time of {} s was over", executed.limit.as_secs_f64()),
        (Some(code), _) => format!("exit status {code}"),
        (None, signal) => format!("signal {}", signal.unwrap_or_default()),
    };
    let whole = if line.len() > LINE {
        format!("{} [{} bytes in all]", cut(&line, LINE), line.len())
    } else {
        line
    };
    let folder = crate::base::text::harmless(&dir.display().to_string()).0;
    format!(
        "{subject}\n\nCommand: {whole}\nFolder: {folder}\nEnded: {end} after {:.1} s",
        executed.took.as_secs_f64()
    )
}

/// The first `most` characters of a text, with a mark if there are more.
fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some(_) => text.chars().take(most - 1).chain(['…']).collect(),
    }
}

/// A warning that the output is not all there to be read again.
fn not_stored(why: &str) -> Warning {
    let message = format!(
        "Not all of the program's output was stored: {why}. What this answer shows is right."
    );
    Warning { code: "output_not_stored", path: None, message }
}
