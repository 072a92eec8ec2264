//! Which lessons a failure is answered with.

use std::cmp::Ordering;

use super::Memory;
use super::episode::Episode;
use super::index::{Entry, Index, short};
use super::lesson::{self, Lesson};
use super::score;
use super::store::Change;
use super::words::{ALIKE, alike};
use crate::base::Result;

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
        Query { code: episode.code.clone(), language: episode.language.clone(), keywords: episode.keywords.clone() }
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
pub fn lessons(memory: &Memory<'_>, query: &Query, now: i64, pending: &[Change]) -> Result<Vec<Lesson>> {
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
    let Some(index) = memory.index()? else { return Ok(Vec::new()) };
    let mut out = Vec::new();
    for (entry, similarity) in ranked(&index, query, now, how) {
        // Numbers stand for words in the index, and two words may have one: the episode itself decides.
        let Some(stored) = entry.oid().map(|oid| memory.at(oid)).transpose()?.flatten() else { continue };
        let id = stored.id.clone();
        let mut newest = Some(stored);
        for change in pending.iter().filter(|change| change.id() == id) {
            newest = change.on(newest);
        }
        let Some(episode) = newest.filter(wanted) else { continue };
        let alike = match how {
            Alike::InWords => alike(&episode.keywords, &query.keywords) >= ALIKE,
            Alike::InLanguage => episode.language == query.language,
        };
        let effectiveness = episode.effectiveness_at(now);
        if !alike || !score::has_place(effectiveness, episode.uses) {
            continue;
        }
        if let Some(text) = lesson::text(&episode) {
            let lesson = Lesson { id, text, similarity, effectiveness };
            out.push((episode, lesson));
        }
        if out.len() == MOST {
            break;
        }
    }
    Ok(out)
}

/// The entries that may answer, the best first.
fn ranked<'i>(index: &'i Index, query: &Query, now: i64, how: Alike) -> Vec<(Entry<'i>, f64)> {
    let mut words: Vec<u32> = query.keywords.iter().map(|word| short(word)).collect();
    words.sort_unstable();
    let (code, language) = (short(&query.code), query.language.as_deref().map_or(0, short));
    let mut found: Vec<(u8, f64, f64, Entry<'_>)> = Vec::new();
    for entry in index.entries().filter(|entry| entry.teaches()) {
        let similarity = alike(entry.words(), words.iter().copied());
        let is_alike = match how {
            Alike::InWords => similarity >= ALIKE,
            Alike::InLanguage => entry.language() == language,
        };
        if !is_alike {
            continue;
        }
        let effectiveness = score::decayed(f64::from(entry.effectiveness()), now - entry.last_used());
        if !score::has_place(effectiveness, entry.uses().into()) {
            continue;
        }
        let farness = u8::from(entry.code() != code) * 2 + u8::from(entry.language() != language);
        found.push((farness, similarity * effectiveness, similarity, entry));
    }
    found.sort_by(|a, b| {
        let better = b.1.partial_cmp(&a.1).unwrap_or(Ordering::Equal);
        a.0.cmp(&b.0).then(better).then_with(|| a.3.id().cmp(&b.3.id()))
    });
    found.into_iter().map(|(_, _, similarity, entry)| (entry, similarity)).collect()
}
