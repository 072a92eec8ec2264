//! Programs and recorders that are killed, that race, or that have other rights.

use std::ffi::OsString;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use edt_recorder::Rights;

#[path = "../../examples/record.rs"]
mod program;

use crate::scene::{Scene, assert_same, comes_back, record};
use crate::snapshot::snapshot;

const ROLE: &str = "EDT_RECORDER_TEST_ARGS";

/// Not a test: other tests start this test program as the program `record`.
#[test]
fn role() {
    let Some(args) = std::env::var_os(ROLE) else { return };
    let args = args.to_str().unwrap().split('\n').map(OsString::from).collect();
    let again = |args: &[OsString]| this_test(args.iter().map(|arg| arg.to_str().unwrap()));
    let code = program::linux::run(args, again).unwrap();
    assert!(code == std::process::ExitCode::SUCCESS, "{code:?}");
}

/// This program as the program `record`.
fn this_test<'a>(args: impl IntoIterator<Item = &'a str>) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "robust::role", "--nocapture"]);
    command.env(ROLE, args.into_iter().collect::<Vec<_>>().join("\n"));
    command
}

/// The program `record`, for `script` in the scene.
fn recorder(scene: &Scene, options: &[&str], script: &str) -> Command {
    let (root, store) = (scene.root(), scene.store());
    let mut args: Vec<&str> = options.to_vec();
    args.extend([root.to_str().unwrap(), store.to_str().unwrap(), "bash", "-ec", script]);
    let mut command = this_test(args);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

const MANY: &str = "mkdir a b; for n in $(seq 300); do echo $n > a/$n; echo $n > b/$n; done";

/// Makes, renames, links, rewrites and removes files of `a` and `b` without an end.
const BUSY: &str = "while true; do for n in $(seq 300); do echo new$n > a/new; mv a/new a/$n; \
    ln -f a/$n b/x; echo more >> b/$n; rm -f b/x a/$((n+1)); mkdir c; mv a c/; mv c/a a; \
    rmdir c; done; done";

#[test]
fn programs_that_work_at_once_are_recorded() {
    let half = BUSY.replace("while true; do ", "").replace("done; done", "done");
    let other = half.replace("a/", "b/").replace("c/", "e/").replace("mkdir c", "mkdir e");
    let other = other.replace("rmdir c", "rmdir e").replace("mv a e/; mv e/a a; ", "");
    let script = format!("({half}) & ({other}) 2>/dev/null & wait");
    let scene = Scene::of(MANY);
    let was = snapshot(&scene.root());
    record(scene.recording(), scene.shell(&script));
    let restoration = scene.restore();
    assert_same(&was, &scene.root(), &format!("{script} {restoration:?}"));
}

#[test]
fn after_the_recorder_was_killed_its_programs_are_killed_and_all_comes_back() {
    for _ in 0..5 {
        let scene = Scene::of(MANY);
        let was = snapshot(&scene.root());
        // The shell's grandparent is the guard.
        let script = format!("echo $PPID > {}/pid; {BUSY}", scene.store().display());
        let mut guard = recorder(&scene, &["--guarded"], &script).spawn().unwrap();
        let recorder = loop {
            let text = std::fs::read_to_string(scene.store().join("pid")).unwrap_or_default();
            if let Ok(number) = text.trim().parse() {
                break rustix::process::Pid::from_raw(number).unwrap();
            }
            std::thread::sleep(Duration::from_millis(1));
        };
        std::thread::sleep(Duration::from_millis(300));
        rustix::process::kill_process(recorder, rustix::process::Signal::KILL).unwrap();
        assert!(!guard.wait().unwrap().success());
        let left = snapshot(&scene.root());
        std::thread::sleep(Duration::from_millis(50));
        assert_same(&left, &scene.root(), "a program went on");
        let restoration = scene.restore();
        assert_same(&was, &scene.root(), &format!("{restoration:?}"));
    }
}

#[test]
fn after_all_were_killed_all_comes_back() {
    for round in 0..5 {
        let scene = Scene::of(MANY);
        let was = snapshot(&scene.root());
        let mut command = recorder(&scene, &[], BUSY);
        let mut running = command.process_group(0).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(200 + 37 * round));
        let group = rustix::process::Pid::from_child(&running);
        rustix::process::kill_process_group(group, rustix::process::Signal::KILL).unwrap();
        assert_eq!(running.wait().unwrap().signal(), Some(9));
        // The shell's children die a moment later.
        std::thread::sleep(Duration::from_millis(100));
        let restoration = scene.restore();
        assert_same(&was, &scene.root(), &format!("{restoration:?}"));
        let again = scene.restore();
        assert_same(&was, &scene.root(), &format!("{again:?}"));
    }
}

