"""The scheduler against FutureAdapter and plain threads, and what the graph adds to a question.

    python -m benchmarks.scheduler [--runs 15] [--questions 500]

Six branches of one 20 ms search and one cheap step each, six workers; then the time that the graph
itself takes for a question over all corpora of the default, when every node returns at once.
"""

from __future__ import annotations

import argparse
import logging
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import Any

from hamilton import ad_hoc_utils, driver
from hamilton.function_modifiers import tag
from hamilton.plugins.h_threadpool import FutureAdapter

from dataflow.configuration.catalog import DRIVER_INPUTS
from dataflow.configuration.config_model import load_config
from dataflow.driver.retrieval_driver import build_graph
from dataflow.execution.plan import make_plan
from dataflow.execution.scheduler import Scheduler

BRANCHES, SECONDS, WORKERS = 6, 0.020, 6


def branches() -> ModuleType:
    """Six searches that sleep, a step behind each, and the node that joins them."""
    names = "abcdef"[:BRANCHES]
    text = "\n".join(
        f"def search_{n}(seed: int) -> int:\n    sleep(SECONDS)\n    return seed\n"
        f"def merged_{n}(search_{n}: int) -> int:\n    return search_{n}"
        for n in names
    )
    text += f"\ndef joined({', '.join(f'merged_{n}: int' for n in names)}) -> int:\n    return 1\n"
    space: dict[str, Any] = {"sleep": time.sleep, "SECONDS": SECONDS}
    exec(text, space)
    functions = [f for f in space.values() if getattr(f, "__annotations__", None)]
    for function in functions:
        if function.__name__.startswith("search_"):
            tag(io="benchmark")(function)
    return ad_hoc_utils.create_temporary_module(*functions, module_name="branches")


def median_ms(call: Callable[[], Any], runs: int) -> float:
    """Median wall time of ``call`` in milliseconds, after a warm-up."""
    call()
    times = []
    for _ in range(runs):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return statistics.median(times) * 1000


def race(runs: int) -> None:
    """Print the wall time of six 20 ms branches under each way to run them."""
    module = branches()
    plain = driver.Builder().with_modules(module)

    def run(built: driver.Driver) -> Callable[[], Any]:
        return lambda: built.execute(["joined"], inputs={"seed": 1})

    ours = plain.copy().build()
    ours.graph_executor = Scheduler(WORKERS)
    future = {
        n: plain.copy().with_adapters(FutureAdapter(n)).build() for n in (WORKERS, BRANCHES * 2 + 1)
    }
    pool = ThreadPoolExecutor(WORKERS)
    rows = [("crosscorpus scheduler", WORKERS, run(ours))]
    rows += [("Hamilton FutureAdapter", n, run(built)) for n, built in future.items()]
    rows += [
        ("plain threads", WORKERS, lambda: list(pool.map(time.sleep, [SECONDS] * BRANCHES))),
        ("Hamilton, one thread", 1, run(plain.copy().build())),
    ]
    print(f"{BRANCHES} branches of {SECONDS * 1000:.0f} ms")
    for name, workers, call in rows:
        print(f"  {name:24} {workers:3} workers  {median_ms(call, runs):7.1f} ms")


def overhead(questions: int) -> None:
    """Print what the retrieval graph costs a question when every node returns at once."""
    config = load_config("default")
    began = time.perf_counter()
    built = build_graph(config)
    build_ms = (time.perf_counter() - began) * 1000
    scheduler = Scheduler(config.workers)
    outputs = ["results", "context_window", "citations", "notes"]
    inputs: dict[str, Any] = dict.fromkeys(DRIVER_INPUTS) | {"query": "q"}
    plan = make_plan(built.graph, outputs, {}, inputs)
    for node in [step.node for step in plan.steps]:
        node._callable = lambda **arguments: None

    def ask() -> Any:
        return scheduler.execute(built.graph, outputs, {}, dict(inputs, timings={}), "run")

    io = sum(step.io for step in plan.steps)
    print(
        f"retrieval graph, {len(config.corpora)} corpora, {len(plan.steps)} nodes, {io} on the pool"
    )
    print(f"  build                  {build_ms:7.2f} ms")
    print(f"  execute, empty nodes   {median_ms(ask, questions):7.2f} ms a question")
    scheduler.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=15, help="of the six branches, each way")
    parser.add_argument("--questions", type=int, default=500, help="with empty nodes")
    args = parser.parse_args()
    logging.disable(logging.CRITICAL)
    race(args.runs)
    overhead(args.questions)


if __name__ == "__main__":
    main()
