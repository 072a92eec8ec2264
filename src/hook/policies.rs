//! The policy that a hook judges by, and what it says where a committed one cannot be read: nobody may be locked out of mending it.

use super::Call;
use super::plumbing::Object;
use crate::base::{Code, Finding, Result};
use crate::policy::Policy;

/// A committed `edt.toml`: whose, and its bytes if there is one.
#[derive(Debug, Clone, Copy)]
pub struct Committed<'a> {
    /// Whose it is, for messages (`HEAD`).
    pub whose: &'a str,
    /// Its bytes.
    pub bytes: Option<&'a [u8]>,
}

impl<'a> Committed<'a> {
    /// That of `whose`, read as `file`.
    #[must_use]
    pub fn of(whose: &'a str, file: Option<&'a Object>) -> Committed<'a> {
        Committed { whose, bytes: file.map(|file| file.bytes.as_slice()) }
    }

    fn read(&self, person: Option<&str>) -> Result<Policy> {
        Policy::of_recorded(person, self.bytes)
    }
}

/// The policy of `old`. Where that cannot be read and `new`, what stands in its place afterwards, can be, the change mends it
/// and is judged by the built-in rules. `done` says what was not done.
///
/// # Errors
/// `BAD_REQUEST` if neither can be read, or if `new` is another file than `old` and cannot; also if the person's own cannot.
pub fn ruling(
    call: &Call<'_>,
    old: Committed<'_>,
    new: Committed<'_>,
    done: &str,
) -> Result<Policy> {
    let person = call.person()?;
    let built_in = Policy::of(person, None)?;
    let (before, after) = (old.read(person), new.read(person));
    match (before, after) {
        (_, Err(findings)) if old.bytes != new.bytes => {
            let hint = "Mend that file, or leave it as it was; then repeat the command.";
            Err(unreadable(new.whose, &findings.into_vec(), done, hint).into())
        }
        (Err(findings), Err(_)) => {
            let hint = "Mend edt.toml in the same change (`git add edt.toml`): that is judged by the built-in rules.";
            Err(unreadable(old.whose, &findings.into_vec(), done, hint).into())
        }
        (Err(_), Ok(_)) => Ok(built_in),
        (Ok(policy), _) => Ok(policy),
    }
}

fn unreadable(whose: &str, why: &[Finding], done: &str, hint: &str) -> Finding {
    let why = why.first().map(|one| one.message.as_str()).unwrap_or_default();
    let why = why.split_once(": ").map_or(why, |(_, why)| why);
    Finding::new(
        Code::BadRequest,
        format!("The edt.toml of {whose} cannot be read: {why}\n{done}"),
        hint,
    )
}
