//! Three trees made one, and which commits lie between two. The result is drafted; nothing is on disk yet.

use std::collections::HashSet;

use gix::merge::tree::{Conflict, Resolution, TreatAsUnresolved};
use gix::prelude::Write as _;

use super::repo::Repo;
use super::{Draft, Oid, causes};
use crate::base::{Code, Finding, RepoPath, Result};

/// What a three-way merge came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merged {
    /// This tree.
    Clean(Oid),
    /// Both sides changed these paths, in ways that do not go together; in order.
    Conflicts(Vec<RepoPath>),
}

impl Draft<'_> {
    /// Merges the trees `ours` and `theirs`, which both come from `ancestor`. Renames are followed as Git does; programs that the
    /// configuration names for merging are not run, so their files conflict where both sides changed them.
    ///
    /// # Errors
    /// `OBJECT_MISSING` if a tree or blob on the way cannot be read.
    pub fn merge(&mut self, ancestor: Oid, ours: Oid, theirs: Oid) -> Result<Merged> {
        if ours == theirs || ancestor == theirs {
            return Ok(Merged::Clean(ours));
        }
        if ancestor == ours {
            return Ok(Merged::Clean(theirs));
        }
        let fail = |error: gix::Error| {
            let why = causes(&error);
            Finding::new(
                Code::ObjectMissing,
                format!("Could not merge: {why}. Nothing was changed."),
                "`git fsck` tells what is missing or damaged.",
            )
        };
        let mut repo = self.repo().without_merge_drivers().with_object_memory();
        for (_, kind, data) in self.made() {
            repo.objects.write_buf(kind, data).map_err(fail)?;
        }
        let options = repo.tree_merge_options().map_err(fail)?;
        let labels = gix::merge::blob::builtin_driver::text::Labels::default();
        let mut merged = repo.merge_trees(ancestor, ours, theirs, labels, options).map_err(fail)?;
        let unresolved = merged.conflicts.iter().filter(|conflict| is_unresolved(conflict));
        let mut paths: Vec<RepoPath> = unresolved.flat_map(paths_of).collect();
        if !paths.is_empty() {
            paths.sort();
            paths.dedup();
            return Ok(Merged::Conflicts(paths));
        }
        let tree = merged.tree.write().map_err(fail)?.detach();
        drop(merged);
        let made = repo.objects.take_object_memory();
        for (oid, (kind, data)) in made.iter().flat_map(|made| made.iter()) {
            self.adopt(*oid, *kind, data.clone());
        }
        Ok(Merged::Clean(tree))
    }
}

/// Whether Git would leave it to a person: also a file that one side put into a folder which the other renamed
/// (`merge.directoryRenames` is "conflict" by default).
fn is_unresolved(conflict: &Conflict) -> bool {
    conflict.is_unresolved(TreatAsUnresolved::git())
        || matches!(conflict.resolution, Ok(Resolution::SourceLocationAffectedByRename { .. }))
}

fn paths_of(conflict: &Conflict) -> [RepoPath; 2] {
    let (ours, theirs) = conflict.changes_in_resolution();
    [ours.location(), theirs.location()].map(|location| RepoPath::from_tree(location))
}

impl Repo {
    /// The best common ancestor of two commits; `None` if they have none.
    ///
    /// # Errors
    /// `OBJECT_MISSING` if the history cannot be walked.
    pub fn merge_base(&self, one: Oid, two: Oid) -> Result<Option<Oid>> {
        match self.inner.merge_bases_many(one, &[two]) {
            Ok(found) => Ok(found.first().map(|id| id.detach())),
            Err(error) => Err(super::read::missing(one, &causes(&error)).into()),
        }
    }

    /// Every best common ancestor of two commits.
    ///
    /// # Errors
    /// `OBJECT_MISSING` if the history cannot be walked.
    pub fn merge_bases(&self, one: Oid, two: Oid) -> Result<Vec<Oid>> {
        match self.inner.merge_bases_many(one, &[two]) {
            Ok(found) => Ok(found.iter().map(|id| id.detach()).collect()),
            Err(error) => Err(super::read::missing(one, &causes(&error)).into()),
        }
    }

    /// The commits of `tip` that are not in the history of `without`.
    ///
    /// # Errors
    /// `OBJECT_MISSING` if the history cannot be walked.
    pub fn commits_without(&self, tip: Oid, without: &[Oid]) -> Result<HashSet<Oid>> {
        let fail = |error: gix::Error| super::read::missing(tip, &causes(&error));
        let walk =
            self.inner.rev_walk([tip]).with_hidden(without.iter().copied()).all().map_err(fail)?;
        let mut found = HashSet::new();
        for step in walk {
            found.insert(step.map_err(fail)?.id);
        }
        Ok(found)
    }

    /// The same repository, in which `merge.<name>.driver` names no program: a repository may not say what landing runs.
    fn without_merge_drivers(&self) -> gix::Repository {
        let mut repo = self.inner.clone();
        let drivers: Vec<_> = repo
            .config_snapshot()
            .plumbing()
            .sections_and_ids_by_name("merge")
            .into_iter()
            .flatten()
            .filter(|(section, _)| section.header().subsection_name().is_some())
            .map(|(_, id)| id)
            .collect();
        let mut config = repo.config_snapshot_mut();
        for id in drivers {
            config.remove_section_by_id(id);
        }
        // Only reads back what it was made from.
        let _ = config.commit();
        repo
    }
}
