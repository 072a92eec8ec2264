//! Copies of files as they were before a program ran, at a place where the user finds them:
//! `<git-dir>/edt/kept/<n>/<path>`. edt never changes a file of the worktree with them.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::ignored_before;
use super::kept_directory::{directory, numbers};
use super::run_store::RunStore;
use super::snapshot::{self, Snapshot};
use crate::session::files::file_copy::{self, Copy};
use crate::session::worktree::workspace::LockedWorkspace;
use edt_git::{Oid, Repo, Tracked};
use edt_io::disk::{FoundEntry, Parent};
use edt_io::{failed, fs};
use edt_types::text::{Shown as _, counted};
use edt_types::{Code, Effect, Finding, RepoPath, Result, Warning, WarningCode};

/// The most paths that a warning lists.
const MAX_LISTED: usize = 20;

/// A path that differs from before a program ran.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Differing {
    path: RepoPath,
    before: FileBefore,
}

/// What was at a path before a program ran.
#[derive(Debug, Clone, PartialEq, Eq)]
enum FileBefore {
    Copied(Copy),
    Link(Vec<u8>),
    /// The file of this tree.
    Recorded(Oid),
    Nothing,
    /// There is no copy of it.
    Unknown,
}

/// Warns of each program that was interrupted together with edt: which files differ from before
/// it, and how to restore each. Nothing is recorded, and no file of the worktree is changed: who
/// changed the files since is unknown. The copies move to [`directories`].
///
/// Does nothing if the copies cannot be written; a later call tries again.
#[must_use]
pub fn interrupted(repo: &Repo) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for snapshot in Snapshot::interrupted(repo) {
        if let Ok(found) = report_interrupted(repo, &snapshot) {
            warnings.extend(found);
            snapshot.finish();
        }
    }
    for run in RunStore::interrupted(repo) {
        let reported =
            run.snapshot(repo, &[]).and_then(|taken| report_interrupted(repo, &taken.snapshot));
        if let Ok(found) = reported {
            warnings.extend(found);
            run.remove();
        }
    }
    warnings
}

/// The warning about one program that was interrupted together with edt; `None` if nothing differs.
///
/// # Errors
/// `IO_ERROR`, `OBJECT_MISSING`.
pub fn report_interrupted(repo: &Repo, snapshot: &Snapshot) -> Result<Option<Warning>> {
    ignored_before::list_interrupted(repo, snapshot)?;
    report(repo, snapshot, &differing(repo, snapshot)?)
}

impl LockedWorkspace {
    /// This workspace, with what a command that changes something reports first: the warnings of the
    /// programs that were interrupted together with edt.
    #[must_use]
    pub fn with_interrupted(mut self) -> (LockedWorkspace, Vec<Warning>) {
        let warnings = interrupted_if_announced(&mut self);
        (self, warnings)
    }
}

/// As [`interrupted`], but looks only if the journal has a hint that a program was announced.
#[must_use]
pub fn interrupted_if_announced(workspace: &mut LockedWorkspace) -> Vec<Warning> {
    if !workspace.journal.program_announced() {
        return Vec::new();
    }
    let warnings = interrupted(&workspace.repo);
    update_hint(workspace);
    warnings
}

/// Stores in the journal whether a program is announced.
pub fn update_hint(workspace: &mut LockedWorkspace) {
    if workspace.is_locked() {
        let repo = &workspace.repo;
        let any = Snapshot::any_announced(repo) || RunStore::any(repo);
        workspace.journal.set_program_announced(any);
    }
}

