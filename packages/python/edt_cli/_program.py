"""Finds and starts the program."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence

from ._answer import Finding, Outcome


class Failed(Exception):
    """The program could not be started, or its answer is not the JSON of an answer."""


class Refused(Exception):
    """The program refused. Nothing was changed, unless a finding says so."""

    def __init__(self, raw: Dict[str, Any]) -> None:
        self.status = str(raw.get("status", "refused"))
        self.findings: List[Finding] = [Finding.of(error) for error in raw.get("errors") or []]
        self.raw: Mapping[str, Any] = raw
        super().__init__("\n".join(f"{one.code}: {one.message}\n  {one.hint}" for one in self.findings))

    @property
    def codes(self) -> List[str]:
        """The codes of all findings, the most important first."""
        return [finding.code for finding in self.findings]

    @property
    def outcome(self) -> Outcome:
        """The whole answer."""
        return Outcome.of(dict(self.raw))


def find_program() -> Path:
    """The program ``edt``: of this package if it was installed with it, else of ``PATH``.

    The environment variable ``EDT_PROGRAM`` names another one.
    """
    named = os.environ.get("EDT_PROGRAM")
    if named:
        return Path(named)
    schemes = [sysconfig.get_path("scripts"), sysconfig.get_path("scripts", _user_scheme())]
    # pip install --target DIR puts programs into DIR/bin.
    directories = [*schemes, str(Path(__file__).resolve().parent.parent / "bin")]
    for directory in directories:
        program = Path(directory) / "edt"
        if program.is_file():
            return program
    found = shutil.which("edt")
    if found is None:
        raise Failed("The program `edt` was not found. `pip install edt-cli` installs it.")
    return Path(found)


def _user_scheme() -> str:
    return "posix_user" if os.name == "posix" else "nt_user"


def call(
    program: Path,
    arguments: Sequence[str],
    *,
    directory: Path,
    environment: Mapping[str, str],
    request: Optional[Mapping[str, Any]] = None,
    timeout: Optional[float] = None,
) -> Dict[str, Any]:
    """The answer of one call as JSON.

    Raises :class:`Refused` for an answer with errors, and :class:`Failed` for none.
    """
    try:
        done = subprocess.run(
            [str(program), "-C", str(directory), *arguments],
            input=json.dumps(request).encode() if request is not None else b"",
            capture_output=True,
            env=dict(environment),
            timeout=timeout,
            check=False,
        )
    except OSError as error:
        raise Failed(f"{program} could not be started: {error}") from error
    try:
        answer = json.loads(done.stdout)
    except ValueError as error:
        told = done.stderr.decode(errors="replace").strip()
        raise Failed(f"edt ended with status {done.returncode}: {told}") from error
    if not isinstance(answer, dict):
        raise Failed("The answer of edt is not a JSON object.")
    if answer.get("errors"):
        raise Refused(answer)
    return answer
