"""Secrets in what is read: keys and tokens that whoever asks a question should not be given.

Only well-known forms count, each with a mark of its own (a prefix, a header), after the public
lists of GitHub's secret scanning and of gitleaks. Entropy is no evidence: hashes, test vectors and
identifiers of code have it too. So a secret of no known form stays, and hardly anything is taken
for one that is none.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from operators.errors import UnknownName, suggest
from operators.sources.protocol import Document, Item, LazyDocument, ReadIssue, Source

MODES = ("skip", "redact", "allow")

VERSION = 1
"""Of the rules: another one makes the next run judge stored documents again."""

_KINDS = {
    "private key": r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:\\[rn]|[\s\"',+\\]|[A-Za-z-]+: [^\n]{0,100}\n){1,40}[A-Za-z0-9+/=]{40}[^-]{0,20000}"
    r"(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?",
    "AWS access key": r"\b(?:AKIA|ASIA)[A-Z2-7]{16}\b",
    "GitHub token": r"\b(?:gh[pousr]_[A-Za-z0-9]{36,251}|github_pat_[A-Za-z0-9_]{80,90})\b",
    "GitLab token": r"\bglpat-[A-Za-z0-9_-]{20,}",
    "Slack token": r"\bxox[abeoprs]-[0-9A-Za-z]{8,}-[0-9A-Za-z-]{10,}"
    r"|https://hooks\.slack\.com/services/T[A-Z0-9]{8,}/B[A-Z0-9]{8,}/[A-Za-z0-9]{20,}",
    "Google API key": r"\bAIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])",
    "Stripe key": r"\b[rs]k_live_[A-Za-z0-9]{20,}",
    "OpenAI or Anthropic key": r"\bsk-(?:proj-|ant-[a-z0-9]+-)?[A-Za-z0-9_-]{40,}",
    "Hugging Face token": r"\bhf_[A-Za-z]{34}\b",
    "package registry token": r"\bnpm_[A-Za-z0-9]{36}\b|\bpypi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{50,}",
    "SendGrid key": r"\bSG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])",
    "Azure storage key": r"\bAccountKey=[A-Za-z0-9+/]{86}==",
    "JSON web token": r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{20,}",
    "password in an address": r"(?<=://)[A-Za-z0-9._%+-]{1,64}:"
    r"(?!(?i:pass|pwd|secret|token|changeme|example|test|user|x{3}|\.{3}|\*))"
    r"[^\s/:@{}<>$\[\]()\"'`\\]{8,128}@(?!localhost|127\.|host|example|(?:[\w-]+\.)*example\.)"
    r"[\w.-]+\.[A-Za-z]{2,}",
}
_MARKS = {
    "private key": ("PRIVATE KEY",),
    "AWS access key": ("AKIA", "ASIA"),
    "GitHub token": ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
    "GitLab token": ("glpat-",),
    "Slack token": ("xox", "hooks.slack.com"),
    "Google API key": ("AIza",),
    "Stripe key": ("k_live_",),
    "OpenAI or Anthropic key": ("sk-",),
    "Hugging Face token": ("hf_",),
    "package registry token": ("npm_", "pypi-A"),
    "SendGrid key": ("SG.",),
    "Azure storage key": ("AccountKey=",),
    "JSON web token": ("eyJ",),
    "password in an address": ("://",),
}
"""What every secret of a kind has: most texts have none of it, and are looked at no further."""

_FORMS = {kind: re.compile(form) for kind, form in _KINDS.items()}


def found_secrets(text: str) -> list[tuple[str, int]]:
    """The kind of each secret in ``text`` and its line, from 1.

    >>> found_secrets("key:\\n  AKIA" + "Q3EGB7VFTOWXYZ5M")
    [('AWS access key', 2)]
    """
    found = [
        (match.start(), kind) for kind in _kinds_of(text) for match in _FORMS[kind].finditer(text)
    ]
    return [(kind, 1 + text.count("\n", 0, start)) for start, kind in sorted(found)]


def redacted(text: str) -> str:
    """``text`` with ``[secret: KIND]`` in place of each secret; it keeps its number of lines."""
    for kind in _kinds_of(text):

        def mark(match: re.Match[str], kind: str = kind) -> str:
            return f"[secret: {kind}]" + "\n" * match[0].count("\n")

        text = _FORMS[kind].sub(mark, text)
    return text


def _kinds_of(text: str) -> list[str]:
    return [kind for kind, marks in _MARKS.items() if any(mark in text for mark in marks)]


def without_secrets(source: Source, mode: str = "skip") -> Source:
    """``source`` without documents that hold a secret in text, title or metadata.

    Args:
        source: what to read.
        mode: ``skip`` leaves such a document out, and an issue of the scan says why; ``redact``
            takes it with a mark in place of each secret; ``allow`` takes it as it is.

    Raises:
        UnknownName: no such mode.
    """
    if mode not in MODES:
        raise UnknownName(f"unknown way with secrets {mode!r}{suggest(mode, MODES)}")
    if mode == "allow":
        return source
    judge = partial(_judged, redact=mode == "redact")

    def scan() -> Iterator[Item]:
        for item in source.scan():
            if isinstance(item, LazyDocument):
                yield replace(item, read=partial(_read, item.read, judge))
            else:
                yield judge(item)

    return replace(source, scan=scan, judged=f"secrets/{VERSION} {mode}")


def _read(
    read: Callable[[], Document | ReadIssue],
    judge: Callable[[Document | ReadIssue], Document | ReadIssue],
) -> Document | ReadIssue:
    return judge(read())


def _judged(item: Document | ReadIssue, *, redact: bool) -> Document | ReadIssue:
    if isinstance(item, ReadIssue):
        return item
    found = found_secrets("\n".join([item.text, item.title or "", item.metadata]))
    if not found:
        return item
    kind, line = found[0]
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    said = f"{kind} in line {line}{more}"
    if redact:
        note = "; ".join(filter(None, (item.note, f"secrets redacted: {said}")))
        title = item.title and redacted(item.title)
        return replace(
            item, text=redacted(item.text), title=title, note=note, metadata=redacted(item.metadata)
        )
    where = item.path or item.document_id
    why = f"holds a secret ({said}): left out; --secrets redact or allow takes it"
    return ReadIssue(where, why, failed=False, key=item.key, withdrawn=True)
