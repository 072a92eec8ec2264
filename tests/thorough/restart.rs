//! After a power cut, answered changes that were not yet on stable storage are lost, in any
//! combination; the next call recovers them.
//!
//! A lost rename leaves the old inode under the name. The tests keep every old inode alive by a
//! hard link, put some of them back, remove new objects, and make the journal's boot id another:
//! that is what a disk holds when the page cache is gone.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use crate::test_repo::{EDT, TestRepo, has_strace, same};

#[path = "restart/open_call.rs"]
mod open_call;

/// What may be lost, each alone and all together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lost {
    File,
    Branch,
    Objects,
    Index,
    Everything,
}

const BRANCH: &str = "refs/heads/edt/main-1";
/// Refs as files, and in tables.
const FORMATS: [&str; 2] = ["--ref-format=files", "--ref-format=reftable"];
const FILES: &[(&str, &[u8])] = &[("a.txt", b"one\n"), ("b.txt", b"other\n")];

/// A worktree whose last two edits can be lost.
struct Cut {
    workspace: TestRepo,
    kept: PathBuf,
    objects: Vec<PathBuf>,
}

impl Cut {
    /// Two edits of `a.txt`, after a first one; the inodes from before the two are kept.
    fn after_two_edits() -> Cut {
        Cut::after_two_edits_in(TestRepo::with(FILES))
    }

    fn in_each_format() -> impl Iterator<Item = Cut> {
        let made = |format: &str| Cut::after_two_edits_in(TestRepo::made(&[format], FILES));
        FORMATS.into_iter().map(made)
    }

    fn after_two_edits_in(workspace: TestRepo) -> Cut {
        workspace.overwrite("a.txt", "two\n");
        let kept = workspace.git_dir("--git-dir").join("kept");
        fs::create_dir(&kept).unwrap();
        let cut = Cut { workspace, kept, objects: Vec::new() };
        for (name, path) in cut.places() {
            fs::hard_link(path, cut.kept.join(name)).unwrap();
        }
        if let Some(tables) = cut.tables() {
            fs::create_dir(cut.kept.join("reftable")).unwrap();
            for table in fs::read_dir(tables).unwrap().map(|entry| entry.unwrap().path()) {
                let kept = cut.kept.join("reftable").join(table.file_name().unwrap());
                fs::hard_link(table, kept).unwrap();
            }
        }
        let before = cut.all_objects();
        cut.workspace.overwrite("a.txt", "three\n");
        cut.workspace.overwrite("a.txt", "four\n");
        let objects = cut.all_objects().into_iter().filter(|path| !before.contains(path)).collect();
        Cut { objects, ..cut }
    }

    fn places(&self) -> Vec<(&'static str, PathBuf)> {
        let git = self.workspace.git_dir("--git-dir");
        let mut places =
            vec![("file", self.workspace.root.join("a.txt")), ("index", git.join("index"))];
        if self.tables().is_none() {
            places.push(("branch", git.join(BRANCH)));
        }
        places
    }

    fn tables(&self) -> Option<PathBuf> {
        Some(self.workspace.git_dir("--git-common-dir").join("reftable")).filter(|dir| dir.exists())
    }

    fn all_objects(&self) -> Vec<PathBuf> {
        let directories =
            fs::read_dir(self.workspace.git_dir("--git-dir").join("objects")).unwrap();
        let files =
            directories.flat_map(|directory| fs::read_dir(directory.unwrap().path()).unwrap());
        files.map(|file| file.unwrap().path()).collect()
    }

    /// Loses it, and restarts the machine.
    fn lose(&self, lost: Lost) {
        self.lose_before(lost);
        self.restart();
    }

    /// Loses it. The machine is not restarted yet.
    fn lose_before(&self, lost: Lost) {
        for (name, path) in self.places() {
            let which = match name {
                "file" => Lost::File,
                "branch" => Lost::Branch,
                _ => Lost::Index,
            };
            if lost == which || lost == Lost::Everything {
                fs::rename(self.kept.join(name), path).unwrap();
            }
        }
        let tables = self.tables().filter(|_| matches!(lost, Lost::Branch | Lost::Everything));
        if let Some(tables) = tables {
            let names = |at: &PathBuf| fs::read_dir(at).unwrap().map(|entry| entry.unwrap().path());
            names(&tables).for_each(|table| fs::remove_file(table).unwrap());
            for table in names(&self.kept.join("reftable")) {
                let at = tables.join(table.file_name().unwrap());
                fs::rename(table, at).unwrap();
            }
        }
        if lost == Lost::Objects || lost == Lost::Everything {
            for (i, object) in self.objects.iter().enumerate() {
                // Some are gone, some are there and torn.
                fs::remove_file(object).unwrap();
                if i % 2 == 0 {
                    fs::write(object, b"").unwrap();
                }
            }
        }
    }

    /// Restarts the machine. The journal's header is torn: no record is known to be closed.
    fn restart(&self) {
        self.restart_with_header(false);
    }

    fn restart_with_header(&self, intact: bool) {
        let journal = self.workspace.git_dir("--git-common-dir").join("edt/main/journal");
        let mut bytes = fs::read(&journal).unwrap();
        crate::power::forgive(&mut bytes);
        // The header has the boot, then its checksum.
        bytes[36..52].fill(0xee);
        if intact {
            let checksum = crc32fast::hash(&bytes[..52]).to_le_bytes();
            bytes[52..56].copy_from_slice(&checksum);
        }
        fs::write(&journal, bytes).unwrap();
    }
}

#[test]
fn an_answered_edit_is_recovered_after_a_power_cut() {
    let all = [Lost::File, Lost::Branch, Lost::Objects, Lost::Index, Lost::Everything];
    for (lost, cut) in
        all.into_iter().flat_map(|lost| Cut::in_each_format().map(move |cut| (lost, cut)))
    {
        let log = || cut.workspace.git(&["reflog", "show", "--format=%H %gs", "edt/main-1"]);
        let logged = log();
        let (tip, files) = (cut.workspace.rev("HEAD"), cut.workspace.files());
        cut.lose(lost);
        let answer = cut.workspace.edt(&["status"]);
        assert_eq!(answer.exit, 0, "{lost:?}: {:#}", answer.json);
        assert_eq!(cut.workspace.rev("HEAD"), tip, "{lost:?}: the branch");
        same(&files, &cut.workspace.files());
        assert_eq!(cut.workspace.status(), "", "{lost:?}");
        assert_eq!(log(), logged, "{lost:?}");
        cut.workspace.is_sound();
        assert_eq!(
            cut.workspace.edt(&["status"]).json["recovered"],
            serde_json::Value::Null,
            "{lost:?}: recovered once"
        );
        cut.workspace.overwrite("a.txt", "five\n");
        assert_eq!(cut.workspace.text("a.txt"), "five\n", "{lost:?}");
    }
}

#[test]
fn files_that_git_converts_are_recovered_after_a_power_cut() {
    for lost in [Lost::File, Lost::Objects, Lost::Everything] {
        let cut = Cut::after_two_edits_in(TestRepo::with(&[
            (".gitattributes", b"*.txt eol=crlf\n"),
            ("a.txt", b"one\r\n"),
        ]));
        let (tip, files) = (cut.workspace.rev("HEAD"), cut.workspace.files());
        assert_eq!(cut.workspace.text("a.txt"), "four\r\n");
        cut.lose(lost);
        assert_eq!(cut.workspace.edt(&["status"]).exit, 0, "{lost:?}");
        assert_eq!(
            (cut.workspace.rev("HEAD"), cut.workspace.status().as_str()),
            (tip, ""),
            "{lost:?}"
        );
        same(&files, &cut.workspace.files());
        cut.workspace.is_sound();
    }
}

#[test]
fn a_recovery_reports_the_recovered_files() {
    let cut = Cut::after_two_edits();
    cut.lose(Lost::Everything);
    let recovered = cut.workspace.edt(&["status"]).json["recovered"].clone();
    assert_eq!(
        (recovered["action"].as_str(), recovered["files"].clone()),
        (Some("recovered"), serde_json::json!(["a.txt"]))
    );
}

/// Prompts and IDEs run `git status` before anyone calls edt, and Git writes the old index again.
#[test]
fn status_first_after_power_cut() {
    for lost in [Lost::Index, Lost::Branch, Lost::File] {
        let cut = Cut::after_two_edits();
        let tip = cut.workspace.rev("HEAD");
        cut.lose(lost);
        // The changed time of another file makes Git write the index.
        fs::write(cut.workspace.root.join("b.txt"), "other\n").unwrap();
        cut.workspace.git(&["status"]);
        assert_eq!(cut.workspace.edt(&["status"]).exit, 0, "{lost:?}");
        assert_eq!(cut.workspace.rev("HEAD"), tip, "{lost:?}");
        assert_eq!(cut.workspace.git(&["diff", "--cached", "--stat"]), "", "{lost:?}");
        assert_eq!(cut.workspace.text("a.txt"), "four\n", "{lost:?}");
        cut.workspace.is_sound();
    }
}

/// Restarts the machine. Nothing is lost.
fn restart_orderly(workspace: &TestRepo) {
    let journal = workspace.root.join(".git/edt/main/journal");
    let mut head = fs::read(&journal).unwrap()[..56].to_vec();
    head[36..52].fill(0xee);
    let checksum = crc32fast::hash(&head[..52]).to_le_bytes();
    head[52..].copy_from_slice(&checksum);
    File::options().write(true).open(journal).unwrap().write_all_at(&head, 0).unwrap();
}

/// Kills a call of edt right after its record: at its first link, of the index or of a ref.
fn kill(workspace: &TestRepo, args: &[&str]) {
    kill_at(workspace, "linkat", args);
}

/// Kills a call of edt at its first system call of that name.
fn kill_at(workspace: &TestRepo, call: &str, args: &[&str]) {
    kill_at_nth(workspace, call, 1, args);
}

