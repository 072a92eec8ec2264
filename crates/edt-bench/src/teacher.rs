//! Lessons for one task: which are shown before it, what followed, and what the task teaches.

use super::episode_store::EpisodeStore;
use super::learned::FailedAttempt;
use super::lessons::{self, ShownLesson, TaskOrigin, TeachingSplit};
use super::results::AttemptResult;
use super::rng::SeededRng;
use super::strategy::LessonKind;
use super::task::Task;
use edt_io::directory::FileTree;
use edt_memory::episodes::Outcome;

/// Selects lessons for a task, counts their outcomes, and learns from its attempts.
pub(super) struct Teacher<'a> {
    pub(super) memory: &'a mut EpisodeStore,
    pub(super) kind: LessonKind,
    pub(super) task: &'a Task,
    pub(super) origin: TaskOrigin,
    /// Which lessons the task may receive.
    pub(super) split: TeachingSplit,
    /// Whether the task adds to the memory.
    pub(super) learns: bool,
    /// The best score of a first attempt at this task in an earlier session.
    pub(super) best_before: Option<f64>,
    /// For the placebo.
    pub(super) rng: SeededRng,
    /// The episodes of the lessons that were shown, until the outcome is known.
    pub(super) open: Vec<String>,
    /// The last attempt, if it failed.
    pub(super) failed: Option<FailedAttempt>,
}

impl Teacher<'_> {
    /// The lessons to show before an attempt. Their outcome is that of the first attempt.
    pub(super) fn priors(&mut self, attempt: u32) -> Vec<ShownLesson> {
        let (split, target) = (self.split, self.origin.clone());
        let allowed = move |from: &TaskOrigin| split.allows(from, &target);
        let matching = self.memory.priors(&self.task.query, &allowed);
        if attempt == 1 {
            self.open = matching.iter().map(|lesson| lesson.id.clone()).collect();
        }
        match self.kind {
            LessonKind::None => Vec::new(),
            LessonKind::Matching => matching,
            LessonKind::Placebo => {
                lessons::placebo(matching, &self.memory.all(&allowed), &mut self.rng)
            }
        }
    }

    /// Counts the outcome of the lessons, and learns from a failed attempt that this one corrects.
    pub(super) fn evaluated(&mut self, files: &FileTree, attempt: &AttemptResult) {
        let outcome = if attempt.pass {
            Outcome::Succeeded
        } else if self.best_before.is_some_and(|best| attempt.score < best) {
            Outcome::Worse
        } else {
            Outcome::Failed
        };
        let shown = std::mem::take(&mut self.open);
        // The outcome of a placebo says nothing about the episode that it replaced.
        if self.learns && self.kind == LessonKind::Matching {
            self.memory.used(&shown, outcome);
        }
        let failed = FailedAttempt::of(self.task, files, attempt);
        let before = std::mem::replace(&mut self.failed, failed);
        if let (true, true, Some(before)) = (self.learns, attempt.pass, before) {
            self.memory.learn(&self.origin, before.fixed_by(self.task, files));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::class::ErrorClass;
    use edt_io::directory::FileContent;

    fn task() -> Task {
        let toml = "schema = \"edt.task/1\"\ninstruction = \"Sum the amounts in euros.\"\ndate = \"2026-01-31\"\n\
                    judge = { kind = \"numeric\", argv = [\"x\"], answer = \"417.5\", tolerance = 0 }\n";
        let file = FileContent { bytes: toml.as_bytes().to_vec(), executable: false };
        Task::of_dir("t", &[("task.toml".to_owned(), file)].into(), "s/t").unwrap()
    }

    /// The scores of first attempts in sessions of one task, each followed by one that passes:
    /// whether there was a lesson, and the episode's figures at the end.
    fn sessions(firsts: &[f64]) -> (Vec<usize>, Vec<(f64, u64)>) {
        let (task, mut memory) = (task(), EpisodeStore::default());
        let (mut shown, mut figures, mut best_before) = (Vec::new(), Vec::new(), None);
        for first in firsts {
            let origin =
                TaskOrigin { suite: "s".into(), task: "t".into(), date: "2026-01-31".into() };
            let mut teacher = Teacher {
                memory: &mut memory,
                kind: LessonKind::Matching,
                task: &task,
                origin,
                split: TeachingSplit::Off,
                learns: true,
                best_before,
                rng: SeededRng::new(1, "x"),
                open: Vec::new(),
                failed: None,
            };
            shown.push(teacher.priors(1).len());
            for score in [*first, 1.0] {
                let pass = score >= 1.0;
                let error_class = (!pass).then_some(ErrorClass::Unit);
                let attempt =
                    AttemptResult { pass, score, error_class, ..AttemptResult::default() };
                teacher.evaluated(&FileTree::new(), &attempt);
                if pass {
                    break;
                }
            }
            best_before = Some(best_before.unwrap_or(0.0_f64).max(*first));
            let line: serde_json::Value =
                serde_json::from_str(memory.export().trim()).unwrap_or_default();
            figures.push((
                line["score"].as_f64().unwrap_or(0.0),
                line["times_applied"].as_u64().unwrap_or(0),
            ));
        }
        (shown, figures)
    }

    #[test]
    fn a_failed_evaluation_teaches_the_next_session() {
        let (shown, figures) = sessions(&[0.0, 1.0, 1.0]);
        assert_eq!(shown, [0, 1, 1]);
        assert_eq!(figures, [(0.5, 0), (0.65, 1), (0.755, 2)]);
    }

    #[test]
    fn a_lesson_that_makes_a_task_worse_has_a_penalty_and_is_relearned_after_its_demotion() {
        let (shown, figures) = sessions(&[0.5, 0.5, 0.2, 0.2, 0.2]);
        assert_eq!(shown, [0, 1, 1, 1, 1]);
        // Failed: 0.35. Worse: 0.175. Worse: 0.0875 after three uses, so what is learned again
        // starts at 0.5.
        assert_eq!(figures, [(0.5, 0), (0.35, 1), (0.175, 2), (0.5, 0), (0.25, 1)]);
    }
}
