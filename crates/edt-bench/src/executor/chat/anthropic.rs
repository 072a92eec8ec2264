//! The protocol of `POST /v1/messages`.

use serde_json::{Value, json};

use super::settings::ModelSettings;
use super::sse::Event;
use super::{EventCollector, ModelProtocol, ModelReply, ServerError, ToolCall, Turn, conversation};

pub(super) struct Anthropic;

impl ModelProtocol for Anthropic {
    fn name(&self) -> &'static str {
        "anthropic"
    }

    fn base_url(&self) -> &'static str {
        "https://api.anthropic.com"
    }

    fn path(&self) -> &'static str {
        "/v1/messages"
    }

    fn key_variable(&self) -> &'static str {
        "ANTHROPIC_API_KEY"
    }

    fn base_variable(&self) -> &'static str {
        "ANTHROPIC_BASE_URL"
    }

    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        let version = ("anthropic-version", "2023-06-01".to_owned());
        std::iter::once(version).chain(key.map(|key| ("x-api-key", key.to_owned()))).collect()
    }

    fn body(&self, settings: &ModelSettings, system: &str, turns: &[Turn]) -> Value {
        let message = |turn: &Turn| match turn {
            Turn::User(text) => json!({"role": "user", "content": text}),
            Turn::Model(reply) => json!({"role": "assistant", "content": content_of(reply)}),
            Turn::Results(results) => {
                let result = |(id, answer): &(String, String)| json!({"type": "tool_result", "tool_use_id": id, "content": answer});
                json!({"role": "user", "content": results.iter().map(result).collect::<Vec<_>>()})
            }
        };
        let messages: Vec<Value> = turns.iter().map(message).collect();
        let mut body = json!({"model": settings.model, "system": system, "messages": messages, "max_tokens": settings.max_tokens});
        if let Some(temperature) = settings.temperature {
            body["temperature"] = json!(temperature);
        }
        if settings.stream {
            body["stream"] = json!(true);
        }
        if !settings.edits_as_text {
            let tool = |tool: &conversation::Tool| json!({"name": tool.name, "description": tool.about, "input_schema": (tool.schema)()});
            body["tools"] = conversation::TOOLS.iter().map(tool).collect();
        }
        body
    }

    fn parse_reply(&self, answer: &Value) -> Result<ModelReply, String> {
        let blocks = answer["content"].as_array().ok_or("it has no `content`")?;
        let mut reply = ModelReply {
            truncated: answer["stop_reason"] == "max_tokens",
            ..ModelReply::default()
        };
        for block in blocks {
            let text = |key: &str| block[key].as_str().unwrap_or_default().to_owned();
            match block["type"].as_str() {
                Some("text") => reply.text += &text("text"),
                Some("tool_use") => {
                    reply.calls.push(ToolCall {
                        id: text("id"),
                        name: text("name"),
                        arguments: block["input"].to_string(),
                    });
                }
                // Other blocks, such as thinking, are ignored.
                _ => {}
            }
        }
        usage(&mut reply, &answer["usage"]);
        Ok(reply)
    }

    fn collector(&self) -> Box<dyn EventCollector> {
        Box::new(CollectedReply::default())
    }
}

fn content_of(reply: &ModelReply) -> Vec<Value> {
    let text = (!reply.text.trim().is_empty()).then(|| json!({"type": "text", "text": reply.text}));
    let call = |call: &ToolCall| {
        let input = serde_json::from_str::<Value>(&call.arguments).ok().filter(Value::is_object);
        json!({"type": "tool_use", "id": call.id, "name": call.name, "input": input.unwrap_or_else(|| json!({}))})
    };
    let mut blocks: Vec<Value> = text.into_iter().chain(reply.calls.iter().map(call)).collect();
    if blocks.is_empty() {
        // The server refuses a message without content.
        blocks.push(json!({"type": "text", "text": "(empty)"}));
    }
    blocks
}

/// Cached input tokens count as read.
fn usage(reply: &mut ModelReply, usage: &Value) {
    let cached: u64 = ["cache_creation_input_tokens", "cache_read_input_tokens"]
        .iter()
        .filter_map(|key| usage[key].as_u64())
        .sum();
    reply.input_tokens =
        usage["input_tokens"].as_u64().map(|read| read + cached).or(reply.input_tokens);
    reply.output_tokens = usage["output_tokens"].as_u64().or(reply.output_tokens);
}

#[derive(Debug, Default)]
struct CollectedReply {
    reply: ModelReply,
    /// The index of each block and of its call.
    blocks: Vec<(u64, usize)>,
    done: bool,
}

impl EventCollector for CollectedReply {
    fn push(&mut self, event: &Event) -> Result<(), ServerError> {
        let chunk: Value = serde_json::from_str(&event.data).map_err(|error| {
            ServerError::Temporary(format!("an event of the stream is not JSON: {error}"))
        })?;
        let number = chunk["index"].as_u64().unwrap_or_default();
        match chunk["type"].as_str().unwrap_or_default() {
            "error" => return Err(ServerError::classify(&chunk["error"])),
            "message_start" => usage(&mut self.reply, &chunk["message"]["usage"]),
            "content_block_start" => {
                let block = &chunk["content_block"];
                let text = |key: &str| block[key].as_str().unwrap_or_default().to_owned();
                if block["type"] == "tool_use" {
                    self.blocks.push((number, self.reply.calls.len()));
                    self.reply.calls.push(ToolCall {
                        id: text("id"),
                        name: text("name"),
                        arguments: String::new(),
                    });
                } else {
                    self.reply.text += &text("text");
                }
            }
            "content_block_delta" => {
                let delta = &chunk["delta"];
                self.reply.text += delta["text"].as_str().unwrap_or_default();
                if let (Some(piece), Some((_, at))) = (
                    delta["partial_json"].as_str(),
                    self.blocks.iter().find(|(block, _)| *block == number),
                ) {
                    self.reply.calls[*at].arguments.push_str(piece);
                }
            }
            "message_delta" => {
                self.reply.truncated |= chunk["delta"]["stop_reason"] == "max_tokens";
                usage(&mut self.reply, &chunk["usage"]);
            }
            "message_stop" => self.done = true,
            // `ping` and unknown events are ignored.
            _ => {}
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Option<ModelReply> {
        self.done.then_some(self.reply)
    }
}
