"""A stream of PyAirbyte without Docker and without the registry of connectors: source-faker."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("airbyte", reason="it needs: make test-services")
if not Path(os.environ.get("SOURCE_FAKER", "")).is_file():
    pytest.skip("SOURCE_FAKER names no program: make test-services", allow_module_level=True)

MAP = """
about: people of Airbyte's source-faker
documents:
  - corpus: wiki
    key: to_string(id)
    title: name
    text: join(' ', [name, occupation, address.city])
    created_at: created_at
"""


def test_a_stream_of_airbyte_loses_no_record_at_the_first_look(
    ingest: Callable[..., Any], documents: Callable[..., Any], tmp_path: Path
) -> None:
    own = tmp_path / "people.yaml"
    own.write_text(MAP)
    # a process of its own: PyAirbyte reads its settings as it is imported
    how = ("svc-people", "python:desks:faker", "--map", str(own))
    report = ingest(*how, own_process=True, count=300)
    assert report["code"] == 0, report
    assert report["documents_new"] == 300, report
    again = ingest(*how, own_process=True, count=300)  # its seed does not repeat every person
    assert again["documents_new"] == 0, again
    assert again["documents_unchanged"] + again["documents_changed"] == 300, again
    assert documents("svc-people")["1"]["created_at"] is not None
