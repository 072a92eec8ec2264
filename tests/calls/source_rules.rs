//! Rules of the sources that the compiler does not check: who touches the disk and the environment,
//! how long a file is, and which words it uses. The layers are crates, so the compiler checks them.

use std::path::Path;
use std::sync::OnceLock;

use grep_matcher::Matcher as _;
use grep_regex::RegexMatcher;

/// Crates that may depend on an external crate, which no other crate then names.
const DEPENDENCIES: [(&str, &[&str]); 18] = [
    ("gix", &["crates/edt-git", "crates/edt-testkit"]),
    ("gix-validate", &["crates/edt-git", "crates/edt-types"]),
    ("tree-sitter", &["crates/edt-lang", "crates/edt-command"]),
    ("rustix", &["crates/edt-io", "crates/edt-recorder", "crates/edt-run", "crates/edt-testkit"]),
    ("landlock", &["crates/edt-recorder", "crates/edt-run"]),
    ("seccompiler", &["crates/edt-run"]),
    ("nix", &["crates/edt-io", "crates/edt-recorder", "crates/edt-run"]),
    ("clap", &["", "crates/edt-bench"]),
    ("tokio", &["", "crates/edt-review"]),
    ("hyper", &["", "crates/edt-review"]),
    ("rmcp", &[""]),
    ("agent-client-protocol-schema", &[""]),
    ("ureq", &["crates/edt-telemetry", "crates/edt-bench"]),
    ("opentelemetry", &["crates/edt-telemetry"]),
    ("opentelemetry_sdk", &["crates/edt-telemetry"]),
    ("maud", &["crates/edt-bench", "crates/edt-review"]),
    ("ratatui-core", &["crates/edt-review"]),
    ("ratatui-crossterm", &["crates/edt-review"]),
];

/// Crates that touch the disk and start processes. Every change that edt-io makes is a step of
/// `edt_io::effect`, so that tests can let it fail; edt-run changes only its own namespaces, and
/// edt-recorder acts for programs.
const DOORS: [&str; 4] =
    ["crates/edt-io/", "crates/edt-git/", "crates/edt-recorder/", "crates/edt-run/"];

/// Files outside those crates that read the disk. This list may only shrink.
const READ_DISK: [&str; 1] = ["src/cli/user_files.rs"];

/// Files of edt-io that change files. This list may only shrink.
const CHANGE_FILES: [&str; 4] = ["disk.rs", "file.rs", "scratch.rs", "fs.rs"];

/// The file of the library that reads the environment, if the options ask for it.
const READS_ENVIRONMENT: &str = "crates/edt-io/src/environment.rs";

/// The file of the library that changes this process, if the options ask for it.
const CHANGES_PROCESS: &str = "crates/edt-io/src/platform/linux.rs";

/// Crates without access to the environment and the home directory.
const NO_ENVIRONMENT: [&str; 10] = [
    "crates/edt-io/",
    "crates/edt-git/",
    "crates/edt-types/",
    "crates/edt-edit/",
    "crates/edt-lang/",
    "crates/edt-command/",
    "crates/edt-guard/",
    "crates/edt-core/",
    "crates/edt-journal/",
    "crates/edt-memory/",
];

/// Crates that are tools of developers, for which only the length of files counts.
const TOOLS: [&str; 2] = ["crates/edt-bench/", "crates/edt-testkit/"];

/// What changes something outside the process.
const EFFECTS: [&str; 13] = [
    "fs::write(",
    "fs::copy(",
    "fs::rename(",
    "fs::hard_link(",
    "fs::remove_",
    "fs::create_dir",
    "fs::set_permissions(",
    "fs::DirBuilder",
    "fs::OpenOptions",
    "fs::File",
    "File::options",
    "OpenOptions::new",
    "std::os::unix::fs::symlink",
];

/// What changes a process for all of its code.
const PROCESS_STATE: [&str; 5] =
    ["child_subreaper(", "set_hook(", "set_current_dir(", "umask(", "setrlimit("];

/// Where calls may be that only some systems have: the door, and what is built on Linux alone.
const OF_ONE_SYSTEM: [&str; 3] =
    ["crates/edt-io/src/platform/", "crates/edt-recorder/", "crates/edt-run/src/sandbox/"];

