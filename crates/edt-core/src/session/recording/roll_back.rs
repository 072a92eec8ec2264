//! Puts files back as they were before a program whose changes are refused.

use super::ignored_before::IgnoredBefore;
use super::program_change::ProgramChange;
use crate::session::engine::{Change, PathChange, RefMove, WorktreeChange};
use crate::session::files::path_state::PathState;
use crate::session::refs::current::Session;
use crate::session::user::ownership::Version;
use edt_git::{Attributes, FileId, FileMode, ObjectWriter, Oid, Repo};
use edt_io::fs;
use edt_journal::{BranchOrigin, PrivateFile, PrivateRecord};
use edt_types::{RepoPath, Result};
use std::collections::{BTreeMap, BTreeSet};

fn usual_permissions(file: FileId) -> u32 {
    let all = if file.mode == FileMode::Executable { 0o777 } else { 0o666 };
    all & !fs::new_file_mask()
}

/// Adds the private files that the program moved and of which there is no copy. Their bytes are
/// those at the new path. A file whose earlier path cannot be restored stays at the new path.
///
/// # Errors
/// The errors of [`PathState::at`]; `OBJECT_MISSING`; errors of a filter.
pub(crate) fn add_sources(
    repo: &Repo,
    tree: Oid,
    ignored: &IgnoredBefore<'_>,
    changed: &mut Vec<ProgramChange>,
) -> Result<()> {
    let mut sources = BTreeMap::new();
    for one in &*changed {
        if let Some(exact) = &one.exact_after
            && let Some(source) = ignored.moved_without_copy(&one.state)?
        {
            sources.entry(source).or_insert_with(|| (one.state.path.clone(), exact.clone()));
        }
    }
    for (source, (path, exact)) in sources {
        let state = match PathState::at(repo, tree, None, source) {
            Ok(state) => state,
            // Something else is there now, as a directory.
            Err(_) if is_new(changed, &path) => {
                changed.retain(|one| one.state.path != path);
                continue;
            }
            Err(error) => return Err(error),
        };
        // A hard link did not move the file.
        if state.disk.as_ref().is_none_or(|disk| disk.exact() != exact.bytes) {
            let state = PathState { ignored: true, ..state };
            changed.push(ProgramChange::replaced(repo, tree, state, exact)?);
        }
    }
    Ok(())
}

/// Whether the file at `path` replaced none.
fn is_new(changed: &[ProgramChange], path: &RepoPath) -> bool {
    changed.iter().any(|one| one.state.path == *path && one.version.is_none())
}

/// The change that puts the files back and keeps the refused commit at the ref `name`, with its
/// private record. The session's branch does not move.
pub(crate) fn roll_back(
    mut writer: ObjectWriter<'_>,
    session: &Session,
    (name, private): (&str, Option<PrivateRecord>),
    (tree, refused): (Oid, Oid),
    changed: Vec<ProgramChange>,
) -> Result<Change> {
    let mut wanted: BTreeMap<RepoPath, u32> = BTreeMap::new();
    let step = |one: ProgramChange| {
        let moved_onto = one.state.ignored && one.state.tip.is_some();
        let permissions = match (&one.before, one.state.tip) {
            (Some(before), _) => before.permissions,
            // A file that another one was moved onto, and that had no changes.
            (None, Some(file)) if moved_onto => Some(usual_permissions(file)),
            _ => None,
        };
        wanted.extend(permissions.map(|bits| (one.state.path.clone(), bits)));
        let disk = one.version.map(|version| match one.before {
            Some(before) => Version { disk: Some(before.bytes), ..version },
            None => version,
        });
        let seen = one.state.replaceable();
        PathChange { branch: seen.tip.map(Version::recorded), disk: Some(disk), index: None, seen }
    };
    let paths: Vec<PathChange> = changed.into_iter().map(step).collect();
    let attributes = paths.iter().any(|one| one.seen.path.is_attributes());
    let from = if attributes { Attributes::Tree(tree) } else { Attributes::Worktree(tree) };
    let mut worktree = WorktreeChange::of(&mut writer, None, from, paths)?;
    for file in &mut worktree.files {
        if let (Some(new), Some(bits)) = (&mut file.new, wanted.get(&file.path)) {
            new.permissions = Some(*bits);
        }
    }
    let mut private: Vec<PrivateRecord> = private.into_iter().collect();
    if let Some(record) = private.first_mut() {
        // Recovery finds bytes in any record.
        let known: BTreeSet<RepoPath> = record.files.iter().map(PrivateFile::path).collect();
        let more = std::mem::take(&mut worktree.private).into_iter();
        record.files.extend(more.filter(|file| !known.contains(&file.path())));
    }
    let log = format!("edt run: reverted {}", refused.to_hex_with_len(12));
    let (name, from) = (name.to_owned(), BranchOrigin::Created(refused));
    Ok(Change {
        base: Some(session.base),
        objects: writer.loose_objects(),
        worktree,
        private,
        ..Change::of(&session.name, RefMove { name, from, new: refused, log })
    })
}

