"""A folder or a working tree that is kept up to date: what changes is read again, at once.

Every change starts a scan of the whole source, which costs only the comparison with the ledger. So
whatever happened to the tree (a branch switch, a rebase, files that came and went while they were
read), the collection ends as a fresh ingestion would. Vectors are made beside that.
"""

import os
import re
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from dataflow.ingestion.loop import ingest
from dataflow.ingestion.run import IngestReport
from dataflow.ingestion.vectors import Embedded, embed_missing
from operators.embedding.protocol import Embedder
from operators.errors import CrosscorpusError
from operators.postgres.store import Store
from operators.sources.protocol import Source

TOGETHER_MS = 200
"""Changes so close to each other are read together."""
LONGEST_PAUSE_S = 10.0
"""Between two scans: as long as a scan takes, so that a busy tree costs half a core at most."""
AGAIN_S = 2.0
"""After a failure: the server, the folder, or room on its disk may be back."""
LONGEST_EMBED_PAUSE_S = 60.0
"""After failures of the model or the disk, each pause twice the one before: a model may cost."""

OnChange = Callable[[IngestReport | Embedded | Exception], None]


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
        source: gives the source as it is now.
        on_change: receives the first report and each that changed something, what was embedded
            after it, and what went wrong: the next change, or two seconds, start a new attempt.
        options: as for :func:`dataflow.ingestion.loop.ingest`.

    Raises:
        CrosscorpusError: the package watchfiles is missing, or there are too many folders.
    """
    changed, failed = threading.Event(), list[BaseException]()
    watcher = threading.Thread(target=_wait, args=(path, changed, stop, failed), daemon=True)
    watcher.start()
    first, said = True, ""
    beside = ThreadPoolExecutor(1)
    try:
        while not stop.is_set():
            changed.clear()
            began = time.monotonic()
            try:
                report = ingest(store, embedder, source(), wait="words", in_turn=True, **options)
                if first or report.chunks or report.documents_deleted or not report.ok:
                    on_change(report)
                first, said = False, ""
            except (CrosscorpusError, OSError) as error:
                said = _tell(on_change, error, said)
                stop.wait(AGAIN_S)
                continue
            beside.submit(_embed, store, embedder, on_change, stop, changed)
            stop.wait(min(time.monotonic() - began, LONGEST_PAUSE_S))
            while not changed.wait(1.0) and not stop.is_set():
                if failed:
                    raise CrosscorpusError(f"{path} can't be watched: {failed[0]}") from failed[0]
    finally:  # what runs beside it ends too
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
    """Make vectors until something changed: that is found first. What fails is tried again."""
    said, pause = "", AGAIN_S
    while True:
        try:
            done = embed_missing(
                store, embedder, stop=lambda: stop.is_set() or changed.is_set(), patience_s=60
            )
            if done.chunks or done.failed:
                on_change(done)
            return
        except Exception as error:  # a model of the user's may raise anything
            said = _tell(on_change, error, said)
        if changed.wait(pause):
            return
        pause = min(2 * pause, LONGEST_EMBED_PAUSE_S)


def _tell(on_change: OnChange, error: Exception, said: str) -> str:
    """Report ``error`` unless it repeats ``said``, numbers apart; return its text."""
    says = re.sub(r"\d+", "", str(error))
    if says != said:
        on_change(error)
    return says


def _wait(
    path: Path, changed: threading.Event, stop: threading.Event, failed: list[BaseException]
) -> None:
    """Set ``changed`` when it begins to look, and after every change."""
    try:
        from watchfiles import watch as changes

        link = path / ".git"  # a file in a linked worktree, whose HEAD and its log are elsewhere
        text = link.read_text(errors="replace") if link.is_file() else ""
        own = (path / text.removeprefix("gitdir: ").strip()).resolve()
        places = {path, own} if text and own.is_dir() else {path}

        def matters(_: object, name: str) -> bool:
            inside = os.path.relpath(name, path).split(os.sep)
            if ".git" not in inside and not (text and Path(name).is_relative_to(own)):
                return True
            # the index is written by whoever looks at the tree, also by a scan
            return inside[-1] == "HEAD" or "refs" in inside or inside[-1] == "packed-refs"

        while not stop.is_set():
            if not path.exists():
                changed.set()
                stop.wait(AGAIN_S)
                continue
            looking = changes(
                *places, watch_filter=matters, debounce=TOGETHER_MS, stop_event=stop,
                yield_on_timeout=True, rust_timeout=500, raise_interrupt=False,
            )  # fmt: skip
            begun = False
            for found in looking:
                if found or not begun:
                    changed.set()
                begun = True
                if not path.exists():
                    break
    except ImportError:
        failed.append(CrosscorpusError("install watchfiles: pip install 'crosscorpus[watch]'"))
    except Exception as error:  # the watcher's errors share no base
        more = "WATCHFILES_FORCE_POLLING=1 looks by itself, where the system has no more watches"
        failed.append(CrosscorpusError(f"{error} ({more})"))
