"""A node of somebody's own is a node like ours, whichever part of the graph it is in."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from ingesting import ingest_documents

from dataflow import build_driver, load_config
from dataflow.cli.console.graphs import draw_graph
from dataflow.configuration.loader import ConfigError
from dataflow.driver.config_graphs import diff_configs
from dataflow.driver.retrieval_driver import RetrievalDriver
from dataflow.execution.built_graph import GraphError
from dataflow.visualization.dot import to_dot
from operators.embedding.minilm import load_minilm
from operators.errors import CrosscorpusError
from operators.explain.waterfall import waterfall
from operators.postgres.store import Store, drop_collection, open_store

QUERY = "why is the cache flushed twice?"


@pytest.fixture(scope="module")
def filled(server_dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    texts = [
        ("code", "cache.py", "def flush(cache): the cache is flushed twice after a merge"),
        ("wiki", "Caching", "why the cache is flushed: the cache keeps two generations"),
        ("docs", "guide.md", "install the package and configure the cache server"),
    ]
    rows = [{"doc_id": name, "corpus": c, "title": name, "text": t} for c, name, t in texts]
    file = tmp_path_factory.mktemp("own") / "documents.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    with open_store(server_dsn, "own-modules", create=True) as store:
        ingest_documents(store, load_minilm(), file)
        yield store
    drop_collection(server_dsn, "own-modules")


def write(folder: Path, text: str, **settings: Any) -> Path:
    """A module beside an experiment that names it; the experiment's path."""
    (folder / "mine.py").write_text("import polars as pl\n" + textwrap.dedent(text))
    content = {"extends": "default", "modules": ["./mine.py"], **settings}
    (folder / "mine.yaml").write_text(yaml.safe_dump(content))
    return folder / "mine.yaml"


def driver_of(store: Store, config: Any, **options: Any) -> RetrievalDriver:
    return build_driver(config, store=store, embedder=load_minilm(), **options)


def test_a_foreign_variant_of_a_stage_is_one_of_ours(filled: Store, tmp_path: Path) -> None:
    text = '''
    from hamilton.function_modifiers import tag

    from operators.ranking.fusion import comb_sum

    @tag(stage="fusion", frame="FUSED")
    def fused__mine(aged_hits: pl.DataFrame, my_own: float = 1.5) -> pl.DataFrame:
        """The sum, times a number."""
        fused = comb_sum(aged_hits)
        return fused.with_columns(score=pl.col("score") * my_own)
    '''
    file = write(tmp_path, text, variants={"fused": "mine"})
    config, ask = load_config(file), {"query": QUERY}
    with driver_of(filled, "default") as shipped, driver_of(filled, config) as driver:
        out = driver.execute(["results", "explain", "provenance"], inputs=ask)
        base = shipped.execute(["results"], inputs=ask)["results"]
        assert set(out["results"]["chunk_id"]) == set(base["chunk_id"])
        assert out["explain"].height
        told = out["provenance"]
        assert (told["variants"]["fused"], list(told["modules"])) == ("mine", ["mine.py"])
        assert told["parameters"]["my_own"] == 1.5
        run = driver.execute(["provenance"], inputs={**ask, "my_own": 2.5})["provenance"]
        assert run["parameters"]["my_own"] == 2.5
        changed = shipped.what_if(shipped.trace(["results", "context_window"], inputs=ask), config)
        assert "fused" in changed.computed
        assert changed["results"].equals(out["results"])
    different = diff_configs(load_config("default"), config).to_json()
    assert "mine.fused__mine" in json.dumps(different)
    assert to_dot(draw_graph("retrieval", config)).count("mine.py") == 1
    with pytest.raises(CrosscorpusError, match="did you mean 'mine'"):
        load_config(write(tmp_path, text, variants={"fused": "mien"}))


def test_a_new_node_is_read_by_others_and_a_plain_node_gives_way_only_when_it_is_chosen(
    filled: Store, tmp_path: Path
) -> None:
    text = '''
    def best_files__first(unique: pl.DataFrame) -> pl.DataFrame:
        """The best one."""
        return unique.drop("part", "other_parts", strict=False).head(1)

    def loud(results: pl.DataFrame) -> pl.Series:
        """The labels in capitals."""
        return results["source_label"].str.to_uppercase()
    '''
    with driver_of(filled, write(tmp_path, text)) as driver:
        assert len(driver.execute(["loud"], {"query": QUERY})["loud"]) == 3
    with driver_of(filled, write(tmp_path, text, variants={"best_files": "first"})) as driver:
        assert len(driver.execute(["loud"], {"query": QUERY})["loud"]) == 1


