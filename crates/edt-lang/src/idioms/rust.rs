//! Idioms of Rust: macros and modifiers of other editions.

use super::{blank_out, is_word, word_length};
use crate::rust_signs::Signs;

/// Rewrites:
/// * `try!(…)` of the edition 2015, which later editions reserve. It gets another name.
/// * `str![…]`, a macro with the name of a type. It gets another name, too.
/// * `~` between the brackets of a macro. It becomes `!`.
/// * `f32::<…>`, a function with the name of a type. It gets another name, too.
/// * `1u` and `~str` of 2014, if the text derives as it was written then. They become `1_` and ` str`.
/// * `safe`, before a function or a static of an `unsafe extern` block. It becomes blank.
pub(crate) fn editions(text: &[u8], expired: &dyn Fn() -> bool) -> Option<Vec<u8>> {
    let mut out = text.to_vec();
    tildes(text, &mut out, expired)?;
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
    let old = memchr::memmem::find(text, b"#[deriving(").is_some();
    for at in memchr::memchr3_iter(b'u', b'i', b'~', text).filter(|_| old) {
        if expired() {
            return None;
        }
        let digits = text[..at].iter().rev().take_while(|byte| is_word(**byte)).count();
        let number = &text[at - digits..at];
        let ends = text.get(at + 1).is_none_or(|byte| !is_word(*byte));
        if text[at] == b'~' && !ends {
            out[at] = b' ';
        } else if text[at] != b'~' && ends && number.first().is_some_and(u8::is_ascii_digit) {
            out[at] = b'_';
        }
    }
    // `f32::<A>(b)`: a function may have the name of a type.
    for at in memchr::memmem::find_iter(text, b"::<") {
        if expired() {
            return None;
        }
        let name = text[..at].iter().rev().take_while(|byte| is_word(**byte)).count();
        let digits = text[at - name..at].iter().skip(1).all(u8::is_ascii_digit);
        if name > 1 && digits && b"fiu".contains(&text[at - name]) {
            out[at - name] = b'_';
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

/// Writes `!` over each `~` between the brackets of a macro, outside comments and strings.
fn tildes(text: &[u8], out: &mut [u8], expired: &dyn Fn() -> bool) -> Option<()> {
    if memchr::memchr(b'~', text).is_none() {
        return Some(());
    }
    // For each open bracket, whether it is one of a macro or inside one.
    let mut open = Vec::new();
    for at in Signs::of(text, b"()[]{}~") {
        if expired() {
            return None;
        }
        match text[at] {
            b'(' | b'[' | b'{' => {
                open.push(open.last() == Some(&true) || is_macro(&text[..at]));
            }
            b'~' if open.last() == Some(&true) => out[at] = b'!',
            b'~' => {}
            _ => {
                open.pop();
            }
        }
    }
    Some(())
}

/// Whether a text ends in the name of a macro and its `!`, or in `macro_rules!` and a name.
fn is_macro(before: &[u8]) -> bool {
    let before = before.trim_ascii_end();
    let name = before.iter().rev().take_while(|byte| is_word(**byte)).count();
    let mark = before[..before.len() - name].trim_ascii_end();
    if name > 0 {
        return mark.ends_with(b"macro_rules!");
    }
    mark.strip_suffix(b"!").and_then(<[u8]>::last).is_some_and(|byte| is_word(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::idioms::tests::rewritten;

    #[test]
    fn macros_with_reserved_names_get_others() {
        let text = "let a = try!(b); retry!(c); try { d }; f(str![e])";
        let other = "let a = _ry!(b); retry!(c); try { d }; f(_tr![e])";
        assert_eq!(rewritten(editions, text), other);
    }

    #[test]
    fn values_of_2014_become_those_of_today() {
        let text = "#[deriving(A)] (1u, 0x2i, ~str, ~[b], au, 1u8)";
        let other = "#[deriving(A)] (1_, 0x2_,  str, ~[b], au, 1u8)";
        assert_eq!(rewritten(editions, text), other);
        assert_eq!(rewritten(editions, "(1u, ~b)"), "(1u, ~b)");
    }

    #[test]
    fn a_tilde_in_a_macro_becomes_another_sign() {
        for (text, other) in [
            ("Token![~] + ~1", "Token![!] + ~1"),
            ("a! { b(~) } !(~)", "a! { b(!) } !(~)"),
            ("macro_rules! a { (~) => {} } ~", "macro_rules! a { (!) => {} } ~"),
            (
                "a!(\"~)\" ~ r#\"~\")\"# ~ ')' ~ '\\'' ~ // ~)\n~ /* ~) */ ~) ~",
                "a!(\"~)\" ! r#\"~\")\"# ! ')' ! '\\'' ! // ~)\n! /* ~) */ !) ~",
            ),
            ("a!(<'b> ~)", "a!(<'b> !)"),
        ] {
            assert_eq!(rewritten(editions, text), other);
        }
    }

    #[test]
    fn safe_items_lose_their_modifier() {
        let text = "unsafe extern \"C\" { pub safe fn f(); } unsafe fn g() { safe (); }";
        let blank = "unsafe extern \"C\" { pub      fn f(); } unsafe fn g() { safe (); }";
        assert_eq!(rewritten(editions, text), blank);
    }
}
