#!/usr/bin/env python3
"""An agent that changes files through edt alone: python3 agent.py 'add a test for parse()'

OPENAI_BASE_URL, OPENAI_API_KEY and OPENAI_MODEL name any endpoint with chat completions.
"""
import json, os, subprocess, sys, urllib.request

BASE = os.environ.get("OPENAI_BASE_URL", "https://api.openai.com/v1").rstrip("/")
MODES = ["edit", "append", "insert", "replace_lines", "create", "overwrite", "delete"]
TEXT, NUMBER = {"type": "string"}, {"type": "integer"}
TOOLS = {
    "read": ("Show a file with line numbers.", {"path": TEXT}),
    "apply": ("Change one file; the answer says what was refused and what to send instead.",
              {"path": TEXT, "mode": {"type": "string", "enum": MODES}, "old_text": TEXT, "content": TEXT,
               "start_line": NUMBER, "end_line": NUMBER, "expected_text": TEXT, "message": TEXT}),
    "run": ("Run a program, such as a test; no shell reads the arguments.",
            {"program": TEXT, "args": {"type": "array", "items": TEXT}}),
}


def edt(*args, text=""):
    # EDT_AGENT says that an agent calls, so that edt asks for the user where that is needed.
    env = {**os.environ, "EDT_AGENT": "examples/agent.py"}
    done = subprocess.run(["edt", *args], input=text, env=env, capture_output=True, encoding="utf-8")
    return done.stdout or done.stderr


def call(name, args):
    if name == "read":
        return edt("read", "--json", "--", str(args.get("path", "")))
    return edt(name, "--request", "-", "--json", text=json.dumps(args)) if name in TOOLS else "no such tool"


def ask(messages):
    tools = [{"type": "function", "function": {"name": name, "description": about,
              "parameters": {"type": "object", "properties": keys}}} for name, (about, keys) in TOOLS.items()]
    body = {"model": os.environ.get("OPENAI_MODEL", "gpt-5.5"), "messages": messages, "tools": tools}
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {os.environ.get('OPENAI_API_KEY', '')}"}
    request = urllib.request.Request(f"{BASE}/chat/completions", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=600) as answer:
        return json.load(answer)["choices"][0]["message"]


messages = [{"role": "system", "content": edt("guide")}, {"role": "user", "content": " ".join(sys.argv[1:])}]
for _ in range(50):
    messages.append(ask(messages))
    calls = messages[-1].get("tool_calls") or []
    for one in calls:
        try:
            answer = call(one["function"]["name"], json.loads(one["function"]["arguments"] or "{}"))
        except ValueError as error:
            answer = f"the arguments are not JSON: {error}"
        messages.append({"role": "tool", "tool_call_id": one["id"], "content": answer})
    if not calls:
        sys.exit(print(messages[-1].get("content") or ""))
sys.exit("50 answers of the model without an end")
