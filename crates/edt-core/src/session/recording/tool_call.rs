//! The files that an agent's own tool changes. The agent's hooks announce a call before it is made,
//! and record it afterwards.
//!
//! The agent's change is what the call says that it does, applied to the file as it was before. What
//! else changed meanwhile is not the agent's. It stays on disk, uncommitted: lines that the user
//! typed, what a formatter rewrote, and other calls, which have records of their own.
//!
//! Agents make calls in parallel, and a hook can be missing or too slow. So each file has a list of
//! known states: when a call was announced, and after a call was recorded. The newest state to which
//! the call applies, and from which it leads to the present file, is the file before the call.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::PathBuf;

use super::call_text::{applied, reversed, same_text, shows};
use super::known_states::{Announced, FileOfCall, STATES, State, States, ToolCall};
use super::snapshot::Snapshot;
use crate::session::files::path_state::PathState;
use crate::session::private::uncovered;
use crate::session::user::ownership::{self, MergedFile, Version, merge3};
use crate::session::user::unwind;
use edt_edit::{Edit, Op};
use edt_git::{FileId, FileMode, ObjectWriter, Oid, Repo};
use edt_journal::PrivateBytes;
use edt_types::{RepoPath, Result, Warning, WarningCode};

/// The most states of a file. A call that is announced and never made leaves one.
const MAX_STATES: usize = 32;

/// What a call changed in a file.
pub(crate) enum CallChange {
    None,
    /// The file does not show that the announced call was made.
    NotMade,
    /// The possible changes, the most probable first.
    Known(Vec<FileChange>),
    /// Nobody knows which lines are the agent's.
    Unknown,
}

/// A possible change of a file by a call.
pub(crate) struct FileChange {
    pub(crate) before: Option<Version>,
    pub(crate) after: Option<Version>,
    /// The exact bytes for undo: the present file without the change, and the present file. If the
    /// change cannot be separated, the file before and after the call.
    pub(crate) exact: (Option<PrivateBytes>, Option<PrivateBytes>),
    /// Whether another call may have recorded it.
    pub(crate) may_be_recorded: bool,
    /// Whether more changed meanwhile, and no other call is pending.
    pub(crate) has_more: bool,
}

/// A file with its exact bytes, and as Git would record it.
#[derive(Clone)]
struct Known {
    exact: Option<PrivateBytes>,
    version: Option<Version>,
}

/// Whether the present file has an announced change.
enum Made {
    No,
    /// It has nothing else.
    Exactly,
    /// The present file without the change.
    Without(Option<Version>),
    /// Something else changed in the same lines.
    Overlapped,
}

impl Snapshot {
    /// Remembers the files at `paths` before a call that is announced, and what it will do.
    ///
    /// # Errors
    /// `IO_ERROR`, `GIT_DIR_READ_ONLY`, `INTERNAL`.
    pub fn of_paths(repo: &Repo, paths: &[RepoPath], announced: &Announced) -> Result<Snapshot> {
        let mut snapshot = Snapshot::empty(repo)?;
        let ignored: Vec<Vec<u8>> = uncovered::ignored_before(repo, paths.iter())?
            .into_iter()
            .map(|path| path.as_bytes().to_vec())
            .collect();
        for path in paths {
            snapshot.add(repo, path.clone(), repo.max_file_size())?;
            let Some(copy) = snapshot.files.get(path).cloned() else { continue };
            let place = snapshot.place(repo, path)?;
            let mut known = States::read(&place);
            let call = Some(call_id(repo, announced, path)?);
            let rules = if path.is_ignore_file() { ignored.clone() } else { Vec::new() };
            known.states.push(State { call, recorded: false, copy, ignored: rules });
            known.states.drain(..known.states.len().saturating_sub(MAX_STATES));
            known.write(&place)?;
        }
        Ok(snapshot)
    }

