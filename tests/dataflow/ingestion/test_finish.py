"""What no run deletes and what it leaves on record, for every kind of source."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import github_shapes as shapes
import pytest
from ingested import commit, document, texts
from ingesting import ingest_documents, ingest_folder, ingest_git, ingest_wiki
from ledger_rows import states

from dataflow.configuration.loader import shipped_maps
from dataflow.ingestion.loop import ingest
from dataflow.ingestion.sources import sync_github
from operators.errors import CrosscorpusError
from operators.postgres.inspect.status import status
from operators.postgres.search.chunk_lookup import unread_reason
from operators.postgres.store import Store, collection_info
from operators.sources.github.github_api import open_github
from operators.sources.jsonl import SourceError
from operators.sources.protocol import Source
from operators.sources.records.record_map import read_map
from operators.sources.records.record_source import records_source

Write = Callable[..., Path]


def test_only_prune_deletes_what_a_file_lacks(
    store: Store, embedder: Any, write_lines: Write
) -> None:
    ingest_documents(store, embedder, write_lines(*(document(n) for n in range(5))))
    fewer = write_lines(*(document(n) for n in range(4)))
    assert ingest_documents(store, embedder, fewer).documents_deleted == 0
    assert len(texts(store)) == 5
    assert ingest_documents(store, embedder, fewer, prune=True).documents_deleted == 1
    assert set(texts(store)) == set(states(store)) == {"d000", "d001", "d002", "d003"}


def test_records_of_one_map_and_repository_delete_none_of_another(
    store: Store, embedder: Any, tmp_path: Path
) -> None:
    def read(name: str, repo: str, first: int, last: int) -> int:
        issues = [
            {"key": f"A-{n}", "fields": {"summary": f"about {n}"}} for n in range(first, last)
        ]
        file = tmp_path / "export.json"
        file.write_text(json.dumps({"issues": issues}), "utf-8")
        read_by = read_map("jira", shipped_maps())
        read = read_by.model_copy(update={"name": name})
        source = records_source(file, read, repo=repo, whole=True)
        return ingest(store, embedder, source).documents_deleted

    with pytest.raises(SourceError, match="name these with --repo"):
        read("jira", "", 0, 1)
    assert read("./maps/Desk.yaml", "dev", 20, 22) == 0  # another map, the same repository
    assert read("jira", "ops", 0, 2) == 0
    assert read("jira", "dev", 0, 10) == 0
    assert read("jira", "dev", 1, 10) == 1
    held = [len(states(store, "ticket", repo)) for repo in ("ops", "dev")]
    assert held == [2, 2 + 9]
    source = records_source(tmp_path / "export.json", read_map("jira", shipped_maps()))
    (note,) = ingest(store, embedder, source).notes  # the nine of `dev`, and one of `ops`
    assert "ticket: 9 are here without --repo too: `crosscorpus drop -C " in str(note)


def test_a_mass_delete_is_refused_until_it_is_allowed(
    store: Store, embedder: Any, write_lines: Write
) -> None:
    ingest_documents(store, embedder, write_lines(*(document(n) for n in range(10))))
    file = write_lines(*(document(n) for n in range(6)), document(50))
    report = ingest_documents(store, embedder, file, prune=True)
    assert (report.documents_new, report.documents_deleted) == (1, 0)
    [refusal] = map(str, report.failed)
    assert "docs of org/app: 4 of 10 documents are gone" in refusal
    assert "--allow-mass-delete" in refusal
    report = ingest_documents(store, embedder, file, prune=True, allow_mass_delete=True)
    assert report.ok
    assert report.documents_deleted == 4


TEN = frozenset(range(10))

DUMP = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/"><siteinfo>
<sitename>App</sitename><dbname>app</dbname><base>https://wiki.example.org/wiki/Main</base>
</siteinfo>{pages}</mediawiki>"""

