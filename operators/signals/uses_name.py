"""Who asks what uses a name wants those places, not the one that defines it."""

import polars as pl

from operators.ranking.definitions import uses
from operators.signals.defines_name import capitalised
from operators.signals.rule import Questions, Values, lead
from operators.signals.secondary import is_test


@lead
def uses_name(hits: pl.DataFrame, questions: Questions) -> Values:
    """1 for a passage of code that uses a name of a question that asks who does.

    A capitalised word is a name too. A question about tests gives 1 to those in tests only.
    """
    value = [0.0] * hits.height
    if not any(asked["asks_users"] for asked in questions.values()):
        return value
    columns = hits["query_id", "repo", "path", "text", "metadata", "of_file"]
    for row, (query, repo, path, text, metadata, of_file) in enumerate(columns.iter_rows()):
        asked = questions[query]
        if of_file and asked["asks_users"] and (is_test(path) or not asked["asks_tests"]):
            names = [*asked["names"], *capitalised(asked, [(repo, path)])]
            value[row] = float(any(uses(name, text, metadata) for name in names))
    return value
