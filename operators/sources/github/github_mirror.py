"""A GitHub repository's reviews and issues, fetched live and kept up to date.

The API's items are stored in the collection (:mod:`operators.postgres.write.sync_state`), and
documents are built from them. So after a change of one comment its whole thread is rebuilt without
requesting the others, which may be years old and on any page.

A listing is read oldest change first, and each request begins where the last page's changes ended
instead of at a page number: pages would shift while it is read, and GitHub ends them after some ten
thousand items. An interrupted run resumes there. No listing shows deletions, so all of it is read
again periodically. A missing item is requested individually before it is deleted.
"""

import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any, NamedTuple

from operators.errors import CrosscorpusError
from operators.foundation.principals import ALLOWED, EVERYONE
from operators.postgres.store import Store
from operators.postgres.write import sync_state
from operators.postgres.write.document_classes import allow_source
from operators.postgres.write.source_ownership import kept_choice, owner_key
from operators.postgres.write.sync_state import ItemKey, SyncItem
from operators.sources.github.github_api import PER_PAGE, Answer, GithubApi, GithubError
from operators.sources.github.github_documents import CORPORA, conversation, review_documents
from operators.sources.github.github_records import (
    COMMENT,
    ISSUE,
    ISSUE_COMMENT,
    PULL,
    READER,
    REVIEW,
    BadItem,
    is_pull,
    repository_of,
    sync_item,
    without_secrets,
)
from operators.sources.github.programs import judged, program_issues
from operators.sources.protocol import Document, Item, ReadIssue, Source, metadata_json
from operators.sources.secrets import VERSION as RULES

SWEEP_DAYS = 7.0
"""After so many days everything is requested again, to detect deletions."""

KEPT = "pull requests' words"
"""The version of the stored items: after a run that stored less, everything is requested again."""

_OVERLAP = timedelta(seconds=300)
"""Changes of this last period are requested again, because a server may show one late."""

_NAME = re.compile(r"(?!\.{1,2}/)[\w.-]{1,100}/(?!\.{1,2}$)[\w.-]{1,100}", re.ASCII)


class _Listing(NamedTuple):
    path: str
    kinds: tuple[str, ...]
    params: tuple[tuple[str, str], ...] = ()


_LISTINGS = {
    "issues": _Listing("issues", (ISSUE, PULL), (("state", "all"),)),
    "review comments": _Listing("pulls/comments", (COMMENT,)),
    "issue comments": _Listing("issues/comments", (ISSUE_COMMENT,)),
}
_ONE = {kind: listing.path for listing in _LISTINGS.values() for kind in listing.kinds}


@dataclass(frozen=True, slots=True)
class Fetched:
    """The progress of fetching: sent after each page."""

    listing: str  # "issues", "review comments", "issue comments", "reviews" or "deleted"
    items: int  # read from it in this run
    requests: int  # made in this run
    until: datetime | None  # time of the last changes read; None: they come in another order


OnFetched = Callable[[Fetched], None]


@dataclass
class Mirror:
    """The state of one repository."""

    source: str  # its name in the collection's state
    repo: str  # the name its documents are stored under
    allowed: list[str] | None = None  # who may see its documents; None: unmarked
    read_issues: list[ReadIssue] = field(default_factory=list)  # also notes for the user


class Found(NamedTuple):
    """A repository: its permanent number, its current name, and who may see it."""

    number: int
    name: str
    visibility: str | None = None  # one of ``VISIBILITIES``; None: the API does not state it


VISIBILITIES = PUBLIC, *_ = "public", "private", "internal"


def find_repository(api: GithubApi, repository: str) -> Found:
    """The repository ``owner/name``; the old name of a renamed one is followed.

    Raises:
        CrosscorpusError: that is no such name.
        GithubError: the API refuses, does not reply, or has no such repository.
    """
    if not _NAME.fullmatch(repository):
        raise CrosscorpusError(f"{repository!r} is not a repository: write OWNER/NAME")
    about = api.get(f"repos/{repository}").body
    if not isinstance(about, dict) or not isinstance(about.get("id"), int):
        raise GithubError(f"{api.url} does not answer as GitHub's API does: is it the API's?")
    name = str(about.get("full_name") or repository)
    return Found(int(about["id"]), name, _visibility(about))


