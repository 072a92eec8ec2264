//! What an edit tried, in the words of the memory: the episode of a refusal, and the fix that landed.

use std::path::Path;

use super::remember::Landing;
use super::request::Request;
use crate::base::{Code, Finding, RepoPath, Status};
use crate::edit::hunk::Side;
use crate::edit::{Edit, LineRange, Mode, Op};
use crate::lang;
use crate::memory::words::of_text;
use crate::memory::{Episode, Fix, Tried, scrub};

/// Whether a failure is one that a later call can learn from: it is about a file, and it was for the agent to do better.
pub(super) fn is_memorable(finding: &Finding) -> bool {
    let learned = finding.code.status() == Status::Refused && finding.code != Code::ProtectedPath;
    finding.path.is_some() && (learned || finding.code == Code::HashMismatch)
}

/// What failed, as an episode.
#[must_use]
pub fn episode_of(
    request: &Request,
    finding: &Finding,
    session: Option<&str>,
    now: i64,
) -> Episode {
    // The limit stands for the failure that reached it.
    let first = finding
        .evidence
        .get("failures")
        .and_then(|failures| failures.get(0)?.get("code")?.as_str());
    let code = first.unwrap_or(finding.code.name());
    let path = finding.path.clone().unwrap_or_default();
    let edit = edit_of(request, finding);
    let language = language_of(&path);
    let tried = Tried {
        mode: edit.and_then(mode_of).map(str::to_owned),
        format: Some(format_of(request)),
        cause: cause(finding).map(str::to_owned),
        fragment: edit.map(|edit| fragment(finding.code, edit)).unwrap_or_default(),
        path: Some(path),
        session: session.map(str::to_owned),
        agent: request.agent.clone(),
    };
    Episode::new(code, language.as_deref(), tried, now)
}

/// The edit that was refused.
fn edit_of<'r>(request: &'r Request, finding: &Finding) -> Option<&'r Edit> {
    let number = finding.evidence.get("edit").and_then(serde_json::Value::as_u64);
    let numbered =
        number.and_then(|number| request.edits.get(usize::try_from(number).ok()?.checked_sub(1)?));
    let path = finding.path.as_deref().unwrap_or_default();
    numbered.or_else(|| request.edits.iter().find(|edit| edit.path.to_string() == path))
}

/// The words that a refused edit was about: those of what it was to replace, and of what it was to bring.
pub(super) fn words_of(request: &Request, finding: &Finding) -> Vec<String> {
    let (old, new) = edit_of(request, finding).map(texts).unwrap_or_default();
    let longest = crate::memory::episode::LONGEST;
    let text = |bytes: Vec<u8>| of_text(&scrub::scrub(&String::from_utf8_lossy(&bytes), longest));
    [old, new].into_iter().flatten().flat_map(text).collect()
}

/// What made `path` what it is now; `None` if that repairs nothing: it went, or only its name or its mode bit changed.
#[must_use]
pub fn fix_of(
    request: Option<&Request>,
    landing: &Landing<'_>,
    path: &str,
    now: i64,
) -> Option<Fix> {
    let is_its = |edit: &&Edit| {
        edit.path.to_string() == path
            || matches!(&edit.op, Op::Rename { to } if to.to_string() == path)
    };
    let brings =
        |edit: &&Edit| !matches!(edit.op, Op::Delete { .. } | Op::Rename { .. } | Op::Chmod { .. });
    let edit = request.and_then(|request| request.edits.iter().filter(is_its).find(brings));
    if request.is_some() && edit.is_none() {
        return None;
    }
    let (old, new) = edit.map(texts).unwrap_or_default();
    let text = |bytes: Option<Vec<u8>>| {
        bytes.map(|bytes| {
            scrub::scrub(&String::from_utf8_lossy(&bytes), crate::memory::episode::LONGEST)
        })
    };
    let overrode = landing.overrode.iter().filter(|(_, of)| *of == path);
    Some(Fix {
        mode: edit.and_then(mode_of).map(str::to_owned),
        format: request.map(format_of),
        allow: overrode.map(|(guard, _)| (*guard).to_owned()).collect(),
        old_text: text(old),
        content: text(new),
        commit: Some(landing.commit.to_owned()),
        landed: now,
    })
}

/// Whether `fix` has to do with a failure that was about `words`: it speaks of one of them, or is all of the file.
pub(super) fn is_about(fix: &Fix, words: &[String]) -> bool {
    let whole = matches!(fix.mode.as_deref(), Some("overwrite" | "create"));
    let text = [&fix.old_text, &fix.content].into_iter().flatten().map(|text| text.to_lowercase());
    words.is_empty()
        || whole
        || text.into_iter().any(|text| words.iter().any(|word| text.contains(word.as_str())))
}

/// The language of the file `path`, else what its name ends in.
#[must_use]
pub fn language_of(path: &str) -> Option<String> {
    let known = RepoPath::parse(path.as_bytes()).ok().and_then(|path| lang::of(&path, b""));
    let ending =
        || Path::new(path).extension().map(|ending| ending.to_string_lossy().to_lowercase());
    known.map(|language| language.name.to_owned()).or_else(ending)
}

fn format_of(request: &Request) -> String {
    if request.patch.is_some() { "patch" } else { "edit" }.to_owned()
}

/// What was wrong, in a word.
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

/// The text that a failure with `code` is about.
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

/// The text that an edit replaces, and the one that it brings.
fn texts(edit: &Edit) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
    match &edit.op {
        Op::Create { content, .. }
        | Op::Append { content }
        | Op::Overwrite { content }
        | Op::Put { content } => (None, Some(content.clone())),
        Op::Edit { old, new, .. } => (Some(old.clone()), Some(new.clone())),
        Op::Lines { content, expected, .. } => (expected.clone(), Some(content.clone())),
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

/// The mode that a caller would name; a patch names none.
fn mode_of(edit: &Edit) -> Option<&'static str> {
    let mode = match &edit.op {
        Op::Create { .. } => Mode::Create,
        Op::Edit { .. } => Mode::Edit,
        Op::Append { .. } => Mode::Append,
        Op::Overwrite { .. } => Mode::Overwrite,
        Op::Lines { range: LineRange::Before(_), .. } => Mode::Insert,
        Op::Lines { content, .. } if content.is_empty() => Mode::DeleteLines,
        Op::Lines { .. } => Mode::ReplaceLines,
        Op::Delete { .. } => Mode::Delete,
        Op::Rename { .. } => Mode::Rename,
        Op::Put { .. } | Op::Patch { .. } | Op::Chmod { .. } => return None,
    };
    Some(mode.name())
}
