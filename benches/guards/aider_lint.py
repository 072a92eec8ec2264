"""Run by peers.py in a virtual environment that has aider: judges the `after` of every row of the given ndjson files.

Aider lints the edited file as a whole, after writing it: `Linter.lint`, which is `basic_lint` for every language it has a grammar for, and
for Python also `lint_python_compile` and flake8's fatal codes. Anything reported counts as a refusal. What differs here only saves time:
flake8 gets many files in one call, and the tree is walked only where it holds an error at all.
"""

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile

from aider import linter
from grep_ast import filename_to_lang

FATAL = "E9,F821,F823,F831,F406,F407,F701,F702,F704,F706"  # as in Linter.flake8_lint
BATCH = 200

walk = linter.traverse_tree
linter.traverse_tree = lambda node: walk(node) if node.has_error else []


def main():
    for name in sys.argv[1:]:
        batch = []
        with open(name, encoding="utf-8") as file:
            for line in file:
                batch.append(json.loads(line))
                if len(batch) == BATCH:
                    judge(batch)
                    batch = []
        judge(batch)


def judge(batch):
    flagged = flake8(batch)
    for row in batch:
        language = filename_to_lang(row["path"])
        if not language or language == "typescript":
            continue  # aider has no word on it
        with contextlib.redirect_stdout(io.StringIO()):
            refused = linter.basic_lint(row["path"], row["after"]) is not None or row["id"] in flagged
            refused = refused or (language == "python" and not compiles(row))
        print(json.dumps({"id": row["id"], "peer": "aider", "refused": refused}), flush=True)


def compiles(row):
    try:
        return linter.lint_python_compile(row["path"], row["after"]) is None
    except Exception:  # an error without a line number trips it up
        return False


def flake8(batch):
    """The ids of the Python files with fatal findings of flake8."""
    python = [row for row in batch if filename_to_lang(row["path"]) == "python"]
    if not python:
        return set()
    with tempfile.TemporaryDirectory() as directory:
        for n, row in enumerate(python):
            with open(os.path.join(directory, f"{n}.py"), "w", encoding="utf-8", newline="") as file:
                file.write(row["after"])
        command = [sys.executable, "-m", "flake8", f"--select={FATAL}", "--isolated", "--format=%(path)s", "."]
        said = subprocess.run(command, capture_output=True, text=True, cwd=directory).stdout
    names = {os.path.basename(line) for line in said.splitlines() if line.endswith(".py")}
    return {python[int(name.removesuffix(".py"))]["id"] for name in names}


if __name__ == "__main__":
    main()
