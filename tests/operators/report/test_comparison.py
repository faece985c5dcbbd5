from __future__ import annotations

from typing import Any

import pytest

from operators.report.comparison import (
    in_words,
)

ROW: dict[str, Any] = {
    "config": "rrf",
    "baseline": "default",
    "measure": "nDCG@10",
    "difference": 0.02,
    "low": 0.01,
    "high": 0.03,
    "p": 0.001,
    "p_corrected": 0.004,
    "wins": 5,
    "ties": 2,
    "losses": 1,
}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"difference": -0.02}, "worse, hardly luck"),
        ({"p_corrected": 0.049}, "better, hardly luck"),
        ({"p_corrected": 0.05}, "may be luck"),
        ({"difference": 0.0, "wins": 0, "losses": 0, "p_corrected": 1.0}, "the same for every"),
    ],
)
def test_a_difference_is_called_real_by_its_corrected_p(
    changes: dict[str, Any], words: str
) -> None:
    assert in_words(ROW | changes).startswith(words)
