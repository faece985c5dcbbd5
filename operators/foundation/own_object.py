"""Objects of a user's own modules, named as ``python:MODULE:OBJECT``."""

import importlib
from typing import Any

from operators.errors import CrosscorpusError


def own_object(name: str) -> Any:
    """The object at ``python:MODULE:OBJECT``, or None if ``name`` has another form.

    Raises:
        CrosscorpusError: there is no such module or object, or it does not import.
    """
    kind, _, rest = name.partition(":")
    module, _, attribute = rest.rpartition(":")
    if kind != "python" or not module:
        return None
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise CrosscorpusError(f"{name}: {error}") from error
