"""What `make soak` calls growth without bound, on series that are known."""

from __future__ import annotations

import random
from typing import Any

from benchmarks.soak_samples import growth, unbounded


def series(column: str, values: list[float], **more: list[Any]) -> list[dict[str, Any]]:
    """A sample every ten seconds."""
    return [
        {"second": 10.0 * n, column: value} | {name: of[n] for name, of in more.items()}
        for n, value in enumerate(values)
    ]


def test_a_leak_grows_without_bound_and_noise_and_a_saw_do_not() -> None:
    draw = random.Random(0)
    lives = [1] * 360
    leaks = [300 + n / 3 + draw.gauss(0, 10) for n in range(360)]
    assert unbounded(series("server_mib", leaks, server=lives), "server_mib")
    warm = [300 - 100 * 0.9**n + draw.gauss(0, 10) for n in range(360)]
    assert not unbounded(series("server_mib", warm, server=lives), "server_mib")
    saw = [1_000.0 * (n % 20) for n in range(360)]
    assert not unbounded(series("dead_rows", saw), "dead_rows")


def test_a_process_that_starts_again_has_a_level_of_its_own() -> None:
    lives = [n // 90 for n in range(360)]
    steps = [300.0 + 100 * life for life in lives]
    assert not unbounded(series("server_mib", steps, server=lives), "server_mib")
    leaks = [300.0 + n % 90 for n in range(360)]
    found = growth(series("server_mib", leaks, server=lives), "server_mib")
    assert found
    assert round(found[0]) == 83
    assert unbounded(series("server_mib", leaks, server=lives), "server_mib")


def test_of_a_few_samples_nothing_is_said() -> None:
    assert growth([], "connections") is None
    assert growth(series("connections", [1.0, 9.0]), "connections") is None
