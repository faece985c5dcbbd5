"""A child process of Python, started where a hostile folder is the working folder."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from operators.foundation.child_python import child_environment, child_python


@pytest.mark.parametrize("path", [None, "", ":", ".", "relative:", ":/nowhere:"])
def test_no_module_of_the_working_folder_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str | None
) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    for folder in (ours, theirs):
        folder.mkdir()
    for name in ("dataflow/__init__.py", "dataflow/__main__.py", "typer.py", "psycopg.py"):
        file = theirs / name
        file.parent.mkdir(exist_ok=True)
        file.write_text("raise SystemExit('code of the folder ran')")
    (theirs / "relative").symlink_to(theirs)
    monkeypatch.chdir(ours)
    if path is None:
        monkeypatch.delenv("PYTHONPATH", raising=False)
    else:
        monkeypatch.setenv("PYTHONPATH", path)
    for arguments in (("-m", "dataflow", "--help"), ("-c", "import typer, psycopg")):
        command = child_python(*arguments)
        done = subprocess.run(
            command, cwd=theirs, env=child_environment(), capture_output=True, text=True
        )
        assert (done.returncode, "of the folder ran" in done.stderr) == (0, False), done.stderr


def test_a_relative_folder_of_the_import_path_stays_the_one_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/own_model.py").write_text("print('found')")
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", "mine")
    command, elsewhere = child_python("-c", "import own_model"), tmp_path / "other"
    done = subprocess.run(command, cwd=elsewhere, env=child_environment(), capture_output=True)
    assert done.stdout.strip() == b"found"
