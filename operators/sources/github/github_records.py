"""GitHub's review comments, reviews, pull requests, issues and their comments, as records.

The shapes are those of the REST API. Users are null once their account is deleted, a body may be
null, and positions are null once the commented lines are gone.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from operators.foundation.sanitize import clean_text
from operators.postgres.write.sync_state import SyncItem
from operators.sources.formats.shown_text import shown_text
from operators.sources.jsonl import parse_moment
from operators.sources.protocol import printable
from operators.sources.secrets import redacted

READER = "github/1"

COMMENT, REVIEW, PULL = "comment", "review", "pull"
ISSUE, ISSUE_COMMENT = "issue", "issue_comment"

GHOST = "ghost"
"""GitHub's name for an author whose account is deleted."""

HUNK_LINES_KEPT = 40

_NUMBER = re.compile(r"/(\d{1,15})/?$")
_REPOSITORY = re.compile(r"/repos/([^/\s]+/[^/\s]+)(?:/|$)")
_LINES = re.compile(r"\r\n?")


class BadItem(ValueError):
    """A JSON value is not an item of GitHub's, or lacks what every such item has."""


def sync_item(value: Any) -> SyncItem | None:
    """The record of an item from the API; its kind follows from its keys.

    None for a review that is not submitted yet: only its author may see it.

    Raises:
        BadItem: it is none of the five kinds, or a value in it has an impossible type.
    """
    if not isinstance(value, Mapping):
        raise BadItem("not a JSON object")
    kind = _kind(value)
    if kind == REVIEW and value.get("state") == "PENDING":
        return None
    data = _COMMON[kind](value)
    number = _number(value, kind)
    updated = _moment(value, "updated_at") or _moment(value, "submitted_at") or data["created_at"]
    item_id = number if kind in (ISSUE, PULL) else _whole_number(value, "id")
    return SyncItem(kind, item_id, number, parse_moment(updated), _hash(data), data)


def without_secrets(item: SyncItem) -> SyncItem:
    """``item`` with each secret replaced by a mark (:mod:`operators.sources.secrets`)."""
    data = {k: redacted(v) if isinstance(v, str) else v for k, v in item.data.items()}
    return replace(item, data=data, content_hash=_hash(data))


def repository_of(value: Mapping[str, Any]) -> str | None:
    """``owner/name`` of the repository that an item of the API is in.

    >>> repository_of({"pull_request_url": "https://api.github.com/repos/org/app/pulls/7"})
    'org/app'
    """
    for key in ("pull_request_url", "issue_url", "repository_url", "url"):
        link = value.get(key)
        match = _REPOSITORY.search(link) if isinstance(link, str) else None
        if match:
            return clean_text(match[1])
    return None


def is_pull(items: Iterable[SyncItem]) -> bool:
    """Whether the items of one number are those of a pull request, by itself or its comments."""
    by_kind = {item.kind: item.data for item in items}
    link = by_kind.get(ISSUE_COMMENT, {}).get("html_url") or ""
    return PULL in by_kind or (ISSUE not in by_kind and "/pull/" in link)


def time_at(data: Mapping[str, Any], key: str) -> datetime | None:
    """The time at ``key`` of a record; None if it has none."""
    text = data.get(key)
    return None if text is None else parse_moment(text)


def comment_block(data: Mapping[str, Any], note: str | None = None) -> str:
    """``@login: body``, as GitHub shows it; ``note`` goes into brackets after the login."""
    suffix = f" ({note})" if note else ""
    return f"@{data['login']}{suffix}: {shown_body(data)}".rstrip()


def shown_body(data: Mapping[str, Any]) -> str:
    """The body of a record without what GitHub hides, such as the comments of a template."""
    return shown_text(data.get("body") or "", "markdown").strip()


