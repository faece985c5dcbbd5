"""Blank and odd options: Python, the command, HTTP and MCP read them by one rule."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import anyio
import httpx2
import pytest
from mcp.client import Client

from dataflow.cli.console.asking import reply_to
from dataflow.cli.query import Question
from dataflow.service.mcp_server import mcp_server
from dataflow.service.tools import Service
from operators.errors import CrosscorpusError
from operators.options import FILTERS

QUERY = "step_7 flush the cache attempt"
READ: list[tuple[dict[str, Any], dict[str, Any], list[str]]] = [
    (
        {"corpora": "code,wiki"},
        {"corpora": ["code", "wiki"]},
        ['corpora "code,wiki" was read as ["code", "wiki"]'],
    ),
    (
        {"corpora": "", "top_k": "3"},
        {"top_k": 3},
        ['corpora "" was left out: blank', 'top_k "3" was read as 3'],
    ),
    ({"path": ["./src/"]}, {"path": "src/"}, ['path ["./src/"] was read as "src/"']),
    ({"until": "2025-02"}, {"until": "2025-02-28T23:59:59.999999Z"}, []),
    (
        {"since": "March 2025"},
        {"since": "2025-03-01"},
        ['since "March 2025" was read as 2025-03-01 00:00 UTC'],
    ),
    ({"version": "all"}, {"versions": "all"}, []),
    ({"repos": ["app"]}, {"repos": ["org/app"]}, ["repo 'app' is taken for 'org/app'"]),
    ({"repos": ["ORG/App"]}, {"repos": ["org/app"]}, ["repo 'ORG/App' is taken for 'org/app'"]),
]
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"corpora": 5}, "corpora takes a list of texts, not 5"),
    ({"top_k": "ten"}, 'top_k takes a whole number, not "ten"'),
    ({"corpora": "[" * 9_000}, 'corpora takes a list of texts, not "[['),
    ({"corpora": ' [{"a":' * 3_000}, 'corpora takes a list of texts, not " [{'),
    ({"path": 5}, "path takes a text, not 5"),
    ({"as_of": "soon"}, "as_of 'soon' is no time: write a day"),
    ({"as_of": "0001-01-01T00:00+14:00"}, "as_of is outside the years 1 to 9999 in UTC"),
    ({"until": "v9.9"}, "until 'v9.9': the date of that release is not known (no version here has"),
    (
        {"since": "2025-05", "until": "2025-03"},
        "since 2025-05-01 00:00 is after until 2025-03-31 23:59 (UTC): nothing is between them",
    ),
    ({"symbol": ".".join("a" * 5_000)}, "symbol has 9,999 characters: give at most 500"),
    ({"uses": "/".join("a" * 200)}, "uses has 200 parts: give at most 32"),
    ({"path": "a" * 4_097}, "path has 4,097 characters: give at most 4,096"),
]

Said = tuple[list[str], list[str]]
"""The passages of an answer, and its notes."""


def by_python(service: Service, asked: dict[str, Any]) -> Said:
    answer = service.driver.ask(QUERY, must_exist=True, **{"top_k": 10, **asked})
    return [f"{one.corpus}:{one.chunk_id}" for one in answer], list(answer.notes)


@pytest.fixture(scope="module")
def once(service: Service) -> Callable[[dict[str, Any]], Said]:
    """What Python is answered, asked once for all that asks the same."""
    answered: dict[str, Said] = {}

    def ask(asked: dict[str, Any]) -> Said:
        key = json.dumps(asked)
        return answered.get(key) or answered.setdefault(key, by_python(service, asked))

    return ask


def by_http(client: httpx2.Client, asked: dict[str, Any]) -> Said:
    answer = client.post("/api/search", json={"query": QUERY, **asked})
    if answer.status_code != 200:
        assert answer.status_code == 422
        raise CrosscorpusError(answer.json()["detail"])
    found = answer.json()
    return [one["id"] for one in found["results"]], found["notes"]


def by_mcp(service: Service, asked: dict[str, Any]) -> Said:
    async def call() -> Any:
        async with Client(mcp_server(lambda: nullcontext(service), "1")) as client:
            return await client.call_tool("search", {"query": QUERY, "brief": False, **asked})

    answer = anyio.run(call)
    if answer.is_error:
        raise CrosscorpusError(answer.content[0].text)
    found = answer.structured_content
    return [one["id"] for one in found["results"]], found.get("notes", [])


def by_command(service: Service, asked: dict[str, Any]) -> Said:
    """What the command does with its options; they are texts, and of these a list where asked."""
    lists = ("corpora", "repos", "version")
    given = {
        name: [value] if name in lists and isinstance(value, str) else value
        for name, value in asked.items()
    }
    filters = {of.flag: given.pop(of.name, None) for of in FILTERS}
    question = Question(text=[QUERY], as_json=True, **{"top_k": 10, **given}).asked(filters)
    driver = lambda _: nullcontext(service.driver)  # noqa: E731
    out = json.loads(reply_to(question, service.driver.config, service.store, driver)["out"])
    return [f"{one['corpus']}:{one['chunk_id']}" for one in out["results"]], out["notes"]


def doors(service: Service, client: httpx2.Client, asked: dict[str, Any]) -> dict[str, Any]:
    """What each door for a search answers to ``asked``: a call for each."""
    return {
        "http": lambda: by_http(client, asked),
        "python": lambda: by_python(service, asked),
        "mcp": lambda: by_mcp(service, asked),
    }


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"corpora": ["code", "wiki"], "repos": ["org/app"]},
        {"path": "src/", "language": "python", "trigger": "none"},
        {"version": "1.0", "corpora": ["docs"]},
    ],
)
def test_a_question_has_the_same_passages_in_the_same_order_by_every_way(
    service: Service, client: httpx2.Client, asked: dict[str, Any]
) -> None:
    found, notes = by_python(service, asked)
    assert found
    for way in (by_http(client, asked), by_mcp(service, asked), by_command(service, asked)):
        assert way == (found, notes)


@pytest.mark.parametrize(("asked", "same", "notes"), READ)
def test_odd_options_are_read_alike_by_every_door_and_the_notes_say_how(
    service: Service,
    client: httpx2.Client,
    asked: dict[str, Any],
    same: dict[str, Any],
    notes: list[str],
    once: Callable[[dict[str, Any]], Said],
) -> None:
    expected, plain = once(same)
    for door, ask in doors(service, client, asked).items():
        assert ask() == (expected, [*notes, *plain]), door


@pytest.mark.parametrize(("asked", "says"), REFUSED)
def test_what_is_no_value_of_an_option_is_one_error_of_every_door(
    service: Service, client: httpx2.Client, asked: dict[str, Any], says: str
) -> None:
    for door, ask in doors(service, client, asked).items():
        with pytest.raises(CrosscorpusError) as error:
            ask()
        assert str(error.value).startswith(says), door
        assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"corpra": ["code"]}, "unknown argument 'corpra', did you mean 'corpora'?"),
        ({"top_k": 0, "repo": "org/app"}, "unknown argument 'repo', did you mean 'repos'?"),
        ({"{0}": 1}, "unknown argument '{0}'; known: "),
    ],
)
def test_an_unknown_argument_is_one_error_of_every_door_and_names_the_nearest(
    service: Service, client: httpx2.Client, asked: dict[str, Any], says: str
) -> None:
    answers = [lambda: by_http(client, asked), lambda: by_mcp(service, asked)]
    for ask in answers:
        with pytest.raises(CrosscorpusError) as error:
            ask()
        assert str(error.value).startswith(says)
        assert "\n" not in str(error.value)


def test_a_blank_option_of_the_command_is_left_out_and_told(service: Service) -> None:
    _, plain = by_python(service, {})
    _, said = by_command(service, {"version": [""], "top_k": " "})
    assert said == ['top_k " " was left out: blank', 'version [""] was left out: blank', *plain]


def test_an_empty_list_of_names_is_none_in_python_and_blank_elsewhere(
    service: Service, client: httpx2.Client
) -> None:
    for name in ("corpora", "repos"):
        assert by_python(service, {name: []})[0] == []
        found, notes = by_http(client, {name: []})
        assert found == by_python(service, {})[0]
        assert notes[0] == f"{name} [] was left out: blank"
        assert by_mcp(service, {name: []}) == (found, notes)


def test_a_blank_argument_of_another_tool_is_left_out_and_told(
    service: Service, client: httpx2.Client
) -> None:
    (hit, *_) = service.driver.ask("step_7", corpora=["code"])
    asked = {"id": f"code:{hit.chunk_id}"}
    blank = {"lines": "", "version": " ", "cursor": ""}
    plain, found = (client.post("/api/fetch", json=asked | of).json() for of in ({}, blank))
    notes = [f"{name} {json.dumps(value)} was left out: blank" for name, value in blank.items()]
    assert found == {**plain, "notes": sorted(notes)}
    listed = client.post("/api/versions", json={"document": "", "older": ""}).json()
    assert listed["versions"] == client.post("/api/versions", json={}).json()["versions"]
    assert listed["notes"][0] == 'document "" was left out: blank'
    context = client.post("/api/get_context", json={"query": QUERY, "max_tokens": "200"}).json()
    assert context["notes"][0] == 'max_tokens "200" was read as 200'


def test_a_query_that_is_json_is_a_query(service: Service) -> None:
    async def call() -> Any:
        async with Client(mcp_server(lambda: nullcontext(service), "1")) as client:
            return await client.call_tool("search", {"query": '{"cache": 1}', "path": '["src/"]'})

    said = anyio.run(call)
    assert not said.is_error
    assert not any("was read as" in note for note in said.structured_content.get("notes", []))
