//! `edt search`.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::context::Context;
use super::render::{DIM, NAME, paint};
use crate::find::lines::{self, PatternOptions, ResultKind, SkippedCounts};
use crate::find::{SearchLimits, SearchQuery, SearchResult, Selection};
use edt_git::files::ListScope;
use edt_types::text::{counted, escape_unexpected};
use edt_types::{Code, Finding, RepoPath, Result, Status};

/// Search the files of the worktree for lines that match a regular expression. The answer is
/// ordered by path.
///
/// Searches tracked and new files, including hidden ones. Skips files that Git or a `.ignore` file
/// ignores, binary files, and symbolic links.
#[derive(Debug, clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[command(
    after_help = "Examples:\n  edt search 'fn \\w+_path' src --glob '*.rs' --context 2\n  edt search --fixed 'a[0]' --files"
)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(super) struct Args {
    /// The regular expression (Rust's syntax), matched line by line.
    pattern: String,
    /// Only these files and the files below these directories.
    #[serde(default)]
    paths: Vec<String>,
    /// The pattern is text, not a regular expression.
    #[arg(short = 'F', long)]
    #[serde(default)]
    fixed: bool,
    /// Ignore case.
    #[arg(short, long)]
    #[serde(default)]
    ignore_case: bool,
    /// Ignore case unless the pattern has an upper-case letter.
    #[arg(short = 'S', long)]
    #[serde(default)]
    smart_case: bool,
    /// Match only whole words.
    #[arg(short, long)]
    #[serde(default)]
    word: bool,
    /// Only files that match: '*.rs' (a name in any directory), 'src/**/*.c' (a path), '!*.lock'
    /// (excluded). Repeatable.
    #[arg(short, long, value_name = "GLOB")]
    #[serde(default)]
    glob: Vec<String>,
    /// Also files that are ignored.
    #[arg(long)]
    #[serde(default)]
    ignored: bool,
    /// List only the files with a match, each with the number of matching lines.
    #[arg(short = 'l', long)]
    #[serde(default)]
    files: bool,
    /// Show N lines before and after each match, at most 50.
    #[arg(long, value_name = "N", default_value_t = 0)]
    #[serde(default)]
    context: u64,
    /// The maximum number of matching lines (or names); the answer says when it was cut.
    #[arg(short, long, value_name = "N", default_value_t = most_matches())]
    #[serde(default = "most_matches")]
    max_matches: u64,
    /// Skip the first N, to continue where the last answer was cut.
    #[arg(long, value_name = "N", default_value_t = 0)]
    #[serde(default)]
    skip: u64,
    /// The maximum number of bytes of each line, around the match; the answer says when a line was
    /// cut.
    #[arg(long, value_name = "N", default_value_t = most_columns())]
    #[serde(default = "most_columns")]
    max_columns: u64,
    /// The maximum number of bytes of all lines together; the answer says when it was cut.
    #[arg(long, value_name = "N", default_value_t = most_bytes())]
    #[serde(default = "most_bytes")]
    max_bytes: u64,
}

const fn most_matches() -> u64 {
    200
}

const fn most_columns() -> u64 {
    500
}

const fn most_bytes() -> u64 {
    64 * 1024
}

/// The most lines of context.
const MAX_CONTEXT: u64 = 50;

/// The answer of `edt search`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Answer {
    /// Always `edt.search/1`.
    schema: &'static str,
    /// The matching lines, by path and line; empty if only names were asked for.
    matches: Vec<Match>,
    /// The files that match, by path, if only names were asked for.
    files: Vec<File>,
    /// Whether there is more than is shown: matches, or a part of a line.
    truncated: bool,
    /// The `skip` with which to go on; null if every match is shown.
    next_skip: Option<u64>,
    /// The totals.
    total: Total,
    /// What was not searched.
    skipped: Skipped,
    /// The paths asked for of which nothing was searched, because all there is ignored, or nothing
    /// is there.
    unlisted: Vec<String>,
}

