#!/usr/bin/env python3
"""What the memory learns and says after failed edits of real agents.

    python3 benches/memory_fixes.py FAILURES [--edt target/release/edt] [--labels LABELS] [--one-repository] [--out RESULTS]

FAILURES has one failed edit per line: {id, source, path, failed: {mode, old, new, edits, lines, patch, error}, before, followed: [{path,
mode, old, new, edits, lines, patch, ok}]}. Each is replayed through one `edt mcp` per source, in a scratch repository with the file as it
was, or as far as it is known. First comes the failed call as a request of edt, then the calls on this file that followed. What was
learned is read from edt's record of refusals. A lesson is relevant if the fix that followed has its class, or if the call repaired as it
says would find its place. LABELS has one reading per line: {id, repair: index in `followed` or null, class, also: [classes]}. RESULTS
gets one line per failure. The data is of others and is not in this repository.
"""

import argparse
import collections
import html
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

MODES = {"write": None, "lines": "replace_lines"}
# What the sentences of lessons say, by class.
SAYS = {
    "white space": "white_space", "line numbers": "copied_marks", "escapes": "escaping", "quotes": "quotes", "shorter": "shorter_text",
    "read again": "stale_text", "in place of a patch": "format", "more text": "missing_context", "context": "missing_context",
    "placeholder": "elision", "bracket": "bracket", "import": "lost_import", "relative": "wrong_path",
}


def text_of(call):
    """The texts of a call that were in the file if it succeeded."""
    if call.get("patch"):
        lines = [line for line in call["patch"].split("\n") if line[:1] in (" ", "-", "@") and not line.startswith(("---", "*** "))]
        return ["\n".join("" if line.startswith("@@") else line[1:] for line in lines)] if lines else []
    return [edit.get("old") for edit in call.get("edits") or [call] if edit.get("old")]


def known_file(failure):
    """The file before the failed call, and how it is known."""
    before, known = failure["before"], failure.get("known", "")
    if before is not None and known.startswith("full"):
        return before, "whole"
    pieces = [before] if before else []
    has = lambda text: any(text in piece for piece in pieces)
    for call in failure["followed"]:
        if call.get("path") == failure["path"] and call.get("ok") and call.get("mode") in ("edit", "multi_edit", "patch"):
            pieces += [text for text in text_of(call) if not has(text)]
            break
    old = failure["failed"].get("old")
    if failure["failed"].get("kind") == "not_unique" and old:
        while sum(piece.count(old) for piece in pieces) < 2:
            pieces.append(old)
    if not pieces:
        return None, "unknown"
    return "\n".join(piece.rstrip("\n") for piece in pieces) + "\n", "rebuilt"


def ends_of(path):
    """A path in the scratch repository that keeps the name and the directory."""
    parts = [part.lstrip(".") or "x" for part in str(path).replace("\\", "/").split("/") if part not in ("", ".", "..")]
    return "/".join(parts[-2:])


def request_of(call, path, text):
    """The call as a request of edt; None if it has no such form."""
    if call.get("patch"):
        named = call.get("path")
        return {"patch": call["patch"].replace(named, path) if named else call["patch"]}
    if call.get("edits"):
        return {"edits": [edit_of(dict(edit, mode="edit"), path, text) for edit in call["edits"]]}
    edit = edit_of(call, path, text)
    return edit and {"edits": [edit]}


def edit_of(call, path, text):
    mode = MODES.get(call["mode"], call["mode"])
    edit = {"path": path, "content": call.get("new")}
    if mode:
        edit["mode"] = mode
    if call["mode"] == "edit" and call.get("old") is not None:
        edit["old_text"] = call["old"]
    if call.get("replace_all"):
        edit["replace_all"] = True
    if call["mode"] == "insert" and call["lines"][0] is not None:
        edit["start_line"] = call["lines"][0] + 1
    if call["mode"] == "lines":
        first, last = call["lines"]
        edit.update(start_line=first, end_line=last)
        edit["expected_text"] = "\n".join((text or "").split("\n")[first - 1:last]) + "\n"
    return {key: value for key, value in edit.items() if value is not None} if call["mode"] != "notebook" else None


def fits(name, call, text):
    """Whether a call like `call`, repaired as a lesson about the class `name` says, would find its place in `text`; None if unknown."""
    old = call.get("old")
    if not old or text is None:
        return None
    bare = lambda part: "".join(part.split())
    if name == "white_space":
        return bare(old) in bare(text)
    if name == "shorter_text":
        return any(text.count(line) == 1 for line in old.split("\n") if len(bare(line)) > 7)
    if name == "copied_marks":
        return re.sub(r"(?m)^\s*(\d+\s*[:|\t→]|[+-])", "", old) in text
    if name == "escaping":
        plain = html.unescape(old).replace('\\"', '"').replace("\\n", "\n")
        return plain != old and plain in text
    if name == "quotes":
        straight = lambda part: re.sub("[‘’“”'`´]", '"', part)
        return straight(old) in straight(text)
    return None


