//! The protocol.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest,
    CustomResult, ErrorCode, Implementation, ListToolsResult, PaginatedRequestParams,
    ProgressNotificationParam, ServerCapabilities, ServerConfig, Tool as Listed, ToolAnnotations,
};
use rmcp::service::{NotificationContext, RequestContext, ServiceError};
use rmcp::transport::io::stdio_pipes;
use rmcp::{ErrorData, RoleServer, ServerHandler, serve_server};
use serde_json::Value;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Mutex, Notify, Semaphore};

use super::transport::lines;
use super::worker::Worker;
use super::{CallProgress, RequestInfo, Roots, Service, Tool, ToolAnswer, ToolCall, ToolEffect};

/// The interval of progress notifications.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(1);
/// The time for open calls to finish after the input ended.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(8);
/// The maximum number of open calls; a further call is refused.
const MAX_OPEN: usize = 512;
/// The maximum number of programs that run at the same time; a further call waits.
const MAX_PROGRAMS: usize = 8;
/// The time limit for the client's answer to the request for its roots.
const ROOTS_TIMEOUT: Duration = Duration::from_secs(2);
/// How the names of clients begin that repeat a call with its error: Gemini CLI and Qwen Code.
const REPEATING: [&str; 2] = ["gemini-cli", "qwen-"];

/// Serves until the client closes the connection or a signal ends the process; then calls that were
/// begun are finished.
///
/// # Errors
/// The system's error if the server cannot be started.
pub(crate) fn serve(service: Service) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let worker = Arc::new(Worker::start(service.handler));
    runtime.block_on(async {
        let mut ended = signal(SignalKind::terminate())?;
        let mut interrupted = signal(SignalKind::interrupt())?;
        let mut hung_up = signal(SignalKind::hangup())?;
        let server = Server {
            tools: service.tools,
            instructions: service.instructions,
            unknown_tool: service.unknown_tool,
            worker: Arc::clone(&worker),
            roots: Mutex::default(),
            open_calls: Semaphore::new(MAX_OPEN),
            programs: Semaphore::new(MAX_PROGRAMS),
        };
        #[cfg(feature = "metrics")]
        if let Some((listener, metrics)) = service.metrics {
            tokio::spawn(super::metrics::serve(listener, metrics));
        }
        let ended_input = Arc::new(Notify::new());
        let (read, write) = stdio_pipes();
        let (transport, writer) = lines(read, write, Arc::clone(&ended_input));
        let writer = tokio::spawn(writer);
        let served = async {
            // A client may close the connection before its first message.
            if let Ok(running) = serve_server(server, transport).await {
                let _ = running.waiting().await;
            }
            let _ = writer.await;
        };
        tokio::select! {
            () = served => {}
            _ = ended.recv() => {}
            _ = interrupted.recv() => {}
            _ = hung_up.recv() => {}
            // A client that no longer reads answers must not keep the server alive.
            () = async { ended_input.notified().await; tokio::time::sleep(SHUTDOWN_LIMIT).await } => {}
        }
        std::io::Result::Ok(())
    })?;
    // Do not wait for a pending read of standard input.
    runtime.shutdown_background();
    if let Ok(worker) = Arc::try_unwrap(worker) {
        worker.finish();
    }
    Ok(())
}

struct Server {
    tools: Vec<Tool>,
    instructions: String,
    unknown_tool: Box<dyn Fn(&str) -> String + Send + Sync>,
    worker: Arc<Worker>,
    /// The client's roots, after the first request for them.
    roots: Mutex<Option<Roots>>,
    /// Permits for open calls.
    open_calls: Semaphore,
    /// Permits for running programs.
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
        let args = request.arguments.unwrap_or_default();
        Ok(self.call(&request.name, args.into(), &context).await?.into())
    }

    /// A call whose parameters do not have the types of the protocol.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if request.method != "tools/call" {
            let message = format!("There is no method {:?} with these `params`.", request.method);
            return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None));
        }
        let mut params = request.params.unwrap_or_default();
        let args = params.get_mut("arguments").map(Value::take).unwrap_or_default();
        let Some(name) = params["name"].as_str() else {
            let message = "`params.name` must be a string, the name of a tool.";
            return Err(ErrorData::invalid_params(message, None));
        };
        let result = self.call(name, args, &context).await?;
        Ok(CustomResult::new(serde_json::to_value(result).unwrap_or_default()))
    }

    async fn on_roots_list_changed(&self, _: NotificationContext<RoleServer>) {
        *self.roots.lock().await = None;
    }
}

impl Server {
    async fn call(
        &self,
        name: &str,
        args: Value,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        let Some(at) = self.tools.iter().position(|tool| tool.name == name) else {
            return Err(ErrorData::invalid_params((self.unknown_tool)(name), None));
        };
        let Ok(_open) = self.open_calls.try_acquire() else {
            let message = format!(
                "{MAX_OPEN} calls are open: read their answers first. This call was not started."
            );
            return Err(ErrorData::internal_error(message, None));
        };
        let effect = self.tools[at].effect;
        let _running =
            if effect == ToolEffect::Runs { self.programs.acquire().await.ok() } else { None };
        let client = context.client_info().map(|client| client.name);
        let roots = self.roots(context).await;
        let progress = Arc::new(CallProgress::default());
        let call = ToolCall {
            tool: at,
            args,
            client: client.clone(),
            roots,
            request: request_of(context),
            meta: context.meta.0.0.clone(),
            progress: Arc::clone(&progress),
        };
        let answer = self.worker.call(call, effect);
        let answer = wait_for_answer(answer, &progress, context).await?;
        // These repeat the complete call to their model with every error, so a refused file would be
        // billed twice.
        let repeats =
            client.is_some_and(|client| REPEATING.iter().any(|name| client.starts_with(name)));
        let mut result = CallToolResult::success(vec![ContentBlock::text(answer.text)]);
        result.structured_content = Some(answer.json);
        result.is_error = Some(answer.refused && !repeats);
        Ok(result)
    }

