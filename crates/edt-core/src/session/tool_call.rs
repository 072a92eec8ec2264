//! The files that an agent's own tool changes, as they were before the call. The agent's hooks
//! announce a call before it is made, and record it afterwards.
//!
//! A hook may be missing: agents make calls in parallel, and a hook can be too slow. Then the file
//! before the call is derived from what the tool replaced. If that is impossible, nobody knows which
//! lines are the agent's, and the file counts as the user's.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::ownership;
use super::path_state::PathState;
use super::snapshot::{Snapshot, read_manifest};
use edt_git::Repo;
use edt_io::disk::{FoundEntry, Parent};
use edt_io::{failed, fs};
use edt_journal::PrivateBytes;
use edt_types::{RepoPath, Result, Warning};

/// The extension of the manifest of an announced call.
const ANNOUNCED: &str = "tool";
/// The extension of a file with the blob id of what the last call left.
const RECORDED: &str = "recorded";

/// The pieces of text that a call replaced in each file, in order: the old and the new one.
pub type Replaced = BTreeMap<RepoPath, Vec<(Vec<u8>, Vec<u8>)>>;

/// A call of a tool that was made.
#[derive(Debug, Default)]
pub(super) struct ToolCall {
    replaced: Replaced,
    /// The blob id of each file after the last recorded call, if none was announced since.
    recorded: BTreeMap<RepoPath, Vec<u8>>,
}

/// A file before a call.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum BeforeCall {
    /// As it is now.
    Same,
    Known(Option<PrivateBytes>),
    /// Derived from what the call replaced. The change may be recorded already.
    Derived(PrivateBytes),
    Unknown,
}

impl Snapshot {
    /// Copies the files at `paths` alone, before an announced call.
    ///
    /// # Errors
    /// `IO_ERROR`, `GIT_DIR_READ_ONLY`.
    pub fn of_paths(repo: &Repo, paths: &[RepoPath]) -> Result<Snapshot> {
        let mut snapshot = Snapshot::empty(repo)?;
        for path in paths {
            snapshot.add(repo, path.clone(), repo.max_file_size())?;
            let place = snapshot.place(repo, path, ANNOUNCED)?;
            let Some(copy) = snapshot.files.get(path).cloned() else {
                let _ = fs::remove_file(&place);
                continue;
            };
            let one = (path.as_bytes().to_vec(), copy);
            let manifest = serde_json::to_vec(&[one]).unwrap_or_default();
            fs::write_atomic(&place, &manifest, 0o600)
                .map_err(|error| failed("write", &place, &error))?;
            let _ = fs::remove_file(&snapshot.place(repo, path, RECORDED)?);
        }
        Ok(snapshot)
    }

    /// The snapshot that [`Snapshot::of_paths`] took last for each of `paths`; it is used up.
    /// `replaced` is what the call says that it did.
    ///
    /// # Errors
    /// `INTERNAL`.
    pub fn taken_of_paths(repo: &Repo, paths: &[RepoPath], replaced: Replaced) -> Result<Snapshot> {
        let mut snapshot = Snapshot::empty(repo)?;
        let mut recorded = BTreeMap::new();
        for path in paths {
            let place = snapshot.place(repo, path, ANNOUNCED)?;
            snapshot.files.extend(read_manifest(&place).unwrap_or_default());
            let _ = fs::remove_file(&place);
            if let Some(id) = fs::read_small(&snapshot.place(repo, path, RECORDED)?, 100) {
                recorded.insert(path.clone(), id);
            }
        }
        snapshot.tool = Some(ToolCall { replaced, recorded });
        Ok(snapshot)
    }