PAGE = """<page><title>Page {n}</title><ns>0</ns><id>{n}</id><revision><id>{n}</id>
<timestamp>2021-01-02T03:04:05Z</timestamp><model>wikitext</model>
<text>Words of page {n}.</text></revision></page>"""


@dataclass
class Case:
    """A source of ten documents.

    ``put`` has it hold the documents of some numbers; ``empty`` and ``gone`` have it be there
    without any, and not be there.
    """

    corpus: str
    run: Callable[..., Any]
    put: Callable[[frozenset[int]], None]
    empty: Callable[[], None]
    gone: Callable[[], None]


def folder(path: Path, run: Callable[..., Any], corpus: str, suffix: str, clone: bool) -> Case:
    """Files below a folder that may be a mount, a clone or both."""

    def put(numbers: frozenset[int]) -> None:
        path.mkdir(parents=True, exist_ok=True)
        for n in TEN:
            page = path / f"page{n}{suffix}"
            if n not in numbers:
                page.unlink(missing_ok=True)
            elif not page.exists():
                page.write_text(f"# Page {n}\n\nWords of page {n}.\n")
        if clone and not (path / ".git").exists():
            commit(path, "All")

    def empty() -> None:
        shutil.rmtree(path)
        path.mkdir()

    return Case(
        corpus,
        lambda store, embedder, **options: run(store, embedder, path, **options),
        put,
        empty,
        lambda: shutil.rmtree(path),
    )


def file(
    path: Path, run: Callable[..., Any], corpus: str, content: Callable[[frozenset[int]], str]
) -> Case:
    """One file that may be all there is: an export, a dump, a log."""
    return Case(
        corpus,
        lambda store, embedder, **options: run(store, embedder, path, **options),
        lambda numbers: (path.write_text(content(numbers)), None)[1],
        lambda: (path.write_text(content(frozenset())), None)[1],
        path.unlink,
    )


def all_issues(store: Store, embedder: Any, path: Path, **options: Any) -> Any:
    """Read all issues of a repository by the map of GitHub."""
    source = records_source(path, read_map("github", shipped_maps()), repo="org/app", whole=True)
    return ingest(store, embedder, source, **options)


@pytest.fixture(
    params=[
        "git", "folder", "wiki dump", "issues",
    ]
)  # fmt: skip
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Case:
    """Ten documents of one kind of source, and how it is ingested."""
    mount, export = tmp_path / "mount" / "app", tmp_path / "export"

    def array(make: Callable[[int], Any]) -> Callable[[frozenset[int]], str]:
        return lambda numbers: json.dumps([make(n) for n in sorted(numbers)])

    case = {
        "git": lambda: folder(mount, ingest_git, "docs", ".md", True),
        "folder": lambda: folder(mount, ingest_folder, "docs", ".md", False),
        "wiki dump": lambda: file(
            export, ingest_wiki, "wiki",
            lambda numbers: DUMP.format(pages="".join(PAGE.format(n=n) for n in numbers)),
        ),
        "issues": lambda: file(
            export, all_issues, "issue", array(lambda n: shapes.issue(n + 1))
        ),
    }[request.param]()  # fmt: skip
    case.put(TEN)
    return case


def documents(store: Store, corpus: str) -> int:
    row = store.row("SELECT count(*) FROM documents WHERE corpus = %s", (corpus,))
    return int(row[0]) if row else 0


def test_a_source_that_is_not_mounted_deletes_nothing_whatever_is_allowed(
    store: Store, embedder: Any, source: Case
) -> None:
    assert source.run(store, embedder).ok
    assert documents(store, source.corpus) == 10
    for leave in (source.empty, source.gone):
        leave()
        try:
            report = source.run(store, embedder, allow_mass_delete=True)
        except CrosscorpusError:
            pass
        else:
            assert report.documents_deleted == 0
            assert leave is source.empty
        assert documents(store, source.corpus) == 10


