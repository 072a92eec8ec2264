//! The protocol.

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
    ListToolsResult, PaginatedRequestParams, ProgressNotificationParam, ServerCapabilities,
    ServerConfig, Tool as Listed, ToolAnnotations,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::io::stdio_pipes;
use rmcp::{ErrorData, RoleServer, ServerHandler, serve_server};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Mutex, Notify, Semaphore};

use super::worker::Worker;
use super::{Answer, Call, Effect, Pulse, Roots, Service, Tool};
use crate::telemetry::Request;

/// The longest message that is read, in bytes: a request with two files of the largest size as JSON. A longer one is dropped unread.
const MOST_MESSAGE: usize = 256 * 1024 * 1024;
/// How often a client that asked for it hears of a program that runs.
const BEAT: Duration = Duration::from_secs(1);
/// How long answers to what was asked may take once nothing more can be asked.
const FAREWELL: Duration = Duration::from_secs(8);
/// How many calls may be open; one more is told so at once.
const MOST_OPEN: usize = 512;
/// How many programs run at once; one more waits.
const MOST_PROGRAMS: usize = 8;
/// How long a client may take to tell its roots.
const PATIENCE: Duration = Duration::from_secs(2);

/// Serves until the client closes its end, or the process is asked to end; then what was begun is finished.
///
/// # Errors
/// What the system says if there can be no server.
pub fn serve(service: Service) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let worker = Arc::new(Worker::start(service.handler));
    runtime.block_on(async {
        let mut ended = signal(SignalKind::terminate())?;
        let mut interrupted = signal(SignalKind::interrupt())?;
        let mut hung_up = signal(SignalKind::hangup())?;
        let server = Server {
            tools: service.tools,
            instructions: service.instructions,
            worker: Arc::clone(&worker),
            roots: Mutex::default(),
            room: Semaphore::new(MOST_OPEN),
            programs: Semaphore::new(MOST_PROGRAMS),
        };
        let ended_input = Arc::new(Notify::new());
        let (read, write) = stdio_pipes();
        let read = Noted { read, ended: Arc::clone(&ended_input) };
        let transport =
            AsyncRwTransport::new_server(read, write).with_max_line_length(MOST_MESSAGE);
        let served = async {
            // Who closes its end before it said anything wanted nothing.
            if let Ok(running) = serve_server(server, transport).await {
                let _ = running.waiting().await;
            }
        };
        tokio::select! {
            () = served => {}
            _ = ended.recv() => {}
            _ = interrupted.recv() => {}
            _ = hung_up.recv() => {}
            // Who reads no answers any more must not keep the server alive.
            () = async { ended_input.notified().await; tokio::time::sleep(FAREWELL).await } => {}
        }
        std::io::Result::Ok(())
    })?;
    // A read of standard input that no more comes from is not waited for.
    runtime.shutdown_background();
    if let Ok(worker) = Arc::try_unwrap(worker) {
        worker.finish();
    }
    Ok(())
}

struct Server {
    tools: Vec<Tool>,
    instructions: String,
    worker: Arc<Worker>,
    /// What the client said of its roots, once it was asked.
    roots: Mutex<Option<Roots>>,
    /// How many more calls may be open, and how many programs may run.
    room: Semaphore,
    programs: Semaphore,
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let mut config = ServerConfig::new(ServerCapabilities::builder().enable_tools().build());
        config.server_info = Implementation::new("edt", env!("CARGO_PKG_VERSION"));
        config.with_instructions(self.instructions.clone())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.iter().map(listed).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(at) = self.tools.iter().position(|tool| tool.name == request.name) else {
            let names: Vec<&str> = self.tools.iter().map(|tool| tool.name).collect();
            let message =
                format!("There is no tool {:?}. The tools are {}.", request.name, names.join(", "));
            return Err(ErrorData::invalid_params(message, None));
        };
        let Ok(_open) = self.room.try_acquire() else {
            let message = format!(
                "{MOST_OPEN} calls are open: read their answers first. This one was not begun."
            );
            return Err(ErrorData::internal_error(message, None));
        };
        let effect = self.tools[at].effect;
        let _running =
            if effect == Effect::Runs { self.programs.acquire().await.ok() } else { None };
        let client = context.client_info().map(|client| client.name);
        let roots = self.roots(&context).await;
        let pulse = Arc::new(Pulse::default());
        let args = request.arguments.unwrap_or_default();
        let request = request_of(&context);
        let call = Call {
            tool: at,
            args,
            client: client.clone(),
            roots,
            request,
            pulse: Arc::clone(&pulse),
        };
        let answer = self.worker.call(call, effect);
        let answer = waited(answer, &pulse, &context).await?;
        // It repeats the whole call to its model beside an error: a file that was refused would be paid for twice.
        let repeats = client.is_some_and(|client| client.starts_with("gemini-cli"));
        let mut result = CallToolResult::success(vec![ContentBlock::text(answer.text)]);
        result.structured_content = Some(answer.json);
        result.is_error = Some(answer.refused && !repeats);
        Ok(result.into())
    }

    async fn on_roots_list_changed(&self, _: NotificationContext<RoleServer>) {
        *self.roots.lock().await = None;
    }
}

