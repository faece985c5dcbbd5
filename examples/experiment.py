"""An experiment from a question to a belief, in ten cells, on this repository's own files.

Install `crosscorpus[notebook]` and run `crosscorpus models install`; then
`marimo edit examples/experiment.py`, or without a browser `python examples/experiment.py`.
"""

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="An experiment")


@app.cell
def _():
    # 1. What is asked: questions, and the files that answer them.
    import json
    import pathlib
    import tempfile

    import altair as alt
    import marimo as mo
    import polars as pl

    from dataflow import build_driver, load_config
    from dataflow.ingestion.loop import ingest
    from operators.embedding.registry import load_embedder
    from operators.postgres.store import open_store
    from operators.sources.jsonl import documents_source

    root = pathlib.Path(mo.notebook_dir()).parent
    ranking, dedup, context = "operators/ranking/", "operators/dedup/", "operators/context/"
    driving, tried = "dataflow/driver/", "configs/experiments/"
    foundation, drawing = "operators/foundation/", "dataflow/visualization/"
    questions = {
        "how do the list of the vectors and the list of the words become one?": ranking + "merge",
        "how are the hits of several corpora put into one order?": ranking + "fusion",
        "does it matter that something was written last week?": ranking + "recency",
        "do reviews count more while somebody reviews a pull request?": ranking + "weighting",
        "how can two searches' scores be compared at all?": ranking + "normalization",
        "a model that reads question and passage together": ranking + "rerank",
        "two texts that share nearly all of their words": dedup + "jaccard",
        "a paragraph in which only one number changed is no duplicate": dedup + "guarded",
        "which of the copies in several corpora stays?": dedup + "across",
        "passages whose embeddings point the same way": dedup + "cosine",
        "what if a passage is too long for the room that is left?": context + "packing",
        "can a malicious wiki page fake a link in the context?": foundation + "escape",
        "how is a budget in tokens counted?": context + "token_counts",
        "how does the user say what a source is called?": context + "templates",
        "which sources may the answer point to?": context + "citations",
        "what is a user told about a search that timed out?": context + "search_outcomes",
        "I mistyped the name of a node, did I mean another?": driving + "validation",
        "which steps run on threads, and when does one begin?": "dataflow/execution/scheduler",
        "draw the graph as a picture, a cluster for each corpus": drawing + "dot",
        "what differs between the graphs of two settings?": drawing + "graph_diff",
        "try another setting on an answer without searching again": driving + "trace",
        "are embeddings alone enough?": tried + "vector_only",
        "is it better to drop no duplicates?": tried + "no_dedup",
        "do ranks fuse as well as scores?": tried + "rrf",
    }
    mo.md(f"# An experiment\n\n{len(questions)} questions, each with the file that answers it.")
    return (
        alt,
        build_driver,
        documents_source,
        ingest,
        json,
        load_config,
        load_embedder,
        mo,
        open_store,
        pathlib,
        pl,
        questions,
        root,
        tempfile,
    )


@app.cell
def _(
    documents_source,
    ingest,
    json,
    load_embedder,
    open_store,
    pathlib,
    questions,
    root,
    tempfile,
):
    # 2. A small collection: code and experiments of this repository, and the judgements as files.
    from operators.evaluation.judgements import read_qrels, read_queries

    folder = pathlib.Path(tempfile.mkdtemp(prefix="experiment-"))
    names_of_files = ("docs.jsonl", "queries.jsonl", "qrels.tsv")
    documents, queries_file, qrels_file = (folder / name for name in names_of_files)
    parts = ("ranking", "dedup", "context", "foundation")
    patterns = {
        "code": (
            *(f"operators/{part}/*.py" for part in parts),
            *(f"dataflow/{part}/*.py" for part in ("driver", "execution", "visualization")),
        ),
        "docs": ("README.md", "configs/**/*.yaml"),
    }
    files = {p: corpus for corpus, ps in patterns.items() for g in ps for p in sorted(root.glob(g))}
    names = {p: p.relative_to(root).as_posix() for p in files}
    lines = [
        {
            "doc_id": names[p],
            "path": names[p],
            "title": names[p],
            "corpus": c,
            "text": p.read_text(),
        }
        for p, c in files.items()
    ]
    documents.write_text("".join(json.dumps(line) + "\n" for line in lines))
    answers = {name.rpartition(".")[0]: name for name in names.values()}
    asked = [
        {"query_id": f"q{n:02}", "text": q, "kind": answers[a].partition("/")[0]}
        for n, (q, a) in enumerate(questions.items())
    ]
    queries_file.write_text("".join(json.dumps(line) + "\n" for line in asked))
    judged = zip(asked, questions.values(), strict=True)
    qrels_file.write_text("".join(f"{q['query_id']} 0 {answers[a]} 1\n" for q, a in judged))
    queries, qrels = read_queries(queries_file), read_qrels(qrels_file)

    embedder = load_embedder("minilm")
    store = open_store(collection="experiment", create=True)
    read = ingest(store, embedder, documents_source(documents), prune=True)
    print(f"{len(lines)} files in the collection, {read.chunks} chunks new in this run")
    return embedder, folder, qrels, queries, store


