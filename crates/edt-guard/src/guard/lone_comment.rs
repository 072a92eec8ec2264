//! A comment alone where code was: a placeholder in words that no list has.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

use super::artifact::is_code;
use super::subject::Subject;
use edt_lang::Language;
use edt_types::text::{counted, visible};

/// A comment and the code that it replaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LoneComment {
    /// Its row in the new text.
    row: usize,
    /// How many lines of code go.
    lost: usize,
}

/// Fewer lines may be replaced by a remark.
const MIN_LOST: usize = 4;
/// A name is at least so long. Shorter words are in every sentence.
const MIN_NAME: usize = 4;
/// Changes this close to each other are one.
const NEAR: usize = 3;

/// The first fresh comment that is all that is left of a change, of code that occurs nowhere else.
pub(super) fn first(subject: &Subject<'_>) -> Option<LoneComment> {
    subject.before.filter(|_| is_code(subject))?;
    let may_be = subject.hunks().iter().any(|hunk| hunk.old.len() >= MIN_LOST);
    let mut fresh = subject.fresh_lines().filter(|_| may_be);
    let all_lost = OnceCell::new();
    fresh.find_map(|(row, line)| {
        let comment = sentence(line, subject.language()).filter(|_| !subject.is_over())?;
        let lost = lost_for(subject, row, comment, &all_lost)?;
        Some(LoneComment { row, lost })
    })
}

pub(super) fn message(subject: &Subject<'_>, found: &LoneComment) -> String {
    let line = subject.lines().texts().1.get(found.row).copied().unwrap_or_default();
    format!(
        "Line {} of {} would be a comment in place of {} of code: \"{}\". If it stands for them, \
         send them.",
        found.row + 1,
        subject.path,
        counted(found.lost, "line"),
        visible(line.trim_ascii())
    )
}

/// The words of a comment that is the entire line and neither code nor a directive.
fn sentence<'l>(line: &'l [u8], language: Option<&Language>) -> Option<&'l str> {
    let line = std::str::from_utf8(line).ok()?.trim();
    let (body, is_comment) = without_comment_marks(line, language);
    let is_sentence = is_comment
        && line.len() <= 160
        && !body.contains(['=', ';', '{', '}', '@', '`', '_'])
        && body.starts_with(|c: char| c.is_alphabetic() || "([<.…".contains(c))
        && body.contains(' ')
        && !line.starts_with("#!");
    is_sentence.then_some(body)
}

/// How many lines of code go where the comment in `row` is all that comes, if these are enough and
/// it has no name from them.
fn lost_for<'s>(
    subject: &Subject<'s>,
    row: usize,
    comment: &str,
    all_lost: &OnceCell<HashMap<&'s [u8], i64>>,
) -> Option<usize> {
    let (old, new) = subject.lines().texts();
    let near = |range: &std::ops::Range<usize>| range.start <= row + NEAR && row < range.end + NEAR;
    let hunks = || subject.hunks().iter().filter(|hunk| near(&hunk.new));
    let filled = |line: &&[u8]| line.iter().any(u8::is_ascii_alphanumeric);
    let is_alone =
        hunks().flat_map(|hunk| hunk.new.clone()).all(|other| other == row || !filled(&new[other]));
    if !is_alone || hunks().map(|hunk| hunk.old.len()).sum::<usize>() < MIN_LOST {
        return None;
    }
    let lost = all_lost.get_or_init(|| subject.lost_lines());
    let is_code = |line: &&&[u8]| {
        let text = String::from_utf8_lossy(line);
        filled(line)
            && lost.contains_key(line.trim_ascii())
            && !without_comment_marks(text.trim(), subject.language()).1
    };
    let code: Vec<&[u8]> =
        hunks().flat_map(|hunk| &old[hunk.old.clone()]).filter(is_code).copied().collect();
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let words = |text: &[u8]| -> HashSet<Vec<u8>> {
        let words = text.split(|byte| !is_word(byte)).filter(|word| word.len() >= MIN_NAME);
        words.map(<[u8]>::to_vec).collect()
    };
    let said = words(comment.as_bytes());
    let names_them = || code.iter().any(|line| words(line).iter().any(|word| said.contains(word)));
    (code.len() >= MIN_LOST && !names_them()).then_some(code.len())
}