    /// The files at `paths` before a call that was made. Its announcement is used up.
    ///
    /// # Errors
    /// `IO_ERROR`, `GIT_DIR_READ_ONLY`, `INTERNAL`.
    pub fn taken_of_paths(
        repo: &Repo,
        paths: &[RepoPath],
        announced: Announced,
    ) -> Result<Snapshot> {
        let mut snapshot = Snapshot::empty(repo)?;
        let mut files = BTreeMap::new();
        for path in paths {
            let place = snapshot.place(repo, path)?;
            let mut known = States::read(&place);
            let announced_states = known.states.clone();
            let at = known.take(&call_id(repo, &announced, path)?);
            if let Some(at) = at {
                let ignored = std::mem::take(&mut known.states[at].ignored);
                snapshot.ignored.extend(ignored.iter().map(|path| RepoPath::from_tree(path)));
            }
            let file = FileOfCall {
                states: known.states[at.unwrap_or(0)..].iter().rev().cloned().collect(),
                is_announced: at.is_some(),
                announcement: at.map(|at| (at, announced_states[at].clone())),
                not_made: Cell::new(false),
                is_unknown: Cell::new(false),
                others_pending: known.states.iter().any(|state| state.call.is_some()),
                recorded: known.recorded.clone(),
            };
            if at.is_some() {
                let newest = file.states.first().map(|state| state.copy.clone());
                snapshot.files.extend(newest.map(|copy| (path.clone(), copy)));
                known.write(&place)?;
            }
            files.insert(path.clone(), file);
        }
        snapshot.tool = Some(ToolCall { announced, files });
        Ok(snapshot)
    }

    /// Remembers the files at `paths` after this call was recorded. Their bytes are copied only
    /// while other calls are pending. If nothing shows that the call was made, it stays announced.
    ///
    /// # Errors
    /// `IO_ERROR`, `GIT_DIR_READ_ONLY`, `INTERNAL`.
    pub fn remember_recorded(&self, repo: &Repo, paths: &[RepoPath]) -> Result<()> {
        let mut snapshot = Snapshot::empty(repo)?;
        for path in paths {
            let place = snapshot.place(repo, path)?;
            let mut known = States::read(&place);
            let file = self.tool.as_ref().and_then(|call| call.files.get(path));
            if let Some((at, state)) =
                file.filter(|file| file.not_made.get()).and_then(|file| file.announcement.as_ref())
            {
                known.states[*at].clone_from(state);
                known.write(&place)?;
                continue;
            }
            snapshot.add(repo, path.clone(), repo.max_file_size())?;
            let copy = snapshot.files.get(path).cloned().flatten();
            let file = copy.as_ref().map_or(Ok(None), |copy| snapshot.content(copy))?;
            known.recorded = Some(id_of(repo, file.as_ref())?);
            let pending = known.states.iter().position(|state| state.call.is_some());
            known.states.drain(..pending.unwrap_or(known.states.len()));
            if pending.is_some() {
                let ignored = Vec::new();
                known.states.push(State { call: None, recorded: true, copy, ignored });
            }
            known.write(&place)?;
        }
        Ok(())
    }

    /// Whether the file at `path` changed, and nobody knows which of its lines are the call's.
    pub(crate) fn is_unseen(&self, path: &RepoPath) -> bool {
        let file = self.tool.as_ref().and_then(|call| call.files.get(path));
        file.is_some_and(|file| file.is_unknown.get())
    }

    /// Warnings about the files of which the call recorded nothing, although they changed.
    pub(crate) fn not_recorded(&self) -> impl Iterator<Item = Warning> {
        let files = self.tool.iter().flat_map(|call| &call.files);
        files.filter_map(|(path, file)| match (file.not_made.get(), file.is_unknown.get()) {
            (true, _) => Some(not_recorded(path)),
            (_, true) => Some(unknown(path)),
            _ => None,
        })
    }

    fn place(&self, repo: &Repo, path: &RepoPath) -> Result<PathBuf> {
        Ok(self.directory.join(format!("{}.{STATES}", repo.blob_id(path.as_bytes())?)))
    }

    /// What `call` changed in the file of `state`.
    ///
    /// # Errors
    /// `IO_ERROR`, `OBJECT_MISSING`, `INTERNAL`.
    pub(crate) fn change_of(
        &self,
        call: &ToolCall,
        writer: &ObjectWriter<'_>,
        tree: Oid,
        state: &PathState,
    ) -> Result<CallChange> {
        let Some(file) = call.files.get(&state.path) else { return Ok(CallChange::Unknown) };
        let mut states = Vec::new();
        for one in &file.states {
            let content = one.copy.as_ref().map_or(Ok(None), |copy| self.content(copy))?;
            states.push((one.recorded, content));
        }
        let now = Known { exact: ownership::exact(state), version: Version::on_disk(state) };
        let finder = Finder { writer, tree, state, file, states, now };
        let edits = call.announced.get(&state.path).map_or(&[][..], Vec::as_slice);
        let change = finder.find(edits)?;
        file.not_made.set(matches!(change, CallChange::NotMade));
        file.is_unknown.set(matches!(change, CallChange::Unknown) && !state.ignored);
        Ok(change)
    }
}

/// Searches the change of one file by a call.
struct Finder<'a> {
    writer: &'a ObjectWriter<'a>,
    tree: Oid,
    state: &'a PathState,
    file: &'a FileOfCall,
    /// The known states of the file, the newest first, and whether a call had been recorded then.
    states: Vec<(bool, Option<PrivateBytes>)>,
    now: Known,
}

