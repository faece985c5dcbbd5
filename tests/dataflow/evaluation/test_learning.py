from __future__ import annotations

import json
from pathlib import Path

from dataflow.evaluation.learning import groups_of


def test_a_query_without_a_group_is_a_group_of_its_own(tmp_path: Path) -> None:
    rows = [{"query_id": "a", "text": "x", "group": "g"}, {"query_id": "b", "text": "y"}]
    file = tmp_path / "queries.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert groups_of(file, ["b", "a"]) == ["b", "g"]
