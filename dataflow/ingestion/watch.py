"""Watches a folder or a working tree, and ingests changes at once.

Every change starts a scan of the whole source, which costs only the comparison with the ledger. So
whatever happened to the tree (a branch switch, a rebase, files that changed while they were read),
the result equals that of a fresh ingestion. Embedding runs in parallel.

Only the folder that existed at the start is read. A link in its place, or a folder of another
owner, may contain foreign files: nothing is read until the folder is back.
"""

import os
import re
import stat
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dataflow.ingestion.loop import ingest
from dataflow.ingestion.run import IngestReport
from dataflow.ingestion.vectors import Embedded, embed_missing
from operators.embedding.protocol import Embedder
from operators.errors import CrosscorpusError
from operators.foundation.sanitize import shown_path
from operators.postgres.store import Store
from operators.sources.protocol import Item, Source

TOGETHER_MS = 200
"""Changes within this time are read together."""
LONGEST_PAUSE_S = 10.0
"""Maximum pause between scans: it is as long as a scan, so a busy tree uses half a core."""
AGAIN_S = 2.0
"""The pause after a failure: the server, the folder, or disk space may be available again."""
LONGEST_EMBED_PAUSE_S = 60.0
"""The maximum pause after failures of the model or disk, doubled each time: models may cost."""

_UNDECODED = "Unable to decode path"  # watchfiles ends so if a non-UTF-8 name changes

OnChange = Callable[[IngestReport | Embedded | Exception], None]


@dataclass(frozen=True)
class WatchedFolder:
    """The folder that was at ``path`` when the watch began: its real path and its owner."""

    path: Path
    real: str
    owner: int

    def identity(self) -> tuple[int, int] | None:
        """Device and inode of the path's target, links resolved; None: it does not exist."""
        try:
            status = os.stat(self.path)
        except OSError:
            return None
        return status.st_dev, status.st_ino

    def checked(self) -> tuple[int, int]:
        """The identity of the folder that may be read.

        It is the first one, or one that its owner created again at the same path, as a new clone.

        Raises:
            CrosscorpusError: it does not exist, a link leads elsewhere, or another user owns it.
        """
        try:
            status = os.lstat(self.real)
        except OSError as error:
            raise CrosscorpusError(
                f"{self.path} can't be found ({error.strerror}): it is read again once it is back"
            ) from None
        why = None
        if (leads := os.path.realpath(self.path)) != self.real:
            why = f"leads to {shown_path(os.fsencode(leads))} now"
        elif not stat.S_ISDIR(status.st_mode):
            why = "is no folder any more"
        elif status.st_uid != self.owner:
            why = "is a folder of another user now"
        if why:
            raise CrosscorpusError(
                f"{self.path} {why}, and nothing is read: put back "
                f"{shown_path(os.fsencode(self.real))}, or end this and watch the other place"
            )
        return status.st_dev, status.st_ino

    def within(self, source: Callable[[], Source]) -> Source:
        """The result of ``source``; its scan fails once the folder is another one.

        Raises:
            CrosscorpusError: as :meth:`checked`, and those of ``source``.
        """
        now = self.checked()
        return self._only(now, source())

    def _only(self, now: tuple[int, int], source: Source) -> Source:
        def scan() -> Iterator[Item]:
            for item in source.scan():
                if self.identity() != now:
                    break
                yield item
            if self.identity() != now:
                raise CrosscorpusError(f"{self.path} was replaced while it was read")

        other = source.choosing
        choosing = other and (lambda chosen: self._only(now, other(chosen)))
        return replace(source, scan=scan, choosing=choosing)


def watched_folder(path: Path) -> WatchedFolder:
    """The folder at ``path`` now, to be watched; the path itself may be a link.

    Raises:
        CrosscorpusError: there is no folder.
    """
    if not path.is_dir():
        what = "is not a folder" if path.exists() else "does not exist; is it mounted?"
        raise CrosscorpusError(f"{path} {what}")
    real = os.path.realpath(path)
    return WatchedFolder(path, real, os.stat(real).st_uid)


