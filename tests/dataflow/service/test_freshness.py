"""Of which sources an answer tells, and what it says of a working tree."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dataflow.service.freshness import MOST, read_again, sources_of
from dataflow.service.tools import Service
from operators.postgres.write.ingestion_runs import begin_run
from operators.sources.git.repository import changed_since


def test_a_team_of_many_repositories_gets_a_short_list(service: Service) -> None:
    for n in range(MOST + 5):
        begin_run(service.store, f"git/9 org/many-{n:02d}", ["issue"])
    homes = service.driver.homes
    assert len(sources_of(homes, [("issue", None)])) == MOST
    (one,) = sources_of(homes, [("issue", "org/many-07"), ("code", "org/none")])
    assert (one.source, one.state) == ("git/9 org/many-07", "unfinished")
    service.store.execute("DELETE FROM runs WHERE source LIKE %s", ("git/9 %",))


def test_a_repository_with_a_space_in_its_name_has_its_sources(service: Service) -> None:
    for source in ("folder/9 My docs", "folder/9 other"):
        begin_run(service.store, source, ["issue"])
    found = sources_of(service.driver.homes, [("issue", "My docs")])
    assert [one.source for one in found] == ["folder/9 My docs"]
    service.store.execute("DELETE FROM runs WHERE source LIKE %s", ("folder/9 %",))


def test_a_command_that_fails_is_told_and_the_answer_says_what_was_not_read(
    service: Service, app: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    homes, file = service.driver.homes, app / "src" / "a.py"
    (known,) = sources_of(homes, [("code", "org/app")])
    before = file.read_text()
    file.write_text("changed")
    for command in (["/nowhere", "ingest"], [str(app), "ingest", "nonsense"]):
        of = (command, known.source)
        service.store.execute("UPDATE runs SET command = %s WHERE source = %s", of)
        read_again(homes)
        assert f"{known.source} was not read again" in capsys.readouterr().err
        assert sources_of(homes, [("code", "org/app")])[0].since == "changed files: 1"
    service.store.execute("UPDATE runs SET command = NULL")
    file.write_text(before)


def test_a_change_that_the_run_has_read_is_not_told(tmp_path: Path) -> None:
    def git(*command: str) -> str:
        identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
        done = ["git", *identity, *command]
        return subprocess.run(done, cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    git("init", "-q")
    for name in ("a b.txt", "gone.txt"):
        (tmp_path / name).write_text("before")
    git("add", ".")
    git("commit", "-qm", "First")
    head = git("rev-parse", "HEAD").strip()
    (tmp_path / "a b.txt").write_text("after")
    (tmp_path / "gone.txt").unlink()
    now = datetime.now(UTC)
    told = [changed_since(str(tmp_path), head, now + timedelta(seconds=n)) for n in (-3_600, 3_600)]
    assert told == ["changed files: 2", None]
    assert changed_since(str(tmp_path / "nowhere"), head, now) is None


@pytest.mark.parametrize("arguments", [["drop", "--yes"], ["collections", "list"], [], ["-c", "x"]])
def test_a_record_of_another_command_than_an_ingestion_is_not_run(
    service: Service, app: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    homes, file = service.driver.homes, app / "src" / "a.py"
    before = file.read_text()
    file.write_text("changed")
    service.store.execute("UPDATE runs SET command = %s", ([str(app), *arguments],))
    try:
        read_again(homes)
        assert capsys.readouterr().err == ""
    finally:
        service.store.execute("UPDATE runs SET command = NULL")
        file.write_text(before)
