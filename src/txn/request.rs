//! A request as it comes in: JSON or flags, checked and turned into typed edits.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Deserialize;
use similar::get_close_matches;

use super::patch::PatchText;
use crate::base::{Code, Finding, Findings, RepoPath, Result};
use crate::edit::op::Places;
use crate::edit::place::Matching;
use crate::edit::{Edit, Expect, LineRange, Mode, Op};

/// A request, understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Why; becomes the commit's subject.
    pub message: Option<String>,
    /// Who; becomes a trailer.
    pub agent: Option<String>,
    /// Overrides asked for.
    pub allow: Vec<String>,
    /// What to do, in order.
    pub edits: Vec<Edit>,
    /// The same as a patch, not yet read.
    pub patch: Option<PatchText>,
    /// Lines of context in the answer.
    pub context: usize,
}

/// Lines of context in the answer unless told otherwise.
pub const CONTEXT: usize = 3;

/// The request of `edt apply`: either `edits`, or the keys of a single edit at the top.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(title = "edt.request/1")]
pub struct Wire {
    /// Why; becomes the commit's subject.
    pub message: Option<String>,
    /// Who asks; becomes a trailer.
    pub agent: Option<String>,
    /// Overrides, such as `size_reduction`.
    pub allow: Vec<String>,
    /// The edits, applied in order, each to the result of the one before; all or none.
    pub edits: Option<Vec<WireEdit>>,
    /// Of a single edit: see `edits`.
    pub path: Option<String>,
    /// Of a single edit: see `edits`.
    pub mode: Option<Mode>,
    /// Of a single edit: see `edits`.
    pub old_text: Option<String>,
    /// Of a single edit: see `edits`.
    pub content: Option<String>,
    /// Of a single edit: see `edits`.
    pub replace_all: Option<bool>,
    /// Of a single edit: see `edits`.
    pub executable: Option<bool>,
    /// Of a single edit: see `edits`.
    pub to: Option<String>,
    /// Of a single edit: see `edits`.
    pub start_line: Option<u64>,
    /// Of a single edit: see `edits`.
    pub end_line: Option<u64>,
    /// Of a single edit: see `edits`.
    pub expected_text: Option<String>,
    /// Of a single edit: see `edits`. With `patch`: the file that the patch changes must have it.
    pub expected_hash: Option<String>,
    /// Instead of edits: a unified diff, `*** Begin Patch` … `*** End Patch`, SEARCH/REPLACE blocks, or whole files in fences below
    /// their paths. `path` beside it is the file that is meant where it names none.
    pub patch: Option<String>,
    /// With `patch`: how far its hunks may differ from the file.
    #[serde(rename = "match")]
    pub matching: Option<Match>,
}

/// How far the hunks of a patch may differ from the file; the answer says what was needed (`matched_by`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Match {
    /// Not at all, line ends aside.
    Strict,
    /// In white space at the ends of lines, and in indentation by one rule for the whole hunk; still only where it stands once.
    Lenient,
}

/// One edit of one file.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WireEdit {
    /// The file, relative to the worktree's root, with `/`.
    pub path: Option<String>,
    /// What to do.
    pub mode: Option<Mode>,
    /// Mode edit: the text that stands there exactly once (or everywhere, with `replace_all`).
    pub old_text: Option<String>,
    /// The new text; of the whole file for create and overwrite.
    pub content: Option<String>,
    /// Mode edit: replace every place instead of the only one.
    pub replace_all: Option<bool>,
    /// Mode create: set the mode bit.
    pub executable: Option<bool>,
    /// Mode rename: the new path.
    pub to: Option<String>,
    /// Modes insert, `replace_lines`, `delete_lines`: the first line, 1-based.
    pub start_line: Option<u64>,
    /// Modes `replace_lines`, `delete_lines`: the last line, included.
    pub end_line: Option<u64>,
    /// The lines that stand there: those of the range, or, for insert, those that follow (empty at the end of the file).
    pub expected_text: Option<String>,
    /// The blob id the file must have, as `edt read` gives it.
    pub expected_hash: Option<String>,
}

