//! Marker lines of a merge or a patch must not get into a file.

use super::check::{Guard, GuardContext, GuardOutput};
use super::subject::Subject;
use edt_types::text::visible;
use edt_types::{Code, Finding};

/// The guard `conflict_markers`.
#[derive(Debug)]
pub struct ConflictMarkers;

/// The kind of a marker line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// `<<<<<<<`, `>>>>>>>` or `|||||||`, with or without a name, in a merge conflict or a
    /// SEARCH/REPLACE block.
    Side,
    /// `=======` alone: a marker in code, an underline in prose.
    Middle,
    /// `*** Begin Patch` and the other lines of that format.
    Envelope,
    /// `@@ -1,2 +3,4 @@`.
    Hunk,
}

/// Extensions of files that have such lines by nature.
const PATCHES: [&str; 4] = ["diff", "patch", "rej", "orig"];

impl Guard for ConflictMarkers {
    fn name(&self) -> &'static str {
        "conflict_markers"
    }

    fn rule(&self) -> &'static str {
        "An added line is a conflict marker, a SEARCH/REPLACE marker, a line of a `*** Begin \
         Patch` envelope or a hunk header, and the old text has none of its kind. `=======` and \
         hunk headers count only in code, outside strings and comments."
    }

    fn check(&self, file: &Subject<'_>, _: &GuardContext<'_>) -> Vec<GuardOutput> {
        GuardOutput::of(self.name(), detect(file).map(|(row, line)| explain(file, row, line)))
    }
}

/// The first marker that the edit adds: its row and its line.
#[must_use]
pub fn detect<'a>(subject: &Subject<'a>) -> Option<(usize, &'a [u8])> {
    subject.text()?;
    let path = subject.path.text();
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
            sides
                || subject.is_code(row)
                || mark == Mark::Middle && is_lone_middle(subject, row)
                || mark == Mark::Hunk && is_lone_hunk(subject, row)
        }
    };
    let found =
        candidates.into_iter().find(|(row, _, mark)| !known.contains(mark) && counts(*row, *mark));
    found.map(|(row, line, _)| (row, line))
}

/// Whether `=======` is directly below a directive of a template, `{% endif %}`: it underlines nothing.
fn is_lone_middle(subject: &Subject<'_>, row: usize) -> bool {
    let above = row.checked_sub(1).and_then(|row| subject.lines().texts().1.get(row));
    subject.language().is_some_and(|language| language.name == "html")
        && above.is_some_and(|line| line.trim_ascii().ends_with(b"}"))
}

/// Whether a hunk header of a page has no line of a patch below: the page does not show a patch.
fn is_lone_hunk(subject: &Subject<'_>, row: usize) -> bool {
    const SHOWN: usize = 8;
    let below = subject.lines().texts().1.iter().skip(row + 1).take(SHOWN);
    subject.language().is_some_and(|language| language.name == "html")
        && !below.into_iter().any(|line| matches!(line.first(), Some(b'+' | b'-')))
}

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
            "{} would have a marker of a merge or a patch at line {line_number}: \"{}\".",
            subject.path,
            visible(line)
        ),
        "Send the text exactly as it should be in the file, without the markers around it.",
    )
    .nothing_changed()
    .or_override("If the line belongs there, repeat with allow: [\"conflict_markers\"].")
    .at(subject.path)
    .with("line", line_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_are_distinguished_from_similar_lines() {
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

    fn first_marker<'a>(path: &'a str, before: &'a str, after: &'a str) -> Option<usize> {
        let path = edt_types::RepoPath::parse(path.as_bytes()).unwrap();
        let (before, after) = (Some(before.as_bytes()), Some(after.as_bytes()));
        let limit = std::time::Duration::from_secs(1);
        let subject = Subject::new(&path, None, before, after, Vec::new(), limit);
        detect(&subject).map(|(row, _)| row)
    }

    #[test]
    fn the_first_marker_of_a_conflict_is_reported() {
        let conflict = "a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> x\n";
        assert_eq!(first_marker("a.txt", "a\n", conflict), Some(1));
    }

    #[test]
    fn a_hunk_header_in_a_page_belongs_to_a_patch_that_is_shown() {
        let page = |patch: &str| format!("<pre>\nb\n{patch} a\n</pre>\n");
        assert_eq!(first_marker("a.html", &page(""), &page("@@ -1,2 +1,2 @@\n")), Some(2));
        let shown = page("@@ -1,2 +1,2 @@\n-b\n+c\n");
        assert_eq!(first_marker("a.html", &page(""), &shown), None);
    }

    #[test]
    fn the_middle_of_a_conflict_in_a_template_underlines_nothing() {
        let page = |text: &str| format!("<p>a</p>\nTitle 1\n{text}<p>b</p>\n");
        let found = |text: &str| first_marker("a.html", &page(""), &page(text));
        assert_eq!(found("{% endif %}\n=======\n"), Some(3));
        assert_eq!(found("=======\n"), None);
    }

    #[test]
    fn the_middle_of_a_conflict_in_a_script_counts() {
        let page = |tag: &str, text: &str| format!("<script{tag}>\na();\n{text}b();\n</script>\n");
        let found =
            |tag: &str, text: &str| first_marker("a.html", &page(tag, ""), &page(tag, text));
        assert_eq!(found("", "=======\n"), Some(2));
        assert_eq!(found(" type=\"text/javascript\"", "=======\n"), Some(2));
        assert_eq!(found(" type=\"text/template\"", "=======\n"), None);
        assert_eq!(found("", "/*\n=======\n*/\n"), None);
        assert_eq!(found("", "c = `\n=======\n`;\n"), None);
    }

    #[test]
    fn a_patch_file_may_have_markers() {
        assert_eq!(first_marker("a.rej", "", "<<<<<<< HEAD\n"), None);
    }

    #[test]
    fn an_underline_in_a_text_beside_a_conflict_counts_as_its_middle() {
        assert_eq!(first_marker("a.txt", "", "Title\n=======\n"), None);
        assert_eq!(first_marker("a.txt", "", "Title\n=======\n>>>>>>> x\n"), Some(1));
    }
}
