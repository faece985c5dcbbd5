"""What a node of a syntax tree defines, and whether it belongs to the node below it.

Most languages give a definition's name in a field of its node. The others have a function here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_DEPTH = 256
"""Levels of the syntax tree that are read; deeper code is cut by lines."""

_LEADING = re.compile(
    r"comment|marginalia|haddock|decorator|attribute_(item|list|declaration)$|^pod$"
)
_ELIXIR_LEADING = re.compile(r"^(doc|spec|impl|typedoc|deprecated|since|dialyzer|tag)$")

_KIND_ENDS = re.compile(
    r"^(create|preproc)_|(_(declaration|declarator|def|definition|item|spec|specifier|statement))+$"
)
_RECEIVER = re.compile(r"(\w+)\s*(?:\[[^\]]*\])?\s*\)$")
_NEEDS_BODY = re.compile(r"_specifier$|^(namespace_definition|package_clause)$")
_FUNCTIONS = re.compile(r"function|class$")
_MEMBERS = re.compile(r"^(\w*class_body|protocol_body|template_body|source_file|compilation_unit)$")
_PERL_PACKAGES = frozenset(("package_statement", "class_statement", "role_statement"))
_ELIXIR_MODULE = re.compile(r"^def(module|protocol|impl)$")
_ELIXIR_FUNCTION = re.compile(r"^def(p|macrop?|guardp?|delegate|np?)?$")
_ZIG_TYPES = re.compile(r"^(struct|enum|union|opaque|error_set)_declaration$")

Path = Sequence[str]
"""The types of the nodes around a node, the outermost first."""


def leads(node: Node, language: str) -> bool:
    """Whether a node belongs to the code right below it: a comment, a decorator."""
    if _LEADING.search(node.type):
        return True
    if language != "elixir" or node.type != "unary_operator":
        return False
    operand = node.child_by_field_name("operand")
    target = operand and operand.child_by_field_name("target")
    return target is not None and _ELIXIR_LEADING.match(node_text(target)) is not None


def definition_name(node: Node, language: str, path: Path) -> str | None:
    """The name that a node defines, or None if it defines nothing.

    Args:
        node: of a type that the grammar's ``definitions`` list.
        language: a key of ``GRAMMARS``.
        path: the types of the nodes around it.
    """
    return _NAMES.get(language, _usual)(node, path)


def definition_kind(node: Node) -> str:
    """The grammar's word for what a node defines: ``class``, ``function``, ``trait``, ``defp``."""
    target = node.child_by_field_name("target") if node.type == "call" else None
    return node_text(target) if target is not None else _KIND_ENDS.sub("", node.type)


def is_absolute(node: Node) -> bool:
    """Whether the name that a node defines is fully qualified, whatever is around the node."""
    return node.type in _PERL_PACKAGES


def holds_for_the_rest(node: Node) -> bool:
    """Whether the code after the node is inside its definition: ``package A;`` in Perl."""
    return node.type in _PERL_PACKAGES and all(child.type != "block" for child in node.children)


def _usual(node: Node, _path: Path = ()) -> str | None:
    if _NEEDS_BODY.search(node.type) and node.child_by_field_name("body") is None:
        return None
    if node.type in ("variable_declarator", "field_definition", "public_field_definition"):
        value = node.child_by_field_name("value")
        if value is None or not _FUNCTIONS.search(value.type):
            return None
    if node.type == "function_definition" or node.type == "type_definition":
        named = node.child_by_field_name("name") or _declared(node)
    else:
        fields = map(node.child_by_field_name, ("name", "property", "type"))
        named = next((child for child in fields if child is not None), None)
    if named is None and node.type.startswith("create_"):
        named = next((c for c in node.named_children if c.type == "object_reference"), None)
    if named is None:
        return None
    name = " ".join(node_text(named).split())
    if node.type == "impl_item":
        name = name.partition("<")[0]
    receiver = node.child_by_field_name("receiver")
    owner = _RECEIVER.search(node_text(receiver)) if receiver is not None else None
    if owner:
        name = f"{owner[1]}.{name}"
    return name or None


def _declared(node: Node) -> Node | None:
    """The innermost declarator of a definition in C: ``f`` of ``int *f(void)``."""
    inner = node.child_by_field_name("declarator")
    for _ in range(MAX_DEPTH):
        deeper = inner and inner.child_by_field_name("declarator")
        if deeper is None:
            return inner
        inner = deeper
    return None


def _elixir(node: Node, _path: Path) -> str | None:
    """``defmodule A``, ``def f(x) when g(x)`` and ``defimpl P, for: T`` are calls."""
    target = node.child_by_field_name("target")
    keyword = "" if target is None or target.type != "identifier" else node_text(target)
    module = _ELIXIR_MODULE.match(keyword)
    if not module and not _ELIXIR_FUNCTION.match(keyword):
        return None
    arguments = _child(node, "arguments")
    head = arguments and arguments.named_child(0)
    if arguments is None or head is None:
        return None
    if module:
        pair = _child(_child(arguments, "keywords"), "pair")
        of = pair and pair.child_by_field_name("value")
        typed = keyword == "defimpl" and of is not None and of.type == "alias"
        return f"{node_text(head)}.{node_text(of)}" if typed and of is not None else node_text(head)
    if head.type == "binary_operator" and _field(head, "operator") == "when":
        head = head.child_by_field_name("left")
    if head is not None and head.type in ("binary_operator", "unary_operator"):
        return _field(head, "operator")
    if head is not None and head.type == "call":
        head = head.child_by_field_name("target")
    return node_text(head) if head is not None and head.type == "identifier" else None


