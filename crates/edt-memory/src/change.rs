//! Changes of episodes. Each covers only a part of an episode, so that concurrent changes are not
//! lost.

use serde::{Deserialize, Serialize};

use super::episode::{Episode, EpisodeFix, TextOrigin};
use super::score::UseOutcome;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryChange {
    /// This failure occurred `seen` times.
    Failed(Box<Episode>),
    /// This edit landed after the failure with that id.
    Fixed(String, Box<EpisodeFix>),
    /// The commit that fixed the episode was undone.
    Unfixed(String, String),
    /// Its lesson was shown, with this outcome at this time (seconds since 1970).
    Used(String, UseOutcome, i64),
    /// The edit that landed after its lesson was undone.
    Worsened(String),
    /// Someone added it; its origin says who.
    Added(Box<Episode>),
    /// The user set or removed the text of its lesson.
    Lesson(String, Option<String>),
    /// The user deprecated it for this reason, or revived it.
    Deprecated(String, Option<String>),
    Replaced(Box<Episode>),
    /// Another version of it, and the merge base.
    Merged(Box<Episode>, Option<Box<Episode>>),
    Deleted(String),
}

impl MemoryChange {
    /// The id of the changed episode.
    #[must_use]
    pub fn id(&self) -> &str {
        match self {
            MemoryChange::Failed(episode)
            | MemoryChange::Added(episode)
            | MemoryChange::Replaced(episode)
            | MemoryChange::Merged(episode, _) => &episode.id,
            MemoryChange::Fixed(id, _)
            | MemoryChange::Unfixed(id, _)
            | MemoryChange::Used(id, ..)
            | MemoryChange::Worsened(id)
            | MemoryChange::Lesson(id, _)
            | MemoryChange::Deprecated(id, _)
            | MemoryChange::Deleted(id) => id,
        }
    }

    /// The episode after this change. A missing episode is created only by a failure, the user, or
    /// an import.
    #[must_use]
    pub fn apply_to(&self, current: Option<Episode>) -> Option<Episode> {
        let Some(current) = current else {
            return match self {
                MemoryChange::Failed(new)
                | MemoryChange::Added(new)
                | MemoryChange::Replaced(new) => Some((**new).clone()),
                MemoryChange::Merged(theirs, None) => Some(theirs.imported()),
                MemoryChange::Merged(theirs, Some(_)) => {
                    Some(Episode { origin: Some(TextOrigin::Imported), ..(**theirs).clone() })
                }
                _ => None,
            };
        };
        Some(match self {
            MemoryChange::Failed(now) => current.seen_again(now),
            MemoryChange::Fixed(_, fix) => current.fixed(fix),
            MemoryChange::Unfixed(_, commit) => current.unfixed(commit),
            MemoryChange::Used(_, outcome, now) => current.used(*outcome, *now),
            MemoryChange::Worsened(_) => current.worsened(),
            MemoryChange::Added(new) => current.taught(new),
            MemoryChange::Lesson(_, lesson) => Episode {
                lesson: lesson.clone(),
                origin: lesson.is_some().then_some(TextOrigin::User),
                ..current
            },
            MemoryChange::Deprecated(_, why) => Episode { deprecated: why.clone(), ..current },
            MemoryChange::Replaced(episode) => (**episode).clone(),
            MemoryChange::Merged(theirs, base) => {
                Episode::merged(base.as_deref(), &current, theirs)
            }
            MemoryChange::Deleted(_) => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FailedAttempt;

    fn episode(text: &str) -> Episode {
        let attempt = FailedAttempt { fragment: text.to_owned(), ..FailedAttempt::default() };
        Episode::new("SYNTAX_ERROR", Some("c"), attempt, 100)
    }

    fn fix(commit: &str) -> EpisodeFix {
        EpisodeFix { commit: Some(commit.to_owned()), landed: 200, ..EpisodeFix::default() }
    }

    #[test]
    fn the_first_failure_makes_an_episode() {
        let one = episode("alpha");
        let change = MemoryChange::Failed(Box::new(one.clone()));
        assert_eq!((change.id(), change.apply_to(None)), (one.id.as_str(), Some(one.clone())));
    }

    #[test]
    fn a_further_failure_counts_in_the_same_episode() {
        let one = episode("alpha");
        let later = Episode { last_seen: 300, ..one.clone() };
        let after = MemoryChange::Failed(Box::new(later)).apply_to(Some(one.clone()));
        assert_eq!(after, Some(Episode { seen: 2, last_seen: 300, ..one }));
    }

    #[test]
    fn the_first_fix_stays() {
        let one = episode("alpha");
        let id = one.id.clone();
        let fixed =
            MemoryChange::Fixed(id.clone(), Box::new(fix("a"))).apply_to(Some(one)).unwrap();
        let again = MemoryChange::Fixed(id, Box::new(fix("b"))).apply_to(Some(fixed.clone()));
        assert_eq!((fixed.fix.clone(), again), (Some(fix("a")), Some(fixed)));
    }

    #[test]
    fn an_undone_fix_is_removed_and_another_one_stays() {
        let one = Episode { fix: Some(fix("a")), ..episode("alpha") };
        let unfixed = |commit: &str| {
            let change = MemoryChange::Unfixed(one.id.clone(), commit.to_owned());
            change.apply_to(Some(one.clone())).unwrap().fix
        };
        assert_eq!((unfixed("a"), unfixed("b")), (None, Some(fix("a"))));
    }

    #[test]
    fn a_change_of_an_unknown_episode_makes_none() {
        let id = episode("alpha").id;
        let changes = [
            MemoryChange::Fixed(id.clone(), Box::new(fix("a"))),
            MemoryChange::Used(id.clone(), UseOutcome::Helped, 1),
            MemoryChange::Lesson(id.clone(), Some("x".into())),
            MemoryChange::Deleted(id),
        ];
        assert!(changes.iter().all(|change| change.apply_to(None).is_none()));
    }

    #[test]
    fn a_deleted_episode_is_gone() {
        let one = episode("alpha");
        assert_eq!(MemoryChange::Deleted(one.id.clone()).apply_to(Some(one)), None);
    }

    #[test]
    fn a_lesson_of_the_user_revives_a_deprecated_episode() {
        let one = Episode { deprecated: Some("old".into()), ..episode("alpha") };
        let new = Episode { lesson: Some("Do so.".into()), ..episode("alpha") };
        let after = MemoryChange::Added(Box::new(new)).apply_to(Some(one)).unwrap();
        assert_eq!((after.lesson.as_deref(), after.deprecated), (Some("Do so."), None));
    }

    #[test]
    fn an_imported_episode_starts_with_no_uses_of_its_own() {
        let theirs = Episode { uses: 9, helped: 9, effectiveness: 1.0, ..episode("alpha") };
        let change = MemoryChange::Merged(Box::new(theirs.clone()), None);
        assert_eq!(change.apply_to(None), Some(theirs.imported()));
        let known =
            MemoryChange::Merged(Box::new(theirs.clone()), Some(Box::new(episode("alpha"))));
        let imported = Episode { origin: Some(TextOrigin::Imported), ..theirs };
        assert_eq!(known.apply_to(None), Some(imported));
    }
}
