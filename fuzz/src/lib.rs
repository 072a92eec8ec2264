//! What the fuzz targets share.

use edt::edit::format::{FORMATS, Source};

/// Reads `patch` as the form of this index, whatever it looks like, and as whatever form it has.
pub fn read_as(form: usize, patch: &[u8]) {
    let lines = patch.split_inclusive(|&b| b == b'\n').collect();
    let source = Source { lines, path: Some(b"a.txt") };
    if let Ok(parsed) = FORMATS[form].read(&source) {
        assert!(parsed.used.iter().all(|used| used.start <= used.end && used.end <= source.lines.len()));
    }
    let _ = edt::edit::format::read(patch, None);
}

/// The two parts of an input, divided by the first NUL byte.
pub fn halves(data: &[u8]) -> (&[u8], &[u8]) {
    let at = data.iter().position(|&b| b == 0).unwrap_or(data.len());
    (&data[..at], data.get(at + 1..).unwrap_or_default())
}
