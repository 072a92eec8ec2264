//! The policy that a hook judges by. A committed policy that cannot be read must not prevent the
//! commit that corrects it.

use std::path::Path;

use super::call::HookCall;
use super::plumbing::Object;
use edt_guard::policy::Policy;
use edt_types::{Code, Effect, Finding, Result};

/// A committed `edt.toml`.
#[derive(Debug, Clone, Copy)]
pub struct Committed<'a> {
    /// Where it is committed, for messages (`HEAD`).
    pub label: &'a str,
    /// Its bytes; `None` if there is no such file.
    pub bytes: Option<&'a [u8]>,
}

impl<'a> Committed<'a> {
    #[must_use]
    pub fn of(label: &'a str, file: Option<&'a Object>) -> Committed<'a> {
        Committed { label, bytes: file.map(|file| file.bytes.as_slice()) }
    }

    fn read(&self, user: Option<&str>) -> Result<Policy> {
        Policy::of_recorded(user, self.bytes)
    }
}

/// The policy of `old`. If it cannot be read and `new`, which replaces it, can be, the change
/// corrects it and is judged by the built-in rules. `effect` is the effect of a refusal.
///
/// # Errors
/// `BAD_REQUEST` if neither can be read, or if `new` differs from `old` and cannot be read; also if
/// the user's own file cannot be read.
pub fn policy_for(
    call: &HookCall<'_>,
    old: Committed<'_>,
    new: Committed<'_>,
    effect: Effect,
) -> Result<Policy> {
    let user = call.user_policy_text()?;
    let built_in = Policy::of(user, None)?;
    let (before, after) = (old.read(user), new.read(user));
    match (before, after) {
        (_, Err(findings)) if old.bytes != new.bytes => {
            let hint = "Correct that file, or leave it unchanged; then repeat the command.";
            Err(unreadable(new.label, &findings.into_vec(), effect, hint).into())
        }
        (Err(findings), Err(_)) => {
            let hint = "Correct edt.toml in the same change (`git add edt.toml`): that change is \
                        judged by the built-in rules.";
            Err(unreadable(old.label, &findings.into_vec(), effect, hint).into())
        }
        (Err(_), Ok(_)) => in_repository(call, built_in),
        (Ok(policy), _) => in_repository(call, policy),
    }
}

/// `policy` with the user's exceptions for this repository, which Git is asked for only if there
/// are any.
fn in_repository(call: &HookCall<'_>, policy: Policy) -> Result<Policy> {
    if !policy.has_exceptions() {
        return Ok(policy);
    }
    let common = ["rev-parse", "--path-format=absolute", "--git-common-dir"];
    let common = call.git.line(&common)?.unwrap_or_default();
    Ok(policy.in_repository(Path::new(&common)))
}

fn unreadable(label: &str, findings: &[Finding], effect: Effect, remedy: &str) -> Finding {
    let reason = findings.first().map_or("", |one| {
        one.evidence.get("reason").and_then(|reason| reason.as_str()).unwrap_or(&one.summary)
    });
    let summary = format!("The edt.toml of {label} cannot be read: {reason}\n");
    Finding::new(Code::BadRequest, summary, remedy).with_effect(effect)
}
