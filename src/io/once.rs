//! Things that are told once: remembered in a file that may be deleted at any time.

use std::path::Path;

use super::file::{File, Open};

/// Whether `what` has not been told yet; from now on it has. Where nothing can be remembered, it is told each time.
#[must_use]
pub fn once(folder: &Path, what: &str) -> bool {
    let file = folder.join("told");
    let line = what.replace('\n', " ");
    if std::fs::read_to_string(&file).is_ok_and(|told| told.lines().any(|told| told == line)) {
        return false;
    }
    if let Ok(file) = File::open(&file, Open::AppendMade) {
        let _ = file.write_all(format!("{line}\n").as_bytes());
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thing_is_told_once_until_the_file_is_deleted() {
        let dir = tempfile::tempdir().unwrap();
        assert!(once(dir.path(), "a") && once(dir.path(), "b") && !once(dir.path(), "a"));
        std::fs::remove_file(dir.path().join("told")).unwrap();
        assert!(
            once(dir.path(), "a")
                && once(Path::new("/nowhere"), "a")
                && once(Path::new("/nowhere"), "a")
        );
    }
}