/// Such calls.
const SYSTEM_CALLS: [&str; 12] = [
    "openat2(",
    "renameat_with(",
    "memfd_create(",
    "statx(",
    "syncfs(",
    "pidfd_open(",
    "prlimit(",
    "RawDir",
    "OFlags::PATH",
    "RUSAGE_THREAD",
    "fcntl_fullfsync",
    "format!(\"/proc/",
];

/// Longest file, in lines before its tests.
const MAX_LINES: usize = 500;

/// The rules that the text of `file` breaks, its tests excluded.
fn faults(file: &str, text: &str) -> Vec<String> {
    let code: Vec<&str> =
        text.lines().take_while(|line| !line.trim_start().starts_with("#[cfg(test)]")).collect();
    let mut faults = Vec::new();
    if code.len() > MAX_LINES {
        faults
            .push(format!("{file}: {} lines before its tests, more than {MAX_LINES}", code.len()));
    }
    let of = |crates: &[&str]| crates.iter().any(|name| file.starts_with(name));
    if of(&TOOLS) || file.ends_with("/tests.rs") {
        return faults;
    }
    let name = file.rsplit('/').next().unwrap();
    // `fs` alone may also be `edt_io::fs`.
    let imports = |line: &&str| {
        line.starts_with("use std::fs") || line.starts_with("use std::{") && line.contains("fs")
    };
    let std_fs = code.iter().any(imports);
    for (number, line) in code.iter().enumerate() {
        if line.trim_start().starts_with("//") {
            continue;
        }
        let mut fault = |what: &str| faults.push(format!("{file}:{}: {what}", number + 1));
        let has = |effect: &str| {
            line.contains(&format!("std::{effect}"))
                || (std_fs || !effect.starts_with("fs::")) && line.contains(effect)
        };
        let effects = || EFFECTS.iter().any(|effect| has(effect));
        if line.contains(".display()") {
            fault("a path in a message is `shown()`, on one line");
        }
        if !of(&OF_ONE_SYSTEM) && SYSTEM_CALLS.iter().any(|call| line.contains(call)) {
            fault("what only some systems have is in edt_io::platform");
        }
        if !of(&DOORS) && effects() {
            fault("only edt-io changes what is outside the process");
        }
        if file.starts_with("crates/edt-git/") && effects() {
            fault("edt-git changes files through edt-io");
        }
        if file.starts_with("crates/edt-io/")
            && !CHANGE_FILES.contains(&name)
            && EFFECTS.iter().any(|effect| !effect.contains("File") && has(effect))
        {
            fault("a change of a file is a step of io::effect");
        }
        if !of(&DOORS)
            && !READ_DISK.contains(&file)
            && (line.contains("std::fs") || line.contains("std::process::Command"))
        {
            fault("only edt-io, edt-git and edt-run touch the disk");
        }
        if of(&NO_ENVIRONMENT)
            && file != READS_ENVIRONMENT
            && [
                "std::env::",
                "env::var",
                "env::temp_dir",
                "env::current_dir",
                "environment::variable",
            ]
            .iter()
            .any(|name| line.contains(name))
        {
            fault("the environment is read by the program, which passes options");
        }
        if of(&NO_ENVIRONMENT)
            && file != CHANGES_PROCESS
            && PROCESS_STATE.iter().any(|name| line.contains(name))
        {
            fault("a library leaves the state of its process as it is");
        }
    }
    faults
}

/// Words of the first versions that no search finds, each with the words of the field. They are
/// whole words, in any case.
const WORDS: [(&str, &str); 24] = [
    ("settl(e|es|ed|ing|ement)", "recover"),
    ("mend(s|ed|ing)?", "fix, repair"),
    ("told|tells?|telling", "report, print, say"),
    ("stands?|stood|standing", "is, occurs, was found"),
    ("hear|hears|heard|hearing|court", "evaluate"),
    ("persons?|people", "user, users"),
    ("of edt's([.,:;)]| that|$)", "edt's"),
    ("is no (file|directory|link)", "is not a file"),
    ("folders?", "directory"),
    ("medium", "disk, stable storage"),
    ("heed(s|ed)?|perils?|leash", "obey, risk, policy"),
    ("chances?", "entropy, random"),
    ("(take|takes|taken|taking|took) back", "roll back, undo"),
    ("aside", "pending, stash, quarantine"),
    ("carr(y|ies) out|carried out", "apply"),
    ("spent", "consumed"),
    ("fates?|seats?|misfits?|twins?", "action, placement, duplicate"),
    ("beside HEAD|HEAD left alone", "not switched"),
    ("bears?|bore|borne", "has"),
    ("awaited", "untrusted"),
    ("doubts?", "uncertain"),
    ("anew|for want of|cannot be had|may be had", "again, without, is unavailable"),
    ("needs_a_person|put_back|files_in_all", "needs_user, roll_back, total_files"),
    ("(struct|enum|trait|type) (Leave|Warm|World|Caller|Look)", "a specific noun"),
];

