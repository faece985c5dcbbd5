"""The shapes that agents' connectors expect."""

from dataflow.service.models import Hit, Hits, Text


def test_a_search_and_a_fetch_have_the_fields_that_connectors_read() -> None:
    assert {"id", "title", "url"} <= set(Hit.model_fields)
    assert {"id", "title", "text", "url", "metadata"} <= set(Text.model_fields)
    hit = {"id": "code:1", "title": "[code: a.py]", "url": "file:a.py", "snippet": "x"}
    found = Hits(results=[Hit(**hit)], notes=[], sources=[])
    assert found.model_dump(mode="json")["results"] == [hit]