/// Copies the earlier files at `paths`, and warns of the changed links: a session cannot record
/// either. A file in whose place a directory is now is a finding: no undo brings it back. `tree` has
/// those without a copy.
///
/// # Errors
/// `IO_ERROR`, `OBJECT_MISSING`.
pub(crate) fn not_recorded(
    repo: &Repo,
    before: &Snapshot,
    tree: Oid,
    paths: &[RepoPath],
) -> Result<(Vec<Warning>, Vec<Finding>)> {
    let (mut warnings, mut found, mut place) = (Vec::new(), Vec::new(), None);
    let is_displaced =
        |path: &RepoPath| file_copy::stat_at(repo, path).is_some_and(|now| now.is_directory());
    for path in paths.iter().filter(|path| is_displaced(path)) {
        if !before.files.contains_key(path) && matches!(repo.tracked(tree, path)?, Tracked::File(_))
        {
            found.push(displaced(path, &format!("git restore {}", path.for_shell())));
        }
    }
    for (path, copy) in &before.files {
        let Some(copy) = copy else { continue };
        if copy.link.is_none() && !paths.contains(path) || before.is_at(repo, path) {
            continue;
        }
        let detail = if let Some(target) = &copy.link {
            format!("a symbolic link to {}", RepoPath::from_tree(target).for_shell())
        } else {
            let copied = keep(repo, before, path, copy, &mut place)?;
            if is_displaced(path) {
                let source = RepoPath::from_tree(copied.as_os_str().as_encoded_bytes());
                let command = format!("cp {} {}", source.for_shell(), path.for_shell());
                found.push(displaced(path, &command));
            }
            format!("the file that is now copied to {}", copied.shown())
        };
        let message = format!(
            "The session cannot record this path. Before the program ran, it was {detail}."
        );
        warnings.push(Warning { code: WarningCode::BackedUp, path: Some(path.text()), message });
    }
    Ok((warnings, found))
}

/// The refusal of a directory in place of the file at `path`, which `command` brings back.
fn displaced(path: &RepoPath, command: &str) -> Finding {
    Finding::new(
        Code::NotAFile,
        format!(
            "The program put a directory in place of the file {path}. The session cannot record \
             that, and `edt undo` would not bring the file back."
        ),
        format!(
            "Move the directory to another path if it is still there. Then restore the file: \
             `{command}`."
        ),
    )
    .with_effect(Effect::Unstated)
    .at(path)
}

/// The refusal to record what changed while a program ran during a merge or a rebase.
pub(crate) fn stays_on_disk(busy: Finding) -> Finding {
    let summary = format!(
        "{} What changed while the program ran stays on disk and cannot be recorded now.",
        busy.summary
    );
    let remedy = format!(
        "`edt status` lists the files that differ from before the program, and how to restore each. \
         {}",
        busy.remedy
    );
    Finding { summary, remedy, effect: Effect::Unstated, ..busy }
}

/// The directories of copies, oldest first.
#[must_use]
pub fn directories(repo: &Repo) -> Vec<PathBuf> {
    let directory = directory(repo);
    numbers(repo).into_iter().map(|number| directory.join(number.to_string())).collect()
}

/// A warning that names the directories of copies, if there are any.
#[must_use]
pub fn reminder(repo: &Repo) -> Option<Warning> {
    let all = directories(repo);
    let (first, last) = (all.first()?, all.last()?);
    let names = if first == last {
        first.shown()
    } else {
        format!("{} to {}", first.shown(), last.shown())
    };
    let message = format!(
        "Copies of files as they were before a program ran are in {names}. Remove a directory when \
         you no longer need it; `edt gc` removes those that are older than 30 days."
    );
    Some(Warning { code: WarningCode::BackupsExist, path: None, message })
}

/// Removes the directories of copies that were made before `before`, in seconds since 1970.
pub(crate) fn remove_older(repo: &Repo, before: i64) {
    let minutes = (edt_io::clock::seconds() - before) / 60;
    let is_old = |place: &PathBuf| {
        fs::minutes_old(place).is_some_and(|age| i64::try_from(age).is_ok_and(|age| age >= minutes))
    };
    for place in directories(repo).into_iter().filter(is_old) {
        let _ = fs::remove_dir_all(&place);
        let _ = fs::remove_file(&place.with_extension("list"));
    }
}

