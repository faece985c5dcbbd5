"""Whatever happens to a source and to runs over it: the collection is as one built from scratch.

Killed before and after a commit, a run leaves whole documents, and the next run ends right. The
points are not chosen but counted: an undisturbed run reports every commit that wrote something and
every file that it would write, and then one process is killed at the first of each name;
``make test-kills`` kills one at every point.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from dying import points_of_each_kind
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)
from ingested import commit, git, lines, texts
from ingesting import ingest_documents, ingest_folder, ingest_git, ingest_wiki
from ledger_rows import ledger

from dataflow.ingestion import graph as ingestion_graph
from dataflow.ingestion.loop import ingest
from operators.errors import CrosscorpusError
from operators.postgres.inspect.verify import verify
from operators.postgres.store import Store, collection_info, drop_collection, open_store, schema_of
from operators.postgres.write.chunk_vectors import try_again
from operators.sources.chunking import chunker
from operators.sources.folder import folder_source

NAME = "killed"
SCHEMA = schema_of(NAME)
Read = Callable[[Store], dict[str, Any]]


def read_documents(store: Store) -> dict[tuple[str, str], frozenset[Any]]:
    """What each document's chunks are, by its name."""
    if collection_info(store).space is None:
        return {}
    found: dict[tuple[str, str], set[Any]] = {}
    with store.transaction() as conn:
        for corpus, document_id, *chunk in conn.execute(
            "SELECT corpus, document_id, ordinal, text, embedding::text FROM chunks"
        ):
            found.setdefault((corpus, document_id), set()).add(tuple(chunk))
    return {name: frozenset(chunks) for name, chunks in found.items()}


def with_vectors(chunks: frozenset[Any], whole: frozenset[Any]) -> bool:
    """Whether ``chunks`` are the ``whole`` document, but that some wait for their vector."""
    known = {chunk[:2]: chunk[2] for chunk in whole}
    held = {chunk[:2]: chunk[2] for chunk in chunks}
    return held.keys() == known.keys() and all(
        vector in (None, known[chunk]) for chunk, vector in held.items()
    )


def everything(dsn: str) -> str:
    """All that the database holds of the collection, clocks and the record of runs apart."""
    with psycopg.connect(dsn) as conn:
        indexes = conn.execute(
            "SELECT indexname FROM pg_indexes WHERE schemaname = %s ORDER BY 1", (SCHEMA,)
        ).fetchall()
        rows = conn.execute(
            "SELECT relname, string_agg(quote_ident(attname), ', ' ORDER BY attname)"
            " FROM pg_class c JOIN pg_attribute a ON attrelid = c.oid AND attnum > 0"
            " AND NOT attisdropped AND atttypid <> 'timestamptz'::regtype"
            " WHERE relnamespace = to_regnamespace(%s) AND relkind = 'r' AND relname <> 'runs'"
            " GROUP BY relname ORDER BY relname",
            (f'"{SCHEMA}"',),
        ).fetchall()
        held = [
            conn.execute(
                f"SELECT md5(string_agg(t::text, '|' ORDER BY t::text))"
                f' FROM (SELECT {columns} FROM "{SCHEMA}"."{table}") AS t'
            ).fetchone()
            for table, columns in rows
        ]
    return repr((indexes, rows, held))


@pytest.mark.parametrize("work", ["create", "update"])
def test_wherever_a_run_is_killed_the_next_ends_as_an_undisturbed_one(
    work: str,
    dying: Callable[..., dict[str, Any]],
    copies: Callable[..., str],
    deaths: Callable[..., Iterator[tuple[int, str]]],
    new_embedder: Any,
    write_lines: Callable[..., Path],
    contents: Read,
) -> None:
    first = write_lines(*lines(range(12)), name="first.jsonl")
    renamed = [{**line, "doc_id": f"renamed {line['doc_id']}"} for line in lines(range(2))]
    second = write_lines(
        *renamed, *lines(range(2, 8)), *lines(range(8, 12), " changed"), *lines(range(20, 28)),
        name="2.jsonl",
    )  # fmt: skip
    source = second if work == "update" else first

    def finish(store: Store) -> None:
        report = ingest_documents(store, new_embedder(), source, prune=True, allow_mass_delete=True)
        assert report.ok, report.failed

    base = copies(None, "kill_base")
    if work == "create":
        psycopg.connect(base, autocommit=True).execute("CREATE EXTENSION vector").connection.close()
        before: dict[Any, Any] = {}
    else:
        with open_store(base, NAME, create=True) as store:
            ingest_documents(store, new_embedder(), first, prune=True)
            before = read_documents(store)
    order = {"collection": NAME, "source": str(source)}
    whole = copies("kill_base", "kill_whole")
    met = dying(dsn=whole, point=0, **order)["met"]
    assert len(met) > 10
    assert not [name for name in met if name.startswith("failed")]
    with open_store(whole, NAME) as store:
        wanted, after = contents(store), read_documents(store)

    ended: set[str] = set()
    for point, dsn in deaths(order, points_of_each_kind(met)):
        name = met[point - 1]
        left = everything(dsn)
        if left in ended:  # what follows depends on nothing else
            continue
        ended.add(left)
        with open_store(dsn, NAME, create=True, max_size=2) as store:
            findings = verify(store)
            assert set(findings["kind"]) <= {"unfinished"}, (name, findings)
            between = read_documents(store)
            for one in before.keys() | after.keys() | between.keys():
                held = between.get(one)
                whole = held in (before.get(one), after.get(one))
                assert whole or (held and with_vectors(held, after[one])), (name, one)
            finish(store)
            assert contents(store) == wanted, name
    assert len(ended) > 4


