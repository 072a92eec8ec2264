//! A syntax error that an edit adds: what is reported, and where.

use std::collections::HashMap;
use std::ops::Range;

use super::subject::Subject;
use edt_lang::brackets::{self, Bracket};
use edt_lang::fault::{SyntaxFault, SyntaxFaultKind};
use edt_lang::outline::touches;
use edt_types::text::line_of;

/// A syntax error that an edit adds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxBreak {
    /// The byte offset of the error in the new text.
    pub at: usize,
    /// The kind of the error.
    pub what: BreakKind,
    /// The bracket that has probably lost its partner.
    pub bracket: Option<Bracket>,
    /// Whether every dialect of the language rejects it. Otherwise it is a warning.
    pub certain: bool,
    /// The byte offset of the change that leads to it, if the error itself is elsewhere.
    pub cause: Option<usize>,
}

/// The kind of a syntax error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BreakKind {
    /// Text that the grammar does not allow there.
    Unexpected,
    /// A token of this kind is missing.
    Missing(String),
    /// A statement is indented differently from its neighbours.
    Misaligned,
    /// This bracket has no partner.
    Unmatched(u8),
    /// The text is valid up to this line, and not with it.
    WrongPlace,
    /// These rows do not parse together (0-based, end excluded).
    Region(Range<usize>),
    /// What the language's own reader rejects, as a noun phrase.
    Rule(&'static str),
    /// The message of the language's own parser.
    Said(String),
}

impl SyntaxBreak {
    pub(super) fn unmatched(bracket: Bracket) -> SyntaxBreak {
        SyntaxBreak {
            at: bracket.at,
            what: BreakKind::Unmatched(bracket.byte),
            bracket: Some(bracket),
            certain: true,
            cause: None,
        }
    }
}

/// The faults of the new text without those of the old one, compared by kind and text, not by
/// place.
pub(super) fn fresh<'f>(
    new: &'f [SyntaxFault],
    text: &[u8],
    old: &[SyntaxFault],
    old_text: &[u8],
) -> Vec<&'f SyntaxFault> {
    let mut counts: HashMap<_, usize> = HashMap::new();
    for fault in old {
        let key = (&fault.kind, fault.parent.as_str(), &old_text[fault.bytes.clone()]);
        *counts.entry(key).or_default() += 1;
    }
    let mut fresh = Vec::new();
    for fault in new {
        let key = (&fault.kind, fault.parent.as_str(), &text[fault.bytes.clone()]);
        match counts.get_mut(&key).filter(|count| **count > 0) {
            Some(count) => *count -= 1,
            None => fresh.push(fault),
        }
    }
    fresh
}

/// The fault to report: on a touched row if there is one, else the first.
pub(super) fn pick(
    subject: &Subject<'_>,
    fresh: &[&SyntaxFault],
    text: &[u8],
    found: &[Bracket],
) -> Option<SyntaxBreak> {
    let touched = subject.touched();
    let on_touched = |fault: &&&SyntaxFault| touches(&touched, &fault.rows);
    let small = |fault: &&&SyntaxFault| fault.rows.len() <= 3 && on_touched(fault);
    let fault =
        fresh.iter().find(small).or_else(|| fresh.iter().find(on_touched)).or(fresh.first())?;
    let bracket = suspicious_bracket(subject, text, found);
    let what = match &fault.kind {
        SyntaxFaultKind::Missing(kind) => BreakKind::Missing(kind.clone()),
        SyntaxFaultKind::Unexpected => BreakKind::Unexpected,
        SyntaxFaultKind::Misaligned => BreakKind::Misaligned,
        SyntaxFaultKind::Rule(problem) => {
            let at = fault.bytes.start;
            return Some(SyntaxBreak {
                at,
                what: BreakKind::Rule(problem),
                bracket: None,
                certain: true,
                cause: None,
            });
        }
    };
    match bracket {
        Some(bracket) if fault.rows.len() > 3 => Some(SyntaxBreak::unmatched(bracket)),
        _ => {
            let at = first_word(text, &fault.bytes);
            let large = fault.rows.len() > 3 && what == BreakKind::Unexpected;
            let what = if large { BreakKind::Region(fault.rows.clone()) } else { what };
            Some(SyntaxBreak { at, what, bracket, certain: true, cause: None })
        }
    }
}

/// The bracket that has probably lost its partner, if the text has more of its kind.
pub(super) fn suspicious_bracket(
    subject: &Subject<'_>,
    text: &[u8],
    found: &[Bracket],
) -> Option<Bracket> {
    // In a shell, a pattern of `case` ends with a parenthesis.
    let shell = subject.language().is_some_and(|language| language.name == "bash");
    let exceeds =
        |bracket: &Bracket| exceeds(text, bracket.byte) && !(shell && bracket.byte == b')');
    unmatched_bracket(text, found, &subject.touched()).filter(exceeds)
}

/// Whether a text has more brackets of a kind than of its partner. In a tree with errors, a bracket
/// may look alone that is not.
fn exceeds(text: &[u8], byte: u8) -> bool {
    let count = |byte| memchr::memchr_iter(byte, text).count();
    count(byte) > count(brackets::partner(byte))
}

/// The start of an error node, without the white space that it may begin with.
pub(super) fn first_word(text: &[u8], bytes: &Range<usize>) -> usize {
    let blank = text[bytes.clone()].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    bytes.start + if blank < bytes.len() { blank } else { 0 }
}

/// The bracket to report: one without a partner on a touched row, else the one whose partner was
/// probably lost.
pub(super) fn unmatched_bracket(
    text: &[u8],
    found: &[Bracket],
    touched: &[Range<usize>],
) -> Option<Bracket> {
    let alone = brackets::unmatched(found);
    let row = |bracket: &Bracket| row_of(text, bracket.at);
    let on_touched =
        alone.iter().find(|bracket| touches(touched, &(row(bracket)..row(bracket) + 1)));
    let opening = |bracket: &&Bracket| bracket.byte == b'{';
    on_touched
        .filter(|bracket| !opening(bracket))
        .copied()
        .or_else(|| alone.iter().find(opening).and_then(|_| brackets::likely_unclosed(text, found)))
        .or_else(|| alone.first().copied())
}

pub(super) fn row_of(text: &[u8], at: usize) -> usize {
    usize::try_from(line_of(text, at) - 1).unwrap_or_default()
}
