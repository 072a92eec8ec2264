//! Three-way merges of trees, and queries on the history. The merged tree is in an
//! [`ObjectWriter`]; nothing is on disk yet.

use std::collections::HashSet;
use std::num::NonZeroU8;
use std::ops::Range;

use gix::merge::tree::{Conflict, Resolution, TreatAsUnresolved};
use gix::prelude::Write as _;

use super::read::found;
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

/// The result of a three-way merge of texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergedText {
    Clean(Vec<u8>),
    /// The rows of `ours` that conflict, counted from 0, end excluded.
    Conflict(Vec<Range<usize>>),
}

/// Merges the texts `ours` and `theirs`, which both derive from `base`, line by line as `git
/// merge-file` does. Binary contents conflict.
#[must_use]
pub fn merge_text(base: &[u8], ours: &[u8], theirs: &[u8]) -> MergedText {
    use gix::merge::blob::Resolution;
    use gix::merge::blob::builtin_driver::text::{Conflict, ConflictStyle, Labels, Merge};
    if [base, ours, theirs].into_iter().any(edt_types::text::is_binary) {
        return MergedText::Conflict(Vec::new());
    }
    let mut input = gix::diff::blob::InternedInput::new(&[][..], &[][..]);
    let algorithm = gix::diff::blob::Algorithm::Histogram;
    let merge = Merge::new(&mut input, ours, base, theirs, algorithm);
    let (style, marker_size) = (ConflictStyle::Merge, NonZeroU8::MAX);
    let mut merged = Vec::new();
    let keep = Conflict::Keep { style, marker_size };
    match merge.run(&mut merged, Labels::default(), keep) {
        Resolution::Conflict => MergedText::Conflict(conflicting_rows(ours, &merged)),
        Resolution::Complete | Resolution::CompleteWithAutoResolvedConflict => {
            MergedText::Clean(merged)
        }
    }
}

/// As [`merge_text`], but takes the lines of `theirs` where both sides changed the same lines.
/// `None` for binary contents.
#[must_use]
pub fn merge_text_with_theirs(base: &[u8], ours: &[u8], theirs: &[u8]) -> Option<Vec<u8>> {
    use gix::merge::blob::builtin_driver::text::{Conflict, Labels, Merge};
    if [base, ours, theirs].into_iter().any(edt_types::text::is_binary) {
        return None;
    }
    let mut input = gix::diff::blob::InternedInput::new(&[][..], &[][..]);
    let algorithm = gix::diff::blob::Algorithm::Histogram;
    let merge = Merge::new(&mut input, ours, base, theirs, algorithm);
    let mut merged = Vec::new();
    merge.run(&mut merged, Labels::default(), Conflict::ResolveWithTheirs);
    Some(merged)
}

/// The rows of `ours` in a merge with markers of 255 characters.
fn conflicting_rows(ours: &[u8], merged: &[u8]) -> Vec<Range<usize>> {
    let marker =
        |line: &[u8], byte: u8| line.len() >= 255 && line[..255].iter().all(|found| *found == byte);
    let (mut rows, mut start, mut theirs) = (Vec::new(), 0, false);
    // The merge with our side of each conflict.
    let mut kept: Vec<&[u8]> = Vec::new();
    for line in edt_types::text::lines(merged) {
        if marker(line, b'<') {
            start = kept.len();
        } else if marker(line, b'=') {
            theirs = true;
            rows.push(start..kept.len());
        } else if marker(line, b'>') {
            theirs = false;
        } else if !theirs {
            kept.push(line);
        }
    }
    // Their changes without a conflict are in the merge, and not in `ours`.
    let kept = kept.concat();
    let input = gix::diff::blob::InternedInput::new(ours, kept.as_slice());
    let diff = gix::diff::blob::Diff::compute(gix::diff::blob::Algorithm::Histogram, &input);
    let hunks: Vec<_> = diff.hunks().collect();
    let in_ours = |row: usize| {
        let before = |hunk: &&gix::diff::blob::Hunk| hunk.after.end as usize <= row;
        let last = hunks.iter().rev().find(before);
        last.map_or(row, |hunk| row - hunk.after.end as usize + hunk.before.end as usize)
    };
    rows.into_iter().map(|rows| in_ours(rows.start)..in_ours(rows.start) + rows.len()).collect()
}

