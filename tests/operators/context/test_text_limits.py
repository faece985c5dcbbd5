"""The longest texts of a query's options."""

from __future__ import annotations

import polars as pl
import pytest

from dataflow.driver.query_frame import complete_queries
from operators.errors import CrosscorpusError
from operators.options import OPTIONS
from operators.postgres.search.filters import Filter, condition
from operators.question.ask import ask
from operators.question.read_options import MOST_PARTS, check_texts, read_asked

PARTS = ".".join("abcdefghijklmnopqrstuvwxyz" * 2)
LONG = {
    **dict.fromkeys(("symbol", "uses", "language", "state"), "a" * 501),
    **{"pattern": "(" * 1_001, "path_prefix": "a" * 4_097},
}


@pytest.mark.parametrize(("name", "text"), [*LONG.items(), ("symbol", PARTS), ("uses", PARTS)])
def test_a_filter_over_its_limit_is_refused_in_python_in_a_frame_and_as_an_option(
    name: str, text: str
) -> None:
    frame = pl.DataFrame({"query_id": [0], "text": ["x"], name: [text]})
    for door in (
        lambda: ask("x", **{name: text}),
        lambda: complete_queries(frame, triggers=[], corpora=[]),
        lambda: read_asked({name: text}),
    ):
        with pytest.raises(CrosscorpusError, match=rf"^{name} has .*: give at most [0-9,]+$"):
            door()


@pytest.mark.parametrize("name", sorted(OPTIONS.keys() - {"symbol", "uses"}))
def test_each_option_may_have_as_many_characters_as_its_limit_and_no_more(name: str) -> None:
    check_texts(name, ["a" * OPTIONS[name].longest])
    with pytest.raises(CrosscorpusError, match=f"{name} has"):
        check_texts(name, ["a", "a" * (OPTIONS[name].longest + 1)])


@pytest.mark.parametrize("separator", [".", "::"])
def test_the_longest_name_makes_a_short_condition(separator: str) -> None:
    name = separator.join(["a" * 7] * MOST_PARTS)
    parameters: dict[str, object] = {}
    for scope in (Filter(texts=(("symbol", name),)), Filter(texts=(("uses", name),))):
        condition(scope, "c", parameters)
    assert sum(len(str(value)) for value in parameters.values()) < 50_000
