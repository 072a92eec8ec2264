//! The latest refused edits of each file: a later refusal may need them to make a whole.
//!
//! They are kept per session and file in edt's state directory, where they may be deleted at any
//! time. Refusals read and write them; `edt status` and `edt log` show them.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ready;
use super::request::Request;
use edt_edit::Edit;
use edt_git::Repo;
use edt_io::fs;

/// The file below the worktree's state directory.
const FILE: &str = "refused-edits";
/// Most entries; the oldest are dropped first.
const MAX_ENTRIES: usize = 16;
/// Most entries of one file in one session.
const MAX_OF_ONE: usize = 3;
/// The longest entry, in bytes of JSON.
const MAX_ENTRY: usize = 16 << 10;
/// A larger file was not written by edt.
const MAX_BYTES: u64 = 1 << 20;

/// A refused edit that is kept.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RefusedEdit {
    /// The session that it was for.
    pub session: String,
    /// The file.
    pub path: String,
    /// The blob id of the file then, as hex.
    pub hash: String,
    /// The request, as `edt apply --request` takes it.
    pub request: Value,
}

/// The refused edits that are kept in this worktree, the most recent last; with `session` only its
/// own.
#[must_use]
pub fn kept(repo: &Repo, session: Option<&str>) -> Vec<RefusedEdit> {
    let all = RefusedEdits::read(repo.state_path()).0.into_iter();
    let own = all.filter(|(target, _)| session.is_none_or(|name| name == target.session));
    own.map(|(Target { session, path, hash }, request)| RefusedEdit {
        session,
        path,
        hash,
        request,
    })
    .collect()
}

/// The file that a refused request was about, as it was then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Target {
    pub(super) session: String,
    pub(super) path: String,
    /// The blob id of the file. After a change, the refused edits are no longer of use.
    pub(super) hash: String,
}

/// Refused requests with their files, the most recent last.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct RefusedEdits(Vec<(Target, Value)>);

impl RefusedEdits {
    /// The entries in the state directory; none if they cannot be read.
    pub(super) fn read(state: &Path) -> RefusedEdits {
        let bytes = fs::read_small(&state.join(FILE), MAX_BYTES).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    /// The edits of each refused request for the file as it is now, the most recent first.
    pub(super) fn of(&self, target: &Target) -> Vec<Vec<Edit>> {
        let entries = self.0.iter().rev().filter(|(other, _)| other == target);
        entries
            .filter_map(|(_, json)| Request::from_json(json.to_string().as_bytes()).ok())
            .map(|request| request.edits)
            .collect()
    }

    /// The same with one more entry, and without those about an earlier text of the file.
    pub(super) fn with(mut self, target: Target, edits: &[Edit]) -> RefusedEdits {
        let Some(json) = ready::json(&Request::default(), edits) else { return self };
        if json.to_string().len() > MAX_ENTRY {
            return self;
        }
        let is_same_file =
            |other: &Target| (&other.session, &other.path) == (&target.session, &target.path);
        self.0.retain(|(other, held)| {
            !is_same_file(other) || (other.hash == target.hash && *held != json)
        });
        let surplus = (self.0.iter().filter(|(other, _)| is_same_file(other)).count() + 1)
            .saturating_sub(MAX_OF_ONE);
        let mut left = surplus;
        self.0.retain(|(other, _)| {
            let drops = left > 0 && is_same_file(other);
            left -= usize::from(drops);
            !drops
        });
        self.0.push((target, json));
        let surplus = self.0.len().saturating_sub(MAX_ENTRIES);
        self.0.drain(..surplus);
        self
    }

    /// Writes them. An error is ignored: it must not change an answer.
    pub(super) fn write(&self, state: &Path) {
        if let Ok(bytes) = serde_json::to_vec(self) {
            let _ = fs::write_atomic(&state.join(FILE), &bytes, 0o600);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(session: &str, path: &str, hash: &str) -> Target {
        Target { session: session.to_owned(), path: path.to_owned(), hash: hash.to_owned() }
    }

    fn edits(text: &str) -> Vec<Edit> {
        Request::new("x").append("a", text).edits
    }

    #[test]
    fn the_latest_three_of_a_file_are_kept_until_it_changes() {
        let a = target("s", "a", "1");
        let mut all = RefusedEdits::default().with(target("t", "a", "1"), &edits("0"));
        for text in ["1", "2", "3", "4", "3"] {
            all = all.with(a.clone(), &edits(text));
        }
        assert_eq!(all.of(&a), [edits("3"), edits("4"), edits("2")]);
        assert_eq!(all.of(&target("t", "a", "1")), [edits("0")]);
        let changed = all.with(target("s", "a", "2"), &edits("5"));
        assert_eq!(changed.of(&a), [] as [Vec<Edit>; 0]);
        assert_eq!(changed.of(&target("s", "a", "2")), [edits("5")]);
    }

    #[test]
    fn the_number_and_the_size_of_entries_are_limited() {
        let mut all = RefusedEdits::default();
        for n in 0..=MAX_ENTRIES {
            all = all.with(target("s", &n.to_string(), "1"), &edits("x"));
        }
        assert_eq!(all.0.len(), MAX_ENTRIES);
        assert_eq!(all.of(&target("s", "0", "1")), [] as [Vec<Edit>; 0]);
        assert_eq!(all.clone().with(target("s", "a", "1"), &edits(&"x".repeat(MAX_ENTRY))), all);
    }

    #[test]
    fn written_entries_are_read_back_and_damaged_ones_are_none() {
        let dir = edt_testkit::tempdir().unwrap();
        let some = RefusedEdits::default().with(target("s", "a", "1"), &edits("\u{e9}\n"));
        some.write(dir.path());
        assert_eq!(RefusedEdits::read(dir.path()), some);
        std::fs::write(dir.path().join(FILE), "[[{}]]").unwrap();
        assert_eq!(RefusedEdits::read(dir.path()), RefusedEdits::default());
    }
}