/// One edit with its texts as bytes: what both the JSON and the flags come to.
#[derive(Debug, Clone, Default)]
pub struct Draft {
    /// The file.
    pub path: Vec<u8>,
    /// What to do.
    pub mode: Option<Mode>,
    /// The text that stands there.
    pub old_text: Option<Vec<u8>>,
    /// The new text.
    pub content: Option<Vec<u8>>,
    /// Every place.
    pub replace_all: Option<bool>,
    /// The mode bit.
    pub executable: Option<bool>,
    /// The new path.
    pub to: Option<Vec<u8>>,
    /// The first line.
    pub start_line: Option<u64>,
    /// The last line.
    pub end_line: Option<u64>,
    /// The lines that stand there.
    pub expected_text: Option<Vec<u8>>,
    /// The blob id it must have.
    pub expected_hash: Option<String>,
}

impl Request {
    /// Reads a JSON request.
    ///
    /// # Errors
    /// `BAD_REQUEST` naming the place, an unknown key with the nearest known one, or a missing key; path and text findings of
    /// every edit.
    pub fn from_json(bytes: &[u8]) -> Result<Request> {
        let wire: Wire = serde_json::from_slice(bytes).map_err(|error| not_json(&error.to_string()))?;
        let single = WireEdit {
            path: wire.path,
            mode: wire.mode,
            old_text: wire.old_text,
            content: wire.content,
            replace_all: wire.replace_all,
            executable: wire.executable,
            to: wire.to,
            start_line: wire.start_line,
            end_line: wire.end_line,
            expected_text: wire.expected_text,
            expected_hash: wire.expected_hash,
        };
        if let Some(text) = wire.patch {
            let alone =
                WireEdit { path: None, expected_hash: None, ..single.clone() }.is_empty() && wire.edits.is_none();
            if !alone {
                let message = "The request has `patch` and edits beside it.";
                return Err(bad(
                    message,
                    "Send the edits or the patch; beside it only `path`, `expected_hash` and `match`.",
                )
                .into());
            }
            let matching = wire.matching.map_or(Matching::Strict, Match::matching);
            let path = single.path.map(String::into_bytes);
            let patch = PatchText::new(text.into_bytes(), path.as_deref(), single.expected_hash, matching)?;
            return Request::patch(wire.message, wire.agent, wire.allow, patch);
        }
        if wire.matching.is_some() {
            return Err(bad(
                "`match` stands without `patch`.",
                "Leave it out: an edit's `old_text` matches exactly or not at all.",
            )
            .into());
        }
        let drafts: Vec<Draft> = match wire.edits {
            None => vec![single.into()],
            Some(edits) if single.is_empty() => edits.into_iter().map(Into::into).collect(),
            Some(_) => {
                return Err(bad(
                    "The request has `edits` and the keys of a single edit beside it.",
                    "Put every edit into `edits`.",
                )
                .into());
            }
        };
        Request::of(wire.message, wire.agent, wire.allow, drafts)
    }

    /// Checks the parts of a request.
    ///
    /// # Errors
    /// As [`Request::from_json`].
    pub fn of(
        message: Option<String>,
        agent: Option<String>,
        allow: Vec<String>,
        drafts: Vec<Draft>,
    ) -> Result<Request> {
        let mut found = faults(message.as_deref(), agent.as_deref(), &allow);
        if drafts.is_empty() {
            found.push(bad("`edits` is empty.", "Send at least one edit."));
        }
        let mut edits = Vec::new();
        for (i, draft) in drafts.into_iter().enumerate() {
            match edit_of(draft, i) {
                Ok(edit) => edits.push(edit),
                Err(error) => found.extend(error.into_vec()),
            }
        }
        Findings::check(found)?;
        let message = message.filter(|message| !message.trim().is_empty());
        Ok(Request { message, agent, allow, edits, patch: None, context: CONTEXT })
    }

