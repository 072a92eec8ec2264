//! What a run touched, what was there before, and who else wrote it.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::time::Duration;

use edt_recorder::event::Place;
use edt_recorder::{Before, RecordedRun, TouchedPath};

use crate::scene::{Done, Scene};

fn touched(scene: &Scene, done: &Done) -> BTreeMap<String, TouchedPath> {
    let all = done.run.touched(&scene.root()).unwrap().into_iter();
    all.map(|(path, one)| (String::from_utf8(path).unwrap(), one)).collect()
}

/// The earlier content of each touched path, for comparison.
fn versions(scene: &Scene, done: &Done) -> BTreeMap<String, String> {
    let all = touched(scene, done).into_iter();
    all.map(|(path, one)| (path, version(&done.run, &one.before))).collect()
}

fn version(run: &RecordedRun, before: &Before) -> String {
    match before {
        Before::Missing => "-".to_owned(),
        Before::Directory(_) => "directory".to_owned(),
        Before::Special => "special".to_owned(),
        Before::Link(target) => format!("-> {}", String::from_utf8_lossy(target)),
        Before::File { attributes, kept } => {
            let mut text = String::new();
            let file = run.open_kept(kept).unwrap();
            file.map(|mut file| file.read_to_string(&mut text).unwrap());
            format!("{:o} {}", attributes.mode, text.trim_end())
        }
        Before::Same { now, attributes } => {
            let mode = attributes.map(|attributes| format!(" {:o}", attributes.mode));
            let place = match now {
                Place::Outside(_) => "outside".to_owned(),
                place => place.to_string(),
            };
            format!("= {place}{}", mode.unwrap_or_default())
        }
    }
}

fn map<const N: usize>(lines: [(&str, &str); N]) -> BTreeMap<String, String> {
    lines.map(|(path, line)| (path.to_owned(), line.to_owned())).into()
}

#[test]
fn each_touched_path_has_its_earlier_version() {
    let before = "umask 022; echo one > a; echo two > b; mkdir d; echo deep > d/f; \
        echo un > d/un; ln -s a l; echo linked > x; ln x y; echo gone > gone";
    for (script, expected) in [
        ("echo new > a", map([("a", "644 one")])),
        ("echo 1 >> a; echo 2 >> a; rm a", map([("a", "644 one")])),
        ("echo n > n; rm n", map([("n", "-")])),
        ("chmod 600 a", map([("a", "= a 644")])),
        ("chmod 600 a; echo new > a", map([("a", "644 one")])),
        ("mv a c", map([("a", "= c"), ("c", "-")])),
        ("mv a b", map([("a", "= b"), ("b", "644 two")])),
        ("mv a c; echo new > c; echo other > a", map([("a", "644 one"), ("c", "-")])),
        ("ln -sf b l", map([("l", "-> a")])),
        ("echo more >> y; rm x", map([("x", "644 linked"), ("y", "644 linked")])),
        ("echo more >> x", map([("x", "644 linked"), ("y", "644 linked")])),
        ("chmod 600 x", map([("x", "= x 644"), ("y", "= y 644")])),
        (
            "mv d e; echo more >> e/f; echo new > e/n",
            map([
                ("d", "= e"),
                ("d/f", "644 deep"),
                ("d/n", "-"),
                ("d/un", "= e/un"),
                ("e", "-"),
                ("e/f", "-"),
                ("e/n", "-"),
                ("e/un", "-"),
            ]),
        ),
        (
            "mv d $OUTSIDE/; mkdir d; echo other > d/f",
            map([("d", "= outside"), ("d/f", "= outside"), ("d/un", "= outside")]),
        ),
        ("rm -r d", map([("d", "directory"), ("d/f", "644 deep"), ("d/un", "644 un")])),
    ] {
        let scene = Scene::of(before);
        let done = scene.run(script);
        let mut found = versions(&scene, &done);
        // `sed`, `ln` and such name files that nobody else sees.
        found.retain(|path, line| expected.contains_key(path) || line != "-");
        assert_eq!(found, expected, "{script}");
    }
}

