//! What one task teaches another: which tasks may, and the placebo.

use super::rng::SeededRng;

/// A lesson as the agent reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownLesson {
    /// The episode's id.
    pub id: String,
    pub text: String,
    /// The class of error that the lesson is about, or the code of the refusal.
    pub about: String,
}

/// The task that a lesson comes from or goes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskOrigin {
    pub suite: String,
    pub task: String,
    pub date: String,
}

/// Which lessons a task may receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TeachingSplit {
    /// All.
    Off,
    /// Only lessons from other tasks that are older.
    ByTime,
}

impl TeachingSplit {
    /// Whether a lesson from the task `from` may go to the task `to`.
    #[must_use]
    pub fn allows(self, from: &TaskOrigin, to: &TaskOrigin) -> bool {
        match self {
            TeachingSplit::Off => true,
            TeachingSplit::ByTime => {
                from.date < to.date && (&from.suite, &from.task) != (&to.suite, &to.task)
            }
        }
    }
}

/// Replaces the text of each matching lesson by that of a lesson about something else, cut or
/// repeated to the same length. If there is none, the letters are shuffled. The ids stay, so that
/// the same episodes count as shown.
#[must_use]
pub fn placebo(
    matching: Vec<ShownLesson>,
    all: &[ShownLesson],
    rng: &mut SeededRng,
) -> Vec<ShownLesson> {
    let swap = |lesson: ShownLesson| {
        let others: Vec<&ShownLesson> =
            all.iter().filter(|other| other.about != lesson.about).collect();
        let length = lesson.text.chars().count();
        let text = if others.is_empty() {
            let mut letters: Vec<char> = lesson.text.chars().collect();
            rng.shuffle(&mut letters);
            letters.into_iter().collect()
        } else {
            let other = others[rng.below(others.len())];
            let repeated = other.text.chars().chain([' ']).cycle();
            repeated.take(length).collect()
        };
        ShownLesson { text, ..lesson }
    };
    matching.into_iter().map(swap).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lesson(about: &str, text: &str) -> ShownLesson {
        ShownLesson { id: about.to_owned(), text: text.to_owned(), about: about.to_owned() }
    }

    fn origin(task: &str, date: &str) -> TaskOrigin {
        TaskOrigin { suite: "s".to_owned(), task: task.to_owned(), date: date.to_owned() }
    }

    #[test]
    fn a_placebo_has_the_same_number_and_length_of_lessons_and_none_about_the_same() {
        let all = [
            lesson("A", "A wants append"),
            lesson("B", "B wants edit, and more"),
            lesson("C", "C"),
        ];
        let shown =
            placebo(vec![all[0].clone(), all[1].clone()], &all, &mut SeededRng::new(1, "x"));
        let lengths: Vec<usize> = shown.iter().map(|one| one.text.chars().count()).collect();
        assert_eq!(lengths, [14, 22]);
        assert!(
            !shown[0].text.contains("A wants") && !shown[1].text.contains("B wants"),
            "{shown:?}"
        );
        let alone = placebo(vec![all[0].clone()], &all[..1], &mut SeededRng::new(1, "x"));
        assert_eq!((alone[0].text.len(), alone.len()), (14, 1));
        assert!(!alone[0].text.contains("append"), "{alone:?}");
    }

    #[test]
    fn a_task_never_receives_lessons_from_itself_or_from_newer_tasks() {
        let (old, new) = (origin("old", "2026-01-01"), origin("new", "2026-02-01"));
        assert!(
            TeachingSplit::ByTime.allows(&old, &new) && !TeachingSplit::ByTime.allows(&new, &old)
        );
        assert!(
            !TeachingSplit::ByTime.allows(&new, &new)
                && !TeachingSplit::ByTime.allows(&new, &origin("other", "2026-02-01"))
        );
        assert!(TeachingSplit::Off.allows(&new, &new));
    }
}
