//! What has to be done for a message, and what is remembered of sessions and open requests.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use agent_client_protocol_schema::{
    AGENT_METHOD_NAMES, CLIENT_METHOD_NAMES, ContentBlock, CreateTerminalRequest,
    InitializeResponse, PermissionOption, PromptRequest, ReadTextFileRequest, ReadTextFileResponse,
    RequestPermissionOutcome, RequestPermissionRequest, RequestPermissionResponse,
    SessionNotification, SessionUpdate, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
    WriteTextFileRequest,
};
use serde_json::Value;
use serde_json::value::RawValue;

use super::message::{self, Message};
use super::tool_call;
use edt_agents::ToolEdit;
use edt_agents::turn::{self, Turn};
use edt_io::disk::MAX_FILE;
use edt_io::fs;
use edt_types::text::to_lf;

/// The end of the proxy that a message goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum To {
    Editor,
    Agent,
}

/// What has to be done before a message is passed on.
#[derive(Debug)]
pub(super) enum Work {
    /// Nothing, but earlier messages come first.
    Pass,
    /// The turn of a prompt begins.
    Begin { title: String },
    /// A turn ends with the response to its prompt.
    End,
    /// A request of the agent is judged.
    Judge { id: Box<RawValue>, asked: Asked },
    /// The agent's edits were made.
    Made { tool: &'static str, edits: Vec<ToolEdit> },
}

/// A request of the agent that edt judges.
#[derive(Debug)]
pub(super) enum Asked {
    Permission(Box<Permission>),
    Write(WriteTextFileRequest),
    Terminal(CreateTerminalRequest),
    /// It cannot be read. A refused permission is an answer, another request an error.
    Unreadable {
        is_permission: bool,
    },
}

/// A request for permission.
#[derive(Debug)]
pub(super) struct Permission {
    /// What is known of the tool call, from earlier messages, too.
    pub(super) call: ToolCallUpdateFields,
    pub(super) request: RequestPermissionRequest,
}

/// A request of the editor whose response edt reads.
#[derive(Debug)]
enum OfEditor {
    Initialize,
    /// With the name of a session that is there already.
    Session {
        dir: PathBuf,
        root: PathBuf,
        name: Option<String>,
    },
    Prompt {
        session: String,
    },
}

/// A request of the agent that edt passed on, and whose response it reads.
#[derive(Debug)]
pub(super) enum OfAgent {
    Permission {
        call: String,
        allowing: Vec<String>,
    },
    Write {
        edits: Vec<ToolEdit>,
    },
    /// The whole text of a file.
    Read {
        path: PathBuf,
    },
}

/// A session in a worktree. Others are not remembered: their messages pass.
#[derive(Debug, Default)]
pub(super) struct Session {
    pub(super) dir: PathBuf,
    pub(super) root: PathBuf,
    pub(super) turn: Option<Turn>,
    /// What is known of tool calls that have not ended.
    calls: BTreeMap<String, ToolCallUpdateFields>,
    /// The edits of tool calls that edt judged and passed on, by call.
    pub(super) announced: BTreeMap<String, Vec<ToolEdit>>,
    /// Files of which the editor gave the agent another text than that on disk: the user's typing.
    pub(super) unsaved: BTreeSet<PathBuf>,
}

/// What is remembered.
#[derive(Debug, Default)]
pub(super) struct Known {
    pub(super) sessions: BTreeMap<String, Session>,
    of_editor: BTreeMap<String, OfEditor>,
    /// By id, with the session.
    pub(super) of_agent: BTreeMap<String, (String, OfAgent)>,
    /// The agent's own name.
    agent: Option<String>,
    said_outside: bool,
    /// The messages that the worker still has.
    waiting: usize,
}

/// Decides what has to be done for each message.
pub(super) struct Router {
    known: Mutex<Known>,
    /// The program of this process.
    program: PathBuf,
    note: fn(&str),
}

/// A message, and what has to be done for it.
pub(super) struct Routed {
    pub(super) line: Vec<u8>,
    /// `None` for a message that belongs to no session in a worktree.
    pub(super) session: Option<String>,
    pub(super) work: Work,
}

impl Router {
    pub(super) fn new(program: PathBuf, note: fn(&str)) -> Router {
        Router { known: Mutex::default(), program, note }
    }

    pub(super) fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The name that the agent gave itself, if it can be written into a commit.
    pub(super) fn agent(&self) -> Option<String> {
        self.known().agent.clone()
    }

    /// Whether the worker has to pass the message on. All later messages then wait for it, so that
    /// none overtakes another: a request to cancel names no session.
    pub(super) fn waits(&self, routed: &Routed) -> bool {
        let mut known = self.known();
        let waits = known.waiting > 0 || !matches!(routed.work, Work::Pass);
        known.waiting += usize::from(waits);
        waits
    }

