//! Every format of an edit, as directories: `fixtures/formats/FORMAT/NNN_name/` has
//!
//! | file | content |
//! | --- | --- |
//! | `about.txt` | in its first line, one sentence about the case |
//! | `repo/` | the files before, committed by a user |
//! | `patch` or `request.json` | the request, as for `edt apply --patch -` or `--request -` |
//! | `args` | `--match lenient`, one word a line, or absent |
//! | `response.json` | the answer, with the ids of commits replaced |
//! | `expected/` | the worktree afterwards; absent if nothing changes |
//! | `log.txt` | subjects and trailers of the new commits; absent if there are none |
//! | `corrected/` | the worktree after the correction that a refusal offers was applied; absent without one |
//!
//! `cargo xtask bless -p edt-core` writes the last four; read the diff before you commit it. Guards
//! that pass are left out of the answer. Git checks every repository afterwards.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use edt_core::txn::Request;
use edt_core::txn::patch_text::PatchText;
use edt_edit::place::Matching;
use edt_testkit::blessed::{diff, is_blessing};
use serde_json::{Value, json};

use crate::repo::{Answer, LibraryRepo, in_workspace};

/// The names that a directory may have.
const KNOWN: [&str; 9] = [
    "about.txt",
    "repo",
    "patch",
    "request.json",
    "args",
    "response.json",
    "expected",
    "log.txt",
    "corrected",
];

/// How many directories are played in parallel.
const SHARES: usize = 4;

/// A file's mode bit and bytes by path.
type Files = BTreeMap<String, (bool, Vec<u8>)>;

/// The result of a directory.
struct Played {
    response: String,
    files: Files,
    log: String,
    corrected: Option<Files>,
}

#[test]
fn every_fixture_gets_its_answer() {
    let root = in_workspace("fixtures/formats");
    let directories: Vec<PathBuf> =
        entries(&root).iter().flat_map(|format| entries(format)).collect();
    assert!(directories.len() >= 2, "only {} directories in {}", directories.len(), root.display());
    let bless = is_blessing();
    let of_share = &|n: usize| {
        let mut faults = Vec::new();
        for directory in directories.iter().skip(n).step_by(SHARES) {
            faults.extend(
                differences(directory, bless)
                    .iter()
                    .map(|fault| format!("{}: {fault}", short(directory))),
            );
        }
        faults
    };
    let faults: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..SHARES).map(|n| scope.spawn(move || of_share(n))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert!(
        faults.is_empty(),
        "{}\nFiles that differ: {}. `cargo xtask bless -p edt-core` writes what edt answers.",
        faults.join("\n"),
        faults.len()
    );
}

#[test]
fn a_malformed_fixture_is_noticed() {
    let dir = edt_testkit::tempdir().unwrap();
    let directory = dir.path().join("001_x");
    let write = |name: &str, text: &str| {
        std::fs::create_dir_all(directory.join(name).parent().unwrap()).unwrap();
        std::fs::write(directory.join(name), text).unwrap();
    };
    write("about.txt", "A file is made.\n");
    write("repo/a.txt", "a\n");
    write("request.json", "{\"path\": \"b.txt\", \"mode\": \"create\", \"content\": \"b\\n\"}");
    let wrong = |fault: &str| {
        let faults = differences(&directory, false).join("\n");
        assert!(faults.contains(fault), "{fault:?} is not in: {faults}");
    };
    wrong("response.json");
    assert_eq!(differences(&directory, true), Vec::<String>::new());
    assert_eq!(
        differences(&directory, false),
        Vec::<String>::new(),
        "a blessed fixture has no differences"
    );
    write("expected/b.txt", "other\n");
    wrong("expected/b.txt");
    write("log.txt", "other\n");
    wrong("log.txt");
    write("notes.txt", "x");
    wrong("notes.txt");
    write("patch", "x");
    wrong("either patch or request.json");
    write("about.txt", "");
    wrong("about.txt");
}

/// The differences from the files of `directory`; with `bless` those files are written instead.
fn differences(directory: &Path, bless: bool) -> Vec<String> {
    let mut faults = shape(directory);
    if !faults.is_empty() {
        return faults;
    }
    let before = files(&directory.join("repo"));
    let made = play(directory, &before);
    if bless {
        write(directory, &before, &made);
        return faults;
    }
    let text = |name: &str| std::fs::read_to_string(directory.join(name)).unwrap_or_default();
    let mut compare = |name: &str, wanted: &str, found: &str| {
        if wanted != found {
            faults.push(format!("{name}\n{}", diff(wanted, found)));
        }
    };
    compare("response.json", &text("response.json"), &made.response);
    compare("log.txt", &text("log.txt"), &made.log);
    let stored = |name: &str| {
        Some(directory.join(name))
            .filter(|directory| directory.exists())
            .map(|directory| files(&directory))
    };
    differ("expected", &stored("expected").unwrap_or(before), &made.files, &mut compare);
    let (wanted, found) =
        (stored("corrected").unwrap_or_default(), made.corrected.unwrap_or_default());
    differ("corrected", &wanted, &found, &mut compare);
    faults
}

