"""A human change, taken apart: its lines, its hunks, and the positions of strings, comments and brackets in the new text."""

import difflib
import re
from bisect import bisect_right
from functools import cached_property

_C_LIKE = r"(?P<comment>//[^\n]*|/\*.*?(?:\*/|\Z))"
_DOUBLE, _SINGLE = r'"(?:\\.|[^"\\\n])*"', r"'(?:\\.|[^'\\\n])*'"
_BRACKET = r"|(?P<bracket>[()\[\]{}])"
_TOKENS = {
    "c": _C_LIKE + rf"|(?P<string>{_DOUBLE}|{_SINGLE})",
    "cpp": _C_LIKE + rf'|(?P<string>R"\((?:.*?)\)"|{_DOUBLE}|{_SINGLE})',
    "css": rf"(?P<comment>/\*.*?(?:\*/|\Z))|(?P<string>{_DOUBLE}|{_SINGLE})",
    "html": rf"(?P<comment><!--.*?(?:-->|\Z))|(?P<string>(?<==){_DOUBLE}|(?<==){_SINGLE})",
    "bash": r"(?P<comment>(?:^|(?<=\s))#[^\n]*)|\\.|" + r"""(?P<string>"(?:\\.|[^"\\])*"|'[^']*')""",
    "make": r"(?P<comment>(?:^|(?<=\s))#[^\n]*)|(?P<string>(?!))",
    "go": _C_LIKE + rf"|(?P<string>{_DOUBLE}|{_SINGLE}|`[^`]*`)",
    "rust": _C_LIKE + r'|(?P<string>r(?P<raw>#*)".*?"(?P=raw)|"(?:\\.|[^"\\])*"|' + r"'(?:\\[^\n']+|[^'\\\n])')",
    "typescript": _C_LIKE[:-1]
    + r"|(?<=[=(,:!&|?\[{;])\s*/(?![/*])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n\[])+/\w*)"  # a regular expression
    + rf"|(?P<string>{_DOUBLE}|{_SINGLE}|`(?:\\.|[^`\\])*`)",
    "python": r'(?P<comment>#[^\n]*)|(?P<string>"""(?:\\.|.)*?"""|' + rf"'''(?:\\.|.)*?'''|{_DOUBLE}|{_SINGLE})",
    "toml": r'(?P<comment>#[^\n]*)|(?P<string>"""(?:\\.|.)*?"""|' + rf"'''.*?'''|{_DOUBLE}|'[^'\n]*')",
    "java": _C_LIKE + r'|(?P<string>"""(?:\\.|.)*?"""|' + rf"{_DOUBLE}|{_SINGLE})",
    "json": rf"(?P<comment>//[^\n]*)|(?P<string>{_DOUBLE})",
    "yaml": rf"(?P<comment>(?:^|(?<=\s))#[^\n]*)|(?P<string>(?<![\w]){_DOUBLE}|(?<![\w]){_SINGLE})",
}
_TOKENS["javascript"] = _TOKENS["typescript"]
TOKENS = {language: re.compile(rule + _BRACKET, re.S | re.M) for language, rule in _TOKENS.items()}
CLOSER = {"(": ")", "[": "]", "{": "}"}
WIDEST = 1500  # lines between the first and the last difference; a rewritten file is no source


class Source:
    """A change with the facts that damage needs."""

    def __init__(self, row, language):
        self.language = language
        self.id, self.path = row["id"], row["path"]
        self.before, self.after = row["before"], row["after"]
        self.old, self.new = lines(self.before), lines(self.after)

    @cached_property
    def opcodes(self):
        """`difflib` opcodes of the lines, without the common prefix and suffix."""
        old, new, head, tail = self.old, self.new, 0, 0
        while head < min(len(old), len(new)) and old[head] == new[head]:
            head += 1
        while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
            tail += 1
        middle = old[head : len(old) - tail], new[head : len(new) - tail]
        if max(map(len, middle)) > WIDEST:
            return []
        codes = [("equal", 0, head, 0, head)] if head else []
        for tag, *at in difflib.SequenceMatcher(None, *middle, autojunk=False).get_opcodes():
            codes.append((tag, *(n + head for n in at)))
        if tail:
            codes.append(("equal", len(old) - tail, len(old), len(new) - tail, len(new)))
        return codes

    @cached_property
    def blocks(self):
        """Inserted or rewritten runs of the new text: (first line, end, lines of the old text they replace).

        Each holds a word and starts outside of multi-line strings and comments, where no parser sees damage.
        """
        found = [(j, k, i2 - i1) for tag, i1, i2, j, k in self.opcodes if tag in ("insert", "replace") and not self.inside(j)]
        return [each for each in found if any(re.search(r"\w", line) for line in self.new[each[0] : each[1]])]

    @cached_property
    def deleted(self):
        """How many lines of the old text that the change removes or rewrites."""
        return sum(i2 - i1 for tag, i1, i2, _, _ in self.opcodes if tag in ("delete", "replace"))

    @cached_property
    def starts(self):
        """The offset of each line of the new text, and its end."""
        offsets = [0]
        for line in self.new:
            offsets.append(offsets[-1] + len(line))
        return offsets

    @cached_property
    def tokens(self):
        """(start, end, kind) with kind "comment", "string" or the bracket itself."""
        found = []
        for match in TOKENS[self.language].finditer(self.after):
            kind = match.lastgroup if match.lastgroup in ("comment", "string") else None
            kind = kind or ("string" if match.group("string") else match.group())
            found.append((match.start(), match.end(), kind))
        return found

    @cached_property
    def pairs(self):
        """The offset of each opening bracket's partner."""
        stack, found = [], {}
        for start, _, kind in self.tokens:
            if kind in CLOSER:
                stack.append((kind, start))
            elif kind in CLOSER.values() and stack:
                opener, at = stack.pop()
                if CLOSER[opener] == kind:
                    found[at] = start
        return found

    def tokens_in(self, first, end):
        """The tokens that are completely in the lines `first..end`."""
        low, high = self.starts[first], self.starts[end]
        return [token for token in self.tokens if low <= token[0] and token[1] <= high]

    def code_at(self, offset):
        """Whether `offset` is outside strings and comments."""
        n = bisect_right(self.tokens, (offset, float("inf"), "")) - 1
        if n < 0 or self.tokens[n][2] in "()[]{}" or self.tokens[n][1] <= offset:
            return True
        return self.tokens[n][2] == "string" and self.tokens[n][0] == offset

    def inside(self, line, kinds=("string", "comment")):
        """Whether the line starts inside a string or a comment."""
        offset = self.starts[line]
        n = bisect_right(self.tokens, (offset, float("inf"), "")) - 1
        return n >= 0 and self.tokens[n][2] in kinds and self.tokens[n][0] < offset < self.tokens[n][1]

    def line_of(self, offset):
        return bisect_right(self.starts, offset) - 1

    def with_lines(self, first, end, put):
        """The new text with other lines for `first..end`."""
        return "".join(self.new[:first]) + "".join(put) + "".join(self.new[end:])


def lines(text):
    """The lines of a text with their ends."""
    return [line for line in re.split(r"(?<=\n)", text) if line]


def indent(line):
    return line[: len(line) - len(line.lstrip(" \t"))]


def ended(line):
    """The line with an end."""
    return line if line.endswith("\n") else line + "\n"
