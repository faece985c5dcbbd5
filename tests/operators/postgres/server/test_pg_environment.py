from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from operators.postgres.server.embedded_server import start


def test_no_environment_variable_bends_its_address(
    machine: Any, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {
        "PGHOST": "nowhere.invalid",
        "PGHOSTADDR": "192.0.2.1",
        "PGPORT": "1",
        "PGUSER": "nobody",
        "PGDATABASE": "nothing",
        "PGPASSWORD": "nonsense",
        "PGOPTIONS": "-c nonsense=1",
        "PGSSLMODE": "require",
        "PGSSLROOTCERT": "system",
        "PGREQUIREAUTH": "scram-sha-256",
        "PGREQUIREPEER": "nobody",
        "PGTARGETSESSIONATTRS": "standby",
        "PGCLIENTENCODING": "LATIN1",
        "PGDATA": "/nonexistent",
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    with start(directory) as server:
        assert machine.ask(server.dsn, "SELECT current_user || ' ' || current_database()") == (
            "postgres postgres"
        )
        assert machine.ask(server.dsn, "SHOW client_encoding") == "UTF8"
