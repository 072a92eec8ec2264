//! One message as it arrives: its bytes within limits, and its id even if it cannot be parsed.

use serde_json::Value;

/// The number of values in one message: a parsed value takes up to 100 times its text, so the
/// length of a message is no bound of its memory.
const MAX_VALUES: usize = 500_000;
/// The longest id that an error repeats, in bytes.
const MAX_ID: usize = 256;

/// Which limit a message exceeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Excess {
    /// It is longer than this many bytes.
    Bytes(usize),
    /// It has more than this many values.
    Values(usize),
}

/// The line that is being read. One that exceeds a limit is not kept, but followed to its end.
#[derive(Debug)]
pub(super) struct Line {
    max_bytes: usize,
    bytes: Vec<u8>,
    excess: Option<Excess>,
    scan: Scan,
}

/// A line that has ended.
#[derive(Debug)]
pub(super) struct EndedLine {
    /// Its bytes without the line end, or the limit that it exceeds.
    pub bytes: Result<Vec<u8>, Excess>,
    /// The id of the request that it seems to be; else null.
    pub id: Value,
    /// Whether it seems to be a notification, which gets no answer.
    pub is_notification: bool,
}

impl Line {
    pub(super) fn new(max_bytes: usize) -> Line {
        Line { max_bytes, bytes: Vec::new(), excess: None, scan: Scan::default() }
    }

    /// Whether something of the line was read.
    pub(super) fn has_begun(&self) -> bool {
        !self.bytes.is_empty() || self.excess.is_some()
    }

    /// Takes bytes up to the end of the line. Returns how many were taken, and the line if it ended.
    pub(super) fn take(&mut self, chunk: &[u8]) -> (usize, Option<EndedLine>) {
        let end = memchr::memchr(b'\n', chunk);
        let part = &chunk[..end.unwrap_or(chunk.len())];
        part.iter().for_each(|byte| self.scan.see(*byte));
        if self.bytes.len() + part.len() > self.max_bytes {
            self.excess.get_or_insert(Excess::Bytes(self.max_bytes));
        } else if self.scan.values > MAX_VALUES {
            self.excess.get_or_insert(Excess::Values(MAX_VALUES));
        }
        if self.excess.is_some() {
            self.bytes = Vec::new();
        } else {
            self.bytes.extend_from_slice(part);
        }
        let Some(end) = end else { return (part.len(), None) };
        let line = std::mem::replace(self, Line::new(self.max_bytes));
        let ended = EndedLine {
            id: line.scan.id_of_request(),
            is_notification: line.scan.has_method && line.scan.id.is_none(),
            bytes: line.excess.map_or(Ok(line.bytes), Err),
        };
        (end + 1, Some(ended))
    }
}

/// Finds the keys `id` and `method` of the outermost object, wherever they are.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
struct Scan {
    values: usize,
    depth: usize,
    in_string: bool,
    after_backslash: bool,
    /// What was read of the present key or value of the outermost object.
    token: Vec<u8>,
    /// Whether the token is longer than any id, or no text and no number.
    no_id: bool,
    key: Option<Vec<u8>>,
    id: Option<Vec<u8>>,
    has_method: bool,
}

impl Scan {
    fn see(&mut self, byte: u8) {
        if self.in_string {
            let ends = byte == b'"' && !self.after_backslash;
            self.after_backslash = byte == b'\\' && !self.after_backslash;
            self.in_string = !ends;
            return self.keep(byte);
        }
        match byte {
            b'"' => {
                self.in_string = true;
                self.keep(byte);
            }
            b'{' | b'[' => {
                self.values += 1;
                self.no_id |= self.depth == 1;
                self.depth += 1;
            }
            b'}' | b']' => {
                if self.depth == 1 {
                    self.end_value();
                }
                self.depth = self.depth.saturating_sub(1);
            }
            b',' => {
                self.values += 1;
                if self.depth == 1 {
                    self.end_value();
                }
            }
            b':' if self.depth == 1 => {
                self.key = Some(std::mem::take(&mut self.token));
                self.no_id = false;
            }
            _ if byte.is_ascii_whitespace() => {}
            _ => self.keep(byte),
        }
    }

    fn keep(&mut self, byte: u8) {
        if self.depth != 1 {
        } else if self.token.len() < MAX_ID {
            self.token.push(byte);
        } else {
            self.no_id = true;
        }
    }

