"""The tools, each a function over a warm driver: MCP and HTTP serve the same ones.

They only read. An answer stays under 10,000 tokens, and its text under ``LONGEST`` characters; a
cursor returns the rest. An unknown name is an error with the nearest names.
"""

import json
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Annotated, Any, TypeVar
from urllib.parse import quote

import polars as pl
from pydantic import AfterValidator, Field

from dataflow.configuration.config_model import Config
from dataflow.driver.answer import Answer, Passage
from dataflow.driver.retrieval_driver import RetrievalDriver
from dataflow.driver.visibility import visible_filters, visible_homes
from dataflow.service import models
from dataflow.service.arguments import MOST_NAMES, model_of, read_given, takes_filters
from dataflow.service.file_changes import change_named, first_release
from dataflow.service.freshness import read_of, sources_of
from dataflow.service.later_lines import later_lines
from dataflow.service.metrics import Metrics
from dataflow.service.places import definition_of, place_named
from dataflow.service.protection.limits import answered, asker
from operators.context.prompt import SYSTEM_PROMPT
from operators.context.search_outcomes import NOT_INGESTED
from operators.context.snippets import brief_snippet, snippet
from operators.context.token_counts import head, token_bound
from operators.errors import CrosscorpusError, UnknownName, plain_text
from operators.explain.waterfall import waterfall
from operators.foundation.escape import safe_url
from operators.foundation.principals import IMPORTER
from operators.frames import FILES
from operators.options import NAME, PATH
from operators.postgres.inspect.status import repos_seen, sources
from operators.postgres.inspect.status import status as read_status
from operators.postgres.inspect.version_history import diff_versions, version_place
from operators.postgres.inspect.version_topics import lineage_named, topics
from operators.postgres.search.chunk_lookup import LONGEST_DOCUMENT, locate
from operators.postgres.store import Home, Store, by_store, collection_info
from operators.ranking.named_places import label_and_address, spellings
from operators.ranking.one_a_file import named_beside
from operators.versions.normalized_names import ABOUT_FILES
from operators.versions.version_diff import Change

T = TypeVar("T")

LONGEST = 24_000
SNIPPET = 300
BRIEF_FLOOR = 0.7
"""The least share of the best score in a brief context: a tenth of its tokens, no answer lost."""
PAGE = 20
PAGE_TOKENS = 8_000
MOST_TOKENS = 7_000
MOST_FURTHER = 10
SOME_FILES = 5
"""Files of a commit that a brief text of its message names."""

_ID = re.compile(r"(\w+):(-?[0-9]{1,19})")  # of a passage: its corpus and its number

Value = Annotated[str, Field(max_length=10_000), AfterValidator(models.without_nul)]
Query = Annotated[Value, Field(json_schema_extra={"pattern": r"\S"})]
Name = Annotated[str, Field(max_length=NAME), AfterValidator(models.without_nul)]
PathText = Annotated[str, Field(max_length=PATH), AfterValidator(models.without_nul)]
Values = Annotated[list[PathText], Field(max_length=MOST_NAMES)]
Cursor = Annotated[Name | None, Field(description="next_cursor of the previous answer")]
Brief = Annotated[bool, Field(description="without addresses")]
Id = Annotated[Value, Field(description="id of a search result")]
Tokens = Annotated[int, Field(ge=100, le=MOST_TOKENS)]


AUDIT = logging.getLogger("crosscorpus.audit")
"""The audit log: a line of JSON for each answer to a caller with a token."""


@dataclass(frozen=True)
class Service:
    """The state that the tools read."""

    driver: RetrievalDriver  # warm; it answers many callers at once
    store: Store  # the driver's collection
    page: str | None = None  # address of the pages of passages that have none on the web
    source: str = ""  # the name or the file of the configuration
    settings: Config | None = None  # of the configuration; None: the driver's own
    metrics: Metrics = field(default_factory=Metrics)  # of its questions

    @property
    def homes(self) -> dict[str, Home]:
        """The home of each corpus that a caller may see."""
        return visible_homes(self.driver.homes, self.driver.config)

    def seen_by(self, principals: Sequence[str]) -> "Service":
        """The same for a caller with ``principals``, for one query."""
        driver = self.driver.seen_by(principals)
        return replace(self, driver=driver, store=driver.store)