NAMES = st.sampled_from([f"{folder}page{n}.md" for n in range(4) for folder in ("", "part/")])

TEXTS = st.builds(
    lambda word, count, heading: (
        ("# Part\n\n" if heading else "") + " ".join(f"{word}{n}" for n in range(count))
    ),
    st.sampled_from(["alpha", "beta", "gamma"]),
    st.sampled_from([0, 3, 60, 130]),
    st.booleans(),
)


class Crash(BaseException):
    """The process is gone: no handler of ours sees it."""


@contextmanager
def crashing(number: int, after: bool) -> Iterator[None]:
    """End whatever runs at its ``number``-th commit that wrote something, before or after it."""
    leave = psycopg.Transaction.__exit__
    met = 0

    def leaving(transaction: Any, kind: Any, error: Any, trace: Any) -> Any:
        nonlocal met
        if kind is None and not transaction.savepoint_name:
            query = "SELECT pg_current_xact_id_if_assigned()"
            met += transaction.connection.execute(query).fetchone()[0] is not None
            if met == number:
                met += 1
                died = (None, None, None) if after else (Crash, Crash(), None)
                leave(transaction, *died)
                raise Crash
        return leave(transaction, kind, error, trace)

    psycopg.Transaction.__exit__ = leaving  # type: ignore[method-assign]
    try:
        yield
    except Crash:
        pass
    finally:
        psycopg.Transaction.__exit__ = leave  # type: ignore[method-assign]


def test_a_collection_always_equals_a_fresh_full_build(
    new_store: Callable[[], Store],
    new_embedder: Any,
    contents: Read,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cut = chunker.chunk_documents
    usual = chunker.VERSION
    compared = 0

    class Collection(RuleBasedStateMachine):
        @initialize(text=TEXTS)
        def begin(self, text: str) -> None:
            self.folder = tmp_path / "wiki"
            shutil.rmtree(self.folder, ignore_errors=True)
            self.clock = 1_600_000_000
            self.write("page0.md", text)
            self.store, self.model, self.chunker = new_store(), new_embedder(), 0
            self.use_chunker(0)
            self.ingest()

        def write(self, name: str, text: str) -> None:
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            self.clock += 10
            os.utime(path, (self.clock, self.clock))

        def files(self) -> list[Path]:
            return sorted(path for path in self.folder.rglob("*") if path.is_file())

        def use_chunker(self, number: int) -> None:
            monkeypatch.setattr(chunker, "VERSION", f"{usual}.{number}")
            monkeypatch.setattr(
                ingestion_graph, "chunk_documents", lambda d, c, most: cut(d, c, most - 5 * number)
            )

        def ingest(self, store: Store | None = None, **options: Any) -> Any:
            source = folder_source(self.folder, "wiki", "org/app")
            return ingest(
                store or self.store, self.model, source,
                allow_mass_delete=True, batch_documents=2, **options,
            )  # fmt: skip

        @rule(name=NAMES, text=TEXTS)
        def add_or_edit(self, name: str, text: str) -> None:
            self.write(name, text)

        @rule(of=st.integers(0, 9), name=NAMES)
        def rename(self, of: int, name: str) -> None:
            files = self.files()
            target = self.folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            files[of % len(files)].rename(target)

        @precondition(lambda self: len(self.files()) > 1)
        @rule(of=st.integers(0, 9))
        def delete(self, of: int) -> None:
            files = self.files()
            files[of % len(files)].unlink()

        @rule(at=st.integers(1, 14), after=st.booleans())
        def crash(self, at: int, after: bool) -> None:
            with crashing(at, after):
                self.ingest()
            self.check_whole()

        @rule()
        def ingest_with_a_model_that_fails(self) -> None:
            self.model.fails_on = "beta2"
            self.ingest()
            self.model.fails_on = "\0never"
            self.check_whole()

        @rule()
        def change_chunker(self) -> None:
            self.chunker = (self.chunker + 1) % 3
            self.use_chunker(self.chunker)

        @rule()
        def compare(self) -> None:
            nonlocal compared
            compared += 1
            try_again(self.store)
            report = self.ingest()
            assert report.ok, report.failed
            fresh = new_store()
            self.ingest(fresh)
            here, there = contents(self.store), contents(fresh)
            self.forget(fresh)
            for held in (here, there):
                del held["embedding_cache"]  # keeps what it has seen
                held["repos"] = [row for row in held["repos"] if row[0] != "0"]
            assert here == there
            again = self.ingest()
            assert (again.chunks, again.embedded, again.documents_deleted) == (0, 0, 0)

        def check_whole(self) -> None:
            findings = verify(self.store)
            assert set(findings["kind"]) <= {"unfinished"}, findings

        def teardown(self) -> None:
            if hasattr(self, "store"):
                self.compare()
                self.forget(self.store)

        def forget(self, store: Store) -> None:
            drop_collection(store.dsn, store.collection)
            store.close()

    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        Collection,
        settings=settings(
            max_examples=int(os.environ.get("CROSSCORPUS_TEST_EXAMPLES", "4")),
            stateful_step_count=12,
            derandomize=True,
            database=None,
        ),
    )
    assert compared > 4


