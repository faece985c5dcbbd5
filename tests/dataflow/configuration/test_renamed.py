"""Old names: each has a successor that exists, and none is still in use."""

import pytest

from dataflow.configuration.catalog import retrieval_catalog
from dataflow.configuration.config_model import load_config
from dataflow.configuration.loader import shipped
from dataflow.configuration.renamed import (
    COLUMNS,
    EXPERIMENTS,
    NODES,
    PARAMETERS,
    STAGES,
    TEMPLATE_FIELDS,
    VARIANTS,
    new_name,
    renamed,
)
from dataflow.driver.retrieval_driver import build_graph
from operators.frames import FUSED, LEXICAL_WEIGHT, READ_CHUNKS

CATALOG = retrieval_catalog()
VARIANTS_NOW = {**CATALOG.top.variants, **CATALOG.corpus.variants}
NOW = [
    (PARAMETERS, {*CATALOG.top.parameters, *CATALOG.corpus.parameters}),
    (STAGES, set(VARIANTS_NOW)),
    *((names, set(VARIANTS_NOW[stage])) for stage, names in VARIANTS.items()),
    (NODES, {node.rpartition(".")[2] for node in build_graph(load_config()).graph.nodes}),
    (COLUMNS, {*FUSED, *READ_CHUNKS, *LEXICAL_WEIGHT}),
    (TEMPLATE_FIELDS, set(READ_CHUNKS)),
    (EXPERIMENTS, set(shipped())),
]


@pytest.mark.parametrize(("renames", "now"), NOW)
def test_an_old_name_leads_to_a_name_that_exists_and_is_none_itself(renames, now):
    assert {*renames.values()} <= now
    assert not {*renames} & now


def test_what_a_corpus_has_keeps_the_corpus_in_front():
    assert new_name("wiki.signatures", NODES) == "wiki.similarity_index"
    assert new_name("wiki.merged", NODES) is None


def test_the_line_names_both():
    assert renamed("verdicts", NODES) == "'verdicts' is called 'dispositions' now"
    assert renamed("results", NODES) is None
