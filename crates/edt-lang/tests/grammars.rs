//! The languages of `grammars/`, each checked by its own samples.
//!
//! `samples/valid` parses, uses every node kind and every pattern, and repeats only what may be
//! repeated. `samples/broken` does not parse. In `samples/duplicate` one thing occurs twice; the
//! first word of the file's name says what: `definition`, `compound`, `simple` or `run` (of lines).

#![allow(
    clippy::unwrap_used,
    missing_docs,
    reason = "a test may panic, and its name is a sentence"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use edt_lang::fault::SyntaxFault;
use edt_lang::{LANGUAGES, Language};
use tree_sitter::{Node, Parser, Query, QueryCursor, StreamingIterator, Tree};

/// A sample: its name from the root of the package, its text and its tree.
struct Sample {
    name: String,
    text: String,
    tree: Tree,
}

/// Where a query matched: the pattern and the captures by name.
struct Match<'t> {
    pattern: usize,
    captures: Vec<(String, Node<'t>)>,
}

fn samples(language: &Language, kind: &str) -> Vec<Sample> {
    let directory = format!("grammars/{}/samples/{kind}", language.directory);
    let mut names: Vec<String> =
        std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(&directory))
            .unwrap_or_else(|err| panic!("{directory}: {err}"))
            .map(|entry| format!("{directory}/{}", entry.unwrap().file_name().to_str().unwrap()))
            .collect();
    names.sort();
    let mut parser = Parser::new();
    parser.set_language(&language.grammar()).unwrap();
    let mine = names.into_iter().filter(|name| edt_reads(name, language));
    mine.map(|name| {
        let text =
            std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(&name)).unwrap();
        let tree = parser.parse(&text, None).unwrap();
        Sample { name, text, tree }
    })
    .collect()
}

/// Whether the table maps the file to `language`; two languages may share a directory.
fn edt_reads(name: &str, language: &Language) -> bool {
    let path = edt_types::RepoPath::parse(name.as_bytes()).unwrap();
    let found = edt_lang::language_of(&path, b"")
        .unwrap_or_else(|| panic!("{name}: no language reads this sample"));
    assert_eq!(
        found.directory, language.directory,
        "{name}: the table maps it to another language"
    );
    found.name == language.name
}

/// The languages that share `language`'s directory: a sample of one counts for all.
fn same_directory(language: &Language) -> impl Iterator<Item = &'static Language> {
    LANGUAGES.iter().filter(|other| other.directory == language.directory)
}

fn compiled(language: &Language, which: &str, text: &str) -> Query {
    Query::new(&language.grammar(), text).unwrap_or_else(|err| {
        panic!("grammars/{}/{which}.scm, as {}: {err}", language.directory, language.name)
    })
}

fn matches<'t>(query: &Query, sample: &'t Sample) -> Vec<Match<'t>> {
    let mut cursor = QueryCursor::new();
    let mut found = cursor.matches(query, sample.tree.root_node(), sample.text.as_bytes());
    let mut all = Vec::new();
    while let Some(found) = found.next() {
        let name = |index: u32| query.capture_names()[index as usize].to_owned();
        let captures =
            found.captures().iter().map(|capture| (name(capture.index), capture.node)).collect();
        all.push(Match { pattern: found.pattern_index, captures });
    }
    all
}

fn walk(node: Node<'_>, visit: &mut dyn FnMut(Node<'_>)) {
    visit(node);
    for child in node.children(&mut node.walk()) {
        walk(child, visit);
    }
}

/// The error that the language's own parser finds, if it has one. Else the errors of the text as it
/// is, or without its idioms if that has fewer.
fn errors(language: &'static Language, sample: &Sample) -> Vec<String> {
    let path = edt_types::RepoPath::parse(sample.name.as_bytes()).unwrap();
    if let Some(judged) = language.judge(&path, sample.text.as_bytes()) {
        let found = judged.added_to(None).into_iter();
        return found.map(|found| format!("{}: {}", sample.name, found.message)).collect();
    }
    let faults = |text: &[u8]| {
        let parsed = edt_lang::parse(language, text, &|| false).unwrap();
        let error = |fault: &SyntaxFault| {
            format!("{}:{}: {:?}", sample.name, fault.rows.start + 1, fault.kind)
        };
        parsed.faults(&|| false).unwrap().iter().map(error).collect::<Vec<_>>()
    };
    let found = faults(sample.text.as_bytes());
    let rewritten = language
        .without_idioms(sample.text.as_bytes(), &|| false)
        .unwrap()
        .map(|text| faults(&text));
    rewritten.filter(|other| other.len() < found.len()).unwrap_or(found)
}

