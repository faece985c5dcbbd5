"""Rules that change, documents that change, models that change: the rights of each hold at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from ingested import commit, document, git
from ingesting import ingest_documents
from word_embedder import WordEmbedder

from dataflow import build_driver
from dataflow.driver.retrieval_driver import RetrievalDriver
from dataflow.ingestion.loop import ingest
from dataflow.ingestion.run import Progress
from dataflow.ingestion.set_rights import set_rights
from operators.embedding.protocol import EmbeddingError
from operators.errors import CrosscorpusError, SearchError, UnknownName
from operators.postgres.backup import dump_collection, restore_collection
from operators.postgres.inspect.verify import verify
from operators.postgres.inspect.who_sees import reasons
from operators.postgres.schema.caller_views import drop_views
from operators.postgres.search.callers import seen_by
from operators.postgres.store import Store, drop_collection, open_store
from operators.postgres.write import document_classes
from operators.sources.git.git_source import git_source
from operators.sources.protocol import Document, Source

OPEN = "rules: [{allow: everyone}]"
FOR_ANN = "rules: [{allow: everyone}, {allow: [ann], path: 'secret/'}]"
PAGES = [
    document(1, path="open/a.md", text="The cache is flushed at night."),
    document(2, path="secret/b.md", text="The cache of the vault is flushed at noon."),
]


@pytest.fixture
def driver(store: Store, write_lines: Any) -> Iterator[RetrievalDriver]:
    ingest_documents(store, WordEmbedder(), write_lines(*PAGES))
    with build_driver("default", store=store, embedder=WordEmbedder()) as driver:
        yield driver


def paths(driver: RetrievalDriver, *principals: str) -> set[str | None]:
    return {one.path for one in driver.ask("cache flushed", principals=list(principals))}


def counts(store: Store) -> list[Any]:
    return store.rows(
        "SELECT corpus, access, term_id, df FROM access_terms UNION ALL"
        " SELECT corpus, access, -1, chunks::int FROM access_repos WHERE chunks > 0"
        " ORDER BY 1, 2, 3"
    )


def test_rules_hold_for_the_next_call_of_an_open_driver(
    store: Store, driver: RetrievalDriver
) -> None:
    both, one = {"open/a.md", "secret/b.md"}, {"open/a.md"}
    assert paths(driver, "bob") == both
    assert set_rights(store, FOR_ANN) == 1
    shifted = FOR_ANN.replace("[{", "[{allow: [bob], repo: none}, {")
    assert (set_rights(store, shifted), set_rights(store, FOR_ANN)) == (0, 0)
    assert (paths(driver, "bob"), paths(driver, "ann"), paths(driver)) == (one, both, one)
    assert set_rights(store, "rules: [{allow: everyone, path: 'open/'}]") == 1
    assert (paths(driver, "ann"), set_rights(store, OPEN), paths(driver, "bob")) == (one, 1, both)
    assert set_rights(store, "rules: []") == 2
    assert paths(driver, "ann") == set()
    assert (set_rights(store, "unmarked: everyone"), paths(driver, "ann")) == (2, both)
    assert (set_rights(store, "unmarked: deny"), paths(driver, "ann")) == (2, set())
    assert (set_rights(store, "unmarked: everyone"), paths(driver, "ann")) == (2, both)


def test_a_batch_is_narrowed_as_one_question_is(store: Store, driver: RetrievalDriver) -> None:
    set_rights(store, FOR_ANN)
    queries = pl.DataFrame({"query_id": [0, 1], "text": ["cache flushed", "vault noon"]})
    found = driver.execute(["results"], {"principals": ["bob"]}, {"queries": queries})["results"]
    assert set(found["path"]) == {"open/a.md"}


def test_what_a_source_says_is_kept_when_rules_change(
    store: Store, driver: RetrievalDriver, write_lines: Any
) -> None:
    said = PAGES[1] | {"allowed": ["ops"]}
    ingest_documents(store, WordEmbedder(), write_lines(PAGES[0], said))
    set_rights(store, OPEN)
    assert paths(driver, "bob") == {"open/a.md"}
    assert paths(driver, "ops") == {"open/a.md", "secret/b.md"}
    ingest_documents(store, WordEmbedder(), write_lines(*PAGES))  # the source says it no more
    assert paths(driver, "bob") == {"open/a.md", "secret/b.md"}


def test_rules_that_are_set_while_an_ingestion_runs_hold_for_what_it_still_writes(
    store: Store, driver: RetrievalDriver, write_lines: Any
) -> None:
    set_rights(store, OPEN)
    later = [
        document(n, path=f"secret/{n}.md", text=f"The cache {n} is flushed.") for n in range(3, 9)
    ]

    told: list[Progress] = []

    def tell(event: Progress) -> None:
        if event.stage == "scan" and event.documents == 3 and not told:
            told.append(event)
            set_rights(store, FOR_ANN)

    lines = write_lines(*PAGES, *later)
    report = ingest_documents(store, WordEmbedder(), lines, batch_documents=3, on_event=tell)
    assert report.ok
    assert told
    assert paths(driver, "bob") == {"open/a.md"}
    assert len(paths(driver, "ann")) == 8
    assert verify(store).is_empty()


def test_what_no_rule_spoke_of_is_not_open_before_the_new_rules_hold(
    store: Store, driver: RetrievalDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_rights(store, "rules: [{allow: everyone, path: 'open/'}]")
    move, seen = document_classes.move_documents, []

    def moving(*given: Any, **named: Any) -> None:
        seen.append(paths(driver, "bob"))
        move(*given, **named)

    monkeypatch.setattr(document_classes, "move_documents", moving)
    set_rights(store, "{unmarked: everyone, rules: [{allow: [ann], path: 'secret/'}]}")
    assert seen == [{"open/a.md"}]
    assert paths(driver, "bob") == {"open/a.md"}
    assert paths(driver, "ann") == {"open/a.md", "secret/b.md"}


MANY = [f"group-{n:04}" for n in range(100)]


@pytest.mark.parametrize(
    "said",
    [
        {"allowed": MANY},  # longer than what is kept of other metadata
        {"allowed": ["group-0000"], "metadata": {"allowed": None}},
        {"allowed": ["group-0000"], "metadata": {"allowed": "everyone"}},
        {"metadata": {"allowed": MANY}},
    ],
)
def test_what_a_source_says_is_never_lost(
    store: Store, driver: RetrievalDriver, write_lines: Any, said: dict[str, Any]
) -> None:
    set_rights(store, OPEN)
    assert ingest_documents(store, WordEmbedder(), write_lines(PAGES[0], PAGES[1] | said)).ok
    assert paths(driver, "bob") == {"open/a.md"}
    assert paths(driver, "group-0000") == {"open/a.md", "secret/b.md"}


@pytest.mark.parametrize("wrong", [{"version": 5}, {"text": None}, {"allowed": 5}])
def test_a_document_for_others_that_can_not_be_read_is_not_left_to_those_who_saw_it(
    store: Store, driver: RetrievalDriver, write_lines: Any, wrong: dict[str, Any]
) -> None:
    set_rights(store, OPEN)
    new = PAGES[1] | {"allowed": ["ann"]} | wrong
    assert not ingest_documents(store, WordEmbedder(), write_lines(PAGES[0], new)).ok
    assert paths(driver, "bob") == {"open/a.md"}


def test_counts_by_class_are_those_of_a_new_ingestion(
    store: Store, driver: RetrievalDriver, write_lines: Any
) -> None:
    set_rights(store, OPEN)
    set_rights(store, FOR_ANN)
    moved = counts(store)
    assert len({access for _, access, *_ in moved}) == 2
    ingest_documents(store, WordEmbedder(), write_lines())
    store.execute("DELETE FROM documents")
    store.execute("DELETE FROM chunks")
    store.execute("DELETE FROM postings")
    for table in ("terms", "repos", "corpora", "access_terms", "access_repos"):
        store.execute(f"DELETE FROM {table}")
    ingest_documents(store, WordEmbedder(), write_lines(*PAGES))
    assert counts(store) == moved
    assert verify(store).is_empty()


def test_verify_finds_and_mends_a_passage_that_others_see_than_its_document(
    store: Store, driver: RetrievalDriver
) -> None:
    set_rights(store, FOR_ANN)
    store.execute("UPDATE chunks SET access = 0 WHERE path = 'secret/b.md'")
    assert "wrong_rights" in set(verify(store, repair=True)["kind"])
    assert verify(store).is_empty()
    assert paths(driver, "ann") == {"open/a.md", "secret/b.md"}


def test_a_backup_takes_the_rights_along(
    store: Store, driver: RetrievalDriver, tmp_path: Path
) -> None:
    set_rights(store, FOR_ANN)
    dump_collection(store.dsn, store.collection, tmp_path / "backup")
    drop_collection(store.dsn, store.collection)
    restore_collection(store.dsn, tmp_path / "backup")
    with (
        open_store(store.dsn, store.collection) as again,
        build_driver("default", store=again, embedder=WordEmbedder()) as restored,
    ):
        assert paths(restored, "bob") == {"open/a.md"}
        assert paths(restored, "ann") == {"open/a.md", "secret/b.md"}


def test_where_rights_cannot_be_told_the_answer_is_an_error(
    store: Store, driver: RetrievalDriver
) -> None:
    set_rights(store, FOR_ANN)
    store.run(lambda conn: drop_views(conn, store.schema))
    with pytest.raises((SearchError, CrosscorpusError)):
        paths(driver, "ann")


def test_what_a_caller_sees_is_no_way_to_ask_as_another(
    store: Store, driver: RetrievalDriver
) -> None:
    set_rights(store, FOR_ANN)
    with pytest.raises(CrosscorpusError, match="one caller"):
        driver.seen_by(["bob"]).ask("cache flushed", principals=["ann"])
    with pytest.raises(CrosscorpusError, match="principals: "):
        driver.execute(["results"], inputs={"query": "cache", "principals": ""})


def test_a_caller_who_has_no_name_is_an_error(driver: RetrievalDriver) -> None:
    for name in ("", 5, ["a", 5], "x" * 201, None):
        with pytest.raises(CrosscorpusError, match="principals"):
            driver.ask("cache", principals=name)


class Refusing(WordEmbedder):
    """Can't take what names the vault."""

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        if any("vault" in text for text in texts):
            raise EmbeddingError("the model is away")
        return super().count_tokens(texts)


