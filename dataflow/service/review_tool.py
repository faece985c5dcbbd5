"""The tool that returns the context of a change under review."""

from typing import Annotated

from pydantic import AfterValidator, Field

from dataflow.review.graph import review
from dataflow.service import models
from dataflow.service.freshness import sources_of
from dataflow.service.tools import MOST_TOKENS, Service, Value
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
        citations=list(result.citations),
        instruction=REVIEW_PROMPT,
        notes=list(result.notes),
        sources=sources_of(service.homes, list(set(result.frame["corpus", "repo"].iter_rows()))),
    )
