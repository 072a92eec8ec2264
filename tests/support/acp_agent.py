#!/usr/bin/env python3
"""An agent for the Agent Client Protocol that does what its prompt says: acp_agent.py LOG

Writes every line that it reads to LOG, as it is, and its process id to a file beside it. The text of a prompt is a JSON list of steps:
{"send": MESSAGE} sends a message and, if it has an id, waits for the response; {"raw": TEXT} sends a
line; {"write": PATH, "text": TEXT} writes a file without a request; {"sleep": SECONDS} waits. The response to the prompt has
the responses that arrived. `session/new` and `session/load` are answered with their parameters.
"""
import json
import os
import sys
import time

with open(os.path.splitext(sys.argv[1])[0] + ".pid", "w") as file:
    file.write(str(os.getpid()))
log = open(sys.argv[1], "wb", buffering=0)


def read():
    line = sys.stdin.buffer.readline()
    log.write(line)
    return line


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def response(id):
    while line := read():
        try:
            message = json.loads(line)
        except ValueError:
            continue
        if isinstance(message, dict) and message.get("id") == id and "method" not in message:
            return message
    sys.exit(3)


def prompt(params):
    seen = []
    for step in json.loads(params["prompt"][0]["text"]):
        if "write" in step:
            with open(step["write"], "w") as file:
                file.write(step["text"])
        elif "sleep" in step:
            time.sleep(step["sleep"])
        elif "raw" in step:
            sys.stdout.write(step["raw"] + "\n")
            sys.stdout.flush()
        else:
            send(step["send"])
            if "id" in step["send"]:
                seen.append(response(step["send"]["id"]))
    return {"stopReason": "end_turn", "_meta": {"seen": seen}}


def main():
    while line := read():
        try:
            message = json.loads(line)
        except ValueError:
            continue
        if not isinstance(message, dict) or "id" not in message or "method" not in message:
            continue
        method, params = message["method"], message.get("params", {})
        if method == "initialize":
            result = {"protocolVersion": 1, "agentInfo": {"name": "an-agent", "version": "1"}}
        elif method in ("session/new", "session/load"):
            result = {"sessionId": params.get("sessionId", "s1"), "_meta": {"params": params}}
        elif method == "session/prompt":
            result = prompt(params)
        else:
            result = {"_meta": {"echo": params}}
        send({"id": message["id"], "result": result})
    sys.exit(7)


main()
