from pathlib import Path

import platformdirs
import pytest

from operators.errors import CrosscorpusError
from operators.foundation.data_dir import data_home
from operators.foundation.os_user import closed_parent, server_account


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