    /// The worker passed a message on.
    pub(super) fn passed(&self) {
        self.known().waiting -= 1;
    }

    /// A message of the editor.
    pub(super) fn of_editor(&self, line: Vec<u8>) -> Routed {
        let Some(message) = Message::of(&line) else { return pass(line, None) };
        let key = message.key();
        let Some(method) = message.method.as_deref() else {
            let (session, work) = self.answered_by_editor(&message, key);
            return Routed { line, session, work };
        };
        let session = message.text("sessionId");
        let names = &AGENT_METHOD_NAMES;
        let Some(key) = key else { return pass(line, session) };
        if method == names.initialize {
            self.known().of_editor.insert(key, OfEditor::Initialize);
        } else if [names.session_new, names.session_load, "session/resume", "session/fork"]
            .contains(&method)
        {
            let changed = self.session_asked(&message, key, &line);
            return pass(changed.unwrap_or(line), None);
        } else if method == names.session_prompt
            && let Some(session) = &session
            && self.known().sessions.contains_key(session)
        {
            let asked = OfEditor::Prompt { session: session.clone() };
            self.known().of_editor.insert(key, asked);
            let title = message.params::<PromptRequest>().map(title).unwrap_or_default();
            return Routed { session: Some(session.clone()), work: Work::Begin { title }, line };
        }
        pass(line, session)
    }

    /// Remembers the request for a session; returns its line with edt's MCP server.
    fn session_asked(&self, message: &Message<'_>, key: String, line: &[u8]) -> Option<Vec<u8>> {
        let dir = PathBuf::from(message.text("cwd")?);
        let root = match turn::worktree(&dir) {
            Ok(root) => root,
            // Each judgement says why it fails.
            Err(_) => Some(dir.clone()),
        };
        let mut known = self.known();
        let Some(root) = root else {
            if !std::mem::replace(&mut known.said_outside, true) {
                (self.note)("edt: this session is in no Git repository: everything passes.\n");
            }
            return None;
        };
        let changed = message::with_server(line, &message::server(&dir, &self.program));
        let name = message.text("sessionId");
        known.of_editor.insert(key, OfEditor::Session { dir, root, name });
        changed
    }

    /// The editor answered a request of the agent.
    fn answered_by_editor(
        &self,
        message: &Message<'_>,
        key: Option<String>,
    ) -> (Option<String>, Work) {
        let mut known = self.known();
        let asked = key.and_then(|key| known.of_agent.remove(&key));
        let Some((session, asked)) = asked else { return (None, Work::Pass) };
        let work = match asked {
            OfAgent::Write { edits } if message.result.is_some() => {
                Work::Made { tool: "fs/write_text_file", edits }
            }
            OfAgent::Write { .. } => Work::Pass,
            OfAgent::Read { path } => {
                let text = message.result::<ReadTextFileResponse>().map(|answer| answer.content);
                let disk = fs::read_file_limited(&path, MAX_FILE).ok().flatten();
                if let (Some(text), Some(session)) = (text, known.sessions.get_mut(&session)) {
                    // Editors give line ends of their own.
                    if disk.is_some_and(|disk| to_lf(&disk) != to_lf(text.as_bytes())) {
                        session.unsaved.insert(path);
                    } else {
                        session.unsaved.remove(&path);
                    }
                }
                Work::Pass
            }
            OfAgent::Permission { call, allowing } => {
                let allowed = message.result::<RequestPermissionResponse>().is_some_and(|answer| {
                    matches!(answer.outcome, RequestPermissionOutcome::Selected(selected)
                        if allowing.iter().any(|one| **one == *selected.option_id.0))
                });
                if let Some(session) = known.sessions.get_mut(&session)
                    && !allowed
                {
                    session.announced.remove(&call);
                }
                Work::Pass
            }
        };
        (Some(session), work)
    }

    /// A message of the agent.
    pub(super) fn of_agent(&self, line: Vec<u8>) -> Routed {
        let Some(message) = Message::of(&line) else { return pass(line, None) };
        let Some(method) = message.method.as_deref() else {
            let session = self.answered_by_agent(&message);
            let work = if session.is_some() { Work::End } else { Work::Pass };
            return Routed { line, session, work };
        };
        let names = &CLIENT_METHOD_NAMES;
        let Some(name) = message.text("sessionId") else { return pass(line, None) };
        if !self.known().sessions.contains_key(&name) {
            return pass(line, None);
        }
        let work = if method == names.session_update {
            self.updated(&message, &line)
        } else if let Some(id) = message.id {
            self.note_read(method, &message, &name);
            self.asked(method, &message, &name)
                .map(|asked| Work::Judge { id: id.to_owned(), asked })
        } else {
            None
        };
        Routed { line, session: Some(name), work: work.unwrap_or(Work::Pass) }
    }

