//! Selects the lessons that are shown for a failure.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::Memory;
use super::change::MemoryChange;
use super::episode::Episode;
use super::index::{self, EpisodeIndex, IndexEntry, word_hash};
use super::keywords::{MIN_SIMILARITY, can_be_similar, jaccard};
use super::lesson::{self, Lesson};
use super::score;
use edt_git::Oid;
use edt_types::Result;

/// The most lessons in one answer.
pub const MAX_LESSONS: usize = 3;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LessonQuery {
    pub code: String,
    pub language: Option<String>,
    /// Sorted and unique.
    pub keywords: Vec<String>,
}

impl From<&Episode> for LessonQuery {
    fn from(episode: &Episode) -> LessonQuery {
        LessonQuery {
            code: episode.code.clone(),
            language: episode.language.clone(),
            keywords: episode.keywords.clone(),
        }
    }
}

/// What an episode must have in common with the query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchBy {
    /// Keywords with a similarity of at least [`MIN_SIMILARITY`].
    Keywords,
    /// The language, for lessons before anything was refused.
    Language,
}

/// The lessons for `query` at `now` (seconds since 1970): at most [`MAX_LESSONS`], those with the
/// same code and language first. `pending` are changes that are not recorded yet.
///
/// # Errors
/// `OBJECT_MISSING`, `IO_ERROR`: the memory cannot be read.
pub fn lessons(
    memory: &Memory<'_>,
    query: &LessonQuery,
    now: i64,
    pending: &[MemoryChange],
) -> Result<Vec<Lesson>> {
    let matching_episodes =
        matching_episodes(memory, query, now, pending, MatchBy::Keywords, &|_| true)?;
    Ok(matching_episodes.into_iter().map(|(_, lesson)| lesson).collect())
}

/// As [`lessons`], with the episodes, and only of `wanted` episodes.
///
/// # Errors
/// As [`lessons`].
pub fn matching_episodes(
    memory: &Memory<'_>,
    query: &LessonQuery,
    now: i64,
    pending: &[MemoryChange],
    match_by: MatchBy,
    wanted: &dyn Fn(&Episode) -> bool,
) -> Result<Vec<(Episode, Lesson)>> {
    let mut pending_by_id: BTreeMap<u64, Vec<&MemoryChange>> = BTreeMap::new();
    for change in pending {
        pending_by_id.entry(index::id_number(change.id())).or_default().push(change);
    }
    let (index, hashed) = (memory.index()?, HashedQuery::of(query));
    let mut found: Vec<Candidate<'_>> = Vec::new();
    let mut stored: BTreeMap<u64, Oid> = BTreeMap::new();
    for entry in index.as_deref().map(EpisodeIndex::entries).into_iter().flatten() {
        if !pending_by_id.is_empty() && pending_by_id.contains_key(&entry.id()) {
            stored.extend(entry.oid().map(|oid| (entry.id(), oid)));
        } else if entry.teaches() {
            found.extend(Candidate::of_entry(entry, &hashed, now, match_by));
        }
    }
    let newer = newer_than_index(memory, query, &pending_by_id, &stored, match_by)?;
    found.extend(
        newer.iter().filter_map(|episode| Candidate::of_episode(episode, query, now, match_by)),
    );
    found.sort_by(|a, b| {
        let better = b.rank.score().partial_cmp(&a.rank.score()).unwrap_or(Ordering::Equal);
        a.rank.distance.cmp(&b.rank.distance).then(better).then_with(|| a.id.cmp(&b.id))
    });
    let mut out = Vec::new();
    for candidate in found {
        let episode = match candidate.source {
            Source::Episode(episode) => episode.clone(),
            // The index has hashes, which may collide: the episode itself decides.
            Source::Stored(oid) => match memory.read_blob(oid)? {
                Some(episode)
                    if Candidate::of_episode(&episode, query, now, match_by).is_some() =>
                {
                    episode
                }
                _ => continue,
            },
        };
        if let Some(text) = lesson::text(&episode).filter(|_| wanted(&episode)) {
            let (id, effectiveness) = (episode.id.clone(), episode.effectiveness_at(now));
            out.push((
                episode,
                Lesson { id, text, similarity: candidate.rank.similarity, effectiveness },
            ));
        }
        if out.len() == MAX_LESSONS {
            break;
        }
    }
    Ok(out)
}

struct Candidate<'e> {
    rank: Rank,
    id: u64,
    source: Source<'e>,
}

