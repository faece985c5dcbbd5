"""Files of a model repository on a hub (huggingface.co, or what ``HF_ENDPOINT`` names), verified.

A hub may be hostile, and may answer differently the second time. So the requests are our own, and
nothing that a hub says names a file before its form is checked: a commit and hashes are hexadecimal
digits, names have no part that leads elsewhere. Headers and redirects name nothing. Each file is
compared with the size and the hash that the repository states for the commit: SHA-256 of large
files, git's own of the others.

The files lie in the user's usual cache (``HF_HOME``), in the layout of the package
``huggingface_hub``, which also knows the user's token. A download resumes after a lost connection;
a later run downloads only incomplete files again.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Annotated
from urllib.parse import quote, urlsplit

import httpx2
from filelock import FileLock
from pydantic import BaseModel, Field

from crosscorpus.model_builds.repository_json import parsed
from operators.embedding.protocol import EmbeddingError, ModelNotInstalled, file_sha256
from operators.foundation.certificates import untrusted
from operators.foundation.escape import label_text

PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle", ".h5", ".msgpack", ".ot")
"""Endings of files that are never downloaded: loading a pickle can run code."""

_PLAIN = re.compile(r"(?:\w[\w.+-]*/)*\w[\w.+-]*", re.ASCII)
"""A name that stays within the folder it is put into. No file with another name is needed."""
_LICENCE = re.compile(r"license:([\w.+-]{1,80})", re.ASCII)
_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")
_HUB = "https://huggingface.co"
_TRIES, _PAUSE_S = 3, 0.5
"""Attempts in a row that bring nothing, as the connection is lost."""
_REDIRECTS = 10
_TIMEOUT_S, _CONNECT_S = 30, 10
_LARGEST_ANSWER = 50_000_000
"""Maximum bytes of the list of a repository's files."""

_Size = Annotated[int, Field(ge=0, le=2**50)]
_Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
_Sha1 = Annotated[str, Field(pattern="^[0-9a-f]{40}$")]


class _Large(BaseModel):
    size: _Size
    sha256: _Sha256


class _Sibling(BaseModel):
    rfilename: str
    size: _Size | None = None
    blob: _Sha1 | None = Field(None, alias="blobId")
    lfs: _Large | None = None


class _Answer(BaseModel):
    """The parts of a hub's answer about a repository that are used."""

    sha: _Sha1 | None = None
    tags: list[str] | None = None
    siblings: list[_Sibling] | None = None


@dataclass(frozen=True)
class HubFile:
    """A repository's record of a file: ``hash`` is its SHA-256, or git's own (40 digits)."""

    size: int
    hash: str


@dataclass(frozen=True)
class Published:
    """One commit of a repository."""

    repository: str
    commit: str
    licence: str
    files: dict[str, HubFile]

    def has(self, name: str) -> bool:
        """Whether the commit has the file ``name``."""
        return name in self.files


def look_up(repository: str, revision: str) -> Published:
    """The current commit of ``revision`` (or the default branch, if empty), and its files.

    Raises:
        ModelNotInstalled: there is none, it is gated, the hub cannot be reached, or it is neither
            https nor on this machine.
    """
    at = f"/revision/{quote(revision, safe='')}" if revision else ""
    url = f"{_endpoint()}/api/models/{repository}{at}?blobs=true"
    content = bytearray()

    def ask() -> None:
        content.clear()
        with _client() as client, _answer(client, url, {}) as response:
            if response.status_code != HTTPStatus.OK:
                raise _refusal(response, repository, revision)
            for piece in response.iter_raw():
                content.extend(piece)
                if len(content) > _LARGEST_ANSWER:
                    raise ModelNotInstalled(f"the hub's answer on 'hf:{repository}' has no end")

    _repeat(ask, lambda: 0, repository)
    answer = parsed(bytes(content), _Answer, f"what the hub says of 'hf:{repository}'")
    files = {
        each.rfilename: HubFile(
            (each.lfs.size if each.lfs else each.size) or 0,
            (each.lfs.sha256 if each.lfs else each.blob) or "",
        )
        for each in answer.siblings or []
        if _PLAIN.fullmatch(each.rfilename)
    }
    licences = [match[1] for tag in answer.tags or [] if (match := _LICENCE.fullmatch(tag))]
    if not answer.sha or not files:
        raise ModelNotInstalled(f"'hf:{repository}' has no commit with files")
    return Published(repository, answer.sha, (licences or [""])[0], files)


