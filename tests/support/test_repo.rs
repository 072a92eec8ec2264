//! A scratch repository with the real `git`, the real `edt`, and snapshots of everything that a
//! refusal must not change.

#![allow(dead_code, reason = "each test binary and each tier uses a part of it")]

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use edt_io::inherited::Inherited;
use edt_testkit::repository::{self, User};
use edt_types::{Code, evidence};
use serde_json::Value;
use tempfile::TempDir;

/// The program under test.
pub(crate) const EDT: &str = env!("CARGO_BIN_EXE_edt");

/// Who commits in the scratch repositories.
pub(crate) const USER: User<'static> = User { name: "A User", email: "user@example.com" };

/// The subject of [`TestRepo::commit`].
pub(crate) const SUBJECT: &str = "a user's commit";

/// Whether edt takes the functions of other systems, which exchange no files.
pub(crate) fn is_portable() -> bool {
    std::env::var_os("EDT_PLATFORM").is_some_and(|named| !named.is_empty())
}

/// A worktree in a temporary directory, which is removed with it.
pub(crate) struct TestRepo {
    /// Held for its `Drop`; `None` for a second worktree of the same repository.
    _dir: Option<TempDir>,
    /// The user's home directory.
    pub(crate) home: PathBuf,
    /// The worktree.
    pub(crate) root: PathBuf,
}

/// Everything that a refusal must not change: files, index, HEAD, refs, reflogs. Not `.git/edt`.
pub(crate) type Snapshot = BTreeMap<String, Vec<u8>>;

/// What edt answered.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) exit: i32,
    pub(crate) json: Value,
}

