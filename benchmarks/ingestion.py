"""Ingestion: files, megabytes and chunks a second a source, peak memory, and runs without change.

    python -m benchmarks.ingestion [--files 1000 10000] [--sources folder pdf wiki dump git ...]
                                   [--model minilm]

Each line is a process of its own, so that its peak memory is its own. Embedding is timed apart:
without ``--model`` vectors are hashes of words, which cost next to nothing. ``CPU s`` is that of
the process and of the children that parse for it, without the server's. ``again`` is a run over the
same, unchanged source.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import resource
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from operators.postgres.server.embedded_server import start

SOURCES = ("folder", "pdf", "wiki", "dump", "git", "documents", "reviews")
READERS = {"pdf": "folder", "dump": "wiki"}
ENDINGS = {"git": "py", "wiki": "mediawiki", "pdf": "pdf"}
# As in real text, a few words are frequent, and there are more than any cache of words holds.
WORDS = [f"word{n}" for n in range(40_000)]
SHARES = list(accumulate(1 / (n + 3) for n in range(len(WORDS))))


class Hashes:
    """Vectors from hashes of words, of minilm's width and window."""

    model, space, dimensions, max_tokens = "hashes", "hashes-1", 384, 254

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Words and signs."""
        return [len(re.findall(r"\w+|[^\w\s]", text)) for text in texts]

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Bags of hashed words, of length one."""
        vectors = np.full((len(texts), self.dimensions), 0.01, dtype=np.float32)
        for row, text in enumerate(texts):
            np.add.at(vectors[row], [zlib.crc32(w.encode()) % 384 for w in text.split()], 1)
        lengths: NDArray[np.float32] = np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors / lengths

    embed_queries = embed_documents


def write_source(kind: str, folder: Path, files: int) -> Path:
    """Make a source of ``files`` documents of about 4 KB; the same one every time."""
    draw = random.Random(0)
    texts = (
        f"# Page {n}\n\n"
        + "\n".join(" ".join(draw.choices(WORDS, cum_weights=SHARES, k=10)) for _ in range(60))
        for n in range(files)
    )
    if kind in _LINES:
        with (folder / kind).open("w") as out:
            out.writelines(_LINES[kind](n, text) for n, text in enumerate(texts))
            if kind == "dump":
                out.write("</mediawiki>")
        return folder / kind
    for n, text in enumerate(texts):
        name = folder / f"part{n % 100}" / f"page{n}.{ENDINGS.get(kind, 'md')}"
        name.parent.mkdir(exist_ok=True)
        name.write_bytes(_pdf(text) if kind == "pdf" else text.encode())
    if kind == "git":
        identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
        for command in (["init", "-q"], ["add", "."], [*identity, "commit", "-qm", "All"]):
            subprocess.run(["git", *command], cwd=folder, check=True)
    return folder


def _page(n: int, text: str) -> str:
    head = "" if n else "<mediawiki><siteinfo><sitename>w</sitename></siteinfo>"
    return (
        f"{head}<page><title>Page {n}</title><ns>0</ns><id>{n}</id><revision><id>1</id>"
        f"<timestamp>2024-01-02T03:04:05Z</timestamp><text>{text}</text></revision></page>"
    )


def _remark(n: int, text: str) -> str:
    url = f"https://api.github.com/repos/org/app/pulls/{n}"
    moment = "2024-01-02T03:04:05Z"
    return json.dumps(
        {
            "id": n + 1, "url": f"https://api.github.com/repos/org/app/pulls/comments/{n + 1}",
            "pull_request_url": url, "html_url": f"https://github.com/org/app/pull/{n}#d{n}",
            "path": "src/app.py", "diff_hunk": "@@ -1 +1 @@", "body": text, "line": 1,
            "user": {"login": "ada", "type": "User"}, "created_at": moment, "updated_at": moment,
        }
    ) + "\n"  # fmt: skip


_LINES = {
    "documents": lambda n, text: (
        json.dumps({"doc_id": f"d{n}", "corpus": "docs", "text": text}) + "\n"
    ),
    "dump": _page,
    "reviews": _remark,
}


