//! What persons decided, brought to the agent with an answer. What is awaited, and which decision on it was told, is a small file of the
//! worktree's state: where it is lost `edt proposals` still tells everything.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::store::{self, Proposal, State};
use crate::base::{Code, Warning};
use crate::git::{Oid, Repo};
use crate::io::lock::{self, Held};
use crate::io::whole;
use crate::session::World;

/// The file below the worktree's state: for each proposal its number, and the newest decision on it that was told.
const FILE: &str = "proposals-awaited";
/// The file whose lock is held while that one is changed.
const LOCK: &str = "proposals-awaiting";
/// How long the lock is waited for: a word that is told twice does no harm.
const PATIENCE: Duration = Duration::from_secs(1);
/// The most of the file that is read, in bytes, and how many proposals are awaited: the newest.
const MOST: u64 = 64 * 1024;
const MOST_AWAITED: usize = 500;
/// What stands for a decision where none was told.
const NONE_YET: &str = "-";

/// Decisions that the agent has not heard of.
#[derive(Debug, Default)]
pub struct News {
    /// What to say.
    pub warnings: Vec<Warning>,
    /// What the file is to say of these proposals then; nothing of those that are settled.
    changes: Vec<(u64, Option<String>)>,
    state: PathBuf,
}

/// From now on each decision on proposal `id` is awaited here.
pub(super) fn await_word(world: &World, id: u64) {
    let state = world.repo.state_path();
    // Where the lock cannot be had, the number matters more than what another call writes at this moment.
    let _held = held(state);
    let mut all = awaited(state);
    if all.iter().all(|(known, _)| *known != id) {
        all.push((id, NONE_YET.to_owned()));
        write(state, &all);
    }
}

/// What was decided on awaited proposals. One system call where none is.
#[must_use]
pub fn news(repo: &Repo) -> News {
    let state = repo.state_path();
    let (mut warnings, mut changes) = (Vec::new(), Vec::new());
    for (id, told) in awaited(state) {
        let name = format!("{}{id}", store::PREFIX);
        let at = repo.ref_value(&name).ok().flatten();
        if at.is_some() && at == Oid::from_hex(told.as_bytes()).ok() {
            continue;
        }
        match store::read(repo, id) {
            Ok(proposal) => match &proposal.state {
                State::Open => {}
                State::Approved(_) | State::Rejected(_) => {
                    warnings.extend(decision(&proposal));
                    changes.push((id, Some(proposal.at.to_string())));
                }
                // It was said when it happened.
                State::Withdrawn(_) | State::Superseded(_) | State::Done(_) => {
                    changes.push((id, None))
                }
            },
            Err(found) if found.any(|finding| finding.code == Code::ProposalNotFound) => {
                changes.push((id, None))
            }
            Err(_) => {}
        }
    }
    News { warnings, changes, state: state.to_owned() }
}

fn decision(proposal: &Proposal) -> Option<Warning> {
    let (id, subject) = (proposal.id, proposal.subject());
    let (code, message) = match (&proposal.state, &proposal.command) {
        (State::Approved(by), Some(command)) => (
            "proposal_approved",
            format!("Proposal {id} was approved by {by}: call it once more, {command}."),
        ),
        (State::Approved(by), None) => (
            "proposal_approved",
            format!(
                "Proposal {id} ({subject}) was approved by {by}: `edt apply --proposal {id}` lands it."
            ),
        ),
        (State::Rejected(why), _) => {
            ("proposal_rejected", format!("Proposal {id} ({subject}) was rejected: {why}"))
        }
        _ => return None,
    };
    Some(Warning { code, path: None, message })
}

impl News {
    /// Whether there is nothing to say, nor to write down.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// They have been told. What others added to the file meanwhile stays.
    pub fn told(&self) {
        if self.changes.is_empty() {
            return;
        }
        let Some(_held) = held(&self.state) else { return };
        let mut all = awaited(&self.state);
        for (id, mark) in &self.changes {
            match mark {
                Some(mark) => {
                    all.iter_mut().filter(|one| one.0 == *id).for_each(|one| one.1.clone_from(mark))
                }
                None => all.retain(|one| one.0 != *id),
            }
        }
        write(&self.state, &all);
    }
}

fn held(state: &Path) -> Option<Held> {
    lock::take(&state.join(LOCK), "told", PATIENCE).ok()
}

fn awaited(state: &Path) -> Vec<(u64, String)> {
    let text = whole::small(&state.join(FILE), MOST).unwrap_or_default();
    let line = |line: &str| {
        let (id, told) = line.split_once(' ')?;
        Some((id.parse().ok()?, told.to_owned()))
    };
    String::from_utf8_lossy(&text).lines().filter_map(line).collect()
}

fn write(state: &Path, all: &[(u64, String)]) {
    let newest = &all[all.len().saturating_sub(MOST_AWAITED)..];
    let text =
        newest.iter().fold(String::new(), |text, (id, told)| text + &format!("{id} {told}\n"));
    let _ = whole::put(&state.join(FILE), text.as_bytes(), 0o644);
}
