//! Idioms of newer versions of Go.

use super::{closing, is_word};

/// Renames `new` of a value, `new(a[0])` of Go 1.26: the grammar expects a type there.
pub(crate) fn values(text: &[u8], expired: &dyn Fn() -> bool) -> Option<Vec<u8>> {
    const TYPES: [&[u8]; 6] = [b"[", b"*", b"map[", b"chan", b"func", b"struct"];
    let mut out = text.to_vec();
    for at in memchr::memmem::find_iter(text, b"new(") {
        if expired() {
            return None;
        }
        let open = at + b"new".len();
        let called = at == 0 || !is_word(text[at - 1]) && text[at - 1] != b'.';
        let Some(end) = closing(text, open).filter(|_| called) else { continue };
        let value = text[open + 1..end].trim_ascii();
        if !value.is_empty() && !TYPES.iter().any(|begin| value.starts_with(begin)) {
            out[at] = b'N';
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::idioms::tests::rewritten;

    #[test]
    fn new_of_a_value_gets_another_name() {
        for (text, other) in [
            ("a := new(b.C[0])", "a := New(b.C[0])"),
            ("a := new([]int)", "a := new([]int)"),
            ("a := renew(b[0])", "a := renew(b[0])"),
            ("a := new(b[0]", "a := new(b[0]"),
        ] {
            assert_eq!(rewritten(values, text), other);
        }
    }
}
