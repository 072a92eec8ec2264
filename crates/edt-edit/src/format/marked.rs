//! The formats that have marks of their own. A fenced file has only its fence, and may contain any of
//! them.

use super::apply_patch::ApplyPatch;
use super::patch::PatchFormat;
use super::search_replace::SearchReplace;
use super::unified_diff::UnifiedDiff;

/// The marked formats, in the order in which they are tried if two begin at the same line.
pub const MARKED_FORMATS: [&dyn PatchFormat; 3] = [&ApplyPatch, &SearchReplace, &UnifiedDiff];
