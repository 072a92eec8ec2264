//! What is taken out before anything is stored: secrets, control characters, and all that is too long.
//!
//! Keys and tokens are known by their issuers' prefixes (as the issuers and the scanners of code hosts publish them), by the name that a
//! value is given to, or by looking like chance. Rather a harmless word too many than one secret too few: what is lost is a lesson's
//! colour.

/// What stands where a secret stood.
pub const SECRET: &str = "[secret]";
/// What stands where text was cut.
pub const CUT: &str = " […]";

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

/// Parts of names whose values are secret.
const NAMES: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "api_key",
    "apikey",
    "api-key",
    "access_key",
    "accesskey",
    "private_key",
    "credential",
    "authorization",
    "cookie",
];

/// Words after which a value is secret.
const SCHEMES: &[&str] = &["bearer", "basic"];

/// `text` without secrets and control characters, and of at most about `most` bytes.
#[must_use]
pub fn scrub(text: &str, most: usize) -> String {
    // What is far behind the end is never looked at.
    let near = head(text, most.saturating_mul(4).max(4096));
    let plain: String = near.chars().filter(|c| !is_hidden(*c)).collect();
    let clean = without_tokens(&without_keys(&plain));
    if clean.len() <= most && near.len() == text.len() {
        return clean;
    }
    format!("{}{CUT}", head(&clean, most))
}

/// The first characters of `text` that take at most `most` bytes.
#[must_use]
pub fn head(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|&at| text.is_char_boundary(at));
    &text[..end.unwrap_or(0)]
}

/// Whether `c` is seen by nobody, or changes how the rest is seen.
fn is_hidden(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\t')
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

/// Without private keys in their armour.
fn without_keys(text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find("-----BEGIN ") {
        out.push_str(&rest[..at]);
        out.push_str(SECRET);
        let end = rest[at..].find("-----END ").map_or(rest.len(), |end| {
            let after = at + end + "-----END ".len();
            rest[after..].find("-----").map_or(rest.len(), |dashes| after + dashes + 5)
        });
        rest = &rest[end..];
    }
    out + rest
}

/// What the next word may be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Awaited {
    /// Anything.
    Nothing,
    /// The value of a name that says it is secret.
    Value,
    /// What follows the name of a scheme.
    Credential,
}

/// Without the words that are secrets, or that stand where secrets do.
fn without_tokens(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    let mut awaited = Awaited::Nothing;
    while at < text.len() {
        let rest = &text[at..];
        let len = rest.find(|c: char| !is_of_token(c)).unwrap_or(rest.len());
        if len == 0 {
            let c = rest.chars().next().unwrap_or_default();
            // The value stands on the same line, after `=`, `:`, quotes or spaces.
            if !matches!(c, '=' | ':' | '"' | '\'' | '`' | ' ' | '\t' | '>') {
                awaited = Awaited::Nothing;
            }
            out.push(c);
            at += c.len_utf8();
            continue;
        }
        let (token, after) = rest.split_at(len);
        let scheme = SCHEMES.contains(&token.to_lowercase().as_str());
        let is_one = match awaited {
            Awaited::Nothing => false,
            Awaited::Value => !scheme && is_value(&out, token, after),
            Awaited::Credential => token.len() >= 6,
        };
        out.push_str(&told(token, is_one));
        awaited = match awaited {
            Awaited::Value if scheme => Awaited::Credential,
            // `Cookie: name=value`.
            Awaited::Value if !is_one && after.starts_with('=') => Awaited::Value,
            _ if names_a_secret(token) => Awaited::Value,
            _ => Awaited::Nothing,
        };
        at += len;
    }
    out
}

/// What is a part of one token. `=`, `:` and quotes part names from values.
fn is_of_token(c: char) -> bool {
    c.is_alphanumeric()
        || matches!(c, '_' | '-' | '.' | '+' | '/' | '%' | '~' | '$' | '!' | '@' | '#' | '*' | '&' | '^' | '?')
}

/// `token`, or what stands for it.
fn told(token: &str, stands_for_one: bool) -> String {
    // `//user:password@host`: the colon parted them; here is the second half.
    if let Some((secret, host)) = token.split_once('@')
        && !secret.is_empty()
        && stands_for_one
    {
        return format!("{SECRET}@{host}");
    }
    if stands_for_one || has_prefix(token) || looks_like_chance(token) { SECRET.to_owned() } else { token.to_owned() }
}

/// Whether `token`, which comes after `before`, is a value and not more code: in quotes, or right behind the sign, or with a digit.
fn is_value(before: &str, token: &str, after: &str) -> bool {
    let quoted = before.ends_with(['"', '\'', '`']);
    let behind = before.ends_with(['=', ':']);
    let called = after.starts_with('(');
    let assigned =
        before.trim_end_matches([' ', '\t', '"', '\'', '`']).ends_with(['=', ':', '>']) || before.ends_with(' ');
    assigned
        && !called
        && (quoted && token.len() >= 3
            || behind && token.len() >= 3
            || token.len() >= 6 && token.chars().any(|c| c.is_ascii_digit() || !(c.is_alphanumeric() || c == '_')))
}

