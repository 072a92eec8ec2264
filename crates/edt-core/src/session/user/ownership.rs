//! Whose bytes are whose: three-way merges of files that separate the agent's work from the user's
//! uncommitted changes.

use std::ops::Range;

use super::hunks::{self, SplitChange, TakenLines};
use crate::session::files::path_state::PathState;
use edt_git::index::IndexState;
use edt_git::merge::{MergedText, merge_text, merge_text_with_theirs};
use edt_git::{FileId, FileMode, ObjectWriter};
use edt_journal::{PrivateBytes, PrivateFile};
use edt_types::text::MODE;
use edt_types::{RecordedIn, Result, UserChanges};

/// A file as Git records it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    pub file: FileId,
    /// Its bytes as Git records them, if they may be missing in the object database.
    pub blob: Option<Vec<u8>>,
    /// Its exact bytes on disk, if they are known to differ from what Git would check out.
    pub disk: Option<Vec<u8>>,
    /// Its permission bits on disk, if they are known.
    pub permissions: Option<u32>,
}

impl Version {
    /// A file that the object database has.
    #[must_use]
    pub fn recorded(file: FileId) -> Version {
        Version { file, blob: None, disk: None, permissions: None }
    }

    /// The version with the permissions of the file that it replaces, unless its own are known.
    #[must_use]
    pub fn replacing(self, replaced: Option<&Version>) -> Version {
        let same = || Some(with_mode(replaced?.permissions?, self.file.mode));
        Version { permissions: self.permissions.or_else(same), ..self }
    }

    /// The file on disk.
    #[must_use]
    pub fn on_disk(state: &PathState) -> Option<Version> {
        let disk = state.disk.as_ref()?;
        let raw = disk.stored.as_ref().map(|stored| stored.disk.clone());
        Some(Version {
            file: disk.file,
            blob: Some(disk.blob().to_vec()),
            disk: raw,
            permissions: Some(disk.stat.mode & 0o777),
        })
    }

    /// Its bytes as Git records them.
    ///
    /// # Errors
    /// `OBJECT_MISSING`.
    pub fn bytes(&self, writer: &ObjectWriter<'_>) -> Result<Vec<u8>> {
        self.blob.clone().map_or_else(|| writer.blob_content(self.file.oid), Ok)
    }
}

/// The result of a three-way merge of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergedFile {
    /// The merged file; `None` if there is none.
    Clean(Option<Version>),
    /// Both sides changed the same lines: the rows of our side, counted from 0. Empty if the sides
    /// conflict as a whole (a removed or binary file).
    Conflict(Vec<Range<usize>>),
}

/// Merges `ours` and `theirs`, which both derive from `base`.
///
/// # Errors
/// `OBJECT_MISSING`; `INTERNAL` if hashing fails.
pub fn merge3(
    writer: &ObjectWriter<'_>,
    base: Option<&Version>,
    ours: Option<&Version>,
    theirs: Option<&Version>,
) -> Result<MergedFile> {
    let id = |side: Option<&Version>| side.map(|version| version.file);
    if id(ours) == id(theirs) || id(base) == id(theirs) {
        return Ok(MergedFile::Clean(ours.cloned()));
    }
    if id(base) == id(ours) {
        return Ok(MergedFile::Clean(theirs.cloned()));
    }
    let (Some(base), Some(ours), Some(theirs)) = (base, ours, theirs) else {
        return Ok(MergedFile::Conflict(Vec::new()));
    };
    let mode = merged_mode(base, ours, theirs);
    let with_mode =
        |version: &Version| Version { file: FileId { mode, ..version.file }, ..version.clone() };
    if ours.file.oid == theirs.file.oid || base.file.oid == theirs.file.oid {
        return Ok(MergedFile::Clean(Some(with_mode(ours))));
    }
    if base.file.oid == ours.file.oid {
        return Ok(MergedFile::Clean(Some(with_mode(theirs))));
    }
    let text = |version: &Version| version.bytes(writer);
    match merge_text(&text(base)?, &text(ours)?, &text(theirs)?) {
        MergedText::Conflict(rows) => Ok(MergedFile::Conflict(rows)),
        MergedText::Clean(blob) => {
            let file = FileId { oid: writer.repo().blob_id(&blob)?, mode };
            Ok(MergedFile::Clean(Some(Version {
                file,
                blob: Some(blob),
                disk: None,
                permissions: None,
            })))
        }
    }
}

