"""The reply to a question of the command, which travels as JSON."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest

from dataflow import build_driver, load_config
from dataflow.cli.console.asking import reply_to
from operators.errors import CrosscorpusError
from operators.postgres.store import open_store

NOTHING = ("trigger", "repos", "language", "state", "path", "pattern", "as_of", "versions")
ASKED: dict[str, Any] = {
    "question": {"query": ["cache"], **dict.fromkeys(NOTHING), "corpora": ["code"], "top_k": 1},
    "changes": {},
    **dict.fromkeys(("words", "context", "timings", "json", "page", "explained"), False),
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
        assert told["out"].startswith(" 1  [code: src/cache.py:1-3]")
        assert "\x1b" not in told["out"]
        assert (told["page"], told["degraded"]) == (None, False)
        coloured = ask({**ASKED, "terminal": True})["out"]
        assert "\x1b[" in coloured
        assert len(json.loads(ask({**ASKED, "json": True})["out"])["results"]) == 1
        page = ask({**ASKED, "page": True, "explained": True})["page"]
        assert page.startswith("<!doctype html>")
        typed = {**ASKED["question"], "repos": ["ORG/APP"]}
        assert "taken for 'org/app'" in ask({**ASKED, "question": typed})["notes"][0]
        with pytest.raises(CrosscorpusError, match="--regex"):
            ask({**ASKED, "question": {**ASKED["question"], "pattern": "("}})
