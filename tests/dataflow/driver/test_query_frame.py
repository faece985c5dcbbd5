"""A batch of questions: what may be left out, and what is refused."""

from datetime import UTC, datetime, timedelta, timezone

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataflow.driver.query_frame import BatchError, complete_queries
from operators.errors import CrosscorpusError
from operators.frames import QUERIES
from operators.question.ask import EmptyQuery, ask

WEST = timezone(timedelta(hours=-8))


def complete(**columns):
    return complete_queries(
        pl.DataFrame(columns), triggers=["pr_review", "question"], corpora=["code", "wiki"]
    )


def test_an_id_and_a_text_are_enough():
    frame = complete(query_id=[1, 2], text=["a", "b"])
    assert frame.schema == QUERIES
    assert frame["texts"].to_list() == [["a"], ["b"]]
    assert frame["trigger"].to_list() == [[], []]
    assert frame["repos"].to_list() == [None, None]


@given(
    st.lists(st.text(alphabet="ab \0é", max_size=6), min_size=1, max_size=4),
    st.integers(1, 6),
)
def test_a_batch_has_the_texts_that_a_single_question_has(texts, longest):
    try:
        alone = ask(texts, longest=longest)["texts"]
    except EmptyQuery:
        alone = None
    frame = pl.DataFrame({"query_id": [1], "texts": [texts]})
    if alone is None:
        with pytest.raises(BatchError, match="an empty query"):
            complete_queries(frame, triggers=[], corpora=[], longest=longest)
    else:
        found = complete_queries(frame, triggers=[], corpora=[], longest=longest)["texts"]
        assert found.to_list() == alone.to_list()


def test_what_was_cut_of_each_question_is_said_as_for_a_single_one():
    frame = pl.DataFrame({"query_id": [1, 2, 3], "texts": [["abcdef"], ["abc"], ["abcd", "a"]]})
    found = complete_queries(frame, triggers=[], corpora=[], longest=3)
    single = [ask(texts, longest=3)["cut"].item() for texts in frame["texts"].to_list()]
    assert found["cut"].to_list() == single
    assert found["cut"].is_null().to_list() == [False, True, False]


def test_a_time_without_a_zone_is_utc():
    frame = complete(query_id=[1], text=["a"], as_of=[datetime(2024, 1, 2)])
    assert frame["as_of"].item() == datetime(2024, 1, 2, tzinfo=UTC)


def test_no_questions_are_a_frame_of_no_rows():
    frame = pl.DataFrame(schema={"query_id": pl.UInt32, "text": pl.String})
    assert complete_queries(frame, triggers=[], corpora=[]).schema == QUERIES


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"query_id": [1], "txt": ["a"]}, "unknown column 'txt', did you mean 'text'?"),
        ({"query_id": [1, 1], "text": ["a", "b"]}, "a query_id is given more than once"),
        ({"query_id": [-1], "text": ["a"]}, "query_id must be whole numbers"),
        (
            {"query_id": [1], "text": ["a"], "trigger": [[{"trigger": "question", "share": -1.0}]]},
            "must be 0 or more",
        ),
        ({"query_id": [1], "text": ["a"], "corpora": [["wki"]]}, "unknown corpus 'wki', did you"),
        (
            {"query_id": [1], "text": ["a"], "as_of": [datetime.max.replace(tzinfo=WEST)]},
            "as_of: a moment is outside the years 1 to 9999 in UTC",
        ),
        ({"query_id": [1], "text": ["a"], "repos": ["org/app"]}, "column 'repos' is String"),
    ],
)
def test_what_cannot_be_run_is_refused_with_the_column(columns, message):
    with pytest.raises(CrosscorpusError) as error:
        complete(**columns)
    assert message in str(error.value)
