//! Random values that are assigned to names of secrets.

use super::CredentialKind;
use super::strength::{
    is_hash_or_uuid, is_random, is_random_with_signs, is_strong_password, is_words,
};
use super::token::Found;
use crate::guard::subject::Subject;
use edt_types::secret_names::assigned::{KEYS, NO_SECRETS, PASSWORDS};

/// Languages of settings, in which a value needs no quotes.
const SETTINGS: [&str; 2] = ["yaml", "toml"];
/// How far before a value its name may be, in bytes.
const MAX_NAME_BYTES: usize = 100;
/// The lengths of a value.
const LENGTHS: std::ops::RangeInclusive<usize> = 16..=200;

/// Whether values in the file need no quotes: settings, and files of no known language.
pub(super) fn is_settings(subject: &Subject<'_>) -> bool {
    subject.language().is_none_or(|language| SETTINGS.contains(&language.name))
}

/// A value in a line. `is_settings`: it needs no quotes.
pub(super) fn in_line(line: &[u8], is_settings: bool) -> Found {
    if !line.iter().any(|byte| matches!(byte, b'=' | b':')) {
        return None;
    }
    quoted(line).or_else(|| is_settings.then(|| bare(line))?)
}

/// `name = "value"`, `"name": "value"`, `name: &str = "value"`.
fn quoted(line: &[u8]) -> Found {
    let is_quote = |byte: &u8| matches!(byte, b'"' | b'\'' | b'`');
    let mut at = 0;
    while let Some(open) = line[at..].iter().position(is_quote).map(|open| at + open) {
        let rest = &line[open + 1..];
        let value = memchr::memchr(line[open], rest).map(|length| &rest[..length]);
        let found = value.and_then(|value| judged(name_before(&line[..open])?, value));
        if found.is_some() {
            return found;
        }
        // What looks like the end of a string may be the start of one: `don't`.
        at = open + 1;
    }
    None
}

/// `NAME=value` or `name: value` alone in its line.
fn bare(line: &[u8]) -> Found {
    let line = line.trim_ascii();
    let line = line.strip_prefix(b"export ").unwrap_or(line);
    let at = line.iter().position(|byte| matches!(byte, b'=' | b':'))?;
    let (name, value) = (&line[..at], line[at + 1..].trim_ascii());
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-. ".contains(byte);
    let is_value = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=_-.~!@#%^&*".contains(byte);
    if !name.iter().all(is_name) || !value.iter().all(is_value) {
        return None;
    }
    let name = std::str::from_utf8(name).ok()?.trim();
    // Before the colon of a sentence are several words, as in "The initial password: ...".
    if name.contains(' ') && kind(name) == Some(NameKind::Password) {
        return None;
    }
    judged(name, value)
}

/// The name to which the text before a quote assigns: it ends with `=`, `:` or `=>`, after which a
/// string may have a prefix.
fn name_before(text: &[u8]) -> Option<&str> {
    let text = &text[text.len().saturating_sub(MAX_NAME_BYTES)..];
    let prefix = text.iter().rev().take_while(|byte| b"bBrRuUfFL@$#".contains(byte)).count();
    let text = text[..text.len() - prefix.min(2)].trim_ascii_end();
    let text = text.strip_suffix(b">").unwrap_or(text);
    let (sign, text) = (text.last()?, &text[..text.len() - 1]);
    let before = text.last().copied().unwrap_or_default();
    if !matches!(sign, b'=' | b':') || *sign == b'=' && b"=!<>~".contains(&before) {
        return None;
    }
    // The statement; a type may be between the name and the sign.
    let text = text.strip_suffix(b":").unwrap_or(text);
    let start = text.iter().rposition(|byte| b",;{}(".contains(byte)).map_or(0, |at| at + 1);
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    let words = text[start..].split(|byte| !is_part(*byte));
    { words }.filter_map(|word| std::str::from_utf8(word).ok()).find(|word| kind(word).is_some())
}

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NameKind {
    Key,
    Password,
}

fn kind(name: &str) -> Option<NameKind> {
    let letters: String =
        name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    let ends = |list: &[&str]| list.iter().any(|end| letters.ends_with(end));
    if ends(NO_SECRETS) {
        None
    } else if ends(PASSWORDS) {
        Some(NameKind::Password)
    } else {
        ends(KEYS).then_some(NameKind::Key)
    }
}

fn judged(name: &str, value: &[u8]) -> Found {
    let kind = kind(name)?;
    if is_hash_or_uuid(value) {
        return None;
    }
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=_-.~:".contains(byte);
    let is_random_key =
        LENGTHS.contains(&value.len()) && value.iter().all(is_plain) && is_random(value);
    let is_template = || value.iter().any(|byte| b"${}[]()<> ".contains(byte));
    let is_password = || {
        let is_mixed = value.iter().any(u8::is_ascii_uppercase)
            && value.iter().any(u8::is_ascii_lowercase)
            || value.iter().any(u8::is_ascii_punctuation);
        value.len() >= 10
            && is_mixed
            && !is_template()
            && is_strong_password(value)
            && !is_words(value)
    };
    // The mark of a new project's key in Django.
    let value_of_key = value.strip_prefix(b"django-insecure-").unwrap_or(value);
    let found = is_random_key
        || is_random_with_signs(value_of_key)
        || kind == NameKind::Password && is_password();
    let name = || name.chars().take(40).collect();
    found.then(|| (CredentialKind::Assigned { name: name() }, value.len()))
}
