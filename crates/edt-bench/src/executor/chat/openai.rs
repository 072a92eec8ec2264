//! The protocol of `POST /chat/completions`, which many servers support.

use serde_json::{Value, json};

use super::settings::ModelSettings;
use super::sse::Event;
use super::{EventCollector, ModelProtocol, ModelReply, ServerError, ToolCall, Turn, conversation};

pub(super) struct OpenAi;

impl ModelProtocol for OpenAi {
    fn name(&self) -> &'static str {
        "openai"
    }

    fn base_url(&self) -> &'static str {
        "https://api.openai.com/v1"
    }

    fn path(&self) -> &'static str {
        "/chat/completions"
    }

    fn key_variable(&self) -> &'static str {
        "OPENAI_API_KEY"
    }

    fn base_variable(&self) -> &'static str {
        "OPENAI_BASE_URL"
    }

    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        key.map(|key| ("authorization", format!("Bearer {key}"))).into_iter().collect()
    }

    fn body(&self, settings: &ModelSettings, system: &str, turns: &[Turn]) -> Value {
        let mut messages = vec![json!({"role": "system", "content": system})];
        for turn in turns {
            match turn {
                Turn::User(text) => messages.push(json!({"role": "user", "content": text})),
                Turn::Model(reply) => messages.push(message_of(reply)),
                Turn::Results(results) => messages.extend(results.iter().map(
                    |(id, answer)| json!({"role": "tool", "tool_call_id": id, "content": answer}),
                )),
            }
        }
        let mut body = json!({"model": settings.model, "messages": messages, "max_tokens": settings.max_tokens});
        if let Some(temperature) = settings.temperature {
            body["temperature"] = json!(temperature);
        }
        if settings.stream {
            body["stream"] = json!(true);
            body["stream_options"] = json!({"include_usage": true});
        }
        if !settings.edits_as_text {
            let tool = |tool: &conversation::Tool| json!({"type": "function", "function": {"name": tool.name, "description": tool.about, "parameters": (tool.schema)()}});
            body["tools"] = conversation::TOOLS.iter().map(tool).collect();
        }
        body
    }

    fn parse_reply(&self, answer: &Value) -> Result<ModelReply, String> {
        let choice = answer.pointer("/choices/0").ok_or("it has no `choices`")?;
        let message = choice.get("message").ok_or("its choice has no `message`")?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let calls = message["tool_calls"].as_array().into_iter().flatten().map(|call| {
            let function = &call["function"];
            ToolCall {
                id: text(&call["id"]),
                name: text(&function["name"]),
                arguments: text(&function["arguments"]),
            }
        });
        let mut reply = ModelReply {
            text: text(&message["content"]),
            calls: calls.collect(),
            truncated: choice["finish_reason"] == "length",
            ..ModelReply::default()
        };
        usage(&mut reply, answer);
        Ok(reply)
    }

    fn collector(&self) -> Box<dyn EventCollector> {
        Box::new(CollectedReply::default())
    }
}

fn message_of(reply: &ModelReply) -> Value {
    let mut message = json!({"role": "assistant", "content": reply.text});
    if !reply.calls.is_empty() {
        let call = |call: &ToolCall| json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}});
        message["tool_calls"] = reply.calls.iter().map(call).collect();
    }
    message
}

fn usage(reply: &mut ModelReply, answer: &Value) {
    let usage = &answer["usage"];
    reply.input_tokens = usage["prompt_tokens"].as_u64().or(reply.input_tokens);
    reply.output_tokens = usage["completion_tokens"].as_u64().or(reply.output_tokens);
}

/// The most tool calls in one answer.
const MAX_CALLS: usize = 64;

#[derive(Debug, Default)]
struct CollectedReply {
    reply: ModelReply,
    done: bool,
}

impl EventCollector for CollectedReply {
    fn push(&mut self, event: &Event) -> Result<(), ServerError> {
        if event.data.trim() == "[DONE]" {
            self.done = true;
            return Ok(());
        }
        let chunk: Value = serde_json::from_str(&event.data).map_err(|error| {
            ServerError::Temporary(format!("an event of the stream is not JSON: {error}"))
        })?;
        if let Some(error) = chunk.get("error").filter(|error| !error.is_null()) {
            return Err(ServerError::classify(error));
        }
        usage(&mut self.reply, &chunk);
        let choice = &chunk["choices"][0];
        self.reply.text.push_str(choice["delta"]["content"].as_str().unwrap_or_default());
        for piece in choice["delta"]["tool_calls"].as_array().into_iter().flatten() {
            let last = self.reply.calls.len().saturating_sub(1);
            let at = piece["index"]
                .as_u64()
                .map_or(last, |at| usize::try_from(at).unwrap_or(usize::MAX));
            if at >= MAX_CALLS {
                return Err(ServerError::Permanent(format!(
                    "the answer has a tool call with the index {at}"
                )));
            }
            if self.reply.calls.len() <= at {
                self.reply.calls.resize(at + 1, ToolCall::default());
            }
            let call = &mut self.reply.calls[at];
            call.id.push_str(piece["id"].as_str().unwrap_or_default());
            call.name.push_str(piece["function"]["name"].as_str().unwrap_or_default());
            call.arguments.push_str(piece["function"]["arguments"].as_str().unwrap_or_default());
        }
        if let Some(reason) = choice["finish_reason"].as_str() {
            self.reply.truncated = reason == "length";
            // Some servers send no [DONE].
            self.done = true;
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Option<ModelReply> {
        self.done.then_some(self.reply)
    }
}
