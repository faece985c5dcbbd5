"""What the head, the text and the name of a file say of it."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.foundation.date_text import DateRefused, not_in_future, parse_date
from operators.foundation.filename_dates import filename_date
from operators.foundation.front_matter import (
    MAX_SIZE,
    FrontMatterRefused,
    Value,
    find_front_matter,
    parse_block,
    plain_lines,
)


def front_matter(text: str) -> dict[str, Value]:
    block = find_front_matter(text)
    return {} if block is None else parse_block(block)


def yaml(body: str) -> str:
    return f"---\n{body}\n---\ntext\n"


def toml(body: str) -> str:
    return f"+++\n{body}\n+++\ntext\n"


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("line", ["\n", "\r"])
@pytest.mark.parametrize(
    ("fence", "body"), [("---", "date: 2020-01-01"), ("+++", "date = 2020-01-01")]
)
def test_a_block_is_found_with_a_byte_order_mark_and_any_line_ending(
    mark: str, line: str, fence: str, body: str
) -> None:
    text = mark + line.join([fence, body, fence, "the text"])
    assert front_matter(text) == {"date": "2020-01-01"}
    block = find_front_matter(text)
    assert text[block.end :] == "the text"


@pytest.mark.parametrize(
    "text", ["", "text\n---\na: b\n---\n", "---\na: b\n", "----\na: b\n----\n"]
)
def test_what_is_not_opened_and_closed_at_the_start_is_no_front_matter(text: str) -> None:
    assert front_matter(text) == {}


def test_h29_every_scalar_stays_the_string_that_was_written() -> None:
    written = "version: 1.10\nno: no\ndate: 2020-01-01\nsexagesimal: 12:30:45\nnull_: ~\nn: 0o17"
    assert front_matter(yaml(written)) == {
        "version": "1.10", "no": "no", "date": "2020-01-01", "sexagesimal": "12:30:45",
        "null_": "~", "n": "0o17",
    }  # fmt: skip
    assert front_matter(toml("version = 1.10\non = true\nat = 2020-01-01T01:02:03-03:00")) == {
        "version": "1.10", "on": "true", "at": "2020-01-01 01:02:03-03:00",
    }  # fmt: skip


def test_lists_and_mappings_keep_their_form() -> None:
    expected = {"tags": ["a", "b"], "author": {"name": "N", "langs": ["x"]}}
    assert front_matter(yaml("tags: [a, b]\nauthor:\n  name: N\n  langs:\n  - x")) == expected
    assert front_matter(toml('tags = ["a", "b"]\n[author]\nname="N"\nlangs=["x"]')) == expected


@pytest.mark.parametrize("opening", ["[", "{", "[{"])
def test_h25_64000_brackets_are_refused_within_50_ms(opening: str) -> None:
    for text in (yaml("a: " + opening * 64_000), toml("a = " + opening * 64_000)):
        start = time.process_time()
        with pytest.raises(FrontMatterRefused):
            front_matter(text)
        assert time.process_time() - start < 0.05


@pytest.mark.parametrize(
    "body", ["a: " + "[" * 20 + "]" * 20, "- " * 10_000 + "x", "? " * 5_000 + "x"]
)
def test_nesting_is_refused_whatever_it_is_made_of(body: str) -> None:
    with pytest.raises(FrontMatterRefused):
        front_matter(yaml(body))


def test_a_toml_key_of_thousands_of_parts_is_refused_at_once() -> None:
    start = time.process_time()
    with pytest.raises(FrontMatterRefused, match="deeper"):
        front_matter(toml("a." * 15_000 + "a = 1"))
    assert time.process_time() - start < 0.5


def test_h26_aliases_and_anchors_are_refused() -> None:
    levels = "\n".join(
        f"a{i}: &a{i}\n  <<: [{','.join([f'*a{i - 1}'] * 9)}]\n  k{i}: 1" for i in range(1, 10)
    )
    with pytest.raises(FrontMatterRefused, match="anchor"):
        front_matter(yaml("a0: &a0 {k0: 1}\n" + levels))
    with pytest.raises(FrontMatterRefused, match="alias"):
        front_matter(yaml("a: *b"))


def test_h28_tags_are_refused_and_no_code_runs(tmp_path: Path) -> None:
    trace = tmp_path / "ran"
    with pytest.raises(FrontMatterRefused, match="tag"):
        front_matter(yaml(f"x: !!python/object/apply:os.system ['touch {trace}']"))
    assert not trace.exists()


def test_h32_of_a_key_given_twice_the_first_counts() -> None:
    assert front_matter(yaml("date: 2020-01-01\ndate: 2099-12-31")) == {"date": "2020-01-01"}
    assert front_matter(yaml("a: {b: 1, b: 2}\na: 3")) == {"a": {"b": "1"}}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (yaml("title: a: b"), "damaged yaml"),
        (yaml("- a\n- b"), "not a mapping"),
        (toml("date = {{ .Date }}"), "damaged toml"),
        (toml("a = 1\na = 2"), "damaged toml"),
        (yaml("a: " + "x" * MAX_SIZE), "longer than"),
    ],
)
def test_damaged_front_matter_says_what_is_wrong(text: str, why: str) -> None:
    with pytest.raises(FrontMatterRefused, match=why):
        front_matter(text)


def test_the_plain_lines_of_a_damaged_block_are_still_readable() -> None:
    block = find_front_matter(yaml("title: a: b\ndate: '2020-01-01' # no\n  date: inner\ndate: 2"))
    assert block is not None
    assert plain_lines(block) == {"title": "a: b", "date": "2020-01-01"}
    block = find_front_matter(toml('a = 1\na = 2\ndate = 2020-01-01\n[inner]\nb = "3"'))
    assert block is not None
    assert plain_lines(block) == {"a": "1", "date": "2020-01-01"}


def test_a_damaged_block_of_spaces_costs_no_time() -> None:
    block = find_front_matter(yaml("a: b: c" + " " * 30_000 + "d\ndate: 2020-01-01"))
    assert block is not None
    start = time.process_time()
    assert plain_lines(block)["date"] == "2020-01-01"
    assert time.process_time() - start < 0.1


@given(st.sampled_from(["---", "+++"]), st.text("ab:-=[]{}'\"&*!?|>#.\n\t 1%@,é", max_size=80))
def test_any_block_is_a_mapping_of_strings_or_refused(fence: str, body: str) -> None:
    try:
        found = front_matter(f"{fence}\n{body}\n{fence}\n")
    except FrontMatterRefused:
        return
    values = [found]
    while values:
        value = values.pop()
        if isinstance(value, dict):
            assert all(isinstance(key, str) for key in value)
            values.extend(value.values())  # type: ignore[arg-type]
        elif isinstance(value, list):
            values.extend(value)
        else:
            assert isinstance(value, str)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("18th, Nov. 2017", "2017-11-18T00:00:00"),
        ("2020-04-03T20:26:28.000Z", "2020-04-03T20:26:28"),
        ("20250315", "2025-03-15T00:00:00"),
        ("15.01.2024", "2024-01-15T00:00:00"),
        ("2/13/2024", "2024-02-13T00:00:00"),
        ("1618665963", "2021-04-17T13:26:03"),
        ("Tue Apr  4 14:04:08 CEST 2007", "2007-04-04T12:04:08"),
        ("2024-05-01 3:04 PM", "2024-05-01T15:04:00"),
        ("2016-12-31T23:59:60Z", "2016-12-31T23:59:59"),
    ],
)
def test_a_date_is_read_in_the_forms_that_occur(raw: str, expected: str) -> None:
    assert parse_date(raw).strftime("%Y-%m-%dT%H:%M:%S") == expected


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("2023-05-04T00:00:00-03:00", "2023-05-04T03:00:00"),
        ("2023-01-29 18:30:22 2023 -0800", "2023-01-30T02:30:22"),
        ("2020-01-01 00:00 PST", "2020-01-01T08:00:00"),
    ],
)
def test_a_zone_is_honoured(raw: str, expected: str) -> None:
    got = parse_date(raw)
    assert got.tzinfo == UTC
    assert got.strftime("%Y-%m-%dT%H:%M:%S") == expected


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("2025", (2025, 1)),
        ("Mar 2025", (2025, 3)),
        ("2026-03", (2026, 3)),
        ("July 2001", (2001, 7)),
    ],
)
def test_h47_a_month_or_year_is_its_start_and_never_filled_from_today(
    raw: str, expected: tuple[int, int]
) -> None:
    year, month = expected
    assert parse_date(raw) == datetime(year, month, 1, tzinfo=UTC)


@pytest.mark.parametrize("raw", ["10", "v2.5", "May", "3 May"])
def test_h47_what_names_no_year_is_no_date(raw: str) -> None:
    with pytest.raises(DateRefused):
        parse_date(raw)


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        ("", "empty"),
        ("{{ .Date }}", "not a date"),
        ("0001-01-01", "placeholder"),
        ("2023-02-30", "no such date"),
        ("10/2/2024", "cannot be told apart"),
        ("last week", "not a date"),
        ("2024-05-01 10:00 +99:00", "no such time zone"),
        ("1" * 100_000, "too long"),
        ("٢٠٢٤-٠٥-٠١", "not a date"),
    ],
)
def test_what_cannot_be_read_surely_is_refused_with_its_reason(raw: str, why: str) -> None:
    with pytest.raises(DateRefused, match=why):
        parse_date(raw)


def test_month_comes_before_day_only_where_the_format_says_so() -> None:
    assert parse_date("10/2/2024", us_order=True) == datetime(2024, 10, 2, tzinfo=UTC)


def test_a_date_is_trusted_up_to_one_day_ahead() -> None:
    now = datetime(2025, 1, 1, tzinfo=UTC)
    assert not_in_future(now + timedelta(days=1), now)
    with pytest.raises(DateRefused, match="future"):
        not_in_future(now + timedelta(days=1, seconds=1), now)


@given(st.text(max_size=60) | st.from_regex(r"[0-9TZ:+/. -]{1,30}", fullmatch=True))
def test_any_text_is_a_moment_in_utc_or_refused(raw: str) -> None:
    try:
        got = parse_date(raw)
    except DateRefused:
        return
    assert got.utcoffset() == timedelta(0)


@given(
    st.datetimes(datetime(1971, 1, 1), datetime(2900, 1, 1)),
    st.integers(-14 * 60, 14 * 60),
)
def test_iso_8601_is_read_as_python_reads_it(moment: datetime, minutes: int) -> None:
    sign = "-" if minutes < 0 else "+"
    raw = f"{moment.isoformat()}{sign}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"
    assert parse_date(raw) == datetime.fromisoformat(raw)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("_posts/2019-05-01-#15557.md", "2019-05-01"),
        ("20190501T101112-log.txt", "2019-05-01"),
        ("minutes-01-May-2019.md", "2019-05-01"),
        ("newsletter-March-2025.pdf", "2025-03"),
        ("blog/2019/05/01/title.md", "2019-05-01"),
        ("blog\\2019\\05\\title.md", "2019-05"),
    ],
)
def test_the_date_in_a_name_is_found(path: str, expected: str) -> None:
    assert filename_date(path) == expected


@pytest.mark.parametrize(
    "path",
    [
        "report-2019.md",
        "01-02-2019.md",
        "assert_nodejs_18.20.8.md",
        "2019-05-01/guide.md",
        "backup/2019/05/01/docs/guide.md",
    ],
)
def test_a_name_without_a_whole_date_has_none(path: str) -> None:
    assert filename_date(path) is None