Use = Callable[[], AbstractContextManager[Service]]
"""Returns the service for one query; it stays open to the end of the block."""


@takes_filters()
def search(
    service: Service,
    query: Annotated[Query, Field(description="a question, an error message, or a name")],
    top_k: Annotated[int, Field(ge=1, le=200)] = 10,
    cursor: Cursor = None,
    brief: Brief = False,
    **options: Any,
) -> models.Hits:
    """Search the team's code, history, reviews, wiki and documents at once."""
    start, about = page_start(cursor), options.get("uses") or options.get("symbol") or query
    answer = _ask(service, query, **options, top_k=top_k)
    passages = answer.passages[start : start + PAGE]
    return models.Hits(
        results=[_hit(service, one, about, brief) for one in passages],
        evidence=answer.evidence,
        notes=_notes(service, answer, brief),
        sources=read_sources(service, [(one.corpus, one.repo) for one in passages], brief),
        next_cursor=str(start + PAGE) if start + PAGE < len(answer) else None,
    )


def _notes(service: Service, answer: Answer, brief: bool) -> list[str]:
    """The notes of an answer; in brief only an empty one says which corpora hold nothing."""
    unused = (NOT_INGESTED,) if brief and len(answer) else ()
    later = later_lines(service.homes, answer.frame)
    return [*(note for note in answer.notes if not note.startswith(unused)), *later]


def read_sources(
    service: Service, passages: Iterable[tuple[str, str | None]], brief: bool
) -> list[models.Read]:
    """The sources of these corpora and repositories; in brief those that may lack something."""
    read = sources_of(service.homes, passages)
    return [one for one in read if not brief or one.since or one.state != "ok"]


def _hit(service: Service, one: Passage, asked: str, brief: bool) -> models.Hit:
    id = "" if brief else f"{one.corpus}:{one.chunk_id}"
    shown = brief_snippet(one.text, asked, one.label) if brief else snippet(one.text, asked)
    return models.Hit(
        id=id,
        title=one.label,
        url=None if brief else _url(service, one.url, id, one.path),
        snippet=head(shown.text, SNIPPET),
        line=None if brief or one.start_line is None else one.start_line + shown.line,
        also=list(named_beside(one.document_id, one.more_of_file)),
    )


def fetch(
    service: Service,
    id: Annotated[
        Value,
        Field(
            description="id, url, title or citation of an answer; src/a.py (its document), "
            "src/a.py:120 (the passage), src/a.py:120-140; a commit, 0123abc:src/a.py (its diff); "
            "a name: Lock.release"
        ),
    ],
    lines: Annotated[
        Name | None, Field(description="these lines of its document, such as 10-42")
    ] = None,
    version: Annotated[Name | None, Field(description="this version of its document")] = None,
    further: Annotated[
        list[Value] | None,
        Field(max_length=MOST_FURTHER, description="more ids, paths or names"),
    ] = None,
    cursor: Cursor = None,
    brief: Brief = False,
) -> models.Fetched:
    """The exact text of passages, lines, commits or definitions: several at once by further."""
    others, left, start = list(further or ()), PAGE_TOKENS, page_start(cursor)
    most = left // (1 + len(others))
    first = _fetched(service, id, lines=lines, version=version, start=start, most=most, brief=brief)
    texts = [first]
    for index, one in enumerate(others):
        left -= token_bound(texts[-1].text)
        most = left // (len(others) - index)  # what one leaves is for those after it
        try:
            texts.append(_fetched(service, one, most=most, brief=brief))
        except CrosscorpusError as error:
            texts.append(models.Text(id=one, title="", text="", notes=[plain_text(error)]))
    return models.Fetched(**dict(first), further=texts[1:])


