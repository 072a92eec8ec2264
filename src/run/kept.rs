//! What is kept of an output for the answer: its head and more of its tail. Pure.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::Serialize;

/// How many bytes of an output's head an answer has, at most.
pub const HEAD: usize = 8 * 1024;
/// How many bytes of its tail: what went wrong stands at the end.
pub const TAIL: usize = 24 * 1024;

/// An output as it comes, of which only head and tail stay in memory.
#[derive(Debug, Default)]
pub struct Kept {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    bytes: u64,
}

/// One output in an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Output {
    /// What was written. Where it was cut, head and tail with a line between that says what was left out; where bytes are not UTF-8,
    /// each stretch of them is one U+FFFD.
    pub text: String,
    /// How many bytes were written in all.
    pub bytes: u64,
    /// Whether something was left out of `text`.
    pub truncated: bool,
    /// The bytes that were left out: from the first, up to the second.
    pub left_out: Option<[u64; 2]>,
    /// Whether all that is shown is UTF-8.
    pub utf8: bool,
}

impl Kept {
    /// Takes what comes next.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        let (head, rest) = bytes.split_at(bytes.len().min(HEAD - self.head.len()));
        self.head.extend_from_slice(head);
        // Of a long stretch only the end can stay.
        let rest = &rest[rest.len().saturating_sub(TAIL)..];
        let surplus = (self.tail.len() + rest.len()).saturating_sub(TAIL);
        self.tail.drain(..surplus);
        self.tail.extend(rest);
    }

    /// What came, for an answer; `how` tells how to see bytes from one to another, where they were left out.
    #[must_use]
    pub fn output(&self, how: impl FnOnce(u64, u64) -> String) -> Output {
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        if self.bytes == (self.head.len() + tail.len()) as u64 {
            let whole = [self.head.as_slice(), &tail].concat();
            let (text, utf8) = text(&whole);
            return Output { text, bytes: self.bytes, truncated: false, left_out: None, utf8 };
        }
        let (head, tail) = (until_line(&self.head), from_line(&tail));
        let (from, to) = (head.len() as u64, self.bytes - tail.len() as u64);
        let ((before, clean), (after, clean_too)) = (text(head), text(tail));
        let start = if before.is_empty() || before.ends_with('\n') { "" } else { "\n" };
        let line = format!("{start}[edt: {} bytes left out; {}]\n", to - from, how(from, to));
        Output {
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

/// The longest start of `bytes` that ends with a line, or at least with a character.
#[must_use]
pub fn until_line(bytes: &[u8]) -> &[u8] {
    if let Some(at) = memchr::memrchr(b'\n', bytes) {
        return &bytes[..=at];
    }
    let is_rest = |byte: &u8| byte & 0xC0 == 0x80;
    let rest = bytes.iter().rev().take(3).take_while(|byte| is_rest(byte)).count();
    let start = bytes.len() - rest;
    match start.checked_sub(1).map(|at| (at, bytes[at])) {
        // A character's first byte, without all that belong to it.
        Some((at, first)) if first >= 0xC0 && first.leading_ones() as usize > rest + 1 => {
            &bytes[..at]
        }
        _ => bytes,
    }
}

/// The longest end of `bytes` that begins with a line, or at least with a character.
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

    fn of(bytes: &[u8], piece: usize) -> Output {
        let mut kept = Kept::default();
        bytes.chunks(piece).for_each(|piece| kept.push(piece));
        kept.output(|from, to| format!("see {from}:{to}"))
    }

    #[test]
    fn what_fits_is_whole() {
        let bytes = "ä\n".repeat((HEAD + TAIL) / 3);
        for piece in [1, 7, 5000, bytes.len()] {
            let whole = Output {
                text: bytes.clone(),
                bytes: bytes.len() as u64,
                truncated: false,
                left_out: None,
                utf8: true,
            };
            assert_eq!(of(bytes.as_bytes(), piece), whole);
        }
        assert_eq!(of(b"", 1).text, "");
        assert_eq!((of(b"a\xff", 1).text, of(b"a\xff", 1).utf8), ("a\u{fffd}".to_owned(), false));
    }

    #[test]
    fn what_is_cut_says_what_and_keeps_whole_lines() {
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
    fn one_endless_line_is_cut_between_characters() {
        let line = "ä€𝄞".repeat(20_000);
        let cut = of(line.as_bytes(), 999);
        assert!(cut.utf8 && cut.truncated && !cut.text.contains('\u{fffd}'));
        assert_eq!(until_line("ab€".as_bytes()), "ab€".as_bytes());
        assert_eq!(until_line(&"ab€".as_bytes()[..4]), b"ab");
    }
}
