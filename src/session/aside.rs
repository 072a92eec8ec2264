//! Bytes of a person's that no session can hold, kept before a program runs that may destroy them: `refs/edt/<name>/aside/<n>`.
//!
//! Files that Git was told not to look at (`--assume-unchanged`, `--skip-worktree`) are on no branch because someone wants it so; links,
//! files that Git would not give back, and files where the session holds a folder cannot be edited. Their bytes are put into a commit
//! of their own, on no branch, that nothing lands.

use std::collections::BTreeSet;

use super::current::Session;
use super::list::{next_kept, numbered};
use super::look;
use super::message::{self, Kind, Trailers};
use super::world::World;
use crate::base::{RepoPath, Result, Warning};
use crate::git::{Commit, Draft, FileId, FileMode, InHead, TreeChange};
use crate::journal::{Branch, Change, From, publish};

/// Keeps what stands at `paths`, and what Git was told not to look at, unless the newest commit of that kind holds just that. What cannot be
/// read, or is larger than edt records, is not kept; a checkpoint's `left_out` names it.
///
/// # Errors
/// What publishing may answer; `IO_ERROR`.
pub fn keep(world: &mut World, session: &Session, paths: &[RepoPath]) -> Result<Vec<Warning>> {
    let repo = &world.repo;
    let mut all: Vec<RepoPath> = paths.to_vec();
    all.extend(repo.not_looked_at()?);
    all.sort();
    all.dedup();
    let mut draft = Draft::new(repo);
    let mut changes = Vec::new();
    for path in all {
        let Some((bytes, executable)) = look::raw(repo, &path) else { continue };
        let file = FileId { oid: draft.blob(&bytes)?, mode: FileMode::of(executable) };
        changes.push(TreeChange { path, file: Some(file) });
    }
    // A name that is a folder of another would hide it.
    let folders: BTreeSet<Vec<u8>> = changes
        .iter()
        .flat_map(|one| one.path.parents().map(<[u8]>::to_vec).collect::<Vec<_>>())
        .collect();
    changes.retain(|one| !folders.contains(one.path.as_bytes()));
    if changes.is_empty() {
        return Ok(Vec::new());
    }
    let (tree, _) = draft.tree(repo.empty_tree(), &changes)?;
    let newest = numbered(repo, &session.name, "aside")?.pop();
    if let Some((_, newest)) = newest
        && repo.tree_of(newest)? == tree
    {
        return Ok(Vec::new());
    }
    let text = format!("aside: {} files that the session cannot hold", changes.len());
    let message = message::compose(&text, &Trailers::plain(&session.name, Kind::Checkpoint, 0));
    let parent = newest.map(|(_, newest)| newest);
    let commit = draft.commit(&Commit { tree, parent, message: &message })?;
    let name = next_kept(repo, &session.name, "aside")?;
    let told = format!(
        "{} paths cannot be part of the session; their bytes are kept at {name} before the program runs.",
        changes.len()
    );
    let branch = Branch {
        name,
        from: From::Nothing(commit),
        new: commit,
        log: text,
        head: InHead::No,
        head_from: None,
        point: None,
    };
    let change = Change { objects: draft.loose(), ..Change::of(branch) };
    let mut warnings = publish(&world.repo, &mut world.journal, change)?;
    warnings.push(Warning { code: "kept_aside", path: None, message: told });
    Ok(warnings)
}
