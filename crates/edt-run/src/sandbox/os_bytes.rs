//! Paths and arguments in messages between processes.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::Path;

use serde::{Deserialize, Serialize};

/// Bytes that need not be UTF-8.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct OsBytes(Vec<u8>);

impl OsBytes {
    pub(super) fn path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.0))
    }

    pub(super) fn text(&self) -> &OsStr {
        OsStr::from_bytes(&self.0)
    }
}

impl<T: Into<OsString>> From<T> for OsBytes {
    fn from(text: T) -> OsBytes {
        OsBytes(text.into().into_vec())
    }
}