    /// Remembers a request for the whole text of a file.
    fn note_read(&self, method: &str, message: &Message<'_>, session: &str) {
        if method != CLIENT_METHOD_NAMES.fs_read_text_file {
            return;
        }
        let request: Option<ReadTextFileRequest> = message.params();
        let whole = request.filter(|asked| asked.line.is_none() && asked.limit.is_none());
        if let (Some(request), Some(key)) = (whole, message.key()) {
            let asked = (session.to_owned(), OfAgent::Read { path: request.path });
            self.known().of_agent.insert(key, asked);
        }
    }

    /// The request of the agent that edt judges.
    fn asked(&self, method: &str, message: &Message<'_>, session: &str) -> Option<Asked> {
        let names = &CLIENT_METHOD_NAMES;
        if method == names.fs_write_text_file {
            let request = message.params().map(Asked::Write);
            return request.or(Some(Asked::Unreadable { is_permission: false }));
        }
        if method == names.terminal_create {
            let request = message.params().map(Asked::Terminal);
            return request.or(Some(Asked::Unreadable { is_permission: false }));
        }
        if method != names.session_request_permission {
            return None;
        }
        let Some(request) = message.params().or_else(|| with_known_options(message.params()?))
        else {
            return Some(Asked::Unreadable { is_permission: true });
        };
        let mut known = self.known();
        let calls = &mut known.sessions.get_mut(session)?.calls;
        let mut call = calls.get(&*request.tool_call.tool_call_id.0).cloned().unwrap_or_default();
        tool_call::update(&mut call, request.tool_call.fields.clone());
        Some(Asked::Permission(Box::new(Permission { call, request })))
    }

    /// Remembers what an update says of a tool call; returns the edits that it made.
    fn updated(&self, message: &Message<'_>, line: &[u8]) -> Option<Work> {
        // Most updates are pieces of the agent's text.
        memchr::memmem::find(line, b"tool_call")?;
        let SessionNotification { session_id, update, .. } = message.params()?;
        let ToolCallUpdate { tool_call_id, fields, .. } = match update {
            SessionUpdate::ToolCall(call) => call.into(),
            SessionUpdate::ToolCallUpdate(update) => update,
            _ => return None,
        };
        let mut known = self.known();
        let session = known.sessions.get_mut(&*session_id.0)?;
        let (id, status) = (tool_call_id.0.to_string(), fields.status);
        if !matches!(status, Some(ToolCallStatus::Completed | ToolCallStatus::Failed)) {
            tool_call::update(session.calls.entry(id).or_default(), fields);
            return None;
        }
        session.calls.remove(&id);
        let edits = session.announced.remove(&id)?;
        (status == Some(ToolCallStatus::Completed))
            .then_some(Work::Made { tool: "session/request_permission", edits })
    }

    /// The agent answered a request of the editor. Returns the session whose turn ends.
    fn answered_by_agent(&self, message: &Message<'_>) -> Option<String> {
        let key = message.key()?;
        let mut known = self.known();
        match known.of_editor.remove(&key)? {
            OfEditor::Prompt { session } => {
                known.sessions.get_mut(&session)?.calls.clear();
                return Some(session);
            }
            OfEditor::Session { dir, root, name } => {
                let result = message.result::<Value>()?;
                let new = result["sessionId"].as_str().map(str::to_owned);
                let session = known.sessions.entry(new.or(name)?).or_default();
                (session.dir, session.root) = (dir, root);
            }
            OfEditor::Initialize => {
                let info = message.result::<InitializeResponse>()?.agent_info?;
                let is_a_name = !info.name.trim().is_empty()
                    && info.name.len() <= 100
                    && edt_types::text::escape_controls(&info.name).1 == 0;
                known.agent = is_a_name.then_some(info.name);
            }
        }
        None
    }
}

/// A request without the options of a kind that edt does not know.
fn with_known_options(mut params: Value) -> Option<RequestPermissionRequest> {
    let options = params.get_mut("options")?.as_array_mut()?;
    options.retain(|one| serde_json::from_value::<PermissionOption>(one.clone()).is_ok());
    serde_json::from_value(params).ok()
}

fn pass(line: Vec<u8>, session: Option<String>) -> Routed {
    Routed { line, session, work: Work::Pass }
}

/// The first line of a prompt.
fn title(request: PromptRequest) -> String {
    let text = request.prompt.into_iter().find_map(|block| match block {
        ContentBlock::Text(text) => Some(text.text),
        _ => None,
    });
    text.unwrap_or_default().trim().lines().next().unwrap_or_default().to_owned()
}
