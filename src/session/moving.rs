//! What follows when a branch moves or HEAD goes elsewhere: files, index entries, folders. Only paths that differ are looked at.

use super::current::Session;
use super::look::Look;
use crate::base::{Code, Finding, Findings, RepoPath, Result};
use crate::git::diff::{Differs, Item};
use crate::git::{Attributes, Draft, FileId, Folders, InHead, Oid, Repo, Tracked, TreeChange};
use crate::journal::index::{Disk, EntryMove};
use crate::journal::{FileChange, IndexView, NewFile};

/// One path and what is to become of it.
#[derive(Debug)]
pub struct Step {
    /// As it was found.
    pub look: Look,
    /// What is to stand on disk.
    pub disk: Option<FileId>,
    /// What is to stand in the index.
    pub entry: Option<FileId>,
}

/// Everything that follows.
#[derive(Debug, Default)]
pub struct Steps {
    /// The files whose bytes change.
    pub files: Vec<FileChange>,
    /// The index entries.
    pub moves: Vec<EntryMove>,
    /// Trees of the touched folders before and after.
    pub folders: Folders,
}

/// Looks at every path that differs, as `tree` and `index` hold it.
///
/// # Errors
/// Every path that edt cannot change: links and submodules (`NOT_A_FILE`), and what [`Look::at`] answers.
pub fn look_at(
    repo: &Repo,
    tree: Oid,
    index: Option<&IndexView>,
    paths: &[Differs],
) -> Result<Vec<Look>> {
    let (mut looks, mut found) = (Vec::new(), Vec::new());
    for differs in paths {
        if !differs.is_of_files() {
            found.push(not_ours(&differs.path));
            continue;
        }
        match Look::at(repo, tree, index, &differs.path) {
            Ok(look) => looks.push(look),
            Err(error) => found.extend(error.into_vec()),
        }
    }
    Findings::check(found)?;
    Ok(looks)
}

/// One step for each path: disk and index both get what the second tree holds.
#[must_use]
pub fn to_second(looks: Vec<Look>, paths: &[Differs]) -> Vec<Step> {
    let wanted = paths.iter().map(|differs| differs.new.and_then(Item::file));
    looks
        .into_iter()
        .zip(wanted)
        .map(|(look, file)| Step { look, disk: file, entry: file })
        .collect()
}

impl Steps {
    /// What makes `steps` true; `tree` is the one that the index comes from, if it follows. Files are written as Git checks them
    /// out under the attributes `from`.
    ///
    /// # Errors
    /// `OBJECT_MISSING`; what a filter may answer.
    pub fn of(
        draft: &mut Draft<'_>,
        tree: Option<Oid>,
        from: Attributes,
        steps: &[Step],
    ) -> Result<Steps> {
        let mut all = Steps::default();
        let mut changes = Vec::new();
        for Step { look, disk, entry } in steps {
            changes.push(TreeChange { path: look.path.clone(), file: *entry });
            let on_disk = match &look.disk {
                _ if disk != entry => Disk::Other,
                Some(found) if Some(found.file) == *disk => Disk::Stands(found.stat),
                _ => Disk::Written,
            };
            all.moves.push(EntryMove {
                path: look.path.clone(),
                file: *entry,
                seen: look.staged,
                disk: on_disk,
            });
            if look.disk_file() != *disk {
                let new = disk.map(|file| written(draft, look, from, file)).transpose()?;
                let old = look.disk.as_ref().map(super::OnDisk::old);
                all.files.push(FileChange { path: look.path.clone(), old, new });
            }
        }
        if let Some(tree) = tree {
            all.folders = draft.folders(tree, &changes)?;
        }
        Ok(all)
    }
}

/// The attributes for a move from the tree `from` to the tree `to`: those that come or go with it hold for the files that move, too.
#[must_use]
pub fn attributes(paths: &[Differs], from: Oid, to: Oid) -> Attributes {
    let change = paths.iter().any(|differs| differs.path.is_attributes());
    if change { Attributes::Tree(to) } else { Attributes::Worktree(from) }
}

fn written(draft: &mut Draft<'_>, look: &Look, from: Attributes, file: FileId) -> Result<NewFile> {
    let blob = draft.content(file.oid)?;
    let forms = look.checked_out(draft.repo(), from, blob)?;
    NewFile::of(draft, file, forms)
}

/// Refuses to write over files of a branch that HEAD went to meanwhile, while the session is kept beside it: those that stand there as
/// HEAD has them, and are neither the session's nor what it began from.
///
/// # Errors
/// `SESSION_MOVED` naming each; `OBJECT_MISSING`.
pub fn check_beside(
    repo: &Repo,
    session: &Session,
    looks: &[Look],
    paths: &[Differs],
) -> Result<()> {
    let Some(head) = repo.head()?.commit.filter(|_| session.head == InHead::No) else {
        return Ok(());
    };
    let (head, base) = (repo.tree_of(head)?, repo.tree_of(session.base)?);
    let mut found = Vec::new();
    for (look, differs) in looks.iter().zip(paths) {
        let file_of = |tree| {
            Ok::<_, Findings>(match repo.tracked(tree, &look.path)? {
                Tracked::File(file) => Some(file),
                _ => None,
            })
        };
        let (here, began) = (file_of(head)?, file_of(base)?);
        let known = [began, look.tip, differs.new.and_then(Item::file)];
        if look.disk_file() == here && !known.contains(&here) {
            found.push(of_another_branch(&look.path, session));
        }
    }
    Findings::check(found)
}

fn of_another_branch(path: &RepoPath, session: &Session) -> Finding {
    Finding::new(
        Code::SessionMoved,
        format!("{path} stands as HEAD's branch has it, which is neither what edt/{} holds nor what it began from. Nothing was changed.", session.name),
        format!("`git switch` back to the branch that the session began on, or take this into the session (`edt checkpoint {}`); then repeat the call.", path.for_shell()),
    )
    .at(path)
}

/// The finding that a path holds what nothing else does.
#[must_use]
pub fn unsaved(path: &RepoPath) -> Finding {
    Finding::new(
        Code::UnsavedChanges,
        format!("{path} holds changes that are recorded nowhere, and must be written. Nothing was changed."),
        "Record them with `edt checkpoint` on the session, or a person commits or stashes them; then repeat the call.",
    )
    .at(path)
}

fn not_ours(path: &RepoPath) -> Finding {
    Finding::new(
        Code::NotAFile,
        format!(
            "{path} is a link or a submodule between here and there, which edt does not change."
        ),
        "A person may move the branch with `git reset --keep`, or switch with `git switch`.",
    )
    .at(path)
}
