//! Restores one file to an earlier state, as a new commit. Guards do not check it: the file had
//! that state before.

use super::commit::{CommitPlan, StagedCommit};
use super::plan::Content;
use crate::guard::protected;
use crate::session::message::Kind;
use crate::session::{LockedWorkspace, PathState, Session, restore as history};
use edt_edit::diff::LineDiff;
use edt_git::read::ObjectKind;
use edt_git::{Attributes, InHead, ObjectWriter};
use edt_io::clock;
use edt_journal::{IndexView, publish};
use edt_types::{FileChangeKind, FileReport, Outcome, RepoPath, Result, Status};

/// Sets the file at `path` to what it was before its latest edit (`revision` 0), the one before
/// (1), and so on.
///
/// # Errors
/// `NO_SESSION`; `NOTHING_TO_UNDO` if there is no such revision; the findings of reading the path
/// and of publishing.
pub fn restore(workspace: &mut LockedWorkspace, path: &RepoPath, revision: u64) -> Result<Outcome> {
    let repo = &workspace.repo;
    repo.check_idle()?;
    let head = repo.head()?;
    let session = Session::required(repo, &head)?;
    session.check_not_shared(repo)?;
    let index = if session.head == InHead::Yes { Some(IndexView::read(repo)?) } else { None };
    let wanted = history::before(repo, &session, path, revision)?;
    let tree = repo.tree_of(session.tip)?;
    let path_state = PathState::at(repo, tree, index.as_ref(), path)?;
    if let Some(finding) = super::resolve::read_only(&path_state) {
        return Err(finding.into());
    }
    if workspace.policy(repo.tree_of(session.base)?)?.protects(path) {
        return Err(protected::finding(path).into());
    }
    let content = |file: edt_git::FileId| {
        let blob = repo.object(file.oid, ObjectKind::Blob)?;
        path_state
            .checked_out(repo, Attributes::Worktree(tree), blob)
            .map(|forms| Content::of(forms, file.mode))
    };
    let after = wanted.map(content).transpose()?;
    let mut outcome = Outcome::new(Status::Unchanged);
    outcome.session = Some(session.report(false));
    outcome.recovered.clone_from(&workspace.recovered);
    if path_state.disk_file() == wanted {
        return Ok(outcome);
    }
    outcome.files =
        vec![report(&path_state, after.as_ref(), wanted.map(|file| file.oid.to_string()))];
    let text = format!("restore {path} to before its edit {revision} back");
    let plan = CommitPlan {
        session: &session,
        begun: None,
        tree,
        index,
        files: vec![(path_state, after)],
        text,
        kind: Kind::Restore,
        verb: "edt restore",
        agent: None,
        allowed: Vec::new(),
        more: Vec::new(),
    };
    let StagedCommit { change, checkpoints, commit, edit, .. } =
        plan.write(repo, ObjectWriter::new(repo))?;
    workspace.require_durability(session.base);
    outcome.warnings = publish(&workspace.repo, &mut workspace.journal, change)?;
    outcome.status = Status::Applied;
    outcome.commit = Some(commit.to_string());
    outcome.parent = Some(session.tip.to_string());
    outcome.edit = Some(edit);
    outcome.checkpoints = checkpoints.commits.iter().map(ToString::to_string).collect();
    Ok(outcome)
}

