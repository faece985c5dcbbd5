"""Reads a user's groups from the claims of a token, in the forms that providers give them.

A form that may mean two things is refused with a line, because a group that is guessed may open
documents, and one that is missed hides them without a word.
"""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from operators.errors import CrosscorpusError
from operators.foundation.escape import label_text
from operators.foundation.principals import principals

SCOPES = ("scope", "scp")
"""Claims whose text is a list with spaces between (RFC 6749, 3.3)."""
_NAMES = ("name", "display", "id", "value")
"""Fields that name a group that is an object, the first that is there (RFC 7643, 4.1.2)."""
_MISSING = object()


class UnreadGroups(CrosscorpusError):
    """The groups of a valid token cannot be read; says what to change at the provider."""


def groups_in(claims: Mapping[str, Any], name: str) -> list[str] | None:
    """The groups of the claim ``name``, sorted; None: there is no such claim.

    A group with a slash before it, as Keycloak gives a path, also counts without it.

    Args:
        claims: those of a token.
        name: a claim, or the path of a part of one (``realm_access.roles``). A claim that has
            exactly this name comes first, so that a name may have dots of its own.

    Raises:
        UnreadGroups: they are elsewhere (overage), or have a form that may mean two things.

    >>> groups_in({"realm_access": {"roles": ["hr"]}}, "realm_access.roles")
    ['hr']
    >>> groups_in({"groups": ["/team/a"]}, "groups"), groups_in({"groups": "hr, ops"}, "groups")
    (['/team/a', 'team/a'], ['hr', 'ops'])
    """
    value = _value(claims, name)
    if value is _MISSING:
        if _is_elsewhere(claims, name):
            raise UnreadGroups(
                f"the token names no groups in {name!r}: the user is in more than a token holds,"
                " and they are elsewhere; let the provider give only groups of this application,"
                " or roles (--groups-claim roles)"
            )
        return None
    try:
        names = principals(_listed(value, name))
    except ValueError as error:
        raise UnreadGroups(f"the groups in {name!r} of the token: {error}") from error
    return sorted({*names, *(one.lstrip("/") for one in names if one.lstrip("/"))})


def check_claim(name: str) -> str:
    """``name``, if it can be a claim.

    Raises:
        CrosscorpusError: it has nothing before, after or between its dots.
    """
    if not all(part.strip() for part in name.split(".")):
        raise CrosscorpusError(
            f"--groups-claim {name!r}: write a claim, or its path such as realm_access.roles"
        )
    return name


def _value(claims: Mapping[str, Any], name: str) -> Any:
    if name in claims:
        return claims[name]
    for at, letter in enumerate(name):
        if letter == "." and isinstance(inner := claims.get(name[:at]), Mapping):
            value = _value(inner, name[at + 1 :])
            if value is not _MISSING:
                return value
    return _MISSING


def _is_elsewhere(claims: Mapping[str, Any], name: str) -> bool:
    """Whether the provider has more groups than it puts into a token (Entra's overage)."""
    names = claims.get("_claim_names")
    first = name.partition(".")[0]
    if isinstance(names, Mapping) and (name in names or first in names):
        return True
    flag = claims.get("hasgroups") if name == "groups" else None
    return (bool(flag) and flag != "false") or any(one.startswith(f"{name}:src") for one in claims)


def _listed(value: Any, name: str) -> list[Any]:
    """The names in a claim.

    Raises:
        ValueError: it has a form that may mean two things, or none.
    """
    if value is None:
        return []
    if isinstance(value, str):
        return _in_text(value.strip(), name)
    if isinstance(value, Mapping):
        if any(field in value for field in _NAMES):
            return [_named(value)]
        if value and not all(isinstance(one, Mapping) for one in value.values()):
            part = label_text(f"{name}.{next(iter(value))}")[:80]
            raise ValueError(f"an object is no list; name its part, as {part}")
        return [*value]  # Zitadel gives roles as keys
    if not isinstance(value, list):
        raise ValueError(f"a list is needed, not {str(value)[:60]!r}")
    return [_named(one) if isinstance(one, Mapping) else one for one in value]


def _in_text(text: str, name: str) -> list[Any]:
    if text.startswith("["):
        with suppress(ValueError, RecursionError):
            if isinstance(parsed := json.loads(text), list):
                return _listed(parsed, name)
    if name.rpartition(".")[2] in SCOPES:
        return text.split()
    names = [part.strip() for part in re.split("[,;]", text) if part.strip()]
    several = len(names) > 1 and "=" in text
    if several or text.startswith(("[", "{")) or (len(names) == 1 and len(text.split()) > 1):
        raise ValueError(f"{text[:60]!r} may be one name or several; let the provider give a list")
    return names


def _named(group: Mapping[str, Any]) -> Any:
    for field in _NAMES:
        if group.get(field) not in (None, ""):
            return group[field]
    raise ValueError(f"a group has none of {', '.join(_NAMES)}: {str(dict(group))[:60]!r}")
