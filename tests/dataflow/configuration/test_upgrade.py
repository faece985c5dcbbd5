"""A configuration file with old names: what is rewritten, what stays, and what is refused."""

import os
from pathlib import Path

import pytest

from dataflow.configuration.config_model import load_config
from dataflow.configuration.hamilton_config import hamilton_config
from dataflow.configuration.loader import ConfigError
from dataflow.configuration.renamed import EXPERIMENTS
from dataflow.configuration.upgrade import upgrade

VERSION_0_1 = sorted((Path(__file__).parent / "version_0_1").glob("*.yaml"))
"""The configurations that version 0.1 shipped."""

OLD = """\
# recency and candidates in a comment stay
extends: "candidates_10"   # the name of an experiment
variants: {recency: 'step', fused: score}
corpus_defaults: &every
  variants:
    merged:   minmax       # three spaces
  parameters: {"candidates": 9}
corpora:
  candidates:              # a corpus may have that name
    label: "{path} {only_up_to}[[ {gone_since}]]"
"""


def upgraded(tmp_path, text):
    """The text of a file after its upgrade, and what was renamed in it as ``line old new``."""
    path = tmp_path / "team.yaml"
    path.write_bytes(text.encode())
    found = upgrade(path)
    found.write()
    assert upgrade(path).renamings == ()
    lines = [f"{one.line} {one.old} {one.new}" for one in found.renamings]
    return path.read_bytes().decode(), lines


@pytest.mark.parametrize("path", VERSION_0_1, ids=lambda path: path.stem)
def test_what_version_0_1_shipped_becomes_what_is_shipped_now(tmp_path, path):
    (tmp_path / path.name).write_bytes(path.read_bytes())
    upgrade(tmp_path / path.name).write()
    now = load_config(EXPERIMENTS.get(path.stem, path.stem))
    if path.stem == "default":  # labels of findings began as code's; those of reviews had no title
        before = {"memory": {"label": "[code: {path}]", "link": "{uri}"}}
        before |= {"review": {"label": "PR #{pr_number}"}}
        before |= {"history": {"parameters": {"full_length_words": 0}}}  # all commits were alike
        now = now.with_changes({"corpora": before})
    assert hamilton_config(load_config(tmp_path / path.name)) == hamilton_config(now)


def test_only_the_names_change_and_each_is_said_with_its_line(tmp_path):
    text, renamings = upgraded(tmp_path, OLD)
    new = OLD
    for before, after in (
        ('"candidates_10"', '"search_depth_10"'),
        ("{recency: 'step', fused: score}", "{aged_hits: 'step', fused: comb_sum}"),
        ("minmax", "convex"),
        ('"candidates"', '"search_depth"'),
        ("only_up_to", "last_version"),
        ("gone_since", "superseded_at"),
    ):
        new = new.replace(before, after)
    assert text == new
    assert renamings == [
        "2 candidates_10 search_depth_10",
        "3 recency aged_hits",
        "3 score comb_sum",
        "6 minmax convex",
        "7 candidates search_depth",
        "10 only_up_to last_version",
        "10 gone_since superseded_at",
    ]


@pytest.mark.parametrize("begin", ["# line ends\r\n", "\ufeff# a byte order mark, é\n"])
def test_every_other_character_of_the_file_stays(tmp_path, begin):
    old = f"{begin}extends: default\r\nparameters: {{own_scale: 1.0}}"
    text, _ = upgraded(tmp_path, old)
    assert text == old.replace("own_scale", "corpus_normalization")


def test_a_label_over_several_lines_is_rewritten_where_it_stands(tmp_path):
    label = '"{path}\\\n      {only_up_to}"'
    text, renamings = upgraded(
        tmp_path, f"extends: default\ncorpora:\n  wiki:\n    label: {label}\n    link: >\n      x\n"
    )
    assert "\n      {last_version}" in text
    assert renamings == ["5 only_up_to last_version"]


def test_what_an_alias_repeats_is_rewritten_once(tmp_path):
    text, renamings = upgraded(
        tmp_path,
        "extends: default\ncorpora:\n"
        "  wiki: {parameters: &narrow {candidates: 9}}\n  docs: {parameters: *narrow}\n",
    )
    assert text.endswith(
        "  wiki: {parameters: &narrow {search_depth: 9}}\n  docs: {parameters: *narrow}\n"
    )
    assert len(renamings) == 1


def test_a_file_beside_it_that_has_the_name_of_an_experiment_is_still_extended(tmp_path):
    (tmp_path / "own_scale").write_text("extends: default\n")
    text, renamings = upgraded(tmp_path, "extends: own_scale\n")
    assert (text, renamings) == ("extends: own_scale\n", [])


def test_names_of_another_kind_are_left_alone(tmp_path):
    text = "extends: default\ncorpora: {candidates: {weights: {issue: 2}, label: '{recency}'}}\n"
    assert upgraded(tmp_path, text) == (text, [])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "team.yaml: no configuration: it has neither 'corpora' nor 'extends'"),
        ("services: {}\n", "team.yaml: no configuration: it has the key 'services'"),
        ("- a\n", "team.yaml: expected keys and values, got list"),
        ("a: [\n", "team.yaml line 2: expected the node content, but found '<stream end>'"),
        ("\xff", "team.yaml: not YAML"),
        (
            "extends: default\nparameters: {full_text_words: 1, full_weight_terms: 2}\n",
            "team.yaml line 2: 'full_text_words' is called 'full_weight_terms' now, and both are "
            "there: take one out",
        ),
        (
            'extends: default\nvariants: {"re\\u0063ency": step}\n',
            "team.yaml line 2: an old name in 'recency' can't be rewritten in its place: change it "
            "by hand",
        ),
    ],
)
def test_what_cannot_be_upgraded_is_refused_in_a_line(tmp_path, text, said):
    (tmp_path / "team.yaml").write_text(text, encoding="latin-1")
    with pytest.raises(ConfigError) as error:
        upgrade(tmp_path / "team.yaml")
    assert str(error.value) == said


def test_a_missing_file_is_refused_in_a_line(tmp_path):
    with pytest.raises(ConfigError, match=r"none\.yaml: No such file or directory"):
        upgrade(tmp_path / "none.yaml")


def test_a_link_stays_a_link_and_the_file_keeps_its_mode(tmp_path):
    real, link = tmp_path / "real.yaml", tmp_path / "link.yaml"
    real.write_text("extends: own_scale\n")
    real.chmod(0o640)
    link.symlink_to(real)
    upgrade(link).write()
    assert link.is_symlink()
    assert real.read_text() == "extends: corpus_normalization\n"
    assert real.stat().st_mode & 0o777 == 0o640
    assert sorted(os.listdir(tmp_path)) == ["link.yaml", "real.yaml"]
