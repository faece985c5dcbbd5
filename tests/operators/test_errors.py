from __future__ import annotations

import pytest

from operators.errors import UnknownName, check_known, suggest


def test_a_slip_of_the_pen_names_the_nearest_name() -> None:
    assert suggest("mergd", ["merged", "fused"]) == ", did you mean 'merged'?"


def test_what_is_near_nothing_lists_what_there_is_sorted_once_each() -> None:
    assert suggest("zebra", ["wiki", "code", "wiki"]) == "; known: code, wiki"
    assert suggest("zebra", []) == ""


def test_a_name_that_is_known_passes_and_another_is_refused_with_the_nearest() -> None:
    check_known("stage", "merged", {"merged": 1})
    with pytest.raises(UnknownName, match=r"^unknown stage 'mergd', did you mean 'merged'\?$"):
        check_known("stage", "mergd", {"merged": 1})
