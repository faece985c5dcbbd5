"""A file with several good passages is likely to be the subject (Callan, SIGIR 1994)."""

import numpy as np
import polars as pl

from operators.signals.files import rows_by_file
from operators.signals.rule import Questions, Values, gain


@gain
def share_of_file(hits: pl.DataFrame, questions: Questions) -> Values:
    """The summed scores of the hit's file over the highest sum, at the file's best passage."""
    score, value = hits["score"].to_list(), np.zeros(hits.height)
    for files in rows_by_file(hits).values():
        sums = {rows[0]: sum(score[row] for row in rows) for rows in files.values()}
        most = max(sums.values())
        for row, total in sums.items() if most > 0 else ():
            value[row] = total / most
    return value
