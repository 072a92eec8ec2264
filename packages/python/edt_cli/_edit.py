"""Edits as values: one function for each mode of a request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Optional


@dataclass(frozen=True)
class Edit:
    """One edit of one file: the keys of a request that are not ``None``."""

    path: str
    mode: str
    old_text: Optional[str] = None
    content: Optional[str] = None
    replace_all: Optional[bool] = None
    executable: Optional[bool] = None
    to: Optional[str] = None
    symbol: Optional[str] = None
    start_line: Optional[int] = None
    end_line: Optional[int] = None
    expected_text: Optional[str] = None
    expected_hash: Optional[str] = None

    def request(self) -> Dict[str, Any]:
        """The edit as an entry of ``edits`` of a request."""
        return {key: value for key, value in vars(self).items() if value is not None}


def create(path: str, content: str, *, executable: bool = False) -> Edit:
    """A new file."""
    return Edit(path, "create", content=content, executable=executable or None)


def replace(
    path: str, *, old: str, new: str, all: bool = False, expected_hash: Optional[str] = None
) -> Edit:
    """Replaces ``old``, which must occur exactly once unless ``all`` is set."""
    return Edit(
        path,
        "edit",
        old_text=old,
        content=new,
        replace_all=all or None,
        expected_hash=expected_hash,
    )


def append(path: str, content: str) -> Edit:
    """Adds text at the end of a file."""
    return Edit(path, "append", content=content)


def overwrite(path: str, content: str, *, expected_hash: Optional[str] = None) -> Edit:
    """Replaces the whole content of a file that exists."""
    return Edit(path, "overwrite", content=content, expected_hash=expected_hash)


def insert(path: str, content: str, *, before_line: int) -> Edit:
    """Inserts text before a line, counted from 1."""
    return Edit(path, "insert", content=content, start_line=before_line)


def replace_lines(path: str, content: str, *, first: int, last: int, present: str) -> Edit:
    """Replaces the lines from ``first`` to ``last``, counted from 1, whose text is ``present``."""
    return Edit(
        path,
        "replace_lines",
        content=content,
        start_line=first,
        end_line=last,
        expected_text=present,
    )


def delete_lines(path: str, *, first: int, last: int, present: str) -> Edit:
    """Deletes the lines from ``first`` to ``last``, counted from 1, whose text is ``present``."""
    return Edit(path, "delete_lines", start_line=first, end_line=last, expected_text=present)


def replace_symbol(path: str, symbol: str, content: str) -> Edit:
    """Replaces the definition of a function, class or similar, as ``edt outline`` names it."""
    return Edit(path, "replace_symbol", symbol=symbol, content=content)


def rename(path: str, to: str) -> Edit:
    """Renames a file."""
    return Edit(path, "rename", to=to)


def delete(path: str, *, expected_hash: Optional[str] = None) -> Edit:
    """Deletes a file."""
    return Edit(path, "delete", expected_hash=expected_hash)
