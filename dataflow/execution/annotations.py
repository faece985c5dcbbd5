"""How the type of a node or an input is written in messages and pictures."""

import types
import typing
from typing import Any


def spell(annotation: Any) -> str:
    """An annotation as an author writes it.

    >>> spell(float | None), spell(list[str])
    ('float | None', 'list[str]')
    """
    if typing.get_origin(annotation) is typing.Literal:
        return " | ".join(repr(option) for option in typing.get_args(annotation))
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return " | ".join(spell(option) for option in typing.get_args(annotation))
    if annotation is type(None):
        return "None"
    if isinstance(annotation, type) and not typing.get_args(annotation):
        return annotation.__name__
    return str(annotation).replace("typing.", "").replace("collections.abc.", "")
