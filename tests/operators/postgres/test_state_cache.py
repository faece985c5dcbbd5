"""Answers that are kept until the collection has changed."""

from __future__ import annotations

from operators.postgres.state_cache import VersionedCache


def test_an_answer_is_looked_up_once_while_the_state_stays() -> None:
    kept, asked = VersionedCache[int](), list[int]()

    def look_up() -> int:
        asked.append(1)
        return len(asked)

    assert [kept.get("a", state, look_up, most=2) for state in (1, 1, 2, 2)] == [1, 1, 2, 2]


def test_nothing_is_kept_while_the_state_changes() -> None:
    kept = VersionedCache[int]()
    assert [kept.get("a", None, lambda n=n: n, most=2) for n in (1, 2)] == [1, 2]  # type: ignore[misc]
    assert len(kept) == 0


def test_the_latest_answers_stay() -> None:
    kept = VersionedCache[str]()
    for most, left in ((2, "cd"), (1, "d")):
        for key in "abcd":
            kept.get(key, 1, lambda key=key: key, most=most)  # type: ignore[misc]
        assert len(kept) == most
        again = [kept.get(key, 1, lambda: "new", most=9) for key in left]
        assert again == list(left)
