"""The changing source of `benchmarks.soak`: a git working tree of a bounded size.

``src/stable_N.py`` stay as they are, and each has a word of its own: it must always be found.
``hr/pay_N.md`` are for the group hr under all rules. ``src/moving_N.py`` and ``docs/page_N.md``
change, go and come back.
"""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

from benchmarks.ingestion import SHARES, WORDS

REPO = "org/soak"
SECRET = "hr/pay_"  # of every path that only the group hr may see
SECRET_WORD = "payrollonly"
LONGEST_HISTORY = 20
IDENTITY = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")


def git(folder: Path, *command: str) -> str:
    """What a git command printed."""
    done = subprocess.run(
        ["git", *IDENTITY, *command], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


class Tree:
    """The working tree, of ``files`` changing files and a fourth as many stable and secret ones."""

    def __init__(self, folder: Path, files: int, seed: int) -> None:
        self.folder, self.draw = folder, random.Random(seed)
        self.moving = [f"src/moving_{n}.py" for n in range(files // 2)]
        self.moving += [f"docs/page_{n}.md" for n in range(files // 2)]
        self.needles = {f"needle{n}x": f"src/stable_{n}.py" for n in range(max(files // 4, 1))}
        for needle, name in self.needles.items():
            self.write(name, f"def {needle}(cache):\n    return cache.{needle}_limit\n")
        for n in range(max(files // 8, 1)):
            self.write(f"{SECRET}{n}.md", f"# Pay {n}\n\n{SECRET_WORD} {self.text(60)}\n")
        for name in self.moving:
            self.change(name)
        git(folder, "init", "-q")
        self.commit()

    def text(self, words: int) -> str:
        """Words of which a few are frequent, ten a line."""
        drawn = self.draw.choices(WORDS, cum_weights=SHARES, k=words)
        return "\n".join(" ".join(drawn[at : at + 10]) for at in range(0, words, 10))

    def question(self) -> str:
        """A few words, some of them frequent."""
        return " ".join(self.draw.choices(WORDS, cum_weights=SHARES, k=self.draw.randint(2, 6)))

    def write(self, name: str, text: str) -> None:
        """Write a file."""
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def change(self, name: str) -> None:
        """Give a changing file another text."""
        words = self.draw.randint(20, 400)
        if name.endswith(".md"):
            text = "".join(f"## {self.question()}\n\n{self.text(words // 2)}\n\n" for _ in "ab")
            self.write(name, f"# {Path(name).stem}\n\n{text}")
        else:
            lines = "".join(f"    # {line}\n" for line in self.text(words).split("\n"))
            self.write(name, f"def {Path(name).stem}(cache):\n{lines}    return cache\n")

    def commit(self) -> None:
        """Commit all; a long history becomes a single commit."""
        git(self.folder, "add", "-A")
        git(self.folder, "commit", "-qm", f"Say {self.question()}", "--allow-empty")
        if int(git(self.folder, "rev-list", "--count", "HEAD")) > LONGEST_HISTORY:
            tree = git(self.folder, "rev-parse", "HEAD^{tree}")
            git(self.folder, "reset", "-q", git(self.folder, "commit-tree", tree, "-m", "All"))

    def step(self) -> None:
        """Change, delete or bring back a few files; sometimes commit."""
        for name in self.draw.sample(self.moving, min(3, len(self.moving))):
            file = self.folder / name
            if file.exists() and self.draw.random() < 0.2:
                file.unlink()
            else:
                self.change(name)
        if self.draw.random() < 0.3:
            self.commit()
