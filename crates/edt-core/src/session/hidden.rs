//! Files that stay out of every commit although no ignore rule on disk matches them any more: the
//! agent removed the rule, or a program moved or copied an ignored file.

use std::collections::{BTreeMap, BTreeSet};

use super::current::Session;
use super::path_state::PathState;
use super::snapshot::{Snapshot, key_of};
use super::user_commits::UserCommits;
use edt_git::index::IndexState;
use edt_git::{ObjectWriter, Oid, Repo, Tracked};
use edt_io::fs;
use edt_types::{RepoPath, Result, Warning};

/// Whether only an edit of the session made the file of `state` visible to Git: the ignore rules of
/// the session's base match it, with the user's commits, and those of the tip do not.
///
/// # Errors
/// `OBJECT_MISSING`, `IO_ERROR`.
pub fn is_uncovered(repo: &Repo, session: &Session, state: &PathState) -> Result<bool> {
    // A file that is not there yet has nothing of the user.
    if !is_new(state) || state.disk.is_none() || state.ignored || session.tip == session.base {
        return Ok(false);
    }
    // The first commit of a session that begins on an unborn branch is not on disk yet.
    let Ok(tip) = repo.tree_of(session.tip) else { return Ok(false) };
    let base = repo.tree_of(session.base)?;
    let names: Vec<RepoPath> = rule_files(&state.path).collect();
    let now = rules(repo, tip, &names)?;
    let earlier = rules(repo, base, &names)?;
    if now == earlier {
        return Ok(false);
    }
    let writer = ObjectWriter::new(repo);
    let commits = UserCommits::of(&writer, session);
    let mut users = BTreeMap::new();
    for name in &names {
        let committed = commits.versions(name)?.into_iter().next();
        let committed = committed.map(|version| version.file.oid);
        if let Some(oid) = committed.or_else(|| earlier.get(name).copied()) {
            users.insert(name.clone(), oid);
        }
    }
    let matches = |rules: &BTreeMap<RepoPath, Oid>| repo.is_excluded_by(rules, &state.path);
    Ok(users != now && matches(&users)? && !matches(&now)?)
}

/// Marks the files as ignored that [`is_uncovered`] names.
///
/// # Errors
/// As [`is_uncovered`].
pub fn mark(repo: &Repo, session: &Session, states: &mut [PathState]) -> Result<()> {
    for state in states {
        state.ignored |= is_uncovered(repo, session, state)?;
    }
    Ok(())
}

/// The `.gitignore` files that may have rules for `path`.
fn rule_files(path: &RepoPath) -> impl Iterator<Item = RepoPath> {
    let below = path.parents().map(|directory| [directory, b"/.gitignore"].concat());
    std::iter::once(b".gitignore".to_vec()).chain(below).map(|name| RepoPath::from_tree(&name))
}

fn rules(repo: &Repo, tree: Oid, names: &[RepoPath]) -> Result<BTreeMap<RepoPath, Oid>> {
    let mut found = BTreeMap::new();
    for name in names {
        if let Tracked::File(file) = repo.tracked(tree, name)? {
            found.insert(name.clone(), file.oid);
        }
    }
    Ok(found)
}

/// Whether neither the session nor the index has the file.
fn is_new(state: &PathState) -> bool {
    state.tip.is_none() && state.staged == IndexState::Nothing
}

/// The ignored files of a snapshot, to find them again after the program ran.
pub struct IgnoredBefore<'s> {
    snapshot: &'s Snapshot,
    /// The names of the copies, by their size.
    copies: BTreeMap<u64, Vec<&'s str>>,
    /// What a rename does not change in the stats of the files that were not copied.
    not_kept: BTreeSet<&'s str>,
}

