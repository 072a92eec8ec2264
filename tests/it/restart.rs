//! After a power cut: what was answered and not yet on the medium is lost, in any combination; the next call brings it back.
//!
//! A lost rename leaves the old inode under the name. The tests keep every old inode alive by a hard link, put some of them back,
//! remove new objects, and make the journal's boot id another: that is what a disk holds when the page cache is gone.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;

use crate::world::{World, same};

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

/// A worktree whose last two edits can be lost.
struct Cut {
    world: World,
    kept: PathBuf,
    objects: Vec<PathBuf>,
}

impl Cut {
    /// Two edits of `a.txt`, after a first one; the inodes from before the two are kept.
    fn after_two_edits() -> Cut {
        Cut::after_two_edits_in(World::with(&[("a.txt", b"one\n"), ("b.txt", b"other\n")]))
    }

    fn after_two_edits_in(world: World) -> Cut {
        world.overwrite("a.txt", "two\n");
        let kept = world.git_dir("--git-dir").join("kept");
        fs::create_dir(&kept).unwrap();
        let cut = Cut { world, kept, objects: Vec::new() };
        for (name, path) in cut.places() {
            fs::hard_link(path, cut.kept.join(name)).unwrap();
        }
        let before = cut.all_objects();
        cut.world.overwrite("a.txt", "three\n");
        cut.world.overwrite("a.txt", "four\n");
        let objects = cut.all_objects().into_iter().filter(|path| !before.contains(path)).collect();
        Cut { objects, ..cut }
    }

