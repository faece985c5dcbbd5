"""The command, run with arguments as a user gives them."""

from __future__ import annotations

import gc
import io
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from dataflow.__main__ import main

_NOT_PASSED_ON = {"HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "GH_TOKEN"}
_NOT_PASSED_ON |= {"CROSSCORPUS_READ_DSN"}


def run_here(
    arguments: Sequence[str], environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run the command in this process, with these variables added to its environment."""
    # The streams of a process without a terminal: of UTF-8, what a program reads strictly.
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace")
    code: Any = None
    with pytest.MonkeyPatch.context() as patch:
        for name in _NOT_PASSED_ON:
            patch.delenv(name, raising=False)
        for name, value in environment.items():
            patch.setenv(name, value)
        patch.setattr(sys, "argv", ["crosscorpus", *arguments])
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        try:
            main()
        except SystemExit as end:
            code = end.code
        finally:
            gc.enable()  # a question, whose process ends, does without
    out.seek(0)
    err.seek(0)
    return subprocess.CompletedProcess(arguments, code or 0, out.read(), err.read())


def run_in_own_process(
    arguments: Sequence[str], environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run the command as a program, with these variables added to its environment."""
    passed_on = {name: value for name, value in os.environ.items() if name not in _NOT_PASSED_ON}
    return subprocess.run(
        [sys.executable, "-m", "dataflow", *arguments],
        env=passed_on | environment,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
