"""What commits say of files, from a real repository to the explanation of a score."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ingested
import polars as pl
import pytest
from ingested import git
from lxml import html

from operators import frames
from operators.errors import CrosscorpusError
from operators.explain.waterfall import waterfall
from operators.report.explanation import explanation_page

COLLECTION = "links"
QUESTION = "a deadlock when two writers flush the cache"
PAGE = ["queries", "intent", "results", "explain", "dispositions", "provenance"]


def commit(folder: Path, subject: str, **files: str) -> None:
    named = {f"{name}.py": text for name, text in files.items()}
    ingested.commit(folder, subject, named, "--date", "2024-05-01T10:00:00Z")


@pytest.fixture(scope="module")
def driver(ingested: Any, tmp_path_factory: Any) -> Any:
    """``turns.py`` and ``waits.py`` read alike; the fault is named by two commits of the first."""
    folder = tmp_path_factory.mktemp("repository")
    git(folder, "init", "-q")
    both = {name: f"def {name}(queue):\n    return queue.writers\n" for name in ("turns", "waits")}
    near = "def flush_cache(writers):\n    return [flush_cache(two) for two in writers]\n"
    commit(folder, "Queue the writers", **both, cache=near)
    commit(folder, "Fix a deadlock when two writers flush", turns=f"{both['turns']}\n# 1\n")
    commit(folder, "No deadlock of writers on the cache", turns=f"{both['turns']}\n# 2\n")
    return ingested(COLLECTION, ["git", str(folder)])


def gain(told: pl.DataFrame, path: str) -> tuple[float, str | None]:
    """What the file gains by commits, and what the explanation says of it."""
    names = told.filter(pl.col("source_label").str.contains(path, literal=True))["chunk_id"]
    own = told.filter(pl.col("chunk_id").is_in(names.implode()))
    return gain_of(own)


def gain_of(own: pl.DataFrame) -> tuple[float, str | None]:
    score = own.filter(stage="ranked", quantity="by_commits")["value"].sum()
    steps = {step.factor: step.formula for step in waterfall(own)}
    return score, steps.get("ranked")


def test_a_file_gains_by_the_commits_that_speak_of_the_question_and_its_explanation_names_them(
    driver: Any,
) -> None:
    out = driver.execute(["explain", "dispositions"], {"query": QUESTION})
    labels = out["dispositions"].select("chunk_id", "source_label")
    told = out["explain"].join(labels, on="chunk_id", maintain_order="left")
    by_two, said = gain(told, "turns.py")
    by_one, _ = gain(told, "waits.py")
    assert by_two > by_one
    assert said is not None
    assert "by commits (" in said
    assert "Fix a deadlock when two writers flush (2024-05-01)])" in said


def test_the_page_of_an_explanation_names_them_and_says_in_sentences_what_each_factor_is(
    driver: Any,
) -> None:
    page = explanation_page(driver.execute(PAGE, {"query": QUESTION}))
    text = " ".join(html.document_fromstring(page).text_content().split())
    assert "Fix a deadlock when two writers flush (2024-05-01)])" in text
    assert "ranked: The list in its order" in text
    assert ".;" not in text


def short(driver: Any, most: int = 10) -> dict[str, pl.DataFrame]:
    """What overrides the numbers of code: its lists have only ``cache.py``."""
    usual = driver.execute(["corpus_settings"])["corpus_settings"]
    own = {"search_depth": 1, "linked_files": most}
    code = pl.col("corpus") == "code"
    changed = [pl.when(code).then(n).otherwise(name).alias(name) for name, n in own.items()]
    return {"corpus_settings": usual.with_columns(changed).cast(dict(usual.schema))}


def linked_hits(driver: Any, most: int = 10, **inputs: Any) -> pl.DataFrame:
    """The hits of code that only links led to."""
    asked = {"query": QUESTION, **inputs}
    found: pl.DataFrame = driver.execute(["linked_hits"], asked, short(driver, most))["linked_hits"]
    return frames.check(found, frames.LINKED_HITS, "linked_hits").filter(corpus="code")


def test_a_file_that_no_search_found_enters_by_the_commits_that_changed_it(driver: Any) -> None:
    nodes = ["code.vector_search", "code.text_search"]
    wanted = [*nodes, "linked_hits", "results", "explain"]
    out = driver.execute(wanted, {"query": QUESTION}, short(driver))
    near, words = (set(out[name].lists["chunk_id"]) for name in nodes)
    linked = set(out["linked_hits"].filter(corpus="code")["chunk_id"])
    results = dict(out["results"]["chunk_id", "path"].iter_rows())
    assert {results[n] for n in near | words} == {"cache.py"}
    assert {results[n] for n in linked} == {"turns.py", "waits.py"}
    (turns,) = (n for n in linked if results[n] == "turns.py")
    score, said = gain_of(out["explain"].filter(chunk_id=turns))
    assert score > 0
    assert said is not None
    assert "by commits (" in said


def test_what_the_question_may_not_see_does_not_enter(driver: Any) -> None:
    assert linked_hits(driver, path_prefix="ca").is_empty()
    assert linked_hits(driver, only_corpora=["code"]).is_empty()


@pytest.mark.parametrize("file", ["waits.py", "turns.py"])
def test_what_a_configuration_hides_takes_no_place_of_what_it_shows(driver: Any, file: str) -> None:
    least = {"linked_files": 1, "search_depth": 0}
    visible = {"code": {"filters": {"path_prefix": file}, "parameters": least}}
    narrow = driver.sibling(driver.config.with_changes({"corpora": visible}))
    out = narrow.execute(["linked_hits", "ranked"], {"query": QUESTION})
    (chunk,) = out["linked_hits"]["chunk_id"]
    assert out["ranked"].filter(chunk_id=chunk)["path"].to_list() == [file]


def test_no_more_files_enter_than_asked_for(driver: Any) -> None:
    for most, rows in ((0, 0), (1, 1), (9, 2)):
        assert linked_hits(driver, most).height == rows
    with pytest.raises(CrosscorpusError, match="'linked_files': code has its own"):
        driver.execute(["results"], {"query": QUESTION, "linked_files": 3})