fn names_a_secret(token: &str) -> bool {
    let lower = token.to_lowercase();
    // `https://user:password@host`.
    NAMES.iter().any(|name| lower.contains(name)) || lower.starts_with("//") && !lower.contains('.') && lower.len() > 2
}

fn has_prefix(token: &str) -> bool {
    PREFIXES.iter().any(|(prefix, least)| {
        token.match_indices(prefix).any(|(at, _)| {
            let starts = !token[..at].ends_with(|c: char| c.is_alphanumeric());
            let rest = &token[at + prefix.len()..];
            let long =
                rest.chars().take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.')).count() >= *least;
            starts && long && rest.chars().any(|c| c.is_ascii_digit() || c.is_ascii_uppercase())
        })
    })
}

/// Whether a word of 20 characters or more looks like chance: a hexadecimal number, or letters of both cases and digits that alternate
/// more often than in names.
fn looks_like_chance(token: &str) -> bool {
    token.split(['.', '/', '@', '&', '?', '#', '$', '*', '^', '~', '!', '%']).any(|part| {
        let part = part.trim_matches(['-', '_', '+']);
        if part.len() < 20 || !part.is_ascii() {
            return false;
        }
        let digits = part.bytes().filter(u8::is_ascii_digit).count();
        if part.len() >= 32 && digits >= 3 && part.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-') {
            return true;
        }
        let class = |b: u8| match b {
            b'0'..=b'9' => 0,
            b'a'..=b'z' => 1,
            b'A'..=b'Z' => 2,
            _ => 3,
        };
        let bytes = part.as_bytes();
        let turns = bytes.windows(2).filter(|pair| class(pair[0]) != class(pair[1])).count();
        digits >= 2 && turns * 3 >= part.len() && bytes.iter().any(u8::is_ascii_alphabetic)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_a_secret_goes() {
        for (text, gone) in [
            ("aws_access_key_id = AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE"),
            ("key=ghp_abcdefghijklmnopqrstuvwxyz0123456789", "ghp_abc"),
            ("curl -H 'Authorization: Bearer abc123def456'", "abc123def456"),
            ("curl -H \"Authorization: Basic dXNlcjpwYXNz\"", "dXNlcjpwYXNz"),
            ("export OPENAI_API_KEY=sk-proj-Abc123Def456Ghi", "sk-proj"),
            ("PASSWORD=hunter2", "hunter2"),
            ("password: \"correct horse\"", "correct"),
            ("{\"token\": \"abc\"}", "abc"),
            ("db_password='s3cr3t!'", "s3cr3t!"),
            ("postgres://admin:s3cr3t@db/app", "s3cr3t"),
            ("https://user:pa55word@example.org/x", "pa55word"),
            ("slack = xoxb-1234-5678-abcdEFGH", "xoxb-1234"),
            ("-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----", "MIIEow"),
            ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNz", "b3BlbnNz"),
            ("jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc", "eyJhbGci"),
            ("x = \"wJalrXUtnFEMI7K3MDENGbPxRfiCY9EXAMPLEKEY\"", "wJalrXUtnFEMI7K3"),
            ("sha 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b", "9f86d081"),
            ("stripe sk_live_4eC39HqLyjWDarj", "sk_live_4e"),
            ("Cookie: session=abc123", "abc123"),
        ] {
            let clean = scrub(text, 400);
            assert!(!clean.contains(gone) && clean.contains(SECRET), "{text:?} -> {clean:?}");
        }
    }

    #[test]
    fn code_stays_as_it_is() {
        for text in [
            "int calculate_the_sum_of_all_numbers(int a, int b) {\n\treturn a + b;\n}",
            "let token = next_token(&mut lexer);",
            "for (size_t i = 0; i < count; i++) total += values[i];",
            "use crate::session::history::Commit;",
            "const MAXIMUM_NUMBER_OF_CONNECTIONS: usize = 1024;",
            "printf(\"%d items of %s\\n\", count, name);",
            "if secret { hide(); }",
            "https://example.org/docs/api/v2/reference.html",
            "assertEquals(expectedValueOfTheField, actual);",
            "\u{fc}ber Stra\u{df}e \u{2014} na\u{ef}ve",
        ] {
            assert_eq!(scrub(text, 400), text);
        }
    }

    #[test]
    fn what_is_hidden_goes_and_what_is_long_is_cut_between_characters() {
        assert_eq!(scrub("a\u{1b}[31mb\u{202e}c\r\n\tx", 400), "a[31mbc\n\tx");
        assert_eq!(scrub("\u{fc}\u{fc}\u{fc}", 3), format!("\u{fc}{CUT}"));
        assert_eq!(scrub("short", 5), "short");
        let long = format!("{} password=hunter2", "word ".repeat(3000));
        let cut = scrub(&long, 100);
        assert!(cut.len() <= 100 + CUT.len() && cut.ends_with(CUT) && !cut.contains("hunter2"));
    }

    #[test]
    fn a_secret_that_the_cut_would_halve_is_gone_first() {
        let text = format!("{}AKIAIOSFODNN7EXAMPLE", "x ".repeat(45));
        assert!(!scrub(&text, 100).contains("AKIA"));
    }
}
