#!/usr/bin/env python3
"""families.py OUT REPO...: corpus and damage of languages without a grammar.

Then `cargo bench --bench guards -- OUT --language kotlin ...`. No parser judges the damage: every damaged text counts.
"""

import argparse
import os
import re

import common
import corpus
import damage
import mutate
import source

C, DOUBLE, SINGLE = source._C_LIKE, source._DOUBLE, source._SINGLE
LANGUAGES = {  # name: ends of paths, strings and comments
    "kotlin": ((".kt", ".kts"), C + rf'|(?P<string>""".*?"""|{DOUBLE}|{SINGLE})'),
    "swift": ((".swift",), C + rf'|(?P<string>"""(?:\\.|.)*?"""|{DOUBLE})'),
    "ruby": ((".rb",), rf"(?P<comment>(?:^|(?<=\s))#[^\n]*)|(?P<string>{DOUBLE}|{SINGLE})"),
    "php": ((".php",), C[:-1] + rf"|\#(?!\[)[^\n]*)|(?P<string>{DOUBLE}|{SINGLE})"),
    "csharp": ((".cs",), C + rf'|(?P<string>@"(?:[^"]|"")*"|{DOUBLE}|{SINGLE})'),
    "svelte": ((".svelte",), r"(?P<comment><!--.*?-->|(?<!:)//[^\n]*|/\*.*?\*/)" + rf"|(?P<string>{DOUBLE}|(?<!\w){SINGLE}|`[^`]*`)"),
    "terraform": ((".tf",), rf"(?P<comment>\#[^\n]*|//[^\n]*)|(?P<string>{DOUBLE})"),
    "zig": ((".zig",), rf"(?P<comment>//[^\n]*)|(?P<string>\\\\[^\n]*|{DOUBLE}|{SINGLE})"),
    "cmake": ((".cmake", "/CMakeLists.txt"), r'(?P<comment>\#[^\n]*)|(?P<string>"(?:\\.|[^"\\])*")'),
    "lua": ((".lua",), rf"(?P<comment>--[^\n]*)|(?P<string>{DOUBLE}|{SINGLE})"),
    "scss": ((".scss", ".less"), C + rf"|(?P<string>{DOUBLE}|{SINGLE})"),
    "vue": ((".vue", ".astro"), rf"(?P<comment><!--.*?-->)|(?P<string>{DOUBLE})"),
}
CHANGES = 600
PER_CLASS = 60


def tail_lost(src, rng):
    """The last 16 to 50 % of the lines are missing."""
    cut = len(src.new) - max(int(len(src.new) * rng.uniform(0.16, 0.5)), 12)
    return None if len(src.new) < 30 or cut < 5 else "".join(src.new[:cut])


def text_twice(src, rng):
    """The whole text occurs twice."""
    return source.ended(src.after) + src.after if len(src.new) > 5 else None


CLASSES = [
    damage.bracket_lost, damage.bracket_extra, damage.paren_lost, damage.paren_extra, damage.quote_lost, tail_lost, text_twice,
    damage.truncated_line, damage.truncated_tail, damage.fence, damage.plus_prefix, damage.line_numbers, damage.html_escaped,
]  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    parser.add_argument("repos", nargs="+")
    parser.add_argument("--seed", default=common.SEED, help="another seed draws another sample")
    args = parser.parse_args()
    common.SEED = args.seed
    common.LANGUAGES = {name: ends for name, (ends, _) in LANGUAGES.items()}
    corpus.SIZES = dict.fromkeys(LANGUAGES, CHANGES)
    damage.FENCE_NAMES = {name: name for name in LANGUAGES}
    source.TOKENS |= {name: re.compile(rule + source._BRACKET, re.S | re.M) for name, (_, rule) in LANGUAGES.items()}
    objects = {repo: common.Objects(repo) for repo in args.repos}
    histories = {repo: corpus.history(repo) for repo in args.repos}
    for name in LANGUAGES:
        rows = []
        for status, kind, size in (("M", "modified", CHANGES), ("A", "added", round(CHANGES * corpus.ADDED))):
            pool = {repo: candidates(commits, status, name) for repo, commits in histories.items()}
            rows += corpus.sample({repo: found for repo, found in pool.items() if found}, size, objects, kind)
        if rows:
            common.write(os.path.join(args.out, name, "changes.ndjson"), rows)
            made = damaged(args.out, name)
            count = common.write(os.path.join(args.out, name, "mutants.ndjson"), made)
            common.say(f"{name}: {len(rows)} changes, {count} damaged")


def candidates(commits, status, name):
    """The changes of files in one language, as `corpus.sample` takes them."""
    return [
        (commit, path, old, new, files)
        for commit, files in commits
        for what, old, new, path in files
        if what == status and common.language(path) == name
    ]


def damaged(out, name):
    damage.CLASSES = {name: CLASSES}
    for row in mutate.mutants(out, name, None, PER_CLASS, mutate.collections.Counter()):
        yield row | {"verdict": "rejected"}


if __name__ == "__main__":
    main()
