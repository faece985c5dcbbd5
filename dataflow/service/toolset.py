"""The tools that MCP and HTTP serve, in the order in which an agent reads them."""

from collections.abc import Callable
from typing import Any

from dataflow.service.grep_tool import grep
from dataflow.service.history_tool import history
from dataflow.service.review_tool import review_context
from dataflow.service.tools import explain, fetch, get_context, search, status, versions

TOOLS: tuple[Callable[..., Any], ...] = (
    *(search, fetch, get_context, grep, history),
    *(review_context, explain, versions, status),
)
