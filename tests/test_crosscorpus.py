"""The one door: the public names, typed, and the error for a folder that hides ours."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import crosscorpus
from operators.postgres.store import collections, drop_collection


def test_every_public_name_is_there_and_nothing_loads_before_it_is_used() -> None:
    for name in crosscorpus.__all__:
        assert getattr(crosscorpus, name) is not None
    code = "import crosscorpus, sys; print(crosscorpus.__version__, 'hamilton' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"{crosscorpus.__version__} False\n"
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        crosscorpus.nothing  # noqa: B018


def test_a_program_may_import_the_sources_before_anything_else() -> None:
    code = "from crosscorpus import sources; print(callable(sources.git))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("True\n", "")


def test_a_program_ingests_by_a_collection_s_name_and_asks(
    server_dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CROSSCORPUS_DSN", server_dsn)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/cache.md").write_text("# Cache\n\nThe cache is flushed twice.\n")
    source = crosscorpus.sources.folder(tmp_path / "docs")
    events = []
    report = crosscorpus.ingest("one-door", source, on_event=events.append)
    assert (report.ok, report.documents_new, report.unsearched) == (True, 1, [])
    assert events[-1].stage == "done"
    with crosscorpus.build_driver("default", collection="one-door") as driver:
        assert driver.ask("why is the cache flushed?")[0].path == "cache.md"
    (tmp_path / "none").mkdir()
    empty = crosscorpus.sources.folder(tmp_path / "none")
    with pytest.raises(crosscorpus.CrosscorpusError, match="is empty: is it mounted"):
        crosscorpus.ingest("one-door-more", empty)
    assert "one-door-more" not in collections(server_dsn)
    drop_collection(server_dsn, "one-door")


def test_a_folder_that_hides_ours_is_named_with_the_remedy(tmp_path: Path) -> None:
    name = "operators"
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").touch()
    script = tmp_path / "script.py"
    script.write_text("import crosscorpus")
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=False
    )
    assert f"{tmp_path / name} hides the package '{name}' of crosscorpus" in done.stderr
    assert "python -P" in done.stderr
    subprocess.run([sys.executable, "-P", str(script)], check=True)
