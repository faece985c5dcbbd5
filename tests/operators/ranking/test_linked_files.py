"""Which files found commits and reviews lead to."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from operators.ranking.linked_files import changed_paths, most_voted, votes_for_files

HELD = {("app", "a.py"): [1, 2], ("app", "b.py"): [3], ("app", "c.py"): [4], ("lib", "a.py"): [5]}


def chosen(*links: Any, found: Any = frozenset(), most: int = 9) -> list[tuple[str, str]]:
    return most_voted(votes_for_files(links), found, HELD, most=most)


def test_a_file_that_many_commits_changed_comes_before_one_that_a_better_one_changed() -> None:
    many = [(0.04, "app", ["b.py"])] * 10
    assert chosen((0.1, "app", ["a.py"]), *many) == [("app", "b.py"), ("app", "a.py")]
    assert chosen((0.1, "app", ["a.py"]), *many, most=1) == [("app", "b.py")]


def test_a_commit_that_changed_many_files_says_less_of_each() -> None:
    both = (0.1, "app", ["a.py", "x", "y", "z"]), (0.06, "app", ["b.py"])
    assert chosen(*both) == [("app", "b.py"), ("app", "a.py")]


def test_a_found_file_a_deleted_one_and_one_of_another_repository_do_not_enter() -> None:
    links = (0.1, "app", ["a.py", "gone.py", "c.py"]), (0.1, "lib", ["b.py"])
    assert chosen(*links, found={2}) == [("app", "c.py")]


def test_metadata_of_others_names_no_files() -> None:
    assert changed_paths('{"changed_paths": {"a": 1}}') == []


@given(st.lists(st.sampled_from([*HELD]), max_size=12), st.data())
def test_the_order_of_the_links_does_not_matter(files: list[tuple[str, str]], data: Any) -> None:
    links = [(0.25, repo, [path]) for repo, path in files]
    other = data.draw(st.permutations(links))
    assert chosen(*links, most=2) == chosen(*other, most=2)
