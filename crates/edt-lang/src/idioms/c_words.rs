//! Words of C and C++ that a macro or a library defines: around strings, behind them, and in the
//! sections of a class.

use super::{LONGEST, blank_out, is_word, word_length};

/// Blanks `signals:` and `slots` of Qt.
pub(super) fn sections(text: &[u8], out: &mut [u8], expired: &dyn Fn() -> bool) -> Option<()> {
    for word in [&b"signals:"[..], b" slots:"] {
        for at in memchr::memmem::find_iter(text, word) {
            if expired() {
                return None;
            }
            let line = memchr::memrchr(b'\n', &text[..at]).map_or(0, |end| end + 1);
            let blank = if word == b"signals:" { word.len() } else { word.len() - 1 };
            let before = text[line..at].trim_ascii();
            if before.is_empty() || [&b"public"[..], b"private", b"protected"].contains(&before) {
                blank_out(&mut out[at..at + blank]);
            }
        }
    }
    Some(())
}

/// Blanks formats behind a string: `"%" PRIi64`.
pub(super) fn formats(text: &[u8], out: &mut [u8], expired: &dyn Fn() -> bool) -> Option<()> {
    for at in memchr::memmem::find_iter(text, b"\" PRI") {
        if expired() {
            return None;
        }
        let word = at + b"\" ".len();
        blank_out(&mut out[word..word + word_length(&text[word..])]);
    }
    Some(())
}

/// Blanks strings in a macro that follow another one in the same macro without a comma.
pub(super) fn wrapped_strings(
    text: &[u8],
    out: &mut [u8],
    expired: &dyn Fn() -> bool,
) -> Option<()> {
    for open in memchr::memmem::find_iter(text, b"(\"") {
        if expired() {
            return None;
        }
        let Some((start, _)) = wrapped_string(text, open) else { continue };
        let before = text[..start].trim_ascii_end();
        let near = &before[before.len().saturating_sub(LONGEST)..];
        let skipped = before.len() - near.len();
        // The string before ends here, so it begins at the last `("`.
        let above = memchr::memmem::rfind(near, b"(\"").map(|at| skipped + at);
        let above = above.and_then(|at| Some((at, wrapped_string(text, at)?)));
        if let Some((at, (first, end))) = above
            && end + 1 == before.len()
            && text[first..at] == text[start..open]
            && let Some((_, end)) = wrapped_string(text, open)
        {
            blank_out(&mut out[start..=end]);
        }
    }
    Some(())
}

/// The macro with the parenthesis at `open`, and one string in it: its first byte and its last.
fn wrapped_string(text: &[u8], open: usize) -> Option<(usize, usize)> {
    let name = text[..open].iter().rev().take_while(|byte| is_word(**byte)).count();
    let start = open - name;
    if name == 0 || !text[start..open].iter().all(u8::is_ascii_uppercase) {
        return None;
    }
    let mut at = open + 2;
    loop {
        match text.get(at)? {
            b'\\' => at += 2,
            b'"' => break,
            b'\n' => return None,
            _ => at += 1,
        }
    }
    (text.get(at + 1) == Some(&b')')).then_some((start, at + 1))
}

#[cfg(test)]
mod tests {
    use crate::idioms::macros;
    use crate::idioms::tests::rewritten;

    #[test]
    fn sections_of_qt_become_blank() {
        let text = "class A {\npublic slots:\n  void a();\nsignals:\n  void b();\n};\n";
        let blank = "class A {\npublic      :\n  void a();\n        \n  void b();\n};\n";
        assert_eq!(rewritten(macros, text), blank);
        assert_eq!(rewritten(macros, "a ? signals: b"), "a ? signals: b");
    }

    #[test]
    fn strings_in_a_macro_behind_others_become_blank() {
        let text = "f(a, T(\"b\")\n  T(\"\\\"c\") T(\"d\"), T(\"e\"), U(\"f\") T(\"g\"));";
        let blank = "f(a, T(\"b\")\n                 , T(\"e\"), U(\"f\") T(\"g\"));";
        assert_eq!(rewritten(macros, text), blank);
    }
}
