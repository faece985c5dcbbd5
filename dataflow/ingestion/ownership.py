"""Before a run: the source owns the names that it fills, and keeps what its caller once chose."""

from operators.postgres.store import Store
from operators.postgres.write.source_ownership import kept_choice, owner_key, take_ownership
from operators.sources.protocol import ReadIssue, Source
from operators.sources.secrets import without_secrets


def owned_source(
    store: Store, source: Source, *, relocated: bool = False, secrets: str | None = None
) -> tuple[Source, list[ReadIssue]]:
    """``source`` with the option and the way with secrets that the caller or a run chose.

    Args:
        store: the open collection; it keeps both choices for the next run of this source.
        source: what to read.
        secrets: see :func:`operators.sources.secrets.without_secrets`; None: what an earlier run
            of this source was told, else ``skip``.
        relocated: see :func:`operators.postgres.write.source_ownership.take_ownership`.

    Returns:
        The source, and notes: it is in the collection under another name too.

    Raises:
        CrosscorpusError: another source owns its name.
    """
    scopes = source.scopes or ()
    others = take_ownership(store, source.reader, scopes, source.addresses, relocated=relocated)
    why = (
        "is here as {0!r} too, so that each passage is found twice: `drop --repo {0}` takes it out"
    )
    notes = [ReadIssue(source.addresses[0], why.format(repo), failed=False) for repo in others]
    owner = owner_key(source.reader, *min(scopes, default=("", "")))
    if source.choosing is not None and source.scopes:
        choice = kept_choice(store, owner, source.option, source.choice)
        source = source if choice == source.choice else source.choosing(choice or "")
    judged = without_secrets(
        source, secrets or kept_choice(store, owner, "secrets", None) or "skip"
    )
    kept_choice(store, owner, "secrets", secrets)  # now that it is known to be a way
    return judged, notes
