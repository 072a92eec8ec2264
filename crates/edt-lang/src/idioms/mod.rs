//! Rewrites idioms that a grammar does not know into text that it knows. Every byte keeps its
//! offset, and line ends stay.
//!
//! A text is rewritten only after its parse found errors. An error that a rewritten text does not
//! have is an idiom.

mod c;
mod c_words;
mod go;
mod html;
mod rust;
mod shell;

#[allow(unused_imports, reason = "a build without a language uses nothing of it")]
pub(crate) use {c::macros, go::values, html::declarations, rust::editions, shell::expansions};

/// Rewrites a text. `None` if the time limit is over.
pub(crate) type Rewrite = fn(&[u8], &dyn Fn() -> bool) -> Option<Vec<u8>>;

/// The most bytes between brackets of an idiom.
const LONGEST: usize = 1000;

/// The place of the bracket that closes the one at `open`.
fn closing(text: &[u8], open: usize) -> Option<usize> {
    let (begin, end) = match text[open] {
        b'(' => (b'(', b')'),
        b'[' => (b'[', b']'),
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

/// Writes one name over the bytes.
fn name_over(bytes: &mut [u8]) {
    let first = memchr::memchr2(b'\n', b'\r', bytes).unwrap_or(bytes.len());
    bytes[..first].fill(b'A');
    blank_out(&mut bytes[first..]);
}

pub(crate) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// The length of the word at the start of a text.
fn word_length(text: &[u8]) -> usize {
    text.iter().take_while(|byte| is_word(**byte)).count()
}

/// How many blanks are at the start of a text.
fn blanks(text: &[u8]) -> usize {
    text.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r')).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    const REWRITES: [Rewrite; 5] = [declarations, macros, editions, expansions, values];

    pub(super) fn rewritten(rewrite: Rewrite, text: &str) -> String {
        String::from_utf8(rewrite(text.as_bytes(), &|| false).unwrap()).unwrap()
    }

    #[test]
    fn a_rewriting_ends_with_its_time() {
        let text =
            "a = ${b} <in T> class=\"c\", } X_Y z; 1e+9\n, ] try!(a) <?xml ?> import defer a new(b)"
                .as_bytes();
        for rewrite in REWRITES {
            assert_eq!(rewrite(text, &|| true), None);
        }
    }

    #[test]
    fn every_part_of_a_text_can_be_rewritten_and_keeps_its_lines() {
        let text = "a = ${b} <in T> class=\"c\", } X_Y z; 1e+9\n, ] for a do b | c /* d */ \
                    \"\\\" //\n <\n X(struct a *) decltype(a,\nb) ->operator+ (new T*[3]) export \
                    type * as if A_B (c) int A::*d = &A::d; EV_CPP(extern \"C\" {) <out Y, > \
                    try! safe fn\nexec a\ntype A[B=c, D=[e]]\n{f=\"\\x41\",\n'g'.h={}, } <?xml a ?> <![CDATA[\nb]]> coproc a {\n! { \\> a=`\nb` \">\" c\nimport \
                    defer * as b f<<S>(a)\n in(a): b /* c \
                    __attribute__ ((a)) x->*( .*(\nstatic A_B(c)\nregister a asm(\"b\") new(a) T*[ xstr(A) \"b\"\n\
                    for_a(b) if {\n#include c\n #[deriving(a)] 1u ~a decltype(b){} c=` d`\n) A_B;\n#define C\n, module a from 'b'; ${c}'\\''\" d ;;&\n!\n#include A >\n\
                    (<<-'e'; f\n\tg\n\te\n1 << 2 [[ (h)]]";
        let lines = |text: &[u8]| memchr::memchr_iter(b'\n', text).collect::<Vec<_>>();
        for (from, to) in
            (0..text.len()).flat_map(|from| (from..=text.len()).map(move |to| (from, to)))
        {
            let part = &text.as_bytes()[from..to];
            for rewrite in REWRITES {
                let out = rewrite(part, &|| false).unwrap();
                assert_eq!((out.len(), lines(&out)), (part.len(), lines(part)));
            }
        }
    }
}
