//! What edits changed in a commit that the user made of them: reworded, rebased, squashed or
//! amended. Lines that the user added to it are not the edits'.

use std::collections::BTreeMap;

use super::ownership::{self, MergedFile, Version, merge3};
use crate::session::refs::commit::Commit;
use edt_git::diff::TreeDifference;
use edt_git::file_id::TreeItem;
use edt_git::{ObjectWriter, Oid, Repo, Tracked, TreeChange};
use edt_types::{RepoPath, Result};

/// A path with its file before and after an edit.
pub type FileStep = (RepoPath, Option<Version>, Option<Version>);

/// The key of the trailer.
const KEY: &str = "Edt-Change";

/// The line with the trees before and after an edit, for the end of its message.
#[must_use]
pub fn trailer(from: Oid, to: Oid) -> String {
    format!("{KEY}: {from}..{to}\n")
}

/// What the edits of `commit` changed together if the commit is not as edt wrote it. The steps begin
/// at the file in the commit's present parent.
///
/// # Errors
/// `OBJECT_MISSING`, `INTERNAL`.
pub fn of_rewritten(repo: &Repo, commit: &Commit) -> Result<Option<Vec<FileStep>>> {
    let Some(rewritten) = &commit.rewritten else { return Ok(None) };
    let (parent, writer) = (commit.parent_tree(repo)?, ObjectWriter::new(repo));
    let mut steps: BTreeMap<RepoPath, (Option<Version>, Option<Version>)> = BTreeMap::new();
    for edit in rewritten.edits.iter().filter(|edit| edit.is_edit()) {
        let before = edit.parent_tree(repo)?;
        for TreeDifference { path, old, new } in repo.tree_diff(before, edit.tree)? {
            let recorded =
                |item: Option<TreeItem>| item.and_then(TreeItem::file).map(Version::recorded);
            let (before, after) = (recorded(old), recorded(new));
            let (first, now) = match steps.get(&path) {
                Some((first, now)) => (Some(first.clone()), now.clone()),
                None => (None, file_in(repo, parent, &path)?),
            };
            let moved = merge3(&writer, before.as_ref(), now.as_ref(), after.as_ref())?;
            let (before, after) = match moved {
                MergedFile::Clean(moved) => (now, moved),
                MergedFile::Conflict(_) => (before, after),
            };
            steps.insert(path, (first.unwrap_or(before), after));
        }
    }
    let step = |(path, (before, after))| (path, before, after);
    Ok(Some(steps.into_iter().map(step).collect()))
}

/// The tree of `commit` without what the user added to its edits; its own tree if it is as edt wrote
/// it.
///
/// # Errors
/// As [`of_rewritten`].
pub fn tree_after(writer: &mut ObjectWriter<'_>, commit: &Commit) -> Result<Oid> {
    let Some(steps) = of_rewritten(writer.repo(), commit)? else { return Ok(commit.tree) };
    let parent = commit.parent_tree(writer.repo())?;
    let change = |(path, _, after)| TreeChange { path, file: ownership::write(writer, after) };
    let changes: Vec<TreeChange> = steps.into_iter().map(change).collect();
    Ok(writer.write_tree(parent, &changes)?.0)
}

