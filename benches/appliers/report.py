#!/usr/bin/env python3
"""report.py OUT: the tables of OUT/verdicts.ndjson, and whether the goals are met. The short ones are in OUT/short.md, too."""

import io
import os
import sys
from collections import Counter, defaultdict

from shared import common

VERDICTS = "verdicts.ndjson"
FORMS = ("unified", "blocks", "envelope")
EDT = ("edt strict", "edt lenient")
NOT_JUDGED = ("number_hits_twin", "resent_open")
LANDS = 0.95  # of the refusals, by their correction
EXAMPLES = 5
GROUPS = {
    "clean": ["clean"],
    "numbers": ["line_numbers_wrong", "counts_wrong", "numbers_junk", "at_dots", "at_bare", "file_shifted"],
    "wrapping": ["no_file_header", "fenced", "blank_ctx_no_space", "ctx_no_prefix", "plus_forgotten", "out_of_order"],
    "context": ["ctx1", "ctx0", "ctx_line_missing", "ctx_line_altered", "elided_ctx", "ctx_changed_in_file"],
    "copied": ["line_numbers_copied", "inner_fence", "diff_markers", "spaces_wide", "quotes_curly", "entities"],
    "white space": ["ws_trailing", "tabs_to_spaces_ctx", "tabs_to_spaces_all", "indent_lost"],
    "line ends": ["file_crlf", "patch_crlf", "no_eof_newline"],
    "must be refused": ["resent", "resent_altered", "twin_block", "twin_altered", "absent_block", "absent_similar"],
}
KINDS = [kind for kinds in GROUPS.values() for kind in kinds] + list(NOT_JUDGED)


class VerdictTable:
    """The verdicts, counted."""

    def __init__(self, rows):
        rows = list(rows)
        self.got = defaultdict(Counter)  # (form, class, applier) -> verdict -> how often, of all it was given
        self.even = defaultdict(Counter)  # the same, of the cases that every applier of the form was given
        self.offers = defaultdict(Counter)  # (form, class, edt) -> what became of the corrections
        self.looks = defaultdict(list)  # for manual inspection
        self.made, self.micros, self.refused = Counter(), defaultdict(list), set()
        self.peers = {form: [] for form in FORMS}
        for row in rows:
            self.peers[row["form"]] = max(self.peers[row["form"]], list(row["got"]), key=len)
        for row in rows:
            self.count(row)

    def count(self, row):
        form, kind = row["form"], row["class"]
        self.made[form, kind] += 1
        if row["refuse"]:
            self.refused.add(kind)
        for peer, verdict in row["got"].items():
            self.got[form, kind, peer][verdict] += 1
            if len(row["got"]) == len(self.peers[form]):
                self.even[form, kind, peer][verdict] += 1
            if peer in EDT and verdict == "wrong":
                self.looks["wrong", form, kind, peer].append(row["id"])
        for peer, micros in row.get("micros", {}).items():
            self.micros[peer].append(micros)
        for peer, facts in row.get("refusals", {}).items():
            offer, landed = self.offers[form, kind, peer], facts["correction"]
            offer["refused"] += 1
            offer["already"] += facts["already_applied"]
            if landed:
                offer["offered"] += 1
                offer[landed] += 1
            if landed == "wrong":
                self.looks["its correction is wrong", form, kind, peer].append(row["id"])
            if landed is None and not row["refuse"]:
                self.looks["no correction", form, kind, peer].append(row["id"])

    def kinds(self, form):
        return [kind for kind in KINDS if self.made[form, kind]]

    def judged(self, form):
        return [kind for kind in self.kinds(form) if kind not in NOT_JUDGED]

    def best(self, form, kind):
        """Of the peers without a wrong result in the class, the one that applied most: (right, its name, how often partly applied)."""
        peers = [peer for peer in self.peers[form] if peer not in EDT and not self.got[form, kind, peer]["wrong"]]
        even = {peer: self.even[form, kind, peer] for peer in peers}
        return max(((got["right"], peer, got["half"]) for peer, got in even.items()), default=(0, "none", 0))


def main(args):
    table = VerdictTable(common.read(os.path.join(args[0], VERDICTS)))
    all_classes(table)
    short = io.StringIO()
    groups(table, short)
    classes(table, short)
    times(table, short)
    print(short.getvalue(), end="")
    with open(os.path.join(args[0], "short.md"), "w", encoding="utf-8") as file:
        file.write(short.getvalue())
    corrections(table)
    goals(table)


def all_classes(table):
    for form in FORMS:
        peers = table.peers[form]
        print(f"\n## {form}: right / refused / partly applied / wrong, of all the applier was given\n")
        header(sys.stdout, "class", ["made", *peers])
        for kind in table.kinds(form):
            note = " (not judged)" if kind in NOT_JUDGED else " (must be refused)" if kind in table.refused else ""
            counts = [table.got[form, kind, peer] for peer in peers]
            cells = [" / ".join(str(got[word]) for word in ("right", "refused", "half", "wrong")) for got in counts]
            line(sys.stdout, kind + note, [table.made[form, kind], *cells])


