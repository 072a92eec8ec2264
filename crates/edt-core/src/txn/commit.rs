//! Fourth and fifth stage: writes the objects of the commit, then publishes it.

use super::guard::Cleared;
use super::report::{self, RecordedFile};
use super::request::Request;
use super::separate::{FileEdit, Separated};
use super::tried;
use crate::session::engine::{Change, WorktreeChange};
use crate::session::recording::edit_commit::EditCommit;
use crate::session::refs::message::{Kind, MODE};
use crate::session::turns::Asked;
use crate::session::user::ownership;
use crate::session::worktree::begin::{self, BeginOptions, NewSession};
use crate::session::{LockedWorkspace, OnDisk, Session};
use edt_git::{FileId, Forms, InHead, ObjectWriter, Oid, Repo, TreeChange};
use edt_journal::entry::{DiskState, EntryMove};
use edt_journal::{FileChange, IndexView, NewFile};
use edt_types::{Durability, FileChangeKind, Outcome, Result, Status};

/// A transaction whose objects are written. No ref names them.
#[must_use = "without `publish` nothing changes"]
pub struct Committed<'w, 'q> {
    workspace: &'w mut LockedWorkspace,
    cleared: Cleared<'q>,
    session: Session,
    staged: StagedCommit,
}

/// Writes the objects of the commit, and of a new session if there is none.
///
/// # Errors
/// The findings of beginning a session; `OBJECT_MISSING`, `INTERNAL`.
pub fn commit<'w, 'q>(
    workspace: &'w mut LockedWorkspace,
    mut cleared: Cleared<'q>,
) -> Result<Committed<'w, 'q>> {
    let mut objects = ObjectWriter::new(&workspace.repo);
    let begun = if cleared.state.exists {
        None
    } else {
        Some(begin::prepare(
            workspace,
            &mut objects,
            &BeginOptions { name: None, ..BeginOptions::default() },
        )?)
    };
    let session =
        begun.as_ref().map_or_else(|| cleared.state.session.clone(), |begun| begun.session.clone());
    let plan = CommitPlan {
        session: &session,
        begun,
        index: cleared.state.index.take().filter(|_| session.head == InHead::Yes),
        tree: cleared.state.tip_tree,
        files: std::mem::take(&mut cleared.separated),
        text: cleared.request.message.clone().unwrap_or_else(|| subject(&cleared)),
        kind: Kind::Edit,
        verb: "edt apply",
        agent: cleared.request.agent.clone(),
        // Who applies a proposal is not always who made it.
        asked: match cleared.request.proposal {
            Some(_) => Asked { agent: cleared.request.caller.clone(), ..Asked::default() },
            None => workspace.asked(&session),
        },
        allowed: cleared.allowed.clone(),
        more: more(cleared.request),
    };
    let staged = plan.write(&workspace.repo, objects)?;
    Ok(Committed { workspace, cleared, session, staged })
}

/// The trailers of `request` alone.
fn more(request: &Request) -> Vec<(&'static str, String)> {
    let proposal = request.proposal.iter().map(|id| ("Edt-Proposal", id.to_string()));
    let modes = tried::modes(request).into_iter().map(|mode| (MODE, mode.to_owned()));
    proposal.chain(modes).collect()
}

/// The parts of one of edt's commits.
pub(super) struct CommitPlan<'s> {
    pub(super) session: &'s Session,
    /// The new session, if it begins with this commit.
    pub(super) begun: Option<NewSession>,
    pub(super) index: Option<IndexView>,
    /// The tree to build on.
    pub(super) tree: Oid,
    pub(super) files: Vec<Separated>,
    pub(super) text: String,
    pub(super) kind: Kind,
    pub(super) verb: &'static str,
    pub(super) agent: Option<String>,
    pub(super) asked: Asked,
    pub(super) allowed: Vec<String>,
    /// Further trailers.
    pub(super) more: Vec<(&'static str, String)>,
}

/// A commit whose objects are written, and the change that publishes it.
pub(super) struct StagedCommit {
    pub(super) change: Change,
    pub(super) commit: Oid,
    pub(super) edit: u64,
    /// How each file was recorded.
    pub(super) recorded: Vec<RecordedFile>,
}

