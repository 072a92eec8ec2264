//! The table of codes: name, status, override and explanation.
//!
//! Scripts and agents match on codes, so a code never changes its meaning. `edt explain`,
//! `docs/reference/errors.md`, the JSON schema and the tests iterate [`Code::ALL`].

use super::Status;

macro_rules! codes {
    ($($variant:ident $name:literal $status:ident $allow:expr, $explanation:literal;)*) => {
        /// Why edt refused a request or could not complete it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code { $(#[doc = concat!("`", $name, "`: ", $explanation)] $variant,)* }

        impl Code {
            /// Every code, the most important first. Refusal are reported in this order.
            pub const ALL: &'static [Code] = &[$(Code::$variant,)*];

            /// The stable name that callers match on.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Code::$variant => $name,)* }
            }

            /// The kind of failure, which decides the exit status.
            #[must_use]
            pub const fn status(self) -> Status {
                match self { $(Code::$variant => Status::$status,)* }
            }

            /// The word that overrides the refusal in `allow`; `None` if no override exists.
            #[must_use]
            pub const fn allow(self) -> Option<&'static str> {
                match self { $(Code::$variant => $allow,)* }
            }

            /// What the code means and what to do, in two or three sentences.
            #[must_use]
            pub const fn explanation(self) -> &'static str {
                match self { $(Code::$variant => $explanation,)* }
            }
        }
    };
}

