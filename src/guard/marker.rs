//! Marks of a merge or a patch must not land in a file.

use super::{Guard, Judgement, Subject};
use crate::base::text::visible;
use crate::base::{Code, Finding};
use crate::policy::Policy;

/// The guard `conflict_markers`.
#[derive(Debug)]
pub struct ConflictMarkers;

/// What kind of mark a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// `<<<<<<<`, `>>>>>>>` or `|||||||` and a name: of a merge conflict or a SEARCH/REPLACE block.
    Side,
    /// `=======` alone: a mark in code, an underline in prose.
    Middle,
    /// `*** Begin Patch` and its likes.
    Envelope,
    /// `@@ -1,2 +3,4 @@`.
    Hunk,
}

/// Files in which such lines are at home.
const PATCHES: [&str; 4] = ["diff", "patch", "rej", "orig"];

impl Guard for ConflictMarkers {
    fn name(&self) -> &'static str {
        "conflict_markers"
    }

    fn rule(&self) -> &'static str {
        "An added line is a conflict marker, a SEARCH/REPLACE marker, a line of a `*** Begin Patch` envelope or a hunk header, and the text \
         before had none of its kind. `=======` and hunk headers count only in code, outside strings and comments."
    }

    fn source(&self) -> &'static str {
        "benches/guards"
    }

    fn judge(&self, subject: &Subject<'_>, _: &Policy) -> Judgement {
        detect(subject).map(|(row, line)| explain(subject, row, line)).into()
    }
}

/// The first mark that the edit brings: its row and its line.
#[must_use]
pub fn detect<'a>(subject: &Subject<'a>) -> Option<(usize, &'a [u8])> {
    subject.text()?;
    let path = subject.path.to_string();
    if path.rsplit('.').next().is_some_and(|extension| PATCHES.contains(&extension)) {
        return None;
    }
    let candidates: Vec<(usize, &[u8], Mark)> =
        subject.fresh_lines().filter_map(|(row, line)| Some((row, line, mark(line)?))).collect();
    if candidates.is_empty() {
        return None;
    }
    let (old, _) = subject.lines().texts();
    let known: Vec<Mark> = old.iter().filter_map(|line| mark(line)).collect();
    let sides = candidates.iter().any(|(_, _, mark)| *mark == Mark::Side);
    let counts = |row: usize, mark: Mark| match mark {
        Mark::Side | Mark::Envelope => true,
        Mark::Middle | Mark::Hunk => {
            sides || subject.language().is_some() && !subject.is_prose(row)
        }
    };
    let found =
        candidates.into_iter().find(|(row, _, mark)| !known.contains(mark) && counts(*row, *mark));
    found.map(|(row, line, _)| (row, line))
}

/// What mark a line is, if it is one.
fn mark(line: &[u8]) -> Option<Mark> {
    let line = line.trim_ascii_end();
    let first = *line.trim_ascii_start().first()?;
    match first {
        b'<' | b'>' | b'|' => {
            let body = line.trim_ascii_start();
            let count = body.iter().take_while(|&&byte| byte == first).count();
            let name = &body[count..];
            let block = [&b" SEARCH"[..], b" REPLACE", b" ORIGINAL", b" UPDATED"]
                .iter()
                .any(|word| name.starts_with(word));
            let at_start = body.len() == line.len()
                && count == 7
                && (name.is_empty() || name.starts_with(b" "));
            (at_start || block && (5..=9).contains(&count)).then_some(Mark::Side)
        }
        b'=' => (line == b"=======").then_some(Mark::Middle),
        b'*' => {
            let words: [&[u8]; 6] = [
                b"Begin Patch",
                b"End Patch",
                b"Update File: ",
                b"Add File: ",
                b"Delete File: ",
                b"End of File",
            ];
            let rest = line.strip_prefix(b"*** ")?;
            words.iter().any(|word| rest.starts_with(word)).then_some(Mark::Envelope)
        }
        b'@' => {
            let rest = line.strip_prefix(b"@@ -")?;
            let close = memchr::memmem::find(rest, b" @@")?;
            let range = |byte: &u8| byte.is_ascii_digit() || b",+ ".contains(byte);
            rest[..close].iter().all(range).then_some(Mark::Hunk)
        }
        _ => None,
    }
}

fn explain(subject: &Subject<'_>, row: usize, line: &[u8]) -> Finding {
    let line_number = row + 1;
    Finding::new(
        Code::ConflictMarkers,
        format!(
            "{} would hold a mark of a merge or a patch at line {line_number}: \"{}\". Nothing was changed.",
            subject.path,
            visible(line)
        ),
        "Send the text as it is to stand in the file, without the marks around it. If the line belongs there, repeat with allow: \
         [\"conflict_markers\"].",
    )
    .at(subject.path)
    .with("line", line_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_told_from_lines_like_them() {
        let marks: [(&[u8], Mark); 8] = [
            (b"<<<<<<< HEAD\n", Mark::Side),
            (b"<<<<<<<\r\n", Mark::Side),
            (b">>>>>>> topic", Mark::Side),
            (b"  >>>>> REPLACE", Mark::Side),
            (b"||||||| base", Mark::Side),
            (b"=======", Mark::Middle),
            (b"*** Update File: a.c", Mark::Envelope),
            (b"@@ -1,2 +3,4 @@ f()", Mark::Hunk),
        ];
        for (line, expected) in marks {
            assert_eq!(mark(line), Some(expected), "{}", visible(line));
        }
        for line in [
            &b"<<<<<<<<\n"[..],
            b"a <<<<<<< b",
            b"========",
            b" =======",
            b"*** Note",
            b"@@ x @@",
            b"<<<<<<<x",
            b"",
        ] {
            assert_eq!(mark(line), None, "{}", visible(line));
        }
    }
}
