"""The page of configuration files, from their JSON schema and the files that are shipped."""

from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from dataflow.configuration.catalog import retrieval_catalog
from dataflow.configuration.json_schema import json_schema
from dataflow.configuration.loader import shipped
from tools.docs_site.markdown import code, table
from tools.docs_site.node_pages import addresses
from tools.docs_site.nodes import chosen_variants, nodes, set_parameters

SAYS = {
    "extends": "another configuration, whose values hold where this file says nothing",
    "embedding": "the collection's model",
    "reranker": "the model that may reorder the list, see the variant `reranked: cross_encoder`",
    "on_corpus_error": "`skip`: the other corpora answer and a note says so; `raise`: an error",
    "deadline_s": "seconds for one search of one question; null: no limit",
    "workers": "threads for what waits, shared by all questions of a driver",
    "triggers": "what may ask; `weights` of a corpus go by them",
    "languages": "the factor of a hit's score by its language",
    "modules": "modules of your own, of nodes around the corpora",
    "corpus_modules": "modules of your own, of nodes that every corpus has",
    "variants": "the variant of each stage that has several",
    "parameters": "the numbers and switches of the stages",
    "corpus_defaults": "`variants` and `parameters` of the stages that every corpus has",
    "collections": "collections of your own that are searched too",
    "corpora": "the corpora by name; null takes away one that is extended",
    "label": "how a hit is called: text with columns of a chunk in braces",
    "link": "likewise its address",
    "collection": "the collection that holds the corpus, if not the driver's own",
    "corpus": "its name there, if another",
    "weights": "the factor of the corpus's scores by trigger",
    "filters": "the part of the corpus that is ever searched",
    "repos": "these repositories alone",
    "path_prefix": "paths that begin so",
    "language": "this language alone",
    "state": "this state alone, such as `open`",
}
"""What a key is for: the schema has its type alone. A test wants each key of the schema here."""

_SAYS_OF_CORPUS = {
    "embedding": "that collection's model",
    "variants": "as in `corpus_defaults`, for this corpus",
    "parameters": "as in `corpus_defaults`, for this corpus",
    "deadline_s": "as above, for this corpus",
}


def schema() -> dict[str, Any]:
    """The schema of a configuration that has no modules of its own."""
    return json_schema(retrieval_catalog())


