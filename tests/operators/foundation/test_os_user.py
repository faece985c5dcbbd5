from __future__ import annotations

from pathlib import Path

import pytest

from operators.foundation import os_user


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