def fetch(published: Published, names: Iterable[str]) -> dict[str, Path]:
    """Download ``names`` of a commit and return their paths; existing files are kept.

    Raises:
        ModelNotInstalled: the repository lacks one, it is gated, or the hub cannot be reached.
        EmbeddingError: a file differs from its hash, even after a second download.
    """
    paths = {}
    with _client() as client:
        for name in names:
            if not published.has(name):
                raise ModelNotInstalled(f"'hf:{published.repository}' has no {label_text(name)}")
            if name.endswith(PICKLES):
                raise EmbeddingError(f"{name} is not fetched: to read it can run code")
            if not published.files[name].hash:
                raise EmbeddingError(
                    f"the hub gives no hash of {name} of 'hf:{published.repository}'"
                )
            paths[name] = _cached(client, published, name)
    return paths


def _cached(client: httpx2.Client, published: Published, name: str) -> Path:
    """The file in the cache, downloaded if it is not there or differs."""
    from huggingface_hub import constants

    expected, folder = published.files[name], f"models--{published.repository.replace('/', '--')}"
    cache = Path(constants.HF_HUB_CACHE)
    link = cache / folder / "snapshots" / published.commit / name
    if _is(link, expected):
        return link
    blob = cache / folder / "blobs" / expected.hash
    lock = cache / ".locks" / folder / f"{expected.hash}.lock"
    try:
        for path in (link, blob, lock):
            path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(lock):
            if not _is(blob, expected):
                _download(client, published, name, blob)
            link.unlink(missing_ok=True)
            try:
                link.symlink_to(os.path.relpath(blob, link.parent))
            except OSError:  # a file system, or an account of Windows, without links
                shutil.copyfile(blob, link)
    except OSError as error:
        raise ModelNotInstalled(f"cannot write {str(cache)!r}: {error.strerror}") from error
    return link


def _download(client: httpx2.Client, published: Published, name: str, blob: Path) -> None:
    expected, part = published.files[name], blob.with_name(f"{blob.name}.crosscorpus")
    for _ in range(2):  # a damaged beginning is repaired
        _repeat(
            lambda: _append(client, published, name, part),
            lambda: _size(part),
            published.repository,
            name,
        )
        if _is(part, expected):
            part.replace(blob)
            return
        part.unlink(missing_ok=True)
    what = f"{name} of 'hf:{published.repository}' differs from the hash that the hub gives"
    raise EmbeddingError(f"{what}: nothing is installed")


def _append(client: httpx2.Client, published: Published, name: str, part: Path) -> None:
    """Download the rest of a file, at most its stated size."""
    size, start, repository = published.files[name].size, _size(part), published.repository
    url = f"{_endpoint()}/{repository}/resolve/{published.commit}/{quote(name)}"
    if size - start > shutil.disk_usage(part.parent).free:
        raise ModelNotInstalled(f"{str(part.parent)!r} has no room for {name}, {size:,} bytes")
    headers = {"Range": f"bytes={start}-"} if start else {}
    with _answer(client, url, headers) as response:
        code = response.status_code
        if code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            return  # what is there is whole, or too long
        if code not in (HTTPStatus.OK, HTTPStatus.PARTIAL_CONTENT):
            raise _refusal(response, repository, published.commit, name)
        with part.open("ab" if code == HTTPStatus.PARTIAL_CONTENT else "wb") as file:
            for piece in response.iter_raw():
                file.write(piece)
                if file.tell() > size:
                    return


