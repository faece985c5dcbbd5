from __future__ import annotations

import pytest

from operators.report.scores import colours, slice_name

pytest.importorskip("altair", reason="charts need the extra evaluate")


@pytest.mark.parametrize(
    ("name", "shown"), [("all", "all queries"), ("kind=issue", "kind: issue"), ("x", "x")]
)
def test_a_slice_is_named_for_a_person(name: str, shown: str) -> None:
    assert slice_name(name) == shown


def test_a_configuration_has_one_colour_in_every_chart() -> None:
    both, others = colours(["a", "b", "c"]), colours(["a", "b", "c"], without_first=True)
    assert list(both.domain) == ["a", "b", "c"]
    assert list(both.range)[1:] == list(others.range)
    assert len(set(both.range)) == 3