impl Finder<'_> {
    fn find(&self, edits: &[Edit]) -> Result<CallChange> {
        let is_announced = self.file.is_announced;
        if is_announced && self.states.iter().all(|(_, file)| self.is_now(file.as_ref())) {
            let now = self.now.exact.as_ref();
            let after = applied(edits, &self.state.path, now);
            let made = after.is_none_or(|after| content(after.as_ref()) == content(now));
            return Ok(if made { CallChange::None } else { CallChange::NotMade });
        }
        let (mut found, mut overlapped, mut applies) = (Vec::new(), None, false);
        for exact in self.candidates(edits)? {
            let Some(after) = applied(edits, &self.state.path, exact.as_ref()) else { continue };
            if content(after.as_ref()) == content(exact.as_ref()) {
                continue;
            }
            let (Ok(before), Ok(after)) = (self.known(exact), self.known(after)) else { continue };
            applies = true;
            match self.made(&before, &after)? {
                Made::No => {}
                Made::Exactly => found.push(self.change(before, self.now.clone(), None)),
                Made::Without(rest) => found.push(self.change(before, after, Some(rest))),
                // The last candidate is preferred: the tip, or the oldest state.
                Made::Overlapped => {
                    let files = [&before, &after, &self.now].map(|known| known.exact.as_ref());
                    if shows(edits, files) {
                        overlapped = Some((before, after));
                    }
                }
            }
        }
        if !found.is_empty() {
            return Ok(CallChange::Known(found));
        }
        if is_announced && applies && overlapped.is_none() {
            return Ok(CallChange::NotMade);
        }
        if let Some(now) = &self.now.exact
            && let Some(bytes) = reversed(&now.bytes, edits)
        {
            let before = self.known(Some(PrivateBytes { bytes, ..now.clone() }))?;
            found.push(self.change(before, self.now.clone(), None));
        }
        let overlapped = overlapped.filter(|_| is_announced);
        found.extend(overlapped.map(|(before, after)| self.change(before, after, None)));
        if found.is_empty() { self.unspecified() } else { Ok(CallChange::Known(found)) }
    }

    /// Whether a call that does not know of this one may have recorded the change.
    fn may_be_recorded(&self) -> bool {
        !self.file.is_announced || self.states.iter().any(|(recorded, _)| *recorded)
    }

    /// The files that may be the one before the call, the most probable first. A call that replaces
    /// a whole file may have copied the user's lines, so it must be announced.
    fn candidates(&self, edits: &[Edit]) -> Result<Vec<Option<PrivateBytes>>> {
        let mut all: Vec<_> = self.states.iter().map(|(_, file)| file.clone()).collect();
        let is_write = edits.iter().any(|edit| matches!(edit.op, Op::Write { .. }));
        if is_write && !self.file.is_announced {
            return Ok(Vec::new());
        }
        if let Some(tip) = self.state.tip
            && !is_write
            && !self.state.convertible
            && self.may_be_recorded()
        {
            let bytes = self.writer.blob_content(tip.oid)?;
            let executable = tip.mode == FileMode::Executable;
            all.push(Some(PrivateBytes { executable, permissions: None, bytes }));
        }
        Ok(all)
    }

    /// The change of a call that does not say what it does: all that changed since it was announced
    /// or since another call was recorded.
    fn unspecified(&self) -> Result<CallChange> {
        let (state, file) = (self.state, self.file);
        if !file.is_announced {
            let is_recorded =
                file.recorded == Some(id_of(self.writer.repo(), self.now.exact.as_ref())?);
            let same = is_recorded || state.ignored || state.disk_file() == state.tip;
            return Ok(if same { CallChange::None } else { CallChange::Unknown });
        }
        for (recorded, exact) in &self.states {
            if !self.is_now(exact.as_ref()) {
                let before = self.known(exact.clone())?;
                return Ok(CallChange::Known(vec![self.change(before, self.now.clone(), None)]));
            }
            if *recorded {
                break;
            }
        }
        Ok(CallChange::None)
    }

    fn change(&self, before: Known, after: Known, rest: Option<Option<Version>>) -> FileChange {
        let is_now = id(after.version.as_ref()) == id(self.now.version.as_ref());
        let converted = self.now.version.as_ref().is_some_and(|version| version.disk.is_some());
        let exact = match rest {
            Some(rest) if !converted => {
                let permissions = before.exact.as_ref().and_then(|exact| exact.permissions);
                let rest = rest.and_then(|rest| {
                    let executable = rest.file.mode == FileMode::Executable;
                    Some(PrivateBytes { executable, permissions, bytes: rest.blob? })
                });
                (rest, self.now.exact.clone())
            }
            _ => (before.exact, after.exact),
        };
        FileChange {
            before: before.version,
            after: after.version,
            exact,
            may_be_recorded: self.may_be_recorded(),
            has_more: !is_now && !self.file.others_pending,
        }
    }

    /// Whether the change from `before` to `after` is in the present file.
    fn made(&self, before: &Known, after: &Known) -> Result<Made> {
        let now = &self.now;
        if id(now.version.as_ref()) == id(after.version.as_ref())
            || same_text(now.exact.as_ref(), after.exact.as_ref())
        {
            return Ok(Made::Exactly);
        }
        if id(now.version.as_ref()) == id(before.version.as_ref())
            || now.version.is_none() != after.version.is_none()
        {
            return Ok(Made::No);
        }
        let sides = [&after.version, &now.version, &before.version].map(Option::as_ref);
        Ok(match merge3(self.writer, sides[0], sides[1], sides[2])? {
            MergedFile::Conflict(_) => Made::Overlapped,
            MergedFile::Clean(rest) if id(rest.as_ref()) == id(now.version.as_ref()) => Made::No,
            MergedFile::Clean(Some(rest)) => {
                // The lines of `rest` are needed for the private record.
                let blob = Some(rest.bytes(self.writer)?);
                Made::Without(Some(Version { blob, ..rest }))
            }
            MergedFile::Clean(None) => Made::Without(None),
        })
    }

    fn known(&self, exact: Option<PrivateBytes>) -> Result<Known> {
        let version =
            |bytes| unwind::version_of(self.writer.repo(), self.tree, &self.state.path, bytes);
        Ok(Known { version: exact.clone().map(version).transpose()?, exact })
    }

    fn is_now(&self, file: Option<&PrivateBytes>) -> bool {
        content(file) == content(self.now.exact.as_ref())
    }
}

