//! The names of all spans and attributes.
//!
//! Names come from the `GenAI` and MCP semantic conventions of OpenTelemetry where these have one;
//! both are still in development. Other names start with `edt.`.

/// Stage of a transaction: read blobs and files, check the request's expectations.
pub const RESOLVE: &str = "edt.resolve";
/// Stage: compute every new text.
pub const PLAN: &str = "edt.plan";
/// Stage: run all guards on all files.
pub const GUARD: &str = "edt.guard";
/// Stage: write the objects; no ref names them yet.
pub const COMMIT: &str = "edt.commit";
/// Stage: install the change.
pub const PUBLISH: &str = "edt.publish";
/// Counting of failed patches in a row.
pub const STREAK: &str = "edt.streak";
/// Observers see the answer; the memory looks up lessons.
pub const OBSERVE: &str = "edt.observe";
/// One guard on one file, or on all files together; [`OTEL_NAME`] has the guard's name.
pub const ONE_GUARD: &str = "edt.guard.one";
/// The wait for the worktree's lock.
pub const LOCK: &str = "edt.lock";
/// The recovery of an interrupted transaction, or the check that there is none.
pub const RECOVER: &str = "edt.recover";
/// A program that `edt run` started, from its start to its end.
pub const PROGRAM: &str = "edt.program";
/// The recording of changes that the user or a program made.
pub const RECORD: &str = "edt.record";
/// The copying of uncommitted and ignored files before a program runs.
pub const SNAPSHOT: &str = "edt.snapshot";

/// Read by the tracing layer as the span's name.
pub const OTEL_NAME: &str = "otel.name";
/// Read by the tracing layer as the span's status.
pub const OTEL_STATUS: &str = "otel.status_code";

/// `execute_tool` for commands that agents call as tools.
pub const OPERATION: &str = "gen_ai.operation.name";
pub const EXECUTE_TOOL: &str = "execute_tool";
pub const TOOL: &str = "gen_ai.tool.name";
/// Always `function`.
pub const TOOL_TYPE: &str = "gen_ai.tool.type";
/// The agent's own id of the call, if the agent sends one.
pub const TOOL_CALL: &str = "gen_ai.tool.call.id";
/// Recorded only if content was requested.
pub const ARGUMENTS: &str = "gen_ai.tool.call.arguments";
/// The arguments of the process. Recorded only if content was requested.
pub const COMMAND_ARGS: &str = "process.command_args";
pub const AGENT: &str = "gen_ai.agent.name";
pub const MCP_METHOD: &str = "mcp.method.name";
/// The value of [`MCP_METHOD`] for every tool call.
pub const TOOLS_CALL: &str = "tools/call";
pub const MCP_VERSION: &str = "mcp.protocol.version";
pub const REQUEST_ID: &str = "jsonrpc.request.id";
/// Always `pipe`, the convention's value for standard input and output.
pub const TRANSPORT: &str = "network.transport";
/// The class of a failure: the most important code, or `tool_error` in an answer of the server.
pub const ERROR: &str = "error.type";
/// The value of [`ERROR`] that the MCP convention requires.
pub const TOOL_ERROR: &str = "tool_error";
pub const EXIT: &str = "process.exit.code";
/// The program that `edt run` started.
pub const EXECUTABLE: &str = "process.executable.name";
pub const PID: &str = "process.pid";
/// The session's branch.
pub const BRANCH: &str = "vcs.ref.head.name";
/// The commit that records the change.
pub const REVISION: &str = "vcs.ref.head.revision";

pub const COMMAND: &str = "edt.command";
/// The session's name, without `edt/`.
pub const SESSION: &str = "edt.session";
pub const STATUS: &str = "edt.status";
/// Every code, the most important first.
pub const CODES: &str = "edt.codes";
/// The number of the edit in its session.
pub const EDIT: &str = "edt.edit";
pub const PROPOSAL: &str = "edt.proposal";
/// The first [`MAX_PATHS`] paths that changed or would change.
pub const FILES: &str = "edt.files";
/// How many paths changed or would change.
pub const FILE_COUNT: &str = "edt.files.count";
pub const ADDED: &str = "edt.lines.added";
pub const REMOVED: &str = "edt.lines.removed";
/// Total size of the changed files afterwards.
pub const BYTES: &str = "edt.bytes";
/// The file that a guard checked.
pub const PATH: &str = "edt.file";
pub const GUARD_NAME: &str = "edt.guard.name";
/// The strictest verdict of the guard on the file.
pub const GUARD_VERDICT: &str = "edt.guard.verdict";
/// Overrides that the request needed.
pub const ALLOWED: &str = "edt.allowed";
/// How many lessons the answer has.
pub const LESSONS: &str = "edt.lessons";

/// The maximum number of paths that a span lists.
pub const MAX_PATHS: usize = 50;

/// The default service name.
pub const SERVICE: &str = "edt";
pub const SERVICE_NAME: &str = "service.name";
pub const SERVICE_VERSION: &str = "service.version";

/// Commands that agents call as tools. Their spans are named `execute_tool NAME`, those of all
/// other commands `edt NAME`.
pub const TOOLS: [&str; 19] = [
    "apply",
    "check",
    "read",
    "outline",
    "search",
    "ls",
    "status",
    "log",
    "show",
    "diff",
    "undo",
    "redo",
    "revert",
    "restore",
    "checkpoint",
    "propose",
    "proposals",
    "run",
    "land",
];