    /// Remembers that the files at `paths`, as they are now, are recorded: a further call that finds
    /// them like this has nothing to record.
    ///
    /// # Errors
    /// `IO_ERROR`, `GIT_DIR_READ_ONLY`.
    pub fn remember_recorded(repo: &Repo, paths: &[RepoPath]) -> Result<()> {
        let snapshot = Snapshot::empty(repo)?;
        for path in paths {
            let place = snapshot.place(repo, path, RECORDED)?;
            let (directory, name) = path.split();
            let bytes = match repo.root().beneath(directory) {
                Ok(Parent::Open(parent)) => match parent.read_at_most(name, repo.max_file_size()) {
                    Ok(FoundEntry::File(_, bytes)) => Some(bytes),
                    _ => None,
                },
                _ => None,
            };
            let id = id_of(repo, bytes.as_deref())?;
            fs::write_atomic(&place, &id, 0o600)
                .map_err(|error| failed("write", &place, &error))?;
        }
        Ok(())
    }

    fn place(&self, repo: &Repo, path: &RepoPath, extension: &str) -> Result<PathBuf> {
        Ok(self.directory.join(format!("{}.{extension}", repo.blob_id(path.as_bytes())?)))
    }
}

impl ToolCall {
    /// The file of `state` before the call. `announced` is the file when a call was announced last.
    ///
    /// # Errors
    /// `INTERNAL`.
    pub(super) fn before(
        &self,
        repo: &Repo,
        state: &PathState,
        announced: Option<Option<PrivateBytes>>,
    ) -> Result<BeforeCall> {
        let now = ownership::exact(state);
        let content = |file: &Option<PrivateBytes>| {
            file.as_ref().map(|file| (file.bytes.clone(), file.executable))
        };
        let is_announced = announced.is_some();
        if let Some(before) = announced
            && content(&before) != content(&now)
        {
            return Ok(BeforeCall::Known(before));
        }
        let bytes = now.as_ref().map(|file| file.bytes.as_slice());
        if self.recorded.get(&state.path) == Some(&id_of(repo, bytes)?) {
            return Ok(BeforeCall::Same);
        }
        let replaced = self.replaced.get(&state.path).map(Vec::as_slice).unwrap_or_default();
        if let Some(now) = now
            && let Some(bytes) = reversed(&now.bytes, replaced)
        {
            return Ok(BeforeCall::Derived(PrivateBytes { bytes, ..now }));
        }
        let same = is_announced || state.ignored || state.disk_file() == state.tip;
        Ok(if same { BeforeCall::Same } else { BeforeCall::Unknown })
    }
}

/// The text in which these replacements were made, the first one first. `None` unless each of them
/// has only one place.
fn reversed(text: &[u8], replaced: &[(Vec<u8>, Vec<u8>)]) -> Option<Vec<u8>> {
    let mut text = text.to_vec();
    for (old, new) in replaced.iter().rev() {
        let at = only_place(&text, new)?;
        text.splice(at..at + new.len(), old.iter().copied());
        only_place(&text, old)?;
    }
    (!replaced.is_empty()).then_some(text)
}

/// Where `piece` occurs in `text`; `None` if it occurs nowhere or more than once.
fn only_place(text: &[u8], piece: &[u8]) -> Option<usize> {
    if piece.is_empty() {
        return None;
    }
    let mut places = memchr::memmem::find_iter(text, piece);
    let first = places.next()?;
    let again = memchr::memmem::find(&text[first + 1..], piece);
    again.is_none().then_some(first)
}

fn id_of(repo: &Repo, bytes: Option<&[u8]>) -> Result<Vec<u8>> {
    let id = bytes.map(|bytes| repo.blob_id(bytes)).transpose()?;
    Ok(id.map_or_else(|| b"none".to_vec(), |id| id.to_string().into_bytes()))
}

