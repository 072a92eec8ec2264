//! A change as bytes: what is replaced by what. Bytes outside the splices are identical by construction.

use std::ops::Range;

use crate::base::text::{BOM, Endings};

/// One replacement in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Splice {
    /// The bytes that go.
    pub at: Range<usize>,
    /// The bytes that come.
    pub with: Vec<u8>,
}

/// `text` with `splices` applied; they are in order and do not overlap.
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

/// `content` added to the end of `text`: in its line ends, after a newline that `text` lacks, and ending in a newline if
/// `text` did.
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

/// `content` in place of the whole of `text`: in its line ends and with its byte-order mark.
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
    fn append_puts_the_newline_between_and_keeps_the_last_one() {
        assert_eq!(appended(b"a\n", b"b\n"), b"a\nb\n");
        assert_eq!(appended(b"a", b"b\n"), b"a\nb\n");
        assert_eq!(appended(b"a\n", b"b"), b"a\nb\n");
        assert_eq!(appended(b"a", b"b"), b"a\nb");
        assert_eq!(appended(b"", b"b"), b"b");
        assert_eq!(appended(b"a", b""), b"a");
    }

    #[test]
    fn line_ends_and_byte_order_mark_are_the_files_own() {
        assert_eq!(appended(b"a\r\n", b"b\nc"), b"a\r\nb\r\nc\r\n");
        assert_eq!(overwritten(b"a\r\nb\r\n", b"c\nd\n"), b"c\r\nd\r\n");
        assert_eq!(overwritten(b"a\n", b"c\r\n"), b"c\n");
        assert_eq!(overwritten(b"\xef\xbb\xbfa\n", b"b\n"), b"\xef\xbb\xbfb\n");
        assert_eq!(overwritten(b"\xef\xbb\xbfa\n", b"\xef\xbb\xbfb\n"), b"\xef\xbb\xbfb\n");
    }
}
