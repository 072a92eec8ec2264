//! A scratch repository whose programs run confined, through the library, in a process of their
//! own.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use edt_run::sandbox::{NamespaceBackend, ResourceLimits, SandboxPlan, StartError, start};
use edt_types::Level;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use crate::test_repo::EDT;

/// Who runs edt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum As {
    /// The user who runs the tests.
    Self_,
    /// A user without any rights; only root can try.
    Nobody,
}

/// A repository, a home directory with secrets and a second directory, all in one temporary
/// directory.
pub(crate) struct Cage {
    pub(crate) dir: TempDir,
    pub(crate) root: PathBuf,
    pub(crate) home: PathBuf,
    pub(crate) outside: PathBuf,
    user: As,
}

/// The input of the driver.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Call {
    pub(crate) level: String,
    pub(crate) backend: String,
    pub(crate) argv: Vec<Vec<u8>>,
    pub(crate) root: PathBuf,
    pub(crate) dir: PathBuf,
    pub(crate) git: Vec<PathBuf>,
    pub(crate) writable: Vec<PathBuf>,
    pub(crate) secrets: Vec<PathBuf>,
    pub(crate) env: Vec<(String, String)>,
    pub(crate) memory: Option<u64>,
    pub(crate) processes: Option<u64>,
    pub(crate) cpu: Option<u64>,
    pub(crate) file_bytes: Option<u64>,
    pub(crate) temporary_bytes: Option<u64>,
    pub(crate) input: Option<String>,
    /// After this many milliseconds it is ended.
    pub(crate) ms: u64,
    pub(crate) edt: PathBuf,
}

/// What came of it.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
pub(crate) struct RunReport {
    pub(crate) by: String,
    pub(crate) how: String,
    pub(crate) limit: String,
    pub(crate) left: u32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// A directory that every user can enter: the system's temporary directory may be hidden at
/// `strict`.
const PLACE: &str = "/var/tmp";
const NOBODY: u32 = 65_534;

impl Cage {
    pub(crate) fn new(user: As) -> Cage {
        Cage::at(user, Path::new(PLACE), "repo")
    }

