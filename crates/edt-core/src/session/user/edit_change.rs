//! What an edit changed, as edt wrote it. The trailer `Edt-Change` names the trees before and after
//! the edit, so that lines that the user amended to its commit are not taken for the edit's.

use super::ownership::{self, MergedFile, Version, merge3};
use crate::session::refs::commit::Commit;
use crate::session::refs::message;
use edt_git::diff::TreeDifference;
use edt_git::file_id::TreeItem;
use edt_git::{ObjectWriter, Oid, Repo, Tracked, TreeChange};
use edt_types::{Code, Finding, RepoPath, Result};

/// A path with its file before and after an edit.
pub type FileStep = (RepoPath, Option<Version>, Option<Version>);

/// The key of the trailer.
const KEY: &str = "Edt-Change";

/// The line with the trees before and after an edit, for the end of its message.
#[must_use]
pub fn trailer(from: Oid, to: Oid) -> String {
    format!("{KEY}: {from}..{to}\n")
}

/// The trees before and after an edit; `None` if the message does not name them.
fn trees(message: &str) -> Option<(Oid, Oid)> {
    let value = message::values(message, KEY).pop()?;
    let (from, to) = value.split_once("..")?;
    let tree = |hex: &str| Oid::from_hex(hex.as_bytes()).ok();
    Some((tree(from)?, tree(to)?))
}

/// What the edit of `commit` changed if the commit is not as edt wrote it: it was amended, rebased,
/// or both. The steps begin at the file in its present parent.
///
/// # Errors
/// `OBJECT_MISSING`, also if Git has pruned the original trees: then nobody knows which lines are
/// the edit's. `INTERNAL`.
pub fn of_rewritten(repo: &Repo, parent: Oid, commit: &Commit) -> Result<Option<Vec<FileStep>>> {
    let Some((from, to)) = trees(&commit.message) else { return Ok(None) };
    if (from, to) == (parent, commit.tree) {
        return Ok(None);
    }
    let differs = original(commit, repo.tree_diff(from, to))?;
    let writer = ObjectWriter::new(repo);
    let mut steps = Vec::new();
    for TreeDifference { path, old, new } in differs {
        let recorded =
            |item: Option<TreeItem>| item.and_then(TreeItem::file).map(Version::recorded);
        let (before, after) = (recorded(old), recorded(new));
        let now = file_in(repo, parent, &path)?;
        let moved = merge3(&writer, before.as_ref(), now.as_ref(), after.as_ref());
        match original(commit, moved)? {
            MergedFile::Clean(moved) => steps.push((path, now, moved)),
            MergedFile::Conflict(_) => steps.push((path, before, after)),
        }
    }
    Ok(Some(steps))
}

/// The tree of `commit` without what the user amended to the edit; its own tree if it is no edit.
/// `parent` is the tree of its parent.
///
/// # Errors
/// As [`of_rewritten`].
pub fn tree_after(writer: &mut ObjectWriter<'_>, parent: Oid, commit: &Commit) -> Result<Oid> {
    let Some(steps) = of_rewritten(writer.repo(), parent, commit)? else { return Ok(commit.tree) };
    let change = |(path, _, after)| TreeChange { path, file: ownership::write(writer, after) };
    let changes: Vec<TreeChange> = steps.into_iter().map(change).collect();
    Ok(writer.write_tree(parent, &changes)?.0)
}