    /// A request that consists of a patch.
    ///
    /// # Errors
    /// `BAD_REQUEST`; the patch itself is read later, by [`Request::understood`].
    pub fn patch(
        message: Option<String>,
        agent: Option<String>,
        allow: Vec<String>,
        patch: PatchText,
    ) -> Result<Request> {
        Findings::check(faults(message.as_deref(), agent.as_deref(), &allow))?;
        let message = message.filter(|message| !message.trim().is_empty());
        Ok(Request { message, agent, allow, edits: Vec::new(), patch: Some(patch), context: CONTEXT })
    }

    /// The request with its patch read into edits.
    ///
    /// # Errors
    /// `INVALID_PATCH` if it cannot be understood, and the findings of its paths.
    pub fn understood(&self) -> Result<Cow<'_, Request>> {
        match &self.patch {
            None => Ok(Cow::Borrowed(self)),
            Some(patch) => Ok(Cow::Owned(Request { edits: patch.edits()?, ..self.clone() })),
        }
    }
}

/// What is wrong with the parts that every request has.
fn faults(message: Option<&str>, agent: Option<&str>, allow: &[String]) -> Vec<Finding> {
    let mut found = Vec::new();
    let control = |text: &str| text.chars().any(|c| c.is_control() && c != '\n' && c != '\t');
    if message.is_some_and(control) {
        found.push(bad(
            "`message` has a control character.",
            "Send plain text; the first line becomes the commit's subject.",
        ));
    }
    if agent.is_some_and(|agent| agent.trim().is_empty() || agent.chars().any(char::is_control)) {
        found.push(bad("`agent` is empty or has a control character.", "Send a name on one line."));
    }
    found.extend(allow.iter().filter_map(|word| unknown_allow(word)));
    found
}

impl Match {
    /// The same for the placing of hunks.
    #[must_use]
    pub const fn matching(self) -> Matching {
        match self {
            Match::Strict => Matching::Strict,
            Match::Lenient => Matching::Lenient,
        }
    }
}

impl WireEdit {
    fn is_empty(&self) -> bool {
        let texts = [&self.path, &self.old_text, &self.content, &self.to, &self.expected_text, &self.expected_hash];
        texts.iter().all(|text| text.is_none())
            && self.mode.is_none()
            && self.replace_all.is_none()
            && self.executable.is_none()
            && self.start_line.is_none()
            && self.end_line.is_none()
    }
}

impl From<WireEdit> for Draft {
    fn from(wire: WireEdit) -> Draft {
        Draft {
            path: wire.path.unwrap_or_default().into_bytes(),
            mode: wire.mode,
            old_text: wire.old_text.map(String::into_bytes),
            content: wire.content.map(String::into_bytes),
            replace_all: wire.replace_all,
            executable: wire.executable,
            to: wire.to.map(String::into_bytes),
            start_line: wire.start_line,
            end_line: wire.end_line,
            expected_text: wire.expected_text.map(String::into_bytes),
            expected_hash: wire.expected_hash,
        }
    }
}

