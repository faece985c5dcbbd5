from __future__ import annotations

import time

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.context.exact_phrase import message_phrases, notes, phrases_first, quoted
from operators.frames import FUSED, QUERIES


def hits(*texts: str, query: int = 0) -> pl.DataFrame:
    rows = [
        {"query_id": query, "chunk_id": n, "rank": n, "text": text, "score": 1 - n / 10}
        for n, text in enumerate(texts)
    ]
    return pl.DataFrame(rows, schema=FUSED)


def asked(*texts: str, query: int = 0) -> pl.DataFrame:
    return pl.DataFrame([{"query_id": query, "texts": list(texts)}], schema=QUERIES)


def order(question: str, *texts: str) -> list[int]:
    found = phrases_first(hits(*texts), asked(question))
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
    found = phrases_first(lists, pl.concat([asked("red apple"), asked('"red apple"', query=7)]))
    assert found["chunk_id"].to_list() == [0, 1, 1, 0]


@pytest.mark.parametrize(
    ("message", "fixed"),
    [
        ("Error: No such option: --nmae", "no such option"),
        ("Traceback:\nValueError: the stream is closed", "the stream is closed"),
        ("error[E0308]: mismatched types here", "mismatched types here"),
        ("Got unexpected extra argument (foo)", "got unexpected extra argument"),
        ("Cannot send, as the client is closed", "cannot send, as the client is closed"),
        ("Digest auth is not yet implemented.", "digest auth is not yet implemented."),
        ("Proxy protocol must be either 'http' or foo.", "proxy protocol must be either"),
        ('where is "No such option: --nmae" from', "no such option"),
    ],
)
def test_an_error_message_is_a_phrase_up_to_what_is_filled_in(message: str, fixed: str) -> None:
    assert order(message, "nothing", f"raise E({fixed!r})") == [1, 0]


@pytest.mark.parametrize(
    "question",
    [
        "",
        "python convert string to date",
        "How does the client send a request.",
        "No such thing?",
        "Error: x",
        "What is new: the client",
        "a module of three words",
        "This moves the logic of fields.\nIt is not yet done.",
    ],
)
def test_a_plain_question_is_no_error_message(question: str) -> None:
    assert message_phrases(question) == []


def test_pasted_lines_and_the_strings_of_code_are_not_quoted_phrases() -> None:
    assert quoted('File "a.py", line 1\n  open("r")') == []
    assert quoted('print("hello", end="")') == []
    assert quoted('"" "." “ ”') == []


def test_without_a_phrase_that_a_passage_has_the_list_stays_as_it_is() -> None:
    lists = hits("a", "b")
    assert phrases_first(lists, asked('"c d"')) is lists
    assert phrases_first(lists, asked("a question")) is lists
    assert phrases_first(lists.clear(), asked('"a"')).is_empty()


def test_a_note_names_the_quoted_phrases_that_no_passage_has_and_no_error_message() -> None:
    lists = hits("red apple")
    said = notes(lists, asked('"red apple" "blue\x1b pear"', "Error: no such red pear"))
    assert said.rows() == [(0, 'no passage found has "blue\\u{1b} pear" as it stands')]
    assert notes(lists, asked("Error: no such red pear")).is_empty()


@given(st.text(), st.lists(st.text(), max_size=4))
def test_any_question_keeps_every_passage_once(question: str, texts: list[str]) -> None:
    assert sorted(order(question, *texts)) == list(range(len(texts)))


@pytest.mark.parametrize(
    "text", ['"a' * 10_000, "error: " * 3_000, "error" * 4_000, "A.\n" * 7_000]
)
def test_a_hostile_question_is_read_at_once(text: str) -> None:
    begin = time.monotonic()
    phrases_first(hits(text, '"\n' * 10_000), asked(text, text.replace("\n", " ")))
    assert time.monotonic() - begin < 5


@pytest.mark.parametrize(
    ("name", "definition"),
    [
        ("CliRunner", "import io\n\nclass CliRunner:\n    pass"),
        ("`strip_ansi()`", "def strip_ansi(value):"),
        ("fetch()", "    async def fetch(self):"),
        ("fn parse", "pub(crate) x\npub const unsafe fn parse() {"),
        ("Flask.run_all", "    def run_all(self):"),
        ("where is StaticFiles defined?", "class StaticFiles:"),
        ("Store", "export default class Store {"),
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
    "definition",
    [
        "PG_FUNCTION_INFO_V1(l2_normalize);\nDatum\nl2_normalize(PG_FUNCTION_ARGS)\n{",
        "static inline int *l2_normalize(const float *a, int n) {",
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
