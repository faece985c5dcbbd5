from __future__ import annotations

import json
import math

import altair as alt
from lxml import html

from operators.report import charts


def _bars(name: str) -> alt.Chart:
    data = charts.rows([{"name": name, "value": 1.0}, {"name": "b", "value": math.nan}])
    return alt.Chart(data, width="container").mark_bar().encode(x="value:Q", y="name:N")


def test_a_chart_carries_its_data_and_says_what_it_shows() -> None:
    figure = html.fragment_fromstring(charts.chart(_bars("a"), title="T", label="Bars", note="N"))
    place = figure.find("div")
    spec = json.loads(figure.findtext("script"))
    assert place.get("data-label") == "Bars"
    assert place.get("data-spec") == figure.find("script").get("id")
    assert figure.findtext("figcaption") == "N"
    assert "vega/v6" in spec["$schema"]  # compiled: the page needs no Vega-Lite
    values = next(data["values"] for data in spec["data"] if "values" in data)
    assert values == [{"name": "a", "value": 1.0}, {"name": "b", "value": None}]


def test_no_content_of_a_chart_ends_its_script(hostile: str) -> None:
    figure = html.fragment_fromstring(charts.chart(_bars(hostile), title=hostile, label=hostile))
    assert [child.tag for child in figure] == ["p", "script", "div"]
    assert figure.findtext("p").startswith("</script><script>")