class Repository:
    def __init__(self, edt, root, env):
        self.edt, self.root, self.env, self.number, self.read_to = edt, root, env, 0, 0
        self.process = None
        root.mkdir()
        self.git("init", "-q", "-b", "main")
        for key, value in (("user.name", "b"), ("user.email", "b@example.com"), ("gc.auto", "0"), ("core.autocrlf", "false")):
            self.git("config", key, value)

    def git(self, *args):
        subprocess.run(["git", *args], cwd=self.root, env=self.env, check=True)

    def begin(self, files):
        for path, text in files.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_bytes(text.encode("utf8", "replace"))
        self.git("add", "-A", "-f")
        self.git("commit", "-q", "--allow-empty", "-m", "begin")
        subprocess.run([self.edt, "begin", "bench"], cwd=self.root, env=self.env, check=True, capture_output=True)
        self.process = subprocess.Popen([self.edt, "mcp"], cwd=self.root, env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL)
        self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method, params):
        self.number += 1
        self.send({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        while True:
            answer = json.loads(self.process.stdout.readline())
            if answer.get("id") == self.number:
                return answer

    def apply(self, request):
        answer = self.ask("tools/call", {"name": "apply", "arguments": request})
        return (answer.get("result") or {}).get("structuredContent") or {"status": "error", "errors": [{"code": "PROTOCOL"}], "lessons": []}

    def recorded(self):
        """The lines of the record since the last look."""
        record = self.root / ".git/edt/refusals.jsonl"
        text = record.read_bytes() if record.exists() else b""
        if len(text) < self.read_to:
            self.read_to = 0
        new, self.read_to = text[self.read_to:], len(text)
        return [json.loads(line) for line in new.splitlines() if line.startswith(b"{")]

    def read(self, path):
        file = self.root / path
        return file.read_bytes().decode("utf8", "replace") if file.is_file() else None

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def replay(repository, failure, path):
    """What edt said of one failure and of what followed it."""
    of = None
    result = {"id": failure["id"], "source": failure["source"], "kind": failure["failed"].get("kind"), "calls": [], "class": None, "at": None}
    calls = [(None, dict(failure["failed"], path=failure["path"]))]
    calls += [(at, call) for at, call in enumerate(failure["followed"]) if call["mode"] not in ("read", "command", "notebook")]
    name = str(failure["path"]).replace("\\", "/").rsplit("/", 1)[-1]
    for at, call in calls:
        target = path
        if at is not None and call.get("path") != failure["path"]:
            # Another file counts only if it may be the same one by another path.
            if str(call.get("path")).replace("\\", "/").rsplit("/", 1)[-1] != name:
                continue
            target = f"{path}.other/{name}"
        text = repository.read(target)
        request = request_of(call, target, text)
        if request is None:
            continue
        answer = repository.apply(request)
        lines = repository.recorded()
        if at is None:
            of = next((line["refused"]["id"] for line in lines if "refused" in line), None)
        followed = [line["followed"] for line in lines if "followed" in line]
        learned = [line["class"] for line in followed if line["of"] == of and line.get("class")]
        errors = answer.get("errors", [])
        has_fix = any(error.get("evidence", {}).get(key) for error in errors for key in ("correction", "request", "corrected_edit"))
        result["calls"].append({
            "at": at, "status": answer["status"], "codes": [error["code"] for error in errors], "has_fix": has_fix, "learned": learned,
            "lessons": answer.get("lessons", []), "landed_there": call.get("ok"),
            "fits": [fits(class_of_lesson(lesson), call, text) for lesson in answer.get("lessons", [])],
        })
        if at is None and answer["status"] != "refused":
            break
        if learned:
            result["class"], result["at"] = learned[0], at
            break
    return result


def share(part, whole):
    return f"{part} of {whole} ({100 * part / whole:.1f} %)" if whole else f"{part} of 0"


def class_of_lesson(text):
    return next((name for words, name in SAYS.items() if words in text.lower()), None)


def report(results, labels, unknown):
    first = [result["calls"][0] for result in results]
    refused = [result for result in results if result["calls"][0]["status"] == "refused"]
    print(f"{len(results)} failures were replayed; of {unknown} no text of the file is known")
    print(f"refused by edt: {share(len(refused), len(results))}; with the right call in the answer: "
          f"{sum(call['has_fix'] for call in first)}; landed or nothing to do: {len(results) - len(refused)}")
    print("codes: " + ", ".join(f"{code} {n}" for code, n in collections.Counter(c for r in refused for c in r["calls"][0]["codes"]).most_common()))
    learned = [result for result in refused if result["class"]]
    print(f"learned from: {share(len(learned), len(refused))} of the refused")
    print("\nby code, and whether the answer had the right call itself:")
    by = collections.defaultdict(collections.Counter)
    for result in refused:
        answer = result["calls"][0]
        by[answer["codes"][0], answer["has_fix"]][result["class"] or "nothing learned"] += 1
    for (code, has_fix), counts in sorted(by.items()):
        print(f"  {code}{' with it' if has_fix else ''}: " + ", ".join(f"{name} {count}" for name, count in counts.most_common()))
    if labels:
        report_precision(learned, [result for result in refused if result["id"] in labels], labels)
    report_shown(results, labels)


def report_precision(learned, read, labels):
    print("\nclass              learned  read  right  wrong place of the fix   a label of this class that was missed")
    classes = sorted({result["class"] for result in learned} | {labels[result["id"]]["class"] for result in read} - {"none"})
    total = collections.Counter()
    for name in classes:
        of_class = [result for result in learned if result["class"] == name]
        judged = [result for result in of_class if result["id"] in labels]
        accepts = lambda result: name in [labels[result["id"]]["class"], *labels[result["id"]].get("also", [])]
        right = [result for result in judged if accepts(result)]
        other_place = sum(result["at"] != labels[result["id"]]["repair"] for result in right)
        missed = sum(labels[result["id"]]["class"] == name and result["class"] is None for result in read)
        print(f"{name:<18} {len(of_class):>7} {len(judged):>5} {len(right):>6} {other_place:>24} {missed:>10}")
        if name != "other":
            total.update(judged=len(judged), right=len(right))
        for result in judged:
            if not accepts(result):
                print(f"    wrong: {result['id']} is {labels[result['id']]['class']}")
    repairs = sum(labels[result["id"]]["repair"] is not None for result in read)
    print(f"precision without `other`: {share(total['right'], total['judged'])}; a real repair followed: {share(repairs, len(read))} that were read")


def report_shown(results, labels):
    shown = [(result, call, *pair) for result in results for call in result["calls"] for pair in zip(call["lessons"], call["fits"])]
    most = max((len(call["lessons"]) for result in results for call in result["calls"]), default=0)
    print(f"\nlessons in answers: {len(shown)}; the most in one answer: {most}")
    outcome = collections.Counter()
    for result, call, lesson, would_fit in shown:
        says, label = class_of_lesson(lesson), labels.get(result["id"])
        classes = [label["class"], *label.get("also", [])] if label else [result["class"]]
        if says is None:
            verdict = "no class"
        elif says in classes or would_fit:
            verdict = "relevant"
        elif would_fit is None and classes in ([None], ["none"]):
            verdict = "nothing followed"
        else:
            verdict = "not relevant"
        outcome[says, verdict] += 1
        if verdict != "relevant" and sum(outcome.values()) < 40:
            print(f"    {result['id']}: shown {lesson[:150]!r}; it was {classes[0]}")
    for (says, verdict), count in sorted(outcome.items(), key=str):
        print(f"  {says}: {verdict} {count}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("failures")
    parser.add_argument("--edt", default="target/release/edt")
    parser.add_argument("--labels")
    parser.add_argument("--out")
    parser.add_argument("--one-repository", action="store_true", help="all sources in one repository, so that all learn from all")
    options = parser.parse_args()
    edt = os.path.abspath(options.edt)
    failures = [json.loads(line) for line in open(options.failures, encoding="utf8")]
    labels = {}
    if options.labels:
        labels = {label["id"]: label for label in map(json.loads, open(options.labels, encoding="utf8"))}
    groups, unknown = collections.defaultdict(list), 0
    for number, failure in enumerate(failures):
        text, how = known_file(failure)
        if failure["path"] is None or how == "unknown" and failure["failed"]["mode"] not in ("create", "write"):
            unknown += 1
            continue
        groups["all" if options.one_repository else failure["source"]].append((failure, f"f{number}/{ends_of(failure['path'])}", text))
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="edt-fixes-"))
    env = {"PATH": os.environ["PATH"], "HOME": str(scratch), "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}
    results = []
    try:
        for number, group in enumerate(groups.values()):
            repository = Repository(edt, scratch / f"r{number}", env)
            repository.begin({path: text for _, path, text in group if text is not None})
            results += [replay(repository, failure, path) for failure, path, _ in group]
            repository.end()
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    results = [result for result in results if result["calls"]]
    if options.out:
        pathlib.Path(options.out).write_text("".join(json.dumps(result) + "\n" for result in results))
    report(results, labels, unknown)


if __name__ == "__main__":
    main()