def test_a_module_is_given_to_the_driver_too(
    filled: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "team_nodes.py").write_text(
        "import polars as pl\n\n\ndef count(results: pl.DataFrame) -> int:\n"
        '    """How many."""\n    return results.height\n'
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    for given in ("team_nodes", str(tmp_path / "team_nodes.py")):
        with driver_of(filled, "default", modules=[given]) as driver:
            assert driver.execute(["count"], {"query": QUERY}) == {"count": 3}
    import team_nodes  # type: ignore[import-not-found]

    with driver_of(filled, {"extends": "default"}, modules=[team_nodes]) as driver:
        told = driver.execute(["provenance"], {"query": QUERY})["provenance"]["modules"]
        assert told["team_nodes"].startswith("sha256 ")


FUSED = '''
def fused__mine(aged_hits: pl.DataFrame) -> pl.DataFrame:
    """Mine."""
    {}
'''

HEAD = "def fused__mine(aged_hits: pl.DataFrame"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1 / 0", r"mine\.py does not import: ZeroDivisionError: .* line 2\)"),
        ("def results(a: int) -> int: return a", "mine.py: results: .* call yours results__NAME"),
        (
            "def fused__mine(a) -> int: return a",
            "mine.py: fused__mine: give 'a' a type: a: pl.DataFrame",
        ),
        (
            "def fused__rrf(a: int) -> int: return a",
            "fused__rrf: is a variant of ours: choose another",
        ),
        (
            f"{HEAD}, rrf_k: float = 3.0) -> pl.DataFrame: return aged_hits",
            "'rrf_k' has the default 3.0 in fused__mine and 60.0",
        ),
        (
            f"{HEAD}, search_depth: int = 3) -> pl.DataFrame: return aged_hits",
            "'search_depth' is one of corpus_settings: read its frame",
        ),
    ],
)
def test_a_module_that_does_not_fit_is_one_line_that_names_the_function(
    tmp_path: Path, text: str, said: str
) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        load_config(write(tmp_path, text))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("node", "argument", "says"),
    [
        ("fused", "aged_hitz: pl.DataFrame", "needs 'aged_hitz', .*, did you mean 'aged_hits'?"),
        ("merged", "normalised: pl.DataFrame", "needs .*, did you mean 'normalized'?"),
        (
            "fused",
            "aged_hits: pl.Series",
            "is expecting aged_hits:polars.series.series.Series, but",
        ),
        ("fused", "results: pl.DataFrame", "-> weighted"),  # in a circle
    ],
)
def test_an_input_that_does_not_fit_is_one_line_that_names_function_and_input(
    filled: Store, tmp_path: Path, node: str, argument: str, says: str
) -> None:
    text = f"def {node}__mine({argument}) -> pl.DataFrame: return pl.DataFrame()"
    chosen = {"variants": {node: "mine"}}
    of_corpora = {"modules": [], "corpus_modules": ["./mine.py"], "corpus_defaults": chosen}
    config = write(tmp_path, text, **(of_corpora if node == "merged" else chosen))
    with pytest.raises(GraphError, match=rf"{node}[_mine]* {says}") as caught:
        driver_of(filled, config)
    assert len(str(caught.value)) < 150


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return aged_hits", r"fused__mine: its frame lacks the column 'score' \(Float64\)"),
        (
            "aged_hits.drop_in_place('recency'); return aged_hits",
            "fused__mine changes its input 'aged_hits'",
        ),
        ("raise OSError('mine')", r"fused__mine raises OSError: mine \(.*mine\.py line \d+\)"),
        (
            "return aged_hits.select('texts')",
            r"fused__mine raises .* column \"texts\", did you mean 'text'\?",
        ),
        ("return aged_hits.select('zebra')", r"column \"zebra\"; known: [a-z_, ]*, text, "),
        (
            "return aged_hits.with_columns(score=pl.lit(float('nan')))",
            r"'score' is NaN in \d+ of \d+ rows",
        ),
    ],
)
def test_a_frame_that_does_not_fit_names_function_column_and_what_was_expected(
    filled: Store, tmp_path: Path, body: str, said: str
) -> None:
    config = write(tmp_path, FUSED.format(body), variants={"fused": "mine"})
    with driver_of(filled, config) as driver, pytest.raises(GraphError, match=said):
        driver.execute(["results"], {"query": QUERY})


def test_a_variant_may_be_called_off_and_a_search_of_ones_own_may_fail(
    filled: Store, tmp_path: Path
) -> None:
    text = """
    from hamilton.function_modifiers import tag
    from operators.postgres.search.timed_search import Searched, SearchRequest, timed_search
    from operators.postgres.search.vector_search import search_vectors

    @tag(stage="search", io="postgres", fail_open="yes")
    def text_search__off(scoped_queries: pl.DataFrame) -> Searched:
        raise OSError("my index is gone")

    def vector_search__own(
        search_request: SearchRequest, query_embeddings: pl.DataFrame
    ) -> Searched:
        return timed_search("vector", search_vectors, search_request, query_embeddings)
    """
    chosen = {"variants": {"text_search": False, "vector_search": "own"}}
    settings = {"modules": [], "corpus_modules": ["./mine.py"], "corpus_defaults": chosen}
    config = write(tmp_path, text, **settings)
    with driver_of(filled, config) as driver:
        out = driver.execute(["results", "notes"], {"query": QUERY})
        assert out["results"].height
        assert any("my index is gone" in note for note in out["notes"]["note"])


