#!/usr/bin/env python3
"""edits.py OUT: near misses of mode `edit`, made from the hunks of OUT/cases.ndjson, and what edt's corrected request makes of each.

A class makes the file, the texts that are sent, and the correct result; None where it would change nothing. The corrected request of a
refusal is sent back unread. Prints a table: right, wrong, no correction; for what must be refused: how often a request was offered.
"""

import argparse
import json
import os
import re
import unicodedata
from collections import Counter, defaultdict

import appliers
import run
import shared
from case import carried_out, ends, join, places, split
from refusals import cores
from spaces import spaces

EXAMPLES = 4
WORD = re.compile(r"[A-Za-z_]{4,}")
NUMBER = re.compile(r"(?<![\w.])\d+(?![\w.])")
OPERATORS = {"==": "!=", "!=": "==", "<=": ">=", ">=": "<=", " + ": " - ", " - ": " + ", "&&": "||", "||": "&&", " and ": " or ", " or ": " and "}
CALL = re.compile(r"^(\s*)([^\"'#/]*\w)\(([^()\"'#/]*,[^()\"'#/]*)\)(.*)$")


class Change:
    """One change as an agent sends it: the old and the new lines, at a line of the file (0-based)."""

    def __init__(self, case, chance):
        hunk = chance.choice(case.hunks)
        self.id, self.language, self.lines, self.hunk = case.id, case.language, case.lines, hunk
        lines, at = list(hunk.lines), hunk.at
        wanted = chance.randint(0, 3)  # lines of context
        while len(lines) > 1:
            before = next((n for n, line in enumerate(lines) if line[0] != " "), 0)
            after = next((n for n, line in enumerate(reversed(lines)) if line[0] != " "), 0)
            side = 0 if before > wanted else -1 if after > wanted else None
            shorter = lines[1:] if side == 0 else lines[:-1]
            if side is None or len(places(case.lines, [line[1:] for line in shorter if line[0] != "+"])) != 1:
                break
            lines, at = shorter, at + (side == 0)
        self.marked, self.at = lines, at
        self.old = [line[1:] for line in lines if line[0] != "+"]
        self.new = [line[1:] for line in lines if line[0] != "-"]
        self.end = at + len(self.old)

    def usable(self):
        return "".join(self.old).strip() and len(places(self.lines, self.old)) == 1

    def after(self, lines=None):
        lines = self.lines if lines is None else lines
        return lines[: self.at] + self.new + lines[self.end :]

    def made(self, old, new, file=None, truth=None, same=None):
        """What is sent, if it is a near miss."""
        file = join(self.lines if file is None else file)
        truth = join(self.after() if truth is None else truth)
        return None if not old.strip() or old in file or old == new else (file, old, new, truth, same or (lambda a, b: a == b))

    def context(self):
        """The lines of the old text that stay: their number in it."""
        numbers, n = [], 0
        for line in self.marked:
            if line[0] == " ":
                numbers.append(n)
            n += line[0] != "+"
        return numbers

    def removed(self):
        stay = set(self.context())
        return [n for n in range(len(self.old)) if n not in stay]


def tabs_as_spaces(c, chance):
    width = chance.choice((4, 8))
    if any(" " in line[: len(line) - len(line.lstrip())] for line in c.old + c.new):
        return None
    return c.made(*(join([spaces(line, width) for line in side]) for side in (c.old, c.new)))


