"""Who may see a document of a service, where the service's records tell it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dataflow.configuration.loader import shipped_maps
from operators.sources.records.record_map import read_map
from operators.sources.records.record_source import records_source
from tests.support.whole_scan import read_all


def read(folder: Path, name: str, files: dict[str, Any], **how: Any) -> list[Any]:
    """What the map ``name`` makes of these files of JSON."""
    for file, content in files.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(json.dumps(content), "utf-8")
    return read_all(records_source(folder, read_map(name, shipped_maps()), **how))


def allowed(document: Any) -> list[str] | None:
    """Who may see a document; None: its record does not tell."""
    stated: list[str] | None = json.loads(document.metadata).get("allowed")
    return stated


def test_a_private_channel_of_slack_is_for_its_members_and_its_group(tmp_path: Path) -> None:
    def said(text: str, **more: Any) -> list[dict[str, Any]]:
        return [{"type": "message", "ts": "1767607200.000100", "user": "U1", "text": text} | more]

    files = {
        "channels.json": [
            {"id": "C1", "name": "general", "is_private": False, "members": ["U1", "U2"]},
            {"id": "C2", "name": "board", "is_private": True, "members": ["U2"]},
        ],
        "groups.json": [
            {"id": "G3", "name": "deploys", "members": [f"U{n:04}" for n in range(1_200)]},
            {"id": "G4", "name": "left"},
        ],
        "general/2026-01-05.json": said("of <##deploys>", user=None, username="#deploys"),
        "board/2026-01-05.json": said("to the board"),
        "deploys/2026-01-05.json": said("to deploys"),
        "left/2026-01-05.json": said("to nobody else"),
    }
    threads = read(tmp_path, "slack", files, base_url="https://t.slack.com")
    seen = {one.document_id.split("/")[0]: allowed(one) for one in threads}
    assert seen["general"] is None
    assert seen["board"] == ["#board", "U2"]
    assert seen["left"] == ["#left"]
    assert "#deploys" in (seen["deploys"] or ())
    assert len(seen["deploys"] or ()) == 901  # a document allows 1,000 at most; a group has all
    addresses = {one.uri.split("/")[4] for one in threads}
    assert addresses == {"C1", "C2", "G3", "G4"}
    (general,) = (one for one in threads if one.document_id.startswith("general"))
    assert general.text == "**deploys**\n\nof <##deploys>"  # no name gives a channel's members


def restrictions(*users: str, groups: tuple[str, ...] = ()) -> dict[str, Any]:
    """Confluence's ``restrictions`` of a page, with the accounts of these users."""
    people = {"results": [{"accountId": one} for one in users]}
    by_kind = {"user": people, "group": {"results": [{"name": one} for one in groups]}}
    return {"restrictions": {"read": {"operation": "read", "restrictions": by_kind}}}


@pytest.mark.parametrize(
    ("page", "above", "seen"),
    [
        ({}, {}, None),
        (restrictions(), {}, None),
        (restrictions("ann", groups=("hr",)), {}, ["ann", "hr"]),
        ({}, restrictions(groups=("hr",)), ["hr"]),
        (restrictions("ann", "bo"), restrictions("bo", groups=("hr",)), ["bo"]),
        (restrictions("ann"), restrictions("bo"), []),
    ],
)
def test_a_restricted_page_of_confluence_is_for_those_whom_each_level_names(
    tmp_path: Path, page: dict[str, Any], above: dict[str, Any], seen: list[str] | None
) -> None:
    record = {"id": "7", "title": "Pay", "body": {"storage": {"value": "<p>Text</p>"}}} | page
    record["ancestors"] = [{"title": "Top"}, {"title": "HR"} | above]
    (document,) = read(tmp_path, "confluence", {"pages.json": {"results": [record]}})
    assert allowed(document) == seen


@pytest.mark.parametrize("named", [("ann",), ()])
def test_a_restriction_to_someone_without_a_name_opens_nothing(
    tmp_path: Path, named: tuple[str, ...]
) -> None:
    record = {"id": "7", "title": "Pay", "body": {"storage": {"value": "<p>Text</p>"}}}
    record |= restrictions(*named)
    record["restrictions"]["read"]["restrictions"]["user"]["results"].append({"type": "unknown"})
    (document,) = read(tmp_path, "confluence", {"pages.json": [record]})
    assert allowed(document) == [*named]


