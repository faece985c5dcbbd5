"""Exports of GitHub's listings: what belongs together is spread over pages and files.

So the items are sorted into a scratch file first, and then built number by number: memory holds
those of one number, whatever the size of the export.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import groupby
from pathlib import Path
from typing import Any

from operators.foundation.disk_dict import DiskDict
from operators.postgres.write.sync_state import SyncItem
from operators.sources.formats.json_stream import file_objects
from operators.sources.github.github_records import ISSUE, READER, BadItem, repository_of, sync_item
from operators.sources.jsonl import SourceError, given_file, readable
from operators.sources.protocol import Item, ReadIssue, Source

Build = Callable[[str, int, Sequence[SyncItem]], Iterable[Item]]
"""Takes the repository's name, a number, and the items of that number; returns its documents."""


_Held = tuple[str, SyncItem]
"""The repository of an item, and the item."""


def exported(
    paths: Sequence[Path | str],
    repo: str | None,
    corpus: str,
    kinds: Sequence[str],
    build: Build,
    elsewhere: str,
    *,
    whole: bool,
) -> Source:
    """The source that exported files are.

    Args:
        paths: the files.
        repo: the name to store the documents under, or None.
        corpus: where they belong.
        kinds: of the items that are taken; another kind is a ReadIssue, an issue no failure.
        build: makes the documents of one number.
        elsewhere: the command that takes the other kinds.
        whole: the files are all there is of the repository.

    Raises:
        SourceError: a path is not a readable file; or, while scanning, one name is given for
            items of several repositories.
    """
    files = [given_file(path, "files of JSON, plain or gzipped") for path in paths]
    size = sum(file.stat().st_size for file in files) or 1
    progress = 0.0

    def scan() -> Iterator[Item]:
        nonlocal progress
        progress = before = 0.0
        with closing(DiskDict[_Held]()) as held:
            for file in files:
                with readable(file), file.open("rb") as raw:
                    for where, found in file_objects(file, raw):
                        progress = 0.5 * (before + raw.tell()) / size
                        if refusal := _take(where, found, repo, kinds, elsewhere, held):
                            yield refusal
                before += file.stat().st_size
            if repo is not None:
                _check_one_repository(held)
            done, of = 0, len(held)
            every = (one for _, one in held.starting(b""))
            for (name, number), group in groupby(every, key=lambda one: (one[0], one[1].number)):
                items = [item for _, item in group]
                done += len(items)
                progress = 0.5 + 0.5 * done / of
                yield from build(name if repo is None else repo, number, items)

    scopes = None if repo is None else ((corpus, repo),)
    return Source(READER, scan, scopes, lambda: progress, whole=whole)


def _take(
    where: str,
    found: Any,
    repo: str | None,
    kinds: Sequence[str],
    elsewhere: str,
    held: DiskDict[_Held],
) -> ReadIssue | None:
    """Sort in one item; what is wrong with it is returned."""
    if isinstance(found, ReadIssue):
        return found
    try:
        item = sync_item(found)
    except BadItem as exc:
        return ReadIssue(where, str(exc))
    if item is None:
        return None
    name = repository_of(found) or repo
    if item.kind not in kinds:
        article = "an" if item.kind.startswith("i") else "a"
        said = f"{article} {item.kind.replace('_', ' ')}: {elsewhere} takes it"
        # GitHub lists issues and pull requests together: that is no fault of the file.
        return ReadIssue(where, said, failed=item.kind != ISSUE)
    if name is None:
        return ReadIssue(where, "it does not say its repository: name one (--repo)")
    # In the order of its bytes: by repository, then by number.
    key = f"{name}\0{item.number:020}\0{item.kind}\0{item.item_id:020}".encode()
    before = held.get(key)
    if before is None or before[1].updated_at <= item.updated_at:
        held[key] = (name, item)
    return None


def _check_one_repository(keys: Iterable[bytes]) -> None:
    names = sorted({key.partition(b"\0")[0].decode().lower() for key in keys})
    if len(names) > 1:
        raise SourceError(
            f"the files are of {' and '.join(names[:2])}: leave out --repo, or give one at a time"
        )
