"""Places that a text names: a file and its lines, a commit, an issue.

Tools print these, answers show them, and people paste them: ``path/file.py:120``, the frame of a
traceback, an address with ``#L120``, a label, the first digits of a commit's id, ``#42``,
``OPS-41``. A path may be from another machine, with leading folders that no collection has: the
last parts decide.

:func:`named_places` finds the places in a query; :func:`read_place` and :func:`spellings` read a
text that is one place.
"""

import re
import unicodedata
from typing import NamedTuple
from urllib.parse import unquote

import polars as pl

from operators.foundation.sanitize import clean_text

MOST_PLACES = 12
"""The most places of one text; the last ones are kept, because the innermost frames of a Python
traceback are last."""

LONGEST_TEXT = 20_000
"""Characters of a text that are searched for places, from its end."""

LONGEST_OF_BARE = 300
"""The longest text, in characters, in which a bare file name refers to the file. In a longer one,
such as an issue's, it may be the reporter's own ``conf.py``."""

_LINES = (
    r"(?::L?(?P<a>[0-9]{1,9})(?!\w)(?:-L?(?P<a2>[0-9]{1,9})(?!\w)|:[0-9]+)?:?"
    r"|(?:\?[\w=&]{0,40})?#L(?P<b>[0-9]{1,9})(?:C[0-9]+)?(?:-L?(?P<b2>[0-9]{1,9})(?:C[0-9]+)?)?"
    r"|\((?P<c>[0-9]{1,9})[,)]|[\"'`]?,? (?:at )?line (?P<d>[0-9]{1,9}))"
)
_PATH = re.compile(
    r"(?<![\w.@+~$/\\-])(?P<path>(?:[A-Za-z]:)?[/\\]{0,2}(?:[\w.@+~$-]+[/\\])*[\w.@+~$-]*\w)"
    rf"{_LINES}?"
)
_WHOLE = re.compile(rf"(?P<path>.+?){_LINES}", re.DOTALL)
_IN_LABEL = re.compile(r"(.+?):([0-9]{1,9})(?:-([0-9]{1,9}))?(?=[ ,;]|$)", re.DOTALL)
_ADDRESS = re.compile(r"(?:https?://|file:)\S+", re.IGNORECASE)
_CITATION = re.compile(
    r"(?P<label>\[(?:\\.|[^\\\]])*\])(?:\((?P<url>[^\s()]*)\))?(?: \(also found in .*)?", re.DOTALL
)
_LABEL = re.compile(r"\[\w+: (.*)\]")  # on one line
ADDITIONS = r"(?:, (?:in .*|corpus \w+|line \d+|lines \d+-\d+|page \d+|passage \d+|#[0-9a-f]{16}))+"
"""Regular expression for what :mod:`operators.context.distinct_labels` adds to a label."""

_OFF = [r":\d+(-\d+)?$", r" > .*$", r" \([^()]*\)( > .*)?$", r"^[0-9a-f]{7,} "]
_OFF += [r", (\S+:\d+|review by .*)$"]
"""What a label has before or after the name of its document."""
_ENDING = re.compile(r"\w\.[A-Za-z]\w{0,9}$")
_HASH = re.compile(r"(?<![\w.-])(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,64}(?![\w-])")
_NUMBER = re.compile(
    r"(?:(?<![\w&/#])#|\b(?:PR|pull request|pull|issue|bug)s? ?#?)(\d{1,7})\b", re.I
)
REQUEST = re.compile(r"(?:(?<![^\s(\[])!|\b(?:MR|merge request)s? ?[#!]?)(\d{1,7})\b", re.I)
_KEY = re.compile(r"(?<![\w.-])[A-Z](?=[0-9_]*[A-Z])[A-Z0-9_]{1,19}-[1-9][0-9]{0,6}(?![\w-])")


class Place(NamedTuple):
    """A file (``path``, perhaps with lines from 1), or a document by its id or the start of it."""

    path: tuple[str, ...] = ()
    line: int | None = None
    commit: str = ""
    number: int | None = None
    last: int | None = None
    key: str = ""  # a tracker's issue, OPS-41, or a request of GitLab, merge_requests/88


