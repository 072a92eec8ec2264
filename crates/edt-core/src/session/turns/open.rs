//! The turns that are open: one small private file for each conversation of an agent, in
//! `<git-dir>/edt/turns/`. Hooks that the agents call with each prompt write them.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::caller::{CallingAgent, first_line, program_of, value};
use edt_git::{Repo, sha256};
use edt_io::fs;

/// The longest title, in bytes.
const MAX_TITLE: usize = 200;
/// The largest file that is read, in bytes.
const MAX_FILE: u64 = 64 << 10;
/// After this time without a prompt a conversation is not taken for that of a caller that names
/// none. It may still work, so no other one is, either.
const OPEN_SECONDS: i64 = 2 * 60 * 60;
/// After this time a conversation is forgotten.
const OLD_MINUTES: u64 = 30 * 24 * 60;
const OLD_SECONDS: i64 = 30 * 24 * 60 * 60;
/// From this many files on, old ones are looked for.
const MANY_FILES: usize = 64;

/// The newest turn of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenTurn {
    /// The agent's program.
    pub agent: String,
    /// The conversation.
    pub conversation: String,
    /// The root of the worktree.
    root: String,
    /// The agent's name for the turn, or its number in the conversation; `None` before the first
    /// prompt.
    pub turn: Option<String>,
    /// The prompts so far.
    prompts: u64,
    /// The model, if the agent said it.
    pub model: Option<String>,
    /// The first line of the prompt.
    pub title: Option<String>,
    /// When the prompt was sent, in seconds since 1970.
    pub time: i64,
}

/// Remembers that a conversation begins, or with `prompt` a turn of it. Without a conversation there
/// is nothing to remember; whatever fails is forgotten: an agent never waits for this.
pub fn begin(repo: &Repo, caller: &CallingAgent, prompt: Option<&str>, now: i64) {
    let (Some(agent), Some(conversation)) = (&caller.agent, of_conversation(caller)) else {
        return;
    };
    let agent = program_of(agent).to_owned();
    let Some(place) = place(repo, &agent, &conversation) else { return };
    let before = read(&place);
    let said = caller.turn.as_deref().and_then(value);
    let mut prompts = before.as_ref().map_or(0, |before| before.prompts);
    let (turn, title, time) = match (prompt, before.as_ref()) {
        // A further prompt in the same turn.
        (Some(_), Some(before)) if said.is_some() && said == before.turn => {
            (said, before.title.clone(), before.time)
        }
        (Some(prompt), _) => {
            prompts += 1;
            (said.or_else(|| Some(format!("#{prompts}"))), first_line(prompt, MAX_TITLE), now)
        }
        (None, Some(before)) => (before.turn.clone(), before.title.clone(), before.time),
        (None, None) => (None, None, now),
    };
    let known = before.and_then(|before| before.model);
    let model = caller.model.as_deref().and_then(value).or(known);
    let Ok(root) = repo.real_root() else { return };
    let root = root.to_string_lossy().into_owned();
    let open = OpenTurn { agent, conversation, root, turn, prompts, model, title, time };
    if let (Some(()), Ok(json)) = (make_directory(repo), serde_json::to_vec(&open)) {
        let _ = fs::write_atomic_unique(&place, &json, 0o600);
        remove_old(repo);
    }
}

/// The turn of `caller`. Without a conversation, that of the only one of the same agent that is known
/// in this worktree.
#[must_use]
pub(super) fn of(repo: &Repo, caller: &CallingAgent, now: i64) -> Option<OpenTurn> {
    let agent = program_of(caller.agent.as_ref()?);
    if let Some(conversation) = of_conversation(caller) {
        return read(&place(repo, agent, &conversation)?);
    }
    let names = fs::names_in(&directory(repo));
    if names.is_empty() {
        return None;
    }
    let (start, root) = (format!("{}-", id(agent)?), repo.real_root().ok()?);
    let root = root.to_string_lossy();
    let seconds = |open: &OpenTurn| now.saturating_sub(open.time).saturating_abs();
    let is_here =
        |open: &OpenTurn| open.agent == agent && open.root == root && seconds(open) < OLD_SECONDS;
    let mut all = names
        .into_iter()
        .filter(|name| name.to_string_lossy().starts_with(&start))
        .filter_map(|name| read(&directory(repo).join(name)))
        .filter(is_here);
    all.next().filter(|only| all.next().is_none() && seconds(only) <= OPEN_SECONDS)
}

/// The directory of the private files about turns.
#[must_use]
pub(super) fn directory(repo: &Repo) -> PathBuf {
    repo.common_dir().join("edt/turns")
}