/// As [`merge3`], but takes the lines of `theirs` where both sides changed the same lines, and
/// `theirs` if the sides conflict as a whole.
///
/// # Errors
/// `OBJECT_MISSING`; `INTERNAL` if hashing fails.
pub fn merge3_with_theirs(
    writer: &ObjectWriter<'_>,
    base: Option<&Version>,
    ours: Option<&Version>,
    theirs: Option<&Version>,
) -> Result<Option<Version>> {
    if let MergedFile::Clean(merged) = merge3(writer, base, ours, theirs)? {
        return Ok(merged);
    }
    let (Some(base), Some(ours), Some(theirs)) = (base, ours, theirs) else {
        return Ok(theirs.cloned());
    };
    let text = |version: &Version| version.bytes(writer);
    let Some(blob) = merge_text_with_theirs(&text(base)?, &text(ours)?, &text(theirs)?) else {
        return Ok(Some(theirs.clone()));
    };
    let oid = writer.repo().blob_id(&blob)?;
    let file = FileId { oid, mode: merged_mode(base, ours, theirs) };
    Ok(Some(Version { file, blob: Some(blob), disk: None, permissions: None }))
}

fn merged_mode(base: &Version, ours: &Version, theirs: &Version) -> FileMode {
    if base.file.mode == ours.file.mode { theirs.file.mode } else { ours.file.mode }
}

/// An edit of one file, separated from the user's changes.
#[derive(Debug, Clone)]
pub struct SeparatedEdit {
    /// The file for the session's branch.
    pub branch: Option<Version>,
    /// The index entry; the inner `None` removes it. `None` leaves it as it is.
    pub entry: Option<Option<Version>>,
    /// Whether the user has uncommitted changes of the file.
    pub user_changes: UserChanges,
    pub left_over: LeftOver,
}

/// What an edit changed on disk, and no commit has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeftOver {
    Nothing,
    /// A part of it.
    Part {
        /// These rows of the new file, counted from 0, end excluded. The row before which lines were
        /// only removed has an empty range.
        rows: Vec<Range<usize>>,
        /// Whether the mode is a part of it.
        mode: bool,
    },
    /// The whole edit: of an untracked or an ignored file, or one that only overlaps.
    All,
}

impl LeftOver {
    /// Where the edit is recorded.
    #[must_use]
    pub const fn recorded(&self) -> RecordedIn {
        match self {
            LeftOver::Nothing => RecordedIn::Branch,
            LeftOver::Part { .. } => RecordedIn::Partly,
            LeftOver::All => RecordedIn::Private,
        }
    }

    /// The lines of the new file that are on disk alone, such as `20-24`, and `mode`, if something else
    /// is recorded.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        match self {
            LeftOver::Part { rows, mode } => {
                let mode = mode.then(|| MODE.to_owned());
                rows.iter().map(line_numbers).chain(mode).collect()
            }
            LeftOver::Nothing | LeftOver::All => Vec::new(),
        }
    }
}

/// Rows that are counted from 0 as line numbers: `7`, or `7-9`.
#[must_use]
pub fn line_numbers(rows: &Range<usize>) -> String {
    match rows.len() {
        0 | 1 => (rows.start + 1).to_string(),
        _ => format!("{}-{}", rows.start + 1, rows.end),
    }
}

impl SeparatedEdit {
    /// An edit of which neither the branch nor the index gets anything: the branch has `tip`.
    #[must_use]
    pub fn left_over(tip: Option<FileId>, user_changes: UserChanges) -> SeparatedEdit {
        let branch = tip.map(Version::recorded);
        SeparatedEdit { branch, entry: None, user_changes, left_over: LeftOver::All }
    }
}

/// Adds the blob of `version`, unless the object database has it. Returns the file.
pub fn write(writer: &mut ObjectWriter<'_>, version: Option<Version>) -> Option<FileId> {
    let Version { file, blob, .. } = version?;
    if let Some(blob) = blob {
        writer.add_blob(file.oid, blob);
    }
    Some(file)
}

/// A file before an edit.
#[derive(Debug, Clone)]
pub struct Before {
    /// The file in the session's tip.
    pub tip: Option<FileId>,
    /// The file on disk.
    pub disk: Option<Version>,
}

impl Before {
    /// The file as it is now.
    #[must_use]
    pub fn of(state: &PathState) -> Before {
        let clean = state.disk_file() == state.tip;
        let recorded = || state.tip.map(Version::recorded);
        let disk = if clean { recorded() } else { Version::on_disk(state) };
        Before { tip: state.tip, disk }
    }

