from __future__ import annotations

import re
import shlex
from itertools import pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]


def without_times(shown: str) -> str:
    return re.sub(r"(?m)^\d+\.\d\d s", "", shown)


def test_each_question_of_the_demonstration_is_answered_first_by_what_answers_it(
    crosscorpus: Any,
) -> None:
    crosscorpus("collections", "drop", "tollgate", "--yes")
    done = crosscorpus("demo")
    assert done.returncode == 0, done.stderr
    assert "27 new, 0 changed" in done.stdout
    _, *answers = done.stdout.split("\n$ crosscorpus query ")
    wanted = [
        ("[docs: docs/2.0/stores.md (2026-06-15, v2.0) > When Redis is away]", "[wiki: On call]"),
        ("[docs: docs/2.0/stores.md (2026-06-15, v2.0)", "[code: tollgate/store.py"),
        ("[docs: docs/2.0/limits.md", "[history: Raise the default limit to 120"),
    ]
    for answer, labels in zip(answers, wanted, strict=True):
        places = [answer.index(f" {label}") for label in labels]
        assert all(first < second for first, second in pairwise(places)), answer
        assert f" 1  {labels[0]}" in answer
        assert "https://example.org/tollgate/" in answer.partition("citations")[2]
        assert "docs/1.0" not in answer
    for answer in answers:
        options, _, shown = answer.partition("\n")
        printed = crosscorpus("query", *shlex.split(options))
        assert without_times(printed.stdout.strip()) in without_times(shown)
    again = crosscorpus("demo", CROSSCORPUS_READ_DSN="host=127.0.0.1 port=1")  # asks no replica
    assert again.returncode == 0, again.stderr
    assert "0 new, 0 changed, 27 unchanged" in again.stdout
    assert crosscorpus("collections", "drop", "tollgate", "--yes").returncode == 0
    cites_every_corpus_and_is_the_readme_s(answers[0])


def cites_every_corpus_and_is_the_readme_s(first: str) -> None:
    shown = re.search(r"\$ crosscorpus query (.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert shown is not None
    places = re.findall(r"^ \d  \[(\w+): .*$", first, re.MULTILINE)
    assert sorted(places[:5]) == ["code", "docs", "history", "review", "wiki"]
    said = [line.strip().removesuffix(" ...") for line in shown[1].splitlines() if line.strip()]
    assert [line for line in said if line not in first] == []
