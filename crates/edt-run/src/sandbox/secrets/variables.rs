//! Which variables of the environment a confined program gets: those that programs need, settings,
//! and what the user allows; never a secret.

use std::ffi::{OsStr, OsString};

use super::names::{ORDINARY, PREFIXES, SETTING_WORDS, SWITCHES};
use edt_types::credential::TOKEN_KINDS;
use edt_types::secret_names::variables::{ENDS, NO_SECRETS, PARTS, PUBLIC_PREFIXES, WHOLE, WORDS};

/// Which variables pass in addition to the built-in list.
#[derive(Debug, Clone, Default)]
pub struct VariableRules {
    /// From the user's configuration: a name, which passes whatever it is, or a beginning with `*`
    /// after it.
    pub allowed: Vec<String>,
    /// The names that the request sets. They pass unless they look like secrets.
    pub requested: Vec<OsString>,
}

impl VariableRules {
    /// Whether a program gets the variable.
    #[must_use]
    pub fn pass(&self, name: &OsStr, value: &OsStr) -> bool {
        let text = name.to_string_lossy();
        if self.allowed.iter().any(|allowed| *allowed == text) {
            return true;
        }
        let begins = |allowed: &String| {
            allowed.strip_suffix('*').is_some_and(|start| text.starts_with(start))
        };
        let value = value.to_string_lossy();
        !is_secret_name(name)
            && !is_secret_value(&value)
            && (self.requested.iter().any(|requested| requested == name)
                || self.allowed.iter().any(begins)
                || is_ordinary(&text.to_uppercase(), &value))
    }

    /// The names of those variables that a program does not get.
    #[must_use]
    pub fn withheld(&self, env: &[(OsString, OsString)]) -> Vec<OsString> {
        let withheld = env.iter().filter(|(name, value)| !self.pass(name, value));
        withheld.map(|(name, _)| name.clone()).collect()
    }
}

/// A name that tools or settings have, or a value that only switches something.
fn is_ordinary(upper: &str, value: &str) -> bool {
    let last = upper.rsplit('_').next().unwrap_or(upper);
    let is_number = value.len() <= 5 && value.bytes().all(|byte| byte.is_ascii_digit());
    words(ORDINARY).any(|name| name == upper)
        || words(PREFIXES).any(|prefix| upper.starts_with(prefix))
        || words(SETTING_WORDS).any(|word| word == last)
        || is_number
        || SWITCHES.contains(&value.to_lowercase().as_str())
}

fn words(lines: &'static [&'static str]) -> impl Iterator<Item = &'static str> {
    lines.iter().flat_map(|line| line.split(' '))
}

/// Whether a variable of that name has a secret, or access to an agent or a daemon.
pub(super) fn is_secret_name(name: &OsStr) -> bool {
    // `TOKENIZERS_PARALLELISM` has no token.
    let upper = name.to_string_lossy().to_uppercase().replace("TOKENIZ", "");
    let is_public = NO_SECRETS.contains(&upper.as_str())
        || PUBLIC_PREFIXES.iter().any(|prefix| upper.starts_with(prefix));
    PARTS.iter().any(|part| upper.contains(part))
        || !is_public && ENDS.iter().any(|end| upper.ends_with(end))
        || upper.split('_').skip(1).any(|word| WORDS.contains(&word))
        || WHOLE.contains(&upper.as_str())
}

/// Whether a value is a key or has one in it: with an issuer's prefix, before the host of a URL, in
/// a header, or after a name such as `password=`.
pub(super) fn is_secret_value(value: &str) -> bool {
    let is_separator =
        |c: char| c.is_whitespace() || matches!(c, '=' | ',' | ';' | '"' | '\'' | '(' | ')' | '&');
    value.contains("-----BEGIN")
        || has_url_credentials(value)
        || has_header(value)
        || has_assignment(value)
        || WEBHOOKS.iter().any(|address| value.contains(address))
        || value.split(is_separator).any(|word| is_key(word) || has_user_key(word))
}

/// Addresses at which whoever knows the rest may write.
const WEBHOOKS: [&str; 6] = [
    "hooks.slack.com/",
    "discord.com/api/webhooks/",
    "discordapp.com/api/webhooks/",
    ".webhook.office.com/",
    "outlook.office.com/webhook/",
    "api.telegram.org/bot",
];

/// `KEY@host`, without a scheme.
fn has_user_key(word: &str) -> bool {
    word.split_once('@').is_some_and(|(user, _)| is_key(user) || is_random(user))
}

/// The least length of a key. Shorter words with such a prefix, and those without a digit, are
/// words.
const MIN_KEY: usize = 12;

fn is_key(word: &str) -> bool {
    let is_prefixed = || TOKEN_KINDS.iter().any(|kind| word.starts_with(kind.prefix));
    let has_digit = || word.bytes().any(|byte| byte.is_ascii_digit());
    let is_web_token = || word.starts_with("eyJ") && word.contains('.');
    word.len() >= MIN_KEY && (is_web_token() || has_digit() && is_prefixed())
}

/// `Bearer` or `Basic`, and one word with a digit, `=` or a change of case after its first letter.
fn has_header(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    ["bearer ", "basic "].iter().any(|scheme| {
        let Some(at) = lower.find(scheme) else { return false };
        let word = value[at + scheme.len()..].trim();
        let is_mixed = |c: char| c.is_ascii_digit() || c == '=';
        word.len() >= 6 && !word.contains(' ') && word.contains(is_mixed)
    })
}

/// `password=…` and the like, as in options and queries.
fn has_assignment(value: &str) -> bool {
    const NAMES: [&str; 10] = [
        "password=",
        "passwd=",
        "token=",
        "secret=",
        "apikey=",
        "api_key=",
        "access_key=",
        "accesskey=",
        "accountkey=",
        "-signature=",
    ];
    // Names that are the end of other words.
    const WORDS: [&str; 2] = ["pwd=", "sig="];
    let lower = value.to_ascii_lowercase();
    let is_set = |name: &str, is_word: bool| {
        lower.match_indices(name).any(|(at, _)| {
            let after = lower[at + name.len()..].trim_start_matches(['"', '\'']);
            after.starts_with(|c: char| c.is_alphanumeric())
                && !(is_word && lower[..at].ends_with(|c: char| c.is_alphanumeric()))
        })
    };
    NAMES.iter().any(|name| is_set(name, false)) || WORDS.iter().any(|name| is_set(name, true))
}

/// `scheme://user:password@host`, or a key in place of the user, anywhere in a text.
fn has_url_credentials(value: &str) -> bool {
    value.match_indices("://").any(|(at, separator)| {
        let rest = &value[at + separator.len()..];
        let end = |c: char| c.is_whitespace() || matches!(c, '/' | '?' | '#' | '"' | '\'' | ',');
        let authority = rest.split(end).next().unwrap_or_default();
        authority.rsplit_once('@').is_some_and(|(user, _)| match user.split_once(':') {
            Some((_, password)) => !password.is_empty(),
            None => is_key(user) || is_random(user),
        })
    })
}

/// A word of at least 20 letters and digits, with four digits: the user of an address with a key.
fn is_random(word: &str) -> bool {
    word.len() >= 20
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && word.bytes().filter(u8::is_ascii_digit).count() >= 4
}

#[cfg(test)]
mod tests;
