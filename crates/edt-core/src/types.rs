//! Types in the signatures and fields of the names at the root.
//!
//! A program that embeds the library names them where it implements [`Observer`](crate::Observer)
//! or [`Guard`](crate::Guard), fills [`Options`](crate::Options), or reads the session. The listed
//! names and the fields of the reading types are part of the interface; the methods of the others
//! may change in any release.
//!
//! | types | used by |
//! | --- | --- |
//! | [`WorktreeStatus`], [`UncommittedFile`], [`LogEntry`], [`LogFile`], [`Commit`], [`Trailers`], [`Kind`], [`FileDiff`] | what [`Workspace`](crate::Workspace) reads |
//! | [`FileChangeKind`], [`MatchedBy`] | [`FileReport`](crate::FileReport) |
//! | [`Repo`], [`Oid`], [`Journal`], [`Policy`], [`Landing`] | [`Observer`](crate::Observer) |
//! | [`TrustStore`], [`TrustEntry`], [`Cache`] | [`Options`](crate::Options) |
//! | [`Reference`], [`Transaction`], [`TransactionFile`], [`LineChange`], [`LineDiff`] | [`Subject`](crate::Subject): texts and lines |
//! | [`Language`], [`Parsed`], [`Unparsed`], [`TreeCache`] | [`Subject`](crate::Subject): syntax trees |
//! | [`Site`] | [`GuardContext`](crate::GuardContext) |

pub use crate::session::refs::commit::Commit;
pub use crate::session::refs::message::{Kind, Trailers};
pub use crate::session::views::file_diff::FileDiff;
pub use crate::session::views::log::{LogEntry, LogFile};
pub use crate::session::views::status::{UncommittedFile, WorktreeStatus};
pub use crate::session::worktree::options::Cache;
pub use edt_edit::diff::LineDiff;
pub use edt_git::{Oid, Repo};
pub use edt_guard::guard::Site;
pub use edt_guard::guard::subject::{LineChange, Reference};
pub use edt_guard::guard::transaction::{Transaction, TransactionFile};
pub use edt_guard::policy::trust::{TrustEntry, TrustStore};
pub use edt_guard::policy::{GuardMode, Policy};
pub use edt_journal::Journal;
pub use edt_lang::{Language, Parsed, TreeCache, Unparsed};
pub use edt_types::{FileChangeKind, Landing, MatchedBy};
