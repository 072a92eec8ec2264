//! Line endings as Git converts them (`convert.c`): which files are text, what becomes LF in the
//! blob and CRLF on disk. Pure functions.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EolConversion {
    /// No conversion.
    Keep,
    /// Text: LF in the blob, this line ending on disk.
    Text(End),
    /// The same, if the content looks like text.
    Auto(End),
}

/// The line ending on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Lf,
    CrLf,
}

/// How often each kind of byte occurs in a text.
#[derive(Debug, Default, PartialEq, Eq)]
struct Stats {
    nul: u64,
    lone_cr: u64,
    lone_lf: u64,
    crlf: u64,
    printable: u64,
    control: u64,
}

impl EolConversion {
    /// The bytes that Git records for `text`. `recorded_crlf` returns whether the currently
    /// recorded version contains CRLF.
    pub(super) fn to_git(self, text: Vec<u8>, recorded_crlf: impl FnOnce() -> bool) -> Vec<u8> {
        let auto = match self {
            EolConversion::Keep => return text,
            EolConversion::Text(_) => false,
            EolConversion::Auto(_) => true,
        };
        let stats = Stats::of(&text);
        if stats.crlf == 0 || auto && (stats.is_binary() || recorded_crlf()) {
            return text;
        }
        let next = |i: usize| text.get(i + 1) == Some(&b'\n');
        text.iter().enumerate().filter(|&(i, &b)| b != b'\r' || !next(i)).map(|(_, &b)| b).collect()
    }

    /// The bytes that Git writes to disk for the recorded `text`.
    pub(super) fn to_worktree(self, text: Vec<u8>) -> Vec<u8> {
        let auto = match self {
            EolConversion::Text(End::CrLf) => false,
            EolConversion::Auto(End::CrLf) => true,
            _ => return text,
        };
        let stats = Stats::of(&text);
        if stats.lone_lf == 0 || auto && (stats.lone_cr > 0 || stats.crlf > 0 || stats.is_binary())
        {
            return text;
        }
        let mut out = Vec::with_capacity(text.len() + usize::try_from(stats.lone_lf).unwrap_or(0));
        for &byte in &text {
            if byte == b'\n' && out.last() != Some(&b'\r') {
                out.push(b'\r');
            }
            out.push(byte);
        }
        out
    }
}

/// Whether Git regards `text` as text with CRLF: then an automatic conversion leaves the file as it
/// is.
pub(super) fn has_crlf(text: &[u8]) -> bool {
    let stats = Stats::of(text);
    stats.crlf > 0 && !stats.is_binary()
}

impl Stats {
    fn of(text: &[u8]) -> Stats {
        let mut stats = Stats::default();
        let mut bytes = text.iter().copied().peekable();
        while let Some(byte) = bytes.next() {
            match byte {
                b'\r' if bytes.next_if_eq(&b'\n').is_some() => stats.crlf += 1,
                b'\r' => stats.lone_cr += 1,
                b'\n' => stats.lone_lf += 1,
                0x08 | b'\t' | 0x1b | 0x0c => stats.printable += 1,
                0 => (stats.nul, stats.control) = (stats.nul + 1, stats.control + 1),
                0x01..=0x1f | 0x7f => stats.control += 1,
                _ => stats.printable += 1,
            }
        }
        // The end-of-file character of old systems.
        if text.last() == Some(&0x1a) {
            stats.control -= 1;
        }
        stats
    }

    fn is_binary(&self) -> bool {
        self.lone_cr > 0 || self.nul > 0 || (self.printable >> 7) < self.control
    }
}

/// The setting `core.autocrlf`, for files without a matching attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AutoCrlf {
    Off,
    On,
    Input,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_automatic_conversion_leaves_binary_and_crlf_blobs_alone() {
        let (auto, text) = (EolConversion::Auto(End::CrLf), EolConversion::Text(End::CrLf));
        for odd in [b"a\rb\r\n".to_vec(), b"a\0\r\n".to_vec(), b"\x01\r\n".to_vec()] {
            assert_eq!(auto.to_git(odd.clone(), || false), odd);
            assert_ne!(text.to_git(odd.clone(), || false), odd);
        }
        assert_eq!(auto.to_git(b"a\r\n".to_vec(), || true), b"a\r\n");
        assert_eq!(auto.to_git(b"a\r\n".to_vec(), || false), b"a\n");
        assert_eq!(auto.to_worktree(b"a\r\nb\n".to_vec()), b"a\r\nb\n");
        assert_eq!(text.to_worktree(b"a\r\nb\n".to_vec()), b"a\r\nb\r\n");
        assert_eq!(EolConversion::Auto(End::Lf).to_worktree(b"a\n".to_vec()), b"a\n");
    }
}
