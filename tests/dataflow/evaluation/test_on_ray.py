"""Without Ray; what it does with Ray is in tests/test_ray.py."""

import sys

import pytest

from dataflow.evaluation.graph import evaluate
from operators.errors import CrosscorpusError


def test_without_ray_an_evaluation_on_it_is_one_line_before_any_work(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.delitem(sys.modules, "dataflow.evaluation.on_ray", raising=False)
    with pytest.raises(CrosscorpusError, match=r"^Ray is not installed: .*\[ray\]'?$"):
        evaluate(None, {"default": None}, None, None, on="ray")
