"""Sections of public documents in many versions, and which of them are one topic.

The history of a repository says it: an author who writes an anchor (``## Errors {#errors}``, or a
label ``.. _errors:`` above the heading) names the section, and keeps the name where the heading,
the place and the text change. Two sections of consecutive versions are one topic if, in this order:

1. they have the same anchor in the same file (git says what was renamed);
2. they are under the same headings in the same file;
3. they have the same anchor in two files;
4. at least ``SAME_TEXT`` of their lines are the same in the same file.

Each rule takes only sections that the rules before it left, and one section for one; anchors and
headings count only where one section of the version has them. So a section whose anchor was changed
("RST_STREAM Frame" became "RESET_STREAM Frame") stays one topic if its headings or most of its text
stayed. ``anchors_alone`` leaves out rules 3 and 4, and rule 2 for two sections that have anchors.

That choice moves the numbers both ways. By all rules fewer right joins count as wrong, and there
are more pairs to find that are hard. The worst of ``FORMS`` on 2026-11-27, by ``anchors_alone``
and by all rules:

=========== ============= =============
set         precision     recall
=========== ============= =============
quic        .949 -> .979  .991 -> .984
tls13       .974 -> .989  1.000 -> .987
acme        .986 -> .993  1.000 -> 1.000
mls         .956 -> .982  1.000 -> 1.000
click-docs  .980 -> .991  .992 -> .978
flask-docs  .991 -> .996  .983 -> .982
pytest-docs .978 -> .991  .986 -> .983
=========== ============= =============
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import polars as pl

from operators.sources.formats.headings import Heading, heading_paths, headings, is_text
from operators.sources.git.git_process import git_output
from operators.sources.git.repository import Repository
from operators.sources.git.snapshots import tree_files
from operators.versions.lineage import LINEAGE_DOCUMENTS
from operators.versions.text_sketches import sketch

SAME_TEXT = 0.5
"""The share of the longer section's characters, in whole lines: git's own for a renamed file."""

FORMS = {
    "Heading": "{title}",
    "3.2. Heading": "{number}. {title}",
    "name-05: 3.2 Heading": "{name}-{version}: {number} {title}",
}
"""Titles as sources give them."""

_BEHIND = re.compile(r"\s*\{:?\s*#([\w:.-]+)[^{}]*\}\s*")
"""An anchor behind a heading, or on the line after it."""

_LABEL = re.compile(r"\.\. _`?([^`:]+)`?:|\(([\w:. -]+)\)=")
"""An anchor above a heading, in reStructuredText and in Markdown that is like it."""


class History(NamedTuple):
    """Files of a repository in several versions."""

    name: str
    url: str
    revisions: Mapping[str, str]  # version -> tag, the oldest first
    files: str  # a pattern of their paths


class Section(NamedTuple):
    """A heading, and the lines up to the next one."""

    key: str  # version, path and place in the file
    path: str
    title: str
    number: str  # "3.2"
    under: str  # its heading after those above it
    anchors: frozenset[str]
    text: str  # without the heading and without anchors
    sketch: bytes


class Edition(NamedTuple):
    """The sections of one version."""

    version: str
    date: datetime
    renamed: Mapping[str, str]  # path in the version before -> path in this one
    sections: Sequence[Section]


class Truth(NamedTuple):
    """Which sections are one topic."""

    topics: Mapping[str, str]  # a section's key -> the key of the oldest section of its topic
    unsure: frozenset[str]  # topics that begin or end between versions without an anchor
    steps: Sequence[tuple[str, str]]  # the sections of a topic in two consecutive versions


class Scores(NamedTuple):
    """Shares, each 0 to 1: of pairs found, of pairs to find, and of consecutive sections joined."""

    precision: float
    recall: float
    joined: float


def _draft(
    name: str, url: str, tag: str, last: int, files: str, without: Container[int] = ()
) -> History:
    numbers = [f"{number:02}" for number in range(last + 1) if number not in without]
    return History(name, url, {number: f"{tag}-{number}" for number in numbers}, files)


def _documentation(name: str, url: str, versions: str, files: str) -> History:
    tags = versions.split()
    return History(name, url, dict(zip(tags, tags, strict=True)), files)


HISTORIES = {
    history.name: history
    for history in (
        _draft(
            "quic",
            "https://github.com/quicwg/base-drafts",
            "draft-ietf-quic-transport",
            34,
            r"draft-ietf-quic-(transport|http|recovery|tls)\.md",
        ),
        _draft(
            "tls13",
            "https://github.com/tlswg/tls13-spec",
            "draft-ietf-tls-tls13",
            28,
            r"draft-ietf-tls-tls13\.md",
            without={18},  # a code block that does not end hides nearly all its headings
        ),
        _draft(
            "acme",
            "https://github.com/ietf-wg-acme/acme",
            "draft-ietf-acme-acme",
            18,
            r"draft-ietf-acme-acme\.md",
        ),
        _draft(
            "mls",
            "https://github.com/mlswg/mls-architecture",
            "draft-ietf-mls-architecture",
            15,
            r"draft-ietf-mls-architecture\.md",
        ),
        _documentation(
            "click-docs",
            "https://github.com/pallets/click",
            "2.0 3.0 4.0 5.0 6.0 7.0 8.0.0 8.1.0 8.2.0 8.3.0",
            r"docs/.*\.(rst|md)",
        ),
        _documentation(
            "flask-docs",
            "https://github.com/pallets/flask",
            "0.8 0.9 0.10 0.11 0.12 1.0 1.1.0 2.0.0 2.2.0 3.0.0",
            r"docs/.*\.(rst|md)",
        ),
        _documentation(
            "pytest-docs",
            "https://github.com/pytest-dev/pytest",
            "3.0.0 3.6.0 4.0.0 4.6.0 5.0.0 5.4.0 6.0.0 6.2.0 7.0.0 8.0.0",
            r"doc/en/.*\.rst",
        ),
    )
}
"""Drafts of four working groups, and the documentation of three projects in ten versions each."""


def editions(clone: Path, history: History) -> list[Edition]:
    """The versions of ``history``, the oldest first.

    Raises:
        GitError: git refuses, or the clone lacks a tag.
    """
    repository = Repository(clone, "HEAD", history.name, None, ())
    wanted = re.compile(history.files)
    made: list[Edition] = []
    before: str | None = None
    for version, tag in history.revisions.items():
        files = tree_files(repository, tag, lambda path: bool(wanted.fullmatch(path)))
        sections = [
            section
            for path, content in files
            for section in sections_of(
                content.decode("utf-8", "replace"), path.decode("utf-8", "replace"), version
            )
        ]
        date = datetime.fromisoformat(git_output(clone, "log", "-1", "--format=%cI", tag))
        renamed: Mapping[str, str] = _renamed(clone, before, tag) if before else {}
        made.append(Edition(version, date, renamed, sections))
        before = tag
    return made


def _renamed(clone: Path, old: str, new: str) -> dict[str, str]:
    """Path before -> path after: by git, or the same name with another ending (a.rst -> a.md)."""
    listing = ("diff-tree", "-r", "-z", "-M50%", "-l0", "--name-status", old, new)
    fields = iter(git_output(clone, *listing).split("\0"))
    renamed: dict[str, str] = {}
    gone: dict[str, str] = {}
    added: dict[str, str] = {}
    for status in fields:
        if status.startswith("R"):
            before, after = next(fields), next(fields)
            renamed[before] = after
        elif status:
            path = next(fields)
            of = {"D": gone, "A": added}.get(status, {})
            of[path.rpartition(".")[0]] = path
    return renamed | {gone[stem]: added[stem] for stem in gone.keys() & added.keys()}


def sections_of(text: str, path: str, version: str) -> list[Section]:
    """The sections of one file; what is before the first heading is none."""
    lines = text.split("\n")
    outline = headings(text, path)
    titles = [_BEHIND.sub("", heading.text) for heading in outline]
    bare = [one._replace(text=title) for one, title in zip(outline, titles, strict=True)]
    ends = [*(heading.line for heading in outline), len(lines)][1:]
    rows = zip(outline, bare, _numbers(bare), heading_paths(bare, ""), ends, strict=True)
    made = []
    for place, (heading, named, number, under, end) in enumerate(rows):
        after = lines[heading.line + 1 : end]
        body = "\n".join(line for line in after if not _is_anchor(line))
        made.append(
            Section(
                f"{version}/{path}#{place:03}",
                path,
                named.text,
                number,
                under,
                _anchors(lines, heading),
                body,
                sketch(f"{named.text}\n{body}").astype("<u4").tobytes(),
            )
        )
    return made


def _numbers(outline: Sequence[Heading]) -> Iterator[str]:
    """The number of each section: "2", then "2.1"."""
    above: list[tuple[int, int]] = []
    for heading in outline:
        place = 0
        while above and above[-1][0] >= heading.level:
            place = above.pop()[1]
        above.append((heading.level, place + 1))
        yield ".".join(str(number) for _, number in above)


def _anchors(lines: Sequence[str], heading: Heading) -> frozenset[str]:
    """The anchors on the heading's line, on the line after it, and those right above it."""
    own = _BEHIND.search(heading.text)
    below = _BEHIND.fullmatch(" ".join(lines[heading.line + 1 : heading.line + 2]))
    names = [match[1] for match in (own, below) if match]
    for line in reversed(lines[: heading.line]):
        if label := _LABEL.fullmatch(line.strip()):
            names.append(label[1] or label[2])
        elif is_text(line):
            break
    return frozenset(re.sub(r"[\s_]+", "-", name.strip()).lower() for name in names)