/// What two definitions must not have in common.
type Identity = (usize, String, Vec<String>, usize);

/// The definitions by identity, with the lines where they begin.
fn definitions(
    language: &Language,
    query: &Query,
    sample: &Sample,
) -> BTreeMap<Identity, BTreeSet<usize>> {
    let found = matches(query, sample);
    let of = |found: &Match<'_>, wanted: &str| -> Vec<usize> {
        found
            .captures
            .iter()
            .filter(|(name, _)| name == wanted)
            .map(|(_, node)| node.id())
            .collect()
    };
    let exempt: BTreeSet<usize> = found.iter().flat_map(|found| of(found, "exempt")).collect();
    let mut all: BTreeMap<Identity, BTreeSet<usize>> = BTreeMap::new();
    for found in &found {
        let texts = |wanted: &str| -> Vec<String> {
            let mine = found.captures.iter().filter(|(name, _)| name == wanted);
            mine.map(|(_, node)| sample.text[node.byte_range()].to_owned()).collect()
        };
        let Some((_, node)) = found.captures.iter().find(|(name, _)| name == "definition") else {
            continue;
        };
        if exempt.contains(&node.id()) {
            continue;
        }
        let mut scope = node.parent();
        while let Some(outer) = scope.filter(|scope| !language.scopes.contains(&scope.kind())) {
            scope = outer.parent();
        }
        let [name] = &texts("name")[..] else {
            panic!("{}: a definition has one @name", sample.name)
        };
        let identity =
            (found.pattern, name.clone(), texts("distinct"), scope.map_or(0, |scope| scope.id()));
        all.entry(identity).or_default().insert(node.start_byte());
    }
    all
}

fn clashes(language: &Language, query: &Query, sample: &Sample) -> Vec<String> {
    let all = definitions(language, query, sample);
    let twice = all.into_iter().filter(|(_, places)| places.len() > 1);
    let line = |byte: &usize| sample.text[..*byte].lines().count() + 1;
    twice
        .map(|((pattern, name, distinct, _), places)| {
            let lines: Vec<usize> = places.iter().map(line).collect();
            format!("{}: {name} {distinct:?} (pattern {pattern}) occurs at {lines:?}", sample.name)
        })
        .collect()
}

/// The tokens of a node without its comments. Text between children counts: some grammars have no node for the number in
/// `10px` or for the content of quotes.
fn tokens<'s>(language: &Language, node: Node<'_>, text: &'s str) -> Vec<&'s str> {
    let mut all = Vec::new();
    let mut at = node.start_byte();
    for child in node.children(&mut node.walk()) {
        all.push(text[at..child.start_byte()].trim());
        if !language.comments.contains(&child.kind()) {
            all.extend(tokens(language, child, text));
        }
        at = child.end_byte();
    }
    all.push(text[at..node.end_byte()].trim());
    all.retain(|token| !token.is_empty());
    all
}

/// Captured nodes whose next sibling has the same tokens.
fn doubled(language: &Language, query: &Query, sample: &Sample, capture: &str) -> Vec<String> {
    let nodes = matches(query, sample).into_iter().flat_map(|found| found.captures);
    let mut all = Vec::new();
    for (_, node) in nodes.filter(|(name, _)| name == capture) {
        let mut next = node.next_named_sibling();
        while let Some(after) = next.filter(|next| language.comments.contains(&next.kind())) {
            next = after.next_named_sibling();
        }
        let same = |next: Node<'_>| {
            next.kind() == node.kind()
                && tokens(language, next, &sample.text) == tokens(language, node, &sample.text)
        };
        if next.is_some_and(same) {
            let (line, kind) = (node.start_position().row + 1, node.kind());
            all.push(format!("{}:{line}: {kind} occurs twice in a row (@{capture})", sample.name));
        }
    }
    all
}

