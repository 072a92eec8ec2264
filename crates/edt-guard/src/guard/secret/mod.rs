//! Credentials must not get into a file: keys, tokens, passwords in addresses and in assignments.

mod assigned;
mod strength;
mod token;

use super::check::{Guard, GuardContext, GuardOutput};
use super::subject::Subject;
use crate::policy::GuardMode;
use edt_types::text::counted;
use edt_types::{Code, Finding};

/// The guard `secret`.
#[derive(Debug)]
pub struct Secret;

/// The most bytes of added lines that are examined.
const MAX_BYTES: usize = 4 * 1024 * 1024;
/// The most lines that evidence lists.
const MAX_LINES: usize = 20;

/// A credential that the edit adds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credential {
    /// Its row in the new text.
    pub row: usize,
    /// What it is.
    pub kind: CredentialKind,
    /// Its length in bytes.
    pub length: usize,
}

/// What a credential looks like. None of these has the credential itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CredentialKind {
    /// A block of a private key.
    PrivateKey,
    /// A token with its issuer's prefix.
    Token { issuer: &'static str, prefix: &'static str },
    /// The secret that belongs to an access key id of Amazon.
    AmazonSecret,
    /// The password in the address of a host.
    Address { scheme: String },
    /// A random value that is assigned to a name of a secret.
    Assigned { name: String },
}

impl Guard for Secret {
    fn name(&self) -> &'static str {
        "secret"
    }

    fn rule(&self) -> &'static str {
        "An added line has what looks like a credential: a private key, a token with its issuer's \
         prefix, a password in a URL, or a random value assigned to a name such as `api_key`. \
         Placeholders and words are none."
    }

    fn default_mode(&self) -> GuardMode {
        GuardMode::Warn
    }

    fn check(&self, file: &Subject<'_>, _: &GuardContext<'_>) -> Vec<GuardOutput> {
        if file.text().is_none() {
            return vec![GuardOutput::Pass];
        }
        let (found, unread) = detect(file);
        let mut outputs = GuardOutput::of(self.name(), explain(file, &found));
        outputs.extend(unread.map(|row| GuardOutput::Unchecked {
            word: self.name(),
            reason: format!(
                "The lines of {} after line {row} were not searched for credentials: more than \
                 {MAX_BYTES} bytes are added.",
                file.path
            ),
        }));
        outputs
    }
}

/// The credentials in lines that the edit adds, and after how many rows the search ended, if it
/// did not reach the end.
#[must_use]
pub fn detect(subject: &Subject<'_>) -> (Vec<Credential>, Option<usize>) {
    let rows = subject.lines().texts().1;
    let is_settings = assigned::is_settings(subject);
    let mut left = MAX_BYTES;
    let mut found = Vec::new();
    for (row, line) in subject.fresh_lines() {
        let Some(rest) = left.checked_sub(line.len()) else { return (found, Some(row)) };
        left = rest;
        let kind = in_row(rows, row, is_settings);
        found.extend(kind.map(|(kind, length)| Credential { row, kind, length }));
    }
    (found, None)
}

/// Whether `text` has what looks like a credential, in whatever file it is.
#[must_use]
pub fn is_in(text: &[u8]) -> bool {
    let rows: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
    (0..rows.len()).any(|row| in_row(&rows, row, true).is_some())
}

fn in_row(rows: &[&[u8]], row: usize, is_settings: bool) -> token::Found {
    let line = rows[row];
    token::private_key(rows, row)
        .or_else(|| token::issued(line))
        .or_else(|| token::amazon_secret(rows, row))
        .or_else(|| token::in_address(line))
        .or_else(|| assigned::in_line(line, is_settings))
}

fn explain(subject: &Subject<'_>, found: &[Credential]) -> Option<Finding> {
    let first = found.first()?;
    let what = match &first.kind {
        CredentialKind::PrivateKey => "a private key".to_owned(),
        CredentialKind::Token { issuer, prefix } => {
            format!("a credential of {issuer} ({prefix}…, {})", characters(first.length))
        }
        CredentialKind::AmazonSecret => {
            format!("the secret of an access key of Amazon ({})", characters(first.length))
        }
        CredentialKind::Address { scheme } => format!("a password in an address ({scheme}://…)"),
        CredentialKind::Assigned { name } => {
            format!("a credential in {name} ({})", characters(first.length))
        }
    };
    let more = match found.len() - 1 {
        0 => String::new(),
        more => format!(", and {} more", counted(more, "line")),
    };
    let lines: Vec<usize> = found.iter().take(MAX_LINES).map(|one| one.row + 1).collect();
    let finding = Finding::new(
        Code::Secret,
        format!("{} would have what looks like {what} at line {}{more}.", subject.path, lines[0]),
        "Read it from the environment, or from a file that Git ignores. If it is real, replace it: \
         whoever can read the history has it.",
    );
    Some(
        finding
            .nothing_changed()
            .or_override("If it is no credential, repeat with allow: [\"secret\"].")
            .at(subject.path)
            .with("line", lines[0])
            .with("lines", lines),
    )
}

fn characters(count: usize) -> String {
    counted(count, "character")
}

#[cfg(test)]
mod tests;
