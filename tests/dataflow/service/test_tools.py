"""What each tool answers, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ingesting import ingest_documents
from word_embedder import WordEmbedder

from dataflow import build_driver, load_config
from dataflow.service import tools
from dataflow.service.grep_tool import grep
from dataflow.service.history_tool import history
from dataflow.service.page import neighbours
from dataflow.service.review_tool import review_context
from dataflow.service.tools import Service
from operators.context.prompt import REVIEW_PROMPT
from operators.context.token_counts import token_bound
from operators.errors import CrosscorpusError, UnknownName
from operators.postgres.store import drop_collection, open_store

ASK = "why is the cache flushed twice?"


def test_a_search_names_passages_that_fetch_gives_exactly(service: Service, code: str) -> None:
    found = tools.search(service, ASK, corpora=["code"])
    hit = found.results[0]
    assert hit.title.startswith("[code: org/app/src/a.py")
    assert hit.url == f"{service.page}/{hit.id.replace(':', '%3A')}"
    text = tools.fetch(service, hit.id)
    assert text.text.strip() in code
    first = hit.snippet.split("\n")[0].rstrip("…")
    assert first
    assert first in text.text
    assert code.splitlines()[hit.line - 1].strip().startswith(first.strip())
    assert text.metadata["repo"] == "org/app"


def test_a_file_has_one_place_and_names_passages_that_fetch_takes(
    service: Service, code: str
) -> None:
    asked = {"corpora": ["code"], "top_k": 1}
    (hit,) = tools.search(service, "step_7 step_30", **asked).results
    (passage,) = service.driver.ask("step_7 step_30", **asked)
    assert 1 <= len(hit.also) <= 3
    first, last = map(int, hit.also[0].split("-"))
    fetched = tools.fetch(service, hit.id, lines=hit.also[0])
    assert fetched.text.splitlines() == code.splitlines()[first - 1 : last]
    labels = [one["source_label"] for one in passage.more_of_file]
    inputs = {"query": "step_7 step_30", "explain_chunks": labels, "context_depth": 1}
    inputs |= {"only_corpora": ["code"], "top_k": 1}
    fates = service.driver.execute(["dispositions"], inputs)["dispositions"].to_dicts()
    others = {one["disposition"] for one in fates if one["result_rank"] is None}
    assert others == {"with_its_file"}
    fates = service.driver.execute(["dispositions"], inputs | {"more_passages": 0})["dispositions"]
    reasons = fates.filter(disposition="below_top_k")["reason"]
    assert reasons.str.contains(
        "its file has its place by [code: org/app/src/a.py", literal=True
    ).all()
    assert len(reasons) == len(labels)


def test_a_brief_result_is_fetched_by_its_label(service: Service) -> None:
    whole, brief = (tools.search(service, ASK, brief=b).results for b in (False, True))
    assert [one.title for one in brief] == [one.title for one in whole]
    assert {one.id for one in brief} == {""}
    for one in whole:
        assert tools.fetch(service, one.id).text.strip() in tools.fetch(service, one.title).text


def test_a_name_of_code_is_fetched_as_its_definition(service: Service, code: str) -> None:
    assert tools.fetch(service, "step_7").text == code.splitlines()[6]
    with pytest.raises(UnknownName, match="no passage 'step_99'"):
        tools.fetch(service, "step_99")


def test_what_one_text_leaves_of_an_answer_is_for_those_after_it(service: Service) -> None:
    places = ["src/a.py:1-2", "src/a.py"]
    one, other = tools.fetch(service, places[0], further=places[1:] * 2).further
    assert one.text == other.text == tools.fetch(service, "src/a.py").text
    assert token_bound("a_b1") == 3


def test_a_brief_text_has_its_first_line_and_no_address(service: Service, code: str) -> None:
    brief = tools.fetch(service, "src/a.py:3-5", brief=True)
    assert (brief.url, brief.metadata, brief.notes, brief.sources) == (
        None,
        {"start_line": "3"},
        [],
        [],
    )
    assert brief.text.splitlines() == code.splitlines()[2:5]


def test_every_place_of_an_exact_text_is_listed_and_counted(service: Service) -> None:
    told = grep(service, "cache, 3)")
    assert told.total == "1 place in 1 file, all"
    (file,) = told.files
    assert (file.file, file.lines) == (
        "org/app/src/a.py",
        ["3: def step_3(cache): return flush(cache, 3)"],
    )
    steps = grep(service, r"def step_\d\(", regex=True, corpora=["code"])
    assert steps.total == "9 places in 1 file, all"
    only = grep(service, "step_", corpora=["code"]).files[0]
    assert (len(only.lines), only.more) == (40, None)
    several = [one for one in grep(service, "e").files if one.more]
    assert [len(one.lines) for one in several] == [10] * len(several) != []
    assert grep(service, "zebra").total == "0 places in 0 files, all"
    assert "no document with a path that begins with 'lob'" in grep(service, "e", path="lob").total
    history_lines = grep(service, "word7", corpora=["history"])
    assert [one.lines for one in history_lines.files] == [["1: Flush the cache, attempt 7: word7"]]
    for wrong in ("a\nb", " "):
        with pytest.raises(CrosscorpusError, match="one line"):
            grep(service, wrong)
    with pytest.raises(CrosscorpusError, match="regular expression"):
        grep(service, "(", regex=True)


def test_the_commits_of_a_file_lines_or_a_name_are_listed(service: Service) -> None:
    for place, read in (
        ("src/a.py", "src/a.py"),
        ("org/app/src/a.py:3-5", "src/a.py:3-5"),
        ("step_7", "src/a.py:7-7"),
        ("src", "src"),
    ):
        told = history(service, place)
        assert (told.place, told.notes) == (read, [])
        (change,) = told.commits
        assert (change.author, change.subject) == ("Ann", "Steps")
        assert tools.fetch(service, change.commit).text.startswith("Steps")
    nothing = history(service, "src/zebra.py")
    assert nothing.commits == []
    assert "no commit" in nothing.notes[0]
    (note,) = history(service, "src/zebra.py:1-3").notes
    assert "lists src/zebra.py" in note


def test_lines_of_a_document_come_from_all_its_passages(service: Service) -> None:
    hit = tools.search(service, "step_7 step_30", corpora=["code"]).results[0]
    text = tools.fetch(service, hit.id, lines="3-5").text
    assert text == "\n".join(f"def step_{n}(cache): return flush(cache, {n})" for n in (3, 4, 5))
    with pytest.raises(CrosscorpusError, match="no text of lines 900"):
        tools.fetch(service, hit.id, lines="900-901")
    with pytest.raises(CrosscorpusError, match="write them as 10-42"):
        tools.fetch(service, hit.id, lines="ten")


def test_pages_of_a_search_are_together_the_whole(service: Service) -> None:
    ids, cursor = list[str](), None
    while True:
        page = tools.search(service, "flush the cache attempt", top_k=45, cursor=cursor)
        ids += [one.id for one in page.results]
        cursor = page.next_cursor
        if cursor is None:
            break
    whole = service.driver.ask("flush the cache attempt", top_k=45)
    assert ids == [f"{one.corpus}:{one.chunk_id}" for one in whole]
    assert len(ids) > tools.PAGE


@pytest.mark.parametrize("cursor", ["-1", "1e9", "next", "9" * 30, "٣"])
def test_a_forged_cursor_is_refused(service: Service, cursor: str) -> None:
    with pytest.raises(CrosscorpusError, match="leave it out"):
        tools.search(service, ASK, cursor=cursor)


@pytest.mark.parametrize("how", [{}, {"max_tokens": 200}])
def test_a_context_is_explained_in_the_tokens_that_it_had(
    service: Service, how: dict[str, Any]
) -> None:
    context = tools.get_context(service, ASK, **how)
    explained = tools.explain(service, ASK, **how).passages
    cited = [one for one in explained if one.disposition == "context"]
    assert len(cited) == len(context.citations)
    assert f" of {how.get('max_tokens', 1_500):,} tokens" in cited[0].reason
    assert cited[0].reason.startswith("1st in the context, with ")  # the disposition says the rest


def test_what_is_missed_is_explained(service: Service) -> None:
    out = tools.explain(service, ASK, passages=["src/a.py"], corpora=["wiki"])
    ranks = [one.rank for one in out.passages if one.rank is not None]
    assert ranks == list(range(1, len(ranks) + 1))
    missed = [one for one in out.passages if one.title.startswith("[code: org/app/src/a.py")]
    assert missed
    assert missed[0].rank is None
    assert missed[0].reason


def test_versions_are_listed_and_compared(service: Service) -> None:
    assert [one.version for one in tools.versions(service).versions] == ["2.0"]
    listed = tools.versions(service, "docs/2.0/limits.md")
    assert [one.version for one in listed.versions] == ["1.0", "2.0"]
    changed = tools.versions(service, "docs/2.0/limits.md", older="1.0").changes
    assert len(changed) == 1
    assert changed[0].startswith("revised")
    assert "100 entries" in changed[0]


def test_a_diff_gets_the_context_of_its_review(service: Service) -> None:
    line = "def step_7(cache): return flush(cache, 7)"
    place = "diff --git a/src/a.py b/src/a.py\n--- a/src/a.py\n+++ b/src/a.py\n@@ -7 +7 @@\n"
    diff = f"{place}-{line}\n+{line.replace('7)', '8)')}\n"
    found = review_context(service, diff, title="Flush step 7 as step 8")
    assert found.instruction == REVIEW_PROMPT
    assert all(one.startswith("[") for one in found.citations)
    cut = diff.replace("@@ -7 +7 @@", "@@ -7,3 +7 @@")
    whole, brief = (review_context(service, cut, brief=short) for short in (False, True))
    assert (len(whole.notes), whole.notes[0] in brief.text) == (1, True)
    assert (brief.citations, brief.instruction, brief.notes, brief.sources) == ([], None, [], [])
    with pytest.raises(CrosscorpusError, match="the text is no diff"):
        review_context(service, "please have a look")


def test_every_answer_says_when_each_source_was_read(service: Service) -> None:
    known = tools.status(service)
    assert {one.corpus: one.documents for one in known.corpora}["wiki"] == 1
    assert {one.unembedded for one in known.corpora} == {0}
    assert known.repos == ["org/app"]
    asked = "step_7 flush the cache attempt"
    for answer in (tools.search(service, asked), tools.get_context(service, asked), known):
        assert [one.state for one in answer.sources] == ["ok", "ok"]
        assert any("org/app" in one.source and "code" in one.corpora for one in answer.sources)


def test_a_version_of_a_document_is_fetched_by_any_of_its_passages(service: Service) -> None:
    hit = tools.search(service, "entries of the cache", corpora=["docs"]).results[0]
    old = tools.fetch(service, hit.id, version="1.0")
    assert old.text.startswith("# Limits")
    assert "100 entries" in old.text
    assert old.metadata["version"] == "1.0"
    assert tools.fetch(service, hit.id, version="2.0", lines="1").text == "# Limits"
    with pytest.raises(UnknownName, match=r"it has 1\.0, 2\.0"):
        tools.fetch(service, hit.id, version="7")


def test_each_tool_knows_the_other_collections_of_a_configuration(
    service: Service, server_dsn: str, tmp_path: Path
) -> None:
    other = "service-tests-platform"
    file = tmp_path / "documents.jsonl"
    rows = [
        {"doc_id": f"p{n}", "corpus": "docs", "repo": "org/platform", "path": f"{n}.0/rates.md"}
        | {"version": f"{n}.0", "text": f"# Rates\n\nA caller may ask {n}0 times a minute."}
        for n in (3, 4)
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    corpora = {"docs": {}, "rules": {"collection": other, "corpus": "docs"}}
    config = load_config({"extends": "default", "corpora": corpora})
    embedder = WordEmbedder()
    with open_store(server_dsn, other, create=True) as store:
        ingest_documents(store, embedder, file)
    with build_driver(config, store=service.store, embedder=embedder) as driver:
        both = Service(driver, service.store)
        assert tools.search(both, ASK, repos=["org/app", "org/platform"]).results
        (hit, *_) = tools.search(both, "how many times", repos=["org/platform"]).results
        assert hit.id.startswith("rules:")
        with pytest.raises(UnknownName, match="org/platfrm"):
            tools.search(both, ASK, repos=["org/platfrm"])
        assert "30 times" in tools.fetch(both, hit.id, version="3.0").text
        listed = tools.versions(both, "4.0/rates.md")
        assert [one.version for one in listed.versions] == ["3.0", "4.0"]
        assert [one.corpora for one in listed.sources] == [["docs"]]
        known = tools.status(both)
        assert {one.corpus: one.documents for one in known.corpora}["rules"] == 2
        assert known.repos == ["org/app", "org/platform"]
        assert len(known.sources) == 3
    drop_collection(server_dsn, other)


def test_an_answer_names_the_sources_of_what_it_shows_alone(service: Service) -> None:
    code = tools.search(service, "step_7", corpora=["code"])
    assert [one.source.split()[-1] for one in code.sources] == ["org/app"]
    fetched = tools.fetch(service, code.results[0].id)
    assert fetched.sources == code.sources
    wiki = tools.search(service, ASK, corpora=["wiki"])
    assert wiki.sources
    assert not any("org/app" in one.source for one in wiki.sources)
    for answer in (tools.explain(service, ASK), tools.versions(service)):
        assert answer.sources


HOSTILE = ("javascript:alert(1)", "//evil.test/x", "http://good.test@evil.test/")


def test_a_link_that_is_not_safe_leaves_by_no_door_and_the_passage_s_page_stands_for_it(
    server_dsn: str, tmp_path: Path
) -> None:
    name, safe = "service-tests-links", "https://good.test/a b(c)"
    with open_store(server_dsn, name, create=True) as store:
        rows = [
            {
                "doc_id": f"d{n}",
                "corpus": "docs",
                "text": f"zebra crossing {n}",
                "url": "https://x.test",
            }
            for n in range(len(HOSTILE) + 1)
        ]
        file = tmp_path / "documents.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        ingest_documents(store, WordEmbedder(), file)
        for n, url in enumerate((*HOSTILE, safe)):
            for table in ("chunks", "documents"):
                store.execute(f"UPDATE {table} SET uri = %s WHERE document_id = %s", (url, f"d{n}"))
        with build_driver(load_config("default"), store=store, embedder=WordEmbedder()) as driver:
            service = Service(driver, store, "http://127.0.0.1:1/p")
            hits = tools.search(service, "zebra crossing", top_k=20).results
            links = [hit.url for hit in hits]
            links += [tools.fetch(service, hit.id).url for hit in hits]
            links += [one.url for hit in hits for one in neighbours(service, hit.id).passages]
            answer = driver.ask("zebra crossing", top_k=20)
            citations = "".join(tools.get_context(service, "zebra crossing").citations)
    drop_collection(server_dsn, name)
    assert len(hits) == len(answer) == len(HOSTILE) + 1
    assert {url for url in links if not url.startswith(f"{service.page}/docs")} == {
        "https://good.test/a%20b%28c%29"
    }
    assert {one.url for one in answer} == {None, "https://good.test/a%20b%28c%29"}
    assert citations.count("](") == 1