enum Source<'e> {
    Episode(&'e Episode),
    Stored(Oid),
}

/// How well an episode matches the query.
struct Rank {
    /// 0 for the same code and language, 1 for the same code, 2 for the same language, 3 for
    /// neither.
    distance: u8,
    similarity: f64,
    effectiveness: f64,
}

impl Rank {
    /// Whether an episode with this rank may be shown.
    fn may_answer(&self, uses: u64, match_by: MatchBy) -> bool {
        let is_alike = match match_by {
            MatchBy::Keywords => self.similarity >= MIN_SIMILARITY,
            MatchBy::Language => self.distance.is_multiple_of(2),
        };
        is_alike && score::is_still_shown(self.effectiveness, uses)
    }

    fn score(&self) -> f64 {
        self.similarity * self.effectiveness
    }
}

fn distance(same_code: bool, same_language: bool) -> u8 {
    u8::from(!same_code) * 2 + u8::from(!same_language)
}

impl<'e> Candidate<'e> {
    fn of_entry(
        entry: IndexEntry<'_>,
        query: &HashedQuery,
        now: i64,
        match_by: MatchBy,
    ) -> Option<Candidate<'e>> {
        let (own, asked) = (entry.count(), query.words.len());
        if match_by == MatchBy::Keywords
            && !can_be_similar(entry.max_shared(query.signature, asked), own + asked)
        {
            return None;
        }
        let similarity = jaccard(entry.words(), query.words.iter().copied());
        let effectiveness =
            score::decayed(f64::from(entry.effectiveness()), now.saturating_sub(entry.last_used()));
        let distance = distance(entry.code() == query.code, entry.language() == query.language);
        let rank = Rank { distance, similarity, effectiveness };
        let source = Source::Stored(entry.oid()?);
        rank.may_answer(entry.uses().into(), match_by).then_some(Candidate {
            rank,
            id: entry.id(),
            source,
        })
    }

    fn of_episode(
        episode: &'e Episode,
        query: &LessonQuery,
        now: i64,
        match_by: MatchBy,
    ) -> Option<Candidate<'e>> {
        let rank = Rank {
            distance: distance(episode.code == query.code, episode.language == query.language),
            similarity: jaccard(&episode.keywords, &query.keywords),
            effectiveness: episode.effectiveness_at(now),
        };
        let (id, source) = (index::id_number(&episode.id), Source::Episode(episode));
        (episode.teaches() && rank.may_answer(episode.uses, match_by)).then_some(Candidate {
            rank,
            id,
            source,
        })
    }
}

/// A query with hashed words, as in the index.
struct HashedQuery {
    code: u32,
    language: u32,
    words: Vec<u32>,
    signature: u64,
}

impl HashedQuery {
    fn of(query: &LessonQuery) -> HashedQuery {
        let mut words: Vec<u32> = query.keywords.iter().map(|word| word_hash(word)).collect();
        words.sort_unstable();
        let signature = index::signature(words.iter().copied());
        HashedQuery {
            code: word_hash(&query.code),
            language: query.language.as_deref().map_or(0, word_hash),
            words,
            signature,
        }
    }
}

/// The current state of episodes with pending changes, without those that cannot match.
fn newer_than_index(
    memory: &Memory<'_>,
    query: &LessonQuery,
    pending_by_id: &BTreeMap<u64, Vec<&MemoryChange>>,
    stored: &BTreeMap<u64, Oid>,
    match_by: MatchBy,
) -> Result<Vec<Episode>> {
    let mut out = Vec::new();
    for (id, changes) in pending_by_id {
        let is_new = |change: &&MemoryChange| {
            !matches!(
                change,
                MemoryChange::Failed(_) | MemoryChange::Used(..) | MemoryChange::Worsened(_)
            )
        };
        // An episode that is neither recorded nor fixed has no lesson, and a dissimilar one need
        // not be read.
        let has_no_lesson = !stored.contains_key(id) && !changes.iter().any(is_new);
        let is_dissimilar = changes.iter().any(|change| match change {
            MemoryChange::Failed(episode) => {
                match_by == MatchBy::Keywords
                    && jaccard(&episode.keywords, &query.keywords) < MIN_SIMILARITY
            }
            _ => false,
        });
        if has_no_lesson || is_dissimilar {
            continue;
        }
        let mut newest = stored.get(id).map(|oid| memory.read_blob(*oid)).transpose()?.flatten();
        for change in changes {
            newest = change.apply_to(newest);
        }
        out.extend(newest);
    }
    Ok(out)
}
