//! What is kept, what is not, and what others have.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;

use edt_recorder::event::{Attributes, FileEvent, Inode, Kept};
use edt_recorder::{Clean, CleanBytes, CopyLimits, Recorder, restore};

use crate::scene::{Scene, assert_same, record};
use crate::snapshot::snapshot;

/// Says that files named `clean` have the text "clean".
struct Texts;

impl Clean for Texts {
    fn name(&mut self, path: &[u8], _: Inode, attributes: &Attributes) -> Option<Vec<u8>> {
        (path.ends_with(b"clean") && attributes.size == 6).then(|| b"the text".to_vec())
    }
}

impl CleanBytes for Texts {
    fn write(&mut self, name: &[u8], file: &mut File) -> io::Result<()> {
        assert_eq!(name, b"the text");
        file.write_all(b"clean\n")
    }
}

fn kept(event: &FileEvent) -> Option<&Kept> {
    match event {
        FileEvent::Content { kept, .. } => Some(kept),
        FileEvent::Removed { former, .. } | FileEvent::Renamed { replaced: Some(former), .. } => {
            match &former.node {
                edt_recorder::event::Node::File(kept) => Some(kept),
                _ => None,
            }
        }
        _ => None,
    }
}

#[test]
fn a_clean_file_is_not_kept_and_comes_back() {
    for script in [
        "echo new > clean",
        "rm clean",
        "mv other clean",
        "mv d e; echo x > e/clean; rm e/clean; rmdir e",
        "rm clean; echo 1 > clean; mv d/clean clean; echo 2 >> clean",
    ] {
        let scene = Scene::of("mkdir d; echo clean > clean; echo clean > d/clean; echo o > other");
        let root = scene.root();
        let was = snapshot(&root);
        let mut recording = scene.recording();
        recording.clean = Box::new(Texts);
        let done = record(recording, scene.shell(script));
        let mut all = done.run.events().filter_map(kept);
        let other = |kept: &&Kept| matches!(kept, Kept::Copied(_));
        assert!(!all.any(|kept| other(&kept)), "{script}");
        let restoration = restore(&scene.store(), &root, &mut Texts).unwrap();
        assert_same(&was, &root, &format!("{script} {restoration:?}"));
    }
}

#[test]
fn a_file_above_the_limit_is_named_and_a_removed_one_is_free() {
    let scene = Scene::of("head -c 30000 /dev/urandom > a; cp a b; cp a c; truncate -s 1G holes");
    let mut recording = scene.recording();
    recording.limits = CopyLimits { file: 40_000, run: 50_000 };
    let script = "echo x >> a; echo x >> b; echo x >> holes; rm c";
    let done = record(recording, scene.shell(script));
    let lost: Vec<String> = done.run.lost().iter().map(|(place, _)| place.to_string()).collect();
    assert_eq!(lost, ["b"]);
    let restoration = scene.restore();
    assert_eq!(restoration.lost.len(), 1);
    let size = |name: &str| scene.root().join(name).metadata().unwrap().size();
    assert_eq!([size("a"), size("b"), size("c"), size("holes")], [30_000, 30_002, 30_000, 1 << 30]);
}

#[test]
fn a_file_that_cannot_be_kept_is_not_removed() {
    let scene = Scene::of("head -c 30000 /dev/urandom > a; echo small > b");
    // Another file system: nothing can be linked there.
    let store = tempfile::tempdir_in("/dev/shm").unwrap();
    let mut recording = scene.recording();
    recording.store = store.path().to_owned();
    recording.limits = CopyLimits { file: 10_000, run: 50_000 };
    let was = snapshot(&scene.root());
    let done = record(recording, scene.shell("rm b; rm a"));
    assert!(!done.output.status.success() && done.stderr().contains("Permission denied"));
    assert!(scene.root().join("a").exists() && !scene.root().join("b").exists());
    restore(store.path(), &scene.root(), &mut edt_recorder::NothingClean).unwrap();
    assert_same(&was, &scene.root(), "rm b; rm a");
}

