"""Principals, and the sets of them that may see a document.

A principal is a user or a group, by any name that a team has for it. Documents that allow the same
principals are of one class. A class has a number, so that a search compares one number a chunk.
"""

import hashlib
import json
from collections.abc import Iterable
from typing import Any

from operators.foundation.sanitize import clean_text

EVERYONE = "everyone"
"""A set with this principal includes everybody who may search the collection."""

IMPORTER = "crosscorpus:importer"
"""Who may see what a service's records say nothing of, until rules are set: the owner, and as long
as nothing else has rights each caller of a server without tokens."""

UNMARKED = 0
"""The class of documents without rights."""

ALLOWED = "allowed"
"""In a document's metadata: who may see it (:mod:`operators.sources.rights_rules`). In that of a
chunk that is written: who may see it, if not all who see its document."""

RESTRICTED = "restricted"
"""In a stored chunk's metadata, ``true``: not all who see its document may see it."""

LONGEST = 200
MOST = 1_000


def principals(given: Any) -> list[str]:
    """The different names in ``given``, a name or a list of them, sorted.

    >>> principals("ann"), principals(["ops", "ann", "ops"]), principals([])
    (['ann'], ['ann', 'ops'], [])

    Raises:
        ValueError: something is no name, or too long, or they are too many.
    """
    listed = [given] if isinstance(given, str) else given
    if not isinstance(listed, Iterable) or isinstance(listed, dict | bytes):
        raise ValueError(f"a list of users and groups is needed, not {str(given)[:60]!r}")
    names = set()
    for name in listed:
        if not isinstance(name, str) or not name.strip() or len(name) > LONGEST:
            raise ValueError(
                f"a user or group is a text of 1 to {LONGEST} characters, not {str(name)[:60]!r}"
            )
        names.add(clean_text(name.strip()))
    if len(names) > MOST:
        raise ValueError(f"{len(names)} users and groups; at most {MOST} are taken: name a group")
    return sorted(names)


def access_class(allowed: Iterable[str] | None) -> int:
    """The number of a set of principals: the same on every machine, and never ``UNMARKED``.

    >>> access_class(["ann", "ops"]) == access_class(["ops", "ann"]), access_class(None)
    (True, 0)
    """
    if allowed is None:
        return UNMARKED
    names = json.dumps(sorted(allowed)).encode()
    number = int.from_bytes(hashlib.blake2b(names, digest_size=8).digest(), "big")
    return number % (2**63 - 1) + 1


IMPORTED = access_class([IMPORTER])
"""The class of documents for the importer alone."""
