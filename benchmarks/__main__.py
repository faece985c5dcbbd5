"""Run the benchmarks one after the other and print their tables: `make bench`.

    python -m benchmarks [NAME ...]

Those that need judged data say so and are left out where it is absent.
"""

from __future__ import annotations

import subprocess
import sys

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
JUDGED = {"quality", "end_to_end", "versions", "version_cost", "lineage", "neardup"}


def main() -> int:
    chosen = sys.argv[1:] or list(ALL)
    unknown = [name for name in chosen if name not in ALL]
    if unknown:
        print(f"unknown benchmark {unknown[0]!r}; there are: {', '.join(ALL)}")
        return 2
    failed = []
    for name in chosen:
        print(f"\n## {name}\n", flush=True)
        if name in JUDGED and not data_folder().is_dir():
            print(f"left out: no judged data in {data_folder()} (CROSSCORPUS_TEST_DATA)")
            continue
        command = [sys.executable, "-m", f"benchmarks.{name}", *ALL[name]]
        if subprocess.run(command, check=False).returncode:
            failed.append(name)
    if failed:
        print(f"\nfailed: {', '.join(failed)}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
