//! A text file must stay text: without NUL bytes, and valid UTF-8. A file that is not text already
//! may be edited as bytes.

use super::check::{Guard, GuardContext, GuardOutput};
use super::subject::Subject;
use edt_types::text::line_of;
use edt_types::{Code, Finding};

/// The guard `binary_content`.
#[derive(Debug)]
pub struct BinaryContent;

/// The guard `encoding`.
#[derive(Debug)]
pub struct Encoding;

impl Guard for BinaryContent {
    fn name(&self) -> &'static str {
        "binary_content"
    }

    fn rule(&self) -> &'static str {
        "A text file would get NUL bytes."
    }

    fn check(&self, file: &Subject<'_>, _: &GuardContext<'_>) -> Vec<GuardOutput> {
        let found = first_new(file, |text| memchr::memchr(0, text)).map(|at| {
            let line = line_of(file.after.unwrap_or_default(), at);
            Finding::new(
                Code::BinaryContent,
                format!("This would put a NUL byte into {} at line {line}.", file.path),
                "Send text.",
            )
            .nothing_changed()
            .or_override("If the file really is binary, repeat with allow: [\"binary_content\"].")
            .at(file.path)
            .with("line", line)
            .with("byte", at)
        });
        GuardOutput::of(self.name(), found)
    }
}

impl Guard for Encoding {
    fn name(&self) -> &'static str {
        "encoding"
    }

    fn rule(&self) -> &'static str {
        "A file that is valid UTF-8, or a new one, would hold bytes that are not."
    }

    fn check(&self, file: &Subject<'_>, _: &GuardContext<'_>) -> Vec<GuardOutput> {
        let invalid =
            |text: &[u8]| std::str::from_utf8(text).err().map(|error| error.valid_up_to());
        let found = first_new(file, invalid).map(|at| {
            let line = line_of(file.after.unwrap_or_default(), at);
            Finding::new(
                Code::Encoding,
                format!("{} would not be valid UTF-8 at line {line}.", file.path),
                "Send UTF-8.",
            )
            .nothing_changed()
            .or_override(
                "If the file really has another encoding, repeat with allow: [\"encoding\"].",
            )
            .at(file.path)
            .with("line", line)
            .with("byte", at)
        });
        GuardOutput::of(self.name(), found)
    }
}

/// The first match of `find` in the new text, if the old text has none.
fn first_new(file: &Subject<'_>, find: impl Fn(&[u8]) -> Option<usize>) -> Option<usize> {
    let at = find(file.after?)?;
    match file.before {
        Some(before) if find(before).is_some() => None,
        _ => Some(at),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Policy;
    use edt_types::RepoPath;

    fn codes(before: Option<&[u8]>, after: &[u8]) -> Vec<Code> {
        let path = RepoPath::parse(b"a.txt").unwrap();
        let policy = Policy::of(None, None).unwrap();
        let file = Subject::new(&path, None, before, Some(after), Vec::new(), policy.time_limit);
        let context = GuardContext { policy: &policy, site: None };
        let guards: [&dyn Guard; 2] = [&BinaryContent, &Encoding];
        let outputs = guards.iter().flat_map(|guard| guard.check(&file, &context));
        outputs.flat_map(GuardOutput::into_findings).map(|finding| finding.code).collect()
    }

    #[test]
    fn text_must_stay_text() {
        assert_eq!(codes(Some(b"a\n"), b"a\0\n"), [Code::BinaryContent]);
        assert_eq!(codes(None, b"a\xff\n"), [Code::Encoding]);
        assert_eq!(codes(Some(b"a\n"), "ü\n".as_bytes()), []);
    }

    #[test]
    fn a_file_that_is_not_text_may_be_edited_as_bytes() {
        assert_eq!(codes(Some(b"a\xff\n"), b"b\xff\n"), []);
        assert_eq!(codes(Some(b"a\0\n"), b"b\0\n"), []);
    }

    fn finding(guard: &dyn Guard, after: &[u8]) -> Finding {
        let path = RepoPath::parse(b"a.txt").unwrap();
        let policy = Policy::of(None, None).unwrap();
        let file = Subject::new(&path, None, None, Some(after), Vec::new(), policy.time_limit);
        let mut outputs = guard.check(&file, &GuardContext { policy: &policy, site: None });
        outputs.remove(0).into_findings().remove(0)
    }

    #[test]
    fn a_nul_byte_is_named_with_its_line_and_its_offset() {
        let expected = Finding::new(
            Code::BinaryContent,
            "This would put a NUL byte into a.txt at line 2.",
            "Send text.",
        );
        let expected = expected
            .nothing_changed()
            .or_override("If the file really is binary, repeat with allow: [\"binary_content\"].")
            .at(&RepoPath::parse(b"a.txt").unwrap())
            .with("line", 2)
            .with("byte", 3);
        assert_eq!(finding(&BinaryContent, b"a\nb\0"), expected);
    }

    #[test]
    fn an_invalid_byte_is_named_with_its_line_and_its_offset() {
        let found = finding(&Encoding, b"a\n\n\xc3(");
        assert_eq!(found.summary, "a.txt would not be valid UTF-8 at line 3.");
        assert_eq!((&found.evidence["line"], &found.evidence["byte"]), (&3.into(), &3.into()));
    }

    #[test]
    fn a_removed_file_has_no_content() {
        let path = RepoPath::parse(b"a.txt").unwrap();
        let policy = Policy::of(None, None).unwrap();
        let file = Subject::new(&path, None, Some(b"\0"), None, Vec::new(), policy.time_limit);
        let context = GuardContext { policy: &policy, site: None };
        assert_eq!(BinaryContent.check(&file, &context), [GuardOutput::Pass]);
    }
}
