//! Three-way merges of trees, and queries on the history. The merged tree is in an
//! [`ObjectWriter`]; nothing is on disk yet.

use std::collections::HashSet;

use gix::merge::tree::{Conflict, Resolution, TreatAsUnresolved};
use gix::prelude::Write as _;

use super::repo::Repo;
use super::{ObjectWriter, Oid, causes};
use edt_types::{Code, Finding, RepoPath, Result};

/// The result of a three-way merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merged {
    /// The merged tree.
    Clean(Oid),
    /// The paths with conflicting changes, in order.
    Conflicts(Vec<RepoPath>),
}

impl ObjectWriter<'_> {
    /// Merges the trees `ours` and `theirs`, which both derive from `ancestor`. Renames are
    /// detected as in Git. Merge drivers of the configuration do not run, so their files conflict
    /// if both sides changed them.
    ///
    /// # Errors
    /// `OBJECT_MISSING` if a tree or blob cannot be read.
    pub fn merge_trees(&mut self, ancestor: Oid, ours: Oid, theirs: Oid) -> Result<Merged> {
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
                format!("Could not merge: {why}."),
                "Run `git fsck`: it reports what is missing or damaged.",
            )
            .nothing_changed()
        };
        let mut repo = self.repo().without_merge_drivers().with_object_memory();
        for (_, kind, data) in self.objects() {
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
            self.insert(*oid, *kind, data.clone());
        }
        Ok(Merged::Clean(tree))
    }
}

/// Whether Git would leave the conflict to the user. This includes a file that one side added to a
/// directory which the other side renamed (`merge.directoryRenames` is "conflict" by default).
fn is_unresolved(conflict: &Conflict) -> bool {
    conflict.is_unresolved(TreatAsUnresolved::git())
        || matches!(conflict.resolution, Ok(Resolution::SourceLocationAffectedByRename { .. }))
}

fn paths_of(conflict: &Conflict) -> [RepoPath; 2] {
    let (ours, theirs) = conflict.changes_in_resolution();
    [ours.location(), theirs.location()].map(|location| RepoPath::from_tree(location))
}

impl Repo {
    /// The best common ancestor of two commits; `None` if there is none.
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

    /// The commits in the history of `tip` that are not in the history of `without`.
    ///
    /// # Errors
    /// `OBJECT_MISSING` if the history cannot be walked.
    pub fn commits_not_in(&self, tip: Oid, without: &[Oid]) -> Result<HashSet<Oid>> {
        let fail = |error: gix::Error| super::read::missing(tip, &causes(&error));
        let walk =
            self.inner.rev_walk([tip]).with_hidden(without.iter().copied()).all().map_err(fail)?;
        let mut found = HashSet::new();
        for step in walk {
            found.insert(step.map_err(fail)?.id);
        }
        Ok(found)
    }

