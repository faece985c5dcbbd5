"""The command as a user runs it: real git, a real server, a real model."""

from __future__ import annotations

import inspect
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from dataflow.cli import app
from dataflow.configuration.catalog import retrieval_catalog
from dataflow.configuration.json_schema import json_schema
from dataflow.configuration.loader import shipped


def test_a_question_is_answered_from_several_corpora_with_citations(
    crosscorpus: Any, collection: str
) -> None:
    done = crosscorpus("query", "when is the cache flushed?", "-C", collection, "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert {result["corpus"] for result in answer["results"]} == {"code", "history", "docs"}
    assert len(answer["citations"]) == len(answer["results"])
    assert any("review" in note for note in answer["notes"])
    assert answer["provenance"]["model"] == "minilm"


def test_a_person_sees_labels_context_and_where_the_time_went(
    crosscorpus: Any, collection: str
) -> None:
    done = crosscorpus("query", "flush the cache", "-C", collection, "--context")
    assert "[code: src/cache.py:1-3]" in done.stdout
    assert "── context ──" in done.stdout
    assert re.search(r"\n\d+\.\d\d s\n$", done.stdout)
    timed = crosscorpus("query", "flush the cache", "-C", collection, "--timings")
    assert re.search(r"\n\d+\.\d\d s; \S+ \d+\.\d ms  ", timed.stdout)


def test_a_person_may_ask_why_a_passage_is_missing(
    crosscorpus: Any, collection: str, tmp_path: Path
) -> None:
    page = tmp_path / "why.html"
    asked = ["query", "cache", "-C", collection, "--corpus", "code"]
    why = ["--explain", str(page), "--explain-chunk", "cache.md"]
    done = crosscorpus(*asked, *why)
    assert "not visible to this question: the question asks code only" in done.stdout
    text = page.read_text(encoding="utf-8")
    assert "src/cache.py" in text
    assert "[docs: docs/cache.md" in text
    found = crosscorpus(*asked, "--explain-chunk", "src/cache.py:2")
    assert re.search(r"\[code: src/cache.py:1-3\]  in the context: 1st in the", found.stdout)
    outside = crosscorpus(*asked, "--explain-chunk", "src/cache.py:900")
    assert (outside.returncode, "its chunks end with line 3" in outside.stderr) == (2, True)
    unknown = crosscorpus(*asked, "--explain-chunk", "docs/cahe.md")
    assert unknown.returncode == 2
    assert "no chunk or document 'docs/cahe.md' to explain" in unknown.stderr


def test_a_name_of_several_documents_is_said_to_be_one(crosscorpus: Any, tmp_path: Path) -> None:
    file = tmp_path / "documents.jsonl"
    texts = {"a/guide.md": "the cache is flushed", "b/guide.md": "jobs are retried twice"}
    lines = [{"doc_id": p, "path": p, "corpus": "docs", "text": t} for p, t in texts.items()]
    file.write_text("\n".join(map(json.dumps, lines)))
    assert crosscorpus("ingest", "documents", str(file), "-C", "alike").returncode == 0
    asked = ["query", "cache", "-C", "alike", "--explain-chunk"]
    assert "(that name fits 2 documents)" in crosscorpus(*asked, "guide.md").stdout
    assert "that name fits" not in crosscorpus(*asked, "b/guide.md").stdout
    assert crosscorpus("collections", "drop", "alike", "--yes").returncode == 0


def test_filters_of_the_command_reach_the_searches(crosscorpus: Any, collection: str) -> None:
    def corpora_of(*options: str) -> set[str]:
        done = crosscorpus("query", "cache", "-C", collection, "--json", *options)
        return {result["corpus"] for result in json.loads(done.stdout)["results"]}

    assert corpora_of("--repo", "org/other") == set()
    assert corpora_of("--corpus", "docs") == {"docs"}
    assert corpora_of("--path", "src/") == {"code"}
    assert corpora_of("--as-of", "2001-01-01") == set()
    assert corpora_of("--regex", "^no such li[n]e") == set()
    assert corpora_of("--regex", r"^def \w+\(") == {"code"}


def test_a_pattern_needs_no_question(crosscorpus: Any, collection: str) -> None:
    done = crosscorpus("query", "-C", collection, "--json", "--regex", r"^def \w+\(")
    assert {result["corpus"] for result in json.loads(done.stdout)["results"]} == {"code"}


def test_words_alone_are_searched_without_meaning(crosscorpus: Any, collection: str) -> None:
    done = crosscorpus("query", "flush the cache", "-C", collection, "--json", "--words")
    searched = json.loads(done.stdout)["provenance"]["searched"]
    assert searched["code"] == {"text": "ok"}


def test_a_filter_that_is_no_utf_8_matches_nothing(crosscorpus: Any, collection: str) -> None:
    bad = os.fsdecode(b"\xff")
    for option in ("--repo", "--path", "--language", "--state"):
        done = crosscorpus("query", "cache", "-C", collection, "--json", option, bad)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["results"] == []
    done = crosscorpus("query", "cache", "-C", collection, "--explain-chunk", bad)
    assert done.stderr.startswith("crosscorpus: no chunk or document '\N{REPLACEMENT CHARACTER}'")


def test_a_typed_weight_of_a_language_counts_and_a_language_that_nothing_has_is_noted(
    crosscorpus: Any, collection: str
) -> None:
    def scores(*options: str) -> tuple[dict[str, float], str]:
        done = crosscorpus("query", "cache", "-C", collection, "--json", *options)
        found = {r["source_label"]: r["score"] for r in json.loads(done.stdout)["results"]}
        return found, done.stderr

    label = "[code: src/cache.py:1-3]"
    plain, _ = scores()
    weighed, said = scores("--languages", "python=1.2, ruts=2")
    assert weighed == plain | {label: plain[label] * 1.2}
    assert said == "note: no document in language 'ruts' here; there are 'markdown', 'python'\n"
    for wrong, fault in (("python=x", "numbers such as"), ("python", "languages: expected")):
        done = crosscorpus("query", "cache", "-C", collection, "--languages", wrong)
        assert done.returncode != 0
        assert fault in done.stderr


def test_an_empty_answer_names_what_was_searched_and_not_more(
    crosscorpus: Any, collection: str
) -> None:
    asked = ["query", "xyzzy", "-C", collection, "--as-of", "2001-01-01"]
    seen = "No match: nothing that this question may see in {} matches it."
    left_out = " The notes say what was left out."
    code = crosscorpus(*asked, "--corpus", "code")
    assert code.stdout.splitlines()[0] == seen.format("code")
    every = crosscorpus(*asked)
    assert every.stdout.splitlines()[0] == seen.format("code, docs, history") + left_out
    review = crosscorpus(*asked, "--corpus", "review")
    assert review.stdout.splitlines()[0] == "No match: no corpus was searched." + left_out


def test_a_question_without_its_quotes_is_noticed(crosscorpus: Any, collection: str) -> None:
    bare = crosscorpus("query", "when", "is", "it", "flushed", "-C", collection, "--json")
    assert (bare.returncode, bare.stderr) == (
        0,
        "4 texts of one word each: put a question of several words into quotes\n",
    )
    for meant in (["flush", "cache"], ["flush", "cache", "when is it flushed?"]):
        assert crosscorpus("query", *meant, "-C", collection, "--json").stderr == ""


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--repo", "ORG/Apq"], "no document of repo 'ORG/Apq' here; there is 'org/app'"),
        (["--repo", "apps"], "no document of repo 'apps' here; there is 'org/app'"),
        (["--language", "Pyhton"], "no document in language 'Pyhton' here; there is 'python'"),
        (["--state", "open"], "no document in state 'open' here"),
        (
            ["--path", "Docs/"],
            "no document with a path that begins with 'Docs/' here; there is 'docs/'",
        ),
    ],
)
def test_an_empty_answer_names_the_filter_that_nothing_has_and_the_nearest_value(
    crosscorpus: Any, collection: str, options: list[str], said: str
) -> None:
    asked = ["query", "cache", "-C", collection, *options]
    assert crosscorpus(*asked).stdout.splitlines()[0] == f"No match: {said}."
    assert said in json.loads(crosscorpus(*asked, "--json").stdout)["notes"]


