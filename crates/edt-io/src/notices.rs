//! Notices that are shown only once. A file remembers them; it may be deleted at any time.

use std::path::Path;

use super::file::{File, OpenMode};

/// Whether notice `notice` is requested for the first time, and remembers it. If the file is not
/// writable, every time counts as the first.
#[must_use]
pub fn first_time(directory: &Path, notice: &str) -> bool {
    let file = directory.join("notices");
    let line = notice.replace('\n', " ");
    if std::fs::read_to_string(&file).is_ok_and(|shown| shown.lines().any(|shown| shown == line)) {
        return false;
    }
    if let Ok(file) = File::open(&file, OpenMode::AppendOrCreate) {
        let _ = file.write_all(format!("{line}\n").as_bytes());
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_is_new_once_until_the_file_is_deleted() {
        let dir = tempfile::tempdir().unwrap();
        assert!(
            first_time(dir.path(), "a")
                && first_time(dir.path(), "b")
                && !first_time(dir.path(), "a")
        );
        std::fs::remove_file(dir.path().join("notices")).unwrap();
        assert!(
            first_time(dir.path(), "a")
                && first_time(Path::new("/nowhere"), "a")
                && first_time(Path::new("/nowhere"), "a")
        );
    }
}
