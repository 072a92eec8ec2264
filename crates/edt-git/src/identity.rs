//! The author and committer of edt's commits.
//!
//! The order is Git's (`git help var`): `GIT_<ROLE>_NAME` and `_EMAIL`, then `author.*` or
//! `committer.*`, then `user.*`, then `EMAIL`. The variables are those of the
//! environment in which the repository was opened. If the name or the mail address is missing, the
//! identity is `edt <edt@localhost>`: no edit is lost because of a missing name.
//!
//! A repository in the worktree of another one may have been made by a program. Its own settings
//! name nobody; those of the user do.

use super::repo::Repo;
use super::supported::is_in_other_worktree;
use edt_io::clock;
use edt_types::{Code, Finding, Result};

/// The two identities of a commit.
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
    /// The identity line of a commit or a reflog entry: `Name <mail> seconds zone`.
    ///
    /// # Errors
    /// `BAD_REQUEST` if `GIT_<ROLE>_DATE` cannot be parsed.
    pub fn signature(&self, role: Role) -> Result<Vec<u8>> {
        let (name, mail) = match (self.configured(role, "name"), self.configured(role, "email")) {
            (Some(name), Some(mail)) => (name, mail),
            _ => ("edt".to_owned(), "edt@localhost".to_owned()),
        };
        let time = if let Some(date) =
            self.environment.text(&format!("GIT_{}_DATE", role.names().0))
        {
            parse_git_date(&date)?
        } else {
            let seconds = clock::seconds();
            let offset = clock::utc_offset(self.environment, seconds);
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

    /// Whether a program may have made the repository, and not the user.
    fn may_be_planted(&self) -> bool {
        *self.planted.get_or_init(|| is_in_other_worktree(self.common_dir()))
    }

    fn configured(&self, role: Role, key: &str) -> Option<String> {
        let (upper, lower) = role.names();
        let config = self.inner.config_snapshot();
        let configured = |section: &str| {
            let name = format!("{section}.{key}");
            let (all, users) = (config.string(name.as_str()), self.user_config(&name));
            let all = all.map(|value| value.to_string());
            if all != users && self.may_be_planted() { users } else { all }
        };
        let from_env = || (key == "email").then(|| self.environment.text("EMAIL")).flatten();
        let named = format!("GIT_{upper}_{}", key.to_ascii_uppercase());
        let found = self
            .environment
            .text(&named)
            .or_else(|| configured(lower))
            .or_else(|| configured("user"))
            .or_else(from_env)?;
        // As in Git: characters that would break the line are removed, and so is punctuation at
        // both ends.
        let clean: String =
            found.chars().filter(|c| !matches!(c, '<' | '>' | '\n' | '\0')).collect();
        let clean = clean
            .trim_matches(|c: char| c.is_whitespace() || c.is_control() || ".,:;\"'\\".contains(c));
        (!clean.is_empty()).then(|| clean.to_owned())
    }
}

fn parse_git_date(date: &str) -> Result<String> {
    let parsed = gix::date::parse(date, None).map_err(|_| {
        Finding::new(
            Code::BadRequest,
            format!("The date {date:?} in the environment cannot be parsed."),
            "Correct GIT_AUTHOR_DATE / GIT_COMMITTER_DATE; Git accepts for example \
             \"2026-01-31 12:00 +0100\".",
        )
    })?;
    let mut buffer = gix::date::parse::TimeBuf::default();
    Ok(parsed.to_str(&mut buffer).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use edt_testkit::ScratchRepo;

    #[test]
    fn an_identity_has_no_brackets_and_no_punctuation_at_its_ends() {
        let scratch = ScratchRepo::unborn();
        let config = scratch.path().join(".git/config");
        let names = "[committer]\n\tname = \". An <odd> Name,\"\n\temail = <a@b>\n";
        std::fs::write(&config, std::fs::read_to_string(&config).unwrap() + names).unwrap();
        let repo = Repo::open(scratch.path()).unwrap();
        assert_eq!(repo.identity().unwrap(), "An odd Name <a@b>");
    }

    #[test]
    fn a_repository_in_another_worktree_names_nobody() {
        let scratch = ScratchRepo::unborn();
        let inner = scratch.path().join("inner");
        std::fs::create_dir(&inner).unwrap();
        let user = edt_testkit::repository::User { name: "Planted", email: "x@y" };
        edt_testkit::repository::init(&inner, user).unwrap();
        assert_eq!(Repo::open(&inner).unwrap().identity().unwrap(), "edt <edt@localhost>");
    }

    #[test]
    fn a_signature_ends_in_seconds_and_a_zone() {
        let scratch = ScratchRepo::unborn();
        let line = Repo::open(scratch.path()).unwrap().signature(Role::Author).unwrap();
        let line = String::from_utf8(line).unwrap();
        let mut words = line.rsplit(' ');
        let (zone, seconds) = (words.next().unwrap(), words.next().unwrap());
        assert!(zone.len() == 5 && zone.starts_with(['+', '-']), "{line}");
        assert!(seconds.parse::<u64>().is_ok(), "{line}");
    }

    #[test]
    fn a_date_is_read_as_git_reads_it() {
        assert_eq!(parse_git_date("1700000000 +0100").unwrap(), "1700000000 +0100");
        let finding = parse_git_date("someday").unwrap_err().into_vec().remove(0);
        assert_eq!(finding.summary, "The date \"someday\" in the environment cannot be parsed.");
    }
}
