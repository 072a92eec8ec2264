//! The signs of Rust that are outside comments, strings and characters. Every edition splits a text
//! into tokens in this way, also within macros.

/// The places of some signs in a text, in order.
pub(crate) struct Signs<'t> {
    text: &'t [u8],
    at: usize,
    wanted: &'static [u8],
}

impl<'t> Signs<'t> {
    /// Of quotes, only those are found that directly follow a word: they begin no lifetime.
    pub(crate) fn of(text: &'t [u8], wanted: &'static [u8]) -> Signs<'t> {
        // `#!/usr/bin/env run` is no attribute.
        let script = text.starts_with(b"#!") && !text.starts_with(b"#![");
        let at = if script { past(text, b"\n") } else { 0 };
        Signs { text, at, wanted }
    }
}

impl Iterator for Signs<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        loop {
            let stops = |byte: &u8| b"/\"'".contains(byte) || self.wanted.contains(byte);
            self.at += self.text.get(self.at..)?.iter().position(stops)?;
            let (before, rest) = self.text.split_at(self.at);
            let length = match rest[0] {
                b'/' if rest.starts_with(b"//") => past(rest, b"\n"),
                b'/' if rest.starts_with(b"/*") => comment_length(rest),
                b'"' => string_length(before, rest),
                b'\'' => character_length(rest),
                _ => 0,
            };
            let found = self.at;
            self.at += length.max(1);
            let after_word = || before.last().is_some_and(|byte| super::idioms::is_word(*byte));
            if length == 0 && self.wanted.contains(&rest[0]) && (rest[0] != b'\'' || after_word()) {
                return Some(found);
            }
        }
    }
}

/// The length of a text up to the end of the first `end`.
fn past(text: &[u8], end: &[u8]) -> usize {
    memchr::memmem::find(text, end).map_or(text.len(), |at| at + end.len())
}

/// The length of the comment at the start of a text. Comments nest.
fn comment_length(text: &[u8]) -> usize {
    let (mut at, mut depth) = (2, 1_usize);
    while depth > 0 {
        let Some(found) = text[at..].windows(2).position(|pair| matches!(pair, b"/*" | b"*/"))
        else {
            return text.len();
        };
        at += found + 2;
        depth = if text[at - 1] == b'*' { depth + 1 } else { depth - 1 };
    }
    at
}

/// The length of the string at the start of `rest`, which is a raw one if `before` says so.
fn string_length(before: &[u8], rest: &[u8]) -> usize {
    let hashes = before.iter().rev().take_while(|byte| **byte == b'#').count();
    let prefix = &before[..before.len() - hashes];
    if prefix.ends_with(b"r") {
        let end: Vec<u8> = std::iter::once(b'"').chain(std::iter::repeat_n(b'#', hashes)).collect();
        return 1 + past(&rest[1..], &end);
    }
    let mut at = 1;
    while let Some(found) = rest.get(at..).and_then(|text| memchr::memchr2(b'"', b'\\', text)) {
        at += found + 1;
        if rest[at - 1] == b'"' {
            return at;
        }
        at += 1;
    }
    rest.len()
}

/// The length of the character at the start of a text; 0 for a lifetime.
fn character_length(text: &[u8]) -> usize {
    if text.starts_with(b"'\\") && text.len() > 3 {
        return 3 + past(&text[3..], b"'");
    }
    let last = text.iter().skip(2).take(4).position(|byte| byte & 0xc0 != 0x80).map(|at| at + 2);
    last.filter(|last| text[*last] == b'\'').map_or(0, |last| last + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signs(text: &str) -> String {
        Signs::of(text.as_bytes(), b"(){}'").map(|at| char::from(text.as_bytes()[at])).collect()
    }

    #[test]
    fn signs_in_comments_strings_and_characters_are_not_found() {
        for (text, found) in [
            ("a(b) {}", "(){}"),
            ("// (\n) /* ( /* ) */ { */ }", ")}"),
            ("\"(\\\"(\" ( r\"\\\" ) br##\"(\"# (\"## }", "()}"),
            ("'(' '\\'' b'{' 'é' '\\u{7d}' <'a>(&'b c)", "()"),
            ("#!/bin/a (\n)", ")"),
            ("#![a(b)]", "()"),
            ("a! { Here's b }", "{'}"),
            ("/* (", ""),
            ("\"(", ""),
            ("'", ""),
            ("'\\", ""),
        ] {
            assert_eq!(signs(text), found, "{text}");
        }
    }
}
