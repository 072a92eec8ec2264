//! The tools of `edt mcp`. Each is a command, or several that a model looks for under one name; the
//! commands' own types describe the arguments.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::context::Context;
use super::edit_name::ProposalName;
use super::mcp_args::{of, take};
use super::{
    apply, checkpoint, comment, diff, guide, land, log, ls, meta, outline, proposals, read,
    restore, revert, run, search, show, status, undo,
};
use crate::mcp::{Tool, ToolEffect, either, input, listed};
use edt_core::txn::tried::Shown;
use edt_core::txn::wire::RequestWire;
use edt_core::txn::{Request, tried};
use edt_run::RunObserver;
use edt_run::request::RunRequestJson;
use edt_types::{Code, DryRun, Finding, Result, Status};

/// A tool.
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) effect: ToolEffect,
    /// The description for the model. Its first words are those that a search for tools has.
    about: &'static str,
    /// The schema of every argument that it takes.
    input: fn() -> Map<String, Value>,
    /// The arguments that are listed, with their descriptions; if empty, all with their own.
    arguments: &'static [(&'static str, &'static str)],
    pub(super) run: fn(&Context, Value, &mut dyn RunObserver) -> Result<Status>,
    /// Whether its arguments may name the agent.
    pub(super) takes_agent: bool,
    /// For a tool that is offered only on request: what to call instead.
    pub(super) instead: Option<&'static str>,
}

/// A row with the arguments of one command, offered on request.
macro_rules! command {
    ($name:literal, $effect:ident, $args:ty, $instead:literal, $about:literal) => {
        Row {
            name: $name,
            effect: ToolEffect::$effect,
            about: $about,
            input: input::<$args>,
            arguments: &[],
            run: |context, args, _| of::<$args>(args)?.run(context),
            takes_agent: false,
            instead: Some($instead),
        }
    };
}

/// All tools: first those that are offered by default.
pub(super) const TOOLS: &[Row] = &[
    APPLY,
    READ,
    SEARCH,
    STATUS,
    UNDO,
    RUN,
    LAND,
    COMMENT,
    HELP,
    Row {
        name: "check",
        effect: ToolEffect::Reads,
        about: "Check edits with edt: do everything that `apply` does with the same arguments, except writing.",
        input: input::<RequestWire>,
        arguments: &[],
        run: |context, args, _| {
            apply::apply(context, request(context, &args), Shown::default, DryRun::Yes)
        },
        takes_agent: true,
        instead: Some("Call `apply` with `check: true`."),
    },
    command!(
        "outline",
        Reads,
        outline::Args,
        "Call `read` with `outline: true`.",
        "List the definitions of a file with their lines; `symbol` of `apply` takes their names."
    ),
    command!(
        "list",
        Reads,
        ls::Args,
        "Call `search` with `list: true`.",
        "List the files of the worktree, with state, size and blob id."
    ),
    command!(
        "log",
        Reads,
        log::Args,
        "Call `status` with `view: \"log\"`.",
        "List the edits of the session, or one file's revisions."
    ),
    command!(
        "show",
        Reads,
        show::Args,
        "Call `status` with `view: \"show\"`.",
        "Show one edit by its number, or one proposal by its name (`p7`): agent, message and diff."
    ),
    command!(
        "diff",
        Reads,
        diff::Args,
        "Call `status` with `view: \"diff\"`.",
        "Show what the session changed, what one edit changed, or what is staged."
    ),
    command!(
        "redo",
        Commits,
        undo::RedoArgs,
        "Call `undo` with `redo: true`.",
        "Redo the edits of the last undo."
    ),
    command!(
        "revert",
        Commits,
        revert::Args,
        "Call `undo`, or change the lines back with `apply`.",
        "Revert earlier edits of the session as one new commit. Later edits stay."
    ),
    command!(
        "restore",
        Commits,
        restore::Args,
        "Call `undo`, or change the lines back with `apply`.",
        "Restore one file to its content before its latest edit, or as of an edit (`to`), as a new commit."
    ),
    command!(
        "checkpoint",
        Commits,
        checkpoint::Args,
        "The user commits their own changes.",
        "Commit the user's uncommitted changes on the session's branch, as the user's. Landing them needs the user's consent."
    ),
    Row {
        name: "propose",
        effect: ToolEffect::Commits,
        about: "Propose edits that the user must approve, with the arguments of `apply`.",
        input: input::<RequestWire>,
        arguments: &[],
        run: |context, args, _| apply::propose(context, request(context, &args), || tried(&args)),
        takes_agent: true,
        instead: Some("Call `apply` with `propose: true`."),
    },
    command!(
        "proposals",
        Reads,
        proposals::Args,
        "Call `status` with `view: \"proposals\"`.",
        "List the proposals that wait for the user's approval."
    ),
];

