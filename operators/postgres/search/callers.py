"""A caller's view of a collection: every statement reads only the documents that he may see."""

from collections.abc import Sequence

from operators.errors import CrosscorpusError
from operators.foundation.principals import EVERYONE, IMPORTED, IMPORTER, UNMARKED
from operators.postgres.store import Store

_OTHERS = "EXISTS (SELECT 1 FROM access_classes WHERE access <> %s)"
_SEEN = f"""
    SELECT {_OTHERS} OR EXISTS (SELECT 1 FROM rights),
        coalesce((SELECT unmarked FROM rights), NOT {_OTHERS}),
        ARRAY (SELECT access FROM access_classes WHERE principals && %s::text[]),
        (SELECT string_agg(concat_ws(' ', corpus, c.xmin, v.found_at), ',' ORDER BY corpus)
            FROM corpora c LEFT JOIN versioned_corpora v USING (corpus))
"""


def seen_by(store: Store, names: Sequence[str]) -> Store:
    """``store`` as a caller with the principals ``names`` sees it; all of it if it has no rights.

    Each call reads the rights again, so a revoked right takes effect at the next call. It also
    reads whether any process has changed passages or versions. Without names the caller sees what
    everyone may see. ``IMPORTER`` sees all if only documents for him have rights, and else no more
    than without this name.

    Raises:
        CrosscorpusError: ``store`` is a caller's view already.
    """
    if store.access is not None:
        raise CrosscorpusError("this is what one caller sees: ask the owner's driver for another")
    no_right = IMPORTED if IMPORTER in names else UNMARKED
    named = [*{*names, EVERYONE} - {IMPORTER}]
    ((has_rights, unmarked, seen, state),) = store.rows(_SEEN, (no_right, IMPORTED, named))
    if not has_rights:
        return store
    return store.seen_by([*seen, UNMARKED] if unmarked else seen, state)
