# ruff: noqa: E501 (addresses are long)
"""Every address, title and label that an answer shows is a place that fetch takes."""

from __future__ import annotations

import json
import re
import time
import unicodedata
from collections.abc import Iterator
from functools import cache, partial
from urllib.parse import quote

import pytest
from ingested import commit, git
from ingesting import ingest_documents, ingest_git
from word_embedder import WordEmbedder

from dataflow import build_driver
from dataflow.service import tools
from dataflow.service.tools import Service
from operators.errors import CrosscorpusError, UnknownName
from operators.postgres.store import drop_collection, open_store

FORGE = "https://github.com/acme/app"
STEPS = "\n".join(f"def step_{n}(fee): return rounded(fee, {n})\n" for n in range(1, 120))
FILES = {
    "docs/my notes.md": "# My notes\n\nThe fee table hangs in the kitchen.\n\n## Its\u200b place\n\nBy the door.\n",
    "docs/Zürich.md": "# Zürich\n\nThe depot rounds fees up.\n",
    "docs/100% [new] ?x#y.md": "# All *fees*\n\nThe percent fee is new.\n",
    "docs/a.md": "# A\n\n" + "".join(f"## Part {n}\n\nThe fee of part {n}.\n\n" for n in range(9)),
    "fees.py": 'def base_fee():\n    """The fee."""\n    return 100\n',
    "src/__init__.py": "FEE = 1  # the init fee\n",
    "src/steps.py": STEPS,
}
LONG = "Retry of the fee depot " + "again and again " * 20 + "for the last time"
ROWS = [
    {"doc_id": "issues/44", "corpus": "issue", "title": "#44 The fee [beta] is <wrong>"}
    | {"text": "The fee is wrong in the depot.", "url": f"{FORGE}/issues/44"},
    {"doc_id": "issues/45", "corpus": "issue", "title": f"#45 {LONG}", "url": f"{FORGE}/issues/45"}
    | {"text": "The retry fee is long."},
    {"doc_id": "pull/12#discussion_r5", "corpus": "review", "title": f"PR #12 {LONG}"}
    | {"path": "fees.py", "url": f"{FORGE}/pull/12#discussion_r5", "text": "Why is the fee 100?"}
    | {"metadata": {"pr_number": 12, "line": 3}},
    {"doc_id": "pull/12#discussion_r6", "corpus": "review", "title": f"PR #12 {LONG}"}
    | {"path": "src/steps.py", "url": f"{FORGE}/pull/12#discussion_r6", "text": "Is the fee rounded?"}
    | {"metadata": {"pr_number": 12, "line": 7}},
    {"doc_id": "Home", "corpus": "wiki", "title": "Home of fees_and_depots", "text": "The fee wiki."},
    {"doc_id": "w2", "corpus": "wiki", "title": "Zürich: docs:12", "text": "A fee in Zürich."}
    | {"url": "https://wiki.example.org/Zürich page#top"},
    {"doc_id": "w3", "corpus": "wiki", "title": "Copy", "text": "The first fee copy."},
    {"doc_id": "w4", "corpus": "wiki", "title": "Copy", "text": "Another, second fee copy."},
    {"doc_id": "p", "corpus": "docs", "path": "docs/price.pdf", "text": "The fee of page 12 is 7."}
    | {"url": "https://example.org/price.pdf", "metadata": {"page": 12}},
    *(
        {"doc_id": f"v{n}", "corpus": "docs", "path": f"docs/{n}.0/limits.md", "version": f"{n}.0"}
        | {"text": f"# Limits\n\nThe fee limit is {n}00.\n\n## {n} night\n\nFee at night is {n}."}
        for n in (1, 2)
    ),
    {"doc_id": "OPS-4", "corpus": "ticket", "title": "OPS-4 The fee", "text": "A fee is wrong."},
    {"doc_id": "g/17.1", "corpus": "chat", "title": "#g: a fee?", "text": "Which fee, [Bo]?"},
    {"doc_id": "<a@x>", "corpus": "mail", "title": "Re: <fee> [list]", "text": "The fee by mail."},
    {"doc_id": "m", "corpus": "memory", "path": "fees.py", "text": "The fee is a magic number."}
    | {"metadata": {"line": 3, "severity": "low"}, "title": "Magic fee"},
]  # fmt: skip
QUERIES = (
    "fee", "fee table in the kitchen", "depot rounds fees up", "step_60 and base_fee", "percent fee",
    "fee limit in 1.0", "retry of the fee depot", "fee copy",
)  # fmt: skip


