//! Idioms of TOML 1.1 (<https://toml.io/en/v1.1.0>).

use super::{blank_out, is_word};

/// Rewrites:
/// * an inline table of several lines, or with a comma behind its last value. It becomes an array of
///   its values, because arrays may have both.
/// * the escapes `\e` and `\x41`.
pub(crate) fn newer(text: &[u8], expired: &dyn Fn() -> bool) -> Option<Vec<u8>> {
    let mut out = text.to_vec();
    // The open brackets, and whether a key may follow.
    let (mut open, mut key) = (Vec::new(), false);
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        if at % 1024 == 0 && expired() {
            return None;
        }
        let mut next = at + 1;
        match byte {
            b'#' => next = memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |end| at + end),
            b'{' | b'[' => {
                open.push((byte, at));
                key = byte == b'{';
            }
            b'}' | b']' => {
                if let Some((b'{', from)) = open.pop()
                    && byte == b'}'
                {
                    (out[from], out[at]) = (b'[', b']');
                }
                key = false;
            }
            b',' => key = matches!(open.last(), Some((b'{', _))),
            _ if byte.is_ascii_whitespace() => {}
            _ if key => {
                key = false;
                if let Some(end) = key_length(&text[at..]) {
                    next = at + end;
                    blank_out(&mut out[at..next]);
                }
            }
            b'"' | b'\'' => {
                next = at + string_length(&text[at..]);
                if byte == b'"' {
                    rewrite_escapes(&mut out[at..next]);
                }
            }
            _ => {}
        }
        at = next;
    }
    Some(out)
}

/// The length of a key, which is words and strings joined by dots, with the `=` behind it, if a
/// value follows in its line.
fn key_length(text: &[u8]) -> Option<usize> {
    let is_blank = |byte: &&u8| matches!(byte, b' ' | b'\t');
    let blanks = |at: usize| text[at..].iter().take_while(is_blank).count();
    let mut at = 0;
    loop {
        at += blanks(at);
        let part = match text.get(at)? {
            b'"' | b'\'' => string_length(&text[at..]),
            _ => text[at..].iter().take_while(|byte| is_word(**byte) || **byte == b'-').count(),
        };
        if part == 0 {
            return None;
        }
        at += part;
        at += blanks(at);
        match text.get(at)? {
            b'.' => at += 1,
            b'=' => {
                let value = text.get(at + 1 + blanks(at + 1))?;
                return (!b",}#\r\n".contains(value)).then_some(at + 1);
            }
            _ => return None,
        }
    }
}

/// The length of the string at the start of a text. One of one line ends with it at the latest.
fn string_length(text: &[u8]) -> usize {
    let quote = text[0];
    let three = text.starts_with(&[quote; 3]);
    let mut at = if three { 3 } else { 1 };
    while let Some(&byte) = text.get(at) {
        match byte {
            b'\\' if quote == b'"' => at += 1,
            b'\n' if !three => return at,
            _ if byte != quote => {}
            _ if !three => return at + 1,
            _ if text[at..].starts_with(&[quote; 3]) => return at + 3,
            _ => {}
        }
        at += 1;
    }
    text.len()
}

fn rewrite_escapes(string: &mut [u8]) {
    let mut at = 0;
    while at + 1 < string.len() {
        if string[at] != b'\\' {
            at += 1;
            continue;
        }
        match string[at + 1] {
            b'e' => string[at + 1] = b'b',
            b'x' if string.get(at + 2..at + 4).is_some_and(is_hexadecimal) => {
                string[at + 1] = b'\\';
            }
            _ => {}
        }
        at += 2;
    }
}

fn is_hexadecimal(digits: &[u8]) -> bool {
    digits.iter().all(u8::is_ascii_hexdigit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::idioms::tests::rewritten;

    #[test]
    fn an_inline_table_becomes_an_array_of_its_values() {
        let text = "a = {\n  b = 1, # }\n  'c d'.e = [ { f = \"}\" } ],\n}\n[g]\n";
        let array = "a = [\n      1, # }\n            [ [     \"}\" ] ],\n]\n[g]\n";
        assert_eq!(rewritten(newer, text), array);
    }

    #[test]
    fn an_entry_without_a_value_stays() {
        assert_eq!(rewritten(newer, "a = { b 1, c }\n"), "a = [ b 1, c ]\n");
        assert_eq!(rewritten(newer, "a = { b = 1\n"), "a = {     1\n");
        assert_eq!(rewritten(newer, "a = { b =, c = }"), "a = [ b =, c = ]");
        let text = "a = { b c = 1, = 2, d. = 3, .e = 4, f..g = 5 }";
        let array = "a = [ b c = 1, = 2, d. = 3, .e = 4, f..g = 5 ]";
        assert_eq!(rewritten(newer, text), array);
        assert_eq!(rewritten(newer, "a = { b . \"c\" = 1 }"), "a = [           1 ]");
    }

    #[test]
    fn new_escapes_become_old_ones() {
        assert_eq!(rewritten(newer, r#"a = "\e\\e\x41\xg""#), r#"a = "\b\\e\\41\xg""#);
        assert_eq!(rewritten(newer, r"a = '\e'"), r"a = '\e'");
    }
}
