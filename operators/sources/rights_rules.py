"""Who may see a document: its source decides it, or a rule by corpus, repository and path.

A file of rules:

    unmarked: deny            # documents without rights; `everyone` opens them
    rules:                    # the last matching rule wins
      - {allow: everyone, repo: acme/handbook}
      - {allow: [hr, ann], corpus: docs, path: "payroll/"}

``repo`` is a name, with ``*`` for any characters; ``path`` is a pattern of ``.gitignore``. A
document of the generic form states it itself in ``allowed``, which overrides the rules.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Literal

import polars as pl
import yaml

from operators.errors import CrosscorpusError, check_known
from operators.foundation.principals import ALLOWED, principals
from operators.sources.ignore_patterns import ignore_patterns

LARGEST = 1_000_000
"""Maximum characters of a rules file."""

_KEYS = ("allow", "corpus", "repo", "path")


@dataclass(frozen=True)
class Rule:
    """Lets ``allow`` see the documents that match all its conditions."""

    allow: tuple[str, ...]
    corpus: str | None = None
    repo: str | None = None
    path: str | None = None
    inside: Callable[[bytes], bool] | None = None  # whether a path is one of ``path``

    def matches(self, corpus: str, repo: str, path: str | None) -> bool:
        """Whether it applies to such a document; a document without a path matches no path."""
        return (
            self.corpus in (None, corpus)
            and (self.repo is None or fnmatchcase(repo, self.repo))
            and (self.inside is None or (path is not None and self.inside(path.encode())))
        )

    def __str__(self) -> str:
        """The rule as a line of the file."""
        named = {"allow": list(self.allow), "corpus": self.corpus, "repo": self.repo}
        fields = {key: value for key, value in {**named, "path": self.path}.items() if value}
        return str(
            yaml.safe_dump(fields, default_flow_style=True, width=10_000, sort_keys=False)
        ).strip()


@dataclass(frozen=True)
class Rights:
    """The rules of a collection, and the default for unmarked documents."""

    rules: tuple[Rule, ...] = ()
    unmarked: Literal["deny", "everyone"] = "deny"
    text: str = ""  # the file
    otherwise: tuple[str, ...] | None = None  # who may see what no rule matches; None: unmarked

    def rule_of(self, corpus: str, repo: str, path: str | None) -> int | None:
        """The index of the rule that applies to a document; None: no rule matches."""
        indexes = reversed(range(len(self.rules)))
        return next((n for n in indexes if self.rules[n].matches(corpus, repo, path)), None)


def read_rights(text: str) -> Rights:
    """The rules in ``text``, a YAML document.

    Raises:
        CrosscorpusError: a rule is invalid; says which, and what is valid.
    """
    if len(text) > LARGEST:
        raise CrosscorpusError(f"a file of rights has at most {LARGEST:,} characters: name groups")
    try:
        if double := _doubled(yaml.compose(text, yaml.SafeLoader)):
            raise CrosscorpusError(f"the rights have the key {double!r} twice in one mapping")
        parsed = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise CrosscorpusError(f"the rights are no YAML: {' '.join(str(error).split())}") from error
    if not isinstance(parsed, dict) or not isinstance(parsed.get("rules", []), list):
        raise CrosscorpusError("rights are a mapping with the list `rules`")
    for name in parsed:
        check_known("part of the rights", str(name), ("rules", "unmarked"))
    unmarked = parsed.get("unmarked", "deny")
    if unmarked not in ("deny", "everyone"):
        raise CrosscorpusError(f"unmarked is `deny` or `everyone`, not {unmarked!r}")
    return Rights(
        tuple(_rule(n, one) for n, one in enumerate(parsed.get("rules") or (), 1)), unmarked, text
    )


def _doubled(node: yaml.Node | None) -> str | None:
    """A key that a mapping in ``node`` has twice; of two, the last would silently count."""
    if isinstance(node, yaml.MappingNode):
        keys = [str(key.value) for key, _ in node.value]
        below = [_doubled(value) for _, value in node.value]
        return next((key for key in keys if keys.count(key) > 1), next(filter(None, below), None))
    if isinstance(node, yaml.SequenceNode):
        return next(filter(None, map(_doubled, node.value)), None)
    return None


def _rule(number: int, entry: Any) -> Rule:
    try:
        if not isinstance(entry, Mapping) or "allow" not in entry:
            raise ValueError("it needs `allow`: everyone, or a list of users and groups")
        for name in entry:
            check_known("part of a rule", str(name), _KEYS)
        texts = {key: entry[key] for key in _KEYS[1:] if key in entry}
        for key, value in texts.items():
            if not isinstance(value, str) or not value.strip():
                raise ValueError(f"{key} is a text, not {value!r}")
        path = texts.get("path")
        if path is not None and (path.startswith(("!", "#")) or "\n" in path):
            raise ValueError(f"path is one pattern, not {path!r}")
        inside = None if path is None else ignore_patterns(path.encode())
        return Rule(tuple(principals(entry["allow"])), inside=inside, **texts)
    except (ValueError, CrosscorpusError) as error:
        raise CrosscorpusError(f"rule {number} of the rights: {error}") from error


def with_rights(documents: pl.DataFrame, rights: Rights) -> pl.DataFrame:
    """``documents`` (``DOCUMENTS``) with their rights, which are moved out of the metadata.

    Adds ``allowed`` (List(String), null if unmarked) and ``allowed_by`` (``source``, or the number
    of the rule from 1).

    Raises:
        CrosscorpusError: a source states the rights in an invalid form.
    """
    rows = documents.select("corpus", "repo", "path", "document_id", "metadata").iter_rows()
    allowed: list[list[str] | None] = []
    by: list[str | None] = []
    kept: list[str | None] = []
    for corpus, repo, path, document_id, metadata in rows:
        known = json.loads(metadata) if f'"{ALLOWED}"' in (metadata or "") else {}
        if ALLOWED in known:
            try:
                stated = principals(known.pop(ALLOWED))
            except ValueError as error:
                raise CrosscorpusError(f"{document_id}: `{ALLOWED}`: {error}") from error
            metadata = json.dumps(known, sort_keys=True, ensure_ascii=False)
            allowed.append(stated)
            by.append("source")
        else:
            number = rights.rule_of(corpus, repo, path)
            named = rights.otherwise if number is None else rights.rules[number].allow
            allowed.append(None if named is None else list(named))
            by.append(None if number is None else str(number + 1))
        kept.append(metadata)
    return documents.with_columns(
        pl.Series("metadata", kept, dtype=pl.String),
        pl.Series("allowed", allowed, dtype=pl.List(pl.String)),
        pl.Series("allowed_by", by, dtype=pl.String),
    )
