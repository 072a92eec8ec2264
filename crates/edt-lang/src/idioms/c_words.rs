//! Words of C and C++ that a macro or a library defines: around strings, behind them, and in the
//! sections of a class.

use super::{LONGEST, blank_out, blanks, closing, is_word, word_length};

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

/// Blanks explicit instantiations, of which the grammar knows few.
pub(super) fn instantiations(text: &mut [u8], expired: &dyn Fn() -> bool) -> Option<()> {
    let places: Vec<usize> = memchr::memmem::find_iter(text, b"template ").collect();
    for at in places {
        if expired() {
            return None;
        }
        let line = memchr::memrchr(b'\n', &text[..at]).map_or(0, |end| end + 1);
        let before = text[line..at].trim_ascii();
        let word = at + b"template ".len();
        if !(before.is_empty() || before == b"extern")
            || text[word..].trim_ascii_start().starts_with(b"<")
        {
            continue;
        }
        let rest = &text[word..text.len().min(word + LONGEST)];
        if let Some(end) = rest.iter().position(|byte| b";{}".contains(byte))
            && rest[end] == b';'
        {
            blank_out(&mut text[line..=word + end]);
        }
    }
    Some(())
}

/// Blanks definitions by a macro, `static A_B(c, struct d)`, that are alone on their line. A block
/// below belongs to a function.
pub(super) fn definitions(text: &[u8], out: &mut [u8], expired: &dyn Fn() -> bool) -> Option<()> {
    for sign in [&b"\nstatic "[..], b"\ninline "] {
        for at in memchr::memmem::find_iter(text, sign) {
            if expired() {
                return None;
            }
            let rest = &text[at + sign.len()..];
            let rest = rest.strip_prefix(b"inline ").unwrap_or(rest);
            let name = word_length(rest);
            let open = text.len() - rest.len() + name;
            let small = rest[..name].iter().any(u8::is_ascii_lowercase);
            if name == 0 || small || text.get(open) != Some(&b'(') {
                continue;
            }
            let Some(end) = closing(text, open) else { continue };
            let below = &text[end + 1..];
            if below[blanks(below)..].starts_with(b"\n") && !below.trim_ascii().starts_with(b"{") {
                blank_out(&mut out[at..=end]);
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

/// Blanks `likely` and `unlikely` between the word of a condition and its parenthesis: there they
/// are macros with parentheses of their own, `if unlikely(a)`.
pub(super) fn hints(text: &[u8], out: &mut [u8], expired: &dyn Fn() -> bool) -> Option<()> {
    for at in memchr::memmem::find_iter(text, b"likely") {
        if expired() {
            return None;
        }
        let start = if text[..at].ends_with(b"un") { at - 2 } else { at };
        let end = at + b"likely".len();
        let before = text[..start].trim_ascii_end();
        let word = before.iter().rev().take_while(|byte| is_word(**byte)).count();
        let word = &before[before.len() - word..];
        if before.len() < start
            && (word == b"if" || word == b"while")
            && text[end..].trim_ascii_start().starts_with(b"(")
        {
            blank_out(&mut out[start..end]);
        }
    }
    Some(())
}

/// Blanks the heads of loops by a macro: `for_each (a, b) {`. One without indentation may be a
/// function whose type is above it.
pub(super) fn loops(text: &[u8], out: &mut [u8], expired: &dyn Fn() -> bool) -> Option<()> {
    for at in memchr::memmem::find_iter(text, b"for") {
        if expired() {
            return None;
        }
        let line = memchr::memrchr(b'\n', &text[..at]).map_or(0, |end| end + 1);
        let start = line + blanks(&text[line..]);
        let name = start + word_length(&text[start..]);
        let open = name + blanks(&text[name..]);
        if at < start
            || at >= name
            || start == line
            || text.get(open) != Some(&b'(')
            || name - start == 3
        {
            continue;
        }
        let Some(end) = closing(text, open) else { continue };
        let next = text[end + 1..].trim_ascii_start().first();
        if next.is_some_and(|&byte| is_word(byte) || byte == b'{') {
            blank_out(&mut out[start..=end]);
        }
    }
    Some(())
}

/// Blanks the register that a variable names, `register int a asm ("a0") = 1;`.
pub(super) fn registers(text: &[u8], out: &mut [u8], expired: &dyn Fn() -> bool) -> Option<()> {
    for at in memchr::memmem::find_iter(text, b" asm") {
        if expired() {
            return None;
        }
        let line = memchr::memrchr(b'\n', &text[..at]).map_or(0, |end| end + 1);
        let open = at + b" asm".len() + blanks(&text[at + b" asm".len()..]);
        if text.get(open) != Some(&b'(') {
            continue;
        }
        let Some(end) = closing(text, open) else { continue };
        let string = text[open + 1..end].strip_prefix(b"\"");
        let is_name = string.and_then(|string| string.strip_suffix(b"\"")).is_some_and(|name| {
            let name = name.strip_prefix(b"%").unwrap_or(name);
            !name.is_empty() && name.iter().all(|byte| is_word(*byte))
        });
        if is_name
            && text[line..at].trim_ascii_start().starts_with(b"register ")
            && matches!(text[end + 1..].trim_ascii_start().first(), Some(b'=' | b';'))
        {
            blank_out(&mut out[at..=end]);
        }
    }
    Some(())
}

/// Blanks macros that make a string of their argument and precede another string: `xstr(A) "b"`.
/// The name of one in small letters ends with `str`, and its argument is in capitals: a call may
/// have lost its comma.
pub(super) fn strings_of_macros(
    text: &[u8],
    out: &mut [u8],
    expired: &dyn Fn() -> bool,
) -> Option<()> {
    for quote in memchr::memchr_iter(b'"', text) {
        if expired() {
            return None;
        }
        let Some(call) = text[..quote].trim_ascii_end().strip_suffix(b")") else { continue };
        let argument = call.iter().rev().take_while(|byte| is_word(**byte)).count();
        let (call, argument) = call.split_at(call.len() - argument);
        let Some(before) = call.strip_suffix(b"(") else { continue };
        let name = before.iter().rev().take_while(|byte| is_word(**byte)).count();
        let start = before.len() - name;
        if before.ends_with(b"str") && !argument.iter().any(u8::is_ascii_lowercase) {
            blank_out(&mut out[start..=call.len() + argument.len()]);
        }
    }
    Some(())
}

/// Blanks strings in a macro that follow another one in the same macro without a comma.
pub(super) fn wrapped_strings(
    text: &[u8],
    out: &mut [u8],
    expired: &dyn Fn() -> bool,
) -> Option<()> {
    let opens = memchr::memchr_iter(b'"', text).filter_map(|quote| {
        let before = text[..quote].trim_ascii_end();
        before.ends_with(b"(").then(|| before.len() - 1)
    });
    // The macro before: where its name begins, and its last byte.
    let mut above: Option<(usize, usize)> = None;
    for open in opens {
        if expired() {
            return None;
        }
        let Some((start, end)) = wrapped_string(text, open) else { continue };
        if let Some((first, last)) = above
            && text.get(last + 1..start).is_some_and(|between| between.trim_ascii().is_empty())
            && text[first..].starts_with(&text[start..=open])
        {
            blank_out(&mut out[start..=end]);
        }
        above = Some((start, end));
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
    let space = |at: usize| text[at..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let mut at = open + 1 + space(open + 1) + 1;
    loop {
        match text.get(at)? {
            b'\\' => at += 2,
            b'"' => break,
            b'\n' => return None,
            _ => at += 1,
        }
    }
    let end = at + 1 + space(at + 1);
    (text.get(end) == Some(&b')')).then_some((start, end))
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
        let text = "f(T(\"b\") T(\n  \"c\\n\" ), 1);";
        assert_eq!(rewritten(macros, text), "f(T(\"b\")   \n         , 1);");
        let lost = "f(T(\"b\") T(\n  \"c\\n\", 1);";
        assert_eq!(rewritten(macros, lost), lost);
    }

    #[test]
    fn the_register_of_a_variable_becomes_blank() {
        let text = "  register w_t a asm (\"a0\") = b;\nregister w_t *c asm (\"%r1\");\n";
        let blank = "  register w_t a            = b;\nregister w_t *c            ;\n";
        assert_eq!(rewritten(macros, text), blank);
        for other in ["register w_t a asm (\"a0\" = b;", "asm (\"nop\");", "w_t a asm (\"a b\");"] {
            assert_eq!(rewritten(macros, other), other);
        }
    }

    #[test]
    fn the_head_of_a_loop_by_a_macro_becomes_blank() {
        let text = "  for_each (a, b()) if (a) c();\n list_for(d) for (;;) e();\n";
        let blank = "                    if (a) c();\n             for (;;) e();\n";
        assert_eq!(rewritten(macros, text), blank);
        let text = "  foreach (const A &b, c) {\n  foreach (D *e, f)\n    g(e);\n";
        let blank = "                          {\n                   \n    g(e);\n";
        assert_eq!(rewritten(macros, text), blank);
        for other in [
            " for (;;) if (a) b();",
            " for_each(a, b);",
            " a = for_each(b) if (c) d();",
            "for_a(b) {",
        ] {
            assert_eq!(rewritten(macros, other), other);
        }
    }

    #[test]
    fn the_hint_of_a_condition_becomes_blank() {
        let text = "if unlikely(a > (b)) c();\nwhile likely (a) if\n\tunlikely(d) e();\n";
        let blank = "if         (a > (b)) c();\nwhile        (a) if\n\t        (d) e();\n";
        assert_eq!(rewritten(macros, text), blank);
        for other in ["if unlikely a;", "if unlikely2(a) b;", "a = unlikely(b);", "elif likely(a)"]
        {
            assert_eq!(rewritten(macros, other), other);
        }
    }
}
