"""From runs to what can be believed about them."""

from evaluating import asked


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
