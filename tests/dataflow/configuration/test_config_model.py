"""Configurations: what they say together, and one readable line for every mistake."""

import pytest

from dataflow.configuration.config_model import load_config
from dataflow.configuration.loader import ConfigError
from operators.errors import CrosscorpusError

WRONG = [
    ({"corpra": {}}, "unknown key 'corpra', did you mean 'corpora'?"),
    ({"dsn": "postgresql://u:secret@h/d"}, "'dsn': no secret goes into a configuration"),
    ({"workers": "eight"}, "workers: expected a valid integer, got 'eight'"),
    ({"variants": {"fusd": "rrf"}}, "no stage 'fusd' with variants, under variants, did you"),
    ({"variants": {}}, "variants.fused is missing: choose one of comb_sum, rrf"),
    ({"parameters": {"top_n": 3}}, "unknown parameter 'top_n' under parameters, did you mean"),
    ({"parameters": {"top_k": "3"}}, "parameters.top_k: expected int, got '3'"),
    ({"parameters": {"search_depth": 3}}, "belongs under corpus_defaults.parameters"),
    ({"corpora": {"class": {}}}, "'class' is no corpus name"),
    (
        {"corpora": {"code": {"weights": {"question": float("nan")}}}},
        "expected a finite number, got nan",
    ),
    ({"corpora": {"code": {"filters": {"repo": ["a"]}}}}, "'repo' under corpora.code.filters, did"),
    ({"corpora": {"code": {"deadline_s": -1.0}}}, "corpora.code.deadline_s: "),
]


@pytest.mark.parametrize(("change", "message"), WRONG, ids=[m[:30] for _, m in WRONG])
def test_a_mistake_is_one_line_that_says_where_and_what(small, change, message):
    with pytest.raises(CrosscorpusError) as error:
        small(**change)
    assert message in str(error.value)
    assert "\n" not in str(error.value)
    assert "secret@" not in str(error.value)


def test_a_bare_off_is_the_variant_off_and_not_false(small):
    with pytest.raises(CrosscorpusError, match=r"unknown variant 'off' of variants\.fused"):
        small(variants={"fused": False})


def test_an_experiment_says_only_what_it_changes(tmp_path):
    code = {"weights": {"pr_review": 1.4}, "parameters": {"search_depth": 9}}
    _write(tmp_path / "base.yaml", {"extends": "default", "corpora": {"code": code}})
    (tmp_path / "more").mkdir()
    _write(
        tmp_path / "more" / "e.yaml",
        {"extends": "../base.yaml", "corpora": {"code": {"parameters": {"search_depth": 8}}}},
    )
    config = load_config(tmp_path / "more" / "e.yaml")
    assert config.corpora["code"].parameters["search_depth"] == 8
    assert config.corpora["code"].weights["pr_review"] == 1.4
    assert config.corpora["wiki"] == load_config("default").corpora["wiki"]


def test_null_removes_what_the_extended_file_said(tmp_path):
    _write(tmp_path / "base.yaml", {"extends": "default", "workers": 4})
    _write(tmp_path / "e.yaml", {"extends": "base.yaml", "corpora": {"wiki": None}})
    left = set(load_config("default").corpora) - {"wiki"}
    assert set(load_config(tmp_path / "e.yaml").corpora) == left


@pytest.mark.parametrize(
    ("corpus", "hint"),
    [
        ("wki", ", did you mean 'wiki'?"),
        ("zeta", f"; known: {', '.join(sorted(load_config('default').corpora))}"),
    ],
)
def test_a_null_that_removes_nothing_says_what_it_means(tmp_path, corpus, hint):
    said = (
        f"corpora.{corpus} is null: a new corpus needs an entry, at least {{}}, and null takes out "
        f"one that there is{hint}"
    )
    _write(tmp_path / "e.yaml", {"extends": "default", "corpora": {corpus: None}})
    with pytest.raises(ConfigError) as error:
        load_config(tmp_path / "e.yaml")
    assert str(error.value) == f"e.yaml: {said}"
    default = load_config("default")
    with pytest.raises(ConfigError) as error:
        default.with_changes({"corpora": {corpus: None}})
    assert str(error.value) == f"changes: {said}"
    assert corpus in default.with_changes({"corpora": {corpus: {}}}).corpora


def test_a_value_set_to_null_is_none_and_not_its_default(small):
    assert small(deadline_s=None).deadline_of("code") is None


def test_changes_are_checked_like_a_file():
    changed = load_config("default").with_changes({"parameters": {"top_k": 3}})
    assert changed.parameters["top_k"] == 3
    with pytest.raises(CrosscorpusError, match="unknown parameter"):
        changed.with_changes({"parameters": {"top": 3}})


def _write(path, content):
    import yaml

    path.write_text(yaml.safe_dump(content))
