//! First stage: reads every path that the request names, and compares the expected hashes.

use std::collections::BTreeMap;

use super::messages;
use super::request::Request;
use crate::session::files::new_name;
use crate::session::files::path_state::case_collision_finding;
use crate::session::private::hidden::Hidden;
use crate::session::worktree::begin;
use crate::session::{LockedWorkspace, PathState, Session};
use edt_edit::{Edit, Expect, Op};
use edt_git::index::IndexState;
use edt_git::{Head, InHead, Oid};
use edt_guard::policy::Policy;
use edt_journal::IndexView;
use edt_types::{Code, Finding, Refusal, RepoPath, Result};

/// A request whose paths were read.
#[derive(Debug)]
pub struct Resolved<'q> {
    pub(super) request: &'q Request,
    pub(super) state: TransactionState,
}

/// The repository, the session and the paths before the transaction.
#[derive(Debug)]
pub struct TransactionState {
    /// HEAD's branch and commit.
    pub head: Head,
    /// The session: an existing one, or the one that this transaction would begin.
    pub session: Session,
    /// Whether the session exists.
    pub exists: bool,
    /// The tree of the session's tip.
    pub tip_tree: Oid,
    /// HEAD's tree.
    pub head_tree: Oid,
    /// The tree of the session's base.
    pub base_tree: Oid,
    /// The policy that applies.
    pub policy: Policy,
    /// The index, if HEAD is on the session's branch.
    pub index: Option<IndexView>,
    /// The state of every path.
    pub paths: BTreeMap<RepoPath, PathState>,
    /// Whether the request edits files with merge conflicts. The result stays uncommitted.
    pub resolving: bool,
}

/// Reads every path that `request` names.
///
/// # Errors
/// `REPOSITORY_BUSY` during a merge or rebase, unless every path has a conflict; `HASH_MISMATCH`, every path finding, `PROTECTED_PATH` for a read-only file.
pub fn resolve<'q>(workspace: &LockedWorkspace, request: &'q Request) -> Result<Resolved<'q>> {
    let repo = &workspace.repo;
    let busy = repo.check_idle().err();
    let head = repo.head()?;
    let (session, exists) = match Session::current(repo, &head)? {
        Some(session) => {
            session.check_not_shared(repo)?;
            (session, true)
        }
        None => (begin::preview_session(repo, &head)?, false),
    };
    let (tip_tree, base_tree) = (repo.tree_of(session.tip)?, repo.tree_of(session.base)?);
    let head_tree = head.commit.map_or(Ok(repo.empty_tree()), |commit| repo.tree_of(commit))?;
    let policy = workspace.policy(base_tree)?;
    repo.set_max_file_size(policy.max_file_bytes);
    let follows = if exists { session.head == InHead::Yes } else { policy.switch };
    let index = if follows || busy.is_some() { Some(IndexView::read(repo)?) } else { None };
    let (mut paths, mut found) = (BTreeMap::new(), Vec::new());
    let hidden = Hidden::of(repo, Some(&session));
    // The old path of each file that an earlier edit of this request renames.
    let mut moved: BTreeMap<RepoPath, RepoPath> = BTreeMap::new();
    for edit in &request.edits {
        for path in named(edit) {
            if paths.contains_key(path) {
                continue;
            }
            match PathState::with_conflicts(repo, tip_tree, index.as_ref(), path) {
                Ok(mut path_state) => {
                    hidden.mark(&mut path_state)?;
                    let is_freed = |finding: &Finding| {
                        let other = finding.evidence.get("exists").and_then(|at| at.as_str());
                        other.is_some_and(|other| frees(request, other))
                    };
                    if path_state.is_nowhere() {
                        found.extend(new_name::problem(repo, path).filter(|one| !is_freed(one)));
                    } else if path_state.tip.is_none() {
                        found.extend(new_name::same_name(repo, path));
                    }
                    paths.insert(path.clone(), path_state);
                }
                Err(error) => found.extend(error.into_vec()),
            }
        }
        let source = moved.get(&edit.path).unwrap_or(&edit.path).clone();
        if let Some(path_state) = paths.get(&source) {
            found.extend(check_expected_hash(edit, path_state));
        }
        if let Op::Rename { to } = &edit.op {
            moved.insert(to.clone(), source);
        }
    }
    found.extend(paths.values().filter_map(read_only));
    if repo.ignores_case() {
        let collision = |path: &RepoPath| {
            paths.keys().find(|other| *other < path && same_but_case(other, path)).cloned()
        };
        let finding = |path| Some(case_collision_finding(path, &collision(path)?));
        found.extend(paths.keys().filter_map(finding));
    }
    Refusal::check(found)?;
    // During a merge or a rebase, only files with conflicts may be edited.
    let conflicted = |state: &PathState| state.staged == IndexState::Unmerged;
    let resolving = paths.values().any(conflicted);
    if let Some(busy) = busy
        && !(resolving && paths.values().all(conflicted))
    {
        return Err(busy);
    }
    Ok(Resolved {
        request,
        state: TransactionState {
            head,
            session,
            exists,
            tip_tree,
            head_tree,
            base_tree,
            policy,
            index,
            paths,
            resolving,
        },
    })
}