    fn is_clean(&self) -> bool {
        self.disk.as_ref().map(|version| version.file) == self.tip
    }
}

/// Separates an edit of the file of `state` to `after` from the user's changes. `before` is that
/// file before the edit, or the file that it was renamed from. A hunk that adds a line of `taken` is
/// left over.
///
/// # Errors
/// `OBJECT_MISSING`, `INTERNAL`.
pub fn separate(
    writer: &ObjectWriter<'_>,
    state: &PathState,
    before: &Before,
    after: Option<&Version>,
    taken: &TakenLines,
) -> Result<SeparatedEdit> {
    let is_untracked = before.tip.is_none() && before.disk.is_some();
    let clean = before.is_clean();
    let users = if clean { UserChanges::None } else { UserChanges::Separate };
    if after.is_none() && state.tip.is_some() && state.staged == IndexState::Nothing {
        // The user staged the removal: the index could not have it again after an undo.
        return Ok(SeparatedEdit::left_over(state.tip, UserChanges::Separate));
    }
    if clean && !is_untracked && !takes(writer, after, taken)? {
        let entry = index_entry(writer, state, after)?;
        if let Ok(entry) = entry {
            let branch = after.cloned();
            let left_over = LeftOver::Nothing;
            return Ok(SeparatedEdit { branch, entry, user_changes: users, left_over });
        }
    }
    let (Some(tip), Some(old), Some(after)) = (before.tip, &before.disk, after) else {
        return Ok(SeparatedEdit::left_over(state.tip, UserChanges::Separate));
    };
    split_hunks(writer, state, tip, (old, after), taken)
}

/// Separates a change of a tracked file hunk by hunk. Its mode is a hunk of its own.
fn split_hunks(
    writer: &ObjectWriter<'_>,
    state: &PathState,
    tip: FileId,
    (old, after): (&Version, &Version),
    taken: &TakenLines,
) -> Result<SeparatedEdit> {
    let users = UserChanges::Separate;
    let staged = match state.staged {
        IndexState::File(staged) if staged != tip => Some(staged),
        _ => None,
    };
    let (mut ids, mut texts) = (vec![tip], Vec::new());
    ids.extend(staged);
    for id in &ids {
        texts.push(writer.blob_content(id.oid)?);
    }
    let (old_text, new_text) = (old.bytes(writer)?, after.bytes(writer)?);
    let all = texts.iter().chain([&old_text, &new_text]);
    if old_text != new_text && all.into_iter().any(|text| edt_types::text::is_binary(text)) {
        return Ok(SeparatedEdit::left_over(Some(tip), users));
    }
    let others: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
    let SplitChange { applied, left_over: rows, count } =
        hunks::split(&old_text, &new_text, &others, taken);
    let moves_mode = old.file.mode != after.file.mode;
    let sets_mode = moves_mode && ids.iter().all(|id| id.mode == old.file.mode);
    let mode = moves_mode && !sets_mode;
    let left_over =
        if rows.is_empty() && !mode { LeftOver::Nothing } else { LeftOver::Part { rows, mode } };
    if count == 0 && !sets_mode && left_over != LeftOver::Nothing {
        return Ok(SeparatedEdit::left_over(Some(tip), users));
    }
    let mut sides = Vec::new();
    for (id, blob) in ids.into_iter().zip(applied) {
        let mode = if sets_mode { after.file.mode } else { id.mode };
        let file = FileId { oid: writer.repo().blob_id(&blob)?, mode };
        sides.push(Version { file, blob: Some(blob), disk: None, permissions: None });
    }
    let mut sides = sides.into_iter();
    let branch = sides.next();
    let entry = match sides.next() {
        Some(staged) => Some(Some(staged)),
        None => index_entry(writer, state, branch.as_ref())?.unwrap_or(None),
    };
    Ok(SeparatedEdit { branch, entry, user_changes: users, left_over })
}

/// Whether `after` has one of the lines that are `taken`.
fn takes(writer: &ObjectWriter<'_>, after: Option<&Version>, taken: &TakenLines) -> Result<bool> {
    let Some(after) = after.filter(|_| !taken.is_empty()) else { return Ok(false) };
    Ok(taken.is_in(&after.bytes(writer)?))
}

