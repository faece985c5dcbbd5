"""Questions and relevant files from a git history: commits that close an issue.

The question is the issue, or the commit's text about it; the relevant files are those that the
commit changed and that its parent has (as in Jimenez et al., SWE-bench, ICLR 2024, for agents).
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from operators.errors import CrosscorpusError
from operators.foundation.closed_issues import REFERENCE, closed_issues
from operators.foundation.sanitize import shown_path
from operators.signals.secondary import is_test
from operators.sources.also import kind_of, reads_as_prose
from operators.sources.git.commit_log import Commit, own_text, read_commits
from operators.sources.git.git_process import GitError
from operators.sources.git.repository import Repository, cut_commits, origin_url, parse_origin
from operators.sources.git.snapshots import ADDED, Change, changes
from operators.sources.github.issue_texts import IssueTexts

_REVERT = re.compile(r"(?:revert|reapply)\b", re.IGNORECASE)
_OTHER_NUMBER = re.compile(
    r"\s*\(#\d+\)|(?:\b(?:and|or|refs?|see|also)\b:?\s*)*(?<!\w)#\d+\b", re.I
)
_EMPTY = re.compile(r"\s*[(\[][\s,;:]*[)\]]")
_TRAILER = re.compile(r"[A-Za-z-]+-by: ")
_TOLD = re.compile(
    r"(?:^|/)(?:change(?:s|log)?|news|history|release[-_]?notes|authors|contributors|credits)"
    r"(?:\.\w+)?$|(?:^|/)(?:changelog(?:\.d)?|changes|newsfragments|news)/",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class FixedIssue:
    """A question whose answer is known.

    Attributes:
        number: of the issue.
        text: the question.
        commit: the one that closed the issue.
        parent: the commit before, whose tree has the fault.
        files: the relevant paths, at the parent.
        corpora: where ingestion puts them.
    """

    number: int
    text: str
    commit: str
    parent: str
    files: tuple[str, ...]
    corpora: tuple[str, ...]


@dataclass
class FixedIssues:
    """The questions of a history, newest fix first, and why other closing commits have none."""

    found: list[FixedIssue] = field(default_factory=list)
    commits: int = 0
    skipped: Counter[str] = field(default_factory=Counter)


def what_it_says(commit: Commit) -> str:
    """The message of a commit without references to issues, and without its trailers.

    Empty where nothing is left.
    """
    message = own_text(commit.message) if len(commit.parents) > 1 else commit.message
    cleaned = _EMPTY.sub("", _OTHER_NUMBER.sub("", REFERENCE.sub("", message)))
    lines = (line.strip() for line in cleaned.splitlines() if not _TRAILER.match(line))
    kept = (line.rstrip(" ,;:-(") for line in lines if re.search(r"\w", line))
    return "\n".join(kept).lstrip(" ,;:.-")


def fixed_issues(
    repository: Repository, *, most_files: int, issues: IssueTexts | None = None
) -> FixedIssues:
    """The issues that the history of ``repository`` closed, each at the first commit that did.

    Args:
        repository: references may say its ``name``, or that of ``origin``.
        most_files: a commit that touches more files outside tests is left out; changelogs and what
            is no text don't count.
        issues: the texts of issues; None: what the commit says is the question.

    Raises:
        GitError: git refuses, or the clone is shallow.
        CrosscorpusError: ``issues`` are of other repositories, or no commit gave a question.
    """
    if cut_commits(repository.root):
        raise GitError(
            f"{repository.root} is a shallow clone, which lacks the commits before: "
            "git fetch --unshallow brings them"
        )
    names = _names(repository)
    texts = None if issues is None else _own(issues, names)
    result, seen, closing = FixedIssues(), set[int](), list[Commit]()
    for commit in read_commits(repository, lambda commit, path, content: None):
        result.commits += 1
        if REFERENCE.search(commit.message):
            closing.append(commit)
    for commit in reversed(closing):
        for one in _questions(repository, commit, names, texts, most_files, seen, result.skipped):
            result.found.append(one)
    result.found.reverse()
    if not result.found:
        raise CrosscorpusError(_nothing(repository, result))
    return result


def _names(repository: Repository) -> list[str]:
    """What the repository is called, in lower case; first as it is ingested."""
    origin, _ = parse_origin(origin_url(repository.root))
    return [name.lower() for name in (repository.name, origin) if name]


def _own(issues: IssueTexts, names: Sequence[str]) -> dict[int, str]:
    """The texts of the issues of the repository, or of an unnamed one."""
    own = {number: text for (name, number), text in issues.items() if name in ("", *names)}
    if not own:
        name = next(name for name, _ in issues)
        raise CrosscorpusError(
            f"the issues are of {name}, and the repository is {names[0]}: --repo {name} says that "
            "it is the same"
        )
    return own


def _questions(
    repository: Repository,
    commit: Commit,
    names: Collection[str],
    texts: Mapping[int, str] | None,
    most_files: int,
    seen: set[int],
    skipped: Counter[str],
) -> Iterator[FixedIssue]:
    """The questions of one commit, or a count in ``skipped`` of why there is none."""
    numbers, elsewhere = closed_issues(commit.message, names)
    if not numbers:
        skipped["close an issue of another repository"] += elsewhere
        return
    new = [number for number in numbers if number not in seen]
    questions = {number: texts.get(number, "") for number in new} if texts is not None else {}
    if texts is None and new:
        questions = {new[0]: what_it_says(commit)}
    questions = {number: text for number, text in questions.items() if text}
    touched, files = [], list[str]()
    if commit.parents:
        touched = [
            one for one in changes(repository, commit.parents[0], commit.commit) if _counts(one)
        ]
        files = [shown_path(one.path) for one in touched if one.status != ADDED]
    if why := (
        ("are the first commit" if not commit.parents else None)
        or ("revert another commit" if _REVERT.match(commit.subject) else None)
        or ("close what an earlier one closed" if not new else None)
        or ("say nothing but the number" if not questions and texts is None else None)
        or ("close an issue that the files lack" if not questions else None)
        or (f"touch more than {most_files} files" if len(touched) > most_files else None)
        or ("change no text that was there before" if not files else None)
    ):
        skipped[why] += 1
        return
    seen.update(numbers)
    corpora = {"docs" if reads_as_prose(path, {}) else "code" for path in files}
    for number, text in questions.items():
        yield FixedIssue(
            number=number,
            text=text,
            commit=commit.commit,
            parent=commit.parents[0],
            files=tuple(files),
            corpora=tuple(sorted(corpora)),
        )


def _counts(change: Change) -> bool:
    """Whether the file is a text outside tests that is no list of changes."""
    path = shown_path(change.path)
    plain = not re.search(r"[\t\r\n]|^\s|\s$", path)
    return bool(plain and kind_of(path, {}) and not is_test(path) and not _TOLD.search(path))


def _nothing(repository: Repository, result: FixedIssues) -> str:
    why = f"; {skips}" if (skips := told_skips(result.skipped)) else ""
    return (
        f"no commit of {repository.root} gives a question ({result.commits} commits read{why}): "
        "give a repository with commits that say `fixes #12` and change a few files"
    )


def told_skips(skipped: Mapping[str, int]) -> str:
    """Why commits were left out, the most frequent reason first.

    >>> told_skips({"revert another commit": 2, "touch more than 5 files": 3})
    '3 touch more than 5 files, 2 revert another commit'
    """
    ordered = sorted(skipped.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{count} {why}" for why, count in ordered if count)