#[test]
fn a_timer_does_not_interrupt_calls() {
    let source = "#include <signal.h>\n#include <sys/time.h>\n#include <fcntl.h>\n\
        #include <unistd.h>\n#include <errno.h>\n#include <stdio.h>\n#include <sys/stat.h>\n\
        static void h(int s){}\nint main(void){struct sigaction a={.sa_handler=h};\
        struct itimerval t={{0,500},{0,500}};sigaction(SIGALRM,&a,0);\
        setitimer(ITIMER_REAL,&t,0);int bad=0;for(int i=0;i<3000;i++){\
        int f=open(\"f\",O_CREAT|O_WRONLY,0644);if(f<0&&errno==EINTR)bad++;close(f);\
        if(mkdir(\"d\",0755)<0&&errno==EINTR)bad++;if(rmdir(\"d\")<0&&errno==EINTR)bad++;}\
        printf(\"%d\\n\",bad);}";
    let scene = Scene::new();
    std::fs::write(scene.store().join("../timer.c"), source).unwrap();
    scene.unrecorded("cc -o ../timer ../timer.c 2>/dev/null");
    let done = scene.run("../timer");
    let interrupted: u32 = done.stdout().trim().parse().unwrap();
    // The kernel interrupts a call if the signal comes before the recorder has read it.
    assert!(interrupted < 3000, "{interrupted} of 9000 calls");
}

