"""Caches by a caller's text hold a bounded number of bytes."""

from __future__ import annotations

import gc
import re
import tracemalloc
from collections.abc import Callable

import pytest

from operators.foundation import tokenizer
from operators.foundation.short_cache import cached_if_short
from operators.postgres import state_cache
from operators.postgres.state_cache import VersionedCache
from operators.ranking import definitions
from operators.versions.version_key import version_key


def test_a_short_text_is_computed_once_and_a_long_one_each_time() -> None:
    calls: list[str] = []
    cached = cached_if_short(10, 3)(lambda text: calls.append(text) or text.upper())
    assert [cached(text) for text in ("ab", "ab", "abcd", "abcd")] == ["AB", "AB", "ABCD", "ABCD"]
    assert calls == ["ab", "abcd", "abcd"]


@pytest.mark.parametrize(
    "function",
    [
        *(definitions.definition_of, definitions.listed),
        *(definitions.use_of, definitions.qualified_parts, tokenizer.tokens),
        version_key,
    ],
)
def test_many_long_texts_leave_no_memory_behind(function: Callable[[str], object]) -> None:
    function("warm.up" * 300)
    gc.collect()
    tracemalloc.start()
    try:
        for n in range(16):
            function(f"name{n}." * 300)
        re.purge()
        gc.collect()
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 24_000, held  # the texts have 33,600 characters


def test_a_cache_of_a_collection_keeps_fewer_values_if_they_are_large(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(state_cache, "MOST_BYTES", 10_000)
    kept = VersionedCache[tuple[str, str]]()
    for n in range(10):
        kept.get(n, 1, lambda: ("x" * 2_000, "y" * 2_000), most=64)
    assert len(kept) == 2
    kept.get("large", 1, lambda: ("x" * 20_000, ""), most=64)
    assert len(kept) == 1