def test_only_what_the_configuration_names_is_imported(tmp_path: Path) -> None:
    write(tmp_path, "raise SystemExit")
    load_config("default")
    assert not [name for name in sys.modules if name.endswith(".mine") and "own" not in name]
    with pytest.raises(CrosscorpusError, match="no stage 'fusde'"):
        load_config({"extends": "default", "variants": {"fusde": "rrf"}})


def test_two_modules_with_one_name_and_a_file_that_is_not_there_are_refused(tmp_path: Path) -> None:
    (tmp_path / "more.py").write_text("import polars as pl\n" + FUSED_TYPED)
    with pytest.raises(ConfigError, match=r"more\.py: fused__mine: mine\.py has that name too"):
        load_config(write(tmp_path, FUSED_TYPED, modules=["./mine.py", "./more.py"]))
    with pytest.raises(ConfigError, match=r"there is no file .*none\.py"):
        load_config({"extends": "default", "modules": [str(tmp_path / "none.py")]})


FUSED_TYPED = "def fused__mine(aged_hits: pl.DataFrame) -> pl.DataFrame: return aged_hits\n"


def test_a_stage_put_between_two_lists_is_one_function_and_is_explained(
    filled: Store, tmp_path: Path
) -> None:
    text = '''
    from hamilton.function_modifiers import tag

    from operators.ranking.total_order import ranked

    @tag(stage="fusion", frame="FUSED")
    def longer(fused: pl.DataFrame) -> pl.DataFrame:
        """The list with long passages first."""
        told = fused.with_columns(length=pl.col("text").str.len_chars().cast(pl.Float64))
        return ranked(told, pl.col("score") * pl.col("length"))

    def weighted__after(longer: pl.DataFrame) -> pl.DataFrame:
        """The list as it is."""
        return longer
    '''
    with driver_of(filled, write(tmp_path, text, variants={"weighted": "after"})) as driver:
        out = driver.execute(["results", "dispositions", "explain"], {"query": QUERY})
    first = out["results"].row(0, named=True)
    places = [one["list"] for one in out["dispositions"]["ranks"][0]]
    assert places[places.index("fused") : places.index("fused") + 3] == [
        "fused",
        "longer",
        "weighted",
    ]
    *_, last = waterfall(out["explain"].filter(chunk_id=first["chunk_id"]))
    assert (last.factor, last.after) == ("length", first["score"])


RULE = '''
from operators.signals.rule import Questions, Values, factor

@factor
def of_wiki(hits: pl.DataFrame, questions: Questions) -> Values:
    """1 for a page of the wiki."""
    return [float(corpus == "wiki") for corpus in hits["corpus"]]
'''


def test_a_rule_of_ones_own_is_weighted_by_configuration_and_explained(
    filled: Store, tmp_path: Path
) -> None:
    scores = {}
    for weight in (0.0, 0.5):
        weights = {"parameters": {"signal_weights": {"of_wiki": weight}}}
        with driver_of(filled, write(tmp_path, RULE, **weights)) as driver:
            out = driver.execute(["results", "explain", "signals"], {"query": QUERY})
            (change, *_) = diff_configs(load_config("default"), driver.config).parameters
            assert (change.where, change.after) == ("signals.signal_weights.of_wiki", weight)
        wiki = out["results"].filter(corpus="wiki").row(0, named=True)
        scores[weight] = wiki["score"]
    told = out["explain"].filter(chunk_id=wiki["chunk_id"], stage="ranked", quantity="of_wiki")
    assert told["value"].to_list() == [0.5]
    assert scores[0.5] < scores[0.0]
    assert waterfall(out["explain"].filter(chunk_id=wiki["chunk_id"]))[-1].factor == "of_wiki"


def test_a_rule_that_there_is_not_or_has_a_shipped_name_is_an_error(
    filled: Store, tmp_path: Path
) -> None:
    unknown, said = {"of_wikis": 0.5}, "no rule 'of_wikis', did you mean 'of_wiki'"
    with pytest.raises(CrosscorpusError, match=said):
        load_config(write(tmp_path, RULE, parameters={"signal_weights": unknown}))
    plain, weights = RULE.replace("@factor\n", ""), {"signal_weights": {"of_wiki": 0.5}}
    with pytest.raises(CrosscorpusError, match="'of_wiki' is a node, not a rule: a rule has @fac"):
        load_config(write(tmp_path, plain, parameters=weights))
    with (
        driver_of(filled, write(tmp_path, RULE)) as driver,
        pytest.raises(CrosscorpusError, match=said),
    ):
        driver.execute(["results"], {"query": QUERY, "signal_weights": unknown})
    for values, says in (("[1.0]", "number for each of 3"), ("hits['zebr']", r"\"zebr\"; known: ")):
        text = RULE.partition("return")[0] + f"return {values}\n"
        config = write(tmp_path, text, parameters=weights)
        with driver_of(filled, config) as driver, pytest.raises(CrosscorpusError, match=says):
            driver.execute(["results"], {"query": QUERY})
    with pytest.raises(CrosscorpusError, match="there is a rule 'superseded'"):
        load_config(write(tmp_path, RULE.replace("of_wiki", "superseded")))