def test_an_empty_answer_names_no_repository_that_the_configuration_hides(
    crosscorpus: Any, collection: str, tmp_path: Path
) -> None:
    limited, own = tmp_path / "limited.yaml", "filters: {repos: [org/seen]}"
    corpora = "".join(f"  {name}: {{{own}}}\n" for name in ("code", "docs", "history"))
    limited.write_text(f"extends: default\ncorpora:\n{corpora}", encoding="utf-8")
    asked = ["query", "cache", "-C", collection, "--repo", "org/ap"]
    assert "'org/app'" in crosscorpus(*asked).stdout
    done = crosscorpus(*asked, "--config", str(limited))
    assert done.returncode == 0, done.stderr
    assert "No match" in done.stdout
    assert "org/app" not in done.stdout


def test_a_version_is_asked_for_by_option(crosscorpus: Any, collection: str) -> None:
    ask = ("query", "when is the cache flushed?", "-C", collection, "--json")
    pinned = json.loads(crosscorpus(*ask, "--version", "3.5.3").stdout)
    assert any("version 3.5.3 is not here" in note for note in pinned["notes"])
    every = json.loads(crosscorpus(*ask, "--versions", "all").stdout)
    assert every["provenance"]["versions"][0]["version_policy"] == "all"
    assert "prefer the newest" in every["system_prompt"]
    wrong = crosscorpus(*ask, "--versions", "3.5.3")
    assert wrong.returncode == 2
    assert "--version" in wrong.stderr


