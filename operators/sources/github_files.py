"""Exports of GitHub's listings: what belongs together is spread over pages and files.

So the items are sorted into a temporary file first, and then built number by number: memory holds a
few dozen bytes an item, whatever the size of the export.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import IO, NamedTuple

from operators.postgres.sync_state import SyncItem
from operators.sources.documents import SourceError
from operators.sources.github_items import BadItem, repository_of, sync_item
from operators.sources.items import Fault, Item
from operators.sources.json_stream import Located, file_objects

Build = Callable[[str, int, Sequence[SyncItem]], Iterable[Item]]
"""Takes the repository's name, a number, and the items of that number; returns its documents."""


class _Place(NamedTuple):
    updated_at: datetime
    offset: int
    length: int


def exported(
    paths: Sequence[Path | str],
    repo: str | None,
    kinds: Sequence[str],
    build: Build,
    elsewhere: str,
) -> tuple[Callable[[], Iterator[Item]], Callable[[], float]]:
    """A scan over exported files and its progress, for a :class:`operators.sources.items.Source`.

    Args:
        paths: the files.
        repo: the name to store the documents under, or None.
        kinds: of the items that are taken; another kind is a fault.
        build: makes the documents of one number.
        elsewhere: the command that takes the other kinds.

    Raises:
        SourceError: a path is not a readable file; or, while scanning, one name is given for
            items of several repositories.
    """
    files = [Path(path) for path in paths]
    for file in files:
        if not file.is_file():
            what = "is not a file" if file.exists() else "does not exist"
            raise SourceError(f"{file} {what}; give files of JSON, plain or gzipped")
    size = sum(file.stat().st_size for file in files) or 1
    progress = 0.0

    def scan() -> Iterator[Item]:
        nonlocal progress
        progress = before = 0.0
        with tempfile.TemporaryFile() as spool:
            places: dict[tuple[str, int, str, int], _Place] = {}
            for file in files:
                try:
                    with file.open("rb") as raw:
                        for found in file_objects(file, raw):
                            progress = 0.5 * (before + raw.tell()) / size
                            fault = _take(found, repo, kinds, elsewhere, spool, places)
                            if fault:
                                yield fault
                except OSError as exc:
                    raise SourceError(f"{file}: {exc.strerror or exc}") from exc
                before += file.stat().st_size
            if repo is not None:
                _check_one_repository(places)
            done = 0
            for name, number, items in _together(spool, places):
                done += len(items)
                progress = 0.5 + 0.5 * done / len(places)
                yield from build(name if repo is None else repo, number, items)

    return scan, lambda: progress


def _take(
    found: Located | Fault,
    repo: str | None,
    kinds: Sequence[str],
    elsewhere: str,
    spool: IO[bytes],
    places: dict[tuple[str, int, str, int], _Place],
) -> Fault | None:
    """Sort in one item; what is wrong with it is returned."""
    if isinstance(found, Fault):
        return found
    try:
        item = sync_item(found.value)
    except BadItem as exc:
        return Fault(found.where, str(exc))
    if item is None:
        return None
    name = repository_of(found.value) or repo
    if item.kind not in kinds:
        article = "an" if item.kind.startswith("i") else "a"
        said = f"{article} {item.kind.replace('_', ' ')}: {elsewhere} takes it"
        return Fault(found.where, said)
    if name is None:
        return Fault(found.where, "it does not say its repository: name one (--repo)")
    key = (name, item.number, item.kind, item.item_id)
    held = places.get(key)
    if held is None or held.updated_at <= item.updated_at:
        offset = spool.seek(0, 2)
        raw = json.dumps([item.content_hash, item.data]).encode()
        spool.write(raw)
        places[key] = _Place(item.updated_at, offset, len(raw))
    return None


def _check_one_repository(places: Iterable[tuple[str, int, str, int]]) -> None:
    names = sorted({name.lower() for name, *_ in places})
    if len(names) > 1:
        raise SourceError(
            f"the files are of {' and '.join(names[:2])}: leave out --repo, or give one at a time"
        )


def _together(
    spool: IO[bytes],
    places: dict[tuple[str, int, str, int], _Place],
) -> Iterator[tuple[str, int, list[SyncItem]]]:
    """Repository, number and the items of each number, in order."""
    items: list[SyncItem] = []
    group: tuple[str, int] | None = None
    for key in sorted(places):
        name, number, kind, item_id = key
        if group is not None and group != (name, number):
            yield *group, items
            items = []
        group = (name, number)
        place = places[key]
        spool.seek(place.offset)
        digest, data = json.loads(spool.read(place.length))
        items.append(SyncItem(kind, item_id, number, place.updated_at, digest, data))
    if group is not None:
        yield *group, items
