//! The known states of the files of tool calls, and their lists on disk.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::session::files::file_copy::Copy;
use edt_edit::Edit;
use edt_io::{failed, fs};
use edt_types::{RepoPath, Result};

/// The extension of the list of a file's known states.
pub(super) const STATES: &str = "tool";

/// What a call says that it does to each file, in order. A file whose new content only the call
/// itself knows is not in it.
pub type Announced = BTreeMap<RepoPath, Vec<Edit>>;

/// A call of a tool that was made.
#[derive(Debug, Default)]
pub(crate) struct ToolCall {
    pub(super) announced: Announced,
    pub(super) files: BTreeMap<RepoPath, FileOfCall>,
}

/// What is known of a file of a call.
#[derive(Debug)]
pub(super) struct FileOfCall {
    /// The states since the call was announced, the newest first; all states if it was not.
    pub(super) states: Vec<State>,
    pub(super) is_announced: bool,
    /// Its place in the list, and the state as it was announced.
    pub(super) announcement: Option<(usize, State)>,
    /// Whether the present file shows no trace of the call.
    pub(super) not_made: Cell<bool>,
    /// Whether nobody knows which of the file's lines are the call's.
    pub(super) is_unknown: Cell<bool>,
    /// Whether other calls are announced and not recorded.
    pub(super) others_pending: bool,
    /// The blob id of the file after the last recorded call.
    pub(super) recorded: Option<String>,
}

/// The known states of a file, the oldest first.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct States {
    /// The blob id of the file after the last recorded call.
    pub(super) recorded: Option<String>,
    pub(super) states: Vec<State>,
}

/// A file at some time.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct State {
    /// The call that was announced then, unless it is recorded; an id of its edits.
    pub(super) call: Option<String>,
    /// Whether a call had just been recorded.
    pub(super) recorded: bool,
    pub(super) copy: Option<Copy>,
    /// What Git ignored, if the file is an ignore file.
    #[serde(default)]
    pub(super) ignored: Vec<Vec<u8>>,
}

impl States {
    pub(super) fn read(place: &Path) -> States {
        let bytes = fs::read_small(place, u64::MAX).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    pub(super) fn write(&self, place: &Path) -> Result<()> {
        let bytes = serde_json::to_vec(self).unwrap_or_default();
        fs::write_atomic(place, &bytes, 0o600).map_err(|error| failed("write", place, &error))?;
        Ok(())
    }

    /// Uses up the announcement of `call`, and returns its place in the list. Some agents describe a
    /// call differently before and afterwards: then it is the oldest announcement.
    pub(super) fn take(&mut self, call: &str) -> Option<usize> {
        let same = self.states.iter().position(|state| state.call.as_deref() == Some(call));
        let at = same.or_else(|| self.states.iter().position(|state| state.call.is_some()))?;
        self.states[at].call = None;
        Some(at)
    }
}

/// The copies that the list of states at `place` needs.
pub(crate) fn needed_copies(place: &Path) -> Vec<Option<Copy>> {
    States::read(place).states.into_iter().map(|state| state.copy).collect()
}
