"""Finds configuration files and reads the files that they extend."""

import os
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from operators.errors import CrosscorpusError, UnknownName, suggest

MAX_DIGITS = 100


class ConfigError(CrosscorpusError):
    """An invalid configuration; the message says where, and what was expected."""


@dataclass(frozen=True)
class Source:
    """The content of one file, without the files that it extends."""

    name: str
    content: dict[str, Any]


def shipped() -> dict[str, Path]:
    """Every shipped configuration by name: in the wheel, or beside a checkout's packages."""
    package = Path(__file__).parents[1]
    inside = package / "configs"
    folder = inside if inside.is_dir() else package.parent / "configs"
    files = [*folder.glob("*.yaml"), *folder.glob("experiments/*.yaml")]
    return {path.stem: path for path in sorted(files)}


def shipped_maps() -> dict[str, Path]:
    """Every shipped map of records (``ingest records --map``) by name."""
    folder = shipped()["default"].parent / "sources"
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}


def read_chain(source: str | Path | Mapping[str, Any]) -> list[Source]:
    """Read ``source`` and all files that it extends, the most general first.

    Raises:
        ConfigError: a file is missing, is no YAML mapping, or extends itself.
    """
    chain: list[Source] = []
    seen: list[Path] = []
    folder = Path()
    while True:
        if isinstance(source, Mapping):
            content, name = dict(source), "configuration"
        else:
            path = find(source, folder)
            if path in seen:
                names = " -> ".join(p.name for p in [*seen, path])
                raise ConfigError(f"configurations extend each other in a circle: {names}")
            seen.append(path)
            content, name, folder = read_yaml(path), path.name, path.parent
        for key in ("modules", "corpus_modules"):  # a path is relative to the file that names it
            if isinstance(content.get(key), list):
                content[key] = [_beside(one, folder) for one in content[key]]
        extends = content.pop("extends", None)
        chain.insert(0, Source(name, content))
        if extends is None:
            return chain
        if not isinstance(extends, str):
            raise ConfigError(f"{name}: extends: expected a name or a path, got {extends!r}")
        source = extends


def _beside(module: Any, folder: Path) -> Any:
    is_file = isinstance(module, str) and module.endswith(".py")
    return str((folder / Path(module).expanduser()).resolve()) if is_file else module


def find(source: str | Path, folder: Path = Path()) -> Path:
    """The file that ``source`` names: a shipped configuration, or a path relative to ``folder``."""
    if not isinstance(source, str | Path):
        raise ConfigError(
            "a configuration is a shipped name, the path of a YAML file or a mapping, got "
            f"{type(source).__name__}"
        )
    named = shipped()
    if isinstance(source, str) and source in named:
        return named[source].resolve()
    path = folder / Path(source).expanduser()
    if path.is_file():
        return path.resolve()
    beside = [str(Path(source).with_name(each.name)) for each in path.parent.glob("*.y*ml")]
    listed = "" if path.suffix in (".yaml", ".yml") else None
    raise UnknownName(
        f"no configuration {str(source)!r}: give a path to a YAML file or a shipped name"
        f"{suggest(str(source), beside, suggest(path.stem, named, listed))}"
    )


def from_anywhere(source: str) -> str:
    """The name or absolute path of the file that ``source`` names in this working folder.

    Raises:
        UnknownName: there is no such configuration.
    """
    if source in shipped():  # also if the working folder has a file of that name
        return source
    find(source)
    return str(Path(source).expanduser().absolute())


def seen_from(source: str, file: Path) -> str:
    """The name or path by which ``file`` can extend the configuration ``source``.

    Raises:
        ConfigError: there is no such configuration, or it is ``file`` itself.
    """
    path, file = find(source), file.resolve()
    if path == file:
        raise ConfigError(f"{file.name}: can't extend itself: write to another file")
    named = shipped()
    if source in named:
        return source
    try:
        relative = Path(os.path.relpath(path, file.parent)).as_posix()
    except ValueError:  # on another drive
        return str(path)
    return f"./{relative}" if relative in named else relative


def read_yaml(path: Path) -> dict[str, Any]:
    """The mapping in ``path``; a duplicate key is an error (as in YAML; PyYAML allows it)."""
    name = path.name
    try:
        content = yaml.load(path.read_bytes().decode(), Loader=_Checked)
    except OSError as error:
        raise ConfigError(f"{name}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{name}: not YAML") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f" line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or "not YAML"
        raise ConfigError(f"{name}{line}: {problem}") from None
    except RecursionError:
        raise ConfigError(f"{name}: nested too deeply") from None
    except Exception as error:  # values that PyYAML's constructors fail on, such as the 99th of May
        raise ConfigError(f"{name}: a value that can't be read: {error}") from None
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise ConfigError(f"{name}: expected keys and values, got {type(content).__name__}")
    return content


class _Checked(yaml.SafeLoader):
    """Refuses a duplicate key, and aliases: 300 bytes of them can mean gigabytes."""

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent):
            raise _problem("an alias: write the value out", event)
        return super().compose_node(parent, index)

    def construct_yaml_int(self, node: yaml.ScalarNode) -> int:
        if len(node.value) > MAX_DIGITS:
            raise _problem(f"a number of more than {MAX_DIGITS} digits", node)
        return super().construct_yaml_int(node)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for index, key in enumerate(keys):
            if key in keys[:index]:
                raise _problem(f"the key {key!r} is given twice", node.value[index][0])
        return super().construct_mapping(node, deep)


def _problem(problem: str, at: Any) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=at.start_mark)


_Checked.add_constructor("tag:yaml.org,2002:int", _Checked.construct_yaml_int)
