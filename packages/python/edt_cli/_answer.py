"""Answers as values. A key that this version does not know stays in ``raw``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional

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
            raw=raw,
        )
