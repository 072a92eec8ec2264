//! Brackets, quotes and comments of texts without a grammar.

use super::subject::{LineChange, Subject};
use super::syntax_break::{BreakKind, SyntaxBreak, row_of, unmatched_bracket};
use edt_lang::brackets::{Bracket, unmatched};
use edt_lang::families::Family;
use edt_lang::pairs::family_brackets;
use edt_lang::unparsed::MAX_BYTES;

/// What the new text leaves open or closes too often, if the old text is in balance. A line with
/// what the reader of the family does not know is not judged.
pub(super) fn unpaired(subject: &Subject<'_>, family: &'static Family) -> Option<SyntaxBreak> {
    let after = subject.text()?;
    let is_known = |text: &[u8]| text.len() <= MAX_BYTES;
    if !is_known(after) || !is_known(subject.old_text()) {
        return None;
    }
    let found = family_brackets(family, after)?;
    let alone = unmatched(&found);
    let Some(last) = alone.last() else { return cut_off(subject, family) };
    let before = subject.old_family_text(family);
    let in_balance =
        |text| family_brackets(family, text).is_some_and(|all| unmatched(&all).is_empty());
    if !before.is_none_or(in_balance) || has_signs(subject, family) {
        return None;
    }
    let is_quote = |bracket: &&Bracket| !b"()[]{}".contains(&bracket.byte);
    // A string that does not end explains the brackets behind it.
    let quote = alone.iter().find(is_quote);
    let bracket = match quote {
        Some(quote) => *quote,
        None => unmatched_bracket(after, &found, &subject.touched()).unwrap_or(*last),
    };
    let comment = family
        .block_comments
        .iter()
        .any(|(open, _)| after[bracket.at..].starts_with(open.as_bytes()));
    let cause = change(subject, family, row_of(after, bracket.at));
    let mut found = SyntaxBreak { cause, ..SyntaxBreak::unmatched(bracket) };
    if comment {
        found.what = BreakKind::Rule("a comment without its end");
        found.bracket = None;
    }
    // Quotes have more meanings than a reader without a grammar knows.
    found.certain = before.is_some() && (comment || quote.is_none());
    Some(found)
}

/// The change that opens or closes more than before, if the bracket is in no change.
fn change(subject: &Subject<'_>, family: &Family, row: usize) -> Option<usize> {
    let (old, new) = subject.lines().texts();
    let counts = |lines: &[&[u8]]| {
        let text = lines.concat();
        let found = family_brackets(family, &text).unwrap_or_default();
        let count = |byte| found.iter().filter(|one| one.byte == byte).count();
        let pairs = [(b'(', b')'), (b'[', b']'), (b'{', b'}')];
        // Numbers of both texts are compared, so they may wrap.
        pairs.map(|(open, close)| count(open).wrapping_sub(count(close)))
    };
    let hunks = subject.hunks();
    if hunks.iter().any(|hunk| hunk.new.contains(&row)) {
        return None;
    }
    let differs =
        |hunk: &&LineChange| counts(&old[hunk.old.clone()]) != counts(&new[hunk.new.clone()]);
    let hunk = hunks.iter().find(differs).or_else(|| hunks.first())?;
    Some(subject.start_of(hunk.new.start.min(new.len().saturating_sub(1))))
}

/// Whether the text ends within a block that the old text ended: with `end` at the start of a line.
fn cut_off(subject: &Subject<'_>, family: &Family) -> Option<SyntaxBreak> {
    let (old, new) = subject.lines().texts();
    let last = |lines: &[&[u8]]| lines.iter().rposition(|line| !line.trim_ascii().is_empty());
    let row = last(new)?;
    let ended = last(old).is_some_and(|row| old[row].trim_ascii_end() == b"end");
    let line = new[row].trim_ascii();
    // `end)` ends a call.
    let closes = line.starts_with(b"end") && line.len() > 3;
    let indented = new[row].starts_with(b" ") || new[row].starts_with(b"\t");
    // The end of the old text is gone, and nothing is in its place.
    let is_cut = matches!(subject.hunks().last(), Some(hunk)
        if hunk.new.is_empty() && hunk.old.end == old.len());
    if !family.ends || !ended || !indented || closes || !is_cut {
        return None;
    }
    let bracket = Bracket { at: subject.start_of(row), byte: b'{' };
    let what = BreakKind::Rule("a text that ends within a block");
    Some(SyntaxBreak { what, bracket: None, ..SyntaxBreak::unmatched(bracket) })
}

