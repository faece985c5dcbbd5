from __future__ import annotations

import csv
import os
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operators.foundation.date_text import DateRefused
from operators.sources.dates.pdf_dates import (
    parse_pdf_date,
    read_pdf_info,
)

DATA = Path(os.environ.get("CROSSCORPUS_TEST_DATA", "../shared/data"))
if not DATA.is_absolute():
    DATA = Path(__file__).parents[4] / DATA
WILD = DATA / "dates" / "pdf_dates_1936.tsv"


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("D:20230322211543Z", "2023-03-22T21:15:43"),
        ("D:20201211105608+01'00", "2020-12-11T09:56:08"),
        ("D:20201211105608+01'00'", "2020-12-11T09:56:08"),
        ("D:20221220004256Z'", "2022-12-20T00:42:56"),
        ("D:20240708143103Z00'00", "2024-07-08T14:31:03"),
        ("D:20240708143103Z00'00'", "2024-07-08T14:31:03"),
        ("D:20100316021332-0100", "2010-03-16T03:13:32"),
        ("D:20150321162954+00", "2015-03-21T16:29:54"),
        ("D:20210529", "2021-05-29T00:00:00"),
        ("D:2021", "2021-01-01T00:00:00"),
        ("D:202105291030", "2021-05-29T10:30:00"),
        ("20120219204058Z", "2012-02-19T20:40:58"),
        ("20260413172101", "2026-04-13T17:21:01"),
        ("D:191000612092411", "2000-06-12T09:24:11"),
        ("Tue Apr 24 14:04:08 2007", "2007-04-24T14:04:08"),
        ("July 2001", "2001-07-01T00:00:00"),
        ("D:20230322211543Z\0", "2023-03-22T21:15:43"),
    ],
)
def test_a_pdf_date_is_read_in_the_forms_that_occur(raw: str, expected: str) -> None:
    assert parse_pdf_date(raw).strftime("%Y-%m-%dT%H:%M:%S") == expected


def test_a_zone_s_hour_may_have_one_digit() -> None:
    assert parse_pdf_date("D:20210514143134-5'00'") == datetime(2021, 5, 14, 19, 31, 34, tzinfo=UTC)


def test_h46_the_offset_moves_the_day() -> None:
    assert parse_pdf_date("D:20250315233000-08'00'") == datetime(2025, 3, 16, 7, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        ("D:", "empty"),
        ("", "empty"),
        ("False", "not a date"),
        ("2017124", "ambiguous"),
        ("D:19700101000000+00'00'", "placeholder"),
        ("D:19700101000000-00'01'", "placeholder"),
        ("D:00000000000000Z", "no such date"),
        ("D:20230231000000Z", "no such date"),
        ("D:20230201000000+99'00'", "no such time zone"),
        ("D:99991231235959-08'00'", "outside the calendar"),
    ],
)
def test_a_pdf_date_that_is_none_is_refused_with_its_reason(raw: str, why: str) -> None:
    with pytest.raises(DateRefused, match=why):
        parse_pdf_date(raw)


@pytest.mark.skipif(not WILD.is_file(), reason="the judged data are not here")
def test_every_date_in_the_wild_is_read_or_refused_with_a_reason() -> None:
    counts: Counter[str] = Counter()
    with WILD.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            for raw in (row["CreationDate"], row["ModDate"]):
                if not raw or raw.startswith("!ERR"):
                    continue
                try:
                    assert parse_pdf_date(raw).year >= 1985
                    counts["read"] += 1
                except DateRefused as exc:
                    counts[str(exc)] += 1
    assert counts == {
        "read": 2347,
        "before 1970-01-03: a placeholder": 2,
        "not a date in a form that is read": 2,  # False, False
        "7 digits: ambiguous": 1,
    }


@settings(max_examples=150, deadline=None)
@given(
    st.text(max_size=40) | st.from_regex(r"(D:)?[0-9]{4,16}[Z+'-]{0,2}[0-9']{0,7}", fullmatch=True)
)
def test_any_string_is_a_moment_or_refused(raw: str) -> None:
    try:
        moment = parse_pdf_date(raw)
    except DateRefused:
        return
    assert moment.tzinfo == UTC


def small_pdf(info: str) -> bytes:
    body = b"%PDF-1.4\n"
    offsets = []
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 10 10] >>",
        f"<< {info} >>",
    ]
    for number, content in enumerate(objects, 1):
        offsets.append(len(body))
        body += f"{number} 0 obj\n{content}\nendobj\n".encode("latin-1")
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    return body + (
        f"xref\n0 5\n0000000000 65535 f \n{table}"
        f"trailer << /Size 5 /Root 1 0 R /Info 4 0 R >>\nstartxref\n{len(body)}\n%%EOF\n"
    ).encode("latin-1")


def test_the_stored_dates_are_read_from_the_file(tmp_path: Path) -> None:
    file = tmp_path / "a.pdf"
    file.write_bytes(small_pdf("/CreationDate (D:20200101000000Z) /ModDate (D:20210101000000Z)"))
    assert read_pdf_info(file) == ("D:20200101000000Z", "D:20210101000000Z")
    file.write_bytes(small_pdf("/Title (t)"))
    assert read_pdf_info(file) == (None, None)


@pytest.mark.parametrize("content", [b"", b"<html></html>", b"%PDF-1.4\n" + b"\0" * 100])
def test_a_file_that_is_no_pdf_has_no_dates(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "a.pdf"
    file.write_bytes(content)
    assert read_pdf_info(file) == (None, None)
    assert read_pdf_info(tmp_path / "missing.pdf") == (None, None)
