"""The values of a run's nodes, kept so that a later run can reuse the unchanged ones.

A node is unchanged if it is the same function over the same values. Values are compared, not
versions: if a node upstream runs again with an equal result, no node below it runs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from types import CodeType
from typing import Any

import numpy as np
import polars as pl
from hamilton.node import Node

LIVE = frozenset({"timings"})
"""Inputs that a run fills while it runs; no value depends on them."""


@dataclass(frozen=True, slots=True)
class Record:
    """A node's code, inputs and value."""

    code: tuple[CodeType, ...]
    arguments: Mapping[str, Any]
    value: Any


class Memo:
    """The records of one run, by node, and ``known``: the records that it may reuse."""

    def __init__(self, known: Mapping[str, Record] | None = None) -> None:
        self.known = known or {}
        self.records: dict[str, Record] = {}
        self.computed: list[str] = []  # the nodes that ran, in the order in which they ended

    def recall(self, node: Node, arguments: Mapping[str, Any]) -> Record | None:
        """The record of ``node`` if its function and its input values are unchanged."""
        record = self.known.get(node.name)
        if record is None or record.code != code_of(node):
            return None
        read = record.arguments
        if read.keys() != arguments.keys():
            return None
        if not all(same(read[name], arguments[name]) for name in read.keys() - LIVE):
            return None
        self.records[node.name] = record
        return record

    def keep(self, node: Node, arguments: Mapping[str, Any], value: Any) -> None:
        """Record the value of ``node``."""
        self.records[node.name] = Record(code_of(node), arguments, value)
        self.computed.append(node.name)


def code_of(node: Node) -> tuple[CodeType, ...]:
    """The code of a node; equal for the nodes of two graphs of the same modules."""
    return tuple(function.__code__ for function in node.originating_functions or ())


def same(one: Any, two: Any) -> bool:
    """Whether two values are equal for every node that may read them.

    >>> same({"a": [1.0, None]}, {"a": [1.0, None]}), same(1, 1.0), same(object(), object())
    (True, False, False)
    """
    if one is two:
        return True
    if type(one) is not type(two):
        return False
    if isinstance(one, pl.DataFrame):
        return one.schema == two.schema and one.equals(two)
    if isinstance(one, pl.Series):
        return one.dtype == two.dtype and one.name == two.name and one.equals(two)
    if isinstance(one, dict):
        return list(one) == list(two) and all(same(value, two[key]) for key, value in one.items())
    if isinstance(one, list | tuple):
        return len(one) == len(two) and all(map(same, one, two))
    if isinstance(one, np.ndarray):
        return one.dtype == two.dtype and np.array_equal(one, two)
    if is_dataclass(one):
        compared = (field.name for field in fields(one) if field.compare)
        return all(same(getattr(one, name), getattr(two, name)) for name in compared)
    return bool(one == two)
