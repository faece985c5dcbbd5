"""From runs to what can be believed about them."""


def test_the_documents_of_changed_queries_have_their_titles(found):
    listed = found.changed["before_list"].explode().append(found.changed["after_list"].explode())
    pages = {one for one in listed.drop_nulls() if one.startswith("wiki page/")}
    assert pages
    assert found.titles == {page: page.removeprefix("wiki page/") for page in pages}