impl TestRepo {
    /// An empty directory with a home directory next to it; no repository.
    pub(crate) fn bare_directory() -> TestRepo {
        let dir = edt_testkit::tempdir().unwrap();
        std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o755)).unwrap();
        let (home, root) = (dir.path().join("home"), dir.path().join("repo"));
        std::fs::create_dir_all(home.join(".config")).unwrap();
        std::fs::create_dir(&root).unwrap();
        TestRepo { _dir: Some(dir), home, root }
    }

    /// An empty repository on an unborn branch `main`: by `git init` with `flags`, if there are
    /// any, else written without starting Git.
    pub(crate) fn unborn(flags: &[&str]) -> TestRepo {
        let workspace = TestRepo::bare_directory();
        if flags.is_empty() {
            repository::init(&workspace.root, USER).unwrap();
            return workspace;
        }
        workspace.git(&[&["init", "--quiet", "--initial-branch=main"], flags].concat());
        workspace.git(&["config", "user.name", USER.name]);
        workspace.git(&["config", "user.email", USER.email]);
        workspace
    }

    /// A repository whose only commit on `main` has `files`. It is written without starting Git,
    /// unless the files change how Git reads each other.
    pub(crate) fn with(files: &[(&str, &[u8])]) -> TestRepo {
        let workspace = TestRepo::unborn(&[]);
        if repository::suits(files) {
            repository::commit(&workspace.root, USER, files, SUBJECT).unwrap();
        } else {
            workspace.commit(files);
        }
        workspace
    }

    /// The same, made by `git init` with `flags`.
    pub(crate) fn made(flags: &[&str], files: &[(&str, &[u8])]) -> TestRepo {
        let workspace = TestRepo::unborn(flags);
        workspace.commit(files);
        workspace
    }

    /// Adds `files` to the worktree and commits everything.
    pub(crate) fn commit(&self, files: &[(&str, &[u8])]) {
        files.iter().for_each(|(path, bytes)| self.write(path, bytes));
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "-m", SUBJECT]);
    }

    /// The same repository and home, seen from `root`.
    pub(crate) fn at(&self, root: impl Into<PathBuf>) -> TestRepo {
        TestRepo { _dir: None, home: self.home.clone(), root: root.into() }
    }

    /// The same, seen from `root`; the temporary directory is removed with the result.
    pub(crate) fn moved(self, root: PathBuf) -> TestRepo {
        TestRepo { root, ..self }
    }

    /// A command that sees neither the real home nor the real configuration.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.root).env_clear().envs(self.variables()).stdin(Stdio::null());
        command
    }

    /// The environment of the programs of this repository.
    fn variables(&self) -> BTreeMap<OsString, OsString> {
        let own = |name: &str| (name.into(), std::env::var_os(name).unwrap_or_default());
        let set = |name: &str, value: &OsStr| (name.into(), value.to_owned());
        let platform = std::env::var_os("EDT_PLATFORM").map(|named| ("EDT_PLATFORM".into(), named));
        let all = [
            own("PATH"),
            set("LC_ALL", "C".as_ref()),
            set("HOME", self.home.as_ref()),
            set("XDG_CONFIG_HOME", self.home.join(".config").as_ref()),
            set("GIT_CONFIG_NOSYSTEM", "1".as_ref()),
            set("GIT_CONFIG_GLOBAL", self.home.join(".gitconfig").as_ref()),
            // `git status` must be right with the index as edt left it, without a refresh.
            set("GIT_OPTIONAL_LOCKS", "0".as_ref()),
            set("GIT_TERMINAL_PROMPT", "0".as_ref()),
            set("GIT_EDITOR", "true".as_ref()),
            set("GIT_PAGER", "cat".as_ref()),
        ];
        all.into_iter().chain(platform).collect()
    }

    /// Runs `git`, which must succeed, and returns its output.
    #[track_caller]
    pub(crate) fn git(&self, args: &[&str]) -> String {
        let done = self.try_git(args);
        let error = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "git {args:?}: {}\n{error}", done.status);
        String::from_utf8_lossy(&done.stdout).into_owned()
    }

    pub(crate) fn try_git(&self, args: &[&str]) -> Output {
        self.command("git").args(args).output().unwrap()
    }

    /// What `git rev-parse --verify` prints for `spec`.
    #[track_caller]
    pub(crate) fn rev(&self, spec: &str) -> String {
        self.git(&["rev-parse", "--verify", spec]).trim().to_owned()
    }

    /// The bytes of a blob, as `git show` gives them.
    #[track_caller]
    pub(crate) fn blob(&self, spec: &str) -> Vec<u8> {
        let done = self.try_git(&["cat-file", "blob", spec]);
        assert!(done.status.success(), "{spec}: {}", String::from_utf8_lossy(&done.stderr));
        done.stdout
    }

    /// Runs `edt … --json`; the answer must satisfy the schema that edt prints.
    #[track_caller]
    pub(crate) fn edt(&self, args: &[&str]) -> Answer {
        self.edt_fed(b"", args)
    }

    /// The same with something on standard input. The user makes the calls that only the user may.
    #[track_caller]
    pub(crate) fn edt_fed(&self, stdin: &[u8], args: &[&str]) -> Answer {
        if is_for_users(args) {
            return self.as_user(stdin, args, &[]);
        }
        // gix reads the user's configuration as the environment of the process names it.
        let configured = self.home.join(".gitconfig").exists();
        if crate::IN_PROCESS && !configured && !needs_a_process(args) {
            let args: Vec<OsString> =
                args.iter().copied().chain(["--json"]).map(OsString::from).collect();
            let caller = Inherited {
                variables: self.variables(),
                directory: self.root.clone(),
                program: EDT.into(),
                input: stdin.to_vec(),
                is_reviewer: false,
                session: None,
            };
            let (exit, printed) = edt_cli::call(&args, caller);
            return checked(i32::from(exit), &printed.stdout, &printed.stderr, &args);
        }
        let mut command = self.command(EDT);
        command.args(args).arg("--json");
        run(command, stdin, args)
    }

    /// The same by a user whose terminal shows the messages.
    #[track_caller]
    pub(crate) fn as_user(&self, stdin: &[u8], args: &[&str], env: &[(&str, &Path)]) -> Answer {
        let quoted = |arg: &&str| format!("'{}'", arg.replace('\'', "'\\''"));
        let args_of: Vec<String> = args.iter().map(quoted).collect();
        let files = edt_testkit::tempdir().unwrap();
        let (input, output) = (files.path().join("in"), files.path().join("out"));
        std::fs::write(&input, stdin).unwrap();
        let call = format!("exec \"$EDT\" {} --json <\"$IN\" >\"$OUT\"", args_of.join(" "));
        let mut command = self.command("sh");
        command.args(["-c", "script -qec \"$CALL\" /dev/null >&2; s=$?; cat \"$OUT\"; exit $s"]);
        command.env("CALL", call).env("EDT", EDT).env("IN", input).env("OUT", output);
        command.env("SHELL", "/bin/sh").envs(env.iter().copied());
        run(command, b"", args)
    }

    /// `edt run --json FLAGS -- ARGV`.
    #[track_caller]
    pub(crate) fn runs<S: AsRef<OsStr>>(&self, flags: &[&str], argv: &[S]) -> Answer {
        let mut command = self.command(EDT);
        command.args(["run", "--json"]).args(flags).arg("--").args(argv);
        run(command, b"", flags)
    }

    /// `edt apply --request -` with `request`.
    #[track_caller]
    pub(crate) fn apply(&self, request: &Value) -> Answer {
        self.edt_fed(request.to_string().as_bytes(), &["apply", "--request", "-"])
    }

    /// Runs `edt CALL` at a terminal (made by `script`) at which the user types `typed`; returns
    /// the exit status and the text on the screen.
    pub(crate) fn at_terminal(&self, call: &str, typed: &str) -> (Option<i32>, String) {
        let mut command = self.command("script");
        command
            .args(["-qec", &format!("\"$EDT\" {call}"), "/dev/null"])
            .env("EDT", EDT)
            .env("SHELL", "/bin/sh");
        let done = type_at(command.stdout(Stdio::piped()), typed);
        (done.status.code(), String::from_utf8_lossy(&done.stdout).into_owned())
    }

    /// Overwrites `path` through edt and insists that it lands.
    #[track_caller]
    pub(crate) fn overwrite(&self, path: &str, content: &str) -> Answer {
        self.edt(&["apply", path, "--mode", "overwrite", "--content", content]).landed()
    }

    /// Runs edt, which must refuse with exactly `codes` and without a change.
    #[track_caller]
    pub(crate) fn refuses(&self, codes: &[&str], exit: i32, args: &[&str]) -> Answer {
        self.unchanged(codes, exit, || self.edt(args))
    }

    /// `edt apply --request -`, which must refuse with exactly `codes` and without a change.
    #[track_caller]
    pub(crate) fn refuses_request(&self, codes: &[&str], exit: i32, request: &Value) -> Answer {
        self.unchanged(codes, exit, || self.apply(request))
    }

    /// `call` must be refused with exactly `codes` and without a change.
    #[track_caller]
    pub(crate) fn unchanged(
        &self,
        codes: &[&str],
        exit: i32,
        call: impl FnOnce() -> Answer,
    ) -> Answer {
        let before = self.snapshot();
        let answer = call();
        assert_eq!((answer.codes().as_slice(), answer.exit), (codes, exit), "{:#}", answer.json);
        same(&before, &self.snapshot());
        answer
    }

    #[track_caller]
    pub(crate) fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let full = self.root.join(path);
        std::fs::create_dir_all(full.parent().unwrap()).unwrap();
        std::fs::write(full, bytes).unwrap();
    }

    #[track_caller]
    pub(crate) fn read(&self, path: &str) -> Vec<u8> {
        std::fs::read(self.root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    #[track_caller]
    pub(crate) fn text(&self, path: &str) -> String {
        String::from_utf8(self.read(path)).unwrap()
    }

    pub(crate) fn exists(&self, path: &str) -> bool {
        self.root.join(path).symlink_metadata().is_ok()
    }

    /// The files of the worktree.
    pub(crate) fn files(&self) -> Snapshot {
        let mut files = Snapshot::new();
        walk(&self.root, "", &mut files);
        files
    }

    /// Lets the agent change `path`, which other programs execute, as the user's `edt.toml` may.
    pub(crate) fn unprotect(&self, path: &str) {
        self.unprotect_with("", path);
    }

    /// The same in a file that begins with `policy`.
    pub(crate) fn unprotect_with(&self, policy: &str, path: &str) {
        let file = self.home.join(".config/edt/edt.toml");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, format!("{policy}[[unprotect]]\npaths = [\"{path}\"]\n")).unwrap();
    }

    /// Lets hooks, filters and validators run outside the sandbox, as the user's `edt.toml` may.
    pub(crate) fn programs_as_user(&self) {
        let file = self.home.join(".config/edt/edt.toml");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        let policy = "[run]\nrepository_programs = \"as_user\"\n";
        let others = std::fs::read_to_string(&file).unwrap_or_default();
        std::fs::write(file, format!("{policy}{others}")).unwrap();
    }

    /// `git status --porcelain`, ignored files left out.
    #[track_caller]
    pub(crate) fn status(&self) -> String {
        self.git(&["status", "--porcelain", "--untracked-files=all"])
    }

    /// Nothing is uncommitted and nothing needs a refresh, by three commands of Git.
    #[track_caller]
    pub(crate) fn is_clean(&self) {
        assert_eq!(
            self.try_git(&["diff-files", "--quiet"]).status.code(),
            Some(0),
            "git diff-files without a refresh"
        );
        assert_eq!(self.status(), "");
        assert_eq!(
            self.git(&["write-tree"]).trim(),
            self.rev("HEAD^{tree}"),
            "git write-tree against HEAD's tree"
        );
    }

    /// `git fsck --strict` reports nothing.
    #[track_caller]
    pub(crate) fn is_sound(&self) {
        let done = self.try_git(&["fsck", "--strict", "--no-dangling", "--no-progress"]);
        let said = [done.stdout, done.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        // A branch without a commit is not an error.
        let said: Vec<&str> = said.lines().filter(|line| !line.starts_with("notice: ")).collect();
        assert_eq!(
            (done.status.code(), said.as_slice()),
            (Some(0), [].as_slice()),
            "git fsck --strict"
        );
    }

    /// The directory that `git rev-parse FLAG` names.
    pub(crate) fn git_dir(&self, flag: &str) -> PathBuf {
        if self.has_own_git_dir() && ["--git-dir", "--git-common-dir"].contains(&flag) {
            return self.root.join(".git");
        }
        self.root.join(self.git(&["rev-parse", flag]).trim())
    }

    /// Whether the worktree's `.git` is the repository: the files there answer most questions.
    fn has_own_git_dir(&self) -> bool {
        let git = self.root.join(".git");
        git.join("refs").is_dir() && git.join("HEAD").is_file() && !git.join("reftable").exists()
    }

    /// Every ref below `refs/` with its value, as the files have them.
    fn refs(&self) -> Snapshot {
        let mut refs = Snapshot::new();
        if !self.has_own_git_dir() {
            let format = "--format=%(refname) %(objectname) %(symref)";
            for line in self.git(&["for-each-ref", format]).lines() {
                let (name, value) = line.split_once(' ').unwrap();
                refs.insert(name.to_owned(), value.as_bytes().to_vec());
            }
            return refs;
        }
        let git = self.root.join(".git");
        let packed = std::fs::read_to_string(git.join("packed-refs")).unwrap_or_default();
        for line in packed.lines().filter(|line| !line.starts_with(['#', '^'])) {
            let (value, name) = line.split_once(' ').unwrap();
            refs.insert(name.to_owned(), value.as_bytes().to_vec());
        }
        let mut loose = Snapshot::new();
        walk(&git.join("refs"), "refs/", &mut loose);
        for (name, _) in loose {
            if let Ok(text) = std::fs::read_to_string(git.join(&name)) {
                refs.insert(name, text.trim_end().as_bytes().to_vec());
            }
        }
        refs
    }

    /// Everything that a refusal must not change.
    #[track_caller]
    pub(crate) fn snapshot(&self) -> Snapshot {
        let mut all = Snapshot::new();
        if self.has_own_git_dir()
            || self.git(&["rev-parse", "--is-bare-repository"]).trim() == "false"
        {
            all.extend(
                self.files().into_iter().map(|(path, bytes)| (format!("file {path}"), bytes)),
            );
        }
        let (own, common) = (self.git_dir("--git-dir"), self.git_dir("--git-common-dir"));
        for name in ["index", "HEAD", "config"] {
            if let Ok(bytes) = std::fs::read(own.join(name)) {
                all.insert(name.to_owned(), bytes);
            }
        }
        all.extend(self.refs().into_iter().map(|(name, value)| (format!("ref {name}"), value)));
        for (which, dir) in [("own", &own), ("common", &common)] {
            let mut logs = Snapshot::new();
            walk(&dir.join("logs"), "", &mut logs);
            all.extend(
                logs.into_iter().map(|(path, bytes)| (format!("{which} log {path}"), bytes)),
            );
        }
        if own.join("reftable").exists() {
            all.insert("HEAD".to_owned(), self.try_git(&["symbolic-ref", "HEAD"]).stdout);
            for name in self.git(&["reflog", "list"]).lines() {
                let log = self.git(&["reflog", "show", "--format=%H %gs", name]);
                all.insert(format!("log {name}"), log.into_bytes());
            }
        }
        all.extend(self.locks().into_iter().map(|path| (format!("lock {path}"), Vec::new())));
        all
    }

    /// Every lock file in the Git directory.
    pub(crate) fn locks(&self) -> Vec<String> {
        let mut all = Snapshot::new();
        walk(&self.git_dir("--git-common-dir"), "", &mut all);
        let lock = |path: &String| Path::new(path).extension().is_some_and(|ext| ext == "lock");
        all.into_keys().filter(lock).collect()
    }
}

/// Runs `command`, which is `script`, and types `text`. At the end of its input `script` waits two
/// seconds for the program, so the input stays open until it has ended.
pub(crate) fn type_at(command: &mut Command, text: &str) -> Output {
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut keys = child.stdin.take().unwrap();
    // The program may have ended already.
    let _ = keys.write_all(text.as_bytes());
    let done = child.wait_with_output().unwrap();
    drop(keys);
    done
}

/// Whether edt makes this call for a user alone.
fn is_for_users(args: &[&str]) -> bool {
    match args {
        ["hooks", "uninstall", ..] => true,
        ["memory", "export", file, ..] => *file != "-",
        ["memory", "snapshot", rest @ ..] => !rest.is_empty(),
        ["memory", call, ..] => {
            ["add", "edit", "deprecate", "delete", "restore", "import"].contains(call)
        }
        ["setup", ..] => args.contains(&"--remove"),
        ["comment", call, ..] => ["add", "send", "reopen", "drop"].contains(call),
        _ => false,
    }
}

/// Whether edt must be a process of its own: it becomes another program's parent, ends itself, or
/// reads or writes a file relative to the current directory.
fn needs_a_process(args: &[&str]) -> bool {
    let calls = ["-C", "agent-hook", "demo", "guide", "hook", "mcp", "run", "setup", "trust"];
    let files = ["--content-file", "--old-text-file", "--patch", "--request", "export", "import"];
    let is_relative = |pair: &[&str]| {
        files.contains(&pair[0]) && pair[1] != "-" && Path::new(pair[1]).is_relative()
    };
    args.first().is_none_or(|call| calls.contains(call)) || args.windows(2).any(is_relative)
}

/// Runs edt and checks its JSON against the schema it belongs to.
#[track_caller]
pub(crate) fn run(mut command: Command, stdin: &[u8], args: &[&str]) -> Answer {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A refusal may come before edt has read all of it.
    let mut pipe = child.stdin.take().unwrap();
    let stdin = stdin.to_vec();
    let feeder = std::thread::spawn(move || drop(pipe.write_all(&stdin)));
    let done = child.wait_with_output().unwrap();
    feeder.join().unwrap();
    checked(done.status.code().unwrap_or(-1), &done.stdout, &done.stderr, args)
}

/// Checks an answer against the schema it belongs to, and its exit status.
#[track_caller]
fn checked(exit: i32, stdout: &[u8], stderr: &[u8], args: &[impl std::fmt::Debug]) -> Answer {
    let shown = || format!("{args:?}: {exit}\n{}", String::from_utf8_lossy(stderr));
    let json: Value = serde_json::from_slice(stdout).unwrap_or_else(|error| {
        panic!("{}not JSON: {error}: {}", shown(), String::from_utf8_lossy(stdout))
    });
    let shape = satisfies(&json);
    if matches!(shape, "outcome" | "run") {
        let printed = json["status"].as_str().unwrap();
        assert_eq!(exit, exit_of(printed), "status {printed:?} and exit status of {}", shown());
    } else if shape == "doctor" {
        assert_eq!(exit, i32::from(json["healthy"] == false), "{}", shown());
    } else if shape == "policy" {
        let decided = |word: &str| {
            json["judgements"]
                .as_array()
                .is_some_and(|all| all.iter().any(|one| one["decision"] == word))
        };
        let strictest = if decided("deny") {
            1
        } else if decided("ask") {
            4
        } else {
            0
        };
        assert_eq!(exit, strictest, "{}", shown());
    } else {
        assert_eq!(exit, 0, "{}", shown());
    }
    Answer { exit, json }
}

/// The shape that the answer's `schema` names; panics if the answer does not satisfy that schema.
#[track_caller]
pub(crate) fn satisfies(json: &Value) -> &str {
    let shape =
        json["schema"].as_str().and_then(|schema| schema.strip_prefix("edt.")?.rsplit_once('/'));
    let (shape, _) = shape.unwrap_or_else(|| panic!("an answer names its schema: {json:#}"));
    let validator = validator(shape);
    let faults: Vec<String> = validator.iter_errors(json).map(|fault| fault.to_string()).collect();
    assert!(faults.is_empty(), "against the schema: {faults:#?}\n{json:#}");
    for error in json["errors"].as_array().into_iter().flatten() {
        let code = error["code"].as_str().and_then(Code::from_name);
        let (code, evidence) = code.zip(error["evidence"].as_object()).unwrap();
        assert_eq!(evidence::faults(code, evidence), [""; 0], "{json:#}");
    }
    shape
}

/// The contract's table of exit statuses.
fn exit_of(status: &str) -> i32 {
    match status {
        "applied" | "unchanged" | "would_apply" | "proposed" => 0,
        "failed" => 10,
        "refused" => 1,
        "invalid" => 2,
        "conflict" => 3,
        "held" => 4,
        "environment" => 5,
        "bug" => 70,
        other => panic!("status {other:?} is not in the contract"),
    }
}

/// The compiled JSON schema of `shape`, as `edt schema` prints it; compiled at its first use.
fn validator(shape: &str) -> Arc<jsonschema::Validator> {
    static ALL: Mutex<BTreeMap<String, Arc<jsonschema::Validator>>> = Mutex::new(BTreeMap::new());
    let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    let compile = || {
        let (exit, printed) = edt_cli::call(
            &["schema".into(), shape.into()],
            Inherited { directory: "/".into(), ..Inherited::default() },
        );
        assert_eq!(exit, 0, "no schema {shape}");
        let schema = serde_json::from_slice(&printed.stdout).unwrap();
        Arc::new(jsonschema::validator_for(&schema).unwrap())
    };
    Arc::clone(all.entry(shape.to_owned()).or_insert_with(compile))
}

impl Answer {
    /// The codes of all errors, in order.
    pub(crate) fn codes(&self) -> Vec<&str> {
        self.errors().iter().map(|error| error["code"].as_str().unwrap()).collect()
    }

    pub(crate) fn errors(&self) -> &[Value] {
        self.json["errors"].as_array().map_or(&[], Vec::as_slice)
    }

    /// The message of the only error.
    #[track_caller]
    pub(crate) fn message(&self) -> &str {
        assert_eq!(self.errors().len(), 1, "{:#}", self.json);
        self.errors()[0]["message"].as_str().unwrap()
    }

    /// The hint of the only error.
    #[track_caller]
    pub(crate) fn hint(&self) -> &str {
        assert_eq!(self.errors().len(), 1, "{:#}", self.json);
        self.errors()[0]["hint"].as_str().unwrap()
    }

    /// Insists that it was applied, without a warning.
    #[track_caller]
    pub(crate) fn landed(self) -> Answer {
        assert_eq!(
            (self.exit, self.json["status"].as_str()),
            (0, Some("applied")),
            "{:#}",
            self.json
        );
        assert_eq!(self.json["warnings"], serde_json::json!([]), "{:#}", self.json);
        self
    }

    /// How many commits recorded the user's changes first.
    pub(crate) fn checkpoints(&self) -> usize {
        self.json["checkpoints"].as_array().unwrap().len()
    }

    /// The new commit.
    #[track_caller]
    pub(crate) fn commit(&self) -> &str {
        self.json["commit"].as_str().unwrap()
    }
}

/// Fails with the differences unless both snapshots are equal.
#[track_caller]
pub(crate) fn same(before: &Snapshot, after: &Snapshot) {
    assert_eq!(changed(before, after), Vec::<String>::new(), "these changed");
}

/// What differs between two snapshots.
pub(crate) fn changed(before: &Snapshot, after: &Snapshot) -> Vec<String> {
    let keys: std::collections::BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let short = |bytes: Option<&Vec<u8>>| {
        bytes.map_or("nothing".to_owned(), |bytes| {
            format!("{:?}", String::from_utf8_lossy(&bytes[..bytes.len().min(120)]))
        })
    };
    keys.into_iter()
        .filter(|key| before.get(*key) != after.get(*key))
        .map(|key| format!("{key}: {} -> {}", short(before.get(key)), short(after.get(key))))
        .collect()
}

/// Every entry below `dir` but `.git` at its root: name with mode, and bytes.
pub(crate) fn walk(dir: &Path, below: &str, out: &mut Snapshot) {
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    for entry in entries.map(Result::unwrap) {
        let name = entry.file_name().to_string_lossy().into_owned();
        if below.is_empty() && name == ".git" {
            continue;
        }
        let path = format!("{below}{name}");
        let Ok(meta) = entry.path().symlink_metadata() else { continue };
        let key = path.clone();
        let bytes = if meta.is_dir() {
            walk(&entry.path(), &format!("{path}/"), out);
            b"a directory".to_vec()
        } else if meta.is_symlink() {
            std::fs::read_link(entry.path()).unwrap().into_os_string().into_encoded_bytes()
        } else if meta.is_file() {
            let mut bytes = format!("{:o} ", meta.mode() & 0o7777).into_bytes();
            bytes.extend(std::fs::read(entry.path()).unwrap_or_default());
            bytes
        } else {
            b"special".to_vec()
        };
        out.insert(key, bytes);
    }
}

/// Whether `strace` is installed; prints that the test is skipped if it is not.
pub(crate) fn has_strace() -> bool {
    let version = Command::new("strace").arg("-V").output();
    let installed = version.is_ok_and(|done| done.status.success());
    if !installed {
        println!("skipped: strace is not installed");
    }
    installed
}

/// `count` numbered lines.
pub(crate) fn lines(count: usize) -> String {
    (1..=count).map(|n| format!("line {n} of a text\n")).collect()
}
