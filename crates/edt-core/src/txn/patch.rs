//! A patch as a request, and its edits.

use super::patch_text::PatchText;
use super::rehearsal::rehearse_request;
use super::request::Request;
use edt_edit::stage::EditOutcome;
use edt_types::{RepoPath, Result};

/// Applies `patch` to one file in memory: the new text (`None` if the file is deleted) and how the
/// hunks were placed. For benchmarks and fuzzing: without a repository and without guards.
///
/// # Errors
/// The findings with which the same patch would be refused.
pub fn rehearse(
    patch: &PatchText,
    path: &RepoPath,
    text: &[u8],
) -> Result<(Option<Vec<u8>>, EditOutcome)> {
    let request = Request { patch: Some(patch.clone()), ..Request::default() };
    rehearse_request(&request, path, text, &[])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{path, refusal};
    use edt_edit::Op;
    use edt_edit::place::Matching;
    use edt_types::{Code, Finding};

    fn patch(text: &str, path: Option<&str>, hash: Option<&str>) -> Result<PatchText> {
        let (text, path) = (text.as_bytes().to_vec(), path.map(str::as_bytes));
        PatchText::new(text, path, hash.map(str::to_owned), Matching::Strict)
    }

    const TWO_FILES: &str =
        "*** Begin Patch\n*** Delete File: a\n*** Delete File: b\n*** End Patch\n";

    #[test]
    fn the_path_of_a_patch_is_checked() {
        assert_eq!(refusal(patch("x", Some("../a"), None)).code, Code::PathOutsideRepo);
    }

    #[test]
    fn the_paths_in_a_patch_are_checked_with_their_lines() {
        let text = "*** Begin Patch\n*** Delete File: ../a\n*** End Patch\n";
        let finding = refusal(patch(text, None, None).unwrap().edits());
        assert_eq!(
            (finding.code, &finding.evidence["patch_line"]),
            (Code::PathOutsideRepo, &2.into())
        );
    }

    #[test]
    fn a_hash_is_for_a_patch_of_one_file() {
        let finding = Finding::new(
            Code::BadRequest,
            "The request has `expected_hash` and a patch between `*** Begin Patch` and `*** End \
             Patch` that changes several files.",
            "Send one file's patch with its hash, or leave the hash out.",
        );
        let found = refusal(patch(TWO_FILES, None, Some("abcdef1")).unwrap().edits());
        assert_eq!((found.code, &found.remedy), (finding.code, &finding.remedy));
        assert!(found.summary.starts_with("The request has `expected_hash` and "), "{found:?}");
        assert!(found.summary.ends_with(" that changes several files."), "{found:?}");
    }

    #[test]
    fn a_given_path_must_be_the_one_of_the_patch() {
        let text = "*** Begin Patch\n*** Delete File: a\n*** End Patch\n";
        let finding = Finding::new(
            Code::BadRequest,
            "`path` is not the file that the patch names: a.",
            "Leave `path` out: it is only for a patch that names no file.",
        );
        assert_eq!(refusal(patch(text, Some("b"), None).unwrap().edits()), finding);
    }

    #[test]
    fn hunks_come_before_the_move_of_their_file() {
        let text = "*** Begin Patch\n*** Update File: a\n*** Move to: b\n@@\n-one\n+two\n*** End \
                    Patch\n";
        let edits = patch(text, None, None).unwrap().edits().unwrap();
        assert_eq!(edits.len(), 2);
        assert!(matches!(edits[0].op, Op::Patch { .. }));
        assert_eq!((&edits[1].path, &edits[1].op), (&path("a"), &Op::Rename { to: path("b") }));
    }

    #[test]
    fn a_rehearsal_has_the_new_text() {
        let patch = patch("--- a/a\n+++ b/a\n@@ -1 +1 @@\n-one\n+two\n", None, None).unwrap();
        let (text, _) = rehearse(&patch, &path("a"), b"one\n").unwrap();
        assert_eq!(text.as_deref(), Some(&b"two\n"[..]));
    }

    #[test]
    fn a_rehearsed_deletion_has_no_text() {
        let text = "*** Begin Patch\n*** Delete File: a\n*** End Patch\n";
        let (text, _) = rehearse(&patch(text, None, None).unwrap(), &path("a"), b"one\n").unwrap();
        assert_eq!(text, None);
    }
}