impl ObjectWriter<'_> {
    /// Merges the trees `ours` and `theirs`, which both derive from `ancestor`. Renames are
    /// detected as in Git. Merge drivers of the configuration do not run, so their files conflict
    /// if both sides changed them.
    ///
    /// # Errors
    /// `OBJECT_MISSING` if a tree or blob cannot be read; `UNSUPPORTED_REPOSITORY` if a side differs
    /// in millions of paths.
    pub fn merge_trees(&mut self, ancestor: Oid, ours: Oid, theirs: Oid) -> Result<Merged> {
        if ours == theirs || ancestor == theirs {
            return Ok(Merged::Clean(ours));
        }
        if ancestor == ours {
            return Ok(Merged::Clean(theirs));
        }
        // A tree of trees would take all memory.
        for side in [ours, theirs] {
            self.tree_diff(ancestor, side)?;
        }
        // As in `found`.
        self.merged(ancestor, ours, theirs).or_else(|_| self.merged(ancestor, ours, theirs))
    }

    fn merged(&mut self, ancestor: Oid, ours: Oid, theirs: Oid) -> Result<Merged> {
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
        self.merge_bases(one, two).map(|found| found.first().copied())
    }

    /// Every best common ancestor of two commits.
    ///
    /// # Errors
    /// `OBJECT_MISSING` if the history cannot be walked.
    pub fn merge_bases(&self, one: Oid, two: Oid) -> Result<Vec<Oid>> {
        found(one, || {
            let found = self.inner.merge_bases_many(one, &[two])?;
            Ok(found.iter().map(|id| id.detach()).collect())
        })
    }

    /// The commits in the history of `tip` that are not in the history of `without`.
    ///
    /// # Errors
    /// `OBJECT_MISSING` if the history cannot be walked.
    pub fn commits_not_in(&self, tip: Oid, without: &[Oid]) -> Result<HashSet<Oid>> {
        found(tip, || {
            let walk = self.inner.rev_walk([tip]).with_hidden(without.iter().copied()).all()?;
            walk.map(|step| Ok(step?.id)).collect()
        })
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
    fn one_side_renames_a_file_that_both_changed_alike() {
        let text = "1\n2\n3\n4\n5\n6\n7\n8\n";
        let changed = text.replace('4', "four");
        let (old, at_a, at_b) = ([("a", text)], [("a", changed.as_str())], [("b", &*changed)]);
        for (ours, theirs) in [(&at_a, &at_b), (&at_b, &at_a)] {
            let (merge, expected) = merged(&old, ours, theirs, &at_b);
            assert_eq!(merge, Merged::Clean(expected));
        }
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
    fn only_the_conflicting_lines_of_ours_are_overwritten() {
        let text = |three: &str, nine: &str| format!("1\n2\n{three}\n4\n5\n6\n7\n8\n{nine}\n");
        let (base, ours, theirs) = (text("3", "9"), text("ours", "typed"), text("theirs", "9"));
        let [base, ours, theirs] = [&base, &ours, &theirs].map(String::as_bytes);
        assert_eq!(merge_text(base, ours, theirs), MergedText::Conflict(vec![2..3]));
        let merged = merge_text_with_theirs(base, ours, theirs);
        assert_eq!(merged, Some(text("theirs", "typed").into_bytes()));
        assert_eq!(merge_text_with_theirs(base, ours, b"\0"), None);
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
        objects::write(&repo, &writer.loose_objects()).unwrap();
        assert_eq!(repo.merge_base(left, right).unwrap(), Some(middle));
        assert_eq!(repo.merge_base(left, apart).unwrap(), None);
        let new = repo.commits_not_in(left, &[right]).unwrap();
        assert_eq!(new, HashSet::from([left]));
    }

    const TEN: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";

    fn text(base: &str, ours: &str, theirs: &str) -> MergedText {
        merge_text(base.as_bytes(), ours.as_bytes(), theirs.as_bytes())
    }

    #[test]
    fn texts_with_changes_of_different_lines_are_merged() {
        let (ours, theirs) = (TEN.replace('2', "two"), TEN.replace('8', "eight"));
        let both = ours.replace('8', "eight");
        assert_eq!(text(TEN, &ours, &theirs), MergedText::Clean(both.into()));
    }

    #[test]
    fn the_same_change_of_both_sides_is_made_once() {
        let (ours, theirs) = (TEN.replace('2', "two"), TEN.replace('2', "two").replace('9', "n"));
        assert_eq!(text(TEN, &ours, &theirs), MergedText::Clean(theirs.into()));
    }

    #[test]
    fn a_last_line_without_a_line_end_stays_one() {
        let base = TEN.trim_end();
        let (ours, theirs) = (base.replace('2', "two"), base.replace('8', "eight"));
        let both = ours.replace('8', "eight");
        assert_eq!(text(base, &ours, &theirs), MergedText::Clean(both.into()));
    }

    #[test]
    fn line_ends_of_windows_stay() {
        let base = TEN.replace('\n', "\r\n");
        let (ours, theirs) = (base.replace('2', "two"), base.replace('8', "eight"));
        let both = ours.replace('8', "eight");
        assert_eq!(text(&base, &ours, &theirs), MergedText::Clean(both.into()));
    }

    #[test]
    fn conflicts_name_the_rows_of_our_side() {
        let ours = TEN.replace("3\n", "three\nand more\n").replace('8', "eight");
        let theirs = TEN.replace('3', "drei").replace('8', "acht");
        assert_eq!(text(TEN, &ours, &theirs), MergedText::Conflict(vec![2..4, 8..9]));
    }

    #[test]
    fn lines_that_our_side_removed_conflict_at_an_empty_row() {
        let ours = TEN.replace("3\n", "");
        let theirs = TEN.replace('3', "drei");
        assert_eq!(text(TEN, &ours, &theirs), MergedText::Conflict(vec![2..2]));
    }

    #[test]
    fn rows_after_a_change_of_the_other_side_are_those_of_our_side() {
        let ours = TEN.replace('8', "eight");
        let theirs = TEN.replace("2\n", "2\n2a\n2b\n").replace('8', "acht");
        assert_eq!(text(TEN, &ours, &theirs), MergedText::Conflict(vec![7..8]));
    }

    #[test]
    fn conflict_markers_in_a_text_are_text() {
        let base = TEN.replace('5', "<<<<<<< a\n=======\n>>>>>>> b");
        let (ours, theirs) = (base.replace('1', "x"), base.replace('8', "acht"));
        assert!(matches!(text(&base, &ours, &theirs), MergedText::Clean(_)));
        let ours = base.replace('8', "eight");
        assert_eq!(text(&base, &ours, &theirs), MergedText::Conflict(vec![9..10]));
    }

    #[test]
    fn binary_contents_conflict_as_a_whole() {
        for binary in ["a\0b", "1\n\0\n"] {
            assert_eq!(text(TEN, TEN, binary), MergedText::Conflict(Vec::new()));
            assert_eq!(text(binary, TEN, TEN), MergedText::Conflict(Vec::new()));
        }
        assert_eq!(merge_text(b"\xff", b"a", b"b"), MergedText::Conflict(Vec::new()));
    }
}
