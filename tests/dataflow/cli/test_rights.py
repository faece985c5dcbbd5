"""The commands for rights, as a person types them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

RULES = """
rules:
  - {allow: everyone, path: "handbook/"}
  - {allow: [hr], path: "payroll/"}
"""


@pytest.fixture(scope="module")
def team(crosscorpus: Any, tmp_path_factory: Any) -> str:
    folder = tmp_path_factory.mktemp("team")
    for name, text in (("payroll", "Who is paid when."), ("handbook", "All are paid on time.")):
        (folder / name).mkdir()
        (folder / name / "a.md").write_text(f"# {name}\n\n{text}\n")
    done = crosscorpus("ingest", "folder", str(folder), "-C", "rights-cli", "--wait", "words")
    assert done.returncode == 0, done.stderr
    (folder / "rights.yaml").write_text(RULES)
    done = crosscorpus("rights", "set", str(folder / "rights.yaml"), "-C", "rights-cli")
    assert (done.returncode, done.stdout) == (0, "the readers of 1 document changed\n")
    return "rights-cli"


def test_check_shows_what_somebody_would_get(crosscorpus: Any, team: str) -> None:
    for groups, paths in (((), {"handbook"}), (("--group", "hr"), {"handbook", "payroll"})):
        done = crosscorpus("rights", "check", "ann", "who is paid?", *groups, "-C", team, "--json")
        labels = [one["label"] for one in json.loads(done.stdout)]
        assert {label.split("/")[0].removeprefix("[docs: ") for label in labels} == paths


def test_explain_says_which_rule_it_is(crosscorpus: Any, team: str) -> None:
    done = crosscorpus("rights", "explain", "payroll/a.md", "ann", "-C", team)
    assert "ann does not see docs" in done.stdout
    assert "rule 2 ({allow: [hr], path: payroll/}) allows hr" in done.stdout
    done = crosscorpus("rights", "explain", "payroll/b.md", "ann", "-C", team)
    assert (done.returncode, "payroll/a.md" in done.stderr) == (2, True)


def test_show_counts_documents_by_those_who_see_them(crosscorpus: Any, team: str) -> None:
    shown = json.loads(crosscorpus("rights", "show", "-C", team, "--json").stdout)
    assert [(one["allowed"], one["documents"]) for one in shown["sets"]] == [
        (["everyone"], 1),
        (["hr"], 1),
    ]


def test_wrong_rules_change_nothing(crosscorpus: Any, team: str, tmp_path: Path) -> None:
    (tmp_path / "wrong.yaml").write_text("rules: [{allow: everyone, pth: a}]")
    done = crosscorpus("rights", "set", str(tmp_path / "wrong.yaml"), "-C", team)
    assert (done.returncode, "did you mean 'path'" in done.stderr) == (1, True)
    (tmp_path / "wrong.yaml").write_bytes(b"\xff\xfe: 1")
    done = crosscorpus("rights", "set", str(tmp_path / "wrong.yaml"), "-C", team)
    assert (done.returncode, "the rights are no YAML" in done.stderr) == (1, True)
    assert "payroll" in crosscorpus("rights", "show", "-C", team).stdout


def test_a_server_that_others_reach_asks_for_tokens(crosscorpus: Any, team: str) -> None:
    done = crosscorpus("serve", "-C", team, "--host", "0.0.0.0", "--port", "8799")
    assert done.returncode == 1
    assert "--tokens FILE" in done.stderr
    assert "--open" in done.stderr


def test_a_token_is_shown_once_and_its_entry_has_a_hash(crosscorpus: Any) -> None:
    done = crosscorpus("rights", "token", "ann", "--group", "hr", "--expires", "2027-01-01")
    token = done.stderr.split()[-1]
    assert token.startswith("cc_")
    assert token not in done.stdout
    assert "2027-01-01" in done.stdout
    done = crosscorpus("rights", "token", "ann", "--expires", "soon")
    assert (done.returncode, "does not match the format" in done.stderr) == (2, True)


def test_no_token_is_made_that_has_expired_already(crosscorpus: Any) -> None:
    for day in ("2020-01-01", f"{datetime.now(UTC):%Y-%m-%d}"):
        done = crosscorpus("rights", "token", "ann", "--expires", day)
        assert (done.returncode, done.stdout) == (1, "")
        assert "in the past" in done.stderr


def test_what_no_record_speaks_of_is_for_its_importer_until_rules_are_set(
    crosscorpus: Any, tmp_path: Path
) -> None:

    def ingest(*issues: dict[str, Any]) -> str:
        export.write_text(json.dumps({"issues": [*issues]}))
        done = crosscorpus("ingest", "records", str(export), "--map", "jira", *words)
        assert done.returncode == 0, done.stderr
        return str(done.stdout)

    def ann_sees(*groups: str) -> list[str]:
        done = crosscorpus("rights", "check", "ann", "proxy", *groups, "-C", "rights-new", "--json")
        return [one["label"] for one in json.loads(done.stdout)]

    export, words = tmp_path / "export.json", ("-C", "rights-new", "--wait", "words")
    plain = {"key": "OPS-1", "fields": {"summary": "Proxy loops"}}
    secret = {"key": "OPS-2", "fields": {"summary": "Proxy leaks", "security": {"name": "board"}}}
    for issues in ([plain], [plain, secret]):
        report = " ".join(ingest(*issues).split())
        assert "1 document here is for you alone: nothing says who may see" in report
        assert "`crosscorpus rights set FILE -C rights-new`" in report
        assert ann_sees() == []
    found = crosscorpus("query", "proxy", "-C", "rights-new").stdout
    assert all(key in found for key in ("OPS-1", "OPS-2"))
    why = crosscorpus("rights", "explain", "OPS-1", "ann", "-C", "rights-new").stdout
    assert "nothing says who may, and then nobody does" in why
    assert (ann_sees(), ann_sees("--group", "board")) == ([], ["[ticket: OPS-2 Proxy leaks]"])
    (tmp_path / "rights.yaml").write_text("unmarked: everyone\n")
    crosscorpus("rights", "set", str(tmp_path / "rights.yaml"), "-C", "rights-new")
    assert "for you alone" not in ingest(plain, secret, plain | {"key": "OPS-3"})
    assert ann_sees() == [f"[ticket: OPS-{n} Proxy loops]" for n in (1, 3)]