impl Server {
    /// The client's roots, asked for with its first call.
    #[expect(deprecated, reason = "clients that have roots tell them no other way")]
    async fn roots(&self, context: &RequestContext<RoleServer>) -> Roots {
        let mut known = self.roots.lock().await;
        if let Some(known) = &*known {
            return known.clone();
        }
        let has = context.client_capabilities().is_some_and(|client| client.roots.is_some());
        let roots = if !has {
            Roots::Untold
        } else if let Ok(Ok(told)) = tokio::time::timeout(PATIENCE, context.peer.list_roots()).await
        {
            Roots::Told(told.roots.iter().filter_map(|root| path(&root.uri)).collect())
        } else {
            Roots::Silent
        };
        known.insert(roots).clone()
    }
}

/// What a request says of itself: its id, the revision spoken, and the trace that it belongs to.
fn request_of(context: &RequestContext<RoleServer>) -> Request {
    let said =
        |key: &str| context.meta.0.get(key).and_then(|value| value.as_str()).map(str::to_owned);
    let spoken = || context.peer.peer_info().map(|client| client.protocol_version.to_string());
    Request {
        id: context.id.to_string(),
        version: context.meta.protocol_version().map(|version| version.to_string()).or_else(spoken),
        call: said("claudecode/toolUseId"),
        parent: said("traceparent"),
        state: said("tracestate"),
    }
}

/// A reader that tells of its end.
struct Noted<R> {
    read: R,
    ended: Arc<Notify>,
}

impl<R: AsyncRead + Unpin> AsyncRead for Noted<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        task: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.read).poll_read(task, buffer);
        if matches!(read, Poll::Ready(_)) && buffer.filled().len() == before {
            self.ended.notify_one();
        }
        read
    }
}

/// Waits for an answer; tells the client of it meanwhile, and the call if the client wants it no more.
async fn waited(
    mut answer: tokio::sync::oneshot::Receiver<Answer>,
    pulse: &Pulse,
    context: &RequestContext<RoleServer>,
) -> Result<Answer, ErrorData> {
    let mut token = context.meta.get_progress_token();
    let mut seconds = 0_u32;
    loop {
        let beat = async {
            if token.is_some() {
                tokio::time::sleep(BEAT).await
            } else {
                std::future::pending().await
            }
        };
        tokio::select! {
            answer = &mut answer => {
                return answer.map_err(|_| ErrorData::internal_error("The server ends; the call was not begun.", None));
            }
            () = context.ct.cancelled(), if !pulse.is_stopped() => pulse.stop(),
            () = beat => {
                seconds += 1;
                let Some(one) = token.take() else { continue };
                let message = format!("{seconds} s, {} bytes of output", pulse.bytes());
                let told = ProgressNotificationParam::new(one.clone(), f64::from(seconds)).with_message(message);
                // Who does not listen is told no more: the answer must not wait for that.
                if let Ok(Ok(())) = tokio::time::timeout(BEAT, context.peer.notify_progress(told)).await {
                    token = Some(one);
                }
            }
        }
    }
}

fn listed(tool: &Tool) -> Listed {
    let annotations = ToolAnnotations::new()
        .read_only(tool.effect == Effect::Reads)
        .destructive(tool.effect == Effect::Lands)
        .idempotent(tool.effect == Effect::Reads)
        .open_world(tool.effect == Effect::Runs);
    Listed::new(tool.name, tool.about, tool.input.clone())
        .with_raw_output_schema(Arc::new(tool.output.clone()))
        .with_annotations(annotations)
}

/// The path of a `file:` URI of this machine.
fn path(uri: &str) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt as _;
    let (scheme, rest) = uri.split_once(':')?;
    let host =
        rest.strip_prefix("//").map(|rest| rest.split_at(rest.find('/').unwrap_or(rest.len())));
    let (host, rest) = host.unwrap_or(("", rest));
    let ours = host.is_empty() || host.eq_ignore_ascii_case("localhost");
    if !scheme.eq_ignore_ascii_case("file") || !ours || !rest.starts_with('/') {
        return None;
    }
    let (mut bytes, mut at) = (Vec::new(), 0);
    while let Some(&byte) = rest.as_bytes().get(at) {
        let digits = if byte == b'%' { rest.get(at + 1..at + 3) } else { None };
        let digits = digits.filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        let code = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(code.unwrap_or(byte));
        at += if code.is_some() { 3 } else { 1 };
    }
    Some(PathBuf::from(std::ffi::OsString::from_vec(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_are_folders_of_this_machine() {
        let told = |uri: &str| path(uri).map(|path| path.display().to_string());
        for uri in ["file:///a%20b", "file:/a%20b", "FILE:///a%20b", "file://localhost/a%20b"] {
            assert_eq!(told(uri).as_deref(), Some("/a b"), "{uri}");
        }
        assert_eq!(told("file:///100%").as_deref(), Some("/100%"));
        assert_eq!(told("file:///%+1").as_deref(), Some("/%+1"));
        for uri in ["http://a/b", "file://host/a", "/a", "file://", "file:a", ""] {
            assert_eq!(told(uri), None, "{uri}");
        }
    }
}
