//! The marks in place of removed text, and truncation.

/// The replacement for a secret.
pub(crate) const SECRET: &str = "[secret]";
/// The mark where text was truncated.
pub(crate) const CUT: &str = " […]";

/// The first characters of `text` that take at most `max_bytes` bytes.
pub(crate) fn head(text: &str, max_bytes: usize) -> &str {
    let end = (0..=max_bytes.min(text.len())).rev().find(|&at| text.is_char_boundary(at));
    &text[..end.unwrap_or(0)]
}
