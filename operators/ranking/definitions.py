"""Finds where a name is defined or used: a class, a function, a type.

A chunk that was cut along its syntax lists the names that it defines and uses, in every language
with a grammar. A chunk that was cut by lines is matched against forms of many languages.
"""

import re
from collections.abc import Iterator

from operators.foundation.short_cache import cached_if_short
from operators.frames import DEFINES, USES

_MODIFIERS = (
    "abstract|async|const|data|declare|default|export|extern|final|inline|internal|local|open|"
    "override|partial|private|protected|pub|public|sealed|static|suspend|unsafe|virtual"
)
_KINDS = (
    "actor|alias|class|const|data|def|defmacro|defmodule|defp|defprotocol|enum|extension|fn|fun|func|function|"
    "impl|interface|let|macro_rules!|mod|module|namespace|newtype|object|package|protocol|record|"
    "struct|trait|type|typedef|union|val|var|#define"
)
_OWNER = r"(?:[A-Za-z_]\w*(?:\.|::|:))*"  # the receiver of Go, in parentheses
_KEYWORD = (
    rf"^[ \t]*(?:(?:{_MODIFIERS})(?:\([^)\n]*\))?[ \t]+){{0,4}}(?:{_KINDS})\s+(?:\([^)\n]*\)\s*)?"
)
_ASSIGNED = r"\s*(?:=\s*(?:async\s*)?(?:function|\(|class)|::)"  # what follows a name
# for C: what precedes a function's name on an unindented line, and what follows it
_TYPED = r"^(?:[^\W\d][\w*&:<>,]*[ \t]+[*&]*)*"
_BODY = r"\([^;{}]{0,500}\)\s*\{"


@cached_if_short(1024)
def definition_of(name: str) -> re.Pattern[str]:
    """A pattern for the definition of ``name`` in a text.

    >>> bool(definition_of("flush").search("    async def flush(self):"))
    True
    >>> bool(definition_of("flush").search("cache.flush()"))
    False
    """
    n = re.escape(name)
    return re.compile(
        rf"{_KEYWORD}{_OWNER}{n}(?!\w)"
        rf"|^[ \t]*{_OWNER}{n}{_ASSIGNED}"
        rf"|{_TYPED}{n}{_BODY}",
        re.M,
    )


_NAME = re.compile(r"[^\W\d]\w*")
_MODIFIER = re.compile(rf"(?:{_MODIFIERS})(?:\([^)\n]*\))?[ \t]+")
_KIND = re.compile(rf"(?:{_KINDS})\s+(?:\([^)\n]*\)\s*)?")
_OWNED = re.compile(r"[A-Za-z_]\w*(?:\.|::|:)")
_TYPE = re.compile(r"[^\W\d][\w*&:<>,]*[ \t]+[*&]*")
_IS_ASSIGNED = re.compile(_ASSIGNED)
_HAS_BODY = re.compile(_BODY)


def names_defined(line: str) -> set[str]:
    """The words of a line that it defines: all with ``definition_of(word).search(line)``.

    It takes the time of a few patterns, however many words there are: in each form of
    :func:`definition_of` what stands before the name can be read in only one way.

    >>> names_defined("    async def flush(self, pages): return Lock(self)")
    {'flush'}
    """
    names = set[str]()
    start = at = len(line) - len(line.lstrip(" \t"))
    for _ in range(5):  # up to four modifiers
        if kind := _KIND.match(line, at):
            names.update(name[0] for name in _chain(line, kind.end()))
        if (modifier := _MODIFIER.match(line, at)) is None:
            break
        at = modifier.end()
    names.update(name[0] for name in _chain(line, start) if _IS_ASSIGNED.match(line, name.end()))
    at = 0
    while name := _NAME.match(line, at):
        if _HAS_BODY.match(line, name.end()):
            names.add(name[0])
        if (typed := _TYPE.match(line, at)) is None:
            break
        at = typed.end()
    return names


def _chain(line: str, at: int) -> Iterator[re.Match[str]]:
    """The names from ``at`` on that owners join: of ``redis.Lock`` both."""
    while name := _NAME.match(line, at):
        yield name
        if (owner := _OWNED.match(line, at)) is None:
            return
        at = owner.end()


def defines(name: str, text: str | None, metadata: str | None) -> bool:
    """Whether a chunk of that text and metadata (a JSON object) defines ``name``.

    >>> defines("release", "public void release() {", '{"defines": ["Lock", "Lock.release"]}')
    True
    """
    metadata = metadata or ""
    # the first two tests are quick, and most passages fail one
    if (
        f'"{DEFINES}"' in metadata
        and qualified_parts(name)[-1] in metadata
        and re.search(listed(name), metadata)
    ):
        return True
    return name in (text or "") and definition_of(name).search(text or "") is not None