codes! {
    Internal "INTERNAL" Bug None,
        "A bug in edt. Nothing was decided; the next call recovers whatever was begun. Report the \
         message with the command that caused it.";
    BadRequest "BAD_REQUEST" Invalid None,
        "The call itself is malformed: a wrong flag, invalid JSON, an unknown or missing key. The \
         message names the position. Correct the call and send it again.";
    BadTask "BAD_TASK" Invalid None,
        "A task or a suite of `edt-bench` cannot be read, or has an invalid value. The message \
         names the file and the key. `edt-bench check SUITE` shows how each task is read.";
    NotARepository "NOT_A_REPOSITORY" Environment None,
        "No Git repository was found from the current directory upwards. Run edt inside a \
         worktree, pass -C DIR, or create one with `git init`. If a `.git` file leads to a Git \
         directory that is not there, the answer names it.";
    UnsupportedRepository "UNSUPPORTED_REPOSITORY" Environment None,
        "The repository, or this path in it, uses something that edt cannot change safely: it is \
         bare, uses an unknown extension, belongs to another user, has trees of millions of \
         paths, or has bytes on disk that Git would not check out again. Nothing was changed.";
    GitDirReadOnly "GIT_DIR_READ_ONLY" Environment None,
        "The Git directory is not writable, usually because a sandbox protects it. Call edt from \
         outside that sandbox (its MCP server or a hook), or make the directory writable.";
    IoError "IO_ERROR" Environment None,
        "The operating system refused a read or a write: a full disk, a missing permission, a \
         failing device. The message names the operation and the path. No edit was recorded.";
    ObjectMissing "OBJECT_MISSING" Environment None,
        "An object that the repository refers to is missing or damaged. edt never treats a missing \
         object as an absent file. Nothing was changed. `git fsck` shows details. For an amended \
         edit whose original trees were pruned, the message says what to do.";
    TelemetryNotSent "TELEMETRY_NOT_SENT" Environment None,
        "Spans could not be sent: this build has no telemetry, it is not enabled, the collector \
         does not answer, or it refused them. The message says which. Spans that may be accepted \
         later wait in a file; no edit depends on them. `edt telemetry status` shows details.";
    ModelRefused "MODEL_REFUSED" Environment None,
        "The model server that `edt-bench` called refused the request: no key or a wrong one (401, \
         403), or a wrong address or model (404). The message has the server's answer, never the \
         key. Correct the key in its variable, `--base-url` or the model, and repeat the call with \
         `--resume`.";
    ProgramNotFound "PROGRAM_NOT_FOUND" Environment None,
        "A program that this call needs, or that `edt run` was to run, does not exist, is not on \
         PATH, or is not executable. The message names it. Name a program of the worktree with its \
         path, and pass its arguments as separate words.";
    CommandTimeout "COMMAND_TIMEOUT" Environment None,
        "A program did not end within its time limit and was killed with everything that it had \
         started. The message names the program and how to give it more time. Changes that a \
         program of `edt run` had made are recorded. If the call itself needed the program, \
         nothing was changed.";
    SandboxUnavailable "SANDBOX_UNAVAILABLE" Environment None,
        "The sandbox level that the call or the policy requires is unavailable on this system. \
         Nothing was run: edt never replaces a level by a lower one. The message says what is \
         missing. The user can install it, or allow a lower level in their own edt.toml.";
    FilterFailed "FILTER_FAILED" Environment None,
        "A filter driver (`filter.<name>` in the Git configuration) that the file's attributes \
         name failed. The message has its exit status and the end of its output. Nothing was \
         changed. Ask the user to repair the filter.";
    RepositoryBusy "REPOSITORY_BUSY" Conflict None,
        "A merge, rebase, cherry-pick, revert or bisect is in progress, or another program holds \
         the index. Finish or abort it (`git status` shows how), then repeat the call.";
    SessionBusy "SESSION_BUSY" Conflict None,
        "Another edt process holds this worktree and did not finish within the time limit. The \
         message names it. Repeat the call.";
    SessionMoved "SESSION_MOVED" Conflict None,
        "The session's branch or HEAD moved between reading and writing, or files that an undo \
         with `--no-switch` would write now belong to another branch. Nothing was changed. Repeat \
         the call, or do what the message says.";
    UnsavedChanges "UNSAVED_CHANGES" Conflict None,
        "The user changed lines that the operation must change, too. The answer names the files \
         and lines. Nothing was changed. The user commits or stashes them, then repeat the call. \
         `edt undo` and `edt redo` take `--save`: it keeps the user's version as a commit first.";
    MergeConflict "MERGE_CONFLICT" Conflict None,
        "The base branch moved, and its changes conflict with the session. The answer lists the \
         paths. Nothing was changed. Merge that branch into the session's branch, resolve the \
         conflicts and commit. Then the user lands: an agent may not land a commit that is no edit.";
    EditsOverlap "EDITS_OVERLAP" Conflict None,
        "Edits that are to land alone change the same lines as edits of the session that are not to \
         land. The answer names these. Nothing was landed. Land them together (`edt land --only \
         1,2,3`), or all commits up to one edit (`edt land --to 3`).";
    RevertConflict "REVERT_CONFLICT" Conflict None,
        "Later edits changed the same lines as the edit to revert. The answer names them. Nothing \
         was changed. Revert them in the same call (`edt revert 7 5`), or undo all edits since with \
         `edt undo -n N`.";
    LeavesOut "LEAVES_OUT" Held None,
        "A part of what the session's edits changed is in no commit: it is on disk alone, among the \
         user's uncommitted changes or in an untracked file of the user's. The landing would lack \
         it. Or nobody knows, because private records are missing (`unknown` has the edits). \
         Nothing was landed. `edt checkpoint` commits these files as the user's. The user lands \
         without them with `edt land --allow leaves_out`.";
    LandsRemovedLines "LANDS_REMOVED_LINES" Held None,
        "Files on disk have again what edits of the session replaced, or lack a file that they made: \
         the user threw these edits away by hand. The landing would have them all the same. Nothing \
         was landed. `edt revert N` takes the edits that the answer names out of the session. The \
         user lands them with `edt land --allow lands_removed_lines`.";
    ProposalStale "PROPOSAL_STALE" Conflict None,
        "The files that a proposal changes were changed since, and the proposal cannot be rebased \
         without a guess: the same lines changed, or the rebased change is not what the user \
         approved. Nothing was changed. Read the files again and send the proposal again with `edt \
         propose`.";
    HashMismatch "HASH_MISMATCH" Conflict None,
        "The file is not the one that the edit was made for: its blob id differs from \
         `expected_hash`, or the file changed on disk during the call. Read it again with `edt \
         read` and send the edit for the present text.";
    PathInvalid "PATH_INVALID" Refused None,
        "The path is empty, has `.` or empty components or control characters; or a new file would \
         have a name that some system cannot store: a reserved one, `:` or `\\`, a dot or a space \
         at its end. Use a plain path relative to the worktree's root, with `/`.";
    PathOutsideRepo "PATH_OUTSIDE_REPO" Refused None,
        "The path is absolute, leaves the worktree (`..`), or lies in a nested repository or \
         submodule with a history of its own. Name a path of this worktree, or run edt in the \
         other repository with -C.";
    PathInGitDir "PATH_IN_GIT_DIR" Refused None,
        "The path is inside a Git directory, in one of the spellings that some file system treats \
         as that directory. edt never writes there.";
    PathThroughSymlink "PATH_THROUGH_SYMLINK" Refused None,
        "The path is a symbolic link or goes through one. Edit the real file by its own path, which \
         the answer names.";
    NotAFile "NOT_A_FILE" Refused None,
        "The path, or a parent of it, has the wrong type: a directory where a file must be, a file \
         where a directory must be, a FIFO, a device. Name a regular file.";
    FileTooLarge "FILE_TOO_LARGE" Refused None,
        "The file or the new content is larger than edt edits (100 MiB, or the limit of `[limits] \
         max_file_bytes`), or the request is longer than edt reads. The message has the sizes. \
         Change a large file outside edt.";
    ProtectedPath "PROTECTED_PATH" Refused None,
        "The path is protected: read-only on disk, or listed under `[[protect]]` in edt.toml of \
         the session's base commit. The user must make this change. Also the refusal to begin a \
         session from an edt.toml that HEAD does not have, and the refusal to rename an \
         ignored file to a path that Git does not ignore, and of a program that moved an ignored or \
         private file onto a file that a commit may have (`evidence.moved_from`).";
    FileExists "FILE_EXISTS" Refused None,
        "`create` and `rename` never overwrite. To change the file use mode \"edit\"; to replace \
         all of it use \"overwrite\".";
    FileNotFound "FILE_NOT_FOUND" Refused None,
        "There is no such file. Check the path with `edt status` or `git ls-files`; use mode \
         \"create\" for a new file.";
    OldTextRequired "OLD_TEXT_REQUIRED" Refused None,
        "Mode \"edit\" replaces one exact piece of text and needs it in `old_text`. To add to the \
         end use \"append\"; to replace the complete file use \"overwrite\".";
    InvalidPatchLimitExceeded "INVALID_PATCH_LIMIT_EXCEEDED" Refused None,
        "The second patch in a row for one file that does not fit the file (INVALID_PATCH, \
         OLD_TEXT_NOT_FOUND). Do not send another patch for this file now: read it and send its \
         complete new content with mode \"overwrite\". The answer has the text around the nearest \
         place and the file's hash. Patches for other files are not affected. After the overwrite \
         the count starts again. A second patch for which edt has another correction than for \
         the first gets that correction instead.";
    InvalidPatch "INVALID_PATCH" Refused None,
        "The patch cannot be read, or its old lines do not occur in the file. The answer names the \
         hunk, the nearest place and the first difference, with the file's hash. Send the patch \
         for the present text. A second failure in a row on the file answers \
         INVALID_PATCH_LIMIT_EXCEEDED.";
    OldTextNotFound "OLD_TEXT_NOT_FOUND" Refused None,
        "`old_text` does not occur in the file exactly as sent. The answer shows the nearest place \
         and the first difference. Send the text exactly as it is in the file.";
    OldTextAmbiguous "OLD_TEXT_AMBIGUOUS" Refused None,
        "`old_text` occurs more than once in the file, and edt does not guess which one is meant. \
         Add lines around it until it is unique, or set replace_all to change every occurrence.";
    HashRequired "HASH_REQUIRED" Refused None,
        "The edit would remove lines by their numbers without stating their text. The answer has \
         those lines and the file's hash. If they are the right ones, send the same edit again \
         with `expected_text` or `expected_hash`.";
    TextMismatch "TEXT_MISMATCH" Refused None,
        "The lines with those numbers differ from `expected_text`. The answer shows them and the \
         first difference. Send the numbers and the text as they are in the file.";
    LineOutOfRange "LINE_OUT_OF_RANGE" Refused None,
        "The request names lines that the file does not have. The message has the number of lines. \
         Read the file (`edt read`) and name existing lines.";
    SymbolNotFound "SYMBOL_NOT_FOUND" Refused None,
        "The file has no definition of that name. The answer has similar names; `edt outline PATH` \
         lists all. Definitions inside functions are not listed: use mode \"edit\" for them.";
    SymbolAmbiguous "SYMBOL_AMBIGUOUS" Refused None,
        "Several definitions of the file have that name. The answer lists them. Send the complete \
         name, with those of the definitions around it, or a line of the definition as \
         `start_line`.";
    SymbolUnclear "SYMBOL_UNCLEAR" Refused None,
        "The definition cannot be changed by its name without a guess: edt reads no definitions of \
         such files, the definition has a syntax error or shares a line, or a new name is taken or \
         its uses are not certain. The message says which. Use mode \"edit\".";
    SizeReduction "SIZE_REDUCTION" Refused Some("size_reduction"),
        "The edit would shrink the file far below its size in HEAD or in the session's base. That \
         is typical of a file overwritten with a fragment. Use mode \"edit\" or \"append\"; if the \
         file really should shrink, allow size_reduction.";
    MassDeletion "MASS_DELETION" Refused Some("mass_deletion"),
        "The transaction, the session or the landing would remove many files, or many more lines \
         than it adds. Keep what is still needed and ask the user about the rest, or allow \
         mass_deletion.";
    LostContent "LOST_CONTENT" Refused Some("lost_content"),
        "The edit would leave a file empty that had some lines. Send the complete content, or remove \
         the file with mode \"delete\"; if it really should be empty, allow lost_content.";
    SyntaxError "SYNTAX_ERROR" Refused Some("syntax_error"),
        "The edit would add a syntax error to the file. The answer names the changed line that \
         leads to it, its place in the new text and the bracket without a partner. Correct the \
         content, and send edits that only make sense together in one request. Or allow \
         syntax_error.";
    DuplicateCode "DUPLICATE_CODE" Refused Some("duplicate_code"),
        "The edit would put the same statement, lines or definition into the file twice. The \
         answer names both places. Send only what is new, send the removal of the original in the \
         same request, or allow duplicate_code.";
    ElidedCode "ELIDED_CODE" Refused Some("elided_code"),
        "The content has a placeholder such as \"... existing code ...\" where code would be \
         deleted. Code that the content leaves out is lost. Send a smaller edit or the complete \
         text, or allow elided_code.";
    HollowBody "HOLLOW_BODY" Refused Some("hollow_body"),
        "The edit would replace the body of a function by a stub, or by comments. The answer names \
         the function. Send the body as it should be, or leave the function as it is. Or allow \
         hollow_body.";
    WeakenedTests "WEAKENED_TESTS" Refused Some("weakened_tests"),
        "The edit would remove half of the tests of a file, or more. Keep the tests and correct the \
         code that they test, or ask the user; if they really should go, allow weakened_tests.";
    ConflictMarkers "CONFLICT_MARKERS" Refused Some("conflict_markers"),
        "The edit would leave a marker of a merge, a SEARCH/REPLACE block or a patch in the file. \
         Send the text without the markers, or allow conflict_markers.";
    ChatArtifact "CHAT_ARTIFACT" Refused Some("chat_artifact"),
        "The edit would leave a Markdown fence, line numbers, `+` signs, escapes, a sentence of a \
         chat or a tag of a tool call in the file. Send exactly the text that the file should have, or allow chat_artifact.";
    Secret "SECRET" Refused Some("secret"),
        "The edit would add what looks like a credential: a private key, a token with its issuer's \
         prefix, a password in a URL, or a random value assigned to a name such as `api_key`. \
         Unless `[guards.secret] mode` is \"refuse\", this is a warning. Read the value from the \
         environment or from a file that Git ignores, or allow secret.";
    LfsPointer "LFS_POINTER" Refused Some("lfs_pointer"),
        "The file is a pointer of Git LFS or git-annex, and its content is not in the worktree. The \
         edit would replace the content by the text of the pointer with the change, or by another \
         text. Get the content with `git lfs pull` or `git annex get` and edit that, or allow \
         lfs_pointer.";
    BinaryContent "BINARY_CONTENT" Refused Some("binary_content"),
        "The edit would put NUL bytes into a text file. Send text, or allow binary_content.";
    Encoding "ENCODING" Refused Some("encoding"),
        "The edit would turn a valid UTF-8 file (or a new file) into invalid UTF-8, or bring into \
         it what a wrong decoding leaves. Or it would add UTF-8 to a file of another encoding. Send \
         the file's own encoding, or allow encoding.";
    InvisibleCharacters "INVISIBLE_CHARACTERS" Refused Some("invisible_characters"),
        "The edit would bring characters into the file that nobody sees: controls, bidirectional \
         controls, tags, fillers, characters of no width. Send the text without them, or allow \
         invisible_characters.";
    LookalikeCharacters "LOOKALIKE_CHARACTERS" Refused Some("lookalike_characters"),
        "The edit would bring characters into the code that look like others: a no-break space, \
         curly quotes, a letter of another script in a word. The answer names the character and \
         the line. Send the plain character, or allow lookalike_characters.";
    BuildOutput "BUILD_OUTPUT" Refused Some("build_output"),
        "The landing would add a new binary file, as a build or a program leaves it behind. Nothing \
         was landed. Remove the file in the session and let `.gitignore` list it; if it belongs to \
         the project, repeat `edt land` with `--allow build_output`.";
    ValidatorFailed "VALIDATOR_FAILED" Refused Some("validator_failed"),
        "A program that edt.toml names rejects the new text, and did not reject the text before. \
         The answer has its exit status and the end of its output. Correct the content, or allow \
         validator_failed.";
    CustomGuard "CUSTOM_GUARD" Refused None,
        "A guard of the program that embeds edt refuses the change. The message says why. `allow` \
         has the word that overrides it, if an override exists.";
    HooksReadDisk "HOOKS_READ_DISK" Refused Some("hooks_read_disk"),
        "Git's commit hooks may read files from disk, and there a file that lands has another text: \
         uncommitted changes, or it is not merged with the branch. The user commits or stashes the \
         changes, or the branch is merged into the session. If the hooks read the index alone, allow \
         hooks_read_disk.";
    GitOperationBlocked "GIT_OPERATION_BLOCKED" Refused None,
        "One of edt's Git hooks refused to delete or rewind a protected branch or a session's ref, \
         or to push shadow branches. The message names the ref and both commits. Undo edits with \
         `edt undo` or `git revert`; the user may repeat the command in a terminal of their own. \
         Or one of Git's commit hooks refused a landing: the message has its output.";
    EditLimitReached "EDIT_LIMIT_REACHED" Refused None,
        "The session has as many edits as `[session] max_edits` of edt.toml allows; undone edits \
         count, runs do not. Nothing was changed. Stop editing, and report to the user, who can raise \
         the number or land the session.";
    ProposalNotFound "PROPOSAL_NOT_FOUND" Refused None,
        "This repository has no proposal with that number. `edt proposals --all` lists them.";
    CommentNotFound "COMMENT_NOT_FOUND" Refused None,
        "The session has no comment with that number that was sent, or no draft to send. `edt \
         comment list --all` lists them. Only the user sees drafts.";
    EpisodeNotFound "EPISODE_NOT_FOUND" Refused None,
        "The memory of this repository has no episode with that id, or no snapshot with that name. \
         `edt memory list` and `edt memory snapshot` list them.";
    ProposalRejected "PROPOSAL_REJECTED" Refused None,
        "The proposal is closed: the user rejected it, a newer one replaced it, or it has landed \
         already. The message has the user's reason. Send a new proposal that follows it.";
    CommandDenied "COMMAND_DENIED" Refused None,
        "A rule forbids agents this command, or one inside it. Nothing was run. The message has \
         the rule, its reason and what to do instead. `edt policy check -- PROGRAM ARG...` shows \
         how the command was read, `edt policy explain RULE` shows the rule. Only the user's own \
         edt.toml can relax it.";
    ApprovalRequired "APPROVAL_REQUIRED" Held None,
        "Only the user can allow this: an override that policy reserves for them (override = \
         \"approval\"), a path of `[[protect]]`, a command that a rule asks about, or a landing that \
         contains such a path or a commit that edt did not record. Nothing was changed. It is pending as the proposal that the answer \
         names; what a program of `edt run` changed is part of it, rolled back, or in the quarantine \
         that the answer names. The user types `edt approve pN` in a terminal. Continue with other work until an \
         answer reports the approval.";
    TrustRequired "TRUST_REQUIRED" Held None,
        "edt.toml names programs to run, a file goes through a filter that the repository's own \
         Git configuration defines, or Git would run files of the worktree as hooks of a landing, \
         and the user has not trusted their present content; or an agent's environment names \
         another policy or other programs than the user's files; or `edt trust` was called without a \
         terminal. The user runs `edt trust` in a terminal, which shows the commands first. A \
         changed edt.toml, filter or hook needs new trust.";
    BenchMismatch "BENCH_MISMATCH" Refused None,
        "Results of `edt-bench` do not belong together: another suite, seed, version of edt, agent \
         or setting, or the same part with another result. The message names the difference. Write \
         each run to its own directory, and merge only the shards of one run.";
    SessionExists "SESSION_EXISTS" Refused None,
        "A session with that name exists, or its branch would collide with another. Choose another \
         name, or continue the session with `git switch edt/<name>`. For `edt forget`: a worktree \
         uses a session.";
    NoSession "NO_SESSION" Refused None,
        "This command needs a session, and this worktree has none. `edt begin` starts one; `git \
         switch edt/<name>` returns to an earlier one.";
    SessionLanded "SESSION_LANDED" Refused None,
        "The call changes an open session, and the last one of this worktree has landed. `edt land \
         --undo` takes the landing back; `edt log NAME`, `edt diff NAME` and `edt show` show it. A \
         new edit begins a new session.";
    NothingToLand "NOTHING_TO_LAND" Refused None,
        "The branch to land on already has every change of the session. `edt diff` shows the \
         session's changes.";
    NothingToUndo "NOTHING_TO_UNDO" Refused None,
        "The top of the session's branch has no edit that edt could undo. `edt log` \
         lists the edits.";
    OthersEdit "OTHERS_EDIT" Refused None,
        "An agent's `undo` or `redo` would move an edit that another agent made, or another \
         conversation of the same agent. The answer says whose it is; `--any` (`any: true` as a \
         tool) moves it all the same.";
    NothingToRedo "NOTHING_TO_REDO" Refused None,
        "Nothing was undone here, or new edits came after the undo. Undone commits stay at \
         `refs/edt/<name>/undone/<n>`.";
}

impl Code {
    #[must_use]
    pub fn from_name(name: &str) -> Option<Code> {
        Code::ALL.iter().copied().find(|code| code.name() == name)
    }

    /// The table as Markdown: the first part of `docs/reference/errors.md`.
    #[must_use]
    pub fn table() -> String {
        use std::fmt::Write as _;
        let mut out = String::from(
            "# Codes\n\nGenerated by `edt explain --all`; a test keeps it up to date. `edt explain NAME` explains one. \
             `allow` is the word that overrides the refusal.\n\n\
             | code | status | exit | allow | meaning and what to do |\n\
             | --- | --- | --- | --- | --- |\n",
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
                code.explanation().replace('|', "\\|"),
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
    fn names_are_unique() {
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