def spaces_as_tabs(c, chance):
    def tabs(line):
        count = len(line) - len(line.lstrip(" "))
        return "\t" * (count // 4) + line[count:]

    if any((len(line) - len(line.lstrip(" "))) % 4 or line.startswith("\t") for line in c.old + c.new):
        return None
    return c.made(*(join([tabs(line) for line in side]) for side in (c.old, c.new)))


def trailing_space(c, chance):
    if {line.rstrip() for line in c.removed_lines()} & {line[1:].rstrip() for line in c.marked if line[0] == "+"}:
        return None
    other = [line.rstrip() if line != line.rstrip() else line + chance.choice(("", " ", "  ", "\t")) for line in c.old]
    return c.made(join(other), join(c.new))


def indent_lost(c, chance):
    if any(line and not line.strip() for line in c.old + c.new):
        return None
    filled = [line for line in c.old + c.new if line.strip()]
    lost = os.path.commonprefix([line[: len(line) - len(line.lstrip())] for line in filled])
    return c.made(*(join([line.removeprefix(lost) for line in side]) for side in (c.old, c.new))) if lost else None


def line_numbers(c, chance):
    form = chance.choice(("{:6}\t{}", "{:5}→{}", "{} | {}", "{}: {}", "{:4}|{}", "L{}: {}", "[{}] {}", "{:4}  {}"))
    number = lambda lines: join([form.format(c.at + 1 + n, line) for n, line in enumerate(lines)])
    return c.made(number(c.old), number(c.new) if chance.random() < 0.5 else join(c.new))


def escapes_left(c, chance):
    def escaped(text, kind):
        if kind == "all":
            return json.dumps(text, ensure_ascii=False)[1:-1]
        if kind == "quotes":
            return text.replace('"', '\\"')
        return text.replace("\n", "\\n").replace("\t", "\\t")

    kind = chance.choice(("all", "quotes", "breaks"))
    if kind == "breaks" and "\\" in "".join(c.old + c.new):
        return None
    return c.made(*(escaped(join(side), kind) for side in (c.old, c.new)))


def escapes_lost(c, chance):
    lost = {"\\n": "\n", "\\t": "\t", '\\"': '"', "\\\\": "\\"}
    decode = lambda text: re.sub(r'\\[nt"\\]', lambda found: lost[found[0]], text)
    return c.made(*(decode(join(side)) for side in (c.old, c.new)))


def curled(text):
    text = re.sub(r"(?<![\w)])'", "\u2018", text).replace("'", "\u2019")
    return re.sub(r'(?<![\w)])"', "\u201c", text).replace('"', "\u201d")


def quotes_curly(c, chance):
    return c.made(*(curled(join(side)) for side in (c.old, c.new)))


def quotes_straight(c, chance):
    """The file has curly quotes in lines that stay."""
    return in_lines_that_stay(c, curled)


def fenced(c, chance):
    """The texts, or the old one alone, in a fence of Markdown."""
    if any(line.lstrip().startswith(("```", "~~~")) for line in c.old + c.new):
        return None
    end = chance.choice(("", "\n"))
    fence = lambda lines: f"```{chance.choice(('', c.language))}\n{join(lines)}```{end}"
    if chance.random() < 0.5 and c.new:
        return c.made(fence(c.old), join(c.new))
    return c.made(fence(c.old), fence(c.new))


def diff_markers(c, chance):
    """The lines with the markers of a diff; a part of the new texts without."""
    kind = chance.choice(("context", "all", "old"))
    stay = set(c.context())
    old = [(" " if kind != "all" and n in stay else "-") + line for n, line in enumerate(c.old)]
    if not any(line[0] == "-" for line in old):
        old = ["+" + line for line in c.old]  # it was read in a diff
    mark = {" ": " " if kind == "context" else "+", "+": "+"}
    new = [mark[line[0]] + line[1:] for line in c.marked if line[0] != "-"]
    return c.made(join(old), join(c.new) if kind == "old" else join(new))


def spaces_wide(c, chance):
    """Spaces that are not of ASCII, in the texts or in lines of the file that stay."""
    wide = chance.choice(("\u00a0", "\u202f", "\u3000"))
    other = lambda line: re.sub(r"(?<=\S) (?=\S)", wide, line)
    if chance.random() < 0.5:
        return c.made(*(join(map(other, side)) for side in (c.old, c.new)))
    return in_lines_that_stay(c, other)


def unicode_form(c, chance):
    """Letters with accents, in another form in the texts than in the file."""
    texts = (c.lines, c.after(), c.old, c.new)
    forms = chance.sample(("NFC", "NFD"), 2)
    accented = lambda lines, form: [unicodedata.normalize(form, re.sub(r"(?<=\w)e(?=\w)", "\u00e9", line)) for line in lines]
    lines, truth, old, new = (accented(text, forms[n // 2]) for n, text in enumerate(texts))
    return c.made(join(old), join(new), lines, truth)


def inner_spaces(c, chance):
    """One line has other spaces between its words and signs; in both texts, if it stays."""
    gap = re.compile(r"(?<=[\w)\]]) (?=[=+*/<>|&({-])|(?<=[,=+*/<>|&{]) (?=[\w(])")
    spots = [(n, found) for n, line in enumerate(c.old) for found in gap.finditer(line)]
    if not spots:
        return None
    n, found = chance.choice(spots)
    line = c.old[n]
    other = line[: found.start()] + chance.choice(("", "  ")) + line[found.end() :]
    old = [*c.old[:n], other, *c.old[n + 1 :]]
    if other.strip() in {each.strip() for each in c.new}:
        return None  # the change concerns the spaces
    stays, place, new = n in c.context(), 0, []
    for marked in c.marked:
        if marked[0] != "-":
            new.append(other if stays and marked[0] == " " and place == n else marked[1:])
        place += marked[0] != "+"
    return c.made(join(old), join(new))


def in_lines_that_stay(c, other):
    """The file has other lines where the change leaves them."""
    lines = list(c.lines)
    for n in c.context():
        lines[c.at + n] = other(lines[c.at + n])
    return c.made(join(c.old), join(c.new), lines, carried_out(lines, [_hunk(c)])) if lines != c.lines else None


def entities(c, chance):
    def escaped(text):
        return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")

    return c.made(*(escaped(join(side)) for side in (c.old, c.new)))


def stale_neighbour(c, chance):
    """A line of context was changed in the file after it was read."""
    spots = [n for n in c.context() if c.old[n].strip()]
    if not spots:
        return None
    at, lines = c.at + chance.choice(spots), list(c.lines)
    words = list(WORD.finditer(lines[at]))
    if not words or sum(len(line.strip()) > 2 for line in c.old) < 3:
        return None  # too little is left to know the place by
    word = chance.choice(words)
    lines[at] = lines[at][: word.start()] + word[0] + chance.choice(("s", "_old", "2")) + lines[at][word.end() :]
    return c.made(join(c.old), join(c.new), lines, carried_out(lines, [_hunk(c)]))


def inserted_neighbour(c, chance):
    """A line was inserted between two lines of context; the place of the change beside it stays certain."""
    spots = [n for n in c.context() if n + 1 in c.context()]
    if not spots:
        return None
    at = c.at + chance.choice(spots) + 1
    donor = chance.choice([line for line in c.lines if line.strip()])
    done, old = [], c.at
    for line in c.marked:
        if old == at and line[0] == "+":
            return None  # on which side of the new line is open
        if old == at and line[0] == " ":
            done.append(donor)
        if line[0] != "-":
            done.append(line[1:])
        old += line[0] != "+"
    lines = c.lines[:at] + [donor] + c.lines[at:]
    return c.made(join(c.old), join(c.new), lines, c.lines[: c.at] + done + c.lines[c.end :])


def reindented(c, chance):
    """A formatter changed the indentation of the whole file."""
    def other(line):
        text = line.lstrip(" \t")
        blank = line[: len(line) - len(text)]
        if set(blank) == {"\t"}:
            return "    " * len(blank) + text
        return " " * (len(blank) // 2) + text if blank and not set(blank) - {" "} and len(blank) % 4 == 0 else line

    if any((len(line) - len(line.lstrip(" "))) % 4 for line in c.old + c.new):
        return None
    lines, truth = ([other(line) for line in text] for text in (c.lines, c.after()))
    return c.made(join(c.old), join(c.new), lines, truth)


def rewrapped(c, chance):
    """A formatter put the arguments of a call on lines of their own."""
    def wrapped(line):
        call = CALL.match(line)
        if not call:
            return [line]
        inner = call[1] + ("\t" if call[1].startswith("\t") else "    ")
        parts = [part.strip() for part in call[3].split(",")]
        last = "," if c.language != "c" else ""
        if not all(parts):
            return [line]
        return [f"{call[1]}{call[2]}(", *(f"{inner}{part}," for part in parts[:-1]), f"{inner}{parts[-1]}{last}", f"{call[1]}){call[4]}"]

    if not any(CALL.match(line) for line in c.old):
        return None
    wrap = lambda lines: [each for line in lines for each in wrapped(line)]
    lines = c.lines[: c.at] + wrap(c.old) + c.lines[c.end :]
    truth = c.lines[: c.at] + wrap(c.new) + c.lines[c.end :]
    bare = lambda text: re.sub(r",(?=[)\]}])", "", re.sub(r"\s+", "", text))
    return c.made(join(c.old), join(c.new), lines, truth, lambda a, b: bare(a) == bare(b))


def runs(c):
    """The ranges of marked lines that change."""
    found, n = [], 0
    while n < len(c.marked):
        first = n
        while n < len(c.marked) and c.marked[n][0] != " ":
            n += 1
        if n > first:
            found.append((first, n))
        n += 1
    return found


def own_edit(c, chance, both=False):
    """The agent made one of the changes before, and sends the other one with the text as it was at first."""
    ranges = runs(c)
    if len(ranges) < 2:
        return None
    first, last = chance.choice(ranges)
    done = [line[1:] for n, line in enumerate(c.marked) if line[0] != ("+" if not first <= n < last else "-")]
    new = [line[1:] for n, line in enumerate(c.marked) if line[0] != ("+" if first <= n < last else "-")]
    lines = c.lines[: c.at] + done + c.lines[c.end :]
    return c.made(join(c.old), join(c.new if both else new), lines, c.after())


def own_edit_repeated(c, chance):
    """As `own_edit`, but the new text repeats the first change."""
    return own_edit(c, chance, both=True)


def twins(c, chance):
    """The lines are in the file twice, and white space differs from both."""
    spots = [at for at in range(len(c.lines) + 1) if not c.at - 3 < at < c.end + 3]
    if not spots:
        return None
    at = chance.choice(spots)
    lines = c.lines[:at] + c.old + c.lines[at:]
    return c.made(join([line + " " for line in c.old]), join(c.new), lines, lines)


def absent(c, chance):
    """The lines are gone, and nothing similar is elsewhere."""
    rest = c.lines[: c.at] + c.lines[c.end :]
    bare = [line.strip() for line in rest]
    if any(places(bare, [line.strip() for line in core]) for core in cores(_hunk(c))):
        return None
    return c.made(join(c.old), join(c.new), rest, rest)


def other_word(c, chance):
    return other_meaning(c, chance, lambda line: _sub(line, WORD, lambda word: word + "X", chance))


def other_number(c, chance):
    return other_meaning(c, chance, lambda line: _sub(line, NUMBER, lambda number: str(int(number) + 1), chance))


def other_operator(c, chance):
    pattern = re.compile("|".join(map(re.escape, OPERATORS)))
    return other_meaning(c, chance, lambda line: _sub(line, pattern, OPERATORS.get, chance))


def other_meaning(c, chance, other):
    """A line that the edit replaces is another one in the file."""
    come = {line.strip() for line in c.new}  # not a line of which only white space changes
    spots = [n for n in c.removed() if other(c.old[n]) and c.old[n].strip() not in come]
    if not spots:
        return None
    n, lines = chance.choice(spots), list(c.lines)
    lines[c.at + n] = other(c.old[n])
    if lines[c.at + n].strip() in come or places([line.strip() for line in lines], [c.old[n].strip()]):
        return None  # a part of the change is made already, or the line is elsewhere
    return c.made(join(c.old), join(c.new), lines, lines)


def known(make):
    """The class, and the session has the file as it was when it was read."""

    def made(c, chance):
        return make(c, shared.drawn(make.__name__, c.id))

    made.__name__, made.knows = f"{make.__name__}_known", True
    return made


def noisy(make):
    """What must be refused, and noise besides."""

    def made(c, chance):
        refused = make(c, chance)
        noise = chance.choice((fenced, diff_markers, line_numbers, spaces_wide, quotes_curly))(c, chance)
        return refused and noise and (refused[0], noise[1], noise[2], refused[3], refused[4])

    made.__name__ = f"noisy_{make.__name__}"
    return made


def resent(c, chance):
    """The change was made before, and the old text is gone."""
    after = c.after()
    bare = [line.strip() for line in after]
    if not c.removed() or places(bare, [line.strip() for line in c.old]):
        return None
    removed = [c.old[n].strip() for n in c.removed() if len(c.old[n].strip()) > 2]
    if not any(line not in bare for line in removed):
        return None
    return c.made(join(c.old), join(c.new), after, after)


def _sub(line, pattern, other, chance):
    found = list(pattern.finditer(line))
    if not found:
        return None
    one = chance.choice(found)
    return line[: one.start()] + other(one[0]) + line[one.end() :]


def _hunk(c):
    hunk = c.hunk.with_lines(c.marked)
    hunk.at = c.at
    return hunk


Change.removed_lines = lambda self: [self.old[n] for n in self.removed()]

NEAR = [
    *(tabs_as_spaces, spaces_as_tabs, trailing_space, indent_lost, line_numbers, escapes_left, escapes_lost, quotes_curly, quotes_straight),
    *(entities, fenced, diff_markers, spaces_wide, unicode_form, inner_spaces, stale_neighbour, inserted_neighbour, reindented, rewrapped),
    *(own_edit, own_edit_repeated, *map(known, (stale_neighbour, inserted_neighbour, own_edit, own_edit_repeated))),
]
REFUSED = [twins, absent, other_word, other_number, other_operator, resent]
REFUSED += [*map(noisy, (twins, absent, other_word, other_number, resent)), *map(known, REFUSED)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    parser.add_argument("--limit", type=int, help="so many cases in all")
    parser.add_argument("--bench", help="the program of benches/appliers.rs; built if not given")
    parser.add_argument("--strict", action="store_true", help="without the columns of match: lenient")
    parser.add_argument("--show", metavar="CLASS", help="print the examples of this class that are not right")
    args = parser.parse_args()
    edt = appliers.Process("edt", (), [args.bench or appliers.built(), "--rows"])
    counts, looks, micros = defaultdict(Counter), defaultdict(list), []
    for case in run.cases(args.out, args.limit):
        for make in NEAR + REFUSED:
            change = Change(case, shared.drawn("edit", case.id))
            made = change.usable() and make(change, shared.drawn(make.__name__, case.id))
            if not made:
                continue
            file, old, new, truth, same = made
            request = {"path": case.path, "mode": "edit", "old_text": old, "content": new}
            earlier = [join(change.lines)] if hasattr(make, "knows") else []
            result, answer = verdict(edt, case.path, file, request, truth, same, earlier)
            micros.append(answer["micros"])
            counts[make][result] += 1
            good = "no correction" if make in REFUSED else "right"
            if result != good:
                looks[make, result].append(case.id)
                if args.show in (make.__name__, result):
                    print(make.__name__, f"--- {case.id} {result}\n{old}=>\n{new}:: {answer['said']}\n{json.dumps(answer['request'])}\n")
            if args.strict:
                continue
            lenient = edt.apply(case.path, file, "", True, "", request=request | {"match": "lenient"})
            counts[make]["lenient " + ("refused" if lenient[0] == "refused" else "right" if same(lenient[1], truth) else "wrong")] += 1
    table(counts, micros)
    for (make, result), ids in looks.items():
        print(f"* {make.__name__}, {result} ({len(ids)}): {' '.join(ids[:EXAMPLES])}")


def verdict(edt, path, file, request, truth, same, earlier):
    """The result of the corrected request, sent back unread."""
    how, text, answer = edt.apply(path, file, "", True, "", request=request, earlier=earlier)
    if how == "applied":
        return "applied", answer
    if answer["request"] is None:
        return "no correction", answer
    how, text, _ = edt.apply(path, file, "", True, "", request=answer["request"])
    return "right" if how == "applied" and same(text, truth) else "wrong", answer


def table(counts, micros):
    print("| class | made | right % | wrong | no correction | lenient right / wrong |\n| --- | --- | --- | --- | --- | --- |")
    for title, makers in (("**all near misses**", NEAR), ("**must be refused**", REFUSED)):
        for make in [*makers, None]:
            got = counts[make] if make else sum((counts[each] for each in makers), Counter())
            size = sum(got[word] for word in ("right", "wrong", "no correction"))
            name = make.__name__ if make else title
            right = f"{100 * got['right'] / size:.1f}" if size else "–"
            print(f"| {name} | {size} | {right} | {got['wrong']} | {got['no correction']} | {got['lenient right']} / {got['lenient wrong']} |")
    micros.sort()
    print(f"\nMedian {micros[len(micros) // 2]} µs a refusal, 99 % {micros[len(micros) * 99 // 100]}, longest {micros[-1]}.")


if __name__ == "__main__":
    main()
