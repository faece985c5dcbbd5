import os
import subprocess
import sys

import pytest


def test_without_its_extra_a_server_says_what_installs_it() -> None:
    script = (
        "import sys; sys.modules['uvicorn'] = None\n"
        "from dataflow.__main__ import main\n"
        "sys.argv = ['crosscorpus', 'serve']; main()"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 1
    assert "a server needs uvicorn" in done.stderr
    assert "[serve]" in done.stderr
    assert "Traceback" not in done.stderr


def test_without_its_extra_a_server_that_shall_send_spans_says_what_installs_it() -> None:
    script = (
        "import sys; sys.modules['opentelemetry.sdk.trace'] = None\n"
        "from dataflow.service import running\n"
        "with running._exporting(): pass"
    )
    asked = {**os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, env=asked)
    assert "CrosscorpusError: spans need opentelemetry.sdk.trace" in done.stderr
    assert "[otel]" in done.stderr
    quiet = subprocess.run(command, env={**asked, "OTEL_TRACES_EXPORTER": "none"})
    assert quiet.returncode == 0


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
        ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json"),
        ("OTEL_TRACES_EXPORTER", "zipkin"),
    ],
)
def test_a_way_for_spans_that_it_has_not_is_an_error(variable: str, value: str) -> None:
    script = "from dataflow.service import running\nwith running._exporting(): pass"
    asked = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", variable: value}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **asked})
    last = done.stderr.splitlines()[-1]
    assert last.startswith("operators.errors.CrosscorpusError: ")
    assert variable in last
    assert value in last