fn kill_at_nth(workspace: &TestRepo, call: &str, n: u32, args: &[&str]) {
    let mut command = workspace.command("strace");
    let trace = format!("trace={call}");
    let inject = format!("inject={call}:signal=KILL:when={n}");
    command.args(["-f", "-qq", "-o", "/dev/null", "-e", &trace, "-e", &inject, EDT]).args(args);
    let output = command.output().unwrap();
    let killed = output.stderr.is_empty() && !output.status.success();
    assert!(killed, "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// What Git's message advises after a kill.
fn remove_locks(workspace: &TestRepo) {
    for lock in workspace.locks() {
        fs::remove_file(workspace.root.join(".git").join(lock)).unwrap();
    }
}

/// Where an edit of `path` staged its file.
fn staged(workspace: &TestRepo, path: &str) -> PathBuf {
    let state = workspace.git_dir("--git-common-dir").join("edt/main");
    let names = crate::power::staged_names(&fs::read(state.join("journal")).unwrap());
    state.join("stage").join(&names[path])
}

/// Loses the bytes of a file, and not its times.
fn tear(path: &Path) {
    let file = File::options().write(true).open(path).unwrap();
    let written = file.metadata().unwrap().modified().unwrap();
    file.set_len(0).unwrap();
    file.set_modified(written).unwrap();
}

/// The header of the journal was written back, so it does not show the cut. Neither does the log,
/// which lost its end.
#[test]
fn gc_first_after_power_cut_that_spared_the_header() {
    // `None`: the file is torn.
    for (lost, kept_lines) in [Some(Lost::File), Some(Lost::Index), None]
        .into_iter()
        .flat_map(|lost| [(lost, 0), (lost, 1), (lost, 2)])
    {
        let cut = Cut::after_two_edits();
        let tip = cut.workspace.rev("HEAD");
        cut.lose_before(Lost::Branch);
        match lost {
            Some(lost) => cut.lose_before(lost),
            None => tear(&cut.workspace.root.join("a.txt")),
        }
        let log = cut.workspace.git_dir("--git-dir").join("logs").join(BRANCH);
        let lines = fs::read_to_string(&log).unwrap();
        let lines: Vec<&str> = lines.split_inclusive('\n').collect();
        assert_eq!(lines.len(), 4, "{lines:?}");
        fs::write(&log, lines[..kept_lines].concat()).unwrap();
        cut.restart_with_header(true);
        cut.workspace.git(&["gc", "--quiet"]);
        assert_eq!(cut.workspace.edt(&["status"]).exit, 0, "{lost:?} {kept_lines}");
        assert_eq!(cut.workspace.rev("HEAD"), tip, "{lost:?} {kept_lines}");
        assert_eq!(cut.workspace.text("a.txt"), "four\n", "{lost:?} {kept_lines}");
        assert_eq!(cut.workspace.status(), "", "{lost:?} {kept_lines}");
        cut.workspace.is_sound();
    }
}

/// Git packs the branch whose last move was lost.
#[test]
fn gc_first_after_power_cut() {
    for lost in [Lost::Index, Lost::Branch, Lost::File] {
        let cut = Cut::after_two_edits();
        let tip = cut.workspace.rev("HEAD");
        cut.lose(lost);
        cut.workspace.git(&["gc", "--quiet"]);
        assert_eq!(cut.workspace.edt(&["status"]).exit, 0, "{lost:?}");
        assert_eq!(cut.workspace.rev("HEAD"), tip, "{lost:?}");
        assert_eq!(cut.workspace.text("a.txt"), "four\n", "{lost:?}");
        assert_eq!(cut.workspace.status(), "", "{lost:?}");
        cut.workspace.is_sound();
    }
}

/// The move that an undo takes back is the last one in the log, and no record has it any more. Or
/// most of the log is lost, or all of it.
#[test]
fn gc_first_after_a_power_cut_that_lost_an_undo() {
    for left in [usize::MAX, 1, 0] {
        let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
        workspace.overwrite("a.txt", "two\n");
        let full = ["--mode", "overwrite", "--content", "three\n", "--durability", "full"];
        workspace.edt(&[&["apply", "a.txt"], &full[..]].concat()).landed();
        let git = workspace.git_dir("--git-dir");
        let (branch, kept) = (git.join(BRANCH), git.join("kept"));
        fs::hard_link(&branch, &kept).unwrap();
        let logs = [git.join("logs").join(BRANCH), git.join("logs/HEAD")];
        let texts = logs.clone().map(|log| fs::read_to_string(log).unwrap());
        workspace.edt(&["undo"]).landed();
        let tip = workspace.rev("HEAD");
        fs::rename(kept, branch).unwrap();
        for (log, text) in logs.iter().zip(texts) {
            let lines: String = text.split_inclusive('\n').take(left).collect();
            fs::write(log, lines).unwrap();
        }
        let cut = Cut { workspace, kept: PathBuf::new(), objects: Vec::new() };
        cut.restart();
        cut.workspace.git(&["gc", "--quiet"]);
        assert_eq!(cut.workspace.edt(&["status"]).exit, 0);
        assert_eq!(cut.workspace.rev("HEAD"), tip, "{left} lines of the log");
        assert_eq!(cut.workspace.text("a.txt"), "two\n");
        assert_eq!(cut.workspace.status(), "");
        cut.workspace.is_sound();
    }
}

/// The header of the journal and the log of HEAD were written back, the branch and its log were not.
#[test]
fn gc_first_after_a_power_cut_that_spared_the_log_of_head() {
    for command in [&["undo"][..], &["apply", "a.txt", "--mode", "overwrite", "--content", "4\n"]] {
        let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
        workspace.overwrite("a.txt", "two\n");
        workspace.overwrite("a.txt", "three\n");
        let git = workspace.git_dir("--git-dir");
        let (branch, kept) = (git.join(BRANCH), git.join("kept"));
        fs::hard_link(&branch, &kept).unwrap();
        let log = git.join("logs").join(BRANCH);
        let text = fs::read_to_string(&log).unwrap();
        workspace.edt(command).landed();
        let (tip, now) = (workspace.rev("HEAD"), workspace.text("a.txt"));
        fs::rename(kept, branch).unwrap();
        fs::write(&log, text).unwrap();
        let cut = Cut { workspace, kept: PathBuf::new(), objects: Vec::new() };
        cut.restart_with_header(true);
        cut.workspace.git(&["gc", "--quiet"]);
        assert_eq!(cut.workspace.edt(&["status"]).exit, 0);
        assert_eq!((cut.workspace.rev("HEAD"), cut.workspace.text("a.txt")), (tip, now));
        assert_eq!(cut.workspace.status(), "");
        cut.workspace.is_sound();
    }
}

/// Nothing was lost: another worktree moved the branch back, and no log of HEAD here has that.
#[test]
fn a_branch_that_another_worktree_moved_stays_after_an_orderly_restart() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    workspace.overwrite("a.txt", "two\n");
    let before = workspace.rev("HEAD");
    workspace.overwrite("a.txt", "three\n");
    let other = workspace.root.join("../other");
    let branch = BRANCH.strip_prefix("refs/heads/").unwrap();
    workspace.git(&["worktree", "add", "--quiet", "--detach", &other.to_string_lossy()]);
    workspace.git(&["-C", &other.to_string_lossy(), "update-ref", BRANCH, &before]);
    let cut = Cut { workspace, kept: PathBuf::new(), objects: Vec::new() };
    cut.restart_with_header(true);
    cut.workspace.git(&["gc", "--quiet"]);
    assert_eq!(cut.workspace.edt(&["status"]).exit, 0);
    assert_eq!(cut.workspace.rev(branch), before);
    cut.workspace.is_sound();
}

/// The commit to which the first undo went is not in the branch any more.
#[test]
fn a_file_of_an_undo_before_another_one_is_restored() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n"), ("b.txt", b"b\n")]);
    workspace.overwrite("a.txt", "two\n");
    workspace.overwrite("b.txt", "other\n");
    workspace.edt(&["undo"]).landed();
    workspace.edt(&["undo"]).landed();
    tear(&workspace.root.join("b.txt"));
    let cut = Cut { workspace, kept: PathBuf::new(), objects: Vec::new() };
    cut.restart();
    assert_eq!(cut.workspace.edt(&["status"]).exit, 0);
    assert_eq!(cut.workspace.text("b.txt"), "b\n");
    assert_eq!(cut.workspace.status(), "");
    cut.workspace.is_sound();
}

/// What the stash took was not staged, and is not afterwards either.
#[test]
fn stash_first_after_a_power_cut_that_lost_a_checkpoint_and_a_switch() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    workspace.overwrite("a.txt", "two\n");
    workspace.write("a.txt", "mine\n");
    let git = workspace.git_dir("--git-dir");
    let file = workspace.root.join("a.txt");
    let lost = [git.join(BRANCH), git.join("index"), git.join("HEAD"), file];
    let kept = ["branch", "index", "head", "file"].map(|name| git.join("kept-".to_owned() + name));
    lost.iter().zip(&kept).for_each(|(from, to)| fs::hard_link(from, to).unwrap());
    workspace.edt(&["checkpoint"]).landed();
    assert_eq!(workspace.edt(&["begin", "t"]).exit, 0);
    kept.iter().zip(&lost).for_each(|(from, to)| fs::rename(from, to).unwrap());
    let cut = Cut { workspace, kept: PathBuf::new(), objects: Vec::new() };
    cut.restart();
    cut.workspace.git(&["stash", "--quiet"]);
    assert_eq!(cut.workspace.edt(&["status"]).exit, 0);
    assert_eq!(cut.workspace.git(&["symbolic-ref", "HEAD"]), "refs/heads/edt/t\n");
    assert_eq!(cut.workspace.text("a.txt"), "two\n");
    assert_eq!(cut.workspace.status(), " M a.txt\n");
    cut.workspace.is_sound();
}

/// HEAD moves after the files, in the recovery too.
#[test]
fn an_abandon_that_was_lost_brings_back_a_deleted_file() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n"), ("b.txt", b"b\n")]);
    workspace.edt(&["begin", "s"]).landed();
    workspace.edt(&["apply", "b.txt", "--mode", "delete"]).landed();
    let before = workspace.root.with_file_name("before");
    let mut copy = workspace.command("cp");
    assert!(copy.arg("-a").args([&workspace.root, &before]).status().unwrap().success());
    workspace.edt(&["abandon"]).landed();
    let journal = ".git/edt/main/journal";
    fs::copy(workspace.root.join(journal), before.join(journal)).unwrap();
    let cut = Cut { workspace: workspace.at(before), kept: PathBuf::new(), objects: Vec::new() };
    cut.restart();
    assert_eq!(cut.workspace.edt(&["status"]).exit, 0);
    assert_eq!(cut.workspace.git(&["symbolic-ref", "HEAD"]), "refs/heads/main\n");
    assert_eq!(cut.workspace.text("b.txt"), "b\n");
    assert_eq!(cut.workspace.status(), "");
    cut.workspace.is_sound();
}

/// btrfs may keep one half of a rename.
#[test]
fn a_deletion_of_which_both_names_were_kept_is_completed() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n"), ("b.txt", b"b\n")]);
    workspace.edt(&["begin", "s"]).landed();
    let (file, kept) = (workspace.root.join("b.txt"), workspace.root.join(".git/kept"));
    fs::hard_link(&file, &kept).unwrap();
    workspace.edt(&["apply", "b.txt", "--mode", "delete"]).landed();
    let staged = staged(&workspace, "b.txt");
    fs::hard_link(&kept, &staged).unwrap();
    fs::rename(kept, &file).unwrap();
    let cut = Cut { workspace, kept: PathBuf::new(), objects: Vec::new() };
    cut.restart();
    assert_eq!(cut.workspace.edt(&["status"]).exit, 0);
    assert!(!file.exists(), "the deleted file is there");
    assert!(!staged.exists(), "the staged file is there");
    assert_eq!(cut.workspace.status(), "");
    cut.workspace.is_sound();
}

/// Of an exchange it may keep that the old file went, and not that the new one came. Or it loses
/// both.
#[test]
fn a_file_of_which_half_an_exchange_was_kept_is_restored() {
    for keeps_old in [true, false] {
        let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
        workspace.edt(&["begin", "s"]).landed();
        let (file, kept) = (workspace.root.join("a.txt"), workspace.root.join(".git/kept"));
        fs::hard_link(&file, &kept).unwrap();
        workspace.overwrite("a.txt", "two\n");
        // More than the resolution of the time of a directory.
        std::thread::sleep(std::time::Duration::from_millis(20));
        if keeps_old {
            fs::rename(kept, staged(&workspace, "a.txt")).unwrap();
        }
        fs::remove_file(file).unwrap();
        let cut = Cut { workspace, kept: PathBuf::new(), objects: Vec::new() };
        cut.restart();
        assert_eq!(cut.workspace.edt(&["status"]).exit, 0);
        assert_eq!(cut.workspace.text("a.txt"), "two\n", "{keeps_old}");
        assert_eq!(cut.workspace.status(), "", "{keeps_old}");
        cut.workspace.is_sound();
    }
}

/// HEAD is on the target, which has what the session created.
#[test]
fn a_created_file_that_was_lost_during_the_landing_is_restored() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    let root = File::open(&workspace.root).unwrap();
    let before = root.metadata().unwrap().modified().unwrap();
    workspace.edt(&["begin", "s"]).landed();
    workspace.edt(&["apply", "n/n.txt", "--mode", "create", "--content", "new\n"]).landed();
    workspace.edt(&["land"]).landed();
    fs::remove_dir_all(workspace.root.join("n")).unwrap();
    root.set_modified(before).unwrap();
    let cut = Cut { workspace, kept: PathBuf::new(), objects: Vec::new() };
    cut.restart();
    assert_eq!(cut.workspace.edt(&["status"]).exit, 0);
    assert_eq!(cut.workspace.text("n/n.txt"), "new\n");
    assert_eq!(cut.workspace.status(), "");
    cut.workspace.is_sound();
}

