from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from dataflow.ingestion import ingest_documents, ingest_folder, ingest_git
from dataflow.ingestion import version_discovery as step
from dataflow.ingestion.version_discovery import find_versions
from operators.frames import SCOPED_QUERIES
from operators.postgres.search.text_search import bm25_search
from operators.postgres.store import Store
from operators.postgres.write.version_store import known_versions

INTRO = "The cache keeps whatever was asked for lately, and forgets the rest when memory is short."
LIMIT = "A cache of at most {} entries is kept for each user of the machine by the server process."
ODD = "Printing goes through the spooler on the second floor, which nobody has seen for years."
FILLER = (
    "An unrelated paragraph about the weather in the mountains where snow fell all of the night."
)

Write = Callable[..., Path]


def _page(
    version: str, *parts: str, date: str | None = None, name: str = "cache"
) -> dict[str, Any]:
    row = {
        "doc_id": f"{version}/{name}",
        "corpus": "docs",
        "title": f"The {name}",
        "path": f"manual/{version}/{name}.md",
        "version": version,
        "text": "\n\n".join(f"# Part {part[:12]}\n\n{part}" for part in parts),
    }
    return row | ({"created_at": date} if date else {})


OLD = _page("1.9", INTRO, LIMIT.format(100), ODD, date="2020-01-01")
NEW = _page("1.10", INTRO, LIMIT.format(250), date="2021-01-01")


def _superseded(store: Store) -> list[tuple[Any, ...]]:
    return store.run(
        lambda conn: conn.execute(
            "SELECT c.version, s.relation, left(n.text, 5), s.superseded_at::date::text,"
            " s.last_version FROM superseded_chunks s JOIN chunks c USING (corpus, chunk_id)"
            " LEFT JOIN chunks n ON n.corpus = s.corpus AND n.chunk_id = s.by_chunk"
            " ORDER BY c.version, c.ordinal"
        ).fetchall()
    )


@pytest.fixture
def small(new_embedder: Any) -> Any:
    """An embedder whose window holds one part of a page."""
    embedder = new_embedder()
    embedder.max_tokens = 30
    return embedder


def test_a_run_says_what_became_of_each_old_passage(
    store: Store, small: Any, write_lines: Write
) -> None:
    ingest_documents(store, small, write_lines(OLD, NEW))
    assert known_versions(store)["version"].to_list() == ["1.9", "1.10"]
    rows = _superseded(store)
    assert {row[1] for row in rows} == {"same", "revised", "gone"}
    assert {row[0] for row in rows} == {"1.9"}
    assert {row[3] for row in rows} == {"2021-01-01"}
    assert {row[4] for row in rows if row[1] == "gone"} == {"1.9"}


def test_a_section_that_only_an_old_version_has_is_no_revision_of_its_neighbour(
    store: Store, new_embedder: Any, write_lines: Write
) -> None:
    ingest_documents(store, new_embedder(), write_lines(OLD, NEW))  # a page fits the window
    assert [row[1] for row in _superseded(store)] == ["same", "revised", "gone"]


def test_a_date_in_front_matter_is_no_revision(
    store: Store, new_embedder: Any, write_lines: Write
) -> None:
    old, new = (_page(version, INTRO) for version in ("1.9", "1.10"))
    old["text"] = f"---\ndate: 2020-01-01\n---\n\n{old['text']}"
    new["text"] = f"---\ndate: 2021-01-01\n---\n\n{new['text']}"
    ingest_documents(store, new_embedder(), write_lines(old, new))
    assert {row[1] for row in _superseded(store)} == {"same"}


def test_the_server_plans_searches_by_how_many_passages_are_superseded(
    store: Store, small: Any, write_lines: Write
) -> None:
    ingest_documents(store, small, write_lines(OLD, NEW))
    counted = "SELECT reltuples FROM pg_class WHERE oid = 'superseded_chunks'::regclass"
    assert store.run(lambda conn: conn.execute(counted).fetchone()) == (len(_superseded(store)),)


def test_the_same_input_again_compares_nothing(
    store: Store, small: Any, write_lines: Write
) -> None:
    ingest_documents(store, small, write_lines(OLD, NEW))
    assert find_versions(store) == step.VersionsFound()


