//! Backs up files that a session cannot record, before a program runs that may destroy them.
//!
//! Some files are not part of a session: files whose changes Git ignores on request
//! (`--assume-unchanged`, `--skip-worktree`), symbolic links, files that Git would not check out
//! again byte for byte, and files where the session has a directory. Their bytes go into a commit
//! at `refs/edt/<name>/aside/<n>`. The commit is on no branch and never lands.

use std::collections::BTreeSet;

use super::current::Session;
use super::list::{next_numbered_ref, numbered_tips};
use super::message::{self, Kind, Trailers};
use super::path_state;
use super::workspace::LockedWorkspace;
use edt_git::{FileId, FileMode, InHead, NewCommit, ObjectWriter, TreeChange};
use edt_journal::{BranchOrigin, BranchUpdate, ChangeSet, publish};
use edt_types::text::counted;
use edt_types::{RepoPath, Result, Warning};

/// Backs up the files at `paths` and those whose changes Git ignores on request, unless the
/// newest backup has the same content. A file that cannot be read or is too large is not backed up;
/// the checkpoint's warning `left_out` names it.
///
/// # Errors
/// Errors of publishing; `IO_ERROR`.
pub fn back_up(
    workspace: &mut LockedWorkspace,
    session: &Session,
    paths: &[RepoPath],
) -> Result<Vec<Warning>> {
    let repo = &workspace.repo;
    let mut all: Vec<RepoPath> = paths.to_vec();
    all.extend(repo.changes_hidden_from_git()?);
    all.sort();
    all.dedup();
    let mut writer = ObjectWriter::new(repo);
    let mut changes = Vec::new();
    for path in all {
        let Some((bytes, executable)) = path_state::read_raw(repo, &path) else { continue };
        let file = FileId { oid: writer.write_blob(&bytes)?, mode: FileMode::of(executable) };
        changes.push(TreeChange { path, file: Some(file) });
    }
    // A file whose name is also a directory of another file would hide that file.
    let directories: BTreeSet<Vec<u8>> = changes
        .iter()
        .flat_map(|change| change.path.parents().map(<[u8]>::to_vec).collect::<Vec<_>>())
        .collect();
    changes.retain(|change| !directories.contains(change.path.as_bytes()));
    if changes.is_empty() {
        return Ok(Vec::new());
    }
    let (tree, _) = writer.write_tree(repo.empty_tree(), &changes)?;
    let newest = numbered_tips(repo, &session.name, "aside")?.pop();
    if let Some((_, newest)) = newest
        && repo.tree_of(newest)? == tree
    {
        return Ok(Vec::new());
    }
    let text = format!("backup: {} that the session cannot record", counted(changes.len(), "file"));
    let commit_message =
        message::compose(&text, &Trailers::plain(&session.name, Kind::Checkpoint, 0));
    let parent = newest.map(|(_, newest)| newest);
    let commit = writer.write_commit(&NewCommit { tree, parent, message: &commit_message })?;
    let name = next_numbered_ref(repo, &session.name, "aside")?;
    let message = format!(
        "The session cannot record {}. A backup from before the program started is at {name}.",
        counted(changes.len(), "file")
    );
    let branch = BranchUpdate {
        name,
        from: BranchOrigin::Created(commit),
        new: commit,
        log: text,
        head: InHead::No,
        head_from: None,
        point: None,
    };
    let change = ChangeSet { objects: writer.loose_objects(), ..ChangeSet::of(branch) };
    let mut warnings = publish(&workspace.repo, &mut workspace.journal, change)?;
    warnings.push(Warning { code: "kept_aside", path: None, message });
    Ok(warnings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{Scratch, path};

    fn with_link() -> (Scratch, Session) {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        let session = scratch.begin("fix");
        std::os::unix::fs::symlink("a.txt", scratch.root().join("link")).unwrap();
        (scratch, session)
    }

    fn backed_up(scratch: &Scratch, session: &Session) -> Vec<Warning> {
        back_up(&mut scratch.open(), session, &[path("link")]).unwrap()
    }

    #[test]
    fn the_target_of_a_link_is_kept_at_a_ref_of_its_own() {
        let (scratch, session) = with_link();
        let warning = Warning {
            code: "kept_aside",
            path: None,
            message: "The session cannot record 1 file. A backup from before the program started \
                      is at refs/edt/fix/aside/1."
                .into(),
        };
        assert_eq!(backed_up(&scratch, &session), [warning]);
        let backup = scratch.ref_value("refs/edt/fix/aside/1").unwrap();
        assert_eq!(scratch.committed(backup, "link").as_deref(), Some("a.txt"));
        assert_eq!(scratch.head(), session.tip);
    }

    #[test]
    fn the_same_content_is_backed_up_once() {
        let (scratch, session) = with_link();
        backed_up(&scratch, &session);
        assert_eq!(backed_up(&scratch, &session), []);
        assert_eq!(scratch.ref_value("refs/edt/fix/aside/2"), None);
    }

    #[test]
    fn other_content_is_backed_up_again() {
        let (scratch, session) = with_link();
        backed_up(&scratch, &session);
        scratch.remove("link");
        std::os::unix::fs::symlink("b.txt", scratch.root().join("link")).unwrap();
        backed_up(&scratch, &session);
        let second = scratch.ref_value("refs/edt/fix/aside/2").unwrap();
        assert_eq!(scratch.committed(second, "link").as_deref(), Some("b.txt"));
    }

    #[test]
    fn a_path_without_a_file_needs_no_backup() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        let session = scratch.begin("fix");
        assert_eq!(back_up(&mut scratch.open(), &session, &[path("lost")]).unwrap(), []);
    }
}
