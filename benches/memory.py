#!/usr/bin/env python3
"""The cost of the memory: retrieval among many episodes, and an edit with and without memory.

    cargo build --release && python3 benches/memory.py [target/release/edt] [--episodes 10000] [--rounds 200]

Two scratch repositories (in $TMPDIR) that differ in one line: `[memory] enabled = false`. Calls alternate between them, in random
order within a round. Exits with 1 if a goal is missed.
"""

import argparse
import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

CODES = ["OLD_TEXT_NOT_FOUND", "SYNTAX_ERROR", "SIZE_REDUCTION", "DUPLICATE_CODE", "INVALID_PATCH", "ELIDED_CODE"]
LANGUAGES = ["c", "python", "go", "rust", "typescript"]
WORDS = [f"word{n}" for n in range(3000)]


def episode(rng):
    code, language, mode = rng.choice(CODES), rng.choice(LANGUAGES), rng.choice(["edit", "overwrite", "append"])
    words = rng.sample(WORDS, 5)
    keywords = sorted({code.lower(), language, "mode:" + mode, "format:edit", "cause:other_text", *words})
    tried = {"mode": mode, "format": "edit", "cause": "other_text", "fragment": " ".join(words), "path": "a.c", "session": "s", "agent": None}
    fix = {"mode": mode, "format": "edit", "allow": [], "old_text": "int x", "content": "int y", "commit": None, "landed": 1}
    return {
        "schema": "edt.episode/1", "id": f"{rng.getrandbits(64):016x}", "code": code, "language": language, "keywords": keywords,
        "tried": tried, "fix": fix, "lesson": None, "deprecated": None, "made": 1, "last_seen": int(time.time()), "seen": 1,
        "last_used": None, "uses": 0, "helped": 0, "worse": 0, "effectiveness": 0.5,
    }


class Repository:
    def __init__(self, edt, root, env, policy):
        self.edt, self.root, self.env = edt, root, env
        root.mkdir()
        (root / "a.c").write_text("/* touch 0 */\n" + "".join(f"int f{n}(void) {{ return {n}; }}\n" for n in range(20)))
        if policy:
            (root / "edt.toml").write_text(policy)
        for args in (["init", "-q", "-b", "main"], ["config", "user.name", "b"], ["config", "user.email", "b@example.com"],
                     ["config", "gc.auto", "0"], ["add", "."], ["commit", "-q", "-m", "begin"]):
            subprocess.run(["git", *args], cwd=root, env=env, check=True)
        self.run(["begin", "bench"])
        self.touched = 0

    def run(self, args, stdin=b""):
        start = time.perf_counter()
        done = subprocess.run([self.edt, *args], cwd=self.root, env=self.env, input=stdin, capture_output=True)
        return time.perf_counter() - start, done

    def wrong(self, words):
        request = {"path": "a.c", "mode": "edit", "old_text": " ".join(words), "content": "x"}
        return request, 1

    def right(self):
        request = {"path": "a.c", "mode": "edit", "old_text": f"/* touch {self.touched} */", "content": f"/* touch {self.touched + 1} */"}
        self.touched += 1
        return request, 0

    def apply(self, request, exit_status):
        seconds, done = self.run(["apply", "--request", "-", "--json"], json.dumps(request).encode())
        assert done.returncode == exit_status, done.stdout
        return seconds, json.loads(done.stdout)


class Server:
    def __init__(self, edt, root, env):
        self.process = subprocess.Popen([edt, "mcp"], cwd=root, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.number = 0
        self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method, params):
        self.number += 1
        start = time.perf_counter()
        self.send({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        while True:
            answer = json.loads(self.process.stdout.readline())
            if answer.get("id") == self.number:
                return time.perf_counter() - start, answer["result"]

    def apply(self, request):
        seconds, result = self.ask("tools/call", {"name": "apply", "arguments": request})
        return seconds, result["structuredContent"]

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def print_row(name, with_memory, without, goal):
    median = lambda values: statistics.median(values) * 1000
    difference = median([a - b for a, b in zip(with_memory, without)])
    met = goal is None or difference <= goal
    print(f"{name:<44} {median(with_memory):8.2f} {median(without):8.2f} {difference:8.2f}   {'' if goal is None else goal} {'' if met else 'MISSED'}")
    return met


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("edt", nargs="?", default="target/release/edt")
    parser.add_argument("--episodes", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=200)
    options = parser.parse_args()
    edt, rng = os.path.abspath(options.edt), random.Random(7)
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="edt-memory-"))
    env = {"PATH": os.environ["PATH"], "HOME": str(scratch), "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}
    good = True
    try:
        lines = "".join(json.dumps(episode(rng)) + "\n" for _ in range(options.episodes))
        on = Repository(edt, scratch / "on", env, None)
        off = Repository(edt, scratch / "off", env, "[memory]\nenabled = false\n")
        seconds, done = on.run(["memory", "import", "-", "--json"], lines.encode())
        assert done.returncode == 0, done.stderr
        print(f"{options.episodes} episodes were imported in {seconds:.2f} s")
        on.run(["memory", "search", "x"])
        lessons = 0
        times = {key: ([], []) for key in ("search", "refused", "landed after a refusal", "landed")}
        for _ in range(options.rounds):
            words = rng.sample(WORDS, 2) + ["return", "total", "other"]
            pairs = [(0, on), (1, off)]
            rng.shuffle(pairs)
            for which, repository in pairs:
                searched, done = repository.run(["memory", "search", " ".join(words), "--code", rng.choice(CODES), "--json"])
                times["search"][which].append(searched)
                seconds, outcome = repository.apply(*repository.wrong(words))
                times["refused"][which].append(seconds)
                lessons += len(outcome["lessons"])
                times["landed after a refusal"][which].append(repository.apply(*repository.right())[0])
                times["landed"][which].append(repository.apply(*repository.right())[0])
        print(f"{lessons} lessons were shown in {options.rounds} refusals\n")
        print(f"{'median ms':<44} {'with':>8} {'without':>8} {'paired':>8}   goal")
        search = statistics.median(times["search"][0]) * 1000
        good &= print_row("edt memory search, as a process", times["search"][0], times["search"][1], None) and search <= 10
        good &= print_row("edt apply, refused: retrieval and recording", *times["refused"], None)
        good &= print_row("edt apply, landed after a refusal: recorded", *times["landed after a refusal"], 1.0)
        good &= print_row("edt apply, landed, nothing to record", *times["landed"], 1.0)
        servers = [Server(edt, repository.root, env) for repository in (on, off)]
        warm = {"refused": ([], []), "landed after a refusal": ([], [])}
        for round_ in range(options.rounds):
            words = rng.sample(WORDS, 2) + ["return", "total", "other"]
            pairs = [(0, on), (1, off)]
            rng.shuffle(pairs)
            for which, repository in pairs:
                seconds, outcome = servers[which].apply(repository.wrong(words)[0])
                assert outcome["status"] == "refused"
                landed, outcome = servers[which].apply(repository.right()[0])
                assert outcome["status"] == "applied"
                if round_ > 2:
                    warm["refused"][which].append(seconds)
                    warm["landed after a refusal"][which].append(landed)
        for server in servers:
            server.end()
        good &= print_row("edt mcp, refused: retrieval and recording", *warm["refused"], 1.0)
        good &= print_row("edt mcp, landed after a refusal: recorded", *warm["landed after a refusal"], 1.0)
        if search > 10:
            print(f"retrieval as a process took {search:.1f} ms: MISSED (10)")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