/// The file at `path` in `tree`.
///
/// # Errors
/// `OBJECT_MISSING`.
pub fn file_in(repo: &Repo, tree: Oid, path: &RepoPath) -> Result<Option<Version>> {
    Ok(match repo.tracked(tree, path)? {
        Tracked::File(file) => Some(Version::recorded(file)),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::back::undo::{MoveOptions, Overlaps};
    use crate::tests::{Scratch, path, refusal};
    use crate::txn::{RestoreTarget, restore};
    use edt_types::Code;

    const TEN: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";

    /// A session whose only edit changed the line 9.
    fn edited() -> Scratch {
        let scratch = Scratch::with(&[("a.txt", TEN), ("b.txt", "b\n")]);
        scratch.begin("fix");
        scratch.edit("first", "a.txt", "9", "nine");
        scratch
    }

    /// Replaces the session's last commit by one with `files`, on `parent` if there is one.
    fn rewrite(scratch: &Scratch, parent: Option<Oid>, files: &[(&str, Option<&str>)]) -> Oid {
        let (tip, session) = (scratch.head(), scratch.session());
        scratch.set_ref("refs/heads/edt/fix", parent.unwrap_or(session.base));
        let commit = scratch.user_commit("edt/fix", files, &scratch.message(tip));
        for (named, text) in files {
            scratch.write(named, text.unwrap());
        }
        commit
    }

    #[test]
    fn undo_of_an_amended_edit_leaves_the_users_lines_on_disk() {
        let scratch = edited();
        let text = scratch.text("a.txt").unwrap().replace("2\n", "2 by hand\n");
        rewrite(&scratch, None, &[("a.txt", Some(&text)), ("new.txt", Some("mine\n"))]);
        scratch.undo(1).unwrap();
        assert_eq!(scratch.text("a.txt"), Some(TEN.replace("2\n", "2 by hand\n")));
        assert_eq!(scratch.text("new.txt").as_deref(), Some("mine\n"));
        scratch.redo().unwrap();
        assert_eq!(scratch.text("a.txt"), Some(text));
    }

    #[test]
    fn a_line_of_the_edit_that_the_user_amended_is_not_undone() {
        let scratch = edited();
        let text = TEN.replace('9', "nine by hand");
        rewrite(&scratch, None, &[("a.txt", Some(&text))]);
        assert_eq!(refusal(scratch.undo(1)).code, Code::UnsavedChanges);
        assert_eq!(scratch.text("a.txt"), Some(text));
    }

    #[test]
    fn undo_of_a_rebased_edit_takes_its_lines_off() {
        let scratch = edited();
        let before = TEN.replace("2\n", "2 upstream\n");
        let upstream = scratch.user_commit("main", &[("a.txt", Some(&before))], "upstream\n");
        let text = before.replace('9', "nine");
        rewrite(&scratch, Some(upstream), &[("a.txt", Some(&text))]);
        scratch.undo(1).unwrap();
        assert_eq!(scratch.text("a.txt"), Some(before));
    }

    #[test]
    fn undo_of_a_rebased_and_amended_edit_leaves_the_users_lines() {
        let scratch = edited();
        let before = TEN.replace("2\n", "2 upstream\n");
        let upstream = scratch.user_commit("main", &[("a.txt", Some(&before))], "upstream\n");
        let mine = before.replace("5\n", "5 by hand\n");
        let text = mine.replace('9', "nine");
        rewrite(&scratch, Some(upstream), &[("a.txt", Some(&text))]);
        scratch.undo(1).unwrap();
        assert_eq!(scratch.text("a.txt"), Some(mine));
    }

    #[test]
    fn restore_and_revert_of_an_amended_edit_leave_the_users_lines() {
        let mine = TEN.replace("2\n", "2 by hand\n");
        let amended = || {
            let scratch = edited();
            let text = scratch.text("a.txt").unwrap().replace("2\n", "2 by hand\n");
            rewrite(&scratch, None, &[("a.txt", Some(&text))]);
            scratch
        };
        let options = MoveOptions { overlaps: Overlaps::Refuse, ..MoveOptions::default() };
        let scratch = amended();
        let target = RestoreTarget::Latest;
        restore(&mut scratch.open(), &path("a.txt"), &target, options).unwrap();
        assert_eq!(scratch.text("a.txt"), Some(mine.clone()));
        assert_eq!(scratch.committed(scratch.head(), "a.txt"), Some(mine.clone()));
        let scratch = amended();
        let session = scratch.session();
        crate::session::back::revert::revert(&mut scratch.open(), &session, &[1], options).unwrap();
        assert_eq!(scratch.text("a.txt"), Some(mine.clone()));
        assert_eq!(scratch.committed(scratch.head(), "a.txt"), Some(mine));
    }

    #[test]
    fn a_rebased_edit_is_not_amended() {
        let scratch = edited();
        let amended = |_| {
            let repo = scratch.repo();
            scratch.session().commits(&repo).next().unwrap().unwrap().has_more_than_edits()
        };
        let before = TEN.replace("2\n", "2 upstream\n");
        let upstream = scratch.user_commit("main", &[("a.txt", Some(&before))], "upstream\n");
        let text = before.replace('9', "nine");
        assert!(!amended(scratch.head()));
        assert!(!amended(rewrite(&scratch, Some(upstream), &[("a.txt", Some(&text))])));
        let text = text.replace("5\n", "5 by hand\n");
        assert!(amended(rewrite(&scratch, Some(upstream), &[("a.txt", Some(&text))])));
    }
}
