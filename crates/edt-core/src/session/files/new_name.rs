//! Names that a new file may not have.

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::canonical_combining_class;

use edt_git::Repo;
use edt_io::names::NamesBelow;
use edt_types::{Code, Finding, RepoPath};

/// Why no file may be made at `path`, where nothing is: some system cannot store the name, or
/// another file's name looks the same.
#[must_use]
pub fn problem(repo: &Repo, path: &RepoPath) -> Option<Finding> {
    if let Some(problem) = path.unportable() {
        return Some(problem.finding(path.as_bytes()).nothing_changed());
    }
    same_name(repo, path)
}

/// Why no session may track `path`: the file there has this name in another form of Unicode, and this
/// file system treats both as one name. `None`, too, if the file has this very name.
#[must_use]
pub fn same_name(repo: &Repo, path: &RepoPath) -> Option<Finding> {
    let other = other_form(repo, path)?;
    let message = format!(
        "{path} is {other} in another form of Unicode: some systems treat both as one name, and \
         they look the same."
    );
    let remedy = format!("Send the name as it is on disk, in JSON \"{}\".", escaped(&other));
    let finding = Finding::new(Code::FileExists, message, remedy).nothing_changed().at(path);
    Some(finding.with("exists", other.text()))
}

/// The path on disk that is the same but for the form of its Unicode (NFC or NFD).
fn other_form(repo: &Repo, path: &RepoPath) -> Option<RepoPath> {
    if path.as_bytes().is_ascii() {
        return None;
    }
    let below = NamesBelow::open(repo.root_path()).ok()?;
    let (mut found, mut differs) = (Vec::new(), false);
    for name in std::str::from_utf8(path.as_bytes()).ok()?.split('/') {
        let mut names: Vec<Vec<u8>> = Vec::new();
        let _ = below.read(&found.join(&b'/'), |name, _| names.push(name.to_vec()));
        let is_same = |other: &&Vec<u8>| {
            std::str::from_utf8(other).is_ok_and(|other| other.nfc().eq(name.nfc()))
        };
        let own = name.as_bytes().to_vec();
        match names.iter().find(is_same) {
            Some(other) if !names.contains(&own) => {
                differs = true;
                found.push(other.clone());
            }
            _ => found.push(own),
        }
    }
    let other = found.join(&b'/');
    (differs && below.stat(&other).is_some()).then(|| RepoPath::from_tree(&other))
}

/// The path with its combining characters as JSON escapes.
fn escaped(path: &RepoPath) -> String {
    let escape = |c: char| match canonical_combining_class(c) {
        0 => c.to_string(),
        _ => c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect(),
    };
    path.text().chars().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{Scratch, path};

    #[test]
    fn the_other_form_of_a_name_is_not_made() {
        let scratch = Scratch::with(&[("a.txt", "a\n")]);
        scratch.write("u\u{308}/u\u{308}.md", "x\n");
        let found = |name: &str| problem(&scratch.repo(), &path(name));
        let finding = found("ü/ü.md").unwrap();
        assert_eq!(
            finding.remedy,
            "Send the name as it is on disk, in JSON \"u\\u0308/u\\u0308.md\"."
        );
        assert_eq!(found("u\u{308}/ü.md").unwrap().evidence["exists"], "u\u{308}/u\u{308}.md");
        assert_eq!(found("ü/other.md"), None);
        assert_eq!(found("ö.md"), None);
    }
}
