"""Damage typical of models: each class takes a `Source` and a seeded `Random` and returns a damaged new text, or None if it does not apply."""

import re

import statements
import tokens
from source import ended, indent

MARKERS = (
    "<<<<<<< SEARCH",
    "=======",
    ">>>>>>> REPLACE",
    "<<<<<<< HEAD",
    ">>>>>>> branch",
    "||||||| base",
    "*** Begin Patch",
    "*** End Patch",
    "*** Update File: x",
    "@@ -1,3 +1,4 @@",
)
PROSE = (
    "Here is the updated code:",
    "I've added the check as requested.",
    "Sure! Here's the modified version of the file:",
    "This change makes sure that the value is never empty.",
    "Let me know if you need anything else.",
)
ELISIONS = (
    "... existing code ...",
    "... rest of the code remains unchanged ...",
    "rest of the code remains unchanged",
    "... (rest of the file unchanged)",
    "remaining methods stay the same",
    "existing implementation here",
    "... previous code ...",
    "TODO: keep the rest",
    "unchanged",
    "...",
    "Rest of the file remains the same",
    "[... unchanged ...]",
    "(other functions omitted for brevity)",
    "same as before",
    "<snip>",
    "code above is not changed",
    "keep everything else as it was",
    "... 23 lines omitted ...",
    "… (no changes here)",
    "continues as in the original",
    "the remaining cases are identical",
    "<existing logic>",
    "Remaining code goes here",
    "[unchanged body]",
    "... other fields as before",
    "existing tests stay here",
)
# Held out while the rules were made.
HELD_OUT = (
    "(... code omitted ...)",
    "rest of function stays as is",
    "[existing code here]",
    "... same as above ...",
    "---- unchanged ----",
    "other methods not shown",
    "the rest is identical to the original",
    "unchanged code",
    "your existing code here",
    "previous implementation retained",
    "... remaining fields ...",
    "everything else stays the same",
    "omitted for clarity",
    "... (keep as is) ...",
)
OPENINGS = (
    "Here's the updated file:",
    "Here is the complete code with the fix:",
    "Sure! Here is the new version:",
    "I've updated the file as you asked:",
    "Below is the corrected code:",
    "Certainly! Here's the refactored version:",
)
CLOSINGS = (
    "Let me know if you need anything else!",
    "I hope this helps!",
    "Would you like me to add tests?",
    "These changes should now fix the problem.",
    "Please let me know if you have any questions.",
    "Feel free to ask if something is unclear.",
)
FENCE_NAMES = {"c": "c", "go": "go", "python": "python", "json": "json", "yaml": "yaml", "rust": "rust", "typescript": "ts"}
FENCE_NAMES |= {"cpp": "cpp", "bash": "bash", "make": "makefile", "css": "css", "html": "html"}
FENCE_NAMES |= {"javascript": "js", "java": "java", "toml": "toml"}
BRACKETS = {"bracket": "{}[]", "paren": "()"}


def inserted(source, rng, good=None):
    """(first, end) of one of the change's inserted or rewritten blocks that is `good`."""
    found = [(j, k) for j, k, _ in source.blocks if good is None or good(j, k)]
    return rng.choice(found) if found else None


def tokens_of_a_block(source, rng, wanted):
    found = [token for j, k, _ in source.blocks for token in source.tokens_in(j, k) if token[2] in wanted]
    return rng.choice(found) if found else None


def bracket_lost(source, rng, family="bracket"):
    token = tokens_of_a_block(source, rng, BRACKETS[family])
    return token and source.after[: token[0]] + source.after[token[1] :]


def bracket_extra(source, rng, family="bracket"):
    token = tokens_of_a_block(source, rng, BRACKETS[family])
    return token and source.after[: token[1]] + source.after[token[0] :]


def paren_lost(source, rng):
    return bracket_lost(source, rng, "paren")


def paren_extra(source, rng):
    return bracket_extra(source, rng, "paren")


