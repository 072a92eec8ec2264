//! A program at a pseudo-terminal, made by `script`, and what its screen shows.

use std::io::{Read as _, Write as _};
use std::num::NonZero;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::test_repo::{EDT, TestRepo};

/// How long a screen may take until it shows a text.
const PATIENCE: Duration = Duration::from_secs(10);

/// A terminal at which `edt` runs.
pub(crate) struct Screen {
    child: Child,
    keys: ChildStdin,
    parser: Arc<Mutex<vt100::Parser>>,
    /// Everything that was written to the terminal.
    written: Arc<Mutex<Vec<u8>>>,
    repo: TestRepo,
    /// Whether the terminal is gone, and the program may still run.
    is_lost: bool,
}

fn size(size: u16) -> NonZero<u16> {
    NonZero::new(size).unwrap()
}

impl Drop for Screen {
    fn drop(&mut self) {
        // The program may outlive its terminal.
        if (self.is_lost || matches!(self.child.try_wait(), Ok(None)))
            && let Ok(pid) = std::fs::read_to_string(self.repo.home.join("pid"))
        {
            let _ = Command::new("kill").args(["-KILL", pid.trim()]).output();
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Screen {
    /// Starts `edt CALL` at a terminal of this size. The files `before` and `after` in the home
    /// directory get the settings of the terminal, `tty` its name and `pid` the program's id.
    pub(crate) fn of(repo: &TestRepo, size: (u16, u16), call: &str) -> Screen {
        Screen::with(repo, size, call, &[])
    }

    /// The same with variables of the environment.
    pub(crate) fn with(
        repo: &TestRepo,
        (columns, rows): (u16, u16),
        call: &str,
        env: &[(&str, &str)],
    ) -> Screen {
        let script = format!(
            "stty cols {columns} rows {rows}; tty >\"$HOME/tty\"; stty -a >\"$HOME/before\"; \
             sh -c 'echo $$ >\"$HOME/pid\"; exec \"$EDT\" {call}'; \
             s=$?; stty -a >\"$HOME/after\"; exit $s"
        );
        let mut command = repo.command("script");
        command.args(["-qec", &script, "/dev/null"]);
        command.env("EDT", EDT).env("SHELL", "/bin/sh").env("TERM", "xterm-256color");
        command
            .env_remove("NO_COLOR")
            .envs(env.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let keys = child.stdin.take().unwrap();
        let mut out = child.stdout.take().unwrap();
        let parser = Arc::new(Mutex::new(vt100::Parser::new(size(rows), size(columns), 0)));
        let written = Arc::new(Mutex::new(Vec::new()));
        let (seen, raw) = (Arc::clone(&parser), Arc::clone(&written));
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = out.read(&mut buffer) {
                raw.lock().unwrap().extend_from_slice(&buffer[..count]);
                seen.lock().unwrap().process(&buffer[..count]);
            }
        });
        Screen { child, keys, parser, written, repo: repo.at(&repo.root), is_lost: false }
    }

    /// What the screen shows.
    pub(crate) fn text(&self) -> String {
        self.parser.lock().unwrap().screen().contents()
    }

    /// Everything that was written to the terminal.
    pub(crate) fn written(&self) -> String {
        String::from_utf8_lossy(&self.written.lock().unwrap()).into_owned()
    }

    pub(crate) fn press(&mut self, keys: &str) -> &mut Screen {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self
    }

    /// Waits until `holds` is true of the screen.
    #[track_caller]
    fn wait(&mut self, what: &str, holds: impl Fn(&str) -> bool) -> &mut Screen {
        let began = Instant::now();
        while !holds(&self.text()) {
            assert!(began.elapsed() < PATIENCE, "not {what}:\n{}", self.text());
            std::thread::sleep(Duration::from_millis(20));
        }
        self
    }

    /// Waits until the screen shows `text`.
    #[track_caller]
    pub(crate) fn shows(&mut self, text: &str) -> &mut Screen {
        self.wait(&format!("shown: {text:?}"), |screen| screen.contains(text))
    }

    /// Waits until the screen does not show `text`.
    #[track_caller]
    pub(crate) fn hides(&mut self, text: &str) -> &mut Screen {
        self.wait(&format!("hidden: {text:?}"), |screen| !screen.contains(text))
    }

    /// Changes the size of the terminal.
    pub(crate) fn resize(&mut self, columns: u16, rows: u16) -> &mut Screen {
        self.parser.lock().unwrap().screen_mut().set_size(size(rows), size(columns));
        let tty = self.kept("tty");
        let size = ["cols", &columns.to_string(), "rows", &rows.to_string()];
        let mut stty = Command::new("stty");
        assert!(stty.args(["-F", tty.trim()]).args(size).status().unwrap().success());
        self
    }

    /// What the file of the home directory has.
    pub(crate) fn kept(&self, name: &str) -> String {
        std::fs::read_to_string(self.repo.home.join(name)).unwrap()
    }

    /// Sends the program a signal.
    pub(crate) fn signal(&self, signal: &str) {
        let pid = self.kept("pid");
        let done = Command::new("kill").args([&format!("-{signal}"), pid.trim()]).status();
        assert!(done.unwrap().success());
    }

    /// Closes the terminal while the program runs at it.
    pub(crate) fn lose(&mut self) -> &mut Screen {
        self.is_lost = true;
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self
    }

    /// Waits until the program does not run, at most `patience`.
    #[track_caller]
    pub(crate) fn gone_within(&mut self, patience: Duration) {
        let pid = self.kept("pid");
        let began = Instant::now();
        // One that has ended and waits for its parent does not run.
        let runs = || {
            let asked = Command::new("ps").args(["-o", "stat=", "-p", pid.trim()]).output();
            let state = String::from_utf8(asked.unwrap().stdout).unwrap();
            !matches!(state.trim().chars().next(), None | Some('Z'))
        };
        while runs() {
            assert!(began.elapsed() < patience, "it still runs");
            std::thread::sleep(Duration::from_millis(50));
        }
        self.is_lost = false;
    }

    /// The exit status, once the program has ended by itself.
    #[track_caller]
    pub(crate) fn ended(&mut self) -> Option<i32> {
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("it did not end:\n{}", self.text());
    }
}
