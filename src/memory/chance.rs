//! Words that give themselves away: keys and tokens by their issuers' prefixes (as the issuers and the scanners of code hosts publish
//! them), and what looks like chance.

use super::scrub::SECRET;

/// What keys and tokens begin with, and the fewest characters after it.
const PREFIXES: &[(&str, usize)] = &[
    ("AKIA", 12),
    ("ASIA", 12),
    ("AIza", 20),
    ("ya29.", 10),
    ("ghp_", 16),
    ("gho_", 16),
    ("ghu_", 16),
    ("ghs_", 16),
    ("ghr_", 16),
    ("github_pat_", 16),
    ("glpat-", 10),
    ("sk-", 12),
    ("sk_live_", 8),
    ("sk_test_", 8),
    ("rk_live_", 8),
    ("pk_live_", 8),
    ("whsec_", 8),
    ("xoxb-", 8),
    ("xoxp-", 8),
    ("xoxa-", 8),
    ("xoxs-", 8),
    ("xapp-", 8),
    ("npm_", 20),
    ("pypi-", 16),
    ("dop_v1_", 16),
    ("hf_", 20),
    ("SG.", 16),
    ("shpat_", 16),
    ("AGE-SECRET-KEY-", 8),
    ("eyJ", 20),
];

/// Words before the ids of objects, which are no secrets however much they look like chance.
const IDS: &[&str] = &[
    "commit",
    "commits",
    "sha",
    "sha1",
    "sha256",
    "id",
    "oid",
    "object",
    "blob",
    "tree",
    "tag",
    "parent",
    "parents",
    "merge",
    "rev",
    "revision",
    "hash",
    "digest",
    "checksum",
    "integrity",
    "index",
    "head",
    "base",
    "tip",
    "from",
    "show",
    "checkout",
    "revert",
];

/// Without the words that look like secrets.
pub(super) fn without_tokens(text: &str) -> String {
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    let mut is_id = false;
    while let Some(c) = text[at..].chars().next() {
        let len = text[at..].find(|c: char| !is_of_token(c)).unwrap_or(text.len() - at);
        if len == 0 {
            out.push(c);
            is_id &= c != '\n';
            at += c.len_utf8();
            continue;
        }
        let token = &text[at..at + len];
        let chance = looks_like_chance(token, &mut is_id);
        out.push_str(if chance || has_prefix(token) { SECRET } else { token });
        at += len;
    }
    out
}

/// What is a part of one token. `=`, `:` and quotes part names from values.
fn is_of_token(c: char) -> bool {
    c.is_alphanumeric()
        || matches!(
            c,
            '_' | '-' | '.' | '+' | '/' | '%' | '~' | '$' | '!' | '@' | '#' | '*' | '&' | '^' | '?'
        )
}

fn has_prefix(token: &str) -> bool {
    PREFIXES.iter().any(|(prefix, least)| {
        token.match_indices(prefix).any(|(at, _)| {
            let starts = !token[..at].ends_with(|c: char| c.is_alphanumeric());
            let rest = &token[at + prefix.len()..];
            let long = rest
                .chars()
                .take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))
                .count()
                >= *least;
            starts && long && rest.chars().any(|c| c.is_ascii_digit() || c.is_ascii_uppercase())
        })
    })
}

/// Whether a part of 20 characters or more looks like chance: a hexadecimal number, or letters of both cases and digits that alternate
/// more often than in names. `is_id` says whether an object's id may come next.
fn looks_like_chance(token: &str, is_id: &mut bool) -> bool {
    let parts = token.split(['.', '/', '@', '&', '?', '#', '$', '*', '^', '~', '!', '%']);
    parts.map(|part| part.trim_matches(['-', '_', '+'])).filter(|part| !part.is_empty()).any(
        |part| {
            let digits = part.bytes().filter(u8::is_ascii_digit).count();
            let hexadecimal = part.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
            if hexadecimal && *is_id || is_uuid(part) {
                return false;
            }
            let word = part.rsplit(['-', '_']).next().unwrap_or(part);
            *is_id = IDS.contains(&word.to_ascii_lowercase().as_str());
            if part.len() < 20 || !part.is_ascii() {
                return false;
            }
            if part.len() >= 32 && digits >= 3 && hexadecimal {
                return true;
            }
            let class = |b: u8| match b {
                b'0'..=b'9' => 0,
                b'a'..=b'z' => 1,
                b'A'..=b'Z' => 2,
                _ => 3,
            };
            let turns =
                part.as_bytes().windows(2).filter(|pair| class(pair[0]) != class(pair[1])).count();
            digits >= 2 && turns * 3 >= part.len() && part.bytes().any(|b| b.is_ascii_alphabetic())
        },
    )
}

/// Whether `text` is a UUID.
fn is_uuid(text: &str) -> bool {
    let parts: Vec<usize> = text.split('-').map(str::len).collect();
    parts == [8, 4, 4, 4, 12] && text.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-')
}
