//! The one table of codes: name, status, exit status, override and story.
//!
//! A code is a promise: scripts and agents match on it, so it is never reused for another meaning. `edt explain`,
//! `docs/errors.md`, the JSON schema and the tests all iterate [`Code::ALL`].

use super::Status;

macro_rules! codes {
    ($($variant:ident $name:literal $status:ident $allow:expr, $story:literal;)*) => {
        /// Why edt did not do what it was asked.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code { $(#[doc = concat!("`", $name, "`")] $variant,)* }

        impl Code {
            /// Every code, most important group first: the order in which several findings are reported.
            pub const ALL: &'static [Code] = &[$(Code::$variant,)*];

            /// The stable name that callers match on.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Code::$variant => $name,)* }
            }

            /// What the code means to the caller; decides the exit status.
            #[must_use]
            pub const fn status(self) -> Status {
                match self { $(Code::$variant => Status::$status,)* }
            }

            /// The word that overrides it in `allow`, where an override exists.
            #[must_use]
            pub const fn allow(self) -> Option<&'static str> {
                match self { $(Code::$variant => $allow,)* }
            }

            /// What it means and what to do, in two or three sentences.
            #[must_use]
            pub const fn story(self) -> &'static str {
                match self { $(Code::$variant => $story,)* }
            }
        }
    };
}

