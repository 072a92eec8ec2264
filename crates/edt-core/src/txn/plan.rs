//! Second stage: every new text, computed in memory.

use std::collections::{BTreeMap, BTreeSet};

use super::correction::{attach_corrected_request, attach_corrections};
use super::earlier::committed_texts;
use super::messages;
use super::request::Request;
use super::resolve::{Resolved, TransactionState};
use crate::session::files::near_path;
use crate::session::files::path_state::too_large;
use crate::session::{LockedWorkspace, OnDisk};
use edt_edit::stage::{EditOutcome, EditedFile, EditedFiles};
use edt_edit::{Edit, Op};
use edt_git::convert::StoredForms;
use edt_git::{FileMode, Forms};
use edt_types::pointer::store_of;
use edt_types::{Code, FileChangeKind, Finding, Refusal, RepoPath, Result};

/// A request and the new text of every file.
#[derive(Debug)]
pub struct Planned<'q> {
    pub(super) request: &'q Request,
    pub(super) state: TransactionState,
    /// The files that change, in order of their paths.
    pub(super) files: Vec<FilePlan>,
}

/// One file that changes.
#[derive(Debug)]
pub struct FilePlan {
    /// The path.
    pub path: RepoPath,
    /// The path it is renamed from.
    pub from: Option<RepoPath>,
    /// The kind of change.
    pub change: FileChangeKind,
    /// The new content; `None` if the file is removed.
    pub after: Option<Content>,
    /// How its edits were placed.
    pub step: EditOutcome,
}

/// A file's content and mode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// Its text.
    pub bytes: Vec<u8>,
    /// Its bytes on disk and in Git, if Git converts them.
    pub stored: Option<StoredForms>,
    /// Its mode.
    pub mode: FileMode,
}

impl Content {
    /// The content with these forms.
    #[must_use]
    pub fn of(forms: Forms, mode: FileMode) -> Content {
        Content { bytes: forms.text, stored: forms.stored, mode }
    }

    /// The bytes that Git records.
    #[must_use]
    pub fn blob(&self) -> &[u8] {
        self.stored.as_ref().map_or(&self.bytes, |stored| &stored.blob)
    }

    /// The bytes on disk.
    #[must_use]
    pub fn disk(&self) -> &[u8] {
        self.stored.as_ref().map_or(&self.bytes, |stored| &stored.disk)
    }

    /// The bytes on disk.
    #[must_use]
    pub fn into_disk(self) -> Vec<u8> {
        self.stored.map_or(self.bytes, |stored| stored.disk)
    }

    /// The number of bytes on disk.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.stored.as_ref().map_or(&self.bytes, |stored| &stored.disk).len() as u64
    }
}

impl TransactionState {
    /// The old file of a planned one; for a rename at its old path.
    pub(super) fn before(&self, file: &FilePlan) -> Option<&OnDisk> {
        let source = file
            .from
            .as_ref()
            .filter(|_| file.change == FileChangeKind::Renamed)
            .unwrap_or(&file.path);
        self.paths.get(source)?.disk.as_ref()
    }
}

