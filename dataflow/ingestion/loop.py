"""The loop around the ingestion graph: scan a source, store it by batches, finish.

The graph sees a bounded batch, so that memory does not grow with a source. All state that must
survive a ``kill -9`` is in the store: a document counts once its transaction is committed, vectors
are stored as soon as they are made, and an interrupted run resumes from the ledger and the chunks.
"""

import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any, Literal

from dataflow.ingestion.finish import delete_vanished, embed, finish, keep_left_out
from dataflow.ingestion.run import IngestReport, OnEvent, Progress, Run
from dataflow.ingestion.scan import scan
from dataflow.ingestion.vectors import count_unembedded
from operators.embedding.protocol import Embedder
from operators.postgres.store import Store, set_model
from operators.postgres.write.left_out import record_undeleted
from operators.postgres.write.source_ownership import (
    kept_choice,
    owner_key,
    source_turn,
    take_ownership,
    with_and_without_repo,
)
from operators.sources.protocol import ReadIssue, Source, of_corpora
from operators.sources.secrets import without_secrets

BATCH_DOCUMENTS = 64
BATCH_CHARACTERS = 400_000
"""About 500 chunks."""


def ingest(
    store: Store,
    embedder: Embedder,
    source: Source,
    *,
    prune: bool | None = None,
    allow_mass_delete: bool = False,
    relocated: bool = False,
    wait: Literal["words", "vectors"] = "vectors",
    in_turn: bool = False,
    secrets: str | None = None,
    corpora: Sequence[str] | None = None,
    on_event: OnEvent | None = None,
    batch_documents: int = BATCH_DOCUMENTS,
    batch_characters: int = BATCH_CHARACTERS,
    **graph: Any,
) -> IngestReport:
    """Update the collection to the state of ``source``; unchanged documents cost only the scan.

    Args:
        embedder: the collection's model; the first run sets it.
        source: what to read.
        prune: delete documents missing from a complete scan; None: if ``source`` is whole.
        allow_mass_delete: even if they are more than
            :data:`dataflow.ingestion.finish.LARGEST_VANISHED_SHARE`.
        relocated: the source moved: documents read under its name at another place are its own.
        wait: ``vectors``: return when every chunk has its vector; ``words``: when keyword search
            finds everything; :func:`dataflow.ingestion.vectors.embed_missing` embeds later.
        in_turn: if another run reads this source, wait for its end instead of raising.
        secrets: the treatment of a document that contains one, see
            :func:`operators.sources.secrets.without_secrets`; stored for later runs of this source.
        corpora: read only documents of these; stored documents of others stay.
        on_event: receives the progress of the run, in this thread.
        batch_documents: maximum documents of one transaction.
        batch_characters: maximum characters of their text, unless one document alone has more.
        graph: arguments of :func:`dataflow.ingestion.graph_builder.build_ingestion_graph`.

    Returns:
        The report. It contains errors of single documents, which are not raised.

    Raises:
        CrosscorpusError: the run cannot start: another model, no server, a source that cannot be
            opened, that another run reads, or whose name belongs to another source.
    """
    set_model(store, embedder.model, embedder.space, embedder.dimensions)
    source = source if corpora is None else of_corpora(source, corpora)

    def on_wait(holder: str) -> None:
        if on_event is not None:
            on_event(Progress(f"wait for {holder}"))

    with source_turn(store, source.reader, source.scopes or (), on_wait if in_turn else None):
        source, notes = _owned(store, source, relocated=relocated, secrets=secrets)
        prunes = source.whole if prune is None else prune
        run = Run(store, embedder, source, on_event, graph)
        run.report.notes += notes
        with closing(run.known):
            complete = scan(run, batch_documents, batch_characters)
            if complete:
                keep_left_out(run)
            if prunes:
                delete_vanished(run, complete, allow_mass_delete)
            elif complete:  # such a source reports no deletions
                record_undeleted(store, source.reader, dict.fromkeys(run.known.scopes))
        report = finish(run)
    if source.reader.startswith(("records_", "own_")):
        for corpus, n in with_and_without_repo(store, source.reader):
            drop = f"crosscorpus drop -C {store.collection} --corpus {corpus}"
            why = f"{n:,} are here without --repo too: `{drop}`, then read all again"
            report.notes.append(ReadIssue(corpus, why, failed=False))
    if wait == "vectors":
        run.tell("words")
        embed(run)
    else:
        report.unembedded = count_unembedded(store)
    report.seconds = time.monotonic() - run.began
    run.tell("done")
    return report


def _owned(
    store: Store, source: Source, *, relocated: bool, secrets: str | None
) -> tuple[Source, list[ReadIssue]]:
    """``source`` with its options and its mode for secrets; and notes.

    The caller or an earlier run chose them, and the store keeps them for the next run; without a
    mode it is ``auto``. A note names another copy of the source.

    Raises:
        CrosscorpusError: another source owns its name.
    """
    scopes = source.scopes or ()
    others = take_ownership(store, source.reader, scopes, source.addresses, relocated=relocated)
    why = "is here as {0!r} too, so that each passage is found twice: `{1} {0}` takes it out"
    drop = f"crosscorpus drop -C {store.collection} --repo"
    notes = [ReadIssue(source.addresses[0], why.format(one, drop), failed=False) for one in others]
    owner = owner_key(source.reader, *min(scopes, default=("", "")))
    if source.choosing is not None and source.scopes:
        chosen = {name: _kept(store, owner, source, name) for name in source.choices}
        if chosen != {name: choice or "" for name, choice in source.choices.items()}:
            source = replace(source.choosing(chosen), command=source.command)
    judged = without_secrets(
        source, secrets or kept_choice(store, owner, "secrets", None) or "auto"
    )
    kept_choice(store, owner, "secrets", secrets)  # now that it is known to be a mode
    return judged, notes


def _kept(store: Store, owner: str, source: Source, option: str) -> str:
    """The stored value of ``option`` from now on: the caller's choice, else the earlier value."""
    choice = source.choices[option]
    if choice and option in source.adding:
        words = choice.split()
        before = (kept_choice(store, owner, option, None) or "").split()
        choice = " ".join([*(word for word in before if word not in words), *words])
    return kept_choice(store, owner, option, choice) or ""
