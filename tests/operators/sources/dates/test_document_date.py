from __future__ import annotations

import csv
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from operators.frames import DOCUMENTS
from operators.sources.dates.document_date import (
    TRUST,
    DocumentDate,
    document_date,
    without_future_dates,
)

DATA = Path(os.environ.get("CROSSCORPUS_TEST_DATA", "../shared/data"))
if not DATA.is_absolute():
    DATA = Path(__file__).parents[4] / DATA
HEADERS = DATA / "dates" / "dev" / "dates.tsv"

NOW = datetime(2025, 6, 1, tzinfo=UTC)
GIT = datetime(2024, 4, 4, tzinfo=UTC)
MTIME = datetime(2025, 5, 5, tzinfo=UTC)


def moment(year: int, month: int = 1, day: int = 1) -> datetime:
    return datetime(year, month, day, tzinfo=UTC)


def write(folder: Path, name: str, content: str, mtime: datetime = MTIME) -> Path:
    file = folder / name
    file.write_bytes(content.encode())
    os.utime(file, (mtime.timestamp(), mtime.timestamp()))
    return file


def dated(folder: Path, name: str, content: str) -> datetime | None:
    """The date by the text alone; the file has the same."""
    got = document_date(name, text=content, now=NOW)
    assert document_date(write(folder, name, content), now=NOW) == got
    return got.value


def header_date(row: dict[str, str]) -> DocumentDate:
    kind, raw = row["kind"], row["raw_header"].replace("\\n", "\n").partition("  (file")[0]
    if kind == "pdf":
        raw = raw.partition(" (file")[0]
        pairs = [part.lstrip("/").partition(" ") for part in raw.split(" | ")]
        fields = {name: value for name, _, value in pairs}
        info = (fields.get("CreationDate"), fields.get("ModDate"))
        return document_date("a.pdf", pdf_info=info)
    name = raw.partition("file name ")[2] if "file name " in raw else "a.md"
    text = {"md-yaml": f"---\n{raw}\n---\n", "md-toml": f"+++\n{raw}\n+++\n"}.get(kind, raw)
    if kind == "asciidoc":
        name, text = "a.adoc", f"= T\n{raw}\n"
    return document_date(name, text=text)


@pytest.mark.skipif(not HEADERS.is_file(), reason="the judged data are not here")
def test_every_collected_header_is_read_right() -> None:
    wrong, seen = [], 0
    with HEADERS.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            value = header_date(row).value
            got = value.strftime("%Y-%m-%dT%H:%M:%SZ") if value else ""
            accepted = {row["expected_utc"]}
            if row["strength"] != "hard" and "'' acceptable" in row["note"]:
                accepted.add("")
            seen += 1
            if got not in accepted:
                wrong.append((row["id"], row["raw_header"], got, row["expected_utc"]))
    assert seen > 0
    assert wrong == []


@pytest.mark.parametrize("key", ["date", "lastmod", "Last-Updated"])
@pytest.mark.parametrize("line", ["\n", "\r\n"])
def test_front_matter_of_either_kind_dates_a_document(tmp_path: Path, key: str, line: str) -> None:
    for text in (f"---\n{key}: 2020-01-01\n---\n", f'+++\n{key} = "2020-01-01"\n+++\n'):
        marked = "\ufeff" + text.replace("\n", line)
        assert dated(tmp_path, "a.md", marked) == moment(2020)


def test_date_comes_before_what_names_a_change_and_that_before_a_beginning() -> None:
    text = "---\ncreated: 2019-01-01\nlastmod: 2021-01-01\n{}---\n"
    assert document_date("a.md", text=text.format(""), now=NOW).value == moment(2021)
    got = document_date("a.md", text=text.format("date: 2020-01-01\n"), now=NOW)
    assert got.value == moment(2020)


