from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import github_shapes as shapes
import pytest
from ingested import commit, git, texts
from ingesting import ingest_documents, ingest_folder, ingest_git
from killed_children import kill_children
from ledger_rows import states
from pdf_maker import make_pdf
from word_files import BODY, paragraph, word

from dataflow.ingestion.removal import drop_documents
from dataflow.ingestion.set_rights import set_rights
from dataflow.ingestion.sources import sync_github
from operators.errors import CrosscorpusError
from operators.postgres.inspect.status import status
from operators.postgres.inspect.verify import verify
from operators.postgres.search.callers import seen_by
from operators.postgres.store import Store, collection_info, open_store
from operators.postgres.write.sync_state import stored_items
from operators.sources.formats import pandoc
from operators.sources.formats.pdf import PdfReader
from operators.sources.github.github_api import GithubApi, GithubError, open_github


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


def test_a_file_that_turns_bad_leaves_its_good_version_and_is_parsed_once(
    store: Store, embedder: Any, folder: Path, parsed: list[int], row_versions: Any
) -> None:
    file = folder / "one.pdf"
    good, clock = make_pdf(["good words"]), 1_600_000_000
    file.write_bytes(good)
    os.utime(file, (clock, clock))
    ingest_folder(store, embedder, folder)
    file.write_bytes(b"%PDF-1.7 garbage")
    report = ingest_folder(store, embedder, folder)
    assert [fault.where for fault in report.failed] == ["one.pdf"]
    assert states(store, repo="handbook")["one.pdf"] == ("indexed", None)
    frame = status(store).select("outdated", "failed", "reasons").row(0)
    assert (frame[0], frame[1], frame[2][0][:12]) == (1, 0, "1 x damaged:")
    before, reads = row_versions(store), len(parsed)
    again = ingest_folder(store, embedder, folder)
    assert (again.ok, again.known_failures, len(parsed)) == (True, 1, reads)
    assert row_versions(store) == before
    file.write_bytes(good)
    os.utime(file, (clock, clock))
    mended = ingest_folder(store, embedder, folder)
    assert (mended.documents_unchanged, mended.documents_changed, len(parsed)) == (3, 1, reads + 1)
    assert status(store)["outdated"].item() == 0


