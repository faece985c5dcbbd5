from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from operators.frames import NOTES, QUERIES, check
from operators.postgres.search.filter_values import NAMED, absent_values, as_spelled, unmet_filters
from operators.postgres.store import Home, Store

ALL: dict[str, dict[str, Any]] = {"code": {}, "docs": {}}


@pytest.fixture
def filled(store: Store, filling: Any) -> Store:
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
        ({"repos": []}, []),
        ({"repos": ["cc", "org/app"], "language": "go", "state": "open"}, []),
        ({"path_prefix": "src/ca"}, []),
        ({"repos": ["CC", "cc"]}, ["no document of repo 'CC' here; there is 'cc'"]),
        ({"repos": ["me/App"]}, ["no document of repo 'me/App' here; there is 'org/app'"]),
        ({"repos": ["x"]}, ["no document of repo 'x' here; there are 'cc', 'org/app'"]),
        ({"language": "pyhton"}, ["no document in language 'pyhton' here; there is 'python'"]),
        ({"repos": ["cc"], "language": "python"}, ["'python' here; there is 'go'"]),
        ({"state": "a\x00"}, ["no document in state 'a\\x00' here; there is 'open'"]),
        ({"path_prefix": "./src/"}, ["'./src/' here; there is 'src/'"]),
        ({"path_prefix": "SRC/CA"}, ["'SRC/CA' here; there is 'src/ca'"]),
        ({"path_prefix": "cache/"}, ["'cache/' here; there is 'docs/Cache/'"]),
        ({"path_prefix": "100%_"}, ["'100%_' here"]),
        ({"path_prefix": "/"}, ["'/' here"]),
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


def test_the_other_filters_are_looked_for_in_the_repositories_that_are_there(
    filled: Store,
) -> None:
    told = absent_values(filled, ALL, repos=["CC", "cc"], language="python", path_prefix="src/")
    assert told == [
        "no document of repo 'CC' here; there is 'cc'",
        "no document in language 'python' here; there is 'go'",
        "no document with a path that begins with 'src/' here",
    ]


def test_what_the_configuration_hides_is_not_told(filled: Store) -> None:
    only = {"code": {"repos": ["cc"]}, "docs": {"repos": []}}
    assert absent_values(filled, only, repos=["org/app"], language="python") == [
        "no document of repo 'org/app' here; there is 'cc'",
        "no document in language 'python' here; there is 'go'",
    ]
    for hidden in ("src/", "SRC/"):
        assert absent_values(filled, only, path_prefix=hidden) == [
            f"no document with a path that begins with {hidden!r} here"
        ]


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
        ({"repos": ["me/app", "org/cc"]}, {"repos": ["me/app", "org/cc"]}, []),  # others' own
        ({"repos": ["secret"]}, {"repos": ["secret"]}, []),  # of a corpus that is not searched
        ({"repos": ["pp"], "language": "pyhton"}, {"repos": ["pp"], "language": "pyhton"}, []),
        ({}, {}, []),
    ],
)
def test_a_value_in_another_case_or_without_its_owner_is_taken_for_the_one_that_is_there(
    filled: Store, given: dict[str, Any], known: dict[str, Any], said: Any
) -> None:
    none = {"repos": None, "language": None, "state": None}
    found, notes = as_spelled(filled, ALL, none | given)
    assert found == none | known
    assert len(notes) == said if isinstance(said, int) else notes == said


def test_an_end_that_two_repositories_have_is_taken_for_none(store: Store, filling: Any) -> None:
    filling.write(store, [{"repo": "a/app"}, {"repo": "b/app"}])
    assert as_spelled(store, ALL, {"repos": ["app"]}) == ({"repos": ["app"]}, [])


def test_of_corpora_that_hold_nothing_no_value_is_wrong(filled: Store) -> None:
    assert absent_values(filled, {"review": {}}, repos=["x"], language="python") == []


def test_of_many_values_the_first_are_named(store: Store, filling: Any) -> None:
    filling.write(store, [{"repo": f"r{n:02}"} for n in range(NAMED + 3)])
    [told] = absent_values(store, ALL, repos=["quite another"])
    assert told.endswith("'r07' and 3 more")


def test_only_a_query_without_results_hears_which_filter_nothing_has(
    filled: Store,
) -> None:
    asked = [
        {"query_id": 0, "repos": ["cc/x"]},
        {"query_id": 1, "repos": ["cc/x"], "language": "python"},
        {"query_id": 2, "state": "closed", "corpora": ["wiki"]},
        {"query_id": 3},
    ]
    queries = pl.DataFrame(asked, schema=QUERIES)
    homes = {corpus: Home(filled, corpus) for corpus in ALL}
    found = unmet_filters(homes, queries, pl.DataFrame({"query_id": [0]}), ALL)
    assert check(found, NOTES, "unmet_filters").rows() == [
        (1, "no document of repo 'cc/x' here; there is 'cc'"),
    ]
