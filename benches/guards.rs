//! False alarms and recall of the guards, on a corpus that `benches/guards/run.py` builds.
//!
//! `cargo bench --bench guards -- OUT [--language L]... [--list] [--misses] [--far]`
//!
//! Every human change and every damaged text in OUT is examined as a transaction of that file
//! alone. A finding on a human change is a false alarm (`--list` prints each). Recall counts any
//! finding on a damaged text. Syntax damage counts only if the language's own parser refuses the
//! text; other damage always counts (`--misses` prints what passed, `--far` the refusals by `syntax`
//! whose line is far from the damage).

#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
#![expect(clippy::print_stdout, reason = "it prints its figures")]

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use edt_guard::guard::{
    GUARDS, GuardContext, GuardOutput, Reference, Subject, Transaction, TransactionFile,
};
use edt_guard::policy::{GuardMode, Policy};
use edt_types::RepoPath;
use serde::Deserialize;
use serde::de::DeserializeOwned;

const LANGUAGES: &[&str] = &[
    "c",
    "cpp",
    "go",
    "rust",
    "java",
    "python",
    "typescript",
    "javascript",
    "bash",
    "make",
    "css",
    "html",
    "json",
    "toml",
    "yaml",
    "prose",
];
const THREADS: usize = 2;
/// Classes that count without a parser's verdict: every such text should be refused.
const ALWAYS: &[&str] = &[
    "elided",
    "elided_heldout",
    "marker_left",
    "fence",
    "pasted_twice",
    "if_doubled",
    "function_doubled",
    "key_doubled",
    "emptied",
    "chat_line",
    "tool_tag",
    "byte_order_mark",
    "bidi",
    "ansi",
    "replaced",
    "mojibake",
    "no_break_space",
    "curly_quotes",
    "semicolon_lost",
    "body_stub",
    "body_commented",
    "tests_deleted",
];
/// The guard that judges no content: a list decides.
const PATHS: &str = "protected_path";
/// The class without damage: nothing is missing.
const NEVER: &str = "elided_nothing";

#[derive(Deserialize)]
struct Row {
    id: String,
    kind: Option<String>,
    class: Option<String>,
    path: String,
    before: Option<String>,
    after: String,
    verdict: Option<String>,
    /// The first and the last damaged line.
    lines: Option<[u64; 2]>,
    /// The other files of the commit, if this file shrinks much.
    #[serde(default)]
    others: Vec<Other>,
}

#[derive(Deserialize)]
struct Other {
    path: String,
    before: String,
    after: String,
}

#[derive(Deserialize)]
struct PeerRow {
    id: String,
    peer: String,
    refused: bool,
}

#[derive(Deserialize)]
struct Commit {
    id: String,
    files: Vec<CommitFile>,
}

#[derive(Deserialize)]
struct CommitFile {
    path: String,
    from: Option<String>,
    status: String,
    lines_before: usize,
    lines_after: usize,
}