/// A line without its comment marks, and whether it had any. A language with comments has only its
/// own marks. In a language without, such as JSON, and in markup, which may contain scripts, the
/// marks of any language count.
pub(super) fn without_comment_marks<'t>(
    text: &'t str,
    language: Option<&Language>,
) -> (&'t str, bool) {
    const DOCUMENTATION: [&str; 3] = ["///", "//!", "/**"];
    const OPEN: [&str; 10] = ["<!--", "{/*", "/*", "//", "##", "#", "--", ";;", ";", "%"];
    const CLOSE: [&str; 3] = ["-->", "*/}", "*/"];
    if DOCUMENTATION.iter().any(|mark| text.starts_with(mark)) {
        return (text, false);
    }
    let has_own = |language: &Language| {
        !(language.markup
            || language.line_comments.is_empty() && language.block_comments.is_empty())
    };
    let is_comment = |mark: &&&str| match language.filter(|language| has_own(language)) {
        Some(own) => {
            let mut marks =
                own.line_comments.iter().chain(own.block_comments.iter().map(|(open, _)| open));
            marks.any(|own| mark.starts_with(own))
        }
        None => true,
    };
    let open = OPEN.iter().filter(is_comment).find_map(|mark| text.strip_prefix(mark));
    let star = || text.strip_prefix("* ").filter(|_| text.contains("...") || text.contains('…'));
    let Some(body) = open.or_else(star) else { return (text, false) };
    let body = CLOSE.iter().find_map(|mark| body.trim_end().strip_suffix(mark)).unwrap_or(body);
    (body.trim(), true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use edt_types::RepoPath;

    fn found(path: &str, before: &str, after: &str) -> Option<usize> {
        let path = RepoPath::parse(path.as_bytes()).unwrap();
        let (before, after) = (Some(before.as_bytes()), Some(after.as_bytes()));
        let limit = std::time::Duration::from_secs(5);
        first(&Subject::new(&path, None, before, after, Vec::new(), limit)).map(|found| found.lost)
    }

    const BODY: &str = "    a = load(1)\n    b = store(a)\n    c = a + b\n    return check(c)\n";

    fn with(body: &str) -> String {
        format!("def f():\n{body}\ndef g():\n    return 1\n")
    }

    #[test]
    fn a_comment_in_place_of_code_is_found_whatever_it_says() {
        for comment in [
            "# (as in your version)",
            "# nothing new in here",
            "# ... you know the drill",
            "# the usual handling goes on",
        ] {
            let after = with(&format!("    {comment}\n"));
            assert_eq!(found("a.py", &with(BODY), &after), Some(4), "{comment}");
        }
        let after = with("  -- you know the drill\n");
        assert_eq!(found("a.lua", &with(BODY), &after), Some(4));
    }

    #[test]
    fn a_comment_that_explains_what_went_is_not() {
        let is = |comment: &str| found("a.py", &with(BODY), &with(comment));
        assert_eq!(is("    # load is done by the caller\n"), None, "a name");
        assert_eq!(is("    # the caller does it now\n    return 2\n"), None, "code comes");
        assert_eq!(is("    # pylint: disable=all\n"), None, "a directive");
        assert_eq!(is(""), None, "no comment");
        let three = BODY.replace("    c = a + b\n", "");
        assert_eq!(found("a.py", &with(&three), &with("    # you know the drill\n")), None);
        let comments = BODY.replace("    ", "    # ");
        assert_eq!(found("a.py", &with(&comments), &with("    # you know the drill\n")), None);
        assert_eq!(found("a.md", &with(BODY), &with("# You know the drill\n")), None);
    }
}