#[test]
fn an_unprivileged_user_records_and_restores() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let scene = Scene::of(
        "echo a > a; ln a b; mkdir d; echo c > d/c; chmod 555 d; echo r > r; chmod 444 r; \
         chown -R 12345:12345 .. ; touch foreign; echo f > foreign; chmod 666 foreign",
    );
    scene.unrecorded("chmod o+rx $(dirname $(dirname $PWD)) ../; true");
    let was = snapshot(&scene.root());
    let script = "echo new > n; mv a x; echo more >> b; rm b; chmod u+w d; rm d/c; chmod u-w d; \
        chmod u+w r; echo x > r; chmod u-w r; mv foreign g; mkdir -p m/n; \
        test $(id -u) = 12345";
    let as_user = |mut command: Command| {
        command.uid(12345).gid(12345);
        let output = command.stderr(Stdio::piped()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    as_user(recorder(&scene, &[], script));
    assert_ne!(was, snapshot(&scene.root()));
    let (root, store) = (scene.root(), scene.store());
    as_user(this_test(["--restore", root.to_str().unwrap(), store.to_str().unwrap()]));
    assert_same(&was, &scene.root(), script);
}

#[test]
fn a_file_above_the_limit_of_the_process_is_named() {
    let scene = Scene::of("head -c 3000000 /dev/zero | tr '\\0' x > big; echo a > a");
    let script = "echo more >> a; echo x | dd of=big conv=notrunc status=none";
    let limited = "ulimit -f 1000; exec \"$@\"";
    let recorder = recorder(&scene, &[], script);
    let mut command = Command::new("bash");
    command.args(["-c", limited, "bash"]).arg(recorder.get_program()).args(recorder.get_args());
    command.envs(recorder.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let run = edt_recorder::RecordedRun::open(&scene.store()).unwrap();
    let lost: Vec<String> = run.lost().iter().map(|(place, _)| place.to_string()).collect();
    assert_eq!((run.complete, lost), (true, vec!["big".to_owned()]));
}

const FILES: &str = "echo one > a; mkdir -p d/e; echo deep > d/e/f; echo two > b";

#[test]
fn programs_in_other_namespaces_are_recorded() {
    for script in [
        "unshare -r bash -ec 'echo x > a; rm b; mv d moved; mkdir n; ln a n/l; ln -s x n/s'",
        "unshare -rm bash -ec 'mount --bind d/e $OUTSIDE; echo x > $OUTSIDE/f; \
         echo n > $OUTSIDE/n; rm $OUTSIDE/f; mkdir $OUTSIDE/m'",
        "unshare -rm bash -ec 'mount --bind . $OUTSIDE; cd $OUTSIDE/d; mv e ../e; rm ../a'",
        "bwrap --bind / / --dev /dev --proc /proc --unshare-pid bash -ec \
         'echo x > a; rm -r d; echo y > /proc/self/cwd/b'",
        "bwrap --ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/lib /lib \
         --symlink usr/lib64 /lib64 --proc /proc --dev /dev --bind . /work --chdir /work \
         bash -ec 'echo x > /work/a; ln -s /work/b /work/l; echo y > l; rm -r ../work/d'",
    ] {
        comes_back(FILES, script);
    }
}

#[test]
fn a_program_in_another_root_is_recorded() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let script = "python3 -c '
import os
os.chroot(\".\")
os.chdir(\"/d\")
open(\"/a\", \"w\").write(\"x\")
os.symlink(\"/b\", \"/d/l\")
open(\"l\", \"w\").write(\"y\")
os.rename(\"../../../d/e\", \"/e\")
'";
    comes_back(FILES, script);
}

#[test]
fn a_user_that_a_program_becomes_keeps_its_rights() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let scene = Scene::of(
        "echo one > a; chmod 777 .; chmod -R o+rx ..; mkdir -m 777 open; \
        echo x > open/x; chmod 666 a; chmod o+rx $(dirname $(dirname $PWD))",
    );
    let was = snapshot(&scene.root());
    scene.run(
        "setpriv --reuid 12345 --regid 12345 --clear-groups bash -c 'echo new > n; \
         echo more > a; rm open/x; mkdir open/m; chown root a 2>/dev/null && exit 9; true'; \
         test $(stat -c %u n) = 12345; test $(stat -c %u open/m) = 12345",
    );
    let restoration = scene.restore();
    assert_same(&was, &scene.root(), &format!("{restoration:?}"));
}

#[test]
fn what_landlock_denies_to_the_program_the_recorder_does_not_do() {
    let scene = Scene::of(FILES);
    let was = snapshot(&scene.root());
    let allowed = scene.root().join("d");
    let mut recording = scene.recording();
    let confined = allowed.clone();
    recording.rights = Rights::Confined(Box::new(move || confine(&confined)));
    let script = "mkdir d/n; echo x > d/n/f; mv d/e/f d/g; rm d/g; \
        for c in 'rm a' 'mv a d/' 'mkdir m' 'ln a m' 'ln -s a m' 'mkfifo m' 'touch m' \
        'mv d/n m'; do $c 2>/dev/null && echo \"$c\"; done; echo x > a || echo denied; true";
    let mut command = scene.shell(script);
    let (setup, recorder) = edt_recorder::Recorder::prepare(recording).unwrap();
    let start = move || {
        confine(&allowed).unwrap();
        drop(setup.apply().unwrap());
        command.output().unwrap()
    };
    let output = std::thread::spawn(start).join().unwrap();
    recorder.finish().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "denied\n");
    assert!(!scene.root().join("d/e/f").exists() && scene.root().join("d/n/f").exists());
    scene.restore();
    assert_same(&was, &scene.root(), script);
}

#[test]
fn a_program_with_its_own_landlock_is_confined_by_it() {
    let scene = Scene::of(FILES);
    let was = snapshot(&scene.root());
    // A ruleset that handles all file accesses of the first version and allows none.
    let script = "python3 -c '
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
rules = ctypes.c_uint64(0x1ffe & ~0xc)
f = libc.syscall(444, ctypes.byref(rules), 8, 0)
assert f >= 0 and libc.syscall(446, f, 0) == 0
for act in (lambda: os.unlink(\"a\"), lambda: os.mkdir(\"n\"), lambda: open(\"b\", \"w\"),
            lambda: os.rename(\"a\", \"c\"), lambda: open(\"new\", \"w\")):
    try:
        act()
        print(\"done\")
    except PermissionError:
        pass
'";
    let done = scene.run(script);
    assert_eq!(done.stdout(), "", "{}", done.stderr());
    assert_same(&was, &scene.root(), script);
}

fn confine(allowed: &Path) -> Result<(), String> {
    use landlock::{
        ABI, AccessFs, PathBeneath, PathFd, Ruleset, RulesetAttr as _, RulesetCreatedAttr as _,
    };
    let write = AccessFs::from_write(ABI::V3);
    let devices = PathBeneath::new(PathFd::new("/dev").unwrap(), AccessFs::WriteFile);
    let rules = Ruleset::default().handle_access(write).and_then(Ruleset::create);
    let rules = rules
        .and_then(|rules| rules.add_rule(PathBeneath::new(PathFd::new(allowed).unwrap(), write)))
        .and_then(|rules| rules.add_rule(devices));
    let done = rules.and_then(landlock::RulesetCreated::restrict_self);
    done.map(drop).map_err(|error| error.to_string())
}
