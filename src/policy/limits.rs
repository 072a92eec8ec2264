//! Numbers that `edt.toml` may set.

/// How far a file may shrink.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SizeLimits {
    /// Largest part of the bytes that may go (0 to 1).
    pub max_bytes_lost: f64,
    /// Files of more bytes than this are judged by bytes.
    pub min_bytes: u64,
    /// Largest part of the lines that may go (0 to 1).
    pub max_lines_lost: f64,
    /// Files of at least this many lines are judged by lines.
    pub min_lines: u64,
}

/// How much a transaction may remove.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeletionLimits {
    /// More files than this may not go at once.
    pub max_files: u64,
    /// More lines than this, those added subtracted, may not go at once.
    pub max_lines: u64,
}
