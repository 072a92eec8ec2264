//! The key of a model's server: taken from the caller's environment, kept in memory, and in no environment from then on.

use std::ffi::OsString;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::{protocol_of, settings::Settings};
use crate::base::{Code, Finding, Result};

/// Names the variable that has the key, where it is another than the protocol's.
const NAMED_BY: &str = "EDT_BENCH_API_KEY_VAR";

/// A key. It can be handed to a worker; it cannot be shown.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Secret(…)")
    }
}

impl Secret {
    /// The key itself.
    pub(super) fn bare(&self) -> &str {
        &self.0
    }

    /// `text` without the key, should somebody have repeated it.
    pub(super) fn hidden(&self, text: &str) -> String {
        text.replace(&self.0, "***")
    }
}

/// The key that `agent` needs, from this process's environment; `None` if it needs none: a program, or a server on this machine.
///
/// # Errors
/// `BAD_REQUEST` if there is none where one is needed.
pub fn of(agent: &str) -> Result<Option<Secret>> {
    if super::settings::protocol(agent).is_none() {
        return Ok(None);
    }
    let settings = Settings::read(agent)?;
    let variable = variable(protocol_of(&settings.protocol)?.key_variable());
    let value = std::env::var(&variable).unwrap_or_default().trim().to_owned();
    let bad = |message: String| {
        let hint = format!("Put the key into {variable}, or name its variable: {NAMED_BY}=MY_KEY.");
        Finding::new(Code::BadRequest, format!("{message} Nothing was run."), hint)
    };
    if value.is_empty() {
        if settings.is_local() {
            return Ok(None);
        }
        return Err(bad(format!(
            "{} needs a key, and the variable {variable} has none.",
            settings.base_url
        ))
        .into());
    }
    if !value.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(bad(format!(
            "The variable {variable} holds something that cannot be sent as a key."
        ))
        .into());
    }
    Ok(Some(Secret(value)))
}

fn variable(usual: &str) -> String {
    std::env::var(NAMED_BY).ok().filter(|name| !name.is_empty()).unwrap_or_else(|| usual.to_owned())
}

/// Whether the variable `name` may hold a key: then no process that works for a model's task gets it.
#[must_use]
pub fn is_key(name: &OsString) -> bool {
    let known = super::PROTOCOLS.iter().any(|one| name == one.key_variable());
    known || std::env::var_os(NAMED_BY).is_some_and(|named| *name == named)
}
