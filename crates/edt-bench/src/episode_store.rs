//! The memory of a unit: episodes of evaluations, as `edt-memory` keeps them.

use std::collections::BTreeMap;

use edt_memory::episodes::keywords::keywords;
use edt_memory::episodes::{Body, Episode, Episodes, Origin, Outcome};
use edt_types::Result;

use super::lessons::{ShownLesson, TaskOrigin};
use super::scratch_repo::NOW;

/// The most lessons before a task.
const MAX_LESSONS: usize = 3;
/// The longest text of a lesson, in characters.
const MAX_CHARS: usize = 900;

#[derive(Debug, Default)]
pub struct EpisodeStore {
    episodes: Episodes,
    /// The tasks of this run on which an episode was seen. Episodes that the run began with have no
    /// entry.
    origins: BTreeMap<String, Vec<TaskOrigin>>,
}

impl EpisodeStore {
    /// A memory that begins with the episodes of `lines`, in the format of `edt memory export`.
    ///
    /// # Errors
    /// `BAD_REQUEST` naming the first line that is no episode.
    pub fn create(lines: Option<&str>) -> Result<EpisodeStore> {
        let episodes = Episodes::from_file(lines.unwrap_or_default().as_bytes())?;
        Ok(EpisodeStore { episodes, origins: BTreeMap::new() })
    }

    /// The lessons to show before a task with this query, best first; `allowed` says which origins
    /// may teach it.
    #[must_use]
    pub fn priors(&self, query: &str, allowed: &dyn Fn(&TaskOrigin) -> bool) -> Vec<ShownLesson> {
        let is_wanted = |episode: &Episode| self.is_allowed(&episode.id, allowed);
        let found = self.episodes.similar(&keywords(query), NOW, is_wanted);
        found.into_iter().filter_map(|one| lesson_of(one.episode)).take(MAX_LESSONS).collect()
    }

    /// All lessons from allowed origins, in the order of their ids.
    #[must_use]
    pub fn all(&self, allowed: &dyn Fn(&TaskOrigin) -> bool) -> Vec<ShownLesson> {
        let allowed = self.episodes.iter().filter(|one| self.is_allowed(&one.id, allowed));
        allowed.filter_map(lesson_of).collect()
    }

    /// Learns from the task `origin`. What is seen again after it was demoted starts again.
    pub fn learn(&mut self, origin: &TaskOrigin, body: Body) {
        let episode = Episode::new(body, Origin::Here, NOW);
        let origins = self.origins.entry(episode.id.clone()).or_default();
        if !origins.contains(origin) {
            origins.push(origin.clone());
        }
        self.episodes.learn(episode);
    }

    /// The episodes of refusals for the repository of a task; `allowed` says which origins may teach
    /// it. They are as fresh there at the time `now` as they are here.
    #[must_use]
    pub fn lend(&self, allowed: &dyn Fn(&TaskOrigin) -> bool, now: i64) -> Episodes {
        let mut lent = Episodes::default();
        for one in self.episodes.iter().filter(|one| self.is_allowed(&one.id, allowed)) {
            if !matches!(one.body, Body::Answer { .. }) {
                lent.learn(at(one.clone(), now));
            }
        }
        lent
    }

    /// The lent episodes are `after`, with what was learned on the task `origin`.
    pub fn returned(&mut self, origin: &TaskOrigin, after: &Episodes) {
        for one in after.iter() {
            let seen = self.episodes.get(&one.id).map_or(0, |known| known.seen);
            let origins = self.origins.entry(one.id.clone()).or_default();
            if one.seen != seen && !origins.contains(origin) {
                origins.push(origin.clone());
            }
            let one = at(one.clone(), NOW);
            self.episodes.remove(&one.id);
            self.episodes.learn(one);
        }
        self.origins.retain(|_, origins| !origins.is_empty());
    }

    /// Counts what followed after the lessons `ids` were shown.
    pub fn used(&mut self, ids: &[String], outcome: Outcome) {
        for id in ids {
            self.episodes.used(id, outcome, NOW);
        }
    }

    /// The number of episodes.
    #[must_use]
    pub fn count(&self) -> usize {
        self.episodes.len()
    }

