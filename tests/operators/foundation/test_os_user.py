from __future__ import annotations

from pathlib import Path

from operators.foundation import os_user


def test_an_open_way_has_no_closed_parent(crosscorpus_home: Path) -> None:
    stranger = os_user.Account("stranger", 54321, 54321)
    assert os_user.closed_parent(crosscorpus_home / "not" / "there", stranger) is None
    crosscorpus_home.chmod(0o700)
    assert os_user.closed_parent(crosscorpus_home / "not", stranger) == crosscorpus_home
    assert os_user.closed_parent(crosscorpus_home, None) is None
