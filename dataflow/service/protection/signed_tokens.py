"""Who a caller is, by a token that an identity provider has signed (OpenID Connect, JWT).

The provider's keys are at its ``jwks_uri``, or in a file. Only signatures of key pairs count: a
token without one, or with one by a shared secret, is nobody's. PyJWT checks what the provider says.
"""

import json
import urllib.parse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import jwt

from operators.errors import CrosscorpusError
from operators.foundation.principals import EVERYONE, principals

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "ES512", "EdDSA")
NEEDED = ("exp", "aud", "iss")
LEEWAY_S = 30
"""Seconds that the clocks of two machines may differ."""
TIMEOUT_S = 5
"""For the provider to give its keys; they are kept for five minutes."""


class SignedTokens:
    """The tokens of one provider for one server.

    Args:
        keys: the address of the provider's keys, by https (http of this machine), or a file.
        issuer: the provider, as its tokens name it.
        audience: this server, as the tokens for it name it.
        user, groups: the claims that name the user, and his groups; without groups he has none.

    Raises:
        CrosscorpusError: the file has no keys, or the address is not safe.
    """

    def __init__(
        self, keys: str, issuer: str, audience: str, user: str = "sub", groups: str = "groups"
    ) -> None:
        self.issuer, self.audience, self.user, self.groups = issuer, audience, user, groups
        self._key = _keys(keys)

    def caller(self, token: str) -> tuple[str, ...] | None:
        """The user and his groups; None: the token is not the provider's, not for this server, or
        over."""
        try:
            claims = jwt.decode(
                token,
                self._key(token),
                algorithms=ALGORITHMS,
                audience=self.audience,
                issuer=self.issuer,
                leeway=LEEWAY_S,
                options={"require": [*NEEDED, self.user]},
            )
            user, groups = claims[self.user], claims.get(self.groups) or []
            if not isinstance(user, str):
                return None
            (name,) = principals(user)
            others = [one for one in principals(groups) if one not in (name, EVERYONE)]
        except (jwt.PyJWTError, ValueError, TypeError, RecursionError):
            return None
        return name, *others


def _keys(keys: str) -> Callable[[str], Any]:
    """What gives the key that signed a token."""
    address = urllib.parse.urlsplit(keys)
    if address.scheme in ("http", "https"):
        if address.scheme == "http" and address.hostname not in ("localhost", "127.0.0.1", "::1"):
            raise CrosscorpusError(f"keys come by https, not from {keys}")
        client = jwt.PyJWKClient(keys, timeout=TIMEOUT_S)
        return lambda token: client.get_signing_key_from_jwt(token).key
    try:
        held = jwt.PyJWKSet.from_dict(json.loads(Path(keys).read_text("utf-8")))
    except (OSError, ValueError, AttributeError, jwt.PyJWTError) as error:
        said = " ".join(str(error).split())
        raise CrosscorpusError(f"{keys}: no keys of a provider ({said})") from error
    return partial(_held, held)


def _held(keys: jwt.PyJWKSet, token: str) -> Any:
    name = jwt.get_unverified_header(token).get("kid")
    found = [one for one in keys.keys if one.key_id == name or len(keys.keys) == 1]
    if not found:
        raise jwt.InvalidTokenError("no key of that name")
    return found[0].key
