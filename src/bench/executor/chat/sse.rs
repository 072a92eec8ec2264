//! A stream of events, as bytes come: cut anywhere, with any line end, with comments. Pure.

/// An event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Event {
    /// Its name; `message` if it has none.
    pub(super) name: String,
    /// Its data, lines joined by LF.
    pub(super) data: String,
}

/// Reads a stream.
#[derive(Debug, Default)]
pub(super) struct Events {
    line: Vec<u8>,
    name: String,
    data: Vec<String>,
    /// Whether the last byte was a CR, whose LF may come yet.
    after_cr: bool,
    begun: bool,
}

impl Events {
    /// Takes the next bytes; the events that are whole with them.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Vec<Event> {
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
            // A comment has an empty name; others are not needed.
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_the_same_wherever_it_is_cut() {
        let text = "\u{feff}: hello\r\n\r\nevent: a\r\ndata: {\"x\":\r\ndata: 1}\r\n\r\nid: 7\ndata:ü€\n\n\ndata: [DONE]\r\rdata: torn";
        let event = |name: &str, data: &str| Event { name: name.to_owned(), data: data.to_owned() };
        let known = [event("a", "{\"x\":\n1}"), event("message", "ü€"), event("message", "[DONE]")];
        for size in 1..text.len() {
            let mut events = Events::default();
            let found: Vec<Event> =
                text.as_bytes().chunks(size).flat_map(|piece| events.take(piece)).collect();
            assert_eq!(found, known, "in pieces of {size}");
        }
    }
}