def bracket_lone(source, rng):
    j, k = inserted(source, rng) or (None, None)
    if j is None:
        return None
    closer = rng.choice({"python": ")]}", "yaml": "]}", "json": "]}", "toml": "]}"}.get(source.language, "}"))
    return source.with_lines(j, k, [indent(source.new[j]) + closer + "\n"])


def quote_lost(source, rng):
    token = tokens_of_a_block(source, rng, ("string",))
    if not token:
        return None
    at = rng.choice((token[0], token[1] - 1))
    return source.after[:at] + source.after[at + 1 :]


def comma_lost(source, rng):
    """JSON only."""
    found = [n for j, k, _ in source.blocks for n in range(j, k) if source.new[n].rstrip().endswith(",")]
    if not found:
        return None
    n = rng.choice(found)
    return source.with_lines(n, n + 1, [source.new[n].rstrip()[:-1] + "\n"])


def argument_lost(source, rng):
    """Removes the last argument of a call. It parses: only a compiler that knows the callee sees it."""
    found = []
    for j, k, _ in source.blocks:
        for start, _, kind in source.tokens_in(j, k):
            close = source.pairs.get(start)
            if kind != "(" or not close or "\n" in source.after[start:close] or not source.after[:start][-1:].isalnum():
                continue
            commas = [n for n in range(start, close) if source.after[n] == "," and source.code_at(n)]
            depth_one = [n for n in commas if source.after[n:close].count("(") == source.after[n:close].count(")")]
            if depth_one and not re.search(r"[\[{]", source.after[start:close]):
                found.append((depth_one[-1], close))
    if not found:
        return None
    comma, close = rng.choice(found)
    return source.after[:comma] + source.after[close:]


def truncated_line(source, rng):
    found = [n for j, k, _ in source.blocks for n in range(j, k) if len(source.new[n].strip()) > 3]
    if not found:
        return None
    n = rng.choice(found)
    line = source.new[n].rstrip()
    return "".join(source.new[:n]) + line[: rng.randrange(len(indent(line)) + 1, len(line))]


def truncated_tail(source, rng):
    found = inserted(source, rng, lambda j, k: any(line.strip() for line in source.new[k:]))
    return found and "".join(source.new[: found[1]])


def indent_lost(source, rng):
    """All lines of a block lose the block's own indentation, or one step of it."""
    found = inserted(source, rng, lambda j, k: all(line[0] in " \t" or not line.strip() for line in source.new[j:k]))
    if not found:
        return None
    block = source.new[found[0] : found[1]]
    least = min(len(indent(line)) for line in block if line.strip())
    by = rng.choice((least, min(least, 4 if source.language == "python" else 2)))
    return source.with_lines(*found, [line[by:] if line.strip() else line for line in block])


def indent_wrong(source, rng):
    """A block, or its first line, is shifted by some columns."""
    found = inserted(source, rng)
    if not found:
        return None
    block = source.new[found[0] : found[1]]
    end = rng.choice((1, len(block)))
    by = rng.choice((-3, -2, -1, 1, 2, 3, 4))
    moved = [
        line if not line.strip() else " " * by + line if by > 0 else line[min(-by, len(indent(line))) :] for line in block[:end]
    ]
    return source.with_lines(*found, moved + block[end:])


def marker_left(source, rng):
    found = [n for j, k, _ in source.blocks for n in range(j, k + 1) if not source.inside(n, ("string",))]
    return _line_put(source, rng.choice(found), rng.choice(MARKERS)) if found else None


def prose(source, rng):
    found = inserted(source, rng)
    at = rng.choice(found) if found else 0
    return _line_put(source, at, rng.choice(PROSE)) if found and not source.inside(at, ("string",)) else None


def fence(source, rng):
    mark = "```" + rng.choice(("", FENCE_NAMES[source.language]))
    where = rng.choice(("file", "open", "block"))
    if where == "block":
        found = inserted(source, rng)
        if not found:
            return None
        block = [ended(line) for line in source.new[found[0] : found[1]]]
        return source.with_lines(*found, [mark + "\n", *block, "```\n"])
    return f"{mark}\n{source.after}" if where == "open" else f"{mark}\n{''.join(map(ended, source.new))}```\n"


