"""What the tools answer: one set of models for MCP and HTTP, in the shapes that agents expect."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from pydantic import BaseModel, Field
from pydantic_core import PydanticCustomError


class Problem(BaseModel):
    """Why there is no answer, in one line."""

    detail: str


UNKNOWN_ARGUMENT = "unknown_argument"
"""The type of a validation error whose text names the argument itself."""


def faults(errors: Sequence[Any]) -> str:
    """Pydantic's validation errors in one line.

    >>> faults([{"loc": ("body", "top_k"), "msg": "Input should be a valid integer"}])
    'top_k: Input should be a valid integer'
    >>> faults([{"loc": ("repos", 1), "msg": "String should have at most 10000 characters"}])
    'repos: String should have at most 10000 characters'
    """
    return "; ".join(
        one["msg"] if one.get("type") == UNKNOWN_ARGUMENT else f"{_name(one['loc'])}: {one['msg']}"
        for one in errors
    )


def _name(place: Sequence[str | int]) -> str | int:
    return ([part for part in place if isinstance(part, str)] or place)[-1]


def without_nul(text: str) -> str:
    """``text``, where Postgres can take it.

    Raises:
        PydanticCustomError: it has the character NUL.
    """
    if "\0" in text:
        raise PydanticCustomError("nul", "a text can't have the character NUL: leave it out")
    return text


class Hit(BaseModel):
    """A passage that a search found."""

    id: str = Field(description="for fetch")
    title: str = Field(description="the label to cite")
    url: str
    snippet: str = Field(description="the lines that answer best")
    line: int | None = Field(None, description="of its file, where the snippet begins")


class Read(BaseModel):
    """When a source was last read."""

    source: str
    corpora: list[str]
    read_at: datetime
    state: str = Field(description="ok, failed (in part), or unfinished")
    commit: str | None = None
    since: str | None = Field(None, description="what its working tree has that was not read")


class Hits(BaseModel):
    """The results of a search, the best first."""

    results: list[Hit]
    notes: list[str] = Field(description="what the reader must know")
    sources: list[Read]
    next_cursor: str | None = None


class Text(BaseModel):
    """A passage, or lines of its document, exactly."""

    id: str
    title: str
    text: str
    url: str
    metadata: dict[str, str]
    notes: list[str] = []
    sources: list[Read] = []
    next_cursor: str | None = None


class Context(BaseModel):
    """Passages that fit a budget, to answer from."""

    text: str
    citations: list[str] = Field(description="Markdown links, in the order of the text")
    instruction: str = Field(description="what the model that answers must be told")
    notes: list[str]
    sources: list[Read]


class Step(BaseModel):
    """A factor of a score: what it does in numbers, and the score after it."""

    factor: str
    meaning: str
    formula: str
    score: float


class Reason(BaseModel):
    """What became of a passage, and why."""

    id: str
    title: str
    rank: int | None = Field(description="from 1; null: it is no result")
    disposition: str
    reason: str
    score: list[Step] = Field(description="from 0 to its score, factor by factor")


class Reasons(BaseModel):
    """The passages of a question, results first."""

    passages: list[Reason]
    notes: list[str]
    sources: list[Read]


class Place(BaseModel):
    """A passage between its neighbours, in the order of their document."""

    passages: list[Text]


class NodeTime(BaseModel):
    """What a node of the graph took."""

    node: str
    stage: str
    ms: float


class GraphTimes(BaseModel):
    """A question's graph with the time of each node that ran, the slowest first."""

    ms: float
    times: list[NodeTime]
    svg: str | None
    why: str | None = Field(description="why there is no picture")


class Version(BaseModel):
    """A version of a document, or the newest of a topic where no document was named."""

    topic: str
    version: str | None
    date: datetime | None
    title: str | None
    path: str | None
    continues: str | None = Field(
        default=None, description="where its text was before or is now, if it moved"
    )


class Versions(BaseModel):
    """Versions, oldest first; or the changes from one to another."""

    versions: list[Version]
    changes: list[str] = Field(description="each begins with added, removed or revised")
    notes: list[str] = []
    sources: list[Read]
    next_cursor: str | None = None


class Corpus(BaseModel):
    """What a corpus holds."""

    corpus: str
    documents: int
    failed: int
    chunks: int
    unembedded: int = Field(description="chunks that only words find yet: they have no vector")


class Status(BaseModel):
    """What a collection holds."""

    collection: str
    model: str | None
    corpora: list[Corpus]
    sources: list[Read]
    repos: list[str] = Field(description="the first hundred")
    triggers: list[str]
    next_cursor: str | None = Field(None, description="for more sources")