Ingest = Callable[..., Any]


def pages(root: Path, *names: str) -> Path:
    root.mkdir(parents=True)
    for name in names:
        (root / f"{name}.md").write_text(f"# {name}\n\nThe {name} page of {root.parent.name}.\n")
    return root


def repository(root: Path, *names: str) -> Path:
    pages(root, *names)
    commit(root, "First")
    return root


def stored(store: Store, repo: str) -> set[str]:
    return set(ledger(store, "docs", repo)["document_id"])


@pytest.mark.parametrize(
    ("ingest", "make"), [(ingest_folder, pages), (ingest_git, repository)], ids=["folder", "git"]
)
def test_another_source_of_the_same_name_is_refused_and_nothing_is_lost(
    store: Store, embedder: Any, tmp_path: Path, ingest: Ingest, make: Ingest
) -> None:
    billing = make(tmp_path / "billing/docs", "index", "refunds")
    search = make(tmp_path / "search/docs", "index", "ranking")
    assert ingest(store, embedder, billing).ok
    with pytest.raises(CrosscorpusError, match=r"--repo.*--relocated") as refused:
        ingest(store, embedder, search, allow_mass_delete=True)
    assert str(billing) in str(refused.value)
    assert str(search) in str(refused.value)
    assert stored(store, "docs") == {"index.md", "refunds.md"}
    assert ingest(store, embedder, search, repo="search").ok
    assert ingest(store, embedder, billing).documents_new == 0
    assert stored(store, "search") == {"index.md", "ranking.md"}


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


def test_chosen_endings_are_read_and_kept_and_added_to_until_a_run_drops_them(
    store: Store, embedder: Any, tmp_path: Path
) -> None:
    root = repository(tmp_path / "x/app", "index")
    for name in ("a.xyz", "b.abc", "c.note"):
        (root / name).write_text(f"The text of {name}.\n")
    commit(root, "Second")

    def found(**options: Any) -> set[str]:
        report = ingest_git(store, embedder, root, allow_mass_delete=True, **options)
        assert report.ok
        names = {name for (name,) in store.rows("SELECT document_id FROM documents")}
        return names & {"a.xyz", "b.abc", "c.note"}

    assert found() == set()
    assert found(also=[".xyz"]) == {"a.xyz"}
    assert found() == {"a.xyz"}
    assert found(diffs=True) == {"a.xyz"}
    assert found(also=[".abc", ".note=markdown"]) == {"a.xyz", "b.abc", "c.note"}
    assert found(also=[".note=text"]) == {"a.xyz", "b.abc", "c.note"}
    kinds = "SELECT corpus, language FROM documents WHERE document_id = 'c.note'"
    assert store.rows(kinds) == [("docs", "text")]
    assert found(also=[""]) == set()
    assert found() == set()


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

    assert "[secret: GitLab token]" in run()[2]
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


def test_documents_that_turn_out_to_be_generated_go_however_many_they_are(
    store: Store, embedder: Any, tmp_path: Path
) -> None:
    root = pages(tmp_path / "app/docs", "index", "a", "b")
    assert ingest_folder(store, embedder, root).documents_new == 3
    for name in ("a", "b"):
        (root / f"{name}.md").write_text("x" * 9_000)
    report = ingest_folder(store, embedder, root)
    assert (report.ok, report.documents_deleted, set(texts(store))) == (True, 2, {"index.md"})
    assert [issue.where for issue in report.skipped] == ["a.md", "b.md"]


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
