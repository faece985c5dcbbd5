"""Filters show what they say, and the values that there are."""

from __future__ import annotations

import itertools
import json
import random
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from vector_indexes import build_vector_indexes

from operators.errors import UnknownName
from operators.postgres.search.chunk_reader import Wanted, fetch_chunks
from operators.postgres.search.filter_values import absent_values, as_known
from operators.postgres.search.filters import Filter
from operators.postgres.search.text_search import bm25_search, plain_search
from operators.postgres.search.vector_search import search_vectors
from operators.postgres.search.version_filters import SearchFilter
from operators.postgres.search.visible_chunks import count_visible, visible_at_most
from operators.postgres.store import Home, Store, collection_info
from operators.ranking.definitions import uses

Make = Callable[..., Store]

START = datetime(2024, 1, 1, tzinfo=UTC)
REPOS = ["", "org/app", "org/lib", "ORG/APP", "o'rg\\%_"]
PATHS = [None, "src/a.py", "src/b_c.py", "src/b%c.py", "src\\d.py", "SRC/a.py", "ü/é.md", ""]
LANGUAGES = [None, "python", "Python", "c"]
STATES = [None, "open", "closed"]
MOMENTS = [None, START, START + timedelta(microseconds=1), START + timedelta(days=9)]
METADATA = [
    None,
    '{"defines": ["A.common", "B"], "common": 1}',
    '{"short": "common", "defines": ["A.common.x", "wide.ns::common"]}',
    '{"defines": ["common"], "uses": ["Common_1", "commons"]}',
    '{"defines": ["A"], "uses": ["common"]}',
    '{"uses": []}',
    '{"author": "Ann \\"Q\\" Müller \\\\Z"}',
    '{"authors": [7, "bo]b", "ann"], "note": "\\"author\\": \\"eve"}',
]
TEXTS = [
    "common words here, common(Common_1) B",
    "some common\nwords: 3.12 B",
    "common(words)\n\nx.common here B",
]
Held = tuple[Store, list[dict[str, Any]]]
HOSTILE = "x') OR true; DROP TABLE chunks; --"


@pytest.fixture(scope="module")
def held(make_store: Make, filling: Any) -> Held:
    random_ = random.Random(3)
    rows = [
        {
            "chunk_id": number,
            "text": TEXTS[number % 3],
            "repo": random_.choice(REPOS),
            "path": random_.choice(PATHS),
            "language": random_.choice(LANGUAGES),
            "state": random_.choice(STATES),
            "created_at": random_.choice(MOMENTS),
            "metadata": random_.choice(METADATA),
        }
        for number in range(150)
    ]
    store = make_store()
    filling.write(store, rows)
    filling.write(store, [{"chunk_id": 999, "corpus": "wiki", "text": "common words here"}])
    build_vector_indexes(store)
    return store, rows


def visible(row: dict[str, Any], query: dict[str, Any]) -> bool:
    """The meaning of the filters, in plain Python."""
    repos, prefix = query.get("repos"), query.get("path_prefix")
    corpora, as_of = query.get("corpora"), query.get("as_of")
    until = query.get("until")
    since, author = query.get("since"), (query.get("author") or "").casefold()
    held = json.loads(row["metadata"] or "{}")
    authors = [held.get("author", ""), *map(str, held.get("authors", []))]
    path = row["path"]
    return (
        (corpora is None or "code" in corpora)
        and (repos is None or row["repo"] in repos)
        and (not prefix or (path is not None and path.startswith(prefix)))
        and (not query.get("language") or row["language"] == query["language"])
        and (not query.get("state") or row["state"] == query["state"])
        and re.search(query.get("pattern") or "", row["text"], re.MULTILINE) is not None
        and (not query.get("symbol") or defined_in(row, query["symbol"]))
        and (not query.get("uses") or used_in(row, query["uses"]))
        and any(author in one.casefold() for one in authors)
        and (since is None or (row["created_at"] is not None and row["created_at"] >= since))
        and (until is None or (row["created_at"] is not None and row["created_at"] <= until))
        and (as_of is None or row["created_at"] is None or row["created_at"] < as_of)
    )


def defined_in(row: dict[str, Any], symbol: str) -> bool:
    parts = symbol.replace("::", ".").split(".")
    defines = json.loads(row["metadata"] or "{}").get("defines", [])
    names = [name.replace("::", ".").split(".") for name in defines]
    *folders, file = f"{row['repo']}/{row['path'] or ''}".split("/")
    above = {*folders, file, file.partition(".")[0]}
    return any(name[-len(parts) :] == parts for name in names) or any(
        parts[place - 1] in above and parts[place:] in names for place in range(1, len(parts))
    )


def used_in(row: dict[str, Any], symbol: str) -> bool:
    word, text = symbol.replace("::", ".").split(".")[-1], row["text"]
    known = json.loads(row["metadata"] or "{}").get("uses")
    if known is not None:
        return word in known and word in text
    if word != "common":
        return word == "Common_1" and word in text
    times = len(re.findall(r"\bcommon\(|\.common\b", text))
    return times > defined_in(row, word)


