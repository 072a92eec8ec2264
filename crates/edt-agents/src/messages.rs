//! Messages for an agent that used its own tool. Such a tool cannot send `allow`, so the messages
//! name edt's own commands for an override.

use std::fmt::Write as _;

use edt_core::session::recording::record::RecordOutcome;
use edt_types::{Code, Effect, Finding, Refusal, Warning};

/// The longest correction that is shown, in bytes.
const MAX_CORRECTION: usize = 6000;

/// Why a tool must not make its edit.
#[must_use]
pub fn refusal(findings: &Refusal) -> String {
    let mut out = String::from("edt refused this edit; nothing was changed.\n");
    for finding in findings.as_slice() {
        write_finding(&mut out, finding, finding.effect, &remedy(finding));
        let offer = finding.offer().filter(|(_, text)| text.len() <= MAX_CORRECTION);
        if let Some((key, text)) = offer {
            let what = match key {
                "correction" => "patch",
                "corrected_edit" => "edit",
                _ => "request",
            };
            let _ = writeln!(out, "edt would accept this {what}:\n{}", text.trim_end());
        }
    }
    for lesson in findings.lessons() {
        let _ = writeln!(out, "Lesson from an earlier failure: {lesson}");
    }
    out.trim_end().to_owned()
}

/// The agent's shell ran a command that a hook had changed.
#[must_use]
pub fn not_wrapped(agent: &str) -> String {
    format!(
        "{agent} ran the command itself, although edt had asked it to run `edt agent-shell`. From now \
         on edt compares the files before and after its commands, and what changed is on disk alone."
    )
}

/// What the agent should know of an edit that was made and recorded; `None` if that is all.
#[must_use]
pub fn recorded(
    outcome: &RecordOutcome,
    edit: u64,
    refused: &[Finding],
    warnings: &[Warning],
) -> Option<String> {
    let branch = format!("edt/{}", outcome.session.name);
    if refused.is_empty() && warnings.is_empty() && outcome.warnings.is_empty() && !outcome.began {
        return None;
    }
    let mut out = String::new();
    if !refused.is_empty() {
        out.push_str("edt would have refused this edit, but the tool has made it.\n");
    }
    let session = if outcome.began { ", a new session" } else { "" };
    if outcome.commit.is_some() {
        let _ = writeln!(
            out,
            "The edit is recorded as edit {edit} on {branch}{session}; `edt undo` undoes it."
        );
    } else {
        out.push_str("The edit is not recorded as an edit.\n");
    }
    for finding in refused {
        let remedy = if outcome.commit.is_some() {
            "The edit is in the file: correct it, or undo it with `edt undo`."
        } else {
            "The edit is in the file: correct it."
        };
        write_finding(&mut out, finding, Effect::Unstated, remedy);
    }
    for one in outcome.warnings.iter().chain(warnings) {
        let _ = writeln!(out, "{}", warning(one));
    }
    Some(out.trim_end().to_owned())
}

/// A warning, with its path.
#[must_use]
pub fn warning(Warning { path, message, .. }: &Warning) -> String {
    let path = path.as_ref().map(|path| format!("{path}: ")).unwrap_or_default();
    format!("warning: {path}{message}")
}

/// Why edt could not judge an edit.
#[must_use]
pub fn not_judged(reason: &str) -> String {
    format!("edt could not judge this edit, so it is blocked: {reason}")
}

/// Why edt could not record an edit.
#[must_use]
pub fn not_recorded(reason: &str) -> String {
    format!(
        "The edit was made, but edt could not record it: {reason}\nFix that. The edit stays on \
         disk, uncommitted, and counts as the user's."
    )
}

/// One finding, with its path unless the summary names it, then `remedy`.
fn write_finding(out: &mut String, finding: &Finding, effect: Effect, remedy: &str) {
    let path = finding.path.as_ref().filter(|path| !finding.summary.contains(path.as_str()));
    let path = path.map(|path| format!(" {path}")).unwrap_or_default();
    let summary = match finding.code {
        Code::OldTextRequired => "The text to replace is empty, but the file is not.".to_owned(),
        _ => finding.summary.clone(),
    };
    let message = Finding::new(finding.code, summary, remedy).with_effect(effect).message();
    let _ = writeln!(out, "{}{path}: {message}", finding.code.name());
    let _ = writeln!(out, "next: {remedy}");
}

/// The next call, with the agent's own tool; an override needs edt's.
fn remedy(finding: &Finding) -> String {
    let own = tool_remedy(finding.code);
    match finding.allow {
        Some(word) => format!(
            "{} If this change is intended, send the same edit through edt, which accepts an \
             override: its MCP tool `apply` with allow: [\"{word}\"], or `edt apply … --allow \
             {word}`.",
            own.unwrap_or(&finding.remedy)
        ),
        None => own.map_or_else(|| finding.hint(), str::to_owned),
    }
}