fn content(file: Option<&PrivateBytes>) -> Option<(&[u8], bool)> {
    file.map(|file| (file.bytes.as_slice(), file.executable))
}

fn id(version: Option<&Version>) -> Option<FileId> {
    version.map(|version| version.file)
}

fn id_of(repo: &Repo, file: Option<&PrivateBytes>) -> Result<String> {
    let id = file.map(|file| repo.blob_id(&file.bytes)).transpose()?;
    Ok(id.map_or_else(|| "none".to_owned(), |id| id.to_string()))
}

/// What identifies a call between its two hooks: what it does to the file.
fn call_id(repo: &Repo, announced: &Announced, path: &RepoPath) -> Result<String> {
    let edits = format!("{:?}", announced.get(path));
    Ok(repo.blob_id(edits.as_bytes())?.to_string())
}

/// The warning about a file whose earlier content is unknown.
fn unknown(path: &RepoPath) -> Warning {
    let message = "edt did not see this file before the tool changed it, and cannot distinguish \
        the change from the user's. So the call is not recorded: the change stays on disk, \
        uncommitted, and counts as the user's. Announce each call with the hook that runs before it."
        .to_owned();
    Warning { code: WarningCode::CallNotRecorded, path: Some(path.text()), message }
}

/// The warning about a file that shows nothing of an announced call.
fn not_recorded(path: &RepoPath) -> Warning {
    let message = "This file shows nothing of what the call says: a formatter or another program \
        rewrote it, or the call changed nothing. So the call is not recorded. What no commit has \
        stays on disk, uncommitted, and counts as the user's. To have it recorded, repeat the edit \
        with `edt apply`."
        .to_owned();
    Warning { code: WarningCode::CallNotRecorded, path: Some(path.text()), message }
}

