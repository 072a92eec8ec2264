//! Idioms of Python, old and new.

use super::{blank_out, blanks, closing, word_length};

/// Rewrites:
/// * the default of a type parameter, `type A[T = int]` of Python 3.13. It becomes blank.
/// * `exec a.b in c` of Python 2, which becomes an expression.
/// * the attribute or module `a.async` of older versions. It gets another name.
pub(crate) fn versions(text: &[u8], expired: &dyn Fn() -> bool) -> Option<Vec<u8>> {
    let mut out = text.to_vec();
    let mut start = 0;
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        if expired() {
            return None;
        }
        let at = start + blanks(line);
        start += line.len();
        let rest = &text[at..start];
        if rest.starts_with(b"exec ") {
            out[at..at + 4].copy_from_slice(b"not ");
        }
        // `async` is reserved since Python 3.7.
        for name in memchr::memmem::find_iter(rest, b".async") {
            let dotted = name > 0 && super::is_word(rest[name - 1]);
            if dotted && rest.get(name + 6).is_none_or(|byte| !super::is_word(*byte)) {
                out[at + name + 1] = b'A';
            }
        }
        if let Some(open) = type_parameters(rest)
            && let Some(end) = closing(text, at + open)
        {
            blank_defaults(&mut out[at + open + 1..end]);
        }
    }
    Some(out)
}

/// Where the bracket of type parameters opens in the line that begins a definition.
fn type_parameters(line: &[u8]) -> Option<usize> {
    let mut at = 0;
    for word in [&b"async "[..], b"def ", b"class ", b"type "] {
        if line[at..].starts_with(word) {
            at += word.len();
        }
    }
    let name = word_length(&line[at..]);
    (at > 0 && name > 0 && line.get(at + name) == Some(&b'[')).then_some(at + name)
}

/// Blanks each default in a list of type parameters.
fn blank_defaults(parameters: &mut [u8]) {
    let (mut depth, mut default) = (0_usize, None);
    for at in 0..=parameters.len() {
        match parameters.get(at) {
            Some(b'(' | b'[' | b'{') => depth += 1,
            Some(b')' | b']' | b'}') => depth = depth.saturating_sub(1),
            Some(b'=') if depth == 0 => default = default.or(Some(at)),
            None | Some(b',') if depth == 0 || at == parameters.len() => {
                if let Some(from) = default.take()
                    && !matches!(parameters[from + 1..at].trim_ascii(), b"" | [b'=', ..])
                {
                    blank_out(&mut parameters[from..at]);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::idioms::tests::rewritten;

    #[test]
    fn defaults_of_type_parameters_become_blank() {
        for (text, blank) in [
            ("type A[T: int = str] = list[T]", "type A[T: int      ] = list[T]"),
            ("class A[T = b[c, d], **P = []]: x = 1", "class A[T          , **P     ]: x = 1"),
            ("  async def f[T = int](a=1): b[c] = 1", "  async def f[T      ](a=1): b[c] = 1"),
            ("a[b] = 1", "a[b] = 1"),
            ("class A[T = , B = c, D == e]: f", "class A[T = , B    , D == e]: f"),
        ] {
            assert_eq!(rewritten(versions, text), blank);
        }
    }

    #[test]
    fn exec_becomes_an_expression() {
        assert_eq!(rewritten(versions, "  exec a.b in c"), "  not  a.b in c");
        assert_eq!(rewritten(versions, "exec(a.b)"), "exec(a.b)");
        assert_eq!(rewritten(versions, "from a.async.b import c"), "from a.Async.b import c");
        assert_eq!(rewritten(versions, "a.asyncb .async"), "a.asyncb .async");
    }
}
