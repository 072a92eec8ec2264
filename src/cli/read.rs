//! `edt read`.

use std::ffi::OsString;
use std::ops::RangeInclusive;
use std::os::unix::ffi::OsStrExt as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::context::Context;
use super::render::{DIM, paint};
use edt_core::session::PathState;
use edt_core::session::files::near_path;
use edt_edit::line_anchor;
use edt_git::Repo;
use edt_types::excerpt::{self, Excerpt, Limits, excerpt};
use edt_types::pointer::{Store, store_of};
use edt_types::text::{BOM, Endings, counted, escape_unexpected, line_count};
use edt_types::{Code, Finding, Refusal, RepoPath, Result, Status};

/// Print a file with line numbers and its blob id, which `expected_hash` takes.
#[derive(Debug, clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[command(
    after_help = "Examples:\n  edt read src/calc.c --lines 10:40\n  edt read src/calc.c --lines 1:20 --lines 300: --max-bytes 65536 --json"
)]
pub(super) struct Args {
    /// The file.
    #[serde(deserialize_with = "edt_types::text::os_string")]
    #[schemars(with = "String")]
    path: OsString,
    /// Only the lines A to B (1-based, both included); A or B may be omitted. Repeatable;
    /// overlapping ranges are shown as one.
    #[arg(long, value_name = "A:B")]
    #[serde(default)]
    lines: Vec<String>,
    /// Print the anchor of each line, such as 12:a3f4c1095e. The modes insert, `replace_lines` and
    /// `delete_lines` take anchors instead of numbers and expected text.
    #[arg(long)]
    #[serde(default)]
    anchors: bool,
    /// The maximum number of lines; the answer says where it was cut.
    #[arg(long, value_name = "N", default_value_t = MAX_LINES)]
    #[serde(default = "max_lines")]
    max_lines: u64,
    /// The maximum number of bytes; the answer says where it was cut. Only a line that is longer
    /// than this is shown in part.
    #[arg(long, value_name = "N", default_value_t = MAX_BYTES)]
    #[serde(default = "max_bytes")]
    max_bytes: usize,
}

/// The default limits.
const MAX_LINES: u64 = 2000;
const MAX_BYTES: usize = 256 * 1024;

fn max_lines() -> u64 {
    MAX_LINES
}

fn max_bytes() -> usize {
    MAX_BYTES
}

/// The answer of `edt read`. `first_line`, `last_line`, `text` and `lossy` describe the first range
/// that was asked for; `further` has the others.
#[derive(Debug, Serialize, JsonSchema)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own on the wire")]
pub(super) struct Answer {
    /// Always `edt.read/1`.
    schema: &'static str,
    /// The file.
    path: String,
    /// Its blob id, as hex.
    hash: String,
    /// Its size in bytes.
    bytes: u64,
    /// How many lines it has.
    lines: u64,
    /// `lf`, `crlf`, `mixed`, or `none` if there is no line end. An edit writes new text with the
    /// file's own line ends.
    line_endings: &'static str,
    /// Whether it begins with a byte-order mark. `text` does not include the mark, and edits keep
    /// it.
    bom: bool,
    /// Whether it ends in a line end.
    final_newline: bool,
    /// For a binary file, which has a NUL byte near its beginning: what kind it is. No line of it is
    /// shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    binary: Option<&'static str>,
    /// For a pointer, whose content is not in the worktree: the store that has it. Edits of the
    /// pointer's text are refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pointer_of: Option<Store>,
    /// The first line shown, 1-based.
    first_line: u64,
    /// The last line shown; `first_line` minus 1 if no line is shown.
    last_line: u64,
    /// The text of the lines shown.
    text: String,
    /// Whether bytes that are not UTF-8 were replaced by U+FFFD in `text`.
    lossy: bool,
    /// With `--anchors`: the anchors of these lines, in order.
    #[serde(skip_serializing_if = "Option::is_none")]
    anchors: Option<Vec<String>>,
    /// The other ranges that were asked for, in order.
    further: Vec<Part>,
    /// Whether `--max-lines` or `--max-bytes` cut the answer.
    truncated: bool,
    /// The first requested line that is not shown; read on from there.
    next_line: Option<u64>,
    /// A line that is longer than `--max-bytes`, of which only the beginning is shown.
    cut_line: Option<CutLine>,
}

