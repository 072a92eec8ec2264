#!/usr/bin/env python3
"""A preprocessor of mdBook: it adds pages from outside docs/, and leads every other link that leaves
docs/ to the repository."""
import json
import posixpath
import re
import sys
import tomllib

# Pages outside docs/, and their names in the book.
ADDED = {
    "SECURITY.md": "security.md",
    "ARCHITECTURE.md": "architecture.md",
    "benches/README.md": "benchmarks.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
LINK = re.compile(r"(\]\(|^\[[^\]]+\]: )(?!\w+://|#)([^)\s#]+)", re.MULTILINE)


def rewrite(text, source, page, url):
    """`text` of the file `source`, which is `page` in the book, with links for the book."""

    def target(found):
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), found[2]))
        inside = path.removeprefix("docs/") if path.startswith("docs/") else ADDED.get(path)
        if inside is None or path.endswith("/") or path == "docs":
            return f"{found[1]}{url}/blob/main/{path}"
        return found[1] + posixpath.relpath(inside, posixpath.dirname(page) or ".")

    return LINK.sub(target, text)


def visit(items, url):
    for item in items:
        chapter = item.get("Chapter") if isinstance(item, dict) else None
        if chapter and chapter["path"]:
            page = chapter["path"]
            chapter["content"] = rewrite(chapter["content"], f"docs/{page}", page, url)
            visit(chapter["sub_items"], url)


def added(source, page, url):
    with open(source, encoding="utf-8") as file:
        text = file.read()
    name = text.split("\n", 1)[0].removeprefix("# ")
    return {"Chapter": {
        "name": name, "content": rewrite(text, source, page, url), "number": None, "sub_items": [],
        "path": page, "source_path": None, "parent_names": [],
    }}


if sys.argv[1:2] == ["supports"]:
    sys.exit(0)
with open("Cargo.toml", "rb") as manifest:
    repository = tomllib.load(manifest)["workspace"]["package"]["repository"]
_, book = json.load(sys.stdin)
items = book["items" if "items" in book else "sections"]
visit(items, repository)
items.append({"PartTitle": "About the project"})
items.extend(added(source, page, repository) for source, page in ADDED.items())
json.dump(book, sys.stdout)
