"""The command as a user runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from operators.home import data_home

_NOT_PASSED_ON = {"HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "GH_TOKEN"}

Crosscorpus = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory of the module's own that has nothing but the models."""
    own = tmp_path_factory.mktemp("home")
    (own / "models").symlink_to(data_home() / "models")
    return own


@pytest.fixture(scope="module")
def crosscorpus(server_dsn: str, home: Path) -> Crosscorpus:
    """Runs the command with these arguments in a process of its own, on the tests' server.

    Further variables of its environment come by name.
    """
    own = {"CROSSCORPUS_DSN": server_dsn, "CROSSCORPUS_HOME": str(home), "COLUMNS": "220"}
    passed_on = {name: value for name, value in os.environ.items() if name not in _NOT_PASSED_ON}

    def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "dataflow", *arguments],
            env=passed_on | own | environment,
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )

    return run