def config_keys(of: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every key with its schema, by its path, such as ``corpora.CORPUS.filters.repos``."""
    for path, name in (
        ("", None),
        ("corpus_defaults.", "StageOptions"),
        ("corpora.CORPUS.", "CorpusConfig"),
        ("corpora.CORPUS.filters.", "Filters"),
    ):
        properties = (of["$defs"][name] if name else of)["properties"]
        yield from ((f"{path}{key}", one) for key, one in properties.items())


def config_pages() -> dict[str, str]:
    """The page of every key, and that of the shipped configurations."""
    return {
        "reference/configuration.md": _keys_page(),
        "reference/configurations.md": _shipped_page(),
    }


def _keys_page() -> str:
    whole = schema()
    rows = {"": [], "corpora.CORPUS": [], "corpora.CORPUS.filters": []}  # type: dict[str, list[list[str]]]
    for path, one in config_keys(whole):
        home, _, key = path.rpartition(".")
        if home in rows:
            own = _SAYS_OF_CORPUS if home == "corpora.CORPUS" else {}
            about = own.get(key, SAYS[key])
            rows[home].append([code(path), code(_type(one)), _default(one), about])
    head = ["key", "type", "default", "what it is"]
    stages, corpora = whole["properties"], whole["$defs"]["StageOptions"]["properties"]
    return "".join(
        [
            _INTRODUCTION,
            "## Keys\n\n" + table(head, rows[""]) + "\n",
            "## Of a corpus\n\n" + table(head, rows["corpora.CORPUS"]) + "\n",
            "## Filters of a corpus\n\n" + table(head, rows["corpora.CORPUS.filters"]) + "\n",
            "## Variants\n\n" + _variants(stages, ""),
            "## Variants of every corpus\n\n" + _variants(corpora, "corpus_defaults."),
            "## Parameters\n\n" + _parameters(stages, ""),
            "## Parameters of every corpus\n\n" + _parameters(corpora, "corpus_defaults."),
        ]
    )


def _variants(properties: Mapping[str, Any], home: str) -> str:
    links, chosen = addresses("retrieval", "nodes/"), chosen_variants()
    rows = []
    for stage, one in properties["variants"]["properties"].items():
        names = [name for name in one["enum"] if isinstance(name, str)]
        page = links[stage].replace(".html", ".md")
        rows.append(
            [
                f"[{code(f'{home}variants.{stage}')}]({page})",
                ", ".join(map(code, names)),
                code(chosen.get(stage, "")),
            ]
        )
    return table(["stage", "variants", "default"], rows) + "\n"


def _parameters(properties: Mapping[str, Any], home: str) -> str:
    links = addresses("retrieval", "nodes/")
    readers: dict[str, list[str]] = {}
    for node in nodes():
        if node.graph == "retrieval":
            for name in dict.fromkeys(p.name for form in node.forms for p in form.parameters):
                page = links[node.name].replace(".html", ".md")
                readers.setdefault(name, []).append(f"[{code(node.name)}]({page})")
    bounds = {p.name: p.bounds for n in nodes() for f in n.forms for p in f.parameters if p.bounds}
    rows = []
    for name, one in properties["parameters"]["properties"].items():
        default, chosen = repr(one["default"]), set_parameters().get(name, "")
        cells = [code(f"{home}parameters.{name}"), code(_type(one)), code(default)]
        cells += [code(chosen) if chosen != default else "", bounds.get(name, "")]
        rows.append([*cells, ", ".join(readers.get(name, ()))])
    head = ["parameter", "type", "default", "`default.yaml` says", "bounds", "of the nodes"]
    return table(head, rows) + "\n"


def _type(one: Mapping[str, Any]) -> str:
    """The type of a value as a reader says it.

    >>> _type({"anyOf": [{"type": "string"}, {"type": "null"}]})
    'string | null'
    >>> _type({"type": "array", "items": {"type": "string"}})
    'array of string'
    """
    if "anyOf" in one:
        return " | ".join(_type(part) for part in one["anyOf"])
    if "enum" in one:
        return " | ".join(map(str, one["enum"]))
    if "const" in one:
        return str(one["const"])
    if "$ref" in one:
        return "mapping"
    of = one.get("items") or one.get("additionalProperties")
    kind = {"object": "mapping"}.get(one.get("type", "any"), one.get("type", "any"))
    return f"{kind} of {_type(of)}" if isinstance(of, dict) and kind != "string" else str(kind)


def _default(one: Mapping[str, Any]) -> str:
    if "default" not in one or one["default"] in ([], {}) or isinstance(one["default"], dict):
        return ""
    return code(yaml.safe_dump(one["default"], default_flow_style=True).split("\n")[0])


def _shipped_page() -> str:
    files = shipped()
    text = (
        "# Shipped configurations\n\n`crosscorpus query --config NAME` takes any of these names; "
        "`crosscorpus diff default NAME` shows what one changes in the graph. A file of your own "
        "says `extends: NAME` and only what it changes.\n\n"
    )
    for name in ["default", *sorted(files.keys() - {"default"})]:
        text += f"## {name}\n\n```yaml\n{files[name].read_text('utf-8').strip()}\n```\n\n"
    return text


_INTRODUCTION = """# Configuration

A configuration is a YAML file. It is complete, or it says `extends: NAME` and only what it changes.
An unknown key, variant or parameter is an error that gives the nearest known one.
[Shipped configurations](configurations.md) has the default with a comment to each choice.

    crosscorpus config schema > crosscorpus.schema.json

prints the JSON schema that this page is made from: an editor completes and checks by it. A file
with modules of your own has their stages too: [extend](../extend.md).

"""
