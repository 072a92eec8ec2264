//! Which lessons a failure is answered with.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::Memory;
use super::change::Change;
use super::episode::Episode;
use super::index::{self, Entry, Index, short};
use super::lesson::{self, Lesson};
use super::score;
use super::words::{ALIKE, alike, may_be_alike};
use crate::base::Result;
use crate::git::Oid;

/// Most lessons of one answer.
pub const MOST: usize = 3;

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// The code of the refusal.
    pub code: String,
    /// The language of the file.
    pub language: Option<String>,
    /// Keywords, sorted, each once.
    pub keywords: Vec<String>,
}

impl From<&Episode> for Query {
    fn from(episode: &Episode) -> Query {
        Query {
            code: episode.code.clone(),
            language: episode.language.clone(),
            keywords: episode.keywords.clone(),
        }
    }
}

/// What a lesson must have in common with what is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alike {
    /// Its keywords: at least [`ALIKE`].
    InWords,
    /// Its language: what is worth knowing before anything was refused.
    InLanguage,
}

/// The lessons that answer `query` at `now` (seconds since 1970): at most [`MOST`], those of the same code and language first; none if
/// nothing is alike. `pending` is what is known and not yet recorded.
///
/// # Errors
/// `OBJECT_MISSING`, `IO_ERROR`: the memory cannot be read.
pub fn lessons(
    memory: &Memory<'_>,
    query: &Query,
    now: i64,
    pending: &[Change],
) -> Result<Vec<Lesson>> {
    let chosen = chosen(memory, query, now, pending, Alike::InWords, &|_| true)?;
    Ok(chosen.into_iter().map(|(_, lesson)| lesson).collect())
}

/// The same with the episodes, of those that are `wanted`.
///
/// # Errors
/// As [`lessons`].
pub fn chosen(
    memory: &Memory<'_>,
    query: &Query,
    now: i64,
    pending: &[Change],
    how: Alike,
    wanted: &dyn Fn(&Episode) -> bool,
) -> Result<Vec<(Episode, Lesson)>> {
    let mut touched: BTreeMap<u64, Vec<&Change>> = BTreeMap::new();
    for change in pending {
        touched.entry(index::number(change.id())).or_default().push(change);
    }
    let (index, short) = (memory.index()?, Shortened::of(query));
    let mut found: Vec<Candidate<'_>> = Vec::new();
    let mut stored: BTreeMap<u64, Oid> = BTreeMap::new();
    for entry in index.as_deref().map(Index::entries).into_iter().flatten() {
        if !touched.is_empty() && touched.contains_key(&entry.id()) {
            stored.extend(entry.oid().map(|oid| (entry.id(), oid)));
        } else if entry.teaches() {
            found.extend(Candidate::of_entry(entry, &short, now, how));
        }
    }
    let newer = unrecorded(memory, query, &touched, &stored, how)?;
    found
        .extend(newer.iter().filter_map(|episode| Candidate::of_episode(episode, query, now, how)));
    found.sort_by(|a, b| {
        let better = b.rank.score().partial_cmp(&a.rank.score()).unwrap_or(Ordering::Equal);
        a.rank.farness.cmp(&b.rank.farness).then(better).then_with(|| a.id.cmp(&b.id))
    });
    let mut out = Vec::new();
    for candidate in found {
        let episode = match candidate.what {
            What::Episode(episode) => episode.clone(),
            // Numbers stand for words in the index, and two words may have one: the episode itself decides.
            What::Stored(oid) => match memory.at(oid)? {
                Some(episode) if Candidate::of_episode(&episode, query, now, how).is_some() => {
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
        if out.len() == MOST {
            break;
        }
    }
    Ok(out)
}

/// An episode that may answer.
struct Candidate<'e> {
    rank: Rank,
    id: u64,
    what: What<'e>,
}

enum What<'e> {
    Episode(&'e Episode),
    Stored(Oid),
}

/// How near an episode is to what is asked.
struct Rank {
    /// 0 for the same code and language, 1 for the same code, 2 for the same language, 3 for neither.
    farness: u8,
    similarity: f64,
    effectiveness: f64,
}

impl Rank {
    /// Whether one that is so alike and so good may answer.
    fn may_answer(&self, uses: u64, how: Alike) -> bool {
        let is_alike = match how {
            Alike::InWords => self.similarity >= ALIKE,
            Alike::InLanguage => self.farness.is_multiple_of(2),
        };
        is_alike && score::has_place(self.effectiveness, uses)
    }

    fn score(&self) -> f64 {
        self.similarity * self.effectiveness
    }
}

fn farness(same_code: bool, same_language: bool) -> u8 {
    u8::from(!same_code) * 2 + u8::from(!same_language)
}

impl<'e> Candidate<'e> {
    fn of_entry(
        entry: Entry<'_>,
        query: &Shortened,
        now: i64,
        how: Alike,
    ) -> Option<Candidate<'e>> {
        let (own, asked) = (entry.count(), query.words.len());
        if how == Alike::InWords
            && !may_be_alike(entry.most_shared(query.signature, asked), own + asked)
        {
            return None;
        }
        let similarity = alike(entry.words(), query.words.iter().copied());
        let effectiveness =
            score::decayed(f64::from(entry.effectiveness()), now.saturating_sub(entry.last_used()));
        let farness = farness(entry.code() == query.code, entry.language() == query.language);
        let rank = Rank { farness, similarity, effectiveness };
        let what = What::Stored(entry.oid()?);
        rank.may_answer(entry.uses().into(), how).then_some(Candidate {
            rank,
            id: entry.id(),
            what,
        })
    }

    fn of_episode(
        episode: &'e Episode,
        query: &Query,
        now: i64,
        how: Alike,
    ) -> Option<Candidate<'e>> {
        let rank = Rank {
            farness: farness(episode.code == query.code, episode.language == query.language),
            similarity: alike(&episode.keywords, &query.keywords),
            effectiveness: episode.effectiveness_at(now),
        };
        let (id, what) = (index::number(&episode.id), What::Episode(episode));
        (episode.teaches() && rank.may_answer(episode.uses, how)).then_some(Candidate {
            rank,
            id,
            what,
        })
    }
}

