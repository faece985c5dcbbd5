"""Run the benchmarks one after the other and print their tables: `make bench`.

    python -m benchmarks [NAME ...] [OPTION ...]

Those that need judged data say so and are left out where it is absent. ``semble``, ``tokens``,
``octocode``, ``swe``, ``newcomer``, ``review`` and ``aacr`` run only where they are named; they
need clones too, and say which. Options go to the benchmarks that are named.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from benchmarks.judged import data_folder

ALL = {
    "scheduler": [],
    "post_search": [],
    "filtered_recall": [],
    "bm25_cpu": [],
    "ingestion": [],
    "quality": ["secp", "btc", "cosqa", "cranfield", "--channels"],
    "end_to_end": ["btc"],
    "versions": [],
    "version_cost": [],
    "lineage": [],
    "neardup": [],
}
ON_CLONES = {
    "semble": [],
    "tokens": [],
    "octocode": [],
    "swe": [],
    "newcomer": [],
    "review": [],
    "aacr": [],
}
"""Benchmarks on clones of repositories: embedding these takes an hour or more."""
JUDGED = {"semble", "tokens", "swe", "quality", "end_to_end", "versions", "version_cost", "neardup"}
HELPERS = {"aacr_remarks", "clones", "judged", "peers_worker", "scale_source", "section_history"}
HELPERS |= {"soak_callers", "soak_samples", "soak_source"}
"""Modules of this package that are no benchmarks."""


def names() -> list[str]:
    """Every benchmark of the package, also those that are run by themselves."""
    modules = {file.stem for file in Path(__file__).parent.glob("[!_]*.py")}
    return sorted(modules - HELPERS)


def main() -> int:
    known = ALL | ON_CLONES
    others = ", ".join(name for name in names() if name not in known)
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Run the benchmarks one after the other and print their tables.",
        epilog=f"By themselves (python -m benchmarks.NAME --help): {others}.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(known))
    options, extra = parser.parse_known_args()
    chosen = options.names or list(ALL)
    if extra and not options.names:
        parser.error(f"{extra[0]} needs the name of a benchmark")
    if unknown := [name for name in chosen if name not in known]:
        parser.error(f"unknown benchmark {unknown[0]!r}; there are: {', '.join(known)}")
    failed = []
    for name in chosen:
        print(f"\n## {name}\n", flush=True)
        if name in JUDGED and not data_folder().is_dir():
            print(f"left out: no judged data in {data_folder()} (CROSSCORPUS_TEST_DATA)")
            continue
        command = [sys.executable, "-m", f"benchmarks.{name}", *known[name], *extra]
        if subprocess.run(command, check=False).returncode:
            failed.append(name)
    if failed:
        print(f"\nfailed: {', '.join(failed)}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