    fn places(&self) -> [(&'static str, PathBuf); 3] {
        let git = self.world.git_dir("--git-dir");
        [
            ("file", self.world.root.join("a.txt")),
            ("branch", git.join(BRANCH)),
            ("index", git.join("index")),
        ]
    }

    fn all_objects(&self) -> Vec<PathBuf> {
        let folders = fs::read_dir(self.world.git_dir("--git-dir").join("objects")).unwrap();
        let files = folders.flat_map(|folder| fs::read_dir(folder.unwrap().path()).unwrap());
        files.map(|file| file.unwrap().path()).collect()
    }

    /// Loses it, and restarts the machine.
    fn lose(&self, lost: Lost) {
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
        if lost == Lost::Objects || lost == Lost::Everything {
            for (i, object) in self.objects.iter().enumerate() {
                // Some are gone, some are there and torn.
                fs::remove_file(object).unwrap();
                if i % 2 == 0 {
                    fs::write(object, b"").unwrap();
                }
            }
        }
        self.restart();
    }

    fn restart(&self) {
        let journal = self.world.git_dir("--git-common-dir").join("edt/main/journal");
        let mut bytes = fs::read(&journal).unwrap();
        crate::power::forgive(&mut bytes);
        fs::write(&journal, bytes).unwrap();
        File::options().write(true).open(journal).unwrap().write_all_at(&[0xee; 16], 36).unwrap();
    }
}

#[test]
fn what_a_power_cut_took_of_an_answered_edit_comes_back() {
    for lost in [Lost::File, Lost::Branch, Lost::Objects, Lost::Index, Lost::Everything] {
        let cut = Cut::after_two_edits();
        let (tip, files) = (cut.world.rev("HEAD"), cut.world.files());
        cut.lose(lost);
        let answer = cut.world.edt(&["status"]);
        assert_eq!(answer.exit, 0, "{lost:?}: {:#}", answer.json);
        assert_eq!(cut.world.rev("HEAD"), tip, "{lost:?}: the branch");
        same(&files, &cut.world.files());
        assert_eq!(cut.world.status(), "", "{lost:?}");
        cut.world.is_sound();
        assert_eq!(
            cut.world.edt(&["status"]).json["settled"],
            serde_json::Value::Null,
            "{lost:?}: settled once"
        );
        cut.world.overwrite("a.txt", "five\n");
        assert_eq!(cut.world.text("a.txt"), "five\n", "{lost:?}");
    }
}

#[test]
fn bytes_that_only_the_disk_held_come_back_for_files_that_git_converts() {
    for lost in [Lost::File, Lost::Objects, Lost::Everything] {
        let cut = Cut::after_two_edits_in(World::with(&[
            (".gitattributes", b"*.txt eol=crlf\n"),
            ("a.txt", b"one\r\n"),
        ]));
        let (tip, files) = (cut.world.rev("HEAD"), cut.world.files());
        assert_eq!(cut.world.text("a.txt"), "four\r\n");
        cut.lose(lost);
        assert_eq!(cut.world.edt(&["status"]).exit, 0, "{lost:?}");
        assert_eq!((cut.world.rev("HEAD"), cut.world.status().as_str()), (tip, ""), "{lost:?}");
        same(&files, &cut.world.files());
        cut.world.is_sound();
    }
}

#[test]
fn a_recovery_says_what_it_brought_back() {
    let cut = Cut::after_two_edits();
    cut.lose(Lost::Everything);
    let settled = cut.world.edt(&["status"]).json["settled"].clone();
    assert_eq!(
        (settled["action"].as_str(), settled["files"].clone()),
        (Some("recovered"), serde_json::json!(["a.txt"]))
    );
}

#[test]
fn what_a_person_did_after_the_edits_stays_after_a_restart() {
    let cut = Cut::after_two_edits();
    // The very bytes of an older state, but in an inode of the person's own.
    let other = cut.world.root.join("a.new");
    fs::write(&other, "two\n").unwrap();
    fs::rename(&other, cut.world.root.join("a.txt")).unwrap();
    cut.restart();
    assert_eq!(cut.world.edt(&["status"]).exit, 0);
    assert_eq!(cut.world.text("a.txt"), "two\n");
}

#[test]
fn a_branch_that_a_person_moved_back_stays_there_after_a_restart() {
    let cut = Cut::after_two_edits();
    cut.world.git(&["reset", "--quiet", "--keep", "HEAD~1"]);
    let (tip, files) = (cut.world.rev("HEAD"), cut.world.files());
    cut.restart();
    assert_eq!(cut.world.edt(&["status"]).exit, 0);
    assert_eq!(cut.world.rev("HEAD"), tip);
    same(&files, &cut.world.files());
    assert_eq!(cut.world.status(), "");
}

#[test]
fn a_person_who_switched_away_is_not_switched_back_after_a_restart() {
    let cut = Cut::after_two_edits();
    cut.world.git(&["switch", "--quiet", "main"]);
    cut.restart();
    assert_eq!(cut.world.edt(&["status"]).exit, 0);
    assert_eq!(cut.world.git(&["symbolic-ref", "HEAD"]).trim(), "refs/heads/main");
    assert_eq!((cut.world.text("a.txt"), cut.world.status()), ("one\n".to_owned(), String::new()));
}

#[test]
fn a_journal_that_is_none_is_set_aside_and_nothing_is_touched() {
    let cut = Cut::after_two_edits();
    let files = cut.world.files();
    let folder = cut.world.git_dir("--git-common-dir").join("edt/main");
    fs::write(folder.join("journal"), b"garbage").unwrap();
    let settled = cut.world.edt(&["status"]).json["settled"].clone();
    assert_eq!(settled["action"].as_str(), Some("set_aside"));
    assert_eq!(fs::read(folder.join("journal.damaged-1")).unwrap(), b"garbage");
    same(&files, &cut.world.files());
}

/// Once the landed commit was written, and not in the journal.
#[test]
fn a_landing_that_was_answered_comes_back() {
    let world = World::with(&[("a.txt", b"one\n"), ("b.txt", b"other\n")]);
    world.edt(&["begin", "s", "--no-switch"]).landed();
    world.overwrite("a.txt", "two\n");
    let commit = world.edt(&["land"]).landed().commit().to_owned();
    fs::remove_file(world.root.join(format!(".git/objects/{}/{}", &commit[..2], &commit[2..])))
        .unwrap();
    let cut = Cut { world, kept: PathBuf::new(), objects: Vec::new() };
    cut.restart();
    assert_eq!(cut.world.edt(&["status"]).exit, 0);
    assert_eq!(cut.world.rev("main"), commit);
    cut.world.is_sound();
    cut.world.is_clean();
}

/// Each worktree has a journal of its own: a ref that was torn there is mended there, and a call from elsewhere says so.
#[test]
fn a_torn_branch_of_another_worktree_is_mended_in_that_worktree() {
    let world = World::with(&[("a.txt", b"one\n")]);
    world.edt(&["begin", "s"]).landed();
    let place = world.root.with_file_name("other");
    world.edt(&["begin", "o", "--worktree", place.to_str().unwrap()]).landed();
    let other = world.at(&place);
    let commit = other.overwrite("a.txt", "two\n").commit().to_owned();
    fs::write(world.root.join(".git/refs/heads/edt/o"), b"").unwrap();
    let journal = world.root.join(".git/edt/linked/other/journal");
    File::options().write(true).open(journal).unwrap().write_all_at(&[0xee; 16], 36).unwrap();
    let here = world.refuses(&["IO_ERROR"], 5, &["status"]);
    assert!(here.hint().contains("git worktree list"), "{}", here.hint());
    world.overwrite("a.txt", "here\n");
    assert_eq!(other.edt(&["status"]).exit, 0);
    assert_eq!((other.rev("edt/o"), world.edt(&["status"]).exit), (commit, 0));
    other.is_clean();
    other.is_sound();
}

/// Each did something that once was undone by the next call after a restart in which nothing was lost.
#[test]
fn after_a_restart_in_which_nothing_was_lost_everything_stays_as_it_is() {
    type Act = (&'static str, fn(&World));
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
        ("a file where a folder was", |w| {
            w.edt(&["apply", "nd/n.txt", "--mode", "create", "--content", "n\n"]).landed();
            fs::remove_dir_all(w.root.join("nd")).unwrap();
            w.write("nd", "mine\n");
        }),
        ("put back after edt deleted it", |w| {
            fs::hard_link(w.root.join("b.txt"), w.root.join("kept")).unwrap();
            w.edt(&["apply", "b.txt", "--mode", "delete"]).landed();
            fs::rename(w.root.join("kept"), w.root.join("b.txt")).unwrap();
        }),
        ("an empty folder made again", |w| {
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
    for (name, act) in acts {
        let world = World::with(&[("a.txt", b"one\n"), ("b.txt", b"b\n")]);
        world.edt(&["begin", "s"]).landed();
        for text in ["two\n", "three\n", "four\n"] {
            world.overwrite("a.txt", text);
        }
        act(&world);
        let (before, status) = (world.snapshot(), world.status());
        let journal = world.root.join(".git/edt/main/journal");
        File::options().write(true).open(journal).unwrap().write_all_at(&[0xee; 16], 36).unwrap();
        let answer = world.edt(&["status"]);
        assert_eq!(answer.exit, 0, "{name}: {:#}", answer.json);
        assert_eq!(world.status(), status, "{name}");
        let after = world.snapshot();
        let differs: Vec<&String> =
            before.keys().filter(|key| before.get(*key) != after.get(*key)).collect();
        assert!(differs.is_empty() && before.len() == after.len(), "{name}: {differs:?}");
    }
}

#[test]
fn a_shallow_clone_is_settled_after_a_restart() {
    let origin = World::with(&[("a.txt", b"one\n")]);
    origin.commit(&[("a.txt", b"two\n")]);
    let place = origin.root.with_file_name("clone");
    origin.git(&[
        "clone",
        "--quiet",
        "--depth=1",
        &format!("file://{}", origin.root.display()),
        place.to_str().unwrap(),
    ]);
    let world = origin.at(&place);
    world.edt(&["begin", "s"]).landed();
    world.overwrite("a.txt", "three\n");
    File::options()
        .write(true)
        .open(place.join(".git/edt/main/journal"))
        .unwrap()
        .write_all_at(&[0xee; 16], 36)
        .unwrap();
    assert_eq!(world.edt(&["status"]).exit, 0);
    world.is_clean();
}
