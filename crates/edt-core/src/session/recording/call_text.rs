//! What an agent's tool says that it does to a file: the text afterwards, and the text before.

use std::collections::HashMap;

use edt_edit::hunk::HunkLine;
use edt_edit::stage::EditedFiles;
use edt_edit::{Edit, Op};
use edt_journal::PrivateBytes;
use edt_types::RepoPath;

/// The file after `edits`; `None` if they do not apply.
pub(crate) fn applied(
    edits: &[Edit],
    path: &RepoPath,
    file: Option<&PrivateBytes>,
) -> Option<Option<PrivateBytes>> {
    let is_write = |edit: &Edit| matches!(edit.op, Op::Write { .. });
    // A tool writes its content as it is; edt's own mode keeps the line ends of the file.
    let first = edits.iter().rposition(is_write);
    let (written, rest) = edits.split_at(first.map_or(0, |at| at + 1));
    let written = written.last().and_then(|edit| match &edit.op {
        Op::Write { content } => Some(content.as_slice()),
        _ => None,
    });
    let executable = file.is_some_and(|file| file.executable);
    let text = written.or(file.map(|file| file.bytes.as_slice()));
    let start = text.map(|text| (text, executable));
    let mut files = EditedFiles::default().with(path.clone(), start);
    for edit in rest {
        files.apply(edit).ok()?;
    }
    let (_, after) = files.into_files().find(|(found, _)| found == path)?;
    let permissions = file.and_then(|file| file.permissions);
    Some(after.map(|after| PrivateBytes { executable, permissions, bytes: after.text.into() }))
}

/// The text in which these replacements were made, the first one first. `None` unless each of them
/// has only one place, or if there are other edits.
pub(crate) fn reversed(text: &[u8], edits: &[Edit]) -> Option<Vec<u8>> {
    let mut text = text.to_vec();
    for (old, new) in pieces(edits)?.iter().rev() {
        let at = only_place(&text, new)?;
        text.splice(at..at + new.len(), old.iter().copied());
        only_place(&text, old)?;
    }
    (!edits.is_empty()).then_some(text)
}

/// The pieces of text that `edits` replace, the old and the new one; `None` if they do more.
fn pieces(edits: &[Edit]) -> Option<Vec<(Vec<u8>, Vec<u8>)>> {
    let mut all = Vec::new();
    for edit in edits {
        match &edit.op {
            Op::Edit { old, new, .. } => all.push((old.clone(), new.clone())),
            Op::Patch { hunks, .. } => all
                .extend(hunks.iter().map(|hunk| (lines(hunk.old_side()), lines(hunk.new_side())))),
            _ => return None,
        }
    }
    Some(all)
}

/// The lines of one side of a hunk, as they are in a file.
fn lines(side: Vec<&HunkLine>) -> Vec<u8> {
    let end = |line: &HunkLine| if line.cr { &b"\r\n"[..] } else { &b"\n"[..] };
    side.into_iter().flat_map(|line| [line.text.as_slice(), end(line)].concat()).collect()
}

/// Where `piece` occurs in `text`; `None` if it occurs nowhere or more than once.
fn only_place(text: &[u8], piece: &[u8]) -> Option<usize> {
    if piece.is_empty() {
        return None;
    }
    let mut places = memchr::memmem::find_iter(text, piece);
    let first = places.next()?;
    let again = memchr::memmem::find(&text[first + 1..], piece);
    again.is_none().then_some(first)
}

/// Whether `now` shows that `edits` were made, which lead from `before` to `after`: it has text that
/// they add, also in another order. If they only remove lines, one of these is gone. A formatter may
/// have changed white space and punctuation.
pub(crate) fn shows(edits: &[Edit], [before, after, now]: [Option<&PrivateBytes>; 3]) -> bool {
    let [before, after, now] =
        [before, after, now].map(|file| file.map_or(&[][..], |file| file.bytes.as_slice()));
    let [old, new, disk] = [before, after, now].map(line_counts);
    let count = |of: &HashMap<&[u8], usize>, line: &[u8]| of.get(line).copied().unwrap_or(0);
    let lines_with_more = |more: &HashMap<&[u8], usize>, less: &HashMap<&[u8], usize>| {
        let lines = more.keys().filter(|line| count(more, line) > count(less, line));
        lines.map(|line| line.to_vec()).collect::<Vec<Vec<u8>>>()
    };
    let has = |text: &[u8], piece: &[u8]| memchr::memmem::find(text, piece).is_some();
    let times = |text: &[u8], piece: &[u8]| memchr::memmem::find_iter(text, piece).count();
    let is_new_piece = |(old, new): &(Vec<u8>, Vec<u8>)| {
        // What is left of the old text is not new.
        !has(old, new)
            && new.iter().any(|byte| !byte.is_ascii_whitespace())
            && times(now, new) > times(before, new)
    };
    if pieces(edits).iter().flatten().any(is_new_piece) {
        return true;
    }
    let added = lines_with_more(&new, &old);
    if added.is_empty() {
        let removed = lines_with_more(&old, &new);
        return removed.iter().any(|line| count(&disk, line) < count(&old, line));
    }
    let (words_before, words_now) = (words(before), words(now));
    let is_new = |line: &Vec<u8>| {
        let line_words = words(line);
        if line_words.is_empty() {
            return false;
        }
        count(&disk, line) > count(&old, line)
            || has(&words_now, &line_words) && !has(&words_before, &line_words)
    };
    added.iter().any(is_new)
        || added.iter().all(|line| words(line).is_empty())
            && added.iter().any(|line| count(&disk, line) > count(&old, line))
}

