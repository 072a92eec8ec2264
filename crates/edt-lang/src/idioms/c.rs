//! Idioms of C and C++: macros, and types where the grammars expect values.

use super::{LONGEST, blank_out, blanks, closing, is_word, name_over, word_length};

/// Words that begin a type, wherever they are.
const TYPE_WORDS: [&[u8]; 14] = [
    b"const",
    b"volatile",
    b"struct",
    b"union",
    b"enum",
    b"unsigned",
    b"signed",
    b"char",
    b"short",
    b"int",
    b"long",
    b"float",
    b"double",
    b"void",
];

/// Rewrites, in C and C++:
/// * what stands for attributes or whole lines: a macro in capitals, with its arguments, before
///   another word, after one, or alone on its line; `__attribute__((…))`, `__unused` and their
///   like. It becomes blank.
/// * types among the arguments of a macro, `va_arg(ap, char *)`, and the expressions of
///   `decltype`. They become names.
/// * pointers to members, `int A::*p`, which become pointers; operators called by name,
///   `a->operator[](1)`, which become names; `new T*[n]`, which loses its stars; `typename` in
///   expressions, and the `&` of a type that is an argument, which become blank.
pub(crate) fn macros(text: &[u8], expired: &dyn Fn() -> bool) -> Option<Vec<u8>> {
    let mut out = attributes(text, expired)?;
    type_arguments(text, &mut out, expired)?;
    members(text, &mut out, expired)?;
    for at in memchr::memmem::find_iter(text, b"decltype(") {
        if expired() {
            return None;
        }
        let open = at + b"decltype".len();
        let Some(end) = closing(text, open) else { continue };
        if text[open..end].contains(&b',') {
            name_over(&mut out[open + 1..end]);
        }
    }
    for at in memchr::memmem::find_iter(text, b"operator") {
        if expired() {
            return None;
        }
        let sign = at + b"operator".len();
        let before = &text[..at];
        let length = text[sign..].iter().take_while(|byte| b"[]+-*/%=<>!&|^~".contains(byte));
        let length = length.count();
        if (before.ends_with(b".") || before.ends_with(b"->"))
            && text.get(sign + length) == Some(&b'(')
        {
            out[sign..sign + length].fill(b'A');
        }
    }
    for at in memchr::memmem::find_iter(text, b"typename ") {
        if expired() {
            return None;
        }
        let before = text[..at].trim_ascii_end();
        if before.ends_with(b"=") || before.ends_with(b"(") || before.ends_with(b"return") {
            blank_out(&mut out[at..at + b"typename".len()]);
        }
    }
    for at in memchr::memchr_iter(b'&', text) {
        if expired() {
            return None;
        }
        let after_name = text[..at].last().is_some_and(|byte| is_word(*byte));
        if after_name && matches!(text.get(at + 1), Some(b',' | b')')) {
            out[at] = b' ';
        }
    }
    for at in memchr::memmem::find_iter(text, b"*[") {
        if expired() {
            return None;
        }
        let name = text[..at].iter().rev().take_while(|byte| is_word(**byte) || **byte == b':');
        if text[..at - name.count()].ends_with(b"new ") {
            out[at] = b' ';
        }
    }
    Some(out)
}

fn attributes(text: &[u8], expired: &dyn Fn() -> bool) -> Option<Vec<u8>> {
    let mut out = text.to_vec();
    let (mut at, mut line, mut seen) = (0, 0, 0);
    while let Some(start) = text[at..]
        .iter()
        .position(|byte| byte.is_ascii_uppercase() || *byte == b'_')
        .map(|n| at + n)
    {
        if expired() {
            return None;
        }
        let word = word_length(&text[start..]);
        at = start + word;
        let inside = start > 0 && is_word(text[start - 1]);
        let reserved = text[start..].starts_with(b"__");
        let builtin = reserved && text.get(at) == Some(&b'(');
        let capitals = word > 2 && !text[start..at].iter().any(u8::is_ascii_lowercase);
        if inside || !(capitals || reserved) {
            continue;
        }
        let end = arguments_end(text, at);
        let rest = &text[end..];
        let blank = blanks(rest);
        let next = rest.get(blank);
        if let Some(end) = memchr::memrchr(b'\n', &text[seen..start]) {
            line = seen + end + 1;
        }
        seen = start;
        let indent = text[line..start].trim_ascii();
        let first = indent.is_empty();
        if indent.starts_with(b"#") {
            continue;
        }
        let alone = first && next.is_none_or(|&byte| byte == b'\n');
        let before_word = (blank > 0 || end > at)
            && next.is_some_and(|&byte| {
                byte.is_ascii_alphabetic()
                    || matches!(byte, b'_' | b'[')
                    || byte == b'"' && end > at
            });
        // `int done GUARDED_BY(mu);`, `void f() LOCKS_EXCLUDED(mu) {`, `int fd __unused,`
        let last = text[line..start].trim_ascii_end().last();
        let after_word = (end > at || reserved)
            && start > line
            && text[start - 1] == b' '
            && last.is_some_and(|&byte| {
                is_word(byte) || matches!(byte, b')' | b']' | b'>' | b'*' | b'"')
            })
            && next.is_none_or(|byte| matches!(byte, b';' | b'{' | b',' | b')' | b'=' | b'\n'));
        // `if CONSTEXPR (x)`
        let condition = indent.ends_with(b"if") && next == Some(&b'(');
        // `PRIVATE_UNLESS_TESTED:`
        let label = first && rest[blank..].starts_with(b":\n");
        if alone || before_word || after_word || builtin || condition || label {
            blank_out(&mut out[start..end + if label { blank + 1 } else { 0 }]);
            at = end;
        }
    }
    Some(out)
}

