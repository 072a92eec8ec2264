//! The files of its base that a session has removed.

use std::collections::BTreeSet;

use super::plan::FilePlan;
use super::resolve::TransactionState;
use crate::session::Session;
use crate::session::user::user_commits::UserCommits;
use edt_git::diff::TreeDifference;
use edt_git::file_id::TreeItem;
use edt_git::read::ObjectKind;
use edt_git::{Oid, Repo};
use edt_guard::guard::Guard as _;
use edt_guard::guard::mass_deletion::MassDeletion;
use edt_guard::policy::{GuardMode, Override};
use edt_types::{RepoPath, Result};

/// How many files of the session's base are gone after a transaction that removes one; 0 if it
/// removes none. Files that moved and files that the user's commits removed are not gone. An edit
/// that was allowed to remove that many takes the place of the base.
///
/// The cost follows what the session changed.
///
/// # Errors
/// `OBJECT_MISSING`.
pub(super) fn removed_in_session(
    repo: &Repo,
    users: &UserCommits<'_>,
    state: &TransactionState,
    files: &[FilePlan],
) -> Result<usize> {
    let rule = state.policy.rule(MassDeletion.name(), None);
    let is_moved = |file: &FilePlan| {
        let disk = state.before(file).map(|disk| &disk.bytes);
        let has_text = |other: &FilePlan| other.after.as_ref().map(|after| &after.bytes) == disk;
        files.iter().any(|other| other.from.as_ref() == Some(&file.path))
            || disk.is_some() && files.iter().any(has_text)
    };
    let removed: BTreeSet<&RepoPath> = files
        .iter()
        .filter(|file| file.after.is_none() && !is_moved(file))
        .map(|file| &file.path)
        .collect();
    if removed.is_empty() || rule.mode == GuardMode::Off {
        return Ok(0);
    }
    let limit = state.policy.deletion_limits.max_files;
    let gone = |since| removed_since(repo, users, state, &removed, since);
    let mut count = gone(state.base_tree)?;
    if count as u64 > limit
        && rule.overriding != Override::Never
        && let Some(allowed) = last_allowed(repo, &state.session)?
    {
        count = gone(allowed)?;
    }
    Ok(count)
}

/// The tree of the newest edit of `session` that a mass deletion was allowed for.
fn last_allowed(repo: &Repo, session: &Session) -> Result<Option<Oid>> {
    for commit in session.commits(repo) {
        let commit = commit?;
        let allowed = commit.trailers.iter().flat_map(|trailers| &trailers.allowed);
        if allowed.into_iter().any(|word| word == MassDeletion.name()) {
            return Ok(Some(commit.tree));
        }
    }
    Ok(None)
}

