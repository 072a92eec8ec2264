//! The table of evidence: which facts a finding may have, their types, and with which codes.
//!
//! The JSON schema of an answer, `edt explain`, `docs/reference/errors.md` and the tests iterate
//! [`FACTS`]. Each key has one type and one meaning.

use serde_json::{Map, Value, json};

use super::Code;

/// One key of `evidence`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fact {
    pub key: &'static str,
    /// Its type. `null` says that edt does not know it.
    pub kind: FactKind,
    /// The codes that have it; if empty, any code may have it.
    pub codes: &'static [Code],
    pub meaning: &'static str,
}

/// The type of a fact in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FactKind {
    Flag,
    Number,
    Numbers,
    Text,
    Texts,
    Object,
    Objects,
}

impl FactKind {
    /// The name in documents.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            FactKind::Flag => "boolean",
            FactKind::Number => "number",
            FactKind::Numbers => "numbers",
            FactKind::Text => "string",
            FactKind::Texts => "strings",
            FactKind::Object => "object",
            FactKind::Objects => "objects",
        }
    }

    /// Whether `value` has this type, or is `null`.
    #[must_use]
    pub fn has(self, value: &Value) -> bool {
        let all = |is: fn(&Value) -> bool| value.as_array().is_some_and(|all| all.iter().all(is));
        value.is_null()
            || match self {
                FactKind::Flag => value.is_boolean(),
                FactKind::Number => value.is_number(),
                FactKind::Numbers => all(Value::is_number),
                FactKind::Text => value.is_string(),
                FactKind::Texts => all(Value::is_string),
                FactKind::Object => value.is_object(),
                FactKind::Objects => all(Value::is_object),
            }
    }

    fn schema(self) -> Value {
        match self {
            FactKind::Flag => json!({ "type": ["boolean", "null"] }),
            FactKind::Number => json!({ "type": ["number", "null"] }),
            FactKind::Numbers => {
                json!({ "type": ["array", "null"], "items": { "type": "number" } })
            }
            FactKind::Text => json!({ "type": ["string", "null"] }),
            FactKind::Texts => json!({ "type": ["array", "null"], "items": { "type": "string" } }),
            FactKind::Object => json!({ "type": ["object", "null"] }),
            FactKind::Objects => {
                json!({ "type": ["array", "null"], "items": { "type": "object" } })
            }
        }
    }
}

/// Codes that also have the facts of the finding whose place they take.
const TAKES_PLACE: [Code; 2] = [Code::ApprovalRequired, Code::InvalidPatchLimitExceeded];

impl Fact {
    /// Whether a finding with `code` may have it.
    #[must_use]
    pub fn is_of(&self, code: Code) -> bool {
        self.codes.is_empty() || self.codes.contains(&code)
    }

    fn codes_text(&self) -> String {
        let names: Vec<String> =
            self.codes.iter().map(|code| format!("`{}`", code.name())).collect();
        if names.is_empty() { "any".to_owned() } else { names.join(" ") }
    }
}

/// What is wrong with the evidence of a finding with `code`: an unknown key, a value of another
/// type, or a key of other codes.
#[must_use]
pub fn faults(code: Code, evidence: &Map<String, Value>) -> Vec<String> {
    let fault = |(key, value): (&String, &Value)| {
        let Some(fact) = FACTS.iter().find(|fact| fact.key == key) else {
            return Some(format!("{}: unknown evidence `{key}`", code.name()));
        };
        if !fact.kind.has(value) {
            let kind = fact.kind.name();
            return Some(format!("{}: evidence `{key}` is no {kind}: {value}", code.name()));
        }
        let fits = fact.is_of(code) || TAKES_PLACE.contains(&code);
        (!fits).then(|| format!("{}: evidence `{key}` belongs to other codes", code.name()))
    };
    evidence.iter().filter_map(fault).collect()
}

/// The JSON schema of `evidence`.
pub(crate) fn schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let properties: Map<String, Value> = FACTS
        .iter()
        .map(|fact| {
            let mut schema = fact.kind.schema();
            schema["description"] = fact.meaning.into();
            (fact.key.to_owned(), schema)
        })
        .collect();
    schemars::json_schema!({ "type": "object", "properties": properties })
}

