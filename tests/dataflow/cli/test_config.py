"""`crosscorpus config` as a user runs it."""

import json


def test_upgrade_rewrites_files_once_and_says_what(crosscorpus, tmp_path):
    old, new = tmp_path / "old.yaml", tmp_path / "new.yaml"
    old.write_text("extends: default\nparameters: {own_scale: 1.0}  # one scale\n")
    new.write_text("extends: default\n")
    seen = crosscorpus("config", "upgrade", "--check", str(old), str(new))
    said = [f"{old} line 2: own_scale -> corpus_normalization", f"{new}: nothing to rename"]
    assert (seen.returncode, seen.stdout.splitlines()) == (1, said)
    assert "own_scale" in old.read_text()

    done = crosscorpus("config", "upgrade", str(old), str(new))
    assert (done.returncode, done.stdout.splitlines()) == (0, said)
    assert old.read_text() == (
        "extends: default\nparameters: {corpus_normalization: 1.0}  # one scale\n"
    )
    assert crosscorpus("config", "upgrade", "--check", str(old)).returncode == 0


def test_json_has_every_renaming_and_a_refused_file_leaves_all_as_they_are(crosscorpus, tmp_path):
    old, foreign = tmp_path / "old.yaml", tmp_path / "compose.yaml"
    old.write_text("extends: own_scale\n")
    foreign.write_text("services: {}\n")
    refused = crosscorpus("config", "upgrade", str(old), str(foreign))
    assert refused.returncode == 1
    assert refused.stderr == (
        "crosscorpus: compose.yaml: no configuration: it has the key 'services'\n"
    )
    found = json.loads(crosscorpus("config", "upgrade", str(old), "--json").stdout)
    assert found == [
        {
            "file": str(old),
            "written": True,
            "renamed": [{"line": 1, "old": "own_scale", "new": "corpus_normalization"}],
        }
    ]
