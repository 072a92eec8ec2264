"""Damage of one token inside a line of an inserted block. Only what the language's own parser rejects counts.

Each class takes a `Source` and a seeded `Random` and returns the damaged new text, or None if it does not apply.
"""

import re

_TOKEN = re.compile(
    r"[A-Za-z_]\w*|\d[\w.]*"
    r"|<<=|>>=|\*\*=|===|!==|\.\.\.|&&|\|\||<<|>>|<=|>=|==|!=|:=|->|=>|::|\+\+|--|[-+*/%&|^]=|\*\*|\?\?|\?\."
    r"|[^\s\w]"
)
_BINARY = {"+", "-", "*", "/", "%", "==", "!=", "===", "!==", "<=", ">=", "<", ">", "&&", "||", "&", "|", "^", "<<", ">>", "and", "or"}
_ASSIGNS = {"=", ":=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^="}
_STRAY = (";", ",", ")", "]", "}", ":", "=", ".", "*", "%", "?", "=>", "==")
_SWAPPED = {"(": "[", ")": "]", "[": "(", "]": ")", "{": "(", "}": ")"}
_C = "if else for while do switch case default break return struct enum union typedef static const void int char long unsigned sizeof goto"
_ECMA = "if else for while do switch case default break return function const let var class extends new typeof import export from of in try catch async"
KEYWORDS = {
    "c": _C,
    "cpp": _C + " class template typename namespace using public private new delete try catch virtual override auto bool",
    "python": "if elif else for in while def class return import from as with try except finally lambda not and or is pass raise yield del assert",
    "javascript": _ECMA,
    "typescript": _ECMA + " interface type enum implements readonly as",
    "go": "if else for range switch case default func return type struct interface map chan go defer var const package import select",
    "java": "if else for while do switch case default return class interface enum extends implements new import package public private try catch throws",
    "rust": "if else for in while loop match fn let return struct enum impl trait pub use mod as where const static move unsafe",
}
KEYWORDS = {language: frozenset(words.split()) for language, words in KEYWORDS.items()}
# What stands between two parts of one statement.
_PARTNERS = frozenset("in of as else from import extends implements range while is for".split()) | _BINARY | _ASSIGNS


def _tokens(source):
    """(start, end, text) of the tokens of all blocks, in order; comments are left out, and a string is one token."""
    found = []
    for first, end, _ in source.blocks:
        at, high = source.starts[first], source.starts[end]
        others = [token for token in source.tokens if token[1] > at and token[0] < high and token[2] in ("comment", "string")]
        for start, stop, kind in [*others, (high, high, "end")]:
            found += [(match.start(), match.end(), match.group()) for match in _TOKEN.finditer(source.after, at, max(at, min(start, high)))]
            if kind == "string" and start >= at and stop <= high:
                found.append((start, stop, source.after[start:stop]))
            at = max(at, stop)
    return found


def _neighbours(source):
    """Each token with the tokens before and after it."""
    found = _tokens(source)
    return list(zip(found, found[1:], found[2:]))


def _is_value(text):
    return text[0].isalnum() or text[0] in "_\"'`"


def _is_name(source, text):
    return _is_value(text) and text not in KEYWORDS[source.language]


def _one_line(source, *tokens):
    return "\n" not in source.after[tokens[0][0] : tokens[-1][1]]


def _replaced(source, rng, places):
    """One of the places, (start, end, text), filled with its text."""
    if not places:
        return None
    start, end, text = rng.choice(places)
    return source.after[:start] + text + source.after[end:]


def _inner(source, at):
    """The bracket that is open around an offset, or an empty string."""
    closes = {")": "(", "]": "[", "}": "{"}
    depth = 0
    for start, _, kind in reversed([token for token in source.tokens if token[0] < at and token[2] in "()[]{}"][-400:]):
        if kind in closes:
            depth += 1
        elif depth:
            depth -= 1
        else:
            return source.after[start]
    return ""


def token_doubled(source, rng):
    """`return return x`: a word twice."""
    found = [token for token in _tokens(source) if token[2][0].isalpha() or token[2][0] == "_"]
    return _replaced(source, rng, [(end, end, " " + text) for _, end, text in found])


