"""What ``.gitattributes`` says of files, and whether a file is what git has stored of it.

Git compares contents by running the clean filters that the repository's configuration names, which
an untrusted repository must not do. So this hashes the file itself. A file that git converts before
it stores it, by a filter, an encoding or ``$Id$``, can't be known: it counts as unchanged.
"""

import hashlib
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from operators.sources.git.git_process import git_stream, split

_GENERATED = "linguist-generated"
_ATTRIBUTES = ("filter", "working-tree-encoding", "ident", _GENERATED)


class Attributes(NamedTuple):
    """What git's attributes say of paths."""

    converted: frozenset[bytes] = frozenset()  # git stores another content, line ends apart
    generated: Mapping[bytes, bool] = MappingProxyType({})  # of those that are declared


def attributes(root: Path, paths: Iterable[bytes], silence: float) -> Attributes:
    """The attributes of ``paths``.

    Args:
        root: the top folder of the working tree.
        paths: paths in git's index.
        silence: timeout in seconds of git, which reads files that the repository names.

    Raises:
        GitError: git refuses, or says nothing for ``silence`` seconds.
    """
    converted, generated = set[bytes](), dict[bytes, bool]()
    with tempfile.TemporaryFile() as asked:
        asked.writelines(path + b"\0" for path in paths)
        asked.seek(0)
        arguments = ("-z", "--stdin", *_ATTRIBUTES)
        with git_stream(root, "check-attr", *arguments, silence=silence, asked=asked) as stream:
            fields = split(stream)
            for path, attribute, value in zip(fields, fields, fields, strict=True):
                if value == b"unspecified":
                    continue
                if attribute.decode() == _GENERATED:
                    generated[path] = value.lower() not in (b"unset", b"false")
                elif value != b"unset":
                    converted.add(path)
    return Attributes(frozenset(converted), generated)


def is_stored(data: bytes, content: str) -> bool:
    """Whether git would store ``data``, or it with other line ends, under the id ``content``."""
    algorithm = hashlib.sha1 if len(content) == 40 else hashlib.sha256
    return any(
        algorithm(b"blob %d\0" % len(form) + form).hexdigest() == content
        for form in (data, data.replace(b"\r\n", b"\n"))
    )
