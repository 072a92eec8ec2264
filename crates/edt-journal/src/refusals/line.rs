//! The lines of the record of refusals.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use edt_types::{Code, Finding};

/// The longest text that is kept, in bytes.
pub(super) const MAX_TEXT: usize = 8 << 10;
/// The longest line, in bytes.
pub(super) const MAX_LINE: usize = 32 << 10;
/// The longest name or path, in bytes.
const MAX_NAME: usize = 1 << 10;
/// The most findings, and the most edits, of one line.
const MAX_PARTS: usize = 32;

/// A line of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Line {
    Refused(Box<RefusedCall>),
    Followed(Followed),
}

/// A call that was refused.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RefusedCall {
    /// Its name in the record.
    pub id: String,
    /// When, in seconds since 1970.
    pub time: i64,
    /// The session; `None` if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The root of the worktree.
    pub worktree: String,
    /// The agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The number of the turn in the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<u64>,
    /// The kind of the call: `apply`, `command` for one of an agent's own shell, or the name of
    /// edt's command, such as `run` and `land`.
    pub call: String,
    /// Why.
    pub findings: Vec<RefusedFinding>,
    /// What was tried.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub edits: Vec<TriedEdit>,
    /// The program and the subcommand that were refused; `…` stands for the rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

/// One reason.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RefusedFinding {
    /// The name of the code.
    pub code: String,
    /// The path that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// What the evidence says, in one word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// For a limit on failures: the code of the failure that reached it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// What the evidence of a finding says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The file has what was to be written.
    AlreadyApplied,
    /// The nearest text differs in white space alone.
    WhiteSpace,
    /// The nearest text differs in more.
    OtherText,
    /// No text is similar.
    NothingNear,
    /// A bracket has no partner.
    Bracket,
    /// A later version of edt knows it.
    #[serde(other)]
    Unknown,
}

/// An edit that was tried, as far as it could be read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TriedEdit {
    /// The path as it was sent; `None` if the call names none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The mode, in edt's words where they are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// How it was written.
    pub format: Format,
    /// The text to replace; of a patch: of its hunks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old: Option<String>,
    /// The new text; of a patch: of its hunks, or the patch if it could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new: Option<String>,
    /// The first and the last line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<[u64; 2]>,
    /// The definition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub symbol: Option<String>,
    /// Whether the texts are here.
    #[serde(skip_serializing_if = "Texts::is_whole")]
    pub texts: Texts,
}

/// How an edit was written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// With the keys of a request.
    #[default]
    Edit,
    /// As a patch of any format.
    Patch,
    /// A later version of edt knows it.
    #[serde(other)]
    Unknown,
}

/// Whether the texts of an edit are in the record. Only whole ones can be compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Texts {
    /// All of them, as they were sent.
    #[default]
    Whole,
    /// One is cut, left out for its length, or was not UTF-8.
    Cut,
    /// None may be kept: a secret, a protected path or an ignored file.
    Withheld,
    /// A later version of edt knows it.
    #[serde(other)]
    Unknown,
}

/// What followed a refusal.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Followed {
    /// The refused call.
    pub of: String,
    /// When, in seconds since 1970.
    pub time: i64,
    /// What happened.
    pub how: How,
    /// The session of the edit that landed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The commit of the edit that landed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The class of the difference between the two calls, which the memory finds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
}

/// How the next call about the same place ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// It landed.
    #[default]
    Landed,
    /// It landed with an override of what refused the first.
    Overridden,
    /// It was refused, too.
    RefusedAgain,
    /// A later version of edt knows it.
    #[serde(other)]
    Unknown,
}

impl How {
    /// Its word in answers; `None` if this version of edt does not know it.
    #[must_use]
    pub const fn word(self) -> Option<&'static str> {
        match self {
            How::Landed => Some("landed"),
            How::Overridden => Some("overridden"),
            How::RefusedAgain => Some("refused_again"),
            How::Unknown => None,
        }
    }
}

impl Texts {
    /// Whether the edit can be compared.
    #[must_use]
    pub const fn is_whole(&self) -> bool {
        matches!(self, Texts::Whole)
    }
}

impl RefusedFinding {
    /// What the record keeps of `finding`.
    #[must_use]
    pub fn of(finding: &Finding) -> RefusedFinding {
        let failures = finding.evidence.get("failures");
        let failure = failures.and_then(|all| all.get(0)?.get("code")?.as_str());
        RefusedFinding {
            code: finding.code.name().to_owned(),
            path: finding.path.clone(),
            cause: Cause::of(&finding.evidence),
            failure: failure.map(str::to_owned),
        }
    }

