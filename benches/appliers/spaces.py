"""The classes with changed white space, like `noise.py`."""

from case import indent, places, sent


def ws_trailing(case, chance, form):
    """Not if the change itself concerns such white space."""
    if any(about_ends(hunk) for hunk in case.hunks):
        return None

    def other(line):
        if line[0] == "+" or chance.random() < 0.5:
            return line
        return line[0] + line[1:].rstrip() if line[1:] != line[1:].rstrip() else line + chance.choice((" ", "  ", "\t"))

    return all_changed(case, other)


def about_ends(hunk):
    if any(line[0] != " " and line[1:] and not line[1:].strip() for line in hunk.lines):
        return True
    gone, come = ({line[1:].rstrip() for line in hunk.lines if line[0] == marker} for marker in "-+")
    return any(gone & come - {""})


def tabs_to_spaces_ctx(case, chance, form):
    width = chance.choice((4, 8))
    return all_changed(case, lambda line: line if line[0] == "+" else line[0] + spaces(line[1:], width))


def tabs_to_spaces_all(case, chance, form):
    """Only if every indented line of the hunks is indented by tabs alone, so that the reverse is unique."""
    width = chance.choice((4, 8))
    contents = [line[1:] for hunk in case.hunks for line in hunk.lines]
    if any(set(indent(line)) - {"\t"} or (line and not line.strip()) for line in contents):
        return None
    return all_changed(case, lambda line: line[0] + spaces(line[1:], width))


def spaces(line, width):
    tabs = len(line) - len(line.lstrip("\t"))
    return " " * (width * tabs) + line[tabs:]


def indent_lost(case, chance, form):
    """Every hunk without the common indentation of its lines."""
    hunks = []
    for hunk in case.hunks:
        indents = [indent(line[1:]) for line in hunk.lines if line[1:].strip()]
        lost = min(indents, key=len) if indents else ""
        lost = lost if all(each.startswith(lost) for each in indents) else ""
        hunks.append(hunk.with_lines([line[0] + line[1:].removeprefix(lost) if line[1:].strip() else line for line in hunk.lines]))
    return if_distinguishable(case, hunks)


def all_changed(case, other):
    return if_distinguishable(case, [hunk.with_lines([other(line) for line in hunk.lines]) for hunk in case.hunks])


def if_distinguishable(case, hunks):
    """The hunks with changed lines; None if nothing changes, or a changed hunk occurs in the file, or its meaning changes."""
    changed = [(old, new) for old, new in zip(case.hunks, hunks) if new.lines != old.lines]
    doubted = any(places(case.lines, new.old) or alike(new) > alike(old) for old, new in changed)
    return None if not changed or doubted else sent(case, hunks)


def alike(hunk):
    """How many lines of the old side are like an added one: in a block the two can be confused."""
    come = [line[1:] for line in hunk.lines if line[0] == "+"]
    return sum(line in come for line in hunk.old)
