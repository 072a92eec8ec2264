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
CLASSES = ["white_space", "stale_text", "shorter_text", "missing_context", "wrong_mode", "format", "escaping", "other"]
WORDS = [f"word{n}" for n in range(3000)]


def fnv(words):
    value = 0xCBF29CE484222325
    for byte in b"".join(word.encode() + b"\0" for word in words):
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return f"{value:016x}"


def episode(number):
    """One of very many kinds of fixes: of every code and class, in ever other languages."""
    code, class_ = CODES[number % len(CODES)], CLASSES[number // len(CODES) % len(CLASSES)]
    language = "c" if number < 48 else f"language{number // 48}"
    body = {"kind": "repair", "code": code, "language": language, "mode": "edit", "format": "edit", "class": class_}
    return {
        "schema": "edt.episode/2", "id": fnv(["repair", code, language, "edit", "edit", class_]), "keywords": [], "body": body, "origin": "here",
        "score": 0.5, "times_applied": 0, "times_succeeded": 0, "seen": 1 + number % 7, "made": 1, "last_seen": int(time.time()), "last_used": None,
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
        lines = "".join(json.dumps(episode(n), separators=(",", ":")) + "\n" for n in range(options.episodes))
        on = Repository(edt, scratch / "on", env, None)
        off = Repository(edt, scratch / "off", env, "[memory]\nenabled = false\n")
        blob = subprocess.run(["git", "hash-object", "-w", "--stdin"], cwd=on.root, env=env, input=lines.encode(), capture_output=True, check=True)
        subprocess.run(["git", "update-ref", "refs/edt/memory", blob.stdout.decode().strip()], cwd=on.root, env=env, check=True)
        seconds, done = on.run(["memory", "stats", "--json"])
        assert json.loads(done.stdout)["total"] == options.episodes, done.stdout
        print(f"{options.episodes} episodes were read in {seconds * 1000:.0f} ms")
        on.apply(*on.wrong(WORDS[:2]))
        lessons = 0
        times = {key: ([], []) for key in ("search", "refused", "landed after a refusal", "landed")}
        for _ in range(options.rounds):
            words = rng.sample(WORDS, 2) + ["return", "total", "other"]
            pairs = [(0, on), (1, off)]
            rng.shuffle(pairs)
            for which, repository in pairs:
                searched, done = repository.run(["memory", "search", "--code", rng.choice(CODES), "--language", "c", "--json"])
                times["search"][which].append(searched)
                seconds, outcome = repository.apply(*repository.wrong(words))
                times["refused"][which].append(seconds)
                lessons += len(outcome["lessons"])
                times["landed after a refusal"][which].append(repository.apply(*repository.right())[0])
                times["landed"][which].append(repository.apply(*repository.right())[0])
        print(f"{lessons} lessons were shown in {options.rounds} refusals\n")
        print(f"{'median ms':<44} {'with':>8} {'without':>8} {'paired':>8}   goal")
        print_row("edt memory search, as a process", times["search"][0], times["search"][1], None)
        good &= print_row("edt apply, refused", *times["refused"], 0.5)
        good &= print_row("edt apply, landed elsewhere after a refusal", *times["landed after a refusal"], 0.5)
        good &= print_row("edt apply, landed", *times["landed"], 0.5)
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
        good &= print_row("edt mcp, refused", *warm["refused"], 0.5)
        good &= print_row("edt mcp, landed elsewhere after a refusal", *warm["landed after a refusal"], 0.5)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
