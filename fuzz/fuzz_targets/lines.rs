#![no_main]
//! An edit by line numbers changes these lines and no other byte.

use edt_edit::LineRange;
use edt_edit::range::{ChangedLines, VerifiedBy, splices};
use edt_edit::splice::apply;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let [first, last, kind, rest @ ..] = data else { return };
    let (text, content) = edt_fuzz::halves(rest);
    let range = if kind % 2 == 0 {
        LineRange::Before(usize::from(*first))
    } else {
        LineRange::Of(usize::from(*first), usize::from(*last))
    };
    let Ok(splices) = splices(text, range, content, None, VerifiedBy::Hash(&ChangedLines::default())) else { return };
    let after = apply(text, &splices);
    if let [splice] = splices.as_slice() {
        assert!(after.starts_with(&text[..splice.at.start]) && after.ends_with(&text[splice.at.end..]));
    }
});
