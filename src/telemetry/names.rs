//! Every name of a span or an attribute, and nothing else that names one.
//!
//! The GenAI and MCP semantic conventions of OpenTelemetry come first (both are still in development, and have moved before); `edt.*` is
//! ours, for what they do not speak of.

/// Stage of a transaction: blobs and disk read, beliefs checked.
pub const RESOLVE: &str = "edt.resolve";
/// Stage: every new text.
pub const PLAN: &str = "edt.plan";
/// Stage: all guards on all files.
pub const GUARD: &str = "edt.guard";
/// Stage: objects drafted.
pub const COMMIT: &str = "edt.commit";
/// Stage: everything made true.
pub const PUBLISH: &str = "edt.publish";
/// Failed patches in a row, counted.
pub const STREAK: &str = "edt.streak";
/// What failed and what fixed it, remembered; lessons looked up.
pub const REMEMBER: &str = "edt.remember";
/// One guard on one file, or on all together; [`OTEL_NAME`] says which.
pub const ONE_GUARD: &str = "edt.guard.one";
/// The wait for the worktree's lock.
pub const LOCK: &str = "edt.lock";
/// An interrupted transaction settled on the way in, or the look whether there is one.
pub const SETTLE: &str = "edt.settle";
/// A program that `edt run` started, from its start to its end.
pub const PROGRAM: &str = "edt.program";
/// What was unrecorded before, or what a program changed, recorded.
pub const RECORD: &str = "edt.record";
/// What an agent's own tool is about to do, or did, judged.
pub const JUDGE: &str = "edt.judge";

/// What the tracing layer takes for a span's name.
pub const OTEL_NAME: &str = "otel.name";
/// What the tracing layer takes for a span's status.
pub const OTEL_STATUS: &str = "otel.status_code";

/// `execute_tool` for a command that agents call as a tool.
pub const OPERATION: &str = "gen_ai.operation.name";
/// The value of [`OPERATION`].
pub const EXECUTE_TOOL: &str = "execute_tool";
/// The tool.
pub const TOOL: &str = "gen_ai.tool.name";
/// Its type; always `function`.
pub const TOOL_TYPE: &str = "gen_ai.tool.type";
/// The agent's own number of the call, where it tells one.
pub const TOOL_CALL: &str = "gen_ai.tool.call.id";
/// The arguments, if content was asked for.
pub const ARGUMENTS: &str = "gen_ai.tool.call.arguments";
/// The arguments of the process, if content was asked for.
pub const COMMAND_ARGS: &str = "process.command_args";
/// Who asked.
pub const AGENT: &str = "gen_ai.agent.name";
/// The method of the protocol.
pub const MCP_METHOD: &str = "mcp.method.name";
/// The value of [`MCP_METHOD`] for every call of a tool.
pub const TOOLS_CALL: &str = "tools/call";
/// The revision of the protocol.
pub const MCP_VERSION: &str = "mcp.protocol.version";
/// The request's id.
pub const REQUEST_ID: &str = "jsonrpc.request.id";
/// `pipe`, as the convention has it for standard input and output.
pub const TRANSPORT: &str = "network.transport";
/// The class of the failure: the most important code, or `tool_error` in an answer of the server.
pub const ERROR: &str = "error.type";
/// The value of [`ERROR`] that the convention of MCP asks for.
pub const TOOL_ERROR: &str = "tool_error";
/// The exit status.
pub const EXIT: &str = "process.exit.code";
/// The program that was run.
pub const EXECUTABLE: &str = "process.executable.name";
/// The process.
pub const PID: &str = "process.pid";
/// The session's branch.
pub const BRANCH: &str = "vcs.ref.head.name";
/// The commit that recorded it.
pub const REVISION: &str = "vcs.ref.head.revision";

/// The command.
pub const COMMAND: &str = "edt.command";
/// The session, without `edt/`.
pub const SESSION: &str = "edt.session";
/// The status of the answer.
pub const STATUS: &str = "edt.status";
/// Every code, the most important first.
pub const CODES: &str = "edt.codes";
/// The edit's number.
pub const EDIT: &str = "edt.edit";
/// The number of the proposal.
pub const PROPOSAL: &str = "edt.proposal";
/// The paths that changed, or would: the first [`MOST_PATHS`].
pub const FILES: &str = "edt.files";
/// How many they are.
pub const FILE_COUNT: &str = "edt.files.count";
/// Lines added.
pub const ADDED: &str = "edt.lines.added";
/// Lines removed.
pub const REMOVED: &str = "edt.lines.removed";
/// Bytes of those files after.
pub const BYTES: &str = "edt.bytes";
/// The path that a guard judged.
pub const PATH: &str = "edt.file";
/// The guard.
pub const GUARD_NAME: &str = "edt.guard.name";
/// Its verdict: the strictest of what it said.
pub const GUARD_VERDICT: &str = "edt.guard.verdict";
/// Overrides that were needed.
pub const ALLOWED: &str = "edt.allowed";
/// How many lessons the answer bears.
pub const LESSONS: &str = "edt.lessons";
/// Spans of the same call that were left out, because there were more than are kept.
pub const LEFT_OUT: &str = "edt.spans.left_out";

/// Most paths that a span names.
pub const MOST_PATHS: usize = 50;

/// The name that a resource bears unless told otherwise.
pub const SERVICE: &str = "edt";
/// The key of that.
pub const SERVICE_NAME: &str = "service.name";
/// The key of its version.
pub const SERVICE_VERSION: &str = "service.version";

/// Commands that agents call as tools: their spans are `execute_tool NAME`, those of all others `edt NAME`.
pub const TOOLS: [&str; 17] = [
    "apply",
    "check",
    "read",
    "search",
    "ls",
    "status",
    "log",
    "show",
    "diff",
    "undo",
    "redo",
    "restore",
    "checkpoint",
    "propose",
    "proposals",
    "run",
    "land",
];
