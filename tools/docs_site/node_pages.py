"""A page for each stage of each graph: its nodes with their pictures, variants and parameters."""

from collections.abc import Iterable
from graphlib import TopologicalSorter

from tools.docs_site.markdown import code, docstring, first_sentence, table
from tools.docs_site.nodes import GRAPHS, Form, PageNode, chosen_variants, nodes, set_parameters
from tools.docs_site.pictures import Draw, around, of_stage, overview_of, stages_picture

ABOUT = {
    "retrieval": "The graph of a question. A node of a corpus is there once for each corpus of the "
    "configuration, as `CORPUS.NODE`.",
    "review": "The graph of a change under review: a patch in, a context out.",
    "ingestion": "The graph of a batch of documents: from a source's documents to stored passages.",
    "evaluation": "The graph of an experiment: judged queries and configurations in, measures out.",
}
STAGES = {
    ("retrieval", "question"): "What is asked: the texts that are searched, their vectors, the "
    "weight of their words, and the versions that may answer.",
    ("retrieval", "search"): "Each corpus is searched by meaning and by words, and the found "
    "passages are read. A search that fails or is late leaves the others their answer.",
    ("retrieval", "score"): "Both lists of a corpus come on one scale, become one score a hit, and "
    "lose their near-duplicates.",
    (
        "retrieval",
        "fusion",
    ): "The lists of all corpora become one, weighted by age and by what asks.",
    ("retrieval", "order"): "Links, files, versions and exact phrases change the order; copies go; "
    "the first few are the results.",
    ("retrieval", "context"): "The hits become a text that fits a budget, with its "
    "citations and notes: what failed, is missing or is older.",
    (
        "review",
        "change",
    ): "The patch is read: its names, its lines, and the passages that it touches.",
    ("review", "question"): "The change becomes the questions that are asked about it.",
    ("review", "search"): "The questions are asked, of the retrieval graph.",
    ("review", "context"): "The answers become one text that fits a budget.",
    ("ingestion", "read"): "The documents of a batch become a frame.",
    ("ingestion", "date"): "Each document gets the date that it is known by.",
    ("ingestion", "rights"): "Each document gets who may see it.",
    ("ingestion", "chunk"): "Each document is cut to what the model's window holds.",
    ("ingestion", "embed"): "The chunks get vectors: those that are known, then new ones.",
    ("ingestion", "store"): "A batch is written in one transaction.",
    ("evaluation", "judgements"): "The judged queries and their judgements are read and checked.",
    ("evaluation", "collection"): "What is judged is found in the collection.",
    ("evaluation", "runs"): "Every configuration answers every query.",
    ("evaluation", "measures"): "The answers are measured against the judgements.",
    ("evaluation", "comparison"): "Each configuration is compared with the first.",
}
"""What a stage does, in a sentence or two; a test wants one of every stage."""


def stages(graph: str) -> list[str]:
    """The stages of a graph, each behind those that it needs."""
    shown = stages_picture(graph)
    needs = {stage: {one for one, two in shown.arrows if two == stage} for stage in shown.legend}
    return list(TopologicalSorter(needs).static_order())


def node_pages(draw: Draw) -> dict[str, str]:
    """The pages ``reference/nodes/GRAPH_STAGE.md``, and one of each graph with all its nodes."""
    pages = {"reference/nodes/index.md": _all_graphs()}
    for graph in GRAPHS:
        pages[f"reference/nodes/{graph}.md"] = _graph_page(graph, draw)
        for stage in stages(graph):
            own = [node for node in nodes() if (node.graph, node.stage) == (graph, stage)]
            parts = [f"# {stage.capitalize()} ({graph})\n\n{STAGES[graph, stage]}\n\n"]
            parts += [_of_node(node, draw) for node in own]
            pages[f"reference/nodes/{graph}_{stage}.md"] = "".join(parts)
    return pages


