//! Findings in words for an agent that used its own tool, and cannot say `allow` through it.

use std::fmt::Write as _;

use crate::base::{Code, Finding, Findings, Warning};
use crate::session::record::Recorded;

/// The longest correction that is shown, in bytes.
const LONGEST: usize = 6000;

/// Why a tool must not do what it was about to do.
#[must_use]
pub fn refusal(findings: Findings) -> String {
    let mut out = String::from("edt refused this edit; nothing was changed.\n");
    let lessons = findings.lessons().to_vec();
    findings.into_vec().iter().for_each(|finding| tell(&mut out, finding, ""));
    for lesson in lessons {
        let _ = writeln!(out, "Learned before: {lesson}");
    }
    out.trim_end().to_owned()
}

/// What is to be told of an edit that landed; nothing if there is nothing but that it did.
#[must_use]
pub fn landed(
    recorded: &Recorded,
    edit: u64,
    refused: &[Finding],
    warnings: &[Warning],
) -> Option<String> {
    let branch = format!("edt/{}", recorded.session.name);
    if refused.is_empty() && warnings.is_empty() && recorded.warnings.is_empty() && !recorded.began
    {
        return None;
    }
    let mut out = String::new();
    if !refused.is_empty() {
        out.push_str("edt would have refused this edit, but it has landed.\n");
    }
    let began = if recorded.began { ", a session that began with it" } else { "" };
    let _ = writeln!(
        out,
        "The edit is recorded as edit {edit} on {branch}{began}; `edt undo` takes it back."
    );
    for finding in refused {
        tell(
            &mut out,
            finding,
            "The edit stands in the file: mend it, or take it back with `edt undo`.",
        );
    }
    for Warning { path, message, .. } in recorded.warnings.iter().chain(warnings) {
        let path = path.as_ref().map(|path| format!("{path}: ")).unwrap_or_default();
        let _ = writeln!(out, "warning: {path}{message}");
    }
    Some(out.trim_end().to_owned())
}

/// What kept edt from doing its part before an edit.
#[must_use]
pub fn broken_before(why: &str) -> String {
    format!("edt could not judge this edit, so it is blocked: {why}")
}

/// The same after one.
#[must_use]
pub fn broken_after(why: &str) -> String {
    format!(
        "The edit has landed, but edt could not record it: {why}\nRecord it with `edt checkpoint` once that is mended."
    )
}

/// What an agent is told when a conversation begins.
#[must_use]
pub fn greeting() -> String {
    super::texts::brief()
}

/// One finding: what was found, then what to do.
fn tell(out: &mut String, finding: &Finding, after: &str) {
    let path = finding.path.as_ref().filter(|path| !finding.message.contains(path.as_str()));
    let path = path.map(|path| format!(" {path}")).unwrap_or_default();
    let message = match finding.code {
        Code::OldTextRequired => {
            "The text to replace is empty, and the file is not. Nothing was changed."
        }
        _ if after.is_empty() => finding.message.as_str(),
        _ => finding.message.trim_end_matches("Nothing was changed.").trim_end(),
    };
    let _ = writeln!(out, "{}{path}: {message}", finding.code.name());
    let hint = if after.is_empty() { hint(finding) } else { after.to_owned() };
    let _ = writeln!(out, "next: {hint}");
    let correction = finding.evidence.get("correction").and_then(|patch| patch.as_str());
    if let Some(patch) = correction.filter(|patch| patch.len() <= LONGEST && after.is_empty()) {
        let _ = writeln!(out, "This patch would land:\n{}", patch.trim_end());
    }
}

/// What to do, for a tool that has no modes, and for an override a tool that has.
fn hint(finding: &Finding) -> String {
    let own = native(finding.code).unwrap_or_else(|| match finding.allow {
        // What follows speaks of a request that can say `allow`.
        Some(_) => finding.hint.split(" If ").next().unwrap_or_default().trim_end(),
        None => &finding.hint,
    });
    match finding.allow {
        Some(word) => format!(
            "{own} If it is meant so, send the same edit through edt, which can be told: its MCP tool `apply` with allow: [\"{word}\"], or `edt apply … --allow {word}`."
        ),
        None => own.to_owned(),
    }
}

/// The next call with an agent's own tools, where the hint of the finding speaks of edt's modes.
const fn native(code: Code) -> Option<&'static str> {
    Some(match code {
        Code::SizeReduction => {
            "Replace only the part that changes, with the tool that replaces a piece of text; do not write the whole file."
        }
        Code::OldTextRequired => {
            "Name the old text that is to be replaced, exactly as it stands in the file; to add to the end, replace the last line by itself and what follows."
        }
        Code::OldTextAmbiguous => {
            "Add lines before or after it to the old text until it stands there once, or replace all of them."
        }
        Code::FileExists => {
            "There is a file already: read it, and change it with an edit instead of making a new one."
        }
        Code::FileNotFound => {
            "Check the path with `git ls-files`; write the whole file to make a new one."
        }
        Code::LineOutOfRange => "Read the file again, and name a line that it has.",
        Code::SyntaxError => {
            "Send an edit after which the file is whole: edits that belong together go into one."
        }
        _ => return None,
    })
}
