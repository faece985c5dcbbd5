"""Passages that lead for what they say, for their release or for their version."""

from __future__ import annotations

import json
import time

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.frames import FUSED, IN_CHANGELOG, VERSION_SCOPE
from operators.question.intent import intent, message_phrases, quoted
from operators.signals.exact_phrase import notes
from tests.support.ordering import asked, ordered

RULES = dict.fromkeys(("exact_phrase", "sought_name", "uses_name", "named_release"), 1.0)


def hits(*texts: str, query: int = 0) -> pl.DataFrame:
    rows = [
        {"query_id": query, "chunk_id": n, "rank": n, "text": text, "score": 1 - n / 10}
        for n, text in enumerate(texts)
    ]
    return pl.DataFrame(rows, schema=FUSED)


def led(lists: pl.DataFrame, queries: pl.DataFrame) -> pl.DataFrame:
    return ordered(lists, queries, RULES)


def order(question: str, *texts: str) -> list[int]:
    found = led(hits(*texts), asked(question))
    assert found["score"].is_sorted(descending=True)
    assert found["rank"].to_list() == list(range(len(texts)))
    return found["chunk_id"].to_list()


def test_a_passage_with_a_quoted_phrase_leads_case_and_white_space_aside() -> None:
    assert order('why "Not a  number"?', "a number, not", "is NOT a\n  number") == [1, 0]
    assert order("why “not a number”?", "a number, not", "is not a number") == [1, 0]


def test_numbers_and_punctuation_of_a_phrase_stand_as_they_are() -> None:
    texts = ("nargs=-12 is", "nargs = -1 is", "nargs -1 is", "so nargs=-1, is")
    assert order('"nargs=-1"', *texts) == [3, 0, 1, 2]
    assert order('where is "3.12" named', "since 13.12", "since 3.123", "since 3.12.") == [2, 0, 1]


def test_a_message_over_several_lines_of_code_is_one_phrase() -> None:
    code = 'raise E(\n    "The client has"\n    f" been closed."\n)'
    assert order("The client has been closed.", "the client been closed", code) == [1, 0]


def test_the_passage_with_more_phrases_comes_first_and_equals_keep_their_order() -> None:
    texts = ("one", "red apple", "blue pear", "blue pear and red apple")
    assert order('is "red apple" or "blue pear"', *texts) == [3, 1, 2, 0]


def test_each_question_of_a_batch_has_its_own_phrases() -> None:
    lists = pl.concat([hits("a", "red apple"), hits("a", "red apple", query=7)])
    found = led(lists, pl.concat([asked("red apple"), asked('"red apple"', query=7)]))
    assert found["chunk_id"].to_list() == [0, 1, 1, 0]


@pytest.mark.parametrize(
    ("message", "fixed"),
    [
        ("Error: No such option: --nmae", "no such option"),
        ("Traceback:\nValueError: the stream is closed", "the stream is closed"),
        ("error[E0308]: mismatched types here", "mismatched types here"),
        ("Proxy protocol must be either 'http' or foo.", "proxy protocol must be either"),
    ],
)
def test_an_error_message_is_a_phrase_up_to_what_is_filled_in(message: str, fixed: str) -> None:
    assert order(message, "nothing", f"raise E({fixed!r})") == [1, 0]


@pytest.mark.parametrize(
    "question",
    [
        "python convert string to date",
        "No such thing?",
        "What is new: the client",
        "This moves the logic of fields.\nIt is not yet done.",
    ],
)
def test_a_plain_question_is_no_error_message(question: str) -> None:
    assert message_phrases(question) == []


def test_pasted_lines_and_the_strings_of_code_are_not_quoted_phrases() -> None:
    assert quoted('File "a.py", line 1\n  open("r")') == []
    assert quoted('print("hello", end="")') == []
    assert quoted('"" "." “ ”') == []


def said_of(lists: pl.DataFrame, queries: pl.DataFrame) -> pl.DataFrame:
    return notes(lists, intent(queries, queries))


def test_a_note_names_the_quoted_phrases_that_no_passage_has_and_no_error_message() -> None:
    lists = hits("red apple")
    said = said_of(lists, asked('"red apple" "blue\x1b pear"', "Error: no such red pear"))
    assert said.rows() == [(0, 'no passage found has "blue\\u{1b} pear" as it stands')]
    assert said_of(lists, asked("Error: no such red pear")).is_empty()


@given(st.text(), st.lists(st.text(), max_size=4))
def test_any_question_keeps_every_passage_once(question: str, texts: list[str]) -> None:
    assert sorted(order(question, *texts)) == list(range(len(texts)))


@pytest.mark.parametrize(
    "text", ['"a' * 10_000, "error: " * 3_000, "error" * 4_000, "A.\n" * 7_000]
)
def test_a_hostile_question_is_read_at_once(text: str) -> None:
    begin = time.monotonic()
    led(hits(text, '"\n' * 10_000), asked(text, text.replace("\n", " ")))
    assert time.monotonic() - begin < 5