def test_a_collection_may_have_capital_letters_and_dots_in_its_name(
    crosscorpus: Any, tmp_path: Path
) -> None:
    file, name = tmp_path / "documents.jsonl", "Team.Docs-2"
    file.write_text('{"doc_id": "a", "corpus": "wiki", "text": "flush the cache"}\n')
    for said in ("1 new", "1 unchanged"):
        done = crosscorpus("ingest", "documents", str(file), "-C", name)
        assert (done.returncode, said in done.stdout) == (0, True), done.stdout + done.stderr
    assert "[wiki: a]" in crosscorpus("query", "cache", "-C", name).stdout
    for command in ("status", "verify", "doctor"):
        done = crosscorpus(command, "-C", name)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("code", "arguments", "said"),
    [
        (2, ("query", "cache", "-C", "clo"), "did you mean 'cli'"),
        (2, ("query", "cache", "-C", "cli", "--trigger", "pr_reviw"), "did you mean 'pr_review'"),
        (2, ("query", "cache", "-C", "cli", "--corpus", "wki"), "did you mean 'wiki'"),
        (1, ("query", " ", "-C", "cli"), "empty"),
        (1, ("query", "-C", "cli"), "empty"),
        (
            1,
            ("query", "-C", "cli", "--regex", "a("),
            "--regex 'a(': invalid regular expression: parent",
        ),
        (2, ("query", "cache", "-C", "cli", "--config", "defualt"), "did you mean 'default'"),
        (1, ("ingest", "git", "/nowhere/at/all", "-C", "cli"), "/nowhere/at/all"),
        (1, ("status", "-C", "no/such"), "letters, digits"),
        (1, ("render", "--out", "/nowhere/at/all.dot"), "/nowhere/at/all.dot: No such file"),
        (1, ("render", "--out", "x.gif"), "x.gif: write a name that ends in .png, .svg"),
    ],
)
def test_a_mistake_is_one_line_that_says_what_to_do(
    crosscorpus: Any, collection: str, code: int, arguments: tuple[str, ...], said: str
) -> None:
    done = crosscorpus(*arguments)
    assert done.returncode == code
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_time_that_is_none_is_told_with_an_example(crosscorpus: Any, collection: str) -> None:
    done = crosscorpus("query", "cache", "-C", collection, "--as-of", "yesterday")
    assert done.returncode == 2
    assert "'yesterday' is no time: write a day, 2026-11-23" in done.stderr
    for moment in ("2026-11-23", "2026-11-23T14:00+02:00"):
        assert crosscorpus("query", "cache", "-C", collection, "--as-of", moment).returncode == 0


def test_no_server_is_one_line_without_the_password(crosscorpus: Any) -> None:
    done = crosscorpus("status", CROSSCORPUS_DSN="postgresql://me:s3cret@127.0.0.1:1/app")
    assert done.returncode == 1
    assert "127.0.0.1" in done.stderr
    assert "s3cret" not in done.stderr + done.stdout


def test_diff_names_the_variants_that_differ_and_render_check_tells_a_stale_picture(
    crosscorpus: Any, tmp_path: Path
) -> None:
    same = crosscorpus("diff", "default", "default", "--exit-code")
    assert same.returncode == 0
    other = crosscorpus("diff", "default", "rrf", "--exit-code")
    assert other.returncode == 1
    assert "rrf" in other.stdout
    both = tmp_path / "both.dot"
    assert crosscorpus("diff", "default", "rrf", "-o", str(both)).returncode == 0
    assert "code.merged" in both.read_text()
    picture = tmp_path / "dag.dot"
    assert crosscorpus("render", "-o", str(picture)).returncode == 0
    assert crosscorpus("render", "-o", str(picture), "--check").returncode == 0
    stale = crosscorpus("render", "-o", str(picture), "--check", "--config", "rrf")
    assert stale.returncode == 1
    assert f"crosscorpus render -o {picture} --config rrf" in stale.stderr.replace("\n", " ")


