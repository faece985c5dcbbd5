"""Two sources of one name: the second is refused, unless it is the first at a new place."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from ingested import git, texts
from ingesting import ingest_folder, ingest_git, ingest_wiki
from ledger_rows import ledger

from operators.errors import CrosscorpusError
from operators.postgres.store import Store

Ingest = Callable[..., Any]


Read = Callable[[Store], dict[str, Any]]


def pages(root: Path, *names: str) -> Path:
    root.mkdir(parents=True)
    for name in names:
        (root / f"{name}.md").write_text(f"# {name}\n\nThe {name} page of {root.parent.name}.\n")
    return root


def repository(root: Path, *names: str) -> Path:
    pages(root, *names)
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "First")
    return root


def stored(store: Store, corpus: str, repo: str) -> set[str]:
    return set(ledger(store, corpus, repo)["document_id"])


@pytest.mark.parametrize(
    ("ingest", "make", "corpus"),
    [
        (ingest_folder, pages, "docs"),
        (ingest_wiki, pages, "wiki"),
        (ingest_git, repository, "docs"),
    ],
    ids=["folder", "wiki", "git"],
)
def test_another_source_of_the_same_name_is_refused_and_nothing_is_lost(
    store: Store, embedder: Any, tmp_path: Path, ingest: Ingest, make: Ingest, corpus: str
) -> None:
    billing = make(tmp_path / "billing/docs", "index", "refunds")
    search = make(tmp_path / "search/docs", "index", "ranking")
    assert ingest(store, embedder, billing).ok
    with pytest.raises(CrosscorpusError, match=r"--repo.*--relocated") as refused:
        ingest(store, embedder, search, allow_mass_delete=True)
    assert str(billing) in str(refused.value)
    assert str(search) in str(refused.value)
    assert stored(store, corpus, "docs") == {"index.md", "refunds.md"}
    assert ingest(store, embedder, search, repo="search").ok
    assert ingest(store, embedder, billing).documents_new == 0
    assert stored(store, corpus, "search") == {"index.md", "ranking.md"}


def test_a_newer_dump_is_of_the_same_wiki_and_that_of_another_wiki_is_refused(
    store: Store, embedder: Any, tmp_path: Path
) -> None:
    def dump(name: str, host: str) -> Path:
        site = f"<dbname>wiki</dbname><base>https://{host}/wiki/Main_Page</base>"
        page = "<page><title>Start</title><ns>0</ns><revision><text>Text.</text></revision></page>"
        file = tmp_path / name
        file.write_text(f"<mediawiki><siteinfo>{site}</siteinfo>{page}</mediawiki>")
        return file

    assert ingest_wiki(store, embedder, dump("may.xml", "a.example.org")).documents_new == 1
    june = dump("june.xml", "a.example.org")
    assert ingest_wiki(store, embedder, june).documents_unchanged == 1
    assert ingest_wiki(store, embedder, june, base_url="https://b.example.org").ok
    with pytest.raises(CrosscorpusError, match="is taken"):
        ingest_wiki(store, embedder, dump("other.xml", "b.example.org"))


def test_a_folder_that_has_moved_goes_on_where_it_is_said_to_be_the_same(
    store: Store, embedder: Any, tmp_path: Path
) -> None:
    old = pages(tmp_path / "a/docs", "index", "faq")
    ingest_folder(store, embedder, old)
    new = tmp_path / "b/docs"
    shutil.move(old, new)
    with pytest.raises(CrosscorpusError, match="--relocated"):
        ingest_folder(store, embedder, new)
    assert ingest_folder(store, embedder, new, relocated=True).documents_unchanged == 2
    assert ingest_folder(store, embedder, new).documents_unchanged == 2


def test_a_relative_path_and_a_link_are_the_same_folder(
    store: Store, embedder: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, row_versions: Read
) -> None:
    root = pages(tmp_path / "a/docs", "index")
    (tmp_path / "link").mkdir()
    os.symlink(root, tmp_path / "link/docs")
    ingest_folder(store, embedder, root)
    before = row_versions(store)
    monkeypatch.chdir(tmp_path / "a")
    for path in ("docs", "../a/docs/", tmp_path / "link/docs"):
        assert ingest_folder(store, embedder, path).documents_unchanged == 1
    assert row_versions(store) == before


def test_a_clone_elsewhere_is_the_same_repository(
    store: Store, embedder: Any, tmp_path: Path
) -> None:
    first = repository(tmp_path / "a/app", "index")
    assert ingest_git(store, embedder, first, repo="org/app").documents_new
    git(tmp_path, "clone", "-q", str(first), "copy")
    assert ingest_git(store, embedder, tmp_path / "copy", repo="org/app").documents_new == 0
    git(first, "remote", "add", "origin", "git@github.com:org/app.git")
    assert ingest_git(store, embedder, first).documents_new == 0
    git(tmp_path / "copy", "remote", "set-url", "origin", "https://x:y@github.com/org/app")
    assert ingest_git(store, embedder, tmp_path / "copy").documents_new == 0


def test_the_same_name_on_another_forge_is_another_repository(
    store: Store, embedder: Any, tmp_path: Path
) -> None:
    for host in ("github.com", "gitlab.example.org"):
        root = repository(tmp_path / host, host)
        git(root, "remote", "add", "origin", f"https://{host}/org/app.git")
    ingest_git(store, embedder, tmp_path / "github.com")
    with pytest.raises(CrosscorpusError, match="--relocated"):
        ingest_git(store, embedder, tmp_path / "gitlab.example.org")


def test_a_name_is_free_where_nothing_was_stored_under_it(
    store: Store, embedder: Any, tmp_path: Path
) -> None:
    (tmp_path / "typo/docs").mkdir(parents=True)
    assert not ingest_folder(store, embedder, tmp_path / "typo/docs").ok
    assert ingest_folder(store, embedder, pages(tmp_path / "right/docs", "index")).ok


def test_a_collection_from_before_sources_were_kept_takes_the_first_that_comes(
    store: Store, embedder: Any, tmp_path: Path
) -> None:
    old, new = (pages(tmp_path / name / "docs", "index", "faq") for name in "ab")
    ingest_folder(store, embedder, old)
    store.run(lambda conn: conn.execute("DELETE FROM sync_state"))
    assert ingest_folder(store, embedder, new).documents_new == 0
    with pytest.raises(CrosscorpusError, match="is taken"):
        ingest_folder(store, embedder, old)


def test_what_the_error_teaches_is_an_option_of_each_command(crosscorpus: Any) -> None:
    for command in ("git", "folder", "wiki"):
        shown = crosscorpus("ingest", command, "--help").stdout
        assert "--relocated" in shown
        assert "--repo" in shown


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "handbook"
    root.mkdir()
    for name in ("one", "two", "three"):
        (root / f"{name}.md").write_text(f"# {name}\n\ntext of {name}\n")
    return root


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


def test_diffs_of_commits_are_read_until_a_run_says_no(
    store: Store, embedder: Any, tmp_path: Path
) -> None:
    root = repository(tmp_path / "x/app", "index")

    def changed(**options: Any) -> tuple[int, list[str]]:
        report = ingest_git(store, embedder, root, **options)
        assert report.ok
        with store.transaction() as conn:
            rows = conn.execute("SELECT text FROM chunks WHERE corpus = 'history' ORDER BY ordinal")
            return report.documents_changed, [text for (text,) in rows.fetchall()]

    message = "First\n\nFiles:\nindex.md\n"
    added = "@@ index.md\n+# index\n+\n+The index page of x.\n"
    assert changed() == (0, [message])
    for wanted, passages in ((True, [message, added]), (False, [message])):
        assert changed(diffs=wanted) == (2, passages)
        assert changed() == (0, passages)


def test_the_way_with_secrets_is_kept_and_a_stored_secret_goes_with_the_next_way(
    store: Store, embedder: Any, tmp_path: Path
) -> None:
    token = "glpat-" + "a1B2c3D4e5F6g7H8i9J0"
    root = pages(tmp_path / "app/docs", "index", "deploy")
    deploy = root / "deploy.md"
    deploy.write_text(f"# Deploy\n\nThe key of the deploy page is {token}.\n")

    def run(**options: Any) -> tuple[int, int, str]:
        report = ingest_folder(store, embedder, root, **options)
        assert report.ok
        return report.documents_deleted, len(report.skipped), texts(store).get("deploy.md", "")

    assert run() == (0, 1, "")
    assert token in run(secrets="allow")[2]
    assert token in run()[2]
    assert "[secret: GitLab token]" in run(secrets="redact")[2]
    deploy.write_text(deploy.read_text() + "\nMore.\n")
    assert run()[2].endswith("[secret: GitLab token].\n\nMore.\n")
    assert run(secrets="skip") == (1, 1, "")
    assert run() == (0, 1, "")
    with pytest.raises(CrosscorpusError, match="unknown way with secrets 'skipp'"):
        run(secrets="skipp")
    assert run() == (0, 1, "")


def test_a_document_from_before_secrets_were_looked_for_is_judged_by_the_next_run(
    store: Store, embedder: Any, tmp_path: Path
) -> None:
    root = pages(tmp_path / "app/docs", "index", "deploy")
    (root / "deploy.md").write_text("The key is glpat-" + "a1B2c3D4e5F6g7H8i9J0")
    ingest_folder(store, embedder, root, secrets="allow")
    store.execute("UPDATE documents SET fingerprint = replace(fingerprint, 'secrets allowed ', '')")
    store.execute("DELETE FROM sync_state WHERE name = 'secrets'")
    report = ingest_folder(store, embedder, root)
    assert [str(issue).partition(":")[0] for issue in report.skipped] == ["deploy.md"]
    assert set(texts(store)) == {"index.md"}


def test_a_second_run_of_one_source_says_who_reads_it_and_waits_if_told_to(
    store: Store, new_embedder: Any, tmp_path: Path
) -> None:
    root = pages(tmp_path / "app/docs", "index", "faq")
    reading, go_on = threading.Event(), threading.Event()

    class Slow(type(new_embedder())):  # type: ignore[misc]
        def count_tokens(self, *args: Any, **kwargs: Any) -> Any:
            reading.set()
            assert go_on.wait(30)
            return super().count_tokens(*args, **kwargs)

    def report_wait(event: Any) -> None:
        if event.stage.startswith("wait"):
            waits.append(event.stage)
            go_on.set()

    waits: list[str] = []
    with ThreadPoolExecutor() as pool:
        first = pool.submit(ingest_folder, store, Slow(), root)
        assert reading.wait(30)
        other = pages(tmp_path / "other", "index")
        assert ingest_folder(store, new_embedder(), other).documents_new == 1
        with pytest.raises(
            CrosscorpusError, match=r"reads this source \(process \d+ on .*--in-turn"
        ):
            ingest_folder(store, new_embedder(), root)
        second = ingest_folder(store, new_embedder(), root, in_turn=True, on_event=report_wait)
        assert first.result().documents_new == 2
    assert (second.documents_new, second.documents_unchanged) == (0, 2)
    assert f"process {os.getpid()} on" in waits[0]


def test_a_tree_that_is_here_under_another_name_is_said_to_be_there_twice(
    store: Store, embedder: Any, tmp_path: Path
) -> None:
    root = repository(tmp_path / "app", "index")
    assert ingest_git(store, embedder, root, repo="org/app").notes == []
    (note,) = ingest_git(store, embedder, root, repo="org/other").notes
    assert "is here as 'org/app' too" in str(note)
    store.execute("DELETE FROM documents WHERE repo = 'org/app'")
    assert ingest_git(store, embedder, root, repo="org/other").notes == []
