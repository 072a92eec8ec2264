//! How far an undo goes, and whose edits a caller may undo and redo.

use crate::session::refs::commit::Commit;
use crate::session::refs::current::Session;
use crate::session::refs::message::Trailers;
use crate::session::turns::CallingAgent;
use edt_git::{Oid, Repo};
use edt_types::text::escape_controls;
use edt_types::{Code, Finding, Result};

/// The commit before the last `count` edits. Checkpoints between those edits leave the branch with
/// them; checkpoints before them stay.
pub(super) fn before_edits(repo: &Repo, session: &Session, count: u64) -> Result<Oid> {
    if count == 0 {
        return Err(nothing(session, 0).into());
    }
    let mut remaining = count;
    for commit in session.commits(repo) {
        let commit = commit?;
        match &commit.trailers {
            None => return Err(user_commit(session, &commit).into()),
            Some(_) if commit.edits() > remaining => {
                return Err(squashed(&commit).into());
            }
            Some(_) => remaining -= commit.edits(),
        }
        if remaining == 0 {
            let parent = commit.parent.ok_or_else(|| nothing(session, count))?;
            return Ok(parent);
        }
    }
    Err(nothing(session, count).into())
}

/// The commit before the edits of the newest edit's turn. All of them must be the newest.
pub(super) fn before_turn(repo: &Repo, session: &Session) -> Result<Oid> {
    let (mut turn, mut before, mut above) = (None, None, None);
    for commit in session.commits(repo) {
        let commit = commit?;
        let edits: Vec<Trailers> = commit
            .units()
            .into_iter()
            .filter(Commit::is_edit)
            .filter_map(|edit| edit.trailers)
            .collect();
        for edit in edits.iter().rev() {
            let Some(last) = turn else {
                turn = Some(edit.turn.ok_or_else(|| no_turn(edit))?);
                continue;
            };
            match (edit.turn == Some(last), above) {
                (true, Some(other)) => return Err(interleaved(last, edit.edit, other).into()),
                (false, None) => above = Some(edit.edit),
                _ => {}
            }
        }
        if edits.iter().any(|edit| edit.turn != turn) && edits.iter().any(|edit| edit.turn == turn)
        {
            return Err(squashed(&commit).into());
        }
        if commit.trailers.is_none() && above.is_none() {
            if turn.is_none() {
                return Err(user_commit(session, &commit).into());
            }
            // Edits of the turn below it are not the newest.
            above = Some(0);
        }
        // Checkpoints between the edits leave the branch with them.
        if above.is_none() && !edits.is_empty() {
            before = commit.parent;
        }
    }
    before.filter(|_| turn.is_some()).ok_or_else(|| nothing(session, 1).into())
}

/// Refuses to move the branch over an edit that is known to be another's.
pub(super) fn check_own(caller: &CallingAgent, commits: &[Commit], verb: &str) -> Result<()> {
    if caller.agent.is_none() {
        return Ok(());
    }
    let edits = commits.iter().flat_map(Commit::units).filter(Commit::is_edit);
    let others = edits
        .filter_map(|edit| Some((edit.subject().to_owned(), edit.trailers?)))
        .find(|(_, edit)| caller.is_not_who_made(edit));
    match others {
        Some((subject, edit)) => Err(others_edit(caller, &subject, &edit, verb).into()),
        None => Ok(()),
    }
}

fn others_edit(caller: &CallingAgent, subject: &str, edit: &Trailers, verb: &str) -> Finding {
    let who = |agent: Option<&str>, conversation: Option<&str>| {
        let agent = agent.unwrap_or("an unnamed agent");
        let text = match conversation {
            Some(name) => format!("{agent} (conversation {name})"),
            None => agent.to_owned(),
        };
        escape_controls(&text).0
    };
    let maker = who(edit.maker(), edit.conversation.as_deref());
    let own = who(caller.agent.as_deref(), caller.conversation.as_deref());
    let number = edit.edit;
    let finding = Finding::new(
        Code::OthersEdit,
        format!(
            "Edit {number} ({}) was made by {maker}, and this call comes from {own}.",
            escape_controls(subject).0
        ),
        format!(
            "`{verb} --any` (`any: true` as a tool) includes it. `edt revert N` reverts an edit of \
             your own below it; `edt log` lists the edits with their agents."
        ),
    );
    let finding = finding.nothing_changed().with("edit", number);
    let facts = [("agent", edit.maker()), ("conversation", edit.conversation.as_deref())];
    facts.into_iter().fold(finding, |finding, (key, value)| match value {
        Some(value) => finding.with(key, value),
        None => finding,
    })
}

