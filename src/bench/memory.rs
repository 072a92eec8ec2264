//! What is carried from task to task: the interface [`Lessons`], a simple memory that needs nothing else, and the placebo.

use super::seed::Chance;

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
            Split::ByTime => from.date < to.date && (&from.suite, &from.task) != (&to.suite, &to.task),
        }
    }
}

/// A refused edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The code.
    pub code: String,
    /// The file.
    pub path: String,
    /// How it was sent: a mode, or `patch`.
    pub mode: String,
    /// The file's language, or what its name ends in.
    pub language: String,
    /// What was sent.
    pub request: serde_json::Value,
    /// What was answered.
    pub message: String,
}

/// The edit that landed on the same file afterwards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fix {
    /// How it was sent.
    pub mode: String,
    /// What was sent.
    pub request: serde_json::Value,
}

/// What became of a lesson that was shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// The next edit landed.
    Helped,
    /// It was refused for the same reason.
    NotHelped,
    /// It was refused for another.
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
    fn priors(&self, about: &About, may: &dyn Fn(&Origin) -> bool) -> Vec<Lesson>;
    /// What is worth knowing after a refusal.
    fn in_refusal(&self, failure: &Failure, may: &dyn Fn(&Origin) -> bool) -> Vec<Lesson>;
    /// Everything that may be taught, in order.
    fn all(&self, may: &dyn Fn(&Origin) -> bool) -> Vec<Lesson>;
    /// A failure, and what fixed it.
    fn learned(&mut self, on: &Origin, failure: &Failure, fix: &Fix);
    /// What became of a lesson.
    fn became(&mut self, id: &str, effect: Effect);
    /// How many episodes there are.
    fn count(&self) -> usize;
}

/// The most lessons at once.
pub const MOST: usize = 3;

/// A memory for one run of the benchmark, kept nowhere.
#[derive(Debug, Default)]
pub struct Simple {
    episodes: Vec<Episode>,
}

#[derive(Debug)]
struct Episode {
    id: String,
    code: String,
    mode: String,
    language: String,
    repair: String,
    origins: Vec<Origin>,
    worth: f64,
    uses: u32,
}

impl Episode {
    fn lesson(&self) -> Lesson {
        let Episode { code, mode, language, repair, .. } = self;
        let text = format!("{code} ({language}): `{mode}` was refused. What landed was `{repair}`.");
        Lesson { id: self.id.clone(), text, code: code.clone(), language: language.clone() }
    }

    fn has_its_place(&self) -> bool {
        self.uses < 3 || self.worth >= 0.3
    }
}

impl Simple {
    /// The best of those that fit, at most [`MOST`].
    fn best(&self, may: &dyn Fn(&Origin) -> bool, fits: impl Fn(&Episode) -> bool) -> Vec<Lesson> {
        let mut fit: Vec<&Episode> = self.taught(may).filter(|one| fits(one)).collect();
        fit.sort_by(|a, b| b.worth.total_cmp(&a.worth).then_with(|| a.id.cmp(&b.id)));
        fit.into_iter().take(MOST).map(Episode::lesson).collect()
    }

    fn taught(&self, may: &dyn Fn(&Origin) -> bool) -> impl Iterator<Item = &Episode> {
        self.episodes.iter().filter(move |one| one.has_its_place() && one.origins.iter().all(may))
    }
}

impl Lessons for Simple {
    fn priors(&self, about: &About, may: &dyn Fn(&Origin) -> bool) -> Vec<Lesson> {
        self.best(may, |one| about.languages.contains(&one.language))
    }

    fn in_refusal(&self, failure: &Failure, may: &dyn Fn(&Origin) -> bool) -> Vec<Lesson> {
        self.best(may, |one| one.code == failure.code && one.language == failure.language)
    }

    fn all(&self, may: &dyn Fn(&Origin) -> bool) -> Vec<Lesson> {
        self.taught(may).map(Episode::lesson).collect()
    }

    fn learned(&mut self, on: &Origin, failure: &Failure, fix: &Fix) {
        let id = format!("{}:{}:{}:{}", failure.code, failure.language, failure.mode, fix.mode);
        if let Some(known) = self.episodes.iter_mut().find(|one| one.id == id) {
            if !known.origins.contains(on) {
                known.origins.push(on.clone());
            }
            return;
        }
        self.episodes.push(Episode {
            id,
            code: failure.code.clone(),
            mode: failure.mode.clone(),
            language: failure.language.clone(),
            repair: fix.mode.clone(),
            origins: vec![on.clone()],
            worth: 0.5,
            uses: 0,
        });
    }

