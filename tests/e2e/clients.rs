//! Real clients drive the real binary: the Python SDK and the Inspector where they are installed,
//! agents with a scripted model (`tests/support/clients/model.py`) when `EDT_CLIENTS=1` asks for
//! them. They are looked for in `$EDT_CLIENTS_DIR`, else `target/clients`. No key, no network,
//! every directory a scratch one. With `EDT_RECORD=1` what was seen is written to
//! `fixtures/agents/seen`, of which `docs/reference/agents-seen.md` is made.
//!
//! ```text
//! npm install --ignore-scripts --prefix $EDT_CLIENTS_DIR @openai/codex@0.169.0 @google/gemini-cli@0.61.0 opencode-ai@1.18.33
//! npm install --ignore-scripts --prefix $EDT_CLIENTS_DIR/cline node@24 cline@3.0.65
//! # Codex's sandbox has another /dev: TMPDIR=/var/tmp
//! python3 -m venv $EDT_CLIENTS_DIR/aider && $EDT_CLIENTS_DIR/aider/bin/pip install aider-chat==0.86.2
//! ```

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::test_repo::{EDT, TestRepo};

/// How long a client may take.
const LIMIT: Duration = Duration::from_secs(90);
const FILE: &str = "demo/calculate.c";
const OLD: &str = "        return 1;\n";
const NEW: &str = "        return 2;\n";

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn directory() -> PathBuf {
    std::env::var_os("EDT_CLIENTS_DIR").map_or_else(|| here().join("target/clients"), PathBuf::from)
}

/// The client at `path` below the directory of clients; prints that it is skipped if it is missing.
fn client(path: &str) -> Option<PathBuf> {
    let path = directory().join(path);
    if !path.exists() {
        eprintln!("skipped: there is no {}", path.display());
    }
    path.exists().then_some(path)
}

/// The same for what is run only on request.
fn heavy(path: &str) -> Option<PathBuf> {
    if std::env::var_os("EDT_CLIENTS").is_none() {
        eprintln!("skipped: EDT_CLIENTS=1 runs {path}");
        return None;
    }
    let found = client(path);
    assert!(
        found.is_some(),
        "EDT_CLIENTS=1 asks for {path}, which is not in {}",
        directory().display()
    );
    found
}

/// A C file of 3,400 bytes.
fn text() -> String {
    let head = format!(
        "#include <stdio.h>\n\nint main(int argc, char **argv) {{\n    if (argc != 2) {{\n{OLD}    }}\n"
    );
    let tail = "    return 0;\n}\n";
    let mut text = head;
    for n in 0.. {
        let line = format!("    printf(\"%d\\n\", {n});\n");
        if text.len() + line.len() + tail.len() > 3400 {
            break;
        }
        text += &line;
    }
    let space = 3400 - text.len() - tail.len();
    text + &" ".repeat(space.saturating_sub(1)) + if space > 0 { "\n" } else { "" } + tail
}

fn workspace() -> TestRepo {
    let workspace = TestRepo::with(&[(FILE, text().as_bytes())]);
    assert_eq!(workspace.read(FILE).len(), 3400);
    workspace
}

fn bad() -> Value {
    json!({"path": FILE, "mode": "overwrite", "content": "}\n"})
}

fn good() -> Value {
    json!({"path": FILE, "mode": "edit", "old_text": OLD, "content": NEW})
}

/// The corrected call has landed as one commit of a session, and plain Git has nothing to complain
/// of.
#[track_caller]
fn landed(workspace: &TestRepo) {
    assert_eq!(workspace.text(FILE), text().replace(OLD, NEW));
    assert!(
        workspace.git(&["branch", "--show-current"]).starts_with("edt/"),
        "on a session's branch"
    );
    assert_eq!(workspace.git(&["rev-list", "--count", "main..HEAD"]).trim(), "1");
    assert_eq!(workspace.git(&["diff", "--numstat", "main", "HEAD"]), format!("1\t1\t{FILE}\n"));
    assert_eq!(workspace.git(&["status", "--porcelain", FILE]), "");
    workspace.is_sound();
}

