"""The directory of this program's data: the embedded server's data and the installed models."""

import functools
import logging
import os
import sys
from pathlib import Path

import platformdirs

from operators.errors import CrosscorpusError
from operators.foundation.os_user import closed_parent, server_account

log = logging.getLogger(__name__)


def data_home() -> Path:
    """The absolute data directory (not created here).

    CROSSCORPUS_HOME when set, else the user's data directory. Root's own is usually closed to the
    embedded server's account; then it is the system's state directory.

    Raises:
        CrosscorpusError: CROSSCORPUS_HOME begins with the ``~`` of a user that is not there.
    """
    if chosen := os.environ.get("CROSSCORPUS_HOME", "").strip():
        try:
            return Path(chosen).expanduser().absolute()
        except RuntimeError:
            raise CrosscorpusError(
                f"CROSSCORPUS_HOME is {chosen!r}, and no such user has a home here: write its path"
            ) from None
    return _default_home(platformdirs.user_data_path("crosscorpus", appauthor=False))


@functools.cache
def _default_home(personal: Path) -> Path:
    if closed_parent(personal, server_account()) is None:
        return personal.absolute()
    shared = (
        platformdirs.site_data_path("crosscorpus", appauthor=False)
        if sys.platform == "darwin"
        else Path("/var/lib/crosscorpus")
    )
    if not shared.exists():
        log.warning(
            "data is kept in %s: Postgres does not run as root, and its account may not enter %s "
            "(CROSSCORPUS_HOME moves it)",
            shared,
            personal,
        )
    return shared
