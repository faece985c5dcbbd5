"""The tool that returns the context of a change under review."""

from typing import Annotated

from pydantic import AfterValidator, Field

from dataflow.review.graph import review
from dataflow.service import models
from dataflow.service.tools import MOST_TOKENS, Brief, Service, Value, read_sources
from operators.context.prompt import REVIEW_PROMPT

Diff = Annotated[
    str, Field(max_length=200_000, description="a unified diff"), AfterValidator(models.without_nul)
]


def review_context(
    service: Service,
    diff: Diff,
    title: Annotated[Value | None, Field(description="title of the change")] = None,
    description: Value | None = None,
    repo: Annotated[Value | None, Field(description="repository of the change")] = None,
    max_tokens: Annotated[int, Field(ge=200, le=MOST_TOKENS)] = 2_000,
    brief: Brief = False,
) -> models.Context:
    """Context that a diff lacks: definitions, uses, tests, review comments, commits."""
    result = review(
        service.driver,
        diff,
        title=title,
        description=description,
        repo=repo,
        context_budget=max_tokens,
    )
    return models.Context(
        text=result.context,
        citations=[] if brief else list(result.citations),
        instruction=None if brief else REVIEW_PROMPT,
        notes=[one for one in result.notes if not brief or one not in result.context],
        sources=read_sources(service, set(result.frame["corpus", "repo"].iter_rows()), brief),
    )
