"""The classes that must be refused, like `noise.py`."""

from case import UNIFIED, ends, places, sent
from noise import altered, ctx_line_altered, ctx_line_missing

NEAR = 3


def must_refuse(made):
    made.truth = None
    return made


def resent(case, chance, form):
    """The patch is sent again after it was applied, and the file shows that."""
    return must_refuse(sent(case, lines=case.after)) if is_visibly_applied(case, form) else None


def resent_open(case, chance, form):
    """The patch is sent again, but may be intended, or could not be applied the first time: shown, not judged."""
    return None if is_visibly_applied(case, form) else must_refuse(sent(case, lines=case.after))


def is_visibly_applied(case, form):
    """Whether the file shows that the patch has been applied. Without numbers, each old side must have occurred once before; otherwise
    the first patch could not have landed."""
    if form != UNIFIED and any(len(places(case.lines, hunk.old)) != 1 for hunk in case.hunks):
        return False
    return any(stale(case.after, hunk, form) for hunk in case.hunks)


def stale(after, hunk, form):
    """Whether the old side is gone, or occurs only within the new side. A line number selects the place."""
    old, new = places(after, hunk.old), places(after, hunk.new)
    if form == UNIFIED:
        old = [at for at in old if at == hunk.said]
    return all(any(start <= at and at + len(hunk.old) <= start + len(hunk.new) for start in new) for at in old)


def twin_block(case, chance, form):
    """The old side occurs twice, and no line number points at either place."""
    if len(case.hunks) > 1:
        return None
    hunk = case.hunks[0].with_lines(case.hunks[0].lines)
    spots = [at for at in range(len(case.lines) + 1) if not hunk.at - NEAR < at < ends(hunk) + NEAR]
    # A byte-order mark shows that the hunk begins the file.
    if not spots or not any(line.strip() for line in hunk.old) or hunk.old[0].startswith("\ufeff"):
        return None
    at = chance.choice(spots)
    lines = case.lines[:at] + hunk.old + case.lines[at:]
    found_at = places(lines, hunk.old)
    numbers = [n for n in range(len(lines)) if all(abs(n - place) >= NEAR for place in found_at)]
    if not numbers:
        return None
    hunk.said = chance.choice(numbers)
    return must_refuse(sent(case, [hunk], lines, anchored=False))


def resent_altered(case, chance, form):
    """`resent`, and the patch lacks a line of context or has another one in its place."""
    damage = chance.choice((ctx_line_altered, ctx_line_missing))
    made = damage(case, chance, form) if is_visibly_applied(case, form) else None
    if not made or any(new.lines != old.lines and places(case.after, new.old) for old, new in zip(case.hunks, made.hunks)):
        return None
    return must_refuse(sent(case, made.hunks, lines=case.after))


def twin_altered(case, chance, form):
    """`twin_block`, and one word of a line of context is changed."""
    made = twin_block(case, chance, form)
    found = []
    for n, line in enumerate(made.hunks[0].lines if made else []):
        other = altered(line[1:], chance) if line[0] == " " else None
        found += [(n, other)] if other and other + "\n" not in made.file.splitlines(True) else []
    if not found:
        return None
    n, other = chance.choice(found)
    lines = made.hunks[0].lines
    made.hunks = [made.hunks[0].with_lines([*lines[:n], " " + other, *lines[n + 1 :]])]
    return made


def absent_block(case, chance, form):
    """The old side of one hunk is gone from the file, and nothing similar occurs elsewhere."""
    hunk = chance.choice(case.hunks)
    rest = case.lines[: hunk.at] + case.lines[ends(hunk) :]
    bare = [line.strip() for line in rest]
    if len(rest) < 5 or any(places(bare, [line.strip() for line in core]) for core in cores(hunk)):
        return None
    return must_refuse(sent(case, lines=rest))


def absent_similar(case, chance, form):
    """The old side of one hunk is gone from the file; a change of it, with a line of context on either side, occurs elsewhere: in another
    block, of which other lines differ."""
    hunk = chance.choice(case.hunks)
    rest = case.lines[: hunk.at] + case.lines[ends(hunk) :]
    bare = [line.strip() for line in rest]
    if len(rest) < 5 or places(bare, [line.strip() for line in hunk.old]):
        return None
    similar = any(any(core) and places(bare, [line.strip() for line in core]) for core in cores(hunk))
    return must_refuse(sent(case, lines=rest)) if similar else None


def cores(hunk):
    """The removed lines of each change with one line of context on either side."""
    found, n = [], 0
    while n < len(hunk.lines):
        if hunk.lines[n][0] == " ":
            n += 1
            continue
        first = n
        while n < len(hunk.lines) and hunk.lines[n][0] != " ":
            n += 1
        found.append([line[1:] for line in hunk.lines[max(0, first - 1) : n + 1] if line[0] != "+"])
    return found


REFUSALS = [resent, resent_open, resent_altered, twin_block, twin_altered, absent_block, absent_similar]
