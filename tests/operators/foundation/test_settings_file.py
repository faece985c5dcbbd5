"""Another program's file, as somebody else may have left it."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.foundation.settings_file import (
    LARGEST,
    read_settings,
    read_strict_json,
    replace_settings,
)

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda of: st.lists(of) | st.dictionaries(st.text(), of),
)


@given(VALUES, st.sampled_from([None, 2]))
def test_plain_json_has_its_value(value: object, indent: int | None) -> None:
    assert read_strict_json(json.dumps(value, indent=indent).encode()) == value


@pytest.mark.parametrize("name", ["NaN", "Infinity", "-Infinity"])
def test_what_is_no_number_of_json_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} is no JSON"):
        read_strict_json(f'{{"a": [{name}]}}'.encode())


def test_a_key_that_is_there_twice_is_refused_at_any_depth() -> None:
    assert read_strict_json(b'[{"a": 1}, {"a": {"a": 2}}]') == [{"a": 1}, {"a": {"a": 2}}]
    with pytest.raises(ValueError, match="'b' is there twice"):
        read_strict_json(b'{"a": [{"b": 1, "c": {}, "b": 1}]}')


def test_a_large_file_is_refused_and_nothing_is_none(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    assert read_settings(file) is None
    file.touch()
    assert read_settings(file) == b""
    os.truncate(file, LARGEST + 1)
    with pytest.raises(ValueError, match="over 10,000,000 bytes"):
        read_settings(file)


def test_a_failed_write_leaves_the_file_and_nothing_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_bytes(b"old")
    with pytest.raises(TypeError):
        replace_settings(file, None, b"old")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        replace_settings(file, b"new", 1.0)  # type: ignore[arg-type]
    assert file.read_bytes() == b"old"
    assert [*tmp_path.iterdir()] == [file]


def test_a_file_and_its_backup_are_never_more_open_than_it_was(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_bytes(b"old")
    for mode in (0o600, 0o664, 0o4755):
        file.chmod(mode)
        backup = replace_settings(file, b"new", file.read_bytes())
        assert backup is not None
        for one in (file, backup):
            assert stat.S_IMODE(one.stat().st_mode) == mode & 0o777
