from __future__ import annotations

from typing import Any

import pytest

from operators.errors import CrosscorpusError
from operators.postgres.inspect.version_history import diff_versions, list_versions
from operators.postgres.store import Store
from operators.postgres.write.document_writer import document_key

PLACE = """INSERT INTO document_versions (document_key, corpus, lineage_id, version, position,
    newest, indexed_at) VALUES (%s, 'docs', 'guide', %s, %s, %s, now())"""
TEXTS = {
    "1.9": "The cache is flushed every 30 seconds by a timer of its own.",
    "1.10": "The cache is flushed every 60 seconds by a timer of its own.",
}


@pytest.fixture
def versioned(store: Store, filling: Any) -> Store:
    """Two versions of one document, of which one number differs."""
    rows = [
        {"corpus": "docs", "document_id": version, "chunk_id": n, "text": text, "path": version}
        for n, (version, text) in enumerate(TEXTS.items())
    ]
    filling.write(store, rows)
    for place, version in enumerate(TEXTS):
        values = (document_key("docs", "", version), version, place, place == 1)
        store.run(lambda conn, values=values: conn.execute(PLACE, values))
    return store


def test_each_version_says_what_became_of_the_passages_of_the_one_before(versioned: Store) -> None:
    first, second = list_versions(versioned, "guide").to_dicts()
    assert first["same"] is None
    assert (second["same"], second["revised"], second["gone"], second["new"]) == (0, 1, 0, 0)


def test_the_newest_is_compared_with_the_one_before_it(versioned: Store) -> None:
    found = diff_versions(versioned, "guide")
    assert (found.before["version"], found.after["version"]) == ("1.9", "1.10")
    assert len(found.changes) == 1


def test_a_version_that_a_topic_does_not_have_is_an_error(versioned: Store) -> None:
    with pytest.raises(CrosscorpusError, match=r"1\.11"):
        diff_versions(versioned, "guide", newer="1.11")