fn edit_of(draft: Draft, i: usize) -> Result<Edit> {
    let mut found = Vec::new();
    let mode = draft.mode.ok_or_else(|| {
        let modes: Vec<&str> = Mode::ALL.iter().map(|mode| mode.name()).collect();
        bad(&format!("Edit {} has no `mode`.", i + 1), &format!("Say what to do: {}.", modes.join(", ")))
            .with("edit", i + 1)
    })?;
    let path = path_of(&draft.path, &mut found);
    let to = draft.to.as_deref().filter(|_| mode == Mode::Rename).and_then(|to| path_of(to, &mut found));
    found.extend(check_keys(&draft, mode, i));
    let expect = expect(draft.expected_hash).unwrap_or_else(|finding| {
        found.push(finding.with("edit", i + 1));
        Expect::Anything
    });
    let (first, last) = (line(draft.start_line), line(draft.end_line));
    if mode != Mode::Insert && draft.end_line.is_some_and(|end| end < draft.start_line.unwrap_or(0)) {
        let message = format!("`end_line` {last} lies before `start_line` {first} (edit {}).", i + 1);
        found.push(bad(&message, "Send the first and the last line, both included.").with("edit", i + 1));
    }
    Findings::check(found)?;
    let path = path.ok_or_else(internal)?;
    let content = draft.content.unwrap_or_default();
    let op = match mode {
        Mode::Create => Op::Create { content, executable: draft.executable.unwrap_or(false) },
        Mode::Edit => {
            let places = if draft.replace_all.unwrap_or(false) { Places::All } else { Places::One };
            Op::Edit { old: draft.old_text.unwrap_or_default(), new: content, places }
        }
        Mode::Append => Op::Append { content },
        Mode::Overwrite => Op::Overwrite { content },
        Mode::Insert => Op::Lines { range: LineRange::Before(first), content, expected: draft.expected_text },
        Mode::ReplaceLines | Mode::DeleteLines => {
            Op::Lines { range: LineRange::Of(first, last), content, expected: draft.expected_text }
        }
        Mode::Delete => Op::Delete { holds: None },
        Mode::Rename => Op::Rename { to: to.ok_or_else(internal)? },
    };
    Ok(Edit { path, expect, op })
}

/// The belief that `expected_hash` states.
///
/// # Errors
/// `BAD_REQUEST` if it is no blob id.
pub(super) fn expect(hash: Option<String>) -> std::result::Result<Expect, Finding> {
    match hash {
        None => Ok(Expect::Anything),
        Some(hash) if (7..=64).contains(&hash.len()) && hash.bytes().all(|b| b.is_ascii_hexdigit()) => {
            Ok(Expect::Hash(hash.to_ascii_lowercase()))
        }
        Some(hash) => Err(bad(
            &format!("`expected_hash` {hash:?} is not a blob id."),
            "Send the hex id that `edt read` prints, at least 7 digits.",
        )),
    }
}

/// A line number; one that is no line of any file becomes 0, which is out of every range.
fn line(number: Option<u64>) -> usize {
    number.and_then(|number| usize::try_from(number).ok()).unwrap_or(0)
}

fn path_of(raw: &[u8], found: &mut Vec<Finding>) -> Option<RepoPath> {
    RepoPath::parse(raw).map_err(|problem| found.push(problem.finding(raw))).ok()
}

/// Keys that the mode cannot do without, and keys it does not take.
fn check_keys(draft: &Draft, mode: Mode, i: usize) -> Vec<Finding> {
    let given = [
        ("old_text", draft.old_text.is_some()),
        ("content", draft.content.is_some()),
        ("replace_all", draft.replace_all.is_some()),
        ("executable", draft.executable.is_some()),
        ("to", draft.to.is_some()),
        ("start_line", draft.start_line.is_some()),
        ("end_line", draft.end_line.is_some()),
        ("expected_text", draft.expected_text.is_some()),
    ];
    let (needs, takes) = mode.keys();
    let mut found = Vec::new();
    if mode == Mode::Edit && draft.old_text.as_ref().is_none_or(Vec::is_empty) {
        let mut finding = Finding::new(
            Code::OldTextRequired,
            format!(
                "Mode \"edit\" needs the text to replace in `old_text`; edit {} has none. Nothing was changed.",
                i + 1
            ),
            "Send `old_text` exactly as it stands in the file. To add to the end use mode \"append\"; to replace the whole file use \"overwrite\".",
        );
        finding.path = Some(String::from_utf8_lossy(&draft.path).into_owned());
        found.push(finding.with("edit", i + 1));
    }
    for (key, there) in given {
        let needed = needs.contains(&key);
        if needed && !there && key != "old_text" {
            found.push(
                bad(
                    &format!("Mode \"{}\" needs `{key}`; edit {} has none.", mode.name(), i + 1),
                    &format!("Add `{key}`."),
                )
                .with("edit", i + 1),
            );
        }
        if there && !needed && !takes.contains(&key) {
            let message = format!("Mode \"{}\" does not take `{key}` (edit {}).", mode.name(), i + 1);
            found.push(
                bad(&message, "Leave it out, or use the mode that takes it: `edt apply --help` lists them.")
                    .with("edit", i + 1),
            );
        }
    }
    found
}

