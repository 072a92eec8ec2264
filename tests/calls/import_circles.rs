//! Circles of files: the compiler forbids them between crates, and this test keeps them few and
//! small inside of a crate. It reads `use` and the paths that begin with `crate` or `super`.

use std::collections::{BTreeMap, BTreeSet};

use super::source_rules::{crates, texts};

/// The most circles of the workspace. It may only shrink.
const MAX_CIRCLES: usize = 8;
/// The most files of a circle.
const MAX_FILES: usize = 3;

/// The uses of a directory below in the table of `session/mod.rs`. It may only shrink.
const BELOW: [&str; 0] = [];

/// The names from the root of the crate.
type Path = Vec<String>;

/// The words and signs of a file, without comments and tests.
fn tokens(text: &str) -> Vec<&str> {
    let code = text.split("\n#[cfg(test)]\nmod tests").next().unwrap();
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut found = Vec::new();
    for line in code.lines().map(str::trim).filter(|line| !line.starts_with("//")) {
        let mut rest = line;
        while let Some(first) = rest.chars().next() {
            let len = match first {
                ':' if rest.starts_with("::") => 2,
                _ if is_word(first) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
                _ => first.len_utf8(),
            };
            found.push(&rest[..len]);
            rest = rest[len..].trim_start();
        }
    }
    found
}

/// Adds the paths that begin at `at`, each with the name that it gets; returns where they end.
fn paths(
    tokens: &[&str],
    mut at: usize,
    above: &[String],
    found: &mut Vec<(Path, String)>,
) -> usize {
    let mut path = above.to_vec();
    while let Some(token) = tokens.get(at) {
        at += 1;
        if *token == "{" {
            while !matches!(tokens.get(at), None | Some(&"}")) {
                at = paths(tokens, at, &path, found);
                at += usize::from(tokens.get(at) == Some(&","));
            }
            return at + 1;
        }
        path.push((*token).to_owned());
        if tokens.get(at) != Some(&"::") {
            break;
        }
        at += 1;
    }
    path.pop_if(|last| last == "self");
    let renamed = tokens.get(at) == Some(&"as");
    let name = if renamed { tokens[at + 1].to_owned() } else { path.last().cloned().unwrap() };
    found.push((path, name));
    at + 2 * usize::from(renamed)
}

/// The files of one crate, and the files that each uses. Names that a file exports from another one
/// belong to the other.
fn uses(sources: &[(String, String)]) -> BTreeMap<Path, BTreeSet<Path>> {
    let module = |file: &String| -> Path {
        let mut path: Path = file.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
        path.pop_if(|last| ["lib", "main", "mod"].contains(&last.as_str()));
        path
    };
    let sources = sources.iter().filter(|(file, _)| !file.ends_with("tests.rs"));
    let files: BTreeMap<Path, &String> = sources.map(|(file, text)| (module(file), text)).collect();
    let mut names: BTreeMap<(Path, String), Path> = BTreeMap::new();
    let mut used: BTreeMap<&Path, Vec<Path>> = BTreeMap::new();
    for (file, text) in &files {
        let tokens = tokens(text);
        let mut at = 0;
        while at < tokens.len() {
            let (is_use, mut found) = (tokens[at] == "use", Vec::new());
            let begins =
                ["crate", "super"].contains(&tokens[at]) && (at == 0 || tokens[at - 1] != "::");
            let exports = is_use && at > 0 && ["pub", ")"].contains(&tokens[at - 1]);
            let is_scope = begins && tokens.get(at + 1) == Some(&"::");
            at = if is_use || is_scope {
                paths(&tokens, at + usize::from(is_use), &[], &mut found)
            } else {
                at + 1
            };
            for (path, name) in found {
                let ups = path.iter().take_while(|word| *word == "super").count();
                let from = match path[0].as_str() {
                    "crate" => path[1..].to_vec(),
                    "super" => [&file[..file.len().saturating_sub(ups)], &path[ups..]].concat(),
                    _ => [file.as_slice(), &path].concat(),
                };
                let is_own = is_scope || ups > 0 || path[0] == "crate";
                if is_own || files.contains_key(&[file.as_slice(), &path[..1]].concat()) {
                    names.insert((file.clone(), name), from.clone());
                    used.entry(file).or_default().extend((!exports).then_some(from));
                }
            }
        }
    }
    // The file that has what a path names.
    let home = |path: &Path| {
        let (mut file, mut rest) = (Path::new(), path.clone());
        for _ in 0..20 {
            let below = |len: usize| [file.as_slice(), &rest[..len]].concat();
            let len = (1..=rest.len()).take_while(|len| files.contains_key(&below(*len))).count();
            file = below(len);
            rest.drain(..len);
            let Some(first) = rest.first() else { break };
            let Some(at) = names.get(&(file.clone(), first.clone())) else { break };
            rest.splice(..1, at.iter().cloned());
            file.clear();
        }
        file
    };
    let of = |file| used.get(file).into_iter().flatten().map(home).collect();
    files.keys().map(|file| (file.clone(), of(file))).collect()
}

