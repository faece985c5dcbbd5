"""From runs to what can be believed about them."""

import polars as pl
from evaluating import asked

from operators.evaluation.measures import scores
from operators.evaluation.ranked_documents import in_judged_corpora


def test_scores_are_those_of_the_runs(found):
    counted = in_judged_corpora(found.runs, found.queries)
    assert found.scores.equals(scores(counted, found.qrels, list(found.configs)))
    assert found.scores.height == 3 * 4 * 18


def test_the_same_configuration_twice_differs_in_nothing(found):
    same = found.comparison.filter(pl.col("config") == "again")
    assert (
        same["difference"].to_list() == same["low"].to_list() == same["high"].to_list() == [0] * 4
    )
    assert same["p"].to_list() == [1.0] * 4
    assert same["ties"].to_list() == [18] * 4
    assert "again" not in found.changed["config"].to_list()


def test_the_documents_of_changed_queries_have_their_titles(found):
    listed = found.changed["before_list"].explode().append(found.changed["after_list"].explode())
    pages = {one for one in listed.drop_nulls() if one.startswith("wiki page/")}
    assert pages
    assert found.titles == {page: page.removeprefix("wiki page/") for page in pages}


def test_the_list_of_all_corpora_is_a_slice_of_its_own(judged, found):
    every_corpus = found.summary.filter(slice="all corpora", config="default")
    all_corpora = asked(judged, all_corpora=True).summary.filter(slice="all", config="default")
    assert every_corpus["mean"].to_list() == all_corpora["mean"].to_list()
    every = found.summary.filter(slice="all", config="default")
    assert every_corpus["mean"].to_list() != every["mean"].to_list()
