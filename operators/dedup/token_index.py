"""The set of a text's tokens, as numbers, and a sketch of the set, for comparing texts.

A token is an element of ``text.lower().split()``, as 55 bits of a hash: two different tokens of a
pair of chunks collide once in 10**12 pairs. The bytes of many texts are split and hashed at once:
3 us a chunk of 120 words, where Python's own sets of strings take 25.

A sketch is what tells most pairs apart: 256 bits, of which each token sets one, and the size of the
set. Ingestion stores it with the chunk, so that a question hashes only texts that may be alike.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from operators.arrays.segments import Integers, changes, offsets

Words = NDArray[np.uint64]

_BITS = 256
_SKETCH = np.dtype([("bits", "<u8", _BITS // 64), ("size", "<u4")])
_BLOCK = 128  # texts hashed at once: their bytes and tokens stay in the processor's cache
_LONG = 256  # bytes from which on a token is hashed by itself
_HASH_BITS, _DROPPED_BITS = np.uint64(55), np.uint64(9)  # 9 bits number a text of a block
_HASH = np.uint64((1 << 55) - 1)
_SPACES = re.compile("[\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]")
_FOLD = bytes(ord(chr(b).lower()) if b < 128 else b for b in range(256)).translate(
    bytes(32 if b < 128 and chr(b).isspace() else b for b in range(256))
)
_FIRST_BYTES = np.array([(1 << (8 * n)) - 1 for n in range(9)], np.uint64)  # 0 to 8 of them
_ODD = [np.uint64(n) for n in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0xD6E8FEB86659FD93)]
_1, _3, _7, _32, _63 = (np.uint64(n) for n in (1, 3, 7, 32, 63))


@dataclass(frozen=True)
class TokenIndex:
    """The token sets of chunks: a sketch of each, and the tokens of those that are asked for."""

    text: list[str]
    sizes: Integers  # the number of distinct tokens of each set
    bits: Words  # a row a set: the bits that its tokens set
    hashed: dict[int, Words] = field(default_factory=dict)  # the tokens of sets, by row

    def tokens(self, rows: Sequence[int]) -> list[Words]:
        """The hashed tokens of each of ``rows``, distinct and ascending; hashed once."""
        missing = [row for row in rows if row not in self.hashed]
        sets = _sets([self.text[row] for row in missing])
        self.hashed.update(zip(missing, sets, strict=True))
        return [self.hashed[row] for row in rows]


def index_tokens(chunks: pl.DataFrame) -> TokenIndex:
    """The token set of every row of ``chunks``: columns text (null is empty) and, if known,
    token_sketch. Texts without a sketch are hashed.
    """
    text = chunks["text"].fill_null("").to_list()
    known = "token_sketch" in chunks.columns
    stored = chunks["token_sketch"].to_list() if known else [None] * len(text)
    sketches = np.zeros(len(text), _SKETCH)
    there = np.array([sketch is not None for sketch in stored], bool)
    sketches[there] = np.frombuffer(b"".join(filter(None, stored)), _SKETCH)
    lacking = np.flatnonzero(~there).tolist()
    tokens = _sets([text[row] for row in lacking])
    sketches[lacking] = _sketches(tokens)
    sizes, hashed = sketches["size"].astype(np.int64), dict(zip(lacking, tokens, strict=True))
    return TokenIndex(text, sizes, sketches["bits"], hashed)


def joined_tokens(one: TokenIndex, two: TokenIndex) -> TokenIndex:
    """The sets of both."""
    return TokenIndex(
        one.text + two.text,
        np.concatenate([one.sizes, two.sizes]),
        np.concatenate([one.bits, two.bits]),
        one.hashed | {len(one.text) + row: tokens for row, tokens in two.hashed.items()},
    )


def token_sketches(texts: Sequence[str | None]) -> list[bytes]:
    """The sketch of each text's token set, in 36 bytes.

    >>> [len(sketch) for sketch in token_sketches(["a b", None])]
    [36, 36]
    """
    return [sketch.tobytes() for sketch in _sketches(_sets(texts))]


def _sketches(sets: list[Words]) -> NDArray[np.void]:
    sketches = np.zeros(len(sets), _SKETCH)
    sketches["size"] = [len(one) for one in sets]
    for first in range(0, len(sets), _BLOCK):
        some = sets[first : first + _BLOCK]
        flags = np.zeros((len(some), _BITS), bool)
        each = np.repeat(np.arange(len(some)), [len(one) for one in some])
        flags[each, np.concatenate(some) & np.uint64(_BITS - 1)] = True
        sketches["bits"][first : first + _BLOCK] = np.packbits(flags, axis=1).view("<u8")
    return sketches


def _sets(texts: Sequence[str | None]) -> list[Words]:
    begins, tokens = hash_sets(texts)
    return np.split(tokens, begins[1:-1]) if len(texts) else []


def hash_sets(texts: Sequence[str | None]) -> tuple[Integers, Words]:
    """The start of each text's set in the tokens of all, with the end of the last, and the tokens.

    The tokens of a set are distinct and ascending.
    """
    sizes, tokens = [np.zeros(0, np.int64)], [np.zeros(0, np.uint64)]
    for first in range(0, len(texts), _BLOCK):
        block = [_encoded(text) for text in texts[first : first + _BLOCK]]
        count, hashes = _hash_block(block)
        sizes.append(count)
        tokens.append(hashes)
    return offsets(np.concatenate(sizes)), np.concatenate(tokens)


def _encoded(text: str | None) -> bytes:
    """``text`` in UTF-8, with ASCII spaces only; text that is not ASCII is in lower case."""
    if not text:
        return b""
    return (text if text.isascii() else _SPACES.sub(" ", text.lower())).encode()


def _hash_block(block: list[bytes]) -> tuple[Integers, Words]:
    """The number of distinct tokens of each text, and the tokens of all texts, concatenated."""
    data = b" ".join([b"", *block, b""]).translate(_FOLD)
    spaces = np.flatnonzero(np.frombuffer(data, np.uint8) == 32)
    start = spaces[:-1] + 1
    length = spaces[1:] - start
    if not length.all():
        some = np.flatnonzero(length)
        start, length = start[some], length[some]
    text_starts = offsets(np.array([len(text) + 1 for text in block])) + 1
    per_text = np.diff(np.searchsorted(start, text_starts))
    text_begins = np.arange(len(block) + 1, dtype=np.uint64) << _HASH_BITS
    key = _hash_tokens(data, start, length)
    key >>= _DROPPED_BITS
    key |= np.repeat(text_begins[:-1], per_text)
    key.sort()
    key = key[changes(key)]
    return np.diff(np.searchsorted(key, text_begins)), key & _HASH


def _hash_tokens(data: bytes, start: Integers, length: Integers) -> Words:
    """A 64-bit hash of each token, eight bytes at a time: most tokens have no more."""
    words = np.frombuffer(data + bytes(24 - len(data) % 8), "<u8")
    hashed = _eight_bytes(words, start, length)
    hashed *= _ODD[0]
    hashed += length.view(np.uint64) * _ODD[2]
    hashed = _mix(hashed)
    rest = np.flatnonzero(length > 8)
    for offset in range(8, _LONG, 8):
        if not len(rest):
            break
        more = _eight_bytes(words, start[rest] + offset, length[rest] - offset)
        hashed[rest] = _mix(hashed[rest] * _ODD[0] + more)
        rest = rest[length[rest] > offset + 8]
    for token in rest:
        body = data[start[token] : start[token] + length[token]]
        digest = hashlib.blake2b(body, digest_size=8).digest()
        hashed[token] = np.uint64(int.from_bytes(digest, "little"))
    return hashed


def _eight_bytes(words: Words, start: Integers, length: Integers) -> Words:
    """The bytes from ``start`` on, at most 8 and at most ``length``, as one number."""
    shift = (start.view(np.uint64) & _7) << _3
    index = start >> 3
    value: Words = words[index] >> shift
    # two shifts for the upper part of a number, because a shift by 64 is undefined
    value |= (words[index + 1] << _1) << (shift ^ _63)
    value &= _FIRST_BYTES.take(length, mode="clip")
    return value


def _mix(value: Words) -> Words:
    """A number whose upper bits depend on every bit of ``value``; distinct ones stay distinct."""
    return (value ^ (value >> _32)) * _ODD[1]
