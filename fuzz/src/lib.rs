//! Shared by the fuzz targets.

use edt_edit::format::{self, PatchSource};

/// Reads `patch` in the format of this index, and in the format that edt detects.
pub fn read_as(form: usize, patch: &[u8]) {
    let lines = patch.split_inclusive(|&b| b == b'\n').collect();
    let source = PatchSource { lines, path: Some(b"a.txt") };
    let form = format::formats().nth(form).expect("an index below the number of formats");
    if let Ok(parsed) = form.read(&source) {
        assert!(
            parsed.used.iter().all(|used| used.start <= used.end && used.end <= source.lines.len())
        );
    }
    let _ = format::read(patch, None);
}

/// The parts of an input before and after the first NUL byte.
pub fn halves(data: &[u8]) -> (&[u8], &[u8]) {
    let at = data.iter().position(|&b| b == 0).unwrap_or(data.len());
    (&data[..at], data.get(at + 1..).unwrap_or_default())
}

/// A directory of this process in memory, for targets that read files. It stays until the process
/// is gone: the name is the same for each input.
pub fn directory(name: &str) -> std::path::PathBuf {
    let path = std::path::PathBuf::from(format!("/dev/shm/edt-fuzz-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&path).expect("a directory in memory");
    path
}

/// The stat of some file.
pub fn stat() -> edt_io::disk::Stat {
    edt_io::disk::Stat {
        dev: 1,
        ino: 2,
        size: 3,
        mtime: (4, 5),
        ctime: (6, 7),
        mode: 0o100_644,
        uid: 8,
        gid: 9,
    }
}