fn unknown_allow(word: &str) -> Option<Finding> {
    let words: Vec<&str> = Code::ALL.iter().filter_map(|code| code.allow()).collect();
    if words.contains(&word) {
        return None;
    }
    let near = get_close_matches(word, &words, 1, 0.6);
    let nearest = near.first().map_or_else(String::new, |near| format!(" Did you mean \"{near}\"?"));
    Some(bad(
        &format!("`allow` has {word:?}, which overrides nothing.{nearest}"),
        &format!("Overrides are: {}.", words.join(", ")),
    ))
}

/// serde's message with the nearest known key, where the fault is an unknown one.
fn not_json(why: &str) -> Finding {
    let unknown = why.strip_prefix("unknown field `").and_then(|rest| rest.split_once('`'));
    let Some((key, rest)) = unknown else {
        return bad(
            &format!("The request is not what edt takes: {why}."),
            "Send one JSON object; `edt schema request` prints its schema.",
        );
    };
    let known: Vec<&str> = rest.split('`').skip(1).step_by(2).collect();
    let near = get_close_matches(key, &known, 1, 0.5);
    let nearest = near.first().map_or_else(String::new, |near| format!(" Did you mean `{near}`?"));
    let place = rest.rsplit_once(" at line ").map_or_else(String::new, |(_, place)| format!(" (line {place})"));
    bad(
        &format!("The request has the unknown key `{key}`{place}.{nearest}"),
        &format!("Known keys are: {}.", known.join(", ")),
    )
    .with("key", key)
}

pub(super) fn bad(message: &str, hint: &str) -> Finding {
    Finding::new(Code::BadRequest, message, hint)
}

fn internal() -> Finding {
    Finding::new(Code::Internal, "A checked request lost a part.", "Report the request with this message.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(json: &str) -> String {
        Request::from_json(json.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn a_single_edit_may_leave_out_the_array() {
        let request = Request::from_json(br#"{"path": "a", "mode": "append", "content": "x"}"#).unwrap();
        let op = Op::Append { content: b"x".to_vec() };
        assert_eq!(request.edits, [Edit { path: RepoPath::parse(b"a").unwrap(), expect: Expect::Anything, op }]);
    }

    #[test]
    fn an_unknown_key_is_named_with_the_nearest_known_one() {
        let error = error(r#"{"path": "a", "mode": "edit", "oldtext": "x"}"#);
        assert!(error.contains("unknown key `oldtext`") && error.contains("Did you mean `old_text`?"), "{error}");
    }

    #[test]
    fn every_fault_is_found_not_only_the_first() {
        let found = Request::from_json(br#"{"allow": ["size"], "edits": [{"path": "../x", "mode": "edit", "content": "y"}, {"mode": "rename", "path": "a"}]}"#);
        let codes: Vec<Code> = found.unwrap_err().into_vec().iter().map(|finding| finding.code).collect();
        assert_eq!(codes, [Code::BadRequest, Code::BadRequest, Code::PathOutsideRepo, Code::OldTextRequired]);
    }

    #[test]
    fn a_mode_takes_only_its_own_keys() {
        assert!(error(r#"{"path": "a", "mode": "delete", "content": "x"}"#).contains("does not take `content`"));
        assert!(error(r#"{"path": "a", "mode": "create"}"#).contains("needs `content`"));
        assert!(error(r#"{"path": "a", "content": "x"}"#).contains("has no `mode`"));
        assert!(error(r#"{"path": "a", "mode": "create", "content": "#).contains("EOF"));
        assert!(error(r#"{"path": "a", "mode": "create", "content": 3}"#).contains("invalid type"));
    }
}
