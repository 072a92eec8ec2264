"""Starts the program ``edt`` with the same arguments: ``python -m edt_cli``, ``uvx edt-cli``."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from ._program import Failed, find_program


def main() -> NoReturn:
    """Replaces this process by the program."""
    try:
        program = str(find_program())
        os.execv(program, [program, *sys.argv[1:]])
    except (Failed, OSError) as error:
        sys.exit(f"edt: {error}")


if __name__ == "__main__":
    main()
