"""`crosscorpus config` as a user runs it."""

import json

from dataflow.configuration.catalog import retrieval_catalog
from dataflow.configuration.json_schema import json_schema
from dataflow.configuration.loader import shipped


def test_the_schema_is_printed_with_the_stages_of_the_configuration(crosscorpus):
    done = crosscorpus("config", "schema", "--config", str(shipped()["rrf"]))
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == json.loads(json.dumps(json_schema(retrieval_catalog())))
