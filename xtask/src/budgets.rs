//! Measures what calls cost, in units that do not depend on the machine's load, and compares them
//! with `budgets.txt`: those of the release build, or with `--dev` those of the build that tests use,
//! which needs no build of its own.
//!
//! Needs `strace`, `valgrind` and GNU `time`. Every number is a limit. A commit that raises one has a
//! line `Budget: REASON` in its message.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{cargo, cargo_command, root, target};

const FILE: &str = "budgets.txt";
/// How much a measured number may exceed its limit, in per cent: hash seeds and times differ, and the
/// kernel maps more or fewer pages of the program around each fault. The dev build is
/// measured on processors with other features, too.
fn tolerance(name: &str) -> u64 {
    if name.ends_with("KiB of memory") || name.ends_with("page faults") {
        15
    } else if name.ends_with("instructions") {
        if name.starts_with(DEV) { 8 } else { 4 }
    } else {
        2
    }
}

/// How far below its limit a number is before the limit should be lowered, in per cent.
const SLACK: u64 = 10;

/// A call that is measured: its name, the arguments, and the standard input. `{n}` is a number that
/// differs in each call, `{dir}` the worktree.
struct Call {
    name: &'static str,
    args: &'static [&'static str],
    stdin: &'static str,
    /// The exit status.
    exit: i32,
}

const EDIT: &[&str] = &[
    "apply",
    "a/b/c/d/a.txt",
    "--mode",
    "edit",
    "--old-text",
    "line {n}\n",
    "--content",
    "edited {n}\n",
];

/// The position of the ordinary edit in [`CALLS`].
const APPLY: usize = 1;

const CALLS: &[Call] = &[
    Call { name: "version", args: &["--version"], stdin: "", exit: 0 },
    Call { name: "apply", args: EDIT, stdin: "", exit: 0 },
    Call {
        name: "apply-refused",
        args: &[
            "apply",
            "a/b/c/d/a.txt",
            "--mode",
            "edit",
            "--old-text",
            "none {n}",
            "--content",
            "x",
        ],
        stdin: "",
        exit: 1,
    },
    Call {
        name: "apply-three-files",
        args: &["apply", "--request", "-"],
        stdin: r#"{"edits":[{"path":"f1","mode":"append","content":"more {n}\n"},{"path":"f2","mode":"append","content":"more {n}\n"},{"path":"f3","mode":"append","content":"more {n}\n"}]}"#,
        exit: 0,
    },
    Call {
        name: "check",
        args: &["check", "a/b/c/d/a.txt", "--mode", "append", "--content", "more {n}\n"],
        stdin: "",
        exit: 0,
    },
    Call { name: "status", args: &["status"], stdin: "", exit: 0 },
    Call {
        name: "git-hook",
        args: &["hook", "reference-transaction", "prepared"],
        stdin: "0000000000000000000000000000000000000000 {tip} refs/heads/new-{n}\n",
        exit: 0,
    },
    Call {
        name: "agent-hook",
        args: &["agent-hook", "claude-code"],
        stdin: r#"{"session_id":"s","cwd":"{dir}","hook_event_name":"PreToolUse","tool_name":"Edit","tool_input":{"file_path":"{dir}/a/b/c/d/a.txt","old_string":"line {n}\n","new_string":"edited {n}\n"}}"#,
        exit: 0,
    },
];

type Numbers = BTreeMap<String, u64>;

/// What the names of the dev build's numbers begin with.
const DEV: &str = "dev ";

