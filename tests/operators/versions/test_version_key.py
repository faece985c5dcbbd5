"""Versions sort from the oldest to the newest."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from operators.versions.version_key import version_key

DATA = Path(os.environ.get("CROSSCORPUS_TEST_DATA", "../shared/data"))


if not DATA.is_absolute():
    DATA = Path(__file__).parents[4] / DATA


def test_versions_sort_from_oldest_to_newest() -> None:
    ordered = [
        "", "latest", "0.9", "1.0-SNAPSHOT", "1.0.dev3", "1.0-alpha.1", "1.0a2", "1.0-beta",
        "1.0b2", "1.0-M1", "1.0-rc.1", "1.0rc2", "1.0-rc.10", "1.0", "1.0-1", "1.0.1", "1.1.1",
        "1.1.1w", "1.2", "1.9", "1.10", "1.x", "v2.0.0", "16.20.2", "18.20.8", "19.9.0", "22.14.0",
        "2024-05-01", "2024.10.1",
    ]  # fmt: skip
    backwards = ordered[::-1]
    assert sorted(backwards, key=version_key) == ordered


def test_one_version_written_in_several_ways_is_one() -> None:
    same = ["1.0", "v1.0", "1", "1.0.0", "V1.0", "1.0+build5", "1.0.Final", "release-1.0", "01.0"]
    assert len({version_key(version) for version in same}) == 1
    assert version_key(None) == version_key("") < version_key("x") < version_key("0")


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text(max_size=12) | st.from_regex(r"v?[0-9.]{1,8}[-a-z0-9.]{0,8}"), max_size=6))
def test_any_texts_can_be_sorted(versions: list[str]) -> None:
    keys = sorted(map(version_key, versions))
    assert all(a <= b for a, b in pairwise(keys))


def test_a_number_of_any_length_compares() -> None:
    assert version_key("9" * 5000) < version_key("1" + "0" * 5000)
    assert version_key("²") < version_key("1")