/// The paths that an edit names.
pub(super) fn named(edit: &Edit) -> impl Iterator<Item = &RepoPath> {
    let to = match &edit.op {
        Op::Rename { to } => Some(to),
        _ => None,
    };
    std::iter::once(&edit.path).chain(to)
}

/// Whether the request renames or deletes the file at `path`.
fn frees(request: &Request, path: &str) -> bool {
    let is_gone = |op: &Op| matches!(op, Op::Rename { .. } | Op::Delete { .. });
    request.edits.iter().any(|edit| is_gone(&edit.op) && edit.path.text() == path)
}

fn same_but_case(one: &RepoPath, other: &RepoPath) -> bool {
    one.as_bytes().eq_ignore_ascii_case(other.as_bytes())
}

fn check_expected_hash(edit: &Edit, path_state: &PathState) -> Option<Finding> {
    let Expect::Hash(expected) = &edit.expect else { return None };
    let found = path_state.disk.as_ref().map(|disk| disk.file.oid.to_string());
    if found.as_ref().is_some_and(|found| found.starts_with(expected)) {
        return None;
    }
    Some(messages::hash_mismatch(&edit.path, expected, found))
}

#[must_use]
pub fn read_only(path_state: &PathState) -> Option<Finding> {
    let mode = path_state.disk.as_ref()?.stat.mode & 0o7777;
    if mode & 0o222 != 0 {
        return None;
    }
    let path = &path_state.path;
    let message = format!("{path} is read-only on disk (mode {mode:04o}).");
    let hint =
        format!("Leave it, or ask the user to make it writable: `chmod u+w {}`.", path.for_shell());
    Some(
        Finding::new(Code::ProtectedPath, message, hint)
            .nothing_changed()
            .at(path)
            .with("mode", format!("{mode:04o}")),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{Scratch, path, refusal};

    fn scratch() -> Scratch {
        Scratch::with(&[("a.txt", "one\n"), ("b.txt", "b\n")])
    }

    fn with_hash(hash: &str) -> Request {
        let mut request = Request::new("x").edit("a.txt", "one", "two");
        request.edits[0].expect = Expect::Hash(hash.to_owned());
        request
    }

    #[test]
    fn the_first_digits_of_the_hash_suffice() {
        let scratch = scratch();
        let hash = scratch.repo().blob_id(b"one\n").unwrap().to_string();
        scratch.apply(&with_hash(&hash[..7])).unwrap();
    }

    #[test]
    fn another_hash_refuses_the_edit() {
        let scratch = scratch();
        let found = scratch.repo().blob_id(b"one\n").unwrap().to_string();
        let finding = messages::hash_mismatch(&path("a.txt"), "abcdef1", Some(found));
        assert_eq!(refusal(scratch.apply(&with_hash("abcdef1"))), finding);
    }

    #[test]
    fn a_renamed_file_is_expected_with_its_old_content() {
        let scratch = scratch();
        let hash = scratch.repo().blob_id(b"one\n").unwrap().to_string();
        let mut request = Request::new("x").rename("a.txt", "c.txt").edit("c.txt", "one", "two");
        request.edits[1].expect = Expect::Hash(hash);
        scratch.apply(&request).unwrap();
        assert_eq!(scratch.text("c.txt").as_deref(), Some("two\n"));
    }

    #[test]
    fn a_read_only_file_is_protected() {
        use std::os::unix::fs::PermissionsExt as _;
        let scratch = scratch();
        let file = scratch.root().join("a.txt");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o444)).unwrap();
        let finding = Finding::new(
            Code::ProtectedPath,
            "a.txt is read-only on disk (mode 0444).",
            "Leave it, or ask the user to make it writable: `chmod u+w a.txt`.",
        );
        let finding = finding.nothing_changed().at(&path("a.txt")).with("mode", "0444");
        assert_eq!(refusal(scratch.apply(&Request::new("x").edit("a.txt", "one", "two"))), finding);
    }

    #[test]
    fn the_problems_of_all_paths_are_reported() {
        let scratch = scratch();
        std::os::unix::fs::symlink("a.txt", scratch.root().join("link")).unwrap();
        scratch.write("dir/x", "x\n");
        let request = Request::new("x").append("link", "x").append("dir", "x");
        let found = scratch.apply(&request).unwrap_err();
        assert_eq!(found.codes(), ["PATH_THROUGH_SYMLINK", "NOT_A_FILE"]);
    }

    #[test]
    fn two_new_paths_that_differ_only_in_case_collide_where_case_is_ignored() {
        let scratch = scratch();
        let config = scratch.text(".git/config").unwrap();
        scratch.write(".git/config", &config.replace("[core]\n", "[core]\n\tignoreCase = true\n"));
        let request = Request::new("x").create("New.txt", "x\n").create("new.txt", "x\n");
        let finding = case_collision_finding(&path("new.txt"), &path("New.txt"));
        assert_eq!(refusal(scratch.apply(&request)), finding);
    }

    #[test]
    fn a_rename_names_both_paths() {
        let request = Request::new("x").rename("a.txt", "c.txt");
        assert_eq!(named(&request.edits[0]).collect::<Vec<_>>(), [&path("a.txt"), &path("c.txt")]);
    }
}
