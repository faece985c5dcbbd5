"""What a person sees of an answer."""

from __future__ import annotations

from dataflow.cli import console


def test_each_other_place_of_a_result_is_named_once_and_no_page_is_full_of_them() -> None:
    own, twice = "[code: a.py:1-1]", ["[code: b.py:1-1]"] * 40
    others = [own, *twice, *(f"[code: {n}.py:1-1]" for n in range(9))]
    result = {
        "source_label": own,
        "alternate_sources": [{"source_label": label} for label in others],
    }
    shown = console._elsewhere(result)
    assert shown == [
        "[code: b.py:1-1]",
        *(f"[code: {n}.py:1-1]" for n in range(4)),
        "5 more places",
    ]
    assert console._elsewhere({"source_label": own, "alternate_sources": None}) == []