/// The end of a session writes the index, although it moves no entry.
#[test]
fn an_index_that_an_abandon_tore_is_restored() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    workspace.edt(&["begin", "s"]).landed();
    let index = workspace.root.join(".git/index");
    let before = fs::metadata(&index).unwrap().ino();
    workspace.edt(&["abandon"]).landed();
    assert_ne!(fs::metadata(&index).unwrap().ino(), before, "nothing was written");
    File::options().write(true).open(&index).unwrap().set_len(0).unwrap();
    let cut = Cut { workspace, kept: PathBuf::new(), objects: Vec::new() };
    cut.restart();
    let answer = cut.workspace.edt(&["status"]);
    assert_eq!(answer.exit, 0, "{:#}", answer.json);
    assert_eq!(cut.workspace.status(), "");
    cut.workspace.is_sound();
}

/// What wrote them is in no branch any more.
#[test]
fn torn_files_are_restored_although_the_session_that_wrote_them_is_gone() {
    for has_backup in [false, true] {
        let workspace = TestRepo::with(&[("a.txt", b"one\n"), ("b.txt", b"b\n")]);
        workspace.edt(&["begin", "s"]).landed();
        workspace.edt(&["apply", "b.txt", "--mode", "delete"]).landed();
        let index = workspace.root.join(".git/index");
        let backup = fs::read(&index).unwrap();
        workspace.edt(&["undo"]).landed();
        workspace.edt(&["abandon"]).landed();
        File::options().write(true).open(&index).unwrap().set_len(0).unwrap();
        tear(&workspace.root.join("b.txt"));
        if has_backup {
            // Another program wrote the index before the undo.
            fs::write(workspace.root.join(".git/edt/main/stage/index.before"), backup).unwrap();
        }
        let cut = Cut { workspace, kept: PathBuf::new(), objects: Vec::new() };
        cut.restart();
        let answer = cut.workspace.edt(&["status"]);
        assert_eq!(answer.exit, 0, "{:#}", answer.json);
        assert_eq!(cut.workspace.git(&["symbolic-ref", "HEAD"]), "refs/heads/main\n");
        assert_eq!(cut.workspace.text("b.txt"), "b\n");
        assert_eq!(cut.workspace.status(), "", "with a backup: {has_backup}");
        cut.workspace.is_sound();
    }
}

/// The begin of a session moves no entry, and holds the index all the same.
#[test]
fn the_lock_of_a_begin_is_removed_after_a_restart() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    workspace.edt(&["begin", "s"]).landed();
    workspace.write(".git/index.lock", "");
    let cut = Cut { workspace, kept: PathBuf::new(), objects: Vec::new() };
    cut.restart();
    assert_eq!(cut.workspace.edt(&["status"]).exit, 0);
    assert_eq!(cut.workspace.locks(), Vec::<String>::new());
    cut.workspace.overwrite("a.txt", "two\n");
}

/// The bytes, the new directory and the rename of a created file are lost, and another change of
/// the same edit to the directory above is not.
#[test]
fn a_created_file_is_created_again_although_its_staged_bytes_are_torn() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    workspace.edt(&["begin", "s"]).landed();
    workspace.edt(&["apply", "nd/n.txt", "--mode", "create", "--content", "new\n"]).landed();
    let staged = staged(&workspace, "nd/n.txt");
    fs::rename(workspace.root.join("nd/n.txt"), &staged).unwrap();
    tear(&staged);
    fs::remove_dir(workspace.root.join("nd")).unwrap();
    let journal = workspace.git_dir("--git-common-dir").join("edt/main/journal");
    let journal = File::options().write(true).open(journal).unwrap();
    journal.write_all_at(&[0xee; 16], 36).unwrap();
    assert_eq!(workspace.edt(&["status"]).exit, 0);
    assert_eq!(workspace.text("nd/n.txt"), "new\n");
    assert_eq!(workspace.status(), "");
}

/// Nothing was lost: whatever is staged is as the user left it.
#[test]
fn what_the_user_staged_stays_after_an_orderly_restart() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    workspace.overwrite("a.txt", "two\n");
    for path in ["n1.txt", "n2.txt", "n3.txt"] {
        workspace.edt(&["apply", path, "--mode", "create", "--content", "x\n"]).landed();
    }
    // More than the resolution of the time of a directory.
    std::thread::sleep(std::time::Duration::from_millis(20));
    workspace.git(&["rm", "--quiet", "--cached", "n1.txt"]);
    workspace.git(&["mv", "n2.txt", "moved.txt"]);
    workspace.git(&["rm", "--quiet", "n3.txt"]);
    workspace.git(&["checkout", "--quiet", "main", "--", "a.txt"]);
    workspace.write("a.txt", "one\nmore\n");
    let status = workspace.status();
    restart_orderly(&workspace);
    assert_eq!(workspace.edt(&["status"]).exit, 0);
    assert_eq!(workspace.status(), status);
}

#[test]
fn an_older_directory_that_the_user_put_back_stays_after_an_orderly_restart() {
    let workspace = TestRepo::with(&[("d/a.txt", b"one\n")]);
    fs::rename(workspace.root.join("d"), workspace.root.join("older")).unwrap();
    workspace.git(&["checkout", "--quiet", "--", "d"]);
    workspace.edt(&["apply", "d/n.txt", "--mode", "create", "--content", "x\n"]).landed();
    fs::remove_dir_all(workspace.root.join("d")).unwrap();
    // More than the resolution of the time of a directory.
    std::thread::sleep(std::time::Duration::from_millis(20));
    fs::rename(workspace.root.join("older"), workspace.root.join("d")).unwrap();
    let status = workspace.status();
    restart_orderly(&workspace);
    assert_eq!(workspace.edt(&["status"]).exit, 0);
    assert_eq!((workspace.status(), workspace.exists("d/n.txt")), (status, false));
}

#[test]
fn an_entry_that_the_user_put_back_stays_after_a_restart() {
    let cut = Cut::after_two_edits();
    cut.workspace.git(&["reset", "--quiet", "HEAD~1", "--", "a.txt"]);
    let staged = cut.workspace.git(&["ls-files", "--stage"]);
    cut.restart();
    assert_eq!(cut.workspace.edt(&["status"]).exit, 0);
    assert_eq!(cut.workspace.git(&["ls-files", "--stage"]), staged);
    cut.workspace.write("a.txt", "three\n");
    cut.workspace.git(&["add", "a.txt"]);
    let status = cut.workspace.status();
    cut.restart();
    assert_eq!(cut.workspace.edt(&["status"]).exit, 0);
    assert_eq!(cut.workspace.status(), status);
}

#[test]
fn later_user_changes_stay_after_a_restart() {
    let cut = Cut::after_two_edits();
    // The bytes of an older state, but in an inode that the user made.
    let other = cut.workspace.root.join("a.new");
    fs::write(&other, "two\n").unwrap();
    fs::rename(&other, cut.workspace.root.join("a.txt")).unwrap();
    cut.restart();
    assert_eq!(cut.workspace.edt(&["status"]).exit, 0);
    assert_eq!(cut.workspace.text("a.txt"), "two\n");
}

#[test]
fn a_branch_that_the_user_moved_back_stays_there_after_a_restart() {
    for cut in Cut::in_each_format() {
        cut.workspace.git(&["reset", "--quiet", "--keep", "HEAD~1"]);
        let (tip, files) = (cut.workspace.rev("HEAD"), cut.workspace.files());
        cut.restart();
        assert_eq!(cut.workspace.edt(&["status"]).exit, 0);
        assert_eq!(cut.workspace.rev("HEAD"), tip);
        same(&files, &cut.workspace.files());
        assert_eq!(cut.workspace.status(), "");
    }
}

#[test]
fn a_user_who_switched_away_is_not_switched_back_after_a_restart() {
    for cut in Cut::in_each_format() {
        cut.workspace.git(&["switch", "--quiet", "main"]);
        cut.restart();
        assert_eq!(cut.workspace.edt(&["status"]).exit, 0);
        assert_eq!(cut.workspace.git(&["symbolic-ref", "HEAD"]).trim(), "refs/heads/main");
        assert_eq!(
            (cut.workspace.text("a.txt"), cut.workspace.status()),
            ("one\n".to_owned(), String::new())
        );
    }
}

/// The refs of a new session are on disk before the answer: what is missing was deleted.
#[test]
fn a_session_that_the_user_deleted_does_not_come_back_after_a_restart() {
    let all = FORMATS.into_iter().flat_map(|format| [false, true].map(|it| (it, format)));
    for (no_switch, format) in all {
        let workspace = TestRepo::made(&[format], FILES);
        let args = &["begin", "s", "--no-switch"][..if no_switch { 3 } else { 2 }];
        workspace.edt(args).landed();
        workspace.git(&["switch", "--quiet", "main"]);
        let all = workspace.git(&["for-each-ref", "--format=%(refname)"]);
        let of_edt = || all.lines().filter(|name| name.contains("edt/"));
        assert_eq!(of_edt().count(), if no_switch { 4 } else { 3 });
        for name in of_edt() {
            workspace.git(&["update-ref", "--no-deref", "-d", name]);
        }
        let cut = Cut { workspace, kept: PathBuf::new(), objects: Vec::new() };
        cut.restart_with_header(true);
        assert_eq!(cut.workspace.edt(&["status"]).exit, 0);
        assert_eq!(
            cut.workspace.git(&["for-each-ref", "--format=%(refname)"]),
            "refs/heads/main\n"
        );
        cut.workspace.is_sound();
    }
}

/// The usual way to remove a secret from a repository.
#[test]
fn a_purged_edit_stays_purged_after_an_orderly_restart() {
    for cut in Cut::in_each_format() {
        cut.restart_with_header(true);
        let git = |args: &[&str]| cut.workspace.git(args);
        git(&["reset", "--quiet", "--hard", "HEAD~1"]);
        git(&["reflog", "expire", "--expire=now", "--all"]);
        git(&["gc", "--quiet", "--prune=now"]);
        let tip = cut.workspace.rev("HEAD");
        assert_eq!(cut.workspace.edt(&["status"]).exit, 0);
        assert_eq!((cut.workspace.rev("HEAD"), cut.workspace.status().as_str()), (tip, ""));
        assert_eq!(cut.workspace.text("a.txt"), "three\n");
    }
}

/// The log of the branch then ends with a line of edt, or has no line of edt at all.
#[test]
fn a_branch_that_the_user_put_back_stays_there_although_its_log_does_not_say_so() {
    let acts: [&[&[&str]]; 2] = [
        &[
            &["reset", "--quiet", "--hard", "HEAD~1"],
            &["reflog", "expire", "--expire-unreachable=now", "--all"],
        ],
        &[
            &["switch", "--quiet", "--detach"],
            &["branch", "--quiet", "-D", "edt/main-1"],
            &["switch", "--quiet", "-c", "edt/main-1", "HEAD~1"],
        ],
    ];
    for act in acts {
        let cut = Cut::after_two_edits();
        cut.restart_with_header(true);
        act.iter().for_each(|args| drop(cut.workspace.git(args)));
        cut.workspace.git(&["gc", "--quiet"]);
        let (tip, files) = (cut.workspace.rev("HEAD"), cut.workspace.files());
        assert_eq!(cut.workspace.edt(&["status"]).exit, 0);
        assert_eq!(cut.workspace.rev("HEAD"), tip, "{act:?}");
        same(&files, &cut.workspace.files());
        assert_eq!(cut.workspace.status(), "", "{act:?}");
    }
}

