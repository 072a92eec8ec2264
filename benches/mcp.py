#!/usr/bin/env python3
"""Edits through one `edt mcp`, one call after another, as an agent makes them.

    cargo build --release && python3 benches/mcp.py [target/release/edt] [--files 80000] [--calls 10000]

Makes a scratch repository of many files (in $TMPDIR), begins a session that does not switch HEAD, and
measures from the first byte of a call to the last byte of its answer. Exits with 1 if a goal is missed.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

SMALL = "src/core/net/bench/edit.c"
LONG = "src/long.c"


def texts():
    line = "static int value_{0}(int a) {{ return a + {0}; }}\n"
    small = "/* touch 0 */\n" + "".join(line.format(n) for n in range(20))
    function = (
        "static int function_{0}(int a, const char *name)\n{{\n    int total = a * {0};\n    for (int k = 0; k < a; k++) {{\n"
        "        total += name[k] * {1};\n        if (total > 1000) {{\n            log_it(\"too much %d\", total + {0});\n"
        "            break;\n        }}\n    }}\n    return total;\n}}\n\n"
    )
    long = "".join(function.format(n, n % 7) for n in range(770))
    return {SMALL: small, LONG: long}, line


def repository(root, files, env):
    subprocess.run(["git", "init", "-q", "-b", "main", root], check=True, env=env)
    known, line = texts()
    stream = ["commit refs/heads/main\ncommitter bench <bench@example.com> 1700000000 +0000\ndata 5\nbegin\n"]

    def put(path, text):
        stream.append(f"M 100644 inline {path}\ndata {len(text)}\n{text}\n")

    for path, text in known.items():
        put(path, text)
    for n in range(files - len(known)):
        put(f"src/d{n // 5000}/part{n // 500}/unit{n // 10}/file{n}.c", "".join(line.format(n * 31 + i) for i in range(8)))
    git = lambda *args, **more: subprocess.run(["git", "-C", root, *args], check=True, env=env, **more)
    for key, value in [("user.name", "bench"), ("user.email", "bench@example.com"), ("gc.auto", "0")]:
        git("config", key, value)
    git("fast-import", "--quiet", input="".join(stream).encode())
    git("reset", "-q", "--hard", "main")
    git("status", "--porcelain")
    return known


class Server:
    def __init__(self, edt, root, env):
        self.process = subprocess.Popen([edt, "mcp"], cwd=root, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.next = 0
        client = {"name": "bench", "version": "1"}
        self.request("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def request(self, method, params):
        self.next += 1
        self.send({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params})
        return json.loads(self.process.stdout.readline())["result"]

    def apply(self, **args):
        begun = time.perf_counter()
        answer = self.request("tools/call", {"name": "apply", "arguments": args})
        took = time.perf_counter() - begun
        assert not answer["isError"], answer["content"][0]["text"]
        return took

    def memory(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) / 1024

    def end(self):
        self.process.stdin.close()
        assert self.process.wait() == 0


def edits(server, path, old, calls):
    """Changes one line repeatedly; returns times, and memory after a tenth and at the end."""
    base, took, memory = old, [], []
    for n in range(calls):
        new = f"{base} /* {n} */"
        took.append(server.apply(path=path, mode="edit", old_text=old + "\n", content=new + "\n"))
        old = new
        if n + 1 in (calls // 10, calls):
            memory.append(server.memory())
    return took, memory


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("edt", nargs="?", default="target/release/edt")
    args.add_argument("--files", type=int, default=80_000)
    args.add_argument("--calls", type=int, default=10_000, help="calls of the run that measures memory")
    args = args.parse_args()
    scratch = tempfile.mkdtemp(prefix="edt-bench-mcp-")
    try:
        home, root = os.path.join(scratch, "home"), os.path.join(scratch, "repo")
        os.mkdir(home)
        env = {"PATH": os.environ["PATH"], "HOME": home, "GIT_CONFIG_NOSYSTEM": "1"}
        repository(root, args.files, env)
        edt = os.path.abspath(args.edt)
        subprocess.run([edt, "begin", "--no-switch", "bench"], cwd=root, env=env, check=True, stdout=subprocess.DEVNULL)
        small, long = "static int value_5(int a) { return a + 5; }", "    int total = a * 385;"
        good = True

        def row(what, took, goal, met):
            nonlocal good
            good &= met
            order = sorted(took)
            print(f"| {what} | {len(took) / sum(took):.0f} | {statistics.median(took) * 1e3:.2f} | {order[len(order) * 95 // 100] * 1e3:.2f} "
                  f"| {'ok' if met else 'MISSED'}: {goal} |", flush=True)

        print(f"{args.files} files, HEAD not switched\n\n| | calls/s | median ms | p95 ms | goal |\n| --- | --- | --- | --- | --- |")
        server = Server(edt, root, env)
        took, _ = edits(server, SMALL, small, 1000)
        row("a line of a 1 KB file, 1,000 times", took, ">= 500/s", len(took) / sum(took) >= 500)
        took, _ = edits(server, LONG, long, 300)
        median = statistics.median(took)
        row("a line of a 10,010-line C file, 300 times", took, "median <= 3 ms", median <= 0.003)
        server.end()
        server = Server(edt, root, env)
        took, memory = edits(server, SMALL, small.replace("5", "6"), args.calls)
        grown = memory[1] - memory[0]
        row(f"memory over {args.calls} calls: {memory[0]:.1f} MiB after a tenth, {memory[1]:.1f} MiB at the end", took, "<= 2 MiB more",
            grown <= 2)
        server.end()
        subprocess.run(["git", "-C", root, "fsck", "--connectivity-only"], env=env, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        sys.exit(not good)
    finally:
        shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