@pytest.fixture(scope="module", params=["plain", "many"])
def own(
    request: pytest.FixtureRequest,
    service: Service,
    server_dsn: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Service]:
    """All corpora: without a forge, and of two repositories of one that have similar files."""
    kind, root = request.param, tmp_path_factory.mktemp("own")
    name = f"service-tests-own-{kind}"
    file = root / "documents.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    with open_store(server_dsn, name, create=True) as store:
        for repo in ("app", "web")[: 1 + (kind == "many")]:
            tree = root / repo
            for path, text in FILES.items():
                (tree / path).parent.mkdir(parents=True, exist_ok=True)
                (tree / path).write_text(text.replace("fee", "fee" if repo == "app" else "web fee"))
            commit(tree, "Round the fee_table [once]")
            if kind != "plain":
                git(tree, "remote", "add", "origin", f"git@github.com:acme/{repo}.git")
            options = {"repo": "acme/app"} if kind == "plain" else {}
            ingest_git(store, WordEmbedder(), tree, **options)
        ingest_documents(store, WordEmbedder(), file)
        with build_driver(service.driver.config, store=store, embedder=WordEmbedder()) as driver:
            yield Service(driver, store)
    drop_collection(server_dsn, name)


def document_of(service: Service, id: str) -> tuple[str, str, str]:
    _, row = tools.stored_passage(service, id)
    return row["corpus"], row["repo"], row["document_id"]


class Reader:
    """Reads places, each once."""

    def __init__(self, service: Service) -> None:
        self.fetch = cache(partial(tools.fetch, service))
        self.document_of = cache(partial(document_of, service))


def shown_by(service: Service, read: Reader) -> Iterator[tuple[str, tuple[str, str, str]]]:
    """Each place that answers show, and its document."""
    # all questions once: of the files of two repositories
    queries = QUERIES if service.store.collection.endswith("many") else QUERIES[:4]
    for query in queries:
        for hit in tools.search(service, query, top_k=20).results:
            page = f"http://127.0.0.1:1/p/{quote(hit.id)}"
            for text in (hit.id, hit.title, hit.url, page):
                yield text, read.document_of(hit.id)
            # the title is of the passage, not only of the document
            found = read.fetch(hit.title)
            assert (found.id, found.text) == (hit.id, read.fetch(hit.id).text), hit.title
    for reason in tools.explain(service, "fee").passages:
        yield reason.title, read.document_of(reason.id)
    for query in QUERIES[:4]:
        inputs = service.driver.question_inputs(query)
        out = service.driver.execute(["citations"], inputs)["citations"]
        for citation, corpus, id in out["citation", "corpus", "chunk_id"].iter_rows():
            yield citation, read.document_of(f"{corpus}:{id}")


def test_whatever_an_answer_shows_can_be_given_back(own: Service) -> None:
    read = Reader(own)
    shown = dict.fromkeys(shown_by(own, read))
    wrong = []
    for text, document in shown:
        try:
            found = read.fetch(text)
        except CrosscorpusError as error:
            # a path without its repository is of both
            if not (text.startswith("file:") and "is in 2 documents" in str(error)):
                wrong.append((text, str(error)))
            continue
        # the address of a file is of the file, also if a review of it has no other
        if read.document_of(found.id) != document and not text.startswith("file:"):
            wrong.append((text, found.id, found.title, document))
    assert not wrong, "\n".join(map(str, wrong))
    assert {corpus for _, (corpus, *_) in shown} == set(own.driver.config.corpora)
    assert len(shown) > 80
    tools.explain(own, "fee", passages=[text for text, _ in shown][:60])  # as fetch takes them