/// The tables of the new worktree count their updates from one again.
#[test]
fn head_of_a_worktree_that_was_added_again_stays_after_a_restart() {
    for format in ["files", "reftable"] {
        let main = TestRepo::made(&[&format!("--ref-format={format}")], &[("a.txt", b"one\n")]);
        let linked = main.root.with_file_name("linked");
        let place = linked.to_str().unwrap();
        main.git(&["worktree", "add", "--quiet", "-b", "side", place]);
        let side = main.at(linked.clone());
        side.edt(&["begin", "s"]).landed();
        main.git(&["worktree", "remove", "--force", place]);
        main.git(&["worktree", "add", "--quiet", "-b", "again", place]);
        let journal = main.root.join(".git/edt/linked/linked/journal");
        let mut bytes = fs::read(&journal).unwrap();
        bytes[36..52].fill(0xee);
        let checksum = crc32fast::hash(&bytes[..52]).to_le_bytes();
        bytes[52..56].copy_from_slice(&checksum);
        fs::write(&journal, bytes).unwrap();
        assert_eq!(side.edt(&["status"]).exit, 0);
        assert_eq!(side.git(&["symbolic-ref", "HEAD"]), "refs/heads/again\n", "{format}");
        assert_eq!(side.status(), "", "{format}");
    }
}

/// Its journal has no record of the branch; the first worktree's has.
#[test]
fn an_undo_in_another_worktree_outlives_a_restart() {
    let all = [true, false].into_iter();
    for (is_orderly, cut) in all.flat_map(|it| Cut::in_each_format().map(move |cut| (it, cut))) {
        cut.workspace.git(&["switch", "--quiet", "main"]);
        let other = cut.workspace.at(cut.workspace.root.with_file_name("other"));
        let place = other.root.to_str().unwrap();
        cut.workspace.git(&["worktree", "add", "--quiet", place, "edt/main-1"]);
        // A log has whole seconds.
        std::thread::sleep(std::time::Duration::from_millis(1100));
        other.edt(&["undo"]).landed();
        let tip = cut.workspace.rev("edt/main-1");
        cut.restart_with_header(is_orderly);
        cut.workspace.git(&["gc", "--quiet"]);
        assert_eq!(cut.workspace.edt(&["status"]).exit, 0);
        assert_eq!(cut.workspace.rev("edt/main-1"), tip, "orderly: {is_orderly}");
        assert_eq!((other.text("a.txt").as_str(), other.status().as_str()), ("three\n", ""));
        other.is_sound();
    }
}

#[test]
fn an_unknown_journal_is_quarantined_and_no_file_is_changed() {
    let cut = Cut::after_two_edits();
    let files = cut.workspace.files();
    let directory = cut.workspace.git_dir("--git-common-dir").join("edt/main");
    fs::write(directory.join("journal"), b"garbage").unwrap();
    let recovered = cut.workspace.edt(&["status"]).json["recovered"].clone();
    assert_eq!(recovered["action"].as_str(), Some("quarantined"));
    assert_eq!(fs::read(directory.join("journal.damaged-1")).unwrap(), b"garbage");
    same(&files, &cut.workspace.files());
}

/// Regression: the landed commit was written, and not in the journal.
#[test]
fn an_answered_landing_is_recovered() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n"), ("b.txt", b"other\n")]);
    workspace.edt(&["begin", "s", "--no-switch"]).landed();
    workspace.overwrite("a.txt", "two\n");
    let commit = workspace.edt(&["land"]).landed().commit().to_owned();
    fs::remove_file(workspace.root.join(format!(".git/objects/{}/{}", &commit[..2], &commit[2..])))
        .unwrap();
    let cut = Cut { workspace, kept: PathBuf::new(), objects: Vec::new() };
    cut.restart();
    assert_eq!(cut.workspace.edt(&["status"]).exit, 0);
    assert_eq!(cut.workspace.rev("main"), commit);
    cut.workspace.is_sound();
    cut.workspace.is_clean();
}

/// Each worktree has a journal of its own: a ref that was torn there is repaired there, and a call
/// from elsewhere says so.
#[test]
fn a_torn_branch_of_another_worktree_is_repaired_from_any_worktree() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    workspace.edt(&["begin", "s"]).landed();
    let place = workspace.root.with_file_name("other");
    workspace.edt(&["begin", "o", "--worktree", place.to_str().unwrap()]).landed();
    let other = workspace.at(&place);
    let commit = other.overwrite("a.txt", "two\n").commit().to_owned();
    fs::write(workspace.root.join(".git/refs/heads/edt/o"), b"").unwrap();
    let journal = workspace.root.join(".git/edt/linked/other/journal");
    File::options().write(true).open(journal).unwrap().write_all_at(&[0xee; 16], 36).unwrap();
    let here = workspace.edt(&["status"]);
    assert_eq!(here.exit, 0, "{:#}", here.json);
    assert!(here.json["recovered"]["detail"].as_str().unwrap().contains("In the worktree"));
    assert_eq!(other.rev("edt/o"), commit);
    workspace.overwrite("a.txt", "here\n");
    assert_eq!(other.edt(&["status"]).exit, 0);
    assert_eq!((other.rev("edt/o"), workspace.edt(&["status"]).exit), (commit, 0));
    other.is_clean();
    other.is_sound();
}

/// What is repaired in several worktrees by one call is reported for each of them.
#[test]
fn each_recovered_worktree_is_reported() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    workspace.edt(&["begin", "s"]).landed();
    let torn = ["o", "p"].map(|name| {
        let place = workspace.root.with_file_name(name);
        workspace.edt(&["begin", name, "--worktree", place.to_str().unwrap()]).landed();
        let commit = workspace.at(&place).overwrite("a.txt", "two\n").commit().to_owned();
        (name, commit)
    });
    for (name, _) in &torn {
        fs::write(workspace.root.join(format!(".git/refs/heads/edt/{name}")), b"").unwrap();
        let journal = workspace.root.join(format!(".git/edt/linked/{name}/journal"));
        File::options().write(true).open(journal).unwrap().write_all_at(&[0xee; 16], 36).unwrap();
    }
    let recovered = workspace.edt(&["status"]).json["recovered"].clone();
    let detail = recovered["detail"].as_str().unwrap();
    assert_eq!(detail.matches("In the worktree").count(), 2, "{detail}");
    for (name, commit) in torn {
        assert_eq!(workspace.rev(&format!("edt/{name}")), commit);
    }
    assert!(workspace.edt(&["status"]).json["recovered"].is_null());
}

/// Each of these actions was undone in earlier versions by the next call after a restart without a
/// loss.
#[test]
fn a_restart_without_a_loss_changes_nothing() {
    type Act = (&'static str, fn(&TestRepo));
    let acts: [Act; 16] = [
        ("amend", |w| drop(w.git(&["commit", "--quiet", "--amend", "-m", "a better message"]))),
        ("reset --soft", |w| drop(w.git(&["reset", "--quiet", "--soft", "HEAD~1"]))),
        ("reset", |w| drop(w.git(&["reset", "--quiet", "HEAD~1"]))),
        ("reset of packed refs", |w| {
            w.git(&["pack-refs", "--all"]);
            w.overwrite("a.txt", "five\n");
            w.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
            w.git(&["pack-refs", "--all"]);
        }),
        ("a backup copied back", |w| {
            w.write("backup", "fo");
            let old = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
            fs::write(w.root.join("a.txt"), "fo").unwrap();
            File::options()
                .write(true)
                .open(w.root.join("a.txt"))
                .unwrap()
                .set_modified(old)
                .unwrap();
        }),
        ("written, with the time set back", |w| {
            let time = fs::metadata(w.root.join("a.txt")).unwrap().modified().unwrap();
            fs::write(w.root.join("a.txt"), "FOUR\n").unwrap();
            File::options()
                .write(true)
                .open(w.root.join("a.txt"))
                .unwrap()
                .set_modified(time)
                .unwrap();
        }),
        ("chmod", |w| {
            use std::os::unix::fs::PermissionsExt as _;
            fs::set_permissions(w.root.join("a.txt"), fs::Permissions::from_mode(0o755)).unwrap();
        }),
        ("a committed deletion", |w| {
            w.edt(&["apply", "n.txt", "--mode", "create", "--content", "n\n"]).landed();
            w.git(&["rm", "--quiet", "n.txt"]);
            w.git(&["commit", "--quiet", "-m", "gone"]);
        }),
        ("a recorded deletion", |w| {
            w.edt(&["apply", "n.txt", "--mode", "create", "--content", "n\n"]).landed();
            fs::remove_file(w.root.join("n.txt")).unwrap();
            w.edt(&["checkpoint"]).landed();
        }),
        ("moved away and linked", |w| {
            w.edt(&["apply", "nd/n.txt", "--mode", "create", "--content", "n\n"]).landed();
            fs::rename(w.root.join("nd"), w.root.join("real")).unwrap();
            std::os::unix::fs::symlink("real", w.root.join("nd")).unwrap();
        }),
        ("a file where a directory was", |w| {
            w.edt(&["apply", "nd/n.txt", "--mode", "create", "--content", "n\n"]).landed();
            fs::remove_dir_all(w.root.join("nd")).unwrap();
            w.write("nd", "mine\n");
        }),
        ("put back after edt deleted it", |w| {
            fs::hard_link(w.root.join("b.txt"), w.root.join("kept")).unwrap();
            w.edt(&["apply", "b.txt", "--mode", "delete"]).landed();
            fs::rename(w.root.join("kept"), w.root.join("b.txt")).unwrap();
        }),
        ("an empty directory made again", |w| {
            w.edt(&["apply", "nd/n.txt", "--mode", "create", "--content", "n\n"]).landed();
            w.edt(&["apply", "nd/n.txt", "--mode", "delete"]).landed();
            fs::create_dir(w.root.join("nd")).unwrap();
        }),
        ("written before an undo that failed", |w| {
            w.write("a.txt", "mine\n");
            let lock = w.root.join(".git/index.lock");
            fs::write(&lock, "").unwrap();
            assert_eq!(w.edt(&["undo"]).exit, 3);
            fs::remove_file(lock).unwrap();
        }),
        ("unstaged", |w| drop(w.git(&["restore", "--staged", "--source=HEAD~1", "a.txt"]))),
        ("stashed", |w| {
            w.write("a.txt", "mine\n");
            w.git(&["stash", "--quiet"]);
        }),
    ];
    let both = FORMATS.into_iter().flat_map(|format| acts.map(|(name, act)| (name, act, format)));
    for (name, act, format) in both {
        let workspace = TestRepo::made(&[format], FILES);
        workspace.edt(&["begin", "s"]).landed();
        for text in ["two\n", "three\n", "four\n"] {
            workspace.overwrite("a.txt", text);
        }
        act(&workspace);
        let (before, status) = (workspace.snapshot(), workspace.status());
        let journal = workspace.root.join(".git/edt/main/journal");
        File::options().write(true).open(journal).unwrap().write_all_at(&[0xee; 16], 36).unwrap();
        let answer = workspace.edt(&["status"]);
        assert_eq!(answer.exit, 0, "{name}: {:#}", answer.json);
        assert_eq!(workspace.status(), status, "{name}");
        let after = workspace.snapshot();
        let differs: Vec<&String> =
            before.keys().filter(|key| before.get(*key) != after.get(*key)).collect();
        assert!(differs.is_empty() && before.len() == after.len(), "{name}: {differs:?}");
    }
}

#[test]
fn a_shallow_clone_is_recovered_after_a_restart() {
    let origin = TestRepo::with(&[("a.txt", b"one\n")]);
    origin.commit(&[("a.txt", b"two\n")]);
    let place = origin.root.with_file_name("clone");
    origin.git(&[
        "clone",
        "--quiet",
        "--depth=1",
        &format!("file://{}", origin.root.display()),
        place.to_str().unwrap(),
    ]);
    let workspace = origin.at(&place);
    workspace.edt(&["begin", "s"]).landed();
    workspace.overwrite("a.txt", "three\n");
    File::options()
        .write(true)
        .open(place.join(".git/edt/main/journal"))
        .unwrap()
        .write_all_at(&[0xee; 16], 36)
        .unwrap();
    assert_eq!(workspace.edt(&["status"]).exit, 0);
    workspace.is_clean();
}

/// After an orderly shutdown nothing was lost: what is missing was put away by the user.
#[test]
fn a_file_that_the_user_stashed_stays_stashed_after_a_restart() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    workspace.edt(&["begin", "s", "--no-switch"]).landed();
    for path in ["new.txt", "dir/new.txt"] {
        workspace.edt(&["apply", path, "--mode", "create", "--content", "x\n"]).landed();
    }
    // More than the resolution of the time of a directory.
    std::thread::sleep(std::time::Duration::from_millis(20));
    workspace.git(&["stash", "--quiet", "--include-untracked"]);
    let journal =
        File::options().write(true).open(workspace.root.join(".git/edt/main/journal")).unwrap();
    journal.write_all_at(&[0xee; 16], 36).unwrap();
    assert_eq!(workspace.edt(&["status"]).exit, 0);
    assert!(!workspace.exists("new.txt") && !workspace.exists("dir/new.txt"));
    workspace.git(&["stash", "pop", "--quiet"]);
    assert_eq!(
        (workspace.text("new.txt"), workspace.text("dir/new.txt")),
        ("x\n".into(), "x\n".into())
    );
}

