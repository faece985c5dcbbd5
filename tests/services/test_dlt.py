"""dlt's rest_api source gives the records of services as they are, so that our maps read them."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml

pytest.importorskip("dlt.sources.rest_api", reason="it needs: make test-services")

from loopback import Loopback, busy, confluence, gitlab, jira, serving
from shapes import discussion, gitlab_issue, issue, merge_request, page

from operators.postgres.store import collections, open_store

DLT = "python:dlt.sources.rest_api:rest_api_source"
Ingest = Callable[..., Any]


def of_jira(server: Loopback) -> dict[str, Any]:
    """The configuration of docs/records.md."""
    search = {
        "path": "search/jql",
        "params": {"jql": "project=OPS", "fields": "*all", "maxResults": 100},
        "data_selector": "issues",
        "paginator": {
            "type": "cursor",
            "cursor_path": "nextPageToken",
            "cursor_param": "nextPageToken",
        },
    }
    auth = {"type": "http_basic", "username": "ada@example.org", "password": "${DESK_TOKEN}"}
    client = {"base_url": f"{server.url}/rest/api/3/", "auth": auth}
    return {"client": client, "resources": [{"name": "issues", "endpoint": search}]}


def of_gitlab(server: Loopback) -> dict[str, Any]:
    def discussions(kind: str) -> dict[str, Any]:
        path = f"projects/1/{kind}/{{resources.{kind}.iid}}/discussions"
        return {"name": f"{kind}_discussions", "endpoint": {"path": path}}

    auth = {"type": "api_key", "name": "PRIVATE-TOKEN", "api_key": "${DESK_TOKEN}"}
    kinds = ("issues", "merge_requests")
    lists = [{"name": one, "endpoint": {"path": f"projects/1/{one}"}} for one in kinds]
    client = {"base_url": f"{server.url}/api/v4/", "auth": auth, "paginator": "header_link"}
    return {"client": client, "resources": [*lists, *map(discussions, kinds)]}


def test_issues_of_jira_have_their_comments_and_a_deleted_author_is_none(
    ingest: Ingest, documents: Ingest
) -> None:
    found = [issue(n, f"text {n}", "Ada", f"comment {n}") for n in range(1, 251)]
    found[1] = issue(2, None, None)
    how = ("--map", "jira", "--repo", "ops", "--base-url", "https://jira.example.org")
    with serving(jira, issues=found) as server:
        server.faults = [None, busy()]
        report = ingest("dlt-jira", DLT, *how, config=of_jira(server))
        assert (report["code"], report["documents_new"]) == (0, 250), report
        assert len(server.requests) == 4  # three pages, one of them twice; none for a look before
        found[4] = issue(5, "edited", "Ada", "comment 5", "a new comment")
        server.faults = [None, *[(404, {}, {})] * 9]
        failed = ingest("dlt-jira", DLT, *how, "--prune", config=of_jira(server))
        assert (failed["code"], failed["documents_deleted"]) == (3, 0), failed
        server.faults = []
        del found[10:12]
        again = ingest("dlt-jira", DLT, *how, "--prune", config=of_jira(server))
        counts = ("documents_new", "documents_unchanged", "documents_deleted")
        assert [again[name] for name in counts] == [0, 248, 2], again
    kept = documents("dlt-jira")
    assert "a new comment" in kept["OPS-5"]["text"]
    assert kept["OPS-5"]["uri"] == "https://jira.example.org/browse/OPS-5"
    assert kept["OPS-2"]["text"].strip() == "OPS-2 The proxy drops request 2"
    assert "authors" not in kept["OPS-2"]["metadata"]


def test_issues_requests_and_discussions_of_gitlab_come_in_one_reading(
    ingest: Ingest, documents: Ingest
) -> None:
    records = {
        "issues": [gitlab_issue(n, f"text {n}") for n in range(1, 46)],
        "merge_requests": [merge_request(88, None, None)],
        "discussions": [
            discussion("d1", "MergeRequest", 88, "why this?", "because of #7"),
            discussion("d2", "Issue", 7, "me too"),
        ],
    }
    with serving(gitlab, **records) as server:
        server.faults = [None, busy()]
        given = ("--map", "gitlab", "--base-url", "https://gitlab.example.org/group/app")
        how = (*given, "--repo", "group/app")
        report = ingest("dlt-lab", DLT, *how, config=of_gitlab(server))
        assert (report["code"], report["documents_new"]) == (0, 48), report
        records["discussions"][0]["notes"][1]["body"] = "because of #8"
        again = ingest("dlt-lab", DLT, *how, config=of_gitlab(server))
        assert (again["documents_changed"], again["documents_unchanged"]) == (1, 47)
    found = documents("dlt-lab")
    assert {one["repo"] for one in found.values()} == {"group/app"}
    thread = found["merge_requests/88/d1"]
    assert (thread["corpus"], thread["uri"].rpartition("#")[2]) == ("review", "note_900")
    assert "because of #8" in thread["text"]
    assert "me too" in found["issues/7/d2"]["text"]
    assert found["merge_requests/88"]["corpus"] == "review"


def test_a_page_of_confluence_that_moved_is_one_document_with_its_new_path(
    ingest: Ingest, documents: Ingest, server_dsn: str
) -> None:
    pages = [page(n, f"<p>restart {n}</p>") for n in range(60)]
    pages[2] = page(2, "", None)
    content = {
        "path": "content",
        "params": {"spaceKey": "OPS", "expand": "body.storage,version,space,ancestors"},
        "data_selector": "results",
        "paginator": {"type": "offset", "limit": 25, "offset_param": "start", "total_path": None},
    }
    auth = {"type": "bearer", "token": "${DESK_TOKEN}"}
    with serving(confluence, pages=pages) as server:
        client = {"base_url": f"{server.url}/wiki/rest/api/", "auth": auth}
        config = {"client": client, "resources": [{"name": "pages", "endpoint": content}]}
        how = ("--map", "confluence", "--base-url", f"{server.url}/wiki")
        first = ingest("dlt-wiki", DLT, *how, config=config)
        assert (first["code"], first["documents_new"]) == (0, 59), first
        pages[1]["ancestors"] = [{"id": "98", "title": "Archive"}]
        second = ingest("dlt-wiki", DLT, *how, config=config)
        assert (second["documents_changed"], second["documents_unchanged"]) == (1, 58), second
    assert "102" not in documents("dlt-wiki")  # an empty page has no body.storage.value
    with open_store(server_dsn, "dlt-wiki") as store:
        rows = store.rows("SELECT DISTINCT path FROM chunks WHERE document_id = '101'")
    assert [path for (path,) in rows] == ["Archive/Runbook 1"]


def test_no_error_of_dlt_shows_a_token_in_an_address(ingest: Ingest) -> None:
    with serving(jira, issues=[]) as server:
        config = of_jira(server)
        config["client"]["auth"] = {
            "type": "api_key", "name": "key", "api_key": "${DESK_TOKEN}", "location": "query"
        }  # fmt: skip
        server.faults = [(403, {}, {})]
        failed = ingest("dlt-bad", DLT, "--map", "jira", config=config)
    assert failed["code"] == 1
    assert "403" in failed["errors"]
    assert "distinctive" not in failed["errors"]


def test_a_run_that_was_killed_goes_on_where_it_was(
    ingest: Ingest, started: Ingest, tmp_path: Path, server_dsn: str
) -> None:
    found = [issue(n, f"text {n}") for n in range(1, 1201)]
    options = tmp_path / "killed.yaml"
    with serving(jira, issues=found) as server:
        options.write_text(yaml.safe_dump({"init": {"config": of_jira(server)}}))
        how = ["--map", "jira", "--repo", "ops"]
        waits = [True]

        def wait(path: str, query: dict[str, str]) -> None:
            deadline = time.monotonic() + 60
            while query.get("nextPageToken") == "1100" and waits and time.monotonic() < deadline:
                time.sleep(0.02)

        server.before = wait
        line = ["ingest", "from", DLT, "--options", str(options), *how]
        with started(*line, "-C", "dlt-killed", "--wait", "words", "--prune") as process:
            deadline = time.monotonic() + 60
            while (
                server.requests[-1:] == [] or server.requests[-1][1].get("nextPageToken") != "1100"
            ):
                assert time.monotonic() < deadline
                time.sleep(0.02)
            time.sleep(0.5)
            process.kill()  # kill -9
        waits.clear()
        assert "dlt-killed" in collections(server_dsn)
        with open_store(server_dsn, "dlt-killed") as store:
            ((stored,),) = store.rows("SELECT count(DISTINCT document_id) FROM chunks")
        assert 0 < stored < 1200
        del found[0]
        second = ingest("dlt-killed", DLT, *how, "--prune", config=of_jira(server))
        assert second["code"] == 0, second
        assert second["documents_new"] == 1199 - (stored - 1)
        assert second["documents_unchanged"] == stored - 1
        assert second["documents_deleted"] == 1
        third = ingest("dlt-killed", DLT, *how, "--prune", config=of_jira(server))
        assert (third["documents_unchanged"], third["chunks"]) == (1199, 0)


def test_ten_thousand_issues_are_read_in_bounded_memory(
    environment: dict[str, str], started: Ingest, ingest: Ingest, tmp_path: Path
) -> None:
    text = "The proxy drops a request after a timeout of the pool. " * 8
    found = [issue(n, f"{n} {text}", "Ada", f"comment {n}") for n in range(10_000)]
    with serving(jira, issues=found) as server:
        options = tmp_path / "many.yaml"
        options.write_text(yaml.safe_dump({"init": {"config": of_jira(server)}}))
        line = ["ingest", "from", DLT, "--options", str(options), "--map", "jira"]
        began, peak = time.monotonic(), 0
        with started(*line, "-C", "dlt-many", "--wait", "words") as process:
            watched = psutil.Process(process.pid)
            while process.poll() is None:
                peak = max(peak, _resident(watched))
                time.sleep(0.05)
            assert process.returncode == 0
        first = time.monotonic() - began
        assert len(server.requests) == 100
        again = ingest("dlt-many", DLT, "--map", "jira", config=of_jira(server), own_process=True)
    assert (again["documents_unchanged"], again["chunks"]) == (10_000, 0)
    print(f"\n10,000 issues: {first:.0f} s, {peak >> 20} MB; again: {again['seconds']:.0f} s")
    assert peak < 2 << 30


def _resident(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.Error:
        return 0
