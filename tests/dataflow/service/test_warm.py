"""A driver that follows its configuration, while it is asked."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextvars import copy_context
from pathlib import Path

import pytest

from dataflow.service import tools, warm
from dataflow.service.tools import Service
from dataflow.service.warm import Warm
from operators.foundation.cancellation import Cancelled, Switch, waiting

QUESTION = "flush the cache attempt"


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(warm, "SECONDS", 0.05)
    written = tmp_path / "team.yaml"
    write(written, 7)
    return written


def write(file: Path, hundreds: int) -> None:
    model = "extends: default\nembedding: python:dying:WordEmbedder\n"
    file.write_text(f"{model}parameters:\n  context_budget: {hundreds * 100}\n")


@pytest.fixture
def use(service: Service, file: Path) -> Iterator[Warm]:
    held = Warm(service.store, str(file))
    yield held
    held.close()


def budget(use: Warm) -> int:
    with use() as service:
        assert tools.get_context(service, QUESTION).text
        return int(service.driver.config.parameters["context_budget"])


def until(use: Warm, wanted: int) -> None:
    end = time.monotonic() + 20
    while budget(use) != wanted and time.monotonic() < end:
        time.sleep(0.02)
    assert budget(use) == wanted


def test_a_changed_configuration_counts_and_no_question_fails(use: Warm, file: Path) -> None:
    errors, over = list[Exception](), threading.Event()

    def ask() -> None:
        while not over.is_set():
            try:
                budget(use)
            except Exception as error:
                errors.append(error)

    askers = [threading.Thread(target=ask) for _ in range(3)]
    for one in askers:
        one.start()
    try:
        for hundreds in (8, 9, 10):
            write(file, hundreds)
            until(use, hundreds * 100)
    finally:
        over.set()
        for one in askers:
            one.join()
    assert errors == []


def test_a_driver_that_was_replaced_is_closed_after_its_last_question(
    use: Warm, file: Path
) -> None:
    with use() as old:
        write(file, 8)
        until(use, 800)
        assert old.driver.ask(QUESTION).passages
    with pytest.raises(Exception, match="closed"):
        old.driver.ask(QUESTION)


def test_a_configuration_that_does_not_load_changes_nothing_and_is_told_once(
    use: Warm, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text("extends: default\nparametres: {}\n")
    end = time.monotonic() + 1
    while time.monotonic() < end:
        assert budget(use) == 700
        time.sleep(0.02)
    told = capsys.readouterr().err
    assert told.count("the driver stays as it was") == 1
    assert "parametres" in told
    write(file, 9)
    until(use, 900)


def test_a_model_that_the_collection_does_not_have_changes_nothing(
    use: Warm, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text("extends: default\nembedding: minilm\n")
    end = time.monotonic() + 1
    while time.monotonic() < end:
        assert budget(use) == 700
        time.sleep(0.02)
    assert "the driver stays as it was" in capsys.readouterr().err


def test_a_caller_that_goes_does_not_stop_the_driver_that_others_need(
    use: Warm, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = Switch()
    gone.throw()
    write(file, 8)
    time.sleep(0.1)

    def ask() -> None:
        waiting.set(gone)
        with use() as service, pytest.raises(Cancelled):
            service.driver.ask(QUESTION)

    copy_context().run(ask)
    assert budget(use) == 800
    assert "stays as it was" not in capsys.readouterr().err
