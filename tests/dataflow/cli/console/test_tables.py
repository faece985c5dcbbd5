"""What the commands print, draw and reply."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime
from functools import partial
from typing import Any

import polars as pl
import pytest

from dataflow import build_driver, load_config
from dataflow.cli.console.asking import reply_to
from dataflow.cli.console.version_tables import show_versions
from operators.errors import CrosscorpusError
from operators.postgres.store import open_store

NOTHING = ("trigger", "repos", "language", "state", "path", "pattern", "as_of", "versions")
ASKED: dict[str, Any] = {
    "question": {"query": ["cache"], **dict.fromkeys(NOTHING), "corpora": ["code"], "top_k": 1},
    "changes": {},
    **dict.fromkeys(("words", "brief", "context", "timings", "json", "page", "explained"), False),
    **{"width": 80, "terminal": False, "colour": True},
}


def test_a_reply_is_plain_data_in_the_shape_that_was_asked_for(
    server_dsn: str, collection: str
) -> None:
    settings = load_config("default")
    with open_store(server_dsn, collection) as store:
        ask = partial(
            reply_to, settings=settings, store=store, driver_of=partial(build_driver, store=store)
        )
        told = ask(json.loads(json.dumps(ASKED)))
        assert json.loads(json.dumps(told)) == told
        assert told["out"].startswith(" 1  [code: src/cache.py:1-3 flush_cache]")
        assert "\x1b" not in told["out"]
        assert (told["page"], told["degraded"]) == (None, False)
        coloured = ask({**ASKED, "terminal": True})["out"]
        assert "\x1b[" in coloured
        assert len(json.loads(ask({**ASKED, "json": True})["out"])["results"]) == 1
        page = ask({**ASKED, "page": True, "explained": True})["page"]
        assert page.startswith("<!doctype html>")
        typed = {**ASKED["question"], "repos": ["ORG/APP"]}
        assert "taken for 'org/app'" in ask({**ASKED, "question": typed})["out"]
        with pytest.raises(CrosscorpusError, match="--regex"):
            ask({**ASKED, "question": {**ASKED["question"], "pattern": "("}})


def test_only_the_graph_of_evaluation_needs_the_extra_that_measures() -> None:
    program = """
import sys

sys.modules["ir_measures"] = None
from dataflow import load_config
from dataflow.cli.console.graphs import draw_graph

for name in ("retrieval", "ingestion", "evaluation"):
    draw_graph(name, load_config("default"))
    print(name)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.split() == ["retrieval", "ingestion"]
    assert "ir_measures" in done.stderr


MEMBER = {
    "document_id": "a", "path": "docs/a.md", "title": "A",
    "released_at": datetime(2024, 5, 1, tzinfo=UTC),
}  # fmt: skip


def test_characters_that_steer_a_terminal_are_not_printed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    row: dict[str, Any] = {**MEMBER, "lineage_id": "a\x1b[2J", "corpus": "docs", "version": "1"}
    row |= {"date_source": "explicit", "passages": 3, "newest": True}
    show_versions(pl.DataFrame([row]))
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "1 newest" in out
    assert "2024-05-01 (explicit)" in out
