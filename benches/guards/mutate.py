#!/usr/bin/env python3
"""mutate.py OUT: damage typical of models, made from the human changes in OUT and judged by each language's own parser.

Writes OUT/<language>/mutants.ndjson ({"id", "class", "path", "before", "after", "lines", "verdict", "said"}); the same corpus gives the
same mutants. "lines" are the first and the last damaged line of "after".
"""

import argparse
import collections
import hashlib
import json
import os
import random
import time
from multiprocessing import Pool

import common
import damage
import judges
from source import Source

PER_CLASS = 110
A_SOURCE = {"c": 14, "cpp": 14, "yaml": 9, "json": 9}  # mutants of one change
LARGEST = 120_000  # characters of a file that is damaged
SECONDS = {"c": 1200}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    parser.add_argument("--language", choices=list(common.LANGUAGES), action="append")
    parser.add_argument("--per-class", type=int, default=PER_CLASS)
    parser.add_argument("--class", dest="classes", action="append", help="only this class of damage; may be repeated")
    args = parser.parse_args()
    if args.classes:
        for name, classes in damage.CLASSES.items():
            damage.CLASSES[name] = [each for each in classes if each.__name__ in args.classes]
    wanted = args.language or [name for name in damage.CLASSES]
    wanted = [name for name in wanted if os.path.exists(os.path.join(args.out, name, "changes.ndjson"))]
    with Pool(2) as pool:
        for report in pool.imap_unordered(one_language, [(args.out, name, args.per_class) for name in wanted], chunksize=1):
            common.say(report)


def one_language(task):
    out, language, per_class = task
    repos_file = os.path.join(out, "repos.json")
    repos = json.load(open(repos_file, encoding="utf-8")) if os.path.exists(repos_file) else {}
    judge, missing = judges.judge_of(language, out, repos, common.Objects)
    rows, tally = [], collections.Counter()
    made = mutants(out, language, judge, per_class, tally)
    common.write(os.path.join(out, language, "mutants.ndjson"), made_rows(made, rows))
    if judge:
        judge.close()
    return report(language, missing, rows, tally)


def made_rows(made, rows):
    for row in made:
        rows.append((row["class"], row["verdict"]))
        yield row


def mutants(out, language, judge, per_class, tally):
    """Sources in a hashed order; each gives mutants of the classes that have the fewest so far."""
    classes = {each.__name__: each for each in damage.CLASSES[language]}
    counts = collections.Counter({name: 0 for name in classes})
    deadline = time.monotonic() + SECONDS.get(language, 1200)
    for source in sources(out, language):
        open_classes = sorted((name for name in classes if counts[name] < per_class), key=lambda name: (counts[name], hashed(source.id + name)))
        if not open_classes or time.monotonic() > deadline:
            break
        if not source.blocks:
            continue
        tally["sources"] += 1
        if judge and not judge.open({"id": source.id, "path": source.path, "after": source.after}):
            tally["sources the judge refuses"] += 1
            continue
        texts = {}
        for name in open_classes:
            text = classes[name](source, random.Random(f"{common.SEED} {source.id} {name}"))
            if text is not None and text not in (source.after, source.before, *texts.values()):
                texts[name] = text
                if len(texts) == A_SOURCE.get(language, 10):
                    break
        complaints = judge.judge(list(texts.values())) if judge and texts else [None] * len(texts)
        for (name, text), said in zip(texts.items(), complaints):
            verdict = "unjudged" if not judge else "rejected" if said else "accepted"
            if verdict == "rejected" and name in damage.MUST_PARSE:
                tally[f"{name} cut wrongly"] += 1
                continue
            counts[name] += 1
            yield {
                "id": f"{source.id}#{name}",
                "class": name,
                "path": source.path,
                "before": source.before,
                "after": text,
                "lines": damaged(source.after, text),
                "verdict": verdict,
                "said": said,
            }


def damaged(human, text):
    """The first and the last line of `text`, from 1, that differ from the human text; where lines are only missing, those around the gap."""
    human, text = human.split("\n"), text.split("\n")
    most = min(len(human), len(text))
    first = next((n for n in range(most) if human[n] != text[n]), most)
    same = next((n for n in range(most - first) if human[-1 - n] != text[-1 - n]), most - first)
    last = len(text) - same
    return [max(first, 1), min(first + 1, len(text))] if last <= first else [first + 1, last]


def sources(out, language):
    """The modified files that are not too large, in an order that spreads over repositories and history."""
    rows = []
    with open(os.path.join(out, language, "changes.ndjson"), "rb") as file:
        at = 0
        for line in file:
            row = json.loads(line)
            if row["kind"] == "modified" and len(row["after"]) <= LARGEST:
                rows.append((hashed(row["id"]), at))
            at += len(line)
        for _, at in sorted(rows):
            file.seek(at)
            yield Source(json.loads(file.readline()), language)


def hashed(text):
    return hashlib.sha256(f"{common.SEED}\0{text}".encode()).digest()


def report(language, missing, rows, tally):
    """Markdown: how many of each class, and how many the judge refuses."""
    by_class = collections.Counter(name for name, _ in rows)
    refused = collections.Counter(name for name, verdict in rows if verdict == "rejected")
    text = [f"\n{language}: {len(rows)} mutants; {dict(tally)}"]
    if missing:
        text.append(f"unjudged: {missing} is not there")
    text.append("| class | mutants | the parser refuses |\n| --- | --- | --- |")
    text += [f"| {each.__name__} | {by_class[each.__name__]} | {refused[each.__name__]} |" for each in damage.CLASSES[language]]
    return "\n".join(text)


if __name__ == "__main__":
    main()