    /// A cage below `place` with a worktree of that name.
    pub(crate) fn at(user: As, place: &Path, name: &str) -> Cage {
        let dir = tempfile::Builder::new().prefix("edt-cage-").tempdir_in(place).unwrap();
        std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o755)).unwrap();
        let path = dir.path().canonicalize().unwrap();
        let [root, home, outside] = [name, "home", "outside"].map(|name| path.join(name));
        for directory in [&root, &home, &outside, &home.join(".ssh"), &home.join(".config/gh")] {
            std::fs::create_dir_all(directory).unwrap();
        }
        std::fs::write(home.join(".ssh/id_ed25519"), "the secret\n").unwrap();
        std::fs::write(home.join(".netrc"), "the secret\n").unwrap();
        std::fs::write(home.join("notes"), "a note\n").unwrap();
        std::fs::write(outside.join("file"), "outside\n").unwrap();
        let cage = Cage { dir, root, home, outside, user };
        cage.git(&["init", "-q", "-b", "main"]);
        cage.git(&["config", "user.name", "A User"]);
        cage.git(&["config", "user.email", "user@example.com"]);
        std::fs::write(cage.root.join("a.txt"), "one\n").unwrap();
        cage.git(&["add", "a.txt"]);
        cage.git(&["commit", "-qm", "first"]);
        cage.hand_over();
        cage
    }

    /// Gives everything to the user who runs edt.
    pub(crate) fn hand_over(&self) {
        if self.user == As::Nobody {
            let owner = format!("{NOBODY}:{NOBODY}");
            let chown =
                Command::new("chown").args(["-hR", &owner]).arg(self.dir.path()).status().unwrap();
            assert!(chown.success());
        }
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        let mut command = Command::new("git");
        command.current_dir(&self.root).env_clear().env("PATH", path()).env("HOME", &self.home);
        // The tests may be root's, the repository another's.
        command
            .env("GIT_CONFIG_COUNT", "1")
            .env("GIT_CONFIG_KEY_0", "safe.directory")
            .env("GIT_CONFIG_VALUE_0", "*");
        let done = command.args(args).output().unwrap();
        assert!(done.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    }

    /// The call that runs `argv`; its program is looked for on `PATH`.
    pub(crate) fn call(&self, level: Level, argv: &[impl AsRef<std::ffi::OsStr>]) -> Call {
        let env = [
            ("PATH", path().into_string().unwrap()),
            ("HOME", self.home.to_str().unwrap().to_owned()),
        ];
        Call {
            level: level.name().to_owned(),
            backend: "own".to_owned(),
            argv: argv.iter().map(|arg| arg.as_ref().as_bytes().to_vec()).collect(),
            root: self.root.clone(),
            dir: self.root.clone(),
            git: vec![self.root.join(".git")],
            writable: Vec::new(),
            secrets: Vec::new(),
            env: env.map(|(name, value)| (name.to_owned(), value)).to_vec(),
            memory: None,
            processes: None,
            cpu: None,
            file_bytes: None,
            temporary_bytes: None,
            input: None,
            ms: 20_000,
            edt: programs().1.clone(),
        }
    }

    pub(crate) fn run(&self, call: &Call) -> RunReport {
        self.run_by(self.as_user(&programs().0), call)
    }

    /// The same by a command that starts the driver.
    pub(crate) fn run_by(&self, command: Command, call: &Call) -> RunReport {
        let (command, mut writer, mut reader) = self.begin_by(command);
        let mut child = { command }.spawn().unwrap();
        writer.write_all(&serde_json::to_vec(call).unwrap()).unwrap();
        drop(writer);
        let mut answer = String::new();
        reader.read_to_string(&mut answer).unwrap();
        child.wait().unwrap();
        serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{error}: {answer:?}"))
    }

    /// A command of the user who runs edt.
    pub(crate) fn as_user(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        match self.user {
            As::Self_ => Command::new(program),
            As::Nobody => {
                let mut command = Command::new("setpriv");
                let id = NOBODY;
                let ids =
                    [format!("--reuid={id}"), format!("--regid={id}"), "--clear-groups".to_owned()];
                command.args(ids).arg(program);
                command
            }
        }
    }

    /// The driver, which reads its call from the one end and answers on the other.
    pub(crate) fn begin(&self) -> (Command, io::PipeWriter, io::PipeReader) {
        self.begin_by(self.as_user(&programs().0))
    }

    /// The same by a command that starts the driver, whose arguments follow.
    pub(crate) fn begin_by(
        &self,
        mut command: Command,
    ) -> (Command, io::PipeWriter, io::PipeReader) {
        let ((theirs_in, writer), (reader, theirs_out)) =
            (io::pipe().unwrap(), io::pipe().unwrap());
        command.args([
            "--exact",
            "confined_repo::driver",
            "--ignored",
            "--nocapture",
            "--test-threads=1",
        ]);
        command
            .env_clear()
            .env("PATH", path())
            .env("HOME", &self.home)
            .current_dir(self.dir.path());
        command.env("EDT_SECRET", "1");
        // What the harness prints goes elsewhere.
        command.stdin(theirs_in).stdout(Stdio::null()).stderr(theirs_out);
        (command, writer, reader)
    }
}

fn path() -> OsString {
    std::env::var_os("PATH").unwrap()
}

/// The driver and edt, where every user can execute them.
pub(crate) fn programs() -> &'static (PathBuf, PathBuf) {
    static PROGRAMS: OnceLock<(PathBuf, PathBuf)> = OnceLock::new();
    PROGRAMS.get_or_init(|| {
        let own = std::env::current_exe().unwrap();
        let all_can = |path: &Path| {
            path.ancestors().skip(1).all(|directory| {
                directory.metadata().is_ok_and(|meta| meta.permissions().mode() & 0o1 != 0)
            })
        };
        if all_can(&own) && all_can(Path::new(EDT)) {
            return (own, EDT.into());
        }
        // It stays: threads that run when the tests end use it still.
        let directory =
            PathBuf::from(PLACE).join(format!("edt-cage-programs-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let copies = [(own, "driver"), (PathBuf::from(EDT), "edt")].map(|(from, name)| {
            let to = directory.join(name);
            std::fs::copy(from, &to).unwrap();
            to
        });
        let [driver, edt] = copies;
        (driver, edt)
    })
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Whether bubblewrap is installed; prints that the test is skipped if not.
pub(crate) fn bubblewrap() -> bool {
    let there = Path::new("/usr/bin/bwrap").exists();
    if !there {
        println!("skipped: bubblewrap is not installed");
    }
    there
}