/// Runs of at least two lines and forty characters that occur twice in a row, each copy beginning in a container.
fn runs(language: &Language, sample: &Sample) -> Vec<String> {
    let numbered = sample.text.lines().enumerate().map(|(number, line)| (number, line.trim()));
    let lines: Vec<(usize, &str)> = numbered.filter(|(_, line)| !line.is_empty()).collect();
    let begins = |&(row, line): &(usize, &str)| {
        let start: usize = sample.text.split_inclusive('\n').take(row).map(str::len).sum();
        let indent = sample.text[start..].find(line).unwrap();
        let at = start + indent;
        let mut node = sample.tree.root_node().descendant_for_byte_range(at, at + 1);
        while let Some(inner) = node.filter(|inner| inner.start_byte() == at) {
            node = inner.parent();
            if node.is_some_and(|outer| language.containers.contains(&outer.kind())) {
                return true;
            }
        }
        false
    };
    let mut all = Vec::new();
    for at in 0..lines.len() {
        for length in 2..=(lines.len() - at) / 2 {
            let (once, again) = (&lines[at..at + length], &lines[at + length..at + 2 * length]);
            let same = once.iter().map(|line| line.1).eq(again.iter().map(|line| line.1));
            let long = once
                .iter()
                .map(|line| line.1.chars().filter(|c| !c.is_whitespace()).count())
                .sum::<usize>()
                >= 40;
            let alike = once.iter().all(|line| line.1 == once[0].1);
            if same && long && !alike && begins(&once[0]) && begins(&again[0]) {
                all.push(format!(
                    "{}:{}: {length} lines occur twice in a row",
                    sample.name,
                    once[0].0 + 1
                ));
            }
        }
    }
    all
}

/// The node kinds that a query names. An alternative without a sample would otherwise go unnoticed in
/// a pattern that matches.
fn named_in(query: &str) -> impl Iterator<Item = &str> {
    let code = query.lines().map(str::trim_start).filter(|line| !line.starts_with(';'));
    // A predicate follows the nodes of its line.
    let code = code.map(|line| line.split("(#").next().unwrap());
    let opened = code.flat_map(|line| line.split('(').skip(1));
    let kind =
        opened.map(|text| text.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap());
    kind.filter(|kind| {
        !["", "_"].contains(kind) && kind.starts_with(|c: char| c.is_ascii_lowercase())
    })
}

