#!/usr/bin/env python3
"""corpus.py OUT REPO...: real human file changes, sampled from Git histories.

Writes OUT/<language>/changes.ndjson ({"id", "kind": "modified" | "added", "path", "before", "after"}) and OUT/commits.ndjson (what
whole commits do to their files). The same repositories at the same commits give the same sample.
"""

import argparse
import hashlib
import json
import os
import subprocess
from collections import Counter, defaultdict

import common

SIZES = {"c": 3000, "go": 3000, "python": 3000, "json": 1000, "yaml": 1500, "rust": 1500, "typescript": 1500}
SIZES |= {"javascript": 1500, "java": 1500, "cpp": 1500, "css": 1000, "html": 1000, "make": 1000, "bash": 1000, "toml": 500, "prose": 1500}
ADDED = 0.15  # new files, as a part of the above
COMMITS = 3000
LARGEST = 1 << 20
MOST_OTHERS = 100  # per commit, in addition to a file that shrinks
PER_COMMIT = 8  # of one commit and language, so that no reformatting of a whole tree is a tenth of the sample
PER_PATH = 60  # of one file; more only where a repository has nothing else


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    parser.add_argument("repos", nargs="+")
    parser.add_argument("--scale", type=float, default=1.0, help="sample sizes are multiplied by this")
    parser.add_argument("--seed", default=common.SEED, help="another seed draws another sample")
    args = parser.parse_args()
    common.SEED = args.seed

    histories = {}
    for repo in args.repos:
        histories[repo] = history(repo)
        common.say(f"{common.repo_name(repo)}: {len(histories[repo])} commits")

    pools = defaultdict(dict)  # (language, status) -> repo -> candidates, best first
    for repo, commits in histories.items():
        found = defaultdict(list)
        for commit, files in commits:
            for status, old, new, path in files:
                lang = status in "MA" and common.language(path)
                if lang:
                    found[lang, status].append((commit, path, old, new, files))
        for key, candidates in found.items():
            pools[key][repo] = candidates

    objects = {repo: common.Objects(repo) for repo in args.repos}
    for lang, size in SIZES.items():
        size = round(size * args.scale)
        rows = sample(pools[lang, "M"], size, objects, "modified") + sample(pools[lang, "A"], round(size * ADDED), objects, "added")
        if rows:
            common.write(os.path.join(args.out, lang, "changes.ndjson"), rows)
        spread = Counter(row["id"].split("@")[0] for row in rows if row["kind"] == "modified")
        added = sum(row["kind"] == "added" for row in rows)
        common.say(f"{lang}: {len(rows) - added} modified, {added} added; {dict(spread.most_common())}")

    count = common.write(os.path.join(args.out, "commits.ndjson"), whole_commits(histories, objects, round(COMMITS * args.scale)))
    common.say(f"commits: {count}")
    for each in objects.values():
        each.close()
    with open(os.path.join(args.out, "repos.json"), "w", encoding="utf-8") as file:
        json.dump({common.repo_name(repo): os.path.abspath(repo) for repo in args.repos}, file, indent=1)


def history(repo):
    """Every non-merge commit, newest first, with its plain files: (status, old blob, new blob, path)."""
    command = ["git", "-C", repo, "-c", "log.showRoot=true", "log", "--no-merges", "--raw", "--no-renames", "--no-abbrev", "-z"]
    log = subprocess.run([*command, "--diff-filter=MAD", "--format=commit %H"], check=True, capture_output=True).stdout
    return [(commit, [file[:4] for file in files]) for commit, files in parsed(log)]


def parsed(log):
    """What `git log --raw -z --format="commit %H"` prints: commits with their plain files, (status, blob, blob, path, path before)."""
    commits, tokens = [], iter(log.split(b"\0"))
    for token in tokens:
        token = token.lstrip(b"\n")
        if token.startswith(b"commit "):
            commits.append((token[7:].decode(), []))
        elif token.startswith(b":"):
            old_mode, new_mode, old, new, status = token[1:].decode().split()
            come_from = next(tokens) if status[0] == "R" else b""
            path = next(tokens)
            modes = {mode for mode in (old_mode, new_mode) if mode != "000000"}
            if modes <= {"100644", "100755"} and utf8(path + come_from):
                commits[-1][1].append((status[0], old, new, path.decode(), come_from.decode()))
    return commits


