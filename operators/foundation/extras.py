"""The command that installs an optional part, for the message where one is missing."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

_ROOT = Path(__file__).parents[2]


def installing(extra: str) -> str:
    """The command that adds ``extra`` to the environment of this very interpreter.

    In a checkout the project itself is what is installed, from any folder; else it is named.
    """
    checkout = (_ROOT / "pyproject.toml").is_file()
    what = f"-e {shlex.quote(f'{_ROOT}[{extra}]')}" if checkout else f"'crosscorpus[{extra}]'"
    return f"{shlex.quote(sys.executable)} -m pip install {what}"
