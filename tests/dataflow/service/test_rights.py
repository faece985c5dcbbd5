"""What a caller gets through any door is what a collection of the visible documents gives alone."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pytest
import yaml
from doors import replies
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)
from ingesting import ingest_documents
from pydantic import BaseModel
from word_embedder import WordEmbedder

from dataflow import build_driver
from dataflow.driver.retrieval_driver import RetrievalDriver
from dataflow.ingestion.removal import drop_documents
from dataflow.ingestion.set_rights import set_rights
from dataflow.service import tools
from dataflow.service.tools import Service
from operators.errors import UnknownName
from operators.foundation.principals import access_class
from operators.postgres.store import Store, drop_collection, open_store
from operators.postgres.write.document_classes import move_documents
from operators.postgres.write.document_writer import keep_classes

NAME, ALONE = "rights", "rights-alone"
SETS: list[list[str] | str | None] = [None, "everyone", ["ann"], ["ops"], ["ann", "ops"], []]
CALLERS = (("ann",), ("ops",), ("ann", "ops"), ("bob",), ())
WORDS = ("cache", "limits", "flushed", "queue", "entries", "kept", "nobody", "reads")

MOST = 8
"""Documents of a collection: their numbers are below it."""

BY_ID = 4
"""Passages, hidden ones too, that are asked for by their ids, by turns."""

TIMES = re.compile(r'"(seconds|milliseconds|\w*_ms|\w+_seconds)": ?[0-9.e-]+|\b[0-9.]+ ?ms\b')

numbers = st.integers(0, MOST - 1)
callers = st.sampled_from(CALLERS)
sets = st.sampled_from(SETS)
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=40).map(" ".join)
versions = st.integers(1, 3)
rules = st.lists(
    st.fixed_dictionaries(
        {"allow": sets.filter(lambda one: one is not None)},
        optional={
            "corpus": st.sampled_from(["docs", "wiki", "code"]),
            "repo": st.sampled_from(["org/r0", "org/*"]),
            "path": st.sampled_from(["1.0/", "src/", "*.md"]),
        },
    ),
    max_size=3,
)


def document(n: int, allowed: Any, text: str, version: int) -> dict[str, Any]:
    corpus = ("docs", "wiki", "code", "history")[n % 4]
    page = f"page{n % 3}"
    of = {"doc_id": f"{corpus}-{n}", "corpus": corpus, "repo": f"org/r{n % 2}"}
    of |= {"text": f"# limits\n\n{text}\n"}
    of |= {"title": f"{page} limits", "created_at": "2026-01-01T00:00:00Z"}
    if corpus == "docs":
        of |= {"path": f"{version}.0/{page}.md", "version": f"{version}.0", "topic": page}
    elif corpus == "code":
        of |= {"path": f"src/{page}_{n}.py"}
    return of if allowed is None else of | {"allowed": allowed}


def speaks_of(rule: Mapping[str, Any], one: Mapping[str, Any]) -> bool:
    """Whether a rule speaks of a document, told in another way than the program does."""
    path, pattern = one.get("path"), rule.get("path")
    inside = pattern is None or (
        path is not None
        and (path.endswith(".md") if pattern == "*.md" else path.startswith(pattern))
    )
    same_corpus = rule.get("corpus") in (None, one["corpus"])
    return inside and same_corpus and rule.get("repo") in (None, "org/*", one["repo"])


def drop(dsn: str, name: str) -> None:
    with suppress(UnknownName):
        drop_collection(dsn, name)


def ingest(store: Store, folder: Path, documents: Sequence[Any], failed: int = 0) -> None:
    file = folder / "documents.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in documents))
    assert len(ingest_documents(store, WordEmbedder(), file).failed) == failed
    store.execute("DELETE FROM runs")  # without rights, callers are told of sources too


def told(driver: RetrievalDriver, caller: Sequence[str] | None, ids: list[str]) -> dict[str, str]:
    """All that the doors answer, but for times and the one that tells of nothing else."""
    seen = driver if caller is None else driver.seen_by(caller)
    service = Service(driver, driver.store, "http://localhost/p")
    found = replies(service, ids, None if caller is None else tuple(caller))
    answer = seen.ask("cache limits flushed", top_k=20)
    found["ask"] = f"{answer.context}{answer.citations}{answer.notes}{answer.frame.to_dicts()}"
    alike = {asked: text for asked, text in found.items() if not asked.startswith("/metr")}
    return {asked: TIMES.sub("TIME", text) for asked, text in alike.items()}


def chunk_ids(store: Store) -> list[str]:
    rows = store.rows("SELECT corpus || ':' || chunk_id FROM chunks ORDER BY 1")
    return [str(id) for (id,) in rows]


class Collection(RuleBasedStateMachine):
    """A collection that changes below a driver that stays open.

    After each change a caller asks through all doors, and gets what a new collection gives that
    holds what he may see.
    """

    dsn: ClassVar[str]
    folder: ClassVar[Path]

    def __init__(self) -> None:
        super().__init__()
        self.documents: dict[int, dict[str, Any]] = {}
        self.rules: list[Any] = []
        self.unmarked = "deny"
        self.has_rights = False  # for good, as soon as anything says who may see what
        self.gone: list[str] = []  # ids that a caller may still have
        self.asked = 0  # times
        self.opened = ExitStack()
        drop(self.dsn, NAME)
        self.store = self.opened.enter_context(open_store(self.dsn, NAME, create=True))

    def teardown(self) -> None:
        self.opened.close()
        for name in (NAME, ALONE):
            drop(self.dsn, name)

    @initialize(
        documents=st.dictionaries(numbers, st.tuples(sets, texts, versions), min_size=3),
        own_store=st.booleans(),
        caller=callers,
    )
    def begin(self, documents: Any, own_store: bool, caller: Any) -> None:
        """Ingest, and open a driver: over the store of the ingestions, or as another process."""
        self.take(*(document(n, *documents[n]) for n in sorted(documents)))
        store = self.store
        if own_store:
            store = self.opened.enter_context(open_store(self.dsn, NAME))
        self.driver = self.opened.enter_context(
            build_driver("default", store=store, embedder=WordEmbedder())
        )
        self.ask(caller)

    @rule(n=numbers, allowed=sets, text=texts, version=versions, caller=callers)
    def put(self, n: int, allowed: Any, text: str, version: int, caller: Any) -> None:
        """A document is new, or another one."""
        self.had(caller)
        self.take(document(n, allowed, text, version))
        self.ask(caller)

    @precondition(lambda self: self.documents)
    @rule(data=st.data(), allowed=sets, caller=callers)
    def allow(self, data: Any, allowed: Any, caller: Any) -> None:
        """The same document is for others."""
        n = data.draw(st.sampled_from(sorted(self.documents)))
        one = {key: value for key, value in self.documents[n].items() if key != "allowed"}
        self.had(caller)
        self.take(one if allowed is None else one | {"allowed": allowed})
        self.ask(caller)

    @precondition(lambda self: self.documents)
    @rule(data=st.data(), text=texts, caller=callers)
    def edit(self, data: Any, text: str, caller: Any) -> None:
        """A document says something else to the same people."""
        n = data.draw(st.sampled_from(sorted(self.documents)))
        self.had(caller)
        self.take(self.documents[n] | {"text": f"# limits\n\n{text}\n"})
        self.ask(caller)

    @precondition(lambda self: len(self.documents) > 1)
    @rule(data=st.data(), dropped=st.booleans(), caller=callers)
    def remove(self, data: Any, dropped: bool, caller: Any) -> None:
        """A document is dropped, or says in a way that nobody can read who may see it."""
        n = data.draw(st.sampled_from(sorted(self.documents)))
        self.gone += chunk_ids(self.store)
        one = self.documents.pop(n)
        self.had(caller)
        if dropped:
            drop_documents(self.store, document=one["doc_id"])
        else:
            self.write([one | {"allowed": 5}], failed=1)
        self.ask(caller)

    @rule(rules=rules, unmarked=st.sampled_from(["deny", "everyone"]), caller=callers)
    def set_rules(self, rules: list[Any], unmarked: str, caller: Any) -> None:
        """The rules are others."""
        self.had(caller)
        set_rights(self.store, yaml.safe_dump({"unmarked": unmarked, "rules": rules}))
        self.rules, self.unmarked, self.has_rights = rules, unmarked, True
        self.ask(caller)

    def had(self, caller: Sequence[str]) -> None:
        """Let the caller ask just before a change: what is kept then must not outlive it."""
        self.driver.seen_by(caller).ask("cache limits flushed", top_k=20)

    def take(self, *documents: dict[str, Any]) -> None:
        """Ingest documents, as they are in the state from now on."""
        self.gone += chunk_ids(self.store)
        self.write(documents)
        for one in documents:
            self.documents[int(one["doc_id"].rpartition("-")[2])] = one
            self.has_rights |= "allowed" in one

    def write(self, documents: Sequence[Any], failed: int = 0) -> None:
        ingest(self.store, self.folder, documents, failed)

    def allowed(self, one: Mapping[str, Any]) -> list[str] | None:
        """Who may see a document: it says so, or else the last rule that speaks of it."""
        said = [one["allowed"]] if "allowed" in one else []
        said += [rule["allow"] for rule in reversed(self.rules) if speaks_of(rule, one)]
        if not said:
            return None
        return [said[0]] if isinstance(said[0], str) else said[0]

    def visible(self, caller: Sequence[str]) -> list[dict[str, Any]]:
        """The documents that a caller may see, each with those for whom it is."""
        names, found = {*caller, "everyone"}, []
        for _, one in sorted(self.documents.items()):
            allowed = self.allowed(one)
            if allowed is not None and names & set(allowed):
                found.append(one | {"allowed": allowed})
            elif allowed is None and (not self.has_rights or self.unmarked == "everyone"):
                found.append(one)
        return found

    def ask(self, caller: Sequence[str]) -> None:
        """Compare what the caller gets with what the visible documents give alone."""
        now = chunk_ids(self.store)
        self.gone = [id for id in dict.fromkeys(self.gone) if id not in now][-2:]
        turn = self.asked % max(len(now), 1)
        ids = [*(now[turn:] + now[:turn])[:BY_ID], *self.gone]
        self.asked += 1
        if not self.has_rights:  # what is known of a collection may be a second old then
            self.driver.store.forget_info()
        as_caller = told(self.driver, caller, ids)
        drop(self.dsn, ALONE)
        with (
            open_store(self.dsn, ALONE, create=True) as store,
            build_driver("default", store=store, embedder=WordEmbedder()) as driver,
        ):
            ingest(store, self.folder, self.visible(caller))
            alone = told(driver, None, ids)
        assert as_caller.keys() == alone.keys()
        for asked, text in alone.items():
            assert as_caller[asked].replace(f'"{NAME}"', f'"{ALONE}"') == text, asked


def test_every_door_gives_what_a_collection_of_the_visible_documents_gives(
    server_dsn: str, tmp_path: Path
) -> None:
    """One of 25 of CROSSCORPUS_TEST_EXAMPLES is run: 2500 make a long proof, by hand."""
    Collection.dsn, Collection.folder = server_dsn, tmp_path
    how = settings(max_examples=max(1, settings.default.max_examples // 25), stateful_step_count=3)
    run_state_machine_as_test(Collection, settings=how)


PUBLIC = "rules: [{allow: everyone}]"
FOR_ANN = "rules: [{allow: everyone, path: 'open/'}, {allow: [ann], path: 'secret/'}]"
PLACES = [f"{('open', 'secret')[n // 2 % 2]}/{n % 2 + 1}.0/{n // 2:02}.md" for n in range(100)]
LONG = PLACES[98:]


@pytest.fixture(scope="module")
def pages(server_dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Fifty topics of two versions, each second one secret.

    The last is long, and its versions differ in many places.
    """
    long = "\n\n".join(f"## Part {n}\n\n" + f"It keeps {n} of these. " * 5 for n in range(200))
    said = [f"The cache of {n} is flushed." for n in range(100)]
    said[98:] = long, long.replace("keeps", "holds")
    pages = [
        {"doc_id": f"d{n}", "corpus": "docs", "repo": "org/app", "path": PLACES[n], "text": text}
        | {"topic": f"topic {n // 2}", "version": f"{n % 2 + 1}.0"}
        for n, text in enumerate(said)
    ]
    file = tmp_path_factory.mktemp("pages") / "many.jsonl"
    file.write_text("".join(json.dumps(page) + "\n" for page in pages))
    with open_store(server_dsn, "rights-pages", create=True, max_size=2) as store:
        assert ingest_documents(store, WordEmbedder(), file).ok
        yield store
    drop_collection(server_dsn, "rights-pages")


