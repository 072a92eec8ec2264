"""The worktree that an agent works in."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from ._answer import Outcome
from ._edit import Edit
from ._program import call, find_program


@dataclass(frozen=True)
class Text:
    """A file as ``edt read`` prints it."""

    path: str
    text: str
    hash: str
    """The blob id; send it as ``expected_hash``."""
    lines: int
    """How many lines the whole file has."""


class Workspace:
    """A worktree of a Git repository.

    :param path: a directory of the worktree.
    :param agent: the agent's name, which becomes a trailer of its commits.
    :param program: the program; found by :func:`find_program` if omitted.
    :param timeout: the longest time of one call in seconds; ``None`` waits for ever.

    Every method raises :class:`Refused` if edt refuses, and :class:`Failed` if it cannot be started.
    """

    def __init__(
        self,
        path: Union[str, "os.PathLike[str]"] = ".",
        *,
        agent: Optional[str] = None,
        program: Optional[Union[str, "os.PathLike[str]"]] = None,
        timeout: Optional[float] = None,
    ) -> None:
        self.path = Path(path)
        self.agent = agent
        self.program = Path(program) if program is not None else find_program()
        self.timeout = timeout

    def apply(
        self,
        *edits: Edit,
        message: Optional[str] = None,
        allow: Sequence[str] = (),
        dry_run: bool = False,
    ) -> Outcome:
        """Applies edits as one transaction: all or none, recorded as one commit."""
        request: Dict[str, Any] = {"edits": [edit.request() for edit in edits]}
        return self._apply(request, message, allow, dry_run)

    def patch(
        self,
        patch: str,
        *,
        message: Optional[str] = None,
        allow: Sequence[str] = (),
        dry_run: bool = False,
    ) -> Outcome:
        """Applies a unified diff, a ``*** Begin Patch`` patch or SEARCH/REPLACE blocks."""
        return self._apply({"patch": patch}, message, allow, dry_run)

    def read(self, path: str) -> Text:
        """A file with its blob id."""
        answer = self.json("read", "--", path)
        return Text(str(answer["path"]), str(answer["text"]), str(answer["hash"]), int(answer["lines"]))

    def undo(self, steps: int = 1) -> Outcome:
        """Undoes the latest edits."""
        return Outcome.of(self.json("undo", str(steps)))

    def redo(self) -> Outcome:
        """Redoes the last undo."""
        return Outcome.of(self.json("redo"))

    def revert(self, *edits: int) -> Outcome:
        """Reverts edits as a new commit; later edits stay."""
        return Outcome.of(self.json("revert", *(str(edit) for edit in edits)))

    def restore(self, path: str) -> Outcome:
        """Restores a file to its content before its latest edit, as a new commit."""
        return Outcome.of(self.json("restore", "--", path))

    def land(self, message: Optional[str] = None) -> Outcome:
        """Squashes the session into one commit on the branch it began from."""
        words: List[str] = [] if message is None else [f"--message={message}"]
        return Outcome.of(self.json("land", *words))

    def status(self) -> Mapping[str, Any]:
        """The session, what is uncommitted, and what waits: the answer ``edt.status/1``."""
        return self.json("status")

    def log(self) -> List[Mapping[str, Any]]:
        """The commits of the session, the newest first."""
        return list(self.json("log")["commits"])

    def json(self, command: str, *arguments: str) -> Dict[str, Any]:
        """The answer of any command that has ``--json``."""
        return self._call([command, "--json", *arguments], None)

    def _apply(
        self,
        request: Dict[str, Any],
        message: Optional[str],
        allow: Sequence[str],
        dry_run: bool,
    ) -> Outcome:
        if message is not None:
            request["message"] = message
        if self.agent is not None:
            request["agent"] = self.agent
        if allow:
            request["allow"] = list(allow)
        words = ["check" if dry_run else "apply", "--json", "--request", "-"]
        return Outcome.of(self._call(words, request))

    def _call(self, arguments: Sequence[str], request: Optional[Mapping[str, Any]]) -> Dict[str, Any]:
        environment = dict(os.environ)
        if self.agent is not None:
            environment["EDT_AGENT"] = self.agent
        return call(
            self.program,
            arguments,
            directory=self.path,
            environment=environment,
            request=request,
            timeout=self.timeout,
        )
