#!/usr/bin/env python3
"""modes.py OUT: recorded changes sent by their text, by line numbers, by both, and by anchors.

Each change of OUT/cases.ndjson is sent for the file as it was read, for one with seven lines of another file above, and for one in which a
line of the range changed. Prints how many bytes a request has besides its content, and how many were right, refused and wrong.
"""

import argparse
import statistics
import zlib
from collections import Counter, defaultdict

import appliers
import edits
import run
import shared
from case import join, places

MODES = ("text", "numbers", "numbers, text", "anchors")
SHIFT = 7


def anchor(lines, at):
    """As `edt read --anchors` prints it: sums over neighbours from the top of the file."""
    total = 0
    for before, line in zip(lines[:at], lines[1 : at + 1]):
        total += zlib.crc32(f"{before}\n{line}".encode("utf-8", "surrogateescape"))
    digest = zlib.crc32(lines[at].encode("utf-8", "surrogateescape")) & 0xFFFF
    return f"{at + 1}:{digest:04x}{total & 0xFFFFFF:06x}"


def narrowed(change):
    """The change without the lines of context around it: its first line (0-based), what goes and what comes."""
    old, new, at = list(change.old), list(change.new), change.at
    while old and new and old[0] == new[0]:
        old, new, at = old[1:], new[1:], at + 1
    while old and new and old[-1] == new[-1]:
        old, new = old[:-1], new[:-1]
    return at, old, new


def requests(path, change):
    """(mode, request) of each way to send the change."""
    at, old, new = narrowed(change)
    lines = change.lines
    content = {"content": join(new)} if new else {}
    yield "text", {"path": path, "mode": "edit", "old_text": join(change.old), "content": join(change.new)}
    if old:
        mode = {"path": path, "mode": "replace_lines" if new else "delete_lines"} | content
        numbers = mode | {"start_line": at + 1, "end_line": at + len(old)}
        yield "numbers", numbers
        yield "numbers, text", numbers | {"expected_text": join(old)}
        yield "anchors", mode | {"start_anchor": anchor(lines, at), "end_anchor": anchor(lines, at + len(old) - 1)}
    elif at < len(lines):
        mode = {"path": path, "mode": "insert"} | content
        yield "numbers", mode | {"start_line": at + 1}
        yield "numbers, text", mode | {"start_line": at + 1, "expected_text": lines[at] + "\n"}
        yield "anchors", mode | {"start_anchor": anchor(lines, at)}


def situations(change, donor, chance):
    """(name, the file, the only correct text; None if the edit must be refused)."""
    yield "as read", change.lines, change.after()
    above = donor[:SHIFT]
    if len(above) == SHIFT:
        yield "shifted", above + change.lines, above + change.after()
    at, old, _ = narrowed(change)
    if old:
        lines, row = list(change.lines), at + chance.randrange(len(old))
        lines[row] += "x"
        if not places(lines, change.old):
            yield "changed", lines, None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    parser.add_argument("--bench", help="the program of benches/appliers.rs; built if not given")
    args = parser.parse_args()
    edt = appliers.Process("edt", (), [args.bench or appliers.built(), "--rows"])
    sizes, counts, looks = defaultdict(list), defaultdict(Counter), defaultdict(list)
    for case in run.cases(args.out):
        chance = shared.drawn("modes", case.id)
        change = edits.Change(case, chance)
        if not change.usable():
            continue
        sent = list(requests(case.path, change))
        if len(sent) < len(MODES):
            continue
        for mode, request in sent:
            rest = {key: value for key, value in request.items() if key not in ("content", "path")}
            sizes[mode].append(len(str(rest)))
        for name, lines, truth in situations(change, case.donor, chance):
            for mode, request in sent:
                how, text, _ = edt.apply(case.path, join(lines), "", True, "", request=request)
                right = truth is not None and text == join(truth)
                verdict = "refused" if how == "refused" else "right" if right else "wrong"
                counts[name, mode][verdict] += 1
                if verdict == "wrong":
                    looks[name, mode].append(case.id)
    print("| | " + " | ".join(MODES) + " |\n| --- |" + " --- |" * len(MODES))
    print("| bytes besides the content, median | " + " | ".join(f"{statistics.median(sizes[mode]):.0f}" for mode in MODES) + " |")
    for name in ("as read", "shifted", "changed"):
        cells = (counts[name, mode] for mode in MODES)
        print(f"| {name}: right, refused, wrong | " + " | ".join(f"{each['right']}, {each['refused']}, {each['wrong']}" for each in cells) + " |")
    for where, ids in looks.items():
        print(f"* {', '.join(where)}, wrong: {' '.join(ids[: edits.EXAMPLES])}")


if __name__ == "__main__":
    main()
