//! What an agent did in a session, for a reviewer: [`model`] reads it from the repository as plain
//! values, [`page`] shows it as HTML,
//! [`serve`](mod@serve) serves that page to one browser.

pub mod action;
pub mod ahead;
mod authors;
pub mod contents;
mod diffs;
pub mod hunks;
pub mod marks;
pub mod model;
pub mod page;
pub mod proposals;
pub mod refusals;
pub mod serve;
pub mod source;
pub mod three_way;
#[cfg(feature = "tui")]
pub mod tui;
mod words;

pub use model::{Extent, Reader, SessionReview};
