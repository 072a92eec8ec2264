//! Numbers that `edt.toml` may set.

/// The limits of the guard `size_reduction`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SizeLimits {
    /// Largest part of the bytes that may be removed (0 to 1).
    pub max_bytes_lost: f64,
    /// Files of more bytes than this are measured in bytes.
    pub min_bytes: u64,
    /// Largest part of the lines that may be removed (0 to 1).
    pub max_lines_lost: f64,
    /// Files of at least this many lines are measured in lines.
    pub min_lines: u64,
}

/// The limits of the guard `mass_deletion`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeletionLimits {
    /// Most files that one transaction removes.
    pub max_files: u64,
    /// Most lines that one transaction removes, minus the lines it adds.
    pub max_lines: u64,
}