def _is_anchor(line: str) -> bool:
    return bool(_LABEL.fullmatch(line.strip()) or _BEHIND.fullmatch(line))


def truth(of: Sequence[Edition], *, anchors_alone: bool = False) -> Truth:
    """The topics of all versions; the module says by which rules."""
    topics = {section.key: section.key for edition in of for section in edition.sections}
    unsure, steps = set(), []
    for old, new in pairwise(of):
        pairs = same_topic(old.sections, new.sections, new.renamed, anchors_alone=anchors_alone)
        topics |= {later.key: topics[earlier.key] for earlier, later in pairs}
        steps += [(earlier.key, later.key) for earlier, later in pairs]
        going_on = {section.key for pair in pairs for section in pair}
        unsure |= {
            topics[section.key]
            for section in (*old.sections, *new.sections)
            if section.key not in going_on and not section.anchors
        }
    return Truth(topics, frozenset(unsure), steps)


def same_topic(
    old: Sequence[Section],
    new: Sequence[Section],
    renamed: Mapping[str, str],
    *,
    anchors_alone: bool = False,
) -> list[tuple[Section, Section]]:
    """The sections of two consecutive versions that are one topic, the older one first."""

    def path(section: Section) -> str:
        return renamed.get(section.path, section.path)

    taken: set[str] = set()
    moved = [section._replace(path=path(section)) for section in old]
    rules: list[Callable[[], Iterable[tuple[Section, Section]]]] = [
        lambda: _alone(moved, new, lambda one: [(one.path, name) for name in sorted(one.anchors)]),
        lambda: _alone(moved, new, lambda one: [(one.path, one.under)]),
        lambda: _alone(moved, new, lambda one: sorted(one.anchors)),
        lambda: _alike(
            [o for o in moved if o.key not in taken], [n for n in new if n.key not in taken]
        ),
    ]
    made = []
    for rule in rules[:2] if anchors_alone else rules:
        for one, other in rule():
            anchored_anew = one.anchors and other.anchors and not one.anchors & other.anchors
            if {one.key, other.key} & taken or (anchors_alone and anchored_anew):
                continue
            taken |= {one.key, other.key}
            made.append((one, other))
    return made