/// Compares two worktrees file by file.
fn differ(name: &str, wanted: &Files, found: &Files, compare: &mut impl FnMut(&str, &str, &str)) {
    for path in wanted.keys().chain(found.keys()).collect::<BTreeSet<_>>() {
        compare(&format!("{name}/{path}"), &shown(wanted.get(path)), &shown(found.get(path)));
    }
}

/// The errors in the directory itself.
fn shape(directory: &Path) -> Vec<String> {
    let mut faults = Vec::new();
    let name = directory.file_name().unwrap().to_str().unwrap();
    let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if !name
        .get(..4)
        .is_some_and(|n| n[..3].bytes().all(|b| b.is_ascii_digit()) && n.ends_with('_'))
        || !name.chars().all(word)
    {
        faults.push("its name is not NNN_name".to_owned());
    }
    for entry in entries(directory) {
        let name = entry.file_name().unwrap().to_str().unwrap().to_owned();
        if !KNOWN.contains(&name.as_str()) {
            faults.push(format!("{name} is not a file of a fixture"));
        }
    }
    let about = std::fs::read_to_string(directory.join("about.txt")).unwrap_or_default();
    if !about.lines().next().is_some_and(|line| line.ends_with('.') && line.len() > 10) {
        faults.push("about.txt does not begin with a sentence".to_owned());
    }
    if directory.join("patch").exists() == directory.join("request.json").exists() {
        faults.push("it must have either patch or request.json".to_owned());
    }
    faults
}

/// Applies the request of the directory in a scratch repository.
fn play(directory: &Path, before: &Files) -> Played {
    let plain: Vec<(&str, &[u8])> =
        before.iter().map(|(path, (_, bytes))| (path.as_str(), bytes.as_slice())).collect();
    let special = |path: &str| path.ends_with(".gitattributes") || path.ends_with(".gitignore");
    let executable = before.values().any(|(executable, _)| *executable);
    let workspace = if executable || before.keys().any(|path| special(path)) {
        committed_by_git(before)
    } else {
        LibraryRepo::with(&plain)
    };
    let (base, state) = (workspace.head(), workspace.snapshot());
    let args = std::fs::read_to_string(directory.join("args")).unwrap_or_default();
    let matching = match args.lines().collect::<Vec<_>>()[..] {
        [] => Matching::Strict,
        ["--match", "lenient"] => Matching::Lenient,
        _ => panic!("{}: {args:?} in args", short(directory)),
    };
    let request = if let Ok(patch) = std::fs::read(directory.join("patch")) {
        request_of(patch, matching)
    } else {
        Request::from_json(&std::fs::read(directory.join("request.json")).unwrap())
    };
    let answer = workspace.send(request);
    if workspace.head() == base {
        assert!(workspace.snapshot() == state, "{}: nothing landed", short(directory));
    }
    is_sound(&workspace, &short(directory));
    let messages = workspace.messages_since(base);
    let log = messages.iter().map(|message| subject_and_trailers(message)).collect();
    let after = files(workspace.root());
    let corrected = corrected(&workspace, &answer);
    Played { response: masked(answer.json), files: after, log, corrected }
}

fn request_of(patch: Vec<u8>, matching: Matching) -> edt_types::Result<Request> {
    let patch = PatchText::new(patch, None, None, matching)?;
    Request::patch(None, None, Vec::new(), patch)
}

/// A repository whose files need Git's own `git add`.
fn committed_by_git(before: &Files) -> LibraryRepo {
    let workspace = LibraryRepo::unborn();
    for (path, (executable, bytes)) in before {
        workspace.write(path, bytes);
        set_executable(&workspace.root().join(path), *executable);
    }
    git(&workspace, &["add", "--all"]);
    git(&workspace, &["commit", "--quiet", "--allow-empty", "-m", "a user's commit"]);
    workspace
}

