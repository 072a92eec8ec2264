//! Parses server-sent events from chunks of any size, with any line end, with comments. Pure.

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Event {
    /// `message` if the stream has none.
    pub(super) name: String,
    /// Lines joined by LF.
    pub(super) data: String,
}

#[derive(Debug, Default)]
pub(super) struct Events {
    line: Vec<u8>,
    name: String,
    data: Vec<String>,
    /// Whether the last byte was a CR, which an LF may follow.
    after_cr: bool,
    begun: bool,
}

impl Events {
    /// Adds a chunk; returns the events that it completes.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<Event> {
        let mut events = Vec::new();
        for &byte in bytes {
            match byte {
                b'\n' if self.after_cr => self.after_cr = false,
                b'\n' | b'\r' => {
                    self.after_cr = byte == b'\r';
                    let line = std::mem::take(&mut self.line);
                    events.extend(self.line(&String::from_utf8_lossy(&line)));
                }
                _ => {
                    self.after_cr = false;
                    self.line.push(byte);
                }
            }
        }
        events
    }

    fn line(&mut self, line: &str) -> Option<Event> {
        let line = if self.begun { line } else { line.trim_start_matches('\u{feff}') };
        self.begun = true;
        if line.is_empty() {
            let (name, data) = (std::mem::take(&mut self.name), std::mem::take(&mut self.data));
            let name = if name.is_empty() { "message".to_owned() } else { name };
            return (!data.is_empty()).then(|| Event { name, data: data.join("\n") });
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.name),
            "data" => self.data.push(value.to_owned()),
            // A comment has an empty field name; other fields are not needed.
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_do_not_depend_on_the_chunk_size() {
        let text = "\u{feff}: hello\r\n\r\nevent: a\r\ndata: {\"x\":\r\ndata: 1}\r\n\r\nid: 7\ndata:ü€\n\n\ndata: [DONE]\r\rdata: torn";
        let event = |name: &str, data: &str| Event { name: name.to_owned(), data: data.to_owned() };
        let known = [event("a", "{\"x\":\n1}"), event("message", "ü€"), event("message", "[DONE]")];
        for size in 1..text.len() {
            let mut events = Events::default();
            let found: Vec<Event> =
                text.as_bytes().chunks(size).flat_map(|piece| events.push(piece)).collect();
            assert_eq!(found, known, "in pieces of {size}");
        }
    }
}
