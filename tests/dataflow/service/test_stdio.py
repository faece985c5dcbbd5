"""What the sender of a line is told that is no message."""

from __future__ import annotations

from typing import Any

import pytest
from mcp.types import INVALID_REQUEST, PARSE_ERROR, jsonrpc_message_adapter
from pydantic import ValidationError

from dataflow.service.stdio import refusal


def refused(line: str) -> Any:
    with pytest.raises(ValidationError) as error:
        jsonrpc_message_adapter.validate_json(line)
    return refusal(error.value)


@pytest.mark.parametrize(
    ("line", "code", "id"),
    [
        ("{", PARSE_ERROR, None),
        ("nonsense", PARSE_ERROR, None),
        ('{"jsonrpc": "2.0", "id": 7, "method": "x\\ud800"}', PARSE_ERROR, 7),
        ("[1]", INVALID_REQUEST, None),
        ('{"id": 7, "method": "tools/list"}', INVALID_REQUEST, 7),
        ('{"jsonrpc": "2.0", "id": "a", "method": 5}', INVALID_REQUEST, "a"),
        ('{"jsonrpc": "2.0", "id": true, "method": 5}', INVALID_REQUEST, None),
    ],
)
def test_a_line_that_is_no_message_is_told_so_and_its_request_is_named(
    line: str, code: int, id: int | str | None
) -> None:
    told = refused(line)
    assert (told.error.code, told.id) == (code, id)


@pytest.mark.parametrize("line", ["", " ", "\t"])
def test_an_empty_line_is_passed_over(line: str) -> None:
    assert refused(line) is None


def test_what_else_fails_is_told_too() -> None:
    assert refusal(ValueError("a fault of the pipe")) is not None
