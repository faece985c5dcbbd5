from __future__ import annotations

import pytest

from operators.sources.formats.languages import (
    code_language,
    is_generated,
    prose_format,
    script_language,
)


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("src/a.py", "python"),
        ("a/b/App.TSX", "typescript"),
        ("lib.hpp", "cpp"),
        ("Makefile", "make"),
        ("docker/Dockerfile.dev", "dockerfile"),
        ("CMakeLists.txt", "cmake"),
        ("requirements-dev.txt", "ini"),
        ("deploy/values.yaml", "yaml"),
        ("run.sh", "bash"),
        ("schema.sql", "sql"),
        ("vector.control", "ini"),
        (".editorconfig", "ini"),
        ("deploy/.env.example", "ini"),
        ("src/.clang-format", "yaml"),
        (".gitattributes", "ini"),
        ("app.service", "ini"),
    ],
)
def test_sources_scripts_and_configuration_are_code(path: str, language: str) -> None:
    assert code_language(path) == language
    assert prose_format(path) is None


@pytest.mark.parametrize(
    ("path", "format_"),
    [("README", "text"), ("a/b.md", "markdown"), ("c.rst", "rst"), ("notes.txt", "text")],
)
def test_prose_is_not_code(path: str, format_: str) -> None:
    assert prose_format(path) == format_
    assert code_language(path) is None


@pytest.mark.parametrize("path", ["photo.png", "data.bin", "noextension", "a.tar.gz", ".env"])
def test_other_files_are_neither(path: str) -> None:
    assert (code_language(path), prose_format(path)) == (None, None)


def test_lock_files_and_minified_output_are_generated() -> None:
    assert is_generated("web/package-lock.json")
    assert is_generated("Cargo.lock")
    assert is_generated("static/app.min.js")
    assert not is_generated("package.json")
    assert not is_generated("lock.py")


@pytest.mark.parametrize(
    ("line", "language"),
    [
        (b"#!/bin/sh\n", "bash"),
        (b"#!/usr/bin/env -S python3.11 -u\n", "python"),
        (b"#! /usr/bin/perl -w\n", "perl"),
        (b"#!/opt/unknown/thing\n", None),
        (b"import os\n", None),
        (b"#!\xff\xfe\n", None),
    ],
)
def test_a_script_names_its_language_in_its_first_line(line: bytes, language: str | None) -> None:
    assert script_language(line) == language
