"""Packages that lie in a folder as an installation leaves them: code, and metadata beside it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from operators.errors import CrosscorpusError
from operators.foundation.plugins import plugin, plugin_names


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str, str], None]:
    monkeypatch.syspath_prepend(str(tmp_path))

    def installed(package: str, entry_points: str, code: str) -> None:
        (tmp_path / f"{package}.py").write_text(code)
        info = tmp_path / f"{package}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(entry_points)

    return installed


def test_a_package_brings_objects_by_name_and_is_imported_when_one_is_asked_for(
    install: Callable[[str, str, str], None], tmp_path: Path
) -> None:
    code = f"from pathlib import Path\nPath({str(tmp_path / 'imported')!r}).touch()\nX = 7\n"
    install("plug_a", "[crosscorpus.embedders]\nseven = plug_a:X\n", code)
    assert "seven" in plugin_names("embedders")
    assert "seven" not in plugin_names("rerankers")
    assert plugin("embedders", "eight") is plugin("rerankers", "seven") is None
    assert not (tmp_path / "imported").exists()
    assert plugin("embedders", "seven") == 7
    assert (tmp_path / "imported").exists()


def test_a_package_that_does_not_import_and_a_name_of_two_packages_are_said_by_name(
    install: Callable[[str, str, str], None],
) -> None:
    install("plug_b", "[crosscorpus.nodes]\nbad = plug_b\ntwice = plug_b:X\n", "import no_such")
    install("plug_c", "[crosscorpus.nodes]\ntwice = plug_c:X\n", "X = 1")
    with pytest.raises(CrosscorpusError, match=r"'bad' of plug_b .* No module named 'no_such'"):
        plugin("nodes", "bad")
    with pytest.raises(CrosscorpusError, match=r"several packages have nodes 'twice': plug_[bc], "):
        plugin("nodes", "twice")
