//! Rewrites idioms that a grammar does not know into text that it knows. Every byte keeps its
//! offset, and line ends stay.
//!
//! A text is rewritten only after its parse found errors. An error that a rewritten text does not
//! have is an idiom.

/// Rewrites a text.
pub(crate) type Rewrite = fn(&[u8]) -> Vec<u8>;

/// Blanks what stands for attributes or whole lines in C and C++: a macro in capitals, with its
/// arguments, before another word, after one, or alone on its line; `__attribute__((…))` and its
/// like.
pub(crate) fn macros(text: &[u8]) -> Vec<u8> {
    let mut out = text.to_vec();
    let (mut at, mut line, mut seen) = (0, 0, 0);
    while let Some(start) = text[at..]
        .iter()
        .position(|byte| byte.is_ascii_uppercase() || *byte == b'_')
        .map(|n| at + n)
    {
        let word = text[start..].iter().take_while(|byte| is_word(**byte)).count();
        at = start + word;
        let inside = start > 0 && is_word(text[start - 1]);
        let builtin = text[start..].starts_with(b"__") && text.get(at) == Some(&b'(');
        let capitals = word > 2 && !text[start..at].iter().any(u8::is_ascii_lowercase);
        if inside || !(capitals || builtin) {
            continue;
        }
        let end = arguments_end(text, at);
        let rest = &text[end..];
        let blank = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r')).count();
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
            && next.is_some_and(|&byte| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'['));
        // `int done GUARDED_BY(mu);`, `void f() LOCKS_EXCLUDED(mu) {`
        let last = text[line..start].trim_ascii_end().last();
        let after_word = end > at
            && start > line
            && text[start - 1] == b' '
            && last.is_some_and(|&byte| is_word(byte) || matches!(byte, b')' | b']' | b'>'))
            && next.is_none_or(|byte| matches!(byte, b';' | b'{' | b',' | b')' | b'=' | b'\n'));
        if alone || before_word || after_word || builtin {
            blank_out(&mut out[start..end]);
            at = end;
        }
    }
    out
}

/// Replaces expansions of a shell, `${…}` and `$((…))`, by names, and extended patterns, such as
/// `!(a|b)`, by words.
pub(crate) fn expansions(text: &[u8]) -> Vec<u8> {
    let mut out = text.to_vec();
    let mut at = 0;
    while at + 1 < text.len() {
        let pair = &text[at..at + 2];
        let pattern = matches!(pair, b"!(" | b"@(" | b"?(" | b"*(" | b"+(")
            && at > 0
            && matches!(text[at - 1], b' ' | b'/' | b'.' | b'*' | b'\t');
        let (open, inner) = match pair {
            b"${" => (at + 1, at + 2),
            b"$(" if text.get(at + 2) == Some(&b'(') => (at + 1, at + 3),
            _ if pattern => (at + 1, at),
            _ => {
                at += 1;
                continue;
            }
        };
        let Some(end) = closing(text, open) else {
            at += 2;
            continue;
        };
        let last = match () {
            () if pattern => end + 1,
            () if inner == open + 2 => end.saturating_sub(1),
            () => end,
        };
        if inner < last && !text[inner..last].contains(&b'\n') {
            let fill = if inner == open + 2 { b'1' } else { b'A' };
            out[inner..last].fill(fill);
            at = end + 1;
        } else {
            at += 2;
        }
    }
    out
}

/// The exponents of JSON, `1e+9`, without their sign.
pub(crate) fn exponents(text: &[u8]) -> Vec<u8> {
    let mut out = text.to_vec();
    for at in memchr::memchr_iter(b'+', text) {
        let before = &text[..at];
        let digits = before.strip_suffix(b"e").or(before.strip_suffix(b"E"));
        if digits.and_then(<[u8]>::last).is_some_and(u8::is_ascii_digit)
            && text.get(at + 1).is_some_and(u8::is_ascii_digit)
        {
            out[at] = b'0';
        }
    }
    out
}

/// Puts a `;` before a line that begins with `<`: a call signature with type parameters, which the
/// grammar takes for type arguments of the line above.
pub(crate) fn call_signatures(text: &[u8]) -> Vec<u8> {
    let mut out = text.to_vec();
    for end in memchr::memchr_iter(b'\n', text) {
        let line = &text[end + 1..];
        let blank = line.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let rest = &line[blank..];
        if blank > 0 && rest.starts_with(b"<") && rest.get(1).is_some_and(u8::is_ascii_uppercase) {
            out[end + blank] = b';';
        }
    }
    out
}

/// Where the arguments that begin at `at` end, if any do.
fn arguments_end(text: &[u8], at: usize) -> usize {
    match text.get(at) {
        Some(b'(') => closing(text, at).map_or(at, |end| end + 1),
        _ => at,
    }
}

/// The most bytes between brackets of an idiom.
const LONGEST: usize = 1000;

/// The place of the bracket that closes the one at `open`.
fn closing(text: &[u8], open: usize) -> Option<usize> {
    let (begin, end) = match text[open] {
        b'(' => (b'(', b')'),
        _ => (b'{', b'}'),
    };
    let mut depth = 0_usize;
    for (at, &byte) in text.iter().enumerate().skip(open).take(LONGEST) {
        if byte == begin {
            depth += 1;
        } else if byte == end {
            depth -= 1;
            if depth == 0 {
                return Some(at);
            }
        }
    }
    None
}

fn blank_out(bytes: &mut [u8]) {
    bytes.iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(rewrite: Rewrite, text: &str) -> String {
        String::from_utf8(rewrite(text.as_bytes())).unwrap()
    }

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
    }

    #[test]
    fn exponents_lose_their_sign() {
        assert_eq!(rewritten(exponents, "[1.5e+30, \"e+1\"]"), "[1.5e030, \"e+1\"]");
    }

    #[test]
    fn call_signatures_begin_with_a_semicolon() {
        let text = "interface A {\n  (a: B): C\n  <T>(a: T): C\n}\n";
        let split = "interface A {\n  (a: B): C\n ;<T>(a: T): C\n}\n";
        assert_eq!(rewritten(call_signatures, text), split);
    }

    #[test]
    fn expansions_become_names() {
        let text = "a=${x:$i:1} b=$((0x$E)) rm !(a|b) $(ls)\n";
        assert_eq!(rewritten(expansions, text), "a=${AAAAAA} b=$((1111)) rm AAAAAA $(ls)\n");
    }
}
