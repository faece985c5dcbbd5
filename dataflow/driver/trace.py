"""A recorded run, the base of a what-if."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hamilton.graph import FunctionGraph

from dataflow.configuration.catalog import RUN_INPUTS
from dataflow.configuration.config_model import Config, as_config
from dataflow.driver.reports import REPORTS
from dataflow.execution.memo import Record


@dataclass(frozen=True)
class Trace(Mapping[str, Any]):
    """The outputs of a run, by name, and how they were computed.

    Attributes:
        config: the configuration of the graph.
        inputs: as the caller gave them.
        overrides: as the caller gave them.
        outputs: the value of each requested name.
        records: the inputs and the value of each node.
        computed: the nodes that ran in this run; all others were reused from an earlier run.
        timings: the milliseconds of each node that ran.
    """

    config: Config
    inputs: Mapping[str, Any] = field(repr=False)
    overrides: Mapping[str, Any] = field(repr=False)
    outputs: Mapping[str, Any] = field(repr=False)
    records: Mapping[str, Record] = field(repr=False)
    computed: tuple[str, ...]
    timings: Mapping[str, float] = field(repr=False)

    def __getitem__(self, name: str) -> Any:
        """The value of an output."""
        return self.outputs[name]

    def __iter__(self) -> Iterator[str]:
        """The names of the outputs."""
        return iter(self.outputs)

    def __len__(self) -> int:
        """The number of outputs."""
        return len(self.outputs)


def changed(config: Config, change: Config | str | Path | Mapping[str, Any] | None) -> Config:
    """``change`` if it is or names a configuration, else ``config`` with these changes."""
    if isinstance(change, Config | str | Path):
        return as_config(change)
    return config.with_changes(change) if change else config


def known_to(graph: FunctionGraph, given: Mapping[str, Any]) -> dict[str, Any]:
    """``given`` without names that ``graph`` lacks, such as a removed corpus or parameter."""
    known = graph.nodes.keys() | RUN_INPUTS | set(REPORTS)
    return {name: value for name, value in given.items() if name in known}