@pytest.mark.parametrize(
    ("given", "path", "line"),
    [
        ("file:fees.py", "fees.py", "    return 100"),
        ("file:docs/my%20notes.md", "docs/my notes.md", "By the door."),
        (f"{FORGE}/blob/main/docs/Z%c3%bcrich.md?plain=1#L3", "docs/Zürich.md", "The depot rounds fees up."),
        (f"{FORGE}/-/blob/main/src/steps.py?ref_type=heads#L4-5", "src/steps.py", "def step_3(fee): return rounded(fee, 3)"),
        (unicodedata.normalize("NFD", "docs/Zürich.md:3"), "docs/Zürich.md", "The depot rounds fees up."),
        (f"{FORGE}/blob/main/{quote('docs/100% [new] ?x#y.md')}", "docs/100% [new] ?x#y.md", "The percent fee is new."),
        ("[code: fees.py:1-3 base_fee]", "fees.py", "    return 100"),
        ("[docs: docs/my notes.md (2020-01-01) > My notes]", "docs/my notes.md", "# My notes"),
    ],
)  # fmt: skip
def test_an_address_is_read_as_forges_and_machines_write_it(
    own: Service, given: str, path: str, line: str
) -> None:
    if own.store.collection.endswith("many"):
        given = re.sub("(?i)(?<=file:)(///)?", r"\\1acme/app/", given)
        given = re.sub(
            r"^(docs/|\[\w+: )(?=.)",
            lambda one: f"acme/app/{one[0]}" if one[0] == "docs/" else f"{one[0]}acme/app/",
            given,
        )
    found = tools.fetch(own, given)
    assert found.title == path
    assert line in found.text.split("\n")


@pytest.mark.parametrize(
    ("given", "document"),
    [
        ("#44", "issues/44"),
        (f"{FORGE}/pull/12#discussion_r6", "pull/12#discussion_r6"),
        ("https://example.org/price.pdf#page=12", "p"),
    ],
)
def test_an_item_is_fetched_by_its_number_and_its_address(
    own: Service, given: str, document: str
) -> None:
    assert document_of(own, tools.fetch(own, given).id)[2] == document


@pytest.mark.parametrize(
    "given",
    [
        "[" * 100_000, "%" * 100_000, "]" * 9_999, "[code: " + "[" * 9_000 + "]", "%41" * 3_000,
        "[docs: " + "](" * 4_000 + ")", "[x: " + "\\" * 8_001 + "]", "file:" + "%2e%2e%2f" * 900,
        "https://" + "a/" * 4_000, "a:1" * 3_000, "\udc80[code: \udfff]", "[wiki: " + "…" * 9_000 + "]",
        "file:%00%00", "file:", "https://[", "[code: ]", "[]()", "#", "http://x#L1#L2", "[docs: %s > %(names)s]",
        "file:" + "#L1-" * 2_000, " " * 5_000, "[code: " + "a (" * 3_000 + "]", "[a: " + ", in x" * 1_500 + "]", "[a: b" + ", in x" * 1_500 + "\\n]",
    ],
    ids=lambda given: ascii(given[:16]),
)  # fmt: skip
def test_a_hostile_place_is_refused_at_once(service: Service, given: str) -> None:
    began = time.monotonic()
    with pytest.raises(UnknownName, match="no passage") as said:
        tools.fetch(service, given)
    assert time.monotonic() - began < 2
    assert len(str(said.value)) < 1_000
    str(said.value).encode()


def test_what_a_caller_may_not_see_is_not_found_by_its_label_or_its_address(own: Service) -> None:
    hit = next(
        one for one in tools.search(own, "fee table in the kitchen").results if "docs" in one.id
    )
    hidden = {"corpora": {"docs": {"filters": {"path_prefix": "docs/2.0"}}}}
    config = own.driver.config.with_changes(hidden)
    with build_driver(config, store=own.store, embedder=WordEmbedder()) as driver:
        limited = Service(driver, own.store)
        for given in (hit.id, hit.title, hit.url, hit.title.replace("my notes", "my note")):
            with pytest.raises(UnknownName, match="no passage") as said:
                tools.fetch(limited, given)
            assert "my notes.md" not in str(said.value).partition("; there ")[2]
        assert tools.fetch(limited, "docs/2.0/limits.md").text.startswith("# Limits")