/// Runs it to its end, or ends it and all that it started when its time is over.
#[track_caller]
fn bounded(command: &mut Command) -> Output {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .unwrap();
    let (mut out, mut err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let stdout = std::thread::spawn(move || read(&mut out));
    let stderr = std::thread::spawn(move || read(&mut err));
    let began = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if began.elapsed() > LIMIT {
            let _ = Command::new("kill").args(["-9", "--", &format!("-{}", child.id())]).status();
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    // What it left behind holds the pipes open.
    let _ = Command::new("kill")
        .args(["-9", "--", &format!("-{}", child.id())])
        .stderr(Stdio::null())
        .status();
    assert!(began.elapsed() <= LIMIT, "it took longer than {LIMIT:?}");
    Output { status, stdout: stdout.join().unwrap(), stderr: stderr.join().unwrap() }
}

fn read(pipe: &mut impl std::io::Read) -> Vec<u8> {
    let mut bytes = Vec::new();
    let _ = pipe.read_to_end(&mut bytes);
    bytes
}

#[test]
fn the_python_sdk_edits_in_every_protocol_mode() {
    let Some(python) =
        client("venv/bin/python").filter(|python| python.with_file_name("mcp").exists())
    else {
        return;
    };
    for (mode, protocol) in
        [("auto", "2026-07-28"), ("legacy", "2025-11-25"), ("2026-07-28", "2026-07-28")]
    {
        let workspace = workspace();
        let calls = workspace.home.join("calls.json");
        let read = json!({"path": FILE, "lines": ["5"]});
        std::fs::write(
            &calls,
            json!([["apply", bad()], ["apply", good()], ["read", read], ["search", {"list": true}]]).to_string(),
        )
        .unwrap();
        let mut command = workspace.command(&python);
        command
            .arg(here().join("tests/support/clients/session.py"))
            .arg(mode)
            .arg(&calls)
            .args([EDT, "mcp"]);
        let done = bounded(&mut command);
        let said: Value = serde_json::from_slice(&done.stdout).unwrap_or_else(|error| {
            panic!("{mode}: {error}: {}", String::from_utf8_lossy(&done.stderr))
        });
        assert_eq!(said["protocol"], protocol, "{mode}");
        let [refused, applied, shown, listed] = said["answers"].as_array().unwrap().as_slice()
        else {
            panic!("{said:#}")
        };
        assert_eq!(
            (&refused["error"], &refused["structured"]["errors"][0]["code"]),
            (&json!(true), &json!("SIZE_REDUCTION"))
        );
        assert!(
            refused["text"][0].as_str().unwrap().contains("from 3400 to 2 bytes"),
            "{refused:#}"
        );
        assert_eq!(
            (&applied["error"], &applied["structured"]["status"]),
            (&json!(false), &json!("applied"))
        );
        assert_eq!(shown["structured"]["text"], NEW);
        assert_eq!(listed["structured"]["entries"][0]["path"], FILE);
        landed(&workspace);
    }
}

#[test]
fn the_inspector_shows_the_refusal_and_lands_the_correction() {
    let Some(inspector) = client("node_modules/.bin/mcp-inspector") else { return };
    let workspace = workspace();
    let call = |args: &Value| -> Value {
        let mut command = workspace.command(&inspector);
        command.args(["--cli", EDT, "mcp", "--method", "tools/call", "--tool-name", "apply"]);
        for (key, value) in args.as_object().unwrap() {
            command.arg("--tool-arg").arg(format!("{key}={}", value.as_str().unwrap()));
        }
        let done = bounded(&mut command);
        let shown = || {
            format!(
                "{}{}",
                String::from_utf8_lossy(&done.stdout),
                String::from_utf8_lossy(&done.stderr)
            )
        };
        serde_json::from_slice(&done.stdout).unwrap_or_else(|error| panic!("{error}: {}", shown()))
    };
    let refused = call(&bad());
    assert_eq!(
        (&refused["isError"], &refused["structuredContent"]["status"]),
        (&json!(true), &json!("refused"))
    );
    assert_eq!(workspace.text(FILE), text());
    assert_eq!(call(&good())["structuredContent"]["status"], "applied");
    landed(&workspace);
}

/// An agent with a scripted model, in directories of its own.
struct Scene {
    workspace: TestRepo,
    model: Child,
    url: String,
    record: PathBuf,
}

/// What the model was sent: the body of a request, and the watched file at that moment.
struct ModelRequest {
    body: Value,
    bytes: u64,
}

impl Scene {
    fn new(plan: &[Value]) -> Scene {
        let workspace = workspace();
        let (path, record) =
            (workspace.home.join("plan.json"), workspace.home.join("record.jsonl"));
        std::fs::write(&path, json!(plan).to_string()).unwrap();
        let mut command = workspace.command("python3");
        command
            .arg(here().join("tests/support/clients/model.py"))
            .arg(&path)
            .arg(&record)
            .arg(workspace.root.join(FILE));
        let mut model = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut port = String::new();
        BufReader::new(model.stdout.as_mut().unwrap().take(16)).read_line(&mut port).unwrap();
        Scene { workspace, model, url: format!("http://127.0.0.1:{}", port.trim()), record }
    }

    /// A command that knows only scratch directories.
    fn command(&self, program: &Path) -> Command {
        let mut command = self.workspace.command(program);
        let home = &self.workspace.home;
        let path =
            [Path::new(EDT).parent().unwrap(), &directory().join("cline/node_modules/node/bin")]
                .map(|dir| dir.display().to_string());
        command.env(
            "PATH",
            format!("{}:{}:{}", path[0], std::env::var("PATH").unwrap_or_default(), path[1]),
        );
        for (name, below) in [
            ("XDG_DATA_HOME", ".local/share"),
            ("XDG_STATE_HOME", ".local/state"),
            ("XDG_CACHE_HOME", ".cache"),
            ("CODEX_HOME", ".codex"),
            ("CLINE_DIR", ".cline"),
            ("CLINE_DATA_DIR", ".cline/data"),
        ] {
            command.env(name, home.join(below));
        }
        command
            .env("TERM", "dumb")
            .env("NO_COLOR", "1")
            .env("GEMINI_API_KEY", "none")
            .env("GOOGLE_GEMINI_BASE_URL", &self.url);
        command
            .env("GEMINI_CLI_HOME", home)
            .env("OPENCODE_DISABLE_AUTOUPDATE", "1")
            .env("OPENCODE_DISABLE_MODELS_FETCH", "1");
        command
    }

    fn put(&self, below_home: &str, text: &str) {
        let path = self.workspace.home.join(below_home);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// `edt setup AGENT --scope SCOPE`.
    fn setup(&self, agent: &str, scope: &str) {
        let done = self
            .command(Path::new(EDT))
            .args(["setup", agent, "--scope", scope, "--json"])
            .output()
            .unwrap();
        assert!(
            done.status.success(),
            "{}{}",
            String::from_utf8_lossy(&done.stdout),
            String::from_utf8_lossy(&done.stderr)
        );
    }

    /// Drives the client and returns what its model received. Requests without tools (for titles)
    /// are left out if there are others.
    fn drive(&self, program: &Path, args: &[&str]) -> Vec<ModelRequest> {
        let mut command = self.command(program);
        let done = bounded(command.args(args));
        let printed: Vec<ModelRequest> =
            std::fs::read_to_string(&self.record).unwrap().lines().map(ModelRequest::of).collect();
        let (with, without): (Vec<ModelRequest>, Vec<ModelRequest>) =
            printed.into_iter().partition(|printed| {
                printed.body["tools"].as_array().is_some_and(|tools| !tools.is_empty())
            });
        let printed = if with.is_empty() { without } else { with };
        assert!(
            !printed.is_empty(),
            "{}{}",
            String::from_utf8_lossy(&done.stdout),
            String::from_utf8_lossy(&done.stderr)
        );
        printed
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        drop(self.model.stdin.take());
        let _ = self.model.wait();
    }
}

impl ModelRequest {
    fn of(line: &str) -> ModelRequest {
        let mut printed: Value = serde_json::from_str(line).unwrap();
        ModelRequest {
            bytes: printed["file"]["bytes"].as_u64().unwrap_or(0),
            body: printed["body"].take(),
        }
    }

    /// The last message to the model: the result of the tool it called.
    fn last(&self) -> &Value {
        let all = ["input", "messages", "contents"]
            .iter()
            .find_map(|key| self.body[key].as_array())
            .unwrap();
        all.last().unwrap()
    }
}

/// What one agent does with a refusal, as it was seen.
struct Seen<'s> {
    name: &'s str,
    version: String,
    /// What the model got for its own tool's refused edit; `None` if it got nothing.
    native: Option<&'s Value>,
    native_note: &'s str,
    /// What it got for a refused call of `apply`, and for the corrected one.
    mcp: Option<(&'s Value, &'s Value)>,
}

impl Seen<'_> {
    /// Requires that refusals reached the model completely; records the traffic if that is enabled.
    #[track_caller]
    fn judge(&self, workspace: &TestRepo) {
        for refusal in self.native.iter().chain(self.mcp.iter().map(|(refusal, _)| refusal)) {
            let printed = refusal.to_string();
            assert!(
                printed.contains("SIZE_REDUCTION") && printed.contains("from 3400 to 2 bytes"),
                "what was found: {printed}"
            );
            assert!(
                printed.contains("next: ") || printed.contains("hint"),
                "what to send instead: {printed}"
            );
        }
        if let Some((_, done)) = self.mcp {
            assert!(done.to_string().contains("applied"), "{done}");
        }
        if std::env::var_os("EDT_RECORD").is_none() {
            return;
        }
        let clean = |value: &Value| -> Value {
            let mut text = value.to_string();
            let (root, home) =
                (workspace.root.display().to_string(), workspace.home.display().to_string());
            text = text.replace(&root, "{ROOT}").replace(&home, "{HOME}");
            scrubbed(&serde_json::from_str(&text).unwrap())
        };
        let date =
            String::from_utf8(Command::new("date").args(["-u", "+%F"]).output().unwrap().stdout)
                .unwrap();
        let seen = json!({
            "client": self.name, "version": self.version, "date": date.trim(), "native": self.native.map(clean), "native_note": self.native_note,
            "mcp_refused": self.mcp.map(|(refused, _)| clean(refused)), "mcp_landed": self.mcp.map(|(_, landed)| clean(landed)),
        });
        let directory = here().join("fixtures/agents/seen");
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join(format!("{}.json", self.name)), format!("{seen:#}\n"))
            .unwrap();
    }
}

