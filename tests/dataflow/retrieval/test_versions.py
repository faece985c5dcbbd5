"""Which version answers, from the question to the context, on a real server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from ingesting import ingest_documents
from word_embedder import WordEmbedder

from dataflow import RetrievalDriver, build_driver, load_config
from operators.context.passage_versions import NEWEST, OLDER
from operators.errors import CrosscorpusError
from operators.postgres.search import known_versions as stored
from operators.postgres.store import drop_collection, open_store

COLLECTION, SHARED = "versions", "versions-shared"
DATES = {"1.9": "2020-01-01", "1.10": "2021-01-01", "2.0": "2022-01-01"}
LIMITS = {"1.9": 100, "1.10": 250, "2.0": 900}
INTRO = "The cache keeps whatever was asked for lately, and forgets the rest when memory is short."
LIMIT = "A cache of at most {} entries is kept for each user of the machine by the server process."
SPOOLER = "Printing goes through the spooler on the second floor, which nobody has seen for years."


def words() -> Any:
    """A small embedding model whose window holds a page."""
    embedder = WordEmbedder("words-versions")
    embedder.max_tokens = 254
    return embedder


def page(version: str) -> dict[str, Any]:
    parts = {"Intro": INTRO, "Limits": LIMIT.format(LIMITS[version])}
    if version == "1.9":
        parts["Printing"] = SPOOLER
    return {
        "doc_id": f"{version}/cache",
        "corpus": "docs",
        "title": "The cache",
        "path": f"manual/{version}/cache.md",
        "version": version,
        "created_at": DATES[version],
        "doc_date": DATES[version],
        "text": "\n\n".join(f"# {name}\n\n{text}" for name, text in parts.items()),
    }


MINUTES = "The cache was given more entries at the meeting, as the machines are larger by now."
GUESTS = [
    {**page("1.9"), "repo": "guest", "doc_id": v, "version": v, "path": f"{v}/cache.md"}
    for v in ("7.7", "8.8")
]
PLAIN = {
    "doc_id": "minutes",
    "corpus": "docs",
    "path": "minutes.md",
    "created_at": "2021-09-01",
    "text": MINUTES,
}


def opened(
    server_dsn: str, folder: Path, collection: str, documents: list[dict[str, Any]]
) -> Iterator[RetrievalDriver]:
    file = folder / "documents.jsonl"
    file.write_text("".join(json.dumps(document) + "\n" for document in documents))
    embedder = words()
    with open_store(server_dsn, collection, create=True, max_size=2) as store:
        ingest_documents(store, embedder, file)
        # one changed number is no copy
        config = load_config().with_changes(
            {"variants": {"unique": "guarded", "deduped": "guarded"}}
        )
        with build_driver(config, collection, dsn=server_dsn, embedder=embedder) as built:
            yield built
        drop_collection(store.dsn, collection)


@pytest.fixture(scope="module")
def driver(server_dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RetrievalDriver]:
    folder = tmp_path_factory.mktemp("documents")
    yield from opened(server_dsn, folder, COLLECTION, [*map(page, DATES)])


@pytest.fixture(scope="module")
def shared(server_dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RetrievalDriver]:
    """A collection of two repositories, with a document that has no versions."""
    folder = tmp_path_factory.mktemp("documents")
    yield from opened(server_dsn, folder, SHARED, [*map(page, DATES), *GUESTS, PLAIN])


def versions(driver: RetrievalDriver, query: str, **inputs: Any) -> set[str]:
    found = driver.execute(["results"], inputs={"query": query, **inputs})["results"]
    return set(found.filter(pl.col("text").str.contains("entries"))["version"])


def said(driver: RetrievalDriver, query: str, **inputs: Any) -> list[str]:
    asked = {"query": query, "weak_below": 0, **inputs}
    notes = driver.execute(["context_notes"], inputs=asked)["context_notes"]
    return notes["note"].to_list()


LIMITS_QUESTION = "How many entries does the cache keep"


def test_the_newest_version_answers(driver: RetrievalDriver) -> None:
    assert versions(driver, f"{LIMITS_QUESTION}?") == {"2.0"}
    assert said(driver, f"{LIMITS_QUESTION}?") == []


@pytest.mark.parametrize(
    ("wording", "expected"),
    [
        (" in 1.9?", "1.9"),
        (" as of March 2021?", "1.10"),
    ],
)
def test_a_question_that_names_a_version_or_a_date_gets_it(
    driver: RetrievalDriver, wording: str, expected: str
) -> None:
    assert versions(driver, LIMITS_QUESTION + wording) == {expected}
    assert len(said(driver, LIMITS_QUESTION + wording)) == 1


def test_a_version_that_does_not_exist_gets_the_newest_and_a_note_of_those_that_do(
    driver: RetrievalDriver,
) -> None:
    assert versions(driver, f"{LIMITS_QUESTION} in 7.1.1?") == {"2.0"}
    assert said(driver, f"{LIMITS_QUESTION} in 7.1.1?") == [
        "version 7.1.1 is not here; there are 1.9, 1.10, 2.0"
    ]


CHANGES = """# Changes

