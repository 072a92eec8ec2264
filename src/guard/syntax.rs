//! Code must not break: no edit may bring syntax errors that were not there.
//!
//! The new text is parsed first, the old one only if the new one has errors. Errors that stood there before never refuse an edit. For
//! languages with a preprocessor the text as it stands often has no tree; there, brackets are counted and trees compared in the text as
//! the preprocessor would leave it, in up to three ways of taking branches.

use std::ops::Range;

use super::{Guard, Judgement, Subject};
use crate::base::text::{line_of, lines, visible};
use crate::base::{Code, Finding};
use crate::lang::brackets::{self, Bracket};
use crate::lang::faults::{Fault, FaultKind};
use crate::lang::outline::touches;
use crate::lang::preprocessor::{Branches, Take};
use crate::lang::{Language, Parsed, Unparsed};
use crate::policy::Policy;

/// The guard `syntax`.
#[derive(Debug)]
pub struct Syntax;

/// What an edit breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Break {
    /// The place of the error in the would-be text.
    pub at: usize,
    /// What is wrong there.
    pub what: What,
    /// The bracket that has probably lost its partner.
    pub bracket: Option<Bracket>,
}

/// What is wrong at a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// Text that fits nowhere.
    Unexpected,
    /// A token of this kind is missing.
    Missing(String),
    /// A statement begins at another column than its neighbours.
    Misaligned,
    /// This bracket has no partner.
    Alone(u8),
}

impl Guard for Syntax {
    fn name(&self) -> &'static str {
        "syntax"
    }

    fn rule(&self) -> &'static str {
        "The new text has more syntax errors than the one before. C and C++: more brackets without a partner in any way of taking #if \
         branches, or more errors in every way that takes a changed line, one of them on a changed line."
    }

    fn source(&self) -> &'static str {
        "benches/guards"
    }

    // A file overwritten with a fragment has lost more than its syntax.
    fn yields_to(&self) -> &'static [&'static str] {
        &["protected_path", "size_reduction"]
    }

    fn judge(&self, subject: &Subject<'_>, _: &Policy) -> Judgement {
        match detect(subject) {
            Ok(found) => found.map(|found| explain(subject, &found)).into(),
            Err(why) => Judgement::Unchecked(format!(
                "The syntax of {} was not checked: {why}.",
                subject.path
            )),
        }
    }
}

/// What the edit breaks, if anything.
///
/// # Errors
/// Why it could not be told.
pub fn detect(subject: &Subject<'_>) -> Result<Option<Break>, Unparsed> {
    let Some(language) = subject.language().filter(|_| subject.text().is_some()) else {
        return Ok(None);
    };
    if language.preprocessor { in_branches(subject, language) } else { in_tree(subject) }
}

/// The rule for languages whose texts have a tree as they stand.
fn in_tree(subject: &Subject<'_>) -> Result<Option<Break>, Unparsed> {
    let Some(new) = subject.new_tree() else { return Ok(None) };
    let new = new.as_ref().map_err(|why| *why)?;
    let faults = new.faults();
    if faults.is_empty() {
        return Ok(None);
    }
    let old = match subject.old_tree() {
        Some(old) => Some(old.as_ref().map_err(|why| *why)?),
        None => None,
    };
    let before = old.map_or_else(Vec::new, Parsed::faults);
    if faults.len() <= before.len() {
        return Ok(None);
    }
    let after = subject.after.unwrap_or_default();
    // A fault that looks like several that the old text has is an idiom the grammar does not know.
    let is_idiom =
        |fault: &&Fault| before.iter().filter(|other| other.shape == fault.shape).count() > 1;
    let fresh = fresh(&faults, after, &before, subject.old_text());
    if fresh.iter().all(is_idiom) {
        return Ok(None);
    }
    let fresh: Vec<&Fault> = fresh.into_iter().filter(|fault| !is_idiom(fault)).collect();
    // What was sound before is judged; what never was YAML by itself is not.
    if (old.is_none() || !before.is_empty()) && is_template(subject, after) {
        return Err(Unparsed::Template);
    }
    if fresh.iter().all(|fault| is_spare_comma(subject, &after[fault.bytes.clone()])) {
        return Ok(None);
    }
    Ok(pick(subject, &fresh, after, &new.brackets()))
}