/// Computes every new text.
///
/// # Errors
/// The findings of every edit that does not fit; `UNSUPPORTED_REPOSITORY` if Git would check out
/// another text than the new one; the findings of a filter.
pub fn plan<'q>(workspace: &LockedWorkspace, resolved: Resolved<'q>) -> Result<Planned<'q>> {
    let Resolved { request, state } = resolved;
    let mut stage = files_on_disk(&state);
    let (mut found, mut steps) = (Vec::new(), Steps::new());
    for (i, edit) in request.edits.iter().enumerate() {
        match stage.apply(edit) {
            Ok(step) => record_step(&mut steps, edit, step),
            Err(refusal) => {
                let path_state = state.paths.get(stage.origin(&edit.path));
                let hash = path_state
                    .and_then(|path_state| path_state.disk.as_ref())
                    .map(|disk| disk.file.oid.to_string());
                let findings = messages::refused(&stage, edit, refusal, hash.as_deref());
                let numbered = |finding: Finding| {
                    let finding = match finding.code {
                        Code::FileNotFound => {
                            near_path::named(&workspace.repo, finding, &edit.path)
                        }
                        _ => finding,
                    };
                    if request.patch.is_some() { finding } else { finding.with("edit", i + 1) }
                };
                found.extend(findings.into_iter().map(numbered));
            }
        }
    }
    let earlier = |path: &RepoPath| committed_texts(workspace, &state, path);
    if request.patch.is_some() {
        attach_corrections(&stage, &request.edits, &mut found, &earlier);
    } else if !found.is_empty() {
        attach_corrected_request(files_on_disk(&state), request, &mut found, &earlier);
    }
    let too_large = |(path, text): (&RepoPath, Option<&[u8]>)| {
        let (size, most) = (text?.len() as u64, state.policy.max_file_bytes);
        (size > most).then(|| too_large(path, size, most))
    };
    found.extend(stage.files().filter_map(too_large));
    found.extend(file_and_directory(&stage));
    Refusal::check(found)?;
    let mut files: Vec<FilePlan> = stage
        .into_files()
        .filter_map(|(path, file)| file_plan(&state, &steps, path, file))
        .collect();
    Refusal::check(files.iter().filter_map(|file| becomes_visible(&state, file)).collect())?;
    Refusal::check(attributes_too(&files).into_iter().collect())?;
    let converted = files.iter_mut().filter_map(|file| convert(workspace, &state, file).err());
    Refusal::check(converted.flat_map(Refusal::into_vec).collect())?;
    // Git may record the same blob for another text: then nothing changes.
    files.retain(|file| !recorded_already(&state, file));
    Ok(Planned { request, state, files })
}

/// The files of a request as they are on disk.
fn files_on_disk(state: &TransactionState) -> EditedFiles<'_> {
    state.paths.values().fold(EditedFiles::default(), |files, path_state| {
        let file = path_state
            .disk
            .as_ref()
            .map(|disk| (disk.bytes.as_slice(), disk.file.mode == FileMode::Executable));
        files.with(path_state.path.clone(), file)
    })
}

/// How the edits of each path were placed.
type Steps = BTreeMap<RepoPath, EditOutcome>;

fn record_step(steps: &mut Steps, edit: &Edit, step: EditOutcome) {
    let earlier = steps.remove(&edit.path).unwrap_or_default();
    let path = if let Op::Rename { to } = &edit.op { to } else { &edit.path };
    steps.insert(path.clone(), earlier.merge(step));
}

/// The finding for a path that would be both a file and a directory.
fn file_and_directory(stage: &EditedFiles<'_>) -> Option<Finding> {
    let there: BTreeSet<&RepoPath> =
        stage.files().filter(|(_, text)| text.is_some()).map(|(path, _)| path).collect();
    let stays = |path: &[u8]| there.contains(&RepoPath::from_tree(path));
    there.iter().find_map(|path| {
        path.parents().find(|directory| stays(directory)).map(|_| messages::below_a_file(path))
    })
}

/// The finding for an ignored file that moves to a path that Git does not ignore.
fn becomes_visible(state: &TransactionState, file: &FilePlan) -> Option<Finding> {
    let (from, to) = (state.paths.get(file.from.as_ref()?)?, state.paths.get(&file.path)?);
    (from.ignored && !to.ignored).then(|| messages::becomes_visible(&from.path, &to.path))
}

/// The finding for a request that changes a `.gitattributes` and a file that it may convert: texts
/// are converted by the attributes of the worktree.
fn attributes_too(files: &[FilePlan]) -> Option<Finding> {
    let changed = |file: &&FilePlan| file.path.is_attributes();
    let above = |attributes: &FilePlan| {
        let (directory, _) = attributes.path.split();
        let below = |file: &&FilePlan| {
            directory.is_empty() || file.path.parents().any(|parent| parent == directory)
        };
        let others = files.iter().filter(|file| !file.path.is_attributes() && file.after.is_some());
        others
            .filter(below)
            .map(|file| messages::attributes_too(&attributes.path, &file.path))
            .next()
    };
    files.iter().filter(changed).find_map(above)
}

