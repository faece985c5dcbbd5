"""Against a real local server that answers as the documentation says, faults included."""

from __future__ import annotations

import json
import logging
import socket
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic
from typing import Any

import github_shapes as github
import pytest
from github_server import GitHub, serving
from own_authority import own_authority

from operators.sources.github.github_api import GithubApi, GithubError, open_github

Connect = Callable[..., GithubApi]
TOKEN = "ghp_" + "s3cret" * 6
SECONDARY = {"message": "You have exceeded a secondary rate limit. Please wait a few minutes."}


@pytest.fixture
def waited() -> list[float]:
    return []


@pytest.fixture
def connect(server: Any, waited: list[float]) -> Iterator[Connect]:
    opened: list[GithubApi] = []

    def make(**options: Any) -> GithubApi:
        opened.append(open_github(server.url, sleep=waited.append, **options))
        return opened[-1]

    yield make
    for api in opened:
        api.close()


def test_a_request_says_who_asks_and_for_which_version(
    server: Any, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GH_TOKEN", f" {TOKEN}\n")
    assert connect().get("repos/org/app").body["full_name"] == "org/app"
    _, _, headers = server.requests[0]
    assert headers["Authorization"] == f"Bearer {TOKEN}"
    assert headers["Accept"] == "application/vnd.github+json"
    assert headers["X-GitHub-Api-Version"] == "2022-11-28"
    assert headers["User-Agent"] == "crosscorpus"


@pytest.mark.parametrize(
    ("status", "headers", "body", "expected"),
    [
        (403, {"Retry-After": "7"}, SECONDARY, [7.0]),
        (429, {"Retry-After": "7", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "9"},
         SECONDARY, [7.0]),
        (429, {}, b"", [60.0]),
    ],
    ids=["retry-after", "both", "429 without a time"],
)  # fmt: skip
def test_a_rate_limit_is_waited_for(
    server: Any, connect: Connect, waited: list[float], status: int,
    headers: dict[str, str], body: Any, expected: list[float],
) -> None:  # fmt: skip
    server.faults = [(status, headers, body)]
    assert connect().get("repos/org/app").changed
    assert waited == expected


def test_a_secondary_limit_that_lasts_is_waited_for_longer_each_time_then_told(
    server: Any, connect: Connect, waited: list[float],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr("operators.sources.github.github_api.LONGEST_WAIT_S", 300)
    server.failing["/repos/org/app"] = (403, {}, SECONDARY)
    with pytest.raises(GithubError, match=r"used up until .* UTC; what was fetched is kept: run"):
        connect().get("repos/org/app")
    assert waited == [60.0, 120.0, 240.0]


def test_a_limit_beyond_what_one_waits_is_told_with_the_time(
    server: Any, connect: Connect, waited: list[float]
) -> None:
    server.faults = [(429, {"Retry-After": "7200"}, b"")]
    with pytest.raises(GithubError, match="or set GITHUB_TOKEN: it allows far more"):
        connect().get("repos/org/app")
    assert waited == []


@pytest.mark.parametrize(
    "fault",
    [
        (502, {}, b"<html>502 Bad Gateway</html>"),
        (200, {"Content-Length": "5000"}, b'[{"id": 1'),
        (200, {}, b'[{"id": 1'),
    ],
    ids=["502", "short of its length", "cut JSON"],
)
def test_what_may_pass_is_asked_for_again(
    server: Any, connect: Connect, waited: list[float], fault: Any
) -> None:
    if "Transfer-Encoding" in fault[1]:
        fault = (200, {**fault[1], "Content-Length": "4"}, fault[2])
    server.faults = [fault, fault]
    assert connect().get("repos/org/app").body["full_name"] == "org/app"
    assert waited == [1.0, 2.0]


def test_a_page_that_the_server_cannot_make_is_asked_for_smaller(
    server: Any, connect: Connect
) -> None:
    server.put("comments", *(github.comment(n) for n in range(1, 40)))
    server.faults = [(502, {}, b"")] * 3
    answer = connect().get("repos/org/app/pulls/comments", {"per_page": 100})
    assert [query["per_page"] for _, query, _ in server.requests] == ["100", "100", "50", "25"]
    assert len(answer.body) == 25
    assert answer.next_url is not None
    assert "per_page=25" in answer.next_url


def test_a_server_that_stays_broken_is_told(
    server: Any, connect: Connect, waited: list[float]
) -> None:
    server.failing["/repos/org/app"] = (503, {}, b"")
    with pytest.raises(GithubError, match=r"/repos/org/app: HTTP 503, 6 times; try again later"):
        connect().get("repos/org/app")
    assert waited == [1.0, 2.0, 4.0, 8.0, 16.0]


def test_no_server_is_told_at_the_first_try_and_at_the_end(waited: list[float]) -> None:
    told: list[tuple[float, str]] = []

    def on_wait(seconds: float, reason: str) -> None:
        told.append((seconds, reason))

    api = open_github("http://127.0.0.1:9", sleep=waited.append, on_wait=on_wait)
    with pytest.raises(GithubError, match=r"no connection \(ConnectError\), 6 times"):
        api.get("repos/org/app")
    assert told[0] == (1.0, "127.0.0.1:9: no connection (ConnectError), 1 of 6 times")
    assert [seconds for seconds, _ in told] == waited


def test_a_certificate_of_a_companys_own_authority_is_told_at_once_and_trusted_by_its_file(
    server: Any, waited: list[float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # https://github.com/PyGithub/PyGithub/issues/583
    # https://github.com/EnricoMi/publish-unit-test-result-action/issues/637
    tls, proof = own_authority(tmp_path)
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    with serving(GitHub(), tls) as secure:
        untrusted = r"certificate is not trusted.*SSL_CERT_FILE"
        with (
            open_github(secure.url, sleep=waited.append) as api,
            pytest.raises(GithubError, match=untrusted),
        ):
            api.get("repos/org/app")
        monkeypatch.setenv("SSL_CERT_FILE", str(proof))
        with open_github(secure.url) as api:
            assert api.get("repos/org/app").body["full_name"] == "org/app"
    assert waited == []


def test_a_network_that_swallows_everything_is_told_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("operators.sources.github.github_api._CONNECT_S", 0.3)

    def stop(seconds: float, reason: str) -> None:
        raise InterruptedError(reason)

    with socket.socket() as deaf, socket.socket() as first, socket.socket() as second:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)
        for caller in (first, second):  # they fill the queue, so that the next one gets no answer
            caller.setblocking(False)
            caller.connect_ex(deaf.getsockname())
        api = open_github(f"http://127.0.0.1:{deaf.getsockname()[1]}", on_wait=stop)
        began, said = monotonic(), r"no connection \(ConnectTimeout\), 1 of 6"
        with api, pytest.raises(InterruptedError, match=said):
            api.get("repos/org/app")
        assert monotonic() - began < 5


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (401, {"message": "Bad credentials"}, "refuses the token in GITHUB_TOKEN or GH_TOKEN"),
        (403, {"message": "Resource not accessible\nby token"}, r"accessible\\nby token.* right"),
        (404, {"message": "Not Found"}, "is not there, or it is private"),
        (400, b"<html>", "HTTP 400$"),
    ],
)
def test_a_refusal_is_not_repeated_and_says_what_to_do(
    server: Any, connect: Connect, status: int, body: Any, said: str
) -> None:
    server.failing["/repos/org/app"] = (status, {}, body)
    with pytest.raises(GithubError, match=said) as caught:
        connect().get("repos/org/app")
    assert caught.value.status == status
    assert len(server.requests) == 1


def test_the_token_goes_to_no_other_server(server: Any, connect: Connect) -> None:
    server.faults = [(301, {"Location": "http://u:pw@evil.example/x?y"}, b"")]
    with pytest.raises(GithubError, match=r"sends on to http://evil\.example/x, which the token"):
        connect(token=TOKEN).get("repos/org/app")
    link = '<http://evil.example/p?page=2>; rel="next"'
    server.faults = [(200, {"Link": link}, [])]
    api = connect(token=TOKEN)
    with pytest.raises(GithubError, match=r"sends on to http://evil\.example/p"):
        api.get(api.get("repos/org/app").next_url or "")
    server.faults = [(302, {"Location": "/repos/org/app"}, b"")] * 9
    with pytest.raises(GithubError, match="sends on and on"):
        connect().get("repos/org/app")


@pytest.mark.parametrize(
    ("url", "token", "said"),
    [
        ("api.github.com", "", "not an address of an API"),
        ("https://u:pw@github.example.org/api/v3", "", "the address holds a secret"),
        ("https://github.example.org/api/v3?token=x", "", "the address holds a secret"),
        ("http://github.example.org/api/v3", TOKEN, "a token is sent over https only"),
        ("https://github.example.org/api/v3", "a b", "characters that no token has"),
    ],
)
def test_an_unfit_address_or_token_is_refused(url: str, token: str, said: str) -> None:
    with pytest.raises(GithubError, match=said) as caught:
        open_github(url, token=token)
    assert "pw" not in str(caught.value)


def test_the_token_is_in_no_error_log_or_repr(
    server: Any, connect: Connect, caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
    api = connect()
    shown = [repr(api), str(api)]
    cut = (200, {"Content-Length": "500"}, json.dumps([TOKEN]).encode())
    for fault in (
        (401, {}, {"message": f"Bad credentials {TOKEN}"}),
        (403, {}, {"message": f"not for {TOKEN}"}),
        (404, {}, {"message": f"not for {TOKEN}"}),
        (422, {}, {"message": f"not for {TOKEN}"}),
        (301, {"Location": "http://evil.example/"}, b""),
        (429, {"Retry-After": "9999"}, {"message": TOKEN}),
        (502, {}, TOKEN.encode()),
        cut,
    ):
        server.failing["/repos/org/app"] = fault
        with pytest.raises(GithubError) as caught:
            api.get("repos/org/app")
        error = caught.value
        shown += [str(error), repr(error), *map(str, error.args)]
        shown += traceback.format_exception(error)
        frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
        ours = [frame for frame in frames if "/github/github_api.py" in frame.f_code.co_filename]
        shown += [repr(value) for frame in ours for value in frame.f_locals.values()]
    shown += [record.getMessage() for record in caplog.records]
    shown += [repr(record.__dict__) for record in caplog.records]
    shown += list(capfd.readouterr())
    assert [text for text in shown if TOKEN in text] == []
    assert server.requests[0][2]["Authorization"] == f"Bearer {TOKEN}"