/// Whether a YAML text is a template of something else (`{{ .Values.x }}`, `{% if %}`): its errors are not its own.
fn is_template(subject: &Subject<'_>, text: &[u8]) -> bool {
    let opens = |at: usize| {
        (text[at..].starts_with(b"{{") || text[at..].starts_with(b"{%"))
            && !text[..at].ends_with(b"$")
    };
    subject.language().is_some_and(|language| language.name == "yaml")
        && memchr::memchr_iter(b'{', text).any(opens)
}

/// Whether a fault is the trailing comma that some readers of JSON allow: `tsconfig.json` and its likes.
fn is_spare_comma(subject: &Subject<'_>, fault: &[u8]) -> bool {
    let path = subject.path.to_string();
    let name = path.rsplit('/').next().unwrap_or(&path);
    let jsonc = name.rsplit('.').next() == Some("jsonc");
    let lenient = jsonc
        || name.starts_with("tsconfig")
        || name.starts_with("jsconfig")
        || path.contains(".vscode/");
    lenient && fault.trim_ascii() == b","
}

/// Faults of the new text without those of the old one, compared by what they are and hold, not by where they stand.
fn fresh<'f>(new: &'f [Fault], text: &[u8], old: &[Fault], old_text: &[u8]) -> Vec<&'f Fault> {
    let mut known: Vec<(&Fault, &[u8])> =
        old.iter().map(|fault| (fault, &old_text[fault.bytes.clone()])).collect();
    let mut fresh = Vec::new();
    for fault in new {
        let bytes = &text[fault.bytes.clone()];
        let same = |(other, held): &(&Fault, &[u8])| {
            other.kind == fault.kind && other.parent == fault.parent && *held == bytes
        };
        match known.iter().position(same) {
            Some(at) => drop(known.swap_remove(at)),
            None => fresh.push(fault),
        }
    }
    fresh
}

/// The fault to report: on a touched row if there is one, else the first.
fn pick(subject: &Subject<'_>, fresh: &[&Fault], text: &[u8], found: &[Bracket]) -> Option<Break> {
    let touched = subject.touched();
    let on_touched = |fault: &&&Fault| touches(&touched, &fault.rows);
    let small = |fault: &&&Fault| fault.rows.len() <= 3 && on_touched(fault);
    let fault =
        fresh.iter().find(small).or_else(|| fresh.iter().find(on_touched)).or(fresh.first())?;
    let bracket = lone(text, found, &touched);
    let what = match &fault.kind {
        FaultKind::Missing(kind) => What::Missing(kind.clone()),
        FaultKind::Unexpected => What::Unexpected,
        FaultKind::Misaligned => What::Misaligned,
    };
    match bracket {
        Some(bracket) if fault.rows.len() > 3 => {
            Some(Break { at: bracket.at, what: What::Alone(bracket.byte), bracket: Some(bracket) })
        }
        _ => Some(Break { at: first_word(text, &fault.bytes), what, bracket }),
    }
}

/// Past the white space that an error node may begin with.
fn first_word(text: &[u8], bytes: &Range<usize>) -> usize {
    let blank = text[bytes.clone()].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    bytes.start + if blank < bytes.len() { blank } else { 0 }
}