codes! {
    Internal "INTERNAL" Bug None,
        "A bug in edt. Nothing was decided; the next call settles whatever was begun. Report the message with the command that caused it.";
    BadRequest "BAD_REQUEST" Invalid None,
        "The call itself is malformed: a wrong flag, broken JSON, an unknown or missing key. The message names the place; correct the call and send it again.";
    BadTask "BAD_TASK" Invalid None,
        "A task or a suite of `edt bench` cannot be read, or says something that it may not. The message names the file and the key; `edt bench check SUITE` shows what each task comes to.";
    NotARepository "NOT_A_REPOSITORY" Environment None,
        "No Git repository was found from the current folder upwards. Run edt inside a worktree, pass -C DIR, or create one with `git init`.";
    UnsupportedRepository "UNSUPPORTED_REPOSITORY" Environment None,
        "The repository, or this path in it, uses something edt cannot change without risk: it is bare, uses an unknown extension or reftable, belongs to another user, or its bytes on disk are not those that Git would check out again. Nothing was touched.";
    GitDirReadOnly "GIT_DIR_READ_ONLY" Environment None,
        "The Git folder cannot be written, usually because a sandbox protects it. Call edt from outside that sandbox (its MCP server or a hook), or make the folder writable.";
    IoError "IO_ERROR" Environment None,
        "The operating system refused a read or a write: a full disk, a missing permission, a failing device. The message names the operation and the path; no edit was recorded.";
    ObjectMissing "OBJECT_MISSING" Environment None,
        "An object that the repository names is missing or damaged. edt never treats a missing object as an absent file; nothing was touched. `git fsck` tells more.";
    TelemetryNotSent "TELEMETRY_NOT_SENT" Environment None,
        "Spans wait that could not be sent: nobody asked for telemetry, the collector does not answer, or it refused them. The message says which. What it may take later stays spooled; no edit depends on it. `edt telemetry status` tells more.";
    ModelRefused "MODEL_REFUSED" Environment None,
        "The server of a model that `edt bench` was to ask refused: no or a wrong key (401, 403), or a wrong address or model (404). The message has its answer, never the key. Correct the key in its variable, `--base-url` or the model, and repeat the call with `--resume`.";
    ProgramNotFound "PROGRAM_NOT_FOUND" Environment None,
        "A program that this call needs, or that `edt run` was to run, is not there, not on PATH, or cannot be executed. The message names it. A program of the worktree is named with its path, and its arguments are words of their own.";
    CommandTimeout "COMMAND_TIMEOUT" Environment None,
        "A program did not end within its time limit and was ended, with all that it had started. The message names it and what gives it more time. What a program of `edt run` had changed by then is recorded; where a call needed the program itself, nothing was changed.";
    SandboxUnavailable "SANDBOX_UNAVAILABLE" Environment None,
        "The sandbox level that was asked for, or that policy demands, cannot be had on this system. Nothing was run: a level is never silently replaced by less. The message says what is missing; a person may install it, or allow a lower level in their own edt.toml.";
    FilterFailed "FILTER_FAILED" Environment None,
        "A filter driver (`filter.<name>` in the Git configuration) that the file's attributes name failed. The message has its exit status and the end of what it said. Nothing was changed; let a person mend the filter.";
    RepositoryBusy "REPOSITORY_BUSY" Conflict None,
        "A merge, rebase, cherry-pick, revert or bisect is under way, or another program holds the index. Finish or abort it (`git status` tells how), then repeat the call.";
    SessionBusy "SESSION_BUSY" Conflict None,
        "Another edt process holds this worktree and did not finish within the time limit. The message names it; repeat the call.";
    SessionMoved "SESSION_MOVED" Conflict None,
        "The session's branch, or HEAD, moved between reading and writing; or files that an undo beside HEAD would write belong to another branch now. Nothing was changed. Repeat the call, or do what the message says.";
    UnsavedChanges "UNSAVED_CHANGES" Conflict None,
        "Files that the operation must write hold changes that are recorded nowhere. The answer names them. Record them (`edt checkpoint`, `git commit`, `git stash`), then repeat the call.";
    MergeConflict "MERGE_CONFLICT" Conflict None,
        "The base branch moved, and what it changed does not go together with the session. The answer lists the paths; nothing was changed. Merge that branch into the session's, settle the conflicts, and land again.";
    ProposalStale "PROPOSAL_STALE" Conflict None,
        "What a proposal was made on has changed since, and it cannot be carried over without a guess: the same lines changed, or the carried-over change is not what a person approved. Nothing was changed. Read the files again and send the proposal anew with `edt propose`.";
    HashMismatch "HASH_MISMATCH" Conflict None,
        "The file is not the one the edit was made for: its blob id differs from `expected_hash`, or it changed on disk during the call. Read it again with `edt read` and send the edit for what stands there now.";
    PathInvalid "PATH_INVALID" Refused None,
        "The path is not one that Git can hold safely on every system: empty, with `.` or empty components, control characters, a reserved name, `:` or `\\`, a trailing dot or space. Use a plain path relative to the worktree's root, with `/`.";
    PathOutsideRepo "PATH_OUTSIDE_REPO" Refused None,
        "The path is absolute, leaves the worktree (`..`), or lies in a nested repository or submodule with a history of its own. Name a path of this worktree, or run edt there with -C.";
    PathInGitDir "PATH_IN_GIT_DIR" Refused None,
        "The path, in one of the spellings that some file system takes for it, is inside a Git folder. edt never writes there.";
    PathThroughSymlink "PATH_THROUGH_SYMLINK" Refused None,
        "The path is a symbolic link or goes through one. Edit the real file by its own path.";
    NotAFile "NOT_A_FILE" Refused None,
        "The path, or a parent of it, is not what an edit needs: a folder where a file must be, a file where a folder must be, a FIFO, a device. Name a regular file.";
    FileTooLarge "FILE_TOO_LARGE" Refused None,
        "The file or the new content is larger than edt edits (100 MiB, or what `[limits] max_file_bytes` allows), or what was sent is longer than edt reads. The message has the figures. Change a large file outside edt.";
    ProtectedPath "PROTECTED_PATH" Refused None,
        "The path is protected: read-only on disk, or listed under [[protect]] in edt.toml of the session's base commit. A person must make this change.";
    FileExists "FILE_EXISTS" Refused None,
        "`create` and `rename` never overwrite. To change the file use mode \"edit\"; to replace all of it use \"overwrite\".";
    FileNotFound "FILE_NOT_FOUND" Refused None,
        "There is no such file. Check the path with `edt status` or `git ls-files`; use mode \"create\" for a new file.";
    OldTextRequired "OLD_TEXT_REQUIRED" Refused None,
        "Mode \"edit\" replaces one exact piece of text and needs it in `old_text`. To add to the end use \"append\"; to replace the whole file use \"overwrite\".";
    InvalidPatchLimitExceeded "INVALID_PATCH_LIMIT_EXCEEDED" Refused None,
        "The second patch in a row for one file that does not fit it (INVALID_PATCH, OLD_TEXT_NOT_FOUND). Do not send a patch for this file again now: read it and send its whole new content with mode \"overwrite\". The answer has the text around the nearest place and the file's hash. Other files are not held up, and the count begins anew.";
    InvalidPatch "INVALID_PATCH" Refused None,
        "The patch cannot be read, or what it says stands in the file does not. The answer names the part, the nearest place and the first difference, with the file's hash; send the patch for what stands there. A second failure in a row on the file answers INVALID_PATCH_LIMIT_EXCEEDED.";
    OldTextNotFound "OLD_TEXT_NOT_FOUND" Refused None,
        "`old_text` does not stand in the file exactly as sent. The answer shows the nearest place and the first difference; send the text as it stands.";
    OldTextAmbiguous "OLD_TEXT_AMBIGUOUS" Refused None,
        "`old_text` stands in the file more than once, so edt does not guess which is meant. Add lines around it until it is unique, or set replace_all to change every place.";
    HashRequired "HASH_REQUIRED" Refused None,
        "The edit would remove lines by their numbers without saying what stands there. The answer has those lines and the file's hash: send the same edit again with `expected_text` or `expected_hash` if they are the ones that are meant.";
    TextMismatch "TEXT_MISMATCH" Refused None,
        "Other lines stand at those numbers than `expected_text` says. The answer shows them and the first difference; send the numbers and the text as they stand.";
    LineOutOfRange "LINE_OUT_OF_RANGE" Refused None,
        "The request names lines that the file does not have. The message says how many it has; read it (`edt read`) and name lines that are there.";
    SizeReduction "SIZE_REDUCTION" Refused Some("size_reduction"),
        "The edit would shrink the file far below what HEAD or the session's base holds: the mark of a file overwritten with a fragment. Use mode \"edit\" or \"append\"; if it really should shrink, allow size_reduction.";
    MassDeletion "MASS_DELETION" Refused Some("mass_deletion"),
        "The transaction would remove many files, or many more lines than it adds, at once. Send the removals apart, in steps a person can review, or allow mass_deletion.";
    SyntaxError "SYNTAX_ERROR" Refused Some("syntax_error"),
        "The edit would bring a syntax error that was not there. The answer names the place in the would-be text and the bracket that lost its partner; correct the content, and send edits that only make sense together in one request. Or allow syntax_error.";
    DuplicateCode "DUPLICATE_CODE" Refused Some("duplicate_code"),
        "The edit would put the same statement, lines or definition twice into the file. The answer names both places; send only what is new, or allow duplicate_code.";
    ElidedCode "ELIDED_CODE" Refused Some("elided_code"),
        "The content holds a placeholder such as \"... existing code ...\" where code would be deleted. What content leaves out is gone: send a smaller edit or the whole text, or allow elided_code.";
    ConflictMarkers "CONFLICT_MARKERS" Refused Some("conflict_markers"),
        "The edit would leave a mark of a merge, a SEARCH/REPLACE block or a patch in the file. Send the text without the marks, or allow conflict_markers.";
    ChatArtifact "CHAT_ARTIFACT" Refused Some("chat_artifact"),
        "The edit would leave a Markdown fence, line numbers, `+` signs or escapes of a chat in the file. Send the text exactly as it is to stand there, or allow chat_artifact.";
    BinaryContent "BINARY_CONTENT" Refused Some("binary_content"),
        "The edit would put NUL bytes into a text file. Send text, or allow binary_content.";
    Encoding "ENCODING" Refused Some("encoding"),
        "The edit would turn a file that is valid UTF-8 (or a new one) into one that is not. Send UTF-8, or allow encoding.";
    ValidatorFailed "VALIDATOR_FAILED" Refused Some("validator_failed"),
        "A program that edt.toml names rejects the new text, and did not reject the text before. The answer has its exit status and the end of its output; correct the content, or allow validator_failed.";
    GitOperationBlocked "GIT_OPERATION_BLOCKED" Refused None,
        "A Git hook of edt's refused to delete or rewind a protected branch or a session's ref, or to push shadow branches. The message names the ref and both commits. Take edits back with `edt undo` or `git revert`; a person may repeat the command in a terminal of their own. Or one of Git's commit hooks refused a landing: the message has its output.";
    ProposalNotFound "PROPOSAL_NOT_FOUND" Refused None,
        "There is no proposal of that number in this repository. `edt proposals --all` lists them.";
    EpisodeNotFound "EPISODE_NOT_FOUND" Refused None,
        "The memory of this repository holds no episode of that id, or no snapshot of that name. `edt memory list` and `edt memory snapshot` show what there is.";
    ProposalRejected "PROPOSAL_REJECTED" Refused None,
        "The proposal is closed: a person rejected it, a newer one took its place, or it has landed already. The message has the person's words. Send a new one that heeds them.";
    CommandDenied "COMMAND_DENIED" Refused None,
        "A rule says that no agent runs this command, or one inside it. Nothing was run. The message has the rule, its reason and what to do instead; `edt policy check -- PROGRAM ARG...` shows how the command was read, `edt policy explain RULE` the rule. Only a person's own edt.toml may loosen it.";
    ApprovalRequired "APPROVAL_REQUIRED" Held None,
        "Only a person may let this pass: an override that policy keeps for them (override = \"approval\"), a path of [[protect]], a command that a rule asks about, or a landing that holds such a path. Nothing was changed. It waits as the proposal that the answer names; the person types `edt approve N` in a terminal. Go on with other work until an answer says that it was approved.";
    TrustRequired "TRUST_REQUIRED" Held None,
        "edt.toml names programs to run, a file goes through a filter that the repository's own Git configuration defines, or Git would run files of the worktree as hooks of a landing, and no person has trusted that as it is now; or `edt trust` was called without a terminal. A person runs `edt trust` in a terminal, which shows the commands first. A changed edt.toml, filter or hook needs new trust.";
    BenchMismatch "BENCH_MISMATCH" Refused None,
        "Results of `edt bench` do not belong together: another suite, seed, version of edt, agent or setting, or the same part with another result. The message names the difference. Write each run to a folder of its own, and merge only the shards of one run.";
    SessionExists "SESSION_EXISTS" Refused None,
        "A session of that name exists, or its branch would collide with another. Choose another name, or continue it with `git switch edt/<name>`.";
    NoSession "NO_SESSION" Refused None,
        "This command needs a session and there is none here. `edt begin` starts one; `git switch edt/<name>` goes back to an earlier one.";
    NothingToLand "NOTHING_TO_LAND" Refused None,
        "The branch to land on has everything that the session changed. `edt diff` shows the session's changes.";
    NothingToUndo "NOTHING_TO_UNDO" Refused None,
        "The session has no edit of edt's own left to take back on top of its branch. `edt log` lists what there is.";
    NothingToRedo "NOTHING_TO_REDO" Refused None,
        "Nothing was undone here, or new edits came after the undo. Undone commits stay at refs/edt/<name>/undone/<n>.";
}

