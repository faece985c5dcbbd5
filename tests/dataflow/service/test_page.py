"""The page: its header and its tool, and the page itself in a real browser."""

from __future__ import annotations

import shutil
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import httpx2
import pytest
import uvicorn
from small_provider import CLIENT, SECRET, small_provider

from dataflow.service.page import neighbours
from dataflow.service.protection.provider_sign_in import ProviderSignIn
from dataflow.service.protection.tokens import NoTokens
from dataflow.service.routes import http_app
from dataflow.service.running import configured
from dataflow.service.tools import Service, search
from operators.errors import UnknownName

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
QUIET = "--no-sandbox --disable-gpu --disable-background-networking --disable-component-update"


def test_the_page_loads_nothing_from_elsewhere(client: httpx2.Client) -> None:
    page = client.get("/")
    assert page.headers["content-type"].startswith("text/html")
    assert "default-src 'none'; script-src 'self'" in page.headers["content-security-policy"]
    assert "//" not in page.text.replace("<!doctype", "")
    for name, kind in (("page.js", "text/javascript"), ("page.css", "text/css")):
        assert f"/static/{name}" in page.text
        assert client.get(f"/static/{name}").headers["content-type"].startswith(kind)
    assert client.get("/static/../tools.py").status_code == 404
    assert client.get("/docs").status_code == 404, "FastAPI's page loads scripts from elsewhere"


def test_the_address_of_a_passage_is_a_page_in_a_browser_and_a_text_elsewhere(
    client: httpx2.Client, service: Service
) -> None:
    (hit, *_) = search(service, "why is the cache flushed twice?", corpora=["wiki"]).results
    address = f"/p/{hit.id}"
    assert client.get(address).text == "Why the cache is flushed twice."
    assert "<!doctype html>" in client.get(address, headers={"accept": "text/html"}).text
    assert client.get("/p/code:7").status_code == 404


def test_neighbours_stand_in_the_order_of_their_document(service: Service) -> None:
    (hit, *_) = search(service, "step_20 flush", corpora=["code"]).results
    near = neighbours(service, hit.id).passages
    assert hit.id in [one.id for one in near]
    assert len(near) > 1
    lines = [int(one.metadata["start_line"]) for one in near]
    assert lines == sorted(lines)
    with pytest.raises(UnknownName, match="no passage"):
        neighbours(service, "code:7")


@contextmanager
def opened_tab(base_url: str, width: int, scheme: str) -> Iterator[Any]:
    """An empty tab of a real browser; what it says on its console, and whom it asks, is on it."""
    api = pytest.importorskip("playwright.sync_api", reason="it needs playwright: make test-page")
    if CHROMIUM is None:
        pytest.skip("it needs Chromium")
    with api.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=QUIET.split())
        height = {"width": width, "height": 800}
        context = browser.new_context(viewport=height, color_scheme=scheme, base_url=base_url)
        tab = context.new_page()
        tab.said = []
        tab.on("console", lambda one: tab.said.append(one.text))
        tab.on("pageerror", lambda one: tab.said.append(str(one)))
        own = (base_url, "blob:", "data:")
        tab.on("request", lambda one: one.url.startswith(own) or tab.said.append(one.url))
        yield tab
        browser.close()


@pytest.fixture
def tabs(client: httpx2.Client, request: pytest.FixtureRequest) -> Iterator[Any]:
    with opened_tab(str(client.base_url), *request.param) as tab:
        yield tab


@pytest.mark.parametrize(
    "tabs", [(390, "light"), (390, "dark"), (1280, "light"), (1280, "dark")], indirect=True
)
def test_a_person_asks_opens_and_shares_by_keyboard_alone(tabs: Any) -> None:
    tab = tabs
    tab.goto("/")
    tab.wait_for_selector("#q:focus")
    tab.keyboard.type("how many entries does the cache keep?")
    tab.keyboard.press("Enter")
    tab.wait_for_selector("a.hit:focus")
    assert tab.get_by_role("status").inner_text().startswith("10 results in ")
    tab.keyboard.press("j")
    second = tab.evaluate("document.activeElement.dataset.id")
    tab.keyboard.press("Enter")
    tab.get_by_role("tabpanel", name="Passage").locator("pre.own").wait_for()
    tab.keyboard.press("w")
    tab.get_by_role("row", name="words").wait_for()
    assert "result 2" in tab.get_by_role("tabpanel").inner_text()
    tab.get_by_role("tab", selected=True).focus()
    tab.keyboard.press("ArrowRight")
    tab.get_by_role("tab", name="Versions", selected=True).wait_for()
    assert tab.evaluate("document.documentElement.scrollWidth") <= tab.viewport_size["width"]
    shared = tab.url
    tab.keyboard.press("Escape")
    assert tab.evaluate("document.activeElement.dataset.id") == second
    tab.goto(shared)
    tab.get_by_role("tab", name="Versions", selected=True).wait_for()
    assert tab.get_by_role("searchbox", name="Question").input_value().startswith("how many")
    tab.go_back()
    assert [one for one in tab.said if "404" not in one] == []  # a file has no versions: 404


