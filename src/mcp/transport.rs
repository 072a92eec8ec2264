//! Standard input and output: one message a line. The SDK ignores a line that it cannot parse, so
//! its client would wait for ever; this transport answers it.

use std::io::{Error, ErrorKind, Result};
use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::{Notify, mpsc, oneshot};

use super::line::{EndedLine, Excess, Line};

/// The largest message that is read, in bytes: a request with two files of the largest size as
/// JSON. A larger message is not kept.
const MAX_MESSAGE: usize = 256 * 1024 * 1024;
/// How many answers wait to be written before no more lines are answered.
const MAX_WAITING: usize = 64;

/// What JSON-RPC calls a message that is no JSON.
const PARSE_ERROR: i32 = -32700;
/// What JSON-RPC calls JSON that is no message.
const INVALID_REQUEST: i32 = -32600;

/// A line to write, and who waits until it is written.
type Outgoing = (Vec<u8>, Option<oneshot::Sender<Result<()>>>);

/// The messages of one client.
pub(super) struct Lines<R> {
    read: BufReader<R>,
    line: Line,
    ended: Arc<Notify>,
    /// The answer to a line that cannot be parsed, until the writer has taken it.
    unsent: Option<Vec<u8>>,
    outbox: Option<mpsc::Sender<Outgoing>>,
}

/// The messages that `read` has, and a task that writes to `write` until they and their answers have
/// ended. `ended` is notified at the end of the input.
pub(super) fn lines<R: AsyncRead + Unpin, W: AsyncWrite + Unpin>(
    read: R,
    mut write: W,
    ended: Arc<Notify>,
) -> (Lines<R>, impl Future<Output = ()>) {
    let (outbox, mut waiting) = mpsc::channel::<Outgoing>(MAX_WAITING);
    let writer = async move {
        while let Some((line, reply)) = waiting.recv().await {
            let written = match write.write_all(&line).await {
                Ok(()) => write.flush().await,
                failed => failed,
            };
            if let Some(reply) = reply {
                let _ = reply.send(written);
            }
        }
    };
    let (read, line) = (BufReader::new(read), Line::new(MAX_MESSAGE));
    (Lines { read, line, ended, unsent: None, outbox: Some(outbox) }, writer)
}

impl<R: AsyncRead + Send + Unpin> Transport<RoleServer> for Lines<R> {
    type Error = Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<()>> + Send + 'static {
        let outbox = self.outbox.clone();
        async move {
            let closed = || Error::from(ErrorKind::NotConnected);
            let mut line = serde_json::to_vec(&message)?;
            line.push(b'\n');
            let (reply, written) = oneshot::channel();
            let sent = outbox.ok_or_else(closed)?.send((line, Some(reply))).await;
            sent.map_err(|_| closed())?;
            written.await.map_err(|_| closed())?
        }
    }

    /// The next message. The SDK drops this future whenever it has other work, so everything that is
    /// begun is kept in `self`.
    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if self.unsent.is_some() {
                let permit = self.outbox.as_ref()?.reserve().await.ok()?;
                permit.send((self.unsent.take()?, None));
            }
            let chunk = self.read.fill_buf().await.unwrap_or_default();
            let at_end = chunk.is_empty();
            let (taken, ended) = if at_end {
                self.ended.notify_one();
                // The last line may have no end.
                if !self.line.has_begun() {
                    return None;
                }
                self.line.take(b"\n")
            } else {
                self.line.take(chunk)
            };
            let taken = if at_end { 0 } else { taken };
            self.read.consume(taken);
            match ended.map(parsed) {
                Some(Ok(Some(message))) => return Some(message),
                Some(Err(answer)) => self.unsent = Some(format!("{answer}\n").into_bytes()),
                Some(Ok(None)) | None => {}
            }
        }
    }

    async fn close(&mut self) -> Result<()> {
        self.outbox = None;
        Ok(())
    }
}