const APPLY: Row = Row {
    name: "apply",
    effect: ToolEffect::Commits,
    about: "Edit files with edt: create, change, patch, rename or delete them, all edits or none, as one Git commit that `undo` undoes. Send the keys of one edit, or `edits`, or `patch`. A refusal changes nothing and says what to send instead.",
    input: || either(&[input::<RequestWire>, input::<ApplyArgs>]),
    arguments: &[
        ("path", "The file, from the worktree's root."),
        ("mode", "What to do."),
        ("old_text", "edit: the present text, exactly; it must occur once."),
        ("content", "The new text; create and overwrite: of the whole file."),
        ("replace_all", "edit: replace every occurrence."),
        ("start_line", "Modes with lines: the first, 1-based."),
        ("end_line", "The last line, included."),
        ("expected_text", "Their present text; insert: that of those that follow."),
        ("start_anchor", "Instead of start_line: an anchor from `read`."),
        ("end_anchor", "Instead of end_line."),
        ("symbol", "Modes with symbol: a definition, such as Parser.parse."),
        ("to", "rename: the new path. rename_symbol: the new name."),
        ("executable", "create: make it executable."),
        ("expected_hash", "The blob id that the file must have."),
        ("edits", "Several edits, applied in order."),
        ("patch", "A unified diff, *** Begin Patch, or SEARCH/REPLACE blocks."),
        ("match", "lenient: old_text and patches may differ in white space."),
        ("message", "The reason; becomes the commit's subject."),
        ("allow", "Overrides that a refusal names."),
        ("check", "Dry run: judge the edits and change nothing."),
        ("propose", "Let the user approve the edits first."),
        ("proposal", "Apply this approved proposal; send no edits."),
    ],
    run: |context, mut args, _| {
        let check = take::<bool>(&mut args, "check")?.unwrap_or_default();
        let propose = take::<bool>(&mut args, "propose")?.unwrap_or_default();
        let dry_run = if check { DryRun::Yes } else { DryRun::No };
        if check && propose {
            return Err(excluded("`check` and `propose` exclude each other."));
        }
        match take::<ProposalName>(&mut args, "proposal")? {
            Some(_) if propose => Err(excluded("`proposal` is already a proposal.")),
            Some(id) => {
                of::<Nothing>(args)?;
                apply::apply_proposal(context, id.0, dry_run)
            }
            None if propose => apply::propose(context, request(context, &args), || tried(&args)),
            None => apply::apply(context, request(context, &args), || tried(&args), dry_run),
        }
    },
    takes_agent: true,
    instead: None,
};

