"""The command that serves a collection to agents and apps."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dataflow.cli import options
from dataflow.execution.light_hamilton import import_hamilton
from dataflow.service.local import stop

if TYPE_CHECKING:
    from dataflow.configuration.config_model import Config
    from dataflow.driver.retrieval_driver import RetrievalDriver
    from dataflow.service.protection.provider_sign_in import ProviderSignIn
    from dataflow.service.protection.tokens import Callers
    from dataflow.service.tools import Service


def serve(
    collection: options.Collection = "default",
    config: options.Config = "default",
    stdio: Annotated[
        bool, typer.Option("--stdio", help="MCP for the one agent that started this.")
    ] = False,
    host: Annotated[str, typer.Option(help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65_535, help="Where to listen.")] = 8765,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A name by which others ask for this server."),
    ] = None,
    tokens: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="File of the callers' tokens; `rights token` makes its lines."
        ),
    ] = None,
    issuer: Annotated[
        str | None,
        typer.Option(metavar="URL", help="The provider (OpenID Connect) that signs tokens."),
    ] = None,
    keys: Annotated[
        str | None,
        typer.Option(metavar="URL", help="The provider's keys: its jwks_uri, or a file."),
    ] = None,
    audience: Annotated[
        str | None,
        typer.Option(metavar="URL", help="The audience that tokens name for this server."),
    ] = None,
    user_claim: Annotated[
        str, typer.Option(metavar="NAME", help="The claim that names the user.")
    ] = "sub",
    groups_claim: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="The claim with a user's groups, or its path: realm_access.roles."
        ),
    ] = "groups",
    sign_in_client: Annotated[
        str | None,
        typer.Option(
            metavar="ID",
            help="People sign in on the page by --issuer; its name for this server. "
            "Its secret is in CROSSCORPUS_SIGN_IN_SECRET.",
        ),
    ] = None,
    sign_in_scope: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A scope to ask for beside openid, such as groups."),
    ] = None,
    public_url: Annotated[
        str | None,
        typer.Option(metavar="URL", help="This server's address in browsers, behind a proxy."),
    ] = None,
    open_to_all: Annotated[
        bool, typer.Option("--open", help="Other machines may ask without a token.")
    ] = False,
    deadline: Annotated[
        float, typer.Option(min=1, metavar="SECONDS", help="How long a question may take.")
    ] = 30,
    refresh: Annotated[
        bool,
        typer.Option("--refresh", help="Read what changed in working trees before an answer."),
    ] = False,
    halt: Annotated[
        bool, typer.Option("--stop", help="Stop the server of this collection that runs here.")
    ] = False,
) -> None:
    """Serve a collection to agents (MCP) and apps (HTTP), until interrupted.

    A page for people is at `/`, MCP at `/mcp`, the same tools over HTTP at `/api`, described at
    `/openapi.json`. A caller sees what his token lets him see (`crosscorpus rights --help`), one
    without a token what everyone may. It listens on this machine alone unless told otherwise, and
    elsewhere asks for a token. A browser may ask it by the names of this machine, by the address
    after `--host`, and by each name after `--allow-host`.

    Example: crosscorpus serve -C team

    An agent that starts it itself: crosscorpus serve -C team --stdio
    """
    if halt:
        stop(collection)
        typer.echo(f"the server of {collection} is stopped")
        return
    import_hamilton()
    from dataflow.service.running import run_http, run_stdio

    if stdio:
        run_stdio(collection, config, refresh=refresh)
    else:
        names = allow_host or ()
        url = None if public_url is None else _public(public_url)
        claims = {"user": user_claim, "groups": groups_claim}
        sign_in = _sign_in(sign_in_client, issuer, url, sign_in_scope or (), claims)
        run_http(
            *(collection, config, host, port, deadline, _reply),
            refresh=refresh,
            names=names,
            callers=_callers(tokens, (keys, issuer, audience), claims, bool(sign_in)),
            open_to_all=open_to_all,
            public_url=url,
            sign_in=sign_in,
        )


def _callers(
    tokens: Path | None,
    provider: tuple[str | None, ...],
    claims: Mapping[str, str],
    signing_in: bool,
) -> Callers | None:
    """Who knows the callers: a file, a provider, or nobody.

    ``signing_in``: the issuer is for the page; programs may have a file's tokens, or none.
    """
    from dataflow.service.protection.signed_tokens import SignedTokens
    from dataflow.service.protection.tokens import NoTokens, Tokens

    if signing_in and provider[0] is provider[2] is None:
        return Tokens(tokens) if tokens else NoTokens()
    if tokens and any(provider):
        raise options.WrongUsage("callers come from --tokens or from a provider, not from both")
    if not any(provider):
        return Tokens(tokens) if tokens else None
    if None in provider:
        raise options.WrongUsage("a provider needs --issuer, --keys and --audience")
    keys, issuer, audience = map(str, provider)
    return SignedTokens(keys, issuer, audience, **claims)


def _public(url: str) -> str:
    """The address of this server in browsers, without a slash at its end."""
    from dataflow.service.protection.signed_tokens import is_safe

    if not is_safe(url) or url.rstrip("/").count("/") != 2 or set(url) & set("?#@\\"):
        raise options.WrongUsage(
            f"--public-url {url}: write https://NAME, without a path (http only for this machine)"
        )
    return url.rstrip("/")


def _sign_in(
    client: str | None,
    issuer: str | None,
    url: str | None,
    scopes: Sequence[str],
    claims: Mapping[str, str],
) -> ProviderSignIn | None:
    """How people sign in with a provider; None: they don't."""
    from dataflow.service.protection.provider_sign_in import ProviderSignIn

    if not client:
        return None
    if not (issuer and url):
        raise options.WrongUsage("--sign-in-client needs --issuer and --public-url")
    secret = os.environ.get("CROSSCORPUS_SIGN_IN_SECRET", "").strip()
    return ProviderSignIn(issuer, client, url, secret, scopes, **claims)


def _reply(service: Service, request: Mapping[str, Any]) -> Mapping[str, Any]:
    from dataflow.cli.console.asking import reply_to

    def driver_of(config: Config) -> AbstractContextManager[RetrievalDriver]:
        return nullcontext(service.driver.sibling(config))

    settings = service.settings or service.driver.config
    served = f"; by the running server, process {os.getpid()}"
    return reply_to(request, settings, service.store, driver_of, served)