@pytest.fixture
def many(pages: Store) -> Store:
    """The same; no rule hides any yet."""
    set_rights(pages, PUBLIC)
    return pages


@pytest.fixture(scope="module")
def served(pages: Store) -> Iterator[Service]:
    """A service that stays open, over another store than the one that ingests: as a process."""
    with (
        open_store(pages.dsn, pages.collection, max_size=8) as store,
        build_driver("default", store=store, embedder=WordEmbedder()) as driver,
    ):
        yield Service(driver, store, "http://localhost/p")


Next = Callable[[Service, str | None], BaseModel]
"""Gives a page of an answer from its cursor on."""

PAGED: dict[str, Next] = {
    "search": lambda of, at: tools.search(of, "cache flushed", top_k=50, cursor=at),
    "versions": lambda of, at: tools.versions(of, cursor=at),
    "changes": lambda of, at: tools.versions(of, LONG[1], older="1.0", cursor=at),
    "lines": lambda of, at: tools.fetch(of, LONG[1], lines="1-9999", cursor=at),
}


@pytest.mark.parametrize("kind", PAGED)
def test_a_right_that_is_taken_away_holds_for_the_next_page(
    many: Store, served: Service, kind: str
) -> None:
    def page(at: str | None) -> Any:
        return PAGED[kind](served.seen_by(["bob"]), at)

    cursor = page(None).next_cursor
    assert cursor
    before = page(cursor).model_dump_json()
    assert "secret/" in before
    set_rights(many, FOR_ANN)
    try:
        after = page(cursor).model_dump_json()
    except UnknownName as error:
        after = str(error)
    assert "secret/" not in after.replace(LONG[1], "")  # the name that he gave
    assert "holds" not in after
    assert "secret/" in PAGED[kind](served.seen_by(["ann"]), cursor).model_dump_json()


