//! The trailers at the end of a commit message, found as `git interpret-trailers` finds them.

/// The start of lines that Git writes as trailers. With one of them, every fourth line of the block
/// needs to be a trailer.
const WRITTEN_BY_GIT: [&str; 2] = ["Signed-off-by: ", "(cherry picked from commit "];

/// The body of `text` and its last paragraph, if that is a block of trailers. A block with lines of
/// edt's is none, so that no text adds to what edt records.
#[must_use]
pub(super) fn of(text: &str) -> Option<(&str, &str)> {
    let (body, block) = text.rsplit_once("\n\n")?;
    let (mut trailers, mut others, mut written_by_git) = (0, 0, false);
    for line in block.lines() {
        if is_edts(line) {
            return None;
        }
        if WRITTEN_BY_GIT.iter().any(|start| line.starts_with(start)) {
            (trailers, written_by_git) = (trailers + 1, true);
        } else if is_trailer(line) {
            trailers += 1;
        } else if trailers == 0 || !line.starts_with([' ', '\t']) {
            // Other lines with white space at the start continue a trailer.
            others += 1;
        }
    }
    let counts = trailers > 0 && (others == 0 || written_by_git && trailers * 3 >= others);
    counts.then_some((body.trim_end_matches('\n'), block))
}

/// Whether the line has the form of edt's trailers.
#[must_use]
pub(super) fn is_edts(line: &str) -> bool {
    line.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("edt-")) && is_trailer(line)
}

fn is_trailer(line: &str) -> bool {
    line.split_once(':').is_some_and(|(key, _)| {
        let key = key.trim_end_matches([' ', '\t']);
        !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(text: &str) -> Option<&str> {
        of(text).map(|(_, block)| block)
    }

    #[test]
    fn a_paragraph_of_trailers_is_a_block() {
        let trailers = "Fixes: #1\nCo-authored-by: A <a@b>\n  and more";
        assert_eq!(of(&format!("x\n\ny\n\n{trailers}")), Some(("x\n\ny", trailers)));
    }

    #[test]
    fn the_subject_is_no_block() {
        assert_eq!(block("fix: the parser"), None);
    }

    #[test]
    fn a_paragraph_with_other_lines_is_a_block_only_with_a_trailer_of_gits() {
        assert_eq!(block("x\n\nNote: this\nis text"), None);
        let signed = "[a: rebased]\nSigned-off-by: A <a@b>";
        assert_eq!(block(&format!("x\n\n{signed}")), Some(signed));
        assert_eq!(block("x\n\none\ntwo\nthree\nfour\nSigned-off-by: A <a@b>"), None);
    }

    #[test]
    fn a_paragraph_with_a_trailer_of_edts_is_no_block() {
        assert_eq!(block("x\n\nFixes: #1\nEdt-Allowed: encoding"), None);
        assert_eq!(block("x\n\nFixes: #1\nedt-kind : land"), None);
    }
}
