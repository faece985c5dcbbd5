from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def test_a_dry_run_says_how_many_documents_it_does_not_list(
    crosscorpus: Any, tmp_path: Path
) -> None:
    file = tmp_path / "documents.jsonl"
    lines = [{"doc_id": f"d{n}\x1b]0;x", "corpus": "docs", "text": f"page {n}"} for n in range(23)]
    file.write_text("\n".join(map(json.dumps, lines)))
    assert crosscorpus("ingest", "documents", str(file), "-C", "many").returncode == 0
    shown = crosscorpus("drop", "-C", "many", "--corpus", "docs", "--dry-run").stdout
    assert shown.count("\n") == 22
    assert shown.endswith("  and 3 more (--json lists all)\n")
    assert "\x1b" not in shown
    assert crosscorpus("collections", "drop", "many", "--yes").returncode == 0


def test_a_name_that_is_no_utf_8_or_would_write_to_the_terminal_is_one_line(
    crosscorpus: Any, tmp_path: Path
) -> None:
    file = tmp_path / "documents.jsonl"
    line = {"doc_id": "a\x1b]0;x\x07\u202e", "corpus": "docs", "text": "page"}
    file.write_text(json.dumps(line))
    assert crosscorpus("ingest", "documents", str(file), "-C", "odd").returncode == 0
    for name in ("\udcff", "a\x1b]0;x\x07\u202f"):
        told = crosscorpus("drop", "-C", "odd", "--document", name, "--dry-run")
        assert (told.returncode, told.stderr.count("\n"), told.stdout) == (2, 1, "")
        assert "no document" in told.stderr
        assert not {"\x1b", "\x07", "\u202e"} & {*told.stderr}
    assert crosscorpus("collections", "drop", "odd", "--yes").returncode == 0


def test_documents_and_collections_are_listed_and_dropped(crosscorpus: Any, tmp_path: Path) -> None:
    file = tmp_path / "documents.jsonl"
    lines = [{"doc_id": n, "corpus": "docs", "repo": "o/r", "text": f"page {n}"} for n in "ab"]
    file.write_text("\n".join(map(json.dumps, lines)))
    assert crosscorpus("ingest", "documents", str(file), "-C", "to-drop").returncode == 0
    assert "to-drop" in json.loads(crosscorpus("collections", "list", "--json").stdout)

    tried = crosscorpus("drop", "-C", "to-drop", "--document", "a", "--dry-run")
    assert tried.stdout == "would drop 1 documents, 1 chunks\n  docs o/r a\n"
    asked = crosscorpus("drop", "-C", "to-drop", "--document", "a")  # nobody says yes
    assert (asked.returncode, "say --yes" in asked.stderr) == (1, True)
    done = crosscorpus("drop", "-C", "to-drop", "--document", "a", "--yes")
    assert (done.returncode, done.stdout) == (0, "dropped 1 documents, 1 chunks\n"), done.stderr
    again = crosscorpus("drop", "-C", "to-drop", "--document", "a", "--yes")
    assert (again.returncode, "no document 'a'" in again.stderr) == (2, True)

    unknown = crosscorpus("collections", "drop", "to-dorp", "--yes")
    assert (unknown.returncode, "did you mean 'to-drop'" in unknown.stderr) == (2, True)
    assert crosscorpus("collections", "drop", "to-drop", "--yes").stdout == "to-drop is dropped\n"
    assert "to-drop" not in json.loads(crosscorpus("collections", "list", "--json").stdout)
