//! Idioms of Rust: macros and modifiers of other editions.

use super::{blank_out, is_word, word_length};

/// Rewrites:
/// * `try!(…)` of the edition 2015, which later editions reserve. It gets another name.
/// * `str![…]`, a macro with the name of a type. It gets another name, too.
/// * `~` among the tokens of a macro. It becomes `!`.
/// * `safe`, before a function or a static of an `unsafe extern` block. It becomes blank.
pub(crate) fn editions(text: &[u8], expired: &dyn Fn() -> bool) -> Option<Vec<u8>> {
    let mut out = text.to_vec();
    for at in memchr::memchr_iter(b'~', text) {
        out[at] = b'!';
    }
    for name in [&b"try!"[..], b"str!"] {
        for at in memchr::memmem::find_iter(text, name) {
            if expired() {
                return None;
            }
            if at == 0 || !is_word(text[at - 1]) {
                out[at] = b'_';
            }
        }
    }
    for at in memchr::memmem::find_iter(text, b"safe ") {
        if expired() {
            return None;
        }
        let end = at + b"safe".len();
        let next = text[end..].trim_ascii_start();
        let item = matches!(&next[..word_length(next)], b"fn" | b"static");
        if item && (at == 0 || !is_word(text[at - 1])) {
            blank_out(&mut out[at..end]);
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::idioms::tests::rewritten;

    #[test]
    fn macros_with_reserved_names_get_others() {
        assert_eq!(rewritten(editions, "Token![~]"), "Token![!]");
        let text = "let a = try!(b); retry!(c); try { d }; f(str![e])";
        let other = "let a = _ry!(b); retry!(c); try { d }; f(_tr![e])";
        assert_eq!(rewritten(editions, text), other);
    }

    #[test]
    fn safe_items_lose_their_modifier() {
        let text = "unsafe extern \"C\" { pub safe fn f(); } unsafe fn g() { safe (); }";
        let blank = "unsafe extern \"C\" { pub      fn f(); } unsafe fn g() { safe (); }";
        assert_eq!(rewritten(editions, text), blank);
    }
}
