//! Converts requests to episodes: the refused attempt, and the fix that landed.

use std::path::Path;

use crate::keywords::frequent_words;
use crate::{Episode, EpisodeFix, FailedAttempt, scrub};
use edt_edit::hunk::Side;
use edt_edit::{Edit, LineRange, Mode, Op};
use edt_types::{Code, Finding, Landing, RepoPath, Status};

/// What a request attempted.
#[derive(Debug, Clone, Copy)]
pub struct Attempt<'a> {
    /// Its edits; those of its patch, if it was read.
    pub edits: &'a [Edit],
    /// Whether it came as a patch.
    pub is_patch: bool,
    /// Who sent it.
    pub agent: Option<&'a str>,
}

/// Whether a later call can learn from a failure: it is about a file, and the agent could have
/// avoided it.
pub(super) fn is_memorable(finding: &Finding) -> bool {
    let learned = finding.code.status() == Status::Refused && finding.code != Code::ProtectedPath;
    finding.path.is_some() && (learned || finding.code == Code::HashMismatch)
}

/// The episode of a refusal.
#[must_use]
pub fn episode_of(
    attempt: &Attempt<'_>,
    finding: &Finding,
    session: Option<&str>,
    now: i64,
) -> Episode {
    // A limit on failures is recorded as the failure that reached it.
    let first = finding
        .evidence
        .get("failures")
        .and_then(|failures| failures.get(0)?.get("code")?.as_str());
    let code = first.unwrap_or(finding.code.name());
    let path = finding.path.clone().unwrap_or_default();
    let edit = edit_of(attempt, finding);
    let language = language_of(&path);
    let failed = FailedAttempt {
        mode: edit.and_then(mode_of).map(str::to_owned),
        format: Some(format_of(attempt)),
        cause: cause(finding).map(str::to_owned),
        fragment: edit.map(|edit| fragment(finding.code, edit)).unwrap_or_default(),
        path: Some(path),
        session: session.map(str::to_owned),
        agent: attempt.agent.map(str::to_owned),
    };
    Episode::new(code, language.as_deref(), failed, now)
}

/// The edit that was refused.
fn edit_of<'r>(attempt: &'r Attempt<'_>, finding: &Finding) -> Option<&'r Edit> {
    let number = finding.evidence.get("edit").and_then(serde_json::Value::as_u64);
    let numbered =
        number.and_then(|number| attempt.edits.get(usize::try_from(number).ok()?.checked_sub(1)?));
    let path = finding.path.as_deref().unwrap_or_default();
    numbered.or_else(|| attempt.edits.iter().find(|edit| edit.path.text() == path))
}

/// The frequent words of a refused edit: of the text to replace and of the new text.
pub(super) fn words_of(attempt: &Attempt<'_>, finding: &Finding) -> Vec<String> {
    let (old, new) = edit_of(attempt, finding).map(texts).unwrap_or_default();
    let longest = crate::episode::MAX_TEXT_BYTES;
    let text =
        |bytes: Vec<u8>| frequent_words(&scrub::scrub(&String::from_utf8_lossy(&bytes), longest));
    [old, new].into_iter().flatten().flat_map(text).collect()
}

/// The edit that changed `path`; `None` if it cannot be a fix: it deleted or renamed the file, or
/// changed its mode bit.
#[must_use]
pub fn fix_of(
    attempt: Option<&Attempt<'_>>,
    landing: &Landing<'_>,
    path: &str,
    now: i64,
) -> Option<EpisodeFix> {
    let is_its = |edit: &&Edit| {
        edit.path.text() == path || matches!(&edit.op, Op::Rename { to } if to.text() == path)
    };
    let brings =
        |edit: &&Edit| !matches!(edit.op, Op::Delete { .. } | Op::Rename { .. } | Op::Chmod { .. });
    let edit = attempt.and_then(|attempt| attempt.edits.iter().filter(is_its).find(brings));
    if attempt.is_some() && edit.is_none() {
        return None;
    }
    let (old, new) = edit.map(texts).unwrap_or_default();
    let text = |bytes: Option<Vec<u8>>| {
        bytes.map(|bytes| {
            scrub::scrub(&String::from_utf8_lossy(&bytes), crate::episode::MAX_TEXT_BYTES)
        })
    };
    let overrode = landing.overrode.iter().filter(|(_, of)| *of == path);
    Some(EpisodeFix {
        mode: edit.and_then(mode_of).map(str::to_owned),
        format: attempt.map(format_of),
        allow: overrode.map(|(guard, _)| (*guard).to_owned()).collect(),
        old_text: text(old),
        content: text(new),
        commit: Some(landing.commit.to_owned()),
        landed: now,
    })
}