/// Without what differs from run to run: ids of calls and objects.
fn scrubbed(value: &Value) -> Value {
    match value {
        Value::Array(all) => all.iter().map(scrubbed).collect(),
        Value::Object(object) => object
            .iter()
            .map(|(key, value)| {
                let id = matches!(key.as_str(), "id" | "call_id" | "tool_call_id");
                (key.clone(), if id { json!("{ID}") } else { scrubbed(value) })
            })
            .collect(),
        Value::String(text) => {
            let mut out = String::new();
            let mut word = String::new();
            for c in text.chars().chain(['\0']) {
                if c.is_ascii_hexdigit() {
                    word.push(c);
                    continue;
                }
                out += if word.len() == 40 { "{OID}" } else { &word };
                word.clear();
                out.extend((c != '\0').then_some(c));
            }
            let time = out.find("Wall time: ").map(|at| at + "Wall time: ".len());
            if let Some(at) = time {
                let end = at + out[at..].find(' ').unwrap_or(0);
                out.replace_range(at..end, "{TIME}");
            }
            json!(out)
        }
        other => other.clone(),
    }
}

/// The version of `node_modules/PACKAGE`.
fn version(package: &str) -> String {
    let json = std::fs::read(directory().join(package).join("package.json")).unwrap();
    let json: Value = serde_json::from_slice(&json).unwrap();
    json["version"].as_str().unwrap().to_owned()
}