def _visibility(about: Mapping[str, Any]) -> str | None:
    """A repository's visibility by the API; None if it is missing or contradictory."""
    visibility, private = about.get("visibility"), about.get("private")
    if visibility is None and isinstance(private, bool):  # as older servers say it
        visibility = "private" if private else PUBLIC
    agree = private is None or private is (visibility != PUBLIC)
    return str(visibility) if visibility in VISIBILITIES and agree else None


def who_sees(found: Found) -> list[str]:
    """The principals that see a repository: everyone if it is public, else its own group.

    >>> who_sees(Found(1, "org/app", "internal"))
    ['github:org/app']

    Raises:
        GithubError: the API did not say who may see it.
    """
    if found.visibility is None:
        raise GithubError(
            f"who may see {found.name} can't be read: the API says neither `visibility` nor "
            "`private`, or both differ; nothing was fetched (--no-rights leaves it to rules)"
        )
    return [EVERYONE if found.visibility == PUBLIC else f"github:{found.name}"]


def refresh(
    store: Store,
    api: GithubApi,
    repository: str | Found,
    *,
    repo: str | None = None,
    full: bool = False,
    secrets: str | None = None,
    rights: bool | None = None,
    on_fetched: OnFetched | None = None,
    clock: Callable[[], float] = time.time,
) -> Mirror:
    """Fetch the changes since the last run, or everything in the first run.

    Args:
        api: the connection.
        repository: ``owner/name``, or the result of :func:`find_repository` for it.
        repo: the name to store its documents under, fixed by the first run; default: its name then.
        full: request everything, to detect deletions, as is done every ``SWEEP_DAYS`` days.
        secrets: ``allow`` stores items unchanged; else a mark replaces each secret. None: as in an
            earlier run.
        rights: whether the documents get the rights of the repository (:func:`who_sees`). Stored
            documents get them before anything is fetched. None: as in an earlier run, at first
            not.
        on_fetched: called after each page with the progress.
        clock: seconds since 1970.

    Raises:
        GithubError: the API refuses or does not reply. Fetched items are kept.
        CrosscorpusError: the name is taken by another repository.
    """
    remote = repository if isinstance(repository, Found) else find_repository(api, repository)
    if rights:
        who_sees(remote)  # or an error before anything is stored
    mirror = _mirror(store, api, remote.number, remote.name, repo)
    owner = owner_key(READER, *min(_scopes(mirror)))
    rights_choice = None if rights is None else "visibility" if rights else "none"
    if kept_choice(store, owner, "rights", rights_choice) == "visibility":
        mirror.allowed = who_sees(remote)
        allow_source(store, READER, _scopes(mirror), mirror.allowed)
    allow = (secrets or kept_choice(store, owner, "secrets", None)) == "allow"
    kept = f"{KEPT}, secrets {'allowed' if allow else f'marked by rules {RULES}'}"
    state = sync_state.sync_value(store, mirror.source, "sweep")
    began = datetime.fromtimestamp(clock(), UTC)
    first = not state.get("done")
    old = _moment(state.get("last")) + timedelta(days=SWEEP_DAYS) <= began
    due = state.get("kept") not in (None, kept) or (not first and (old or "kept" not in state))
    run = _Run(
        store, api, mirror, f"repos/{remote.name}", on_fetched, sweep=full or due, allow=allow
    )
    if not state:
        state = {"last": began.isoformat(), "kept": kept}
        run.save([], {"sweep": state})
    for listing in _LISTINGS:
        run.follow(listing)
    run.follow_reviews()
    if mirror.allowed is not None:  # it may have turned private while it was fetched
        mirror.allowed = who_sees(find_repository(api, remote.name))
        allow_source(store, READER, _scopes(mirror), mirror.allowed)
    if run.sweep or first:
        # The first fetch may have taken several runs; deletions meanwhile are detected later.
        state |= {"last": began.isoformat(), "kept": kept} if run.sweep else {}
        run.save([], {"sweep": state | {"done": True}})
    return mirror