impl CommitPlan<'_> {
    pub(super) fn write(self, repo: &Repo, mut objects: ObjectWriter<'_>) -> Result<StagedCommit> {
        let session = self.session;
        let edit = if self.begun.is_some() { 1 } else { session.last_number(repo)? + 1 };
        let (mut changes, mut files, mut moves) = (Vec::new(), Vec::new(), Vec::new());
        let (mut recorded, mut private) = (Vec::new(), Vec::new());
        for one in self.files {
            let (is_private, permissions) = (one.is_private(), one.permissions());
            let Separated { edit: FileEdit { state, after: content, .. }, after, parts: separated } =
                one;
            let after_id = after.as_ref().map(|after| after.file);
            recorded.push(RecordedFile {
                path: state.path.clone(),
                after: after_id.map(|file| file.oid),
                user_changes: separated.user_changes,
                left_over: separated.left_over.clone(),
            });
            if is_private {
                let bytes = content.as_ref().map(|content| (content.disk(), content.mode));
                let mut file = ownership::private_file(&state, bytes, &separated.left_over);
                file.after.iter_mut().for_each(|after| after.permissions = permissions);
                private.push(file);
            } else if let Some(stored) = state.disk.as_ref().and_then(|disk| disk.stored.as_ref()) {
                // No commit has the exact bytes of a file that Git converts. Crash recovery may
                // need them.
                objects.write_blob(&stored.disk)?;
            }
            let branch = ownership::write(&mut objects, separated.branch);
            if branch != state.tip {
                changes.push(TreeChange { path: state.path.clone(), file: branch });
            }
            if let Some(entry) = separated.entry {
                let file = ownership::write(&mut objects, entry);
                let written = file.is_some() && file == after_id;
                moves.push(EntryMove {
                    path: state.path.clone(),
                    file,
                    seen: state.staged,
                    disk: if written { DiskState::Written } else { DiskState::Other },
                });
            }
            let new = match (content, after_id) {
                (Some(content), Some(file)) if !is_private => {
                    let forms = Forms { text: content.bytes, stored: content.stored };
                    Some(NewFile::of(&mut objects, file, forms)?)
                }
                (Some(content), Some(file)) => {
                    let bytes = content.into_disk();
                    let oid = repo.blob_id(&bytes)?;
                    Some(NewFile { file: FileId { oid, ..file }, bytes, permissions })
                }
                _ => None,
            };
            // A replaced file keeps its permissions.
            let permissions = permissions.filter(|_| state.disk.is_none());
            let new = new.map(|new| NewFile { permissions, ..new });
            let old = state.disk.as_ref().map(OnDisk::old);
            files.push(FileChange { path: state.path, old, new });
        }
        let (tree, touched_trees) = objects.write_tree(self.tree, &changes)?;
        let commit = EditCommit {
            session,
            trees: (self.tree, tree),
            text: &self.text,
            kind: self.kind,
            number: edit,
            agent: self.agent,
            asked: self.asked,
            allowed: self.allowed,
            more: &self.more,
            private,
            kept_at: None,
        };
        let written = commit.write(&mut objects)?;
        let commit = written.commit;
        let log = format!("{}: {}", self.verb, self.text.lines().next().unwrap_or_default());
        let index = self.index.map(|index| (index, moves));
        let worktree = WorktreeChange { files, index, touched_trees, ..WorktreeChange::default() };
        // The request's own policy says how durable it must be.
        let change = Change { base: None, ..written.change(&objects, self.begun, log, worktree) };
        Ok(StagedCommit { change, commit, edit, recorded })
    }
}

impl Committed<'_, '_> {
    /// Moves the branch and writes files and index.
    ///
    /// # Errors
    /// The findings of [`engine::apply`]; then nothing has changed.
    pub fn publish(self) -> Result<Outcome> {
        let Committed { workspace, cleared, session, staged } = self;
        let StagedCommit { change, commit, edit, recorded } = staged;
        workspace
            .journal
            .require_durability(cleared.state.policy.durability.unwrap_or(Durability::Off));
        let warnings = workspace.apply(change)?.warnings;
        let mut outcome = report::of(workspace, &cleared, Status::Applied, &recorded);
        outcome.session = Some(session.report(!cleared.state.exists));
        outcome.commit = Some(commit.to_string());
        outcome.parent = Some(session.tip.to_string());
        outcome.edit = Some(edit);
        outcome.warnings.extend(warnings);
        Ok(outcome)
    }
}