def _fetched(
    service: Service,
    id: str,
    *,
    lines: str | None = None,
    version: str | None = None,
    start: int = 0,
    most: int,
    brief: bool,
) -> models.Text:
    """The text of one passage, at most ``most`` tokens of it."""
    whole, notes = False, list[str]()
    config = service.driver.config
    if of := _numbered(service, id):
        id = f"{of[0]}:{of[1]}"
        store, row = stored_passage(service, id)
    elif change := change_named(service.driver, service.homes, id):
        if lines or version:
            raise CrosscorpusError(f"{change.title} is a diff: it has no lines and no version")
        row = {**change.commit, "path": None, "title": change.title, "text": change.diff}
        id = f"{change.corpus}:{row['chunk_id']}"
        row["start_line"] = None
    else:
        try:
            corpora = service.driver.graph.config["corpora"]
            place = place_named(service.homes, corpora, visible_filters(config), id)
        except UnknownName:
            if (defined := definition_of(service.driver, id)) is None:
                raise
            id, lines = f"{defined[0]['corpus']}:{defined[0]['chunk_id']}", lines or defined[1]
            store, row = stored_passage(service, id)
        else:
            store, row, whole, notes = place.store, place.row, place.whole, [place.note]
            id, lines = f"{place.corpus}:{row['chunk_id']}", lines or place.lines
    text = row["text"]
    if version is not None:
        members = lineage_named(store, row["document_id"], row["corpus"]).to_dicts()
        row = document(store, members[version_place(members, version)]).row(0, named=True)
        id = f"{id.partition(':')[0]}:{row['chunk_id']}"
    if lines or version or whole:
        text = _lines(document(store, row), lines)
        first = int(re.match("[0-9]+", lines)[0]) if lines else 1  # type: ignore[index]
        row = {**row, "start_line": row["start_line"] and first}
    read = read_sources(service, [(id.partition(":")[0], row["repo"])], brief)
    if brief and '"commit"' in (row["metadata"] or ""):
        text = _with_first_files(text)
    answer = text_of(service, id, row, text, start, read, most=most)
    if released := first_release(service.homes, row):
        answer.metadata["release"] = released
    if brief:
        kept = {n: v for n, v in answer.metadata.items() if n in ("release", "start_line")}
        return answer.model_copy(update={"url": None, "metadata": kept})
    return answer.model_copy(update={"notes": notes})


@takes_filters("corpora", "repos", "as_of", "version", "trigger")
def get_context(
    service: Service,
    query: Annotated[Query, Field(description="the question to answer")],
    max_tokens: Tokens = 1_500,
    brief: Brief = False,
    **options: Any,
) -> models.Context:
    """The context for an answer: passages that fit a token budget, with citations."""
    if brief and "context_floor" in service.driver.graph.nodes:
        floor = service.driver.config.parameters.get("context_floor", 0.0)
        options["context_floor"] = max(BRIEF_FLOOR, floor)
    answer = _ask(service, query, max_tokens=max_tokens, **options)
    links, notes = [] if brief else list(answer.citations), _notes(service, answer, brief)
    whole = "\n".join(links)
    if (kept := head(whole, PAGE_TOKENS + 500 - max_tokens)) != whole:
        links = links[: kept.count("\n")]
        notes.append(f"the last {len(answer.citations) - len(links)} links had no room here")
    return models.Context(
        text=answer.context,
        citations=links,
        instruction=None if brief else SYSTEM_PROMPT,
        evidence=answer.evidence,
        notes=notes,
        sources=read_sources(service, [(one.corpus, one.repo) for one in answer], brief),
    )