def sample(pool, size, objects, kind):
    """`size` changes: every repository contributes the same number if it has enough, spread over its history."""
    rows, seen = [], set()
    queues = {repo: ordered(pool[repo], size) for repo in sorted(pool)}
    while queues and len(rows) < size:
        for repo in list(queues):
            row = next(usable(queues[repo], objects[repo], repo, kind, seen), None)
            if row is None:
                del queues[repo]
            elif len(rows) < size:
                rows.append(row)
    return rows


def ordered(candidates, size):
    """The candidates, best first: the history is cut into `size` slices, and each contributes one before any contributes two."""
    slices, late, per_commit, per_path = defaultdict(list), [], Counter(), Counter()
    by_hash = sorted((hashed(commit, path), n) for n, (commit, path, *_) in enumerate(candidates))
    for key, n in by_hash:
        commit, path = candidates[n][:2]
        per_commit[commit] += 1
        per_path[path] += 1
        if per_path[path] > PER_PATH:
            late.append(n)
        elif per_commit[commit] <= PER_COMMIT:
            slices[n * size // len(candidates)].append((key, n))
    ranked = sorted((rank, key, n) for each in slices.values() for rank, (key, n) in enumerate(each))
    return iter([candidates[n] for n in [n for _, _, n in ranked] + late])


def usable(candidates, objects, repo, kind, seen):
    """The candidates whose text can be used, as rows."""
    for commit, path, old, new, files in candidates:
        if (old, new) in seen or old == new:
            continue
        seen.add((old, new))
        after = text(objects.blob(new))
        before = text(objects.blob(old)) if kind == "modified" else None
        if after is None or (kind == "modified" and before is None) or common.GENERATED.search(after[:2000]):
            continue
        name = f"{common.repo_name(repo)}@{commit[:12]}:{path}"
        row = {"id": name, "kind": kind, "path": path, "before": before, "after": after}
        if before and after.count("\n") < 0.95 * before.count("\n"):
            row["others"] = others(objects, path, files)
        yield row


def others(objects, path, files):
    """The other files of the commit: text removed from one may be added to another."""
    rows = []
    for status, old, new, other in files[:MOST_OTHERS]:
        before = text(objects.blob(old)) if status in "MD" else ""
        after = text(objects.blob(new)) if status in "MA" else ""
        if other != path and before is not None and after is not None:
            rows.append({"path": other, "before": before, "after": after})
    return rows


def whole_commits(histories, objects, size):
    """The file changes of commits, with vendored and binary files; renames as Git detects them by default."""
    share = -(-size // len(histories))
    for repo, commits in sorted(histories.items()):
        picked = [commit for _, commit in sorted((hashed(commit, ""), commit) for commit, files in commits if files)[:share]]
        command = ["git", "-C", repo, "-c", "log.showRoot=true", "-c", "diff.renameLimit=2000", "log", "--no-walk=unsorted", "--stdin"]
        command += ["--raw", "--no-abbrev", "-z", "--diff-filter=MADR", "--format=commit %H"]
        given = "\n".join(picked).encode()
        ran = subprocess.run([*command, "-M"], input=given, check=False, capture_output=True)
        if ran.returncode:  # a blob is missing, so renames cannot be detected
            common.say(f"{common.repo_name(repo)}: without renames: {ran.stderr.decode().strip()}")
            ran = subprocess.run([*command, "--no-renames"], input=given, check=True, capture_output=True)
        log = ran.stdout
        for commit, files in parsed(log):
            rows = []
            for status, old, new, path, come_from in files:
                before, after = measure(objects[repo], old), measure(objects[repo], new)
                row = {"path": path, "status": status, "bytes_before": before[0], "bytes_after": after[0]}
                row |= {"lines_before": before[1], "lines_after": after[1]}
                rows.append(row | ({"from": come_from} if come_from else {}))
            yield {"id": f"{common.repo_name(repo)}@{commit[:12]}", "files": rows}


def measure(objects, name):
    """(bytes, lines) of a blob; None if there is no blob."""
    data = b"" if set(name) == {"0"} else objects.blob(name) or b""
    return len(data), data.count(b"\n") + (not data.endswith(b"\n") and bool(data))


def hashed(commit, path):
    return hashlib.sha256(f"{common.SEED}\0{commit}\0{path}".encode()).digest()


def text(data):
    """The text of a blob of 1 byte to 1 MB, or None."""
    return data.decode() if data and len(data) <= LARGEST and b"\0" not in data and utf8(data) else None


def utf8(data):
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


if __name__ == "__main__":
    main()