    /// A copy of the repository without `merge.<name>.driver`: a repository must not decide which
    /// programs landing runs.
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
        // This only parses again what was parsed before.
        let _ = config.commit();
        repo
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FileId, FileMode, NewCommit, TreeChange, objects};
    use edt_testkit::ScratchRepo;

    fn opened() -> (ScratchRepo, Repo) {
        let scratch = ScratchRepo::unborn();
        let repo = Repo::open(scratch.path()).unwrap();
        (scratch, repo)
    }

    fn tree(writer: &mut ObjectWriter<'_>, files: &[(&str, &str)]) -> Oid {
        let changes: Vec<TreeChange> = files
            .iter()
            .map(|(path, text)| {
                let oid = writer.write_blob(text.as_bytes()).unwrap();
                let file = Some(FileId { oid, mode: FileMode::Plain });
                TreeChange { path: RepoPath::from_tree(path.as_bytes()), file }
            })
            .collect();
        writer.write_tree(writer.repo().empty_tree(), &changes).unwrap().0
    }

    /// The merge of three lists of files: the tree that is expected, or the conflicting paths.
    fn merged(
        ancestor: &[(&str, &str)],
        ours: &[(&str, &str)],
        theirs: &[(&str, &str)],
        expected: &[(&str, &str)],
    ) -> (Merged, Oid) {
        let (_scratch, repo) = opened();
        let mut writer = ObjectWriter::new(&repo);
        let [ancestor, ours, theirs, expected] =
            [ancestor, ours, theirs, expected].map(|files| tree(&mut writer, files));
        (writer.merge_trees(ancestor, ours, theirs).unwrap(), expected)
    }

    #[test]
    fn changes_of_different_lines_are_merged() {
        let text = |a: &str, b: &str| format!("{a}\n2\n3\n4\n5\n6\n{b}\n");
        let (base, ours, theirs, both) =
            (text("1", "7"), text("one", "7"), text("1", "seven"), text("one", "seven"));
        let (merge, expected) =
            merged(&[("a", &base)], &[("a", &ours)], &[("a", &theirs)], &[("a", &both)]);
        assert_eq!(merge, Merged::Clean(expected));
    }

    #[test]
    fn the_side_that_alone_changed_wins() {
        let (merge, expected) = merged(&[("a", "1")], &[("a", "1")], &[("a", "2")], &[("a", "2")]);
        assert_eq!(merge, Merged::Clean(expected));
        let (merge, expected) = merged(&[("a", "1")], &[("a", "2")], &[("a", "1")], &[("a", "2")]);
        assert_eq!(merge, Merged::Clean(expected));
    }

    #[test]
    fn every_path_with_a_conflict_is_named_once() {
        let (merge, _) = merged(
            &[("a", "1\n"), ("b", "1\n"), ("c", "1\n")],
            &[("a", "2\n"), ("b", "2\n"), ("c", "2\n")],
            &[("a", "3\n"), ("b", "3\n"), ("c", "2\n")],
            &[],
        );
        let paths = ["a", "b"].map(|path| RepoPath::from_tree(path.as_bytes()));
        assert_eq!(merge, Merged::Conflicts(paths.to_vec()));
    }

    #[test]
    fn a_file_that_both_sides_added_differently_conflicts() {
        let (merge, _) = merged(&[], &[("a", "2\n"), ("x", "x")], &[("a", "3\n"), ("y", "y")], &[]);
        assert_eq!(merge, Merged::Conflicts(vec![RepoPath::from_tree(b"a")]));
    }

    #[test]
    fn a_change_follows_a_renamed_file() {
        let text = "1\n2\n3\n4\n5\n6\n7\n8\n";
        let changed = text.replace('4', "four");
        let (merge, expected) =
            merged(&[("a", text)], &[("b", text)], &[("a", &changed)], &[("b", &changed)]);
        assert_eq!(merge, Merged::Clean(expected));
    }

    #[test]
    fn a_repository_does_not_choose_a_program_for_merging() {
        let scratch = ScratchRepo::unborn();
        let config = scratch.path().join(".git/config");
        let text = std::fs::read_to_string(&config).unwrap();
        std::fs::write(&config, text + "[merge \"evil\"]\n\tdriver = touch ran\n").unwrap();
        let repo = Repo::open(scratch.path()).unwrap();
        let bare = repo.without_merge_drivers();
        let drivers = bare
            .config_snapshot()
            .plumbing()
            .sections_by_name("merge")
            .into_iter()
            .flatten()
            .count();
        assert_eq!(drivers, 0);
    }

    #[test]
    fn the_newest_common_ancestor_is_the_merge_base() {
        let (_scratch, repo) = opened();
        let mut writer = ObjectWriter::new(&repo);
        let mut commit = |parent: Option<Oid>, message| {
            let tree = repo.empty_tree();
            writer.write_commit(&NewCommit { tree, parent, message }).unwrap()
        };
        let root = commit(None, "root");
        let middle = commit(Some(root), "middle");
        let (left, right) = (commit(Some(middle), "left"), commit(Some(middle), "right"));
        let apart = commit(None, "apart");
        objects::write_synced(repo.objects_dir(), &writer.loose_objects()).unwrap();
        assert_eq!(repo.merge_base(left, right).unwrap(), Some(middle));
        assert_eq!(repo.merge_base(left, apart).unwrap(), None);
        let new = repo.commits_not_in(left, &[right]).unwrap();
        assert_eq!(new, HashSet::from([left]));
    }
}
