//! Numbers that `edt.toml` may set.

use serde::Deserialize;

use edt_io::disk::MAX_FILE;
use edt_types::Durability;

/// The highest number of failed patches that a file may set.
const MOST_FAILED: u64 = 100;

/// `[session]` as written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Session {
    pub(super) switch: Option<bool>,
    pub(super) durability: Option<Durability>,
    pub(super) max_edits: Option<u64>,
    pub(super) warn_on_user_commit: Option<bool>,
}

/// `[limits]` as written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Limits {
    pub(super) max_file_bytes: Option<u64>,
    pub(super) failed_patches: Option<u64>,
}

impl Session {
    /// What is wrong with a number.
    pub(super) fn fault(&self) -> Option<String> {
        let none = self.max_edits.filter(|number| *number == 0)?;
        Some(format!("max_edits must be at least 1; it is {none}"))
    }
}

impl Limits {
    /// What is wrong with a number.
    pub(super) fn fault(&self) -> Option<String> {
        for (key, number, most) in [
            ("max_file_bytes", self.max_file_bytes, MAX_FILE),
            ("failed_patches", self.failed_patches, MOST_FAILED),
        ] {
            if let Some(number) = number.filter(|number| !(1..=most).contains(number)) {
                return Some(format!("{key} must be between 1 and {most}; it is {number}"));
            }
        }
        None
    }
}

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
