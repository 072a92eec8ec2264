#!/usr/bin/env python3
"""A model that says what a plan says: for tests that drive real agents without a key or a network.

    model.py PLAN.json RECORD.jsonl [WATCHED]

PLAN is a list of steps. The step is chosen by how many results of tools the request already holds, so a request that is sent twice gets the
same answer twice; a request that offers no tools (a title, a summary) gets the next of the steps that are texts, or "ok". A step is
    {"text": "..."}                               words, and the end
    {"tool": NAME, "args": {...}}                 a call; {"namespace": ...} where the client has such
    {"tool": NAME, "input": "..."}                a call of a tool that takes text (Codex)
Each request is written to RECORD as one line: the path, the body, and the size and SHA-256 of the file WATCHED at that moment.
It listens on a free port of 127.0.0.1, prints it, and ends when its standard input does.
"""
import hashlib
import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

plan = json.load(open(sys.argv[1]))
record = open(sys.argv[2], "a")
watched = sys.argv[3] if len(sys.argv) > 3 else None
lock = threading.Lock()
texts = [0]


def watch():
    if watched is None or not os.path.exists(watched):
        return None
    data = open(watched, "rb").read()
    return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def results(body):
    """How many results of tools a request holds."""
    if "contents" in body:
        return sum("functionResponse" in part for one in body["contents"] for part in one.get("parts", []))
    if "messages" in body:
        return sum(one.get("role") == "tool" for one in body["messages"])
    given = body.get("input", [])
    return sum(str(one.get("type", "")).endswith("_call_output") for one in given if isinstance(one, dict))


def step(body):
    if not body.get("tools"):
        said = [one for one in plan if "text" in one and one.get("alone")]
        with lock:
            texts[0] += 1
            return said[min(texts[0], len(said)) - 1] if said else {"text": "ok"}
    return plan[min(results(body), len(plan) - 1)]


def responses(one, n):
    """Events of OpenAI's Responses."""
    if "text" in one:
        item = {"type": "message", "role": "assistant", "id": f"m{n}", "content": [{"type": "output_text", "text": one["text"]}]}
    elif "input" in one:
        item = {"type": "custom_tool_call", "id": f"t{n}", "call_id": f"c{n}", "name": one["tool"], "input": one["input"]}
    else:
        item = {"type": "function_call", "id": f"t{n}", "call_id": f"c{n}", "name": one["tool"], "arguments": json.dumps(one["args"])}
        if "namespace" in one:
            item["namespace"] = one["namespace"]
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2, "input_tokens_details": None, "output_tokens_details": None}
    whole = {"id": f"r{n}", "object": "response", "status": "completed", "output": [item], "usage": usage}
    for name, more in [
        ("response.created", {"response": {"id": f"r{n}"}}),
        ("response.output_item.done", {"output_index": 0, "item": item}),
        ("response.completed", {"response": whole}),
    ]:
        yield f"event: {name}\ndata: {json.dumps({'type': name, **more})}\n\n"


def chat(one, n, streamed):
    """Chunks of chat completions."""
    if "text" in one:
        said, end = {"role": "assistant", "content": one["text"]}, "stop"
    else:
        call = {"id": f"c{n}", "type": "function", "function": {"name": one["tool"], "arguments": json.dumps(one["args"])}}
        said, end = {"role": "assistant", "content": None, "tool_calls": [{"index": 0, **call}]}, "tool_calls"
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    base = {"id": f"x{n}", "created": 0, "model": "scripted"}
    if not streamed:
        whole = {**base, "object": "chat.completion", "usage": usage}
        yield json.dumps({**whole, "choices": [{"index": 0, "message": said, "finish_reason": end}]})
        return
    base["object"] = "chat.completion.chunk"
    yield f"data: {json.dumps({**base, 'choices': [{'index': 0, 'delta': said, 'finish_reason': None}]})}\n\n"
    yield f"data: {json.dumps({**base, 'choices': [{'index': 0, 'delta': {}, 'finish_reason': end}], 'usage': usage})}\n\n"
    yield "data: [DONE]\n\n"


def gemini(one, streamed):
    """Google's generateContent."""
    part = {"text": one["text"]} if "text" in one else {"functionCall": {"name": one["tool"], "args": one["args"]}}
    said = {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}]}
    said["usageMetadata"] = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    yield f"data: {json.dumps(said)}\n\n" if streamed else json.dumps(said)


class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def send(self, pieces, kind):
        data = "".join(pieces).encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        self.send([json.dumps({"object": "list", "data": [{"id": "scripted", "object": "model"}], "models": []})], "application/json")

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        with lock:
            record.write(json.dumps({"path": self.path, "body": body, "file": watch()}) + "\n")
            record.flush()
        if ":countTokens" in self.path:
            return self.send([json.dumps({"totalTokens": 1})], "application/json")
        one, n = step(body), results(body)
        if "/responses" in self.path:
            return self.send(responses(one, n), "text/event-stream")
        if "enerateContent" in self.path:
            streamed = "stream" in self.path
            return self.send(gemini(one, streamed), "text/event-stream" if streamed else "application/json")
        streamed = body.get("stream", False)
        self.send(chat(one, n, streamed), "text/event-stream" if streamed else "application/json")


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
print(server.server_port, flush=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stdin.read()
