"""A person signs in with his organisation: the way there and back, and all that may go wrong."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import anyio
import httpx2
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from small_provider import CLIENT, SECRET, SmallProvider, small_provider

from dataflow.service.protection.provider_sign_in import BEGUN, ProviderSignIn
from dataflow.service.protection.sessions import COOKIE
from dataflow.service.protection.tokens import NoTokens
from dataflow.service.routes import http_app
from dataflow.service.tools import Service
from operators.errors import CrosscorpusError

PUBLIC = "https://search.example.org"


@pytest.fixture
def provider() -> Iterator[SmallProvider]:
    with small_provider() as one:
        yield one


class Browser:
    """A browser's cookies, and the way that a person goes."""

    def __init__(self, page: httpx2.AsyncClient) -> None:
        self.page = page

    async def begin(self, path: str = "/session/begin") -> httpx2.Response:
        return await self.page.get(path)

    async def provider_link(self, begun: httpx2.Response, name: str = "Allow") -> str:
        """The address of this server that the provider's page names."""
        async with httpx2.AsyncClient() as elsewhere:
            shown = await elsewhere.get(begun.headers["location"])
        (link,) = re.findall(f'href="([^"]*)">{name}<', shown.text)
        return link

    async def sign_in(self, name: str = "Allow") -> httpx2.Response:
        return await self.page.get(await self.provider_link(await self.begin(), name))

    async def caller(self) -> Any:
        return (await self.page.get("/session")).json()["caller"]


def browsing(sign_in: ProviderSignIn, way: Any) -> None:
    """Run ``way`` with a browser of a server that takes no tokens."""

    def use() -> AbstractContextManager[Service]:
        raise AssertionError("nothing behind the page is asked")

    async def run() -> None:
        app = http_app(use, "1", ["search.example.org"], tokens=NoTokens(), sign_in=sign_in)
        transport = httpx2.ASGITransport(app=app)
        async with httpx2.AsyncClient(transport=transport, base_url=PUBLIC) as page:
            await way(Browser(page))

    anyio.run(run)


def signing_in(provider: SmallProvider, **changed: Any) -> ProviderSignIn:
    return ProviderSignIn(provider.issuer, CLIENT, PUBLIC, **{"secret": SECRET} | changed)


def line_of(reply: httpx2.Response) -> str:
    """The line of a page that says why nobody is signed in."""
    assert reply.status_code == 403
    assert reply.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in reply.headers["content-security-policy"]
    assert all(value == value.strip() for value in reply.headers.values()), "h11 refuses others"
    assert COOKIE not in reply.headers.get("set-cookie", "")
    (line,) = re.findall('<p role="alert">(.*?)</p>', reply.text)
    return unescape(line)


@pytest.mark.parametrize("secret", [SECRET, ""])
def test_a_person_comes_back_from_the_provider_signed_in(
    provider: SmallProvider, secret: str, caplog: pytest.LogCaptureFixture
) -> None:
    provider.client_secret = secret
    provider.claims = {"realm_access": {"roles": ["hr"]}}
    groups = "realm_access.roles"
    sign_in = signing_in(provider, secret=secret, scopes=["profile"], groups=groups)
    caplog.set_level(logging.DEBUG)

    async def way(browser: Browser) -> None:
        page = browser.page
        assert (await page.get("/session")).json()["organisation"] == f"{PUBLIC}/session/begin"
        assert (await page.post("/api/search", json={"query": "x"})).status_code == 401
        begun = await browser.begin("/session/begin?to=/p/docs:1?q=%2525%26x")
        kept = begun.headers["set-cookie"]
        assert {"HttpOnly", "SameSite=lax", "Secure", "Max-Age=600"} <= {*kept.split("; ")}
        asked = dict(parse_qsl(urlsplit(begun.headers["location"]).query))
        assert asked["redirect_uri"] == f"{PUBLIC}/session/callback"
        assert asked["scope"] == "openid profile"
        assert asked["code_challenge_method"] == "S256"
        done = await page.get(await browser.provider_link(begun))
        assert done.headers["location"] == f"{PUBLIC}/p/docs:1?q=%25&x"
        ended, session = done.headers.get_list("set-cookie")
        assert "Max-Age=0" in ended
        assert {"HttpOnly", "SameSite=strict", "Secure"} <= {*session.split("; ")}
        assert session.startswith(COOKIE)
        assert "no-store" in done.headers["cache-control"]
        assert await browser.caller() == "ann"
        assert (await page.get("/openapi.json")).status_code == 200
        assert (await page.delete("/session")).status_code == 204
        assert await browser.caller() is None
        own = [one.getMessage() for one in caplog.records]
        told = "".join(one for one in own if f"GET {PUBLIC}" not in one)  # that is the browser's
        form = provider.exchanged[-1]
        for private in (form["code"], form["code_verifier"], "eyJ", SECRET):
            assert private not in told

    browsing(sign_in, way)
    assert ("client_id" in provider.exchanged[0]) is (secret == "")


def test_the_session_has_the_groups_of_the_id_token(provider: SmallProvider) -> None:
    provider.claims = {"groups": "/team/a, hr"}
    sign_in = signing_in(provider)
    address, cookie = sign_in.begin("/")
    code = list_of_codes(provider, address)
    state = cookie.split(".")[0]
    caller, page = sign_in.finish({"state": state, "code": code}, cookie)
    assert (caller, page) == (("ann", "/team/a", "hr", "team/a"), f"{PUBLIC}/")