@takes_filters("corpora", "repos", "as_of", "version", "trigger")
def explain(
    service: Service,
    query: Annotated[Query, Field(description="the question")],
    passages: Annotated[
        Values | None, Field(description="missing passages: id, label, path or title")
    ] = None,
    max_tokens: Tokens = 1_500,
    **options: Any,
) -> models.Reasons:
    """Why passages are in the results, or why an expected one is not."""
    wanted = [one[1] if (one := _numbered(service, part)) else part for part in passages or ()]
    options |= {"explain_chunks": wanted or None, "max_tokens": max_tokens}
    wished = ("results", "dispositions", "notes", "explain", "provenance")
    driver = service.driver
    out = driver.execute(wished, driver.question_inputs(query, must_exist=True, **options))
    service.metrics.run(out["provenance"], driver.stages)
    return models.Reasons(
        passages=[
            models.Reason(
                id=f"{row['corpus']}:{row['chunk_id']}",
                title=row["source_label"],
                rank=None if row["result_rank"] is None else row["result_rank"] + 1,
                disposition=row["disposition"],
                reason=row["reason"],
                score=_steps(out["explain"].filter(chunk_id=row["chunk_id"])),
            )
            for row in out["dispositions"].head(PAGE).iter_rows(named=True)
        ],
        notes=out["notes"]["note"].to_list(),
        sources=sources_of(service.homes, out["results"].select("corpus", "repo").iter_rows()),
    )


def versions(
    service: Service,
    document: Annotated[
        PathText | None,
        Field(description="its path, id or title; default: the newest of each topic"),
    ] = None,
    older: Annotated[Name | None, Field(description="show the changes since this version")] = None,
    newer: Annotated[Name | None, Field(description="up to this version; default: newest")] = None,
    cursor: Cursor = None,
) -> models.Versions:
    """The versions of a document, or the changes from one to another."""
    start, changes = page_start(cursor), list[str]()
    if document is None:
        rows = [
            row | {"version": row["newest"], "released_at": None, "of": names.get(row["corpus"])}
            for store, names in by_store(service.homes)
            for row in topics(store).iter_rows(named=True)
        ]
    elif older or newer:
        diff, names = _first(service, lambda store: diff_versions(store, document, older, newer))
        rows = [row | {"of": names.get(row["corpus"])} for row in (diff.before, diff.after)]
        changes = [_change(one) for one in diff.changes]
    else:
        members, names = _first(service, lambda store: lineage_named(store, document))
        rows = [row | {"of": names.get(row["corpus"])} for row in members.to_dicts()]
    many = max(len(rows), len(changes))
    shown = rows if changes else rows[start : start + PAGE]
    passages = [(row["of"], row.get("repo")) for row in shown if row["of"]]
    return models.Versions(
        versions=[
            models.Version(
                topic=row["lineage_id"],
                date=row["released_at"],
                **{name: row[name] for name in ("version", "title", "path")},
            )
            for row in shown
        ],
        changes=changes[start : start + PAGE],
        sources=sources_of(service.homes, passages),
        next_cursor=str(start + PAGE) if start + PAGE < many else None,
    )


def status(service: Service, cursor: Cursor = None) -> models.Status:
    """The contents of the collection, and when each source was last read."""
    start, info = page_start(cursor), collection_info(service.store)
    homes, corpora, read, repos = service.homes, [], [], set[str]()
    for store, names in by_store(homes):
        corpora += [
            row | {"corpus": names.get(row["corpus"], row["corpus"])}
            for row in read_status(store).iter_rows(named=True)
            if store.collection == service.store.collection or row["corpus"] in names
        ]
        read += sources(store).to_dicts()
        repos |= {repo for of in repos_seen(store).values() for repo in of if repo}
    return models.Status(
        collection=service.store.collection,
        model=info.model,
        corpora=[
            models.Corpus(**{name: row[name] for name in models.Corpus.model_fields})
            for row in corpora
        ],
        sources=[read_of(row) for row in read[start : start + PAGE]],
        repos=sorted(repos)[:100],
        triggers=service.driver.config.triggers,
        next_cursor=str(start + PAGE) if start + PAGE < len(read) else None,
    )


