from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
@pytest.mark.parametrize("line", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    ("fence", "body"), [("---", "date: 2020-01-01"), ("+++", "date = 2020-01-01")]
)
def test_a_block_is_found_with_a_byte_order_mark_and_any_line_ending(
    mark: str, line: str, fence: str, body: str
) -> None:
    text = mark + line.join([fence, body, fence, "the text"])
    assert front_matter(text) == {"date": "2020-01-01"}
    block = find_front_matter(text)
    assert block is not None
    assert text[block.end :] == "the text"


@pytest.mark.parametrize(
    "text", ["", "text\n---\na: b\n---\n", "---\na: b\n", "----\na: b\n----\n"]
)
def test_what_is_not_opened_and_closed_at_the_start_is_no_front_matter(text: str) -> None:
    assert front_matter(text) == {}


@pytest.mark.parametrize("text", ["---\n---\n", "+++\n+++\n", "---\n# only a comment\n---\n"])
def test_an_empty_block_has_no_keys(text: str) -> None:
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
        (yaml("publishDate: {{ .Date }}"), "key that is no string"),
        (yaml("title: a: b"), "damaged yaml"),
        (yaml("just a sentence"), "not a mapping"),
        (yaml("- a\n- b"), "not a mapping"),
        (yaml("a: \x01"), "damaged yaml"),
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


@settings(max_examples=150, deadline=None)
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
