//! What tests compare with files of the repository, and write with `EDT_BLESS=1`.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// The line that ends a generated part of a page.
const END: &str = "<!-- end -->";

/// One test at a time writes a page.
static WRITING: Mutex<()> = Mutex::new(());

/// Whether tests write what they otherwise compare.
#[must_use]
pub fn is_blessing() -> bool {
    std::env::var_os("EDT_BLESS").is_some()
}

/// The lines that differ, with two lines around them.
#[must_use]
pub fn diff(expected: &str, found: &str) -> String {
    let diff = similar::TextDiff::from_lines(expected, found);
    diff.unified_diff().context_radius(2).header("expected", "found").to_string()
}

/// Compares a file with the text that it should have.
///
/// # Panics
/// If they differ, with the lines and the command that writes the file.
pub fn compare_file(path: &Path, found: &str, command: &str) {
    let recorded = std::fs::read_to_string(path).unwrap_or_default();
    if is_blessing() && recorded != found {
        std::fs::write(path, found).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        return;
    }
    let shown = path.display();
    assert!(recorded == found, "{shown}: `{command}` writes it\n{}", diff(&recorded, found));
}

/// Compares the part of a page between the line `begin` and a line `<!-- end -->`.
///
/// # Panics
/// As [`compare_file`], or if the page has no such lines.
pub fn compare_part(path: &Path, begin: &str, found: &str, command: &str) {
    let _one = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    let page = std::fs::read_to_string(path).unwrap_or_default();
    let (before, rest) = page.split_once(begin).unwrap_or_else(|| panic!("no {begin}"));
    let (_, after) = rest.split_once(END).unwrap_or_else(|| panic!("no {END} below {begin}"));
    let found = format!("{before}{begin}\n\n{}\n\n{END}{after}", found.trim());
    compare_file(path, &found, command);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_has_the_lines_that_differ_and_two_around_them() {
        let (old, new) = ("1\n2\n3\n4\n5\n6\n7\n", "1\n2\n3\nx\n5\n6\n7\n");
        let lines = "--- expected\n+++ found\n@@ -2,5 +2,5 @@\n 2\n 3\n-4\n+x\n 5\n 6\n";
        assert_eq!(diff(old, new), lines);
    }
}