    /// The client's roots, requested with its first call.
    #[expect(deprecated, reason = "clients offer no other way to read their roots")]
    async fn roots(&self, context: &RequestContext<RoleServer>) -> Roots {
        let mut known = self.roots.lock().await;
        if let Some(known) = &*known {
            return known.clone();
        }
        let has = context.client_capabilities().is_some_and(|client| client.roots.is_some());
        if !has {
            return known.insert(Roots::Unsupported).clone();
        }
        let answered = tokio::time::timeout(ROOTS_TIMEOUT, context.peer.list_roots()).await;
        let roots = match answered {
            Ok(Ok(answered)) => roots_of(answered.roots.iter().map(|root| root.uri.as_str())),
            // An answer that has no list of roots.
            Ok(Err(ServiceError::UnexpectedResponse)) => Roots::Unsupported,
            Ok(Err(_)) | Err(_) => Roots::Unanswered,
        };
        known.insert(roots).clone()
    }
}

/// The roots that are files. A client that names none of them does not say where it works.
fn roots_of<'r>(uris: impl Iterator<Item = &'r str>) -> Roots {
    let is_file = |uri: &&str| {
        uri.split_once(':').is_some_and(|(scheme, _)| scheme.eq_ignore_ascii_case("file"))
    };
    let files: Vec<&str> = uris.filter(is_file).collect();
    if files.is_empty() {
        return Roots::Unsupported;
    }
    Roots::Known(files.into_iter().filter_map(path).collect())
}

/// The id of a request and its protocol revision.
fn request_of(context: &RequestContext<RoleServer>) -> RequestInfo {
    let spoken = || context.peer.peer_info().map(|client| client.protocol_version.to_string());
    RequestInfo {
        id: context.id.to_string(),
        version: context.meta.protocol_version().map(|version| version.to_string()).or_else(spoken),
    }
}

/// Waits for an answer. Meanwhile sends progress to the client, and passes the client's
/// cancellation to the call.
async fn wait_for_answer(
    mut answer: tokio::sync::oneshot::Receiver<ToolAnswer>,
    progress: &CallProgress,
    context: &RequestContext<RoleServer>,
) -> Result<ToolAnswer, ErrorData> {
    let mut token = context.meta.get_progress_token();
    let mut seconds = 0_u32;
    loop {
        let next_report = async {
            if token.is_some() {
                tokio::time::sleep(PROGRESS_INTERVAL).await;
            } else {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            answer = &mut answer => {
                return answer.map_err(|_| ErrorData::internal_error("The server is shutting down; the call was not started.", None));
            }
            () = context.ct.cancelled(), if !progress.is_stopped() => progress.stop(),
            () = next_report => {
                seconds += 1;
                let Some(one) = token.take() else { continue };
                let message = format!("{seconds} s, {} bytes of output", progress.bytes());
                let answered = ProgressNotificationParam::new(one.clone(), f64::from(seconds)).with_message(message);
                // After a failure no more progress is sent, so that the answer does not wait for
                // it.
                if let Ok(Ok(())) = tokio::time::timeout(PROGRESS_INTERVAL, context.peer.notify_progress(answered)).await {
                    token = Some(one);
                }
            }
        }
    }
}

fn listed(tool: &Tool) -> Listed {
    let annotations = ToolAnnotations::new()
        .read_only(tool.effect == ToolEffect::Reads)
        .destructive(tool.effect == ToolEffect::Lands)
        .idempotent(tool.effect == ToolEffect::Reads)
        .open_world(tool.effect == ToolEffect::Runs);
    Listed::new(tool.name, tool.about, tool.input.clone()).with_annotations(annotations)
}

/// The path of a `file:` URI on this machine.
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
    fn a_client_without_a_root_that_is_a_file_has_none() {
        assert_eq!(roots_of([].into_iter()), Roots::Unsupported);
        assert_eq!(roots_of(["https://a/b", "a", ""].into_iter()), Roots::Unsupported);
        let known = roots_of(["https://a/b", "file:///c"].into_iter());
        assert_eq!(known, Roots::Known(vec!["/c".into()]));
        // A directory of another machine is a root.
        assert_eq!(roots_of(["file://host/a"].into_iter()), Roots::Known(vec![]));
    }

    #[test]
    fn roots_are_local_directories() {
        let answered = |uri: &str| path(uri).map(|path| path.display().to_string());
        for uri in ["file:///a%20b", "file:/a%20b", "FILE:///a%20b", "file://localhost/a%20b"] {
            assert_eq!(answered(uri).as_deref(), Some("/a b"), "{uri}");
        }
        assert_eq!(answered("file:///100%").as_deref(), Some("/100%"));
        assert_eq!(answered("file:///%+1").as_deref(), Some("/%+1"));
        for uri in ["http://a/b", "file://host/a", "/a", "file://", "file:a", ""] {
            assert_eq!(answered(uri), None, "{uri}");
        }
    }
}