/// A matching line.
#[derive(Debug, Serialize, JsonSchema)]
struct Match {
    /// The file.
    path: String,
    /// The line, 1-based.
    line: u64,
    /// Where the first match in the line begins: in bytes, 1-based.
    column: u64,
    /// The line without its end, or the part of it that is shown.
    text: String,
    /// Whether bytes of the path, of `text` or of the lines around it that are not UTF-8 were
    /// replaced by U+FFFD.
    lossy: bool,
    /// Which part of the line is shown; null if all of it.
    cut: Option<Cut>,
    /// The lines before it that no other match shows, if `context` asks for them.
    before: Vec<Around>,
    /// The lines after it that no other match shows.
    after: Vec<Around>,
}

/// The part of a line that is shown.
#[derive(Debug, Serialize, JsonSchema)]
struct Cut {
    /// Where the part begins: in bytes, 1-based.
    column: u64,
    /// How many bytes the line has.
    bytes: u64,
}

/// A line before or after a match.
#[derive(Debug, Serialize, JsonSchema)]
struct Around {
    /// Its number, 1-based.
    line: u64,
    /// Its text, or the beginning of it.
    text: String,
    /// Which part of the line is shown; null if all of it.
    cut: Option<Cut>,
}

/// A file with matches.
#[derive(Debug, Serialize, JsonSchema)]
struct File {
    /// The file.
    path: String,
    /// Whether bytes of the path that are not UTF-8 were replaced by U+FFFD.
    lossy: bool,
    /// How many of its lines match.
    matches: u64,
}

/// The totals of a search.
#[derive(Debug, Serialize, JsonSchema)]
struct Total {
    /// Matching lines.
    matches: u64,
    /// Files with a match.
    files: u64,
    /// Files that were searched.
    searched: u64,
    /// Files that were not searched, because counting beyond the matches shown took too long. If it
    /// is not 0, the other figures are minimums.
    not_counted: u64,
}

/// Files that were not searched, by reason.
#[derive(Debug, Serialize, JsonSchema)]
struct Skipped {
    /// They contain a NUL byte.
    binary: u64,
    /// They are larger than edt's limit.
    too_large: u64,
    /// The system refused to read them.
    unreadable: u64,
    /// They are symbolic links.
    links: u64,
    /// They are submodules, or other repositories in the worktree.
    repositories: u64,
}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        super::value::require_positive("max_matches", self.max_matches)?;
        let options = PatternOptions {
            fixed: self.fixed,
            ignore_case: self.ignore_case,
            smart_case: self.smart_case,
            word: self.word,
        };
        let query = SearchQuery::parse(&self.pattern, options)?;
        if self.context > MAX_CONTEXT {
            let message =
                format!("--context is {}; the maximum is {MAX_CONTEXT} lines.", self.context);
            return Err(Finding::new(
                Code::BadRequest,
                message,
                "`edt read --lines A:B` shows more of a file.",
            )
            .into());
        }
        let which = if self.ignored { ListScope::All } else { ListScope::NotIgnored };
        let below = context.paths_or_all(self.paths.iter().map(String::as_bytes))?;
        let selection = Selection::new(below, &self.glob, which)?;
        let (repo, _) = context.repo()?;
        let selected = selection.searched(&repo)?;
        let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let limits = SearchLimits {
            skip: self.skip,
            matches: self.max_matches,
            columns: size(self.max_columns),
            bytes: size(self.max_bytes),
            context: size(self.context),
        };
        let wanted = if self.files { ResultKind::Names } else { ResultKind::Lines };
        let found = query.search(&repo, &selected.files, &limits, wanted);
        let shown = found.hits.len().max(found.files.len()) as u64;
        let part = |most| Ok(self.answer(&found, &selected.unlisted, size(most)));
        context.answer_part(shown, part, render_human)
    }

    /// The answer with at most `most` matches or files.
    fn answer(&self, found: &SearchResult, unlisted: &[RepoPath], most: usize) -> Answer {
        let shown = if self.files { found.files.len() } else { found.hits.len() };
        let shown = shown.min(most) as u64;
        let all = if self.files { found.matching_files } else { found.lines };
        let next = self.skip.saturating_add(shown);
        let matches: Vec<Match> = found.hits.iter().take(most).map(Match::of).collect();
        let cut = |one: &Match| {
            one.cut.is_some() || one.before.iter().chain(&one.after).any(|line| line.cut.is_some())
        };
        Answer {
            schema: "edt.search/1",
            truncated: next < all || matches.iter().any(cut),
            next_skip: (next < all).then_some(next),
            matches,
            files: found.files.iter().take(most).map(File::of).collect(),
            total: Total {
                matches: found.lines,
                files: found.matching_files,
                searched: found.searched,
                not_counted: found.not_counted,
            },
            skipped: Skipped::of(found.passed),
            unlisted: unlisted.iter().map(RepoPath::text).collect(),
        }
    }
}

