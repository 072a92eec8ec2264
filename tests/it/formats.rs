//! Every way to write an edit, as folders: `fixtures/formats/<format>/NNN_name/` holds
//!
//! | file | is |
//! | --- | --- |
//! | `about.txt` | in its first line, one sentence: what the folder shows |
//! | `repo/` | the files before, committed by a person |
//! | `patch` or `request.json` | what is sent, through `edt apply --patch -` or `--request -` |
//! | `args` | further arguments, one a line; may be left out |
//! | `response.json` | the whole answer, the ids of commits replaced |
//! | `expected/` | the worktree afterwards; left out where nothing changes |
//! | `log.txt` | subjects and trailers of what landed; left out where nothing did |
//! | `corrected/` | the worktree after the correction that a refusal offers was sent back unread; left out where none is offered |
//!
//! `EDT_BLESS=1 cargo test --test it formats::` writes the last four. What it writes is to be read before it is believed.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::world::{Answer, Snapshot, World, changed, walk};

/// What may stand in a folder.
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

/// How many folders are played at once.
const SHARES: usize = 4;

/// A file's mode bit and bytes by path.
type Files = BTreeMap<String, (bool, Vec<u8>)>;

/// What edt made of a folder.
struct Made {
    response: String,
    files: Files,
    log: String,
    corrected: Option<Files>,
}

#[test]
fn every_folder_is_answered_as_it_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/formats");
    let folders: Vec<PathBuf> = entries(&root).iter().flat_map(|format| entries(format)).collect();
    assert!(folders.len() >= 2, "only {} folders in {}", folders.len(), root.display());
    let bless = std::env::var_os("EDT_BLESS").is_some();
    let of_share = &|n: usize| {
        let mut faults = Vec::new();
        for folder in folders.iter().skip(n).step_by(SHARES) {
            faults.extend(
                played(folder, bless).iter().map(|fault| format!("{}: {fault}", short(folder))),
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
        "{} folders are not as they say:\n{}",
        faults.len(),
        faults.join("\n")
    );
}

#[test]
fn a_folder_that_is_not_one_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("001_x");
    let write = |name: &str, text: &str| {
        std::fs::create_dir_all(folder.join(name).parent().unwrap()).unwrap();
        std::fs::write(folder.join(name), text).unwrap();
    };
    write("about.txt", "A file is made.\n");
    write("repo/a.txt", "a\n");
    write("request.json", "{\"path\": \"b.txt\", \"mode\": \"create\", \"content\": \"b\\n\"}");
    let wrong = |fault: &str| {
        let faults = played(&folder, false).join("\n");
        assert!(faults.contains(fault), "{fault:?} is not in: {faults}");
    };
    wrong("response.json");
    assert_eq!(played(&folder, true), Vec::<String>::new());
    assert_eq!(played(&folder, false), Vec::<String>::new(), "what was blessed is as it says");
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

/// What is wrong with `folder`; with `bless` what edt makes of it is written there instead of compared.
fn played(folder: &Path, bless: bool) -> Vec<String> {
    let mut faults = shape(folder);
    if !faults.is_empty() {
        return faults;
    }
    let before = files(&folder.join("repo"));
    let made = made(folder, &before);
    if bless {
        write(folder, &before, &made);
        return faults;
    }
    let text = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap_or_default();
    let mut compare = |name: &str, wanted: &str, found: &str| {
        if wanted != found {
            faults.push(format!(
                "{name} is not what edt answers:\n--- it says\n{wanted}--- edt answers\n{found}"
            ));
        }
    };
    compare("response.json", &text("response.json"), &made.response);
    compare("log.txt", &text("log.txt"), &made.log);
    let held = |name: &str| {
        Some(folder.join(name)).filter(|folder| folder.exists()).map(|folder| files(&folder))
    };
    differ("expected", &held("expected").unwrap_or(before), &made.files, &mut compare);
    let (wanted, found) =
        (held("corrected").unwrap_or_default(), made.corrected.unwrap_or_default());
    differ("corrected", &wanted, &found, &mut compare);
    faults
}

/// Compares two worktrees file by file.
fn differ(name: &str, wanted: &Files, found: &Files, compare: &mut impl FnMut(&str, &str, &str)) {
    for path in wanted.keys().chain(found.keys()).collect::<BTreeSet<_>>() {
        compare(&format!("{name}/{path}"), &shown(wanted.get(path)), &shown(found.get(path)));
    }
}

/// What is wrong with the folder itself.
fn shape(folder: &Path) -> Vec<String> {
    let mut faults = Vec::new();
    let name = folder.file_name().unwrap().to_str().unwrap();
    let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if !name
        .get(..4)
        .is_some_and(|n| n[..3].bytes().all(|b| b.is_ascii_digit()) && n.ends_with('_'))
        || !name.chars().all(word)
    {
        faults.push("its name is not NNN_name".to_owned());
    }
    for entry in entries(folder) {
        let name = entry.file_name().unwrap().to_str().unwrap().to_owned();
        if !KNOWN.contains(&name.as_str()) {
            faults.push(format!("{name} is nothing that a folder holds"));
        }
    }
    let about = std::fs::read_to_string(folder.join("about.txt")).unwrap_or_default();
    if !about.lines().next().is_some_and(|line| line.ends_with('.') && line.len() > 10) {
        faults.push("about.txt does not begin with a sentence".to_owned());
    }
    if folder.join("patch").exists() == folder.join("request.json").exists() {
        faults.push("it must hold either patch or request.json".to_owned());
    }
    faults
}

/// Sends what the folder holds to edt in a scratch repository, where Git must find nothing wrong afterwards.
fn made(folder: &Path, before: &Files) -> Made {
    let world = World::unborn(&[]);
    for (path, (executable, bytes)) in before {
        world.write(path, bytes);
        set_executable(&world.root.join(path), *executable);
    }
    world.commit(&[]);
    let base = world.rev("main");
    let patch = folder.join("patch").exists();
    let (flag, name) = if patch { ("--patch", "patch") } else { ("--request", "request.json") };
    let args = std::fs::read_to_string(folder.join("args")).unwrap_or_default();
    let args: Vec<&str> = ["apply", flag, "-"].into_iter().chain(args.lines()).collect();
    let state = git_state(&world);
    let answer = world.edt_fed(&std::fs::read(folder.join(name)).unwrap(), &args);
    let tip = world.rev("HEAD");
    if tip == base {
        assert_eq!(
            changed(&state, &git_state(&world)),
            Vec::<String>::new(),
            "{}: nothing landed",
            short(folder)
        );
        assert!(files(&world.root) == *before, "{}: nothing landed", short(folder));
    }
    assert_eq!(world.status(), "", "{}", short(folder));
    world.is_sound();
    let log =
        world.git(&["log", "--reverse", "--format=%s%n%(trailers)", &format!("{base}..HEAD")]);
    let after = files(&world.root);
    let corrected = corrected(&world, &answer);
    Made { response: masked(answer.json), files: after, log, corrected }
}

/// The worktree after every correction that the answer offers was sent back as it is.
fn corrected(world: &World, answer: &Answer) -> Option<Files> {
    let offered =
        answer.errors().iter().filter_map(|error| error["evidence"]["correction"].as_str());
    let mut sent = 0;
    for patch in offered {
        world.edt_fed(patch.as_bytes(), &["apply", "--patch", "-"]).landed();
        sent += 1;
    }
    (sent > 0).then(|| files(&world.root))
}

/// Everything in the Git folder but objects and what edt may lose.
fn git_state(world: &World) -> Snapshot {
    let mut all = Snapshot::new();
    walk(&world.root.join(".git"), "", &mut all);
    all.retain(|path, _| !["objects", "edt"].contains(&path.split('/').next().unwrap_or_default()));
    all
}

/// The answer as it is written down: the ids of commits are others each time.
fn masked(mut answer: Value) -> String {
    for (place, word) in
        [("/commit", "<commit>"), ("/parent", "<parent>"), ("/session/base", "<base>")]
    {
        if let Some(id) = answer.pointer_mut(place).filter(|id| id.is_string()) {
            *id = json!(word);
        }
    }
    laid_out(&answer, "") + "\n"
}

/// What fits on a line stands on one.
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
    // The answer itself never does, so that a change of it is a change of few lines.
    if items.is_empty() || !indent.is_empty() && indent.len() + flat.chars().count() <= 120 {
        return flat;
    }
    let items: Vec<String> = items.into_iter().map(|item| inner.clone() + &item).collect();
    format!("{open}\n{}\n{indent}{close}", items.join(",\n"))
}

