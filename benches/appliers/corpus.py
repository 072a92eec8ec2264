#!/usr/bin/env python3
"""corpus.py OUT REPO...: real hunks of human commits, sampled from Git histories.

Writes OUT/cases.ndjson ({"id", "language", "path", "before", "hunks": [{"at", "lines"}]}): the file as it stood in the commit's parent, and
one hunk of what the commit did to it, or (a third of the cases) two to four; its other hunks are not applied. The same repositories at the
same commits give the same cases.
"""

import argparse
import os
import re
import subprocess
import tempfile
from collections import Counter, defaultdict

import shared
from shared import common

SIZE = 1500
SEVERAL = 1 / 3  # of the cases have two to four hunks
OVERSAMPLED = 1.5  # not every change gives a case
LINES = range(5, 5001)  # of the file
LARGEST = 120  # lines of one hunk
HEAD = re.compile(r"@@ -(\d+)(?:,(\d+))? \+")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    parser.add_argument("repos", nargs="+")
    parser.add_argument("--seed", default=shared.SEED, help="another seed draws another sample")
    parser.add_argument("--size", type=int, default=SIZE, help="cases of each language")
    args = parser.parse_args()
    shared.SEED = common.SEED = args.seed
    changes = shared.changes()

    pools = defaultdict(lambda: defaultdict(list))
    objects = {repo: common.Objects(repo) for repo in args.repos}
    for repo in args.repos:
        for commit, files in changes.history(repo):
            for status, old, new, path in files:
                language = common.language(path)
                if status == "M" and language in ("c", "go", "python"):
                    pools[language][repo].append((commit, path, old, new, []))
    rows = []
    for language, pool in sorted(pools.items()):
        sample = changes.sample(pool, round(args.size * OVERSAMPLED), objects, "modified")
        cases = list(taken(sample, language, args.size))
        several = sum(len(case["hunks"]) > 1 for case in cases)
        spread = Counter(case["id"].split("@")[0] for case in cases)
        commits = len({case["id"].split(":")[0] for case in cases})
        common.say(f"{language}: {len(cases)} cases, {several} of several hunks, {commits} commits; {dict(spread.most_common())}")
        rows += cases
    for each in objects.values():
        each.close()
    common.write(os.path.join(args.out, shared.CASES), rows)


def taken(sample, language, size):
    """The first `size` cases that the sample gives, with the requested share of several hunks if there are enough such files."""
    several = 0
    with tempfile.TemporaryDirectory() as directory:
        count = 0
        for row in sample:
            if count == size:
                return
            hunks = usable(row, directory)
            if not hunks:
                continue
            chance = shared.drawn("case", row["id"])
            most = min(4, len(hunks))
            wanted = chance.randint(2, most) if most > 1 and several < SEVERAL * (count + 1) else 1
            hunks = [hunks[n] for n in sorted(chance.sample(range(len(hunks)), wanted))]
            several += wanted > 1
            count += 1
            yield {"id": row["id"], "language": language, "path": row["path"], "before": row["before"], "hunks": hunks}


def usable(row, directory):
    """The hunks of a change that can be a case; none if the text has a property that is a class of its own."""
    before, after = row["before"], row["after"]
    if "\r" in before + after or not (before.endswith("\n") and after.endswith("\n")) or before.count("\n") not in LINES:
        return []
    names = [os.path.join(directory, name) for name in ("before", "after")]
    for name, text in zip(names, (before, after)):
        with open(name, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
    command = ["git", "diff", "--no-index", "--no-color", f"-U{shared.CONTEXT}", "--", *names]
    said = subprocess.run(command, capture_output=True, encoding="utf-8", env=common_environment()).stdout
    hunks = []
    for line in said.split("\n")[4:-1]:
        head = HEAD.match(line)
        if head:
            first, count = int(head[1]), head[2]
            hunks.append({"at": first if count == "0" else first - 1, "lines": []})
        else:
            hunks[-1]["lines"].append(line)
    return [hunk for hunk in hunks if len(hunk["lines"]) <= LARGEST]


def common_environment():
    """Git without user configuration."""
    return {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "HOME": "/nonexistent"}


if __name__ == "__main__":
    main()