def _alone(
    old: Iterable[Section], new: Iterable[Section], names: Callable[[Section], Sequence[Hashable]]
) -> list[tuple[Section, Section]]:
    """The sections that share a name which no other section of their versions has."""
    first, second = _by_own_name(old, names), _by_own_name(new, names)
    return [(section, second[name]) for name, section in first.items() if name in second]


def _by_own_name(
    of: Iterable[Section], names: Callable[[Section], Sequence[Hashable]]
) -> dict[Hashable, Section]:
    holders: dict[Hashable, list[Section]] = defaultdict(list)
    for section in of:
        for name in names(section):
            holders[name].append(section)
    return {name: sections[0] for name, sections in holders.items() if len(sections) == 1}


def _alike(old: Sequence[Section], new: Sequence[Section]) -> list[tuple[Section, Section]]:
    """The sections of one file that share ``SAME_TEXT``, the most alike first."""
    pairs = [
        (same_text(one.text, other.text), one, other)
        for one in old
        for other in new
        if one.path == other.path
    ]
    enough = [row for row in pairs if row[0] >= SAME_TEXT]
    return [(one, other) for _, one, other in sorted(enough, key=lambda row: -row[0])]


def same_text(one: str, other: str) -> float:
    """The share of the longer text, 0 to 1, in characters of lines that both have.

    >>> same_text("a line\\nof two", "a line\\nof six")
    0.5
    """
    counts = [
        Counter(line.strip() for line in text.split("\n") if is_text(line)) for text in (one, other)
    ]
    sizes = [sum(len(line) * count for line, count in of.items()) for of in counts]
    both = sum(len(line) * count for line, count in (counts[0] & counts[1]).items())
    return both / max(*sizes, 1)