    /// The code of the failure itself, also where it reached a limit.
    #[must_use]
    pub fn cause_code(&self) -> &str {
        self.failure.as_deref().unwrap_or(&self.code)
    }
}

impl Cause {
    /// What `evidence` says.
    #[must_use]
    pub fn of(evidence: &Map<String, Value>) -> Option<Cause> {
        let is = |value: Option<&Value>| value == Some(&Value::Bool(true));
        if is(evidence.get("already_applied")) {
            return Some(Cause::AlreadyApplied);
        }
        match evidence.get("nearest") {
            Some(Value::Null) => Some(Cause::NothingNear),
            Some(near) if is(near.get("white_space_only")) => Some(Cause::WhiteSpace),
            Some(_) => Some(Cause::OtherText),
            None => evidence.get("bracket").map(|_| Cause::Bracket),
        }
    }
}

impl TriedEdit {
    /// The same with this text to replace.
    #[must_use]
    pub fn with_old(mut self, text: &[u8]) -> TriedEdit {
        self.old = Some(self.kept(text));
        self
    }

    /// The same with this new text.
    #[must_use]
    pub fn with_new(mut self, text: &[u8]) -> TriedEdit {
        self.new = Some(self.kept(text));
        self
    }

    /// As much of `text` as is kept.
    fn kept(&mut self, text: &[u8]) -> String {
        let part = &text[..text.len().min(MAX_TEXT)];
        let kept = String::from_utf8_lossy(part);
        if kept.len() != text.len() || matches!(kept, std::borrow::Cow::Owned(_)) {
            self.texts = Texts::Cut;
        }
        kept.into_owned()
    }

    /// Forgets the texts.
    pub fn withhold(&mut self) {
        (self.old, self.new, self.texts) = (None, None, Texts::Withheld);
    }

    fn bound(&mut self) {
        let mut cut = false;
        for text in [&mut self.old, &mut self.new].into_iter().flatten() {
            cut |= shorten(text, MAX_TEXT);
        }
        for name in [&mut self.path, &mut self.mode, &mut self.symbol].into_iter().flatten() {
            cut |= shorten(name, MAX_NAME);
        }
        if cut && self.texts.is_whole() {
            self.texts = Texts::Cut;
        }
    }
}

impl RefusedCall {
    /// Whether a finding is about what must not be written down.
    #[must_use]
    pub fn is_secret(&self) -> bool {
        let secret = [Code::Secret.name(), Code::ProtectedPath.name()];
        self.findings.iter().any(|finding| secret.contains(&finding.cause_code()))
    }

    /// The paths that it is about.
    #[must_use]
    pub fn paths(&self) -> Vec<&str> {
        let edits = self.edits.iter().filter_map(|edit| edit.path.as_deref());
        let found = self.findings.iter().filter_map(|finding| finding.path.as_deref());
        let mut paths: Vec<&str> = edits.chain(found).collect();
        paths.sort_unstable();
        paths.dedup();
        paths
    }

    /// The line, without what must not be kept, and with texts that are not too long.
    pub(super) fn into_line(mut self) -> (RefusedCall, String) {
        if self.is_secret() {
            self.edits.iter_mut().for_each(TriedEdit::withhold);
            self.command = None;
        }
        self.findings.truncate(MAX_PARTS);
        self.edits.truncate(MAX_PARTS);
        self.edits.iter_mut().for_each(TriedEdit::bound);
        let agent = [&mut self.session, &mut self.agent, &mut self.model].into_iter().flatten();
        let paths = self.findings.iter_mut().filter_map(|finding| finding.path.as_mut());
        for name in agent.chain(paths) {
            shorten(name, MAX_NAME);
        }
        if let Some(command) = &mut self.command
            && shorten(command, MAX_TEXT)
        {
            command.push('…');
        }
        let mut line = of(&Line::Refused(Box::new(self.clone())));
        // The texts of the last edits go first.
        for at in (0..self.edits.len()).rev() {
            if line.len() <= MAX_LINE {
                break;
            }
            let edit = &mut self.edits[at];
            (edit.old, edit.new) = (None, None);
            if edit.texts.is_whole() {
                edit.texts = Texts::Cut;
            }
            line = of(&Line::Refused(Box::new(self.clone())));
        }
        (self, line)
    }
}

/// `line` as JSON.
pub(super) fn of(line: &Line) -> String {
    serde_json::to_string(line).unwrap_or_default()
}

/// Cuts `text` to `most` bytes; whether it was longer.
fn shorten(text: &mut String, most: usize) -> bool {
    if text.len() <= most {
        return false;
    }
    text.truncate(text.floor_char_boundary(most));
    true
}
