"""The command line as pages: a page for each command, or group of commands, from Typer."""

import re
from collections.abc import Iterator
from typing import Any

import typer

from dataflow.cli.app import app
from tools.docs_site.markdown import code, inline, table

_COMMAND = re.compile(r"^([^`]*?[:?] )(crosscorpus [^\n;]*)$")
"""A paragraph that says what a command is for, and the command."""


def commands() -> Iterator[tuple[str, Any]]:
    """Every command and group by the words that one types, such as ``ingest git``."""
    yield from _below("crosscorpus", typer.main.get_command(app))


def _below(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    yield name.partition(" ")[2], command
    for word, one in getattr(command, "commands", {}).items():
        if not one.hidden:
            yield from _below(f"{name} {word}", one)


def cli_pages() -> dict[str, str]:
    """The pages ``reference/cli/COMMAND.md`` and one with all of them."""
    by_name = dict(commands())
    whole = by_name.pop("")
    rows, pages = [], {}
    for name, command in by_name.items():
        head = name.partition(" ")[0]
        path = f"reference/cli/{head}.md"
        if path not in pages:
            pages[path] = f"# crosscorpus {name}\n\n"
        else:
            pages[path] += f"## crosscorpus {name} {{ #{name.replace(' ', '-')} }}\n\n"
        pages[path] += _of_command(name, command)
        anchor = f"#{name.replace(' ', '-')}" if " " in name else ""
        summary = inline((command.help or "").strip().partition("\n\n")[0].replace("\n", " "))
        rows.append([f"[{code(name)}]({head}.md{anchor})", summary])
    listed = table(["command", "what it does"], rows)
    text = f"# The command line\n\n{_help(whole.help or '')}\n\n{listed}"
    pages["reference/cli/index.md"] = text
    return pages


def _of_command(name: str, command: Any) -> str:
    context = typer.Context(command, info_name=f"crosscorpus {name}")
    usage = " ".join([f"crosscorpus {name}", *command.collect_usage_pieces(context)])
    text = f"```text\n{usage}\n```\n\n{_help(command.help or '')}\n\n"
    arguments, options = [], []
    for one in command.params:
        if getattr(one, "hidden", False) or "--help" in one.opts:
            continue
        if one.param_type_name == "argument":
            arguments.append([code(one.make_metavar(context)), inline(one.help or "")])
        else:
            options.append(_option(one, context))
    text += table(["argument", "what it is"], arguments) + "\n" if arguments else ""
    head = ["option", "takes", "default", "what it does"]
    return text + (table(head, options) + "\n" if options else "")


def _option(one: Any, context: Any) -> list[str]:
    names = ", ".join(map(code, [*one.opts, *one.secondary_opts]))
    takes = "" if one.is_flag else code(one.make_metavar(context)) + _range(one.type)
    default = one.get_default(context, call=False)
    shown = getattr(one, "show_default", None)
    if isinstance(shown, str):
        default = shown
    if callable(default) or default in (None, (), [], False, ""):
        default = "required" if one.required else ""
    elif not (one.is_flag and default is True):
        default = code(getattr(default, "value", default))
    else:
        default = "on"
    variable = f" Environment: {code(one.envvar)}." if one.envvar else ""
    text = one.help or ""
    many = one.multiple and "again" not in text and "repeatable" not in text
    text += " May be given again." if many else ""
    return [names, takes, default, inline(text) + variable]


def _range(kind: Any) -> str:
    """The bounds of a number that an option takes."""
    low, high = getattr(kind, "min", None), getattr(kind, "max", None)
    if low is None and high is None:
        return ""
    return f", {low} to {high}" if None not in (low, high) else f", {_end(low, high)}"


def _end(low: Any, high: Any) -> str:
    return f"at least {low}" if high is None else f"at most {high}"


def _help(text: str) -> str:
    """The help of a command; the commands in it as code, and what it indents too."""
    parts: list[str] = []
    block: list[str] = []
    for paragraph in [*text.strip().replace("\b\n", "").split("\n\n"), ""]:
        if paragraph.startswith("    "):
            block.append(paragraph.removeprefix("    "))
            continue
        if block:
            parts.append(_block(block))
            block = []
        if match := _COMMAND.match(paragraph):
            label = match[1].strip()
            parts += [*([] if label == "Example:" else [inline(label)]), _block([match[2]])]
        else:
            parts.append(inline(paragraph))
    return "\n\n".join(parts).strip()


def _block(lines: list[str]) -> str:
    """Commands, or what else a help shows indented."""
    if all(line.startswith("crosscorpus ") for line in lines):
        return "\n".join(["```console", *(f"$ {line}" for line in lines), "```"])
    return "\n".join(["```yaml", *lines, "```"])
