#!/usr/bin/env python3
"""Compares the manifests of packages and plugins with their published schemas.

Usage: packages/check.py [--schemas DIR]

DIR has the schemas under the last part of their address; without it they are fetched. Ends with
status 1 if a manifest does not fit. Needs Python 3.9 and its package `jsonschema`.
"""

import argparse
import json
import pathlib
import sys
import urllib.request

import jsonschema

from build import ROOT, manifest, template

STORE = "https://www.schemastore.org"
MCPB = "https://raw.githubusercontent.com/modelcontextprotocol/mcpb/main/schemas"
SCHEMAS = {
    "packages/mcp/manifest.json": f"{MCPB}/mcpb-manifest-v0.3.schema.json",
    "packages/mcp/server.json": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
    ".claude-plugin/marketplace.json": f"{STORE}/claude-code-marketplace.json",
    "plugins/claude-code/.claude-plugin/plugin.json": f"{STORE}/claude-code-plugin-manifest.json",
    "plugins/codex/.codex-plugin/plugin.json": f"{STORE}/codex-plugin-manifest.json",
    "plugins/codex/hooks/hooks.json": f"{STORE}/codex-hooks.json",
}


def schema(url, directory):
    if directory:
        return json.loads((directory / url.rsplit("/", 1)[1]).read_text())
    request = urllib.request.Request(url, headers={"User-Agent": "edt"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def filled(path):
    """The manifest as it is published: templates get the version and the address."""
    prefix = "packages/"
    if path.startswith(prefix):
        return json.loads(template(path[len(prefix) :], manifest("version")))
    return json.loads((ROOT / path).read_text())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--schemas", type=pathlib.Path)
    arguments = parser.parse_args()
    wrong = 0
    for path, url in SCHEMAS.items():
        known = schema(url, arguments.schemas)
        checker = jsonschema.validators.validator_for(known)(known)
        found = sorted(checker.iter_errors(filled(path)), key=str)
        print(f"{'differs' if found else 'fits'}: {path}: {url}")
        for error in found:
            print(f"  {'.'.join(map(str, error.path))}: {error.message}")
        wrong += bool(found)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
