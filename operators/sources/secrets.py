"""Detects secrets in documents: keys and tokens that no search may return.

Only well-known forms count, each with its own mark (a prefix, a header), from the public lists of
GitHub's secret scanning and of gitleaks. High entropy is no evidence for a secret: hashes, test
vectors and identifiers in code have it too. Low entropy is evidence against one, as is a word like
``example``: documentation contains many invalid keys. So a secret of an unknown form stays, and
false positives are rare.
"""

import base64
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from operators.errors import check_known
from operators.signals.secondary import is_test
from operators.sources.protocol import Document, Item, LazyDocument, ReadIssue, Source, content_hash

MODES = ("auto", "skip", "redact", "allow")

VERSION = 2
"""The version of the rules: after a change the next run checks stored documents again."""

_KEYS = ("corpus", "repo", "document_id", "path")
_LABELS = ("title", "uri", "language", "state", "version", "lineage_id", "metadata", "note")

_ADDRESS = "password in an address"
_WEB_TOKEN = "JSON web token"
_TABLE = Path(__file__).with_name("secret_tokens.tsv").read_text("utf-8")
TOKENS = [line.split("\t") for line in _TABLE.splitlines()[1:]]
"""Kind, its prefixes, and the pattern of the rest; each has a run of 16 near its prefix."""

