from __future__ import annotations

import logging

import pytest
from hamilton import ad_hoc_utils, driver

from dataflow.execution.hamilton_logs import quiet_hamilton


def failing(question: str) -> int:
    """Fail."""
    raise ValueError(question)


def test_what_a_question_said_reaches_no_log(caplog: pytest.LogCaptureFixture) -> None:
    module = ad_hoc_utils.create_temporary_module(failing, module_name="failing_module")
    built = driver.Builder().with_modules(module).build()
    with (
        caplog.at_level(logging.DEBUG),
        quiet_hamilton(),
        pytest.raises(ValueError, match="secret"),
    ):
        built.execute(["failing"], inputs={"question": "secret"})
    assert "secret" not in caplog.text
