"""The command `query` as a user runs it: real git, a real server, a real model."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any


def test_a_question_is_answered_from_several_corpora_with_citations(
    crosscorpus: Any, collection: str
) -> None:
    done = crosscorpus("query", "when is the cache flushed?", "-C", collection, "--json")
    assert done.returncode == 0, done.stderr
    assert "citations" not in json.loads(done.stdout)
    asked = ("when is the cache flushed?", "-C", collection, "--json", "--context")
    answer = json.loads(crosscorpus("query", *asked).stdout)
    assert {result["corpus"] for result in answer["results"]} == {"code", "history", "docs"}
    of_corpora = [one.partition(":")[0].strip("[") for one in answer["citations"]]
    assert sorted(of_corpora) == ["code", "docs", "history"]
    assert len(answer["results"]) == 4
    assert any("review" in note for note in answer["notes"])
    assert answer["provenance"]["model"] == "minilm"


def test_a_person_sees_labels_and_where_the_time_went(crosscorpus: Any, collection: str) -> None:
    done = crosscorpus("query", "flush the cache", "-C", collection)
    assert "[code: src/cache.py:1-3 flush_cache]" in done.stdout
    assert re.search(r"\n\d+\.\d\d s\n$", done.stdout)
    timed = crosscorpus("query", "flush the cache", "-C", collection, "--timings")
    assert re.search(r"\n\d+\.\d\d s; \S+ \d+\.\d ms  ", timed.stdout)


def test_a_context_is_printed_alone_and_keeps_to_its_budget(
    crosscorpus: Any, collection: str
) -> None:
    ask = ("query", "flush the cache", "-C", collection)
    whole = crosscorpus(*ask, "--context").stdout
    assert whole.startswith("=== ")
    assert whole.count("def flush_cache") == 1
    small = crosscorpus(*ask, "--budget", "60").stdout
    assert 0 < len(small) <= 4 * 60 + 1 < len(whole)


def test_a_brief_answer_has_places_and_lines_without_links(
    crosscorpus: Any, collection: str
) -> None:
    ask = ("query", "flush the cache", "-C", collection)
    brief, usual = (crosscorpus(*ask, *how).stdout for how in (["--brief"], []))
    assert "[code: src/cache.py:1-3 flush_cache]" in brief
    assert "def flush_cache" in brief
    assert "citations" in usual
    assert "citations" not in brief


def test_a_person_may_ask_why_a_passage_is_missing(
    crosscorpus: Any, collection: str, ingest: Any, tmp_path: Path
) -> None:
    page = tmp_path / "why.html"
    asked = ["query", "cache", "-C", collection, "--corpus", "code"]
    why = ["--explain", str(page), "--explain-chunk", "cache.md"]
    done = crosscorpus(*asked, *why)
    assert "not visible to this question: the question asks code only" in done.stdout
    text = page.read_text(encoding="utf-8")
    assert "src/cache.py" in text
    assert "[docs: docs/cache.md" in text
    found = crosscorpus(*asked, "--explain-chunk", "src/cache.py:2")
    label = "[code: src/cache.py:1-3 flush_cache]"
    assert f"{label}  in the context: 1st in the" in found.stdout
    outside = crosscorpus(*asked, "--explain-chunk", "src/cache.py:900")
    assert (outside.returncode, "they end with line 3" in outside.stderr) == (2, True)
    unknown = crosscorpus(*asked, "--explain-chunk", "docs/cahe.md")
    assert unknown.returncode == 2
    assert "no chunk or document 'docs/cahe.md' to explain" in unknown.stderr
    ingest("same-title", *({"doc_id": d, "corpus": "wiki", "title": "T", "text": d} for d in "ab"))
    several = crosscorpus("query", "a", "-C", "same-title", "--explain-chunk", "T")
    assert "(that name fits 2 passages of 2 documents)" in several.stdout


def test_filters_of_the_command_reach_the_searches(crosscorpus: Any, collection: str) -> None:
    def corpora_of(*options: str) -> set[str]:
        done = crosscorpus("query", "cache", "-C", collection, "--json", *options)
        return {result["corpus"] for result in json.loads(done.stdout)["results"]}

    assert corpora_of("--corpus", "docs") == {"docs"}
    assert corpora_of("--path", "src/") == {"code"}
    assert corpora_of("--as-of", "2001-01-01") == set()
    assert corpora_of("--until", "2001") == corpora_of("--since", "2040-02") == set()
    assert corpora_of("--since", "30 years ago", "--corpus", "docs") == {"docs"}
    wrong = crosscorpus("query", "cache", "-C", collection, "--since", "some day")
    assert (wrong.returncode, "'some day' is no date: write" in wrong.stderr) == (2, True)
    assert corpora_of("--regex", r"^def \w+\(") == {"code"}
    assert corpora_of("--symbol", "flush_cache") == {"code"}
    assert corpora_of("--uses", "write") == {"code"}


def test_a_question_about_the_past_is_told_which_files_it_cannot_see(
    crosscorpus: Any, collection: str
) -> None:
    done = crosscorpus("query", "cache", "-C", collection, "--json", "--as-of", "2001-01-01")
    (note,) = [one for one in json.loads(done.stdout)["notes"] if "last commit" in one]
    assert note == (
        "files whose last commit is later are left out, 1 of code and 2 of docs: "
        "src/cache.py, README.md, docs/cache.md"
    )
    now = json.loads(crosscorpus("query", "cache", "-C", collection, "--json").stdout)
    assert not any("last commit" in one for one in now["notes"])


def test_words_alone_are_searched_without_meaning(crosscorpus: Any, collection: str) -> None:
    done = crosscorpus("query", "flush the cache", "-C", collection, "--json", "--words")
    searched = json.loads(done.stdout)["provenance"]["searched"]
    assert searched["code"] == {"text": "ok"}


def test_a_filter_that_is_no_utf_8_matches_nothing(crosscorpus: Any, collection: str) -> None:
    bad = os.fsdecode(b"\xff")
    for option in ("--path", "--state"):
        done = crosscorpus("query", "cache", "-C", collection, "--json", option, bad)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["results"] == []
    for option in ("--repo", "--language"):
        done = crosscorpus("query", "cache", "-C", collection, "--json", option, bad)
        assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    done = crosscorpus("query", "cache", "-C", collection, "--explain-chunk", bad)
    assert done.stderr.startswith("crosscorpus: no chunk or document '\N{REPLACEMENT CHARACTER}'")


def test_a_language_that_nothing_has_is_noted_and_a_weight_that_is_none_refused(
    crosscorpus: Any, collection: str
) -> None:
    asked = ("query", "cache", "-C", collection, "--json", "--languages")
    done = crosscorpus(*asked, "python=1.2, ruts=2")
    told = json.loads(done.stdout)["provenance"]["parameters"]["languages"]
    assert told == {"python": 1.2, "ruts": 2}
    said = "note: no document in language 'ruts' here; there are 'markdown', 'python'\n"
    assert done.stderr == said
    for wrong, fault in (("python=x", "numbers such as"), ("python", "languages: expected")):
        done = crosscorpus(*asked, wrong)
        assert done.returncode != 0
        assert fault in done.stderr


def test_a_question_about_an_option_is_told_how_to_be_asked(
    crosscorpus: Any, collection: str
) -> None:
    done = crosscorpus("query", "-v what is it", "-C", collection)
    assert done.returncode == 2
    said = " ".join(done.stderr.replace("│", " ").split())
    assert "crosscorpus query -- '-v what is it'" in said


def test_a_version_is_asked_for_by_option(crosscorpus: Any, collection: str) -> None:
    ask = ("query", "when is the cache flushed?", "-C", collection, "--json")
    pinned = json.loads(crosscorpus(*ask, "--version", "3.5.3").stdout)
    assert any("version 3.5.3 is not here" in note for note in pinned["notes"])
    every = json.loads(crosscorpus(*ask, "--versions", "all", "--context").stdout)
    assert every["provenance"]["versions"][0]["version_policy"] == "all"
    assert "prefer the newest" in every["system_prompt"]
    wrong = crosscorpus(*ask, "--versions", "3.5.3")
    assert wrong.returncode == 2
    assert "--version" in wrong.stderr