/// Whether a changed line has what the reader does not know.
fn has_signs(subject: &Subject<'_>, family: &Family) -> bool {
    let (old, new) = subject.lines().texts();
    let has = |lines: &[&[u8]]| {
        let mut signs = family.signs.iter();
        signs.any(|sign| {
            lines.iter().any(|line| memchr::memmem::find(line, sign.as_bytes()).is_some())
        })
    };
    subject.hunks().iter().any(|hunk| has(&old[hunk.old.clone()]) || has(&new[hunk.new.clone()]))
}

#[cfg(test)]
mod tests {
    use super::super::syntax::detect;
    use super::*;

    /// Where the edit breaks the pairs: the line, and whether it is refused.
    fn found(path: &str, before: Option<&str>, after: &str) -> Option<(u64, bool)> {
        let path = edt_types::RepoPath::parse(path.as_bytes()).unwrap();
        let limit = std::time::Duration::from_secs(5);
        let (before, after) = (before.map(str::as_bytes), after.as_bytes());
        let subject = Subject::new(&path, None, before, Some(after), Vec::new(), limit);
        let found = detect(&subject).unwrap()?;
        let at = found.cause.unwrap_or(found.at);
        Some((edt_types::text::line_of(after, at), found.certain))
    }

    const KOTLIN: &str = "class A(val b: Int) {\n    fun c(d: Int): Int {\n        if (d > b) {\n            return d\n        }\n        return e(\"f\")\n    }\n}\n";

    #[test]
    fn a_bracket_without_a_partner_is_found_without_a_grammar() {
        let of = |from: &str, to: &str| found("a.kt", Some(KOTLIN), &KOTLIN.replace(from, to));
        assert_eq!(of("return d", "return d + 1"), None);
        assert_eq!(
            of("            return d\n        }\n", "            return d\n"),
            Some((5, true))
        );
        assert_eq!(of("(d > b)", "(d > b"), Some((3, true)));
        assert_eq!(of("\"f\"", "\"f"), Some((6, false)), "a quote is a warning");
        assert_eq!(of("return d\n", "/* return d\n"), Some((4, true)));
        assert_eq!(of("return d\n", "return d }\n"), Some((4, true)));
    }

    #[test]
    fn a_text_whose_blocks_end_with_a_word_may_not_end_within_one() {
        let text = "class A\n  def b\n    c\n  end\nend\n";
        let of = |after: &str| found("a.rb", Some(text), after);
        assert_eq!(of("class A\n  def b\n    c\n"), Some((3, true)));
        assert_eq!(of("class A\n  def b\n    c\n  end\n"), Some((4, true)));
        assert_eq!(of("class A\nend\n"), None);
        assert_eq!(found("a.lua", Some("a()\nend\n"), "a(\n  b()\n  end)\n"), None);
        assert_eq!(found("a.rb", Some("a\n"), "a\n  .b\n"), None);
    }

    #[test]
    fn what_was_not_in_balance_is_not_judged() {
        let before = KOTLIN.replace("(d > b)", "(d > b");
        assert_eq!(found("a.kt", Some(&before), &before.replace("return d", "return (d")), None);
        assert_eq!(found("a.kt", None, &before), Some((3, false)));
        assert_eq!(found("a.txt", Some(KOTLIN), &before), None);
    }

    #[test]
    fn a_line_with_what_the_reader_does_not_know_is_not_judged() {
        let text = |line: &str| format!("let a = b()\n{line}\n");
        let of = |line: &str| found("a.swift", Some(&text("")), &text(line));
        assert_eq!(of("let c = /d(/"), None);
        assert_eq!(of("let c = d("), Some((2, true)));
        let of = |line: &str| found("a.rb", Some("a = b\n"), &format!("a = b\n{line}\n"));
        assert_eq!(of("c = [d, ?(]"), None);
        assert_eq!(of("c = d.is_a?(E"), Some((2, true)));
    }
}
