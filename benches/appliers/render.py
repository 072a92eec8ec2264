"""The three forms in which the hunks are sent. Each returns the text of the patch, or None if the form cannot express it."""

import re

from case import BLOCKS, ENVELOPE, UNIFIED, indent
from shared import drawn

MARKER = re.compile(r"<{5,9}|={5,9}|>{5,9}")
PROSE = ("Here is the change:\n\n", "\n\nThis should fix the problem.\n")


def rendered(form, case, sent):
    text = {UNIFIED: unified, BLOCKS: blocks, ENVELOPE: envelope}[form](case, sent)
    return text.replace("\n", "\r\n") if text and sent.crlf else text


def unified(case, sent):
    text = f"--- a/{case.path}\n+++ b/{case.path}\n" if sent.named else ""
    for n, hunk in enumerate(sent.hunks):
        text += (sent.heads[n] if sent.heads else head(sent, n)) + "\n" + body(hunk, sent.bare)
    return fence(text, "diff") if sent.fenced else text


def head(sent, n):
    hunk = sent.hunks[n]
    shift = sum(len(each.new) - len(each.old) for each in sent.hunks if each.at < hunk.at)
    more = sent.miscounts[n] if sent.miscounts else (0, 0)
    old, new = len(hunk.old) + more[0], len(hunk.new) + more[1]
    return f"@@ -{span(hunk.said, old)} +{span(max(0, hunk.said + shift), new)} @@"


def span(at, count):
    first = at + (count > 0)
    return str(first) if count == 1 else f"{first},{count}"


def body(hunk, bare):
    text = ""
    for line in hunk.lines:
        unmarked = line == " " if bare == "blank" else line[0] == " " and bare == "all"
        text += (line[1:] if unmarked else line) + "\n"
    return text


def blocks(case, sent):
    contents = [line[1:] for hunk in sent.hunks for line in hunk.lines]
    if any(MARKER.match(line) for line in contents) or not all(hunk.old for hunk in sent.hunks):
        return None
    texts = []
    for hunk in sent.hunks:
        old, new = ("".join(line + "\n" for line in side) for side in (hunk.old, hunk.new))
        text = f"<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE\n"
        texts.append(f"{case.path}\n" + (f"```{case.language}\n{text}```\n" if sent.fenced else text))
    return PROSE[0] * sent.fenced + "\n".join(texts) + PROSE[1] * sent.fenced


def envelope(case, sent):
    if not all(hunk.old for hunk in sent.hunks):
        return None
    text = f"*** Begin Patch\n*** Update File: {case.path}\n"
    for hunk in sent.hunks:
        anchor = anchor_of(case, hunk) if sent.anchored and drawn("anchor", case.id, str(hunk.at)).random() < 0.5 else None
        text += (f"@@ {anchor}\n" if anchor else "@@\n") + body(hunk, sent.bare)
    text += "*** End Patch\n"
    return fence(text, "") if sent.fenced else text


def anchor_of(case, hunk):
    """The nearest line above the hunk that is indented less than its first change and begins with a word."""
    first = next((line[1:] for line in hunk.lines if line[0] != " " and line[1:].strip()), "")
    start = hunk.said
    floor = max([each.at + len(each.old) for each in case.hunks if each.at < hunk.at], default=0)
    for line in reversed(case.lines[floor:start]):
        if line.strip() and len(indent(line)) < len(indent(first)) and (line.strip()[0].isalpha() or line.strip()[0] == "_"):
            return line
    return None


def fence(text, language):
    return f"{PROSE[0]}```{language}\n{text}```{PROSE[1]}"
