"""A git working tree made as a person would make it, at fixed times."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from operators.sources.git.git_source import git_source
from operators.sources.protocol import Document, Item, ReadIssue

EPOCH = 1_600_000_000


def git(path: Path, *arguments: str, when: int = EPOCH) -> str:
    """Run git as Ann, who has no configuration, and Cy, who commits a minute later."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")} | {
        "GIT_AUTHOR_NAME": "Ann",
        "GIT_AUTHOR_EMAIL": "ann@example.org",
        "GIT_COMMITTER_NAME": "Cy",
        "GIT_COMMITTER_EMAIL": "cy@example.org",
        "GIT_AUTHOR_DATE": f"{when} +0200",
        "GIT_COMMITTER_DATE": f"{when + 60} +0000",
        "GIT_CONFIG_GLOBAL": os.devnull,
    }
    done = subprocess.run(
        ["git", *arguments], cwd=path, env=env, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def write(path: Path, name: str | bytes, content: str | bytes) -> None:
    """Write a file below ``path``; its folders are made."""
    file = Path(os.fsdecode(os.path.join(os.fsencode(path), os.fsencode(name))))
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content if isinstance(content, bytes) else content.encode())


class WorkingTree:
    """The working tree at ``path``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir()
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str, when: int = EPOCH) -> str:
        """Run git in it."""
        return git(self.path, *arguments, when=when)

    def write(self, name: str | bytes, content: str | bytes) -> None:
        """Write a file in it."""
        write(self.path, name, content)

    def commit(self, message: str, when: int = EPOCH, **files: str | bytes) -> str:
        """Write the files and commit all; returns the hash."""
        for name, content in files.items():
            self.write(name, content)
        self.git("add", "-A")
        options = ("-q", "--allow-empty", "--allow-empty-message")
        self.git("commit", *options, "-m", message, when=when)
        return self.git("rev-parse", "HEAD")

    def scan(self, exclude: Sequence[str] = ()) -> list[Item]:
        """All that the source gives."""
        return list(git_source(self.path, exclude=exclude).scan())

    def documents(self, corpus: str) -> dict[str, Document]:
        """The documents of a corpus by their names."""
        found = (item for item in self.scan() if isinstance(item, Document))
        return {item.document_id: item for item in found if item.corpus == corpus}

    def issues(self) -> dict[str, str]:
        """Why something was not read, by where it is."""
        return {item.where: item.reason for item in self.scan() if isinstance(item, ReadIssue)}
