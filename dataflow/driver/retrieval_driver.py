"""The main class: a built retrieval graph that answers queries.

Build it once per configuration and collection and share it between any number of threads.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from copy import copy
from functools import cached_property, partial
from pathlib import Path
from time import perf_counter
from types import ModuleType
from typing import TYPE_CHECKING, Any

import polars as pl
from hamilton.driver import Driver
from hamilton.graph import FunctionGraph
from hamilton.graph_types import HamiltonNode
from hamilton.lifecycle.base import LifecycleAdapter
from hamilton.node import Node

from dataflow.configuration.catalog import CONFIG_INPUTS, DRIVER_INPUTS, RUN_INPUTS
from dataflow.configuration.config_model import Config, as_config
from dataflow.configuration.hamilton_config import hamilton_config
from dataflow.driver import reports
from dataflow.driver.answer import AnswerMethods
from dataflow.driver.fail_open import not_searched, searched, stand_in
from dataflow.driver.other_collections import homes_of, open_others, with_model
from dataflow.driver.query_frame import complete_queries, refuse_ignored
from dataflow.driver.question_spans import with_spans
from dataflow.driver.trace import Trace, changed, known_to
from dataflow.driver.validation import check_call, place_of, watch_own_nodes
from dataflow.execution.built_graph import GraphError, LooseInputs, build, check_declared
from dataflow.execution.hamilton_logs import quiet_hamilton
from dataflow.execution.memo import Memo
from dataflow.execution.plan import node_tags
from dataflow.execution.scheduler import Scheduler
from operators.errors import CrosscorpusError, check_known
from operators.foundation.principals import principals as as_principals
from operators.postgres.search.callers import seen_by
from operators.postgres.search.timed_search import SearchRequest
from operators.question.ask import LONGEST_TEXT
from operators.ranking.weighting import read_trigger

if TYPE_CHECKING:
    from operators.embedding.protocol import Embedder
    from operators.postgres.store import Store

_SIBLINGS = 16  # graphs of other configurations that are kept for what-if


def build_driver(
    config: Config | str | Path | Mapping[str, Any],
    collection: str = "default",
    *,
    dsn: str | None = None,
    store: Store | None = None,
    embedder: Embedder | None = None,
    modules: Sequence[str | ModuleType] = (),
    adapters: Sequence[LifecycleAdapter] = (),
) -> RetrievalDriver:
    """Build the retrieval graph and open its collections and models.

    Args:
        config: from :func:`dataflow.load_config`, or the name, path or mapping that it takes.
        collection: the data set to search.
        dsn: the server; None: ``CROSSCORPUS_READ_DSN`` or ``CROSSCORPUS_DSN``, else the user's
            embedded server.
        store: an open collection to use instead; the caller closes it. Other collections of the
            configuration are opened on its server.
        embedder: a loaded model to use instead of the configuration's.
        modules: with nodes of your own, besides those that the configuration names: a module, its
            dotted name, or the path of a file; see docs/extend.md.
        adapters: Hamilton lifecycle adapters, for instance a tracer; they see every node's inputs.

    Returns:
        A driver; close it or use it in a ``with`` block. If the collection is dropped and made
        again with another model while it is open, vector searches fail with that message and
        keyword searches continue.

    Raises:
        CrosscorpusError: the server, the collection or the model is missing, or the collection was
            made with another model.
    """
    from operators.embedding.registry import load_embedder
    from operators.postgres.connection import resolve_dsn
    from operators.postgres.store import open_store

    config = as_config(config, modules)
    graph = build_graph(config, adapters=adapters)
    embedder = embedder or load_embedder(config.embedding)
    with ExitStack() as opened:
        if store is None:
            dsn = dsn or resolve_dsn(reading=True)
            store = opened.enter_context(open_store(dsn, collection, max_size=config.workers))
        own = with_model(store, embedder)
        others, other_embedders = open_others(config, own, embedder, opened)
        bound = {"store": own, "embedder": embedder, "other_embedders": other_embedders}
        return RetrievalDriver(config, graph, bound, others, owned=opened.pop_all())


def build_graph(config: Config, *, adapters: Sequence[LifecycleAdapter] = ()) -> Driver:
    """The retrieval graph without a server or a model, for drawing and comparing.

    Raises:
        GraphError: a stage needs a value that no node computes.
    """
    catalog = config.catalog
    built = build(catalog.modules, hamilton_config(config), adapters)
    place = partial(place_of, own=catalog.own)
    check_declared(built.graph, DRIVER_INPUTS | RUN_INPUTS, place)
    watch_own_nodes(built.graph, catalog.own, catalog.frames)
    return built


Checked = tuple[list[str], dict[str, Any], dict[str, Any]]
Given = Mapping[str, Any] | None


class RetrievalDriver(AnswerMethods):
    """A retrieval graph with its store and its model; from :func:`build_driver`.

    Attributes:
        config: its configuration.
        homes: the collection of each corpus, and the corpus's name in it.
        hamilton: the wrapped Hamilton driver, for Hamilton's own tools and methods.
    """

    hamilton: Driver

    def __init__(
        self,
        config: Config,
        graph: Driver,
        bound: Mapping[str, Any],
        others: Mapping[str, Store] | None = None,
        *,
        owned: ExitStack | None = None,
    ) -> None:
        self.config = config
        self.hamilton = graph
        self._others = others or {}
        self.homes = homes = homes_of(config, bound["store"], self._others)
        self._catalog = config.catalog
        self._frames_of = config.catalog.frames
        self._bound = {"other_embedders": {}, **bound, "homes": homes}
        if config.reranker:
            from operators.embedding.cross_encoder import load_reranker

            self._bound["reranker"] = load_reranker(config.reranker)
        self._owned = owned
        self._is_lent = False  # owned by another driver
        self._hooks = [a for a in graph.adapter.adapters if not isinstance(a, LooseInputs)]
        self._lock = threading.Lock()
        self._siblings: dict[str, RetrievalDriver] = {}
        self._askers = ThreadPoolExecutor(config.workers)
        self._scheduler = Scheduler(
            config.workers,
            limit=self._limit,
            fallback=partial(stand_in, frames_of=self._frames_of, corpora=config.corpora)
            if config.on_corpus_error == "skip"
            else None,
            adapter=graph.adapter,
        )
        graph.graph_executor = self._scheduler
        self._parameters = retrieval_parameters(graph.graph)
        self._lists = reports.ranked_lists(graph.graph, config.catalog)
        self.context_passages = self._lists.passages
        self._reports = set(reports.REPORTS) - graph.graph.nodes.keys()
        self._fixed = frozenset(graph.graph.config) - self._parameters

    def execute(
        self, final_vars: Sequence[str], inputs: Given = None, overrides: Given = None
    ) -> dict[str, Any]:
        """Compute the nodes that ``final_vars`` names.

        Args:
            final_vars: node names, of any stage: ``results``, ``wiki.merged``, ...; and the reports
                of :mod:`dataflow.driver.reports`: ``provenance``, ``explain``, ...
            inputs: ``query`` (one text, or several phrasings of one query), ``trigger``,
                ``repos``, ``path_prefix``, ``language``, ``state``, ``as_of``, ``only_corpora``,
                ``versions`` (a version, several, or ``newest`` or ``all``), ``now``;
                ``principals``, the caller's user and group names (:meth:`seen_by`); any
                parameter by its name (``top_k``, ``search_depth``), for this run only; and
                ``timings``, a dict that receives the milliseconds each node took.
            overrides: values that replace nodes. ``queries`` takes a batch: a frame with at
                least ``query_id`` and ``text``.

        Returns:
            The value of each name in ``final_vars``.

        Raises:
            UnknownName: an unknown output, input, override, trigger or corpus.
            SearchError: every search failed.
            NodeTimeout: a deadline passed and ``on_corpus_error`` is ``raise``.
        """
        if inputs and "principals" in inputs:
            remaining = dict(inputs)
            caller = self.seen_by(remaining.pop("principals"))
            return caller.execute(final_vars, remaining, overrides)
        checked = self._checked(final_vars, inputs, overrides)
        with quiet_hamilton():
            out: dict[str, Any] = with_spans(self._run, self.stages, *checked)
            return out

    def _run(
        self,
        wanted: list[str],
        inputs: dict[str, Any],
        instead: dict[str, Any],
        memo: Memo | None = None,
    ) -> dict[str, Any]:
        """The values of the nodes, and then of the reports, that ``wanted`` names."""
        replaced = {name: instead.pop(name) for name in self._reports if name in instead}
        wanted_reports = self._reports & set(wanted) - replaced.keys()
        nodes = [name for name in wanted if name not in self._reports]
        nodes = [*dict.fromkeys([*nodes, *reports.nodes_read(wanted_reports, self._lists)])]
        if self._hooks and memo is None:
            out = self.hamilton.execute(nodes, inputs=inputs, overrides=instead)
        else:
            run_id = str(uuid.uuid4())
            out = self._scheduler.execute(self.graph, nodes, instead, inputs, run_id, memo)
        if wanted_reports:
            how = reports.settings(self.graph.config, inputs, instead)
            if wanted_reports - {"provenance"}:
                began = perf_counter()
                targets = replaced.get("explain_targets")
                out |= reports.explanation(out, self.graph, how, inputs, self._lists, targets)
                inputs["timings"]["explain"] = (perf_counter() - began) * 1000
            if "provenance" in wanted_reports:
                out["provenance"] = reports.provenance(out, how, inputs["timings"], self._lists)
        return {name: {**out, **replaced}[name] for name in wanted}

    def seen_by(self, principals: Sequence[str] | str) -> RetrievalDriver:
        """This driver for one call of a caller with the names ``principals``: user and groups.

        All results are those of a collection with only the documents that the caller may see. A
        collection without any rights is open to everyone. Without principals the caller sees what
        everyone may see. The new driver shares everything with this one and needs no closing. Make
        one for each call, so that a revoked right takes effect.

        Raises:
            CrosscorpusError: a principal is not a valid name.
        """
        try:
            names = as_principals(principals)
        except ValueError as error:
            raise CrosscorpusError(f"principals: {error}") from error
        caller, own = copy(self), seen_by(self._bound["store"], names)
        caller._others = {name: seen_by(store, names) for name, store in self._others.items()}
        caller.homes = homes_of(self.config, own, caller._others)
        caller._bound = {**self._bound, "store": own, "homes": caller.homes}
        caller._siblings, caller._is_lent = {}, True
        return caller

    def trace(
        self,
        final_vars: Sequence[str],
        inputs: Given = None,
        overrides: Given = None,
        before: Trace | None = None,
    ) -> Trace:
        """As :meth:`execute`, but the values of all nodes are kept for :meth:`what_if`.

        Args:
            final_vars, inputs, overrides: as of :meth:`execute`.
            before: an earlier run; unchanged values are reused.

        Returns:
            A mapping with the value of each name in ``final_vars``.
        """
        if inputs and "principals" in inputs:
            raise GraphError("a trace is of one caller: driver.seen_by(principals).trace(...)")
        wanted, run_inputs, instead = self._checked(final_vars, inputs, overrides)
        memo = Memo(before.records if before else None)
        with quiet_hamilton():
            out = self._run(wanted, run_inputs, dict(instead), memo)
        return Trace(
            config=self.config,
            inputs={**(before.inputs if before else {}), **(inputs or {})},
            overrides={**(before.overrides if before else {}), **(overrides or {})},
            outputs=out,
            records=memo.records,
            computed=tuple(memo.computed),
            timings=dict(run_inputs["timings"]),
        )

    def what_if(
        self,
        trace: Trace,
        change: Config | str | Path | Mapping[str, Any] | None = None,
        *,
        inputs: Mapping[str, Any] | None = None,
        final_vars: Sequence[str] | None = None,
    ) -> Trace:
        """The result of another configuration; only changed nodes run again.

        A node runs only if its function or an input value differs from the earlier run; a
        search therefore runs only if its arguments differ (another depth, another
        variant) or it did not run then. A failed node is not retried.

        Args:
            trace: an earlier run, of this driver or of another what-if.
            change: a configuration or its name, or changes to that of ``trace`` as for
                :meth:`Config.with_changes`.
            inputs: override those of the earlier run; others stay.
            final_vars: what to compute; None: the outputs of the earlier run.

        Returns:
            The result of a driver with that configuration for the same inputs and overrides;
            ``computed`` names the nodes that ran. It can be the ``trace`` of a further what-if.

        Raises:
            GraphError: the configuration has another embedding model.
        """
        driver = self.sibling(changed(trace.config, change))
        return driver.trace(
            list(trace) if final_vars is None else final_vars,
            known_to(driver.graph, trace.inputs) | dict(inputs or {}),
            known_to(driver.graph, trace.overrides),
            trace,
        )

    def sibling(self, config: Config) -> RetrievalDriver:
        """A driver for another configuration over the same store and model; close it with this.

        Raises:
            GraphError: the configuration has another embedding model.
        """
        if config == self.config:
            return self
        key = config.model_dump_json()
        with self._lock:
            driver = self._siblings.pop(key, None)
        if driver is None:
            if config.embedding != self.config.embedding:
                raise GraphError(
                    f"the collection is open with the model {self.config.embedding!r}: for "
                    f"{config.embedding!r} build another driver"
                )
            graph = build_graph(config, adapters=self._hooks)
            driver = RetrievalDriver(config, graph, self._bound, self._others)
        with self._lock:
            self._siblings[key] = driver
            while len(self._siblings) > _SIBLINGS:
                # not closed: another thread may use it; its workers end when the last user is done
                del self._siblings[next(iter(self._siblings))]
        return driver

    def list_available_variables(
        self, *, tag_filter: dict[str, str | list[str] | None] | None = None
    ) -> list[HamiltonNode]:
        """Every node and input, or those with these tags; a tag value of None matches any value."""
        return list(self.hamilton.list_available_variables(tag_filter=tag_filter))

    def _checked(self, final_vars: Sequence[Any], inputs: Given, overrides: Given) -> Checked:
        """The call in the form that the scheduler takes; raises for an invalid call."""
        run_inputs, instead = dict(inputs or {}), dict(overrides or {})
        if run_inputs.get("version_policy") in ("newest", "all"):
            # an explicit request beats the versions in the query's text; the configuration does not
            run_inputs.setdefault("versions", run_inputs["version_policy"])
        for name in self._parameters & run_inputs.keys():
            own = [of for of, one in self.config.corpora.items() if name in one.parameters]
            if own and name in self._catalog.top.of_corpora:
                raise GraphError(
                    f"{name!r}: {own[0]} has its own, so that a run cannot set it for all corpora;"
                    " override 'corpus_settings', or change the configuration"
                )
            instead[name] = run_inputs.pop(name)
        several = [final_vars] if isinstance(final_vars, str) else final_vars
        wanted = [one.name if isinstance(one, HamiltonNode) else one for one in several]
        for name in sorted((DRIVER_INPUTS - {"timings"}) & (run_inputs.keys() | instead.keys())):
            raise GraphError(f"{name!r} belongs to the driver: give it to build_driver")
        known: Any = {"fixed": self._fixed, "reports": self._reports}
        known |= {"frames_of": {**self._frames_of, **reports.FRAMES}}
        check_call(self.graph, wanted, run_inputs, instead, **known)
        read_trigger(run_inputs.get("trigger"), self.config.triggers)
        for name in run_inputs.get("only_corpora") or ():
            check_known("corpus", name, self.config.corpora)
        instead = {name: searched(name, value) for name, value in instead.items()}
        for name, value in instead.items():
            if isinstance(value, SearchRequest) or name == "search_requests":
                instead[name] = self._own(value)
        corpora, frames_of = self.config.corpora, self._frames_of
        for name, value in not_searched(instead, corpora, frames_of, wanted).items():
            if name in self.graph.nodes and name not in wanted:
                instead.setdefault(name, value)
        refuse_ignored(inputs or {}, overrides or {})
        if isinstance(instead.get("queries"), pl.DataFrame):
            instead["queries"] = complete_queries(
                instead["queries"],
                triggers=self.config.triggers,
                corpora=self.config.corpora,
                longest={**self.graph.config, **instead}.get("max_query_characters", LONGEST_TEXT),
            )
        return wanted, {**self._bound, "timings": {}, **run_inputs}, instead

    @property
    def graph(self) -> FunctionGraph:
        """The Hamilton graph."""
        return self.hamilton.graph

    @property
    def whole_list(self) -> str:
        """The node of the full ranked list; the results are its first rows."""
        return self._lists.counted[1]

    @property
    def store(self) -> Store:
        """The collection, restricted to what the driver's caller may see."""
        store: Store = self._bound["store"]
        return store

    @property
    def embedder(self) -> Embedder:
        """The model that embeds the queries."""
        embedder: Embedder = self._bound["embedder"]
        return embedder

    @cached_property
    def stages(self) -> dict[str, str]:
        """The stage of each node that has one, and of the explanation."""
        tags = {name: node_tags(node).get("stage") for name, node in self.graph.nodes.items()}
        return {name: str(stage) for name, stage in tags.items() if stage} | {
            "explain": "explanation"
        }

    def _limit(self, node: Node, arguments: Mapping[str, Any]) -> float | None:
        """Timeout in seconds of a node that reads the store, times the queries. None: no limit."""
        if node_tags(node).get("io") != "postgres":
            return None
        all_of = arguments.get("search_requests", {}).values()
        requests = [one for one in (*arguments.values(), *all_of) if isinstance(one, SearchRequest)]
        if limits := [request.timeout_s for request in requests]:
            return None if None in limits else max(one for one in limits if one is not None)
        seconds = self.config.deadline_of(node.name.partition(".")[0])
        queries = arguments.get("scoped_queries", arguments.get("queries"))
        batch = queries.height if isinstance(queries, pl.DataFrame) else 1
        return None if seconds is None else seconds * max(batch, 1)

    def _own(self, requests: Any) -> Any:
        """A request, or those of each corpus, on this caller's view of the collection.

        The request of another caller would show what that one may see.
        """
        if isinstance(requests, SearchRequest):
            home = self.homes[requests.corpus]
            return requests if home.store.access is None else requests._replace(home=home)
        return {name: self._own(one) for name, one in requests.items()}

    def close(self) -> None:
        """Stop the workers and close the store if the driver opened it."""
        if self._is_lent:
            return
        self._askers.shutdown(cancel_futures=True)
        self._scheduler.close()
        with self._lock:
            siblings, self._siblings = self._siblings, {}
        for sibling in siblings.values():
            sibling.close()
        if self._owned is not None:
            self._owned.close()

    def __enter__(self) -> RetrievalDriver:
        """Return the driver itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close the driver."""
        self.close()

    def __repr__(self) -> str:
        """Its type and size, without a DSN."""
        corpora = ", ".join(sorted(self.config.corpora))
        return f"RetrievalDriver(corpora=[{corpora}], embedding={self.config.embedding!r})"


def retrieval_parameters(graph: FunctionGraph) -> frozenset[str]:
    """The parameters that a single run may change: ``top_k``, ``search_depth``."""
    corpus_parameters = {
        f"{corpus}.{name}"
        for corpus, options in graph.config["corpora"].items()
        for name in options["inputs"].keys() - CONFIG_INPUTS
    }
    return frozenset({*graph.config["top_parameters"], *corpus_parameters} & graph.nodes.keys())
