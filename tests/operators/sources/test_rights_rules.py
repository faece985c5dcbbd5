"""Rules of who may see what: which one counts, and what is said of one that can't be read."""

from __future__ import annotations

import json
from typing import Any

import polars as pl
import pytest

from operators.errors import CrosscorpusError
from operators.frames import DOCUMENTS
from operators.sources.rights_rules import read_rights, with_rights

RULES = """
rules:
  - {allow: everyone, repo: "acme/*"}
  - {allow: [hr], corpus: docs, path: "payroll/"}
  - {allow: [ann, hr], repo: acme/app, path: "*.secret"}
"""


def allowed(documents: list[dict[str, Any]], rules: str = RULES) -> list[tuple[Any, Any]]:
    rows = [{"document_id": "d", "corpus": "docs", "repo": "", "text": ""} | d for d in documents]
    found = with_rights(pl.DataFrame(rows, schema=DOCUMENTS), read_rights(rules))
    return list(found.select("allowed", "allowed_by").iter_rows())


def test_the_last_rule_that_matches_counts_and_without_one_nothing_is_said() -> None:
    assert allowed(
        [
            {"repo": "acme/app", "path": "a.md"},
            {"repo": "acme/app", "path": "payroll/2026/may.md"},
            {"repo": "acme/app", "path": "payroll/x.secret"},
            {"repo": "acme/web", "corpus": "code", "path": "payroll/x.py"},
            {"repo": "other", "path": "a.md"},
            {"repo": "other", "corpus": "wiki"},
        ]
    ) == [
        (["everyone"], "1"),
        (["hr"], "2"),
        (["ann", "hr"], "3"),
        (["everyone"], "1"),
        (None, None),
        (None, None),
    ]


def test_what_a_source_says_counts_before_any_rule_and_leaves_the_metadata() -> None:
    said = {"allowed": ["ops", "ann", "ops"], "kind": "page"}
    row = {"repo": "acme/app", "metadata": json.dumps(said)}
    rows = [{"document_id": "d", "corpus": "docs", "text": ""} | row]
    found = with_rights(pl.DataFrame(rows, schema=DOCUMENTS), read_rights(RULES))
    assert found["allowed"].to_list() == [["ann", "ops"]]
    assert found["metadata"].to_list() == ['{"kind": "page"}']


@pytest.mark.parametrize("said", [5, [5], [""], {"a": 1}, ["x" * 201], None])
def test_what_a_source_says_so_that_nobody_can_read_it_is_an_error(said: Any) -> None:
    with pytest.raises(CrosscorpusError, match="allowed"):
        allowed([{"metadata": json.dumps({"allowed": said})}])


@pytest.mark.parametrize(
    ("rules", "says"),
    [
        ("rules: [{repo: a}]", "rule 1 of the rights: it needs `allow`"),
        ("rules: [{allow: x}, {allow: y, pth: a}]", "rule 2 .* did you mean 'path'"),
        ("rules: [{allow: x, path: 5}]", "path is a text"),
        ("rules: [{allow: everyone, path: }]", "path is a text, not None"),
        ("rules: []\nrules: [{allow: x}]", "the key 'rules' twice"),
        ("rules: [{allow: x, allow: everyone}]", "the key 'allow' twice"),
        ("rules: [{allow: x, path: '!a'}]", "one pattern"),
        ("rules: [{allow: 5}]", "a list of users and groups"),
        ("unmarked: open", "`deny` or `everyone`"),
        ("rules: x", "a mapping with the list"),
        ("rules: " + "[" * 3_000, "no YAML"),
        ("ruls: []", "did you mean 'rules'"),
    ],
)
def test_rules_that_nobody_can_read_say_what_is_wrong(rules: str, says: str) -> None:
    with pytest.raises(CrosscorpusError, match=says):
        read_rights(rules)