fn find(name: &std::ffi::OsStr) -> PathBuf {
    if name.as_bytes().contains(&b'/') {
        return name.into();
    }
    std::env::split_paths(&path())
        .map(|directory| directory.join(name))
        .find(|path| path.is_file())
        .unwrap_or(name.into())
}

/// Not a test: what [`Cage::run`] starts. Errors are where the answer goes.
#[test]
#[ignore = "the driver of other tests"]
fn driver() {
    let mut text = String::new();
    io::stdin().read_to_string(&mut text).unwrap();
    let Ok(call) = serde_json::from_str::<Call>(&text) else { return };
    eprint!("{}", serde_json::to_string(&drive(&call)).unwrap());
}

fn drive(call: &Call) -> RunReport {
    let mut argv = call.argv.iter().cloned().map(OsString::from_vec);
    let level: Level = call.level.parse().unwrap();
    let mut plan = SandboxPlan::new(level, &find(&argv.next().unwrap()), &call.root);
    plan.args = argv.collect();
    plan.secrets.clone_from(&call.secrets);
    plan.env = call.env.iter().map(|(name, value)| (name.into(), value.into())).collect();
    (plan.git, plan.writable) = (call.git.clone(), call.writable.clone());
    (plan.edt, plan.dir) = (call.edt.clone(), call.dir.clone());
    plan.backend = match call.backend.as_str() {
        "own" => NamespaceBackend::Own,
        "older" => NamespaceBackend::OwnWithoutSignals,
        "any" => NamespaceBackend::Any,
        _ => NamespaceBackend::Bubblewrap,
    };
    let limits = ResourceLimits::of(level);
    plan.limits = ResourceLimits {
        memory_bytes: call.memory.or(limits.memory_bytes),
        processes: call.processes.or(limits.processes),
        cpu: call.cpu.map(Duration::from_secs).or(limits.cpu),
        file_bytes: call.file_bytes.or(limits.file_bytes),
        temporary_bytes: call.temporary_bytes.or(limits.temporary_bytes),
        ..limits
    };
    let mut printed = RunReport {
        by: String::new(),
        how: String::new(),
        limit: String::new(),
        left: 0,
        out: String::new(),
        err: String::new(),
    };
    let (mut out, out_writer) = io::pipe().unwrap();
    let (mut err, err_writer) = io::pipe().unwrap();
    let (reader, mut writer) = io::pipe().unwrap();
    let null = || File::open("/dev/null").unwrap();
    let started = match &call.input {
        Some(_) => start(&plan, reader, out_writer, err_writer),
        None => start(&plan, null(), out_writer, err_writer),
    };
    let running = match started {
        Ok(running) => running,
        Err(StartError::Unavailable { why, .. }) => {
            return RunReport { how: format!("unavailable: {why}"), ..printed };
        }
        Err(StartError::Program(error)) => {
            return RunReport { how: format!("no program: {error}"), ..printed };
        }
        Err(StartError::System(error)) => {
            return RunReport { how: format!("system: {error}"), ..printed };
        }
    };
    if let Some(input) = &call.input {
        writer.write_all(input.as_bytes()).unwrap();
    }
    drop(writer);
    let read = |pipe: &mut io::PipeReader| {
        let mut bytes = Vec::new();
        pipe.read_to_end(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    running.by().clone_into(&mut printed.by);
    std::thread::scope(|scope| {
        let out = scope.spawn(|| read(&mut out));
        let err = scope.spawn(|| read(&mut err));
        let deadline = Instant::now() + Duration::from_millis(call.ms);
        let is_over = || {
            use rustix::event::{PollFd, PollFlags, poll};
            let left = deadline.saturating_duration_since(Instant::now());
            let timeout = left.try_into().unwrap();
            matches!(
                poll(
                    &mut [PollFd::from_borrowed_fd(running.watch(), PollFlags::IN)],
                    Some(&timeout)
                ),
                Ok(1..)
            )
        };
        let ended = if is_over() { running.wait() } else { running.end() }.unwrap();
        (printed.how, printed.left) = (format!("{:?}", ended.how), ended.left);
        printed.limit = ended.limit.map_or(String::new(), |limit| format!("{limit:?}"));
        (printed.out, printed.err) = (out.join().unwrap(), err.join().unwrap());
    });
    printed
}
