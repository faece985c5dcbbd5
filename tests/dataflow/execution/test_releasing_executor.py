"""A run leaves none of its values behind."""

import gc
import weakref

import pytest
from hamilton import ad_hoc_utils, driver

from dataflow.execution.releasing_executor import ReleasingExecutor


class Batch(list):
    """A list that can be watched."""


@pytest.fixture
def no_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collector")
def test_a_run_of_the_graph_leaves_none_of_its_values_behind():
    made = []

    def watched(batch: list) -> Batch:
        value = Batch(batch)
        made.append(weakref.ref(value))
        return value

    def asked(watched: Batch) -> int:
        return len(watched)

    module = ad_hoc_utils.create_temporary_module(watched, asked, module_name="watched")
    built = driver.Builder().with_modules(module).build()
    built.graph_executor = ReleasingExecutor(built.adapter)
    handed = Batch([1, 2])
    assert built.execute(["asked"], inputs={"batch": handed}) == {"asked": 2}
    made.append(weakref.ref(handed))
    del handed
    assert [ref() for ref in made] == [None, None]


def test_inputs_and_overrides_can_be_asked_for():
    def doubled(number: int) -> int:
        return 2 * number

    module = ad_hoc_utils.create_temporary_module(doubled, module_name="doubling")
    built = driver.Builder().with_modules(module).build()
    built.graph_executor = ReleasingExecutor(built.adapter)
    assert built.execute(["doubled", "number"], inputs={"number": 2}) == {"doubled": 4, "number": 2}
    assert built.execute(["doubled"], inputs={"number": 2}, overrides={"doubled": 7}) == {
        "doubled": 7
    }