@contextmanager
def caller_service(use: Use) -> Iterator[Service]:
    """The service for the caller of the current request: what he may see of the collection."""
    who = asker.get()
    with use() as service:
        if who is None or who.principals is None:
            yield service
        else:
            yield service.seen_by(who.principals or [IMPORTER])  # nobody: a server without tokens


def audit_answer(tool: str, answer: Any) -> None:
    """Log who was answered, but never the query or the results."""
    lists = ("results", "passages", "commits", "versions", "corpora")
    counts = (len(getattr(answer, name)) for name in lists if hasattr(answer, name))
    put_on_record(tool, next(counts, None))


def put_on_record(tool: str, results: int | None) -> None:
    """Log a caller with a token who was answered by ``tool``, and the number of results."""
    who = asker.get()
    if who is None or not who.principals:
        return
    entry = {"caller": who.principals[0], "address": who.address, "tool": tool, "results": results}
    AUDIT.info(json.dumps({"at": datetime.now(UTC).isoformat(), **entry}))


def put(use: Use, tool: Callable[..., Any], given: Mapping[str, Any]) -> Any:
    """The answer of ``tool`` to a caller's arguments, counted and timed.

    Raises:
        CrosscorpusError: an argument can't be read, and those of the tool.
    """
    options, remarks = read_given(model_of(tool), given)
    with caller_service(use) as service, service.metrics.question(tool.__name__):
        sent = {name: getattr(options, name) for name in options.model_fields_set}
        answer = tool(service, **sent)
    audit_answer(tool.__name__, answer)
    if remarks and "notes" in type(answer).model_fields:
        answer.notes = [*remarks, *answer.notes]
    return answer


async def with_service(use: Use, work: Callable[[Service], T], seconds: float) -> T:
    """What ``work`` returns of the service, as :func:`answered` gives it."""

    def put_to_it() -> T:
        with caller_service(use) as service:
            return work(service)

    return await answered(put_to_it, seconds)


def _ask(service: Service, query: str, **options: Any) -> Answer:
    """The answer to a query whose names must exist, counted."""
    answer = service.driver.ask(query, must_exist=True, **options)
    service.metrics.run(answer.provenance, service.driver.stages)
    return answer


def _steps(explained: pl.DataFrame) -> list[models.Step]:
    return [
        models.Step(
            factor=one.factor, meaning=one.meaning, formula=one.formula, score=round(one.after, 6)
        )
        for one in waterfall(explained)
    ]


def _with_first_files(text: str) -> str:
    """The text of a commit; the list at its end names its first files alone.

    A message may have a paragraph that begins like the list: it stays whole.
    """
    message, mark, listed = text.rpartition(f"\n{FILES}\n")
    names = listed.strip("\n").split("\n")
    more = len(names) - SOME_FILES
    if not mark or more <= 0:
        return text
    return "\n".join([f"{message}{mark}{names[0]}", *names[1:-more], f"and {more} more"])


def stored_passage(service: Service, id: str) -> tuple[Store, dict[str, Any]]:
    """The stored passage, and its collection."""
    if (known := _numbered(service, id)) is None:
        raise UnknownName(f"no passage {id!r}: give the id of a search result")
    home = service.homes[known[0]]
    rows = locate(home.store, [known[1]], []).filter(corpus=home.corpus).to_dicts()
    if not rows:
        raise UnknownName(f"no passage {id!r}: it has changed since; search again")
    return home.store, rows[0]


def _numbered(service: Service, text: str) -> tuple[str, int] | None:
    """The corpus and the number in a passage's id, or in the address of its page."""
    names = spellings(text) if label_and_address(text)[1] else [text]
    known = [(one[1], int(one[2])) for one in map(_ID.fullmatch, names) if one]
    usable = [one for one in known if -(2**63) <= one[1] < 2**63]
    return next((one for one in usable if one[0] in service.driver.config.corpora), None)