/// What Git prints, which must succeed.
#[expect(clippy::disallowed_methods, reason = "Git itself checks the result")]
fn git(workspace: &LibraryRepo, args: &[&str]) -> String {
    let mut git = std::process::Command::new("git");
    git.args(args).current_dir(workspace.root()).env("GIT_OPTIONAL_LOCKS", "0");
    let done = git.output().unwrap();
    assert!(done.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

/// Git finds no error and nothing uncommitted.
fn is_sound(workspace: &LibraryRepo, name: &str) {
    assert_eq!(git(workspace, &["status", "--porcelain"]), "", "{name}");
    git(workspace, &["fsck", "--strict", "--no-dangling", "--no-progress"]);
}

/// As `git log --format=%s%n%(trailers)` prints a commit.
fn subject_and_trailers(message: &str) -> String {
    let subject = message.lines().next().unwrap_or_default();
    let last = message.trim_end().rsplit("\n\n").next().unwrap_or_default();
    let is_trailer = |line: &str| {
        line.split_once(": ")
            .is_some_and(|(key, _)| key.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'))
    };
    let trailers = last != message.trim_end() && last.lines().all(is_trailer);
    format!("{subject}\n{}\n", if trailers { format!("{last}\n") } else { String::new() })
}

/// The worktree after every correction that the answer offers was applied as it is.
fn corrected(workspace: &LibraryRepo, answer: &Answer) -> Option<Files> {
    let offered =
        answer.errors().iter().filter_map(|error| error["evidence"]["correction"].as_str());
    let mut sent = 0;
    for patch in offered {
        workspace.send(request_of(patch.as_bytes().to_vec(), Matching::Strict)).landed();
        sent += 1;
    }
    (sent > 0).then(|| files(workspace.root()))
}

/// The answer as `response.json` has it: the ids of commits differ each time, and a new guard that
/// passes changes no fixture.
fn masked(mut answer: Value) -> String {
    for (place, word) in
        [("/commit", "<commit>"), ("/parent", "<parent>"), ("/session/base", "<base>")]
    {
        if let Some(id) = answer.pointer_mut(place).filter(|id| id.is_string()) {
            *id = json!(word);
        }
    }
    if let Some(guards) = answer["guards"].as_array_mut() {
        guards.retain(|guard| guard["verdict"] != "pass");
    }
    laid_out(&answer, "") + "\n"
}

/// A value that fits on a line is printed on one.
fn laid_out(value: &Value, indent: &str) -> String {
    let (flat, inner) = (value.to_string(), format!("{indent}  "));
    let (open, close, items): (_, _, Vec<String>) = match value {
        Value::Array(items) => {
            ("[", "]", items.iter().map(|item| laid_out(item, &inner)).collect())
        }
        Value::Object(map) => (
            "{",
            "}",
            map.iter()
                .map(|(key, item)| format!("{}: {}", json!(key), laid_out(item, &inner)))
                .collect(),
        ),
        _ => return flat,
    };
    // The answer itself is never on one line, so that a change of it changes few lines.
    if items.is_empty() || !indent.is_empty() && indent.len() + flat.chars().count() <= 120 {
        return flat;
    }
    let items: Vec<String> = items.into_iter().map(|item| inner.clone() + &item).collect();
    format!("{open}\n{}\n{indent}{close}", items.join(",\n"))
}

fn write(directory: &Path, before: &Files, made: &Played) {
    std::fs::write(directory.join("response.json"), &made.response).unwrap();
    let log = directory.join("log.txt");
    let _ = std::fs::remove_file(&log);
    if !made.log.is_empty() {
        std::fs::write(log, &made.log).unwrap();
    }
    write_files(&directory.join("expected"), Some(&made.files).filter(|files| *files != before));
    write_files(&directory.join("corrected"), made.corrected.as_ref());
}

fn write_files(directory: &Path, files: Option<&Files>) {
    let _ = std::fs::remove_dir_all(directory);
    for (path, (executable, bytes)) in files.into_iter().flatten() {
        let file = directory.join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, bytes).unwrap();
        set_executable(&file, *executable);
    }
}

fn set_executable(file: &Path, executable: bool) {
    let bits = if executable { 0o755 } else { 0o644 };
    std::fs::set_permissions(file, PermissionsExt::from_mode(bits)).unwrap();
}

/// The files below `directory` without `.git`.
fn files(directory: &Path) -> Files {
    let mut out = Files::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(below) = directories.pop() {
        for entry in entries(&below) {
            if entry.is_dir() {
                directories.extend((entry.file_name().unwrap() != ".git").then_some(entry));
                continue;
            }
            let executable = entry.metadata().unwrap().permissions().mode() & 0o100 != 0;
            let path = entry.strip_prefix(directory).unwrap().to_str().unwrap().to_owned();
            out.insert(path, (executable, std::fs::read(&entry).unwrap()));
        }
    }
    out
}

fn shown(file: Option<&(bool, Vec<u8>)>) -> String {
    file.map_or("no file\n".to_owned(), |(executable, bytes)| {
        let lines = bytes
            .split_inclusive(|b| *b == b'\n')
            .map(|line| format!("  {:?}\n", String::from_utf8_lossy(line)));
        format!(
            "{}\n{}",
            if *executable { "executable" } else { "a file" },
            lines.collect::<String>()
        )
    })
}

/// The entries of `directory`, sorted; none if it does not exist.
fn entries(directory: &Path) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = std::fs::read_dir(directory)
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().path())
        .collect();
    all.sort();
    all
}

/// The names of the format and the directory.
fn short(directory: &Path) -> String {
    let names: Vec<&str> = directory.iter().filter_map(|name| name.to_str()).collect();
    names[names.len().saturating_sub(2)..].join("/")
}
