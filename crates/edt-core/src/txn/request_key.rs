//! Checks of single keys of a request.

use edt_edit::Expect;
use edt_types::{Code, Finding};

/// Parses `expected_hash`.
///
/// # Errors
/// `BAD_REQUEST` if it is not a blob id.
pub(super) fn expect(hash: Option<String>) -> std::result::Result<Expect, Finding> {
    match hash {
        None => Ok(Expect::Anything),
        Some(hash)
            if (7..=64).contains(&hash.len()) && hash.bytes().all(|b| b.is_ascii_hexdigit()) =>
        {
            Ok(Expect::Hash(hash.to_ascii_lowercase()))
        }
        Some(hash) => Err(bad(
            &format!("`expected_hash` {hash:?} is not a blob id."),
            "Send the hex id that `edt read` prints, at least 7 digits.",
        )),
    }
}

pub(super) fn bad(message: &str, hint: &str) -> Finding {
    Finding::new(Code::BadRequest, message, hint)
}
