//! The bytes that an agent sends to a hook: JSON, in which some texts may not be Unicode.

use serde_json::{Map, Value};

use super::Protocol;
use super::event::{AgentTurn, HookEvent, HookPoint};
use super::fields::UnexpectedShape;

/// What replaces text that is not Unicode: a byte that is not UTF-8, or half of a surrogate pair,
/// which JavaScript writes for a text that it cut. An event that differs between the two has such
/// text where edt reads it.
const SUBSTITUTES: [char; 2] = ['\u{fffd}', '\u{fffc}'];

/// A payload: one reading, or one with each substitute if it has text that is not Unicode.
#[derive(Debug, Clone, PartialEq)]
pub struct Payload {
    readings: Vec<Value>,
}

/// The hook of a payload that is not JSON, if its bytes name it.
#[must_use]
pub fn point_of(bytes: &[u8]) -> HookPoint {
    HookPoint::of_unreadable(&Value::Object(outline(&String::from_utf8_lossy(bytes))))
}

impl Payload {
    /// Reads `bytes`.
    ///
    /// # Errors
    /// They are not JSON, even with a substitute for what is not Unicode.
    pub fn read(bytes: &[u8]) -> Result<Payload, serde_json::Error> {
        let with = |substitute: &char| serde_json::from_str(&unicode(bytes, *substitute));
        let readings = match serde_json::from_slice(bytes) {
            Ok(reading) => vec![reading],
            Err(error) => {
                let readings = SUBSTITUTES.iter().map(with).collect::<Result<_, _>>();
                readings.map_err(|_| error)?
            }
        };
        Ok(Payload { readings })
    }

    /// The JSON, with U+FFFD for what is not Unicode.
    #[must_use]
    pub fn json(&self) -> &Value {
        &self.readings[0]
    }

    /// The event in the form of `protocol`. Only its prompt may have text that is not Unicode.
    ///
    /// # Errors
    /// As [`Protocol::event`]. Also if other text that edt reads is not Unicode: nothing may be
    /// judged on another text than the agent's.
    pub fn event(&self, protocol: &Protocol) -> Result<HookEvent, UnexpectedShape> {
        let event = (protocol.event)(self.json())?;
        let without_prompt = |event: &HookEvent| HookEvent {
            turn: AgentTurn { prompt: None, ..event.turn.clone() },
            ..event.clone()
        };
        for other in &self.readings[1..] {
            if without_prompt(&event) != without_prompt(&(protocol.event)(other)?) {
                return Err(UnexpectedShape(
                    "the payload has text that is not Unicode (a byte that is not UTF-8, or half of \
                     a surrogate pair)"
                        .to_owned(),
                ));
            }
        }
        Ok(event)
    }
}

/// The text of `bytes`, with `substitute` for each byte sequence that is not UTF-8, and for each
/// escape of half of a surrogate pair.
fn unicode(bytes: &[u8], substitute: char) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend((!chunk.invalid().is_empty()).then_some(substitute));
    }
    let (mut out, mut rest) = (String::with_capacity(text.len()), text.as_str());
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = match escaped_unit(rest) {
            Some(0xd800..=0xdbff) if is_low(escaped_unit(&rest[6..])) => 12,
            Some(0xd800..=0xdfff) => {
                out.push(substitute);
                rest = &rest[6..];
                continue;
            }
            // The character after a backslash begins no escape.
            _ => rest.chars().take(2).map(char::len_utf8).sum(),
        };
        out.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    out + rest
}

fn is_low(unit: Option<u16>) -> bool {
    matches!(unit, Some(0xdc00..=0xdfff))
}

/// The number of the escape `\uXXXX` that `text` begins with.
fn escaped_unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    let is_hexadecimal = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hexadecimal.then(|| u16::from_str_radix(digits, 16).ok()).flatten()
}

/// The entries of the outermost object of a text that is not JSON, as far as it goes: texts, and
/// `true` for objects and lists. None if it says two things at one key.
fn outline(text: &str) -> Map<String, Value> {
    let mut entries = Map::new();
    let (mut depth, mut last, mut key) = (0_usize, None, None);
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        let mut value = None;
        match character {
            '"' if depth == 1 && key.is_none() => last = Some(text_of(&mut rest)),
            '"' => value = Some(Value::String(text_of(&mut rest))),
            '{' | '[' => value = Some(Value::Bool(true)),
            ':' if depth == 1 => key = last.take(),
            ',' if depth == 1 => (last, key) = (None, None),
            '}' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if let (1, Some(value)) = (depth, value)
            && let Some(key) = key.take()
            && entries.insert(key, value.clone()).is_some_and(|earlier| earlier != value)
        {
            return Map::new();
        }
        depth += usize::from(matches!(character, '{' | '['));
    }
    entries
}

