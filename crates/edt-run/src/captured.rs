//! The part of an output that an answer includes: its head and more of its tail.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::Serialize;

/// The most bytes of the head in an answer.
pub const HEAD: usize = 8 * 1024;
/// The most bytes of the tail. Errors are usually at the end.
pub const TAIL: usize = 24 * 1024;

/// Collects an output and keeps only its head and tail in memory.
#[derive(Debug, Default)]
pub struct OutputBuffer {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    bytes: u64,
}

/// One output stream in an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CapturedOutput {
    /// The output. If it was truncated: head and tail, with a line between them that says what was
    /// left out. Each sequence of bytes that is not UTF-8 is one U+FFFD.
    pub text: String,
    /// The total number of bytes.
    pub bytes: u64,
    /// Whether a part was left out of `text`.
    pub truncated: bool,
    /// The range of bytes that was left out; the end is exclusive.
    pub left_out: Option<[u64; 2]>,
    /// Whether all bytes in `text` are UTF-8.
    pub utf8: bool,
}

impl OutputBuffer {
    /// Appends output.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        let (head, rest) = bytes.split_at(bytes.len().min(HEAD - self.head.len()));
        self.head.extend_from_slice(head);
        // Only the end of a long piece can be kept.
        let rest = &rest[rest.len().saturating_sub(TAIL)..];
        let surplus = (self.tail.len() + rest.len()).saturating_sub(TAIL);
        self.tail.drain(..surplus);
        self.tail.extend(rest);
    }

    /// The output for an answer. `how` says how to read a range of bytes that was left out.
    #[must_use]
    pub fn output(&self, how: impl FnOnce(u64, u64) -> String) -> CapturedOutput {
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        if self.bytes == (self.head.len() + tail.len()) as u64 {
            let all = [self.head.as_slice(), &tail].concat();
            let (text, utf8) = text(&all);
            return CapturedOutput {
                text,
                bytes: self.bytes,
                truncated: false,
                left_out: None,
                utf8,
            };
        }
        let (head, tail) = (until_line(&self.head), from_line(&tail));
        let (from, to) = (head.len() as u64, self.bytes - tail.len() as u64);
        let ((before, clean), (after, clean_too)) = (text(head), text(tail));
        let start = if before.is_empty() || before.ends_with('\n') { "" } else { "\n" };
        let line = format!("{start}[edt: {} bytes left out; {}]\n", to - from, how(from, to));
        CapturedOutput {
            text: before + &line + &after,
            bytes: self.bytes,
            truncated: true,
            left_out: Some([from, to]),
            utf8: clean && clean_too,
        }
    }
}

/// `bytes` as text, and whether they are UTF-8.
#[must_use]
pub fn text(bytes: &[u8]) -> (String, bool) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (text.to_owned(), true),
        Err(_) => (String::from_utf8_lossy(bytes).into_owned(), false),
    }
}

/// The longest prefix of `bytes` that ends with a complete line, or else a complete character.
#[must_use]
pub fn until_line(bytes: &[u8]) -> &[u8] {
    if let Some(at) = memchr::memrchr(b'\n', bytes) {
        return &bytes[..=at];
    }
    let is_rest = |byte: &u8| byte & 0xC0 == 0x80;
    let rest = bytes.iter().rev().take(3).take_while(|byte| is_rest(byte)).count();
    let start = bytes.len() - rest;
    match start.checked_sub(1).map(|at| (at, bytes[at])) {
        // The first byte of an incomplete character.
        Some((at, first)) if first >= 0xC0 && first.leading_ones() as usize > rest + 1 => {
            &bytes[..at]
        }
        _ => bytes,
    }
}

/// The longest suffix of `bytes` that begins with a line, or else a character.
fn from_line(bytes: &[u8]) -> &[u8] {
    if let Some(at) = memchr::memchr(b'\n', bytes).filter(|at| at + 1 < bytes.len()) {
        return &bytes[at + 1..];
    }
    let rest = bytes.iter().take(3).take_while(|byte| **byte & 0xC0 == 0x80).count();
    &bytes[rest..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(bytes: &[u8], piece: usize) -> CapturedOutput {
        let mut buffer = OutputBuffer::default();
        bytes.chunks(piece).for_each(|piece| buffer.push(piece));
        buffer.output(|from, to| format!("see {from}:{to}"))
    }

    #[test]
    fn a_short_output_is_complete() {
        let bytes = "ä\n".repeat((HEAD + TAIL) / 3);
        for piece in [1, 7, 5000, bytes.len()] {
            let complete = CapturedOutput {
                text: bytes.clone(),
                bytes: bytes.len() as u64,
                truncated: false,
                left_out: None,
                utf8: true,
            };
            assert_eq!(of(bytes.as_bytes(), piece), complete);
        }
        assert_eq!(of(b"", 1).text, "");
        assert_eq!((of(b"a\xff", 1).text, of(b"a\xff", 1).utf8), ("a\u{fffd}".to_owned(), false));
    }

    #[test]
    fn a_truncated_output_says_what_was_left_out_and_keeps_complete_lines() {
        let lines =
            (0..20_000).fold(String::new(), |text, number| text + &format!("line {number} ä\n"));
        for piece in [1, 1000, 64 * 1024] {
            let cut = of(lines.as_bytes(), piece);
            let [from, to] = cut.left_out.unwrap();
            assert!(cut.truncated && cut.utf8 && cut.bytes == lines.len() as u64);
            let (from_at, to_at) = (usize::try_from(from).unwrap(), usize::try_from(to).unwrap());
            let line = format!("[edt: {} bytes left out; see {from}:{to}]\n", to - from);
            assert_eq!(cut.text, lines[..from_at].to_owned() + &line + &lines[to_at..]);
            assert!(
                from_at > HEAD - 20
                    && lines.len() - to_at > TAIL - 20
                    && lines[..to_at].ends_with('\n')
            );
        }
    }

    #[test]
    fn a_very_long_line_is_cut_between_characters() {
        let line = "ä€𝄞".repeat(20_000);
        let cut = of(line.as_bytes(), 999);
        assert!(cut.utf8 && cut.truncated && !cut.text.contains('\u{fffd}'));
        assert_eq!(until_line("ab€".as_bytes()), "ab€".as_bytes());
        assert_eq!(until_line(&"ab€".as_bytes()[..4]), b"ab");
    }

    #[test]
    fn the_end_of_an_output_begins_with_a_line_or_a_character() {
        assert_eq!(from_line(b"rest\nline\n"), b"line\n");
        assert_eq!(from_line(&"€b".as_bytes()[1..]), b"b");
        assert_eq!(from_line(b"only\n"), b"only\n");
    }

    #[test]
    fn bytes_that_are_not_text_are_replaced_and_reported() {
        assert_eq!(text(b"a\xff\xfeb"), ("a\u{fffd}\u{fffd}b".to_owned(), false));
        assert_eq!(text("ä".as_bytes()), ("ä".to_owned(), true));
    }
}