def mirror_source(store: Store, mirror: Mirror) -> Source:
    """The documents of a mirror: pull requests as ``review``, issues as ``issue``."""
    total = sync_state.count_items(store, mirror.source)
    done = 0

    def scan() -> Iterator[Item]:
        nonlocal done
        done = 0
        yield from mirror.read_issues
        stored, left_out = sync_state.stored_items(store, mirror.source), Counter[str]()
        for number, group in groupby(stored, key=lambda item: item.number):
            items = list(judged(group, left_out))
            done += len(items)
            yield from marked(review_documents(mirror.repo, number, items))
            if not is_pull(items):
                yield from marked(conversation(ISSUE, mirror.repo, number, items))
        yield from program_issues(left_out)

    def marked(items: Iterable[Item]) -> Iterator[Item]:
        for item in items:
            if mirror.allowed is not None and isinstance(item, Document):
                known = {**json.loads(item.metadata), ALLOWED: mirror.allowed}
                yield replace(item, metadata=metadata_json(known))
            else:
                yield item

    return Source(READER, scan, _scopes(mirror), lambda: done / total if total else 1.0)


def _scopes(mirror: Mirror) -> tuple[tuple[str, str], ...]:
    return tuple((corpus, mirror.repo) for corpus in CORPORA)


@dataclass
class _Run:
    """One run over the listings of one repository."""

    store: Store
    api: GithubApi
    mirror: Mirror
    path: str
    on_fetched: OnFetched | None
    sweep: bool
    allow: bool

    def save(self, items: Sequence[SyncItem], state: dict[str, Any], **how: Any) -> None:
        """Store items and the position of the run."""
        sync_state.save_items(self.store, self.mirror.source, items, state, **how)

    def _left_out(self, where: str, why: str) -> None:
        self.mirror.read_issues.append(ReadIssue(where, why, failed=False))

    def follow(self, name: str) -> None:
        """Read a listing from the stored position; in a sweep, all of it."""
        listing = _LISTINGS[name]
        source = self.mirror.source
        state = sync_state.sync_value(self.store, source, name)
        known = sync_state.item_keys(self.store, source, listing.kinds) if self.sweep else {}
        met: set[ItemKey] = set()
        try:
            self._read(name, listing, state, met)
        except GithubError as exc:
            if exc.status != 410 or COMMENT in listing.kinds:
                raise
            self._left_out(name, "disabled there, and so pull requests' words")
            return
        self._drop_deleted(sorted(known.keys() - met), known)

    def _read(self, name: str, listing: _Listing, state: dict[str, Any], met: set[ItemKey]) -> None:
        cursor = _moment(state.get("cursor"))
        since = cursor - _OVERLAP if state.get("cursor") and not self.sweep else None
        query: dict[str, str | int] = {"sort": "updated", "direction": "asc"}
        query |= {**dict(listing.params), "per_page": PER_PAGE}
        next_url: str | None = None
        etag = state.get("etag") if since and state.get("etag_of") == _stamp(since) else None
        count = 0
        while True:
            begin = {} if since is None else {"since": _stamp(since)}
            first = f"{self.path}/{listing.path}"
            answer = self.api.get(next_url or first, None if next_url else query | begin, etag=etag)
            if not answer.changed:
                return
            items = self._items(answer, name, listing.kinds)
            met.update(item.key for item in items)
            count += len(items)
            latest = max((item.updated_at for item in items), default=None)
            cursor = max(cursor, latest) if latest else cursor
            kept: dict[str, Any] = {"cursor": cursor.isoformat()} if cursor > _NEVER else {}
            if answer.next_url is None and answer.etag and since == cursor - _OVERLAP:
                # the same request as the next run's
                kept |= {"etag": answer.etag, "etag_of": _stamp(since)}
            self.save(items, {name: kept})
            self._tell(name, count, latest)
            if answer.next_url is None:
                return
            etag = None
            # A second earlier, whether or not `since` includes its own second.
            before = latest - timedelta(seconds=1) if latest else None
            if before is not None and (since is None or before > since):
                since, next_url = before, None
            else:  # all of the page is of one second
                next_url = answer.next_url

    def _items(self, answer: Answer, name: str, kinds: Sequence[str]) -> list[SyncItem]:
        if not isinstance(answer.body, list):
            raise GithubError(f"{self.api.url} gave no list of {name}")
        items = []
        for value in answer.body:
            try:
                item = self._judged(sync_item(value))
            except BadItem as exc:
                number = value.get("id") if isinstance(value, dict) else None
                self.mirror.read_issues.append(ReadIssue(f"{name} {number}", str(exc)))
                continue
            if item is not None and item.kind in kinds:
                items.append(item)
        return items

    def _judged(self, item: SyncItem | None) -> SyncItem | None:
        """``item`` as it may be stored."""
        clean = item if item is None or self.allow else without_secrets(item)
        if item is not None and clean != item:
            why = f"secrets redacted in its {item.kind}; --secrets allow takes them"
            self._left_out(f"#{item.number}", why)
        return clean

    def _drop_deleted(self, missing: Sequence[ItemKey], known: dict[ItemKey, int]) -> None:
        for done, (kind, item_id) in enumerate(missing, start=1):
            number = known[(kind, item_id)]
            if item := self._still_there(kind, item_id, number):
                self.save([item], {})
            else:
                if kind == PULL:
                    self.save([], {f"reviews {number}": None}, instead=(REVIEW, number))
                sync_state.drop_item(self.store, self.mirror.source, (kind, item_id))
            self._tell("deleted", done, None)

    def _still_there(self, kind: str, item_id: int, number: int) -> SyncItem | None:
        try:
            value = self.api.get(f"{self.path}/{_ONE[kind]}/{item_id}").body
            item = self._judged(sync_item(value))
        except BadItem:
            return None
        except GithubError as exc:
            if exc.status in (404, 410):
                return None
            raise
        # A transferred issue is redirected to its new address.
        here = (repository_of(value) or "").lower() == self.path.removeprefix("repos/").lower()
        same = item is not None and item.key == (kind, item_id) and item.number == number
        return item if same and here else None

    def follow_reviews(self) -> None:
        """Request the reviews of each changed pull request; in a sweep, of each one."""
        source = self.mirror.source
        latest = sync_state.latest_changes(self.store, source, (PULL, COMMENT))
        count = 0
        for number, changed in sorted(latest.items()):
            state = sync_state.sync_value(self.store, source, f"reviews {number}")
            as_of = changed.astimezone(UTC).isoformat()
            if state.get("as_of") == as_of and not self.sweep:
                continue
            try:
                count += self._read_reviews(number, state.get("etag"), as_of)
            except GithubError as exc:
                if exc.status == 404:  # deleted since it was listed
                    continue
                if exc.status is None or exc.status < 500:
                    raise
                self.mirror.read_issues.append(ReadIssue(f"reviews of #{number}", str(exc)))
            self._tell("reviews", count, None)

    def _read_reviews(self, number: int, etag: str | None, as_of: str) -> int:
        name = f"reviews {number}"
        path = f"{self.path}/pulls/{number}/reviews"
        answer = self.api.get(path, {"per_page": PER_PAGE}, etag=etag)
        if not answer.changed:
            self.save([], {name: {"as_of": as_of, "etag": etag}})
            return 0
        # A page's tag does not cover the following pages.
        tag = answer.etag if answer.next_url is None else None
        items = self._items(answer, name, (REVIEW,))
        while answer.next_url is not None:
            answer = self.api.get(answer.next_url)
            items += self._items(answer, name, (REVIEW,))
        self.save(items, {name: {"as_of": as_of, "etag": tag}}, instead=(REVIEW, number))
        return len(items)

    def _tell(self, listing: str, items: int, until: datetime | None) -> None:
        if self.on_fetched:
            self.on_fetched(Fetched(listing, items, self.api.requests, until))


