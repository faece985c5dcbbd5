"""Identifies a caller by a token from the server's token file.

The file has only hashes. A token has 256 random bits, so that one round of a hash is enough. Each
entry is a mapping: ``sha256``, ``principals`` (a user and his groups), optionally ``expires``.
"""

import hashlib
import hmac
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Protocol

import yaml

from operators.errors import CrosscorpusError, check_known
from operators.foundation.principals import principals

PREFIX = "cc_"
LARGEST = 1_000_000
"""Maximum bytes of a token file."""

_KEYS = ("sha256", "principals", "expires")


class Callers(Protocol):
    """The interface that identifies callers by their tokens."""

    def caller(self, token: str) -> tuple[str, ...] | None:
        """The user and groups of the bearer of ``token``; None: it is unknown.

        Raises:
            UnreadGroups: it is known, and its groups can't be read.
        """


class NoTokens:
    """Identifies nobody: people sign in with their organisation, and no program has a token."""

    def caller(self, token: str) -> None:
        """None."""


@dataclass(frozen=True)
class Known:
    """A known token, by its hash."""

    sha256: bytes
    principals: tuple[str, ...]  # the user first
    expires: date | None = None  # invalid from this day on (UTC)


class Tokens:
    """The tokens of a file, read again if it has changed.

    Raises:
        CrosscorpusError: the file can't be read; names the wrong line. If the file becomes invalid
            later, every token is refused.
    """

    def __init__(self, path: Path) -> None:
        self.path, self._known = path, list[Known]()
        self._stamp: tuple[int, ...] = ()
        self._read()

    def caller(self, token: str, now: datetime | None = None) -> tuple[str, ...] | None:
        """The principals of the bearer of ``token``; None: it is unknown or expired."""
        try:
            self._read()
        except CrosscorpusError:
            return None
        digest, match = hashlib.sha256(token.encode()).digest(), None
        for one in self._known:  # compare all, in constant time
            if hmac.compare_digest(one.sha256, digest):
                match = one
        today = (now or datetime.now(UTC)).date()
        if match is None or (match.expires is not None and today >= match.expires):
            return None
        return match.principals

    def _read(self) -> None:
        try:
            status = self.path.stat()
            stamp = (status.st_mtime_ns, status.st_size, status.st_ino, status.st_ctime_ns)
            if stamp == self._stamp:
                return
            if status.st_size > LARGEST:
                raise CrosscorpusError(f"{self.path}: over {LARGEST:,} bytes of tokens")
            entries = yaml.safe_load(self.path.read_text("utf-8"))
        except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
            reason = getattr(error, "strerror", None) or " ".join(str(error).split())
            raise CrosscorpusError(f"{self.path}: no file of tokens ({reason})") from error
        if not isinstance(entries, list):
            raise CrosscorpusError(
                f"{self.path}: a list of tokens is needed; `rights token` makes one"
            )
        self._known = [self._one(number, one) for number, one in enumerate(entries, 1)]
        self._stamp = stamp

    def _one(self, number: int, entry: Any) -> Known:
        try:
            if not isinstance(entry, dict):
                raise ValueError("it needs sha256 and principals")
            for name in entry:
                check_known("part of a token", str(name), _KEYS)
            names = entry.get("principals")
            if not isinstance(names, str | list):
                raise ValueError("principals are a name, or a list of them")
            user = names if isinstance(names, str) else (names or [""])[0]
            expires = entry.get("expires")
            if not isinstance(expires, date | None) or isinstance(expires, datetime):
                raise ValueError("expires is a day, such as 2027-01-01")
            digest = bytes.fromhex(str(entry.get("sha256")))
            if len(digest) != hashlib.sha256().digest_size:
                raise ValueError("sha256 is 64 hexadecimal digits")
            others = [name for name in principals(names) if name != user]
            return Known(digest, tuple(principals(user) + others), expires)
        except (ValueError, CrosscorpusError) as error:
            raise CrosscorpusError(f"{self.path}, token {number}: {error}") from error


def new_token() -> str:
    """A new random token."""
    return PREFIX + secrets.token_urlsafe(32)


def token_line(token: str, names: Sequence[str], expires: str | None = None) -> str:
    """The line of ``token`` in a file.

    Raises:
        CrosscorpusError: a name or the day is invalid.
    """
    try:
        distinct = [*dict.fromkeys(name for name in names if principals(name))]
        day = None if expires is None else date.fromisoformat(expires)
    except ValueError as error:
        raise CrosscorpusError(str(error)) from error
    line: dict[str, Any] = {"sha256": hashlib.sha256(token.encode()).hexdigest()}
    line |= {"principals": distinct} | ({} if day is None else {"expires": day})
    return str(
        yaml.safe_dump([line], default_flow_style=None, sort_keys=False, width=10_000)
    ).strip()
