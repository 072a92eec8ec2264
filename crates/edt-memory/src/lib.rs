//! The memory: what fixed refused edits, the user's notes, and what evaluations taught.
//!
//! When an edit lands at the place of a refused one, the memory learns the class of the difference:
//! no code, no path, no text. A later refusal shows at most one line of it. Nothing here decides
//! whether an edit lands.
//!
//! | file | holds |
//! | --- | --- |
//! | `episodes/` | the episode, its score, the set of them, and the store in Git |
//! | `class.rs` | the classes of fixes |
//! | `fix.rs` | what counts as a fix, and of which class it is |
//! | `advice.rs` | which lesson a refusal shows |
//! | `shown.rs` | what may still change by what follows |
//! | `learn.rs` | learning from calls |

pub mod advice;
mod class;
pub mod episodes;
pub mod fix;
pub mod learn;
mod shown;

pub use class::Class;
