"""Tokens that a provider signs: who they are, and all that is no such token."""

from __future__ import annotations

import base64
import hmac
import json
import threading
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import anyio
import httpx2
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from dataflow.service.protection.gate import Gate
from dataflow.service.protection.group_claims import UnreadGroups
from dataflow.service.protection.signed_tokens import SignedTokens
from operators.errors import CrosscorpusError

ISSUER, AUDIENCE = "https://id.example.org", "https://search.example.org/mcp"
PAIR = rsa.generate_private_key(public_exponent=65537, key_size=2048)
OTHER = rsa.generate_private_key(public_exponent=65537, key_size=2048)


def jwks() -> dict[str, Any]:
    public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(PAIR.public_key()))
    return {"keys": [public | {"kid": "one", "use": "sig", "alg": "RS256"}]}


@pytest.fixture
def known(tmp_path: Path) -> SignedTokens:
    (tmp_path / "keys.json").write_text(json.dumps(jwks()))
    return SignedTokens(str(tmp_path / "keys.json"), ISSUER, AUDIENCE)


def signed(key: Any = PAIR, algorithm: str = "RS256", **changed: Any) -> str:
    now = datetime.now(UTC)
    claims = {"sub": "ann", "iss": ISSUER, "aud": AUDIENCE, "exp": now + timedelta(minutes=5)}
    claims = {name: value for name, value in {**claims, **changed}.items() if value is not None}
    return jwt.encode(claims, key, algorithm=algorithm, headers={"kid": "one"})


def test_a_token_of_the_provider_names_the_user_and_his_groups(known: SignedTokens) -> None:
    assert known.caller(signed()) == ("ann",)
    assert known.caller(signed(groups=["ops", "hr", "ann", "everyone"])) == ("ann", "hr", "ops")
    assert known.caller(signed(groups="ops")) == ("ann", "ops")


@pytest.mark.parametrize(
    "changed",
    [
        {"exp": datetime.now(UTC) - timedelta(minutes=2)},
        {"exp": None},
        {"nbf": datetime.now(UTC) + timedelta(days=1)},
        {"aud": "https://elsewhere.example.org"},
        {"aud": None},
        {"iss": "https://evil.example.org"},
        {"iss": None},
        {"sub": None},
        {"sub": ""},
        {"key": OTHER},
    ],
    ids=",".join,
)
def test_any_other_token_is_nobodys(known: SignedTokens, changed: dict[str, Any]) -> None:
    assert known.caller(signed(**changed)) is None


def claiming(tmp_path: Path, name: str) -> SignedTokens:
    (tmp_path / "keys.json").write_text(json.dumps(jwks()))
    return SignedTokens(str(tmp_path / "keys.json"), ISSUER, AUDIENCE, groups=name)


@pytest.mark.parametrize(
    "claims", [{"groups": [5]}, {"_claim_names": {"groups": "src1"}}, {"hasgroups": True}], ids=str
)
def test_groups_that_cannot_be_read_are_a_line_for_the_caller_and_in_the_log(
    known: SignedTokens, claims: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(UnreadGroups) as error:
        known.caller(signed(**claims))
    assert "\n" not in str(error.value)
    (line,) = caplog.messages
    assert line == f"refused: the user 'ann': {error.value}"
    assert known.caller(signed(OTHER, **claims)) is None, "a token of nobody tells nothing"


def test_a_claim_that_no_token_has_is_a_line_in_the_log_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    known = claiming(tmp_path, "realm_access.role")
    for _ in range(3):
        assert known.caller(signed(realm_access={"roles": ["hr"]})) == ("ann",)
    (line,) = caplog.messages
    assert "no claim 'realm_access.role'" in line
    assert "realm_access" in line.partition("it has:")[2]


@pytest.mark.parametrize("name", ["", " ", ".roles", "realm_access.", "a..b"])
def test_a_name_that_can_be_no_claim_is_refused_at_the_start(tmp_path: Path, name: str) -> None:
    with pytest.raises(CrosscorpusError, match="--groups-claim"):
        claiming(tmp_path, name)


def test_over_http_groups_that_cannot_be_read_are_403_with_the_line(known: SignedTokens) -> None:
    async def inner(scope: Any, receive: Any, send: Any) -> None:
        raise AssertionError("nothing behind the gate is asked")

    async def ask(token: str) -> httpx2.Response:
        transport = httpx2.ASGITransport(app=Gate(inner, tokens=known), client=("127.0.0.1", 1))
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.get("/api/status", headers={"authorization": f"Bearer {token}"})

    answer = anyio.run(ask, signed(hasgroups=True))
    assert answer.status_code == 403
    assert "more than a token holds" in answer.json()["detail"]
    assert anyio.run(ask, signed(OTHER, hasgroups=True)).status_code == 401


def test_a_signature_by_no_key_pair_is_nobodys(known: SignedTokens) -> None:
    public = PAIR.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    head = base64.urlsafe_b64encode(b'{"alg":"HS256","kid":"one"}').rstrip(b"=")
    said = head + b"." + signed().split(".")[1].encode()
    forged = base64.urlsafe_b64encode(hmac.digest(public, said, "sha256")).rstrip(b"=")
    assert known.caller((said + b"." + forged).decode()) is None
    assert known.caller(signed(None, "none")) is None
    for text in ("", "a.b.c", "x" * 10_000, signed()[:-4], "....", "eyJ" * 3_000):
        assert known.caller(text) is None


def test_tokens_that_nobody_signed_do_not_have_the_provider_asked_each_time() -> None:
    asked = list[str]()

    class Failing(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(500)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Failing) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        known = SignedTokens(f"http://127.0.0.1:{server.server_port}/keys", ISSUER, AUDIENCE)
        assert [known.caller(signed()) for _ in range(9)] == [None] * 9
        server.shutdown()
    assert len(asked) == 1


def test_a_provider_that_is_away_lets_nobody_in() -> None:
    known = SignedTokens("http://127.0.0.1:1/keys", ISSUER, AUDIENCE)
    assert known.caller(signed()) is None


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"keys": []}', '{"keys": [{"kty": "x"}]}'])
def test_a_file_without_keys_says_so(tmp_path: Path, text: str) -> None:
    (tmp_path / "keys.json").write_text(text)
    with pytest.raises(CrosscorpusError, match=r"keys\.json"):
        SignedTokens(str(tmp_path / "keys.json"), ISSUER, AUDIENCE)


def test_keys_by_plain_http_from_elsewhere_are_refused() -> None:
    with pytest.raises(CrosscorpusError, match="https"):
        SignedTokens("http://id.example.org/keys", ISSUER, AUDIENCE)