def text_of(
    service: Service,
    id: str,
    row: Mapping[str, Any],
    text: str,
    start: int = 0,
    sources: Sequence[models.Read] = (),
    *,
    most: int = PAGE_TOKENS,
) -> models.Text:
    """``text`` of the passage ``row``, from ``start`` on, at most ``most`` tokens."""
    wanted = ("corpus", "repo", "path", "version", "language", "created_at", "start_line")
    shown = head(text[start : start + LONGEST], most)
    end = start + len(shown)
    path = None if row["corpus"] in ABOUT_FILES else row["path"]
    return models.Text(
        id=id,
        title=path or row["title"] or row["document_id"],
        text=shown,
        url=_url(service, row["uri"], id, row["path"]),
        metadata={name: str(row[name]) for name in wanted if row[name] not in (None, "")},
        sources=list(sources),
        next_cursor=str(end) if end < len(text) else None,
    )


def _url(service: Service, url: str | None, id: str, path: str | None) -> str:
    if url and (safe := safe_url(url)):
        return safe
    if service.page:
        return f"{service.page}/{quote(id)}"
    # Chinese letters stay: quoted, one has six tokens
    return "file:" + re.sub(r"[\0-\x7f]+", lambda part: quote(part[0]), path or id)


def document(store: Store, row: Mapping[str, Any]) -> pl.DataFrame:
    """The passages of the document of a passage or of a version, in their order."""
    same = {name: row[name] for name in ("corpus", "repo", "document_id")}
    how: dict[str, Any] = {"repos": [row["repo"]], "most": LONGEST_DOCUMENT}
    return locate(store, [], [row["document_id"]], **how).filter(**same)


def _lines(passages: pl.DataFrame, wanted: str | None) -> str:
    """The lines ``wanted`` of a document; None: all that its passages have."""
    span = re.fullmatch(r"([0-9]{1,9})(?:-([0-9]{1,9}))?", wanted or "0-999999999")
    if span is None:
        raise CrosscorpusError(f"lines {wanted!r}: write them as 10-42")
    known: dict[int, str] = {}
    for one in passages.iter_rows(named=True):
        texts = one["text"].removesuffix("\n").split("\n")
        if one["start_line"] and len(texts) == one["end_line"] - one["start_line"] + 1:
            texts[0] = known.get(one["start_line"], "") + texts[0]  # a line may go on in the next
            known |= dict(enumerate(texts, one["start_line"]))
    if wanted is None and not known:
        return "\n\n".join(passages["text"])
    first, last = int(span[1]), int(span[2] or span[1])
    texts = [text for n, text in sorted(known.items()) if first <= n <= last]
    if not texts:
        name = passages["document_id"][0]
        raise CrosscorpusError(f"{name} has no text of lines {wanted} here")
    return "\n".join(texts)


def _first(service: Service, read: Callable[[Store], T]) -> tuple[T, dict[str, str]]:
    """The result of the first collection that knows the name, and the names of its corpora.

    Raises:
        UnknownName: no collection knows it.
    """
    errors = []
    for store, names in by_store(service.homes):
        try:
            return read(store), names
        except UnknownName as error:
            errors.append(error)
    raise errors[0]


def page_start(cursor: str | None) -> int:
    """The place at which ``next_cursor`` of the previous answer continues."""
    if cursor is None or re.fullmatch("[0-9]{1,8}", cursor):
        return int(cursor or 0)
    raise CrosscorpusError(f"cursor {cursor!r} is not of an answer of mine: leave it out")


def _change(one: Change) -> str:
    where = f" under {one.heading!r}" if one.heading else ""
    texts = [head(text[:SNIPPET], SNIPPET // 2) for text in (one.old, one.new) if text is not None]
    return f"{one.kind}{where}: {' -> '.join(texts)}"
