"""Objects that a clone borrows from another repository, if its user has named that one.

``git clone --shared`` and ``--reference`` leave objects out, and ``objects/info/alternates`` names
the store that has them. An untrusted folder could name a private repository of the user. So only
the store that a user named for a working tree is used; the data directory keeps its name.
"""

import hashlib
import os
from pathlib import Path

from operators.errors import CrosscorpusError
from operators.foundation.data_dir import data_home

ALTERNATES = Path("info", "alternates")


def object_store(path: Path | str) -> Path:
    """The folder of objects of the repository at ``path``, without symbolic links.

    Args:
        path: a working tree, a bare repository, or a folder of objects.

    Raises:
        CrosscorpusError: it is none of them.
    """
    root = Path(os.path.realpath(os.path.expanduser(path)))
    for folder in (root / ".git" / "objects", root / "objects", root):
        if (folder / "pack").is_dir() and (folder / "info").is_dir():
            return Path(os.path.realpath(folder))
    raise CrosscorpusError(
        f"--objects-from {path} has no git objects: give a repository, or its folder `objects`"
    )


def named_store(root: Path, given: Path | str | None) -> Path | None:
    """The store that the user names for the working tree at ``root``, or named before.

    Args:
        root: the top folder, without symbolic links.
        given: as :func:`object_store` takes it; None: as before, empty: none.

    Raises:
        CrosscorpusError: ``given`` is no repository.
    """
    if given is not None:
        return object_store(given) if str(given) else None
    kept = _kept(root)
    return Path(os.fsdecode(kept.read_bytes())) if kept.exists() else None


def keep_store(root: Path, store: Path | None) -> None:
    """Record that ``root`` may borrow only from ``store``; None: from none."""
    kept = _kept(root)
    if store is None:
        kept.unlink(missing_ok=True)
        return
    kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    new = kept.with_suffix(f".{os.getpid()}")
    new.write_bytes(os.fsencode(store))
    new.replace(kept)


def strange_stores(objects: Path, store: Path | None) -> list[str]:
    """The stores other than ``store`` that ``objects`` borrows from, as its file names them.

    Those that ``store`` itself borrows from are among them.
    """
    names = [name for name, at in _borrowed(objects) if at != store]
    return names + [name for name, _ in (_borrowed(store) if store and not names else [])]


def _borrowed(objects: Path) -> list[tuple[str, Path]]:
    """Each line of the file ``alternates`` as written, and its path."""
    file = objects / ALTERNATES
    lines = file.read_bytes().split(b"\n") if file.exists() else []
    names = [os.fsdecode(line) for line in lines if line and not line.startswith(b"#")]
    return [(name, Path(os.path.realpath(os.path.join(objects, name)))) for name in names]


def _kept(root: Path) -> Path:
    key = hashlib.sha256(os.fsencode(root)).hexdigest()[:32]
    return data_home() / "object-stores" / key