const READ: Row = Row {
    name: "read",
    effect: ToolEffect::Reads,
    about: "Read a file with edt: its text with line numbers, and its blob id for `expected_hash`; or its outline.",
    input: || {
        let kinds = either(&[input::<read::Args>, input::<outline::Args>, input::<ReadArgs>]);
        kinds.into_iter().chain([("required".to_owned(), json!(["path"]))]).collect()
    },
    arguments: &[
        ("path", "The file, from the worktree's root."),
        ("lines", "Only these ranges, such as 10:40."),
        ("anchors", "Give the anchor of each line."),
        ("max_lines", "At most so many lines."),
        ("outline", "List the definitions with their lines instead."),
        ("name", "outline: only names with this text."),
    ],
    run: |context, mut args, _| match take(&mut args, "outline")? {
        Some(true) => of::<outline::Args>(args)?.run(context),
        _ => of::<read::Args>(args)?.run(context),
    },
    takes_agent: false,
    instead: None,
};

const SEARCH: Row = Row {
    name: "search",
    effect: ToolEffect::Reads,
    about: "Search files with edt, as grep does: lines that match a regular expression. Or list files, as find and ls do.",
    input: || either(&[input::<search::Args>, input::<ls::Args>, input::<SearchArgs>]),
    arguments: &[
        ("pattern", "The regular expression; leave it out to list files."),
        ("paths", "Only these files, and those below these directories."),
        ("glob", "Only files such as *.rs, src/**/*.c, !*.lock."),
        ("fixed", "The pattern is text."),
        ("ignore_case", "Ignore case."),
        ("files", "Only the names of the files with a match."),
        ("context", "Lines before and after each match."),
        ("max_matches", "At most so many lines."),
        ("list", "List the files instead, with state, size and blob id."),
        ("dirs", "list: only directories, with their numbers of files."),
        ("depth", "list: at most so many directories deep."),
        ("max", "list: at most so many entries."),
        ("ignored", "Also ignored files."),
        ("skip", "Go on after so many, as the last answer says."),
    ],
    run: |context, mut args, _| match take(&mut args, "list")? {
        Some(true) => of::<ls::Args>(args)?.run(context),
        _ => of::<search::Args>(args)?.run(context),
    },
    takes_agent: false,
    instead: None,
};

const STATUS: Row = Row {
    name: "status",
    effect: ToolEffect::Reads,
    about: "Show the Git status of edt's session: its edits, the user's uncommitted changes and proposals; or the log, a diff, or one edit.",
    input: || {
        either(&[
            input::<StatusArgs>,
            input::<status::Args>,
            input::<log::Args>,
            input::<diff::Args>,
            input::<show::Args>,
            input::<proposals::Args>,
        ])
    },
    arguments: &[
        ("view", "log: the edits. diff: what changed. show: one edit."),
        ("number", "log: at most so many."),
        ("path", "log: the revisions of this file."),
        ("session", "log: another session."),
        ("rev", "show: an edit such as 7, or a proposal such as p7."),
        ("revision", "diff: an edit such as 7, or 3..7."),
        ("paths", "diff: only these files."),
        ("staged", "diff: what is staged."),
        ("uncommitted", "diff: the user's uncommitted changes."),
        ("stat", "diff: only the numbers of lines."),
        ("ended", "Also the sessions that have ended."),
    ],
    run: |context, mut args, _| match take(&mut args, "view")?.unwrap_or_default() {
        View::Status => of::<status::Args>(args)?.run(context),
        View::Log => of::<log::Args>(args)?.run(context),
        View::Diff => of::<diff::Args>(args)?.run(context),
        View::Show => of::<show::Args>(args)?.run(context),
        View::Proposals => of::<proposals::Args>(args)?.run(context),
    },
    takes_agent: false,
    instead: None,
};

const UNDO: Row = Row {
    name: "undo",
    effect: ToolEffect::Commits,
    about: "Undo edits of edt, or redo them: the branch moves, and the edited files are restored. No commit is lost.",
    input: || either(&[input::<undo::Args>, input::<UndoArgs>]),
    arguments: &[
        ("count", "How many edits; 1 if omitted."),
        ("to", "Undo the edits after this one."),
        ("redo", "Redo the edits of the last undo instead."),
        ("any", "Also another agent's edits."),
        ("save", "Save the user's version of the lines, then overwrite it."),
        ("dry_run", "Say what would change, and change nothing."),
    ],
    run: |context, mut args, _| match take(&mut args, "redo")? {
        Some(true) => of::<undo::RedoArgs>(args)?.run(context),
        _ => of::<undo::Args>(args)?.run(context),
    },
    takes_agent: false,
    instead: None,
};