def plus_prefix(source, rng):
    if rng.random() < 0.2:
        return "".join("+" + line for line in source.new)
    return _each_line(source, rng, lambda n, line: "+" + line)


def line_numbers(source, rng):
    form = rng.choice(("{} | {}", "{}: {}", "{}\t{}", "{:>6}→{}"))
    return _each_line(source, rng, lambda n, line: form.format(n + 1, line))


def html_escaped(source, rng):
    def code_holds_one(j, k):
        low, high = source.starts[j], source.starts[k]
        return any(source.after[n] in "<>&" and source.code_at(n) for n in range(low, high))

    found = inserted(source, rng, code_holds_one)
    if not found:
        return None
    block = "".join(source.new[found[0] : found[1]])
    return source.with_lines(*found, [block.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")])


def literal_newlines(source, rng):
    found = inserted(source, rng, lambda j, k: k - j > 1)
    if not found:
        return None
    block = "".join(source.new[found[0] : found[1]])
    body = block.removesuffix("\n")
    return source.with_lines(*found, [body.replace("\r\n", "\n").replace("\n", "\\n") + block[len(body) :]])


def elided(source, rng, wordings=ELISIONS):
    """A placeholder replaces 4 to 60 lines of the old text, all at least as deep as the first."""
    kept = [(j, k) for tag, _, _, j, k in source.opcodes if tag == "equal" and k - j > 5]
    for _ in range(40):
        if not kept:
            return None
        low, high = rng.choice(kept)
        first = rng.randrange(low, high - 4)
        line = source.new[first]
        if not re.search(r"\w", line) or first == 0 or not source.code_at(source.starts[first] + len(indent(line))):
            continue
        size = min(rng.choice((4, 6, 10, 20, 40, 60)), high - first)
        end = first
        while end < first + size and (not source.new[end].strip() or len(indent(source.new[end])) >= len(indent(line))):
            end += 1
        while not source.new[end - 1].strip():
            end -= 1
        if end - first >= 4 and end < len(source.new):
            return source.with_lines(first, end, [indent(line) + placeholder(source, rng, wordings, bare=True) + "\n"])
    return None


def elided_heldout(source, rng):
    return elided(source, rng, HELD_OUT)


def elided_nothing(source, rng):
    """A placeholder that replaces nothing, in a change that deletes nothing."""
    found = [n for j, k, _ in source.blocks for n in (j, k) if n < len(source.new) and source.code_at(source.starts[n])]
    if source.deleted or not found:
        return None
    at = rng.choice(found)
    lead = indent(next((line for line in source.new[at:] if line.strip()), ""))
    return source.with_lines(at, at, [lead + placeholder(source, rng, ELISIONS + HELD_OUT, bare=False) + "\n"])


def placeholder(source, rng, wordings, bare):
    """One of the wordings as a comment of the language, rarely without comment markers."""
    words = rng.choice(wordings)
    if bare and words.startswith("...") and rng.random() < (0.6 if words == "..." else 0.2):
        return words
    forms = {"c": ("/* {} */", "// {}"), "css": ("/* {} */",), "html": ("<!-- {} -->",)}
    forms |= dict.fromkeys(("python", "yaml", "toml", "bash", "make"), ("# {}",)) | {"cpp": forms["c"]}
    forms = forms.get(source.language, ("// {}",))
    if source.path.endswith(".tsx"):
        forms += ("{{/* {} */}}",)
    return rng.choice(forms).format(words)


def pasted_twice(source, rng):
    """A block that the change only inserted occurs twice in a row."""
    pure = {(j, k) for j, k, gone in source.blocks if not gone}
    found = inserted(
        source, rng, lambda j, k: (j, k) in pure and any(len(re.findall(r"\w", line)) >= 3 for line in source.new[j:k])
    )
    return found and source.with_lines(found[1], found[1], _copy(source, *found))


def pasted_code(source, rng):
    """3 to 12 lines of the file's other parts in the middle of a block."""
    found = inserted(source, rng, lambda j, k: k - j > 1)
    if not found or len(source.new) < 40:
        return None
    size = rng.randint(3, 12)
    far = [n for n in range(len(source.new) - size) if n + size < found[0] - 10 or n > found[1] + 10]
    if not far:
        return None
    n = rng.choice(far)
    at = rng.randrange(found[0] + 1, found[1])
    copy = source.new[n : n + size]
    return source.with_lines(at, at, [ended(line) for line in copy]) if re.search(r"\w", "".join(copy)) else None


def if_doubled(source, rng):
    found = _near(source, rng, statements.ifs(source), 40)
    return found and source.with_lines(found[1], found[1], _copy(source, *found))


def function_doubled(source, rng):
    """Right after itself, or after a later function of the same scope."""
    every = list(statements.functions(source))
    found = _near(source, rng, every, 150)
    if not found:
        return None
    at = found[1]
    if rng.random() < 0.5:
        depth = len(indent(source.new[found[0]]))
        later = [
            end
            for first, end in every
            if first > found[1]
            and len(indent(source.new[first])) == depth
            and all(len(indent(line)) >= depth for line in source.new[found[1] : first] if line.strip())
        ]
        at = rng.choice(later[:5]) if later else at
    return source.with_lines(at, at, ["\n", *_copy(source, *found)])


def key_doubled(source, rng):
    """JSON and YAML: a key with its value, right after itself."""
    found = _near(source, rng, statements.keys(source), 10)
    return found and source.with_lines(found[1], found[1], _copy(source, *found))


def _copy(source, first, end):
    """The lines to insert after `end` so that `first..end` occurs again there."""
    block = source.new[first:end]
    if block[-1].endswith("\n"):
        return block
    return ["\n", *block]


def _near(source, rng, spans, reach):
    """One of the spans that touch the change's surroundings, or of all."""
    spans = list(spans)
    near = [
        (first, end) for first, end in spans if any(first < k + reach and end > j - reach for j, k, _ in source.blocks)
    ]
    return rng.choice(near or spans) if spans else None


def _line_put(source, at, text):
    return source.with_lines(at, at, ["\n" * bool(at and not source.new[at - 1].endswith("\n")) + text + "\n"])


def _each_line(source, rng, change):
    found = inserted(source, rng)
    return found and source.with_lines(*found, [change(n, source.new[n]) for n in range(*found)])


def emptied(source, rng):
    """Nothing is left."""
    return "" if len(source.old) > 1 else None


def chat_line(source, rng):
    """A sentence of a chat before or after the file."""
    if rng.random() < 0.5:
        return rng.choice(OPENINGS) + "\n\n" + source.after
    return ended(source.after) + "\n" + rng.choice(CLOSINGS) + "\n"


def tool_tag(source, rng):
    """A tag of a tool call before or after the file."""
    name = rng.choice(("content", "file_text", "parameter", "invoke", "new_str", "function_calls", "file", "tool_call"))
    return f"<{name}>\n" + source.after if rng.random() < 0.3 else ended(source.after) + f"</{name}>\n"


def byte_order_mark(source, rng):
    return None if source.before.startswith("\ufeff") else "\ufeff" + source.after


def bidi(source, rng):
    return _in_a_line(source, rng, lambda at: rng.choice("\u202e\u2066\u202d") )


def ansi(source, rng):
    return _in_a_line(source, rng, lambda at: rng.choice(("\x1b[31m", "\x1b[0m", "\x1b[1;32m")))


def replaced(source, rng):
    """U+FFFD in a line."""
    return _in_a_line(source, rng, lambda at: "\ufffd")


def mojibake(source, rng):
    return _in_a_line(source, rng, lambda at: rng.choice("é’–ü“€→").encode().decode("cp1252", "replace").replace("\ufffd", "\x9d"))


def no_break_space(source, rng):
    """A space of code becomes a no-break space."""
    return _instead(source, rng, r"(?<=\w) (?=\w)", "\xa0")


def curly_quotes(source, rng):
    """The quotes of a string become curly."""
    found = inserted(source, rng)
    if not found:
        return None
    text = "".join(source.new[slice(*found)])
    match = next(iter(re.finditer(r'"([^"\\\n]*)"', text)), None)
    if not match:
        return None
    at = source.starts[found[0]]
    if source.code_at(at + match.start()) is False:
        return None
    low, high = at + match.start(), at + match.end()
    return source.after[:low] + "\u201c" + match[1] + "\u201d" + source.after[high:]


def semicolon_lost(source, rng):
    """A statement of C, or a declaration of CSS, without its semicolon."""
    # The last declaration of a block of CSS needs none.
    return _instead(source, rng, r";(?=\n\s*[a-z-]+\s*:)" if source.language == "css" else r";(?=\n)", "")


def comma_doubled(source, rng):
    """`f(a,,b)`"""
    return _instead(source, rng, r",(?= ?\w)", ",,")


def keyword_lost(source, rng):
    """A word that ends or divides a compound command of Bash, or a conditional of Make, is missing."""
    word = r"\b(?:then|do|done|fi|esac)\b" if source.language == "bash" else r"(?m)^(?:endif|endef|if(?:n?eq|n?def)\b.*|define\b.*)$"
    return _instead(source, rng, word, "")


def tab_lost(source, rng):
    """The recipe lines of a makefile begin with spaces."""
    found = inserted(source, rng, lambda j, k: any(line.startswith("\t") for line in source.new[j:k]))
    if not found:
        return None
    return source.with_lines(*found, [" " * 4 + line[1:] if line.startswith("\t") else line for line in source.new[slice(*found)]])


def body_stub(source, rng):
    """The body of a function becomes a stub."""
    stubs = {
        "python": ("pass", "raise NotImplementedError", "..."),
        "rust": ("todo!()", "unimplemented!()"),
        "go": ('panic("not implemented")', "// TODO: implement"),
        "typescript": ("throw new Error('Not implemented');", "// TODO"),
        "java": ('throw new UnsupportedOperationException("Not implemented");', "// TODO"),
        "c": ("/* TODO: implement */", ""),
        "cpp": ("// TODO: implement", ""),
    }
    stubs["javascript"] = stubs["typescript"]
    found = _body(source, rng)
    if not found:
        return None
    first, end = found
    return source.with_lines(first, end, [indent(source.new[first]) + rng.choice(stubs[source.language]) + "\n"])


def body_commented(source, rng):
    """The body of a function becomes comments."""
    found = _body(source, rng)
    if not found:
        return None
    mark = "#" if source.language == "python" else "//"
    lead = indent(source.new[found[0]])
    lines = [lead + mark + " " + line[len(lead):] if line.strip() else line for line in source.new[slice(*found)]]
    return source.with_lines(*found, lines + ([lead + "pass\n"] if source.language == "python" else []))


def tests_deleted(source, rng):
    """Every test of a file is removed."""
    head = {"python": r"\s*(async )?def test", "go": "func Test", "rust": r"\s*#\[test\]", "java": r"\s*@Test\b"}[source.language]
    tests = [(first, end) for first, end in statements.functions(source) if any(re.match(head, line) for line in source.new[first:end])]
    if len(tests) < 4:
        return None
    gone = {n for first, end in tests for n in range(first, end)}
    return "".join(line for n, line in enumerate(source.new) if n not in gone)


def _body(source, rng):
    """The lines of the body of a function. The old text has its first line and four lines of its body, too."""
    found, old = [], set(source.old)
    for first, end in statements.functions(source):
        if source.language == "python":
            opens = next((n for n in range(first, end) if source.new[n].rstrip().endswith(":") and "def " in source.new[n]), None)
            low, high = (opens + 1, end) if opens is not None else (0, 0)
        else:
            opens = next((n for n in range(first, end) if source.new[n].rstrip().endswith("{")), None)
            low, high = (opens + 1, end - 1) if opens is not None else (0, 0)
        while high > low and not source.new[high - 1].strip():
            high -= 1
        filled = [line for line in source.new[low:high] if re.search(r"\w", line)]
        kept = sum(line in old for line in filled)
        if kept >= 4 and source.new[low].strip() and source.new[opens] in old:
            found.append((low, high))
    return rng.choice(found) if found else None


def _in_a_line(source, rng, text):
    """Text in the middle of an inserted line."""
    found = inserted(source, rng, lambda j, k: len(source.new[j].strip()) > 6)
    if not found:
        return None
    at = source.starts[found[0]] + len(source.new[found[0]].rstrip()) // 2
    put = text(at)
    return None if any(c in source.before for c in put if ord(c) > 126 or c < " ") else source.after[:at] + put + source.after[at:]


def _instead(source, rng, pattern, put):
    """A place of the pattern, in code of an inserted block, becomes something else."""
    found = inserted(source, rng)
    if not found:
        return None
    low, high = source.starts[found[0]], source.starts[found[0]] + sum(map(len, source.new[slice(*found)]))
    places = [match for match in re.finditer(pattern, source.after) if low <= match.start() < high and source.code_at(match.start())]
    if not places or put.strip(",") and put in source.before:
        return None
    match = rng.choice(places)
    return source.after[: match.start()] + put + source.after[match.end() :]

COMMON = [
    bracket_lost, bracket_extra, bracket_lone, quote_lost, truncated_line, truncated_tail, marker_left, prose, fence, plus_prefix,
    line_numbers, html_escaped, literal_newlines, elided, elided_heldout, pasted_twice, pasted_code,
]  # fmt: skip
CODE = [paren_lost, paren_extra, argument_lost, elided_nothing, if_doubled, function_doubled]
CLASSES = {
    "c": COMMON + CODE,
    "go": COMMON + CODE,
    "rust": COMMON + CODE,
    "typescript": COMMON + CODE,
    "python": COMMON + CODE + [indent_lost, indent_wrong],
    "yaml": COMMON + [indent_lost, indent_wrong, elided_nothing, key_doubled],
    "json": [each for each in COMMON if each is not html_escaped] + [comma_lost, key_doubled],
    "toml": [each for each in COMMON if each is not html_escaped] + [elided_nothing, key_doubled],
    "javascript": COMMON + CODE,
    "java": COMMON + CODE,
}
PAREN = [paren_lost, paren_extra]
CLASSES |= {
    "cpp": COMMON + CODE,
    "bash": COMMON + PAREN + [keyword_lost],
    "make": [each for each in COMMON if each is not quote_lost] + PAREN + [keyword_lost, tab_lost],
    "css": COMMON + PAREN + [semicolon_lost],
    "html": COMMON,
}
TEXT = [emptied, chat_line, tool_tag, byte_order_mark, bidi, ansi, replaced, mojibake]
for each in CLASSES:
    CLASSES[each] = CLASSES[each] + TEXT
for each in ("c", "cpp", "go", "rust", "typescript", "javascript", "java", "python"):
    CLASSES[each] = CLASSES[each] + [no_break_space, curly_quotes, comma_doubled, body_stub, body_commented]
for each in ("go", "java", "rust", "python"):
    CLASSES[each] = CLASSES[each] + [tests_deleted]
for each in ("c", "cpp"):
    CLASSES[each] = CLASSES[each] + [semicolon_lost]
for each in tokens.KEYWORDS:
    CLASSES[each] = CLASSES[each] + tokens.TOKENS
# Duplicated by simple means: a result that the parser refuses was cut wrongly and is dropped.
MUST_PARSE = {"if_doubled", "function_doubled", "key_doubled", "elided_nothing"}
