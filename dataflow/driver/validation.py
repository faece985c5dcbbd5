"""Errors for mistakes in a call that Hamilton ignores: unknown names, values of a wrong type.

Hamilton accepts an unknown override or input and ignores it.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from types import CodeType
from typing import Any

import polars as pl
from hamilton.graph import FunctionGraph
from hamilton.node import Node

from dataflow.configuration.catalog import DRIVER_INPUTS, RUN_INPUTS
from dataflow.configuration.own_modules import shown_name
from dataflow.configuration.value_checks import fits, out_of_bounds
from dataflow.execution.annotations import spell
from dataflow.execution.built_graph import GraphError
from operators import frames
from operators.errors import CrosscorpusError, UnknownName, check_known, raised, suggest
from operators.postgres.search.timed_search import Searched
from operators.ranking.total_order import without_gaps


def check_call(
    graph: FunctionGraph,
    final_vars: Iterable[str],
    inputs: Mapping[str, Any],
    overrides: Mapping[str, Any],
    *,
    fixed: Collection[str] = (),
    reports: Collection[str] = (),
    frames_of: Mapping[str, pl.Schema] = {},
) -> None:
    """Raise if a call has an unknown name or a value of a wrong type.

    Args:
        graph: the graph to run.
        final_vars, inputs, overrides: the call.
        fixed: names of the configuration that one run can't change.
        reports: names that can be requested and overridden although no node has them.
        frames_of: the columns that the readers of an overridden node need, by its name without its
            corpus; ``queries`` has checks of its own.
    """
    nodes = graph.nodes
    shown = (nodes.keys() - fixed) | set(reports)
    for name in final_vars:
        if not isinstance(name, str):
            raise GraphError(f"an output is given by its name, got {type(name).__name__}")
        check_known("output", name, shown)
    for name, value in inputs.items():
        node = nodes.get(name)
        if node is None and name in RUN_INPUTS | {"timings"}:  # no node here reads it
            continue
        if node is None and (example := next((n for n in nodes if n.endswith(f".{name}")), None)):
            raise UnknownName(f"unknown input {name!r}: each corpus has its own, such as {example}")
        if node is None:
            known = [n for n in nodes.keys() - fixed - DRIVER_INPUTS if nodes[n].user_defined]
            raise UnknownName(f"unknown input {name!r}{suggest(name, known)}")
        if not node.user_defined and name not in fixed:
            raise GraphError(f"{name!r} is computed by the graph: give it as an override instead")
        _check_value("input", name, value, node, fixed)
    for name, value in overrides.items():
        if name not in shown and name not in nodes:
            raise UnknownName(f"unknown override {name!r}{suggest(name, shown)}")
        if name in nodes:
            what = "input" if nodes[name].user_defined else "override"  # a parameter: both
            _check_value(what, name, value, nodes[name], fixed)
        _check_columns(name, name.rpartition(".")[2], value, frames_of)
        if fault := out_of_bounds(name.rpartition(".")[2], value):
            raise GraphError(f"{name}: {fault}")


def watch_own_nodes(
    graph: FunctionGraph, own: Collection[str], frames_of: Mapping[str, pl.Schema]
) -> None:
    """Wrap the nodes of the modules ``own``: their errors name the module and missing columns.

    Such a node gets copies of its frames, which are free, so that it changes no other node's frame.
    """
    for node in graph.nodes.values():
        if node.tags.get("module") in own and node.callable is not None:
            node.tags["owner"] = shown_name(str(node.tags["module"]))
            schema = frames_of.get(node.name.rpartition(".")[2])
            where, file = place_of(node, own), _written(node).co_filename
            node._callable = partial(_watched, node.callable, where, file, schema)


def place_of(node: Node, own: Collection[str]) -> str:
    """The module and function of a node of the modules ``own``; another node's name."""
    if node.tags.get("module") not in own or node.callable is None:
        return str(node.name)
    return f"{shown_name(str(node.tags['module']))}: {_written(node).co_name}"


def _written(node: Node) -> CodeType:
    """The code that a user wrote for a node, without what decorators put around it."""
    code: CodeType = (node.originating_functions or (node.callable,))[0].__code__
    return code


def _watched(
    function: Callable[..., Any],
    where: str,
    file: str,
    schema: pl.Schema | None,
    /,  # a user's node may have arguments of these names
    **arguments: Any,
) -> Any:
    frames_read = {n: v for n, v in arguments.items() if isinstance(v, pl.DataFrame)}
    copies = {name: frame.clone() for name, frame in frames_read.items()}
    try:
        value = function(**{**arguments, **copies})
    except CrosscorpusError:
        raise
    except Exception as error:
        columns = {column for frame in frames_read.values() for column in frame.columns}
        raise GraphError(f"{where} raises {raised(error, file, columns)}") from error
    for name, frame in frames_read.items():
        if copies[name].schema != frame.schema or copies[name].height != frame.height:
            raise GraphError(f"{where} changes its input {name!r}: make a new frame of it")
    if schema is None:
        return value
    made = value.lists if isinstance(value, Searched) else value
    if not isinstance(made, pl.DataFrame):
        kind = f"{type(made).__module__}.{type(made).__name__}".removeprefix("builtins.")
        raise GraphError(f"{where}: expected a polars DataFrame, got {kind}")
    for column, dtype in schema.items():
        if column not in made.columns:
            raise GraphError(f"{where}: its frame lacks the column {column!r} ({dtype})")
    _check_types(where, made, schema)
    return without_gaps(value) if made is value and {"query_id", "rank"} <= schema.keys() else value


def _check_types(where: str, frame: pl.DataFrame, schema: pl.Schema) -> None:
    """Raise if a column of ``frame`` has another type than in ``schema``, or a score is NaN."""
    for column, dtype in schema.items():
        if frame.schema[column] != dtype != frames.EMBEDDING:
            held = frame.schema[column]
            raise GraphError(f"{where}: the column {column!r} is {held}, expected {dtype}")
    if "score" in schema and (wrong := int(frame["score"].is_nan().sum())):
        raise GraphError(f"{where}: 'score' is NaN in {wrong} of {frame.height} rows")


def _check_value(what: str, name: str, value: Any, node: Node, fixed: Collection[str]) -> None:
    if name in fixed:
        raise GraphError(f"{name!r} is chosen by the configuration, not by a run")
    expected = _type_of(node)
    if expected is Searched and isinstance(value, pl.DataFrame):  # its lists
        return
    if not fits(value, expected):
        raise GraphError(f"{what} {name!r}: expected {spell(expected)}, got {type(value).__name__}")


def _type_of(node: Node) -> Any:
    """The type of a node's value; a parameter whose default is None has that of its readers."""
    if node.type is not type(None):
        return node.type
    read_as = [one.input_types.get(node.name) for one in node.depended_on_by]
    return next((declared[0] for declared in read_as if declared), node.type)


def _check_columns(name: str, node: str, value: Any, frames_of: Mapping[str, pl.Schema]) -> None:
    """Raise unless a frame, also one of a search or of a mapping, has its columns."""
    if isinstance(value, Searched):
        value = value.lists
    if isinstance(value, Mapping):
        for field, part in value.items():
            _check_columns(f"{name}[{field}]", str(field), part, frames_of)
    if isinstance(value, pl.DataFrame) and node in frames_of:
        missing = [column for column in frames_of[node] if column not in value.columns]
        if missing:
            raise GraphError(
                f"override {name!r} lacks columns: {', '.join(missing)}; operators/frames.py says "
                "what each is"
            )
        _check_types(f"override {name!r}", value, frames_of[node])