fn is_lossy(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err()
}

impl Match {
    fn of(hit: &lines::Hit) -> Match {
        let around = |lines: &[lines::TextLine]| lines.iter().map(Around::of).collect();
        let mut texts =
            hit.before.iter().chain(&hit.after).chain([&hit.line]).map(|line| &line.text);
        Match {
            path: hit.path.text(),
            line: hit.line.number,
            column: hit.column as u64,
            text: String::from_utf8_lossy(&hit.line.text).into_owned(),
            lossy: is_lossy(hit.path.as_bytes()) || texts.any(|text| is_lossy(text)),
            cut: Cut::of(&hit.line),
            before: around(&hit.before),
            after: around(&hit.after),
        }
    }
}

impl Around {
    fn of(line: &lines::TextLine) -> Around {
        Around {
            line: line.number,
            text: String::from_utf8_lossy(&line.text).into_owned(),
            cut: Cut::of(line),
        }
    }
}

impl Cut {
    fn of(line: &lines::TextLine) -> Option<Cut> {
        (line.text.len() < line.bytes)
            .then_some(Cut { column: line.from as u64, bytes: line.bytes as u64 })
    }
}

impl File {
    fn of((path, matches): &(RepoPath, u64)) -> File {
        File { path: path.text(), lossy: is_lossy(path.as_bytes()), matches: *matches }
    }
}

impl Skipped {
    fn of(passed: SkippedCounts) -> Skipped {
        let SkippedCounts { binary, too_large, unreadable, links, repositories } = passed;
        Skipped { binary, too_large, unreadable, links, repositories }
    }
}

fn render_human(answer: &Answer) -> String {
    let mut out = String::new();
    let mut escaped = 0;
    let mut shown = |text: &str| {
        let (text, changed) = escape_unexpected(text);
        escaped += changed;
        text
    };
    let mut last: Option<(&str, u64)> = None;
    for one in &answer.matches {
        let first = one.before.first().map_or(one.line, |line| line.line);
        let apart = last.is_some_and(|(path, line)| path != one.path || line + 1 < first);
        if apart && answer.matches.iter().any(|one| !one.before.is_empty() || !one.after.is_empty())
        {
            let _ = writeln!(out, "{}", paint(DIM, "--"));
        }
        let path = shown(&one.path);
        for line in &one.before {
            let _ = writeln!(out, "{path}-{}- {}", line.line, shown(&line.text));
        }
        let cut = one.cut.as_ref().map_or_else(String::new, |cut| {
            paint(DIM, &format!(" … a part from byte {} of {}", cut.column, cut.bytes))
        });
        let _ = writeln!(
            out,
            "{}:{}:{}: {}{cut}",
            paint(NAME, &path),
            one.line,
            one.column,
            shown(&one.text)
        );
        for line in &one.after {
            let _ = writeln!(out, "{path}-{}- {}", line.line, shown(&line.text));
        }
        last = Some((&one.path, one.after.last().map_or(one.line, |line| line.line)));
    }
    for file in &answer.files {
        let _ = writeln!(
            out,
            "{} {}",
            paint(NAME, &shown(&file.path)),
            paint(DIM, &file.matches.to_string())
        );
    }
    for note in notes(answer, escaped) {
        let _ = writeln!(out, "{}", paint(DIM, &format!("… {note}")));
    }
    out
}

