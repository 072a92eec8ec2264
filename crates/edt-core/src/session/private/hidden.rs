//! Files that stay out of every commit although no ignore rule on disk matches them any more: the
//! agent removed the rule, or a program moved or copied an ignored file.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use super::private_list;
use crate::session::files::file_copy::stat_at;
use crate::session::files::path_state::PathState;
use crate::session::refs::current::{self, Session};
use crate::session::user::unwind::FileSteps;
use crate::session::user::user_commits::UserCommits;
use edt_git::diff::Untracked;
use edt_git::index::IndexState;
use edt_git::{ObjectWriter, Oid, Repo, Tracked};
use edt_journal::IndexView;
use edt_types::text::counted;
use edt_types::{RepoPath, Result, Warning, WarningCode};

/// The most private files that a warning names.
const MAX_NAMED: usize = 20;

/// The files that were there before a program.
pub(crate) trait FilesBefore: std::fmt::Debug {
    /// Whether there may have been a file at `path`.
    fn existed(&self, path: &RepoPath) -> bool;
}

/// Which files of a worktree are private: no commit may have them, although Git does not ignore
/// them.
#[derive(Debug)]
pub struct Hidden<'a> {
    pub(crate) repo: &'a Repo,
    pub(crate) session: Option<&'a Session>,
    /// What was there before a program. A file that it created is not private.
    before: Option<&'a dyn FilesBefore>,
    /// The list of the worktree. It is read for the first file that may be private.
    listed: OnceCell<BTreeSet<RepoPath>>,
}

impl<'a> Hidden<'a> {
    #[must_use]
    pub fn of(repo: &'a Repo, session: Option<&'a Session>) -> Hidden<'a> {
        Hidden { repo, session, before: None, listed: OnceCell::new() }
    }

    /// The same, right after a program for which `before` was taken.
    #[must_use]
    pub(crate) fn after(self, before: &'a dyn FilesBefore) -> Hidden<'a> {
        Hidden { before: Some(before), ..self }
    }

    /// Marks the file of `state` as ignored if it is private.
    ///
    /// # Errors
    /// `OBJECT_MISSING`, `IO_ERROR`.
    pub fn mark(&self, state: &mut PathState) -> Result<()> {
        // A file that was never there has nothing of the user.
        let existed = || self.before.is_some_and(|before| before.existed(&state.path));
        if is_new(state) && !state.ignored && (state.disk.is_some() || existed()) {
            state.ignored = self.covers(&state.path)?;
        }
        Ok(())
    }

    /// Whether the file at `path` is private, if neither the session nor the index has it.
    pub(crate) fn covers(&self, path: &RepoPath) -> Result<bool> {
        let existed = || self.before.is_none_or(|before| before.existed(path));
        Ok(self.is_listed(path) && existed() || self.is_uncovered(path)?)
    }

    fn is_listed(&self, path: &RepoPath) -> bool {
        private_list::includes(self.listed.get_or_init(|| private_list::read(self.repo)), path)
    }

    /// Whether only an edit of the session made the file visible to Git: the ignore rules of the
    /// session's base match it, with the user's commits, and those of the tip do not.
    fn is_uncovered(&self, path: &RepoPath) -> Result<bool> {
        let Some(session) = self.session.filter(|session| session.tip != session.base) else {
            return Ok(false);
        };
        let repo = self.repo;
        // The first commit of a session that begins on an unborn branch is not on disk yet.
        let Ok(tip) = repo.tree_of(session.tip) else { return Ok(false) };
        let base = repo.tree_of(session.base)?;
        let names: Vec<RepoPath> = rule_files(path).collect();
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
        let matches = |rules: &BTreeMap<RepoPath, Oid>| repo.is_excluded_by(rules, path);
        Ok(users != now && matches(&users)? && !matches(&now)?)
    }

    /// Whether no file can be private.
    fn is_empty(&self) -> Result<bool> {
        if !self.listed.get_or_init(|| private_list::read(self.repo)).is_empty() {
            return Ok(false);
        }
        let Some(session) = self.session else { return Ok(true) };
        let trees = (self.repo.tree_of(session.base)?, self.repo.tree_of(session.tip)?);
        let differs = self.repo.tree_diff(trees.0, trees.1)?;
        Ok(!differs.iter().any(|one| one.path.is_ignore_file()))
    }
}

