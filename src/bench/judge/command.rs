//! A program ends well in a copy of the worktree, run as `edt run` does it.

use super::{Judge, Judging, Verdict, broken, tail, uncopied};
use crate::base::{Code, Result};
use crate::bench::ground::Ground;
use crate::bench::scene::{Unwatched, request};
use crate::bench::task::JudgeSpec;
use crate::run;

/// Runs a test.
pub(super) struct Command;

impl Judge for Command {
    fn kind(&self) -> &'static str {
        "command"
    }

    fn about(&self) -> &'static str {
        "a program ends with status 0, run by edt run in a copy of the worktree"
    }

    fn judge(&self, what: &Judging<'_>) -> Result<Verdict> {
        let JudgeSpec::Command { argv, timeout, sandbox } = &what.task.judge else {
            return Ok(Verdict::failed(String::new()));
        };
        // What the agent writes is no policy for its judge.
        let (mut files, policy) = (what.files.clone(), "edt.toml");
        files.remove(policy);
        files.extend(
            what.task.before.get(policy).map(|content| (policy.to_owned(), content.clone())),
        );
        let copy = match Ground::plant(what.place, &files, None) {
            Ok(copy) => copy,
            Err(found) => return Ok(Verdict::failed(uncopied(&found))),
        };
        let mut request = request(argv, copy.root(), Some(*timeout))?;
        request.sandbox = Some(*sandbox);
        let done = copy
            .world("judge")
            .and_then(|mut world| run::run(&mut world, &request, &mut Unwatched));
        let answer = match done {
            Ok(answer) => answer,
            // A program of the worktree may be what is missing; a rule against the judge is the task's fault.
            Err(found) if found.any(|one| one.code == Code::ProgramNotFound) => {
                copy.clear();
                return Ok(Verdict::failed(found.to_string()));
            }
            Err(found) => return Err(broken(what, "judge.argv", &found.to_string())),
        };
        copy.clear();
        let Some(ran) = answer.run else {
            return Err(broken(what, "judge.argv", "it was not run"));
        };
        if ran.exit_code == Some(0) {
            return Ok(Verdict::passed());
        }
        let end = match (ran.timed_out, ran.exit_code) {
            (true, _) => format!("took longer than {timeout} s"),
            (_, Some(code)) => format!("ended with status {code}"),
            _ => "was ended by a signal".to_owned(),
        };
        let said = tail(format!("{}\n{}", ran.stdout.text, ran.stderr.text).as_bytes());
        Ok(Verdict::failed(format!("{} {end}.\n{said}", request.line()).trim().to_owned()))
    }
}
