//! The episodes that are similar to a query.

use super::keywords::jaccard;
use super::{Episode, Episodes};

/// The least similarity of an episode's keywords and those of a query.
pub const MIN_SIMILARITY: f64 = 0.3;

/// An episode that is similar to a query.
#[derive(Debug, Clone, Copy)]
pub struct Match<'e> {
    pub episode: &'e Episode,
    /// The Jaccard similarity of the keywords.
    pub similarity: f64,
    /// The score at the time of the query.
    pub score: f64,
}

impl Episodes {
    /// The episodes that may be shown at `now`, whose keywords are similar to the sorted `keywords`
    /// and that are `wanted`. The best come first: those with the highest product of similarity and
    /// score.
    pub fn similar(
        &self,
        keywords: &[String],
        now: i64,
        wanted: impl Fn(&Episode) -> bool,
    ) -> Vec<Match<'_>> {
        let rank = |one: &Match<'_>| one.similarity * one.score;
        let shown = self.iter().filter(|one| one.may_be_shown(now) && wanted(one));
        let matches = shown.map(|episode| Match {
            episode,
            similarity: jaccard(&episode.keywords, keywords),
            score: episode.score_at(now),
        });
        let mut found: Vec<Match<'_>> =
            matches.filter(|one| one.similarity >= MIN_SIMILARITY).collect();
        found.sort_by(|a, b| rank(b).total_cmp(&rank(a)));
        found
    }
}
