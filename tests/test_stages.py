"""Our stages in a Hamilton graph of somebody's own, by Hamilton's own driver."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from crosscorpus import stages
from dataflow.configuration.loader import ConfigError

QUESTION = "why is the cache flushed twice?"


@pytest.fixture(scope="module")
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "own_graph", Path(__file__).parents[1] / "examples/own_graph.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["own_graph"] = module
    spec.loader.exec_module(module)
    return module


def test_a_graph_of_one_s_own_has_no_copies_and_the_newest_version_first(example: Any) -> None:
    out = example.answer(QUESTION)
    assert out["results"]["document_id"].to_list() == ["cache-10", "keys", "cache-9"]
    (first, *_) = out["citations"]["citation"]
    assert "words: cache-10" in first
    assert "[words: cache-copy]" in first.partition("also found in")[2]


def test_a_stage_is_swapped_by_a_setting_and_a_wrong_one_is_an_error(example: Any) -> None:
    assert example.answer(QUESTION, unique="off")["results"].height == 4
    with pytest.raises(ConfigError, match="unique"):
        example.answer(QUESTION, unique="nonsense")
    with pytest.raises(ConfigError, match="uniqe"):
        stages.settings(uniqe="off")
