"""Finds whole `if` statements, functions and keys by simple means: brackets, or indentation. The judge refuses wrong results."""

import re

from source import indent

_WORDS = r"(?:if|for|while|switch|catch|function|return|else|do|with|match)\b"
_FUNCTION = {
    "go": re.compile(r"^func\b.*\{\s*$"),
    "rust": re.compile(r"^\s*(?:pub(?:\([^)]*\))?\s+)?(?:default\s+|async\s+|const\s+|unsafe\s+)*fn\s+\w+"),
    "typescript": re.compile(
        r"^\s*(?:export\s+)?(?:default\s+)?(?:async\s+)?function\b\*?\s*\w+"
        rf"|^\s+(?:(?:public|private|protected|static|async)\s+)*(?!{_WORDS})#?\w+\s*(?:<[^>]*>)?\([^;]*\)\s*(?::[^={{;]+)?\{{\s*$"
    ),
    "python": re.compile(r"^\s*(?:async\s+)?def\s+\w+"),
    "java": re.compile(
        r"^\s+(?:(?:public|private|protected|static|final|synchronized)\s+)*(?:<[^>]+>\s*)?"
        rf"(?!{_WORDS}|new\b)[\w.<>\[\], ?]+\s(?!{_WORDS})\w+\([^;]*\)\s*(?:throws [\w., ]+)?\{{\s*$"
    ),
}
_FUNCTION["javascript"] = _FUNCTION["typescript"]
_ABOVE = {"java": re.compile(r"\s*@"), "rust": re.compile(r"\s*(#\[|///)"), "python": re.compile(r"\s*@")}


def ifs(source):
    """(first line, end) of every `if` statement that fills whole lines."""
    for n, line in enumerate(source.new):
        if not re.match(r"\s*if\b", line) or not source.code_at(source.starts[n] + len(indent(line))):
            continue
        found = _indented(source, n, ("elif", "else")) if source.language == "python" else _braced_if(source, n)
        if found:
            yield n, found


def functions(source):
    """(first line, end) of every function that fills whole lines, with its attributes or decorators."""
    if source.language in ("c", "cpp"):
        yield from _c_functions(source)
        return
    head, above = _FUNCTION[source.language], _ABOVE.get(source.language)
    for n, line in enumerate(source.new):
        if not head.match(line) or not source.code_at(source.starts[n] + len(indent(line))):
            continue
        end = _indented(source, n, ()) if source.language == "python" else _braced(source, n)
        first = n
        while above and first > 0 and above.match(source.new[first - 1]):
            first -= 1
        if end:
            yield first, end


def keys(source):
    """(first line, end) of every JSON or YAML key with its value, in whole lines."""
    for n, line in enumerate(source.new):
        if source.language == "toml":
            if re.match(r"\s*[\w-]+ *= *[^\s\[{\"']*[\"'\w]+[\"']?\s*$", line) and source.code_at(source.starts[n]):
                yield n, n + 1
            continue
        if source.language == "yaml":
            if re.match(r"\s*[\w-]+:(\s|$)", line) and source.code_at(source.starts[n]):
                yield n, _indented(source, n, ())
            continue
        match = re.match(r'\s*"(?:\\.|[^"\\])*"\s*:\s*(.*)$', line)
        if match and match[1].rstrip() in ("{", "["):
            close = source.pairs.get(source.starts[n] + line.rindex(match[1].rstrip()))
            n_end = source.line_of(close) + 1 if close else None
        else:
            n_end = n + 1
        if match and n_end and source.new[n_end - 1].rstrip().endswith(","):
            yield n, n_end


def _indented(source, n, more):
    """The end of the statement at line `n` and of the clauses `more` that follow it, by indentation; blank lines at its end excluded."""
    depth, end, at = len(indent(source.new[n])), n + 1, n + 1
    while at < len(source.new):
        line = source.new[at]
        clause = re.match(r"\s*(\w+)", line)
        if line.strip() and len(indent(line)) <= depth and source.code_at(source.starts[at]):
            same = len(indent(line)) == depth
            closing = same and line.strip()[0] in ")]}" and at < n + 20
            if not closing and not (same and clause and clause[1] in more):
                break
        at += 1
        end = at if line.strip() else end
    return end


def _braced(source, n, offset=None):
    """The end of the block whose `{` follows line `n`'s start, in whole lines."""
    at = source.starts[n] if offset is None else offset
    while at < len(source.after):
        char = source.after[at]
        if char in "([" and source.code_at(at):
            at = source.pairs.get(at, len(source.after))
        elif char in ";}" and source.code_at(at):
            return None
        elif char == "{" and source.code_at(at):
            close = source.pairs.get(at)
            return _whole(source, close)
        at += 1
        if at - source.starts[n] > 4000:
            return None
    return None


def _whole(source, close):
    """The line after `close`, if nothing but a comment follows on its own line."""
    if close is None:
        return None
    n = source.line_of(close)
    rest = source.after[close + 1 : source.starts[n + 1]].strip()
    return n + 1 if not rest or rest.startswith(("//", "/*")) else None


def _braced_if(source, n):
    """The end of an `if` with its `else` branches."""
    at = source.starts[n] + len(indent(source.new[n]))
    while True:
        close = _body(source, at + 2)
        if close is None:
            return None
        other = re.compile(r"\s*else\b\s*(if\b)?").match(source.after, close + 1)
        if not other:
            return _whole(source, close)
        if other[1]:
            at = other.end() - 2
            continue
        brace = re.compile(r"\s*\{").match(source.after, other.end())
        return _whole(source, source.pairs.get(brace.end() - 1)) if brace else None


def _body(source, at):
    """The offset of the end of the statement after a condition that starts at `at`."""
    if source.language in ("c", "cpp", "java", "javascript", "typescript"):
        opener = source.after.find("(", at)
        close = source.pairs.get(opener)
        if close is None or source.after[at:opener].strip():
            return None
        at = close + 1
        if re.compile(r"\s*[^\s{]").match(source.after, at):
            end = source.after.find(";", at)
            one_line = end >= 0 and source.after[at:end].count("\n") <= 1 and not re.search(r"[{}]", source.after[at:end])
            return end if one_line else None
    while at < len(source.after):
        char = source.after[at]
        if char in "([" and source.code_at(at):
            at = source.pairs.get(at, len(source.after))
        elif char == "{" and source.code_at(at):
            return source.pairs.get(at)
        at += 1
    return None


def _c_functions(source):
    """Blocks at column 0, or opened by a line at column 0, whose `{` follows a `)`."""
    depth = 0
    for start, _, kind in source.tokens:
        if kind == "{" and depth == 0 and source.after[:start][-200:].rstrip().endswith(")") and start in source.pairs:
            n = source.line_of(start)
            while n > 0 and re.match(r"[\w\s*(,]", source.new[n - 1]) and source.new[n - 1].strip():
                if re.search(r"[;{}]|\*/\s*$", source.new[n - 1]):
                    break
                n -= 1
            end = _whole(source, source.pairs[start])
            if end and source.new[n][:1].isalpha() and not source.new[n].startswith(("struct {", "enum", "union")):
                yield n, end
        depth += (kind == "{") - (kind == "}")
