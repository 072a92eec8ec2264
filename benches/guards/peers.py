#!/usr/bin/env python3
"""peers.py OUT: the verdicts of other checks on the changes and mutants in OUT.

Writes OUT/<language>/peers.ndjson ({"id", "peer", "refused"}). Peers: `aider`, its linter as it runs after an edit (from OUT/venv);
`textual`, the rule that refuses an inserted block that already occurs within ten lines of its place; `textual3`, the same for blocks of at
least three lines.
"""

import argparse
import collections
import json
import os
import subprocess

import common
from source import Source

NEAR = 10


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    parser.add_argument("--language", choices=list(common.LANGUAGES), action="append")
    args = parser.parse_args()
    python = os.path.join(args.out, "venv", "bin", "python")
    if not os.path.exists(python):
        common.say(f"aider is left out: python3 -m venv {args.out}/venv && {args.out}/venv/bin/pip install aider-chat")
    for language in args.language or common.LANGUAGES:
        directory = os.path.join(args.out, language)
        files = [os.path.join(directory, name) for name in ("changes.ndjson", "mutants.ndjson")]
        files = [name for name in files if os.path.exists(name)]
        if not files:
            continue
        tally = collections.Counter()
        rows = counted(tally, textual(files, language), aider(python, files) if os.path.exists(python) else ())
        common.write(os.path.join(directory, "peers.ndjson"), rows)
        said = (f"{peer} {n} refused of {tally[peer]}" for (peer, refused), n in sorted(pairs(tally)) if refused)
        common.say(f"{language}: {'; '.join(said)}")


def counted(tally, *streams):
    for stream in streams:
        for row in stream:
            tally[row["peer"]] += 1
            tally[row["peer"], row["refused"]] += 1
            yield row


def pairs(tally):
    return ((key, n) for key, n in tally.items() if isinstance(key, tuple))


def aider(python, files):
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "aider_lint.py")
    process = subprocess.Popen([python, "-W", "ignore", script, *files], stdout=subprocess.PIPE)
    for line in process.stdout:
        yield json.loads(line)
    if process.wait():
        raise SystemExit("aider_lint.py failed")


def textual(files, language):
    for name in files:
        for row in common.read(name):
            if row["before"] is not None:
                yield {"id": row["id"], "peer": "textual", "refused": occurs_near(Source(row, language), 1)}
                yield {"id": row["id"], "peer": "textual3", "refused": occurs_near(Source(row, language), 3)}


def occurs_near(source, least):
    """Whether an inserted block of at least `least` lines occurs near its place in the new text, or consists of the same text twice."""
    text = [line.rstrip() for line in source.new]
    for tag, _, _, first, end in source.opcodes:
        if tag not in ("insert", "replace"):
            continue
        block = text[first:end]
        half = len(block) // 2
        if block[:half] == block[half:] and counts(block[:half], least):
            return True
        if not counts(block, least):
            continue
        places = [*range(max(0, first - NEAR - len(block)), first - len(block) + 1), *range(end, end + NEAR + 1)]
        if any(text[n : n + len(block)] == block for n in places if n >= 0):
            return True
    return False


def counts(block, least):
    return sum(bool(line) for line in block) >= least


if __name__ == "__main__":
    main()