/// The text up to the next quotation mark, or all that is left. Escapes stay as they are.
fn text_of(rest: &mut std::str::Chars<'_>) -> String {
    let mut text = String::new();
    while let Some(character) = rest.next() {
        match character {
            '"' => break,
            '\\' => text.extend([Some(character), rest.next()].into_iter().flatten()),
            _ => text.push(character),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AGENTS, HookPhase, ToolEdit};

    fn claude(payload: &[u8]) -> Result<HookEvent, UnexpectedShape> {
        Payload::read(payload)
            .unwrap()
            .event(&crate::named("claude-code").unwrap().protocol.unwrap())
    }

    #[test]
    fn a_cut_prompt_is_a_prompt() {
        for (text, prompt) in [
            (&b"h\\ud83d"[..], "h\u{fffd}"),
            (b"h\\ude00\\ud83d.", "h\u{fffd}\u{fffd}."),
            (b"caf\xe9 \\\\ud83d", "caf\u{fffd} \\ud83d"),
            (b"\\ud83d\\ude00 \\ud83d\\n", "\u{1f600} \u{fffd}\n"),
        ] {
            let head: &[u8] = b"{\"hook_event_name\":\"UserPromptSubmit\",\"prompt\":\"";
            let event = claude(&[head, text, b"\"}"].concat()).unwrap();
            assert_eq!(event.point.phase, HookPhase::Prompt);
            assert_eq!(event.turn.prompt.as_deref(), Some(prompt));
        }
    }

    #[test]
    fn an_edit_is_read_only_if_all_that_edt_reads_of_it_is_unicode() {
        let write = |content: &str, note: &str| {
            claude(
                format!(
                    "{{\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Write\",\"note\":\"{note}\",\
                     \"tool_input\":{{\"file_path\":\"a\",\"content\":\"{content}\"}}}}"
                )
                .as_bytes(),
            )
        };
        let edit = ToolEdit::Write { path: "a".into(), content: "x".into() };
        assert_eq!(write("x", "\\ud83d").unwrap().edits, [edit]);
        assert!(write("\\ud83d", "").unwrap_err().0.contains("not Unicode"));
        assert!(write("\\ufffd", "").is_ok());
        let tool = b"{\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Writ\xe9\"}";
        assert!(claude(tool).unwrap_err().0.contains("not Unicode"));
    }

    #[test]
    fn what_is_not_json_tells_its_hook_as_far_as_it_goes() {
        let point = |text: &str| {
            assert!(Payload::read(text.as_bytes()).is_err(), "{text}");
            point_of(text.as_bytes())
        };
        for text in [
            "{\"hook_event_name\":\"UserPromptSubmit\",\"prompt\":\"h",
            "{\"workspaceRoots\":[\"/p\"],\"hookName\": \"UserPromptSubmit\", \"x\": {\"a\":",
            "{\"tool_info\":{\"user_prompt\":\"a\nb\"},\"agent_action_name\":\"pre_user_prompt\"}",
            "{\"sessionId\":\"s\",\"timestamp\":1,\"prompt\":\"Rena",
        ] {
            assert_eq!(point(text).phase, HookPhase::Prompt, "{text}");
        }
        assert_eq!(point("{\"hook_event_name\":\"PostToolUse\",\"a").phase, HookPhase::After);
        // What an edit writes is not the name of its hook.
        for text in [
            "",
            "{\"tool_input\":{\"hook_event_name\":\"UserPromptSubmit\",\"a\":",
            "{\"tool_input\":{\"content\":\"\\\",\\\"hook_event_name\\\":\\\"UserPromptSubmit\\\"",
            "{\"hook_event_name\":\"PreToolUse\",\"hook_event_name\":\"UserPromptSubmit\",",
            "{\"toolName\":\"edit\",\"prompt\":\"x",
        ] {
            assert_eq!(point(text), HookPoint::UNKNOWN, "{text}");
        }
    }

    #[test]
    fn no_agent_stops_a_prompt_that_could_not_be_read() {
        let point = HookPoint { phase: HookPhase::Prompt, hook: "" };
        for protocol in AGENTS.iter().filter_map(|agent| agent.protocol) {
            let reply = (protocol.reply)(point, &crate::HookMessage::Silent);
            assert!(reply.exit == 0 && !reply.stdout.contains("\"cancel\":true"), "{reply:?}");
        }
    }
}
