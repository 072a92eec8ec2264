//! Whether an interrupted transaction was committed. The branch decides, and its move was on stable
//! storage before anything followed it; the log shows what the user did since.

use super::pointers::{BranchOrigin, BranchUpdate};
use super::record::ChangeRecord;
use edt_git::{InHead, Oid, Repo};
use edt_types::Result;

/// What an interrupted transaction needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decision {
    /// It was committed.
    Finish,
    /// It was not, or nothing shows that it was: the user has moved the branch since.
    RollBack,
}

/// Where the ref is whose move commits the transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Old,
    New,
    Elsewhere,
}

/// What recovery finds of a transaction.
#[derive(Debug, Clone, Copy)]
struct Found {
    place: Place,
    log: Log,
    /// Whether the branch or HEAD contains the commit that the transaction made.
    is_contained: bool,
}

/// What the log has of the move since the record was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Log {
    Nothing,
    /// The move. A power failure may have kept the line and lost the move.
    Came,
    /// A later move, which began where the transaction ended.
    Left,
}

impl Found {
    const fn decision(self) -> Decision {
        match self {
            Found { place: Place::New, .. }
            | Found { log: Log::Left, .. }
            | Found { is_contained: true, .. }
            | Found { place: Place::Elsewhere, log: Log::Came, .. } => Decision::Finish,
            Found { place: Place::Old, log: Log::Nothing | Log::Came, .. }
            | Found { place: Place::Elsewhere, log: Log::Nothing, .. } => Decision::RollBack,
        }
    }
}

/// Whether the transaction of `record` was committed.
///
/// # Errors
/// `IO_ERROR`, `OBJECT_MISSING` if refs or commits cannot be read.
pub(super) fn of(repo: &Repo, record: &ChangeRecord, branch: &BranchUpdate) -> Result<Decision> {
    let found = if branch.stays() {
        head_found(repo, record, branch)?
    } else if branch.old() == Some(branch.new) {
        // No ref moves: it ends when the journal is closed.
        Found { place: Place::Old, log: Log::Nothing, is_contained: false }
    } else {
        branch_found(repo, record, branch)?
    };
    Ok(found.decision())
}

/// HEAD's move commits a transaction whose branch stays.
fn head_found(repo: &Repo, record: &ChangeRecord, branch: &BranchUpdate) -> Result<Found> {
    let to = record.head_to.as_deref().unwrap_or(&branch.name);
    let now = repo.head_target()?;
    let place = if repo.ref_value(&branch.name)?.is_none() {
        Place::Elsewhere
    } else if now.as_deref() == Some(to) {
        Place::New
    } else if now == branch.head_from {
        Place::Old
    } else {
        Place::Elsewhere
    };
    let [_, last] = record.branch.last_moves();
    let lines = repo.moves_since("HEAD", last, record.time);
    let head_to = record.head_to.as_deref();
    let own = lines.iter().position(|(line, text)| branch.is_own_checkout(line, text, head_to));
    let log = match own {
        None => Log::Nothing,
        Some(0) => Log::Came,
        Some(_) => Log::Left,
    };
    Ok(Found { place, log, is_contained: false })
}

fn branch_found(repo: &Repo, record: &ChangeRecord, branch: &BranchUpdate) -> Result<Found> {
    let now = repo.ref_value(&branch.name)?;
    let place = match now {
        Some(now) if now == branch.new => Place::New,
        now if now == branch.old() => Place::Old,
        _ => Place::Elsewhere,
    };
    let (start, new) = (branch.start(), branch.new);
    // An undo moves back to a commit that the branch contains in any case.
    let is_made = !matches!(branch.from, BranchOrigin::Rewound(_)) && start != new;
    let [last, last_of_head] = record.branch.last_moves();
    // A branch that the user renamed took its log along, so that HEAD's is asked, too.
    let mut logs = vec![(&*branch.name, last)];
    logs.extend((branch.head == InHead::Yes).then_some(("HEAD", last_of_head)));
    let mut log = Log::Nothing;
    for (name, last) in logs {
        for (line, _) in repo.moves_since(name, last, record.time) {
            let came = line.to == new && (is_made || line.by_edt && line.from == start);
            // HEAD may have been at the target of an undo on another branch.
            let left = line.from == new && line.to != new && (is_made || name != "HEAD");
            if left {
                log = Log::Left;
            } else if came && log == Log::Nothing {
                log = Log::Came;
            }
        }
    }
    let is_contained = is_made
        && (contains(repo, now, new) || contains(repo, repo.head()?.commit, new))
        && !contains(repo, branch.old(), new);
    Ok(Found { place, log, is_contained })
}

/// Whether `tip` is `commit` or a descendant of it.
fn contains(repo: &Repo, tip: Option<Oid>, commit: Oid) -> bool {
    tip.is_some_and(|tip| repo.is_ancestor(commit, tip).unwrap_or(false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_state_of_the_ref_and_its_log_has_one_decision() {
        use Decision::{Finish, RollBack};
        use Log::{Came, Left, Nothing};
        let table = [
            // The ref has the new value.
            (Place::New, Nothing, false, Finish),
            (Place::New, Came, true, Finish),
            // The ref has the old value: it never moved, or its move was lost and the line was not.
            (Place::Old, Nothing, false, RollBack),
            (Place::Old, Came, false, RollBack),
            // The user moved it back, or renamed it.
            (Place::Old, Left, false, Finish),
            (Place::Old, Nothing, true, Finish),
            // The user moved the ref on, or deleted it.
            (Place::Elsewhere, Nothing, true, Finish),
            (Place::Elsewhere, Came, false, Finish),
            (Place::Elsewhere, Left, false, Finish),
            (Place::Elsewhere, Nothing, false, RollBack),
        ];
        for (place, log, is_contained, decision) in table {
            let found = Found { place, log, is_contained };
            assert_eq!(found.decision(), decision, "{found:?}");
        }
    }
}