def _size(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


def _repeat(
    work: Callable[[], None],
    progress: Callable[[], int],
    repository: str,
    name: str = "",
) -> None:
    """Run ``work``; again if the connection is lost.

    It is an error after ``_TRIES`` attempts in a row that did not increase ``progress``.
    """
    failed, most = 0, progress()
    while True:
        try:
            return work()
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
            refusal = _unreachable(error, repository, name)
            if not isinstance(error, httpx2.TransportError) or untrusted(error):
                raise refusal from error
        failed = 1 if progress() > most else failed + 1
        most = max(most, progress())
        if failed >= _TRIES:
            raise refusal
        time.sleep(_PAUSE_S * 2**failed)


def _is(path: Path, expected: HubFile) -> bool:
    if not path.is_file() or path.stat().st_size != expected.size:
        return False
    if len(expected.hash) == 64:
        return file_sha256(path) == expected.hash
    blob = b"blob %d\0" % expected.size + path.read_bytes()
    return hashlib.sha1(blob, usedforsecurity=False).hexdigest() == expected.hash


def _client() -> httpx2.Client:
    """A client with the user's token; it asks for bytes as they are, so that nothing unpacks."""
    from huggingface_hub import constants, get_token

    if constants.HF_HUB_OFFLINE:
        raise ModelNotInstalled("no model can be fetched: HF_HUB_OFFLINE is set")
    headers = {"Accept-Encoding": "identity", "User-Agent": "crosscorpus"}
    if not constants.HF_HUB_DISABLE_IMPLICIT_TOKEN and (token := get_token()):
        headers["Authorization"] = f"Bearer {token}"
    timeout = httpx2.Timeout(_TIMEOUT_S, connect=_CONNECT_S)
    return httpx2.Client(headers=headers, timeout=timeout, follow_redirects=False)


@contextmanager
def _answer(client: httpx2.Client, url: str, headers: dict[str, str]) -> Iterator[httpx2.Response]:
    """The answer at the end of redirects, none of them less safe than the hub's own address.

    The token goes to no other host. The body of a redirect is not read.
    """
    here = urlsplit(url).scheme == "http"
    request = client.build_request("GET", url, headers=headers)
    for _ in range(_REDIRECTS):
        address = f"{request.url.scheme}://{request.url.netloc.decode('ascii').rpartition('@')[2]}"
        safe = request.url.scheme == "https"
        if request.url.scheme == "http":
            safe = here and request.url.host.strip("[]") in _THIS_MACHINE
        if not safe:
            raise ModelNotInstalled(
                f"{label_text(address)[:200]} is not https: whoever is between can read the token"
                " and exchange the model; set HF_ENDPOINT to an address by https"
            )
        response = client.send(request, stream=True)
        try:
            if response.next_request is None:
                yield response
                return
            request = response.next_request
        finally:
            response.close()
    raise httpx2.TooManyRedirects(f"more than {_REDIRECTS} redirects", request=request)


def _endpoint() -> str:
    """The hub's address."""
    return os.environ.get("HF_ENDPOINT", "").strip().rstrip("/") or _HUB


def _place(repository: str) -> str:
    """The address of a repository for people, without a password."""
    scheme, mark, rest = _endpoint().rpartition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{mark}{host.rpartition('@')[2]}{slash}{path}/{repository}"


def _refusal(
    response: httpx2.Response, repository: str, revision: str, name: str = ""
) -> ModelNotInstalled:
    """The error of a hub in one line."""
    code, what = response.headers.get("X-Error-Code", ""), f"'hf:{repository}'"
    if code == "GatedRepo":
        return ModelNotInstalled(
            f"{what} is gated: accept its terms at {_place(repository)}, then run `hf auth login`"
            " or set HF_TOKEN"
        )
    if code == "RevisionNotFound":
        return ModelNotInstalled(f"{what} has no revision {revision!r}")
    if code == "EntryNotFound":
        return ModelNotInstalled(f"{what} has no {name}")
    if code == "RepoNotFound" or response.status_code == HTTPStatus.UNAUTHORIZED:
        return ModelNotInstalled(
            f"there is no model {what} at {_place(repository)}; if it is private, run"
            " `hf auth login` or set HF_TOKEN"
        )
    says = label_text(response.headers.get("X-Error-Message", ""))[:200]
    reason = f"{response.status_code} {says or response.reason_phrase}"
    return _fetch_error(reason, repository, name)


def _unreachable(error: Exception, repository: str, name: str = "") -> ModelNotInstalled:
    text = untrusted(error) or f"{type(error).__name__}: {' '.join(str(error).split())}"
    return _fetch_error(label_text(text)[:200], repository, name)


def _fetch_error(reason: str, repository: str, name: str) -> ModelNotInstalled:
    of = f"{name} of 'hf:{repository}'" if name else f"'hf:{repository}'"
    kept = "; run the command again: files that came whole are kept" if name else ""
    return ModelNotInstalled(f"{of} cannot be fetched from {_place(repository)}: {reason}{kept}")