#[test]
fn a_restart_brings_no_file_of_a_session_into_another_branch() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    workspace.overwrite("a.txt", "two\n");
    workspace.edt(&["apply", "new.txt", "--mode", "create", "--content", "x\n"]).landed();
    workspace.git(&["switch", "--quiet", "main"]);
    let files = workspace.files();
    let journal = workspace.root.join(".git/edt/main/journal");
    File::options().write(true).open(journal).unwrap().write_all_at(&[0xee; 16], 36).unwrap();
    workspace.edt(&["status"]);
    same(&files, &workspace.files());
    workspace.git(&["branch", "--quiet", "-D", "edt/main-1"]);
    workspace.edt(&["status"]);
    assert!(!workspace.try_git(&["rev-parse", "--verify", "edt/main-1"]).status.success());
}

#[test]
fn an_empty_ref_after_a_power_cut_is_restored() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    workspace.overwrite("a.txt", "two\n");
    workspace.edt(&["undo"]).landed();
    let undone = workspace.rev("refs/edt/main-1/undone/1");
    fs::write(workspace.root.join(".git/refs/edt/main-1/undone/1"), b"").unwrap();
    let journal =
        File::options().write(true).open(workspace.root.join(".git/edt/main/journal")).unwrap();
    journal.write_all_at(&[0xee; 16], 36).unwrap();
    assert_eq!(workspace.edt(&["status"]).exit, 0);
    assert_eq!(workspace.rev("refs/edt/main-1/undone/1"), undone);
    workspace.edt(&["redo"]).landed();
}

#[test]
fn a_restart_writes_no_reflog_line_twice() {
    for format in FORMATS {
        let workspace = TestRepo::made(&[format], FILES);
        workspace.overwrite("a.txt", "two\n");
        workspace.overwrite("a.txt", "three\n");
        workspace.git(&["switch", "--quiet", "main"]);
        let logs =
            || workspace.snapshot().into_iter().filter(|(name, _)| name.contains("log ")).collect();
        let before = logs();
        let journal =
            File::options().write(true).open(workspace.root.join(".git/edt/main/journal")).unwrap();
        journal.write_all_at(&[0xee; 16], 36).unwrap();
        assert_eq!(workspace.edt(&["status"]).exit, 0);
        same(&before, &logs());
    }
}

/// A landing was recorded and killed. What the user did since decides.
#[test]
fn a_killed_landing_of_a_session_that_the_user_threw_away_is_not_landed_after_a_restart() {
    if !has_strace() {
        return;
    }
    let acts: [&[&[&str]]; 5] = [
        &[&["switch", "--quiet", "main"]],
        &[&["switch", "--quiet", "main"], &["branch", "--quiet", "-D", "edt/s"]],
        &[&["reset", "--quiet", "HEAD~1"]],
        &[&["reset", "--quiet", "--hard", "HEAD~1"]],
        &[&["commit", "--quiet", "--allow-empty", "-m", "the user's"]],
    ];
    for (format, act) in FORMATS.into_iter().flat_map(|format| acts.map(|act| (format, act))) {
        let workspace = TestRepo::made(&[format], FILES);
        workspace.edt(&["begin", "s"]).landed();
        workspace.overwrite("b.txt", "agent\n");
        workspace.overwrite("a.txt", "agent\n");
        kill(&workspace, &["land", "-m", "landed"]);
        act.iter().for_each(|args| drop(workspace.git(args)));
        let refs = || workspace.git(&["for-each-ref"]);
        let before = (refs(), workspace.rev("HEAD"), workspace.status());
        restart_orderly(&workspace);
        assert_eq!(workspace.edt(&["status"]).exit, 0);
        let after = (refs(), workspace.rev("HEAD"), workspace.status());
        assert_eq!(after, before, "{format} {act:?}");
        workspace.is_sound();
    }
}

/// The edit was recorded and killed before its file was exchanged.
#[test]
fn a_killed_edit_changes_no_file_of_a_branch_that_the_user_switched_to() {
    if !has_strace() {
        return;
    }
    for format in FORMATS {
        let workspace = TestRepo::made(&[format], FILES);
        workspace.overwrite("b.txt", "agent\n");
        workspace.write("a.txt", "one\nthe user's\n");
        kill(&workspace, &["apply", "a.txt", "--mode", "append", "--content", "agent\n"]);
        workspace.git(&["switch", "--quiet", "main"]);
        restart_orderly(&workspace);
        assert_eq!(workspace.edt(&["status"]).exit, 0);
        assert_eq!(workspace.text("a.txt"), "one\nthe user's\n", "{format}");
        assert_eq!(workspace.status(), " M a.txt\n", "{format}");
        workspace.is_sound();
    }
}

/// In the same boot: the user took the session's work over before edt's next call.
#[test]
fn a_killed_abandon_takes_nothing_from_a_branch_that_the_user_made() {
    if !has_strace() {
        return;
    }
    for format in FORMATS {
        let workspace = TestRepo::made(&[format], FILES);
        workspace.edt(&["begin", "s"]).landed();
        workspace.overwrite("b.txt", "agent\n");
        workspace.edt(&["apply", "n/n.txt", "--mode", "create", "--content", "new\n"]).landed();
        kill(&workspace, &["abandon"]);
        workspace.git(&["switch", "--quiet", "-c", "mine"]);
        let answer = workspace.edt(&["status"]);
        assert_eq!(answer.json["recovered"]["action"], "rolled_back", "{format}");
        assert_eq!(workspace.git(&["symbolic-ref", "HEAD"]), "refs/heads/mine\n");
        assert_eq!(workspace.text("n/n.txt"), "new\n", "{format}");
        assert_eq!(workspace.rev("edt/s"), workspace.rev("mine"), "{format}");
        assert_eq!(workspace.status(), "", "{format}");
        workspace.is_sound();
    }
}

/// It was complete but for the end of its record.
#[test]
fn a_killed_abandon_keeps_its_work_wherever_the_user_went() {
    if !has_strace() {
        return;
    }
    let acts: [&[&str]; 3] = [
        &["switch", "--quiet", "-c", "mine"],
        &["checkout", "--quiet", "--detach"],
        &["branch", "--move", "main", "trunk"],
    ];
    for (format, act) in FORMATS.into_iter().flat_map(|format| acts.map(|act| (format, act))) {
        let workspace = TestRepo::made(&[format], FILES);
        workspace.edt(&["begin", "s"]).landed();
        workspace.overwrite("b.txt", "agent\n");
        let tip = workspace.rev("HEAD");
        kill_at(&workspace, "syncfs", &["abandon"]);
        workspace.git(act);
        for _ in 0..2 {
            assert_eq!(workspace.edt(&["status"]).exit, 0);
            assert_eq!(workspace.rev("refs/edt/s/abandoned"), tip, "{format} {act:?}");
            assert_eq!(workspace.text("b.txt"), "other\n", "{format} {act:?}");
            assert_eq!(workspace.status(), "", "{format} {act:?}");
            restart_orderly(&workspace);
        }
        workspace.is_sound();
    }
}

#[test]
fn a_torn_file_is_restored_although_head_is_detached() {
    let workspace = TestRepo::with(FILES);
    workspace.edt(&["begin", "s"]).landed();
    workspace.overwrite("a.txt", "agent\n");
    tear(&workspace.root.join("a.txt"));
    workspace.git(&["checkout", "--quiet", "--detach"]);
    let cut = Cut { workspace, kept: PathBuf::new(), objects: Vec::new() };
    cut.restart();
    assert_eq!(cut.workspace.edt(&["status"]).exit, 0);
    assert_eq!(cut.workspace.text("a.txt"), "agent\n");
    assert_eq!(cut.workspace.status(), "");
    cut.workspace.is_sound();
}

/// An edit was killed after its commit point, in the same boot. Its file is exchanged by then: what
/// is there is the user's.
#[test]
fn what_the_user_did_after_a_killed_edit_stays() {
    if !has_strace() {
        return;
    }
    let acts: [(&[&str], &str, &str); 5] = [
        (&["switch", "--quiet", "main"], "one\n", ""),
        (&["checkout", "--quiet", "HEAD~1", "--", "a.txt"], "one\n", "M  a.txt\n"),
        (&["restore", "--source=HEAD~1", "a.txt"], "one\n", " M a.txt\n"),
        (&["commit", "--quiet", "--amend", "--message=the user's"], "two\n", ""),
        (&["reset", "--quiet", "--hard", "HEAD~1"], "one\n", ""),
    ];
    for (format, (act, text, status)) in
        FORMATS.into_iter().flat_map(|it| acts.map(|act| (it, act)))
    {
        let workspace = TestRepo::made(&[format], FILES);
        workspace.overwrite("b.txt", "agent\n");
        kill_at(
            &workspace,
            "unlinkat",
            &["apply", "a.txt", "--mode", "overwrite", "--content", "two\n"],
        );
        assert_eq!(workspace.git(&["rev-list", "--count", "main..edt/main-1"]), "2\n");
        workspace.git(act);
        for _ in 0..2 {
            assert_eq!(workspace.edt(&["status"]).exit, 0);
            assert_eq!(workspace.text("a.txt"), text, "{format} {act:?}");
            assert_eq!(workspace.status(), status, "{format} {act:?}");
            restart_orderly(&workspace);
        }
        workspace.is_sound();
    }
}

/// Git's message advises to remove the lock.
#[test]
fn a_killed_edit_is_rolled_back_although_the_user_removed_its_lock_and_switched() {
    if !has_strace() {
        return;
    }
    let workspace = TestRepo::with(FILES);
    workspace.overwrite("b.txt", "agent\n");
    let edit = ["apply", "a.txt", "--mode", "overwrite", "--content", "two\n"];
    kill_at_nth(&workspace, "linkat", 2, &edit);
    assert_eq!(workspace.text("a.txt"), "two\n");
    fs::remove_file(workspace.root.join(".git/index.lock")).unwrap();
    workspace.git(&["switch", "--quiet", "main"]);
    assert_eq!(workspace.status(), " M a.txt\n");
    assert_eq!(workspace.edt(&["status"]).exit, 0);
    assert_eq!((workspace.text("a.txt").as_str(), workspace.status().as_str()), ("one\n", ""));
    workspace.is_sound();
}

#[test]
fn a_rolled_back_abandon_creates_no_file_of_the_session_in_another_branch() {
    if !has_strace() {
        return;
    }
    for format in FORMATS {
        let workspace = TestRepo::made(&[format], FILES);
        workspace.edt(&["begin", "s"]).landed();
        workspace.edt(&["apply", "n.txt", "--mode", "create", "--content", "new\n"]).landed();
        workspace.git(&["branch", "other", "main"]);
        kill(&workspace, &["abandon"]);
        let answer = workspace.edt(&["status"]);
        assert_eq!(answer.json["recovered"]["action"], "rolled_back", "{format}");
        assert_eq!(workspace.text("n.txt"), "new\n", "{format}");
        workspace.git(&["switch", "--quiet", "other"]);
        restart_orderly(&workspace);
        assert_eq!(workspace.edt(&["status"]).exit, 0);
        assert!(!workspace.exists("n.txt"), "{format}");
        assert_eq!(workspace.status(), "", "{format}");
        workspace.is_sound();
    }
}