/// The default subject: `edit src/calc.c (+1 -1)`.
pub(super) fn subject(cleared: &Cleared<'_>) -> String {
    let moved_away = |file: &super::plan::FilePlan| {
        file.after.is_none()
            && cleared.files.iter().any(|other| other.from.as_ref() == Some(&file.path))
    };
    let shown: Vec<_> = cleared
        .files
        .iter()
        .zip(&cleared.diff_summaries)
        .filter(|(file, _)| !moved_away(file))
        .collect();
    let added: u64 = shown.iter().map(|(_, shape)| shape.added).sum();
    let removed: u64 = shown.iter().map(|(_, shape)| shape.removed).sum();
    match shown.as_slice() {
        [(one, _)] if one.change == FileChangeKind::Renamed => {
            let from = one.from.as_ref().map(ToString::to_string).unwrap_or_default();
            format!("rename {from} to {} (+{added} -{removed})", one.path)
        }
        [(one, _)] => format!("{} {} (+{added} -{removed})", one.change.verb(), one.path),
        many => format!("edit {} files (+{added} -{removed})", many.len()),
    }
}

#[cfg(test)]
mod tests {
    use crate::tests::Scratch;
    use crate::txn::Request;
    use edt_types::{RecordedIn, UserChanges};

    const TEN: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";

    /// How many commits the session has.
    fn commits(scratch: &Scratch) -> usize {
        scratch.session().commits(&scratch.repo()).count()
    }

    /// The subject of a commit whose request has no message.
    fn subject(request: Request) -> String {
        let scratch = Scratch::with(&[("a.txt", "one\n"), ("b.txt", "b\n")]);
        scratch.apply(&Request { message: None, ..request }).unwrap();
        scratch.message(scratch.head()).lines().next().unwrap().to_owned()
    }

    #[test]
    fn an_edit_of_one_file_is_named_by_default() {
        let request = Request::new("").edit("a.txt", "one\n", "two\nthree\n");
        assert_eq!(subject(request), "edit a.txt (+2 -1)");
    }

    #[test]
    fn a_new_file_is_named_by_default() {
        assert_eq!(subject(Request::new("").create("c.txt", "c\n")), "create c.txt (+1 -0)");
    }

    #[test]
    fn a_rename_is_named_by_default() {
        let request = Request::new("").rename("a.txt", "c.txt");
        assert_eq!(subject(request), "rename a.txt to c.txt (+0 -0)");
    }

    #[test]
    fn several_files_are_counted_by_default() {
        let request = Request::new("").append("a.txt", "x\n").delete("b.txt");
        assert_eq!(subject(request), "edit 2 files (+1 -1)");
    }