fn write(folder: &Path, before: &Files, made: &Made) {
    std::fs::write(folder.join("response.json"), &made.response).unwrap();
    let log = folder.join("log.txt");
    let _ = std::fs::remove_file(&log);
    if !made.log.is_empty() {
        std::fs::write(log, &made.log).unwrap();
    }
    write_files(&folder.join("expected"), Some(&made.files).filter(|files| *files != before));
    write_files(&folder.join("corrected"), made.corrected.as_ref());
}

fn write_files(folder: &Path, files: Option<&Files>) {
    let _ = std::fs::remove_dir_all(folder);
    for (path, (executable, bytes)) in files.into_iter().flatten() {
        let file = folder.join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, bytes).unwrap();
        set_executable(&file, *executable);
    }
}

fn set_executable(file: &Path, executable: bool) {
    let bits = if executable { 0o755 } else { 0o644 };
    std::fs::set_permissions(file, PermissionsExt::from_mode(bits)).unwrap();
}

/// The files below `folder`, Git's own left out.
fn files(folder: &Path) -> Files {
    let mut out = Files::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(below) = folders.pop() {
        for entry in entries(&below) {
            if entry.is_dir() {
                folders.extend((entry.file_name().unwrap() != ".git").then_some(entry));
                continue;
            }
            let executable = entry.metadata().unwrap().permissions().mode() & 0o100 != 0;
            let path = entry.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
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

/// What stands in `folder`, in order; nothing if it is not there.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().path())
        .collect();
    all.sort();
    all
}

/// The format's and the folder's name.
fn short(folder: &Path) -> String {
    let names: Vec<&str> = folder.iter().filter_map(|name| name.to_str()).collect();
    names[names.len().saturating_sub(2)..].join("/")
}
