"""A context over real documents: its best passages begin where their section does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl
import pytest

from dataflow import build_driver, load_config
from operators.postgres.store import drop_collection, open_store

COLLECTION = "whole-passages"
QUERY = "step 5 of the quorum"
FILLER = "More is said here about other things that nobody asked for, at some length. " * 5


@pytest.fixture(scope="module")
def ingested(crosscorpus: Any, server_dsn: str, tmp_path_factory: Any) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("pages")
    steps = "\n\n".join(f"{n}. Step {n} of the quorum. {FILLER}" for n in range(1, 9))
    about = "A quorum is what must agree before a write counts."
    page = (
        f"# Guide\n\n## Before\n\n{FILLER}\n\n## Quorum\n\n{about}\n\n{steps}\n\n## After\n\nEnd.\n"
    )
    (folder / "guide.md").write_text(page)
    for n in range(9):
        (folder / f"other{n}.md").write_text(f"# Other {n}\n\n{FILLER}\n")
    done = crosscorpus("ingest", "folder", str(folder), "-C", COLLECTION, "--wait", "words")
    assert done.returncode == 0, done.stderr
    yield COLLECTION
    drop_collection(server_dsn, COLLECTION)


@pytest.fixture(scope="module")
def over_pages(ingested: str, server_dsn: str, minilm: Any) -> Iterator[Any]:
    with (
        open_store(server_dsn, ingested) as store,
        build_driver(load_config("default"), ingested, store=store, embedder=minilm) as driver,
    ):
        yield driver


@pytest.fixture(scope="module")
def asked(over_pages: Any) -> Any:
    def ask(**inputs: Any) -> Any:
        wanted = ["packed", "context_order", "whole_passages", "dispositions", "citations"]
        return over_pages.execute(wanted, inputs={"query": QUERY, **inputs})

    return ask


def test_the_best_passage_begins_with_the_heading_that_explains_it(asked: Any) -> None:
    found = asked(grown_characters=5_000)
    before = found["context_order"].sort("rank").row(0, named=True)
    after = found["whole_passages"].sort("rank").row(0, named=True)
    assert "A quorum is what" not in before["text"]
    assert after["text"].startswith("## Quorum\n\nA quorum is what must agree")
    assert after["start_line"] < before["start_line"]
    assert "guide.md" in after["source_label"]
    assert after["chunk_id"] == before["chunk_id"]
    assert found["packed"]["entry"][0].endswith(after["text"])


def test_a_result_has_the_whole_passage_that_the_context_has(over_pages: Any, asked: Any) -> None:
    answer = over_pages.ask(QUERY, grown_characters=5_000)
    best = asked(grown_characters=5_000)["whole_passages"].sort("rank").row(0, named=True)
    assert answer[0].whole_text == best["text"]
    assert answer[0].whole_lines == (best["start_line"], best["end_line"])
    assert answer[0].text in answer[0].whole_text
    assert answer[0].text != answer[0].whole_text
    assert all(one.text in one.whole_text for one in answer)
    shallow = over_pages.ask(QUERY, context_depth=1, top_k=5)
    assert [one.whole_text == one.text for one in shallow][-1]


def test_a_result_inside_another_passage_is_explained_as_in_the_context(asked: Any) -> None:
    found = asked(grown_characters=5_000)
    parts = found["whole_passages"].sort("rank")["parts"][0].to_list()
    told = found["dispositions"].filter(pl.col("chunk_id").is_in(parts))
    assert told.height > 1
    assert set(told["disposition"]) == {"context"}


def test_a_single_chunk_between_two_hits_of_a_section_is_read_and_joined(
    over_pages: Any, asked: Any
) -> None:
    order = asked()["context_order"].filter(pl.col("anchor").str.ends_with("Quorum"))
    section = order.sort("start_line")
    apart = section[[0, 2]].with_columns(rank=pl.Series([0, 1], dtype=pl.UInt32))
    inputs = {"query": QUERY, "grown_passages": 0}
    out = over_pages.execute(["whole_passages"], inputs, overrides={"context_order": apart})
    joined = out["whole_passages"]["parts"].to_list()
    assert joined == [section["chunk_id"].head(3).to_list()]