@pytest.mark.parametrize("source", ["folder"], indirect=True)
def test_an_empty_scan_deletes_nothing_even_if_its_reader_sees_no_fault(
    store: Store, embedder: Any, source: Case
) -> None:
    assert source.run(store, embedder).ok
    [reader] = set(status(store)["last_run_source"])
    scopes = tuple(
        (corpus, repo) for corpus, of in collection_info(store).repos.items() for repo in of
    )
    nothing = Source(reader, lambda: iter(()), scopes, lambda: 1.0)
    report = ingest(store, embedder, nothing, allow_mass_delete=True)
    assert "the source is empty; none of its" in str(report.failed[0])
    assert documents(store, source.corpus) == 10


@pytest.mark.parametrize(("left", "held"), [(0, 10), (7, 7)])
def test_a_forge_that_lists_little_any_more_deletes_little(
    left: int, held: int, store: Store, embedder: Any, served: Any
) -> None:
    served.put("issues", *(shapes.issue(n + 1) for n in range(10)))
    with closing(open_github()) as api:
        assert sync_github(store, embedder, "org/app", api=api).ok
        assert documents(store, "issue") == 10
        for number in sorted(served.issues)[left:]:
            served.issues.pop(number)
        report = sync_github(store, embedder, "org/app", api=api, full=True)
    assert report.ok == (held == left)
    assert documents(store, "issue") == held


@pytest.mark.parametrize("source", ["folder"], indirect=True)
def test_a_run_is_on_record_with_what_it_did(store: Store, embedder: Any, source: Case) -> None:
    source.run(store, embedder)
    source.put(TEN - {1})
    report = source.run(store, embedder)
    rows = store.rows(
        "SELECT ok, documents_deleted, documents_changed, documents_unchanged, failed, chunks,"
        " finished_at > started_at, %s = ANY(corpora) FROM runs ORDER BY run_id",
        (source.corpus,),
    )
    assert report.documents_unchanged >= 9
    assert rows[1] == (True, 1, 0, report.documents_unchanged, 0, 0, True, True)


@pytest.mark.parametrize("source", ["folder"], indirect=True)
def test_a_run_that_was_killed_stays_on_record_as_unfinished(
    store: Store, embedder: Any, source: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("dataflow.ingestion.finish.make_searchable", killed)
    with pytest.raises(KeyboardInterrupt):
        source.run(store, embedder)
    frame = status(store).filter(corpus=source.corpus)
    assert frame["last_run_state"].to_list() == ["unfinished"]


def test_what_is_left_out_on_purpose_has_its_reason_and_counts_as_no_document(
    store: Store, embedder: Any, tmp_path: Path
) -> None:
    token = "glpat-" + "aB3dE5gH7jK9mN1pQ3sT"
    files = {"good.md": b"# Good\n\nText.\n", "key.md": f"The token is {token}.\n".encode()}
    files |= {"blob.txt": b"\0\1\2", f"{token}.txt": b"\0", "big.md": b"word " * 4_000_001}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)

    def why(name: str) -> str | None:
        return unread_reason(store, [name], None, {})

    for _ in range(2):
        report = ingest_folder(store, embedder, tmp_path, repo="org/app", secrets="skip")
        assert (len(report.skipped), report.known_failures, report.documents_deleted) == (4, 0, 0)
        assert (why("blob.txt"), why(f"{token}.txt")) == ("binary", None)
        assert "holds a secret (GitLab token in line 1)" in str(why("key.md"))
        assert "larger than" in str(why("big.md"))
        assert set(states(store)) == {"good.md"}
    (tmp_path / "good.md").write_bytes(b"\0")
    (tmp_path / "blob.txt").write_text("Words.")
    ingest_folder(store, embedder, tmp_path, repo="org/app", allow_mass_delete=True)
    assert (why("good.md"), why("blob.txt")) == ("binary", None)
    assert set(states(store)) == {"blob.txt"}
