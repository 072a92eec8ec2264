//! Second stage: every new text, computed in memory.

use std::collections::{BTreeMap, BTreeSet};

use super::offer::offer;
use super::request::Request;
use super::resolve::{Resolved, Scene};
use super::words;
use crate::base::{Change, Finding, Findings, RepoPath, Result};
use crate::edit::stage::{Stage, Staged, Step};
use crate::edit::{Edit, Op};
use crate::git::convert::Stored;
use crate::git::{FileMode, Forms};
use crate::session::World;
use crate::session::look::too_large;

/// A request whose outcome is known.
#[derive(Debug)]
pub struct Planned<'q> {
    pub(super) request: &'q Request,
    pub(super) scene: Scene,
    /// The files that change, in order of their paths.
    pub(super) files: Vec<FilePlan>,
}

/// One file that changes.
#[derive(Debug)]
pub struct FilePlan {
    /// Its path.
    pub path: RepoPath,
    /// The path it was renamed from.
    pub from: Option<RepoPath>,
    /// What happens to it.
    pub change: Change,
    /// What is to stand there; `None` if it goes.
    pub after: Option<Content>,
    /// What is to be told of how its edits were placed.
    pub step: Step,
}

/// A file's content and mode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// Its text.
    pub bytes: Vec<u8>,
    /// Its bytes on disk and in Git, if Git converts them.
    pub stored: Option<Stored>,
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

    /// How many bytes stand on disk.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.stored.as_ref().map_or(&self.bytes, |stored| &stored.disk).len() as u64
    }
}

/// Computes every new text.
///
/// # Errors
/// The findings of every edit that does not fit; `UNSUPPORTED_REPOSITORY` if Git would not give a new text back, and what a filter
/// may answer.
pub fn plan<'q>(world: &World, resolved: Resolved<'q>) -> Result<Planned<'q>> {
    let Resolved { request, scene } = resolved;
    let mut stage = Stage::default();
    for look in scene.looks.values() {
        let file = look
            .disk
            .as_ref()
            .map(|disk| (disk.bytes.as_slice(), disk.file.mode == FileMode::Executable));
        stage = stage.with(look.path.clone(), file);
    }
    let (mut found, mut notes) = (Vec::new(), Notes::new());
    for (i, edit) in request.edits.iter().enumerate() {
        match stage.apply(edit) {
            Ok(step) => note(&mut notes, edit, step),
            Err(refusal) => {
                let look = scene.looks.get(stage.origin(&edit.path));
                let hash =
                    look.and_then(|look| look.disk.as_ref()).map(|disk| disk.file.oid.to_string());
                let findings = words::refused(&stage, edit, refusal, hash.as_deref());
                let numbered = |finding: Finding| {
                    if request.patch.is_some() { finding } else { finding.with("edit", i + 1) }
                };
                found.extend(findings.into_iter().map(numbered));
            }
        }
    }
    if request.patch.is_some() {
        offer(&stage, &request.edits, &mut found);
    }
    let too_large = |(path, text): (&RepoPath, Option<&[u8]>)| {
        let (size, most) = (text?.len() as u64, scene.policy.max_file_bytes);
        (size > most).then(|| too_large(path, size, most))
    };
    found.extend(stage.files().filter_map(too_large));
    found.extend(folder_and_file(&stage));
    Findings::check(found)?;
    let mut files: Vec<FilePlan> = stage
        .into_files()
        .filter_map(|(path, file)| file_plan(&scene, &notes, path, file))
        .collect();
    Findings::check(attributes_too(&files).into_iter().collect())?;
    let converted = files.iter_mut().filter_map(|file| convert(world, &scene, file).err());
    Findings::check(converted.flat_map(Findings::into_vec).collect())?;
    // Git may record the same of another text: then nothing changes.
    files.retain(|file| !recorded_already(&scene, file));
    Ok(Planned { request, scene, files })
}

/// What is to be told of the edits of each path.
type Notes = BTreeMap<RepoPath, Step>;

fn note(notes: &mut Notes, edit: &Edit, step: Step) {
    let noted = notes.remove(&edit.path).unwrap_or_default();
    let path = if let Op::Rename { to } = &edit.op { to } else { &edit.path };
    notes.insert(path.clone(), noted.and(step));
}

/// A path that would be a file and a folder at once.
fn folder_and_file(stage: &Stage<'_>) -> Option<Finding> {
    let there: BTreeSet<&RepoPath> =
        stage.files().filter(|(_, text)| text.is_some()).map(|(path, _)| path).collect();
    let stays = |path: &[u8]| there.contains(&RepoPath::from_tree(path));
    there.iter().find_map(|path| {
        path.parents().find(|folder| stays(folder)).map(|_| words::below_a_file(path))
    })
}

/// A text is converted by the attributes that stand in the worktree; a request must not change them and the text at once.
fn attributes_too(files: &[FilePlan]) -> Option<Finding> {
    let changed = |file: &&FilePlan| file.path.is_attributes();
    let above = |attributes: &FilePlan| {
        let (folder, _) = attributes.path.split();
        let below = |file: &&FilePlan| {
            folder.is_empty() || file.path.parents().any(|parent| parent == folder)
        };
        let others = files.iter().filter(|file| !file.path.is_attributes() && file.after.is_some());
        others.filter(below).map(|file| words::attributes_too(&attributes.path, &file.path)).next()
    };
    files.iter().filter(changed).find_map(above)
}

/// Gives a planned file the forms that Git will give it.
fn convert(world: &World, scene: &Scene, file: &mut FilePlan) -> Result<()> {
    let Some(look) = scene.looks.get(&file.path).filter(|look| look.convertible) else {
        return Ok(());
    };
    if let Some(after) = &mut file.after {
        let forms = look.of_text(&world.repo, scene.tip_tree, std::mem::take(&mut after.bytes))?;
        *after = Content::of(forms, after.mode);
    }
    Ok(())
}

fn recorded_already(scene: &Scene, file: &FilePlan) -> bool {
    let disk = scene
        .looks
        .get(&file.path)
        .filter(|look| look.convertible)
        .and_then(|look| look.disk.as_ref());
    let (Some(disk), Some(after)) = (disk, &file.after) else { return false };
    disk.bytes == after.bytes && disk.blob() == after.blob() && disk.file.mode == after.mode
}

fn file_plan(
    scene: &Scene,
    notes: &Notes,
    path: RepoPath,
    file: Option<Staged<'_>>,
) -> Option<FilePlan> {
    let disk = scene.looks.get(&path).and_then(|look| look.disk.as_ref());
    let content = |file: Staged<'_>| Content {
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
        (_, None, _) => Change::Deleted,
        (None, Some(_), Some(_)) => Change::Renamed,
        (None, Some(_), None) => Change::Added,
        (Some(_), Some(_), _) => Change::Modified,
    };
    let step = notes.get(&path).cloned().unwrap_or_default();
    Some(FilePlan { path, from, change, after, step })
}
