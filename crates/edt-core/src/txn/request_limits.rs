//! What one request may have. Its texts are counted before anything is allocated for each line.

use serde::de::{Deserialize, Deserializer, IgnoredAny, SeqAccess, Visitor};

use super::edit_fields::EditFields;
use edt_types::{Code, Finding};

/// The number of lines in all texts of a request.
pub(super) const MAX_LINES: usize = 2_000_000;
/// The number of edits in a request, or of files in a patch.
pub(super) const MAX_EDITS: usize = 5000;

/// The lines in all texts of `edits`.
pub(super) fn lines_of(edits: &[EditFields]) -> usize {
    let texts = edits.iter().flat_map(|one| [&one.old_text, &one.content, &one.expected_text]);
    texts.flatten().map(|text| lines_in(text)).sum()
}

pub(super) fn lines_in(text: &[u8]) -> usize {
    memchr::memchr_iter(b'\n', text).count()
}

/// The refusal of a request with so many `lines`.
pub(super) fn check_lines(lines: usize) -> Option<Finding> {
    let message = format!("The request has {lines} lines; edt's limit is {MAX_LINES}.");
    let remedy = "Send it in parts: create the file with the first lines, then append the others. \
                  Data of this size belongs into a program of `edt run` that writes it.";
    (lines > MAX_LINES).then(|| too_large(message, remedy, MAX_LINES))
}

/// The refusal of a request with `count` of `what`.
pub(super) fn check_count(count: usize, what: &str) -> Option<Finding> {
    let message = format!("The request has more than {MAX_EDITS} {what}, which is edt's limit.");
    let remedy = "Send it in parts, each with fewer edits.";
    (count > MAX_EDITS).then(|| too_large(message, remedy, MAX_EDITS))
}

fn too_large(message: String, remedy: &'static str, limit: usize) -> Finding {
    Finding::new(Code::FileTooLarge, message, remedy).nothing_changed().with("limit", limit)
}

/// Reads a list. Of more than [`MAX_EDITS`] values it keeps one more, so that [`check_count`]
/// refuses it.
pub(super) fn list<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    from: D,
) -> Result<Vec<T>, D::Error> {
    struct Bounded<T>(std::marker::PhantomData<T>);
    impl<'de, T: Deserialize<'de>> Visitor<'de> for Bounded<T> {
        type Value = Vec<T>;

        fn expecting(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            to.write_str("a sequence")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Vec<T>, A::Error> {
            let mut all = Vec::new();
            while let Some(one) = from.next_element()? {
                all.push(one);
                if all.len() > MAX_EDITS {
                    while from.next_element::<IgnoredAny>()?.is_some() {}
                    break;
                }
            }
            Ok(all)
        }
    }
    from.deserialize_seq(Bounded(std::marker::PhantomData))
}

/// As [`list`], of a key that may be absent or null.
pub(super) fn optional_list<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    from: D,
) -> Result<Option<Vec<T>>, D::Error> {
    struct List<T>(Vec<T>);
    impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
        fn deserialize<D: Deserializer<'de>>(from: D) -> Result<List<T>, D::Error> {
            list(from).map(List)
        }
    }
    Ok(Option::<List<T>>::deserialize(from)?.map(|list| list.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::txn::Request;

    fn codes(found: edt_types::Result<Request>) -> Vec<&'static str> {
        found.map_or_else(|found| found.codes(), |_| Vec::new())
    }

    #[test]
    fn a_request_has_at_most_the_lines_of_the_limit() {
        let request = |lines: usize| {
            let content = "\\n".repeat(lines);
            Request::from_json(
                format!(r#"{{"path": "a", "mode": "create", "content": "{content}"}}"#).as_bytes(),
            )
        };
        assert_eq!(codes(request(MAX_LINES)), [""; 0]);
        assert_eq!(codes(request(MAX_LINES + 1)), ["FILE_TOO_LARGE"]);
    }

    #[test]
    fn a_patch_has_at_most_the_lines_of_the_limit() {
        let request = |lines: usize| {
            Request::from_json(format!(r#"{{"patch": "{}"}}"#, "\\n".repeat(lines)).as_bytes())
        };
        assert_eq!(codes(request(MAX_LINES)), [""; 0]);
        assert_eq!(codes(request(MAX_LINES + 1)), ["FILE_TOO_LARGE"]);
    }

    #[test]
    fn a_request_has_at_most_the_edits_of_the_limit() {
        let edit = r#"{"path": "a", "mode": "delete"}"#;
        let request = |edits: usize| {
            Request::from_json(
                format!(r#"{{"edits": [{}]}}"#, [edit].repeat(edits).join(",")).as_bytes(),
            )
        };
        assert_eq!(codes(request(MAX_EDITS)), [""; 0]);
        assert_eq!(codes(request(MAX_EDITS + 1)), ["FILE_TOO_LARGE"]);
        assert_eq!(codes(request(MAX_EDITS + 100)), ["FILE_TOO_LARGE"]);
        let words = vec!["\"size_reduction\""; MAX_EDITS + 1].join(",");
        let words = format!(r#"{{"allow": [{words}], "path": "a", "mode": "delete"}}"#);
        assert_eq!(codes(Request::from_json(words.as_bytes())), ["FILE_TOO_LARGE"]);
    }

    #[test]
    fn a_patch_has_at_most_the_files_of_the_limit() {
        let patch = |files: usize| {
            let files: String = (0..files).map(|n| format!("*** Delete File: {n}\n")).collect();
            let text = format!("*** Begin Patch\n{files}*** End Patch\n").into_bytes();
            let matching = edt_edit::place::Matching::Strict;
            let patch = super::super::patch_text::PatchText::new(text, None, None, matching)?;
            Request::patch(None, None, Vec::new(), patch)?
                .with_parsed_patch()
                .map(|_| Request::default())
        };
        assert_eq!(codes(patch(MAX_EDITS)), [""; 0]);
        assert_eq!(codes(patch(MAX_EDITS + 1)), ["FILE_TOO_LARGE"]);
    }
}