/// The message of a line; `None` for a blank line, or a notification that is not understood.
///
/// # Errors
/// The answer to a line that is no message.
fn parsed(line: EndedLine) -> std::result::Result<Option<RxJsonRpcMessage<RoleServer>>, Value> {
    let refused = |code: i32, message: String| {
        let error = json!({"code": code, "message": message});
        json!({"jsonrpc": "2.0", "id": line.id, "error": error})
    };
    let bytes = line.bytes.map_err(|excess| refused(PARSE_ERROR, too_large(excess)))?;
    let text = bytes.strip_prefix(edt_types::text::BOM).unwrap_or(&bytes);
    if text.trim_ascii().is_empty() {
        return Ok(None);
    }
    match serde_json::from_slice(text) {
        Ok(message) => Ok(Some(message)),
        Err(error) if !error.is_data() => Err(refused(PARSE_ERROR, not_json(&error.to_string()))),
        Err(_) if line.is_notification => Ok(None),
        Err(error) => {
            let message = format!("The message is no request of the protocol: {error}.");
            Err(refused(INVALID_REQUEST, message))
        }
    }
}

fn too_large(excess: Excess) -> String {
    let what = match excess {
        Excess::Bytes(most) => format!("more than {most} bytes"),
        Excess::Values(most) => format!("more than {most} values"),
    };
    format!(
        "The message has {what}, which is edt's limit. It was not read, and nothing was changed. \
         Send less in one call."
    )
}

fn not_json(error: &str) -> String {
    let hint = if error.contains("hex escape") {
        "Half of a surrogate pair, such as \\ud83d, is no character: send both halves or neither."
    } else if error.contains("unicode code point") {
        "Send UTF-8."
    } else {
        "Send one JSON object in one line."
    };
    format!("The message is not valid JSON: {error}. Nothing was changed. {hint}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is received from `input`, and what is answered meanwhile.
    fn received(input: &[u8]) -> (usize, Vec<Value>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut written = Vec::new();
            let (mut lines, writer) = lines(input, &mut written, Arc::new(Notify::new()));
            let messages = async move {
                let mut messages = 0;
                while lines.receive().await.is_some() {
                    messages += 1;
                }
                messages
            };
            let (messages, ()) = tokio::join!(messages, writer);
            let answers = String::from_utf8(written).unwrap();
            let answers = answers.lines().map(|line| serde_json::from_str(line).unwrap());
            (messages, answers.collect())
        })
    }

    /// The code and the id of the only answer to `line`.
    #[track_caller]
    fn refused(line: &[u8]) -> (Value, Value) {
        let next = b"\n{\"jsonrpc\":\"2.0\",\"id\":99,\"method\":\"ping\"}\n";
        let (messages, answers) = received(&[line, next].concat());
        let [answer] = answers.as_slice() else { panic!("{answers:?}") };
        assert_eq!(messages, 1, "the next message is read");
        (answer["error"]["code"].clone(), answer["id"].clone())
    }

    #[test]
    fn a_line_that_is_no_json_is_answered_with_its_id() {
        let call = |text: &[u8]| {
            let start: &[u8] =
                b"{\"method\":\"tools/call\",\"params\":{\"name\":\"apply\",\"arguments\":{\"a\":";
            [start, text, b"}},\"jsonrpc\":\"2.0\",\"id\":7}"].concat()
        };
        for text in [&b"\"x\\ud83d\""[..], b"\"\\udc00\"", b"\"caf\xe9\"", b"nul", b"\"\t\""] {
            assert_eq!(refused(&call(text)), (json!(PARSE_ERROR), json!(7)), "{text:?}");
        }
        let deep = "[".repeat(200) + &"]".repeat(200);
        assert_eq!(refused(&call(deep.as_bytes())), (json!(PARSE_ERROR), json!(7)));
        assert_eq!(refused(b"not json"), (json!(PARSE_ERROR), Value::Null));
    }

    #[test]
    fn json_that_is_no_message_is_an_invalid_request() {
        assert_eq!(refused(b"[]"), (json!(INVALID_REQUEST), Value::Null));
        let line = b"{\"jsonrpc\":\"1.0\",\"id\":\"a\",\"method\":\"ping\"}";
        assert_eq!(refused(line), (json!(INVALID_REQUEST), json!("a")));
    }

    #[test]
    fn blank_lines_and_odd_notifications_get_no_answer() {
        let lines = b"\n  \r\n{\"method\":\"$/other\",\"params\":7}\n";
        assert_eq!(received(lines), (0, vec![]));
    }

    #[test]
    fn half_a_surrogate_is_named() {
        assert!(not_json("unexpected end of hex escape at line 1").contains("surrogate"));
    }
}
