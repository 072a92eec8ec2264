#!/usr/bin/env python3
"""run.py OUT: every case of OUT/cases.ndjson in every class and form through every applier.

Writes OUT/verdicts.ndjson, then prints what `report.py OUT` says of it. Programs that must be started for each patch get the first `--sample`
cases of a class and form; every other applier gets all, and the tables tell both.
"""

import argparse
import multiprocessing
import os
import tempfile
from collections import Counter

import appliers
import noise
import refusals
import report
import shared
from case import BLOCKS, FORMS, UNIFIED, Case
from render import rendered
from shared import common

STRICT = "edt strict"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    parser.add_argument("--limit", type=int, help="so many cases in all")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--sample", type=int, default=400, help="for programs that are started for each patch; 0: all")
    parser.add_argument("--class", dest="kinds", action="append", metavar="CLASS", help="only this class; may be repeated")
    parser.add_argument("--applier", action="append", help="only this applier; may be repeated")
    parser.add_argument("--bench", help="the program of benches/appliers.rs; built if not given")
    args = parser.parse_args()
    args.bench = args.bench or appliers.built()
    jobs = [(args, n) for n in range(args.jobs)]
    with multiprocessing.Pool(args.jobs) as pool:
        names = pool.starmap(share, jobs)
    common.write(os.path.join(args.out, report.VERDICTS), (row for name in names for row in common.read(name)))
    for name in names:
        os.remove(name)
    report.main([args.out])


def share(args, job):
    """Writes the verdicts on one share of the cases to its own file."""
    name = os.path.join(args.out, f"verdicts.{job}.ndjson")
    room = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(dir=room) as scratch:
        there = appliers.all_of(args.out, scratch, args.bench)
        common.write(name, verdicts(args, job, [each for each in there if not args.applier or each.name in args.applier]))
    return name


def verdicts(args, job, peers):
    met = Counter()
    for n, case in enumerate(cases(args.out, args.limit)):
        if n % args.jobs != job:
            continue
        for form, kind, sent, patch in all_sent(case, args.kinds):
            met[form, kind] += 1
            slow = not args.sample or met[form, kind] <= args.sample // args.jobs
            row = {"id": case.id, "form": form, "class": kind, "refuse": sent.truth is None, "got": {}}
            for peer in peers:
                if form in peer.forms and (slow or not peer.slow):
                    judge(row, peer, case, sent, patch, peers)
            if row["got"]:
                yield row


def cases(out, limit=None):
    """The cases, in a random order; each with the next one of its language as the donor of foreign lines."""
    rows = sorted(common.read(os.path.join(out, shared.CASES)), key=lambda row: shared.drawn("order", row["id"]).random())
    for n, row in enumerate(rows[:limit]):
        donor = next(other for other in rows[n + 1 :] + rows[:n] if other["language"] == row["language"])
        yield Case(row, donor["before"])


def all_sent(case, kinds=None):
    """(form, class, Sent, patch) of every patch that is sent for the case."""
    for form in FORMS:
        for make in makers(form):
            if kinds and make.__name__ not in kinds:
                continue
            sent = make(case, shared.drawn(make.__name__, case.id), form)
            patch = sent and rendered(form, case, sent)
            if patch:
                yield form, make.__name__, sent, patch


def makers(form):
    marked = noise.CLASSES["marked"] if form != BLOCKS else []
    return [*noise.CLASSES["any"], *marked, *noise.CLASSES.get(form, []), *refusals.REFUSALS]


def judge(row, peer, case, sent, patch, peers):
    """Adds the peer's verdict to the row: `right`, `refused`, `half` or `wrong`; and for refusals by edt, the result of the correction."""
    how, text, more = peer.apply(case.path, sent.file, patch, sent.named, row["form"])
    row["got"][peer.name] = verdict(how, text, sent)
    if not peer.name.startswith("edt"):
        return
    row.setdefault("micros", {})[peer.name] = more["micros"]
    if how == "refused":
        facts = {"codes": more["codes"], "already_applied": more["already_applied"], "correction": None}
        if more["correction"] is not None:
            strict = next(each for each in peers if each.name == STRICT)
            again = strict.apply(case.path, sent.file, more["correction"], True, UNIFIED)
            facts["correction"] = landed(verdict(*again[:2], sent))
        row.setdefault("refusals", {})[peer.name] = facts


def landed(verdict):
    """The result of a correction."""
    return "refused again" if verdict == "refused" else verdict


def verdict(how, text, sent):
    if how == "half":
        return "half"
    if how == "refused" or (sent.truth is None and text == sent.file):
        return "refused"
    return "right" if text == sent.truth else "wrong"


if __name__ == "__main__":
    main()
