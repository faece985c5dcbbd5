from __future__ import annotations

import json
import os
import shutil
import stat
import time
from pathlib import Path
from typing import Any

import pytest

from dataflow.ingestion import ingest_folder, ingest_wiki
from operators.postgres.inspect.status import status
from operators.postgres.store import Store
from operators.postgres.write.ledger import ledger
from operators.sources.formats.pdf import PdfReader

_DATA = Path(os.environ.get("CROSSCORPUS_TEST_DATA", Path(__file__).parents[4] / "shared/data"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "handbook"
    root.mkdir()
    for name in ("one", "two", "three"):
        (root / f"{name}.md").write_text(f"# {name}\n\ntext of {name}\n")
    return root


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Sizes of the PDFs that were read."""
    sizes: list[int] = []
    read = PdfReader.read

    def counted(self: PdfReader, data: bytes) -> Any:
        sizes.append(len(data))
        return read(self, data)

    monkeypatch.setattr(PdfReader, "read", counted)
    return sizes


def states(store: Store, repo: str = "handbook", corpus: str = "docs") -> dict[str, Any]:
    frame = ledger(store, corpus, repo)
    return dict(zip(frame["document_id"], frame.select("state", "reason").iter_rows(), strict=True))


def metadata(store: Store, corpus: str) -> list[dict[str, Any]]:
    with store.transaction() as conn:
        rows = conn.execute(
            "SELECT metadata::text FROM chunks WHERE corpus = %s ORDER BY document_id, ordinal",
            (corpus,),
        )
        return [json.loads(row[0]) for row in rows]


def test_a_folder_is_stored_and_only_a_changed_file_is_stored_anew(
    store: Store, embedder: Any, folder: Path
) -> None:
    assert ingest_folder(store, embedder, folder).documents_new == 3
    again = ingest_folder(store, embedder, folder)
    assert (again.documents_unchanged, again.chunks, again.embedded, again.ok) == (3, 0, 0, True)
    (folder / "two.md").write_text("# two\n\nother text\n")
    changed = ingest_folder(store, embedder, folder)
    assert (changed.documents_changed, changed.documents_unchanged) == (1, 2)


def test_a_deleted_file_goes_and_an_emptied_folder_deletes_nothing(
    store: Store, embedder: Any, folder: Path
) -> None:
    (folder / "four.md").write_text("# four\n")
    ingest_folder(store, embedder, folder)
    (folder / "four.md").unlink()
    assert ingest_folder(store, embedder, folder).documents_deleted == 1
    for file in folder.iterdir():
        file.unlink()
    report = ingest_folder(store, embedder, folder, allow_mass_delete=True)
    assert (report.ok, report.documents_deleted) == (False, 0)
    assert "is it mounted?" in str(report.failed[0])
    assert len(states(store)) == 3


def test_a_scanned_and_a_locked_pdf_have_states_of_their_own(
    store: Store, embedder: Any, folder: Path, parsed: list[int], make_pdf: Any
) -> None:
    (folder / "locked.pdf").write_bytes(make_pdf(["secret"], password=b"pw"))
    (folder / "scanned.pdf").write_bytes(make_pdf([""]))
    report = ingest_folder(store, embedder, folder)
    assert sorted(map(str, report.failed)) == [
        "locked.pdf: encrypted: it asks for a password",
        "scanned.pdf: no_text: its page has no text: scanned?",
    ]
    assert states(store)["locked.pdf"] == ("encrypted", "it asks for a password")
    assert states(store)["scanned.pdf"] == ("no_text", "its page has no text: scanned?")
    again = ingest_folder(store, embedder, folder)
    assert (again.ok, again.known_failures, len(parsed)) == (True, 2, 2)


def test_hostile_files_are_reported_once_and_never_parsed_again(
    store: Store, embedder: Any, folder: Path, parsed: list[int]
) -> None:
    hostile = _DATA / "hostile"
    if not (hostile / "deep_q.pdf").exists():
        pytest.skip("no hostile files: set CROSSCORPUS_TEST_DATA")
    for file in hostile.glob("*.pdf"):
        copied = Path(shutil.copy(file, folder))
        copied.chmod(copied.stat().st_mode | stat.S_IWUSR)
    report = ingest_folder(store, embedder, folder)
    assert (report.ok, report.documents_new, len(report.failed)) == (False, 3, 6)
    held = {name: told for name, told in states(store).items() if told[0] != "indexed"}
    assert set(held) == {file.name for file in hostile.glob("*.pdf")}
    assert held["empty.pdf"] == ("failed", "empty file")
    assert held["deep_q.pdf"][0] == "no_text"
    assert len(parsed) == 6
    again = ingest_folder(store, embedder, folder)
    assert (again.ok, again.known_failures, again.documents_unchanged) == (True, 6, 9)
    assert len(parsed) == 6


def test_a_file_that_turns_bad_leaves_its_good_version_and_is_parsed_once(
    store: Store, embedder: Any, folder: Path, parsed: list[int], make_pdf: Any, row_versions: Any
) -> None:
    file = folder / "one.pdf"
    good, clock = make_pdf(["good words"]), 1_600_000_000
    file.write_bytes(good)
    os.utime(file, (clock, clock))
    ingest_folder(store, embedder, folder)
    file.write_bytes(b"%PDF-1.7 garbage")
    report = ingest_folder(store, embedder, folder)
    assert [fault.where for fault in report.failed] == ["one.pdf"]
    assert states(store)["one.pdf"] == ("indexed", None)
    frame = status(store).select("outdated", "failed", "reasons").row(0)
    assert (frame[0], frame[1], frame[2][0][:12]) == (1, 0, "1 x damaged:")
    before, reads = row_versions(store), len(parsed)
    again = ingest_folder(store, embedder, folder)
    assert (again.ok, again.known_failures, len(parsed)) == (True, 1, reads)
    assert row_versions(store) == before
    file.write_bytes(good)
    os.utime(file, (clock, clock))
    mended = ingest_folder(store, embedder, folder)
    assert (mended.documents_unchanged, mended.known_failures, len(parsed)) == (4, 0, reads)
    assert status(store)["outdated"].item() == 0


def test_published_documents_are_stored_whole(store: Store, embedder: Any) -> None:
    raw = _DATA / "versionrag" / "raw"
    if not raw.is_dir():
        pytest.skip("no published documents: set CROSSCORPUS_TEST_DATA")
    report = ingest_folder(store, embedder, raw)
    assert (report.documents_new, report.failed, report.skipped) == (34, [], [])
    pages = {m["page"] for m in metadata(store, "docs") if "page" in m}
    assert pages == {1, 2, 3, 4, 5}
    frame = ledger(store, "docs", "raw")
    assert set(frame["state"]) == {"indexed"}


def test_a_wiki_is_stored_with_the_anchors_of_its_sections(
    store: Store, embedder: Any, folder: Path
) -> None:
    words = "word " * 60
    (folder / "four.md").write_text(f"# Über\n\n{words}\n\n# Über\n\n{words}\n")
    assert ingest_wiki(store, embedder, folder, base_url="https://w.example.org").ok
    fragments = [m["fragment"] for m in metadata(store, "wiki")]
    assert {"über", "über-1", "one", "two", "three"} == set(fragments)


@pytest.mark.parametrize("run", [ingest_folder, ingest_wiki])
def test_a_web_address_holds_until_another_is_given(
    store: Store, embedder: Any, folder: Path, run: Any
) -> None:
    def links(**options: Any) -> tuple[int, set[str | None]]:
        report = run(store, embedder, folder, **options)
        assert report.ok
        with store.transaction() as conn:
            found = conn.execute("SELECT DISTINCT left(uri, 9) FROM documents").fetchall()
        return report.documents_changed, {row[0] for row in found}

    assert links() == (0, {None})
    for url, starts in (("https://a.org/", "https://a"), ("https://b.org", "https://b")):
        assert links(base_url=url) == (3, {starts})
        assert links() == (0, {starts})
    assert links(base_url="") == (3, {None})
    assert links() == (0, {None})


def test_many_unchanged_files_cost_only_their_reading(
    store: Store, embedder: Any, tmp_path: Path
) -> None:
    root = tmp_path / "many"
    for number in range(1_000):
        file = root / f"{number % 10}" / f"{number}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"# {number}\n\ntext\n")
    ingest_folder(store, embedder, root)
    began = time.process_time()
    again = ingest_folder(store, embedder, root)
    assert again.documents_unchanged == 1_000
    assert time.process_time() - began < 5
