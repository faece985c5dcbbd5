"""One question has one answer, by whichever way it is asked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import nullcontext
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp.client import Client

from dataflow import build_driver
from dataflow.service.mcp_server import mcp_server
from dataflow.service.routes import http_app
from dataflow.service.tools import Service
from operators.postgres.store import open_store

QUERY = "why is the cache flushed twice?"
TOP_K = 6
# people ask, so that the trigger decides which passage is the first
CONFIG = "extends: default\ncorpora: {wiki: {weights: {question: 3, pr_review: 0.2}}}\n"
DOCUMENTS = [
    {
        "doc_id": f"{corpus}-{repo}-{n}",
        "corpus": corpus,
        "repo": f"org/{repo}",
        "path": f"{folder}/{path}".format(n),
        "version": f"{n}.0" if corpus == "docs" else None,
        "created_at": f"202{n}-03-01",
        "text": f"{corpus} {n} of {repo}: why the cache is flushed {'twice ' * n}in {folder}.",
    }
    for corpus, path in (("code", "flush_{}.py"), ("wiki", "{}.md"), ("docs", "{}.0/limits.md"))
    for repo, folder in (("app", "src"), ("lib", "lib"))
    for n in (1, 2, 3)
]
OPTIONS = {"corpora": "--corpus", "repos": "--repo"}
QUESTIONS: list[dict[str, Any]] = [
    {},
    {"corpora": ["code", "wiki"], "repos": ["org/app"]},
    {"corpora": ["code", "wiki"], "repos": ["org/app", "org/lib"], "trigger": "pr_review"},
    {"repos": ["org/lib"], "trigger": "none"},
    {"path": "src/", "repos": ["org/app"], "as_of": "2022-06-01T00:00:00+00:00"},
    {"language": "python", "path": "lib/", "trigger": "pr_review"},
    {"version": "1.0", "corpora": ["docs"]},
    {"since": "2022", "until": "2022-03"},
    {"until": "v2.0", "corpora": ["wiki"]},
    {"since": "2.0", "until": "2 years ago", "corpora": ["wiki", "code"]},
]


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("question") / "team.yaml"
    file.write_text(CONFIG)
    return file


@pytest.fixture(scope="module")
def service(server_dsn: str, crosscorpus: Any, config: Path, minilm: Any) -> Iterator[Service]:
    file = config.with_name("documents.jsonl")
    file.write_text("".join(json.dumps(one) + "\n" for one in DOCUMENTS))
    done = crosscorpus("ingest", "documents", str(file), "-C", "one-question")
    assert done.returncode == 0, done.stderr
    with (
        open_store(server_dsn, "one-question") as store,
        build_driver(config, store=store, embedder=minilm) as driver,
    ):
        yield Service(driver, store)
    assert crosscorpus("collections", "drop", "one-question", "--yes").returncode == 0


def from_python(service: Service, asked: dict[str, Any]) -> list[str]:
    moment = {"as_of": datetime.fromisoformat(asked["as_of"])} if "as_of" in asked else {}
    return [one.label for one in service.driver.ask(QUERY, top_k=TOP_K, **asked | moment)]


def from_the_server(service: Service, asked: dict[str, Any]) -> dict[str, list[str]]:
    """The titles of the passages over MCP and HTTP, and of a batch where it has the filters."""

    async def ask() -> dict[str, list[str]]:
        use = partial(nullcontext, service)
        transport = httpx2.ASGITransport(app=http_app(use, "1"))
        body = {**asked, "top_k": TOP_K}
        async with (
            Client(mcp_server(use, "1")) as agent,
            httpx2.AsyncClient(transport=transport, base_url="http://localhost") as app,
        ):
            called = await agent.call_tool("search", {"query": QUERY, **body})
            assert not called.is_error, called.content
            posted = await app.post("/api/search", json={"query": QUERY, **body}, timeout=60)
            hits = {"mcp": called.structured_content["results"], "http": posted.json()["results"]}
            if asked.keys() <= {"corpora", "repos", "trigger", "since", "until"}:
                both = {"queries": ["another question", QUERY], **body}
                rows = (await app.post("/api/batch", json=both, timeout=60)).text.splitlines()
                hits["batch"] = json.loads(rows[1])["results"]
        return {way: [hit["title"] for hit in found] for way, found in hits.items()}

    return anyio.run(ask)


@pytest.mark.parametrize("asked", QUESTIONS)
def test_a_question_has_the_same_passages_in_the_same_order_by_every_way(
    service: Service, config: Path, crosscorpus: Any, asked: dict[str, Any]
) -> None:
    found = from_python(service, asked)
    assert found
    for way, others in from_the_server(service, asked).items():
        assert others == found, way
    options = [
        part
        for name, value in asked.items()
        for one in (value if isinstance(value, list) else [value])
        for part in (OPTIONS.get(name, f"--{name.replace('_', '-')}"), one)
    ]
    command = ("query", QUERY, "-C", "one-question", "-c", str(config), "--json")
    done = crosscorpus(*command, "--top-k", str(TOP_K), *options)
    assert done.returncode == 0, done.stderr
    assert [one["source_label"] for one in json.loads(done.stdout)["results"]] == found


def test_the_filters_and_the_trigger_of_those_questions_change_the_answer(
    service: Service,
) -> None:
    answers = [tuple(from_python(service, asked)) for asked in QUESTIONS]
    assert len({*answers}) == len(QUESTIONS)
    assert service.driver.ask(QUERY)[0].corpus == "wiki"
    assert service.driver.ask(QUERY, trigger="none")[0].corpus != "wiki"
