"""The six tools, each a function over a warm driver: MCP and HTTP serve the same ones.

All only read. Texts stay under ``LONGEST`` characters, ten thousand tokens at the worst; what is
left has a cursor. What names something unknown is an error with the nearest names.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any
from urllib.parse import quote

import polars as pl
from pydantic import Field

from dataflow.driver.answer import NODES, Answer, answer_of
from dataflow.driver.retrieval_driver import RetrievalDriver
from dataflow.service import models
from operators.context.prompt import SYSTEM_PROMPT
from operators.errors import CrosscorpusError, UnknownName
from operators.explain.dispositions import DISPOSITION_MEANINGS
from operators.explain.waterfall import FACTORS, waterfall
from operators.postgres.inspect.status import sources
from operators.postgres.inspect.status import status as read_status
from operators.postgres.inspect.version_history import diff_versions, list_versions
from operators.postgres.inspect.version_topics import topics
from operators.postgres.search.chunk_lookup import locate
from operators.postgres.search.filter_values import absent_values
from operators.postgres.store import Store, collection_info
from operators.sources.git.repository import changed_since
from operators.versions.version_diff import Change

LONGEST = 24_000
SNIPPET = 300
PAGE = 20
MOST_TOKENS = 8_000

_ID = re.compile(r"(\w+):(-?[0-9]{1,19})")  # of a passage: its corpus and its number

Corpora = Annotated[list[str] | None, Field(description="only these corpora")]
Repos = Annotated[list[str] | None, Field(description="only these repositories")]
Language = Annotated[str | None, Field(description="only this programming language")]
Path = Annotated[str | None, Field(description="only paths that begin so")]
AsOf = Annotated[datetime | None, Field(description="nothing created at or after this")]
VersionName = Annotated[str | None, Field(description="answer for this version; default: newest")]
Trigger = Annotated[str | None, Field(description="what asks, such as pr_review")]
Cursor = Annotated[str | None, Field(description="next_cursor of the answer before")]
Id = Annotated[str, Field(description="of a search result")]


@dataclass(frozen=True)
class Service:
    """What the tools read.

    Attributes:
        driver: warm; it answers many callers at once.
        store: the driver's collection.
        page: the address of a passage's page, for what has no web address; None: there are none.
    """

    driver: RetrievalDriver
    store: Store
    page: str | None = None


def search(
    service: Service,
    query: Annotated[str, Field(description="a question, an error message, or a name")],
    corpora: Corpora = None,
    repos: Repos = None,
    language: Language = None,
    path: Path = None,
    as_of: AsOf = None,
    version: VersionName = None,
    trigger: Trigger = None,
    top_k: Annotated[int, Field(ge=1, le=200)] = 10,
    cursor: Cursor = None,
) -> models.Hits:
    """Search the team's code, history, reviews, wiki and documents at once."""
    start = _place(cursor)
    asked: dict[str, Any] = {"corpora": corpora, "repos": repos, "language": language}
    asked |= {"path": path, "as_of": as_of, "version": version, "trigger": trigger}
    answer = _ask(service, query, **asked, top_k=top_k)
    return models.Hits(
        results=[
            models.Hit(
                id=(id := f"{one.corpus}:{one.chunk_id}"),
                title=one.label,
                url=_url(service, one.url, id, one.path),
                snippet=" ".join(one.text.split())[:SNIPPET],
            )
            for one in answer.passages[start : start + PAGE]
        ],
        notes=list(answer.notes),
        sources=_read(service),
        next_cursor=str(start + PAGE) if start + PAGE < len(answer) else None,
    )


def fetch(
    service: Service,
    id: Id,
    lines: Annotated[
        str | None, Field(description="10-42: these lines of its document instead")
    ] = None,
    cursor: Cursor = None,
) -> models.Text:
    """The exact text of a passage, or lines of its document."""
    store, row = found(service, id)
    text = row["text"] if lines is None else _lines(store, row, lines)
    return text_of(service, id, row, text, _place(cursor))


def get_context(
    service: Service,
    query: Annotated[str, Field(description="the question to answer")],
    corpora: Corpora = None,
    repos: Repos = None,
    as_of: AsOf = None,
    version: VersionName = None,
    trigger: Trigger = None,
    max_tokens: Annotated[int, Field(ge=100, le=MOST_TOKENS)] = 4_000,
) -> models.Context:
    """Passages packed into a budget of tokens, with citations, to answer a question from."""
    asked: dict[str, Any] = {"corpora": corpora, "repos": repos, "as_of": as_of}
    asked |= {"version": version, "trigger": trigger, "context_budget": max_tokens}
    answer = _ask(service, query, **asked)
    return models.Context(
        text=answer.context,
        citations=list(answer.citations),
        instruction=SYSTEM_PROMPT,
        notes=list(answer.notes),
        sources=_read(service),
    )