/// Whether `fix` is related to a failure with these `words`: it contains one of them, or replaces
/// the file.
pub(super) fn is_about(fix: &EpisodeFix, words: &[String]) -> bool {
    let replaces_file = matches!(fix.mode.as_deref(), Some("overwrite" | "create"));
    let text = [&fix.old_text, &fix.content].into_iter().flatten().map(|text| text.to_lowercase());
    words.is_empty()
        || replaces_file
        || text.into_iter().any(|text| words.iter().any(|word| text.contains(word.as_str())))
}

/// The language of the file `path`, else its extension.
#[must_use]
pub fn language_of(path: &str) -> Option<String> {
    let known =
        RepoPath::parse(path.as_bytes()).ok().and_then(|path| edt_lang::language_of(&path, b""));
    let ending =
        || Path::new(path).extension().map(|ending| ending.to_string_lossy().to_lowercase());
    known.map(|language| language.name.to_owned()).or_else(ending)
}

fn format_of(attempt: &Attempt<'_>) -> String {
    if attempt.is_patch { "patch" } else { "edit" }.to_owned()
}

/// The cause in one word.
fn cause(finding: &Finding) -> Option<&'static str> {
    let evidence = &finding.evidence;
    let is =
        |key: &str| evidence.get(key).is_some_and(|value| *value == serde_json::Value::Bool(true));
    if is("already_applied") {
        return Some("already_applied");
    }
    if let Some(near) = evidence.get("nearest") {
        let white = near
            .get("white_space_only")
            .is_some_and(|value| *value == serde_json::Value::Bool(true));
        return Some(if white {
            "white_space"
        } else if near.is_null() {
            "nothing_near"
        } else {
            "other_text"
        });
    }
    evidence.get("bracket").map(|_| "bracket")
}

/// The text that is relevant for a failure with `code`.
fn fragment(code: Code, edit: &Edit) -> String {
    let (old, new) = texts(edit);
    let about_old = matches!(
        code,
        Code::OldTextNotFound
            | Code::OldTextAmbiguous
            | Code::InvalidPatch
            | Code::InvalidPatchLimitExceeded
            | Code::TextMismatch
    );
    let bytes = if about_old { old.or(new) } else { new.or(old) }.unwrap_or_default();
    String::from_utf8_lossy(&bytes[..bytes.len().min(64 * 1024)]).into_owned()
}

/// The text to replace, and the new text.
fn texts(edit: &Edit) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
    match &edit.op {
        Op::Create { content, .. }
        | Op::Append { content }
        | Op::Overwrite { content }
        | Op::Write { content }
        | Op::Anchored { content, .. } => (None, Some(content.clone())),
        Op::Edit { old, new, .. } => (Some(old.clone()), Some(new.clone())),
        Op::Lines { content, expected, .. } => (expected.clone(), Some(content.clone())),
        Op::Symbol(edit) => (None, Some(edit.change.content().to_vec())),
        Op::Patch { hunks, .. } => {
            let side = |other: Side| {
                let lines =
                    hunks.iter().flat_map(|hunk| &hunk.lines).filter(|line| line.side != other);
                lines.flat_map(|line| line.text.iter().copied().chain([b'\n'])).collect::<Vec<u8>>()
            };
            (Some(side(Side::New)), Some(side(Side::Old)))
        }
        Op::Chmod { .. } | Op::Delete { .. } | Op::Rename { .. } => (None, None),
    }
}

/// The mode in the request; `None` for a patch.
fn mode_of(edit: &Edit) -> Option<&'static str> {
    let mode = match &edit.op {
        Op::Create { .. } => Mode::Create,
        Op::Edit { .. } => Mode::Edit,
        Op::Append { .. } => Mode::Append,
        Op::Overwrite { .. } => Mode::Overwrite,
        Op::Lines { range: LineRange::Before(_), .. } | Op::Anchored { inserts: true, .. } => {
            Mode::Insert
        }
        Op::Lines { content, .. } | Op::Anchored { content, .. } if content.is_empty() => {
            Mode::DeleteLines
        }
        Op::Lines { .. } | Op::Anchored { .. } => Mode::ReplaceLines,
        Op::Delete { .. } => Mode::Delete,
        Op::Rename { .. } => Mode::Rename,
        Op::Symbol(edit) => edit.change.mode(),
        Op::Write { .. } | Op::Patch { .. } | Op::Chmod { .. } => return None,
    };
    Some(mode.name())
}