def list_of_codes(provider: SmallProvider, address: str) -> str:
    """The code that the provider gives for an address where a sign-in begins."""
    httpx2.get(address)
    return [*provider.codes][-1]


@pytest.mark.parametrize(
    ("claims", "said"),
    [
        ({"exp": timedelta(minutes=-2)}, "clocks"),
        ({"iat": timedelta(minutes=2)}, "clocks"),
        ({"aud": "another"}, "can't be verified"),
        ({"aud": [CLIENT, "another"], "azp": "another"}, "can't be verified"),
        ({"iss": "https://evil.example"}, "can't be verified"),
        ({"nonce": "another"}, "can't be verified"),
        ({"nonce": None}, "can't be verified"),
        ({"sub": 5}, "can't be verified"),
        ({"hasgroups": True}, "more than a token holds"),
        ({"groups": [5]}, "the groups in 'groups' of the token"),
    ],
    ids=str,
)
def test_an_id_token_that_does_not_hold_opens_no_session(
    provider: SmallProvider, claims: dict[str, Any], said: str
) -> None:
    now = datetime.now(UTC)
    moments = {name: now + by for name, by in claims.items() if isinstance(by, timedelta)}
    provider.claims = claims | moments

    async def way(browser: Browser) -> None:
        assert said in line_of(await browser.sign_in())
        assert await browser.caller() is None

    browsing(signing_in(provider), way)


def test_an_id_token_of_another_key_opens_no_session(provider: SmallProvider) -> None:
    provider.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)

    async def way(browser: Browser) -> None:
        assert "can't be verified" in line_of(await browser.sign_in())

    browsing(signing_in(provider), way)


def test_who_denies_is_told_so_on_a_page(provider: SmallProvider) -> None:
    async def way(browser: Browser) -> None:
        assert "cancelled" in line_of(await browser.sign_in("Deny"))

    browsing(signing_in(provider), way)


def test_an_answer_that_this_browser_did_not_begin_is_refused(provider: SmallProvider) -> None:
    async def way(browser: Browser) -> None:
        link = await browser.provider_link(await browser.begin())
        for wrong in (
            link.replace("state=", "state=x"),
            link.partition("&state=")[0],
            f"{PUBLIC}/session/callback?error=<script>&state=é",
        ):
            shown = await browser.page.get(wrong)
            assert "not begun in this browser" in line_of(shown)
            assert "<script>" not in shown.text
        browser.page.cookies.clear()
        assert "not begun in this browser" in line_of(await browser.page.get(link))
        assert provider.exchanged == []

    browsing(signing_in(provider), way)


def test_a_code_is_good_once(provider: SmallProvider) -> None:
    async def way(browser: Browser) -> None:
        begun = await browser.begin()
        link, cookie = await browser.provider_link(begun), begun.cookies[BEGUN]
        assert (await browser.page.get(link)).status_code == 303
        browser.page.cookies.clear()
        again = await browser.page.get(link, headers={"cookie": f"{BEGUN}={cookie}"})
        assert "it is done: sign in again" in line_of(again)
        assert await browser.caller() is None

    browsing(signing_in(provider), way)


def test_another_secret_is_a_line_and_in_the_log(
    provider: SmallProvider, caplog: pytest.LogCaptureFixture
) -> None:
    async def way(browser: Browser) -> None:
        assert "does not answer as it should" in line_of(await browser.sign_in())

    browsing(signing_in(provider, secret="wrong"), way)
    assert "401" in caplog.text
    assert "wrong" not in caplog.text


@pytest.mark.parametrize(
    "configuration",
    [{"issuer": "https://evil.example"}, {"token_endpoint": "http://id.example.org/token"}, None],
    ids=str,
)
def test_a_provider_that_is_away_or_another_is_a_line_on_a_page(
    provider: SmallProvider, configuration: dict[str, Any] | None
) -> None:
    provider.configuration = configuration or {}
    sign_in = signing_in(provider)
    if configuration is None:
        sign_in = ProviderSignIn("http://localhost:1", CLIENT, PUBLIC)

    async def way(browser: Browser) -> None:
        assert "try again in a minute" in line_of(await browser.begin())

    browsing(sign_in, way)


@pytest.mark.parametrize("host", ["search.example.org", "localhost"])
def test_the_way_back_is_the_public_address_whatever_host_is_asked(
    provider: SmallProvider, host: str
) -> None:
    async def way(browser: Browser) -> None:
        for to in ("https://evil.example", "//evil.example", "x" * 5_000, "/\r\nset-cookie: a=b"):
            begun = await browser.page.get(
                "/session/begin", params={"to": to}, headers={"host": host}
            )
            asked = dict(parse_qsl(urlsplit(begun.headers["location"]).query))
            assert asked["redirect_uri"] == f"{PUBLIC}/session/callback"
            done = await browser.page.get(await browser.provider_link(begun))
            assert done.headers["location"].startswith(f"{PUBLIC}/")
            assert "a" not in done.cookies

    browsing(signing_in(provider), way)


def test_people_sign_in_by_https_alone() -> None:
    with pytest.raises(CrosscorpusError, match="https"):
        ProviderSignIn("http://id.example.org", CLIENT, PUBLIC)
