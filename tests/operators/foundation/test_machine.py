"""The machine around the program: folders, users, packages, memory and threads."""

from __future__ import annotations

import shlex
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import platformdirs
import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.errors import CrosscorpusError
from operators.foundation import extras, os_user
from operators.foundation.cancellation import Cancelled, Switch
from operators.foundation.data_dir import data_home
from operators.foundation.disk_dict import DiskDict, NoScratch
from operators.foundation.extras import installing
from operators.foundation.os_user import (
    child_environment,
    child_python,
    closed_parent,
    server_account,
)
from operators.postgres.store import Store


def test_the_environment_moves_the_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CROSSCORPUS_HOME", str(tmp_path / "elsewhere"))
    assert data_home() == tmp_path / "elsewhere"
    assert not data_home().exists()


@pytest.mark.parametrize("unset", ["", "  "])
def test_an_empty_setting_means_the_platform_default(
    monkeypatch: pytest.MonkeyPatch, unset: str
) -> None:
    monkeypatch.setenv("CROSSCORPUS_HOME", unset)
    personal = Path(platformdirs.user_data_dir("crosscorpus", appauthor=False))
    open_to_the_server = closed_parent(personal, server_account()) is None
    assert data_home() == personal or not open_to_the_server
    assert closed_parent(data_home(), server_account()) is None


def test_the_home_of_a_user_that_is_not_there_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CROSSCORPUS_HOME", "~nouser/x")
    with pytest.raises(CrosscorpusError, match="'~nouser/x', and no such user has a home here"):
        data_home()


def test_a_tilde_and_a_relative_path_become_absolute(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CROSSCORPUS_HOME", "~/here")
    assert data_home() == Path.home() / "here"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CROSSCORPUS_HOME", "here")
    assert data_home() == tmp_path / "here"


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


@pytest.mark.parametrize("path", [None, "."])
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


ROOT = Path(__file__).parents[3]


def test_a_checkout_is_installed_by_its_own_interpreter_from_any_folder() -> None:
    expected = [sys.executable, "-m", "pip", "install", "-e", f"{ROOT}[evaluate]"]
    assert shlex.split(installing("evaluate")) == expected


def test_elsewhere_the_project_is_named_and_a_path_with_a_blank_is_quoted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extras, "ROOT", tmp_path)
    monkeypatch.setattr(sys, "executable", "/my tools/python")
    assert installing("static") == "'/my tools/python' -m pip install 'crosscorpus[static]'"


KEYS = st.binary(max_size=4)
CHANGES = st.lists(st.tuples(st.sampled_from(["set", "delete", "default"]), KEYS, st.integers()))


@pytest.fixture
def held() -> Iterator[DiskDict[int]]:
    with closing(DiskDict[int]()) as made:
        yield made


@given(CHANGES, KEYS)
def test_it_is_a_dict_in_the_order_of_its_keys(
    changes: list[tuple[str, bytes, int]], prefix: bytes
) -> None:
    usual: dict[bytes, int] = {}
    with closing(DiskDict[int]()) as held:
        for change, key, value in changes:
            if change == "set":
                usual[key] = held[key] = value
            elif change == "default":
                assert usual.setdefault(key, value) == held.setdefault(key, value)
            else:
                assert usual.pop(key, None) == held.pop(key, None)
        assert list(held.items()) == sorted(usual.items())
        assert len(held) == len(usual)
        assert all(key in held for key in usual)
        found = [(key, value) for key, value in sorted(usual.items()) if key.startswith(prefix)]
        assert list(held.starting(prefix)) == found


def test_what_it_holds_takes_no_memory(held: DiskDict[int]) -> None:
    def put(start: int) -> int:
        held.update((b"%20d" % n, n) for n in range(start, start + 5_000))
        return sys.getallocatedblocks()

    first = put(0)
    assert put(5_000) - first < 100
    assert len(held) == 10_000


def test_a_full_disk_is_one_line_that_says_where(monkeypatch: pytest.MonkeyPatch) -> None:
    real = sqlite3.connect

    def small(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection = real(*arguments, **options)
        connection.execute("PRAGMA max_page_count = 3")
        return connection

    monkeypatch.setattr(sqlite3, "connect", small)
    with (
        closing(DiskDict[int]()) as held,
        pytest.raises(NoScratch, match="full; make room in the folder for temporary files"),
    ):
        held.update((b"%d" % n, n) for n in range(10_000))


def test_a_thrown_switch_stops_what_runs_and_refuses_what_would_begin() -> None:
    switch, stopped = Switch(), threading.Event()
    with switch.stopping_by(stopped.set):
        with switch.stopping_by(lambda: pytest.fail("it had ended before")):
            pass
        thrower = threading.Thread(target=switch.throw)
        thrower.start()
        assert stopped.wait(5)
    thrower.join(5)
    assert not thrower.is_alive()
    with pytest.raises(Cancelled), switch.stopping_by(lambda: None):
        raise AssertionError("it began")


def test_what_can_not_be_stopped_does_not_keep_the_others_running() -> None:
    switch, stopped = Switch(), threading.Event()

    def lost() -> None:
        raise OSError("the connection is lost")

    with switch.stopping_by(lost), switch.stopping_by(stopped.set):
        threading.Thread(target=switch.throw).start()
        assert stopped.wait(5)


def test_what_a_stop_did_not_reach_is_stopped_again(store: Store) -> None:
    """The stop comes between two statements; a server that does nothing then forgets it."""
    switch = Switch()
    with store.transaction() as conn, switch.stopping_by(conn.cancel_safe):
        conn.execute("SELECT 1")
        thrower = threading.Thread(target=switch.throw)
        thrower.start()
        time.sleep(0.05)
        with pytest.raises(psycopg.errors.QueryCanceled):
            conn.execute("SELECT pg_sleep(20)")
    thrower.join(5)
    assert not thrower.is_alive()


def test_a_stop_ends_before_the_block_does() -> None:
    """Else a statement of the next user of a connection would be stopped."""
    switch, order = Switch(), list[str]()

    def stop() -> None:
        time.sleep(0.1)
        order.append("stopped")

    with switch.stopping_by(stop):
        thrower = threading.Thread(target=switch.throw)
        thrower.start()
        while not switch.thrown:
            time.sleep(0.001)
    order.append("block ended")
    thrower.join()
    assert order == ["stopped", "block ended"]