/// The files were exchanged and put back. A power cut loses the latter.
#[test]
fn a_rolled_back_abandon_is_rolled_back_again_after_a_power_cut() {
    if !has_strace() {
        return;
    }
    let workspace = TestRepo::with(FILES);
    workspace.edt(&["begin", "s"]).landed();
    workspace.overwrite("a.txt", "two\n");
    let tip = workspace.rev("HEAD");
    kill_at_nth(&workspace, "linkat", 4, &["abandon"]);
    assert_eq!((workspace.text("a.txt").as_str(), workspace.rev("HEAD")), ("one\n", tip));
    let (file, kept) = (workspace.root.join("a.txt"), workspace.root.join(".git/kept"));
    fs::hard_link(&file, &kept).unwrap();
    let answer = workspace.edt(&["status"]);
    assert_eq!(answer.json["recovered"]["action"], "rolled_back");
    assert_eq!(workspace.text("a.txt"), "two\n");
    fs::rename(kept, file).unwrap();
    let cut = Cut { workspace, kept: PathBuf::new(), objects: Vec::new() };
    cut.restart();
    assert_eq!(cut.workspace.edt(&["status"]).exit, 0);
    assert_eq!(cut.workspace.git(&["symbolic-ref", "HEAD"]), "refs/heads/edt/s\n");
    assert_eq!(
        (cut.workspace.text("a.txt").as_str(), cut.workspace.status().as_str()),
        ("two\n", "")
    );
    cut.workspace.is_sound();
}

#[test]
fn the_locks_of_a_call_that_was_killed_in_a_worktree_that_is_gone_are_removed() {
    if !has_strace() {
        return;
    }
    for format in FORMATS {
        let workspace = TestRepo::made(&[format], FILES);
        let place = workspace.root.with_file_name("linked");
        let at = place.to_str().unwrap();
        workspace.edt(&["begin", "s", "--worktree", at]).landed();
        let linked = workspace.at(&place);
        linked.overwrite("b.txt", "agent\n");
        kill_at(&linked, "rename", &["apply", "a.txt", "--mode", "append", "--content", "x\n"]);
        workspace.git(&["worktree", "remove", "--force", at]);
        assert_eq!(workspace.locks().len(), 1, "{format}: {:?}", workspace.locks());
        assert_eq!(workspace.edt(&["status"]).exit, 0);
        assert_eq!(workspace.locks(), Vec::<String>::new(), "{format}");
        assert_eq!(workspace.edt(&["status"]).json["recovered"], serde_json::Value::Null);
        workspace.git(&["branch", "--quiet", "-D", "edt/s"]);
        workspace.is_sound();
    }
}

/// A kill after the exchange and before the commit point; then the user commits what is there.
#[test]
fn what_the_user_committed_after_a_killed_edit_is_not_rolled_back_and_nothing_is_lost() {
    if !has_strace() {
        return;
    }
    let workspace = TestRepo::with(FILES);
    workspace.overwrite("b.txt", "agent\n");
    workspace.write("a.txt", "the user's only copy\n");
    let edit = ["apply", "a.txt", "--mode", "overwrite", "--content", "two\n"];
    kill_at(&workspace, "rename", &edit);
    assert_eq!(workspace.text("a.txt"), "two\n");
    remove_locks(&workspace);
    workspace.git(&["commit", "--quiet", "--all", "--message=the user's"]);
    let recovered = workspace.edt(&["status"]).json["recovered"].clone();
    assert_eq!((workspace.text("a.txt").as_str(), workspace.status().as_str()), ("two\n", ""));
    let detail = recovered["detail"].as_str().unwrap();
    let kept = detail.split("are kept: ").nth(1).unwrap().trim_end_matches('.');
    assert_eq!(fs::read_to_string(workspace.root.join(kept)).unwrap(), "the user's only copy\n");
}

/// HEAD is not on the session.
#[test]
fn a_file_that_the_user_committed_on_another_branch_after_a_killed_edit_stays() {
    if !has_strace() {
        return;
    }
    let workspace = TestRepo::with(FILES);
    workspace.edt(&["begin", "s", "--no-switch"]).landed();
    workspace.edt(&["apply", "a.txt", "--mode", "overwrite", "--content", "two\n"]).landed();
    let edits = r#"{"edits": [{"path": "n.txt", "mode": "create", "content": "new\n"},
        {"path": "a.txt", "mode": "overwrite", "content": "one\n"}]}"#;
    workspace.write("../edits", edits);
    kill_at(&workspace, "rename", &["apply", "--request", "../edits"]);
    assert_eq!(workspace.text("n.txt"), "new\n");
    remove_locks(&workspace);
    workspace.git(&["add", "n.txt"]);
    workspace.git(&["commit", "--quiet", "--message=the user's"]);
    assert_eq!(workspace.edt(&["status"]).json["recovered"]["action"], "rolled_back");
    let after = (workspace.text("n.txt"), workspace.text("a.txt"));
    assert_eq!(after, ("new\n".to_owned(), "two\n".to_owned()));
}

/// The user's Git took nothing of a killed edit. Its file is put back, wherever HEAD is.
#[test]
fn a_killed_edit_that_the_user_did_not_commit_is_rolled_back() {
    if !has_strace() {
        return;
    }
    let acts: [&[&[&str]]; 3] = [
        &[&["reset", "--quiet", "--soft", "HEAD~1"]],
        &[&["branch", "--move", "edt/main-1", "mine"]],
        &[
            &["reset", "--quiet", "--soft", "main"],
            &["reflog", "expire", "--expire=now", "--all"],
            &["gc", "--quiet", "--prune=now"],
        ],
    ];
    for (format, act) in FORMATS.into_iter().flat_map(|format| acts.map(|act| (format, act))) {
        let workspace = TestRepo::made(&[format], FILES);
        workspace.overwrite("b.txt", "agent\n");
        workspace.overwrite("a.txt", "answered\n");
        let tip = workspace.rev("HEAD");
        let edit = ["apply", "a.txt", "--mode", "overwrite", "--content", "two\n"];
        kill_at(&workspace, "rename", &edit);
        assert_eq!((workspace.text("a.txt"), workspace.rev("HEAD")), ("two\n".to_owned(), tip));
        remove_locks(&workspace);
        act.iter().for_each(|args| drop(workspace.git(args)));
        for _ in 0..2 {
            assert_eq!(workspace.edt(&["status"]).exit, 0, "{format} {act:?}");
            assert_eq!(workspace.text("a.txt"), "answered\n", "{format} {act:?}");
            restart_orderly(&workspace);
        }
        workspace.is_sound();
    }
}

/// The worktree that follows has no commit yet.
#[test]
fn a_killed_landing_into_an_unborn_branch_leaves_no_file() {
    if !has_strace() {
        return;
    }
    let land = ["land", "--into", "main", "-m", "landed"];
    for format in FORMATS {
        let is_exchanged = |n: &u32| {
            let workspace = TestRepo::unborn(&[format]);
            let place = workspace.root.with_file_name("linked");
            workspace.edt(&["begin", "s", "--worktree", place.to_str().unwrap()]).landed();
            let linked = workspace.at(&place);
            linked.edt(&["apply", "n.txt", "--mode", "create", "--content", "new\n"]).landed();
            kill_at_nth(&linked, "linkat", *n, &land);
            let is_exchanged = workspace.exists("n.txt");
            assert_eq!(workspace.edt(&["status"]).exit, 0);
            assert!(!workspace.exists("n.txt"), "{format} {n}");
            linked.edt(&land).landed();
            let after = (workspace.text("n.txt"), workspace.status());
            assert_eq!(after, ("new\n".to_owned(), String::new()), "{format} {n}");
            is_exchanged
        };
        assert!((3..12).find(is_exchanged).is_some(), "{format}: no kill came after the exchange");
    }
}

/// The session goes back to a branch that the user changed since.
#[test]
fn a_rolled_back_switch_brings_back_no_file_that_the_user_removed() {
    if !has_strace() {
        return;
    }
    for format in FORMATS {
        let workspace = TestRepo::made(&[format], FILES);
        workspace.edt(&["begin", "t"]).landed();
        workspace.edt(&["switch", "--leave"]).landed();
        workspace.edt(&["begin", "s"]).landed();
        workspace.edt(&["apply", "n.txt", "--mode", "create", "--content", "new\n"]).landed();
        kill(&workspace, &["switch", "t"]);
        assert_eq!(workspace.edt(&["status"]).json["recovered"]["action"], "rolled_back");
        workspace.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
        restart_orderly(&workspace);
        assert_eq!(workspace.edt(&["status"]).exit, 0);
        assert!(!workspace.exists("n.txt"), "{format}");
        assert_eq!(workspace.status(), "", "{format}");
    }
}

#[test]
fn no_ref_is_made_of_a_killed_begin_whose_commit_is_gone() {
    if !has_strace() {
        return;
    }
    for format in FORMATS {
        let workspace = TestRepo::made(&[format], FILES);
        workspace.git(&["checkout", "--quiet", "--detach"]);
        workspace.git(&["commit", "--quiet", "--allow-empty", "--message=the user's"]);
        let edit = ["apply", "a.txt", "--mode", "overwrite", "--content", "two\n"];
        kill_at(&workspace, "renameat2", &edit);
        remove_locks(&workspace);
        workspace.git(&["checkout", "--quiet", "main"]);
        workspace.git(&["reflog", "expire", "--expire=now", "--all"]);
        workspace.git(&["gc", "--quiet", "--prune=now"]);
        restart_orderly(&workspace);
        assert_eq!(workspace.edt(&["status"]).exit, 0);
        workspace.git(&["gc", "--quiet", "--prune=now"]);
        workspace.is_sound();
    }
}

/// The cut lost the move of HEAD, which was not answered. The user went on in the session before.
fn after_a_lost_move_of_head() -> Cut {
    let workspace = TestRepo::with(FILES);
    workspace.edt(&["begin", "s"]).landed();
    workspace.overwrite("a.txt", "two\n");
    let (head, kept) = (workspace.root.join(".git/HEAD"), workspace.root.join(".git/kept"));
    fs::hard_link(&head, &kept).unwrap();
    assert_eq!(workspace.edt(&["begin", "t"]).exit, 0);
    fs::rename(kept, head).unwrap();
    let mut log = File::options().append(true).open(workspace.root.join(".git/logs/HEAD")).unwrap();
    std::io::Write::write_all(&mut log, &[0; 100]).unwrap();
    workspace.write("b.txt", "the user's\n");
    workspace.git(&["commit", "--quiet", "--all", "--message=the user's"]);
    let cut = Cut { workspace, kept: PathBuf::new(), objects: Vec::new() };
    cut.restart();
    cut
}

#[test]
fn head_stays_on_a_branch_on_which_the_user_committed_after_a_power_cut() {
    let cut = after_a_lost_move_of_head();
    assert_eq!(cut.workspace.edt(&["status"]).exit, 0);
    assert_eq!(cut.workspace.git(&["symbolic-ref", "HEAD"]), "refs/heads/edt/s\n");
    assert_eq!(cut.workspace.git(&["diff", "--cached", "--stat"]), "");
    assert_eq!(cut.workspace.text("b.txt"), "the user's\n");
    assert_eq!(cut.workspace.git(&["reflog", "-1", "--format=%gs"]), "commit: the user's\n");
    cut.workspace.is_sound();
}

#[test]
fn head_stays_on_a_branch_on_which_the_user_committed_and_went_back() {
    let cut = after_a_lost_move_of_head();
    cut.workspace.git(&["reset", "--quiet", "--soft", "HEAD~1"]);
    assert_eq!(cut.workspace.edt(&["status"]).exit, 0);
    assert_eq!(cut.workspace.git(&["symbolic-ref", "HEAD"]), "refs/heads/edt/s\n");
    assert_eq!(cut.workspace.git(&["diff", "--cached", "--name-only"]), "a.txt\nb.txt\n");
    cut.workspace.is_sound();
}

