"""Judges a task: adds the hidden tests to the copy of the worktree and runs commands there, each of
which must exit with status 0."""

import json
import pathlib
import shutil
import subprocess
import sys

here = pathlib.Path(__file__).parent
commands = json.loads((here / "judge.json").read_text())
tests = here / "tests"
if tests.is_dir():
    shutil.copytree(tests, ".", dirs_exist_ok=True, copy_function=shutil.copyfile)
output, passed = "", True
for command in commands:
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        output, passed = done.stdout.decode("utf-8", "replace"), done.returncode == 0
    except OSError as error:
        output, passed = f"{command[0]}: {error}", False
    if not passed:
        break
answer = {"pass": passed, "score": float(passed), "feedback": "" if passed else output[-1500:]}
print(json.dumps(answer if passed else {**answer, "error_class": "code"}))
