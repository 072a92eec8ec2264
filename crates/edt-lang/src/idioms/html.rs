//! Idioms of web pages.

use super::blank_out;

/// Blanks what browsers take for a comment, the declaration `<?xml …?>` and `<![CDATA[ … ]]>`, and what
/// they take for text: a `<`, or two, before white space, a digit or `=`.
pub(crate) fn declarations(text: &[u8], expired: &dyn Fn() -> bool) -> Option<Vec<u8>> {
    let mut out = text.to_vec();
    for (open, close) in [(&b"<?xml"[..], &b"?>"[..]), (b"<![CDATA[", b"]]>")] {
        let mut from = 0;
        while let Some(at) = memchr::memmem::find(&text[from..], open).map(|at| from + at) {
            if expired() {
                return None;
            }
            let Some(length) = memchr::memmem::find(&text[at..], close) else { break };
            from = at + length + close.len();
            // A part whose own end is gone would hide all text up to the end of another one.
            let inside = &text[at + open.len()..at + length];
            if memchr::memmem::find(inside, open).is_none() {
                blank_out(&mut out[at..from]);
            }
        }
    }
    for at in memchr::memchr_iter(b'<', text) {
        let next = text.get(at + 1);
        let is_text = next
            .is_some_and(|byte| byte.is_ascii_whitespace() || matches!(byte, b'0'..=b'9' | b'='));
        let signs = text[..=at].iter().rev().take_while(|byte| **byte == b'<').count();
        if is_text && signs <= 2 {
            out[at + 1 - signs..=at].fill(b' ');
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::idioms::tests::rewritten;

    #[test]
    fn what_browsers_take_for_a_comment_becomes_blank() {
        let text = "<?xml version=\"1.0\"?>\n<p><![CDATA[ a < b\n ]]></p>\n<![CDATA[ <p>";
        let blank = format!(
            "{}\n<p>{}\n{}</p>\n<![CDATA[ <p>",
            " ".repeat(21),
            " ".repeat(15),
            " ".repeat(4)
        );
        assert_eq!(rewritten(declarations, text), blank.replace("a < b", "a   b"));
        let lost = "<![CDATA[ a <p <b <![CDATA[ c ]]>";
        assert_eq!(rewritten(declarations, lost), lost);
    }

    #[test]
    fn a_sign_before_a_blank_is_text() {
        let text = "<p>0 < a <= b <2 c</p> 1 << d <e> <<< f <<g <";
        let blank = "<p>0   a  = b  2 c</p> 1    d <e> <<< f <<g <";
        assert_eq!(rewritten(declarations, text), blank);
    }
}
