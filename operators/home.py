"""Where this program keeps what it makes: the embedded server's data and the installed models."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs


def data_home() -> Path:
    """Name the user's data directory, absolute, without creating it.

    ``CROSSCORPUS_HOME`` moves it; unset or empty, it is the platform's own place for user data.

    >>> import os; os.environ["CROSSCORPUS_HOME"] = "/srv/crosscorpus"
    >>> data_home().as_posix()
    '/srv/crosscorpus'
    """
    moved = os.environ.get("CROSSCORPUS_HOME", "").strip()
    home = (
        Path(moved) if moved else Path(platformdirs.user_data_dir("crosscorpus", appauthor=False))
    )
    return home.expanduser().absolute()