    fn end_value(&mut self) {
        let value = std::mem::take(&mut self.token);
        match self.key.take().as_deref() {
            Some(b"\"id\"") if !self.no_id => self.id = Some(value),
            Some(b"\"id\"") => self.id = Some(b"null".to_vec()),
            Some(b"\"method\"") => self.has_method = true,
            _ => {}
        }
        self.no_id = false;
    }

    /// The id, if the message is a request: a response has the id of one of the server's requests.
    fn id_of_request(&self) -> Value {
        let id = self.id.as_deref().filter(|_| self.has_method);
        let id = id.and_then(|id| serde_json::from_slice::<Value>(id).ok());
        id.filter(|id| id.is_string() || id.is_i64() || id.is_u64()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The first line of `pieces`.
    fn line(max_bytes: usize, pieces: &[&[u8]]) -> EndedLine {
        let mut line = Line::new(max_bytes);
        pieces.iter().find_map(|piece| line.take(piece).1).unwrap()
    }

    fn id(text: &str) -> Value {
        line(1 << 20, &[text.as_bytes(), b"\n"]).id
    }

    #[test]
    fn the_id_of_a_request_is_found_wherever_it_is() {
        assert_eq!(id(r#"{"jsonrpc":"2.0","id":7,"method":"m","params":{"id":8}}"#), json!(7));
        assert_eq!(
            id(r#"{"method":"m","params":{"a":["}\"",{"id":8}]},"id": "a-1"}"#),
            json!("a-1")
        );
        assert_eq!(id("{\"method\":\"m\",\"params\":\"\\ud800\",\"id\":-3}"), json!(-3));
        assert_eq!(id(r#"{"id":5,"method":"m","params":{"cut"#), json!(5));
    }

    #[test]
    fn what_is_no_request_has_no_id() {
        for text in [
            r#"{"id":7,"result":{}}"#,
            r#"{"id":{"a":1},"method":"m"}"#,
            r#"{"id":[1],"method":"m"}"#,
            r#"{"id":1.5,"method":"m"}"#,
            r#"[{"id":7,"method":"m"}]"#,
            r#"{"method":"m","id":12"#,
            "not json",
            "",
        ] {
            assert_eq!(id(text), Value::Null, "{text}");
        }
        let long = format!(r#"{{"method":"m","id":"{}"}}"#, "x".repeat(MAX_ID));
        assert_eq!(id(&long), Value::Null);
    }

    #[test]
    fn a_notification_has_a_method_and_no_id() {
        let is = |text: &str| line(1 << 20, &[text.as_bytes(), b"\n"]).is_notification;
        assert!(is(r#"{"method":"m","params":[}"#) && is(r#"{"method":"m"}"#));
        assert!(!is(r#"{"method":"m","id":{}}"#) && !is(r#"{"id":1}"#) && !is("x"));
    }

    #[test]
    fn a_line_beyond_a_limit_is_followed_to_its_end_and_has_its_id() {
        let mut line = Line::new(40);
        let text = b"{\"method\": \"m\", \"params\": \"aaaaaaaaaaaaaaaaaaaa\", \"id\": 3}\n{}\n";
        let (taken, found) = line.take(text);
        let found = found.unwrap();
        assert_eq!((taken, found.id), (text.len() - 3, json!(3)));
        assert_eq!(found.bytes, Err(Excess::Bytes(40)));
        assert_eq!(line.take(&text[taken..]).1.unwrap().bytes, Ok(b"{}".to_vec()));
    }

    #[test]
    fn values_are_counted_outside_of_strings_alone() {
        let most = 4 * MAX_VALUES;
        let many = format!("[{}]", ["[]"].repeat(MAX_VALUES).join(","));
        let found = line(most, &[&many.as_bytes()[..99], &many.as_bytes()[99..], b"\n"]);
        assert_eq!(found.bytes, Err(Excess::Values(MAX_VALUES)));
        let text = format!("{{\"text\": \"{}\\\"[\", \"b\": 1}}", "[,".repeat(MAX_VALUES));
        assert_eq!(line(most, &[text.as_bytes(), b"\n"]).bytes, Ok(text.clone().into_bytes()));
    }
}