def explain(
    service: Service,
    query: Annotated[str, Field(description="the question")],
    passages: Annotated[
        list[str] | None, Field(description="ids, labels, paths or titles that you miss")
    ] = None,
    corpora: Corpora = None,
    repos: Repos = None,
    version: VersionName = None,
    trigger: Trigger = None,
) -> models.Reasons:
    """Why passages are in the results, or why one that you expect is not."""
    wanted = [int(one[2]) if (one := _ID.fullmatch(part)) else part for part in passages or ()]
    asked: dict[str, Any] = {"corpora": corpora, "repos": repos, "version": version}
    asked |= {"trigger": trigger, "explain_chunks": wanted or None}
    wished = ["dispositions", "notes", "explain_targets", "explain"]
    out = service.driver.execute(wished, inputs(service, query, **asked))
    targets = out["explain_targets"].select("corpus", "chunk_id")
    rows = out["dispositions"].sort("result_rank", nulls_last=True, maintain_order=True)
    missed = rows.join(targets, on=["corpus", "chunk_id"], how="semi", maintain_order="left")
    shown = pl.concat(
        [rows.drop_nulls("result_rank"), missed.filter(pl.col("result_rank").is_null())]
    ).head(PAGE)
    return models.Reasons(
        passages=[
            models.Reason(
                id=f"{row['corpus']}:{row['chunk_id']}",
                title=row["source_label"],
                rank=None if row["result_rank"] is None else row["result_rank"] + 1,
                disposition=row["disposition"],
                reason=f"{DISPOSITION_MEANINGS[row['disposition']]}: {row['reason']}",
                score=_steps(out["explain"].filter(chunk_id=row["chunk_id"])),
            )
            for row in shown.iter_rows(named=True)
        ],
        notes=out["notes"]["note"].to_list(),
    )


def versions(
    service: Service,
    document: Annotated[
        str | None, Field(description="its path, id or title; default: every topic's newest")
    ] = None,
    older: Annotated[str | None, Field(description="tell the changes since this one")] = None,
    newer: Annotated[str | None, Field(description="up to this one; default: newest")] = None,
    cursor: Cursor = None,
) -> models.Versions:
    """The versions of a document, or what changed from one to another."""
    start, changes = _place(cursor), list[str]()
    if document is None:
        rows = [
            {"lineage_id": row["lineage_id"], "version": row["newest"], "title": row["title"]}
            | {"released_at": None, "path": row["path"]}
            for row in topics(service.store).iter_rows(named=True)
        ]
    elif older or newer:
        diff = diff_versions(service.store, document, older, newer)
        rows = [diff.before, diff.after]
        changes = [_change(one) for one in diff.changes]
    else:
        rows = list_versions(service.store, document).to_dicts()
    many = max(len(rows), len(changes))
    return models.Versions(
        versions=[
            models.Version(
                topic=row["lineage_id"],
                date=row["released_at"],
                **{name: row[name] for name in ("version", "title", "path")},
            )
            for row in (rows if changes else rows[start : start + PAGE])
        ],
        changes=changes[start : start + PAGE],
        next_cursor=str(start + PAGE) if start + PAGE < many else None,
    )


def status(service: Service) -> models.Status:
    """What the collection holds, and when each source was read."""
    info = collection_info(service.store)
    rows = read_status(service.store).iter_rows(named=True)
    return models.Status(
        collection=service.store.collection,
        model=info.model,
        corpora=[
            models.Corpus(**{name: row[name] for name in models.Corpus.model_fields})
            for row in rows
        ],
        sources=_read(service),
        repos=sorted({repo for of in info.repos.values() for repo in of if repo})[:100],
        triggers=service.driver.config.triggers,
    )


