"""What models send instead of a clean patch: each class makes the file, the sent hunks and the correct result of one case.

A class is a function `(case, chance, form)` that gives a `Sent`, or None where the noise would change nothing or the one right result could be
doubted. Hunks are sent with three lines of context as `git diff` prints them, unless the class says otherwise.
"""

import re

from case import BLOCKS, UNIFIED, carried_out, ends, indent, places, sent, trimmed
from shared import CONTEXT, drawn
from spaces import indent_lost, tabs_to_spaces_all, tabs_to_spaces_ctx, ws_trailing

DRAWS = 20
COMMENTS = {"c": "//", "go": "//", "python": "#"}
WORD = re.compile(r"[A-Za-z]{4,}")


def clean(case, chance, form):
    return sent(case)


def line_numbers_wrong(case, chance, form):
    for _ in range(DRAWS):
        hunks = moved(case, chance)
        if not any(hits(case.lines, hunk) for hunk in hunks):
            return sent(case, hunks)
    return None


def number_hits_twin(case, chance, form):
    """Wrong numbers that by chance point exactly at another occurrence of the old side: shown, not judged."""
    hunks = moved(case, drawn("line_numbers_wrong", case.id))
    return sent(case, hunks) if any(hits(case.lines, hunk) for hunk in hunks) else None


def moved(case, chance):
    """The hunks with numbers that are 3 to 80 lines off."""
    off = chance.choice((-1, 1)) * chance.randint(3, 80)
    hunks = []
    for hunk in case.hunks:
        hunk = hunk.with_lines(hunk.lines)
        hunk.said = max(0, hunk.at + off + chance.randint(0, 2))
        if hunk.said == hunk.at:
            hunk.said += 3
        hunks.append(hunk)
    return hunks


def hits(lines, hunk):
    """Whether the number points exactly at another occurrence of the old side."""
    return hunk.said != hunk.at and lines[hunk.said : hunk.said + len(hunk.old)] == hunk.old


def counts_wrong(case, chance, form):
    miscounts = []
    for hunk in case.hunks:
        old, new = (max(1, len(side) + chance.randint(-3, 3)) - len(side) for side in (hunk.old, hunk.new))
        miscounts.append((old, new) if old or new else (1, 1))
    return sent(case, miscounts=miscounts)


def numbers_junk(case, chance, form):
    junk = chance.choice(("@@ -0,0 +0,0 @@", "@@ -1,1 +1,1 @@", "@@ -XXX,XX +XXX,XX @@", "@@ -?,? +?,? @@", "@@ -line,count +line,count @@"))
    if any(hunk.at and case.lines[: len(hunk.old)] == hunk.old for hunk in case.hunks):
        return None
    return sent(case, heads=[junk] * len(case.hunks))


def at_dots(case, chance, form):
    return sent(case, heads=["@@ ... @@"] * len(case.hunks))


def at_bare(case, chance, form):
    return sent(case, heads=["@@"] * len(case.hunks))


def no_file_header(case, chance, form):
    return sent(case, named=False)


def fenced(case, chance, form):
    return None if any(line[1:].startswith("```") for hunk in case.hunks for line in hunk.lines) else sent(case, fenced=True)


def ctx1(case, chance, form):
    return less_context(case, 1)


def ctx0(case, chance, form):
    return less_context(case, 0)


def less_context(case, context):
    hunks = [piece for hunk in case.hunks for piece in trimmed(hunk, context)]
    same = [hunk.lines for hunk in hunks] == [hunk.lines for hunk in case.hunks]
    return None if same else sent(case, hunks)


def ctx_line_missing(case, chance, form):
    """A context line is left out: not at the edge, and not beside lines that are only added, which could then be on either side of it."""

    def options(hunk):
        for n in range(1, len(hunk.lines) - 1):
            if hunk.lines[n][0] == " " and any(hunk.lines[m][0] == " " for m in (n - 1, n + 1)):
                if not any(inserts(hunk, m, step) for m, step in ((n - 1, -1), (n + 1, 1))):
                    yield hunk.with_lines(hunk.lines[:n] + hunk.lines[n + 1 :])

    return one_changed(case, chance, options)


