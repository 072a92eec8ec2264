//! The turns of a session by their numbers. A number is given with the first edit of a turn.
//! `<git-dir>/edt/turns/session-<id>` says which turn of which conversation has it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::caller::{Asked, CallingAgent, program_of, value};
use super::open;
use crate::session::refs::commit::Commit;
use crate::session::refs::current::Session;
use edt_git::Repo;
use edt_io::{clock, fs};

/// The most turns that are remembered.
const MAX_TURNS: usize = 1000;
/// The largest file that is read, in bytes.
const MAX_FILE: u64 = 4 << 20;

/// A turn of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionTurn {
    /// Its number in the session.
    pub number: u64,
    /// The agent's program.
    agent: String,
    /// The conversation.
    conversation: String,
    /// The agent's name for the turn, or its number in the conversation.
    turn: String,
    /// The first line of the prompt, if an agent's hook sent it.
    pub title: Option<String>,
    /// When the prompt was sent, or else when the first edit was made; in seconds since 1970.
    pub time: i64,
}

impl SessionTurn {
    /// Whether it is a turn of this agent.
    #[must_use]
    pub fn is_of(&self, agent: &str) -> bool {
        self.agent == program_of(agent)
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SessionTurns {
    /// The highest number so far.
    last: u64,
    turns: Vec<SessionTurn>,
}

/// Who asks for an edit of `session`. A turn that is not known gets the next number; what is not
/// known for certain is left out.
#[must_use]
pub(crate) fn asked(repo: &Repo, session: &Session, caller: &CallingAgent) -> Asked {
    asked_for(repo, session, caller, Number::Given)
}

/// Who makes a call of `session` that edits nothing. A turn that is not known has the number that
/// its first edit would get.
#[must_use]
pub(crate) fn called(repo: &Repo, session: &Session, caller: &CallingAgent) -> Asked {
    asked_for(repo, session, caller, Number::Expected)
}

/// What a turn without a number gets.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Number {
    /// The next one, which is stored.
    Given,
    /// The same, and nothing is stored.
    Expected,
}

fn asked_for(repo: &Repo, session: &Session, caller: &CallingAgent, gets: Number) -> Asked {
    let agent = caller.name();
    let Some(program) = agent.as_deref().map(program_of).map(str::to_owned) else {
        return Asked::default();
    };
    let now = clock::seconds();
    let open = open::of(repo, caller, now);
    let said = |text: &Option<String>| text.as_deref().and_then(value);
    let conversation =
        said(&caller.conversation).or_else(|| Some(open.as_ref()?.conversation.clone()));
    let turn = said(&caller.turn).or_else(|| open.as_ref()?.turn.clone());
    let known = open.as_ref().and_then(|open| open.model.clone());
    let mut asked = Asked {
        agent,
        model: said(&caller.model).or(known),
        conversation: conversation.clone(),
        ..Asked::default()
    };
    let (Some(conversation), Some(turn)) = (conversation, turn) else { return asked };
    let open = open.filter(|open| open.turn.as_ref() == Some(&turn));
    let new = SessionTurn {
        number: 0,
        agent: program,
        conversation,
        turn,
        time: open.as_ref().map_or(now, |open| open.time),
        title: open.and_then(|open| open.title),
    };
    if let Some(turn) = numbered(repo, session, new, gets) {
        (asked.turn, asked.prompt) = (Some(turn.number), turn.title);
    }
    asked
}

/// The turns of the session `name` that are remembered, the oldest first.
#[must_use]
pub fn known(repo: &Repo, name: &str) -> Vec<SessionTurn> {
    read(repo, name).unwrap_or_default().turns
}

/// Forgets the turns of the session `name`.
pub(crate) fn forget(repo: &Repo, name: &str) {
    let _ = place(repo, name).map(|place| fs::remove_file(&place));
}

/// The turn with its number; `None` if a new number cannot be stored.
fn numbered(repo: &Repo, session: &Session, new: SessionTurn, gets: Number) -> Option<SessionTurn> {
    let stored = read(repo, &session.name);
    let mut all =
        stored.unwrap_or_else(|| SessionTurns { last: highest(repo, session), turns: Vec::new() });
    let is_new = |turn: &&SessionTurn| {
        (&turn.agent, &turn.conversation, &turn.turn) == (&new.agent, &new.conversation, &new.turn)
    };
    if let Some(turn) = all.turns.iter().rev().find(is_new) {
        return Some(turn.clone());
    }
    all.last = all.last.checked_add(1)?;
    let new = SessionTurn { number: all.last, ..new };
    if gets == Number::Expected {
        return Some(new);
    }
    all.turns.push(new.clone());
    let surplus = all.turns.len().saturating_sub(MAX_TURNS);
    all.turns.drain(..surplus);
    open::make_directory(repo)?;
    let json = serde_json::to_vec(&all).ok()?;
    fs::write_atomic_unique(&place(repo, &session.name)?, &json, 0o600).ok()?;
    Some(new)
}

/// The highest number of a turn in the session's commits, where none is stored.
fn highest(repo: &Repo, session: &Session) -> u64 {
    let (mut highest, mut next) = (0, Some(session.tip));
    while let Some(commit) = next
        .filter(|oid| *oid != session.base && *oid != repo.empty_tree())
        .and_then(|oid| Commit::read(repo, oid).ok())
    {
        let turn = commit.trailers.and_then(|trailers| trailers.turn);
        highest = highest.max(turn.unwrap_or(0));
        next = commit.parent;
    }
    highest
}

fn read(repo: &Repo, name: &str) -> Option<SessionTurns> {
    serde_json::from_slice(&fs::read_small(&place(repo, name)?, MAX_FILE)?).ok()
}

fn place(repo: &Repo, name: &str) -> Option<PathBuf> {
    Some(open::directory(repo).join(format!("session-{}", open::id(name)?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::refs::message::Trailers;
    use crate::session::worktree::options::Options;
    use crate::tests::Scratch;
    use crate::txn::{self, Request};
    use edt_types::DryRun;

    fn by(conversation: Option<&str>, turn: Option<&str>) -> CallingAgent {
        let [conversation, turn] = [conversation, turn].map(|text| text.map(str::to_owned));
        CallingAgent { agent: Some("codex".into()), conversation, turn, ..CallingAgent::default() }
    }

    /// The trailers of an edit that `caller` makes.
    fn edit(scratch: &Scratch, caller: &CallingAgent) -> Trailers {
        let options = Options { caller: caller.clone(), ..Options::default() };
        let request = Request::new("x").append("a.txt", "more\n");
        txn::transact(&mut scratch.open_with(options), &request, DryRun::No).unwrap();
        Commit::read(&scratch.repo(), scratch.head()).unwrap().trailers.unwrap()
    }

    fn turns(scratch: &Scratch, callers: &[CallingAgent]) -> Vec<Option<u64>> {
        callers.iter().map(|caller| edit(scratch, caller).turn).collect()
    }

    #[test]
    fn turns_are_numbered_in_the_session_in_the_order_of_their_first_edits() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        let named = |turn: &str| by(Some("c1"), Some(turn));
        let callers = [named("t1"), named("t1"), named("t2"), by(Some("c2"), Some("t1"))];
        assert_eq!(turns(&scratch, &callers), [Some(1), Some(1), Some(2), Some(3)]);
        assert_eq!(turns(&scratch, &[named("t1")]), [Some(1)]);
    }

    #[test]
    fn an_edit_says_model_conversation_and_agent() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        let caller = CallingAgent { model: Some("m-5".into()), ..by(Some("c1"), Some("t1")) };
        let made = edit(&scratch, &caller);
        assert_eq!(
            (made.agent.as_deref(), made.model.as_deref(), made.conversation.as_deref()),
            (Some("codex"), Some("m-5"), Some("c1"))
        );
    }

    #[test]
    fn without_a_turn_none_is_recorded_and_nothing_is_written() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        let made = edit(&scratch, &by(None, None));
        assert_eq!(
            (made.agent.as_deref(), made.turn, made.conversation),
            (Some("codex"), None, None)
        );
        let made = edit(&scratch, &by(Some("c1"), None));
        assert_eq!((made.turn, made.conversation.as_deref()), (None, Some("c1")));
        assert!(!open::directory(&scratch.repo()).exists());
    }

    #[test]
    fn a_prompt_gives_an_edit_its_turn_and_stays_private() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        open::begin(
            &scratch.repo(),
            &by(Some("c1"), None),
            Some("fix the secret"),
            clock::seconds(),
        );
        let made = edit(&scratch, &by(None, None));
        assert_eq!((made.turn, made.conversation.as_deref()), (Some(1), Some("c1")));
        let known = known(&scratch.repo(), &made.session);
        assert_eq!(known[0].title.as_deref(), Some("fix the secret"));
        assert!(!scratch.message(scratch.head()).contains("secret"));
    }

    #[test]
    fn the_prompt_is_committed_if_the_user_wants_it() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        open::begin(&scratch.repo(), &by(Some("c1"), None), Some("fix it"), clock::seconds());
        let user_policy = Some("[privacy]\nprompts = \"commit\"\n".to_owned());
        let options = Options { caller: by(None, None), user_policy, ..Options::default() };
        let request = Request::new("x").append("a.txt", "more\n");
        txn::transact(&mut scratch.open_with(options), &request, DryRun::No).unwrap();
        let message = scratch.message(scratch.head());
        assert!(message.contains("\nEdt-Prompt: fix it\n"), "{message}");
    }

    #[test]
    fn without_the_private_file_numbers_follow_those_of_the_commits() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        let named = |turn: &str| by(Some("c1"), Some(turn));
        turns(&scratch, &[named("t1"), named("t2"), named("t1")]);
        forget(&scratch.repo(), &scratch.session().name);
        assert_eq!(turns(&scratch, &[named("t3")]), [Some(3)]);
    }
}
