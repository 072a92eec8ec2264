//! The digest of a change: a hash of the lines removed and added in each file, without their
//! context. A change keeps its digest when it is rebased onto other text. An approval is bound to
//! the digest.

use edt_edit::diff::LineDiff;
use edt_git::diff::TreeDifference;
use edt_git::file_id::TreeItem;
use edt_git::{ObjectWriter, Oid, sha256};
use edt_io::clock;
use edt_types::{Code, Finding, RepoPath, Result};

/// Larger files are compared by blob ids only: their line difference takes too long.
const MAX_BYTES: usize = 1024 * 1024;
/// Time limit for the line difference of one file.
const MAX_COMPARE_MS: u64 = 10_000;

/// The digest of what differs between two trees, as hex.
///
/// # Errors
/// `OBJECT_MISSING`; `IO_ERROR` if two texts take too long to compare: a digest must not depend on
/// the clock.
pub fn of(objects: &ObjectWriter<'_>, before: Oid, after: Oid) -> Result<String> {
    let mut input = Vec::new();
    for differs in objects.tree_diff(before, after)? {
        file(objects, &differs, &mut input)?;
    }
    sha256(&input)
}

fn file(objects: &ObjectWriter<'_>, differs: &TreeDifference, input: &mut Vec<u8>) -> Result<()> {
    field(input, b"path", differs.path.as_bytes());
    for item in [differs.old, differs.new] {
        field(
            input,
            b"mode",
            item.map_or(String::new(), |item| format!("{:o}", item.bits())).as_bytes(),
        );
    }
    let text = |item: Option<TreeItem>| {
        item.and_then(TreeItem::file).map(|file| objects.blob_content(file.oid)).transpose()
    };
    let (old, new) =
        (text(differs.old)?.unwrap_or_default(), text(differs.new)?.unwrap_or_default());
    let is_text = |bytes: &[u8]| bytes.len() <= MAX_BYTES && memchr::memchr(0, bytes).is_none();
    if !is_text(&old) || !is_text(&new) {
        let id = |item: Option<TreeItem>| item.map_or(String::new(), |item| item.oid().to_string());
        field(input, b"old", id(differs.old).as_bytes());
        field(input, b"new", id(differs.new).as_bytes());
        return Ok(());
    }
    let until = clock::in_ms(MAX_COMPARE_MS);
    let lines = LineDiff::of(&old, &new, until);
    let (olds, news) = lines.texts();
    for (gone, come) in lines.changes() {
        olds[gone].iter().for_each(|line| field(input, b"-", line));
        news[come].iter().for_each(|line| field(input, b"+", line));
        input.push(b'\n');
    }
    if clock::now() >= until {
        return Err(too_slow(&differs.path).into());
    }
    Ok(())
}

/// Appends a key and a value with its length, so that different fields never have the same bytes.
fn field(input: &mut Vec<u8>, key: &[u8], value: &[u8]) {
    input.extend_from_slice(key);
    input.extend_from_slice(format!(" {} ", value.len()).as_bytes());
    input.extend_from_slice(value);
}

fn too_slow(path: &RepoPath) -> Finding {
    Finding::new(
        Code::IoError,
        format!("The line difference of {path} took longer than {MAX_COMPARE_MS} ms."),
        "Repeat the call when the machine is less busy, or propose a smaller change.",
    )
    .nothing_changed()
    .at(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{Scratch, path};
    use edt_git::{FileId, FileMode, TreeChange};

    /// The digest of the change from the first files to the second.
    fn digest(before: &[(&str, &[u8], bool)], after: &[(&str, &[u8], bool)]) -> String {
        let scratch = Scratch::unborn();
        let repo = scratch.repo();
        let mut writer = ObjectWriter::new(&repo);
        let mut tree = |files: &[(&str, &[u8], bool)]| {
            let changes: Vec<TreeChange> = files
                .iter()
                .map(|(named, text, executable)| {
                    let oid = writer.write_blob(text).unwrap();
                    let file = FileId { oid, mode: FileMode::of(*executable) };
                    TreeChange { path: path(named), file: Some(file) }
                })
                .collect();
            writer.write_tree(repo.empty_tree(), &changes).unwrap().0
        };
        let (before, after) = (tree(before), tree(after));
        of(&writer, before, after).unwrap()
    }

    fn text_change(before: &str, after: &str) -> String {
        digest(&[("a", before.as_bytes(), false)], &[("a", after.as_bytes(), false)])
    }

    #[test]
    fn a_change_keeps_its_digest_in_another_context() {
        assert_eq!(
            text_change("top\none\nend\n", "top\ntwo\nend\n"),
            text_change("new\nlines\none\n", "new\nlines\ntwo\n")
        );
    }

    #[test]
    fn another_change_has_another_digest() {
        assert_ne!(text_change("one\n", "two\n"), text_change("one\n", "three\n"));
    }

    #[test]
    fn the_same_lines_in_two_places_have_another_digest() {
        assert_ne!(text_change("a\nb\n", "x\na\ny\nb\n"), text_change("a\nb\n", "x\ny\na\nb\n"));
    }

    #[test]
    fn the_path_is_part_of_a_digest() {
        let of = |named| digest(&[], &[(named, b"x\n", false)]);
        assert_ne!(of("a"), of("b"));
    }

    #[test]
    fn the_mode_is_part_of_a_digest() {
        let of = |executable| digest(&[("a", b"x\n", false)], &[("a", b"x\ny\n", executable)]);
        assert_ne!(of(false), of(true));
    }

    #[test]
    fn binary_content_is_compared_as_a_whole() {
        let change = |end: &[u8]| {
            let new = [b"\0y".as_slice(), end].concat();
            digest(&[("a", b"\0x", false)], &[("a", &new, false)])
        };
        assert_eq!(change(b"1"), change(b"1"));
        assert_ne!(change(b"1"), change(b"2"));
    }

    #[test]
    fn no_change_has_the_digest_of_nothing() {
        assert_eq!(text_change("one\n", "one\n"), sha256(b"").unwrap());
    }

    #[test]
    fn fields_are_separated_by_their_lengths() {
        let mut input = Vec::new();
        field(&mut input, b"path", b"a b");
        field(&mut input, b"-", b"");
        assert_eq!(input, b"path 3 a b- 0 ");
    }
}