fn call(tool: &str, args: Value) -> Value {
    json!({"tool": tool, "args": args})
}

/// The steps of most agents: the file ruined with the agent's own tool, then by edt, then edited as
/// it should be.
fn plan(native: Value, apply: &str) -> Vec<Value> {
    vec![
        native,
        call(apply, bad()),
        call(apply, good()),
        json!({"text": "All done.", "alone": true}),
    ]
}

const PROMPT: &str = "make it return two please";

/// Each of `sent` was sent while the file was unchanged.
#[track_caller]
fn untouched(printed: &[ModelRequest]) {
    assert_eq!(
        printed.iter().map(|printed| printed.bytes).collect::<Vec<_>>(),
        vec![3400; printed.len()]
    );
}

#[test]
fn codex_is_refused_taught_and_lands() {
    let Some(codex) = heavy("node_modules/.bin/codex") else { return };
    let ruin: String = text().lines().map(|line| format!("-{line}\n")).collect();
    let patch = format!("*** Begin Patch\n*** Update File: {FILE}\n@@\n{ruin}+}}\n*** End Patch\n");
    let mut plan = plan(json!({"tool": "apply_patch", "input": patch}), "apply");
    plan[1]["namespace"] = json!("mcp__edt");
    plan[2]["namespace"] = json!("mcp__edt");
    let scene = Scene::new(&plan);
    scene.put(".codex/config.toml", &codex_settings(&scene));
    scene.setup("codex", "user");
    let printed =
        scene.drive(&codex, &["exec", "--dangerously-bypass-hook-trust", "--json", PROMPT]);
    untouched(&printed);
    let [_, native, refused, done] = printed.as_slice() else {
        panic!("{} requests", printed.len())
    };
    let seen = Seen {
        name: "codex",
        version: version("node_modules/@openai/codex"),
        native: Some(native.last()),
        native_note: "",
        mcp: Some((refused.last(), done.last())),
    };
    seen.judge(&scene.workspace);
    landed(&scene.workspace);
}

/// Codex's settings for a scripted model. It is one that the client knows: only such get its own tool
/// for edits.
fn codex_settings(scene: &Scene) -> String {
    format!(
        "model = \"gpt-5.5\"\nmodel_provider = \"x\"\napproval_policy = \"never\"\nsandbox_mode = \"workspace-write\"\n\n[model_providers.x]\nname = \
         \"x\"\nbase_url = \"{}/v1\"\nwire_api = \"responses\"\nrequest_max_retries = 0\nstream_max_retries = 0\n",
        scene.url
    )
}