/// A further range.
#[derive(Debug, Serialize, JsonSchema)]
struct Part {
    /// The first line shown, 1-based.
    first_line: u64,
    /// The last line shown.
    last_line: u64,
    /// Their text.
    text: String,
    /// With `--anchors`: their anchors, in order.
    #[serde(skip_serializing_if = "Option::is_none")]
    anchors: Option<Vec<String>>,
    /// Whether bytes that are not UTF-8 were replaced by U+FFFD.
    lossy: bool,
}

/// A line that is longer than the limit.
#[derive(Debug, Serialize, JsonSchema)]
struct CutLine {
    /// Its number, 1-based.
    line: u64,
    /// How many of its bytes are shown; no character is split.
    bytes_shown: usize,
    /// How many bytes it has.
    bytes: usize,
}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        super::value::require_positive("max_lines", self.max_lines)?;
        super::value::require_positive("max_bytes", self.max_bytes as u64)?;
        let path = context.path(self.path.as_bytes())?;
        let asked = self.asked()?;
        let (repo, _) = context.repo()?;
        let state = PathState::on_disk(&repo, &path)?;
        let disk = state.disk.ok_or_else(|| not_found(&repo, &path))?;
        let body = disk.bytes.strip_prefix(BOM).unwrap_or(&disk.bytes);
        let lines = line_count(body);
        let ranges = within(&path, &asked, lines)?;
        let first_line = ranges.first().map_or(1, |range| *range.start());
        let binary = kind_of_binary(&disk.bytes);
        let shown = if binary.is_some() { &[] } else { ranges.as_slice() };
        let part = |most: u64| {
            let bytes = usize::try_from(most).unwrap_or(usize::MAX);
            let shown = excerpt(body, shown, Limits { lines: self.max_lines, bytes });
            let Excerpt { parts, next_line, cut_line } = shown;
            let mut anchors = self.anchors.then(|| anchors_of(body, &parts).into_iter());
            let mut parts = parts.iter().map(|part| {
                let count = usize::try_from(part.last_line + 1 - part.first_line).unwrap_or(0);
                let anchors = anchors.as_mut().map(|all| all.by_ref().take(count).collect());
                Part { anchors, ..Part::of(part) }
            });
            let first = parts.next().unwrap_or_else(|| Part::empty(first_line));
            Ok(Answer {
                schema: "edt.read/1",
                path: path.text(),
                hash: disk.file.oid.to_string(),
                bytes: disk.size(),
                lines,
                line_endings: name(Endings::detect_in(body)),
                bom: body.len() < disk.bytes.len(),
                final_newline: body.ends_with(b"\n"),
                binary,
                pointer_of: store_of(&disk.bytes),
                first_line: first.first_line,
                last_line: first.last_line,
                text: first.text,
                lossy: first.lossy,
                anchors: first.anchors,
                further: parts.collect(),
                truncated: next_line.is_some() || cut_line.is_some(),
                next_line,
                cut_line: cut_line.map(CutLine::of),
            })
        };
        context.answer_part(self.max_bytes as u64, part, render_human)
    }

    /// The requested ranges. An omitted end is `u64::MAX`.
    fn asked(&self) -> Result<Vec<(&str, RangeInclusive<u64>)>> {
        let (mut asked, mut found) = (Vec::new(), Vec::new());
        for range in &self.lines {
            match parsed(range) {
                Some(parsed) => asked.push((range.as_str(), parsed)),
                None => found.push(Finding::new(
                    Code::BadRequest,
                    format!("{range:?} is not a range of lines."),
                    "Write --lines A:B with 1 ≤ A ≤ B, such as 10:40.",
                )),
            }
        }
        Refusal::check(found)?;
        Ok(asked)
    }
}

/// The finding for a file that does not exist.
pub(super) fn not_found(repo: &Repo, path: &RepoPath) -> Finding {
    let finding = Finding::new(
        Code::FileNotFound,
        format!("The file {path} does not exist."),
        "Check the path; `git ls-files` lists what is tracked.",
    );
    near_path::named(repo, finding.at(path), path)
}