/// Makes that directory. The one above it is for everybody who may use the repository.
pub(super) fn make_directory(repo: &Repo) -> Option<()> {
    let (place, above) = (directory(repo), repo.common_dir().join("edt"));
    if !above.is_dir() {
        fs::make_dir(&above).ok()?;
        repo.share(&above).ok()?;
    }
    fs::make_private_dir(&place).ok()
}

/// A short name of `text` for files.
#[must_use]
pub(super) fn id(text: &str) -> Option<String> {
    Some(sha256(text.as_bytes()).ok()?.chars().take(16).collect())
}

fn of_conversation(caller: &CallingAgent) -> Option<String> {
    caller.conversation.as_deref().and_then(value)
}

fn place(repo: &Repo, agent: &str, conversation: &str) -> Option<PathBuf> {
    Some(directory(repo).join(format!("{}-{}", id(agent)?, id(conversation)?)))
}

fn read(place: &std::path::Path) -> Option<OpenTurn> {
    serde_json::from_slice(&fs::read_small(place, MAX_FILE)?).ok()
}

/// Forgets old conversations.
fn remove_old(repo: &Repo) {
    let names = fs::names_in(&directory(repo));
    if names.len() < MANY_FILES {
        return;
    }
    let files = names.into_iter().filter(|name| !name.to_string_lossy().starts_with("session-"));
    for file in files.map(|name| directory(repo).join(name)) {
        if fs::minutes_old(&file).is_some_and(|minutes| minutes >= OLD_MINUTES) {
            let _ = fs::remove_file(&file);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Scratch;

    fn caller(conversation: Option<&str>) -> CallingAgent {
        let conversation = conversation.map(str::to_owned);
        CallingAgent { agent: Some("codex".into()), conversation, ..CallingAgent::default() }
    }

    #[test]
    fn prompts_are_counted_where_the_agent_names_no_turn() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        let (repo, here) = (scratch.repo(), caller(Some("c1")));
        begin(&repo, &here, None, 5);
        assert_eq!(of(&repo, &here, 5).unwrap().turn, None);
        begin(&repo, &here, Some("\n fix it \nnow"), 10);
        begin(&repo, &CallingAgent { model: Some("m".into()), ..here.clone() }, Some("more"), 20);
        begin(&repo, &here, None, 30);
        let open = of(&repo, &here, 40).unwrap();
        assert_eq!(
            (open.turn.as_deref(), open.title.as_deref(), open.model.as_deref(), open.time),
            (Some("#2"), Some("more"), Some("m"), 20)
        );
    }

    #[test]
    fn a_further_prompt_of_a_turn_does_not_begin_one() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        let repo = scratch.repo();
        let here = CallingAgent { turn: Some("t1".into()), ..caller(Some("c1")) };
        begin(&repo, &here, Some("first"), 10);
        begin(&repo, &here, Some("also"), 20);
        let open = of(&repo, &here, 20).unwrap();
        assert_eq!((open.turn.as_deref(), open.title.as_deref()), (Some("t1"), Some("first")));
    }

    #[test]
    fn without_a_conversation_the_only_one_counts() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        let repo = scratch.repo();
        let found = |now: i64| of(&repo, &caller(None), now).map(|open| open.conversation);
        assert_eq!(found(0), None);
        begin(&repo, &caller(Some("c1")), Some("x"), 0);
        let other = CallingAgent { agent: Some("gemini".into()), ..caller(Some("g1")) };
        begin(&repo, &other, Some("x"), 0);
        assert_eq!((found(60).as_deref(), found(OPEN_SECONDS + 1)), (Some("c1"), None));
        // The first one may still work.
        begin(&repo, &caller(Some("c2")), Some("x"), 2 * OPEN_SECONDS);
        assert_eq!(found(2 * OPEN_SECONDS), None);
        // It is forgotten.
        let later = 2 * OPEN_SECONDS + 30 * 24 * 60 * 60;
        begin(&repo, &caller(Some("c2")), Some("x"), later);
        assert_eq!(found(later).as_deref(), Some("c2"));
    }

    #[test]
    fn what_is_remembered_is_private_and_short() {
        use std::os::unix::fs::PermissionsExt as _;
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        let (repo, here) = (scratch.repo(), caller(Some("c1")));
        begin(&repo, &here, Some(&"long ".repeat(100_000)), 0);
        let place = place(&repo, "codex", "c1").unwrap();
        let mode = |place: &std::path::Path| place.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&place), mode(&directory(&repo))), (0o600, 0o700));
        assert!(place.metadata().unwrap().len() < 1000);
        // Others of a shared repository have their own parts of edt's directory.
        assert_eq!(mode(&repo.common_dir().join("edt")), mode(&repo.common_dir().join("refs")));
    }
}