/// The next call with an agent's own tool, where the finding's remedy names modes of edt.
const fn tool_remedy(code: Code) -> Option<&'static str> {
    Some(match code {
        Code::SizeReduction => {
            "Replace only the part that changes, with the tool that replaces a piece of text; do \
             not write the whole file."
        }
        Code::OldTextRequired => {
            "Name the old text to replace, exactly as it is in the file. To add to the end, \
             replace the last line with itself and the new lines."
        }
        Code::OldTextAmbiguous => {
            "Add lines before or after it to the old text until it occurs only once, or replace \
             every occurrence."
        }
        Code::FileExists => {
            "The file exists already: read it, and change it with an edit instead of creating it."
        }
        Code::FileNotFound => {
            "Check the path with `git ls-files`; write the whole file to create it."
        }
        Code::LineOutOfRange => "Read the file again, and name a line that it has.",
        Code::SyntaxError => {
            "Send an edit that leaves the file complete: put edits that belong together into one."
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use edt_types::RepoPath;

    fn path() -> RepoPath {
        RepoPath::parse(b"a.txt").unwrap()
    }

    fn refused(finding: Finding) -> String {
        refusal(&Refusal::from(finding))
    }

    #[test]
    fn a_refusal_names_code_path_reason_and_next_step() {
        let finding =
            Finding::new(Code::PathOutsideRepo, "It is outside.", "Name another.").at(&path());
        assert_eq!(
            refused(finding),
            "edt refused this edit; nothing was changed.\n\
         PATH_OUTSIDE_REPO a.txt: It is outside.\nnext: Name another."
        );
    }

    #[test]
    fn a_path_that_the_summary_names_is_not_repeated() {
        let finding =
            Finding::new(Code::PathOutsideRepo, "a.txt is outside.", "Name another.").at(&path());
        assert_eq!(
            refused(finding),
            "edt refused this edit; nothing was changed.\n\
         PATH_OUTSIDE_REPO: a.txt is outside.\nnext: Name another."
        );
    }

    #[test]
    fn a_remedy_names_the_agents_own_tool() {
        let finding = Finding::new(Code::FileExists, "It exists.", "Use mode overwrite.");
        assert_eq!(
            refused(finding),
            "edt refused this edit; nothing was changed.\nFILE_EXISTS: It exists.\n\
         next: The file exists already: read it, and change it with an edit instead of creating it."
        );
    }

    #[test]
    fn an_override_needs_edts_own_tools() {
        let finding = Finding::new(Code::ProtectedPath, "It is protected.", "Leave it.")
            .overridable_by("protected");
        assert_eq!(
            refused(finding).lines().last(),
            Some(
                "next: Leave it. If this change is intended, send the same edit through edt, which \
             accepts an override: its MCP tool `apply` with allow: [\"protected\"], or `edt apply … \
             --allow protected`."
            )
        );
    }

    #[test]
    fn a_short_correction_is_shown() {
        let finding = Finding::new(Code::OldTextNotFound, "Not found.", "Read it.")
            .with("correction", "--- a\n+++ b\n");
        assert!(refused(finding).ends_with("\nedt would accept this patch:\n--- a\n+++ b"),);
    }

    #[test]
    fn a_correction_that_is_too_long_is_left_out() {
        let long = "x".repeat(MAX_CORRECTION + 1);
        let finding =
            Finding::new(Code::OldTextNotFound, "Not found.", "Read it.").with("correction", long);
        assert_eq!(
            refused(finding),
            "edt refused this edit; nothing was changed.\nOLD_TEXT_NOT_FOUND: Not found.\nnext: Read it."
        );
    }

    #[test]
    fn lessons_of_earlier_failures_come_last() {
        let found = Refusal::from(Finding::new(Code::PathOutsideRepo, "Outside.", "Inside."))
            .with_lessons(vec!["Look first.".to_owned()]);
        assert_eq!(
            refusal(&found).lines().last(),
            Some("Lesson from an earlier failure: Look first.")
        );
    }

    #[test]
    fn what_could_not_be_judged_is_blocked() {
        assert_eq!(not_judged("why"), "edt could not judge this edit, so it is blocked: why");
    }

    #[test]
    fn what_could_not_be_recorded_is_named_with_the_next_step() {
        assert_eq!(
            not_recorded("why"),
            "The edit was made, but edt could not record it: why\nFix that. The edit stays on disk, \
         uncommitted, and counts as the user's."
        );
    }
}