fn anchors_of(body: &[u8], parts: &[excerpt::Part<'_>]) -> Vec<String> {
    let number = |line: u64| usize::try_from(line).unwrap_or(usize::MAX);
    let ranges: Vec<RangeInclusive<usize>> =
        parts.iter().map(|part| number(part.first_line)..=number(part.last_line)).collect();
    line_anchor::anchors(body, &ranges).iter().map(ToString::to_string).collect()
}

pub(super) fn parsed(range: &str) -> Option<RangeInclusive<u64>> {
    let number = |part: &str, default: u64| {
        if part.is_empty() { Some(default) } else { part.parse::<u64>().ok() }
    };
    let (first, last) = range.split_once(':').unwrap_or((range, range));
    let (first, last) = (number(first, 1)?, number(last, u64::MAX)?);
    (!range.is_empty() && 1 <= first && first <= last).then_some(first..=last)
}

/// The requested ranges in order, with overlapping and adjacent ranges merged. A range may end
/// beyond the last of `lines`, but must not begin there.
fn within(
    path: &RepoPath,
    asked: &[(&str, RangeInclusive<u64>)],
    lines: u64,
) -> Result<Vec<RangeInclusive<u64>>> {
    let beyond = asked.iter().filter(|(_, range)| *range.start() > lines.max(1));
    let found = beyond.map(|(text, range)| {
        let hint = match lines {
            0 => "The file is empty: there is nothing to read.".to_owned(),
            _ => {
                format!(
                    "Ask for lines from 1 to {lines}, such as --lines {}:{lines}.",
                    lines.saturating_sub(39).max(1)
                )
            }
        };
        let message = format!(
            "The range {text} begins beyond the end of {path}, which has {}.",
            counted(lines, "line")
        );
        Finding::new(Code::LineOutOfRange, message, hint)
            .at(path)
            .with("total_lines", lines)
            .with("first_line", *range.start())
    });
    Refusal::check(found.collect())?;
    if asked.is_empty() {
        return Ok(vec![1..=u64::MAX]);
    }
    Ok(excerpt::merged(asked.iter().map(|(_, range)| range.clone()).collect()))
}

fn name(endings: Endings) -> &'static str {
    match endings {
        Endings::None => "none",
        Endings::Lf => "lf",
        Endings::Crlf => "crlf",
        Endings::Mixed => "mixed",
    }
}

/// In how many bytes a NUL byte makes a file binary, as in Git.
const LOOKED_AT: usize = 8000;

/// What kind of binary file begins like `bytes`; `None` for text.
fn kind_of_binary(bytes: &[u8]) -> Option<&'static str> {
    const KINDS: [(&[u8], &str); 15] = [
        (b"\x89PNG\r\n", "a PNG image"),
        (b"\xff\xd8\xff", "a JPEG image"),
        (b"GIF8", "a GIF image"),
        (b"RIFF", "a RIFF file"),
        (b"\0\0\x01\0", "an icon"),
        (b"%PDF-", "a PDF document"),
        (b"PK\x03\x04", "a ZIP archive"),
        (b"\x1f\x8b", "a gzip archive"),
        (b"\x28\xb5\x2f\xfd", "a Zstandard archive"),
        (b"\x7fELF", "an ELF program"),
        (b"\0asm", "a WebAssembly module"),
        (b"SQLite format 3\0", "an SQLite database"),
        (b"\xff\xfe", "UTF-16 text"),
        (b"\xfe\xff", "UTF-16 text"),
        (b"wOF2", "a web font"),
    ];
    memchr::memchr(0, &bytes[..bytes.len().min(LOOKED_AT)])?;
    let kind = KINDS.iter().find(|(start, _)| bytes.starts_with(start));
    Some(kind.map_or("binary data", |(_, kind)| kind))
}

impl Part {
    /// No line, before the line `first_line`.
    fn empty(first_line: u64) -> Part {
        let last_line = first_line - 1;
        Part { first_line, last_line, text: String::new(), lossy: false, anchors: None }
    }

    fn of(part: &excerpt::Part<'_>) -> Part {
        let text = String::from_utf8_lossy(part.text).into_owned();
        let lossy = std::str::from_utf8(part.text).is_err();
        let (first_line, last_line) = (part.first_line, part.last_line);
        Part { first_line, last_line, text, lossy, anchors: None }
    }
}

impl CutLine {
    fn of(cut: excerpt::CutLine) -> CutLine {
        CutLine { line: cut.line, bytes_shown: cut.shown, bytes: cut.bytes }
    }
}