def picture_of(drawn: str) -> str:
    """An SVG as a block of a page."""
    return f'<div class="graph" data-search-exclude>{drawn}</div>\n\n' if drawn else ""


def addresses(graph: str, folder: str = "") -> dict[str, str]:
    """Of each node of a graph, and of each part of one, where its page says it."""
    links = {}
    for node in nodes():
        if node.graph == graph:
            for name in (*node.fields, node.name):
                links[name] = f"{folder}{graph}_{node.stage}.html#{node.name}"
    return links


def _page(address: str) -> str:
    return address.replace(".html", ".md")


def _all_graphs() -> str:
    rows = [
        [f"[{graph}]({graph}.md)", ABOUT[graph], str(sum(n.graph == graph for n in nodes()))]
        for graph in GRAPHS
    ]
    text = (
        "# Nodes\n\nEvery node of the four graphs, read from the functions that they are. "
        "`crosscorpus render --graph NAME` draws the whole of one.\n\n"
    )
    return text + table(["graph", "what it is", "nodes"], rows)


def _graph_page(graph: str, draw: Draw) -> str:
    links = {stage: f"{graph}_{stage}.html" for stage in stages(graph)}
    rows = []
    for stage in stages(graph):
        for node in (n for n in nodes() if (n.graph, n.stage) == (graph, stage)):
            link = f"[{code(node.name)}]({graph}_{stage}.md#{node.name})"
            variants = ", ".join(code(form.variant) for form in node.forms if form.variant)
            rows.append([link, stage, first_sentence(_shown_first(node).function), variants])
    drawn = picture_of(overview_of(graph, draw, links))
    text = f"# The {graph} graph\n\n{ABOUT[graph]}\n\n{drawn}"
    if graph == "retrieval":
        text += _reports()
    return text + _columns(["node", "stage", "what it is", "variants"], rows)


def _reports() -> str:
    return (
        "`provenance`, `dispositions`, `explain` and `explain_targets` are asked for as nodes are, "
        "and no node computes them: they are made after the run, of what it made. "
        "[Frames](../frames.md) has their columns.\n\n"
    )


def _shown_first(node: PageNode) -> Form:
    """The form that the default configuration chooses, else the first one."""
    chosen = chosen_variants().get(node.name) if node.graph == "retrieval" else None
    return next((form for form in node.forms if form.variant == chosen), node.forms[0])


def _of_node(node: PageNode, draw: Draw) -> str:
    first = _shown_first(node)
    name = f"CORPUS.{node.name}" if node.of_corpus else node.name
    parts = [f"## `{name}` {{ #{node.name} }}\n\n"]
    if len(node.forms) == 1:
        parts.append(docstring(first.function) + "\n\n")
    parts.append(picture_of(around(node, draw, addresses(node.graph))))
    parts.append(_facts(node))
    if len(node.forms) > 1:
        parts.append(_variants(node))
    parts.append(_reads(node))
    parts.append(_parameters(node))
    return "".join(parts)


def _facts(node: PageNode) -> str:
    sentences = [f"Gives {_gives(node)}."]
    if node.fields and not node.frames:
        sentences.append(f"Its parts are {', '.join(map(code, node.fields))}.")
    io, fails = node.tags.get("io"), node.tags.get("fail_open")
    if io:
        sentences.append(f"It waits for {code(io)}.")
    if fails:
        stands = "empty frames stand" if fails == "empty" else "nothing stands"
        sentences.append(f"Where it fails, {stands} in its place, and the others answer.")
    sentences.append(f"In {code(node.module.replace('.', '/') + '.py')}.")
    return " ".join(sentences) + "\n\n"


def _gives(node: PageNode) -> str:
    frames = [f"[{code(name)}](../frames.md#{name.lower()})" for name in node.frames]
    if node.fields and frames:
        return ", ".join(f"{code(f)}: {of}" for f, of in zip(node.fields, frames, strict=True))
    return f"{code(node.gives)}{f', frame {frames[0]}' if frames else ''}"


