"""Run by symbols.py in a virtual environment that has serena-agent: replaces definitions with Serena's
own editor.

    python3 serena_symbols.py ROOT LANGUAGE=PROGRAM...

A row on standard input is {path, symbol, content}; the answer is {how, text, said}. The file is
restored after each row. PROGRAM is the language server, started as Serena starts it.
"""

import contextlib
import io
import json
import logging
import os
import sys

logging.disable(logging.CRITICAL)

from serena.code_editor import LanguageServerCodeEditor  # noqa: E402
from serena.config.serena_config import SerenaConfig  # noqa: E402
from serena.project import Project  # noqa: E402
from serena.symbol import LanguageServerSymbolRetriever  # noqa: E402


def replaced(project, editor, root, row):
    name = os.path.join(root, row["path"])
    with open(name, "rb") as file:
        before = file.read()
    said = None
    try:
        editor.replace_body(row["symbol"].replace(".", "/"), row["path"], row["content"])
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
    with open(name, "rb") as file:
        after = file.read()
    if after != before:
        with open(name, "wb") as file:
            file.write(before)
        project.ls_sync_file_system_changes()
    how = "refused" if said is not None else "same" if after == before else "changed"
    return {"how": how, "text": after.decode(errors="surrogateescape"), "said": said}


def main():
    root = sys.argv[1]
    config = SerenaConfig()
    programs = dict(pair.split("=", 1) for pair in sys.argv[2:])
    config.ls_specific_settings = {name: {"ls_path": path} for name, path in programs.items()}
    project = Project.load(root, config)
    project.create_language_server_manager()
    editor = LanguageServerCodeEditor(LanguageServerSymbolRetriever(project))
    for line in sys.stdin:
        with contextlib.redirect_stdout(io.StringIO()):
            answer = replaced(project, editor, root, json.loads(line))
        print(json.dumps(answer), flush=True)
    project.shutdown()


if __name__ == "__main__":
    main()
