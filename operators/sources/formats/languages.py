"""The kind of text in a file, by its name: code of a language, prose, or neither.

A file with an unknown name is left out with a reason, because data files outnumber sources in many
repositories and hide relevant hits. :mod:`operators.sources.formats.linguist` has the
endings of the less frequent languages.
"""

import re
from posixpath import splitext

from operators.sources.formats import linguist


def _by_word(own: str = "", **kinds: str) -> dict[str, str]:
    """Each word of the values, with its kind; each word of ``own`` is the name of its kind."""
    named = {word: word for word in own.split()}
    return named | {word: kind for kind, words in kinds.items() for word in words.split()}


_CODE = _by_word(linguist.OWN, **linguist.CODE) | _by_word(
    """awk cmake d dart dockerfile fish go java lua nim nix r sql svelte swift tcl thrift toml vim
        vue zig""",
    python="py pyi pyx pxd",
    javascript="js mjs cjs jsx",
    typescript="ts tsx mts cts",
    rust="rs",
    kotlin="kt kts",
    scala="scala sc",
    groovy="groovy gradle",
    c="c h",
    cpp="cc cpp cxx c++ hh hpp hxx h++ inl ipp tpp",
    csharp="cs csx",
    fsharp="fs fsi fsx",
    objc="m mm",
    ruby="rb rake gemspec",
    php="php phtml",
    perl="pl pm t",
    julia="jl",
    haskell="hs lhs",
    ocaml="ml mli",
    erlang="erl hrl",
    elixir="ex exs",
    clojure="clj cljs cljc edn",
    elisp="el",
    lisp="lisp lsp cl",
    scheme="scm ss rkt",
    fortran="f f90 f95 f03 for",
    pascal="pas pp",
    ada="adb ads",
    asm="s asm nasm",
    cuda="cu cuh",
    glsl="glsl vert frag comp",
    verilog="v sv svh",
    vhdl="vhd vhdl",
    solidity="sol",
    bash="sh bash zsh ksh bats",
    powershell="ps1 psm1 psd1",
    batch="bat cmd",
    html="html htm xhtml jinja jinja2 j2 tmpl",
    css="css scss sass less",
    xml="xml xsd xsl xslt csproj vcxproj props targets plist",
    json="json json5 jsonc",
    yaml="yaml yml",
    ini="ini cfg conf properties editorconfig service control",
    protobuf="proto",
    graphql="graphql gql",
    hcl="tf tfvars hcl",
    bazel="bzl bazel star",
    make="mk mak",
    m4="m4 ac am",
    autoconf="in",
    latex="tex sty",
    diff="patch diff",
)
_CODE_NAMES = _by_word(
    make="makefile gnumakefile justfile",
    cmake="cmakelists.txt",
    dockerfile="dockerfile containerfile",
    groovy="jenkinsfile",
    ruby="vagrantfile gemfile rakefile podfile",
    yaml="procfile .clang-format .clang-tidy",
    bazel="build workspace",
    go="go.mod go.work",
    meson="meson.build meson_options.txt",
    ini="""constraints.txt codeowners .gitignore .gitattributes .dockerignore .editorconfig
        .env.example""",
    bash=".bashrc .bash_profile .profile .zshrc",
)
_REQUIREMENTS = re.compile(r"requirements[\w.-]*\.txt")
_PROSE = _by_word(**linguist.PROSE) | _by_word(
    "docx epub odt pptx rtf xlsx",
    markdown="md markdown mdx mkd",
    rst="rst rest",
    text="txt text",
    asciidoc="adoc asciidoc",
    ipynb="ipynb",
)
MARKDOWN = tuple(f".{ending}" for ending, kind in _PROSE.items() if kind == "markdown")
"""The endings of Markdown, with their dots."""

CONVERTED = ("docx", "epub", "odt", "pptx", "rtf", "tex", "xlsx")
"""The formats that become Markdown by a converter; ``tex`` in a folder of documents only."""

PACKED = (*CONVERTED, "ipynb")
"""The formats of prose that are no text."""

_PROSE_NAMES = _by_word(
    text="""readme changes changelog news history contributing install installing authors
        maintainers todo license licence copying notice security roadmap faq"""
)
_LOCKS = _by_word(
    lock="""package-lock.json npm-shrinkwrap.json pnpm-lock.yaml go.sum go.work.sum
        packages.lock.json package.resolved cartfile.resolved .terraform.lock.hcl conda-lock.yml
        gradle.lockfile"""
)
_GENERATED = re.compile(r"\.(lock|min\.(js|css|mjs)|(js|css|mjs)\.map|bundle\.js)$")

_INTERPRETERS = _by_word(
    "fish lua make perl php python ruby",
    bash="sh bash dash zsh ksh",
    javascript="node",
    typescript="deno",
    r="rscript",
    awk="awk gawk",
    tcl="tclsh",
    powershell="pwsh",
)
_SHEBANG = re.compile(rb"#![ \t]*(?:\S*/)?env[ \t]+(?:-\S+[ \t]+)*([\w.]+)|#![ \t]*\S*/([\w.]+)")


def code_language(path: str) -> str | None:
    """The language of the source, script or configuration file at ``path``, or None.

    >>> code_language("src/app.py"), code_language("Makefile"), code_language("photo.png")
    ('python', 'make', None)
    """
    name, extension = _name(path)
    if name in _CODE_NAMES:
        return _CODE_NAMES[name]
    if _REQUIREMENTS.fullmatch(name):
        return "ini"
    if name.startswith(("dockerfile.", "makefile.")):
        return name.partition(".")[0].replace("makefile", "make")
    return _CODE.get(extension)


def prose_format(path: str) -> str | None:
    """markdown, rst, asciidoc, docx, ipynb, org, text, ... for a file people read, or None.

    >>> prose_format("README"), prose_format("a/guide.rst"), prose_format("requirements-dev.txt")
    ('text', 'rst', None)
    """
    name, extension = _name(path)
    if code_language(path) is not None:
        return None
    return _PROSE_NAMES.get(name) or _PROSE.get(extension)


def known_kinds() -> frozenset[str]:
    """The names of all languages and formats that a text may have."""
    kinds = {*_CODE.values(), *_CODE_NAMES.values(), *_PROSE.values()}
    return frozenset(kinds.difference(PACKED))


def is_prose(kind: str) -> bool:
    """Whether ``kind`` is a format of a text that people read."""
    return kind in _PROSE.values()


def script_language(first_bytes: bytes) -> str | None:
    """The language that a file's ``#!`` line names, or None.

    >>> script_language(b"#!/usr/bin/env python3\\n")
    'python'
    """
    match = _SHEBANG.match(first_bytes)
    if match is None:
        return None
    program = (match[1] or match[2]).decode().lower()
    return _INTERPRETERS.get(program) or _INTERPRETERS.get(program.rstrip("0123456789."))


def is_generated(path: str) -> bool:
    """Whether ``path`` names a dependency lock or minified output.

    >>> is_generated("web/package-lock.json"), is_generated("package.json")
    (True, False)
    """
    name, _ = _name(path)
    return name in _LOCKS or _GENERATED.search(name) is not None


def _name(path: str) -> tuple[str, str]:
    name = path.rpartition("/")[2].lower()
    return name, splitext(name)[1].removeprefix(".")
