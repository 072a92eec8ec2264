//! A change as byte replacements. Bytes outside the splices stay identical by construction.

use std::ops::Range;

use edt_types::text::{BOM, Endings};

/// One replacement in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Splice {
    /// The bytes to replace.
    pub at: Range<usize>,
    /// The new bytes.
    pub with: Vec<u8>,
}

/// `text` with `splices` applied. The splices must be in order and must not overlap.
#[must_use]
pub fn apply(text: &[u8], splices: &[Splice]) -> Vec<u8> {
    let grown: usize = splices.iter().map(|splice| splice.with.len()).sum();
    let mut out = Vec::with_capacity(text.len() + grown);
    let mut from = 0;
    for splice in splices {
        out.extend_from_slice(&text[from..splice.at.start]);
        out.extend_from_slice(&splice.with);
        from = splice.at.end;
    }
    out.extend_from_slice(&text[from..]);
    out
}

/// Appends `content` to `text` with the line endings of `text`. Adds the newline that `text` lacks;
/// the result ends in a newline if `text` did.
#[must_use]
pub fn append(text: &[u8], content: &[u8]) -> Splice {
    let endings = Endings::of(text);
    let newline: &[u8] = if endings == Endings::Crlf { b"\r\n" } else { b"\n" };
    let mut with = Vec::new();
    let body = text.strip_prefix(BOM).unwrap_or(text);
    if !body.is_empty() && !body.ends_with(b"\n") && !content.is_empty() {
        with.extend_from_slice(newline);
    }
    with.extend_from_slice(&endings.convert(content));
    if !content.is_empty() && body.ends_with(b"\n") && !content.ends_with(b"\n") {
        with.extend_from_slice(newline);
    }
    Splice { at: text.len()..text.len(), with }
}

/// Replaces all of `text` with `content`, with the line endings and the byte-order mark of `text`.
#[must_use]
pub fn overwrite(text: &[u8], content: &[u8]) -> Splice {
    let mut with = Vec::new();
    if text.starts_with(BOM) && !content.starts_with(BOM) {
        with.extend_from_slice(BOM);
    }
    with.extend_from_slice(&Endings::of(text).convert(content));
    Splice { at: 0..text.len(), with }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn appended(text: &[u8], content: &[u8]) -> Vec<u8> {
        apply(text, &[append(text, content)])
    }

    fn overwritten(text: &[u8], content: &[u8]) -> Vec<u8> {
        apply(text, &[overwrite(text, content)])
    }

    #[test]
    fn append_adds_the_missing_newline_and_keeps_the_final_one() {
        assert_eq!(appended(b"a\n", b"b\n"), b"a\nb\n");
        assert_eq!(appended(b"a", b"b\n"), b"a\nb\n");
        assert_eq!(appended(b"a\n", b"b"), b"a\nb\n");
        assert_eq!(appended(b"a", b"b"), b"a\nb");
        assert_eq!(appended(b"", b"b"), b"b");
        assert_eq!(appended(b"a", b""), b"a");
    }

    #[test]
    fn line_endings_and_byte_order_mark_of_the_file_are_kept() {
        assert_eq!(appended(b"a\r\n", b"b\nc"), b"a\r\nb\r\nc\r\n");
        assert_eq!(overwritten(b"a\r\nb\r\n", b"c\nd\n"), b"c\r\nd\r\n");
        assert_eq!(overwritten(b"a\n", b"c\r\n"), b"c\n");
        assert_eq!(overwritten(b"\xef\xbb\xbfa\n", b"b\n"), b"\xef\xbb\xbfb\n");
        assert_eq!(overwritten(b"\xef\xbb\xbfa\n", b"\xef\xbb\xbfb\n"), b"\xef\xbb\xbfb\n");
    }
}