/// Copies a file of the snapshot to a new directory `place`, or to the one that it has.
fn keep(
    repo: &Repo,
    snapshot: &Snapshot,
    path: &RepoPath,
    copy: &Copy,
    place: &mut Option<PathBuf>,
) -> Result<PathBuf> {
    use std::os::unix::ffi::OsStrExt as _;
    let root = place.get_or_insert_with(|| {
        let next = numbers(repo).last().map_or(1, |last| last + 1);
        directory(repo).join(next.to_string())
    });
    let file = root.join(std::ffi::OsStr::from_bytes(path.as_bytes()));
    let wrap = |error: std::io::Error| failed("write", &file, &error);
    fs::make_private_dir(file.parent().unwrap_or(root)).map_err(wrap)?;
    let bytes = fs::read_file_limited(&snapshot.directory.join(&copy.key), u64::MAX);
    let bytes = bytes.map_err(wrap)?.unwrap_or_default();
    fs::write_atomic(&file, &bytes, 0o600 | copy.permissions & 0o100).map_err(wrap)?;
    Ok(file)
}

/// The paths that differ from before the program.
fn differing(repo: &Repo, snapshot: &Snapshot) -> Result<Vec<Differing>> {
    let head = || {
        let head = repo.head()?.commit;
        head.map_or_else(|| Ok(repo.empty_tree()), |commit| repo.tree_of(commit))
    };
    let tree = snapshot.tree.map_or_else(head, Ok)?;
    let mut paths =
        if snapshot.is_recorded { BTreeSet::new() } else { snapshot::differing(repo, tree)? };
    paths.extend(snapshot.files.keys().cloned());
    paths.extend(snapshot.not_kept.iter().map(|one| one.path.clone()));
    let mut all = Vec::new();
    for path in paths {
        if snapshot.is_at(repo, &path) {
            continue;
        }
        let before = match snapshot.files.get(&path) {
            Some(Some(Copy { link: Some(target), .. })) => FileBefore::Link(target.clone()),
            Some(Some(copy)) if has_bytes_of(repo, snapshot, &path, copy) => continue,
            Some(Some(copy)) => FileBefore::Copied(copy.clone()),
            Some(None) => FileBefore::Nothing,
            None if snapshot.not_kept.iter().any(|one| one.path == path) => FileBefore::Unknown,
            None => match repo.tracked(tree, &path)? {
                Tracked::File(_) => FileBefore::Recorded(tree),
                Tracked::Nothing if file_copy::stat_at(repo, &path).is_some() => {
                    FileBefore::Nothing
                }
                Tracked::Nothing => continue,
                _ => FileBefore::Unknown,
            },
        };
        all.push(Differing { path, before });
    }
    Ok(all)
}

/// Whether the file at `path` has the bytes of its copy.
fn has_bytes_of(repo: &Repo, snapshot: &Snapshot, path: &RepoPath, copy: &Copy) -> bool {
    let (directory, name) = path.split();
    let Ok(Parent::Open(parent)) = repo.root().beneath(directory) else { return false };
    let Some(before) = fs::read_small(&snapshot.directory.join(&copy.key), u64::MAX) else {
        return false;
    };
    let most = before.len() as u64 + 1;
    matches!(parent.read_at_most(name, most), Ok(FoundEntry::File(_, now)) if now == before)
}

/// The warning about a program that was interrupted. `None` if nothing differs.
fn report(repo: &Repo, snapshot: &Snapshot, all: &[Differing]) -> Result<Option<Warning>> {
    if all.is_empty() {
        return Ok(None);
    }
    let (mut lines, mut place) = (Vec::new(), None);
    for Differing { path, before } in all {
        let shown = path.for_shell();
        lines.push(match before {
            FileBefore::Copied(copy) => {
                let copied = keep(repo, snapshot, path, copy, &mut place)?;
                let copied = RepoPath::from_tree(copied.as_os_str().as_encoded_bytes());
                format!("{shown}: `cp {} {shown}` restores it", copied.for_shell())
            }
            FileBefore::Link(target) => {
                let target = RepoPath::from_tree(target).for_shell();
                format!("{shown}: it was a symbolic link to {target}")
            }
            FileBefore::Recorded(tree) => {
                let tree = tree.to_hex_with_len(12);
                format!("{shown}: `git restore --source={tree} -- {shown}` restores it")
            }
            FileBefore::Nothing => format!("{shown}: it did not exist"),
            FileBefore::Unknown => format!("{shown}: there is no copy of it"),
        });
    }
    let differ = if all.len() == 1 { "differs" } else { "differ" };
    let mut message = format!(
        "An earlier `edt run` ended without a record of what changed meanwhile. {} {differ} \
         now from before that program. The program or somebody else changed them since, so that \
         nothing was recorded and no file was changed. From the root of the worktree:",
        counted(all.len(), "file")
    );
    let more = lines.len().saturating_sub(MAX_LISTED);
    if more > 0 {
        let list = keep_list(repo, &lines, &mut place)?;
        lines.truncate(MAX_LISTED);
        lines.push(format!("and {more} more, which {} lists", list.shown()));
    }
    for line in lines {
        message += "\n";
        message += &line;
    }
    if let Some(place) = place {
        message += &format!("\nRemove {} when you no longer need the copies.", place.shown());
    }
    Ok(Some(Warning { code: WarningCode::InterruptedRun, path: None, message }))
}

