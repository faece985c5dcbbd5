"""Items as GitHub's REST documentation shows them, from the few values that a test is about."""

from __future__ import annotations

from typing import Any

API = "https://api.github.com"
WEB = "https://github.com"


def user(login: str = "octocat", kind: str = "User") -> dict[str, Any]:
    return {
        "login": login,
        "id": sum(map(ord, login)),
        "node_id": "MDQ6VXNlcjE=",
        "url": f"{API}/users/{login}",
        "html_url": f"{WEB}/{login}",
        "type": kind,
        "site_admin": False,
    }


def comment(
    number: int, pull: int = 1, repo: str = "org/app", reply_to: int | None = None, **more: Any
) -> dict[str, Any]:
    """A review comment; the second of each day of the number is when it was made."""
    made = {
        "url": f"{API}/repos/{repo}/pulls/comments/{number}",
        "pull_request_review_id": 42,
        "id": number,
        "node_id": "MDI0OlB1bGxSZXF1ZXN0UmV2aWV3Q29tbWVudDEw",
        "diff_hunk": "@@ -16,33 +16,40 @@ class Connection:\n     a\n-    b\n+    c",
        "path": "src/app.py",
        "position": 1,
        "original_position": 4,
        "commit_id": "6dcb09b5b57875f334f61aebed695e2e4193db5e",
        "original_commit_id": "9c48853fa3dc5c1c3d6f1f1cd1f2743e72652840",
        "user": user(),
        "body": f"Remark {number}.",
        "created_at": at(number),
        "updated_at": at(number),
        "html_url": f"{WEB}/{repo}/pull/{pull}#discussion_r{number}",
        "pull_request_url": f"{API}/repos/{repo}/pulls/{pull}",
        "author_association": "NONE",
        "start_line": None,
        "original_start_line": None,
        "start_side": None,
        "line": 18,
        "original_line": 17,
        "side": "RIGHT",
        "subject_type": "line",
        "reactions": {"url": "", "total_count": 0, "+1": 0},
    }
    if reply_to is not None:
        made["in_reply_to_id"] = reply_to
    return made | more


def review(number: int, pull: int = 1, repo: str = "org/app", **more: Any) -> dict[str, Any]:
    return {
        "id": number,
        "node_id": "MDE3OlB1bGxSZXF1ZXN0UmV2aWV3ODA=",
        "user": user(),
        "body": f"Verdict {number}.",
        "state": "APPROVED",
        "html_url": f"{WEB}/{repo}/pull/{pull}#pullrequestreview-{number}",
        "pull_request_url": f"{API}/repos/{repo}/pulls/{pull}",
        "submitted_at": at(number),
        "commit_id": "ecdd80bb57125d7ba9641ffaa4d7d2c19d3f3091",
        "author_association": "COLLABORATOR",
    } | more


def issue(number: int, repo: str = "org/app", pull: bool = False, **more: Any) -> dict[str, Any]:
    """An issue as the listing gives it; ``pull``: one that is a pull request."""
    kind = "pull" if pull else "issues"
    made = {
        "id": 900_000 + number,
        "node_id": "MDU6SXNzdWUx",
        "url": f"{API}/repos/{repo}/issues/{number}",
        "repository_url": f"{API}/repos/{repo}",
        "comments_url": f"{API}/repos/{repo}/issues/{number}/comments",
        "html_url": f"{WEB}/{repo}/{kind}/{number}",
        "number": number,
        "state": "open",
        "state_reason": None,
        "title": f"Title {number}",
        "body": f"Trouble {number}.",
        "user": user(),
        "labels": [{"id": 1, "name": "bug", "color": "f29513", "default": True}],
        "comments": 0,
        "closed_at": None,
        "created_at": at(number),
        "updated_at": at(number),
        "author_association": "COLLABORATOR",
    }
    if pull:
        made["pull_request"] = {"url": f"{API}/repos/{repo}/pulls/{number}", "merged_at": None}
    return made | more


def issue_comment(
    number: int, issue: int, repo: str = "org/app", pull: bool = False, **more: Any
) -> dict[str, Any]:
    kind = "pull" if pull else "issues"
    return {
        "id": number,
        "node_id": "MDEyOklzc3VlQ29tbWVudDE=",
        "url": f"{API}/repos/{repo}/issues/comments/{number}",
        "html_url": f"{WEB}/{repo}/{kind}/{issue}#issuecomment-{number}",
        "issue_url": f"{API}/repos/{repo}/issues/{issue}",
        "body": f"Word {number}.",
        "user": user(),
        "created_at": at(number),
        "updated_at": at(number),
        "author_association": "COLLABORATOR",
    } | more


def at(second: int) -> str:
    """A moment as GitHub writes it, ``second`` seconds into 2024."""
    day, rest = divmod(second, 86_400)
    hour, rest = divmod(rest, 3600)
    return f"2024-01-{day + 1:02d}T{hour:02d}:{rest // 60:02d}:{rest % 60:02d}Z"