    #[test]
    fn a_commit_has_the_message_the_agent_and_the_needed_overrides() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        scratch.begin("fix");
        let request = Request::new("why\n\nbody")
            .append("a.txt", b"\xff".to_vec())
            .agent("robot")
            .allow("encoding")
            .allow("mass_deletion");
        scratch.apply(&request).unwrap();
        let repo = scratch.repo();
        let tree = |commit| repo.tree_of(commit).unwrap();
        let (base, tip) = (tree(scratch.session().base), tree(scratch.head()));
        let expected = format!(
            "why\n\nbody\n\nEdt-Session: fix\nEdt-Kind: edit\nEdt-Edit: 1\nEdt-Agent: robot\n\
             Edt-Allowed: encoding\nEdt-Change: {base}..{tip}\nEdt-Mode: append\n"
        );
        assert_eq!(scratch.message(scratch.head()), expected);
    }

    #[test]
    fn an_edit_that_only_overlaps_with_the_user_is_a_commit_without_a_change() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        scratch.write("a.txt", "one by hand\n");
        let outcome = scratch.edit("x", "a.txt", "one", "two");
        assert_eq!((outcome.edit, commits(&scratch)), (Some(1), 1));
        assert_eq!(outcome.files[0].recorded, RecordedIn::Private);
        assert_eq!(scratch.committed(scratch.head(), "a.txt").as_deref(), Some("one\n"));
        assert_eq!(scratch.text("a.txt").as_deref(), Some("two by hand\n"));
        scratch.undo(1).unwrap();
        assert_eq!(scratch.text("a.txt").as_deref(), Some("one by hand\n"));
        scratch.redo().unwrap();
        assert_eq!(scratch.text("a.txt").as_deref(), Some("two by hand\n"));
    }

    #[test]
    fn a_hunk_that_overlaps_is_left_over_and_the_others_are_committed() {
        let scratch = Scratch::with(&[("a.txt", TEN)]);
        let users = TEN.replace("2\n", "2 by hand\n");
        scratch.write("a.txt", &users);
        let edited = users.replace("2 by hand", "two").replace('9', "nine");
        let outcome = scratch.apply(&Request::new("x").overwrite("a.txt", &*edited)).unwrap();
        assert_eq!(outcome.files[0].recorded, RecordedIn::Partly);
        assert_eq!(outcome.files[0].left_over, ["2"]);
        let committed = scratch.committed(scratch.head(), "a.txt");
        assert_eq!(committed, Some(TEN.replace('9', "nine")));
        assert_eq!(scratch.text("a.txt"), Some(edited));
        scratch.undo(1).unwrap();
        assert_eq!(scratch.text("a.txt"), Some(users));
        assert_eq!(scratch.committed(scratch.head(), "a.txt").as_deref(), Some(TEN));
    }

    #[test]
    fn a_branch_with_half_a_pair_of_brackets_gets_nothing() {
        let code = "fn a() {\n    one();\n    two();\n    three();\n}\n";
        let scratch = Scratch::with(&[("a.rs", code)]);
        let users = code.replace("one", "mine");
        scratch.write("a.rs", &users);
        let edited = users
            .replace("    mine();\n", "    if mine() {\n")
            .replace("    three();\n}\n", "    three();\n}\n}\n");
        let outcome = scratch.apply(&Request::new("x").overwrite("a.rs", &*edited)).unwrap();
        assert_eq!(outcome.files[0].recorded, RecordedIn::Private);
        assert_eq!(scratch.committed(scratch.head(), "a.rs").as_deref(), Some(code));
        assert_eq!(scratch.text("a.rs"), Some(edited));
    }

    #[test]
    fn a_renamed_file_takes_the_users_lines_with_it_on_disk_alone() {
        let scratch = Scratch::with(&[("a.txt", TEN)]);
        let users = TEN.replace("2\n", "2 by hand\n");
        scratch.write("a.txt", &users);
        scratch.apply(&Request::new("x").rename("a.txt", "b.txt")).unwrap();
        assert_eq!(scratch.committed(scratch.head(), "b.txt").as_deref(), Some(TEN));
        assert_eq!(scratch.committed(scratch.head(), "a.txt"), None);
        assert_eq!((scratch.text("a.txt"), scratch.text("b.txt")), (None, Some(users.clone())));
        scratch.undo(1).unwrap();
        assert_eq!((scratch.text("a.txt"), scratch.text("b.txt")), (Some(users), None));
    }

    #[test]
    fn a_rename_onto_a_file_that_the_user_changed_is_left_over_and_undone() {
        let scratch = Scratch::with(&[("a.txt", "one\n"), ("b.txt", TEN)]);
        let users = TEN.replace("2\n", "2 by hand\n");
        scratch.write("b.txt", &users);
        scratch.apply(&Request::new("x").delete("b.txt")).unwrap();
        scratch.apply(&Request::new("y").rename("a.txt", "b.txt")).unwrap();
        assert_eq!(scratch.committed(scratch.head(), "a.txt").as_deref(), Some("one\n"));
        assert_eq!(scratch.committed(scratch.head(), "b.txt").as_deref(), Some(TEN));
        assert_eq!(scratch.text("b.txt").as_deref(), Some("one\n"));
        scratch.undo(1).unwrap();
        assert_eq!(
            (scratch.text("a.txt").as_deref(), scratch.text("b.txt")),
            (Some("one\n"), None)
        );
        scratch.undo(1).unwrap();
        assert_eq!(scratch.text("b.txt"), Some(users));
    }

    #[test]
    fn brackets_that_close_only_with_the_users_lines_are_left_over() {
        let code = "int f() {\n  a();\n  b();\n  c();\n  d();\n  e();\n}\n";
        let scratch = Scratch::with(&[("a.c", code)]);
        scratch.write("a.c", &code.replace("  a();\n", "  a();\n  if (mine) {\n"));
        let request = Request::new("x").edit("a.c", "  d();\n", "  d();\n  }\n");
        let outcome = scratch.apply(&request).unwrap();
        assert_eq!(outcome.files[0].recorded, RecordedIn::Private);
        assert_eq!(scratch.committed(scratch.head(), "a.c").as_deref(), Some(code));
    }

    #[test]
    fn a_renamed_untracked_file_stays_untracked() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        scratch.write("new.txt", "mine\n");
        let outcome = scratch.apply(&Request::new("x").rename("new.txt", "other.txt")).unwrap();
        assert_eq!(outcome.files[0].recorded, RecordedIn::Private);
        assert_eq!(scratch.committed(scratch.head(), "other.txt"), None);
        assert_eq!(scratch.text("other.txt").as_deref(), Some("mine\n"));
        scratch.undo(1).unwrap();
        assert_eq!(scratch.text("new.txt").as_deref(), Some("mine\n"));
    }

    #[test]
    fn a_function_of_the_users_that_an_edit_moves_stays_uncommitted() {
        let scratch = Scratch::with(&[("a.txt", TEN), ("b.txt", "b\n")]);
        let mine = "fn mine() {\n    body();\n}\n";
        scratch.write("a.txt", &format!("{TEN}{mine}"));
        let request = Request::new("move").edit("a.txt", mine, "").append("b.txt", mine);
        scratch.apply(&request).unwrap();
        assert_eq!(scratch.committed(scratch.head(), "b.txt").as_deref(), Some("b\n"));
        assert_eq!(scratch.text("b.txt"), Some(format!("b\n{mine}")));
        scratch.undo(1).unwrap();
        assert_eq!(scratch.text("a.txt"), Some(format!("{TEN}{mine}")));
        assert_eq!(scratch.text("b.txt").as_deref(), Some("b\n"));
    }

    #[test]
    fn an_edit_of_other_lines_is_separate_from_the_users_changes() {
        let scratch = Scratch::with(&[("a.txt", TEN)]);
        scratch.write("a.txt", &TEN.replace("2\n", "2 by hand\n"));
        let outcome = scratch.edit("x", "a.txt", "9", "nine");
        let separate = TEN.replace('9', "nine");
        assert_eq!(scratch.committed(scratch.head(), "a.txt"), Some(separate.clone()));
        assert_eq!(scratch.text("a.txt"), Some(separate.replace("2\n", "2 by hand\n")));
        assert_eq!(outcome.files[0].user_changes, UserChanges::Separate);
        assert_eq!(commits(&scratch), 1);
    }

    #[test]
    fn undo_of_a_separate_edit_restores_the_users_version_exactly() {
        let scratch = Scratch::with(&[("a.txt", TEN)]);
        let users = TEN.replace("2\n", "2 by hand\n");
        scratch.write("a.txt", &users);
        scratch.edit("x", "a.txt", "9", "nine");
        scratch.undo(1).unwrap();
        assert_eq!(scratch.text("a.txt"), Some(users));
    }

    #[test]
    fn an_untracked_file_stays_untracked() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        scratch.write("new.txt", "by hand\n");
        let outcome = scratch.edit("x", "new.txt", "by", "not by");
        assert_eq!((outcome.files[0].recorded, commits(&scratch)), (RecordedIn::Private, 1));
        assert_eq!(scratch.committed(scratch.head(), "new.txt"), None);
        scratch.undo(1).unwrap();
        assert_eq!(scratch.text("new.txt").as_deref(), Some("by hand\n"));
    }

    #[test]
    fn an_edit_of_another_file_leaves_the_users_changes_alone() {
        let scratch = Scratch::with(&[("a.txt", "one\n"), ("b.txt", "b\n")]);
        scratch.write("b.txt", "by hand\n");
        scratch.write("new.txt", "by hand\n");
        let outcome = scratch.edit("x", "a.txt", "one", "two");
        assert_eq!(outcome.files[0].user_changes, UserChanges::None);
        assert_eq!(scratch.committed(scratch.head(), "b.txt").as_deref(), Some("b\n"));
        assert_eq!(scratch.committed(scratch.head(), "new.txt"), None);
    }

    fn mode(scratch: &Scratch, named: &str) -> u32 {
        use std::os::unix::fs::PermissionsExt as _;
        scratch.root().join(named).metadata().unwrap().permissions().mode() & 0o777
    }

    /// A repository with a tracked and an ignored file that only the user may read.
    fn restricted() -> Scratch {
        use std::os::unix::fs::PermissionsExt as _;
        let scratch = Scratch::with_rules(&[("key", "key\n")], ".env\n*.log\n");
        scratch.write(".env", "KEY=1\n");
        scratch.write("own", "own\n");
        for named in ["key", ".env", "own"] {
            let only_user = std::fs::Permissions::from_mode(0o600);
            std::fs::set_permissions(scratch.root().join(named), only_user).unwrap();
        }
        scratch.begin("fix");
        scratch
    }

    #[test]
    fn a_renamed_file_keeps_its_permissions_also_after_undo_and_redo() {
        let scratch = restricted();
        for (from, to) in [("key", "key2"), (".env", "x.log"), ("own", "own2")] {
            scratch.apply(&Request::new("move").rename(from, to)).unwrap();
            assert_eq!(mode(&scratch, to), 0o600, "{to}");
            scratch.undo(1).unwrap();
            assert_eq!(mode(&scratch, from), 0o600, "{from} after undo");
            scratch.redo().unwrap();
            assert_eq!(mode(&scratch, to), 0o600, "{to} after redo");
        }
    }

    #[test]
    fn a_deleted_file_comes_back_with_its_permissions() {
        let scratch = restricted();
        for named in ["key", ".env", "own"] {
            scratch.apply(&Request::new("gone").delete(named)).unwrap();
            scratch.undo(1).unwrap();
            assert_eq!(mode(&scratch, named), 0o600, "{named}");
        }
    }

    #[test]
    fn a_file_that_was_edited_and_deleted_comes_back_with_its_permissions() {
        let scratch = restricted();
        scratch.apply(&Request::new("more").append("key", "more\n")).unwrap();
        scratch.apply(&Request::new("gone").delete("key")).unwrap();
        let session = scratch.session();
        crate::session::back::abandon::abandon(&mut scratch.open(), &session).unwrap();
        assert_eq!((scratch.text("key").as_deref(), mode(&scratch, "key")), (Some("key\n"), 0o600));
    }

    #[test]
    fn an_ignored_file_is_written_and_never_committed() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        scratch.write(".git/info/exclude", ".env\n");
        scratch.write(".env", "KEY=1\n");
        let outcome = scratch.edit("x", ".env", "1", "2");
        assert_eq!(scratch.text(".env").as_deref(), Some("KEY=2\n"));
        assert_eq!(outcome.files[0].recorded, RecordedIn::Private);
        assert_eq!(scratch.committed(scratch.head(), ".env"), None);
        let repo = scratch.repo();
        for bytes in [b"KEY=1\n", b"KEY=2\n"] {
            let oid = repo.blob_id(bytes).unwrap();
            assert!(repo.object(oid, edt_git::read::ObjectKind::Blob).is_err());
        }
        scratch.undo(1).unwrap();
        assert_eq!(scratch.text(".env").as_deref(), Some("KEY=1\n"));
        scratch.redo().unwrap();
        assert_eq!(scratch.text(".env").as_deref(), Some("KEY=2\n"));
    }
}
