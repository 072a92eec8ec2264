//! edt: a Git-native edit transaction layer for AI coding agents.
//!
//! Every edit is one guarded transaction and one commit on a shadow branch. The pipeline, in [`txn::apply`]:
//!
//! ```text
//! resolve  read blobs and disk, check beliefs            nothing changed
//! plan     every new text, computed in memory            nothing changed
//! guard    all guards, all files, all findings           nothing changed
//! commit   objects drafted; no ref names them            invisible
//! publish  journal → files swapped → ref compare-and-swap → index → journal closed
//! ```
//!
//! The modules stand in layers, lowest first; each imports only from those above it in this list (`tests/it/layers.rs`).
//! `ARCHITECTURE.md` tells the rest.

pub mod agent;
pub mod base;
pub mod bench;
pub mod cli;
pub mod edit;
pub mod find;
pub mod git;
pub mod guard;
pub mod hook;
pub mod io;
pub mod journal;
pub mod lang;
#[cfg(feature = "mcp")]
pub mod mcp;
pub mod memory;
pub mod policy;
pub mod proposal;
pub mod run;
pub mod sandbox;
pub mod session;
pub mod telemetry;
pub mod txn;
