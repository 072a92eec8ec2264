//! Credentials that are recognized by their own form.

use super::CredentialKind;
use super::strength::{is_random, is_strong_password, is_token};
use edt_types::credential::{Alphabet, TOKEN_KINDS, TokenKind};

/// A credential and its length.
pub(super) type Found = Option<(CredentialKind, usize)>;

/// How many rows below its first line a private key's text may begin.
const MAX_HEADER_ROWS: usize = 6;
/// The least length of a line of a private key's text.
const MIN_BODY: usize = 40;
/// How far from an access key id its secret may be, in rows.
const NEAR_ROWS: usize = 3;
/// The longest part of an address before its host.
const MAX_USER_BYTES: usize = 300;

/// A private key that begins in this row, with its text: the first line alone is code.
pub(super) fn private_key(rows: &[&[u8]], row: usize) -> Found {
    let line = rows[row];
    let at = memchr::memmem::find(line, b"-----BEGIN ")?;
    let rest = &line[at + b"-----BEGIN ".len()..];
    let name = &rest[..memchr::memmem::find(rest, b"-----")?];
    if !(name.ends_with(b"PRIVATE KEY") || name == b"PGP PRIVATE KEY BLOCK") {
        return None;
    }
    let below = rows[row + 1..].iter().take(MAX_HEADER_ROWS).copied();
    let body = std::iter::once(&rest[name.len()..]).chain(below).find_map(body_of)?;
    is_token(body).then_some((CredentialKind::PrivateKey, body.len()))
}

/// A run of base64 in a line, long enough for a key's text.
fn body_of(line: &[u8]) -> Option<&[u8]> {
    let is_other = |byte: &u8| !(byte.is_ascii_alphanumeric() || b"+/=".contains(byte));
    // `\n` in a string is no part of it.
    let runs = line.split(is_other).map(|run| run.strip_prefix(b"n").unwrap_or(run));
    { runs }.find(|run| run.len() >= MIN_BODY)
}

/// A token with its issuer's prefix.
pub(super) fn issued(line: &[u8]) -> Found {
    let words = line.split(|byte| !Alphabet::Dotted.contains(*byte));
    words.filter(|word| word.len() >= 20).find_map(|word| {
        let kind = TOKEN_KINDS.iter().find(|kind| word.starts_with(kind.prefix.as_bytes()))?;
        is_of_kind(word, kind).then_some((
            CredentialKind::Token { issuer: kind.issuer, prefix: kind.prefix },
            word.len(),
        ))
    })
}

fn is_of_kind(word: &[u8], kind: &TokenKind) -> bool {
    let rest = &word[kind.prefix.len()..];
    let length = rest.iter().take_while(|byte| kind.alphabet.contains(**byte)).count();
    let body = &rest[..length];
    // A full stop ends a sentence.
    let body = if kind.alphabet == Alphabet::Dotted { trim_dots(body) } else { body };
    let ends = rest.get(length).is_none_or(|byte| !byte.is_ascii_alphanumeric());
    let is_web_token = || kind.prefix != "eyJ" || is_web_token(word);
    ends && (kind.length.0..=kind.length.1).contains(&body.len())
        && is_token(body)
        && is_web_token()
}

fn trim_dots(body: &[u8]) -> &[u8] {
    let end = body.iter().rposition(|byte| *byte != b'.').map_or(0, |at| at + 1);
    &body[..end]
}

/// Header, claims and signature. The claims of the usual example begin with this subject.
fn is_web_token(word: &[u8]) -> bool {
    let parts: Vec<&[u8]> = trim_dots(word).split(|byte| *byte == b'.').collect();
    let example = b"eyJzdWIiOiIxMjM0NTY3ODkw";
    matches!(parts[..], [_, claims, signature]
        if claims.starts_with(b"eyJ") && !claims.starts_with(example) && signature.len() >= 20)
}

/// A random word of 40 characters next to an access key id of Amazon.
pub(super) fn amazon_secret(rows: &[&[u8]], row: usize) -> Found {
    let is_other = |byte: &u8| !(byte.is_ascii_alphanumeric() || b"+/".contains(byte));
    let word = rows[row].split(is_other).find(|word| word.len() == 40 && is_random(word))?;
    let near = row.saturating_sub(NEAR_ROWS)..(row + NEAR_ROWS + 1).min(rows.len());
    let has_id = |line: &&[u8]| {
        [&b"AKIA"[..], b"ASIA"].iter().any(|id| memchr::memmem::find(line, id).is_some())
    };
    let has_upper = word.iter().any(u8::is_ascii_uppercase);
    let found = has_upper && rows[near].iter().any(has_id);
    found.then_some((CredentialKind::AmazonSecret, word.len()))
}

/// A password before the host of an address.
pub(super) fn in_address(line: &[u8]) -> Found {
    memchr::memmem::find_iter(line, b"://").find_map(|at| {
        let rest = &line[at + 3..];
        let rest = &rest[..rest.len().min(MAX_USER_BYTES)];
        let is_end = |byte: &u8| byte.is_ascii_whitespace() || b"/?#\"'`<>,;|\\".contains(byte);
        let authority = &rest[..rest.iter().position(is_end).unwrap_or(rest.len())];
        let user = &authority[..memchr::memrchr(b'@', authority)?];
        let password = &user[memchr::memchr(b':', user)? + 1..];
        let is_template = password.iter().any(|byte| b"${}[]()*%".contains(byte));
        let start =
            line[..at].iter().rposition(|byte| !byte.is_ascii_alphanumeric() && *byte != b'+');
        let scheme = &line[start.map_or(0, |start| start + 1)..at];
        (!is_template && is_strong_password(password)).then(|| {
            let scheme = String::from_utf8_lossy(&scheme[..scheme.len().min(20)]).into_owned();
            (CredentialKind::Address { scheme }, password.len())
        })
    })
}