def inputs(
    service: Service,
    query: str,
    *,
    corpora: Sequence[str] | None = None,
    repos: Sequence[str] | None = None,
    language: str | None = None,
    path: str | None = None,
    as_of: datetime | None = None,
    version: str | None = None,
    trigger: str | None = None,
    **parameters: Any,
) -> dict[str, Any]:
    """The graph's inputs of one question; a repository that nothing has is an error."""
    config = service.driver.config
    visible = {name: of.filters.model_dump() for name, of in config.corpora.items()}
    named: dict[str, Any] = {"repos": repos, "language": language}
    if any(named.values()) and not config.other_collections:  # these may have what this one lacks
        for absent in absent_values(service.store, visible, **named):
            raise UnknownName(absent)
    asked = {
        "query": query,
        "only_corpora": corpora,
        "repos": repos,
        "language": language,
        "path_prefix": path,
        "as_of": as_of,
        "versions": [version] if version else None,
        "trigger": trigger or config.usual_trigger,
        **parameters,
    }
    return {name: value for name, value in asked.items() if value is not None}


def _ask(service: Service, query: str, **asked: Any) -> Answer:
    return answer_of(service.driver.execute(NODES, inputs(service, query, **asked)))


def _read(service: Service) -> list[models.Read]:
    return [
        models.Read(
            **{name: row[name] for name in ("source", "corpora", "read_at", "state")},
            commit=row["revision"],
            since=changed_since(row["folder"], row["revision"]) if row["revision"] else None,
        )
        for row in sources(service.store).iter_rows(named=True)
    ]


def _steps(explained: pl.DataFrame) -> list[models.Step]:
    return [
        models.Step(
            factor=one.factor, meaning=FACTORS[one.factor], formula=one.formula, score=one.after
        )
        for one in waterfall(explained)
    ]


def found(service: Service, id: str) -> tuple[Store, dict[str, Any]]:
    """The passage as its collection has it, and that collection."""
    known = _ID.fullmatch(id)
    if known is None or known[1] not in service.driver.config.corpora:
        raise UnknownName(f"no passage {id!r}: give the id of a search result")
    home = service.driver.execute([node := f"{known[1]}.home"])[node]
    found = locate(home.store, [int(known[2])], []).filter(corpus=home.corpus).to_dicts()
    if not found:
        raise UnknownName(f"no passage {id!r}: it has changed since; search again")
    return home.store, found[0]


def text_of(
    service: Service, id: str, row: Mapping[str, Any], text: str, start: int = 0
) -> models.Text:
    """``text`` of the passage ``row``, from ``start`` on."""
    wanted = ("corpus", "repo", "path", "version", "language", "created_at", "start_line")
    return models.Text(
        id=id,
        title=row["path"] or row["title"] or row["document_id"],
        text=text[start : start + LONGEST],
        url=_url(service, row["uri"], id, row["path"]),
        metadata={name: str(row[name]) for name in wanted if row[name] not in (None, "")},
        next_cursor=str(start + LONGEST) if start + LONGEST < len(text) else None,
    )


def _url(service: Service, url: str | None, id: str, path: str | None) -> str:
    if url:
        return url
    return f"{service.page}/{quote(id)}" if service.page else f"file:{quote(path or id)}"


def _lines(store: Store, row: dict[str, Any], wanted: str) -> str:
    """These lines of the document of a passage, from the texts of its passages."""
    first, _, last = wanted.partition("-")
    if not (first.isdigit() and (last or first).isdigit()):
        raise CrosscorpusError(f"lines {wanted!r}: write them as 10-42")
    same = {name: row[name] for name in ("corpus", "repo", "document_id")}
    known: dict[int, str] = {}
    for one in locate(store, [], [row["document_id"]]).filter(**same).iter_rows(named=True):
        texts = one["text"].removesuffix("\n").split("\n")
        if one["start_line"] and len(texts) == one["end_line"] - one["start_line"] + 1:
            known |= dict(enumerate(texts, one["start_line"]))
    found = [known[n] for n in range(int(first), int(last or first) + 1) if n in known]
    if not found:
        raise CrosscorpusError(f"{row['document_id']} has no text of lines {wanted} here")
    return "\n".join(found)


def _place(cursor: str | None) -> int:
    if cursor is None or re.fullmatch("[0-9]{1,8}", cursor):
        return int(cursor or 0)
    raise CrosscorpusError(f"cursor {cursor!r} is not of an answer of mine: leave it out")


def _change(one: Change) -> str:
    where = f" under {one.heading!r}" if one.heading else ""
    texts = " -> ".join(text[:SNIPPET] for text in (one.old, one.new) if text is not None)
    return f"{one.kind}{where}: {texts}"


TOOLS: tuple[Callable[..., Any], ...] = (search, fetch, get_context, explain, versions, status)