const RUN: Row = Row {
    name: "run",
    effect: ToolEffect::Runs,
    about: "Run a command with edt, such as a test or a build: one program with exactly these arguments, without a shell. Policy judges it, a sandbox confines it, and its changes become one commit that `undo` undoes.",
    input: || either(&[input::<RunRequestJson>, input::<OutputArg>, input::<run::PageArgs>]),
    arguments: &[
        ("program", "Its name, or a path."),
        ("args", "Its arguments, unquoted."),
        ("cwd", "Its directory."),
        ("env", "Additional environment variables."),
        ("stdin", "Its standard input."),
        ("timeout", "Seconds; 120 if omitted."),
        ("output", "Show the output of the run with this number instead."),
        ("stream", "output: which stream."),
        ("lines", "output: the lines, such as 100:200."),
        ("bytes", "output: the bytes, such as 0:5000."),
        ("max_bytes", "output: at most so many bytes."),
    ],
    run: |context, mut args, live| match take(&mut args, "output")? {
        Some(id) => of::<run::PageArgs>(args)?.show(context, id),
        None => Ok(run::run_for_server(context, of(args)?, live)),
    },
    takes_agent: true,
    instead: None,
};

const LAND: Row = Row {
    name: "land",
    effect: ToolEffect::Lands,
    about: "Land the session of edt: squash its edits into one commit on the branch from which it began. Only when the user wants that.",
    input: input::<land::Args>,
    arguments: &[
        ("message", "The commit's message."),
        ("allow", "Overrides that a refusal names."),
        ("into", "Another branch."),
        ("to", "Land only the edits up to this one."),
        ("only", "Land only the edits with these numbers."),
        ("undo", "Undo the last landing instead."),
    ],
    run: |context, args, _| of::<land::Args>(args)?.run(context),
    takes_agent: false,
    instead: None,
};

const COMMENT: Row = Row {
    name: "comment",
    effect: ToolEffect::Commits,
    about: "Answer the user's review comments on edits of edt, say that one is done, or list them.",
    input: input::<comment::ToolArgs>,
    arguments: comment::TOOL_ARGUMENTS,
    run: |context, args, _| of::<comment::ToolArgs>(args)?.run(context),
    takes_agent: false,
    instead: None,
};

const HELP: Row = Row {
    name: "help",
    effect: ToolEffect::Reads,
    about: "Help for edt: the rules with an example of each mode, or what the code of a refusal means.",
    input: input::<HelpArgs>,
    arguments: &[("topic", "A code, such as SIZE_REDUCTION; the guide if omitted.")],
    run: |context, args, _| match of::<HelpArgs>(args)?.topic {
        Some(code) => meta::ExplainArgs::of(code).run(context),
        None => Ok(guide::show(context)),
    },
    takes_agent: false,
    instead: None,
};

/// The arguments of `apply` besides a request.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "it exists for its schema")]
struct ApplyArgs {
    check: bool,
    propose: bool,
    proposal: ProposalName,
}

/// The argument of `read` that lists definitions.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "it exists for its schema")]
struct ReadArgs {
    outline: bool,
}

/// The argument of `search` that lists files.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "it exists for its schema")]
struct SearchArgs {
    list: bool,
}

/// The argument of `status` that chooses a view.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "it exists for its schema")]
struct StatusArgs {
    view: View,
}

/// What `status` shows.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum View {
    #[default]
    Status,
    Log,
    Diff,
    Show,
    Proposals,
}

/// The argument of `undo` that does the opposite.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "it exists for its schema")]
struct UndoArgs {
    redo: bool,
}

/// The argument of `run` that asks for the output of an earlier run.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "it exists for its schema")]
struct OutputArg {
    output: u64,
}