def named_places(text: str) -> list[Place]:
    """The places that ``text`` names, each once, in its order.

    >>> found = named_places("fails in /home/ann/app/io.py:120:5 since 2dfeccf, see #42, OPS-41")
    >>> found == [Place(("home", "ann", "app", "io.py"), 120), Place(commit="2dfeccf"),
    ...           Place(number=42), Place(key="OPS-41")]
    True
    """
    text = composed(text[-LONGEST_TEXT:])
    fewest = 1 if len(text) <= LONGEST_OF_BARE else 2
    places = []
    for match in _ADDRESS.finditer(text):
        path, line, last = read_place(match[0].rstrip(".,;:!?)]}>\"'`"))
        if "%" in match[0] or line:  # the others read as paths
            places.append(
                (match.start(), Place(tuple(filter(None, path.split("/"))), line, last=last))
            )
    for match in _PATH.finditer(text):
        line, last = _lines(match)
        names = tuple(filter(None, re.split(r"[/\\]", match["path"])))
        is_path = len(names) > 1 or _ENDING.search(match["path"]) or line
        if is_path and not names[-1].isdigit() and len(names) >= fewest:
            places.append((match.start(), Place(names, line, last=last)))
    places += [(match.start(), Place(commit=match[0])) for match in _HASH.finditer(text)]
    places += [(match.start(), Place(number=int(match[1]))) for match in _NUMBER.finditer(text)]
    places += [(match.start(), Place(key=match[0])) for match in _KEY.finditer(text)]
    places += [(m.start(), Place(key=f"merge_requests/{m[1]}")) for m in REQUEST.finditer(text)]
    return list(dict.fromkeys(place for _, place in sorted(places)))[-MOST_PLACES:]


def read_place(text: str) -> tuple[str, int | None, int | None]:
    """The path in ``text``, which is one place, its line, and the last line of several.

    >>> read_place("src/a.py:120"), read_place("a.py#L7-L9"), read_place("/home/ann/a.py:120:5")
    (('src/a.py', 120, None), ('a.py', 7, 9), ('home/ann/a.py', 120, None))
    >>> read_place("file:my%20notes.md?plain=1#L4"), read_place("[code: my notes.py:1-3 fee]")
    (('my notes.md', 4, None), ('my notes.py', 1, 3))
    """
    label, address = label_and_address(text)
    if label:
        body = label_forms(label)[-1]
        if match := _IN_LABEL.match(_inside(body)):
            return match[1], int(match[2]), int(match[3]) if match[3] else None
        return min(spellings(body), key=len), None, None
    if address:
        bare, sign, fragment = address.partition("#")
        match = _WHOLE.fullmatch(f"x{sign}{fragment}")
        path = re.sub(r"^\w+:(?://[^/]*)?", "", unquote(bare.partition("?")[0]))
    else:
        path = text.strip().replace("\\", "/")
        if match := _WHOLE.fullmatch(path):
            path = match["path"]
    first, last = _lines(match) if match else (None, None)
    return re.sub(r"^(?:[A-Za-z]:)?(?:\.?/)+", "", path), first, last


def _lines(match: re.Match[str]) -> tuple[int | None, int | None]:
    """The first and the last line of a match of ``_LINES``."""
    first, last = match["a"] or match["b"] or match["c"] or match["d"], match["a2"] or match["b2"]
    return int(first) if first else None, int(last) if last else None


def label_and_address(text: str) -> tuple[str, str]:
    """The label and the address in ``text``: a label, an address, or a citation with both.

    >>> label_and_address("[wiki: Home](https://example.org/Home) (also found in [docs: a.md])")
    ('[wiki: Home]', 'https://example.org/Home')
    """
    text = text.strip()
    if _ADDRESS.match(text):
        return "", text
    if _LABEL.fullmatch(text) and "](" not in text and " (also found in " not in text:
        return text, ""
    match = _CITATION.fullmatch(text)
    if match and _LABEL.fullmatch(match["label"]):
        return match["label"], match["url"] or ""
    return (text, "") if _LABEL.fullmatch(text) else ("", "")