fn no_turn(edit: &Trailers) -> Finding {
    let number = edit.edit;
    Finding::new(
        Code::NothingToUndo,
        format!("The newest edit, {number}, has no turn: its agent's program named none."),
        "`edt undo` undoes the newest edit alone; `edt undo --to N` all edits after edit N.",
    )
    .nothing_changed()
    .with("edit", number)
}

fn interleaved(turn: u64, edit: u64, above: u64) -> Finding {
    let other = match above {
        0 => "a commit of the user is".to_owned(),
        number => format!("edit {number}, which does not belong to it, is"),
    };
    Finding::new(
        Code::NothingToUndo,
        format!("Edit {edit} belongs to turn {turn}, too, but {other} above it."),
        "`edt log --by-turn` lists the edits of each turn; `edt revert N …` reverts them in place.",
    )
    .nothing_changed()
    .with("turn", turn)
    .with("edit", edit)
}

pub(super) fn nothing(session: &Session, count: u64) -> Finding {
    let message = match count {
        0 => format!("The session {} is already at that commit.", session.name),
        1 => format!("The session {} has no edit to undo.", session.name),
        count => format!("The session {} does not have {count} edits to undo.", session.name),
    };
    Finding::new(
        Code::NothingToUndo,
        message,
        "`edt log` lists the session's edits; `edt redo` redoes what was undone.",
    )
}

/// The refusal to undo a part of the edits in a commit: it would take the others off the branch.
fn squashed(commit: &Commit) -> Finding {
    let numbers: Vec<String> = commit
        .units()
        .iter()
        .filter_map(|edit| edit.trailers.as_ref())
        .map(|trailers| trailers.edit.to_string())
        .collect();
    let newest = numbers.last().map_or("", String::as_str);
    Finding::new(
        Code::NothingToUndo,
        format!(
            "The commit {} has the edits {}, which the user squashed.",
            commit.oid.to_hex_with_len(12),
            numbers.join(", ")
        ),
        format!("`edt revert {newest}` undoes the newest of them as a new edit."),
    )
    .with("commit", commit.oid.to_string())
}

fn user_commit(session: &Session, commit: &Commit) -> Finding {
    let short = commit.oid.to_hex_with_len(12);
    Finding::new(
        Code::NothingToUndo,
        format!(
            "The commit {short} ({}) on edt/{} is a user's commit; `edt undo` undoes only \
            edits made through edt.",
            commit.subject(),
            session.name
        ),
        format!(
            "The user can remove it with `git reset --keep {short}~1`, or undo past it on \
            purpose with `edt undo --to {short}~1`."
        ),
    )
    .with("commit", commit.oid.to_string())
}

#[cfg(test)]
mod tests {
    use crate::session::back::undo::{self, BranchMove, MoveOptions, UndoTarget, Whose};
    use crate::session::turns::CallingAgent;
    use crate::session::worktree::options::Options;
    use crate::tests::{Scratch, refusal};
    use crate::txn::{self, Request};
    use edt_types::{Code, DryRun, Result};

    fn caller(agent: &str, conversation: &str, turn: &str) -> CallingAgent {
        let [agent, conversation, turn] = [agent, conversation, turn]
            .map(|text| Some(text.to_owned()).filter(|text| !text.is_empty()));
        CallingAgent { agent, conversation, turn, ..CallingAgent::default() }
    }

    fn options(caller: &CallingAgent) -> Options {
        Options { caller: caller.clone(), ..Options::default() }
    }

    /// A session with one edit of each caller.
    fn edits(callers: &[CallingAgent]) -> Scratch {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        scratch.begin("fix");
        for (number, caller) in (1..).zip(callers) {
            let request = Request::new("x").append("a.txt", format!("{number}\n"));
            txn::transact(&mut scratch.open_with(options(caller)), &request, DryRun::No).unwrap();
        }
        scratch
    }