/// The rule for languages with a preprocessor.
fn in_branches(
    subject: &Subject<'_>,
    language: &'static Language,
) -> Result<Option<Break>, Unparsed> {
    let old = subject.past().unwrap_or_default();
    let new = subject.after.unwrap_or_default();
    let (old_branches, new_branches) = (Branches::of(old), Branches::of(new));
    if let Some(row) = new_branches.unclosed().last()
        && new_branches.unclosed().count() > old_branches.unclosed().count()
    {
        return Ok(Some(Break {
            at: subject.start_of(row),
            what: What::Missing("#endif".to_owned()),
            bracket: None,
        }));
    }
    let plain = old_branches.is_plain() && new_branches.is_plain();
    let takes = if plain { &Take::ALL[..1] } else { &Take::ALL[..] };
    for take in takes {
        let after = new_branches.variant(*take);
        let found = brackets::c_brackets(&after.text);
        let alone = brackets::unmatched(&found);
        if alone.is_empty() {
            continue;
        }
        let before = brackets::unmatched(&brackets::c_brackets(&old_branches.variant(*take).text));
        if alone.len() > before.len() {
            let bracket = lone(&after.text, &found, &subject.touched());
            return Ok(bracket.map(|bracket| Break {
                at: bracket.at,
                what: What::Alone(bracket.byte),
                bracket: Some(bracket),
            }));
        }
    }
    if let Some(bracket) = in_macros(old, new) {
        return Ok(Some(Break {
            at: bracket.at,
            what: What::Alone(bracket.byte),
            bracket: Some(bracket),
        }));
    }
    let Some(tree) = subject.new_tree() else { return Ok(None) };
    let tree = tree.as_ref().map_err(|why| *why)?;
    let touched = subject.touched();
    if !tree.has_error() || !tree.faults().iter().any(|fault| touches(&touched, &fault.rows)) {
        return Ok(None);
    }
    let mut first = None;
    for take in takes {
        let after = new_branches.variant(*take);
        if !touched.iter().any(|rows| after.is_live(rows.clone())) {
            continue;
        }
        let parsed = subject.parse(language, &after.text)?;
        let hard: Vec<Fault> =
            parsed.faults().into_iter().filter(|fault| is_hard(&after.text, fault)).collect();
        if !hard.iter().any(|fault| touches(&touched, &fault.rows)) {
            return Ok(None);
        }
        let before = old_branches.variant(*take);
        let known: Vec<Fault> = match subject.past() {
            Some(_) => subject.parse(language, &before.text)?.faults(),
            None => Vec::new(),
        };
        let known: Vec<Fault> =
            known.into_iter().filter(|fault| is_hard(&before.text, fault)).collect();
        let mut fresh = fresh(&hard, &after.text, &known, &before.text);
        fresh.retain(|fault| !known.iter().any(|other| other.shape == fault.shape));
        if hard.len() <= known.len() || !fresh.iter().any(|fault| touches(&touched, &fault.rows)) {
            return Ok(None);
        }
        first = first
            .or_else(|| pick(subject, &fresh, &after.text, &brackets::c_brackets(&after.text)));
    }
    Ok(first)
}

/// A bracket of a macro's body that has no partner, if there are more of them than before.
fn in_macros(old: &[u8], new: &[u8]) -> Option<Bracket> {
    let alone = |text| {
        brackets::c_macro_brackets(text)
            .iter()
            .flat_map(|body| brackets::unmatched(body))
            .collect::<Vec<_>>()
    };
    let found = alone(new);
    let first = *found.first()?;
    (found.len() > alone(old).len()).then_some(first)
}

/// Whether a fault is none that macros make of sound code.
fn is_hard(text: &[u8], fault: &Fault) -> bool {
    let bytes = text[fault.bytes.clone()].trim_ascii();
    if is_of_macros(text, first_word(text, &fault.bytes)) {
        return false;
    }
    match &fault.kind {
        FaultKind::Missing(_) => {
            let before = text[..fault.bytes.start].trim_ascii_end();
            !before.ends_with(b")") && !before.ends_with(b"}")
        }
        FaultKind::Misaligned => true,
        // A lone bracket is judged with the brackets.
        FaultKind::Unexpected => bytes.len() > 1 && !bytes.iter().all(|byte| is_word(*byte)),
    }
}

/// Whether the line of a place is a directive, begins with a name in capitals (`UNITTEST_STOP`, `CINIT(URL, …),`), or has one after a
/// closing parenthesis (`int f(void) PRINTF_LIKE(1);`).
fn is_of_macros(text: &[u8], at: usize) -> bool {
    let start = text[..at].iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    let end = memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |end| at + end);
    let line = text[start..end].trim_ascii();
    let capitals = |rest: &[u8]| {
        let word: Vec<u8> = rest.iter().copied().take_while(|byte| is_word(*byte)).collect();
        word.len() > 2
            && word.iter().any(u8::is_ascii_uppercase)
            && !word.iter().any(u8::is_ascii_lowercase)
    };
    let attribute = |at: usize| capitals(line[at + 1..].trim_ascii_start());
    line.starts_with(b"#") || capitals(line) || memchr::memchr_iter(b')', line).any(attribute)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// The bracket to name: one without a partner on a touched row, else the one whose partner was probably lost.
fn lone(text: &[u8], found: &[Bracket], touched: &[Range<usize>]) -> Option<Bracket> {
    let alone = brackets::unmatched(found);
    let row = |bracket: &Bracket| row_of(text, bracket.at);
    let on_touched =
        alone.iter().find(|bracket| touches(touched, &(row(bracket)..row(bracket) + 1)));
    let opening = |bracket: &&Bracket| bracket.byte == b'{';
    on_touched
        .filter(|bracket| !opening(bracket))
        .copied()
        .or_else(|| alone.iter().find(opening).and_then(|_| brackets::lost_partner(text, found)))
        .or_else(|| alone.first().copied())
}