fn render_human(answer: &Answer) -> String {
    let mut out = format!("{}\n", paint(DIM, &head(answer)));
    let last = answer.further.last().map_or(answer.last_line, |part| part.last_line);
    let anchor_width = if answer.anchors.is_none() { 0 } else { ":a3f4c1095e".len() };
    let width = last.to_string().len() + anchor_width;
    let mut escaped = 0;
    let mut lines = |out: &mut String, first: u64, text: &str, anchors: Option<&[String]>| {
        let anchors = anchors.unwrap_or_default().iter().map(Some).chain(std::iter::repeat(None));
        for ((number, line), anchor) in (first..).zip(text.split_inclusive('\n')).zip(anchors) {
            let number = anchor.map_or_else(|| number.to_string(), String::clone);
            let ended = line.strip_suffix('\n');
            let (line, crlf) = match ended.and_then(|line| line.strip_suffix('\r')) {
                Some(line) => (line, true),
                None => (ended.unwrap_or(line), false),
            };
            let (line, changed) = escape_unexpected(line);
            let mark = if crlf && answer.line_endings == "mixed" { "␍" } else { "" };
            out.push_str(&format!("{number:>width$} | {line}{mark}\n"));
            escaped += changed;
        }
    };
    lines(&mut out, answer.first_line, &answer.text, answer.anchors.as_deref());
    for part in &answer.further {
        out.push_str(&format!("{:>width$} …\n", ""));
        lines(&mut out, part.first_line, &part.text, part.anchors.as_deref());
    }
    for note in notes(answer, escaped) {
        out.push_str(&format!("{}\n", paint(DIM, &format!("… {note}"))));
    }
    out
}

fn head(answer: &Answer) -> String {
    let mut head = format!(
        "{} {}, {}, blob {}",
        answer.path,
        counted(answer.bytes, "byte"),
        counted(answer.lines, "line"),
        answer.hash
    );
    let odd = [
        (answer.line_endings == "crlf", "CR LF line ends"),
        (answer.line_endings == "mixed", "mixed line ends (␍ marks CR LF)"),
        (answer.bom, "a byte-order mark"),
        (!answer.final_newline && answer.lines > 0, "no newline at the end"),
    ];
    odd.iter().filter(|(is, _)| *is).for_each(|(_, words)| head.push_str(&format!("; {words}")));
    head
}