/// The arguments of `help`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct HelpArgs {
    topic: Option<String>,
}

/// The arguments of a call that takes no further ones.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

/// The argument that every tool has.
const WORKTREE: (&str, &str) = ("worktree", "Another worktree's absolute path.");

impl Row {
    /// The schema of every argument that it takes.
    pub(super) fn schema(&self) -> Map<String, Value> {
        (self.input)()
    }

    /// Whether its arguments are a request of edits.
    pub(super) fn is_request(&self) -> bool {
        ["apply", "check", "propose"].contains(&self.name)
    }

    pub(super) fn tool(&self) -> Tool {
        let mut all = (self.input)();
        let required = all.remove("required");
        if let Some(Value::Object(properties)) = all.get_mut("properties") {
            properties.insert(WORKTREE.0.to_owned(), json!({"type": "string"}));
        }
        let arguments: Vec<_> = self.arguments.iter().copied().chain([WORKTREE]).collect();
        let mut input = listed(all, &arguments, self.arguments.is_empty());
        input.extend(required.map(|required| ("required".to_owned(), required)));
        Tool { name: self.name, about: self.about, effect: self.effect, input }
    }
}

fn request(context: &Context, args: &Value) -> Result<Request> {
    apply::request_of(context, args.to_string().as_bytes())
}

/// What a request that cannot be read shows.
fn tried(args: &Value) -> Shown {
    tried::of_json(args.to_string().as_bytes())
}

fn excluded(message: &str) -> edt_types::Refusal {
    Finding::new(Code::BadRequest, message, "Send one of them.").nothing_changed().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::Tool;

    fn tools(by_default: bool) -> Vec<Tool> {
        let rows = TOOLS.iter().filter(|row| !by_default || row.instead.is_none());
        rows.map(Row::tool).collect()
    }

    /// Calls `see` with every object of `value`.
    fn each(value: &Value, see: &mut dyn FnMut(&Map<String, Value>)) {
        match value {
            Value::Array(all) => all.iter().for_each(|one| each(one, see)),
            Value::Object(object) => {
                see(object);
                object.values().for_each(|one| each(one, see));
            }
            _ => {}
        }
    }

    #[test]
    fn nine_tools_are_offered_by_default_and_cost_little() {
        let tools = tools(true);
        let names: Vec<&str> = tools.iter().map(|tool| tool.name).collect();
        assert_eq!(
            names,
            ["apply", "read", "search", "status", "undo", "run", "land", "comment", "help"]
        );
        let listed = |tool: &Tool| json!({"name": tool.name, "description": tool.about, "inputSchema": tool.input});
        let length: usize = tools.iter().map(|tool| listed(tool).to_string().len()).sum();
        assert!(length <= 10_600, "{length} characters");
    }

    #[test]
    fn every_argument_has_one_type() {
        for tool in tools(false) {
            each(&Value::Object(tool.input.clone()), &mut |object| {
                let odd = ["anyOf", "oneOf", "allOf", "$ref", "$defs", "const", "format"];
                // A property may have such a name; its value is then a schema.
                let odd =
                    odd.iter().find(|key| object.get(**key).is_some_and(|at| !at.is_object()));
                assert_eq!(odd, None, "{}: {object:?}", tool.name);
                let kind = object.get("type").filter(|kind| !kind.is_object());
                assert!(kind.is_none_or(Value::is_string), "{}: {object:?}", tool.name);
            });
        }
    }

    #[test]
    fn every_listed_argument_exists() {
        for row in TOOLS {
            let all = (row.input)();
            for (key, _) in row.arguments {
                assert!(all["properties"].get(*key).is_some(), "{}: {key}", row.name);
            }
        }
    }

    #[test]
    fn a_search_for_tools_finds_them() {
        for tool in tools(true) {
            assert!(tool.about.contains("edt"), "{}", tool.about);
        }
    }
}