/// Its sandbox keeps the Git directory from being written, so that edt cannot record in it.
#[test]
fn what_codexs_shell_does_is_judged_and_compared() {
    let Some(codex) = heavy("node_modules/.bin/codex") else { return };
    let mut plan = shell_plan("exec_command");
    plan.iter_mut().for_each(|step| {
        if step["args"].is_object() {
            step["args"] = json!({"cmd": step["args"]["command"]});
        }
    });
    plan.remove(1);
    let scene = Scene::new(&plan);
    if scene.workspace.root.starts_with("/dev") {
        eprintln!("skipped: Codex's sandbox has another /dev; TMPDIR names another place");
        return;
    }
    scene.workspace.write("notes.txt", "mine\n");
    scene.put(".codex/config.toml", &codex_settings(&scene));
    scene.setup("codex", "user");
    let printed =
        scene.drive(&codex, &["exec", "--dangerously-bypass-hook-trust", "--json", PROMPT]);
    let [_, read, reset, edited] = printed.as_slice() else { panic!("{} requests", printed.len()) };
    assert!(read.last().to_string().contains("calculate.c"), "{}", read.last());
    assert!(reset.last().to_string().contains("COMMAND_DENIED"), "{}", reset.last());
    assert_eq!(reset.bytes, 3400);
    assert!(edited.body.to_string().contains("Changed while the command ran"), "{}", edited.last());
    let workspace = &scene.workspace;
    assert_eq!(workspace.text(FILE), text().replace(OLD, NEW));
    assert_eq!(workspace.edt(&["land", "-m", "x"]).codes(), ["NOTHING_TO_LAND"]);
    let (status, screen) = workspace.at_terminal("land -m two", "yes\n");
    assert_eq!(status, Some(0), "{screen}");
    assert_eq!(workspace.git(&["show", &format!("main:{FILE}")]), text().replace(OLD, NEW));
    assert_eq!(workspace.git(&["status", "--porcelain"]), "?? notes.txt\n");
    workspace.is_sound();
}

#[test]
fn gemini_is_refused_taught_and_lands() {
    let Some(gemini) = heavy("node_modules/.bin/gemini") else { return };
    let native = call("write_file", json!({"file_path": FILE, "content": "}\n"}));
    let scene = Scene::new(&plan(native, "mcp_edt_apply"));
    scene.put(".gemini/settings.json", &gemini_settings().to_string());
    scene.setup("gemini", "user");
    let printed = scene.drive(
        &gemini,
        &["--skip-trust", "-y", "-o", "stream-json", "-m", "gemini-2.5-pro", "-p", PROMPT],
    );
    untouched(&printed);
    let [_, native, refused, done] = printed.as_slice() else {
        panic!("{} requests", printed.len())
    };
    let seen = Seen {
        name: "gemini",
        version: version("node_modules/@google/gemini-cli"),
        native: Some(native.last()),
        native_note: "",
        mcp: Some((refused.last(), done.last())),
    };
    seen.judge(&scene.workspace);
    landed(&scene.workspace);
}

/// The settings of Gemini that know no account.
fn gemini_settings() -> Value {
    json!({"security": {"auth": {"selectedType": "gemini-api-key"}}, "privacy": {"usageStatisticsEnabled": false},
        "general": {"disableAutoUpdate": true, "disableUpdateNag": true}})
}

/// What an agent's shell does: reads, ruins a file, loses the user's work, edits, removes.
fn shell_plan(tool: &str) -> Vec<Value> {
    let shell = |command: &str| call(tool, json!({"command": command}));
    vec![
        shell("ls demo | head -3"),
        shell(&format!("echo '}}' > {FILE}")),
        shell("git reset --hard"),
        shell(&format!("sed -i 's/return 1;/return 2;/' {FILE}; printf 'new\\n' > new.txt")),
        json!({"text": "All done.", "alone": true}),
    ]
}

/// The commands of an agent's shell were judged, and what they changed is the agent's alone.
#[track_caller]
fn shell_is_recorded(workspace: &TestRepo, printed: &[ModelRequest]) {
    let [_, read, ruined, reset, edited] = printed else { panic!("{} requests", printed.len()) };
    assert!(read.last().to_string().contains("calculate.c"), "{}", read.last());
    assert!(ruined.last().to_string().contains("SIZE_REDUCTION"), "{}", ruined.last());
    assert!(reset.last().to_string().contains("COMMAND_DENIED"), "{}", reset.last());
    assert_eq!((ruined.bytes, reset.bytes), (3400, 3400));
    assert!(!edited.last().to_string().contains("edt"), "{}", edited.last());
    assert_eq!(workspace.text(FILE), text().replace(OLD, NEW));
    let changed = workspace.git(&["diff", "--name-only", "main", "HEAD"]);
    assert_eq!(changed, format!("{FILE}\nnew.txt\n"));
    assert_eq!(workspace.text("notes.txt"), "mine\n");
    assert_eq!(workspace.edt(&["status"]).json["left_over"], json!([]));
    assert_eq!(workspace.edt(&["undo"]).exit, 0);
    assert_eq!((workspace.text(FILE), workspace.root.join("new.txt").exists()), (text(), false));
    assert_eq!(workspace.edt(&["redo"]).exit, 0);
    let landed = workspace.edt(&["land", "-m", "two"]);
    assert_eq!(landed.exit, 0, "{landed:?}");
    assert_eq!(workspace.git(&["show", &format!("main:{FILE}")]), text().replace(OLD, NEW));
    assert_eq!(workspace.git(&["status", "--porcelain"]), "?? notes.txt\n");
    workspace.is_sound();
}

