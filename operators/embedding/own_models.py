"""Models of a user's own: a function in a module, or one that a package registers under a name."""

from typing import Any

from operators.embedding.protocol import ModelNotInstalled
from operators.errors import CrosscorpusError
from operators.foundation.plugins import own_object


def own_model(group: str, name: str) -> Any:
    """What the loader that ``name`` names returns; None: nothing is called so.

    Args:
        group: ``embedders`` or ``rerankers``.
        name: ``python:MODULE:FUNCTION``, a function without arguments; or ``NAME`` or
            ``NAME:ARGUMENT``, a function that a package registers.

    Raises:
        ModelNotInstalled: there is no such module or function, or it does not import.
    """
    kind, _, argument = name.partition(":")
    try:
        load = own_object(group, name if kind == "python" else kind)
    except CrosscorpusError as error:
        raise ModelNotInstalled(str(error)) from error
    if load is None:
        return None
    return load(argument) if argument and kind != "python" else load()