def test_the_owner_s_search_request_shows_another_caller_nothing_more(
    store: Store, tmp_path: Path
) -> None:
    paths = ("open/a.md", "secret/a.md")
    documents = [
        {"corpus": "docs", "doc_id": path, "path": path, "text": f"The cache of {path} flushed."}
        for path in paths
    ]
    ingest(store, tmp_path, documents)
    set_rights(store, FOR_ANN)
    with build_driver("default", store=store, embedder=WordEmbedder()) as driver:
        inputs, nodes = {"query": "cache flushed"}, ["docs.search_request", "search_requests"]
        owners = driver.execute(nodes, inputs)
        for seen, who in ((paths, {}), (paths[:1], {"principals": ["bob"]})):
            found = driver.execute(["results"], {**inputs, **who}, owners)["results"]
            assert sorted(found["path"]) == list(seen)


def test_what_another_process_opens_to_a_caller_is_in_his_next_answer(
    many: Store, served: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("operators.postgres.store.INFO_SECONDS", 1000.0)  # as if it were at once
    of = {"doc_id": "w", "corpus": "wiki", "text": "The zebra sleeps."}

    def answer(driver: RetrievalDriver, who: str) -> str:
        service = Service(driver, driver.store).seen_by([who])
        return tools.explain(service, "zebra sleeps").model_dump_json()

    for allowed in ("ann", "bob"):
        before = answer(served.driver, allowed)
        ingest(many, tmp_path, [of | {"allowed": [allowed]}])
        with (
            open_store(many.dsn, many.collection) as store,
            build_driver("default", store=store, embedder=WordEmbedder()) as new,
        ):
            for who in ("ann", "bob"):
                assert answer(served.driver, who) == answer(new, who)
        assert answer(served.driver, allowed) != before


def test_a_pattern_is_never_run_on_what_a_caller_may_not_see(store: Store, tmp_path: Path) -> None:
    def code(name: str, language: str, allowed: list[str]) -> dict[str, Any]:
        of = {"doc_id": name, "corpus": "code", "path": name, "repo": "org/r0", "text": "cache x"}
        return of | {"language": language, "allowed": allowed}

    ingest(store, tmp_path, [code("a.go", "go", ["bob"]), code("b.py", "python", ["ops"])])
    with build_driver("default", store=store, embedder=WordEmbedder()) as driver:
        asked = {"pattern": "[", "language": "python", "corpora": ["code"]}
        notes = driver.ask("cache", principals=["bob"], **asked).notes
        found = {
            who: driver.ask("cache", principals=[who], pattern="cache") for who in ("bob", "ops")
        }
    assert not any("regular expression" in note for note in notes), notes
    assert {who: [one.path for one in of] for who, of in found.items()} == {
        "bob": ["a.go"],
        "ops": ["b.py"],
    }


def test_names_of_versions_go_with_the_right_to_see_them(store: Store, tmp_path: Path) -> None:
    def page(version: str) -> dict[str, Any]:
        path = {"path": f"{version}/limits.md", "title": "limits", "topic": "limits"}
        of = {"doc_id": f"docs-{version}", "corpus": "docs", "version": version, "repo": "org/r0"}
        return of | path | {"text": f"# limits\n\ncache {version} words\n", "allowed": ["bob"]}

    ingest(store, tmp_path, [page("1.0"), page("2.0"), page("9.0")])
    with build_driver("default", store=store, embedder=WordEmbedder()) as driver:

        def said() -> str:
            return "".join(driver.ask("cache limits", version="7.7", principals=["bob"]).notes)

        assert "9.0" in said()
        ((key,),) = store.rows("SELECT document_key::text FROM documents WHERE version = '9.0'")
        narrowed = access_class(["ops"])
        with open_store(store.dsn, store.collection) as other:  # a process that is killed then
            keep_classes(other, {narrowed: ["ops"]})
            places = {key: (narrowed, "source")}
            other.run(partial(move_documents, corpus="docs", places=places))
        assert "9.0" not in said()
