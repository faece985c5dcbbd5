from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from operators.foundation import extras
from operators.foundation.extras import installing

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