/// The private files of the worktree that no rule ignores now, in order. Removes from the list what
/// is not private any more.
///
/// # Errors
/// `OBJECT_MISSING`, `IO_ERROR`.
pub fn private_paths(repo: &Repo, session: Option<&Session>) -> Result<Vec<RepoPath>> {
    let tree = current::tree_now(repo, session)?;
    let listed = OnceCell::from(private_list::prune(repo, tree)?);
    let hidden = Hidden { listed, ..Hidden::of(repo, session) };
    if hidden.is_empty()? {
        return Ok(Vec::new());
    }
    let (index, mut found) = (IndexView::read(repo)?, BTreeSet::new());
    for path in repo.uncommitted(Untracked::Files)? {
        if hidden.covers(&path)?
            && let Ok(state) = PathState::at(repo, tree, Some(&index), &path)
            && is_new(&state)
            && state.disk.is_some()
            && !state.ignored
        {
            found.insert(path);
        }
    }
    Ok(found.into_iter().collect())
}

/// A warning that names the private files of the worktree, which a landing does not have. They stay
/// private in later sessions.
///
/// # Errors
/// As [`private_paths`]; `GIT_DIR_READ_ONLY`.
pub fn not_landed(repo: &Repo, session: &Session) -> Result<Option<Warning>> {
    let all = private_paths(repo, Some(session))?;
    if all.is_empty() {
        return Ok(None);
    }
    // The next session begins without the rules that made them private.
    private_list::add(repo, &all.iter().cloned().collect())?;
    let message = format!(
        "The landing does not have {}, because Git ignored them or their content before: {}. If \
         one belongs in a commit, let the user add it (`git add`).",
        counted(all.len(), "private file"),
        named(all.iter(), MAX_NAMED)
    );
    Ok(Some(Warning { code: WarningCode::StaysPrivate, path: None, message }))
}