/// Remarks about the text shown: cuts, encoding, escaped characters.
fn notes(answer: &Answer, escaped: usize) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(kind) = answer.binary {
        notes.push(format!("it is {kind}: its content is not shown"));
    } else if answer.lines == 0 {
        notes.push("the file has no lines".to_owned());
    }
    if let Some(store) = answer.pointer_of {
        let (name, fetch) = (store.name(), store.fetch());
        notes.push(format!("a pointer of {name}: the content is not here; `{fetch}` gets it"));
    }
    if answer.lossy || answer.further.iter().any(|part| part.lossy) {
        notes.push("not UTF-8: � replaces other bytes".to_owned());
    }
    if escaped > 0 {
        notes.push(format!(
            "{} shown as \\u{{…}}; --json prints every character unchanged",
            counted(escaped, "invisible character")
        ));
    }
    if let Some(CutLine { line, bytes_shown, bytes }) = answer.cut_line {
        notes.push(format!(
            "line {line} is cut: {bytes_shown} of {bytes} bytes are shown; --lines {line}:{line} --max-bytes {bytes} shows all at a terminal, `edt search` a part of it around a match"
        ));
    }
    if let Some(next) = answer.next_line {
        notes.push(format!("cut before line {next}: read on with --lines {next}:"));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::tests::plain;

    #[test]
    fn a_file_with_a_nul_byte_near_its_beginning_is_binary() {
        assert_eq!(kind_of_binary(b"\x89PNG\r\n\x1a\n\0\0"), Some("a PNG image"));
        assert_eq!(kind_of_binary(b"x\0"), Some("binary data"));
        assert_eq!(kind_of_binary(b"caf\xe9"), None);
        let late = [vec![b'x'; LOOKED_AT], vec![0]].concat();
        assert_eq!(kind_of_binary(&late), None);
    }

    #[test]
    fn a_range_may_omit_an_end() {
        assert_eq!(parsed("3:"), Some(3..=u64::MAX));
        assert_eq!(parsed(":3"), Some(1..=3));
        assert_eq!(parsed(":"), Some(1..=u64::MAX));
    }

    #[test]
    fn one_number_is_one_line() {
        assert_eq!(parsed("7"), Some(7..=7));
    }

    #[test]
    fn a_range_that_is_none_is_not_guessed() {
        for text in ["", "0:3", "4:3", "a:b", "1:2:3", "-1"] {
            assert_eq!(parsed(text), None, "{text}");
        }
    }

    fn path() -> RepoPath {
        RepoPath::parse(b"a.txt").unwrap()
    }

    #[test]
    fn overlapping_ranges_are_one() {
        let asked = [("5:9", 5..=9), ("1:6", 1..=6), ("20:", 20..=u64::MAX)];
        assert_eq!(within(&path(), &asked, 30), Ok(vec![1..=9, 20..=u64::MAX]));
    }

    #[test]
    fn without_a_range_everything_is_shown() {
        assert_eq!(within(&path(), &[], 0), Ok(vec![1..=u64::MAX]));
    }

    #[test]
    fn a_range_beyond_the_end_is_refused() {
        assert_eq!(
            within(&path(), &[("50:60", 50..=60)], 45),
            Err(Finding::new(
                Code::LineOutOfRange,
                "The range 50:60 begins beyond the end of a.txt, which has 45 lines.",
                "Ask for lines from 1 to 45, such as --lines 6:45."
            )
            .at(&path())
            .with("total_lines", 45)
            .with("first_line", 50)
            .into())
        );
    }

    #[test]
    fn a_range_beyond_an_empty_file_has_no_remedy_by_lines() {
        let found = within(&path(), &[("2:", 2..=u64::MAX)], 0).unwrap_err();
        assert_eq!(found.as_slice()[0].remedy, "The file is empty: there is nothing to read.");
    }

    fn answer(text: &str) -> Answer {
        Answer {
            schema: "edt.read/1",
            path: "a.txt".to_owned(),
            hash: "abc".to_owned(),
            bytes: 9,
            lines: 2,
            line_endings: "lf",
            bom: false,
            final_newline: true,
            binary: None,
            pointer_of: None,
            first_line: 9,
            last_line: 10,
            text: text.to_owned(),
            lossy: false,
            anchors: None,
            further: vec![],
            truncated: false,
            next_line: None,
            cut_line: None,
        }
    }

    #[test]
    fn lines_are_numbered_in_one_width() {
        assert_eq!(
            plain(&render_human(&answer("a\nb\n"))),
            "a.txt 9 bytes, 2 lines, blob abc\n 9 | a\n10 | b\n"
        );
    }

    #[test]
    fn a_line_end_of_the_other_kind_is_marked() {
        let answer = Answer { line_endings: "mixed", ..answer("a\r\nb\n") };
        assert_eq!(
            plain(&render_human(&answer)),
            "a.txt 9 bytes, 2 lines, blob abc; mixed line ends (␍ marks CR LF)\n 9 | a␍\n10 | b\n"
        );
    }

    #[test]
    fn further_ranges_are_set_apart() {
        let part = Part {
            first_line: 20,
            last_line: 20,
            text: "c\n".to_owned(),
            lossy: true,
            anchors: None,
        };
        let answer = Answer { further: vec![part], ..answer("a\n") };
        assert_eq!(
            plain(&render_human(&answer)),
            "a.txt 9 bytes, 2 lines, blob abc\n 9 | a\n   …\n20 | c\n… not UTF-8: � replaces other bytes\n"
        );
    }

    #[test]
    fn the_head_names_what_is_unusual_about_the_file() {
        let answer =
            Answer { line_endings: "crlf", bom: true, final_newline: false, ..answer("a") };
        assert_eq!(
            head(&answer),
            "a.txt 9 bytes, 2 lines, blob abc; CR LF line ends; a byte-order mark; no newline at the end"
        );
    }

    #[test]
    fn notes_say_how_to_read_on() {
        let cut_line = Some(CutLine { line: 3, bytes_shown: 10, bytes: 500 });
        let answer = Answer { next_line: Some(4), cut_line, ..answer("a") };
        assert_eq!(
            notes(&answer, 2),
            [
                "2 invisible characters shown as \\u{…}; --json prints every character unchanged",
                "line 3 is cut: 10 of 500 bytes are shown; --lines 3:3 --max-bytes 500 shows all at a terminal, `edt search` a part of it around a match",
                "cut before line 4: read on with --lines 4:",
            ]
        );
    }
}
