from __future__ import annotations

import polars as pl
from lxml import html

from operators.evaluation.evaluation_frames import TIMINGS
from operators.report.timings import nodes_table


def test_the_longest_nodes_are_listed_and_the_others_add_up() -> None:
    rows = [("a", "s", f"n{number:02}", float(100 - number)) for number in range(20)]
    rows.append(("b", "s", "only_b", 500.0))
    frame = pl.DataFrame(rows, schema=TIMINGS, orient="row")
    parsed = html.fragment_fromstring(nodes_table(frame, ["a", "b"]))
    cells = [[cell.text for cell in row] for row in parsed.findall("table/tbody/tr")]
    assert cells[0] == ["only_b", "s", "–", "500"]
    assert cells[1] == ["n00", "s", "100", "–"]
    assert cells[-2][0] == "6 others"
    assert cells[-1] == ["all", None, str(sum(100 - n for n in range(20))), "500"]
