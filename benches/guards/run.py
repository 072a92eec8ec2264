#!/usr/bin/env python3
"""run.py OUT REPO...: corpus, damage and peers, in this order; existing files are kept.

Then `cargo bench --bench guards -- OUT`.
"""

import argparse
import os
import subprocess
import sys

import common

HERE = os.path.dirname(os.path.abspath(__file__))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    parser.add_argument("repos", nargs="+")
    parser.add_argument("--seed", default=common.SEED, help="another seed draws another sample")
    args = parser.parse_args()
    if not os.path.exists(os.path.join(args.out, "repos.json")):
        step("corpus.py", "--seed", args.seed, args.out, *args.repos)
    there = [name for name in common.LANGUAGES if os.path.exists(os.path.join(args.out, name, "changes.ndjson"))]
    for script, name in (("mutate.py", "mutants.ndjson"), ("peers.py", "peers.ndjson")):
        absent = [language for language in there if not os.path.exists(os.path.join(args.out, language, name))]
        if absent:
            step(script, args.out, *(word for language in absent for word in ("--language", language)))


def step(script, *args):
    common.say(f"\n{script} {' '.join(args)}")
    subprocess.run([sys.executable, os.path.join(HERE, script), *args], check=True)


if __name__ == "__main__":
    main()
