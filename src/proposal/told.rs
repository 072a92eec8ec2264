//! What persons decided, brought to the agent with the next answer of any command. Which proposals are awaited is a small file of the
//! worktree's state: where it is lost `edt proposals` still tells everything.

use std::path::PathBuf;

use super::store::{self, State};
use crate::base::Warning;
use crate::git::Repo;
use crate::io::whole;
use crate::session::World;

/// The file with the numbers that are awaited, below the worktree's state.
const FILE: &str = "proposals-awaited";
/// The most of it that is read, in bytes.
const MOST: u64 = 64 * 1024;

/// Decisions that the agent has not heard of.
#[derive(Debug, Default)]
pub struct News {
    /// What to say.
    pub warnings: Vec<Warning>,
    file: PathBuf,
    left: String,
}

/// From now on the word on proposal `id` is awaited here.
pub(super) fn await_word(world: &World, id: u64) {
    let file = world.repo.state_path().join(FILE);
    let mut awaited = awaited(&file);
    awaited.push(id);
    write(&file, &awaited);
}

/// What was decided on awaited proposals. One system call where none is.
#[must_use]
pub fn news(repo: &Repo) -> News {
    let file = repo.state_path().join(FILE);
    let (mut warnings, mut left) = (Vec::new(), Vec::new());
    for id in awaited(&file) {
        let Ok(proposal) = store::read(repo, id) else { continue };
        let (code, message) = match &proposal.state {
            State::Open => {
                left.push(id);
                continue;
            }
            State::Approved(by) if proposal.command.is_some() => (
                "proposal_approved",
                format!(
                    "Proposal {id} was approved by {by}: call it once more, {}.",
                    proposal.command.as_deref().unwrap_or_default()
                ),
            ),
            State::Approved(by) => (
                "proposal_approved",
                format!(
                    "Proposal {id} ({}) was approved by {by}: `edt apply --proposal {id}` lands it.",
                    proposal.subject()
                ),
            ),
            State::Rejected(why) => {
                ("proposal_rejected", format!("Proposal {id} ({}) was rejected: {why}", proposal.subject()))
            }
            // It was said when it happened.
            State::Superseded(_) | State::Done(_) => continue,
        };
        warnings.push(Warning { code, path: None, message });
    }
    News { warnings, left: lines(&left), file }
}

impl News {
    /// They have been told.
    pub fn told(&self) {
        if !self.warnings.is_empty() {
            let _ = whole::put(&self.file, self.left.as_bytes(), 0o644);
        }
    }
}

fn awaited(file: &std::path::Path) -> Vec<u64> {
    let text = whole::small(file, MOST).unwrap_or_default();
    String::from_utf8_lossy(&text).lines().filter_map(|line| line.parse().ok()).collect()
}

fn write(file: &std::path::Path, ids: &[u64]) {
    let _ = whole::put(file, lines(ids).as_bytes(), 0o644);
}

fn lines(ids: &[u64]) -> String {
    ids.iter().fold(String::new(), |text, id| text + &format!("{id}\n"))
}
