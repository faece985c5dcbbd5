from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from operators.errors import CrosscorpusError
from operators.postgres.exchange.manifest import MANIFEST, Manifest, read_manifest

HEAD: dict[str, Any] = {
    "format": 1,
    "name": "team",
    "model": None,
    "space": None,
    "dimensions": None,
    "migrations": ["0001_collection.sql"],
    "rows": {"chunks": 0},
}


def test_a_manifest_comes_back_as_it_was_written(tmp_path: Path) -> None:
    manifest = Manifest(**HEAD)
    (tmp_path / MANIFEST).write_text(manifest.model_dump_json())
    assert read_manifest(tmp_path) == manifest


def test_a_folder_without_a_manifest_is_no_complete_export(tmp_path: Path) -> None:
    with pytest.raises(CrosscorpusError, match=r"no complete export: it has no collection\.json"):
        read_manifest(tmp_path)


@pytest.mark.parametrize("version", [2, 99])
def test_a_newer_format_is_refused_whatever_else_it_says(tmp_path: Path, version: int) -> None:
    (tmp_path / MANIFEST).write_text(json.dumps({"format": version}))
    with pytest.raises(CrosscorpusError, match=f"newer version .format {version}.: upgrade"):
        read_manifest(tmp_path)


@pytest.mark.parametrize(
    "text",
    [b"", b"{", b"\xff\xfe", b"[]", b"null", b"{}", json.dumps(HEAD).encode()[:-9]]
    + [
        json.dumps(HEAD | wrong).encode()
        for wrong in ({"format": 0}, {"format": "x"}, {"dimensions": -1}, {"rows": {"chunks": -1}})
    ],
)
def test_a_damaged_manifest_is_an_error_of_one_line(tmp_path: Path, text: bytes) -> None:
    (tmp_path / MANIFEST).write_bytes(text)
    with pytest.raises(CrosscorpusError, match="is damaged") as refused:
        read_manifest(tmp_path)
    assert "\n" not in str(refused.value)
