"""Text without accents, as people type it who lack the keys: ``Zurich`` for ``Zürich``.

All of Latin, with the letters that Unicode does not decompose (``ł``, ``ø``, ``ß``, ``æ``): their
names have the plain one (LATIN SMALL LETTER L WITH STROKE). Greek loses its tonos. In Cyrillic
``ё`` is ``е``, and a stress is dropped; a letter of its own stays (``й`` is no ``и``). Hebrew and
Arabic lose their points. The vowel signs of other scripts stay. German ``ü`` is ``u``, not ``ue``.
"""

import re
from functools import lru_cache
from unicodedata import name, normalize

_ACCENTS = re.compile(
    "[\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u1dc0-\u1dff\u20d0-\u20f0]"
)
_OWN_LETTERS = frozenset("йїўѓќЙЇЎЃЌ")
_LATIN = re.compile(r"LATIN SMALL (?:LETTER|LIGATURE) ([A-Z]{1,2})(?: WITH .+)?")
_UNNAMED = {"ß": "ss", "ı": "i", "ȷ": "j", "þ": "th", "ð": "d", "ŋ": "n", "ĸ": "k", "ə": "e"}
_UNNAMED |= {"ǝ": "e", "ɛ": "e", "ɔ": "o", "ɩ": "i", "ʊ": "u", "ʉ": "u", "ɣ": "g"}


def without_accents(text: str) -> str:
    """``text`` without accents; upper and lower case stay.

    >>> without_accents("Łódź, Ærø, naïve, ёлка й, Αθήνα")
    'Lodz, Aero, naive, елка й, Αθηνα'
    """
    return text if text.isascii() else "".join(map(_plain, text))


@lru_cache(4_096)
def _plain(letter: str) -> str:
    if letter.isascii() or letter in _OWN_LETTERS:
        return letter
    base = _ACCENTS.sub("", normalize("NFD", letter))
    small = base.lower()
    plain = _UNNAMED.get(small)
    if not plain and len(small) == 1 and (latin := _LATIN.fullmatch(name(small, ""))):
        plain = latin[1].lower()
    if not plain:
        return normalize("NFC", base)
    return plain if base == small else plain.title()
