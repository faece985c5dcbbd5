"""What fetch gives for a path with lines, over HTTP and MCP alike."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from ingested import git
from ingesting import ingest_documents, ingest_folder, ingest_git
from word_embedder import WordEmbedder

from dataflow import build_driver
from dataflow.service import tools
from dataflow.service.grep_tool import grep
from dataflow.service.models import Text
from dataflow.service.review_tool import review_context
from dataflow.service.tools import Service
from operators.errors import CrosscorpusError, UnknownName
from operators.postgres.store import drop_collection, open_store


def guide(repo: str) -> str:
    """A section whose paragraphs are a line each, longer than a passage."""
    rules = [
        f"Rule {n} of {repo}: " + ", ".join(f"case{n} {case}" for case in range(60))
        for n in range(9)
    ]
    end = " ".join(f"end{n}" for n in range(90))
    return "\n\n".join(("# Guide", "## Rules", *rules, "## End", f"{end}\n"))


@pytest.fixture(scope="module")
def two(
    service: Service, server_dsn: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    """Two repositories that have a file of one path, a review of it, and names like lines."""
    name, root = "service-tests-places", tmp_path_factory.mktemp("places")
    with open_store(server_dsn, name, create=True) as store:
        for repo in ("app", "web"):
            tree = root / repo
            (tree / "src").mkdir(parents=True)
            (tree / "guide.md").write_text(guide(repo))
            (tree / "src/main.py").write_text(f"START = '{repo}'\nEND = 1\n")
            (tree / f"src/{repo}.py").write_text(
                "\n".join(f"{repo}_{n} = {n}" for n in range(1, 400))
            )
            more = [("tag", name) for name in ("backup-20", "v1.0-rc.1", "v1.0")]
            more = more if repo == "app" else []
            more += [("commit", "-q", "--allow-empty", "-m", "After")]
            for command in (("init", "-q"), ("add", "."), ("commit", "-qm", "Start"), *more):
                git(tree, *command)
            ingest_git(store, WordEmbedder(), tree, repo=f"org/{repo}")
        pages = root / "pages"
        pages.mkdir()
        sections = {"Example": "first", "Other": "middle", "Other part": "next"}
        texts = [f"## {name}\n\n" + f"{word} " * 300 for name, word in sections.items()]
        texts += ["## Example\n\n" + "second " * 300]
        (pages / "twice.md").write_text("\n\n".join(["# Twice", *texts]))
        (pages / "long.md").write_text("\n".join(f"{f'word{n} ' * 60}end" for n in range(4000)))
        ingest_folder(store, WordEmbedder(), pages, "docs", "org/twice")
        review = {"corpus": "review", "repo": "org/app", "text": "Why?"}
        rows = [
            {"doc_id": "r1", "path": "src/app.py", **review},
            {"doc_id": "r2", "path": "src/named.py", **review},
            {"doc_id": "r3", "path": "src/other.py", "title": "PR #77 Other ", **review}
            | {"metadata": {"pr_number": 77}, "url": "https://h.test/o/r/pull/77#r1"},
            {"doc_id": "merge_requests/88", "title": "MR !88 Lease", **review, "text": "So."},
            {"doc_id": "merge_requests/88/d1", "title": "MR !88", **review, "text": "So."},
            {"doc_id": "s1", "corpus": "wiki", "text": f"{'o' * 215} it is here {'e' * 40}"},
            {"doc_id": "c1", "path": "src/named.py", "corpus": "code", "text": "NAMED = 1\n"},
            {"doc_id": "talk:12", "corpus": "wiki", "path": "talk:12", "text": "A page called so."},
        ]
        file = root / "documents.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        ingest_documents(store, WordEmbedder(), file)
        with build_driver(service.driver.config, store=store, embedder=WordEmbedder()) as driver:
            yield Service(driver, store)
    drop_collection(server_dsn, name)


def test_a_label_that_several_passages_have_gives_their_section_and_no_more(two: Service) -> None:
    asked = {"corpora": ["docs"], "repos": ["org/app"], "top_k": 3}
    hits = tools.search(two, "rules of app", **asked).results
    label = {hit.title.partition(", line")[0] + "]" for hit in hits}
    assert len(hits) == 3
    assert len(label) == 1
    section = tools.fetch(two, *label).text
    assert [n for n in range(9) if f"Rule {n} of app" in section] == [*range(9)]
    assert "end89" not in section
    assert tools.fetch(two, "org/app/guide.md").text == guide("app").rstrip("\n")  # of long lines


def test_a_commit_says_in_which_release_it_came_first(two: Service) -> None:
    def released(repo: str, words: str) -> list[str | None]:
        hits = tools.search(two, words, corpora=["history"], repos=[repo]).results
        texts = [tools.fetch(two, hit.title, brief=True) for hit in hits if words in hit.title]
        return [one.metadata.get("release") for one in texts]

    assert released("org/app", "Start") == ["v1.0"]
    assert released("org/app", "After") == ["none yet"]
    assert released("org/web", "Start") == [None]
    assert "release" not in tools.fetch(two, "org/app/guide.md").metadata


def test_of_several_sections_with_one_label_the_first_is_given(two: Service) -> None:
    found = tools.fetch(two, "[docs: org/twice/twice.md > Example]")
    assert [word for word in ("first", "middle", "second") if word in found.text] == ["first"]
    assert found.notes[0].endswith("; lines 15-17 have this label too")
    for name in ("twice.md#Other part", "https://h.test/blob/main/twice.md#other-part"):
        text = tools.fetch(two, name).text
        assert [word for word in ("first", "middle", "next", "second") if word in text] == ["next"]


def test_the_last_line_of_a_long_document_is_found(two: Service) -> None:
    last = tools.fetch(two, "long.md:3999")
    assert "word3998" in last.text
    with pytest.raises(UnknownName, match="they end with line 4000"):
        tools.fetch(two, "long.md:4001")


def spans(text: Text, line: str) -> bool:
    return line in text.text.splitlines()


@pytest.mark.parametrize(
    "name",
    ["src/app.py:350", "/home/ann/app/src/app.py:350:5", "file:///home/ann/app/src/app.py#L350C2"],
)
def test_a_path_with_a_line_gives_the_passage_with_that_line(two: Service, name: str) -> None:
    found = tools.fetch(two, name)
    assert spans(found, "app_350 = 350")
    assert not spans(found, "app_1 = 1")
    assert found.metadata["repo"] == "org/app"
    assert found.id.startswith("code:")
    assert tools.fetch(two, found.id).text == found.text
    assert found.notes == [f"{name!r} was read as org/app/src/app.py, line 350"]


@pytest.mark.parametrize(
    "name",
    ["src/app.py:120-122", "/x/app/src/app.py#L120-L122", "[code: org/app/src/app.py:120-122]"],
)
def test_a_path_with_lines_gives_these_and_a_path_alone_its_document(
    two: Service, name: str
) -> None:
    assert tools.fetch(two, name).text == "app_120 = 120\napp_121 = 121\napp_122 = 122"
    assert tools.fetch(two, "src/app.py:9", lines="1-2").text == "app_1 = 1\napp_2 = 2"
    assert spans(tools.fetch(two, "src/app.py"), "app_1 = 1")
    assert spans(tools.fetch(two, "src/app.py"), "app_399 = 399")


def test_a_path_is_its_file_also_where_the_files_id_is_another(two: Service) -> None:
    assert tools.fetch(two, "src/named.py").text.strip() == "NAMED = 1"


def test_a_review_of_a_file_is_not_named_as_the_file(two: Service) -> None:
    files = [one.file for one in grep(two, "Why?").files]
    assert files == ["org/app/r1", "org/app/r2", "org/app/r3"]
    for file in files:
        found = tools.fetch(two, file)
        assert found.text == "Why?"
        assert not found.title.startswith("src/")
        assert f"was read as {file}" in found.notes[0]


def test_the_number_of_a_pull_request_and_its_label_are_fetched(two: Service) -> None:
    (hit,) = tools.search(two, "Why?", path="src/other.py", corpora=["review"]).results
    assert hit.title == "[review: org/app PR #77 Other, src/other.py]"
    address = "https://h.test/o/r/pull/77"
    for name in (hit.title, "#77", "PR #77", "pull/77", address, f"{address}/files"):
        assert tools.fetch(two, name).id == hit.id
        assert hit.id in {one.id for one in tools.explain(two, "START", passages=[name]).passages}
    with pytest.raises(UnknownName):
        tools.fetch(two, address.replace("h.test", "other.test"))


@pytest.mark.parametrize("name", ["!88", "MR !88", "merge request 88", "merge_requests/88"])
def test_the_name_of_a_merge_request_is_not_that_of_its_discussions(
    two: Service, name: str
) -> None:
    assert tools.fetch(two, name).notes[0].endswith("was read as org/app/merge_requests/88")


def test_a_review_is_of_any_repository_that_was_read(two: Service) -> None:
    diff = "--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1 @@\n-one\n+two\n"
    for repo in ("org/app", "org/twice"):  # of the second there is no git
        assert review_context(two, diff, repo=repo).text
    with pytest.raises(UnknownName, match=r"no repository 'org/twic' was read.*org/twice"):
        review_context(two, diff, repo="org/twic")


def test_of_a_long_line_the_place_is_shown(two: Service) -> None:
    (file,) = grep(two, "it is here").files
    assert "o it is here e" in file.lines[0]
    assert len(file.lines[0]) < 210


def test_a_path_of_several_files_is_an_error_that_names_them(two: Service) -> None:
    with pytest.raises(
        CrosscorpusError, match="is in 2 documents, name one or give its id"
    ) as said:
        tools.fetch(two, "src/main.py:1")
    assert "org/app/src/main.py (code:" in str(said.value)
    assert "org/web/src/main.py (code:" in str(said.value)
    for name in ("org/web/src/main.py:1", "/home/ann/web/src/main.py:1:1"):
        assert spans(tools.fetch(two, name), "START = 'web'")
    with pytest.raises(CrosscorpusError, match="is in 2 documents"):
        tools.fetch(two, "/home/ann/elsewhere/src/main.py:1")


def test_an_unknown_path_or_line_is_an_error_that_says_what_there_is(two: Service) -> None:
    with pytest.raises(UnknownName, match=r"no passage 'scr/none.py:3'"):
        tools.fetch(two, "scr/none.py:3")
    with pytest.raises(UnknownName, match=r"here; there is 'src/app\.py'"):
        tools.fetch(two, "SRC/app.py:350")
    with pytest.raises(UnknownName, match=r"src/app\.py has line 900: they end with line 399"):
        tools.fetch(two, "src/app.py:900")
    with pytest.raises(UnknownName, match="has line 0"):
        tools.fetch(two, "src/app.py:0")


def test_a_document_whose_name_ends_like_a_line_is_itself(two: Service) -> None:
    assert tools.fetch(two, "talk:12").text.strip() == "A page called so."
