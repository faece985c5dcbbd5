"""A name that few passages have leads, where the question looks it up."""

from __future__ import annotations

import polars as pl
import pytest

from operators.frames import FUSED
from operators.question.intent import intent
from operators.signals.rare_name import FEW, MOST, absent_names
from tests.support.ordering import asked, ordered


def hits(*texts: str, code: int | None = None) -> pl.DataFrame:
    rows = [
        {"query_id": 0, "chunk_id": n, "rank": n, "text": text, "score": 1 - n / 10}
        | ({"corpus": "code", "path": "a.c"} if n == code else {})
        for n, text in enumerate(texts)
    ]
    return pl.DataFrame(rows, schema=FUSED)


def order(question: str, *texts: str, code: int | None = None) -> list[int]:
    found = ordered(hits(*texts, code=code), asked(question), {"rare_name": 1.0})
    return found["chunk_id"].to_list()


@pytest.mark.parametrize("question", ["buf_valid", "what does buf_valid do", "`RawIOBase` buffer"])
def test_a_passage_with_the_rare_name_leads(question: str) -> None:
    name = "RawIOBase" if "Raw" in question else "buf_valid"
    assert order(question, "a buffer is valid", f"if {name}(buffer):") == [1, 0]


def test_a_part_of_a_longer_name_is_not_the_name() -> None:
    assert order("what does buf_valid do", "a buffer is valid", "nvim_buf_valid_all()") == [0, 1]


def test_a_name_that_many_passages_have_decides_nothing() -> None:
    assert order("buf_valid", "a buffer", *["buf_valid"] * MOST)[0] == 1
    assert order("buf_valid", "a buffer", *["buf_valid"] * (MOST + 1))[0] == 0
    rarer = order("buf_valid RawIOBase", *["buf_valid"] * (FEW + 1), "RawIOBase")
    assert rarer[0] == FEW + 1


def test_code_stands_first_where_nothing_but_a_name_is_asked() -> None:
    texts = ("Add buf_valid", "if buf_valid(buffer):")
    assert order("what does buf_valid do", *texts, code=1)[0] == 1
    for of_history in ("which commit adds `buf_valid`", "why buf_valid"):
        assert order(of_history, *texts, code=1)[0] == 0


def test_a_longer_question_only_mentions_its_names() -> None:
    question = "why does the window close when buf_valid returns false on startup"
    assert order(question, "a window closes", "if buf_valid(buffer):") == [0, 1]


@pytest.mark.parametrize(("asked", "said"), [("OPS-41", "Closes OPS-41."), ("!88", "as in !88")])
def test_what_names_the_issue_or_the_request_comes_next(asked: str, said: str) -> None:
    assert order(f"why {asked}", "as in !881", "OPS-410", said) == [2, 0, 1]


@pytest.mark.parametrize("branch", ["OPS-41-fix", "feature/OPS-41", "ops-41_fix", "ann/ops_OPS-41"])
def test_a_branch_whose_name_has_the_key_of_an_issue_names_it(branch: str) -> None:
    texts = ("Branch `ops-410`", "Branch `devops-41`", f"Branch `{branch}`")
    assert order("OPS-41", *texts) == [2, 0, 1]


@pytest.mark.parametrize("name", ["OPS-999", "buf_valid", "RawIOBase"])
def test_where_no_passage_has_a_name_that_is_looked_up_it_is_known(name: str) -> None:
    about = intent(asked(f"what does {name} do"), asked(f"what does {name} do"))
    assert absent_names(hits("OPS-9990", "a valid buffer"), about) == {0: [name]}
    assert absent_names(hits("a buffer", f"see `{name}`"), about) == {}
