import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import read_trec_run
from trec_runs import read_run

from operators.evaluation.evaluation_frames import RUN
from operators.evaluation.judgements import JudgementError
from operators.evaluation.trec import numbered, write_run
from operators.frames import check


def run_of(lists, config="a"):
    rows = [(q, d, "code") for q, documents in lists.items() for d in documents]
    schema = {"query_id": pl.String, "doc_id": pl.String, "corpus": pl.String}
    return numbered(pl.DataFrame(rows, schema=schema, orient="row"), config)


def test_other_tools_read_a_run_in_its_order(tmp_path):
    write_run(run_of({"q2": ["b", "a"], "q1": ["c"]}), tmp_path / "x.trec", tag="my run")
    lines = (tmp_path / "x.trec").read_text().splitlines()
    assert lines[0] == "q2 Q0 b 1 2.0 my_run"
    found = list(read_trec_run(str(tmp_path / "x.trec")))
    assert [(s.query_id, s.doc_id, s.score) for s in found] == [
        ("q2", "b", 2.0),
        ("q2", "a", 1.0),
        ("q1", "c", 1.0),
    ]


ids = st.text(
    st.characters(
        codec="utf-8", exclude_characters="\t\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029", min_codepoint=32
    ),
    min_size=1,
).filter(lambda text: text == text.strip())


@given(st.dictionaries(ids, st.lists(ids, unique=True, min_size=1, max_size=4), max_size=3))
def test_a_run_that_is_written_is_read_back(tmp_path_factory, lists):
    run = run_of(lists)
    path = tmp_path_factory.mktemp("runs") / "x.trec"
    write_run(run, path, tag="x")
    read = check(read_run(path, config="a"), RUN, "run")
    assert read.drop("corpus").equals(run.sort("query_id", "rank").drop("corpus"))


@pytest.mark.parametrize("broken", ["a\tb", "a\nb", "a\u2028b", "", " a", "a\u00a0"])
def test_an_id_that_no_line_can_hold_is_refused(tmp_path, broken):
    with pytest.raises(JudgementError, match="can't be in a run file"):
        write_run(run_of({"q": [broken]}), tmp_path / "x.trec", tag="x")