#[test]
fn a_path_that_changes_while_it_is_read_is_recorded() {
    let source = "#include <fcntl.h>\n#include <pthread.h>\n#include <stdio.h>\n\
        #include <unistd.h>\nstatic volatile char path[] = \"a\";\nstatic volatile int over;\n\
        static void *swap(void *x){while(!over){path[0]='a';path[0]='b';}return x;}\n\
        int main(void){pthread_t t;pthread_create(&t,0,swap,0);\n\
        for(int i=0;i<2000;i++){int f=open((char*)path,O_WRONLY|O_TRUNC|O_CREAT,0644);\n\
        if(f>=0){dprintf(f,\"%d\",i);close(f);}\n\
        if(i%7==0)rename((char*)path,i%2?\"a\":\"c\");if(i%5==0)unlink((char*)path);}\n\
        over=1;pthread_join(t,0);return 0;}";
    let scene = Scene::of("echo one > a; echo two > b; echo three > c");
    std::fs::write(scene.store().join("../race.c"), source).unwrap();
    scene.unrecorded("cc -pthread -o ../race ../race.c 2>/dev/null");
    let was = snapshot(&scene.root());
    scene.run("../race");
    let restoration = scene.restore();
    assert_same(&was, &scene.root(), &format!("{restoration:?}"));
}

#[test]
fn a_run_within_a_run_is_recorded_by_the_outer_one_alone() {
    let scene = Scene::of("echo a > a");
    let inner_store = tempfile::tempdir().unwrap();
    let mut inner = scene.recording();
    inner.store = inner_store.path().to_owned();
    let (outer_setup, outer) = Recorder::prepare(scene.recording()).unwrap();
    let (inner_setup, inner) = Recorder::prepare(inner).unwrap();
    let mut command = scene.shell("echo new > a");
    let start = move || {
        drop(outer_setup.apply().unwrap());
        let error = inner_setup.apply().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ResourceBusy);
        assert!(command.status().unwrap().success());
    };
    std::thread::spawn(start).join().unwrap();
    let (outer, inner) = (outer.finish().unwrap(), inner.finish().unwrap());
    assert_eq!((outer.touched(&scene.root()).unwrap().len(), outer.unproved.len()), (1, 0));
    assert_eq!((inner.is_empty(), inner.unproved.len()), (true, 1));
}

#[test]
fn two_runs_at_once_leave_each_others_files() {
    let scene = Scene::of("echo a > a; echo b > b; mkdir d");
    let other = tempfile::tempdir_in(scene.store().join("..")).unwrap();
    let mut second = scene.recording();
    second.store = other.path().to_owned();
    let script =
        |one: &str| format!("for n in $(seq 200); do echo $n > {one}; echo > d/{one}$n; done");
    let (first, second) = std::thread::scope(|scope| {
        let command = scene.shell(&script("b"));
        let second = scope.spawn(|| record(second, command));
        (record(scene.recording(), scene.shell(&script("a"))), second.join().unwrap())
    });
    for (done, own) in [(&first, "a"), (&second, "b")] {
        let touched = done.run.touched(&scene.root()).unwrap();
        assert_eq!(touched.len(), 201);
        let is_own = |path: &Vec<u8>| String::from_utf8_lossy(path).contains(own);
        assert!(touched.iter().all(|(path, one)| is_own(path) && !one.foreign));
    }
    scene.restore();
    assert_eq!((scene.read("a"), scene.read("b")), ("a\n".into(), "200\n".into()));
    assert_eq!(std::fs::read_dir(scene.root().join("d")).unwrap().count(), 200);
}

/// The store is on the mount that the supervisor had before it mounted the tree once more.
#[test]
fn a_tree_that_is_mounted_once_more_is_linked_through_its_old_mount() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let scene = Scene::of("mkdir d; head -c 200000000 /dev/zero > d/big; echo a > a");
    let was = snapshot(&scene.root());
    let open = |path: std::path::PathBuf| std::fs::File::open(path).unwrap();
    let (root, store) = (open(scene.root()), open(scene.store()));
    let done = std::thread::scope(|scope| {
        let mounted = || {
            // This thread's own mounts.
            nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNS).unwrap();
            let private = rustix::mount::MountPropagationFlags::PRIVATE
                | rustix::mount::MountPropagationFlags::REC;
            rustix::mount::mount_change("/", private).unwrap();
            rustix::mount::mount_bind(scene.root(), scene.root()).unwrap();
            let mut recording = scene.recording();
            let own = |file: &std::fs::File| {
                use std::os::fd::AsRawFd as _;
                std::path::PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
            };
            recording.store = own(&store);
            recording.outer_root = Some(own(&root));
            record(recording, scene.shell("rm d/big; mv a d/; rm d/a; echo n > n"))
        };
        scope.spawn(mounted).join().unwrap()
    });
    assert!(done.output.status.success(), "{:?}", done.output);
    assert!(!done.run.events().any(|event| matches!(kept(event), Some(Kept::Copied(_)))));
    scene.restore();
    assert_same(&was, &scene.root(), "rm d/big");
}
