"""Measures edits that name a definition, on the definitions of real files.

Each sampled definition is replaced by itself, as in the file and without its indentation: nothing
may change. A change, or a refusal, is counted and printed.

    python3 benches/symbols.py EDT OUT REPO... [--seed 7] [--files 12] [--symbols 6]
        [--suffix .py] [--serena PYTHON --server python=PROGRAM]

OUT is a new directory for clones. REPO is a local repository, bare or not. PYTHON is that of a
virtual environment with serena-agent, which then replaces the same definitions.
"""

import argparse
import collections
import json
import os
import random
import shutil
import subprocess

SUFFIXES = (".py", ".rs", ".go", ".c", ".cc", ".cpp", ".h", ".hpp", ".js", ".ts", ".tsx", ".java")
MAX_BYTES = 200_000


class Clone:
    """A clone with edt's and Git's own files apart from the user's."""

    def __init__(self, edt, out, repo):
        self.edt = edt
        self.root = os.path.join(out, "clone")
        shutil.rmtree(self.root, ignore_errors=True)
        home = os.path.join(out, "home")
        keys = {"HOME": "", "XDG_CONFIG_HOME": "c", "XDG_DATA_HOME": "d", "XDG_STATE_HOME": "s"}
        self.env = dict(os.environ, EDT_AGENT="1")
        self.env.update({key: os.path.join(home, name) for key, name in keys.items()})
        os.makedirs(home, exist_ok=True)
        source = "file://" + os.path.abspath(repo)
        subprocess.run(["git", "clone", "-q", "--depth", "1", source, self.root], check=True)

    def serena(self, python, servers):
        """Serena's editor for this clone: a process that answers row by row."""
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "serena_symbols.py")
        return subprocess.Popen(
            [python, script, self.root, *servers],
            env=self.env,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def files(self, suffixes):
        listed = subprocess.run(
            ["git", "ls-files", "-z"], cwd=self.root, check=True, capture_output=True, text=True
        )
        for name in listed.stdout.split("\0"):
            full = os.path.join(self.root, name)
            is_file = os.path.isfile(full) and not os.path.islink(full)
            if name.endswith(suffixes) and is_file and os.path.getsize(full) < MAX_BYTES:
                yield name

    def lines(self, name):
        full = os.path.join(self.root, name)
        with open(full, newline="", errors="surrogateescape") as file:
            return file.read().split("\n")

    def call(self, *args, request=None):
        """The answer of edt, and whether it is one."""
        done = subprocess.run(
            [self.edt, *args, "--json"],
            cwd=self.root,
            env=self.env,
            capture_output=True,
            text=True,
            input=json.dumps(request) if request else None,
        )
        return json.loads(done.stdout)


def dedented(body):
    first = body.split("\n")[0]
    indent = len(first) - len(first.lstrip())
    return "\n".join(
        line[indent:] if not line[:indent].strip() else line for line in body.split("\n")
    )


def judge(answer):
    if answer["errors"]:
        return answer["errors"][0]["code"]
    return "changed" if answer["files"] else "same"


def asked(process, row):
    process.stdin.write(json.dumps(row) + "\n")
    process.stdin.flush()
    return json.loads(process.stdout.readline())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("edt")
    parser.add_argument("out")
    parser.add_argument("repo", nargs="+")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--files", type=int, default=12)
    parser.add_argument("--symbols", type=int, default=6)
    parser.add_argument("--suffix", action="append", help="only such files; may be repeated")
    parser.add_argument("--serena", metavar="PYTHON")
    parser.add_argument("--server", action="append", default=[], metavar="LANGUAGE=PROGRAM")
    args = parser.parse_args()
    suffixes = tuple(args.suffix or SUFFIXES)
    rng = random.Random(args.seed)
    counts = collections.Counter()
    for repo in args.repo:
        clone = Clone(os.path.abspath(args.edt), args.out, repo)
        names = sorted(clone.files(suffixes))
        rng.shuffle(names)
        serena = clone.serena(args.serena, args.server) if args.serena else None
        for name in names[: args.files]:
            outline = clone.call("outline", name)
            if outline.get("errors"):
                counts["outline", outline["errors"][0]["code"]] += 1
                continue
            lines, symbols = clone.lines(name), outline["symbols"]
            counts["outline", "definitions"] += len(symbols)
            for symbol in rng.sample(symbols, min(args.symbols, len(symbols))):
                body = "\n".join(lines[symbol["first_line"] - 1 : symbol["last_line"]])
                for how, content in (("as it is", body), ("dedented", dedented(body))):
                    request = {
                        "path": name,
                        "mode": "replace_symbol",
                        "symbol": symbol["name"],
                        "start_line": symbol["last_line"],
                        "content": content,
                    }
                    verdict = judge(clone.call("check", "--request", "-", request=request))
                    counts[f"{how}, {symbol['kind']}", verdict] += 1
                    if verdict != "same":
                        print(f"{how}: {verdict}: {name} {symbol['name']}")
                    if serena:
                        row = {"path": name, "symbol": symbol["name"], "content": content}
                        answer = asked(serena, row)
                        counts[f"{how}, {symbol['kind']}, Serena", answer["how"]] += 1
                        if answer["how"] != "same":
                            print(f"{how}: Serena: {answer['how']}: {name} {symbol['name']}")
        if serena:
            serena.stdin.close()
            serena.wait(60)
    for (how, verdict), count in sorted(counts.items()):
        print(f"{how:30} {verdict:20} {count}")


if __name__ == "__main__":
    main()
