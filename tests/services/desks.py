"""Readers for `ingest from python:desks:NAME`: those of libraries that YAML cannot make alone.

Each import is in its function: a test skips where its library is absent.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from typing import Any
from unittest.mock import patch


def gitlab_issues(url: str, token: str, project: int) -> Any:
    """GitLabIssuesReader takes a client, not an address."""
    import gitlab
    from llama_index.readers.gitlab import GitLabIssuesReader

    reader = GitLabIssuesReader(gitlab.Gitlab(url, private_token=token), project_id=project)

    class All:
        """``state`` and the others are enumerations, which YAML has not."""

        name = "gitlab_issues"

        def load_data(self, **how: Any) -> Any:
            return reader.load_data(state=GitLabIssuesReader.IssueState.ALL, **how)

    return All()


def slack_channels(url: str, token: str) -> Any:
    """SlackReader has no address of its own to give."""
    import slack_sdk
    from llama_index.readers.slack import SlackReader

    with patch("slack_sdk.WebClient", partial(slack_sdk.WebClient, base_url=f"{url}/api/")):
        return SlackReader(slack_token=token)


class SlackThreads:
    """Messages of public channels by Slack's own client, as the map ``slack`` reads an export."""

    name = "slack_threads"

    def __init__(self, url: str, token: str) -> None:
        from slack_sdk import WebClient
        from slack_sdk.http_retry.builtin_handlers import RateLimitErrorRetryHandler

        limited = RateLimitErrorRetryHandler(max_retry_count=5)
        self.client = WebClient(token=token, base_url=f"{url}/api/", retry_handlers=[limited])

    def scan(self) -> Iterator[dict[str, Any]]:
        people = {
            one["id"]: (one.get("profile") or {}).get("display_name") or one["name"]
            for page in self.client.users_list(limit=200)
            for one in page["members"]
        }
        for page in self.client.conversations_list(types="public_channel", limit=200):
            for channel in page["channels"]:
                for message in self._messages(channel["id"]):
                    yield message | {
                        "_file": f"{channel['name']}/api.json",
                        "_folder": channel["id"],
                        "user": people.get(message.get("user"), message.get("user")),
                    }

    def _messages(self, channel: str) -> Iterator[dict[str, Any]]:
        for page in self.client.conversations_history(channel=channel, limit=200):
            for head in page["messages"]:
                if not head.get("reply_count"):
                    yield head
                    continue
                thread = {"channel": channel, "ts": head["ts"], "limit": 200}
                for answers in self.client.conversations_replies(**thread):
                    yield from answers["messages"]


def faker(count: int) -> Any:
    """The stream ``users`` of Airbyte's source-faker, which is a program beside this one."""
    import airbyte

    program = os.environ["SOURCE_FAKER"]
    config = {"count": count, "seed": 1}
    source = airbyte.get_source(
        "source-faker", local_executable=program, config=config, streams=["users"]
    )
    return source.get_records("users")
