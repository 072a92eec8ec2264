//! Exercises in the layout of Exercism's tracks and of aider's polyglot benchmark:
//! `LANGUAGE/exercises/practice/NAME`.

use std::path::Path;

use serde::Deserialize;

use super::{ImportSource, ImportedTask, all_or_findings, date_of, id_of, valid_path};
use crate::task::bad_task;
use edt_io::directory::{self, FileTree};
use edt_types::{Finding, Result};

/// The test commands of each language, run in the exercise's directory; `{test}` is the first test
/// file.
const COMMANDS: &[(&str, &[&[&str]])] = &[
    (
        "cpp",
        &[
            &["cmake", "-DEXERCISM_RUN_ALL_TESTS=1", "-S", ".", "-B", "build"],
            &["cmake", "--build", "build"],
        ],
    ),
    ("go", &[&["go", "test", "./..."]]),
    ("java", &[&["./gradlew", "test", "--offline"]]),
    ("javascript", &[&["npm", "test"]]),
    ("python", &[&["python3", "-m", "unittest", "-q", "{test}"]]),
    ("rust", &[&["cargo", "test", "--offline", "--", "--include-ignored"]]),
];

/// The needed part of `.meta/config.json`.
#[derive(Debug, Deserialize)]
struct Config {
    files: Named,
}

#[derive(Debug, Deserialize)]
struct Named {
    solution: Vec<String>,
    test: Vec<String>,
    #[serde(default)]
    example: Vec<String>,
}

pub(super) fn read(source: &ImportSource) -> Result<Vec<ImportedTask>> {
    let date = date_of(source)?;
    let mut exercises = Vec::new();
    for language in directory::subdirectories(&source.path) {
        let practice = source.path.join(&language).join("exercises/practice");
        exercises.extend(
            directory::subdirectories(&practice)
                .into_iter()
                .map(|name| (language.clone(), practice.join(&name), name)),
        );
    }
    if exercises.is_empty() {
        let shown = source.path.display().to_string();
        return Err(bad_task(
            &shown,
            "content",
            "it has no directories LANGUAGE/exercises/practice/NAME",
        )
        .into());
    }
    all_or_findings(exercises.iter().map(|(language, path, name)| {
        task_of(source, &date, (language, path, name)).map(|task| vec![task])
    }))
}

fn task_of(
    source: &ImportSource,
    date: &str,
    (language, path, name): (&str, &Path, &str),
) -> std::result::Result<ImportedTask, Finding> {
    const MAX_BYTES: u64 = 64 * 1024 * 1024;
    let shown = path.display().to_string();
    let refusal = |key: &str, why: &str| bad_task(&shown, key, why);
    let files = directory::read_tree(path, MAX_BYTES)
        .map_err(|error| refusal("content", &error.to_string()))?;
    let meta = files
        .get(".meta/config.json")
        .ok_or_else(|| refusal(".meta/config.json", "it is missing"))?;
    let config: Config = serde_json::from_slice(&meta.bytes)
        .map_err(|error| refusal(".meta/config.json", &error.to_string()))?;
    let Named { solution, test, example } = config.files;
    for path in solution.iter().chain(&test).chain(&example) {
        valid_path(path).map_err(|why| refusal("files", &why))?;
        if !files.contains_key(path) {
            return Err(refusal("files", &format!("{path} is missing")));
        }
    }
    let Some(first) = test.first() else { return Err(refusal("files.test", "it is empty")) };
    let texts = [".docs/introduction.md", ".docs/instructions.md", ".docs/instructions.append.md"];
    let texts: Vec<String> = texts
        .iter()
        .filter_map(|name| files.get(*name))
        .map(|file| String::from_utf8_lossy(&file.bytes).trim().to_owned())
        .collect();
    if texts.is_empty() {
        return Err(refusal(".docs/instructions.md", "it is missing"));
    }
    let default = COMMANDS.iter().find(|(known, _)| *known == language);
    let commands = match (source.test.as_slice(), default) {
        ([], None) => {
            return Err(refusal(
                "language",
                &format!("there is no test command for {language}; give one with --test"),
            ));
        }
        ([], Some((_, commands))) => commands
            .iter()
            .map(|words| words.iter().map(|word| word.replace("{test}", first)).collect())
            .collect(),
        (words, _) => vec![words.iter().map(|word| word.replace("{test}", first)).collect()],
    };
    let hidden = |path: &str| {
        path.starts_with(".meta/")
            || path.starts_with(".docs/")
            || test.iter().any(|test| test == path)
    };
    let before: FileTree = files
        .iter()
        .filter(|(path, _)| !hidden(path))
        .map(|(path, content)| (path.clone(), content.clone()))
        .collect();
    let tests = test.iter().map(|path| (path.clone(), files[path].clone())).collect();
    let instruction =
        format!("{}\n\nWrite the solution in {}.\n", texts.join("\n\n"), solution.join(", "));
    let id = id_of(&format!("{language}-{name}")).map_err(|why| refusal("name", &why))?;
    let expected = solved(&before, &files, &solution, &example);
    let class = Some(language.to_owned());
    Ok(ImportedTask {
        id,
        instruction,
        date: date.to_owned(),
        class,
        before,
        expected,
        tests,
        commands,
    })
}

/// The files with each example in place of the stub that has the same extension; `None` if an
/// example has no stub.
fn solved(
    before: &FileTree,
    files: &FileTree,
    solution: &[String],
    example: &[String],
) -> Option<FileTree> {
    let ending = |path: &str| Path::new(path).extension().map(std::ffi::OsStr::to_owned);
    let (mut solved, mut free) = (before.clone(), solution.to_vec());
    for path in example {
        let at = free.iter().position(|stub| ending(stub) == ending(path))?;
        solved.insert(free.remove(at), files[path].clone());
    }
    (!example.is_empty()).then_some(solved)
}
