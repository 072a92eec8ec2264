//! Who commits: Git's own identity, and when.
//!
//! The order is Git's (`git help var`): `GIT_<ROLE>_NAME` and `_EMAIL`, then `author.*` or `committer.*`, then `user.*`, then
//! `EMAIL`. Without a name or a mail address it is `edt <edt@localhost>`, so that no edit is lost for want of a name.

use super::repo::Repo;
use crate::base::{Code, Finding, Result};
use crate::io::clock;

/// Whose name a line bears.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Who wrote the change.
    Author,
    /// Who recorded it.
    Committer,
}

impl Role {
    const fn names(self) -> (&'static str, &'static str) {
        match self {
            Role::Author => ("AUTHOR", "author"),
            Role::Committer => ("COMMITTER", "committer"),
        }
    }
}

impl Repo {
    /// The identity line of a commit or a reflog: `Name <mail> seconds zone`.
    ///
    /// # Errors
    /// `BAD_REQUEST` if `GIT_<ROLE>_DATE` cannot be read.
    pub fn signature(&self, role: Role) -> Result<Vec<u8>> {
        let (name, mail) = match (self.who(role, "name"), self.who(role, "email")) {
            (Some(name), Some(mail)) => (name, mail),
            _ => ("edt".to_owned(), "edt@localhost".to_owned()),
        };
        let time = if let Some(date) = variable(&format!("GIT_{}_DATE", role.names().0)) {
            dated(&date)?
        } else {
            let (seconds, offset) = clock::wall();
            let (sign, minutes) = (if offset < 0 { '-' } else { '+' }, offset.unsigned_abs() / 60);
            format!("{seconds} {sign}{:02}{:02}", minutes / 60, minutes % 60)
        };
        Ok(format!("{name} <{mail}> {time}").into_bytes())
    }

    /// The committer's name and mail address, without line breaks.
    ///
    /// # Errors
    /// As [`Repo::signature`].
    pub fn identity(&self) -> Result<String> {
        let line = String::from_utf8_lossy(&self.signature(Role::Committer)?).into_owned();
        let end = line.rfind('>').map_or(line.len(), |at| at + 1);
        Ok(line[..end].replace(char::is_control, " "))
    }

    fn who(&self, role: Role, what: &str) -> Option<String> {
        let (upper, lower) = role.names();
        let config = self.inner.config_snapshot();
        let configured = |section: &str| {
            config.string(format!("{section}.{what}").as_str()).map(|value| value.to_string())
        };
        let personal = || (what == "email").then(|| variable("EMAIL")).flatten();
        let found = variable(&format!("GIT_{upper}_{}", what.to_ascii_uppercase()))
            .or_else(|| configured(lower))
            .or_else(|| configured("user"))
            .or_else(personal)?;
        // As Git does: what would break the line is left out, and so is crud at the ends.
        let clean: String =
            found.chars().filter(|c| !matches!(c, '<' | '>' | '\n' | '\0')).collect();
        let clean = clean
            .trim_matches(|c: char| c.is_whitespace() || c.is_control() || ".,:;\"'\\".contains(c));
        (!clean.is_empty()).then(|| clean.to_owned())
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn dated(date: &str) -> Result<String> {
    let parsed = gix::date::parse(date, None).map_err(|_| {
        Finding::new(
            Code::BadRequest,
            format!("The date {date:?} in the environment cannot be read."),
            "Correct GIT_AUTHOR_DATE / GIT_COMMITTER_DATE; Git takes for example \"2026-01-31 12:00 +0100\".",
        )
    })?;
    let mut buffer = gix::date::parse::TimeBuf::default();
    Ok(parsed.to_str(&mut buffer).to_owned())
}
