"""versions list and versions diff as a user runs them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from operators.postgres.store import drop_collection

NAME = "cli-versions"

SAME = "The cache is kept in memory and written to the disk when the machine has time for it."
LIMIT = "At most {} entries are kept for each user of the machine, the oldest go first."
ODD = "Printing goes through the spooler on the second floor, which is restarted at night."


@pytest.fixture(scope="module")
def run(crosscorpus: Any) -> Any:
    return lambda *arguments: crosscorpus(*arguments, "-C", NAME)


@pytest.fixture(scope="module", autouse=True)
def collection(run: Any, server_dsn: str, tmp_path_factory: Any) -> Iterator[None]:
    rows: list[dict[str, Any]] = [
        {
            "doc_id": f"{version}/{name}", "corpus": "docs", "title": f"The {name}",
            "path": f"manual/{version}/{name}.md", "version": version, "created_at": date,
            "text": "\n\n".join(parts),
        }
        for version, date, name, parts in [
            ("1.9", "2020-01-01", "cache", [SAME, LIMIT.format(100), ODD]),
            ("1.10", "2021-01-01", "cache", [SAME, LIMIT.format(250)]),
            ("2.0", "2022-01-01", "cache", [SAME, LIMIT.format(250)]),
            ("2.0", "2022-01-01", "alone", [ODD]),
        ]
    ]  # fmt: skip
    file = Path(tmp_path_factory.mktemp("versions")) / "documents.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = run("ingest", "documents", str(file))
    assert done.returncode == 0, done.stderr
    yield
    drop_collection(server_dsn, NAME)


def test_versions_list_names_the_topics_that_have_versions(run: Any) -> None:
    told = json.loads(run("versions", "list", "--json").stdout)
    assert [(t["lineage_id"], t["versions"], t["newest"]) for t in told] == [
        ("manual/cache.md", 3, "2.0")
    ]


@pytest.mark.parametrize("name", ["manual/1.10/cache.md", "cache.md", "The cache", "1.9/cache"])
def test_versions_list_shows_them_in_order_whatever_names_the_topic(run: Any, name: str) -> None:
    told = json.loads(run("versions", "list", name, "--json").stdout)
    assert [row["version"] for row in told] == ["1.9", "1.10", "2.0"]
    assert told[0]["same"] is None
    assert told[2]["same"] == told[2]["passages"]


def test_versions_list_prints_dates_and_what_each_version_changed(run: Any) -> None:
    lines = run("versions", "list", "cache.md").stdout.splitlines()
    assert "2.0 newest" in lines[-1]
    assert "2021-01-01 (explicit)" in lines[-2]


def test_versions_diff_shows_the_words_that_went_and_came(run: Any) -> None:
    told = run("versions", "diff", "cache.md", "--from", "1.9", "--to", "1.10").stdout
    assert "At most [-100-]{+250+} entries" in told
    assert "[-Printing goes" in told
    assert "0 added, 1 removed, 1 revised" in told


def test_versions_diff_takes_the_newest_two_versions_unless_told(run: Any) -> None:
    told = json.loads(run("versions", "diff", "cache.md", "--json").stdout)
    assert (told["from"]["version"], told["to"]["version"]) == ("1.10", "2.0")
    assert told["changes"] == []


def test_an_unknown_topic_is_told_with_the_nearest(run: Any) -> None:
    done = run("versions", "list", "manual/cach.md")
    assert done.returncode == 2
    assert "did you mean 'manual/cache.md'" in done.stderr


def test_an_unknown_version_is_told_with_those_there_are(run: Any) -> None:
    done = run("versions", "diff", "cache.md", "--from", "1.8")
    assert done.returncode == 2
    assert "it has 1.9, 1.10, 2.0" in done.stderr


def test_versions_the_wrong_way_round_are_refused(run: Any) -> None:
    done = run("versions", "diff", "cache.md", "--from", "2.0", "--to", "1.9")
    assert "is not older than" in done.stderr


def test_a_document_without_another_version_says_so(run: Any) -> None:
    assert "once only, version 2.0" in run("versions", "list", "manual/2.0/alone.md").stderr
    assert "once only, version 2.0" in run("versions", "list", "alone.md").stderr