impl Code {
    /// The code of that name; `None` for a name edt does not know.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Code> {
        Code::ALL.iter().copied().find(|code| code.name() == name)
    }

    /// The table as Markdown: the content of `docs/errors.md`.
    #[must_use]
    pub fn table() -> String {
        use std::fmt::Write as _;
        let mut out = String::from(
            "# Codes\n\nGenerated by `edt explain --all`; a test keeps it true. `allow` is the word that overrides the refusal.\n\n\
             | code | status | exit | allow | meaning and what to do |\n| --- | --- | --- | --- | --- |\n",
        );
        for code in Code::ALL {
            let status = code.status();
            let _ = writeln!(
                out,
                "| `{}` | {} | {} | {} | {} |",
                code.name(),
                status.name(),
                status.exit(),
                code.allow().map_or_else(String::new, |word| format!("`{word}`")),
                code.story().replace('|', "\\|"),
            );
        }
        out
    }
}

impl serde::Serialize for Code {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl schemars::JsonSchema for Code {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Code".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let names: Vec<&str> = Code::ALL.iter().map(|code| code.name()).collect();
        schemars::json_schema!({ "type": "string", "enum": names })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_found_again() {
        for code in Code::ALL {
            assert_eq!(Code::from_name(code.name()), Some(*code));
        }
    }

    #[test]
    fn only_a_refusal_can_be_overridden() {
        for code in Code::ALL {
            assert!(code.allow().is_none() || code.status() == Status::Refused, "{}", code.name());
        }
    }
}