/// Adds the user's lines that the edit from `before` to `after` removes.
///
/// # Errors
/// `OBJECT_MISSING`.
pub fn add_taken(
    writer: &ObjectWriter<'_>,
    taken: &mut TakenLines,
    before: &Before,
    after: Option<&Version>,
) -> Result<()> {
    let Some(disk) = before.disk.as_ref().filter(|_| !before.is_clean()) else { return Ok(()) };
    let tip = before.tip.map(Version::recorded);
    let text = |version: Option<&Version>| version.map_or(Ok(Vec::new()), |it| it.bytes(writer));
    taken.add(&disk.bytes(writer)?, &text(after)?, &text(tip.as_ref())?);
    Ok(())
}

/// A merged index entry: `None` keeps the entry as it is, an inner `None` removes it. The error has
/// the conflicting rows of the staged file.
pub type MergedEntry = std::result::Result<Option<Option<Version>>, Vec<Range<usize>>>;

/// The entry for a path whose file in HEAD becomes `new`: what the user staged stays staged.
/// `Ok(None)` leaves the entry as it is. The inner error has the conflicting rows of the staged
/// file.
///
/// # Errors
/// `OBJECT_MISSING`, `INTERNAL`.
pub fn index_entry(
    writer: &ObjectWriter<'_>,
    state: &PathState,
    new: Option<&Version>,
) -> Result<MergedEntry> {
    let tip = state.tip.map(Version::recorded);
    let staged = match state.staged {
        IndexState::File(file) => Some(Version::recorded(file)),
        // The user staged the deletion of a file. It stays staged, unless the file is gone anyway.
        IndexState::Nothing if tip.is_some() && new.is_some() => return Ok(Ok(None)),
        IndexState::Nothing => None,
        IndexState::IntentToAdd if new.is_none() => return Ok(Ok(None)),
        IndexState::IntentToAdd | IndexState::Other | IndexState::Unmerged => {
            return Ok(Ok(Some(new.cloned())));
        }
    };
    Ok(match merge3(writer, tip.as_ref(), staged.as_ref(), new)? {
        MergedFile::Clean(entry) => Ok(Some(entry)),
        MergedFile::Conflict(rows) => Err(rows),
    })
}

/// As [`index_entry`], but the new lines replace the conflicting lines of the staged file.
///
/// # Errors
/// `OBJECT_MISSING`, `INTERNAL`.
pub fn index_entry_with_new(
    writer: &ObjectWriter<'_>,
    state: &PathState,
    new: Option<&Version>,
) -> Result<Option<Option<Version>>> {
    if let Ok(entry) = index_entry(writer, state, new)? {
        return Ok(entry);
    }
    let staged = match state.staged {
        IndexState::File(file) => Some(Version::recorded(file)),
        _ => None,
    };
    let tip = state.tip.map(Version::recorded);
    merge3_with_theirs(writer, tip.as_ref(), staged.as_ref(), new).map(Some)
}

/// Whether other users could read a file with these permissions if it were created again.
#[must_use]
pub fn is_restricted(permissions: u32) -> bool {
    let hidden = |all: u32| all & !permissions & 0o044 != 0;
    // Reading the umask is needed only then.
    hidden(0o044) && hidden(!edt_io::fs::new_file_mask())
}

/// The permissions `bits` with the executable bits of `mode`.
#[must_use]
pub const fn with_mode(bits: u32, mode: FileMode) -> u32 {
    match mode {
        FileMode::Executable => bits | (bits & 0o444) >> 2,
        FileMode::Plain => bits & !0o111,
    }
}

/// What the private store keeps of an edit of the file of `state`.
#[must_use]
pub fn private_file(
    state: &PathState,
    after: Option<(&[u8], FileMode)>,
    left_over: &LeftOver,
) -> PrivateFile {
    let after = after.map(|(bytes, mode)| private_bytes(bytes, mode));
    let is_left_over = !state.ignored && *left_over != LeftOver::Nothing;
    PrivateFile::new(&state.path, exact(state), after).with_left_over(is_left_over)
}

/// The exact file of `state` on disk.
#[must_use]
pub fn exact(state: &PathState) -> Option<PrivateBytes> {
    let disk = state.disk.as_ref()?;
    let permissions = Some(disk.stat.mode & 0o777);
    Some(PrivateBytes { permissions, ..private_bytes(disk.exact(), disk.file.mode) })
}

