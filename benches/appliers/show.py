#!/usr/bin/env python3
"""show.py OUT ID CLASS [FORM] [--all]: one case of one class: the patch, the result of each applier, and its difference to the correct result."""

import argparse
import difflib
import tempfile

import appliers
import run
from case import FORMS, UNIFIED


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    parser.add_argument("id")
    parser.add_argument("kind", metavar="class")
    parser.add_argument("form", nargs="?", choices=FORMS, default=UNIFIED)
    parser.add_argument("--all", action="store_true", help="the peers too")
    args = parser.parse_args()
    case = next(case for case in run.cases(args.out) if case.id == args.id)
    sent, patch = next((sent, patch) for form, kind, sent, patch in run.all_sent(case, [args.kind]) if form == args.form)
    print(patch)
    print("must be refused" if sent.truth is None else difference(sent.file, sent.truth, "file", "truth"))
    with tempfile.TemporaryDirectory() as scratch:
        for peer in appliers.all_of(args.out, scratch, appliers.built()):
            if args.form in peer.forms and (args.all or peer.name.startswith("edt")):
                show(peer, case, sent, patch, args.form)


def show(peer, case, sent, patch, form):
    how, text, more = peer.apply(case.path, sent.file, patch, sent.named, form)
    print(f"==== {peer.name}: {run.verdict(how, text, sent)}; {' '.join(more.get('codes', []))} {more.get('said') or ''}")
    if how != "refused" and text != sent.truth:
        print(difference(sent.truth or sent.file, text, "truth" if sent.truth is not None else "file", "got"))
    if more.get("correction"):
        print(f"---- its correction:\n{more['correction']}")


def difference(old, new, old_name, new_name):
    lines = difflib.unified_diff(old.splitlines(True), new.splitlines(True), old_name, new_name)
    return "".join(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in lines)


if __name__ == "__main__":
    main()
