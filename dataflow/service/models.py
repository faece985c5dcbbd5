"""What the tools answer: one set of models for MCP and HTTP, in the shapes that agents expect."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from pydantic import BaseModel, Field
from pydantic_core import PydanticCustomError


class Problem(BaseModel):
    """The error of a request, in one line."""

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


def _name(location: Sequence[str | int]) -> str | int:
    return ([part for part in location if isinstance(part, str)] or location)[-1]


def without_nul(text: str) -> str:
    """``text``, where Postgres can take it.

    Raises:
        PydanticCustomError: it has the character NUL.
    """
    if "\0" in text:
        raise PydanticCustomError("nul", "a text can't have the character NUL: leave it out")
    return text


class Hit(BaseModel):
    """A passage in the results of a search."""

    id: str = Field("", description="the id to pass to fetch; in brief answers its title is one")
    title: str = Field(description="the label to cite")
    url: str | None = Field(None, description="its address; not in brief answers")
    snippet: str = Field(description="the lines that match the query best")
    line: int | None = Field(None, description="line of its file at which the snippet begins")
    also: list[str] = Field(
        [], description="lines or ids of more passages of its file: fetch lines by its title"
    )


class Read(BaseModel):
    """When a source was last read."""

    source: str
    corpora: list[str]
    read_at: datetime
    state: str = Field(description="ok, failed (in part), or unfinished")
    commit: str | None = None
    since: str | None = Field(None, description="changes of its working tree since then")


class Hits(BaseModel):
    """The results of a search, best first."""

    results: list[Hit]
    evidence: str | None = Field(
        default=None,
        description="strong, partial or weak: how likely the first results answer the query",
    )
    notes: list[str] = Field(default=[], description="what the reader must know of the results")
    sources: list[Read] = []
    next_cursor: str | None = None


class Text(BaseModel):
    """The exact text of a passage, or of lines of its document."""

    id: str
    title: str
    text: str
    url: str | None = Field(default=None, description="its address; not in brief answers")
    metadata: dict[str, str] = Field(
        default={}, description="start_line; of a commit release, the first tag that has it"
    )
    notes: list[str] = []
    sources: list[Read] = []
    next_cursor: str | None = None


class Fetched(Text):
    """The text of the first id, and of the further ones."""

    further: list[Text] = Field(default=[], description="of the further ids, in their order")


class Context(BaseModel):
    """Passages that fit a token budget: the context for an answer."""

    text: str
    citations: list[str] = Field(
        [], description="Markdown links, in the order of the text; not in brief answers"
    )
    instruction: str | None = Field(
        None, description="system prompt for the model that answers; not in brief answers"
    )
    evidence: str | None = Field(
        default=None,
        description="strong, partial or weak: how likely the first passages answer the query",
    )
    notes: list[str] = []
    sources: list[Read] = []


class Step(BaseModel):
    """A factor of a score: its formula with numbers, and the score after it."""

    factor: str
    meaning: str
    formula: str
    score: float


class Reason(BaseModel):
    """The rank or the exclusion of a passage, and the reason."""

    id: str
    title: str
    rank: int | None = Field(description="from 1; null if it is not in the results")
    disposition: str
    reason: str
    score: list[Step] = Field(description="how its score is computed from 0, factor by factor")


class Reasons(BaseModel):
    """The passages of a query, results first."""

    passages: list[Reason]
    notes: list[str] = []
    sources: list[Read] = []


class Neighbours(BaseModel):
    """A passage and its neighbours, in the order of their document."""

    passages: list[Text]


class Change(BaseModel):
    """A commit."""

    commit: str = Field(description="its first digits, which fetch takes")
    date: str | None
    author: str | None
    subject: str
    note: str | None = Field(None, description="what it reverts, or what reverted it")


class History(BaseModel):
    """The commits that changed a place, newest first."""

    place: str
    commits: list[Change]
    notes: list[str] = []
    next_cursor: str | None = None


class File(BaseModel):
    """The places in one file, or in one document without a file."""

    file: str = Field(description="its path, or the document's id: fetch takes both")
    lines: list[str] = Field(description="each with its number in the file")
    more: int | None = Field(None, description="further lines")


class Places(BaseModel):
    """Every place of a text, by file."""

    total: str = Field(description="how many places in how many files, and whether these are all")
    files: list[File]
    next_cursor: str | None = None


class Version(BaseModel):
    """A version of a document; if no document was named, the newest one of a topic."""

    topic: str
    version: str | None
    date: datetime | None
    title: str | None
    path: str | None


class Versions(BaseModel):
    """Versions, oldest first; or the changes from one to another."""

    versions: list[Version]
    changes: list[str] = Field(description="each begins with added, removed or revised")
    notes: list[str] = []
    sources: list[Read]
    next_cursor: str | None = None


class Corpus(BaseModel):
    """The size of a corpus."""

    corpus: str
    documents: int
    failed: int
    chunks: int
    unembedded: int = Field(
        description="chunks without a vector yet: only keyword search finds them"
    )


class Status(BaseModel):
    """The contents of a collection."""

    collection: str
    model: str | None
    corpora: list[Corpus]
    sources: list[Read]
    repos: list[str] = Field(description="the first 100 repositories")
    triggers: list[str]
    next_cursor: str | None = Field(None, description="for more sources")
