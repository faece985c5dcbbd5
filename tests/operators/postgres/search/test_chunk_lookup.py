from __future__ import annotations

from typing import Any

import pytest

from operators.frames import check
from operators.postgres.search.chunk_lookup import LOCATED, locate, unread_reason
from operators.postgres.store import Store
from operators.postgres.write.ledger import record_failure


@pytest.fixture
def filled(store: Store, filling: Any) -> Store:
    plain = {"document_id": "d1", "title": "Title", "path": "src/a.py", "uri": "https://x.org/a"}
    filling.write(
        store,
        [
            {**plain, "chunk_id": 12, "ordinal": 1, "repo": "org/app"},
            {**plain, "chunk_id": 11, "ordinal": 0, "repo": "org/app"},
            {"chunk_id": 21, "document_id": "d2", "corpus": "wiki", "repo": "org/wiki"},
        ],
    )
    return store


@pytest.mark.parametrize("name", ["d1", "src/a.py", "Title", "https://x.org/a"])
def test_a_document_gives_its_chunks_in_their_order_by_every_name_it_has(
    filled: Store, name: str
) -> None:
    found = locate(filled, [], [name, "no such"])
    assert found["chunk_id"].to_list() == [11, 12]
    check(found, LOCATED, "located")


def test_a_document_is_found_by_the_end_of_its_path_where_that_is_asked_for(filled: Store) -> None:
    assert locate(filled, [], ["a.py", "A.PY"]).is_empty()
    assert locate(filled, [], ["A.PY"], by_end=True)["chunk_id"].to_list() == [11, 12]
    for other in ("py", "%.py", "src/a.py", ""):
        assert locate(filled, [], [other], by_end=True).is_empty()
    assert locate(filled, [], ["a.py"], by_end=True, repos=["org/wiki"]).is_empty()


def test_a_chunk_is_found_by_its_id_in_every_corpus(filled: Store) -> None:
    assert locate(filled, [21, 404], [])["corpus"].to_list() == ["wiki"]
    assert locate(filled, [], []).is_empty()


def test_what_is_in_a_repository_that_the_caller_may_not_see_does_not_exist(filled: Store) -> None:
    assert locate(filled, [11, 21], ["d1", "d2"], repos=["org/wiki"])["chunk_id"].to_list() == [21]
    assert locate(filled, [11, 21], ["d1"], repos=[]).is_empty()


def test_repositories_that_a_corpus_is_limited_to_leave_the_other_corpora_alone(
    filled: Store,
) -> None:
    def found(limits: dict[str, list[str]]) -> list[int]:
        visible = {corpus: {"repos": repos} for corpus, repos in limits.items()}
        return locate(filled, [11, 21], [], visible=visible)["chunk_id"].to_list()

    assert found({"code": ["org/app"]}) == [11, 21]
    assert found({"code": ["org/wiki"]}) == [21]
    assert found({"code": [], "wiki": ["org/app", "org/wiki"]}) == [21]


def test_a_name_is_taken_to_the_letter_whatever_it_has_in_it(filled: Store) -> None:
    assert locate(filled, [], ["d_", "d%", "'; DROP TABLE chunks; --", "a\x00b\ud800"]).is_empty()


def test_the_ledger_says_why_a_document_is_not_here_to_those_who_may_see_it(filled: Store) -> None:
    record_failure(filled, "code", "org/app", "httpx/_urls.py", "it is no text")

    def why(name: str, repos: list[str] | None = None, **filters: Any) -> str | None:
        return unread_reason(filled, [name], repos, {"code": filters})

    assert why("httpx/_urls.py") == why("_urls.py") == why("_urls.py", ["org/app"])
    assert why("_urls.py", path_prefix=None) == "it is no text"
    assert [why("urls.py"), why("d1"), why("_urls.py", ["org/wiki"])] == [None] * 3
    assert [why("_urls.py", repos=[]), why("_urls.py", path_prefix="docs/")] == [None] * 2
    hidden = {"code": {"repos": ["org/wiki"]}}
    assert unread_reason(filled, ["_urls.py"], None, hidden) is None