def groups(table, to):
    """Only cases that every applier of the form received."""
    for form in FORMS:
        there = {name: [kind for kind in kinds if table.made[form, kind]] for name, kinds in GROUPS.items()}
        first = table.peers[form][:1] * len(KINDS)
        sizes = {name: sum(table.even[form, kind, peer].total() for kind, peer in zip(kinds, first)) for name, kinds in there.items()}
        print(f"\n## {form}: right %, in brackets wrong % and partly applied %; what must be refused: done anyway %\n", file=to)
        header(to, "applier", [f"{name} ({sizes[name]})" for name in GROUPS])
        for peer in table.peers[form]:
            sums = {name: sum((table.even[form, kind, peer] for kind in kinds), Counter()) for name, kinds in there.items()}
            line(to, peer, [summary(sums[name], sizes[name], name == "must be refused") for name in GROUPS])


def summary(got, size, refuse):
    if refuse or not size:
        return share(got["wrong"], size)
    others = [share(got["wrong"], size), share(got["half"], size)]
    return share(got["right"], size) + (f" ({', '.join(others)})" if got["wrong"] + got["half"] else "")


def classes(table, to):
    """edt on all cases, compared with the best peer on the peer's cases."""
    for form in FORMS:
        print(f"\n## {form}, by class: right %\n", file=to)
        header(to, "class", ["made", *EDT, "wrong", "strict, then its correction", "same cases: edt / best peer without a wrong"])
        for kind in table.judged(form):
            if kind in table.refused:
                continue
            got = [table.got[form, kind, peer] for peer in EDT]
            size, (right, peer, half) = table.even[form, kind, table.peers[form][0]].total(), table.best(form, kind)
            own = max(table.even[form, kind, peer]["right"] for peer in EDT)
            landed = got[0]["right"] + table.offers[form, kind, EDT[0]]["right"]
            comparison = f"{share(own, size)} / {share(right, size)} {peer}" + (f", {share(half, size)} partly applied" if half else "")
            wrong = sum(each["wrong"] for each in got)
            rights = [share(each["right"], each.total()) for each in got]
            line(to, kind, [table.made[form, kind], *rights, wrong, share(landed, table.made[form, kind]), comparison])


def times(table, to):
    for peer, micros in table.micros.items():
        micros.sort()
        middle, most = micros[len(micros) // 2], micros[len(micros) * 99 // 100]
        print(f"\n{peer}: median {middle} µs a patch, 99 % {most}, longest {micros[-1]}.", file=to)


def corrections(table):
    for refuse, title in ((False, "that should have applied"), (True, "that must be refused")):
        print(f"\n## Corrections that edt offers with its refusals of patches {title}\n")
        header(sys.stdout, "class", ["refused", "offered", "lands as it should", "refused again", "lands otherwise", "said: already applied"])
        for (form, kind, peer), offer in sorted(table.offers.items()):
            if offer["refused"] and kind in table.judged(form) and (kind in table.refused) == refuse:
                cells = [offer[word] for word in ("refused", "offered", "right", "refused again", "wrong", "already")]
                line(sys.stdout, f"{form} {kind}, {peer}", cells)


def goals(table):
    print("\n## Goals\n")
    missed = 0
    for form in FORMS:
        for kind in table.judged(form):
            said = [f"{peer} wrong {table.got[form, kind, peer]['wrong']}" for peer in EDT if table.got[form, kind, peer]["wrong"]]
            own = {peer: table.even[form, kind, peer]["right"] for peer in EDT}
            right, best, half = table.best(form, kind)
            if kind not in table.refused and right > max(own.values()):
                said.append(f"{best} {right} ({half} partly applied), edt {own[EDT[0]]} strict, {own[EDT[1]]} lenient")
            missed += bool(said)
            if said:
                print(f"* missed: {form} {kind}: {'; '.join(said)}")
    for peer in EDT:
        offer = Counter()
        for (form, kind, by), one in table.offers.items():
            if by == peer and kind not in table.refused:
                offer.update(one)
        met = offer["right"] >= LANDS * offer["refused"]
        words = f"{share(offer['right'], offer['refused'])} % of {offer['refused']} refusals land by the correction"
        print(f"* {'met' if met else 'missed'}: {peer}: {words}, {share(offer['right'], offer['offered'])} % of those that have one")
    print(f"* classes in which a goal is missed: {missed}")
    print("\n## To look at, with `show.py`\n")
    for (what, form, kind, peer), ids in sorted(table.looks.items()):
        if kind not in NOT_JUDGED:
            print(f"* {what}: {form} {kind}, {peer} ({len(ids)}): {' '.join(ids[:EXAMPLES])}")


def header(to, first, columns):
    print(f"| {first} | {' | '.join(columns)} |\n|{' --- |' * (len(columns) + 1)}", file=to)


def line(to, first, cells):
    print(f"| {first} | {' | '.join(map(str, cells))} |", file=to)


def share(part, whole):
    return f"{100 * part / whole:.1f}" if whole else "–"


if __name__ == "__main__":
    main(sys.argv[1:])
