//! What a program or an agent's tool changed in one file, separated from the user's changes.

use super::checkpoint::UserVersion;
use super::ownership::{self, Before, MergedFile, SeparatedEdit, Version, merge3};
use super::path_state::PathState;
use super::snapshot::Snapshot;
use super::tool_call::BeforeCall;
use super::unwind;
use edt_git::{FileMode, ObjectWriter, Oid, Tracked};
use edt_journal::PrivateBytes;
use edt_types::{Result, UserChanges};

/// One file that a program changed.
pub(super) struct ProgramChange {
    /// The file now.
    pub(super) state: PathState,
    /// The exact file before.
    pub(super) before: Option<PrivateBytes>,
    /// The file before, as Git would record it.
    pub(super) version: Option<Version>,
    pub(super) after: Option<Version>,
    pub(super) separated: SeparatedEdit,
    /// Whether nobody knows the file before: then all of it counts as the user's.
    pub(super) unknown: bool,
}

impl ProgramChange {
    /// `None` if the file is as it was.
    ///
    /// # Errors
    /// `OBJECT_MISSING`, `IO_ERROR`.
    pub(super) fn of(
        writer: &ObjectWriter<'_>,
        snapshot: &Snapshot,
        tree: Oid,
        state: PathState,
    ) -> Result<Option<ProgramChange>> {
        let repo = writer.repo();
        let stat = state.disk.as_ref().map(|disk| disk.stat);
        if snapshot.tool.is_none() && snapshot.is_unchanged(&state.path, stat.as_ref()) {
            return Ok(None);
        }
        let (mut before, mut is_derived) = (snapshot.before(&state.path)?, false);
        if let Some(call) = &snapshot.tool {
            before = Some(match call.before(repo, &state, before)? {
                BeforeCall::Same => return Ok(None),
                BeforeCall::Known(before) => before,
                BeforeCall::Derived(before) => {
                    is_derived = true;
                    Some(before)
                }
                // An ignored file is never committed.
                BeforeCall::Unknown if state.ignored => return Ok(None),
                BeforeCall::Unknown => return Ok(Some(ProgramChange::unknown(state))),
            });
        }
        let (before, version) = match before {
            Some(before) => {
                let version = before
                    .clone()
                    .map(|bytes| unwind::version_of(repo, tree, &state.path, bytes))
                    .transpose()?;
                let recorded = recorded_meanwhile(writer, snapshot, &state, version.as_ref())?;
                recorded.unwrap_or((before, version))
            }
            // The file was the one of the session.
            None => (None, state.tip.map(Version::recorded)),
        };
        let after = Version::on_disk(&state);
        let id = |version: &Option<Version>| version.as_ref().map(|version| version.file);
        let same_bytes = before
            .as_ref()
            .zip(state.disk.as_ref())
            .is_none_or(|(before, disk)| before.bytes == disk.exact());
        if id(&version) == id(&after) && same_bytes {
            return Ok(None);
        }
        let separated = if state.ignored {
            SeparatedEdit { branch: None, entry: None, user_changes: UserChanges::None }
        } else {
            let old = Before { tip: state.tip, disk: version.clone() };
            ownership::separate(writer, &state, &old, after.as_ref())?
        };
        if is_derived && id(&separated.branch) == state.tip && !state.ignored {
            // Another call has recorded it.
            return Ok(None);
        }
        Ok(Some(ProgramChange { state, before, version, after, separated, unknown: false }))
    }

    fn unknown(state: PathState) -> ProgramChange {
        let (before, after) = (ownership::exact(&state), Version::on_disk(&state));
        let separated = SeparatedEdit::mixed(after.as_ref());
        let version = state.tip.map(Version::recorded);
        ProgramChange { state, before, version, after, separated, unknown: true }
    }

    /// Whether the private store keeps the bytes, because the commit does not have them, or not the
    /// permissions of a file that is new or gone.
    pub(super) fn is_private(&self) -> bool {
        let permissions = match (&self.before, &self.state.disk) {
            _ if self.unknown => None,
            (Some(before), None) => before.permissions,
            (None, Some(disk)) if self.version.is_none() => Some(disk.stat.mode),
            _ => None,
        };
        self.state.ignored
            || self.separated.user_changes == UserChanges::Separate
            || permissions.is_some_and(ownership::is_restricted)
    }

    /// The user's version of the file.
    pub(super) fn users(&self) -> UserVersion {
        let now = UserVersion::of(&self.state);
        if self.unknown {
            return now;
        }
        UserVersion { disk: self.version.clone(), ..now }
    }
}

/// The file before, with the edits that another call recorded while the program ran. `None` if
/// there are none.
fn recorded_meanwhile(
    writer: &ObjectWriter<'_>,
    snapshot: &Snapshot,
    state: &PathState,
    before: Option<&Version>,
) -> Result<Option<(Option<PrivateBytes>, Option<Version>)>> {
    let Some(tree) = snapshot.tree else { return Ok(None) };
    let earlier = match writer.repo().tracked(tree, &state.path)? {
        Tracked::File(file) => Some(file),
        _ => None,
    };
    if earlier == state.tip {
        return Ok(None);
    }
    let (base, theirs) = (earlier.map(Version::recorded), state.tip.map(Version::recorded));
    match merge3(writer, base.as_ref(), before, theirs.as_ref())? {
        MergedFile::Conflict(_) => Ok(None),
        MergedFile::Clean(None) => Ok(Some((None, None))),
        MergedFile::Clean(Some(merged)) => {
            let executable = merged.file.mode == FileMode::Executable;
            let bytes =
                PrivateBytes { executable, permissions: None, bytes: merged.bytes(writer)? };
            Ok(Some((Some(bytes), Some(merged))))
        }
    }
}
