//! The memory of failures and of what fixed them, kept in Git.
//!
//! An *episode* is one kind of failure: what was tried, why it was refused, and the edit that landed afterwards. Episodes are JSON
//! files in the tree of [`REF`], one commit per change, so that they can be read, compared, pushed and fetched like any branch.
//! Failures that are alike (the same code, language and keywords) are one episode; it counts how often it was seen.
//!
//! What is remembered comes back as short lessons in later refusals. A lesson is scored by what became of the call after it
//! ([`score`]); one that does not help loses its place. Nothing here decides whether an edit lands.
//!
//! | file | holds |
//! | --- | --- |
//! | `episode.rs` | the episode, and how two versions of one go together |
//! | `change.rs` | what may become of one |
//! | `words.rs` | keywords, and how alike two sets of them are |
//! | `scrub.rs` | what is taken out before anything is stored |
//! | `values.rs` | what the names of secrets, addresses and flags give away |
//! | `names.rs` | which names have secret values, and which values are more code |
//! | `chance.rs` | words that are secrets by their looks |
//! | `score.rs` | how good a lesson has proved |
//! | `lesson.rs` | an episode in a sentence |
//! | `index.rs` | what retrieval looks at: derived, may be deleted at any time |
//! | `retrieve.rs` | which lessons a failure is answered with |
//! | `store.rs` | reading and writing the tree |
//! | `waiting.rs` | what is not recorded yet |
//! | `history.rs` | snapshots |
//! | `exchange.rs` | export and import |

mod chance;
pub mod change;
pub mod episode;
pub mod exchange;
pub mod history;
pub mod index;
pub mod lesson;
pub mod names;
pub mod retrieve;
pub mod score;
pub mod scrub;
pub mod store;
mod values;
pub mod waiting;
pub mod words;

pub use change::Change;
pub use episode::{Episode, Fix, Tried};
pub use index::Warmed;
pub use lesson::Lesson;
pub use retrieve::{Query, lessons};
pub use score::Outcome;
pub use store::Memory;

/// The ref whose tree holds the episodes.
pub const REF: &str = "refs/edt/memory";
