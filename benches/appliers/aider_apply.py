"""Run by appliers.py in a virtual environment that has aider-chat: applies patches with aider's own coders.

`EditBlockCoder` takes SEARCH/REPLACE blocks, `UnifiedDiffCoder` unified diffs, which it looks for in a ```diff fence: one is put around a
patch that has none. `get_edits` and `apply_edits` are aider's; the file is in a scratch directory and is read and written by its
`InputOutput`. What differs only saves time: the lines that a failure's message would propose are not looked for.
"""

import contextlib
import io
import json
import os
import shutil
import signal
import sys

from aider.coders import editblock_coder
from aider.coders.editblock_coder import EditBlockCoder
from aider.coders.udiff_coder import UnifiedDiffCoder
from aider.io import InputOutput

SECONDS = 20

editblock_coder.find_similar_lines = lambda *_: ""


class Chat:
    """The part of a chat that the coders use: it has one file."""

    fence = ("```", "```")

    def __init__(self, directory, path, patch):
        self.directory, self.path, self.partial_response_content = directory, path, patch
        self.shell_commands, self.abs_fnames = [], {self.abs_root_path(path)}
        self.io = InputOutput(pretty=False, yes=True, fancy_input=False)

    def abs_root_path(self, path):
        return os.path.join(self.directory, path)

    def get_rel_fname(self, name):
        return os.path.relpath(name, self.directory)

    def get_inchat_relative_files(self):
        return [self.path]


def late(*_):
    raise TimeoutError


def applied(directory, row):
    name = os.path.join(directory, row["path"])
    shutil.rmtree(directory, ignore_errors=True)
    os.makedirs(os.path.dirname(name))
    with open(name, "w", encoding="utf-8", newline="") as file:
        file.write(row["file"])
    coder, patch = (EditBlockCoder, row["patch"]) if row["form"] == "blocks" else (UnifiedDiffCoder, in_fence(row["patch"]))
    chat, said = Chat(directory, row["path"], patch), None
    signal.alarm(SECONDS)
    try:
        edits = coder.get_edits(chat)
        coder.apply_edits(chat, [(edit[0] or row["path"], *edit[1:]) for edit in edits])
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
    finally:
        signal.alarm(0)
    with open(name, encoding="utf-8", newline="") as file:
        text = file.read()
    if said is None and not edits:
        said = "no edits found"
    how = "applied" if said is None else "refused" if text == row["file"] else "half"
    return {"how": how, "text": text, "said": said}


def in_fence(patch):
    return patch if "```diff" in patch else f"```diff\n{patch}```\n"


def main():
    signal.signal(signal.SIGALRM, late)
    directory = os.path.join(sys.argv[1], "aider")
    for line in sys.stdin:
        with contextlib.redirect_stdout(io.StringIO()):
            answer = applied(directory, json.loads(line))
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