_NEVER = datetime.fromtimestamp(0, UTC)


def _mirror(store: Store, api: GithubApi, number: int, name: str, repo: str | None) -> Mirror:
    source = f"github {api.url} {number}"
    state = sync_state.sync_value(store, source, "repository")
    filed = state.get("repo")
    if filed is None:
        filed = repo or name
        for other, stored in sync_state.sync_values(store, "repository").items():
            if other != source and str(stored.get("repo", "")).lower() == filed.lower():
                raise CrosscorpusError(
                    f"{filed!r} is taken: another repository of {other.split(' ')[1]} is stored "
                    "under that name; give this one another (--repo), or another collection"
                )
        sync_state.save_items(store, source, [], {"repository": {"repo": filed, "name": name}})
    elif repo is not None and repo != filed:
        raise CrosscorpusError(
            f"{name} is stored under {filed!r} in this collection, not under {repo!r}: leave out "
            "--repo, or use another collection"
        )
    mirror = Mirror(source, str(filed))
    if state.get("name") not in (None, name):
        say = f"is {name} now; its documents stay stored under {filed!r}"
        mirror.read_issues.append(ReadIssue(str(state["name"]), say, failed=False))
    return mirror


def _moment(text: Any) -> datetime:
    return datetime.fromisoformat(text) if isinstance(text, str) else _NEVER


def _stamp(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
