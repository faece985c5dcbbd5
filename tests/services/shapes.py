"""Records in the shapes of four services' published interfaces."""

from __future__ import annotations

from typing import Any


def adf(text: str) -> dict[str, Any]:
    """``text`` as one paragraph of Atlassian's document format."""
    paragraph = {"type": "paragraph", "content": [{"type": "text", "text": text}]}
    return {"type": "doc", "version": 1, "content": [paragraph]}


def person(name: str | None) -> dict[str, Any] | None:
    """A user of Jira, Confluence or GitLab; None as after its deletion."""
    return name and {"displayName": name, "name": name, "username": name.lower(), "active": True}  # type: ignore[return-value]


def issue(number: int, text: str | None, by: str | None = "Ada", *comments: str) -> dict[str, Any]:
    """An issue of Jira Cloud, as v3 gives it."""
    when = "2026-01-05T10:00:00.000+0100"
    said = [
        {"id": str(n), "author": person("Bo"), "body": adf(one), "created": when, "jsdPublic": True}
        for n, one in enumerate(comments)
    ]
    return {
        "id": str(10_000 + number),
        "key": f"OPS-{number}",
        "self": f"https://example.org/rest/api/3/issue/{10_000 + number}",
        "fields": {
            "summary": f"The proxy drops request {number}",
            "description": None if text is None else adf(text),
            "creator": person(by),
            "reporter": person(by),
            "assignee": None,
            "issuetype": {"name": "Bug"},
            "project": {"key": "OPS", "name": "Operations"},
            "priority": {"name": "High"},
            "status": {"name": "Open"},
            "labels": ["proxy"],
            "created": when,
            "updated": when,
            "comment": {"comments": said, "total": len(said), "maxResults": 20, "startAt": 0},
        },
    }


def page(number: int, html: str, by: str | None = "Ada", above: str = "Handbook") -> dict[str, Any]:
    """A page of Confluence with what the map and the reader of LlamaIndex expand."""
    return {
        "id": str(100 + number),
        "type": "page",
        "status": "current",
        "title": f"Runbook {number}",
        "space": {"key": "OPS", "name": "Operations"},
        "ancestors": [{"id": "99", "title": above}],
        "body": {"storage": {"value": html}, "export_view": {"value": html}},
        "version": {"by": person(by), "when": "2026-01-05T10:00:00.000Z", "number": 3},
        "_links": {"webui": f"/spaces/OPS/pages/{100 + number}"},
    }


def message(
    seconds: int, text: str, user: str | None = "U1", *, thread: int | None = None
) -> dict[str, Any]:
    """A message of Slack in the channel ``C1``."""
    stamp = f"{1767607200 + seconds}.000100"
    said = {"type": "message", "ts": stamp, "text": text, "channel": "C1", "user": user}
    return said if thread is None else said | {"thread_ts": f"{1767607200 + thread}.000100"}


CHANNEL = {"id": "C1", "name": "ops", "is_channel": True}
USERS = [
    {"id": "U1", "name": "ada", "profile": {"display_name": "Ada"}},
    {"id": "U2", "name": "bo"},
]


def gitlab_issue(number: int, text: str | None, by: str | None = "Ada") -> dict[str, Any]:
    """An issue of GitLab."""
    address = f"https://gitlab.example.org/group/app/-/issues/{number}"
    return {
        "id": 500 + number,
        "iid": number,
        "title": f"Crash {number}",
        "description": text,
        "state": "closed",
        "created_at": "2026-01-05T10:00:00.000Z",
        "closed_at": "2026-01-06T10:00:00.000Z",
        "author": person(by),
        "assignee": None,
        "labels": ["bug"],
        "issue_type": "issue",
        "confidential": False,
        "web_url": address,
        "references": {"full": f"group/app#{number}"},
        "_links": {"self": f"https://gitlab.example.org/api/v4/projects/1/issues/{number}"},
    }


def merge_request(number: int, text: str | None, by: str | None = "Ada") -> dict[str, Any]:
    """A merge request of GitLab."""
    request = gitlab_issue(number, text, by) | {"source_branch": "fix", "state": "merged"}
    del request["issue_type"]
    address = f"https://gitlab.example.org/group/app/-/merge_requests/{number}"
    return request | {"web_url": address, "references": {"full": f"group/app!{number}"}}


def discussion(name: str, kind: str, number: int, *texts: str) -> dict[str, Any]:
    """A discussion of GitLab on an ``Issue`` or a ``MergeRequest``; who wrote it is deleted."""
    notes = [
        {
            "id": 900 + n,
            "body": text,
            "author": None,
            "created_at": "2026-01-07T10:00:00.000Z",
            "system": False,
            "internal": False,
            "noteable_type": kind,
            "noteable_iid": number,
        }
        for n, text in enumerate(texts)
    ]
    return {"id": name, "individual_note": False, "notes": notes}