#[test]
fn the_table_has_every_language_of_the_file() {
    if !cfg!(feature = "languages") {
        return;
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("grammars/languages.toml");
    let file: toml::Table = toml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let named = file["language"]
        .as_array()
        .unwrap()
        .iter()
        .map(|language| language["name"].as_str().unwrap());
    let known: Vec<&str> = LANGUAGES.iter().map(|language| language.name).collect();
    assert_eq!(
        known,
        named.collect::<Vec<_>>(),
        "a feature is missing in Cargo.toml, or not in `languages`"
    );
}

#[test]
fn every_node_kind_exists_and_occurs_in_a_sample() {
    let mut wrong = Vec::new();
    for language in LANGUAGES {
        let mut kinds = BTreeSet::new();
        for sample in same_directory(language).flat_map(|other| samples(other, "valid")) {
            walk(sample.tree.root_node(), &mut |node| {
                kinds.insert(node.kind().to_owned());
            });
        }
        let lists = [
            language.comments,
            language.strings,
            language.scopes,
            language.defining,
            language.containers,
            language.aligned,
            language.never_empty,
        ];
        let listed = lists.into_iter().flatten().copied();
        for kind in listed.chain(named_in(language.definitions)).chain(named_in(language.blocks)) {
            if language.grammar().id_for_node_kind(kind, true) == 0 {
                wrong.push(format!("{}: the grammar has no node kind {kind}", language.name));
            } else if !kinds.contains(kind) {
                wrong.push(format!("{}: {kind} occurs in no valid sample", language.name));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn the_key_defining_lists_the_node_kinds_that_the_query_captures() {
    let mut wrong = Vec::new();
    for language in LANGUAGES {
        let mut captured = BTreeSet::new();
        for other in same_directory(language) {
            let query = compiled(other, "definitions", other.definitions);
            for sample in ["valid", "duplicate"].into_iter().flat_map(|kind| samples(other, kind)) {
                let nodes = matches(&query, &sample).into_iter().flat_map(|found| found.captures);
                captured.extend(
                    nodes
                        .filter(|(name, _)| name == "definition")
                        .map(|(_, node)| node.kind().to_owned()),
                );
            }
        }
        let listed: BTreeSet<String> =
            language.defining.iter().map(|kind| (*kind).to_owned()).collect();
        let only =
            |ours: &BTreeSet<String>, theirs: &BTreeSet<String>, what: &str| -> Vec<String> {
                ours.difference(theirs)
                    .map(|kind| format!("{}: {kind} is {what}", language.name))
                    .collect()
            };
        wrong.extend(only(
            &listed,
            &captured,
            "in `defining`, and no sample has it as @definition",
        ));
        wrong.extend(only(&captured, &listed, "a @definition, and not in `defining`"));
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn every_kind_of_error_occurs_in_a_broken_sample() {
    for language in LANGUAGES {
        let mut kinds = BTreeSet::new();
        for sample in samples(language, "broken") {
            walk(sample.tree.root_node(), &mut |node| {
                kinds.insert(node.kind().to_owned());
            });
        }
        let unseen: Vec<&&str> =
            language.errors.iter().filter(|kind| !kinds.contains(**kind)).collect();
        assert!(unseen.is_empty(), "{}: {unseen:?} in `errors`", language.name);
    }
}

#[test]
fn every_pattern_fires_on_a_valid_sample() {
    let mut wrong = Vec::new();
    for language in LANGUAGES {
        let queries = [
            (
                "definitions",
                language.definitions,
                ["definition", "name", "distinct", "exempt"].as_slice(),
            ),
            ("blocks", language.blocks, ["compound", "simple"].as_slice()),
        ];
        for (which, text, known) in queries {
            let query = compiled(language, which, text);
            let file = format!("{}: grammars/{}/{which}.scm", language.name, language.directory);
            for name in query
                .capture_names()
                .iter()
                .filter(|name| !name.starts_with('_') && !known.contains(name))
            {
                wrong.push(format!(
                    "{file}: @{name} is unknown; {known:?} are known, and names that begin with _"
                ));
            }
            let mut fired = BTreeSet::new();
            for other in same_directory(language) {
                let query = compiled(other, which, text);
                let valid = samples(other, "valid");
                fired.extend(
                    valid
                        .iter()
                        .flat_map(|sample| matches(&query, sample))
                        .map(|found| found.pattern),
                );
            }
            for pattern in (0..query.pattern_count()).filter(|pattern| !fired.contains(pattern)) {
                let source = &text
                    [query.start_byte_for_pattern(pattern)..query.end_byte_for_pattern(pattern)];
                wrong
                    .push(format!("{file}: pattern {pattern} fires on no valid sample:\n{source}"));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn valid_samples_parse_and_repeat_only_what_may_be_repeated() {
    let mut wrong = Vec::new();
    for language in LANGUAGES {
        let definitions = compiled(language, "definitions", language.definitions);
        let blocks = compiled(language, "blocks", language.blocks);
        let valid = samples(language, "valid");
        assert!(!valid.is_empty(), "{}: no valid sample", language.name);
        for sample in valid {
            wrong.extend(errors(language, &sample));
            wrong.extend(clashes(language, &definitions, &sample));
            wrong.extend(doubled(language, &blocks, &sample, "compound"));
            wrong.extend(doubled(language, &blocks, &sample, "simple"));
            wrong.extend(runs(language, &sample));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn broken_samples_do_not_parse() {
    let mut wrong = Vec::new();
    for language in LANGUAGES {
        let broken = samples(language, "broken");
        if broken.len() < 2 {
            wrong.push(format!(
                "{}: {} broken samples, fewer than two",
                language.name,
                broken.len()
            ));
        }
        let fine = broken.into_iter().filter(|sample| errors(language, sample).is_empty());
        wrong.extend(fine.map(|sample| format!("{}: parses without an error", sample.name)));
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn the_duplicate_of_a_duplicate_sample_is_found() {
    let mut wrong = Vec::new();
    for language in LANGUAGES {
        let definitions = compiled(language, "definitions", language.definitions);
        let blocks = compiled(language, "blocks", language.blocks);
        let duplicate = samples(language, "duplicate");
        if duplicate.len() < 2 {
            wrong.push(format!(
                "{}: {} duplicate samples, fewer than two",
                language.name,
                duplicate.len()
            ));
        }
        for sample in duplicate {
            let file = sample.name.rsplit('/').next().unwrap();
            let found = match file.split(['-', '.']).next().unwrap() {
                "definition" => clashes(language, &definitions, &sample),
                "run" => runs(language, &sample),
                rule @ ("compound" | "simple") => doubled(language, &blocks, &sample, rule),
                other => panic!("{}: {other} is not a rule", sample.name),
            };
            if found.len() != 1 {
                wrong.push(format!("{}: {} found, not one {found:?}", sample.name, found.len()));
            }
            if sample.tree.root_node().has_error() {
                wrong.push(format!("{}: does not parse", sample.name));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
