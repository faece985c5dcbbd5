"""The command that installs an optional part, for the message about a missing one."""

import shlex
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def installing(extra: str) -> str:
    """The command that adds ``extra`` to the environment of this interpreter.

    From a checkout, it installs the checkout itself; else the published project.
    """
    checkout = (ROOT / "pyproject.toml").is_file()
    what = f"-e {shlex.quote(f'{ROOT}[{extra}]')}" if checkout else f"'crosscorpus[{extra}]'"
    return f"{shlex.quote(sys.executable)} -m pip install {what}"