def watch(
    store: Store,
    embedder: Embedder,
    path: Path,
    source: Callable[[], Source],
    *,
    on_change: OnChange,
    stop: threading.Event,
    **options: Any,
) -> None:
    """Ingest ``source`` now and after every change below ``path``, until ``stop`` is set.

    Args:
        source: returns the current source.
        on_change: receives the first report and each with changes, the embedding reports after it,
            and errors; a retry starts at the next change or after two seconds.
        options: as for :func:`dataflow.ingestion.loop.ingest`.

    Raises:
        CrosscorpusError: ``path`` is no folder or not UTF-8, the package watchfiles is missing, or
            there are too many folders.
    """
    path = path.absolute()
    if (shown := shown_path(os.fsencode(path))) != str(path):
        raise CrosscorpusError(
            f"{shown}: the name of a folder on the way is not UTF-8, which no watcher takes; make "
            "a link to the folder with another name, and watch that"
        )
    root = watched_folder(path)
    changed, failed = threading.Event(), list[BaseException]()
    watcher = threading.Thread(target=_wait, args=(root, changed, stop, failed), daemon=True)
    watcher.start()
    # a reading before the watch begins would be repeated, and its embedding interrupted
    while not (changed.wait(0.1) or failed or stop.is_set()):
        pass
    first, last_error = True, ""
    beside = ThreadPoolExecutor(1)
    try:
        while not stop.is_set():
            changed.clear()
            began = time.monotonic()
            try:
                current = root.within(source)
                report = ingest(store, embedder, current, wait="words", in_turn=True, **options)
                if first or report.chunks or report.documents_deleted or not report.ok:
                    on_change(report)
                first, last_error = False, ""
            except (CrosscorpusError, OSError) as error:
                last_error = _report_error(on_change, error, last_error)
                stop.wait(AGAIN_S)
                continue
            beside.submit(_embed, store, embedder, on_change, stop, changed)
            stop.wait(min(time.monotonic() - began, LONGEST_PAUSE_S))
            while not changed.wait(1.0) and not stop.is_set():
                if failed:
                    raise CrosscorpusError(f"{path} can't be watched: {failed[0]}") from failed[0]
    finally:  # the parallel threads end too
        stop.set()
        changed.set()
        beside.shutdown()


def _embed(
    store: Store,
    embedder: Embedder,
    on_change: OnChange,
    stop: threading.Event,
    changed: threading.Event,
) -> None:
    """Embed chunks until something changes; retry after failures."""
    last_error, pause = "", AGAIN_S
    while True:
        try:
            done = embed_missing(
                store, embedder, stop=lambda: stop.is_set() or changed.is_set(), patience_s=60
            )
            if done.chunks or done.failed:
                on_change(done)
            return
        except Exception as error:  # a model of the user's may raise anything
            last_error = _report_error(on_change, error, last_error)
        if changed.wait(pause):
            return
        pause = min(2 * pause, LONGEST_EMBED_PAUSE_S)


def _report_error(on_change: OnChange, error: Exception, last_error: str) -> str:
    """Report ``error`` unless it repeats ``last_error``, numbers apart; return its text."""
    says = re.sub(r"\d+", "", str(error))
    if says != last_error:
        on_change(error)
    return says


def _wait(
    root: WatchedFolder,
    changed: threading.Event,
    stop: threading.Event,
    failed: list[BaseException],
) -> None:
    """Set ``changed`` when the watch begins, and after every change."""
    path = root.path
    try:
        import watchfiles

        link = path / ".git"  # a file in a linked worktree, whose HEAD and its log are elsewhere
        text = link.read_text(errors="replace") if link.is_file() else ""
        own = (path / text.removeprefix("gitdir: ").strip()).resolve()
        folders = {path, own} if text and own.is_dir() else {path}

        def matters(_: object, name: str) -> bool:
            inside = os.path.relpath(name, path).split(os.sep)
            if ".git" not in inside and not (text and Path(name).is_relative_to(own)):
                return True
            # the index is written by every reader of the tree, also by a scan
            return inside[-1] == "HEAD" or "refs" in inside or inside[-1] == "packed-refs"

        while not stop.is_set():
            began = time.monotonic()
            try:
                now = root.checked()
                looking = watchfiles.watch(
                    *folders, watch_filter=matters, debounce=TOGETHER_MS, stop_event=stop,
                    yield_on_timeout=True, rust_timeout=500, raise_interrupt=False,
                )  # fmt: skip
                begun = False
                for batch in looking:
                    if batch or not begun:
                        changed.set()
                    begun = True
                    if root.identity() != now:
                        break
            except (CrosscorpusError, FileNotFoundError):  # the scan says what it is
                changed.set()
                stop.wait(AGAIN_S)
            except Exception as error:  # the watcher's errors share no base
                if _UNDECODED not in str(error):
                    raise
                # The watcher ends and is restarted, less often if such a name changes often.
                changed.set()
                stop.wait(max(0.0, began + AGAIN_S - time.monotonic()))
    except ImportError:
        failed.append(CrosscorpusError("install watchfiles: pip install 'crosscorpus[watch]'"))
    except Exception as error:
        more = "WATCHFILES_FORCE_POLLING=1 looks by itself, where the system has no more watches"
        failed.append(CrosscorpusError(f"{error} ({more})"))
