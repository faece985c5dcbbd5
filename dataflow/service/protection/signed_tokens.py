"""Identifies a caller by a token that an identity provider has signed (OpenID Connect, JWT).

The provider's keys are at its ``jwks_uri``, or in a file. Only signatures of key pairs are valid: a
token without one, or signed with a shared secret, is refused. PyJWT verifies the claims.
"""

import json
import logging
import math
import urllib.parse
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Any

import jwt

from dataflow.service.protection.group_claims import UnreadGroups, check_claim, groups_in
from operators.errors import CrosscorpusError
from operators.foundation.principals import EVERYONE, principals

LOG = logging.getLogger("crosscorpus.tokens")
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "ES512", "EdDSA")
NEEDED = ("exp", "aud", "iss")
INVALID = (jwt.PyJWTError, ValueError, TypeError, RecursionError)
"""The errors of :meth:`SignedTokens.read`."""
LEEWAY_S = 30
"""Seconds that the clocks of two machines may differ."""
TIMEOUT_S = 5
"""Timeout in seconds for fetching the provider's keys."""
KEPT_S = 300
"""Seconds after which keys are fetched again; old keys stay valid for twice as long."""
AGAIN_S = 10
"""Minimum seconds between two fetches of keys, because anybody may send a token."""


class SignedTokens:
    """The tokens of one provider for one server.

    Args:
        keys: the address of the provider's keys, by https (http of this machine), or a file.
        issuer: the provider's name in its tokens.
        audience: this server's name in its tokens.
        user, groups: the claims that name the user, and his groups
            (:func:`dataflow.service.protection.group_claims.groups_in`).

    Raises:
        CrosscorpusError: the file has no keys, the address is not safe, or ``groups`` is no claim.
    """

    def __init__(
        self, keys: str, issuer: str, audience: str, user: str = "sub", groups: str = "groups"
    ) -> None:
        self.issuer, self.audience, self.user = issuer, audience, user
        self.groups, self._warned = check_claim(groups), False
        self._key = _keys(keys)

    def caller(self, token: str) -> tuple[str, ...] | None:
        """The user and his groups; None: the token is not the provider's, not for this server, or
        expired.

        Raises:
            UnreadGroups: it is valid, and its groups can't be read.
        """
        try:
            return self.read(token)
        except INVALID:
            return None

    def read(self, token: str, nonce: str | None = None) -> tuple[str, ...]:
        """The user and his groups.

        ``nonce``: that of an ID token, which must then be for this audience alone.

        Raises:
            INVALID: the token is not the provider's, not for this server, or expired.
            UnreadGroups: it is valid, and its groups can't be read.
        """
        claims = jwt.decode(
            token,
            self._key(token),
            algorithms=ALGORITHMS,
            audience=self.audience,
            issuer=self.issuer,
            leeway=LEEWAY_S,
            options={"require": [*NEEDED, self.user]},
        )
        if nonce is not None and claims.get("nonce") != nonce:
            raise jwt.InvalidTokenError("it is of another sign-in (nonce)")
        if nonce is not None and claims.get("azp", self.audience) != self.audience:
            raise jwt.InvalidTokenError("it is for another client (azp)")
        user = claims[self.user]
        if not isinstance(user, str):
            raise TypeError("the user is no text")
        (name,) = principals(user)
        try:
            groups = groups_in(claims, self.groups)
        except UnreadGroups as error:
            LOG.warning("refused: the user %r: %s", name, error)
            raise
        if groups is None and not self._warned:  # a user without groups, or a wrong name
            self._warned = True
            LOG.warning(
                "the token of the user %r has no claim %r, so that he is in no group; it has: %s",
                *(name, self.groups, ", ".join(sorted(claims))[:200]),
            )
        return name, *(one for one in groups or [] if one not in (name, EVERYONE))


def is_safe(address: str) -> bool:
    """Whether an address is by https, or of this machine."""
    try:
        parts = urllib.parse.urlsplit(address)
        local = parts.hostname in ("localhost", "127.0.0.1", "::1")
    except ValueError:
        return False
    return bool(parts.hostname) and (parts.scheme == "https" or (parts.scheme == "http" and local))


def _keys(keys: str) -> Callable[[str], Any]:
    """The interface that returns the key that signed a token."""
    address = urllib.parse.urlsplit(keys)
    if address.scheme in ("http", "https"):
        if not is_safe(keys):
            raise CrosscorpusError(f"keys come by https, not from {keys}")
        return _Provider(keys)
    try:
        key_set = jwt.PyJWKSet.from_dict(json.loads(Path(keys).read_text("utf-8")))
    except (OSError, ValueError, AttributeError, jwt.PyJWTError) as error:
        reason = " ".join(str(error).split())
        raise CrosscorpusError(f"{keys}: no keys of a provider ({reason})") from error
    return partial(_matching_key, key_set.keys)


class _Provider:
    """Returns the key that signed a token, from those at an address.

    A provider that does not answer delays one caller occasionally, and nobody else.
    """

    def __init__(self, address: str) -> None:
        self._client = jwt.PyJWKClient(address, timeout=TIMEOUT_S)
        self._lock, self._keys = Lock(), list[jwt.PyJWK]()
        self._tried_at = self._read_at = -math.inf
        with suppress(jwt.PyJWTError):  # it may start later than this
            self._ask(KEPT_S)

    def __call__(self, token: str) -> Any:
        """The key.

        Raises:
            PyJWTError: there is none, or the provider does not answer.
        """
        self._ask(KEPT_S if self._keys else AGAIN_S)
        if monotonic() - self._read_at > 2 * KEPT_S:
            raise jwt.InvalidTokenError("the provider does not answer")
        try:
            return _matching_key(self._keys, token)
        except jwt.InvalidTokenError:
            self._ask(AGAIN_S)
            return _matching_key(self._keys, token)

    def _ask(self, after: float) -> None:
        """Fetch the keys, if the last fetch is some time ago and no other thread does."""
        if monotonic() - self._tried_at < after or not self._lock.acquire(blocking=False):
            return
        try:
            self._tried_at = monotonic()
            self._keys = jwt.PyJWKSet.from_dict(self._client.fetch_data()).keys
            self._read_at = monotonic()
        finally:
            self._lock.release()


def _matching_key(keys: Sequence[jwt.PyJWK], token: str) -> Any:
    name = jwt.get_unverified_header(token).get("kid")
    matching = [one for one in keys if one.key_id == name or len(keys) == 1]
    if not matching:
        raise jwt.InvalidTokenError("no key of that name")
    return matching[0].key
