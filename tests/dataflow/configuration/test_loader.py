"""Where configurations are found, what a file extends, and what a file may not be."""

from pathlib import Path

import pytest
import yaml

from dataflow.configuration.config_model import load_config
from dataflow.configuration.loader import ConfigError, find, from_anywhere, read_chain, seen_from
from operators.errors import UnknownName


def _write(path, content):
    path.write_text(yaml.safe_dump(content))


def test_files_that_extend_each_other_in_a_circle_are_an_error(tmp_path):
    _write(tmp_path / "a.yaml", {"extends": "b.yaml"})
    _write(tmp_path / "b.yaml", {"extends": "a.yaml"})
    with pytest.raises(ConfigError, match=r"circle: a\.yaml -> b\.yaml -> a\.yaml"):
        load_config(tmp_path / "a.yaml")


def test_extending_default_means_the_shipped_file_from_any_folder(tmp_path):
    _write(tmp_path / "e.yaml", {"extends": "default", "workers": 3})
    chain = read_chain(tmp_path / "e.yaml")
    assert [layer.name for layer in chain] == ["default.yaml", "e.yaml"]


@pytest.mark.parametrize(
    ("source", "file", "called"),
    [
        ("default", "out/b.yaml", "default"),
        ("conf/base.yaml", "out/b.yaml", "../conf/base.yaml"),
        ("conf/../conf/base.yaml", "conf/b.yaml", "base.yaml"),
        ("./default", "b.yaml", "./default"),
    ],
)
def test_a_configuration_is_called_so_that_a_file_elsewhere_finds_it(
    tmp_path, monkeypatch, source, file, called
):
    monkeypatch.chdir(tmp_path)
    for folder in ("conf", "out"):
        (tmp_path / folder).mkdir()
    _write(tmp_path / "conf" / "base.yaml", {"extends": "default"})
    _write(tmp_path / "default", {"extends": "default"})
    assert seen_from(source, Path(file)) == called
    assert find(called, (tmp_path / file).parent) == find(source)


def test_what_can_name_no_configuration_is_refused_in_a_line():
    with pytest.raises(ConfigError, match="YAML file or a mapping, got NoneType"):
        load_config(None)


def test_no_file_is_told_to_extend_itself(tmp_path):
    _write(tmp_path / "a.yaml", {"extends": "default"})
    with pytest.raises(ConfigError, match=r"a\.yaml: can't extend itself"):
        seen_from(str(tmp_path / "a.yaml"), tmp_path / "b" / ".." / "a.yaml")


def test_a_missing_file_is_named_with_the_nearest_shipped_name():
    with pytest.raises(UnknownName, match=r"no configuration 'defualt'.*did you mean 'default'"):
        load_config("defualt")


@pytest.mark.parametrize("given", ["defualt.yaml", "some/folder/defualt.yml"])
def test_a_path_to_no_file_is_named_with_the_nearest_shipped_name(given):
    with pytest.raises(UnknownName, match=rf"no configuration '{given}'.*did you mean 'default'"):
        load_config(given)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("workers: 1\nworkers: 2\n", "line 2: the key 'workers' is given twice"),
        ("a: [1\n", "line 2: "),
        ("- a\n", "expected keys and values, got list"),
        ("extends: 3\n", "extends: expected a name or a path, got 3"),
    ],
)
def test_a_file_that_is_no_mapping_says_so(tmp_path, text, message):
    (tmp_path / "c.yaml").write_text(text)
    with pytest.raises(ConfigError) as error:
        load_config(tmp_path / "c.yaml")
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("text", ["[" * 20_000, "extends: default\ncorpora: " + "{a: " * 20_000])
def test_twenty_thousand_brackets_are_one_line(tmp_path, text):
    (tmp_path / "a.yaml").write_text(text)
    with pytest.raises(ConfigError, match=r"a\.yaml: nested too deeply"):
        read_chain(tmp_path / "a.yaml")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: &a [x]\nb: [*a, *a]", " line 2: an alias: write the value out"),
        ("a: &a {<<: *a}", " line 1: an alias: write the value out"),
        (f"workers: {'9' * 6000}", " line 1: a number of more than 100 digits"),
        ("a: 2020-99-99", ": a value that can't be read: month must be in 1..12"),
        ("a: !!set [1]", ": a value that can't be read: "),
    ],
    ids=range(5),
)
def test_hostile_yaml_is_one_line(tmp_path, text, said):
    (tmp_path / "a.yaml").write_text(text)
    with pytest.raises(ConfigError) as error:
        read_chain(tmp_path / "a.yaml")
    assert str(error.value).startswith(f"a.yaml{said}")
    assert "\n" not in str(error.value)


def test_a_file_in_the_working_folder_takes_no_shipped_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "default").write_text("modules: [evil.py]")
    (tmp_path / "team.yaml").write_text("extends: default")
    assert from_anywhere("default") == "default"
    assert from_anywhere("team.yaml") == str(tmp_path / "team.yaml")
    with pytest.raises(UnknownName, match="did you mean 'default'"):
        from_anywhere("defalt")