def test_a_new_version_joins_and_only_its_topic_is_compared(
    store: Store, small: Any, write_lines: Write
) -> None:
    others = [_page("1.9", FILLER, name="weather"), _page("1.10", FILLER, ODD, name="weather")]
    ingest_documents(store, small, write_lines(OLD, NEW, *others))
    newer = _page("1.11", INTRO, date="2022-01-01")
    seen: list[tuple[int, int]] = []
    original = step.find_versions
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "dataflow.ingestion.finish.find_versions",
            lambda store, _: original(store, lambda *done: seen.append(done)),
        )
        ingest_documents(store, small, write_lines(OLD, NEW, *others, newer))
    assert seen == [(1, 1)]
    newest = known_versions(store).filter("newest")["version"].to_list()
    assert sorted(newest) == ["1.10", "1.11"]


def test_a_deleted_newest_version_leaves_the_one_before_it_current(
    store: Store, small: Any, write_lines: Write
) -> None:
    other = _page("1.10", FILLER, name="weather")
    ingest_documents(store, small, write_lines(OLD, NEW, other))
    ingest_documents(store, small, write_lines(OLD, other), prune=True, allow_mass_delete=True)
    assert known_versions(store).is_empty()
    assert _superseded(store) == []


def test_a_document_written_anew_is_compared_anew(
    store: Store, small: Any, write_lines: Write
) -> None:
    ingest_documents(store, small, write_lines(OLD, NEW))
    ingest_documents(store, small, write_lines(OLD, NEW | {"text": f"# Part\n\n{FILLER}"}))
    relations = {row[1] for row in _superseded(store)}
    assert "gone" in relations
    assert "same" not in relations