@pytest.mark.parametrize(
    ("visibility", "issues", "open_issue", "request_"),
    [
        ("public", "enabled", ["everyone"], ["everyone"]),
        ("public", "private", ["gitlab:g/app"], ["everyone"]),
        ("internal", "enabled", ["gitlab:g/app"], ["gitlab:g/app"]),
        ("private", "enabled", ["gitlab:g/app"], ["gitlab:g/app"]),
        (None, "enabled", None, None),
    ],
)
def test_a_project_of_gitlab_says_who_sees_it_and_a_confidential_issue_is_for_fewer(
    tmp_path: Path,
    visibility: str | None,
    issues: str,
    open_issue: list[str] | None,
    request_: list[str] | None,
) -> None:
    project = {"id": 3, "path_with_namespace": "g/app", "visibility": visibility}
    project |= {"issues_access_level": issues, "merge_requests_access_level": "enabled"}
    issue = {"iid": 7, "title": "Leak", "project_id": 3, "confidential": False}
    said = {"project_id": 3, "body": "b", "author": {"name": "#3"}, "noteable_iid": 7}
    records: list[dict[str, Any]] = [
        issue,
        issue | {"iid": 8, "confidential": True, "references": {"full": "g/app#8"}},
        {"iid": 9, "title": "of another project", "project_id": 4, "confidential": False},
        {"iid": 10, "title": "that does not say whether it is confidential", "project_id": 3},
        {"iid": 1, "title": "Fix", "project_id": 3, "source_branch": "fix"},
        {"id": "d1", "notes": [said | {"noteable_type": "MergeRequest"}]},
        {"id": "d2", "notes": [said | {"noteable_type": "Issue"}]},
        issue | {"iid": 11, "confidential": True},
    ]
    found = read(tmp_path, "gitlab", {"projects.json": project, "records.json": records})
    fewer = ["gitlab:g/app:confidential"]
    assert {one.document_id: allowed(one) for one in found} == {
        "issues/7": open_issue,
        "issues/8": fewer,
        "issues/9": None,
        "issues/10": None,
        "merge_requests/1": request_,
        "merge_requests/7/d1": request_,
        "issues/7/d2": None,  # its issue may be confidential
        "issues/11": [],
    }
    assert "gitlab:" not in " ".join(one.text for one in found)  # an author's name names no project


@pytest.mark.parametrize("name", ["jira", "jira_server"])
def test_a_role_of_jira_says_who_sees_a_project_and_a_security_level_is_for_fewer(
    tmp_path: Path, name: str
) -> None:
    actors = [{"name": "site admins"}, {"displayName": "Mia", "actorUser": {"accountId": "5b1"}}]
    role = {"self": "https://jira/rest/api/3/project/OPS/role/10002", "actors": actors}
    unsaid = {"summary": "A", "project": {"key": "OPS"}}  # not asked for its level
    fields = unsaid | {"security": None}
    issues = [
        {"key": "OPS-1", "fields": fields},
        {"key": "OPS-3", "fields": unsaid},
        {"key": "OPS-2", "fields": fields | {"security": {"name": "board"}}},
        {"key": "WEB-1", "fields": fields | {"project": {"key": "WEB"}}},
    ]
    found = read(tmp_path, name, {"roles.json": role, "issues.json": {"issues": issues}})
    assert [allowed(one) for one in found] == [["5b1", "site admins"], None, ["board"], None]


@pytest.mark.parametrize("level", [{"name": "board"}, {"id": "board"}])
def test_a_security_level_of_jira_is_a_group(tmp_path: Path, level: dict[str, str]) -> None:
    issue = {"key": "OPS-1", "fields": {"summary": "A", "security": level}}
    (hidden,) = read(tmp_path, "jira", {"a.json": {"issues": [issue]}})
    assert allowed(hidden) == ["board"]


def test_a_security_level_in_a_table_of_jira_is_a_group(tmp_path: Path) -> None:
    table = tmp_path / "jira.csv"
    table.write_text("Issue key,Summary,Security Level\nOPS-1,A,board\nOPS-2,B,\n", "utf-8")
    hidden, plain = read_all(records_source(table, read_map("jira_csv", shipped_maps())))
    assert (allowed(hidden), allowed(plain)) == (["board"], None)
