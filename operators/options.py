"""What a question can be asked with, one row each.

Every door is made from this table: the command's options, the schemas of the tools (MCP and HTTP),
the filters of other frameworks, the inputs of the graph, the columns of ``queries``, and the
checks of values (:mod:`operators.question.read_options`). So all of them take the same values.

A new filter is a row of ``FILTERS``, an argument of the node ``question_filters`` and a clause of
:mod:`operators.postgres.search.filters`. The table needs no package, because the command, which
asks a running server, starts without Polars and Pydantic.
"""

from dataclasses import dataclass
from typing import Literal

NAME = 500
PATTERN = 1_000
PATH = 4_096
"""The longest path of Linux; also for what may contain one, such as a label."""

Kind = Literal["names", "texts", "text", "versions", "number", "moment", "date"]
"""``names`` may be written with commas between them; ``versions`` are one text or several. A
``date`` is a moment too, and may be written as a month, ``last week`` or a version."""


@dataclass(frozen=True)
class Option:
    """One option of a question."""

    name: str  # the keyword of ``ask``, of the tools and of the frameworks
    kind: Kind
    says: str = ""  # what it does, for ``--help`` and for an agent
    longest: int = NAME  # the most characters of a text
    column: str = ""  # of ``queries``, and the graph's input, where the name is another
    flag: str = ""  # of the command, where the name is another

    def __post_init__(self) -> None:
        """A name that is not given is the option's own."""
        object.__setattr__(self, "column", self.column or self.name)
        object.__setattr__(self, "flag", self.flag or self.name)


DATES = "2025-03-01, 2025-03, 2025, last month, 3 days ago, or v2.1 for its release"
"""The forms of a date, by examples."""

FILTERS = (
    Option("repos", "names", "only these repositories", PATH, flag="repo"),
    Option("path", "text", "only paths with this prefix", PATH, column="path_prefix"),
    Option("language", "text", "only this programming language"),
    Option("state", "text", "only items in this state, such as open"),
    Option(
        "pattern",
        "text",
        "only what this regular expression matches",
        PATTERN,
        flag="regex",
    ),
    Option("symbol", "text", "only definitions of this name"),
    Option("uses", "text", "only uses of this name"),
    Option("author", "text", "only what this author wrote"),
    Option("since", "date", "from then on: 2025-03, last week or v2.1"),
    Option("until", "date", "up to then, its end included"),
    Option("as_of", "moment", "before this, or undated"),
    Option("corpora", "names", "only these corpora", PATH, flag="corpus"),
    Option(
        *("version", "versions", "this version; default: newest"),
        column="versions",
    ),
)
"""What limits the search, in the order of the columns of ``queries``."""

TRIGGER = Option("trigger", "text", "what prompts the query, such as pr_review")

OTHERS = (
    *(Option("versions", "versions"), TRIGGER, Option("top_k", "number")),
    *(Option("context_budget", "number"), Option("max_tokens", "number", flag="budget")),
    *(Option("explain_chunks", "texts", longest=PATH), Option("passages", "texts", longest=PATH)),
    *(Option("document", "text", longest=PATH), Option("lines", "text"), Option("cursor", "text")),
    *(Option("older", "text"), Option("newer", "text")),
)
"""Other options of a question, and arguments of the tools."""

ONLY_CORPORA = "only_corpora"
"""The graph's input for ``corpora``: that name is the configuration's."""

OPTIONS = {one.name: one for one in (*FILTERS, *OTHERS)}
OPTIONS |= {one.column: one for one in FILTERS if one.column not in OPTIONS}
OPTIONS[ONLY_CORPORA] = OPTIONS["corpora"]
"""The options by their names, those of the graph's inputs included."""


def input_of(name: str) -> str:
    """The graph's input for the option ``name``, or ``name`` itself."""
    column = OPTIONS[name].column if name in OPTIONS else name
    return ONLY_CORPORA if column == "corpora" else column


INPUTS = frozenset(input_of(one.name) for one in FILTERS)
"""The graph's inputs for the filters."""