def test_without_pandoc_a_stored_office_document_stays_and_a_new_one_waits_for_it(
    store: Store, embedder: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "handbook"
    folder.mkdir()
    (folder / "old.docx").write_bytes(word(BODY.format(paragraph("Bees hum."))))
    assert ingest_folder(store, embedder, folder).documents_new == 1
    (folder / "new.docx").write_bytes(word(BODY.format(paragraph("Ants march."))))
    with monkeypatch.context() as without:
        without.setattr(pandoc, "program", lambda: None)
        report = ingest_folder(store, embedder, folder)
    assert (report.documents_deleted, report.failed, len(report.skipped)) == (0, [], 2)
    assert texts(store, "docs") == {"old.docx": "Bees hum."}
    assert "office]" in states(store, repo="handbook")["new.docx"][1]
    assert ingest_folder(store, embedder, folder).ok
    assert set(texts(store, "docs")) == {"old.docx", "new.docx"}
    assert states(store, repo="handbook")["new.docx"] == ("indexed", None)


def test_a_pdf_whose_readers_are_killed_is_read_by_the_next_ingestion(
    store: Store, embedder: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = folder / "one.pdf"
    file.write_bytes(make_pdf(["first words"]))
    kill_children(monkeypatch, "pdf_process", 2)
    report = ingest_folder(store, embedder, folder)
    assert [fault.where for fault in report.failed] == ["one.pdf"]
    state, reason = states(store, repo="handbook")["one.pdf"]
    assert (state, reason[:35]) == ("failed", "its reader was killed (signal 9): s")
    read = ingest_folder(store, embedder, folder)
    assert (read.ok, read.documents_changed, read.documents_unchanged) == (True, 1, 3)

    file.write_bytes(make_pdf(["second words"]))
    kill_children(monkeypatch, "pdf_process", 2)
    assert not ingest_folder(store, embedder, folder).ok
    assert states(store, repo="handbook")["one.pdf"] == ("indexed", None)  # the first version
    assert ingest_folder(store, embedder, folder).documents_changed == 1
    assert ingest_folder(store, embedder, folder).documents_unchanged == 4


Write = Callable[..., Path]
Read = Callable[[Store], dict[str, Any]]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    path = tmp_path / "app"
    files = {f"src/m{n}.py": f"def f{n}():\n    return {n}\n" for n in range(6)}
    commit(path, "First", files | {"README.md": "# App\n\nHello.\n"})
    git(path, "remote", "add", "origin", "https://github.com/org/app.git")
    return path


def test_a_working_tree_fills_three_corpora_and_twice_changes_nothing(
    store: Store, embedder: Any, tree: Path, row_versions: Read
) -> None:
    report = ingest_git(store, embedder, tree)
    assert report.ok
    assert collection_info(store).repos == {
        "code": {"org/app": 6}, "docs": {"org/app": 1}, "history": {"org/app": 1},
    }  # fmt: skip
    before = row_versions(store)
    embedder.counted = 0
    report = ingest_git(store, embedder, tree)
    assert (report.documents_unchanged, report.chunks, embedder.counted) == (8, 0, 0)
    assert row_versions(store) == before


def test_only_the_named_corpora_are_taken_and_the_others_stay(
    store: Store, embedder: Any, tree: Path
) -> None:
    first = ingest_git(store, embedder, tree, corpora=["code"])
    assert first.ok
    assert set(collection_info(store).corpora) == {"code"}
    ingest_git(store, embedder, tree)
    others = texts(store, "docs"), texts(store, "history")
    git(tree, "rm", "-q", "-r", ".")
    (tree / "left.py").write_text("left = 1\n")
    commit(tree, "all but one file gone")
    ingest_git(store, embedder, tree, corpora=["code"], allow_mass_delete=True)
    assert set(texts(store, "code")) == {"left.py"}
    assert (texts(store, "docs"), texts(store, "history")) == others
    with pytest.raises(CrosscorpusError, match="no corpus 'cod': it fills code, docs, history"):
        ingest_git(store, embedder, tree, corpora=["cod"])


def test_what_is_excluded_goes_however_much_it_is_and_what_else_is_gone_is_asked_about(
    store: Store, embedder: Any, tree: Path
) -> None:
    ingest_git(store, embedder, tree)
    (tree / "src/m0.py").unlink()
    (tree / "src/m5.py").unlink()
    report = ingest_git(store, embedder, tree, exclude=["src/m[0-3].py"])
    assert report.documents_deleted == 4
    assert ["1 of 2 documents are gone" in str(fault) for fault in report.failed] == [True]
    assert set(texts(store, "code")) == {"src/m4.py", "src/m5.py"}
    report = ingest_git(store, embedder, tree, exclude=["src"])
    assert (report.ok, report.documents_deleted) == (True, 2)
    assert (texts(store, "code"), set(texts(store, "history"))) == (
        {},
        {git(tree, "rev-parse", "HEAD")},
    )


def test_what_another_reader_brought_into_the_same_repo_stays(
    store: Store, embedder: Any, tree: Path, write_lines: Write
) -> None:
    other = {"corpus": "docs", "repo": "org/app", "text": "other words"}
    file = write_lines({"doc_id": "d001", **other}, {"doc_id": "d002", **other})
    ingest_documents(store, embedder, file)
    assert ingest_git(store, embedder, tree).documents_deleted == 0
    assert set(texts(store)) == {"d001", "d002", "README.md"}
    ingest_documents(store, embedder, file, prune=True)
    assert set(texts(store)) == {"d001", "d002", "README.md"}


@pytest.fixture
def server(served: Any) -> Any:
    """It has two pull requests with a thread each, a review, two issues."""
    served.put("issues", shapes.issue(1, pull=True), shapes.issue(2), shapes.issue(3))
    served.put("issues", shapes.issue(4, pull=True))
    served.put("comments", shapes.comment(100), shapes.comment(101, reply_to=100))
    served.put("comments", shapes.comment(102, pull=4))
    served.put("reviews", shapes.review(200))
    served.put("issue_comments", shapes.issue_comment(300, 2))
    return served


def change(state: Any) -> None:
    """Edit, add and delete something of each kind."""
    later = shapes.at(90_000)
    state.put("comments", shapes.comment(101, reply_to=100, body="Better.", updated_at=later))
    state.put("comments", shapes.comment(103, reply_to=102, pull=4, updated_at=later))
    state.put("issues", shapes.issue(3, state="closed", updated_at=later))
    state.put("issues", shapes.issue(4, pull=True, title="Renamed", updated_at=later))
    state.put("reviews", shapes.review(200, body="Edited."), shapes.review(201, pull=4))
    state.put("issues", shapes.issue(5, updated_at=later))
    del state.issue_comments[300], state.comments[100]


@pytest.fixture
def api(server: Any) -> Iterator[GithubApi]:
    with open_github(sleep=lambda seconds: None) as connection:
        yield connection


def test_a_repository_is_searchable_and_twice_changes_nothing(
    store: Store, embedder: Any, server: Any, row_versions: Read
) -> None:
    report = sync_github(store, embedder, "org/app")
    assert report.ok
    assert (report.documents_new, report.documents_deleted) == (7, 0)
    assert set(collection_info(store).repos) == {"review", "issue"}
    assert set(texts(store, None)) == {
        "pull/1", "pull/1#discussion_r100", "pull/1#pullrequestreview-200",
        "pull/4", "pull/4#discussion_r102", "issues/2", "issues/3",
    }  # fmt: skip
    before = row_versions(store)
    embedder.counted = 0
    report = sync_github(store, embedder, "org/app")
    assert (report.documents_unchanged, report.chunks, embedder.counted) == (7, 0, 0)
    assert row_versions(store) == before


def test_after_changes_the_collection_equals_a_fresh_one(
    new_store: Callable[[], Store], embedder: Any, server: Any, api: GithubApi, contents: Read
) -> None:
    store = new_store()
    sync_github(store, embedder, "org/app", api=api)
    change(server)
    report = sync_github(store, embedder, "org/app", api=api, full=True)
    assert report.ok
    fresh = new_store()
    sync_github(fresh, embedder, "org/app", api=api)
    here, there = contents(store), contents(fresh)
    assert set(here.pop("embedding_cache")) >= set(there.pop("embedding_cache"))
    assert here == there
    assert [*stored_items(store, sync_source(store))] == [*stored_items(fresh, sync_source(fresh))]


def test_what_a_sync_fetched_of_a_dropped_thread_or_issue_goes_too(
    store: Store, embedder: Any, server: Any
) -> None:
    sync_github(store, embedder, "org/app")
    numbers = {item.number for item in stored_items(store, sync_source(store))}
    assert {2, 3} <= numbers
    drop_documents(store, repo="org/app", corpus="issue", document="issues/2")
    left = {item.number for item in stored_items(store, sync_source(store))}
    assert numbers - left == {2}
    drop_documents(store, repo="org/app")
    kinds = {item.kind for item in stored_items(store, sync_source(store))}
    assert not kinds & {"issue", "issue_comment", "review_comment", "review"}
    assert texts(store, None) == {}


def test_a_sync_after_a_drop_brings_everything_back_also_the_reviews_own_words(
    store: Store, embedder: Any, server: Any
) -> None:
    sync_github(store, embedder, "org/app")
    before = texts(store, None)
    assert "pull/1#pullrequestreview-200" in before
    for which in ({"document": "pull/1"}, {}):
        drop_documents(store, repo="org/app", **which)
        names = store.rows("SELECT name FROM sync_state")
        assert names == [("repository",)]
        assert sync_github(store, embedder, "org/app").ok
        assert texts(store, None) == before


def test_a_sync_keeps_no_secret_and_brings_it_back_only_where_it_is_allowed(
    store: Store, embedder: Any, server: Any
) -> None:
    token = "glpat-" + "a1B2c3D4e5F6g7H8i9J0"
    server.put("issues", shapes.issue(2, body=f"My key is {token}."))
    server.put("comments", shapes.comment(102, pull=4, body=f"So is {token}."))

    def holders() -> int:
        return sum(token in str(item.data) for item in stored_items(store, sync_source(store)))

    report = sync_github(store, embedder, "org/app")
    assert {str(issue) for issue in report.skipped} == {
        "#2: secrets redacted in its issue; --secrets allow takes them",
        "#4: secrets redacted in its comment; --secrets allow takes them",
    }
    assert holders() == 0
    assert "My key is [secret: GitLab token]." in texts(store, None)["issues/2"]
    for way, count in (("allow", 2), (None, 2), ("skip", 0), (None, 0)):
        sync_github(store, embedder, "org/app", secrets=way)
        assert holders() == count
        assert (token in texts(store, None)["issues/2"]) is bool(count)


def sync_source(store: Store) -> str:
    row = store.row("SELECT source FROM sync_state WHERE name = 'repository'")
    return str(row[0])


class Killed(BaseException):
    pass


def test_a_run_that_dies_after_any_commit_ends_like_an_undisturbed_one(
    copies: Callable[..., str], embedder: Any, server: Any, api: GithubApi, contents: Read,
    monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    with open_store(copies(None, "sync_base"), "synced", create=True) as store:
        sync_github(store, embedder, "org/app", api=api)
    change(server)

    def finish(store: Store) -> tuple[Any, ...]:
        """What the collection holds after a run that nothing disturbs."""
        assert sync_github(store, embedder, "org/app", api=api, full=True).ok
        held = contents(store)
        held.pop("embedding_cache")
        return held, [*stored_items(store, sync_source(store))]

    with open_store(copies("sync_base", "sync_whole"), "synced") as store:
        expected = finish(store)
    proper = Store.transaction
    left = 0

    @contextmanager
    def transaction(self: Store, *args: Any, **kwargs: Any) -> Iterator[Any]:
        nonlocal left
        with proper(self, *args, **kwargs) as conn:
            yield conn
            writes = conn.execute("SELECT pg_current_xact_id_if_assigned()").fetchone() != (None,)
        left -= writes
        if writes and left == 0:
            raise Killed

    died = 0
    # the first commits, and each fourth one after them; make test-kills: each
    step = 1 if "CROSSCORPUS_TEST_EXAMPLES" in os.environ else 4
    for point in (1, 2, *range(3, 1000, step)):
        with open_store(copies("sync_base"), "synced", max_size=2) as store:
            left = point
            with monkeypatch.context() as patched:
                patched.setattr(Store, "transaction", transaction)
                try:
                    sync_github(store, embedder, "org/app", api=api, full=True)
                except Killed:
                    died += 1
            whole = left > 0
            assert finish(store) == expected, point
        if whole:
            break
    assert died > 5


def test_a_refusal_writes_no_document_and_keeps_what_was_fetched(
    store: Store, embedder: Any, server: Any, api: GithubApi
) -> None:
    server.failing["/repos/org/app/issues/comments"] = (403, {"Retry-After": "99999"}, b"")
    with pytest.raises(GithubError, match="what was fetched is kept"):
        sync_github(store, embedder, "org/app", api=api)
    assert texts(store, None) == {}
    assert len([*stored_items(store, sync_source(store))]) == 7
    server.failing.clear()
    assert sync_github(store, embedder, "org/app", api=api).documents_new == 7


PRIVATE = {"private": True, "visibility": "private"}
OPENED = "{unmarked: everyone, rules: [{allow: everyone}]}"


def seen_of(store: Store, *principals: str) -> int:
    """How many documents a caller sees."""
    row = seen_by(store, principals).row("SELECT count(*) FROM documents")
    assert row
    return int(row[0])


def test_without_being_asked_a_sync_says_nothing_of_rights(
    store: Store, embedder: Any, server: Any, api: GithubApi
) -> None:
    server.seen = PRIVATE
    sync_github(store, embedder, "org/app", api=api)
    assert store.rows("SELECT * FROM access_classes") == []
    assert seen_of(store) == 7


def test_a_visibility_that_changed_holds_for_documents_that_did_not(
    store: Store, embedder: Any, server: Any, api: GithubApi
) -> None:
    set_rights(store, OPENED)  # a source goes before
    server.seen = {"private": False, "visibility": "public"}
    sync_github(store, embedder, "org/app", api=api, rights=True)
    assert seen_of(store) == 7
    server.seen = {"visibility": "internal"}
    assert sync_github(store, embedder, "org/app", api=api).ok  # it is kept that it was asked for
    assert (seen_of(store), seen_of(store, "github:org/app")) == (0, 7)
    assert sync_github(store, embedder, "org/app", api=api).documents_unchanged == 7
    server.put("issues", shapes.issue(5, updated_at=shapes.at(90_000)))
    assert sync_github(store, embedder, "org/app", api=api).documents_new == 1
    assert (seen_of(store), seen_of(store, "github:org/app")) == (0, 8)
    server.seen = {"private": False}
    sync_github(store, embedder, "org/app", api=api)
    assert seen_of(store) == 8
    assert verify(store).is_empty()


def test_a_repository_that_becomes_private_while_it_is_fetched_opens_nothing(
    store: Store, embedder: Any, server: Any, api: GithubApi
) -> None:
    def turn_private(*_: Any) -> None:
        server.seen = PRIVATE

    assert sync_github(store, embedder, "org/app", api=api, rights=True, on_fetched=turn_private).ok
    assert (seen_of(store), seen_of(store, "github:org/app")) == (0, 7)


def test_a_repository_that_became_private_is_closed_before_anything_is_fetched(
    store: Store, embedder: Any, server: Any, api: GithubApi
) -> None:
    sync_github(store, embedder, "org/app", api=api, rights=True)
    server.seen = PRIVATE
    server.failing["/repos/org/app/issues"] = (403, {"Retry-After": "99999"}, b"")
    with pytest.raises(GithubError, match="rate limit"):
        sync_github(store, embedder, "org/app", api=api)
    assert (seen_of(store), seen_of(store, "github:org/app")) == (0, 7)
    server.failing.clear()
    server.comments.clear()
    server.reviews.clear()
    del server.issues[1], server.issues[4]
    server.seen = {"private": False}
    sync_github(store, embedder, "org/app", api=api)
    server.seen = PRIVATE
    report = sync_github(store, embedder, "org/app", api=api, full=True)
    assert "5 of 5 documents are gone" in str(report.failed[0])
    assert (seen_of(store), seen_of(store, "github:org/app")) == (0, 7)


UNREADABLE: list[dict[str, Any]] = [
    {},
    {"visibility": ["public"], "private": False},
    {"private": "no"},
    {"private": True, "visibility": "public"},
    {"private": False, "visibility": "internal"},
]


def test_a_visibility_that_can_not_be_read_is_an_error_and_opens_nothing(
    new_store: Callable[[], Store], embedder: Any, server: Any, api: GithubApi
) -> None:
    new, old = new_store(), new_store()
    server.seen = PRIVATE
    sync_github(old, embedder, "org/app", api=api, rights=True)
    for said in UNREADABLE:
        server.seen = said
        for store, options in ((new, {"rights": True}), (old, {})):
            with pytest.raises(GithubError, match="who may see org/app can't be read"):
                sync_github(store, embedder, "org/app", api=api, **options)
        assert texts(new, None) == {}, said
        assert (seen_of(old), seen_of(old, "github:org/app")) == (0, 7), said


def test_rights_that_are_no_longer_asked_for_leave_it_to_the_rules(
    store: Store, embedder: Any, server: Any, api: GithubApi
) -> None:
    server.seen = PRIVATE
    sync_github(store, embedder, "org/app", api=api, rights=True)
    sync_github(store, embedder, "org/app", api=api, rights=False)
    assert (seen_of(store), seen_of(store, "github:org/app")) == (0, 0)  # nothing says who
    set_rights(store, "rules: [{allow: [ann], repo: org/app}]")
    assert seen_of(store, "ann") == 7


def test_a_renamed_private_repository_is_for_those_of_its_name_now(
    store: Store, embedder: Any, server: Any, api: GithubApi
) -> None:
    server.seen = PRIVATE
    sync_github(store, embedder, "org/app", api=api, rights=True)
    server.renamed_from.add(server.name)
    server.name = "org/new"
    sync_github(store, embedder, "org/app", api=api)
    assert (seen_of(store, "github:org/app"), seen_of(store, "github:org/new")) == (0, 7)