/// The files were exchanged, and HEAD had not moved.
#[test]
fn what_the_user_committed_after_a_killed_move_of_head_is_not_rolled_back() {
    if !has_strace() {
        return;
    }
    for (call, n, args) in [("linkat", 4, &["abandon"][..]), ("rename", 1, &["switch", "--leave"])]
    {
        let workspace = TestRepo::with(FILES);
        workspace.edt(&["begin", "s"]).landed();
        workspace.overwrite("a.txt", "two\n");
        kill_at_nth(&workspace, call, n, args);
        remove_locks(&workspace);
        assert_eq!(workspace.text("a.txt"), "one\n");
        assert_eq!(workspace.git(&["symbolic-ref", "HEAD"]), "refs/heads/edt/s\n");
        workspace.git(&["commit", "--quiet", "--all", "--message=the user's"]);
        assert_eq!(workspace.edt(&["status"]).json["recovered"]["action"], "rolled_back");
        let after = (workspace.text("a.txt"), workspace.status());
        assert_eq!(after, ("one\n".to_owned(), String::new()), "{args:?}");
        workspace.is_sound();
    }
}

/// The header of the journal was written back, and the objects and the index were not.
#[test]
fn refresh_first_after_a_power_cut_that_lost_objects_and_the_index() {
    let cut = Cut::after_two_edits();
    cut.lose_before(Lost::Index);
    cut.lose_before(Lost::Objects);
    cut.restart_with_header(true);
    cut.workspace.try_git(&["update-index", "--refresh"]);
    assert_eq!(cut.workspace.edt(&["status"]).exit, 0);
    assert_eq!(
        (cut.workspace.text("a.txt").as_str(), cut.workspace.status()),
        ("four\n", String::new())
    );
    cut.workspace.is_sound();
}

/// The header of the journal was written back, and the file and the move of the branch were not.
#[test]
fn gc_first_after_a_power_cut_that_lost_a_created_file() {
    let workspace = TestRepo::with(FILES);
    workspace.overwrite("b.txt", "agent\n");
    let branch = workspace.root.join(".git").join(BRANCH);
    let kept = workspace.root.join(".git/kept");
    fs::hard_link(&branch, &kept).unwrap();
    workspace.edt(&["apply", "n/n.txt", "--mode", "create", "--content", "new\n"]).landed();
    let tip = workspace.rev("HEAD");
    fs::rename(kept, branch).unwrap();
    fs::remove_dir_all(workspace.root.join("n")).unwrap();
    let log = workspace.root.join(".git/logs").join(BRANCH);
    let lines = fs::read_to_string(&log).unwrap();
    fs::write(&log, lines.split_inclusive('\n').take(2).collect::<String>()).unwrap();
    let cut = Cut { workspace, kept: PathBuf::new(), objects: Vec::new() };
    // It makes the directory older than what was staged.
    cut.restart_with_header(true);
    cut.workspace.git(&["gc", "--quiet"]);
    assert_eq!(cut.workspace.edt(&["status"]).exit, 0);
    assert_eq!(cut.workspace.rev("HEAD"), tip);
    assert_eq!(cut.workspace.text("n/n.txt"), "new\n");
    assert_eq!(cut.workspace.status(), "");
    cut.workspace.is_sound();
}

/// The edit had begun a session. The user's bytes are in no commit.
#[test]
fn the_users_bytes_return_after_a_power_cut_that_lost_a_rollback() {
    if !has_strace() {
        return;
    }
    let renamed: &[&str] = &["branch", "--move", "main", "trunk"];
    let acts: [[&[&str]; 2]; 4] = [
        [&["status"], &["status"]],
        [&["add", "a.txt"], &["status"]],
        [&["checkout", "--quiet", "--detach"], &["status"]],
        [&["status"], renamed],
    ];
    for (format, [before, after]) in FORMATS.into_iter().flat_map(|it| acts.map(|act| (it, act))) {
        let workspace = TestRepo::made(&[format], FILES);
        workspace.write("a.txt", "staged\n");
        workspace.git(before);
        workspace.write("a.txt", "the user's only copy\n");
        let status = workspace.status();
        let edit = ["apply", "a.txt", "--mode", "overwrite", "--content", "two\n"];
        let n = if format == FORMATS[0] { 7 } else { 5 };
        kill_at_nth(&workspace, "linkat", n, &edit);
        assert_eq!(workspace.text("a.txt"), "two\n", "{format}");
        let places = [workspace.root.join("a.txt"), staged(&workspace, "a.txt")];
        let kept = ["file", "staged"].map(|name| workspace.root.join(".git").join(name));
        places.iter().zip(&kept).for_each(|(from, to)| fs::hard_link(from, to).unwrap());
        assert_eq!(workspace.edt(&["status"]).json["recovered"]["action"], "rolled_back");
        assert_eq!(workspace.text("a.txt"), "the user's only copy\n");
        kept.iter().zip(&places).for_each(|(from, to)| fs::rename(from, to).unwrap());
        workspace.git(after);
        restart_orderly(&workspace);
        let answer = workspace.edt(&["status"]);
        let text = workspace.text("a.txt");
        assert_eq!(
            text, "the user's only copy\n",
            "{format} {before:?} {after:?} {:#}",
            answer.json
        );
        assert_eq!(workspace.status(), status, "{format} {before:?} {after:?}");
        workspace.is_sound();
    }
}

/// Recovery needs no value of the branch that HEAD left.
#[test]
fn a_torn_branch_that_head_left_blocks_no_call() {
    let workspace = TestRepo::with(FILES);
    workspace.overwrite("a.txt", "two\n");
    workspace.write(".git/refs/heads/main", "");
    let cut = Cut { workspace, kept: PathBuf::new(), objects: Vec::new() };
    cut.restart();
    assert_eq!(cut.workspace.edt(&["status"]).exit, 0);
    assert_eq!(cut.workspace.text("a.txt"), "two\n");
}

/// A clock was wrong when the user committed.
#[test]
fn head_moves_after_a_kill_although_the_users_commit_is_of_a_later_time() {
    if !has_strace() {
        return;
    }
    let workspace = TestRepo::with(FILES);
    let mut commit = workspace.command("git");
    commit.args(["commit", "--quiet", "--allow-empty", "--message=later"]);
    assert!(commit.env("GIT_COMMITTER_DATE", "2040-01-01T00:00:00Z").status().unwrap().success());
    let edit = ["apply", "a.txt", "--mode", "overwrite", "--content", "two\n"];
    kill_at_nth(&workspace, "rename", 2, &edit);
    assert_eq!(workspace.git(&["symbolic-ref", "HEAD"]), "refs/heads/main\n");
    assert_eq!(workspace.edt(&["status"]).exit, 0);
    assert_eq!(workspace.git(&["symbolic-ref", "HEAD"]), "refs/heads/edt/main-1\n");
    assert_eq!((workspace.text("a.txt").as_str(), workspace.status().as_str()), ("two\n", ""));
}

/// The calls were killed before they changed anything.
#[test]
fn a_killed_move_of_head_takes_no_file_that_the_user_untracked() {
    if !has_strace() {
        return;
    }
    let calls: [&[&str]; 2] = [&["switch", "--leave"], &["abandon"]];
    for (args, intact) in calls.into_iter().flat_map(|args| [false, true].map(|it| (args, it))) {
        let workspace = TestRepo::with(FILES);
        workspace.edt(&["begin", "s"]).landed();
        workspace.write("notes.txt", "typed by the user\n");
        workspace.edt(&["checkpoint"]).landed();
        kill(&workspace, args);
        remove_locks(&workspace);
        workspace.git(&["rm", "--quiet", "--cached", "notes.txt"]);
        workspace.git(&["commit", "--quiet", "--message=not tracked"]);
        let cut = Cut { workspace, kept: PathBuf::new(), objects: Vec::new() };
        cut.restart_with_header(intact);
        assert_eq!(cut.workspace.edt(&["status"]).exit, 0);
        assert_eq!(cut.workspace.status(), "?? notes.txt\n", "{args:?} {intact}");
        assert_eq!(cut.workspace.git(&["symbolic-ref", "HEAD"]), "refs/heads/edt/s\n");
    }
}

#[test]
fn a_branch_that_the_user_went_back_to_is_not_deleted() {
    if !has_strace() {
        return;
    }
    for (format, intact) in FORMATS.into_iter().flat_map(|it| [false, true].map(|one| (it, one))) {
        let workspace = TestRepo::made(&[format], FILES);
        workspace.edt(&["begin", "s"]).landed();
        workspace.overwrite("a.txt", "two\n");
        kill(&workspace, &["abandon"]);
        remove_locks(&workspace);
        workspace.git(&["switch", "--quiet", "main"]);
        workspace.git(&["switch", "--quiet", "edt/s"]);
        let cut = Cut { workspace, kept: PathBuf::new(), objects: Vec::new() };
        cut.restart_with_header(intact);
        assert_eq!(cut.workspace.edt(&["status"]).exit, 0);
        assert_eq!(cut.workspace.git(&["branch", "--list", "edt/s"]), "* edt/s\n");
        assert_eq!(cut.workspace.status(), "", "{format} {intact}");
        cut.workspace.is_sound();
    }
}

#[test]
fn a_branch_that_another_worktree_checked_out_is_not_deleted() {
    if !has_strace() {
        return;
    }
    for ends in [&["abandon"][..], &["gc", "--older-than", "0"]] {
        let workspace = TestRepo::with(FILES);
        workspace.edt(&["begin", "s"]).landed();
        workspace.overwrite("a.txt", "two\n");
        if ends[0] == "gc" {
            workspace.edt(&["land", "-m", "landed"]).landed();
            std::thread::sleep(std::time::Duration::from_millis(2100));
            kill(&workspace, ends);
        } else {
            kill_at_nth(&workspace, "rename", 2, ends);
            remove_locks(&workspace);
            workspace.git(&["switch", "--quiet", "--force", "main"]);
        }
        remove_locks(&workspace);
        let place = workspace.root.with_file_name("w");
        workspace.git(&["worktree", "add", "--quiet", place.to_str().unwrap(), "edt/s"]);
        assert_eq!(workspace.edt(&["status"]).exit, 0);
        let log = workspace.at(&place).git(&["log", "-1", "--format=%d"]);
        assert!(log.contains("edt/s"), "{ends:?}: {log}");
        assert_eq!(workspace.at(&place).edt(&["log"]).exit, 0, "{ends:?}");
        workspace.is_sound();
    }
}

/// The user moved the branch back after a kill, and the log does not say so.
#[test]
fn head_stays_after_a_kill_although_the_log_of_the_users_move_is_gone() {
    if !has_strace() {
        return;
    }
    for format in FORMATS {
        let workspace = TestRepo::made(&[format], FILES);
        workspace.git(&["commit", "--quiet", "--allow-empty", "--message=the user's"]);
        let n = if format == FORMATS[0] { 2 } else { 1 };
        kill_at_nth(&workspace, "rename", n, &["begin", "s"]);
        remove_locks(&workspace);
        assert_eq!(workspace.git(&["symbolic-ref", "HEAD"]), "refs/heads/main\n");
        workspace.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
        workspace.git(&["reflog", "expire", "--expire=now", "--all"]);
        assert_eq!(workspace.edt(&["status"]).exit, 0);
        assert_eq!(workspace.git(&["symbolic-ref", "HEAD"]), "refs/heads/main\n", "{format}");
        assert_eq!(workspace.status(), "", "{format}");
    }
}