def maybe(values: list[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(st.none(), st.sampled_from(values))


SYMBOLS = ["common", "A.common", "A::common", "ommon", "ns.common", "B.common"]
SYMBOLS += ["src.A.common", "a.A.common", "src/a.py::B", "x.src.b_c.B", "rc.B", "app.B"]
QUERY = st.fixed_dictionaries(
    {
        "repos": st.one_of(
            st.none(), st.lists(st.sampled_from([*REPOS, HOSTILE, "no\0such"]), max_size=4)
        ),
        "path_prefix": maybe(["src/", "src/b_", "src/b%", "src\\", "S", "ü", "", HOSTILE, "%"]),
        "language": maybe(["python", "Python", HOSTILE, "c\0"]),
        "state": maybe(["open", HOSTILE]),
        "pattern": maybe([r"^words: \d", "common$", "(?i)SOME|x", "Some", "", "o", r"'\); DROP"]),
        "symbol": maybe(SYMBOLS),
        "uses": maybe(
            ["common", "a.A.common", "ommon", "B::Common_1", "some", "()", "``", HOSTILE]
        ),
        "author": maybe(["ann", 'n "q" MÜLLER', "eve", "o", "(", HOSTILE]),
        "since": maybe([moment for moment in MOMENTS if moment]),
        "until": maybe([moment for moment in MOMENTS if moment]),
        "as_of": maybe([moment for moment in MOMENTS if moment]),
        "corpora": maybe([["code"], ["wiki"], ["wiki", "code"], []]),
    }
)


@settings(
    max_examples=settings.default.max_examples // 2,  # each asks of up to six filters at once
)
@given(batch=st.lists(QUERY, min_size=1, max_size=6), exact=st.booleans())
def test_every_search_and_read_sees_exactly_what_the_filters_allow(
    held: Held,
    filling: Any,
    batch: list[dict[str, Any]],
    exact: bool,
) -> None:
    store, rows = held
    queries = filling.queries([{**query, "texts": ["common"]} for query in batch])
    vectors = filling.embeddings([[1.0, 2, 3, 4, 5, 6, 7, 8]] * len(batch))
    expected = [{row["chunk_id"] for row in rows if visible(row, query)} for query in batch]

    found = {
        "vector": search_vectors(
            store, "code", queries, vectors, k=1_000, exact_scan_max_rows=20_000 if exact else 5
        ),
        "bm25": bm25_search(store, "code", queries, k=1_000, candidate_cap=20_000 if exact else 5),
        "plain": plain_search(store, "code", queries, k=1_000),
    }
    for name, lists in found.items():
        for number, ids in enumerate(expected):
            mine = lists.filter(pl.col("query_id") == number)
            assert set(mine["chunk_id"]) == ids, (name, batch[number])
            assert mine["rank"].to_list() == list(range(len(ids)))
    chunks = fetch_chunks(store, [Wanted("code", pl.Series([*range(150), 999]), queries)])
    assert set(chunks["chunk_id"]) == set().union(*expected)


@pytest.mark.parametrize("name", ["this.$emit", "<+>"])
def test_a_name_that_no_syntax_tree_lists_is_searched_in_the_text(
    make_store: Make, filling: Any, name: str
) -> None:
    store = make_store()
    texts = [f"common x {name} y", "common emit x", "common"]
    filling.write(
        store,
        [
            {"chunk_id": number, "text": text, "metadata": '{"uses": ["common", "x", "y"]}'}
            for number, text in enumerate(texts)
        ],
    )
    queries = filling.queries([{"texts": ["common"], "uses": name}])
    assert bm25_search(store, "code", queries, k=9)["chunk_id"].to_list() == [0]
    assert uses(name, texts[0], '{"uses": ["common"]}')


def test_reading_keeps_the_filters_of_a_batch_with_many_different_ones(
    held: Held, filling: Any
) -> None:
    store, rows = held
    batch = [{"repos": [HOSTILE, f"r{n}"]} for n in range(120)]
    batch.append({"repos": ["org/lib"], "as_of": START})
    batch.append({"repos": ["org/lib"], "as_of": START + timedelta(days=1)})
    expected = {row["chunk_id"] for row in rows for query in batch if visible(row, query)}
    found = fetch_chunks(store, [Wanted("code", pl.Series(range(150)), filling.queries(batch))])
    assert found["chunk_id"].to_list() == sorted(expected)


@pytest.mark.parametrize("limit", [0, 10, 1_000])
def test_the_count_of_visible_chunks_is_never_too_low(held: Held, limit: int) -> None:
    store, rows = held
    sizes = collection_info(store).repos["code"]
    choices = itertools.product(
        [None, ("org/app", "none")], ["src/", None], ["python", None], [START, None]
    )
    for repos, path_prefix, language, as_of in choices:
        query = {"repos": repos, "path_prefix": path_prefix, "language": language, "as_of": as_of}
        true = sum(visible(row, query) for row in rows)
        texts = [(n, one) for n in ("path_prefix", "language") if isinstance(one := query[n], str)]
        one = SearchFilter(Filter(repos, tuple(texts), as_of=as_of))
        with store.transaction() as conn:
            assert count_visible(conn, "code", one, limit=limit) == min(true, limit + 1)
        known = visible_at_most(one, sizes, limit=limit)
        assert known is None or known >= true
        assert known is None or known <= limit or known == true


ALL: dict[str, dict[str, Any]] = {"code": {}, "docs": {}}


@pytest.fixture(scope="module")
def filled(make_store: Make, filling: Any) -> Store:
    store = make_store()
    filling.write(
        store,
        [
            {"repo": "org/app", "language": "python", "path": "src/cache.py"},
            {"repo": "org/app", "corpus": "docs", "path": "docs/Cache/index.md"},
            {"repo": "cc", "language": "go", "state": "open", "path": "cmd/main.go"},
            {"repo": "org/secret", "corpus": "wiki", "language": "lisp", "path": "home.md"},
            {"repo": ""},
        ],
    )
    return store


@pytest.mark.parametrize(
    ("filters", "said"),
    [
        ({}, []),
        ({"repos": ["cc", "org/app"], "language": "go", "state": "open"}, []),
        ({"repos": ["CC", "cc"]}, ["no document of repo 'CC' here; there is 'cc'"]),
        ({"repos": ["x"]}, ["no document of repo 'x' here; there are 'cc', 'org/app'"]),
        ({"repos": ["cc"], "language": "python"}, ["'python' here; there is 'go'"]),
        ({"state": "a\x00"}, ["no document in state 'a\\x00' here; there is 'open'"]),
        ({"path_prefix": "./src/"}, ["'./src/' here; there is 'src/'"]),
        ({"path_prefix": "100%_"}, ["'100%_' here"]),
    ],
)
def test_each_value_that_nothing_has_is_told_with_the_nearest(
    filled: Store, filters: dict[str, Any], said: list[str]
) -> None:
    told = absent_values(filled, ALL, **filters)
    assert len(told) == len(said)
    for sentence, end in zip(told, said, strict=True):
        assert sentence.startswith("no document ")
        assert sentence.endswith(end)


@pytest.mark.parametrize(
    "limit", [{"path_prefix": "cmd/"}, {"language": "go"}, {"state": "open"}, {"repos": ["cc"]}]
)
def test_no_filter_of_the_configuration_lets_a_hidden_value_be_named(
    filled: Store, limit: dict[str, Any]
) -> None:
    said = absent_values(
        filled, {"code": limit}, repos=["org/app"], language="python", path_prefix="cache"
    )
    assert said == [
        "no document of repo 'org/app' here; there is 'cc'",
        "no document in language 'python' here; there is 'go'",
        "no document with a path that begins with 'cache' here",
    ]


@pytest.mark.parametrize(
    ("given", "known", "said"),
    [
        ({"repos": ["app"]}, {"repos": ["org/app"]}, ["repo 'app' is taken for 'org/app'"]),
        ({"repos": ["CC"], "language": "GO"}, {"repos": ["cc"], "language": "go"}, 2),
        ({"state": "OPEN"}, {"state": "open"}, ["state 'OPEN' is taken for 'open'"]),
        ({"repos": ["cc"]}, {"repos": ["cc"]}, []),
        ({}, {}, []),
    ],
)
def test_a_value_in_another_case_or_without_its_owner_is_taken_for_the_one_that_is_there(
    filled: Store, given: dict[str, Any], known: dict[str, Any], said: Any
) -> None:
    found, notes = as_known(_homes(filled), ALL, given)
    assert found == known
    assert len(notes) == said if isinstance(said, int) else notes == said


@pytest.mark.parametrize(
    "given",
    [
        {"repos": ["me/app"]},  # another's own
        {"repos": ["org/app", "secret"]},  # of a corpus that is not searched
        {"repos": ["pp"], "language": "go"},
        {"language": "pyhton"},
    ],
)
def test_a_repository_or_a_language_that_nothing_visible_has_is_an_error(
    filled: Store, given: dict[str, Any]
) -> None:
    with pytest.raises(UnknownName, match=r"^no document (of repo|in language) "):
        as_known(_homes(filled), ALL, given)


def test_an_end_that_two_repositories_have_is_taken_for_none(store: Store, filling: Any) -> None:
    filling.write(store, [{"repo": "a/app"}, {"repo": "b/app"}])
    with pytest.raises(UnknownName, match="there are 'a/app', 'b/app'"):
        as_known(_homes(store), ALL, {"repos": ["app"]})


def _homes(store: Store) -> dict[str, Home]:
    return {name: Home(store, name) for name in ALL}
