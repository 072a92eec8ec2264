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

macro_rules! facts {
    ($($key:literal $kind:ident [$($code:ident)*] $meaning:literal;)*) => {
        /// Every key of `evidence`, by name.
        pub const FACTS: &[Fact] = &[$(Fact {
            key: $key,
            kind: FactKind::$kind,
            codes: &[$(Code::$code),*],
            meaning: $meaning,
        },)*];
    };
}

facts! {
    "after_earlier_parts" Flag [] "Line numbers count after the earlier edits of the request.";
    "against" Text [SizeReduction MassDeletion]
        "What the loss is measured against, such as `HEAD`.";
    "already_applied" Flag [InvalidPatch OldTextNotFound]
        "Whether the new lines are in the file already.";
    "anchor" Text [InvalidPatch OldTextAmbiguous]
        "The anchor of the hunk that occurs several times.";
    "anchors" Texts [TextMismatch] "The anchors of the present lines.";
    "bracket" Object [SyntaxError] "The bracket without a partner: `text`, `line`, `column`.";
    "byte" Number [BinaryContent Encoding]
        "The position of the first such byte in its line, from 1.";
    "bytes" Number [FileTooLarge BuildOutput] "The size in bytes.";
    "bytes_after" Number [LostContent SizeReduction] "The size after the change, in bytes.";
    "bytes_before" Number [LostContent SizeReduction] "The size before the change, in bytes.";
    "changed" Texts [BadRequest] "The lines that the edit changed, as flags of `edt revert`.";
    "code" Text [ApprovalRequired] "The code that the refusal would have without the approval.";
    "code_point" Text [InvisibleCharacters LookalikeCharacters]
        "The character, such as `U+200B`.";
    "column" Number [SyntaxError] "The column in characters, from 1.";
    "command" Texts [ValidatorFailed] "The command line of the validator.";
    "commit" Text [ApprovalRequired BadRequest MergeConflict NothingToUndo]
        "The commit, as a hex object id.";
    "commits" Texts [ApprovalRequired] "The commits, as hex object ids.";
    "context" Text [LineOutOfRange TextMismatch HashRequired]
        "The numbered lines around the place.";
    "corrected_edit" Object [] "An edit to send instead, if it is what is meant.";
    "correction" Text [] "A patch to send instead, if it is what is meant.";
    "count" Number [OldTextAmbiguous InvisibleCharacters]
        "How often it occurs; `null` if very often.";
    "current" Text [GitOperationBlocked] "The commit at which the ref is.";
    "detail" Text [ProposalRejected] "The user's reason.";
    "differs_at" Number [TextMismatch] "The first line that differs, from 1.";
    "edit" Number []
        "The number of the edit: in the request, or in the session for commands that undo.";
    "edit_count" Number [NothingToUndo] "How many edits the file has.";
    "edits" Numbers [EditsOverlap LandsRemovedLines RevertConflict]
        "The numbers of the edits in the session.";
    "end_anchor" Text [TextMismatch] "The anchor of the last line where the lines are now.";
    "errno" Number [IoError] "The number of the operating system's error.";
    "error" Object [SyntaxError] "The parser's error: `line`, `column`.";
    "exists" Text [FileExists PathInvalid] "The path that is there under another spelling.";
    "exit_status" Number [ValidatorFailed] "The exit status; `null` if a signal ended it.";
    "expected_hash" Text [HashMismatch] "The blob id that the request names.";
    "failures" Objects [InvalidPatchLimitExceeded] "Each failure: `code`, `edit`, `message`.";
    "file" Text [BadTask InvalidPatchLimitExceeded]
        "The complete numbered text of the file, or the file of a task.";
    "files" Texts [LandsRemovedLines LeavesOut NothingToLand TrustRequired]
        "The paths of the files.";
    "files_lost" Number [MassDeletion] "How many files would go.";
    "filter" Text [CommandTimeout FilterFailed ProgramNotFound TrustRequired]
        "The name of the filter driver.";
    "first" Numbers [DuplicateCode] "The first and the last line of the first occurrence.";
    "first_line" Number [LineOutOfRange] "The first line that was asked for.";
    "found" Texts [BadRequest] "The names that were found.";
    "frame" Text [SyntaxError] "The numbered lines around the error.";
    "function" Text [HollowBody] "The name of the function.";
    "hash" Text []
        "The file's present blob id: send it as `expected_hash`; `null` if there is no file.";
    "holder" Text [SessionBusy] "The process id of the holder.";
    "holder_command" Text [SessionBusy] "The command of the holder.";
    "hook" Text [GitOperationBlocked] "The name of Git's hook.";
    "hooks_path" Text [UnsupportedRepository] "The directory of the hooks.";
    "hunk" Number [InvalidPatch OldTextAmbiguous] "The number of the hunk in its file, from 1.";
    "into" Text [MergeConflict] "The branch to land on.";
    "key" Text [] "The key, of the request or of edt.toml.";
    "level" Text [SandboxUnavailable] "The level of the sandbox.";
    "limit" Number [FileTooLarge] "The limit in bytes.";
    "line" Number [BinaryContent ChatArtifact ConflictMarkers ElidedCode Encoding HollowBody
        InvisibleCharacters LookalikeCharacters Secret SyntaxError]
        "The line in the new text, from 1.";
    "line_ranges" Texts [UnsavedChanges] "The lines that overlap, such as `3-5`.";
    "lines" Numbers [InvalidPatch OldTextAmbiguous Secret SymbolAmbiguous SymbolUnclear]
        "The lines, from 1.";
    "lines_after" Number [SizeReduction] "The number of lines after the change.";
    "lines_before" Number [SizeReduction] "The number of lines before the change.";
    "lines_lost" Number [ElidedCode HollowBody MassDeletion] "How many lines would go.";
    "max_edits" Number [EditLimitReached] "The most edits of a session.";
    "max_s" Number [BadRequest] "The longest time limit, in seconds.";
    "mode" Text [ProtectedPath] "The file's mode bits, in octal.";
    "moved_from" Text [ProtectedPath] "The private file that a program moved there.";
    "near" Texts [] "Tracked files that may be meant.";
    "nearest" Object [InvalidPatch OldTextNotFound]
        "The most similar place: `line`, `lines`, `equal_lines`, `differs_at`, `sent`, `found`, \
         `white_space_only`, `context`.";
    "new" Text [GitOperationBlocked] "The commit to which the ref would move.";
    "object" Text [FileTooLarge ObjectMissing] "The object's id.";
    "on_disk" Text [] "The file's name on disk, where the request renames it.";
    "operation" Text [RepositoryBusy] "The operation of Git that is in progress.";
    "origin" Text [ApprovalRequired CommandDenied ProposalRejected] "Where the rule is from.";
    "original" Numbers [DuplicateCode]
        "The first and the last line of the original in the present file.";
    "output" Text [ValidatorFailed] "The end of the output.";
    "patch_line" Number [] "The line in the patch, from 1.";
    "paths" Texts [ApprovalRequired EditsOverlap GitOperationBlocked HooksReadDisk MergeConflict
        ProposalStale RevertConflict UnsavedChanges] "The paths.";
    "proposal" Number [] "The number of the proposal.";
    "protected" Text [GitOperationBlocked] "The protected ref.";
    "quarantine" Text [ApprovalRequired]
        "The directory that has what was moved out of the worktree.";
    "real_path" Text [PathThroughSymlink] "The path of the real file.";
    "reason" Text [BadRequest] "What is wrong with it.";
    "recorded" Texts [] "Paths that Git's hooks changed and edt recorded.";
    "ref" Text [GitOperationBlocked ProtectedPath SessionExists SessionMoved]
        "The full name of the ref.";
    "refused_ref" Text [] "The ref that has the changes of a refused run.";
    "regex" Text [BadRequest] "The pattern.";
    "rejected" Number [TelemetryNotSent] "How many spans the collector rejected.";
    "request" Object [] "A request to send instead, if it is what is meant.";
    "rule" Text [ApprovalRequired CommandDenied ProposalRejected GitOperationBlocked]
        "The name of the rule.";
    "second" Numbers [DuplicateCode] "The first and the last line of the second occurrence.";
    "sent" Number [TelemetryNotSent] "How many spans were sent.";
    "similar" Texts [SymbolNotFound] "Similar names of definitions.";
    "spans" Number [TelemetryNotSent] "How many spans wait.";
    "start_anchor" Text [TextMismatch] "The anchor of the first line where the lines are now.";
    "state" Text [ProposalRejected] "The state of the proposal.";
    "status" Number [ModelRefused] "The status of the HTTP answer.";
    "steps" Texts [ApprovalRequired CommandDenied ProposalRejected]
        "How the command was read, one step each.";
    "store" Text [LfsPointer] "The store that has the content.";
    "symbols" Objects [SymbolAmbiguous]
        "The definitions: `name`, `kind`, `first_line`, `last_line`.";
    "target_moved" Flag [] "The branch to land on moved during the landing.";
    "tests_after" Number [WeakenedTests] "The number of tests after the change.";
    "tests_before" Number [WeakenedTests] "The number of tests before the change.";
    "text" Text [HashRequired LineOutOfRange TextMismatch]
        "The present text of the lines; `null` if it is too long or not UTF-8.";
    "text_bytes" Number [HashRequired LineOutOfRange TextMismatch]
        "The length of that text in bytes, if it is not sent.";
    "timeout_s" Number [CommandTimeout] "The time limit in seconds.";
    "to" Text [ProtectedPath] "The new path.";
    "total_lines" Number [LineOutOfRange] "How many lines the file has.";
    "truncated" Flag [GitOperationBlocked HashRequired LineOutOfRange OldTextAmbiguous
        TextMismatch ValidatorFailed] "Whether there is more than the evidence has.";
    "turn" Number [NothingToUndo] "The number of the turn.";
    "unknown" Numbers [LeavesOut] "Edits of which the private record is missing.";
    "validator" Text [ValidatorFailed] "The name of the validator.";
    "validators" Texts [TrustRequired] "The names of the validators.";
    "word" Text [] "The word that a user may allow.";
}

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
