//! A program of the task's reads a JSON object and answers with one.

use std::time::Duration;

use serde::Deserialize;
use serde_json::json;

use super::{Judge, Judging, Verdict, broken, tail, uncopied};
use crate::base::Result;
use crate::bench::confined;
use crate::bench::ground::Ground;
use crate::bench::task::JudgeSpec;

/// Asks a program.
pub(super) struct Program;

/// What it answers.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    pass: bool,
    score: Option<f64>,
    #[serde(default)]
    feedback: String,
}

impl Judge for Program {
    fn kind(&self) -> &'static str {
        "program"
    }

    fn about(&self) -> &'static str {
        "a program of the task's, confined, reads {worktree, task, attempt} and answers {pass, score, feedback}"
    }

    fn judge(&self, what: &Judging<'_>) -> Result<Verdict> {
        let JudgeSpec::Program { argv, timeout } = &what.task.judge else {
            return Ok(Verdict::failed(String::new()));
        };
        let copy = match Ground::plant(what.place, what.files, None) {
            Ok(copy) => copy,
            Err(found) => return Ok(Verdict::failed(uncopied(&found))),
        };
        let folder = what.folder.display().to_string();
        let argv: Vec<String> = argv.iter().map(|word| word.replace("{task}", &folder)).collect();
        let input = json!({"worktree": copy.root(), "task": what.task.id, "attempt": what.attempt})
            .to_string();
        let limit = Duration::try_from_secs_f64(*timeout).unwrap_or(Duration::from_secs(60));
        let done = confined::run(&argv, (copy.root(), what.folder), input.as_bytes(), limit);
        copy.clear();
        let done = done?.map_err(|why| broken(what, "judge.argv", &why))?;
        if done.status != Some(0) {
            let why =
                format!("the judge program failed: {}. {}", done.end(), tail(&done.output[1]));
            return Err(broken(what, "judge.argv", &why));
        }
        let answer: Answer = serde_json::from_slice(&done.output[0]).map_err(|error| {
            broken(what, "judge.argv", &format!("the judge program's answer is not one: {error}"))
        })?;
        let score = answer.score.unwrap_or(f64::from(u8::from(answer.pass)));
        if !(0.0..=1.0).contains(&score) {
            return Err(broken(
                what,
                "judge.argv",
                &format!("the judge program's score {score} is not from 0 to 1"),
            ));
        }
        Ok(Verdict { pass: answer.pass, score, feedback: answer.feedback })
    }
}
