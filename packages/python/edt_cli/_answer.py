"""Answers as values. A key that this version does not know stays in ``raw``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Tuple

Change = str
"""``added``, ``modified``, ``deleted`` or ``renamed``."""


@dataclass(frozen=True)
class Finding:
    """One refusal."""

    code: str
    """The stable code, such as ``OLD_TEXT_NOT_FOUND``."""
    message: str
    """What was found and where."""
    hint: str
    """The next call to make."""
    path: Optional[str]
    allow: Optional[str]
    """The word that overrides the refusal; ``None`` if the request cannot override it."""
    evidence: Mapping[str, Any]

    @staticmethod
    def of(raw: Mapping[str, Any]) -> Finding:
        return Finding(
            code=str(raw["code"]),
            message=str(raw["message"]),
            hint=str(raw["hint"]),
            path=raw.get("path"),
            allow=raw.get("allow"),
            evidence=dict(raw.get("evidence") or {}),
        )


@dataclass(frozen=True)
class Warning:
    """What the caller should know although the call succeeded."""

    code: str
    message: str
    path: Optional[str]

    @staticmethod
    def of(raw: Mapping[str, Any]) -> Warning:
        return Warning(str(raw["code"]), str(raw["message"]), raw.get("path"))


@dataclass(frozen=True)
class FileChange:
    """How one file changed."""

    path: str
    change: Change
    source: Optional[str]
    """The path that the file was renamed from."""
    lines_added: int
    lines_removed: int
    hash_before: Optional[str]
    hash_after: Optional[str]
    """The blob id after the change; send it as ``expected_hash`` with the next edit."""
    context: Optional[str]
    """The numbered lines around the change."""

    @staticmethod
    def of(raw: Mapping[str, Any]) -> FileChange:
        return FileChange(
            path=str(raw["path"]),
            change=str(raw["change"]),
            source=raw.get("from"),
            lines_added=int(raw["lines_added"]),
            lines_removed=int(raw["lines_removed"]),
            hash_before=raw.get("hash_before"),
            hash_after=raw.get("hash_after"),
            context=raw.get("context"),
        )


@dataclass(frozen=True)
class Session:
    """The session of a call."""

    name: str
    branch: str
    base: Optional[str]

    @staticmethod
    def of(raw: Mapping[str, Any]) -> Session:
        return Session(str(raw["name"]), str(raw["branch"]), raw.get("base"))


@dataclass(frozen=True)
class Comment:
    """A comment of the user on the session, an edit, a file or lines of it."""

    id: int
    text: str
    edit: Optional[int]
    path: Optional[str]
    path_now: Optional[str]
    """The file's present name; ``None`` if it is gone."""
    lines: Optional[Tuple[int, int]]
    """The first and the last line, counted from 1, when the comment was written."""
    line_now: Optional[int]
    """Where the first of the lines is now; ``None`` if that is not sure."""
    outdated: bool
    quoted: List[str]
    """The lines when the comment was written."""
    raw: Mapping[str, Any]

    @staticmethod
    def of(raw: Mapping[str, Any]) -> Comment:
        lines = raw.get("lines")
        return Comment(
            id=int(raw["id"]),
            text=str(raw["text"]),
            edit=raw.get("edit"),
            path=raw.get("path"),
            path_now=raw.get("path_now"),
            lines=(int(lines[0]), int(lines[1])) if lines else None,
            line_now=raw.get("line_now"),
            outdated=bool(raw.get("outdated")),
            quoted=[str(line) for line in raw.get("quoted") or []],
            raw=raw,
        )


@dataclass(frozen=True)
class Comments:
    """The comments of the user that wait for the agent."""

    open: int
    """How many comments of the session are open."""
    unread: List[Comment]
    """Those that no answer had yet. Each is in one answer in full."""
    left_out: int
    """How many further ones are unread: the next answer has them."""
    hint: str
    """What to call."""

    @staticmethod
    def of(raw: Mapping[str, Any]) -> Comments:
        return Comments(
            open=int(raw["open"]),
            unread=[Comment.of(one) for one in raw.get("unread") or []],
            left_out=int(raw.get("left_out") or 0),
            hint=str(raw.get("hint") or ""),
        )


@dataclass(frozen=True)
class Outcome:
    """The answer of a command that changes something."""

    status: str
    session: Optional[Session]
    commit: Optional[str]
    """The commit that records the change, as a hex object id."""
    edit: Optional[int]
    """The number of the edit that the call made."""
    proposal: Optional[int]
    """The number of the proposal that the call made: the user has to approve it."""
    files: List[FileChange]
    errors: List[Finding]
    warnings: List[Warning]
    lessons: List[str]
    comments: Optional[Comments]
    """The user's comments; ``None`` if none is open."""
    raw: Mapping[str, Any]
    """The answer as the program printed it."""

    @staticmethod
    def of(raw: Dict[str, Any]) -> Outcome:
        session = raw.get("session")
        return Outcome(
            status=str(raw["status"]),
            session=Session.of(session) if session else None,
            commit=raw.get("commit"),
            edit=raw.get("edit"),
            proposal=raw.get("proposal"),
            files=[FileChange.of(file) for file in raw.get("files") or []],
            errors=[Finding.of(error) for error in raw.get("errors") or []],
            warnings=[Warning.of(warning) for warning in raw.get("warnings") or []],
            lessons=[str(lesson) for lesson in raw.get("lessons") or []],
            comments=Comments.of(raw["comments"]) if raw.get("comments") else None,
            raw=raw,
        )
