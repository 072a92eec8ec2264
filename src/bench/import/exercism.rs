//! Exercises as Exercism's tracks have them, and aider's polyglot benchmark: `LANGUAGE/exercises/practice/NAME`.

use std::path::Path;

use serde::Deserialize;

use super::{Made, Source, all, checked, date_of, id_of};
use crate::base::{Finding, Result};
use crate::bench::task::bad;
use crate::io::folder::{self, Files};

/// How each language's tests are run, in the folder of the exercise; `{test}` is the first test file.
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

/// `.meta/config.json`, as far as it is needed.
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

/// Every exercise below the folder.
pub(super) fn read(source: &Source) -> Result<Vec<Made>> {
    let date = date_of(source)?;
    let mut exercises = Vec::new();
    for language in folder::folders(&source.path) {
        let practice = source.path.join(&language).join("exercises/practice");
        exercises.extend(
            folder::folders(&practice)
                .into_iter()
                .map(|name| (language.clone(), practice.join(&name), name)),
        );
    }
    if exercises.is_empty() {
        let shown = source.path.display().to_string();
        return Err(
            bad(&shown, "the whole", "it has no folders LANGUAGE/exercises/practice/NAME").into()
        );
    }
    all(exercises.iter().map(|(language, path, name)| {
        one(source, &date, (language, path, name)).map(|made| vec![made])
    }))
}

fn one(
    source: &Source,
    date: &str,
    (language, path, name): (&str, &Path, &str),
) -> std::result::Result<Made, Finding> {
    const MOST: u64 = 64 * 1024 * 1024;
    let shown = path.display().to_string();
    let wrong = |key: &str, why: &str| bad(&shown, key, why);
    let files =
        folder::files(path, MOST).map_err(|error| wrong("the whole", &error.to_string()))?;
    let meta = files
        .get(".meta/config.json")
        .ok_or_else(|| wrong(".meta/config.json", "it is missing"))?;
    let config: Config = serde_json::from_slice(&meta.bytes)
        .map_err(|error| wrong(".meta/config.json", &error.to_string()))?;
    let Named { solution, test, example } = config.files;
    for path in solution.iter().chain(&test).chain(&example) {
        checked(path).map_err(|why| wrong("files", &why))?;
        if !files.contains_key(path) {
            return Err(wrong("files", &format!("{path} is not there")));
        }
    }
    let Some(first) = test.first() else { return Err(wrong("files.test", "there is no test")) };
    let texts = [".docs/introduction.md", ".docs/instructions.md", ".docs/instructions.append.md"];
    let texts: Vec<String> = texts
        .iter()
        .filter_map(|name| files.get(*name))
        .map(|one| String::from_utf8_lossy(&one.bytes).trim().to_owned())
        .collect();
    if texts.is_empty() {
        return Err(wrong(".docs/instructions.md", "it is missing"));
    }
    let known = COMMANDS.iter().find(|(known, _)| *known == language);
    let commands = match (source.test.as_slice(), known) {
        ([], None) => {
            return Err(wrong(
                "language",
                &format!("how {language} is tested is not known; say it with --test"),
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
            || test.iter().any(|one| one == path)
    };
    let before: Files = files
        .iter()
        .filter(|(path, _)| !hidden(path))
        .map(|(path, one)| (path.clone(), one.clone()))
        .collect();
    let tests = test.iter().map(|path| (path.clone(), files[path].clone())).collect();
    let instruction =
        format!("{}\n\nWrite the solution in {}.\n", texts.join("\n\n"), solution.join(", "));
    let id = id_of(&format!("{language}-{name}")).map_err(|why| wrong("the name", &why))?;
    let expected = solved(&before, &files, &solution, &example);
    let class = Some(language.to_owned());
    Ok(Made { id, instruction, date: date.to_owned(), class, before, expected, tests, commands })
}

/// The files with the examples in place of the stubs: each in that of the same ending. `None` if one has no place.
fn solved(before: &Files, files: &Files, solution: &[String], example: &[String]) -> Option<Files> {
    let ending = |path: &str| Path::new(path).extension().map(std::ffi::OsStr::to_owned);
    let (mut solved, mut free) = (before.clone(), solution.to_vec());
    for path in example {
        let at = free.iter().position(|one| ending(one) == ending(path))?;
        solved.insert(free.remove(at), files[path].clone());
    }
    (!example.is_empty()).then_some(solved)
}
