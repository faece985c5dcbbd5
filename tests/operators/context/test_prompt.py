from __future__ import annotations

from operators.context.passage_versions import NEWEST, OLDER
from operators.context.prompt import SYSTEM_PROMPT


def test_the_system_prompt_speaks_of_the_marks_that_labels_bear() -> None:
    for mark in (NEWEST, OLDER, "only up to"):
        assert mark in SYSTEM_PROMPT
    assert "prefer the newest" in SYSTEM_PROMPT