@app.cell
def _(load_config, mo):
    # 3. A configuration, and the same with one node swapped.
    from dataflow.driver.config_graphs import diff_configs
    from dataflow.visualization.graph_diff import to_text

    baseline = load_config("default")
    ranks = baseline.with_changes({"variants": {"fused": "rrf"}})
    words = load_config("text_only")
    configs = {"default": baseline, "ranks": ranks, "words": words}
    print(to_text(diff_configs(baseline, ranks)))
    mo.md(f"## One node swapped\n```\n{to_text(diff_configs(baseline, ranks))}```")
    return baseline, configs, ranks


@app.cell
def _(configs, embedder, mo, pl, qrels, queries, store):
    # 4. The judged questions through every configuration.
    from dataflow.evaluation.graph import evaluate

    found = evaluate(store, configs, queries, qrels, embedder=embedder, depth=20)
    means = found.summary.filter(slice="all").with_columns(pl.col(pl.Float64).round(3))
    print(means.filter(measure="nDCG@10"))
    mo.vstack([mo.md("## How good is each? With 95 % intervals"), means])
    return (found,)


@app.cell
def _(found, mo, pl):
    # 5. Better, worse, or luck? Paired differences, with p-values for all that is compared at once.
    paired = found.comparison.with_columns(pl.col(pl.Float64).round(3))
    print(paired.select("config", "measure", "difference", "low", "high", "p_corrected"))
    mo.vstack([mo.md("## Better, worse, or luck?"), paired])
    return


@app.cell
def _(alt, folder, found, mo):
    # 6. A picture of it. Intervals that overlap much: these questions are too few to tell.
    from dataflow.evaluation.evaluation_files import write_evaluation

    write_evaluation(found, folder / "report")
    tables = folder / "report" / "evaluation.json"
    print(f"all tables: {tables}")
    every = alt.Chart(alt.InlineData(values=found.summary.filter(slice="all").to_dicts()))
    rows = every.encode(y=alt.Y("config:N", sort=None, title=None))
    bars = rows.mark_bar().encode(x="mean:Q", color=alt.Color("config:N", legend=None))
    intervals = rows.mark_rule().encode(x=alt.X("low:Q", title="mean"), x2="high:Q")
    both = alt.layer(bars, intervals, data=every.data).properties(width=300)
    charts = both.facet(alt.Facet("measure:N", title=None), columns=2)
    mo.vstack([mo.md("## In pictures"), charts, mo.md(f"All tables: `{tables}`")])
    return


@app.cell
def _(baseline, build_driver, embedder, mo, store):
    # 7. One answer explained: each result's place, and why a file that I expected has none.
    driver = build_driver(baseline, store=store, embedder=embedder)
    expected = {"explain_chunks": ["operators/ranking/recency.py"]}
    answer = driver.trace(
        ["results", "dispositions", "explain"],
        inputs={"query": "does it matter that something was written last week?", **expected},
    )
    dispositions = answer["dispositions"].select("source_label", "disposition", "reason", "score")
    print(dispositions)
    first = answer["explain"].filter(chunk_id=answer["results"]["chunk_id"][0])
    numbers = first.select("stage", "quantity", "value", "rank", "detail")
    mo.vstack(
        [mo.md("## What became of each"), dispositions, mo.md("## The first in numbers"), numbers]
    )
    return answer, driver


@app.cell
def _(answer, driver, mo, pl, ranks):
    # 8. What if? The same answer under the other configuration; only what differs runs again.
    other = driver.what_if(answer, ranks, final_vars=["results"])
    print(f"ran again: {', '.join(other.computed)}")
    was = answer["results"].select("chunk_id", before=pl.col("rank") + 1)
    now = other["results"].select("chunk_id", "source_label", after=pl.col("rank") + 1)
    moved = now.join(was, on="chunk_id", how="left").select("source_label", "before", "after")
    mo.vstack([mo.md("## What if the lists were fused by rank?"), moved])
    return


@app.cell
def _(alt, baseline, embedder, qrels, queries, store):
    # 9. A sweep: how much should the vectors count beside the words?
    from dataflow.evaluation.sweep import sweep

    shares = {"vector_weight": [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]}
    swept = sweep(store, baseline, shares, queries, qrels, embedder=embedder)
    print(swept.table.filter(measure="nDCG@10").select("point", "mean", "low", "high"))
    points = alt.Chart(alt.InlineData(values=swept.table.to_dicts()), width=500)
    along = points.encode(x="vector_weight:Q", color=alt.Color("measure:N", title=None))
    line = along.mark_line(point=True).encode(y=alt.Y("mean:Q", title="mean"))
    line + along.mark_area(opacity=0.15).encode(y="low:Q", y2="high:Q")
    return


@app.cell
def _(baseline, embedder, folder, mo, qrels, queries, store):
    # 10. Or let half of the questions set the weights, and ask the other half what that is worth.
    from dataflow.evaluation.learning import experiment_text, learn

    lesson = learn(store, baseline, queries, qrels, embedder=embedder)
    learned = experiment_text(lesson, collection="experiment")
    (folder / "learned.yaml").write_text(learned)
    print(learned)
    mo.md(f"## Learned, as a file for `--config`\n```yaml\n{learned}```")
    return


if __name__ == "__main__":
    app.run()
