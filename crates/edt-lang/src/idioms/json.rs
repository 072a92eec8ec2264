//! Idioms of JSON: exponents, and what editors and compilers allow in their settings.

/// The exponents of JSON, `1e+9`, without their sign.
pub(crate) fn exponents(text: &[u8], expired: &dyn Fn() -> bool) -> Option<Vec<u8>> {
    let mut out = text.to_vec();
    for at in memchr::memchr_iter(b'+', text) {
        if expired() {
            return None;
        }
        let before = &text[..at];
        let digits = before.strip_suffix(b"e").or(before.strip_suffix(b"E"));
        if digits.and_then(<[u8]>::last).is_some_and(u8::is_ascii_digit)
            && text.get(at + 1).is_some_and(u8::is_ascii_digit)
        {
            out[at] = b'0';
        }
    }
    Some(out)
}

/// As [`exponents`], and blanks the comma behind the last value of a list or an object.
pub(crate) fn trailing_commas(text: &[u8], expired: &dyn Fn() -> bool) -> Option<Vec<u8>> {
    let mut out = exponents(text, expired)?;
    let mut at = 0;
    // A comma with a value before it, and whether a value is the last token.
    let (mut comma, mut value) = (None, false);
    while let Some(&byte) = text.get(at) {
        if at % 1024 == 0 && expired() {
            return None;
        }
        let rest = &text[at..];
        match byte {
            b'/' if rest.starts_with(b"//") => {
                at += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
                continue;
            }
            b'/' if rest.starts_with(b"/*") => {
                at += memchr::memmem::find(&rest[2..], b"*/").map_or(rest.len(), |end| end + 4);
                continue;
            }
            b',' => {
                comma = value.then_some(at);
                value = false;
            }
            b'}' | b']' => {
                if let Some(comma) = comma.take() {
                    out[comma] = b' ';
                }
                value = true;
            }
            byte if byte.is_ascii_whitespace() => {}
            _ => {
                comma = None;
                value = !matches!(byte, b'{' | b'[' | b':');
                if byte == b'"' {
                    at += string_length(rest);
                    continue;
                }
            }
        }
        at += 1;
    }
    Some(out)
}

/// The length of the string at the start of a text, which ends with its line at the latest.
fn string_length(text: &[u8]) -> usize {
    let mut at = 1;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'\\' => at += 1,
            b'"' => return at + 1,
            b'\n' => return at,
            _ => {}
        }
        at += 1;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::idioms::tests::rewritten;

    #[test]
    fn exponents_lose_their_sign() {
        assert_eq!(rewritten(exponents, "[1.5e+30, \"e+1\"]"), "[1.5e030, \"e+1\"]");
    }

    #[test]
    fn the_comma_behind_the_last_value_becomes_blank() {
        let text = "{\"a\": [1, 2,], // ,]\n\"b\": \"\\\",]\", /* } */ }\n";
        let blank = "{\"a\": [1, 2 ], // ,]\n\"b\": \"\\\",]\"  /* } */ }\n";
        assert_eq!(rewritten(trailing_commas, text), blank);
    }

    #[test]
    fn a_comma_without_a_value_stays() {
        for text in ["[,]", "{,}", "[1,,]", "{\"a\":,}", "[1, 2", "1,"] {
            assert_eq!(rewritten(trailing_commas, text), text);
        }
    }
}