/// Phrases in which such a word is plain English, or a name that cannot change.
const PHRASES: [&str; 13] = [
    "refused, aside, landed",
    "\"folders\"",
    "stand for",
    "stands for",
    "standing for",
    "one of edt's",
    "here is no file",
    "time spent",
    "\"aside\"",
    "/aside/",
    "\"heard\"",
    "proposals-awaited",
    "proposals-awaiting",
];

/// The old words in `text`, by line.
fn old_words(file: &str, text: &str) -> Vec<String> {
    type Rules = (RegexMatcher, Vec<(RegexMatcher, &'static str)>);
    static RULES: OnceLock<Rules> = OnceLock::new();
    let (any, rules) = RULES.get_or_init(|| {
        let matcher =
            |pattern: &str| RegexMatcher::new(&format!(r"(?i)\b({pattern})(\b|$)")).unwrap();
        let rules = WORDS.iter().map(|(pattern, instead)| (matcher(pattern), *instead)).collect();
        (matcher(&WORDS.map(|(pattern, _)| pattern).join("|")), rules)
    });
    let mut found = Vec::new();
    let suspect = |(_, line): &(usize, &str)| any.is_match(line.as_bytes()).unwrap();
    for (number, line) in text.lines().enumerate().filter(suspect) {
        let line = PHRASES.iter().fold(line.to_owned(), |line, phrase| line.replace(phrase, ""));
        for (pattern, instead) in rules {
            if let Some(at) = pattern.find(line.as_bytes()).unwrap() {
                let word = &line[at.start()..at.end()];
                found.push(format!("{file}:{}: {word:?}; write: {instead}", number + 1));
            }
        }
    }
    found
}

/// The files below `directory` whose names end with `extension`, with paths from the root.
pub(crate) fn texts(directory: &str, extension: &str, out: &mut Vec<(String, String)>) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for entry in std::fs::read_dir(root.join(directory)).into_iter().flatten() {
        let entry = entry.unwrap();
        let name = format!("{directory}/{}", entry.file_name().to_str().unwrap());
        if entry.file_type().unwrap().is_dir() {
            texts(&name, extension, out);
        } else if name.ends_with(extension) {
            out.push((name, std::fs::read_to_string(entry.path()).unwrap()));
        }
    }
}

/// The directories of all crates, from the root of the workspace.
pub(crate) fn crates() -> Vec<String> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates");
    let mut names: Vec<String> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| format!("crates/{}", entry.unwrap().file_name().to_str().unwrap()))
        .collect();
    names.sort();
    names
}

fn sources() -> Vec<(String, String)> {
    let mut all = Vec::new();
    texts("src", ".rs", &mut all);
    crates().iter().for_each(|name| texts(&format!("{name}/src"), ".rs", &mut all));
    assert!(all.len() > 100, "only {} source files were found", all.len());
    all
}

