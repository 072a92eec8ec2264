//! What a change is, as one value: the lines that go and come in each file, whatever stands around them. Two changes with one digest
//! do the same, though one was carried over to other text; a person's word is bound to it.

use crate::base::{Code, Finding, RepoPath, Result};
use crate::edit::diff::Lines;
use crate::git::diff::{Differs, Item};
use crate::git::{Draft, Oid, sha256};
use crate::io::clock;

/// Files of more bytes are told by their blobs alone: no line difference of such is worth its time.
const MOST_BYTES: usize = 1024 * 1024;
/// The longest that one file is compared, in milliseconds.
const LONGEST_MS: u64 = 10_000;

/// The digest of what differs between two trees, as hex.
///
/// # Errors
/// `OBJECT_MISSING`; `IO_ERROR` if two texts take too long to compare: a digest that depends on the clock would say nothing.
pub fn of(draft: &Draft<'_>, before: Oid, after: Oid) -> Result<String> {
    let mut said = Vec::new();
    for differs in draft.tree_diff(before, after)? {
        file(draft, &differs, &mut said)?;
    }
    sha256(&said)
}

fn file(draft: &Draft<'_>, differs: &Differs, said: &mut Vec<u8>) -> Result<()> {
    field(said, b"path", differs.path.as_bytes());
    for item in [differs.old, differs.new] {
        field(
            said,
            b"mode",
            item.map_or(String::new(), |item| format!("{:o}", item.bits())).as_bytes(),
        );
    }
    let text = |item: Option<Item>| {
        item.and_then(Item::file).map(|file| draft.content(file.oid)).transpose()
    };
    let (old, new) =
        (text(differs.old)?.unwrap_or_default(), text(differs.new)?.unwrap_or_default());
    let is_text = |bytes: &[u8]| bytes.len() <= MOST_BYTES && memchr::memchr(0, bytes).is_none();
    if !is_text(&old) || !is_text(&new) {
        let id = |item: Option<Item>| item.map_or(String::new(), |item| item.oid().to_string());
        field(said, b"old", id(differs.old).as_bytes());
        field(said, b"new", id(differs.new).as_bytes());
        return Ok(());
    }
    let until = clock::in_ms(LONGEST_MS);
    let lines = Lines::of(&old, &new, until);
    let (olds, news) = lines.texts();
    for (gone, come) in lines.changes() {
        olds[gone].iter().for_each(|line| field(said, b"-", line));
        news[come].iter().for_each(|line| field(said, b"+", line));
        said.push(b'\n');
    }
    if clock::now() >= until {
        return Err(too_slow(&differs.path).into());
    }
    Ok(())
}

/// A value that no other value next to it can be taken for.
fn field(said: &mut Vec<u8>, key: &[u8], value: &[u8]) {
    said.extend_from_slice(key);
    said.extend_from_slice(format!(" {} ", value.len()).as_bytes());
    said.extend_from_slice(value);
}

fn too_slow(path: &RepoPath) -> Finding {
    Finding::new(
        Code::IoError,
        format!(
            "What changes in {path} could not be told within {LONGEST_MS} ms. Nothing was changed."
        ),
        "Repeat the call when the machine is less busy, or propose a smaller change.",
    )
    .at(path)
}
