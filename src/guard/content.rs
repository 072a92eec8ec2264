//! A text file must stay text: no NUL bytes, no broken UTF-8. Files that are neither already are left as they are.

use super::{Guard, Judgement, Subject};
use crate::base::text::line_of;
use crate::base::{Code, Finding};
use crate::policy::Policy;

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

    fn source(&self) -> &'static str {
        "openhands#3678: a guessed encoding truncated a file"
    }

    fn judge(&self, subject: &Subject<'_>, _: &Policy) -> Judgement {
        let Some(at) = first_new(subject, |text| memchr::memchr(0, text)) else {
            return Judgement::Pass;
        };
        let line = line_of(subject.after.unwrap_or_default(), at);
        let finding = Finding::new(
            Code::BinaryContent,
            format!(
                "This would put a NUL byte into {} at line {line}. Nothing was changed.",
                subject.path
            ),
            "Send text. If the file really is binary, repeat with allow: [\"binary_content\"].",
        );
        Some(finding.at(subject.path).with("line", line).with("byte", at)).into()
    }
}

impl Guard for Encoding {
    fn name(&self) -> &'static str {
        "encoding"
    }

    fn rule(&self) -> &'static str {
        "A file that is valid UTF-8, or a new one, would hold bytes that are not."
    }

    fn source(&self) -> &'static str {
        "openhands#3678: a guessed encoding truncated a file"
    }

    fn judge(&self, subject: &Subject<'_>, _: &Policy) -> Judgement {
        let invalid =
            |text: &[u8]| std::str::from_utf8(text).err().map(|error| error.valid_up_to());
        let Some(at) = first_new(subject, invalid) else { return Judgement::Pass };
        let line = line_of(subject.after.unwrap_or_default(), at);
        let finding = Finding::new(
            Code::Encoding,
            format!(
                "{} would not be valid UTF-8 at line {line}. Nothing was changed.",
                subject.path
            ),
            "Send UTF-8. If the file really has another encoding, repeat with allow: [\"encoding\"].",
        );
        Some(finding.at(subject.path).with("line", line).with("byte", at)).into()
    }
}

/// Where `find` finds something in the new text, if it finds nothing in the old one.
fn first_new(subject: &Subject<'_>, find: impl Fn(&[u8]) -> Option<usize>) -> Option<usize> {
    let at = find(subject.after?)?;
    match subject.before {
        Some(before) if find(before).is_some() => None,
        _ => Some(at),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::RepoPath;

    fn codes(before: Option<&[u8]>, after: &[u8]) -> Vec<Code> {
        let path = RepoPath::parse(b"a.txt").unwrap();
        let policy = Policy::of(None, None).unwrap();
        let subject = Subject::new(&path, None, before, Some(after), Vec::new(), policy.time_limit);
        let guards: [&dyn Guard; 2] = [&BinaryContent, &Encoding];
        let judged = guards.iter().map(|guard| guard.judge(&subject, &policy));
        judged.flat_map(Judgement::findings).map(|finding| finding.code).collect()
    }

    #[test]
    fn text_must_stay_text() {
        assert_eq!(codes(Some(b"a\n"), b"a\0\n"), [Code::BinaryContent]);
        assert_eq!(codes(None, b"a\xff\n"), [Code::Encoding]);
        assert_eq!(codes(Some(b"a\n"), "ü\n".as_bytes()), []);
    }

    #[test]
    fn what_is_not_text_already_may_be_edited_as_bytes() {
        assert_eq!(codes(Some(b"a\xff\n"), b"b\xff\n"), []);
        assert_eq!(codes(Some(b"a\0\n"), b"b\0\n"), []);
    }
}
