//! The API key of a model's server: read from the caller's environment, then kept in memory only.

use std::ffi::OsString;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::{protocol_of, settings::ModelSettings};
use edt_types::{Code, Finding, Result};

/// The variable that names another variable for the API key than the protocol's.
const NAMED_BY: &str = "EDT_BENCH_API_KEY_VAR";

/// An API key. It can be passed to a worker process and never displayed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Secret(…)")
    }
}

impl Secret {
    pub(super) fn expose(&self) -> &str {
        &self.0
    }

    /// Replaces the key in `text` by `***`.
    pub(super) fn redact(&self, text: &str) -> String {
        text.replace(&self.0, "***")
    }
}

/// The variable that names the variable of a judge's API key.
pub const JUDGE_NAMED_BY: &str = "EDT_BENCH_JUDGE_API_KEY_VAR";

/// The API key for the model `judge` from this process's environment.
///
/// # Errors
/// As [`api_key`].
pub fn judge_key(judge: &str) -> Result<Option<Secret>> {
    key_of(judge, &[JUDGE_NAMED_BY, NAMED_BY])
}

/// The API key for `agent` from this process's environment; `None` for a program or a server on
/// this machine.
///
/// # Errors
/// `BAD_REQUEST` if a key is needed and missing.
pub fn api_key(agent: &str) -> Result<Option<Secret>> {
    key_of(agent, &[NAMED_BY])
}

fn key_of(agent: &str, named_by: &[&str]) -> Result<Option<Secret>> {
    if super::settings::protocol(agent).is_none() {
        return Ok(None);
    }
    let settings = ModelSettings::parse(agent)?;
    let variable = variable_or(named_by, protocol_of(&settings.protocol)?.key_variable());
    let value = std::env::var(&variable).unwrap_or_default().trim().to_owned();
    let bad = |summary: String| {
        let remedy = format!(
            "Set {variable} to the API key, or name another variable: {}=MY_KEY.",
            named_by[0]
        );
        Finding::new(Code::BadRequest, summary, remedy).nothing_changed()
    };
    if value.is_empty() {
        if settings.is_local() {
            return Ok(None);
        }
        return Err(bad(format!(
            "{} needs an API key, and the variable {variable} is empty or not set.",
            settings.base_url
        ))
        .into());
    }
    if !value.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(bad(format!(
            "The value of the variable {variable} cannot be sent as an API key."
        ))
        .into());
    }
    Ok(Some(Secret(value)))
}

fn variable_or(named_by: &[&str], default: &str) -> String {
    named_by
        .iter()
        .find_map(|variable| std::env::var(variable).ok().filter(|name| !name.is_empty()))
        .unwrap_or_else(|| default.to_owned())
}

/// Whether the variable `name` may hold an API key; it is removed from the environment of every
/// worker process.
#[must_use]
pub fn is_key_variable(name: &OsString) -> bool {
    let known = super::PROTOCOLS.iter().any(|protocol| name == protocol.key_variable());
    let named = |variable| std::env::var_os(variable).is_some_and(|named| *name == named);
    known || named(NAMED_BY) || named(JUDGE_NAMED_BY)
}
