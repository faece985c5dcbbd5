from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from operators.postgres.server.file_locks import hold, is_held


def test_a_lock_is_held_until_its_descriptor_is_closed(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    held = hold(lock)
    assert is_held(lock)
    with pytest.raises(TimeoutError):
        hold(lock, timeout_s=0.05)
    os.close(held)
    assert not is_held(lock)


def test_those_who_share_a_lock_hold_it_together_and_keep_out_who_wants_it_alone(
    tmp_path: Path,
) -> None:
    lock = tmp_path / "lock"
    shared = [hold(lock, shared=True) for _ in range(2)]
    with pytest.raises(TimeoutError):
        hold(lock, timeout_s=0.0)
    for one in shared:
        os.close(one)
    alone = hold(lock)
    assert is_held(lock)
    os.close(alone)
    assert not is_held(lock)


def test_a_child_that_inherits_a_lock_holds_it_until_it_ends(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    held = hold(lock)
    child = subprocess.Popen(
        [sys.executable, "-c", "import sys; sys.stdin.read()"],
        stdin=subprocess.PIPE,
        pass_fds=(held,),
    )
    os.close(held)
    assert is_held(lock)
    child.kill()
    child.communicate()
    assert not is_held(lock)