@pytest.mark.parametrize("tabs", [(390, "dark")], indirect=True)
def test_filters_versions_and_errors_are_shown(tabs: Any) -> None:
    tab = tabs
    tab.goto("/?q=how+many+entries+are+kept%3F&corpora=docs")
    tab.wait_for_selector("a.hit")
    assert not tab.get_by_role("checkbox", name="wiki").is_checked()
    assert all("[docs" in one for one in tab.locator("a.hit strong").all_inner_texts())
    tab.locator("a.hit").first.click()
    tab.get_by_role("tab", name="Versions").click()
    tab.get_by_role("row", name="2.0").wait_for()
    assert "100 entries" in tab.get_by_role("tabpanel").inner_text()
    tab.goto("/?q=x&repo=org/apq")
    tab.wait_for_selector("#said.error")
    assert "there is 'org/app'" in tab.get_by_role("status").inner_text()
    tab.goto("/?q=%3Cimg+src%3Dx+onerror%3Dalert(1)%3E")
    tab.wait_for_selector("a.hit, #said:not(:empty)")
    assert tab.locator("img").count() == 0


@pytest.mark.parametrize("tabs", [(1280, "light")], indirect=True)
def test_what_can_be_used_has_a_name_for_a_screen_reader(tabs: Any) -> None:
    tab = tabs
    tab.goto("/?q=cache&corpora=docs,wiki,code,history")
    tab.wait_for_selector("a.hit")
    tab.locator("a.hit").first.click()
    tab.wait_for_selector("pre.own")
    shown = tab.locator("body").aria_snapshot()
    kinds = ("button", "link", "textbox", "searchbox", "combobox", "checkbox", "spinbutton", "tab")
    for line in shown.splitlines():
        kind, _, name = line.strip().removeprefix("- ").partition(" ")
        if kind in kinds:
            assert name.startswith(('"', "/")), f"no name: {line}"


@contextmanager
def served(service: Service, issuer: str) -> Iterator[str]:
    """The address of a server where people sign in with a provider."""
    with socket.create_server(("127.0.0.1", 0)) as own:
        address = f"http://127.0.0.1:{own.getsockname()[1]}"
        sign_in = ProviderSignIn(issuer, CLIENT, address, SECRET)
        app = http_app(lambda: nullcontext(service), "1", tokens=NoTokens(), sign_in=sign_in)
        server = uvicorn.Server(configured(app, log_level="error"))
        thread = threading.Thread(target=server.run, args=([own],))
        thread.start()
        try:
            yield address
        finally:
            server.should_exit = True
            thread.join()


def test_a_person_signs_in_with_his_organisation_asks_and_signs_out(service: Service) -> None:
    """The provider is another site for the browser: localhost, not 127.0.0.1."""
    with (
        small_provider() as provider,
        served(service, provider.issuer) as address,
        opened_tab(address, 390, "dark") as tab,
    ):
        tab.goto("/?q=how+many+entries+does+the+cache+keep%3F")
        tab.get_by_role("link", name="Sign in with your organisation").click()
        tab.get_by_role("link", name="Deny").click()
        assert "cancelled" in tab.get_by_role("alert").inner_text()
        tab.goto("/?q=how+many+entries+does+the+cache+keep%3F")
        tab.wait_for_selector("#organisation:focus")
        assert not tab.get_by_label("Your token").is_visible()  # no program has one
        tab.keyboard.press("Enter")
        tab.get_by_role("link", name="Allow").click()
        tab.wait_for_selector("a.hit")
        assert tab.url.endswith("/?q=how+many+entries+does+the+cache+keep%3F")
        assert tab.get_by_text("Signed in as ann").is_visible()
        stored = tab.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])")
        assert (stored, tab.evaluate("document.cookie")) == ("[{},{}]", "")
        (session,) = tab.context.cookies(address)
        assert (session["httpOnly"], session["sameSite"]) == (True, "Strict")
        tab.get_by_role("button", name="Sign out").click()
        tab.get_by_role("link", name="Sign in with your organisation").wait_for()
        assert tab.context.cookies(address) == []
        usual = (provider.issuer, "Failed to load resource")  # its icon, and the page of the denial
        assert [one for one in tab.said if not one.startswith(usual)] == []
