"""Plans of a graph that has nothing to do with ours."""

from __future__ import annotations

import functools

import pytest
from hamilton import ad_hoc_utils, driver
from hamilton.function_modifiers import tag

from dataflow.execution.plan import MissingInput, make_plan, node_tags


@tag(io="radio", fail_open="yes")
def reading(site: str) -> int:
    """What the station sent."""
    return len(site)


def doubled(reading: int) -> int:
    """Twice."""
    return 2 * reading


def unused(reading: int) -> int:
    """Not asked for."""
    return reading


@functools.cache
def graph():
    module = ad_hoc_utils.create_temporary_module(reading, doubled, unused, module_name="planned")
    return driver.Builder().with_modules(module).build().graph


def test_only_what_is_needed_runs_and_waits_for_what_it_reads() -> None:
    plan = make_plan(graph(), ["doubled"], {}, {"site": "north"})
    found = [(step.name, step.waits, step.io, step.fail_open) for step in plan.steps]
    assert sorted(found, key=lambda step: step[1]) == [
        ("reading", 0, True, True),
        ("doubled", 1, False, False),
    ]


def test_what_is_overridden_does_not_run() -> None:
    plan = make_plan(graph(), ["doubled"], {"reading": 1}, {})
    assert [step.name for step in plan.steps] == ["doubled"]


def test_a_missing_input_is_named_with_who_needs_it() -> None:
    with pytest.raises(MissingInput, match="'site', which reading needs"):
        make_plan(graph(), ["doubled"], {}, {})


def test_tags_are_those_that_the_author_gave() -> None:
    assert node_tags(graph().nodes["reading"])["io"] == "radio"
