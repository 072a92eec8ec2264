//! The numbers by which a part of a session is named.

use crate::session::refs::commit::Commit;
use crate::session::refs::current::Session;
use edt_types::text::edits;
use edt_types::{Code, Effect, Finding};

/// The numbers of the edits that `commit` has, in order.
pub(super) fn numbers(commit: &Commit, session: &Session) -> Vec<u64> {
    let own = |unit: &Commit| {
        let trailers = unit.trailers.as_ref().filter(|own| own.session == session.name)?;
        unit.is_edit().then_some(trailers.edit)
    };
    let edits = match &commit.rewritten {
        Some(rewritten) => rewritten.edits.as_slice(),
        None => std::slice::from_ref(commit),
    };
    edits.iter().filter_map(own).collect()
}

/// The refusal of a number that is no edit.
pub(super) fn unknown(session: &Session, number: u64) -> Finding {
    let summary = format!("The session {} has no edit {number}.", session.name);
    let remedy = "`edt log` lists the session's edits with their numbers.";
    Finding::new(Code::BadRequest, summary, remedy).with_effect(Effect::NothingLanded)
}

/// The refusal of an edit that is in one commit with `all`.
pub(super) fn squashed(number: u64, all: &[u64], remedy: String) -> Finding {
    let summary = format!("Edit {number} is in one commit with others: {}.", edits(all));
    Finding::new(Code::BadRequest, summary, remedy).with_effect(Effect::NothingLanded)
}