/// `budgets [--dev] [--bless]`
pub(super) fn budgets(args: &[String]) -> Result<(), String> {
    let has = |flag: &str| args.iter().any(|arg| arg == flag);
    let is_dev = has("--dev");
    let (build, directory): (&[&str], _) = if is_dev {
        // Tests give some dependencies more features: a plain build would be another one.
        (&["test", "--no-run", "--quiet", "--locked"], "debug")
    } else {
        (&["build", "--quiet", "--locked", "--package", "edt-cli", "--release"], "release")
    };
    cargo(build, &[])?;
    let mut measured = measure(&target().join(directory).join("edt"))?;
    if is_dev {
        // Its size depends on paths.
        measured.remove("binary bytes");
        measured =
            measured.into_iter().map(|(name, number)| (DEV.to_owned() + &name, number)).collect();
    }
    let limits = read(&std::fs::read_to_string(root().join(FILE)).map_err(|e| e.to_string())?)?;
    if has("--bless") {
        let others = limits.into_iter().filter(|(name, _)| name.starts_with(DEV) != is_dev);
        let all: Numbers = others.chain(measured).collect();
        let lines = all.iter().fold(String::new(), |mut lines, (name, number)| {
            let _ = writeln!(lines, "{name} {number}");
            lines
        });
        return super::write(FILE, lines.as_bytes());
    }
    let over = compare(&limits, &measured);
    let raised = raised_without_a_reason()?;
    if over.is_empty() && raised.is_empty() {
        Ok(())
    } else {
        Err([over, raised].concat().join("\n"))
    }
}

/// Prints every number beside its limit, and returns those above it.
fn compare(limits: &Numbers, measured: &Numbers) -> Vec<String> {
    let mut over = Vec::new();
    for (name, number) in measured {
        let Some(limit) = limits.get(name) else {
            over.push(format!("{name}: {number}, but {FILE} has no limit"));
            continue;
        };
        let note = if *number > limit + limit * tolerance(name) / 100 {
            over.push(format!("{name}: {number}, limit {limit}"));
            "  above its limit"
        } else if *number < limit - limit * SLACK / 100 {
            "  lower the limit: cargo xtask budgets --bless"
        } else {
            ""
        };
        println!("{name:40} {number:>12} of {limit:>12}{note}");
    }
    over
}

fn read(text: &str) -> Result<Numbers, String> {
    text.lines()
        .map(|line| {
            let (name, number) = line.rsplit_once(' ').ok_or(format!("{FILE}: {line:?}"))?;
            let number = number.parse().map_err(|error| format!("{FILE}: {line:?}: {error}"))?;
            Ok((name.to_owned(), number))
        })
        .collect()
}

/// The commits that raised a limit without a line `Budget: REASON`.
fn raised_without_a_reason() -> Result<Vec<String>, String> {
    let log = output(Command::new("git").current_dir(root()).args([
        "log",
        "--format=%H%n%B%x00",
        "--follow",
        "--",
        FILE,
    ]))?;
    let mut found = Vec::new();
    for entry in log.split('\0') {
        let Some((commit, message)) = entry.trim_start().split_once('\n') else { continue };
        let at = |revision: String| {
            let shown = output(Command::new("git").current_dir(root()).args(["show", &revision]));
            shown.map_or_else(|_| Ok(Numbers::new()), |text| read(&text))
        };
        let (old, new) = (at(format!("{commit}^:{FILE}"))?, at(format!("{commit}:{FILE}"))?);
        if message.lines().any(|line| line.starts_with("Budget: ")) {
            continue;
        }
        found.extend(new.iter().filter_map(|(name, number)| {
            let before = old.get(name).filter(|before| *before < number)?;
            Some(format!("{commit:.12} raised {name} from {before} to {number} without a reason"))
        }));
    }
    Ok(found)
}

fn measure(edt: &Path) -> Result<Numbers, String> {
    let mut numbers = Numbers::new();
    let size = std::fs::metadata(edt).map_err(|error| error.to_string())?.len();
    numbers.insert("binary bytes".to_owned(), size);
    let tree =
        output(cargo_command().args([
            "tree", "--locked", "--edges", "normal", "--prefix", "none", "--format", "{p}",
        ]))?;
    let crates: std::collections::BTreeSet<&str> = tree
        .lines()
        .map(|line| line.trim_end_matches(" (*)"))
        .filter(|line| !line.is_empty())
        .collect();
    numbers.insert("linked crates".to_owned(), crates.len() as u64);
    let bench = Bench::new(edt, "repo", &[])?;
    for call in CALLS {
        bench.measure(call, &mut numbers)?;
    }
    bench.measure_mcp(&mut numbers)?;
    let bench = Bench::new(edt, "not-switched", &["begin", "s", "--no-switch"])?;
    bench.measure(&Call { name: "apply-not-switched", ..CALLS[APPLY] }, &mut numbers)?;
    Ok(numbers)
}