fn private_bytes(bytes: &[u8], mode: FileMode) -> PrivateBytes {
    let executable = mode == FileMode::Executable;
    PrivateBytes { executable, permissions: None, bytes: bytes.to_vec() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{Scratch, path};

    const TEN: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";

    /// The text with the line 2 as the user changed it.
    fn users() -> String {
        TEN.replace("2\n", "2 by hand\n")
    }

    /// Runs a test with a writer.
    fn with(test: impl FnOnce(&mut ObjectWriter<'_>)) {
        let scratch = Scratch::with(&[("a.txt", TEN)]);
        let repo = scratch.repo();
        test(&mut ObjectWriter::new(&repo));
    }

    fn version(writer: &ObjectWriter<'_>, text: &str) -> Version {
        moded(writer, text, FileMode::Plain)
    }

    fn moded(writer: &ObjectWriter<'_>, text: &str, mode: FileMode) -> Version {
        let oid = writer.repo().blob_id(text.as_bytes()).unwrap();
        let blob = Some(text.into());
        Version { file: FileId { oid, mode }, blob, disk: None, permissions: None }
    }

    /// The text and mode of a version.
    fn content(version: Option<&Version>) -> Option<(String, FileMode)> {
        let version = version?;
        let blob = version.blob.clone().unwrap();
        Some((String::from_utf8(blob).unwrap(), version.file.mode))
    }

    fn plain(text: &str) -> Option<(String, FileMode)> {
        Some((text.to_owned(), FileMode::Plain))
    }

    /// The merge of three texts: the text, or the conflicting rows.
    fn merged(
        writer: &ObjectWriter<'_>,
        [base, ours, theirs]: [Option<&str>; 3],
    ) -> std::result::Result<Option<String>, Vec<Range<usize>>> {
        let [base, ours, theirs] =
            [base, ours, theirs].map(|text| text.map(|text| version(writer, text)));
        match merge3(writer, base.as_ref(), ours.as_ref(), theirs.as_ref()).unwrap() {
            MergedFile::Clean(merged) => Ok(content(merged.as_ref()).map(|(text, _)| text)),
            MergedFile::Conflict(rows) => Err(rows),
        }
    }

    #[test]
    fn the_side_that_alone_changed_a_file_wins() {
        with(|writer| {
            let [a, b] = [Some("a\n"), Some("b\n")];
            let some = |text: &str| Ok(Some(text.to_owned()));
            assert_eq!(merged(writer, [a, a, b]), some("b\n"));
            assert_eq!(merged(writer, [a, b, a]), some("b\n"));
            assert_eq!(merged(writer, [a, b, b]), some("b\n"));
            assert_eq!(merged(writer, [None, a, a]), some("a\n"));
            assert_eq!(merged(writer, [None, None, a]), some("a\n"));
            assert_eq!(merged(writer, [None, a, None]), some("a\n"));
            assert_eq!(merged(writer, [a, a, None]), Ok(None));
            assert_eq!(merged(writer, [a, None, a]), Ok(None));
            assert_eq!(merged(writer, [a, None, None]), Ok(None));
        });
    }

    #[test]
    fn a_file_that_one_side_removed_and_the_other_changed_conflicts() {
        with(|writer| {
            let [a, b] = [Some("a\n"), Some("b\n")];
            for sides in [[a, None, b], [a, b, None], [None, a, b]] {
                assert_eq!(merged(writer, sides), Err(Vec::new()), "{sides:?}");
            }
        });
    }

    #[test]
    fn both_changes_of_a_text_are_merged_or_conflict() {
        with(|writer| {
            let (ours, theirs) = (users(), TEN.replace('9', "nine"));
            assert_eq!(
                merged(writer, [Some(TEN), Some(&ours), Some(&theirs)]),
                Ok(Some(users().replace('9', "nine")))
            );
            let theirs = TEN.replace("2\n", "two\n");
            assert_eq!(merged(writer, [Some(TEN), Some(&ours), Some(&theirs)]), Err(vec![1..2]));
        });
    }

    #[test]
    fn modes_are_merged_apart_from_texts() {
        use FileMode::{Executable, Plain};
        with(|writer| {
            let clean =
                |base: (&str, FileMode), ours: (&str, FileMode), theirs: (&str, FileMode)| {
                    let [base, ours, theirs] =
                        [base, ours, theirs].map(|(text, mode)| moded(writer, text, mode));
                    match merge3(writer, Some(&base), Some(&ours), Some(&theirs)).unwrap() {
                        MergedFile::Clean(merged) => content(merged.as_ref()).unwrap(),
                        MergedFile::Conflict(rows) => panic!("{rows:?}"),
                    }
                };
            let is = |text: &str, mode| (text.to_owned(), mode);
            let user = users();
            let (nine, both) = (TEN.replace('9', "nine"), users().replace('9', "nine"));
            // The same text on two sides.
            assert_eq!(
                clean((TEN, Plain), (&user, Plain), (TEN, Executable)),
                is(&user, Executable)
            );
            assert_eq!(
                clean((TEN, Plain), (TEN, Executable), (&nine, Plain)),
                is(&nine, Executable)
            );
            assert_eq!(
                clean((TEN, Plain), (&user, Executable), (&user, Plain)),
                is(&user, Executable)
            );
            assert_eq!(
                clean((TEN, Executable), (TEN, Plain), (&nine, Executable)),
                is(&nine, Plain)
            );
            // Three texts.
            assert_eq!(
                clean((TEN, Plain), (&user, Executable), (&nine, Plain)),
                is(&both, Executable)
            );
            assert_eq!(
                clean((TEN, Plain), (&user, Plain), (&nine, Executable)),
                is(&both, Executable)
            );
        });
    }

    /// A path with this file in the tip, in the index and on disk.
    fn state(writer: &mut ObjectWriter<'_>, tip: Option<&str>, staged: IndexState) -> PathState {
        let tip = tip.map(|text| FileId {
            oid: writer.write_blob(text.as_bytes()).unwrap(),
            mode: FileMode::Plain,
        });
        let path = path("a.txt");
        PathState { path, tip, disk: None, staged, convertible: false, ignored: false }
    }

    fn staged(writer: &mut ObjectWriter<'_>, text: &str) -> IndexState {
        let oid = writer.write_blob(text.as_bytes()).unwrap();
        IndexState::File(FileId { oid, mode: FileMode::Plain })
    }

    /// The new index entry; `None` leaves the entry as it is.
    fn entry(
        writer: &ObjectWriter<'_>,
        state: &PathState,
        new: Option<&str>,
    ) -> std::result::Result<Option<Option<String>>, Vec<Range<usize>>> {
        let new = new.map(|text| version(writer, text));
        let entry = index_entry(writer, state, new.as_ref()).unwrap()?;
        let text = |version: Version| String::from_utf8(version.bytes(writer).unwrap()).unwrap();
        Ok(entry.map(|entry| entry.map(text)))
    }

    #[test]
    fn an_entry_without_staged_changes_follows_the_branch() {
        with(|writer| {
            let is = staged(writer, TEN);
            let state = state(writer, Some(TEN), is);
            assert_eq!(entry(writer, &state, Some("new\n")), Ok(Some(Some("new\n".to_owned()))));
            assert_eq!(entry(writer, &state, None), Ok(Some(None)));
        });
    }

    #[test]
    fn staged_lines_stay_staged() {
        with(|writer| {
            let is = staged(writer, &users());
            let state = state(writer, Some(TEN), is);
            let (new, both) = (TEN.replace('9', "nine"), users().replace('9', "nine"));
            assert_eq!(entry(writer, &state, Some(&new)), Ok(Some(Some(both))));
        });
    }

    #[test]
    fn staged_lines_that_the_edit_changes_conflict() {
        with(|writer| {
            let is = staged(writer, &users());
            let state = state(writer, Some(TEN), is);
            let new = TEN.replace("2\n", "two\n");
            assert_eq!(entry(writer, &state, Some(&new)), Err(vec![1..2]));
            assert_eq!(entry(writer, &state, None), Err(Vec::new()));
        });
    }

    #[test]
    fn a_staged_deletion_stays_staged() {
        with(|writer| {
            let state = state(writer, Some(TEN), IndexState::Nothing);
            assert_eq!(entry(writer, &state, Some("new\n")), Ok(None));
            // The path is gone from HEAD, too.
            assert_eq!(entry(writer, &state, None), Ok(Some(None)));
        });
    }

    #[test]
    fn a_new_file_gets_an_entry() {
        with(|writer| {
            let state = state(writer, None, IndexState::Nothing);
            assert_eq!(entry(writer, &state, Some("new\n")), Ok(Some(Some("new\n".to_owned()))));
        });
    }

    #[test]
    fn a_staged_new_file_conflicts_with_another_one() {
        with(|writer| {
            let is = staged(writer, "mine\n");
            let state = state(writer, None, is);
            assert_eq!(entry(writer, &state, Some("new\n")), Err(Vec::new()));
            assert_eq!(entry(writer, &state, Some("mine\n")), Ok(Some(Some("mine\n".to_owned()))));
        });
    }

    #[test]
    fn an_intent_to_add_becomes_an_entry_or_stays() {
        with(|writer| {
            let state = state(writer, None, IndexState::IntentToAdd);
            assert_eq!(entry(writer, &state, Some("new\n")), Ok(Some(Some("new\n".to_owned()))));
            assert_eq!(entry(writer, &state, None), Ok(None));
        });
    }

    fn recorded(writer: &ObjectWriter<'_>, text: &str) -> Version {
        let oid = writer.repo().blob_id(text.as_bytes()).unwrap();
        Version::recorded(FileId { oid, mode: FileMode::Plain })
    }

    /// Separates the edit from `disk` to `after` of a file with this tip, which is not staged.
    fn separated(
        writer: &mut ObjectWriter<'_>,
        tip: Option<&str>,
        disk: Option<&str>,
        after: Option<&str>,
    ) -> SeparatedEdit {
        let is = tip.map_or(IndexState::Nothing, |tip| staged(writer, tip));
        let state = state(writer, tip, is);
        let before = Before { tip: state.tip, disk: disk.map(|text| version(writer, text)) };
        let after = after.map(|text| version(writer, text));
        separate(writer, &state, &before, after.as_ref(), &TakenLines::default()).unwrap()
    }

    #[test]
    fn an_edit_of_a_clean_file_is_the_branchs_file() {
        with(|writer| {
            let edit = separated(writer, Some(TEN), Some(TEN), Some("new\n"));
            assert_eq!(edit.user_changes, UserChanges::None);
            assert_eq!(content(edit.branch.as_ref()), plain("new\n"));
            assert_eq!(content(edit.entry.unwrap().as_ref()), plain("new\n"));
            let edit = separated(writer, Some(TEN), Some(TEN), None);
            assert_eq!((edit.user_changes, edit.branch), (UserChanges::None, None));
            let edit = separated(writer, None, None, Some("new\n"));
            assert_eq!(edit.user_changes, UserChanges::None);
        });
    }

    #[test]
    fn an_edit_of_other_lines_leaves_the_users_lines_out_of_the_branch() {
        with(|writer| {
            let after = users().replace('9', "nine");
            let edit = separated(writer, Some(TEN), Some(&users()), Some(&after));
            assert_eq!(edit.user_changes, UserChanges::Separate);
            let nine = TEN.replace('9', "nine");
            assert_eq!(content(edit.branch.as_ref()), plain(&nine));
            assert_eq!(content(edit.entry.unwrap().as_ref()), plain(&nine));
        });
    }

    #[test]
    fn an_edit_of_the_users_lines_is_left_over() {
        with(|writer| {
            let after = users().replace("2 by hand", "two");
            let edit = separated(writer, Some(TEN), Some(&users()), Some(&after));
            assert_eq!(edit.left_over, LeftOver::All);
            assert_eq!(edit.branch, Some(recorded(writer, TEN)));
            assert!(edit.entry.is_none());
        });
    }

    #[test]
    fn the_other_hunks_of_such_an_edit_are_on_the_branch() {
        with(|writer| {
            let after = users().replace("2 by hand", "two").replace('9', "nine");
            let edit = separated(writer, Some(TEN), Some(&users()), Some(&after));
            assert_eq!(edit.left_over, LeftOver::Part { rows: vec![1..2], mode: false });
            let nine = TEN.replace('9', "nine");
            assert_eq!(content(edit.branch.as_ref()), plain(&nine));
            assert_eq!(content(edit.entry.unwrap().as_ref()), plain(&nine));
        });
    }

    #[test]
    fn an_untracked_file_stays_untracked() {
        with(|writer| {
            for after in [Some("mine\nnew\n"), None] {
                let edit = separated(writer, None, Some("mine\n"), after);
                assert_eq!((edit.left_over, edit.branch), (LeftOver::All, None), "{after:?}");
                assert!(edit.entry.is_none());
            }
        });
    }

    #[test]
    fn a_file_that_the_user_removed_and_an_edit_makes_anew_is_left_over() {
        with(|writer| {
            let edit = separated(writer, Some(TEN), None, Some("new\n"));
            assert_eq!(edit.left_over, LeftOver::All);
            assert_eq!(edit.branch, Some(recorded(writer, TEN)));
        });
    }

    #[test]
    fn the_deletion_of_a_file_with_user_changes_is_left_over() {
        with(|writer| {
            let edit = separated(writer, Some(TEN), Some(&users()), None);
            assert_eq!(edit.left_over, LeftOver::All);
            assert_eq!(edit.branch, Some(recorded(writer, TEN)));
        });
    }

    #[test]
    fn a_moved_line_of_the_users_stays_out_of_another_file() {
        with(|writer| {
            let mut taken = TakenLines::default();
            let id = version(writer, TEN).file;
            let before = Before { tip: Some(id), disk: Some(version(writer, &users())) };
            let after = version(writer, &users().replace("2 by hand\n", ""));
            add_taken(writer, &mut taken, &before, Some(&after)).unwrap();
            let is = staged(writer, TEN);
            let state = state(writer, Some(TEN), is);
            let clean = Before { tip: state.tip, disk: Some(version(writer, TEN)) };
            let after = version(writer, &TEN.replace("9\n", "9\n2 by hand\n"));
            let edit = separate(writer, &state, &clean, Some(&after), &taken).unwrap();
            assert_eq!(edit.left_over, LeftOver::All);
            assert_eq!(edit.branch, Some(recorded(writer, TEN)));
        });
    }

    #[test]
    fn a_mode_that_the_user_changed_stays_out_of_the_branch() {
        with(|writer| {
            let is = staged(writer, TEN);
            let state = state(writer, Some(TEN), is);
            let disk = Some(moded(writer, TEN, FileMode::Executable));
            let after = moded(writer, "new\n", FileMode::Executable);
            let before = Before { tip: state.tip, disk };
            let edit =
                separate(writer, &state, &before, Some(&after), &TakenLines::default()).unwrap();
            assert_eq!(edit.user_changes, UserChanges::Separate);
            assert_eq!(content(edit.branch.as_ref()), plain("new\n"));
        });
    }

    #[test]
    fn an_edit_of_a_mode_alone_keeps_the_users_text_out_of_the_branch() {
        with(|writer| {
            let is = staged(writer, TEN);
            let state = state(writer, Some(TEN), is);
            let disk = Some(version(writer, &users()));
            let after = moded(writer, &users(), FileMode::Executable);
            let before = Before { tip: state.tip, disk };
            let edit =
                separate(writer, &state, &before, Some(&after), &TakenLines::default()).unwrap();
            assert_eq!(edit.user_changes, UserChanges::Separate);
            let branch = edit.branch.unwrap();
            assert_eq!(branch.bytes(writer).unwrap(), TEN.as_bytes());
            assert_eq!(branch.file.mode, FileMode::Executable);
        });
    }

    #[test]
    fn an_edit_of_a_staged_line_is_left_over_and_another_one_keeps_it_staged() {
        with(|writer| {
            let is = staged(writer, &users());
            let state = state(writer, Some(TEN), is);
            let before = Before { tip: state.tip, disk: Some(version(writer, TEN)) };
            let edit = |text: String| {
                let after = version(writer, &text);
                separate(writer, &state, &before, Some(&after), &TakenLines::default()).unwrap()
            };
            let two = TEN.replace("2\n", "two\n");
            let alone = edit(two.clone());
            assert_eq!((alone.left_over, alone.entry.is_none()), (LeftOver::All, true));
            let both = edit(two.replace("9\n", "nine\n"));
            assert_eq!(both.left_over, LeftOver::Part { rows: vec![1..2], mode: false });
            let nine = |text: &str| plain(&text.replace("9\n", "nine\n"));
            assert_eq!(content(both.branch.as_ref()), nine(TEN));
            assert_eq!(content(both.entry.unwrap().as_ref()), nine(&users()));
        });
    }

    #[test]
    fn a_mode_that_the_user_changed_and_the_edit_too_is_left_over() {
        with(|writer| {
            let is = staged(writer, TEN);
            let state = state(writer, Some(TEN), is);
            let disk = Some(moded(writer, TEN, FileMode::Executable));
            let before = Before { tip: state.tip, disk };
            let after = version(writer, "new\n");
            let edit =
                separate(writer, &state, &before, Some(&after), &TakenLines::default()).unwrap();
            assert_eq!(edit.left_over, LeftOver::Part { rows: vec![], mode: true });
            assert_eq!(edit.left_over.lines(), ["mode"]);
            assert_eq!(content(edit.branch.as_ref()), plain("new\n"));
        });
    }
}
