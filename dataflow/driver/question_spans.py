"""OpenTelemetry spans of a query, created after the run from the times of its nodes.

They follow the GenAI conventions' ``retrieval`` operation (v0.1.0). The query text is included only
if ``OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT`` is set. Hamilton's own tracer makes a span
per node, which costs 268 ms a query.
"""

import os
import sys
from collections.abc import Callable, Mapping
from time import perf_counter, time_ns
from typing import Any

from dataflow.execution.scheduler import NodeEvent

_NODES = {"query_embeddings": "embedding", "other_embeddings": "embedding"}
_NODES |= {"vector_search": "search", "text_search": "search", "read_chunks": "read chunks"}
_STAGES = {"fusion": "fusion", "order": "rerank", "context": "packing"}
_CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"


def with_spans(run: Callable[..., Any], stages: Mapping[str, str], *call: Any) -> Any:
    """The result of ``run`` for ``call`` (outputs, inputs, overrides), reported to a tracer."""
    if "opentelemetry.trace" not in sys.modules:
        return run(*call)
    from opentelemetry import trace

    if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):  # no tracer is active
        return run(*call)
    _, inputs, instead = call
    tracer, collection = trace.get_tracer("crosscorpus"), inputs["store"].collection
    about = {"gen_ai.operation.name": "retrieval", "gen_ai.data_source.id": collection}
    about |= {"gen_ai.request.model": inputs["embedder"].model}
    named: dict[str, Any] = {"kind": trace.SpanKind.CLIENT, "attributes": about}
    named |= {"record_exception": False, "set_status_on_exception": False}  # may quote texts
    with tracer.start_as_current_span(f"retrieval {collection}", **named) as span:
        if not span.is_recording():
            return run(*call)
        events, out = list[NodeEvent](), dict[str, Any]()
        try:
            out = run(call[0], {**inputs, "node_events": events}, instead)
        except BaseException as error:
            _fail(span, error)
            raise
        finally:
            how = it if isinstance(it := out.get("provenance"), dict) else {}
            facts = {"gen_ai.retrieval.top_k": (how.get("parameters", {}) | instead).get("top_k")}
            facts |= {"crosscorpus.corpora": list(inputs.get("only_corpora") or inputs["homes"])}
            facts |= {"crosscorpus.queries": len(instead.get("queries", (1,)))}
            facts |= {"crosscorpus.results": len(out["results"]) if "results" in out else None}
            if os.environ.get(_CAPTURE, "").lower() in ("true", "span_only", "span_and_event"):
                facts["gen_ai.retrieval.query.text"] = str(inputs.get("query"))
            span.set_attributes({name: one for name, one in facts.items() if one is not None})
            skipped = () if inputs.get("other_embedders") else ("other_embeddings",)
            _add_parts(tracer, [one for one in events if one[0] not in skipped], stages, how)
        return out


def _add_parts(
    tracer: Any, events: list[NodeEvent], stages: Mapping[str, str], how: dict[str, Any]
) -> None:
    """Add a span per search and stage, from its first to its last node; ``how``: provenance."""
    parts: dict[tuple[str, str, str], list[NodeEvent]] = {}
    for event in events:
        corpus, _, step = event[0].rpartition(".")
        if part := _NODES.get(step) or (not corpus and _STAGES.get(stages.get(step, ""))):
            kind = step.removesuffix("_search") if corpus else ""
            parts.setdefault((part, corpus, kind), []).append(event)
    epoch = time_ns() - round(perf_counter() * 1e9)
    for (part, corpus, kind), nodes in parts.items():
        about: dict[str, Any] = {"crosscorpus.corpus": corpus} if corpus else {}
        if corpus and how:
            if {*how.get("searched", {}).get(corpus, {}).values()} <= {"absent"}:
                continue  # there was nothing to search
            counts = how.get("counts", {}).get("corpora", {}).get(corpus, {})
            about |= {"crosscorpus.hits": counts[kind]} if kind in counts else {}
        began, ended = (epoch + round(edge * 1e9) for edge in (nodes[0][1], nodes[-1][2]))
        name = f"{part} {corpus} {kind}".rstrip()
        span = tracer.start_span(name, attributes=about, start_time=began)
        for error in filter(None, (one[3] for one in nodes)):
            _fail(span, error)
        span.end(ended)


def _fail(span: Any, error: BaseException) -> None:
    from opentelemetry.trace import StatusCode

    span.set_attribute("error.type", type(error).__name__)
    span.set_status(StatusCode.ERROR)