#[cfg(test)]
mod tests {
    use crate::session::recording::record::{
        CommitInfo, RecordAction, RecordOutcome, record_changes,
    };
    use crate::session::recording::review::ChangesPreview;
    use crate::session::refs::message::Kind;
    use crate::tests::Scratch;
    use std::os::unix::fs::PermissionsExt as _;

    fn scratch() -> Scratch {
        let scratch = Scratch::with_rules(&[("a.txt", "one\n"), ("b.txt", "b\n")], ".env\n*.log\n");
        scratch.write(".env", "KEY=1\n");
        scratch.begin("fix");
        scratch
    }

    /// A program that does `change`, which a guard refuses if `action` says so.
    fn run(scratch: &Scratch, action: RecordAction, change: impl Fn()) -> RecordOutcome {
        let before = scratch.snapshot();
        change();
        let info = CommitInfo { message: "run".into(), agent: None, kind: Kind::Run };
        let decide = &mut move |_: &ChangesPreview<'_>| Ok(action.clone());
        record_changes(&mut scratch.open(), &before, &info, None, decide).unwrap()
    }

    fn bits(scratch: &Scratch, named: &str) -> u32 {
        scratch.root().join(named).metadata().unwrap().permissions().mode() & 0o777
    }

    fn chmod(scratch: &Scratch, named: &str, bits: u32) {
        let permissions = std::fs::Permissions::from_mode(bits);
        std::fs::set_permissions(scratch.root().join(named), permissions).unwrap();
    }

    fn rename(scratch: &Scratch, from: &str, to: &str) {
        std::fs::rename(scratch.root().join(from), scratch.root().join(to)).unwrap();
    }

    #[test]
    fn files_that_a_refused_program_made_executable_are_rolled_back() {
        let scratch = scratch();
        let all = ["a.txt", "b.txt", ".env", "build.sh"];
        scratch.write("a.txt", "one\nby the user\n");
        scratch.write("build.sh", "make\n");
        chmod(&scratch, ".env", 0o600);
        let earlier = all.map(|named| (scratch.text(named), bits(&scratch, named)));
        let outcome = run(&scratch, RecordAction::Restore, || {
            scratch.write("a.txt", "two\n");
            all.iter().for_each(|named| chmod(&scratch, named, 0o755));
        });
        assert!(outcome.refused.is_some());
        assert_eq!(all.map(|named| (scratch.text(named), bits(&scratch, named))), earlier);
    }

    #[test]
    fn a_file_with_lf_is_put_back_in_that_form_where_git_checks_out_crlf() {
        let scratch = scratch();
        let config = scratch.text(".git/config").unwrap();
        scratch.write(".git/config", &format!("{config}[core]\n\tautocrlf = true\n"));
        scratch.write("b.txt", "b\nby the user\n");
        let outcome = run(&scratch, RecordAction::Restore, || {
            scratch.write("a.txt", "two\n");
            scratch.write("b.txt", "two\n");
            scratch.write("n.txt", "new\n");
        });
        assert!(outcome.refused.is_some());
        let all = ["a.txt", "b.txt", "n.txt"].map(|named| scratch.text(named));
        let expected = [Some("one\n"), Some("b\nby the user\n"), None];
        assert_eq!(all, expected.map(|text| text.map(str::to_owned)));
    }

    #[test]
    fn an_executable_file_and_a_plain_one_are_put_back_after_a_move() {
        for (source, target) in [(0o700, 0o644), (0o600, 0o755)] {
            let scratch = scratch();
            chmod(&scratch, ".env", source);
            scratch.write("a.txt", "by the user\n");
            chmod(&scratch, "a.txt", target);
            let change = || rename(&scratch, ".env", "a.txt");
            assert!(run(&scratch, RecordAction::Record, change).refused.is_some());
            assert_eq!((bits(&scratch, ".env"), bits(&scratch, "a.txt")), (source, target));
            assert_eq!(scratch.text(".env").as_deref(), Some("KEY=1\n"));
            assert_eq!(scratch.text("a.txt").as_deref(), Some("by the user\n"));
        }
    }

    #[test]
    fn a_large_private_file_that_a_program_moves_comes_back() {
        let large = "x".repeat(1024 * 1024 + 1);
        for to in ["big.txt", "a.txt"] {
            for action in [RecordAction::Restore, RecordAction::Record] {
                let scratch = scratch();
                scratch.write("big.log", &large);
                let outcome = run(&scratch, action, || rename(&scratch, "big.log", to));
                if outcome.refused.is_none() && outcome.commit.is_some() {
                    scratch.undo(1).unwrap();
                }
                assert!(scratch.text("big.log").as_ref() == Some(&large), "{to}");
                assert_eq!(scratch.text(to), (to == "a.txt").then(|| "one\n".to_owned()));
            }
        }
    }

    #[test]
    fn a_large_private_file_whose_path_is_taken_stays_where_it_is() {
        let (scratch, large) = (scratch(), "x".repeat(1024 * 1024 + 1));
        scratch.write("big.log", &large);
        run(&scratch, RecordAction::Restore, || {
            rename(&scratch, "big.log", "big.txt");
            scratch.write("big.log/new.txt", "new\n");
        });
        assert!(scratch.text("big.txt").as_ref() == Some(&large));
    }
}