/// Writes the complete list next to the directory `place`.
fn keep_list(repo: &Repo, lines: &[String], place: &mut Option<PathBuf>) -> Result<PathBuf> {
    let next = numbers(repo).last().map_or(1, |last| last + 1);
    let root = place.get_or_insert_with(|| directory(repo).join(next.to_string()));
    fs::make_private_dir(root).map_err(|error| failed("make", root, &error))?;
    let list = root.with_extension("list");
    let text = lines.join("\n") + "\n";
    fs::write_atomic(&list, text.as_bytes(), 0o600)
        .map_err(|error| failed("write", &list, &error))?;
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{Scratch, path};

    fn scratch() -> Scratch {
        let scratch = Scratch::with(&[("a.txt", "one\n"), ("b.txt", "b\n"), ("c.txt", "c\n")]);
        scratch.write(".git/info/exclude", "*.log\n");
        scratch
    }

    #[test]
    fn a_program_that_was_interrupted_is_reported_once_and_changes_nothing() {
        let scratch = scratch();
        scratch.write("a.txt", "by hand\n");
        scratch.write("x.log", "log\n");
        scratch.remove("c.txt");
        drop(scratch.snapshot());
        let head = scratch.head();
        scratch.write("a.txt", "later\n");
        scratch.write("b.txt", "later\n");
        scratch.write("c.txt", "c\n");
        scratch.write("dir/new.txt", "later\n");
        scratch.remove("x.log");
        let repo = scratch.repo();
        let [warning] = &interrupted(&repo)[..] else { panic!("not reported") };
        let [place] = &directories(&repo)[..] else { panic!("no directory") };
        let tree = repo.tree_of(head).unwrap().to_hex_with_len(12).to_string();
        let place_shown = place.display();
        let lines: Vec<&str> = warning.message.lines().skip(1).collect();
        assert_eq!(
            lines,
            [
                format!("a.txt: `cp {place_shown}/a.txt a.txt` restores it"),
                format!("b.txt: `git restore --source={tree} -- b.txt` restores it"),
                "c.txt: it did not exist".to_owned(),
                "dir/new.txt: it did not exist".to_owned(),
                format!("x.log: `cp {place_shown}/x.log x.log` restores it"),
                format!("Remove {place_shown} when you no longer need the copies."),
            ]
        );
        assert_eq!(std::fs::read_to_string(place.join("a.txt")).unwrap(), "by hand\n");
        assert_eq!(std::fs::read_to_string(place.join("x.log")).unwrap(), "log\n");
        assert_eq!((scratch.head(), scratch.text("a.txt").as_deref()), (head, Some("later\n")));
        assert_eq!(interrupted(&repo), []);
        assert_eq!(reminder(&repo).unwrap().code.name(), "backups_exist");
    }

    #[test]
    fn a_program_that_changed_nothing_is_not_reported() {
        let scratch = scratch();
        scratch.write("a.txt", "by hand\n");
        scratch.write("new.txt", "by hand\n");
        scratch.write("large.log", &"x".repeat(2_000_000));
        drop(scratch.snapshot());
        assert_eq!(interrupted(&scratch.repo()), []);
        assert_eq!((directories(&scratch.repo()), reminder(&scratch.repo())), (vec![], None));
        assert!(Snapshot::interrupted(&scratch.repo()).is_empty());
    }

    #[test]
    fn the_journal_knows_whether_a_program_was_announced() {
        let scratch = scratch();
        let mut workspace = scratch.open();
        assert_eq!(interrupted_if_announced(&mut workspace), []);
        let running = scratch.snapshot();
        update_hint(&mut workspace);
        drop(workspace);
        scratch.write("a.txt", "by program\n");
        // The hint outlives transactions of other calls.
        scratch.begin("fix");
        let mut workspace = scratch.open();
        assert_eq!(interrupted_if_announced(&mut workspace), []);
        drop(running);
        assert_eq!(interrupted_if_announced(&mut workspace).len(), 1);
        assert!(!workspace.journal.program_announced());
        drop(workspace);
        assert!(!scratch.open().journal.program_announced());
    }

    #[test]
    fn the_library_reports_an_interrupted_program_in_its_next_outcome() {
        let scratch = scratch();
        let mut locked = scratch.open();
        let running = scratch.snapshot();
        update_hint(&mut locked);
        drop((running, locked));
        scratch.write("a.txt", "by program\n");
        let mut workspace =
            crate::Workspace::open(scratch.root(), crate::Options::default()).unwrap();
        workspace.apply(&crate::Request::new("x").edit("b.txt", "none", "x")).unwrap_err();
        let request = |text| crate::Request::new("x").append("b.txt", text);
        let codes = |outcome: edt_types::Outcome| {
            outcome.warnings.iter().map(|warning| warning.code.name()).collect::<Vec<_>>()
        };
        assert_eq!(codes(workspace.apply(&request("1\n")).unwrap()), ["interrupted_run"]);
        assert!(codes(workspace.apply(&request("2\n")).unwrap()).is_empty());
    }

    #[test]
    fn a_running_program_is_not_reported() {
        let scratch = scratch();
        let running = scratch.snapshot();
        scratch.write("a.txt", "by program\n");
        assert_eq!(interrupted(&scratch.repo()), []);
        drop(running);
        assert_eq!(interrupted(&scratch.repo()).len(), 1);
    }

    #[test]
    fn a_long_list_is_in_a_file() {
        let scratch = scratch();
        drop(scratch.snapshot());
        for at in 0..30 {
            scratch.write(&format!("n{at:02}.txt"), "x");
        }
        let [warning] = &interrupted(&scratch.repo())[..] else { panic!("not reported") };
        let list = directory(&scratch.repo()).join("1.list");
        assert!(warning.message.contains(&format!("and 10 more, which {}", list.display())));
        assert_eq!(std::fs::read_to_string(list).unwrap().lines().count(), 30);
    }

    #[test]
    fn copies_are_readable_by_their_owner_only_and_removed_when_old() {
        use std::os::unix::fs::PermissionsExt as _;
        let scratch = scratch();
        scratch.write("dir/x.log", "secret\n");
        drop(scratch.snapshot());
        scratch.remove("dir/x.log");
        let repo = scratch.repo();
        assert_eq!(interrupted(&repo).len(), 1);
        let place = directories(&repo).remove(0);
        let mode = |path: PathBuf| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(place.join("dir")), mode(place.join("dir/x.log"))), (0o700, 0o600));
        let now = edt_io::clock::seconds();
        remove_older(&repo, now - 3600);
        assert!(place.exists());
        remove_older(&repo, now);
        assert!(!place.exists());
    }

    #[test]
    fn a_changed_link_is_described() {
        let scratch = scratch();
        std::os::unix::fs::symlink("some/where", scratch.root().join("link")).unwrap();
        let before = scratch.snapshot();
        let not_recorded = |paths: &[RepoPath]| {
            let repo = scratch.repo();
            not_recorded(&repo, &before, repo.empty_tree(), paths).unwrap().0
        };
        assert_eq!(not_recorded(&[path("link")]), []);
        scratch.remove("link");
        let [warning] = &not_recorded(&[])[..] else { panic!("not reported") };
        assert!(warning.message.ends_with("it was a symbolic link to some/where."), "{warning:?}");
    }
}