@pytest.mark.parametrize("by", ["source", "path"])
def test_a_document_that_can_not_be_stored_is_for_those_whom_it_names_now(
    store: Store, driver: RetrievalDriver, write_lines: Any, by: str
) -> None:
    set_rights(store, OPEN if by == "source" else FOR_ANN)
    new = {"allowed": ["ann"]} if by == "source" else {"path": "secret/a.md"}
    moved = PAGES[0] | new | {"text": "The vault."}
    for _ in range(2):  # the second time it is known to fail
        assert len(ingest_documents(store, Refusing(), write_lines(moved)).failed) == 1
        assert "open/a.md" not in paths(driver, "bob")
        assert "open/a.md" in paths(driver, "ann")
        assert verify(store).is_empty()
    assert ingest_documents(store, WordEmbedder(), write_lines(PAGES[0])).ok
    assert "open/a.md" in paths(driver, "bob")


def test_a_document_that_can_not_be_stored_and_names_nobody_leaves_the_collection(
    store: Store, driver: RetrievalDriver
) -> None:
    set_rights(store, OPEN)
    fields = {name: PAGES[0][name] for name in ("corpus", "repo", "title", "path")}
    one = Document(**fields, document_id="d001", text="New.", metadata='{"allowed": [5]}')
    source = Source("documents/1", lambda: iter([one]), None, lambda: 1.0, whole=False)
    assert len(ingest(store, WordEmbedder(), source).failed) == 1
    assert paths(driver, "bob") == {"secret/b.md"}