/// The cut lost the move of HEAD, and the last lines of its log.
#[test]
fn head_stays_where_the_user_moved_the_branch_although_lines_of_the_log_are_lost() {
    let workspace = TestRepo::with(FILES);
    workspace.edt(&["begin", "s"]).landed();
    for text in ["two\n", "three\n", "four\n"] {
        workspace.overwrite("a.txt", text);
    }
    let (head, kept) = (workspace.root.join(".git/HEAD"), workspace.root.join(".git/kept"));
    fs::hard_link(&head, &kept).unwrap();
    assert_eq!(workspace.edt(&["begin", "t"]).exit, 0);
    fs::rename(kept, head).unwrap();
    let log = workspace.root.join(".git/logs/HEAD");
    let lines = fs::read_to_string(&log).unwrap();
    let all: Vec<&str> = lines.split_inclusive('\n').collect();
    fs::write(&log, all[..all.len() - 3].concat()).unwrap();
    // A log has whole seconds.
    std::thread::sleep(std::time::Duration::from_millis(1100));
    workspace.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    let cut = Cut { workspace, kept: PathBuf::new(), objects: Vec::new() };
    cut.restart();
    assert_eq!(cut.workspace.edt(&["status"]).exit, 0);
    assert_eq!(cut.workspace.git(&["symbolic-ref", "HEAD"]), "refs/heads/edt/s\n");
    assert_eq!(cut.workspace.status(), "");
}

/// Everything was done but the closing of the journal.
#[test]
fn a_session_whose_killed_first_edit_the_user_amended_goes_on() {
    if !has_strace() {
        return;
    }
    let acts: [&[&str]; 2] = [
        &["commit", "--quiet", "--amend", "-m", "mine"],
        &["reset", "--quiet", "--hard", "HEAD~1"],
    ];
    for (format, act) in FORMATS.into_iter().flat_map(|format| acts.map(|act| (format, act))) {
        let workspace = TestRepo::made(&[format], FILES);
        let edit = ["apply", "a.txt", "--mode", "overwrite", "--content", "two\n"];
        let is_done = |n: &u32| {
            let mut command = workspace.command("strace");
            let inject = format!("inject=unlinkat:signal=KILL:when={n}");
            command.args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=unlinkat", "-e", &inject]);
            command.arg(EDT).args(edit).output().unwrap();
            workspace.git(&["rev-parse", "--abbrev-ref", "HEAD"]) == "edt/main-1\n"
        };
        assert!((1..9).find(is_done).is_some(), "{format}");
        remove_locks(&workspace);
        workspace.git(act);
        let tip = workspace.rev("HEAD");
        assert_eq!(workspace.edt(&["status"]).exit, 0);
        assert_eq!((workspace.rev("HEAD"), workspace.status()), (tip, String::new()), "{format}");
        workspace.overwrite("b.txt", "more\n");
        assert_eq!(workspace.edt(&["abandon"]).exit, 0, "{format} {act:?}");
        workspace.is_sound();
    }
}

/// The session was made and HEAD had not moved. Then the user or another worktree moved `main`.
#[test]
fn an_edit_that_head_does_not_follow_leaves_the_users_file() {
    if !has_strace() {
        return;
    }
    let workspace = || {
        let workspace = TestRepo::with(FILES);
        workspace.write("a.txt", "the user's only copy\n");
        let edit = ["apply", "a.txt", "--mode", "overwrite", "--content", "agent\n"];
        kill_at_nth(&workspace, "rename", 2, &edit);
        remove_locks(&workspace);
        assert_eq!(workspace.git(&["symbolic-ref", "HEAD"]), "refs/heads/main\n");
        assert_eq!(workspace.text("a.txt"), "agent\n");
        workspace
    };
    let by_user = workspace();
    by_user.git(&["commit", "--quiet", "--allow-empty", "--message=the user's"]);
    assert_eq!(by_user.edt(&["status"]).exit, 0);
    assert_eq!(by_user.git(&["symbolic-ref", "HEAD"]), "refs/heads/main\n");
    assert_eq!(by_user.text("a.txt"), "the user's only copy\n");
    assert_eq!(by_user.git(&["show", "edt/main-1:a.txt"]), "agent\n");
    assert_eq!(by_user.git(&["reflog", "-1", "--format=%gs"]), "commit: the user's\n");
    by_user.is_sound();

    let elsewhere = workspace();
    let place = elsewhere.root.with_file_name("w");
    elsewhere.git(&["worktree", "add", "--quiet", "-b", "other", place.to_str().unwrap()]);
    let linked = elsewhere.at(&place);
    linked.git(&["commit", "--quiet", "--allow-empty", "--message=other"]);
    linked.git(&["update-ref", "refs/heads/main", "HEAD"]);
    assert_eq!(elsewhere.edt(&["status"]).exit, 0);
    assert_eq!(elsewhere.git(&["symbolic-ref", "HEAD"]), "refs/heads/edt/main-1\n");
    assert_eq!(
        (elsewhere.text("a.txt"), elsewhere.status()),
        ("agent\n".to_owned(), String::new())
    );
    elsewhere.is_sound();
}

/// The session was made by the edit. HEAD is elsewhere, with the edit.
#[test]
fn an_answered_first_edit_is_restored_wherever_head_is() {
    let acts: [&[&str]; 3] = [
        &["checkout", "--quiet", "--detach"],
        &["switch", "--quiet", "--create", "mine"],
        &["branch", "--move", "mine"],
    ];
    for ((format, act), intact) in FORMATS
        .into_iter()
        .flat_map(|format| acts.map(|act| (format, act)))
        .flat_map(|it| [false, true].map(|intact| (it, intact)))
    {
        let workspace = TestRepo::made(&[format], FILES);
        workspace.overwrite("a.txt", "two\n");
        tear(&workspace.root.join("a.txt"));
        workspace.git(act);
        let cut = Cut { workspace, kept: PathBuf::new(), objects: Vec::new() };
        cut.restart_with_header(intact);
        assert_eq!(cut.workspace.edt(&["status"]).exit, 0);
        assert_eq!(cut.workspace.text("a.txt"), "two\n", "{format} {act:?} {intact}");
        assert_eq!(cut.workspace.status(), "", "{format} {act:?} {intact}");
    }
}

/// As in one boot: the files go back, and the commit stays in the session.
#[test]
fn an_unanswered_edit_that_head_does_not_follow_leaves_the_users_file_after_a_restart() {
    if !has_strace() {
        return;
    }
    for (call, n) in [("rename", 2), ("linkat", 7)] {
        let workspace = TestRepo::with(FILES);
        workspace.write("a.txt", "the user's only copy\n");
        let edit = ["apply", "a.txt", "--mode", "overwrite", "--content", "agent\n"];
        kill_at_nth(&workspace, call, n, &edit);
        remove_locks(&workspace);
        assert_eq!(workspace.text("a.txt"), "agent\n", "{call}");
        workspace.git(&["commit", "--quiet", "--allow-empty", "--message=the user's"]);
        restart_orderly(&workspace);
        assert_eq!(workspace.edt(&["status"]).exit, 0);
        assert_eq!(workspace.git(&["symbolic-ref", "HEAD"]), "refs/heads/main\n");
        assert_eq!(workspace.text("a.txt"), "the user's only copy\n", "{call}");
        workspace.is_sound();
    }
}

/// HEAD had moved to the session, and the index had not followed.
#[test]
fn the_index_of_a_killed_first_edit_follows_although_the_user_left_its_branch() {
    if !has_strace() {
        return;
    }
    let acts: [&[&str]; 2] =
        [&["switch", "--quiet", "--create", "other"], &["branch", "--move", "edt/mine"]];
    for (act, restarts) in acts.into_iter().flat_map(|act| [false, true].map(|it| (act, it))) {
        let workspace = TestRepo::with(FILES);
        let edit = ["apply", "a.txt", "--mode", "overwrite", "--content", "two\n"];
        kill_at_nth(&workspace, "renameat2", 6, &edit);
        remove_locks(&workspace);
        assert_eq!(workspace.git(&["symbolic-ref", "HEAD"]), "refs/heads/edt/main-1\n");
        workspace.git(act);
        if restarts {
            restart_orderly(&workspace);
        }
        assert_eq!(workspace.edt(&["status"]).exit, 0, "{act:?} {restarts}");
        let after = (workspace.text("a.txt"), workspace.status());
        assert_eq!(after, ("two\n".to_owned(), String::new()), "{act:?} {restarts}");
        workspace.is_sound();
    }
}

/// The first recovery was killed after it had restored a file, which changed the directory.
#[test]
fn a_recovery_that_was_killed_restores_the_rest_the_next_time() {
    if !has_strace() {
        return;
    }
    for n in 1..6 {
        let workspace = TestRepo::with(FILES);
        workspace.edt(&["begin", "s"]).landed();
        let (file, kept) = (workspace.root.join("a.txt"), workspace.root.join(".git/kept"));
        fs::hard_link(&file, &kept).unwrap();
        workspace.overwrite("a.txt", "two\n");
        for path in ["n1.txt", "n2.txt"] {
            workspace.edt(&["apply", path, "--mode", "create", "--content", "x\n"]).landed();
        }
        fs::rename(kept, file).unwrap();
        for path in ["n1.txt", "n2.txt"] {
            fs::remove_file(workspace.root.join(path)).unwrap();
        }
        let old = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
        File::open(&workspace.root).unwrap().set_modified(old).unwrap();
        let cut = Cut { workspace, kept: PathBuf::new(), objects: Vec::new() };
        cut.restart();
        let mut command = cut.workspace.command("strace");
        let inject = format!("inject=renameat2:signal=KILL:when={n}");
        command.args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=renameat2", "-e", &inject]);
        command.args([EDT, "status"]).output().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
        assert_eq!(cut.workspace.edt(&["status"]).exit, 0);
        assert_eq!(cut.workspace.status(), "", "{n}");
        assert_eq!(
            (cut.workspace.text("a.txt"), cut.workspace.text("n2.txt")),
            ("two\n".to_owned(), "x\n".to_owned())
        );
    }
}

/// The mark of a recovery that was killed at its end.
#[test]
fn the_mark_of_an_earlier_cut_is_no_sign_of_another_one() {
    let workspace = TestRepo::with(FILES);
    workspace.edt(&["begin", "s"]).landed();
    workspace.overwrite("b.txt", "agent\n");
    workspace.write(".git/edt/main/cut", "1");
    workspace.overwrite("a.txt", "two\n");
    fs::remove_file(workspace.root.join("a.txt")).unwrap();
    restart_orderly(&workspace);
    assert_eq!(workspace.edt(&["status"]).exit, 0);
    assert_eq!(workspace.status(), " D a.txt\n");
}

/// The call was killed before it moved HEAD. The user then went there, and on.
#[test]
fn a_killed_abandon_is_given_up_although_the_user_was_at_its_target() {
    if !has_strace() {
        return;
    }
    let workspace = TestRepo::with(FILES);
    workspace.git(&["branch", "other"]);
    workspace.edt(&["begin", "s"]).landed();
    workspace.overwrite("a.txt", "two\n");
    kill(&workspace, &["abandon"]);
    remove_locks(&workspace);
    workspace.git(&["switch", "--quiet", "main"]);
    workspace.git(&["switch", "--quiet", "other"]);
    restart_orderly(&workspace);
    assert_eq!(workspace.edt(&["status"]).exit, 0);
    assert_eq!(workspace.git(&["show", "edt/s:a.txt"]), "two\n");
    assert_eq!(workspace.status(), "");
}

#[test]
fn no_log_is_made_of_a_branch_that_the_user_deleted_or_renamed() {
    let acts: [&[&[&str]]; 2] = [
        &[&["switch", "--quiet", "main"], &["branch", "--quiet", "-D", "edt/main-1"]],
        &[&["branch", "--move", "mine"]],
    ];
    for (act, intact) in acts.into_iter().flat_map(|act| [false, true].map(|it| (act, it))) {
        let workspace = TestRepo::with(FILES);
        workspace.overwrite("a.txt", "two\n");
        act.iter().for_each(|args| drop(workspace.git(args)));
        let cut = Cut { workspace, kept: PathBuf::new(), objects: Vec::new() };
        cut.restart_with_header(intact);
        assert_eq!(cut.workspace.edt(&["status"]).exit, 0);
        assert!(!cut.workspace.exists(".git/logs/refs/heads/edt/main-1"), "{act:?} {intact}");
        assert_eq!(cut.workspace.status(), "", "{act:?} {intact}");
    }
}