def token_operator_doubled(source, rng):
    """`x = = 1`"""
    found = [token for token in _tokens(source) if token[2] in _BINARY | _ASSIGNS and not token[2].isalpha()]
    return _replaced(source, rng, [(end, end, " " + text) for _, end, text in found])


def token_comma_lost(source, rng):
    """`f(1 2)`: a comma between arguments."""
    return _comma_lost(source, rng, "(")


def token_entry_comma_lost(source, rng):
    """`enum { A B }`: a comma between the entries of an enumeration or another list."""
    return _comma_lost(source, rng, "{[")


def _comma_lost(source, rng, brackets):
    found = [
        (comma[0], comma[1], "" if source.after[comma[1]].isspace() else " ")
        for before, comma, after in _neighbours(source)
        if comma[2] == "," and _is_value(before[2][-1]) and _is_value(after[2]) and _inner(source, comma[0]) in [*brackets]
    ]
    return _replaced(source, rng, found)


def token_second_value(source, rng):
    """`int x = 3 4;`: two values side by side."""
    found = [
        (value[1], value[1], rng.choice((" 4", " x", ' "x"')))
        for before, value, after in _neighbours(source)
        if before[2] in _ASSIGNS and _is_name(source, value[2]) and (after[2] == ";" or not _one_line(source, value, after))
    ]
    return _replaced(source, rng, found)


def token_operand_lost(source, rng):
    """`a + ;`: what follows an operator."""
    found = [
        (operand[0], operand[1], "")
        for operator, operand, after in _neighbours(source)
        if operator[2] in _BINARY | _ASSIGNS
        and _is_name(source, operand[2])
        and (after[2] in (";", ")", ",", "]", "{", ":") or not _one_line(source, operand, after))
    ]
    return _replaced(source, rng, found)


def token_partner_lost(source, rng):
    """`return a b;`, `for a b:`: what joins two parts of a statement."""
    found = [
        (token[0], token[1], "")
        for before, token, after in _neighbours(source)
        if token[2] in _PARTNERS and _is_value(before[2]) and _is_value(after[2]) and _one_line(source, before, token, after)
    ]
    return _replaced(source, rng, found)


def token_semicolon_lost(source, rng):
    """`for (a; b c)`: a semicolon, or the colon of Python, with more behind it in its line."""
    sign = ":" if source.language == "python" else ";"
    found = [
        (token[0], token[1], "")
        for token, after, _ in _neighbours(source)
        if token[2] == sign and (_one_line(source, token, after) or sign == ":")
    ]
    return _replaced(source, rng, found)


def token_bracket_swapped(source, rng):
    """`f(1]`"""
    found = [(start, end, _SWAPPED[text]) for start, end, text in _tokens(source) if text in _SWAPPED]
    return _replaced(source, rng, found)


def token_keyword_misspelt(source, rng):
    """`retrun x`: two letters of a keyword are swapped, or one is missing."""
    found = []
    for start, end, text in _tokens(source):
        if text in KEYWORDS[source.language] and len(text) > 2:
            n = rng.randrange(1, len(text) - 1)
            wrong = text[:n] + text[n + 1] + text[n] + text[n + 2 :]
            found.append((start, end, wrong if wrong != text else text[:n] + text[n + 1 :]))
    return _replaced(source, rng, found)


def token_quote_lost(source, rng):
    """The opening quote of a string."""
    found = [(start, start + 1, "") for start, _, text in _tokens(source) if text[0] in "\"'"]
    return _replaced(source, rng, found)


def token_stray(source, rng):
    """One sign too many between two tokens of a line."""
    found = [
        (token[1], token[1], " " * rng.randrange(2) + rng.choice(_STRAY))
        for token, after, _ in _neighbours(source)
        if _one_line(source, token, after)
    ]
    return _replaced(source, rng, found)


TOKENS = [
    token_doubled, token_operator_doubled, token_comma_lost, token_entry_comma_lost, token_second_value, token_operand_lost,
    token_partner_lost, token_semicolon_lost, token_bracket_swapped, token_keyword_misspelt, token_quote_lost, token_stray,
]  # fmt: skip