fn row_of(text: &[u8], at: usize) -> usize {
    usize::try_from(line_of(text, at) - 1).unwrap_or_default()
}

fn explain(subject: &Subject<'_>, found: &Break) -> Finding {
    let text = subject.after.unwrap_or_default();
    let (line, column) = place(text, found.at);
    let what = match &found.what {
        What::Unexpected => format!("unexpected {}", quoted(text, found.at)),
        What::Misaligned => {
            "a statement that is indented differently from its neighbours".to_owned()
        }
        What::Missing(kind) if kind.chars().all(char::is_alphanumeric) => format!("missing {kind}"),
        What::Missing(kind) => format!("missing `{kind}`"),
        What::Alone(byte) => {
            format!(
                "`{}` has no partner `{}`",
                char::from(*byte),
                char::from(brackets::partner(*byte))
            )
        }
    };
    let bracket = found.bracket.filter(|bracket| bracket.at != found.at);
    let also = bracket.map_or_else(String::new, |bracket| {
        let (line, column) = place(text, bracket.at);
        format!(
            "; the `{}` at {line}:{column} may be the one without a partner",
            char::from(bracket.byte)
        )
    });
    let path = subject.path;
    let frame = frame(text, found.at);
    let mut finding = Finding::new(
        Code::SyntaxError,
        format!("{path}:{line}:{column}: SYNTAX_ERROR {what}{also}.\n{frame}\nNothing was changed."),
        "Correct the content and send it again; edits that only make sense together belong in one request. If the text is right, repeat \
         with allow: [\"syntax_error\"].",
    )
    .at(path)
    .with("line", line)
    .with("column", column)
    .with("frame", frame);
    if let Some(bracket) = found.bracket {
        let (line, column) = place(text, bracket.at);
        finding = finding.with(
            "bracket",
            serde_json::json!({"text": char::from(bracket.byte).to_string(), "line": line, "column": column}),
        );
    }
    finding
}

/// The 1-based line, and the 1-based column in characters.
fn place(text: &[u8], at: usize) -> (u64, u64) {
    let start = text[..at].iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    let column = String::from_utf8_lossy(&text[start..at]).chars().count() as u64 + 1;
    (row_of(text, at) as u64 + 1, column)
}

/// The word or sign at a place, quoted.
fn quoted(text: &[u8], at: usize) -> String {
    let rest = &text[at..];
    let word =
        rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
    let end = if word > 0 {
        word
    } else {
        std::str::from_utf8(rest).map_or(1, |s| s.chars().next().map_or(0, char::len_utf8))
    };
    match rest.get(..end) {
        None | Some([]) => "end of the file".to_owned(),
        Some(b"\n" | b"\r") => "end of the line".to_owned(),
        Some(word) => format!("`{}`", visible(&word[..word.len().min(40)])),
    }
}

/// The lines around a place, numbered, with a caret below it. Long lines are cut to a window around the place, and `…` says so.
fn frame(text: &[u8], at: usize) -> String {
    const WIDTH: usize = 120;
    let row = row_of(text, at);
    let (_, column) = place(text, at);
    let column = usize::try_from(column).unwrap_or(1) - 1;
    let from = if column < WIDTH { 0 } else { column - WIDTH / 2 };
    let first = row.saturating_sub(2);
    let number = (row + 2).to_string().len();
    let mut out = Vec::new();
    for (i, line) in lines(text).enumerate().skip(first).take(row + 2 - first) {
        let line = String::from_utf8_lossy(line);
        let line = line.trim_end_matches(['\n', '\r']);
        let mut shown: String = line.chars().skip(from).take(WIDTH).collect();
        let left = if from > 0 && !shown.is_empty() { "…" } else { "" };
        if line.chars().nth(from + WIDTH).is_some() {
            shown.push('…');
        }
        out.push(format!("{:>number$} | {left}{shown}", i + 1).trim_end().to_owned());
        if i == row {
            let before = shown.chars().take(column - from);
            let pad: String = before.map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
            let left = if from > 0 { " " } else { "" };
            out.push(format!("{:>number$} | {left}{pad}^", ""));
        }
    }
    out.join("\n")
}