/// Converts the content of a planned file as Git would.
fn convert(
    workspace: &LockedWorkspace,
    state: &TransactionState,
    file: &mut FilePlan,
) -> Result<()> {
    let Some(path_state) = state.paths.get(&file.path).filter(|path_state| path_state.convertible)
    else {
        return Ok(());
    };
    if let Some(after) = &mut file.after {
        let text = std::mem::take(&mut after.bytes);
        // Where Git checks out pointers, it would check out one for any text. Guards see the text.
        let is_pointer =
            path_state.disk.as_ref().is_some_and(|disk| store_of(&disk.bytes).is_some());
        let sent = (is_pointer && store_of(&text).is_none()).then(|| text.clone());
        let forms = path_state.of_text(&workspace.repo, state.tip_tree, text)?;
        *after = Content::of(forms, after.mode);
        if let Some(sent) = sent.filter(|sent| *sent != after.bytes) {
            let (disk, blob) = (after.disk().to_vec(), after.blob().to_vec());
            (after.bytes, after.stored) = (sent, Some(StoredForms { disk, blob }));
        }
    }
    Ok(())
}

fn recorded_already(state: &TransactionState, file: &FilePlan) -> bool {
    let disk = state
        .paths
        .get(&file.path)
        .filter(|path_state| path_state.convertible)
        .and_then(|path_state| path_state.disk.as_ref());
    let (Some(disk), Some(after)) = (disk, &file.after) else { return false };
    disk.bytes == after.bytes && disk.blob() == after.blob() && disk.file.mode == after.mode
}

