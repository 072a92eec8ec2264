//! What a confined program can do, and that nothing of it survives.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use edt_types::Level;

use crate::confined_repo::{As, Cage, Call, RunReport, bubblewrap, is_root, programs};

const CONFINED: [Level; 2] = [Level::Standard, Level::Strict];

/// Each user that can be tried, with each way to each level.
fn everywhere(levels: &[Level], check: impl Fn(&Cage, &dyn Fn(&[&str]) -> Call)) {
    let users = if is_root() { vec![As::Self_, As::Nobody] } else { vec![As::Self_] };
    let mut all = Vec::new();
    for level in levels {
        for backend in ["own", "bubblewrap", "older"] {
            let meant = match backend {
                "bubblewrap" => *level == Level::Strict && bubblewrap(),
                "older" => *level == Level::Standard,
                _ => true,
            };
            all.extend(users.iter().filter(|_| meant).map(|user| (*user, *level, backend)));
        }
    }
    for (user, level, backend) in edt_testkit::share(all, 3) {
        let cage = Cage::new(user);
        check(&cage, &|argv| Call { backend: backend.to_owned(), ..cage.call(level, argv) });
    }
}

#[track_caller]
fn ends_well(printed: &RunReport) {
    assert_eq!(printed.how, "Exit(0)", "{printed:#?}");
}

#[test]
fn a_program_runs_at_every_level() {
    everywhere(&Level::ALL, |cage, call| {
        let printed = cage.run(&call(&["sh", "-c", "echo out; echo err >&2; exit 3"]));
        let seen = (printed.how.as_str(), printed.out.as_str(), printed.err.as_str(), printed.left);
        assert_eq!(seen, ("Exit(3)", "out\n", "err\n", 0), "{printed:?}");
        assert_eq!(
            printed.by.contains("bubblewrap"),
            call(&["x"]).backend == "bubblewrap",
            "{printed:?}"
        );
        let printed = cage.run(&call(&["sh", "-c", "kill -TERM $$"]));
        assert_eq!((printed.how.as_str(), printed.err.as_str()), ("Signal(15)", ""), "{printed:?}");
    });
}

#[test]
fn a_file_that_cannot_be_executed_is_reported() {
    everywhere(&Level::ALL, |cage, call| {
        std::fs::write(cage.root.join("text"), "echo x\n").unwrap();
        let text = cage.root.join("text");
        let text = text.to_str().unwrap();
        let how = |argv: &[&str]| cage.run(&call(argv)).how;
        assert_eq!(
            how(&["/no/such/program"]),
            "no program: No such file or directory (os error 2)"
        );
        assert_eq!(how(&[text]), "no program: Permission denied (os error 13)");
        std::fs::set_permissions(text, std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .unwrap();
        assert_eq!(
            how(&[text]),
            "no program: Exec format error (os error 8)",
            "no shell is put in between"
        );
    });
}

#[test]
fn arguments_arrive_byte_for_byte() {
    let script = "import os,sys; sys.stdout.buffer.write(b'|'.join(os.fsencode(a) for a in sys.argv[1:]).hex().encode())";
    for level in Level::ALL {
        use std::os::unix::ffi::OsStrExt as _;
        let cage = Cage::new(As::Self_);
        let args: [&[u8]; 9] = [
            b"",
            b" ",
            b"a b",
            b"\n",
            b"$HOME `x` \"'\\",
            b"*",
            b"\xff\xfe",
            b"--",
            b"\xe2\x82\xac",
        ];
        let mut argv: Vec<&std::ffi::OsStr> =
            ["python3", "-c", script].map(std::ffi::OsStr::new).to_vec();
        argv.extend(args.iter().map(|bytes| std::ffi::OsStr::from_bytes(bytes)));
        let printed = cage.run(&cage.call(level, &argv));
        let expected: String = args.join(&b'|').iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(printed.out, expected, "{printed:?}");
    }
}

#[test]
fn a_program_has_three_descriptors_no_terminal_and_its_own_session() {
    everywhere(&Level::ALL, |cage, call| {
        let script = "import os
print(sorted(int(x) for x in os.listdir('/proc/self/fd'))[:-1])
try: os.open('/dev/tty', os.O_RDWR); print('a terminal')
except OSError: print('no terminal')
print(os.getsid(0) != os.getpid(), os.getpgrp() == os.getpid(), os.environ['PWD'] if 'PWD' in os.environ else os.getcwd())";
        // edt has others open, one of which it was itself started with.
        let mut command = cage.as_user("sh");
        command.args(["-c", "exec 7< /dev/null; exec \"$@\"", "sh"]).arg(&programs().0);
        let printed = cage.run_by(command, &call(&["python3", "-c", script]));
        let root = cage.root.display();
        assert_eq!(
            printed.out,
            format!("[0, 1, 2]\nno terminal\nTrue True {root}\n"),
            "{printed:?}"
        );
    });
}

#[test]
fn a_program_gets_the_given_input() {
    everywhere(&Level::ALL, |cage, call| {
        let printed =
            cage.run(&Call { input: Some("from outside\n".to_owned()), ..call(&["cat"]) });
        assert_eq!(
            (printed.how.as_str(), printed.out.as_str()),
            ("Exit(0)", "from outside\n"),
            "{printed:?}"
        );
        assert_eq!(cage.run(&call(&["cat"])).out, "");
    });
}

/// Processes whose command line has `mark`.
fn alive(mark: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        if line.contains(mark) && !line.contains("cage::driver") {
            found.push(format!("{} {line}", entry.file_name().display()));
        }
    }
    found
}

