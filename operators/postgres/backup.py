"""A collection as one file, by Postgres's own ``pg_dump`` and ``pg_restore``.

They read one snapshot while an ingestion writes, restore in one transaction, and take a file to a
newer Postgres. The format is theirs: a file is a list of statements, which the server runs.
"""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict, make_conninfo

from operators.errors import CrosscorpusError
from operators.postgres.connection import connect, ensure_vector
from operators.postgres.schema.caller_views import views_schema
from operators.postgres.server.binaries import installed
from operators.postgres.server.programs import reason
from operators.postgres.store import schema_of

_AT_WORK = re.compile(r"(?:dumping contents of|processing data for) table \"[^.]+\.(.+)\"")

Progress = Callable[[str], None]
"""Gets the name of each table whose rows a program begins to copy."""


def dump_collection(dsn: str, name: str, file: Path, progress: Progress = lambda _: None) -> None:
    """Write the collection ``name`` into the new file ``file``, which only its owner can read.

    Raises:
        CrosscorpusError: the file exists, or ``pg_dump`` is missing or fails; no file is left.
        OSError: the file cannot be written.
    """
    if file.exists():
        raise CrosscorpusError(f"{file} exists: name a new file, or remove this one")
    file.parent.mkdir(parents=True, exist_ok=True)
    schema = schema_of(name)
    # In quotes: else it is a pattern, of which capitals are small letters and a dot parts names.
    schemas = (f'--schema="{one}"' for one in (schema, views_schema(schema)))
    with tempfile.TemporaryDirectory(prefix=f".{file.name}-", dir=file.parent) as folder:
        made = Path(folder, file.name)  # the folder is its owner's alone, the file as well
        made.touch(mode=0o600)
        options = ("--format=custom", "--no-owner", "--no-privileges", *schemas)
        _run("pg_dump", dsn, progress, *options, "--file", str(made))
        made.rename(file)


def restore_collection(dsn: str, file: Path, progress: Progress = lambda _: None) -> None:
    """Make a collection from a file of :func:`dump_collection`, whole or not at all.

    Raises:
        CrosscorpusError: ``pg_restore`` is missing, or fails because the file is none of its own or
            damaged, or because the collection exists.
    """
    with file.open("rb"):  # its own error names the file
        pass
    options = ("--single-transaction", "--no-owner", "--no-privileges")
    _run("pg_restore", dsn, progress, *options, str(file.absolute()))


def _run(program: str, dsn: str, progress: Progress, *options: str) -> None:
    address = conninfo_to_dict(dsn)
    # An argument is seen by everyone on the machine.
    secret = {"PGPASSWORD": str(address.pop("password"))} if address.get("password") else {}
    said = []
    with subprocess.Popen(
        [_path(program, dsn), "--verbose", f"--dbname={make_conninfo('', **address)}", *options],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        env=os.environ | secret | {"LC_ALL": "C"},
    ) as process:
        for line in process.stderr or ():
            said.append(line)
            if at_work := _AT_WORK.search(line):
                progress(at_work[1])
    if process.returncode:
        why = reason("".join(said))
        raise CrosscorpusError(f"{program} {options[-1]}: {why}{_advice(why)}")


def _advice(why: str) -> str:
    """What to do about an error of a program, if it is a known one."""
    if why.endswith("already exists"):
        return ": drop or rename that collection first (crosscorpus collections drop | rename)"
    if any(words in why for words in ("not appear to be a valid", "too short", "end of file")):
        return ": give a whole file that `crosscorpus collections export` wrote"
    return ""


def _path(program: str, dsn: str) -> str:
    """The program of the server's version, or the next newer one: an older one cannot read it."""
    with connect(dsn) as conn:
        ensure_vector(conn)
        server = conn.info.server_version // 10_000
    versions = {}
    for path in (str(installed() / "bin" / program), shutil.which(program)):
        if path is not None:
            version = subprocess.run([path, "--version"], capture_output=True, text=True).stdout
            versions[int(re.findall(r"\d+", version)[0])] = path
    if not (fitting := [version for version in versions if version >= server]):
        raise CrosscorpusError(f"{program} of Postgres {server} is missing: install its client")
    return versions[min(fitting)]