def documents(of: Sequence[Edition], form: str, *, identifiers: bool = True) -> pl.DataFrame:
    """The sections as lineages are found from, with titles of ``form``, one of ``FORMS``.

    Without ``identifiers`` they are opaque, and do not say the order of sections.
    """
    rows: list[dict[str, Any]] = []
    for edition in of:
        for section in edition.sections:
            name = PurePosixPath(section.path).stem
            titled = {"title": section.title, "number": section.number, "name": name}
            rows.append(
                {
                    "document_key": section.key,
                    "repo": "",
                    "document_id": section.key
                    if identifiers
                    else str(len(rows) * 7919 % 1_000_003),
                    "path": section.path,
                    "title": FORMS[form].format(**titled, version=edition.version),
                    "version": edition.version,
                    "doc_date": edition.date,
                    "date_source": "explicit",
                    "sketch": section.sketch,
                }
            )
    return pl.DataFrame(rows, schema=LINEAGE_DOCUMENTS)


def by_path_and_heading(of: Sequence[Edition]) -> pl.DataFrame:
    """The naive answer, ``document_key`` and ``lineage_id``: one path and heading is one topic."""
    rows = [(one.key, f"{one.path}|{one.title}") for edition in of for one in edition.sections]
    return pl.DataFrame(rows, schema=["document_key", "lineage_id"], orient="row")


def judge(found: pl.DataFrame, right: Truth) -> Scores:
    """How well ``found`` (document_key, lineage_id) has the topics.

    A pair of sections of two topics is wrong, and not judged where both topics are unsure: nobody
    says whether the one goes on as the other.
    """
    of = dict(found.select("document_key", "lineage_id").iter_rows())
    lineages: dict[str, Counter[str]] = defaultdict(Counter)
    for key, lineage in of.items():
        lineages[lineage][right.topics[key]] += 1
    same = wrong = 0
    for topics in lineages.values():
        same += sum(_pairs(count) for count in topics.values())
        wrong += _pairs(topics.total()) - sum(_pairs(count) for count in topics.values())
        unsure = [count for topic, count in topics.items() if topic in right.unsure]
        wrong -= _pairs(sum(unsure)) - sum(_pairs(count) for count in unsure)
    to_find = sum(_pairs(count) for count in Counter(right.topics.values()).values())
    joined = sum(one in of and of[one] == of.get(other) for one, other in right.steps)
    return Scores(
        same / max(same + wrong, 1), same / max(to_find, 1), joined / max(len(right.steps), 1)
    )


def _pairs(count: int) -> int:
    return count * (count - 1) // 2
