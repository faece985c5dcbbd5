from __future__ import annotations

import polars as pl

from operators.evaluation.evaluation_frames import measures_of


def test_the_measures_of_a_frame_come_in_their_order_once_each() -> None:
    frame = pl.DataFrame({"measure": ["nDCG@10", "AP", "nDCG@10"]})
    assert measures_of(frame) == ["nDCG@10", "AP"]
