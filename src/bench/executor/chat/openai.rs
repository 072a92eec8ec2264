//! The protocol of `POST /chat/completions`, which many servers speak.

use serde_json::{Value, json};

use super::settings::Settings;
use super::sse::Event;
use super::{Broken, Call, Gather, Protocol, Reply, Turn, talk};

pub(super) struct OpenAi;

impl Protocol for OpenAi {
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

    fn body(&self, settings: &Settings, system: &str, turns: &[Turn]) -> Value {
        let mut messages = vec![json!({"role": "system", "content": system})];
        for turn in turns {
            match turn {
                Turn::User(text) => messages.push(json!({"role": "user", "content": text})),
                Turn::Model(reply) => messages.push(said(reply)),
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
        if !settings.text {
            let tool = |tool: &talk::Tool| json!({"type": "function", "function": {"name": tool.name, "description": tool.about, "parameters": (tool.schema)()}});
            body["tools"] = talk::TOOLS.iter().map(tool).collect();
        }
        body
    }

    fn whole(&self, answer: &Value) -> Result<Reply, String> {
        let choice = answer.pointer("/choices/0").ok_or("it has no `choices`")?;
        let message = choice.get("message").ok_or("its choice has no `message`")?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let calls = message["tool_calls"].as_array().into_iter().flatten().map(|call| {
            let function = &call["function"];
            Call {
                id: text(&call["id"]),
                name: text(&function["name"]),
                arguments: text(&function["arguments"]),
            }
        });
        let mut reply = Reply {
            text: text(&message["content"]),
            calls: calls.collect(),
            cut: choice["finish_reason"] == "length",
            ..Reply::default()
        };
        usage(&mut reply, answer);
        Ok(reply)
    }

    fn gather(&self) -> Box<dyn Gather> {
        Box::new(Gathered::default())
    }
}

fn said(reply: &Reply) -> Value {
    let mut message = json!({"role": "assistant", "content": reply.text});
    if !reply.calls.is_empty() {
        let call = |call: &Call| json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}});
        message["tool_calls"] = reply.calls.iter().map(call).collect();
    }
    message
}

fn usage(reply: &mut Reply, answer: &Value) {
    let usage = &answer["usage"];
    reply.input_tokens = usage["prompt_tokens"].as_u64().or(reply.input_tokens);
    reply.output_tokens = usage["completion_tokens"].as_u64().or(reply.output_tokens);
}

/// The most calls of one answer.
const MOST_CALLS: usize = 64;

#[derive(Debug, Default)]
struct Gathered {
    reply: Reply,
    done: bool,
}

impl Gather for Gathered {
    fn take(&mut self, event: &Event) -> Result<(), Broken> {
        if event.data.trim() == "[DONE]" {
            self.done = true;
            return Ok(());
        }
        let chunk: Value = serde_json::from_str(&event.data).map_err(|error| {
            Broken::Later(format!("an event of the stream is no JSON: {error}"))
        })?;
        if let Some(error) = chunk.get("error").filter(|error| !error.is_null()) {
            return Err(super::talk::broken(error));
        }
        usage(&mut self.reply, &chunk);
        let choice = &chunk["choices"][0];
        self.reply.text.push_str(choice["delta"]["content"].as_str().unwrap_or_default());
        for piece in choice["delta"]["tool_calls"].as_array().into_iter().flatten() {
            let last = self.reply.calls.len().saturating_sub(1);
            let at = piece["index"]
                .as_u64()
                .map_or(last, |at| usize::try_from(at).unwrap_or(usize::MAX));
            if at >= MOST_CALLS {
                return Err(Broken::Never(format!("the answer has a call numbered {at}")));
            }
            if self.reply.calls.len() <= at {
                self.reply.calls.resize(at + 1, Call::default());
            }
            let call = &mut self.reply.calls[at];
            call.id.push_str(piece["id"].as_str().unwrap_or_default());
            call.name.push_str(piece["function"]["name"].as_str().unwrap_or_default());
            call.arguments.push_str(piece["function"]["arguments"].as_str().unwrap_or_default());
        }
        if let Some(reason) = choice["finish_reason"].as_str() {
            self.reply.cut = reason == "length";
            // Some servers send no [DONE].
            self.done = true;
        }
        Ok(())
    }

    fn done(self: Box<Self>) -> Option<Reply> {
        self.done.then_some(self.reply)
    }
}
