#!/usr/bin/env python3
"""How often an edit can be separated from the user's uncommitted changes, on real histories.

    cargo build --release && python3 benches/ownership.py target/release/edt REPOSITORY [REPOSITORY…] [--commits 500] [--seed 1]

Each of the last commits of a repository is replayed by an agent beside a user: before the agent edits a file, the user has typed one
hunk of the commit that changes this file next. The agent's edit is the commit's change, made to what is on disk, as one patch for
each file. Checked for each separate edit: the branch has the commit's file without the user's hunk, and the disk has both.
Exits with 1 if a check fails.
"""

import argparse
import collections
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile


def run(*args, cwd=None, data=None, check=True):
    done = subprocess.run(args, cwd=cwd, input=data, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if check and done.returncode:
        raise RuntimeError(f"{args}: {done.stderr.decode(errors='replace')}")
    return done


def merge(scratch, ours, base, theirs):
    """The three-way merge of three texts, or None if they conflict."""
    names = []
    for name, text in (("ours", ours), ("base", base), ("theirs", theirs)):
        (scratch / name).write_bytes(text)
        names.append(str(scratch / name))
    done = run("git", "merge-file", "-p", *names, check=False)
    return done.stdout if done.returncode == 0 else None


def diff(scratch, old, new, path):
    """The unified diff between two texts, with `path` as its name."""
    (scratch / "old").write_bytes(old)
    (scratch / "new").write_bytes(new)
    args = ("git", "diff", "--no-index", "--no-color", str(scratch / "old"), str(scratch / "new"))
    text = run(*args, check=False).stdout
    at = text.find(b"\n@@")
    if at < 0:
        return b""
    return b"--- a/" + path + b"\n+++ b/" + path + text[at:]


def hunks(patch):
    """The hunks of a unified diff of one file."""
    head, *rest = patch.split(b"\n@@")
    return [head + b"\n@@" + hunk + (b"" if hunk.endswith(b"\n") else b"\n") for hunk in rest]


def changed_files(repository, commit):
    raw = run("git", "-C", repository, "diff-tree", "-r", "-z", "--no-commit-id", "--raw", commit).stdout.split(b"\0")
    for head, path in zip(raw[::2], raw[1::2]):
        old_mode, new_mode, old, new, status = head[1:].split(b" ")
        if status == b"M" and old_mode == new_mode and new_mode in (b"100644", b"100755"):
            yield path, old.decode(), new.decode()


def blob(repository, oid):
    return run("git", "-C", repository, "cat-file", "blob", oid).stdout


def users_file(scratch, rng, before, after, later):
    """The file before the commit with one hunk of its next change, or None."""
    choices = hunks(diff(scratch, after, later, b"f"))
    rng.shuffle(choices)
    for hunk in choices[:4]:
        (scratch / "f").write_bytes(after)
        if run("patch", "-s", "-p1", cwd=scratch, data=hunk, check=False).returncode:
            continue
        users = merge(scratch, before, after, (scratch / "f").read_bytes())
        if users is not None and users != before:
            return users
    return None


def replay(edt, repository, commits, rng, count):
    scratch = pathlib.Path(tempfile.mkdtemp())
    environment = dict(os.environ, HOME=str(scratch), XDG_CONFIG_HOME=str(scratch), GIT_AUTHOR_NAME="a", GIT_AUTHOR_EMAIL="a@b",
                       GIT_COMMITTER_NAME="a", GIT_COMMITTER_EMAIL="a@b")
    os.environ.update(environment)
    following = {}
    order = run("git", "-C", repository, "rev-list", "--no-merges", "HEAD").stdout.decode().split()
    replayed, failures = 0, []
    for commit in order:
        files = list(changed_files(repository, commit))
        work = []
        for path, old, new in files:
            later = following.get(path)
            following[path] = new
            if later is None or b" " in path:
                continue
            before, after, later = (blob(repository, oid) for oid in (old, new, later))
            if max(map(len, (before, after, later))) > 300_000 or b"\0" in before + after + later:
                continue
            users = users_file(scratch, rng, before, after, later)
            disk = users and merge(scratch, users, before, after)
            if users is None:
                count["no hunk of the user applies"] += 1
            elif disk is None:
                count["overlap for Git, too"] += 1
            else:
                work.append((path, before, after, users, disk))
        if not work:
            continue
        replayed += 1
        tree = pathlib.Path(tempfile.mkdtemp(dir=scratch))
        run("git", "init", "-q", str(tree))
        for path, before, *_ in work:
            (tree / path.decode()).parent.mkdir(parents=True, exist_ok=True)
            (tree / path.decode()).write_bytes(before)
        run("git", "add", "-A", "-f", cwd=tree)
        run("git", "commit", "-qm", "base", cwd=tree)
        for path, before, after, users, disk in work:
            name = path.decode()
            (tree / name).write_bytes(users)
            patch = diff(scratch, users, disk, path)
            if not patch:
                count["the hunk of the user is the commit's"] += 1
                (tree / name).write_bytes(before)
                continue
            answer = json.loads(run(edt, "-C", str(tree), "apply", "--patch", "-", "--json", data=patch, check=False).stdout)
            if answer["status"] != "applied":
                count["refused: " + answer["errors"][0]["code"]] += 1
                (tree / name).write_bytes(before)
                continue
            kind = answer["files"][0]["user_changes"]
            count[kind] += 1
            on_branch = run("git", "show", "HEAD:" + name, cwd=tree).stdout
            wanted = after if kind == "separate" else disk
            if on_branch != wanted:
                failures.append((commit, name, kind, "branch"))
            if (tree / name).read_bytes() != disk:
                failures.append((commit, name, kind, "disk"))
        fsck = run("git", "fsck", "--strict", cwd=tree, check=False)
        if fsck.returncode:
            failures.append((commit, "-", "-", fsck.stderr.decode()))
        shutil.rmtree(tree)
        if replayed % 50 == 0:
            print(f"{repository}: {replayed} of {commits} commits", file=sys.stderr)
        if replayed >= commits:
            break
    shutil.rmtree(scratch)
    return replayed, failures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("edt")
    parser.add_argument("repository", nargs="+")
    parser.add_argument("--commits", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    failed = False
    for repository in args.repository:
        count = collections.Counter()
        edt, rng = os.path.abspath(args.edt), random.Random(args.seed)
        replayed, failures = replay(edt, os.path.abspath(repository), args.commits, rng, count)
        edits = sum(n for what, n in count.items() if what in ("separate", "mixed", "none") or what.startswith("refused"))
        print(f"{repository}: {replayed} commits, {edits} edits beside a user's hunk")
        for what, n in count.most_common():
            share = f"{100 * n / edits:.1f} %" if what in ("separate", "mixed", "none") or what.startswith("refused") else "not counted"
            print(f"  {n:5}  {share:>11}  {what}")
        for failure in failures:
            failed = True
            print("  FAILED:", *failure)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