def test_a_nested_date_and_microsofts_order_are_read(tmp_path: Path) -> None:
    nested = "---\ndate:\n  created: 2019-01-01\n  updated: 2021-01-01\n---\n"
    assert dated(tmp_path, "a.md", nested) == moment(2021)
    assert dated(tmp_path, "a.md", "---\nms.date: 06/04/2022\n---\n") == moment(2022, 6, 4)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.md", "Title: T\nDate: 2020-01-01\n\ntext"),
        ("a.rst", "T\n=\n\n:Date: 2020-01-01\n:Author: A\n"),
        ("a.adoc", "= T\nA <a@b>\nv1.0, 2020-01-01\n:date: 2019-01-01\n"),
        ("a.adoc", "---\ndate: 2020-01-01\n---\n= T\n:revdate: 2019-01-01\n"),
        ("a.adoc", "= T\n:revdate: {docdate}\n:date: 2020-01-01\n"),
    ],
)
def test_a_header_dates_a_document(tmp_path: Path, name: str, text: str) -> None:
    assert dated(tmp_path, name, text) == moment(2020)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.adoc", "= T\n\n----\n:date: 2020-01-01\n----\n"),
        ("a.md", "---\ndate: 12:30:45\n---\n"),
        ("a.md", "---\ndate: May\n---\n"),
        ("a.md", "---\na: " + "[" * 64_000 + "\n---\n"),
        ("a.md", "text\n\nDate: 2020-01-01\n"),
    ],
)
def test_h31_h37_h47_what_is_no_date_of_the_document_leaves_the_file_time(
    tmp_path: Path, name: str, text: str
) -> None:
    file = write(tmp_path, name, text)
    assert document_date(file, now=NOW)[:2] == (MTIME, "mtime")


def test_the_sources_are_believed_in_their_order(tmp_path: Path) -> None:
    info = ("D:20230303000000Z", None)
    pdf = write(tmp_path, "2022-02-02-a.pdf", "")
    plain = write(tmp_path, "2022-02-02-a.md", "text")
    stated = write(tmp_path, "2022-02-02-b.md", "---\ndate: 2020-01-01\n---\n")
    bare = write(tmp_path, "a.md", "text")
    found = [
        document_date(stated, git_date=GIT, now=NOW),
        document_date(pdf, pdf_info=info, git_date=GIT, now=NOW),
        document_date(pdf, pdf_info=info, release="Apr 4, 2021", now=NOW),
        document_date(pdf, pdf_info=info, now=NOW),
        document_date(plain, now=NOW),
        document_date(bare, now=NOW),
        document_date(tmp_path / "missing.md", now=NOW),
    ]
    assert [(f.source, f.value) for f in found] == [
        ("explicit", moment(2020)),
        ("git", GIT),
        ("release", moment(2021, 4, 4)),
        ("pdf", moment(2023, 3, 3)),
        ("name", moment(2022, 2, 2)),
        ("mtime", MTIME),
        ("unknown", None),
    ]
    assert [f.trust for f in found] == sorted(TRUST.values(), reverse=True)


def test_h43_a_date_in_the_future_is_passed_over_in_every_source(tmp_path: Path) -> None:
    late = moment(2099, 12, 31)
    pdf = document_date("a.pdf", pdf_info=("D:20200101000000Z", "D:20991231235959Z"), now=NOW)
    assert (pdf.source, pdf.value) == ("pdf", moment(2020))
    file = write(tmp_path, "2099-12-31.md", "---\ndate: 2099-12-31\n---\n", mtime=late)
    got = document_date(file, git_date=late, now=NOW)
    assert (got.value, got.source) == (None, "unknown")


def test_a_pdf_is_dated_by_its_modification_before_its_creation() -> None:
    for info in (("D:2019", "D:2020"), ("D:2020", None), ("D:2020", "")):
        assert document_date("a.pdf", pdf_info=info, now=NOW).value == moment(2020)
    assert document_date("a.pdf", pdf_info=("", None), now=NOW).source == "unknown"


def test_a_file_that_cannot_be_read_is_no_error(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.md", tmp_path, "a\0b.md"):
        assert document_date(path, now=NOW).source == "unknown"
    broken = write(tmp_path, "a.pdf", "<html>")
    got = document_date(broken, now=NOW)
    assert got.source == "mtime"


@pytest.mark.timeout(10)
def test_a_pipe_is_not_opened(tmp_path: Path) -> None:
    for name in ("a.md", "a.pdf"):
        os.mkfifo(tmp_path / name)
        assert document_date(tmp_path / name).value is None


def test_utf_16_is_read(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_bytes("---\ndate: 2020-01-01\n---\n".encode("utf-16"))
    assert document_date(file).value == moment(2020)


def test_documents_lose_a_date_that_lies_in_the_future_and_keep_the_others() -> None:
    now = datetime(2025, 6, 1, tzinfo=UTC)
    dates = [now + timedelta(days=d) for d in (-900, 0, 1, 2, 900)]
    rows = [
        {"document_id": str(n), "corpus": "docs", "repo": "", "doc_date": date, "date_source": "x"}
        for n, date in enumerate([*dates, None])
    ]
    made = without_future_dates(pl.DataFrame(rows, schema=DOCUMENTS), now)
    assert made["doc_date"].to_list() == [*dates[:3], None, None, None]
    assert made["date_source"].to_list() == ["x"] * 3 + [None] * 3
    assert made.columns == list(DOCUMENTS)
