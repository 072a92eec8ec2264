//! The strategies: which lessons and which feedback an agent receives. The family [`STRATEGIES`].

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Strategy {
    pub name: &'static str,
    /// A sentence for users.
    pub about: &'static str,
    pub lessons: LessonKind,
    pub feedback: Feedback,
}

/// Which lessons an agent receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LessonKind {
    /// None; nothing is remembered.
    None,
    /// Lessons that match the task.
    Matching,
    /// As many lessons of the same length, about something else.
    Placebo,
}

/// What an agent learns about its last attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feedback {
    /// Only that it failed.
    FailedOnly,
    /// The judge's feedback and the codes of the refusals.
    Reason,
}

pub const STRATEGIES: &[Strategy] = &[
    Strategy {
        name: "none",
        about: "no lessons; feedback: only that the attempt failed",
        lessons: LessonKind::None,
        feedback: Feedback::FailedOnly,
    },
    Strategy {
        name: "reflection",
        about: "no lessons; feedback: the judge's reason and hint, and the codes of refusals",
        lessons: LessonKind::None,
        feedback: Feedback::Reason,
    },
    Strategy {
        name: "episodic",
        about: "lessons from earlier evaluations of similar tasks, before the task; edt's own, in refusals",
        lessons: LessonKind::Matching,
        feedback: Feedback::FailedOnly,
    },
    Strategy {
        name: "placebo",
        about: "as many lessons of the same length, each about another class of error",
        lessons: LessonKind::Placebo,
        feedback: Feedback::FailedOnly,
    },
];

impl Strategy {
    #[must_use]
    pub fn of(name: &str) -> Option<&'static Strategy> {
        STRATEGIES.iter().find(|strategy| strategy.name == name)
    }

    /// Whether one task affects the next, so that their order matters.
    #[must_use]
    pub fn remembers(self) -> bool {
        self.lessons != LessonKind::None
    }
}