## [2.0] - 2022-01-01

### Removed

- The cache of the client was removed.

## [1.10] - 2021-01-01

### Added

- The cache of the client has a limit.

### Removed

- The cache of the server was removed.

## [1.9] - 2020-01-01

### Removed

- The cache was removed from the client, the server and the cache of the cache.
"""


@pytest.fixture(scope="module")
def changelog(
    server_dsn: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RetrievalDriver]:
    news = {**PLAIN, "doc_id": "CHANGES.md", "path": "CHANGES.md", "text": CHANGES}
    folder = tmp_path_factory.mktemp("documents")
    yield from opened(server_dsn, folder, "versions-changelog", [news, PLAIN])


@pytest.mark.parametrize("inputs", [{}, {"versions": ["1.10"]}])
def test_a_release_that_is_asked_for_answers_alone_of_its_changelog(
    changelog: RetrievalDriver, inputs: dict[str, Any]
) -> None:
    question = "What was removed from the cache in version 1.10?" if not inputs else "removed cache"
    asked = {"query": question, **inputs}
    out = changelog.execute(["results", "notes"], inputs=asked)
    results = out["results"].filter(pl.col("path") == "CHANGES.md")
    assert "[docs: CHANGES.md (2021-01-01, v1.10) > [1.10] - 2021-01-01 > Added]" in set(
        results["source_label"]
    )
    assert set(results["version"]) == {"1.10"}
    assert out["results"]["path"][0] == "CHANGES.md"
    assert set(out["results"]["path"]) == {"CHANGES.md", "minutes.md"}
    assert any("answered for version 1.10" in note for note in out["notes"]["note"])


def test_no_release_of_a_changelog_is_outdated_or_hidden_by_a_newer_one(
    changelog: RetrievalDriver,
) -> None:
    results = changelog.execute(["results"], inputs={"query": "removed cache"})["results"]
    assert set(results["version"]) == {"2.0", "1.10", "1.9", None}
    assert results["last_version"].null_count() == results.height
    assert not results["source_label"].str.contains(f"{NEWEST}|{OLDER}").any()


def test_a_passage_that_only_an_old_version_has_stays_and_says_so(driver: RetrievalDriver) -> None:
    found = driver.execute(["results"], inputs={"query": "Which floor is the spooler on?"})
    (label,) = found["results"].filter(pl.col("text").str.contains("spooler"))["source_label"]
    assert label == "[docs: manual/1.9/cache.md (2020-01-01, only up to 1.9) > Printing]"


def found(shared: RetrievalDriver, query: str, **inputs: Any) -> set[str]:
    out = shared.execute(["results"], inputs={"query": query, "repos": [""], **inputs})
    return set(out["results"]["document_id"])


def test_a_date_in_a_question_hides_no_document_that_has_no_versions(
    shared: RetrievalDriver,
) -> None:
    dated = "What was decided about the entries of the cache in March 2021?"
    of_the_time = {"1.9/cache", "1.10/cache"}
    assert found(shared, dated) == {"minutes", *of_the_time}
    # a caller's date hides whatever is newer
    assert found(shared, dated, as_of=datetime(2021, 4, 1, tzinfo=UTC)) == of_the_time


def test_versions_that_a_caller_may_not_see_are_neither_told_nor_answered_for(
    shared: RetrievalDriver,
) -> None:
    question = f"{LIMITS_QUESTION}?"
    (absent,) = said(shared, question, versions="7.7", repos=[""])
    assert absent == "version 7.7 is not here; there are 1.9, 1.10, 2.0"
    (elsewhere,) = said(shared, f"{LIMITS_QUESTION} in version 2.0?", repos=["guest"])
    assert elsewhere == "version 2.0 is not here; there are 7.7, 8.8"
    assert "2.0/cache" in found(shared, question, versions="2.0")


def test_versions_that_the_configuration_forbids_are_not_told(
    shared: RetrievalDriver, server_dsn: str
) -> None:
    config = shared.config.with_changes({"corpora": {"docs": {"filters": {"repos": ["guest"]}}}})
    embedder = words()
    with build_driver(config, SHARED, dsn=server_dsn, embedder=embedder) as limited:
        (note,) = said(limited, LIMITS_QUESTION, versions="2.0")
    assert note == "version 2.0 is not here; there are 7.7, 8.8"


def test_a_lookup_of_versions_that_fails_is_no_version_that_does_not_exist(
    shared: RetrievalDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(store: Any) -> Any:
        raise TimeoutError("too slow")

    monkeypatch.setattr(stored, "known_versions", fails)
    question = f"{LIMITS_QUESTION}?"
    inputs = {"query": question, "versions": "1.10", "repos": [""]}
    out = shared.execute(["results", "notes", "provenance"], inputs=inputs)
    assert set(out["results"]["version"].drop_nulls()) == {"1.10"}
    told = "which versions there are could not be looked up: 1.10 is taken literally"
    assert told in out["notes"]["note"].to_list()
    assert told in out["provenance"]["degraded"]
    named = said(shared, f"{LIMITS_QUESTION} in 1.9?", repos=[""])
    assert named == ["which versions there are could not be looked up: the newest answer"]
    assert said(shared, question, repos=[""]) == []


COMMITS = "what changed in the entries of the cache"
CHOOSE = (
    "; since and until (--since, --until) choose other dates, and words in quotation marks are"
    " searched for"
)


def test_a_question_about_changes_is_answered_from_the_time_that_it_names(
    shared: RetrievalDriver,
) -> None:
    assert found(shared, f"{COMMITS} since September 2021") == {"minutes", "2.0/cache"}
    assert found(shared, f"{COMMITS} between May and September 2021?") == {"minutes"}
    note = f'read "since September 2021" as from 2021-09-01{CHOOSE}'
    assert note in said(shared, f"{COMMITS} since September 2021")


def test_a_time_without_a_passage_is_said_with_what_to_do(shared: RetrievalDriver) -> None:
    nothing = "nothing was found since 1999-01-01 until 1999-12-31, and what has no known date is"
    question = f"{COMMITS} in 1999"
    assert found(shared, question) == set()
    (note,) = [one for one in said(shared, question) if one.startswith("nothing")]
    assert note == f"{nothing} left out: choose other dates by since and until"


def test_a_date_of_the_caller_beats_the_words(shared: RetrievalDriver) -> None:
    question, since = f"{COMMITS} in 1999", datetime(2000, 1, 1, tzinfo=UTC)
    assert "minutes" in found(shared, question, since=since)
    assert not [one for one in said(shared, question, since=since) if one.startswith('read "')]


def test_each_question_of_a_batch_has_its_own_time(shared: RetrievalDriver) -> None:
    questions = [f"{COMMITS} {when}" for when in ("since v2.0", "in 2021", "")]
    batch = pl.DataFrame({"query_id": range(3), "text": questions})
    together = shared.execute(["results", "notes"], overrides={"queries": batch})
    for number, question in enumerate(questions):
        alone = shared.execute(["results", "notes"], inputs={"query": question})
        for name in ("results", "notes"):
            mine = together[name].filter(pl.col("query_id") == number).drop("query_id")
            assert mine.equals(alone[name].drop("query_id")), (question, name)


def test_a_changelog_gives_the_date_of_a_release(changelog: RetrievalDriver) -> None:
    since = "since 1.10"
    notes = said(changelog, f"what was removed {since}?")
    assert f'read "{since}" as from 2021-01-01{CHOOSE}' in notes
    inputs = changelog.question_inputs("cache", since="v1.9", until="1.10")
    assert inputs["since"] == datetime(2020, 1, 1, tzinfo=UTC)
    assert inputs["until"] == datetime(2021, 1, 1, 23, 59, 59, 999_999, tzinfo=UTC)
    assert inputs["read_as"] == [
        "since 'v1.9' was read as 2020-01-01, its date",
        "until '1.10' was read as 2021-01-01, its date",
    ]
    with pytest.raises(CrosscorpusError, match=r"until 'v7': .* is not known .*there are 1\.9, "):
        changelog.question_inputs("cache", until="v7")
