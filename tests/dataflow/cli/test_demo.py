from __future__ import annotations

import re
import shlex
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from ingesting import ingest_git

from dataflow import build_driver
from operators.postgres.store import Store

ROOT = Path(__file__).parents[3]
ANSWERS = (  # to the questions of `make demo`: what a reader would open
    "docs/serve.md",
    "operators/postgres/connection.py",
    "operators/sources/secrets.py",
)


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
        ("[history: Refill buckets lazily, when a request comes]", "[code: tollgate/bucket.py"),
        ("[docs: docs/2.0/limits.md", "[history: Raise the default limit to 120"),
        ("[docs: docs/2.0/stores.md (2026-06-15, v2.0) > When Redis is away]", "[history: Let"),
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


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="this copy of the project has no history")
def test_words_alone_have_each_file_that_answers_make_demo_first(store: Store, minilm: Any) -> None:
    makefile = (ROOT / "Makefile").read_text()
    questions = re.findall(r'^\t  "(.+\?)"', makefile, re.MULTILINE)
    assert len(questions) == len(ANSWERS)
    report = ingest_git(store, minilm, ROOT, exclude=["tests", "Makefile"], wait="words")
    assert (report.ok, report.embedded, report.unembedded) == (True, 0, report.chunks)
    with build_driver("default", store=store, embedder=minilm) as driver:
        for question, file in zip(questions, ANSWERS, strict=True):
            asked = {"query": question, "trigger": "question"}  # as the command asks
            found = driver.execute(["results"], inputs=asked)["results"]
            assert found["path"][0] == file, found["source_label"].to_list()
            assert not set(found["corpus"][:2]) & {"history"}, found["source_label"].to_list()