fn report(
    path_state: &PathState,
    after: Option<&Content>,
    hash_after: Option<String>,
) -> FileReport {
    let old = path_state.disk.as_ref();
    let (old_text, new_text) =
        (old.map_or(&[][..], |disk| &disk.bytes), after.map_or(&[][..], |content| &content.bytes));
    let (lines_added, lines_removed) = LineDiff::of(old_text, new_text, clock::in_ms(100)).counts();
    FileReport {
        path: path_state.path.to_string(),
        change: match (old, after) {
            (None, _) => FileChangeKind::Added,
            (_, None) => FileChangeKind::Deleted,
            _ => FileChangeKind::Modified,
        },
        from: None,
        hash_before: old.map(|disk| disk.file.oid.to_string()),
        hash_after,
        bytes_before: old.map(crate::session::OnDisk::size),
        bytes_after: after.map(Content::size),
        lines_added,
        lines_removed,
        context: None,
        matched_by: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::history::Commit;
    use crate::tests::{Scratch, path, refusal};
    use crate::txn::Request;
    use edt_types::Code;

    fn edited() -> Scratch {
        let scratch = Scratch::with(&[("a.txt", "one\n"), ("b.txt", "b\n")]);
        scratch.begin("fix");
        scratch.edit("first", "a.txt", "one", "two");
        scratch.edit("second", "a.txt", "two", "three");
        scratch
    }

    fn restored(scratch: &Scratch, named: &str, revision: u64) -> Result<Outcome> {
        restore(&mut scratch.open(), &path(named), revision)
    }

    #[test]
    fn a_file_gets_its_earlier_text_in_a_new_commit() {
        let scratch = edited();
        let before = scratch.head();
        let outcome = restored(&scratch, "a.txt", 1).unwrap();
        assert_eq!(scratch.text("a.txt").as_deref(), Some("one\n"));
        assert_eq!(
            (outcome.status, outcome.parent, outcome.edit),
            (Status::Applied, Some(before.to_string()), Some(3))
        );
        let commit = Commit::read(&scratch.repo(), scratch.head()).unwrap();
        assert_eq!(commit.subject(), "restore a.txt to before its edit 1 back");
        assert_eq!(commit.trailers.unwrap().kind, Kind::Restore);
    }

    #[test]
    fn a_created_file_is_removed() {
        let scratch = edited();
        scratch.apply(&Request::new("new").create("c.txt", "c\n")).unwrap();
        let outcome = restored(&scratch, "c.txt", 0).unwrap();
        assert_eq!(
            (scratch.text("c.txt"), outcome.files[0].change),
            (None, FileChangeKind::Deleted)
        );
    }

    #[test]
    fn a_deleted_file_is_restored() {
        let scratch = edited();
        scratch.apply(&Request::new("gone").delete("b.txt")).unwrap();
        let outcome = restored(&scratch, "b.txt", 0).unwrap();
        assert_eq!(scratch.text("b.txt").as_deref(), Some("b\n"));
        assert_eq!(outcome.files[0].change, FileChangeKind::Added);
    }

    #[test]
    fn a_file_that_has_the_text_already_is_unchanged() {
        let scratch = edited();
        scratch.write("a.txt", "two\n");
        let head = scratch.head();
        assert_eq!(restored(&scratch, "a.txt", 0).unwrap().status, Status::Unchanged);
        assert_eq!(scratch.head(), head);
    }

    #[test]
    fn unrecorded_changes_are_recorded_before_a_restore() {
        let scratch = edited();
        scratch.write("a.txt", "by hand\n");
        let outcome = restored(&scratch, "a.txt", 0).unwrap();
        assert_eq!(outcome.checkpoints.len(), 1);
        scratch.undo(1).unwrap();
        assert_eq!(scratch.text("a.txt").as_deref(), Some("by hand\n"));
    }

    #[test]
    fn a_restore_is_undone_as_one_edit() {
        let scratch = edited();
        restored(&scratch, "a.txt", 1).unwrap();
        scratch.undo(1).unwrap();
        assert_eq!(scratch.text("a.txt").as_deref(), Some("three\n"));
    }

    #[test]
    fn a_protected_path_is_not_restored() {
        let policy = "[[protect]]\npaths = [\"a.txt\"]\n";
        let scratch = Scratch::with(&[("edt.toml", policy), ("a.txt", "one\n")]);
        scratch.begin("fix");
        scratch.user_commit("edt/fix", &[("a.txt", Some("two\n"))], "by hand\n");
        scratch.write("a.txt", "two\n");
        let finding = protected::finding(&path("a.txt"));
        assert_eq!(refusal(restored(&scratch, "a.txt", 0)), finding);
    }

    #[test]
    fn a_read_only_file_is_not_restored() {
        use std::os::unix::fs::PermissionsExt as _;
        let scratch = edited();
        let file = scratch.root().join("a.txt");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o444)).unwrap();
        assert_eq!(refusal(restored(&scratch, "a.txt", 0)).code, Code::ProtectedPath);
    }

    #[test]
    fn without_a_session_nothing_is_restored() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        assert_eq!(refusal(restored(&scratch, "a.txt", 0)).code, Code::NoSession);
    }
}