def _pdf(text: str) -> bytes:
    """A PDF of one page with the lines of ``text``."""
    lines = b" T* ".join(b"(%s) Tj" % line.encode() for line in text.split("\n"))
    content = b"BT /F 8 Tf 10 TL 20 780 Td %s ET" % lines
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Count 1/Kids[4 0 R]>>",
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 900 800]/Contents 5 0 R"
        b"/Resources<</Font<</F 3 0 R>>>>>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(content), content),
    ]
    made, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, start=1):
        places.append(b"%010d 00000 n \n" % len(made))
        made += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"xref\n0 6\n0000000000 65535 f \n" + b"".join(places)
    return made + table + b"trailer<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % len(made)


def measure(kind: str, source: Path, dsn: str, model: str | None) -> dict[str, Any]:
    """Ingest ``source`` into a collection of its own, in this process."""
    from dataflow.ingestion import sources
    from dataflow.ingestion.loop import ingest
    from operators.embedding.registry import load_embedder
    from operators.postgres.store import open_store

    embedder: Any = load_embedder(model) if model else Hashes()
    exported = kind == "reviews"
    read: Any = sources.records if exported else getattr(sources, READERS.get(kind, kind))
    how: dict[str, Any] = {"map": "github"} if exported else {}
    before = _peak()
    with open_store(dsn, f"bench-{kind}-{source.parent.name}", create=True) as store:
        report = ingest(store, embedder, read(source, **how))
    return {
        "documents": report.documents_new,
        "unchanged": report.documents_unchanged,
        "failed": len(report.failed),
        "chunks": report.chunks,
        "seconds": report.seconds - report.embedding_seconds,
        "embedding": report.embedding_seconds,
        "cpu": _cpu(),
        "before": before,
        "peak": _peak(),
    }


def _cpu() -> float:
    """Seconds of CPU of this process and of its children."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def _peak() -> float:
    """Largest resident set of this process so far, MB."""
    status = Path("/proc/self/status").read_text()
    match = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(match[1]) / 1024 if match else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument("--sources", nargs="+", default=list(SOURCES), choices=SOURCES)
    parser.add_argument("--model")
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        kind, source, dsn = options.measure
        print(json.dumps(measure(kind, Path(source), dsn, options.model)))
        return
    print("| source | files | MB | chunks | s | files/s | MB/s | chunks/s | embedding s ", end="")
    print("| CPU s | peak MB | of it at start | again s | again peak MB |")
    print("|---|" + "---|" * 13)
    settings = {"shared_buffers": "256MB"}
    with tempfile.TemporaryDirectory(prefix="crosscorpus-bench-") as home:
        Path(home).chmod(0o711)
        with start(Path(home) / "postgres", settings=settings) as server:
            for kind in options.sources:
                for files in options.files:
                    print(_line(kind, files, Path(home), server.dsn, options.model), flush=True)


def _line(kind: str, files: int, home: Path, dsn: str, model: str | None) -> str:
    folder = home / f"{kind}-{files}" / "source"
    folder.mkdir(parents=True)
    source = write_source(kind, folder, files)
    size = sum(f.stat().st_size for f in folder.rglob("*") if f.is_file() and ".git" not in f.parts)
    megabytes = size / 1e6
    command = [sys.executable, "-m", "benchmarks.ingestion", "--measure", kind, str(source), dsn]
    command += ["--model", model] if model else []
    first, again = (
        json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        for _ in range(2)
    )
    seconds = first["seconds"]
    cells = [
        f"{files:,}", f"{megabytes:.1f}", f"{first['chunks']:,}", f"{seconds:.1f}",
        f"{files / seconds:.0f}", f"{megabytes / seconds:.2f}", f"{first['chunks'] / seconds:.0f}",
        f"{first['embedding']:.1f}", f"{first['cpu']:.1f}",
        f"{first['peak']:.0f}", f"{first['before']:.0f}",
        f"{again['seconds']:.2f}", f"{again['peak']:.0f}",
    ]  # fmt: skip
    return f"| {kind} | {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
