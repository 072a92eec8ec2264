//! What edt reads of a message, and the messages that it makes. A message that has a key twice means
//! its last value, as in most programs.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use agent_client_protocol_schema::{
    Error, McpServerStdio, RequestPermissionOutcome, RequestPermissionResponse,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;

/// The code of a refusal, one of those that JSON-RPC leaves to servers and the protocol does not use.
const REFUSED: i32 = -32010;

/// A JSON object whose values were not parsed.
pub(super) type Members<'a> = BTreeMap<String, &'a RawValue>;

/// The parts of a JSON-RPC message.
#[derive(Debug)]
pub(super) struct Message<'a> {
    pub(super) id: Option<&'a RawValue>,
    /// `None` for a response.
    pub(super) method: Option<String>,
    pub(super) params: Option<&'a RawValue>,
    /// `None` for an error.
    pub(super) result: Option<&'a RawValue>,
}

impl<'a> Message<'a> {
    /// `None` if the line is not one JSON object.
    pub(super) fn of(line: &'a [u8]) -> Option<Message<'a>> {
        let members: Members<'a> = serde_json::from_slice(line).ok()?;
        let get = |key: &str| members.get(key).copied();
        let method = match get("method") {
            Some(method) => Some(serde_json::from_str(method.get()).ok()?),
            None => None,
        };
        let id = get("id").filter(|id| id.get() != "null");
        Some(Message { id, method, params: get("params"), result: get("result") })
    }

    /// The id, the same for every way in which JSON can write it.
    pub(super) fn key(&self) -> Option<String> {
        let id: Value = serde_json::from_str(self.id?.get()).ok()?;
        Some(id.to_string())
    }

    /// The members of the parameters.
    pub(super) fn members(&self) -> Members<'a> {
        self.params.and_then(|all| serde_json::from_str(all.get()).ok()).unwrap_or_default()
    }

    /// The text at `key` of the parameters.
    pub(super) fn text(&self, key: &str) -> Option<String> {
        serde_json::from_str(self.members().get(key)?.get()).ok()
    }

    /// The parameters; `None` if they have another shape.
    pub(super) fn params<T: DeserializeOwned>(&self) -> Option<T> {
        of_last(self.params?)
    }

    /// The result; `None` for an error, or if it has another shape.
    pub(super) fn result<T: DeserializeOwned>(&self) -> Option<T> {
        of_last(self.result?)
    }
}

/// A value without the earlier ones of a key that it has several times.
fn of_last<T: DeserializeOwned>(text: &RawValue) -> Option<T> {
    serde_json::from_value(serde_json::from_str(text.get()).ok()?).ok()
}

/// The line of a request with edt's MCP server `server`, at the end of its list of servers; `None` if
/// one of them is named `edt` already, or the list is no list.
pub(super) fn with_server(line: &[u8], server: &McpServerStdio) -> Option<Vec<u8>> {
    let message = Message::of(line)?;
    let server = serde_json::to_string(server).ok()?;
    let params = message.params?;
    let members = message.members();
    let listed = members.get("mcpServers").copied().filter(|list| list.get() != "null");
    let (range, text) = match (listed, members.get("mcpServers")) {
        (Some(list), _) => {
            let known: Vec<Value> = serde_json::from_str(list.get()).ok()?;
            if known.iter().any(|one| one["name"] == "edt") {
                return None;
            }
            let end = place(line, list).end - 1;
            let comma = if known.is_empty() { "" } else { "," };
            (end..end, format!("{comma}{server}"))
        }
        (None, Some(null)) => (place(line, null), format!("[{server}]")),
        (None, None) => {
            let start = place(line, params).start + 1;
            let comma = if members.is_empty() { "" } else { "," };
            (start..start, format!("\"mcpServers\":[{server}]{comma}"))
        }
    };
    Some([&line[..range.start], text.as_bytes(), &line[range.end..]].concat())
}

/// Where `part`, which was read from `line`, is in it.
fn place(line: &[u8], part: &RawValue) -> Range<usize> {
    let start = part.get().as_ptr().addr() - line.as_ptr().addr();
    start..start + part.get().len()
}

/// edt's MCP server for a session in `dir`.
pub(super) fn server(dir: &Path, program: &Path) -> McpServerStdio {
    let dir = dir.to_string_lossy().into_owned();
    McpServerStdio::new("edt", program).args(vec!["-C".to_owned(), dir, "mcp".to_owned()])
}

/// The response of a refused request.
pub(super) fn refusal(id: &RawValue, why: &str) -> Vec<u8> {
    response(id, "error", &Error::new(REFUSED, why))
}

/// The response of a request for permission.
pub(super) fn choice(id: &RawValue, outcome: RequestPermissionOutcome) -> Vec<u8> {
    response(id, "result", &RequestPermissionResponse::new(outcome))
}

fn response<T: Serialize>(id: &RawValue, key: &str, value: &T) -> Vec<u8> {
    let value = serde_json::to_string(value).unwrap_or_default();
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"{key}\":{value}}}\n", id.get()).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added(params: &str) -> Option<String> {
        let line = format!(r#"{{"id" : 1,"method":"session/new", "params": {params} }}"#);
        let line = with_server(line.as_bytes(), &server(Path::new("/w"), Path::new("/bin/edt")))?;
        Some(String::from_utf8(line).unwrap())
    }

    #[test]
    fn the_server_is_added_and_all_other_bytes_stay() {
        let edt = r#"{"name":"edt","command":"/bin/edt","args":["-C","/w","mcp"],"env":[]}"#;
        for (params, expected) in [
            (r#"{ "cwd":"/w" ,"mcpServers" : [ ]}"#, r#"{ "cwd":"/w" ,"mcpServers" : [ EDT]}"#),
            (r#"{"mcpServers":[{"name":"a"} ]}"#, r#"{"mcpServers":[{"name":"a"} ,EDT]}"#),
            (r#"{"mcpServers":null,"x":1.0}"#, r#"{"mcpServers":[EDT],"x":1.0}"#),
            (r#"{"x":1e2}"#, r#"{"mcpServers":[EDT],"x":1e2}"#),
            ("{}", r#"{"mcpServers":[EDT]}"#),
        ] {
            let params_then = expected.replace("EDT", edt);
            let line = format!(r#"{{"id" : 1,"method":"session/new", "params": {params_then} }}"#);
            assert_eq!(added(params), Some(line), "{params}");
        }
    }

    #[test]
    fn a_server_of_that_name_stays_the_only_one() {
        assert_eq!(added(r#"{"mcpServers":[{"name":"edt","command":"x"}]}"#), None);
        assert_eq!(added(r#"{"mcpServers":"none"}"#), None);
    }

    #[test]
    fn the_last_value_of_a_key_counts() {
        let line = br#"{"method":"a","id":1,"method":"b","params":{"x":"1","x":"2"}}"#;
        let message = Message::of(line).unwrap();
        assert_eq!(
            (message.method.as_deref(), message.text("x").as_deref()),
            (Some("b"), Some("2"))
        );
        assert!(Message::of(b"[1]").is_none() && Message::of(b"{\"a\":").is_none());
    }
}
