//! What is carried from task to task: the interface [`Lessons`], and the placebo.

use super::seed::Chance;
use crate::base::{Finding, Result};

/// A lesson as an agent reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lesson {
    /// Of which episode.
    pub id: String,
    /// Its words.
    pub text: String,
    /// The code of the refusal that it is about.
    pub code: String,
    /// The language of the file that it is about.
    pub language: String,
}

/// The task that something was learned on, or is to be taught to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// Its suite.
    pub suite: String,
    /// Its name.
    pub task: String,
    /// Its day.
    pub date: String,
}

/// What may be taught to whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Split {
    /// Everything.
    Off,
    /// Only what was learned on other tasks that are older.
    ByTime,
}

impl Split {
    /// Whether what was learned on `from` may be taught to `to`.
    #[must_use]
    pub fn allows(self, from: &Origin, to: &Origin) -> bool {
        match self {
            Split::Off => true,
            Split::ByTime => {
                from.date < to.date && (&from.suite, &from.task) != (&to.suite, &to.task)
            }
        }
    }
}

/// A refused edit.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// What was found, the most important.
    pub finding: Finding,
    /// How many were found.
    pub count: usize,
    /// The file.
    pub path: String,
    /// How it was sent: a mode, or `patch`.
    pub mode: String,
    /// The file's language, or what its name ends in.
    pub language: String,
    /// What was sent.
    pub request: serde_json::Value,
}

/// The edit that landed on the same file afterwards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fix {
    /// What was sent.
    pub request: serde_json::Value,
    /// The commit that recorded it.
    pub commit: String,
    /// The guards that it overrode there.
    pub overrode: Vec<String>,
}

/// What became of a lesson that was shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// The next edit landed.
    Helped,
    /// It was refused again.
    NotHelped,
    /// It was refused for more reasons than before.
    Worse,
}

/// What an agent is to do, as far as lessons go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct About {
    /// The task.
    pub origin: Origin,
    /// What it says.
    pub instruction: String,
    /// The languages of its files.
    pub languages: Vec<String>,
}

/// A memory of failures and of what fixed them.
pub trait Lessons {
    /// What is worth knowing before the task; `may` says what may be taught to it.
    ///
    /// # Errors
    /// The memory cannot be read.
    fn priors(&self, about: &About, may: &dyn Fn(&Origin) -> bool) -> Result<Vec<Lesson>>;
    /// What is worth knowing after a refusal.
    ///
    /// # Errors
    /// The memory cannot be read.
    fn in_refusal(&self, failure: &Failure, may: &dyn Fn(&Origin) -> bool) -> Result<Vec<Lesson>>;
    /// Everything that may be taught, in order.
    ///
    /// # Errors
    /// The memory cannot be read.
    fn all(&self, may: &dyn Fn(&Origin) -> bool) -> Result<Vec<Lesson>>;
    /// A failure, and what fixed it.
    ///
    /// # Errors
    /// The memory cannot be written.
    fn learned(&mut self, on: &Origin, failure: &Failure, fix: &Fix) -> Result<()>;
    /// What became of lessons.
    ///
    /// # Errors
    /// The memory cannot be written.
    fn became(&mut self, ids: &[String], effect: Effect) -> Result<()>;
    /// How many episodes there are.
    ///
    /// # Errors
    /// The memory cannot be read.
    fn count(&self) -> Result<usize>;
    /// All of it, as `edt memory export` writes it.
    ///
    /// # Errors
    /// The memory cannot be read.
    fn export(&self) -> Result<String>;
}

/// For each of `right` the words of a lesson about another code and another language, as long as the right one; where there is none, its own
/// words in another order. The names stay, so that the same number of the same episodes is shown.
#[must_use]
pub fn wrong(right: Vec<Lesson>, all: &[Lesson], chance: &mut Chance) -> Vec<Lesson> {
    let swap = |lesson: Lesson| {
        let others: Vec<&Lesson> = all
            .iter()
            .filter(|one| one.code != lesson.code && one.language != lesson.language)
            .collect();
        let length = lesson.text.chars().count();
        let text = if others.is_empty() {
            let mut words: Vec<&str> = lesson.text.split(' ').collect();
            chance.shuffle(&mut words);
            words.join(" ")
        } else {
            let other = others[chance.below(others.len())];
            let again = other.text.chars().chain([' ']).cycle();
            again.take(length).collect()
        };
        Lesson { text, ..lesson }
    };
    right.into_iter().map(swap).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lesson(code: &str, text: &str) -> Lesson {
        Lesson {
            id: code.to_owned(),
            text: text.to_owned(),
            code: code.to_owned(),
            language: code.to_lowercase(),
        }
    }

    fn origin(task: &str, date: &str) -> Origin {
        Origin { suite: "s".to_owned(), task: task.to_owned(), date: date.to_owned() }
    }

    #[test]
    fn a_placebo_has_as_many_lessons_as_long_and_none_is_about_the_failure() {
        let all = [
            lesson("A", "A wants append"),
            lesson("B", "B wants edit, and more"),
            lesson("C", "C"),
        ];
        let shown = wrong(vec![all[0].clone(), all[1].clone()], &all, &mut Chance::new(1, "x"));
        let lengths: Vec<usize> = shown.iter().map(|one| one.text.chars().count()).collect();
        assert_eq!(lengths, [14, 22]);
        assert!(
            !shown[0].text.contains("A wants") && !shown[1].text.contains("B wants"),
            "{shown:?}"
        );
        let alone = wrong(vec![all[0].clone()], &all[..1], &mut Chance::new(1, "x"));
        assert_eq!((alone[0].text.len(), alone.len()), (14, 1));
    }

    #[test]
    fn what_was_learned_later_or_on_the_task_itself_is_never_taught_to_it() {
        let (old, new) = (origin("old", "2026-01-01"), origin("new", "2026-02-01"));
        assert!(Split::ByTime.allows(&old, &new) && !Split::ByTime.allows(&new, &old));
        assert!(
            !Split::ByTime.allows(&new, &new)
                && !Split::ByTime.allows(&new, &origin("other", "2026-02-01"))
        );
        assert!(Split::Off.allows(&new, &new));
    }
}
