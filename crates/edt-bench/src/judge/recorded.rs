//! A recorded judge: the answers of a model from a file, one JSON object per line.

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use edt_io::fs;

/// The largest file of answers, in bytes.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// An answer, and when it is given.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordedAnswer {
    /// `compare`, `classify`, `feedback` or `hint`.
    step: String,
    /// The task; any if left out.
    task: Option<String>,
    /// A text in the files that are judged; any if left out.
    contains: Option<String>,
    /// A JSON object, or a text that the model wrote instead.
    answer: Value,
}

#[derive(Debug)]
pub(super) struct Recorded {
    answers: Vec<RecordedAnswer>,
}

impl Recorded {
    /// # Errors
    /// A sentence for the user.
    pub(super) fn open(path: &Path) -> Result<Recorded, String> {
        let shown = path.display();
        let bytes = fs::read_file_limited(path, MAX_BYTES)
            .map_err(|error| format!("{shown} cannot be read: {error}"))?
            .ok_or_else(|| format!("{shown} has more than {MAX_BYTES} bytes"))?;
        let text = String::from_utf8_lossy(&bytes);
        let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
        let parsed = lines.map(|(at, line)| {
            serde_json::from_str(line).map_err(|error| format!("{shown}: line {at}: {error}"))
        });
        Ok(Recorded { answers: parsed.collect::<Result<_, String>>()? })
    }

    /// The answer of the `asked`-th time that `step` is asked about `task`, from 0; the last one if
    /// there are fewer.
    pub(super) fn answer(
        &self,
        step: &str,
        task: &str,
        files: &str,
        asked: usize,
    ) -> Result<String, String> {
        let fits = |one: &&RecordedAnswer| {
            one.step == step
                && one.task.as_ref().is_none_or(|name| name == task)
                && one.contains.as_ref().is_none_or(|text| files.contains(text.as_str()))
        };
        let fitting: Vec<&RecordedAnswer> = self.answers.iter().filter(fits).collect();
        let found = fitting.get(asked).or(fitting.last());
        let none = || format!("there is no recorded answer to {step} for the task {task}");
        found.ok_or_else(none).map(|found| match &found.answer {
            Value::String(text) => text.clone(),
            answer => answer.to_string(),
        })
    }
}
