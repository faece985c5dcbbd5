"""Whether a file of the working tree is what git has stored of it, worked out without filters.

Git compares contents by running the clean filters that the repository's configuration names, which
an untrusted repository must not do. So this hashes the file itself, after the conversions that need
no program: line ends, an encoding, ``$Id$``. A file behind a configured filter can't be known: it
counts as unchanged.
"""

import hashlib
import re
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from operators.sources.git.git_process import GitError, git_output, git_stream, split

_ATTRIBUTES = ("filter", "working-tree-encoding", "ident")
_NO_VALUE = ("unspecified", "unset", "set")
_IDENT = re.compile(rb"\$Id:[^$\n]*\$")


class Conversion(NamedTuple):
    """What git does to a file's content before it stores it, line ends apart."""

    filtered: bool = False  # by a program
    encoding: str | None = None  # in the working tree; git stores UTF-8
    ident: bool = False  # ``$Id: ...$`` is stored as ``$Id$``


PLAIN = Conversion()


def conversions(root: Path, paths: Iterable[bytes], silence: float) -> dict[bytes, Conversion]:
    """The conversions of ``paths`` that have any.

    Args:
        root: the top folder of the working tree.
        paths: paths in git's index.
        silence: timeout in seconds of git, which reads files that the repository names.

    Raises:
        GitError: git refuses, or says nothing for ``silence`` seconds.
    """
    programs = _filters(root, silence)
    found: dict[bytes, dict[str, str]] = {}
    with tempfile.TemporaryFile() as asked:
        asked.writelines(path + b"\0" for path in paths)
        asked.seek(0)
        arguments = ("-z", "--stdin", *_ATTRIBUTES)
        with git_stream(root, "check-attr", *arguments, silence=silence, asked=asked) as stream:
            fields = split(stream)
            for path, attribute, value in zip(fields, fields, fields, strict=True):
                text = value.decode("utf-8", "surrogateescape")
                if text not in _NO_VALUE or (attribute, text) == (b"ident", "set"):
                    found.setdefault(path, {})[attribute.decode()] = text
    made = {
        path: Conversion(
            of.get("filter") in programs, of.get("working-tree-encoding"), "ident" in of
        )
        for path, of in found.items()
    }
    return {path: conversion for path, conversion in made.items() if any(conversion)}


def _filters(root: Path, silence: float) -> frozenset[str]:
    """The names of the filters with a program; only the names are read."""
    pattern = r"^filter\..*\.(clean|process)$"
    try:
        listed = git_output(
            root, "config", "-z", "--name-only", "--get-regexp", pattern, silence=silence
        )
    except GitError:  # also where there is none
        return frozenset()
    names = (name.partition(".")[2].rpartition(".")[0] for name in listed.split("\0") if name)
    return frozenset(names)


def is_stored(data: bytes, content: str, conversion: Conversion = PLAIN) -> bool:
    """Whether git would store ``data`` under the id ``content``; true where it can't be known."""
    if conversion.filtered:
        return True
    try:
        forms = _stored_forms(data, conversion)
    except (LookupError, UnicodeError):
        return True
    algorithm = hashlib.sha1 if len(content) == 40 else hashlib.sha256
    return any(
        algorithm(b"blob %d\0" % len(form) + form).hexdigest() == content
        for form in (*forms, *(form.replace(b"\r\n", b"\n") for form in forms))
    )


def _stored_forms(data: bytes, conversion: Conversion) -> list[bytes]:
    """``data`` as it is and, where git converts it, as git stores it."""
    stored = data
    if conversion.encoding:
        codec = conversion.encoding.upper().replace("LE-BOM", "").replace("BE-BOM", "")
        stored = stored.decode(codec).encode()
    if conversion.ident:
        stored = _IDENT.sub(b"$Id$", stored)
    return [data, stored]
