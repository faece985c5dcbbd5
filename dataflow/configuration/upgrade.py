"""Rewrites the old names in a configuration file, and nothing else in it.

The file is edited where PyYAML found the names, not loaded and dumped: comments, the order of keys
and the quotes are an author's work.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from dataflow.configuration.config_model import Config
from dataflow.configuration.loader import ConfigError, parse_yaml, read_text, shipped
from dataflow.configuration.renamed import (
    EXPERIMENTS,
    PARAMETERS,
    STAGES,
    TEMPLATE_FIELDS,
    VARIANTS,
)


@dataclass(frozen=True)
class Renaming:
    """An old name in a file: its line from 1 on, its place in the text and its new name."""

    line: int
    start: int
    old: str
    new: str


@dataclass(frozen=True)
class Upgrade:
    """A file with the renamings that it needs and the text that it then has."""

    path: Path
    renamings: tuple[Renaming, ...]
    text: str

    def write(self) -> None:
        """Replace the file in one step, so that no interruption leaves half of it."""
        path = self.path.resolve()  # what a link leads to, not the link
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(self.text.encode())
            shutil.copymode(path, name)
            os.replace(name, path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


def upgrade(path: Path) -> Upgrade:
    """Read the configuration file ``path`` and find what to rename in it; nothing is written.

    Raises:
        ConfigError: the file is missing or is no configuration, an old and its new name are both
            there, or an old name is written so that it can't be rewritten in its place.
    """
    text = read_text(path)
    content = parse_yaml(text, path.name)
    _check_configuration(content, path.name)
    renamings = sorted(_Finder(text, path).find(), key=lambda one: one.start)
    rewritten = text
    for one in reversed(renamings):
        rewritten = rewritten[: one.start] + one.new + rewritten[one.start + len(one.old) :]
    return Upgrade(path, tuple(renamings), rewritten)


def _check_configuration(content: Mapping[str, object], name: str) -> None:
    foreign = [key for key in content if key not in Config.model_fields and key != "extends"]
    if foreign:
        raise ConfigError(f"{name}: no configuration: it has the key {foreign[0]!r}")
    if not {"corpora", "extends"} & content.keys():
        raise ConfigError(f"{name}: no configuration: it has neither 'corpora' nor 'extends'")


class _Finder:
    """The old names of one file, in the nodes that PyYAML composes from its text."""

    def __init__(self, text: str, path: Path) -> None:
        self._text = text
        self._path = path

    def find(self) -> set[Renaming]:
        """Every old name once, though an alias may lead to it twice."""
        root = yaml.compose(self._text, Loader=yaml.SafeLoader)
        return set(self._of_file(_entries(root)))

    def _of_file(self, file: dict[str, _Entry]) -> Iterator[Renaming]:
        if (extends := file.get("extends")) and not self._is_a_file(extends.value.value):
            yield from self._scalar(extends.value, EXPERIMENTS)
        yield from self._of_stages(file)
        yield from self._of_stages(_inside(file, "corpus_defaults"))
        for corpus in _inside(file, "corpora").values():
            entry = _entries(corpus.value)
            yield from self._of_stages(entry)
            for template in ("label", "link"):
                if template in entry:
                    yield from self._fields(entry[template].value)

    def _is_a_file(self, name: object) -> bool:
        """Whether ``extends: name`` finds a file, although an experiment had that name."""
        if not isinstance(name, str) or name in shipped():
            return True
        return (self._path.parent / name).is_file()

    def _of_stages(self, options: dict[str, _Entry]) -> Iterator[Renaming]:
        variants = _inside(options, "variants")
        yield from self._keys(variants, STAGES)
        for stage, chosen in variants.items():
            yield from self._scalar(chosen.value, VARIANTS.get(stage, {}))
        yield from self._keys(_inside(options, "parameters"), PARAMETERS)

    def _keys(self, entries: dict[str, _Entry], renames: Mapping[str, str]) -> Iterator[Renaming]:
        for name, entry in entries.items():
            if (new := renames.get(name)) in entries:
                line = entry.key.start_mark.line + 1
                raise ConfigError(
                    f"{self._path.name} line {line}: {name!r} is called {new!r} now, and both are "
                    "there: take one out"
                )
            yield from self._scalar(entry.key, renames)

    def _scalar(self, node: yaml.Node, renames: Mapping[str, str]) -> Iterator[Renaming]:
        """The renaming of a name that is the whole of a scalar, whatever its quotes are."""
        if isinstance(node, yaml.ScalarNode) and node.value in renames:
            yield from self._in_place(node, [re.escape(node.value)], renames)

    def _fields(self, node: yaml.Node) -> Iterator[Renaming]:
        """The renamings of the fields of a template."""
        if isinstance(node, yaml.ScalarNode):
            fields = [old for old in TEMPLATE_FIELDS if f"{{{old}}}" in node.value]
            patterns = [rf"(?<=\{{){old}(?=\}})" for old in fields]
            yield from self._in_place(node, patterns, TEMPLATE_FIELDS)

    def _in_place(
        self, node: yaml.ScalarNode, patterns: list[str], renames: Mapping[str, str]
    ) -> Iterator[Renaming]:
        begin, end = node.start_mark.index, node.end_mark.index
        for pattern in patterns:
            found = list(re.finditer(pattern, self._text[begin:end]))
            if len(found) != len(re.findall(pattern, node.value)):  # an anchor, or an escape
                raise ConfigError(
                    f"{self._path.name} line {node.start_mark.line + 1}: an old name in "
                    f"{node.value!r} can't be rewritten in its place: change it by hand"
                )
            for match in found:
                start = begin + match.start()
                line = self._text.count("\n", 0, start) + 1
                yield Renaming(line, start, match[0], renames[match[0]])


@dataclass(frozen=True)
class _Entry:
    key: yaml.ScalarNode
    value: yaml.Node


def _entries(node: yaml.Node | None) -> dict[str, _Entry]:
    """The entries of a mapping by their keys; none where ``node`` is another kind of thing."""
    if not isinstance(node, yaml.MappingNode):
        return {}
    pairs = [(key, value) for key, value in node.value if isinstance(key, yaml.ScalarNode)]
    return {key.value: _Entry(key, value) for key, value in pairs}


def _inside(entries: dict[str, _Entry], key: str) -> dict[str, _Entry]:
    return _entries(entries[key].value) if key in entries else {}
