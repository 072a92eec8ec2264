#!/usr/bin/env python3
"""A preprocessor of mdBook: links of pages to files outside docs/ lead to the repository."""
import json
import posixpath
import re
import sys
import tomllib

LINK = re.compile(r"(\]\(|^\[[^\]]+\]: )(?!\w+://)([^)\s#]+)", re.MULTILINE)


def outward(page, url):
    def target(found):
        path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page["path"]), found[2]))
        inside = path.startswith("docs/")
        return found[0] if inside else f"{found[1]}{url}/blob/main/{path}"

    page["content"] = LINK.sub(target, page["content"])
    for item in page["sub_items"]:
        if "Chapter" in item:
            outward(item["Chapter"], url)


if sys.argv[1:2] == ["supports"]:
    sys.exit(0)
with open("Cargo.toml", "rb") as manifest:
    repository = tomllib.load(manifest)["workspace"]["package"]["repository"]
_, book = json.load(sys.stdin)
for item in book["items" if "items" in book else "sections"]:
    if "Chapter" in item and item["Chapter"]["path"]:
        outward(item["Chapter"], repository)
json.dump(book, sys.stdout)
