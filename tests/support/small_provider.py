"""A provider of identities (OpenID Connect) on this machine, which signs with a real key."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

PAIR = rsa.generate_private_key(public_exponent=65537, key_size=2048)
CLIENT, SECRET = "crosscorpus", "a secret: with/signs"


@dataclass
class SmallProvider:
    """What it is asked, and what a test changes in its answers."""

    issuer: str
    client_secret: str = SECRET  # empty: the client is public
    claims: dict[str, Any] = field(default_factory=dict)  # of the next ID tokens
    configuration: dict[str, Any] = field(default_factory=dict)
    key: Any = PAIR
    asked: list[dict[str, str]] = field(default_factory=list)
    exchanged: list[dict[str, str]] = field(default_factory=list)
    codes: dict[str, dict[str, str]] = field(default_factory=dict)

    def answer(self, path: str) -> tuple[int, Any]:
        """To a GET."""
        parts = urlsplit(path)
        if parts.path == "/.well-known/openid-configuration":
            ends = ("authorization_endpoint", "token_endpoint", "jwks_uri")
            known = {"issuer": self.issuer} | {end: f"{self.issuer}/{end}" for end in ends}
            return 200, known | self.configuration
        if parts.path == "/jwks_uri":
            public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(PAIR.public_key()))
            return 200, {"keys": [public | {"kid": "one", "use": "sig"}]}
        if parts.path != "/authorization_endpoint":
            return 404, {}
        query = dict(parse_qsl(parts.query))
        self.asked.append(query)
        code = secrets.token_urlsafe(8)
        self.codes[code] = query
        back, state = query["redirect_uri"], query["state"]
        links = {
            name: f"{back}?{urlencode(given | {'state': state})}"
            for name, given in (("Allow", {"code": code}), ("Deny", {"error": "access_denied"}))
        }
        return 200, "".join(f'<a href="{to}">{name}</a> ' for name, to in links.items())

    def token(self, authorization: str, form: dict[str, str]) -> tuple[int, Any]:
        """To a code."""
        self.exchanged.append(form)
        login = base64.b64encode(f"{CLIENT}:a+secret%3A+with%2Fsigns".encode()).decode()
        if self.client_secret and authorization != f"Basic {login}":
            return 401, {"error": "invalid_client"}
        begun = self.codes.pop(form["code"], None)
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        if (
            begun is None
            or begun["code_challenge"] != challenge
            or begun["redirect_uri"] != form["redirect_uri"]
        ):
            return 400, {"error": "invalid_grant"}
        over = datetime.now(UTC) + timedelta(minutes=5)
        claims = {"iss": self.issuer, "aud": CLIENT, "sub": "ann", "exp": over}
        claims |= {"nonce": begun["nonce"]} | self.claims
        token = jwt.encode(claims, self.key, algorithm="RS256", headers={"kid": "one"})
        return 200, {"access_token": "a", "token_type": "Bearer", "id_token": token}


@contextmanager
def small_provider() -> Iterator[SmallProvider]:
    """A provider that answers until the end of the block."""

    class Handler(BaseHTTPRequestHandler):
        def _reply(self, status: int, body: Any) -> None:
            text = body if isinstance(body, str) else json.dumps(body)
            self.send_response(status)
            self.send_header("content-type", "text/html" if body is text else "application/json")
            self.send_header("content-length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        def do_GET(self) -> None:
            self._reply(*provider.answer(self.path))

        def do_POST(self) -> None:
            sent = self.rfile.read(int(self.headers["content-length"])).decode()
            authorization = self.headers.get("authorization", "")
            self._reply(*provider.token(authorization, dict(parse_qsl(sent))))

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        provider = SmallProvider(f"http://localhost:{server.server_port}")
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield provider
        finally:
            server.shutdown()
            thread.join()
