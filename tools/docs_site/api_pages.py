"""The Python API as a page: every public name of ``crosscorpus``, its signature and docstring."""

import inspect
import typing
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import cached_property
from types import ModuleType
from typing import Any

import crosscorpus
from crosscorpus import stages
from dataflow.execution.annotations import spell
from tools.docs_site.markdown import code, docstring, first_sentence, table, without_modules

_WIDTH = 92
_STARS = {"VAR_POSITIONAL": "*", "VAR_KEYWORD": "**"}


def api_pages() -> dict[str, str]:
    """The pages ``reference/python.md`` and ``reference/stages.md``."""
    public = {name: getattr(crosscorpus, name) for name in crosscorpus.__all__}
    errors = {n: o for n, o in public.items() if isinstance(o, type) and issubclass(o, Exception)}
    classes = {n: o for n, o in public.items() if isinstance(o, type) and n not in errors}
    rest = {n: o for n, o in public.items() if callable(o) and not isinstance(o, type)}
    modules = {n: o for n, o in public.items() if isinstance(o, ModuleType)}
    parts = [f"# Python\n\n{docstring(crosscorpus)}\n\n"]
    rows = [
        [f"[{code(n)}](#{n})", first_sentence(o)] for n, o in {**rest, **classes, **modules}.items()
    ]
    parts.append(table(["name", "what it is"], rows) + "\n")
    parts.append(
        "`crosscorpus.__version__` is the version. The retrievers of frameworks are "
        "`crosscorpus.langchain` and `.llamaindex`: "
        "[frameworks](../frameworks.md). The stages alone: [`crosscorpus.stages`](stages.md).\n\n"
    )
    parts.append("## Functions\n\n")
    parts += [_function(name, function, 3) for name, function in rest.items()]
    parts.append("## Classes\n\n")
    parts += [_class(name, of) for name, of in classes.items()]
    parts += [_module(name, module) for name, module in modules.items()]
    parts.append("## Errors\n\nEach is a `CrosscorpusError`, and its text is one line.\n\n")
    parts.append(
        table(
            ["error", "is a", "what it says"],
            [
                [code(name), code(of.__mro__[1].__name__), first_sentence(of)]
                for name, of in errors.items()
            ],
        )
    )
    return {"reference/python.md": "".join(parts), "reference/stages.md": _stages_page()}


def _stages_page() -> str:
    rows = [
        [code(f"stages.{module.__name__.rpartition('.')[2]}"), first_sentence(module)]
        for module in stages.MODULES
    ]
    return "".join(
        [
            f"# The stages alone\n\n{docstring(stages)}\n\n",
            "`stages.MODULES` are the modules that such a graph is built from; "
            "[nodes](nodes/retrieval.md) has their nodes, "
            "[your own pipeline](../own_pipeline.md) an example.\n\n",
            table(["module", "what it holds"], rows) + "\n",
            _function("settings", stages.settings, 2, "stages."),
        ]
    )


def signature(name: str, function: Callable[..., Any]) -> str:
    """A call with its types and defaults, in lines that fit a page.

    >>> def add(a: int, *, b: "int | None" = None) -> int: ...
    >>> signature("add", add)
    'add(a: int, *, b: int | None = None) -> int'
    """
    shown = inspect.signature(function)
    hints = _hints(function)
    parts, starred = [], False
    for one in shown.parameters.values():
        if one.name in ("self", "cls"):
            continue
        if one.kind is one.KEYWORD_ONLY and not starred:
            parts.append("*")
            starred = True
        prefix = _STARS.get(one.kind.name, "")
        starred = starred or one.kind is one.VAR_POSITIONAL
        kind = _spelled(hints.get(one.name, one.annotation))
        text = f"{prefix}{one.name}" + (f": {kind}" if kind else "")
        if one.default is not one.empty:
            text += f" = {_default(one.default)}" if kind else f"={_default(one.default)}"
        parts.append(text)
    result = _spelled(hints.get("return", shown.return_annotation))
    end = f" -> {result}" if result else ""
    line = f"{name}({', '.join(parts)}){end}"
    if len(line) <= _WIDTH:
        return line
    return "\n".join([f"{name}(", *(f"    {part}," for part in parts), f"){end}"])


def _default(value: Any) -> str:
    """A default as an author writes it: a function by its name."""
    if inspect.isroutine(value) or isinstance(value, type):
        return str(value.__name__)
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _hints(function: Any) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function)
    except NameError:  # a name that is imported for types alone
        return {}


def _spelled(annotation: Any) -> str:
    if annotation is inspect.Parameter.empty:
        return ""
    return annotation if isinstance(annotation, str) else without_modules(spell(annotation))


def _function(name: str, function: Any, depth: int, before: str = "crosscorpus.") -> str:
    return (
        f"{'#' * depth} `{before}{name}` {{ #{name} }}\n\n"
        f"```python\n{signature(name, function)}\n```\n\n{docstring(function)}\n\n"
    )


def _class(name: str, of: type) -> str:
    parts = [f"### `crosscorpus.{name}` {{ #{name} }}\n\n{docstring(of)}\n\n"]
    if is_dataclass(of):
        hints = _hints(of)
        rows = [
            [code(one.name), code(_spelled(hints.get(one.name, one.type)))] for one in fields(of)
        ]
        parts.append(table(["attribute", "type"], rows) + "\n")
    elif hasattr(of, "model_fields"):
        parts.append("[Configuration](configuration.md) has its keys.\n\n")
    rows, methods = [], []
    for member in _members(of):
        value = inspect.getattr_static(of, member)
        if isinstance(value, property | cached_property):
            getter: Any = value.fget if isinstance(value, property) else value.func
            written = inspect.signature(getter).return_annotation
            kind = _spelled(_hints(getter).get("return", written))
            rows.append([code(member), code(kind), first_sentence(value)])
        elif callable(getattr(of, member)):
            methods.append((member, getattr(of, member)))
    parts.append(table(["property", "type", "what it is"], rows) + "\n")
    for member, method in methods:
        parts.append(
            f"#### `{name}.{member}` {{ #{name}.{member} }}\n\n"
            f"```python\n{signature(member, method)}\n```\n\n{docstring(method)}\n\n"
        )
    return "".join(parts)


def _members(of: type) -> list[str]:
    """The public methods and properties that are ours, in the order of their classes."""
    names: dict[str, None] = {}
    for base in of.__mro__:
        if base.__module__.partition(".")[0] in ("crosscorpus", "dataflow", "operators"):
            for name, value in vars(base).items():
                public = not name.startswith("_") and name != "model_config"
                if public and (callable(value) or isinstance(value, _ACCESSORS)):
                    names[name] = None
    return list(names)


_ACCESSORS = (property, cached_property, classmethod, staticmethod)


def _module(name: str, module: ModuleType) -> str:
    parts = [f"## `crosscorpus.{name}` {{ #{name} }}\n\n{docstring(module)}\n\n"]
    parts += [
        _function(member, getattr(module, member), 3, f"crosscorpus.{name}.")
        for member in public_functions(module)
    ]
    return "".join(parts)


def public_functions(module: ModuleType) -> list[str]:
    """The functions that a module offers: those that it names in ``__all__``, else its own."""
    named = getattr(module, "__all__", None)
    if named is not None:
        return [name for name in named if callable(getattr(module, name))]
    return [
        name
        for name, value in vars(module).items()
        if inspect.isfunction(value)
        and not name.startswith("_")
        and value.__module__ == module.__name__
    ]
