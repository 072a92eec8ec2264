"""The appliers: each gives ("applied" | "refused" | "half", text of the file afterwards, more). "half" means that it reports a failure and has
changed the file nevertheless."""

import json
import os
import shutil
import subprocess

from case import BLOCKS, ENVELOPE, FORMS, UNIFIED
from shared import HERE

ROOT = os.path.dirname(os.path.dirname(HERE))
SECONDS = 60


class Program:
    """An applier that is started per patch, in a scratch directory that has only the file."""

    slow = True

    def __init__(self, name, forms, command, scratch, path_operand=None):
        self.name, self.forms, self.command, self.path_operand = name, forms, command, path_operand
        self.directory = os.path.join(scratch, "work")
        home = os.path.join(scratch, "home")
        os.makedirs(home, exist_ok=True)
        self.environment = {"PATH": os.environ["PATH"], "HOME": home, "LC_ALL": "C.UTF-8", "GIT_CONFIG_NOSYSTEM": "1"}

    def apply(self, path, file, patch, named, form):
        name = os.path.join(self.directory, path)
        shutil.rmtree(self.directory, ignore_errors=True)
        os.makedirs(os.path.dirname(name))
        with open(name, "w", encoding="utf-8", newline="") as opened:
            opened.write(file)
        command = self.command + ([path] if not named and self.path_operand else [])
        ran = self.run(command, patch)
        with open(name, encoding="utf-8", newline="") as opened:
            text = opened.read()
        how = "applied" if ran.returncode == 0 else "refused" if text == file else "half"
        return how, text, {"said": (ran.stdout + ran.stderr).decode(errors="replace")}

    def run(self, command, patch):
        try:
            return subprocess.run(command, input=patch.encode(), cwd=self.directory, env=self.environment, capture_output=True, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(command, 1, b"", b"too slow")


class Process:
    """An applier that keeps running and answers line by line: {path, file, patch, named, form} in, {how, text, …} out."""

    slow = False

    def __init__(self, name, forms, command, more=None):
        self.name, self.forms, self.more = name, forms, more or {}
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT)

    def apply(self, path, file, patch, named, form, **more):
        row = {"path": path, "file": file, "patch": patch, "named": named, "form": form} | self.more | more
        self.process.stdin.write(json.dumps(row).encode() + b"\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.name} ended at {path}")
        answer = json.loads(line)
        return answer["how"], answer["text"] if answer["text"] is not None else file, answer


def all_of(out, scratch, bench):
    """Every applier that is installed."""
    found = [
        Process("edt strict", FORMS, [bench, "--rows"], {"match": "strict"}),
        Process("edt lenient", FORMS, [bench, "--rows"], {"match": "lenient"}),
        Process("diffy", (UNIFIED,), [bench, "--rows"], {"match": "diffy"}),
    ]
    for name, flags in (("git apply", []), ("git --recount", ["--recount"]), ("git -C1", ["--recount", "-C1"])):
        found.append(Program(name, (UNIFIED,), ["git", "apply", *flags], scratch))
    for fuzz in range(4):
        flags = ["--batch", "--no-backup-if-mismatch", "-N", "-p1", "-r", "-", "-F", str(fuzz)]
        found.append(Program(f"patch -F{fuzz}", (UNIFIED,), ["patch", *flags], scratch, path_operand=True))
    python = os.path.join(out, "venv", "bin", "python")
    if os.path.exists(python):
        found.append(Process("aider", (UNIFIED, BLOCKS), [python, "-W", "ignore", os.path.join(HERE, "aider_apply.py"), scratch]))
    codex = os.path.join(out, "node", "node_modules", "@openai", "codex-linux-x64", "vendor", "x86_64-unknown-linux-musl", "bin", "codex")
    if os.path.exists(codex):
        link = os.path.join(scratch, "apply_patch")
        os.path.lexists(link) or os.symlink(codex, link)
        found.append(Program("codex", (ENVELOPE,), [link], scratch))
    opencode = os.path.join(out, "node", "node_modules", "opencode-linux-x64", "bin", "opencode")
    if os.path.exists(opencode):
        found.append(Process("opencode", (BLOCKS,), ["node", os.path.join(HERE, "opencode.mjs"), opencode]))
    gemini = os.path.join(out, "node", "node_modules", "@google", "gemini-cli-core")
    if os.path.exists(gemini):
        found.append(Process("gemini", (BLOCKS,), ["node", os.path.join(HERE, "gemini.mjs"), gemini]))
    return found


def built():
    """The program of `benches/appliers.rs`, in the newest build."""
    command = ["cargo", "bench", "-q", "--bench", "appliers", "--no-run", "--message-format=json"]
    ran = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE)
    rows = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith(b"{")]
    return next(row["executable"] for row in rows if row.get("executable") and row["target"]["name"] == "appliers")
