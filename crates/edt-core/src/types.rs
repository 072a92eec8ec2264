//! Types in the signatures and fields of the names at the root.
//!
//! A program that embeds the library names them where it implements [`Observer`](crate::Observer)
//! or [`Guard`](crate::Guard), fills [`Options`](crate::Options), or reads the session. The listed
//! names, their fields and their documented methods are part of the interface.
//!
//! | types | used by |
//! | --- | --- |
//! | [`WorktreeStatus`], [`UncommittedFile`], [`LeftOverLines`], [`LogEntry`], [`LogFile`], [`Commit`], [`Rewritten`], [`Trailers`], [`Kind`], [`FileDiff`], [`Oid`] | what [`Workspace`](crate::Workspace) reads |
//! | [`Proposal`], [`ProposalState`], [`Approval`], [`Grant`] | proposals |
//! | [`Comment`], [`CommentState`], [`CommentAnswer`], [`Reading`], [`CommentReader`] | comments |
//! | [`FilePart`], [`ChosenLines`], [`RestoreTarget`], [`UndoLanding`] | what [`Workspace`](crate::Workspace) takes |
//! | [`UserDecision`] | what only the user may do |
//! | [`FileChangeKind`], [`MatchedBy`], [`RecordedIn`], [`UserChanges`], [`OpenComments`] | [`Outcome`](crate::Outcome) |
//! | [`RepositoryView`], [`MemoryUse`], [`RefusedCall`], [`RefusedFinding`], [`Cause`], [`TriedEdit`], [`Format`], [`Texts`], [`Landing`] | [`Observer`](crate::Observer) |
//! | [`TrustStore`], [`TrustEntry`], [`Configuration`], [`CallingAgent`], [`Cache`] | [`Options`](crate::Options) |
//! | [`Confinement`], [`ConfinedProgram`], [`ConfinedOutput`], [`ConfinedStreams`], [`WorktreeAccess`], [`Variables`], [`ProcessEnd`] | [`Options::confinement`](crate::Options::confinement) |
//! | [`GuardMode`], [`Site`] | [`Guard`](crate::Guard) and [`GuardContext`](crate::GuardContext) |
//! | [`Reference`], [`TransactionFile`], [`LineChange`], [`LineDiff`] | [`Subject`](crate::Subject): texts and lines |
//! | [`Language`], [`Parsed`], [`Unparsed`] | [`Subject`](crate::Subject): syntax trees |

pub use crate::observe::MemoryUse;
pub use crate::proposal::store::Approval;
pub use crate::proposal::{Proposal, ProposalState};
pub use crate::session::back::chosen_lines::ChosenLines;
pub use crate::session::back::part::FilePart;
pub use crate::session::comments::shown::CommentReader;
pub use crate::session::landing::unland::UnlandOptions as UndoLanding;
pub use crate::session::refs::commit::{Commit, Rewritten};
pub use crate::session::refs::message::{Kind, Trailers};
pub use crate::session::turns::CallingAgent;
pub use crate::session::views::file_diff::FileDiff;
pub use crate::session::views::log::{LogEntry, LogFile};
pub use crate::session::views::status::{LeftOverLines, UncommittedFile, WorktreeStatus};
pub use crate::session::worktree::options::Cache;
pub use crate::txn::RestoreTarget;
pub use crate::user_decision::UserDecision;
pub use edt_edit::diff::LineDiff;
pub use edt_git::confinement::{
    ConfinedOutput, ConfinedProgram, ConfinedStreams, Confinement, Variables, WorktreeAccess,
};
pub use edt_git::trust::Configuration;
pub use edt_git::{Oid, RepositoryView};
pub use edt_guard::guard::subject::{LineChange, Reference};
pub use edt_guard::guard::transaction::TransactionFile;
pub use edt_guard::guard::{Grant, Site};
pub use edt_guard::policy::GuardMode;
pub use edt_guard::policy::trust::{TrustEntry, TrustStore};
pub use edt_io::bounded::ProcessEnd;
pub use edt_journal::refusals::{Cause, Format, RefusedCall, RefusedFinding, Texts, TriedEdit};
pub use edt_lang::{Language, Parsed, Unparsed};
pub use edt_types::{
    Comment, CommentAnswer, CommentState, FileChangeKind, Landing, MatchedBy, OpenComments,
    Reading, RecordedIn, UserChanges,
};