    fn undo(
        scratch: &Scratch,
        by: &CallingAgent,
        to: &UndoTarget,
        whose: Whose,
    ) -> Result<BranchMove> {
        let moving = MoveOptions { whose, ..MoveOptions::default() };
        undo::undo(&mut scratch.open_with(options(by)), &scratch.session(), to, moving)
    }

    #[test]
    fn a_client_does_not_undo_the_edit_of_another_unasked() {
        let (codex, gemini) = (caller("codex", "", ""), caller("gemini", "", ""));
        let scratch = edits(&[codex.clone(), gemini.clone()]);
        let finding = refusal(undo(&scratch, &codex, &UndoTarget::Edits(1), Whose::Own));
        assert_eq!(
            (finding.code, &finding.evidence["agent"]),
            (Code::OthersEdit, &"gemini".into())
        );
        assert!(finding.summary.contains("made by gemini"), "{finding:#?}");
        undo(&scratch, &codex, &UndoTarget::Edits(1), Whose::Any).unwrap();
        undo(&scratch, &codex, &UndoTarget::Edits(1), Whose::Own).unwrap();
        // Redo alike: both tips are kept, and the newest one is codex's own.
        let redo = |by: &CallingAgent, whose: Whose| {
            let moving = MoveOptions { whose, ..MoveOptions::default() };
            undo::redo(&mut scratch.open_with(options(by)), &scratch.session(), moving)
        };
        redo(&codex, Whose::Own).unwrap();
        assert_eq!(refusal(redo(&codex, Whose::Own)).code, Code::OthersEdit);
        redo(&gemini, Whose::Own).unwrap();
    }

    #[test]
    fn the_user_undoes_every_edit() {
        let scratch = edits(&[caller("codex", "c1", ""), caller("gemini", "g1", "")]);
        undo(&scratch, &CallingAgent::default(), &UndoTarget::Edits(2), Whose::Own).unwrap();
        assert_eq!(scratch.text("a.txt").as_deref(), Some("one\n"));
    }

    #[test]
    fn another_conversation_of_the_same_agent_is_another() {
        let (here, there) = (caller("codex", "c1", ""), caller("codex", "c2", ""));
        let scratch = edits(&[here.clone(), there]);
        let finding = refusal(undo(&scratch, &here, &UndoTarget::To("0".into()), Whose::Own));
        assert_eq!((finding.code, &finding.evidence["edit"]), (Code::OthersEdit, &2.into()));
    }

    #[test]
    fn a_turn_is_undone_as_a_whole() {
        let turn = |turn: &str| caller("codex", "c1", turn);
        let scratch = edits(&[turn("t1"), turn("t2"), turn("t2"), turn("t2")]);
        undo(&scratch, &turn("t3"), &UndoTarget::Turn, Whose::Own).unwrap();
        assert_eq!(scratch.text("a.txt").as_deref(), Some("one\n1\n"));
        undo(&scratch, &turn("t3"), &UndoTarget::Turn, Whose::Own).unwrap();
        let nothing = undo(&scratch, &turn("t3"), &UndoTarget::Turn, Whose::Own);
        assert_eq!(refusal(nothing).code, Code::NothingToUndo);
    }

    #[test]
    fn a_turn_with_edits_of_others_between_its_own_is_not_undone() {
        let turn = |turn: &str| caller("codex", "c1", turn);
        let scratch = edits(&[turn("t1"), turn("t2"), turn("t1")]);
        let finding = refusal(undo(&scratch, &turn("t3"), &UndoTarget::Turn, Whose::Any));
        assert_eq!(
            (finding.code, finding.summary.as_str()),
            (
                Code::NothingToUndo,
                "Edit 1 belongs to turn 1, too, but edit 2, which does not belong to it, is above it."
            )
        );
    }

    #[test]
    fn an_edit_without_a_turn_is_no_turn() {
        let scratch = edits(&[caller("codex", "c1", "t1"), CallingAgent::default()]);
        let finding =
            refusal(undo(&scratch, &CallingAgent::default(), &UndoTarget::Turn, Whose::Any));
        assert!(finding.summary.contains("has no turn"), "{finding:#?}");
    }
}