/// The warning about a file whose earlier content is unknown.
pub(super) fn unknown(path: &RepoPath) -> Warning {
    let message = "edt did not see this file before the tool changed it, and cannot distinguish \
        the change from the user's. It is committed as the user's: to land it, the user must agree \
        (`edt land --include-user-changes`)."
        .to_owned();
    Warning { code: "recorded_as_users", path: Some(path.to_string()), message }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::review::ChangesPreview;
    use crate::session::history::Commit;
    use crate::session::message::Kind;
    use crate::session::record::{CommitInfo, RecordAction, RecordOutcome, record_changes};
    use crate::tests::{Scratch, path};
    use edt_types::UserChanges;

    const TEN: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";

    fn scratch() -> Scratch {
        let scratch = Scratch::with(&[("a.txt", TEN)]);
        scratch.begin("fix");
        scratch
    }

    fn announce(scratch: &Scratch, named: &str) {
        Snapshot::of_paths(&scratch.repo(), &[path(named)]).unwrap();
    }

    /// Records a call that replaced `pieces` in the file.
    fn record(scratch: &Scratch, named: &str, pieces: &[(&str, &str)]) -> RecordOutcome {
        let (repo, only) = (scratch.repo(), [path(named)]);
        let bytes = |one: &(&str, &str)| (one.0.into(), one.1.into());
        let replaced = [(path(named), pieces.iter().map(bytes).collect())].into();
        let before = Snapshot::taken_of_paths(&repo, &only, replaced).unwrap();
        let info = CommitInfo { message: "edit".into(), agent: None, kind: Kind::Edit };
        let mut decide = |_: &ChangesPreview<'_>| Ok(RecordAction::Record);
        let mut workspace = scratch.open();
        let outcome =
            record_changes(&mut workspace, &before, &info, Some(&only), &mut decide).unwrap();
        Snapshot::remember_recorded(&repo, &only).unwrap();
        outcome
    }

    fn change(scratch: &Scratch, named: &str, old: &str, new: &str) {
        let text = scratch.text(named).unwrap();
        scratch.write(named, &text.replace(old, new));
    }

    fn kinds(scratch: &Scratch) -> Vec<Kind> {
        let (repo, session) = (scratch.repo(), scratch.session());
        let commits = session.commits(&repo).map(|commit| commit.unwrap());
        commits.filter_map(|commit: Commit| Some(commit.trailers?.kind)).collect()
    }

    #[test]
    fn the_second_of_two_parallel_calls_does_not_record_the_users_lines() {
        let scratch = scratch();
        change(&scratch, "a.txt", "2\n", "2 by hand\n");
        announce(&scratch, "a.txt");
        announce(&scratch, "a.txt");
        change(&scratch, "a.txt", "5\n", "five\n");
        record(&scratch, "a.txt", &[("5\n", "five\n")]);
        change(&scratch, "a.txt", "9\n", "nine\n");
        let outcome = record(&scratch, "a.txt", &[("9\n", "nine\n")]);
        assert_eq!(outcome.files[0].user_changes, UserChanges::Separate);
        let agents = TEN.replace("5\n", "five\n").replace("9\n", "nine\n");
        assert_eq!(scratch.committed(scratch.head(), "a.txt"), Some(agents));
        assert_eq!(kinds(&scratch), [Kind::Edit, Kind::Edit]);
    }

    #[test]
    fn a_call_that_another_one_recorded_is_not_recorded_again() {
        let scratch = scratch();
        announce(&scratch, "a.txt");
        announce(&scratch, "a.txt");
        change(&scratch, "a.txt", "5\n", "five\n");
        change(&scratch, "a.txt", "9\n", "nine\n");
        assert!(record(&scratch, "a.txt", &[("5\n", "five\n")]).commit.is_some());
        assert!(record(&scratch, "a.txt", &[("9\n", "nine\n")]).commit.is_none());
        // Neither after the user typed a line.
        change(&scratch, "a.txt", "2\n", "2 by hand\n");
        assert!(record(&scratch, "a.txt", &[("9\n", "nine\n")]).commit.is_none());
        assert_eq!(kinds(&scratch), [Kind::Edit]);
    }

    #[test]
    fn a_call_that_was_made_before_the_next_one_was_announced_is_recorded() {
        let scratch = scratch();
        change(&scratch, "a.txt", "2\n", "2 by hand\n");
        announce(&scratch, "a.txt");
        change(&scratch, "a.txt", "5\n", "five\n");
        announce(&scratch, "a.txt");
        record(&scratch, "a.txt", &[("5\n", "five\n")]);
        let agents = TEN.replace("5\n", "five\n");
        assert_eq!(scratch.committed(scratch.head(), "a.txt"), Some(agents));
    }

    #[test]
    fn a_call_that_changed_nothing_does_not_record_the_users_line() {
        let scratch = scratch();
        change(&scratch, "a.txt", "2\n", "five\n");
        announce(&scratch, "a.txt");
        assert!(record(&scratch, "a.txt", &[("5\n", "five\n")]).commit.is_none());
    }

    #[test]
    fn a_call_that_was_not_announced_does_not_record_the_users_lines() {
        let scratch = scratch();
        change(&scratch, "a.txt", "2\n", "2 by hand\n");
        change(&scratch, "a.txt", "5\n", "five\n");
        record(&scratch, "a.txt", &[("5\n", "five\n")]);
        assert_eq!(scratch.committed(scratch.head(), "a.txt"), Some(TEN.replace("5\n", "five\n")));
        scratch.undo(1).unwrap();
        assert_eq!(scratch.text("a.txt"), Some(TEN.replace("2\n", "2 by hand\n")));
    }

    #[test]
    fn an_unknown_change_is_the_users() {
        for named in ["a.txt", "new.txt"] {
            let scratch = scratch();
            let base = scratch.head();
            scratch.write(named, "anything\n");
            let outcome = record(&scratch, named, &[]);
            assert_eq!((outcome.commit, outcome.checkpoints.len()), (None, 1));
            assert_eq!(outcome.warnings, [unknown(&path(named))]);
            assert_eq!(kinds(&scratch), [Kind::UserChanges]);
            assert_eq!(scratch.committed(scratch.head(), named).as_deref(), Some("anything\n"));
            assert_ne!(scratch.head(), base);
            assert_eq!(scratch.session().edits(&scratch.repo()).unwrap(), 0);
        }
    }

    #[test]
    fn a_new_file_of_an_announced_call_is_the_agents() {
        let scratch = scratch();
        announce(&scratch, "new.txt");
        scratch.write("new.txt", "new\n");
        let outcome = record(&scratch, "new.txt", &[]);
        assert_eq!(outcome.files[0].user_changes, UserChanges::None);
        assert_eq!(kinds(&scratch), [Kind::Edit]);
        scratch.undo(1).unwrap();
        assert_eq!(scratch.text("new.txt"), None);
    }

    #[test]
    fn an_untracked_file_that_a_call_removes_comes_back() {
        let scratch = scratch();
        scratch.write("new.txt", "mine\n");
        announce(&scratch, "new.txt");
        scratch.remove("new.txt");
        assert!(record(&scratch, "new.txt", &[]).commit.is_some());
        assert_eq!(kinds(&scratch), [Kind::Edit, Kind::UserChanges]);
        scratch.undo(1).unwrap();
        assert_eq!(scratch.text("new.txt").as_deref(), Some("mine\n"));
    }

    #[test]
    fn only_unambiguous_replacements_are_reversed() {
        let pieces = |all: &[(&str, &str)]| -> Vec<(Vec<u8>, Vec<u8>)> {
            all.iter().map(|one| (one.0.into(), one.1.into())).collect()
        };
        let back = |text: &str, all: &[(&str, &str)]| {
            reversed(text.as_bytes(), &pieces(all)).map(|text| String::from_utf8(text).unwrap())
        };
        assert_eq!(back("a two c\n", &[("one", "two")]).as_deref(), Some("a one c\n"));
        assert_eq!(back("a 3 c\n", &[("1", "2"), ("2", "3")]).as_deref(), Some("a 1 c\n"));
        assert_eq!(back("two two\n", &[("one", "two")]), None);
        assert_eq!(back("one two\n", &[("one", "two")]), None);
        assert_eq!(back("three\n", &[("one", "two")]), None);
        assert_eq!(back("a\n", &[("one", "")]), None);
        assert_eq!(back("a\n", &[]), None);
        // Overlapping occurrences.
        assert_eq!(back("aaa\n", &[("b", "aa")]), None);
    }
}
