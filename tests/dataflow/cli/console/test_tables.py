"""What the commands print, draw and reply."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from dataflow import build_driver, load_config
from dataflow.cli.console import evaluation_tables, terminal
from dataflow.cli.console.asking import reply_to
from dataflow.cli.console.collection_state import (
    CollectionState,
    show_findings,
    show_migration,
    show_models,
    show_status,
    show_verification,
)
from dataflow.cli.console.evaluation_tables import batch_progress, show_sweep
from dataflow.cli.console.graphs import draw_graph
from dataflow.cli.console.version_tables import diff_as_json, show_diff, show_topics, show_versions
from dataflow.cli.doctor import Finding
from dataflow.evaluation.sweep import Sweep
from dataflow.ingestion.model_migration import ModelMigrationReport
from dataflow.visualization.dot import to_dot
from dataflow.visualization.png import RenderError
from operators.embedding.minilm import ModelStatus
from operators.errors import CrosscorpusError
from operators.postgres.inspect.status import STATUS, UNREAD
from operators.postgres.inspect.version_history import COUNTED, VersionDiff
from operators.postgres.store import open_store
from operators.versions.version_diff import Change

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


@pytest.mark.parametrize(
    ("model", "in_use", "told"),
    [
        ("minilm", True, []),
        ("onnx:my model", False, []),
        (
            "onnx:my model",
            True,
            [
                "from now on: query ... --config FILE.yaml",
                "             ingest ... --model 'onnx:my model'",
                "FILE.yaml has two lines: extends: default, and embedding: onnx:my model",
            ],
        ),
    ],
)
def test_a_migration_tells_what_names_a_model_that_is_not_the_default_one(
    model: str, in_use: bool, told: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    show_migration(ModelMigrationReport(model, in_use=in_use), model)
    assert capsys.readouterr().out.splitlines()[1:] == told


def test_a_failed_check_stands_out(capsys: pytest.CaptureFixture[str]) -> None:
    show_findings([Finding("model", True, "minilm"), Finding("server", False, "no answer")])
    assert capsys.readouterr().out.splitlines() == [
        "ok    model: minilm",
        "FAIL  server: no answer",
    ]


def test_a_status_of_80_columns_shows_every_heading_and_number_whole(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminal.OUT, "width", 80)
    day = datetime(2024, 5, 1, tzinfo=UTC)
    held = {name: None if kind == pl.String else 0 for name, kind in STATUS.items()}
    held |= {"corpus": "documentation", "documents": 10_123_456, "chunks": 123_456_789}
    held |= dict.fromkeys(("oldest", "newest", "last_run", "indexed_at"), day)
    held |= {"bytes": 123_456_700_000, "vector_index": True, "reasons": [], "notes": []}
    held |= {"last_run_source": "git/2 organisation/application", "last_run_state": "ok"}
    store: Any = SimpleNamespace(collection="team", dsn="host=db", replica=False)
    info: Any = SimpleNamespace(model=None, dimensions=None, space=None, repos={})
    corpora = pl.DataFrame([held], schema=STATUS)
    show_status(CollectionState(store, info, corpora, pl.DataFrame(schema=UNREAD), None, []))
    out = capsys.readouterr().out
    for whole in ("documents", "chunks", "vectors", "10,123,456", "123,456,789", "123456.7"):
        assert whole in out
    assert "git/2 organisation/application ok" in out
    assert "…" not in out


def test_what_verify_found_is_one_line_each_and_many_are_counted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    columns = ("kind", "corpus", "repo", "document_id", "says", "repaired")
    rows = [("lost_chunks", "wiki", "", f"d{n}", "has\n2", False) for n in range(23)]
    show_verification(pl.DataFrame(rows, schema=columns, orient="row"))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == r"found     lost_chunks  wiki d0: has\n2"
    assert lines[20:] == [
        "... and 3 more (--json lists all)",
        "put it right with: crosscorpus verify --repair",
    ]


def test_what_was_repaired_comes_back_by_ingesting_its_source(
    capsys: pytest.CaptureFixture[str],
) -> None:
    columns = ("kind", "corpus", "repo", "document_id", "says", "repaired")
    row = ("lost_chunks", "wiki", "", "d", "has 2", True)
    show_verification(pl.DataFrame([row], schema=columns, orient="row"))
    assert "come back when their source is ingested again" in capsys.readouterr().out


def test_a_model_that_cannot_be_used_is_shown_with_the_reason(
    capsys: pytest.CaptureFixture[str],
) -> None:
    damaged = ModelStatus("minilm", "damaged", Path("models") / "minilm", 22_000_000, "wrong hash")
    show_models([damaged])
    assert capsys.readouterr().out == "minilm: damaged, 22.0 MB (wrong hash)  models/minilm\n"


def sweep(*differences: float) -> Sweep:
    rows = [
        {"rrf_k": k, "measure": "nDCG@10", "mean": 0.5 + d, "low": 0.4, "high": 0.6,
         "difference": d, "p_corrected": 0.01 if d else 1.0}
        for k, d in enumerate(differences)
    ]  # fmt: skip
    return Sweep(("rrf_k",), 7, pl.DataFrame(rows), pl.DataFrame(), {"nDCG@10": 0.5})


def test_a_sweep_is_a_table_for_each_measure_with_a_star_where_the_change_is_no_luck(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show_sweep(sweep(0.0, 0.1), [Path("sweep.csv")])
    out = capsys.readouterr().out
    assert "nDCG@10, 7 queries; as configured 0.500" in out
    assert "+.100 *" in out
    assert "no combination changed" not in out
    assert out.rstrip().endswith("sweep.csv")


def test_a_sweep_that_changed_nothing_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    show_sweep(sweep(0.0, 0.0), [])
    assert "note: no combination changed a measure" in capsys.readouterr().out


def test_a_short_run_says_nothing_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with batch_progress(["default"], 3) as on_batch:
        on_batch("default", 2)
    assert capsys.readouterr() == ("", "")


def test_a_long_run_says_without_a_terminal_how_far_it_is_and_how_long_it_takes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    for module in (terminal, evaluation_tables):
        monkeypatch.setattr(module, "monotonic", lambda: now[0])
    with batch_progress(["default", "rrf"], 4) as on_batch:
        for now[0], name, more in ((20.0, "default", 4), (22.0, "rrf", 2), (35.0, "rrf", 1)):
            on_batch(name, more)
    out, err = capsys.readouterr()
    assert err.splitlines() == [
        "default 50%: 4 of 4 queries, about 20 s left",
        "rrf 88%: 3 of 4 queries, about 5 s left",
    ]
    assert out == ""


@pytest.mark.parametrize(
    ("name", "node"),
    [("retrieval", "fused"), ("ingestion", "chunks"), ("evaluation", "comparison")],
)
def test_each_of_the_three_graphs_is_drawn_by_its_name(name: str, node: str) -> None:
    assert f'"{node}"' in to_dot(draw_graph(name, load_config("default")))


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


def test_another_graph_is_an_error_with_the_nearest_name() -> None:
    with pytest.raises(RenderError, match="did you mean 'retrieval'"):
        draw_graph("retreival", load_config("default"))


MEMBER = {
    "document_id": "a", "path": "docs/a.md", "title": "A",
    "released_at": datetime(2024, 5, 1, tzinfo=UTC),
}  # fmt: skip
CHANGES = [
    Change("revised", "Limits", "At most 100 entries.", "At most 250 entries."),
    Change("added", "Limits", None, "The oldest go first."),
]


@pytest.fixture
def diff() -> VersionDiff:
    return VersionDiff("docs/a.md", MEMBER | {"version": "1"}, MEMBER | {"version": None}, CHANGES)


def test_a_diff_marks_what_went_and_came_under_its_heading_once(
    diff: VersionDiff, capsys: pytest.CaptureFixture[str]
) -> None:
    show_diff(diff)
    lines = [line for line in capsys.readouterr().out.splitlines() if line]
    assert lines == [
        "docs/a.md: 1 -> none",
        "Limits",
        "revised",
        "At most [-100-]{+250+} entries.",
        "added",
        "{+The oldest go first.+}",
        "1 added, 0 removed, 1 revised",
    ]


def test_a_diff_as_json_has_the_words_of_revised_paragraphs_alone(diff: VersionDiff) -> None:
    revised, added = diff_as_json(diff)["changes"]
    assert ["-", "100"] in revised["words"]
    assert added["words"] is None


def test_characters_that_steer_a_terminal_are_not_printed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    row: dict[str, Any] = {**MEMBER, "lineage_id": "a\x1b[2J", "corpus": "docs", "version": "1"}
    row |= {"date_source": "explicit", "passages": 3, "newest": True} | dict.fromkeys(
        (*COUNTED, "continues")
    )
    show_versions(pl.DataFrame([row]))
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "1 newest" in out
    assert "2024-05-01 (explicit)" in out


def test_no_topic_at_all_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    show_topics(pl.DataFrame())
    assert capsys.readouterr().out == "no document has a second version here\n"