#[test]
fn what_geminis_shell_does_is_judged_and_recorded() {
    let Some(gemini) = heavy("node_modules/.bin/gemini") else { return };
    let scene = Scene::new(&shell_plan("run_shell_command"));
    scene.workspace.write("notes.txt", "mine\n");
    scene.put(".gemini/settings.json", &gemini_settings().to_string());
    scene.setup("gemini", "user");
    let args = ["--skip-trust", "-y", "-o", "stream-json", "-m", "gemini-2.5-pro", "-p", PROMPT];
    let printed = scene.drive(&gemini, &args);
    shell_is_recorded(&scene.workspace, &printed);
}

#[test]
fn opencode_is_refused_taught_and_lands() {
    let Some(opencode) = heavy("node_modules/opencode-linux-x64/bin/opencode") else { return };
    let path = |scene: &Scene| scene.workspace.root.join(FILE).display().to_string();
    let mut scene = Scene::new(&[]);
    // Its own tool writes only files that it has read.
    let mut steps =
        plan(call("write", json!({"filePath": path(&scene), "content": "}\n"})), "edt_apply");
    steps.insert(0, call("read", json!({"filePath": path(&scene)})));
    scene = scene.planned(&steps);
    let config = opencode_settings(&scene, &json!({}));
    scene.put(".config/opencode/opencode.json", &config.to_string());
    scene.setup("opencode", "user");
    let printed =
        scene.drive(&opencode, &["run", "--model", "x/scripted", "--format", "json", PROMPT]);
    untouched(&printed);
    let [_, _, native, refused, done] = printed.as_slice() else {
        panic!("{} requests", printed.len())
    };
    let seen = Seen {
        name: "opencode",
        version: version("node_modules/opencode-ai"),
        native: Some(native.last()),
        native_note: "",
        mcp: Some((refused.last(), done.last())),
    };
    seen.judge(&scene.workspace);
    landed(&scene.workspace);
}

/// opencode's settings for a scripted model, with its rules for commands.
fn opencode_settings(scene: &Scene, permission: &Value) -> Value {
    let model = json!({"name": "scripted", "tool_call": true, "limit": {"context": 100_000, "output": 10_000}});
    let provider = json!({"npm": "@ai-sdk/openai-compatible", "name": "x", "options": {"baseURL": format!("{}/v1", scene.url), "apiKey": "none"},
        "models": {"scripted": model}});
    json!({"model": "x/scripted", "small_model": "x/scripted", "autoupdate": false, "share": "disabled",
        "provider": {"x": provider}, "permission": permission})
}

#[test]
fn what_opencodes_shell_does_is_judged_and_recorded() {
    let Some(opencode) = heavy("node_modules/opencode-linux-x64/bin/opencode") else { return };
    let mut plan = shell_plan("bash");
    plan.iter_mut().for_each(|step| {
        if step["args"].is_object() {
            step["args"]["description"] = json!("Does it");
        }
    });
    let scene = Scene::new(&plan);
    scene.workspace.write("notes.txt", "mine\n");
    let settings = opencode_settings(&scene, &json!({}));
    scene.put(".config/opencode/opencode.json", &settings.to_string());
    scene.setup("opencode", "user");
    let printed =
        scene.drive(&opencode, &["run", "--model", "x/scripted", "--format", "json", PROMPT]);
    shell_is_recorded(&scene.workspace, &printed);
}

/// A changed command would not match the user's rules any more.
#[test]
fn opencode_with_rules_for_commands_runs_its_own_and_edt_compares() {
    let Some(opencode) = heavy("node_modules/opencode-linux-x64/bin/opencode") else { return };
    let edit = format!("sed -i 's/return 1;/return 2;/' {FILE}");
    let step = call("bash", json!({"command": edit, "description": "Does it"}));
    let scene = Scene::new(&[step, json!({"text": "All done.", "alone": true})]);
    let settings = opencode_settings(&scene, &json!({"bash": {"*": "deny", "sed *": "allow"}}));
    scene.put(".config/opencode/opencode.json", &settings.to_string());
    scene.setup("opencode", "user");
    let printed =
        scene.drive(&opencode, &["run", "--model", "x/scripted", "--format", "json", PROMPT]);
    let [_, edited] = printed.as_slice() else { panic!("{} requests", printed.len()) };
    assert!(edited.body.to_string().contains("Changed while the command ran"), "{}", edited.last());
    assert_eq!(scene.workspace.text(FILE), text().replace(OLD, NEW));
    assert_eq!(scene.workspace.edt(&["land", "-m", "x"]).codes(), ["NOTHING_TO_LAND"]);
}