_AWS = r"\w{0,40}[\"']?\s{0,5}[:=]>?\s{0,5}[\"']?([\w/+]{40})(?![\w/+=])"
_SHAPES = [
    (
        "private key",
        "PRIVATE KEY",
        r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:\\[rn]|[\s\"'`,+\\>#/*;|.:<!-]|[A-Za-z][A-Za-z-]{0,40}: [^\n]{0,100}\n){1,60}"
        r"([A-Za-z0-9+/=]{40})(?:[^-]|-(?!----(?:END|BEGIN))){0,20000}"
        r"(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?",
    ),
    ("private key", "Private-Lines", r"Private-Lines: \d{1,3}\s{1,9}([\w+/]{40})[\w+/=\s]{0,9999}"),
    *(("AWS secret key", mark, mark + _AWS) for mark in ("aws_secret", "SECRET_ACC", "ecretAcc")),
    ("Azure storage key", "AccountKey=", r"AccountKey=([A-Za-z0-9+/]{86})=="),
    ("Azure key", "AccessKey=", r"AccessKey=([A-Za-z0-9+/]{43})="),
    ("Azure key", "sig=", r"sig=([A-Za-z0-9%+/]{42,90})(?:%3[dD]|=)"),
    ("Azure key", "Q~", r"(?<![\w~.])([\w~.]{3}\dQ~[\w~.-]{31,34})(?!\w)"),
    ("Telegram token", ":AA", r"(?<!\w)\d{8,10}:(AA[\w-]{33})(?!\w)"),
    ("Mailchimp key", "-us", r"(?<!\w)([a-f0-9]{32})-us\d{1,2}(?!\w)"),
    ("Terraform token", ".atlasv1.", r"(?<!\w)[A-Za-z0-9]{14}\.atlasv1\.([\w=-]{60,70})"),
    (
        _ADDRESS,
        "://",
        r"://([\w.%+-]{0,64}:[^\s/@{}<>$\[\]()\"'`\\]{8,128})@(?!localhost|127\.|0\.0\.0\.0"
        r"|192\.0\.2\.|198\.51\.100\.|203\.0\.113\.|(?:my|your)?host(?:name)?\b"
        r"|(?:[\w-]{1,63}\.){0,9}(?:example|(?:test|invalid|localhost)(?![\w.-])))"
        r"[\w-]{1,63}(?:\.[\w-]{1,63}){0,9}",
    ),
]
"""Kind, a string that every text with one contains, and the pattern; its group is checked."""

_WRAP = r"(?:[ \t]{1,20}|[ \t]{0,20}\r?\n[ \t]{0,20})"  # a blank line ends it
_BASE64 = re.compile(  # in one line, except a header of PEM
    rf"\b(?:LS0tLS1CRUdJTi[A-Za-z0-9+/]{{28,}}(?:{_WRAP}[A-Za-z0-9+/]{{28,}})*|[A-Za-z0-9+/]{{28,}})",
    re.ASCII,
)
_RUN = re.compile(r"[\w-]{16,}", re.ASCII)
_BEFORE = 60
"""Maximum characters from the beginning of a token to that of its first run of 16."""

_SHOWN = re.compile(
    r"(?i)example|sample|placeholder|dummy|redacted|changeme|foobar|fake|x{4}|\.{3}|john ?doe"
    r"|(?:your|my|test|this|real|secret|token)[_-]|[_-](?:here|test|secret|token)|1234567890"
    r"|4eC39HqLyjWD|tR3PYbcVNZZ7|BQokikJOvBiI|16C7e42F292c|Eby8vdM02xNO|C2y6yDjf5/R|ngeVfQFYQlKU"
    r"|k4NjIyNDgzNDcx|SyA(?:nLA7NfeLqu|dOS2zB6NCs|SWm6HmTMd)|SyCkEhVjf3pdu"
    r"|SyD(?:MAScliyLx|aGmWKa4Js)"
)
"""Words in example keys, and beginnings of the example keys in vendors' documentation."""

_EXAMPLES = re.compile(r"(?:^|/)(?:_?examples|samples|docs?)/|^example/")  # not com/example

_WEAK = re.compile(
    r"pass(?:word|wd|phrase)?|pwd|secret|token|change|example|sample|test|user(?:name)?|admin|root"
    r"|guest|demo|foo|bar|baz|dummy|fake|your|my|here|placeholder|letmein|welcome|qwerty|hunter"
    r"|default|super|postgres(?:ql)?|mysql|mongo|redis|rabbit(?:mq)?|database|login|credential"
    r"|some|local|strong|secure|difficult|[\W_]"
)
_CLAIM = re.compile(r'"(?:iss|sub|aud|exp|nbf|iat|jti)"')
_LEET = str.maketrans("0134578@$!", "oieastbasi")


def _tokens() -> dict[str, list[tuple[str, re.Pattern[str]]]]:
    forms = defaultdict(list)
    for kind, marks, rest in TOKENS:
        for mark in marks.split():
            form = rf"(?:(?<!\w)(?<!\w-)|(?<=\\[nrt])){re.escape(mark)}((?>{rest}))(?!\w)"
            forms[mark].append((kind, re.compile(form, re.ASCII)))
    return forms


def _any_of(marks: Iterable[str]) -> str:
    """A pattern of ``marks`` in branches by first letter, the longest first, for speed."""
    branches = defaultdict(list)
    for mark in sorted(marks, key=len, reverse=True):
        branches[re.escape(mark[0])].append(re.escape(mark[1:]))
    return "|".join(f"{first}(?:{'|'.join(rest)})" for first, rest in branches.items())


_FORMS = _tokens()
_MARK = re.compile(_any_of(_FORMS))
_WHOLE = [(kind, part, re.compile(form, re.ASCII)) for kind, part, form in _SHAPES]


class Secret(NamedTuple):
    """The position and the kind of a secret in a text."""

    start: int
    end: int
    kind: str
    value: str


def secrets_in(text: str) -> list[Secret]:
    """The secrets of ``text`` in order, without those inside another."""
    every = [*_plain(text), *_encoded(text)]
    apart: list[Secret] = []
    for secret in sorted(every):
        if not apart or secret.start >= apart[-1].end:
            apart.append(secret)
    return apart


def _plain(text: str) -> Iterator[Secret]:
    for kind, part, form in _WHOLE:
        for match in form.finditer(text) if part in text else ():
            if not _is_shown(kind, match[1]):
                start = match.start(1 if kind == _ADDRESS else 0)
                yield Secret(start, match.end(), kind, match[1])
    done = 0
    for run in _RUN.finditer(text):
        for mark in _MARK.finditer(text, max(done, run.start() - _BEFORE), run.end()):
            for kind, form in _FORMS[mark[0]]:
                if mark.start() >= done and (token := form.match(text, mark.start())):
                    done = token.end()
                    if not _is_shown(kind, token[1]):
                        yield Secret(token.start(), done, kind, token[1])
        done = max(done, run.end())


def _encoded(text: str) -> Iterator[Secret]:
    for run in _BASE64.finditer(text):
        plain = _decoded("".join(run[0].split()))
        if plain.isascii() and (secret := next(_plain(plain.decode()), None)):
            yield Secret(run.start(), run.end(), secret.kind, run[0])


def _decoded(code: str) -> bytes:
    return base64.b64decode((code[:-1] if len(code) % 4 == 1 else code) + "==")


def _is_shown(kind: str, value: str) -> bool:
    """Whether ``value`` is an example of a secret: see the module's docstring."""
    if kind == _ADDRESS:
        user, _, value = unquote(value).partition(":")
        left = _WEAK.sub("", value.lower().replace(user.lower() or ":", "").translate(_LEET))
        sorts = sum(any(map(sort, value)) for sort in (str.islower, str.isupper, str.isdigit))
        if len(left) < 6 or " " in value or sorts < 2:
            return True
    if kind == _WEB_TOKEN:
        payload = value.split(".")[1].translate(str.maketrans("-_", "+/"))
        value = _decoded(payload).decode("latin-1")
        if not _CLAIM.search(value):
            return True
    steps = sum(abs(ord(a) - ord(b)) <= 1 for a, b in pairwise(value))
    return (
        steps > 0.4 * len(value)
        or len(set(value)) < 7
        or _SHOWN.search(value) is not None
        or re.fullmatch(r"[a-zA-Z]*[-_][a-zA-Z_-]*", value) is not None
    )


def redacted(text: str) -> str:
    """``text`` with each secret replaced by ``[secret: KIND]``; it keeps its number of lines."""
    parts, done = [], 0
    for start, end, kind, _ in secrets_in(text):
        parts += [text[done:start], f"[secret: {kind}]", "\n" * text.count("\n", start, end)]
        done = end
    return "".join([*parts, text[done:]])


def without_secrets(source: Source, mode: str = "auto") -> Source:
    """``source`` without secrets in any field of a document.

    Args:
        source: the documents.
        mode: ``skip`` leaves a document with one out, and an issue of the scan says why; ``redact``
            replaces each secret by a mark, but leaves the document out if one is in its key;
            ``auto`` skips files of code that are no tests or examples, and redacts the rest;
            ``allow`` ingests it unchanged.

    Raises:
        UnknownName: no such mode.
    """
    check_known("way with secrets", mode, MODES)
    if mode == "allow":
        return source
    judge = partial(_judged, mode=mode)

    def judged(item: Item) -> Item:
        if isinstance(item, ReadIssue):
            return judge(item)
        if isinstance(item, LazyDocument):
            return replace(item, parse=lambda: judge(item.read()))
        # hashed first: an unchanged document is not searched for secrets again
        content = content_hash(item)
        return LazyDocument(item.key, content, lambda: judge(replace(item, source_hash=content)))

    def scan() -> Iterator[Item]:
        yield from map(judged, source.scan())

    return replace(source, scan=scan, judged=f"secrets/{VERSION} {mode}")


def _judged(item: Document | ReadIssue, *, mode: str) -> Document | ReadIssue:
    if isinstance(item, ReadIssue):
        return replace(item, where=redacted(item.where), reason=redacted(item.reason))
    fields = {name: value for name in ("text", *_LABELS, *_KEYS) if (value := getattr(item, name))}
    hits = [(name, secret) for name, value in fields.items() for secret in secrets_in(value)]
    if not hits:
        return item
    name, first = hits[0]
    line = 1 + item.text.count("\n", 0, first.start)
    location = f"line {line}" if name == "text" else f"its {name}"
    more = f" and {len(hits) - 1} more" if len(hits) > 1 else ""
    label = f"{first.kind} in {location}{more}"

    where = redacted(item.path or item.document_id)
    withdrawn = partial(ReadIssue, where, failed=False, key=item.key, withdrawn=True)
    # tests, examples and pages show secrets; other code has one to open something
    path = item.path or ""
    shows = item.corpus != "code" or is_test(path) or _EXAMPLES.search(path)
    if mode == "skip" or (mode == "auto" and not shows):
        return withdrawn(f"holds a secret ({label}): left out; --secrets redact or allow takes it")
    cleaned: dict[str, Any] = {name: redacted(value) for name, value in fields.items()}
    for field in fields.keys() - {"text"}:
        for _, secret in hits:  # a field may end within one, if a commit's subject is truncated
            head = re.escape(secret.value[: max(8, len(secret.value) // 3)])
            mark = f"[secret: {secret.kind}]"
            cleaned[field] = re.sub(rf"{head}[\w+/=.~-]*", mark, cleaned[field])
    for name in _KEYS:
        if cleaned.pop(name, None) != fields.get(name):
            why = f"its {name} holds a secret ({label}): left out; --secrets allow takes it"
            return withdrawn(why)
    note = "; ".join(filter(None, (cleaned.get("note"), f"secrets redacted: {label}")))
    try:
        json.loads(cleaned["metadata"])
    except (KeyError, ValueError):  # the mark of a key without its end can replace quotes
        cleaned["metadata"] = "{}"
    return replace(item, **cleaned | {"note": note})
