"""The dependencies without a wheel, for each platform and Python: `python -m tools.platforms`.

It resolves all extras, or those that are arguments, and installs nothing. A package with a source
archive only is compiled; one that has neither cannot be installed."""

import os
import re
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

from packaging import tags, utils

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"
GLIBC = ["manylinux1", "manylinux2014", *(f"manylinux_2_{minor}" for minor in range(5, 29))]
PLATFORMS = {
    "x86_64-manylinux_2_28": [f"{name}_x86_64" for name in GLIBC],
    "aarch64-manylinux_2_28": [f"{name}_aarch64" for name in GLIBC],
    "x86_64-unknown-linux-musl": [f"musllinux_1_{minor}_x86_64" for minor in range(3)],
    "aarch64-apple-darwin": list(tags.mac_platforms((14, 0), "arm64")),
    "x86_64-apple-darwin": list(tags.mac_platforms((14, 0), "x86_64")),
    "x86_64-pc-windows-msvc": ["win_amd64"],
}  # uv's name -> the tags of its wheels
NO_FILE = re.compile(r"(?:because|of|that)\s+([a-z0-9][a-z0-9._-]*)\S*\s+(?:have|has) no", re.I)


def gaps(platform: str, minor: int) -> list[str]:
    """The packages without a wheel, each with the consequence."""
    missing: list[str] = []
    with TemporaryDirectory() as folder:
        excludes, lock = Path(folder, "excludes.txt"), Path(folder, "pylock.toml")
        command = ["uv", "pip", "compile", str(PYPROJECT), "-q", "-o", str(lock), "--excludes"]
        command += [str(excludes), f"--python-platform={platform}", f"--python-version=3.{minor}"]
        command += [f"--extra={extra}" for extra in sys.argv[1:]] or ["--all-extras"]
        excludes.touch()
        while (done := subprocess.run(command, capture_output=True, text=True)).returncode:
            if not (name := NO_FILE.search(done.stderr)) or name[1] in missing:
                return [f"does not resolve: {' '.join(done.stderr.split())}"]
            missing.append(name[1])
            excludes.write_text("\n".join(missing))
        known = {*tags.cpython_tags((3, minor), platforms=PLATFORMS[platform])}
        known |= {*tags.compatible_tags((3, minor), f"cp3{minor}", PLATFORMS[platform])}
        found = [f"{name} cannot be installed" for name in missing]
        for package in tomllib.loads(lock.read_text())["packages"]:
            wheels = (each["url"].rpartition("/")[2] for each in package.get("wheels", ()))
            if all(known.isdisjoint(utils.parse_wheel_filename(wheel)[3]) for wheel in wheels):
                found.append(f"{package['name']} is compiled")
    return found


if __name__ == "__main__":
    os.environ["MACOSX_DEPLOYMENT_TARGET"] = "14.0"  # uv reads it
    cases = list(product(PLATFORMS, range(11, 15)))
    with ThreadPoolExecutor(8) as pool:  # it mostly waits for the index
        for case, found in zip(cases, pool.map(lambda case: gaps(*case), cases), strict=True):
            print(f"{case[0]} 3.{case[1]}: {', '.join(found) or 'all wheels'}", flush=True)
