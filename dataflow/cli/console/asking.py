"""One question of the command: asked here, or in a running server, with the same words.

What is asked is plain data, so that it can travel; so is the reply.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from io import StringIO
from time import perf_counter
from typing import Any

import polars as pl
from rich.console import Console

from dataflow.cli.console import terminal
from dataflow.configuration.config_model import Config
from dataflow.driver.answer import NODES
from dataflow.driver.retrieval_driver import RetrievalDriver
from dataflow.driver.visibility import visible_filters, visible_homes
from dataflow.service.later_lines import later_lines
from operators.frames import NOTES
from operators.postgres.search.filter_values import absent_values, check_pattern
from operators.postgres.store import Store

_EXPLAINED = ("queries", "intent", "dispositions", "explain", "explain_targets")


def reply_to(
    asked: Mapping[str, Any],
    settings: Config,
    store: Store,
    driver_of: Callable[[Config], AbstractContextManager[RetrievalDriver]],
    served: str = "",
) -> dict[str, Any]:
    """The reply to what `crosscorpus query` asks.

    Args:
        asked: ``question``: what ``question_inputs`` of the driver takes; ``changes`` of the
            configuration; ``words``: by words alone; what to show: ``context``, ``brief``,
            ``timings``, ``json``, ``page``, ``explained``; and ``width``, ``terminal`` and
            ``colour``, those of the console.
        settings: the configuration without the changes.
        store: the collection.
        driver_of: gives the driver of a configuration.
        served: what is said of whoever answers, with the timings.

    Returns:
        ``out``: what is printed; ``notes``: what is said on standard error; ``page``: the HTML that
        explains, or None; ``degraded``: whether a search failed.

    Raises:
        UnknownName: no document is of a repository or in the language that is asked for.
    """
    changes, question = dict(asked["changes"]), dict(asked["question"])
    if asked["words"]:
        # the share of `relevant_hits` was chosen for both scores
        changes["variants"] = {"merged": "text_only", "relevant_hits": "off"}
    settings = settings.with_changes(changes)
    visible = visible_filters(settings)
    if question["pattern"]:  # first, so that the message has the command's name for it
        check_pattern(store, question["pattern"], "--regex")
    notes = list[str]()
    for name in changes.get("languages") or ():
        notes += absent_values(store, visible, language=name)
    outputs = [*NODES, "unmet_filters", *(_EXPLAINED if asked["explained"] else ())]
    with driver_of(settings) as driver:
        inputs = driver.question_inputs(must_exist=True, **question)
        began = perf_counter()
        answer = driver.execute(outputs, inputs)
        seconds = perf_counter() - began
        later = later_lines(visible_homes(driver.homes, driver.config), answer["results"])
    more = pl.DataFrame([(0, note) for note in later], schema=NOTES, orient="row")
    answer = {**answer, "notes": pl.concat([answer["notes"], more])}
    page = None
    if asked["page"]:
        from operators.report.explanation import explanation_page

        page = explanation_page(answer)
    out = _printed(answer, asked, seconds, served)
    degraded = bool(answer["provenance"]["degraded"])
    return {"out": out, "notes": notes, "page": page, "degraded": degraded}


def _printed(
    answer: Mapping[str, Any], request: Mapping[str, Any], seconds: float, served: str
) -> str:
    out = StringIO()
    if request["json"]:
        with_what = {f"with_{name}": request[name] for name in ("context", "timings")}
        terminal.print_json(terminal.answer_as_json(answer, **with_what), out)
    else:
        console = Console(
            file=out,
            soft_wrap=not request["terminal"],
            highlight=False,
            width=request["width"],
            force_terminal=request["terminal"],
            color_system="standard" if request["terminal"] and request["colour"] else None,
        )
        question = request["question"]
        if request["context"]:
            return terminal.context_alone(answer)
        texts = question.get("uses") or question.get("symbol") or question["query"]
        terminal.show_answer(
            answer,
            texts if isinstance(texts, str) else "\n".join(texts),
            seconds=seconds,
            brief=request["brief"],
            with_timings=request["timings"],
            served=served,
            out=console,
        )
    return out.getvalue()
