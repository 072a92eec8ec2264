"""Shared by the steps: languages, excluded paths, ndjson, Git objects."""

import json
import os
import re
import subprocess
import sys

SEED = "edt-guards-1"

LANGUAGES = {
    "c": (".c", ".h"),
    "go": (".go",),
    "python": (".py",),
    "json": (".json",),
    "yaml": (".yml", ".yaml"),
    "rust": (".rs",),
    "typescript": (".ts", ".tsx"),
}

# Not written by the project, or broken on purpose. Matched against "/" + path.
SKIPPED_PATHS = {
    "vendored": r"/(deps|Godeps|vendor|vendored|vendored_packages|node_modules|third[_-]party|external)/",
    "vendored, by repository": r"^/requests/packages/|^/src/decNumber/|^/src/_pytest/_py/|^/crates/uv-python/python/packaging/",
    "built": r"/(dist|build|coverage|target)/|\.min\.|^/deno/lib/",
    "lock files": r"lock\.json$|-lock\.ya?ml$|/npm-shrinkwrap\.json$",
    "generated": r"\.pb(\.gw)?\.go$|\.[ly]\.go$|/bindata\.go$|^(/src|/c)?/(lexer|parser)(\.gen)?\.[ch]$|/uv\.schema\.json$|/download-metadata[^/]*\.json$|/__snapshots__/",
    "fixtures, some of them broken on purpose": r"/testdata/",
}
SKIPPED = re.compile("|".join(f"(?:{rule})" for rule in SKIPPED_PATHS.values()))

# A file that states near its top that it is generated.
GENERATED = re.compile(r"Code generated .*DO NOT EDIT|@generated|[Aa]utomatically generated|auto-generated file|AUTO-?GENERATED", re.A)


def language(path):
    """The language of `path`, or None if it is excluded."""
    if SKIPPED.search("/" + path):
        return None
    return next((name for name, ends in LANGUAGES.items() if path.endswith(ends)), None)


def say(text):
    print(text, file=sys.stderr, flush=True)


def repo_name(repo):
    """`/x/redis+redis/repo`, `/x/redis.git` and `/x/redis/.git` are all `redis`."""
    parts = [part for part in os.path.abspath(repo).split("/") if part not in ("repo", ".git")]
    return parts[-1].removesuffix(".git").rsplit("+", 1)[-1]


def read(path):
    """The objects of an ndjson file, one by one."""
    with open(path, encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def write(path, rows):
    """Writes an ndjson file atomically; returns the number of rows."""
    count = 0
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".part", "w", encoding="utf-8", newline="\n") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
            count += 1
    os.replace(path + ".part", path)
    return count


class Objects:
    """`git cat-file --batch` of one repository."""

    def __init__(self, repo):
        self.process = subprocess.Popen(
            ["git", "-C", repo, "cat-file", "--batch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def blob(self, name):
        """The bytes of an object, or None if the repository lacks it."""
        self.process.stdin.write(name.encode() + b"\n")
        self.process.stdin.flush()
        head = self.process.stdout.readline().split()
        if len(head) != 3:
            return None
        data = self.process.stdout.read(int(head[2]))
        self.process.stdout.read(1)
        return data if head[1] == b"blob" else None

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()
