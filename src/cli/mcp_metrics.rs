//! `edt mcp --metrics`: what is counted of a call.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::context::Context;
use crate::mcp::metrics::{self, AnsweredCall, Metrics};
use edt_core::txn::tried;
use edt_edit::Mode;
use edt_journal::refusals::Format;
use edt_types::{Code, Finding, Result, Status};

/// Listens at `address`, and says where.
///
/// # Errors
/// `BAD_REQUEST` if it is no address of this machine alone, or cannot be used.
pub(super) fn listen(context: &Context, address: &str) -> Result<(TcpListener, Arc<Metrics>)> {
    let remedy = "Send --metrics with a loopback address and a port, such as 127.0.0.1:9464.";
    let bad = |message: String| Finding::new(Code::BadRequest, message, remedy);
    let parsed: SocketAddr = address
        .parse()
        .map_err(|_| bad(format!("--metrics is {address:?}, which is no address and port.")))?;
    if !parsed.ip().is_loopback() {
        let message = format!("--metrics is {parsed}, which other machines may reach.");
        return Err(bad(message).into());
    }
    let listener = metrics::listen(parsed)
        .map_err(|error| bad(format!("--metrics cannot listen at {parsed}: {error}.")))?;
    let shown = listener.local_addr().unwrap_or(parsed);
    context.note(&format!("edt: metrics at http://{shown}/metrics\n"));
    Ok((listener, Arc::new(Metrics::new())))
}

/// The modes that the arguments of `apply` name, each once; `patch` for a patch.
pub(super) fn modes(args: &Value) -> Vec<String> {
    let edits = tried::of_json(args.to_string().as_bytes()).edits.into_iter();
    let mut modes: Vec<String> = edits
        .filter_map(|edit| match edit.format {
            Format::Patch => Some("patch".to_owned()),
            _ => edit.mode,
        })
        // A name that is no mode would make a series of its own.
        .filter(|name| name == "patch" || Mode::ALL.iter().any(|mode| mode.name() == name))
        .collect();
    modes.sort_unstable();
    modes.dedup();
    modes
}

/// What is counted of a call of `tool` that was answered with `json`.
pub(super) fn counted<'a>(
    tool: &'static str,
    status: Status,
    json: &'a Value,
    modes: &'a [String],
    duration: Duration,
) -> AnsweredCall<'a> {
    let errors = json["errors"].as_array().into_iter().flatten();
    let mut codes: Vec<&str> = errors.filter_map(|error| error["code"].as_str()).collect();
    codes.sort_unstable();
    codes.dedup();
    let has_landed = status == Status::Applied;
    let modes = modes.iter().filter(|_| has_landed).map(String::as_str).collect();
    let session = json["session"]["name"].as_str();
    let remaining = session.zip(json["remaining_edits"].as_u64());
    AnsweredCall { tool, status: status.name(), duration, codes, modes, remaining }
}