def test_rights_that_change_leave_no_dead_rows_behind(store: Store, write_lines: Any) -> None:
    """Also where the server's own vacuum never comes, as on one that is killed again and again."""
    ingest_documents(store, WordEmbedder(), write_lines(*[document(n) for n in range(8)]))
    tables = ("access_terms", "chunks_docs", "postings_docs", "documents")
    for table in tables:
        store.execute(f"ALTER TABLE {table} SET (autovacuum_enabled = off)")

    def turns(number: int) -> int:
        for turn in range(number):
            allow = ("ann", "everyone")[turn % 2]
            assert set_rights(store, f"rules: [{{allow: {allow}}}]") == 8
        sizes = " + ".join(f"pg_relation_size('{table}')" for table in tables)
        row = store.row(f"SELECT {sizes}")
        return int(row[0]) if row else 0

    after_few = turns(4)
    assert turns(10) <= 1.3 * after_few


RULES = (
    "rules: [{allow: everyone}, {allow: [hr], path: payroll/}]",
    "rules: [{allow: everyone}, {allow: [hr], path: payroll/}, {allow: [dev], path: src/}]",
    "rules: [{allow: [dev]}, {allow: [hr, dev], path: payroll/}]",
    "rules: [{allow: everyone}]",
    "{unmarked: everyone, rules: [{allow: [hr], path: src/}]}",
)