fn file_plan(
    state: &TransactionState,
    steps: &Steps,
    path: RepoPath,
    file: Option<EditedFile<'_>>,
) -> Option<FilePlan> {
    let disk = state.paths.get(&path).and_then(|path_state| path_state.disk.as_ref());
    let content = |file: EditedFile<'_>| Content {
        bytes: file.text.into_owned(),
        stored: None,
        mode: FileMode::of(file.executable),
    };
    let (from, after) = file.map_or((None, None), |file| (file.from.clone(), Some(content(file))));
    let same = match (disk, &after) {
        (None, None) => true,
        (Some(disk), Some(after)) => disk.bytes == after.bytes && disk.file.mode == after.mode,
        _ => false,
    };
    if same {
        return None;
    }
    let from = from.filter(|from| *from != path);
    let change = match (disk, &after, &from) {
        (_, None, _) => FileChangeKind::Deleted,
        (None, Some(_), Some(_)) => FileChangeKind::Renamed,
        (None, Some(_), None) => FileChangeKind::Added,
        (Some(_), Some(_), _) => FileChangeKind::Modified,
    };
    let step = steps.get(&path).cloned().unwrap_or_default();
    Some(FilePlan { path, from, change, after, step })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::worktree::options::Options;
    use crate::tests::{Scratch, path, refusal};
    use edt_types::{Code, DryRun, Status};

    fn scratch() -> Scratch {
        Scratch::with(&[("a.txt", "one\n"), ("b.txt", "b\n")])
    }

    fn changes(scratch: &Scratch, request: &Request) -> Vec<(String, FileChangeKind)> {
        let files = scratch.apply(request).unwrap().files;
        files.into_iter().map(|file| (file.path, file.change)).collect()
    }

    #[test]
    fn a_file_below_a_new_file_is_refused() {
        let request = Request::new("x").create("d", "x\n").create("d/e", "x\n");
        assert_eq!(refusal(scratch().apply(&request)), messages::below_a_file(&path("d/e")));
    }

    #[test]
    fn attributes_and_a_file_that_they_convert_are_sent_apart() {
        let request = Request::new("x").create(".gitattributes", "* text\n").append("a.txt", "x\n");
        let finding = Finding::new(
            Code::UnsupportedRepository,
            "The request changes .gitattributes and a.txt, which Git may convert by \
             .gitattributes.",
            "Send .gitattributes first, in a separate request; then the others.",
        );
        let finding = finding.nothing_changed().at(&path("a.txt"));
        assert_eq!(refusal(scratch().apply(&request)), finding);
    }

    #[test]
    fn attributes_of_another_directory_do_not_convert_a_file() {
        let request =
            Request::new("x").create("d/.gitattributes", "* text\n").append("a.txt", "x\n");
        scratch().apply(&request).unwrap();
    }

    #[test]
    fn a_new_text_above_the_limit_is_refused() {
        let user_policy = Some("[limits]\nmax_file_bytes = 4\n".to_owned());
        let scratch = scratch();
        let mut workspace = scratch.open_with(Options { user_policy, ..Options::default() });
        let request = Request::new("x").append("a.txt", "x");
        let answer = crate::txn::transact(&mut workspace, &request, DryRun::No);
        assert_eq!(refusal(answer), too_large(&path("a.txt"), 6, 4));
    }

    #[test]
    fn an_ignored_file_does_not_move_to_a_path_that_is_not_ignored() {
        let scratch = scratch();
        scratch.write(".git/info/exclude", ".env\n*.log\n");
        scratch.write(".env", "KEY=1\n");
        let finding = messages::becomes_visible(&path(".env"), &path("c.txt"));
        let to = |name: &str| Request::new("x").rename(".env", name);
        assert_eq!(refusal(scratch.apply(&to("c.txt"))), finding);
        let by_way = to("c.log").rename("c.log", "c.txt").append("c.txt", "KEY=2\n");
        assert_eq!(refusal(scratch.apply(&by_way)), finding);
        let over = to("c.log").delete("a.txt").rename("c.log", "a.txt");
        assert_eq!(refusal(scratch.apply(&over)).code, Code::ProtectedPath);
        assert_eq!(scratch.text(".env").as_deref(), Some("KEY=1\n"));
        scratch.apply(&to("c.log")).unwrap();
        assert_eq!(scratch.text("c.log").as_deref(), Some("KEY=1\n"));
    }

    #[test]
    fn a_moved_and_changed_file_is_renamed() {
        let request = Request::new("x").rename("a.txt", "c.txt").edit("c.txt", "one", "two");
        assert_eq!(changes(&scratch(), &request), [("c.txt".into(), FileChangeKind::Renamed)]);
    }

    #[test]
    fn a_file_that_replaces_a_moved_one_is_modified() {
        let request = Request::new("x").rename("a.txt", "c.txt").create("a.txt", "other\n");
        assert_eq!(
            changes(&scratch(), &request),
            [("a.txt".into(), FileChangeKind::Modified), ("c.txt".into(), FileChangeKind::Renamed)]
        );
    }

    #[test]
    fn a_file_that_moves_there_and_back_is_unchanged() {
        let scratch = scratch();
        let request = Request::new("x").rename("a.txt", "c.txt").rename("c.txt", "a.txt");
        assert_eq!(scratch.apply(&request).unwrap().status, Status::Unchanged);
        assert_eq!(scratch.head_target(), "refs/heads/main");
    }

    #[test]
    fn a_created_and_deleted_file_is_no_change() {
        let request = Request::new("x").create("c.txt", "c\n").delete("c.txt");
        assert_eq!(scratch().apply(&request).unwrap().status, Status::Unchanged);
    }

    #[test]
    fn edits_that_reverse_each_other_leave_a_file_out() {
        let request = Request::new("x")
            .edit("a.txt", "one", "two")
            .edit("a.txt", "two", "one")
            .append("b.txt", "c\n");
        assert_eq!(changes(&scratch(), &request), [("b.txt".into(), FileChangeKind::Modified)]);
    }

    #[test]
    fn every_edit_that_does_not_fit_is_reported_with_its_number() {
        let request = Request::new("x")
            .edit("a.txt", "0123456789", "x")
            .append("b.txt", "x\n")
            .create("a.txt", "x\n");
        let found = scratch().apply(&request).unwrap_err().into_vec();
        let found: Vec<_> =
            found.iter().map(|finding| (finding.code, &finding.evidence["edit"])).collect();
        let (one, three) = (1.into(), 3.into());
        assert_eq!(found, [(Code::FileExists, &three), (Code::OldTextNotFound, &one)]);
    }
}