/// The warning about a file in which more changed than the call says.
pub(crate) fn has_more(path: &RepoPath) -> Warning {
    let message = "While the tool ran, more changed in this file than the call says: the user, a \
        formatter or another call changed it, too. The commit has what the call says. The rest \
        stays on disk; what no call says is uncommitted, and counts as the user's."
        .to_owned();
    Warning { code: WarningCode::MoreChanged, path: Some(path.text()), message }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::recording::known_states::needed_copies;
    use crate::session::recording::record::{
        CommitInfo, RecordAction, RecordOutcome, record_changes,
    };
    use crate::session::recording::review::ChangesPreview;
    use crate::session::refs::commit::Commit;
    use crate::session::refs::message::Kind;
    use crate::tests::{Scratch, path};
    use edt_edit::Expect;
    use edt_edit::locate::Occurrences;
    use edt_edit::place::Matching;
    use edt_io::fs;
    use edt_types::UserChanges;

    const TEN: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";

    fn scratch() -> Scratch {
        let scratch = Scratch::with(&[("a.txt", TEN)]);
        scratch.begin("fix");
        scratch
    }

    /// A call that replaces `pieces` in the file; without them, one that does not say what it does.
    fn call(named: &str, pieces: &[(&str, &str)]) -> Announced {
        let op = |one: &(&str, &str)| {
            let (old, new) = (one.0.into(), one.1.into());
            if one.0.is_empty() {
                return Op::Write { content: new };
            }
            Op::Edit { old, new, occurrences: Occurrences::One, matching: Matching::Strict }
        };
        let edit = |op| Edit { path: path(named), expect: Expect::Anything, op };
        let edits: Vec<Edit> = pieces.iter().map(op).map(edit).collect();
        [(path(named), edits)].into_iter().filter(|(_, edits)| !edits.is_empty()).collect()
    }

    fn announce(scratch: &Scratch, named: &str, pieces: &[(&str, &str)]) {
        Snapshot::of_paths(&scratch.repo(), &[path(named)], &call(named, pieces)).unwrap();
    }

    /// Records a call that replaced `pieces` in the file.
    fn record(scratch: &Scratch, named: &str, pieces: &[(&str, &str)]) -> RecordOutcome {
        let (repo, only) = (scratch.repo(), [path(named)]);
        let before = Snapshot::taken_of_paths(&repo, &only, call(named, pieces)).unwrap();
        let info = CommitInfo { message: "edit".into(), agent: None, kind: Kind::Edit };
        let mut decide = |_: &ChangesPreview<'_>| Ok(RecordAction::Record);
        let mut workspace = scratch.open();
        let outcome =
            record_changes(&mut workspace, &before, &info, Some(&only), &mut decide).unwrap();
        before.remember_recorded(&repo, &only).unwrap();
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
        announce(&scratch, "a.txt", &[("5\n", "five\n")]);
        announce(&scratch, "a.txt", &[("9\n", "nine\n")]);
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
    fn each_of_two_parallel_calls_is_recorded_once() {
        let scratch = scratch();
        announce(&scratch, "a.txt", &[("5\n", "five\n")]);
        announce(&scratch, "a.txt", &[("9\n", "nine\n")]);
        change(&scratch, "a.txt", "5\n", "five\n");
        change(&scratch, "a.txt", "9\n", "nine\n");
        let first = record(&scratch, "a.txt", &[("5\n", "five\n")]);
        assert_eq!((first.commit.is_some(), first.warnings), (true, vec![]));
        assert_eq!(scratch.committed(scratch.head(), "a.txt"), Some(TEN.replace("5\n", "five\n")));
        let second = record(&scratch, "a.txt", &[("9\n", "nine\n")]);
        assert_eq!((second.commit.is_some(), second.warnings), (true, vec![]));
        assert!(record(&scratch, "a.txt", &[("9\n", "nine\n")]).commit.is_none());
        // Neither after the user typed a line.
        change(&scratch, "a.txt", "2\n", "2 by hand\n");
        assert!(record(&scratch, "a.txt", &[("9\n", "nine\n")]).commit.is_none());
        assert_eq!(kinds(&scratch), [Kind::Edit, Kind::Edit]);
    }

    #[test]
    fn a_call_that_was_made_before_the_next_one_was_announced_is_recorded() {
        let scratch = scratch();
        change(&scratch, "a.txt", "2\n", "2 by hand\n");
        announce(&scratch, "a.txt", &[("5\n", "five\n")]);
        change(&scratch, "a.txt", "5\n", "five\n");
        announce(&scratch, "a.txt", &[("9\n", "nine\n")]);
        record(&scratch, "a.txt", &[("5\n", "five\n")]);
        let agents = TEN.replace("5\n", "five\n");
        assert_eq!(scratch.committed(scratch.head(), "a.txt"), Some(agents));
    }

    #[test]
    fn a_call_that_changed_nothing_does_not_record_the_users_line() {
        let scratch = scratch();
        change(&scratch, "a.txt", "2\n", "five\n");
        announce(&scratch, "a.txt", &[("5\n", "five\n")]);
        let outcome = record(&scratch, "a.txt", &[("5\n", "five\n")]);
        assert_eq!((outcome.commit, outcome.warnings), (None, vec![not_recorded(&path("a.txt"))]));
    }

    #[test]
    fn a_call_whose_lines_a_formatter_rewrote_is_reported() {
        let scratch = scratch();
        announce(&scratch, "a.txt", &[("5\n", "let x = 5\n")]);
        change(&scratch, "a.txt", "5\n", "const x = 5;\n");
        let outcome = record(&scratch, "a.txt", &[("5\n", "let x = 5\n")]);
        assert_eq!((outcome.commit, outcome.warnings), (None, vec![not_recorded(&path("a.txt"))]));
    }

    #[test]
    fn lines_that_a_call_reorders_are_recorded() {
        let scratch = scratch();
        announce(&scratch, "a.txt", &[("5\n6\n", "6\n5\n")]);
        change(&scratch, "a.txt", "5\n6\n7\n", "6\n5\nuser\n");
        let outcome = record(&scratch, "a.txt", &[("5\n6\n", "6\n5\n")]);
        assert!(outcome.commit.is_some());
        let committed = scratch.committed(scratch.head(), "a.txt").unwrap();
        assert!(committed.contains("6\n5\n"), "{committed}");
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
    fn an_unknown_change_stays_on_disk_as_the_users() {
        for named in ["a.txt", "new.txt"] {
            let scratch = scratch();
            let base = scratch.head();
            scratch.write(named, "anything\n");
            let outcome = record(&scratch, named, &[]);
            assert_eq!((outcome.commit, scratch.head()), (None, base));
            assert_eq!(outcome.warnings, [unknown(&path(named))]);
            assert_eq!(scratch.text(named).as_deref(), Some("anything\n"));
        }
    }

    #[test]
    fn a_new_file_of_an_announced_call_is_the_agents() {
        let scratch = scratch();
        announce(&scratch, "new.txt", &[]);
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
        announce(&scratch, "new.txt", &[]);
        scratch.remove("new.txt");
        assert!(record(&scratch, "new.txt", &[]).commit.is_some());
        assert_eq!(kinds(&scratch), [Kind::Edit]);
        scratch.undo(1).unwrap();
        assert_eq!(scratch.text("new.txt").as_deref(), Some("mine\n"));
    }

    #[test]
    fn a_deletion_after_another_call_is_the_agents() {
        for first in [("2\n", "two\n"), ("3\n", "three\n")] {
            let scratch = scratch();
            announce(&scratch, "a.txt", &[first]);
            announce(&scratch, "a.txt", &[("4\n", "")]);
            change(&scratch, "a.txt", first.0, first.1);
            record(&scratch, "a.txt", &[first]);
            change(&scratch, "a.txt", "4\n", "");
            let outcome = record(&scratch, "a.txt", &[("4\n", "")]);
            assert_eq!(outcome.warnings, []);
            assert_eq!(kinds(&scratch), [Kind::Edit, Kind::Edit]);
            assert_eq!(scratch.committed(scratch.head(), "a.txt"), scratch.text("a.txt"));
        }
    }

    #[test]
    fn parallel_calls_that_do_not_say_what_they_do_are_the_agents() {
        let scratch = scratch();
        announce(&scratch, "a.txt", &[]);
        announce(&scratch, "a.txt", &[]);
        change(&scratch, "a.txt", "2\n", "two\n");
        record(&scratch, "a.txt", &[]);
        change(&scratch, "a.txt", "4\n", "");
        let outcome = record(&scratch, "a.txt", &[]);
        assert_eq!(outcome.warnings, []);
        assert_eq!(scratch.committed(scratch.head(), "a.txt"), scratch.text("a.txt"));
        assert_eq!(kinds(&scratch), [Kind::Edit, Kind::Edit]);
    }

    #[test]
    fn a_deletion_that_was_not_announced_is_the_agents() {
        let scratch = scratch();
        change(&scratch, "a.txt", "9\n", "9 by hand\n");
        change(&scratch, "a.txt", "4\n", "");
        record(&scratch, "a.txt", &[("4\n", "")]);
        assert_eq!(scratch.committed(scratch.head(), "a.txt"), Some(TEN.replace("4\n", "")));
        assert_eq!(kinds(&scratch), [Kind::Edit]);
    }

    /// The session's file after a call, when the user typed a line while it ran.
    fn typed_meanwhile(pieces: &[(&str, &str)], typed: (&str, &str)) -> (Scratch, String) {
        let scratch = scratch();
        announce(&scratch, "a.txt", pieces);
        for (old, new) in pieces {
            let whole = old.is_empty();
            if whole { scratch.write("a.txt", new) } else { change(&scratch, "a.txt", old, new) }
        }
        change(&scratch, "a.txt", typed.0, typed.1);
        let disk = scratch.text("a.txt");
        let outcome = record(&scratch, "a.txt", pieces);
        assert_eq!(outcome.warnings, [has_more(&path("a.txt"))]);
        assert_eq!(scratch.text("a.txt"), disk);
        assert_eq!(outcome.files[0].user_changes, UserChanges::Separate);
        let committed = scratch.committed(scratch.head(), "a.txt").unwrap();
        (scratch, committed)
    }

    #[test]
    fn what_the_user_types_while_a_tool_runs_stays_uncommitted() {
        let written = TEN.replace("5\n", "five\n");
        for pieces in [
            &[("5\n", "five\n")][..],
            &[("5\n", "")],
            &[("5\n", "5\nfive\n")],
            &[("2\n", "two\n"), ("5\n", "five\n")],
            &[("", &written)],
        ] {
            // In another line, and next to the change.
            for typed in [("8\n", "8\nby hand\n"), ("6\n", "by hand\n6\n")] {
                let (scratch, committed) = typed_meanwhile(pieces, typed);
                let after = |text: String, (old, new): &(&str, &str)| {
                    if old.is_empty() { (*new).to_owned() } else { text.replace(old, new) }
                };
                assert_eq!(committed, pieces.iter().fold(TEN.to_owned(), after));
                if typed.0 == "8\n" {
                    scratch.undo(1).unwrap();
                    let expected = TEN.replace(typed.0, typed.1);
                    assert_eq!(scratch.text("a.txt"), Some(expected));
                }
            }
        }
    }

    #[test]
    fn what_a_formatter_rewrites_stays_on_disk() {
        let (scratch, committed) =
            typed_meanwhile(&[("5\n", "five( )\n")], ("five( )\n", "five()\n"));
        assert_eq!(committed, TEN.replace("5\n", "five( )\n"));
        assert_eq!(scratch.text("a.txt"), Some(TEN.replace("5\n", "five()\n")));
        assert_eq!(kinds(&scratch), [Kind::Edit]);
    }

    #[test]
    fn a_final_line_end_is_no_other_change() {
        let scratch = scratch();
        announce(&scratch, "new.txt", &[("", "new")]);
        scratch.write("new.txt", "new\n");
        let outcome = record(&scratch, "new.txt", &[("", "new")]);
        assert_eq!((outcome.warnings.len(), outcome.commit.is_some()), (0, true));
        assert_eq!(scratch.committed(scratch.head(), "new.txt").as_deref(), Some("new\n"));
    }

    #[test]
    fn a_new_file_has_only_what_the_call_says() {
        let scratch = scratch();
        announce(&scratch, "new.txt", &[("", "new\n")]);
        scratch.write("new.txt", "new\nby hand\n");
        record(&scratch, "new.txt", &[("", "new\n")]);
        assert_eq!(scratch.committed(scratch.head(), "new.txt").as_deref(), Some("new\n"));
        assert_eq!(scratch.text("new.txt").as_deref(), Some("new\nby hand\n"));
        assert_eq!(kinds(&scratch), [Kind::Edit]);
    }

    #[test]
    fn a_call_that_was_not_made_records_nothing() {
        let scratch = scratch();
        for pieces in [&[("5\n", "five\n")][..], &[("5\n", "5\n5\n")], &[("5\n", "")]] {
            announce(&scratch, "a.txt", pieces);
            change(&scratch, "a.txt", "8\n", "8\nby hand\n");
            assert!(record(&scratch, "a.txt", pieces).commit.is_none());
        }
    }

    #[test]
    fn a_call_without_a_trace_records_nothing_and_stays_announced() {
        let added = TEN.replace("3\n", "3\nadded\n");
        for (pieces, user) in [
            (&[("", "agent 1\n")][..], ("3\n", "by hand\n")),
            (&[("", added.as_str())], ("3\n", "by hand\n")),
            (&[("3\n", "three\n")], ("3\n", "by hand\n")),
            (&[("3\n4\n", "")], ("3\n", "by hand\n3\n")),
        ] {
            let scratch = scratch();
            announce(&scratch, "a.txt", pieces);
            change(&scratch, "a.txt", user.0, user.1);
            let outcome = record(&scratch, "a.txt", pieces);
            assert!(outcome.commit.is_none(), "{pieces:?}");
            // The tool makes it later.
            let text = match pieces[0] {
                ("", text) => text.to_owned(),
                (old, new) => TEN.replace(old, new),
            };
            scratch.write("a.txt", &text);
            assert!(record(&scratch, "a.txt", pieces).commit.is_some(), "{pieces:?}");
            assert_eq!(scratch.committed(scratch.head(), "a.txt"), Some(text));
            assert_eq!(kinds(&scratch), [Kind::Edit]);
        }
    }

    #[test]
    fn the_bytes_of_a_file_are_kept_only_while_a_call_is_pending() {
        let scratch = scratch();
        let copies = || {
            let place = scratch.repo().state_path().join("snapshot");
            let lists = fs::files_in(&place);
            let lists = lists.iter().filter(|path| path.extension().is_some());
            lists.map(|list| needed_copies(list).len()).sum::<usize>()
        };
        announce(&scratch, "a.txt", &[("5\n", "five\n")]);
        announce(&scratch, "a.txt", &[("9\n", "nine\n")]);
        change(&scratch, "a.txt", "5\n", "five\n");
        record(&scratch, "a.txt", &[("5\n", "five\n")]);
        assert_eq!(copies(), 2);
        change(&scratch, "a.txt", "9\n", "nine\n");
        record(&scratch, "a.txt", &[("9\n", "nine\n")]);
        assert_eq!(copies(), 0);
        for _ in 0..MAX_STATES + 5 {
            announce(&scratch, "a.txt", &[("5\n", "five\n")]);
        }
        assert_eq!(copies(), MAX_STATES);
    }

    /// Three calls on two files, announced, made and recorded in any order, while the user types.
    fn interleaved(seed: u64) {
        let mut seed = seed;
        let mut random = |below: usize| {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(seed >> 33).unwrap() % below
        };
        let start: String = (10..40).map(|number| format!("line {number}\n")).collect();
        let scratch = Scratch::with(&[("a.txt", &start), ("b.txt", &start)]);
        scratch.begin("fix");
        // The file, the old and the new text, and the next hook of each call.
        let mut calls: Vec<(&str, String, String, u8)> = Vec::new();
        for number in [14, 20, 26] {
            let named = ["a.txt", "b.txt"][random(2)];
            let number = number + random(2) * 2;
            let old = format!("line {number}\n");
            let new = match random(3) {
                0 => format!("agent {number}\n"),
                1 => format!("{old}agent {number}\n"),
                _ => String::new(),
            };
            calls.push((named, old, new, 0));
        }
        let mut typed = Vec::new();
        while calls.iter().any(|call| call.3 < 3) {
            let at = random(5);
            let Some((named, old, new, hook)) = calls.get_mut(at) else {
                // Not next to a call's line.
                let named = ["a.txt", "b.txt"][random(2)];
                let above = format!("line {}\n", [11, 18, 24, 30, 38][random(5)]);
                let line = format!("user {}\n", typed.len());
                change(&scratch, named, &above, &format!("{above}{line}"));
                typed.push((named, line));
                continue;
            };
            let pieces = [(old.as_str(), new.as_str())];
            match *hook {
                0 => announce(&scratch, named, &pieces),
                1 => change(&scratch, named, old, new),
                2 => {
                    let disk = (scratch.text("a.txt"), scratch.text("b.txt"));
                    let parent = scratch.committed(scratch.head(), named).unwrap();
                    let outcome = record(&scratch, named, &pieces);
                    assert!(outcome.commit.is_some());
                    let committed = scratch.committed(scratch.head(), named);
                    assert_eq!(committed, Some(parent.replace(&*old, new)));
                    assert_eq!(disk, (scratch.text("a.txt"), scratch.text("b.txt")));
                }
                _ => continue,
            }
            *hook += 1;
        }
        assert_eq!(kinds(&scratch), [Kind::Edit; 3]);
        let all = |named: &str| {
            let of_file = calls.iter().filter(|call| call.0 == named);
            of_file.fold(start.clone(), |text, call| text.replace(&call.1, &call.2))
        };
        for named in ["a.txt", "b.txt"] {
            assert_eq!(scratch.committed(scratch.head(), named), Some(all(named)));
            let disk = scratch.text(named).unwrap();
            let is_typed = |line: &&str| line.starts_with("user");
            let of_file = typed.iter().filter(|one| one.0 == named).count();
            assert_eq!(disk.lines().filter(is_typed).count(), of_file);
            let rest: String = disk.split_inclusive('\n').filter(|line| !is_typed(line)).collect();
            assert_eq!(rest, all(named));
        }
        scratch.undo(3).unwrap();
        for named in ["a.txt", "b.txt"] {
            let disk = scratch.text(named).unwrap();
            let rest = disk.split_inclusive('\n').filter(|line| !line.starts_with("user"));
            assert_eq!(rest.collect::<String>(), start);
            assert!(typed.iter().all(|one| one.0 != named || disk.contains(&one.1)));
        }
    }

    #[test]
    fn interleaved_calls_record_what_they_say() {
        for seed in edt_testkit::share((0..200).collect(), 20) {
            let result = std::panic::catch_unwind(|| interleaved(seed));
            assert!(result.is_ok(), "seed {seed}");
        }
    }
}