/// At most `most` of the `paths`, for a warning.
pub(crate) fn named<'p>(
    mut paths: impl ExactSizeIterator<Item = &'p RepoPath>,
    most: usize,
) -> String {
    let mut names: Vec<String> = paths.by_ref().take(most).map(RepoPath::for_shell).collect();
    if paths.len() > 0 {
        names.push(format!("and {} more, which `edt status --json` lists", paths.len()));
    }
    names.join(", ")
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
pub(crate) fn is_new(state: &PathState) -> bool {
    state.tip.is_none() && state.staged == IndexState::Nothing
}

/// The private files that `steps` write where no file is.
///
/// # Errors
/// `IO_ERROR`.
pub(crate) fn restored(repo: &Repo, steps: &FileSteps) -> Result<BTreeSet<RepoPath>> {
    let new_rules = steps.paths().into_iter().any(RepoPath::is_ignore_file);
    let mut restored = BTreeSet::new();
    for path in &steps.private {
        if stat_at(repo, path).is_none() && (new_rules || !repo.is_excluded(path)?) {
            restored.insert(path.clone());
        }
    }
    Ok(restored)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proposal::landing::land;
    use crate::session::back::undo::{MoveOptions, Overlaps, UndoTarget, undo};
    use crate::session::landing::options::LandOptions;
    use crate::session::recording::record::{
        CommitInfo, RecordAction, RecordOutcome, checkpoint, record_changes,
    };
    use crate::session::recording::review::ChangesPreview;
    use crate::session::refs::message::Kind;
    use crate::tests::{Scratch, path, refusal};
    use edt_types::{Code, RecordedIn};

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
        assert_eq!(outcome.warnings[0].code.name(), "stays_private");
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
    fn an_ignored_file_whose_uncommitted_rule_an_edit_removes_stays_private() {
        let scratch = scratch();
        scratch.write(".gitignore", ".env\n*.log\nbuild/\n*.key\n");
        scratch.write("my.key", "secret\n");
        scratch.edit("rule", ".gitignore", "*.key\n", "");
        checkpoint(&mut scratch.open(), None, &[]).unwrap();
        assert!(!is_committed(&scratch, "my.key"));
        assert_eq!(private(&scratch), ["my.key"]);
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
        scratch.edit("key", ".env", "1", "2");
        assert_eq!(private(&scratch), [] as [&str; 0]);
        let scratch = self::scratch();
        scratch.edit("other rule", ".gitignore", "*.log", "*.tmp");
        scratch.user_commit("edt/fix", &[(".gitignore", Some("*.tmp\n"))], "by hand\n");
        scratch.write(".gitignore", "*.tmp\n");
        scratch.edit("key", ".env", "1", "2");
        assert_eq!(private(&scratch), [] as [&str; 0]);
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

    /// Moves `.env` to `env.txt` by a program.
    fn moved() -> Scratch {
        let scratch = scratch();
        let root = scratch.root().to_owned();
        run(&scratch, || std::fs::rename(root.join(".env"), root.join("env.txt")).unwrap());
        scratch
    }

    fn private(scratch: &Scratch) -> Vec<String> {
        let (repo, session) = (scratch.repo(), scratch.session());
        let all = private_paths(&repo, Some(&session)).unwrap();
        all.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_private_file_stays_private_in_later_calls() {
        let scratch = moved();
        run(&scratch, || scratch.write("env.txt", "KEY=1\nMORE=2\n"));
        let outcome = scratch.edit("key", "env.txt", "1", "2");
        assert_eq!(outcome.files[0].recorded, RecordedIn::Private);
        let outcome = checkpoint(&mut scratch.open(), None, &[]).unwrap();
        assert_eq!(outcome.warnings[0].code.name(), "left_out");
        assert!(!is_committed(&scratch, "env.txt"));
        assert_eq!(private(&scratch), ["env.txt"]);
        scratch.undo(3).unwrap();
        assert_eq!(scratch.text(".env").as_deref(), Some("KEY=1\n"));
        assert_eq!((scratch.text("env.txt"), private(&scratch)), (None, vec![]));
        scratch.redo().unwrap();
        checkpoint(&mut scratch.open(), None, &[]).unwrap();
        assert!(!is_committed(&scratch, "env.txt"));
    }

    #[test]
    fn a_copy_of_a_private_file_is_private() {
        let scratch = moved();
        let text = "KEY=1 and enough bytes that nobody writes twice\n";
        run(&scratch, || scratch.write("env.txt", text));
        run(&scratch, || scratch.write("copy.txt", text));
        assert!(!is_committed(&scratch, "copy.txt"));
        assert_eq!(private(&scratch), ["copy.txt", "env.txt"]);
    }

    #[test]
    fn a_private_file_that_the_user_adds_or_removes_is_an_ordinary_one() {
        let scratch = moved();
        let repo = scratch.repo();
        let add = ["add", "env.txt"];
        assert!(edt_io::spawn::git(repo.environment(), scratch.root(), &add, b"").unwrap().ok);
        assert_eq!(private(&scratch), [""; 0]);
        checkpoint(&mut scratch.open(), None, &[]).unwrap();
        assert!(is_committed(&scratch, "env.txt"));
        let scratch = moved();
        scratch.remove("env.txt");
        run(&scratch, || scratch.write("env.txt", "by program\n"));
        assert!(is_committed(&scratch, "env.txt"));
    }

    #[test]
    fn a_private_file_stays_private_in_the_next_session() {
        let scratch = moved();
        scratch.edit("a", "a.txt", "one", "two");
        let session = scratch.session();
        let landed = land(&mut scratch.open(), &session, &LandOptions::default()).unwrap();
        let [warning] = &landed.warnings[..] else { panic!("{:?}", landed.warnings) };
        assert!(warning.message.contains("1 private file"), "{warning:?}");
        scratch.begin("next");
        checkpoint(&mut scratch.open(), None, &[]).unwrap();
        assert!(!is_committed(&scratch, "env.txt"));
    }

    #[test]
    fn what_an_interrupted_program_moved_stays_private() {
        let scratch = scratch();
        drop(scratch.snapshot());
        let root = scratch.root().to_owned();
        std::fs::rename(root.join(".env"), root.join("env.txt")).unwrap();
        assert_eq!(crate::session::recording::kept::interrupted(&scratch.repo()).len(), 1);
        checkpoint(&mut scratch.open(), None, &[]).unwrap();
        assert!(!is_committed(&scratch, "env.txt"));
    }

    #[test]
    fn a_new_file_with_usual_content_is_an_ordinary_one() {
        let scratch = scratch();
        scratch.write("x.log", "{}\n");
        let outcome = run(&scratch, || scratch.write("config.json", "{}\n"));
        assert!(is_committed(&scratch, "config.json"));
        assert_eq!(outcome.warnings, []);
    }

    #[test]
    fn a_file_that_was_not_copied_is_not_taken_for_a_new_one() {
        let scratch = scratch();
        for at in 0..201 {
            scratch.write(&format!("build/{at}.o"), "x");
        }
        run(&scratch, || scratch.write(".gitignore", ""));
        scratch.write(".gitignore", "build/\n");
        run(&scratch, || scratch.write(".gitignore", "*.tmp\n"));
        scratch.undo(1).unwrap();
        assert_eq!(scratch.text("build/7.o").as_deref(), Some("x"));
    }

    #[test]
    fn a_new_file_in_an_ignored_directory_whose_rule_a_program_removes_is_undone() {
        let scratch = scratch();
        scratch.write("build/1.o", "x");
        run(&scratch, || {
            scratch.write(".gitignore", "");
            scratch.write("build/2.o", "y");
        });
        assert!(!is_committed(&scratch, "build/2.o"));
        scratch.undo(1).unwrap();
        assert_eq!(
            (scratch.text("build/1.o").as_deref(), scratch.text("build/2.o")),
            (Some("x"), None)
        );
    }

    #[test]
    fn a_program_that_removes_a_private_file_commits_nothing_of_it() {
        let scratch = moved();
        run(&scratch, || scratch.remove("env.txt"));
        assert!(!is_committed(&scratch, "env.txt"));
        scratch.undo(1).unwrap();
        assert_eq!(scratch.text("env.txt").as_deref(), Some("KEY=1\n"));
        let scratch = self::scratch();
        scratch.edit("rule", ".gitignore", ".env\n", "");
        run(&scratch, || scratch.remove(".env"));
        assert!(!is_committed(&scratch, ".env"));
        scratch.undo(1).unwrap();
        assert_eq!(scratch.text(".env").as_deref(), Some("KEY=1\n"));
    }

    #[test]
    fn a_hard_link_of_a_small_ignored_file_is_private() {
        let scratch = scratch();
        let root = scratch.root().to_owned();
        run(&scratch, || std::fs::hard_link(root.join(".env"), root.join("link.txt")).unwrap());
        assert!(!is_committed(&scratch, "link.txt"));
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

    /// A program that moves `.env` in one step with `change`.
    fn moves(scratch: &Scratch, to: &str, change: impl Fn()) -> RecordOutcome {
        let root = scratch.root().to_owned();
        run(scratch, || {
            std::fs::rename(root.join(".env"), root.join(to)).unwrap();
            change();
        })
    }

    fn append(scratch: &Scratch, named: &str, text: &str) {
        use std::io::Write as _;
        let place = scratch.root().join(named);
        let mut file = std::fs::OpenOptions::new().append(true).open(place).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    #[test]
    fn a_private_file_that_one_program_moves_and_changes_stays_private() {
        let scratch = scratch();
        moves(&scratch, "env.txt", || append(&scratch, "env.txt", "MORE=2\n"));
        assert!(!is_committed(&scratch, "env.txt"));
        let root = scratch.root().to_owned();
        run(&scratch, || {
            std::fs::rename(root.join("env.txt"), root.join("again.txt")).unwrap();
            append(&scratch, "again.txt", "MORE=3\n");
        });
        assert!(!is_committed(&scratch, "again.txt"));
        assert_eq!(private(&scratch), ["again.txt"]);
        scratch.undo(2).unwrap();
        assert_eq!(scratch.text(".env").as_deref(), Some("KEY=1\n"));
    }

    #[test]
    fn a_private_file_that_a_program_moves_onto_another_file_is_rolled_back() {
        for (onto, earlier) in [("a.txt", "one\n"), ("notes.txt", "by the user\n")] {
            let scratch = scratch();
            scratch.write("notes.txt", "by the user\n");
            let permissions = |named: &str| {
                use std::os::unix::fs::PermissionsExt as _;
                scratch.root().join(named).metadata().unwrap().permissions().mode()
            };
            let only_user = std::os::unix::fs::PermissionsExt::from_mode(0o600);
            std::fs::set_permissions(scratch.root().join(".env"), only_user).unwrap();
            let earlier_permissions = permissions(onto);
            let outcome = moves(&scratch, onto, || append(&scratch, onto, "MORE=2\n"));
            assert!(outcome.refused.is_some());
            assert_eq!(permissions(onto), earlier_permissions);
            assert_eq!(scratch.text(onto).as_deref(), Some(earlier));
            assert_eq!(scratch.text(".env").as_deref(), Some("KEY=1\n"));
            assert_eq!(private(&scratch), [""; 0]);
            assert_eq!(scratch.session().edits(&scratch.repo()).unwrap(), 0);
            let repo = scratch.repo();
            let refused = repo.head().unwrap().commit.unwrap();
            assert_eq!(scratch.committed(refused, "notes.txt"), None);
        }
    }

    #[test]
    fn a_refused_move_names_both_paths() {
        let scratch = scratch();
        let (before, root) = (scratch.snapshot(), scratch.root().to_owned());
        std::fs::rename(root.join(".env"), root.join("a.txt")).unwrap();
        let info = CommitInfo { message: "run".into(), agent: None, kind: Kind::Run };
        let mut found = Vec::new();
        let record = &mut |preview: &ChangesPreview<'_>| {
            found.extend(preview.moved.to_vec());
            Ok(RecordAction::Record)
        };
        record_changes(&mut scratch.open(), &before, &info, None, record).unwrap();
        let [finding] = &found[..] else { panic!("{found:?}") };
        assert_eq!(
            (finding.code, finding.summary.as_str()),
            (
                Code::ProtectedPath,
                "The program moved .env, a private file, onto a.txt, which Git tracks."
            )
        );
    }

    #[test]
    fn a_moved_file_of_which_there_is_no_copy_is_rolled_back() {
        let scratch = scratch();
        let large = "x".repeat(1024 * 1024 + 1);
        scratch.write("x.log", &large);
        let root = scratch.root().to_owned();
        run(&scratch, || std::fs::rename(root.join("x.log"), root.join("a.txt")).unwrap());
        assert_eq!(scratch.text("a.txt").as_deref(), Some("one\n"));
        assert!(scratch.text("x.log") == Some(large));
    }

    #[test]
    fn a_new_file_with_the_inode_of_a_removed_private_one_is_an_ordinary_one() {
        let scratch = scratch();
        run(&scratch, || {
            scratch.remove(".env");
            // A file made in the same tick of the kernel's clock would count as old.
            std::thread::sleep(std::time::Duration::from_millis(20));
            scratch.write("other.txt", "something else\n");
        });
        assert!(is_committed(&scratch, "other.txt"));
    }

    #[test]
    fn a_path_leaves_the_list_when_its_file_is_gone() {
        let scratch = moved();
        scratch.remove("env.txt");
        assert_eq!(private(&scratch), [""; 0]);
        scratch.write("env.txt", "a document\n");
        checkpoint(&mut scratch.open(), None, &[]).unwrap();
        assert!(is_committed(&scratch, "env.txt"));
    }

    #[test]
    fn a_path_stays_listed_while_a_rule_ignores_it() {
        let scratch = moved();
        scratch.write(".gitignore", "env.txt\n");
        assert_eq!(private(&scratch), [""; 0]);
        scratch.write(".gitignore", "");
        assert_eq!(private(&scratch), ["env.txt"]);
        checkpoint(&mut scratch.open(), None, &[]).unwrap();
        assert!(!is_committed(&scratch, "env.txt"));
    }

    #[test]
    fn an_ignored_file_with_committed_content_may_be_moved_onto_its_path() {
        let scratch = scratch();
        scratch.write("a.log", "one\n");
        run(&scratch, || scratch.write("a.txt", "two\n"));
        let root = scratch.root().to_owned();
        let outcome =
            run(&scratch, || std::fs::rename(root.join("a.log"), root.join("a.txt")).unwrap());
        assert_eq!((outcome.refused, outcome.warnings), (None, vec![]));
        assert_eq!(scratch.committed(scratch.head(), "a.txt").as_deref(), Some("one\n"));
        scratch.undo(1).unwrap();
        assert_eq!(scratch.text("a.txt").as_deref(), Some("two\n"));
        assert_eq!(scratch.text("a.log").as_deref(), Some("one\n"));
    }

    #[test]
    fn a_tracked_hard_link_of_a_large_ignored_file_is_not_moved() {
        let scratch = Scratch::with_rules(&[], "build/\n");
        scratch.write("build/out", &"x".repeat(1024 * 1024 + 1));
        let root = scratch.root().to_owned();
        std::fs::hard_link(root.join("build/out"), root.join("out")).unwrap();
        let repo = scratch.repo();
        for arguments in [&["add", "out"][..], &["commit", "-qm", "out"]] {
            assert!(edt_io::spawn::git(repo.environment(), &root, arguments, b"").unwrap().ok);
        }
        scratch.begin("fix");
        let outcome = run(&scratch, || scratch.write("build/out", "v2\n"));
        assert_eq!(outcome.refused, None);
        assert_eq!(scratch.committed(scratch.head(), "out").as_deref(), Some("v2\n"));
        // A link that the program makes is one onto the tracked file.
        scratch.write("build/secret", &"y".repeat(1024 * 1024 + 1));
        let outcome = run(&scratch, || {
            scratch.remove("out");
            std::fs::hard_link(root.join("build/secret"), root.join("out")).unwrap();
        });
        assert!(outcome.refused.is_some());
    }

    #[test]
    fn a_later_file_in_a_listed_directory_is_an_ordinary_one() {
        let scratch = scratch();
        scratch.write("sub/.gitignore", "*\n");
        scratch.write("sub/key", "secret\n");
        run(&scratch, || scratch.remove("sub/.gitignore"));
        scratch.write("sub/doc", "doc\n");
        checkpoint(&mut scratch.open(), None, &[]).unwrap();
        assert!(is_committed(&scratch, "sub/doc") && !is_committed(&scratch, "sub/key"));
    }

    #[test]
    fn a_removed_file_of_ignore_rules_is_no_file_that_stays() {
        let scratch = scratch();
        scratch.write("sub/.gitignore", "*\n");
        let outcome = run(&scratch, || scratch.remove("sub/.gitignore"));
        assert_eq!(outcome.warnings, []);
    }

    #[test]
    fn a_restored_private_file_is_private() {
        let scratch = moved();
        run(&scratch, || scratch.remove("env.txt"));
        assert_eq!(private(&scratch), [""; 0]);
        scratch.undo(1).unwrap();
        checkpoint(&mut scratch.open(), None, &[]).unwrap();
        assert_eq!(private(&scratch), ["env.txt"]);
        assert!(!is_committed(&scratch, "env.txt"));
    }

    #[test]
    fn the_rules_for_a_path_are_those_of_its_directories() {
        let names: Vec<String> = rule_files(&path("a/b/c.txt")).map(|name| name.text()).collect();
        assert_eq!(names, [".gitignore", "a/.gitignore", "a/b/.gitignore"]);
    }
}