    fn became(&mut self, id: &str, effect: Effect) {
        let Some(known) = self.episodes.iter_mut().find(|one| one.id == id) else { return };
        known.uses += 1;
        known.worth = match effect {
            Effect::Helped => 0.7 * known.worth + 0.3,
            Effect::NotHelped => 0.7 * known.worth,
            Effect::Worse => known.worth / 2.0,
        };
    }

    fn count(&self) -> usize {
        self.episodes.len()
    }
}

/// For each of `right` the words of a lesson about another code and another language, as long as the right one; where there is none, its own
/// words in another order. The names stay, so that the same number of the same episodes is shown.
#[must_use]
pub fn wrong(right: Vec<Lesson>, all: &[Lesson], chance: &mut Chance) -> Vec<Lesson> {
    let swap = |lesson: Lesson| {
        let others: Vec<&Lesson> =
            all.iter().filter(|one| one.code != lesson.code && one.language != lesson.language).collect();
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
        Lesson { id: code.to_owned(), text: text.to_owned(), code: code.to_owned(), language: code.to_lowercase() }
    }

    fn origin(task: &str, date: &str) -> Origin {
        Origin { suite: "s".to_owned(), task: task.to_owned(), date: date.to_owned() }
    }

    #[test]
    fn a_placebo_has_as_many_lessons_as_long_and_none_is_about_the_failure() {
        let all = [lesson("A", "A wants append"), lesson("B", "B wants edit, and more"), lesson("C", "C")];
        let shown = wrong(vec![all[0].clone(), all[1].clone()], &all, &mut Chance::new(1, "x"));
        let lengths: Vec<usize> = shown.iter().map(|one| one.text.chars().count()).collect();
        assert_eq!(lengths, [14, 22]);
        assert!(!shown[0].text.contains("A wants") && !shown[1].text.contains("B wants"), "{shown:?}");
        let alone = wrong(vec![all[0].clone()], &all[..1], &mut Chance::new(1, "x"));
        assert_eq!((alone[0].text.len(), alone.len()), (14, 1));
    }

    #[test]
    fn what_was_learned_later_or_on_the_task_itself_is_never_taught_to_it() {
        let (old, new) = (origin("old", "2026-01-01"), origin("new", "2026-02-01"));
        assert!(Split::ByTime.allows(&old, &new) && !Split::ByTime.allows(&new, &old));
        assert!(!Split::ByTime.allows(&new, &new) && !Split::ByTime.allows(&new, &origin("other", "2026-02-01")));
        assert!(Split::Off.allows(&new, &new));
        let failure = Failure {
            code: "A".into(),
            path: "a.py".into(),
            mode: "edit".into(),
            language: "python".into(),
            request: serde_json::Value::Null,
            message: String::new(),
        };
        let mut memory = Simple::default();
        let fix = Fix { mode: "append".into(), request: serde_json::Value::Null };
        memory.learned(&old, &failure, &fix);
        let seen =
            |memory: &Simple, by: &Origin| memory.in_refusal(&failure, &|from| Split::ByTime.allows(from, by)).len();
        assert_eq!((seen(&memory, &new), seen(&memory, &old)), (1, 0));
        // Seen on a newer task, too: it is no longer known from older ones alone.
        memory.learned(&origin("newer", "2026-03-01"), &failure, &fix);
        assert_eq!((seen(&memory, &new), memory.count()), (0, 1));
    }

    #[test]
    fn a_lesson_that_does_not_help_loses_its_place() {
        let mut memory = Simple::default();
        let failure = Failure {
            code: "A".into(),
            path: "a.py".into(),
            mode: "edit".into(),
            language: "python".into(),
            request: serde_json::Value::Null,
            message: String::new(),
        };
        memory.learned(
            &origin("t", "2026-01-01"),
            &failure,
            &Fix { mode: "append".into(), request: serde_json::Value::Null },
        );
        let shown = |memory: &Simple| memory.in_refusal(&failure, &|_| true);
        let id = shown(&memory)[0].id.clone();
        memory.became(&id, Effect::NotHelped);
        memory.became(&id, Effect::Worse);
        assert_eq!(shown(&memory).len(), 1, "two uses decide nothing");
        memory.became(&id, Effect::NotHelped);
        assert_eq!(shown(&memory), []);
    }
}
