"""The process that parses what anyone may have written."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from killed_children import kill_children, parsing_children

from operators.sources.formats.pdf import (
    PdfLimits,
    PdfReader,
    PdfRefused,
)
from operators.sources.sandbox import Passing, Sandbox, Stopped

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
    return [one.pid for one in parsing_children("pdf_process")]


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


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sandbox]:
    """A child that notes each request in the file ``asked`` and then does what it says."""
    (tmp_path / "obedient.py").write_text(
        "import os, pathlib\n"
        "asked = pathlib.Path(__file__).with_name('asked')\n"
        "def answer(data):\n"
        "    with asked.open('ab') as file: file.write(b'x')\n"
        "    return eval(data.decode())\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    limits: dict[str, int] = {"memory_bytes": 1 << 30, "cpu_s": 5, "requests_a_child": 9}
    with closing(Sandbox("obedient:answer", **limits, wall_s=30.0)) as sandbox:
        yield sandbox


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_child_that_is_killed_at_work_has_a_second_one_and_the_reason_is_true(
    own: Sandbox, tmp_path: Path, how: signal.Signals
) -> None:
    with pytest.raises(Passing, match=rf"killed \(signal {how.value}\): see whether"):
        own.ask(b"os.kill(os.getpid(), %d)" % how)
    assert (tmp_path / "asked").read_bytes() == b"xx"
    assert own.ask(b"1 + 1") == 2


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (b"os.abort()", f"ended ({-signal.SIGABRT}), most likely at the limit of 1024 MiB"),
        (b"bytearray(4 << 30)", "ended (1), most likely at the limit of 1024 MiB"),
        (b"[0 for _ in iter(int, 1)]", "it took more than 5 s of CPU"),
    ],
    ids=["crash", "memory", "processor"],
)
def test_a_crash_or_a_limit_is_the_requests_own_and_has_no_second_child(
    own: Sandbox, tmp_path: Path, request_: bytes, reason: str
) -> None:
    with pytest.raises(Stopped) as stopped:
        own.ask(request_)
    assert reason in str(stopped.value)
    assert type(stopped.value) is Stopped
    assert (tmp_path / "asked").read_bytes() == b"x"


def test_a_child_that_is_killed_while_nobody_asks_it_costs_no_file(
    reader: PdfReader, make_pdf: MakePdf
) -> None:
    reader.read(make_pdf(["a"]))
    [child] = children()
    os.kill(child, signal.SIGKILL)
    assert "b" in reader.read(make_pdf(["b"])).pages[0]


def test_a_file_whose_readers_are_killed_may_be_tried_again(
    reader: PdfReader, make_pdf: MakePdf, monkeypatch: pytest.MonkeyPatch
) -> None:
    kill_children(monkeypatch, "pdf_process", 2)
    refused = refusal(reader, make_pdf(["a"]))
    assert (refused.state, refused.passing) == ("failed", True)
    assert "was killed (signal 9)" in str(refused)
    assert reader.read(make_pdf(["a"])).pages


def test_a_reader_that_does_not_start_is_no_fault_of_the_file(
    reader: PdfReader, make_pdf: MakePdf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    refused = refusal(reader, make_pdf(["a"]))
    assert refused.passing
    assert str(refused).startswith("its reader does not start (No such file or directory)")


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