def uses(name: str, text: str | None, metadata: str | None) -> bool:
    """Whether a chunk of that text and metadata (a JSON object) uses ``name``.

    >>> uses("release", "def release(): pass", '{"defines": ["release"], "uses": ["acquire"]}')
    False
    >>> uses("release", "lock.release()", None)
    True
    """
    metadata = metadata or ""
    if qualified_parts(name)[-1] not in (text or ""):
        return False
    if f'"{USES}": [' in metadata and is_listable(name):
        return re.search(names_used(name), metadata) is not None
    found = used_twice(name) if defines(name, text, metadata) else use_of(name)
    return re.search(found, text or "") is not None


@cached_if_short(4096)
def listed(name: str) -> str:
    """The regular expression, for Python and Postgres, on metadata of chunks that define ``name``.

    >>> bool(re.search(listed("Lock::release"), '{"defines": ["redis.Lock.release"]}'))
    True
    >>> bool(re.search(listed("Lock"), '{"defines": ["Clock", "Lock.release"]}'))
    False
    """
    return (
        rf'"{DEFINES}": \[[^]]*[".:]' + "[.:#]+".join(map(re.escape, qualified_parts(name))) + '"'
    )


def listed_under(name: str) -> str:
    """Like :func:`listed`, on a chunk's repository and path, a line break and its metadata.

    The first parts of a qualified name may be the chunk's file, folder or repository.

    >>> chunk = 'org/redis/src/lock.py\\n{"defines": ["Lock.release"]}'
    >>> bool(re.search(listed_under("redis.Lock.release"), chunk))
    True
    >>> bool(re.search(listed_under("jobs.Lock.release"), chunk))
    False
    """
    parts = [re.escape(part) for part in qualified_parts(name)]
    forms = [listed(name)]
    for index in range(1, len(parts)):
        path = rf"(?:^|/){parts[index - 1]}(?:/[^\n]*|\.[^/\n]*)?\n"
        forms.append(rf'{path}.*"{DEFINES}": \[[^]]*"{"[.:#]+".join(parts[index:])}"')
    return f"(?s)(?:{'|'.join(forms)})"


@cached_if_short(4096)
def use_of(name: str) -> str:
    """The regular expression, for Python and Postgres, on texts that use ``name``'s last part.

    A single lower-case word may mean anything: only a call of it counts, or an attribute or a
    decorator.

    >>> [bool(re.search(use_of("Lock.flush_all"), text)) for text in ("flush_all", "flush_alls")]
    [True, False]
    >>> [bool(re.search(use_of("index"), text)) for text in ("index(a)", "on=a.index", "an index")]
    [True, True, False]
    >>> [bool(re.search(use_of("cached"), text)) for text in ("@cached\\ndef f():", "is cached")]
    [True, False]
    """
    last = qualified_parts(name)[-1]
    word = re.escape(last)
    if re.fullmatch(r"[a-z]+", last):
        return rf"(?<!\w){word}[ \t]*\(|(?<=[.>:@]){word}(?!\w)"
    return rf"(?<!\w){word}(?!\w)"


KNOWN_USES = f'"{USES}": \\['
"""The regular expression on metadata of chunks whose names used are known."""


def is_listable(name: str) -> bool:
    """Whether the names used of a chunk may have ``name``'s last part; operators are not there.

    >>> is_listable("Lock.valid?"), is_listable("this.$emit"), is_listable("<+>")
    (True, False, False)
    """
    return re.fullmatch(r"\w[\w-]*[?!]?", qualified_parts(name)[-1]) is not None


def names_used(name: str) -> str:
    """The regular expression on metadata of chunks that use ``name``'s last part by their syntax.

    >>> bool(re.search(names_used("Lock.flush"), '{"defines": ["flush"], "uses": ["flush"]}'))
    True
    >>> bool(re.search(names_used("Lock.flush"), '{"defines": ["flush"], "uses": ["flush_all"]}'))
    False
    """
    return rf'{KNOWN_USES}[^]]*"{re.escape(qualified_parts(name)[-1])}"'


def used_twice(name: str) -> str:
    """The regular expression on texts with :func:`use_of` ``name`` twice, maybe lines apart.

    A passage that defines the name uses it if it has it a second time.
    """
    return f"(?s)(?:{use_of(name)}).*(?:{use_of(name)})"


def flat_name(name: str) -> str:
    """A name as it is compared with a file's, whatever joins its words.

    >>> flat_name("LockFile") == flat_name("lock_file")
    True
    """
    return name.lower().replace("_", "")


@cached_if_short(4096)
def qualified_parts(name: str) -> tuple[str, ...]:
    """The parts of a qualified name.

    >>> qualified_parts("redis.Lock::release()")
    ('redis', 'Lock', 'release')
    >>> qualified_parts("`flush(pages, 3)`")
    ('flush',)
    """
    bare = re.sub(r"(?<=[\w?!])\(.*", "", name.strip(" \t\n`\"'"), flags=re.S) or name.strip()
    return tuple(part for part in re.split(r"::|->|[.:#\\/]", bare) if part) or (bare,)
