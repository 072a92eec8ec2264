//! A request: its parts checked and turned into typed edits.

use std::borrow::Cow;

use similar::get_close_matches;

use super::guard::Grant;
use super::patch::PatchText;
use crate::base::{Code, Finding, Findings, RepoPath, Result};
use crate::edit::op::Places;
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
    /// What a person granted: no wire form can say this.
    pub grants: Vec<Grant>,
    /// The proposal that this carries out.
    pub proposal: Option<u64>,
    /// What to do, in order.
    pub edits: Vec<Edit>,
    /// The same as a patch, not yet read.
    pub patch: Option<PatchText>,
    /// Lines of context in the answer.
    pub context: usize,
}

/// Lines of context in the answer unless told otherwise.
pub const CONTEXT: usize = 3;

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
        Ok(Request {
            message,
            agent,
            allow,
            grants: Vec::new(),
            proposal: None,
            edits,
            patch: None,
            context: CONTEXT,
        })
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
        Ok(Request {
            message,
            agent,
            allow,
            grants: Vec::new(),
            proposal: None,
            edits: Vec::new(),
            patch: Some(patch),
            context: CONTEXT,
        })
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

fn edit_of(draft: Draft, i: usize) -> Result<Edit> {
    let mut found = Vec::new();
    let mode = draft.mode.ok_or_else(|| {
        let modes: Vec<&str> = Mode::ALL.iter().map(|mode| mode.name()).collect();
        bad(
            &format!("Edit {} has no `mode`.", i + 1),
            &format!("Say what to do: {}.", modes.join(", ")),
        )
        .with("edit", i + 1)
    })?;
    let path = path_of(&draft.path, &mut found);
    let to =
        draft.to.as_deref().filter(|_| mode == Mode::Rename).and_then(|to| path_of(to, &mut found));
    found.extend(check_keys(&draft, mode, i));
    let expect = expect(draft.expected_hash).unwrap_or_else(|finding| {
        found.push(finding.with("edit", i + 1));
        Expect::Anything
    });
    let (first, last) = (line(draft.start_line), line(draft.end_line));
    if mode != Mode::Insert && draft.end_line.is_some_and(|end| end < draft.start_line.unwrap_or(0))
    {
        let message =
            format!("`end_line` {last} lies before `start_line` {first} (edit {}).", i + 1);
        found.push(
            bad(&message, "Send the first and the last line, both included.").with("edit", i + 1),
        );
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
        Mode::Insert => {
            Op::Lines { range: LineRange::Before(first), content, expected: draft.expected_text }
        }
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
        Some(hash)
            if (7..=64).contains(&hash.len()) && hash.bytes().all(|b| b.is_ascii_hexdigit()) =>
        {
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
            let message =
                format!("Mode \"{}\" does not take `{key}` (edit {}).", mode.name(), i + 1);
            found.push(
                bad(
                    &message,
                    "Leave it out, or use the mode that takes it: `edt apply --help` lists them.",
                )
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
    let nearest =
        near.first().map_or_else(String::new, |near| format!(" Did you mean \"{near}\"?"));
    Some(bad(
        &format!("`allow` has {word:?}, which overrides nothing.{nearest}"),
        &format!("Overrides are: {}.", words.join(", ")),
    ))
}

pub(super) fn bad(message: &str, hint: &str) -> Finding {
    Finding::new(Code::BadRequest, message, hint)
}

fn internal() -> Finding {
    Finding::new(
        Code::Internal,
        "A checked request lost a part.",
        "Report the request with this message.",
    )
}
