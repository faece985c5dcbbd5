from __future__ import annotations

from typing import Any

import pytest

from operators.errors import UnknownName
from operators.postgres.inspect.version_topics import MEMBERS, TOPICS, lineage_named, topics
from operators.postgres.store import Store
from operators.postgres.write.document_writer import document_key

PLACE = """INSERT INTO document_versions (document_key, corpus, lineage_id, version, position,
    newest, indexed_at) VALUES (%s, 'docs', 'guide', %s, %s, %s, now())"""


@pytest.fixture
def versioned(store: Store, filling: Any) -> Store:
    """Two versions of one topic."""
    names = [("a", "1.9"), ("b", "1.10")]
    filling.write(
        store,
        [
            {"corpus": "docs", "document_id": d, "chunk_id": n, "path": f"{v}/guide.md"}
            for n, (d, v) in enumerate(names)
        ],
    )
    for place, (document, version) in enumerate(names):
        values = (document_key("docs", "", document), version, place, place == 1)
        store.run(lambda conn, values=values: conn.execute(PLACE, values))
    return store


def test_a_topic_says_how_many_versions_it_has_and_which_is_the_newest(versioned: Store) -> None:
    found = topics(versioned)
    assert found.schema == TOPICS
    row = found.row(0, named=True)
    assert (row["lineage_id"], row["versions"]) == ("guide", 2)
    assert (row["oldest"], row["newest"]) == ("1.9", "1.10")


@pytest.mark.parametrize(
    "name", ["guide", "a", "1.10/guide.md", " guide.md ", "~/handbook/1.9/guide.md", "GUI", "uid"]
)
def test_a_topic_is_named_by_itself_or_one_of_its_documents(versioned: Store, name: str) -> None:
    found = lineage_named(versioned, name)
    assert found.schema == MEMBERS
    assert found["version"].to_list() == ["1.9", "1.10"]


def test_a_name_that_no_topic_has_is_an_error(versioned: Store) -> None:
    with pytest.raises(UnknownName):
        lineage_named(versioned, "nothing like it")
