//! The memory of failures and their fixes, stored in Git.
//!
//! An *episode* is one kind of failure: the attempt, why it was refused, and the edit that landed
//! afterwards. Episodes are JSON files in the tree of [`REF`], with one commit per change, so that
//! they can be read, compared, pushed and fetched like any branch. Similar failures (the same code,
//! language and keywords) are one episode, which counts them.
//!
//! Later refusals show short lessons from similar episodes. A lesson is scored by the outcome of
//! the call after it ([`score`]); one that does not help is no longer shown. Nothing here decides
//! whether an edit lands.
//!
//! | file | holds |
//! | --- | --- |
//! | `episodes/` | the episodes of the next version, their scores and their store |
//! | `class.rs` | the classes of fixes |
//! | `advice.rs` | the lesson of an answer |
//! | `learn.rs` | learning from calls |
//! | `shown.rs` | what may still change by what follows |
//! | `fix.rs` | what counts as a fix |
//! | `episode.rs` | the episode, and the merge of two versions |
//! | `change.rs` | changes of episodes |
//! | `keywords.rs` | keywords, and the similarity of two sets |
//! | `scrub.rs` | redaction of secrets before anything is stored |
//! | `values.rs` | secret values after names, in URLs and after flags |
//! | `names.rs` | names with secret values, and values that are code |
//! | `entropy.rs` | tokens that look like secrets |
//! | `score.rs` | the effectiveness of a lesson |
//! | `lesson.rs` | an episode as a sentence |
//! | `index.rs` | the index for retrieval: derived, may be deleted at any time |
//! | `retrieve.rs` | selection of the lessons for a failure |
//! | `store.rs` | reading and writing the tree |
//! | `unrecorded.rs` | changes that are not recorded yet |
//! | `observe.rs` | learning from the answers of calls |
//! | `history.rs` | snapshots |
//! | `exchange.rs` | export and import |

pub mod advice;
pub mod change;
pub mod class;
mod entropy;
pub mod episode;
pub mod episodes;
pub mod exchange;
pub mod fix;
pub mod history;
pub mod index;
pub mod keywords;
pub mod learn;
pub mod lesson;
mod marks;
pub mod names;
pub mod observe;
pub mod retrieve;
pub mod score;
pub mod scrub;
mod shown;
pub mod store;
pub mod unrecorded;
mod values;

pub use change::MemoryChange;
pub use episode::{Episode, EpisodeFix, FailedAttempt, TextOrigin};
pub use index::IndexCache;
pub use lesson::Lesson;
pub use retrieve::{LessonQuery, lessons};
pub use score::UseOutcome;
pub use store::Memory;

/// The ref whose tree holds the episodes.
pub const REF: &str = "refs/edt/memory";
