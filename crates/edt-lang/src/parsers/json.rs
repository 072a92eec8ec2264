//! JSON: strict, one value a line, and with what editors and compilers allow in their settings.

use edt_types::RepoPath;
use edt_types::text::lines as lines_of;
use jsonc_parser::tokens::{Token, TokenAndRange};
use jsonc_parser::{CollectOptions, ParseOptions};
use serde::Deserialize as _;
use serde::de::IgnoredAny;

use crate::judgement::Rejection;

/// Reads one value (RFC 8259).
pub(crate) fn strict(text: &str, _: &RepoPath) -> Result<(), Rejection> {
    let mark = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    value(&text[mark..]).map_err(|found| Rejection { at: found.at + mark, ..found })
}

/// Reads a value in each of three lines or more: of two, one may be a mistake.
pub(crate) fn lines(text: &str, _: &RepoPath) -> Result<(), Rejection> {
    let (mut start, mut values) = (0, 0);
    for line in text.split_inclusive('\n') {
        if !line.trim_ascii().is_empty() {
            value(line).map_err(|found| Rejection { at: found.at + start, ..found })?;
            values += 1;
        }
        start += line.len();
    }
    let one = || Rejection { message: "one value".to_owned(), at: 0 };
    if values >= 3 { Ok(()) } else { Err(one()) }
}

/// Reads a value with comments.
pub(crate) fn comments(text: &str, _: &RepoPath) -> Result<(), Rejection> {
    with_comments(text, false)
}

/// Reads a value with comments, and commas behind the last value of a list or an object.
pub(crate) fn settings(text: &str, _: &RepoPath) -> Result<(), Rejection> {
    with_comments(text, true)
}

fn with_comments(text: &str, allow_trailing_commas: bool) -> Result<(), Rejection> {
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
    };
    let collect = CollectOptions { tokens: true, ..CollectOptions::default() };
    let read = jsonc_parser::parse_to_ast(text, &collect, &options).map_err(|error| Rejection {
        message: error.kind().to_string(),
        at: error.range().start,
    })?;
    // This parser lets strings have them.
    let control = |token: &TokenAndRange<'_>| {
        let is_string = matches!(token.token, Token::String(_));
        let inner = &text[token.range.start..token.range.end];
        let at = inner.find(|c: char| c < ' ').filter(|_| is_string)?;
        Some(Rejection {
            message: "control character in a string".to_owned(),
            at: token.range.start + at,
        })
    };
    read.tokens.iter().flatten().find_map(control).map_or(Ok(()), Err)
}

fn value(text: &str) -> Result<(), Rejection> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let read = IgnoredAny::deserialize(&mut reader).and_then(|_| reader.end());
    read.map_err(|error| {
        let message = error.to_string();
        let message = message.split(" at line ").next().unwrap_or_default().to_owned();
        let above = lines_of(text.as_bytes()).take(error.line().saturating_sub(1));
        let start: usize = above.map(<[u8]>::len).sum();
        Rejection { message, at: start + error.column().saturating_sub(1) }
    })
}
