"""What a question names: files and lines, commits, issues, authors."""

from __future__ import annotations

import time

import polars as pl
import pytest

from operators.ranking.named_places import (
    PLACED,
    Place,
    at_place,
    leaders,
    named_places,
    read_place,
    spellings,
)

PATH = ("src", "io.py")


@pytest.mark.parametrize(
    "text",
    [
        "src/io.py:120:5",
        "src/io.py:120: E501 line too long",
        'File "src/io.py", line 120, in read',
        "src/io.py(120,3): error",
        r"src\io.py:120",
    ],
)
def test_a_path_with_its_line_is_read_as_tools_print_it(text: str) -> None:
    assert named_places(text) == [Place(PATH, 120)]


@pytest.mark.parametrize(
    "path",
    [r"C:\work\app\src\io.py", "https://example.org/a/b/blob/main/src/io.py"],
)
def test_a_path_of_another_machine_ends_in_the_same_names(path: str) -> None:
    (place,) = named_places(f"it fails in {path}.")
    assert place.path[-2:] == PATH


def test_commits_and_numbers_are_named_by_their_usual_forms() -> None:
    text = "since 2dfeccf, see #42, PR 43 and pull request #44; not 2.5.1 or 12:30 or 1234567"
    numbers = [place.number for place in named_places(text) if place.number]
    assert numbers == [42, 43, 44]
    assert [place.commit for place in named_places(text) if place.commit] == ["2dfeccf"]


def hits(*rows: tuple[str, int, int]) -> pl.DataFrame:
    placed = [(path, path, None, first, last) for path, first, last in rows]
    return pl.DataFrame(placed, schema=list(PLACED), orient="row")


def test_the_passage_with_the_line_leads_among_those_of_its_file() -> None:
    found = hits(("src/io.py", 1, 90), ("lib/io.py", 100, 140), ("src/io.py", 91, 130))
    assert leaders(Place(PATH, 120), found) == [2]
    assert leaders(Place(PATH), found) == [0, 2]
    assert leaders(Place(("io.py",), 120), found) == [1, 2]
    assert leaders(Place(("no.py",), 120), found) == []


@pytest.mark.parametrize(
    ("address", "place"),
    [
        ("https://example.org/o/r/blob/main/my%20docs/Z%C3%BCrich.md?plain=1#L4", ("Zürich.md", 4)),
        ("https://example.org/o/r/-/blob/main/src/a.py?ref_type=heads#L10-20", ("a.py", 10)),
        ("(file:docs/my%20notes.md)", ("my notes.md", None)),
        ("docs/Zu\u0308rich.md:4", ("Zürich.md", 4)),
    ],
)
def test_an_address_in_a_query_is_read_as_fetch_reads_it(
    address: str, place: tuple[str, int | None]
) -> None:
    read = {(one.path[-1], one.line) for one in named_places(f"what is in {address}, please")}
    assert place in read


@pytest.mark.parametrize(
    "text",
    [
        "a:1" * 20_000,
        "[a: " + "](" * 40_000,
        "file:" + "%41" * 40_000,
        "a:1-" * 20_000,
    ],
)
def test_a_hostile_text_is_read_at_once(text: str) -> None:
    began = time.process_time()
    named_places(text)
    read_place(text)
    spellings(text)
    assert time.process_time() - began < 2


def test_a_bare_file_name_in_a_long_text_points_at_nothing() -> None:
    said = "My conf.py and utils.py are below. " + "It is so. " * 40
    assert named_places("what does conf.py do") == [Place(("conf.py",))]
    assert named_places(said) == []
    assert named_places(said + "src/utils.py") == [Place(("src", "utils.py"))]


def test_a_path_with_folders_needs_more_than_its_last_name() -> None:
    place = Place(("usr", "lib", "python3", "pathlib.py"), 12)
    assert at_place(place, "src/_pytest/pathlib.py", "x", None) == 0
    assert at_place(place, "python3/pathlib.py", "x", None) == 2
    assert at_place(place, "pathlib.py", "x", None) == 1, "the file is in no folder"


@pytest.mark.parametrize("text", ["a.py#L10-20", "v1-2", "A-1", "OPS-0", "xOPS-41", "OPS-41-b"])
def test_what_is_no_issues_key_names_none(text: str) -> None:
    assert [place.key for place in named_places(text) if place.key] == []


@pytest.mark.parametrize("key", ["OPS-41", "E2E-12", "MY_APP-7", "PLATFORMOPERATIONS-1"])
def test_a_key_has_any_name_that_trackers_allow(key: str) -> None:
    for text in (key, f"see {key}.", f"({key})", f"https://jira.example/browse/{key}?focused=1"):
        assert [place.key for place in named_places(text) if place.key] == [key]


def test_an_issues_key_is_that_issue_and_no_other() -> None:
    (place,) = named_places("what was decided in OPS-4?")
    assert at_place(place, None, "OPS-4", "OPS-4 Logins loop") > 0
    assert at_place(place, None, "OPS-41", "OPS-41 see OPS-4") == 0


@pytest.mark.parametrize("text", ["!88", "see MR !88.", "MR 88", "merge request !88", "(!88)"])
def test_a_merge_request_is_no_issue_of_its_number(text: str) -> None:
    (place,) = named_places(text)
    ids = ("merge_requests/88", "merge_requests/88/d1", "issues/88", "merge_requests/881")
    assert [at_place(place, None, one, f"#88 {one}") for one in ids] == [2, 1, 0, 0]
    assert named_places("if x!88 or !call: a !=88") == []
