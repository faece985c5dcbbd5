"""Without its framework, a retriever says what to install."""

from __future__ import annotations

import sys
from importlib import import_module

import pytest

from operators.errors import CrosscorpusError
from operators.foundation.extras import installing

PACKAGES = {"langchain": "langchain_core", "llamaindex": "llama_index"}


@pytest.mark.parametrize("extra", PACKAGES)
def test_a_missing_framework_is_named_with_the_command_that_installs_it(
    extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    absent = {name for name in sys.modules if name.split(".")[0] == PACKAGES[extra]}
    for name in (*absent, PACKAGES[extra]):
        monkeypatch.setitem(sys.modules, name, None)
    for home in ("crosscorpus", "dataflow.frameworks"):
        monkeypatch.delitem(sys.modules, f"{home}.{extra}", raising=False)
    with pytest.raises(CrosscorpusError) as raised:
        import_module(f"crosscorpus.{extra}")
    assert str(raised.value).endswith(f" is not installed: {installing(extra)}")