/// A query as the index has its words.
struct Shortened {
    code: u32,
    language: u32,
    words: Vec<u32>,
    signature: u64,
}

impl Shortened {
    fn of(query: &Query) -> Shortened {
        let mut words: Vec<u32> = query.keywords.iter().map(|word| short(word)).collect();
        words.sort_unstable();
        let signature = index::signature(words.iter().copied());
        Shortened {
            code: short(&query.code),
            language: query.language.as_deref().map_or(0, short),
            words,
            signature,
        }
    }
}

/// The episodes that are newer than what is recorded of them, of those that may answer.
fn unrecorded(
    memory: &Memory<'_>,
    query: &Query,
    touched: &BTreeMap<u64, Vec<&Change>>,
    stored: &BTreeMap<u64, Oid>,
    how: Alike,
) -> Result<Vec<Episode>> {
    let mut out = Vec::new();
    for (id, changes) in touched {
        let is_new = |change: &&Change| {
            !matches!(change, Change::Failed(_) | Change::Used(..) | Change::Worsened(_))
        };
        // What is neither recorded nor fixed teaches nothing, and what is not alike need not be read.
        let silent = !stored.contains_key(id) && !changes.iter().any(is_new);
        let far = changes.iter().any(|change| match change {
            Change::Failed(episode) => {
                how == Alike::InWords && alike(&episode.keywords, &query.keywords) < ALIKE
            }
            _ => false,
        });
        if silent || far {
            continue;
        }
        let mut newest = stored.get(id).map(|oid| memory.at(*oid)).transpose()?.flatten();
        for change in changes {
            newest = change.on(newest);
        }
        out.extend(newest);
    }
    Ok(out)
}
