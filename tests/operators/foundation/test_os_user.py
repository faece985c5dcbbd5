from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from operators.foundation import os_user
from operators.foundation.os_user import child_environment, child_python


def test_an_open_way_has_no_closed_parent(crosscorpus_home: Path) -> None:
    stranger = os_user.Account("stranger", 54321, 54321)
    assert os_user.closed_parent(crosscorpus_home / "not" / "there", stranger) is None
    crosscorpus_home.chmod(0o700)
    assert os_user.closed_parent(crosscorpus_home / "not", stranger) == crosscorpus_home
    assert os_user.closed_parent(crosscorpus_home, None) is None


def test_a_link_in_the_place_of_a_directory_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir(mode=0o755)
    (tmp_path / "log").symlink_to(tmp_path / "mine")
    with pytest.raises(OSError, match=r"Not a directory|symbolic links"):
        os_user.give(tmp_path / "log", None)
    assert (tmp_path / "mine").stat().st_mode & 0o777 == 0o755
    os_user.give(tmp_path / "mine", None)
    assert (tmp_path / "mine").stat().st_mode & 0o777 == 0o700


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