def test_a_run_killed_before_its_versions_were_found_is_made_good_by_the_next(
    store: Store, small: Any, write_lines: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("dataflow.ingestion.version_discovery.write_lineages", killed)
        with pytest.raises(KeyboardInterrupt):
            ingest_documents(store, small, write_lines(OLD, NEW))
    assert known_versions(store).is_empty()
    ingest_documents(store, small, write_lines(OLD, NEW))
    assert known_versions(store)["newest"].to_list() == [False, True]


def test_other_rules_mean_another_look_at_everything(
    store: Store, small: Any, write_lines: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest_documents(store, small, write_lines(OLD, NEW))
    monkeypatch.setattr(step, "RULES", step.RULES + 1)
    assert find_versions(store).compared == 1
    assert find_versions(store).compared == 0


def test_a_passage_is_superseded_from_the_first_date_that_a_later_version_has(
    store: Store, small: Any, write_lines: Write
) -> None:
    pages = [
        _page("16", INTRO, FILLER, date="2021-01-01"),
        _page("18", INTRO, FILLER, date="2025-03-27"),
        _page("22", INTRO, FILLER, date="2025-02-11"),
    ]
    ingest_documents(store, small, write_lines(*pages))
    assert {(row[0], row[3]) for row in _superseded(store)} == {
        ("16", "2025-02-11"),
        ("18", "2025-02-11"),
    }


def test_code_in_folders_v1_and_v2_is_no_topic_with_versions(
    store: Store, small: Any, write_lines: Write
) -> None:
    files = [
        {"doc_id": f"v{n}", "corpus": "code", "path": f"api/v{n}/h.py", "text": f"def f(): {INTRO}"}
        for n in (1, 2)
    ]
    ingest_documents(store, small, write_lines(*files))
    assert known_versions(store).is_empty()


def test_verify_finds_versions_of_an_earlier_ledger_and_makes_them_good(
    store: Store, small: Any, write_lines: Write
) -> None:
    ingest_documents(store, small, write_lines(OLD, NEW))
    assert step.verify_versions(store).is_empty()
    store.run(lambda conn: conn.execute("UPDATE documents SET indexed_at = now()"))
    assert step.verify_versions(store)["kind"].to_list() == ["stale_versions"]
    assert step.verify_versions(store, repair=True)["repaired"].all()
    assert step.verify_versions(store).is_empty()


def test_verify_finds_rows_of_chunks_that_are_gone(
    store: Store, small: Any, write_lines: Write
) -> None:
    ingest_documents(store, small, write_lines(OLD, NEW))
    before = _superseded(store)
    store.run(
        lambda conn: conn.execute(
            "UPDATE superseded_chunks SET by_chunk = 17 WHERE by_chunk IS NOT NULL"
        )
    )
    assert step.verify_versions(store, repair=True)["kind"].to_list() == ["wrong_versions"]
    assert step.verify_versions(store).is_empty()
    assert _superseded(store) == before


def _seen(store: Store, *moments: str) -> list[list[tuple[str, str]]]:
    """Version and last word of what a search sees at each of these days."""
    rows = [
        {
            "query_id": n,
            "texts": ["word"],
            "version_policy": "newest",
            "as_of": datetime.fromisoformat(moment).replace(tzinfo=UTC),
        }
        for n, moment in enumerate(moments)
    ]
    found = bm25_search(store, "docs", pl.DataFrame(rows, schema=SCOPED_QUERIES), k=50)
    said = {
        row[0]: (row[1], row[2].split()[-1])
        for row in store.run(
            lambda conn: conn.execute(
                "SELECT c.chunk_id, coalesce(v.version, ''), c.text FROM chunks c"
                " LEFT JOIN document_versions v USING (document_key)"
            ).fetchall()
        )
    }
    return [
        sorted(said[chunk] for chunk in found.filter(pl.col("query_id") == n)["chunk_id"])
        for n in range(len(moments))
    ]


def test_a_version_that_was_committed_after_its_date_replaces_from_its_commit_on(
    store: Store, small: Any, tmp_path: Path
) -> None:
    def git(*arguments: str, date: str = "2024-01-01") -> None:
        stamp = f"{date}T00:00:00Z"
        when = {"GIT_AUTHOR_DATE": stamp, "GIT_COMMITTER_DATE": stamp}
        identity = ("-c", "user.name=A", "-c", "user.email=a@example.org")
        command = ["git", "-C", str(tmp_path), *identity, *arguments]
        subprocess.run(command, check=True, capture_output=True, env={**os.environ, **when})

    git("init", "-q")
    for name, stated, committed in (
        ("v1", "2024-01-01", "2024-01-01"), ("v2", "2024-02-01", "2024-03-01"),
    ):  # fmt: skip
        page = tmp_path / "docs" / name / "guide.md"
        page.parent.mkdir(parents=True)
        page.write_text(f"---\ndate: {stated}\n---\n# Guide\n\n{INTRO} A word: {name}\n")
        git("add", ".")
        git("commit", "-q", "-m", name, date=committed)
    ingest_git(store, small, tmp_path)
    assert _seen(store, "2024-01-15", "2024-02-15", "2024-03-15") == [
        [("1", "v1")], [("1", "v1")], [("2", "v2")],
    ]  # fmt: skip


def test_versions_whose_files_are_dated_against_their_order_replace_from_those_dates_on(
    store: Store, small: Any, tmp_path: Path, make_pdf: Callable[..., bytes]
) -> None:
    for version, date in (("1.0", "20230101"), ("2.0", "20230601"), ("3.0", "20230301")):
        file = tmp_path / f"v{version}" / "guide.pdf"
        file.parent.mkdir()
        file.write_bytes(make_pdf([f"{INTRO} A word: {version[0]}"], info={"ModDate": f"D:{date}"}))
    ingest_folder(store, small, tmp_path)
    assert _seen(store, "2022-12-01", "2023-02-01", "2023-04-01", "2023-07-01") == [
        [], [("1.0", "1")], [("3.0", "3")], [("3.0", "3")],
    ]  # fmt: skip


def test_a_passage_that_comes_again_is_replaced_by_the_version_that_has_it_and_not_before(
    store: Store, small: Any, write_lines: Write
) -> None:
    again = f"{ODD} One more word: again"
    pages = [
        _page("1.0", f"{INTRO} word: one", again, date="2020-01-01"),
        _page("2.0", f"{INTRO} word: two", date="2021-01-01"),
        _page("3.0", f"{INTRO} word: three", again, date="2022-01-01"),
        _page("4.0", f"{INTRO} word: four", again, date="2023-01-01"),
    ]
    for known in range(2, 5):
        ingest_documents(store, small, write_lines(*pages[:known]))
        seen = _seen(store, "2020-06-01", "2021-06-01", "2022-06-01", "2023-06-01")
        assert seen[:known] == [
            [("1.0", "again"), ("1.0", "one")],
            [("1.0", "again"), ("2.0", "two")],
            [("3.0", "again"), ("3.0", "three")],
            [("4.0", "again"), ("4.0", "four")],
        ][:known]  # fmt: skip
