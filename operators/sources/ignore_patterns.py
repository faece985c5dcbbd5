"""gitignore's patterns as one automaton: every pattern is matched in one pass over a path.

Patterns come with the folder, so they are untrusted. A backtracking matcher, such as regular
expressions and git's own, takes years for a few dozen bytes of stars. Here each part of a pattern
between two slashes is one bit, and each part of a path shifts all bits at once.
"""

import re
from collections.abc import Callable
from functools import lru_cache, reduce
from operator import or_

_MOST_STARS = 100  # in a line; real patterns have fewer
_TOKEN = re.compile(
    r"\\(?P<plain>.)|(?P<stars>\*+)|(?P<one>\?)"
    r"|\[(?P<no>[!^]?)(?P<set>\]?(?:\[:\w*:\]|\\.|[^\]\\])*)\]|(?P<char>[^\\\[])",
    re.DOTALL,
)
_IN_SET = re.compile(r"\[:(?P<name>\w*):\]|\\?(?P<low>.)(?:-\\?(?P<high>.))?", re.DOTALL)
_NAMED = {
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "blank": r" \t", "cntrl": r"\0-\x1f\x7f",
    "digit": "0-9", "graph": "!-~", "lower": "a-z", "print": " -~",
    "punct": r"!-/:-@\[-`{-~", "space": r" \t-\r", "upper": "A-Z", "xdigit": "0-9A-Fa-f",
}  # fmt: skip


def ignore_patterns(lines: bytes) -> Callable[[bytes], bool]:
    r"""Whether the lines of a ``.gitignore`` ignore the file at a path.

    As in git: bytes are matched, not letters; the last matching pattern decides; a file below an
    ignored folder stays ignored, even if a later pattern includes it.

    >>> ignored = ignore_patterns(b"sub/\n!sub/c.md\n*.py\n!keep.py")
    >>> [ignored(path) for path in (b"sub/c.md", b"a/b.py", b"a/keep.py", b"sub")]
    [True, True, False, False]

    Raises:
        ValueError: a line is no gitignore pattern, or has more than a hundred stars.
    """
    bits = dict[re.Pattern[str], int]()
    start = many = ends = folders = again = 0
    bit = 1  # of the next part; a later pattern has higher ones
    for number, line in enumerate(lines.decode("latin-1").split("\n"), start=1):
        pattern = _without_spaces(line.removesuffix("\r"))
        if not pattern or pattern.startswith("#"):
            continue
        start |= bit
        plain = pattern.removeprefix("!")
        try:
            for part in _parts(plain.removesuffix("/")):
                if part == "**":
                    many |= bit
                else:
                    name = glob(part)
                    bits[name] = bits.get(name, 0) | bit
                bit <<= 1
        except ValueError as error:
            raise ValueError(f"line {number}, {line[:80]!r}: {error}") from None
        ends |= bit
        folders |= bit if plain.endswith("/") else 0
        again |= 0 if plain is pattern else bit
        bit <<= 1

    @lru_cache(1000)
    def fitting(name: str) -> int:
        return reduce(or_, (where for fits, where in bits.items() if fits.fullmatch(name)), 0)

    def ignored(path: bytes) -> bool:
        now = start
        *above, last = path.decode("latin-1").split("/")
        for name, at_ends in (*((name, ends) for name in above), (last, ends & ~folders)):
            now |= (now & many) << 1  # ** also matches no folder
            now = (now & fitting(name)) << 1 | now & many
            if (matched := now & at_ends) and not again >> matched.bit_length() - 1 & 1:
                return True
        return False

    return ignored


def _without_spaces(line: str) -> str:
    bare = line.rstrip(" ")
    escapes = len(bare) - len(bare.rstrip("\\"))
    return bare + line[len(bare) :][: escapes % 2]


def _parts(pattern: str) -> list[str]:
    """The parts between the slashes; ``**`` matches any number of folders."""
    if pattern.count("*") > _MOST_STARS:
        raise ValueError("too many '*'")
    if "/" not in pattern:
        return ["**", re.sub(r"^\*+$", "*", pattern)]
    parts = [re.sub(r"^\*\*+$", "**", part) for part in pattern.removeprefix("/").split("/")]
    parts = [
        part
        for part, before in zip(parts, ["", *parts], strict=False)
        if part != "**" or before != part
    ]
    return [*parts, "*"] if parts[-1] == "**" else parts


@lru_cache(1000)
def glob(pattern: str) -> re.Pattern[str]:
    r"""Git's pattern without the special meaning of slashes; it never backtracks over a star.

    >>> [bool(glob(r"*[!a-c]\*.py").fullmatch(path)) for path in ("b/d*.py", "b/a*.py", "bd.py")]
    [True, False, False]

    Raises:
        ValueError: a bracket or a backslash lacks its end, or a character class is unknown.
    """
    parts, at = [""], 0
    while at < len(pattern):
        token = _TOKEN.match(pattern, at)
        if token is None:
            raise ValueError("a bracket or a backslash without its end")
        at = token.end()
        if token["stars"]:
            parts.append("")
        elif token["set"]:
            parts[-1] += f"[{'^' if token['no'] else ''}{_IN_SET.sub(_in_set, token['set'])}]"
        else:
            parts[-1] += "." if token["one"] else re.escape(token["plain"] or token["char"])
    first, *middle = parts
    last = f".*{middle.pop()}" if middle else ""
    whole = first + "".join(f"(?>.*?{text})" for text in middle) + last
    try:
        return re.compile(whole, re.DOTALL)
    except re.error as error:
        raise ValueError(str(error)) from None


def _in_set(token: re.Match[str]) -> str:
    if token["name"] is not None:
        if token["name"] not in _NAMED:
            raise ValueError(f"no class of characters is named {token['name']!r}")
        return _NAMED[token["name"]]
    return re.escape(token["low"]) + (f"-{re.escape(token['high'])}" if token["high"] else "")
