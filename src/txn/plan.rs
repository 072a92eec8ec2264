//! Second stage: every new text, computed in memory.

use std::collections::BTreeMap;

use super::request::Request;
use super::resolve::{Resolved, Scene};
use super::words;
use crate::base::{Change, Finding, Findings, RepoPath, Result};
use crate::edit::locate::{self, Located};
use crate::edit::{Edit, Op, splice};
use crate::git::convert::Stored;
use crate::git::{FileMode, Forms};
use crate::io::disk::MAX_FILE;
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

/// A file between two edits of a transaction.
#[derive(Debug, Clone)]
struct Draft {
    content: Content,
    from: Option<RepoPath>,
}

type Drafts = BTreeMap<RepoPath, Option<Draft>>;

/// Computes every new text.
///
/// # Errors
/// The findings of every edit that does not fit; `UNSUPPORTED_REPOSITORY` if Git would not give a new text back, and what a filter
/// may answer.
pub fn plan<'q>(world: &World, resolved: Resolved<'q>) -> Result<Planned<'q>> {
    let Resolved { request, scene } = resolved;
    let mut drafts: Drafts = scene.looks.values().map(|look| (look.path.clone(), start(look))).collect();
    let mut found = Vec::new();
    for (i, edit) in request.edits.iter().enumerate() {
        if let Err(finding) = step(&mut drafts, edit) {
            found.push(finding.with("edit", i + 1));
        }
    }
    let too_large = |(path, draft): (&RepoPath, &Option<Draft>)| {
        let size = draft.as_ref()?.content.bytes.len() as u64;
        (size > MAX_FILE).then(|| too_large(path, size))
    };
    found.extend(drafts.iter().filter_map(too_large));
    found.extend(folder_and_file(&drafts));
    Findings::check(found)?;
    let mut files: Vec<FilePlan> =
        drafts.into_iter().filter_map(|(path, draft)| file_plan(&scene, path, draft)).collect();
    Findings::check(attributes_too(&files).into_iter().collect())?;
    let converted = files.iter_mut().filter_map(|file| convert(world, &scene, file).err());
    Findings::check(converted.flat_map(Findings::into_vec).collect())?;
    // Git may record the same of another text: then nothing changes.
    files.retain(|file| !recorded_already(&scene, file));
    Ok(Planned { request, scene, files })
}

fn start(look: &crate::session::Look) -> Option<Draft> {
    let disk = look.disk.as_ref()?;
    let content = Content { bytes: disk.bytes.clone(), stored: None, mode: disk.file.mode };
    Some(Draft { content, from: None })
}

/// Applies one edit to the result of those before it.
fn step(drafts: &mut Drafts, edit: &Edit) -> std::result::Result<(), Box<Finding>> {
    let path = &edit.path;
    let draft = drafts.get_mut(path).ok_or_else(|| words::lost(path))?;
    match (&edit.op, draft) {
        (Op::Create { .. }, Some(_)) => return Err(words::exists(path).into()),
        (Op::Create { content, executable }, draft @ None) => {
            let content = Content { bytes: content.clone(), stored: None, mode: FileMode::of(*executable) };
            *draft = Some(Draft { content, from: None });
        }
        (_, None) => return Err(words::not_found(path).into()),
        (Op::Edit { old, new, places }, Some(draft)) => {
            let text = &draft.content.bytes;
            let at = match locate::locate(text, old, *places) {
                Located::At(at) => at,
                Located::Many(at) => return Err(words::ambiguous(path, text, &at).into()),
                Located::Nowhere => return Err(words::text_not_found(path, text, old, new).into()),
            };
            draft.content.bytes = splice::apply(text, &locate::replace(text, &at, new));
        }
        (Op::Append { content }, Some(draft)) => {
            let text = &draft.content.bytes;
            draft.content.bytes = splice::apply(text, &[splice::append(text, content)]);
        }
        (Op::Overwrite { content }, Some(draft)) => {
            let text = &draft.content.bytes;
            draft.content.bytes = splice::apply(text, &[splice::overwrite(text, content)]);
        }
        (Op::Delete, draft) => *draft = None,
        (Op::Rename { to }, draft) => {
            let mut moved = draft.take().ok_or_else(|| words::not_found(path))?;
            moved.from.get_or_insert_with(|| path.clone());
            let target = drafts.get_mut(to).ok_or_else(|| words::lost(to))?;
            if target.is_some() {
                drafts.insert(path.clone(), Some(moved));
                return Err(words::exists(to).into());
            }
            *target = Some(moved);
        }
    }
    Ok(())
}

/// A path that would be a file and a folder at once.
fn folder_and_file(drafts: &Drafts) -> Option<Finding> {
    let stays = |path: &[u8]| drafts.get(&RepoPath::from_tree(path)).is_some_and(Option::is_some);
    let mut new = drafts.iter().filter(|(_, draft)| draft.is_some());
    new.find_map(|(path, _)| path.parents().find(|folder| stays(folder)).map(|_| words::below_a_file(path)))
}

/// A text is converted by the attributes that stand in the worktree; a request must not change them and the text at once.
fn attributes_too(files: &[FilePlan]) -> Option<Finding> {
    let changed = |file: &&FilePlan| file.path.is_attributes();
    let above = |attributes: &FilePlan| {
        let (folder, _) = attributes.path.split();
        let below = |file: &&FilePlan| folder.is_empty() || file.path.parents().any(|parent| parent == folder);
        let others = files.iter().filter(|file| !file.path.is_attributes() && file.after.is_some());
        others.filter(below).map(|file| words::attributes_too(&attributes.path, &file.path)).next()
    };
    files.iter().filter(changed).find_map(above)
}

/// Gives a planned file the forms that Git will give it.
fn convert(world: &World, scene: &Scene, file: &mut FilePlan) -> Result<()> {
    let Some(look) = scene.looks.get(&file.path).filter(|look| look.convertible) else { return Ok(()) };
    if let Some(after) = &mut file.after {
        let forms = look.of_text(&world.repo, scene.tip_tree, std::mem::take(&mut after.bytes))?;
        *after = Content::of(forms, after.mode);
    }
    Ok(())
}

fn recorded_already(scene: &Scene, file: &FilePlan) -> bool {
    let disk = scene.looks.get(&file.path).filter(|look| look.convertible).and_then(|look| look.disk.as_ref());
    let (Some(disk), Some(after)) = (disk, &file.after) else { return false };
    disk.bytes == after.bytes && disk.blob() == after.blob() && disk.file.mode == after.mode
}

fn file_plan(scene: &Scene, path: RepoPath, draft: Option<Draft>) -> Option<FilePlan> {
    let disk = scene.looks.get(&path).and_then(|look| look.disk.as_ref());
    let (from, after) = draft.map_or((None, None), |draft| (draft.from, Some(draft.content)));
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
    Some(FilePlan { path, from, change, after })
}