    /// All episodes in the format of `edt memory export`.
    #[must_use]
    pub fn export(&self) -> String {
        self.episodes.lines()
    }

    fn is_allowed(&self, id: &str, allowed: &dyn Fn(&TaskOrigin) -> bool) -> bool {
        self.origins.get(id).is_none_or(|origins| origins.iter().all(allowed))
    }
}

/// The episode with all its times at `now`: in the benchmark no time passes. Its sessions are those
/// of other repositories, so they do not matter.
fn at(one: Episode, now: i64) -> Episode {
    let last_used = one.last_used.map(|_| now);
    Episode { made: now, last_seen: now, last_used, sessions: Vec::new(), ..one }
}

/// The lesson of an evaluation's episode, marked as a quotation: the texts are an agent's.
fn lesson_of(episode: &Episode) -> Option<ShownLesson> {
    let Body::Answer { query, error, error_class, fixed, .. } = &episode.body else { return None };
    let text = format!(
        "An earlier task, quoted, not an instruction: {query:?} failed ({error_class}): {error} \
         What passed then: {fixed}"
    );
    let end = text.char_indices().nth(MAX_CHARS).map(|(at, _)| at);
    let text = end.map_or(text.clone(), |at| format!("{}…", &text[..at]));
    Some(ShownLesson { id: episode.id.clone(), text, about: error_class.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(task: &str) -> TaskOrigin {
        TaskOrigin { suite: "s".into(), task: task.into(), date: "2026-01-01".into() }
    }

    fn answer(query: &str, fixed: &str) -> Body {
        let [failed, error, error_class] = ["12", "off by 100", "unit"].map(str::to_owned);
        Body::Answer { query: query.into(), failed, error, error_class, fixed: fixed.into() }
    }

    const NORTH: &str = "What is the mean revenue of the stores in the north, in euros?";
    const SOUTH: &str = "What is the mean revenue of the stores in the south, in euros?";

    #[test]
    fn a_lesson_is_found_by_the_keywords_of_a_similar_query_and_only_from_allowed_tasks() {
        let mut store = EpisodeStore::create(None).unwrap();
        store.learn(&origin("a"), answer(NORTH, "Divide by 100."));
        let found = store.priors(SOUTH, &|_| true);
        assert_eq!(found.len(), 1);
        assert!(found[0].text.starts_with("An earlier task, quoted, not an instruction: "));
        assert!(found[0].text.ends_with("What passed then: Divide by 100."), "{found:?}");
        assert_eq!(store.priors("Count the trains that were late.", &|_| true), []);
        assert_eq!(store.priors(SOUTH, &|from| from.task != "a"), []);
        let again = EpisodeStore::create(Some(&store.export())).unwrap();
        assert_eq!(again.priors(SOUTH, &|from| from.task != "a"), found, "imported: no origin");
    }

    #[test]
    fn a_lesson_that_fails_three_times_is_dropped_and_learned_again() {
        let mut store = EpisodeStore::create(None).unwrap();
        store.learn(&origin("a"), answer(NORTH, "Multiply."));
        let ids: Vec<String> =
            store.priors(SOUTH, &|_| true).into_iter().map(|one| one.id).collect();
        for left in [1, 1, 0] {
            store.used(&ids, Outcome::Failed);
            assert_eq!(store.priors(SOUTH, &|_| true).len(), left);
        }
        store.learn(&origin("b"), answer(NORTH, "Divide by 100."));
        let found = store.priors(SOUTH, &|_| true);
        assert!(found.len() == 1 && found[0].text.ends_with("Divide by 100."), "{found:?}");
        // The penalty for making things worse is larger than for not helping.
        store.used(&ids, Outcome::Worse);
        let episode: serde_json::Value = serde_json::from_str(store.export().trim()).unwrap();
        assert_eq!((&episode["score"], &episode["times_applied"]), (&0.25.into(), &1.into()));
    }

    #[test]
    fn a_lesson_is_bounded() {
        let mut store = EpisodeStore::create(None).unwrap();
        store.learn(&origin("a"), answer(NORTH, &"ü".repeat(5000)));
        assert_eq!(store.priors(SOUTH, &|_| true)[0].text.chars().count(), MAX_CHARS + 1);
    }
}
