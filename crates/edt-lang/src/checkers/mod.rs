//! Readers of languages whose programs accept more than their grammars know. They follow what the
//! program itself rejects, so that an idiom is no fault.

pub(crate) mod css;
pub(crate) mod make;

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::ops::Range;

use crate::fault::{SyntaxFault, SyntaxFaultKind};

/// Finds the faults of a text, in text order. `None` if the time limit is over.
pub(crate) type Checker = fn(&[u8], &dyn Fn() -> bool) -> Option<Vec<SyntaxFault>>;

/// A fault as a checker finds it: where, and what is wrong, as a noun phrase.
type Found = (Range<usize>, &'static str);

/// The byte-order mark, which readers skip.
const BOM: &[u8] = b"\xef\xbb\xbf";

fn into_faults(text: &[u8], mut found: Vec<Found>) -> Vec<SyntaxFault> {
    found.sort_by_key(|(bytes, _)| bytes.start);
    let (mut at, mut row) = (0, 0);
    let fault = |(bytes, problem): Found| {
        row += memchr::memchr_iter(b'\n', &text[at..bytes.start]).count();
        at = bytes.start;
        let inner = text[bytes.clone()].trim_ascii_end();
        let rows = row..row + memchr::memchr_iter(b'\n', inner).count() + 1;
        let mut hasher = DefaultHasher::new();
        problem.hash(&mut hasher);
        SyntaxFault {
            kind: SyntaxFaultKind::Rule(problem),
            bytes,
            rows,
            shape: hasher.finish(),
            parent: String::new(),
            first: String::new(),
        }
    };
    found.into_iter().map(fault).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The 1-based line and the problem of each fault.
    pub(super) fn problems_of(checker: Checker, text: &str) -> Vec<(usize, &'static str)> {
        let problem = |fault: SyntaxFault| match fault.kind {
            SyntaxFaultKind::Rule(problem) => (fault.rows.start + 1, problem),
            kind => panic!("{kind:?}"),
        };
        checker(text.as_bytes(), &|| false).unwrap().into_iter().map(problem).collect()
    }

    #[test]
    fn a_reading_ends_with_its_time() {
        for checker in [css::faults as Checker, make::faults] {
            assert!(checker(b"a: b\n", &|| true).is_none());
        }
    }

    #[test]
    fn every_part_of_a_text_can_be_read() {
        let css = b"@media (a) { b:c, d { e: url(f) \"g\\\n h\" ; /* i */ } }\n}\n<!-- \\ --> ,,";
        let make = b"ifeq ($(A),b)\nx: $$(y) ${z:a=b} \\\n\tw # v\nendif\ndefine q\nendef\n\\";
        for (checker, text) in [(css::faults as Checker, &css[..]), (make::faults, make)] {
            for from in 0..text.len() {
                for to in from..=text.len() {
                    checker(&text[from..to], &|| false).unwrap();
                }
            }
        }
    }
}
