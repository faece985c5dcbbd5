"""Slack's own client gives messages that the map of an export reads: threads, names and dates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("slack_sdk", reason="it needs: make test-services")

from loopback import busy, serving, slack
from shapes import CHANNEL, USERS, message

DESK = "python:desks:SlackThreads"
Ingest = Callable[..., Any]


def test_threads_have_names_dates_and_answers_and_an_edited_one_is_read_again(
    ingest: Ingest, documents: Ingest
) -> None:
    said = [
        message(0, "why does it loop, <#C1|ops>?") | {"reply_count": 150},
        *[message(n, f"answer {n}", "U2", thread=0) for n in range(1, 151)],
        message(900, "", None),  # deleted, or a file that is gone
        message(901, "by nobody", None),
        *[message(1000 + n, f"plain {n}") for n in range(240)],
    ]
    how = ("--map", "slack", "--base-url", "https://team.slack.com")
    with serving(slack, channels=[CHANNEL], users=USERS, messages=said) as server:
        desk = {"url": server.url, "token": "${DESK_TOKEN}"}
        server.faults = [None, None, busy()]
        report = ingest("api-chat", DESK, *how, **desk)
        assert (report["code"], report["documents_new"]) == (0, 242), report
        said[3]["text"] = "edited <@U1>"
        said[3]["edited"] = {"user": "U2", "ts": "1767609999.000000"}
        again = ingest("api-chat", DESK, *how, **desk)
        assert (again["documents_changed"], again["documents_unchanged"]) == (1, 241), again
    thread = documents("api-chat")["ops/1767607200.000100"]
    assert thread["title"] == "#ops: why does it loop, #ops?"
    assert "**Ada**" in thread["text"]
    assert "edited" in thread["text"]
    assert "answer 150" in thread["text"]
    assert thread["uri"] == "https://team.slack.com/archives/C1/p1767607200000100"
    assert thread["created_at"].isoformat() == "2026-01-05T10:00:00+00:00"
