"""The Mermaid text of a picture."""

from dataflow.visualization.folding import fold
from dataflow.visualization.graph_diff import difference_picture
from dataflow.visualization.mermaid import to_mermaid
from dataflow.visualization.picture import picture


def test_mermaid_has_the_same_boxes_clusters_and_arrows(described):
    shown = fold(picture(described({"north": {}, "south": {}})))
    text = to_mermaid(shown)
    assert text.startswith("flowchart TB")
    assert text.count(" --> ") == len(shown.arrows)
    assert text.count("  subgraph ") == len(shown.titles)
    assert '["north, south x 2"]' in text
    assert "mean<br/><small>plain</small>" in text


def test_a_difference_tells_what_came_and_what_went(described):
    less, more = described({"north": {}, "south": {}}), described()
    assert " ==> " in to_mermaid(difference_picture(less, more))
    gone = to_mermaid(difference_picture(more, less))
    assert " -.-x " in gone
    assert "stroke-dasharray" in gone


def test_a_quote_in_a_label_can_not_end_it(described):
    text = to_mermaid(fold(picture(described({"north": {}, "south": {"window": 'a"b'}}))))
    assert "a#34;b" in text