#[test]
fn what_clines_shell_does_is_judged_and_recorded() {
    let Some(cline) = heavy("cline/node_modules/.bin/cline") else { return };
    let shell = |command: &str| call("run_commands", json!({"commands": [command]}));
    let scene = Scene::new(&[
        shell("ls demo | head -3"),
        shell(&format!("echo '}}' > {FILE}")),
        shell(&format!("sed -i 's/return 1;/return 2;/' {FILE}; printf 'new\\n' > new.txt")),
        call("submit_and_exit", json!({"summary": "It returns two now.", "verified": true})),
    ]);
    scene.workspace.write("notes.txt", "mine\n");
    let url = format!("{}/v1", scene.url);
    let login = ["auth", "-p", "openai-compatible", "-b", &url, "-k", "none", "-m", "scripted"];
    assert!(bounded(scene.command(&cline).args(login)).status.success());
    scene.setup("cline", "project");
    let printed = scene.drive(&cline, &["--json", "--yolo", PROMPT]);
    assert!(printed[1].last().to_string().contains("calculate.c"), "{}", printed[1].last());
    assert!(printed[2].last().to_string().contains("SIZE_REDUCTION"), "{}", printed[2].last());
    assert_eq!(scene.workspace.text(FILE), text().replace(OLD, NEW));
    let changed = scene.workspace.git(&["diff", "--name-only", "main", "HEAD"]);
    assert_eq!(changed, format!("{FILE}\nnew.txt\n"));
    assert_eq!(scene.workspace.edt(&["status"]).json["left_over"], json!([]));
    assert_eq!(scene.workspace.edt(&["undo"]).exit, 0);
    assert_eq!(scene.workspace.text(FILE), text());
    scene.workspace.is_sound();
}

#[test]
fn cline_ends_its_run_at_a_refused_edit_of_its_own_and_lands_by_the_server() {
    let Some(cline) = heavy("cline/node_modules/.bin/cline") else { return };
    // Its run ends only with this call.
    let end =
        || call("submit_and_exit", json!({"summary": "It returns two now.", "verified": true}));
    let drive = |scene: &Scene, scope: &str| {
        let url = format!("{}/v1", scene.url);
        let login = ["auth", "-p", "openai-compatible", "-b", &url, "-k", "none", "-m", "scripted"];
        let done = bounded(scene.command(&cline).args(login));
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        scene.setup("cline", scope);
        scene.drive(&cline, &["--json", "--yolo", PROMPT])
    };
    let own = |old: &str, new: &str| {
        let scene = Scene::new(&[]);
        let path = scene.workspace.root.join(FILE);
        scene.planned(&[
            call("editor", json!({"path": path, "old_text": old, "new_text": new})),
            end(),
        ])
    };
    let ruin = own(&text(), "}\n");
    let printed = drive(&ruin, "project");
    assert_eq!(
        (printed.len(), ruin.workspace.text(FILE)),
        (1, text()),
        "the run ends, the file is as it was"
    );
    let right = own(OLD, NEW);
    let printed = drive(&right, "project");
    assert!(printed.len() >= 2, "the run goes on");
    landed(&right.workspace);
    let scene = Scene::new(&[call("edt__apply", bad()), call("edt__apply", good()), end()]);
    let printed = drive(&scene, "user");
    untouched(&printed[..3]);
    let seen = Seen {
        name: "cline",
        version: version("cline/node_modules/cline"),
        native: None,
        native_note: "nothing: its run ends (`aborted`); the file is as it was",
        mcp: Some((printed[1].last(), printed[2].last())),
    };
    seen.judge(&scene.workspace);
    landed(&scene.workspace);
}

#[test]
fn aider_edits_first_and_git_refuses_its_commit() {
    let Some(aider) = heavy("aider/bin/aider") else { return };
    let block = |old: &str, new: &str| {
        let text =
            format!("{FILE}\n```c\n<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE\n```\n");
        json!({"text": text, "alone": true})
    };
    let after = format!("{OLD}    }}\n");
    let go = |scene: &Scene| {
        let url = format!("{}/v1", scene.url);
        let args = [
            "--model",
            "openai/scripted",
            "--openai-api-base",
            &url,
            "--openai-api-key",
            "none",
            "--no-check-update",
            "--no-show-model-warnings",
            "--yes-always",
            "--no-stream",
            "--no-pretty",
            "--map-tokens",
            "0",
            "--edit-format",
            "diff",
            "--no-gitignore",
            "--no-analytics",
            "--message",
            PROMPT,
            FILE,
        ];
        bounded(scene.command(&aider).args(args))
    };
    // The second text is asked for as the commit's message.
    let scene = Scene::new(&[block(&after, OLD), json!({"text": "lose a brace", "alone": true})]);
    scene.setup("aider", "project");
    let installed = scene.command(Path::new(EDT)).args(["hooks", "install"]).output().unwrap();
    assert!(installed.status.success(), "{}", String::from_utf8_lossy(&installed.stderr));
    let head = scene.workspace.rev("HEAD");
    let done = go(&scene);
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&done.stdout),
        String::from_utf8_lossy(&done.stderr)
    );
    assert_eq!(scene.workspace.rev("HEAD"), head, "no commit: {said}");
    assert!(said.contains("SYNTAX_ERROR"), "the user sees why: {said}");
    assert_ne!(scene.workspace.text(FILE), text(), "the file was changed before anybody was asked");
    let fix = block(OLD, &format!("{NEW}    }}\n"));
    let scene = scene.planned(&[fix, json!({"text": "return two", "alone": true})]);
    go(&scene);
    assert_eq!(
        (scene.workspace.text(FILE), scene.workspace.git(&["log", "-1", "--format=%s"]).trim()),
        (text().replace(OLD, NEW), "return two")
    );
    scene.workspace.is_sound();
    let version = bounded(scene.command(&aider).arg("--version")).stdout;
    let seen = Seen {
        name: "aider",
        version: String::from_utf8_lossy(&version).trim().rsplit(' ').next().unwrap().to_owned(),
        native: None,
        native_note: "it edits first; Git's hook refuses the commit, the user sees why, the model receives nothing; the file stays changed",
        mcp: None,
    };
    seen.judge(&scene.workspace);
}

