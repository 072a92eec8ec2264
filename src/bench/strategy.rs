//! What an agent is given beside its task: the family [`STRATEGIES`].

/// A strategy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Strategy {
    /// Its name.
    pub name: &'static str,
    /// What it gives, in a sentence.
    pub about: &'static str,
    /// The lessons that it gives.
    pub lessons: Given,
    /// What an agent hears of its last attempt.
    pub hears: Hears,
}

/// Which lessons an agent is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Given {
    /// None; nothing is remembered.
    None,
    /// Those that fit.
    Own,
    /// As many, as long, of other failures.
    Wrong,
}

/// What an agent hears of its last attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hears {
    /// That it failed.
    Failed,
    /// What the judge said, and the codes of the refusals.
    Why,
}

/// Every strategy.
pub const STRATEGIES: &[Strategy] = &[
    Strategy {
        name: "none",
        about: "no lessons; of an attempt only that it failed",
        lessons: Given::None,
        hears: Hears::Failed,
    },
    Strategy {
        name: "reflection",
        about: "no lessons; what the judge said of the attempt before, and its refusals",
        lessons: Given::None,
        hears: Hears::Why,
    },
    Strategy {
        name: "episodic",
        about: "lessons from earlier failures, before the task and in refusals",
        lessons: Given::Own,
        hears: Hears::Failed,
    },
    Strategy {
        name: "placebo",
        about: "as many lessons, as long, each of another failure",
        lessons: Given::Wrong,
        hears: Hears::Failed,
    },
];

impl Strategy {
    /// The strategy of that name.
    #[must_use]
    pub fn of(name: &str) -> Option<&'static Strategy> {
        STRATEGIES.iter().find(|one| one.name == name)
    }

    /// Whether something is carried from one task to the next, so that their order matters.
    #[must_use]
    pub fn remembers(self) -> bool {
        self.lessons != Given::None
    }
}
