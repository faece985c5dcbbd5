"""What is shown of a result can be asked for, and leads."""

from __future__ import annotations

from typing import Any

import pytest
from ingested import git

TITLE = "Tidy the pages (#42)"


@pytest.fixture(scope="module")
def driver(ingested: Any, tmp_path_factory: Any) -> Any:
    """A driver over a repository of two commits."""
    folder = tmp_path_factory.mktemp("repository")
    (folder / "src").mkdir()
    functions = [f"def step_{n}(value):\n    return value * {n} + {n * n}\n\n" for n in range(300)]
    (folder / "src/steps.py").write_text("".join(functions))
    (folder / "src/lines.py").write_text("def line(home):\n    '''A line of the app at home.'''\n")
    for n in range(12):
        page = f"# Page {n}\n\nPage number {n} of the guide says which line of an app fails.\n"
        (folder / f"p{n}.md").write_text(page)
    ann = ("--author", "Ann Smith <ann@example.org>", "--date", "2024-05-01T10:00:00Z")
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "Add the guide", *ann)
    (folder / "more.md").write_text("# More\n\nMore to read.\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", TITLE, *ann)
    return ingested("named-places", ["git", str(folder)])


@pytest.fixture(scope="module", params=["default", "words"])
def first(request: Any, driver: Any) -> Any:
    """The first result of a question, by all searches and by words alone."""
    if request.param == "words":
        words = driver.config.with_changes({"variants": {"merged": "text_only"}})
        driver = driver.sibling(words)
    return lambda question: driver.execute(["results"], {"query": question})["results"].row(
        0, named=True
    )


@pytest.mark.parametrize(
    "question",
    [
        "src/steps.py:620",
        'File "/home/ann/app/src/steps.py", line 620, in step_206',
        "why does src/steps.py:620 fail in the app at home?",
    ],
)
def test_the_passage_with_the_line_that_a_tool_prints_leads(first: Any, question: str) -> None:
    result = first(question)
    assert result["path"] == "src/steps.py"
    assert result["start_line"] <= 620 <= result["end_line"]


@pytest.mark.parametrize(
    ("question", "length"), [("{}", 7), ("what did commit {} change", 10), ("is it in {}?", 40)]
)
def test_a_commit_leads_for_any_beginning_of_its_id(
    driver: Any, first: Any, question: str, length: int
) -> None:
    commit = driver.store.row("SELECT document_id FROM documents WHERE title = %s", (TITLE,))[0]
    assert first(question.format(commit[:length]))["title"] == TITLE


def test_a_commit_is_found_by_its_author_and_by_its_number(first: Any) -> None:
    assert first("commits by Ann")["corpus"] == "history"
    assert first("Smith")["corpus"] == "history"
    assert first("PR 42")["title"] == TITLE
