from __future__ import annotations

from operators.errors import CrosscorpusError, UnknownName, suggest


def test_a_slip_of_the_pen_names_the_nearest_name() -> None:
    assert suggest("mergd", ["merged", "fused"]) == ", did you mean 'merged'?"


def test_what_is_near_nothing_lists_what_there_is_sorted_once_each() -> None:
    assert suggest("zebra", ["wiki", "code", "wiki"]) == "; known: code, wiki"
    assert suggest("zebra", []) == ""


def test_an_unknown_name_is_a_lookup_error_and_one_of_ours() -> None:
    assert issubclass(UnknownName, LookupError)
    assert issubclass(UnknownName, CrosscorpusError)
