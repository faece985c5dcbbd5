"""A small graph that has nothing to do with ours: weather stations, each a sub-graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hamilton import ad_hoc_utils, driver
from hamilton.function_modifiers import (
    config,
    extract_fields,
    parameterized_subdag,
    resolve_from_config,
    source,
    subdag,
    tag,
    value,
)
from hamilton.graph import FunctionGraph

from dataflow.visualization.graph_model import Description, describe

STATIONS = {"north": {}, "south": {}, "west": {}}


def station_module():
    @tag(stage="measured", io="radio")
    @extract_fields({"warm": list, "wet": list})
    def reading(site: str, days: int, window: Any = 7) -> dict:
        """What the station sent."""
        return {"warm": [len(site)] * days, "wet": [window]}

    @tag(stage="averaged")
    @config.when(mean_kind="plain")
    def mean__plain(warm: list) -> float:
        """The arithmetic mean."""
        return sum(warm) / len(warm)

    @tag(stage="averaged")
    @config.when(mean_kind="trimmed")
    def mean__trimmed(warm: list, cut: int = 1) -> float:
        """The mean without the extremes."""
        return sum(warm[cut:]) / len(warm[cut:])

    @tag(stage="averaged")
    def spread(warm: list, mean: float) -> float:
        """How far the days differ."""
        return max(warm) - mean

    functions = (reading, mean__plain, mean__trimmed, spread)
    return ad_hoc_utils.create_temporary_module(*functions, module_name="station")


def weather_module(station):
    @resolve_from_config(
        decorate_with=lambda stations: parameterized_subdag(
            station,
            **{
                name: {
                    "inputs": {
                        "site": value(name),
                        "days": source("days"),
                        "window": value(options.get("window", 7)),
                    },
                    "config": {"mean_kind": options.get("mean_kind", "plain")},
                }
                for name, options in stations.items()
            },
        )
    )
    def station_mean(mean: float) -> float:
        """One station."""
        return mean

    @subdag(station, inputs={"site": value("sea")}, config={"mean_kind": "trimmed"})
    def buoy(mean: float, spread: float) -> float:
        """A sub-graph that works something out of its nodes."""
        return mean - spread

    @tag(stage="asked")
    def days(weeks: int) -> int:
        """The length of a period."""
        return weeks * 7

    @tag(stage="told")
    def forecast(north: float, south: float, buoy: float, gain: float) -> float:
        """What will be."""
        return (north + south + buoy) * gain

    @tag(stage="told")
    def bulletin(forecast: float, days: int) -> str:
        """What is said."""
        return f"{forecast:.1f} ({days} days)"

    functions = (station_mean, buoy, days, forecast, bulletin)
    return ad_hoc_utils.create_temporary_module(*functions, module_name="weather")


@pytest.fixture(scope="session")
def weather() -> Callable[..., FunctionGraph]:
    """Builds the graph: stations by name with what each has of its own, and a gain."""

    module = weather_module(station_module())

    def build(stations=STATIONS, gain: float = 1.5) -> FunctionGraph:
        built = driver.Builder().with_modules(module)
        return (
            built.with_config(
                {
                    "hamilton.enable_power_user_mode": True,
                    "stations": stations,
                    "gain": gain,
                }
            )
            .build()
            .graph
        )

    return build


@pytest.fixture(scope="session")
def described(weather) -> Callable[..., Description]:
    """Describes the graph that ``weather`` builds of the same arguments."""

    def make(*arguments, **options) -> Description:
        return describe(weather(*arguments, **options), structure={"stations"})

    return make
