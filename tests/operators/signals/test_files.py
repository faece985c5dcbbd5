"""What files say beside their passages, and one passage a file among the results."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.frames import FUSED
from operators.question.intent import asks_for_users
from operators.ranking.definitions import definition_of
from operators.ranking.one_a_file import SHARE, in_places
from operators.ranking.total_order import ranked
from operators.signals.secondary import is_secondary
from tests.support.ordering import asked, ordered, told

WEIGHTS = {
    **{"share_of_file": 0.2, "shared_name": 0.35, "defines_name": 0.5, "uses_name": 1.0},
    "secondary": 0.3,
}


def hits(*rows: dict[str, Any]) -> pl.DataFrame:
    known = {"query_id": 0, "corpus": "code", "repo": "r", "text": "text"}
    made = [{**known, "chunk_id": n, "document_id": f"d{n}", **row} for n, row in enumerate(rows)]
    return ranked(pl.DataFrame(made, schema=FUSED), pl.col("score"))


def order(text: str, *rows: dict[str, Any], **weights: float) -> list[int]:
    """The chunk ids in their order; only the given rules count."""
    return ordered(hits(*rows), asked(text), weights)["chunk_id"].to_list()


def test_a_file_with_several_good_passages_stands_above_one_with_a_single_one() -> None:
    rows = [
        {"path": "a.py", "score": 1.0},
        {"path": "b.py", "score": 0.95},
        {"path": "b.py", "score": 0.9},
    ]
    assert order("q", *rows) == [0, 1, 2]
    assert order("q", *rows, share_of_file=0.2) == [1, 0, 2]


CALLERS = [
    {"path": "locks.py", "score": 1.0, "text": "def flush_all():", "metadata": '{"uses": []}'},
    {"path": "a.py", "score": 0.8, "text": "# flush_all", "metadata": '{"uses": []}'},
    {"path": "b.py", "score": 0.5, "text": "flush_all()", "metadata": '{"uses": ["flush_all"]}'},
    {"path": "c.f90", "score": 0.4, "text": "call flush_all()"},
]


@pytest.mark.parametrize(
    "text",
    [
        "Who calls flush_all?",
        "where is flush_all used",
        "Which classes extend flush_all?",
        "When is flush_all called?",
    ],
)
def test_who_asks_for_the_users_of_a_name_gets_them_before_its_definition(text: str) -> None:
    assert order(text, *CALLERS, uses_name=1.0, defines_name=0.5) == [2, 3, 0, 1]


@pytest.mark.parametrize("text", ["Which tests cover flush_all?", "How is `flush_all` tested?"])
def test_who_asks_for_the_tests_of_a_name_gets_those_that_use_it(text: str) -> None:
    tests = [
        {"path": "tests/test_a.py", "score": 0.3, "text": "flush_all()"},
        {"path": "tests/test_b.py", "score": 0.9, "text": "flush()"},
    ]
    assert order(text, *CALLERS, *tests, uses_name=1.0, secondary=0.3)[:2] == [4, 0]


@pytest.mark.parametrize(
    "text",
    [
        "What does flush_all call?",
        "Where is flush_all defined?",
        "It uses flush_all of the old version to empty the queue before it closes. " * 3,
    ],
)
def test_another_question_about_a_name_gets_its_definition_first(text: str) -> None:
    assert not asks_for_users(text)
    assert order(text, *CALLERS, uses_name=1.0, defines_name=0.5)[0] == 0


def test_a_file_that_is_called_as_the_question_says_gains_by_how_rare_the_word_is() -> None:
    others = [{"path": f"http/x{n}.py", "score": 1 - n / 100} for n in range(9)]
    rows = [*others, {"path": "http/retry.py", "score": 0.96}]
    assert order("how does http retry", *rows, shared_name=0.25)[0] == 9
    assert order("how does http work", *rows, shared_name=0.25)[0] == 0, "all files have that word"


def test_a_file_s_name_matches_other_forms_of_a_word() -> None:
    rows = [
        {"path": "writers/docbook.py", "score": 1.0},
        {"path": "readers/docbook.py", "score": 0.99},
    ]
    assert order("how does it read DocBook", *rows, shared_name=0.25) == [1, 0]
    assert order("what reads DocBook", *rows, shared_name=0.25) == [1, 0]
    assert order("how DocBook is written", *rows, shared_name=0.25) == [0, 1]


def test_what_defines_a_name_of_the_question_leads_what_uses_it() -> None:
    rows = [
        {"path": "a.py", "score": 1.0, "text": "cache = LockedCache()"},
        {"path": "b.py", "score": 0.8, "text": "class LockedCache(Cache):\n    pass"},
    ]
    assert order("how is LockedCache made", *rows, defines_name=0.5) == [1, 0]
    assert order("how is a locked cache made", *rows, defines_name=0.5) == [0, 1]


def test_a_capitalised_word_is_a_name_if_few_files_define_it_and_it_is_not_the_project_s() -> None:
    used = {"path": "a.py", "score": 1.0, "text": "Lock().acquire()"}
    made = [{"path": f"{n}.py", "score": 0.8, "text": "class Lock:\n    pass"} for n in range(4)]
    question = "how a Lock is acquired"
    assert order(question, used, *made[:3], defines_name=0.5)[0] == 1
    assert order(question, used, *made, defines_name=0.5)[0] == 0, "too many files define it"
    own = [{**row, "repo": "org/lock"} for row in (used, made[0])]
    assert order(question, *own, defines_name=0.5) == [0, 1], "the project's own name"


def test_of_many_names_the_file_that_defines_most_leads_with_its_best_passage() -> None:
    rows = [
        {"path": "a.py", "score": 1.0, "text": "def send(self): ..."},
        {"path": "b.py", "score": 0.9, "text": "nothing of that"},
        {"path": "b.py", "score": 0.8, "text": "class Retry:\n    def back_off(self): ..."},
        {"path": "b.py", "score": 0.7, "text": "def max_wait(): ..."},
    ]
    text = "`Retry` waits after send(), back_off is more than max_wait"
    assert order(text, *rows) == [0, 1, 2, 3]
    assert order(text, *rows, defines_name=0.5) == [1, 0, 2, 3]


def test_a_definition_counts_that_only_the_syntax_tree_knows() -> None:
    rows = [
        {"path": "a.java", "score": 1.0, "text": "lock.releaseAll();"},
        {"path": "b.java", "score": 0.8, "text": "  void releaseAll() {}"},
    ]
    rows[1]["metadata"] = '{"defines": ["Lock.releaseAll"]}'
    assert order("where is releaseAll", *rows, defines_name=0.5) == [1, 0]
    del rows[1]["metadata"]
    assert order("where is releaseAll", *rows, defines_name=0.5) == [0, 1]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("    async def release(self):", "release"),
        ("func (l *Lock) Release() error {", "Release"),
        ("static int release(struct lock *l) {", "release"),
        ("function M.release(opts)", "release"),
    ],
)
def test_a_definition_is_seen_in_many_languages_and_a_use_is_not(text: str, name: str) -> None:
    assert definition_of(name).search(text)
    assert not definition_of(name).search(f"if x.{name}(1):\n    return {name} + 1")


def test_tests_and_examples_count_less_unless_the_question_is_about_them() -> None:
    rows = [{"path": "tests/test_lock.py", "score": 1.0}, {"path": "src/lock.py", "score": 0.5}]
    assert order("how is it released", *rows, secondary=0.7) == [1, 0]
    assert order("which tests release it", *rows, secondary=0.7) == [0, 1]


def test_a_long_question_is_about_tests_only_if_its_title_is() -> None:
    rows = [{"path": "testing/lock.py", "score": 1.0}, {"path": "src/lock.py", "score": 0.5}]
    report = "\n" + "I ran the tests and the lock was not released. " * 20
    assert order("Lock is not released" + report, *rows, secondary=0.7) == [1, 0]
    assert order("A test of the lock fails" + report, *rows, secondary=0.7) == [0, 1]


@pytest.mark.parametrize(
    ("metadata", "best"),
    [(None, 1), ('{"defines": ["Lock"]}', 0), ('{"signatures_above": "class Lock:"}', 0)],
)
def test_a_file_that_only_re_exports_names_counts_less_than_one_that_defines_them(
    metadata: str | None, best: int
) -> None:
    rows = [
        {"path": "lock/__init__.py", "score": 1.0, "metadata": metadata},
        {"path": "lock/held.py", "score": 0.9},
    ]
    assert order("how is it released", *rows, secondary=0.3)[0] == best


@pytest.mark.parametrize("path", ["attest.py", "src/specs.py"])
def test_a_path_that_only_looks_like_a_test_is_none(path: str) -> None:
    assert not is_secondary(path)


paths = st.sampled_from(["a.py", "src/lock.py", "tests/test_lock.py", "lock/__init__.py", None])
scores = st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9, 1.0])
rows = st.lists(st.tuples(paths, scores, st.sampled_from(["code", "docs"])), max_size=12)


@given(rows, st.sampled_from(["how is Lock released", "Lock", "", "test of lock"]))
def test_the_hits_of_a_corpus_exchange_their_scores_and_no_other_hit_moves(
    made: list[tuple[str | None, float, str]], text: str
) -> None:
    before = hits(*({"path": p, "score": s, "corpus": c} for p, s, c in made))
    after = ordered(before, asked(text), WEIGHTS)
    same = ("corpus", "score")
    assert sorted(after[same].rows()) == sorted(before[same].rows())
    still = pl.col("corpus") == "docs"
    kept = ("chunk_id", "score")
    assert sorted(after.filter(still)[kept].rows()) == sorted(before.filter(still)[kept].rows())


@given(rows, st.integers(1, 5))
def test_a_file_has_one_result_while_there_are_others(
    made: list[tuple[str | None, float, str]], top_k: int
) -> None:
    given_hits = hits(*({"path": p, "score": s, "corpus": c} for p, s, c in made))
    shown = in_places(given_hits, top_k)
    assert shown["rank"].to_list() == list(range(min(top_k, given_hits.height)))
    places = given_hits.sort("rank")["chunk_id"].to_list()
    assert shown["chunk_id"].to_list() == sorted(shown["chunk_id"].to_list(), key=places.index)
    files = [(row["corpus"], row["path"] or row["document_id"]) for row in shown.to_dicts()]
    every = {(row["corpus"], row["path"] or row["document_id"]) for row in given_hits.to_dicts()}
    assert len(set(files)) == min(top_k, len(every))


@given(rows, st.integers(0, 5), st.integers(0, 3))
def test_a_file_names_its_next_best_passages_that_have_no_place(
    made: list[tuple[str | None, float, str]], top_k: int, more: int
) -> None:
    given_hits = hits(*({"path": p, "score": s, "corpus": c} for p, s, c in made)).sort("rank")
    shown = in_places(given_hits, top_k, more=more)
    own, firsts = set(shown["chunk_id"]), set[tuple[str, str]]()
    for row in shown.to_dicts():
        file = (row["corpus"], row["path"] or row["document_id"])
        left = [
            one["chunk_id"]
            for one in given_hits.to_dicts()
            if (one["corpus"], one["path"] or one["document_id"]) == file
            and one["chunk_id"] not in own
            and one["score"] >= SHARE * row["score"]
        ]
        named = [one["chunk_id"] for one in row["more_of_file"]]
        assert named == ([] if file in firsts else left[:more])
        firsts.add(file)


def test_a_long_question_and_many_files_take_no_time() -> None:
    names = ["".join(chr(97 + int(digit)) for digit in f"{n:03}") for n in range(300)]
    many = hits(*({"path": f"src/{name}.py", "score": 1.0} for name in names))
    gains = told(many, asked("what does aah do " * 500), {"shared_name": 1.0})
    assert gains.sort("value")["chunk_id"][-1] == 7


def test_a_commit_that_raises_a_version_stands_behind_one_that_says_something() -> None:
    commits = [
        {"title": f"Bump once_cell from 1.1{n} to 1.1{n + 1}", "score": 1 - n / 100}
        for n in range(3)
    ]
    rows = [*commits, {"title": "Replace once_cell with stdlib", "score": 0.8}]
    rows = [{**row, "corpus": "history", "metadata": '{"commit": "0"}'} for row in rows]
    assert order("when was once_cell dropped", *rows, secondary=0.3)[0] == 3
    assert order("which version of once_cell is it", *rows, secondary=0.3)[0] == 0