/// The files of one crate that use each other in circles.
fn circles(sources: &[(String, String)]) -> Vec<BTreeSet<String>> {
    let uses = uses(sources);
    let reached = |from: &Path| {
        let (mut all, mut todo) = (BTreeSet::new(), vec![from.clone()]);
        while let Some(file) = todo.pop() {
            let new = uses.get(&file).into_iter().flatten().filter(|to| **to != file);
            todo.extend(new.filter(|to| all.insert((*to).clone())).cloned().collect::<Vec<_>>());
        }
        all
    };
    let reach: BTreeMap<&Path, BTreeSet<Path>> =
        uses.keys().map(|file| (file, reached(file))).collect();
    let circle = |file: &Path| -> BTreeSet<String> {
        let others =
            reach[file].iter().filter(|to| reach.get(to).is_some_and(|r| r.contains(file)));
        others.map(|file| file.join("/")).collect()
    };
    let all: BTreeSet<BTreeSet<String>> = uses.keys().map(circle).collect();
    all.into_iter().filter(|circle| circle.len() > 1).collect()
}

/// The files below `directory`.
fn sources(directory: &str) -> Vec<(String, String)> {
    let mut sources = Vec::new();
    texts(directory, ".rs", &mut sources);
    sources.iter_mut().for_each(|(file, _)| *file = file[directory.len() + 1..].to_owned());
    sources
}

#[test]
fn circles_of_files_are_few_and_small() {
    let mut all = Vec::new();
    for name in crates().into_iter().chain([String::new()]) {
        let directory = format!("{name}/src").trim_start_matches('/').to_owned();
        for circle in circles(&sources(&directory)) {
            assert!(circle.len() <= MAX_FILES, "{directory}: {circle:?}");
            all.push((directory.clone(), circle));
        }
    }
    assert!(all.len() <= MAX_CIRCLES, "{} circles: {all:#?}", all.len());
}

#[test]
fn a_directory_of_sessions_uses_only_those_above_it_in_the_table() {
    let sources = sources("crates/edt-core/src");
    let (_, table) = sources.iter().find(|(file, _)| file == "session/mod.rs").unwrap();
    let order: Vec<&str> = table
        .lines()
        .filter_map(|line| line.strip_prefix("//! | `")?.split_once("/` |"))
        .map(|(room, _)| room)
        .collect();
    assert_eq!(order.len(), 13, "{order:?}");
    let place = |file: &Path| match &file[..] {
        [session, room, _, ..] if session == "session" => {
            Some(order.iter().position(|known| known == room).unwrap_or_else(|| panic!("{room}")))
        }
        _ => None,
    };
    let mut below = BTreeSet::new();
    for (file, used) in uses(&sources) {
        let Some(at) = place(&file) else { continue };
        for other in used.iter().filter(|other| place(other).is_some_and(|other| other > at)) {
            below.insert(format!("{} uses {}", file.join("/"), other.join("/")));
        }
    }
    assert_eq!(below, BTreeSet::from(BELOW.map(str::to_owned)));
}

#[test]
fn a_circle_is_found_through_an_export() {
    let source = |file: &str, text: &str| (file.to_owned(), text.to_owned());
    let sources = [
        source("lib.rs", "mod a;\nmod b;\nmod c;\npub use b::{B as Two, other};\n"),
        source("a.rs", "use super::c;\nfn a(b: crate::Two) {}\n"),
        source("b.rs", "// crate::c\npub struct B;\nuse crate::a::a;\n"),
        source("c/mod.rs", "struct C;\n#[cfg(test)]\nmod tests { use crate::a; }\n"),
    ];
    assert_eq!(circles(&sources), [["a", "b"].map(str::to_owned).into()]);
}