def test_the_picture_of_another_graph_goes_to_a_file_of_its_own(
    crosscorpus: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pygraphviz", reason="drawing needs the extra render")
    monkeypatch.chdir(tmp_path)
    for options in ([], ["--graph", "ingestion"]):
        assert crosscorpus("render", *options).returncode == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dag.png", "ingestion.png"]
    assert crosscorpus("render", "--check").returncode == 1  # there is no dag.dot


def test_the_command_says_its_version(crosscorpus: Any) -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text("utf-8"))
    done = crosscorpus("--version")
    assert (done.returncode, done.stdout) == (0, f"crosscorpus {project['project']['version']}\n")


def test_what_runs_no_graph_does_not_wait_for_hamilton_to_be_loaded() -> None:
    modules = "sys, dataflow.cli.app, dataflow.cli.console.collection_state"
    shown = f"import {modules}; print('hamilton' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", shown], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_the_command_starts_without_polars() -> None:
    shown = "import sys, dataflow.cli.app; print('polars' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", shown], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_every_command_that_takes_something_teaches_it_by_an_example() -> None:
    taking = [
        command
        for command in _commands(typer.main.get_command(app.app))
        if {parameter.name for parameter in command.params} - {"as_json"}
    ]
    assert len(taking) > 15
    assert [command.name for command in taking if "Example: " not in (command.help or "")] == []


def test_a_name_in_another_case_or_without_its_owner_is_taken_with_a_note(
    crosscorpus: Any, collection: str
) -> None:
    asked = ("query", "why is the cache flushed twice?", "--collection", collection, "--json")
    exact = json.loads(crosscorpus(*asked, "--repo", "org/app", "--language", "python").stdout)
    typed = crosscorpus(*asked, "--repo", "App", "--language", "Python")
    assert json.loads(typed.stdout)["results"] == exact["results"] != []
    assert "note: repo 'App' is taken for 'org/app'\n" in typed.stderr
    assert "note: language 'Python' is taken for 'python'\n" in typed.stderr


def test_a_number_behind_context_is_no_second_question(crosscorpus: Any, collection: str) -> None:
    done = crosscorpus("query", "why?", "--context", "5", "--collection", collection)
    assert done.returncode == 2
    assert "--top-k 5" in done.stderr


def test_help_shows_each_example_as_it_is_typed(crosscorpus: Any) -> None:
    for group in ("", "ingest ", "sync ", "models ", "versions ", "collections ", "config "):
        of = _group(typer.main.get_command(app.app), group.strip())
        for name, command in of.items():
            if hasattr(command, "commands"):
                continue
            shown = crosscorpus(*f"{group}{name} --help".split(), COLUMNS="200").stdout.splitlines()
            lines = {line.strip() for line in shown}
            text = inspect.cleandoc(command.help or "")
            typed = re.findall(r"^(?:Example: )?((?:crosscorpus|gh) .*)$", text, re.MULTILINE)
            assert [one for one in typed if not {one, f"Example: {one}"} & lines] == []
            assert typed or "Example" not in text


def _group(command: Any, name: str) -> dict[str, Any]:
    group = command.commands[name] if name else command
    found: dict[str, Any] = group.commands
    return found


def _commands(command: Any) -> Iterator[Any]:
    if hasattr(command, "commands"):
        for part in command.commands.values():
            yield from _commands(part)
    else:
        yield command


def test_a_shell_can_complete_the_commands() -> None:
    asked = {"_CROSSCORPUS_COMPLETE": "complete_bash", "COMP_WORDS": "crosscorpus coll"}
    done = subprocess.run(
        [Path(sys.executable).with_name("crosscorpus")],
        env=os.environ | asked | {"COMP_CWORD": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["collections"]


def test_the_schema_is_printed_with_the_stages_of_the_configuration(crosscorpus: Any) -> None:
    done = crosscorpus("config", "schema", "--config", str(shipped()["rrf"]))
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == json.loads(json.dumps(json_schema(retrieval_catalog())))