def label_forms(label: str) -> list[str]:
    r"""``label``, and without the escapes of a context's header and of Markdown.

    >>> label_forms(r"[docs: a\_b]")[-1]
    '[docs: a_b]'
    """
    label = composed(label)
    forms = (label, re.sub(r"\\([\[\]])", r"\1", label), re.sub(r"\\([^\w\s]|_)", r"\1", label))
    return list(dict.fromkeys(forms))


def spellings(name: str) -> list[str]:
    """The names of a document called ``name``, or with an address or a chunk's label ``name``.

    >>> spellings("[code: src/cache.py:10-42]")
    ['[code: src/cache.py:10-42]', 'src/cache.py:10-42', 'src/cache.py']
    >>> spellings("file:a.md?plain=1")[-2:]
    ['a.md?plain=1', 'a.md']
    """
    label, address = label_and_address(name)
    texts = [name]
    if address:
        bare = address.partition("#")[0]
        whole = [address, bare, bare.partition("?")[0]]
        whole += [re.sub(r"(?i)^file:(?://)?", "", one) for one in whole]
        texts += [*whole, *map(unquote, whole)]
        texts += re.findall(r"(?<=/)\w+:-?[0-9]+$", unquote(bare))  # a passage's id
    bodies = [_inside(one) for one in label_forms(label or ("" if address else name))]
    bodies += [re.sub(f"(?:{ADDITIONS})?(?:; .*)?$", "", body) for body in bodies if label]
    texts += bodies
    texts += [re.sub(off, "", body) for body in bodies for off in _OFF]
    names = dict.fromkeys(clean_text(text) for text in texts if text)
    return list(names)


def composed(text: str) -> str:
    """``text`` with composed letters; macOS writes the letters of file names decomposed."""
    return unicodedata.normalize("NFC", text)


def decomposed(text: str) -> str:
    """``text`` with decomposed letters."""
    return unicodedata.normalize("NFD", text)


def _inside(label: str) -> str:
    inside = _LABEL.fullmatch(label)
    return inside[1] if inside else label


def at_place(place: Place, path: str | None, document_id: str, title: str | None) -> int:
    """How well a document fits ``place``: 0 not at all; for paths, the number of common names.

    At least two names, if both paths have a folder.

    >>> at_place(Place(("home", "app", "io.py")), "src/app/io.py", "src/app/io.py", None)
    2
    """
    if place.commit:
        return int(document_id.startswith(place.commit))
    if place.key:
        return (document_id == place.key) + f"{document_id}/".startswith(f"{place.key}/")
    if place.number is not None:
        item = re.compile(rf"(?:pull|issues|merge_requests)/{place.number}(?!\d)")
        mention = re.compile(rf"#{place.number}(?!\d)")
        return int(bool(item.match(document_id) or mention.search(title or "")))
    shared = 0
    for ours, theirs in zip(
        reversed(composed(path or "").split("/")), reversed(place.path), strict=False
    ):
        if ours != theirs:
            break
        shared += 1
    # if both have folders, a common file name alone is chance: many have a utils.py
    return shared if shared > 1 or 1 in (len(place.path), (path or "").count("/") + 1) else 0


PLACED = ("path", "document_id", "title", "start_line", "end_line")
"""The columns of a passage's location."""


def leaders(place: Place, hits: pl.DataFrame) -> list[int]:
    """The rows of ``hits`` (columns ``PLACED``) that match ``place``.

    Those of the files whose paths share the most names with it, in their order; if some of them
    have the line, only these.
    """
    fits = [at_place(place, *row) for row in hits["path", "document_id", "title"].iter_rows()]
    best = max(fits, default=0)
    rows = [row for row, fit in enumerate(fits) if fit == best and fit]
    if place.line is None:
        return rows
    has = hits.select(pl.lit(place.line).is_between("start_line", "end_line")).to_series()
    return [row for row in rows if has[row]] or rows