/// The table as Markdown: a part of `docs/reference/errors.md`.
#[must_use]
pub fn table() -> String {
    use std::fmt::Write as _;
    let mut out = String::from(
        "## Evidence\n\nThe facts of a finding. Each key has one type; `null` says that edt does \
         not know it. `APPROVAL_REQUIRED` and `INVALID_PATCH_LIMIT_EXCEEDED` also have the \
         facts of the finding whose place they take.\n\n\
         | key | type | codes | meaning |\n| --- | --- | --- | --- |\n",
    );
    for fact in FACTS {
        let (kind, codes) = (fact.kind.name(), fact.codes_text());
        let _ = writeln!(out, "| `{}` | {kind} | {codes} | {} |", fact.key, fact.meaning);
    }
    out
}

/// Every key of `evidence`, by name.
pub const FACTS: &[Fact] = &[
    Fact {
        key: "after_earlier_parts",
        kind: FactKind::Flag,
        codes: &[],
        meaning: "Line numbers count after the earlier edits of the request.",
    },
    Fact {
        key: "against",
        kind: FactKind::Text,
        codes: &[Code::SizeReduction, Code::MassDeletion],
        meaning: "What the loss is measured against, such as `HEAD`.",
    },
    Fact {
        key: "already_applied",
        kind: FactKind::Flag,
        codes: &[Code::InvalidPatch, Code::OldTextNotFound],
        meaning: "Whether the new lines are in the file already.",
    },
    Fact {
        key: "anchor",
        kind: FactKind::Text,
        codes: &[Code::OldTextAmbiguous],
        meaning: "The anchor of the hunk that occurs several times.",
    },
    Fact {
        key: "anchors",
        kind: FactKind::Texts,
        codes: &[Code::TextMismatch],
        meaning: "The anchors of the present lines.",
    },
    Fact {
        key: "bracket",
        kind: FactKind::Object,
        codes: &[Code::SyntaxError],
        meaning: "The bracket without a partner: `text`, `line`, `column`.",
    },
    Fact {
        key: "byte",
        kind: FactKind::Number,
        codes: &[Code::BinaryContent, Code::Encoding],
        meaning: "The position of the first such byte in its line, from 1.",
    },
    Fact {
        key: "bytes",
        kind: FactKind::Number,
        codes: &[Code::FileTooLarge, Code::BuildOutput],
        meaning: "The size in bytes.",
    },
    Fact {
        key: "bytes_after",
        kind: FactKind::Number,
        codes: &[Code::LostContent, Code::SizeReduction],
        meaning: "The size after the change, in bytes.",
    },
    Fact {
        key: "bytes_before",
        kind: FactKind::Number,
        codes: &[Code::LostContent, Code::SizeReduction],
        meaning: "The size before the change, in bytes.",
    },
    Fact {
        key: "changed",
        kind: FactKind::Texts,
        codes: &[Code::BadRequest],
        meaning: "The lines that the edit changed, as flags of `edt revert`.",
    },
    Fact {
        key: "code",
        kind: FactKind::Text,
        codes: &[Code::ApprovalRequired],
        meaning: "The code that the refusal would have without the approval.",
    },
    Fact {
        key: "code_point",
        kind: FactKind::Text,
        codes: &[Code::InvisibleCharacters, Code::LookalikeCharacters],
        meaning: "The character, such as `U+200B`.",
    },
    Fact {
        key: "column",
        kind: FactKind::Number,
        codes: &[Code::SyntaxError],
        meaning: "The column in characters, from 1.",
    },
    Fact {
        key: "command",
        kind: FactKind::Texts,
        codes: &[Code::ValidatorFailed],
        meaning: "The command line of the validator.",
    },
    Fact {
        key: "commit",
        kind: FactKind::Text,
        codes: &[
            Code::ApprovalRequired,
            Code::BadRequest,
            Code::MergeConflict,
            Code::NothingToUndo,
        ],
        meaning: "The commit, as a hex object id.",
    },
    Fact {
        key: "commits",
        kind: FactKind::Texts,
        codes: &[Code::ApprovalRequired],
        meaning: "The commits, as hex object ids.",
    },
    Fact {
        key: "context",
        kind: FactKind::Text,
        codes: &[Code::LineOutOfRange, Code::TextMismatch, Code::HashRequired],
        meaning: "The numbered lines around the place.",
    },
    Fact {
        key: "corrected_edit",
        kind: FactKind::Object,
        codes: &[],
        meaning: "An edit to send instead, if it is what is meant.",
    },
    Fact {
        key: "correction",
        kind: FactKind::Text,
        codes: &[],
        meaning: "A patch to send instead, if it is what is meant.",
    },
    Fact {
        key: "count",
        kind: FactKind::Number,
        codes: &[Code::OldTextAmbiguous, Code::InvisibleCharacters],
        meaning: "How often it occurs; `null` if very often.",
    },
    Fact {
        key: "current",
        kind: FactKind::Text,
        codes: &[Code::GitOperationBlocked],
        meaning: "The commit at which the ref is.",
    },
    Fact {
        key: "detail",
        kind: FactKind::Text,
        codes: &[Code::ProposalRejected],
        meaning: "The user's reason.",
    },
    Fact {
        key: "differs_at",
        kind: FactKind::Number,
        codes: &[Code::TextMismatch],
        meaning: "The first line that differs, from 1.",
    },
    Fact {
        key: "edit",
        kind: FactKind::Number,
        codes: &[],
        meaning: "The number of the edit: in the request, or in the session for commands that undo.",
    },
    Fact {
        key: "edit_count",
        kind: FactKind::Number,
        codes: &[Code::NothingToUndo],
        meaning: "How many edits the file has.",
    },
    Fact {
        key: "edits",
        kind: FactKind::Numbers,
        codes: &[Code::EditsOverlap, Code::LandsRemovedLines, Code::RevertConflict],
        meaning: "The numbers of the edits in the session.",
    },
    Fact {
        key: "end_anchor",
        kind: FactKind::Text,
        codes: &[Code::TextMismatch],
        meaning: "The anchor of the last line where the lines are now.",
    },
    Fact {
        key: "errno",
        kind: FactKind::Number,
        codes: &[Code::IoError],
        meaning: "The number of the operating system's error.",
    },
    Fact {
        key: "error",
        kind: FactKind::Object,
        codes: &[Code::SyntaxError],
        meaning: "The parser's error: `line`, `column`.",
    },
    Fact {
        key: "exists",
        kind: FactKind::Text,
        codes: &[Code::FileExists, Code::PathInvalid],
        meaning: "The path that is there under another spelling.",
    },
    Fact {
        key: "exit_status",
        kind: FactKind::Number,
        codes: &[Code::ValidatorFailed],
        meaning: "The exit status; `null` if a signal ended it.",
    },
    Fact {
        key: "expected_hash",
        kind: FactKind::Text,
        codes: &[Code::HashMismatch],
        meaning: "The blob id that the request names.",
    },
    Fact {
        key: "failures",
        kind: FactKind::Objects,
        codes: &[Code::InvalidPatchLimitExceeded],
        meaning: "Each failure: `code`, `edit`, `message`.",
    },
    Fact {
        key: "file",
        kind: FactKind::Text,
        codes: &[Code::BadTask, Code::InvalidPatchLimitExceeded],
        meaning: "The complete numbered text of the file, or the file of a task.",
    },
    Fact {
        key: "files",
        kind: FactKind::Texts,
        codes: &[
            Code::LandsRemovedLines,
            Code::LeavesOut,
            Code::NothingToLand,
            Code::TrustRequired,
        ],
        meaning: "The paths of the files.",
    },
    Fact {
        key: "files_lost",
        kind: FactKind::Number,
        codes: &[Code::MassDeletion],
        meaning: "How many files would go.",
    },
    Fact {
        key: "filter",
        kind: FactKind::Text,
        codes: &[
            Code::CommandTimeout,
            Code::FilterFailed,
            Code::ProgramNotFound,
            Code::TrustRequired,
        ],
        meaning: "The name of the filter driver.",
    },
    Fact {
        key: "first",
        kind: FactKind::Numbers,
        codes: &[Code::DuplicateCode],
        meaning: "The first and the last line of the first occurrence.",
    },
    Fact {
        key: "first_line",
        kind: FactKind::Number,
        codes: &[Code::LineOutOfRange],
        meaning: "The first line that was asked for.",
    },
    Fact {
        key: "found",
        kind: FactKind::Texts,
        codes: &[Code::BadRequest],
        meaning: "The names that were found.",
    },
    Fact {
        key: "frame",
        kind: FactKind::Text,
        codes: &[Code::SyntaxError],
        meaning: "The numbered lines around the error.",
    },
    Fact {
        key: "function",
        kind: FactKind::Text,
        codes: &[Code::HollowBody],
        meaning: "The name of the function.",
    },
    Fact {
        key: "hash",
        kind: FactKind::Text,
        codes: &[],
        meaning: "The file's present blob id: send it as `expected_hash`; `null` if there is no file.",
    },
    Fact {
        key: "holder",
        kind: FactKind::Text,
        codes: &[Code::SessionBusy],
        meaning: "The process id of the holder.",
    },
    Fact {
        key: "holder_command",
        kind: FactKind::Text,
        codes: &[Code::SessionBusy],
        meaning: "The command of the holder.",
    },
    Fact {
        key: "hook",
        kind: FactKind::Text,
        codes: &[Code::GitOperationBlocked],
        meaning: "The name of Git's hook.",
    },
    Fact {
        key: "hooks_path",
        kind: FactKind::Text,
        codes: &[Code::UnsupportedRepository],
        meaning: "The directory of the hooks.",
    },
    Fact {
        key: "hunk",
        kind: FactKind::Number,
        codes: &[Code::InvalidPatch, Code::OldTextAmbiguous],
        meaning: "The number of the hunk in its file, from 1.",
    },
    Fact {
        key: "into",
        kind: FactKind::Text,
        codes: &[Code::MergeConflict],
        meaning: "The branch to land on.",
    },
    Fact {
        key: "key",
        kind: FactKind::Text,
        codes: &[],
        meaning: "The key, of the request or of edt.toml.",
    },
    Fact {
        key: "level",
        kind: FactKind::Text,
        codes: &[Code::SandboxUnavailable],
        meaning: "The level of the sandbox.",
    },
    Fact {
        key: "limit",
        kind: FactKind::Number,
        codes: &[Code::FileTooLarge],
        meaning: "The limit in bytes.",
    },
    Fact {
        key: "line",
        kind: FactKind::Number,
        codes: &[
            Code::BinaryContent,
            Code::ChatArtifact,
            Code::ConflictMarkers,
            Code::ElidedCode,
            Code::Encoding,
            Code::HollowBody,
            Code::InvisibleCharacters,
            Code::LookalikeCharacters,
            Code::Secret,
            Code::SyntaxError,
        ],
        meaning: "The line in the new text, from 1.",
    },
    Fact {
        key: "line_ranges",
        kind: FactKind::Texts,
        codes: &[Code::UnsavedChanges],
        meaning: "The lines that overlap, such as `3-5`.",
    },
    Fact {
        key: "lines",
        kind: FactKind::Numbers,
        codes: &[
            Code::InvalidPatch,
            Code::OldTextAmbiguous,
            Code::Secret,
            Code::SymbolAmbiguous,
            Code::SymbolUnclear,
        ],
        meaning: "The lines, from 1.",
    },
    Fact {
        key: "lines_after",
        kind: FactKind::Number,
        codes: &[Code::SizeReduction],
        meaning: "The number of lines after the change.",
    },
    Fact {
        key: "lines_before",
        kind: FactKind::Number,
        codes: &[Code::SizeReduction],
        meaning: "The number of lines before the change.",
    },
    Fact {
        key: "lines_lost",
        kind: FactKind::Number,
        codes: &[Code::ElidedCode, Code::HollowBody, Code::MassDeletion],
        meaning: "How many lines would go.",
    },
    Fact {
        key: "max_edits",
        kind: FactKind::Number,
        codes: &[Code::EditLimitReached],
        meaning: "The most edits of a session.",
    },
    Fact {
        key: "max_s",
        kind: FactKind::Number,
        codes: &[Code::BadRequest],
        meaning: "The longest time limit, in seconds.",
    },
    Fact {
        key: "mode",
        kind: FactKind::Text,
        codes: &[Code::ProtectedPath],
        meaning: "The file's mode bits, in octal.",
    },
    Fact {
        key: "moved_from",
        kind: FactKind::Text,
        codes: &[Code::ProtectedPath],
        meaning: "The private file that a program moved there.",
    },
    Fact {
        key: "near",
        kind: FactKind::Texts,
        codes: &[],
        meaning: "Tracked files that may be meant.",
    },
    Fact {
        key: "nearest",
        kind: FactKind::Object,
        codes: &[Code::InvalidPatch, Code::OldTextNotFound],
        meaning: "The most similar place: `line`, `lines`, `equal_lines`, `differs_at`, `sent`, `found`, `white_space_only`, `context`.",
    },
    Fact {
        key: "new",
        kind: FactKind::Text,
        codes: &[Code::GitOperationBlocked],
        meaning: "The commit to which the ref would move.",
    },
    Fact {
        key: "object",
        kind: FactKind::Text,
        codes: &[Code::FileTooLarge, Code::ObjectMissing],
        meaning: "The object's id.",
    },
    Fact {
        key: "on_disk",
        kind: FactKind::Text,
        codes: &[],
        meaning: "The file's name on disk, where the request renames it.",
    },
    Fact {
        key: "operation",
        kind: FactKind::Text,
        codes: &[Code::RepositoryBusy],
        meaning: "The operation of Git that is in progress.",
    },
    Fact {
        key: "origin",
        kind: FactKind::Text,
        codes: &[Code::ApprovalRequired, Code::CommandDenied],
        meaning: "Where the rule is from.",
    },
    Fact {
        key: "original",
        kind: FactKind::Numbers,
        codes: &[Code::DuplicateCode],
        meaning: "The first and the last line of the original in the present file.",
    },
    Fact {
        key: "output",
        kind: FactKind::Text,
        codes: &[Code::ValidatorFailed],
        meaning: "The end of the output.",
    },
    Fact {
        key: "patch_line",
        kind: FactKind::Number,
        codes: &[],
        meaning: "The line in the patch, from 1.",
    },
    Fact {
        key: "paths",
        kind: FactKind::Texts,
        codes: &[
            Code::ApprovalRequired,
            Code::EditsOverlap,
            Code::GitOperationBlocked,
            Code::HooksReadDisk,
            Code::MergeConflict,
            Code::ProposalStale,
            Code::RevertConflict,
            Code::UnsavedChanges,
        ],
        meaning: "The paths.",
    },
    Fact {
        key: "proposal",
        kind: FactKind::Number,
        codes: &[],
        meaning: "The number of the proposal.",
    },
    Fact {
        key: "protected",
        kind: FactKind::Text,
        codes: &[Code::GitOperationBlocked],
        meaning: "The protected ref.",
    },
    Fact {
        key: "quarantine",
        kind: FactKind::Text,
        codes: &[Code::ApprovalRequired],
        meaning: "The directory that has what was moved out of the worktree.",
    },
    Fact {
        key: "real_path",
        kind: FactKind::Text,
        codes: &[Code::PathThroughSymlink],
        meaning: "The path of the real file.",
    },
    Fact {
        key: "reason",
        kind: FactKind::Text,
        codes: &[Code::BadRequest],
        meaning: "What is wrong with it.",
    },
    Fact {
        key: "recorded",
        kind: FactKind::Texts,
        codes: &[],
        meaning: "Paths that Git's hooks changed and edt recorded.",
    },
    Fact {
        key: "ref",
        kind: FactKind::Text,
        codes: &[
            Code::GitOperationBlocked,
            Code::ProtectedPath,
            Code::SessionExists,
            Code::SessionMoved,
        ],
        meaning: "The full name of the ref.",
    },
    Fact {
        key: "refused_ref",
        kind: FactKind::Text,
        codes: &[],
        meaning: "The ref that has the changes of a refused run.",
    },
    Fact {
        key: "regex",
        kind: FactKind::Text,
        codes: &[Code::BadRequest],
        meaning: "The pattern.",
    },
    Fact {
        key: "rejected",
        kind: FactKind::Number,
        codes: &[Code::TelemetryNotSent],
        meaning: "How many spans the collector rejected.",
    },
    Fact {
        key: "request",
        kind: FactKind::Object,
        codes: &[],
        meaning: "A request to send instead, if it is what is meant.",
    },
    Fact {
        key: "rule",
        kind: FactKind::Text,
        codes: &[Code::ApprovalRequired, Code::CommandDenied, Code::GitOperationBlocked],
        meaning: "The name of the rule.",
    },
    Fact {
        key: "second",
        kind: FactKind::Numbers,
        codes: &[Code::DuplicateCode],
        meaning: "The first and the last line of the second occurrence.",
    },
    Fact {
        key: "sent",
        kind: FactKind::Number,
        codes: &[Code::TelemetryNotSent],
        meaning: "How many spans were sent.",
    },
    Fact {
        key: "similar",
        kind: FactKind::Texts,
        codes: &[Code::SymbolNotFound],
        meaning: "Similar names of definitions.",
    },
    Fact {
        key: "spans",
        kind: FactKind::Number,
        codes: &[Code::TelemetryNotSent],
        meaning: "How many spans wait.",
    },
    Fact {
        key: "start_anchor",
        kind: FactKind::Text,
        codes: &[Code::TextMismatch],
        meaning: "The anchor of the first line where the lines are now.",
    },
    Fact {
        key: "state",
        kind: FactKind::Text,
        codes: &[Code::ProposalRejected],
        meaning: "The state of the proposal.",
    },
    Fact {
        key: "status",
        kind: FactKind::Number,
        codes: &[Code::ModelRefused],
        meaning: "The status of the HTTP answer.",
    },
    Fact {
        key: "steps",
        kind: FactKind::Texts,
        codes: &[Code::ApprovalRequired, Code::CommandDenied],
        meaning: "How the command was read, one step each.",
    },
    Fact {
        key: "store",
        kind: FactKind::Text,
        codes: &[Code::LfsPointer],
        meaning: "The store that has the content.",
    },
    Fact {
        key: "symbols",
        kind: FactKind::Objects,
        codes: &[Code::SymbolAmbiguous],
        meaning: "The definitions: `name`, `kind`, `first_line`, `last_line`.",
    },
    Fact {
        key: "target_moved",
        kind: FactKind::Flag,
        codes: &[],
        meaning: "The branch to land on moved during the landing.",
    },
    Fact {
        key: "tests_after",
        kind: FactKind::Number,
        codes: &[Code::WeakenedTests],
        meaning: "The number of tests after the change.",
    },
    Fact {
        key: "tests_before",
        kind: FactKind::Number,
        codes: &[Code::WeakenedTests],
        meaning: "The number of tests before the change.",
    },
    Fact {
        key: "text",
        kind: FactKind::Text,
        codes: &[Code::HashRequired, Code::LineOutOfRange, Code::TextMismatch],
        meaning: "The present text of the lines; `null` if it is too long or not UTF-8.",
    },
    Fact {
        key: "text_bytes",
        kind: FactKind::Number,
        codes: &[Code::HashRequired, Code::LineOutOfRange, Code::TextMismatch],
        meaning: "The length of that text in bytes, if it is not sent.",
    },
    Fact {
        key: "timeout_s",
        kind: FactKind::Number,
        codes: &[Code::CommandTimeout],
        meaning: "The time limit in seconds.",
    },
    Fact {
        key: "to",
        kind: FactKind::Text,
        codes: &[Code::ProtectedPath],
        meaning: "The new path.",
    },
    Fact {
        key: "total_lines",
        kind: FactKind::Number,
        codes: &[Code::LineOutOfRange],
        meaning: "How many lines the file has.",
    },
    Fact {
        key: "truncated",
        kind: FactKind::Flag,
        codes: &[
            Code::GitOperationBlocked,
            Code::HashRequired,
            Code::LineOutOfRange,
            Code::OldTextAmbiguous,
            Code::TextMismatch,
            Code::ValidatorFailed,
        ],
        meaning: "Whether there is more than the evidence has.",
    },
    Fact {
        key: "turn",
        kind: FactKind::Number,
        codes: &[Code::NothingToUndo],
        meaning: "The number of the turn.",
    },
    Fact {
        key: "unknown",
        kind: FactKind::Numbers,
        codes: &[Code::LeavesOut],
        meaning: "Edits of which the private record is missing.",
    },
    Fact {
        key: "validator",
        kind: FactKind::Text,
        codes: &[Code::ValidatorFailed],
        meaning: "The name of the validator.",
    },
    Fact {
        key: "validators",
        kind: FactKind::Texts,
        codes: &[Code::TrustRequired],
        meaning: "The names of the validators.",
    },
    Fact {
        key: "word",
        kind: FactKind::Text,
        codes: &[],
        meaning: "The word that a user may allow.",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_unique_and_sorted() {
        let keys: Vec<&str> = FACTS.iter().map(|fact| fact.key).collect();
        assert!(keys.is_sorted_by(|one, next| one < next), "{keys:?}");
    }

    #[test]
    fn evidence_of_another_key_type_or_code_is_a_fault() {
        let faults_of = |code, evidence: Value| faults(code, evidence.as_object().unwrap());
        let found = json!({"line": 3, "frame": null});
        assert_eq!(faults_of(Code::SyntaxError, found), [""; 0]);
        assert_eq!(faults_of(Code::SyntaxError, json!({"lime": 3})).len(), 1);
        assert_eq!(faults_of(Code::SyntaxError, json!({"line": "3"})).len(), 1);
        assert_eq!(faults_of(Code::SyntaxError, json!({"turn": 3})).len(), 1);
        assert_eq!(faults_of(Code::ApprovalRequired, json!({"bytes_before": 3})), [""; 0]);
    }
}