def _hash(data: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


def _kind(value: Mapping[str, Any]) -> str:
    if "pull_request_url" in value:
        return COMMENT if "diff_hunk" in value or "path" in value else REVIEW
    if "issue_url" in value and "title" not in value:
        return ISSUE_COMMENT
    if "number" in value and "title" in value:
        return PULL if value.get("pull_request") is not None or "head" in value else ISSUE
    message = value.get("message")
    if isinstance(message, str) and "id" not in value:
        raise BadItem(f"an error that GitHub gave: {printable(message)[:200]}")
    raise BadItem("neither a review comment, a review, a pull request, an issue nor a comment")


def _author(value: Mapping[str, Any]) -> dict[str, Any]:
    user = value.get("user")
    if user is None:
        return {"login": GHOST, "bot": False}
    login = user.get("login") if isinstance(user, Mapping) else None
    if not isinstance(login, str) or not login:
        raise BadItem("user has no login")
    bot = user.get("type") == "Bot" or login.endswith("[bot]")
    return {"login": printable(login), "bot": bot}


def _written(value: Mapping[str, Any]) -> dict[str, Any]:
    created = _moment(value, "created_at") or _moment(value, "submitted_at")
    if created is None:
        raise BadItem("created_at is missing")
    return {
        **_author(value),
        "body": _text(value, "body"),
        "created_at": created,
        "changed_at": _moment(value, "updated_at") or created,
        "html_url": _text(value, "html_url"),
    }


def _comment(value: Mapping[str, Any]) -> dict[str, Any]:
    line = _integer(value, "line")
    original = _integer(value, "original_line")
    hunk = _text(value, "diff_hunk") or ""
    outdated = line is None and _integer(value, "position") is None
    return {
        **_written(value),
        "path": _text(value, "path"),
        "hunk": "\n".join(hunk.split("\n")[-HUNK_LINES_KEPT:]),
        "line": original if line is None else line,
        "outdated": outdated and value.get("subject_type") != "file",
        "reply_to": _integer(value, "in_reply_to_id"),
    }


def _review(value: Mapping[str, Any]) -> dict[str, Any]:
    return {**_written(value), "state": _text(value, "state") or "COMMENTED"}


def _pull(value: Mapping[str, Any]) -> dict[str, Any]:
    data = _issue(value)
    listed = value.get("pull_request")  # in a listing of issues: the fields of a pull
    merged = _moment(listed if isinstance(listed, Mapping) else value, "merged_at")
    return {**data, "state": "merged" if merged else data["state"]}


def _issue(value: Mapping[str, Any]) -> dict[str, Any]:
    labels = value.get("labels")
    listed = labels if isinstance(labels, list) else []
    names = [label.get("name") if isinstance(label, Mapping) else label for label in listed]
    data = _written(value)
    del data["changed_at"]  # also changed by events outside the document, such as a mention
    return {
        **data,
        "title": _text(value, "title"),
        "state": _text(value, "state"),
        "state_reason": _text(value, "state_reason"),
        "closed_at": _moment(value, "closed_at"),
        "labels": sorted(clean_text(name) for name in names if isinstance(name, str)),
    }


_COMMON = {COMMENT: _comment, REVIEW: _review, PULL: _pull, ISSUE: _issue, ISSUE_COMMENT: _written}


def _number(value: Mapping[str, Any], kind: str) -> int:
    if kind in (ISSUE, PULL):
        return _whole_number(value, "number")
    key = "issue_url" if kind == ISSUE_COMMENT else "pull_request_url"
    match = _NUMBER.search(_text(value, key) or "")
    if not match:
        raise BadItem(f"{key} does not end in a number")
    return int(match[1])


def _integer(value: Mapping[str, Any], key: str) -> int | None:
    return None if value.get(key) is None else _whole_number(value, key)


def _whole_number(value: Mapping[str, Any], key: str) -> int:
    number = value.get(key)
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < 2**63:
        raise BadItem(f"{key} is missing" if number is None else f"{key} is no whole number")
    return number


def _text(value: Mapping[str, Any], key: str) -> str | None:
    text = value.get(key)
    if text is None:
        return None
    if not isinstance(text, str):
        raise BadItem(f"{key} is no string")
    return _LINES.sub("\n", clean_text(text))


def _moment(value: Mapping[str, Any], key: str) -> str | None:
    text = _text(value, key)
    if not text:
        return None
    try:
        return parse_moment(text).isoformat()
    except ValueError as exc:
        raise BadItem(f"{key} {text[:40]!r} is no ISO 8601 moment") from exc