def _variants(node: PageNode) -> str:
    chosen = chosen_variants().get(node.name)
    rows = []
    for form in node.forms:
        label = code(form.variant) if form.variant else "(no name)"
        mark = " (default)" if form.variant and form.variant == chosen else ""
        rows.append([label + mark, first_sentence(form.function)])
    return table(["variant", "what it is"], rows) + "\n"


def _variant_names(node: PageNode, forms: Iterable[Form]) -> str:
    """Which variants have an argument; nothing where all have."""
    having = [form.variant or "(no name)" for form in forms]
    return "" if len(having) == len(node.forms) else ", ".join(map(code, having))


def _reads(node: PageNode) -> str:
    links = addresses(node.graph)
    by_name = {one.name: one for form in node.forms for one in form.reads}
    rows = []
    for name, one in by_name.items():
        having = [form for form in node.forms if any(a.name == name for a in form.reads)]
        home = one.of_each or name
        linked = home in links
        what = f"[{code(home)}]({_page(links[home])})" if linked else code(home)
        kind = "node" if linked else "input"
        kind += " of every corpus" if one.of_each else ""
        if one.default:
            kind += f", {code(one.default)} if not given"
        rows.append([what, kind, code(one.annotation), _variant_names(node, having)])
    return _columns(["reads", "is", "type", "of the variants"], rows)


def _parameters(node: PageNode) -> str:
    by_name = {one.name: one for form in node.forms for one in form.parameters}
    rows = []
    for name, one in by_name.items():
        having = [form for form in node.forms if any(a.name == name for a in form.parameters)]
        chosen = set_parameters().get(name, one.default) if node.graph == "retrieval" else ""
        other = code(chosen) if chosen != one.default else ""
        cells = [code(name), code(one.annotation), code(one.default), other, one.bounds]
        rows.append([*cells, _variant_names(node, having)])
    head = ["parameter", "type", "default", "`default.yaml` says", "bounds", "of the variants"]
    return _columns(head, rows)


def _columns(head: list[str], rows: list[list[str]]) -> str:
    """A table without the columns that are empty in every row."""
    kept = [n for n in range(len(head)) if any(row[n] for row in rows)]
    text = table([head[n] for n in kept], [[row[n] for n in kept] for row in rows])
    return text + "\n" if text else ""


def graph_on_one_page(draw: Draw) -> str:
    """The page of the graph: a picture of the whole, then one a stage."""
    links = {stage: f"reference/nodes/retrieval_{stage}.html" for stage in stages("retrieval")}
    parts = [_INTRODUCTION, picture_of(overview_of("retrieval", draw, links))]
    near = addresses("retrieval", "reference/nodes/")
    for stage in stages("retrieval"):
        parts.append(f"## {stage.capitalize()}\n\n{STAGES['retrieval', stage]}\n\n")
        parts.append(picture_of(of_stage("retrieval", stage, draw, near)))
        own = [node for node in nodes() if (node.graph, node.stage) == ("retrieval", stage)]
        rows = [
            [
                f"[{code(node.name)}](reference/nodes/retrieval_{stage}.md#{node.name})",
                first_sentence(_shown_first(node).function),
            ]
            for node in own
        ]
        parts.append(table(["node", "what it is"], rows) + "\n")
    return "".join(parts)


_INTRODUCTION = """# The graph on one page

A question runs through one graph of small functions. Each is a node: its name says what it gives,
its arguments say what it reads. A node that can be made in several ways has a variant for each, and
the configuration chooses. A number that one may turn is an argument with a default. Frames of rows
go from node to node, keyed by question, so that one question and a thousand take the same way.

- `crosscorpus render` draws the graph that a configuration builds.
- `crosscorpus diff default rrf` tells what another configuration changes.
- Any node may be asked for, and any may be given a value in its place.

The colours are the stages; a box with a blue edge waits for a database, a model or a file; a dashed
box belongs to another stage. A click on a box leads to its page. Corpora that are alike are drawn
as one.

"""
