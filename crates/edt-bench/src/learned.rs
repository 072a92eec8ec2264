//! What a failed evaluation and the attempt that passed after it teach. Pure.

use edt_io::directory::FileTree;
use edt_memory::episodes::Body;
use similar::{ChangeTag, TextDiff};

use super::judge::class::ErrorClass;
use super::judge::gives_away;
use super::results::AttemptResult;
use super::task::Task;

/// How much of an error is kept, in characters: its end, which usually has the reason.
const MAX_ERROR: usize = 300;
/// The longest list of changed lines, in bytes.
const MAX_CHANGES: usize = 1200;

/// A failed attempt, until one passes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FailedAttempt {
    answer: String,
    error: String,
    class: ErrorClass,
    hint: Option<String>,
}

impl FailedAttempt {
    /// `None` if the attempt passed, or if it failed because an edit was refused: the episodes of
    /// refusals are about that.
    pub(super) fn of(
        task: &Task,
        files: &FileTree,
        attempt: &AttemptResult,
    ) -> Option<FailedAttempt> {
        let class = attempt.error_class.filter(|class| *class != ErrorClass::Refused)?;
        let from = attempt.feedback.char_indices().rev().nth(MAX_ERROR - 1);
        let error = attempt.feedback[from.map_or(0, |(at, _)| at)..].trim().to_owned();
        let hint = attempt.hint.clone();
        Some(FailedAttempt { answer: answer(task, files), error, class, hint })
    }

    /// The episode of this attempt and the one that passed with `files`. It has the lines that
    /// changed, unless they give the answer away.
    pub(super) fn fixed_by(self, task: &Task, files: &FileTree) -> Body {
        let FailedAttempt { answer: failed, error, class, hint } = self;
        let changes = changes(&failed, &answer(task, files));
        let mut fixed = hint.unwrap_or_default();
        if !changes.is_empty() && !gives_away(&changes, task) {
            fixed = [fixed, changes]
                .into_iter()
                .filter(|text| !text.is_empty())
                .collect::<Vec<_>>()
                .join("\n");
        }
        let error = if gives_away(&error, task) { class.hint().to_owned() } else { error };
        let (query, error_class) = (task.query.clone(), class.name().to_owned());
        Body::Answer { query, failed, error, error_class, fixed }
    }
}

/// The files that differ from those before, as one text.
fn answer(task: &Task, files: &FileTree) -> String {
    let changed = files.iter().filter(|(path, file)| task.before.get(*path) != Some(*file));
    let text = |(path, file): (&String, &edt_io::directory::FileContent)| {
        format!("{path}:\n{}", String::from_utf8_lossy(&file.bytes))
    };
    changed.map(text).collect::<Vec<_>>().join("\n")
}

/// The lines that were removed and added.
fn changes(before: &str, after: &str) -> String {
    let diff = TextDiff::from_lines(before, after);
    let mut out = String::new();
    for change in diff.iter_all_changes() {
        let sign = match change.tag() {
            ChangeTag::Delete => '-',
            ChangeTag::Insert => '+',
            ChangeTag::Equal => continue,
        };
        out += &format!("{sign} {}\n", change.value().trim_end());
    }
    out.truncate(out.floor_char_boundary(MAX_CHANGES));
    out.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use edt_io::directory::FileContent;

    fn files(all: &[(&str, &str)]) -> FileTree {
        let file = |text: &str| FileContent { bytes: text.as_bytes().to_vec(), executable: false };
        all.iter().map(|(path, text)| ((*path).to_owned(), file(text))).collect()
    }

    fn task(judge: &str) -> Task {
        let toml = format!(
            "schema = \"edt.task/1\"\ninstruction = \"Sum the amounts.\\nMore.\"\ndate = \"2026-01-31\"\njudge = {judge}\n"
        );
        let all = [("task.toml", toml.as_str()), ("expected/a.txt", "417.5\n")];
        Task::of_dir("t", &files(&all), "s/t").unwrap()
    }

    fn failed(class: ErrorClass) -> AttemptResult {
        AttemptResult {
            feedback: "It is wrong.".into(),
            error_class: Some(class),
            hint: Some("Divide by 100.".into()),
            ..AttemptResult::default()
        }
    }

    #[test]
    fn an_episode_has_the_query_the_error_and_the_lines_that_changed() {
        let task = task(
            "{ kind = \"numeric\", argv = [\"python3\", \"a.py\"], answer = \"417.5\", tolerance = 0 }",
        );
        let before = files(&[("a.py", "import csv\nprint(total)\n")]);
        let after = files(&[("a.py", "import csv\nprint(total / 100)\n")]);
        let one = FailedAttempt::of(&task, &before, &failed(ErrorClass::Unit)).unwrap();
        assert_eq!(
            one.fixed_by(&task, &after),
            Body::Answer {
                query: "Sum the amounts.".into(),
                failed: "a.py:\nimport csv\nprint(total)\n".into(),
                error: "It is wrong.".into(),
                error_class: "unit".into(),
                fixed: "Divide by 100.\n- print(total)\n+ print(total / 100)".into(),
            }
        );
        assert_eq!(FailedAttempt::of(&task, &before, &failed(ErrorClass::Refused)), None);
        let long = AttemptResult {
            feedback: format!("{}the reason", "ü".repeat(5000)),
            ..failed(ErrorClass::Code)
        };
        let one = FailedAttempt::of(&task, &before, &long).unwrap();
        assert!(one.error.ends_with("üthe reason") && one.error.chars().count() == MAX_ERROR);
    }

    #[test]
    fn the_answer_itself_is_not_learned() {
        let task = task("{ kind = \"numeric\", file = \"a.txt\", tolerance = 0 }");
        let (before, after) = (files(&[("a.txt", "41750\n")]), files(&[("a.txt", "417.5\n")]));
        let one = FailedAttempt::of(&task, &before, &failed(ErrorClass::Unit)).unwrap();
        let Body::Answer { fixed, .. } = one.fixed_by(&task, &after) else { unreachable!() };
        assert_eq!(fixed, "Divide by 100.");
    }
}