impl Scene {
    /// The same scene with a new model, which follows `plan`.
    fn planned(mut self, plan: &[Value]) -> Scene {
        std::fs::write(self.workspace.home.join("plan.json"), json!(plan).to_string()).unwrap();
        drop(self.model.stdin.take());
        let _ = self.model.wait();
        let _ = std::fs::remove_file(&self.record);
        let mut command = self.workspace.command("python3");
        let home = &self.workspace.home;
        command
            .arg(here().join("tests/support/clients/model.py"))
            .arg(home.join("plan.json"))
            .arg(&self.record)
            .arg(self.workspace.root.join(FILE));
        let mut model = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut port = String::new();
        BufReader::new(model.stdout.as_mut().unwrap().take(16)).read_line(&mut port).unwrap();
        self.url = format!("http://127.0.0.1:{}", port.trim());
        self.model = model;
        self
    }
}

/// The table of `docs/reference/agents-seen.md`, made of what was recorded.
fn table() -> String {
    let mut out = String::from(
        "# What agents do with a refusal\n\n\
         Each agent itself ran with a scripted model and edt as `edt setup` installs it\n\
         (`tests/e2e/clients.rs`). `fixtures/agents/seen/` has exactly what the models received.\n\n\
         | agent | version | seen | a native edit is refused: its model gets | marked as an error | the call is echoed | `apply` is refused by MCP: its model gets | \
         marked as an error | the call is echoed | the corrected call |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    let mut names: Vec<_> = std::fs::read_dir(here().join("fixtures/agents/seen"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    names.sort();
    for path in names {
        let seen: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        let word = |key: &str| seen[key].as_str().unwrap_or_default().to_owned();
        let native = if seen["native"].is_null() {
            format!("{} | – | –", word("native_note"))
        } else {
            described(&seen["native"])
        };
        let mcp = if seen["mcp_refused"].is_null() {
            "it has no MCP | – | –".to_owned()
        } else {
            described(&seen["mcp_refused"])
        };
        let landed = if seen["mcp_refused"].is_null() {
            "is a commit that the hook lets pass"
        } else {
            "lands: one commit on `edt/…`"
        };
        let _ = writeln!(
            out,
            "| {} | {} | {} | {native} | {mcp} | {landed} |",
            word("client"),
            word("version"),
            word("date")
        );
    }
    out
}

/// What a model received: in which part of the message, marked how, with what of the call in it.
fn described(message: &Value) -> String {
    let text = message.to_string();
    let whole = text.contains("\\\"guards\\\"");
    let json = text.contains("edt.outcome/1");
    let what = match (json, whole) {
        (false, _) => "message and hint as text",
        (true, true) => "the whole answer as JSON",
        (true, false) => "the short answer as JSON: errors and status",
    };
    let marked = message["parts"][0]["functionResponse"]["response"].get("error").is_some()
        || text.contains("isError\\\":true");
    let echo = text.contains("*** Begin Patch") || text.contains("\\\"mode\\\"");
    let word = |is: bool| if is { "yes" } else { "no" };
    format!("{what} | {} | {}", word(marked), word(echo))
}

#[test]
fn the_table_of_what_agents_do_is_made_of_what_was_seen() {
    let path = here().join("docs/reference/agents-seen.md");
    if std::env::var_os("EDT_RECORD").is_some() {
        std::fs::write(&path, table()).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), table(), "EDT_RECORD=1 writes it again");
    for entry in std::fs::read_dir(here().join("fixtures/agents/seen")).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        assert!(!text.contains("/tmp/") && !text.contains("/root/"), "no paths of a machine");
    }
}
