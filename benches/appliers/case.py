"""A case, its hunks, and the patch that is sent."""

from dataclasses import dataclass, field

UNIFIED, BLOCKS, ENVELOPE = FORMS = ("unified", "blocks", "envelope")


class Hunk:
    """Lines with their marker, and the place of the old side in the file (0-based)."""

    def __init__(self, at, lines):
        self.at, self.lines = at, lines
        self.said = at  # the place that the header states

    def side(self, marker):
        """The old side for `-`, the new one for `+`."""
        return [line[1:] for line in self.lines if line[0] in (" ", marker)]

    @property
    def old(self):
        return self.side("-")

    @property
    def new(self):
        return self.side("+")

    def with_lines(self, lines):
        hunk = Hunk(self.at, lines)
        hunk.said = self.said
        return hunk


def ends(hunk):
    return hunk.at + len(hunk.old)


def indent(line):
    return line[: len(line) - len(line.lstrip())]


def split(text):
    """The lines of a text that ends with a newline, each without it."""
    return text.split("\n")[:-1]


def join(lines):
    return "".join(line + "\n" for line in lines)


def carried_out(lines, hunks):
    """`lines` with the changes of `hunks` at their places. Context is not checked: the file's own lines stay."""
    done, at = [], 0
    for hunk in hunks:
        done += lines[at : hunk.at]
        at = hunk.at
        for line in hunk.lines:
            if line[0] == "+":
                done.append(line[1:])
            else:
                if line[0] == " ":
                    done.append(lines[at])
                at += 1
    return done + lines[at:]


def places(lines, block):
    """Where `block` occurs in `lines`."""
    size = len(block)
    return [n for n in range(len(lines) - size + 1) if lines[n] == block[0] and lines[n : n + size] == block] if size else []


def trimmed(hunk, context):
    """The hunk with that much context, split where this leaves gaps."""
    changed = [n for n, line in enumerate(hunk.lines) if line[0] != " "]
    kept = [any(n - context <= m <= n + context for m in changed) for n in range(len(hunk.lines))]
    pieces, at = [], hunk.at
    for n, line in enumerate(hunk.lines):
        if kept[n] and (n == 0 or not kept[n - 1]):
            pieces.append(Hunk(at, []))
        if kept[n]:
            pieces[-1].lines.append(line)
        at += line[0] != "+"
    return pieces


class Case:
    """One true change. `donor` is the text of another file of the language."""

    def __init__(self, row, donor):
        self.id, self.path, self.language = row["id"], row["path"], row["language"]
        self.lines, self.donor = split(row["before"]), split(donor)
        self.hunks = [Hunk(hunk["at"], hunk["lines"]) for hunk in row["hunks"]]
        self.after = carried_out(self.lines, self.hunks)


@dataclass
class Sent:
    """The input of an applier, and the only correct result; None if it must refuse."""

    file: str
    truth: str | None
    hunks: list[Hunk]
    heads: list[str] | None = None  # in place of `@@ -a,b +c,d @@`
    miscounts: list[tuple[int, int]] = field(default_factory=list)
    named: bool = True
    fenced: bool = False
    crlf: bool = False
    bare: str = ""  # context lines without their space: "blank" or "all"
    anchored: bool = True


def sent(case, hunks=None, lines=None, truth=None, **how):
    """By default the unchanged case."""
    truth = case.after if truth is None else truth
    lines = case.lines if lines is None else lines
    return Sent(join(lines), join(truth), case.hunks if hunks is None else hunks, **how)