#[track_caller]
fn soon_gone(mark: &str) {
    let started = Instant::now();
    while !alive(mark).is_empty() {
        assert!(started.elapsed() < Duration::from_secs(60), "{:?}", alive(mark));
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Leaves behind everything that can be left: in a group, a session, without parent and
/// environment, deep.
fn litter(mark: &str) -> String {
    format!(
        "sleep {mark} & setsid sleep {mark} & env -i setsid sleep {mark} & (setsid sh -c 'sleep {mark} & exec sleep {mark}' &) ; \
         setsid setsid sh -c '(sleep {mark} &) ; (env -i setsid setsid sleep {mark} &) ; sleep {mark}' & sleep 0.3; echo ready"
    )
}

/// A number of seconds that no other test sleeps.
fn mark() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("7{}.{:03}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

#[test]
fn no_process_survives_a_normal_end() {
    everywhere(&Level::ALL, |cage, call| {
        let mark = mark();
        let printed = cage.run(&call(&["sh", "-c", &litter(&mark)]));
        assert_eq!(
            (printed.how.as_str(), printed.out.as_str(), printed.left),
            ("Exit(0)", "ready\n", 0),
            "{printed:?}"
        );
        assert_eq!(alive(&mark), Vec::<String>::new());
    });
}

#[test]
fn no_process_survives_a_timeout() {
    everywhere(&Level::ALL, |cage, call| {
        let mark = mark();
        let started = Instant::now();
        let printed = cage.run(&Call {
            ms: 700,
            ..call(&["sh", "-c", &format!("{}; sleep {mark}", litter(&mark))])
        });
        assert_eq!(
            (printed.how.as_str(), printed.out.as_str(), printed.left),
            ("Signal(9)", "ready\n", 0),
            "{printed:?}"
        );
        assert_eq!(alive(&mark), Vec::<String>::new());
        assert!(started.elapsed() < Duration::from_secs(60));
    });
}

#[test]
fn no_process_survives_a_killed_edt() {
    everywhere(&Level::ALL, |cage, call| {
        use std::io::Write as _;
        let mark = mark();
        let call = call(&[
            "sh",
            "-c",
            &format!("echo x > ${{TMPDIR:-.}}/left; {}; sleep {mark}", litter(&mark)),
        ]);
        let (mut command, mut writer, reader) = cage.begin();
        let mut driver = command.spawn().unwrap();
        writer.write_all(&serde_json::to_vec(&call).unwrap()).unwrap();
        drop(writer);
        let started = Instant::now();
        while alive(&mark).len() < 8 {
            assert!(started.elapsed() < Duration::from_secs(60), "{:?}", alive(&mark));
            std::thread::sleep(Duration::from_millis(20));
        }
        driver.kill().unwrap();
        driver.wait().unwrap();
        drop(reader);
        soon_gone(&mark);
        soon_gone(cage.dir.path().file_name().unwrap().to_str().unwrap());
        // Only edt could remove its directory; the directory is empty.
        let own = |path: &Path| {
            path.file_name()
                .unwrap()
                .to_string_lossy()
                .starts_with(&format!("edt-{}-", driver.id()))
        };
        for directory in std::fs::read_dir("/tmp")
            .unwrap()
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| own(path))
        {
            let left = || -> Vec<_> {
                let all = std::fs::read_dir(&directory).unwrap().flatten();
                all.map(|entry| entry.file_name()).filter(|name| name != "empty").collect()
            };
            // The supervisor empties it after the last process ended.
            let ended = Instant::now();
            while !left().is_empty() {
                assert!(ended.elapsed() < Duration::from_secs(60), "{:?}", left());
                std::thread::sleep(Duration::from_millis(20));
            }
            std::fs::remove_dir_all(directory).unwrap();
        }
    });
}

#[test]
fn a_program_that_kills_its_supervisor_gains_nothing() {
    everywhere(&Level::ALL, |cage, call| {
        let mark = mark();
        let script = format!("{}; kill -9 $PPID; echo killed $?; sleep {mark}", litter(&mark));
        let printed = cage.run(&Call { ms: 1500, ..call(&["sh", "-c", &script]) });
        let permissive = call(&["x"]).level == "permissive";
        let expected = if permissive { "Lost" } else { "Signal(9)" };
        assert_eq!((printed.how.as_str(), printed.left), (expected, 0), "{printed:?}");
        assert!(
            permissive
                || printed.out.contains("ready\nkilled 1")
                || printed.out.contains("ready\nkilled 0"),
            "{printed:?}"
        );
        assert_eq!(alive(&mark), Vec::<String>::new());
    });
}

#[test]
fn ordinary_work_succeeds_in_the_sandbox() {
    everywhere(&CONFINED, |cage, call| {
        let ok = |script: &str| ends_well(&cage.run(&call(&["bash", "-euc", script])));
        std::fs::write(
            cage.root.join("m.c"),
            "#include <stdio.h>\nint main(void){puts(\"5\");return 0;}\n",
        )
        .unwrap();
        std::fs::write(cage.root.join("Makefile"), "m: m.c\n\tcc -o m m.c\n\t./m\n").unwrap();
        ok("make -j2; test \"$(./m)\" = 5");
        ok("git status --porcelain; git log --oneline | cat; git diff; git ls-files | sort | uniq");
        ok(
            "python3 -c 'import unittest' ; mkdir .pytest_cache; echo x > .pytest_cache/y; rm -r .pytest_cache",
        );
        ok(
            "diff <(echo a) <(echo a); echo x > /dev/null; cat /dev/null; head -c 3 /dev/urandom | wc -c; echo y | tee /dev/stderr",
        );
        ok(
            "f=$(mktemp); echo x > $f; test \"$(cat $f)\" = x; test -w \"$TMPDIR\"; seq 200000 | sort -R | sort -n -S 200k | tail -1",
        );
        ok(
            "echo x > /dev/shm/x; cat /dev/shm/x; mkfifo p; (echo z > p &); read a < p; test $a = z; rm p",
        );
        ok(
            "mkdir -p a/b; echo 1 > a/x; mv a/x a/b/y; ln a/b/y a/z; ln -s a/z l; chmod 600 a/b/y; touch -d yesterday a/z; rm -r a l",
        );
        ok(
            "python3 -c 'import multiprocessing as m; p=m.Pool(2); print(p.map(abs,[-1,-2])); p.close(); p.join()'",
        );
        ok(
            "test -r ~/notes; test \"$(cat ~/notes)\" = 'a note'; cat /etc/hostname /etc/passwd > copy; rm copy; ls / /usr > /dev/null",
        );
        ok(
            "test \"$(id -u)\" = \"$(stat -c %u .)\"; cp /bin/true t; ./t; rm t; ps > /dev/null 2>&1 || true",
        );
        if which("node") {
            ok(
                "node -e 'require(\"fs\").writeFileSync(\"n\", \"1\"); require(\"child_process\").execSync(\"true\"); console.log(1)'; rm n",
            );
        }
        if call(&["x"]).level == "strict" {
            ok(
                "python3 -c 'import socket as s; a=s.create_server((\"127.0.0.1\",0)); c=s.create_connection(a.getsockname()); b,_=a.accept(); c.send(b\"x\"); assert b.recv(1)==b\"x\"'",
            );
        }
        // Nothing remains in the index or next to it.
        assert_eq!(cage.git(&["status", "--porcelain"]), "?? Makefile\n?? m\n?? m.c\n");
    });
}

fn which(name: &str) -> bool {
    Command::new("sh")
        .args(["-c", &format!("command -v {name}")])
        .output()
        .is_ok_and(|done| done.status.success())
}

#[test]
fn cargo_builds_offline_in_the_sandbox() {
    let Some(home) =
        std::env::var_os("HOME").filter(|home| Path::new(home).join(".cargo").is_dir())
    else {
        println!("skipped: no cargo in a home");
        return;
    };
    for level in CONFINED {
        let cage = Cage::new(As::Self_);
        std::fs::create_dir(cage.root.join("src")).unwrap();
        std::fs::write(
            cage.root.join("Cargo.toml"),
            "[package]\nname = \"x\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
        )
        .unwrap();
        std::fs::write(cage.root.join("src/main.rs"), "fn main() { println!(\"hi\"); }\n").unwrap();
        let mut call = cage.call(level, &["cargo", "run", "--offline", "--quiet"]);
        call.env.retain(|(name, _)| name != "HOME");
        call.env.push(("HOME".to_owned(), home.to_str().unwrap().to_owned()));
        (call.memory, call.ms) = (Some(1 << 33), 60_000);
        let printed = cage.run(&call);
        assert_eq!(
            (printed.how.as_str(), printed.out.as_str()),
            ("Exit(0)", "hi\n"),
            "{printed:?}"
        );
    }
}

#[test]
fn the_temporary_directory_is_private_and_removed() {
    everywhere(&CONFINED, |cage, call| {
        let printed = cage.run(&call(&[
            "sh",
            "-c",
            "echo x > $TMPDIR/f; echo $TMPDIR; stat -c %a $TMPDIR; echo $TMP $TEMP",
        ]));
        let lines: Vec<&str> = printed.out.lines().collect();
        let place = lines[0];
        assert_eq!(lines[2], format!("{place} {place}"), "{printed:?}");
        assert!(place == "/tmp" || lines[1] == "700" && !Path::new(place).exists(), "{printed:?}");
        let left = edt_io::scratch::Scratch::abandoned(
            edt_io::Environment::Process,
            Path::new("/nowhere"),
        );
        assert!(left.is_empty() || left.iter().all(|path| path != Path::new(place)), "{left:?}");
    });
}

#[test]
fn a_linked_worktree_and_a_separate_git_directory_are_confined_too() {
    everywhere(&CONFINED, |cage, call| {
        let root = cage.root.to_str().unwrap();
        let move_away = format!(
            "cd {root}; mv .git x || mv inner y || rm -f .git || echo z > .git || echo held"
        );
        std::fs::create_dir_all(cage.root.join("inner/deep")).unwrap();
        cage.git(&["init", "-q", "--separate-git-dir", &format!("{root}/inner/deep/gitdir")]);
        cage.hand_over();
        let mut call = call(&["sh", "-c", &move_away]);
        call.git = vec![cage.root.join(".git"), cage.root.join("inner/deep/gitdir")];
        let printed = cage.run(&call);
        assert_eq!(printed.out, "held\n", "{printed:?}");
        let argv = [
            "sh",
            "-c",
            "mv inner/deep x; echo x > inner/deep/gitdir/config; echo fine > inner/deep/new && cat inner/deep/new",
        ];
        let mut again = cage.call(call.level.parse().unwrap(), &argv);
        again.git.clone_from(&call.git);
        assert_eq!(cage.run(&again).out, "fine\n");
        assert!(cage.git(&["status", "--porcelain"]).contains("inner"));
    });
}

#[test]
fn a_worktree_in_a_place_that_is_hidden_is_there() {
    for place in ["/tmp", "/dev/shm"].map(Path::new) {
        for level in CONFINED {
            for backend in ["own", "bubblewrap"] {
                if backend == "bubblewrap" && !bubblewrap() {
                    continue;
                }
                let cage = Cage::at(As::Self_, place, "a b\\c\nd");
                let script = "pwd; echo x > new && cat new a.txt; echo x > .git/config || echo held; ls ../outside";
                let call =
                    Call { backend: backend.to_owned(), ..cage.call(level, &["sh", "-c", script]) };
                let printed = cage.run(&call);
                let mut expected = format!("{}\nx\none\nheld\n", cage.root.display());
                if level == Level::Standard && place == Path::new("/tmp") {
                    expected.push_str("file\n");
                }
                assert_eq!(printed.out, expected, "{printed:?}");
                assert_eq!(std::fs::read(cage.root.join("new")).unwrap(), b"x\n");
            }
        }
    }
}

#[test]
fn the_user_may_allow_a_directory_and_hide_a_file() {
    everywhere(&CONFINED, |cage, call| {
        let script =
            "cd; echo x > cache/new && cat cache/new; echo x > other || echo held; cat notes";
        std::fs::create_dir(cage.home.join("cache")).unwrap();
        cage.hand_over();
        let call = Call {
            writable: vec![cage.home.join("cache"), cage.home.join("not there")],
            secrets: vec![cage.home.join("notes")],
            ..call(&["sh", "-c", script])
        };
        assert_eq!(cage.run(&call).out, "x\nheld\n");
    });
}

#[test]
fn a_home_that_is_the_worktree_keeps_its_secrets() {
    everywhere(&CONFINED, |cage, call| {
        let mut call = call(&["sh", "-c", "ls -A .ssh; wc -c < .netrc; echo x > fine; cat fine"]);
        call.env.retain(|(name, _)| name != "HOME");
        call.env.push(("HOME".to_owned(), cage.root.to_str().unwrap().to_owned()));
        std::fs::create_dir(cage.root.join(".ssh")).unwrap();
        std::fs::write(cage.root.join(".ssh/id"), "secret").unwrap();
        std::fs::write(cage.root.join(".netrc"), "secret").unwrap();
        cage.hand_over();
        assert_eq!(cage.run(&call).out, "0\nx\n");
    });
}

#[test]
fn a_git_directory_behind_a_link_is_refused_by_the_sandbox() {
    for level in CONFINED {
        let cage = Cage::new(As::Self_);
        std::fs::rename(cage.root.join(".git"), cage.outside.join("git")).unwrap();
        std::os::unix::fs::symlink(cage.outside.join("git"), cage.root.join(".git")).unwrap();
        let printed = cage.run(&cage.call(level, &["true"]));
        assert!(
            printed.how.starts_with("unavailable: ")
                && printed.how.contains(".git is a symbolic link"),
            "{printed:?}"
        );
    }
}

#[test]
fn an_unavailable_level_is_refused() {
    // A user who may not make namespaces, as in most containers.
    let none = "echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --inh-caps=-all --bounding-set=-all \"$@\"";
    for level in Level::ALL {
        for backend in ["own", "any"] {
            let cage = Cage::new(As::Self_);
            let mut command = Command::new("unshare");
            command.args(["-Ur", "sh", "-c", none, "sh"]).arg(&programs().0);
            let call = Call {
                backend: backend.to_owned(),
                ..cage.call(level, &["sh", "-c", "echo ran | tee ran"])
            };
            let printed = cage.run_by(command, &call);
            if level == Level::Permissive {
                assert_eq!(
                    (printed.how.as_str(), printed.out.as_str()),
                    ("Exit(0)", "ran\n"),
                    "{printed:?}"
                );
            } else {
                assert!(printed.how.starts_with("unavailable: "), "{printed:?}");
                assert!(!cage.root.join("ran").exists());
            }
        }
    }
}

#[test]
fn a_program_over_a_limit_is_ended_and_the_limit_is_named() {
    everywhere(&[Level::Strict], |cage, call| {
        let python = |script: &str| call(&["python3", "-c", script]);
        let fork = "import os,time\nfor _ in range(8):\n  if os.fork()==0:\n    b=bytearray(os.urandom(1<<20)*60); time.sleep(5); os._exit(0)\ntime.sleep(5)";
        let printed = cage.run(&Call { memory: Some(250 << 20), ..python(fork) });
        assert_eq!(
            (printed.how.as_str(), printed.limit.as_str()),
            ("Signal(9)", "Memory"),
            "{printed:?}"
        );
        let shared = "import os,time\nb=bytearray(os.urandom(1<<20)*60)\nfor _ in range(8):\n  if os.fork()==0:\n    time.sleep(.4); os._exit(0)\nfor _ in range(8): os.wait()\nprint(1)";
        let printed = cage.run(&Call { memory: Some(250 << 20), ..python(shared) });
        assert_eq!(
            (printed.how.as_str(), printed.limit.as_str(), printed.out.as_str()),
            ("Exit(0)", "", "1\n"),
            "shared pages count once"
        );
        let printed = cage.run(&Call { cpu: Some(1), ..python("while True: pass") });
        assert_eq!(printed.limit, "Cpu", "{printed:?}");
        let several = "import os\nfor _ in range(4): os.fork()\nwhile True: pass";
        let printed = cage.run(&Call { cpu: Some(1), ..python(several) });
        assert_eq!(
            (printed.how.as_str(), printed.limit.as_str()),
            ("Signal(9)", "Cpu"),
            "{printed:?}"
        );
        let printed = cage.run(&Call { memory: Some(200 << 20), ..python("bytearray(400 << 20)") });
        assert!(printed.how == "Exit(1)" && printed.err.contains("MemoryError"), "{printed:?}");
    });
}

#[test]
fn a_fork_bomb_ends_with_its_namespace() {
    let new = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let mut numbers = new.split(['.', '-']).map(|number| number.parse::<u32>().unwrap_or(0));
    if (numbers.next(), numbers.next()) < (Some(6), Some(14)) {
        println!("skipped: before Linux 6.14 no namespace has a limit of processes of its own");
        return;
    }
    everywhere(&[Level::Strict], |cage, call| {
        let mark = mark();
        let bomb = format!("b() {{ b | b & }}; b; exec sleep {mark}");
        let started = Instant::now();
        let printed =
            cage.run(&Call { processes: Some(200), ms: 3000, ..call(&["bash", "-c", &bomb]) });
        assert_eq!((printed.how.as_str(), printed.left), ("Signal(9)", 0), "{printed:?}");
        assert!(started.elapsed() < Duration::from_secs(60));
        assert_eq!(alive(&mark), Vec::<String>::new());
    });
}
