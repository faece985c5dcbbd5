"""Starting Python from Python, so that a folder that somebody else fills decides nothing.

`python -m NAME` imports from the working folder first: in a checkout, a commit that brings
`NAME/__main__.py`, or a module that it imports, would run as this process's user.
"""

import os
import sys


def child_python(*arguments: str) -> list[str]:
    """The command of a Python whose import path has no working folder and no script's folder."""
    return [sys.executable, "-P", *arguments]


def child_environment() -> dict[str, str]:
    """This process's environment; a folder in ``PYTHONPATH`` that is relative is the one it was.

    An empty entry there means the working folder, so it is left out.
    """
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    kept = [os.path.abspath(folder) for folder in given if folder]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(kept)}
