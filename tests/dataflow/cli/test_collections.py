from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest


def test_a_dry_run_says_how_many_documents_it_does_not_list(
    crosscorpus: Any, tmp_path: Path
) -> None:
    file = tmp_path / "documents.jsonl"
    lines = [{"doc_id": f"d{n}\x1b]0;x", "corpus": "docs", "text": f"page {n}"} for n in range(23)]
    file.write_text("\n".join(map(json.dumps, lines)))
    assert crosscorpus("ingest", "documents", str(file), "-C", "many").returncode == 0
    shown = crosscorpus("drop", "-C", "many", "--corpus", "docs", "--dry-run").stdout
    assert shown.count("\n") == 22
    assert shown.endswith("  ... and 3 more (--json lists all)\n")
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
    assert "ingest" not in unknown.stderr  # who drops does not want it made
    assert crosscorpus("collections", "drop", "to-drop", "--yes").stdout == "to-drop is dropped\n"
    assert "to-drop" not in json.loads(crosscorpus("collections", "list", "--json").stdout)


def test_an_imported_collection_answers_as_the_exported_one_and_its_ingestion_goes_on(
    crosscorpus: Any, collection: str, repository: Path, tmp_path: Path
) -> None:
    folder = str(tmp_path / "backup" / "team")
    done = crosscorpus("collections", "export", collection, folder)
    assert (done.returncode, done.stdout) == (0, f"{collection} is exported to {folder}\n")
    assert "  documents: 4 rows\n" in done.stderr
    refused = crosscorpus("collections", "export", collection, folder)
    assert (refused.returncode, "name a new or empty folder" in refused.stderr) == (1, True)
    refused = crosscorpus("collections", "import", folder)
    assert (refused.returncode, "'cli' exists" in refused.stderr) == (1, True)
    done = crosscorpus("collections", "import", folder, "--as", "carried")
    assert (done.returncode, done.stdout) == (0, "carried is imported\n"), done.stderr

    def ask(name: str) -> list[dict[str, Any]]:
        told = crosscorpus("query", "how often is the cache flushed?", "-C", name, "--json").stdout
        results: list[dict[str, Any]] = json.loads(told)["results"]
        return results

    assert ask("carried") == ask(collection) != []
    again = crosscorpus(
        "ingest", "git", str(repository), "--repo", "org/app", "-C", "carried", "--json"
    )
    counts = json.loads(again.stdout)
    assert counts["documents_unchanged"] == 4
    assert counts["documents_new"] == counts["documents_changed"] == counts["embedded"] == 0
    assert crosscorpus("collections", "drop", "carried", "--yes").returncode == 0


def test_no_command_loads_the_model_or_calls_the_address_that_an_import_names(
    crosscorpus: Any, collection: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "named_by_an_export.py").write_text(
        f"from pathlib import Path\nPath({str(tmp_path / 'ran')!r}).touch()\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert crosscorpus("collections", "export", collection, str(tmp_path / "team")).returncode == 0
    head = tmp_path / "team" / "collection.json"
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.2)
        address = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        for number, model in enumerate(("python:named_by_an_export:load", f"openai:m@{address}")):
            head.write_text(json.dumps(json.loads(head.read_text()) | {"model": model}))
            name = f"named-{number}"
            commands = ["collections", "import", str(tmp_path / "team"), "--as", name]
            for command in (
                commands,
                ["status", "-C", name],
                ["query", "cache", "-C", name],
                ["embed", "-C", name],
                ["verify", "-C", name],
                ["doctor", "-C", name],
            ):
                crosscorpus(*command)
            told = json.loads(crosscorpus("status", "-C", name, "--json").stdout)
            assert told["model"]["name"] == model
            assert crosscorpus("collections", "drop", name, "--yes").returncode == 0
        with pytest.raises(TimeoutError):
            listener.accept()
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("command", ["export", "import"])
def test_the_help_of_an_exchange_has_an_example(crosscorpus: Any, command: str) -> None:
    assert (
        f"crosscorpus collections {command} "
        in crosscorpus("collections", command, "--help")
        .stdout.replace("Usage: ", "", 1)
        .partition("Example")[2]
    )