#[test]
fn every_source_file_keeps_the_rules() {
    let found: Vec<String> = sources().iter().flat_map(|(file, text)| faults(file, text)).collect();
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn every_exception_is_still_needed() {
    let all = sources();
    let uses =
        |file: &&str| all.iter().any(|(name, text)| name == file && text.contains("std::fs"));
    let stale: Vec<&&str> = READ_DISK.iter().filter(|file| !uses(file)).collect();
    assert!(stale.is_empty(), "remove these from the list: {stale:?}");
}

#[test]
fn each_external_crate_has_one_door() {
    for manifest in crates().into_iter().chain([String::new()]) {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(&manifest).join("Cargo.toml");
        let text = std::fs::read_to_string(&file).unwrap();
        let part = text.split("\n[").find(|part| part.starts_with("dependencies]")).unwrap_or("");
        for (dependency, allowed) in DEPENDENCIES {
            let named = part.lines().any(|line| {
                line.strip_prefix(dependency).is_some_and(|rest| rest.starts_with(['.', ' ', '=']))
            });
            assert!(
                !named || allowed.contains(&manifest.as_str()),
                "{manifest}: only {allowed:?} may depend on {dependency}"
            );
        }
    }
}

/// Packages and their features, as a build of the tests of `packages` has them.
fn features(packages: &[&str]) -> std::collections::BTreeSet<String> {
    let mut cargo = std::process::Command::new(env!("CARGO"));
    cargo.args(["tree", "--locked", "--offline", "--prefix=none", "--format={p} [{f}]"]);
    packages.iter().for_each(|package| {
        cargo.args(["--package", package]);
    });
    let done = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let text = String::from_utf8(done.stdout).unwrap();
    text.lines().map(|line| line.trim_end_matches(" (*)").to_owned()).collect()
}

/// Else `cargo test -p edt-core` would build dependencies again.
#[test]
fn the_features_of_edt_testkit_are_those_of_the_program() {
    let all = features(&["edt-cli", "edt-core", "edt-lang", "edt-agents"]);
    for name in ["edt-cli", "edt-guard", "edt-core", "edt-git", "edt-journal", "edt-agents"] {
        let own = features(&[name]);
        let missing: Vec<&String> = own.difference(&all).collect();
        assert_eq!(missing, Vec::<&String>::new(), "{name}: edt-testkit/Cargo.toml");
    }
}

#[test]
fn the_sources_and_documents_use_the_words_of_the_field() {
    let mut all = sources();
    texts("docs", ".md", &mut all);
    // The glossary may name a word that it replaces.
    all.retain(|(file, _)| file != "docs/dev/glossary.md");
    let found: Vec<String> = all.iter().flat_map(|(file, text)| old_words(file, text)).collect();
    assert!(found.is_empty(), "{} words\n{}", found.len(), found.join("\n"));
}

#[test]
fn the_rules_can_be_broken() {
    let broken = |file: &str, text: &str| faults(file, text).len();
    assert_eq!(broken("crates/edt-core/src/x.rs", "std::fs::read(x);\n"), 1);
    assert_eq!(broken("crates/edt-git/src/x.rs", "std::fs::read(x);\n"), 0);
    assert_eq!(broken("crates/edt-git/src/x.rs", "std::fs::write(x, y);\nFile::options();\n"), 2);
    assert_eq!(broken("crates/edt-git/src/x.rs", "use edt_io::fs;\nfs::write(x, y);\n"), 0);
    assert_eq!(broken("crates/edt-git/src/x.rs", "use std::{fs, io};\nfs::write(x, y);\n"), 1);
    assert_eq!(broken("crates/edt-run/src/x.rs", "std::fs::write(x, y);\n"), 0);
    assert_eq!(broken("crates/edt-io/src/x.rs", "std::fs::remove_file(x);\n"), 1);
    assert_eq!(broken("crates/edt-io/src/fs.rs", "std::fs::remove_file(x);\n"), 0);
    assert_eq!(broken("crates/edt-core/src/x.rs", "let x = std::env::var(\"X\");\n"), 1);
    assert_eq!(broken("crates/edt-git/src/x.rs", "let x = std::env::var_os(\"X\");\n"), 1);
    assert_eq!(broken(READS_ENVIRONMENT, "let x = std::env::var_os(\"X\");\n"), 0);
    assert_eq!(broken("crates/edt-io/src/x.rs", "let _ = set_child_subreaper(None);\n"), 1);
    assert_eq!(broken("src/cli/x.rs", "let x = std::env::var(\"X\");\n"), 0);
    assert_eq!(broken("crates/edt-io/src/x.rs", "sys::syncfs(x);\n"), 1);
    assert_eq!(broken("crates/edt-io/src/platform/linux.rs", "sys::syncfs(x);\n"), 0);
    assert_eq!(
        broken("src/cli/x.rs", "// std::fs::read(x)\n#[cfg(test)]\nmod t { std::fs::read(x); }\n"),
        0
    );
    assert_eq!(broken("src/cli/x.rs", &"\n".repeat(MAX_LINES + 1)), 1);
    assert_eq!(old_words("x", "/// What edt told the person.\n").len(), 2);
    assert_eq!(old_words("x", "The user understands that `x` stands for a standard.\n"), [""; 0]);
}