/// Remarks about the result: counts, cuts, skipped files, encoding.
fn notes(answer: &Answer, escaped: usize) -> Vec<String> {
    let (total, skipped) = (&answer.total, &answer.skipped);
    let mut notes = Vec::new();
    let at_least = if total.not_counted > 0 { "at least " } else { "" };
    notes.push(format!(
        "{at_least}{} in {} of {}",
        counted(total.matches, "matching line"),
        total.files,
        counted(total.searched, "file")
    ));
    if let Some(next) = answer.next_skip {
        notes.push(format!(
            "more: continue with --skip {next}, or restrict the search with paths or --glob"
        ));
    }
    if total.not_counted > 0 {
        notes.push(format!(
            "counting stopped early: {} not searched",
            counted(total.not_counted, "file")
        ));
    }
    let passed = [
        (skipped.binary, "binary"),
        (skipped.too_large, "too large"),
        (skipped.unreadable, "unreadable"),
        (skipped.links, "links"),
        (skipped.repositories, "other repositories"),
    ];
    let passed: Vec<String> = passed
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    if !passed.is_empty() {
        notes.push(format!("not searched: {}", passed.join(", ")));
    }
    for path in &answer.unlisted {
        notes.push(format!("{path} is ignored or empty: --ignored searches it"));
    }
    if answer.matches.iter().any(|one| one.lossy) || answer.files.iter().any(|one| one.lossy) {
        notes.push("not UTF-8: � replaces other bytes".to_owned());
    }
    if escaped > 0 {
        notes.push(format!("{} shown as \\u{{…}}", counted(escaped, "invisible character")));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::tests::plain;

    fn answer(matches: Vec<Match>) -> Answer {
        Answer {
            schema: "edt.search/1",
            matches,
            files: vec![],
            truncated: false,
            next_skip: None,
            total: Total { matches: 3, files: 2, searched: 9, not_counted: 0 },
            skipped: Skipped { binary: 0, too_large: 0, unreadable: 0, links: 0, repositories: 0 },
            unlisted: vec![],
        }
    }

    fn found(path: &str, line: u64, around: bool) -> Match {
        let near = |line: u64| {
            if around { vec![Around { line, text: "x".into(), cut: None }] } else { vec![] }
        };
        Match {
            path: path.to_owned(),
            line,
            column: 2,
            text: "a\u{1b}b".to_owned(),
            lossy: false,
            cut: None,
            before: near(line - 1),
            after: near(line + 1),
        }
    }

    #[test]
    fn a_match_has_its_path_line_and_column() {
        assert_eq!(
            plain(&render_human(&answer(vec![found("a.txt", 7, false)]))),
            "a.txt:7:2: a\\u{1b}b\n… 3 matching lines in 2 of 9 files\n… 1 invisible character shown as \
         \\u{…}\n"
        );
    }

    #[test]
    fn matches_with_context_are_set_apart_where_lines_are_missing() {
        let answer = answer(vec![found("a", 5, true), found("a", 8, true), found("b", 5, true)]);
        let text = plain(&render_human(&answer));
        let lines: Vec<&str> =
            text.lines().take(11).map(|line| line.split(' ').next().unwrap()).collect();
        assert_eq!(
            lines,
            [
                "a-4-", "a:5:2:", "a-6-", "a-7-", "a:8:2:", "a-9-", "--", "b-4-", "b:5:2:", "b-6-",
                "…"
            ]
        );
    }

    #[test]
    fn a_part_of_a_line_names_where_it_begins() {
        let mut one = found("a", 1, false);
        one.cut = Some(Cut { column: 100, bytes: 900 });
        let text = plain(&render_human(&answer(vec![one])));
        assert!(text.starts_with("a:1:2: a\\u{1b}b … a part from byte 100 of 900\n"), "{text}");
    }

    #[test]
    fn counting_that_stopped_early_gives_minimums() {
        let mut answer = answer(vec![]);
        answer.total.not_counted = 4;
        answer.next_skip = Some(200);
        answer.skipped.binary = 2;
        answer.skipped.links = 1;
        answer.unlisted = vec!["build".to_owned()];
        assert_eq!(
            notes(&answer, 0),
            [
                "at least 3 matching lines in 2 of 9 files",
                "more: continue with --skip 200, or restrict the search with paths or --glob",
                "counting stopped early: 4 files not searched",
                "not searched: 2 binary, 1 links",
                "build is ignored or empty: --ignored searches it",
            ]
        );
    }

    #[test]
    fn names_are_listed_with_their_counts() {
        let file = File { path: "a.txt".to_owned(), lossy: true, matches: 3 };
        let answer = Answer { files: vec![file], ..answer(vec![]) };
        assert_eq!(
            plain(&render_human(&answer)),
            "a.txt 3\n… 3 matching lines in 2 of 9 files\n… not UTF-8: � replaces other bytes\n"
        );
    }
}
