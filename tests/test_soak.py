"""What `make soak` calls growth without bound, on series that are known."""

from __future__ import annotations

import random
from typing import Any

from benchmarks.soak_samples import unbounded


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