/// Writes names over the types among the arguments of a call.
fn type_arguments(text: &[u8], out: &mut [u8], expired: &dyn Fn() -> bool) -> Option<()> {
    for at in memchr::memchr2_iter(b'(', b',', text) {
        if expired() {
            return None;
        }
        let called = text[..at].last().is_some_and(|byte| is_word(*byte));
        if text[at] == b'(' && !called {
            continue;
        }
        let start = at + 1 + blanks(&text[at + 1..]);
        let Some(end) = type_end(text, start) else { continue };
        if matches!(text.get(end), Some(b',' | b')')) {
            out[start..end].fill(b'A');
        }
    }
    Some(())
}

/// Where the type that begins at `start` ends: words of types, a name after one of `struct` and its
/// like, and stars.
fn type_end(text: &[u8], start: usize) -> Option<usize> {
    let mut at = start;
    let mut named = false;
    loop {
        let word = &text[at..at + word_length(&text[at..])];
        let tagged = matches!(word, b"struct" | b"union" | b"enum");
        if word.is_empty() || !(named || TYPE_WORDS.contains(&word)) {
            break;
        }
        at += word.len() + blanks(&text[at + word.len()..]);
        named = tagged;
    }
    let stars = text[at..].iter().take_while(|byte| matches!(byte, b'*' | b' ')).count();
    (at > start).then_some(at + stars)
}

/// Rewrites pointers to members as pointers, and `.*` and `->*` as another operator.
fn members(text: &[u8], out: &mut [u8], expired: &dyn Fn() -> bool) -> Option<()> {
    for star in memchr::memchr_iter(b'*', text) {
        if expired() {
            return None;
        }
        let before = &text[..star];
        let name = text.get(star + 1).is_some_and(|&byte| is_word(byte));
        if before.ends_with(b"::") {
            let start = qualified_start(before);
            out[start..star].fill(b' ');
        } else if name && before.ends_with(b"->") {
            out[star - 2..=star].copy_from_slice(b"+  ");
        } else if name && before.ends_with(b".") {
            out[star - 1..=star].copy_from_slice(b"+ ");
        }
    }
    Some(())
}

/// Where the name `a::b<c>::` at the end of a text begins.
fn qualified_start(text: &[u8]) -> usize {
    let mut at = text.len();
    let mut depth = 0_usize;
    let least = at.saturating_sub(LONGEST);
    while at > least {
        match text[at - 1] {
            b'>' => depth += 1,
            b'<' if depth > 0 => depth -= 1,
            byte if is_word(byte) || byte == b':' => {}
            b' ' | b',' | b'*' | b'&' if depth > 0 => {}
            _ => break,
        }
        at -= 1;
    }
    at
}

/// Where the arguments that begin at `at` end, if any do.
fn arguments_end(text: &[u8], at: usize) -> usize {
    match text.get(at) {
        Some(b'(') => closing(text, at).map_or(at, |end| end + 1),
        _ => at,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::idioms::tests::rewritten;

    #[test]
    fn macros_before_a_word_or_alone_become_blank() {
        assert_eq!(rewritten(macros, "#define MAX 16\n"), "#define MAX 16\n");
        let text = "FMT_BEGIN\nstatic FMT_X bool f(A_B(x) int a);\nFILE *f = NULL;\nCALL(x);\n";
        let blank = "         \nstatic       bool f(       int a);\nFILE *f = NULL;\nCALL(x);\n";
        assert_eq!(rewritten(macros, text), blank);
    }

    #[test]
    fn attributes_after_a_word_become_blank() {
        let text = "int n GUARDED_BY(mu);\n__declspec(align(8)) char b[9];\nx = MAX(a, b);\n";
        let blank = "int n               ;\n                     char b[9];\nx = MAX(a, b);\n";
        assert_eq!(rewritten(macros, text), blank);
        assert_eq!(rewritten(macros, "f(int a __unused, A *b __x)"), "f(int a         , A *b    )");
        assert_eq!(rewritten(macros, "if A_CONST (x)"), "if         (x)");
    }

    #[test]
    fn types_among_arguments_become_names() {
        let text = "of(a, const struct b *, c) va(d, long long) e(int f) (char *)g, int h\n";
        let names = "of(a, AAAAAAAAAAAAAAAA, c) va(d, AAAAAAAAA) e(int f) (char *)g, int h\n";
        assert_eq!(rewritten(macros, text), names);
        assert_eq!(rewritten(macros, "-> decltype(a(b),\n void())"), "-> decltype(AAAAA\n       )");
    }

    #[test]
    fn pointers_to_members_become_pointers() {
        let text = "int A::*p; void (b::C<d, e>::*)(); (x.*p)(); y->*p; z = 2.*q";
        let plain = "int    *p; void (            *)(); (x+ p)(); y+  p; z = 2+ q";
        assert_eq!(rewritten(macros, text), plain);
    }

    #[test]
    fn expressions_lose_what_belongs_to_types() {
        let text = "x = typename A::b(); throws(f(a), b::c&); s = \"_\" STR(A);\nA_B:\n  int c;";
        let plain = "x =          A::b(); throws(f(a), b::c ); s = \"_\"       ;\n    \n  int c;";
        assert_eq!(rewritten(macros, text), plain);
    }

    #[test]
    fn operators_called_by_name_and_arrays_of_pointers_lose_their_signs() {
        assert_eq!(rewritten(macros, "a->operator[](1); new T*[n]"), "a->operatorAA(1); new T [n]");
    }
}
