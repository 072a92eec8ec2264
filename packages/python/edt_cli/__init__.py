"""A typed client of the program ``edt``: guarded edit transactions in a Git repository.

Each method of :class:`Workspace` starts the program once and reads its answer as JSON. A refusal is
an exception, :class:`Refused`; nothing was changed then.
"""

from ._answer import Change, FileChange, Finding, Outcome, Session, Warning
from ._edit import (
    Edit,
    append,
    create,
    delete,
    delete_lines,
    insert,
    overwrite,
    rename,
    replace,
    replace_lines,
    replace_symbol,
)
from ._program import Failed, Refused, find_program
from ._workspace import Text, Workspace

__all__ = [
    "Change",
    "Edit",
    "Failed",
    "FileChange",
    "Finding",
    "Outcome",
    "Refused",
    "Session",
    "Text",
    "Warning",
    "Workspace",
    "append",
    "create",
    "delete",
    "delete_lines",
    "find_program",
    "insert",
    "overwrite",
    "rename",
    "replace",
    "replace_lines",
    "replace_symbol",
]
