"""The process that parses what anyone may have written."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from operators.sources.formats.pdf import (
    PdfLimits,
    PdfReader,
    PdfRefused,
)
from operators.sources.sandbox import Sandbox

MakePdf = Callable[..., bytes]


_DATA = Path(os.environ.get("CROSSCORPUS_TEST_DATA", Path(__file__).parents[5] / "shared/data"))


HOSTILE = _DATA / "hostile"


needs_hostile = pytest.mark.skipif(
    not (HOSTILE / "deep_q.pdf").exists(), reason="no hostile files: set CROSSCORPUS_TEST_DATA"
)


@pytest.fixture
def reader() -> Iterator[PdfReader]:
    with closing(PdfReader()) as reader:
        yield reader


def children() -> list[int]:
    """The processes that read PDFs for this one."""
    every = psutil.Process().children()
    return [one.pid for one in every if any("pdf_process" in word for word in one.cmdline())]


def refusal(reader: PdfReader, data: bytes) -> PdfRefused:
    with pytest.raises(PdfRefused) as caught:
        reader.read(data)
    return caught.value


def test_one_child_reads_many_files(reader: PdfReader, make_pdf: MakePdf) -> None:
    reader.read(make_pdf(["a"]))
    first = children()
    reader.read(make_pdf(["b"]))
    assert children() == first
    assert len(first) == 1


def test_the_child_has_none_of_the_programs_environment(
    reader: PdfReader, make_pdf: MakePdf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CROSSCORPUS_DSN", "postgresql://u:secret@h/d")
    reader.read(make_pdf(["a"]))
    environment = Path(f"/proc/{children()[0]}/environ")
    if not environment.exists():
        pytest.skip("no /proc")
    assert b"secret" not in environment.read_bytes()


def test_the_child_finds_packages_wherever_its_parent_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of ``pip install --user`` or ``--target``, which an isolated Python does not look at."""
    (tmp_path / "elsewhere.py").write_text("def answer(data):\n    return data.decode().upper()\n")
    monkeypatch.syspath_prepend(tmp_path)
    own = Sandbox(
        "elsewhere:answer", memory_bytes=1 << 30, cpu_s=5, wall_s=30.0, requests_a_child=9
    )
    with closing(own):
        assert own.ask(b"found") == "FOUND"


def test_a_file_that_takes_too_long_is_stopped(make_pdf: MakePdf) -> None:
    with closing(PdfReader(PdfLimits(wall_s=0.001))) as reader:
        assert str(refusal(reader, make_pdf(["slow"]))) == "stopped: it took more than 0.001 s"
        reader.wall_s = 60
        assert reader.read(make_pdf(["next"])).pages


@needs_hostile
@pytest.mark.timeout(120)
def test_a_file_that_takes_too_much_of_the_processor_is_stopped() -> None:
    if sys.platform == "win32":
        pytest.skip("no limit of CPU there")
    with closing(PdfReader(PdfLimits(cpu_s=0, memory_bytes=4 << 30))) as reader:
        refused = refusal(reader, (HOSTILE / "bomb_text_200MB.pdf").read_bytes())
    assert str(refused) == "stopped: it took more than 0 s of CPU"
