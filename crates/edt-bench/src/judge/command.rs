//! The judge `command`: a program exits with status 0 in a copy of the worktree, run as `edt run`
//! does.

use super::class::ErrorClass;
use super::{Judge, JudgeInput, JudgeVerdict, copy_failed, judge_error, tail};
use crate::agent_tools::{NoWatcher, request};
use crate::scratch_repo::ScratchRepo;
use crate::task::JudgeSpec;
use edt_run;
use edt_types::{Code, Result};

pub(super) struct Command;

impl Judge for Command {
    fn kind(&self) -> &'static str {
        "command"
    }

    fn about(&self) -> &'static str {
        "a program exits with status 0, run as edt run does in a copy of the worktree"
    }

    fn judge(&self, input: &JudgeInput<'_>) -> Result<JudgeVerdict> {
        let JudgeSpec::Command { argv, timeout, sandbox } = &input.task.judge else {
            return Ok(JudgeVerdict::failed(ErrorClass::Other, String::new()));
        };
        // The agent's policy must not apply to the judge.
        let (mut files, policy) = (input.files.clone(), "edt.toml");
        files.remove(policy);
        files.extend(
            input.task.before.get(policy).map(|content| (policy.to_owned(), content.clone())),
        );
        let copy = match ScratchRepo::create(input.copy_dir, &files, None) {
            Ok(copy) => copy,
            Err(found) => return Ok(JudgeVerdict::failed(ErrorClass::Other, copy_failed(&found))),
        };
        let mut request = request(argv, copy.root(), Some(*timeout))?;
        request.sandbox = Some(*sandbox);
        let done = copy
            .workspace("judge")
            .and_then(|mut workspace| edt_run::run(&mut workspace, &request, &mut NoWatcher));
        let answer = match done {
            Ok(answer) => answer,
            // A missing program may be the agent's fault; a policy that forbids the judge is the
            // task's.
            Err(found) if found.any(|finding| finding.code == Code::ProgramNotFound) => {
                copy.remove();
                return Ok(JudgeVerdict::failed(ErrorClass::Code, found.to_string()));
            }
            Err(found) => return Err(judge_error(input, "judge.argv", &found.to_string())),
        };
        copy.remove();
        let Some(ran) = answer.run else {
            return Err(judge_error(input, "judge.argv", "it was not run"));
        };
        if ran.exit_code == Some(0) {
            return Ok(JudgeVerdict::passed());
        }
        let end = match (ran.timed_out, ran.exit_code) {
            (true, _) => format!("timed out after {timeout} s"),
            (_, Some(code)) => format!("exited with status {code}"),
            _ => "was ended by a signal".to_owned(),
        };
        let output = tail(format!("{}\n{}", ran.stdout.text, ran.stderr.text).as_bytes());
        let why = format!("{} {end}.\n{output}", request.line()).trim().to_owned();
        Ok(JudgeVerdict::failed(ErrorClass::Code, why))
    }
}