/// Whether a commit with edt's trailers has something that edt did not write, such as lines that the
/// user amended to it or resolved in a rebase. `in_reflog` says that the branch's reflog calls it
/// amended. It decides alone if the message does not name the original trees.
///
/// # Errors
/// `OBJECT_MISSING`, `INTERNAL`.
pub fn is_amended(repo: &Repo, commit: &Commit, in_reflog: bool) -> Result<bool> {
    if !commit.is_edit() || trees(&commit.message).is_none() {
        return Ok(in_reflog);
    }
    let parent = commit.parent_tree(repo)?;
    let steps = match of_rewritten(repo, parent, commit) {
        Ok(Some(steps)) => steps,
        Ok(None) => return Ok(false),
        Err(found) if found.any(|finding| finding.code == Code::ObjectMissing) => return Ok(true),
        Err(found) => return Err(found),
    };
    let file = |version: Option<&Version>| version.map(|version| version.file);
    for TreeDifference { path, new, .. } in repo.tree_diff(parent, commit.tree)? {
        let step = steps.iter().find(|(changed, ..)| *changed == path);
        if step.is_none_or(|(.., after)| file(after.as_ref()) != new.and_then(TreeItem::file)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The result of reading what the edit of `commit` changed originally.
fn original<T>(commit: &Commit, result: Result<T>) -> Result<T> {
    let is_missing = |finding: &Finding| finding.code == Code::ObjectMissing;
    result.map_err(|found| if found.any(is_missing) { pruned(commit).into() } else { found })
}

/// The refusal to undo an edit whose lines nobody can distinguish from the user's.
fn pruned(commit: &Commit) -> Finding {
    let number = commit.trailers.as_ref().map_or(0, |trailers| trailers.edit);
    let short = commit.oid.to_hex_with_len(12);
    Finding::new(
        Code::ObjectMissing,
        format!(
            "The commit {short} of edit {number} ({}) was amended or rebased, and Git has pruned \
             the original trees. Nobody can distinguish the lines of the edit from the user's.",
            commit.subject()
        ),
        format!(
            "The user can revert the complete commit, with what they amended: `git revert \
             {short}`. To leave the session without undoing it, use `edt switch --leave`."
        ),
    )
    .nothing_changed()
    .with("commit", commit.oid.to_string())
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
    use crate::session::recording::record::checkpoint;
    use crate::tests::{Scratch, path, refusal};
    use crate::txn::{Request, RestoreTarget, restore};

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

    /// A session whose only edit was amended, and whose original trees Git has pruned.
    fn pruned_trees() -> Scratch {
        let scratch = edited();
        let text = scratch.text("a.txt").unwrap().replace("2\n", "2 by hand\n");
        let tree = scratch.repo().tree_of(scratch.head()).unwrap().to_string();
        let message = scratch.message(scratch.head()).replace(&tree, &"7".repeat(40));
        scratch.set_ref("refs/heads/edt/fix", scratch.session().base);
        scratch.user_commit("edt/fix", &[("a.txt", Some(&text))], &message);
        scratch.write("a.txt", &text);
        scratch
    }

    #[test]
    fn an_amended_edit_without_its_original_trees_is_not_undone() {
        use crate::session::back::abandon::abandon;
        use crate::session::back::revert::revert;
        let scratch = pruned_trees();
        let (tip, text, session) = (scratch.head(), scratch.text("a.txt"), scratch.session());
        let commit = Commit::read(&scratch.repo(), tip).unwrap();
        let (options, target) = (MoveOptions::default(), RestoreTarget::Latest);
        assert_eq!(refusal(scratch.undo(1)), pruned(&commit));
        let reverted = revert(&mut scratch.open(), &session, &[1], options);
        assert_eq!(refusal(reverted), pruned(&commit));
        let restored = restore(&mut scratch.open(), &path("a.txt"), &target, options);
        assert_eq!(refusal(restored), pruned(&commit));
        assert_eq!(refusal(abandon(&mut scratch.open(), &session)), pruned(&commit));
        assert_eq!((scratch.head(), scratch.text("a.txt")), (tip, text));
    }

    #[test]
    fn an_amended_edit_without_its_original_trees_lands_as_the_users() {
        use crate::proposal::landing::land;
        use crate::session::landing::options::LandOptions;
        let scratch = pruned_trees();
        let (tip, session) = (scratch.head(), scratch.session());
        let landed = land(&mut scratch.open(), &session, &LandOptions::default()).unwrap();
        assert_eq!((landed.commits, landed.edits), (vec![tip], 0));
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
        let amended = |oid| {
            let repo = scratch.repo();
            is_amended(&repo, &Commit::read(&repo, oid).unwrap(), true).unwrap()
        };
        let before = TEN.replace("2\n", "2 upstream\n");
        let upstream = scratch.user_commit("main", &[("a.txt", Some(&before))], "upstream\n");
        let text = before.replace('9', "nine");
        assert!(!amended(scratch.head()));
        assert!(!amended(rewrite(&scratch, Some(upstream), &[("a.txt", Some(&text))])));
        let text = text.replace("5\n", "5 by hand\n");
        assert!(amended(rewrite(&scratch, Some(upstream), &[("a.txt", Some(&text))])));
    }

    #[test]
    fn a_checkpoint_names_no_trees() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        scratch.write("a.txt", "one by hand\n");
        checkpoint(&mut scratch.open(), None, &[]).unwrap();
        scratch.apply(&Request::new("on it").edit("a.txt", "one", "two")).unwrap();
        let (repo, session) = (scratch.repo(), scratch.session());
        let commits: Vec<Commit> = session.commits(&repo).map(|commit| commit.unwrap()).collect();
        let parent = repo.tree_of(commits[1].oid).unwrap();
        assert_eq!(trees(&commits[0].message), Some((parent, commits[0].tree)));
        assert_eq!(trees(&commits[1].message), None);
    }
}