def texts_of_commits(store: Store, *principals: str) -> set[str]:
    """What a caller sees of the history, a line each."""
    seen = seen_by(store, [*principals])
    rows = seen.rows("SELECT text FROM chunks WHERE corpus = 'history'")
    return {line for (text,) in rows for line in text.split("\n")} - {""}


def test_rules_that_change_show_of_stored_commits_what_a_new_ingestion_shows(
    store: Store, server_dsn: str, tmp_path: Path
) -> None:
    git(tmp_path, "init", "-q")
    for name, text in (("payroll/bonus.md", "bonus"), ("src/a.py", "code"), ("b.md", "plain")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"the {text} of depots\n")
        commit(tmp_path, f"Tell of {text.upper()}")
    for path in tmp_path.rglob("*.*"):
        if ".git" not in path.parts:
            path.write_text(path.read_text() + "and more\n")
    git(tmp_path, "commit", "-qam", "Tell more of all")
    ingest(store, WordEmbedder(), git_source(tmp_path, "app", diffs=True))
    callers = (["guest"], ["hr"], ["dev"])
    shown: dict[str, list[set[str]]] = {}
    for rules in RULES:
        drop_collection_if_there(server_dsn, "anew")
        with open_store(server_dsn, "anew", create=True) as anew:
            set_rights(anew, rules)
            ingest(anew, WordEmbedder(), git_source(tmp_path, "app", diffs=True))
            shown[rules] = [texts_of_commits(anew, *caller) for caller in callers]
            assert verify(anew).is_empty()
    for rules in (*RULES, RULES[2]):
        set_rights(store, rules)
        assert set_rights(store, rules) == 0
        assert [texts_of_commits(store, *caller) for caller in callers] == shown[rules]
        assert verify(store).is_empty()
    set_rights(store, RULES[0])
    ingest(store, WordEmbedder(), git_source(tmp_path, "app", diffs=True))
    guest, hr = texts_of_commits(store, "guest"), texts_of_commits(store, "hr")
    assert not any("payroll" in line or "bonus" in line for line in guest)
    assert {"Tell of BONUS", "+the code of depots"} < guest
    assert {"payroll/bonus.md", "+the bonus of depots"} < hr
    (lacking,) = store.row("SELECT count(*) FROM chunks WHERE embedding IS NULL") or (None,)
    assert lacking == 0
    told = {one.about: one.sees for one in reasons(store, ["guest"], "payroll/bonus.md")}
    assert told == {None: False, "payroll/bonus.md": False}


def test_a_commit_that_was_cut_by_rules_is_whole_again_after_the_next_ingestion(
    store: Store, tmp_path: Path
) -> None:
    git(tmp_path, "init", "-q")
    for name in ("payroll/bonus.md", "src/a.py", "b.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"{name} of depots\n")
    commit(tmp_path, "Tell of depots")

    def chunks() -> list[tuple[str, ...]]:
        ingest(store, WordEmbedder(), git_source(tmp_path, "app"))
        return sorted(store.rows("SELECT text, metadata FROM chunks WHERE corpus = 'history'"))

    whole = chunks()
    assert set_rights(store, RULES[0]) == 2  # the file, and once the commit
    assert len(chunks()) > len(whole)
    assert set_rights(store, "unmarked: everyone") == 2
    assert chunks() == whole
    assert verify(store).is_empty()


def drop_collection_if_there(dsn: str, name: str) -> None:
    with suppress(UnknownName):
        drop_collection(dsn, name)
