import gzip
import json
from datetime import UTC, datetime

import polars as pl
import pytest

from operators.evaluation.evaluation_frames import JUDGED_QUERIES, QRELS
from operators.evaluation.judgements import JudgementError, check_judged, read_qrels, read_queries
from operators.frames import check


def written(tmp_path, name, *lines):
    path = tmp_path / name
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def test_a_query_keeps_what_is_known_of_it(tmp_path):
    path = written(
        tmp_path,
        "q.jsonl",
        json.dumps(
            {
                "query_id": "q 1",
                "text": "why?",
                "kind": "issue",
                "trigger": "question",
                "as_of": "2022-11-23T01:00:00+01:00",
                "judged_corpora": ["code", "docs"],
                "repos": ["org/app"],
                "url": "https://example.org",
            }
        ),
        "",
        json.dumps({"query_id": 7, "texts": ["how?", "in which way?"], "trigger": "none"}),
    )
    queries = check(read_queries(path), JUDGED_QUERIES, "queries")
    assert queries.row(0, named=True) == {
        "query_id": "q 1",
        "number": 0,
        "texts": ["why?"],
        "text": "why?",
        "kind": "issue",
        "trigger": "question",
        "corpora": ["code", "docs"],
        "repos": ["org/app"],
        "as_of": datetime(2022, 11, 23, tzinfo=UTC),
        "group": None,
    }
    second = queries.row(1, named=True)
    assert (second["query_id"], second["number"], second["text"]) == ("7", 1, "how?")
    assert [second[name] for name in ("kind", "trigger", "corpora", "as_of")] == [None] * 4


def test_a_query_may_be_of_a_group(tmp_path):
    given = [{}, {"group": None}, {"group": ""}, {"group": "g"}, {"group": 7}]
    written_lines = (json.dumps({"query_id": n, "text": "b", **one}) for n, one in enumerate(given))
    found = read_queries(written(tmp_path, "q", *written_lines))["group"]
    assert found.to_list() == [None, None, None, "g", "7"]


def test_files_may_be_compressed_and_begin_with_a_byte_order_mark(tmp_path):
    packed = tmp_path / "q.jsonl.gz"
    packed.write_bytes(gzip.compress(b'\xef\xbb\xbf{"query_id": "a", "text": "b"}\r\n'))
    assert read_queries(packed)["query_id"].to_list() == ["a"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("not json", "line 2: no JSON"),
        ('{"query_id": ' + "9" * 6000 + "}", "line 2: no JSON"),
        ('{"query_id": "b"}', "query 'b' has no text"),
        ('{"query_id": "b", "text": 3}', "text must be a text, got 3"),
        ('{"query_id": "b", "text": "c", "as_of": "yesterday"}', "as_of must be a time"),
        ('{"query_id": "a", "text": "again"}', "query 'a' is on line 1 already"),
    ],
)
def test_a_line_that_is_no_query_is_named(tmp_path, line, said):
    path = written(tmp_path, "q.jsonl", '{"query_id": "a", "text": "b"}', line)
    with pytest.raises(JudgementError, match=said) as raised:
        read_queries(path)
    assert "line 2" in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("read", [read_queries, read_qrels])
def test_an_empty_missing_or_broken_file_is_an_error(tmp_path, read):
    with pytest.raises(JudgementError, match="has no"):
        read(written(tmp_path, "empty", "", "  "))
    with pytest.raises(JudgementError, match="can't read"):
        read(tmp_path / "absent")
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(JudgementError, match="line 1: no UTF-8"):
        read(binary)
    cut = tmp_path / "cut.gz"
    cut.write_bytes(gzip.compress(b"q 0 d 1\n" * 1000)[:30])
    with pytest.raises(JudgementError, match="can't read"):
        read(cut)


def test_judgements_are_split_at_tabs_else_at_spaces(tmp_path):
    path = written(tmp_path, "qrels", "q1\t0\ta page\t2", "q1 0  d2   -1", "q2\t0\td\t0")
    qrels = check(read_qrels(path), QRELS, "qrels")
    assert qrels.rows() == [("q1", "a page", 2), ("q1", "d2", -1), ("q2", "d", 0)]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("q1 d1 1", "got 3 fields"),
        ("q1\t0\t\t1", "expected `query_id 0 doc_id grade`"),
        ("q1 0 d1 NaN", "the grade must be a whole number, got 'NaN'"),
        ("q1 0 d1 99999", "between -20 and 20"),
        ("q 0 d 0", "judged on line 1 already"),
    ],
)
def test_a_line_that_is_no_judgement_is_named(tmp_path, line, said):
    with pytest.raises(JudgementError, match=said) as raised:
        read_qrels(written(tmp_path, "qrels", "q 0 d 1", line))
    assert "line 2" in str(raised.value)


def test_only_queries_with_judgements_are_evaluated(tmp_path):
    queries = read_queries(
        written(tmp_path, "q", *(f'{{"query_id": "{q}", "text": "t"}}' for q in "abc"))
    )
    qrels = read_qrels(written(tmp_path, "r", "c 0 d 1", "z 0 d 1", "a 0 d 1"))
    kept, judged = check_judged(queries, qrels)
    assert kept.select("query_id", "number").rows() == [("a", 0), ("c", 2)]
    assert judged["query_id"].to_list() == ["c", "a"]
    with pytest.raises(JudgementError, match="no query has a judgement"):
        check_judged(queries, qrels.filter(pl.col("query_id") == "z"))