def inserts(hunk, n, step):
    """Whether a change that only adds lines begins at `n`."""
    kinds = set()
    while 0 <= n < len(hunk.lines) and hunk.lines[n][0] != " ":
        kinds.add(hunk.lines[n][0])
        n += step
    return kinds == {"+"}


def ctx_line_altered(case, chance, form):
    def options(hunk):
        for n, line in enumerate(hunk.lines):
            other = altered(line[1:], chance) if line[0] == " " else None
            if other and other not in case.lines:
                yield hunk.with_lines([*hunk.lines[:n], " " + other, *hunk.lines[n + 1 :]])

    return one_changed(case, chance, options)


def altered(line, chance):
    """The line with one word changed; None if it has no word."""
    words = list(WORD.finditer(line))
    if not words:
        return None
    word = chance.choice(words)
    other = chance.choice((word[0][:-1], word[0] + "s", word[0].swapcase(), word[0][:2] + word[0][3:]))
    return line[: word.start()] + other + line[word.end() :]


def one_changed(case, chance, options):
    """One hunk is changed so that its old side does not occur in the file."""
    found = [(n, other) for n, hunk in enumerate(case.hunks) for other in options(hunk) if not places(case.lines, other.old)]
    if not found:
        return None
    n, hunk = chance.choice(found)
    return sent(case, [*case.hunks[:n], hunk, *case.hunks[n + 1 :]])


def plus_forgotten(case, chance, form):
    """One of several new lines has no `+`: it looks like a line of context that the file does not have."""

    def options(hunk):
        for n, line in enumerate(hunk.lines):
            beside = any(0 <= m < len(hunk.lines) and hunk.lines[m][0] == "+" for m in (n - 1, n + 1))
            if line[0] == "+" and beside and len(line.strip()) > 3 and line[1:].strip() not in {each.strip() for each in case.lines}:
                yield hunk.with_lines([*hunk.lines[:n], " " + line[1:], *hunk.lines[n + 1 :]])

    return one_changed(case, chance, options)


def elided_ctx(case, chance, form):
    """A more distant line before or after the hunk, with dots for the four lines between."""
    comment = COMMENTS[case.language]
    dots = chance.choice(("...", f"{comment} ...", f"{comment} ... existing code ..."))
    far = CONTEXT + 2

    def options(hunk):
        n = case.hunks.index(hunk)
        floor = ends(case.hunks[n - 1]) if n else 0
        roof = case.hunks[n + 1].at if n + 1 < len(case.hunks) else len(case.lines)
        if hunk.at - far >= floor:
            other = hunk.with_lines([" " + case.lines[hunk.at - far], " " + indent(case.lines[hunk.at]) + dots, *hunk.lines])
            other.said -= far
            yield other
        if ends(hunk) + far <= roof:
            last = case.lines[ends(hunk) + far - 1]
            yield hunk.with_lines([*hunk.lines, " " + indent(case.lines[ends(hunk) - 1]) + dots, " " + last])

    return one_changed(case, chance, options)


def blank_ctx_no_space(case, chance, form):
    return sent(case, bare="blank") if any(" " in hunk.lines for hunk in case.hunks) else None


def ctx_no_prefix(case, chance, form):
    context = [line[1:] for hunk in case.hunks for line in hunk.lines if line[0] == " "]
    return None if not any(context) or any(line.startswith(tuple("+-@\\*`")) for line in context) else sent(case, bare="all")


def file_crlf(case, chance, form):
    made = sent(case)
    made.file, made.truth = (text.replace("\n", "\r\n") for text in (made.file, made.truth))
    return made


def patch_crlf(case, chance, form):
    return sent(case, crlf=True)


def no_eof_newline(case, chance, form):
    """Not if the end of the file is removed without replacement: it is unclear whether the line before keeps its newline."""
    made, last = sent(case), case.hunks[-1]
    if made.file.endswith("\n\n") or made.truth.endswith("\n\n") or not made.truth:
        return None
    if last.lines[-1][0] == "-" and ends(last) == len(case.lines):
        return None
    made.file, made.truth = made.file[:-1], made.truth[:-1]
    return made


def out_of_order(case, chance, form):
    if len(case.hunks) == 1:
        return None
    hunks = list(case.hunks)
    while hunks == case.hunks:
        chance.shuffle(hunks)
    return sent(case, hunks)


