//! Tokens that look like secrets: by an issuer's prefix (as published by issuers and by the secret
//! scanners of code hosts), or because they look random.

use super::marks::SECRET;

/// Prefixes of keys and tokens, and the minimum number of characters after them.
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

/// Words before object ids, which look random but are not secrets.
const ID_WORDS: &[&str] = &[
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

/// Replaces tokens that look like secrets.
pub(super) fn without_tokens(text: &str) -> String {
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    let mut is_id = false;
    while let Some(c) = text[at..].chars().next() {
        let len = text[at..].find(|c: char| !is_token_char(c)).unwrap_or(text.len() - at);
        if len == 0 {
            out.push(c);
            is_id &= c != '\n';
            at += c.len_utf8();
            continue;
        }
        let token = &text[at..at + len];
        let random = looks_random(token, &mut is_id);
        out.push_str(if random || has_prefix(token) { SECRET } else { token });
        at += len;
    }
    out
}

/// Characters of a token. `=`, `:` and quotes separate names from values.
fn is_token_char(c: char) -> bool {
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

/// Whether a part of at least 20 characters looks random: a hexadecimal number, or a mixture of
/// upper case, lower case and digits that alternates more often than in names. `is_id`: an object
/// id may come next.
fn looks_random(token: &str, is_id: &mut bool) -> bool {
    let parts = token.split(['.', '/', '@', '&', '?', '#', '$', '*', '^', '~', '!', '%']);
    parts.map(|part| part.trim_matches(['-', '_', '+'])).filter(|part| !part.is_empty()).any(
        |part| {
            let digits = part.bytes().filter(u8::is_ascii_digit).count();
            let hexadecimal = part.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
            if hexadecimal && *is_id || is_uuid(part) {
                return false;
            }
            let word = part.rsplit(['-', '_']).next().unwrap_or(part);
            *is_id = ID_WORDS.contains(&word.to_ascii_lowercase().as_str());
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

fn is_uuid(text: &str) -> bool {
    let parts: Vec<usize> = text.split('-').map(str::len).collect();
    parts == [8, 4, 4, 4, 12] && text.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_with_an_issuers_prefix_is_removed() {
        let token = format!("ghp_{}", "a1B2".repeat(9));
        assert_eq!(without_tokens(&format!("use {token} here")), format!("use {SECRET} here"));
    }

    #[test]
    fn a_prefix_alone_is_a_word() {
        assert_eq!(without_tokens("a ghp_ prefix and sk-learn"), "a ghp_ prefix and sk-learn");
    }

    #[test]
    fn a_long_hexadecimal_token_is_removed_unless_an_id_word_comes_before() {
        let hex = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(without_tokens(&format!("x {hex}")), format!("x {SECRET}"));
        assert_eq!(without_tokens(&format!("commit {hex}")), format!("commit {hex}"));
    }

    #[test]
    fn a_uuid_is_an_id() {
        let uuid = "123e4567-e89b-12d3-a456-426614174000";
        assert_eq!(without_tokens(uuid), uuid);
        assert!(is_uuid(uuid) && !is_uuid("123e4567-e89b-12d3-a456"));
    }

    #[test]
    fn long_words_without_digits_are_code() {
        let text = "a_very_long_function_name_without_digits(another_long_argument_name)";
        assert_eq!(without_tokens(text), text);
    }
}