/// Waits for the program to come so far.
fn wait_for(scene: &Scene, name: &str) {
    while !scene.store().join("..").join(name).exists() {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Runs `script`, which makes `../ready` and waits for `../go`, and `user` meanwhile.
fn with_user(scene: &Scene, script: &str, user: &str) -> Done {
    std::thread::scope(|scope| {
        scope.spawn(|| {
            wait_for(scene, "ready");
            scene.unrecorded(user);
            scene.unrecorded("touch ../go");
        });
        let wait = "touch ../ready; while ! test -e ../go; do sleep 0.01; done";
        scene.run(&script.replace("WAIT", wait))
    })
}

fn foreign(scene: &Scene, done: &Done) -> Vec<(String, bool)> {
    touched(scene, done).into_iter().map(|(path, one)| (path, one.foreign)).collect()
}

#[test]
fn what_the_user_saves_meanwhile_is_not_the_programs() {
    let scene = Scene::of("echo 1 > in_place; echo 2 > by_rename");
    let user = "echo user >> in_place; echo user > tmp; mv tmp by_rename; echo user > added; \
        sed -i s/2/3/ by_rename";
    let done = with_user(&scene, "WAIT; echo p > prog.txt", user);
    assert_eq!(foreign(&scene, &done), [("prog.txt".to_owned(), false)]);
    scene.restore();
    assert_eq!(scene.read("in_place"), "1\nuser\n");
    assert_eq!((scene.read("by_rename"), scene.read("added")), ("user\n".into(), "user\n".into()));
    assert!(!scene.root().join("prog.txt").exists());
}

#[test]
fn a_file_that_both_write_is_named() {
    for (script, user, is_foreign) in [
        ("echo p >> f; WAIT; echo p >> f", "true", false),
        ("echo p >> f; WAIT; echo p >> f", "cat f; touch other", false),
        ("echo p >> f; WAIT; echo p >> f", "echo user >> f", true),
        ("echo p >> f; WAIT", "echo user >> f", true),
        ("echo p >> f; WAIT", "echo user > t; mv t f", true),
        ("echo p >> f; WAIT", "rm f", true),
        ("rm f; WAIT", "echo user > f", true),
        ("rm f; echo new > f; WAIT", "true", false),
        ("exec 5>>f; echo 1 >&5; WAIT; echo 2 >&5; exec 5>&-; echo 3 >> f", "true", false),
        ("exec 5>>f; echo 1 >&5; WAIT; echo 2 >&5; exec 5>&-; echo 3 >> f", "echo u >> f", true),
        ("sed -i s/old/new/ f; WAIT; sed -i s/new/old/ f", "true", false),
        ("sed -i s/old/new/ f; WAIT", "sed -i s/new/user/ f", true),
        ("exec 5>t; echo 1 >&5; mv t f; echo 2 >&5; exec 5>&-; WAIT", "true", false),
        ("truncate -s 0 f; python3 -c 'import os; os.truncate(\"f\", 3)'; WAIT", "true", false),
        // Through a name outside of the root.
        ("echo p >> f; WAIT; echo p >> f", "echo user >> ../alias", true),
        ("exec 5>>f; WAIT; echo p >&5; rm f", "echo user >> ../alias", true),
        ("exec 5>>f; WAIT; echo p >&5; rm f", "true", false),
        // Saved before the program writes: the user's version is what was there before.
        ("WAIT; echo p >> f", "echo user >> f", false),
    ] {
        let scene = Scene::of("echo old > f; ln f ../alias");
        let done = with_user(&scene, script, user);
        let found = touched(&scene, &done);
        assert_eq!(found["f"].foreign, is_foreign, "{script} | {user}");
    }
}

#[test]
fn a_file_that_the_program_has_open_when_it_exits_is_its_own() {
    // Much memory: the kernel lets go of the recorder before it, and of the files after it.
    let script = "exec python3 -c '
import os
memory = bytearray(400 << 20)
memory[::4096] = b\"x\" * len(memory[::4096])
os.write(os.open(\"f\", os.O_WRONLY), b\"p\")
os._exit(0)'";
    let scene = Scene::of("echo old > f");
    let (setup, recorder) = edt_recorder::Recorder::prepare(scene.recording()).unwrap();
    let mut command = scene.shell(script);
    let start = move || {
        drop(setup.apply().unwrap());
        command.spawn().unwrap()
    };
    // The thread that starts the program is recorded as well, and ends before it.
    let mut program = std::thread::spawn(start).join().unwrap();
    assert!(program.wait().unwrap().success());
    let run = recorder.finish().unwrap();
    let touched = run.touched(&scene.root()).unwrap();
    assert!(run.complete && !touched[&b"f"[..]].foreign);
}

#[test]
fn what_the_user_saved_before_the_first_touch_comes_back() {
    let scene = Scene::of("echo old > f");
    with_user(&scene, "WAIT; echo p > f", "echo user > f");
    assert_eq!(scene.read("f"), "p\n");
    scene.restore();
    assert_eq!(scene.read("f"), "user\n");
}

#[test]
fn what_the_user_did_later_is_left() {
    let scene = Scene::of("echo old > f; echo un > un; mkdir d");
    scene.run("rm f; mv un k; echo p > n; echo in > d/in");
    scene.unrecorded("echo user > f; rm k; echo user > k; echo also > d/user");
    let restoration = scene.restore();
    assert_eq!((scene.read("f"), scene.read("k")), ("user\n".into(), "user\n".into()));
    assert_eq!(scene.read("d/user"), "also\n");
    assert!(!scene.root().join("d/in").exists() && !scene.root().join("n").exists());
    let left: Vec<String> = restoration.left.iter().map(|(place, _)| place.to_string()).collect();
    assert_eq!(left, ["k", "f"]);
}

#[test]
fn what_the_user_wrote_later_is_saved() {
    let scene = Scene::of("echo old > f");
    scene.run("echo p >> f; echo p > n");
    scene.unrecorded("echo user >> f; echo user >> n");
    let restoration = scene.restore();
    assert_eq!(scene.read("f"), "old\n");
    let saved = |(place, name): &(Place, String)| {
        (place.to_string(), std::fs::read_to_string(scene.store().join(name)).unwrap())
    };
    let saved: Vec<(String, String)> = restoration.saved.iter().map(saved).collect();
    let expected = [("n", "p\nuser\n"), ("f", "old\np\nuser\n")];
    assert_eq!(saved, expected.map(|(path, text)| (path.to_owned(), text.to_owned())));
}

#[test]
fn a_database_that_a_server_has_open_comes_back() {
    let script = "import sqlite3,sys,time,os
c=sqlite3.connect('db', timeout=10)
c.execute('create table if not exists t(x)'); c.commit()
open('../served','w')
while not os.path.exists('../stop'): time.sleep(0.01)
c.execute('insert into t values(7)'); c.commit()
";
    let scene = Scene::new();
    let mut server = std::process::Command::new("python3");
    let mut server = server.args(["-c", script]).current_dir(scene.root()).spawn().unwrap();
    wait_for(&scene, "served");
    let was = std::fs::read(scene.root().join("db")).unwrap();
    let done = scene.run(
        "python3 -c 'import sqlite3; c=sqlite3.connect(\"db\"); \
        c.execute(\"insert into t values(1)\"); c.commit()'; cp db copy; rm db; mv copy db",
    );
    scene.restore();
    assert_eq!(std::fs::read(scene.root().join("db")).unwrap(), was);
    assert!(touched(&scene, &done).contains_key("db"));
    // The server still writes to the file that is at the path again.
    scene.unrecorded("touch ../stop");
    assert!(server.wait().unwrap().success());
    assert_ne!(std::fs::read(scene.root().join("db")).unwrap(), was);
}
