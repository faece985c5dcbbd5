"""The passage at a place as people, tools and answers write it: ``src/a.py:120``, ``[code: a.py]``.

The file may be named by its whole path, by the end of it, after the name of its repository, by
its path on another machine whose end is a known path, or by its address. A label or an address is
first compared with those of the stored passages, as an answer would show them.
"""

import json
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from dataflow.driver.retrieval_driver import RetrievalDriver
from operators.context.templates import short_label
from operators.errors import CrosscorpusError, UnknownName, first_of
from operators.explain.named_documents import NAMED, at_lines, documents_named, file_of, located
from operators.foundation.sanitize import clean_text
from operators.frames import DEFINES, LINES
from operators.options import NAME, PATH
from operators.postgres.search.filter_values import absent_everywhere
from operators.postgres.store import Home, Store
from operators.ranking.definitions import qualified_parts
from operators.ranking.named_places import read_place

_SYMBOL = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::|#)[A-Za-z_$][\w$]*)*")

DEFINED = 20
"""Maximum number of places of a definition that are looked at."""


@dataclass(frozen=True)
class NamedPassage:
    """The passage at a place in a file, and the requested lines.

    Attributes:
        corpus: its name in the configuration.
        row: the passage, with the columns ``LOCATED``.
        lines: of its document, such as ``10-42``; None: the passage, or the document.
        whole: no line was given, so the document is requested.
        note: how the place was interpreted.
    """

    store: Store
    corpus: str
    row: dict[str, Any]
    lines: str | None
    whole: bool
    note: str


def place_named(
    homes: Mapping[str, Home],
    corpora: Mapping[str, Any],
    visible: Mapping[str, Mapping[str, Any]],
    name: str,
) -> NamedPassage:
    """The passage at the place ``name``, in the one document that it fits.

    Args:
        homes: the visible corpora.
        corpora: a corpus's name -> ``inputs`` with ``label`` and ``link``.
        visible: their visible parts, for the names in an error.

    Raises:
        UnknownName: no document has that path, or none of its passages that line; suggests the
            nearest path.
        CrosscorpusError: several documents have it; lists them.
    """
    name = clean_text(name)
    shown = short_label(name)
    look = partial(located, homes, corpora)
    found = documents_named(look, name)
    rows, first, last, whole, also = found
    if rows.is_empty():
        path = read_place(name)[0][:PATH]
        near = "; ".join(absent_everywhere(homes, visible, path_prefix=path)[:1]) if path else ""
        what = "give the id of a search result, or a path such as src/a.py:120"
        raise UnknownName(f"no passage {shown!r}: {what}{near and f'; {short_label(near)}'}")
    documents = rows.unique(["corpus", "repo", "document_id"], maintain_order=True)
    if len(documents) > 1:
        listed = [
            f"{file_of(row)} ({row['corpus']}:{row['chunk_id']})" for row in documents.to_dicts()
        ]
        raise CrosscorpusError(
            f"{shown!r} is in {len(listed)} documents, name one or give its id: "
            f"{first_of(listed, NAMED)}"
        )
    row = at_lines(look, found).sort("ordinal").row(0, named=True)
    lines = None if last is None else f"{first}-{last}"
    note = f"{shown!r} was read as {file_of(row)}" + f", line {first}" * (first is not None)
    note += f"; {also} have this label too" if also else ""
    corpus = row["corpus"]
    return NamedPassage(homes[corpus].store, corpus, row, lines, whole and first is None, note)


def definition_of(driver: RetrievalDriver, name: str) -> tuple[dict[str, Any], str] | None:
    """A passage of the file that defines ``name`` (``SHOWN``), and the lines of the definition.

    The first parts of a name may be its file; one that is defined with more of them goes first.

    Raises:
        CrosscorpusError: several places define it; lists them.
    """
    if len(name) > NAME or not _SYMBOL.fullmatch(name):
        return None
    wanted = qualified_parts(name)
    fits = defaultdict[int, dict[str, tuple[dict[str, Any], str]]](dict)
    for one in driver.ask(name, symbol=name, top_k=DEFINED).frame.iter_rows(named=True):
        meta = json.loads(one["metadata"] or "{}")
        for defined, (first, last) in zip(meta.get(DEFINES, ()), meta.get(LINES, ()), strict=False):
            parts = qualified_parts(defined)
            if parts[-len(wanted) :] == wanted[-len(parts) :]:
                lines = f"{first}-{last}"
                same = fits[min(len(parts), len(wanted))]
                same.setdefault(f"{file_of(one)}:{lines}", (one, lines))
    found = fits[max(fits, default=0)]
    if len(found) > 1:
        listed = first_of(sorted(found), NAMED)
        raise CrosscorpusError(f"{name!r} is defined in {len(found)} places: {listed}")
    return next(iter(found.values()), None)