def _haskell(node: Node, path: Path) -> str | None:
    """Equations and signatures; values inside of a function are not definitions."""
    if node.type in ("bind", "signature") and not path[-1].endswith("declarations"):
        return None
    name = _field(node, "name")
    if name is None:
        name = _field(_child(node, "infix"), "operator")
    if node.type == "instance" and name and (of := _field(node, "patterns")):
        return f"{name}.{of.strip('()')}"
    return name.strip("()`") if name else None


def _hcl(node: Node, path: Path) -> str | None:
    """``resource "a" "b"`` is ``a.b``, as expressions call it; other blocks begin with a word."""
    if path[-1] != "body" or len(path) != 2:
        return None
    words = []
    for child in node.children:
        if child.type not in ("identifier", "string_lit"):
            break
        words.append(node_text(child).strip('"'))
    return ".".join(words[words[0] == "resource" and len(words) > 1 :]) if words else None


def _kotlin(node: Node, path: Path) -> str | None:
    if node.type == "property_declaration":
        return _field(_child(node, "variable_declaration"), None) if _member(node, path) else None
    if node.type == "secondary_constructor":
        return "constructor"
    name = _usual(node)
    if node.type != "function_declaration" or name is None:
        return name
    before: list[Node] = []
    for child in node.children:
        if node_text(child) == name:
            break
        before.append(child)
    if len(before) < 2 or before[-1].type != ".":
        return name
    receiver = node_text(before[-2]).partition("<")[0].strip("?() ")
    return f"{receiver}.{name}"


def _lua(node: Node, path: Path) -> str | None:
    """``function M.f``, ``M.f = function``, and a table that a file gives a name."""
    if node.type == "function_declaration":
        return (_field(node, "name") or "").replace(":", ".") or None
    if node.type == "field":
        named, value = node, node
    else:
        variables, values = _child(node, "variable_list"), _child(node, "expression_list")
        if variables is None or values is None:
            return None
        named, value = variables, values
    assigned = value.child_by_field_name("value")
    if assigned is None:
        return None
    table = assigned.type == "table_constructor" and node.type != "field" and "chunk" in path[-2:]
    if assigned.type != "function_definition" and not (table and _long(node)):
        return None
    return _field(named, "name")


def _objc(node: Node, _path: Path) -> str | None:
    """``- (void)f:(int)a with:(int)b`` is ``f:with:``."""
    if not node.type.startswith(("class_", "protocol_", "method_")):
        return _usual(node)
    words = [child for child in node.children if child.type in ("identifier", "method_parameter")]
    if not node.type.startswith("method_"):
        return node_text(words[0]) if words else None
    return "".join(node_text(word) if word.type == "identifier" else ":" for word in words) or None


def _scala(node: Node, path: Path) -> str | None:
    if node.type not in ("val_definition", "var_definition"):
        return _usual(node)
    pattern = node.child_by_field_name("pattern")
    named = pattern is not None and pattern.type == "identifier" and _member(node, path)
    return node_text(pattern) if pattern is not None and named else None


def _swift(node: Node, path: Path) -> str | None:
    if node.type == "property_declaration" and not _member(node, path):
        return None
    if node.type in ("deinit_declaration", "subscript_declaration"):
        return node.type.partition("_")[0]
    name = _field(node, "name")
    return name.partition("<")[0] if name and name[0] != "<" else name


def _toml(node: Node, _path: Path) -> str | None:
    key = node.named_child(0)
    return node_text(key).replace('"', "").replace("'", "") if key is not None else None


def _yaml(node: Node, path: Path) -> str | None:
    """The keys of the two outer levels that hold keys or a list."""
    value = node.child_by_field_name("value")
    if path.count(node.type) > 1 or value is None:
        return None
    if not (_child(value, "block_mapping") or _child(value, "block_sequence")):
        return None
    return (_field(node, "key") or "").strip("\"'") or None


def _zig(node: Node, _path: Path) -> str | None:
    if node.type == "variable_declaration":
        if not any(_ZIG_TYPES.match(child.type) for child in node.named_children):
            return None
        return _field(node, None)
    return _field(node, "name")


_NAMES: dict[str, Callable[[Node, Path], str | None]] = {
    "elixir": _elixir,
    "haskell": _haskell,
    "hcl": _hcl,
    "kotlin": _kotlin,
    "lua": _lua,
    "objc": _objc,
    "scala": _scala,
    "swift": _swift,
    "toml": _toml,
    "yaml": _yaml,
    "zig": _zig,
}


def _member(node: Node, path: Path) -> bool:
    """Whether a property is of more than a line, and of a class or a file, not of a function."""
    return _long(node) and _MEMBERS.match(path[-1]) is not None


def _long(node: Node) -> bool:
    return node.end_point[0] > node.start_point[0]


def _child(node: Node | None, kind: str) -> Node | None:
    if node is None:
        return None
    return next((child for child in node.named_children if child.type == kind), None)


def _field(node: Node | None, field: str | None) -> str | None:
    """The text of a field on one line; without a ``field``, of the first identifier."""
    if node is None:
        return None
    child = node.child_by_field_name(field) if field else _child(node, "identifier")
    return " ".join(node_text(child).split()) or None if child is not None else None


def node_text(node: Node) -> str:
    """The text of a node."""
    return (node.text or b"").decode("utf-8", "replace")