impl<'s> IgnoredBefore<'s> {
    #[must_use]
    pub fn of(snapshot: &'s Snapshot) -> IgnoredBefore<'s> {
        let mut copies: BTreeMap<u64, Vec<&str>> = BTreeMap::new();
        let ignored = snapshot.files.iter().filter(|(path, _)| snapshot.was_ignored(path));
        for copy in ignored.filter_map(|(_, copy)| copy.as_ref()) {
            let size = copy.key.split('-').nth(2);
            let size = size.and_then(|size| u64::from_str_radix(size, 16).ok());
            if let Some(size) = size.filter(|size| *size > 0) {
                copies.entry(size).or_default().push(&copy.key);
            }
        }
        let keys = snapshot.not_kept.iter().map(|one| one.key.as_str());
        let not_kept = keys.filter(|key| !key.is_empty()).map(without_ctime).collect();
        IgnoredBefore { snapshot, copies, not_kept }
    }

    /// Marks the file of `state` as ignored if it was, or if it is a copy of a file that was.
    /// Returns a warning for a file that Git does not ignore now. `None` for a file that nobody can
    /// compare, because its directory was not copied.
    pub fn mark(&self, state: &mut PathState) -> Option<Option<Warning>> {
        if !is_new(state) || state.ignored {
            return Some(None);
        }
        let why = if self.snapshot.was_ignored(&state.path) {
            if !self.snapshot.files.contains_key(&state.path) {
                return None;
            }
            "Git ignored it before the program ran"
        } else if !self.snapshot.files.contains_key(&state.path) && self.has_bytes_of(state) {
            "it has the content of a file that Git ignored before the program ran"
        } else {
            return Some(None);
        };
        state.ignored = true;
        let message = format!(
            "This file is in no commit: {why}. If it belongs in one, let the user add it (`git \
             add`)."
        );
        let path = Some(state.path.to_string());
        Some(Some(Warning { code: "stays_private", path, message }))
    }

    fn has_bytes_of(&self, state: &PathState) -> bool {
        let Some(disk) = &state.disk else { return false };
        let key = key_of(&disk.stat);
        let is_same = |copy: &&str| {
            let place = self.snapshot.directory.join(copy);
            fs::read_small(&place, disk.stat.size).is_some_and(|bytes| bytes == disk.exact())
        };
        self.not_kept.contains(without_ctime(&key))
            || self.copies.get(&disk.stat.size).is_some_and(|all| all.iter().any(is_same))
    }
}

/// The name of a copy without the time of the last change of the inode.
fn without_ctime(key: &str) -> &str {
    key.match_indices('-').rev().nth(1).map_or(key, |(at, _)| &key[..at])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::review::ChangesPreview;
    use crate::session::message::Kind;
    use crate::session::record::{
        CommitInfo, RecordAction, RecordOutcome, checkpoint, record_changes,
    };
    use crate::session::undo::{MoveOptions, Overlaps, UndoTarget, undo};
    use crate::tests::{Scratch, path, refusal};
    use edt_types::RecordedIn;

    fn scratch() -> Scratch {
        let scratch = Scratch::with_rules(&[("a.txt", "one\n")], ".env\n*.log\nbuild/\n");
        scratch.write(".env", "KEY=1\n");
        scratch.begin("fix");
        scratch
    }

    /// What is recorded of a program that does `change`.
    fn run(scratch: &Scratch, change: impl Fn()) -> RecordOutcome {
        let before = scratch.snapshot();
        change();
        let info = CommitInfo { message: "run".into(), agent: None, kind: Kind::Run };
        let mut workspace = scratch.open();
        let record = &mut |_: &ChangesPreview<'_>| Ok(RecordAction::Record);
        record_changes(&mut workspace, &before, &info, None, record).unwrap()
    }

    /// Whether a commit of any ref has the path.
    fn is_committed(scratch: &Scratch, named: &str) -> bool {
        let repo = scratch.repo();
        let commits = scratch.session().commits(&repo).map(|commit| commit.unwrap().oid);
        commits.into_iter().any(|commit| scratch.committed(commit, named).is_some())
    }

    #[test]
    fn an_ignored_file_whose_rule_a_program_removes_stays_private() {
        let scratch = scratch();
        let outcome = run(&scratch, || {
            scratch.write(".gitignore", "");
            scratch.write(".env", "KEY=2\n");
        });
        let file = outcome.files.iter().find(|file| file.path == ".env").unwrap();
        assert_eq!(file.recorded, RecordedIn::Private);
        assert_eq!(outcome.warnings[0].code, "stays_private");
        assert!(!is_committed(&scratch, ".env"));
        scratch.undo(1).unwrap();
        assert_eq!(scratch.text(".env").as_deref(), Some("KEY=1\n"));
    }

    #[test]
    fn later_programs_and_checkpoints_leave_such_a_file_out() {
        let scratch = scratch();
        run(&scratch, || scratch.write(".gitignore", ""));
        run(&scratch, || scratch.write(".env", "KEY=2\n"));
        checkpoint(&mut scratch.open(), None, &[]).unwrap();
        assert!(!is_committed(&scratch, ".env"));
        scratch.undo(1).unwrap();
        assert_eq!(scratch.text(".env").as_deref(), Some("KEY=1\n"));
    }

    #[test]
    fn an_ignored_file_whose_rule_an_edit_removes_stays_private() {
        let scratch = scratch();
        scratch.edit("rule", ".gitignore", ".env\n", "");
        let outcome = scratch.edit("key", ".env", "1", "2");
        assert_eq!(outcome.files[0].recorded, RecordedIn::Private);
        assert!(!is_committed(&scratch, ".env"));
        scratch.undo(2).unwrap();
        assert_eq!(scratch.text(".env").as_deref(), Some("KEY=1\n"));
    }

    #[test]
    fn no_commit_saves_such_a_file() {
        let scratch = scratch();
        scratch.edit("rule", ".gitignore", ".env\n", "");
        scratch.edit("key", ".env", "1", "2");
        scratch.write(".env", "KEY=by hand\n");
        let options = MoveOptions { overlaps: Overlaps::Save, ..MoveOptions::default() };
        let session = scratch.session();
        let finding = refusal(undo(&mut scratch.open(), &session, &UndoTarget::Edits(1), options));
        assert!(finding.hint().contains("Git ignores .env"), "{}", finding.hint());
    }

    #[test]
    fn a_file_whose_rule_the_user_removes_is_an_ordinary_one() {
        let scratch = scratch();
        scratch.write(".gitignore", "*.log\nbuild/\n");
        let outcome = scratch.edit("key", ".env", "1", "2");
        assert_eq!(outcome.files[0].recorded, RecordedIn::Branch);
        let scratch = self::scratch();
        scratch.edit("other rule", ".gitignore", "*.log", "*.tmp");
        scratch.user_commit("edt/fix", &[(".gitignore", Some("*.tmp\n"))], "by hand\n");
        scratch.write(".gitignore", "*.tmp\n");
        let outcome = scratch.edit("key", ".env", "1", "2");
        assert_eq!(outcome.files[0].recorded, RecordedIn::Branch);
    }

    #[test]
    fn a_moved_ignored_file_stays_private() {
        let scratch = scratch();
        let outcome = run(&scratch, || {
            scratch.remove(".env");
            scratch.write("moved.txt", "KEY=1\n");
            scratch.write("other.txt", "KEY=3\n");
        });
        assert!(!is_committed(&scratch, "moved.txt"));
        assert!(is_committed(&scratch, "other.txt"));
        let file = outcome.files.iter().find(|file| file.path == "moved.txt").unwrap();
        assert_eq!(file.recorded, RecordedIn::Private);
        scratch.undo(1).unwrap();
        assert_eq!(scratch.text(".env").as_deref(), Some("KEY=1\n"));
        assert_eq!(scratch.text("moved.txt"), None);
    }

    #[test]
    fn a_moved_ignored_file_that_was_not_copied_stays_private() {
        let scratch = scratch();
        scratch.write("x.log", &"x".repeat(1024 * 1024 + 1));
        let root = scratch.root().to_owned();
        run(&scratch, || std::fs::rename(root.join("x.log"), root.join("x.txt")).unwrap());
        assert!(!is_committed(&scratch, "x.txt"));
    }

    #[test]
    fn the_files_of_a_directory_of_build_output_stay_out() {
        let scratch = scratch();
        for at in 0..201 {
            scratch.write(&format!("build/{at}.o"), "x");
        }
        run(&scratch, || scratch.write(".gitignore", ""));
        assert!(!is_committed(&scratch, "build/7.o"));
        scratch.undo(1).unwrap();
        assert_eq!(scratch.text("build/7.o").as_deref(), Some("x"));
    }

    #[test]
    fn a_file_that_a_program_removes_comes_back_with_its_permissions() {
        use std::os::unix::fs::PermissionsExt as _;
        let scratch = scratch();
        scratch.write("key", "key\n");
        for named in ["key", ".env"] {
            let only_user = std::fs::Permissions::from_mode(0o600);
            std::fs::set_permissions(scratch.root().join(named), only_user).unwrap();
        }
        run(&scratch, || ["key", ".env"].iter().for_each(|named| scratch.remove(named)));
        scratch.undo(1).unwrap();
        for named in ["key", ".env"] {
            let found = scratch.root().join(named).metadata().unwrap().permissions().mode();
            assert_eq!(found & 0o777, 0o600, "{named}");
        }
    }

    #[test]
    fn the_rules_for_a_path_are_those_of_its_directories() {
        let names: Vec<String> =
            rule_files(&path("a/b/c.txt")).map(|name| name.to_string()).collect();
        assert_eq!(names, [".gitignore", "a/.gitignore", "a/b/.gitignore"]);
    }

    #[test]
    fn a_stat_without_its_last_time_is_that_before_a_rename() {
        assert_eq!(without_ctime("1-2-3-4-5-6-7"), "1-2-3-4-5");
        assert_eq!(without_ctime(""), "");
    }
}
