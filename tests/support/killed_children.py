"""Killing the processes that parse, as an operator or a machine short of memory does."""

from __future__ import annotations

import subprocess
from typing import Any

import psutil
import pytest


def parsing_children(what: str) -> list[psutil.Process]:
    """The processes of this one that parse with the module ``what``."""
    every = psutil.Process().children()
    return [one for one in every if any(what in word for word in one.cmdline())]


def kill_children(monkeypatch: pytest.MonkeyPatch, what: str, number: int) -> list[int]:
    """Kill the child that parses with the module ``what`` and those after it, as they start.

    The list gets the ids of those that were killed: ``number`` in all.
    """
    killed: list[int] = []

    class Popen(subprocess.Popen[bytes]):
        def __init__(self, args: Any, **options: Any) -> None:
            super().__init__(args, **options)
            if len(killed) < number and any(what in str(word) for word in args):
                killed.append(self.pid)
                self.kill()

    for child in parsing_children(what):
        child.kill()
        killed.append(child.pid)
    monkeypatch.setattr(subprocess, "Popen", Popen)
    return killed