/// A repository of 50 small files and one file four directories deep.
struct Bench {
    edt: PathBuf,
    home: PathBuf,
    repo: PathBuf,
    next: std::cell::Cell<u32>,
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.home);
    }
}

impl Bench {
    /// The session begins with the call `begin`, or with the first edit if it is empty.
    fn new(edt: &Path, name: &str, begin: &[&str]) -> Result<Bench, String> {
        let home = std::env::temp_dir().join(format!("edt-budgets-{}-{name}", std::process::id()));
        let repo = home.join(name);
        let fail = |error: std::io::Error| error.to_string();
        std::fs::create_dir_all(repo.join("a/b/c/d")).map_err(fail)?;
        for n in 1..=50 {
            std::fs::write(repo.join(format!("f{n}")), format!("{n}\n")).map_err(fail)?;
        }
        let lines: String = (1..=100).map(|n| format!("line {n}\n")).collect();
        std::fs::write(repo.join("a/b/c/d/a.txt"), lines).map_err(fail)?;
        // How much of the program the kernel maps depends on how its file got into the page cache. In
        // a file system in memory (`TMPDIR=/dev/shm`) it is the same each time.
        let program = home.join("edt");
        std::fs::copy(edt, &program).map_err(fail)?;
        let bench = Bench { edt: program, home, repo, next: std::cell::Cell::new(1) };
        for args in [
            &["init", "--quiet", "--initial-branch=main"][..],
            &["config", "user.name", "U"],
            &["config", "user.email", "u@example.com"],
            &["add", "."],
            &["commit", "--quiet", "--message=first"],
        ] {
            output(bench.command("git").args(args))?;
        }
        if !begin.is_empty() {
            output(bench.command(&bench.edt).args(begin))?;
        }
        // The second edit finds the index as edt wrote it.
        let edit = &CALLS[APPLY];
        bench.run(edit, &[])?;
        bench.run(edit, &[])?;
        Ok(bench)
    }

    fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.repo).env_clear();
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        command.env("HOME", &self.home).env("GIT_CONFIG_NOSYSTEM", "1").env("TZ", "UTC");
        command
    }

    fn filled(&self, text: &str, n: u32) -> Result<String, String> {
        let mut text = text.replace("{n}", &n.to_string());
        text = text.replace("{dir}", &self.repo.to_string_lossy());
        if text.contains("{tip}") {
            let tip = output(self.command("git").args(["rev-parse", "HEAD"]))?;
            text = text.replace("{tip}", tip.trim());
        }
        Ok(text)
    }

    /// Makes `call` below `wrapper`, and returns what both wrote to standard error.
    fn run(&self, call: &Call, wrapper: &[&str]) -> Result<String, String> {
        let n = self.next.replace(self.next.get() + 1);
        let args: Result<Vec<_>, _> = call.args.iter().map(|arg| self.filled(arg, n)).collect();
        let input = self.home.join("stdin");
        std::fs::write(&input, self.filled(call.stdin, n)?).map_err(|error| error.to_string())?;
        let mut command = match wrapper {
            [] => self.command(&self.edt),
            [program, rest @ ..] => {
                let mut command = self.command(program);
                command.args(rest).arg(&self.edt);
                command
            }
        };
        command.args(args?).stdin(std::fs::File::open(&input).map_err(|error| error.to_string())?);
        let done = command.stdout(Stdio::null()).stderr(Stdio::piped()).output();
        let done = done.map_err(|error| format!("{wrapper:?}: {error}"))?;
        let text = String::from_utf8_lossy(&done.stderr).into_owned();
        if done.status.code() != Some(call.exit) {
            return Err(format!("{}: {}\n{text}", call.name, done.status));
        }
        Ok(text)
    }

    fn measure(&self, call: &Call, numbers: &mut Numbers) -> Result<(), String> {
        let mut add = |what: &str, number| numbers.insert(format!("{} {what}", call.name), number);
        let (count, bytes) = self.objects()?;
        self.run(call, &[])?;
        let (more, more_bytes) = self.objects()?;
        add("objects", more - count);
        add("object bytes", more_bytes - bytes);
        add("system calls", self.system_calls(call)?);
        add("instructions", self.instructions(call)?);
        let times = self.run(call, &["time", "--quiet", "--format=%R %M"])?;
        let last = times.lines().last().unwrap_or_default();
        let parsed = last
            .split_once(' ')
            .and_then(|(faults, kib)| Some((faults.parse().ok()?, kib.parse().ok()?)));
        let (faults, kib) = parsed.ok_or(format!("time: {times}"))?;
        add("page faults", faults);
        add("KiB of memory", kib);
        Ok(())
    }

    fn system_calls(&self, call: &Call) -> Result<u64, String> {
        let file = self.home.join("strace");
        // How often threads wait for each other differs.
        let trace = "trace=!futex,sched_yield";
        self.run(call, &["strace", "-f", "-c", "-e", trace, "-o", &file.to_string_lossy()])?;
        let text = std::fs::read_to_string(&file).map_err(|error| error.to_string())?;
        // The last line is: % time, seconds, usecs/call, calls, errors, "total".
        let total = text.lines().rfind(|line| line.ends_with("total"));
        let calls = total.and_then(|line| line.split_whitespace().nth(3)?.parse().ok());
        calls.ok_or(format!("strace: {text}"))
    }

    fn instructions(&self, call: &Call) -> Result<u64, String> {
        let text = self.run(call, CALLGRIND)?;
        collected(&text)
    }

    /// The number and size of all loose objects.
    fn objects(&self) -> Result<(u64, u64), String> {
        let (mut count, mut bytes) = (0, 0);
        let fail = |error: std::io::Error| error.to_string();
        for directory in std::fs::read_dir(self.repo.join(".git/objects")).map_err(fail)? {
            let directory = directory.map_err(fail)?;
            if directory.file_name().len() == 2 {
                for object in std::fs::read_dir(directory.path()).map_err(fail)? {
                    count += 1;
                    bytes += object.map_err(fail)?.metadata().map_err(fail)?.len();
                }
            }
        }
        Ok((count, bytes))
    }

    /// The instructions of one edit through a server that runs already: the difference between
    /// thirty edits and ten.
    fn measure_mcp(&self, numbers: &mut Numbers) -> Result<(), String> {
        let (few, many) = (self.mcp(10)?, self.mcp(30)?);
        numbers.insert("mcp-apply instructions".to_owned(), many.saturating_sub(few) / 20);
        Ok(())
    }

    fn mcp(&self, edits: u32) -> Result<u64, String> {
        let mut lines = String::from(
            "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-06-18\",\
             \"capabilities\":{},\"clientInfo\":{\"name\":\"budgets\",\"version\":\"1\"}}}\n\
             {\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n",
        );
        for id in 1..=edits {
            let n = self.next.replace(self.next.get() + 1);
            let _ = writeln!(
                lines,
                "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"apply\",\
                 \"arguments\":{{\"edits\":[{{\"path\":\"f4\",\"mode\":\"append\",\"content\":\"mcp {n}\\n\"}}]}}}}}}"
            );
        }
        let mut command = self.command(CALLGRIND[0]);
        command.args(&CALLGRIND[1..]).arg(&self.edt).arg("mcp");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut server = command.spawn().map_err(|error| error.to_string())?;
        // valgrind reports each system call that it does not know: the pipe must not fill.
        let stderr = server.stderr.take();
        let stderr = std::thread::spawn(move || {
            let mut text = String::new();
            let _ = stderr.map(|mut pipe| pipe.read_to_string(&mut text));
            text
        });
        // The input stays open until every answer came: a server that has no input ends, and on a
        // busy machine that can be before its last answer.
        let mut input = server.stdin.take();
        let sent = input.as_mut().map(|input| input.write_all(lines.as_bytes()));
        sent.transpose().map_err(|error| error.to_string())?;
        let read = server.stdout.take().map(BufReader::new).into_iter().flat_map(BufRead::lines);
        let answers = read.map_while(Result::ok).filter(|line| line.contains("\"id\""));
        let answers = answers.take(edits as usize + 1);
        let answers = answers.filter(|line| line.contains("\"result\"")).count();
        drop(input);
        server.wait().map_err(|error| error.to_string())?;
        let stderr = stderr.join().unwrap_or_default();
        if answers != edits as usize + 1 {
            return Err(format!("mcp: {answers} answers to {edits} edits\n{stderr}"));
        }
        collected(&stderr)
    }
}