def file_shifted(case, chance, form):
    """After the file was read, 1 to 40 lines of another file were inserted above the first hunk."""
    for _ in range(DRAWS):
        count = min(chance.randint(1, 40), len(case.donor))
        start, at = chance.randint(0, len(case.donor) - count), chance.randint(0, case.hunks[0].at)
        block = case.donor[start : start + count]
        lines, truth = (text[:at] + block + text[at:] for text in (case.lines, case.after))
        new_twin = any(len(places(lines, hunk.old)) != len(places(case.lines, hunk.old)) for hunk in case.hunks)
        if not new_twin and not any(lines[hunk.said : ends(hunk)] == hunk.old for hunk in case.hunks):
            return sent(case, lines=lines, truth=truth)
    return None


def ctx_changed_in_file(case, chance, form):
    """After the file was read, one of the context lines was changed."""
    found = []
    for hunk in case.hunks:
        at = hunk.at
        for line in hunk.lines:
            other = altered(line[1:], chance) if line[0] == " " else None
            if other and other not in case.lines:
                lines = [*case.lines[:at], other, *case.lines[at + 1 :]]
                found += [lines] if not places(lines, hunk.old) else []
            at += line[0] != "+"
    lines = chance.choice(found) if found else None
    return lines and sent(case, lines=lines, truth=carried_out(lines, case.hunks))


def line_numbers_copied(case, chance, form):
    """Every old line has its number before it; the new ones have, or have not."""
    shape = chance.choice(("{:4} | {}", "{}: {}", "L{}: {}", "{:6}\t{}"))
    numbered = chance.random() < 0.5

    def other(hunk):
        at, lines = hunk.at, []
        for line in hunk.lines:
            is_new = line[0] == "+"
            lines.append(line if is_new and not numbered else line[0] + shape.format(at + 1, line[1:]))
            at += not is_new
        return hunk.with_lines(lines)

    return noisy(case, [other(hunk) for hunk in case.hunks])


def spaces_wide(case, chance, form):
    wide = chance.choice(("\u00a0", "\u202f", "\u3000"))
    return noisy(case, other_texts(case, lambda text: re.sub(r"(?<=\S) (?=\S)", wide, text)))


def quotes_curly(case, chance, form):
    curled = lambda text: re.sub(r'(?<![\w)])"', "\u201c", re.sub(r"'", "\u2019", text)).replace('"', "\u201d")
    return noisy(case, other_texts(case, curled))


def entities(case, chance, form):
    return noisy(case, other_texts(case, lambda text: text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")))


def other_texts(case, other):
    return [hunk.with_lines([line[0] + other(line[1:]) for line in hunk.lines]) for hunk in case.hunks]


def noisy(case, hunks):
    """The hunks, if no old side of them is in the file and they differ in it."""
    return None if any(places(case.lines, hunk.old) for hunk in hunks) else sent(case, hunks)


def inner_fence(case, chance, form):
    """Both sides are in a fence of Markdown."""
    if any(line[1:].lstrip().startswith(("```", "~~~")) for hunk in case.hunks for line in hunk.lines):
        return None
    return noisy(case, [hunk.with_lines([f" ```{case.language}", *hunk.lines, " ```"]) for hunk in case.hunks])


def diff_markers(case, chance, form):
    """Both sides have the markers of a diff."""
    if any(all(line[0] == "+" for line in hunk.lines) for hunk in case.hunks):
        return None
    return noisy(case, [hunk.with_lines([line[0] + line for line in hunk.lines]) for hunk in case.hunks])


CLASSES = {
    BLOCKS: [inner_fence, diff_markers],
    UNIFIED: [line_numbers_wrong, number_hits_twin, counts_wrong, numbers_junk, at_dots, at_bare, no_file_header],
    "marked": [blank_ctx_no_space, ctx_no_prefix, plus_forgotten],
    "any": [
        *(clean, fenced, ctx1, ctx0, ctx_line_missing, ctx_line_altered, elided_ctx, ws_trailing, tabs_to_spaces_ctx, tabs_to_spaces_all),
        *(indent_lost, file_crlf, patch_crlf, no_eof_newline, out_of_order, file_shifted, ctx_changed_in_file),
        *(line_numbers_copied, spaces_wide, quotes_curly, entities),
    ],
}