/// How often each line occurs, without its line end.
fn line_counts(text: &[u8]) -> HashMap<&[u8], usize> {
    let mut counts = HashMap::new();
    for line in text.split(|byte| *byte == b'\n') {
        *counts.entry(line.strip_suffix(b"\r").unwrap_or(line)).or_default() += 1;
    }
    counts
}

/// The letters and digits of `text`.
fn words(text: &[u8]) -> Vec<u8> {
    text.iter().copied().filter(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii()).collect()
}

/// Whether the files differ at most in line ends, and in whether the last line has one.
pub(crate) fn same_text(one: Option<&PrivateBytes>, other: Option<&PrivateBytes>) -> bool {
    let (Some(one), Some(other)) = (one, other) else { return false };
    let text = |file: &PrivateBytes| {
        let lines = file.bytes.strip_suffix(b"\n").unwrap_or(&file.bytes).split(|it| *it == b'\n');
        let bare = lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line).to_vec());
        bare.collect::<Vec<_>>()
    };
    one.executable == other.executable && text(one) == text(other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use edt_edit::Expect;
    use edt_edit::locate::Occurrences;
    use edt_edit::place::Matching;

    fn path() -> RepoPath {
        crate::tests::path("a.txt")
    }

    fn edit(op: Op) -> Edit {
        Edit { path: path(), expect: Expect::Anything, op }
    }

    fn replace(old: &str, new: &str) -> Edit {
        edit(Op::Edit {
            old: old.into(),
            new: new.into(),
            occurrences: Occurrences::One,
            matching: Matching::Strict,
        })
    }

    fn file(text: &str) -> PrivateBytes {
        PrivateBytes { executable: false, permissions: None, bytes: text.into() }
    }

    #[test]
    fn only_unambiguous_replacements_are_reversed() {
        let back = |text: &str, all: &[(&str, &str)]| {
            let edits: Vec<Edit> = all.iter().map(|one| replace(one.0, one.1)).collect();
            reversed(text.as_bytes(), &edits).map(|text| String::from_utf8(text).unwrap())
        };
        assert_eq!(back("a two c\n", &[("one", "two")]).as_deref(), Some("a one c\n"));
        assert_eq!(back("a 3 c\n", &[("1", "2"), ("2", "3")]).as_deref(), Some("a 1 c\n"));
        assert_eq!(back("two two\n", &[("one", "two")]), None);
        assert_eq!(back("one two\n", &[("one", "two")]), None);
        assert_eq!(back("three\n", &[("one", "two")]), None);
        assert_eq!(back("a\n", &[("one", "")]), None);
        assert_eq!(back("a\n", &[]), None);
        // Overlapping occurrences.
        assert_eq!(back("aaa\n", &[("b", "aa")]), None);
    }
    #[test]
    fn a_write_is_not_reversed() {
        assert_eq!(reversed(b"a\n", &[edit(Op::Write { content: b"a\n".to_vec() })]), None);
    }

    #[test]
    fn edits_apply_one_after_another() {
        let after = |edits: &[Edit], before: Option<&str>| {
            let before = before.map(file);
            let after = applied(edits, &path(), before.as_ref())?;
            Some(after.map(|after| String::from_utf8(after.bytes).unwrap()))
        };
        let text = |text: &str| Some(Some(text.to_owned()));
        assert_eq!(after(&[replace("1", "2"), replace("2", "3")], Some("1\n")), text("3\n"));
        assert_eq!(after(&[replace("9", "2")], Some("1\n")), None);
        assert_eq!(after(&[replace("1", "2")], None), None);
        let write = edit(Op::Write { content: b"1\n".to_vec() });
        // A tool does not keep the line ends.
        assert_eq!(after(std::slice::from_ref(&write), Some("a\r\nb")), text("1\n"));
        assert_eq!(after(&[write, replace("1", "2")], None), text("2\n"));
        assert_eq!(after(&[edit(Op::Delete { holds: None })], Some("1\n")), Some(None));
    }

    #[test]
    fn lines_in_another_order_show_that_a_call_was_made() {
        let shown = |old: &str, new: &str, texts: [&str; 3]| {
            let [before, after, now] = texts.map(file);
            shows(&[replace(old, new)], [Some(&before), Some(&after), Some(&now)])
        };
        let texts = ["1\n2\n3", "2\n1\n3", "2\n1\nuser"];
        assert!(shown("1\n2", "2\n1", texts));
        assert!(!shown("1\n2", "2\n1", ["1\n2\n3", "2\n1\n3", "1\n2\nuser"]));
        // The user typed what a removal would leave.
        assert!(!shown("1\n2", "2", ["1\n2\n3", "2\n3", "1\n2\n2"]));
    }

    #[test]
    fn line_ends_are_no_other_text() {
        let same = |one: &str, other: &str| same_text(Some(&file(one)), Some(&file(other)));
        assert!(same("a\r\nb", "a\nb\n"));
        assert!(!same("a\nb\n", "a\nb \n") && !same_text(None, Some(&file(""))));
    }
}