const CALLGRIND: &[&str] =
    &["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--trace-children=no"];

fn collected(text: &str) -> Result<u64, String> {
    let line = text.lines().find_map(|line| line.split("Collected : ").nth(1));
    let number = line.and_then(|number| number.trim().parse().ok());
    number.ok_or(format!("valgrind: {text}"))
}

/// The functions that the calls execute, by symbol: those of the first call, then those that the
/// second adds, and so on. The functions of one call are then in few places.
pub(super) fn functions(edt: &Path) -> Result<Vec<String>, String> {
    let bench = Bench::new(edt, "order", &[])?;
    let file = bench.home.join("callgrind");
    let out = format!("--callgrind-out-file={}", file.display());
    let mut order = Vec::new();
    for call in CALLS {
        bench.run(call, &["valgrind", "--tool=callgrind", "--demangle=no", &out])?;
        let profile = std::fs::read_to_string(&file).map_err(|error| error.to_string())?;
        let called: std::collections::BTreeSet<&str> =
            profile.lines().filter_map(named_function).collect();
        let known: std::collections::HashSet<String> = order.iter().cloned().collect();
        order.extend(called.into_iter().filter(|name| !known.contains(*name)).map(str::to_owned));
    }
    Ok(order)
}

/// The function that a line `fn=(7) name` or `cfn=(7) name` of a profile names. `'2` at the end
/// counts the depth of a recursion.
fn named_function(line: &str) -> Option<&str> {
    let named = line.strip_prefix('c').unwrap_or(line).strip_prefix("fn=(")?;
    let name = named.split_once(") ")?.1;
    Some(name.split('\'').next().unwrap_or(name))
}

pub(super) fn output(command: &mut Command) -> Result<String, String> {
    let done = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    if done.status.success() {
        Ok(text)
    } else {
        Err(format!("{command:?}: {}", String::from_utf8_lossy(&done.stderr)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_name_functions() {
        assert_eq!(named_function("fn=(12) _ZN3edt4main17h0E'2"), Some("_ZN3edt4main17h0E"));
        assert_eq!(named_function("cfn=(3) memcpy"), Some("memcpy"));
        assert_eq!(named_function("fn=(12)"), None);
        assert_eq!(named_function("calls=1 2"), None);
    }

    #[test]
    fn a_number_above_its_limit_or_without_one_is_reported() {
        let limits = read("apply system calls 300\nold 5\n").unwrap();
        let of = |number| Numbers::from([("apply system calls".to_owned(), number)]);
        assert!(compare(&limits, &of(306)).is_empty(), "within the tolerance");
        assert_eq!(compare(&limits, &of(307)), ["apply system calls: 307, limit 300"]);
        let other = Numbers::from([("new".to_owned(), 1)]);
        assert_eq!(compare(&limits, &other), ["new: 1, but budgets.txt has no limit"]);
    }
}
