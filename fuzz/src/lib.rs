//! Shared by the fuzz targets.

use edt_edit::format::{self, PatchSource};

/// Reads `patch` in the format of this index, and in the format that edt detects.
pub fn read_as(form: usize, patch: &[u8]) {
    let lines = patch.split_inclusive(|&b| b == b'\n').collect();
    let source = PatchSource { lines, path: Some(b"a.txt") };
    let form = format::formats().nth(form).expect("an index below the number of formats");
    if let Ok(parsed) = form.read(&source) {
        assert!(parsed.used.iter().all(|used| used.start <= used.end && used.end <= source.lines.len()));
    }
    let _ = format::read(patch, None);
}

/// The parts of an input before and after the first NUL byte.
pub fn halves(data: &[u8]) -> (&[u8], &[u8]) {
    let at = data.iter().position(|&b| b == 0).unwrap_or(data.len());
    (&data[..at], data.get(at + 1..).unwrap_or_default())
}
