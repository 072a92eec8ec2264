#!/usr/bin/env python3
"""False alarms of guards that count over a session: `sessions.py [--commits N] REPO...`

Human commits along first parents, oldest first, become sessions of 5, 10 and 20 commits, and each
commit becomes one call. A session has a false alarm if a guard refuses one of its calls against the
session's base, and refuses no call of it by itself. "landings" counts the same for sessions of ten
commits that land one after the other, against the branch before the first. The script applies the
guards' rules and default limits to Git's own list of changes, with renames.
"""

import argparse
import subprocess

FILES = 10
BYTES, MIN_BYTES, LINES, MIN_LINES = 0.90, 1000, 0.66, 50
BATCHES = (2, 5, 10)


def git(repo, *args):
    ran = subprocess.run(["git", "-C", repo, *args], stdout=subprocess.PIPE, check=True)
    return ran.stdout


class Sizes:
    """Bytes and lines of blobs, read by one process of Git."""

    def __init__(self, repo):
        command = ["git", "-C", repo, "cat-file", "--batch"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.known = {}

    def of(self, blob):
        if blob not in self.known:
            self.process.stdin.write(blob.encode() + b"\n")
            self.process.stdin.flush()
            head = self.process.stdout.readline().split()
            if len(head) != 3 or head[1] != b"blob":
                if len(head) == 3:
                    self.process.stdout.read(int(head[2]) + 1)
                self.known[blob] = None
            else:
                text = self.process.stdout.read(int(head[2]) + 1)[:-1]
                lines = text.count(b"\n") + (not text.endswith(b"\n") and text != b"")
                self.known[blob] = (len(text), lines)
        return self.known[blob]


def changes(repo, old, new):
    """(old path, new path, old blob, new blob) of each file that differs; `None` for no file."""
    raw = git(repo, "diff-tree", "-r", "--raw", "-z", "-M", "--no-abbrev", old, new)
    fields = iter(raw.decode("utf-8", "surrogateescape").split("\0"))
    found = []
    for head in fields:
        if not head:
            continue
        old_mode, new_mode, old_blob, new_blob, status = head[1:].split(" ")
        path = next(fields)
        to = next(fields) if status[0] in "RC" else path
        is_old = old_mode.startswith("100") and status[0] != "C"
        is_new = new_mode.startswith("100")
        found.append(
            (path if is_old else None, to if is_new else None, old_blob, new_blob)
        )
    return found


def removes(found):
    return sum(1 for old, new, *_ in found if old and not new)


def exceeds(before, after):
    if before is None or after is None:
        return False
    by_bytes = before[0] > MIN_BYTES and (before[0] - after[0]) / before[0] > BYTES
    by_lines = before[1] >= MIN_LINES and (before[1] - after[1]) / before[1] > LINES
    return by_bytes or by_lines


def cut(found, sizes, only=None):
    """The paths that lose more than the limits; of those in `only`, if it is given."""
    return {
        new
        for old, new, before, after in found
        if old and new and (only is None or new in only) and exceeds(sizes.of(before), sizes.of(after))
    }


def shrinking(found, sizes):
    """The paths that lose bytes or lines, or are new."""
    out = set()
    for old, new, before, after in found:
        if new and not old:
            out.add(new)
        elif new:
            one, other = sizes.of(before), sizes.of(after)
            if one and other and (other[0] < one[0] or other[1] < one[1]):
                out.add(new)
    return out


def judge(repo, sizes, calls, base):
    """Whether the guards refuse one of `calls` against `base` that they do not refuse alone."""
    size = deletion = alone = False
    for old, new in calls:
        found = changes(repo, old, new)
        since = changes(repo, base, new)
        if cut(found, sizes) or removes(found) > FILES:
            alone = True
        size |= bool(cut(since, sizes, shrinking(found, sizes)))
        deletion |= removes(found) > 0 and removes(since) > FILES
    return (size and not alone, deletion and not alone)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("repos", nargs="+")
    parser.add_argument("--commits", type=int, default=1500, help="the newest commits of each")
    options = parser.parse_args()
    totals = {}
    for repo in options.repos:
        sizes = Sizes(repo)
        args = ["rev-list", "--first-parent", "--reverse", f"--max-count={options.commits + 1}"]
        commits = git(repo, *args, "HEAD").decode().split()
        pairs = list(zip(commits, commits[1:]))
        for length in (5, 10, 20):
            for at in range(0, len(pairs) - length + 1, length):
                calls = pairs[at : at + length]
                count(totals, f"sessions of {length}", judge(repo, sizes, calls, calls[0][0]))
        sessions = [pairs[at : at + 10] for at in range(0, len(pairs) - 9, 10)]
        for batch in BATCHES:
            for at in range(0, len(sessions) - batch + 1, batch):
                landings = [(one[0][0], one[-1][1]) for one in sessions[at : at + batch]]
                count(totals, f"{batch} landings", judge(repo, sizes, landings, landings[0][0]))
    print("| replayed | how many | size_reduction | mass_deletion | per 100 |")
    print("| --- | --- | --- | --- | --- |")
    for name, (all_, size, deletion, either) in totals.items():
        print(f"| {name} | {all_} | {size} | {deletion} | {100 * either / all_:.2f} |")


def count(totals, name, found):
    row = totals.setdefault(name, [0, 0, 0, 0])
    row[0] += 1
    row[1] += found[0]
    row[2] += found[1]
    row[3] += any(found)


if __name__ == "__main__":
    main()