/// How many files of the tree `since` are gone from the session's tip without `removed`.
fn removed_since(
    repo: &Repo,
    users: &UserCommits<'_>,
    state: &TransactionState,
    removed: &BTreeSet<&RepoPath>,
    since: Oid,
) -> Result<usize> {
    let mut differs = repo.tree_diff(since, state.tip_tree)?;
    let changed: BTreeSet<RepoPath> = differs.iter().map(|one| one.path.clone()).collect();
    for one in differs.iter_mut().filter(|one| removed.contains(&one.path)) {
        one.new = None;
    }
    for path in removed.iter().filter(|path| !changed.contains(**path)) {
        let tip = state.paths.get(*path).and_then(|path| path.tip);
        let old = tip.map(TreeItem::File);
        differs.push(TreeDifference { path: (*path).clone(), old, new: None });
    }
    let is_gone = |old: Option<TreeItem>, new: Option<TreeItem>| old.is_some() && new.is_none();
    let count = differs.iter().filter(|one| is_gone(one.old, one.new)).count();
    if count as u64 <= state.policy.deletion_limits.max_files {
        return Ok(count);
    }
    let mut count = 0;
    for one in repo.with_renames(differs, |oid| repo.object(oid, ObjectKind::Blob))? {
        let file = one.old.and_then(TreeItem::file);
        if is_gone(one.old, one.new) && users.applied_to(&one.path, file)? != Some(None) {
            count += 1;
        }
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use crate::session::recording::record::checkpoint;
    use crate::tests::{Scratch, refusal};
    use crate::txn::Request;
    use edt_types::{Code, Outcome, Result};

    /// A session on 40 files, each with another text.
    fn scratch() -> Scratch {
        let files: Vec<(String, String)> =
            (0..40).map(|n| (name(n), format!("the text of file {n}\n"))).collect();
        let files: Vec<(&str, &str)> =
            files.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        let scratch = Scratch::with(&files);
        scratch.begin("fix");
        scratch
    }

    fn name(n: usize) -> String {
        format!("{n}.txt")
    }

    fn delete(scratch: &Scratch, n: usize) -> Result<Outcome> {
        scratch.apply(&Request::new("x").delete(&name(n)))
    }

    fn delete_ten(scratch: &Scratch) {
        for n in 0..10 {
            delete(scratch, n).unwrap();
        }
    }

    #[test]
    fn single_removals_add_up_over_the_session() {
        let scratch = scratch();
        delete_ten(&scratch);
        let finding = refusal(delete(&scratch, 10));
        assert_eq!(
            (finding.code, &finding.evidence["files_lost"]),
            (Code::MassDeletion, &11.into())
        );
        assert_eq!(finding.evidence["against"], "the session's base");
        assert!(finding.hint().contains("allow: [\"mass_deletion\"]"), "{finding:#?}");
        assert!(scratch.text("10.txt").is_some());
        scratch.edit("y", "10.txt", "the text", "The text");
    }

    #[test]
    fn after_an_override_removals_count_from_zero() {
        let scratch = scratch();
        delete_ten(&scratch);
        scratch.apply(&Request::new("x").delete(&name(10)).allow("mass_deletion")).unwrap();
        for n in 11..21 {
            delete(&scratch, n).unwrap();
        }
        assert_eq!(refusal(delete(&scratch, 21)).code, Code::MassDeletion);
    }

    #[test]
    fn files_that_the_session_made_or_moved_are_not_removed() {
        let scratch = scratch();
        delete_ten(&scratch);
        scratch.apply(&Request::new("x").create("new.txt", "new\n")).unwrap();
        scratch.apply(&Request::new("x").delete("new.txt")).unwrap();
        scratch.apply(&Request::new("x").rename(&name(20), "moved.txt")).unwrap();
        let text = "the text of file 21\n";
        let moved = Request::new("x").delete(&name(21)).create("other.txt", text);
        scratch.apply(&moved).unwrap();
        scratch.apply(&Request::new("x").create("copy.txt", "the text of file 22\n")).unwrap();
        delete(&scratch, 22).unwrap();
        let back = Request::new("x").create(&name(0), "the text of file 0\n");
        scratch.apply(&back).unwrap();
        delete(&scratch, 23).unwrap();
        assert_eq!(refusal(delete(&scratch, 24)).code, Code::MassDeletion);
        let moved = Request::new("x").delete("moved.txt");
        assert_eq!(refusal(scratch.apply(&moved)).code, Code::MassDeletion);
    }

    #[test]
    fn what_the_user_removed_does_not_count() {
        for committed in [false, true] {
            let scratch = scratch();
            for n in 0..10 {
                scratch.remove(&name(n));
            }
            if committed {
                let names: Vec<String> = (0..10).map(name).collect();
                let gone: Vec<(&str, Option<&str>)> =
                    names.iter().map(|name| (name.as_str(), None)).collect();
                scratch.user_commit("edt/fix", &gone, "gone\n");
            } else {
                checkpoint(&mut scratch.open(), None, &[]).unwrap();
            }
            delete(&scratch, 10).unwrap();
        }
    }
}
