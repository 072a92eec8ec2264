//! The table of warning codes: name and explanation.
//!
//! `edt explain`, `docs/reference/errors.md`, the JSON schema and the tests iterate
//! [`WarningCode::ALL`].

use schemars::JsonSchema;
use serde::Serialize;

use crate::text::for_users;

/// Something that the caller should know although the call succeeded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Warning {
    /// A stable word to match on.
    pub code: WarningCode,
    /// The path that the warning is about.
    pub path: Option<String>,
    /// What was seen and what it means.
    #[serde(serialize_with = "for_users")]
    pub message: String,
}

macro_rules! warning_codes {
    ($($variant:ident $name:literal, $explanation:literal;)*) => {
        /// What a warning is about.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum WarningCode {
            $(#[doc = concat!("`", $name, "`: ", $explanation)] $variant,)*
            /// A guard found something and does not refuse it, or could not check: the guard's
            /// name, or a code in lower case.
            Guard(&'static str),
        }

        impl WarningCode {
            /// Every code but those of guards, by name.
            pub const ALL: &'static [WarningCode] = &[$(WarningCode::$variant,)*];

            /// The stable word that callers match on.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(WarningCode::$variant => $name,)*
                    WarningCode::Guard(word) => word,
                }
            }

            /// What the code means, in one sentence.
            #[must_use]
            pub const fn explanation(self) -> &'static str {
                match self {
                    $(WarningCode::$variant => $explanation,)*
                    WarningCode::Guard(_) => "A guard found something and does not refuse it, or could not check.",
                }
            }
        }
    };
}

warning_codes! {
    AgentInstructions "agent_instructions",
        "A file with instructions for agents changed, such as `AGENTS.md`.";
    ApprovedAlready "approved_already",
        "An equal change was proposed and approved before; the message has the call that applies it.";
    ApprovedChanged "approved_changed",
        "Files that an approval covers changed while the approved program ran.";
    BackedUp "backed_up",
        "`edt undo` cannot restore a path; the message names where its earlier content is.";
    BackupsExist "backups_exist",
        "Copies of files as they were before a program ran wait for the user to remove them.";
    CallNotRecorded "call_not_recorded",
        "A tool call of an agent is not recorded; what it changed counts as the user's.";
    CommentsNotRead "comments_not_read",
        "The user's comments could not be read; the message says why.";
    ContextDiffers "context_differs",
        "A line of context in a patch differs from the file; the change was made nevertheless.";
    DirectoryWithheld "directory_withheld",
        "A program failed, and its output names a directory that the sandbox withholds.";
    EditsReset "edits_reset",
        "A `git reset` or `git stash` removed edits from the session's branch; the message restores them.";
    FinalNewline "final_newline",
        "The file ended with a newline, and now it does not.";
    FoldedCommits "folded_commits",
        "Commits of the user could not stay separate; the landed commit includes and names them.";
    HardLinked "hard_linked",
        "A program wrote a file that has further names outside of the worktree.";
    HeadDetached "head_detached",
        "HEAD is detached, because its branch cannot be checked out here.";
    HeadNotSwitched "head_not_switched",
        "HEAD stays on the session's branch, because links or submodules differ on the other one.";
    HookNotRun "hook_not_run",
        "The landing is complete, and Git's post-commit hook did not run or failed in its sandbox.";
    InterruptedRun "interrupted_run",
        "An earlier `edt run` ended without a record of what changed meanwhile.";
    KeysLeftOut "keys_left_out",
        "The request has keys that edt does not use.";
    LeftOut "left_out",
        "A path was not recorded; the message says why.";
    LineEndings "line_endings",
        "The file now mixes LF and CR LF line ends.";
    LineNotChecked "line_not_checked",
        "Text was inserted at a line number that nothing confirmed.";
    LockLeft "lock_left",
        "A lock file of Git, perhaps of a killed program, prevents edits.";
    MessageUnused "message_unused",
        "Every landed commit kept its own message, so that the given one was not used.";
    MoreChanged "more_changed",
        "More changed in a file than a tool call says; the rest is uncommitted.";
    NameRefused "name_refused",
        "The sandbox did not let a program make a name that other programs execute.";
    NeedsUser "needs_user",
        "The user did what needs user approval; an agent would have been refused.";
    NotAllListed "not_all_listed",
        "The answer lists only the first files or results; the commit has all.";
    NotExamined "not_examined",
        "The guards did not examine a file, or some files, because there is too much to read.";
    NotRestorable "not_restorable",
        "`edt undo` cannot restore a path that a program changed or removed.";
    OpenComments "open_comments",
        "Comments of the user on what landed are still open.";
    OutputNotStored "output_not_stored",
        "Not all output of a program was stored; the part in the answer is correct.";
    PrivateRecordMissing "private_record_missing",
        "The record of private bytes of an edit is missing; such files stay as they are.";
    ProcessesLeft "processes_left",
        "Processes that a program started could not be killed.";
    ProposalNotClosed "proposal_not_closed",
        "A change was made, but its proposal still counts as approved.";
    RecordingIncomplete "recording_incomplete",
        "Not everything that a program did was recorded; a landing waits for the user.";
    ResolutionUncommitted "resolution_uncommitted",
        "Conflicts are resolved on disk; the user commits the merge.";
    RunStopped "run_stopped",
        "edt was asked to end while the program ran, and ended it.";
    SandboxDenied "sandbox_denied",
        "The sandbox denied a program a write or a socket.";
    SessionBranch "session_branch",
        "The user commits to the branch of a session; the commit lands with the session.";
    SessionLeft "session_left",
        "The worktree left a session, which stays open; the message has the call that returns.";
    StaysPrivate "stays_private",
        "Files that Git ignored stay in no commit until the user adds them.";
    Superseded "superseded",
        "An earlier proposal was closed, because a new one changes all of its paths.";
    Unfinished "unfinished",
        "The edit is recorded, and a later step failed; the next call completes it.";
    UserApproved "user_approved",
        "The user approved a proposal; the message has the next call.";
    UserRejected "user_rejected",
        "The user rejected a proposal; the message has the reason.";
    UserVersionSaved "user_version_saved",
        "The user's version of a file is kept as a commit that the message names.";
    VariablesWithheld "variables_withheld",
        "A program failed, and its output names variables that it did not get.";
    WrittenMeanwhile "written_meanwhile",
        "Somebody else wrote a file during the call; the message says what became of their text.";
}

