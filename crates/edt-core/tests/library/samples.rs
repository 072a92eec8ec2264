//! What the guards of code find in the samples of `grammars/`.

use std::collections::BTreeMap;

use edt_guard::guard::{GUARDS, GuardContext, GuardOutput, Subject};
use edt_guard::policy::Policy;
use edt_lang::LANGUAGES;
use edt_types::{Code, RepoPath};

use crate::repo::in_workspace;

/// A file of `grammars/*/samples`: its path from the root of the workspace, and its text.
struct Sample {
    name: String,
    text: String,
}

/// The samples of one kind in a directory of `grammars/`.
fn samples(directory: &str, kind: &str) -> Vec<Sample> {
    let directory = format!("grammars/{directory}/samples/{kind}");
    let mut names: Vec<String> = std::fs::read_dir(in_workspace(&directory))
        .unwrap_or_else(|error| panic!("{directory}: {error}"))
        .map(|entry| format!("{directory}/{}", entry.unwrap().file_name().to_str().unwrap()))
        .collect();
    names.sort();
    names
        .into_iter()
        .map(|name| Sample { text: std::fs::read_to_string(in_workspace(&name)).unwrap(), name })
        .collect()
}

/// Known gaps: lines of valid samples that the guard wrongly reports as duplicates.
const WRONGLY_REPORTED: [(&str, &str); 4] = [
    ("grammars/c/samples/valid/list.c", "struct node;"),
    ("grammars/go/samples/valid/store.go", "var _ Reader = Store{}"),
    ("grammars/yaml/samples/valid/workflow.yaml", "- run: make"),
    ("grammars/bash/samples/valid/build.sh", "walk \"$@\""),
];

/// The sample without the known gaps.
fn without_gaps(mut sample: Sample) -> Sample {
    for (name, line) in WRONGLY_REPORTED.iter().filter(|(name, _)| *name == sample.name) {
        let (broken, once) = (findings_of(&sample), without_repetition(&sample.text, line));
        assert!(broken.contains_key("duplicate_code"), "{name}: the gap at {line} is closed");
        sample.text = once;
    }
    sample
}

/// The text with the line once where it occurs twice in a row.
fn without_repetition(text: &str, line: &str) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let twice = |row: usize| row > 0 && lines[row].trim() == line && lines[row - 1] == lines[row];
    let kept: Vec<&str> =
        (0..lines.len()).filter(|row| !twice(*row)).map(|row| lines[row]).collect();
    assert_ne!(kept.len(), lines.len(), "{line} does not occur twice");
    kept.concat()
}

/// What the guards of code find in a sample that replaces an empty file: codes and messages by guard.
fn findings_of(sample: &Sample) -> BTreeMap<&'static str, Vec<(Code, String)>> {
    let path = RepoPath::parse(sample.name.as_bytes()).unwrap();
    let policy = Policy::of(None, None).unwrap();
    let mut found_by_guard: BTreeMap<&str, Vec<(Code, String)>> = BTreeMap::new();
    let after = Some(sample.text.as_bytes());
    let file = Subject::new(&path, None, Some(b""), after, Vec::new(), policy.time_limit);
    let context = GuardContext { policy: &policy, site: None };
    for guard in GUARDS {
        for output in guard.check(&file, &context) {
            if let GuardOutput::Unchecked { reason, .. } = &output {
                panic!("{}: {reason}", sample.name);
            }
            for finding in output.into_findings() {
                found_by_guard
                    .entry(guard.name())
                    .or_default()
                    .push((finding.code, finding.message()));
            }
        }
    }
    found_by_guard.retain(|guard, _| ["syntax", "duplicate_code"].contains(guard));
    found_by_guard
}

#[test]
fn the_guards_find_in_every_sample_what_its_directory_says() {
    let mut wrong = Vec::new();
    let directories: std::collections::BTreeSet<&str> =
        LANGUAGES.iter().map(|language| language.directory).collect();
    for directory in directories {
        for (kind, expected) in [
            ("valid", vec![]),
            ("broken", vec![("syntax", Code::SyntaxError)]),
            ("duplicate", vec![("duplicate_code", Code::DuplicateCode)]),
        ] {
            for sample in samples(directory, kind).into_iter().map(without_gaps) {
                let mut found_by_guard = findings_of(&sample);
                // A broken sample may have a duplicate, too, and a key that occurs twice is broken.
                found_by_guard.retain(|guard, _| match kind {
                    "broken" => *guard == "syntax",
                    "duplicate" => *guard == "duplicate_code",
                    _ => true,
                });
                let found = found_by_guard
                    .iter()
                    .flat_map(|(guard, all)| all.iter().map(|(code, _)| (*guard, *code)));
                if found.collect::<Vec<_>>() != expected {
                    wrong.push(format!("{}: {found_by_guard:?}, not {expected:?}", sample.name));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
