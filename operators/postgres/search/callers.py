"""The documents that a caller may see, as the view of a collection that every statement reads."""

from collections.abc import Sequence

from operators.errors import CrosscorpusError
from operators.foundation.principals import EVERYONE, UNMARKED
from operators.postgres.store import Store

_SEEN = """
    SELECT EXISTS (SELECT 1 FROM access_classes) OR EXISTS (SELECT 1 FROM rights),
        coalesce((SELECT unmarked FROM rights), false),
        ARRAY (SELECT access FROM access_classes WHERE principals && %s::text[]),
        (SELECT string_agg(concat_ws(' ', corpus, c.xmin, v.found_at), ',' ORDER BY corpus)
            FROM corpora c LEFT JOIN versioned_corpora v USING (corpus))
"""


def seen_by(store: Store, names: Sequence[str]) -> Store:
    """``store`` as a caller sees it who is all of ``names``; the whole of one without any rights.

    It is looked up in each call, so that a right that is taken away holds for the next; and so is
    whether passages or versions have changed, whichever process changed them. Without names he
    sees what everyone may.

    Raises:
        CrosscorpusError: ``store`` is what a caller sees already.
    """
    if store.access is not None:
        raise CrosscorpusError("this is what one caller sees: ask the owner's driver for another")
    ((has_rights, unmarked, seen, state),) = store.rows(_SEEN, ([*names, EVERYONE],))
    if not has_rights:
        return store
    return store.seen_by([*seen, UNMARKED] if unmarked else seen, state)
