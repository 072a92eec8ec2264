#!/usr/bin/env python3
"""The cost of telemetry for an edit, and whether an independent receiver understands the spans.

    cargo build --release --features otel && python3 benches/telemetry.py [target/release/edt] [--calls 200]
    python3 -m venv v && v/bin/pip install opentelemetry-proto && v/bin/python benches/telemetry.py [edt] --validate

Each round calls `edt apply` once in every mode, in rotating order, in one scratch repository (in
$TMPDIR); a call is measured from start to end as a process. The differences are paired: each mode
against `off` of the same round. `--validate` sends one edit of the command line and one of the server,
as JSON and as protobuf, to a receiver that parses them with OpenTelemetry's own classes, and checks the
parents.
"""

import argparse
import base64
import http.server
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = f"00-{TRACE}-00f067aa0ba902b7-01"


class Receiver(http.server.BaseHTTPRequestHandler):
    got = []

    def do_POST(self):
        Receiver.got.append((self.headers["content-type"], self.rfile.read(int(self.headers["content-length"]))))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


def serve():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def repository(directory):
    home = directory / "home"
    home.mkdir()
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1"}
    root = directory / "repo"
    git = lambda *args: subprocess.run(["git", "-C", root, *args], check=True, env=env)
    subprocess.run(["git", "init", "-q", root], check=True, env=env)
    git("config", "user.name", "bench")
    git("config", "user.email", "bench@example.com")
    (root / "a.c").write_text("int main(void)\n{\n\treturn 0;\n}\n" + "".join(f"int f{n}(int a) {{ return a + {n}; }}\n" for n in range(200)))
    git("add", ".")
    git("commit", "-q", "-m", "begin")
    return root, env


def bench(edt, calls):
    with tempfile.TemporaryDirectory() as directory:
        root, env = repository(pathlib.Path(directory))
        hanging = socket.create_server(("127.0.0.1", 0), backlog=10000)
        free = socket.create_server(("127.0.0.1", 0))
        refused = free.getsockname()[1]
        free.close()
        healthy = serve()
        to = lambda url, **more: {"OTEL_EXPORTER_OTLP_ENDPOINT": url, **more}
        hangs = f"http://127.0.0.1:{hanging.getsockname()[1]}"
        modes = {
            "off": {},
            "off again": {},
            "on, no collector named": {"OTEL_TRACES_EXPORTER": "otlp"},
            "healthy": to(healthy),
            "refused port": to(f"http://127.0.0.1:{refused}"),
            "hanging": to(hangs),
        }
        took = {mode: [] for mode in modes}
        number = 0
        for round_ in range(calls + 5):
            names = list(modes)
            names = names[round_ % len(names) :] + names[: round_ % len(names)]
            for mode in names:
                edit = ["apply", "a.c", "--mode", "edit", "--old-text", f"return {number};\n}}", "--content", f"return {number + 1};\n}}"]
                number += 1
                start = time.perf_counter()
                done = subprocess.run([edt, *edit], cwd=root, env={**env, **modes[mode]}, stdout=subprocess.PIPE)
                if round_ >= 5:
                    took[mode].append((time.perf_counter() - start) * 1e3)
                assert done.returncode == 0, done
        print(f"{'mode':24} {'median ms':>9} {'p95 ms':>7} {'min ms':>7} {'paired difference, median ms':>29}")
        for mode, times in took.items():
            paired = statistics.median(b - a for a, b in zip(took["off"], times))
            p95 = sorted(times)[int(len(times) * 0.95)]
            print(f"{mode:24} {statistics.median(times):9.3f} {p95:7.3f} {min(times):7.3f} {paired:29.3f}")


def server_call(edt, root, env):
    process = subprocess.Popen([edt, "mcp"], cwd=root, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def say(message):
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        process.stdin.flush()
        return json.loads(process.stdout.readline()) if "id" in message else None

    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
    say({"id": 1, "method": "initialize", "params": hello})
    say({"method": "notifications/initialized", "params": {}})
    arguments = {"path": "a.c", "mode": "append", "content": "int g;\n"}
    answer = say({"id": 2, "method": "tools/call", "params": {"name": "apply", "arguments": arguments, "_meta": {"traceparent": PARENT}}})
    assert not answer["result"]["isError"], answer
    process.stdin.close()
    process.wait()


def read(kind, body):
    from google.protobuf import json_format
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    if kind == "application/x-protobuf":
        return ExportTraceServiceRequest.FromString(body)
    # OTLP's JSON has hexadecimal ids, protobuf's own JSON has base64.
    request = json.loads(body)
    for resource in request["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                for one in [span, *span.get("links", [])]:
                    for key in ("traceId", "spanId", "parentSpanId"):
                        if key in one:
                            one[key] = base64.b64encode(bytes.fromhex(one[key])).decode()
    return json_format.Parse(json.dumps(request), ExportTraceServiceRequest())


def validate(edt):
    for protocol in ("http/protobuf", "http/json"):
        with tempfile.TemporaryDirectory() as directory:
            root, env = repository(pathlib.Path(directory))
            Receiver.got = []
            env = {**env, "OTEL_EXPORTER_OTLP_ENDPOINT": serve(), "OTEL_EXPORTER_OTLP_PROTOCOL": protocol, "TRACEPARENT": PARENT}
            edit = ["apply", "a.c", "--mode", "append", "--content", "int h;\n"]
            subprocess.run([edt, *edit], cwd=root, env=env, check=True, stdout=subprocess.DEVNULL)
            subprocess.run([edt, "telemetry", "flush"], cwd=root, env=env, check=True, stdout=subprocess.DEVNULL)
            server_call(edt, root, env)
            spans = [
                span
                for kind, body in Receiver.got
                for resource in read(kind, body).resource_spans
                for scope in resource.scope_spans
                for span in scope.spans
            ]
            ids = {span.span_id for span in spans}
            assert len(ids) == len(spans), "duplicate span ids"
            assert all(span.trace_id.hex() == TRACE for span in spans)
            roots = [span for span in spans if span.parent_span_id not in ids]
            assert sorted(span.name for span in roots) == ["execute_tool apply", "tools/call apply"], roots
            assert all(span.parent_span_id.hex() == "00f067aa0ba902b7" for span in roots)
            for root_ in roots:
                below = [span.name for span in spans if span.parent_span_id == root_.span_id]
                assert {"edt.resolve", "edt.plan", "edt.guard", "edt.commit", "edt.publish"} <= set(below), below
            print(f"{protocol}: {len(spans)} spans in {len(Receiver.got)} requests, every parent correct")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("edt", nargs="?", default="target/release/edt")
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--validate", action="store_true")
    args = parser.parse_args()
    edt = str(pathlib.Path(args.edt).resolve())
    return validate(edt) if args.validate else bench(edt, args.calls)


if __name__ == "__main__":
    sys.exit(main())