@pytest.mark.parametrize(
    ("name", "definition"),
    [
        ("`strip_ansi()`", "def strip_ansi(value):"),
        ("fn parse", "pub(crate) x\npub const unsafe fn parse() {"),
        ("Flask.run_all", "    def run_all(self):"),
        ("where is StaticFiles defined?", "class StaticFiles:"),
        ("MAX_SIZE", "#define MAX_SIZE 4"),
    ],
)
def test_the_passage_that_defines_the_name_that_is_asked_for_leads(
    name: str, definition: str
) -> None:
    bare = name.strip("`()?").split(".")[-1].removesuffix(" defined").split()[-1]
    others = (f"Fix {bare}", f"uses {bare}()", f"def {bare}_too():", f"the class {bare}")
    assert order(name, *others, definition) == [4, 0, 1, 2, 3]
    assert order(f"what is {bare}", *others, definition) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    "question",
    [
        "Where is flush_all defined?",
        "What does flush_all do?",
        "How is Lock.flush_all implemented?",
        "Where is `lock->flush_all()` defined?",
    ],
)
def test_who_asks_where_a_name_is_or_what_it_does_gets_its_definition_first(question: str) -> None:
    others = ("What flush_all does: it works", "flush_all()", "def flush_all_too():")
    assert order(question, *others, "def flush_all():") == [3, 0, 1, 2]


@pytest.mark.parametrize(
    "question",
    ["Why does flush_all do that?", "What does flush_all do to pages?"],
)
def test_a_question_of_more_than_a_name_keeps_its_order(question: str) -> None:
    assert order(question, "flush_all does it", "def flush_all():", "def it():") == [0, 1, 2]


@pytest.mark.parametrize(
    "definition",
    [
        "PG_FUNCTION_INFO_V1(l2_normalize);\nDatum\nl2_normalize(PG_FUNCTION_ARGS)\n{",
        "std::vector<float> l2_normalize(const T &a)\n{",
    ],
)
def test_a_function_of_c_is_defined_where_its_body_begins(definition: str) -> None:
    others = (
        "Datum l2_normalize(PG_FUNCTION_ARGS);",
        "\tif (l2_normalize(a)) {",
        "l2_normalize(a);",
    )
    assert order("l2_normalize", *others, definition) == [3, 0, 1, 2]


def test_of_the_passages_that_define_a_name_those_in_a_file_of_that_name_lead() -> None:
    ranked_hits = hits("partial class SqlMapper { }", "a use", "partial class SqlMapper { f(); }")
    paths = pl.Series("path", ["SqlMapper.Async.cs", "a.cs", "src/sqlMapper.cs"])
    first = led(ranked_hits.with_columns(paths), asked("SqlMapper"))
    assert first.sort("rank")["chunk_id"].to_list() == [2, 0, 1]


def test_behind_the_word_error_two_words_are_a_message_and_elsewhere_they_are_not() -> None:
    texts = ("options are missing", "Missing option")
    assert order("Error: Missing option '--name'.", *texts) == [1, 0]
    assert message_phrases("Missing option '--name'.") == ["missing option '--name'."]


def test_a_plain_word_alone_is_a_subject_and_no_name() -> None:
    assert order("middleware", "All about middleware", "def middleware(self):") == [0, 1]


def test_the_search_for_a_definition_takes_linear_time() -> None:
    began = time.perf_counter()
    assert order("name", "a " * 200_000, "def " * 100_000, "\n" * 200_000) == [0, 1, 2]
    assert order("name", "a " * 200_000, "a\n" * 100_000, "name(\n" * 100_000) == [0, 1, 2]
    assert time.perf_counter() - began < 5


def release_hits(*rows: tuple[int, str, str | None, float, bool]) -> pl.DataFrame:
    made = [
        {
            "query_id": query,
            "chunk_id": n,
            "rank": n,
            "document_id": document,
            "version": version,
            "score": score,
            "metadata": json.dumps({IN_CHANGELOG: True} if release else {}),
        }
        for n, (query, document, version, score, release) in enumerate(rows)
    ]
    return pl.DataFrame(made, schema=FUSED)


def pinned_scope(**pinned: list[list[str]]) -> pl.DataFrame:
    rows = [{"query_id": n, "pinned": pinned.get(f"q{n}")} for n in (0, 1)]
    return pl.DataFrame(rows, schema=VERSION_SCOPE)


def released(scope: pl.DataFrame, lists: pl.DataFrame | None = None) -> pl.DataFrame:
    queries = pl.concat([asked("what is new?"), asked("what is new?", query=1)])
    return ordered(LIST if lists is None else lists, queries, RULES, scope)


LIST = release_hits(
    (0, "guide", None, 0.9, False),
    (0, "page", "1.0", 0.8, False),
    (0, "news", "1.1", 0.7, True),
    (0, "news", "1.0", 0.5, True),
    (0, "news", "1.0", 0.4, True),
    (1, "guide", None, -3.0, False),
    (1, "news", "1.0", -5.0, True),
)


def test_the_best_passage_of_a_release_that_is_asked_for_leads_and_the_order_is_by_score() -> None:
    found = released(pinned_scope(q0=[["1.0"]], q1=[["1.0", "2.0"]]))
    assert found["chunk_id"].to_list() == [3, 0, 1, 2, 4, 6, 5]
    assert found["rank"].to_list() == [0, 1, 2, 3, 4, 0, 1]
    for _, of in found.group_by("query_id"):
        assert of["score"].is_sorted(descending=True)


def test_without_a_release_that_is_asked_for_the_list_stays_as_it_is() -> None:
    assert released(pinned_scope(q0=[], q1=[])).equals(LIST)
    assert released(pinned_scope(q0=[["3.0"]], q1=[["4.0"]])).equals(LIST)
    assert released(pinned_scope(q0=[["1.0"]]), LIST.clear()).is_empty()
