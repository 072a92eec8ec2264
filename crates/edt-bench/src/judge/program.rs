//! The judge `program`: a program of the task reads a JSON object and answers with one.

use std::time::Duration;

use serde::Deserialize;
use serde_json::json;

use super::class::ErrorClass;
use super::{Judge, JudgeInput, JudgeVerdict, copy_failed, judge_error, tail};
use crate::confined;
use crate::results::TokenUsage;
use crate::scratch_repo::ScratchRepo;
use crate::task::JudgeSpec;
use edt_types::Result;

pub(super) struct Program;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    pass: bool,
    score: Option<f64>,
    #[serde(default)]
    feedback: String,
    error_class: Option<ErrorClass>,
    hint: Option<String>,
}

impl Judge for Program {
    fn kind(&self) -> &'static str {
        "program"
    }

    fn about(&self) -> &'static str {
        "a program of the task, in a sandbox, reads {worktree, task, attempt} and answers {pass, score, feedback, error_class, hint}"
    }

    fn judge(&self, input: &JudgeInput<'_>) -> Result<JudgeVerdict> {
        let JudgeSpec::Program { argv, timeout } = &input.task.judge else {
            return Ok(JudgeVerdict::failed(ErrorClass::Other, String::new()));
        };
        let copy = match ScratchRepo::create(input.copy_dir, input.files, None) {
            Ok(copy) => copy,
            Err(found) => return Ok(JudgeVerdict::failed(ErrorClass::Other, copy_failed(&found))),
        };
        let task_dir = input.task_dir.display().to_string();
        let argv: Vec<String> = argv.iter().map(|word| word.replace("{task}", &task_dir)).collect();
        let question =
            json!({"worktree": copy.root(), "task": input.task.id, "attempt": input.attempt})
                .to_string();
        let limit = Duration::try_from_secs_f64(*timeout).unwrap_or(Duration::from_secs(60));
        let done = confined::run(&argv, (copy.root(), input.task_dir), question.as_bytes(), limit);
        copy.remove();
        let done = done?.map_err(|why| judge_error(input, "judge.argv", &why))?;
        if done.status != Some(0) {
            let why = format!(
                "the judge program failed: {}. {}",
                done.describe_end(),
                tail(&done.output[1])
            );
            return Err(judge_error(input, "judge.argv", &why));
        }
        let answer: Answer = serde_json::from_slice(&done.output[0]).map_err(|error| {
            judge_error(
                input,
                "judge.argv",
                &format!("the answer of the judge program is invalid: {error}"),
            )
        })?;
        let score = answer.score.unwrap_or(f64::from(u8::from(answer.pass)));
        if !(0.0..=1.0).contains(&score) {
            return Err(judge_error(
                input,
                "judge.argv",
                &format!("the score {score} of the judge program is not from 0 to 1"),
            ));
        }
        let class = answer.error_class.filter(|_| !answer.pass);
        let Answer { pass, feedback, hint, .. } = answer;
        Ok(JudgeVerdict { pass, score, feedback, class, hint, usage: TokenUsage::default() })
    }
}