/// The findings on one row.
struct Examined {
    id: String,
    /// `modified` or `added` for a change; the class for a mutant.
    kind: String,
    verdict: String,
    found: Vec<(&'static str, String)>,
    warned: Vec<(&'static str, String)>,
    unchecked: Vec<(&'static str, String)>,
    /// How many lines are between the damage and the line that `syntax` names.
    distance: Option<u64>,
    /// How many texts were parsed.
    parses: usize,
    took: Duration,
}

/// Whether each peer refused each row of a language: by peer, then by id.
type Peers = BTreeMap<String, HashMap<String, bool>>;

struct Args {
    out: PathBuf,
    languages: Vec<String>,
    list: bool,
    misses: bool,
    far: bool,
}

impl Args {
    fn read() -> Option<Args> {
        let mut args = Args {
            out: PathBuf::new(),
            languages: Vec::new(),
            list: false,
            misses: false,
            far: false,
        };
        let mut given = std::env::args().skip(1);
        while let Some(arg) = given.next() {
            match arg.as_str() {
                "--bench" => {}
                "--language" => args.languages.push(given.next()?),
                "--list" => args.list = true,
                "--misses" => args.misses = true,
                "--far" => args.far = true,
                _ => args.out = PathBuf::from(arg),
            }
        }
        if args.languages.is_empty() {
            args.languages = LANGUAGES.iter().map(ToString::to_string).collect();
        }
        args.out.is_dir().then_some(args)
    }
}

fn main() {
    let Some(args) = Args::read() else {
        println!(
            "usage: cargo bench --bench guards -- OUT [--language L]... [--list] [--misses] [--far]; OUT: see benches/guards/README.md"
        );
        return;
    };
    let policy = Policy::of(None, None).expect("the defaults");
    let mut changes = BTreeMap::new();
    let mut mutants = BTreeMap::new();
    let mut peers = BTreeMap::new();
    for language in &args.languages {
        let folder = args.out.join(language);
        changes.insert(language.as_str(), examined(&folder.join("changes.ndjson"), &policy));
        mutants.insert(language.as_str(), examined(&folder.join("mutants.ndjson"), &policy));
        peers.insert(language.as_str(), words_of_peers(&folder.join("peers.ndjson")));
    }
    for kind in ["modified", "added"] {
        false_alarms(kind, &changes, &peers);
    }
    if args.list {
        list(&changes);
    }
    unchecked(&changes);
    time(&changes);
    parses(&changes);
    for language in &args.languages {
        recall(language, &mutants[language.as_str()], &peers[language.as_str()]);
    }
    if args.misses {
        misses(&mutants);
    }
    summary(&mutants);
    distances(&mutants, args.far);
    whole_commits(&args, &policy);
}

/// Judges every row of the file with all guards.
fn examined(path: &Path, policy: &Policy) -> Vec<Examined> {
    let rows = Mutex::new(rows::<Row>(path));
    let next = || rows.lock().ok().and_then(|mut rows| rows.next());
    let work =
        || std::iter::from_fn(next).filter_map(|row| examine_row(row, policy)).collect::<Vec<_>>();
    let mut all: Vec<Examined> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no guard panics")).collect()
    });
    all.sort_by(|a, b| a.id.cmp(&b.id));
    all
}

/// `None` for a path that edt refuses, such as `aux.c`.
fn examine_row(row: Row, policy: &Policy) -> Option<Examined> {
    let path = RepoPath::parse(row.path.as_bytes()).ok()?;
    let begun = Instant::now();
    let others: Vec<(RepoPath, &Other)> = row
        .others
        .iter()
        .filter_map(|other| Some((RepoPath::parse(other.path.as_bytes()).ok()?, other)))
        .collect();
    let texts =
        others.iter().map(|(path, other)| (path, other.before.as_bytes(), other.after.as_bytes()));
    let transaction = Transaction::new(
        texts.map(|(path, before, after)| TransactionFile { path, before, after }).collect(),
    );
    let before = row.before.as_deref().map(str::as_bytes);
    let references: Vec<_> =
        before.map(|text| Reference { origin: "HEAD", text }).into_iter().collect();
    let after = Some(row.after.as_bytes());
    let subject = Subject::new(&path, None, before, after, references, policy.time_limit)
        .in_transaction(&transaction);
    let context = GuardContext { policy, site: None };
    let outputs: Vec<_> = GUARDS
        .iter()
        .filter(|guard| guard.name() != PATHS)
        .map(|guard| (guard.name(), guard.check(&subject, &context)))
        .collect();
    let took = begun.elapsed();
    let parses = subject.parses();
    let (mut found, mut warned, mut unchecked) = (Vec::new(), Vec::new(), Vec::new());
    let mut distance = None;
    for (guard, output) in outputs
        .into_iter()
        .flat_map(|(guard, outputs)| outputs.into_iter().map(move |output| (guard, output)))
    {
        match output {
            GuardOutput::Pass | GuardOutput::Limited { .. } => {}
            GuardOutput::Noted { message, .. } => warned.push((guard, message)),
            GuardOutput::Found { findings, .. }
                if policy.rule(guard, Some(&path)).mode == GuardMode::Warn =>
            {
                warned.extend(findings.iter().map(|one| (guard, said(one))));
            }
            GuardOutput::Found { findings, .. } => {
                if guard == "syntax" {
                    distance = row.lines.and_then(|lines| distance_to(lines, findings.first()?));
                }
                found.extend(findings.iter().map(|one| (guard, said(one))));
            }
            GuardOutput::Unchecked { reason, .. } => unchecked.push((guard, reason)),
        }
    }
    let kind = row.class.or(row.kind).unwrap_or_default();
    let verdict = row.verdict.unwrap_or_default();
    Some(Examined { id: row.id, kind, verdict, found, warned, unchecked, distance, parses, took })
}

/// How many lines are between the damaged ones and the line that a finding names.
fn distance_to([first, last]: [u64; 2], finding: &edt_types::Finding) -> Option<u64> {
    let line = finding.evidence.get("line")?.as_u64()?;
    Some(first.saturating_sub(line).max(line.saturating_sub(last)))
}

fn said(finding: &edt_types::Finding) -> String {
    format!("{}: {}", finding.code.name(), finding.message())
}

/// The rows of an ndjson file; none if the file does not exist.
fn rows<T: DeserializeOwned>(path: &Path) -> impl Iterator<Item = T> + Send + use<T> {
    let file = match File::open(path) {
        Ok(file) => Some(file),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => panic!("{}: {error}", path.display()),
    };
    let lines = file.into_iter().flat_map(|file| BufReader::new(file).lines());
    lines.map(|line| {
        serde_json::from_str(&line.expect("the file can be read")).expect("a row of the corpus")
    })
}

fn words_of_peers(path: &Path) -> Peers {
    let mut peers = Peers::new();
    for row in rows::<PeerRow>(path) {
        peers.entry(row.peer).or_default().insert(row.id, row.refused);
    }
    peers
}

fn false_alarms(
    kind: &str,
    changes: &BTreeMap<&str, Vec<Examined>>,
    peers: &BTreeMap<&str, Peers>,
) {
    let of_kind = |language: &str| {
        changes[language].iter().filter(|row| row.kind == kind).collect::<Vec<_>>()
    };
    println!("\n## False alarms per 1,000 {kind} files (how many)\n");
    header(
        "guard",
        changes.keys().map(|language| format!("{language} ({})", of_kind(language).len())),
    );
    for guard in
        GUARDS.iter().map(|guard| guard.name()).filter(|name| *name != PATHS).chain(["any"])
    {
        let cells = changes.keys().map(|language| {
            let rows = of_kind(language);
            let hit = rows
                .iter()
                .filter(|row| row.found.iter().any(|(name, _)| guard == "any" || *name == guard))
                .count();
            per_thousand(hit, rows.len())
        });
        line(guard, cells);
    }
    let warned = changes.keys().map(|language| {
        let rows = of_kind(language);
        let hit = rows.iter().filter(|row| row.found.is_empty() && !row.warned.is_empty()).count();
        per_thousand(hit, rows.len())
    });
    line("only warnings", warned);
    for peer in names(peers) {
        let cells = changes.keys().map(|language| {
            let words: Vec<_> = of_kind(language)
                .iter()
                .filter_map(|row| peers[language].get(&peer)?.get(&row.id))
                .collect();
            per_thousand(words.iter().filter(|refused| ***refused).count(), words.len())
        });
        line(&peer, cells);
    }
}

fn list(changes: &BTreeMap<&str, Vec<Examined>>) {
    println!("\n## Each false alarm\n");
    for (language, rows) in changes {
        for row in rows {
            let warned = row.warned.iter().map(|one| ("warning ", one));
            for (what, (guard, said)) in row.found.iter().map(|one| ("", one)).chain(warned) {
                println!(
                    "* {language} {what}{guard} {} `{}`: {}",
                    row.kind,
                    row.id,
                    said.replace('\n', " ")
                );
            }
        }
    }
}

fn unchecked(changes: &BTreeMap<&str, Vec<Examined>>) {
    println!("\n## Changes a guard could not judge\n");
    header("guard, why", changes.keys().map(ToString::to_string));
    let mut counts: BTreeMap<String, BTreeMap<&str, usize>> = BTreeMap::new();
    for (language, rows) in changes {
        for (guard, why) in rows.iter().flat_map(|row| &row.unchecked) {
            *counts.entry(format!("{guard}: {why}")).or_default().entry(language).or_default() += 1;
        }
    }
    for (name, by_language) in counts {
        line(
            &name,
            changes
                .keys()
                .map(|language| by_language.get(language).map_or("0".to_owned(), usize::to_string)),
        );
    }
}

fn time(changes: &BTreeMap<&str, Vec<Examined>>) {
    println!("\n## Milliseconds a change, all guards\n");
    header("", ["median", "99 %", "longest", "the longest"].map(String::from));
    for (language, rows) in changes {
        let mut times: Vec<_> = rows.iter().map(|row| (row.took, &row.id)).collect();
        times.sort();
        let Some((longest, id)) = times.last() else { continue };
        let at = |part: usize| millis(times[(times.len() * part / 100).min(times.len() - 1)].0);
        line(language, [at(50), at(99), millis(*longest), format!("`{id}`")]);
    }
}

/// The number of texts that all guards together parse for one change.
fn parses(changes: &BTreeMap<&str, Vec<Examined>>) {
    println!("\n## Parses a change, mean (most)\n");
    header("", changes.keys().map(ToString::to_string));
    for kind in ["modified", "added"] {
        let cells = changes.values().map(|rows| {
            let counts: Vec<_> =
                rows.iter().filter(|row| row.kind == kind).map(|row| row.parses).collect();
            let most = counts.iter().max().copied().unwrap_or_default();
            format!("{} ({most})", mean(counts.iter().sum(), counts.len()))
        });
        line(kind, cells);
    }
}

/// How near to the damage the line is that `syntax` names, where the language's parser rejects the
/// text, too.
fn distances(mutants: &BTreeMap<&str, Vec<Examined>>, list: bool) {
    const NEAR: u64 = 5;
    println!("\n## `syntax` names a line within {NEAR} lines of the damage (%)\n");
    header("", mutants.keys().map(ToString::to_string));
    let measured = |rows: &[Examined], class: &str| {
        let of_class = rows.iter().filter(|row| class.is_empty() || row.kind == class);
        let rejected = of_class.filter(|row| row.verdict == "rejected");
        let distances: Vec<u64> = rejected.filter_map(|row| row.distance).collect();
        let near = distances.iter().filter(|distance| **distance <= NEAR).count();
        format!("{} ({})", percent(near, distances.len()), distances.len())
    };
    line("all", mutants.values().map(|rows| measured(rows, "")));
    let classes: BTreeSet<&str> = mutants.values().flatten().map(|row| &*row.kind).collect();
    for class in classes {
        line(class, mutants.values().map(|rows| measured(rows, class)));
    }
    if !list {
        return;
    }
    for (language, rows) in mutants {
        for row in rows.iter().filter(|row| row.verdict == "rejected") {
            let said = row.found.iter().find(|(guard, _)| *guard == "syntax").map(|(_, said)| said);
            if let (Some(distance), Some(said)) = (row.distance.filter(|far| *far > NEAR), said) {
                println!("* {language} `{}` {distance}: {}", row.id, said.replace('\n', " "));
            }
        }
    }
}

/// What is caught of each class of one language, and by which guard or peer.
fn recall(language: &str, rows: &[Examined], peers: &Peers) {
    if rows.is_empty() {
        return;
    }
    let guards: Vec<_> = GUARDS
        .iter()
        .map(|guard| guard.name())
        .filter(|name| rows.iter().any(|row| row.found.iter().any(|(guard, _)| guard == name)))
        .collect();
    println!("\n## Caught of the damage, {language} (%)\n");
    let columns = ["made", "counted", "edt"]
        .into_iter()
        .chain(guards.iter().copied())
        .chain(peers.keys().map(String::as_str));
    header("class", columns.map(String::from));
    for (class, rows) in by_class(rows) {
        let counted: Vec<_> = rows.iter().copied().filter(|row| counts(row)).collect();
        let by = |guard: &str| {
            counted.iter().filter(|row| row.found.iter().any(|(name, _)| *name == guard)).count()
        };
        let any = counted.iter().filter(|row| !row.found.is_empty()).count();
        let mut cells =
            vec![rows.len().to_string(), counted.len().to_string(), percent(any, counted.len())];
        cells.extend(guards.iter().map(|guard| percent(by(guard), counted.len())));
        cells.extend(peers.values().map(|words| {
            let words: Vec<_> = counted.iter().filter_map(|row| words.get(&row.id)).collect();
            percent(words.iter().filter(|refused| ***refused).count(), words.len())
        }));
        line(&title(class), cells);
    }
}

fn misses(mutants: &BTreeMap<&str, Vec<Examined>>) {
    println!("\n## Each damage that passes, and each refusal of what is none\n");
    for (language, rows) in mutants {
        for row in
            rows.iter().filter(|row| counts(row) && row.found.is_empty() != (row.kind == NEVER))
        {
            let said: Vec<_> = row
                .found
                .iter()
                .map(|(guard, said)| format!("{guard} {}", said.replace('\n', " ")))
                .collect();
            println!("* {language} `{}` {}", row.id, said.join("; "));
        }
    }
}

/// What is caught of each class in all languages, by any guard.
fn summary(mutants: &BTreeMap<&str, Vec<Examined>>) {
    println!("\n## Caught of the damage by any guard (%)\n");
    header("class", mutants.keys().map(ToString::to_string));
    let mut classes: Vec<&str> = mutants.values().flatten().map(|row| row.kind.as_str()).collect();
    classes.sort_unstable();
    classes.dedup();
    for class in classes {
        let cells = mutants.values().map(|rows| {
            let counted: Vec<_> =
                rows.iter().filter(|row| row.kind == class && counts(row)).collect();
            percent(counted.iter().filter(|row| !row.found.is_empty()).count(), counted.len())
        });
        line(&title(class), cells);
    }
}

/// Whole human commits as one transaction each. Only the sizes of files are known, so the texts are
/// empty lines.
fn whole_commits(args: &Args, policy: &Policy) {
    let (mut commits, mut hits) = (0, Vec::new());
    for commit in rows::<Commit>(&args.out.join("commits.ndjson")) {
        commits += 1;
        hits.extend(
            judge_commit(&commit, policy)
                .into_iter()
                .map(|said| format!("* `{}` {said}", commit.id)),
        );
    }
    println!("\n## Whole commits refused per 1,000 (how many)\n");
    header("", [format!("commits ({commits})")]);
    line("transaction guards", [per_thousand(hits.len(), commits)]);
    if args.list {
        println!("\n{}", hits.join("\n"));
    }
}

fn judge_commit(commit: &Commit, policy: &Policy) -> Vec<String> {
    let path = |path: &str| RepoPath::parse(path.as_bytes()).ok();
    let files: Vec<_> = commit
        .files
        .iter()
        .filter_map(|file| Some((path(&file.path)?, file.from.as_deref().and_then(path), file)))
        .collect();
    let texts: Vec<_> = files
        .iter()
        .map(|(_, _, file)| ("\n".repeat(file.lines_before), "\n".repeat(file.lines_after)))
        .collect();
    let mut subjects = Vec::new();
    for ((path, from, file), (before, after)) in files.iter().zip(&texts) {
        let before = (file.status != "A").then_some(before.as_bytes());
        let after = (file.status != "D").then_some(after.as_bytes());
        if let Some(from) = from {
            subjects.push(Subject::new(from, None, before, None, Vec::new(), policy.time_limit));
        }
        let stood = if from.is_some() { None } else { before };
        subjects.push(Subject::new(
            path,
            from.as_ref(),
            stood,
            after,
            Vec::new(),
            policy.time_limit,
        ));
    }
    let context = GuardContext { policy, site: None };
    let outputs = GUARDS.iter().flat_map(|guard| guard.check_all(&subjects, &context));
    let all = outputs.flat_map(GuardOutput::into_findings);
    all.map(|finding| said(&finding)).collect()
}

fn by_class(rows: &[Examined]) -> BTreeMap<&str, Vec<&Examined>> {
    let mut classes: BTreeMap<&str, Vec<&Examined>> = BTreeMap::new();
    for row in rows {
        classes.entry(&row.kind).or_default().push(row);
    }
    classes
}

fn counts(row: &Examined) -> bool {
    row.verdict == "rejected" || row.kind == NEVER || ALWAYS.contains(&row.kind.as_str())
}

fn title(class: &str) -> String {
    if class == NEVER { format!("{class} (none should be)") } else { class.to_owned() }
}

fn names(peers: &BTreeMap<&str, Peers>) -> Vec<String> {
    let mut names: Vec<_> = peers.values().flat_map(|words| words.keys().cloned()).collect();
    names.sort();
    names.dedup();
    names
}

fn header(first: &str, columns: impl IntoIterator<Item = String>) {
    let columns: Vec<_> = columns.into_iter().collect();
    println!("| {first} | {} |\n|{}", columns.join(" | "), " --- |".repeat(columns.len() + 1));
}

fn line(first: &str, cells: impl IntoIterator<Item = String>) {
    println!("| {first} | {} |", cells.into_iter().collect::<Vec<_>>().join(" | "));
}

#[expect(clippy::cast_precision_loss, reason = "counts of a corpus")]
fn per_thousand(part: usize, whole: usize) -> String {
    if whole == 0 {
        "–".to_owned()
    } else {
        format!("{:.1} ({part})", part as f64 * 1000.0 / whole as f64)
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of a corpus")]
fn percent(part: usize, whole: usize) -> String {
    if whole == 0 { "–".to_owned() } else { format!("{:.0}", part as f64 * 100.0 / whole as f64) }
}

#[expect(clippy::cast_precision_loss, reason = "counts of a corpus")]
fn mean(sum: usize, count: usize) -> String {
    if count == 0 { "–".to_owned() } else { format!("{:.2}", sum as f64 / count as f64) }
}

fn millis(time: Duration) -> String {
    format!("{:.1}", time.as_secs_f64() * 1000.0)
}