impl WarningCode {
    /// The code of that name in [`WarningCode::ALL`].
    #[must_use]
    pub fn from_name(name: &str) -> Option<WarningCode> {
        WarningCode::ALL.iter().copied().find(|code| code.name() == name)
    }

    /// The code of a warning that a guard gives with `word`.
    #[must_use]
    pub fn of_guard(word: &'static str) -> WarningCode {
        WarningCode::from_name(word).unwrap_or(WarningCode::Guard(word))
    }

    /// The table as Markdown: a part of `docs/reference/errors.md`.
    #[must_use]
    pub fn table() -> String {
        use std::fmt::Write as _;
        let mut out = String::from(
            "## Warnings\n\nA warning never changes the status. A guard that only warns, or that \
             could not check, gives its own name or a code in lower case (`size_reduction`, \
             `trust_required`). All others:\n\n| warning | meaning |\n| --- | --- |\n",
        );
        for code in WarningCode::ALL {
            let _ = writeln!(out, "| `{}` | {} |", code.name(), code.explanation());
        }
        out
    }
}

impl Serialize for WarningCode {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl JsonSchema for WarningCode {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "WarningCode".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let names: Vec<&str> = WarningCode::ALL.iter().map(|code| code.name()).collect();
        schemars::json_schema!({
            "anyOf": [
                { "type": "string", "enum": names },
                { "type": "string", "description": "The name of a guard, or a code in lower case." }
            ]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Code;

    #[test]
    fn names_are_unique_sorted_and_no_code() {
        let names: Vec<&str> = WarningCode::ALL.iter().map(|code| code.name()).collect();
        assert!(names.is_sorted_by(|one, next| one < next), "{names:?}");
        for name in names {
            assert_eq!(Code::from_name(&name.to_ascii_uppercase()), None, "{name}");
        }
    }

    #[test]
    fn an_explanation_is_one_sentence() {
        for code in WarningCode::ALL {
            let text = code.explanation();
            assert!(text.ends_with('.') && !text.contains(". "), "{}", code.name());
            assert!(text.split(' ').count() <= 25, "{}", code.name());
        }
    }

    #[test]
    fn a_guard_gives_a_listed_code_or_its_own_word() {
        assert_eq!(WarningCode::of_guard("agent_instructions"), WarningCode::AgentInstructions);
        assert_eq!(WarningCode::of_guard("syntax"), WarningCode::Guard("syntax"));
    }
}
